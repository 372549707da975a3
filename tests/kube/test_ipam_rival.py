# SPDX-License-Identifier: GPL-3.0-or-later
"""`ipam` beside Cluster API's own in-cluster provider, on both APIs: while that renews its Lease, nothing is written."""
import datetime
import threading

import pytest

import crdlib
from bothlib import c as served, embedded, real  # noqa: F401 (fixtures)
from controllerlib import namespace, start, until
from ipamlib import (addresses_path, bound, claims_path, delete, get, items, make_claim, make_pool, patch, pools_path,
                     wait_bound)
from lib.cluster import Cluster

RIVAL_NS, RIVAL = "capi-ipam-in-cluster-system", "7bb7acb4.ipam.cluster.x-k8s.io"
LEASES = f"/apis/coordination.k8s.io/v1/namespaces/{RIVAL_NS}/leases"
LEASE = f"{LEASES}/{RIVAL}"
HOLDER = "capi-ipam-in-cluster-controller-manager-0_c0ffee"
HELD = f"lease '{RIVAL}' in namespace '{RIVAL_NS}' is held by '{HOLDER}'"
LONG_S, SHORT_S = 15, 2


@pytest.fixture(scope="module")
def c(served):  # noqa: F811
    if isinstance(served, Cluster):
        crdlib.apply_all(served, group="cluster.x-k8s.io")
    namespace(served, RIVAL_NS)
    for path in (claims_path("default"), addresses_path("default"), pools_path("default")):
        # A new kind's lists come a moment later.
        until(lambda: served.call("GET", path)[0] == 200)  # pylint: disable=cell-var-from-loop
    return served


class Provider(threading.Thread):
    """The in-cluster provider, as far as its election goes: a Lease that client-go renews."""

    def __init__(self, c, duration_s=LONG_S):
        super().__init__(daemon=True)
        self.c, self.ends, self.renewals, self.duration_s = c, threading.Event(), 0, duration_s
        self.write(HOLDER)
        self.start()

    def write(self, holder):
        now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        spec = {"holderIdentity": holder, "leaseDurationSeconds": self.duration_s if holder else 1, "acquireTime": now,
                "renewTime": now}
        if get(self.c, LEASE) is None:
            status, body = self.c.call("POST", LEASES, {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
                                                        "metadata": {"name": RIVAL}, "spec": spec})
            assert status == 201, body
        else:
            patch(self.c, LEASE, {"spec": spec})
        self.renewals += 1

    def run(self):
        while not self.ends.wait(0.2):
            self.write(HOLDER)

    def die(self):
        """Without a word, as after kill -9."""
        self.ends.set()
        self.join(10)

    def stop(self):
        """As it does after SIGTERM."""
        self.die()
        self.write("")


@pytest.fixture
def provider(c, request):
    one = Provider(c, getattr(request, "param", LONG_S))
    yield one
    one.die()
    c.call("DELETE", LEASE)


@pytest.fixture
def run(c):
    """run(*args): a started controller, with the identity that may write status on the embedded API."""
    made = []

    def make(*args):
        made.append(start(c.kubeconfig(getattr(c, "system", None)), "--lease-retry", "200ms", *args, controllers="ipam"))
        return made[-1]
    yield make
    for p in made:
        if p.process.poll() is None:
            assert p.stop() == 0, p.text()


@pytest.fixture
def ns(c, request):
    name = request.node.originalname.replace("_", "-")
    namespace(c, name)
    return name


def objects_of(c, ns):
    """Everything that the controller could write there."""
    paths = [claims_path(ns), addresses_path(ns), pools_path(ns), f"/apis/events.k8s.io/v1/namespaces/{ns}/events"]
    return {(path, o["metadata"]["name"]): o["metadata"]["resourceVersion"] for path in paths for o in items(c, path)}


def prepare(c, ns):
    """A pool, a claim, and a deleted claim of the provider's that waits for its release."""
    make_pool(c, ns, "pool", ["10.0.0.10-10.0.0.20"])
    make_claim(c, ns, "a", "pool")
    make_claim(c, ns, "old", "pool", finalizers=["ipam.cluster.x-k8s.io/ReleaseAddress"])
    delete(c, claims_path(ns, "old"))
    return objects_of(c, ns)


def check_waits(c, ns, p, provider, before, renewals=5):
    """Nothing is written while the provider renews its Lease some times; log and /readyz name it."""
    p.wait_line(f"{HELD}: nothing is written until that program stops")
    until(lambda: f"controller ipam waits: {HELD}\n" in p.get("/readyz")[1])
    seen = provider.renewals
    until(lambda: provider.renewals >= seen + renewals)
    assert objects_of(c, ns) == before
    assert get(c, LEASE)["spec"]["holderIdentity"] == HOLDER


def check_works(c, ns, p):
    until(lambda: bound(c, ns, "a") or p.process.poll() is not None)
    assert bound(c, ns, "a") == "10.0.0.10", p.text()
    until(lambda: get(c, claims_path(ns, "old")) is None)
    assert until(lambda: "waits" not in p.get("/readyz")[1])


def test_waits_for_the_end(c, run, provider, ns):
    """Without a flag: it leads by its own Lease, writes nothing, and works as soon as the provider's Lease is released. When
    the provider comes back, it stops writing again."""
    before = prepare(c, ns)
    p = run()
    p.wait_line("leading as")
    check_waits(c, ns, p, provider, before)
    provider.stop()
    check_works(c, ns, p)
    again = Provider(c)
    try:
        until(lambda: f"controller ipam waits: {HELD}\n" in p.get("/readyz")[1])
        make_claim(c, ns, "b", "pool")
        before = objects_of(c, ns)
        until(lambda: again.renewals > 5)
        assert objects_of(c, ns) == before
    finally:
        again.stop()
    wait_bound(c, ns, "b")


@pytest.mark.alone  # it must be seen to renew in time
@pytest.mark.parametrize("provider", [SHORT_S], indirect=True)
def test_waits_for_the_expiry(c, run, provider, ns):
    """A provider that died: its Lease counts for its duration from the last renewal that was seen."""
    before = prepare(c, ns)
    p = run()
    check_waits(c, ns, p, provider, before, renewals=15)  # for longer than its duration
    provider.die()
    check_works(c, ns, p)
    assert get(c, LEASE)["spec"]["holderIdentity"] == HOLDER


def test_takes_the_lease(c, run, provider, ns):
    """With --take-lease it holds the provider's Lease, too: the provider waits in its turn."""
    before = prepare(c, ns)
    p = run("--take-lease", "ipam")
    check_waits(c, ns, p, provider, before)
    assert not p.find("leading as")
    provider.stop()
    p.wait_line("leading as")
    check_works(c, ns, p)
    assert get(c, LEASE)["spec"]["holderIdentity"] not in ("", HOLDER)
    assert p.stop() == 0
    assert get(c, LEASE)["spec"]["holderIdentity"] == ""


def test_without_a_provider(c, run, ns):
    """No Lease, no wait."""
    assert get(c, LEASE) is None
    prepare(c, ns)
    p = run()
    check_works(c, ns, p)
    assert not p.find("is held by")
