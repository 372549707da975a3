# SPDX-License-Identifier: GPL-3.0-or-later
"""What runs DNS in a cluster (OP-D3): applied as deploy/operands has it, by the operator under its shipped
role, at a real API server; put right when others change it; and nothing is written when nothing changed."""
import os
import subprocess

import pytest

import crdlib
from controllerlib import Controller, events, objects, stopping, until
from lib import cluster, server
from rbaclib import RBAC, Audited, install_roles

NAME = "fairlead-dnsoperator"
TOKEN = "dnsoperator-token"
DNS = "/apis/operator.openshift.io/v1/dnses"
NETWORKS = "/apis/config.openshift.io/v1/networks"
CORE, NS = "/api/v1", "/api/v1/namespaces/openshift-dns"
SETS = "/apis/apps/v1/namespaces/openshift-dns/daemonsets"
POLICIES = "/apis/networking.k8s.io/v1/namespaces/openshift-dns/networkpolicies"
ROLES = f"{RBAC}/namespaces/openshift-dns"
MONITORS = "/apis/monitoring.coreos.com/v1/namespaces/openshift-dns/servicemonitors"
IMAGES = {"IMAGE": "registry.example/dns:1", "OPENSHIFT_CLI_IMAGE": "registry.example/cli:1",
          "KUBE_RBAC_PROXY_IMAGE": "registry.example/proxy:1"}
MERGE = "application/merge-patch+json"
OPENSHIFT = [
    f"{NS}", f"{RBAC}/clusterroles/openshift-dns", f"{RBAC}/clusterrolebindings/openshift-dns", f"{NS}/serviceaccounts/dns",
    f"{NS}/serviceaccounts/node-resolver", f"{ROLES}/roles/dns-corefile", f"{ROLES}/rolebindings/dns-corefile",
    f"{POLICIES}/openshift-dns-deny-all", f"{POLICIES}/dns-default", f"{SETS}/dns-default", f"{NS}/services/dns-default",
    "/api/v1/namespaces/default/services/openshift", f"{SETS}/node-resolver", f"{RBAC}/clusterroles/dns-monitoring",
    f"{RBAC}/clusterrolebindings/dns-monitoring", f"{ROLES}/roles/prometheus-k8s", f"{ROLES}/rolebindings/prometheus-k8s"]
SYSTEM = "/namespaces/kube-system"
KUBERNETES = [
    f"{RBAC}/clusterroles/fairlead-dns", f"{RBAC}/clusterrolebindings/fairlead-dns",
    f"{CORE}{SYSTEM}/serviceaccounts/fairlead-dns", f"{RBAC}{SYSTEM}/roles/fairlead-dns",
    f"{RBAC}{SYSTEM}/rolebindings/fairlead-dns", f"/apis/networking.k8s.io/v1{SYSTEM}/networkpolicies/fairlead-dns",
    f"/apis/apps/v1{SYSTEM}/daemonsets/fairlead-dns"]
MONITOR_CRD = {
    "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
    "metadata": {"name": "servicemonitors.monitoring.coreos.com"},
    "spec": {"group": "monitoring.coreos.com", "scope": "Namespaced",
             "names": {"kind": "ServiceMonitor", "plural": "servicemonitors", "singular": "servicemonitor", "listKind": "ServiceMonitorList"},
             "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {
                 "type": "object", "properties": {"spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}}}}]}}


class Place(Audited):
    """A cluster as OpenShift's, apart from its pods: nothing runs there."""

    def __init__(self):
        super().__init__(f"system:serviceaccount:fairlead:{NAME}", TOKEN)
        self.flags.append("--allow-privileged=true")  # as each cluster has it: node-resolver

    def done(self, method, path, body=None, content_type="application/json"):
        status, reply = self.call(method, path, body, content_type=content_type)
        assert status < 300, (method, path, status, reply)
        return reply

    def get(self, path):
        status, reply = self.call("GET", path)
        return reply if status == 200 else None

    def patch(self, path, body):
        return self.done("PATCH", path, body, MERGE)

    def dns(self, **spec):
        self.patch(f"{DNS}/default", {"spec": spec})

    def poke(self, word):
        self.patch(f"{DNS}/default", {"metadata": {"annotations": {"test": word}}})

    def writes(self, since):
        """What the operator wrote since the log had that size, its lease and Events left out."""
        entries = cluster.whole_lines(self.audit, since)
        return [(e["verb"], e["requestURI"]) for e in entries if e["verb"] not in ("get", "list", "watch") and
                e["objectRef"].get("resource") not in ("leases", "events")]

    def forget_dns(self):
        """Deletes the object while no operator runs that would take its finalizer away."""
        self.call("PATCH", f"{DNS}/default", {"metadata": {"finalizers": None}}, content_type=MERGE)
        self.call("DELETE", f"{DNS}/default")

    def clean(self, paths):
        for path in paths:
            if path != NS:
                self.call("DELETE", path)
        for path in paths:
            until(lambda: path == NS or self.get(path) is None)


@pytest.fixture(scope="module")
def c():
    with Place() as one:
        crdlib.apply_all(one, group="openshift.io")
        install_roles(one, "dnsoperator", "dnsoperator-openshift")
        one.done("POST", NETWORKS, {"apiVersion": "config.openshift.io/v1", "kind": "Network", "metadata": {"name": "cluster"},
                                    "spec": {"serviceNetwork": ["10.96.0.0/16"]}})
        one.patch(f"{NETWORKS}/cluster/status", {"status": {"serviceNetwork": ["10.96.0.0/16"]}})
        yield one


@pytest.fixture
def place(c):
    c.forget_dns()
    until(lambda: c.get(f"{DNS}/default") is None)
    c.clean(OPENSHIFT + KUBERNETES)
    c.done("POST", DNS, {"apiVersion": "operator.openshift.io/v1", "kind": "DNS", "metadata": {"name": "default"}, "spec": {}})
    return c


@pytest.fixture
def run(place, monkeypatch):
    """Starts the operator; what was started is stopped."""
    def make(*args, images=True, platform="openshift"):
        for name, value in IMAGES.items():
            monkeypatch.setenv(name, value if images else "")
        return Controller(place.kubeconfig(TOKEN, "fairlead"), "--no-election", "--platform", platform, *args,
                          controllers="dnsoperator")
    with stopping(make) as start:
        yield start


def settle(place, p, paths):
    """All exist, and three reconciles in a row wrote nothing."""
    try:
        until(lambda: all(place.get(path) for path in paths))
    except AssertionError as e:
        raise AssertionError(f"missing {[x for x in paths if not place.get(x)]}:\n{p.text()}") from e
    quiet = 0
    while quiet < 3:
        since, seen = place.size(), p.looks()
        place.poke(f"settle {seen}")
        until(lambda: p.looks() > seen)
        quiet = 0 if place.writes(since) else quiet + 1


def container(o, name):
    return next(c for c in o["spec"]["template"]["spec"]["containers"] if c["name"] == name)


def test_objects(place, run):
    """All of OP-D3, with nothing refused and no warning of the server (unknown fields would be one), where there was not
    even the namespace."""
    place.put([("/registry/namespaces/openshift-dns", None)])
    until(lambda: place.get(NS) is None)
    since = place.size()
    p = run()
    settle(place, p, OPENSHIFT)
    assert place.refused(since) == []
    assert "server warns" not in p.text(), p.text()
    labels = place.get(NS)["metadata"]["labels"]
    assert labels["openshift.io/cluster-monitoring"] == "true" and labels["pod-security.kubernetes.io/enforce"] == "privileged"

    o = place.get(f"{SETS}/dns-default")
    uid = place.get(f"{DNS}/default")["metadata"]["uid"]
    assert o["metadata"]["labels"] == {"dns.operator.openshift.io/owning-dns": "default"}
    assert [(r["kind"], r["uid"], r["controller"]) for r in o["metadata"]["ownerReferences"]] == [("DNS", uid, True)]
    assert o["spec"]["minReadySeconds"] == 9
    assert o["spec"]["updateStrategy"]["rollingUpdate"] == {"maxSurge": "10%", "maxUnavailable": 0}
    pod = o["spec"]["template"]["spec"]
    assert pod["dnsPolicy"] == "Default" and pod["nodeSelector"] == {"kubernetes.io/os": "linux"}
    assert pod["tolerations"] == [{"key": "node-role.kubernetes.io/master", "operator": "Exists"}]
    dns = container(o, "dns")
    assert dns["image"] == IMAGES["IMAGE"] and dns["args"] == ["-conf", "/etc/coredns/Corefile"]
    assert container(o, "kube-rbac-proxy")["image"] == IMAGES["KUBE_RBAC_PROXY_IMAGE"]
    assert dns["readinessProbe"]["httpGet"]["port"] == 8181 and dns["readinessProbe"]["periodSeconds"] == 3
    assert dns["securityContext"]["readOnlyRootFilesystem"] is True

    service = place.get(f"{NS}/services/dns-default")
    assert service["spec"]["clusterIP"] == "10.96.0.10"
    assert service["spec"]["trafficDistribution"] == "PreferSameNode"
    assert "service.kubernetes.io/topology-aware-hints" not in service["metadata"]["annotations"]
    assert {e["name"]: e["value"] for e in container(place.get(f"{SETS}/node-resolver"), "dns-node-resolver")["env"]} == {
        "SERVICES": "image-registry.openshift-image-registry.svc", "NAMESERVER": "10.96.0.10", "CLUSTER_DOMAIN": "cluster.local"}
    assert not p.find("ServiceMonitor"), p.text()  # there is no such kind: no noise


@pytest.mark.parametrize("platform, servers, role, corefile", (
    ("openshift", f"{SETS}/dns-default", "openshift-dns", f"{NS}/configmaps/dns-default"),
    ("kubernetes", f"/apis/apps/v1{SYSTEM}/daemonsets/fairlead-dns", "fairlead-dns", f"{CORE}{SYSTEM}/configmaps/coredns")))
def test_hold(place, run, platform, servers, role, corefile):
    """EF-P1: with the gate EgressFirewallHold servers hold answers and have what they need for it; without it all is as before."""
    def applied():
        o, rules, text = place.get(servers), place.get(f"{RBAC}/clusterroles/{role}"), place.get(corefile)
        if None in (o, rules, text):
            return None
        pod = o["spec"]["template"]["spec"]
        return ("        hold\n" in text["data"]["Corefile"],
                [e["name"] for e in container(o, "dns").get("env", [])] == ["NODE_NAME"],
                {"/run/fairlead", "/etc/fairlead/agents"} <= {m["mountPath"] for m in container(o, "dns")["volumeMounts"]},
                "fairlead-node-client" in [v["secret"]["secretName"] for v in pod["volumes"] if "secret" in v],
                any("egressfirewalls" in r["resources"] for r in rules["rules"]))
    since = place.size()
    p = run("--dns-operands", "true", "--feature-gates", "EgressFirewallHold=true", platform=platform)
    until(lambda: applied() == (True,) * 5)
    p.stop()
    run("--dns-operands", "true", "--feature-gates", "EgressFirewallNames=true", platform=platform)
    until(lambda: applied() == (False,) * 5)
    assert "egressfirewall {" in place.get(corefile)["data"]["Corefile"]
    assert place.refused(since) == []


def test_node_resolver(place, run, tmp_path):
    """The script of node-resolver, with a dig that answers over TCP only: its lines replace those that were there, all
    others stay; without answers nothing changes."""
    settle(place, run(), [f"{SETS}/node-resolver"])
    one = container(place.get(f"{SETS}/node-resolver"), "dns-node-resolver")
    hosts, answers, asked = tmp_path / "hosts", tmp_path / "answers", tmp_path / "asked"
    script = one["command"][2].replace("/etc/hosts", str(hosts)).replace("/tmp/hosts", str(tmp_path / "new")).replace(
        "sleep 60", "sleep 0.05")
    (tmp_path / "dig").write_text(f'#!/bin/sh\necho "$*" >>{asked}\ncase "$*" in *AAAA*) ;; *+tcp*) cat {answers} ;; esac\n')
    (tmp_path / "dig").chmod(0o755)
    mark = "# openshift-generated-node-resolver"
    before = f"127.0.0.1 localhost\n192.0.2.9 old.svc {mark}\n::1 localhost\n"
    hosts.write_text(before)
    answers.write_text(";; no servers could be reached\n")
    env = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", **{e["name"]: e["value"] for e in one["env"]}}
    p = subprocess.Popen(["/bin/bash", "-c", script], env=env)
    try:
        until(lambda: asked.exists() and asked.read_text().count("-t A ") > 5)
        assert hosts.read_text() == before
        answers.write_text("10.96.0.20\n10.96.0.21\n")
        name = "image-registry.openshift-image-registry.svc"
        want = "127.0.0.1 localhost\n::1 localhost\n" + "".join(
            f"10.96.0.{n} {name} {name}.cluster.local {mark}\n" for n in (20, 21))
        until(lambda: hosts.read_text() == want)
        assert asked.read_text().startswith("@10.96.0.10 ") and f"{name}.cluster.local." in asked.read_text()
    finally:
        p.terminate()
    assert p.wait(10) == 0


def test_settled_means_silent(place, run):
    """No writes while nothing changes, neither at a reconcile nor after a restart."""
    p = run()
    settle(place, p, OPENSHIFT)
    p.stop()
    since = place.size()
    p = run()
    until(lambda: p.looks() > 0)
    settle(place, p, OPENSHIFT)
    assert [w for w in place.writes(since) if "dnses" not in w[1]] == []


CHANGES = [
    (f"{SETS}/dns-default", {"spec": {"minReadySeconds": 1}}),
    (f"{SETS}/dns-default", {"spec": {"template": {"spec": {"tolerations": [{"operator": "Exists"}]}}}}),
    (f"{SETS}/node-resolver", {"metadata": {"ownerReferences": None}}),
    (f"{POLICIES}/openshift-dns-deny-all", {"spec": {"podSelector": {"matchLabels": {"a": "b"}}}}),
    (f"{POLICIES}/dns-default", {"spec": {"egress": []}}),
    (f"{NS}/services/dns-default", {"spec": {"selector": {"a": "b"}}}),
    (f"{NS}/services/dns-default", {"metadata": {"labels": None}}),
    (NS, {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "restricted"}}}),
    (f"{RBAC}/clusterroles/openshift-dns", {"rules": []}),
]


def test_changes_of_others_are_put_right(place, run):
    p = run()
    settle(place, p, OPENSHIFT)
    good = {path: place.get(path) for path, _ in CHANGES}
    for path, change in CHANGES:
        place.patch(path, change)
        want = good[path]

        def mended():
            place.poke(str(place.size()))  # for those that are not watched
            now = place.get(path)
            return all(now.get(k) == want.get(k) for k in ("spec", "rules")) and all(
                now["metadata"].get(k) == want["metadata"].get(k) for k in ("labels", "ownerReferences"))
        try:
            until(mended, 30, 0.2)
        except AssertionError as e:
            raise AssertionError(f"{path} {change}:\n{place.get(path)}\n{p.text()}") from e
    for path in (f"{SETS}/dns-default", f"{NS}/services/dns-default", f"{POLICIES}/dns-default"):
        place.done("DELETE", path)
        until(lambda: place.get(path) is not None)
    assert place.get(f"{NS}/services/dns-default")["spec"]["clusterIP"] == "10.96.0.10"


def test_fields_of_others_are_left_alone(place, run):
    p = run()
    settle(place, p, OPENSHIFT)
    place.patch(f"{SETS}/dns-default", {"metadata": {"annotations": {"theirs": "1"}},
                                        "spec": {"template": {"spec": {"terminationGracePeriodSeconds": 7}}}})
    since = place.size()
    settle(place, p, OPENSHIFT)
    assert place.writes(since) == []
    place.dns(nodePlacement={"nodeSelector": {"a": "b"}})
    until(lambda: place.get(f"{SETS}/dns-default")["spec"]["template"]["spec"]["nodeSelector"] == {"a": "b"})
    o = place.get(f"{SETS}/dns-default")
    assert o["metadata"]["annotations"]["theirs"] == "1"
    assert o["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] == 7


def node(place, name, zone, labels=None, taints=None):
    place.done("POST", "/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", "spec": {"taints": taints or []}, "metadata": {
        "name": name, "labels": {"kubernetes.io/os": "linux", "topology.kubernetes.io/zone": zone, **(labels or {})}}})
    place.patch(f"/api/v1/nodes/{name}/status", {"status": {"conditions": [{"type": "Ready", "status": "True"}]}})
    # what a node is born with until somebody finds it ready
    place.patch(f"/api/v1/nodes/{name}", {"spec": {"taints": taints or []}})


def test_placement_and_zones(place, run):
    """OP-D5: placement that no schedulable node matches is ignored, and reported; hints with two zones."""
    node(place, "one", "a")
    node(place, "two", "b", {"infra": "yes"}, [{"key": "infra", "effect": "NoSchedule"}])
    try:
        p = run()
        settle(place, p, OPENSHIFT)
        assert place.get(f"{NS}/services/dns-default")["metadata"]["annotations"][
            "service.kubernetes.io/topology-aware-hints"] == "auto"
        place.patch(f"{SETS}/dns-default/status", {"status": {"currentNumberScheduled": 1, "desiredNumberScheduled": 1,
                                                              "numberMisscheduled": 0, "numberReady": 1}})
        pod = lambda: place.get(f"{SETS}/dns-default")["spec"]["template"]["spec"]  # noqa: E731
        place.dns(nodePlacement={"nodeSelector": {"infra": "yes"}, "tolerations": [{"key": "infra", "operator": "Exists"}]})
        until(lambda: pod()["nodeSelector"] == {"infra": "yes"})
        place.dns(nodePlacement={"nodeSelector": {"infra": "no"}})
        until(lambda: [e for e in events(place, "default") if e["reason"] == "NodePlacementIgnored"])
        assert pod()["nodeSelector"] == {"infra": "yes"}
        place.dns(nodePlacement={"nodeSelector": None, "tolerations": None})
        until(lambda: pod()["nodeSelector"] == {"kubernetes.io/os": "linux"})
    finally:
        for name in ("one", "two"):
            place.call("DELETE", f"/api/v1/nodes/{name}")


def test_monitor_when_its_kind_comes(place, run):
    p = run()
    settle(place, p, OPENSHIFT)
    crd = place.done("POST", crdlib.CRD_PATH, MONITOR_CRD)
    try:
        crdlib.serves(place, crdlib.established(place, crd["metadata"]["name"]))

        def there():
            place.poke(str(place.size()))
            return place.get(f"{MONITORS}/dns-default")
        o = until(there, 30, 0.2)
        assert o["spec"]["endpoints"][0]["tlsConfig"]["serverName"] == "dns-default.openshift-dns.svc"
        settle(place, p, OPENSHIFT)
    finally:
        place.done("DELETE", f"{crdlib.CRD_PATH}/{crd['metadata']['name']}")
        until(lambda: place.call("GET", MONITORS)[0] == 404)


def test_images(place, run):
    """Without images there are no DaemonSets, which is reported; a flag overrides the environment."""
    p = run(images=False)
    rest = [x for x in OPENSHIFT if not x.startswith(SETS)]
    settle(place, p, rest)
    note = until(lambda: [e for e in events(place, "default") if e["reason"] == "OperandsLeftOut"])[0]["note"]
    assert "DaemonSet dns-default (needs --dns-image or the environment variable IMAGE), DaemonSet node-resolver (needs " \
        "--dns-cli-image or the environment variable OPENSHIFT_CLI_IMAGE)" in note
    assert place.get(f"{SETS}/dns-default") is None and place.get(f"{SETS}/node-resolver") is None
    p.stop()
    p = run("--dns-image", "registry.example/other:2", "--dns-config-source", "api")
    settle(place, p, OPENSHIFT)
    dns = container(place.get(f"{SETS}/dns-default"), "dns")
    assert dns["image"] == "registry.example/other:2"
    assert dns["args"] == ["-conf", "configmap:openshift-dns/dns-default", "-state-dir", "/tmp"]


def test_management_state(place, run):
    """Unmanaged: nothing is touched. Removed and Force are treated as Managed, as OpenShift's operator does."""
    place.dns(managementState="Unmanaged")
    p = run()
    until(lambda: place.get(f"{DNS}/default").get("status"))
    since = place.size()
    place.poke("again")
    seen = p.looks()
    until(lambda: p.looks() > seen or place.size() > since)
    assert all(place.get(path) is None for path in OPENSHIFT if path != NS)
    place.dns(managementState="Removed")
    settle(place, p, OPENSHIFT)
    place.dns(managementState="Unmanaged")
    settle(place, p, OPENSHIFT)
    place.patch(f"{SETS}/dns-default", {"spec": {"minReadySeconds": 1}})
    settle(place, p, OPENSHIFT)
    assert place.get(f"{SETS}/dns-default")["spec"]["minReadySeconds"] == 1
    place.dns(managementState="Force")
    until(lambda: place.get(f"{SETS}/dns-default")["spec"]["minReadySeconds"] == 9)


def test_kubernetes(place, run):
    """There only with --dns-operands=true; kube-dns is not touched."""
    p = run(platform="kubernetes")
    until(lambda: place.get("/api/v1/namespaces/kube-system/configmaps/coredns-accepted"))
    settle(place, p, [])
    assert all(place.get(path) is None for path in KUBERNETES)
    p.stop()
    since = place.size()
    p = run("--dns-operands", "true", platform="kubernetes")
    settle(place, p, KUBERNETES)
    assert place.refused(since) == []
    assert "server warns" not in p.text(), p.text()
    o = place.get(KUBERNETES[-1])
    assert o["spec"]["template"]["metadata"]["labels"]["k8s-app"] == "kube-dns"
    assert o["spec"]["template"]["spec"]["tolerations"] == [
        {"key": "node-role.kubernetes.io/control-plane", "operator": "Exists"}]
    assert place.get("/api/v1/namespaces/kube-system/services/kube-dns") is None
    assert place.get(f"{SETS}/dns-default") is None


def test_not_where_it_is_switched_off(place, run):
    p = run("--dns-operands", "false")
    until(lambda: place.get(f"{NS}/configmaps/dns-default"))
    settle(place, p, [])
    assert all(place.get(path) is None for path in OPENSHIFT if path != NS)


PLURALS = {"Namespace": "/api/v1/namespaces", "Deployment": "/apis/apps/v1/namespaces/fairlead/deployments",
           "NetworkPolicy": "/apis/networking.k8s.io/v1/namespaces/fairlead/networkpolicies"}


def test_operator_manifest(c):
    """deploy/operator is accepted as it is, with no field that the server does not know; its flags are known, and its
    policy lets it reach the servers (OP-T17)."""
    found = {o["kind"]: o for o in objects(c, "deploy/operator/dnsoperator.yaml")}
    assert set(found) == set(PLURALS)
    for kind, o in found.items():
        path = f"{PLURALS[kind]}/{o['metadata']['name']}"
        c.done("PATCH", f"{path}?dryRun=All&fieldManager=test&force=true&fieldValidation=Strict", o, "application/apply-patch+yaml")
    pod = found["Deployment"]["spec"]["template"]["spec"]
    shown = subprocess.run([server.fairlead_program(), "controller", "--help"], capture_output=True, text=True, check=True).stdout
    one = pod["containers"][0]
    assert [a for a in one["args"] if a.startswith("--") and f" {a[1:]} " not in shown] == []
    assert {e["name"] for e in one["env"]} == set(IMAGES) and all(f"${name}" in shown for name in IMAGES)
    accounts = [o["metadata"]["name"] for o in objects(c, "deploy/rbac/dnsoperator.yaml") if o["kind"] == "ServiceAccount"]
    assert pod["serviceAccountName"] in accounts
    ports = {(r["to"][0]["namespaceSelector"]["matchLabels"]["kubernetes.io/metadata.name"], p["port"], p["protocol"])
             for r in found["NetworkPolicy"]["spec"]["egress"] if "to" in r for p in r["ports"]}
    assert ports == {("openshift-dns", 5353, "UDP"), ("openshift-dns", 5353, "TCP"), ("kube-system", 53, "UDP"),
                     ("kube-system", 53, "TCP")}


def test_flags():
    for args, why in ((["--dns-operands", "yes"], "--dns-operands is one of auto, true, false, not 'yes'"),
                      (["--dns-config-source", "mount"], "--dns-config-source is one of file, api, not 'mount'")):
        done = subprocess.run([server.fairlead_program(), "controller", "--controllers", "dnsoperator", *args],
                              capture_output=True, text=True, check=False)
        assert done.returncode == 64 and why in done.stderr, done
