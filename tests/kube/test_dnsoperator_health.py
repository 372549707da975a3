# SPDX-License-Identifier: GPL-3.0-or-later
"""OP-D4, OP-T15: Progressing, Available, Upgradeable and Degraded of `DNS default` on OpenShift. A real API server; no kubelet, so the
test itself writes the numbers of pods."""
import itertools
import random

import pytest

import crdlib
from controllerlib import Controller, stopping, until
from lib import cluster
from test_dnsoperator import DNS, LEGACY, SERVER, Place

NS = "openshift-dns"
SETS = f"/apis/apps/v1/namespaces/{NS}/daemonsets"
SERVICES = f"/api/v1/namespaces/{NS}/services"
OPERATOR = "/apis/config.openshift.io/v1/clusteroperators/dns"
LABELS = {"dns-default": {"dns.operator.openshift.io/daemonset-dns": "default"},
          "node-resolver": {"dns.operator.openshift.io/daemonset-node-resolver": ""}}
MERGE = "application/merge-patch+json"
FOUR = ["Progressing", "Available", "Upgradeable", "Degraded"]
numbers = itertools.count(1)


class Openshift(Place):
    """The objects that run the DNS of a cluster, as far as an API server has them."""

    def daemonset(self, name, desired, updated, available):
        """Creates it if it is missing. Pods that it should have, has of its last version, and has available."""
        labels = LABELS[name]  # a selector cannot be changed
        self.call("POST", SETS, {
            "apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": name},
            "spec": {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": {
                "nodeSelector": {"kubernetes.io/os": "linux"},
                "tolerations": [{"key": "node-role.kubernetes.io/master", "operator": "Exists"}],
                "containers": [{"name": "dns" if name == "dns-default" else "dns-node-resolver", "image": "i"}]}}}})
        generation = self.done("GET", f"{SETS}/{name}")["metadata"]["generation"]
        self.done("PATCH", f"{SETS}/{name}/status", {"status": {
            "observedGeneration": generation, "desiredNumberScheduled": desired, "updatedNumberScheduled": updated, "numberAvailable": available,
            "currentNumberScheduled": desired, "numberMisscheduled": 0, "numberReady": available}}, MERGE)

    def pods(self, desired, updated, available):
        self.daemonset("dns-default", desired, updated, available)
        self.poke()

    def service(self):
        self.call("POST", SERVICES, {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "dns-default"},
                                     "spec": {"ports": [{"port": 53, "protocol": "UDP"}]}})

    def all_is_well(self):
        self.service()
        self.daemonset("node-resolver", 3, 3, 3)
        self.daemonset("dns-default", 3, 3, 3)

    def poke(self):
        """Triggers a reconcile."""
        self.done("PATCH", f"{DNS}/default", {"metadata": {"annotations": {"poked": str(next(numbers))}}}, MERGE)

    def four(self):
        now = self.conditions()
        return [f"{now[t]['status']} {now[t]['reason']}" if t in now else "" for t in FOUR]

    def become(self, *want):
        until(lambda: self.four() == list(want) or self.poke(), every=0.2)

    def clean(self):
        super().clean()
        for path in (OPERATOR, f"{SETS}/dns-default", f"{SETS}/node-resolver", f"{SERVICES}/dns-default"):
            self.call("DELETE", path)
            until(lambda: self.call("GET", path)[0] == 404)  # pylint: disable=cell-var-from-loop


WELL = ["False AsExpected", "True AsExpected", "True AsExpected", "False AsExpected"]
LACKING = [*WELL[:3], "True DegradedConditions"]


@pytest.fixture(scope="module")
def server():
    with cluster.Cluster() as c:
        p = Openshift(c.url, c.ca, cluster.ADMIN, cluster.ADMIN)
        crdlib.apply_all(c, group="openshift.io")
        p.namespace(NS)
        yield p


@pytest.fixture
def place(server):  # pylint: disable=redefined-outer-name
    server.clean()
    yield server


@pytest.fixture
def run(place, tmp_path):  # pylint: disable=redefined-outer-name
    def make(*args):
        return Controller(place.kubeconfig(str(tmp_path)), "--no-election", "--platform", "openshift", *args,
                          controllers="dnsoperator")
    with stopping(make) as start:
        yield start


def look(place, p):  # pylint: disable=redefined-outer-name
    """Waits for a reconcile that begins now."""
    before = p.looks()
    place.poke()
    until(lambda: p.looks() >= before + 1)


def test_from_nothing_to_all(place, run):  # pylint: disable=redefined-outer-name
    """Unmanaged: no object is created, and the whole status is reported."""
    place.dns({"managementState": "Unmanaged"})
    run()
    place.become("True Reconciling", "False NoDaemonSetNoService", "False OperatorUnmanaged", "False AsExpected")
    place.service()
    place.become("True Reconciling", "False NoDaemonSet", "False OperatorUnmanaged", "False AsExpected")
    assert place.conditions()["Progressing"]["message"] == (
        "The DNS daemonset does not exist.\nThe node-resolver daemonset does not exist.")
    place.daemonset("dns-default", 3, 1, 0)
    place.daemonset("node-resolver", 3, 3, 3)
    place.become("True Reconciling", "False NoDaemonSetPods", "False OperatorUnmanaged", "False AsExpected")
    # it may have looked between the two DaemonSets
    until(lambda: place.conditions()["Progressing"]["message"] == "Have 1 up-to-date DNS pods, want 3.")
    place.pods(3, 3, 3)
    place.become("False AsExpected", "True AsExpected", "False OperatorUnmanaged", "False AsExpected")
    place.dns({})
    place.become(*WELL)


def test_placement(place, run):  # pylint: disable=redefined-outer-name
    place.all_is_well()
    place.dns({"managementState": "Unmanaged", "nodePlacement": {"nodeSelector": {"a": "b"}}})
    run()
    message = place.says("Progressing", "True Reconciling")
    assert message == 'Have DNS daemonset with node selector {"kubernetes.io/os":"linux"}, want {"a":"b"}.'


def test_flapping_changes_nothing(place, run):  # pylint: disable=redefined-outer-name
    """40 s long a cluster that got well stays so, whatever its pods do; a restart does not forget since when."""
    p = run()
    place.all_is_well()
    place.dns({})
    place.become(*WELL)
    well = place.conditions()
    for n in (1, 3, 2, 1, 3):
        place.pods(3, n, n)
        look(place, p)
        assert place.conditions() == well
    p.stop()
    place.pods(3, 1, 1)
    p = run()
    until(lambda: p.looks() > 0)
    look(place, p)
    assert place.conditions() == well


def test_time_alone(place, run):  # pylint: disable=redefined-outer-name
    """A lasting state is reported when the settle time is over, though nothing else happens; its end at once."""
    run("--dns-settle-time", "2s")
    place.all_is_well()
    place.dns({})
    place.become(*WELL)
    place.pods(3, 3, 1)
    until(lambda: place.four() == LACKING)
    assert place.conditions()["Degraded"]["message"].endswith(
        "MaxUnavailableDNSPodsExceeded=True (MaxUnavailableDNSPodsExceeded: Too many DNS pods are unavailable "
        "(2 > 1 max unavailable).)")
    place.pods(3, 3, 3)
    until(lambda: place.four() == WELL)
    place.pods(3, 3, 0)
    until(lambda: place.four() == [WELL[0], "False NoDaemonSetPods", *LACKING[2:]])


def test_configuration(place, run):  # pylint: disable=redefined-outer-name
    """OP-D5, OP-T15: refused servers degrade; templates only when it lasts; a roll-out is no excuse for either."""
    run("--feature-gates", "DNSTemplatePlugin=true", "--dns-settle-time", "2s")
    place.all_is_well()
    bad = {**LEGACY, "zones": ["svc.cluster.local"]}
    place.dns({"templates": [bad], "servers": [SERVER, SERVER]})
    until(lambda: "InvalidServers=True (" in place.conditions().get("Degraded", {}).get("message", ""))
    place.pods(3, 1, 3)
    until(lambda: "), InvalidTemplates=True (" in place.conditions()["Degraded"]["message"])
    assert place.conditions()["TemplateConfigurationValid"]["status"] == "False"
    place.says("Progressing", "True Reconciling")
    place.pods(3, 3, 3)
    place.dns({"templates": [{**LEGACY, "zones": ["."]}], "servers": [SERVER]})
    place.says("AAAAFilterDualStackWarning", "True NetworkUnknown")
    place.become(*WELL)


def test_settled_means_silent(place, run):  # pylint: disable=redefined-outer-name
    p = run("--dns-settle-time", "1s")
    place.all_is_well()
    place.dns({})
    place.become(*WELL)
    place.pods(3, 3, 1)
    until(lambda: place.four() == LACKING)
    version = place.done("GET", f"{DNS}/default")["metadata"]["resourceVersion"]
    seen = p.looks()
    until(lambda: p.looks() >= seen + 3)  # it looks again and again while something is wrong
    assert place.done("GET", f"{DNS}/default")["metadata"]["resourceVersion"] == version


def test_killed_in_between(place, run):  # pylint: disable=redefined-outer-name
    """kill -9 at any time: the next one reports the state, and transition times of unchanged conditions stay."""
    place.all_is_well()
    place.dns({})
    p = run("--dns-settle-time", "1s")
    place.become(*WELL)
    since = place.conditions()["Upgradeable"]["lastTransitionTime"]
    pick = random.Random(8)
    for _ in range(6):
        place.pods(3, 3, pick.choice([0, 1, 3]))
        until(lambda: pick.random() < 0.2)
        p.kill()
        p = run("--dns-settle-time", "1s")
    place.pods(3, 3, 1)
    until(lambda: place.four() == LACKING)
    place.pods(3, 3, 3)
    until(lambda: place.four() == WELL)
    assert place.conditions()["Upgradeable"]["lastTransitionTime"] == since


def test_text_that_cannot_be_written(place, run):  # pylint: disable=redefined-outer-name
    """OP-D5: a Corefile that the API refuses is reported if that lasts, and not again with each try; it is written as soon as it can be."""
    maps = f"/api/v1/namespaces/{NS}/configmaps"
    place.call("DELETE", f"{maps}/dns-default")
    place.done("POST", maps, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "dns-default"}, "immutable": True,
                              "data": {"Corefile": "of another time"}})
    p = run("--dns-settle-time", "1s")
    place.all_is_well()
    place.dns({})
    until(lambda: "CorefileNotWritten=True (" in place.conditions().get("Degraded", {}).get("message", "") or place.poke(), every=0.2)
    told = place.conditions()["Degraded"]
    assert "immutable" in told["message"] and "audit id" not in told["message"]
    for _ in range(3):
        look(place, p)
    assert place.conditions()["Degraded"] == told
    place.done("DELETE", f"{maps}/dns-default")
    place.become(*WELL)
    assert ".:5353 {" in place.text(NS, "dns-default")
