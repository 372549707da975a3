# SPDX-License-Identifier: GPL-3.0-or-later
"""EndpointSlices and Endpoints that the embedded API makes for Services are those of kube-controller-manager.

One difference is on purpose: a Pod without a node, or on one that does not exist as an object, is an endpoint here, since no
scheduler runs (src/apiserver/controllers/test_endpoints.c has such Pods). Each scenario is a list of writes. What kube-controller-manager made of the objects after each one is kept in
endpoints_expected.json; FAIRLEAD_RECORD=1 asks it again (etcd, kube-apiserver, kube-controller-manager) and rewrites the file.
"""
import http.client
import json
import os
import ssl
import time

import pytest

import kubectllib
from lib import server
from lib.cluster import Embedded, peer

FILE = os.path.join(server.ROOT, "tests", "kube", "endpoints_expected.json")
RECORD = os.environ.get("FAIRLEAD_RECORD")
SETTLED_SECONDS = 2  # for recording: nothing changes for so long
WAIT_SECONDS = 20
WEB = {"app": "web"}


def service(name="web", selector=WEB, labels=None, **spec):
    spec.setdefault("ports", [{"port": 80, "targetPort": 8080}])
    if selector is not None:
        spec["selector"] = selector
    return "POST", "services", {"metadata": {"name": name, **({"labels": labels} if labels else {})}, "spec": spec}


def pod(name, labels=WEB, ports=(), node="n0", **spec):
    containers = [{"name": "c", "image": "i", **({"ports": list(ports)} if ports else {})}]
    return "POST", "pods", {"metadata": {"name": name, "labels": labels},
                            "spec": {"containers": containers, "nodeName": node, **spec}}


def state(name, *ips, ready=True, phase="Running"):
    return "PATCH", f"pods/{name}/status", {"status": {
        "phase": phase, "podIP": ips[0] if ips else "", "podIPs": [{"ip": ip} for ip in ips],
        "conditions": [{"type": "Ready", "status": "True" if ready else "False"}]}}


def patch(what, **body):
    return "PATCH", what, body


def node(name, zone):
    return "POST", "/api/v1/nodes", {"metadata": {"name": name, "labels": {"topology.kubernetes.io/zone": zone}}}


def endpoints(name="db", subsets=(), **meta):
    return "POST", "endpoints", {"metadata": {"name": name, **meta}, "subsets": list(subsets)}


HTTP = {"name": "http", "containerPort": 8080}
SUBSET = {"addresses": [{"ip": "192.0.2.1"}, {"ip": "192.0.2.2", "hostname": "b"}], "ports": [{"name": "sql", "port": 5432}]}
SCENARIOS = {
    "no-pods": [service()],
    "pod-comes-and-goes": [service(), pod("a"), state("a", "10.1.0.1"), state("a", "10.1.0.1", ready=False),
                           state("a", "10.1.0.1", phase="Succeeded"), ("DELETE", "pods/a?gracePeriodSeconds=0", None)],
    "pods-first": [pod("a"), state("a", "10.1.0.1"), pod("b"), state("b", "10.1.0.2", ready=False), service(labels={"team": "x"})],
    "headless": [service(clusterIP="None", ports=[{"name": "db", "port": 5432}]), pod("db-0", hostname="db-0", subdomain="web"),
                 state("db-0", "10.1.0.1"), pod("db-1", hostname="db-1", subdomain="other"), state("db-1", "10.1.0.2")],
    "headless-without-ports": [service(clusterIP="None", ports=[]), pod("a"), state("a", "10.1.0.1")],
    "not-ready-published": [service(clusterIP="None", publishNotReadyAddresses=True), pod("a"), state("a", "10.1.0.1", ready=False)],
    "named-ports": [service(ports=[{"name": "a", "port": 80, "targetPort": "http", "appProtocol": "http"}]), pod("a", ports=[HTTP]), state("a", "10.1.0.1"),
                    pod("b", ports=[{**HTTP, "containerPort": 8081}]), state("b", "10.1.0.2"), pod("c"), state("c", "10.1.0.3"),
                    pod("d", ports=[{**HTTP, "protocol": "UDP"}]), state("d", "10.1.0.4")],
    "two-ports": [service(ports=[{"name": "a", "port": 80}, {"name": "b", "port": 53, "protocol": "UDP"}]), pod("a"), state("a", "10.1.0.1")],
    "sidecar-port": [service(ports=[{"port": 80, "targetPort": "http"}]),
                     pod("a", initContainers=[{"name": "s", "image": "i", "restartPolicy": "Always", "ports": [HTTP]}]), state("a", "10.1.0.1")],
    "zones": [node("n1", "z1"), service(), pod("a", node="n1"), state("a", "10.1.0.1"), pod("b"), state("b", "10.1.0.2"),
              patch("/api/v1/nodes/n1", metadata={"labels": {"topology.kubernetes.io/zone": "z2"}})],
    "labels-change": [service(labels={"a": "1"}), pod("a"), state("a", "10.1.0.1"), patch("services/web", metadata={"labels": {"a": None, "b": "2"}}),
                      patch("pods/a", metadata={"labels": {"app": "other"}}), patch("services/web", spec={"selector": {"app": "other"}})],
    "ports-change": [service(), pod("a"), state("a", "10.1.0.1"), patch("services/web", spec={"ports": [{"port": 81, "protocol": "TCP", "targetPort": 81}]})],
    "selector-goes": [service(), pod("a"), state("a", "10.1.0.1"), patch("services/web", spec={"selector": None}), ("DELETE", "services/web", None)],
    "service-goes": [service(), pod("a"), state("a", "10.1.0.1"), ("DELETE", "services/web", None)],
    "external-name": [service(type="ExternalName", externalName="a.example", ports=[]), pod("a"), state("a", "10.1.0.1")],
    "two-services": [service(), service("api", {"app": "web", "tier": "x"}), pod("a"), state("a", "10.1.0.1"), pod("b", {"app": "web", "tier": "x"}), state("b", "10.1.0.2")],
    "dual-stack-pod": [service(), pod("a"), state("a", "10.1.0.1", "fd00::1")],
    "many": [service()] + [step for i in range(130) for step in (pod(f"p{i}"), state(f"p{i}", f"10.1.{i}.1"))]
            + [("DELETE", f"pods/p{i}?gracePeriodSeconds=0", None) for i in range(0, 130, 2)],
    "mirror": [service("db", None), endpoints(subsets=[SUBSET]), patch("endpoints/db", subsets=[{"notReadyAddresses": [{"ip": "192.0.2.3"}], "ports": [{"port": 1}]}]),
               ("DELETE", "endpoints/db", None)],
    "mirror-skipped": [service("db", None), endpoints(subsets=[SUBSET], labels={"endpointslice.kubernetes.io/skip-mirror": "true"})],
    "mirror-without-service": [endpoints(subsets=[SUBSET]), service("db", None)],
    "mirror-equal-ports": [service("db", None), endpoints(subsets=[{"addresses": [{"ip": f"192.0.2.{i}"}], "ports": [{"port": 80}]} for i in (1, 2)])],
    "mirror-equal-names": [service("db", None), endpoints(subsets=[{"addresses": [{"ip": "192.0.2.1"}], "ports": [{"name": "a", "port": n} for n in (80, 81)]}]),
                           patch("endpoints/db", subsets=[SUBSET])],
    "mirror-equal-addresses": [service("db", None), endpoints(subsets=[{"addresses": [{"ip": "192.0.2.1"}, {"ip": "192.0.2.1"}],
                                                                        "notReadyAddresses": [{"ip": "192.0.2.1"}], "ports": [{"port": 80}]}])],
    "mirror-selector-comes": [service("db", None), endpoints(subsets=[SUBSET]), patch("services/db", spec={"selector": WEB})],
    "mirror-skipped-later": [service("db", None), endpoints(subsets=[SUBSET]),
                             patch("endpoints/db", metadata={"labels": {"endpointslice.kubernetes.io/skip-mirror": "true"}})],
    "mirror-service-goes": [service("db", None), endpoints(subsets=[SUBSET]), ("DELETE", "services/db", None), service("db", None)],
    "external-name-later": [service(), pod("a"), state("a", "10.1.0.1"), patch("services/web", spec={
        "type": "ExternalName", "externalName": "a.example", "clusterIP": None, "clusterIPs": None, "ipFamilies": None,
        "ipFamilyPolicy": None, "internalTrafficPolicy": None}), state("a", "10.1.0.2")],
    "mirror-families": [service("db", None), endpoints(subsets=[{"addresses": [{"ip": "192.0.2.1"}, {"ip": "2001:db8::1"}], "ports": [{"port": 80}]}], labels={"x": "y"})],
}
# After these steps only the end is compared: between them the two run at their own pace.
ONLY_END = {"many"}


def send(api, namespace, step):
    method, what, body = step
    path = what if what.startswith("/") else f"/api/v1/namespaces/{namespace}/{what}"
    kind = {"services": "Service", "pods": "Pod", "endpoints": "Endpoints", "/api/v1/nodes": "Node"}.get(what)
    if kind:
        body = {"apiVersion": "v1", "kind": kind, **body}
    content = "application/merge-patch+json" if method == "PATCH" else "application/json"
    status, answer = api.call(method, path, body, content_type=content) if body is not None else api.call(method, path)
    assert status in (200, 201, 202), (step, status, answer)


def make_node(api):
    """The node of all Pods. A new one has a taint in a cluster, which keeps nothing from being an endpoint."""
    assert api.call("POST", "/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n0"}})[0] == 201


def plain_meta(o, namespace):
    meta = o["metadata"]
    owners = [{**r, "uid": "UID"} for r in meta.get("ownerReferences", [])]
    text = json.dumps({"labels": meta.get("labels", {}), "owners": owners}).replace(namespace, "NS")
    return json.loads(text)


def plain_ref(e, namespace):
    ref = e.get("targetRef")
    return {**e, "targetRef": {**ref, "uid": "UID", "namespace": "NS"}} if ref else e


def look(api, namespace):
    """The slices and Endpoints of a namespace, without fields that differ from run to run."""
    slices = []
    for o in api.call("GET", f"/apis/discovery.k8s.io/v1/namespaces/{namespace}/endpointslices")[1]["items"]:
        assert o["metadata"]["name"].startswith(o["metadata"]["labels"]["kubernetes.io/service-name"] + "-")
        found = sorted((plain_ref(e, namespace) for e in o["endpoints"] or []), key=json.dumps)
        slices.append({**plain_meta(o, namespace), "type": o["addressType"], "ports": o["ports"] or [], "endpoints": found})
    old = []
    for o in api.call("GET", f"/api/v1/namespaces/{namespace}/endpoints")[1]["items"]:
        subsets = [{k: sorted((plain_ref(e, namespace) for e in v), key=json.dumps) for k, v in s.items()} for s in o.get("subsets") or []]
        old.append({**plain_meta(o, namespace), "name": o["metadata"]["name"], "subsets": sorted(subsets, key=json.dumps)})
    return {"slices": sorted(slices, key=lambda s: json.dumps(s, sort_keys=True)), "endpoints": old}


def counts(seen):
    """Which Pod is in which slice is each server's own; how many slices there are is not."""
    assert all(len(s["endpoints"]) <= 100 for s in seen["slices"])
    return {"all": sorted(json.dumps(e, sort_keys=True) for s in seen["slices"] for e in s["endpoints"]), "slices": len(seen["slices"]),
            "endpoints": seen["endpoints"]}


def settle(api, namespace):
    seen, since = None, time.monotonic()
    while time.monotonic() - since < SETTLED_SECONDS:
        now = look(api, namespace)
        if now != seen:
            seen, since = now, time.monotonic()
        time.sleep(0.2)
    return seen


def load():
    with open(FILE, encoding="utf-8") as f:
        return json.load(f)


@pytest.mark.skipif(not RECORD, reason="records what kube-controller-manager does; FAIRLEAD_RECORD=1")
def test_record():
    peer("kube-controller-manager")
    out = {}
    with kubectllib.RealCluster() as real:
        make_node(real)
        for name, steps in SCENARIOS.items():
            ns = f"e-{name}"
            real.call("POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": ns}})
            real.call("POST", f"/api/v1/namespaces/{ns}/serviceaccounts", {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}})
            out[name] = []
            for i, step in enumerate(steps):
                send(real, ns, step)
                if name not in ONLY_END or i == len(steps) - 1:
                    seen = settle(real, ns)
                    out[name].append(counts(seen) if name in ONLY_END else seen)
    with open(FILE, "w", encoding="utf-8") as f:
        json.dump(out, f, indent=1, sort_keys=True)
        f.write("\n")


@pytest.fixture(scope="module")
def embedded():
    with Embedded() as e:
        make_node(e)
        yield e


def processor_seconds(api):
    with open(f"/proc/{api.api.process.pid}/stat", encoding="ascii") as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def becomes(api, namespace, wanted, view):
    end = time.monotonic() + WAIT_SECONDS
    while (seen := view(look(api, namespace))) != wanted:
        if time.monotonic() > end:
            assert seen == wanted
        time.sleep(0.05)


def revision(api):
    return api.call("GET", "/api/v1/nodes?limit=1")[1]["metadata"]["resourceVersion"]


def stays_settled(api):
    """Settled objects are not written again. Bounded: the last change may still be processed."""
    end = time.monotonic() + WAIT_SECONDS
    last, since = revision(api), time.monotonic()
    while time.monotonic() - since < 0.5:
        assert time.monotonic() < end, "something is written again and again"
        time.sleep(0.05)
        if (now := revision(api)) != last:
            last, since = now, time.monotonic()


@pytest.mark.parametrize("name", SCENARIOS)
def test_embedded(embedded, name):
    expected, ns = load()[name], f"e-{name}"
    embedded.call("POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": ns}})
    for i, step in enumerate(SCENARIOS[name]):
        send(embedded, ns, step)
        if name not in ONLY_END:
            becomes(embedded, ns, expected[i], lambda seen: seen)
        elif i == len(SCENARIOS[name]) - 1:
            becomes(embedded, ns, expected[-1], counts)
    stays_settled(embedded)


class Session:
    """Many requests over one connection."""

    def __init__(self, api, namespace):
        self.api, self.path = api, f"/api/v1/namespaces/{namespace}/"
        self.connection = http.client.HTTPSConnection("127.0.0.1", api.port, timeout=30, context=ssl.create_default_context(cafile=api.ca))

    def send(self, step):
        method, what, body = step
        kind = {"services": "Service", "pods": "Pod"}.get(what)
        content = "application/merge-patch+json" if method == "PATCH" else "application/json"
        self.connection.request(method, self.path + what, json.dumps({"apiVersion": "v1", "kind": kind, **body} if kind else body),
                                {"Authorization": f"Bearer {self.api.admin}", "Content-Type": content})
        reply = self.connection.getresponse()
        assert reply.status in (200, 201), reply.read()
        reply.read()


def cost_per_service(api, number):
    """Seconds of the processor for Services with one Pod each, until they have their endpoints."""
    ns = f"e-{number}-services"
    api.call("POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": ns}})
    before, session = processor_seconds(api), Session(api, ns)
    for i in range(number):
        session.send(pod(f"p{i}", {"app": f"a{i}"}))
        session.send(state(f"p{i}", f"10.1.{i // 250}.{i % 250 + 1}"))
    for i in range(number):
        session.send(service(f"s{i}", {"app": f"a{i}"}))
    end = time.monotonic() + 6 * WAIT_SECONDS
    while sum(len(s["endpoints"]) for s in look(api, ns)["slices"]) != number:
        assert time.monotonic() < end
        time.sleep(0.5)
    return (processor_seconds(api) - before) / number


def test_cost_of_a_service_stays(embedded):
    few, many = cost_per_service(embedded, 100), cost_per_service(embedded, 1500)
    assert many < 2.5 * few, f"{few * 1000:.2f} ms with 100 Services, {many * 1000:.2f} with 1500"
    stays_settled(embedded)
