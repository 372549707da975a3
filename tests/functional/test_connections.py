# SPDX-License-Identifier: GPL-3.0-or-later
"""Connections of clients that stay, and of those that do not read what they asked for: how many there are, what is kept
for them and for how long."""
import contextlib
import os
import select
import socket
import ssl
import struct
import time

import pytest

from helpers import ask, eventually, needs, sanitizer, slower, status
from lib import certs, wire

pytestmark = needs("https", "multisocket", "template")

COREFILE = """https://.:@HTTP:doh@ {
 multisocket 4
 https {
  max_connections LIMIT
 }
 template IN A {
  answer "{{ .Name }} 60 IN A 192.0.2.1"
 }
 template IN TXT {
  answer "{{ .Name }} 60 IN TXT {{ printf `%060000d` 1 }}"
 }
}
.:@PORT@ {
 whoami
}
"""


def request(name="a.example.", rtype="A"):
    body = wire.query(name, rtype, ident=0)
    return (f"POST /dns-query HTTP/1.1\r\nHost: a\r\nContent-Type: application/dns-message\r\n"
            f"Content-Length: {len(body)}\r\n\r\n").encode() + body


def connect(port, source="127.0.0.1"):
    sock = socket.create_connection(("127.0.0.1", port), slower(5), source_address=(source, 0))
    return sock


def asked(sock, name="a.example."):
    """One request and its response."""
    sock.sendall(request(name))
    assert b"200 OK" in sock.recv(65536)
    return sock


def closed(sock):
    sock.setblocking(False)
    try:
        return sock.recv(1) == b""
    except BlockingIOError:
        return False
    except ConnectionError:
        return True


@pytest.mark.parametrize("sources", [1, 20])
def test_max_connections_holds_over_all_workers(serve, sources):
    """Whichever workers the kernel gave connections to, the longest-idle ones are closed, and no others."""
    limit = 5
    s = serve(COREFILE.replace("LIMIT", str(limit)))
    port = s.http("doh")
    links = [asked(connect(port, f"127.0.0.{2 + i % sources}")) for i in range(20)]
    try:
        eventually(lambda: sum(map(closed, links)) >= 20 - limit, what="closed connections")
        assert [closed(link) for link in links] == [True] * (20 - limit) + [False] * limit
        for link in links[-limit:]:
            link.settimeout(slower(5))
        asked(links[-limit])  # the oldest is now the youngest
        links += [asked(connect(port)) for _ in range(limit - 1)]
        eventually(lambda: closed(links[-limit - 1]), what="another closed connection")
        assert not closed(links[20 - limit])
    finally:
        for link in links:
            link.close()


# ---- replies that are not read ----

SLOW = """https://.:@HTTP:doh@ {
 TLS
 timeouts {
  read 30s
  write WRITE
  idle 30s
 }
 template IN A {
  answer "{{ .Name }} 60 IN A 192.0.2.1"
 }
 template IN TXT {
  answer "{{ .Name }} 60 IN TXT {{ printf `%060000d` 1 }}"
 }
}
.:@PORT@ {
 whoami
}
"""
LARGE = 60000  # octets of the answer to a TXT question


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    d = tmp_path_factory.mktemp("certs")
    certs.make_ca(d)
    certs.make_cert(d)
    return d


@pytest.fixture
def slow(serve, folder):
    """slow(write, tls): a server with this write timeout."""
    def make(write="1s", tls=True):
        text = SLOW.replace("WRITE", write).replace("TLS", "tls cert.pem key.pem" if tls else "")
        return serve(text, files=certs.texts(folder))
    return make


def grown(s, before):
    """Megabytes by which the server's memory was ever larger than before."""
    return (status(s.process.pid, "VmHWM")[0] - before) / 1024


def http2_frame(kind, flags, stream, payload=b""):
    return struct.pack("!I", len(payload))[1:] + struct.pack("!BBI", kind, flags, stream) + payload


class Http2:
    """Frames by hand: what a client of bad manners sends."""
    DATA, HEADERS, RESET, SETTINGS, WINDOW = 0, 1, 3, 4, 8

    def __init__(self, folder, port, source="127.0.0.1", window=(1 << 31) - 1):
        context = ssl.create_default_context(cafile=os.path.join(folder, "ca.pem"))
        context.set_alpn_protocols(["h2"])
        self.sock = context.wrap_socket(connect(port, source), server_hostname="dns.test")
        self.sock.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
        self.send(self.SETTINGS, 0, 0, struct.pack("!HI", 4, window))
        self.buffer = b""

    def send(self, *frame):
        self.sock.sendall(http2_frame(*frame))

    def head(self, stream):
        text = b"\x83\x87\x44\x0a/dns-query\x41\x01a\x5f\x17application/dns-message"
        self.send(self.HEADERS, 4, stream, text)

    def body(self, stream, rtype="TXT"):
        self.send(self.DATA, 1, stream, wire.query("a.example.", rtype))

    def closed(self):
        """Reads all there is; was that the end?"""
        self.sock.setblocking(False)
        try:
            while data := self.sock.recv(65536):
                self.buffer += data
            return True
        except ssl.SSLWantReadError:
            return False
        except OSError:
            return True
        finally:
            self.sock.setblocking(True)

    def close(self):
        self.sock.close()


def test_large_answers_to_many_streams(slow, folder):
    """All questions of a connection stand before the first body: their answers are not kept for a client that does not
    read, on one connection or on many."""
    s = slow()
    before, = status(s.process.pid, "VmRSS")
    links = [Http2(folder, s.http("doh")) for _ in range(8)]
    for link in links:
        with contextlib.suppress(OSError):  # it may be closed by now
            for i in range(240):
                link.head(2 * i + 1)
            for i in range(240):
                link.body(2 * i + 1)
    other = asked_http2(folder, s)
    eventually(lambda: all(hung_up(link.sock) for link in links), seconds=8, what="closed connections")
    assert sanitizer() or grown(s, before) < 20, "8 times 240 answers of 60 KB are 115 MB"
    other.close()
    for link in links:
        link.close()


def asked_http2(folder, s):
    """Another client is served meanwhile."""
    link = Http2(folder, s.http("doh"), "127.0.0.3")
    link.head(1)
    link.body(1, "A")
    eventually(lambda: not link.closed() and b"\xc0\x00\x02\x01" in link.buffer, what="an answer")
    return link


def hung_up(sock):
    """Closed by the server; what it sent is not read."""
    poller = select.poll()
    poller.register(sock.fileno(), select.POLLRDHUP)
    return bool(poller.poll(0))


def test_octet_by_octet(slow, folder):
    """A client that lets one octet through now and then has its reply no longer than one that lets none through."""
    s = slow("1s")
    link = Http2(folder, s.http("doh"))
    for i in range(3):
        link.head(2 * i + 1)
        link.body(2 * i + 1)
    begin = time.monotonic()
    with contextlib.suppress(OSError):
        while not link.closed() and time.monotonic() - begin < slower(15):
            link.send(Http2.WINDOW, 0, 0, struct.pack("!I", 1))
            time.sleep(0.1)
    assert 0.8 < time.monotonic() - begin < slower(5)
    assert len(link.buffer) > LARGE
    link.close()


def test_pipelined_requests_that_are_not_read(slow):
    """HTTP/1.1: further requests are read when the replies to earlier ones have left, and all are answered."""
    s = slow("10s", tls=False)
    before, = status(s.process.pid, "VmRSS")
    n = 500
    link = connect(s.http("doh"))
    link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
    link.sendall(request(rtype="TXT") * n)
    got, octets, head = 0, 0, b""
    eventually(lambda: ask(s.port()) is not None, what="another answer")
    while got < n:
        data = link.recv(1 << 20)
        assert data, f"closed after {got} replies"
        octets += len(data)
        got += (head + data).count(b"HTTP/1.1 200") - head.count(b"HTTP/1.1 200")
        head = data[-11:]
    assert octets > (n - 1) * LARGE
    assert sanitizer() or grown(s, before) < 10, "500 answers of 60 KB are 30 MB"
    link.close()


def test_many_connections_of_a_client_that_does_not_read(slow):
    """What is kept for all its connections has a limit; another client is not affected."""
    s = slow("20s", tls=False)
    before, = status(s.process.pid, "VmRSS")
    links = []
    for _ in range(400):
        link = connect(s.http("doh"), "127.0.0.2")
        link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        link.setblocking(False)
        with contextlib.suppress(OSError):
            link.send(request(rtype="TXT") * 300)
        links.append(link)
    other = asked(connect(s.http("doh"), "127.0.0.3"))
    eventually(lambda: sum(hung_up(link) for link in links) > 200, seconds=slower(10), what="closed connections")
    asked(other).close()
    assert sanitizer() or grown(s, before) < 12, "4 MB are kept, and what connections cost"
    for link in links:
        link.close()
