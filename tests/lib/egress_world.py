# SPDX-License-Identifier: GPL-3.0-or-later
"""Two nodes with pods, DNS servers and agents of this program, for tests of what egress rules do to real connections. Needs root.

    with EgressWorld(folder) as world:
        world.write_rules("web", rule("Allow", "*.example"), *DENY)
        world.start_agents()
        world.start_server("node-1")
        result = world.connect_names("10.1.0.2", "n%u.example", 0, 100, server="10.1.0.1")
        assert result.refused == 0

The nodes are namespaces joined by a cable; each has one of its own to the outside, where an upstream answers every A question
with another address, of a short TTL. The API is the embedded one, on node-1's loopback; node-2 reaches it through a relay.
"""
import os
import selectors
import shutil
import signal
import socket
import struct
import subprocess
import threading
from collections import namedtuple

import pytest

from lib import certs, server
from lib.cluster import Embedded
from lib.node_network import SBIN, Namespace, NodeNetwork

NODES = {"node-1": "10.1.0.1", "node-2": "10.2.0.1"}
PODS = {"10.1.0.2": ("web", "node-1"), "10.1.0.3": ("plain", "node-1"), "10.1.0.4": ("shop", "node-1"),
        "10.2.0.2": ("web", "node-2"), "10.2.0.3": ("shop", "node-2")}
UPSTREAM = "203.0.113.253"
POOL, FIRST, COUNT = "198.18.0.0/15", 0xc6120000, 1 << 17  # addresses outside, beside those of NodeNetwork
AGENT_PORT = 9353
FIREWALLS = "/apis/k8s.ovn.org/v1/namespaces/{}/egressfirewalls"
SOURCE = os.path.join(server.ROOT, "tests", "lib", "resolve_connect.c")
Result = namedtuple("Result", "opened refused silent unknown p50_us p99_us max_us")


def rule(kind, to, **more):
    return {"type": kind, "to": {"dnsName" if not to[0].isdigit() and ":" not in to else "cidrSelector": to}, **more}


DENY = (rule("Deny", "0.0.0.0/0"), rule("Deny", "::/0"))


class Relay(threading.Thread):
    """Passes connections to a port of one namespace on to the same port of another's loopback."""

    def __init__(self, here, there, port):
        super().__init__(daemon=True)
        self.here, self.there, self.port = here, there, port
        self.selector = selectors.DefaultSelector()
        self.ends = False
        self.listener = here.call(lambda: socket.create_server(("127.0.0.1", port)))
        self.selector.register(self.listener, selectors.EVENT_READ, None)
        self.start()

    def run(self):
        while not self.ends:
            for key, _ in self.selector.select(0.2):
                if key.data is None:
                    self._accept()
                elif key.fileobj.fileno() >= 0:  # its other side may have ended it just now
                    self._pass(key.fileobj, key.data)

    def _accept(self):
        left, _ = self.listener.accept()
        try:
            right = self.there.call(lambda: socket.create_connection(("127.0.0.1", self.port)))
        except OSError:
            left.close()
            return
        self.selector.register(left, selectors.EVENT_READ, right)
        self.selector.register(right, selectors.EVENT_READ, left)

    def _pass(self, source, target):
        try:
            data = source.recv(1 << 16)
            target.sendall(data)
        except OSError:
            data = b""
        if not data:
            for sock in (source, target):
                self.selector.unregister(sock)
                sock.close()

    def stop(self):
        self.ends = True
        self.join()
        for key in list(self.selector.get_map().values()):
            key.fileobj.close()


class Upstream(threading.Thread):
    """Answers every A question with another address of POOL, one after the other, or with that of `fixed`; other questions with
    nothing."""

    def __init__(self, space, ttl=1):
        super().__init__(daemon=True)
        self.ttl, self.fixed, self.ends = ttl, {}, False
        self.sock = space.call(self._bind)
        self.sock.settimeout(0.2)
        self.number = 0
        self.start()

    @staticmethod
    def _bind():
        sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        sock.bind((UPSTREAM, 53))
        return sock

    def run(self):
        while not self.ends:
            try:
                query, client = self.sock.recvfrom(2048)
            except socket.timeout:
                continue
            self.sock.sendto(self.answer(query), client)

    def answer(self, query):
        end = query.index(0, 12) + 5
        qtype = struct.unpack_from("!H", query, end - 4)[0]
        name = query[12:end - 4].lower()
        head = query[:2] + struct.pack("!HHHHH", 0x8580, 1, int(qtype == 1), 0, 0) + query[12:end]
        if qtype != 1:
            return head
        self.number += 1
        address = self.fixed.get(name) or struct.pack("!I", FIRST + self.number % COUNT)
        return head + struct.pack("!HHHIH", 0xc00c, 1, 1, self.ttl, 4) + address

    def fix(self, name, address):
        wire = b"".join(bytes([len(label)]) + label.encode() for label in name.split(".")) + b"\0"
        self.fixed[wire] = socket.inet_aton(address)

    def stop(self):
        self.ends = True
        self.join()
        self.sock.close()


class TwoNodes(NodeNetwork):
    """node-2 beside the first one; IPv4 alone."""

    def __init__(self):
        super().__init__()
        self.nodes = {"node-1": self.node, "node-2": Namespace()}
        second = self.nodes["node-2"]
        second.run("sysctl", "-qw", "net.ipv4.ip_forward=1")
        second.run("sysctl", "-qw", "net.ipv4.icmp_ratelimit=0")
        second.run("ip", "addr", "add", NODES["node-2"] + "/32", "dev", "lo")
        self._join(self.node, "node2", second, "node1", "169.254.9.1", "169.254.9.2", "10.2.0.0/24", "10.1.0.0/24")
        self._join(second, "out0", self.outside, "eth1", "169.254.10.1", "169.254.10.2", None, "10.2.0.0/24")
        self.outside.run("ip", "route", "add", "local", POOL, "dev", "lo")
        self.node.run("ip", "route", "add", POOL, "via", "169.254.7.2", "dev", "out0")
        for block in ("203.0.113.0/24", "198.51.100.0/24", POOL):
            second.run("ip", "route", "add", block, "via", "169.254.10.2", "dev", "out0")

    @staticmethod
    def _join(left, left_name, right, right_name, left4, right4, behind_right, behind_left):
        fd = f"/proc/{os.getpid()}/fd/{right.fd}"
        left.run("ip", "link", "add", left_name, "type", "veth", "peer", "name", right_name, "netns", fd)
        for space, name, own, other, behind in ((left, left_name, left4, right4, behind_right),
                                                (right, right_name, right4, left4, behind_left)):
            space.run("ip", "link", "set", name, "up")
            space.run("ip", "addr", "add", f"{own}/32", "dev", name)
            space.run("ip", "route", "add", f"{other}/32", "dev", name)
            if behind is not None:
                # Cables of pods have better routes; what has none goes to the other node.
                space.run("ip", "route", "add", behind, "via", other, "dev", name)

    def add_pod(self, address, address6=None):
        first, node = self.node, self.nodes[PODS[address][1]]
        self.node = node
        try:
            return super().add_pod(address, address6)
        finally:
            self.node = first

    def close(self):
        self.nodes["node-2"].close()
        super().close()


class EgressWorld:
    def __init__(self, folder):
        self.folder = str(folder)
        self.net = TwoNodes()
        self.processes = {}  # name: Popen
        self.programs = {}
        for address in PODS:
            self.net.add_pod(address)
        self.net.serve("tcp", 80)
        self.upstream = Upstream(self.net.outside)
        self.api = Embedded()
        self.net.node.call(self.api.__enter__)
        self.relay = Relay(self.net.nodes["node-2"], self.net.node, self.api.port)
        self._write_objects()
        certs.make_ca(self.folder, "ca")
        certs.make_cert(self.folder, "server", san="DNS:dns.fairlead.test", key="server.key")
        for node in NODES:
            certs.make_cert(self.folder, node, san=f"DNS:{node}", key=node + ".key")

    def _write_objects(self):
        for ns in sorted({ns for ns, _ in PODS.values()}):
            self.call("POST", "/api/v1/namespaces", {"metadata": {"name": ns}})
        for number, node in enumerate(NODES, 1):
            self.call("POST", "/api/v1/nodes", {"metadata": {"name": node}, "spec": {"podCIDR": f"10.{number}.0.0/24",
                                                                                    "podCIDRs": [f"10.{number}.0.0/24"]}})
        for address, (ns, node) in PODS.items():
            self.add_pod(ns, "pod-" + address.replace(".", "-"), node, address)

    def call(self, method, path, body=None, content_type="application/json"):
        status, reply = self.net.node.call(
            lambda: self.api.call(method, path, body, token=self.api.system, content_type=content_type))
        assert status in (200, 201), (method, path, status, reply)
        return reply

    def add_pod(self, ns, name, node, address):
        path = f"/api/v1/namespaces/{ns}/pods"
        self.call("POST", path, {"metadata": {"name": name}, "spec": {"nodeName": node, "containers": [
            {"name": "main", "image": "registry.example/x"}]}})
        self.call("PATCH", f"{path}/{name}/status", {"status": {
            "phase": "Running", "hostIP": NODES[node], "podIP": address, "podIPs": [{"ip": address}]}},
            "application/merge-patch+json")

    def write_rules(self, ns, *rules):
        path = FIREWALLS.format(ns)
        spec = {"egress": list(rules)}
        found = self.net.node.call(lambda: self.api.call("GET", path + "/default"))
        if found[0] == 200:
            self.call("PATCH", path + "/default", {"spec": spec}, "application/merge-patch+json")
        else:
            self.call("POST", path, {"apiVersion": "k8s.ovn.org/v1", "kind": "EgressFirewall",
                                     "metadata": {"name": "default"}, "spec": spec})

    # ---- processes ----

    def path(self, name):
        return os.path.join(self.folder, name)

    def start(self, name, node, argv, log=None):
        with open(self.path(log or name + ".log"), "a", encoding="utf-8") as out:
            self.processes[name] = self.net.nodes[node].start(argv, stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                                                              env={**os.environ, "NODE_NAME": node})
        return self.processes[name]

    def text(self, name):
        try:
            with open(self.path(name + ".log"), encoding="utf-8", errors="replace") as f:
                return f.read()
        except FileNotFoundError:
            return ""

    def agent_tls(self, node):
        """The files of an agent's certificate, its key, and the authority of servers."""
        return self.path(node + ".pem"), self.path(node + ".key"), self.path("ca.pem")

    def server_tls(self):
        """The words of the option agent_tls."""
        return self.path("server.pem"), self.path("server.key"), self.path("ca.pem")

    def start_agent(self, node):
        cert, key, ca = self.agent_tls(node)
        self.start("agent-" + node, node, [
            server.fairlead_program(), "node", "--kubeconfig", self.api.kubeconfig(self.api.system), "--name", node,
            "--socket", self.path(node + ".sock"), "--listen", f"{NODES[node]}:{AGENT_PORT}", "--tls-cert", cert, "--tls-key", key, "--tls-ca", ca,
            "--always-open", ",".join(f"{a}/32" for a in NODES.values())])

    def start_server(self, node, options="", workers=1):
        path = self.path(f"Corefile-{node}")
        with open(path, "w", encoding="utf-8") as f:
            f.write(f""". {{
    bind {NODES[node]}
    prometheus 127.0.0.1:9153
    errors
    ready 127.0.0.1:8181
    egressfirewall {{
        kubeconfig {self.api.kubeconfig(self.api.system)}
        namespace default
        never 10.0.0.0/8
        hold
        node {node}
        agent_socket {self.path(node + ".sock")}
        agent_tls {" ".join(self.server_tls())}
        agent_port {AGENT_PORT}
        {options}
    }}
    cache 30
    forward . {UPSTREAM}
}}
""")
        return self.start("server-" + node, node, [server.fairlead_program(), "dns", "-conf", path])

    def start_controller(self, *flags, wrap=()):
        """The controller egressfirewall, with the embedded API."""
        return self.start("controller", "node-1", [
            *wrap, server.fairlead_program(), "controller", "--kubeconfig", self.api.kubeconfig(self.api.system), "--controllers",
            "egressfirewall", "--no-election", "--platform", "kubernetes", "--listen", "127.0.0.1:0", *flags])

    def end(self, name, number=signal.SIGTERM):
        process = self.processes.pop(name)
        process.send_signal(number)
        status = process.wait(20)
        assert number == signal.SIGKILL or status == 0, (name, status, self.text(name)[-3000:])
        assert "Sanitizer" not in self.text(name), self.text(name)

    # ---- clients ----

    def program(self, compiler):
        if compiler not in self.programs:
            if shutil.which(compiler) is None:
                pytest.fail(f"{compiler} is not installed (tools/deps test)")
            static = ["-static"] if compiler == "musl-gcc" else []
            path = self.path("resolve-connect-" + compiler)
            subprocess.run([compiler, "-O1", *static, "-o", path, SOURCE], check=True)
            self.programs[compiler] = path
        return self.programs[compiler]

    def start_client(self, pod, names, first, last, dns, compiler="gcc", seconds=None):
        """Looks up and connects to each name, in the pod's namespace."""
        conf = self.path(f"resolv-{dns}.conf")
        if not os.path.exists(conf):  # a client that runs may read it just now
            with open(conf, "w", encoding="ascii") as f:
                f.write(f"nameserver {dns}\noptions timeout:3 attempts:1\n")
        more = [] if seconds is None else [str(seconds)]
        argv = ["unshare", "-m", "sh", "-c", 'mount --bind "$0" /etc/resolv.conf && exec "$@"', conf,
                self.program(compiler), names, str(first), str(last), "80", *more]
        return self.net.pods[pod].start(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={"PATH": SBIN})

    @staticmethod
    def finish_client(process, seconds=300):
        out, err = process.communicate(timeout=seconds)
        assert process.returncode == 0, err
        return Result(*map(int, out.split())), err

    def connect_names(self, *args, **kw):
        return self.finish_client(self.start_client(*args, **kw))[0]

    def metric(self, node, line):
        """The value of a line of the server's metrics that begins so; 0 without one."""
        def get():
            with socket.create_connection(("127.0.0.1", 9153), 5) as sock:
                sock.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
                data = b""
                while chunk := sock.recv(65536):
                    data += chunk
            return data.decode()
        found = [text for text in self.net.nodes[node].call(get).splitlines() if text.startswith(line)]
        return sum(float(text.rsplit(" ", 1)[1]) for text in found)

    def close(self):
        for process in self.processes.values():
            process.kill()
            process.wait(20)
        self.relay.stop()
        self.upstream.stop()
        self.net.node.call(lambda: self.api.__exit__(None, None, None))
        self.net.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
