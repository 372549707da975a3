# SPDX-License-Identifier: GPL-3.0-or-later
"""The controller dnsrecord in zones full of record sets of others, and with error texts of any bytes. The seed is in each failure:
FAIRLEAD_SEED repeats it."""
import json
import os
import random
import re
import urllib.parse

import pytest

from bothlib import embedded  # noqa: F401 (fixture)
from controllerlib import events, namespace, until
from dnsrecordlib import TYPES, Zones, delete, get, make, make_secret, patch, path, run_controller

SEED = int(os.environ.get("FAIRLEAD_SEED") or random.randrange(1 << 32))
OBJECTS = 60
VALUES = {"A": lambda r: [f"192.0.2.{r.randrange(1, 250)}" for _ in range(r.randrange(1, 4))],
          "AAAA": lambda r: [f"2001:db8::{r.randrange(1, 9999)}"],
          "CNAME": lambda r: [f"t{r.randrange(9)}.example.net"],
          "TXT": lambda r: [r.choice(["x", "two words", '"q\\"uoted"', "\u00e9"]) for _ in range(r.randrange(1, 3))]}


@pytest.fixture(scope="module")
def controller(embedded):  # noqa: F811
    p = run_controller(embedded)
    yield p
    assert p.stop() == 0, p.text()


def draw_name(r, kind):
    host = r.choice(["a", "b", "c", "d", "*.a", "*.b", "x.a", "y.b", "z.x.a", "fairlead-probe.a", "deep.er.name", "*.deep.er"])
    return f"_{host.lstrip('*.')}.example.com" if kind == "TXT" else f"{host}.example.com"


def all_done(c, ns):
    items = c.call("GET", path(ns))[1]["items"]
    return all(o.get("status", {}).get("lastOperation", {}).get("state") in ("Succeeded", "Error") and
               o["status"].get("observedGeneration") == o["metadata"]["generation"] for o in items)


def test_sets_of_others_stay(embedded, controller, tmp_path):  # noqa: F811
    """DR-P6: whatever is created, changed and deleted beside and above them, record sets of others stay byte by byte."""
    r, ns = random.Random(SEED), "fuzzed"
    zones = Zones(tmp_path)
    namespace(embedded, ns)
    make_secret(embedded, ns, zones.data())
    taken = {}
    for _ in range(24):
        kind = r.choice(sorted(TYPES))
        name = draw_name(r, kind)
        there = taken.setdefault(name, set())
        if kind in there or "CNAME" in there or (kind == "CNAME" and there):
            continue
        there.add(kind)
        values = [urllib.parse.quote(v.strip('"')) for v in VALUES[kind](r)]
        zones.add_foreign(name.replace("*", "%2A"), kind, *sorted(set(values)), ttl=r.randrange(1, 999))
    before = zones.sets(foreign=True)
    kinds = {}
    for i in range(OBJECTS):
        kinds[f"r{i}"] = kind = r.choice(sorted(TYPES))
        make(embedded, ns, f"r{i}", draw_name(r, kind), values=VALUES[kind](r), kind=kind, ttl=r.randrange(0, 600))
    until(lambda: all_done(embedded, ns), 60)
    assert zones.sets(foreign=True) == before, f"seed {SEED}"
    published = len(zones.sets())
    for name, kind in r.sample(sorted(kinds.items()), OBJECTS // 2):
        patch(embedded, ns, name, {"spec": {"values": VALUES[kind](r), "ttl": r.randrange(0, 600)}})
    until(lambda: all_done(embedded, ns), 60)
    assert zones.sets(foreign=True) == before, f"seed {SEED}"
    for name in kinds:
        delete(embedded, ns, name)
    until(lambda: not embedded.call("GET", path(ns))[1]["items"], 60)
    assert zones.sets(foreign=True) == before and zones.sets() == {} and published, f"seed {SEED}"


def draw_text(r, secrets):
    text = b""
    while len(text) < r.choice([20, 300, 330, 500]):
        text += r.choice([s.encode() for s in secrets] + [bytes([r.randrange(1, 256)]) for _ in range(4)] + [b"error at ", "\u00e9".encode()])
    return text


def test_no_secret_in_any_text(embedded, controller, tmp_path):  # noqa: F811
    """DR-P12: error texts of any bytes with values of the Secret anywhere, also cut by their length: no part of one is passed on."""
    r, ns, count = random.Random(SEED), "said", 24
    secrets = ["hunter2-correct-horse", "AKIAEXAMPLEKEY", 'quo"ted\\pass-9x', "ends-with-\u00e9-and-more"]
    namespace(embedded, ns)
    for i in range(count):
        os.mkdir(tmp_path / str(i))
        zones = Zones(tmp_path / str(i))
        zones.write([*zones.lines(), f"say {urllib.parse.quote(draw_text(r, secrets))}"])
        zones.fault("*", "deny", 99)
        make_secret(embedded, ns, {**zones.data(), **{f"key{k}": s for k, s in enumerate(secrets)}}, name=f"s{i}")
        make(embedded, ns, f"r{i}", f"r{i}.example.com", secret={"name": f"s{i}"})
    until(lambda: all_done(embedded, ns), 60)
    until(lambda: len([e for e in events(embedded, ns) if e["reason"] == "Failed"]) == count, 60)
    for i in range(count):
        assert get(embedded, ns, f"r{i}")["status"]["lastError"]["codes"] == ["ERR_INFRA_UNAUTHENTICATED"], f"seed {SEED}"
    objects = [get(embedded, ns, f"r{i}") for i in range(count)]
    for everything in (controller.text(), json.dumps([objects, events(embedded, ns)], ensure_ascii=False)):
        for secret in secrets:
            for part in (secret[:5], secret[-5:]):
                assert not re.search(re.escape(part), everything), f"seed {SEED}: {part}"
