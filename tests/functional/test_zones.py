# SPDX-License-Identifier: GPL-3.0-or-later
"""Zones from files: a signed one is served as knot serves it, a huge one loads in bounded memory, a bad one changes
nothing.

Differences to knot that stay: the apex's NS records in the authority section of answers, the TTL of the SOA record in
denials, and ANY are CoreDNS's.
"""
import os
import re
import shutil
import socket
import subprocess
import time

import dns.flags
import dns.message
import dns.query
import dns.rdatatype
import pytest

from helpers import SBIN, ask, eventually, needs, sanitizer, slower
from lib import server

ZONE = """
$ORIGIN example.org.
$TTL 600
@               SOA  ns1 hostmaster 2024010101 14400 3600 604800 300
                NS   ns1
                NS   ns.example.net.
                A    192.0.2.1
                MX   10 mail
                MX   20 mail.example.net.
                TXT  "apex"
ns1             A 192.0.2.2
                AAAA 2001:db8::2
mail            A 192.0.2.3
www             CNAME web
web             A 192.0.2.10
                A 192.0.2.11
                TXT "web"
                CAA 0 issue "ca.example.net"
_sip._tcp       SRV 10 60 5060 web
                SRV 10 20 5060 ns1
                SRV 20 0 5060 sip.example.net.
cn1             CNAME cn2
cn2             CNAME cn3
cn3             CNAME web
cn-nodata       CNAME mail
cn-nx           CNAME nosuch
cn-nx-deep      CNAME a.b.nosuch
cn-ent          CNAME ent
cn-wild         CNAME any.wild
cn-wild-cn      CNAME any.wcn
cn-apex         CNAME @
cn-out          CNAME www.example.invalid.
cn-cut          CNAME sub
cn-below        CNAME host.sub
cn-secure       CNAME host.secure
cn-dname        CNAME x.dname
sub             NS ns1.sub
                NS ns.example.net.
ns1.sub         A 192.0.2.50
                AAAA 2001:db8::50
noglue          NS ns1
                NS ns.example.net.
secure          NS ns.secure
                DS 12345 13 2 0123456789ABCDEF0123456789ABCDEF0123456789ABCDEF0123456789ABCDEF
ns.secure       A 192.0.2.51
deep.cut        NS ns.deep.cut
ns.deep.cut     A 192.0.2.52
dname           DNAME target
                TXT "beside"
x.target        A 192.0.2.30
a.b.target      A 192.0.2.31
dname-nx        DNAME nosuch
*.wild          A 192.0.2.40
                TXT "wild"
                MX 10 mail
host.wild       TXT "host"
leaf.ent.wild   A 192.0.2.41
sub.wild        NS ns.sub.wild
ns.sub.wild     A 192.0.2.42
*.wcn           CNAME web
*.wcn-nx        CNAME nosuch
x.*.wildent     A 192.0.2.43
a.b.ent         A 192.0.2.44
a.b.c.closest   A 192.0.2.45
\\032.esc        A 192.0.2.47
a\\.b.esc        A 192.0.2.48
Case            A 192.0.2.49
z               A 192.0.2.62
"""

TYPES = ["A", "AAAA", "NS", "SOA", "CNAME", "DNAME", "MX", "TXT", "SRV", "CAA", "DS", "DNSKEY", "RRSIG", "NSEC", "CDS", "PTR", "TYPE65280"]

KNOT_CONF = """
server:
  rundir: "{dir}/run"
  listen: 127.0.0.1@{port}
database:
  storage: "{dir}/db"
log:
  - target: stderr
    any: warning
policy:
  - id: plain
    algorithm: ecdsap256sha256
    single-type-signing: on
    nsec3: off
zone:
  - domain: example.org
    storage: "{dir}/{zones}"
    file: zone
    dnssec-signing: {signing}
    dnssec-policy: plain
    zonefile-sync: -1
    journal-content: none
"""


def tool(name):
    found = shutil.which(name, path=SBIN)
    if found is None:
        pytest.fail(f"{name} is missing: tools/deps test")
    return found


@pytest.fixture
def knot(tmp_path):
    """The zone signed by kzonesign, and a knot that serves it: (port, path of the signed file)."""
    for name in ("run", "db", "plain", "signed"):
        (tmp_path / name).mkdir()
    (tmp_path / "plain" / "zone").write_text(ZONE)
    held = server.Port()
    for signing, zones in (("on", "plain"), ("off", "signed")):
        (tmp_path / f"{zones}.conf").write_text(KNOT_CONF.format(dir=tmp_path, port=held.number, signing=signing,
                                                                 zones=zones))
    subprocess.run([tool("kzonesign"), "-c", tmp_path / "plain.conf", "-o", tmp_path / "signed", "example.org"],
                   check=True, capture_output=True)
    process = subprocess.Popen([tool("knotd"), "-c", tmp_path / "signed.conf"], stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True)
    try:
        eventually(lambda: process.poll() is not None or answered(held.number), 20, "knot answers")
        assert process.poll() is None, process.stdout.read()
        yield held.number, tmp_path / "signed" / "zone"
    finally:
        process.terminate()
        process.wait(20)


def answered(port):
    try:
        query = dns.message.make_query("example.org.", "SOA")
        return dns.query.udp(query, "127.0.0.1", port=port, timeout=0.3).answer
    except (OSError, dns.exception.Timeout):
        return False


def names():
    """All names of the zone and those above them; names below and beside each that do not exist."""
    owners = re.findall(r"^([^\s$;]\S*)\s", ZONE, re.M)
    known = {"example.org."} | {f"{o}.example.org." for o in owners if o != "@"}
    for name in list(known):
        name = re.sub(r"\\\.", "\0", name)
        while name.count(".") > 2:
            name = name.split(".", 1)[1]
            known.add(name.replace("\0", "\\."))
    return sorted(known | {f"0nx.{n}" for n in known} | {f"a.zz.{n}" for n in known} | {"CASE.Example.org."})


def shown(message):
    """What is compared of a reply."""
    apex = dns.name.from_text("example.org.")
    sections = {}
    for title, section in (("answer", message.answer), ("authority", message.authority),
                           ("additional", message.additional)):
        lines = set()
        for rrset in section:
            covered = rrset.covers if rrset.rdtype == dns.rdatatype.RRSIG else rrset.rdtype
            # CoreDNS's, not knot's: apex NS beside an answer, TTL of the SOA in a denial.
            if title == "authority" and rrset.name == apex and covered == dns.rdatatype.NS:
                continue
            ttl = 0 if title == "authority" and covered == dns.rdatatype.SOA else rrset.ttl
            lines |= {f"{str(rrset.name).lower()} {ttl} {dns.rdatatype.to_text(rrset.rdtype)} {str(rr).lower()}"
                      for rr in rrset}
        sections[title] = sorted(lines)
    flags = dns.flags.to_text(message.flags & (dns.flags.AA | dns.flags.TC | dns.flags.QR))
    return {"rcode": message.rcode(), "flags": flags, **sections}


def ask_both(sock, ports, name, rtype, dnssec):
    query = dns.message.make_query(name, rtype, use_edns=0, payload=4096, want_dnssec=dnssec)
    return [shown(dns.query.udp(query, "127.0.0.1", port=port, timeout=slower(5), sock=sock)) for port in ports]


def knot_is_brief(name, rtype):
    """Sections of which knot gives only a part: some of all signatures at a name; half of the proof when a wildcard
    is an empty non-terminal, or when its own NSEC record is asked for."""
    wild = re.match(r"(0nx|a\.zz)\.(wildent|wild|wcn|wcn-nx)\.", name)
    if rtype == "RRSIG":
        yield "answer"
    if wild and (wild[2] == "wildent" or rtype == "NSEC"):
        yield "authority"


@needs("file")
def test_signed_zone_is_served_as_knot_does(serve, knot, note):
    port, path = knot
    ours = serve(f"example.org:@PORT@ {{\n    file {path}\n}}\n").port()
    asked, wrong = 0, []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.setblocking(False)
        for name in names():
            for rtype in TYPES:
                for dnssec in (True, False):
                    theirs, mine = ask_both(sock, (port, ours), name, rtype, dnssec)
                    asked += 1
                    for section in knot_is_brief(name, rtype):
                        if set(theirs[section]) <= set(mine[section]):
                            theirs[section] = mine[section]
                    if theirs != mine:
                        wrong.append((f"{name} {rtype}{' +dnssec' if dnssec else ''}",
                                      {k: (theirs[k], mine[k]) for k in theirs if theirs[k] != mine[k]}))
    note("questions to knot and Fairlead about a signed zone", asked)
    assert asked > 5000
    text = "\n".join(f"{q}\n  " + "\n  ".join(f"{k}: knot {a}\n     fairlead {b}" for k, (a, b) in d.items())
                     for q, d in wrong[:20])
    assert not wrong, f"{len(wrong)} of {asked} differ\n{text}"


@needs("file")
def test_zone_is_replaced_between_two_queries(serve, tmp_path):
    """Every answer comes from one version of the zone as a whole, and none is lost."""
    path = tmp_path / "zone"

    def write(serial):
        records = "".join(f"a TXT v{serial}x{i}\n" for i in range(20))
        new = tmp_path / "zone.new"
        new.write_text(f"$TTL 60\n@ SOA ns root {serial} 2 3 4 5\n@ NS ns\n{records}al CNAME b.other.test.\n")
        new.rename(path)

    write(1)
    s = serve(f"example.org:@PORT@ {{\n    file {path} {{\n        reload 10ms\n    }}\n}}\n"
              "other.test:@PORT@ {\n    whoami\n}\n")
    for serial in range(1, 40):
        write(serial)

        def is_there():
            reply = ask(s.port(), "a.example.org.", "TXT", tcp=serial % 2 == 0)
            assert reply is not None and len(reply.answer) == 20
            assert ask(s.port(), "al.example.org.", "TXT") is not None
            seen = {re.search(r"v(\d+)x", str(rr))[1] for rr in reply.answer}
            assert len(seen) == 1
            return seen == {str(serial)}

        eventually(is_there, 10, f"serial {serial}")


def memory_kb(pid, key):
    with open(f"/proc/{pid}/status", encoding="ascii") as f:
        return int(re.search(rf"^{key}:\s+(\d+) kB", f.read(), re.M)[1])


RECORDS = 1_000_000


def write_zone(path, serial, broken_at=0):
    with open(path + ".new", "w", encoding="ascii") as f:
        f.write(f"$TTL 3600\n@ SOA ns root {serial} 7200 900 1209600 60\n@ NS ns\nns A 192.0.2.1\n")
        for line in range(5, RECORDS + 1):
            f.write(f"host{line} A 10.{line >> 16}.{line >> 8 & 255}.{'x' if line == broken_at else line & 255}\n")
    os.rename(path + ".new", path)


@needs("file")
@pytest.mark.skipif(sanitizer() != "", reason="bounds on memory do not hold for a sanitizer build")
def test_huge_zone_and_an_error_far_down(serve, tmp_path, note):
    path = str(tmp_path / "zone")
    write_zone(path, 1)
    begin = time.monotonic()
    s = serve(f"example.org:@PORT@ {{\n    file {path} {{\n        reload 200ms\n    }}\n}}\n")
    assert ask(s.port(), "host999999.example.org.").answer
    note("a million records: seconds to the first answer", f"{time.monotonic() - begin:.1f}")
    serving, peak = memory_kb(s.process.pid, "VmRSS") // 1024, memory_kb(s.process.pid, "VmHWM") // 1024
    note("a million records: MiB serving, at most while loading", f"{serving}, {peak}")
    assert serving < 150 and peak < 260
    write_zone(path, 2, broken_at=900_000)
    line = eventually(lambda: re.search(r"\[ERROR\] .*", s.output()), 60, "the error is logged")[0]
    assert line == f'[ERROR] plugin/file: Parsing zone "example.org.": {path}:900000:14: bad IPv4 address'
    assert ask(s.port(), "host999999.example.org.").answer
    write_zone(path, 3)
    eventually(lambda: "Successfully reloaded" in s.output(), 60, "the zone is read again")
    assert ask(s.port(), "host999999.example.org.").answer
    after = memory_kb(s.process.pid, "VmHWM") // 1024
    note("a million records: MiB at most while loading again", after)
    assert after < 400
