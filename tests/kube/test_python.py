# SPDX-License-Identifier: GPL-3.0-or-later
"""The Python client (PyPI's `kubernetes`) with a real API server and the embedded one: it sends bodies
without Content-Type, apiVersion or kind, PUT without resourceVersion and DELETE without a body."""
import json
import os
import sys
import threading

import pytest

from bothlib import c, embedded  # noqa: F401 (fixtures)
from controllerlib import until
from crdlib import apply_all
from lib.cluster import Cluster, peer

sys.path.append(os.path.dirname(peer("kubernetes")))
from kubernetes import client, config, dynamic, informer, stream, utils, watch  # noqa: E402
from kubernetes.leaderelection import electionconfig, leaderelection  # noqa: E402
from kubernetes.leaderelection.resourcelock.configmaplock import ConfigMapLock  # noqa: E402
from kubernetes.leaderelection.resourcelock.leaselock import LeaseLock  # noqa: E402

NS = "default"
FIREWALLS = ("k8s.ovn.org", "v1", NS, "egressfirewalls")
MERGE = "application/merge-patch+json"
APPLY = "application/apply-patch+yaml"


@pytest.fixture(scope="module")
def real():
    with Cluster() as one:
        apply_all(one)
        yield one


@pytest.fixture(scope="module")
def api(c):  # noqa: F811
    return config.new_client_from_config(config_file=c.kubeconfig())


@pytest.fixture(scope="module")
def core(api):
    return client.CoreV1Api(api)


@pytest.fixture(scope="module")
def custom(api):
    return client.CustomObjectsApi(api)


@pytest.fixture(scope="module")
def dyn(api, tmp_path_factory):
    return dynamic.DynamicClient(api, cache_file=str(tmp_path_factory.mktemp("discovery") / "cache"))


def refused(call, *args, **kw):
    """(code, Status) of a refusal."""
    with pytest.raises(client.ApiException) as e:
        call(*args, **kw)
    return e.value.status, json.loads(e.value.body)


def config_map(name, **data):
    return client.V1ConfigMap(metadata=client.V1ObjectMeta(name=name), data=data)


# ---- verbs ----

def test_life_of_an_object(core):
    made = core.create_namespaced_config_map(NS, config_map("life", a="1"))
    assert (made.data, made.metadata.namespace) == ({"a": "1"}, NS)
    code, status = refused(core.create_namespaced_config_map, NS, config_map("life"))
    assert (code, status["reason"], status["details"]) == (409, "AlreadyExists", {"name": "life", "kind": "configmaps"})
    assert core.read_namespaced_config_map("life", NS).metadata.uid == made.metadata.uid
    assert core.replace_namespaced_config_map("life", NS, config_map("life", b="2")).data == {"b": "2"}  # whatever was there
    made.data = {"c": "3"}
    code, status = refused(core.replace_namespaced_config_map, "life", NS, made)
    assert (code, status["reason"]) == (409, "Conflict")
    gone = core.delete_namespaced_config_map("life", NS)
    assert (gone["status"], gone["details"]["name"]) == ("Success", "life")
    code, status = refused(core.read_namespaced_config_map, "life", NS)
    assert (code, status["reason"], status["message"]) == (404, "NotFound", 'configmaps "life" not found')


def test_bodies_that_are_dicts(core):
    """Without apiVersion and kind, as many write them."""
    made = core.create_namespaced_config_map(NS, {"metadata": {"generateName": "dict-"}, "data": {"a": "b"}})
    assert made.metadata.name.startswith("dict-") and len(made.metadata.name) == len("dict-") + 5
    code, status = refused(core.create_namespaced_config_map, NS, {"metadata": {"name": "Bad_Name"}})
    assert (code, status["reason"], status["details"]["causes"][0]["field"]) == (422, "Invalid", "metadata.name")
    code, status = refused(core.create_namespaced_config_map, NS, {"kind": "Secret", "apiVersion": "v1", "metadata": {"name": "x"}})
    assert (code, status["reason"]) == (400, "BadRequest")
    core.delete_namespaced_config_map(made.metadata.name, NS, body={"propagationPolicy": "Background"},
                                      grace_period_seconds=0)


def test_patches_of_all_types(core):
    core.create_namespaced_service(NS, {"metadata": {"name": "patched"}, "spec": {"ports": [{"port": 1, "name": "one"}]}})
    patch = core.patch_namespaced_service
    both = patch("patched", NS, {"spec": {"ports": [{"port": 2, "name": "two"}]}})  # a dict is a strategic merge
    assert {p.port for p in both.spec.ports} == {1, 2}
    only = patch("patched", NS, {"spec": {"ports": [{"port": 3, "name": "three"}]}}, _content_type=MERGE)
    assert [p.port for p in only.spec.ports] == [3]
    ops = [{"op": "test", "path": "/spec/ports/0/port", "value": 3}, {"op": "replace", "path": "/spec/ports/0/port", "value": 4}]
    assert patch("patched", NS, ops).spec.ports[0].port == 4  # a list is a JSON patch
    code, status = refused(patch, "patched", NS, ops)
    assert (code, status["reason"]) == (422, "Invalid")
    mine = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "patched", "labels": {"a": "b"}}}
    done = patch("patched", NS, mine, _content_type=APPLY, field_manager="python")
    assert done.metadata.labels == {"a": "b"} and "python" in [m.manager for m in done.metadata.managed_fields]
    mine["metadata"]["labels"]["a"] = "c"
    code, status = refused(patch, "patched", NS, mine, _content_type=APPLY, field_manager="other")
    assert (code, status["reason"], status["details"]["causes"][0]["field"]) == (409, "Conflict", ".metadata.labels.a")
    assert patch("patched", NS, mine, _content_type=APPLY, field_manager="other", force=True).metadata.labels == {"a": "c"}
    code, status = refused(patch, "patched", NS, mine, _content_type=APPLY)
    assert (code, status["reason"]) == (422, "Invalid")
    core.delete_namespaced_service("patched", NS)


def test_dry_run_and_field_validation(core, custom):
    done = core.create_namespaced_config_map(NS, config_map("dry"), dry_run="All")
    assert done.metadata.name == "dry" and refused(core.read_namespaced_config_map, "dry", NS)[0] == 404
    code, status = refused(custom.create_namespaced_custom_object, *FIREWALLS, {**firewall("Deny"), "colour": "red"},
                           field_validation="Strict")
    assert (code, 'unknown field "colour"' in status["message"]) == (400, True)


def test_pages_and_selectors(core):
    for i in range(7):
        core.create_namespaced_config_map(NS, {"metadata": {"name": f"page-{i}", "labels": {"odd": str(i % 2), "page": "x"}}})
    names, token = [], None
    while token != "":
        page = core.list_namespaced_config_map(NS, limit=3, _continue=token, label_selector="page")
        assert len(page.items) <= 3
        names += [o.metadata.name for o in page.items]
        token = page.metadata._continue or ""
    assert names == [f"page-{i}" for i in range(7)]
    odd = core.list_namespaced_config_map(NS, label_selector="odd=1")
    assert [o.metadata.name for o in odd.items] == ["page-1", "page-3", "page-5"]
    one = core.list_config_map_for_all_namespaces(field_selector="metadata.name=page-2")
    assert len(one.items) == 1
    code, status = refused(core.list_namespaced_config_map, NS, _continue="nonsense")
    assert (code, status["reason"]) == (400, "BadRequest")
    core.delete_collection_namespaced_config_map(NS, label_selector="page")
    assert core.list_namespaced_config_map(NS, label_selector="page").items == []


# ---- watches ----

def test_list_then_watch(core):
    listed = core.list_namespaced_config_map(NS)
    core.create_namespaced_config_map(NS, config_map("watched", n="0"))
    core.patch_namespaced_config_map("watched", NS, {"data": {"n": "1"}})
    core.delete_namespaced_config_map("watched", NS)
    events = list(watch.Watch().stream(core.list_namespaced_config_map, NS, timeout_seconds=1,
                                       resource_version=listed.metadata.resource_version))
    assert [(e["type"], e["object"].data["n"]) for e in events if e["object"].metadata.name == "watched"] == [
        ("ADDED", "0"), ("MODIFIED", "1"), ("DELETED", "1")]


def test_watch_without_a_version(core):
    core.create_namespaced_config_map(NS, config_map("there"))
    w, seen = watch.Watch(), []
    for event in w.stream(core.list_namespaced_config_map, NS, timeout_seconds=20):
        seen.append((event["type"], event["object"].metadata.name))
        if seen[-1] == ("ADDED", "there"):
            core.delete_namespaced_config_map("there", NS)
        elif seen[-1] == ("DELETED", "there"):
            w.stop()
    assert seen[-1] == ("DELETED", "there")


def test_watch_of_a_version_that_is_not_there_yet(core):
    """Silence until the time is over."""
    now = int(core.list_namespaced_config_map(NS).metadata.resource_version)
    assert list(watch.Watch().stream(core.list_namespaced_config_map, NS, timeout_seconds=1,
                                     resource_version=str(now + 100000))) == []


def test_informer(core):
    """The package's own, which lists and watches by itself."""
    seen = []
    one = informer.SharedInformer(core.list_namespaced_config_map, namespace=NS, label_selector="informed")
    for kind in (informer.ADDED, informer.MODIFIED, informer.DELETED):
        one.add_event_handler(kind, lambda o, kind=kind: seen.append((kind, o.metadata.name)))
    core.create_namespaced_config_map(NS, {"metadata": {"name": "early", "labels": {"informed": ""}}})
    one.start()
    try:
        until(lambda: (informer.ADDED, "early") in seen)
        core.create_namespaced_config_map(NS, {"metadata": {"name": "late", "labels": {"informed": ""}}})
        until(lambda: (informer.ADDED, "late") in seen)
        core.patch_namespaced_config_map("early", NS, {"data": {"a": "b"}})
        until(lambda: (informer.MODIFIED, "early") in seen)
        for name in ("early", "late"):
            core.delete_namespaced_config_map(name, NS)
            until(lambda: (informer.DELETED, name) in seen)
        assert one.cache.list() == []
    finally:
        one.stop()


# ---- kinds of this program ----

def firewall(*types):
    return {"apiVersion": "k8s.ovn.org/v1", "kind": "EgressFirewall", "metadata": {"name": "default"}, "spec": {
        "egress": [{"type": t, "to": {"cidrSelector": "192.0.2.0/24"}} for t in types]}}


def test_custom_objects(custom):
    made = custom.create_namespaced_custom_object(*FIREWALLS, firewall("Deny"))
    assert made["metadata"]["generation"] == 1
    code, status = refused(custom.create_namespaced_custom_object, *FIREWALLS, {"metadata": {"name": "default"}})
    assert (code, status["reason"]) == (400, "BadRequest")  # of a definition: kind and apiVersion are needed
    code, status = refused(custom.create_namespaced_custom_object, *FIREWALLS, firewall("Maybe"))
    assert (code, status["details"]["causes"][0]["field"]) == (422, "spec.egress[0].type")
    code, status = refused(custom.replace_namespaced_custom_object, *FIREWALLS, "default", firewall("Allow"))
    assert (code, status["details"]["causes"][0]["field"]) == (422, "metadata.resourceVersion")
    made["spec"]["egress"][0]["type"] = "Allow"
    made = custom.replace_namespaced_custom_object(*FIREWALLS, "default", made)
    assert made["metadata"]["generation"] == 2
    patched = custom.patch_namespaced_custom_object(*FIREWALLS, "default", {"metadata": {"labels": {"a": "b"}}})  # a merge
    assert patched["metadata"]["labels"] == {"a": "b"} and patched["metadata"]["generation"] == 2
    patched = custom.patch_namespaced_custom_object(*FIREWALLS, "default", [{"op": "remove", "path": "/metadata/labels"}],
                                                    _content_type="application/json-patch+json")
    assert "labels" not in patched["metadata"]
    listed = custom.list_namespaced_custom_object(*FIREWALLS)
    assert (listed["kind"], len(listed["items"])) == ("EgressFirewallList", 1)
    assert custom.get_namespaced_custom_object(*FIREWALLS, "default") == patched
    assert custom.delete_namespaced_custom_object(*FIREWALLS, "default")["status"] == "Success"
    assert refused(custom.get_namespaced_custom_object, *FIREWALLS, "default")[0] == 404


def test_watch_of_custom_objects(custom):
    version = custom.list_namespaced_custom_object(*FIREWALLS)["metadata"]["resourceVersion"]
    custom.create_namespaced_custom_object(*FIREWALLS, firewall("Deny"))
    custom.delete_namespaced_custom_object(*FIREWALLS, "default")
    events = list(watch.Watch().stream(custom.list_namespaced_custom_object, *FIREWALLS, resource_version=version,
                                       timeout_seconds=1))
    assert [e["type"] for e in events] == ["ADDED", "DELETED"]


def test_definitions(api):
    names = [d.metadata.name for d in client.ApiextensionsV1Api(api).list_custom_resource_definition().items]
    assert "egressfirewalls.k8s.ovn.org" in names and "dnses.operator.openshift.io" in names


# ---- the dynamic client ----

def test_dynamic(dyn):
    """It reads /version, /apis and every group version."""
    maps = dyn.resources.get(api_version="v1", kind="ConfigMap")
    made = maps.create(namespace=NS, body={"metadata": {"name": "dyn"}, "data": {"a": "1"}})
    assert maps.get(name="dyn", namespace=NS).metadata.uid == made.metadata.uid
    assert maps.patch(name="dyn", namespace=NS, body={"data": {"b": "2"}}).data.to_dict() == {"a": "1", "b": "2"}
    assert maps.patch(name="dyn", namespace=NS, body={"data": {"a": None}}, content_type=MERGE).data.to_dict() == {"b": "2"}
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "dyn"}, "data": {"s": "3"}}
    assert dyn.server_side_apply(maps, body=body, namespace=NS, field_manager="dyn").data.s == "3"
    assert "dyn" in [o.metadata.name for o in maps.get(namespace=NS).items]
    events = dyn.watch(maps, namespace=NS, name="dyn", timeout=1)
    assert [(e["type"], e["object"].metadata.name) for e in events] == [("ADDED", "dyn")]
    maps.delete(name="dyn", namespace=NS)
    with pytest.raises(dynamic.exceptions.NotFoundError):
        maps.get(name="dyn", namespace=NS)


def test_dynamic_finds_kinds(dyn):
    found = dyn.resources.get(api_version="k8s.ovn.org/v1", kind="EgressFirewall")
    assert (found.name, found.namespaced) == ("egressfirewalls", True)
    found.create(namespace=NS, body=firewall("Deny"))
    assert found.get(name="default", namespace=NS).spec.egress[0].type == "Deny"
    found.delete(name="default", namespace=NS)
    assert dyn.resources.search(short_names=["svc"])[0].kind == "Service"
    assert int(dyn.version["kubernetes"]["major"]) == 1
    with pytest.raises(dynamic.exceptions.ResourceNotFoundError):
        dyn.resources.get(api_version="example.org/v1", kind="Nothing")


# ---- the rest of the package ----

def test_files_of_objects(api, core, tmp_path):
    path = tmp_path / "objects.yaml"
    path.write_text("apiVersion: v1\nkind: Namespace\nmetadata: {name: from-file}\n---\n"
                    "apiVersion: v1\nkind: List\nitems:\n"
                    "- {apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: from-file}, data: {k: v}}\n"
                    "- {apiVersion: v1, kind: Service, metadata: {name: b, namespace: from-file}, spec: {ports: [{port: 80}]}}\n")
    utils.create_from_yaml(api, str(path))
    assert core.read_namespaced_config_map("a", "from-file").data == {"k": "v"}
    with pytest.raises(utils.FailToCreateError) as e:
        utils.create_from_yaml(api, str(path))
    assert {x.status for x in e.value.api_exceptions} == {409}


def test_logs_and_exec_are_refused(embedded):  # noqa: F811
    """With a sentence; a real server would ask the node's agent."""
    core = client.CoreV1Api(config.new_client_from_config(config_file=embedded.kubeconfig()))
    core.create_namespaced_pod(NS, {"metadata": {"name": "quiet"}, "spec": {"containers": [{"name": "c", "image": "i"}]}})
    code, status = refused(core.read_namespaced_pod_log, "quiet", NS)
    assert (code, status["reason"]) == (400, "BadRequest") and "no kubelet runs" in status["message"]
    with pytest.raises(client.ApiException) as e:
        stream.stream(core.connect_get_namespaced_pod_exec, "quiet", NS, command=["true"], stdout=True)
    assert "400" in str(e.value.reason)
    core.delete_namespaced_pod("quiet", NS, grace_period_seconds=0)


def test_access_reviews(api):
    review = client.AuthorizationV1Api(api).create_self_subject_access_review({"spec": {"resourceAttributes": {
        "verb": "create", "resource": "configmaps", "namespace": NS}}})
    assert review.status.allowed is True
    who = client.AuthenticationV1Api(api).create_self_subject_review({})
    assert who.status.user_info.username == "admin"


@pytest.mark.parametrize("lock, path", [
    (LeaseLock, f"/apis/coordination.k8s.io/v1/namespaces/{NS}/leases"), (ConfigMapLock, f"/api/v1/namespaces/{NS}/configmaps")])
def test_leader_election(c, lock, path):  # noqa: F811
    """Two candidates: one leads and renews, the other follows when it has ended."""
    config.load_kube_config(config_file=c.kubeconfig())
    led, end = [], threading.Event()

    def lead(identity):
        led.append(identity)
        end.wait()
        raise InterruptedError("told to end")

    def candidate(identity):
        one = electionconfig.Config(lock("election", NS, identity), lease_duration=3, renew_deadline=2, retry_period=1.1,
                                    onstarted_leading=lambda: lead(identity), onstopped_leading=lambda: None)
        thread = threading.Thread(target=leaderelection.LeaderElection(one).run, daemon=True)
        thread.start()
        return thread

    def renewed():
        versions.add(c.call("GET", f"{path}/election")[1]["metadata"]["resourceVersion"])
        return len(versions) == 3

    threads, versions = [candidate("one")], set()
    until(lambda: led == ["one"])
    threads.append(candidate("two"))
    until(renewed)
    assert led == ["one"]
    end.set()
    for thread in threads:
        thread.join(20)
    assert led == ["one", "two"]
