# SPDX-License-Identifier: GPL-3.0-or-later
"""Zone transfers as a client asks for them.

    t = xfr.ask(s.port(), "example.org.")            AXFR
    t = xfr.ask(s.port(), "example.org.", serial=7)  IXFR of a client that has serial 7
    t.records                                        all of them, of all messages, the SOA at both ends
"""
import socket
import struct

from . import wire

SOA = 6


class Transfer:
    """`messages` parsed; `records` of their answers, in order; `sizes` of the messages in bytes."""

    def __init__(self):
        self.messages, self.records, self.sizes = [], [], []

    def add(self, data):
        self.messages.append(wire.parse(data))
        self.records += self.messages[-1].answer
        self.sizes.append(len(data))

    @property
    def rcode(self):
        return wire.rcode_text(self.messages[0].rcode) if self.messages else None

    def whole(self):
        """The last message is there: not NOERROR, a single SOA, or the second one of AXFR."""
        return bool(self.messages) and (self.messages[-1].rcode != 0 or not self.records or self.is_current() or
                                        (len(self.records) > 1 and self.records[-1][1] == SOA))

    def is_current(self):
        return self.incremental and len(self.records) == 1 and self.records[0][1] == SOA


def question(zone, serial=None, ident=77, **more):
    if serial is None:
        return wire.query(zone, "AXFR", ident=ident, flags=(), **more)
    msg = bytearray(wire.query(zone, "IXFR", ident=ident, flags=(), **more))
    msg[8:10] = b"\0\1"
    return bytes(msg) + b"\xc0\x0c" + struct.pack("!HHIH", SOA, 1, 0, 22) + b"\0\0" + struct.pack("!5I", serial, 1, 1, 1, 1)


def receive(sock, n):
    data = b""
    while len(data) < n:
        got = sock.recv(n - len(data))
        if not got:
            raise EOFError(f"the connection ended after {len(data)} of {n} bytes")
        data += got
    return data


def ask(port, zone, serial=None, target="127.0.0.1", source="127.0.0.1", msg=None, timeout=20):
    """A Transfer, as far as it came. An IXFR's single SOA record and a refusal end it as well. No OPT is asked for: it would
    stand behind the SOA of an IXFR question."""
    t = Transfer()
    t.incremental = serial is not None
    msg = msg or question(zone, serial)
    with socket.create_connection((target, port), timeout, source_address=(source, 0)) as sock:
        sock.sendall(struct.pack("!H", len(msg)) + msg)
        while not t.whole():
            try:
                t.add(receive(sock, struct.unpack("!H", receive(sock, 2))[0]))
            except (EOFError, TimeoutError, ConnectionResetError):
                break
    return t
