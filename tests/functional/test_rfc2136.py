# SPDX-License-Identifier: GPL-3.0-or-later
"""The provider rfc2136 against real BIND and Knot: the same conversations with both. `publish-records` (publish_records.c) is
a publisher that takes its requests from a pipe."""
import contextlib
import json
import os
import re
import socket
import subprocess
import textwrap
import threading

import pytest

from lib import server
from lib.nameserver import SBIN, SECRET, ZONE, Questions, running, tool

OTHER = "/////wQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="


@pytest.fixture(scope="module", params=["bind", "knot"])
def real(request, tmp_path_factory):
    with running(request.param, tmp_path_factory.mktemp(request.param)) as one:
        yield one


# ---- our side ----

class Publisher:
    """A publisher with one account."""

    def __init__(self, settings, skew=0):
        build = os.environ.get("FAIRLEAD_BUILD") or os.path.join(server.ROOT, "build")
        self.command = {"type": "rfc2136", "credentials": settings, "skew": skew}
        self.process = subprocess.Popen([os.path.join(build, "tests", "functional", "publish-records")], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        self.calls = {}

    def put(self, *requests):
        """The results of requests that are submitted at once."""
        self.process.stdin.write(json.dumps({**self.command, "requests": requests}) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        self.calls = answer["calls"]
        assert SECRET not in json.dumps(answer)
        return answer["results"]

    def one(self, *edits, **more):
        return self.put({"edits": edits, "patienceMs": 20000, **more})[0]

    def close(self):
        self.process.stdin.close()
        assert self.process.wait(20) == 0


def secret(real, **more):
    return {"Server": f"127.0.0.1:{real.port}", "Zone": ZONE, "TSIGKeyName": "writer.key.", "TSIGSecret": SECRET, **more}


@contextlib.contextmanager
def publishing(settings, skew=0):
    one = Publisher({key: value for key, value in settings.items() if value is not None}, skew)
    try:
        yield one
    finally:
        one.close()


@pytest.fixture(scope="module")
def publisher(real):
    with publishing(secret(real)) as one:
        yield one


def edit(name, values, kind="A", ttl=60, guard="none", before=None, **more):
    found = {"name": f"{name}.{ZONE}", "type": kind, "ttl": ttl, "values": values, "guard": guard, **more}
    if before is not None:
        found["before"] = {"ttl": before[0], "values": before[1]}
    return found


def ok(result):
    assert (result["code"], result["error"], result["zone"]) == ("ok", "", ZONE), result


# ---- writing ----

@pytest.mark.parametrize("kind, first, second", [
    ("A", ["192.0.2.1"], ["192.0.2.2", "192.0.2.3"]),
    ("AAAA", ["2001:db8::1"], ["2001:db8::2"]),
    ("CNAME", ["a.target.test"], ["b.target.test"]),
    ("TXT", ["one two"], ['a "quoted" \\ text', "", "x" * 700]),
])
def test_life_of_a_set(real, publisher, kind, first, second):
    """Created, changed in value, in TTL only, deleted; each with a guard, and each in one call."""
    name = f"life-{kind.lower()}"

    def served():
        found = real.read(f"{name}.{ZONE}", kind)
        if found is None or kind != "TXT":
            return found
        return found[0], sorted("".join(re.findall(r'"((?:[^"\\]|\\.)*)"', v)).replace('\\"', '"').replace("\\\\", "\\")
                                for v in found[1])

    def form(values):
        return sorted(v + "." for v in values) if kind == "CNAME" else sorted(values)

    ok(publisher.one(edit(name, first, kind, guard="absent")))
    assert publisher.calls["apply"] == 1 and served() == (60, form(first))
    ok(publisher.one(edit(name, second, kind, guard="equal", before=(60, first))))
    assert publisher.calls["apply"] == 1 and served() == (60, form(second))
    ok(publisher.one(edit(name, second, kind, ttl=90, guard="equal", before=(60, second))))
    assert publisher.calls["apply"] == 1 and served() == (90, form(second))
    ok(publisher.one(edit(name, [], kind, guard="equal", before=(90, second))))
    assert served() is None
    ok(publisher.one(edit(name, [], kind, guard="equal", before=(90, second))))  # it is gone already


def test_wildcard_names(real, publisher):
    ok(publisher.one(edit("*.apps", ["192.0.2.4"], guard="absent")))
    assert real.read(f"x.apps.{ZONE}") == (60, ["192.0.2.4"])
    ok(publisher.one(edit("*.apps", [], guard="equal", before=(60, ["192.0.2.4"]))))
    assert real.read(f"x.apps.{ZONE}") is None


def test_a_name_under_a_wildcard_is_missing(real, publisher):
    """A query for it is answered by the wildcard; the set is not there all the same."""
    wild = ["192.0.2.77"]
    assert real.read(f"x.wild.{ZONE}") == (60, wild)
    result = publisher.one(edit("x.wild", ["192.0.2.5"], guard="equal", before=(60, wild)))
    assert result["code"] == "conflict" and "is missing" in result["error"], result
    ok(publisher.one(edit("x.wild", ["192.0.2.5"], guard="absent")))
    assert real.read(f"x.wild.{ZONE}") == (60, ["192.0.2.5"])
    ok(publisher.one(edit("x.wild", [], guard="equal", before=(60, ["192.0.2.5"]))))
    assert real.read(f"x.wild.{ZONE}") == (60, wild)


def test_type_changes_in_one_message(real, publisher):
    """No moment without the name."""
    ok(publisher.one(edit("moves", ["192.0.2.1"], guard="absent")))
    ok(publisher.one(edit("moves", ["t.target.test"], "CNAME", guard="absent"),
                     edit("moves", [], "A", guard="equal", before=(60, ["192.0.2.1"]))))
    assert publisher.calls["apply"] == 1
    assert real.read(f"moves.{ZONE}", "CNAME") == (60, ["t.target.test."])
    ok(publisher.one(edit("moves", ["2001:db8::1"], "AAAA", guard="absent"),
                     edit("moves", [], "CNAME", guard="equal", before=(60, ["t.target.test"]))))
    assert real.read(f"moves.{ZONE}", "AAAA") == (60, ["2001:db8::1"])


def test_type_change_beside_a_foreign_set(real, publisher):
    """The CNAME cannot be written because of the TXT: the A record stays."""
    ok(publisher.one(edit("stays", ["192.0.2.1"], guard="absent")))
    real.other_writer([f'add stays.{ZONE} 60 TXT "foreign"'])
    result = publisher.one(edit("stays", ["t.target.test"], "CNAME", guard="absent"),
                           edit("stays", [], "A", guard="equal", before=(60, ["192.0.2.1"])))
    assert result["code"] == "conflict", result
    assert real.read(f"stays.{ZONE}") == (60, ["192.0.2.1"])


def test_no_gap(real, publisher):
    """While values, TTL and type change, each of a thousand queries a second has an answer; nsupdate and knsupdate write beside us."""
    name = f"gapless.{ZONE}"
    ok(publisher.one(edit("gapless", ["192.0.2.1"], guard="absent")))
    before = (60, ["192.0.2.1"])
    with Questions(real.port, name) as asked:
        for i in range(20):
            after = (60 + i, [f"192.0.2.{2 + i}"])
            ok(publisher.one(edit("gapless", after[1], ttl=after[0], guard="equal", before=before)))
            before = after
            if i % 5 == 0:
                real.other_writer([f"add beside-{i}.{ZONE} 60 A 192.0.2.50"], ["nsupdate", "knsupdate"][i % 2])
        ok(publisher.one(edit("gapless", [f"ns.{ZONE}"], "CNAME", guard="absent"), edit("gapless", [], guard="equal", before=before)))
    asked.check()
    assert all(real.read(f"beside-{i}.{ZONE}") == (60, ["192.0.2.50"]) for i in range(0, 20, 5))


# ---- silent no-ops ----

@pytest.mark.parametrize("guard", ["none", "absent"])
def test_cname_over_an_address(real, publisher, guard):
    """Both servers answer NOERROR and do nothing."""
    real.other_writer([f"delete over.{ZONE}", f"add over.{ZONE} 60 A 192.0.2.9"])
    result = publisher.one(edit("over", ["t.target.test"], "CNAME", guard=guard))
    assert (result["code"], result["error"]) == (
        "conflict", f"'over.{ZONE}' has a record of type A \"192.0.2.9\", and a CNAME is alone at its name: "
        "the CNAME record set was not written")
    assert real.read(f"over.{ZONE}") == (60, ["192.0.2.9"])


@pytest.mark.parametrize("guard", ["none", "absent"])
def test_address_over_a_cname(real, publisher, guard):
    result = publisher.one(edit("alias", ["192.0.2.9"], guard=guard))
    assert (result["code"], result["error"]) == (
        "conflict", f"'alias.{ZONE}' has a record of type CNAME \"ns.{ZONE}\", and a CNAME is alone at its name: "
        "the A record set was not written")
    assert real.read(f"alias.{ZONE}", "CNAME") == (60, [f"ns.{ZONE}."])


def test_a_name_below_a_delegation(real, publisher):
    """The server would accept it and never serve it. It is not sent: the second time it is as new as the first time."""
    def refused(one, **more):
        result = one.one(edit("a.sub", ["192.0.2.9"], **more))
        assert (result["code"], result["error"]) == (
            "other_zone", f"the A record set 'a.sub.{ZONE}' is not served in the zone '{ZONE}': the name belongs to the zone 'sub.{ZONE}'; "
            "name that zone in spec.zone")

    with publishing(secret(real, OwnerRecords="true")) as marking:
        for _ in range(2):
            refused(publisher, guard="absent")
            refused(marking, guard="owned", owner="me/1")


def test_zone_above_that_of_the_name(real, publisher):
    """A zone below, on the same server and without a delegation: nothing is sent to the one above, whatever the guard is."""
    name = f"low.deep.{ZONE}"
    put = edit("low.deep", ["192.0.2.9"])
    result = publisher.one(put, zone=f"deep.{ZONE}")
    assert (result["code"], result["zone"]) == ("ok", f"deep.{ZONE}")
    for guard in ("none", "absent", "equal"):
        for more in ({}, {"onlyReads": True}):
            result = publisher.one({**put, "guard": guard, "before": {"ttl": 60, "values": ["192.0.2.9"]}}, zone=ZONE, **more)
            assert (result["code"], result["error"]) == (
                "other_zone", f"the A record set '{name}' is not served in the zone '{ZONE}': the name belongs to the zone 'deep.{ZONE}'; "
                "name that zone in spec.zone"), (guard, more)
    assert real.read(name) == (60, ["192.0.2.9"])
    ok(publisher.one({**put, "values": []}, zone=ZONE))  # what is there by mistake can be deleted
    assert real.read(name) == (60, ["192.0.2.9"])
    assert publisher.one({**put, "values": []}, zone=f"deep.{ZONE}")["code"] == "ok"


# ---- other writers ----

@pytest.mark.parametrize("client", ["nsupdate", "knsupdate"])
def test_what_others_wrote_stays(real, publisher, client):
    name = f"theirs-{client}"
    real.other_writer([f"add {name}.{ZONE} 30 A 192.0.2.50", f"add {name}.{ZONE} 30 A 192.0.2.51"], client)
    result = publisher.one(edit(name, ["192.0.2.1"], guard="absent"))
    assert (result["code"], result["error"]) == (
        "conflict", f"the A record set '{name}.{ZONE}' exists and is not ours: \"192.0.2.50\", \"192.0.2.51\" (TTL 30)")
    result = publisher.one(edit(name, ["192.0.2.1"], guard="equal", before=(30, ["192.0.2.50"])))
    assert (result["code"], result["error"]) == (
        "conflict", f"the A record set '{name}.{ZONE}' was changed by another writer: \"192.0.2.50\", \"192.0.2.51\" (TTL 30)")
    result = publisher.one(edit(name, [], guard="equal", before=(30, ["192.0.2.50"])))
    assert result["code"] == "conflict" and "192.0.2.51" in result["error"]
    assert real.read(f"{name}.{ZONE}") == (30, ["192.0.2.50", "192.0.2.51"])


def test_bad_changes_do_not_hold_up_others(real, publisher):
    """Two of a hundred are in the way of others' records: one more call, and each has its own result."""
    real.other_writer([f"add many-{i}.{ZONE} 30 A 192.0.2.50" for i in (17, 80)])
    results = publisher.put(*({"edits": [edit(f"many-{i}", ["192.0.2.1"], guard="absent")]} for i in range(100)))
    assert [i for i, r in enumerate(results) if r["code"] != "ok"] == [17, 80]
    assert all(results[i]["error"].startswith(f"the A record set 'many-{i}.{ZONE}' exists") for i in (17, 80))
    assert publisher.calls["apply"] == 2, publisher.calls
    assert real.read(f"many-99.{ZONE}") == (60, ["192.0.2.1"])


def test_two_writers_of_one_set(real, publisher):
    """Compare and swap from both sides: whoever comes second gets a conflict, and nothing is lost."""
    ok(publisher.one(edit("raced", ["192.0.2.1"], guard="absent")))
    with publishing(secret(real)) as other:
        results = []

        def swap(one, value):
            results.append(one.one(edit("raced", [value], guard="equal", before=(60, ["192.0.2.1"]))))

        threads = [threading.Thread(target=swap, args=(publisher, "192.0.2.2")),
                   threading.Thread(target=swap, args=(other, "192.0.2.3"))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(r["code"] for r in results) == ["conflict", "ok"], results


# ---- owner marks ----

def test_owner_records(real):
    def mark():
        return real.read(f"_fairlead-owner-a.marked.{ZONE}", "TXT")

    with publishing(secret(real, OwnerRecords="true")) as one:
        ok(one.one(edit("marked", ["192.0.2.1"], guard="owned", owner="me/1")))
        assert mark() == (60, ['"me/1"'])
        ok(one.one(edit("marked", ["192.0.2.2"], guard="owned", owner="me/1")))
        assert real.read(f"marked.{ZONE}") == (60, ["192.0.2.2"])
        for values in (["192.0.2.3"], []):
            result = one.one(edit("marked", values, guard="owned", owner="you/2"))
            assert result["code"] == "conflict" and "exists and is not ours: \"192.0.2.2\"" in result["error"], result
        real.other_writer([f"add unmarked.{ZONE} 60 A 192.0.2.9"])
        assert one.one(edit("unmarked", ["192.0.2.3"], guard="owned", owner="me/1"))["code"] == "conflict"
        ok(one.one(edit("marked", [], guard="owned", owner="me/1")))
        assert (real.read(f"marked.{ZONE}"), mark()) == (None, None)
        ok(one.one(edit("*.marked", ["192.0.2.2"], guard="owned", owner="me/1")))
        ok(one.one(edit("x.marked", ["192.0.2.3"], guard="owned", owner="me/1")))  # under our own wildcard
        ok(one.one(edit("x.wild", ["192.0.2.3"], guard="owned", owner="me/1")))  # under that of others
        for name in ("*.marked", "x.marked", "x.wild"):
            ok(one.one(edit(name, [], guard="owned", owner="me/1")))


# ---- zones ----

def test_zone_by_its_soa(real):
    with publishing(secret(real, Zone=None)) as one:
        result = one.one(edit("a.sub", ["192.0.2.1"]))
        assert result["code"] == "no_zone" and f"no zone for 'a.sub.{ZONE}'" in result["error"]  # delegated
        result = one.one(edit("found.deep", ["192.0.2.1"]))
        assert (result["code"], result["zone"]) == ("ok", f"deep.{ZONE}")
        ok(one.one(edit("ns.alias", ["192.0.2.1"])))  # below an alias
        results = one.put(*({"edits": [edit(name, ["192.0.2.1"])]} for name in ("found", "a.b.c.found", "*.found")))
        assert one.calls["find_zones"] == 0 and [(r["code"], r["zone"]) for r in results] == [("ok", ZONE)] * 3
    with publishing(secret(real, Zone=None)) as one:  # the zone above is known first
        ok(one.one(edit("found", ["192.0.2.1"])))
        for more in ({"onlyReads": True}, {}):
            results = one.put(*({"edits": [edit(name, ["192.0.2.1"])], **more} for name in ("found", "found.deep", "x.found.deep", "deep")))
            assert [(r["code"], r["zone"]) for r in results] == [("ok", ZONE)] + [("ok", f"deep.{ZONE}")] * 3, results
            assert one.calls["find_zones"] == 0
    with publishing(secret(real, Zone=None)) as one:
        assert one.one({**edit("a", ["192.0.2.1"]), "name": "a.nowhere.test"})["code"] == "no_zone"
    with publishing(secret(real, Zone=None)) as one:
        for name in ("alias", "*.wild"):
            one.one(edit(name, ["192.0.2.77"]))
            assert one.calls["find_zones"] <= 1


def test_zone_is_gone(real):
    with publishing(secret(real, Zone="gone.test")) as one:
        put = {**edit("a", ["192.0.2.1"]), "name": "a.gone.test"}
        result = one.one(put)
        unsigned = ", not signed" if real.kind == "knot" else ""
        assert (result["code"], result["error"]) == (
            "no_zone", f"127.0.0.1:{real.port}: has no zone 'gone.test', or is not its primary (NOTAUTH{unsigned})")
        assert one.one({**put, "values": []})["code"] == "ok"


def test_names_outside_of_the_zone(real, publisher):
    """Not even sent."""
    result = publisher.one({**edit("a", ["192.0.2.1"]), "name": "a.elsewhere.test"}, zone=ZONE)
    assert (result["code"], result["error"]) == ("invalid", f"'a.elsewhere.test' is outside of the zone '{ZONE}.'")


# ---- refusals ----

@pytest.mark.parametrize("change, skew, code, sentence", [
    ({"TSIGSecret": OTHER}, 0, "unauthenticated", "the server has another secret for TSIG key 'writer.key.' (BADSIG)"),
    ({"TSIGKeyName": "stranger.key."}, 0, "unauthenticated",
     "the server does not accept TSIG key 'stranger.key.' (BADKEY): it does not know its name and algorithm, or the key has no rights"),
    ({"TSIGSecretAlgorithm": "hmac-sha512"}, 0, "unauthenticated", "the server does not accept TSIG key 'writer.key.' (BADKEY)"),
    ({}, 3600, "transient", "seconds behind this machine's (BADTIME): set the clocks"),
    ({}, -3600, "transient", "seconds ahead of this machine's (BADTIME): set the clocks"),
])
def test_refused_keys(real, change, skew, code, sentence):
    with publishing(secret(real, **change), skew) as one:
        result = one.one(edit("refused", ["192.0.2.1"]), patienceMs=1000)
    assert result["code"] == code and result["error"].startswith(f"127.0.0.1:{real.port}: ") and sentence in result["error"]
    assert real.read(f"refused.{ZONE}") is None


def test_refused_by_policy(real, publisher):
    """A type that the key may not write; others of the batch are written."""
    results = publisher.put(*({"edits": [edit(f"{name}.deep", values, kind)], "zone": f"deep.{ZONE}"} for name, kind, values in (
        ("free-1", "A", ["192.0.2.1"]), ("locked", "AAAA", ["2001:db8::1"]), ("free-2", "A", ["192.0.2.1"]))))
    assert [r["code"] for r in results] == ["ok", "unauthorized", "ok"], results
    assert results[1]["error"].startswith(f"127.0.0.1:{real.port}: " + {
        "bind": f"does not allow these changes of zone 'deep.{ZONE}' with this key: see allow-update and update-policy (BIND)",
        "knot": f"knows the key, but does not allow these changes of zone 'deep.{ZONE}' with it (BADKEY)"}[real.kind])
    assert real.read(f"locked.deep.{ZONE}", "AAAA") is None


def test_key_without_rights(real):
    with publishing(secret(real, TSIGKeyName="powerless.key")) as one:
        result = one.one(edit("powerless", ["192.0.2.1"]))
    assert result["code"] == {"bind": "unauthorized", "knot": "unauthenticated"}[real.kind], result
    assert {"bind": "(REFUSED)", "knot": "(BADKEY)"}[real.kind] in result["error"]


def test_no_key(real):
    with publishing(secret(real, TSIGKeyName=None, TSIGSecret=None)) as one:
        result = one.one(edit("keyless", ["192.0.2.1"]))
        assert result["code"] == "unauthorized", result
        result = one.one(edit("ns", []))  # a deletion does not take it for a zone that is gone
        assert result["code"] == "unauthorized", result
    assert real.read(f"keyless.{ZONE}") is None and real.read(f"ns.{ZONE}") is not None


# ---- the manual ----

PAGE_CONF = {
    "bind": """options {{ directory "{dir}"; listen-on port {port} {{ 127.0.0.1; }}; listen-on-v6 {{ none; }}; pid-file none;
        session-keyfile none; recursion no; }};
        controls {{ }};
        """,
    "knot": """server:
    rundir: "{dir}/run"
    listen: 127.0.0.1@{port}
    automatic-acl: off
database:
    storage: "{dir}/db"
template:
  - id: default
    storage: "{dir}"
    file: zone
    zonefile-sync: -1
    zonefile-load: difference-no-serial
    journal-content: all
""",
}


@pytest.mark.parametrize("kind", ["bind", "knot"])
def test_configuration_of_the_manual(kind, tmp_path):
    """What docs/providers/rfc2136.md shows is enough: its key, its configuration, its script, and then a publisher."""
    with open(os.path.join(server.ROOT, "docs", "providers", "rfc2136.md"), encoding="utf-8") as page:
        blocks = [textwrap.dedent(b) for b in re.findall(r"(?ms)^ *```\n(.*?)^ *```", page.read())]
    made = subprocess.run({"bind": blocks[0].split("\n")[0], "knot": blocks[0].split("\n")[1]}[kind], shell=True, check=True,
                          stdout=subprocess.PIPE, text=True, env={**os.environ, "PATH": SBIN}).stdout
    found = re.search(r'secret:? "?([A-Za-z0-9+/=]+)', made).group(1)
    conf = PAGE_CONF[kind] + blocks[{"bind": 1, "knot": 2}[kind]].replace("{", "{{").replace("}", "}}").replace(
        '"..."', f'"{found}"').replace("secret: ...", f"secret: {found}").replace("/var/lib/bind/example.com", "zone")
    with running(kind, tmp_path, conf, "example.com") as one:
        script = blocks[3].split("\n", 1)[1].rsplit("END", 1)[0].replace("server 192.0.2.53", f"server 127.0.0.1 {one.port}")
        subprocess.run([tool("nsupdate"), "-y", f"hmac-sha256:fairlead:{found}"], input=script, text=True, check=True, timeout=60)
        with publishing({"Server": f"127.0.0.1:{one.port}", "TSIGKeyName": "fairlead", "TSIGSecret": found}) as publisher:
            for put in ({"values": ["192.0.2.1"], "guard": "absent"},
                        {"values": ["192.0.2.2"], "guard": "equal", "before": {"ttl": 60, "values": ["192.0.2.1"]}}):
                result = publisher.one({"name": "a.example.com", "type": "A", "ttl": 60, **put})
                assert (result["code"], result["zone"]) == ("ok", "example.com"), result
        assert one.read("a.example.com") == (60, ["192.0.2.2"])


# ---- lost connections, several servers ----

class Proxy:
    """Passes TCP on to a server. Of connections that carry an UPDATE with changes, the first `drop_answers` are closed
    when the server has answered, and the answer is thrown away; the first `drop_requests` before it gets anything."""

    def __init__(self, port, drop_answers=0, drop_requests=0):
        self.port, self.drop_answers, self.drop_requests, self.updates = port, drop_answers, drop_requests, 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.number = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        with client, socket.create_connection(("127.0.0.1", self.port)) as upstream, contextlib.suppress(OSError, EOFError):
            while True:
                message = self.frame(client)
                is_update = message[4] >> 3 & 15 == 5 and message[10:12] != b"\0\0"
                self.updates += is_update
                if is_update and self.drop_requests > 0:
                    self.drop_requests -= 1
                    return
                upstream.sendall(message)
                answer = self.frame(upstream)
                if is_update and self.drop_answers > 0:
                    self.drop_answers -= 1
                    return
                client.sendall(answer)

    @staticmethod
    def frame(sock):
        def exactly(n):
            data = b""
            while len(data) < n:
                part = sock.recv(n - len(data))
                if not part:
                    raise EOFError
                data += part
            return data
        head = exactly(2)
        return head + exactly(int.from_bytes(head, "big"))

    def close(self):
        self.listener.close()


@pytest.mark.parametrize("lost", ["drop_answers", "drop_requests"])
def test_connection_lost(real, lost):
    """Applied or not, the publisher finds out; nothing is written twice, and no conflict with ourselves is reported."""
    proxy = Proxy(real.port, **{lost: 1})
    with publishing({**secret(real), "Server": f"127.0.0.1:{proxy.number}"}) as one:
        results = one.put(*({"edits": [edit(f"{lost}-{i}".replace("_", "-"), ["192.0.2.1"], guard="absent")]} for i in range(50)))
        assert [r["code"] for r in results] == ["ok"] * 50, results[0]
        assert proxy.updates == {"drop_answers": 1, "drop_requests": 2}[lost]
        assert one.calls["apply"] == proxy.updates and 1 <= one.calls["read"] <= 3
        assert real.read(f"{lost.replace('_', '-')}-49.{ZONE}") == (60, ["192.0.2.1"])
        proxy.drop_answers = 1
        ok(one.one(edit("lost", ["192.0.2.2"])))  # no guard: written again
        proxy.drop_answers = 100
        result = one.one(edit("lost", ["192.0.2.3"]), patienceMs=1000)
        assert result["code"] == "unsure" and "was sent, but its answer did not come" in result["error"], result
    proxy.close()


def test_unreachable_primaries(real):
    held = server.Port()  # nobody listens
    dead = f"127.0.0.1:{held.number}"
    with publishing(secret(real, Server=f"{dead}, 127.0.0.1:{real.port}")) as one:
        ok(one.one(edit("second", ["192.0.2.1"])))
        assert one.calls["apply"] == 1
    with publishing(secret(real, Server=f"{dead} {dead}")) as one:
        result = one.one(edit("second", ["192.0.2.1"]), patienceMs=1000)
        assert (result["code"], result["error"]) == (
            "transient", f"none of the 2 servers answers; the last: cannot reach {dead}: connection refused"), result
    held.release()


# ---- many ----

def test_a_thousand_records(real, publisher):
    names = [f"api.shoot-{i:04}.project" for i in range(1000)]
    results = publisher.put(*({"edits": [edit(name, [f"192.0.2.{i % 250}"], guard="absent")]} for i, name in enumerate(names)))
    assert {r["code"] for r in results} == {"ok"}, [r for r in results if r["code"] != "ok"][:3]
    assert publisher.calls["apply"] <= 2 and publisher.calls["find_zones"] <= 1, publisher.calls
    assert real.read(f"{names[999]}.{ZONE}") == (60, ["192.0.2.249"])
    results = publisher.put(*({"edits": [edit(name, [], guard="equal", before=(60, [f"192.0.2.{i % 250}"]))]}
                              for i, name in enumerate(names)))
    assert {r["code"] for r in results} == {"ok"}
    assert publisher.calls["apply"] <= 3 and publisher.calls["read"] == 0, publisher.calls
    assert real.read(f"{names[0]}.{ZONE}") is None
