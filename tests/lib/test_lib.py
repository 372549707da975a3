# SPDX-License-Identifier: GPL-3.0-or-later
"""The helpers themselves: what a comparison must see, and what it must overlook."""
import struct

import pytest

from lib import wire


def reply(flags=0x8580, question=b"\x01a\x00\x00\x01\x00\x01", records=(), counts=None):
    """A reply to `a. A` with records as bytes, all in the answer section."""
    n = counts or (1, len(records), 0, 0)
    return struct.pack("!6H", 7, flags, *n) + question + b"".join(records)


A1 = b"\xc0\x0c\x00\x01\x00\x01\x00\x00\x00\x3c\x00\x04\x01\x02\x03\x04"
A2 = b"\x01A\x00\x00\x01\x00\x01\x00\x00\x00\x3c\x00\x04\x01\x02\x03\x05"
CNAME = b"\xc0\x0c\x00\x05\x00\x01\x00\x00\x00\x3c\x00\x04\x01B\xc0\x0c"


def same(one, two):
    return wire.parse(one).comparable() == wire.parse(two).comparable()


def test_order_case_and_compression_do_not_matter():
    assert same(reply(records=[A1, A2]), reply(records=[A2, A1]))
    plain = b"\x01a\x00\x00\x05\x00\x01\x00\x00\x00\x3c\x00\x05\x01b\x01a\x00"
    assert same(reply(records=[CNAME]), reply(records=[plain]))


@pytest.mark.parametrize("other", [
    reply(records=[A1]),
    reply(records=[A1, A2, A2]),
    reply(records=[A1, A2.replace(b"\x3c", b"\x3d")]),
    reply(records=[A1, A2], flags=0x8500),
    reply(records=[A1, A2], flags=0x8583),
    reply(records=[A1, A2], question=b"\x01A\x00\x00\x01\x00\x01"),
    reply(records=[A1, A2], counts=(1, 1, 1, 0)),
    reply(records=[A1, A2]) + b"\0",
], ids=["record missing", "record twice", "ttl", "flag", "rcode", "case of the question", "section", "trailing octet"])
def test_these_matter(other):
    assert not same(reply(records=[A1, A2]), other)


@pytest.mark.parametrize("packet", [
    b"", reply()[:11], reply(counts=(1, 1, 0, 0)), reply(records=[A1[:-1]]), reply(records=[b"\xc0\xff" + A1[2:]]),
    reply(records=[CNAME[:-2] + b"\xc0\x2a"]),
], ids=["empty", "header", "no record", "data cut", "pointer out", "pointer to itself"])
def test_malformed(packet):
    with pytest.raises(wire.Malformed):
        wire.parse(packet)


def test_query_round_trip():
    msg = wire.parse(wire.query("Ab.c.", "MX", "CH", ident=9, flags=("rd", "cd"), edns=4096, do=True,
                                options=[(10, b"xy")]))
    assert (msg.id, msg.flags, msg.rcode) == (9, ("rd", "cd"), 0)
    assert msg.question == b"\x02Ab\x01c\x00\x00\x0f\x00\x03"
    assert msg.edns == wire.Edns(4096, 0, True, 0, 0, ((10, b"xy"),))


def test_record_text_round_trip():
    for text in ('a.b. 60 IN MX 10 mail.b.', 'a.b. 0 CH TXT "x y" "z"', "a.b. 1 IN SOA n.b. r.b. 1 2 3 4 5"):
        assert wire.record_text(wire.parse_record_text(text)) == text
