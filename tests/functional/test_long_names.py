# SPDX-License-Identifier: GPL-3.0-or-later
"""Names of 253, 254 and 255 octets, the longest there are, through plugins that read or make a name and need no cluster: each is
answered, and the server lives on. A sanitizer build finds arrays that are one byte too short."""
import socket
import struct

import pytest

from helpers import answers, slower
from lib import client, server, wire
from lib.upstream import Upstream

LIVE = "* A ; answer {name} 60 IN A 192.0.2.1"
TYPES = {"A": 1, "NS": 2, "CNAME": 5, "SOA": 6, "PTR": 12, "TXT": 16, "AAAA": 28, "SRV": 33, "DS": 43, "ANY": 255}
ZONE = "$ORIGIN example.\n@ 60 SOA ns hostmaster 1 60 60 60 60\n@ 60 NS ns\n* 60 A 192.0.2.1\nd 60 DNAME long.example.org.\n"

# What stands in the server block; @UP@ is an upstream that answers A questions.
BLOCKS = {
    "whoami": "whoami",
    "forward": "forward . @UP@",
    "forward with random case": "forward . @UP@ {\n random_case\n}",
    "forward with cookies": "forward . @UP@ {\n cookies\n random_case\n}",
    "forward over TCP": "forward . @UP@ {\n force_tcp\n random_case\n}",
    "forward with hedge": "forward . @UP@ @UP@ {\n hedge 10ms\n random_case\n policy fastest\n}",
    "cache": "cache {\n serve_stale\n prefetch 1\n}\n forward . @UP@",
    "cache with cuts": "cache {\n nxdomain_cut\n}\n template ANY ANY . {\n rcode NXDOMAIN\n"
                       " authority \"{{ .Zone }} 60 IN SOA a. b. 1 2 3 4 5\"\n}",
    "rewrite": "rewrite name regex (.*) {1} answer auto\n forward . @UP@",
    "rewrite that adds": "rewrite name suffix . .longer.example. answer auto\n whoami",
    "rewrite of types": "rewrite type A AAAA\n rewrite edns0 local set 0xffee {qname}\n forward . @UP@",
    "template": "template ANY ANY . {\n answer \"{{ .Name }} 60 IN CNAME x.{{ .Name }}\"\n}",
    "template with groups": "template IN ANY . {\n match (.*)\n answer \"{{ index .Match 0 }} 60 IN CNAME {{ .Name }}\"\n"
                            "}",
    "file": "file @DIR@/zone example {\n}\n whoami",
    "hosts": "hosts {\n 192.0.2.1 a.example\n fallthrough\n}\n whoami",
    "autopath": "autopath @DIR@/resolv.conf\n forward . @UP@",
    "dns64": "dns64 64:ff9b::/96\n forward . @UP@",
    "loadbalance": "loadbalance\n forward . @UP@",
    "loadbalance by weight": "loadbalance weighted @DIR@/weights\n forward . @UP@",
    "log and errors": "log . \"{name} {>id} {type} {rcode}\"\n errors\n forward . @UP@",
    "metadata": "metadata\n log\n minimal\n header {\n response set ra\n}\n forward . @UP@",
    "acl, any, nsid, chaos": "acl {\n allow type * net *\n}\n any\n nsid x\n chaos x y\n bufsize 1232\n forward . @UP@",
    "local": "local\n whoami",
    "loop": "loop\n forward . @UP@",
    "erratic": "erratic {\n drop 0\n delay 0\n}",
    "view": "view v {\n expr name() != '' && type() != 'NULL'\n}\n whoami",
    "prometheus": "prometheus 127.0.0.1:0\n cancel 4s\n debug\n whoami",
}


def names(zone=b""):
    """Wire names of 253 to 255 octets at the end of which `zone` stands."""
    for octets in (253, 254, 255):
        left = octets - len(zone) - 1
        big, rest = [], left
        while rest > 64:
            take = 64 if rest != 65 else 63
            big.append(take)
            rest -= take
        yield b"".join(bytes([n - 1]) + b"aB-9" * 15 + b"xYz"[:n - 61] if n >= 61 else bytes([n - 1]) + b"q" * (n - 1)
                       for n in big + [rest]) + zone + b"\0"
        small = [2] * (left // 2)
        small[-1] += left % 2
        yield b"".join(bytes([n - 1]) + b"ab"[:n - 1] for n in small) + zone + b"\0"


def question(name, kind, edns):
    opt = b"\0" + struct.pack("!HHIH", 41, 1232, 0x8000, 0) if edns else b""
    return struct.pack("!6H", 0x4242, 0x0100, 1, 0, 0, bool(edns)) + name + struct.pack("!HH", kind, 1) + opt


@pytest.fixture(scope="module")
def upstream():
    with_answers = Upstream(LIVE + "\n* * ; rcode NXDOMAIN").start()
    yield with_answers
    with_answers.close()


@pytest.mark.parametrize("what", BLOCKS)
def test_the_longest_names(what, upstream, tmp_path):
    (tmp_path / "zone").write_text(ZONE)
    (tmp_path / "resolv.conf").write_text("search a.example b.a.example example\n")
    (tmp_path / "weights").write_text("a.example\n192.0.2.1 10\n")
    block = BLOCKS[what].replace("@UP@", f"127.0.0.1:{upstream.port}").replace("@DIR@", str(tmp_path))
    asked = list(names()) + list(names(b"\7example")) + list(names(b"\1d\7example"))
    assert sorted({len(n) for n in asked}) == [253, 254, 255]
    with server.Server(server.fairlead(), f".:@PORT@ {{\n {block}\n}}\n") as s:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            sock.connect(("127.0.0.1", s.port()))
            sock.settimeout(slower(6))
            for kind in TYPES.values():
                for name in asked:
                    for again in range(2):
                        query = question(name, kind, again)
                        sock.send(query)
                        reply = sock.recv(65535)
                        assert reply[:2] == query[:2] and reply[2] & 0x80
                        assert reply[12:12 + len(name)] == name
                        wire.parse(reply)
            got = client.tcp_ask(s.port(), question(asked[-1], TYPES["A"], True))[0]
            assert got[12:12 + len(asked[-1])] == asked[-1]
        assert s.alive() and answers(s.port())
        assert s.stop() == 0
        assert "Sanitizer" not in s.last_output and "runtime error" not in s.last_output
