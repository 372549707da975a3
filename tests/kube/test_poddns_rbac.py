# SPDX-License-Identifier: GPL-3.0-or-later
"""The shipped roles of `poddns`: with them nothing is refused, and without any one verb something is."""
import itertools

import pytest

import crdlib
from controllerlib import config_map, start
from poddnslib import FLAGS, KEY, NAME, events_of, make_namespace, register, unregister
from rbaclib import (RBAC, Audited, bundle_of, certificate_of, check_every_verb, check_nothing_is_refused, install_roles,
                     stepper)

TOKEN = "poddns-token"
MAP = "/api/v1/namespaces/fairlead/configmaps/fairlead-poddns"
SECRET = f"/api/v1/namespaces/fairlead/secrets/{NAME}-webhooks"
ROLES = [f"namespaces/fairlead/roles/{NAME}", f"clusterroles/{NAME}", f"namespaces/kube-system/roles/{NAME}",
         f"namespaces/openshift-dns/roles/{NAME}", f"namespaces/fairlead/roles/{NAME}-webhooks", f"clusterroles/{NAME}-webhooks"]
numbers = itertools.count()


@pytest.fixture(scope="module")
def c():
    with Audited(f"system:serviceaccount:fairlead:{NAME}", TOKEN) as one:
        for _, text in crdlib.documents(crdlib.CRDS):
            if crdlib.field(text, r"^  name: (\S+)$") == "dnses.operator.openshift.io":
                status, crd = crdlib.create(one, crdlib.CRD_PATH, text)
                assert status == 201, crd
                crdlib.serves(one, crdlib.established(one, crd["metadata"]["name"]))
        install_roles(one, "poddns", "poddns-openshift", "poddns-webhooks")
        yield one


def scenario(c, enough):
    """All that the controller does, until enough() says so."""
    step = stepper(enough)
    ns = f"shop-{next(numbers)}"
    c.call("DELETE", f"/apis/coordination.k8s.io/v1/namespaces/fairlead/leases/{NAME}")
    c.call("DELETE", SECRET)
    if c.call("GET", MAP)[0] == 404:
        config_map(c, "fairlead", "fairlead-poddns", {"policies.yaml": "[]"})
    c.call("PATCH", MAP, {"data": {"policies.yaml": "[]"}}, content_type="application/merge-patch+json")
    c.call("DELETE", "/apis/events.k8s.io/v1/namespaces/fairlead/events")
    unregister(c)

    def match_nothing(hook):
        hook["rules"][0]["resources"] = ["nothing"]

    register(c, 1, match_nothing)
    make_namespace(c, ns, {KEY + "virtual-suffix": "true", KEY + "add-searches": "corp.example"})
    p = start(c.kubeconfig(TOKEN, "fairlead"), *FLAGS, "--webhook-cert-life", "3s", "--lease-retry", "300ms",
              "--dns-cluster-domain", "cluster.local", controllers="poddns")
    try:
        if step(lambda: KEY + "search-lists" in c.call("GET", f"/api/v1/namespaces/{ns}")[1]["metadata"]["annotations"]):
            return
        if step(lambda: bundle_of(c, "mutating", NAME) and bundle_of(c, "validating", NAME)):
            return
        first = certificate_of(c, SECRET)
        for text in ("broken", "[]", "broken", "[]", "broken"):  # the second Event is counted
            passes = p.looks()
            c.call("PATCH", MAP, {"data": {"policies.yaml": text}}, content_type="application/merge-patch+json")
            if step(lambda: p.looks() > passes):  # pylint: disable=cell-var-from-loop
                return
        if step(lambda: any(e.get("series") for e in events_of(c, "fairlead", "InvalidPodDNSPolicy"))):
            return
        step(lambda: certificate_of(c, SECRET) not in (None, first))
    finally:
        p.process.terminate()
        p.process.wait(20)


def test_nothing_is_refused(c):
    check_nothing_is_refused(c, scenario)


@pytest.mark.parametrize("role", ROLES)
def test_every_verb_is_needed(c, role):
    check_every_verb(c, f"{RBAC}/{role}", scenario)
