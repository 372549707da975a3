"""Connections of clients that stay, and of those that do not read what they asked for: how many there are, what is kept
for them and for how long."""
import socket
import time

import pytest

from helpers import eventually, needs, slower, status
from lib import wire

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
