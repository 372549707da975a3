# SPDX-License-Identifier: GPL-3.0-or-later
"""Transfers under clients that do not take what they asked for, go away, or ask for too much (docs/plugins/transfer.md). What
a transfer holds is for tests/differential."""
import os
import signal
import socket
import struct

from helpers import ask, eventually, rewrite
from lib import wire, xfr

HOSTS = 25000
RUNNING_MAX = 32


def zone(serial, text="x" * 200):
    return f"$ORIGIN big.test.\n@ 60 SOA ns host {serial} 2 3 4 5\n@ 60 NS ns\nns 60 A 192.0.2.1\n" + "".join(
        f'h{i} 60 TXT "{text}"\n' for i in range(HOSTS))


COREFILE = """.:@PORT@ {
    file @DIR@/db big.test {
        reload 0
    }
    transfer {
        to *
    }
    timeouts {
        write 60s
    }
}
"""
RECORDS = HOSTS + 4


def stuck(s, n=1, zone_name="big.test.", source="127.0.0.1"):
    """A connection that has asked n times and takes nothing."""
    c = socket.socket()
    c.bind((source, 0))
    c.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
    c.settimeout(60)
    c.connect(("127.0.0.1", s.port()))
    messages = [xfr.question(zone_name, ident=i + 1) for i in range(n)]
    c.sendall(b"".join(struct.pack("!H", len(msg)) + msg for msg in messages))  # at once: all are read before one has ended
    return c


def take(c, n):
    """Messages of n transfers, in whatever order they come: id -> (records, rcode)."""
    found = {}
    while sum(soas == 2 or rcode != 0 for soas, _, rcode in found.values()) < n:
        m = wire.parse(xfr.receive(c, struct.unpack("!H", xfr.receive(c, 2))[0]))
        soas, records, _ = found.get(m.id, (0, 0, 0))
        found[m.id] = (soas + sum(r[1] == xfr.SOA for r in m.answer), records + len(m.answer), m.rcode)
    return found


def test_others_do_not_wait(serve):
    """Clients that do not read delay no others, and get the whole zone when they read; the copies are of one moment, also over a
    reload."""
    s = serve(COREFILE, files={"db": zone(1)})
    held = [stuck(s) for _ in range(4)]
    for _ in range(50):
        assert ask(s.port(), "h7.big.test.", "TXT").answer
    assert len(xfr.ask(s.port(), "big.test.").records) == RECORDS
    with open(os.path.join(s.dir, "db"), "w", encoding="ascii") as f:
        f.write(zone(2, "y"))
    rewrite(s, s.corefile + "# changed\n")
    s.process.send_signal(signal.SIGUSR1)
    eventually(lambda: ask(s.port(), "big.test.", "SOA").answer[0][4][-20:-16] == struct.pack("!I", 2), 20)
    assert len(xfr.ask(s.port(), "big.test.", serial=2).records) == 1
    for c in held:
        assert take(c, 1) == {1: (2, RECORDS, 0)}
        c.close()


def test_clients_that_leave(serve):
    """More of them than may be under way at once: each makes room for another."""
    s = serve(COREFILE, files={"db": zone(1)})
    for _ in range(2 * RUNNING_MAX):
        c = stuck(s)
        xfr.receive(c, 2000)
        c.close()
    eventually(lambda: xfr.ask(s.port(), "big.test.").rcode == "NOERROR", 20)
    assert len(xfr.ask(s.port(), "big.test.").records) == RECORDS


def test_too_many(serve):
    """One client has half of all transfers, on one connection or on many, and another one half of what is left. Beyond that
    SERVFAIL, the others whole; then there is room again."""
    s = serve(COREFILE, files={"db": zone(1)})
    held = [stuck(s) for _ in range(RUNNING_MAX // 2)]
    for c in held:
        assert c.recv(1, socket.MSG_PEEK)  # it has begun, and cannot end: nobody takes it
    for c in [stuck(s) for _ in range(8)]:
        (soas, records, rcode), = take(c, 1).values()
        assert (soas, records, wire.rcode_text(rcode)) == (0, 0, "SERVFAIL")
        c.close()
    one = stuck(s, RUNNING_MAX, source="127.0.0.2")
    assert one.recv(1, socket.MSG_PEEK)
    assert len(xfr.ask(s.port(), "big.test.", source="127.0.0.3").records) == RECORDS
    rcodes = [wire.rcode_text(rcode) for _, _, rcode in take(one, RUNNING_MAX).values()]
    assert rcodes.count("NOERROR") == RUNNING_MAX // 4 and rcodes.count("SERVFAIL") == RUNNING_MAX * 3 // 4
    one.close()
    for c in [stuck(s) for _ in range(2)]:
        (soas, records, rcode), = take(c, 1).values()
        assert (soas, records, wire.rcode_text(rcode)) == (0, 0, "SERVFAIL")
        c.close()
    for c in held:
        assert take(c, 1) == {1: (2, RECORDS, 0)}
        c.close()
    assert len(xfr.ask(s.port(), "big.test.").records) == RECORDS


def test_end_while_under_way(serve):
    """The program ends in time, with clients that take nothing."""
    s = serve(COREFILE, files={"db": zone(1)})
    held = [stuck(s, 3) for _ in range(3)]
    assert ask(s.port(), "h7.big.test.", "TXT").answer
    assert s.stop() == 0
    for c in held:
        c.close()
