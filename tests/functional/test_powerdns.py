# SPDX-License-Identifier: GPL-3.0-or-later
"""Record sets in a real PowerDNS server, by the publisher: `publish-records` (publish_records.c) is what speaks for us. The
server is configured as docs/providers/powerdns.md says, on ports of this test."""
import contextlib
import http.client
import http.server
import json
import os
import re
import socket
import subprocess
import threading
import time

import pytest

import helpers
from lib import server
from lib.nameserver import API_KEY, PowerDNS, Questions


class Publisher:
    """publish-records, with one account."""

    def __init__(self, port, key=API_KEY, **more):
        build = os.environ.get("FAIRLEAD_BUILD") or os.path.join(server.ROOT, "build")
        self.credentials = {"server": f"http://127.0.0.1:{port}", "apiKey": key, **more}
        self.process = subprocess.Popen([os.path.join(build, "tests", "functional", "publish-records")], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.stdout.close()
        assert self.process.wait(60) == 0, "also a sanitizer's report is a failure"

    def submit(self, *requests):
        self.process.stdin.write(json.dumps({"type": "powerdns", "credentials": self.credentials, "requests": requests}) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def one(self, *edits, **more):
        """(code, error, answer) of one request."""
        answer = self.submit({"edits": edits, **more})
        return answer["results"][0]["code"], answer["results"][0]["error"], answer


def edit(name, rtype, *values, ttl=60, guard="owned", owner="us/1", **more):
    return {"name": name, "type": rtype, "ttl": ttl, "values": values, "guard": guard, "owner": owner, **more}


@pytest.fixture(scope="module")
def pdns(tmp_path_factory):
    found = PowerDNS(tmp_path_factory.mktemp("pdns"))
    yield found
    found.stop()


@pytest.fixture
def zone(pdns):
    return pdns.new_zone()


@pytest.fixture
def publisher(pdns):
    with Publisher(pdns.http_port) as found:
        yield found


def test_life_of_a_record_set(pdns, zone, publisher):
    name = f"a.{zone}"
    assert pdns.ask(name) == "NXDOMAIN"
    rows = [((60, ["192.0.2.1"]), "created"), ((60, ["192.0.2.2", "192.0.2.3"]), "changed"), ((120, ["192.0.2.2", "192.0.2.3"]), "TTL alone")]
    for (ttl, values), what in rows:
        code, error, answer = publisher.one(edit(name, "A", *values, ttl=ttl))
        assert (code, error, answer["calls"]["apply"]) == ("ok", "", 1), what
        assert answer["results"][0]["zone"] == f"{zone}."
        assert pdns.ask(name) == (ttl, values), what
    code, _, answer = publisher.one(edit(name, "A", "192.0.2.3", "192.0.2.2", "192.0.2.2", ttl=120))
    assert (code, answer["calls"]["apply"]) == ("ok", 0), "nothing to do"
    assert publisher.one(edit(name, "A"))[0] == "ok"
    assert pdns.ask(name) == "NXDOMAIN"
    code, _, answer = publisher.one(edit(name, "A"))
    assert (code, answer["calls"]["apply"]) == ("ok", 0), "deleted already"


VALUES = [
    ("txt", "TXT", ['with "quotes" and \\ and ; and a tab\t']),
    ("empty", "TXT", [""]),
    ("utf8", "TXT", ["grüße 🐟"]),
    ("two", "TXT", ["one", "two words"]),
    ("long", "TXT", ["x" * 254 + '"' + "y" * 600]),
    ("v6", "AAAA", ["2001:db8::1", "2001:db8:0:1::"]),
    ("*.wild", "A", ["192.0.2.1"]),
    ("_under.score", "CNAME", ["target.example.org"]),
    ("", "TXT", ["at the zone's own name"]),
]


def test_values(pdns, zone, publisher):
    """What is written is read back as the same, so that a second pass writes nothing (DR-29 to DR-32)."""
    requests = [{"edits": [edit(f"{label}.{zone}".lstrip("."), rtype, *values)]} for label, rtype, values in VALUES]
    answer = publisher.submit(*requests)
    assert [r["error"] for r in answer["results"]] == [""] * len(VALUES)
    assert answer["calls"]["apply"] == 1
    again = publisher.submit(*requests)
    assert ({r["code"] for r in again["results"]}, again["calls"]["apply"]) == ({"ok"}, 0)
    for label, rtype, values in VALUES:
        dot = "." if rtype == "CNAME" else ""
        assert pdns.ask(f"{label}.{zone}".lstrip("."), rtype) == (60, sorted(v + dot for v in values)), label


def test_cname_over_other_records(pdns, zone, publisher):
    name = f"a.{zone}"
    pdns.put(zone, name, "A", "192.0.2.7")
    code, error, _ = publisher.one(edit(name, "CNAME", "b.example"))
    assert code == "conflict"
    assert error == f'PowerDNS: RRset {name}. IN CNAME: Conflicts with pre-existing RRset; there is A "192.0.2.7"'
    assert pdns.ask(name) == (300, ["192.0.2.7"])
    own = f"own.{zone}"
    assert publisher.one(edit(own, "A", "192.0.2.8"))[0] == "ok"
    code, error, answer = publisher.one(edit(own, "CNAME", "b.example"), edit(own, "A"))
    assert (code, error, answer["calls"]["apply"]) == ("ok", "", 1), "the type changes in one call"
    assert pdns.ask(own, "CNAME") == (60, ["b.example."])
    code, error, _ = publisher.one(edit(own, "A", "192.0.2.8"))
    assert code == "conflict" and 'there is CNAME "b.example"' in error
    code, error, _ = publisher.one(edit(zone, "CNAME", "b.example"))
    assert code == "conflict" and "SOA" in error, "not at the zone's own name"


def test_sets_of_others_stay(pdns, zone, publisher):
    """Without a mark, with somebody else's, and with a value that changed meanwhile (DR-P6)."""
    theirs = {"comments": [{"account": "fairlead", "content": "them/1"}]}
    human = {"comments": [{"account": "ops", "content": "do not touch"}]}
    rows = [("plain", {}), ("marked", theirs), ("human", human)]
    for label, more in rows:
        pdns.put(zone, f"{label}.{zone}", "A", "192.0.2.7", **more)
    before = pdns.sets(zone)
    for guard in ("owned", "absent"):
        for label, _ in rows:
            for values in (["192.0.2.1"], []):
                code, error, answer = publisher.one(edit(f"{label}.{zone}", "A", *values, guard=guard))
                assert (code, answer["calls"]["apply"]) == ("conflict", 0), (label, guard, values)
                assert '"192.0.2.7" (TTL 300)' in error
    assert pdns.sets(zone) == before
    name = f"ours.{zone}"
    assert publisher.one(edit(name, "A", "192.0.2.1"))[0] == "ok"
    pdns.put(zone, name, "A", "192.0.2.99")
    code, _, _ = publisher.one(edit(name, "A", "192.0.2.2", guard="equal", before={"ttl": 60, "values": ["192.0.2.1"]}))
    assert code == "conflict"
    assert pdns.ask(name) == (300, ["192.0.2.99"])
    assert publisher.one(edit(name, "A", "192.0.2.2"))[0] == "ok", "the mark is still ours"


def test_wrong_key_and_wrong_places(pdns, zone):
    with Publisher(pdns.http_port, key="not-the-key-4711") as publisher:
        code, error, answer = publisher.one(edit(f"a.{zone}", "A", "192.0.2.1"))
        assert code == "unauthenticated" and "answered 401: the API key is refused" in error and "4711" not in error
        assert answer["calls"]["apply"] == 0
    with Publisher(pdns.http_port, virtualHost="elsewhere") as publisher:
        for request in ({}, {"zone": f"{zone}."}):
            code, error, _ = publisher.one(edit(f"a.{zone}", "A", guard="none"), **request)
            assert code == "invalid" and "'virtualHost'" in error, "a wrong server is not a zone that is gone"
    port = server.Port()
    with Publisher(port.number) as publisher:
        code, error, _ = publisher.one(edit(f"a.{zone}", "A", "192.0.2.1"), patienceMs=1000)
        assert code == "transient" and "connect" in error
    port.release()
    with Publisher(pdns.http_port) as publisher:
        publisher.credentials["insecureSkipVerify"] = "perhaps"
        assert "'insecureSkipVerify'" in publisher.submit()["refused"]


def test_zone_is_gone(pdns, publisher):
    zone = pdns.new_zone()
    name = f"a.{zone}"
    assert publisher.one(edit(name, "A", "192.0.2.1"))[0] == "ok"
    assert pdns.api("DELETE", f"/zones/{zone}.")[0] == 204
    code, error, _ = publisher.one(edit(name, "A", "192.0.2.2"), zone=zone)
    assert (code, error) == ("no_zone", f"there is no zone '{zone}'")
    assert publisher.one(edit(name, "A"), zone=f"{zone}.")[0] == "ok", "a deletion has nothing to do"
    code, error, _ = publisher.one(edit(name, "A", "192.0.2.2"))
    assert code == "no_zone" and name in error


def test_names_outside_of_the_zone(pdns, zone, publisher):
    """PowerDNS's NOTZONE: others of the batch are written."""
    answer = publisher.submit(*({"edits": [edit(name, "A", "192.0.2.1")], "zone": f"{zone}."} for name in (f"in.{zone}", "a.elsewhere.test")))
    assert [(r["code"], r["error"]) for r in answer["results"]] == [
        ("ok", ""), ("invalid", "PowerDNS: RRset a.elsewhere.test. IN A: Name is out of zone")], answer["results"]
    assert pdns.ask(f"in.{zone}") == (60, ["192.0.2.1"])


def test_longest_zone(pdns, zone):
    """A zone that comes later is found, and its names are not published in the one above."""
    def publish(name, **more):
        return publisher.submit({"edits": [edit(name, "A", "192.0.2.1")], **more})["results"][0]

    with Publisher(pdns.http_port) as publisher:
        assert publish(f"a.{zone}")["zone"] == f"{zone}."
        child = pdns.add_zone(f"deep.{zone}")
        name, end = f"a.{child}", time.monotonic() + 20
        while publish(name)["zone"] != f"{child}.":
            assert time.monotonic() < end
        assert pdns.ask(name) == (60, ["192.0.2.1"])
        for given in (zone, f"{zone}."):
            for more in ({}, {"onlyReads": True}):
                result = publish(f"b.{child}", zone=given, checksZone=True, **more)
                assert (result["code"], result["error"]) == (
                    "other_zone", f"the A record set 'b.{child}' is not served in the zone '{given}': the name belongs to the zone '{child}.'; "
                    "name that zone in spec.zone")
        assert (f"b.{child}", "A") not in pdns.sets(zone)
        for given in (child, f"{child}."):
            assert publish(f"b.{child}", zone=given, checksZone=True)["code"] == "ok"


def test_refused_by_address(tmp_path):
    """PowerDNS's REFUSED: it closes connections from elsewhere than webserver-allow-from, before it has read anything."""
    pdns = PowerDNS(tmp_path)
    try:
        zone = pdns.new_zone()
        pdns.restart(zone, "webserver-allow-from=192.0.2.1\n")
        with Publisher(pdns.http_port) as publisher:
            code, error, answer = publisher.one(edit(f"a.{zone}", "A", "192.0.2.1"), patienceMs=1000)
        assert code == "transient" and f"127.0.0.1:{pdns.http_port}" in error and answer["calls"]["apply"] == 0, (code, error)
        assert pdns.ask(f"a.{zone}") == "NXDOMAIN"
    finally:
        pdns.stop()


class Proxy:
    """Loses the n-th PATCH: its reply, or the request itself."""

    def __init__(self, port, lose):
        self.port, self.lose = port, lose
        self.patches = 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.number = self.listener.getsockname()[1]
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                with client:
                    self.pass_on(client)

    def pass_on(self, client):
        request = b""
        while b"\r\n\r\n" not in request:
            request += client.recv(65536)
        head, _, body = request.partition(b"\r\n\r\n")
        length = re.search(rb"content-length: *(\d+)", head, re.I)
        while length and len(body) < int(length[1]):
            body += client.recv(65536)
        is_patch = head.startswith(b"PATCH")
        self.patches += is_patch
        lost = self.lose if is_patch and self.patches == 1 else None
        if lost == "request":
            return
        with socket.create_connection(("127.0.0.1", self.port)) as upstream:
            upstream.sendall(head + b"\r\n\r\n" + body)
            reply = b""
            while part := upstream.recv(65536):
                reply += part
        if lost != "reply":
            client.sendall(reply)

    def stop(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.thread.join()


@pytest.mark.parametrize("lose, writes", [("reply", 1), ("request", 2)])
def test_connection_breaks_during_a_write(pdns, zone, lose, writes):
    """After the commit nothing is written again, before it the write is repeated (DR-47)."""
    proxy = Proxy(pdns.http_port, lose)
    try:
        with Publisher(proxy.number) as publisher:
            requests = [{"edits": [edit(f"n{i}.{zone}", "A", "192.0.2.1", guard="absent")]} for i in range(50)]
            answer = publisher.submit(*requests)
            assert {r["code"] for r in answer["results"]} == {"ok"}, answer["results"][0]
            assert answer["calls"]["apply"] == proxy.patches == writes
    finally:
        proxy.stop()
    assert len([n for n, t in pdns.sets(zone) if t == "A"]) == 50


class Cache(http.server.BaseHTTPRequestHandler):
    """Answers each GET as the first time, without asking PowerDNS again."""
    kept = {}

    def pass_on(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        connection = http.client.HTTPConnection("127.0.0.1", self.server.behind, timeout=30)
        with contextlib.closing(connection):
            connection.request(self.command, self.path, body or None, {"X-API-Key": API_KEY})
            reply = connection.getresponse()
            return reply.status, reply.read()

    def do_GET(self):
        found = self.kept.get(self.path) if self.command == "GET" else None
        status, body = found or self.pass_on()
        if self.command == "GET":
            self.kept[self.path] = status, body
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_PATCH = do_GET

    def log_message(self, *_):
        pass


def test_behind_a_cache(pdns, zone):
    """A read that does not show what was written: the deletion is sent all the same, and what was written is changed."""
    name = f"cached.{zone}"
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Cache) as cache:
        cache.behind = pdns.http_port
        threading.Thread(target=cache.serve_forever, daemon=True).start()
        with Publisher(cache.server_address[1]) as publisher:
            for number in (1, 2):
                assert publisher.one(edit(name, "A", f"192.0.2.{number}"))[0] == "ok"
                assert pdns.ask(name) == (60, [f"192.0.2.{number}"])
            code, _, answer = publisher.one(edit(name, "A", before={"ttl": 60, "values": ["192.0.2.2"]}))
            assert (code, answer["calls"]["apply"]) == ("ok", 1)
            assert pdns.ask(name) == "NXDOMAIN"
        cache.shutdown()


def test_bad_records_do_not_stop_others(pdns, zone, publisher):
    """PowerDNS names the bad ones: one call more for each (DR-P4)."""
    pdns.put(zone, f"taken.{zone}", "TXT", '"x"')
    bad = {f"taken.{zone}": ("CNAME", "b.example", "Conflicts with pre-existing RRset"),
           f"sp ace.{zone}": ("A", "192.0.2.1", "unsupported characters"),
           f"mapped.{zone}": ("AAAA", "::ffff:192.0.2.1", "Invalid IPv6 address")}
    requests = [{"edits": [edit(f"n{i}.{zone}", "A", "192.0.2.1")], "zone": f"{zone}."} for i in range(200)]
    for at, (name, (rtype, value, _)) in enumerate(bad.items()):
        requests.insert(at * 70, {"edits": [edit(name, rtype, value)], "zone": f"{zone}."})
    answer = publisher.submit(*requests)
    for request, result in zip(requests, answer["results"]):
        name = request["edits"][0]["name"]
        if name in bad:
            assert result["code"] in ("conflict", "invalid") and bad[name][2] in result["error"], result
        else:
            assert result["code"] == "ok", result
    assert answer["calls"]["apply"] <= 15
    assert len([n for n, t in pdns.sets(zone) if t == "A"]) == 200


def test_many(pdns, zone, publisher):
    """1000 new records of a zone in at most two writes and 10 s, 10 000 in a minute."""
    for count, seconds, writes in ((1000, 10, 2), (9000, 60, 9)):
        answer = publisher.submit(*({"edits": [edit(f"n{count}-{i}.{zone}", "A", "192.0.2.1")]} for i in range(count)))
        assert {r["code"] for r in answer["results"]} == {"ok"}
        assert answer["calls"]["apply"] <= writes, answer["calls"]
        assert answer["ms"] < helpers.slower(seconds) * 1000
        print(f"{count} records: {answer['ms']:.0f} ms, {answer['calls']}")
    assert pdns.ask(f"n9000-8999.{zone}") == (60, ["192.0.2.1"])


def test_no_gap_while_a_value_changes(pdns, zone, publisher):
    """Asked a thousand times a second, the name always has a value (DR-P7)."""
    name = f"moving.{zone}"
    assert publisher.one(edit(name, "A", "192.0.2.1", ttl=0))[0] == "ok"
    with Questions(pdns.dns_port, name) as asked:
        for i in range(30):
            assert publisher.one(edit(name, "A", f"192.0.2.{2 + i}", ttl=0))[0] == "ok"
    asked.check()
    assert pdns.sets(zone)[(name, "A")] == (0, ["192.0.2.31"])
