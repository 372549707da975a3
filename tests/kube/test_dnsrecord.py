# SPDX-License-Identifier: GPL-3.0-or-later
"""The controller dnsrecord where a new generation is enough, on a real API server and on the embedded one."""
import json

import pytest

from bothlib import c as served, embedded, real  # noqa: F401 (fixtures)
from controllerlib import events, namespace, until
from dnsrecordlib import (FINALIZER, OPERATION, Zones, condition, delete, get, make, make_secret, patch, path, prepare, request,
                          run_controller, settled, state_of, status_of, wait_failed, wait_gone, wait_settled)


@pytest.fixture(scope="module")
def c(served):  # noqa: F811
    return prepare(served)


@pytest.fixture(scope="module")
def controller(c):
    p = run_controller(c)
    yield p
    assert p.stop() == 0, p.text()


@pytest.fixture
def ns(c, request):  # noqa: F811 pylint: disable=redefined-outer-name
    name = request.node.originalname.replace("_", "-")[:40]
    namespace(c, name)
    return name


@pytest.fixture
def zones(c, ns, tmp_path):
    z = Zones(tmp_path)
    make_secret(c, ns, z.data())
    return z


def test_life_of_a_record(c, controller, ns, zones):
    """DR-4, DR-14, DR-16, DR-30, DR-40, DR-42, DR-45, DR-46: created, changed, deleted; the zone is searched once."""
    make(c, ns, "a", "WWW.Example.com.", values=["192.0.2.2", "192.0.2.1"])
    s = wait_settled(c, ns, "a")
    assert zones.sets() == {("www.example.com", "A"): (120, ["192.0.2.1", "192.0.2.2"])}
    assert s["zone"] == "example.com" and s["lastOperation"]["type"] == "Create" and s["lastOperation"]["progress"] == 100
    assert condition(s, "Created") == ("True", "Success") and condition(s, "Owned") == ("True", "Written")
    assert condition(s, "InSync") == ("True", "Published") and "lastError" not in s
    assert get(c, ns, "a")["metadata"]["finalizers"] == [FINALIZER]
    patch(c, ns, "a", {"spec": {"ttl": 0, "values": ["192.0.2.3"]}})
    s = wait_settled(c, ns, "a")
    assert zones.sets() == {("www.example.com", "A"): (0, ["192.0.2.3"])} and s["lastOperation"]["type"] == "Reconcile"
    assert len(zones.calls("find_zones")) == 1
    writes = len(zones.calls("apply"))
    patch(c, ns, "a", {"metadata": {"labels": {"x": "y"}}})
    delete(c, ns, "a")
    wait_gone(c, ns, "a")
    assert zones.sets() == {} and len(zones.calls("find_zones")) == 1 and len(zones.calls("apply")) == writes + 1


def test_all_types(c, controller, ns, zones):
    """DR-29, DR-31, DR-59: every record type; TXT of any bytes; wildcards."""
    wanted = {"a": ("*.w.example.com", "A", ["192.0.2.1"]), "b": ("b.example.com", "AAAA", ["2001:db8::1"]),
              "c": ("c.example.com", "CNAME", ["target.example.net"]), "d": ("_d.example.com", "TXT", ["plain", '"a \\\\\\200"'])}
    for name, (host, kind, values) in wanted.items():
        make(c, ns, name, host, values=values, kind=kind)
    for name in wanted:
        wait_settled(c, ns, name)
    assert zones.sets() == {("*.w.example.com", "A"): (120, ["192.0.2.1"]), ("b.example.com", "AAAA"): (120, ["2001:db8::1"]),
                            ("c.example.com", "CNAME"): (120, ["target.example.net"]), ("_d.example.com", "TXT"): (120, ["a \\\udcc8", "plain"])}
    for name in wanted:
        delete(c, ns, name)
    for name in wanted:
        wait_gone(c, ns, name)
    assert zones.sets() == {}


def test_foreign_sets_stay(c, controller, ns, zones):
    """DR-P6, DR-46: what another wrote is neither changed nor deleted, until the object says that it adopts it."""
    zones.add_foreign("old.example.com", "A", "198.51.100.1")
    make(c, ns, "a", "old.example.com")
    s = wait_failed(c, ns, "a")
    assert s["lastError"]["codes"] == ["ERR_CONFIGURATION_PROBLEM"] and "old.example.com" in s["lastError"]["description"]
    assert condition(s, "Owned") == ("False", "NotOurs") and condition(s, "Created") == ("False", "Error")
    assert zones.sets(foreign=True) == {("old.example.com", "A"): (300, ["198.51.100.1"])}
    delete(c, ns, "a")
    wait_gone(c, ns, "a")
    assert zones.sets(foreign=True) == {("old.example.com", "A"): (300, ["198.51.100.1"])}
    make(c, ns, "b", "old.example.com", annotations={"dnsrecord.fairlead.dev/adopt": "true"})
    wait_settled(c, ns, "b")
    assert zones.sets() == {("old.example.com", "A"): (120, ["192.0.2.1"])}


def test_two_objects_want_one_name(c, controller, ns, zones):
    """Of two objects the older one has the name; when it is gone, the other one gets it."""
    make(c, ns, "first", "two.example.com")
    wait_settled(c, ns, "first")
    make(c, ns, "second", "TWO.example.com", values=["192.0.2.9"])
    s = wait_failed(c, ns, "second")
    assert condition(s, "Owned") == ("False", "NameTaken") and "'first'" in s["lastError"]["description"]
    delete(c, ns, "first")
    wait_gone(c, ns, "first")
    s = wait_settled(c, ns, "second")
    assert condition(s, "Owned") == ("True", "Written") and zones.sets() == {("two.example.com", "A"): (120, ["192.0.2.9"])}
    make(c, ns, "alias", "two.example.com", kind="CNAME", values=["x.example.com"])  # waits for the name, and keeps it from no other
    assert "'second'" in wait_failed(c, ns, "alias")["lastError"]["description"]
    make(c, ns, "text", "two.example.com", kind="TXT", values=["x"])
    wait_settled(c, ns, "text")
    zones.add_foreign("three.example.com", "A", "198.51.100.1")
    make(c, ns, "stuck", "three.example.com")  # keeps the name from nobody
    wait_failed(c, ns, "stuck")
    make(c, ns, "third", "three.example.com", annotations={"dnsrecord.fairlead.dev/adopt": "true"})
    wait_settled(c, ns, "third")
    patch(c, ns, "second", {"metadata": {"annotations": request("reconcile")}})
    until(lambda: OPERATION not in get(c, ns, "second")["metadata"]["annotations"])  # DR-44a: also where a generation is enough
    wait_settled(c, ns, "second")


def test_zone_changes(c, controller, ns, zones):
    """DR-12, DR-17, DR-18, DR-20: another zone in the spec wins, and the old one is cleaned; a missing zone is an error."""
    zones.write([*zones.lines(), "zone Z2 example.com private", "zone Z1 sub.example.com public"])
    make(c, ns, "a", "a.sub.example.com")
    assert wait_settled(c, ns, "a")["zone"] == "Z1"  # DR-15: the longest
    patch(c, ns, "a", {"spec": {"zone": "Z2"}})
    assert wait_settled(c, ns, "a")["zone"] == "Z2"
    assert [line.split()[1] for line in zones.lines() if line.startswith("set ")] == ["Z2"]
    assert "leftover" not in status_of(c, ns, "a")["state"]
    make(c, ns, "b", "b.example.org")
    assert "ERR_CONFIGURATION_PROBLEM" in wait_failed(c, ns, "b")["lastError"]["codes"]
    calls = len(zones.calls())
    delete(c, ns, "b")
    wait_gone(c, ns, "b")
    assert len(zones.calls()) == calls  # DR-49: never created, so no call


def test_several_zones_of_one_name(c, controller, ns, zones):
    """DR-19: the public zone with the lowest id, and an Event that names the others; the spec chooses another one."""
    zones.write([f"zone {zone} twice.example {kind}" for zone, kind in (("Z0", "private"), ("Z9", "public"), ("Z2", "public"))])
    make(c, ns, "a", "a.twice.example")
    assert wait_settled(c, ns, "a")["zone"] == "Z2"
    note, = until(lambda: [e["note"] for e in events(c, ns) if e["reason"] == "ZoneAmbiguous"])
    assert note == "several zones have the same name: 'Z2' is used, not 'Z0', 'Z9'; spec.zone chooses another"
    make(c, ns, "b", "b.twice.example", zone="Z9")
    assert wait_settled(c, ns, "b")["zone"] == "Z9"
    patch(c, ns, "a", {"spec": {"values": ["192.0.2.2"]}})  # its zone is known by now
    assert wait_settled(c, ns, "a")["zone"] == "Z2"
    assert len([e for e in events(c, ns) if e["reason"] == "ZoneAmbiguous" and "series" not in e]) == 1


def test_order_of_regions(c, controller, ns, zones):
    """DR-22: the region of the spec, then of the Secret, then the provider's default; DR-6: a provider configuration changes nothing."""
    make_secret(c, ns, {**zones.data(), "region": "of-the-secret"}, name="region")
    wanted = {"a": ({"secret": {"name": "region"}, "region": "of-the-spec"}, "of-the-spec"), "b": ({"secret": {"name": "region"}}, "of-the-secret"),
              "c": ({}, "here"), "d": ({"providerConfig": {"apiVersion": "x/v1", "kind": "Y", "region": "other", "zone": [1]}}, "here")}
    for name, (more, region) in wanted.items():
        make(c, ns, name, f"{name}.example.com", **more)
        wait_settled(c, ns, name)
        assert [call[2] for call in zones.calls("apply")][-1] == region
    assert zones.sets() == {(f"{name}.example.com", "A"): (120, ["192.0.2.1"]) for name in wanted}
    assert get(c, ns, "d")["spec"]["providerConfig"] == wanted["d"][0]["providerConfig"]


def test_zone_is_missing_for_a_moment(c, controller, ns, zones):
    """DR-20, DR-46: what was written is not forgotten; when the zone is back, the record is changed and deleted as before."""
    make(c, ns, "a", "a.example.com")
    wait_settled(c, ns, "a")
    before = zones.lines()
    zones.write([])
    patch(c, ns, "a", {"spec": {"values": ["192.0.2.2"]}})
    s = wait_failed(c, ns, "a")
    assert s["zone"] == "example.com" and s["state"]["applied"]["values"] == ["192.0.2.1"]
    zones.write(before)
    patch(c, ns, "a", {"spec": {"values": ["192.0.2.3"]}})
    wait_settled(c, ns, "a")
    assert zones.sets() == {("a.example.com", "A"): (120, ["192.0.2.3"])}
    delete(c, ns, "a")
    wait_gone(c, ns, "a")
    assert zones.sets() == {}


def test_secret_of_another_namespace(c, controller, ns, zones):
    """A Secret of another namespace must name the object's."""
    namespace(c, ns + "-2")
    make_secret(c, ns, zones.data(), name="open", annotations={"dnsrecord.fairlead.dev/allow-from": f"x, {ns}-2"})
    make(c, ns + "-2", "a", "a.example.com", secret={"name": "credentials", "namespace": ns})
    s = wait_failed(c, ns + "-2", "a")
    assert "allow-from" in s["lastError"]["description"] and zones.calls() == []
    make(c, ns + "-2", "b", "b.example.com", secret={"name": "open", "namespace": ns})
    wait_settled(c, ns + "-2", "b")
    delete(c, ns + "-2", "b")
    wait_gone(c, ns + "-2", "b")


def test_deletion_ends(c, controller, ns, zones):
    """DR-P11, DR-20: a record or a zone that is missing is a success; dead credentials are an error until they live."""
    for name in ("a", "b", "d"):
        make(c, ns, name, f"{name}.example.com")
    for name in ("a", "b", "d"):
        wait_settled(c, ns, name)
    zones.write([line for line in zones.lines() if "a.example.com" not in line])
    delete(c, ns, "a")
    wait_gone(c, ns, "a")
    zones.fault("*", "deny", 1)
    delete(c, ns, "d")
    s = wait_failed(c, ns, "d")
    assert s["lastError"]["codes"] == ["ERR_INFRA_UNAUTHENTICATED"] and s["lastOperation"]["type"] == "Delete"
    zones.write([])
    delete(c, ns, "b")
    wait_gone(c, ns, "b")
    note, = until(lambda: [e["note"] for e in events(c, ns) if e["reason"] == "RecordLeft"])
    assert "zone 'example.com' does not exist" in note and "'b.example.com'" in note
    patch(c, ns, "d", {"metadata": {"finalizers": None}})


def test_passing_faults_are_no_errors(c, controller, ns, zones):
    """DR-44a, DR-47: throttling and lost replies do not write lastError; the end is as without them."""
    zones.fault("apply", "throttle", 2)
    make(c, ns, "a", "a.example.com")
    s = wait_settled(c, ns, "a")
    zones.fault("apply", "lost_after", 1)
    make(c, ns, "b", "b.example.com")
    s = wait_settled(c, ns, "b")
    assert condition(s, "Created") == ("True", "Success") and len(zones.sets()) == 2


DRY = {"dnsrecord.fairlead.dev/dry-run": "true"}


def dry_run(c, ns, name, result):
    """status.providerStatus.dryRun, once it has this result."""
    def found():
        plan = (status_of(c, ns, name).get("providerStatus") or {}).get("dryRun", {})
        return plan if plan.get("result") == result else None
    return until(found)


def test_dry_run(c, controller, ns, zones):
    """A dry run says what would change, and writes nothing to the provider."""
    make(c, ns, "a", "a.example.com", annotations=DRY)
    assert dry_run(c, ns, "a", "Changes")["changes"] == [{"action": "create", "zone": "example.com", "name": "a.example.com", "recordType": "A",
                                                          "after": {"ttl": 120, "values": ["192.0.2.1"]}}]
    assert zones.calls("apply") == [] and zones.sets() == {}
    patch(c, ns, "a", {"metadata": {"annotations": {"dnsrecord.fairlead.dev/dry-run": None}}})
    wait_settled(c, ns, "a")
    assert "dryRun" not in status_of(c, ns, "a").get("providerStatus", {})


def test_dry_run_compares_with_the_provider(c, controller, ns, zones):
    """The provider's own record sets count, not the status: other values, a foreign set, none at all."""
    make(c, ns, "a", "a.example.com")
    wait_settled(c, ns, "a")
    applied = len(zones.calls("apply"))
    zones.write([line.replace("192.0.2.1", "192.0.2.99") for line in zones.lines()])
    patch(c, ns, "a", {"metadata": {"annotations": DRY}, "spec": {"values": ["192.0.2.2"]}})
    change, = dry_run(c, ns, "a", "Changes")["changes"]
    assert change["action"] == "change" and change["before"]["values"] == ["192.0.2.99"] and change["after"]["values"] == ["192.0.2.2"]
    patch(c, ns, "a", {"spec": {"values": ["192.0.2.99"]}})
    assert dry_run(c, ns, "a", "NoChanges")["changes"] == []
    zones.add_foreign("b.example.com", "A", "192.0.2.7")
    make(c, ns, "b", "b.example.com", annotations=DRY)
    assert "192.0.2.7" in dry_run(c, ns, "b", "Refused")["problem"]
    delete(c, ns, "a")  # under a dry run it stays, and says so
    until(lambda: state_of(c, ns, "a") == ("Delete", "Processing"))
    assert "remove the annotation dnsrecord.fairlead.dev/dry-run" in status_of(c, ns, "a")["lastOperation"]["description"]
    assert until(lambda: dry_run(c, ns, "a", "Changes")["changes"][0]["action"] == "delete")
    assert len(zones.calls("apply")) == applied
    patch(c, ns, "a", {"metadata": {"annotations": {"dnsrecord.fairlead.dev/dry-run": None}}})
    wait_gone(c, ns, "a")


def test_dry_run_without_the_provider(c, controller, ns, zones):
    """A provider that cannot be read: Unknown, with the reason, and no changes. What was said before goes."""
    make(c, ns, "a", "a.example.com", annotations=DRY)
    dry_run(c, ns, "a", "Changes")
    zones.fault("*", "deny", 1)
    patch(c, ns, "a", {"spec": {"values": ["192.0.2.2"]}})
    plan = dry_run(c, ns, "a", "Unknown")
    assert plan["problem"] and "changes" not in plan
    patch(c, ns, "a", {"spec": {"values": ["192.0.2.3"]}})
    plan = dry_run(c, ns, "a", "Changes")
    assert plan["changes"][0]["after"]["values"] == ["192.0.2.3"] and "problem" not in plan
    make(c, ns, "b", "b.example.com", secret={"name": "missing"}, annotations=DRY)
    assert "missing" in dry_run(c, ns, "b", "Unknown")["problem"]
    assert zones.calls("apply") == []


def test_not_ours(c, controller, ns, zones):
    """DR-5, DR-52, DR-54: objects of other types and classes see no write; invalid ones no call."""
    make(c, ns, "other", "a.example.com", type="aws-route53")
    make(c, ns, "seed", "b.example.com", **{"class": "seed"})
    make(c, ns, "mine", "c.example.com", **{"class": "shoot"})
    wait_settled(c, ns, "mine")
    make(c, ns, "other2", "d.example.com", type="aws-route53")
    make(c, ns, "mine2", "e.example.com")
    wait_settled(c, ns, "mine2")
    assert controller.text().count("DNSRecords of type 'aws-route53' are left alone: there is no provider of this type") == 1
    for name in ("other", "seed"):
        o = get(c, ns, name)
        assert "status" not in o and "finalizers" not in o["metadata"]
    assert settled(c, ns, "mine") and state_of(c, ns, "mine") == ("Create", "Succeeded")
    assert [e["reason"] for e in events(c, ns) if e["regarding"]["name"] == "mine"] == ["Published"]


def test_no_secret_appears(c, controller, ns, zones):
    """DR-P12: values of the Secret are in no log, status or Event, whatever fails."""
    secret = "4d1f-not-for-others"
    make_secret(c, ns, {**zones.data(), "password": secret, "server": f"{zones.file} {secret}"}, name="more")
    zones.fault("*", "deny")
    make(c, ns, "a", "a.example.com", secret={"name": "more"})
    assert wait_failed(c, ns, "a")["lastError"]["codes"] == ["ERR_INFRA_UNAUTHENTICATED"]
    make(c, ns, "b", "b.example.org", secret={"name": "more"})
    wait_failed(c, ns, "b")
    until(lambda: [e for e in events(c, ns) if e["reason"] == "Failed"])
    everything = controller.text() + json.dumps([get(c, ns, "a"), get(c, ns, "b"), events(c, ns)]) + controller.get("/metrics")[1]
    assert secret not in everything and zones.file not in everything


def test_quiet(c, controller, ns, zones):
    """DR-38, DR-P8: a settled record costs no write and no call."""
    make(c, ns, "a", "a.example.com")
    wait_settled(c, ns, "a")
    version, calls = get(c, ns, "a")["metadata"]["resourceVersion"], len(zones.calls())
    make(c, ns, "b", "b.example.com")
    wait_settled(c, ns, "b")
    assert get(c, ns, "a")["metadata"]["resourceVersion"] == version and len(zones.calls()) == calls + 1
