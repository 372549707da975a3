# SPDX-License-Identifier: GPL-3.0-or-later
"""Zone transfers beside CoreDNS's (those of a cluster's zone are in test_kubernetes.py): the same records, the same
refusals, the same NOTIFY."""
import collections
import os
import signal
import socket
import struct

import pytest

from lib import client, server, wire, xfr

SERIAL = 2024010101
SMALL = f"""
$ORIGIN small.test.
$TTL 600
@         SOA ns1 hostmaster {SERIAL} 14400 3600 604800 300
          NS  ns1
          NS  ns.example.net.
          MX  10 Mail
          TXT "apex" "two"
ns1       A 192.0.2.2
          AAAA 2001:db8::2
*.wild    TXT wild
a.b.c.ent A 192.0.2.3
www       CNAME ns1
_sip._tcp SRV 1 2 5060 Mail.Small.test.
sub       NS ns.sub
ns.sub    A 192.0.2.4
dn        DNAME example.org.
caa       CAA 0 issue "ca.example.net"
svc       HTTPS 1 . alpn=h2
"""
HOSTS = 9000
BIG = "$ORIGIN big.test.\n@ 60 SOA ns host 1 2 3 4 5\n@ 60 NS ns\nns 60 A 192.0.2.1\n" + "".join(
    f"host-{i} 60 A 10.0.{i >> 8}.{i & 255}\nhost-{i} 60 TXT \"text of host {i}\"\n" for i in range(HOSTS))
HUGE = "$ORIGIN huge.test.\n@ 60 SOA ns host 1 2 3 4 5\n@ 60 NS ns\n" + "".join(
    f"t{i} 60 TXT " + " ".join(f'"{c * 250}"' for c in "abcdefghij" * 10) + "\n" for i in range(8))
COREFILE = """.:@PORT@ {
    file @DIR@/db.small small.test
    file @DIR@/db.big big.test
    file @DIR@/db.huge huge.test
    file @DIR@/db.hidden hidden.test
    transfer small.test big.test huge.test {
        to *
    }
    transfer closed.small.test hidden.test {
        to 192.0.2.1 127.0.0.2:5353
    }
    whoami
}
"""
CASE = {"corefile": COREFILE, "files": {"db.small": SMALL, "db.big": BIG, "db.huge": HUGE,
                                      "db.hidden": SMALL.replace("small.test", "hidden.test")}}


@pytest.fixture(scope="module")
def servers(programs):
    """Both programs, started once."""
    made = [server.Server(command, CASE["corefile"], CASE["files"], stop_signal=signal.SIGKILL if i == 0 else signal.SIGTERM)
            for i, command in enumerate(programs)]
    try:
        yield [s.start() for s in made]
        assert made[1].stop() == 0 or programs[0] == programs[1]
    finally:
        for s in made:
            s.stop()


def both(servers, *args, **more):
    return [xfr.ask(s.port(), *args, **more) for s in servers]


def compared(t):
    """What is compared of a transfer: flags and question of every message, records without their order."""
    return ({(m.flags, m.rcode, m.question) for m in t.messages}, collections.Counter(t.records), t.records[:1],
            t.records[-1:])


@pytest.mark.parametrize("zone, records", [("small.test.", 17), ("Small.TEST.", 17), ("big.test.", 2 * HOSTS + 4),
                                           ("huge.test.", 11)])
def test_axfr(servers, zone, records):
    one, two = both(servers, zone)
    assert compared(two) == compared(one)
    assert len(two.records) == records, [wire.record_text(r) for r in two.records[:40]]
    assert max(two.sizes) < 65536 and (len(two.messages) > 2) == (zone in ("big.test.", "huge.test."))


@pytest.mark.parametrize("serial, records", [(SERIAL, 1), (SERIAL - 1, 17), (SERIAL + 1, 17), (0, 17)])
def test_ixfr(servers, serial, records):
    one, two = both(servers, "small.test.", serial)
    assert compared(two) == compared(one)
    assert len(two.records) == records


REFUSED = {
    "a name below the zone": ("ns1.small.test.", None, "REFUSED"),
    "a zone of another stanza": ("hidden.test.", None, "REFUSED"),
    "a longer zone of another stanza": ("closed.small.test.", None, "REFUSED"),
    "no zone at all": ("example.org.", None, "NOERROR"),  # whoami
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(servers, name):
    zone, serial, rcode = REFUSED[name]
    one, two = both(servers, zone, serial)
    assert (one.rcode, two.rcode) == (rcode, rcode)
    assert not any(m.answer for m in two.messages)


def test_listed_client(servers):
    """An address counts without its port."""
    one, two = both(servers, "hidden.test.", source="127.0.0.2")
    assert one.rcode == two.rcode == "NOERROR" and compared(two) == compared(one) and two.records


def test_udp(servers):
    for s in servers:
        for kind in ("AXFR", "IXFR"):
            assert wire.rcode_text(wire.parse(client.udp_ask(s.port(), wire.query("small.test.", kind, ident=5))).rcode) == "REFUSED"


def test_ixfr_without_serial(servers):
    plain = wire.query("small.test.", "IXFR", ident=9, flags=())
    one, two = both(servers, "small.test.", 1, msg=plain)
    assert (one.rcode, two.rcode) == ("SERVFAIL", "SERVFAIL")


class Listener:
    """Receives NOTIFY messages, and answers each with NOERROR."""

    def __init__(self):
        self.sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.sock.bind(("127.0.0.1", 0))
        self.sock.settimeout(20)
        self.port = self.sock.getsockname()[1]

    def take(self, rcode=0):
        data, who = self.sock.recvfrom(4096)
        flags = struct.unpack_from("!H", data, 2)[0] | 0x8000 | rcode
        self.sock.sendto(data[:2] + struct.pack("!H", flags) + data[4:], who)
        return data, who


@pytest.fixture
def listener():
    one = Listener()
    yield one
    one.sock.close()


NOTIFYING = """.:@PORT@ {
    file @DIR@/db.small small.test {
        reload 200ms
    }
    transfer {
        to * 127.0.0.1:%d
        source 127.0.0.3
    }
}
"""


def test_notify(make_server, listener, programs):
    """At the start and at each change, with the same bytes as CoreDNS but for the id, from the address that was chosen;
    again after a refusal."""
    seen = []
    for which in (0, 1):
        s = make_server(which, {"corefile": NOTIFYING % listener.port, "files": {"db.small": SMALL}}).start()
        first, who = listener.take(rcode=5)
        again, _ = listener.take()
        with open(os.path.join(s.dir, "db.small"), "w", encoding="ascii") as f:
            f.write(SMALL.replace(str(SERIAL), str(SERIAL + 1)))
        changed, _ = listener.take()
        assert who[0] == "127.0.0.3"
        seen.append([m[2:] for m in (first, again, changed)])
        s.stop()
    assert seen[0] == seen[1] and len(set(seen[1])) == 1
    msg = wire.parse(b"\0\0" + seen[1][0])
    assert msg.opcode == 4 and msg.flags == ("aa",) and wire.question_text(msg.question) == "small.test. IN SOA"
