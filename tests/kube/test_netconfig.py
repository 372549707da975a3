# SPDX-License-Identifier: GPL-3.0-or-later
"""`fairlead netconfig` against a real API server with CRDs as Cluster API and its vSphere provider install them: the
field `nameservers` of an IPAddress is dropped there, and the annotation carries it."""
import json
import os
import re
import subprocess
import time

import pytest
import yaml

from crdlib import CRD_PATH, create, established, serves
from lib import server
from lib.cluster import Cluster

EXAMPLE = os.path.join(server.ROOT, "examples", "machines")
NS = "vsphere-site1"
ANNOTATION = "ipam.fairlead.dev/nameservers"
READER = "token-of-a-reader"
RIGHTS_SECONDS = 30
TEXT = {"type": "string"}
REF = {"type": "object", "properties": {"apiGroup": TEXT, "kind": TEXT, "name": TEXT}}
ANYTHING = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
# What the provider of addresses knows of an IPAddress; unknown fields are dropped.
ADDRESS = {"type": "object", "properties": {"address": TEXT, "prefix": {"type": "integer"}, "gateway": TEXT,
                                            "claimRef": REF, "poolRef": REF}}


def crd(group, version, kind, spec):
    plural = kind.lower() + ("es" if kind.endswith("s") else "s")
    schema = {"type": "object", "properties": {"spec": spec, "status": ANYTHING}}
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": f"{plural}.{group}",
                         "annotations": {"api-approved.kubernetes.io": "https://github.com/kubernetes-sigs/cluster-api"}},
            "spec": {"group": group, "scope": "Namespaced",
                     "names": {"kind": kind, "plural": plural, "singular": kind.lower()},
                     "versions": [{"name": version, "served": True, "storage": True, "schema": {"openAPIV3Schema": schema},
                                   "subresources": {"status": {}}}]}}


@pytest.fixture(scope="module")
def cluster():
    with Cluster(users={READER: ("reader", ["system:authenticated"])}, rbac=True) as c:
        yield c


@pytest.fixture(scope="module")
def kinds(cluster):
    for row in (("infrastructure.cluster.x-k8s.io", "v1beta1", "VSphereVM", ANYTHING),
                ("infrastructure.cluster.x-k8s.io", "v1beta1", "VSphereMachine", ANYTHING),
                ("infrastructure.cluster.x-k8s.io", "v1beta1", "VSphereMachineTemplate", ANYTHING),
                ("ipam.cluster.x-k8s.io", "v1beta1", "IPAddress", ADDRESS),
                ("ipam.cluster.x-k8s.io", "v1beta1", "IPAddressClaim", ANYTHING),
                ("ipam.cluster.x-k8s.io", "v1alpha2", "InClusterIPPool", ANYTHING)):
        status, answer = create(cluster, CRD_PATH, json.dumps(crd(*row)))
        assert status == 201, answer
        serves(cluster, established(cluster, answer["metadata"]["name"]))
    assert create(cluster, "/api/v1/namespaces", json.dumps({"metadata": {"name": NS}}))[0] == 201
    return cluster


def documents(name):
    with open(os.path.join(EXAMPLE, name), encoding="utf-8") as f:
        return list(yaml.safe_load_all(f))


def put(cluster, plural, item):
    group = item["apiVersion"].split("/")[0]
    item = {**item, "apiVersion": f"{group}/v1beta1"}
    status, answer = create(cluster, f"/apis/{group}/v1beta1/namespaces/{NS}/{plural}", json.dumps(item))
    assert status == 201, answer
    return answer


def bind(cluster, name):
    path = f"/apis/ipam.cluster.x-k8s.io/v1beta1/namespaces/{NS}/ipaddressclaims/{name}/status"
    status, answer = cluster.call("PATCH", path, json.dumps({"status": {"addressRef": {"name": name}}}).encode(),
                                  content_type="application/merge-patch+json")
    assert status == 200, answer


def netconfig(*args, status=0):
    done = subprocess.run([server.fairlead_program(), "netconfig", *args], capture_output=True, text=True, timeout=60)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout if status == 0 else done.stderr


def put_claim(cluster, address):
    """The claim of an address, not bound."""
    put(cluster, "ipaddressclaims", {"apiVersion": "ipam.cluster.x-k8s.io/v1beta1", "kind": "IPAddressClaim",
                                     "metadata": {"name": address["metadata"]["name"]}, "spec": {"poolRef": address["spec"]["poolRef"]}})


def test_machine_from_the_api(kinds):
    """Rendered only when the last claim is bound, then with the bytes that the files give."""
    at = ["--kubeconfig", kinds.kubeconfig(), "-n", NS, "--machine", "example"]
    assert "has no VSphereVM, VSphereMachine or VSphereMachineTemplate 'example'" in netconfig(*at, status=1)
    put(kinds, "vspherevms", documents("vspherevm.yaml")[0])
    names = []
    for address in documents("addresses.yaml"):
        name = address["metadata"]["name"]
        names.append(name)
        put_claim(kinds, address)
        if "nameservers" in address["spec"]:
            address["metadata"]["annotations"] = {ANNOTATION: json.dumps(address["spec"]["nameservers"])}
        assert "nameservers" not in put(kinds, "ipaddresses", address)["spec"]
    for bound in reversed(names):
        waiting = re.findall(r"IPAddressClaim \S+/(\S+): the claim '\1' has no address yet", netconfig(*at, status=1))
        assert waiting == names[:names.index(bound) + 1]
        bind(kinds, bound)
    assert netconfig(*at) == netconfig("-f", EXAMPLE)
    assert netconfig(*at, "-o", "merged") == netconfig("-f", EXAMPLE, "-o", "merged")


@pytest.mark.parametrize("kind, source", [("VSphereMachine", "vspherevm.yaml"), ("VSphereMachineTemplate", "template.yaml")])
def test_other_kinds_of_machines(kinds, tmp_path, kind, source):
    """IP-3, IP-12: what has no VSphereVM yet is configured by its VSphereMachine or its template, as from files; a VSphereVM comes first."""
    name = f"of-{kind.lower()}"
    meta = {"name": name, "namespace": NS}
    at = ["--kubeconfig", kinds.kubeconfig(), "-n", NS, "--machine", name]
    assert f"has no VSphereVM, VSphereMachine or VSphereMachineTemplate '{name}'" in netconfig(*at, status=1)
    machine = {**documents(source)[0], "kind": kind, "metadata": meta}
    addresses = yaml.safe_load(json.dumps(documents("addresses.yaml")).replace('"example-', f'"{name}-'))
    put(kinds, f"{kind.lower()}s", machine)
    for address in addresses:
        if "nameservers" in address["spec"]:
            address["metadata"]["annotations"] = {ANNOTATION: json.dumps(address["spec"]["nameservers"])}
        put_claim(kinds, address)
        put(kinds, "ipaddresses", address)
    names = [address["metadata"]["name"] for address in addresses]
    assert re.findall(r"IPAddressClaim \S+/(\S+): the claim '\1' has no address yet", netconfig(*at, status=1)) == names
    for claim in names:
        bind(kinds, claim)
    (tmp_path / "objects.yaml").write_text(yaml.safe_dump_all([machine, *addresses]))
    assert netconfig(*at) == netconfig("-f", str(tmp_path / "objects.yaml"))
    assert netconfig(*at, "-o", "merged") == netconfig("-f", EXAMPLE, "-o", "merged")
    put(kinds, "vspherevms", {**machine, "kind": "VSphereVM", "spec": {"network": {"devices": [{"ipAddrs": ["192.0.2.1/24"]}]}}})
    devices = yaml.safe_load(netconfig(*at))["network"]["ethernets"]
    assert [d["addresses"] for d in devices.values()] == [["192.0.2.1/24"]]


def test_rights_that_are_needed(kinds):
    """Reading the machine, its claims and its addresses is enough; pools and defaults are left out, with a warning."""
    at = ["--kubeconfig", kinds.kubeconfig(READER), "-n", NS, "--machine", "example"]
    assert "forbidden" in netconfig(*at, status=1)
    rules = [{"apiGroups": [group], "resources": resources, "verbs": ["get"]} for group, resources in (
        ("infrastructure.cluster.x-k8s.io", ["vspherevms"]), ("ipam.cluster.x-k8s.io", ["ipaddressclaims", "ipaddresses"]))]
    rbac = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{NS}"
    subject = {"kind": "User", "name": "reader", "apiGroup": "rbac.authorization.k8s.io"}
    role = {"kind": "Role", "name": "reader", "apiGroup": "rbac.authorization.k8s.io"}
    for plural, body in (("roles", {"rules": rules}), ("rolebindings", {"subjects": [subject], "roleRef": role})):
        status, answer = create(kinds, f"{rbac}/{plural}", json.dumps({"metadata": {"name": "reader"}, **body}))
        assert status == 201, answer
    end = time.monotonic() + RIGHTS_SECONDS
    while True:  # a new role is in force a moment later
        done = subprocess.run([server.fairlead_program(), "netconfig", *at], capture_output=True, text=True, timeout=60)
        if done.returncode == 0:
            break
        assert time.monotonic() < end, done.stderr
    assert done.stdout == netconfig("-f", EXAMPLE)
    assert "warning: InClusterIPPool vsphere-site1/test-pool-1 is left out: " in done.stderr
    assert "warning: ConfigMap fairlead/fairlead-ipam is left out: " in done.stderr
