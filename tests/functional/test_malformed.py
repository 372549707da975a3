# SPDX-License-Identifier: GPL-3.0-or-later
"""Packets that are not proper queries: FORMERR, NOTIMP or silence, never a crash, never a reply to a reply."""
import os
import random
import select
import socket
import struct
import time

import pytest

from helpers import answers, quiet_for, slower
from lib import client, wire

HEADER = struct.Struct("!6H")
QUESTION = b"\7example\3org\0" + struct.pack("!HH", 1, 1)
OPT = b"\0" + struct.pack("!HHIH", 41, 1232, 0, 0)


def packet(flags=0x0100, counts=(1, 0, 0, 0), body=QUESTION, ident=0x1234):
    return HEADER.pack(ident, flags, *counts) + body


def opcode(n):
    return n << 11 | 0x0100


SILENCE, FORMERR, NOTIMP, NOERROR, REFUSED, BADVERS = None, 1, 4, 0, 5, 16
TABLE = {
    "nothing": (b"", SILENCE),
    "one octet": (b"\0", SILENCE),
    "eleven octets": (bytes(11), SILENCE),
    "a response": (packet(0x8180), SILENCE),
    "a response without question": (packet(0x8180, (0, 0, 0, 0), b""), SILENCE),
    "a response that makes no sense": (packet(0x8000 | opcode(9), (9, 9, 9, 9), os.urandom(40)), SILENCE),
    "a FORMERR reply": (packet(0x8101, (0, 0, 0, 0), b""), SILENCE),
    "a NOTIMP reply": (packet(0x8000 | opcode(5) | 4, (0, 0, 0, 0), b""), SILENCE),
    "no question": (packet(counts=(0, 0, 0, 0), body=b""), FORMERR),
    "two questions": (packet(counts=(2, 0, 0, 0), body=QUESTION * 2), FORMERR),
    "65535 questions": (packet(counts=(65535, 0, 0, 0)), FORMERR),
    "two answers": (packet(counts=(1, 2, 0, 0)), FORMERR),
    "two authorities": (packet(counts=(1, 0, 2, 0)), FORMERR),
    "three additionals": (packet(counts=(1, 0, 0, 3)), FORMERR),
    "name cut off": (packet(body=b"\7exam"), FORMERR),
    "name without end": (packet(body=b"\7example"), FORMERR),
    "label type 01": (packet(body=b"\x41x\0\0\1\0\1"), FORMERR),
    "label type 10": (packet(body=b"\x81x\0\0\1\0\1"), FORMERR),
    "pointer to itself": (packet(body=b"\xc0\x0c\0\1\0\1"), FORMERR),
    "pointer forward": (packet(body=b"\xc0\xff\0\1\0\1"), FORMERR),
    "pointer loop": (packet(body=b"\1a\xc0\x0c\0\1\0\1"), FORMERR),
    "name of 256 octets": (packet(body=b"\x3f" + b"a" * 63 + b"\x3f" + b"b" * 63 + b"\x3f" + b"c" * 63 + b"\x3f"
                                  + b"d" * 63 + b"\0\0\1\0\1"), FORMERR),
    "name of 128 labels": (packet(body=b"\1a" * 128 + b"\0\0\1\0\1"), FORMERR),
    "half a type": (packet(body=QUESTION[:-3]), FORMERR),
    "OPT cut off": (packet(counts=(1, 0, 0, 1), body=QUESTION + OPT[:5]), FORMERR),
    "OPT data runs over": (packet(counts=(1, 0, 0, 1), body=QUESTION + OPT[:-2] + b"\0\x20"), FORMERR),
    "OPT option runs over": (packet(counts=(1, 0, 0, 1), body=QUESTION + OPT[:-2] + b"\0\4\0\x0a\0\x40"), FORMERR),
    "OPT version 1": (packet(counts=(1, 0, 0, 1), body=QUESTION + b"\0" + struct.pack("!HHIH", 41, 1232, 1 << 16, 0)),
                      BADVERS),
    "status query": (packet(opcode(2)), NOTIMP),
    "inverse query": (packet(opcode(1)), NOTIMP),
    "update": (packet(opcode(5)), NOTIMP),
    "opcode 15": (packet(opcode(15)), NOTIMP),
    "update without sections": (packet(opcode(5), (0, 0, 0, 0), b""), NOTIMP),
    "class CH": (packet(body=QUESTION[:-1] + b"\3"), REFUSED),
    "class 65535": (packet(body=QUESTION[:-2] + b"\xff\xff"), REFUSED),
    "all header bits": (packet(0x07f0), NOERROR),
    "type 0": (packet(body=b"\7example\3org\0\0\0\0\1"), NOERROR),
    "octets after the end": (packet(body=QUESTION + bytes(30)), NOERROR),
    **{f"name of {n} octets": (packet(body=b"\x3f" + b"a" * 63 + b"\x3f" + b"b" * 63 + b"\x3f" + b"c" * 63
                                      + bytes([n - 194]) + b"d" * (n - 194) + b"\0\0\1\0\1"), NOERROR)
       for n in (253, 254, 255)},
    "name of 127 labels": (packet(body=b"\1a" * 127 + b"\0\0\1\0\1"), NOERROR),
    "name of zeros and dots": (packet(body=b"\3\0.\0\2..\0\0\1\0\1"), NOERROR),
    "the root": (packet(body=b"\0\0\1\0\1"), NOERROR),
}


@pytest.fixture(scope="module")
def running():
    from lib import server
    from helpers import WHOAMI
    with server.Server(server.fairlead(), WHOAMI) as s:
        yield s
        assert s.alive()
        assert answers(s.port()) and answers(s.port(), tcp=True)
        assert s.stop() == 0
        assert "Sanitizer" not in s.last_output and "runtime error" not in s.last_output


@pytest.mark.parametrize("what", TABLE)
def test_table(running, what):
    data, expected = TABLE[what]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.connect(("127.0.0.1", running.port()))
        sock.send(data)
        if expected is SILENCE:
            # The next one's reply tells that this one's would have come by now.
            sock.send(packet(ident=0x7777))
            sock.settimeout(slower(3))
            assert sock.recv(65535)[:2] == b"\x77\x77"
            assert quiet_for(sock, 0.05)
            return
        sock.settimeout(slower(3))
        reply = sock.recv(65535)
    check(data, reply, expected)
    if len(data) >= 12:
        got = client.tcp_ask(running.port(), data)[0]
        check(data, got, expected)


def check(data, reply, expected):
    parsed = wire.parse(reply)
    assert parsed.rcode == expected and "qr" in parsed.flags and reply[:2] == data[:2]
    assert parsed.trailing == 0
    if expected in (FORMERR, NOTIMP):
        assert not (parsed.answer or parsed.authority or parsed.additional)
        assert len(reply) <= len(data) or len(reply) == 12


def test_too_long_for_udp(running):
    for n in (1233, 4096, 9000, 65000):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            sock.connect(("127.0.0.1", running.port()))
            sock.send(packet(counts=(1, 0, 0, 1), body=QUESTION + b"\0" + struct.pack("!HHIH", 41, 1232, 0, n) + bytes(n)))
            sock.settimeout(slower(3))
            reply = sock.recv(65535)
            assert wire.parse(reply).rcode == FORMERR and len(reply) == 12 + len(QUESTION)
            sock.send(packet(0x8180, body=QUESTION + bytes(n)))  # a long response
            assert quiet_for(sock, 0.05)


def test_source_port_zero_and_own_port(running):
    """Nothing that makes the server talk to itself: a reply sent to it gets no answer."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.connect(("127.0.0.1", running.port()))
        sock.settimeout(slower(3))
        sock.send(packet())
        reply = sock.recv(65535)
        for _ in range(100):
            sock.send(reply)
        sock.send(packet(ident=0x7777))
        assert sock.recv(65535)[:2] == b"\x77\x77"
        assert quiet_for(sock, 0.1)


# ---- random mutations ----

def seeds():
    yield wire.query("www.example.org.", "AAAA")
    yield wire.query("example.org.", "TXT", edns=4096, do=True, options=[(10, b"12345678"), (3, b""), (12, bytes(20))])
    yield wire.query("a.b.c.d.e.f.example.org.", "SRV", edns=512, options=[(8, b"\0\1\x18\0\xc0\0\2")])
    yield packet(opcode(4) | 0x0400)
    yield packet(counts=(1, 1, 1, 2), body=QUESTION + (b"\xc0\x0c" + struct.pack("!HHIH", 1, 1, 60, 4) + b"\1\2\3\4") * 2
                 + (b"\xc0\x0c" + struct.pack("!HHIH", 6, 1, 60, 24) + b"\xc0\x0c\xc0\x0c" + bytes(20)) + OPT)


def mutate(rng, data):
    data = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 3, 8))):
        kind = rng.randrange(6)
        at = rng.randrange(len(data)) if data else 0
        if kind == 0 and data:
            data[at] = rng.randrange(256)
        elif kind == 1 and data:
            data[at] ^= 1 << rng.randrange(8)
        elif kind == 2:
            del data[at:at + rng.randrange(1, 9)]
        elif kind == 3:
            data[at:at] = rng.randbytes(rng.randrange(1, 12))
        elif kind == 4 and data:
            data[at:at + 2] = rng.choice((b"\xff\xff", b"\0\0", b"\xc0\x0c", b"\xc0\0", b"\x3f\x3f", b"\0\x29"))
        elif kind == 5:
            del data[at:]
    return bytes(data)


def mutations(seed, n):
    rng = random.Random(seed)
    base = list(seeds())
    return [mutate(rng, rng.choice(base)) for _ in range(n)]


def proper(reply, sent_is_reply_ids):
    message = wire.parse(reply)
    assert "qr" in message.flags
    assert message.trailing == 0
    return message.id


COUNT = 20000


def test_mutations_over_udp(running, note):
    """20 000 packets, 200 at a time; a proper query after each lot is answered, so all before it were looked at."""
    silent = set()
    n_replies = 0
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.connect(("127.0.0.1", running.port()))
        sock.settimeout(slower(3))
        packets = [struct.pack("!H", i & 0x7fff) + p[2:] if len(p) >= 2 else p
                   for i, p in enumerate(mutations(1, COUNT))]
        for lot in range(0, COUNT, 200):
            sent = packets[lot:lot + 200]
            silent = {p[:2] for p in sent if len(p) < 12 or p[2] & 0x80}
            for p in sent:
                sock.send(p)
            sock.send(packet(ident=0xffff))
            while True:
                reply = sock.recv(65535)
                if reply[:2] == b"\xff\xff":
                    break
                assert proper(reply, silent) is not None
                assert reply[:2] not in silent, "a reply to a reply"
                n_replies += 1
    note("mutated packets over UDP", f"{COUNT} sent, {n_replies} answered")
    assert COUNT * 0.3 < n_replies <= COUNT
    assert running.alive()


def test_mutations_over_tcp(running):
    """Framed properly, 100 to a connection."""
    for lot in range(0, COUNT, 400):
        packets = [struct.pack("!H", i) + p[2:] if len(p) >= 2 else p for i, p in enumerate(mutations(lot + 7, 400))]
        silent = {p[:2] for p in packets if len(p) < 12 or p[2] & 0x80}
        link = client.Tcp("127.0.0.1", running.port())
        for p in packets:
            link.send(p)
        link.send(packet(ident=0xffff))
        end = time.monotonic() + slower(5)
        while not link.closed and not link.replies.get(b"\xff\xff") and time.monotonic() < end:
            select.select([link.sock], [], [], 1)
            link.receive()
        for ident, replies in link.replies.items():
            for r in replies:
                proper(r, silent)
                assert ident not in silent
            assert len(replies) <= 1 or ident == b"\xff\xff"
        assert link.closed or link.replies[b"\xff\xff"]
        link.close()
    assert running.alive()


def test_random_bytes_over_tcp(running):
    """Not even framed."""
    rng = random.Random(3)
    for _ in range(150):
        with socket.create_connection(("127.0.0.1", running.port())) as sock:
            try:
                sock.sendall(rng.randbytes(rng.choice((1, 2, 3, 100, 5000, 100000))))
            except OSError:
                pass
    assert answers(running.port(), tcp=True)
