# SPDX-License-Identifier: GPL-3.0-or-later
"""DR-52a: the credentials of DNSRecords outlive the deletion of their Secret, so that record sets are withdrawn: a finalizer holds the
Secret, and the controller remembers what it read. On a real API server and on the embedded one."""
import pytest

from bothlib import c as served, embedded, real  # noqa: F401 (fixtures)
from controllerlib import events, namespace, stopping, until
from dnsrecordlib import (FINALIZER, IN_USE, MERGE, Zones, condition, delete, get, make, make_secret, patch, path, prepare, request, run_controller,
                          status_of, wait_failed, wait_gone, wait_settled, write_status)


@pytest.fixture(scope="module")
def c(served):  # noqa: F811
    return prepare(served)


@pytest.fixture
def run(c):
    """Starts a controller; one at a time."""
    with stopping(lambda *args: run_controller(c, "--no-election", *args, wait="health and metrics on port")) as start:
        yield start


@pytest.fixture
def ns(c, request):  # noqa: F811 pylint: disable=redefined-outer-name
    name = request.node.name.split("[")[0].replace("_", "-")[5:45] + str(request.node.name.count("True"))
    namespace(c, name)
    return name


@pytest.fixture
def zones(c, ns, tmp_path):
    z = Zones(tmp_path)
    make_secret(c, ns, z.data())
    return z


def secret_path(ns, name="credentials"):
    return f"/api/v1/namespaces/{ns}/secrets/{name}"


def held(c, ns, name="credentials"):
    """Finalizers of the Secret; None: it is gone."""
    status, body = c.call("GET", secret_path(ns, name))
    assert status in (200, 404), body
    return body["metadata"].get("finalizers", []) if status == 200 else None


def lose_secret(c, ns, name="credentials"):
    """The Secret is gone at once, whatever holds it."""
    assert c.call("PATCH", secret_path(ns, name), {"metadata": {"finalizers": None}}, content_type=MERGE)[0] == 200
    assert c.call("DELETE", secret_path(ns, name))[0] == 200
    assert held(c, ns, name) is None


def delete_namespace(c, ns):
    """As the namespace controller does, which only the embedded API has: Secrets before kinds of other groups."""
    assert c.call("DELETE", f"/api/v1/namespaces/{ns}")[0] in (200, 202)
    for collection in (f"/api/v1/namespaces/{ns}/secrets", path(ns)):
        assert c.call("DELETE", collection)[0] in (200, 404)


def records_of(c, ns):
    status, body = c.call("GET", path(ns))
    return [o["metadata"]["name"] for o in body["items"]] if status == 200 else []


def left_events(c, ns):
    """Notes about records of a namespace that accepts no Events: they regard the Namespace."""
    return [e["note"] for e in events(c, "default") if e["reason"] == "OrphanLeft" and e["regarding"]["kind"] == "Namespace" and e["regarding"]["name"] == ns]


def test_deletion_without_the_secret(c, run, ns, zones):
    """The Secret is lost, and nobody remembers it: an annotation ends the deletion, or the Secret when it is made again; the status says so."""
    p = run()
    for name in ("a", "b"):
        make(c, ns, name, f"{name}.example.com")
    for name in ("a", "b"):
        wait_settled(c, ns, name)
    assert p.stop() == 0
    lose_secret(c, ns)
    p = run()
    for name in ("a", "b"):
        delete(c, ns, name)
        s = wait_failed(c, ns, name)
        assert "dnsrecord.fairlead.dev/orphan=true" in s["lastError"]["description"] and condition(s, "InSync") == ("False", "NotDeleted")
    patch(c, ns, "a", {"metadata": {"annotations": {"dnsrecord.fairlead.dev/orphan": "true"}}})
    wait_gone(c, ns, "a")
    note, = until(lambda: [e["note"] for e in events(c, ns) if e["reason"] == "OrphanLeft"])
    assert "the A record set 'a.example.com' in zone 'example.com' may still be at the provider" in note
    make_secret(c, ns, zones.data())
    wait_gone(c, ns, "b")
    assert list(zones.sets()) == [("a.example.com", "A")]


@pytest.mark.parametrize("restarts", [False, True])
def test_deletion_with_the_namespace(c, run, ns, zones, restarts):
    """DR-52a: a namespace is deleted, and its Secret first: it stays until the records are withdrawn, also over a restart."""
    p = run()
    make_secret(c, ns, zones.data(), name="second", finalizers=["test.example/mine"])
    for i in range(8):
        make(c, ns, f"r{i}", f"r{i}.example.com", secret={"name": "second" if i % 2 else "credentials"})
    for i in range(8):
        wait_settled(c, ns, f"r{i}")
    assert held(c, ns) == [IN_USE] and held(c, ns, "second") == ["test.example/mine", IN_USE]
    if restarts:
        p.kill()
    delete_namespace(c, ns)
    if restarts:
        p = run()
    until(lambda: not records_of(c, ns))
    assert zones.sets() == {}
    until(lambda: held(c, ns) is None and held(c, ns, "second") == ["test.example/mine"])  # what is another's stays
    assert not left_events(c, ns)
    c.call("PATCH", secret_path(ns, "second"), {"metadata": {"finalizers": None}}, content_type=MERGE)


def test_lost_secret_is_remembered(c, run, ns, zones):
    """DR-52a: where the Secret is gone all the same, the credentials that were last read withdraw the records; they publish nothing."""
    run()
    namespace(c, ns + "-2")
    make_secret(c, ns, zones.data(), name="open", annotations={"dnsrecord.fairlead.dev/allow-from": f"{ns}-2"})
    make(c, ns, "a", "a.example.com")
    make(c, ns + "-2", "b", "b.example.com", secret={"name": "open", "namespace": ns})
    wait_settled(c, ns, "a")
    wait_settled(c, ns + "-2", "b")
    assert held(c, ns, "open") == []  # no namespace keeps another one's Secret
    lose_secret(c, ns)
    lose_secret(c, ns, "open")
    patch(c, ns, "a", {"spec": {"values": ["192.0.2.2"]}})
    assert "does not exist" in wait_failed(c, ns, "a")["lastError"]["description"]
    assert zones.sets()[("a.example.com", "A")] == (120, ["192.0.2.1"])
    delete_namespace(c, ns)
    until(lambda: not records_of(c, ns))
    delete(c, ns + "-2", "b")
    wait_gone(c, ns + "-2", "b")
    assert zones.sets() == {}


def test_lost_secret_is_reported(c, run, ns, zones):
    """DR-52a: the Secret is gone, and nobody remembers it: the deletion ends, and an Event names what is left, for the Namespace."""
    p = run()
    make(c, ns, "a", "a.example.com")
    wait_settled(c, ns, "a")
    p.kill()
    lose_secret(c, ns)
    delete_namespace(c, ns)
    p = run()
    until(lambda: not records_of(c, ns))
    note, = until(lambda: left_events(c, ns))
    assert "the A record set 'a.example.com' in zone 'example.com' may still be at the provider" in note
    assert "its namespace is being deleted" in note and f"{ns}/a" in note and note in p.text()


def test_secret_is_held_while_it_is_used(c, run, ns, zones):
    """DR-52a: the finalizer of a Secret follows its use: another Secret in the spec, the last record of several, a change while the controller is away."""
    p = run()
    for name in ("s1", "s2", "s3"):
        make_secret(c, ns, zones.data(), name=name)
    for name in ("a", "b"):
        make(c, ns, name, f"{name}.example.com", secret={"name": "s1"})
        wait_settled(c, ns, name)
    patch(c, ns, "a", {"spec": {"secretRef": {"name": "s2"}}})
    wait_settled(c, ns, "a")
    assert held(c, ns, "s1") == [IN_USE] and held(c, ns, "s2") == [IN_USE]
    p.kill()
    patch(c, ns, "a", {"spec": {"secretRef": {"name": "s3"}}})
    p = run()
    wait_settled(c, ns, "a")
    until(lambda: held(c, ns, "s2") == [] and held(c, ns, "s3") == [IN_USE])
    assert c.call("DELETE", secret_path(ns, "s1"))[0] == 200
    delete(c, ns, "b")
    wait_gone(c, ns, "b")
    until(lambda: held(c, ns, "s1") is None)
    patch(c, ns, "a", {"metadata": {"annotations": request("migrate")}})
    until(lambda: held(c, ns, "s3") == [])
    assert zones.sets() == {("a.example.com", "A"): (120, ["192.0.2.1"])}


def test_records_that_need_no_secret(c, run, ns, zones):
    """DR-52a: a record of type local names a Secret, since it must, and has our finalizer: it does not keep that of the Secret."""
    run("--dnsrecord-types", "memory,local")
    make(c, ns, "local", f"local.{ns}.local.gardener.cloud", type="local")
    make(c, ns, "a", "a.example.com")
    for name in ("local", "a"):
        wait_settled(c, ns, name)
        assert FINALIZER in get(c, ns, name)["metadata"]["finalizers"]
    assert held(c, ns) == [IN_USE]
    delete(c, ns, "a")
    wait_gone(c, ns, "a")
    assert zones.sets() == {} and held(c, ns) == []


def test_records_that_are_not_served_any_more(c, run, ns, zones):
    """DR-52a, DR-5: after a start with other types nothing is written to objects that were published earlier; when another controller has ended the last one, which has
    the same finalizer, the Secret is let go."""
    p = run()
    for name in ("a", "b"):
        make(c, ns, name, f"{name}.example.com")
        wait_settled(c, ns, name)
    assert p.stop() == 0
    version = get(c, ns, "b")["metadata"]["resourceVersion"]
    run("--dnsrecord-types", "local")
    for name, left in (("a", [IN_USE]), ("b", [])):
        patch(c, ns, name, {"metadata": {"finalizers": None}})
        delete(c, ns, name)
        make(c, ns, f"after-{name}", f"{name}.{ns}.local.gardener.cloud", type="local")  # passes are in order
        wait_settled(c, ns, f"after-{name}")
        until(lambda: held(c, ns) == left)  # pylint: disable=cell-var-from-loop
        assert name == "b" or get(c, ns, "b")["metadata"]["resourceVersion"] == version


def test_secrets_of_settled_records(c, run, ns, zones):
    """DR-52a: records that an earlier version published: their Secret is held after the start, but not by a dry run, and then nothing more is
    written."""
    p = run()
    make(c, ns, "a", "a.example.com")
    wait_settled(c, ns, "a")
    assert p.stop() == 0
    write_status(c, ns, "a", {"state": {"secret": None}})
    c.call("PATCH", secret_path(ns), {"metadata": {"finalizers": None}}, content_type=MERGE)
    p = run("--dnsrecord-dry-run")
    make(c, ns, "dry", "dry.example.com")
    until(lambda: "dryRun" in status_of(c, ns, "dry").get("providerStatus", {}))
    assert p.stop() == 0
    assert held(c, ns) == [] and "secret" not in status_of(c, ns, "a")["state"]
    delete(c, ns, "dry")
    p = run()
    until(lambda: held(c, ns) == [IN_USE] and status_of(c, ns, "a")["state"].get("secret") == "credentials")
    assert p.stop() == 0
    version = get(c, ns, "a")["metadata"]["resourceVersion"]
    p = run()
    make(c, ns, "b", "b.example.com")
    wait_settled(c, ns, "b")
    assert get(c, ns, "a")["metadata"]["resourceVersion"] == version
