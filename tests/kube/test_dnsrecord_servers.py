# SPDX-License-Identifier: GPL-3.0-or-later
"""The controller dnsrecord with real name servers: beside other writers (whose record set is whose by its owner mark, what others changed
is found by the zone's serial), refusals, lost answers, changes without a gap, TLS."""
import contextlib
import json
import re
import socket
import subprocess

import pytest

from bothlib import embedded  # noqa: F401 (fixture)
from controllerlib import Controller, events, namespace, until
from dnsrecordlib import MERGE, condition, delete, get, make, make_secret, patch, record, status_of, wait_failed, wait_gone, wait_settled, write_status
from lib import server
from lib.certs import make_ca, make_cert
from lib.nameserver import Proxy, Questions, TlsProxy, place, running

OTHER = "/////wQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="  # another secret than the writer's
FLAGS = ["--no-election", "--heartbeat", "1h", "--dnsrecord-probe", "0"]


@pytest.fixture(scope="module", params=["bind", "knot", "powerdns"])
def zone(request, tmp_path_factory):
    with place(request.param, tmp_path_factory.mktemp(request.param)) as one:
        yield one


@pytest.fixture
def ns(embedded, request):  # noqa: F811
    name = request.node.name.replace("_", "-").replace("[", "-").replace("]", "")[:50]
    namespace(embedded, name)
    return name


@pytest.fixture
def controller(embedded):  # noqa: F811
    p = Controller(embedded.kubeconfig(embedded.system), *FLAGS, controllers="dnsrecord")
    p.wait_line("leading as")
    yield p
    assert p.stop() == 0, p.text()


def marked(zone, **more):
    """A Secret whose account keeps marks."""
    return zone.secret(**({} if zone.kind == "powerdns" else {"OwnerRecords": "true"}), **more)


def set_mark(zone, name, mark):
    """Another's mark beside the set; the set stays."""
    if zone.kind == "powerdns":
        zone.real.put(zone.zone, name, "A", "192.0.2.1", ttl=120, comments=[{"content": mark, "account": "fairlead"}])
    else:
        zone.write(f"_fairlead-owner-a.{name}", "TXT", 120, mark)


def lose_status(c, ns, name):
    write_status(c, ns, name, {key: None for key in status_of(c, ns, name)})


def remove(c, ns, *names):
    """For the tests that follow: their controllers would see it, too."""
    for name in names:
        delete(c, ns, name)
    for name in names:
        wait_gone(c, ns, name)


def test_marks_decide(embedded, controller, ns, zone):  # noqa: F811
    """DR-P6: with the status lost, a set that has our mark is ours, whatever its values; one with another's mark is not."""
    host = {name: f"{name}.{ns}.{zone.zone}" for name in ("ours", "theirs")}
    make_secret(embedded, ns, marked(zone))
    for name in ("ours", "theirs"):
        make(embedded, ns, name, host[name], type=zone.type)
        wait_settled(embedded, ns, name)
    zone.write(host["ours"], "A", 120, "192.0.2.66")
    set_mark(zone, host["theirs"], "fairlead/somebody-else")
    for name in ("ours", "theirs"):
        lose_status(embedded, ns, name)
    wait_settled(embedded, ns, "ours")
    assert zone.read(host["ours"]) == (120, ["192.0.2.1"])
    s = wait_failed(embedded, ns, "theirs")
    assert condition(s, "Owned") == ("False", "NotOurs")
    assert "'fairlead adopt', or the annotation dnsrecord.fairlead.dev/adopt=true, takes it over" in s["lastError"]["description"]
    patch(embedded, ns, "theirs", {"spec": {"values": ["192.0.2.2"]}})
    until(lambda: status_of(embedded, ns, "theirs").get("observedGeneration") == 2)
    wait_failed(embedded, ns, "theirs")
    assert zone.read(host["theirs"]) == (120, ["192.0.2.1"])
    remove(embedded, ns, "ours", "theirs")


def test_marks_come_later(embedded, controller, ns, zone):  # noqa: F811
    """What was written before the account kept marks stays ours, and gets one with the next change."""
    if zone.kind == "powerdns":
        return  # always has marks
    host = f"early.{ns}.{zone.zone}"
    make_secret(embedded, ns, zone.secret())
    make(embedded, ns, "early", host, type=zone.type)
    wait_settled(embedded, ns, "early")
    assert zone.read(f"_fairlead-owner-a.{host}", "TXT") is None
    status, _ = embedded.call("PATCH", f"/api/v1/namespaces/{ns}/secrets/credentials", {"stringData": {"OwnerRecords": "true"}}, content_type=MERGE)
    assert status == 200
    patch(embedded, ns, "early", {"spec": {"values": ["192.0.2.2"]}})
    wait_settled(embedded, ns, "early")
    assert zone.read(host) == (120, ["192.0.2.2"])
    assert zone.read(f"_fairlead-owner-a.{host}", "TXT")
    # and goes with the record set when the account keeps none any more
    status, _ = embedded.call("PATCH", f"/api/v1/namespaces/{ns}/secrets/credentials", {"stringData": {"OwnerRecords": "false"}}, content_type=MERGE)
    assert status == 200
    remove(embedded, ns, "early")
    assert zone.read(host) is None and zone.read(f"_fairlead-owner-a.{host}", "TXT") is None


def metric(p, name, **labels):
    """The sum over all series that have these labels."""
    found = re.findall(r"^fairlead_%s\{(.*)\} (\d+)" % name, p.get("/metrics")[1], re.M)
    return sum(int(value) for text, value in found if all(f'{k}="{v}"' in text for k, v in labels.items()))


def wait_checked(p, result, more=1):
    """Until the serial was read so many times again with this result."""
    before = metric(p, "dnsrecord_serials_total", result=result)
    until(lambda: metric(p, "dnsrecord_serials_total", result=result) >= before + more, 60)


@pytest.fixture
def watching(embedded):  # noqa: F811
    p = Controller(embedded.kubeconfig(embedded.system), *FLAGS, "--dnsrecord-serials", "200ms", controllers="dnsrecord")
    p.wait_line("leading as")
    yield p
    assert p.stop() == 0, p.text()


def test_other_writers_are_found(embedded, watching, ns, zone):  # noqa: F811
    """DR-P15, DR-P8: of 50 sets another writer deletes one, and changes one: those two are published again, and nothing else is written."""
    hosts = {f"h{i}": f"h{i}.{ns}.{zone.zone}" for i in range(50)}
    make_secret(embedded, ns, marked(zone))
    for name, host in hosts.items():
        make(embedded, ns, name, host, type=zone.type)
    for name in hosts:
        wait_settled(embedded, ns, name)
    wait_checked(watching, "same", more=2)

    def versions():
        return {name: get(embedded, ns, name)["metadata"]["resourceVersion"] for name in hosts}

    def counts():
        return (metric(watching, "provider_calls_total", call="apply", result="ok"),
                metric(watching, "dnsrecord_operations_total", result="succeeded"),
                metric(watching, "dnsrecord_compared_total", result="drift"))

    def only(changed, before):
        """No other object was written."""
        now = versions()
        assert {name for name in hosts if now[name] != before[name]} == changed

    before, counted = versions(), counts()
    reads = metric(watching, "provider_calls_total", call="read", result="ok")
    wait_checked(watching, "same", more=2)  # settled: nothing but serials
    assert versions() == before and counts() == counted and metric(watching, "provider_calls_total", call="read", result="ok") == reads

    zone.write(hosts["h7"], "A", 120)
    until(lambda: zone.read(hosts["h7"]) == (120, ["192.0.2.1"]), 60)
    wait_settled(embedded, ns, "h7")
    wait_checked(watching, "same")
    only({"h7"}, before)
    assert counts() == tuple(n + 1 for n in counted)

    before = versions()
    zone.write(hosts["h8"], "A", 120, "192.0.2.66")
    until(lambda: zone.read(hosts["h8"]) == (120, ["192.0.2.1"]), 60)
    wait_settled(embedded, ns, "h8")
    wait_checked(watching, "same")
    only({"h8"}, before)
    assert counts() == tuple(n + 2 for n in counted)

    before, foreign = versions(), f"foreign.{ns}.{zone.zone}"
    changes = metric(watching, "dnsrecord_serials_total", result="changed")
    zone.write(foreign, "A", 300, "198.51.100.1")
    until(lambda: metric(watching, "dnsrecord_serials_total", result="changed") == changes + 1, 60)
    wait_checked(watching, "same")
    assert versions() == before and counts() == tuple(n + 2 for n in counted)
    assert zone.read(foreign) == (300, ["198.51.100.1"])
    notes = until(lambda: (found := {e["regarding"]["name"]: e["note"] for e in events(embedded, ns) if e["reason"] == "Drifted"}) and
                  len(found) == 2 and found)
    gone, other = "does not have the record set", "has another record set"
    assert notes == {name: f"zone '{zone_id(zone)}' was changed by another writer; the provider {what}: it is published again"
                     for name, what in (("h7", gone), ("h8", other))}
    remove(embedded, ns, *hosts)


def zone_id(zone):
    return zone.zone + ("." if zone.kind == "powerdns" else "")


UNAUTHENTICATED, UNAUTHORIZED, CONFIGURATION = "ERR_INFRA_UNAUTHENTICATED", "ERR_INFRA_UNAUTHORIZED", "ERR_CONFIGURATION_PROBLEM"


def refusals(zone):
    """(name, keys of the Secret, spec) -> (code, a part of the sentence)"""
    rows = {
        "outside": ({}, {"name": "a.elsewhere.test", "zone": zone_id(zone)}, CONFIGURATION, "outside of the zone"),
        "zone-gone": ({"Zone": "gone.test"}, {"name": "a.gone.test"}, CONFIGURATION, "gone.test"),
        "wrong-key": ({"TSIGSecret": OTHER}, {}, UNAUTHENTICATED, "the server has another secret for TSIG key 'writer.key.' (BADSIG)"),
        "algorithm": ({"TSIGSecretAlgorithm": "hmac-sha512"}, {}, UNAUTHENTICATED, "(BADKEY)"),
        "no-rights": ({"TSIGKeyName": "powerless.key"}, {}, {"bind": UNAUTHORIZED, "knot": UNAUTHENTICATED}.get(zone.kind),
                      {"bind": "(REFUSED)", "knot": "(BADKEY)"}.get(zone.kind)),
    }
    if zone.kind != "powerdns":
        return rows
    return {
        "outside": ({}, rows["outside"][1], CONFIGURATION, "Name is out of zone"),
        "zone-gone": ({}, {"name": "a.gone.test"}, CONFIGURATION, "gone.test"),
        "wrong-key": ({"apiKey": "another-key-4711"}, {}, UNAUTHENTICATED, "the API key is refused"),
    }


def test_refusals_are_reported(embedded, controller, ns, zone):  # noqa: F811
    """DR-44: what a server refuses is in the status, with its code and a sentence, and a good record beside it is published."""
    rows = refusals(zone)
    make_secret(embedded, ns, zone.secret())
    for name, (keys, spec, _, _) in rows.items():
        make_secret(embedded, ns, {**zone.secret(), **keys}, name=name)
        spec = {"name": f"{name}.{ns}.{zone.zone}", **spec}
        make(embedded, ns, name, spec.pop("name"), type=zone.type, secret={"name": name}, **spec)
    make(embedded, ns, "good", f"good.{ns}.{zone.zone}", type=zone.type)
    wait_settled(embedded, ns, "good")
    for name, (_, _, code, sentence) in rows.items():
        error = wait_failed(embedded, ns, name)["lastError"]
        assert (error.get("codes"), sentence in error["description"], "4711" in error["description"]) == ([code], True, False), (name, error)
        assert zone.read(f"{name}.{ns}.{zone.zone}") is None
        patch(embedded, ns, name, {"metadata": {"annotations": {"dnsrecord.fairlead.dev/orphan": "true"}}})
    remove(embedded, ns, "good", *rows)


def test_one_set_stalls_no_zone(embedded, controller, ns, zone):  # noqa: F811
    """DR-P4: BIND answers SERVFAIL to a set of more than 100 records. Its objects say so, and delay no other of the zone, also when they are
    tried again; with fewer records they are published."""
    big = [f"198.18.0.{i}" for i in range(101)]
    good = [f"good{i}" for i in range(12)]
    make_secret(embedded, ns, zone.secret())
    for i, name in enumerate(good):
        make(embedded, ns, name, f"{name}.{ns}.{zone.zone}", type=zone.type)
        if i in (3, 8):
            make(embedded, ns, f"big{i}", f"big{i}.{ns}.{zone.zone}", type=zone.type, values=big)
    for name in good:
        wait_settled(embedded, ns, name, 15)
    if zone.kind == "bind":
        for name in ("big3", "big8"):
            error = wait_failed(embedded, ns, name)["lastError"]
            assert error["codes"] == ["ERR_RETRYABLE_INFRA_DEPENDENCIES"], error
            assert "SERVFAIL" in error["description"] and "it accepts other changes of the zone" in error["description"], error
        for i, name in enumerate(["big3", *good[:6], "big8", *good[6:]]):
            patch(embedded, ns, name, {"spec": {"ttl": 60 + i}})
        for name in good:
            wait_settled(embedded, ns, name, 5)
        assert zone.read(f"good11.{ns}.{zone.zone}") == (73, ["192.0.2.1"])
        for name in ("big3", "big8"):
            patch(embedded, ns, name, {"spec": {"values": big[1:]}})
    for name in ("big3", "big8"):
        wait_settled(embedded, ns, name)
        assert len(zone.read(f"{name}.{ns}.{zone.zone}")[1]) >= 100
    remove(embedded, ns, "big3", "big8", *good)


def test_unserved_type(embedded, controller, ns, tmp_path):  # noqa: F811
    """DR-5: a type that no provider and no other controller serves is an error within seconds, which `apply --wait` and `plan` report; an object
    that another controller reports about sees no write."""
    file = tmp_path / "record.json"
    file.write_text(json.dumps({**record("cloud", "cloud.example.com", type="aws-route53")}))
    config = ["-f", str(file), "--kubeconfig", embedded.kubeconfig(), "-n", ns]
    make(embedded, ns, "theirs", "theirs.example.com", type="azure-dns")
    write_status(embedded, ns, "theirs", {"lastOperation": {"type": "Create", "state": "Processing", "progress": 1, "description": "x",
                                                            "lastUpdateTime": "2027-01-01T00:00:00Z"}})
    version = get(embedded, ns, "theirs")["metadata"]["resourceVersion"]
    done = subprocess.run([server.fairlead_program(), "apply", "--wait", *config], capture_output=True, text=True, timeout=60, check=False)
    text = "No provider here serves the type 'aws-route53'; spec.type can be local, powerdns, rfc2136"
    assert done.returncode == 1 and text in done.stderr, done
    status = status_of(embedded, ns, "cloud")
    assert status["lastError"]["description"] == text and status["lastError"]["codes"] == [CONFIGURATION]
    assert condition(status, "InSync") == ("False", "NotPublished")
    assert [e["reason"] for e in events(embedded, ns) if e["regarding"]["name"] == "cloud"] == ["Failed"]
    assert "finalizers" not in get(embedded, ns, "cloud")["metadata"]
    done = subprocess.run([server.fairlead_program(), "plan", *config], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1 and f"{ns}/cloud: cannot be published: no provider here serves the type 'aws-route53'" in done.stdout, done
    assert get(embedded, ns, "theirs")["metadata"]["resourceVersion"] == version
    remove(embedded, ns, "cloud", "theirs")


def searching(zone, **more):
    """A Secret whose account searches for the zones of names."""
    return zone.secret(**({} if zone.kind == "powerdns" else {"Zone": ""}), **more)


def planned(c, ns, *objects):
    """What `fairlead plan` says about manifests: object -> zone."""
    done = subprocess.run([server.fairlead_program(), "plan", "--kubeconfig", c.kubeconfig(), "-n", ns, "-f", "-"], capture_output=True, text=True,
                          timeout=60, check=False, input="\n---\n".join(json.dumps(o) for o in objects))
    assert done.returncode == 2, (done.stdout, done.stderr)
    return dict(re.findall(rf"^{ns}/(\S+): create in zone (\S+)$", done.stdout, re.M))


def test_longest_zone(embedded, controller, ns, zone):  # noqa: F811
    """DR-15: a zone that was used for other names does not hide a longer one. `fairlead plan` says the same, for one object and for many."""
    child = zone.child()
    make_secret(embedded, ns, searching(zone))
    wanted = {"above": zone_id(zone), "below": child + zone_id(zone).removeprefix(zone.zone), "apex": child + zone_id(zone).removeprefix(zone.zone)}
    objects = {name: record(name, host, type=zone.type) for name, host in
               (("above", f"above.{ns}.{zone.zone}"), ("below", f"below.{ns}.{child}"), ("apex", child))}
    assert planned(embedded, ns, *objects.values()) == wanted
    for name, one in objects.items():
        assert planned(embedded, ns, one) == {name: wanted[name]}
    make(embedded, ns, "above", f"above.{ns}.{zone.zone}", type=zone.type)
    assert wait_settled(embedded, ns, "above")["zone"] == zone_id(zone)
    hosts = {"below": f"below.{ns}.{child}", "apex": child}
    for name, host in hosts.items():
        make(embedded, ns, name, host, type=zone.type)
    for name, host in hosts.items():
        assert wait_settled(embedded, ns, name)["zone"] == child + ("." if zone.kind == "powerdns" else "")
        assert zone.read(host) == (120, ["192.0.2.1"])
    remove(embedded, ns, "above", *hosts)
    assert zone.read(hosts["below"]) is None


@pytest.mark.parametrize("marks", ["plain", "marked"])
def test_enclosing_zone_is_refused(embedded, controller, ns, zone, marks):  # noqa: F811
    """DR-17: a record set is not moved to a zone that does not serve its name; the live one stays, and deletion removes it."""
    if zone.kind == "powerdns" and marks == "plain":
        return  # always has marks
    child = zone.child()
    child_id = child + ("." if zone.kind == "powerdns" else "")
    hosts = {name: f"{name}.{ns}.{child}" for name in ("moved", "kept", "first")}
    make_secret(embedded, ns, searching(zone, **({"OwnerRecords": "true"} if marks == "marked" and zone.kind != "powerdns" else {})))
    for name in ("moved", "kept"):
        make(embedded, ns, name, hosts[name], type=zone.type)
        assert wait_settled(embedded, ns, name)["zone"] == child_id
        patch(embedded, ns, name, {"spec": {"zone": zone_id(zone)}})
    make(embedded, ns, "first", hosts["first"], type=zone.type, zone=zone_id(zone))
    for name, host in hosts.items():
        s = wait_failed(embedded, ns, name)
        assert s["lastError"]["codes"] == [CONFIGURATION], s
        assert f"'{host}' is not served in the zone '{zone_id(zone)}': the name belongs to the zone '{child_id}'" in s["lastError"]["description"], s
        assert s.get("zone") == (None if name == "first" else child_id), s
        assert zone.read(host) == (None if name == "first" else (120, ["192.0.2.1"]))
    if zone.kind == "powerdns":
        assert not {host for host, _ in zone.real.sets(zone.zone)} & set(hosts.values())
    patch(embedded, ns, "moved", {"spec": {"zone": None, "values": ["192.0.2.2"]}})
    wait_settled(embedded, ns, "moved")
    assert zone.read(hosts["moved"]) == (120, ["192.0.2.2"])
    remove(embedded, ns, *hosts)
    assert [zone.read(host) for host in hosts.values()] == [None] * 3


class Forgetful(Proxy):
    """Throws the answer to the first change away."""

    def drops(self, when, number):
        return when == "after" and number == 1


def test_answer_is_lost(embedded, controller, ns, zone):  # noqa: F811
    """DR-47: the server has carried the change out, and its answer is lost: it is found, and not written again."""
    proxy = Forgetful(zone)
    make_secret(embedded, ns, zone.secret(proxy.number))
    make(embedded, ns, "one", f"one.{ns}.{zone.zone}", type=zone.type)
    status = wait_settled(embedded, ns, "one", 60)
    assert proxy.changes == 1 and status.get("lastError") is None
    assert zone.read(f"one.{ns}.{zone.zone}") == (120, ["192.0.2.1"])
    remove(embedded, ns, "one")
    proxy.close()


class Lagging(Proxy):
    """Changes go to the server, queries to another one, which gets the changes when the test says so."""

    def __init__(self, at, replica):
        self.replica, self.late, self.reads = replica, [], 0
        super().__init__(at)

    def serve(self, client):
        with client, contextlib.suppress(OSError, EOFError):
            while True:
                message, is_change = self.read_dns(client)
                is_update = message[4] >> 3 & 15 == 5
                answer = self.exchange(self.place.port if is_update else self.replica.port, message)
                with self.lock:
                    if is_change and answer[5] & 15 == 0:
                        self.late.append(message)
                        self.reads = 0
                    self.reads += not is_update
                client.sendall(answer)

    def exchange(self, port, message):
        with socket.create_connection(("127.0.0.1", port)) as upstream:
            upstream.sendall(message)
            return self.read_dns(upstream)[0]

    def wait_accepted(self, reads=3):
        """Until the server has a change which the replica does not show, although it was asked so many times."""
        until(lambda: self.late and self.reads >= reads, 60)

    def catch_up(self):
        with self.lock:
            for message in self.late:
                assert self.exchange(self.replica.port, message)[5] & 15 == 0
            self.late = []


@pytest.mark.parametrize("marks", ["plain", "marked"])
def test_reads_lag_behind_writes(embedded, ns, zone, marks, tmp_path):  # noqa: F811
    """DR-P9, DR-47: a change that the server has accepted and does not show yet is neither an error nor another's, also after a restart; what was
    accepted and never shown is deleted."""
    if zone.kind == "powerdns":
        return  # reads what it wrote
    host, states = f"late.{ns}.{zone.zone}", set()

    def run():
        p = Controller(embedded.kubeconfig(embedded.system), *FLAGS, controllers="dnsrecord")
        p.wait_line("leading as")
        return p

    with running(zone.kind, tmp_path) as replica:
        proxy, controller = Lagging(zone, replica), run()  # noqa: F811
        make_secret(embedded, ns, marked(zone, port=proxy.number) if marks == "marked" else zone.secret(proxy.number))
        make(embedded, ns, "short", f"short.{ns}.{zone.zone}", type=zone.type)
        proxy.wait_accepted()
        delete(embedded, ns, "short")
        wait_gone(embedded, ns, "short", 60)
        assert zone.read(f"short.{ns}.{zone.zone}") is None
        proxy.catch_up()
        make(embedded, ns, "late", host, type=zone.type)
        for number in (1, 2, 3):
            proxy.wait_accepted()
            if number == 3:
                controller.kill()
                controller = run()
                proxy.reads = 0
                proxy.wait_accepted()
            s = status_of(embedded, ns, "late")
            states.add(s["lastOperation"]["state"])
            assert "lastError" not in s and s["state"]["attempt"]["values"] == [f"192.0.2.{number}"], s
            proxy.catch_up()
            assert condition(wait_settled(embedded, ns, "late", 60), "Owned") == ("True", "Written")
            assert zone.read(host) == (120, [f"192.0.2.{number}"])
            patch(embedded, ns, "late", {"spec": {"values": [f"192.0.2.{number + 1}"]}})
        assert states == {"Processing"}
        proxy.wait_accepted()
        delete(embedded, ns, "late")
        until(lambda: zone.read(host) is None, 60)
        proxy.catch_up()
        wait_gone(embedded, ns, "late", 60)
        assert not {e["reason"] for e in events(embedded, ns)} & {"Failed", "RecordLeft", "OrphanLeft"}
        assert controller.stop() == 0, controller.text()
        proxy.close()


def test_no_gap(embedded, controller, ns, zone):  # noqa: F811
    """DR-P7: while the spec changes, each of a thousand queries a second has an address."""
    host = f"gapless.{ns}.{zone.zone}"
    make_secret(embedded, ns, zone.secret())
    make(embedded, ns, "gapless", host, type=zone.type)
    wait_settled(embedded, ns, "gapless")
    with Questions(zone.dns_port, host) as asked:
        for i in range(2, 12):
            patch(embedded, ns, "gapless", {"spec": {"values": [f"192.0.2.{i}"], "ttl": 60 + i}})
            wait_settled(embedded, ns, "gapless")
    asked.check()
    assert zone.read(host) == (71, ["192.0.2.11"])
    remove(embedded, ns, "gapless")


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    """A CA with a certificate for 127.0.0.1 and one for another host, and a CA that signed neither."""
    folder = tmp_path_factory.mktemp("certs")
    for ca in ("ca", "stranger"):
        make_ca(folder, ca)
    make_cert(folder, "cert")
    make_cert(folder, "elsewhere", san="DNS:pdns.elsewhere.test", key="elsewhere.key")
    return folder


def test_powerdns_behind_tls(embedded, controller, ns, zone, certificates):  # noqa: F811
    """DR-P17: the server's certificate is checked against the Secret's authorities, or the system's, and its host; the status says why not."""
    if zone.kind != "powerdns":
        return
    right, wrong = TlsProxy(zone.port, certificates), TlsProxy(zone.port, certificates, "elsewhere.pem", "elsewhere.key")
    ca, stranger = ((certificates / f"{name}.pem").read_text() for name in ("ca", "stranger"))
    rows = {  # the proxy, keys of the Secret, and why it is refused
        "trusted": (right, {"trustedCaCert": ca}, None),
        "second": (right, {"trustedCaCert": ca, "virtualHost": "second"}, None),
        "insecure": (wrong, {"insecureSkipVerify": "true"}, None),
        "stranger": (right, {"trustedCaCert": stranger}, "{url}: TLS handshake: its certificate is not trusted: it has expired, or was not signed by the "
                                                         "configured certificate-authority"),
        "system": (right, {}, "{url}: TLS handshake: its certificate is not trusted: it has expired, or was not signed by a CA of this system"),
        "host": (wrong, {"trustedCaCert": ca}, "{url}: TLS handshake: its certificate is for another host than '127.0.0.1'"),
        "nowhere": (right, {"trustedCaCert": ca, "virtualHost": "third"},
                    "PowerDNS answered 404: Not Found: there is no such server, see 'server' and 'virtualHost' in the Secret"),
    }
    for name, (proxy, keys, _) in rows.items():
        make_secret(embedded, ns, {**zone.secret(), "server": f"https://127.0.0.1:{proxy.number}", **keys}, name=name)
        make(embedded, ns, name, f"{name}.{ns}.{zone.zone}", type=zone.type, secret={"name": name})
    for name, (proxy, _, why) in rows.items():
        if why is None:
            wait_settled(embedded, ns, name)
            assert zone.read(f"{name}.{ns}.{zone.zone}") == (120, ["192.0.2.1"])
            continue
        assert wait_failed(embedded, ns, name)["lastError"]["description"] == why.format(url=f"https://127.0.0.1:{proxy.number}")
        assert zone.read(f"{name}.{ns}.{zone.zone}") is None
    assert any("/servers/second/" in path for path in right.requests)
    remove(embedded, ns, *rows)
    right.close()
    wrong.close()
