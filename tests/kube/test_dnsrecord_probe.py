# SPDX-License-Identifier: GPL-3.0-or-later
"""The drift probe of the controller dnsrecord: DNS is asked for published names, and what the provider lost is published again."""
import re

import pytest

from bothlib import embedded  # noqa: F401 (fixture)
from controllerlib import events, namespace, until
from dnsrecordlib import Zones, condition, get, make, make_secret, patch, run_controller, status_of, wait_settled
from egresslib import Zone
from lib.cluster import Embedded

MISSING = 'DNS answers that there is no such record, although the provider has the record set'


@pytest.fixture(scope="module")
def dns():
    with Zone(ttl=1) as zone:
        yield zone


@pytest.fixture(scope="module")
def controller(embedded, dns):  # noqa: F811
    p = run_controller(embedded, "--lookup-servers", dns.address, probe="1s")
    yield p
    assert p.stop() == 0, p.text()


@pytest.fixture
def ns(embedded, request):  # noqa: F811
    name = request.node.originalname.replace("_", "-")[:40]
    namespace(embedded, name)
    return name


@pytest.fixture
def zones(embedded, ns, tmp_path):  # noqa: F811
    z = Zones(tmp_path, zones=("example",))
    make_secret(embedded, ns, z.data())
    return z


def probes(p, result):
    found = re.search(r'fairlead_dnsrecord_probes_total\{result="%s"\} (\d+)' % result, p.get("/metrics")[1])
    return int(found[1]) if found else 0


def resolvable(c, ns, name):
    return condition(status_of(c, ns, name), "Resolvable")


def message(c, ns, name):
    return next(x["message"] for x in status_of(c, ns, name)["conditions"] if x["type"] == "Resolvable")


def wait_resolvable(c, ns, name, wanted):
    until(lambda: resolvable(c, ns, name) == wanted)


def test_all_types_resolve_and_rest(embedded, dns, controller, ns, zones):  # noqa: F811
    """DR-P13, DR-P8: every type, also below a wildcard, is found; after that there is neither a write nor a call, but lookups."""
    dns.set('a A 192.0.2.2\na A 192.0.2.1\nb AAAA 2001:db8::1\nc CNAME Target.Example.NET.\n*.w A 192.0.2.3\n'
            '_d TXT "two " "parts"\n_d TXT "q\\"\\200"\n')
    wanted = {"a": ("a.example", "A", ["192.0.2.1", "192.0.2.2"]), "b": ("b.example", "AAAA", ["2001:db8:0::1"]),
              "c": ("c.example", "CNAME", ["target.example.net"]), "w": ("*.w.example", "A", ["192.0.2.3"]),
              "d": ("_d.example", "TXT", ["two parts", '"q\\"\\200"'])}
    for name, (host, kind, values) in wanted.items():
        make(embedded, ns, name, host, values=values, kind=kind)
    make(embedded, ns, "never", "never.example", annotations={"dnsrecord.fairlead.dev/no-probe": "true"})
    for name in wanted:
        wait_resolvable(embedded, ns, name, ("True", "Resolved"))
    versions = {name: get(embedded, ns, name)["metadata"]["resourceVersion"] for name in wanted}
    calls, matches = len(zones.calls()), probes(controller, "match")
    until(lambda: probes(controller, "match") >= matches + 3 * len(wanted))
    assert {name: get(embedded, ns, name)["metadata"]["resourceVersion"] for name in wanted} == versions
    assert len(zones.calls()) == calls and not zones.calls("read")
    assert resolvable(embedded, ns, "never") is None


def test_drift_is_repaired(embedded, dns, controller, ns, zones):  # noqa: F811
    """DR-P13, DR-P6: what was lost or changed at the provider and is ours is published again; what is another's stays."""
    names = ("lost", "changed", "taken", "twice")
    dns.set("".join(f"{name} A 192.0.2.1\n" for name in names))
    for name in names:
        make(embedded, ns, name, f"{name}.example")
    for name in names:
        wait_resolvable(embedded, ns, name, ("True", "Resolved"))

    def edit(line):
        words = line.split(" ")
        if words[0] != "set" or words[2] == "twice.example":
            return [line]
        other = {"changed.example": [*words[:7], "192.0.2.66"], "taken.example": [*words[:5], "-", "foreign", "192.0.2.66"]}
        return [" ".join(other[words[2]])] if words[2] in other else []

    zones.write([new for line in zones.lines() for new in edit(line)])
    assert len(zones.sets(foreign=True)) == 1 and len(zones.sets()) == 2
    dns.set("changed A 192.0.2.66\ntaken A 192.0.2.66\ntwice A 192.0.2.1\n")
    until(lambda: condition(status_of(embedded, ns, "taken"), "Owned") == ("False", "NotOurs"))
    good = (120, ["192.0.2.1"])
    until(lambda: zones.sets() == {(f"{name}.example", "A"): good for name in ("lost", "changed", "twice")})
    assert zones.sets(foreign=True) == {("taken.example", "A"): (120, ["192.0.2.66"])}
    dns.set("".join(f"{name} A 192.0.2.1\n" for name in names))
    for name in ("lost", "changed"):
        wait_settled(embedded, ns, name)
        wait_resolvable(embedded, ns, name, ("True", "Resolved"))
    drifted = until(lambda: (found := [e for e in events(embedded, ns) if e["reason"] == "Drifted"]) and len(found) == 3 and found)
    notes = {e["regarding"]["name"]: e["note"] for e in drifted}
    assert notes["lost"] == "DNS answers that there is no such record; the provider does not have the record set: it is published again"
    assert notes["changed"] == 'DNS answers with "192.0.2.66"; the provider has another record set: it is published again'
    assert set(notes) == {"lost", "changed", "taken"}


def test_dns_disagrees(embedded, dns, controller, ns, zones):  # noqa: F811
    """DR-P13: DNS answers otherwise although the provider has the record set: False, after one read; then rest again."""
    dns.set("alias CNAME other.example.\n")
    make(embedded, ns, "a", "gone.example")
    make(embedded, ns, "b", "alias.example")
    for name in ("a", "b"):
        wait_resolvable(embedded, ns, name, ("False", "OtherAnswer"))
    assert message(embedded, ns, "a") == MISSING
    assert message(embedded, ns, "b") == "DNS answers with a CNAME, although the provider has the record set"
    writes, reads = len(zones.calls("apply")), len(zones.calls("read"))
    versions = [get(embedded, ns, name)["metadata"]["resourceVersion"] for name in ("a", "b")]
    assert reads == 2
    notes = until(lambda: (found := {e["regarding"]["name"]: e["note"] for e in events(embedded, ns) if e["reason"] == "NotResolvable"})
                  and len(found) == 2 and found)
    assert notes == {name: message(embedded, ns, name) for name in ("a", "b")}
    seen = probes(controller, "mismatch")
    until(lambda: probes(controller, "mismatch") >= seen + 6)
    assert [get(embedded, ns, name)["metadata"]["resourceVersion"] for name in ("a", "b")] == versions
    assert len(zones.calls("read")) == reads and len(zones.calls("apply")) == writes
    assert not [e for e in events(embedded, ns) if e["reason"] == "NotResolvable" and "series" in e]
    # another answer is another message; then the right one
    dns.set("gone A 192.0.2.9\nalias A 192.0.2.1\n")
    wait_resolvable(embedded, ns, "b", ("True", "Resolved"))
    until(lambda: message(embedded, ns, "a") == 'DNS answers with "192.0.2.9", although the provider has the record set')
    # other values are asked for anew, and the provider that cannot be read is no False
    dns.set("gone A 192.0.2.8\nalias A 192.0.2.1\n")
    zones.fault("read", "deny", 50)
    wait_resolvable(embedded, ns, "a", ("Unknown", "ProviderNotRead"))
    zones.fault("read", "deny", 0)
    patch(embedded, ns, "a", {"spec": {"values": ["192.0.2.8"]}})
    wait_settled(embedded, ns, "a")
    wait_resolvable(embedded, ns, "a", ("True", "Resolved"))


def test_silent_dns_is_unknown(tmp_path):
    """DR-P13: without an answer the condition is Unknown, never False, and the provider is not asked."""
    z = Zones(tmp_path, zones=("example",))
    with Embedded() as c, Zone("a A 192.0.2.1\nb A 192.0.2.1\n", ttl=1) as zone:
        namespace(c, "silent")
        make_secret(c, "silent", z.data())
        p = run_controller(c, "--lookup-servers", zone.address, probe="1s")
        make(c, "silent", "a", "a.example")
        wait_resolvable(c, "silent", "a", ("True", "Resolved"))
        zone.server.stop()
        seen = set()
        until(lambda: seen.add(resolvable(c, "silent", "a")) or ("Unknown", "NoAnswer") in seen)
        make(c, "silent", "b", "b.example")
        until(lambda: seen.add(resolvable(c, "silent", "b")) or resolvable(c, "silent", "b") == ("Unknown", "NoAnswer"))
        assert seen <= {None, ("True", "Resolved"), ("Unknown", "NotAsked"), ("Unknown", "NoAnswer")} and not z.calls("read")
        assert "DNS servers do not answer: " in message(c, "silent", "b") and p.stop() == 0
