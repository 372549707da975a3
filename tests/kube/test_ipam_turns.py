# SPDX-License-Identifier: GPL-3.0-or-later
"""The turns of claims that wait for an address, on a real API server and on the embedded one: the oldest is served first, also
after a start, a pause and for a pool that comes late; a claim that cannot be served holds nobody up."""
import re
import time

import pytest

import crdlib
from bothlib import c as served, embedded, real  # noqa: F401 (fixtures)
from controllerlib import namespace, start, until
from ipamlib import (addresses_path, are_turns_fair, bound, claims_path, delete, get, make, make_claim, make_pool, patch, pools_path,
                     wait_bound, wait_reason)
from lib.cluster import Cluster

PAUSED = "cluster.x-k8s.io/paused"


@pytest.fixture(scope="module")
def c(served):  # noqa: F811
    if isinstance(served, Cluster):
        crdlib.apply_all(served, group="cluster.x-k8s.io")
    return served


class Replica:
    """The one process, which a test may kill and start again."""

    def __init__(self, c):
        self.c = c
        self.start()

    def start(self):
        self.process = start(self.c.kubeconfig(getattr(self.c, "system", None)), "--no-election", controllers="ipam")
        self.process.wait_line("leading as")


@pytest.fixture(scope="module")
def controller(c):
    replica = Replica(c)
    yield replica
    assert replica.process.stop() == 0, replica.process.text()


@pytest.fixture
def ns(c, request):
    name = request.node.originalname.replace("_", "-")[:50]
    namespace(c, name)
    yield name
    until(lambda: are_turns_fair(c, name))


def clusters_path(ns, name=""):
    return f"/apis/cluster.x-k8s.io/v1beta2/namespaces/{ns}/clusters" + (f"/{name}" if name else "")


def make_cluster(c, ns, name, paused=False):
    make(c, clusters_path(ns), {"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "metadata": {"name": name},
                                "spec": {"paused": paused}})


def make_aged_claims(c, ns, names, **kw):
    """Each is a second younger than the one before it: creationTimestamp has seconds, in which names decide."""
    for name in names:
        second = int(time.time())
        make_claim(c, ns, name, "pool", **kw)
        until(lambda: int(time.time()) > second, 3)


def wait_served(c, ns, served, waiting):
    for name in served:
        wait_bound(c, ns, name)
    for name in waiting:
        wait_reason(c, ns, name, "PoolExhausted")
        assert bound(c, ns, name) is None


def test_deleted_claim_without_address_needs_no_grace(c, controller, ns):
    """PR-9, PR-11: a claim that never had an address goes at once, and those behind it are served."""
    make_pool(c, ns, "pool", ["10.20.0.5"], addressReuseGracePeriodSeconds=3600)
    make_claim(c, ns, "holder", "pool")
    wait_bound(c, ns, "holder")
    for name in ["w1", "w2"]:
        make_claim(c, ns, name, "pool")
        wait_reason(c, ns, name, "PoolExhausted")
    delete(c, claims_path(ns, "w1"))
    until(lambda: get(c, claims_path(ns, "w1")) is None)
    patch(c, pools_path(ns, "pool"), {"spec": {"addresses": ["10.20.0.5-10.20.0.6"]}})
    assert wait_bound(c, ns, "w2") == "10.20.0.6"
    # One that has an address still rests.
    delete(c, claims_path(ns, "w2"))
    make_claim(c, ns, "w3", "pool")
    wait_reason(c, ns, "w3", "PoolExhausted")
    assert get(c, claims_path(ns, "w2"))["metadata"]["deletionTimestamp"]


def test_claim_without_its_cluster_holds_nobody_up(c, controller, ns):
    """CT-2, PR-9: the Cluster of the oldest waiting claim is deleted; the next claim gets the address."""
    make_cluster(c, ns, "cl")
    make_pool(c, ns, "pool", ["10.21.0.5"])
    make_claim(c, ns, "holder", "pool")
    wait_bound(c, ns, "holder")
    make_claim(c, ns, "a-old", "pool", labels={"cluster.x-k8s.io/cluster-name": "cl"})
    make_claim(c, ns, "b-new", "pool")
    for name in ["a-old", "b-new"]:
        wait_reason(c, ns, name, "PoolExhausted")
    delete(c, clusters_path(ns, "cl"))
    wait_reason(c, ns, "a-old", "AllocationFailed")
    delete(c, claims_path(ns, "holder"))
    assert wait_bound(c, ns, "b-new") == "10.21.0.5"


def test_order_after_a_start(c, controller, ns):
    """PR-9: a process that starts with waiting claims and free addresses serves the oldest."""
    make_pool(c, ns, "pool", ["10.22.0.10"])
    make_claim(c, ns, "holder", "pool")
    wait_bound(c, ns, "holder")
    make_aged_claims(c, ns, ["f", "e", "d", "c", "b", "a"])
    wait_served(c, ns, [], "abcdef")
    controller.process.kill()
    patch(c, pools_path(ns, "pool"), {"spec": {"addresses": ["10.22.0.10-10.22.0.12"]}})
    controller.start()
    wait_served(c, ns, "fe", "abcd")


def test_order_after_a_pause(c, controller, ns):
    """PR-9, PR-10: claims that were made while their pool was paused are served by age."""
    make_pool(c, ns, "pool", ["10.23.0.10-10.23.0.11"])
    patch(c, pools_path(ns, "pool"), {"metadata": {"annotations": {PAUSED: "true"}}})
    make_aged_claims(c, ns, ["f", "e", "d", "c", "b", "a"])
    patch(c, pools_path(ns, "pool"), {"metadata": {"annotations": {PAUSED: None}}})
    wait_served(c, ns, "fe", "abcd")


def test_order_of_a_late_pool(c, controller, ns):
    """PR-9: claims that were made before their pool are served by age; those that cannot be served are passed over."""
    make_aged_claims(c, ns, ["h"], annotations={PAUSED: ""})
    make_aged_claims(c, ns, ["g"], cluster="nowhere")
    make_aged_claims(c, ns, ["f", "e", "d", "c", "b", "a"])
    wait_reason(c, ns, "a", "PoolNotReady")
    make_pool(c, ns, "pool", ["10.24.0.10-10.24.0.11"])
    wait_served(c, ns, "fe", "abcd")


def shared_with(c, ns, name):
    """The pools of the namespace that the condition Overlapping names."""
    found = [x for x in get(c, pools_path(ns, name)).get("status", {}).get("conditions", []) if x["type"] == "Overlapping"]
    return re.findall(rf"InClusterIPPool '{ns}/(\w+)' \(first shared one: ", found[0]["message"]) if found else []


def test_start_with_bound_claims(c, controller, ns):
    """Claims that are bound need no pass after a start; those whose objects were changed meanwhile have theirs."""
    make_pool(c, ns, "pool", ["10.25.0.0/24"])
    for name in ["o1", "o2", "o3"]:
        make_pool(c, ns, name, ["10.26.0.0/28"])
    for i in range(100):
        make_claim(c, ns, f"c{i}", "pool")
    for i in range(100):
        wait_bound(c, ns, f"c{i}")
    until(lambda: all(len(shared_with(c, ns, name)) == 2 for name in ["o1", "o2", "o3"]))
    before = [get(c, pools_path(ns, name)) for name in ["o1", "o2", "o3"]]
    controller.process.kill()
    patch(c, addresses_path(ns, "c7"), {"metadata": {"finalizers": None, "ownerReferences": None}})
    patch(c, claims_path(ns, "c8"), {"metadata": {"finalizers": None}})
    delete(c, claims_path(ns, "c8"))
    make_claim(c, ns, "late", "pool")
    controller.start()
    wait_bound(c, ns, "late")
    until(lambda: len(get(c, addresses_path(ns, "c7"))["metadata"].get("ownerReferences", [])) == 2)
    until(lambda: get(c, addresses_path(ns, "c8")) is None)
    until(lambda: get(c, pools_path(ns, "pool"))["status"]["ipAddresses"]["used"] == 100)
    assert controller.process.looks() < 100
    assert [get(c, pools_path(ns, name)) for name in ["o1", "o2", "o3"]] == before
