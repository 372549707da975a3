# SPDX-License-Identifier: GPL-3.0-or-later
"""Hosted control planes: the controller `dnsoperator` with one cluster that has the DNS object (workload) and one that has its
Lease (management). Nothing but what docs/controllers/dnsoperator.md says is written to either."""
import base64
import os
import shutil

import pytest

import crdlib
from controllerlib import FAST, Controller, namespace, objects, stopping, until
from lib import cluster
from netlib import SECRETS
from test_dnsoperator import LEGACY, Place
from rbaclib import Audited, path_of

NAME = "fairlead-dnsoperator"
TOKEN = "dnsoperator-token"
NS = "hosted"
LEASE = f"/apis/coordination.k8s.io/v1/namespaces/{NS}/leases/{NAME}"
# Written by kube-apiserver itself, at times of its own.
OWN = ("kube-system", "kube-public", "kube-node-lease")


def everything(c):
    """{(resource, namespace, name): version} of all that can be listed, but what the server does for itself."""
    found = {}
    groups = ["/api/v1"] + [f"/apis/{g['preferredVersion']['groupVersion']}" for g in c.call("GET", "/apis")[1]["groups"]]
    for group in groups:
        for r in c.call("GET", group)[1]["resources"]:
            if "list" not in r["verbs"] or "/" in r["name"]:
                continue
            status, body = c.call("GET", f"{group}/{r['name']}")
            for o in body.get("items", []) if status == 200 else []:
                m = o["metadata"]
                if m.get("namespace") not in OWN:
                    found[(r["name"], m.get("namespace"), m["name"])] = m.get("resourceVersion")
    return found


def written(before, after):
    """What is new, changed or gone."""
    return {k for k in before.keys() | after.keys() if before.get(k) != after.get(k)}


def install(c):
    crdlib.apply_all(c, group="openshift.io")


@pytest.fixture(scope="module")
def clusters():
    """One of each kind: {"real": ..., "embedded": ...}. The real one has RBAC, and of the shipped roles the one for Leases."""
    with Audited(f"system:serviceaccount:fairlead:{NAME}", TOKEN) as real, cluster.Embedded() as embedded:
        install(real)
        namespace(real, NS)
        for o in objects(real, "deploy/rbac/dnsoperator.yaml"):
            if o["kind"] in ("Role", "RoleBinding") and o["metadata"]["namespace"] == "fairlead":
                o["metadata"]["namespace"] = NS
                status, body = real.call("POST", path_of(o), o)
                assert status == 201, body
        for c in (real, embedded):
            namespace(c, "openshift-dns")
        namespace(embedded, NS)
        yield {"real": real, "embedded": embedded}


@pytest.fixture(params=["embedded", "real"])
def pair(request, clusters):
    """(workload, management)."""
    names = ["embedded", "real"] if request.param == "embedded" else ["real", "embedded"]
    work, manage = (clusters[n] for n in names)
    Place(work.url, work.ca, work.admin, None).clean()
    manage.call("DELETE", LEASE)
    return work, manage


def lease_token(c):
    return TOKEN if isinstance(c, Audited) else c.system


@pytest.fixture
def run(pair):
    def make(*args, controllers="dnsoperator", lease=None):
        work, manage = pair
        return Controller(work.kubeconfig(work.system, "somewhere-else"), "--lease-kubeconfig",
                          manage.kubeconfig(lease or lease_token(manage), NS), "--platform", "openshift",
                          *args, controllers=controllers)
    with stopping(make) as start:
        yield start


def test_who_has_what(pair, run):
    """The Lease, and only that, is in the management cluster; its role is enough. All else is in the workload cluster."""
    work, manage = pair
    place = Place(work.url, work.ca, work.admin, None)
    since = manage.size() if isinstance(manage, Audited) else None
    before = [everything(c) for c in pair]
    p = run("--feature-gates", "DNSTemplatePlugin=true", "--dns-operands", "false")
    place.dns({"templates": [LEGACY]})
    place.says("TemplateConfigurationValid", "True AsExpected")
    place.says("TemplateConfigurationApplied", "Unknown NoInstances")
    until(lambda: any(k[0] == "events" for k in everything(work)))
    after = [everything(c) for c in pair]
    assert written(before[1], after[1]) == {("leases", NS, NAME)}
    events = {k for k in written(before[0], after[0]) if k[0] == "events"}
    assert {k[1] for k in events} == {"default"}
    assert written(before[0], after[0]) - events == {
        ("dnses", None, "default"), ("clusteroperators", None, "dns"), ("configmaps", "openshift-dns", "dns-default"),
        ("configmaps", "openshift-dns", "dns-default-accepted")}
    assert p.find(r"leases in https://")
    assert p.stop() == 0
    assert manage.call("GET", LEASE)[1]["spec"].get("holderIdentity", "") == ""  # given back
    if since is not None:
        assert manage.refused(since) == [] and manage.size() > since


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root (a mount namespace)")
@pytest.mark.parametrize("pair", ["real"], indirect=True)
def test_service_account_of_the_management_cluster(pair, tmp_path):
    """As a pod there: its service account for the Lease, in its namespace, and a kubeconfig for the rest."""
    work, manage = pair
    for name, text in (("token", manage.system), ("namespace", NS)):
        (tmp_path / name).write_text(text)
    shutil.copy(manage.ca, tmp_path / "ca.crt")
    enter = f"mount -t tmpfs none /run && mkdir -p {SECRETS} && cp \"$0\"/* {SECRETS} && exec \"$@\""
    p = Controller(work.kubeconfig(work.system, "somewhere-else"), "--lease-kubeconfig", "in-cluster",
                   controllers="dnsoperator", wrap=["unshare", "--mount", "sh", "-c", enter, str(tmp_path)],
                   env={"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": str(manage.port)})
    try:
        line = p.wait_line("leading as")[1]
        assert manage.call("GET", LEASE)[1]["spec"]["holderIdentity"] in line
    finally:
        assert p.stop() == 0


def test_one_leads(pair, run):
    """The Lease of the management cluster decides; one that is killed is followed."""
    _, manage = pair
    first = run(*FAST)
    first.wait_line("leading as")
    second = run(*FAST)
    second.wait_line("waiting to lead")
    assert second.find("leading as") is None
    assert manage.call("GET", LEASE)[1]["spec"]["holderIdentity"] in first.find("leading as")[1]
    first.kill()
    second.wait_line("leading as")
    assert manage.call("GET", LEASE)[1]["spec"]["holderIdentity"] in second.find("leading as")[1]


def test_management_cluster_away(pair, run):
    """A controller that cannot renew its Lease stops, although the workload cluster works, and names the cluster."""
    _, manage = pair
    p = run(*FAST)
    p.wait_line("leading as")
    manage.api.process.send_signal(cluster.signal.SIGSTOP)
    try:
        assert p.process.wait(20) == 1
        assert p.find("the lease 'fairlead-dnsoperator' was lost"), p.text()
    finally:
        manage.api.process.send_signal(cluster.signal.SIGCONT)
    manage.wait_ready()


@pytest.mark.parametrize("pair", ["real"], indirect=True)  # the embedded one calls no web hooks
def test_keys_of_web_hooks_stay_with_the_program(pair, run):
    """The Secret with the managed certificates is in the management cluster, what callers trust in the workload cluster."""
    work, manage = pair
    secret = f"/api/v1/namespaces/{NS}/secrets/fairlead-webhooks"
    hooks = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
    registration = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
                    "metadata": {"name": "fairlead"}, "webhooks": [{
                        "name": "nothing.example.fairlead.dev", "admissionReviewVersions": ["v1"], "sideEffects": "None",
                        "failurePolicy": "Ignore", "clientConfig": {"url": "https://127.0.0.1:1/validate"},
                        "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["nothing"], "operations": ["CREATE"]}]}]}
    for c in pair:
        c.call("DELETE", secret)
        c.call("DELETE", f"{hooks}/fairlead")
        c.call("POST", hooks, registration)
    before = [everything(c) for c in pair]
    p = run("--webhook-listen", "127.0.0.1:0", "--webhook-names", "127.0.0.1", controllers="example", lease=manage.system)
    until(lambda: p.get("/readyz")[0] == 200)
    made = manage.call("GET", secret)[1]
    trusted = work.call("GET", f"{hooks}/fairlead")[1]["webhooks"][0]["clientConfig"]["caBundle"]
    assert trusted == made["data"]["ca.crt"]
    assert b"BEGIN CERTIFICATE" in base64.b64decode(trusted)
    after = [everything(c) for c in pair]
    assert written(before[0], after[0]) == {("validatingwebhookconfigurations", None, "fairlead")}
    assert written(before[1], after[1]) == {("secrets", NS, "fairlead-webhooks"), ("leases", NS, "fairlead-example"),
                                                  ("leases", NS, "fairlead-example-heartbeat")}
