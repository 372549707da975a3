# SPDX-License-Identifier: GPL-3.0-or-later
"""Machines of Cluster API's vSphere provider on a real API server: empty name servers of a VSphereVM's devices are filled before
its last claim is bound, since CAPV reads them then. The controller runs under its shipped roles."""
import itertools
import json

import pytest

import crdlib
from controllerlib import config_map, events, namespace, objects, start, until
from crdlib import CRD_PATH, create, established, serves
from ipamlib import GROUP, POOL, Log, claims_path, get, make, make_pool, patch, ready_of, version_of, wait_bound
from lib.cluster import Cluster, Embedded

INFRA = "infrastructure.cluster.x-k8s.io"
TOKEN = "ipam-token"
ANYTHING = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
DNS = {"one": {"search": ["one.example"], "addresses": ["10.0.0.1"]},
       "two": {"search": ["two.example"], "addresses": ["10.0.0.2", "10.0.0.1"]},
       "three": {"addresses": ["10.0.0.3"]}, "four": {"search": ["four.example"], "addresses": ["10.0.0.4"]}}
numbers = itertools.count()


def definition(kind, versions):
    plural = kind.lower() + "s"
    schema = {"type": "object", "properties": {"spec": ANYTHING, "status": ANYTHING}}
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": f"{plural}.{INFRA}"},
            "spec": {"group": INFRA, "scope": "Namespaced", "names": {"kind": kind, "plural": plural, "singular": kind.lower()},
                     "versions": [{"name": v, "served": True, "storage": v == versions[0], "schema": {"openAPIV3Schema": schema}}
                                  for v in versions]}}


def give(c, name):
    """Creates what a file of deploy/rbac has."""
    for o in objects(c, f"deploy/rbac/{name}.yaml"):
        group, plural = o["apiVersion"], o["kind"].lower() + "s"
        ns = o["metadata"].get("namespace")
        make(c, (f"/apis/{group}" if "/" in group else f"/api/{group}") + (f"/namespaces/{ns}" if ns else "") + f"/{plural}", o)


@pytest.fixture(scope="module")
def c():
    with Cluster(users={TOKEN: ("system:serviceaccount:fairlead:fairlead-ipam", ["system:authenticated"])}, rbac=True) as one:
        crdlib.apply_all(one, group="cluster.x-k8s.io")
        for kind in ("VSphereVM", "VSphereMachine"):
            status, answer = create(one, CRD_PATH, json.dumps(definition(kind, ["v1beta2", "v1beta1"])))
            assert status == 201, answer
            serves(one, established(one, answer["metadata"]["name"]))
        namespace(one, "fairlead")
        config_map(one, "fairlead", "fairlead-ipam", {"capv": "true"})
        give(one, "ipam")
        yield one


@pytest.fixture(scope="module")
def refused(c):
    """A claim whose machine could not be filled, since the role for it was missing; then the role exists."""
    p = start(c.kubeconfig(TOKEN, "fairlead"), "--no-election", controllers="ipam")
    p.wait_line("leading as")
    ns = place(c)
    vm = machine(c, ns, "v1beta2", [["one"]])
    claims(c, ns, vm, [(0, 0, "one")])
    until(lambda: ready_of(get(c, claims_path(ns, "vm-0-0")))[1] == "AllocationFailed")
    seen = get(c, claims_path(ns, "vm-0-0"))
    give(c, "ipam-capv")
    yield ns, seen
    assert p.stop() == 0, p.text()


def place(c):
    """A namespace with the pools."""
    ns = f"site-{next(numbers)}"
    namespace(c, ns)
    for i, (name, dns) in enumerate(DNS.items()):
        make_pool(c, ns, name, [f"10.{i}.0.10-10.{i}.0.20"], nameservers=dns)
    return ns


def infra(plural, ns, name=None, version="v1beta2"):
    return f"/apis/{INFRA}/{version}/namespaces/{ns}/{plural}" + (f"/{name}" if name else "")


def machine(c, ns, version, devices, **more):
    """A VSphereMachine and its VSphereVM; `devices`: names of pools, and further fields of a device by its number."""
    spec = {"network": {"devices": [{"networkName": "n", "addressesFromPools": [
        {"apiGroup": GROUP, "kind": POOL, "name": pool} for pool in pools], **more.get(f"device_{i}", {})}
        for i, pools in enumerate(devices)]}}
    owner = make(c, infra("vspheremachines", ns, version=version), {
        "apiVersion": f"{INFRA}/{version}", "kind": "VSphereMachine", "metadata": {"name": "machine"}, "spec": spec})
    return make(c, infra("vspherevms", ns, version=version), {
        "apiVersion": f"{INFRA}/{version}", "kind": "VSphereVM", "spec": spec, "metadata": {
            "name": "vm", "ownerReferences": [{"apiVersion": f"{INFRA}/{version}", "kind": "VSphereMachine", "name": "machine",
                                               "uid": owner["metadata"]["uid"]}]}})


def claims(c, ns, vm, wanted):
    for device, index, pool in wanted:
        make(c, claims_path(ns), {
            "apiVersion": f"{GROUP}/v1beta2", "kind": "IPAddressClaim", "spec": {"poolRef": {"apiGroup": GROUP, "kind": POOL, "name": pool}},
            "metadata": {"name": f"vm-{device}-{index}", "ownerReferences": [
                {"apiVersion": vm["apiVersion"], "kind": "VSphereVM", "name": "vm", "uid": vm["metadata"]["uid"]}]}})


def dns_of(o):
    return [(d.get("nameservers"), d.get("searchDomains")) for d in o["spec"]["network"]["devices"]]


def test_refusal_is_reported(c, refused):
    """8.14: a machine that may not be filled keeps its claim from being bound, with the reason; it is bound once it can be."""
    ns, seen = refused
    assert "addressRef" not in seen["status"]
    message = ready_of(seen)[2]
    assert "VSphereVM 'vm'" in message and "forbidden" in message
    assert wait_bound(c, ns, "vm-0-0", 60) == "10.0.0.10"
    assert dns_of(get(c, infra("vspherevms", ns, "vm"))) == [(["10.0.0.1"], ["one.example"])]


@pytest.mark.parametrize("order", list(itertools.permutations([(0, 0, "one"), (1, 0, "two"), (1, 1, "three")])),
                         ids=lambda order: "-".join(f"{d}{p}" for d, p, _ in order))
def test_filled_before_the_last_claim_is_bound(c, refused, order):
    """8.14, IP-4: in whatever order claims come, the VM has its name servers in an earlier version than that of the last binding."""
    ns = place(c)
    vm = machine(c, ns, "v1beta2", [["one"], ["two", "three"]])
    logs = [Log(c, infra("vspherevms", ns)), Log(c, claims_path(ns))]
    for one in order:
        claims(c, ns, vm, [one])
        wait_bound(c, ns, f"vm-{one[0]}-{one[1]}")
    expected = [(["10.0.0.1"], ["one.example"]), (["10.0.0.2", "10.0.0.1", "10.0.0.3"], ["two.example"])]
    now = get(c, infra("vspherevms", ns, "vm"))
    assert dns_of(now) == expected == dns_of(get(c, infra("vspheremachines", ns, "machine")))
    managers = {m["manager"] for m in now["metadata"]["managedFields"] if "nameservers" in json.dumps(m) or "f:devices" in json.dumps(m)}
    assert "fairlead-ipam" in managers
    last = max(version_of(get(c, claims_path(ns, f"vm-{d}-{p}"))) for d, p, _ in order)
    vms, bound = logs[0].stop(version_of(now)), logs[1].stop(last)
    filled = min(version_of(o) for _, o in vms if dns_of(o) == expected)
    first_bound = {}
    for _, o in bound:
        if o.get("status", {}).get("addressRef"):
            first_bound.setdefault(o["metadata"]["name"], version_of(o))
    assert len(first_bound) == 3 and filled < max(first_bound.values())


def test_version_that_is_no_longer_served(c, refused):
    """8.14: owner references keep the version in which they were written; a later CAPV serves others."""
    ns = place(c)
    vm = machine(c, ns, "v1beta2", [["one"]])
    owner = {**vm["metadata"]["ownerReferences"][0], "apiVersion": f"{INFRA}/v1alpha3"}
    patch(c, infra("vspherevms", ns, "vm"), {"metadata": {"ownerReferences": [owner]}})
    claims(c, ns, {**vm, "apiVersion": f"{INFRA}/v1alpha3"}, [(0, 0, "one")])
    wait_bound(c, ns, "vm-0-0")
    assert dns_of(get(c, infra("vspherevms", ns, "vm"))) == [(["10.0.0.1"], ["one.example"])]
    assert dns_of(get(c, infra("vspheremachines", ns, "machine"))) == [(["10.0.0.1"], ["one.example"])]


def test_version_that_leads_elsewhere(c, refused):
    """8.14: an owner reference whose version cannot be part of a path names no machine; the VSphereVM is filled all the same."""
    ns = place(c)
    vm = machine(c, ns, "v1beta2", [["one"]])
    owner = {**vm["metadata"]["ownerReferences"][0], "apiVersion": f"{INFRA}/.."}
    patch(c, infra("vspherevms", ns, "vm"), {"metadata": {"ownerReferences": [owner]}})
    claims(c, ns, vm, [(0, 0, "one")])
    wait_bound(c, ns, "vm-0-0")
    assert dns_of(get(c, infra("vspherevms", ns, "vm"))) == [(["10.0.0.1"], ["one.example"])]
    assert dns_of(get(c, infra("vspheremachines", ns, "machine"))) == [(None, None)]


def test_all_at_once(c, refused):
    """Claims that are bound side by side: the VM is filled before all are bound, and once."""
    for _ in range(5):
        ns = place(c)
        vm = machine(c, ns, "v1beta1", [["one"], ["two", "three"]])
        log = Log(c, infra("vspherevms", ns))
        claims(c, ns, vm, [(0, 0, "one"), (1, 0, "two"), (1, 1, "three")])
        names = ["vm-0-0", "vm-1-0", "vm-1-1"]
        for name in names:
            wait_bound(c, ns, name)
        now = get(c, infra("vspherevms", ns, "vm"))
        assert version_of(now) < max(version_of(get(c, claims_path(ns, name))) for name in names)
        seen = log.stop(version_of(now))
        assert [kind for kind, _ in seen] == ["MODIFIED"], seen


def test_what_is_cut_is_an_event(c, refused):
    """IP-15: each pool is within the limits of guests, the machine is not: an Event of the VM names what is left out."""
    ns = place(c)
    vm = machine(c, ns, "v1beta2", [["one", "two"], ["three", "four"]])
    claims(c, ns, vm, [(0, 0, "one"), (0, 1, "two"), (1, 0, "three"), (1, 1, "four")])
    for name in ("vm-0-0", "vm-0-1", "vm-1-0", "vm-1-1"):
        wait_bound(c, ns, name)
    assert dns_of(get(c, infra("vspherevms", ns, "vm"))) == [
        (["10.0.0.1", "10.0.0.2"], ["one.example", "two.example"]), (["10.0.0.3"], ["four.example"])]
    found = until(lambda: [e for e in events(c, ns) if e["reason"] == "NameserversCut"])
    assert [(e["regarding"]["kind"], e["regarding"]["name"], e["type"]) for e in found] == [("VSphereVM", "vm", "Warning")]
    assert "not written: server '10.0.0.4'" in found[0]["note"]


def test_own_settings_stay(c, refused):
    """IP-8: a field of a device that is set is not touched; the other one of the device is filled."""
    ns = place(c)
    vm = machine(c, ns, "v1beta2", [["one"], ["two"]], device_0={"nameservers": ["192.0.2.1"]},
                 device_1={"nameservers": ["192.0.2.2"], "searchDomains": ["own.example"]})
    claims(c, ns, vm, [(0, 0, "one"), (1, 0, "two")])
    for name in ("vm-0-0", "vm-1-0"):
        wait_bound(c, ns, name)
    assert dns_of(get(c, infra("vspherevms", ns, "vm"))) == [(["192.0.2.1"], ["one.example"]), (["192.0.2.2"], ["own.example"])]


def test_switched_off(c, refused):
    """Without the key nothing is touched; a claim that only is called so belongs to no machine."""
    ns = place(c)
    machine(c, ns, "v1beta2", [["one"]])
    make(c, claims_path(ns), {"apiVersion": f"{GROUP}/v1beta2", "kind": "IPAddressClaim", "metadata": {"name": "vm-0-0"},
                              "spec": {"poolRef": {"apiGroup": GROUP, "kind": POOL, "name": "one"}}})
    wait_bound(c, ns, "vm-0-0")
    assert dns_of(get(c, infra("vspherevms", ns, "vm"))) == [(None, None)]
    patch(c, "/api/v1/namespaces/fairlead/configmaps/fairlead-ipam", {"data": {"capv": "false"}})

    def left_alone():
        """The change may reach the controller after the first claim did."""
        other = place(c)
        claims(c, other, machine(c, other, "v1beta2", [["one"]]), [(0, 0, "one")])
        wait_bound(c, other, "vm-0-0")
        return dns_of(get(c, infra("vspherevms", other, "vm"))) == [(None, None)]
    until(left_alone)


def test_without_the_kind():
    """Where no VSphereVM exists, claims of one are bound as others are."""
    with Embedded() as c:
        config_map(c, "default", "fairlead-ipam", {"capv": "true"})
        p = start(c.kubeconfig(c.system), "--no-election", controllers="ipam")
        p.wait_line("leading as")
        make_pool(c, "default", "one", ["10.0.0.10"], nameservers=DNS["one"])
        claims(c, "default", {"apiVersion": f"{INFRA}/v1beta1", "metadata": {"uid": "00000000-0000-0000-0000-000000000001"}}, [(0, 0, "one")])
        assert wait_bound(c, "default", "vm-0-0") == "10.0.0.10"
        assert p.stop() == 0, p.text()
