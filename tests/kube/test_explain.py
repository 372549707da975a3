# SPDX-License-Identifier: GPL-3.0-or-later
"""`fairlead explain` on a real API server and on the embedded one: which rule decides, from which answer, and odd inputs."""
import json
import subprocess

import pytest

from bothlib import c as served, embedded, real_only  # noqa: F401 (fixtures)
from controllerlib import namespace, until
from egresslib import OWN, Zone, make_firewall, prepare, rule, run_controller, wait_items
from lib import server
from lib.cluster import Cluster

RECORDS = """
www    A     192.0.2.1
www    AAAA  2001:db8::1
alias  CNAME www
"""
HTTPS = [{"protocol": "TCP", "port": 443}]
BAD_USAGE = 64
READER = "token-of-a-reader"


@pytest.fixture(scope="module")
def real():
    with Cluster(users={READER: ("reader", ["system:authenticated"])}, rbac=True) as one:
        yield one


@pytest.fixture(scope="module")
def c(served):  # noqa: F811
    return prepare(served)


@pytest.fixture(scope="module")
def known(c):
    """A namespace with rules whose names have addresses, and one without rules."""
    for ns in ("shop", "empty"):
        namespace(c, ns)
    make_firewall(c, "shop", [rule("alias.example", ports=HTTPS), rule("www.example"), rule("*.Wild.example", "Deny"),
                              rule("0.0.0.0/0", "Deny")])
    with Zone(RECORDS, ttl=30) as zone:
        p = run_controller(c, zone)
        wait_items(c, "alias.example", {"alias.example": ["192.0.2.1", "2001:db8::1"]})
        wait_items(c, "www.example", {"www.example": ["192.0.2.1", "2001:db8::1"]})
        yield c
        assert p.stop() == 0, p.text()


def explain(c, *args, token=None):
    done = subprocess.run([server.fairlead_program(), "explain", "--kubeconfig", c.kubeconfig(token or c.admin), *args], check=False,
                          capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout, done.stderr


def explained(c, *args):
    status, out, err = explain(c, *args, "-o", "json")
    assert (status, err) == (0, "")
    return json.loads(out)


def steps(report, ns="shop"):
    """[(address, [(action, rule, ports)])] of a namespace."""
    found = [n for n in report["namespaces"] if n["namespace"] == ns]
    assert len(found) == 1, report
    return [(d.get("address"), [(s["action"], s.get("rule"), s.get("ports", [])) for s in d["steps"]])
            for d in found[0]["decisions"]]


def test_names_and_addresses(known):
    """EF-P11: the rule, the name and the chain, first seen; by name and by address."""
    report = explained(known, "Alias.Example.")
    assert report["name"] == "alias.example"
    assert {(k["address"], k["name"], k["canonicalName"], k["dnsName"]) for k in report["known"]} == {
        (ip, "alias.example", "www.example", f"{OWN}/alias.example") for ip in ("192.0.2.1", "2001:db8::1")}
    assert all(k["firstSeen"] <= k["lastReported"] < k["nextLookup"] for k in report["known"])
    both = [("Allow", 0, ["TCP/443"]), ("Allow", 1, [])]
    assert steps(report) == [("192.0.2.1", both), ("2001:db8::1", both)]
    assert steps(explained(known, "::ffff:192.0.2.1")) == [("192.0.2.1", both)]
    assert steps(explained(known, "192.0.2.2")) == [("192.0.2.2", [("Deny", 3, [])])]
    assert steps(explained(known, "2001:db8::2")) == [("2001:db8::2", [("Allow", None, [])])]
    status, out, err = explain(known, "192.0.2.1")
    assert (status, err) == (0, "")
    assert "192.0.2.1 of alias.example, through its CNAME www.example (DNSName default/alias.example)\n" in out
    assert "    Allow TCP/443: rule 0, Allow alias.example TCP/443: alias.example\n" in out


def test_names_without_addresses(known):
    """EF-S3, EF-S10: one label, and what denying by name is worth."""
    report = explained(known, "a.wild.example")
    assert report["known"] == [] and steps(report) == [(None, [("Deny", 2, [])])]
    assert any("denies by name" in n for n in report["namespaces"][0]["notes"])
    report = explained(known, "a.b.wild.example")
    assert steps(report) == [(None, [("Deny", 3, []), ("Allow", None, [])])]
    assert any("one label only" in n for n in report["namespaces"][0]["notes"])


def test_one_namespace(known):
    assert [n["namespace"] for n in explained(known, "192.0.2.1", "-n", "empty")["namespaces"]] == ["empty"]
    report = explained(known, "192.0.2.1", "-n", "empty")
    assert not report["namespaces"][0]["hasFirewall"] and steps(report, "empty") == [("192.0.2.1", [("Allow", None, [])])]
    assert steps(explained(known, "-n", "shop", "192.0.2.2", "--names-namespace", OWN)) == [("192.0.2.2", [("Deny", 3, [])])]
    status, out, err = explain(known, "192.0.2.1", "-n", "no-such")
    assert (status, out) == (1, "") and err == "fairlead explain: the namespace 'no-such' does not exist\n"


@pytest.mark.parametrize("args, wanted", [
    (["10.0.0.0/8"], "'10.0.0.0/8' is no name and no single address; give one address of a range"),
    (["bücher.example"], "'bücher.example' must be ASCII; write an internationalized name in its \"xn--\" form"),
    (["a" * 64 + ".example"], "has a label of more than 63 characters"),
    (["a." * 128], "may have at most 253 characters"),
    (["*.example.com"], "'*.example.com' is a wildcard; give a name that it should cover"),
    (["256.1.1.1"], "'256.1.1.1' is no IPv4 address, and no name ends in a number"),
    ([""], "'' is neither a name nor an address"),
    ([], "give one name or address, not 0, try --help"),
    (["a.example", "b.example"], "give one name or address, not 2, try --help"),
    (["a.example", "-o", "yaml"], "-o: 'yaml' is none of text json"),
    (["a.example", "--names-namespace", "a/b"], "--names-namespace: 'a/b' cannot be the name of a namespace"),
    (["a.example", "--wrong"], "try --help"),
])
def test_bad_usage(args, wanted):
    done = subprocess.run([server.fairlead_program(), "explain", *args], check=False, capture_output=True, text=True, timeout=60)
    assert done.returncode == BAD_USAGE and done.stdout == "" and wanted in done.stderr


def grant(c, kind, path, rules):
    """Rights of the reader: a role and its binding."""
    subject = {"kind": "User", "name": "reader", "apiGroup": "rbac.authorization.k8s.io"}
    role = {"kind": kind, "name": "reader", "apiGroup": "rbac.authorization.k8s.io"}
    plural = kind.lower() + "s"
    binding = plural[:-1] + "bindings"
    for name, body in ((plural, {"rules": rules}), (binding, {"subjects": [subject], "roleRef": role})):
        status, answer = c.call("POST", f"/apis/rbac.authorization.k8s.io/v1{path}/{name}", {"metadata": {"name": "reader"}, **body})
        assert status == 201, answer


@real_only("identities", fixture="served")
def test_a_user_with_few_rights(known):
    """Reading one namespace's firewall and the DNSNames is enough; what may not be read is named."""
    args = ["192.0.2.1", "-n", "shop", "--names-namespace", OWN]
    status, out, err = explain(known, *args, token=READER)
    assert (status, out) == (1, "") and "egressfirewalls" in err and "forbidden" in err
    grant(known, "Role", "/namespaces/shop", [{"apiGroups": ["k8s.ovn.org"], "resources": ["egressfirewalls"], "verbs": ["list"]}])
    grant(known, "Role", f"/namespaces/{OWN}", [{"apiGroups": ["k8s.ovn.org"], "resources": ["dnsnames"], "verbs": ["list"]}])
    until(lambda: explain(known, *args, token=READER)[0] == 0)
    status, out, err = explain(known, *args, token=READER)
    assert status == 0 and "rule 0, Allow alias.example TCP/443" in out
    assert "warning: nodes are left out: " in err and "warning: endpointslices are left out: " in err
    status, out, err = explain(known, "192.0.2.1", token=READER)
    assert status == 1 and out == ""
