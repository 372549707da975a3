# SPDX-License-Identifier: GPL-3.0-or-later
"""The embedded API and a real one, asked the same questions: tests/kube/conformance holds them as data."""
import concurrent.futures
import http.client
import json
import os
import random
import time

import pytest

import conformlib
from crdlib import OBJECTS, Document, crds, cluster, documents, resources  # noqa: F401 (fixtures)
from lib.cluster import Embedded

SCENARIOS = conformlib.scenarios()
SEED = int(os.environ.get("FAIRLEAD_SEED") or 7)
CHANGED_SECONDS = 8
TYPES = ["application/json", "application/yaml", "application/merge-patch+json", "application/json-patch+json",
         "application/strategic-merge-patch+json", "application/apply-patch+yaml", "application/vnd.kubernetes.protobuf"]


@pytest.fixture(scope="module")
def embedded():
    with Embedded() as e:
        yield e


def answers(caller, number, file, steps):
    ns = f"conf-{os.path.splitext(file)[0]}-{number}"
    status, _, text = caller.send("POST", "/api/v1/namespaces", {}, json.dumps({"metadata": {"name": ns}}))
    assert status == 201, text
    return conformlib.run(caller, ns, steps)


def test_there_are_enough_cases():
    assert sum(len(s[3]) for s in SCENARIOS) >= 1000


@pytest.mark.parametrize("file,number,title,steps", SCENARIOS, ids=[f"{s[0]}-{s[2].replace(' ', '-')}" for s in SCENARIOS])
def test_scenario(cluster, crds, embedded, file, number, title, steps):  # noqa: F811
    with concurrent.futures.ThreadPoolExecutor(2) as pool:  # both wait now and then
        real, ours = pool.map(lambda c: answers(conformlib.Caller(c.url, c.ca, c.system), number, file, steps),
                              (cluster, embedded))
    wrong = [f"{step.name()}\n{' '.join(step.body)[:200]}\n{conformlib.difference(a, b)}"
             for step, a, b in zip(steps, real, ours) if a != b]
    assert not wrong, f"{len(wrong)} of {len(steps)}\n" + "\n\n".join(wrong)


def test_objects_of_the_product(cluster, crds, embedded):  # noqa: F811
    """The example objects of all kinds are kept in the same form."""
    docs = [Document(text, resources(crds)) for _, text in documents(OBJECTS)]
    assert len(docs) > 20
    for ns in sorted({d.namespace for d in docs} - {None, "default"}):
        for api in (cluster, embedded):
            status, said = api.call("POST", "/api/v1/namespaces", {"metadata": {"name": ns}})
            assert status == 201, said
    for d in docs:
        kept = []
        for api in (cluster, embedded):
            status, said = api.call("POST", d.collection, d.text.encode(), token=api.system, content_type="application/yaml")
            kept.append({"status": status, "body": conformlib.Names().tree(said)})
        assert kept[0] == kept[1], f"{d.path}\n{conformlib.difference(*kept)}"
        assert kept[0]["status"] == 201, kept[0]


def test_changed_requests(embedded):
    """The requests of all scenarios, cut and mixed: each gets an answer that is JSON where it says so, and none ends the
    server or is an error of its own (500 without a reason is how the real one words some refusals)."""
    rng, steps = random.Random(SEED), [step for s in SCENARIOS for step in s[3]]
    pieces = [b"%ff", b"%2f", b"..", b"/", b"{", b"}", b"[", b"]", b"null", b"-1", b"1e999", b"\xff", b"\\u0000", b"$patch", b"f:",
              b"&a *a", b"~1", b"a" * 300] + [conformlib.raw("\n".join(s.body))[:60] for s in steps if s.body]
    for name in ("m0", "m1"):
        assert embedded.call("POST", "/api/v1/namespaces", {"metadata": {"name": name}})[0] == 201
    caller, end, count = None, time.monotonic() + CHANGED_SECONDS, 0
    while time.monotonic() < end:
        step = rng.choice(steps)
        path = conformlib.changed(rng, conformlib.fill(step.path, "m0", {}).encode(), pieces, rng.choice([0, 0, 1, 2]))
        path = "/" + "".join(chr(b) if 33 <= b < 127 else f"%{b:02x}" for b in path).lstrip("/").replace("watch", "what")
        body = conformlib.raw(conformlib.fill("\n".join(step.body), "m0", {}))[:100000]
        body = conformlib.changed(rng, body, pieces, rng.choice([1, 1, 2, 8])) if body else None
        method = step.method.upper() if rng.random() < 0.85 else rng.choice(["GET", "PUT", "POST", "PATCH", "DELETE"])
        caller = caller or conformlib.Caller(embedded.url, embedded.ca, embedded.system)
        try:
            status, reply, text = caller.send(method, path, {"Content-Type": rng.choice(TYPES), **step.headers}, body)
        except (OSError, http.client.HTTPException):
            caller = None  # hung up on: the next one tells whether it lives
            embedded.check()
            continue
        count += 1
        what = (method, path, step.headers, body, status, text)
        if reply.headers.get("Content-Type") == "application/json" and method != "HEAD":
            said = json.loads(text)
            assert status != 500 or "reason" not in said, what
        assert status in (500, 504) or status < 500, what
    embedded.check()
    print(f"{count} requests")
    assert count > 100
