# SPDX-License-Identifier: GPL-3.0-or-later
"""`fairlead controller --controllers dnsoperator` against a real API server and against the embedded one: the life
of templates, from the DNS object to the ConfigMap and back to its conditions."""
import contextlib
import copy
import json
import os
import re
import ssl
import urllib.error
import urllib.request

import pytest

import crdlib
from controllerlib import Controller, stopping, until
from lib import cluster

DNS = "/apis/operator.openshift.io/v1/dnses"
CRD = "dnses.operator.openshift.io"
KUBEADM = """.:53 {
    errors
    health {
       lameduck 5s
    }
    ready
    kubernetes k8s.example.org in-addr.arpa ip6.arpa {
       pods insecure
       fallthrough in-addr.arpa ip6.arpa
       ttl 30
    }
    prometheus :9153
    forward . /etc/resolv.conf
    cache 30
    loop
    reload
    loadbalance
}
"""
FILTER = {"name": "filter-aaaa", "zones": ["."], "action": {"returnEmpty": {}}}
LEGACY = {"name": "legacy", "zones": ["legacy.example.com"],
          "action": {"generateResponse": {"answerTemplate": "{{ .Name }} 3600 IN AAAA 2001:db8::100"}}}
SERVER = {"name": "foo", "zones": ["foo.com"], "forwardPlugin": {"upstreams": ["192.0.2.1"]}}


class Place:
    """An API server with the DNS kind, and what a test does with it."""

    def __init__(self, url, ca, token, controller_token):
        self.url, self.ca, self.token, self.controller_token = url, ca, token, controller_token

    def call(self, method, path, body=None, content_type="application/json"):
        data = body if isinstance(body, (bytes, type(None))) else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, {
            "Authorization": f"Bearer {self.token}", "Content-Type": content_type}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=30, context=ssl.create_default_context(cafile=self.ca)) as reply:
                return reply.status, json.loads(reply.read())
        except urllib.error.HTTPError as e:
            text = e.read().decode()
            # a path that is not served yet is refused in plain words
            return e.code, json.loads(text) if text.startswith("{") else {"message": text}

    def done(self, method, path, body=None, content_type="application/json"):
        status, reply = self.call(method, path, body, content_type)
        assert status < 300, (method, path, status, reply)
        return reply

    def kubeconfig(self, folder):
        path = os.path.join(folder, "kubeconfig")
        with open(path, "w", encoding="utf-8") as f:
            json.dump({"apiVersion": "v1", "kind": "Config", "current-context": "c",
                       "clusters": [{"name": "c", "cluster": {"server": self.url, "certificate-authority": self.ca}}],
                       "contexts": [{"name": "c", "context": {"cluster": "c", "user": "c", "namespace": "default"}}],
                       "users": [{"name": "c", "user": {"token": self.controller_token}}]}, f)
        return path

    def namespace(self, name):
        status, reply = self.call("POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        assert status in (201, 409), reply

    def configmap(self, ns, name):
        status, reply = self.call("GET", f"/api/v1/namespaces/{ns}/configmaps/{name}")
        return reply if status == 200 else None

    def text(self, ns="kube-system", name="coredns"):
        o = self.configmap(ns, name)
        return o["data"].get("Corefile", "") if o else ""

    def dns(self, spec, annotations=None):
        """Replaces the spec, whatever the operator writes meanwhile; the object's generation."""
        while True:
            status, now = self.call("GET", f"{DNS}/default")
            new = {"apiVersion": "operator.openshift.io/v1", "kind": "DNS", "spec": spec,
                   "metadata": {"name": "default", "annotations": annotations or {}}}
            if status == 404:  # on OpenShift the operator may make it meanwhile
                status, reply = self.call("POST", DNS, new)
            else:
                new["metadata"]["resourceVersion"] = now["metadata"]["resourceVersion"]
                status, reply = self.call("PUT", f"{DNS}/default", new)
            if status != 409:
                assert status < 300, reply
                return reply["metadata"]["generation"]

    def conditions(self):
        status = self.done("GET", f"{DNS}/default").get("status", {})
        return {c["type"]: c for c in status.get("conditions", [])}

    def says(self, condition, want):
        """Waits for "STATUS REASON"; the message."""
        def so():
            c = self.conditions().get(condition)
            return c if c and f"{c['status']} {c['reason']}" == want else None
        return until(so)["message"]

    def changes(self, path, since):
        """What happened to the objects after that version of one, within a second more."""
        version = since["metadata"]["resourceVersion"]
        request = urllib.request.Request(f"{self.url}{path}&watch=1&timeoutSeconds=1&resourceVersion={version}",
                                         headers={"Authorization": f"Bearer {self.token}"})
        with urllib.request.urlopen(request, timeout=30, context=ssl.create_default_context(cafile=self.ca)) as stream:
            return [json.loads(line)["type"] for line in stream]

    def clean(self):
        """As if nothing had been there."""
        self.call("PATCH", f"{DNS}/default", {"metadata": {"finalizers": None}}, "application/merge-patch+json")
        self.call("DELETE", f"{DNS}/default")
        for ns, name in (("kube-system", "coredns"), ("openshift-dns", "dns-default")):
            for n in (name, f"{name}-accepted"):
                self.call("DELETE", f"/api/v1/namespaces/{ns}/configmaps/{n}")
        until(lambda: self.call("GET", f"{DNS}/default")[0] == 404)


@pytest.fixture(scope="module", params=["real", "embedded"])
def server(request):
    if request.param == "embedded":
        with cluster.Embedded() as e:
            p = Place(e.url, e.ca, e.admin, e.system)
            p.namespace("kube-system")
            yield p
        return
    with cluster.Cluster() as c:
        p = Place(c.url, c.ca, cluster.ADMIN, cluster.ADMIN)
        crdlib.apply_all(c, group="openshift.io")
        yield p


@pytest.fixture
def place(server):
    server.clean()
    server.namespace("openshift-dns")
    server.done("POST", "/api/v1/namespaces/kube-system/configmaps", {
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "coredns"}, "data": {"Corefile": KUBEADM}})
    yield server


@pytest.fixture
def run(place, tmp_path):
    """Starts the controller; what was started is stopped."""
    def make(*args):
        return Controller(place.kubeconfig(str(tmp_path)), "--no-election", *args, controllers="dnsoperator")
    with stopping(make) as start:
        yield start


def test_life_of_templates(place, run):
    """OP-18, OP-27, OP-37; the domain of the file that was there, and that file, are kept."""
    run()
    place.dns({"templates": [LEGACY]})
    until(lambda: "template IN AAAA legacy.example.com {" in place.text())
    o = place.configmap("kube-system", "coredns")
    assert o["data"]["Corefile.before-fairlead"] == KUBEADM
    assert "kubernetes k8s.example.org in-addr.arpa ip6.arpa {" in place.text()
    assert "generation 1 " in place.says("TemplateConfigurationValid", "True AsExpected")
    place.says("AAAAFilterDualStackWarning", "False NoCoveringTemplate")
    # OP-36: a copy that outlives a CRD without the field
    kept = until(lambda: place.done("GET", f"{DNS}/default")["metadata"].get("annotations", {}).get(
        "dns.fairlead.dev/templates-backup"))
    assert json.loads(kept) == place.done("GET", f"{DNS}/default")["spec"]["templates"]
    # no pod is a DNS server here: that is told, and not that all is well
    place.says("TemplateConfigurationApplied", "Unknown NoInstances")
    status = place.done("GET", f"{DNS}/default")["status"]
    assert status["clusterDomain"] == "k8s.example.org"

    changed = copy.deepcopy(LEGACY)
    changed["action"]["generateResponse"]["answerTemplate"] = "{{ .Name }} 60 IN AAAA 2001:db8::200"
    place.dns({"templates": [changed], "servers": [SERVER]})
    until(lambda: place.text().count("60 IN AAAA 2001:db8::200") == 2)
    place.done("PATCH", f"{DNS}/default", [{"op": "remove", "path": "/spec/templates"}], "application/json-patch+json")
    until(lambda: "template" not in place.text())
    assert "foo.com:53 {" in place.text()
    place.says("TemplateConfigurationValid", "True NoTemplates")
    assert place.configmap("kube-system", "coredns")["data"]["Corefile.before-fairlead"] == KUBEADM


def node(place, name, *ranges):
    place.done("POST", "/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name},
                                         "spec": {"podCIDR": ranges[0], "podCIDRs": list(ranges)}})


def test_networks_that_are_never_learnt(place, run):
    """EF-D2: the stanza for egress rules has the cluster's pods and Services; a node inside of them changes nothing. Without the
    gate there is no such stanza, and the text is one for stock CoreDNS."""
    def never():
        return re.findall(r"^        never (.*)$", place.text(), re.M)
    services = " ".join(place.done("GET", "/apis/networking.k8s.io/v1/servicecidrs")["items"][0]["spec"]["cidrs"])
    try:
        p = run("--feature-gates", "EgressFirewallNames=true")
        place.dns({"logLevel": "Debug"})
        until(lambda: never() == [services])
        node(place, "never-0", "10.244.0.0/24")
        node(place, "never-3", "10.244.3.0/24")
        until(lambda: never() == [f"{services} 10.244.0.0/22"])
        node(place, "never-2", "10.244.2.0/24")
        place.dns({"logLevel": "Trace"})  # a pass that sees the node
        until(lambda: "class all" in place.text())
        assert never() == [f"{services} 10.244.0.0/22"]
        node(place, "never-9", "10.99.0.0/24")
        until(lambda: never() == [" ".join(sorted([services, "10.99.0.0/24", "10.244.0.0/22"], key=lambda n: [
            int(x) for x in n.split("/")[0].split(".")]))])
        assert p.stop() == 0, p.text()
        run()
        until(lambda: "egressfirewall" not in place.text() and "never" not in place.text())
    finally:
        for name in ("never-0", "never-2", "never-3", "never-9"):
            place.call("DELETE", f"/api/v1/nodes/{name}")


def test_refused_templates_leave_the_last(place, run):
    """OP-13, OP-16, OP-17, OP-T16: the last accepted set stays in force, the rest of the object is reconciled; a restart
    does not forget it."""
    p = run()
    place.dns({"templates": [LEGACY]})
    place.says("TemplateConfigurationValid", "True AsExpected")
    bad = {"name": "hijack", "zones": ["svc.k8s.example.org"], "action": {"returnEmpty": {}}}
    place.dns({"templates": [bad], "logLevel": "Trace"})
    p.wait_line(r"\[WARNING\] controller/dnsoperator: ReservedZone: Template hijack: spec.templates\[0\].zones\[0\]: .*stay in force")
    message = place.says("TemplateConfigurationValid", "False ReservedZone")
    assert message.startswith('Template hijack: spec.templates[0].zones[0]: "svc.k8s.example.org" is in the cluster\'s own domain')
    assert "generation 1 stay in force" in message
    place.says("TemplateConfigurationApplied", "False InvalidTemplates")
    until(lambda: "class all" in place.text())
    assert "legacy.example.com" in place.text()
    p.kill()
    run()
    place.dns({"templates": [bad], "logLevel": "Debug"})
    until(lambda: "class denial error" in place.text())
    assert "legacy.example.com" in place.text()
    events = until(lambda: [e for e in place.done("GET", "/apis/events.k8s.io/v1/namespaces/default/events")["items"]
                            if e.get("reason") == "ReservedZone"])
    assert "hijack" in events[0]["note"]
    # once: neither the log level nor the restart were news of it
    assert len(events) == 1 and "series" not in events[0], events
    place.dns({"templates": [LEGACY]})
    until(lambda: [e for e in place.done("GET", "/apis/events.k8s.io/v1/namespaces/default/events")["items"]
                   if (e["type"], e.get("reason")) == ("Normal", "TemplatesValid")])


def test_refused_servers_leave_the_last(place, run):
    """OP-D5: a zone twice would make servers refuse the whole file; templates go on."""
    run("--dns-settle-time", "1s")
    place.dns({"servers": [SERVER]})
    until(lambda: "foo.com:53 {" in place.text())
    place.dns({"servers": [SERVER, {**SERVER, "zones": ["FOO.com."]}], "templates": [LEGACY]})
    message = place.says("Degraded", "True DegradedConditions")
    assert "InvalidServers=True (InvalidServers: spec.servers[1].zones[0]" in message
    until(lambda: "legacy.example.com" in place.text())
    assert place.text().count("foo.com:53 {") == 1
    place.dns({"servers": [SERVER], "templates": [LEGACY]})
    place.says("Degraded", "False AsExpected")


def test_too_many_servers_leave_the_last(place, run):
    """OP-T14: servers that make the Corefile too large are refused, and no accepted template is dropped for them."""
    templates = [{"name": f"t{i}", "zones": [f"{'a' * 40}{i}-{k}.example" for k in range(60)], "action": {"returnEmpty": {}}}
                 for i in range(20)]
    servers = [{**SERVER, "name": f"s{i}", "zones": [f"s{i}.test"]} for i in range(30)]
    run("--dns-settle-time", "1s")
    place.dns({"templates": templates, "servers": servers[:10]})
    until(lambda: "s9.test:53" in place.text())
    before = place.text()
    place.dns({"templates": templates, "servers": servers})
    message = place.says("Degraded", "True DegradedConditions")
    assert "InvalidServers: spec.servers makes a configuration of more than 900 KiB" in message
    place.says("TemplateConfigurationValid", "True AsExpected")
    assert place.text() == before and before.count("template IN AAAA ") == 20 * 11
    place.dns({"templates": templates, "servers": servers[:9]})
    until(lambda: "s9.test:53" not in place.text())
    place.says("Degraded", "False AsExpected")


def test_servers_keep_off_the_cluster(place, run):
    """OP-D6: zones of the cluster are refused, and excluded from a zone above them; both are reported."""
    run("--dns-settle-time", "1s")
    place.dns({"servers": [SERVER]})
    until(lambda: "foo.com:53 {" in place.text())
    for zone in ("k8s.example.org", "svc.K8s.example.org."):
        place.dns({"servers": [SERVER, {**SERVER, "name": "bar", "zones": [zone, "bar.com"]}]})
        message = place.says("Degraded", "True DegradedConditions")
        assert f'InvalidServers: spec.servers[1].zones[0]: "{zone}" is in the cluster\'s own domain k8s.example.org' in message
        assert "foo.com:53 {" in place.text() and "bar.com" not in place.text() and "svc." not in place.text()
        place.dns({"servers": [SERVER]})
        place.says("Degraded", "False AsExpected")
    place.dns({"servers": [SERVER, {**SERVER, "name": "bar", "zones": ["example.org"]}]})
    until(lambda: "example.org:53 {\n" in place.text())
    assert "\nk8s.example.org:53 in-addr.arpa:53 ip6.arpa:53 {" in place.text()
    assert place.text().count("    kubernetes k8s.example.org ") == 1
    place.says("Degraded", "False AsExpected")
    until(lambda: [e for e in place.done("GET", "/apis/events.k8s.io/v1/namespaces/default/events")["items"]
                   if e.get("reason") == "UpstreamsDoubtful" and "names of k8s.example.org" in e["note"]])


def test_unknown_domain(place, run):
    """A Corefile without a readable domain is not replaced, as conditions and an Event report; the flag sets the domain."""
    path = "/api/v1/namespaces/kube-system/configmaps/coredns"
    for text in (KUBEADM.replace("k8s.example.org", "{$CLUSTER_DOMAIN}"), "(k) {\n kubernetes {%D%}\n}\n.:53 {\n import k\n}\n",
                 ".:53 {\n import kubernetes.conf\n}\n", KUBEADM.replace("k8s.example.org", "k8s.example.org other.example")):
        place.clean()
        place.done("POST", path.rsplit("/", 1)[0], {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "coredns"},
                                                    "data": {"Corefile": text}})
        place.dns({"templates": [LEGACY]})
        p = run("--dns-settle-time", "1s")
        assert "--dns-cluster-domain" in place.says("TemplateConfigurationValid", "Unknown ClusterDomainUnknown")
        place.says("TemplateConfigurationApplied", "Unknown ClusterDomainUnknown")
        message = place.says("Degraded", "True DegradedConditions")
        assert "ClusterDomainUnknown=True (ClusterDomainUnknown: The cluster's domain is not known" in message
        p.wait_line(r"\[WARNING\] controller/dnsoperator: ClusterDomainUnknown: ")
        assert place.configmap("kube-system", "coredns")["data"] == {"Corefile": text}
        assert not place.done("GET", f"{DNS}/default")["status"].get("clusterDomain")
        p.stop()
    run("--dns-settle-time", "1s", "--dns-cluster-domain", "k8s.example.org")
    until(lambda: "kubernetes k8s.example.org in-addr.arpa ip6.arpa {" in place.text())
    place.says("TemplateConfigurationValid", "True AsExpected")
    place.says("Degraded", "False AsExpected")
    assert place.configmap("kube-system", "coredns")["data"]["Corefile.before-fairlead"] == text


FINALIZER = "dns.operator.openshift.io/dns-controller"


def test_finalizer_elsewhere(place, run):
    """An object with OpenShift's finalizer, of a backup say, can be deleted; its status names other finalizers."""
    run()
    place.dns({"templates": [LEGACY]})
    until(lambda: "legacy.example.com" in place.text())
    place.done("PATCH", f"{DNS}/default", {"metadata": {"finalizers": [FINALIZER, "example.com/other"]}},
               "application/merge-patch+json")
    place.done("DELETE", f"{DNS}/default")
    message = place.says("Progressing", "True Terminating")
    assert message.startswith("DNS default is being deleted since ") and message.endswith("these finalizers: example.com/other.")
    place.says("TemplateConfigurationApplied", "Unknown Terminating")
    until(lambda: place.done("GET", f"{DNS}/default")["metadata"]["finalizers"] == ["example.com/other"])
    assert "legacy.example.com" in place.text()
    place.done("PATCH", f"{DNS}/default", {"metadata": {"finalizers": None}}, "application/merge-patch+json")
    until(lambda: place.call("GET", f"{DNS}/default")[0] == 404)
    until(lambda: [e for e in place.done("GET", "/apis/events.k8s.io/v1/namespaces/default/events")["items"]
                   if e.get("reason") == "Terminating"])
    # as OpenShift's operator, it acts on nothing that is not managed
    place.dns({"managementState": "Unmanaged"})
    place.done("PATCH", f"{DNS}/default", {"metadata": {"finalizers": [FINALIZER]}}, "application/merge-patch+json")
    place.done("DELETE", f"{DNS}/default")
    assert "set it to Managed" in place.says("Progressing", "True Terminating")
    place.done("PATCH", f"{DNS}/default", {"spec": {"managementState": "Managed"}}, "application/merge-patch+json")
    until(lambda: place.call("GET", f"{DNS}/default")[0] == 404)


def test_settled_means_silent(place, run):
    """A settled operator writes nothing, however often it reconciles; changes of others are reverted."""
    p = run()
    place.dns({"templates": [FILTER], "servers": [SERVER]})
    place.says("TemplateConfigurationValid", "True AsExpected")
    until(lambda: "template IN AAAA . {" in place.text())

    def versions():
        objects = [place.configmap("kube-system", n) for n in ("coredns", "coredns-accepted")]
        return [o["metadata"]["resourceVersion"] for o in objects + [place.done("GET", f"{DNS}/default")]]

    before = versions()
    for i in range(5):  # the object changes, and nothing that the operator cares for
        seen = p.looks()
        place.done("PATCH", f"{DNS}/default", {"metadata": {"annotations": {"n": str(i)}}}, "application/merge-patch+json")
        until(lambda: p.looks() > seen)
    assert versions()[:2] == before[:2]
    conditions = place.conditions()
    place.done("PATCH", "/api/v1/namespaces/kube-system/configmaps/coredns", {"data": {"Corefile": "."}},
               "application/merge-patch+json")
    until(lambda: "template IN AAAA . {" in place.text())
    assert place.conditions() == conditions


def test_changes_by_others(place, run):
    """What others do to the ConfigMaps is seen by watches and put right within a second, by one write each."""
    maps = "/api/v1/namespaces/kube-system/configmaps"
    run()
    place.dns({"templates": [FILTER], "servers": [SERVER]})
    place.says("TemplateConfigurationValid", "True AsExpected")
    good = {n: place.configmap("kube-system", n)["data"] for n in ("coredns", "coredns-accepted")}
    for name, key in (("coredns", "Corefile"), ("coredns-accepted", "accepted.json")):
        for change in ({key: "{}"}, {key: None}):
            theirs = place.done("PATCH", f"{maps}/{name}", {"data": change}, "application/merge-patch+json")
            until(lambda: place.configmap("kube-system", name).get("data") == good[name], 1)  # pylint: disable=cell-var-from-loop
            assert place.changes(f"{maps}?fieldSelector=metadata.name={name}", theirs) == ["MODIFIED"]
        place.done("DELETE", f"{maps}/{name}")
        until(lambda: (place.configmap("kube-system", name) or {}).get("data", {}).get(key), 1)  # pylint: disable=cell-var-from-loop
    # the file that was there before went with the object; the domain that it told did not
    assert place.text() == good["coredns"]["Corefile"]


def test_somebody_insists(place, run):
    """Who changes the text as often as it is put right is contradicted a few times, then once a minute; a new text is
    written at once all the same."""
    path = "/api/v1/namespaces/kube-system/configmaps/coredns"

    def told():
        return [e for e in place.done("GET", "/apis/events.k8s.io/v1/namespaces/default/events")["items"]
                if e.get("reason") == "ConfigMapContested"]
    run()
    place.dns({"templates": [FILTER]})
    until(lambda: "template IN AAAA . {" in place.text())
    for i in range(12):
        place.done("PATCH", path, {"data": {"Corefile": f"# {i}"}}, "application/merge-patch+json")
        until(lambda: "template" in place.text() or told())
    assert told() and place.text() == "# 11" and i > 4
    place.dns({"templates": [LEGACY]})
    until(lambda: "legacy.example.com" in place.text(), 5)


def test_killed_at_any_time(place, run):
    """kill -9 while it works, then the object as it was last: the same end."""
    for i in range(12):
        p = run()
        place.dns({"templates": [{**LEGACY, "zones": [f"z{i}.example"]}], "logLevel": ["Normal", "Trace"][i % 2]})
        if i % 3:
            until(lambda: f"z{i}.example" in place.text() or i % 3 == 1)
        p.kill()
    run()
    until(lambda: "z11.example" in place.text() and "class all" in place.text())
    until(lambda: "accepted" in place.conditions().get("TemplateConfigurationValid", {}).get("message", ""))
    accepted = json.loads(place.configmap("kube-system", "coredns-accepted")["data"]["accepted.json"])
    assert accepted["templates"][0]["zones"] == ["z11.example"]


def test_unmanaged(place, run):
    """managementState Unmanaged: nothing is written but the status."""
    run()
    place.dns({"templates": [LEGACY], "managementState": "Unmanaged"})
    place.says("TemplateConfigurationApplied", "Unknown Unmanaged")
    assert place.text() == KUBEADM
    place.dns({"templates": [LEGACY], "managementState": "Managed"})
    until(lambda: "legacy.example.com" in place.text())


def test_other_names(place, run):
    """Only `default` is used; another object gets one Event."""
    path = f"{DNS}/mine"
    p = run()
    made = place.done("POST", DNS, {"apiVersion": "operator.openshift.io/v1", "kind": "DNS", "metadata": {"name": "mine"},
                                    "spec": {"templates": [LEGACY]}})

    def told():
        return [e for e in place.done("GET", "/apis/events.k8s.io/v1/namespaces/default/events")["items"]
                if e["regarding"].get("uid") == made["metadata"]["uid"]]
    try:
        event, = until(told)
        assert (event["type"], event["reason"]) == ("Warning", "DNSIgnored")
        assert event["note"].startswith("DNS mine: Only the DNS object named default is acted on")
        seen = p.looks()
        place.done("PATCH", path, {"spec": {"logLevel": "Trace"}}, "application/merge-patch+json")
        until(lambda: p.looks() > seen)
        assert p.text().count("DNSIgnored") == 1 and "series" not in told()[0]
        assert place.text() == KUBEADM
    finally:
        place.call("DELETE", path)


def test_gate(place, run):
    """OP-35, OP-T18: off by flag, templates are ignored, which is reported; on again, they are back."""
    p = run("--feature-gates", "DNSTemplatePlugin=false")
    place.dns({"templates": [LEGACY]})
    place.says("TemplateConfigurationValid", "Unknown FeatureGateDisabled")
    until(lambda: "loadbalance" in place.text() and "template" not in place.text())
    p.stop()
    run()
    until(lambda: "legacy.example.com" in place.text())
    place.says("TemplateConfigurationValid", "True AsExpected")


def test_openshift(place, run):
    """Objects, names and the gate of OpenShift; families from Network (OP-28…OP-31, OP-T7)."""
    network = "/apis/config.openshift.io/v1/networks"
    gates = "/apis/config.openshift.io/v1/featuregates"
    place.done("POST", network, {"apiVersion": "config.openshift.io/v1", "kind": "Network", "metadata": {"name": "cluster"},
                                 "spec": {"clusterNetwork": [{"cidr": "10.128.0.0/14", "hostPrefix": 23}],
                                          "serviceNetwork": ["172.30.0.0/16"]}})
    try:
        run()
        place.dns({"templates": [FILTER]})
        place.says("TemplateConfigurationValid", "Unknown FeatureGateDisabled")
        until(lambda: ".:5353 {" in place.text("openshift-dns", "dns-default"))
        assert "template" not in place.text("openshift-dns", "dns-default")
        place.done("POST", gates, {"apiVersion": "config.openshift.io/v1", "kind": "FeatureGate", "metadata": {"name": "cluster"},
                                   "spec": {"featureSet": "CustomNoUpgrade", "customNoUpgrade": {"enabled": ["DNSTemplatePlugin"]}}})
        until(lambda: "template IN AAAA . {" in place.text("openshift-dns", "dns-default"))
        place.says("AAAAFilterDualStackWarning", "False NotDualStack")
        place.done("PATCH", f"{network}/cluster", {"spec": {"serviceNetwork": ["172.30.0.0/16", "fd02::/112"]}},
                   "application/merge-patch+json")
        assert "specific zones" in place.says("AAAAFilterDualStackWarning", "True DualStackCluster")
        o = place.configmap("openshift-dns", "dns-default")
        assert o["metadata"]["labels"]["dns.operator.openshift.io/owning-dns"] == "default"
        assert o["metadata"]["ownerReferences"][0]["kind"] == "DNS"
        # what OpenShift's operator deletes with the object is deleted before it goes
        until(lambda: FINALIZER in place.done("GET", f"{DNS}/default")["metadata"].get("finalizers", []))
        place.done("DELETE", f"{DNS}/default")
        until(lambda: place.call("GET", f"{DNS}/default")[0] == 404)
        assert place.text() == KUBEADM
        place.done("DELETE", f"{network}/cluster")
    finally:
        place.call("DELETE", f"{network}/cluster")
        place.call("DELETE", f"{gates}/cluster")


# The embedded API has no Deployments, and its CRDs are its own.
REAL = pytest.mark.parametrize("server", ["real"], indirect=True)


@contextlib.contextmanager
def crd_without_templates(place):
    """The CRD of an older release, for a while."""
    at = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/templates"
    crd = place.done("GET", f"{crdlib.CRD_PATH}/{CRD}")
    field = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["templates"]
    place.done("PATCH", f"{crdlib.CRD_PATH}/{CRD}", [{"op": "remove", "path": at}], "application/json-patch+json")
    try:
        until(lambda: "templates" not in place.done(
            "POST", f"{DNS}?dryRun=All", {"apiVersion": "operator.openshift.io/v1", "kind": "DNS", "metadata": {"name": "x"},
                                          "spec": {"templates": [LEGACY]}})["spec"])
        yield
    finally:
        place.done("PATCH", f"{crdlib.CRD_PATH}/{CRD}", [{"op": "add", "path": at, "value": field}],
                   "application/json-patch+json")


BACKUP = "dns.fairlead.dev/templates-backup"
# longer than an annotation may be
LONG = [{"name": f"t{i}", "zones": [f"{'a' * 40}{i}-{k}.example" for k in range(200)], "action": {"returnEmpty": {}}} for i in range(20)]


@REAL
@pytest.mark.parametrize("templates", [[LEGACY], LONG], ids=["short", "long"])
def test_stored_templates_outlive_the_crd(templates, place, run):
    """OP-36: a CRD without the field, and writes of the object under it, do not destroy the list: when the field is back, so is the
    list. One that somebody removed stays removed."""
    def stored():
        return place.done("GET", f"{DNS}/default")["spec"].get("templates")
    run()
    place.dns({"templates": [LEGACY]})
    until(lambda: BACKUP in place.done("GET", f"{DNS}/default")["metadata"].get("annotations", {}))
    place.done("PATCH", f"{DNS}/default", {"spec": {"templates": templates}}, "application/merge-patch+json")
    zone = f" {templates[-1]['zones'][-1]} "
    until(lambda: zone in place.text())
    want = stored()
    # never the list of before
    until(lambda: place.done("GET", f"{DNS}/default")["metadata"].get("annotations", {}).get(BACKUP) in (
        [None] if templates is LONG else [json.dumps(want, separators=(",", ":"), sort_keys=True)]))
    with crd_without_templates(place):
        place.says("TemplateConfigurationValid", "Unknown FieldPruned")
        until(lambda: "template" not in place.text())
        place.done("PATCH", f"{DNS}/default", {"spec": {"logLevel": "Debug"}}, "application/merge-patch+json")
        until(lambda: "class denial error" in place.text())
        assert stored() is None
    until(lambda: stored() == want)
    until(lambda: zone in place.text())
    place.says("TemplateConfigurationValid", "True AsExpected")
    until(lambda: [e for e in place.done("GET", "/apis/events.k8s.io/v1/namespaces/default/events")["items"]
                   if e.get("reason") == "TemplatesRestored"])
    place.done("PATCH", f"{DNS}/default", [{"op": "remove", "path": "/spec/templates"}], "application/json-patch+json")
    place.says("TemplateConfigurationValid", "True NoTemplates")
    with crd_without_templates(place):
        place.says("TemplateConfigurationValid", "Unknown FieldPruned")
    place.says("TemplateConfigurationValid", "True NoTemplates")
    assert stored() is None


def test_backup_has_the_last_list(place, run):
    """OP-36: templates that go within a second of a change are in the backup, not those before them."""
    def backup():
        return place.done("GET", f"{DNS}/default")["metadata"].get("annotations", {}).get(BACKUP, "")
    run()
    place.dns({"templates": [LEGACY]})
    until(lambda: LEGACY["zones"][0] in backup())
    place.done("PATCH", f"{DNS}/default", {"spec": {"templates": [{**LEGACY, "zones": ["last.example"]}]}}, "application/merge-patch+json")
    until(lambda: "last.example" in place.text())
    place.done("PATCH", f"{DNS}/default", [{"op": "remove", "path": "/spec/templates"}], "application/json-patch+json")
    until(lambda: "template" not in place.text())
    until(lambda: "last.example" in backup())


@REAL
def test_refused_templates_outlive_the_crd(place, run):
    """A list that is refused comes back, too: the conditions are about what the object has, and it can be mended there."""
    run()
    place.dns({"templates": [{**LEGACY, "zones": ["svc.k8s.example.org"]}]})
    place.says("TemplateConfigurationValid", "False ReservedZone")
    want = place.done("GET", f"{DNS}/default")["spec"]["templates"]
    with crd_without_templates(place):
        place.says("TemplateConfigurationValid", "Unknown FieldPruned")
        place.done("PATCH", f"{DNS}/default", {"spec": {"logLevel": "Debug"}}, "application/merge-patch+json")
        until(lambda: "class denial error" in place.text())
    until(lambda: place.done("GET", f"{DNS}/default")["spec"].get("templates") == want)
    place.says("TemplateConfigurationValid", "False ReservedZone")
    place.done("PATCH", f"{DNS}/default", [{"op": "remove", "path": "/spec/templates"}], "application/json-patch+json")
    place.says("TemplateConfigurationValid", "True NoTemplates")


@contextlib.contextmanager
def configmap_refused(place, name):
    """Nobody can write the ConfigMap, for a while."""
    group = "/apis/admissionregistration.k8s.io/v1"
    meta = {"apiVersion": "admissionregistration.k8s.io/v1", "metadata": {"name": "refuse"}}
    path = f"/api/v1/namespaces/kube-system/configmaps/{name}?dryRun=All"
    place.done("POST", f"{group}/validatingadmissionpolicies", {**meta, "kind": "ValidatingAdmissionPolicy", "spec": {
        "matchConstraints": {"resourceRules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["UPDATE"],
                                                "resources": ["configmaps"], "resourceNames": [name]}]},
        "validations": [{"expression": "false"}]}})
    place.done("POST", f"{group}/validatingadmissionpolicybindings", {
        **meta, "kind": "ValidatingAdmissionPolicyBinding", "spec": {"policyName": "refuse", "validationActions": ["Deny"]}})
    try:
        until(lambda: place.call("PATCH", path, {"metadata": {"labels": {"a": "b"}}}, "application/merge-patch+json")[0] == 422)
        yield
    finally:
        for kind in ("validatingadmissionpolicybindings", "validatingadmissionpolicies"):
            place.done("DELETE", f"{group}/{kind}/refuse")


@REAL
def test_no_write_before_templates_are_saved(place, run):
    """OP-36: while the copy of the list cannot be saved, the object is not written under a CRD that would drop the list."""
    p = run("--dns-settle-time", "1s")
    place.dns({"templates": [LEGACY]})
    place.says("TemplateConfigurationValid", "True AsExpected")
    until(lambda: BACKUP in place.done("GET", f"{DNS}/default")["metadata"].get("annotations", {}))
    before = place.done("GET", f"{DNS}/default")
    with configmap_refused(place, "coredns-accepted"):
        with crd_without_templates(place):
            p.wait_line("TemplatesAtRisk: the installed CRD drops spec.templates")
            seen = p.looks()
            until(lambda: p.looks() > seen + 2)
        until(lambda: place.done("GET", f"{DNS}/default") == before)
    place.dns({"templates": [LEGACY], "logLevel": "Debug"})
    until(lambda: "class denial error" in place.text() and "legacy.example.com" in place.text())


@REAL
def test_templates_lost_while_nobody_looked(place, run):
    """OP-36: an older operator wrote the status under an older CRD; ours then finds the list gone, and puts it back without a
    moment in which it is not served."""
    p = run()
    place.dns({"templates": [LEGACY]})
    until(lambda: "legacy.example.com" in place.text())
    place.says("TemplateConfigurationValid", "True AsExpected")
    p.stop()
    with crd_without_templates(place):
        place.done("PATCH", f"{DNS}/default/status", {"status": {"clusterIP": "10.96.0.10"}}, "application/merge-patch+json")
    assert "templates" not in place.done("GET", f"{DNS}/default")["spec"]
    before = place.configmap("kube-system", "coredns")["metadata"]["resourceVersion"]
    run()
    until(lambda: place.done("GET", f"{DNS}/default")["spec"].get("templates"))
    place.says("TemplateConfigurationValid", "True AsExpected")
    assert place.configmap("kube-system", "coredns")["metadata"]["resourceVersion"] == before


@REAL
def test_crd_without_templates(place, run):
    """Where the CRD drops the field, the annotation is read, with the same checks and paths."""
    with crd_without_templates(place):
        run()
        backup = {BACKUP: json.dumps([LEGACY])}
        place.dns({"templates": [LEGACY]}, backup)
        assert "annotation dns.fairlead.dev/templates" in place.says("TemplateConfigurationValid", "Unknown FieldPruned")
        place.dns({}, {"dns.fairlead.dev/templates": json.dumps([LEGACY])})
        until(lambda: "legacy.example.com" in place.text())
        place.says("TemplateConfigurationValid", "True AsExpected")
        place.dns({}, {**backup, "dns.fairlead.dev/templates": json.dumps([{**LEGACY, "zones": ["a_b"]}])})
        assert "spec.templates[0].zones[0]" in place.says("TemplateConfigurationValid", "False InvalidZone")
        assert "legacy.example.com" in place.text()
        # OP-36: what was stored before such a CRD came is still there
        assert place.done("GET", f"{DNS}/default")["metadata"]["annotations"].items() >= backup.items()


def observed(place):
    return place.done("GET", f"{DNS}/default").get("status", {}).get("observedGeneration")


def test_observed_of_an_object_made_anew(place, run):
    """Its generation is that of the object before it."""
    run()
    for _ in range(2):
        assert place.dns({}) == 1
        until(lambda: observed(place) == 1)
        assert all(c["observedGeneration"] == 1 for c in place.conditions().values())
        place.done("DELETE", f"{DNS}/default")
        until(lambda: place.call("GET", f"{DNS}/default")[0] == 404)


@REAL
def test_crd_without_observed_generation(place, run):
    """OpenShift's CRD drops observedGeneration in both places: nothing is written again and again, and the message has it.
    When another CRD keeps it, it is there without another change."""
    schema = "/spec/versions/0/schema/openAPIV3Schema/properties/status/properties"
    paths = [f"{schema}/observedGeneration", f"{schema}/conditions/items/properties/observedGeneration"]
    crd = place.done("GET", f"{crdlib.CRD_PATH}/{CRD}")
    status = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["status"]["properties"]
    fields = [status["observedGeneration"], status["conditions"]["items"]["properties"]["observedGeneration"]]
    place.done("PATCH", f"{crdlib.CRD_PATH}/{CRD}", [{"op": "remove", "path": p} for p in paths], "application/json-patch+json")
    try:
        p = run()
        for i in range(1, 4):
            assert place.dns({"templates": [{**LEGACY, "zones": [f"z{i}.example"]}]}) == i
            until(lambda: f"generation {i} " in place.conditions().get("TemplateConfigurationValid", {}).get("message", ""))  # pylint: disable=cell-var-from-loop
            until(lambda: f"z{i}.example" in place.done("GET", f"{DNS}/default")["metadata"].get("annotations", {}).get(  # pylint: disable=cell-var-from-loop
                "dns.fairlead.dev/templates-backup", ""))
        for i in range(3):
            seen = p.looks()
            touched = place.done("PATCH", f"{DNS}/default", {"metadata": {"annotations": {"n": str(i)}}}, "application/merge-patch+json")
            until(lambda: p.looks() > seen)  # pylint: disable=cell-var-from-loop
            assert place.done("GET", f"{DNS}/default")["metadata"]["resourceVersion"] == touched["metadata"]["resourceVersion"]
        assert "observedGeneration" not in json.dumps(place.done("GET", f"{DNS}/default")["status"])
    finally:
        place.done("PATCH", f"{crdlib.CRD_PATH}/{CRD}", [{"op": "add", "path": p, "value": v} for p, v in zip(paths, fields)],
                   "application/json-patch+json")
    until(lambda: observed(place) == 3)
    until(lambda: all(c.get("observedGeneration") == 3 for c in place.conditions().values()))


@REAL
def test_gate_of_this_version(place, run):
    """`status.featureGates[version].enabled`, of the version in ClusterVersion."""
    group, gates = "config.openshift.io", "/apis/config.openshift.io/v1/featuregates"
    place.done("POST", crdlib.CRD_PATH, {
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": f"clusterversions.{group}"},
        "spec": {"group": group, "scope": "Cluster", "names": {"plural": "clusterversions", "singular": "clusterversion",
                                                               "kind": "ClusterVersion", "listKind": "ClusterVersionList"},
                 "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {
                     "type": "object", "x-kubernetes-preserve-unknown-fields": True}}}]}})
    version = {"apiVersion": f"{group}/v1", "kind": "ClusterVersion", "metadata": {"name": "version"},
               "status": {"desired": {"version": "4.22.1"}}}
    until(lambda: place.call("POST", f"/apis/{group}/v1/clusterversions", version)[0] in (201, 409))
    place.done("POST", gates, {"apiVersion": f"{group}/v1", "kind": "FeatureGate", "metadata": {"name": "cluster"}, "spec": {}})
    try:
        place.done("PATCH", f"{gates}/cluster/status", {"status": {"featureGates": [
            {"version": "4.22.0", "enabled": [], "disabled": [{"name": "DNSTemplatePlugin"}]},
            {"version": "4.22.1", "enabled": [{"name": "DNSTemplatePlugin"}], "disabled": []}]}}, "application/merge-patch+json")
        run("--platform", "openshift")
        place.dns({"templates": [LEGACY]})
        place.says("TemplateConfigurationValid", "True AsExpected")
    finally:
        place.call("DELETE", f"{gates}/cluster")
        place.call("DELETE", f"{crdlib.CRD_PATH}/clusterversions.{group}")


def test_usage(tmp_path):
    for args, want in ((["--platform", "mainframe"], "--platform is"), (["--feature-gates", "A"], "--feature-gates: expected"),
                       (["--dns-cluster-domain", "K8s.Example."], "--dns-cluster-domain: expected"),
                       (["--dns-cluster-domain", f"{'a' * 64}.example"], "--dns-cluster-domain: expected")):
        p = Controller(str(tmp_path / "none"), *args, controllers="dnsoperator")
        assert p.process.wait(20) == 64
        p.reader.join(5)
        assert want in p.text()
