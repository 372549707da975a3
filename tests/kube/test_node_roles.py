# SPDX-License-Identifier: GPL-3.0-or-later
"""`fairlead node` with its shipped roles and policy, on a real API server with RBAC, and the manifests that run it. All of it is in a
network namespace of this test."""
import os
import subprocess

import pytest

import crdlib
from controllerlib import namespace, objects, until
from egresslib import GROUP, make_firewall, rule
from lib import cluster, node_network, server
from rbaclib import Audited, install_roles

REASON = node_network.why_not()
pytestmark = pytest.mark.skipif(REASON is not None, reason=f"THIS MACHINE CANNOT RUN NODE TESTS: {REASON}")

TOKEN = "node-token"
USER = "system:serviceaccount:fairlead:fairlead-node"
MAPS = "/api/v1/namespaces/fairlead/configmaps"
POLICIES = "/apis/admissionregistration.k8s.io/v1"
# An apply that creates needs the first; nobody is denied anything here (test_node_agent.py has Events).
RARE = {("create", "configmaps"), ("create", "events"), ("patch", "events")}
APPLY = "application/apply-patch+yaml"


def used(c):
    return {(e["verb"], e.get("objectRef", {}).get("resource")) for e in cluster.whole_lines(c.audit, 0)}


def granted(c):
    return {(verb, resource) for o in objects(c, "deploy/rbac/node.yaml") for r in o.get("rules", [])
            for resource in r["resources"] for verb in r["verbs"]}


def install(c):
    crdlib.apply_all(c, group=GROUP)
    install_roles(c, "node")
    for o in objects(c, "deploy/policies/egressfirewall.yaml"):
        plural = "validatingadmissionpolicies" if o["kind"].endswith("Policy") else "validatingadmissionpolicybindings"
        assert c.call("POST", f"{POLICIES}/{plural}", o)[0] == 201


def run_agent(c, folder):
    log = open(os.path.join(folder, "agent.log"), "w", encoding="utf-8")  # pylint: disable=consider-using-with
    return subprocess.Popen([server.fairlead_program(), "node", "--kubeconfig", c.kubeconfig(TOKEN, "fairlead"), "--name", "n1",
                             "--socket", os.path.join(folder, "sock"), "--log-group", "2727"], stdin=subprocess.DEVNULL, stdout=log, stderr=log)


def check_reports(c):
    """An agent writes reports of nodes and nothing else."""
    def write(name, labels):
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": labels}, "data": {"node": "n1"}}
        return c.call("PATCH", f"{MAPS}/{name}?fieldManager=x&dryRun=All", body, token=TOKEN, content_type=APPLY)
    label = {"egress.fairlead.dev/node-report": ""}
    assert write("fairlead-node-n2", label)[0] in (200, 201)
    until(lambda: write("other", label)[0] == 403)
    assert "reports of nodes only" in write("fairlead-node-n2", {})[1]["message"]


def check_manifests(c):
    """They are accepted as they are, with no field that the server does not know, and their flags are known."""
    for shape in ("socket", "tls"):
        for o in objects(c, f"deploy/node/{shape}.yaml"):
            path = "/apis/apps/v1/namespaces/fairlead/daemonsets?fieldValidation=Strict&dryRun=All"
            status, body = c.call("POST", path, o)
            assert status == 201, body
            container = o["spec"]["template"]["spec"]["containers"][0]
            assert container["securityContext"]["capabilities"] == {"drop": ["ALL"], "add": ["NET_ADMIN"]}
            help_text = subprocess.run([server.fairlead_program(), "node", "--help"], capture_output=True, text=True, check=True).stdout
            assert all(f" -{a.split('=')[0].lstrip('-')} " in help_text for a in container.get("args", []))


APPS = "/apis/apps/v1/namespaces/kube-system"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
PATHS = {"Deployment": f"{APPS}/deployments", "DaemonSet": f"{APPS}/daemonsets", "ConfigMap": "/api/v1/namespaces/kube-system/configmaps",
         "ServiceAccount": "/api/v1/namespaces/kube-system/serviceaccounts", "ClusterRole": f"{RBAC}/clusterroles",
         "ClusterRoleBinding": f"{RBAC}/clusterrolebindings", "Service": "/api/v1/namespaces/kube-system/services"}


def check_server_manifests(c, folder):
    """Both shapes of DNS servers: accepted as they are; what the Corefile names is mounted; the Corefile is valid; the Service keeps
    what it has but for where its traffic goes."""
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "kube-dns"}, "spec": {
        "selector": {"k8s-app": "kube-dns"}, "ports": [{"name": "dns", "port": 53, "protocol": "UDP"}]}}
    assert c.call("POST", PATHS["Service"], service)[0] == 201
    made = {}
    for name in ("rbac/dns-servers", "dns/corefile", "dns/deployment", "dns/daemonset", "dns/same-node-service"):
        for o in objects(c, f"deploy/{name}.yaml"):
            path = f"{PATHS[o['kind']]}/{o['metadata']['name']}?fieldManager=test&fieldValidation=Strict"
            status, body = c.call("PATCH", path, o, content_type=APPLY)
            assert status in (200, 201), body
            made[o["kind"]] = body
    assert made["Service"]["spec"]["trafficDistribution"] == "PreferSameNode"
    assert made["Service"]["spec"]["selector"] == service["spec"]["selector"]
    corefile = os.path.join(folder, "Corefile")
    with open(corefile, "w", encoding="utf-8") as f:
        f.write(made["ConfigMap"]["data"]["Corefile"])
    subprocess.run([server.fairlead_program(), "check", corefile], check=True)
    with open(corefile, encoding="utf-8") as f:
        text = f.read()
    for kind in ("Deployment", "DaemonSet"):
        pod = made[kind]["spec"]["template"]
        container = pod["spec"]["containers"][0]
        mounts = [m["mountPath"] for m in container["volumeMounts"]]
        files = [word for line in text.splitlines() if line.split()[:1] in (["keys"], ["agent_tls"]) for word in line.split()[1:] if word[0] == "/"]
        assert len(files) == 4 and all(os.path.dirname(file) in mounts for file in files)
        assert pod["metadata"]["labels"].items() >= service["spec"]["selector"].items()
        assert pod["spec"]["serviceAccountName"] == made["ServiceAccount"]["metadata"]["name"]
        # The socket and the node's name belong together: without them all agents are asked by TLS.
        assert ("/run/fairlead" in mounts, [e["name"] for e in container.get("env", [])]) == (
            (True, ["NODE_NAME"]) if kind == "DaemonSet" else (False, []))


def scenario(folder):
    with Audited(USER, TOKEN) as c:
        install(c)
        check_manifests(c)
        check_server_manifests(c, folder)
        namespace(c, "web")
        agent = run_agent(c, folder)
        try:
            make_firewall(c, "web", [rule("0.0.0.0/0", "Deny")])
            until(lambda: c.call("GET", f"{MAPS}/fairlead-node-n1")[1].get("data", {}).get("firewalls", "").startswith("web "))
            until(lambda: not granted(c) - used(c) - RARE)
            check_reports(c)
        finally:
            agent.terminate()
            assert agent.wait(20) == 0
        # The policy is what refused; the roles were enough.
        assert {r for r in c.refused() if r[2] not in ("other", "fairlead-node-n2")} == set()
        assert used(c) - granted(c) == set()


def test_roles_policy_and_manifests(tmp_path):
    """EF-P8: the agent has what it needs and nothing more."""
    space = node_network.Namespace()
    try:
        # The API server wants a default route, whatever is there.
        for words in ("link add up0 type veth peer name up1", "link set up0 up", "link set up1 up", "addr add 192.0.2.9/24 dev up0",
                      "route add default via 192.0.2.1"):
            space.run("ip", *words.split())
        space.call(lambda: scenario(str(tmp_path)))
    finally:
        space.close()
