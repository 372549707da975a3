# SPDX-License-Identifier: GPL-3.0-or-later
"""The status of EgressFirewalls and the web hook, on a real API server and on the embedded one."""
import pytest

import crdlib
from bothlib import c as served, embedded, real  # noqa: F401 (fixtures)
from controllerlib import events, namespace, until
from egresslib import (DEPTH, GROUP, HOOK_FLAGS, LOOSE_CRD, MANAGER, Zone, condition, firewall, firewalls_path, get, make_firewall, messages,
                       names_path, prepare, register, rule, run_controller, status_of, system_of,
                       wait_items, write_items)
from lib import cluster, server
from lib.cluster import Cluster
from lib.ports import free_port
from poddnslib import send

# 203.0.113.66 also inside of IPv6: as a mapped address, by NAT64, by 6to4.
RECORDS = ("www A 192.0.2.1\nwww AAAA 2001:db8::1\nevil A 203.0.113.66\nevil A 203.0.113.67\n"
           "evil AAAA ::ffff:203.0.113.66\nevil AAAA 64:ff9b::cb00:7142\nevil AAAA 2002:cb00:7142::1\nevil AAAA 2001:db8::67\n"
           "inner A 127.0.0.5\ninner A 169.254.169.254\n")
HOOK = 'admission webhook "egressfirewalls.egress.fairlead.dev" denied the request: '


@pytest.fixture(scope="module")
def zone():
    with Zone(RECORDS, ttl=30) as one:
        yield one


@pytest.fixture(scope="module")
def c(served):  # noqa: F811
    return prepare(served)


@pytest.fixture(scope="module")
def controller(c, zone):
    p = run_controller(c, zone)
    yield p
    p.stop()


def node(c, name, labels, *ips):
    o = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}}
    status, body = c.call("POST", "/api/v1/nodes", o)
    assert status == 201, body
    change = {"status": {"addresses": [{"type": "InternalIP", "address": ip} for ip in ips] + [{"type": "Hostname", "address": name}]}}
    status, body = c.call("PATCH", f"/api/v1/nodes/{name}/status", change, content_type="application/merge-patch+json")
    assert status == 200, body


def test_each_rule_in_words(c, controller):
    """EF-S3, EF-S10, EF-S2: what each rule means now, conditions, and no write when nothing changes."""
    namespace(c, "words")
    node(c, "n1", {"role": "edge"}, "198.51.100.1", "2001:db8:1::1")
    make_firewall(c, "words", [
        rule("WWW.example.", ports=[{"protocol": "TCP", "port": 443}, {"protocol": "UDP", "port": 443}]),
        rule("*.example", "Deny"), rule({"matchLabels": {"role": "edge"}}), rule({"matchLabels": {"role": "none"}}),
        rule("missing.example"), rule("10.0.0.1/8"), rule("0.0.0.0/0", "Deny")])
    wanted = ["rule 0: Allow www.example TCP/443 UDP/443: 192.0.2.1, 2001:db8::1",
              "rule 1: Deny *.example: www.example (192.0.2.1, 2001:db8::1)",
              "rule 2: Allow nodes role in (edge): 198.51.100.1, 2001:db8:1::1",
              "rule 3: Allow nodes role in (none): no node",
              "rule 4: Allow missing.example: no addresses",
              "rule 5: Allow 10.0.0.0/8",
              "rule 6: Deny 0.0.0.0/0"]
    until(lambda: messages(c, "words") == wanted)
    assert condition(c, "words", "Valid") == ("True", "AsExpected", "")
    until(lambda: condition(c, "words", "NamesResolved") == ("False", "NotResolved", "missing.example: has no addresses"))
    kind, reason, text = condition(c, "words", "Warnings")
    assert (kind, reason) == ("True", "MultipleWarnings")
    for part in ("spec.egress[1].to.dnsName: a client can evade", "spec.egress[1].to.dnsName: a wildcard covers one label",
                 "spec.egress[5].to.cidrSelector: has bits behind its prefix: it means 10.0.0.0/8"):
        assert part in text
    assert status_of(c, "words")["status"] == "7 rules, 1 of 2 names have addresses"
    assert get(c, names_path("www.example"))["status"]["addresses"] == "192.0.2.1,2001:db8::1"
    # Another node, and a node that does not matter.
    node(c, "n2", {"role": "edge"}, "198.51.100.2")
    until(lambda: any(m.startswith("rule 2: ") and "198.51.100.2" in m for m in messages(c, "words")))
    version = get(c, firewalls_path("words", "default"))["metadata"]["resourceVersion"]
    node(c, "n3", {}, "198.51.100.3")
    passes = controller.looks()
    c.call("PATCH", "/api/v1/nodes/n3", {"metadata": {"labels": {"a": "b"}}}, content_type="application/merge-patch+json")
    until(lambda: controller.looks() > passes)
    assert get(c, firewalls_path("words", "default"))["metadata"]["resourceVersion"] == version


def test_cluster_addresses_are_not_learnt(c, controller):  # pylint: disable=unused-argument
    """An allowed name whose owner points it at a node opens nothing. One that has no other addresses is reported as such."""
    namespace(c, "never")
    node(c, "target", {}, "203.0.113.66")
    make_firewall(c, "never", ["evil.example", "inner.example"])
    wait_items(c, "evil.example", {"evil.example": ["203.0.113.67", "2001:db8::67"]})
    until(lambda: condition(c, "never", "NamesResolved")[2].startswith(
        "inner.example: has only addresses that are never learnt, such as 127.0.0.5: "))
    assert messages(c, "never")[1] == "rule 1: Allow inner.example: only addresses that are never learnt, such as 127.0.0.5"


# ---- the web hook ----


class Machine(cluster.Embedded):
    """`fairlead up` with this controller."""

    def start_api(self):
        self.api = cluster.Child("fairlead-up", [
            server.fairlead_program(), "up", "--data", self.data, "--api", f"127.0.0.1:{self.port}", "--dns",
            f"127.0.0.1:{free_port()}", "--controllers", "egressfirewall", *self.flags], self.dir)
        self.wait_ready()


@pytest.fixture(scope="module")
def loose(zone):
    """A real API server with the CRD of another program, which asks the hook."""
    with Cluster() as one:
        crdlib.apply_all(one, group=GROUP)
        assert one.call("DELETE", f"{crdlib.CRD_PATH}/egressfirewalls.{GROUP}")[0] == 200
        until(lambda: one.call("GET", f"{crdlib.CRD_PATH}/egressfirewalls.{GROUP}")[0] == 404)
        assert one.call("POST", crdlib.CRD_PATH, LOOSE_CRD)[0] == 201
        crdlib.established(one, f"egressfirewalls.{GROUP}")
        until(lambda: one.call("GET", f"/apis/{GROUP}/v1/egressfirewalls")[0] == 200)
        namespace(one, "before")
        namespace(one, "hooked")
        assert one.call("POST", firewalls_path("before"), firewall([rule("-bad.example"), rule("www.example")]))[0] == 201
        p = run_controller(one, zone, *HOOK_FLAGS)
        register(one, p)
        until(lambda: one.call("POST", firewalls_path("hooked") + "?dryRun=All", firewall(["a..example"]))[0] == 422)
        yield one
        assert p.stop() == 0, p.text()


@pytest.fixture(scope="module")
def machine():
    with Machine() as one:
        namespace(one, "hooked")
        # The API answers a moment before its controllers check what is written.
        until(lambda: send(one, "POST", firewalls_path("hooked") + "?dryRun=All", firewall(["a-.example"]))[0] == 422)
        yield one


def refused(c, rules, **meta):
    status, body, _ = send(c, "POST", firewalls_path("hooked") + "?dryRun=All", firewall(rules, **meta))
    assert status == 422, body
    return body["message"]


@pytest.mark.parametrize("where", ["loose", "machine"])
def test_hook(request, where):
    """EF-1, EF-S2, EF-S3, EF-S10: what the schema accepts and is not valid is refused with the field; warnings."""
    one = request.getfixturevalue(where)
    head = HOOK + 'EgressFirewall.k8s.ovn.org "default" is invalid: '
    assert refused(one, ["a-.example"]) == (
        head + 'spec.egress[0].to.dnsName: Invalid value: "a-.example": has a label that begins or ends with a hyphen')
    assert "spec.egress[1].to.dnsName" in refused(one, ["10.0.0.0/8", "192.0.2.1"])
    assert f"metadata.annotations[{DEPTH}]: Unsupported value" in refused(one, ["*.example"], annotations={DEPTH: "two"})
    if where == "loose":
        assert 'spec.egress[0].type: Unsupported value: "Allowed"' in refused(one, [rule("a.example", "Allowed")])
        ports = [{"protocol": "TCPish", "port": 1}]
        assert "spec.egress[0].ports[0].protocol: Unsupported value" in refused(one, [rule("a.example", ports=ports)])
        assert "spec.egress[0].to: Invalid value: exactly one of" in refused(one, [
            {"type": "Allow", "to": {"dnsName": "a.example", "cidrSelector": "10.0.0.0/8"}}])
    status, body, warnings = send(one, "POST", firewalls_path("hooked") + "?dryRun=All", firewall([rule("*.example", "Deny")]))
    assert status == 201, body
    assert " ".join(warnings).startswith("spec.egress[0].to.dnsName: a client can evade Deny by name") and len(warnings) == 4


def report(c, node_name, bypass="", boot="", **generations):
    """Writes what the agent of a node would."""
    lines = ""
    for ns, generation in sorted(generations.items()):
        uid = get(c, firewalls_path(ns, "default"))["metadata"]["uid"]
        lines += f"{ns} {uid} {generation}\n"
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"fairlead-node-{node_name}", "labels": {
        "egress.fairlead.dev/node-report": ""}}, "data": {"node": node_name, "bootID": boot, "dataPath": bypass, "firewalls": lines}}
    path = f"/api/v1/namespaces/default/configmaps/fairlead-node-{node_name}?fieldManager=test&force=true"
    status, reply = c.call("PATCH", path, body, content_type="application/apply-patch+yaml")
    assert status in (200, 201), reply


def test_enforced(c, controller):
    """EF-P11: a firewall is enforced when all nodes report its generation; nobody has to guess why it is not."""
    namespace(c, "enforced")
    make_firewall(c, "enforced", [rule("0.0.0.0/0", "Deny")])

    def is_now(*wanted):
        until(lambda: condition(c, "enforced", "Enforced") == wanted)
    is_now("Unknown", "NoAgents", "no node has an agent (fairlead node): nothing is known about enforcement")
    nodes = sorted(o["metadata"]["name"] for o in c.call("GET", "/api/v1/nodes")[1]["items"])
    for name in ("n8", "n9"):
        node(c, name, {}, "198.51.100.8")
    others = "; ".join(f"{name}: no agent" for name in nodes[:3])
    report(c, "n8", enforced=1)
    until(lambda: condition(c, "enforced", "Enforced")[2].startswith(f"in force on 1 of {len(nodes) + 2} nodes; {others}"))
    for name in nodes:
        report(c, name, enforced=1)
    is_now("False", "NotOnAllNodes", f"in force on {len(nodes) + 1} of {len(nodes) + 2} nodes; n9: no agent")
    report(c, "n9", enforced=1)
    is_now("True", "AsExpected", f"in force on {len(nodes) + 2} of {len(nodes) + 2} nodes")
    # A new generation is in force where it is reported.
    status, body = c.call("PATCH", firewalls_path("enforced", "default"), {"spec": {"egress": [rule("::/0", "Deny")]}},
                          content_type="application/merge-patch+json")
    assert status == 200, body
    until(lambda: condition(c, "enforced", "Enforced")[2].startswith(f"in force on 0 of {len(nodes) + 2} nodes"))
    for name in (*nodes, "n9"):
        report(c, name, enforced=2)
    report(c, "n8", bypass="packets go elsewhere", enforced=2)
    is_now("False", "DataPathBypassed", f"in force on {len(nodes) + 1} of {len(nodes) + 2} nodes; n8: packets go elsewhere")
    # Rules do not survive a boot, whatever the report says.
    report(c, "n8", boot="before", enforced=2)
    is_now("True", "AsExpected", f"in force on {len(nodes) + 2} of {len(nodes) + 2} nodes")
    status, body = c.call("PATCH", "/api/v1/nodes/n8/status", {"status": {"nodeInfo": {"bootID": "after"}}},
                          content_type="application/merge-patch+json")
    assert status == 200, body
    is_now("False", "NotOnAllNodes",
           f"in force on {len(nodes) + 1} of {len(nodes) + 2} nodes; n8: no report since the node has booted")
    for name in (*nodes, "n8", "n9"):
        c.call("DELETE", f"/api/v1/namespaces/default/configmaps/fairlead-node-{name}")
    for name in ("n8", "n9"):
        c.call("DELETE", f"/api/v1/nodes/{name}")
    until(lambda: condition(c, "enforced", "Enforced")[:2] == ("Unknown", "NoAgents"))


def applies(c, ns, manager, status):
    """Another program applies its part of the status."""
    body = {"apiVersion": f"{GROUP}/v1", "kind": "EgressFirewall", "metadata": {"name": "default"}, "status": status}
    code, reply = c.call("PATCH", firewalls_path(ns, "default") + f"/status?fieldManager={manager}&force=true", body,
                         content_type="application/apply-patch+yaml", token=system_of(c))
    assert code == 200, reply


def owners(o, *path):
    """Which field managers own a member of the status, at a path of managedFields."""
    def has(fields):
        for key in ("f:status", *path):
            fields = fields.get(key)
            if fields is None:
                return False
        return True
    return sorted({x["manager"] for x in o["metadata"]["managedFields"] if has(x["fieldsV1"])})


def test_writers_own_their_fields(c, controller):  # pylint: disable=unused-argument
    """EF-S8: what other programs report in the status of a firewall survives our writes, and ours theirs; a DNSName has one writer."""
    namespace(c, "writers")
    make_firewall(c, "writers", [rule("www.example"), rule("10.0.0.0/8")])
    ours = ["rule 0: Allow www.example: 192.0.2.1, 2001:db8::1", "rule 1: Allow 10.0.0.0/8"]
    until(lambda: messages(c, "writers") == ours)
    until(lambda: condition(c, "writers", "NamesResolved")[0] == "True" and status_of(c, "writers")["status"].startswith("2 rules"))
    theirs = {"status": "EgressFirewall Rules applied", "messages": ["zone-1: EgressFirewall Rules applied"], "conditions": [
        {"type": "Ready-In-Zone-zone-1", "status": "True", "reason": "Applied", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}
    applies(c, "writers", "zone-1", theirs)

    def theirs_are_there():
        now = status_of(c, "writers")
        return (now["status"] == theirs["status"] and theirs["messages"][0] in now["messages"] and
                theirs["conditions"][0] in now["conditions"])
    assert theirs_are_there()
    # We write again and again: rules, addresses of nodes, conditions.
    for number in range(3):
        version = get(c, firewalls_path("writers", "default"))["metadata"]["resourceVersion"]
        status, body = c.call("PATCH", firewalls_path("writers", "default"), {"spec": {"egress": [
            rule("www.example"), rule(f"10.{number}.0.0/16"), rule("www.example", "Deny" if number % 2 else "Allow")]}},
            content_type="application/merge-patch+json")
        assert status == 200 and body["metadata"]["resourceVersion"] != version, body
        until(lambda number=number: f"rule 1: Allow 10.{number}.0.0/16" in messages(c, "writers"))
        until(lambda number=number: condition(c, "writers", "Warnings")[0] == ("True" if number % 2 else "False"))
        assert theirs_are_there(), status_of(c, "writers")
    ours = [m for m in messages(c, "writers") if m not in theirs["messages"]]
    assert ours == ["rule 0: Allow www.example: 192.0.2.1, 2001:db8::1", "rule 1: Allow 10.2.0.0/16",
                    "rule 2: Allow www.example: 192.0.2.1, 2001:db8::1"]
    # They write again, and leave: what is ours stays, and nobody writes for ever.
    theirs["messages"] = ["zone-1: EgressFirewall Rules not applied"]
    applies(c, "writers", "zone-1", theirs)
    assert set(messages(c, "writers")) == {*ours, *theirs["messages"]} and condition(c, "writers", "Valid")[0] == "True"
    now = get(c, firewalls_path("writers", "default"))
    assert owners(now, "f:status") == ["zone-1"]
    assert owners(now, "f:messages", f'v:"{ours[0]}"') == [MANAGER]
    assert owners(now, "f:messages", f'v:"{theirs["messages"][0]}"') == ["zone-1"]
    assert owners(now, "f:conditions", 'k:{"type":"Valid"}') == [MANAGER]
    assert owners(now, "f:conditions", 'k:{"type":"Ready-In-Zone-zone-1"}') == ["zone-1"]
    applies(c, "writers", "zone-1", {})
    until(lambda: messages(c, "writers") == ours)
    until(lambda: status_of(c, "writers").get("status", "").startswith("3 rules"))
    now = get(c, firewalls_path("writers", "default"))
    assert owners(now, "f:status") == [MANAGER] and owners(now, "f:messages") == [MANAGER]
    # A DNSName's items are the controller's, all of them, also after somebody else wrote there.
    write_items(c, "www.example", {"www.example": ["203.0.113.9"], "other.example": ["203.0.113.10"]})
    wait_items(c, "www.example", {"www.example": ["192.0.2.1", "2001:db8::1"]})
    name = get(c, names_path("www.example"))
    assert owners(name, "f:items") == owners(name, "f:items", 'k:{"dnsname":"www.example"}') == ["fairlead"], name["metadata"]["managedFields"]
    assert owners(name, "f:items", 'k:{"dnsname":"other.example"}') == []


def test_conditions_that_are_pruned(loose):
    """EF-S2: lines of status.messages carry them; a firewall from before the hook counts with its valid rules."""
    until(lambda: len(messages(loose, "before")) == 5 and "NamesResolved=True" in messages(loose, "before")[1])
    assert messages(loose, "before") == [
        'fairlead: Valid=False InvalidRules: spec.egress[0].to.dnsName: Invalid value: "-bad.example": '
        "has a label that begins or ends with a hyphen",
        "fairlead: NamesResolved=True AsExpected", "fairlead: Warnings=False NoWarnings",
        "fairlead: Enforced=Unknown NoAgents: no node has an agent (fairlead node): nothing is known about enforcement",
        "rule 1: Allow www.example: 192.0.2.1, 2001:db8::1"]
    assert "conditions" not in status_of(loose, "before")
    until(lambda: [e for e in events(loose, "before") if e["reason"] == "InvalidRules"])
    # Lines of others stay, and metadata may change without a check of the rules.
    applied = {"apiVersion": f"{GROUP}/v1", "kind": "EgressFirewall", "metadata": {"name": "default"},
               "status": {"messages": ["zone-1: EgressFirewall Rules applied"]}}
    path = firewalls_path("before", "default")
    status, body = loose.call("PATCH", path + "/status?fieldManager=zone-1", applied, content_type="application/apply-patch+yaml")
    assert status == 200, body
    status, body = loose.call("PATCH", path, {"metadata": {"labels": {"a": "b"}}}, content_type="application/merge-patch+json")
    assert status == 200, body
    status, body = loose.call("PATCH", path, [{"op": "remove", "path": "/spec/egress/0"}], content_type="application/json-patch+json")
    assert status == 200, body
    until(lambda: "fairlead: Valid=True AsExpected" in messages(loose, "before"))
    assert "zone-1: EgressFirewall Rules applied" in messages(loose, "before")
    assert not [m for m in messages(loose, "before") if "InvalidRules" in m]
