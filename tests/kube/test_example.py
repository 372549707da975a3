# SPDX-License-Identifier: GPL-3.0-or-later
"""What every controller needs beside its reconcile, shown by the example controller on both APIs: finalizer, owners,
conditions and their Events, drift, limits on writes, heartbeat, and a rival that is waited for."""
import itertools
import json
import signal
import time

import pytest

from bothlib import c, embedded, real, real_only  # noqa: F401 (fixtures)
from controllerlib import FAST, LeaseHistory, config_map, copy_of, events, namespace, start, until, wall

LABEL = "example.fairlead.dev/copy"
FINALIZER = "example.fairlead.dev/copies"
NAMESPACES = "/api/v1/namespaces"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/{}/leases"
COPY = NAMESPACES + "/{}/configmaps/fairlead-example-copy"
numbers = itertools.count()


def patch(api, path, body):
    status, answer = api.call("PATCH", path, body, content_type="application/merge-patch+json")
    assert status == 200, answer


class Place:
    """A namespace for the program, with a source, and labelled ones for copies."""

    def __init__(self, api):
        self.api = api
        self.number = next(numbers)
        self.own = f"own-{self.number}"
        self.source = f"{NAMESPACES}/{self.own}/configmaps/fairlead-example"
        self.labelled = []
        self.processes = []
        namespace(api, self.own)
        config_map(api, self.own, "fairlead-example", {"a": "1"})

    def target(self, labelled=True):
        name = f"target-{self.number}-{len(self.labelled)}"
        namespace(self.api, name, {LABEL: "true"} if labelled else None)
        self.labelled.append(name)
        return name

    def run(self, *args, ns=None):
        self.processes.append(start(self.api.kubeconfig(), *args, "--namespace", ns or self.own))
        return self.processes[-1]

    def condition(self):
        """The source's condition, or None."""
        text = (self.api.call("GET", self.source)[1]["metadata"].get("annotations") or {}).get("example.fairlead.dev/status")
        return json.loads(text)["conditions"][0] if text else None

    def lease(self, name, ns=None):
        status, body = self.api.call("GET", f"{LEASES.format(ns or self.own)}/{name}")
        return body["spec"] if status == 200 else None

    def end(self):
        for p in self.processes:
            if p.process.poll() is None:
                assert p.stop() == 0, p.text()
        for name in self.labelled:
            patch(self.api, f"{NAMESPACES}/{name}", {"metadata": {"labels": {LABEL: None}}})


@pytest.fixture
def place(c):  # noqa: F811
    one = Place(c)
    yield one
    one.end()


def test_source_goes_after_its_copies(place, c):  # noqa: F811
    """The finalizer holds a source that is deleted while nobody runs; whoever comes removes the copies first."""
    target = place.target()
    p = place.run("--no-election")
    copy = until(lambda: (lambda s, b: b if s == 200 else None)(*c.call("GET", COPY.format(target))))
    owner = c.call("GET", f"{NAMESPACES}/{target}")[1]["metadata"]
    assert copy["metadata"]["ownerReferences"] == [
        {"apiVersion": "v1", "kind": "Namespace", "name": target, "uid": owner["uid"], "controller": True}]
    assert c.call("GET", place.source)[1]["metadata"]["finalizers"] == [FINALIZER]
    p.kill()
    assert c.call("DELETE", place.source)[0] == 200
    assert "deletionTimestamp" in c.call("GET", place.source)[1]["metadata"]
    assert copy_of(c, target) == {"a": "1"}
    place.run("--no-election")
    until(lambda: c.call("GET", place.source)[0] == 404)
    assert copy_of(c, target) is None


def test_conditions_and_events(place, c):  # noqa: F811
    """True when all is copied; False, with an Event, while a name is taken; a settled one is not written again."""
    first, taken = place.target(), place.target(labelled=False)
    p = place.run("--no-election")
    good = until(place.condition)
    assert (good["type"], good["status"], good["reason"]) == ("Copied", "True", "AllCopied")
    assert good["lastUpdateTime"] == good["lastTransitionTime"]
    config_map(c, taken, "fairlead-example-copy", {"mine": "1"})
    patch(c, f"{NAMESPACES}/{taken}", {"metadata": {"labels": {LABEL: "true"}}})
    bad = until(lambda: (lambda now: now if now["status"] == "False" else None)(place.condition()))
    assert bad["reason"] == "NameTaken" and taken in bad["message"]
    assert wall(bad["lastUpdateTime"]) >= wall(good["lastUpdateTime"])

    def of_source(reason, kind):
        return [e for e in events(c, place.own) if (e["reason"], e["type"]) == (reason, kind) and
                e["regarding"]["name"] == "fairlead-example"]
    until(lambda: of_source("NameTaken", "Warning"))
    assert c.call("DELETE", COPY.format(taken))[0] == 200
    patch(c, f"{NAMESPACES}/{taken}", {"metadata": {"annotations": {"touched": "1"}}})
    until(lambda: copy_of(c, taken) == {"a": "1"})
    until(lambda: place.condition()["status"] == "True")
    until(lambda: of_source("AllCopied", "Normal"))
    version = c.call("GET", place.source)[1]["metadata"]["resourceVersion"]
    passes = p.looks()
    patch(c, f"{NAMESPACES}/{first}", {"metadata": {"annotations": {"touched": "1"}}})
    until(lambda: p.looks() >= passes + 2)
    assert c.call("GET", place.source)[1]["metadata"]["resourceVersion"] == version
    assert "tried again" not in p.text()


def test_drift_is_repaired_but_not_for_ever(place, c):  # noqa: F811
    target = place.target()
    p = place.run("--no-election")
    until(lambda: copy_of(c, target) == {"a": "1"})
    again = 'fairlead_controller_reconciles_total{controller="example",result="again"}'
    repairs = 0

    def contested():
        return any(line.startswith(again) and not line.endswith(" 0") for line in p.get("/metrics")[1].splitlines())
    while not contested():
        patch(c, COPY.format(target), {"data": {"a": f"other-{repairs}"}})
        until(lambda: copy_of(c, target) == {"a": "1"} or contested())
        repairs += copy_of(c, target) == {"a": "1"}
        assert repairs < 20
    assert repairs >= 5
    # What the user wants is written at once, whatever others did.
    patch(c, place.source, {"data": {"a": "2"}})
    until(lambda: copy_of(c, target) == {"a": "2"})


def test_writes_are_limited(place, c):  # noqa: F811
    """Six copies at two writes a second, after one at once."""
    targets = [place.target() for _ in range(6)]
    p = place.run("--no-election", "--write-rate", "example=2:1")
    began = p.wait_line("leading as")[0]
    until(lambda: all(copy_of(c, t) for t in targets), 60)
    assert time.monotonic() - began >= 2.5


def test_heartbeat(place, c):  # noqa: F811
    """Renewed while it works; a process that stands still does not renew it, while another one renews its own."""
    other = f"other-{place.number}"
    namespace(c, other)
    p, _ = place.run("--heartbeat", "1s"), place.run("--heartbeat", "1s", ns=other)

    def beat(ns=None):
        return (place.lease("fairlead-example-heartbeat", ns) or {}).get("renewTime")

    def wait_other(beats):
        for _ in range(beats):
            before = beat(other)
            until(lambda: beat(other) not in (None, before))  # pylint: disable=cell-var-from-loop
    until(beat)
    lease = place.lease("fairlead-example-heartbeat")
    assert (lease["holderIdentity"], lease["leaseDurationSeconds"]) == ("fairlead-example", 1)
    assert len(lease["renewTime"]) == len("2026-11-15T09:30:00.123456Z")
    until(lambda: beat() != lease["renewTime"])
    p.process.send_signal(signal.SIGSTOP)
    wait_other(1)  # a request may have been under way
    still = beat()
    wait_other(3)
    assert beat() == still
    p.process.send_signal(signal.SIGCONT)
    until(lambda: beat() != still)


@pytest.mark.alone
def test_takes_the_lease_of_another_program(place, c):  # noqa: F811
    """The other one is a process of its own, with another namespace, source and Lease. While it renews its Lease we write
    nothing and say so; killed, it is replaced after the expiry; started again, it waits until we stop."""
    target = place.target(labelled=False)
    other = f"other-{place.number}"
    namespace(c, other)
    config_map(c, other, "fairlead-example", {"from": "other"})
    history = LeaseHistory(c)
    patch(c, f"{NAMESPACES}/{target}", {"metadata": {"labels": {LABEL: "true"}}})
    rival = place.run(*FAST, ns=other)
    until(lambda: copy_of(c, target) == {"from": "other"})
    holder = place.lease("fairlead-example", other)["holderIdentity"]
    ours = place.run(*FAST, "--heartbeat", "1s", "--take-lease", f"example={other}/fairlead-example")
    says = f"lease 'fairlead-example' in namespace '{other}' is held by '{holder}'"
    ours.wait_line(says)
    assert f"controller example waits: {says}\n" in until(
        lambda: (lambda text: text if "waits" in text else "")(ours.get("/readyz")[1]))
    # Ours is held, theirs is not touched, and there is no sign of work: for as long as it renews three times.
    seen = len(history.of(other))
    until(lambda: len(history.of(other)) >= seen + 3)
    assert all(spec["holderIdentity"] == holder for spec in history.of(other))
    assert history.of(place.own)[-1]["holderIdentity"] != ""
    assert place.lease("fairlead-example-heartbeat") is None
    assert FINALIZER not in c.call("GET", place.source)[1]["metadata"].get("finalizers", [])
    assert copy_of(c, target) == {"from": "other"} and not ours.find("leading as")
    killed = rival.kill()
    led = ours.wait_line("leading as")[0]
    assert 0 <= led - killed < 10
    until(lambda: copy_of(c, target) == {"a": "1"})
    assert "waits" not in ours.get("/readyz")[1]
    mine = place.lease("fairlead-example", other)
    assert mine["holderIdentity"] in ours.text() and mine["holderIdentity"] != holder
    rival = place.run(*FAST, ns=other)
    rival.wait_line("waiting to lead")
    until(lambda: place.lease("fairlead-example", other)["renewTime"] != mine["renewTime"])
    assert place.lease("fairlead-example", other)["holderIdentity"] == mine["holderIdentity"]
    assert not rival.find("leading as")
    assert ours.stop() == 0
    rival.wait_line("leading as")
    until(lambda: copy_of(c, target) == {"from": "other"})
    history.stop()


@real_only("kinds")
def test_waits_for_a_deployment(place, c):  # noqa: F811
    target = place.target()
    path = f"/apis/apps/v1/namespaces/{place.own}/deployments"
    labels = {"app": "original"}
    status, body = c.call("POST", path, {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {
        "name": "fairlead-example-original"}, "spec": {"replicas": 1, "selector": {"matchLabels": labels}, "template": {
            "metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "example.org/c"}]}}}})
    assert status == 201, body
    p = place.run(*FAST)
    p.wait_line("runs, so nothing is written; to take over, scale it to 0")
    until(lambda: "waits: the Deployment fairlead-example-original runs" in p.get("/readyz")[1])
    assert copy_of(c, target) is None
    patch(c, f"{path}/fairlead-example-original", {"spec": {"replicas": 0}})
    p.wait_line("does not run any more: taking over")
    until(lambda: copy_of(c, target) == {"a": "1"})
    assert p.get("/readyz") == (200, "ok\n")
