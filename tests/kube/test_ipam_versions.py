# SPDX-License-Identifier: GPL-3.0-or-later
"""The controller ipam beside Cluster API's own CRDs: releases before 1.11 have IPAddress, IPAddressClaim and Cluster in v1beta1
only, the first ones have addresses and claims in v1alpha1, and none of them knows spec.nameservers of an IPAddress. Then the
annotation carries the name servers to `fairlead netconfig`."""
import contextlib
import json
import os
import subprocess

import pytest
import yaml

from controllerlib import config_map, events, namespace, start, until
from crdlib import CRD_PATH, CRDS, apply_all, create, established, serves
from ipamlib import (GLOBAL_POOL, GROUP, POOL, addresses_path, get, make, make_claim, make_pool, patch, path_of, pools_path,
                     wait_bound)
from lib import server
from lib.cluster import Cluster

ANNOTATION = "ipam.fairlead.dev/nameservers"
ANYTHING = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
NAMESERVERS = {"search": ["corp.example"], "addresses": ["10.0.0.53"]}


def definition(name, version):
    """A shipped CRD as an older release has it: one version, and no name servers."""
    with open(os.path.join(CRDS, name), encoding="utf-8") as f:
        crd = yaml.safe_load(f)
    found = [v for v in crd["spec"]["versions"] if v["name"] == version] or crd["spec"]["versions"][:1]
    found[0].update(name=version, served=True, storage=True)
    crd["spec"]["versions"] = found
    if name.endswith("_ipaddresses.yaml"):
        del found[0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["nameservers"]
    if name.endswith("_globalinclusterippools.yaml"):
        del found[0]["schema"]["openAPIV3Schema"]["properties"]["status"]["properties"]["conditions"]
    return crd


def vsphere_vms(version):
    schema = {"type": "object", "properties": {"spec": ANYTHING, "status": ANYTHING}}
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "vspherevms.infrastructure.cluster.x-k8s.io"},
            "spec": {"group": "infrastructure.cluster.x-k8s.io", "scope": "Namespaced",
                     "names": {"kind": "VSphereVM", "plural": "vspherevms", "singular": "vspherevm"},
                     "versions": [{"name": version, "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}]}}


@contextlib.contextmanager
def cluster_of(version, pools="v1alpha2"):
    """A real API server with addresses and claims in this version only."""
    with Cluster() as one:
        crds = [definition(f"{GROUP}_ipaddresses.yaml", version), definition(f"{GROUP}_ipaddressclaims.yaml", version),
                definition(f"{GROUP}_inclusterippools.yaml", pools), vsphere_vms("v1beta1"),
                definition(f"{GROUP}_globalinclusterippools.yaml", pools), definition("cluster.x-k8s.io_clusters.yaml", "v1beta1")]
        for crd in crds:
            status, answer = create(one, CRD_PATH, json.dumps(crd))
            assert status == 201, answer
        for crd in crds:
            serves(one, established(one, crd["metadata"]["name"]))
        yield one


@pytest.fixture(scope="module")
def c():
    with cluster_of("v1beta1") as one:
        yield one


@pytest.fixture(scope="module")
def controller(c):
    p = start(c.kubeconfig(), "--no-election", controllers="ipam")
    p.wait_line("leading as")
    yield p
    assert p.stop() == 0, p.text()


def old(plural, ns, name=None, version="v1beta1"):
    return path_of(plural, version, ns, name)


def claim(c, ns, name, pool="pool", version="v1beta1", **more):
    return make(c, old("ipaddressclaims", ns, version=version), {
        "apiVersion": f"{GROUP}/{version}", "kind": "IPAddressClaim", "metadata": {"name": name, **more},
        "spec": {"poolRef": {"apiGroup": GROUP, "kind": POOL, "name": pool}}})


def ready(c, ns, name, version="v1beta1"):
    found = (get(c, old("ipaddressclaims", ns, name, version)).get("status") or {}).get("conditions", [])
    return next((x for x in found if x["type"] == "Ready"), {})


def pool_condition(c, ns, name, kind):
    found = (get(c, pools_path(ns, name)).get("status") or {}).get("conditions", [])
    return next((x for x in found if x["type"] == kind), {})


def check_life_of_claims(c, version):
    """Bound, refused and released, with conditions in the form of these versions, the new form beside."""
    ns = "old"
    namespace(c, ns)
    make_pool(c, ns, "pool", ["10.0.0.10"])
    first = claim(c, ns, "a", version=version, labels={"cluster.x-k8s.io/cluster-name": "prod"})

    def ready_of(name):
        return ready(c, ns, name, version)
    until(lambda: ready_of("a").get("reason") == "AllocationFailed")
    assert ready_of("a")["severity"] == "Warning" and "observedGeneration" not in ready_of("a")
    make(c, f"/apis/cluster.x-k8s.io/v1beta1/namespaces/{ns}/clusters",
         {"apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "Cluster", "metadata": {"name": "prod"}, "spec": {}})
    until(lambda: ready_of("a").get("status") == "True")
    assert "severity" not in ready_of("a")
    status = get(c, old("ipaddressclaims", ns, "a", version))["status"]
    assert status["addressRef"] == {"name": "a"} and "deprecated" not in status
    if "v1beta2" in status:
        assert [(x["type"], x["reason"], x["observedGeneration"]) for x in status["v1beta2"]["conditions"]] == [("Ready", "Allocated", 1)]
    address = get(c, old("ipaddresses", ns, "a", version))
    owner = next(o for o in address["metadata"]["ownerReferences"] if o["controller"])
    assert (owner["apiVersion"], owner["uid"]) == (f"{GROUP}/{version}", first["metadata"]["uid"])
    claim(c, ns, "b", version=version)
    until(lambda: ready_of("b").get("reason") == "PoolExhausted")
    found = until(lambda: [e for e in events(c, ns) if e["reason"] == "PoolExhausted"])
    assert found[0]["regarding"]["apiVersion"] == f"{GROUP}/{version}"
    for name in "ab":
        c.call("DELETE", old("ipaddressclaims", ns, name, version))
    until(lambda: all(get(c, old(plural, ns, name, version)) is None
                      for plural in ("ipaddressclaims", "ipaddresses") for name in "ab"))


def test_v1beta1_only(c, controller):
    """CT-2, CT-6: claims, addresses and Clusters of v1beta1."""
    check_life_of_claims(c, "v1beta1")


def test_v1alpha1_only():
    """CT-2, CT-6: claims and addresses of v1alpha1 are served. Pools of v1alpha1, which have other fields, are not: the controller
    waits for v1alpha2, and says so."""
    with cluster_of("v1alpha1", pools="v1alpha1") as one:
        p = start(one.kubeconfig(), "--no-election", controllers="ipam")
        p.wait_line("watch of (Global)?InClusterIPPool: .*install its CRD")
        until(lambda: "controller ipam waits for the list of InClusterIPPool" in p.get("/readyz")[1])
        assert p.get("/readyz")[0] == 503
        for plural in ("inclusterippools", "globalinclusterippools"):
            crd = definition(f"{GROUP}_{plural}.yaml", "v1alpha2")
            assert one.call("DELETE", f"{CRD_PATH}/{crd['metadata']['name']}")[0] == 200
            until(lambda: create(one, CRD_PATH, json.dumps(crd))[0] == 201)
            serves(one, established(one, crd["metadata"]["name"]))
        p.wait_line("leading as", 60)
        check_life_of_claims(one, "v1alpha1")
        assert p.stop() == 0, p.text()


def netconfig(c, ns):
    done = subprocess.run([server.fairlead_program(), "netconfig", "--kubeconfig", c.kubeconfig(), "-n", ns, "--machine", "vm",
                           "-o", "merged"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return yaml.safe_load(done.stdout)["nameservers"]


def machine(c, ns, *pools):
    make(c, f"/apis/infrastructure.cluster.x-k8s.io/v1beta1/namespaces/{ns}/vspherevms", {
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "VSphereVM", "metadata": {"name": "vm"},
        "spec": {"network": {"devices": [{"networkName": "n", "addressesFromPools": [
            {"apiGroup": GROUP, "kind": POOL, "name": pool} for pool in pools]}]}}})


def test_dropped_field(c, controller):
    """IP-14, 8.13: the CRD drops spec.nameservers of an address: the pool reports it, the annotation carries them to the machine."""
    ns = "pruned"
    namespace(c, ns)
    make_pool(c, ns, "pool", ["10.0.1.10"], nameservers=NAMESERVERS)
    until(lambda: pool_condition(c, ns, "pool", "FieldPruned").get("status") == "True")  # before its first claim
    machine(c, ns, "pool")
    claim(c, ns, "vm-0-0")
    until(lambda: ready(c, ns, "vm-0-0").get("status") == "True")
    address = get(c, old("ipaddresses", ns, "vm-0-0"))
    assert "nameservers" not in address["spec"]
    assert json.loads(address["metadata"]["annotations"][ANNOTATION]) == NAMESERVERS
    assert "spec.nameservers" in pool_condition(c, ns, "pool", "FieldPruned")["message"]
    # The annotation counts before the pool, which may have changed since (IP-11).
    patch(c, pools_path(ns, "pool"), {"spec": {"nameservers": {"search": ["new.example"], "addresses": ["10.0.0.54"]}}})
    assert netconfig(c, ns) == NAMESERVERS
    patch(c, old("ipaddresses", ns, "vm-0-0"), {"metadata": {"annotations": {ANNOTATION: None}}})
    assert netconfig(c, ns) == {"search": ["new.example"], "addresses": ["10.0.0.54"]}


def set_schema(c, ns, versions):
    """Puts these versions into the CRD of IPAddress, and waits until the server works with them."""
    path = f"{CRD_PATH}/ipaddresses.{GROUP}"
    has_field = "nameservers" in versions[0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    tried = {"apiVersion": f"{GROUP}/v1beta2", "kind": "IPAddress", "metadata": {"name": "tried"}, "spec": {
        "address": "10.0.4.99", "prefix": 24, "claimRef": {"name": "tried"}, "poolRef": {"apiGroup": GROUP, "kind": POOL, "name": "pool"},
        "nameservers": NAMESERVERS}}

    def is_written():
        crd = get(c, path)
        crd["spec"]["versions"] = versions
        return c.call("PUT", path, crd)[0] == 200

    def is_served():
        status, body = c.call("POST", addresses_path(ns) + "?dryRun=All", tried)
        return status == 201 and ("nameservers" in body["spec"]) == has_field
    until(is_written)
    until(is_served)


def test_field_dropped_later():
    """IP-14: the CRD loses spec.nameservers while the controller runs, as when an older release of Cluster API is installed over it: the
    next address has the annotation when its claim is bound, and the pool reports it, until the field is back. With a real API
    server only: the embedded one has no CRDs that could change."""
    with Cluster() as one:
        apply_all(one, group="cluster.x-k8s.io")
        p = start(one.kubeconfig(), "--no-election", controllers="ipam")
        p.wait_line("leading as")
        ns = "dropped-later"
        namespace(one, ns)
        make_pool(one, ns, "pool", ["10.0.4.10-10.0.4.20"], nameservers=NAMESERVERS)

        def nameservers_of(name):
            """Of a new address: those of its spec, those of its annotation."""
            make_claim(one, ns, name, "pool")
            wait_bound(one, ns, name)
            address = get(one, addresses_path(ns, name))
            return address["spec"].get("nameservers"), json.loads(address["metadata"].get("annotations", {}).get(ANNOTATION, "null"))

        def is_pruned(status):
            return pool_condition(one, ns, "pool", "FieldPruned").get("status") == status
        assert nameservers_of("kept") == (NAMESERVERS, None)
        until(lambda: is_pruned("False"))
        shipped = get(one, f"{CRD_PATH}/ipaddresses.{GROUP}")["spec"]["versions"]
        older = json.loads(json.dumps(shipped))
        for version in older:
            del version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["nameservers"]
        set_schema(one, ns, older)
        assert nameservers_of("dropped") == (None, NAMESERVERS)
        until(lambda: is_pruned("True"))
        assert nameservers_of("dropped-again") == (None, NAMESERVERS)
        set_schema(one, ns, shipped)
        assert nameservers_of("back")[0] == NAMESERVERS
        until(lambda: is_pruned("False"))
        assert nameservers_of("kept-again") == (NAMESERVERS, None)
        assert p.stop() == 0, p.text()


def test_pool_without_conditions(c, controller):
    """The in-cluster provider's pools have no conditions: numbers are written, problems are Events."""
    ns = "events"
    namespace(c, ns)
    make_pool(c, None, "wide", ["10.0.3.10-10.0.3.20"], nameservers={"addresses": [f"10.0.0.{i}" for i in range(1, 6)]})
    make(c, old("ipaddressclaims", ns), {
        "apiVersion": f"{GROUP}/v1beta1", "kind": "IPAddressClaim", "metadata": {"name": "a"},
        "spec": {"poolRef": {"apiGroup": GROUP, "kind": GLOBAL_POOL, "name": "wide"}}})
    until(lambda: ready(c, ns, "a").get("status") == "True")
    until(lambda: get(c, pools_path(None, "wide")).get("status") ==
          {"ipAddresses": {"total": 11, "used": 1, "free": 10, "outOfRange": 0}})

    def reasons():
        return {e["reason"] for e in events(c, "default") if e["regarding"]["name"] == "wide"}
    until(lambda: reasons() == {"GuestLimits", "NameserversDropped"})
    version = get(c, pools_path(None, "wide"))["metadata"]["resourceVersion"]
    passes, numbers = controller.looks(), iter(range(1000))

    def pass_again():
        """A change of an address starts a pass of its pool."""
        patch(c, old("ipaddresses", ns, "a"), {"metadata": {"labels": {"x": str(next(numbers))}}})
        return controller.looks() >= passes + 3
    until(pass_again, every=0.3)
    assert get(c, pools_path(None, "wide"))["metadata"]["resourceVersion"] == version


def test_default_nameservers(c, controller):
    """IP-2, IP-14: a pool without name servers has those of the ConfigMap, and so has the machine."""
    ns = "defaults"
    namespace(c, ns)
    wanted = {"search": ["default.example"], "addresses": ["10.0.0.99"]}
    config_map(c, "default", "fairlead-ipam", {"nameservers": yaml.safe_dump(wanted)})
    make_pool(c, ns, "pool", ["10.0.2.10-10.0.2.20"])
    machine(c, ns, "pool")

    def from_default():
        """The default may reach the controller after the first claim did."""
        name = f"try-{next(numbers)}"
        claim(c, ns, name)
        until(lambda: ready(c, ns, name).get("status") == "True")
        return json.loads(get(c, old("ipaddresses", ns, name))["metadata"].get("annotations", {}).get(ANNOTATION, "{}"))
    numbers = iter(range(100))
    assert until(from_default) == wanted
    claim(c, ns, "vm-0-0")
    until(lambda: ready(c, ns, "vm-0-0").get("status") == "True")
    assert netconfig(c, ns) == wanted
    patch(c, old("ipaddresses", ns, "vm-0-0"), {"metadata": {"annotations": {ANNOTATION: None}}})
    assert netconfig(c, ns) == wanted
