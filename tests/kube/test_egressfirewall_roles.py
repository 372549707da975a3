# SPDX-License-Identifier: GPL-3.0-or-later
"""The controller egressfirewall with its shipped roles and policy, on a real API server with RBAC: what it asks for is what it
was given, and nobody else writes DNSNames. On OpenShift, and when it is killed."""
import json
import time

import pytest

import crdlib
from controllerlib import namespace, objects, start, until
from egresslib import (GROUP, HOOK_FLAGS, MANAGER, MERGE, Zone, change_rules, condition, delete, firewall, firewalls_path, flags, items, make_firewall,
                       names_path, register, rule, wait_items)
from lib import cluster
from test_rbac import Audited, install_roles

TOKEN = "egress-token"
USER = f"system:serviceaccount:fairlead:{MANAGER}"
RECORDS = "www A 192.0.2.1\nother A 192.0.2.2\n" + "".join(f"h{i} A 192.0.2.{10 + i}\n" for i in range(30))
GATE = ["--feature-gates", "EgressFirewallHold=true"]
POLICIES = "/apis/admissionregistration.k8s.io/v1"


@pytest.fixture(scope="module")
def zone():
    with Zone(RECORDS, ttl=30) as one:
        yield one


@pytest.fixture(scope="module")
def c():
    with Audited(USER, TOKEN) as one:
        crdlib.apply_all(one, group=GROUP)
        crdlib.apply_all(one, group="config.openshift.io")
        install_roles(one, "egressfirewall", "egressfirewall-openshift", "egressfirewall-webhooks")
        for o in objects(one, "deploy/policies/egressfirewall.yaml"):
            plural = "validatingadmissionpolicies" if o["kind"].endswith("Policy") else "validatingadmissionpolicybindings"
            status, body = one.call("POST", f"{POLICIES}/{plural}", o)
            assert status == 201, body
        name = {"apiVersion": f"{GROUP}/v1", "kind": "DNSName", "metadata": {"name": "probe.example"}, "spec": {}}
        until(lambda: one.call("POST", names_path(ns="fairlead") + "?dryRun=All", name)[0] == 403)
        yield one


def run(c, zone, *args):
    p = start(c.kubeconfig(TOKEN, "fairlead"), "--lookup-servers", zone.address, *args, controllers="egressfirewall")
    p.wait_line("leading as")
    return p


def used(c, since):
    """{(verb, resource, namespace)} of what was asked; namespace of DNSNames only."""
    found = set()
    for e in cluster.whole_lines(c.audit, since):
        ref = e.get("objectRef", {})
        resource = ref.get("resource", "") + (f"/{ref['subresource']}" if "subresource" in ref else "")
        found.add((e["verb"], resource, ref.get("namespace") if resource.startswith(("dnsnames", "secrets")) else None))
    return found


def granted(c):
    found = set()
    for name in ("egressfirewall", "egressfirewall-openshift", "egressfirewall-webhooks"):
        for o in objects(c, f"deploy/rbac/{name}.yaml"):
            for r in o.get("rules", []):
                for resource in r["resources"]:
                    ns = o["metadata"].get("namespace") if resource.startswith(("dnsnames", "secrets")) else None
                    found |= {(verb, resource, ns) for verb in r["verbs"]}
    return found


def scenario(c, zone, ns, names_ns, *args):
    """Rules come, change and go, with an invalid one."""
    namespace(c, ns)
    p = run(c, zone, *args)
    make_firewall(c, ns, ["www.example", "*.example"])
    wait_items(c, "www.example", {"www.example": ["192.0.2.1"]}, ns=names_ns)
    change_rules(c, ns, ["www.example", "*.www.example"])
    until(lambda: flags(c, "wildcard.example", names_ns) is None)
    change_rules(c, ns, ["wildcard.www.example"])
    until(lambda: flags(c, "wildcard.www.example", names_ns) == (True, False))
    return p


def test_roles_and_policy(c, zone):
    """EF-4: the roles are enough and nothing more; only the controller writes DNSNames."""
    since = c.size()
    p = scenario(c, zone, "plain", "fairlead", "--platform", "kubernetes", *GATE, *HOOK_FLAGS)
    register(c, p)
    until(lambda: c.call("POST", firewalls_path("plain"), firewall(["-a.example"]))[0] == 422)
    change_rules(c, "plain", ["www.example"])
    wait_items(c, "www.example", {"www.example": ["192.0.2.1"]}, ns="fairlead")
    for method, path, body in (("PATCH", names_path("www.example", "fairlead"), {"spec": {"iswildcard": True}}),
                               ("PATCH", names_path("www.example", "fairlead") + "/status", {"status": {"items": []}})):
        status, answer = c.call(method, path, body, content_type=MERGE)
        assert status == 403 and "is written by the controller egressfirewall only" in answer["message"], answer
    delete(c, names_path("www.example", "fairlead"))
    wait_items(c, "www.example", {"www.example": ["192.0.2.1"]}, ns="fairlead")
    delete(c, firewalls_path("plain", "default"))
    until(lambda: flags(c, "www.example", "fairlead") is None)
    assert p.stop() == 0, p.text()
    c.call("DELETE", f"{POLICIES}/validatingwebhookconfigurations/{MANAGER}")
    # OpenShift, by its network object; an Event for rules that no hook saw.
    network = {"apiVersion": "config.openshift.io/v1", "kind": "Network", "metadata": {"name": "cluster"},
               "spec": {"clusterNetwork": [{"cidr": "192.0.2.2/32", "hostPrefix": 32}]}}
    status, body = c.call("POST", "/apis/config.openshift.io/v1/networks", network)
    assert status == 201, body
    p = scenario(c, zone, "shift", "openshift-dns", *GATE)
    change_rules(c, "shift", ["other.example", "a-.example"])
    until(lambda: [e for e in c.call("GET", "/apis/events.k8s.io/v1/namespaces/shift/events")[1]["items"]
                   if e["reason"] == "InvalidRules"])
    change_rules(c, "shift", ["www.example"])
    wait_items(c, "www.example", {"www.example": ["192.0.2.1"]}, ns="openshift-dns")
    assert items(c, "other.example", "openshift-dns") == {}  # the cluster's own
    assert flags(c, "www.example", "fairlead") is None
    delete(c, firewalls_path("shift", "default"))
    until(lambda: flags(c, "www.example", "openshift-dns") is None)
    assert p.stop() == 0, p.text()
    refused = {r for r in c.refused(since) if r[1] != "egressfirewalls"}
    assert refused == set()
    # Not in so short a time: a second Event of the same kind, another certificate, another key.
    rare = {("patch", "events", None), ("update", "secrets", "fairlead"), ("patch", "secrets", "kube-system"),
            ("patch", "secrets", "fairlead"), ("patch", "secrets", "openshift-dns")}
    unused = granted(c) - used(c, since) - rare
    assert unused == set(), unused


def test_killed_at_any_time(c, zone):
    """EF-P8 (the API's part): whatever was being written, the next process arrives at the same state."""
    namespace(c, "killed")
    rules = [f"h{i}.example" for i in range(30)] + ["*.example", rule("10.0.0.0/8", "Deny")]
    make_firewall(c, "killed", rules[:15])
    for pause in (0.0, 0.02, 0.05, 0.1, 0.2):
        p = run(c, zone, "--no-election")
        until(lambda: p.looks() > 0)  # pylint: disable=cell-var-from-loop
        change_rules(c, "killed", rules[15:] if pause in (0.02, 0.1) else rules)
        time.sleep(pause)  # the moment of the kill
        p.kill()
    p = run(c, zone, "--no-election")

    def names():
        body = c.call("GET", names_path(ns="openshift-dns"))[1]
        return {o["metadata"]["name"]: [x["ip"] for i in o.get("status", {}).get("items", []) for x in i["info"]]
                for o in body["items"] if o["metadata"]["name"] != "wildcard.example"}

    until(lambda: names() == {f"h{i}.example": [f"192.0.2.{10 + i}"] for i in range(30)}, 30, 0.2)
    until(lambda: len(items(c, "wildcard.example", "openshift-dns")) == 30)
    until(lambda: condition(c, "killed", "NamesResolved")[0] == "True")
    # Settled: nothing is written any more.
    since = c.size()
    passes = p.looks()
    c.call("PATCH", firewalls_path("killed", "default"), {"metadata": {"labels": {"a": "b"}}}, content_type=MERGE)
    until(lambda: p.looks() > passes)
    writes = [json.dumps(e) for e in cluster.whole_lines(c.audit, since) if e["verb"] in ("create", "patch", "delete")]
    assert writes == []
    delete(c, firewalls_path("killed", "default"))
    until(lambda: c.call("GET", names_path(ns="openshift-dns"))[1]["items"] == [], 30)
    assert p.stop() == 0, p.text()
