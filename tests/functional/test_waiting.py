# SPDX-License-Identifier: GPL-3.0-or-later
"""Queries that wait for an upstream which never answers: what they hold must not be missing where somebody else, or
the same client, asks for something that needs no waiting."""
import collections
import select
import socket
import struct
import time

import pytest

from helpers import ask, eventually, metric, needs, sanitizer, slower, status
from lib import client, wire
from lib.upstream import Upstream

pytestmark = needs("forward", "cache", "template", "prometheus")

FLOODER, OTHER = "127.0.0.2", "127.0.0.3"
LARGE = 3000  # octets of TXT data: more than fits beside a query in its slot
COREFILE = """.:@PORT@ {
 prometheus 127.0.0.1:@HTTP:metrics@
 cache
 template IN A own.example {
  answer "{{ .Name }} 60 IN A 192.0.2.7"
 }
 template IN TXT own.example {
  answer "{{ .Name }} 60 IN TXT {{ printf `%03000d` 1 }}"
 }
 forward flood.example SILENT {
  max_fails 0
 }
 forward . @UP:live@
}
"""
LIVE = f"""* A ; answer {{name}} 3600 IN A 192.0.2.1
* TXT ; answer {{name}} 3600 IN TXT {" ".join(['"' + "x" * 250 + '"'] * (LARGE // 250))}"""


def bind_both():
    """Sockets of UDP and TCP with one port, which must be free for both."""
    for _ in range(50):
        udp, tcp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM), socket.socket(socket.AF_INET)
        udp.bind(("127.0.0.1", 0))
        try:
            tcp.bind(udp.getsockname())
            return udp, tcp
        except OSError:
            udp.close()
            tcp.close()
    raise AssertionError("no port is free for UDP and TCP")


@pytest.fixture
def silent():
    """The port of an upstream that takes every query and answers none."""
    udp, tcp = bind_both()
    with udp, tcp:
        tcp.listen(128)
        yield udp.getsockname()[1]


@pytest.fixture
def flooded(serve, silent):
    with Upstream(LIVE) as live:
        yield serve(COREFILE.replace("SILENT", f"127.0.0.1:{silent}"), upstreams={"live": live})


class Probe:
    """A client that asks for a cached name and one of the server's own zone, again and again."""

    def __init__(self, port, source):
        self.sock = client.connect(socket.SOCK_DGRAM, "127.0.0.1", port, source, 0)
        self.sock.setblocking(False)
        self.asked = 0
        self.rcodes = collections.Counter()

    def send(self):
        for name in ("hit.example.", f"n{self.asked}.own.example."):
            self.sock.send(wire.query(name, ident=self.asked % 65536))
            self.asked += 1

    def receive(self):
        while select.select([self.sock], [], [], 0)[0]:
            reply = self.sock.recv(65535)
            self.rcodes[wire.rcode_text(reply[3] & 15), struct.unpack_from("!H", reply, 6)[0]] += 1

    def answered(self):
        return sum(self.rcodes.values()) / self.asked


def flood(sock, first, n):
    """So many questions for new names."""
    tail = b"\5flood\7example\0\0\1\0\1"
    for i in range(first, first + n):
        label = b"u%09d" % i
        sock.send(struct.pack("!6HB", i & 0xffff, 0x0100, 1, 0, 0, 0, len(label)) + label + tail)


@pytest.mark.alone
@pytest.mark.parametrize("rate", [6500, 20000])
def test_what_needs_no_waiting_is_answered_during_a_flood(flooded, note, rate):
    """One client asks for names of which none is answered, faster than waiting queries end. Cached names and those of
    the server's own zones are answered to everybody, the flooding client included, without a single SERVFAIL."""
    s = flooded
    rate = rate // 10 if sanitizer() else rate
    assert ask(s.port(), "hit.example.").rcode == 0
    probes = {source: Probe(s.port(), source) for source in (FLOODER, OTHER)}
    sent, seconds, step = 0, 6, 0.005
    with client.connect(socket.SOCK_DGRAM, "127.0.0.1", s.port(), FLOODER, 0) as flooder:
        flooder.setblocking(True)
        begin = time.monotonic()
        while (now := time.monotonic() - begin) < seconds:
            due = int(now * rate) - sent
            flood(flooder, sent, min(due, 400))
            sent += min(due, 400)
            for probe in probes.values():
                probe.send()
                probe.receive()
            time.sleep(max(0.0, step - (time.monotonic() - begin - now)))
        for probe in probes.values():
            eventually(lambda p=probe: p.receive() or p.answered() >= 0.8, what="replies")
    note(f"{sent / seconds:.0f} unanswered names/s",
         ", ".join(f"{source}: {dict(p.rcodes)} of {p.asked}" for source, p in probes.items()))
    assert sent > rate * seconds / 2
    for source, probe in probes.items():
        assert set(probe.rcodes) == {("NOERROR", 1)}, source
        probe.sock.close()


def answered(asked):
    """Sends what has no reply yet, as a client does whose datagrams a full socket dropped, and waits for up to a second.
    Have all a reply?"""
    left = [(link, query) for link, query in asked if not link.replies.get(query[:2])]
    for link, query in left:
        link.send(query)
    end = time.monotonic() + 1
    while left and (wait := end - time.monotonic()) > 0:
        select.select([link.sock for link, _ in left], [], [], wait)
        for link, _ in left:
            link.receive()
        left = [(link, query) for link, query in left if not link.replies.get(query[:2])]
    return not left


@pytest.mark.alone
def test_one_client_does_not_take_all_waiting(flooded):
    """While one client has as many queries waiting as it may, another one's are still asked upstream."""
    s = flooded
    flooders = [client.connect(socket.SOCK_DGRAM, "127.0.0.1", s.port(), FLOODER, 0) for _ in range(16)]
    for i in range(80):  # all workers, since they share sockets by port
        flood(flooders[i % 16], i * 500, 500)
        time.sleep(0.005)
    links = [client.Udp("127.0.0.1", s.port(), OTHER) for _ in range(8)]
    asked = [(links[i % 8], wire.query(f"fresh{i}.example.", ident=i)) for i in range(64)]
    eventually(lambda: answered(asked), what="replies")
    got = collections.Counter(reply[3] & 15 for link in links for replies in link.replies.values() for reply in replies)
    for link in flooders + links:
        link.close()
    assert set(got) == {0} and got[0] >= 64


def padded(i, octets):
    return wire.query(f"p{i}.flood.example.", ident=i % 65536, edns=1232, options=[(12, b"\0" * octets)])


def large_answers(s, ident):
    """Answers of 3 KB, by the server itself and from upstream or cache, over UDP and TCP: (who, rcode, TC, data)."""
    found = []
    for name in (f"n{ident}.own.example.", f"n{ident}.example.", "again.example."):
        for tcp in (False, True):
            m = ask(s.port(), name, "TXT", tcp=tcp, edns=4096, ident=ident)
            found.append((name, tcp, m.rcode, "tc" in m.flags, len(m.answer) == 1))
    return [f for f in found if f[2:] != (0, False, True)]


@pytest.mark.parametrize("tcp,octets", [(False, 1100), (True, 3000), (True, 20000)])
def test_large_answers_while_padded_queries_wait(flooded, tcp, octets):
    """Queries of 1.2 KB and more that wait take nothing that answers of 2 KB or more need."""
    s = flooded
    links = [(client.Tcp if tcp else client.Udp)("127.0.0.1", s.port(), FLOODER) for _ in range(8)]
    for i in range(480):
        links[i % len(links)].send(padded(i, octets))
    assert large_answers(s, 1) == []
    for i in range(2, 6):
        assert large_answers(s, i) == []
    for link in links:
        link.close()


def test_a_limit_of_our_own_is_not_cached(flooded):
    """A name that could not be asked for because too much was waiting is asked for as soon as there is room."""
    s = flooded
    with client.connect(socket.SOCK_DGRAM, "127.0.0.1", s.port(), FLOODER, 0) as flooder:
        flooder.setblocking(True)
        refused = None
        for i in range(400):
            flood(flooder, i * 250, 250)
            flooder.send(wire.query(f"late{i}.example.", ident=1))
            time.sleep(0.002)
            flooder.setblocking(False)
            try:
                while refused is None:
                    reply = flooder.recv(65535)
                    text = wire.parse(reply).question if reply[3] & 15 == 2 else b""
                    refused = text if b"late" in text else None
            except BlockingIOError:
                pass
            flooder.setblocking(True)
            if refused is not None:
                break
        assert refused is not None
    name = wire.name_text(refused[:-4])
    eventually(lambda: (m := ask(s.port(), name)) is not None and m.rcode == 0, seconds=slower(1), what="the answer")
