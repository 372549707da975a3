# SPDX-License-Identifier: GPL-3.0-or-later
"""OP-D4: ClusterOperator `dns`, and the DNS object that must be there on OpenShift."""
import pytest

from controllerlib import until
from test_dnsoperator import DNS
from test_dnsoperator_health import (OPERATOR, SETS, WELL, look, place, run,  # noqa: F401 pylint: disable=unused-import
                                     server)

# pylint: disable=redefined-outer-name
FOUR = ["Available", "Progressing", "Degraded", "Upgradeable"]
FINE = ["True AsExpected", "False AsExpected", "False DNSNotDegraded", "True DNSUpgradeable"]
GONE = ["False DNSDoesNotExist", "True DNSDoesNotExist", "True DNSDoesNotExist", "True DNSUpgradeable"]


@pytest.fixture
def operator(place):  # noqa: F811
    class Operator:
        """Its status."""

        def get(self):
            status, o = place.call("GET", OPERATOR)
            return o if status == 200 else {}

        def conditions(self):
            return {c["type"]: c for c in self.get().get("status", {}).get("conditions", [])}

        def four(self):
            now = self.conditions()
            return [f"{now[t]['status']} {now[t]['reason']}" if t in now else "" for t in FOUR]

        def versions(self):
            return {v["name"]: v["version"] for v in self.get().get("status", {}).get("versions") or []}
    return Operator()


def test_life(place, run, operator):  # noqa: F811
    """Made when it is missing; it follows the DNS object; a settled operator writes neither."""
    place.all_is_well()
    p = run("--dns-settle-time", "1s")
    until(lambda: operator.four() == FINE)
    place.become(*WELL)
    assert [(o["resource"], o["name"]) for o in operator.get()["status"]["relatedObjects"]][1] == ("dnses", "default")
    place.pods(3, 3, 0)
    until(lambda: operator.four() == ["False DNSUnavailable", FINE[1], "True DNSDegraded", FINE[3]])
    assert "NoDNSPodsAvailable" in operator.conditions()["Degraded"]["message"]
    place.pods(3, 1, 3)
    until(lambda: operator.four() == [FINE[0], "True DNSReportsProgressingIsTrue", *FINE[2:]])
    place.pods(3, 3, 3)
    until(lambda: operator.four() == FINE)
    place.dns({"managementState": "Unmanaged"})
    until(lambda: operator.four() == [*FINE[:3], "False DNSNotUpgradeable"])
    before = operator.get()
    for _ in range(3):
        look(place, p)
    assert operator.get() == before


def test_deleted_comes_back(place, run, operator):  # noqa: F811
    """Deleted or overwritten by another writer: it is restored at once."""
    place.all_is_well()
    run()
    until(lambda: operator.four() == FINE)
    uid = operator.get()["metadata"]["uid"]
    place.done("DELETE", OPERATOR)
    until(lambda: operator.get().get("metadata", {}).get("uid", uid) != uid and operator.four() == FINE)
    since = {t: c["lastTransitionTime"] for t, c in operator.conditions().items()}
    place.done("PATCH", f"{OPERATOR}/status", {"status": {"versions": [], "relatedObjects": []}}, "application/merge-patch+json")
    until(lambda: len(operator.versions()) == 4)
    assert {t: c["lastTransitionTime"] for t, c in operator.conditions().items()} == since


def test_restart_and_kill(place, run, operator):  # noqa: F811
    place.all_is_well()
    p = run()
    until(lambda: operator.four() == FINE)
    before = operator.get()
    p.kill()
    p = run()
    until(lambda: p.looks() > 0)
    look(place, p)
    assert operator.get() == before
    p.kill()
    place.done("DELETE", OPERATOR)
    place.done("DELETE", f"{SETS}/dns-default")
    place.done("PATCH", f"{DNS}/default", {"spec": {"managementState": "Unmanaged"}}, "application/merge-patch+json")
    run()
    until(lambda: operator.four() == ["False DNSUnavailable", FINE[1], FINE[2], "False DNSNotUpgradeable"])


def test_dns_object_is_missed(place, run, operator):  # noqa: F811
    """Made at the start. One that is deleted later is missed, and not made again at once: whoever deleted it may be about
    to write another."""
    place.all_is_well()
    p = run()
    until(lambda: operator.four() == FINE)
    assert place.done("GET", f"{DNS}/default")["spec"].get("templates") is None
    place.done("DELETE", f"{DNS}/default")
    until(lambda: operator.four() == GONE)
    assert place.call("GET", f"{DNS}/default")[0] == 404
    assert operator.conditions()["Available"]["message"] == 'DNS "default" does not exist.'
    assert place.call("GET", f"{SETS}/dns-default")[0] == 404  # as OpenShift's operator: it goes with the object
    p.stop()
    place.all_is_well()
    run()
    until(lambda: operator.four() == FINE)
    place.become(*WELL)


def test_versions(place, run, operator, monkeypatch):  # noqa: F811
    """A version is reported when all pods have it, the operator's when all operands have theirs."""
    def images(image):
        for name in ("dns-default", "node-resolver"):
            o = place.done("GET", f"{SETS}/{name}")
            o["spec"]["template"]["spec"]["containers"][0]["image"] = image
            place.done("PUT", f"{SETS}/{name}", o)
    place.dns({"managementState": "Unmanaged"})
    place.all_is_well()
    for name in ("IMAGE", "OPENSHIFT_CLI_IMAGE"):
        monkeypatch.setenv(name, "i")
    monkeypatch.setenv("RELEASE_VERSION", "4.20.1")
    p = run()
    want = {"operator": "4.20.1", "coredns": "i", "openshift-cli": "i", "kube-rbac-proxy": "unknown"}
    until(lambda: operator.versions() == want)
    p.stop()
    for name in ("IMAGE", "OPENSHIFT_CLI_IMAGE"):
        monkeypatch.setenv(name, "j")
    monkeypatch.setenv("RELEASE_VERSION", "4.21.0")
    run()
    until(lambda: operator.four()[1] == "True Upgrading")
    assert operator.conditions()["Progressing"]["message"] == (
        'Upgrading coredns to "j".\nUpgrading openshift-cli to "j".\nUpgrading operator to "4.21.0".')
    assert operator.versions() == want
    images("j")
    place.daemonset("dns-default", 3, 3, 3)
    place.poke()
    until(lambda: operator.versions() == {**want, "coredns": "j"})
    place.daemonset("node-resolver", 3, 3, 3)
    place.poke()
    until(lambda: operator.versions() == {**want, "coredns": "j", "openshift-cli": "j", "operator": "4.21.0"})
    until(lambda: operator.four()[1] == "False AsExpected")
