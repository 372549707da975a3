# SPDX-License-Identifier: GPL-3.0-or-later
"""The scripted upstream itself: each word of its script, seen from a client."""
import base64
import http.client
import ssl
import struct
import time

import pytest

from lib import client, wire
from lib.upstream import ADDRESS, BadScript, Upstream, parse_script


def ask(up, name, rtype="A", tcp=False, timeout=0.3, **more):
    packet = wire.query(name, rtype, ident=77, **more)
    got = client.tcp_ask(up.port, packet, timeout=timeout)[0] if tcp else client.udp_ask(up.port, packet, timeout=timeout)
    return wire.parse(got) if got else None


def text(msg):
    return [l for l in msg.text() if not l.startswith("question")]


@pytest.mark.parametrize("script, question, lines", [
    ("a.x. A\n answer {name} 60 IN A 192.0.2.1\n authority x. 9 IN NS ns.x.\n additional ns.x. 8 IN A 192.0.2.2", {},
     ["rcode NOERROR", "flags qr rd ra", "answer a.x. 60 IN A 192.0.2.1", "authority x. 9 IN NS ns.x.",
      "additional ns.x. 8 IN A 192.0.2.2"]),
    ("", {}, ["rcode REFUSED", "flags qr rd ra"]),
    ("* * ; rcode NXDOMAIN", {"flags": ("cd",)}, ["rcode NXDOMAIN", "flags qr ra cd"]),
    ("*.x. A\n flags qr aa ad", {}, ["rcode NOERROR", "flags qr aa ad"]),
    ("a.x. A", {"edns": 4000, "do": True}, ["rcode NOERROR", "flags qr rd ra", "edns 1232 do"]),
    ("a.x. A\n noedns", {"edns": 4000}, ["rcode NOERROR", "flags qr rd ra"]),
    ("a.x. A\n edns 900 opt=10:abcd\n rcode BADVERS", {},
     ["rcode BADVERS", "flags qr rd ra", "edns 900 opt=10:abcd"]),
    ("a.x. A do\n rcode NOTIMP\na.x. A -do +cd\n rcode YXDOMAIN", {"edns": 512, "flags": ("cd",)},
     ["rcode YXDOMAIN", "flags qr ra cd", "edns 1232"]),
    ("a.x. A\n answer {name} 1 IN TXT \"{label} {type} {n} {transport}\"", {},
     ["rcode NOERROR", "flags qr rd ra", 'answer a.x. 1 IN TXT "a A 1 udp"']),
    ("a.x. A\n truncate\n answer a.x. 1 IN A 192.0.2.1", {}, ["rcode NOERROR", "flags qr tc rd ra"]),
    ("a.x. A tcp\n rcode NOTIMP", {"tcp": True}, ["rcode NOTIMP", "flags qr rd ra"]),
    ("a.x. A class=CH\n rcode NOTIMP", {"rclass": "CH"}, ["rcode NOTIMP", "flags qr rd ra"]),
    ("a.x. A", {"opcode": 4}, ["rcode NOERROR", "flags qr rd ra", "opcode NOTIFY"]),
    ("a.x. A\n opcode 2", {"opcode": 4}, ["rcode NOERROR", "flags qr rd ra", "opcode STATUS"]),
    ("a.x. A\n pad 3", {}, ["rcode NOERROR", "flags qr rd ra", "trailing 3"]),
], ids=lambda v: v.split("\n")[0] + "..." if isinstance(v, str) else "")
def test_replies(script, question, lines):
    with Upstream(script) as up:
        assert text(ask(up, "a.x.", **question)) == lines
        assert up.problems == []


def test_counted_conditions_and_silence():
    with Upstream("a.x. A n=1..2\n drop\na.x. A n=3\n rcode SERVFAIL\na.x. A n=4..\n rcode NOERROR") as up:
        got = [ask(up, "A.x.", timeout=0.1) for _ in range(5)]
        assert [m and m.rcode for m in got] == [None, None, 2, 0, 0]
        assert ask(up, "b.x.").rcode == 5
        assert (up.count(), up.count("a.x."), up.count("a.x.", transport="tcp")) == (6, 5, 0)


def test_wrong_replies():
    script = "id.x. A\n id 5\nq.x. A\n question other.x. AAAA\nno.x. A\n noquestion\ng.x. A\n garbage 0102\n" \
             "raw.x. A\n raw 8182:0000000000000000"
    with Upstream(script) as up:
        for name, check in (("q.x.", lambda r: wire.parse(r).question == b"\x05other\x01x\0\0\x1c\0\x01"),
                            ("no.x.", lambda r: wire.parse(r).counts == (0, 0, 0, 0)),
                            ("raw.x.", lambda r: r == b"\0\x4d\x81\x82" + bytes(8))):
            assert check(client.udp_ask(up.port, wire.query(name, ident=77), timeout=1)), name
        for name, ident in (("id.x.", b"\0\x52"), ("g.x.", b"\x01\x02")):
            link = client.Udp(ADDRESS, up.port)
            link.send(wire.query(name, ident=77))
            client.wait_readable(link.sock, 1)
            link.receive()
            assert list(link.replies)[1] == ident
            link.close()


def test_several_replies_and_delay():
    with Upstream("a.x. A\n rcode NXDOMAIN\n and\n rcode NOTIMP\n delay 60ms") as up:
        link = client.Udp(ADDRESS, up.port)
        link.send(wire.query("a.x.", ident=77))
        begin, times = time.monotonic(), []
        while len(times) < 2 and time.monotonic() < begin + 2:
            client.wait_readable(link.sock, 1)
            times += [time.monotonic() - begin] * link.receive()
        link.close()
        assert [r[3] & 15 for r in link.replies[b"\0\x4d"]] == [3, 4]
        assert times[1] >= 0.05


def test_tcp_closes_and_replies_out_of_order():
    with Upstream("slow.x. A\n delay 50ms\nfast.x. A\nend.x. A\n close") as up:
        link = client.Tcp(ADDRESS, up.port)
        for n, name in enumerate(("slow.x.", "fast.x.")):
            link.send(wire.query(name, ident=n))
        order = []
        while len(order) < 2:
            client.wait_readable(link.sock, 1)
            link.receive()
            order += [i for i, r in link.replies.items() if r and i not in order]
        assert order == [b"\0\1", b"\0\0"]
        link.send(wire.query("end.x.", ident=9))
        client.wait_readable(link.sock, 1)
        link.receive()
        assert link.closed and up.connections == 1
        link.close()


def test_tls():
    with Upstream("a.x. A tls\n rcode NOTIMP", tls=True) as up:
        context = ssl.create_default_context(cafile=up.cert)
        with client.connect(client.socket.SOCK_STREAM, ADDRESS, up.tls_port, "", 0) as plain, \
                context.wrap_socket(plain, server_hostname="upstream.test") as link:
            packet = wire.query("a.x.", ident=77)
            link.sendall(struct.pack("!H", len(packet)) + packet)
            reply = link.recv(2000)
        assert reply[5] & 15 == 4
        assert up.asked()[0].transport == "tls"


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_https(method):
    with Upstream("a.x. A https\n rcode NOTIMP", https=True) as up:
        context = ssl.create_default_context(cafile=up.cert)
        link = http.client.HTTPSConnection("localhost", up.tls_port, context=context, timeout=5)
        link.sock = context.wrap_socket(client.connect(client.socket.SOCK_STREAM, ADDRESS, up.tls_port, "", 0),
                                        server_hostname="upstream.test")
        packet = wire.query("a.x.", ident=77)
        for _ in range(2):
            if method == "GET":
                link.request("GET", "/dns-query?dns=" + base64.urlsafe_b64encode(packet).decode().rstrip("="))
            else:
                link.request("POST", "/dns-query", packet, {"Content-Type": "application/dns-message"})
            reply = link.getresponse()
            assert (reply.status, wire.parse(reply.read()).rcode) == (200, 4)
        link.close()
        assert [q.transport for q in up.asked()] == ["https"] * 2 and up.connections == 1


def test_stop_and_start_again():
    with Upstream("a.x. A") as up:
        assert ask(up, "a.x.")
        up.stop()
        assert ask(up, "a.x.", timeout=0.1) is None
        up.start()
        assert ask(up, "a.x.").rcode == 0
        assert [q.n for q in up.asked()] == [1, 2]


def test_dead_has_a_port_where_nobody_listens():
    with Upstream(dead=True) as up, pytest.raises(ConnectionRefusedError):
        client.tcp_ask(up.port, wire.query("a.x."))


def test_health_checks_are_apart():
    with Upstream(". NS") as up:
        ask(up, ".", "NS")
        assert (up.count(), up.count(".")) == (0, 1)


def test_a_script_that_cannot_be_done_is_told():
    with Upstream("a.x. A\n answer nonsense") as up:
        assert ask(up, "a.x.", timeout=0.1) is None
        assert "a.x. A" in up.problems[0]


@pytest.mark.parametrize("script", [" rcode NXDOMAIN", "a.x A", "a.x. A\n bogus", "a.x. A n0", "a.x. A +zz"])
def test_bad_scripts(script):
    with pytest.raises(BadScript, match="line 1|line 2"):
        parse_script(script)
