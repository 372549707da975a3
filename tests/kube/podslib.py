# SPDX-License-Identifier: GPL-3.0-or-later
"""`fairlead dns` in pods, as a cluster runs it: each with a network, files and a service account of its own, the image's
root, and its Corefile through the API (`-conf configmap:`). The text is the operator's as it is: same ports in every pod.

    with Pods(api, "kubernetes", upstream_port) as pods:
        controller = pods.controller("--no-election")     in the network of their node, from where pods can be reached
        pods.list(place)                                  as Pod objects that are ready
        Asker(pods, 0, "a.example.", "AAAA")              a thread that asks one of them, for ever

Needs root."""
import contextlib
import os
import signal
import socket
import subprocess
import tempfile
import threading
import time
from types import SimpleNamespace

from controllerlib import Controller, until
from lib import pod, server, wire

SECRETS = "/var/run/secrets/kubernetes.io/serviceaccount"
PLATFORMS = {"kubernetes": ("kube-system", "coredns", 53, {"k8s-app": "kube-dns"}),
             "openshift": ("openshift-dns", "dns-default", 5353, {"dns.operator.openshift.io/daemonset-dns": "default"})}
UPSTREAM = "10.0.0.2"


class Pods:
    """`api`: a Cluster or Embedded of lib.cluster. The pods start when the ConfigMap is there."""

    def __init__(self, api, platform, upstream, n=3):
        self.api, self.upstream, self.n = api, upstream, n
        self.namespace, self.configmap, self.port, self.labels = PLATFORMS[platform]
        self.stack = contextlib.ExitStack()
        self.networks, self.pods = [], []

    def __enter__(self):
        try:
            self.folder = self.stack.enter_context(tempfile.TemporaryDirectory(prefix="fairlead-pods-"))
            self.root = os.path.join(self.folder, "image")
            subprocess.run([os.path.join(server.ROOT, "deploy", "image", "rootfs"), server.fairlead_program(), self.root],
                           check=True)
            for i in range(self.n):
                self.networks.append(self.stack.enter_context(pod.Network(
                    f"10.244.0.{i + 5}", [UPSTREAM] if i == 0 else [], self.networks[-1] if i else None)))
                self.reach(self.networks[i].in_pod)
            self.reach(self.node)
            self.stack.enter_context(pod.Relay(self.networks[0], (UPSTREAM, 53), ("127.0.0.1", self.upstream), udp=True))
            return self
        except BaseException:
            self.stack.close()
            raise

    def __exit__(self, *_):
        for p in self.pods:
            if p.alive():
                os.kill(p.pid, signal.SIGQUIT)  # nobody has to be told before
        self.stack.close()

    def node(self, what):
        """Runs what() in the network of the node, and returns its result."""
        return self.networks[0].on_node(what)

    def reach(self, where):
        """Makes the API appear at its own address there."""
        at = ("127.0.0.1", self.api.port)
        self.stack.enter_context(pod.Relay(SimpleNamespace(on_node=where), at, at))

    def start(self):
        """Starts the servers, which wait for the ConfigMap, and returns when they answer."""
        secrets, resolv = (os.path.join(self.folder, n) for n in ("secrets", "resolv.conf"))
        with open(self.api.ca, encoding="ascii") as f:
            pod.Volume(secrets, {"token": self.api.system, "ca.crt": f.read(), "namespace": self.namespace})
        with open(resolv, "w", encoding="ascii") as f:
            f.write(f"nameserver {UPSTREAM}\n")
        for network in self.networks:
            self.pods.append(self.stack.enter_context(pod.Pod(
                network, self.root,
                ["/usr/bin/fairlead", "dns", "-conf", f"configmap:{self.namespace}/{self.configmap}", "-state-dir", "/state"],
                {"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": str(self.api.port)}, 0,
                {"NET_BIND_SERVICE"}, mounts={SECRETS: secrets, "/etc/resolv.conf": resolv}, scratch=["/state"])))
        for p in self.pods:
            until(lambda: ("udp", self.port) in p.listening())  # pylint: disable=cell-var-from-loop

    def controller(self, kubeconfig, *args):
        p = self.node(lambda: Controller(kubeconfig, *args, controllers="dnsoperator"))
        self.stack.callback(p.stop)
        return p

    def names(self):
        return [f"dns-{i}" for i in range(self.n)]

    def list(self, admin, system):
        """As Pod objects, by two callers that may do it."""
        path = f"/api/v1/namespaces/{self.namespace}/pods"
        for name, network in zip(self.names(), self.networks):
            admin.done("POST", path, {
                "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": self.labels},
                "spec": {"nodeName": "node", "terminationGracePeriodSeconds": 0, "containers": [{"name": "c", "image": "i"}]}})
            system.done("PATCH", f"{path}/{name}/status", {"status": {
                "phase": "Running", "podIP": network.address, "podIPs": [{"ip": network.address}],
                "conditions": [{"type": "Ready", "status": "True"}]}}, "application/merge-patch+json")

    def unlist(self, admin):
        for name in self.names():
            admin.call("DELETE", f"/api/v1/namespaces/{self.namespace}/pods/{name}?gracePeriodSeconds=0")

    def output(self):
        return "\n".join(p.output() for p in self.pods)


class Asker:
    """Asks one pod the same question, one after the other, and remembers when the answer became another one:
    `seen` is [(time, answer)], where an answer is its code and data; None stands for silence."""

    def __init__(self, pods, which, name, rtype, every=0.003):
        self.address, self.port, self.every = pods.networks[which].address, pods.port, every
        self.name, self.rtype = name, rtype
        self.seen, self.asked = [], 0
        self.ends = threading.Event()
        self.sock = pods.node(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        self.sock.settimeout(1)
        self.sock.connect((self.address, self.port))
        self.thread = threading.Thread(target=self.work, daemon=True)
        self.thread.start()

    def once(self, ident):
        self.sock.send(wire.query(self.name, self.rtype, ident=ident))
        try:
            while True:
                reply = self.sock.recv(65535)
                if reply[:2] == ident.to_bytes(2, "big"):
                    m = wire.parse(reply)
                    return " ".join([wire.rcode_text(m.rcode)] + sorted(wire.record_text(r).split()[4] for r in m.answer))
        except OSError:
            return None

    def work(self):
        while not self.ends.wait(self.every):
            self.asked += 1
            answer = self.once(self.asked % 65536)
            if not self.seen or self.seen[-1][1] != answer:
                self.seen.append((time.monotonic(), answer))

    def since(self, when):
        """What was seen after a moment, and what was seen last before it."""
        seen = list(self.seen)
        first = max((i for i, (t, _) in enumerate(seen) if t <= when), default=0)
        return seen[first:]

    def stop(self):
        self.ends.set()
        self.thread.join(5)
        self.sock.close()
