# SPDX-License-Identifier: GPL-3.0-or-later
"""The controller dnsrecord with many records, bad ones among them, a dead account, two replicas, and two control planes in one zone.
tests/bench/dnsrecord has the figures at full size."""
import math
import time

import pytest

from bothlib import embedded  # noqa: F401 (fixture)
from controllerlib import FAST, namespace, until
from dnsrecordlib import (OPERATION, Zones, delete, gardenlet_waits, get, make, make_secret, patch, path, request, run_controller, status_of,
                          wait_gone, write_status)
from lib.cluster import Embedded


@pytest.fixture(scope="module")
def controller(embedded):  # noqa: F811
    p = run_controller(embedded)
    yield p
    assert p.stop() == 0, p.text()


def by_state(c, ns):
    """{state: names}"""
    found = {}
    for o in c.call("GET", path(ns) + "?limit=500")[1]["items"]:
        found.setdefault(o.get("status", {}).get("lastOperation", {}).get("state"), set()).add(o["metadata"]["name"])
    return found


def test_bad_among_many(embedded, tmp_path):  # noqa: F811
    """DR-P4: one bad record of many, which the provider does not name: the others succeed in the same pass, and few calls are needed."""
    many = 200
    zones = Zones(tmp_path, limits={"hides_bad": 1, "one_write": 1})
    zones.add_foreign("r77.example.com", "CNAME", "other.example.net")
    namespace(embedded, "bad")
    make_secret(embedded, "bad", zones.data())
    for i in range(many):
        make(embedded, "bad", f"r{i}", f"r{i}.example.com")
    p = run_controller(embedded)
    until(lambda: len(by_state(embedded, "bad").get("Succeeded", ())) == many - 1)
    until(lambda: by_state(embedded, "bad").get("Error") == {"r77"})
    assert len(zones.calls("apply")) <= 2 + math.ceil(math.log2(many)), zones.calls("apply")
    assert "CNAME" in status_of(embedded, "bad", "r77")["lastError"]["description"]
    assert len(zones.sets()) == many - 1 and len(zones.sets(foreign=True)) == 1
    assert p.stop() == 0


def publish(c, ns, names):
    """Seconds until each has Succeeded, in ascending order."""
    began = {}
    for name in names:
        began[name] = time.monotonic()
        make(c, ns, name, f"{name}.example.com")
    ended = {}

    def all_ended():
        for name in by_state(c, ns).get("Succeeded", set()) & set(names):
            ended.setdefault(name, time.monotonic() - began[name])
        return len(ended) == len(names)
    until(all_ended, 30, 0.005)
    return sorted(ended.values())


def test_dead_account_delays_no_other(embedded, controller, tmp_path):  # noqa: F811
    """DR-P10: records of one account wait for a dead provider; those of another are as fast as without them."""
    for name in ("dead", "alive"):
        namespace(embedded, name)
        (tmp_path / name).mkdir()
    dead, alive = Zones(tmp_path / "dead"), Zones(tmp_path / "alive")
    make_secret(embedded, "dead", dead.data())
    make_secret(embedded, "alive", alive.data())
    before = publish(embedded, "alive", [f"a{i}" for i in range(40)])
    dead.fault("*", "hang", 9999)
    for i in range(40):
        make(embedded, "dead", f"d{i}", f"d{i}.example.com")
    until(lambda: dead.calls())
    beside = publish(embedded, "alive", [f"b{i}" for i in range(40)])
    # the figure is in the publisher's test, whose clock is its own; here others use the machine, too
    assert beside[-1] <= 1.1 * before[-1] + 1, (before[-1], beside[-1])
    assert by_state(embedded, "dead").keys() <= {None, "Processing"}
    status, body = embedded.call("DELETE", path("dead"))
    assert status == 200, body
    dead.fault("*", "hang", 0)


def test_two_replicas(tmp_path):
    """DR-57, DR-52: of two replicas one writes; when it is killed, the other one finishes its work, and no object is deleted."""
    zones = Zones(tmp_path)
    with Embedded() as c:
        namespace(c, "two")
        make_secret(c, "two", zones.data())
        first = run_controller(c, *FAST)
        second = run_controller(c, *FAST, wait=None)
        zones.fault("apply", "hang", 1)
        for i in range(10):
            make(c, "two", f"r{i}", f"r{i}.example.com")
        until(lambda: zones.calls("apply"))
        first.process.kill()
        second.wait_line("leading as")
        until(lambda: len(by_state(c, "two").get("Succeeded", ())) == 10, 40)
        assert len(zones.sets()) == 10
        for i in range(10):
            assert status_of(c, "two", f"r{i}").get("lastError") is None
        assert second.stop() == 0
        first.stop()


def test_move_between_instances(tmp_path):
    """DR-58, DR-50, DR-51: two control planes, each with an API and a controller of its own, share a zone: the record set moves along."""
    zones = Zones(tmp_path)
    with Embedded() as old, Embedded() as new:
        parts = []
        for c in (old, new):
            namespace(c, "garden")
            make_secret(c, "garden", zones.data())
            parts.append(run_controller(c, "--platform", "gardener"))
        make(old, "garden", "api", "api.example.com", annotations=request("reconcile"))
        gardenlet_waits(old, "garden", "api")
        patch(old, "garden", "api", {"metadata": {"annotations": request("migrate")}})
        until(lambda: OPERATION not in get(old, "garden", "api")["metadata"]["annotations"])
        state = get(old, "garden", "api")["status"]["state"]
        make(new, "garden", "api", "api.example.com", values=["192.0.2.8"], annotations=request("wait-for-state"))
        write_status(new, "garden", "api", {"state": state})
        assert zones.sets() == {("api.example.com", "A"): (120, ["192.0.2.1"])}
        patch(new, "garden", "api", {"metadata": {"annotations": request("restore")}})
        gardenlet_waits(new, "garden", "api")
        assert zones.sets() == {("api.example.com", "A"): (120, ["192.0.2.8"])}
        delete(old, "garden", "api")  # the old seed is cleaned: the record set is the new one's
        wait_gone(old, "garden", "api")
        assert zones.sets() == {("api.example.com", "A"): (120, ["192.0.2.8"])}
        delete(new, "garden", "api")
        wait_gone(new, "garden", "api")
        assert zones.sets() == {}
        assert [p.stop() for p in parts] == [0, 0]
