# SPDX-License-Identifier: GPL-3.0-or-later
"""The kubernetes plugin on a real API server that is away, comes back, or changes a thousand times a second.
That its answers are CoreDNS's is for tests/differential/test_kubernetes.py."""
import json
import os
import random
import re
import struct
import subprocess
import threading
import time
import urllib.error
import urllib.request

import pytest

from controllerlib import until
from lib import client, cluster, server, wire
from watcherlib import Proxy, compact, started, through

HEADS = 20  # headless Services that change, all in one write
ROUNDS = 150
RATE = 1000  # events per second
STAMP = "2026-01-01T00:00:00Z"
COREFILE = """.:@PORT@ {
    prometheus 127.0.0.1:@HTTP:metrics@
    ready 127.0.0.1:@HTTP:ready@
    kubernetes cluster.local in-addr.arpa {
        kubeconfig %s
        %s
    }
    whoami
}
"""


@pytest.fixture(scope="module")
def c():
    with cluster.Cluster() as one:
        one.put([service("web", "10.96.9.9")] + [o for k in range(HEADS) for o in (service(f"head-{k}", "None"), endpoints(k, 0))])
        yield one


def meta(name, number, **more):
    return {"name": name, "namespace": "default", "uid": f"00000000-0000-0000-0000-{number:012d}", "creationTimestamp": STAMP,
            **more}


def service(name, ip):
    return f"/registry/services/specs/default/{name}", {
        "apiVersion": "v1", "kind": "Service", "metadata": meta(name, 7), "status": {"loadBalancer": {}},
        "spec": {"clusterIP": ip, "clusterIPs": [ip], "type": "ClusterIP", "ports": [{"port": 80, "protocol": "TCP"}]}}


def endpoints(k, n):
    """The slice of the k-th headless Service in its n-th version: two addresses that belong together."""
    return f"/registry/endpointslices/default/head-{k}", {
        "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
        "metadata": meta(f"head-{k}", 100 + k, labels={"kubernetes.io/service-name": f"head-{k}"}),
        "endpoints": [{"addresses": [f"10.{i}.{n >> 8}.{n & 255}"]} for i in (1, 2)], "ports": [{"port": 80, "protocol": "TCP"}]}


def serve(started, kubeconfig, options="startup_timeout 100ms"):
    s = started(server.Server(server.fairlead(), COREFILE % (kubeconfig, options)))
    return s.start()


def serve_synced(started, kubeconfig):
    """A server that has read everything. The API server may need longer than any sensible startup_timeout: after a test
    with thousands of Services its watch cache lags behind etcd."""
    s = serve(started, kubeconfig)
    until(lambda: is_ready(s), 120)
    return s


def ask(s, name, rtype="A"):
    reply = client.udp_ask(s.port(), wire.query(name, rtype, ident=random.randrange(65536)))
    assert reply is not None, f"{name}: no reply"
    return wire.parse(reply)


def addresses(msg):
    return sorted(r[4] for r in msg.answer)


def rcode(s, name):
    return wire.rcode_text(ask(s, name).rcode)


def is_ready(s):
    return s.get("ready", "/ready")[0] == 200


@pytest.fixture(scope="module")
def strict(tmp_path_factory):
    """(a cluster without anonymous access, certificate and key of a client)."""
    folder = tmp_path_factory.mktemp("client")
    cert, key = folder / "crt", folder / "key"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/O=system:masters/CN=dns",
                    "-keyout", key, "-out", cert], check=True, capture_output=True)
    with cluster.Cluster(flags=(f"--client-ca-file={cert}", "--anonymous-auth=false")) as one:
        one.put([service("web", "10.96.9.9")])
        yield one, cert, key


def contexts(c, folder):
    """A kubeconfig whose current context leads nowhere; the other one is `good`."""
    with open(c.kubeconfig(), encoding="utf-8") as f:
        config = json.load(f)
    config["clusters"].append({"name": "nowhere", "cluster": {"server": "https://127.0.0.1:1"}})
    config["contexts"][0]["name"] = "good"
    config["contexts"].append({"name": "bad", "context": {**config["contexts"][0]["context"], "cluster": "nowhere"}})
    config["current-context"] = "bad"
    path = folder / "contexts"
    path.write_text(json.dumps(config))
    path.chmod(0o600)
    return path


WHERE = {
    "a certificate": ("endpoint {url}\n        tls {cert} {key} {ca}", True),
    "several endpoints": ("endpoint {url} https://127.0.0.1:1\n        tls {cert} {key} {ca}", True),
    "no certificate": ("endpoint {url}", False),
    "another authority": ("endpoint {url}\n        tls {cert} {key} {cert}", False),
    "a context": ("kubeconfig {contexts} good", True),
    "the current context": ("kubeconfig {contexts}", False),
    "a kubeconfig before an endpoint": ("endpoint https://127.0.0.1:1\n        kubeconfig {contexts} good", True),
    "tunables": ("kubeconfig {contexts} good\n        apiserver_qps 1.5\n        apiserver_burst 1\n        apiserver_max_inflight 2",
                 True),
}


@pytest.mark.parametrize("name", WHERE)
def test_where_the_api_is(strict, started, tmp_path, name):
    """1.3 endpoint, tls, kubeconfig; numbers for Go's client are taken with a notice."""
    c, cert, key = strict
    options, works = WHERE[name]
    options = options.format(url=c.url, cert=cert, key=key, ca=c.ca, contexts=contexts(c, tmp_path))
    corefile = ".:@PORT@ {\n    kubernetes cluster.local {\n        startup_timeout 300ms\n        %s\n    }\n}\n" % options
    s = started(server.Server(server.fairlead(), corefile)).start()
    if works:
        until(lambda: addresses(ask(s, "web.default.svc.cluster.local.")) == [bytes([10, 96, 9, 9])], 30)
    else:
        assert rcode(s, "web.default.svc.cluster.local.") == "SERVFAIL"
        assert "endpointslices: " in s.output(), s.output()
    for word in ("apiserver_qps", "apiserver_burst", "apiserver_max_inflight"):
        assert (f"'{word}' has no effect here" in s.output()) == (name == "tunables")
    assert ("only the first specified endpoint" in s.output()) == (name == "several endpoints")


def unheard(s):
    """{kind: seconds} of the metric."""
    text = s.get("metrics", "/metrics")[1]
    return {k: float(v) for k, v in re.findall(r'^fairlead_kubernetes_unheard_seconds{host="[^"]*",kind="(\w+)"} (\S+)$', text, re.M)}


def test_away_at_the_start(c, started):
    """SERVFAIL with the zone's SOA until the first list, zones that fall through fall; then all is there."""
    proxy = started(Proxy(c.port))
    proxy.open = False
    plain = serve(started, through(c, proxy))
    falls = serve(started, through(c, proxy), "startup_timeout 100ms\n        fallthrough in-addr.arpa")
    for s in (plain, falls):
        assert "starting server with unsynced Kubernetes API" in s.output()
        msg = ask(s, "web.default.svc.cluster.local.")
        assert wire.rcode_text(msg.rcode) == "SERVFAIL" and "aa" in msg.flags and len(msg.authority) == 1
        assert not is_ready(s)
    assert rcode(plain, "9.9.96.10.in-addr.arpa.") == "SERVFAIL"
    assert rcode(falls, "9.9.96.10.in-addr.arpa.") == "NOERROR"  # whoami
    proxy.open = True
    for s in (plain, falls):
        until(lambda: addresses(ask(s, "web.default.svc.cluster.local.")) == [bytes([10, 96, 9, 9])], 30)
        until(lambda: is_ready(s), 30)
        assert rcode(s, "none.default.svc.cluster.local.") == "NXDOMAIN"


class Probe(threading.Thread):
    """Asks /ready from before the port opens until stopped, as a kubelet does; [(status, body)]."""

    def __init__(self, s):
        super().__init__(daemon=True)
        self.url = f"http://127.0.0.1:{s.http('ready')}/ready"
        self.said, self.over, self.at_ready = [], threading.Event(), None
        self.on_ready = lambda: None

    def run(self):
        while not self.over.is_set():
            try:
                with urllib.request.urlopen(self.url, timeout=5) as r:
                    self.said.append((r.status, r.read().decode()))
                    self.at_ready = self.at_ready or self.on_ready()
            except urllib.error.HTTPError as e:
                self.said.append((e.code, e.read().decode()))
            except OSError:
                pass
            self.over.wait(0.005)


def probed(started, program, corefile):
    """A server that is started while its page is asked."""
    s = started(server.Server(program, corefile))
    probe = Probe(s)
    name = "web.default.svc.cluster.local."

    def first_reply():
        # On a busy machine CoreDNS is ready before its port is open, and its first answers may be SERVFAIL.
        end = time.monotonic() + (0 if program == server.fairlead() else 30)
        while time.monotonic() < end:
            reply = client.udp_ask(s.port(), wire.query(name, "A", ident=7), timeout=1)
            if reply and wire.rcode_text(wire.parse(reply).rcode) == "NOERROR":
                break
            time.sleep(0.1)
        return rcode(s, name)

    probe.on_ready = first_reply
    probe.start()
    return s, probe


@pytest.mark.parametrize("who", ["fairlead", "coredns"])
def test_ready_with_the_api_away(c, started, who):
    """503 that names the plugin, from the first reply of the page: while the start waits for the API, behind that wait,
    and until the lists are there. The first 200 finds a server that answers. CoreDNS does the same."""
    proxy = started(Proxy(c.port))
    proxy.open = False
    program = server.fairlead() if who == "fairlead" else [server.coredns_program()]
    s, probe = probed(started, program, COREFILE % (through(c, proxy), "startup_timeout 1s"))
    s.start()  # returns when the DNS port is open, which is behind the wait
    assert "starting server with unsynced Kubernetes API" in s.output()
    before = len(probe.said)
    until(lambda: len(probe.said) > before + 5, 60)
    assert set(probe.said) == {(503, "kubernetes")} and before > 0
    proxy.open = True
    until(lambda: probe.at_ready, 30)
    probe.over.set()
    probe.join()
    assert probe.at_ready == "NOERROR"
    assert set(probe.said) == {(503, "kubernetes"), (200, "OK")}


@pytest.mark.parametrize("who", ["fairlead", "coredns"])
def test_ready_with_many_services(c, started, who):
    many = [service(f"many-{i}", f"10.97.{i >> 8}.{i & 255}") for i in range(10_000)]
    c.put(many)
    try:
        # The API server lists from its watch cache, which follows etcd by and by.
        last = "/api/v1/namespaces/default/services/many-9999?resourceVersion=0"
        until(lambda: c.call("GET", last)[0] == 200, 120)
        program = server.fairlead() if who == "fairlead" else [server.coredns_program()]
        s, probe = probed(started, program, COREFILE % (c.kubeconfig(), "startup_timeout 5s"))
        s.start()
        until(lambda: probe.at_ready, 120)  # CoreDNS needs its time beside other tests
        probe.over.set()
        probe.join()
        # CoreDNS has been seen to be ready and to answer SERVFAIL on a busy machine: the promise is ours.
        assert probe.at_ready == "NOERROR" or who == "coredns", probe.at_ready
        assert set(probe.said) <= {(503, "kubernetes"), (200, "OK")}
        # Its page may also be asked for the first time when it is ready already.
        assert probe.said[0] == (503, "kubernetes") or who == "coredns"
        # Not before the last one was known.
        for k in (0, 5_000, 9_999):
            name = f"many-{k}.default.svc.cluster.local."
            if who == "coredns":
                until(lambda name=name: rcode(s, name) == "NOERROR", 60)
            assert rcode(s, name) == "NOERROR"
    finally:
        c.put([(key, None) for key, _ in many])


def test_away_later(c, started):
    """The last data is served, the server stays ready, and what changed meanwhile is there afterwards; also when all
    versions it knew are gone (410) again and again, and when a list is cut."""
    proxy = started(Proxy(c.port))
    s = serve_synced(started, through(c, proxy))
    name = "moved.default.svc.cluster.local."
    for n in range(1, 3):  # each failure doubles the time to the next try
        proxy.open = False
        until(lambda: not proxy.active)
        c.put([service("moved", f"10.96.10.{n}")])
        compact(c)
        web = ask(s, "web.default.svc.cluster.local.")
        assert addresses(web) == [bytes([10, 96, 9, 9])], (n, wire.rcode_text(web.rcode), s.output())
        assert addresses(ask(s, name)) == ([bytes([10, 96, 10, n - 1])] if n > 1 else [])
        assert is_ready(s)
        proxy.cut(1, 4000, 1)
        proxy.open = True
        until(lambda: addresses(ask(s, name)) == [bytes([10, 96, 10, n])], 60)
    c.put([("/registry/services/specs/default/moved", None)])
    until(lambda: rcode(s, name) == "NXDOMAIN", 30)


def test_how_old_the_names_are(c, started):
    """A metric shows for how long the API server has been silent; a message resets it."""
    proxy = started(Proxy(c.port))
    s = serve_synced(started, through(c, proxy))
    assert set(unheard(s)) == {"Service", "EndpointSlice", "Namespace"}
    assert max(unheard(s).values()) < 20
    proxy.open = False
    until(lambda: not proxy.active)
    silent = unheard(s)
    until(lambda: all(unheard(s)[kind] > silent[kind] + 2 for kind in silent), 30)
    namespace = {"apiVersion": "v1", "kind": "Namespace", "spec": {}, "status": {"phase": "Active"},
                 "metadata": {"name": "later", "uid": "00000000-0000-0000-0000-000000000099", "creationTimestamp": STAMP}}
    c.put([service("later", "10.96.12.1"), endpoints(0, 1), ("/registry/namespaces/later", namespace)])
    silent = unheard(s)
    proxy.open = True
    heard = set()  # each kind connects again at a time of its own: the first may be silent for long when the last is heard

    def all_heard():
        now = unheard(s)
        heard.update(kind for kind in silent if now[kind] < silent[kind])
        return heard == set(silent)

    until(all_heard, 60)


def test_garbage(c, started):
    """What an object has that is no address or name is left out; all others are served. (Objects that cannot be read at all
    are told of once: kube/informer.)"""
    key, odd = service("odd", "10.96.11.1")
    odd["spec"].update(clusterIPs=["no address"], clusterIP="no address", ports=[])
    slice_key, slice_ = endpoints(0, 1)
    slice_["metadata"]["labels"] = {"kubernetes.io/service-name": "x" * 300}
    slice_["endpoints"] = [{"addresses": ["1.2.3", "::g", ""]}, {"addresses": []}]
    c.put([(key, odd), (slice_key + "-odd", slice_)])
    s = serve_synced(started, c.kubeconfig())
    assert addresses(ask(s, "web.default.svc.cluster.local.")) == [bytes([10, 96, 9, 9])]
    assert addresses(ask(s, "odd.default.svc.cluster.local.")) == []
    assert s.alive()
    c.put([(key, None), (slice_key + "-odd", None)])


class Churn(threading.Thread):
    """New versions of all slices, RATE per second, straight into etcd."""

    def __init__(self, c):
        super().__init__()
        self.c, self.error, self.took = c, None, 0

    def run(self):
        try:
            began = time.monotonic()
            for n in range(1, ROUNDS + 1):
                self.c.put([endpoints(k, n) for k in range(HEADS)])
                time.sleep(max(0, began + n * HEADS / RATE - time.monotonic()))
            self.took = time.monotonic() - began
        except Exception as e:  # shown by the test
            self.error = e


def version(msg):
    """The number of the version that an answer shows; both of its addresses must be of one."""
    pairs = [struct.unpack("!BBH", r[4]) for r in msg.answer]
    assert sorted(k for _, k, _ in pairs) == [1, 2], pairs
    assert pairs[0][2] == pairs[1][2], pairs
    return pairs[0][2]


def cached_versions(c):
    """The versions of all slices that watches of the API server have got so far."""
    listed = c.call("GET", "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices?resourceVersion=0")[1]
    firsts = [o["endpoints"][0]["addresses"][0].split(".") for o in listed["items"] if o["metadata"]["name"].startswith("head-")]
    assert len(firsts) == HEADS
    return {int(octets[2]) << 8 | int(octets[3]) for octets in firsts}


class Dnsperf:
    """dnsperf with the names of all slices, at a steady rate."""

    def __init__(self, s, folder):
        names = os.path.join(folder, "names")
        with open(names, "w", encoding="ascii") as f:
            f.writelines(f"head-{k}.default.svc.cluster.local. A\n" for k in range(HEADS))
        self.process = subprocess.Popen(["dnsperf", "-s", "127.0.0.1", "-p", str(s.port()), "-d", names, "-Q", "2000",
                                         "-l", str(round(ROUNDS * HEADS / RATE)), "-t", "5"], text=True,
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def check(self):
        """All were answered, with addresses."""
        text = self.process.communicate(timeout=60)[0]
        assert re.search(r"Queries lost: +0 ", text), text
        assert re.search(r"Response codes: +NOERROR \d+ \(100\.00%\)", text), text
        return int(re.search(r"Queries completed: +(\d+)", text)[1])


def test_churn(c, started, tmp_path):
    """A thousand changes a second and questions meanwhile: every question is answered, each answer is one version of a
    slice and none is older than the one before; the last one is served soon. dnsperf asks, too, and loses nothing."""
    c.put([endpoints(k, 0) for k in range(HEADS)])
    s = serve_synced(started, c.kubeconfig())
    churn, r = Churn(c), random.Random(1)
    last, seen, asked = [0] * HEADS, set(), 0
    perf = Dnsperf(s, tmp_path)
    churn.start()
    while churn.is_alive():
        k = r.randrange(HEADS)
        now = version(ask(s, f"head-{k}.default.svc.cluster.local."))
        assert now >= last[k], (k, now, last[k])
        last[k], asked = now, asked + 1
        seen.add(now)
    churn.join()
    assert churn.error is None, churn.error
    completed = perf.check()
    # On a busy machine the API server's watch cache may be far behind etcd.
    until(lambda: cached_versions(c) == {ROUNDS}, 120)
    until(lambda: {version(ask(s, f"head-{k}.default.svc.cluster.local.")) for k in range(HEADS)} == {ROUNDS}, 60)
    print(f"{HEADS * ROUNDS / churn.took:.0f} events/s, {asked} questions and {completed} of dnsperf, {len(seen)} of {ROUNDS} versions seen")
    assert asked > 100 and completed > 1000 and len(seen) > 10, (asked, completed, len(seen))
    assert s.stop() == 0
    assert "Sanitizer" not in s.last_output, s.last_output[-3000:]
