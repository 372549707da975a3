# SPDX-License-Identifier: GPL-3.0-or-later
"""DNS messages as bytes: build queries, take replies apart.

dnspython is used for text (names, record data, mnemonics) only. Its message parser merges equal records and refuses
some malformed messages, and a test must see exactly what was sent, so the walk over the packet is done here.
"""
import struct
from dataclasses import dataclass, field

import dns.name
import dns.opcode
import dns.rcode
import dns.rdata
import dns.rdataclass
import dns.rdatatype

OPT = 41
FLAGS = (("qr", 0x8000), ("aa", 0x0400), ("tc", 0x0200), ("rd", 0x0100), ("ra", 0x0080), ("z", 0x0040), ("ad", 0x0020),
         ("cd", 0x0010))

# Where domain names are in record data: n = name, 1/2/4 = octets, s = character-string, * = the rest. Names may be
# compressed in the types of RFC 1035 and are compared without case in all of these.
NAME_LAYOUT = {2: "n", 3: "n", 4: "n", 5: "n", 6: "nn*", 7: "n", 8: "n", 9: "n", 12: "n", 14: "nn", 15: "2n", 17: "nn",
               18: "2n", 21: "2n", 26: "2nn", 33: "222n", 35: "22sssn", 36: "2n", 39: "n"}


class Malformed(Exception):
    """The packet is malformed; the message has the place."""


@dataclass(frozen=True)
class Edns:
    size: int
    version: int
    do: bool
    z: int
    ext_rcode: int
    options: tuple  # sorted ((code, bytes), ...)

    def __str__(self):
        text = f"edns {self.size}"
        text += " do" if self.do else ""
        text += f" version={self.version}" if self.version else ""
        text += f" z={self.z}" if self.z else ""
        for code, data in self.options:
            text += f" opt={code}:{data.hex()}"
        return text


@dataclass
class Message:
    """A parsed message. Records are (owner, type, class, ttl, data) with lower-case, uncompressed names."""
    id: int
    flags: tuple
    opcode: int
    rcode: int  # with the extended bits of EDNS
    question: bytes  # exactly as received
    answer: list = field(default_factory=list)
    authority: list = field(default_factory=list)
    additional: list = field(default_factory=list)
    edns: Edns = None
    counts: tuple = (0, 0, 0, 0)
    trailing: int = 0  # octets after the last record
    compressed: bool = False  # some owner name is a pointer

    def comparable(self):
        """All that two servers must agree on: everything but the order of records, compression and the id."""
        return (self.flags, self.opcode, self.rcode, self.question, sorted(self.answer), sorted(self.authority),
                sorted(self.additional), self.edns, self.trailing)

    def text(self):
        """The message as the lines a case file uses."""
        lines = ["rcode " + rcode_text(self.rcode), "flags " + (" ".join(self.flags) or "none")]
        if self.opcode:
            lines.append("opcode " + dns.opcode.to_text(self.opcode))
        if self.edns:
            lines.append(str(self.edns))
        lines.append("question " + (question_text(self.question) or "none"))
        for section in ("answer", "authority", "additional"):
            lines += [f"{section} {record_text(r)}" for r in sorted(getattr(self, section))]
        if self.trailing:
            lines.append(f"trailing {self.trailing}")
        return lines


def rcode_text(rcode):
    return "BADVERS" if rcode == 16 else dns.rcode.to_text(rcode)


def rcode_value(text):
    return int(dns.rcode.from_text(text))


def name_text(wire):
    labels, at = [], 0
    while wire[at]:
        labels.append(wire[at + 1:at + 1 + wire[at]])
        at += 1 + wire[at]
    return dns.name.Name(labels + [b""]).to_text()


def question_text(question):
    if not question:
        return ""
    try:
        name, end = read_name(question, 0, fold=False)
        qtype, qclass = struct.unpack_from("!HH", question, end)
        return f"{name_text(name)} {dns.rdataclass.to_text(qclass)} {dns.rdatatype.to_text(qtype)}"
    except (Malformed, struct.error, ValueError):
        return question.hex()


def record_text(record):
    owner, rtype, rclass, ttl, data = record
    try:
        text = dns.rdata.from_wire(rclass, rtype, data, 0, len(data)).to_text()
    except Exception:  # whatever it is, the bytes are shown
        text = f"\\# {len(data)} {data.hex()}"
    return f"{name_text(owner)} {ttl} {dns.rdataclass.to_text(rclass)} {dns.rdatatype.to_text(rtype)} {text}"


def parse_record_text(text):
    """`owner ttl class type data` as a record tuple of Message."""
    owner, ttl, rclass, rtype, data = text.split(None, 4)
    rdclass, rdtype = dns.rdataclass.from_text(rclass), dns.rdatatype.from_text(rtype)
    wire = dns.rdata.from_text(rdclass, rdtype, data, origin=dns.name.root, relativize=False).to_wire()
    return (dns.name.from_text(owner).canonicalize().to_wire(), int(rdtype), int(rdclass), int(ttl),
            fold_data(int(rdtype), wire, 0, len(wire)))


def read_name(wire, at, fold=True):
    """(uncompressed name, offset after it); lower case if fold."""
    out, end, jumps = bytearray(), None, 0
    while True:
        if at >= len(wire):
            raise Malformed("name runs over the end")
        n = wire[at]
        if n >= 0xC0:
            if at + 1 >= len(wire):
                raise Malformed("pointer runs over the end")
            end = at + 2 if end is None else end
            target = (n & 0x3F) << 8 | wire[at + 1]
            jumps += 1
            if target >= at or jumps > 126:
                raise Malformed("bad compression pointer")
            at = target
        elif n > 63:
            raise Malformed("bad label type")
        else:
            label = wire[at:at + 1 + n]
            if len(label) != n + 1:
                raise Malformed("label runs over the end")
            out += label
            at += 1 + n
            if n == 0:
                break
            if len(out) > 255:
                raise Malformed("name too long")
    name = bytes(out).lower() if fold else bytes(out)
    return name, at if end is None else end


def fold_data(rtype, wire, at, end):
    """Record data with its names uncompressed and in lower case."""
    layout = NAME_LAYOUT.get(rtype)
    if layout is None:
        return wire[at:end]
    out = b""
    for step in layout:
        if step == "n":
            name, at = read_name(wire, at)
            out += name
        elif step == "*":
            out += wire[at:end]
            at = end
        else:
            n = 1 + wire[at] if step == "s" else int(step)
            out += wire[at:at + n]
            at += n
    if at != end:
        raise Malformed(f"data of type {rtype} does not end where it should")
    return out


def parse(wire):
    """Bytes to Message; raises Malformed."""
    if len(wire) < 12:
        raise Malformed(f"only {len(wire)} octets")
    ident, bits, *counts = struct.unpack_from("!6H", wire)
    msg = Message(id=ident, flags=tuple(n for n, m in FLAGS if bits & m), opcode=bits >> 11 & 15, rcode=bits & 15,
                  question=b"", counts=tuple(counts))
    at = 12
    for _ in range(counts[0]):
        _, at = read_name(wire, at)
        at += 4
    if at > len(wire):
        raise Malformed("question runs over the end")
    msg.question = wire[12:at]
    for section, count in zip((msg.answer, msg.authority, msg.additional), counts[1:]):
        for _ in range(count):
            if at < len(wire) and wire[at] >= 0xC0:
                msg.compressed = True
            owner, at = read_name(wire, at)
            if at + 10 > len(wire):
                raise Malformed("record runs over the end")
            rtype, rclass, ttl, length = struct.unpack_from("!HHIH", wire, at)
            at += 10
            end = at + length
            if end > len(wire):
                raise Malformed("record data runs over the end")
            if rtype == OPT and section is msg.additional:
                if msg.edns or owner != b"\0":
                    raise Malformed("second OPT, or OPT with an owner")
                msg.edns = parse_opt(wire[at:end], rclass, ttl)
                msg.rcode |= msg.edns.ext_rcode << 4
            else:
                section.append((owner, rtype, rclass, ttl, fold_data(rtype, wire, at, end)))
            at = end
    msg.trailing = len(wire) - at
    return msg


def parse_opt(data, size, ttl):
    options, at = [], 0
    while at < len(data):
        if at + 4 > len(data):
            raise Malformed("option runs over the end")
        code, length = struct.unpack_from("!HH", data, at)
        if at + 4 + length > len(data):
            raise Malformed("option data runs over the end")
        options.append((code, data[at + 4:at + 4 + length]))
        at += 4 + length
    return Edns(size=size, version=ttl >> 16 & 255, do=bool(ttl & 0x8000), z=ttl & 0x7FFF, ext_rcode=ttl >> 24,
                options=tuple(sorted(options)))


def query(name, rtype="A", rclass="IN", *, ident=0, flags=("rd",), opcode=0, edns=None, do=False, version=0, options=()):
    """Wire form of a query. `edns` is the UDP size (None: no OPT); options are (code, bytes) pairs.

    The letters of the name are kept as written."""
    bits = opcode << 11
    for n, m in FLAGS:
        if n in flags:
            bits |= m
    wire = struct.pack("!6H", ident, bits, 1, 0, 0, 0 if edns is None else 1)
    wire += dns.name.from_text(name).to_wire()
    wire += struct.pack("!HH", type_value(rtype), class_value(rclass))
    if edns is not None:
        data = b"".join(struct.pack("!HH", c, len(d)) + d for c, d in options)
        wire += b"\0" + struct.pack("!HHIH", OPT, edns, version << 16 | (0x8000 if do else 0), len(data)) + data
    return wire


def type_value(text):
    return int(text) if text.isdigit() else int(dns.rdatatype.from_text(text))


def class_value(text):
    return int(text) if text.isdigit() else int(dns.rdataclass.from_text(text))
