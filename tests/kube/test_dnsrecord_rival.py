# SPDX-License-Identifier: GPL-3.0-or-later
"""The controller dnsrecord in place of one of Gardener's extensions, on both APIs: what each mode of ownership does with record sets of
others."""
import pytest

from bothlib import c as served, embedded, real  # noqa: F401 (fixtures)
from controllerlib import events, namespace, until
from dnsrecordlib import (OPERATION, Zones, condition, delete, failed, gardenlet_waits, make, make_secret, patch, prepare, request,
                          run_controller, wait_failed, wait_gone, write_status)

PROTECT, DROP_IN = "protect", "drop-in"


@pytest.fixture(scope="module")
def c(served):  # noqa: F811
    return prepare(served)


@pytest.fixture
def run(c):
    """run(*args): a started controller."""
    made = []

    def make_one(*args, **kw):
        made.append(run_controller(c, "--platform", "gardener", "--lease-retry", "200ms", *args, **kw))
        return made[-1]
    yield make_one
    for p in made:
        assert p.stop() == 0, p.text()


@pytest.fixture
def ns(c, request):  # noqa: F811 pylint: disable=redefined-outer-name
    name = request.node.name.split("[")[0].replace("_", "-") + request.node.callspec.params.get("mode", "")
    namespace(c, name)
    return name


@pytest.fixture
def zones(c, ns, tmp_path):
    z = Zones(tmp_path)
    make_secret(c, ns, z.data())
    return z


def overwrite(zones, name, *values):
    """Somebody else writes the record set, whoever it was before."""
    zones.write([line for line in zones.lines() if f" {name} " not in line])
    zones.add_foreign(name, "A", *values)


def ask(c, ns, name, **spec):
    """gardenlet asks for the object, with another spec."""
    patch(c, ns, name, {"metadata": {"annotations": request("reconcile")}, "spec": spec})


@pytest.mark.parametrize("mode", [PROTECT, DROP_IN])
def test_sets_of_others(c, run, ns, zones, mode):
    """DR-P6: a record set that was there before, one that somebody changes later, and one that an extension of Gardener published with
    other values. Protect mode refuses to write and to delete them, drop-in mode does both, as Gardener's extensions do."""
    theirs = {("old.example.com", "A"): (300, ["198.51.100.1"])}
    is_drop_in = mode == DROP_IN
    run("--dnsrecord-ownership", mode)
    zones.add_foreign("old.example.com", "A", "198.51.100.1")
    make(c, ns, "old", "old.example.com", annotations=request("reconcile"))
    if is_drop_in:
        o = gardenlet_waits(c, ns, "old")
        assert zones.sets() == {("old.example.com", "A"): (120, ["192.0.2.1"])} and zones.sets(foreign=True) == {}
        assert condition(o["status"], "Owned") == ("True", "Written")
    else:
        assert condition(wait_failed(c, ns, "old"), "Owned") == ("False", "NotOurs")
        assert zones.sets(foreign=True) == theirs and zones.sets() == {}
    # it is ours, and somebody else changes it
    make(c, ns, "new", "new.example.com", annotations=request("reconcile"))
    gardenlet_waits(c, ns, "new")
    overwrite(zones, "new.example.com", "198.51.100.2")
    ask(c, ns, "new", values=["192.0.2.2"])
    if is_drop_in:
        gardenlet_waits(c, ns, "new")
        assert zones.sets()[("new.example.com", "A")] == (120, ["192.0.2.2"])
        overwrite(zones, "new.example.com", "198.51.100.2")
    else:
        assert "198.51.100.2" in until(lambda: failed(c, ns, "new"))["lastError"]["description"]
        assert ("new.example.com", "A") in zones.sets(foreign=True)
    # an extension published it for this object, and somebody changed it since
    zones.add_foreign("ext.example.com", "A", "198.51.100.3")
    make(c, ns, "ext", "ext.example.com", annotations={OPERATION: "wait-for-state"})
    write_status(c, ns, "ext", {"zone": "example.com", "observedGeneration": 1, "lastOperation": {
        "type": "Create", "state": "Succeeded", "progress": 100, "description": "Go", "lastUpdateTime": "2026-01-01T00:00:00Z"}})
    ask(c, ns, "ext")
    if is_drop_in:
        gardenlet_waits(c, ns, "ext")
        assert zones.sets()[("ext.example.com", "A")] == (120, ["192.0.2.1"])
        overwrite(zones, "ext.example.com", "198.51.100.3")
    else:
        assert condition(until(lambda: failed(c, ns, "ext")), "Owned") == ("False", "NotOurs")
    # deletion: what the object stands for goes, or stays and is reported
    for name in ("old", "new", "ext"):
        delete(c, ns, name)
    for name in ("old", "new", "ext"):
        wait_gone(c, ns, name)
    if is_drop_in:
        assert zones.sets() == {} and zones.sets(foreign=True) == {}
    else:
        assert zones.sets(foreign=True) == {**theirs, ("new.example.com", "A"): (300, ["198.51.100.2"]),
                                            ("ext.example.com", "A"): (300, ["198.51.100.3"])}
        assert until(lambda: [e for e in events(c, ns) if e["reason"] == "RecordLeft" and e["regarding"]["name"] == "new"])
