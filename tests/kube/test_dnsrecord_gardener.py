# SPDX-License-Identifier: GPL-3.0-or-later
"""The controller dnsrecord on the platform `gardener`: a gardenlet that waits as the real one does drives Gardener's protocol."""
import time

import pytest

from bothlib import c as served, embedded, real  # noqa: F401 (fixtures)
from controllerlib import events, namespace, until
from dnsrecordlib import (FINALIZER, GROUP, OPERATION, Zones, condition, delete, failed, gardenlet_waits, get, make, make_secret,
                          not_ready, patch, prepare, request, run_controller, state_of, status_of, wait_failed, wait_gone,
                          write_status)

SHOOT = {"gardener.cloud/role": "shoot"}


@pytest.fixture(scope="module")
def c(served):  # noqa: F811
    return prepare(served)


@pytest.fixture(scope="module")
def controller(c):
    p = run_controller(c, "--platform", "gardener", "--dnsrecord-classes", "seed,shoot", "--heartbeat", "1s")
    yield p
    assert p.stop() == 0, p.text()


def cluster(c, name, state="Succeeded", annotations=None):
    status, body = c.call("POST", f"/apis/{GROUP}/v1alpha1/clusters", {
        "apiVersion": f"{GROUP}/v1alpha1", "kind": "Cluster", "metadata": {"name": name}, "spec": {
            "cloudProfile": {}, "seed": {}, "shoot": {"metadata": {"annotations": annotations or {}},
                                                      "status": {"lastOperation": {"state": state}}}}})
    assert status == 201, body


@pytest.fixture
def ns(c, request):  # noqa: F811 pylint: disable=redefined-outer-name
    name = "shoot--" + request.node.originalname.replace("_", "-")[:40]
    namespace(c, name, SHOOT)
    cluster(c, name)
    return name


@pytest.fixture
def zones(c, ns, tmp_path):
    z = Zones(tmp_path, ["example.com", "ZINT=internal.example.net"])
    make_secret(c, ns, z.data())
    return z


def test_four_uses(c, controller, ns, zones):
    """DR-58, DR-53, DR-54, DR-13: internal, external, shoot ingress, seed ingress; an endpoint moves; a type changes. The Secret of one is in
    another namespace."""
    asked = request("reconcile", ahead=30)  # DR-43: a clock that is ahead
    namespace(c, "garden")
    make_secret(c, "garden", zones.data())
    make(c, ns, "internal", "api.bar.foo.internal.example.net", annotations=asked)
    make(c, ns, "external", "api.bar.foo.example.com", kind="CNAME", values=["api.bar.foo.internal.example.net"], annotations=asked)
    make(c, ns, "ingress", "*.ingress.bar.foo.example.com", secret={"name": "credentials", "namespace": "garden"}, annotations=asked)
    make(c, "garden", "seed", "*.ingress.seed.example.com", kind="AAAA", values=["2001:db8::1"], annotations=asked, **{"class": "seed"})
    for space, name in ((ns, "internal"), (ns, "external"), (ns, "ingress"), ("garden", "seed")):
        o = gardenlet_waits(c, space, name)
        assert condition(o["status"], "Created") == ("True", "Success") and o["metadata"]["finalizers"] == [FINALIZER]
    assert len(zones.sets()) == 4 and status_of(c, ns, "internal")["zone"] == "ZINT"
    # the endpoint moves
    patch(c, ns, "internal", {"metadata": {"annotations": request("reconcile")}, "spec": {"values": ["192.0.2.99"]}})
    gardenlet_waits(c, ns, "internal")
    assert zones.sets()[("api.bar.foo.internal.example.net", "A")] == (120, ["192.0.2.99"])
    # the load balancer has a name now: gardenlet deletes the object and creates it again
    delete(c, ns, "internal")
    wait_gone(c, ns, "internal")
    make(c, ns, "internal", "api.bar.foo.internal.example.net", kind="CNAME", values=["lb.example.org"], annotations=request("reconcile"))
    gardenlet_waits(c, ns, "internal")
    assert ("api.bar.foo.internal.example.net", "A") not in zones.sets()
    for space, name in ((ns, "internal"), (ns, "external"), (ns, "ingress"), ("garden", "seed")):
        delete(c, space, name)
    for space, name in ((ns, "internal"), (ns, "external"), (ns, "ingress"), ("garden", "seed")):
        wait_gone(c, space, name)
    assert zones.sets() == {}


def test_only_requests_count(c, controller, ns, zones):
    """DR-35, DR-36, DR-38, DR-41: an edit alone does nothing, `wait-for-state` neither; a request does."""
    make(c, ns, "a", "a.example.com", annotations=request("reconcile"))
    gardenlet_waits(c, ns, "a")
    make(c, ns, "w", "w.example.com", annotations=request("wait-for-state"))
    patch(c, ns, "a", {"spec": {"values": ["192.0.2.2"]}})
    make(c, ns, "b", "b.example.com")  # no lastOperation is enough
    until(lambda: state_of(c, ns, "b") == ("Create", "Succeeded"))
    assert zones.sets()[("a.example.com", "A")] == (120, ["192.0.2.1"]) and "status" not in get(c, ns, "w")
    assert not_ready(get(c, ns, "a")) == "observedGeneration"
    patch(c, ns, "a", {"metadata": {"annotations": request("reconcile")}})
    gardenlet_waits(c, ns, "a")
    assert zones.sets()[("a.example.com", "A")] == (120, ["192.0.2.2"]) and state_of(c, ns, "a") == ("Reconcile", "Succeeded")
    # DR-16, DR-30: the same once more makes no search for zones
    searches = len(zones.calls("find_zones"))
    patch(c, ns, "a", {"metadata": {"annotations": request("reconcile")}})
    gardenlet_waits(c, ns, "a")
    assert len(zones.calls("find_zones")) == searches
    patch(c, ns, "w", {"metadata": {"annotations": request("reconcile")}})
    gardenlet_waits(c, ns, "w")


def test_errors_have_codes(c, controller, ns, zones):
    """DR-44, DR-24, DR-18, DR-28: codes for what stays; the next request uses the new Secret."""
    make_secret(c, ns, {"zones": "example.com"}, name="incomplete")
    make(c, ns, "key", "k.example.com", secret={"name": "incomplete", "namespace": ns}, annotations=request("reconcile"))
    s = wait_failed(c, ns, "key")
    assert s["lastError"]["codes"] == ["ERR_CONFIGURATION_PROBLEM"]
    assert "server" in s["lastError"]["description"] and "MEMORY_SERVER" in s["lastError"]["description"]
    make(c, ns, "zone", "k.example.org", annotations=request("reconcile"))
    assert wait_failed(c, ns, "zone")["lastError"]["codes"] == ["ERR_CONFIGURATION_PROBLEM"]
    zones.fault("*", "deny")
    make(c, ns, "denied", "d.example.com", annotations=request("reconcile"))
    s = wait_failed(c, ns, "denied")
    assert s["lastError"]["codes"] == ["ERR_INFRA_UNAUTHENTICATED"] and s["lastOperation"]["progress"] == 50
    assert s["observedGeneration"] == 1 and s["lastError"]["description"][0].isupper()
    patch(c, ns, "denied", {"metadata": {"annotations": request("reconcile")}})
    gardenlet_waits(c, ns, "denied")
    status, body = c.call("PATCH", f"/api/v1/namespaces/{ns}/secrets/incomplete", {"stringData": zones.data()},
                          content_type="application/merge-patch+json")
    assert status == 200, body
    if "server" in body["data"]:  # the embedded API has no stringData
        patch(c, ns, "key", {"metadata": {"annotations": request("reconcile")}})
        gardenlet_waits(c, ns, "key")


def test_failed_and_forced_shoots(c, controller, zones, ns):
    """DR-53, DR-48, DR-P11: nothing is done for a failed shoot; a forced deletion ends, and an Event names what is left."""
    for name, state in ((ns + "-f", "Failed"), (ns + "-x", "Processing")):
        namespace(c, name, SHOOT)
        make_secret(c, name, zones.data())
        if state == "Failed":
            cluster(c, name, state)
    make(c, ns + "-f", "a", "f.example.com", annotations=request("reconcile"))
    make(c, ns + "-x", "a", "x.example.com", annotations=request("reconcile"))  # its Cluster comes later
    make(c, ns, "a", "a.example.com", annotations=request("reconcile"))
    gardenlet_waits(c, ns, "a")
    assert "status" not in get(c, ns + "-f", "a") and "status" not in get(c, ns + "-x", "a")
    cluster(c, ns + "-x")
    gardenlet_waits(c, ns + "-x", "a")
    status, body = c.call("PATCH", f"/apis/{GROUP}/v1alpha1/clusters/{ns}-x", {"spec": {"shoot": {"metadata": {"annotations": {
        "confirmation.gardener.cloud/force-deletion": "true"}}}}}, content_type="application/merge-patch+json")
    assert status == 200, body
    zones.fault("*", "deny", 9)
    began = time.monotonic()
    delete(c, ns + "-x", "a")
    wait_gone(c, ns + "-x", "a")
    assert time.monotonic() - began < 10
    until(lambda: [e for e in events(c, ns + "-x") if e["reason"] == "OrphanLeft" and "x.example.com" in e["note"]])
    zones.fault("*", "deny", 0)


def test_migration(c, controller, ns, zones):
    """DR-50, DR-51: `migrate` leaves the record set; another control plane's object takes it with `restore`."""
    make(c, ns, "a", "a.example.com", annotations=request("reconcile"))
    gardenlet_waits(c, ns, "a")
    calls = len(zones.calls())
    patch(c, ns, "a", {"metadata": {"annotations": request("migrate")}})
    until(lambda: OPERATION not in get(c, ns, "a")["metadata"]["annotations"])
    o = get(c, ns, "a")
    assert state_of(c, ns, "a") == ("Migrate", "Succeeded") and not o["metadata"].get("finalizers")
    # after that only migrate and restore have an effect; a request is removed all the same
    patch(c, ns, "a", {"metadata": {"annotations": request("reconcile")}, "spec": {"values": ["192.0.2.7"]}})
    until(lambda: OPERATION not in get(c, ns, "a")["metadata"]["annotations"])
    assert state_of(c, ns, "a") == ("Migrate", "Succeeded") and len(zones.calls()) == calls
    state = o["status"]["state"]
    delete(c, ns, "a")
    wait_gone(c, ns, "a")
    assert zones.sets() == {("a.example.com", "A"): (120, ["192.0.2.1"])}
    # the other control plane: an object of its own, with another uid and another endpoint
    namespace(c, ns + "-2", SHOOT)
    cluster(c, ns + "-2")
    make_secret(c, ns + "-2", zones.data())
    make(c, ns + "-2", "a", "a.example.com", values=["192.0.2.8"], annotations=request("wait-for-state"))
    write_status(c, ns + "-2", "a", {"state": state})
    patch(c, ns + "-2", "a", {"metadata": {"annotations": request("restore")}})
    o = gardenlet_waits(c, ns + "-2", "a")
    assert o["metadata"]["finalizers"] == [FINALIZER] and o["status"]["zone"] == "example.com"
    assert zones.sets() == {("a.example.com", "A"): (120, ["192.0.2.8"])}
    delete(c, ns + "-2", "a")
    wait_gone(c, ns + "-2", "a")
    assert zones.sets() == {}


def test_takes_over_from_an_extension(c, controller, ns, zones):
    """DR-21: what another controller published for the object is ours if the values are equal, else it stays."""
    zones.add_foreign("t.example.com", "A", "192.0.2.1", ttl=120)
    zones.add_foreign("u.example.com", "A", "192.0.2.200", ttl=120)
    for name in ("t", "u"):
        make(c, ns, name, f"{name}.example.com", annotations={OPERATION: "wait-for-state"})
        write_status(c, ns, name, {"zone": "example.com", "observedGeneration": 1, "lastOperation": {
            "type": "Create", "state": "Succeeded", "progress": 100, "description": "Go", "lastUpdateTime": "2026-01-01T00:00:00Z"}})
        patch(c, ns, name, {"metadata": {"annotations": request("reconcile")}})
    gardenlet_waits(c, ns, "t")
    assert condition(until(lambda: failed(c, ns, "u")), "Owned") == ("False", "NotOurs")
    assert len(zones.calls("find_zones")) == 0
    assert ("u.example.com", "A") in zones.sets(foreign=True) and ("t.example.com", "A") in zones.sets()
    delete(c, ns, "t")
    wait_gone(c, ns, "t")
    assert ("t.example.com", "A") not in zones.sets()


def test_heartbeat(c, controller):
    """DR-56: the Lease that Gardener watches."""
    def lease():
        return c.call("GET", "/apis/coordination.k8s.io/v1/namespaces/default/leases/gardener-extension-heartbeat")[1].get("spec", {})

    first = until(lambda: lease().get("renewTime"))
    assert lease()["holderIdentity"] == "fairlead-dnsrecord"
    until(lambda: lease()["renewTime"] > first)
