# SPDX-License-Identifier: GPL-3.0-or-later
"""The web hook of `dnsoperator`: the program of deploy/webhooks against a real API server, its role, and what no file of
deploy/ may have."""
import os

import pytest

import crdlib
from controllerlib import objects, start, until
from lib import server
from rbaclib import (RBAC, Audited, bundle_of, certificate_of, check_every_verb, check_nothing_is_refused, install_roles,
                     stepper)

NAME = "fairlead-dnsoperator"
TOKEN = "dnsoperator-token"
DNS = "/apis/operator.openshift.io/v1/dnses"
HOOKS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
SECRET = f"/api/v1/namespaces/fairlead/secrets/{NAME}-webhooks"
FLAGS = ["--webhook-listen", "127.0.0.1:0", "--webhook-names", "127.0.0.1", "--webhook-secret", f"{NAME}-webhooks",
         "--webhook-registration", NAME, "--webhook-look", "200ms"]
BAD = {"name": "a", "zones": ["a_b"], "action": {"returnEmpty": {}}}


@pytest.fixture(scope="module")
def c():
    with Audited(f"system:serviceaccount:fairlead:{NAME}", TOKEN) as one:
        for _, text in crdlib.documents(crdlib.CRDS):
            if crdlib.field(text, r"^  name: (\S+)$") == "dnses.operator.openshift.io":
                # as a cluster has it whose CRD says nothing of templates and yet keeps them
                text = text.split("          spec:\n", 1)[0] + (
                    "          spec: {type: object, x-kubernetes-preserve-unknown-fields: true}\n"
                    "          status: {type: object, x-kubernetes-preserve-unknown-fields: true}\n")
                status, crd = crdlib.create(one, crdlib.CRD_PATH, text)
                assert status == 201, crd
                crdlib.serves(one, crdlib.established(one, crd["metadata"]["name"]))
        install_roles(one, "dnsoperator", "dnsoperator-openshift", "dnsoperator-webhooks")
        yield one


def registration(c):
    return next(o for o in objects(c, "deploy/webhooks/dnsoperator.yaml") if o["kind"] == "ValidatingWebhookConfiguration")


def scenario(c, enough):
    """A start with a certificate that is renewed and a registration to write, until enough() says so."""
    step = stepper(enough)
    c.call("DELETE", SECRET)
    c.call("DELETE", f"{HOOKS}/{NAME}")
    assert c.call("POST", HOOKS, registration(c))[0] == 201
    p = start(c.kubeconfig(TOKEN, "fairlead"), *FLAGS, "--webhook-cert-life", "3s", "--lease-retry", "300ms",
              controllers="dnsoperator")
    try:
        if step(lambda: b"BEGIN CERTIFICATE" in bundle_of(c, "validating", NAME)):
            return
        first = certificate_of(c, SECRET)
        step(lambda: certificate_of(c, SECRET) not in (None, first))
    finally:
        p.process.terminate()
        p.process.wait(20)


def test_nothing_is_refused(c):
    check_nothing_is_refused(c, scenario)


@pytest.mark.parametrize("where", ["namespaces/fairlead/roles", "clusterroles"])
def test_every_verb_is_needed(c, where):
    check_every_verb(c, f"{RBAC}/{where}/{NAME}-webhooks", scenario)


def test_shipped_registration(c):
    """Valid as it is, short, and never in the way."""
    o = registration(c)
    c.call("DELETE", f"{HOOKS}/{NAME}")
    status, body = c.call("POST", f"{HOOKS}?dryRun=All&fieldValidation=Strict", o)
    assert status == 201, body
    for hook in o["webhooks"]:
        assert (hook["failurePolicy"], hook["sideEffects"], hook["rules"][0]["scope"]) == ("Ignore", "None", "Cluster")
    assert all(2 <= h["timeoutSeconds"] <= 5 for h in o["webhooks"])


def test_no_hook_of_this_kind_fails_closed(c):
    """Whatever deploy/ holds, also later: no web hook for kinds of the DNS operator has failurePolicy Fail, and none leaves
    it out, which means the same."""
    seen = 0
    for folder, _, names in os.walk(os.path.join(server.ROOT, "deploy")):
        for name in names:
            path = os.path.join(folder, name)
            if not name.endswith((".yaml", ".yml")) or "WebhookConfiguration" not in open(path, encoding="utf-8").read():
                continue
            for o in objects(c, path):
                for hook in o.get("webhooks", []) if o["kind"].endswith("WebhookConfiguration") else []:
                    groups = {g for rule in hook["rules"] for g in rule["apiGroups"]}
                    if groups & {"operator.openshift.io", "config.openshift.io", "*"}:
                        seen += 1
                        assert hook.get("failurePolicy") == "Ignore", (path, hook["name"])
    assert seen > 0


@pytest.fixture(scope="module")
def hooked(c):
    """The shipped registration, pointed at a process, which does not lead: another holds the lease."""
    lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": NAME, "namespace": "fairlead"},
             "spec": {"holderIdentity": "another", "leaseDurationSeconds": 3600, "acquireTime": "2099-01-01T00:00:00.000000Z",
                      "renewTime": "2099-01-01T00:00:00.000000Z"}}
    leases = "/apis/coordination.k8s.io/v1/namespaces/fairlead/leases"
    c.call("DELETE", f"{leases}/{NAME}")
    assert c.call("POST", leases, lease)[0] == 201
    c.call("DELETE", SECRET)
    c.call("DELETE", f"{HOOKS}/{NAME}")
    p = start(c.kubeconfig(TOKEN, "fairlead"), *FLAGS, controllers="dnsoperator")
    try:
        port = int(p.wait_line("web hooks on port")[1].split()[-1])
        until(lambda: p.get("/readyz") == (200, "ok\n"))
        o = registration(c)
        path = o["webhooks"][0]["clientConfig"]["service"]["path"]
        o["webhooks"][0]["clientConfig"] = {"url": f"https://127.0.0.1:{port}{path}"}
        assert c.call("POST", HOOKS, o)[0] == 201
        until(lambda: c.call("GET", f"{HOOKS}/{NAME}")[1]["webhooks"][0]["clientConfig"].get("caBundle"))
        until(lambda: create(c, {"templates": [BAD]}, dry=True)[0] == 422)
        yield p
    finally:
        assert p.stop() == 0, p.text()
        c.call("DELETE", f"{HOOKS}/{NAME}")


def body_of(spec, **meta):
    return {"apiVersion": "operator.openshift.io/v1", "kind": "DNS", "metadata": {"name": "default", **meta}, "spec": spec}


def create(c, spec, dry=False, **meta):
    return c.call("POST", DNS + ("?dryRun=All" if dry else ""), body_of(spec, **meta))


def patch(c, change, sub=""):
    return c.call("PATCH", f"{DNS}/default{sub}", change, content_type="application/merge-patch+json")


def asked(c):
    """How often the server asked the hook."""
    text = c.call("GET", "/metrics")[1]
    return sum(float(line.split()[-1]) for line in text.splitlines()
               if line.startswith("apiserver_admission_webhook_request_total{") and "dnses.dnsoperator" in line)


def test_a_follower_refuses(c, hooked):
    """In the words of the conditions; what is stored already may stay, and other things of it change."""
    assert "waiting to lead" in hooked.text()
    status, body = create(c, {"templates": [BAD]}, dry=True)
    assert status == 422
    assert body["message"].startswith(
        'admission webhook "dnses.dnsoperator.fairlead.dev" denied the request: Template a: spec.templates[0].zones[0]: '
        '"a_b" is not a DNS name; '), body["message"]
    # not read, since this CRD keeps the field
    assert create(c, {}, dry=True, annotations={"dns.fairlead.dev/templates": "[{"})[0] == 201
    assert create(c, {"templates": [{**BAD, "zones": ["a.b"]}]}, dry=True)[0] == 201


def test_stored_bad_objects_stay_usable(c, hooked):
    """Ratcheting: stored before the hook was there, then changed elsewhere, finalizers, status, deletion."""
    assert c.call("DELETE", f"{HOOKS}/{NAME}")[0] == 200
    until(lambda: create(c, {"templates": [BAD]}, dry=True)[0] == 201)
    status, body = create(c, {"templates": [BAD]}, finalizers=["a.example/b"])
    assert status == 201, body
    port = int(hooked.find("web hooks on port")[1].split()[-1])
    o = registration(c)
    path = o["webhooks"][0]["clientConfig"]["service"]["path"]
    o["webhooks"][0]["clientConfig"] = {"url": f"https://127.0.0.1:{port}{path}"}
    assert c.call("POST", HOOKS, o)[0] == 201
    until(lambda: create(c, {"templates": [BAD]}, dry=True)[0] == 422)
    before = asked(c)
    assert patch(c, {"spec": {"logLevel": "Debug"}})[0] == 200
    assert patch(c, {"metadata": {"labels": {"a": "b"}, "annotations": {"a": "b"}}})[0] == 200
    assert patch(c, {"status": {"clusterDomain": "cluster.local", "clusterIP": "10.96.0.10"}}, "/status")[0] == 200
    assert create(c, {}, dry=True, name="other")[0] == 201
    assert asked(c) == before
    assert patch(c, {"spec": {"servers": [{"name": "a", "zones": ["a.b"], "forwardPlugin": {"upstreams": ["x"]}}]}})[0] == 422
    assert patch(c, {"spec": {"templates": [{**BAD, "zones": ["svc.cluster.local"]}]}})[0] == 422
    assert asked(c) > before
    assert c.call("DELETE", f"{DNS}/default")[0] == 200
    before = asked(c)
    assert patch(c, {"spec": {"templates": []}})[0] == 200
    assert patch(c, {"metadata": {"finalizers": None}})[0] == 200
    assert asked(c) == before
    until(lambda: c.call("GET", f"{DNS}/default")[0] == 404)
