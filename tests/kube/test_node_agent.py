# SPDX-License-Identifier: GPL-3.0-or-later
"""`fairlead node` on a node of this test: pods, servers and the node are network namespaces, the API is the embedded one, and
rules are judged by whether connections of pods open."""
import hashlib
import ipaddress
import json
import os
import re
import signal
import socket
import ssl
import struct
import subprocess
import threading
import time
import urllib.request

import pytest

import egresslib
from controllerlib import until
from egresslib import UNUSED
from lib import certs, node_network, server
from lib.cluster import Embedded
from lib.node_network import NodeNetwork

REASON = node_network.why_not()
pytestmark = pytest.mark.skipif(REASON is not None, reason=f"THIS MACHINE CANNOT RUN NODE TESTS: {REASON}")

POD, POD6, PLAIN, LATE = "10.1.0.2", "fd01:1::2", "10.1.0.3", "10.1.0.4"
ALLOWED, OTHER, OTHER6 = "203.0.113.7", "203.0.113.8", "2001:db8::8"
FIREWALLS = "/apis/k8s.ovn.org/v1/namespaces/{}/egressfirewalls"
NAMES = "/apis/k8s.ovn.org/v1/namespaces/default/dnsnames"


class Node:
    """The network, an API server inside of it, and the agent."""

    def __init__(self, folder):
        self.net = NodeNetwork()
        self.socket = os.path.join(folder, "egress.sock")
        self.log = os.path.join(folder, "agent.log")
        self.agent = None
        for addresses in ((POD, POD6), (PLAIN,), (LATE,)):
            self.net.add_pod(*addresses)
        for port in (80, 443):
            self.net.serve("tcp", port)
        self.api = Embedded()
        self.net.node.call(self.api.__enter__)

    def close(self):
        if self.agent is not None:
            self.stop()
        self.net.node.call(lambda: self.api.__exit__(None, None, None))
        self.net.close()

    def call(self, method, path, body=None, content_type="application/json"):
        """As the platform itself, which may write DNSName and status."""
        status, reply = self.net.node.call(
            lambda: self.api.call(method, path, body, token=self.api.system, content_type=content_type))
        assert status in (200, 201), (method, path, status, reply)
        return reply

    def add_pod(self, ns, name, *addresses, phase="Running", **spec):
        path = f"/api/v1/namespaces/{ns}/pods"
        self.call("POST", path, {"metadata": {"name": name}, "spec": {"nodeName": "node-1", "containers": [
            {"name": "main", "image": "registry.example/x"}], **spec}})
        self.call("PATCH", f"{path}/{name}/status", {"status": {
            "phase": phase, "podIP": addresses[0], "podIPs": [{"ip": a} for a in addresses]}}, "application/merge-patch+json")

    def write_rules(self, ns, *rules):
        path = FIREWALLS.format(ns)
        body = {"apiVersion": "k8s.ovn.org/v1", "kind": "EgressFirewall", "metadata": {"name": "default"},
                "spec": {"egress": list(rules)}}
        found = self.net.node.call(lambda: self.api.call("GET", path + "/default"))
        if found[0] == 200:
            self.call("PATCH", path + "/default", {"spec": body["spec"]}, "application/merge-patch+json")
        else:
            self.call("POST", path, body)

    def start(self, *flags):
        with open(self.log, "a", encoding="utf-8") as log:
            self.agent = self.net.node.start([server.fairlead_program(), "node", "--kubeconfig", self.api.kubeconfig(self.api.system),
                                              "--name", "node-1", "--socket", self.socket, *flags],
                                             stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def stop(self, number=signal.SIGTERM):
        self.agent.send_signal(number)
        status = self.agent.wait(20)
        self.agent = None
        assert status == (0 if number == signal.SIGTERM else -number), self.text()
        assert "Sanitizer" not in self.text()

    def text(self):
        with open(self.log, encoding="utf-8") as f:
            return f.read()

    def wait(self, pod, address, outcome, port=80):
        until(lambda: self.net.connect(pod, address, port) == outcome, 20, 0.05)

    def ruleset(self):
        return self.net.node.run("nft", "list", "table", "inet", "fairlead")


class Asker:
    """A DNS server's side of the protocol."""

    def __init__(self, path, version=2):
        if isinstance(path, str):
            self.sock = socket.socket(socket.AF_UNIX)
            self.sock.settimeout(5)
            self.sock.connect(path)
        else:
            self.sock = path
        self.sock.sendall(self.frame(b"\x01fairlead" + struct.pack("!H", version)))
        assert self.read()[:9] == b"\x01fairlead"
        self.forgets = 0  # requests to ask again that came before an answer

    @staticmethod
    def frame(body):
        return struct.pack("!H", len(body)) + body

    def exactly(self, n):
        data = b""
        while len(data) < n:
            more = self.sock.recv(n - len(data))
            assert more, "the agent has hung up"
            data += more
        return data

    def read(self):
        return self.exactly(*struct.unpack("!H", self.exactly(2)))

    def add(self, name, *addresses, seconds=60, tenant=""):
        return self.ask(name, addresses, seconds, tenant) == 0

    def ask(self, name, addresses, seconds=60, tenant=""):
        name_id = hashlib.sha256(name.encode()).digest()[:16]
        pairs = b""
        for a in addresses:
            raw = socket.inet_pton(socket.AF_INET6 if ":" in a else socket.AF_INET, a)
            pairs += name_id + struct.pack("!IB", seconds * 1000, len(raw)) + raw
        head = b"\x06\0\0\0\x07" + bytes([len(tenant)]) + tenant.encode() if tenant else b"\x02\0\0\0\x07"
        self.sock.sendall(self.frame(head + pairs))
        reply = self.read()
        while reply == b"\x05":
            self.forgets += 1
            reply = self.read()
        assert reply[:5] == b"\x03\0\0\0\x07", reply
        return reply[5]

    def close(self):
        self.sock.close()


def rule(kind, to, **more):
    return {"type": kind, "to": {"dnsName" if not to[0].isdigit() and ":" not in to else "cidrSelector": to}, **more}


DENY = (rule("Deny", "0.0.0.0/0"), rule("Deny", "::/0"))


@pytest.fixture(scope="module")
def node(tmp_path_factory):
    made = Node(str(tmp_path_factory.mktemp("node")))
    try:
        for ns in ("web", "plain"):
            made.call("POST", "/api/v1/namespaces", {"metadata": {"name": ns}})
        made.call("POST", "/api/v1/nodes", {"metadata": {"name": "node-1"},
                                            "spec": {"podCIDR": "10.1.0.0/24", "podCIDRs": ["10.1.0.0/24", "fd01:1::/64"]}})
        made.add_pod("web", "a", POD, POD6)
        made.add_pod("plain", "b", PLAIN)
        yield made
    finally:
        made.close()


@pytest.fixture
def agent(node):
    node.write_rules("web", rule("Allow", "www.example"), *DENY)
    node.start()
    until(lambda: "table is in force" in node.text(), 20, 0.05)
    yield node
    if node.agent is not None:
        node.stop()
    node.net.node.run(server.fairlead_program(), "node", "--remove")
    os.remove(node.log)


def test_the_name_that_a_server_asks_for(agent):
    """EF-P1: an address works the moment the agent has acknowledged it, and only for the name's namespace."""
    assert agent.net.connect(POD, ALLOWED, 80) == "refused"
    assert agent.net.connect(PLAIN, ALLOWED, 80) == "open"
    asker = Asker(agent.socket)
    for last in range(7, 57):
        assert asker.add("www.example", f"203.0.113.{last}", f"2001:db8::{last:x}")
        assert agent.net.connect(POD, f"203.0.113.{last}", 80) == "open"
        assert agent.net.connect(POD, f"2001:db8::{last:x}", 80) == "open"
    assert agent.net.connect(POD, "203.0.113.99", 80) == "refused"
    # The address of a name that no rule has opens nothing.
    assert asker.add("other.example", "203.0.113.99")
    assert agent.net.connect(POD, "203.0.113.99", 80) == "refused"
    asker.close()


def test_somebody_else_changes_the_table(agent):
    """The agent mends it, and servers forget what they knew: their connections end."""
    asker = Asker(agent.socket)
    assert asker.add("www.example", ALLOWED)
    assert agent.net.connect(POD, ALLOWED, 80) == "open"
    agent.net.node.run("nft", "delete", "table", "inet", "fairlead")
    until(lambda: agent.net.connect(POD, OTHER, 80) == "refused", 15, 0.1)
    asker.sock.settimeout(15)
    assert asker.sock.recv(1) == b""
    asker.close()
    asker = Asker(agent.socket)
    assert asker.add("www.example", ALLOWED)
    assert agent.net.connect(POD, ALLOWED, 80) == "open"
    assert "somebody else has changed" in agent.text()
    asker.close()


def elements(agent, name):
    return agent.net.node.run("nft", "list", "set", "inet", "fairlead", name)


def test_somebody_else_changes_addresses(agent):
    """Addresses that somebody removes come again before their time is over, those that somebody adds go; servers have to ask again."""
    asker = Asker(agent.socket)
    assert asker.add("www.example", ALLOWED, "2001:db8::7")
    agent.net.node.run("nft", "flush", "set", "inet", "fairlead", "names4")
    agent.wait(POD, ALLOWED, "open")
    assert agent.net.connect(POD, "2001:db8::7", 80) == "open"
    asker.sock.settimeout(15)
    assert asker.sock.recv(1) == b""
    asker.close()
    asker = Asker(agent.socket)
    key = str(ipaddress.IPv6Address(hashlib.sha256(b"www.example").digest()[:16]))
    for action, element in (("delete", f"{key} . 2001:db8::7"), ("add", f"{key} . {OTHER6}")):
        agent.net.node.run("nft", action, "element", "inet", "fairlead", "names6", "{ " + element + " }")
    agent.wait(POD, OTHER6, "refused")
    agent.wait(POD, "2001:db8::7", "open")
    assert agent.net.connect(POD, ALLOWED, 80) == "open"
    assert OTHER6 not in elements(agent, "names6") and "2001:db8::7 timeout" in elements(agent, "names6")
    assert "1 addresses" in agent.text() or "2 addresses" in agent.text()
    asker.close()
    # Its own changes, and those of other tables, are not taken for somebody else's.
    count = agent.text().count("somebody else")
    agent.net.node.run("nft", "add", "table", "inet", "other")
    agent.net.node.run("nft", "delete", "table", "inet", "other")
    asker = Asker(agent.socket)
    for last in range(60, 90):
        assert asker.add("www.example", f"203.0.113.{last}")
    agent.write_rules("web", rule("Allow", "www.example"), rule("Allow", OTHER + "/32"), *DENY)
    agent.wait(POD, OTHER, "open")
    assert agent.text().count("somebody else") == count, agent.text()
    assert asker.add("www.example", "203.0.113.90")  # still connected
    asker.close()


def test_one_agent_for_each_network(agent):
    """A second agent, with another socket, does not start, and nobody removes the table of one that runs: it would come again."""
    program = server.fairlead_program()
    commands = ([program, "node", "--kubeconfig", agent.api.kubeconfig(agent.api.system), "--name", "node-1", "--socket",
                 agent.socket + "-2"], [program, "node", "--remove"])
    begun = [agent.net.node.start(argv, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) for argv in commands]
    for one in begun:
        err = one.communicate(timeout=20)[1]
        assert one.returncode == 1 and "another agent enforces EgressFirewalls here" in err, err
    assert not os.path.exists(agent.socket + "-2")
    assert agent.net.connect(POD, OTHER, 80) == "refused"
    assert "somebody else has changed" not in agent.text()


REPORT = "/api/v1/namespaces/default/configmaps/fairlead-node-node-1"


def test_report(agent):
    """EF-P11: the agent reports what is in force, and what takes packets past it; the controller makes the condition of it."""
    def data():
        status, found = agent.net.node.call(lambda: agent.api.call("GET", REPORT, token=agent.api.system))
        return found["data"] if status == 200 else {"firewalls": None}  # not written yet

    def line():
        found = agent.call("GET", FIREWALLS.format("web") + "/default")["metadata"]
        return f"web {found['uid']} {found['generation']}\n"
    until(lambda: data()["firewalls"] == line(), 20, 0.05)
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as f:
        assert data()["bootID"] == f.read().strip()
    assert data()["node"] == "node-1" and data()["dataPath"] == ""
    agent.write_rules("web", rule("Allow", OTHER + "/32"), *DENY)
    agent.wait(POD, OTHER, "open")
    until(lambda: data()["firewalls"] == line(), 20, 0.05)
    version = agent.call("GET", REPORT)["metadata"]["resourceVersion"]
    agent.net.node.run("ip", "link", "add", "cilium_host", "type", "veth", "peer", "name", "cilium_net")
    try:
        agent.write_rules("web", rule("Allow", ALLOWED + "/32"), *DENY)  # so that it looks
        until(lambda: "Cilium" in data()["dataPath"], 20, 0.1)
        assert "nothing is enforced on this node: Cilium" in agent.text()
        # Nothing else was written meanwhile: the version is that of the only write.
        assert int(agent.call("GET", REPORT)["metadata"]["resourceVersion"]) > int(version)
        agent.stop()
        agent.start("--data-path", "nftables")
        until(lambda: data()["dataPath"] == "", 20, 0.1)
    finally:
        agent.net.node.run("ip", "link", "del", "cilium_host")


def test_removal_of_the_report(agent):
    """With an API at hand the report goes with the table; an API that does not answer is an error."""
    def report_status():
        return agent.net.node.call(lambda: agent.api.call("GET", REPORT, token=agent.api.system))[0]
    until(lambda: report_status() == 200, 20, 0.05)
    agent.stop()
    argv = [server.fairlead_program(), "node", "--remove", "--name", "node-1", "--kubeconfig"]
    for _ in range(2):  # the second time there is none
        agent.net.node.run(*argv, agent.api.kubeconfig(agent.api.system))
        assert report_status() == 404
    done = agent.net.node.call(lambda: subprocess.run([*argv, "/nowhere"], capture_output=True, text=True, timeout=20, check=False))
    assert done.returncode == 1 and "/nowhere" in done.stderr, done


def ask_by_tls(agent, folder, port, cert):
    """The answer to an address that was asked for with this certificate (None: without one); OSError where the agent hangs up."""
    context = ssl.create_default_context(cafile=folder / "agents.pem")
    if cert is not None:
        context.load_cert_chain(folder / f"{cert}.pem", folder / f"{cert}.key")
    sock = agent.net.node.call(lambda: socket.create_connection(("127.0.0.1", port), 5))
    with context.wrap_socket(sock, server_hostname="fairlead-node") as tls:
        asker = Asker(tls)
        return asker.add("www.example", ALLOWED)


def is_refused(agent, folder, port, cert):
    try:
        ask_by_tls(agent, folder, port, cert)
    except (OSError, AssertionError):  # in the handshake, or the agent has hung up
        return True
    return False


def test_only_dns_servers_may_ask(node, tmp_path):
    """Refused: no certificate, another authority's, an agent's own. Certificates are read again when their files change."""
    for ca, name in (("agents", "agent"), ("servers", "server"), ("strangers", "stranger"), ("new-servers", "new-server")):
        certs.make_ca(tmp_path, ca)
        certs.make_cert(tmp_path, name, san="DNS:fairlead-node", ca=ca, key=f"{name}.key")
    trusted = tmp_path / "trusted.pem"
    trusted.write_bytes((tmp_path / "servers.pem").read_bytes())
    node.write_rules("web", rule("Allow", "www.example"), *DENY)
    node.start("--listen", "127.0.0.1:0", "--tls-cert", str(tmp_path / "agent.pem"), "--tls-key", str(tmp_path / "agent.key"),
               "--tls-ca", str(trusted))
    try:
        port = int(until(lambda: re.search(r"ask at port (\d+)", node.text()), 20, 0.05)[1])
        for cert in (None, "stranger", "agent", "new-server"):
            assert is_refused(node, tmp_path, port, cert), cert
        assert ask_by_tls(node, tmp_path, port, "server")
        fresh = tmp_path / "fresh"
        fresh.write_bytes((tmp_path / "new-servers.pem").read_bytes())
        os.replace(fresh, trusted)
        until(lambda: is_refused(node, tmp_path, port, "server"), 20, 0.2)
        assert ask_by_tls(node, tmp_path, port, "new-server")
        # What cannot be read changes nothing.
        trusted.write_text("no certificate", encoding="ascii")
        until(lambda: "meet the certificate of before" in node.text(), 20, 0.2)
        assert ask_by_tls(node, tmp_path, port, "new-server")
        node.stop()
    finally:
        node.net.node.run(server.fairlead_program(), "node", "--remove")
        os.remove(node.log)


def test_denied_connections(agent):
    """EF-P11: samples of what is denied become one Event of the firewall for each destination, and a metric."""
    agent.stop()
    os.remove(agent.log)
    agent.start("--log-group", "77", "--metrics", "127.0.0.1:0")
    until(lambda: "table is in force" in agent.text(), 20, 0.05)
    for _ in range(5):
        assert agent.net.connect(POD, OTHER, 80) == "refused"
    assert agent.net.connect(POD, OTHER6, 443) == "refused"
    assert agent.net.connect(PLAIN, OTHER, 80) == "open"

    def seen():
        found = agent.call("GET", "/apis/events.k8s.io/v1/namespaces/web/events")["items"]
        return {(e["action"], e["note"], e["regarding"]["kind"]) for e in found if e["reason"] == "ConnectionDenied"}
    until(lambda: seen() == {
        (f"Connect {OTHER}", f"pod {POD} may not connect to {OTHER}, TCP port 80, by the rule 'deny 0.0.0.0/0'", "EgressFirewall"),
        (f"Connect {OTHER6}", f"pod {POD6} may not connect to {OTHER6}, TCP port 443, by the rule 'deny ::/0'", "EgressFirewall")})
    told = agent.net.node.run(server.fairlead_program(), "explain", OTHER, "-n", "web", "--kubeconfig",
                              agent.api.kubeconfig(agent.api.system))
    assert f"  denied: pod {POD} may not connect to {OTHER}, TCP port 80, by the rule 'deny 0.0.0.0/0' (" in told and OTHER6 not in told
    port = int(re.search(r"metrics on port (\d+)", agent.text())[1])

    def page():
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as reply:
            return reply.read().decode()
    assert 'fairlead_node_denied_samples_total{namespace="web"} 6' in agent.net.node.call(page)


def test_too_many_addresses(agent):
    """EF-P10: past the limits of a namespace new addresses fail, are counted, and are one Event of its firewall. What is in force stays
    so, and another namespace notices nothing."""
    quota = 6
    agent.write_rules("web", rule("Allow", "www.example"), rule("Allow", "*.wild.example"), *DENY)
    agent.write_rules("plain", rule("Allow", "*.wild.example"), *DENY)
    agent.stop()
    os.remove(agent.log)
    agent.start("--metrics", "127.0.0.1:0")
    until(lambda: "table is in force" in agent.text(), 20, 0.05)
    asker = Asker(agent.socket)
    hosts = [f"198.18.0.{i}" for i in range(256)]
    assert asker.ask("www.example", hosts, tenant="web") == 0
    assert asker.ask("www.example", [ALLOWED], tenant="web") == quota
    wild = [str(ipaddress.ip_address("198.18.1.0") + i) for i in range(65536 - 256)]
    for first in range(0, len(wild), 256):
        assert asker.ask("*.wild.example", wild[first:first + 256], tenant="web") == 0
    for i in range(20):
        assert asker.ask("*.wild.example", [f"203.0.113.{100 + i}"], tenant="web") == quota
    assert agent.net.connect(POD, "203.0.113.100", 80) == "refused"
    assert asker.ask("*.wild.example", ["203.0.113.200"], tenant="plain") == 0
    assert agent.net.connect(PLAIN, "203.0.113.200", 80) == "open"
    assert asker.ask("*.wild.example", [wild[0], "203.0.113.200"], seconds=90, tenant="web") == 0
    asker.close()

    def seen():
        found = agent.call("GET", "/apis/events.k8s.io/v1/namespaces/web/events")["items"]
        return sorted(e["note"] for e in found if e["reason"] == "TooManyAddresses" and e["regarding"]["kind"] == "EgressFirewall")
    until(lambda: len(seen()) == 2)
    assert seen()[0].startswith("one name of the namespace has 256 addresses in force on node node-1, as many as it may have "
                                "(rule 'allow www.example')")
    assert seen()[1].startswith("the namespace has 65536 addresses in force on node node-1, as many as it may have: DNS answers")
    port = int(re.search(r"metrics on port (\d+)", agent.text())[1])

    def page():
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as reply:
            return reply.read().decode()
    metrics = agent.net.node.call(page)
    assert 'fairlead_node_refused_addresses_total{limit="namespace"} 20' in metrics
    assert 'fairlead_node_refused_addresses_total{limit="name"} 1' in metrics
    agent.call("DELETE", FIREWALLS.format("plain") + "/default")


def test_rules_change(agent):
    """Other rules, another order, no firewall."""
    agent.write_rules("web", rule("Allow", "203.0.113.0/28", ports=[{"protocol": "TCP", "port": 443}]), *DENY)
    agent.wait(POD, OTHER, "open", 443)
    assert agent.net.connect(POD, OTHER, 80) == "refused"
    agent.write_rules("web", rule("Allow", "203.0.113.0/28"), *DENY)
    agent.wait(POD, OTHER, "open")
    agent.write_rules("web", *DENY, rule("Allow", "203.0.113.0/28"))
    agent.wait(POD, OTHER, "refused")
    agent.call("DELETE", FIREWALLS.format("web") + "/default")
    agent.wait(POD, OTHER, "open")


def test_pods_come_and_go(agent):
    """A pod that nobody knows yet is closed; one without firewall is open as soon as it is known."""
    assert agent.net.connect(LATE, OTHER, 80) == "refused"
    agent.add_pod("plain", "late", LATE)
    agent.wait(LATE, OTHER, "open")
    agent.call("DELETE", "/api/v1/namespaces/plain/pods/late")
    agent.wait(LATE, OTHER, "refused")
    # Its address is another pod's now, in a namespace with rules; a pod that has ended reports it, too.
    agent.add_pod("plain", "ended", LATE, phase="Succeeded")
    agent.add_pod("web", "again", LATE)
    until(lambda: f"{LATE} : goto ns-web" in " ".join(agent.ruleset().split()) or LATE in agent.ruleset(), 10, 0.05)
    assert agent.net.connect(LATE, OTHER, 80) == "refused"
    for ns, name in (("plain", "ended"), ("web", "again")):
        agent.call("DELETE", f"/api/v1/namespaces/{ns}/pods/{name}")


def test_reported_addresses(agent):
    """What DNSName objects report counts without any server that asks; never loopback or link-local addresses (8.7)."""
    later = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 30))
    info = [{"ip": ip, "ttl": "60", "nextlookuptime": later} for ip in (ALLOWED, "2001:db8::7", "169.254.7.2", "no address")]
    agent.call("POST", NAMES, {"apiVersion": "k8s.ovn.org/v1", "kind": "DNSName", "metadata": {"name": "www.example"},
                               "spec": {"isregular": True, "iswildcard": False}})
    agent.call("PATCH", NAMES + "/www.example/status", {"status": {"items": [{"dnsname": "www.example", "info": info[:3]}]}},
               "application/merge-patch+json")
    agent.wait(POD, ALLOWED, "open")
    agent.wait(POD, "2001:db8::7", "open")
    assert agent.net.connect(POD, OTHER, 80) == "refused"
    assert "169.254.7.2" not in agent.ruleset()
    agent.call("DELETE", NAMES + "/www.example")


# ---- names that no rule uses any more ----


class NameWatch:
    """Events of DNSNames; `seen` is called with each on the thread that reads them."""

    def __init__(self, node, seen):
        self.events, self.seen = [], seen
        version = node.call("GET", NAMES)["metadata"]["resourceVersion"]
        request = urllib.request.Request(f"{node.api.url}{NAMES}?watch=1&timeoutSeconds=600&resourceVersion={version}",
                                         headers={"Authorization": f"Bearer {node.api.system}"})
        self.stream = node.net.node.call(
            lambda: urllib.request.urlopen(request, timeout=600, context=ssl.create_default_context(cafile=node.api.ca)))
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        try:
            for line in self.stream:
                event = json.loads(line)
                self.seen(event)
                self.events.append(event)
        except (OSError, ValueError, AttributeError):
            pass  # stopped

    def of(self, name):
        return [(e["type"], e["object"]) for e in list(self.events) if e["object"]["metadata"]["name"] == name]

    def is_deleted(self, name):
        return any(kind == "DELETED" for kind, _ in self.of(name))

    def stop(self):
        self.stream.fp.raw._sock.shutdown(socket.SHUT_RDWR)
        self.reader.join(5)


class TableWatch:
    """What the kernel reports of changes to tables, in its order: what `nft monitor` reads, which cannot print elements of all sets."""
    NETFILTER, GROUP, DELETE_RULE, DELETE_ELEMENT, BATCH_END = 12, 7, 10 << 8 | 8, 10 << 8 | 14, 10 << 8 | 15
    RCVBUFFORCE = 33

    def __init__(self, node):
        self.sock = node.net.node.call(lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, self.NETFILTER))
        self.sock.setsockopt(socket.SOL_SOCKET, self.RCVBUFFORCE, 1 << 26)
        self.sock.bind((0, 1 << (self.GROUP - 1)))

    def read(self):
        """[(type, bytes)] since the last call."""
        found = []
        while True:
            try:
                data = self.sock.recv(1 << 20, socket.MSG_DONTWAIT)
            except BlockingIOError:
                return found
            while data:
                length, kind = struct.unpack_from("=IH", data)
                found.append((kind, data[16:length]))
                data = data[(length + 3) & ~3:]


@pytest.fixture
def names(agent):
    """The agent's node with the controller of DNSNames and a DNS server for it."""
    zone = egresslib.Zone(f"www A {ALLOWED}\nwww AAAA 2001:db8::7\nstays A {OTHER}\n", ttl=30)
    agent.net.node.call(zone.__enter__)
    agent.zone = zone
    agent.start_controller = lambda: agent.net.node.call(lambda: egresslib.start(
        agent.api.kubeconfig(agent.api.system), "--no-election", "--lookup-servers", zone.address, controllers="egressfirewall"))
    agent.controller = agent.start_controller()
    yield agent
    agent.controller.stop()
    agent.net.node.call(lambda: zone.__exit__(None, None, None))


def has_report(agent):
    return agent.net.node.call(lambda: agent.api.call("GET", REPORT, token=agent.api.system))[0] == 200


def name_of(agent, name):
    """The DNSName, or None."""
    status, found = agent.net.node.call(lambda: agent.api.call("GET", f"{NAMES}/{name}", token=agent.api.system))
    return found if status == 200 else None


def mark_of(agent, name):
    return (name_of(agent, name) or {"metadata": {}})["metadata"].get("annotations", {}).get(UNUSED)


def name_id(name):
    return hashlib.sha256(name.encode()).digest()[:16]


def test_names_leave_in_order(names):
    """EF-15, EF-19: rules first, then the addresses, then the object; what another firewall uses stays (EF-16)."""
    agent = names
    agent.write_rules("web", rule("Allow", "www.example"), rule("Allow", "stays.example"), *DENY)
    agent.write_rules("plain", rule("Allow", "stays.example"))
    agent.wait(POD, ALLOWED, "open")
    agent.wait(POD, OTHER, "open")
    until(lambda: has_report(agent), 20, 0.05)
    asker, old = Asker(agent.socket), Asker(agent.socket, version=1)
    assert asker.add("www.example", "203.0.113.44", seconds=600)  # a server's, with a long TTL
    table = []  # when the object was deleted

    def look(event):
        if event["type"] == "DELETED":
            table.append(agent.ruleset())
    watch = NameWatch(agent, look)
    kernel = TableWatch(agent)
    try:
        agent.write_rules("web", rule("Allow", "stays.example"), *DENY)
        until(lambda: watch.is_deleted("www.example"), 25, 0.02)
    finally:
        watch.stop()
    key = name_id("www.example")
    text = str(ipaddress.IPv6Address(key))
    assert len(table) == 1 and text not in table[0] and str(ipaddress.IPv6Address(name_id("stays.example"))) in table[0], table
    changes = kernel.read()
    rules = [i for i, (kind, data) in enumerate(changes) if kind == TableWatch.DELETE_RULE]
    removed = {i: data for i, (kind, data) in enumerate(changes) if kind == TableWatch.DELETE_ELEMENT and key in data}
    assert rules and removed and max(rules) < min(removed), changes
    for address in (ALLOWED, "203.0.113.44", "2001:db8::7"):
        assert any(key + ipaddress.ip_address(address).packed in data for data in removed.values()), changes
    assert not [data for _, data in changes if name_id("stays.example") in data]
    assert UNUSED in watch.of("www.example")[-1][1]["metadata"]["annotations"]
    # Servers must not believe that the addresses are still there: the connection of one of version 1, which has no `forget`, ends.
    assert asker.read() == b"\x05" and old.sock.recv(1) == b""
    asker.close()
    old.close()
    # The rule comes again, and goes and comes at once: nothing is lost by that.
    agent.write_rules("web", rule("Allow", "www.example"), rule("Allow", "stays.example"), *DENY)
    agent.wait(POD, ALLOWED, "open")
    asker = Asker(agent.socket)
    assert asker.add("www.example", "203.0.113.44", seconds=600)
    kernel.read()
    agent.call("DELETE", FIREWALLS.format("web") + "/default")
    until(lambda: any(kind == TableWatch.DELETE_RULE for kind, _ in kernel.read()), 10, 0.01)
    agent.write_rules("web", rule("Allow", "www.example"), *DENY)
    agent.wait(POD, OTHER, "refused")
    assert agent.net.connect(POD, "203.0.113.44", 80) == "open"
    agent.call("DELETE", FIREWALLS.format("plain") + "/default")
    until(lambda: name_of(agent, "stays.example") is None, 20, 0.1)
    until(lambda: not mark_of(agent, "www.example"), 20, 0.05)
    assert agent.net.connect(POD, "203.0.113.44", 80) == "open"
    asker.close()


def test_many_addresses_leave_in_slices(agent):
    """EF-15, EF-P10: while 20 000 addresses of a name without rules are removed, servers add others. When a rule uses the name again in
    between, servers ask again, and no more addresses go."""
    wild = [str(ipaddress.ip_address("198.18.0.0") + i) for i in range(20000)]
    wild_key, other_key = name_id("*.wild.example"), name_id("www.example")
    with_rule, without = (rule("Allow", "www.example"), rule("Allow", "*.wild.example"), *DENY), (rule("Allow", "www.example"), *DENY)
    agent.write_rules("web", *with_rule)
    asker, kernel, changes = Asker(agent.socket), TableWatch(agent), []
    asker.sock.settimeout(30)
    others = iter(range(1 << 16))

    def add_another():
        n = next(others)
        assert asker.add("www.example", f"203.0.{n >> 8}.{n & 255}", seconds=600)
        changes.extend((kind, wild_key in data, other_key in data) for kind, data in kernel.read())

    def has_rule():
        return agent.net.node.run("nft", "list", "chain", "inet", "fairlead", "ns-web").count("@names4") == 2

    def count_removed():
        return sum(map(int, re.findall(r"(\d+) addresses of names that no rule has any more were removed", agent.text())))

    def begin():
        """All addresses are in force, and the first of them were removed."""
        until(has_rule, 20, 0.05)
        for first in range(0, len(wild), 256):
            assert asker.add("*.wild.example", *wild[first:first + 256], seconds=600)
            kernel.read()
        changes.clear()
        asker.forgets = 0
        agent.write_rules("web", *without)
        until(lambda: add_another() or (TableWatch.DELETE_ELEMENT, True, False) in changes, 20, 0.001)

    begin()
    until(lambda: add_another() or count_removed() == len(wild), 60, 0.001)
    add_another()
    removed = [i for i, (kind, is_wild, _) in enumerate(changes) if kind == TableWatch.DELETE_ELEMENT and is_wild]
    assert len(removed) == len(wild)
    assert [i for i, (_, _, is_other) in enumerate(changes) if is_other and removed[0] < i < removed[-1]], "others waited for the end"
    ends = [-1] + [i for i, (kind, _, _) in enumerate(changes) if kind == TableWatch.BATCH_END]
    assert max(end - begin for begin, end in zip(ends, ends[1:])) < 5000, "messages of one batch"
    assert asker.forgets and str(ipaddress.IPv6Address(wild_key)) not in elements(agent, "names4")
    agent.write_rules("web", *with_rule)
    begin()
    agent.write_rules("web", *with_rule)
    until(lambda: add_another() or (asker.forgets and has_rule()), 60, 0.001)
    gone = count_removed() - len(wild)
    assert 0 < gone <= len(wild)
    assert elements(agent, "names4").count(str(ipaddress.IPv6Address(wild_key))) == len(wild) - gone
    asker.close()


def test_names_do_not_wait_for_ever(names):
    """EF-15: a name waits for an agent that says nothing, through the end of the controller, and until half a minute has passed
    since its mark; where no agent runs it goes at once."""
    agent = names
    agent.wait(POD, ALLOWED, "open")
    until(lambda: has_report(agent), 20, 0.05)
    deleted = []
    watch = NameWatch(agent, lambda event: deleted.append(time.time()) if event["type"] == "DELETED" else None)
    agent.agent.send_signal(signal.SIGSTOP)
    try:
        agent.write_rules("plain", rule("Allow", OTHER + "/32"))
        agent.call("DELETE", FIREWALLS.format("web") + "/default")
        first = until(lambda: mark_of(agent, "www.example"), 20, 0.02)
        assert first.endswith("Z,regular")
        agent.controller.kill()
        agent.call("PATCH", FIREWALLS.format("plain") + "/default/status", {"status": None}, "application/merge-patch+json")
        agent.controller = agent.start_controller()
        until(lambda: "rule 0" in str(agent.call("GET", FIREWALLS.format("plain") + "/default").get("status")), 20, 0.05)
        since = time.time() - 27  # instead of a longer test
        mark = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(since)) + f".{int(since % 1 * 1000000):06}Z,regular"
        agent.call("PATCH", NAMES + "/www.example", {"metadata": {"annotations": {UNUSED: mark}}}, "application/merge-patch+json")
        until(lambda: watch.is_deleted("www.example"), 30, 0.05)
        assert deleted[0] >= since + 30
        marks = [o["metadata"]["annotations"][UNUSED] for _, o in watch.of("www.example") if "annotations" in o["metadata"]]
        assert sorted(set(marks), key=marks.index) == [first, mark]
        assert "www.example is not used any more, and not all agents" in agent.controller.text()
    finally:
        agent.agent.send_signal(signal.SIGCONT)
    agent.stop()
    agent.net.node.run(server.fairlead_program(), "node", "--remove", "--name", "node-1", "--kubeconfig",
                       agent.api.kubeconfig(agent.api.system))
    agent.call("DELETE", FIREWALLS.format("plain") + "/default")
    agent.write_rules("web", rule("Allow", "stays.example"))
    until(lambda: name_of(agent, "stays.example"), 20, 0.02)
    agent.call("DELETE", FIREWALLS.format("web") + "/default")
    until(lambda: watch.is_deleted("stays.example"), 20, 0.02)
    assert not [o for _, o in watch.of("stays.example") if UNUSED in o["metadata"].get("annotations", {})]
    watch.stop()


@pytest.mark.parametrize("number", (signal.SIGTERM, signal.SIGKILL))
def test_agent_ends(agent, number, tmp_path):
    """EF-P8: the rules stay in force without the agent, and are the same with the next one; no set is emptied."""
    asker = Asker(agent.socket)
    assert asker.add("www.example", ALLOWED)
    asker.close()
    agent.stop(number)
    assert agent.net.connect(POD, ALLOWED, 80) == "open"
    assert agent.net.connect(POD, OTHER, 80) == "refused"
    events = tmp_path / "events"
    with open(events, "w", encoding="utf-8") as out:
        monitor = agent.net.node.start(["nft", "monitor"], stdout=out, env={"PATH": node_network.SBIN})
    os.remove(agent.log)
    agent.start()
    until(lambda: "table is in force" in agent.text(), 20, 0.05)
    assert agent.net.connect(POD, ALLOWED, 80) == "open"
    assert agent.net.connect(POD, OTHER, 80) == "refused"
    asker = Asker(agent.socket)
    assert asker.add("www.example", OTHER)
    assert agent.net.connect(POD, OTHER, 80) == "open"
    asker.close()
    until(lambda: OTHER in events.read_text(encoding="utf-8"), 10, 0.05)  # it saw what there was to see
    monitor.terminate()
    monitor.wait(10)
    seen = events.read_text(encoding="utf-8")
    assert "delete rule" not in seen and "delete set" not in seen and "delete chain" not in seen, seen


def test_killed_under_load(agent, tmp_path):
    """EF-P8: SIGKILL while servers ask and pods connect: what was handed out stays open, what is not allowed stays closed."""
    ends, wrong, counts = threading.Event(), [], {"asked": 0, "connected": 0}

    def ask():
        last = 0
        while not ends.is_set():
            try:
                asker = Asker(agent.socket)
                while not ends.is_set():
                    last = last % 200 + 1
                    if asker.add("www.example", f"198.51.100.{last}"):
                        counts["asked"] += 1
                        if agent.net.connect(POD, f"198.51.100.{last}", 80) != "open":
                            wrong.append(f"198.51.100.{last} was handed out")
            except (OSError, AssertionError):
                time.sleep(0.02)  # no agent: the server answers SERVFAIL

    def connect():
        while not ends.is_set():
            for address, wanted in ((ALLOWED, "open"), (OTHER, "refused")):
                counts["connected"] += 1
                outcome = agent.net.connect(POD, address, 80)
                if outcome != wanted:
                    wrong.append(f"{address} is {outcome}")
    asker = Asker(agent.socket)
    assert asker.add("www.example", ALLOWED, seconds=300)
    asker.close()
    events = tmp_path / "events"
    with open(events, "w", encoding="utf-8") as out:
        monitor = agent.net.node.start(["nft", "monitor"], stdout=out, env={"PATH": node_network.SBIN})
    threads = [threading.Thread(target=x) for x in (ask, connect)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(4):
            asked = counts["asked"]
            until(lambda: counts["asked"] > asked + 10, 20, 0.01)  # pylint: disable=cell-var-from-loop
            agent.stop(signal.SIGKILL)
            agent.start()
        asked = counts["asked"]
        until(lambda: counts["asked"] > asked + 10, 20, 0.01)
    finally:
        ends.set()
        for thread in threads:
            thread.join()
        monitor.terminate()
        monitor.wait(10)
    assert wrong == [] and counts["connected"] > 20
    seen = events.read_text(encoding="utf-8")
    assert "198.51.100." in seen and not re.search(r"delete (table|set|chain|rule)|flush", seen), seen


def test_revocation(agent):
    """A rule that goes takes its open connections with it within a second; those of other rules go on."""
    agent.write_rules("web", rule("Allow", OTHER + "/32"), rule("Allow", "www.example"), *DENY)
    agent.wait(POD, OTHER, "open")
    asker = Asker(agent.socket)
    assert asker.add("www.example", ALLOWED, seconds=60)
    with agent.net.open(POD, OTHER, 80) as cut, agent.net.open(POD, ALLOWED, 80) as stays:
        agent.write_rules("web", rule("Allow", "www.example"), *DENY)
        begin = time.monotonic()
        try:
            while True:
                cut.send(b"x")
                cut.recv(10)
        except OSError:
            took = time.monotonic() - begin
        stays.send(b"x")
        assert stays.recv(10) == b"x"
    assert took < 3, "on a busy machine; a second on one that is not"
    asker.close()


def test_a_denied_name_cuts(agent):
    """An address that comes to a name which a rule in front denies takes the connections along that a rule behind it allowed; others
    go on."""
    agent.write_rules("web", rule("Deny", "bad.example"), rule("Allow", OTHER + "/32"), rule("Allow", ALLOWED + "/32"), *DENY)
    agent.wait(POD, OTHER, "open")
    agent.wait(POD, ALLOWED, "open")
    asker = Asker(agent.socket)
    with agent.net.open(POD, OTHER, 80) as cut, agent.net.open(POD, ALLOWED, 80) as stays:
        assert asker.add("bad.example", OTHER, seconds=60)
        agent.wait(POD, OTHER, "refused")
        begin = time.monotonic()
        with pytest.raises(OSError):
            while time.monotonic() < begin + 10:
                cut.send(b"x")
                cut.recv(10)
        stays.send(b"x")
        assert stays.recv(10) == b"x"
    asker.close()


def test_api_away(agent):
    """EF-P8: without the API the rules stay, and servers are still answered."""
    agent.net.node.call(lambda: agent.api.api.stop())
    try:
        asker = Asker(agent.socket)
        assert asker.add("www.example", ALLOWED)
        assert agent.net.connect(POD, ALLOWED, 80) == "open"
        assert agent.net.connect(POD, OTHER, 80) == "refused"
        asker.close()
    finally:
        agent.net.node.call(agent.api.start_api)
    agent.write_rules("web", rule("Allow", OTHER + "/32"), *DENY)
    agent.wait(POD, OTHER, "open")


def test_started_before_the_api(node):
    """The table of before holds until the agent knows enough for another one."""
    node.write_rules("web", rule("Allow", OTHER + "/32"), *DENY)
    node.start()
    node.wait(POD, ALLOWED, "refused")
    node.stop()
    node.net.node.call(lambda: node.api.api.stop())
    try:
        node.start()
        asker = until(lambda: os.path.exists(node.socket) and Asker(node.socket), 10, 0.05)
        assert node.net.connect(POD, OTHER, 80) == "open"
        assert node.net.connect(POD, ALLOWED, 80) == "refused"
        asker.close()
        node.stop()
    finally:
        node.net.node.call(node.api.start_api)
        node.net.node.run(server.fairlead_program(), "node", "--remove")
        os.remove(node.log)


def test_probe(agent, tmp_path):
    """Ready means that rules are in force: an agent's own, or those that one before it has left."""
    def probe(path, *flags):
        return subprocess.run([server.fairlead_program(), "node", "--probe", *flags, "--socket", str(path)], capture_output=True, text=True,
                              timeout=20, check=False)

    def start_without_api():
        kubeconfig = tmp_path / "kubeconfig"
        with open(agent.api.kubeconfig(agent.api.system), encoding="utf-8") as f:
            kubeconfig.write_text(re.sub(r"(127\.0\.0\.1|localhost):\d+", "127.0.0.1:1", f.read()), encoding="utf-8")
        agent.start("--kubeconfig", str(kubeconfig))
        until(lambda: probe(agent.socket, "--alive").returncode == 0, 20, 0.05)
    assert probe(agent.socket).returncode == 0
    missing = probe(tmp_path / "missing")
    assert missing.returncode == 1 and "no agent answers" in missing.stderr and "No such file" in missing.stderr
    agent.stop()
    start_without_api()
    assert probe(agent.socket).returncode == 0
    agent.stop()
    agent.net.node.run(server.fairlead_program(), "node", "--remove")
    start_without_api()
    done = probe(agent.socket)
    assert done.returncode == 1 and "has no rules in force yet" in done.stderr, done


def test_flags():
    """Wrong flags are named, and nothing is touched."""
    for flags, words in ((["--pod-ranges", "10.0.0.0/8,x"], "--pod-ranges: 'x' is no range"),
                         (["--always-open", "10.0.0.0/33"], "--always-open: '10.0.0.0/33'"),
                         (["--log-group", "70000"], "--log-group"),
                         (["--data-path", "x"], "--data-path is auto or nftables"),
                         (["--name", "Not A Node"], "--name"),
                         (["--listen", "127.0.0.1:1"], "belong together"),
                         (["--tls-cert", "x"], "belong together"),
                         (["--metrics", "nope"], "--metrics: 'nope' is not ADDRESS:PORT"),
                         (["--probe", "--remove"], "exclude each other"),
                         (["--alive"], "--alive belongs to --probe"),
                         (["extra"], "takes no arguments")):
        done = subprocess.run([server.fairlead_program(), "node", *flags], capture_output=True, text=True, timeout=20, check=False)
        assert done.returncode == 64 and words in done.stderr, done


def test_without_the_capability(node, tmp_path):
    """Each command says what it needs, and `fairlead up` does not start."""
    for words in (["node", "--kubeconfig", node.api.kubeconfig(node.api.system), "--socket", str(tmp_path / "sock")], ["node", "--remove"],
                  ["up", "--egress", "enforce", "--data", str(tmp_path / "data"), "--dns", "127.0.0.1:1", "--api", "127.0.0.1:0"]):
        argv = ["setpriv", "--bounding-set=-net_admin", "--inh-caps=-net_admin", server.fairlead_program(), *words]
        done = node.net.node.call(lambda argv=argv: subprocess.run(argv, capture_output=True, text=True, timeout=20, check=False))
        assert done.returncode == 1 and "needs root or CAP_NET_ADMIN" in done.stderr, done
    assert not os.path.exists(tmp_path / "data")


def test_names_that_nobody_looks_up(node, tmp_path):
    """`fairlead up --egress enforce` warns where rules with names lack the controller, or a DNS server that reports answers."""
    (tmp_path / "Corefile").write_text(".:0 {\n}\n", encoding="ascii")
    for flags, words in ((["--controllers", "ipam"], "nobody looks up the names of rules"),
                         (["--conf", str(tmp_path / "Corefile")], "does not report which addresses"), ([], None)):
        argv = ["setpriv", "--bounding-set=-net_admin", "--inh-caps=-net_admin", server.fairlead_program(), "up", "--egress", "enforce",
                "--data", str(tmp_path / "data"), *flags]  # so that it ends
        done = node.net.node.call(lambda argv=argv: subprocess.run(argv, capture_output=True, text=True, timeout=20, check=False))
        assert words in done.stdout if words else "WARN" not in done.stdout, done
