# SPDX-License-Identifier: GPL-3.0-or-later
"""Certificates of agents and DNS servers that the controller egressfirewall makes and rotates, while answers are held on two nodes.
The test plays the kubelet, which mounts the Secrets; the controller's clock is moved through a year."""
import base64
import os
import shutil
import signal
import socket
import ssl
import struct

import pytest

from callerlib import program
from controllerlib import until
from lib import certs, node_network
from lib.egress_world import AGENT_PORT, DENY, NODES, PODS, EgressWorld, rule
from test_egress_hold import answers, ask

REASON = node_network.why_not()
pytestmark = pytest.mark.skipif(REASON is not None, reason=f"THIS MACHINE CANNOT RUN NODE TESTS: {REASON}")

WEB_1, _, _, WEB_2, _ = PODS
FILES = ("tls.crt", "tls.key", "ca.crt")
AGENTS, SERVERS = "default/secrets/fairlead-node-tls", "kube-system/secrets/fairlead-node-client"
AUTHORITIES = "default/secrets/fairlead-node-authority", "default/secrets/fairlead-node-client-authority"
DAY, MINUTE = 86400, 60


class ManagedWorld(EgressWorld):
    """Agents and servers read what is mounted at `agents` and `servers`."""

    def __init__(self, folder):
        super().__init__(folder)
        for side in ("agents", "servers"):
            os.makedirs(self.path(side))
        if self.get("kube-system") is None:
            self.call("POST", "/api/v1/namespaces", {"metadata": {"name": "kube-system"}})

    def agent_tls(self, node):
        return tuple(self.path(f"agents/{file}") for file in FILES)

    def server_tls(self):
        return (*(self.path(f"servers/{file}") for file in FILES), "fairlead-node")

    def get(self, path):
        status, body = self.net.node.call(lambda: self.api.call("GET", f"/api/v1/namespaces/{path}", token=self.api.system))
        return body if status == 200 else None

    def data(self, secret):
        return {key: base64.b64decode(value) for key, value in ((self.get(secret) or {}).get("data") or {}).items()}

    def mount(self, side, secret):
        """As the kubelet: new files in place of the old ones."""
        for name, value in self.data(secret).items():
            path = self.path(f"{side}/{name}")
            with open(path + ".new", "wb") as f:
                f.write(value)
            os.replace(path + ".new", path)

    def keep(self, side, name):
        shutil.copytree(self.path(side), self.path(name))

    def run_controller(self, seconds, done):
        """Runs it with its clock off by so much until done()."""
        clock = self.path("clock")
        with open(clock, "wb") as f:
            f.write(struct.pack("=q", seconds))
        self.start_controller("--feature-gates", "EgressFirewallHold=true",
                              wrap=["env", f"LD_PRELOAD={program('clockstep.so')}", f"CLOCKSTEP={clock}"])

        def is_done():
            assert self.processes["controller"].poll() is None, self.text("controller")[-3000:]
            return done()
        until(is_done, 30, 0.05)
        self.end("controller")

    def is_admitted(self, node, cert=None, key=None, ca=None):
        """Does the agent's TLS door say hello to who shows this certificate, on the other node?"""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        if ca is None:
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        else:
            context.load_verify_locations(ca)
        if cert is not None:
            context.load_cert_chain(cert, key)
        other = next(name for name in NODES if name != node)
        raw = self.net.nodes[other].call(lambda: socket.create_connection((NODES[node], AGENT_PORT), 5))
        try:
            with context.wrap_socket(raw, server_hostname="fairlead-node") as sock:
                sock.sendall(struct.pack("!HB8sH", 11, 1, b"fairlead", 1))
                return sock.recv(64)[3:11] == b"fairlead"
        except ssl.SSLCertVerificationError:
            raise  # it is the agent that is not trusted
        except (ssl.SSLError, ConnectionError):
            return False

    def admits(self, node, side):
        return self.is_admitted(node, *(self.path(f"{side}/{file}") for file in FILES))


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    with ManagedWorld(tmp_path_factory.mktemp("certs")) as made:
        made.write_rules("web", rule("Allow", "*.allowed.example"), *DENY)
        for node in NODES:
            made.start_agent(node)
            made.start_server(node)
        for node in NODES:
            until(lambda node=node: "table is in force" in made.text("agent-" + node), 30, 0.05)
            until(lambda node=node: answers(made, NODES[node], "ready.example"), 30, 0.05)
        yield made


def count(pem):
    return pem.count(b"BEGIN CERTIFICATE")


def test_rotation(world):
    """EF-P1, EF-P8: both start without certificates; then these are made, and the authorities of both sides change while answers
    are held, in any order of the kubelets."""
    assert answers(world, NODES["node-1"], "first.allowed.example", WEB_1)  # by the socket
    assert ask(world, WEB_2, NODES["node-1"], "first.allowed.example").rcode == 2  # no certificate yet
    # Eight months ago, and twelve minutes ago: the authorities are old, and their successors are trusted already.
    world.run_controller(-245 * DAY, lambda: all(map(world.data, (AGENTS, SERVERS, *AUTHORITIES))))
    before = world.data(AGENTS), world.data(SERVERS)
    world.run_controller(-12 * MINUTE, lambda: count(world.data(AGENTS)["ca.crt"]) == count(world.data(SERVERS)["ca.crt"]) == 2)
    assert before[0]["tls.crt"] != world.data(AGENTS)["tls.crt"] and before[1]["tls.crt"] != world.data(SERVERS)["tls.crt"]
    assert all(set(world.data(secret)) == set(FILES) for secret in (AGENTS, SERVERS))
    world.mount("agents", AGENTS)
    world.mount("servers", SERVERS)
    for dns, pod in ((NODES["node-1"], WEB_2), (NODES["node-2"], WEB_1)):
        until(lambda dns=dns, pod=pod: answers(world, dns, f"made-{dns.replace('.', '-')}.allowed.example", pod), 20, 0.1)
    world.keep("servers", "old-servers")
    world.keep("agents", "old-agents")
    clients = [world.start_client(pod, f"rotated-{pod.replace('.', '-')}-%u.allowed.example", 0, 50, dns, seconds=20)
               for dns, pod in ((NODES["node-1"], WEB_2), (NODES["node-2"], WEB_1))]
    # Now: the successors sign.
    world.run_controller(0, lambda: world.data(AGENTS)["tls.crt"] != open_file(world, "old-agents") and
                         world.data(SERVERS)["tls.crt"] != open_file(world, "old-servers"))
    world.mount("servers", SERVERS)
    assert world.admits("node-2", "servers") and world.admits("node-2", "old-servers")
    lines = {node: world.text("agent-" + node).count("was read again") for node in NODES}
    world.mount("agents", AGENTS)
    for node in NODES:
        until(lambda node=node: world.text("agent-" + node).count("was read again") > lines[node], 20, 0.1)
    assert world.admits("node-2", "servers") and world.admits("node-2", "old-servers")
    # Later the old ones are trusted no more.
    world.run_controller(11 * MINUTE, lambda: count(world.data(AGENTS)["ca.crt"]) == count(world.data(SERVERS)["ca.crt"]) == 1)
    world.mount("servers", SERVERS)
    world.mount("agents", AGENTS)
    until(lambda: not world.is_admitted("node-2", *(world.path(f"old-servers/{file}") for file in FILES[:2])), 20, 0.1)
    assert world.admits("node-2", "servers")
    for client in clients:
        result, text = world.finish_client(client)
        assert result.opened > 100 and (result.refused, result.silent, result.unknown) == (0, 0, 0), text
    # Connections of before are still those of before: new ones are made with the new certificates.
    world.end("agent-node-2", signal.SIGKILL)
    world.start_agent("node-2")
    until(lambda: answers(world, NODES["node-1"], "again.allowed.example", WEB_2), 20, 0.05)


def open_file(world, side):
    with open(world.path(f"{side}/tls.crt"), "rb") as f:
        return f.read()


def test_nobody_else_may_ask(world):
    """Who shows no certificate, an agent's, or one of another authority is not heard."""
    certs.make_ca(world.folder, "ca")
    certs.make_cert(world.folder, "stranger", san="DNS:fairlead-dns", key="stranger.key")
    for node in NODES:
        assert world.admits(node, "servers")
        assert not world.is_admitted(node)
        assert not world.is_admitted(node, world.path("agents/tls.crt"), world.path("agents/tls.key"))
        assert not world.is_admitted(node, world.path("stranger.pem"), world.path("stranger.key"))


def test_certificates_of_others(world):
    """Who has certificates of their own keeps them; a Secret that is gone comes again."""
    api = world.api
    world.run_controller(0, lambda: world.data(AGENTS) and world.data(SERVERS))
    world.net.node.call(lambda: api.call("DELETE", f"/api/v1/namespaces/{AGENTS}", token=api.system))
    before = world.data(SERVERS)
    world.run_controller(0, lambda: world.data(AGENTS))
    assert world.data(SERVERS) == before
    own = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "fairlead-node-tls"},
           "data": {"tls.crt": base64.b64encode(b"mine").decode()}}
    world.net.node.call(lambda: api.call("DELETE", f"/api/v1/namespaces/{AGENTS}", token=api.system))
    world.call("POST", "/api/v1/namespaces/default/secrets", own)
    known = world.text("controller").count("is not of this controller")
    world.run_controller(0, lambda: world.text("controller").count("is not of this controller") > known)
    assert world.data(AGENTS) == {"tls.crt": b"mine"} and world.data(SERVERS) == before
