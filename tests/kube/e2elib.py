# SPDX-License-Identifier: GPL-3.0-or-later
"""A node of OpenShift for tests of templates, from the object to the wire: an API, `fairlead controller`, three DNS servers in
pods (Fairlead that reads the ConfigMap through the API, Fairlead and CoreDNS that have it as a volume) and two upstreams that
remember what they were asked. Needs root.

Nothing of the operator's text is changed: each pod has a network of its own, so that all of them listen on 5353, and a
service account. What stands in for a kubelet: a thread that writes volumes when the ConfigMap changes, and Pod objects. One
wait is cut short: CoreDNS looks at its file every 30 to 45 s, and at once when it gets SIGUSR1.
"""
import contextlib
import itertools
import json
import os
import re
import signal
import socket
import ssl
import subprocess
import threading
import urllib.request

import pytest

import crdlib
from controllerlib import Controller, until
from dnslib import Api, answers, lines, rcode, timeless
from lib import client, cluster, pod, server, wire
from lib.upstream import Upstream
from test_dnsoperator import DNS, Place

NAMESPACE, NAME = "openshift-dns", "dns-default"
API, WORLD, CORP = "10.96.0.1", "10.0.0.2", "10.0.0.3"
PORT = 5353
SECRETS = "/var/run/secrets/kubernetes.io/serviceaccount"
APPLIED, VALID, WARNING = "TemplateConfigurationApplied", "TemplateConfigurationValid", "AAAAFilterDualStackWarning"
CONFIG = "/apis/config.openshift.io/v1"
IPV4, DUAL, IPV6 = ["172.30.0.0/16"], ["172.30.0.0/16", "fd02::/112"], ["fd02::/112"]
SCRIPT = """
nx.example. *
    rcode NXDOMAIN
    authority example. 60 IN SOA ns.example. root.example. 1 7200 1800 86400 60
* A
    answer {name} 60 IN A %s
* AAAA
    answer {name} 60 IN AAAA 2001:db8:ffff::1
*
"""
IDENT = itertools.count(1)


def empty(name, *zones):
    """A template that filters."""
    return {"name": name, "zones": list(zones), "action": {"returnEmpty": {}}}


def answer(name, address, *zones, ttl=60):
    return {"name": name, "zones": list(zones),
            "action": {"generateResponse": {"answerTemplate": f"{{{{ .Name }}}} {ttl} IN AAAA {address}"}}}


class Server:
    """A pod with a DNS server. `program` is that of the pod, `args` what it is started with."""

    def __init__(self, site, name, program, args, address, volume=None):
        self.site, self.name, self.program, self.args, self.address = site, name, program, args, address
        self.volume, self.mounted = volume, None
        self.network = site.stack.enter_context(pod.Network(address, [API, WORLD, CORP] if not site.servers else (),
                                                            site.servers[0].network if site.servers else None))
        self.pod, self.lock = None, threading.Lock()

    def start(self):
        mounts = {SECRETS: self.site.secrets, "/etc/resolv.conf": self.site.resolv_conf}
        if self.volume:
            mounts["/etc/coredns"] = self.volume.folder
        with self.lock:
            made = pod.Pod(self.network, self.site.images[self.program], [f"/usr/bin/{self.program}", *self.args],
                           {"KUBERNETES_SERVICE_HOST": API, "KUBERNETES_SERVICE_PORT": "443"}, 65532, set(), mounts=mounts,
                           scratch=["/tmp"])
            self.pod = made.__enter__()

    def ready(self):
        assert self.pod.alive(), f"{self.name} ended\n{self.pod.output()}"
        return self.pod.get(8181, "/ready")[0] == 200 and {("udp", PORT), ("tcp", PORT)} <= self.pod.listening()

    def kill(self):
        """kill -9."""
        os.kill(self.pod.pid, signal.SIGKILL)
        self.pod.process.wait(20)

    def stop(self):
        """Without the 20 s of a lame duck."""
        with self.lock:
            if self.pod and self.pod.alive():
                self.kill()
            if self.pod:
                self.pod.__exit__()
            self.pod = None

    def write(self, text):
        """As a kubelet, and what stands for CoreDNS's wait. It is not told before it has started: it would go on with two servers
        then, one of the old text and one of the new."""
        with self.lock:
            if text == self.mounted:
                return
            self.mounted = text
            self.volume.write({"Corefile": text})
            if self.program == "coredns" and self.pod:
                until(lambda: "\nCoreDNS-" in self.pod.output() or not self.pod.alive())
                if self.pod.alive():
                    os.kill(self.pod.pid, signal.SIGUSR1)

    def ask(self, question, tcp=False):
        """In the node's network only."""
        reply = client.tcp_ask(PORT, question, target=self.address)[0] if tcp else \
            client.udp_ask(PORT, question, target=self.address)
        assert reply is not None, f"{self.name} does not answer\n{self.pod.output()}"
        return wire.parse(reply)

    def metric(self, pattern):
        """The sum over all series that fit."""
        status, text = self.pod.get(9153, "/metrics", local=True)
        assert status == 200
        return sum(float(line.split()[-1]) for line in text.splitlines() if re.match(pattern, line))


class Kubelet(threading.Thread):
    """Writes the Corefile of the ConfigMap into volumes whenever it changes."""

    def __init__(self, site):
        super().__init__(daemon=True)
        self.site, self.ends, self.stream = site, False, None

    def run(self):
        while not self.ends:
            try:
                self.watch()
            except (OSError, ValueError, AttributeError):  # the API restarts, or stop() cut the stream
                pass

    def watch(self):
        p = self.site.place
        request = urllib.request.Request(f"{p.url}/api/v1/namespaces/{NAMESPACE}/configmaps?watch=1&timeoutSeconds=3600",
                                         headers={"Authorization": f"Bearer {p.token}"})
        with urllib.request.urlopen(request, timeout=3600, context=ssl.create_default_context(cafile=p.ca)) as self.stream:
            for line in self.stream:
                event = json.loads(line)
                if event["object"]["metadata"].get("name") == NAME and event["type"] in ("ADDED", "MODIFIED"):
                    self.site.mount(event["object"]["data"]["Corefile"])

    def stop(self):
        self.ends = True
        with contextlib.suppress(OSError, AttributeError):
            self.stream.fp.raw._sock.shutdown(socket.SHUT_RDWR)
        self.join(10)


class Site:
    """All of it. `servers`: what runs the text; `up`, `corp`: the upstream of the node and another."""

    def __init__(self, stack, place, api, images, folder):
        self.stack, self.place, self.images, self.folder, self.servers = stack, place, images, folder, []
        self.real = isinstance(api, cluster.Cluster)
        self.up, self.corp = (stack.enter_context(Upstream(SCRIPT % a)) for a in ("192.0.2.1", "192.0.2.2"))
        self.secrets = os.path.join(folder, "secrets")
        with open(place.ca, encoding="ascii") as f:
            pod.Volume(self.secrets, {"token": place.token, "ca.crt": f.read(), "namespace": NAMESPACE})
        self.resolv_conf = os.path.join(folder, "resolv.conf")
        with open(self.resolv_conf, "w", encoding="ascii") as f:
            f.write(f"nameserver {WORLD}\n")
        through_api = ["dns", "-conf", f"configmap:{NAMESPACE}/{NAME}", "-state-dir", "/tmp"]
        volumes = [pod.Volume(os.path.join(folder, n), {}) for n in ("volume-1", "volume-2")]
        for row in (("fairlead-api", "fairlead", through_api, "10.244.0.5"),
                    ("fairlead-file", "fairlead", ["dns", "-conf", "/etc/coredns/Corefile"], "10.244.0.6", volumes[0]),
                    ("coredns", "coredns", ["-conf", "/etc/coredns/Corefile"], "10.244.0.7", volumes[1])):
            self.servers.append(Server(self, *row))
        node = self.servers[0].network
        stack.enter_context(pod.Relay(node, (API, 443), ("127.0.0.1", api.port)))
        for address, upstream in ((WORLD, self.up), (CORP, self.corp)):
            for udp in (False, True):
                stack.enter_context(pod.Relay(node, (address, 53), ("127.0.0.1", upstream.port), udp=udp))
        self.node = node
        inside = Place(f"https://{API}", place.ca, place.token, place.controller_token)
        self.kubeconfig = inside.kubeconfig(folder)  # for the node; the other for this machine
        os.mkdir(os.path.join(folder, "outside"))
        self.operator = None

    # ---- life ----

    def operate(self, *args):
        """Starts the operator, after an end of the last one."""
        if self.operator:
            self.operator.stop()
        self.operator = self.node.on_node(lambda: Controller(self.kubeconfig, "--no-election", "--platform", "openshift", *args,
                                                             controllers="dnsoperator"))

    def begin(self):
        p = self.place
        self.network(IPV4)
        self.gate(True)
        self.operate()
        p.dns({})
        until(lambda: p.text(NAMESPACE, NAME))
        self.mount(p.text(NAMESPACE, NAME))
        for s in self.servers:
            s.start()
            self.stack.callback(s.stop)
            self.pod_object(s)
        kubelet = Kubelet(self)
        kubelet.start()
        self.stack.callback(kubelet.stop)
        self.stack.callback(lambda: self.operator.stop())
        for s in self.servers:
            until(s.ready)

    def pod_object(self, s):
        path = f"/api/v1/namespaces/{NAMESPACE}/pods"
        self.place.done("POST", path, {
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"dns-default-{s.name}", "labels": {
                "dns.operator.openshift.io/daemonset-dns": "default"}},
            "spec": {"nodeName": "node", "containers": [{"name": "dns", "image": "i"}]}})
        system = Place(self.place.url, self.place.ca, self.place.controller_token, None)
        system.done("PATCH", f"{path}/dns-default-{s.name}/status", {"status": {
            "phase": "Running", "podIP": s.address, "podIPs": [{"ip": s.address}],
            "conditions": [{"type": "Ready", "status": "True"}]}}, "application/merge-patch+json")

    def mount(self, text):
        for s in self.servers:
            if s.volume:
                s.write(text)

    def reset(self):
        """As at the beginning: no templates, IPv4, the gate on."""
        self.network(IPV4)
        self.gate(True)
        self.place.dns({})
        self.place.says(APPLIED, "True NoTemplates")
        self.up.forget()
        self.corp.forget()

    # ---- the cluster ----

    def network(self, services):
        """`Network cluster` with these ranges; None: there is none."""
        self.configure("Network", services and {"serviceNetwork": services, "clusterNetwork": [
            {"cidr": "fd01::/48" if ":" in r else "10.128.0.0/14", "hostPrefix": 64 if ":" in r else 23} for r in services]})

    def gate(self, on):
        self.configure("FeatureGate", on and {
            "featureSet": "CustomNoUpgrade", "customNoUpgrade": {"enabled": ["DNSTemplatePlugin"]}})

    def configure(self, kind, spec):
        """The object `cluster` of this kind; without a spec there is none."""
        path = f"{CONFIG}/{kind.lower()}s"
        self.place.call("DELETE", f"{path}/cluster")
        if spec:
            self.place.done("POST", path, {"apiVersion": "config.openshift.io/v1", "kind": kind, "metadata": {"name": "cluster"},
                                           "spec": spec})

    def apply(self, spec, annotations=None):
        """Writes the object and waits until all servers run it; its generation."""
        generation = self.place.dns(spec, annotations)
        self.runs(generation)
        return generation

    def patch(self, body):
        return self.place.call("PATCH", f"{DNS}/default", body, "application/merge-patch+json")

    def runs(self, generation):
        want = f"All of {len(self.servers)} servers run generation {generation}."
        told = []  # for who reads why it failed

        def so():
            told[:] = [self.place.conditions().get(APPLIED, {}).get("message")]
            return told == [want]
        until(so)
        until(self.agreed)

    def agreed(self):
        """All threads of all servers have changed over: each does so between two questions, and the one that told the operator
        may have been the first."""
        return len({tuple(timeless(m)) for _ in range(8) for m in self.replies("config.fairlead.internal", "TXT").values()}) == 1

    def text(self):
        return self.place.text(NAMESPACE, NAME)

    def looks(self):
        """Number of reconciles of the operator."""
        return self.node.on_node(self.operator.looks)

    def says(self, condition, want):
        return self.place.says(condition, want)

    def object(self):
        return self.place.done("GET", f"{DNS}/default")

    # ---- the wire ----

    def ask(self, name, rtype="AAAA", tcp=False, **more):
        """What all servers answer: they must agree but for TTLs, which run, and serials."""
        replies = self.replies(name, rtype, tcp, **more)
        texts = {s: timeless(m) for s, m in replies.items()}
        assert len(set(map(tuple, texts.values()))) == 1, texts
        return next(iter(replies.values()))

    def replies(self, name, rtype="AAAA", tcp=False, apart=(), **more):
        """{server: reply}, but for servers in `apart`."""
        ident = next(IDENT) % 65536
        question = wire.query(name, rtype, ident=ident, **more)
        replies = self.node.on_node(lambda: {s.name: s.ask(question, tcp) for s in self.servers if s not in apart})
        assert all(m.id == ident and m.question == question[12:12 + len(m.question)] for m in replies.values())
        return replies

    def get(self, name, rtype="AAAA", **more):
        """Data of the type asked for, or the code where there is none."""
        reply = self.ask(name, rtype, **more)
        return " ".join(answers(reply).get(rtype, [])) or rcode(reply)

    def empty(self, name):
        """OP-22, OP-T19: NOERROR without a record, over UDP and TCP, with RD and EDNS and without."""
        for tcp in (False, True):
            for flags in (("rd",), ()):
                for edns in (None, 1232):
                    reply = self.ask(name, "AAAA", tcp, flags=flags, edns=edns)
                    assert rcode(reply) == "NOERROR" and reply.counts == (1, 0, 0, 0 if edns is None else 1), lines(reply)
                    assert reply.flags == ("qr", "aa") + flags and bool(reply.edns) == (edns is not None), lines(reply)


# ---- fixtures ----


@pytest.fixture(scope="session")
def images(tmp_path_factory):
    """Files of the pods: our image, and the same with CoreDNS beside the program."""
    root = str(tmp_path_factory.mktemp("image") / "root")
    subprocess.run([os.path.join(server.ROOT, "deploy", "image", "rootfs"), server.fairlead_program(), root], check=True)
    program = os.path.join(root, "usr", "bin", "coredns")
    subprocess.run(["cp", "--remove-destination", server.coredns_program(), program], check=True)
    return {"fairlead": root, "coredns": root}


@contextlib.contextmanager
def api_of(which):
    """(a place, its API), dual stack, with the kinds of OpenShift."""
    ranges = "10.96.0.0/16", "fd00:96::/112"
    if which == "embedded":
        flags = [f for r in ranges for f in ("--service-cidr", r)] + ["--name", API]
        with cluster.Embedded(flags) as e:
            yield Place(e.url, e.ca, e.admin, e.system), e
        return
    with cluster.Cluster(flags=[f"--service-cluster-ip-range={','.join(ranges)}"]) as c:
        p = Place(c.url, c.ca, cluster.ADMIN, cluster.ADMIN)
        crdlib.apply_all(c, group="openshift.io")
        yield p, c


@pytest.fixture(scope="module", params=["embedded", "kube-apiserver"])
def whole_site(request, images, tmp_path_factory):
    with api_of(request.param) as (place, api), contextlib.ExitStack() as stack:
        place.namespace(NAMESPACE)
        objects = Api(api)
        objects.namespace("shop")
        objects.service("shop", "web", ipFamilyPolicy="RequireDualStack", ipFamilies=["IPv4", "IPv6"], clusterIP="10.96.1.1",
                        clusterIPs=["10.96.1.1", "fd00:96::101"], ports=[{"name": "http", "port": 80, "protocol": "TCP"}])
        site = Site(stack, place, api, images, str(tmp_path_factory.mktemp("site")))
        site.begin()
        yield site


@pytest.fixture
def site(whole_site):
    whole_site.reset()
    yield whole_site
