# SPDX-License-Identifier: GPL-3.0-or-later
"""The shipped role of `dnsoperator`: with it nothing is refused, and without any one verb something is."""

import os

import pytest

import crdlib
from controllerlib import config_map, namespace, start
from lib import certs
from test_dnsoperator_operands import IMAGES, MONITOR_CRD, MONITORS, NETWORKS, OPENSHIFT, Place
from rbaclib import RBAC, check_every_verb, check_nothing_is_refused, install_roles, stepper

NAME = "fairlead-dnsoperator"
TOKEN = "dnsoperator-token"
DNS = "/apis/operator.openshift.io/v1/dnses"
OPERATOR = "/apis/config.openshift.io/v1/clusteroperators/dns"
# platform: its ConfigMap
MAPS = {"openshift": "/api/v1/namespaces/openshift-dns/configmaps/dns-default",
        "kubernetes": "/api/v1/namespaces/kube-system/configmaps/coredns"}
ROLES = [("openshift", "clusterroles"), ("openshift", "namespaces/fairlead/roles"), ("openshift", "namespaces/openshift-dns/roles"),
         ("openshift", "namespaces/openshift-config/roles"),
         ("kubernetes", "namespaces/kube-system/roles")]
TLS = {"name": "tls", "zones": ["tls.example"], "forwardPlugin": {"upstreams": ["192.0.2.1"], "transportConfig": {
    "transport": "TLS", "tls": {"serverName": "tls.example", "caBundle": {"name": "corp"}}}}}
BACKUP = "dns.fairlead.dev/templates-backup"
COPY = "/api/v1/namespaces/openshift-dns/configmaps/ca-corp"
FILTER = {"name": "a", "zones": ["example.com"], "action": {"returnEmpty": {}}}


@pytest.fixture(scope="module")
def c():
    with Place() as one:
        for ns in ("fairlead", "openshift-dns", "openshift-config"):
            namespace(one, ns)
        certs.make_ca(one.dir)
        with open(os.path.join(one.dir, "ca.pem"), encoding="ascii") as f:
            config_map(one, "openshift-config", "corp", {"ca-bundle.crt": f.read()})
        crdlib.apply_all(one, group="openshift.io")
        status, body = one.call("POST", "/apis/config.openshift.io/v1/featuregates", {
            "apiVersion": "config.openshift.io/v1", "kind": "FeatureGate", "metadata": {"name": "cluster"}, "spec": {}})
        assert status == 201, body
        crdlib.serves(one, crdlib.established(one, one.done("POST", crdlib.CRD_PATH, MONITOR_CRD)["metadata"]["name"]))
        one.done("POST", NETWORKS, {"apiVersion": "config.openshift.io/v1", "kind": "Network", "metadata": {"name": "cluster"},
                                    "spec": {}})
        one.patch(f"{NETWORKS}/cluster/status", {"status": {"serviceNetwork": ["10.96.0.0/16"]}})
        install_roles(one, "dnsoperator", "dnsoperator-openshift")
        yield one


OPERANDS = OPENSHIFT + [f"{MONITORS}/dns-default"]


def text(c, platform):
    status, o = c.call("GET", MAPS[platform])
    return o["data"]["Corefile"] if status == 200 else ""


def scenario(c, enough, platform):
    """All that the operator does, until enough() says so."""
    step = stepper(enough)

    def spec(**fields):
        status, reply = c.call("PATCH", f"{DNS}/default", {"spec": fields}, content_type="application/merge-patch+json")
        assert status == 200, reply

    c.call("DELETE", f"/apis/coordination.k8s.io/v1/namespaces/fairlead/leases/{NAME}")
    c.forget_dns()
    c.call("DELETE", OPERATOR)
    for name in (MAPS[platform], f"{MAPS[platform]}-accepted", COPY):
        c.call("DELETE", name)
    c.call("DELETE", "/apis/events.k8s.io/v1/namespaces/default/events")
    if platform == "openshift":  # which it finds by itself, and makes the object
        c.clean(OPERANDS)
        c.put([("/registry/namespaces/openshift-dns", None)])  # nobody is there who would finish its deletion
        told = ["--dns-image", IMAGES["IMAGE"], "--dns-cli-image", IMAGES["OPENSHIFT_CLI_IMAGE"],
                "--dns-proxy-image", IMAGES["KUBE_RBAC_PROXY_IMAGE"]]
    else:
        told = ["--platform", platform]
        status, body = c.call("POST", DNS, {"apiVersion": "operator.openshift.io/v1", "kind": "DNS", "metadata": {"name": "default"}})
        assert status == 201, body
    p = start(c.kubeconfig(TOKEN, "fairlead"), *told, "--feature-gates", "DNSTemplatePlugin=true,EgressFirewallHold=true", "--lease-retry", "300ms",
              controllers="dnsoperator")
    try:
        if step(lambda: c.call("GET", f"{DNS}/default")[0] == 200
                and (platform != "openshift" or c.call("GET", OPERATOR)[1].get("status"))):
            return
        if step(lambda: platform != "openshift" or all(c.get(path) for path in OPERANDS)):
            return
        spec(templates=[FILTER])
        if step(lambda: "template IN AAAA example.com" in text(c, platform)):
            return
        if step(lambda: BACKUP in c.call("GET", f"{DNS}/default")[1]["metadata"].get("annotations", {})):
            return
        if platform == "openshift":
            spec(servers=[TLS])
            if step(lambda: "/etc/pki/tls.example-ca-corp-" in text(c, platform)):
                return
            spec(servers=[])
            if step(lambda: c.call("GET", COPY)[0] == 404):
                return
        for level, word in (("Trace", "class all"), ("Debug", "class denial error"), ("Trace", "class all")):
            spec(logLevel=level)
            if step(lambda: word in text(c, platform)):  # pylint: disable=cell-var-from-loop
                return
        c.call("DELETE", f"{DNS}/default")
        if step(lambda: c.call("GET", f"{DNS}/default")[0] == 404):
            return
        step(lambda: any(e.get("series") for e in c.call("GET", "/apis/events.k8s.io/v1/namespaces/default/events")[1]["items"]))
    finally:
        p.process.terminate()
        p.process.wait(20)


@pytest.mark.parametrize("platform", MAPS)
def test_nothing_is_refused(c, platform):
    check_nothing_is_refused(c, lambda one, enough: scenario(one, enough, platform))


@pytest.mark.parametrize("platform, where", ROLES)
def test_every_verb_is_needed(c, platform, where):
    # A verb that it has for servers is missed when it is granted.
    check_every_verb(c, f"{RBAC}/{where}/{NAME}", lambda one, enough: scenario(one, enough, platform),
                     lambda resource: ("clusterroles", "roles"))
