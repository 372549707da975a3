# SPDX-License-Identifier: GPL-3.0-or-later
"""The shipped roles of `ipam`: with them nothing is refused, and without any one verb something is."""
import itertools

import pytest

import crdlib
from controllerlib import config_map, events, namespace, start
from ipamhooklib import FLAGS, NAME, REGISTRATIONS, registration
from ipamlib import (GLOBAL_POOL, GLOBAL_PREFIX_POOL, POOL, PREFIX_POOL, addresses_path, bound, claims_path, delete, get, make, make_claim,
                     make_pool, make_prefix_pool, patch, pools_path, prefix_pools_path, ready_of)
from rbaclib import (RBAC, Audited, bundle_of, certificate_of, check_every_verb, check_nothing_is_refused, install_roles,
                     stepper)
from test_ipam_capv import claims, definition, machine

TOKEN = "ipam-token"
SECRET = f"/api/v1/namespaces/fairlead/secrets/{NAME}-webhooks"
LEASE = f"/apis/coordination.k8s.io/v1/namespaces/fairlead/leases/{NAME}"
ROLES = [f"namespaces/fairlead/roles/{NAME}", f"clusterroles/{NAME}", f"namespaces/fairlead/roles/{NAME}-webhooks",
         f"clusterroles/{NAME}-webhooks"]
RIVAL_NS, RIVAL = "capi-ipam-in-cluster-system", "7bb7acb4.ipam.cluster.x-k8s.io"
RIVAL_LEASES = f"/apis/coordination.k8s.io/v1/namespaces/{RIVAL_NS}/leases"
numbers = itertools.count()


@pytest.fixture(scope="module")
def c():
    # The plugin guards owner references that block deletion; OpenShift has it.
    with Audited(f"system:serviceaccount:fairlead:{NAME}", TOKEN, ["OwnerReferencesPermissionEnforcement"]) as one:
        crdlib.apply_all(one, group="cluster.x-k8s.io")
        for kind in ("VSphereVM", "VSphereMachine"):
            name = make(one, crdlib.CRD_PATH, definition(kind, ["v1beta2"]))["metadata"]["name"]
            crdlib.serves(one, crdlib.established(one, name))
        install_roles(one, "ipam", "ipam-webhooks", "ipam-take-lease", "ipam-capv")
        config_map(one, "fairlead", NAME, {"capv": "true"})
        one.hook = registration(one)
        one.hook["webhooks"][0]["rules"][0]["resources"] = ["nothing"]
        yield one


def alternate(c, ns, step):
    """A claim of a pool without usable addresses that comes and goes: the second of two equal Events is counted."""
    def says(words):
        return words in (ready_of(get(c, claims_path(ns, "poor")))[2] or "")
    make_claim(c, ns, "poor", "full")
    for turn in range(2):
        make_pool(c, ns, "full", ["192.0.2.1"], excludedAddresses=["192.0.2.1"])
        if step(lambda: says("has no address to allocate")):
            return True
        delete(c, pools_path(ns, "full"))
        if step(lambda: get(c, pools_path(ns, "full")) is None):
            return True
        if turn == 0 and step(lambda: says("does not exist")):
            return True
    return step(lambda: any(e.get("series") for e in events(c, ns)))


def pools_of(ns):
    """The path of a pool of each kind."""
    wide = f"wide-{ns}"
    return [pools_path(ns, "pool"), pools_path(None, wide), prefix_pools_path(ns, "pool"), prefix_pools_path(None, wide)]


def live(c, ns, step):
    """The life of four claims, with a pool of each kind."""
    wide, pools = f"wide-{ns}", pools_of(ns)
    make_pool(c, ns, "pool", ["10.0.0.10-10.0.0.20"])
    make_pool(c, None, wide, ["10.0.1.10-10.0.1.20"])
    make_prefix_pool(c, ns, "pool", ["fd00:1::/48"])
    make_prefix_pool(c, None, wide, ["fd00:2::/48"])
    for claim, pool, kind in (("a", "pool", POOL), ("b", wide, GLOBAL_POOL), ("d", "pool", PREFIX_POOL), ("e", wide, GLOBAL_PREFIX_POOL)):
        make_claim(c, ns, claim, pool, kind=kind)
    if step(lambda: all(bound(c, ns, claim) for claim in "abde")):
        return True
    if step(lambda: all(get(c, path).get("status", {}).get("ipAddresses", {}).get("used") == 1 for path in pools)):
        return True
    patch(c, addresses_path(ns, "a"), {"metadata": {"finalizers": None}})
    if step(lambda: get(c, addresses_path(ns, "a"))["metadata"].get("finalizers")):
        return True
    for path in [*(claims_path(ns, claim) for claim in "abde"), *pools]:
        delete(c, path)
    return step(lambda: not any(get(c, path) for path in (claims_path(ns, "a"), *pools)))


def make_rival_lease(c, holder):
    make(c, RIVAL_LEASES, {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": RIVAL},
                           "spec": {"holderIdentity": holder, "leaseDurationSeconds": 1}})


def outlive_rival(c, ns, step):
    """A Lease of the in-cluster provider that is not renewed: it is read before it counts as expired."""
    make_rival_lease(c, "dead")
    make_pool(c, ns, "full", ["192.0.2.1"])
    return step(lambda: bound(c, ns, "poor"))


def clean(c, ns):
    """Nobody is there who would take finalizers away."""
    paths = [pools_path(ns, "full"), *pools_of(ns)]
    paths += [of(ns, name) for of in (claims_path, addresses_path) for name in ("a", "b", "d", "e", "poor")]
    for path in paths:
        c.call("DELETE", path)
        c.call("PATCH", path, {"metadata": {"finalizers": None}}, content_type="application/merge-patch+json")


def scenario(c, enough):
    """All that the controller does, until enough() says so."""
    step = stepper(enough)
    ns = f"rbac-{next(numbers)}"
    namespace(c, ns)
    for path in (LEASE, f"{RIVAL_LEASES}/{RIVAL}", SECRET, f"{REGISTRATIONS}/{NAME}"):
        c.call("DELETE", path)
    assert c.call("POST", REGISTRATIONS, c.hook)[0] == 201
    p = start(c.kubeconfig(TOKEN, "fairlead"), *FLAGS, "--webhook-cert-life", "3s", "--lease-retry", "300ms",
              controllers="ipam")
    try:
        if step(lambda: bundle_of(c, "validating", NAME)):
            return
        first = certificate_of(c, SECRET)
        if live(c, ns, step) or alternate(c, ns, step) or outlive_rival(c, ns, step):
            return
        step(lambda: certificate_of(c, SECRET) not in (None, first))
    finally:
        p.process.terminate()
        p.process.wait(20)
        clean(c, ns)


def take_over(c, enough):
    """A start with --take-lease, after the in-cluster provider released its Lease."""
    step = stepper(enough)
    for path in (LEASE, f"{RIVAL_LEASES}/{RIVAL}"):
        c.call("DELETE", path)
    make_rival_lease(c, "")
    p = start(c.kubeconfig(TOKEN, "fairlead"), "--take-lease", "ipam", "--lease-retry", "300ms", controllers="ipam")
    try:
        step(lambda: get(c, f"{RIVAL_LEASES}/{RIVAL}")["spec"]["holderIdentity"])
    finally:
        p.process.terminate()
        p.process.wait(20)


def fill_machine(c, enough):
    """A claim of a VM without name servers, whose machine has none either."""
    step = stepper(enough)
    ns = f"rbac-{next(numbers)}"
    namespace(c, ns)
    c.call("DELETE", LEASE)
    make_pool(c, ns, "pool", ["10.0.0.10-10.0.0.20"], nameservers={"addresses": ["10.0.0.53"]})
    claims(c, ns, machine(c, ns, "v1beta2", [["pool"]]), [(0, 0, "pool")])
    p = start(c.kubeconfig(TOKEN, "fairlead"), "--lease-retry", "300ms", controllers="ipam")
    try:
        step(lambda: bound(c, ns, "vm-0-0"))
    finally:
        p.process.terminate()
        p.process.wait(20)


@pytest.mark.parametrize("acts", [scenario, take_over, fill_machine])
def test_nothing_is_refused(c, acts):
    check_nothing_is_refused(c, acts)


@pytest.mark.parametrize("role", ROLES)
def test_every_verb_is_needed(c, role):
    # Without `finalizers` of its owner an address cannot be made, or repaired.
    check_every_verb(c, f"{RBAC}/{role}", scenario,
                     lambda resource: ["ipaddresses"] if resource.endswith("/finalizers") else [])


@pytest.mark.parametrize("role, acts", [(f"namespaces/{RIVAL_NS}/roles/{NAME}-take-lease", take_over),
                                        (f"clusterroles/{NAME}-capv", fill_machine)])
def test_every_further_verb_is_needed(c, role, acts):
    check_every_verb(c, f"{RBAC}/{role}", acts)
