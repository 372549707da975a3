# SPDX-License-Identifier: GPL-3.0-or-later
"""Egress rules on one machine without a cluster: annotations of a Namespace name a user, a cgroup or a network namespace. The machine is a
network namespace of this test."""
import os
import resource
import subprocess
import sys

import pytest

from controllerlib import until
from lib import node_network, server
from lib.egress_world import POOL, SOURCE, UPSTREAM, EgressWorld, Upstream
from test_node_agent import DENY, OTHER, OTHER6, POD, Node, rule

REASON = node_network.why_not()
pytestmark = pytest.mark.skipif(REASON is not None, reason=f"THIS MACHINE CANNOT RUN NODE TESTS: {REASON}")

USER = 54321
GROUPS = "/sys/fs/cgroup"
# Connects, says how it went, and when it is told so sends a byte over the same connection.
CLIENT = """
import errno, socket, sys
address, port = sys.argv[1], int(sys.argv[2])
try:
    s = socket.create_connection((address, port), 5)
except OSError as e:
    print("refused" if e.errno in (errno.ECONNREFUSED, errno.EHOSTUNREACH, errno.EACCES, errno.EPERM) else e, flush=True)
    sys.exit()
print("open", flush=True)
for line in sys.stdin:
    s.settimeout(5)
    try:
        s.send(b"x")
        print("alive" if s.recv(1) else "cut", flush=True)
    except OSError:
        print("cut", flush=True)
"""


@pytest.fixture(scope="module")
def machine(tmp_path_factory):
    made = Node(str(tmp_path_factory.mktemp("machine")))
    made.resolv_conf = tmp_path_factory.mktemp("resolv") / "resolv.conf"
    made.resolv_conf.write_text("", encoding="ascii")
    made.passwd = made.resolv_conf.with_name("passwd")
    made.passwd.write_text("root:x:0:0::/:/bin/sh\n", encoding="ascii")
    name = f"fairlead-test-{os.getpid()}"
    made.network = name
    os.makedirs("/run/netns", exist_ok=True)
    os.symlink(f"/proc/{os.getpid()}/fd/{made.net.pods[POD].fd}", f"/run/netns/{name}")
    try:
        for ns, annotation, value in (("by-user", "uid", str(USER)), ("by-user-name", "uid", "comes-later"), ("by-cgroup", "cgroup", "/./fairlead-test//"), ("by-netns", "netns", name)):
            made.call("POST", "/api/v1/namespaces", {"metadata": {"name": ns, "annotations": {f"egress.fairlead.dev/{annotation}": value}}})
            made.write_rules(ns, rule("Allow", OTHER + "/32"), *DENY)
        yield made
    finally:
        os.remove(f"/run/netns/{name}")
        made.close()


def start_client(machine, address, user=None, group=None, port=80):
    """In a cgroup of the hierarchy that the agent sees."""
    argv = [sys.executable, "-c", CLIENT, address, str(port)]
    if group is not None:
        argv = ["nsenter", "-t", str(machine.agent.pid), "-m", "sh", "-c", f'echo $$ > {GROUPS}/{group}/cgroup.procs && exec "$@"', "sh", *argv]
    return machine.net.node.call(lambda: subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, user=user))


def outcome(machine, address, **who):
    client = start_client(machine, address, **who)
    return client.communicate(timeout=20)[0].strip()


def start_agent(machine):
    """With a hierarchy of cgroups of its own, also where the system has the old ones."""
    script = (f"mount -t cgroup2 none {GROUPS} && mount --bind {machine.resolv_conf} /etc/resolv.conf && "
              f"mount --bind {machine.passwd} /etc/passwd && mkdir -p {GROUPS}/fairlead-test/below && exec \"$@\"")
    with open(machine.log, "w", encoding="utf-8") as log:
        machine.agent = machine.net.node.start(
            ["unshare", "-m", "sh", "-c", script, "sh", server.fairlead_program(), "node", "--machine", "--kubeconfig",
             machine.api.kubeconfig(machine.api.system), "--name", "machine", "--socket", machine.socket],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    until(lambda: "table is in force" in machine.text(), 20, 0.05)


def test_users_cgroups_and_network_namespaces(machine):
    """Only what annotations name is judged; connections from before the rules, and those to the machine itself, go on."""
    older = start_client(machine, "203.0.113.9", user=USER)
    assert older.stdout.readline() == "open\n"
    machine.net.serve("tcp", 80, machine.net.node)
    start_agent(machine)
    for who in ({"user": USER}, {"group": "fairlead-test"}, {"group": "fairlead-test/below"}):
        assert outcome(machine, OTHER, **who) == "open", who
        assert outcome(machine, "203.0.113.9", **who) == "refused", who
        assert outcome(machine, OTHER6, **who) == "refused", who
        assert outcome(machine, machine.net.NODE4, **who) == "open", who  # by lo
    assert outcome(machine, "203.0.113.9") == "open"  # somebody else
    assert outcome(machine, "203.0.113.9", user=USER + 1) == "open"
    assert machine.net.connect(POD, OTHER, 80) == "open"
    assert machine.net.connect(POD, "203.0.113.9", 80) == "refused"
    older.stdin.write("\n")
    older.stdin.flush()
    assert older.stdout.readline() == "alive\n"
    older.communicate(timeout=20)
    # What is made anew is noticed within a second; the whole comparison of every 10 s would mostly be too late for all of these.
    def soon(what):
        until(what, 6, 0.05)
    inside = ["nsenter", "-t", str(machine.agent.pid), "-m"]
    machine.net.node.run(*inside, "sh", "-c", f"rmdir {GROUPS}/fairlead-test/below {GROUPS}/fairlead-test && mkdir {GROUPS}/fairlead-test")
    soon(lambda: outcome(machine, "203.0.113.9", group="fairlead-test") == "refused")
    machine.net.pods[POD].run("ip", "address", "add", "10.1.0.77/24", "dev", "eth0")
    soon(lambda: "10.1.0.77" in machine.net.node.run("nft", "list", "map", "inet", "fairlead", "pods4"))
    machine.net.pods[POD].run("ip", "address", "del", "10.1.0.77/24", "dev", "eth0")
    soon(lambda: "10.1.0.77" not in machine.net.node.run("nft", "list", "map", "inet", "fairlead", "pods4"))
    # Without a free descriptor nothing can be read: what was found before stays. The new address causes a pass.
    limits = resource.prlimit(machine.agent.pid, resource.RLIMIT_NOFILE)
    resource.prlimit(machine.agent.pid, resource.RLIMIT_NOFILE, (3, limits[1]))
    machine.net.pods[POD].run("ip", "address", "add", "10.1.0.78/24", "dev", "eth0")
    soon(lambda: "this network namespace cannot be read: Too many open files; what was found before stays" in machine.text())
    assert machine.net.connect(POD, "203.0.113.9", 80) == "refused"
    assert POD + " :" in machine.net.node.run("nft", "list", "map", "inet", "fairlead", "pods4")
    resource.prlimit(machine.agent.pid, resource.RLIMIT_NOFILE, limits)
    machine.net.pods[POD].run("ip", "address", "del", "10.1.0.78/24", "dev", "eth0")
    # Name servers are open for DNS, and not for what else their addresses serve.
    for protocol, port in (("tcp", 53), ("tcp", 853), ("udp", 853)):
        machine.net.serve(protocol, port)
    for servers in (["203.0.113.9"], ["203.0.113.10", "203.0.113.11"]):
        machine.resolv_conf.write_text("".join(f"nameserver {s}\n" for s in servers), encoding="ascii")
        for address in ("203.0.113.9", "203.0.113.10", "203.0.113.11"):
            soon(lambda: outcome(machine, address, user=USER, port=53) == ("open" if address in servers else "refused"))
            assert outcome(machine, address, user=USER) == "refused"
    for protocol, port, expected in (("tcp", 53, "open"), ("tcp", 853, "open"), ("udp", 853, "open"), ("tcp", 80, "refused")):
        assert machine.net.connect(POD, "203.0.113.10", port, protocol) == expected, (protocol, port)
    # Nobody announces a new user: a pass finds it, and does not take the rules that are missing for somebody else's doing. A change that ends
    # as it began makes it come earlier than after 10 s.
    assert outcome(machine, "203.0.113.12", user=USER + 7) == "open"
    with open(machine.passwd, "a", encoding="ascii") as passwd:
        passwd.write(f"comes-later:x:{USER + 7}:0::/:/bin/sh\n")
    machine.net.node.run("nft", "add chain inet fairlead passing; delete chain inet fairlead passing")
    until(lambda: outcome(machine, "203.0.113.12", user=USER + 7) == "refused", 20, 0.05)
    assert "somebody else" not in machine.text()
    # A rule that goes takes its connections with it, at once.
    opened = start_client(machine, OTHER, user=USER)
    assert opened.stdout.readline() == "open\n"
    machine.write_rules("by-user", *DENY)
    until(lambda: outcome(machine, OTHER, user=USER) == "refused", 20, 0.05)
    opened.stdin.write("\n")
    opened.stdin.flush()
    assert opened.stdout.readline() == "cut\n"
    opened.communicate(timeout=20)
    machine.stop()
    machine.net.node.run(server.fairlead_program(), "node", "--remove")


OBJECTS = """
apiVersion: v1
kind: Namespace
metadata: {name: shop, annotations: {egress.fairlead.dev/uid: "54322"}}
---
apiVersion: k8s.ovn.org/v1
kind: EgressFirewall
metadata: {name: default, namespace: shop}
spec:
  egress:
  - {type: Allow, to: {cidrSelector: 203.0.113.8/32}}
  - {type: Allow, to: {dnsName: "*.example"}}
  - {type: Deny, to: {cidrSelector: 0.0.0.0/0}}
"""
# The name of the user has a typing error.
WRONG = OBJECTS.replace("shop", "lost").replace("54322", "no-such-user")
NETWORK = OBJECTS.replace("shop", "net").replace('uid: "54322"', 'netns: "NETNS"')
OWN = OBJECTS.replace("shop", "own").replace("54322", "0")
WITH_RESOLVERS = ["unshare", "-m", "sh", "-c", 'mount --bind "$0" /etc/resolv.conf && exec "$@"']


@pytest.fixture
def upstream(machine):
    """Answers each question for an address with another one, outside."""
    machine.net.outside.run("ip", "route", "add", "local", POOL, "dev", "lo")
    machine.net.node.run("ip", "route", "add", POOL, "via", "169.254.7.2", "dev", "out0")
    made = Upstream(machine.net.outside)
    yield made
    made.stop()


def connect_names(machine, folder, user, first, last):
    """Looks names below .example up at 127.0.0.1 and connects to each at once, as that user; without one in a network namespace."""
    program, conf = str(folder / "resolve-connect"), folder / "resolv-local.conf"
    if not os.path.exists(program):
        subprocess.run(["gcc", "-O1", "-o", program, SOURCE], check=True)
        conf.write_text("nameserver 127.0.0.1\noptions timeout:3 attempts:1\n", encoding="ascii")
        (folder / "resolv-network.conf").write_text(f"nameserver {machine.net.NODE4}\noptions timeout:3 attempts:1\n", encoding="ascii")
        folder.chmod(0o755)
    if user is None:
        client = machine.net.pods[POD].start([*WITH_RESOLVERS, str(folder / "resolv-network.conf"), program, "n%u.example", str(first), str(last),
                                              "80"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        return EgressWorld.finish_client(client)[0]
    client = machine.net.node.start([*WITH_RESOLVERS, str(conf), "setpriv", "--reuid", str(user), "--clear-groups", program, "n%u.example",
                                     str(first), str(last), "80"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    return EgressWorld.finish_client(client)[0]


def test_up(machine, upstream, tmp_path):
    """`fairlead up --egress enforce` runs the agent, and the firewall's status says that it is in force. A program of the user connects to
    a name the moment it has an address, which is a new one each time."""
    (tmp_path / "objects.yaml").write_text(OBJECTS + "---" + WRONG + "---" + NETWORK.replace("NETNS", machine.network), encoding="ascii")
    (tmp_path / "resolv-up.conf").write_text(f"nameserver {UPSTREAM}\n", encoding="ascii")
    data, user = tmp_path / "data", USER + 1
    program = server.fairlead_program()
    with open(tmp_path / "log", "w", encoding="utf-8") as log:
        up = machine.net.node.start([*WITH_RESOLVERS, str(tmp_path / "resolv-up.conf"), program, "up", "--egress", "enforce", "--data",
                                     str(data), "--api", "127.0.0.1:0", "--dns", "0.0.0.0:53", "--load", str(tmp_path / "objects.yaml")],
                                    stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    try:
        until(lambda: outcome(machine, "203.0.113.9", user=user) == "refused", 60, 0.1)
        assert outcome(machine, OTHER, user=user) == "open"
        assert outcome(machine, "203.0.113.9") == "open"

        def ask(*argv):
            return machine.net.node.call(lambda: subprocess.run([program, *argv, "--data", str(data)], capture_output=True, text=True,
                                                                timeout=20, check=False)).stdout

        def status(ns):
            return ask("get", "egressfirewalls", "-n", ns, "-o", "yaml")
        until(lambda: "in force on 1 of 1 nodes" in status("shop"), 60, 0.2)
        # A user who does not exist is no reason to call it enforced; when the annotation names one who does, it is.
        until(lambda: "reason: TargetMissing" in status("lost"), 60, 0.2)
        assert "egress.fairlead.dev/uid is 'no-such-user': no such user" in status("lost")
        assert "TargetMissing" in ask("status")
        (tmp_path / "objects.yaml").write_text(WRONG.replace("no-such-user", "54323"), encoding="ascii")
        ask("apply", "-f", str(tmp_path / "objects.yaml"))
        until(lambda: "in force on 1 of 1 nodes" in status("lost"), 60, 0.2)
        # From when on the DNS server and the agent have the rules.
        until(lambda: connect_names(machine, tmp_path, user, 0, 1).opened == 1, 60, 0.2)
        before = upstream.number
        result = connect_names(machine, tmp_path, user, 1, 61)
        assert (result.opened, result.refused, result.unknown) == (60, 0, 0), result
        assert upstream.number >= before + 60
        # Answers to a network namespace are held as well, by its addresses.
        until(lambda: connect_names(machine, tmp_path, None, 100, 101).opened == 1, 60, 0.2)
        result = connect_names(machine, tmp_path, None, 101, 161)
        assert (result.opened, result.refused, result.unknown) == (60, 0, 0), result
        assert machine.net.connect(POD, "203.0.113.9", 80) == "refused"
        # A rule on the user who runs it all does not lock out the DNS server's own queries, also to servers that only it knows.
        (tmp_path / "objects.yaml").write_text(OWN, encoding="ascii")
        (tmp_path / "resolv-up.conf").write_text("nameserver 203.0.113.77\n", encoding="ascii")
        ask("apply", "-f", str(tmp_path / "objects.yaml"))
        until(lambda: outcome(machine, UPSTREAM) == "refused", 60, 0.1)
        machine.net.node.run("conntrack", "-F")  # or its sockets would go on as those that are older than the rule
        result = connect_names(machine, tmp_path, user, 61, 71)
        assert (result.opened, result.refused, result.unknown) == (10, 0, 0), result
    finally:
        up.terminate()
        assert up.wait(30) == 0, (tmp_path / "log").read_text(encoding="utf-8")
        # The rules stay; so they are removed by hand.
        assert outcome(machine, "203.0.113.9", user=user) == "refused"
        machine.net.node.run(program, "node", "--remove")
