# SPDX-License-Identifier: GPL-3.0-or-later
"""Lookups of the controller egressfirewall with zones that change: on both APIs, all names side by side, since TTLs take
their time."""
import datetime
import time

import pytest

from bothlib import c as served, embedded, real  # noqa: F401 (fixtures)
from controllerlib import events, namespace, until
from egresslib import (OWN, Zone, condition, firewalls_path, get, items, make_firewall, messages, names_path, prepare, run_controller,
                       wait_items)

STEADY = [f"steady{i}" for i in range(20)]
# What the names have at first, and from the change on.
BEFORE = """
moves     A     192.0.2.1
rotates   A     192.0.2.11
rotates   A     192.0.2.12
ends      A     192.0.2.21
chain 5   CNAME end
end   900 A     192.0.2.31
long  900 A     192.0.2.41
bad       A     127.0.0.1
bad       A     169.254.169.254
bad       A     192.0.2.51
bad       AAAA  fe80::1
six       AAAA  2001:db8::6
""" + "".join(f"{n} A 192.0.2.{100 + i}\n" for i, n in enumerate(STEADY))
AFTER = BEFORE.replace("192.0.2.1\n", "192.0.2.2\n").replace("rotates   A     192.0.2.11\n", "rotates   A     192.0.2.13\n").replace(
    "ends      A     192.0.2.21\n", "").replace("192.0.2.31", "192.0.2.32").replace("192.0.2.41", "192.0.2.42")
NAMES = ["moves", "rotates", "ends", "chain", "long", "bad", "six", "late", *STEADY]
LATE = "late      A     192.0.2.71\n"


@pytest.fixture(scope="module")
def c(served):  # noqa: F811
    return prepare(served)


def version(c, name):
    return get(c, names_path(name))["metadata"]["resourceVersion"]


def seconds_of(stamp):
    return datetime.datetime.fromisoformat(stamp.replace("Z", "+00:00")).timestamp()


def go_through(c, wanted, seconds=60):
    """When each name had the last of its states, all of them in their order. A state lasts a few seconds, so the names are
    polled side by side."""
    left, reached, end = {name: list(states) for name, states in wanted.items()}, {}, time.monotonic() + seconds
    while len(reached) < len(left):
        assert time.monotonic() < end, {name: (states, items(c, f"{name}.example")) for name, states in left.items()}
        for name, states in left.items():
            if states and items(c, f"{name}.example").get(f"{name}.example", []) == states[0]:
                states.pop(0)
                if not states:
                    reached[name] = time.monotonic()
        time.sleep(0.05)
    return reached


def test_zones_that_change(c):
    """EF-6, EF-9, EF-11 (no server reports anything here), EF-S4, EF-S5, EF-S6, EF-S11, EF-P3, and what is never learnt."""
    namespace(c, "shop")
    with Zone(BEFORE) as zone:
        p = run_controller(c, zone)
        make_firewall(c, "shop", [f"{n}.example" for n in NAMES])
        wait_items(c, "moves.example", {"moves.example": ["192.0.2.1"]})
        wait_items(c, "bad.example", {"bad.example": ["192.0.2.51"]})
        wait_items(c, "six.example", {"six.example": ["2001:db8::6"]})
        wait_items(c, "chain.example", {"chain.example": ["192.0.2.31"]})
        wait_items(c, "long.example", {"long.example": ["192.0.2.41"]})
        for i, n in enumerate(STEADY):
            wait_items(c, f"{n}.example", {f"{n}.example": [f"192.0.2.{100 + i}"]})
        assert items(c, "late.example") == {}
        # The lowest TTL of the chain counts, and its end is written.
        info = get(c, names_path("chain.example"))["status"]["items"][0]["info"][0]
        assert info["ttl"] == "5" and abs(seconds_of(info["nextlookuptime"]) - time.time()) < 15
        # An address that is never learnt gets one Event.
        until(lambda: [e["regarding"]["name"] for e in events(c, OWN) if e["reason"] == "AddressNeverLearnt"] == ["bad.example"])
        # EF-P11: so are its end and when it was first seen.
        assert info["canonicalname"] == "end.example" and abs(seconds_of(info["firstseen"]) - time.time()) < 30
        until(lambda: condition(c, "shop", "NamesResolved")[:2] == ("False", "NotResolved"))
        before = {n: version(c, f"{n}.example") for n in NAMES}

        changed = time.monotonic()
        zone.set(AFTER + LATE)
        # New addresses beside the old ones, which leave later.
        reached = go_through(c, {"moves": [["192.0.2.1", "192.0.2.2"], ["192.0.2.2"]],
                                 "rotates": [["192.0.2.11", "192.0.2.12", "192.0.2.13"], ["192.0.2.12", "192.0.2.13"]],
                                 "chain": [["192.0.2.31", "192.0.2.32"], ["192.0.2.32"]],
                                 "late": [["192.0.2.71"]],
                                 "ends": [[]]})
        # At expiry and grace, not before: five seconds each from the last answer with it, which came at most a TTL and a
        # lookup's delay before the change. (test_tracked.c has the exact times.)
        assert reached["moves"] - changed > 4
        assert items(c, "long.example") == {"long.example": ["192.0.2.41"]}  # its TTL is not over
        # Two lookups or more of each, and no write where nothing changed.
        assert {n: version(c, f"{n}.example") for n in [*STEADY, "bad", "six"]} == {n: before[n] for n in [*STEADY, "bad", "six"]}
        until(lambda: condition(c, "shop", "NamesResolved")[2] == "ends.example: has no addresses")
        until(lambda: "rule 0: Allow moves.example: 192.0.2.2" in messages(c, "shop"))

        # The DNS server ends: addresses stay.
        zone.server.process.terminate()
        zone.server.process.wait()
        until(lambda: "rule 2: Allow ends.example: no addresses, since the lookup fails" in messages(c, "shop"), 40)
        assert items(c, "steady0.example") == {"steady0.example": ["192.0.2.100"]}
        assert p.stop() == 0, p.text()
    c.call("DELETE", firewalls_path("shop", "default"))
