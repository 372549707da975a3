# SPDX-License-Identifier: GPL-3.0-or-later
"""Addresses and ports: both families, the address a reply leaves from, ports in use, privileges, sharing."""
import os
import re
import signal
import socket
import subprocess
import sys

import pytest

from helpers import (WHOAMI, Network, answers, ask, eventually, needs, needs_root, rewrite, slower)
from lib import client, server, wire

QUESTION = wire.query("example.org.", ident=7)


def asked_and_answered_from(family, port, target):
    """Where the reply to a question to `target` came from, on a socket that takes replies from anywhere."""
    with socket.socket(family, socket.SOCK_DGRAM) as sock:
        sock.settimeout(slower(3))
        sock.sendto(QUESTION, (target, port))
        data, sender = sock.recvfrom(65535)
        assert data[:2] == QUESTION[:2]
        return sender[0], sender[1]


@pytest.mark.parametrize("target", ["127.0.0.1", "::1", "127.9.8.7"])
@pytest.mark.parametrize("tcp", [False, True])
def test_both_families_on_a_bare_port(serve, target, tcp):
    s = serve()
    reply = ask(s.port(), target=target, tcp=tcp)
    assert reply.flags == ("qr", "aa", "rd")
    address = [r for r in reply.additional if r[1] in (1, 28)][0]
    assert address[1] == (28 if ":" in target else 1)  # an IPv4 client is IPv4, not ::ffff:…


@pytest.mark.parametrize("family,target", [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET, "127.0.0.2"),
                                           (socket.AF_INET, "127.77.88.99"), (socket.AF_INET6, "::1"),
                                           (socket.AF_INET6, "::ffff:127.0.0.3")])
def test_reply_leaves_from_the_address_asked(serve, family, target):
    s = serve()
    assert asked_and_answered_from(family, s.port(), target) == (target, s.port())


@needs("bind")
def test_bind(serve):
    s = serve(".:@PORT@ {\n bind 127.0.0.2 ::1\n whoami\n}\n", start=False)
    s.start()
    assert answers(s.port(), target="127.0.0.2") and answers(s.port(), target="127.0.0.2", tcp=True)
    assert answers(s.port(), target="::1") and answers(s.port(), target="::1", tcp=True)
    assert not answers(s.port(), target="127.0.0.1", timeout=0.2)
    assert not answers(s.port(), target="127.0.0.1", tcp=True, timeout=0.2)
    assert asked_and_answered_from(socket.AF_INET, s.port(), "127.0.0.2") == ("127.0.0.2", s.port())
    assert f".:{s.port()} on 127.0.0.2\n" in s.output() and f".:{s.port()} on ::1\n" in s.output()


@needs("bind", "template")
def test_blocks_of_one_zone_on_different_addresses(serve):
    block = '.:@PORT@ {{\n bind {0}\n template ANY ANY {{\n  answer "{{{{ .Name }}}} 0 IN A {0}"\n }}\n}}\n'
    s = serve(block.format("127.0.0.2") + block.format("127.0.0.3"))
    for a in ("127.0.0.2", "127.0.0.3"):
        assert [socket.inet_ntoa(r[4]) for r in ask(s.port(), target=a).answer] == [a]


@needs("bind")
@pytest.mark.parametrize("address", ["192.0.2.77", "2001:db8::77"])
def test_bind_to_an_address_that_is_not_here(serve, address):
    s = serve(f".:@PORT@ {{\n bind {address}\n whoami\n}}\n", start=False)
    with pytest.raises(server.StartFailed) as e:
        s.start()
    assert e.value.status == 1
    assert address in e.value.output and "assign" in e.value.output.lower()


# ---- several addresses, in a namespace of its own ----

ASK_FROM_ALL = """
import socket, sys
port, question = int(sys.argv[1]), bytes.fromhex(sys.argv[2])
for target in sys.argv[3:]:
    s = socket.socket(socket.AF_INET6 if ":" in target else socket.AF_INET, socket.SOCK_DGRAM)
    s.settimeout(5)
    s.sendto(question, (target, port))
    print(target, s.recvfrom(65535)[1][0])
    s.close()
    t = socket.create_connection((target, port), 5)
    t.sendall(len(question).to_bytes(2, "big") + question)
    assert len(t.recv(65535)) > 14
    t.close()
"""


@pytest.fixture
def serve_in():
    """serve_in(network, *flags): the program in the network's server namespace, once it says that it serves."""
    made = []

    def make(net, *flags):
        p = subprocess.Popen(net.server(*server.fairlead(), *flags), stdout=subprocess.PIPE, text=True)
        made.append(p)
        lines = [p.stdout.readline() for _ in range(2)]
        assert "Fairlead-" in lines[1], lines
        return lines[0]

    yield make
    for p in made:
        p.terminate()
        p.communicate(timeout=20)
        assert p.returncode == 0


def ask_all(command, port, targets):
    """[(address asked, address that replied)...]; over TCP too."""
    done = subprocess.run(command(sys.executable, "-c", ASK_FROM_ALL, str(port), QUESTION.hex(), *targets),
                          stdout=subprocess.PIPE, text=True, check=True, timeout=60)
    return [tuple(l.split()) for l in done.stdout.splitlines()]


@needs_root()
def test_host_with_many_addresses(serve, serve_in):
    v4 = [f"192.0.2.{i}" for i in range(1, 6)]
    v6 = [f"2001:db8::{i}" for i in range(1, 4)]
    s = serve(start=False)
    with Network(*[a + "/24" for a in v4], *[a + "/64" for a in v6]) as net:
        serve_in(net, "-conf", s.conf)
        assert ask_all(net.client, s.port(), v4 + v6) == [(a, a) for a in v4 + v6]
        assert ask_all(net.server, s.port(), v4 + v6 + ["127.0.0.1", "::1"])[0] == (v4[0], v4[0])


@needs_root()
def test_address_that_comes_later(serve, serve_in):
    """A listener on all addresses serves one that the host gets while it runs."""
    s = serve(start=False)
    with Network("192.0.2.1/24") as net:
        serve_in(net, "-conf", s.conf)
        net.add(net.names[0], "192.0.2.9/24")
        assert ask_all(net.client, s.port(), ["192.0.2.9", "192.0.2.1"]) == [("192.0.2.9",) * 2, ("192.0.2.1",) * 2]


@needs_root()
def test_host_without_ipv6(serve, serve_in):
    s = serve(start=False)
    with Network("192.0.2.1/24", "192.0.2.2/24") as net:
        subprocess.run(net.server("sysctl", "-qw", "net.ipv6.conf.all.disable_ipv6=1"), check=True)
        serve_in(net, "-conf", s.conf)
        assert ask_all(net.client, s.port(), ["192.0.2.1", "192.0.2.2"]) == [("192.0.2.1",) * 2, ("192.0.2.2",) * 2]


@needs_root()
def test_default_port_53(serve, serve_in):
    s = serve(". {\n whoami\n}\n", start=False)
    with Network("192.0.2.1/24") as net:
        assert serve_in(net, "-conf", s.conf) == ".:53\n"
        assert ask_all(net.client, 53, ["192.0.2.1"]) == [("192.0.2.1", "192.0.2.1")]


# ---- ports in use ----

@pytest.mark.parametrize("kind", [socket.SOCK_STREAM, socket.SOCK_DGRAM])
def test_port_in_use_is_1(serve, kind):
    s = serve(start=False)
    with socket.socket(socket.AF_INET6, kind) as busy:
        busy.bind(("::", s.port()))
        if kind == socket.SOCK_STREAM:
            busy.listen()
        p = subprocess.run(server.fairlead() + ["-conf", s.conf], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                           text=True, timeout=20)
    assert p.returncode == 1 and p.stdout == ""
    assert len(p.stderr.splitlines()) == 1
    assert str(s.port()) in p.stderr and "Address already in use" in p.stderr


def test_two_processes_share_a_port(serve):
    """As with CoreDNS: a new server can be started before the old one ends."""
    s = serve()
    second = subprocess.Popen(server.fairlead() + ["-conf", s.conf], stdout=subprocess.PIPE, text=True)
    try:
        assert second.stdout.readline() == f".:{s.port()}\n"
        assert all(answers(s.port()) for _ in range(50))
        assert all(answers(s.port(), tcp=True) for _ in range(50))
        s.process.send_signal(signal.SIGTERM)
        assert s.process.wait(20) == 0
        assert all(answers(s.port()) for _ in range(50))
        assert all(answers(s.port(), tcp=True) for _ in range(50))
    finally:
        second.terminate()
        second.communicate(timeout=20)


# ---- privileges ----

NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--bounding-set=-all", "--inh-caps=-all",
          "--no-new-privs"]


def reachable_by_others(path):
    while path != "/":
        if not os.stat(path).st_mode & 1:
            return False
        path = os.path.dirname(path)
    return True


def as_nobody(s):
    if not reachable_by_others(os.path.realpath(server.fairlead_program())):
        pytest.skip("the program's folder is closed to other users")
    os.chmod(s.dir, 0o755)
    return subprocess.Popen(NOBODY + server.fairlead() + ["-conf", s.conf], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, cwd="/")


@needs_root()
def test_unprivileged_on_a_high_port(serve):
    s = serve(start=False)
    p = as_nobody(s)
    try:
        eventually(lambda: answers(s.port(), timeout=0.1) or p.poll() is not None)
        assert p.poll() is None, p.communicate()
        assert answers(s.port()) and answers(s.port(), tcp=True) and answers(s.port(), target="::1")
        with open(f"/proc/{p.pid}/status", encoding="ascii") as f:
            assert re.search(r"^CapEff:\t0+$", f.read(), re.M)
    finally:
        p.terminate()
        p.communicate(timeout=20)
    assert p.returncode == 0


@needs_root()
def test_unprivileged_on_a_low_port(serve):
    with open("/proc/sys/net/ipv4/ip_unprivileged_port_start", encoding="ascii") as f:
        if int(f.read()) < 1000:
            pytest.skip("low ports need no privilege here")
    s = serve(".:999 {\n whoami\n}\n", start=False)
    p = as_nobody(s)
    out, err = p.communicate(timeout=20)
    assert p.returncode == 1 and out == ""
    assert "999" in err and "Permission denied" in err


# ---- several workers ----

@needs("multisocket")
@pytest.mark.parametrize("n", [1, 4])
def test_multisocket(serve, n):
    s = serve(f".:@PORT@ {{\n multisocket {n}\n whoami\n}}\n")
    with open("/proc/net/udp6", encoding="ascii") as f:
        rows = [l for l in f if l.split()[1].endswith(f":{s.port():04X}")]
    assert len(rows) == n
    assert all(answers(s.port()) for _ in range(20))
    assert all(answers(s.port(), tcp=True) for _ in range(20))


def count_sockets(port):
    with open("/proc/net/udp6", encoding="ascii") as f:
        return len([l for l in f if l.split()[1].endswith(f":{port:04X}")])


@needs("multisocket")
def test_number_of_sockets_is_set_at_the_start(serve):
    s = serve(".:@PORT@ {\n whoami\n}\n")
    n = count_sockets(s.port())
    assert n >= 1
    rewrite(s, f".:@PORT@ {{\n multisocket {n + 1}\n whoami\n}}\n")
    s.process.send_signal(signal.SIGUSR1)
    eventually(lambda: f"multisocket {n + 1} takes effect at the next start, {n} workers now" in s.output())
    assert count_sockets(s.port()) == n
    assert answers(s.port())
