# SPDX-License-Identifier: GPL-3.0-or-later
"""The controller dnsrecord in place of one of Gardener's extensions, and beside one, on both APIs: what each mode of ownership does with
record sets of others; objects of a type that a running extension publishes are left to it."""
import threading

import pytest

from bothlib import c as served, embedded, real, real_only  # noqa: F401 (fixtures)
from controllerlib import events, namespace, until
from dnsrecordlib import (FINALIZER, IN_USE, OPERATION, Zones, condition, delete, failed, gardenlet_waits, get, make, make_secret, patch, prepare, request,
                          run_controller, stamp, wait_failed, wait_gone, wait_settled, write_status)
from lib.cluster import Embedded

PROTECT, DROP_IN = "protect", "drop-in"
NAME, HEARTBEAT = "provider-local", "gardener-extension-heartbeat"
LONG_S = 15


@pytest.fixture(scope="module")
def c(served):  # noqa: F811
    return prepare(served)


@pytest.fixture
def run(c):
    """run(*args): a started controller."""
    made = []

    def make_one(*args, **kw):
        made.append(run_controller(c, "--platform", "gardener", "--lease-retry", "200ms", *args, **kw))
        return made[-1]
    yield make_one
    for p in made:
        assert p.stop() == 0, p.text()


@pytest.fixture
def ns(c, request):  # noqa: F811 pylint: disable=redefined-outer-name
    name = request.node.name.split("[")[0].replace("_", "-") + request.node.callspec.params.get("mode", "")
    namespace(c, name)
    return name


@pytest.fixture
def zones(c, ns, tmp_path):
    z = Zones(tmp_path)
    make_secret(c, ns, z.data())
    return z


def overwrite(zones, name, *values):
    """Somebody else writes the record set, whoever it was before."""
    zones.write([line for line in zones.lines() if f" {name} " not in line])
    zones.add_foreign(name, "A", *values)


def ask(c, ns, name, **spec):
    """gardenlet asks for the object, with another spec."""
    patch(c, ns, name, {"metadata": {"annotations": request("reconcile")}, "spec": spec})


@pytest.mark.parametrize("mode", [PROTECT, DROP_IN])
def test_sets_of_others(c, run, ns, zones, mode):
    """DR-P6: a record set that was there before, one that somebody changes later, and one that an extension of Gardener published with
    other values. Protect mode refuses to write and to delete them, drop-in mode does both, as Gardener's extensions do."""
    theirs = {("old.example.com", "A"): (300, ["198.51.100.1"])}
    is_drop_in = mode == DROP_IN
    run("--dnsrecord-ownership", mode)
    zones.add_foreign("old.example.com", "A", "198.51.100.1")
    make(c, ns, "old", "old.example.com", annotations=request("reconcile"))
    if is_drop_in:
        o = gardenlet_waits(c, ns, "old")
        assert zones.sets() == {("old.example.com", "A"): (120, ["192.0.2.1"])} and zones.sets(foreign=True) == {}
        assert condition(o["status"], "Owned") == ("True", "Written")
    else:
        assert condition(wait_failed(c, ns, "old"), "Owned") == ("False", "NotOurs")
        assert zones.sets(foreign=True) == theirs and zones.sets() == {}
    # it is ours, and somebody else changes it
    make(c, ns, "new", "new.example.com", annotations=request("reconcile"))
    gardenlet_waits(c, ns, "new")
    overwrite(zones, "new.example.com", "198.51.100.2")
    ask(c, ns, "new", values=["192.0.2.2"])
    if is_drop_in:
        gardenlet_waits(c, ns, "new")
        assert zones.sets()[("new.example.com", "A")] == (120, ["192.0.2.2"])
        overwrite(zones, "new.example.com", "198.51.100.2")
    else:
        assert "198.51.100.2" in until(lambda: failed(c, ns, "new"))["lastError"]["description"]
        assert ("new.example.com", "A") in zones.sets(foreign=True)
    # an extension published it for this object, and somebody changed it since
    zones.add_foreign("ext.example.com", "A", "198.51.100.3")
    make(c, ns, "ext", "ext.example.com", annotations={OPERATION: "wait-for-state"})
    write_status(c, ns, "ext", {"zone": "example.com", "observedGeneration": 1, "lastOperation": {
        "type": "Create", "state": "Succeeded", "progress": 100, "description": "Go", "lastUpdateTime": "2026-01-01T00:00:00Z"}})
    ask(c, ns, "ext")
    if is_drop_in:
        gardenlet_waits(c, ns, "ext")
        assert zones.sets()[("ext.example.com", "A")] == (120, ["192.0.2.1"])
        overwrite(zones, "ext.example.com", "198.51.100.3")
    else:
        assert condition(until(lambda: failed(c, ns, "ext")), "Owned") == ("False", "NotOurs")
    # deletion: what the object stands for goes, or stays and is reported
    for name in ("old", "new", "ext"):
        delete(c, ns, name)
    for name in ("old", "new", "ext"):
        wait_gone(c, ns, name)
    if is_drop_in:
        assert zones.sets() == {} and zones.sets(foreign=True) == {}
    else:
        assert zones.sets(foreign=True) == {**theirs, ("new.example.com", "A"): (300, ["198.51.100.2"]),
                                            ("ext.example.com", "A"): (300, ["198.51.100.3"])}
        assert until(lambda: [e for e in events(c, ns) if e["reason"] == "RecordLeft" and e["regarding"]["name"] == "new"])


def test_by_generation(c, run, ns, zones):
    """DR-37: with the flag that Gardener's extensions call --ignore-operation-annotation, an edit is enough; a request is removed all the
    same."""
    run("--dnsrecord-by-generation")
    make(c, ns, "a", "a.example.com")
    wait_settled(c, ns, "a")
    patch(c, ns, "a", {"spec": {"values": ["192.0.2.2"]}})
    wait_settled(c, ns, "a")
    assert zones.sets() == {("a.example.com", "A"): (120, ["192.0.2.2"])}
    ask(c, ns, "a", values=["192.0.2.3"])
    gardenlet_waits(c, ns, "a")
    assert zones.sets() == {("a.example.com", "A"): (120, ["192.0.2.3"])}


# ---- beside an extension that runs ----

def write_lease(c, space, name, holder, duration_s, renewed=None):
    leases = f"/apis/coordination.k8s.io/v1/namespaces/{space}/leases"
    spec = {"holderIdentity": holder, "leaseDurationSeconds": duration_s, "renewTime": renewed or stamp()}
    status, body = c.call("PATCH", f"{leases}/{name}", {"spec": spec}, content_type="application/merge-patch+json")
    if status == 404:
        status, body = c.call("POST", leases, {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": name}, "spec": spec})
    assert status in (200, 201), body


def holder_of(c, space, name):
    return c.call("GET", f"/apis/coordination.k8s.io/v1/namespaces/{space}/leases/{name}")[1]["spec"]["holderIdentity"]


def deployment(c, space, *args, replicas=1, name=NAME):
    labels, path = {"app.kubernetes.io/name": f"gardener-extension-{name}"}, f"/apis/apps/v1/namespaces/{space}/deployments"
    o = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": f"gardener-extension-{name}"}, "spec": {
        "replicas": replicas, "selector": {"matchLabels": labels}, "template": {
            "metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i", "args": list(args)}]}}}}
    status, body = c.call("POST", path, o)
    if status == 409:
        status, body = c.call("PATCH", f"{path}/gardener-extension-{name}", o, content_type="application/merge-patch+json")
    assert status in (200, 201), body


class Extension(threading.Thread):
    """Gardener's provider-local, as far as its heartbeat goes."""

    def __init__(self, c, space):
        super().__init__(daemon=True)
        self.c, self.space, self.ends, self.beats = c, space, threading.Event(), 0
        self.beat()
        self.start()

    def beat(self, duration_s=LONG_S):
        write_lease(self.c, self.space, HEARTBEAT, NAME, duration_s)
        self.beats += 1

    def run(self):
        while not self.ends.wait(0.2):
            self.beat()

    def end(self, duration_s=LONG_S):
        """The last beat counts for that long."""
        self.ends.set()
        self.join(10)
        self.beat(duration_s)


@pytest.fixture
def space(c, ns):
    """The namespace of the extension."""
    namespace(c, f"extension-{ns}")
    yield f"extension-{ns}"
    c.call("DELETE", f"/apis/coordination.k8s.io/v1/namespaces/extension-{ns}/leases/{HEARTBEAT}")


@pytest.fixture
def extension(c, space):
    one = Extension(c, space)
    yield one
    one.end(1)


@pytest.fixture
def deployed(c, space):
    """Its Deployment, without flags that say what it publishes; the embedded API has none."""
    if not isinstance(c, Embedded):
        deployment(c, space)


def make_local(c, ns, name):
    make(c, ns, name, f"{name}.{ns}.local.gardener.cloud", type="local", annotations=request("reconcile"))


def is_untouched(c, ns, name):
    o = get(c, ns, name)
    return "status" not in o and "finalizers" not in o["metadata"] and OPERATION in o["metadata"]["annotations"]


TYPES = ["--dnsrecord-types", "memory,local"]


@real_only("kinds", "served")
@pytest.mark.usefixtures("deployed")
def test_beside_an_extension(c, run, ns, zones, space, extension):
    """DR-R1, DR-5: while provider-local runs, its objects are not written, those of other types are; log and /readyz say so, and how to take
    over. When its heartbeat has expired, they are published, and when it is back, they are left to it again."""
    p = run(*TYPES)
    make_local(c, ns, "a")
    make(c, ns, "m", "m.example.com", annotations=request("reconcile"))
    gardenlet_waits(c, ns, "m")
    p.wait_line(rf"\[WARNING\] .*extension '{NAME}' in namespace '{space}' .* type 'local' .*disableControllers")
    assert f"controller dnsrecord waits: extension '{NAME}' in namespace '{space}'" in until(
        lambda: (lambda text: text if "waits" in text else None)(p.get("/readyz")[1]))
    seen = extension.beats
    until(lambda: extension.beats > seen + 5)
    assert is_untouched(c, ns, "a")
    extension.end(1)
    gardenlet_waits(c, ns, "a")
    assert "waits" not in p.get("/readyz")[1]
    again = Extension(c, space)
    try:
        until(lambda: "waits" in p.get("/readyz")[1])
        make_local(c, ns, "b")
        delete(c, ns, "a")
        seen = again.beats
        until(lambda: again.beats > seen + 5)
        assert is_untouched(c, ns, "b") and get(c, ns, "a") is not None
    finally:
        again.end(1)
    gardenlet_waits(c, ns, "b")
    wait_gone(c, ns, "a")


@real_only("kinds", "served")
def test_what_the_extension_does(c, run, ns, space, extension):
    """DR-R1: an extension whose Deployment has the controller for DNSRecords off, or serves other classes, is no rival."""
    deployment(c, space, "--extension-classes=seed,shoot", "--disable-controllers=worker")
    p = run(*TYPES)
    make_local(c, ns, "a")
    p.wait_line("type 'local'")
    assert is_untouched(c, ns, "a")
    deployment(c, space, "--extension-classes=garden")
    gardenlet_waits(c, ns, "a")
    deployment(c, space, "--extension-classes=seed,shoot")
    until(lambda: "waits" in p.get("/readyz")[1])
    make_local(c, ns, "b")
    deployment(c, space, "--extension-classes=seed,shoot", "--disable-controllers=worker,dnsrecord")
    gardenlet_waits(c, ns, "b")
    assert extension.is_alive()


def test_lease_alone(c, run, ns, extension):
    """DR-R1: a Lease that somebody writes as an extension would, in a namespace without the extension's Deployment, stops nothing."""
    p = run(*TYPES)
    make_local(c, ns, "a")
    gardenlet_waits(c, ns, "a")
    assert extension.is_alive() and not p.find("type 'local'") and "waits" not in p.get("/readyz")[1]


@real_only("kinds", "served")
@pytest.mark.usefixtures("deployed")
def test_other_platforms(c, run, ns, extension):
    """DR-R1: on other platforms than Gardener no Lease and no Deployment stops anything."""
    p = run(*TYPES, "--platform", "kubernetes")
    make_local(c, ns, "a")
    wait_settled(c, ns, "a")
    assert extension.is_alive() and not p.find("type 'local'") and "waits" not in p.get("/readyz")[1]


@real_only("kinds", "served")
def test_secrets_of_its_objects(c, run, ns, space):
    """DR-52a, DR-R1: an object goes over to an extension, which ends it with the same finalizer: its Secret is let go at once, although another
    object of the extension names it, and the status names it no more."""
    make_secret(c, ns, {"Server": "127.0.0.1:9"}, finalizers=[IN_USE])
    for name in ("a", "b"):
        make(c, ns, name, f"{name}.example.com", type="rfc2136", annotations={OPERATION: "wait-for-state"})
        patch(c, ns, name, {"metadata": {"finalizers": [FINALIZER]}})
    write_status(c, ns, "a", {"state": {"secret": "credentials"}})
    deployment(c, space, name="dns-rfc2136")
    write_lease(c, space, HEARTBEAT, "dns-rfc2136", 60)
    run("--dnsrecord-types", "memory,rfc2136")
    until(lambda: "finalizers" not in c.call("GET", f"/api/v1/namespaces/{ns}/secrets/credentials")[1]["metadata"])
    until(lambda: not get(c, ns, "a")["status"].get("state", {}).get("secret"))
    assert FINALIZER in get(c, ns, "a")["metadata"]["finalizers"] and "status" not in get(c, ns, "b")


@pytest.mark.usefixtures("deployed")
def test_takes_the_lease(c, run, ns, space, extension):
    """DR-R2: with --take-lease it waits until the extension gives its Lease back, holds it, and publishes; a heartbeat of before delays
    nothing."""
    lease = f"{NAME}-leader-election"
    write_lease(c, space, lease, "extension-0", LONG_S)
    p = run(*TYPES, "--dnsrecord-ownership", DROP_IN, "--take-lease", f"dnsrecord={space}/{lease}", wait="is held by 'extension-0'")
    make_local(c, ns, "a")
    seen = extension.beats
    until(lambda: extension.beats > seen + 5)
    assert is_untouched(c, ns, "a") and not p.find("leading as")
    extension.end(600)
    write_lease(c, space, lease, "", 1)
    p.wait_line("leading as")
    gardenlet_waits(c, ns, "a")
    assert holder_of(c, space, lease) not in ("", "extension-0") and not p.find("type 'local'")


@pytest.mark.usefixtures("deployed")
def test_old_heartbeat(c, run, ns, space):
    """DR-R1: a heartbeat that nobody renews any more counts at once if it is minutes old."""
    write_lease(c, space, HEARTBEAT, NAME, 600, "2026-01-01T00:00:00.000000Z")
    p = run(*TYPES)
    make_local(c, ns, "a")
    gardenlet_waits(c, ns, "a")
    assert not p.find("type 'local'")
