# SPDX-License-Identifier: GPL-3.0-or-later
"""What the DNS operator writes while nothing changes that it cares for, counted at the API: in the audit log of a real
server, by the metrics of the embedded one. Around it the cluster lives: nodes report, pods come and go and become ready,
events are told, objects that the operator reads are touched."""
import collections
import json
import os
import threading
import time

from changelib import NETWORKS, Rig, changing
from controllerlib import LeaseHistory, until
from lib import cluster
from test_dnsoperator import DNS, Place
from rbaclib import install_roles

USER, TOKEN = "system:serviceaccount:fairlead:fairlead-dnsoperator", "dnsoperator-token"
WRITES = ("create", "update", "patch", "delete", "deletecollection")
METHODS = ("POST", "PUT", "PATCH", "DELETE")
MERGE = "application/merge-patch+json"
STILL_SECONDS = 3  # without a write: what the start had to say is said


class Real(cluster.Cluster):
    """With the shipped role, and a log of what its user writes."""

    operator = TOKEN

    def __init__(self):
        super().__init__(users={TOKEN: (USER, ["system:serviceaccounts"])}, rbac=True)
        policy, self.audit = (os.path.join(self.dir, n) for n in ("audit.yaml", "audit.log"))
        with open(policy, "w", encoding="utf-8") as f:
            json.dump({"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"], "rules": [
                {"level": "Metadata", "users": [USER], "verbs": list(WRITES)}, {"level": "None"}]}, f)
        self.flags += [f"--audit-policy-file={policy}", f"--audit-log-path={self.audit}"]

    def start(self):
        super().start()
        install_roles(self, "dnsoperator", "dnsoperator-openshift")

    def counts(self, _):
        """{what: how often} of all that the operator has written since its start."""
        found = collections.Counter()
        if os.path.exists(self.audit):
            for e in cluster.whole_lines(self.audit):
                ref = e["objectRef"]
                found[f"{e['verb']} {ref['resource']}" + (f"/{ref['subresource']}" if "subresource" in ref else "")] += 1
        return found


class Embedded(cluster.Embedded):
    """It has no audit log; requests that write, less those that were ours, are the operator's."""

    def start(self):
        super().start()
        self.leases = LeaseHistory(self)
        self.begin = self.total()

    operator = property(lambda self: self.system)

    def stop(self):
        if hasattr(self, "leases"):
            self.leases.stop()
        super().stop()

    def total(self):
        found = collections.Counter()
        for line in self.call("GET", "/metrics")[1].splitlines():
            if line.startswith("fairlead_api_requests_total"):
                method = line.split('method="')[1].split('"')[0]
                found[method] += int(float(line.split()[-1]))
        return found

    def counts(self, ours):
        now, leases = self.total(), len(self.leases.of("fairlead"))
        writes = sum(now[m] - self.begin[m] for m in METHODS) - ours
        return collections.Counter({"update leases": leases, "write": writes - leases})


APIS = {"real": Real, "embedded": Embedded}


class Caller(Place):
    """Counts what it writes."""

    written = 0

    def call(self, method, path, body=None, content_type="application/json"):
        reply = super().call(method, path, body, content_type)
        self.written += method in METHODS
        return reply


class Life:
    """A thread that does one of the things that happen in a cluster, ten times a second, in turn."""

    def __init__(self, rig, every=0.1):
        self.rig, self.every, self.number = rig, every, 0
        self.done = collections.Counter()
        self.error = None
        self.ends = threading.Event()
        self.admin, self.system = rig.place, rig.system
        self.kinds = [self.node, self.pod, self.event, self.server, self.touch]
        self.prepare()
        self.thread = threading.Thread(target=self.work, daemon=True)
        self.thread.start()

    def prepare(self):
        for i in range(3):
            status, reply = self.admin.call("POST", "/api/v1/nodes", {
                "apiVersion": "v1", "kind": "Node", "metadata": {"name": f"node-{i}"}, "spec": {"podCIDRs": [f"10.244.{i}.0/24"]}})
            self.nodes = status == 201
            if not self.nodes:
                assert status in (403, 404, 405), reply  # the embedded API serves no nodes
        for ns in ("openshift-dns", "kube-system"):
            self.admin.done("POST", f"/api/v1/namespaces/{ns}/pods", {
                "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "stray", "labels": {"app": "stray"}},
                "spec": {"nodeName": "node", "containers": [{"name": "c", "image": "i"}]}})

    def stamp(self):
        return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())

    def node(self, n):
        """A heartbeat."""
        if self.nodes:
            self.system.done("PATCH", f"/api/v1/nodes/node-{n % 3}/status", {"status": {"conditions": [
                {"type": "Ready", "status": "True", "lastHeartbeatTime": self.stamp(), "reason": f"r{n}"}]}}, MERGE)

    def pod(self, n):
        """Somebody else's becomes ready, or no more."""
        ns = ("openshift-dns", "kube-system")[n % 2]
        self.system.done("PATCH", f"/api/v1/namespaces/{ns}/pods/stray/status", {"status": {"podIP": f"10.0.9.{n % 200 + 1}", "conditions": [
            {"type": "Ready", "status": ("True", "False")[n // 2 % 2]}]}}, MERGE)

    def event(self, n):
        self.admin.done("POST", "/apis/events.k8s.io/v1/namespaces/default/events", {
            "apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"name": f"life-{n}", "namespace": "default"},
            "eventTime": time.strftime("%Y-%m-%dT%H:%M:%S.000000Z", time.gmtime()), "action": "Live", "reason": "Alive",
            "reportingController": "test", "reportingInstance": "test", "type": "Normal",
            "regarding": {"apiVersion": "operator.openshift.io/v1", "kind": "DNS", "name": "default"}})

    def server(self, n):
        """A DNS server's pod is reported on, and is as ready as before."""
        pods = self.rig.pods
        self.system.done("PATCH", f"/api/v1/namespaces/{pods.namespace}/pods/dns-{n % pods.n}/status", {"status": {"conditions": [
            {"type": "Ready", "status": "True", "lastProbeTime": self.stamp(), "message": f"m{n}"}]}}, MERGE)

    def touch(self, n):
        """Changes fields that the operator does not use in objects that it reads."""
        path = (f"{DNS}/default", f"{NETWORKS}/cluster")[n % 2]
        self.admin.done("PATCH", path, {"metadata": {"annotations": {"touched": str(n)}}}, MERGE)

    def work(self):
        try:
            while not self.ends.wait(self.every):
                kind = self.kinds[self.number % len(self.kinds)]
                kind(self.number // len(self.kinds))
                self.done[kind.__name__] += 1
                self.number += 1
        except BaseException as e:  # shown by stop
            self.error = e

    def stop(self):
        self.ends.set()
        self.thread.join(30)
        if self.error:
            raise self.error


def split(counts):
    """Leases, and all the rest."""
    rest = {k: v for k, v in counts.items() if not k.endswith("leases") and v}
    return sum(v for k, v in counts.items() if k.endswith("leases")), rest


def settled(api, ours):
    """The counts once nothing was written for some seconds."""
    last, since = None, time.monotonic()

    def still():
        nonlocal last, since
        now = split(api.counts(ours()))[1]
        if now != last:
            last, since = now, time.monotonic()
        return time.monotonic() - since > STILL_SECONDS
    until(still, 60, 0.1)
    return api.counts(ours())


class Quiet:
    """The operator, settled: `start`: what it wrote until then. watch(seconds) is what it wrote while the cluster lived."""

    def __init__(self, kind, platform):
        self.api, self.platform = APIS[kind](), platform

    def __enter__(self):
        self.api.__enter__()
        self.rig = Rig(self.api, self.platform, self.api.operator, caller=Caller)
        try:
            self.rig.__enter__()
            self.rig.place.done("PATCH", f"{DNS}/default", {"spec": {"templates": changing(1)[0]}}, MERGE)
            self.rig.settle(changing(1)[1], 2)
            self.rig.hush()
            self.start = settled(self.api, self.ours)
            return self
        except BaseException:
            self.__exit__()
            raise

    def __exit__(self, *_):
        self.rig.__exit__()
        self.api.__exit__()

    def ours(self):
        return self.rig.place.written + self.rig.system.written

    def watch(self, seconds):
        before = self.api.counts(self.ours())
        looks = self.rig.looks()
        life = Life(self.rig)
        try:
            time.sleep(seconds)
        finally:
            life.stop()
        wrote = self.api.counts(self.ours())
        wrote.subtract(before)
        leases, rest = split(wrote)
        return leases, rest, life.done, self.rig.looks() - looks
