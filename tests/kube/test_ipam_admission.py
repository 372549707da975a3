# SPDX-License-Identifier: GPL-3.0-or-later
"""What is refused of pools before it is stored, on a real API server with the shipped web hook and on the embedded API, which
calls the hook in process; and what is reported where nothing refuses it."""
import pytest

import crdlib
from controllerlib import events, namespace, start, until
from ipamhooklib import FLAGS, HOOK, NAME, REGISTRATIONS, Machine, port_of, register, registration
from ipamlib import (GLOBAL_POOL, GLOBAL_PREFIX_POOL, GROUP, POOL, PREFIX_POOL, addresses_path, bound, claims_path, delete, get, make_claim,
                     make_pool, make_prefix_pool, patch, pools_path, prefix_pools_path, ready_of, wait_bound)
from lib.cluster import Child, Cluster, peer

KINDS = (POOL, GLOBAL_POOL)
SKIP = f"{GROUP}/skip-validate-delete-webhook"
PARSE = "must be an IP address, a range 'first-last' or a network 'address/length'"
FAMILY = "all addresses of a pool must be of one family: IPv4 or IPv6"
NETWORK = "must be in the /24 network of the pool's lowest address"
GATEWAY = "must be of the same family as the addresses"
THREE = ["10.0.0.25", "10.0.0.26", "10.0.0.27"]

# PR-12: (name, spec, the field that the refusal names, what it says of it; None: the CRD's schema has words of its own).
# Where the spec leaves them out, prefix is 24 and gateway 10.0.0.1.
REFUSED = [
    ("no addresses", {"addresses": []}, "spec.addresses", None),
    ("gateway is no address", {"addresses": THREE, "gateway": "invalid"}, "spec.gateway", "must be an IP address"),
    ("address of another network", {"addresses": ["10.0.0.25", "10.0.1.27"]}, "spec.addresses[1]", NETWORK),
    ("garbage", {"addresses": [*THREE, "garbage"]}, "spec.addresses[3]", PARSE),
    ("prefix is negative", {"addresses": THREE, "prefix": -1}, "spec.prefix", None),
    ("prefix is too long", {"addresses": THREE, "prefix": 9999}, "spec.prefix", None),
    ("range ends before it begins", {"addresses": ["10.0.0.10-10.0.0.5"]}, "spec.addresses[0]", PARSE),
    ("network of 33 bits", {"addresses": ["10.0.0.10/33"]}, "spec.addresses[0]", PARSE),
    ("range below the others", {"addresses": ["10.0.1.0", "10.0.0.10-10.0.0.20"]}, "spec.addresses[0]", NETWORK),
    ("range above the others", {"addresses": ["10.0.1.0", "10.0.2.10-10.0.2.20"]}, "spec.addresses[1]", NETWORK),
    ("range begins below", {"addresses": ["10.0.1.0", "10.0.0.20-10.0.1.20"]}, "spec.addresses[1]", NETWORK),
    ("range ends above", {"addresses": ["10.0.1.0", "10.0.1.20-10.0.2.20"]}, "spec.addresses[1]", NETWORK),
    ("network below the others", {"addresses": ["10.0.1.0", "10.0.0.1/24"]}, "spec.addresses[0]", NETWORK),
    ("network above the others", {"addresses": ["10.0.1.0", "10.0.2.1/24"]}, "spec.addresses[1]", NETWORK),
    ("network begins below", {"addresses": ["10.0.1.0", "10.0.0.0/23"]}, "spec.addresses[1]", NETWORK),
    ("network ends above", {"addresses": ["10.0.2.0", "10.0.2.0/23"]}, "spec.addresses[1]", NETWORK),
    ("IPv4 with a gateway of IPv6", {"addresses": THREE, "gateway": "fd00::1"}, "spec.gateway", GATEWAY),
    ("IPv6 with a gateway of IPv4", {"addresses": ["fd00::1", "fd00::100-fd00::200"]}, "spec.gateway", GATEWAY),
    ("addresses of both families", {"addresses": ["fd00::1", "10.0.0.25"], "gateway": "fd00::2"}, "spec.addresses[1]", FAMILY),
    ("excluded ones of both families", {"addresses": THREE, "excludedAddresses": ["10.0.0.26", "fd00::1"]},
     "spec.excludedAddresses[1]", FAMILY),
    ("excluded ones of the other family", {"addresses": THREE, "excludedAddresses": ["fd00::1"]},
     "spec.excludedAddresses[0]", FAMILY),
    ("negative grace period", {"addresses": THREE, "addressReuseGracePeriodSeconds": -1}, "spec.addressReuseGracePeriodSeconds",
     None),
]

# The limits of the shipped schema alone: pools of the in-cluster provider, whose CRDs have none, may be larger.
REFUSED_BY_SCHEMA = [
    ("more than 1024 entries", {"addresses": ["10.0.0.25"] * 1025}, "spec.addresses", None),
    ("more than 1024 excluded entries", {"addresses": THREE, "excludedAddresses": ["10.0.0.26"] * 1025}, "spec.excludedAddresses", None),
]

# Specs that must stay accepted.
ACCEPTED = [
    {"addresses": THREE, "prefix": 28, "gateway": "10.0.0.24"},
    {"addresses": THREE, "prefix": 28, "gateway": None},
    {"addresses": THREE, "prefix": 28, "gateway": None, "excludedAddresses": ["10.0.0.23", "10.0.0.24"]},
    {"addresses": ["fe01::2", "fe01::3-fe01::5", "fe01::1:1/126"], "prefix": 28, "gateway": "fe01::1"},
    {"addresses": ["fe01::2", "fe01::3-fe01::5", "fe01::1:1/126"], "prefix": 28, "gateway": None},
    {"addresses": ["fe01::2", "fe01::3-fe01::5"], "prefix": 28, "gateway": None,
     "excludedAddresses": ["fe01::4", "fe01::6-fe01::8", "fe01::1:10/126"]},
    {"addresses": ["10.0.0.25"] * 1024, "excludedAddresses": ["10.0.0.26"] * 1024},
    {"addresses": ["10.0.0.25"], "addressReuseGracePeriodSeconds": 60},
    {"addresses": ["10.0.0.10-10.0.0.20"], "prefix": 0},
]


@pytest.fixture(scope="module")
def in_cluster():
    with Cluster() as c:
        crdlib.apply_all(c, group="cluster.x-k8s.io")
        p = start(c.kubeconfig(), *FLAGS, controllers="ipam")
        register(c, port_of(p))
        yield c
        assert p.stop() == 0, p.text()


@pytest.fixture(scope="module")
def on_machine():
    with Machine() as c:
        yield c


@pytest.fixture(scope="module", params=["in_cluster", "on_machine"])
def c(request):
    """An API that asks the hook, with a pool `kept` of each kind."""
    one = request.getfixturevalue(request.param)
    namespace(one, "shop")
    garbage = {"addresses": ["garbage"]}
    until(lambda: HOOK in create(one, POOL, garbage)[1].get("message", ""))
    for ns in ("shop", None):
        make_pool(one, ns, "kept", ["10.0.0.100"])
    return one


@pytest.fixture
def ns(c, request):
    name = request.node.originalname.replace("_", "-") + ("-global" if "[Global" in request.node.name or "-Global" in request.node.name else "")
    namespace(c, name)
    return name


def pool(kind, spec, **meta):
    spec = {"prefix": 24, "gateway": "10.0.0.1", **spec}
    return {"apiVersion": f"{GROUP}/v1alpha2", "kind": kind, "metadata": meta,
            "spec": {k: v for k, v in spec.items() if v is not None}}


def path_of(kind, name=None):
    return pools_path("shop" if kind == POOL else None, name)


def create(c, kind, spec):
    """(status, body) of a creation that is not kept."""
    return c.call("POST", path_of(kind) + "?dryRun=All", pool(kind, spec, name="tried"))


def update(c, kind, spec):
    """(status, body) of a change of the pool `kept` that is not kept."""
    # A patch: the controller writes the pool, too.
    return c.call("PATCH", path_of(kind, "kept") + "?dryRun=All", {"spec": pool(kind, spec)["spec"]},
                  content_type="application/merge-patch+json")


def check_refused(reply, kind, field, words):
    status, body = reply
    assert status == 422, body
    assert f"{field}: " in body["message"], body
    if words is not None:
        assert body["message"].startswith(f'admission webhook "{HOOK}" denied the request: {kind}.{GROUP} "'), body
        assert words in body["message"], body


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("row", REFUSED + REFUSED_BY_SCHEMA, ids=lambda row: row[0])
def test_refused(c, row, kind):
    """PR-12, as a creation and as a change; the message names the field."""
    _, spec, field, words = row
    check_refused(create(c, kind, spec), kind, field, words)
    check_refused(update(c, kind, spec), kind, field, words)


@pytest.mark.parametrize("kind", KINDS)
def test_accepted(c, kind):
    for spec in ACCEPTED:
        status, body = create(c, kind, spec)
        assert status == 201, (spec, body)
        status, body = update(c, kind, spec)
        assert status == 200, (spec, body)


def test_all_errors_at_once(c):
    """One refusal names all fields that are wrong; IP-16: a search domain that no guest could use among them."""
    message = create(c, POOL, {"addresses": ["x", "10.0.0.25", "y"], "gateway": "z",
                               "nameservers": {"search": ["corp.example", "bad domain;x"]}})[1]["message"]
    for field in ("spec.addresses[0]", "spec.addresses[2]", "spec.gateway", "spec.nameservers.search[1]"):
        assert f"{field}: Invalid value: " in message, message


def claim_from(c, ns, kind, addresses, **spec):
    """A pool with one allocated address, its first: the pool's path."""
    where = ns if kind == POOL else None
    name = f"pool-{kind.lower()}"
    make_pool(c, where, name, addresses, **spec)
    make_claim(c, ns, f"claim-{kind.lower()}", name, kind=kind)
    path = pools_path(where, name)
    wait_bound(c, ns, f"claim-{kind.lower()}")
    until(lambda: get(c, path).get("status", {}).get("ipAddresses", {}).get("used") == 1)
    return path


def release_address(c, ns, kind):
    delete(c, claims_path(ns, f"claim-{kind.lower()}"))
    until(lambda: get(c, claims_path(ns, f"claim-{kind.lower()}")) is None)
    assert get(c, addresses_path(ns, f"claim-{kind.lower()}")) is None


def delete_pool(c, path):
    """Refused as long as the hook's watch shows the address."""
    def gone():
        c.call("DELETE", path)
        return get(c, path) is None
    until(gone)


def release(c, ns, kind, path):
    release_address(c, ns, kind)
    delete_pool(c, path)


@pytest.mark.parametrize("kind", KINDS)
def test_stranding_edits(c, ns, kind):
    """PR-12: allocated addresses stay in their pool, whichever field would take them out; other edits are accepted."""
    path = claim_from(c, ns, kind, ["10.9.0.10-10.9.0.20"])

    def edit(**spec):
        return c.call("PATCH", path, {"spec": spec}, content_type="application/merge-patch+json")

    for spec, why in (
            ({"addresses": ["10.9.0.11-10.9.0.20"]}, "is not in spec.addresses"), ({"addresses": ["10.8.0.10"]}, "is not in spec.addresses"),
            ({"addresses": ["fd00::1"], "prefix": 64}, "is not in spec.addresses"),
            ({"excludedAddresses": ["10.9.0.0/28"]}, "is among spec.excludedAddresses"),
            ({"gateway": "10.9.0.10"}, "is the gateway (spec.gateway)"),
            ({"addresses": ["10.9.0.10"], "prefix": 32}, "is reserved as the first one of its network (spec.allocateReservedIPAddresses)")):
        status, body = edit(**spec)
        assert status == 409 and body["message"] == (
            f'admission webhook "{HOOK}" denied the request: the pool would lose 1 allocated address: 10.9.0.10 {why}; '
            "delete its claim first"), (spec, body)
    for spec in ({"addresses": ["10.9.0.10"]}, {"addresses": ["10.9.0.0/24"], "gateway": "10.9.0.1"}, {"gateway": None},
                 {"excludedAddresses": ["10.9.0.11"]}):
        status, body = edit(**spec)
        assert status == 200, (spec, body)
    release(c, ns, kind, path)


RESERVED = [  # (an address that is reserved in its network, addresses of the pool, prefix, why)
    ("10.10.0.0", ["10.10.0.0/29"], 29, "is reserved as the first one of its network"),
    ("10.10.0.7", ["10.10.0.7"], 29, "is reserved as the last one of its network"),
    ("2001:db8::", ["2001:db8::/125"], 125, "is reserved as the first one of its network"),
]


@pytest.mark.parametrize("kind", KINDS)
def test_reserved_addresses_stay(c, ns, kind):
    """PR-3, PR-12: allocateReservedIPAddresses stays true while a reserved address is allocated; then it may be false."""
    for address, addresses, prefix, why in RESERVED:
        path = claim_from(c, ns, kind, addresses, prefix=prefix, allocateReservedIPAddresses=True)
        assert bound(c, ns, f"claim-{kind.lower()}") == address

        def allocate_reserved(value):
            return c.call("PATCH", path, {"spec": {"allocateReservedIPAddresses": value}},  # pylint: disable=cell-var-from-loop
                          content_type="application/merge-patch+json")
        for value in (False, None):
            status, body = allocate_reserved(value)
            assert status == 409 and body["message"] == (
                f'admission webhook "{HOOK}" denied the request: the pool would lose 1 allocated address: {address} {why} '
                "(spec.allocateReservedIPAddresses); delete its claim first"), body
        assert get(c, path)["spec"]["allocateReservedIPAddresses"] is True
        release_address(c, ns, kind)
        until(lambda: allocate_reserved(False)[0] == 200)  # pylint: disable=cell-var-from-loop
        delete_pool(c, path)


@pytest.mark.parametrize("kind", KINDS)
def test_deletion(c, ns, kind):
    """PR-12: a pool with allocated addresses is kept, unless it has the annotation; then it goes after its last address."""
    path = claim_from(c, ns, kind, ["10.7.0.10-10.7.0.20"])
    assert c.call("DELETE", path_of(kind, "kept") + "?dryRun=All")[0] == 200
    status, body = c.call("DELETE", path)
    assert status == 409 and body["message"] == (
        f'admission webhook "{HOOK}" denied the request: 1 address of the pool is allocated; delete the claims first, or '
        f"set the annotation {SKIP}"), body
    assert "deletionTimestamp" not in get(c, path)["metadata"]
    patch(c, path, {"metadata": {"annotations": {SKIP: ""}}})
    assert c.call("DELETE", path)[0] == 200
    assert get(c, path)["metadata"]["deletionTimestamp"]
    release(c, ns, kind, path)


@pytest.mark.parametrize("kind", [PREFIX_POOL, GLOBAL_PREFIX_POOL])
def test_pools_of_prefixes(c, ns, kind):
    """PR-12: a pool of prefixes is checked like one of addresses; the length of what it allocates never changes."""
    where, name = (ns, "pool") if kind == PREFIX_POOL else (None, ns)
    path = prefix_pools_path(where, name)

    def refused(words, **spec):
        status, body = c.call("POST", prefix_pools_path(where) + "?dryRun=All", {
            "apiVersion": f"{GROUP}/v1alpha2", "kind": kind, "metadata": {"name": "tried"}, "spec": spec})
        assert status == 422 and all(word in body["message"] for word in (HOOK, *words)), body
    refused(["spec.prefixes[0]: ", "must begin at the first address"], prefixes=["fd00::1/48"])
    refused(["spec.prefixes[1]: ", "must be an IPv6 network"], prefixes=["fd00::/48", "10.0.0.0/8"])
    refused(["spec.prefixes[0]: ", "must not be longer than spec.allocationPrefixLength"], prefixes=["fd00::/48"], allocationPrefixLength=40)
    refused(["spec.gateway: ", "spec.excludedPrefixes[0]: ", "spec.nameservers.addresses[0]: "], prefixes=["fd00::/48"], gateway="10.0.0.1",
            excludedPrefixes=["10.0.0.1"], nameservers={"addresses": ["::"]})
    make_prefix_pool(c, where, name, ["fd00:9::/62"])
    make_claim(c, ns, "a", name, kind=kind)
    wait_bound(c, ns, "a")
    until(lambda: get(c, path).get("status", {}).get("ipAddresses", {}).get("used") == 1)

    def edit(**spec):
        return c.call("PATCH", path, {"spec": spec}, content_type="application/merge-patch+json")
    for spec, why in (({"prefixes": ["fd00:9:0:2::/63"]}, "is not in spec.prefixes"),
                      ({"excludedPrefixes": ["fd00:9::7"]}, "has addresses of spec.excludedPrefixes")):
        status, body = edit(**spec)
        assert status == 409 and f"the pool would lose 1 allocated address: fd00:9:: {why}; delete its claim first" in body["message"], body
    status, body = edit(allocationPrefixLength=63)
    assert status == 422 and "allocationPrefixLength is immutable" in body["message"], body
    assert edit(prefixes=["fd00:9::/61"], excludedPrefixes=["fd00:9:0:1::"], gateway="fd00:9::1")[0] == 200
    status, body = c.call("DELETE", path)
    assert status == 409 and "1 address of the pool is allocated" in body["message"], body
    delete(c, claims_path(ns, "a"))
    until(lambda: get(c, claims_path(ns, "a")) is None)
    delete_pool(c, path)


def test_claims_that_came_meanwhile(c, ns):
    """The check uses all addresses, of pools of the same name in other namespaces none."""
    other = ns + "-2"
    namespace(c, other)
    for where in (ns, other):
        make_pool(c, where, "pool", ["10.6.0.10-10.6.0.20"])
    for i in range(7):
        make_claim(c, ns, f"c{i}", "pool")
    for i in range(7):
        wait_bound(c, ns, f"c{i}")
    status, body = c.call("PATCH", pools_path(ns, "pool"), {"spec": {"addresses": ["10.6.0.11-10.6.0.12"]}},
                          content_type="application/merge-patch+json")
    assert status == 409 and "would lose 5 allocated addresses: 10.6.0.1" in body["message"], body
    assert c.call("DELETE", pools_path(other, "pool"))[0] == 200
    assert "7 addresses of the pool are allocated" in c.call("DELETE", pools_path(ns, "pool"))[1]["message"]


@pytest.fixture
def collector(c):
    """Deletes the contents of namespaces that are being deleted; a part of the embedded API."""
    manager = None
    if isinstance(c, Cluster):
        manager = Child("kube-controller-manager", [
            peer("kube-controller-manager"), f"--kubeconfig={c.kubeconfig()}", "--leader-elect=false", "--secure-port=0",
            "--controllers=namespace-controller"], c.dir)
    yield manager
    if manager is not None:
        manager.stop()


def test_namespace_with_resting_addresses(c, ns, collector):
    """PR-11, PR-12: a pool whose addresses all rest may be deleted, which ends their rest, so that its namespace does not wait for
    the grace period. A claim that is not deleted keeps the pool."""
    make_pool(c, ns, "pool", ["10.7.0.10-10.7.0.20"], addressReuseGracePeriodSeconds=3600)
    for name in ["a", "b"]:
        make_claim(c, ns, name, "pool")
        wait_bound(c, ns, name)
    delete(c, claims_path(ns, "a"))
    until(lambda: get(c, claims_path(ns, "a"))["metadata"].get("deletionTimestamp"))
    for path in (pools_path(ns, "pool"), pools_path(ns)):  # the second one: all pools of the namespace
        status, body = c.call("DELETE", path)
        assert status == 409 and "1 address of the pool is allocated" in body["message"], body
    assert bound(c, ns, "a") == "10.7.0.10" and get(c, addresses_path(ns, "a")) is not None
    delete(c, f"/api/v1/namespaces/{ns}")

    def is_gone():
        if collector is not None:
            collector.check()
        return get(c, f"/api/v1/namespaces/{ns}") is None
    until(is_gone, 60, 0.2)


@pytest.fixture
def without_admission(in_cluster):
    """The hook's registration and the limits of the pools' schema are gone, as with the in-cluster provider's CRDs."""
    c = in_cluster
    shipped = c.call("GET", f"{REGISTRATIONS}/{NAME}")[1]
    c.call("DELETE", f"{REGISTRATIONS}/{NAME}")
    for plural in ("inclusterippools", "globalinclusterippools"):
        path = f"{crdlib.CRD_PATH}/{plural}.{GROUP}"
        crd = get(c, path)
        spec = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
        spec.pop("required")
        for name, limit in (("addresses", "minItems"), ("prefix", "minimum"), ("prefix", "maximum"),
                            ("addressReuseGracePeriodSeconds", "minimum")):
            spec["properties"][name].pop(limit)
        status, body = c.call("PUT", path, crd)
        assert status == 200, body
    for kind in KINDS:
        until(lambda: create(c, kind, {"addresses": [], "prefix": -1})[0] == 201)  # pylint: disable=cell-var-from-loop
    yield c, shipped


def test_reported_without_admission(without_admission):
    """PR-8, PR-12: what was not refused is reported by the pool's condition and its numbers; then the hook alone refuses the
    rows that the schema refused before, and an invalid pool can be repaired and deleted."""
    c, shipped = without_admission
    for number, (_, spec, field, _) in enumerate(REFUSED):
        for kind in KINDS:
            status, body = c.call("POST", path_of(kind), pool(kind, spec, name=f"bad-{number}"))
            assert status == 201, body
        for kind in KINDS:
            path = path_of(kind, f"bad-{number}")
            until(lambda: ready_of(get(c, path))[:2] == ("False", "InvalidSpec"))  # pylint: disable=cell-var-from-loop
            assert ready_of(get(c, path))[2].startswith(field.split("[")[0])
    make_claim(c, "shop", "unlucky", "bad-3")
    until(lambda: ready_of(get(c, claims_path("shop", "unlucky")))[1] == "PoolNotReady")
    path = claim_from(c, "shop", POOL, ["10.5.0.10-10.5.0.20"])
    patch(c, path, {"spec": {"addresses": ["10.5.0.15-10.5.0.20"]}})
    until(lambda: get(c, path)["status"]["ipAddresses"] == {"total": 6, "used": 1, "free": 6, "outOfRange": 1})

    def out_of_range():
        return next(((x["status"], x["reason"], x["message"]) for x in get(c, path)["status"]["conditions"] if x["type"] == "OutOfRange"), None)
    why = "the allocated address 10.5.0.10 is not in spec.addresses; it stays until its claim is deleted"
    until(lambda: out_of_range() == ("True", "AddressesOutOfRange", why))
    assert ready_of(get(c, path))[0] == "True"
    until(lambda: [e for e in events(c, "shop") if e["reason"] == "AddressesOutOfRange" and e["note"] == why and e["type"] == "Warning"])
    make_claim(c, "shop", "second", "pool-inclusterippool")
    assert wait_bound(c, "shop", "second") == "10.5.0.15"
    patch(c, path, {"spec": {"excludedAddresses": ["10.5.0.15"]}})
    until(lambda: out_of_range() == ("True", "AddressesOutOfRange", "2 allocated addresses are out of the pool's range; the lowest one, "
                                     "10.5.0.10, is not in spec.addresses; they stay until their claims are deleted"))
    patch(c, path, {"spec": {"addresses": ["10.5.0.10-10.5.0.20"], "excludedAddresses": None}})
    until(lambda: out_of_range() == ("False", "AllInRange", ""))
    assert len([e for e in events(c, "shop") if e["reason"] == "AddressesOutOfRange"]) == 1
    shipped["metadata"] = {"name": NAME}
    assert c.call("POST", REGISTRATIONS, shipped)[0] == 201
    for kind in KINDS:
        for number, (_, spec, field, _) in enumerate(REFUSED):
            until(lambda: create(c, kind, spec)[0] == 422)  # pylint: disable=cell-var-from-loop
            check_refused(create(c, kind, spec), kind, field, "")
            # An edit of something else keeps the spec that was there before the hook.
            patch(c, path_of(kind, f"bad-{number}"), {"metadata": {"labels": {"a": "b"}}})
            delete(c, path_of(kind, f"bad-{number}"))
        left = [path_of(kind, f"bad-{i}") for i in range(len(REFUSED))]
        until(lambda: not any(get(c, path) for path in left))  # pylint: disable=cell-var-from-loop


def test_shipped_registration(in_cluster):
    """Valid as it is, short, and never in the way."""
    o = registration(in_cluster)
    o["metadata"]["name"] = "tried"
    status, body = in_cluster.call("POST", f"{REGISTRATIONS}?dryRun=All&fieldValidation=Strict", o)
    assert status == 201, body
    hook, = o["webhooks"]
    assert (hook["name"], hook["failurePolicy"], hook["sideEffects"], hook["timeoutSeconds"]) == (HOOK, "Ignore", "None", 2)
