# SPDX-License-Identifier: GPL-3.0-or-later
"""The plugin `egressfirewall` on a real server: rules come from DNSName objects of an API server, addresses are learnt from
answers (EF-8, EF-11, EF-S3, EF-S11), and leave as the zone learnt.fairlead.internal for those who have its key."""
import base64
import os
import re
import signal
import socket
import time

import dns.exception
import dns.flags
import dns.message
import dns.opcode
import dns.query
import dns.rcode
import dns.rdatatype
import dns.tsig
import dns.tsigkeyring
import pytest

import crdlib
from bothlib import embedded, real_only  # noqa: F401 (fixtures)
from bothlib import c as bare  # noqa: F401
from controllerlib import until
from dnslib import answers, ask, fairlead, rcode
from lib.cluster import Cluster
from lib.upstream import Upstream

ZONE = "learnt.fairlead.internal."
SECRET = base64.b64encode(b"0123456789abcdef0123456789abcdef").decode()
OTHER = base64.b64encode(b"fedcba9876543210fedcba9876543210").decode()
KEY = f"hmac-sha256:controller.key:{SECRET}\n"
DEPTH = "egress.fairlead.dev/wildcard-depth"
PATH = "/apis/k8s.ovn.org/v1/namespaces/default/dnsnames"

WORLD = """chain.example.com. A
    answer chain.example.com. 300 IN CNAME cdn.example.net.
    answer cdn.example.net. 40 IN A 192.0.2.7
*.example.com. A
    answer {name} 60 IN A 192.0.2.1
*.example.com. AAAA
    answer {name} 60 IN AAAA 2001:db8::1
* *
    answer {name} 60 IN A 192.0.2.99
"""

COREFILE = """.:@PORT@ {
    prometheus 127.0.0.1:@HTTP:metrics@
    log
    egressfirewall {
        kubeconfig KUBECONFIG
        namespace default
        keys @DIR@/keys
        notify 127.0.0.1:NOTIFY
    }
    cache 30
    forward . @UP:world@
}
"""


@pytest.fixture(scope="module")
def real():
    with Cluster() as cluster:
        crdlib.apply_all(cluster, group="k8s.ovn.org")
        yield cluster


@pytest.fixture(scope="module", params=["real", "embedded"])
def c(request):
    return request.getfixturevalue(request.param)


class Names:
    """DNSName objects, all deleted in the end."""

    def __init__(self, cluster):
        self.cluster = cluster
        self.made = set()

    def set(self, name, regular=False, wildcard=False, annotations=None):
        status, reply = self.cluster.call("POST", PATH, {
            "apiVersion": "k8s.ovn.org/v1", "kind": "DNSName", "metadata": {"name": name, "annotations": annotations or {}},
            "spec": {"isregular": regular, "iswildcard": wildcard}}, token=self.cluster.system)
        assert status == 201, reply
        self.made.add(name)

    def change(self, name, **spec):
        status, reply = self.cluster.call("PATCH", f"{PATH}/{name}", {"spec": spec}, token=self.cluster.system,
                                          content_type="application/merge-patch+json")
        assert status == 200, reply

    def delete(self, name):
        status, reply = self.cluster.call("DELETE", f"{PATH}/{name}", token=self.cluster.system)
        assert status == 200, reply
        self.made.discard(name)


@pytest.fixture()
def names(c):
    n = Names(c)
    yield n
    for name in list(n.made):
        n.delete(name)


@pytest.fixture(scope="module")
def world():
    with Upstream(WORLD) as up:
        yield up


@pytest.fixture()
def inbox():
    """Where NOTIFY messages arrive."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.bind(("127.0.0.1", 0))
        s.settimeout(20)
        yield s


def corefile(cluster, inbox):
    return COREFILE.replace("KUBECONFIG", cluster.kubeconfig()).replace("NOTIFY", str(inbox.getsockname()[1]))


@pytest.fixture()
def s(c, world, inbox):
    with fairlead(corefile(c, inbox), files={"keys": KEY}, upstreams={"world": world}) as one:
        yield one


def ring(secret=SECRET, name="controller.key"):
    return dns.tsigkeyring.from_text({name: secret})


def transfer(port, serial=None, secret=SECRET):
    """Records of a transfer: SOA records as serials, others as lists of texts."""
    more = {"rdtype": "AXFR"} if serial is None else {"rdtype": "IXFR", "serial": serial}
    out = []
    for message in dns.query.xfr("127.0.0.1", ZONE, port=port, keyring=ring(secret), relativize=False, lifetime=20, **more):
        assert message.had_tsig
        for rrset in message.answer:
            for rdata in rrset:
                if rdata.rdtype == dns.rdatatype.SOA:
                    out.append(rdata.serial)
                elif rdata.rdtype == dns.rdatatype.TXT:
                    out.append([t.decode() for t in rdata.strings])
    return out


def pairs(port):
    """What was learnt: {(object, name, address): (ttl, expiry, end of the chain)}."""
    out = {}
    for row in transfer(port):
        if isinstance(row, list):
            assert row[0] == "1" and len(row) == 9
            out[tuple(row[1:4])] = (int(row[4]), int(row[5]), row[7])
    return out


def learnt(port, want, seconds=20):
    """The keys of pairs(), once they are these."""
    return until(lambda: set(pairs(port)) == set(want) or None, seconds, 0.05)


def metric(s, name):
    for line in s.get("metrics", "/metrics")[1].splitlines():
        if line.startswith(name + " "):
            return float(line.split()[-1])
    return None


def wait_rules(s, number):
    until(lambda: metric(s, "fairlead_egress_learning_rules") == number or None, 20, 0.05)


def test_learns_what_objects_cover(c, names, s):
    """EF-8: exact names, wildcards and both, from fresh and cached answers. EF-S1, EF-S3, EF-S11."""
    names.set("www.example.com", regular=True)
    names.set("wildcard.example.com", regular=True, wildcard=True)
    names.set("cdn.example.net", regular=True)
    wait_rules(s, 3)
    before = time.time()
    for name, rtype in (("WWW.example.com", "A"), ("wildcard.example.com", "A"), ("other.example.com", "AAAA"),
                        ("a.b.example.com", "A"), ("chain.example.com", "A"), ("uncovered.org", "A")):
        assert rcode(ask(s.port(), name, rtype)) == "NOERROR"
    want = {("www.example.com", "www.example.com", "192.0.2.1"), ("wildcard.example.com", "www.example.com", "192.0.2.1"),
            ("wildcard.example.com", "wildcard.example.com", "192.0.2.1"),
            ("wildcard.example.com", "other.example.com", "2001:db8::1"),
            ("wildcard.example.com", "chain.example.com", "192.0.2.7"), ("cdn.example.net", "cdn.example.net", "192.0.2.7")}
    learnt(s.port(), want)
    got = pairs(s.port())
    ttl, expiry, target = got["wildcard.example.com", "chain.example.com", "192.0.2.7"]
    assert ttl == 30 and target == "cdn.example.net", "the cache's limit is the smallest TTL"
    assert before + 28 <= expiry <= time.time() + 31  # whole seconds, of an answer that may be a second old
    assert got["www.example.com", "www.example.com", "192.0.2.1"][2] == ""
    # Asked again they come from the cache, and change nothing: the same version of the zone.
    serial = transfer(s.port())[0]
    for _ in range(20):
        ask(s.port(), "www.example.com")
    time.sleep(1.2)
    assert transfer(s.port(), serial)[-1] == serial
    # A wildcard of any depth is an annotation.
    names.delete("wildcard.example.com")
    names.set("wildcard.example.com", wildcard=True, annotations={DEPTH: "any"})
    until(lambda: ask(s.port(), "a.b.example.com") and
          ("wildcard.example.com", "a.b.example.com", "192.0.2.1") in pairs(s.port()) or None, 20, 0.1)


def test_objects_that_go_take_their_names_along(c, names, s):
    """A deleted object's addresses leave the zone; other objects keep theirs."""
    names.set("www.example.com", regular=True)
    names.set("wildcard.example.com", wildcard=True)
    wait_rules(s, 2)
    ask(s.port(), "www.example.com")
    learnt(s.port(), {("www.example.com", "www.example.com", "192.0.2.1"),
                      ("wildcard.example.com", "www.example.com", "192.0.2.1")})
    names.delete("www.example.com")
    learnt(s.port(), {("wildcard.example.com", "www.example.com", "192.0.2.1")})
    names.change("wildcard.example.com", iswildcard=False)
    learnt(s.port(), set())


def test_only_keys_open_the_zone(c, names, s):
    """No record without the key, over UDP and TCP, of any type; a wrong key is reported as such. What the controller does, with its
    key, is not in the log; what others try is."""
    names.set("www.example.com", regular=True)
    wait_rules(s, 1)
    ask(s.port(), "www.example.com")
    learnt(s.port(), {("www.example.com", "www.example.com", "192.0.2.1")})
    owner = next(iter(dns.query.xfr("127.0.0.1", ZONE, port=s.port(), keyring=ring(), relativize=False))).answer[-1].name
    transfer(s.port(), transfer(s.port())[0])
    q = dns.message.make_query(ZONE, "SOA")
    q.use_tsig(ring())
    assert dns.query.udp(q, "127.0.0.1", port=s.port(), timeout=5).rcode() == dns.rcode.NOERROR
    ask(s.port(), "end.example.com")
    until(lambda: "A IN end.example.com." in s.output())
    assert ZONE not in s.output(), s.output()
    for name in (ZONE, str(owner)):
        for rtype in ("SOA", "TXT", "AXFR", "IXFR", "ANY"):
            q = dns.message.make_query(name, rtype)
            for send in (dns.query.udp, dns.query.tcp):
                reply = send(q, "127.0.0.1", port=s.port(), timeout=5)
                assert reply.rcode() == dns.rcode.REFUSED and not reply.answer, (name, rtype)
    for secret, name, error in ((OTHER, "controller.key", dns.tsig.PeerBadSignature), (SECRET, "stranger.key", dns.tsig.PeerBadKey)):
        q = dns.message.make_query(ZONE, "AXFR")
        q.use_tsig(ring(secret, name))
        with pytest.raises(error):
            dns.query.tcp(q, "127.0.0.1", port=s.port(), timeout=5)
    # With the key, only the zone itself is there.
    q = dns.message.make_query(ZONE, "SOA")
    q.use_tsig(ring())
    reply = dns.query.udp(q, "127.0.0.1", port=s.port(), timeout=5)
    assert reply.had_tsig and reply.flags & dns.flags.AA and reply.answer[0].rdtype == dns.rdatatype.SOA
    for rtype in ("SOA", "AXFR", "IXFR"):
        until(lambda r=rtype: re.search(f'"{r} IN {ZONE}.* REFUSED ', s.output()))
    until(lambda: re.search(f'"AXFR IN {ZONE}.* NOTAUTH ', s.output()))
    q = dns.message.make_query(str(owner), "TXT")
    q.use_tsig(ring())
    assert dns.query.udp(q, "127.0.0.1", port=s.port(), timeout=5).rcode() == dns.rcode.REFUSED


def test_changes_are_announced_and_incremental(c, names, s, inbox):
    """NOTIFY, then IXFR with nothing but the difference; a version that is not known gets the whole."""
    names.set("wildcard.example.com", wildcard=True)
    wait_rules(s, 1)
    first = transfer(s.port())
    assert first[0] == first[-1]
    for i in range(30):
        ask(s.port(), f"n{i}.example.com")
    note = dns.message.from_wire(inbox.recvfrom(4096)[0])
    assert note.opcode() == dns.opcode.NOTIFY and str(note.question[0].name) == ZONE
    have, serial = {}, first[0]

    def follow():
        nonlocal serial
        rows = transfer(s.port(), serial)
        serials = [r for r in rows if isinstance(r, int)]
        adding, at = False, 1
        for row in rows[1:-1]:
            if isinstance(row, int):
                adding = not (at % 2)
                at += 1
            elif adding:
                have[tuple(row)] = True
            else:
                del have[tuple(row)]
        serial = serials[0]
        return len(have)

    until(lambda: follow() == 30 or None, 20, 0.2)
    assert {r[2] for r in have} == {f"n{i}.example.com" for i in range(30)}
    ask(s.port(), "more.example.com")
    before = serial
    until(lambda: follow() == 31 or None, 20, 0.2)
    rows = transfer(s.port(), before)
    assert [r[2] for r in rows if isinstance(r, list)] == ["more.example.com"]
    assert [r for r in rows if isinstance(r, int)] == [serial, before, serial, serial]
    assert sorted(r[2] for r in transfer(s.port(), (serial - 10**6) % 2**32) if isinstance(r, list)) == sorted(r[2] for r in have)


@pytest.mark.parametrize("new_name", ["new.key", "controller.key"])
def test_keys_are_rotated(c, names, s, new_name):
    """The old key and the new one, which may have the same name, then the new one alone; no restart."""
    with open(os.path.join(s.dir, "keys"), "w", encoding="ascii") as f:
        f.write(KEY + f"{new_name}:{OTHER}\n")

    def opens(secret, name):
        q = dns.message.make_query(ZONE, "SOA")
        q.use_tsig(ring(secret, name))
        try:
            return dns.query.udp(q, "127.0.0.1", port=s.port(), timeout=5).rcode() == dns.rcode.NOERROR
        except dns.tsig.PeerError:
            return False

    until(lambda: opens(OTHER, new_name) or None, 20, 0.2)
    assert opens(SECRET, "controller.key")
    with open(os.path.join(s.dir, "keys"), "w", encoding="ascii") as f:
        f.write(f"{new_name}:{OTHER}\n")
    until(lambda: not opens(SECRET, "controller.key") or None, 20, 0.2)
    assert opens(OTHER, new_name)


def test_a_killed_server_begins_a_newer_version(c, names, world, inbox):
    """kill -9: the next one learns anew, and a secondary with the old version gets all of it."""
    names.set("wildcard.example.com", wildcard=True)
    with fairlead(corefile(c, inbox), files={"keys": KEY}, upstreams={"world": world}) as one:
        wait_rules(one, 1)
        ask(one.port(), "a.example.com")
        learnt(one.port(), {("wildcard.example.com", "a.example.com", "192.0.2.1")})
        serial = transfer(one.port())[0]
        one.process.send_signal(signal.SIGKILL)
        one.process.wait(10)
        one.killed = True
    with fairlead(corefile(c, inbox), files={"keys": KEY}, upstreams={"world": world}) as two:
        wait_rules(two, 1)
        ask(two.port(), "b.example.com")
        learnt(two.port(), {("wildcard.example.com", "b.example.com", "192.0.2.1")})
        rows = transfer(two.port(), serial)
        assert rows[0] > serial and [r[2] for r in rows if isinstance(r, list)] == ["b.example.com"]


def test_a_hostile_client_is_bounded(c, names, world, inbox):
    """EF-P10: one client asks for many names under a wildcard; what others ask for is learnt, and all is bounded."""
    text = corefile(c, inbox).replace("namespace default", "namespace default\n        max_addresses_per_client 200")
    names.set("wildcard.example.com", wildcard=True)
    with fairlead(text, files={"keys": KEY}, upstreams={"world": world}) as s:
        wait_rules(s, 1)
        for i in range(2000):
            ask(s.port(), f"r{i}.example.com", source="127.0.0.2")
        ask(s.port(), "honest.example.com", source="127.0.0.3")
        until(lambda: any(k[1] == "honest.example.com" for k in pairs(s.port())) or None, 20, 0.1)
        assert len(pairs(s.port())) == 201
        assert metric(s, 'fairlead_egress_learning_sightings_total{result="client_limit"}') > 0


@real_only("discovery", "bare")
def test_without_the_kind_answers_pass(bare, world, inbox):  # noqa: F811
    """EF-11, skew 1: the controller and its kinds are not there yet. The server starts and answers; rules come later."""
    with Cluster() as empty, fairlead(corefile(empty, inbox), files={"keys": KEY}, upstreams={"world": world}) as s:
        assert answers(ask(s.port(), "www.example.com"))["A"] == ["192.0.2.1"]
        assert pairs(s.port()) == {}
