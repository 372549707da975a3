# SPDX-License-Identifier: GPL-3.0-or-later
"""No address twice, ever: random histories of claims of two pools that share addresses, deletions, pauses, edits of the pools, missing
Clusters, kill -9 of two replicas and lost replies, on a real API server and on the embedded one. Watches record every version of
claims and addresses; over the whole history no two claims are bound to one address at a time. Afterwards every claim that may have
an address has its own or its pool has none left, nothing is left over, and the pools' numbers are right."""
import ipaddress
import itertools
import json
import os
import random
import signal
import time

import pytest

import crdlib
from bothlib import c as served, embedded, real  # noqa: F401 (fixtures)
from controllerlib import FAST, namespace, start, until
from ipamlib import Log, addresses_path, claim_of, claims_path, get, items, make_claim, make_pool, pools_path, version_of
from lib.cluster import Cluster
from lossylib import LossyProxy

SECONDS = float(os.environ.get("FAIRLEAD_IPAM_SECONDS", "6"))  # of histories, for each API and mode
ENOUGH = 10        # bindings, so that something was tried; a slow machine needs more histories than one
HISTORIES_MAX = 6
STEPS = 100
NAMES = [f"m-{i}-0" for i in range(24)]
POOLS = {"pool": (10, 29), "neighbour": (10, 24)}  # their first and last address: they compete for the lowest ones
SPARE = "spare"    # of a pool that nothing happens to, and of its only claim
CLUSTER, PAUSED = "cl", "cluster.x-k8s.io/paused"
numbers = itertools.count()


@pytest.fixture(scope="module")
def c(served):  # noqa: F811
    if isinstance(served, Cluster):
        crdlib.apply_all(served, group="cluster.x-k8s.io")
    return served


class History:
    def __init__(self, c, ns, seed, elected):
        self.c, self.ns, self.random = c, ns, random.Random(seed)
        self.proxies = [LossyProxy(c, c.system, seed + i) for i in range(2)]
        self.args = FAST if elected else ["--no-election"]
        self.replicas = [self.start(p) for p in self.proxies]
        self.kills = 0
        self.clusters = f"/apis/cluster.x-k8s.io/v1beta2/namespaces/{ns}/clusters"
        self.logs = [Log(c, claims_path(ns)), Log(c, addresses_path(ns))]
        for name, (first, last) in POOLS.items():
            make_pool(c, ns, name, [f"10.9.0.{first}-10.9.0.{last}"])
        make_pool(c, ns, SPARE, ["10.9.0.100-10.9.0.100"])

    def start(self, proxy):
        return start(proxy.kubeconfig(), *self.args, controllers="ipam")

    # ---- steps ----

    def any_pool(self):
        return self.random.choice(list(POOLS))

    def create(self):
        cluster = self.random.choice([None, None, CLUSTER])
        self.c.call("POST", claims_path(self.ns), claim_of(self.random.choice(NAMES), self.any_pool(), cluster=cluster))

    def delete(self):
        self.c.call("DELETE", claims_path(self.ns, self.random.choice(NAMES)))

    def delete_address(self):
        self.c.call("DELETE", addresses_path(self.ns, self.random.choice(NAMES)))

    def edit_pool(self):
        name = self.any_pool()
        first, last = POOLS[name]
        low = self.random.randint(first, first + 5)
        spec = {"addresses": [f"10.9.0.{low}-10.9.0.{self.random.randint(low + 8, last)}"],
                "excludedAddresses": [f"10.9.0.{self.random.randint(first, last)}"]}
        self.merge(pools_path(self.ns, name), {"spec": spec})

    def merge(self, path, change):
        return self.c.call("PATCH", path, change, content_type="application/merge-patch+json")

    def pause(self, path, value):
        self.merge(path, {"metadata": {"annotations": {PAUSED: value}}})

    def pause_claim(self):
        self.pause(claims_path(self.ns, self.random.choice(NAMES)), self.random.choice(["", None]))

    def pause_pool(self):
        self.pause(pools_path(self.ns, self.any_pool()), self.random.choice(["", None, None]))

    def edit_grace(self):
        self.merge(pools_path(self.ns, self.any_pool()), {"spec": {"addressReuseGracePeriodSeconds": self.random.choice([0, 1, 3600])}})

    def make_cluster(self):
        self.c.call("POST", self.clusters, {"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "metadata": {"name": CLUSTER},
                                            "spec": {"paused": False}})

    def toggle_cluster(self):
        if self.c.call("DELETE", f"{self.clusters}/{CLUSTER}")[0] == 404:
            self.make_cluster()

    def kill(self, i=None):
        i = self.random.randrange(2) if i is None else i
        self.replicas[i].kill()
        killed = self.replicas[i].process.returncode == -signal.SIGKILL  # it may have ended by itself before
        self.replicas[i] = self.start(self.proxies[i])
        return killed

    def kill_a_leader(self):
        """In the midst of its work; others may be killed while they start."""
        def leader():
            self.revive()
            return [i for i, r in enumerate(self.replicas) if r.find("leading as")]
        until(lambda: self.kill(until(leader, 40)[0]), 40)
        self.kills += 1

    def lost(self):
        return sum(p.lost for p in self.proxies)

    def lose_a_reply(self):
        """A claim gets its finalizer while each reply to a write is lost."""
        before = self.lost()
        for p in self.proxies:
            p.loss = 1
        make_claim(self.c, self.ns, SPARE, SPARE)

        def is_lost():
            self.revive()
            return get(self.c, claims_path(self.ns, SPARE))["metadata"].get("finalizers") and self.lost() > before
        until(is_lost, 40)
        self.change_faults()

    def change_faults(self):
        for p in self.proxies:
            p.loss, p.delay_s = self.random.choice([0, 0.1, 0.3]), self.random.choice([0, 0.02, 0.2])

    def run(self):
        steps = [self.create] * 12 + [self.delete] * 6 + [
            self.delete_address, self.edit_pool, self.kill, self.change_faults, self.pause_claim, self.pause_pool, self.edit_grace,
            self.toggle_cluster]
        self.change_faults()
        for number in range(STEPS):
            self.random.choice(steps)()
            if number == STEPS // 3:
                self.lose_a_reply()
            if number == STEPS * 2 // 3:
                self.kill_a_leader()

    # ---- the end ----

    def settle(self):
        for p in self.proxies:
            p.loss = p.delay_s = 0
        for name in POOLS:
            self.pause(pools_path(self.ns, name), None)
            self.merge(pools_path(self.ns, name), {"spec": {"addressReuseGracePeriodSeconds": 0}})
        # A claim without its Cluster keeps what it has, also an address that another one has in use.
        self.make_cluster()
        for o in items(self.c, claims_path(self.ns)):
            self.pause(claims_path(self.ns, o["metadata"]["name"]), None)
        try:
            until(self.is_settled, 40, 0.1)
        except AssertionError:
            self.print_state()
            raise

    def print_state(self):
        print(json.dumps(items(self.c, pools_path(self.ns)), indent=1))
        for path in (claims_path, addresses_path):
            for o in items(self.c, path(self.ns)):
                meta = {k: v for k, v in o["metadata"].items() if k != "managedFields"}
                print(json.dumps([meta, o["spec"]["poolRef"]["name"], o["spec"].get("address"), o.get("status", {}).get("addressRef"),
                                  [x["message"] for x in o.get("status", {}).get("conditions", [])]]))
        for r in self.replicas:
            print(r.process.poll(), r.text()[-3000:])

    def revive(self):
        """A leader that could not renew its lease on a busy machine has ended, as it should."""
        for i, r in enumerate(self.replicas):
            if r.process.poll() is not None:
                self.replicas[i] = self.start(self.proxies[i])

    def is_settled(self):
        self.revive()
        claims, addresses = items(self.c, claims_path(self.ns)), items(self.c, addresses_path(self.ns))
        bound = {o["metadata"]["name"]: o["status"]["addressRef"]["name"] for o in claims
                 if o.get("status", {}).get("addressRef") and "deletionTimestamp" not in o["metadata"]}
        waiting = [o for o in claims if o["metadata"]["name"] not in bound]
        return all(k == v for k, v in bound.items()) and set(bound) == {o["metadata"]["name"] for o in addresses} and \
            all(self.is_pool_settled(pool, addresses, waiting) for pool in items(self.c, pools_path(self.ns)))

    def is_pool_settled(self, pool, addresses, waiting):
        """Its numbers are those of its own addresses; a claim waits only while all that it may allocate are in use, of whichever pool."""
        def is_of_pool(o):
            return o["spec"]["poolRef"]["name"] == pool["metadata"]["name"]
        usable, in_use = self.usable(pool), {o["spec"]["address"] for o in addresses}
        own = [o["spec"]["address"] for o in addresses if is_of_pool(o)]
        numbers = {"total": len(usable), "used": len(own), "outOfRange": len(set(own) - usable), "free": len(usable - set(own))}
        return pool.get("status", {}).get("ipAddresses") == numbers and \
            (usable <= in_use or not any(is_of_pool(o) for o in waiting))

    @staticmethod
    def usable(pool):
        first, last = pool["spec"]["addresses"][0].split("-")
        first, last = ipaddress.ip_address(first), ipaddress.ip_address(last)
        return {str(first + i) for i in range(int(last) - int(first) + 1)} - set(pool["spec"].get("excludedAddresses", []))

    def check(self):
        addresses = items(self.c, addresses_path(self.ns))
        assert len({o["spec"]["address"] for o in addresses}) == len(addresses)
        for o in addresses:
            owner = next(x for x in o["metadata"]["ownerReferences"] if x["controller"])
            assert owner["uid"] == get(self.c, claims_path(self.ns, o["metadata"]["name"]))["metadata"]["uid"]
        # A last event for each watch to arrive at.
        lists = [self.c.call("GET", path(self.ns))[1] for path in (claims_path, addresses_path)]
        last = [max((version_of(o) for o in x["items"]), default=0) for x in lists]
        holdings = held_by(*(log.stop(version) for log, version in zip(self.logs, last)))
        for one, other in itertools.combinations(holdings, 2):
            assert one[1] != other[1] or one[3] < other[2] or other[3] < one[2], (one, other)
        return len(holdings)

    def stop(self):
        for r in self.replicas:
            r.stop()
        for p in self.proxies:
            p.close()


def held_by(claims, addresses):
    """(claim's uid, address, from, to): the versions between which a claim was bound to an address that existed."""
    lives = {}  # uid of the address -> [name, address, created, deleted]
    for kind, o in addresses:
        life = lives.setdefault(o["metadata"]["uid"], [o["metadata"]["name"], o["spec"]["address"], version_of(o), float("inf")])
        if kind == "DELETED":
            life[3] = version_of(o)
    bindings = {}  # (uid of the claim, its binding's number) -> [name, from, to]
    current = {}
    for kind, o in claims:
        uid, version = o["metadata"]["uid"], version_of(o)
        ref = o.get("status", {}).get("addressRef", {}).get("name")
        if uid in current and (kind == "DELETED" or not ref):
            current.pop(uid)[2] = version
        elif ref and uid not in current and kind != "DELETED":
            current[uid] = bindings[(uid, version)] = [ref, version, float("inf")]
    found = []
    for (uid, _), (ref, begin, end) in bindings.items():
        for name, address, created, deleted in lives.values():
            if name == ref and created < end and deleted > begin:
                found.append((uid, address, max(begin, created), min(end, deleted)))
    return found


@pytest.mark.parametrize("elected", [False, True], ids=["both-lead", "elected"])
def test_never_twice(c, elected, capsys):
    """M8, PR-5: see above. FAIRLEAD_IPAM_SEED repeats a history, FAIRLEAD_IPAM_SECONDS runs longer."""
    seed = int(os.environ.get("FAIRLEAD_IPAM_SEED", random.randrange(1 << 30)))
    end, count, bound, lost = time.monotonic() + SECONDS, 0, 0, 0
    while time.monotonic() < end or (bound <= ENOUGH and count < HISTORIES_MAX):
        ns = f"history-{next(numbers)}"
        namespace(c, ns)
        with capsys.disabled():
            print(f" [seed {seed + count}]", end="", flush=True)
        history = History(c, ns, seed + count, elected)
        try:
            history.run()
            history.settle()
            bound += history.check()
            assert history.lost() > 0 and history.kills > 0
            lost += history.lost()
        finally:
            history.stop()
        count += 1
    with capsys.disabled():
        print(f" [{count} histories, {bound} bindings, {lost} lost replies]", end="")
    assert bound > ENOUGH
