# SPDX-License-Identifier: GPL-3.0-or-later
"""Fairlead as an extension of Gardener: the registration, and the chart as gardenlet and gardener-operator render it."""
import copy
import json
import os
import subprocess

import pytest
import yaml

from bothlib import embedded  # noqa: F401 (fixture)
from controllerlib import start, until
from lib import server
from lib.cluster import Cluster

FOLDER = os.path.join(server.ROOT, "deploy", "gardener")
NS = "extension-fairlead-x7k2p"
SEED = {"garden": {"clusterIdentity": "x"}, "seed": {"name": "s", "provider": "local"}}  # what gardenlet adds
RUNTIME = {"runtimeCluster": {"enabled": True, "priorityClassName": "garden-prio"}}  # what gardener-operator adds


def load(path):
    with open(os.path.join(server.ROOT, path), encoding="utf-8") as f:
        return list(yaml.safe_load_all(f))


def merge(into, more):
    """As Helm merges values."""
    for key, value in more.items():
        into[key] = merge(into.get(key) or {}, value) if isinstance(value, dict) else value
    return into


def render(values):
    """The chart's objects by kind."""
    data = {"Values": merge(load("deploy/gardener/chart/values.yaml")[0], copy.deepcopy(values)), "Release": {"Namespace": NS, "Name": "x"}}
    found = {}
    for name in sorted(os.listdir(f"{FOLDER}/chart/templates")):
        with open(f"{FOLDER}/chart/templates/{name}", encoding="utf-8") as f:
            text = json.dumps({"template": f.read(), "data": data})
        done = subprocess.run([os.path.join(os.path.dirname(server.fairlead_program()), "tests/kube/kube-chart")], input=text, capture_output=True,
                              text=True, timeout=60)
        assert done.returncode == 0, f"{name}: {done.stderr}"
        found.update({o["kind"]: o for o in yaml.safe_load_all(done.stdout)})
    return found


def args_of(objects):
    return objects["Deployment"]["spec"]["template"]["spec"]["containers"][0]["args"]


def test_registration():
    """DR-55: both forms list DNSRecord once for each type that the program serves; the chart's default types are the same."""
    types = ["local", "powerdns", "rfc2136"]
    text = subprocess.run([server.fairlead_program(), "controller", "--controllers", "dnsrecord", "--dnsrecord-types", "none"], capture_output=True,
                          text=True, timeout=60).stderr
    assert f"is none of {', '.join(types[:1])}" in text and all(t in text for t in types), text
    extension, = load("deploy/gardener/extension.yaml")
    deployment, registration = load("deploy/gardener/controller-registration.yaml")
    wanted = [{"kind": "DNSRecord", "type": t} for t in types]
    assert extension["kind"] == "Extension" and extension["spec"]["resources"] == wanted
    assert registration["kind"] == "ControllerRegistration" and registration["spec"]["resources"] == wanted
    assert registration["spec"]["deployment"]["deploymentRefs"] == [{"name": deployment["metadata"]["name"]}]
    assert deployment["helm"] == extension["spec"]["deployment"]["extension"]["helm"] | {"values": extension["spec"]["deployment"]["extension"]["values"]}
    values = load("deploy/gardener/chart/values.yaml")[0]["controllers"]
    assert values["dnsrecord"]["types"].split(",") == types
    # names of Gardener's extensions, so that values written for them are accepted
    assert {"concurrentSyncs", "providerClientQPS", "providerClientBurst", "providerClientWaitTimeout"} <= set(values["dnsrecord"])
    assert "renewIntervalSeconds" in values["heartbeat"] and "ignoreOperationAnnotation" in values


def test_roles_are_the_shipped_ones():
    """DR-55: the rules that tests/kube/test_dnsrecord_rbac.py holds, for the namespace of the release."""
    shipped = {o["kind"]: o for o in load("deploy/rbac/dnsrecord.yaml")}
    chart = render({"gardener": SEED})
    for kind in ("Role", "ClusterRole"):
        assert chart[kind]["rules"] == shipped[kind]["rules"]
        binding = chart[f"{kind}Binding"]
        assert binding["roleRef"]["name"] == chart[kind]["metadata"]["name"]
        assert binding["subjects"] == [{"kind": "ServiceAccount", "name": chart["ServiceAccount"]["metadata"]["name"], "namespace": NS}]
    assert chart["Deployment"]["spec"]["template"]["spec"]["serviceAccountName"] == chart["ServiceAccount"]["metadata"]["name"]
    ours, = [o for o in load("deploy/operator/dnsrecord.yaml") if o["kind"] == "Deployment"]
    for key in ("securityContext", "readinessProbe", "livenessProbe", "resources", "command"):
        assert chart["Deployment"]["spec"]["template"]["spec"]["containers"][0][key] == ours["spec"]["template"]["spec"]["containers"][0][key]


@pytest.mark.parametrize("values, classes, more", [
    ({"gardener": SEED}, "seed,shoot", []), ({"gardener": {}}, "seed,shoot", []), ({"gardener": RUNTIME}, "garden", []),
    ({"gardener": SEED, "controllers": {"ignoreOperationAnnotation": True, "heartbeat": {"renewIntervalSeconds": 1},
                                        "dnsrecord": {"classes": "shoot", "concurrentSyncs": 20}}}, "shoot", ["--dnsrecord-by-generation"])])
def test_values(embedded, values, classes, more):  # noqa: F811
    """DR-55, DR-54, DR-56: in a seed, without `.gardener.seed`, in the garden's runtime cluster; the program accepts what the chart writes."""
    chart = render(values)
    args = args_of(chart)
    assert f"--dnsrecord-classes={classes}" in args and [a for a in args if a == "--dnsrecord-by-generation"] == more
    prio = chart["Deployment"]["spec"]["template"]["spec"]["priorityClassName"]
    assert prio == ("garden-prio" if classes == "garden" else "gardener-system-900")
    own = [a for a in args if not a.startswith(("--listen", "--controllers"))]
    p = start(embedded.kubeconfig(embedded.system), *own, controllers="dnsrecord")
    p.wait_line("leading as")
    lease = "/apis/coordination.k8s.io/v1/namespaces/default/leases/gardener-extension-heartbeat"
    seconds = values.get("controllers", {}).get("heartbeat", {}).get("renewIntervalSeconds", 30)
    until(lambda: embedded.call("GET", lease)[1].get("spec", {}).get("leaseDurationSeconds") == seconds)
    assert p.stop() == 0, p.text()


def test_server_accepts_the_objects():
    """DR-55: a real API server validates all of them."""
    paths = {"ServiceAccount": f"/api/v1/namespaces/{NS}/serviceaccounts", "Deployment": f"/apis/apps/v1/namespaces/{NS}/deployments",
             **{k: f"/apis/rbac.authorization.k8s.io/v1/namespaces/{NS}/{k.lower()}s" for k in ("Role", "RoleBinding")},
             **{k: f"/apis/rbac.authorization.k8s.io/v1/{k.lower()}s" for k in ("ClusterRole", "ClusterRoleBinding")}}
    with Cluster() as c:
        assert c.call("POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NS}})[0] == 201
        for kind, o in render({"gardener": SEED}).items():
            status, body = c.call("POST", f"{paths[kind]}?fieldValidation=Strict", o)
            assert status == 201, body
