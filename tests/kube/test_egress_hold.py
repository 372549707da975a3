# SPDX-License-Identifier: GPL-3.0-or-later
"""The rule is in force before the answer leaves: two nodes with pods, DNS servers, agents, real nftables; clients of two C
libraries connect at once to each address that they get."""
import os
import random
import shutil
import signal
import socket
import time

import pytest

from controllerlib import until
from lib import certs, node_network, wire
from lib.egress_world import DENY, NODES, PODS, EgressWorld, rule

REASON = node_network.why_not()
pytestmark = pytest.mark.skipif(REASON is not None, reason=f"THIS MACHINE CANNOT RUN NODE TESTS: {REASON}")

NAMES = 500  # of each client; tests/bench/egress-hold takes 100 000
WEB_1, PLAIN_1, SHOP_1, WEB_2, SHOP_2 = PODS


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    with EgressWorld(tmp_path_factory.mktemp("egress")) as made:
        made.write_rules("web", rule("Allow", "*.allowed.example"), rule("Allow", "metadata.example"), *DENY)
        made.write_rules("shop", rule("Deny", "*.denied.example"))
        for node in NODES:
            made.start_agent(node)
            made.start_server(node)
        for node in NODES:
            until(lambda node=node: "table is in force" in made.text("agent-" + node), 30, 0.05)
        for node in NODES:
            until(lambda node=node: answers(made, NODES[node], "ready.example"), 30, 0.05)
        yield made


def ask(world, pod, dns, name, seconds=4.0, edns=1232):
    """The answer to an A question of a pod, or None."""
    sock = world.net.pods[pod].call(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
    with sock:
        sock.settimeout(seconds)
        sock.sendto(wire.query(name, edns=edns), (dns, 53))
        try:
            return wire.parse(sock.recv(4096))
        except (socket.timeout, ConnectionError):
            return None


def answers(world, dns, name, pod=PLAIN_1, seconds=None):
    for process, running in world.processes.items():
        assert running.poll() is None, (process, world.text(process)[-2000:])
    reply = ask(world, pod, dns, name, seconds or (4.0 if pod != PLAIN_1 else 1.0))
    return reply is not None and reply.rcode == 0


@pytest.mark.parametrize("compiler", ("gcc", "musl-gcc"))
def test_connects_at_once(world, compiler):
    """EF-P1: with a server on the same node, by the socket, and with one on the other, by TLS: nobody is refused."""
    prefix = compiler[0]
    clients = [world.start_client(pod, f"{prefix}{pod.replace('.', '-')}-{dns.replace('.', '-')}-%u.allowed.example", 0, NAMES, dns, compiler)
               for pod in (WEB_1, WEB_2) for dns in NODES.values()]
    for client in clients:
        result, text = world.finish_client(client)
        assert (result.opened, result.refused, result.silent, result.unknown) == (NAMES, 0, 0, 0), text
    for node in NODES:
        assert world.metric(node, 'fairlead_egress_hold_answers_total{result="released"}') >= 2 * NAMES
        until(lambda node=node: world.metric(node, 'fairlead_egress_hold_agents{reachable="true"}') == 2, 10, 0.1)


def test_rotating_addresses(world):
    """EF-P6, EF-P7: names whose address changes with each answer, and whose TTL is a second."""
    clients = [world.start_client(pod, "rotating-%u.allowed.example", 0, 20, dns, seconds=4)
               for pod in (WEB_1, WEB_2) for dns in NODES.values()]
    for client in clients:
        result, text = world.finish_client(client)
        assert result.opened > 100 and (result.refused, result.silent, result.unknown) == (0, 0, 0), text


def test_denied_names(world):
    """A rule that denies needs the address as early: no connection gets through."""
    for pod, dns in ((SHOP_1, NODES["node-1"]), (SHOP_2, NODES["node-1"])):
        result, _ = world.finish_client(world.start_client(pod, f"{pod.replace('.', '-')}-%u.denied.example", 0, 50, dns))
        # An address of another name that was drawn before is denied as well: names share addresses.
        assert (result.opened, result.refused) == (0, 50)


def test_who_is_not_held(world):
    """A pod of a namespace without rules, a name that no rule covers, and a client that is no pod."""
    before = world.metric("node-1", "fairlead_egress_hold_answers_total")
    result = world.connect_names(PLAIN_1, "plain-%u.allowed.example", 0, 20, NODES["node-1"])
    assert result.opened == 20
    result, _ = world.finish_client(world.start_client(WEB_1, "web-%u.other.example", 0, 20, NODES["node-1"]))
    assert (result.refused, result.unknown) == (20, 0)  # the answer leaves; what it opens is the rules' affair
    reply = world.net.outside.call(lambda: ask_here(NODES["node-1"], "outside.allowed.example"))
    assert reply.rcode == 0
    assert world.metric("node-1", "fairlead_egress_hold_answers_total") == before


def ask_here(dns, name):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.settimeout(5)
        sock.sendto(wire.query(name), (dns, 53))
        return wire.parse(sock.recv(4096))


def test_addresses_that_open_nothing(world):
    """8.7: an allowed name that answers with the metadata service or a cluster address."""
    for number, address in enumerate(("169.254.169.254", "10.2.0.9", "127.0.0.1")):
        name = f"hostile-{number}.allowed.example"
        world.upstream.fix(name, address)
        reply = ask(world, WEB_1, NODES["node-1"], name)
        assert reply.rcode == 0 and address in str(reply.text())
        assert address not in world.net.node.run("nft", "list", "set", "inet", "fairlead", "names4")
    assert world.metric("node-1", "fairlead_egress_hold_never_added_total") >= 3


def test_agent_is_silent(world):
    """EF-P10: SERVFAIL with a reason after 1.5 s, then at once; tenants of other nodes and namespaces notice nothing."""
    agent = world.processes["agent-node-2"]
    before = world.connect_names(WEB_1, "before-%u.allowed.example", 0, 200, NODES["node-1"])
    agent.send_signal(signal.SIGSTOP)
    try:
        begun = time.monotonic()
        reply = ask(world, WEB_2, NODES["node-1"], "late-1.allowed.example")
        assert 1.4 < time.monotonic() - begun < 3.5
        assert reply.rcode == 2 and b"egress rule not in force" in reply.edns.options[0][1], reply.text()
        assert ask(world, WEB_2, NODES["node-1"], "late-1.allowed.example", edns=None).rcode == 2
        begun = time.monotonic()
        assert ask(world, WEB_2, NODES["node-1"], "late-2.allowed.example").rcode == 2
        assert time.monotonic() - begun < 1.0  # it is known to be silent
        stuck = world.start_client(WEB_2, "stuck-%u.allowed.example", 0, 200, NODES["node-1"])
        result, text = world.finish_client(world.start_client(WEB_1, "beside-%u.allowed.example", 0, 200, NODES["node-1"]))
        assert (result.opened, result.refused, result.unknown) == (200, 0, 0), text
        print(f"lookups beside a silent agent: p50 {result.p50_us} us, p99 {result.p99_us} us; before: p50 {before.p50_us} us, "
              f"p99 {before.p99_us} us")
        assert world.finish_client(stuck)[0].refused == 0
        assert world.connect_names(SHOP_2, "free-%u.other.example", 0, 50, NODES["node-1"]).opened == 50
    finally:
        agent.send_signal(signal.SIGCONT)
    until(lambda: answers(world, NODES["node-1"], "again.allowed.example", WEB_2), 10, 0.05)
    assert world.metric("node-1", 'fairlead_egress_hold_answers_total{result="late"}') >= 1


@pytest.mark.parametrize("dns", sorted(NODES.values()))
def test_agent_is_killed(world, dns):
    """EF-P8: failures while there is no agent and for a second, never a refused connection; then all as before."""
    client = world.start_client(WEB_2, f"kill-{dns.replace('.', '-')}-%u.allowed.example", 0, 100, dns, seconds=3)
    for _ in range(2):
        world.end("agent-node-2", signal.SIGKILL)
        begun = time.monotonic()
        reply = ask(world, WEB_2, dns, f"killed-{begun}.allowed.example".replace(".", "-", 1))
        assert reply.rcode in (0, 2) and time.monotonic() - begun < 1.4  # at once, or by the next agent
        world.start_agent("node-2")
        until(lambda begun=begun: answers(world, dns, f"back-{int(begun)}.allowed.example", WEB_2), 20, 0.02)
    result, text = world.finish_client(client)
    assert result.opened > 0 and (result.refused, result.silent) == (0, 0), text


def test_server_is_killed(world):
    """EF-P8: the next server knows pods and firewalls before it answers."""
    client = world.start_client(WEB_1, "server-%u.allowed.example", 0, 100, NODES["node-1"], seconds=4)
    for _ in range(2):
        world.end("server-node-1", signal.SIGKILL)
        world.start_server("node-1")
        until(lambda: answers(world, NODES["node-1"], "ready.example"), 30, 0.02)
    result, text = world.finish_client(client)
    assert result.opened > 0 and (result.refused, result.silent) == (0, 0), text


def test_any_is_killed(world):
    """EF-P8: controller, agents and servers killed in any order under load: nothing that is allowed is refused, nothing else opens,
    and each time all is as before soon after the restart."""
    seed = int.from_bytes(os.urandom(4), "big")
    print(f"seed {seed}")
    order = random.Random(seed)
    starts = {"controller": lambda: world.start_controller("--lookup-servers", f"{NODES['node-1']}:53"),
              "agent-node-2": lambda: world.start_agent("node-2"), "server-node-1": lambda: world.start_server("node-1")}
    starts["controller"]()
    ways = ((WEB_2, NODES["node-1"]), (WEB_1, NODES["node-1"]), (WEB_2, NODES["node-2"]))
    allowed = [world.start_client(pod, f"any-{i}-%u.allowed.example", 0, 100, dns, seconds=12) for i, (pod, dns) in enumerate(ways)]
    others = world.start_client(WEB_2, "any-%u.other.example", 0, 100, NODES["node-2"], seconds=12)
    names = list(starts) + order.choices(list(starts), k=4)
    order.shuffle(names)
    slowest = 0
    for number, name in enumerate(names):
        time.sleep(order.uniform(0, 0.3))  # the moment of the kill
        world.end(name, signal.SIGKILL)
        starts[name]()
        begun = time.monotonic()
        for pod, dns in ways:
            # A datagram to a server that has not opened its port yet is lost: the next one follows soon.
            until(lambda pod=pod, dns=dns, number=number: answers(world, dns, f"any-{number}-{pod.replace('.', '-')}.allowed.example", pod, 0.1),
                  20, 0.02)
        slowest = max(slowest, time.monotonic() - begun)
    print(f"{len(names)} kills; all three ways answer again after {slowest:.2f} s at most, starts included")
    assert slowest < 10, seed  # a quarter of a second on a calm machine
    for client in allowed:
        result, text = world.finish_client(client)
        assert result.opened > 0 and (result.refused, result.silent) == (0, 0), (seed, text)
    result, text = world.finish_client(others)
    assert result.opened == 0 and result.refused > 0, (seed, text)
    world.end("controller")


def test_certificates_are_rotated(world):
    """New files are read; a certificate of another authority is nobody's."""
    until(lambda: answers(world, NODES["node-1"], "before.allowed.example", WEB_2), 10, 0.05)
    spare = world.path("spare")
    os.makedirs(spare)
    certs.make_ca(spare, "ca")
    certs.make_cert(spare, "server", san="DNS:dns.fairlead.test", key="server.key")
    good = {name: world.path(name + ".good") for name in ("server.pem", "server.key")}
    for name, path in good.items():
        shutil.copy(world.path(name), path)
        shutil.copy(os.path.join(spare, name), world.path(name + ".new"))
        os.rename(world.path(name + ".new"), world.path(name))
    until(lambda: world.text("server-node-1").count("read the certificate") == 1, 20, 0.1)
    world.end("agent-node-2", signal.SIGKILL)
    world.start_agent("node-2")
    until(lambda: answers(world, NODES["node-2"], "neighbour.allowed.example", WEB_2), 20, 0.1)  # by the socket
    assert ask(world, WEB_2, NODES["node-1"], "stranger.allowed.example").rcode == 2
    for name, path in good.items():
        os.rename(path, world.path(name))
    until(lambda: answers(world, NODES["node-1"], "rotated.allowed.example", WEB_2), 20, 0.1)


def test_api_away(world):
    """The data path goes on without the API."""
    world.net.node.call(lambda: world.api.api.stop())
    try:
        result, text = world.finish_client(world.start_client(WEB_1, "away-%u.allowed.example", 0, 50, NODES["node-2"]))
        assert (result.opened, result.refused, result.unknown) == (50, 0, 0), text
    finally:
        world.net.node.call(world.api.start_api)


def test_ends(world):
    """Both end at once, in order, with nothing held."""
    for node in NODES:
        world.end("server-" + node)
        world.end("agent-" + node)
