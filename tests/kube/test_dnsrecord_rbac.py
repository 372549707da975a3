# SPDX-License-Identifier: GPL-3.0-or-later
"""The shipped roles of `dnsrecord`: with them nothing is refused, and without any one verb something is."""
import itertools

import pytest

import crdlib
from controllerlib import events, namespace, start, until
from dnsrecordlib import GROUP, Zones, delete, get, make, make_secret, patch, settled, stamp
from rbaclib import RBAC, Audited, check_every_verb, check_nothing_is_refused, install_roles, stepper

NAME, TOKEN, HEARTBEAT = "fairlead-dnsrecord", "dnsrecord-token", "gardener-extension-heartbeat"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/fairlead/leases"
numbers = itertools.count()


@pytest.fixture(scope="module")
def c(tmp_path_factory):
    with Audited(f"system:serviceaccount:fairlead:{NAME}", TOKEN) as one:
        crdlib.apply_all(one, group=GROUP)
        install_roles(one, "dnsrecord")
        one.folder = tmp_path_factory.mktemp("zones")
        yield one


def live(c, ns, step):
    make(c, ns, "a", "a.example.com")
    if step(lambda: settled(c, ns, "a")):
        return
    for value in ("192.0.2.2", "192.0.2.3"):  # the second of two equal Events is counted
        patch(c, ns, "a", {"spec": {"values": [value]}})
        if step(lambda: settled(c, ns, "a")):
            return
    if step(lambda: any(e.get("series") for e in events(c, ns))):
        return
    # Others write at the same time: the object is read again.
    for i in range(20):
        patch(c, ns, "a", {"spec": {"ttl": 200 + i}})
        for k in range(4):
            patch(c, ns, "a", {"metadata": {"labels": {"x": f"{i}-{k}"}}})
        if step(lambda: settled(c, ns, "a")):
            return
    delete(c, ns, "a")
    step(lambda: get(c, ns, "a") is None)


def beat(c, ns):
    """The heartbeat of an extension that has just stopped: its Deployment is read, and, when it has expired, the Lease again."""
    status, body = c.call("POST", f"/apis/coordination.k8s.io/v1/namespaces/{ns}/leases", {
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": HEARTBEAT},
        "spec": {"holderIdentity": "provider-local", "leaseDurationSeconds": 1, "renewTime": stamp()}})
    assert status == 201, body


def scenario(c, enough):
    """All that the controller does, until enough() says so."""
    step, ns = stepper(enough), f"rbac-{next(numbers)}"
    namespace(c, ns)
    beat(c, ns)
    (c.folder / ns).mkdir()
    make_secret(c, ns, Zones(c.folder / ns).data())
    for lease in (NAME, HEARTBEAT):
        c.call("DELETE", f"{LEASES}/{lease}")
    p = start(c.kubeconfig(TOKEN, "fairlead"), "--dnsrecord-types", "memory,local", "--lease-retry", "300ms", "--heartbeat", "1s",
              "--platform", "gardener", "--dnsrecord-by-generation", controllers="dnsrecord")
    try:
        live(c, ns, step)
    finally:
        p.process.terminate()
        p.process.wait(20)
        if get(c, ns, "a"):
            c.call("DELETE", f"/apis/{GROUP}/v1alpha1/namespaces/{ns}/dnsrecords/a")
            c.call("PATCH", f"/apis/{GROUP}/v1alpha1/namespaces/{ns}/dnsrecords/a", {"metadata": {"finalizers": None}},
                   content_type="application/merge-patch+json")
            until(lambda: get(c, ns, "a") is None)


def test_nothing_is_refused(c):
    check_nothing_is_refused(c, scenario)


@pytest.mark.parametrize("role", [f"namespaces/fairlead/roles/{NAME}", f"clusterroles/{NAME}"])
def test_every_verb_is_needed(c, role):
    check_every_verb(c, f"{RBAC}/{role}", scenario)
