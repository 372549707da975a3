# SPDX-License-Identifier: GPL-3.0-or-later
"""The shipped roles of `dnssource`: with them nothing is refused, and without any one verb something is."""
import itertools

import pytest

import crdlib
from controllerlib import config_map, events, namespace, start
from dnsrecordlib import GROUP, MERGE, make, path
from rbaclib import RBAC, Audited, check_every_verb, check_nothing_is_refused, install_roles, stepper
from test_dnssource import DOMAINS, annotate, records, service, set_addresses

NAME, TOKEN = "fairlead-dnssource", "dnssource-token"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/fairlead/leases"
numbers = itertools.count()


@pytest.fixture(scope="module")
def c():
    with Audited(f"system:serviceaccount:fairlead:{NAME}", TOKEN) as one:
        crdlib.apply_all(one, group=GROUP)
        install_roles(one, "dnssource")
        config_map(one, "fairlead", NAME, DOMAINS)
        yield one


def live(c, ns, step):
    service(c, ns, "web", ingress=[{"ip": "192.0.2.1"}], hostname="a.example.com")
    if step(lambda: records(c, ns)):
        return
    name = c.call("GET", path(ns))[1]["items"][0]["metadata"]["name"]
    set_addresses(c, f"/api/v1/namespaces/{ns}/services/web", [{"ip": "192.0.2.2"}])
    if step(lambda: records(c, ns) == {("a.example.com", "A"): (None, ["192.0.2.2"])}):
        return
    annotate(c, ns, "web", hostname=None)
    if step(lambda: records(c, ns) == {}):
        return
    make(c, ns, name, "theirs.example.com")  # the name is taken: whose is it?
    for _ in range(2):  # the second of two equal Events is counted
        annotate(c, ns, "web", hostname="a.example.com")
        if step(lambda: any(e["reason"] == "NameTaken" for e in events(c, ns))):
            return
        annotate(c, ns, "web", hostname="b.example.com")
        if step(lambda: records(c, ns)):
            return
        annotate(c, ns, "web", hostname=None)
        if step(lambda: records(c, ns) == {}):
            return
    if step(lambda: any(e.get("series") for e in events(c, ns))):
        return
    # Others write at the same time: the object is read again.
    annotate(c, ns, "web", hostname="c.example.com")
    if step(lambda: records(c, ns)):
        return
    name = next(o["metadata"]["name"] for o in c.call("GET", path(ns))[1]["items"] if o["spec"]["name"] == "c.example.com")
    for i in range(20):
        annotate(c, ns, "web", ttl=str(100 + i))
        for k in range(4):
            c.call("PATCH", path(ns, name), {"metadata": {"labels": {"x": f"{i}-{k}"}}}, content_type=MERGE)
    step(lambda: records(c, ns) == {("c.example.com", "A"): (119, ["192.0.2.2"])})


def scenario(c, enough):
    """All that the controller does, until enough() says so."""
    step, ns = stepper(enough), f"rbac-{next(numbers)}"
    namespace(c, ns)
    c.call("DELETE", f"{LEASES}/{NAME}")
    p = start(c.kubeconfig(TOKEN, "fairlead"), "--lease-retry", "300ms", controllers="dnssource")
    try:
        live(c, ns, step)
    finally:
        p.process.terminate()
        p.process.wait(20)
        c.call("DELETE", f"/api/v1/namespaces/{ns}/services/web")
        c.call("DELETE", path(ns))


def test_nothing_is_refused(c):
    check_nothing_is_refused(c, scenario)


@pytest.mark.parametrize("role", [f"namespaces/fairlead/roles/{NAME}", f"clusterroles/{NAME}"])
def test_every_verb_is_needed(c, role):
    check_every_verb(c, f"{RBAC}/{role}", scenario)
