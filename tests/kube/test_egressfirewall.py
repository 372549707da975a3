# SPDX-License-Identifier: GPL-3.0-or-later
"""The controller egressfirewall on a real API server and on the embedded one: DNSName objects come and go with the rules
that use them."""
import pytest

from bothlib import c as served, embedded, real  # noqa: F401 (fixtures)
from controllerlib import namespace, until
from egresslib import (DEPTH, MERGE, UNUSED, Zone, change_rules, delete, firewalls_path, flags, get, items, make_firewall, make_name,
                       names_path, prepare, report, run_controller, system_of, wait_items, write_items)

RECORDS = """
www     A     192.0.2.1
www     AAAA  2001:db8::1
both    A     192.0.2.7
wildcard.both A 192.0.2.8
a.wild  A     192.0.2.11
b.wild  A     192.0.2.12
"""


@pytest.fixture(scope="module")
def zone():
    with Zone(RECORDS, ttl=30) as one:
        yield one


@pytest.fixture(scope="module")
def c(served):  # noqa: F811
    return prepare(served)


@pytest.fixture(scope="module")
def controller(c, zone):
    p = run_controller(c, zone)
    yield p
    assert p.stop() == 0, p.text()


@pytest.fixture
def ns(c, request):
    name = request.node.originalname.replace("_", "-")[:40]
    for suffix in ("", "-2"):
        namespace(c, name + suffix)
    return name


def test_an_object_for_each_name(c, controller, ns):
    """EF-2, EF-3, EF-5, EF-6, EF-S2, EF-S9: one object per name over all firewalls, in lower case, with addresses."""
    make_firewall(c, ns, ["WWW.Example.", "www.example", "*.Wild.Example.", "10.0.0.0/8"])
    make_firewall(c, ns + "-2", ["www.example", "*.www.example"])
    wait_items(c, "www.example", {"www.example": ["192.0.2.1", "2001:db8::1"]})
    assert flags(c, "www.example") == (True, False)
    assert until(lambda: flags(c, "wildcard.wild.example")) == (False, True)
    assert until(lambda: flags(c, "wildcard.www.example")) == (False, True)
    found = [o["metadata"]["name"] for o in get(c, names_path())["items"]]
    assert sorted(found) == ["wildcard.wild.example", "wildcard.www.example", "www.example"]
    info = get(c, names_path("www.example"))["status"]["items"][0]["info"][0]
    assert info["ttl"] == "30" and info["nextlookuptime"].endswith("Z")
    # EF-7: nothing below a wildcard is looked up before a client asked for it.
    assert items(c, "wildcard.wild.example") == {}
    # EF-16, EF-19: a rule that goes takes its object along, unless another firewall has one.
    change_rules(c, ns, ["10.0.0.0/8"])
    until(lambda: flags(c, "wildcard.wild.example") is None)
    assert flags(c, "www.example") == (True, False)
    delete(c, firewalls_path(ns + "-2", "default"))
    until(lambda: get(c, names_path())["items"] == [])


def test_a_host_that_is_called_wildcard(c, controller, ns):
    """EF-3, EF-17, EF-18, EF-S1: a wildcard and a host of that name share an object; flags come and go one by one."""
    make_firewall(c, ns, ["wildcard.both.example"])
    wait_items(c, "wildcard.both.example", {"wildcard.both.example": ["192.0.2.8"]})
    assert flags(c, "wildcard.both.example") == (True, False)
    uid = get(c, names_path("wildcard.both.example"))["metadata"]["uid"]
    make_firewall(c, ns + "-2", ["*.both.example"])
    until(lambda: flags(c, "wildcard.both.example") == (True, True))
    assert items(c, "wildcard.both.example") == {"wildcard.both.example": ["192.0.2.8"]}
    delete(c, firewalls_path(ns, "default"))
    until(lambda: flags(c, "wildcard.both.example") == (False, True))
    assert items(c, "wildcard.both.example") == {"wildcard.both.example": ["192.0.2.8"]}
    make_firewall(c, ns, ["wildcard.both.example"])
    until(lambda: flags(c, "wildcard.both.example") == (True, True))
    change_rules(c, ns + "-2", [])
    until(lambda: flags(c, "wildcard.both.example") == (True, False))
    assert get(c, names_path("wildcard.both.example"))["metadata"]["uid"] == uid
    delete(c, firewalls_path(ns, "default"))
    until(lambda: flags(c, "wildcard.both.example") is None)
    delete(c, firewalls_path(ns + "-2", "default"))


def test_any_depth(c, controller, ns):
    """EF-S3: the annotation of a firewall is on the objects that it uses, while it uses them."""
    def depth():
        return (get(c, names_path("wildcard.deep.example")) or {"metadata": {}})["metadata"].get("annotations", {}).get(DEPTH)

    make_firewall(c, ns, ["*.deep.example"])
    until(lambda: flags(c, "wildcard.deep.example"))
    assert depth() is None
    make_firewall(c, ns + "-2", ["*.deep.example"], annotations={DEPTH: "any"})
    until(lambda: depth() == "any")
    delete(c, firewalls_path(ns + "-2", "default"))
    until(lambda: depth() is None and flags(c, "wildcard.deep.example"))
    delete(c, firewalls_path(ns, "default"))
    until(lambda: flags(c, "wildcard.deep.example") is None)


def test_nodes_let_go_first(c, controller, ns):
    """EF-15, EF-17, EF-18, EF-16: the object, its flags and its items stay until all nodes say that rules and addresses are gone."""
    name = "wildcard.both.example"

    def mark():
        return (get(c, names_path(name)) or {"metadata": {}})["metadata"].get("annotations", {}).get(UNUSED)

    def uses():
        now = mark()
        return now.split(",")[1:] if now else None
    for node in ("old", "one", "two"):
        report(c, node, *([None] if node == "old" else []))
    try:
        make_firewall(c, ns, [name])
        make_firewall(c, ns + "-2", ["*.both.example"], annotations={DEPTH: "any"})
        wait_items(c, name, {name: ["192.0.2.8"]})
        until(lambda: flags(c, name) == (True, True) and uses() is None)
        # A rule less: one node has let it go, the other has not, or has let go of it in an earlier life.
        change_rules(c, ns, ["10.0.0.0/8"])
        until(lambda: uses() == ["regular"])
        passes = controller.looks()
        report(c, "one", f"{name} {mark()}")
        report(c, "two", f"{name} 2020-01-01T00:00:00.000000Z,regular")
        until(lambda: controller.looks() >= passes + 2)  # reports, and the name
        assert flags(c, name) == (True, True) and uses() == ["regular"]
        # The rule comes again: what one node said about the mark is void.
        before = mark()
        change_rules(c, ns, [name])
        until(lambda: uses() is None)
        report(c, "two", f"{name} {before}")
        change_rules(c, ns, [])
        until(lambda: uses() == ["regular"])
        assert mark() != before
        assert flags(c, name) == (True, True)
        for node in ("one", "two"):
            report(c, node, f"{name} {mark()}")
        until(lambda: flags(c, name) == (False, True) and uses() is None)
        # The other rule as well.
        delete(c, firewalls_path(ns + "-2", "default"))
        until(lambda: uses() == ["wildcard", "any-depth"])
        assert items(c, name) == {name: ["192.0.2.8"]} and flags(c, name) == (False, True)
        report(c, "one", f"{name} {mark()}")
        # A node that is taken away is not waited for.
        delete(c, "/api/v1/namespaces/default/configmaps/fairlead-node-two")
        until(lambda: flags(c, name) is None)
    finally:
        for node in ("old", "one", "two"):
            c.call("DELETE", f"/api/v1/namespaces/default/configmaps/fairlead-node-{node}")
        delete(c, firewalls_path(ns, "default"))


def test_changes_by_others_are_reverted(c, controller, ns):
    """EF-4: flags, status and the object itself are restored."""
    make_firewall(c, ns, ["www.example"])
    wanted = {"www.example": ["192.0.2.1", "2001:db8::1"]}
    wait_items(c, "www.example", wanted)
    status, body = c.call("PATCH", names_path("www.example"), {"spec": {"isregular": False, "iswildcard": True}},
                          content_type=MERGE, token=system_of(c))
    assert status == 200, body
    until(lambda: flags(c, "www.example") == (True, False))
    write_items(c, "www.example", {"www.example": ["203.0.113.9"], "other.example": ["203.0.113.10"]})
    wait_items(c, "www.example", wanted)
    delete(c, names_path("www.example"), token=system_of(c))
    until(lambda: flags(c, "www.example") == (True, False))
    wait_items(c, "www.example", wanted)
    delete(c, firewalls_path(ns, "default"))
    until(lambda: flags(c, "www.example") is None)


def test_start_after_an_end(c, controller, zone, ns):
    """EF-7, EF-16, EF-18, EF-20: what happened while no controller ran is caught up with; learnt names stay and are looked
    up again; objects of others that no rule uses stay."""
    assert controller.stop() == 0
    make_name(c, "gone.example", True, False)
    make_name(c, "wildcard.wild.example", True, True)
    make_name(c, "wildcard.www.example", False, True)
    status, _ = c.call("POST", names_path(), {"apiVersion": "k8s.ovn.org/v1", "kind": "DNSName", "metadata": {"name": "theirs.example"},
                                              "spec": {"isregular": True}}, token=system_of(c))
    assert status == 201
    write_items(c, "wildcard.wild.example", {"a.wild.example": ["192.0.2.11"], "old.wild.example": ["203.0.113.1"],
                                             "b.wild.example": ["203.0.113.2"], "far.off.wild.example": ["203.0.113.3"]},
                at="2020-01-01T00:00:00Z")
    write_items(c, "wildcard.www.example", {"x.www.example": ["203.0.113.4"], "wildcard.www.example": ["203.0.113.5"]})
    make_firewall(c, ns, ["*.wild.example", "wildcard.www.example"])
    p = run_controller(c, zone)
    try:
        until(lambda: flags(c, "gone.example") is None)
        until(lambda: flags(c, "wildcard.wild.example") == (False, True))
        # The old address of b stays for its grace beside the new one; a host without addresses goes.
        until(lambda: items(c, "wildcard.wild.example").get("b.wild.example") == ["192.0.2.12", "203.0.113.2"])
        assert "far.off.wild.example" not in items(c, "wildcard.wild.example")
        until(lambda: flags(c, "wildcard.www.example") == (True, False))
        until(lambda: list(items(c, "wildcard.www.example")) == ["wildcard.www.example"])
        wait_items(c, "wildcard.wild.example", {"a.wild.example": ["192.0.2.11"], "b.wild.example": ["192.0.2.12"]})
        assert flags(c, "theirs.example") == (True, False)
        delete(c, firewalls_path(ns, "default"))
        until(lambda: flags(c, "wildcard.wild.example") is None)
    finally:
        assert p.stop() == 0, p.text()
