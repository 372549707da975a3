# SPDX-License-Identifier: GPL-3.0-or-later
"""Load and malice beyond single packets: waiting queries without end, patterns that explode, templates that do not
stop, ends and reloads in the middle of it all."""
import signal
import socket
import struct
import time

import pytest

from helpers import (WHOAMI, answers, ask, cpu_seconds, eventually, marked, marker, needs, needs_root, rewrite,
                     sanitizer, slower, status)
from lib import client, server, wire
from lib.upstream import Upstream
from test_reload_storm import load


def waiting_bytes(port, *tables):
    """What lies unread in sockets of this local port."""
    total = 0
    for name in tables or ("udp", "udp6", "tcp", "tcp6"):
        with open(f"/proc/net/{name}", encoding="ascii") as f:
            next(f)
            for line in f:
                fields = line.split()
                if int(fields[1].rsplit(":", 1)[1], 16) == port and fields[3] != "0A":
                    total += int(fields[4].split(":")[1], 16)
    return total


def drain(sock, until, seconds):
    """Replies that come until `until(replies)` or the bound."""
    got = []
    end = time.monotonic() + slower(seconds)
    while time.monotonic() < end and not until(got):
        sock.settimeout(max(0.01, end - time.monotonic()))
        try:
            got.append(sock.recv(65535))
        except (socket.timeout, BlockingIOError):
            break
    return got


@pytest.mark.alone
@needs("erratic")
def test_more_waiting_queries_than_there_may_be(serve, note):
    """30 000 queries that wait; beyond the cap they are refused at once, and afterwards all is as before."""
    s = serve("slow:@PORT@ {\n erratic {\n  drop 0\n  delay 1 3s\n }\n}\n.:@PORT@ {\n whoami\n}\n")
    before, = status(s.process.pid, "VmRSS")
    n, refused, late = 30000, 0, 0
    question = wire.query("a.slow.", ident=1)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        sock.connect(("127.0.0.1", s.port()))
        sock.setblocking(False)
        for i in range(n):
            sock.send(question)
            if i % 500 == 499:
                eventually(lambda: waiting_bytes(s.port(), "udp", "udp6") == 0, what="queries taken")
                while True:
                    try:
                        reply = sock.recv(65535)
                    except BlockingIOError:
                        break
                    refused += reply[3] & 15 == 2
                    late += reply[3] & 15 == 0
        top, = status(s.process.pid, "VmRSS")
        for reply in drain(sock, lambda g: len(g) + refused + late == n, 6):
            refused += reply[3] & 15 == 2
            late += reply[3] & 15 == 0
    note("30 000 waiting queries", f"{late} answered, {refused} refused at the cap, VmRSS {before} kB to {top} kB")
    eventually(lambda: answers(s.port()), what="an answer afterwards")
    assert all(answers(s.port()) for _ in range(50))
    assert refused + late == n
    if not sanitizer():  # which is so slow that the first are answered before the last is sent
        assert late <= 20000 + 512
        assert top - before < 120 * 1024
    assert s.alive()


@pytest.mark.alone
@needs("erratic")
def test_waiting_queries_of_a_pipelining_client(serve):
    s = serve("slow:@PORT@ {\n erratic {\n  drop 0\n  delay 1 300ms\n }\n}\n.:@PORT@ {\n whoami\n}\n")
    link = client.Tcp("127.0.0.1", s.port())
    n = 1000
    for i in range(n):
        link.send(wire.query("a.slow.", ident=i))
    start = time.monotonic()
    assert answers(s.port()) and answers(s.port(), tcp=True)
    assert time.monotonic() - start < slower(0.5)
    eventually(lambda: link.receive() is not None and (link.closed or sum(map(len, link.replies.values())) == n),
               seconds=12, what="all replies")
    assert not link.closed
    link.close()


@needs("erratic")
def test_clients_that_leave_while_their_queries_wait(serve):
    s = serve(".:@PORT@ {\n erratic {\n  drop 0\n  delay 2 200ms\n }\n}\n")
    for i in range(200):
        link = client.Tcp("127.0.0.1", s.port())
        for k in range(10):
            link.send(wire.query("a.example.", ident=k))
        if i % 2:
            link.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        link.close()
    eventually(lambda: ask(s.port(), "b.example.", timeout=1), what="an answer afterwards")


@needs("erratic")
@pytest.mark.parametrize("tcp", [False, True])
def test_queries_in_flight_are_answered_before_the_end(serve, tcp):
    s = serve(".:@PORT@ {\n erratic {\n  drop 0\n  delay 1 700ms\n }\n}\n")
    link = (client.Tcp if tcp else client.Udp)("127.0.0.1", s.port())
    for i in range(10):
        link.send(wire.query("a.example.", ident=i))
    eventually(lambda: waiting_bytes(s.port()) == 0, what="queries taken from the socket")
    assert not link.receive()
    s.process.send_signal(signal.SIGTERM)
    start = time.monotonic()
    eventually(lambda: link.receive() is not None and sum(map(len, link.replies.values())) == 10, seconds=4,
               what="the replies")
    assert s.process.wait(slower(6)) == 0
    assert time.monotonic() - start < slower(3)
    link.close()


@needs("erratic")
def test_the_end_does_not_wait_for_ever(serve):
    """A query that takes longer than the grace time of 5 s is given up."""
    s = serve(".:@PORT@ {\n erratic {\n  drop 0\n  delay 1 60s\n }\n}\n")
    link = client.Udp("127.0.0.1", s.port())
    link.send(wire.query("a.example.", ident=1))
    start = time.monotonic()
    s.process.send_signal(signal.SIGTERM)
    assert s.process.wait(slower(9)) == 0
    assert 3 < time.monotonic() - start < slower(8)
    link.close()


@needs("erratic", "template")
def test_a_reload_does_not_wait_for_slow_queries_to_serve(serve):
    """The new configuration answers at once; the slow query of the old one is answered too."""
    s = serve(".:@PORT@ {\n erratic {\n  drop 0\n  delay 1 3s\n }\n}\n")
    link = client.Udp("127.0.0.1", s.port())
    link.send(wire.query("a.example.", ident=1))
    rewrite(s, WHOAMI)
    start = time.monotonic()
    s.process.send_signal(signal.SIGUSR1)
    eventually(lambda: answers(s.port(), timeout=0.2), seconds=1.5, what="the new configuration")
    eventually(lambda: link.receive() or link.replies[b"\0\1"], seconds=4, what="the slow reply")
    link.close()


@pytest.mark.parametrize("tcp", [False, True])
def test_end_under_load(serve, tcp):
    for _ in range(3):
        s = serve()
        p = load(s.port(), 3000 if sanitizer() else 20000, tcp)
        try:
            eventually(lambda: cpu_seconds(s.process.pid) > 0.03, what="load")
            s.process.send_signal(signal.SIGUSR1)
            s.process.send_signal(signal.SIGTERM)
            assert s.process.wait(slower(6)) == 0
        finally:
            p.kill()
            p.communicate()


# ---- patterns and templates ----

@pytest.mark.alone
@needs("template", "errors")
def test_patterns_that_explode(serve, note):
    s = serve('.:@PORT@ {\n errors\n template IN A {\n  match "^((a+)+)+[.]b[.]$" "^([a-z]*[a-z]*[a-z]*)*[.]x[.]$"\n'
              '  answer "{{ .Name }} 1 IN A 192.0.2.1"\n  fallthrough\n }\n whoami\n}\n')
    worst = 0.0
    for name in ("a" * 63 + ".c.", ".".join(["a" * 60] * 4) + ".", "a" * 40 + ".b."):
        start = time.monotonic()
        assert ask(s.port(), name) is not None
        worst = max(worst, time.monotonic() - start)
    note("slowest answer to names that make patterns explode", f"{worst * 1000:.1f} ms")
    assert worst < slower(0.3)


@needs("template")
@pytest.mark.parametrize("body", [
    '{{ define `x` }}{{ template `x` . }}{{ end }}{{ template `x` . }}',
    '{{ printf `%1000000000d` 1 }}',
    '{{ printf `%0999999s` .Name }}',
    '{{ range .Match }}{{ range $.Match }}{{ range $.Match }}{{ . }}{{ end }}{{ end }}{{ end }}',
    '{{ index .Match 99 }}',
    '{{ slice .Name 500 }}',
])
def test_templates_that_do_not_stop(serve, body):
    """Refused at load, or SERVFAIL at once; never a crash."""
    s = serve(f'.:@PORT@ {{\n template IN A {{\n  match "(.)(.)(.)(.)(.)"\n  answer "{body}"\n }}\n}}\n', start=False)
    try:
        s.start()
    except server.StartFailed as e:
        assert e.status == 1 and "Corefile:4:" in e.output, e.output
        return
    start = time.monotonic()
    for _ in range(3):
        assert ask(s.port(), "abcdefgh.example.").rcode == 2
    assert time.monotonic() - start < slower(1)
    assert s.alive()


@needs("template")
def test_reply_of_sixty_kilobytes(serve):
    s = serve('.:@PORT@ {\n template IN TXT {\n  answer "{{ .Name }} 1 IN TXT {{ printf `%060000d` 1 }}"\n }\n}\n')
    for _ in range(20):
        assert ask(s.port(), "a.example.", "TXT").flags == ("qr", "aa", "tc", "rd")
        reply = ask(s.port(), "a.example.", "TXT", tcp=True)
        assert reply.rcode == 0 and len(reply.answer[0][4]) > 60000


@needs("cache", "forward")
@pytest.mark.parametrize("records", [3700, 4090])
def test_a_long_reply_is_served_from_the_cache(serve, records):
    """59 and 65 KB in small records: what the cache keeps it must be able to give."""
    lines = "".join(f"\n    answer {{name}} 60 IN A 10.0.{i // 256}.{i % 256}" for i in range(records))
    with Upstream("* A" + lines) as up:
        s = serve(".:@PORT@ {\n cache\n forward . @UP:up@\n}\n", upstreams={"up": up})
        for _ in range(3):
            reply = ask(s.port(), "a.example.", tcp=True)
            assert reply.rcode == 0 and len(reply.answer) == records
            assert "tc" in ask(s.port(), "a.example.").flags
        assert up.count("a.example.") == 1


# ---- addresses one cannot reply to ----

@needs_root()
def test_replies_that_cannot_be_sent(serve):
    """Source port 0 cannot be sent to; others in the same batch get their replies."""
    s = serve()
    question = wire.query("example.org.", ident=1)
    bad = struct.pack("!4H", 0, s.port(), 8 + len(question), 0) + question
    with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_UDP) as raw, \
            socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.connect(("127.0.0.1", s.port()))
        for i in range(200):
            raw.sendto(bad, ("127.0.0.1", 0))
            sock.send(wire.query("example.org.", ident=i))
        assert len({r[:2] for r in drain(sock, lambda g: len(g) == 200, 3)}) == 200


def test_client_that_is_gone(serve):
    """ICMP errors that come back for replies must not reach other clients' queries."""
    s = serve()
    for i in range(200):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            sock.sendto(wire.query("example.org.", ident=i), ("127.0.0.1", s.port()))
        if i % 10 == 0:
            assert answers(s.port())
    assert answers(s.port())


@needs("erratic", "template")
def test_slow_queries_hold_up_neither_reloads_nor_the_end(serve):
    """While queries of an old configuration wait, further reloads and signals are obeyed."""
    s = serve(".:@PORT@ {\n erratic {\n  drop 0\n  delay 1 60s\n }\n}\n")
    link = client.Udp("127.0.0.1", s.port())
    link.send(wire.query("a.example.", ident=1))
    eventually(lambda: waiting_bytes(s.port()) == 0, what="query taken from the socket")
    for text in ("one", "two", "three"):
        rewrite(s, marker(text))
        s.process.send_signal(signal.SIGUSR1)
        eventually(lambda: marked(s.port(), timeout=0.2) == text, seconds=3, what=text)
    start = time.monotonic()
    s.process.send_signal(signal.SIGTERM)
    assert s.process.wait(slower(9)) == 0
    assert time.monotonic() - start < slower(8)
    link.close()
