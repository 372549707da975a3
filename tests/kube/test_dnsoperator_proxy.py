# SPDX-License-Identifier: GPL-3.0-or-later
"""OP-T17: an operator beside a hosted control plane asks servers through the API server (pods/proxy), under its shipped
roles. A node in a network of its own with kube-apiserver, and pods that have the ConfigMap's text as it is."""
import os
import threading
import time

import pytest

import crdlib
from controllerlib import Controller, stopping, until
from lib import cluster, server
from netlib import NODE, Node
from test_dnsoperator import DNS, LEGACY, Place
from rbaclib import RBAC, Audited, each_without_one, install_roles, read_role

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root (network namespaces)")

NAME, HOSTED = "fairlead-dnsoperator", "fairlead-dnsoperator-hosted"
TOKEN = "dnsoperator-token"
APPLIED = "TemplateConfigurationApplied"
PODS = "/api/v1/namespaces/openshift-dns/pods"
FIRST = ".:5353 {\n    whoami\n    ready\n    reload 2s 1s\n}\n"
LABELS = {"dns.operator.openshift.io/daemonset-dns": "default"}


@pytest.fixture(scope="module")
def node():
    with Node() as n:
        yield n


class OnNode(Audited):
    """At an address that pods reach."""
    url = property(lambda self: f"https://{NODE}:{self.port}")

    def __init__(self):
        super().__init__(f"system:serviceaccount:fairlead:{NAME}", TOKEN)
        self.flags += ["--bind-address=0.0.0.0", f"--advertise-address={NODE}"]


@pytest.fixture(scope="module")
def c(node):  # pylint: disable=unused-argument
    with OnNode() as one:
        crdlib.apply_all(one, group="openshift.io")
        install_roles(one, "dnsoperator", "dnsoperator-openshift", "dnsoperator-hosted")
        yield one


@pytest.fixture(scope="module")
def pods(node, c):
    """Three servers, with a thread that is their kubelet; the first Corefiles have no templates."""
    made = [node.pod(i + 2) for i in range(3)]
    for i, p in enumerate(made):
        p.write(FIRST)
        p.start(server.fairlead(), c.port, c.admin, c.ca)
        add_pod(c, f"dns-default-{i}", p.address)
    yield made
    for p in made:  # or the API server waits for their watches
        p.end()


def add_pod(c, name, address, ns="openshift-dns", labels=LABELS):
    path = f"/api/v1/namespaces/{ns}/pods"
    status, body = c.call("POST", path, {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": labels}, "spec": {
        "nodeName": "node", "terminationGracePeriodSeconds": 0, "containers": [{"name": "dns", "image": "i"}]}})
    assert status == 201, body
    status, body = c.call("PATCH", f"{path}/{name}/status", {"status": {
        "phase": "Running", "podIP": address, "podIPs": [{"ip": address}],
        "conditions": [{"type": "Ready", "status": "True"}]}}, content_type="application/merge-patch+json")
    assert status == 200, body


class Kubelet:
    """Writes the Corefile of the ConfigMap into pods; those of `held` keep theirs."""

    def __init__(self, place, pods, where=("openshift-dns", "dns-default")):
        self.place, self.pods, self.where, self.held = place, pods, where, set()
        self.ends = threading.Event()
        self.thread = threading.Thread(target=self.work, daemon=True)

    def work(self):
        while not self.ends.wait(0.05):
            text = self.place.text(*self.where)
            for i, p in enumerate(self.pods):
                if text and i not in self.held:
                    p.write(text)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ends.set()
        self.thread.join(10)


@pytest.fixture
def place(c):
    p = Place(c.url, c.ca, c.admin, TOKEN)
    p.clean()
    yield p


@pytest.fixture
def kubelet(place, pods):
    with Kubelet(place, pods) as k:
        yield k


@pytest.fixture
def run(place, tmp_path):
    def make(*args):
        return Controller(place.kubeconfig(str(tmp_path)), "--no-election", "--platform", "openshift", "--feature-gates",
                          "DNSTemplatePlugin=true", "--dns-ask", "proxy", *args, controllers="dnsoperator")
    with stopping(make) as start:
        yield start


def template(i):
    return {**LEGACY, "zones": [f"z{i}.example.com"]}


def says(place, want, text=None):
    """Waits for "STATUS REASON", and for words in the message."""
    def so():
        o = place.conditions().get(APPLIED)
        return o if o and f"{o['status']} {o['reason']}" == want and (text or "") in o["message"] else None
    return until(so, 40)["message"]


def test_servers_are_asked_through_the_api_server(c, place, run, kubelet):
    """Loaded by all; held back by one; gone; no templates any more. With the shipped roles nothing is refused."""
    since = c.size()
    run("--dns-reload-time", "3s")
    generation = place.dns({"templates": [template(1)]})
    assert says(place, "True AsExpected") == f"All of 3 servers run generation {generation}."
    kubelet.held.add(1)
    generation = place.dns({"templates": [template(2)]})
    named = f"2 of 3 servers run generation {generation}; %s: dns-default-1."
    says(place, "False Updating", named % "still to load it")
    says(place, "False ReloadFailed", named % "have not loaded it in time")
    kubelet.held.clear()
    assert says(place, "True AsExpected") == f"All of 3 servers run generation {generation}."
    # without templates it is known, too, who dropped them; a change of another field alone says nothing of them
    kubelet.held.add(2)
    place.dns({})
    says(place, "False Updating", "2 of 3 servers have dropped the templates; still to drop them: dns-default-2.")
    kubelet.held.clear()
    assert says(place, "True NoTemplates") == "There are no templates."
    kubelet.held.add(2)
    place.dns({"logLevel": "Trace"})
    until(lambda: "class all" in place.text("openshift-dns", "dns-default"))
    was = place.conditions()[APPLIED]
    assert was["status"] == "True"
    kubelet.held.clear()
    until(lambda: "class all" in open(kubelet.pods[2].conf, encoding="utf-8").read())
    # of the new generation, and otherwise the same
    now = place.conditions()[APPLIED]
    assert now == {**was, "observedGeneration": now["observedGeneration"]}
    assert c.refused(since) == []


@pytest.mark.alone
def test_how_soon(place, run, kubelet, capsys):  # pylint: disable=unused-argument
    """From the change of the object to its status: as soon as over DNS. Once settled nothing is written."""
    p = run()
    took = []
    for i in range(10, 16):
        begin = time.monotonic()
        generation = place.dns({"templates": [template(i)]})
        until(lambda: place.conditions().get(APPLIED, {}).get("message") ==  # pylint: disable=cell-var-from-loop
              f"All of 3 servers run generation {generation}.")  # pylint: disable=cell-var-from-loop
        took.append(time.monotonic() - begin)
    with capsys.disabled():
        print(" [told after " + ", ".join(f"{t * 1000:.0f}" for t in took) + " ms]", end="")
    assert max(took[1:]) < 2, took  # the first has the program's start in it
    until(lambda: "z15.example.com" in place.done("GET", f"{DNS}/default")["metadata"].get("annotations", {}).get(
        "dns.fairlead.dev/templates-backup", ""))  # which is written a second later
    before = p.looks()
    touched = place.done("PATCH", f"{DNS}/default", {"metadata": {"annotations": {"n": "1"}}}, "application/merge-patch+json")
    until(lambda: p.looks() > before)
    assert place.done("GET", f"{DNS}/default")["metadata"] == touched["metadata"]


def test_cut_off(place, run, kubelet, pods):
    """The API server does not reach a pod, by a dead cable or a process that is gone: unknown, and how to mend it; it comes
    back by itself."""
    run()
    place.dns({"templates": [template(3)]})
    says(place, "True AsExpected")
    pods[0].cut(True)
    generation = place.dns({"templates": [template(4)]})
    message = says(place, "Unknown InstancesUnreachable")
    assert message.startswith(f"2 of 3 servers run generation {generation}; no answer from: dns-default-0. The API server ")
    assert "of these pods" in message and "network policies" in message
    pods[0].cut(False)
    says(place, "True AsExpected")
    pods[1].end()
    place.dns({"templates": [template(5)]})
    assert "cannot reach port 8181 of these pods" in says(place, "Unknown InstancesUnreachable", "dns-default-1")
    pods[1].start(server.fairlead(), place_port(place), place.token, place.ca)
    says(place, "True AsExpected")


def place_port(place):
    return int(place.url.rsplit(":", 1)[1])


def test_coredns_cannot_tell(c, node, place, run, kubelet):  # pylint: disable=unused-argument
    """It has no /config: unknown, never true, with templates or without."""
    coredns = server.coredns_program()
    pod = node.pod(9)
    pod.write(FIRST)
    pod.start([coredns], c.port, c.admin, c.ca)
    add_pod(c, "dns-default-9", pod.address)
    try:
        run()
        generation = place.dns({"templates": [template(6)]})
        message = says(place, "Unknown InstancesUnreachable", "/config")
        assert message.startswith(f"3 of 4 servers run generation {generation}; no answer from: dns-default-9. They do not serve")
        assert "CoreDNS can be polled over DNS only" in message
        place.dns({})
        until(lambda: "fairlead.internal" not in open(kubelet.pods[0].conf, encoding="utf-8").read())
        says(place, "Unknown InstancesUnreachable", "no answer from: dns-default-9.")
    finally:
        assert c.call("DELETE", f"{PODS}/dns-default-9?gracePeriodSeconds=0")[0] == 200
        pod.end()
    says(place, "True NoTemplates")


def role_is_needed(c, place, ns):
    """Without its verb the status says which file to apply; as soon as that was done all is well."""
    path = f"{RBAC}/namespaces/{ns}/roles/{HOSTED}"
    role = read_role(c, path)
    (verb, resource, less), = each_without_one(role)
    assert (verb, resource) == ("get", "pods/proxy")
    assert c.call("PUT", path, less)[0] == 200
    since = c.size()
    place.dns({"templates": [template(7)]})
    try:
        message = says(place, "Unknown InstancesUnreachable")
        assert message.endswith("The API server does not allow pods/proxy: apply deploy/rbac/dnsoperator-hosted.yaml.")
        assert {(v, r) for v, r, _ in c.refused(since)} == {("get", "pods")}
    finally:
        assert c.call("PUT", path, role)[0] == 200
    says(place, "True AsExpected")


def test_the_role_is_needed(c, place, run, kubelet, tmp_path):  # pylint: disable=unused-argument
    """And that pods are asked so is what --lease-kubeconfig means."""
    run("--dns-ask", "auto", "--lease-kubeconfig", place.kubeconfig(str(tmp_path)))
    role_is_needed(c, place, "openshift-dns")


def test_on_kubernetes(c, node, place, run):
    """The other namespace, label and port of DNS; the page is where it was."""
    pod = node.pod(8)
    pod.write(FIRST)
    pod.start(server.fairlead(), c.port, c.admin, c.ca)
    add_pod(c, "coredns-8", pod.address, "kube-system", {"k8s-app": "kube-dns"})
    with Kubelet(place, [pod], ("kube-system", "coredns")):
        run("--platform", "kubernetes")
        role_is_needed(c, place, "kube-system")
        assert place.conditions()[APPLIED]["message"].startswith("The only server runs generation ")
    pod.end()


def test_usage():
    """Ways that exclude one another, and words that are none."""
    p = cluster.subprocess.run([server.fairlead_program(), "controller", "--controllers", "dnsoperator", "--dns-ask", "proxy",
                                "--dns-instances", "192.0.2.1:53"], capture_output=True, text=True, check=False)
    assert p.returncode == 64 and "use one of them" in p.stderr
    p = cluster.subprocess.run([server.fairlead_program(), "controller", "--controllers", "dnsoperator", "--dns-ask", "http"],
                               capture_output=True, text=True, check=False)
    assert p.returncode == 64 and "--dns-ask is one of dns, proxy, auto, not 'http'" in p.stderr
