# SPDX-License-Identifier: GPL-3.0-or-later
"""Admission of `DNS default` in a real API server: each refused row of src/controller/dnsoperator/plan/test_validate_templates.json and
test_validate_routes.json is denied by the CRD's schema, by deploy/policies or by the web hook, and dnsoperator_admission.txt says by
which (FAIRLEAD_RECORD=1 writes it anew); what the conditions accept, none of them denies.

Three CRDs: ours; `open`, whose spec says nothing and keeps everything; `stock`, which knows no templates, as OpenShift's: there
the rows are the annotation's text.
"""
import json
import os
import re
import ssl
import urllib.request

import pytest

import crdlib
from controllerlib import kubectl, namespace, objects, start, until
from lib import cluster, server
from lib.cluster import Child, peer

DNS = "/apis/operator.openshift.io/v1/dnses"
CRD = "dnses.operator.openshift.io"
REGISTRATION = "/apis/admissionregistration.k8s.io/v1"
HOOKS = f"{REGISTRATION}/validatingwebhookconfigurations"
NAME = "fairlead-dnsoperator"
TABLE = os.path.join(server.ROOT, "tests", "kube", "dnsoperator_admission.txt")
RECORD = bool(os.environ.get("FAIRLEAD_RECORD"))
POLICIES = "deploy/policies/dnsoperator.yaml"
FILTER = {"name": "filter-aaaa", "zones": ["."], "action": {"returnEmpty": {}}}
# Only a trial tells.
UNTRIED = {"name": "a", "zones": ["a.b"], "action": {"generateResponse": {"answerTemplate": "{{ .Nope }} 60 IN AAAA ::1"}}}
BY = [("schema", r'^DNS\.operator\.openshift\.io "default" is invalid: (?!: ValidatingAdmissionPolicy)'),
      ("policy", r"ValidatingAdmissionPolicy 'fairlead-dnsoperator-(templates|servers)' .*denied request: "),
      ("hook", r'^admission webhook "dnses\.dnsoperator\.fairlead\.dev" denied the request: ')]


def read(folder, name):
    with open(os.path.join(server.ROOT, folder, name), encoding="utf-8") as f:
        return f.read()


def rows(name):
    return json.loads(read("src/controller/dnsoperator/plan", name))


TEMPLATES, ROUTES = rows("test_validate_templates.json"), rows("test_validate_routes.json")


def crd_of(c, variant):
    text = next(t for _, t in crdlib.documents(crdlib.CRDS) if f"  name: {CRD}\n" in t)
    o = json.loads(kubectl(c, "create", "--dry-run=client", "-o", "json", "-f", "-", text=text))
    root = o["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]
    if variant == "open":
        root["spec"] = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    if variant == "stock":
        root["spec"]["properties"].pop("templates")
    return o


class Place:
    """A cluster with one of the CRDs, the policies and the process of the web hook, which does not lead."""

    def __init__(self, c, variant):
        self.c, self.variant, self.domain = c, variant, None
        status, crd = c.call("POST", crdlib.CRD_PATH, crd_of(c, variant))
        assert status == 201, crd
        crdlib.serves(c, crdlib.established(c, CRD))
        namespace(c, "fairlead")
        far = "2099-01-01T00:00:00.000000Z"
        assert c.call("POST", "/apis/coordination.k8s.io/v1/namespaces/fairlead/leases", {
            "metadata": {"name": NAME}, "spec": {"holderIdentity": "another", "leaseDurationSeconds": 3600, "acquireTime": far,
                                                 "renewTime": far}})[0] == 201
        assert c.call("POST", DNS, body_of({}))[0] == 201
        self.hook = None

    def tell_domain(self, domain):
        if domain != self.domain:
            status, body = self.c.call("PATCH", f"{DNS}/default/status", {"status": {
                "clusterDomain": domain, "clusterIP": "10.96.0.10"}}, content_type="application/merge-patch+json")
            assert status == 200, body
            self.domain = domain

    def start_hook(self, *args):
        self.hook = start(self.c.kubeconfig(namespace="fairlead"), "--webhook-listen", "127.0.0.1:0", "--webhook-names",
                          "127.0.0.1", "--webhook-secret", f"{NAME}-webhooks", "--webhook-registration", NAME, "--webhook-look",
                          "200ms", *args, controllers="dnsoperator")
        port = int(self.hook.wait_line("web hooks on port")[1].split()[-1])
        until(lambda: self.hook.get("/readyz") == (200, "ok\n"))
        o = next(o for o in objects(self.c, "deploy/webhooks/dnsoperator.yaml") if o["kind"].startswith("Validating"))
        path = o["webhooks"][0]["clientConfig"]["service"]["path"]
        o["webhooks"][0]["clientConfig"] = {"url": f"https://127.0.0.1:{port}{path}"}
        assert self.c.call("POST", HOOKS, o)[0] == 201
        bad = {"name": "a", "zones": ["10.0.0.0/8", "10.in-addr.arpa"], "forwardPlugin": {"upstreams": ["192.0.2.1"]}}
        until(lambda: self.put({"servers": [bad]})[0] == "hook")

    def stop_hook(self):
        if self.hook:
            assert self.hook.stop() == 0, self.hook.text()
            self.hook = None

    def put(self, spec, annotation=None):
        """(what denies an update to this, "" for nothing; the message)."""
        o = self.c.call("GET", f"{DNS}/default")[1]
        new = body_of(spec, resourceVersion=o["metadata"]["resourceVersion"])
        if annotation is not None:
            new["metadata"]["annotations"] = {"dns.fairlead.dev/templates": annotation}
        status, body = self.c.call("PUT", f"{DNS}/default?dryRun=All", new)
        if status == 200:
            return "", ""
        assert status == 422, body
        return next((by for by, pattern in BY if re.search(pattern, body["message"])), "?"), body["message"]


def body_of(spec, **meta):
    return {"apiVersion": "operator.openshift.io/v1", "kind": "DNS", "metadata": {"name": "default", **meta}, "spec": spec}


def policies(place):
    """Applied, and all of them in force."""
    kubectl(place.c, "apply", "-f", POLICIES)
    twice = {"name": "a", "zones": ["a.b", "A.B."]}
    bad = [{"servers": [{**twice, "forwardPlugin": {"upstreams": ["192.0.2.1"]}}]}]
    if place.variant != "stock":  # the field is not there
        bad.append({"templates": [{**twice, "action": {"returnEmpty": {}}}]})
    for spec in bad:
        until(lambda: place.put(spec)[0] == "policy")  # pylint: disable=cell-var-from-loop


@pytest.fixture(scope="module", params=["ours", "open", "stock"])
def place(request):
    with cluster.Cluster() as c:
        p = Place(c, request.param)
        policies(p)
        p.start_hook()
        yield p
        p.stop_hook()


def only(*variants):
    return pytest.mark.parametrize("place", variants, indirect=True)


VARIANTS = ["ours", "open", "stock"]


def read_table():
    """{row: {variant: who}}"""
    found = {}
    with open(TABLE, encoding="utf-8") as f:
        for line in f:
            if not line.startswith("#"):
                *by, what = line.rstrip("\n").split(None, len(VARIANTS))
                found[what] = dict(zip(VARIANTS, by))
    return found


def write_table(variant, column):
    table = read_table() if os.path.exists(TABLE) else {}
    with open(TABLE, "w", encoding="utf-8") as f:
        f.write("# Who denies each row, with which CRD (test_dnsoperator_admission.py): -: nobody, pruned: the server\n"
                "# drops what is wrong before anybody sees it. Written by FAIRLEAD_RECORD=1.\n"
                f"# {'ours':8}{'open':8}{'stock':8}\n")
        for what, by in column.items():
            row = {**table.get(what, {}), variant: by}
            f.write("  " + "".join(f"{row.get(v, '?'):8}" for v in VARIANTS) + f"{what}\n")


def cases():
    for row in TEMPLATES:
        yield f"templates {row['id']}", row, {"templates": row["templates"]}
    for row in ROUTES:
        if row["id"] == "TLS and a bundle":  # fine on OpenShift; here nothing would hand it to the servers
            row = {**row, "problems": ["InvalidServers spec.servers[0].forwardPlugin.transportConfig.tls.caBundle.name"]}
        yield f"servers {row['id']}", row, row["spec"]


def test_every_row(place):
    """OP-3…OP-16 and OP-D5: who denies it is as the table says; none denies what the conditions accept, and what they refuse
    somebody denies, unless the server drops it first."""
    wrong, column = [], {}
    for what, row, spec in cases():
        place.tell_domain(row.get("domain", "cluster.local"))
        annotation = None
        if place.variant == "stock" and "templates" in spec:
            spec, annotation = {}, json.dumps(spec["templates"])
        by, message = place.put(spec, annotation)
        column[what] = by or ("pruned" if row["problems"] else "-")
        if not row["problems"] and by not in ("", "schema"):
            wrong.append(f"{what}: accepted by the conditions, denied: {message}")
        if by in ("policy", "hook") and not any(p.split()[1].split("[")[0] in message for p in row["problems"]):
            wrong.append(f"{what}: no field in: {message}")
    if RECORD:
        write_table(place.variant, column)
    table = read_table()
    wrong += [f"{what}: {by} instead of {table.get(what, {}).get(place.variant)}" for what, by in column.items()
              if table.get(what, {}).get(place.variant) != by]
    assert not wrong, "\n".join(wrong)
    assert sum(by in ("schema", "policy", "hook") for by in column.values()) >= 100
    # only fields that the schema does not know can be dropped, and only where there is one
    pruned = [what for what, by in column.items() if by == "pruned"]
    assert all(place.variant == "ours" and re.search("OP-2|OP-10|null", what) for what in pruned), pruned


@only("open")
def test_the_largest_list_is_within_the_cost(place):
    """20 templates of 256 zones are judged, not given up: wrong in the last zone of all."""
    place.tell_domain("cluster.local")
    zones = [f"z{k}.of-a-zone.example.com" for k in range(256)]
    big = [{"name": f"t{i}", "zones": [f"t{i}-{z}" for z in zones], "action": {"returnEmpty": {}}} for i in range(20)]
    assert place.put({"templates": big}) == ("", "")
    for zone, words in (("a_b", '"a_b" is not a DNS name'), ("svc.cluster.local", "own domain cluster.local"),
                        ("a" * 64 + ".b", "too long")):
        big[19]["zones"][255] = zone
        by, message = place.put({"templates": big})
        assert by == "policy" and "Template t19: spec.templates[19].zones" in message and words in message, message
    # so many zones are not compared with each other by the policy
    big[19]["zones"][255] = big[0]["zones"][0]
    until(lambda: place.put({"templates": big})[0] == "hook", 60)  # on a busy machine it may be too late for the API server
    few = [{**t, "zones": t["zones"][:18]} for t in big]
    few[19]["zones"][17] = few[0]["zones"][0].upper() + "."
    by, message = place.put({"templates": few})
    assert by == "policy" and "is in spec.templates[0].zones already" in message


@only("open")
def test_what_policies_leave_alone(place):
    """Ratcheting: what is stored may stay; status, labels, finalizers, deletion; a gate that is off."""
    c = place.c
    bad = [{"name": "a", "zones": ["a_b"], "action": {"returnEmpty": {}}}]
    servers = [{"name": "s", "zones": ["a.b", "a.b"], "forwardPlugin": {"upstreams": ["x"]}}]

    def patch(change, sub=""):
        return c.call("PATCH", f"{DNS}/default{sub}", change, content_type="application/merge-patch+json")

    place.tell_domain("cluster.local")
    conditions = [{"type": "TemplateConfigurationValid", "status": "Unknown", "reason": "FeatureGateDisabled", "message": "",
                   "lastTransitionTime": "2026-01-01T00:00:00Z"}]
    c.call("DELETE", f"{HOOKS}/{NAME}")  # what the hook knows of the gate is another thing
    kubectl(c, "delete", "-f", POLICIES)
    try:
        until(lambda: place.put({"templates": bad, "servers": servers}) == ("", ""))
        assert patch({"spec": {"templates": bad, "servers": servers}, "metadata": {"finalizers": ["a.example/b"]}})[0] == 200
        policies(place)
        assert patch({"spec": {"logLevel": "Debug"}, "metadata": {"labels": {"a": "b"}}})[0] == 200
        assert patch({"spec": {"templates": []}})[0] == 200
        assert patch({"spec": {"templates": bad}})[0] == 422
        assert patch({"status": {"conditions": conditions}}, "/status")[0] == 200
        assert patch({"spec": {"templates": bad}})[0] == 200
        assert patch({"spec": {"servers": servers * 2}})[0] == 422
        assert c.call("DELETE", f"{DNS}/default")[0] == 200
        assert patch({"spec": {"servers": servers * 2}, "metadata": {"finalizers": None}})[0] == 200
        until(lambda: c.call("GET", f"{DNS}/default")[0] == 404)
        for spec, name, want in (({"templates": bad}, "default", 422), ({"servers": servers}, "default", 422),
                                 ({"templates": bad, "servers": servers}, "other", 201), ({}, "default", 201),
                                 # nobody has told the domain yet
                                 ({"templates": [{**bad[0], "zones": ["svc.cluster.local"]}]}, "default", 201)):
            status, body = c.call("POST", f"{DNS}?dryRun=All", body_of(spec, name=name))
            assert status == want, body
    finally:
        place.stop_hook()
        patch({"metadata": {"finalizers": None}})
        c.call("DELETE", f"{DNS}/default")
        until(lambda: c.call("GET", f"{DNS}/default")[0] == 404)
        assert c.call("POST", DNS, body_of({}))[0] == 201
        place.domain = None
        policies(place)
        place.start_hook()


def warnings_of(c, spec):
    """What kubectl would show of a creation that is not kept."""
    request = urllib.request.Request(f"{c.url}{DNS}/default?dryRun=All", json.dumps({"spec": spec}).encode(), {
        "Authorization": f"Bearer {c.admin}", "Content-Type": "application/merge-patch+json"}, method="PATCH")
    with urllib.request.urlopen(request, timeout=30, context=ssl.create_default_context(cafile=c.ca)) as reply:
        return reply.headers.get_all("Warning") or []


@only("ours")
def test_warnings(place):
    """OP-31 at admission: in a cluster with IPv6 the template causes a warning, and is not refused."""
    c = place.c
    assert warnings_of(c, {"templates": [FILTER]}) == []
    cidrs = "/apis/networking.k8s.io/v1/servicecidrs"
    status, body = c.call("POST", cidrs, {"metadata": {"name": "six"}, "spec": {"cidrs": ["fd02::/112"]}})
    assert status == 201, body
    try:
        told = until(lambda: warnings_of(c, {"templates": [FILTER]}))
        assert any("This is a dual-stack cluster" in w for w in told) and any("specific zones" in w for w in told), told
        assert warnings_of(c, {"templates": [{**FILTER, "zones": ["example.com"]}]}) == []
    finally:
        c.call("DELETE", f"{cidrs}/six")


@only("ours")
def test_examples_pass(place):
    """Objects that the documentation shows and that all accept."""
    place.tell_domain("cluster.local")
    found = [t for path in ("examples/aaaa-filter.yaml", "tests/kube/objects/dns.yaml")
             for t in re.split(r"(?m)^---\n", read(*os.path.split(path))) if "kind: DNS\n" in t and "name: default\n" in t]
    assert len(found) >= 2
    for text in found:
        o = json.loads(kubectl(place.c, "create", "--dry-run=client", "-o", "json", "-f", "-", text=text))
        assert place.put(o["spec"]) == ("", ""), text


@only("ours")
def test_without_the_hook(place):
    """Its process is dead: an object that only it would deny is stored, and refused by a condition."""
    c = place.c
    assert place.put({"templates": [UNTRIED]})[0] == "hook"
    place.hook.kill()
    assert place.put({"templates": [UNTRIED]}) == ("", "")
    status, body = c.call("PATCH", f"{DNS}/default", {"spec": {"templates": [UNTRIED]}},
                          content_type="application/merge-patch+json")
    assert status == 200, body
    until(lambda: c.call("GET", "/api/v1/namespaces/kube-system")[0] == 200)
    p = start(c.kubeconfig(), "--no-election", controllers="dnsoperator")

    def valid():
        all_of = c.call("GET", f"{DNS}/default")[1].get("status", {}).get("conditions", [])
        return [x for x in all_of if x["type"] == "TemplateConfigurationValid" and x["reason"] == "InvalidAnswerTemplate"]

    try:
        assert "is not a template" in until(valid)[0]["message"]
    finally:
        p.stop()
        place.hook = None
        c.call("DELETE", f"{HOOKS}/{NAME}")
        c.call("PATCH", f"{DNS}/default", {"spec": {"templates": []}}, content_type="application/merge-patch+json")
        place.domain = None
        place.start_hook()


@only("ours", "stock")
def test_policies_type_check(place):
    """The server's own check of the rules against the CRD has nothing to say, whether it has the field or not."""
    c = place.c
    path = f"{REGISTRATION}/validatingadmissionpolicies"
    manager = Child("kube-controller-manager", [
        peer("kube-controller-manager"), f"--kubeconfig={c.kubeconfig()}", "--leader-elect=false", "--secure-port=0",
        "--controllers=validatingadmissionpolicy-status-controller"], c.dir)
    try:
        for name in ("templates", "servers"):
            def checked():
                manager.check()
                o = c.call("GET", f"{path}/{NAME}-{name}")[1]  # pylint: disable=cell-var-from-loop
                return o if o.get("status", {}).get("observedGeneration") == o["metadata"]["generation"] else None
            assert until(checked, 60)["status"].get("typeChecking", {}).get("expressionWarnings", []) == []
    finally:
        manager.stop()


def test_the_embedded_api_has_none():
    """No policies and no web hooks there: the schema, then the conditions."""
    with cluster.Embedded() as e:
        assert e.call("GET", f"{REGISTRATION}/validatingadmissionpolicies")[0] == 404
        assert e.call("POST", DNS, body_of({"templates": [UNTRIED]}))[0] == 201
        status, body = e.call("PUT", f"{DNS}/default", body_of({"templates": [{**UNTRIED, "zones": ["a_b"]}]}))
        assert status == 422, body
