# SPDX-License-Identifier: GPL-3.0-or-later
"""TSIG and UPDATE with real peers: our client against BIND and Knot, their clients (dig, nsupdate, knsupdate, kdig) and
dnspython against our server's side. `tsig-peer` (tsig_peer.c) is what speaks for us."""
import os
import shutil
import subprocess

import dns.exception
import dns.message
import dns.query
import dns.rcode
import dns.tsig
import dns.tsigkeyring
import pytest

from helpers import SBIN, eventually
from lib import server

ALGORITHMS = ["hmac-sha1", "hmac-sha224", "hmac-sha256", "hmac-sha384", "hmac-sha512"]
SECRET = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
OTHER = "/////wQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
KEY = f"hmac-sha256:hmac-sha256.key.:{SECRET}"
STRANGER = f"hmac-sha256:stranger.key.:{SECRET}"
BIG = 4000

ZONE = """$TTL 60
@ SOA ns host 1 3600 600 86400 60
@ NS ns
ns A 192.0.2.1
a A 192.0.2.10
"""

BIND_CONF = """options {{
    directory "{dir}";
    listen-on port {port} {{ 127.0.0.1; }};
    listen-on-v6 {{ none; }};
    pid-file none;
    session-keyfile none;
    recursion no;
    allow-transfer {{ none; }};
}};
controls {{ }};
{keys}
zone "example.test" {{
    type primary;
    file "example.zone";
    update-policy {{ {grants} }};
}};
zone "big.test" {{
    type primary;
    file "big.zone";
    allow-transfer {{ key "hmac-sha256.key."; }};
}};
"""

KNOT_CONF = """server:
    rundir: "{dir}/run"
    listen: 127.0.0.1@{port}
    automatic-acl: off
database:
    storage: "{dir}/db"
key:
{keys}
acl:
  - id: all
    key: [{names}]
    action: [update, transfer, query]
template:
  - id: default
    storage: "{dir}"
    zonefile-sync: -1
    zonefile-load: difference-no-serial
    journal-content: all
zone:
  - domain: example.test
    file: example.zone
    acl: all
  - domain: big.test
    file: big.zone
    acl: all
"""


def tool(name):
    found = shutil.which(name, path=SBIN)
    if found is None:
        pytest.fail(f"{name} is missing: tools/deps test")
    return found


def peer_program():
    build = os.environ.get("FAIRLEAD_BUILD") or os.path.join(server.ROOT, "build")
    return os.path.join(build, "tests", "functional", "tsig-peer")


def peer(*args, stdin=""):
    """What tsig-peer prints, without the line's end."""
    done = subprocess.run([peer_program(), *map(str, args)], input=stdin, stdout=subprocess.PIPE, text=True, timeout=60)
    assert done.returncode in (0, 1), done
    assert (done.returncode == 0) == done.stdout.startswith("ok"), done
    return done.stdout.strip()


def answered(port):
    try:
        return dns.query.udp(dns.message.make_query("big.test.", "SOA"), "127.0.0.1", port=port, timeout=0.3).answer
    except (OSError, dns.exception.Timeout):
        return False


def write_zones(folder):
    (folder / "example.zone").write_text(ZONE)
    (folder / "big.zone").write_text(ZONE + "".join(f'h{i} TXT "{"x" * 100}"\n' for i in range(BIG)))


def start_bind(folder, port):
    keys = [(a, f"{a}.key.") for a in ALGORITHMS] + [("hmac-sha256-128", "cut.key."), ("hmac-sha256", "powerless.key.")]
    text = "".join(f'key "{name}" {{ algorithm {a}; secret "{SECRET}"; }};\n' for a, name in keys)
    grants = "".join(f'grant "{name}" zonesub ANY; ' for _, name in keys if name != "powerless.key.")
    (folder / "conf").write_text(BIND_CONF.format(dir=folder, port=port, keys=text, grants=grants))
    return [tool("named"), "-g", "-c", str(folder / "conf")]


def start_knot(folder, port):
    for name in ("run", "db"):
        (folder / name).mkdir()
    keys = [(a, f"{a}.key.") for a in ALGORITHMS]
    text = "".join(f"  - id: {name}\n    algorithm: {a}\n    secret: {SECRET}\n" for a, name in
                   keys + [("hmac-sha256", "powerless.key.")])
    (folder / "conf").write_text(KNOT_CONF.format(dir=folder, port=port, keys=text, names=", ".join(n for _, n in keys)))
    return [tool("knotd"), "-c", str(folder / "conf")]


class Peer:
    def __init__(self, name, port):
        self.name, self.port, self.address = name, port, f"127.0.0.1:{port}"

    def update(self, changes, key=KEY, transport="tcp", skew=0):
        return peer("update", self.address, key, transport, skew, "example.test.", stdin=changes)

    def read(self, name, kind="A"):
        reply = dns.query.tcp(dns.message.make_query(name, kind), "127.0.0.1", port=self.port, timeout=10)
        return sorted(r.to_text() for rrset in reply.answer for r in rrset)


@pytest.fixture(scope="module", params=["bind", "knot"])
def real(request, tmp_path_factory):
    """A name server of the other makers, with the keys and two zones."""
    folder = tmp_path_factory.mktemp(request.param)
    write_zones(folder)
    held = server.Port()
    command = {"bind": start_bind, "knot": start_knot}[request.param](folder, held.number)
    with open(folder / "log", "w+", encoding="utf-8") as log:
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, text=True)
        try:
            eventually(lambda: process.poll() is not None or answered(held.number), 20, "it answers")
            assert process.poll() is None, (folder / "log").read_text()
            yield Peer(request.param, held.number)
        finally:
            process.terminate()
            process.wait(20)
            held.release()


# ---- our client ----

@pytest.mark.parametrize("transport", ["tcp", "udp"])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_update_is_accepted(real, algorithm, transport):
    name = f"{algorithm}-{transport}.example.test."
    key = f"{algorithm}:{algorithm.upper()}.Key:{SECRET}"  # names of keys have no case
    assert real.update(f"add {name} 60 A 192.0.2.1\nadd {name} 60 A 192.0.2.2\n", key, transport) == "ok NOERROR"
    assert real.read(name) == ["192.0.2.1", "192.0.2.2"]
    assert real.update(f"delete {name} A 192.0.2.1\n", key, transport) == "ok NOERROR"
    assert real.read(name) == ["192.0.2.2"]
    assert real.update(f"delete {name} A\nadd {name} 30 TXT \"one two\"\n", key, transport) == "ok NOERROR"
    assert (real.read(name), real.read(name, "TXT")) == ([], ['"one two"'])
    assert real.update(f"delete {name}\n", key, transport) == "ok NOERROR"
    assert real.read(name, "TXT") == []


def test_prerequisites(real):
    """Each form, with a signed answer whose rcode is the one of RFC 2136; nothing is changed by those that fail."""
    name, missing = "a.example.test.", "none.example.test."
    change = "add b.example.test. 60 A 192.0.2.3\n"
    for line, rcode in ((f"require {missing}", "NXDOMAIN"), (f"forbid {name}", "YXDOMAIN"), (f"require {name} TXT", "NXRRSET"),
                        (f"forbid {name} A", "YXRRSET"), (f"require {name} A 192.0.2.11", "NXRRSET")):
        assert real.update(f"{line}\n{change}") == f"ok {rcode}", line
        assert real.read("b.example.test.") == []
    holds = f"require {name}\nforbid {missing}\nrequire {name} A\nforbid {name} TXT\nrequire {name} A 192.0.2.10\n"
    assert real.update(holds + change) == "ok NOERROR"
    assert real.read("b.example.test.") == ["192.0.2.3"]
    assert real.update("delete b.example.test. A\n") == "ok NOERROR"


def test_a_thousand_sets_in_one_message(real):
    changes = "".join(f"delete r{i}.example.test. A\nadd r{i}.example.test. 60 A 192.0.2.{i % 250}\n" for i in range(1000))
    assert real.update(changes) == "ok NOERROR"
    assert [real.read(f"r{i}.example.test.") for i in (0, 500, 999)] == [["192.0.2.0"], ["192.0.2.0"], ["192.0.2.249"]]


@pytest.mark.parametrize("transport", ["tcp", "udp"])
def test_what_the_server_refuses(real, transport):
    """Nothing is changed, and the sentence says why."""
    change = "add refused.example.test. 60 A 192.0.2.9\n"
    where = f"error {real.address}: "
    for key, skew, expected in (
            (STRANGER, 0, "the server does not accept TSIG key 'stranger.key.' (BADKEY): it does not know its name and algorithm, or the key has no rights"),
            (f"hmac-sha256:hmac-sha256.key.:{OTHER}", 0, "the server has another secret for TSIG key 'hmac-sha256.key.' (BADSIG)"),
            (f"hmac-sha512:hmac-sha256.key.:{SECRET}", 0,
             "the server does not accept TSIG key 'hmac-sha256.key.' (BADKEY): it does not know its name and algorithm, or the key has no rights")):
        assert real.update(change, key, transport, skew) == where + expected
    for skew, side in ((-3600, "ahead of"), (3600, "behind")):
        said = real.update(change, KEY, transport, skew)
        seconds = said.removeprefix(where + "the server's clock is ").removesuffix(
            f" seconds {side} this machine's (BADTIME): set the clocks")
        assert 3590 <= int(seconds) <= 3610, said
    assert real.read("refused.example.test.") == []


def test_a_key_without_the_right(real):
    """BIND signs its refusal; Knot looks among the keys that may, and says that it has no such key."""
    change = "add powerless.example.test. 60 A 192.0.2.9\n"
    said = real.update(change, f"powerless.key:{SECRET}")
    if real.name == "bind":
        assert said == "ok REFUSED"
    else:
        assert said.startswith(f"error {real.address}: the server does not accept TSIG key 'powerless.key.' (BADKEY)")
    assert real.update(change, "-") == {"bind": "ok REFUSED", "knot": "ok NOTAUTH"}[real.name]
    assert real.read("powerless.example.test.") == []


def test_other_zones(real):
    """A zone that the server does not have: Knot's answer is not signed, so it proves nothing. A name outside of the zone
    is not even sent."""
    said = peer("update", real.address, KEY, "tcp", 0, "elsewhere.test.", stdin="add a.elsewhere.test. 60 A 192.0.2.1\n")
    assert said == {"bind": "ok NOTAUTH", "knot": f"error {real.address}: the answer (NOTAUTH) is not signed with TSIG key "
                    "'hmac-sha256.key.'"}[real.name]
    said = real.update("add a.elsewhere.test. 60 A 192.0.2.1\n")
    assert said == "error update: no room, or a name outside of the zone"


def test_signed_queries(real):
    assert peer("query", real.address, KEY, "tcp", 0, "a.example.test.", "A") == "ok NOERROR"
    assert peer("query", real.address, KEY, "udp", 0, "none.example.test.", "A") == "ok NXDOMAIN"


def test_signed_transfer(real):
    """Many messages, each chained to the one before."""
    said = peer("axfr", real.address, KEY, 0, "big.test.")
    assert said.startswith(f"ok {BIG + 5} records, "), said
    assert int(said.split(" records, ")[1].split()[0]) > 5, said
    assert "does not accept TSIG key 'stranger.key.' (BADKEY)" in peer("axfr", real.address, STRANGER, 0, "big.test.")


def test_truncated_signatures(real):
    """BIND's keys may ask for a part of the MAC; whoever sends more is accepted, whoever sends less is not."""
    if real.name != "bind":
        pytest.skip("Knot knows no truncated MACs")
    for algorithm in ("hmac-sha256-128", "hmac-sha256-192"):
        assert real.update("delete cut.example.test. A\n", f"{algorithm}:cut.key.:{SECRET}") == "ok NOERROR"
    assert "wants longer signatures" in real.update("delete cut.example.test. A\n",
                                                    f"hmac-sha256-128:hmac-sha256.key.:{SECRET}")


def test_beside_their_own_clients(real):
    """nsupdate and knsupdate change what we wrote, and we what they wrote."""
    assert real.update("add shared.example.test. 60 A 192.0.2.1\n") == "ok NOERROR"
    script = f"server 127.0.0.1 {real.port}\nzone example.test.\n" \
             "prereq yxrrset shared.example.test. A 192.0.2.1\nupdate add shared.example.test. 60 A 192.0.2.2\nsend\n"
    subprocess.run([tool("nsupdate"), "-y", KEY], input=script, text=True, check=True, timeout=60)
    script = script.replace("A 192.0.2.1\nupdate", "A\nupdate").replace("192.0.2.2", "192.0.2.3")
    subprocess.run([tool("knsupdate"), "-y", KEY], input=script, text=True, check=True, timeout=60)
    assert real.read("shared.example.test.") == ["192.0.2.1", "192.0.2.2", "192.0.2.3"]
    assert real.update("require shared.example.test. A 192.0.2.1\nrequire shared.example.test. A 192.0.2.2\n"
                       "require shared.example.test. A 192.0.2.3\ndelete shared.example.test. A\n") == "ok NOERROR"
    assert real.read("shared.example.test.") == []


# ---- our server's side ----

@pytest.fixture
def serve_signed():
    """serve_signed(key, skew): the port of a server that verifies and signs."""
    running = []

    def start(key, skew=0):
        held = server.Port()
        process = subprocess.Popen([peer_program(), "serve", f"127.0.0.1:{held.number}", key, str(skew)],
                                   stdout=subprocess.PIPE, text=True)
        running.append((process, held))
        assert process.stdout.readline() == "ready\n"
        return held.number

    yield start
    for process, held in running:
        process.terminate()
        process.wait(20)
        held.release()


def run_client(command, script=None):
    done = subprocess.run(command, input=script, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60)
    return done.stdout


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_their_clients_accept_our_signatures(serve_signed, algorithm):
    key = f"{algorithm}:their.key:{SECRET}"
    port = serve_signed(key)
    said = run_client([tool("dig"), "@127.0.0.1", "-p", str(port), "-y", key, "+tries=1", "a.example.test"])
    assert "status: NOERROR" in said and "TSIG PSEUDOSECTION" in said and "verify" not in said, said
    said = run_client([tool("kdig"), "@127.0.0.1", "-p", str(port), "-y", key, "a.example.test"])
    assert "status: NOERROR" in said and ";; WARNING" not in said and ";; ERROR" not in said, said
    script = f"server 127.0.0.1 {port}\nzone example.test.\nupdate add a.example.test. 60 A 192.0.2.1\nsend\n"
    for client in ("nsupdate", "knsupdate"):
        said = run_client([tool(client), "-y", key], script)
        assert "NOTAUTH" not in said and "rror" not in said and "ailed" not in said, said
    ring = dns.tsigkeyring.from_text({"their.key.": (algorithm, SECRET)})
    query = dns.message.make_query("a.example.test.", "A")
    query.use_tsig(ring)
    assert dns.query.udp(query, "127.0.0.1", port=port, timeout=10).had_tsig


def test_their_clients_understand_our_errors(serve_signed):
    port, late = serve_signed(KEY), serve_signed(KEY, skew=3600)
    ring = {"stranger.key.": ("hmac-sha256.", SECRET), "hmac-sha256.key.": ("hmac-sha256.", OTHER)}
    for name, error in (("stranger.key.", dns.tsig.PeerBadKey), ("hmac-sha256.key.", dns.tsig.PeerBadSignature)):
        query = dns.message.make_query("a.example.test.", "A")
        query.use_tsig(dns.tsigkeyring.from_text({name: ring[name]}))
        with pytest.raises(error):
            dns.query.udp(query, "127.0.0.1", port=port, timeout=10)
    query = dns.message.make_query("a.example.test.", "A")
    query.use_tsig(dns.tsigkeyring.from_text({"hmac-sha256.key.": ("hmac-sha256.", SECRET)}))
    with pytest.raises(dns.tsig.PeerBadTime):
        dns.query.udp(query, "127.0.0.1", port=late, timeout=10)
    said = run_client([tool("dig"), "@127.0.0.1", "-p", str(late), "-y", KEY, "+tries=1", "a.example.test"])
    assert "BADTIME" in said, said
    said = run_client([tool("dig"), "@127.0.0.1", "-p", str(port), "-y", KEY.replace("sha256:", "sha256-128:", 1), "+tries=1",
                       "a.example.test"])
    assert "BADTRUNC" in said, said
