# SPDX-License-Identifier: GPL-3.0-or-later
"""The controller ipam on a real API server and on the embedded one: claims get addresses, keep them, give them back."""
import contextlib
import itertools
import subprocess

import pytest

import crdlib
from bothlib import c as served, embedded, real, real_only  # noqa: F401 (fixtures)
from controllerlib import config_map, events, namespace, start, until
from ipamlib import (GLOBAL_POOL, GLOBAL_PREFIX_POOL, GROUP, NETWORK, POOL, PREFIX_POOL, Log, addresses_path, bound, claims_path, delete, get,
                     items, make, make_claim, make_pool, make_prefix_pool, patch, pools_path, prefix_pools_path, ready_of, version_of, wait_bound,
                     wait_reason)
from lib import server
from lib.cluster import Cluster

PAUSED = "cluster.x-k8s.io/paused"
NAMESERVERS = "ipam.fairlead.dev/nameservers"


@pytest.fixture(scope="module")
def c(served):  # noqa: F811
    if isinstance(served, Cluster):
        crdlib.apply_all(served, group="cluster.x-k8s.io")
    return served


def start_ipam(c):
    """With the identity that may write status on the embedded API."""
    return start(c.kubeconfig(getattr(c, "system", None)), "--no-election", controllers="ipam")


@pytest.fixture(scope="module")
def controller(c):
    p = start_ipam(c)
    p.wait_line("leading as")
    yield p
    assert p.stop() == 0, p.text()


@pytest.fixture
def ns(c, request):
    name = request.node.originalname.replace("_", "-")[:50] if hasattr(request.node, "originalname") else "x"
    namespace(c, name)
    return name


def shown(c, ns, kinds, form):
    """What the columns show."""
    return subprocess.run([server.fairlead_program(), "get", kinds, "-n", ns, "-o", form, "--kubeconfig", c.kubeconfig()], check=True,
                          capture_output=True, text=True, timeout=60).stdout


def test_claim_gets_an_address(c, controller, ns):
    """CT-3, CT-4, CT-6, PR-3, PR-4, PR-7, IP-2: address, owners, finalizers, label, conditions in both forms."""
    pool = make_pool(c, ns, "pool", ["10.0.0.0/29"], 29, gateway="10.0.0.1",
                     nameservers={"search": ["corp.example"], "addresses": ["10.0.0.53", "2001:db8::53"]})
    claim = make_claim(c, ns, "vm-0-0", "pool", labels={"cluster.x-k8s.io/cluster-name": ""})
    assert wait_bound(c, ns, "vm-0-0") == "10.0.0.2"
    address = get(c, addresses_path(ns, "vm-0-0"))
    assert address["spec"] == {"address": "10.0.0.2", "prefix": 29, "gateway": "10.0.0.1", "claimRef": {"name": "vm-0-0"},
                               "poolRef": {"apiGroup": GROUP, "kind": "InClusterIPPool", "name": "pool"},
                               "nameservers": {"search": ["corp.example"], "addresses": ["10.0.0.53", "2001:db8::53"]}}
    for kinds in ("inclusterippools", "ipaddresses"):
        assert '["10.0.0.53","2001:db8::53"]   ["corp.example"]' in shown(c, ns, kinds, "wide"), kinds
        assert "corp.example" not in shown(c, ns, kinds, "table"), kinds
    owners = {o["kind"]: o for o in address["metadata"]["ownerReferences"]}
    assert owners["IPAddressClaim"]["uid"] == claim["metadata"]["uid"] and owners["IPAddressClaim"]["controller"]
    assert owners["InClusterIPPool"]["uid"] == pool["metadata"]["uid"] and not owners["InClusterIPPool"]["controller"]
    assert all(o["blockOwnerDeletion"] for o in owners.values())
    assert address["metadata"]["finalizers"] == [GROUP + "/ProtectAddress"]
    claim = get(c, claims_path(ns, "vm-0-0"))
    assert claim["metadata"]["finalizers"] == [GROUP + "/ReleaseAddress"]
    assert ready_of(claim)[:2] == ("True", "Allocated")
    old = claim["status"]["deprecated"]["v1beta1"]["conditions"]
    assert [(x["type"], x["status"]) for x in old] == [("Ready", "True")]
    assert GROUP + "/ProtectPool" in until(lambda: get(c, pools_path(ns, "pool"))["metadata"].get("finalizers"))


def test_waiting_claims_are_served_in_order(c, controller, ns):
    """PR-9: an exhausted pool is reported; an address that comes free goes to the oldest claim."""
    make_pool(c, ns, "pool", ["10.1.0.10"])
    make_claim(c, ns, "a", "pool")
    assert wait_bound(c, ns, "a") == "10.1.0.10"
    for name in ["b", "c"]:
        make_claim(c, ns, name, "pool")
        wait_reason(c, ns, name, "PoolExhausted")
    assert ready_of(get(c, claims_path(ns, "b")))[0] == "False"
    delete(c, claims_path(ns, "a"))
    assert wait_bound(c, ns, "b") == "10.1.0.10"
    assert ready_of(get(c, claims_path(ns, "b")))[:2] == ("True", "Allocated")
    assert bound(c, ns, "c") is None
    patch(c, pools_path(ns, "pool"), {"spec": {"addresses": ["10.1.0.10", "10.1.0.11"]}})
    assert wait_bound(c, ns, "c") == "10.1.0.11"


def test_release(c, controller, ns):
    """CT-5: the address goes before the claim; a pool goes after its last address."""
    make_pool(c, ns, "pool", ["10.2.0.10-10.2.0.12"])
    make_claim(c, ns, "a", "pool")
    wait_bound(c, ns, "a")
    delete(c, pools_path(ns, "pool"))
    assert get(c, pools_path(ns, "pool"))["metadata"]["deletionTimestamp"]
    make_claim(c, ns, "late", "pool")
    wait_reason(c, ns, "late", "PoolNotReady")
    assert bound(c, ns, "a") == "10.2.0.10"
    delete(c, claims_path(ns, "a"))
    until(lambda: get(c, claims_path(ns, "a")) is None)
    assert get(c, addresses_path(ns, "a")) is None
    until(lambda: get(c, pools_path(ns, "pool")) is None)


def test_grace_period(c, controller, ns):
    """PR-11: a released address rests; meanwhile its claim and its object stay."""
    make_pool(c, ns, "pool", ["10.3.0.10"], addressReuseGracePeriodSeconds=3)
    make_claim(c, ns, "a", "pool")
    wait_bound(c, ns, "a")
    delete(c, claims_path(ns, "a"))
    make_claim(c, ns, "b", "pool")
    until(lambda: ready_of(get(c, claims_path(ns, "b"))) ==
          ("False", "PoolExhausted", "InClusterIPPool 'pool' has no free address: delete a claim or add addresses to the pool; "
           "addresses of deleted claims rest for 3 s"))
    assert get(c, addresses_path(ns, "a")) is not None
    assert wait_bound(c, ns, "b") == "10.3.0.10"
    assert get(c, addresses_path(ns, "a")) is None


@real_only("admission", "served")
def test_grace_period_of_an_invalid_pool(c, controller, ns):
    """PR-11: an invalid spec does not end the rest of its addresses; the end of the pool does."""
    make_pool(c, ns, "pool", ["10.3.1.10"], addressReuseGracePeriodSeconds=3600)
    make_claim(c, ns, "a", "pool")
    wait_bound(c, ns, "a")
    patch(c, pools_path(ns, "pool"), {"spec": {"addresses": ["no address"]}})
    until(lambda: ready_of(get(c, pools_path(ns, "pool")))[1] == "InvalidSpec")
    delete(c, claims_path(ns, "a"))
    make_pool(c, ns, "other", ["10.3.2.10"])
    make_claim(c, ns, "behind", "other")
    wait_bound(c, ns, "behind")  # the claim before it has had its pass
    assert "deletionTimestamp" not in get(c, addresses_path(ns, "a"))["metadata"]
    delete(c, pools_path(ns, "pool"))
    until(lambda: get(c, claims_path(ns, "a")) is None and get(c, pools_path(ns, "pool")) is None)


@contextlib.contextmanager
def refusing(c, ns, plural, operation, reason, expression="false"):
    """A policy that refuses a write in the namespace, for a while."""
    group, name = "/apis/admissionregistration.k8s.io/v1", f"refuse-{ns}"
    meta = {"apiVersion": "admissionregistration.k8s.io/v1", "metadata": {"name": name}}
    make(c, f"{group}/validatingadmissionpolicies", {**meta, "kind": "ValidatingAdmissionPolicy", "spec": {
        "matchConstraints": {"resourceRules": [{"apiGroups": [GROUP], "apiVersions": ["*"], "operations": [operation, "CREATE"],
                                                "resources": [plural]}]},
        "validations": [{"expression": f"object.metadata.name != 'trial' && (request.operation != '{operation}' || {expression})",
                         "message": "not here", "reason": reason}]}})
    make(c, f"{group}/validatingadmissionpolicybindings", {**meta, "kind": "ValidatingAdmissionPolicyBinding", "spec": {
        "policyName": name, "validationActions": ["Deny"],
        "matchResources": {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": ns}}}}})
    ref = {"apiGroup": GROUP, "kind": POOL, "name": "trial"}
    trial = {"ipaddresses": {"address": "10.13.9.9", "prefix": 24, "claimRef": {"name": "trial"}, "poolRef": ref},
             "ipaddressclaims": {"poolRef": ref}}[plural]
    kind = {"ipaddresses": "IPAddress", "ipaddressclaims": "IPAddressClaim"}[plural]
    path = {"ipaddresses": addresses_path, "ipaddressclaims": claims_path}[plural](ns) + "?dryRun=All"
    one = {"apiVersion": f"{GROUP}/v1beta2", "kind": kind, "metadata": {"name": "trial"}, "spec": trial}
    until(lambda: "not here" in str(c.call("POST", path, one)[1]))
    try:
        yield
    finally:
        for kind in ("validatingadmissionpolicybindings", "validatingadmissionpolicies"):
            delete(c, f"{group}/{kind}/{name}")


def is_refused(c, ns, name, request):
    _, reason, message = ready_of(get(c, claims_path(ns, name)))
    return reason == "AllocationFailed" and message.startswith(f"{request}: ") and "not here" in message


@real_only("admission", "served")
@pytest.mark.parametrize("reason", ["Forbidden", "Invalid"])
def test_refused_addresses_are_reported(c, controller, reason):
    """CT-6: addresses that the API refuses (403 as with a quota, 422) are reported on their claims, which keep no address from
    others meanwhile, however many they are, and get one when the API accepts it."""
    ours, other, pool = (f"{word}-{reason.lower()}" for word in ("refused", "other", "shared"))
    address = {"Forbidden": "10.13.1.10", "Invalid": "10.13.2.10"}[reason]
    for one in (ours, other):
        namespace(c, one)
    make_pool(c, None, pool, [address])
    names = [f"c{i}" for i in range(20)]

    def versions():
        return [get(c, claims_path(ours, name))["metadata"]["resourceVersion"] for name in names]
    with refusing(c, ours, "ipaddresses", "CREATE", reason):
        for name in names:
            make_claim(c, ours, name, pool, kind=GLOBAL_POOL)
        until(lambda: all(is_refused(c, ours, name, "create of the address") for name in names), 60)
        until(lambda: [e for e in events(c, ours) if e["reason"] == "AllocationFailed" and "not here" in e["note"]])
        before = versions()
        for i in range(5):
            make_claim(c, other, f"x{i}", pool, kind=GLOBAL_POOL)
            assert wait_bound(c, other, f"x{i}") == address
            delete(c, claims_path(other, f"x{i}"))
            until(lambda: get(c, claims_path(other, f"x{i}")) is None)  # pylint: disable=cell-var-from-loop
        assert versions() == before, "what was reported is not written again"
    until(lambda: [name for name in names if bound(c, ours, name)], 60)


@real_only("admission", "served")
def test_refused_finalizers_hold_up_nobody(c, controller, ns):
    """CT-6: a claim whose finalizer is refused reports it; younger ones get the addresses, also if all of them waited for the pool."""
    with refusing(c, ns, "ipaddressclaims", "UPDATE", "Forbidden", "object.metadata.name != 'a' || has(object.metadata.deletionTimestamp)"):
        for name in ("a", "b", "c"):
            make_claim(c, ns, name, "pool")
        make_pool(c, ns, "pool", ["10.13.3.10-10.13.3.11"])
        assert {wait_bound(c, ns, name) for name in ("b", "c")} == {"10.13.3.10", "10.13.3.11"}
        until(lambda: is_refused(c, ns, "a", "finalizer of the claim"))
        delete(c, claims_path(ns, "b"))
        until(lambda: get(c, claims_path(ns, "b")) is None)
    assert wait_bound(c, ns, "a", 60) == "10.13.3.10"


def test_pauses(c, controller, ns):
    """CT-2, PR-10: nothing is assigned or released while claim, pool or Cluster is paused, or the Cluster is missing. Claims that wait for
    a paused pool say so."""
    make_pool(c, ns, "pool", ["10.4.0.10-10.4.0.20"])
    make_claim(c, ns, "sleeping", "pool", annotations={PAUSED: ""})
    make_claim(c, ns, "lost", "pool", cluster="nowhere")
    wait_reason(c, ns, "lost", "AllocationFailed")
    assert "'nowhere' does not exist" in ready_of(get(c, claims_path(ns, "lost")))[2]
    cluster = {"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "metadata": {"name": "nowhere"}, "spec": {"paused": True}}
    clusters = f"/apis/cluster.x-k8s.io/v1beta2/namespaces/{ns}/clusters"
    assert c.call("POST", clusters, cluster)[0] == 201
    make_claim(c, ns, "last", "pool")
    wait_bound(c, ns, "last")
    assert bound(c, ns, "lost") is None and bound(c, ns, "sleeping") is None
    patch(c, clusters + "/nowhere", {"spec": {"paused": False}, "metadata": {"annotations": {PAUSED: ""}}})
    make_claim(c, ns, "later", "pool")
    wait_bound(c, ns, "later")
    assert bound(c, ns, "lost") is None
    patch(c, clusters + "/nowhere", {"metadata": {"annotations": {PAUSED: None}}})
    wait_bound(c, ns, "lost")
    patch(c, claims_path(ns, "sleeping"), {"metadata": {"annotations": {PAUSED: None}}})
    wait_bound(c, ns, "sleeping")
    patch(c, pools_path(ns, "pool"), {"metadata": {"annotations": {PAUSED: "true"}}})
    delete(c, claims_path(ns, "last"))
    make_claim(c, ns, "next", "pool")
    until(lambda: get(c, claims_path(ns, "last"))["metadata"].get("deletionTimestamp"))
    make_pool(c, ns, "awake", ["10.4.1.10"])
    make_claim(c, ns, "behind", "awake")
    wait_bound(c, ns, "behind")  # those before it have had their pass
    wait_reason(c, ns, "next", "PoolNotReady")
    assert ready_of(get(c, claims_path(ns, "next")))[2] == f"{POOL} 'pool' is paused: remove its annotation {PAUSED}"
    assert bound(c, ns, "next") is None and get(c, addresses_path(ns, "next")) is None
    assert get(c, addresses_path(ns, "last"))["metadata"].get("deletionTimestamp") is None
    patch(c, pools_path(ns, "pool"), {"metadata": {"annotations": {PAUSED: None}}})
    wait_bound(c, ns, "next")
    until(lambda: get(c, claims_path(ns, "last")) is None)
    # The Cluster is gone: nothing new, but releases go on.
    delete(c, clusters + "/nowhere")
    until(lambda: get(c, clusters + "/nowhere") is None)
    delete(c, claims_path(ns, "lost"))
    until(lambda: get(c, claims_path(ns, "lost")) is None)


def test_pauses_hold_releases(c, controller, ns):
    """PR-10: a deleted claim and its address stay while the claim itself or its Cluster is paused, in both ways; then they go."""
    clusters = f"/apis/cluster.x-k8s.io/v1beta2/namespaces/{ns}/clusters"

    def make_cluster(name):
        make(c, clusters, {"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "metadata": {"name": name}, "spec": {"paused": False}})
    make_pool(c, ns, "pool", ["10.28.0.10-10.28.0.20"])
    for name in ("by-spec", "by-annotation"):
        make_cluster(name)
        make_claim(c, ns, name, "pool", cluster=name)
    make_claim(c, ns, "itself", "pool")
    names = ("itself", "by-spec", "by-annotation")
    addresses = {name: wait_bound(c, ns, name) for name in names}
    patch(c, claims_path(ns, "itself"), {"metadata": {"annotations": {PAUSED: ""}}})
    patch(c, clusters + "/by-spec", {"spec": {"paused": True}})
    patch(c, clusters + "/by-annotation", {"metadata": {"annotations": {PAUSED: ""}}})
    make_cluster("later")
    make_claim(c, ns, "later", "pool", cluster="later")
    wait_bound(c, ns, "later")  # the watch of Clusters has shown the pauses before this one
    for name in names:
        delete(c, claims_path(ns, name))
    make_pool(c, ns, "awake", ["10.28.1.10"])
    make_claim(c, ns, "behind", "awake")
    wait_bound(c, ns, "behind")  # those before it have had their pass
    for name in names:
        assert (get(c, claims_path(ns, name)) or {}).get("metadata", {}).get("deletionTimestamp"), name
        assert bound(c, ns, name) == addresses[name]
        assert "deletionTimestamp" not in get(c, addresses_path(ns, name))["metadata"]
    patch(c, claims_path(ns, "itself"), {"metadata": {"annotations": {PAUSED: None}}})
    patch(c, clusters + "/by-spec", {"spec": {"paused": False}})
    patch(c, clusters + "/by-annotation", {"metadata": {"annotations": {PAUSED: None}}})
    until(lambda: all(get(c, path(ns, name)) is None for name in names for path in (claims_path, addresses_path)))


def test_new_name_servers(c, controller, ns):
    """IP-11: those of an address stay as they were when it was allocated; new ones of the pool are for new addresses. So do none: its
    annotation says that it has none, and a machine does not get those that the pool lists later."""
    make_pool(c, ns, "bare", ["10.11.1.10-10.11.1.20"])
    make_claim(c, ns, "none", "bare")
    wait_bound(c, ns, "none")
    noted = get(c, addresses_path(ns, "none"))
    assert "nameservers" not in noted["spec"] and noted["metadata"]["annotations"] == {NAMESERVERS: "{}"}
    make_pool(c, ns, "pool", ["10.11.0.10-10.11.0.20"], nameservers={"addresses": ["10.11.0.53"], "search": ["old.example"]})
    make_claim(c, ns, "before", "pool")
    wait_bound(c, ns, "before")
    patch(c, pools_path(ns, "pool"), {"spec": {"nameservers": {"addresses": ["10.11.0.54"], "search": ["new.example"]}}})

    def servers(name):
        return get(c, addresses_path(ns, name))["spec"]["nameservers"]

    def fresh(i=iter(range(100))):
        """A claim that was made after the controller has seen the change."""
        name = f"after-{next(i)}"
        make_claim(c, ns, name, "pool")
        wait_bound(c, ns, name)
        if servers(name)["addresses"] == ["10.11.0.54"]:
            return name
        delete(c, claims_path(ns, name))
        return None
    assert servers(until(fresh)) == {"addresses": ["10.11.0.54"], "search": ["new.example"]}
    assert servers("before") == {"addresses": ["10.11.0.53"], "search": ["old.example"]}


def test_messages_follow_what_is_wrong(c, controller, ns):
    """CT-6: a condition whose reason stays has the message of the newest pass."""
    def message_has(name, text):
        return until(lambda: text in (ready_of(get(c, claims_path(ns, name)))[2] or ""))
    make_pool(c, ns, "pool", ["10.10.0.10"])
    make_claim(c, ns, "f1", "pool", cluster="cl")
    message_has("f1", "Cluster 'cl' does not exist")
    make(c, addresses_path(ns), {"apiVersion": f"{GROUP}/v1beta2", "kind": "IPAddress", "metadata": {"name": "f1"}, "spec": {
        "address": "10.10.0.99", "prefix": 24, "claimRef": {"name": "another"},
        "poolRef": {"apiGroup": GROUP, "kind": "InClusterIPPool", "name": "pool"}}})
    make(c, f"/apis/cluster.x-k8s.io/v1beta2/namespaces/{ns}/clusters",
         {"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "metadata": {"name": "cl"}, "spec": {"paused": False}})
    message_has("f1", "an IPAddress 'f1' exists that is not of this claim")
    delete(c, addresses_path(ns, "f1"))
    wait_bound(c, ns, "f1")
    delete(c, pools_path(ns, "pool"))
    make_claim(c, ns, "late", "pool")
    message_has("late", "'pool' is being deleted")
    delete(c, claims_path(ns, "f1"))
    message_has("late", "'pool' does not exist")


def test_repairs(c, controller, ns):
    """PR-6: owners, finalizer and Cluster label of an address come back, its spec stays whatever the pool says now."""
    make(c, f"/apis/cluster.x-k8s.io/v1beta2/namespaces/{ns}/clusters",
         {"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "metadata": {"name": "prod"}, "spec": {}})
    make_pool(c, ns, "pool", ["10.5.0.10-10.5.0.20"], gateway="10.5.0.1")
    make_claim(c, ns, "a", "pool", labels={"cluster.x-k8s.io/cluster-name": "prod"})
    wait_bound(c, ns, "a")
    patch(c, pools_path(ns, "pool"), {"spec": {"gateway": "10.5.0.2"}})
    patch(c, addresses_path(ns, "a"), {"metadata": {"ownerReferences": None, "finalizers": None}})
    address = until(lambda: (o := get(c, addresses_path(ns, "a"))) and len(o["metadata"].get("ownerReferences", [])) == 2
                    and o["metadata"].get("finalizers") and o)
    assert address["spec"]["gateway"] == "10.5.0.1"
    patch(c, addresses_path(ns, "a"), {"metadata": {"labels": None}})
    until(lambda: get(c, addresses_path(ns, "a"))["metadata"].get("labels") == {"cluster.x-k8s.io/cluster-name": "prod"})


def test_address_removed_by_force(c, controller, ns):
    """CT-4: somebody deletes the address of a bound claim and clears its finalizers. The claim no longer names it and reports
    that; then it has an address again, of a new object."""
    make_pool(c, ns, "pool", ["10.29.0.10-10.29.0.20"])
    make_claim(c, ns, "a", "pool")
    assert wait_bound(c, ns, "a") == "10.29.0.10"
    removed = get(c, addresses_path(ns, "a"))["metadata"]["uid"]
    log = Log(c, claims_path(ns))
    delete(c, addresses_path(ns, "a"))
    assert get(c, addresses_path(ns, "a"))["metadata"]["uid"] == removed  # the finalizer keeps it
    patch(c, addresses_path(ns, "a"), {"metadata": {"finalizers": None}})

    def is_bound_again():
        claim, address = get(c, claims_path(ns, "a")), get(c, addresses_path(ns, "a"))
        return address and address["metadata"]["uid"] != removed and ready_of(claim)[:2] == ("True", "Allocated") and (claim, address)
    claim, address = until(is_bound_again)
    assert address["spec"]["address"] == "10.29.0.10" and claim["status"]["addressRef"] == {"name": "a"}
    assert address["metadata"]["finalizers"] == [GROUP + "/ProtectAddress"]
    versions = [o for _, o in log.stop(version_of(claim))]
    assert [ready_of(o) for o in versions if "addressRef" not in o["status"]][:1] == [
        ("False", "AllocationFailed", "the IPAddress 'a' no longer exists")]


def test_pool_without_usable_address(c, controller, ns):
    """PR-3: the claim and the pool name what the address is instead; a change of the pool serves the claim."""
    make_pool(c, ns, "pool", ["10.9.0.5"], 32)
    make_claim(c, ns, "a", "pool")
    why = "10.9.0.5, its only address, is reserved as the first one of its network (spec.allocateReservedIPAddresses)"
    until(lambda: ready_of(get(c, claims_path(ns, "a"))) ==
          ("False", "PoolNotReady", f"InClusterIPPool 'pool' has no address to allocate: {why}"))
    until(lambda: ready_of(get(c, pools_path(ns, "pool"))) == ("False", "NoUsableAddress", why))
    patch(c, pools_path(ns, "pool"), {"spec": {"allocateReservedIPAddresses": True}})
    assert wait_bound(c, ns, "a") == "10.9.0.5"
    until(lambda: ready_of(get(c, pools_path(ns, "pool")))[:2] == ("True", "Valid"))


def test_pools_of_the_cluster(c, controller, ns):
    """CT-7, PR-1: a cluster-wide pool serves claims of all namespaces; IPv6 too."""
    make_pool(c, None, "wide", ["2001:db8::/126"], 126)
    for name in ["a", "b", "d"]:
        make_claim(c, ns, name, "wide", kind=GLOBAL_POOL)
    assert {wait_bound(c, ns, name) for name in ["a", "b", "d"]} == {"2001:db8::1", "2001:db8::2", "2001:db8::3"}
    make_claim(c, ns, "e", "wide", kind=GLOBAL_POOL)
    wait_reason(c, ns, "e", "PoolExhausted")
    make_claim(c, ns, "f", "wide")
    wait_reason(c, ns, "f", "PoolNotReady")
    assert ready_of(get(c, claims_path(ns, "f")))[2] == (f"{POOL} 'wide' does not exist; a {GLOBAL_POOL} of this name does: "
                                                         "the claim's poolRef has the wrong kind")
    numbers = until(lambda: (s := get(c, pools_path(None, "wide")).get("status", {}).get("ipAddresses", {})) and s["used"] == 3 and s)
    assert numbers == {"total": 3, "used": 3, "free": 0, "outOfRange": 0}


def test_pool_of_another_namespace(c, controller, ns):
    """CT-7: a claim cannot use a pool of another namespace, which for it does not exist; its own namespace's pool serves it."""
    other = ns + "-2"
    namespace(c, other)
    make_pool(c, other, "pool", ["10.30.0.10"])
    make_claim(c, other, "near", "pool")
    assert wait_bound(c, other, "near") == "10.30.0.10"
    make_claim(c, ns, "far", "pool")
    until(lambda: ready_of(get(c, claims_path(ns, "far"))) == ("False", "PoolNotReady", "InClusterIPPool 'pool' does not exist"))
    make_pool(c, ns, "pool", ["10.30.1.10"])
    assert wait_bound(c, ns, "far") == "10.30.1.10"


def test_numbers_and_overlaps(c, controller, ns):
    """PR-8, PR-13: numbers of the status, never negative; pools with common addresses are reported."""
    make_pool(c, ns, "one", ["10.6.0.10-10.6.0.12"])
    make_claim(c, ns, "a", "one")
    make_claim(c, ns, "b", "one")
    wait_bound(c, ns, "a"), wait_bound(c, ns, "b")
    patch(c, pools_path(ns, "one"), {"spec": {"addresses": ["10.6.0.100"]}})
    until(lambda: get(c, pools_path(ns, "one"))["status"]["ipAddresses"] ==
          {"total": 1, "used": 2, "free": 1, "outOfRange": 2})
    make_pool(c, ns, "two", ["10.6.0.90-10.6.0.110"])

    def overlap(pool):
        """The message of the condition; None if it is False."""
        found = [x for x in get(c, pools_path(ns, pool)).get("status", {}).get("conditions", []) if x["type"] == "Overlapping"]
        return found[0]["message"] if found and found[0]["status"] == "True" else None
    assert f"InClusterIPPool '{ns}/one' (first shared one: 10.6.0.100)" in until(lambda: overlap("two"))
    assert f"InClusterIPPool '{ns}/two' (first shared one: 10.6.0.100)" in until(lambda: overlap("one"))
    # Neither side keeps it after the other one has changed, or is gone.
    make_pool(c, ns, "three", ["10.6.0.105"])
    until(lambda: f"'{ns}/three'" in (overlap("two") or ""))
    patch(c, pools_path(ns, "two"), {"spec": {"addresses": ["10.6.0.105-10.6.0.110"]}})
    until(lambda: overlap("one") is None)
    delete(c, pools_path(ns, "three"))
    until(lambda: overlap("two") is None)


def test_addresses_of_other_providers(c, controller, ns):
    """PR-5, PR-13: an address that an IPAddress of another provider has is not allocated; the pool reports it, and counts it as not free. One
    that another provider has allocated after this one is reported as used twice."""
    def foreign(name, address):
        make(c, addresses_path(ns), {"apiVersion": f"{GROUP}/v1beta2", "kind": "IPAddress", "metadata": {"name": name}, "spec": {
            "address": address, "prefix": 24, "claimRef": {"name": name},
            "poolRef": {"apiGroup": "ipam.metal3.io", "kind": "IPPool", "name": "pool"}}})

    def status():
        """Numbers, and the message of the condition; None if it is False."""
        found = get(c, pools_path(ns, "pool")).get("status", {})
        held = [x for x in found.get("conditions", []) if x["type"] == "ForeignAddresses"]
        return found.get("ipAddresses"), held[0]["message"] if held and held[0]["status"] == "True" else None
    foreign("metal-a", "10.40.0.10")
    make_pool(c, ns, "pool", ["10.40.0.10-10.40.0.12"], network="")
    until(lambda: status() == ({"total": 3, "used": 0, "free": 2, "outOfRange": 0},
                               "1 address of the pool is in use by another provider, and is not allocated: "
                               f"10.40.0.10 (IPAddress '{ns}/metal-a')"))
    make_claim(c, ns, "a", "pool")
    assert wait_bound(c, ns, "a") == "10.40.0.11"
    foreign("metal-b", "10.40.0.11")
    until(lambda: status() == ({"total": 3, "used": 1, "free": 1, "outOfRange": 0},
                               "2 addresses of the pool are in use by other providers, and are not allocated; the lowest is 10.40.0.10 "
                               f"(IPAddress '{ns}/metal-a'); 1 of them was allocated from the pool as well: 10.40.0.11"))
    make_claim(c, ns, "b", "pool")
    assert wait_bound(c, ns, "b") == "10.40.0.12"
    make_claim(c, ns, "c", "pool")
    wait_reason(c, ns, "c", "PoolExhausted")
    delete(c, addresses_path(ns, "metal-a"))  # a claim that waits is served then
    assert wait_bound(c, ns, "c") == "10.40.0.10"
    delete(c, addresses_path(ns, "metal-b"))
    until(lambda: status() == ({"total": 3, "used": 3, "free": 0, "outOfRange": 0}, None))
    # One that has the name of a claim keeps that claim from being served, until it is deleted.
    foreign("d", "10.41.0.1")
    patch(c, pools_path(ns, "pool"), {"spec": {"addresses": ["10.40.0.10-10.40.0.13"]}})
    make_claim(c, ns, "d", "pool")
    wait_reason(c, ns, "d", "AllocationFailed")
    delete(c, addresses_path(ns, "d"))
    assert wait_bound(c, ns, "d") == "10.40.0.13"


def test_pools_that_share_addresses(c, controller, ns):
    """PR-5, PR-13: an address that one pool has in use is not allocated from another one, also of another namespace or of the cluster, unless
    their networks differ."""
    other, wide = ns + "-2", ns + "-wide"
    namespace(c, other)
    for where, name in ((ns, "pool"), (other, "pool"), (None, wide)):
        make_pool(c, where, name, ["10.27.0.10-10.27.0.12"], network="")
    make_claim(c, ns, "a", "pool")
    make_claim(c, other, "b", "pool")
    make_claim(c, other, "c", wide, kind=GLOBAL_POOL)
    assert {wait_bound(c, ns, "a"), wait_bound(c, other, "b"), wait_bound(c, other, "c")} == {f"10.27.0.{i}" for i in (10, 11, 12)}
    make_claim(c, ns, "d", "pool")
    wait_reason(c, ns, "d", "PoolExhausted")
    assert "addresses are also in " in (text := ready_of(get(c, claims_path(ns, "d")))[2]) and f"'{other}/pool' (first shared one: 10.27.0.10)" in text
    # A claim that waits is served when another pool's address comes free.
    freed = bound(c, other, "c")
    delete(c, claims_path(other, "c"))
    assert wait_bound(c, ns, "d") == freed
    # A network of its own: nothing of it is in use, and nobody is reported.
    make_claim(c, other, "e", wide, kind=GLOBAL_POOL)
    wait_reason(c, other, "e", "PoolExhausted")
    patch(c, pools_path(None, wide), {"metadata": {"annotations": {NETWORK: "wide"}}})
    assert wait_bound(c, other, "e") == "10.27.0.10"

    def overlapping(path):
        return [x["status"] for x in get(c, path)["status"]["conditions"] if x["type"] == "Overlapping"]
    until(lambda: overlapping(pools_path(None, wide)) == ["False"])
    until(lambda: overlapping(pools_path(ns, "pool")) == overlapping(pools_path(other, "pool")) == ["True"])
    # Back in the network: both pools that have the address in use say so, until one has released it.
    holder = pools_path(ns if "10.27.0.10" in (bound(c, ns, "a"), bound(c, ns, "d")) else other, "pool")

    def in_use_twice(path):
        return "; 1 address is in use twice: 10.27.0.10" in "".join(
            x["message"] for x in get(c, path)["status"]["conditions"] if x["type"] == "Overlapping")
    # The grace outlasts the passes that the pools' own status starts: only the released address is left to start one.
    patch(c, pools_path(None, wide), {"metadata": {"annotations": {NETWORK: None}}, "spec": {"addressReuseGracePeriodSeconds": 2}})
    until(lambda: in_use_twice(pools_path(None, wide)) and in_use_twice(holder))
    delete(c, claims_path(other, "e"))
    until(lambda: not in_use_twice(pools_path(None, wide)) and not in_use_twice(holder))
    assert overlapping(holder) == ["True"]


def test_name_servers_that_guests_cannot_hold(c, controller, ns):
    """IP-15: a pool lists what is cut from its name servers: more than 3 servers, 6 domains or 256 characters."""
    def condition():
        found = [x for x in get(c, pools_path(ns, "pool")).get("status", {}).get("conditions", []) if x["type"] == "NameserversCut"]
        return found[0] if found else {}
    make_pool(c, ns, "pool", ["10.9.0.10"], nameservers={
        "addresses": ["10.0.0.1", "10.0.0.2", "10.0.0.1", "10.0.0.3", "2001:db8::53"], "search": [f"d{i}.example" for i in range(8)]})
    until(lambda: condition().get("status") == "True")
    assert condition()["reason"] == "GuestLimits"
    assert condition()["message"].endswith("do not get: search domain 'd6.example', search domain 'd7.example', server '2001:db8::53'")
    patch(c, pools_path(ns, "pool"), {"spec": {"nameservers": {"addresses": ["10.0.0.1"], "search": ["a" * 60 + "." + c60 + ".example"
                                                                                                    for c60 in ("b" * 60, "c" * 60)]}}})
    until(lambda: condition().get("message", "").endswith(f"do not get: search domain '{'a' * 60}.{'c' * 60}.example'"))
    patch(c, pools_path(ns, "pool"), {"spec": {"nameservers": {"search": ["a.example"]}}})
    until(lambda: condition().get("status") == "False")


def test_invalid_default_nameservers(c, controller, ns):
    """IP-2, IP-13: what is wrong with the ConfigMap is a condition of pools and an Event; the last valid default stays."""
    def condition():
        found = [x for x in get(c, pools_path(ns, "pool")).get("status", {}).get("conditions", [])
                 if x["type"] == "DefaultNameserversInvalid"]
        return (found[0]["status"], found[0]["message"]) if found else (None, "")

    def nameservers_of(name):
        make_claim(c, ns, name, "pool")
        wait_bound(c, ns, name)
        return get(c, addresses_path(ns, name))["spec"].get("nameservers")

    def set_default(text):
        patch(c, path, {"data": {"nameservers": text}})
    path, good = "/api/v1/namespaces/default/configmaps/fairlead-ipam", {"search": ["corp.example"], "addresses": ["10.0.0.53"]}
    make_pool(c, ns, "pool", ["10.11.0.10-10.11.0.90"])
    make_pool(c, ns, "own", ["10.12.0.10"], nameservers={"addresses": ["10.0.0.1"]})
    config_map(c, "default", "fairlead-ipam", {"nameservers": "search: [corp.example]\naddresses: [10.0.0.53]\n"})
    numbers = itertools.count()
    until(lambda: nameservers_of(f"first-{next(numbers)}") == good)
    assert condition() == ("False", "")
    set_default("search: [corp\n addresses: {")
    until(lambda: condition()[0] == "True")
    assert "data.nameservers: is not YAML: line " in condition()[1]
    assert nameservers_of("second") == good
    set_default("searchs: [corp.example]\naddresses: [10.0.0.54]\n")
    until(lambda: "has the unknown member 'searchs'" in condition()[1])
    assert nameservers_of("third") == good
    event = until(lambda: [e for e in events(c, "default") if e["reason"] == "InvalidNameservers"])[0]
    assert (event["regarding"]["kind"], event["regarding"]["name"], event["type"]) == ("ConfigMap", "fairlead-ipam", "Warning")
    until(lambda: controller.find("ConfigMap 'fairlead-ipam': .*is not YAML") and controller.find("ConfigMap 'fairlead-ipam': .*'searchs'"))
    assert not any(x["status"] == "True" for x in get(c, pools_path(ns, "own"))["status"]["conditions"]
                   if x["type"] == "DefaultNameserversInvalid")
    patch(c, path, {"data": {"capv": "yes please", "nameserver": "10.0.0.53"}})
    settings = until(lambda: [e for e in events(c, "default") if e["reason"] == "InvalidSettings"])[0]
    for text in ("data.capv must be true or false, not 'yes please'", "data has the unknown key 'nameserver'"):
        assert text in settings["note"]
        until(lambda: controller.find(f"ConfigMap 'fairlead-ipam': .*{text}"))  # pylint: disable=cell-var-from-loop
    set_default("addresses: [10.0.0.54]\n")
    until(lambda: condition() == ("False", ""))
    assert nameservers_of("fourth") == {"addresses": ["10.0.0.54"]}
    delete(c, path)
    until(lambda: nameservers_of(f"last-{next(numbers)}") is None)


def test_foreign_claims(c, controller, ns):
    """CT-1: claims of other providers are left alone."""
    make_claim(c, ns, "foreign", "pool", kind="MetalPool")
    make_pool(c, ns, "pool", ["10.7.0.10"])
    make_claim(c, ns, "ours", "pool")
    wait_bound(c, ns, "ours")
    foreign = get(c, claims_path(ns, "foreign"))
    assert "status" not in foreign and "finalizers" not in foreign["metadata"]


@pytest.mark.parametrize("kind", [PREFIX_POOL, GLOBAL_PREFIX_POOL])
def test_prefix_pools(c, controller, kind):
    """PR-1, PR-4, PR-8, PR-9, IP-2: a claim gets the lowest free prefix, with gateway and name servers of the pool; numbers are those of
    prefixes; who waits is served when one comes free."""
    ns = f"of-{kind.lower()}"
    where, name = (ns, "pool") if kind == PREFIX_POOL else (None, ns)
    namespace(c, ns)
    servers = {"search": ["corp.example"], "addresses": ["fd00::53"]}
    pool = make_prefix_pool(c, where, name, ["fd00:7::/62"], gateway="fd00:7::1", excludedPrefixes=["fd00:7:0:1::5"], nameservers=servers)
    assert pool["spec"]["allocationPrefixLength"] == 64
    for claim in "abc":
        make_claim(c, ns, claim, name, kind=kind)
        assert wait_bound(c, ns, claim) == {"a": "fd00:7::", "b": "fd00:7:0:2::", "c": "fd00:7:0:3::"}[claim]
    address = get(c, addresses_path(ns, "b"))
    assert address["spec"] == {"address": "fd00:7:0:2::", "prefix": 64, "gateway": "fd00:7::1", "claimRef": {"name": "b"},
                               "poolRef": {"apiGroup": GROUP, "kind": kind, "name": name}, "nameservers": servers}
    assert {o["kind"] for o in address["metadata"]["ownerReferences"]} == {"IPAddressClaim", kind}
    make_claim(c, ns, "d", name, kind=kind)
    wait_reason(c, ns, "d", "PoolExhausted")
    assert "has no free prefix: delete a claim or add prefixes to the pool" in ready_of(get(c, claims_path(ns, "d")))[2]

    def status():
        return get(c, prefix_pools_path(where, name)).get("status", {})
    until(lambda: status().get("ipAddresses") == {"total": 3, "used": 3, "free": 0, "outOfRange": 0})
    assert [x["status"] for x in status()["conditions"] if x["type"] == "Ready"] == ["True"]
    delete(c, claims_path(ns, "b"))
    assert wait_bound(c, ns, "d") == "fd00:7:0:2::"
    patch(c, prefix_pools_path(where, name), {"metadata": {"annotations": {PAUSED: ""}}})
    make_claim(c, ns, "e", name, kind=kind)
    wait_reason(c, ns, "e", "PoolNotReady")
    for claim in "acde":
        delete(c, claims_path(ns, claim))
    patch(c, prefix_pools_path(where, name), {"metadata": {"annotations": {PAUSED: None}}})
    until(lambda: not items(c, addresses_path(ns)))
    delete(c, prefix_pools_path(where, name))
    until(lambda: get(c, prefix_pools_path(where, name)) is None)


def test_prefixes_and_addresses_of_a_network(c, controller, ns):
    """PR-5, PR-13: no prefix has an address that is in use in its network, and no address of a prefix in use is allocated."""
    make_prefix_pool(c, ns, "prefixes", ["fd00:8::/62"])
    make_pool(c, ns, "addresses", ["fd00:8::/64", "fd00:8:0:1::/64"], 62)
    make_claim(c, ns, "a", "addresses")
    assert wait_bound(c, ns, "a") == "fd00:8::1"
    make_claim(c, ns, "b", "prefixes", kind=PREFIX_POOL)
    assert wait_bound(c, ns, "b") == "fd00:8:0:1::"
    delete(c, claims_path(ns, "a"))
    until(lambda: get(c, claims_path(ns, "a")) is None)
    make_claim(c, ns, "d", "prefixes", kind=PREFIX_POOL)
    assert wait_bound(c, ns, "d") == "fd00:8::"
    make_claim(c, ns, "e", "addresses")
    wait_reason(c, ns, "e", "PoolExhausted")
    assert f"{PREFIX_POOL} '{ns}/prefixes' (first shared one: fd00:8::" in ready_of(get(c, claims_path(ns, "e")))[2]
    delete(c, claims_path(ns, "b"))
    assert wait_bound(c, ns, "e") == "fd00:8:0:1::"


def test_settled_writes_nothing(c, controller, ns):
    """A settled controller writes nothing; neither does a restarted one."""
    make_pool(c, ns, "pool", ["10.8.0.0/24"])
    for i in range(20):
        make_claim(c, ns, f"c{i}", "pool")
    addresses = {wait_bound(c, ns, f"c{i}") for i in range(20)}
    assert len(addresses) == 20
    until(lambda: get(c, pools_path(ns, "pool"))["status"]["ipAddresses"]["used"] == 20)

    def versions():
        return {(o["kind"], o["metadata"]["name"]): o["metadata"]["resourceVersion"]
                for path in (claims_path(ns), addresses_path(ns), pools_path(ns)) for o in items(c, path)}
    before = versions()
    p = start_ipam(c)
    p.wait_line("health and metrics")
    make_claim(c, ns, "c20", "pool")
    assert wait_bound(c, ns, "c20") not in addresses
    after = versions()
    assert {k: v for k, v in before.items() if k[0] != "InClusterIPPool"}.items() <= after.items()
    assert p.stop() == 0, p.text()


@pytest.mark.parametrize("held_by", ["missing Cluster", "paused Cluster", "paused pool"])
def test_conflict_with_a_claim_that_is_held_back(c, controller, held_by):
    """PR-5, CT-2: of two objects with one address the later one gives way, unless its claim is held back, by its Cluster or by its pool:
    such a claim does not hold up the other one, which gets another address."""
    ns = f"held-back-{held_by.replace(' ', '-').lower()}"
    namespace(c, ns)
    if held_by == "paused Cluster":
        make(c, f"/apis/cluster.x-k8s.io/v1beta2/namespaces/{ns}/clusters",
             {"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "metadata": {"name": "cl"}, "spec": {"paused": True}})
    make_pool(c, ns, "pool", ["10.31.0.10-10.31.0.20"])
    make_pool(c, ns, "neighbour", ["10.31.0.10-10.31.0.20"])

    def make_address(name, pool):
        o = make(c, addresses_path(ns), {"apiVersion": f"{GROUP}/v1beta2", "kind": "IPAddress", "metadata": {"name": name}, "spec": {
            "address": "10.31.0.10", "prefix": 24, "claimRef": {"name": name},
            "poolRef": {"apiGroup": GROUP, "kind": "InClusterIPPool", "name": pool}}})
        return o["metadata"]["creationTimestamp"], o["metadata"]["uid"]
    if held_by == "paused pool":
        patch(c, pools_path(ns, "neighbour"), {"metadata": {"annotations": {PAUSED: ""}}})
    first = make_address("first", "pool")

    def make_later():
        if make_address("held", "neighbour") > first:
            return True
        delete(c, addresses_path(ns, "held"))
        return False
    until(make_later)
    make_claim(c, ns, "held", "neighbour", cluster=None if held_by == "paused pool" else "cl")
    make_claim(c, ns, "behind", "pool")
    wait_bound(c, ns, "behind")  # the watches have shown the other one and what holds it back
    make_claim(c, ns, "first", "pool")
    assert wait_bound(c, ns, "first") == "10.31.0.12"
    assert bound(c, ns, "held") is None
