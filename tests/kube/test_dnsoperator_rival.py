# SPDX-License-Identifier: GPL-3.0-or-later
"""`dnsoperator` beside OpenShift's own DNS operator: it writes nothing and reports that; the commands of
docs/controllers/dnsoperator.md take over and give back. And it detects MicroShift."""
import re

import pytest

import crdlib
import pagelib
from controllerlib import until
from test_dnsoperator import DNS, FILTER, KUBEADM, LEGACY, REAL, SERVER, Place, place, run, server  # noqa: F401 pylint: disable=unused-import

ORIGINAL = "/apis/apps/v1/namespaces/openshift-dns-operator/deployments"
VERSIONS = "/apis/config.openshift.io/v1/clusterversions"
PAGE = "docs/controllers/dnsoperator.md"


def cluster_version(p):
    """The kind, as far as an administrator needs it here, and its object."""
    name = "clusterversions.config.openshift.io"
    override = {"type": "object", "required": ["kind", "group", "namespace", "name", "unmanaged"], "properties": {
        **{k: {"type": "string"} for k in ("kind", "group", "namespace", "name")}, "unmanaged": {"type": "boolean"}}}
    p.done("POST", crdlib.CRD_PATH, {
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": name},
        "spec": {"group": "config.openshift.io", "scope": "Cluster",
                 "names": {"plural": "clusterversions", "singular": "clusterversion", "kind": "ClusterVersion",
                           "listKind": "ClusterVersionList"},
                 "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {
                     "type": "object", "properties": {"spec": {"type": "object", "properties": {
                         "channel": {"type": "string"}, "overrides": {
                             "type": "array", "items": override, "x-kubernetes-list-type": "map",
                             "x-kubernetes-list-map-keys": ["kind", "group", "namespace", "name"]}}}}}}}]}})
    o = {"apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion", "metadata": {"name": "version"}, "spec": {"channel": "stable"}}
    until(lambda: p.call("POST", VERSIONS, o)[0] == 201)


@pytest.fixture
def original(place):  # noqa: F811
    """OpenShift's operator: its Deployment, with a replica, and ClusterVersion."""
    place.namespace("openshift-dns-operator")
    labels = {"name": "dns-operator"}
    place.done("POST", ORIGINAL, {
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "dns-operator"}, "spec": {
            "replicas": 1, "selector": {"matchLabels": labels}, "template": {
                "metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}})
    cluster_version(place)
    yield place
    place.call("DELETE", f"{ORIGINAL}/dns-operator")
    place.call("DELETE", f"{crdlib.CRD_PATH}/clusterversions.config.openshift.io")
    until(lambda: place.call("GET", VERSIONS)[0] == 404)


def gauge(p):
    return re.search(r"^fairlead_dnsoperator_original_runs (\d)$", p.get("/metrics")[1], re.M)[1]


def refusals(p):
    """Events about the current DNS object."""
    uid = p.done("GET", f"{DNS}/default")["metadata"]["uid"]
    return [e for e in p.done("GET", "/apis/events.k8s.io/v1/namespaces/default/events")["items"]
            if e.get("reason") == "OriginalOperatorRuns" and e["regarding"]["uid"] == uid]


@REAL
@pytest.mark.parametrize("platform", ["openshift", "kubernetes", "auto"])
def test_not_beside_the_original(original, run, platform):  # noqa: F811
    """OP-D7: nothing is written while OpenShift's operator runs, whatever the flag --platform; log, Event, /readyz and a
    metric say why and what to do."""
    p = run("--platform", platform)
    p.wait_line(r"dns-operator runs, so nothing is changed")  # before there is an object to tell it of
    original.dns({"servers": [SERVER]})
    note = until(lambda: refusals(original))[0]["note"]
    assert "spec.overrides" in note and "scale it to 0" in note
    p.wait_line(r"\[WARNING\] controller/dnsoperator: OriginalOperatorRuns: the Deployment openshift-dns-operator/dns-operator runs")
    status, text = p.get("/readyz")
    # a process with web hooks keeps on serving them
    assert status == 200 and text == f"ok\ncontroller dnsoperator waits: {note}\n"
    assert gauge(p) == "1"
    assert original.configmap("openshift-dns", "dns-default") is None and not original.conditions()
    assert original.text() == KUBEADM


@REAL
def test_take_over_and_back(original, run, tmp_path):  # noqa: F811
    """The commands of the page, one after the other. The operator begins by itself as soon as the pods of
    OpenShift's operator have ended, and stops when they come back."""
    blocks = pagelib.commands(PAGE, "take-over")
    there, back = blocks[:2], blocks[2:]
    p = run("--platform", "openshift", "--feature-gates", "DNSTemplatePlugin=true")
    original.dns({"servers": [SERVER], "templates": [FILTER]})
    p.wait_line("dns-operator runs, so nothing is changed")
    # pods that still end are seen in the Deployment's status
    original.done("PATCH", f"{ORIGINAL}/dns-operator/status", {"status": {"replicas": 1}}, "application/merge-patch+json")
    for command in there:
        pagelib.shell(original, tmp_path, command)
    override = original.done("GET", f"{VERSIONS}/version")["spec"]["overrides"]
    assert override == [{"kind": "Deployment", "group": "apps", "namespace": "openshift-dns-operator", "name": "dns-operator",
                         "unmanaged": True}]
    p.wait_line("waiting for the pods of .* to end")
    assert original.configmap("openshift-dns", "dns-default") is None
    original.done("PATCH", f"{ORIGINAL}/dns-operator/status", {"status": {"replicas": 0}}, "application/merge-patch+json")
    until(lambda: "foo.com:5353 {" in original.text("openshift-dns", "dns-default"))
    p.wait_line("does not run any more: taking over")
    assert gauge(p) == "0" and p.get("/readyz") == (200, "ok\n")
    assert len(refusals(original)) == 1
    # and back: our own is scaled down first, which here is not a Deployment
    original.namespace("fairlead")
    for command in back:
        if "-n fairlead" not in command:
            pagelib.shell(original, tmp_path, command)
    assert "overrides" not in original.done("GET", f"{VERSIONS}/version")["spec"]
    original.dns({"servers": [SERVER], "logLevel": "Trace"})
    until(lambda: gauge(p) == "1")
    assert "class all" not in original.text("openshift-dns", "dns-default")


@REAL
def test_who_cannot_look_does_nothing(original, run):  # noqa: F811
    """An answer that is not an answer: no right to read the Deployment is not its absence."""
    original.done("PATCH", f"{ORIGINAL}/dns-operator", {"spec": {"replicas": 0}}, "application/merge-patch+json")
    original.controller_token, kept = "nobody-knows-it", original.controller_token
    try:
        p = run("--platform", "openshift")
        p.wait_line("Unauthorized|401")
        assert original.configmap("openshift-dns", "dns-default") is None
    finally:
        original.controller_token = kept


def microshift(p, method):
    p.namespace("kube-public")
    path = "/api/v1/namespaces/kube-public/configmaps"
    o = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "microshift-version"}, "data": {"major": "4", "minor": "21"}}
    p.done(method, path if method == "POST" else f"{path}/microshift-version", o if method == "POST" else None)


@pytest.mark.parametrize("flags", [[], ["--platform", "microshift"]])
def test_microshift(place, run, flags):  # noqa: F811
    """Seen by its ConfigMap, or told: object openshift-dns/dns-default, gate on, families as on Kubernetes. What MicroShift
    writes into the ConfigMap when it starts is put right, and its text is kept beside it."""
    theirs = KUBEADM.replace(":53", ":5353")
    maps = "/api/v1/namespaces/openshift-dns/configmaps"
    place.done("POST", maps, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "dns-default"}, "data": {"Corefile": theirs}})
    if not flags:
        microshift(place, "POST")
    try:
        run(*flags)
        place.dns({"templates": [LEGACY]})
        place.says("TemplateConfigurationValid", "True AsExpected")
        text = until(lambda: "legacy.example.com" in place.text("openshift-dns", "dns-default")) and place.text("openshift-dns", "dns-default")
        assert ".:5353 {" in text and "hostname.bind:5353" in text and "kubernetes cluster.local " in text
        assert place.configmap("openshift-dns", "dns-default")["data"]["Corefile.before-fairlead"] == theirs
        assert place.text() == KUBEADM
        # not OpenShift: no Network is no reason to warn
        place.dns({"templates": [FILTER]})
        place.says("AAAAFilterDualStackWarning", "False NotDualStack")
        place.done("PATCH", f"{maps}/dns-default", {"data": {"Corefile": theirs}}, "application/merge-patch+json")
        until(lambda: "template IN AAAA . {" in place.text("openshift-dns", "dns-default"))
    finally:
        if not flags:
            microshift(place, "DELETE")


def test_operator_log_level(place, run):  # noqa: F811
    """OP-D1, operatorLogLevel: of the running operator, there and back."""
    p = run()
    for level, generation in (("Debug", 1), ("Normal", 2), ("Trace", 3)):
        place.dns({"operatorLogLevel": level, "logLevel": ["Normal", "Debug", "Trace"][generation - 1]})
        words = ["class error", "class denial error", "class all"][generation - 1]
        until(lambda: words in place.text())  # pylint: disable=cell-var-from-loop
        if level != "Normal":
            p.wait_line(rf"\[DEBUG\] controller/dnsoperator: generation {generation} on kubernetes: Corefile of \d+ bytes, written")
    assert not p.find(r"\[DEBUG\] controller/dnsoperator: generation 2 .* written")


def test_doubtful_upstreams(place, run):  # noqa: F811
    """OP-D2, OP-D5: an Event names settings that are accepted but probably unintended."""
    run()
    place.dns({"upstreamResolvers": {"upstreams": [{"type": "Network", "address": "192.0.2.1"}], "transportConfig": {
        "transport": "TLS", "tls": {"serverName": "dns.example.com"}}}})
    until(lambda: "tls://192.0.2.1:53 {" in place.text())
    found = until(lambda: [e for e in place.done("GET", "/apis/events.k8s.io/v1/namespaces/default/events")["items"]
                           if e.get("reason") == "UpstreamsDoubtful"])
    assert "spec.upstreamResolvers.upstreams[0].port is 53" in found[0]["note"]
