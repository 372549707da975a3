# SPDX-License-Identifier: GPL-3.0-or-later
"""The controller dnssource: DNSRecords from external-dns's annotations, on a real API server and on the embedded one."""
import pytest

from bothlib import c as served, embedded, real  # noqa: F401 (fixtures)
from controllerlib import config_map, events, namespace, start, until
from dnsrecordlib import MERGE, Zones, delete, get, make, make_secret, path, prepare, wait_settled
from lib.cluster import Cluster

OWN = "sources"  # the namespace of the controller
LABEL = "app.kubernetes.io/managed-by"
PREFIX = "external-dns.alpha.kubernetes.io/"
DOMAINS = {
    "example.com": "type: memory\nsecret: credentials\n",
    "sub.example.com": "type: memory\nsecret: shared/key\nzone: Z7\nttl: 77\nnamespaces: [test-ingress, test-domains]\ningressHosts: true\n",
    "bad.example.com": "type: memory\nsercet: credentials\n",
}


@pytest.fixture(scope="module")
def c(served):  # noqa: F811
    prepare(served)
    namespace(served, OWN)
    config_map(served, OWN, "fairlead-dnssource", DOMAINS)
    return served


@pytest.fixture(scope="module")
def controller(c):
    p = start(c.kubeconfig(getattr(c, "system", None) or c.admin, OWN), "--namespace", OWN, controllers="dnssource")
    p.wait_line("leading as")
    yield p
    assert p.stop() == 0, p.text()


@pytest.fixture
def ns(c, request):  # noqa: F811 pylint: disable=redefined-outer-name
    name = request.node.originalname.replace("_", "-")[:40]
    namespace(c, name)
    return name


def annotated(name, spec, **annotations):
    return {"metadata": {"name": name, "annotations": {PREFIX + k: v for k, v in annotations.items()}}, "spec": spec}


def service(c, ns, name, kind="LoadBalancer", ingress=(), target=None, **annotations):
    """A Service, with the addresses that its load balancer has."""
    spec = {"type": kind, "ports": [{"port": 80}]}
    if kind == "ExternalName":
        spec = {"type": kind, "externalName": target}
    elif target:
        annotations["target"] = target
    status, body = c.call("POST", f"/api/v1/namespaces/{ns}/services", annotated(name, spec, **annotations))
    assert status == 201, body
    if ingress:
        set_addresses(c, f"/api/v1/namespaces/{ns}/services/{name}", ingress)
    return body


def set_addresses(c, where, ingress):
    status, body = c.call("PATCH", where + "/status", {"status": {"loadBalancer": {"ingress": list(ingress)}}}, content_type=MERGE)
    assert status == 200, body


def annotate(c, ns, name, **annotations):
    status, body = c.call("PATCH", f"/api/v1/namespaces/{ns}/services/{name}",
                          {"metadata": {"annotations": {PREFIX + k: v for k, v in annotations.items()}}}, content_type=MERGE)
    assert status == 200, body


def records(c, ns):
    """{(name, type): (ttl, values)} of our DNSRecords."""
    status, body = c.call("GET", path(ns) + f"?labelSelector={LABEL}%3Dfairlead-dnssource")
    if status == 429:  # a new kind's storage is being initialised
        return None
    assert status == 200, body
    items = body["items"]
    return {(o["spec"]["name"], o["spec"]["recordType"]): (o["spec"].get("ttl"), o["spec"]["values"]) for o in items}


def wait_records(c, ns, wanted):
    until(lambda: records(c, ns) == wanted or (print(records(c, ns)) and None))


def wait_event(c, ns, reason, *words):
    def found():
        return next((e for e in events(c, ns) if e["reason"] == reason and all(w in e["note"] for w in words)), None)
    return until(found)


def test_load_balancer(c, controller, ns):
    """DR-S1, DR-S2, DR-S4: several names, both families, a TTL; changes in place; the annotation goes, and so do the records."""
    made = service(c, ns, "web", ingress=[{"ip": "192.0.2.1"}, {"ip": "2001:db8::1"}], hostname="WWW.example.com., shop.example.com", ttl="5m")
    wait_records(c, ns, {(f"{h}.example.com", t): (300, [v]) for h in ("www", "shop") for t, v in (("A", "192.0.2.1"), ("AAAA", "2001:db8::1"))})
    items = c.call("GET", path(ns))[1]["items"]
    for o in items:
        assert o["metadata"]["ownerReferences"] == [{"apiVersion": "v1", "kind": "Service", "name": "web", "uid": made["metadata"]["uid"],
                                                     "controller": True}]
        assert o["spec"]["type"] == "memory" and o["spec"]["secretRef"] == {"name": "credentials"} and "zone" not in o["spec"]
    uids = {o["metadata"]["uid"] for o in items}
    set_addresses(c, f"/api/v1/namespaces/{ns}/services/web", [{"ip": "192.0.2.9"}, {"ip": "2001:db8::1"}])
    annotate(c, ns, "web", ttl=None)
    wait_records(c, ns, {(f"{h}.example.com", t): (None, [v]) for h in ("www", "shop") for t, v in (("A", "192.0.2.9"), ("AAAA", "2001:db8::1"))})
    assert {o["metadata"]["uid"] for o in c.call("GET", path(ns))[1]["items"]} == uids
    wait_event(c, ns, "DNSRecordCreated", "www.example.com A")
    annotate(c, ns, "web", hostname="shop.example.com")
    wait_records(c, ns, {("shop.example.com", "A"): (None, ["192.0.2.9"]), ("shop.example.com", "AAAA"): (None, ["2001:db8::1"])})
    annotate(c, ns, "web", hostname=None)
    wait_records(c, ns, {})


def test_names_as_targets(c, controller, ns):
    """DR-S1: host names become CNAMEs, from ExternalName, a load balancer and the annotation; the annotation wins."""
    service(c, ns, "ext", "ExternalName", target="lb.example.net", hostname="ext.example.com")
    service(c, ns, "lb", ingress=[{"hostname": "lb.example.net"}], hostname="lb.example.com")
    service(c, ns, "both", ingress=[{"ip": "192.0.2.4", "hostname": "lb.example.net"}], hostname="both.example.com")
    service(c, ns, "target", "ClusterIP", target="192.0.2.5,192.0.2.6", hostname="target.example.com", ttl="60")
    service(c, ns, "other", ingress=[{"ip": "192.0.2.7"}], hostname="other.example.com", controller="another")
    service(c, ns, "waits", hostname="waits.example.com")
    wanted = {("ext.example.com", "CNAME"): (None, ["lb.example.net"]), ("lb.example.com", "CNAME"): (None, ["lb.example.net"]),
              ("both.example.com", "A"): (None, ["192.0.2.4"]), ("target.example.com", "A"): (60, ["192.0.2.5", "192.0.2.6"])}
    wait_records(c, ns, wanted)
    set_addresses(c, f"/api/v1/namespaces/{ns}/services/lb", [{"ip": "192.0.2.8"}])  # the alias goes, addresses come
    wanted.pop(("lb.example.com", "CNAME"))
    wait_records(c, ns, {**wanted, ("lb.example.com", "A"): (None, ["192.0.2.8"])})


@pytest.mark.parametrize("name, annotations, kind, reason, words", [
    ("ttl", {"hostname": "a.example.com", "ttl": "soon"}, "LoadBalancer", "InvalidTTL", ["'soon'", "5m"]),
    ("zero", {"hostname": "a.example.com", "ttl": "0"}, "LoadBalancer", "InvalidTTL", ["'0'"]),
    ("name", {"hostname": "a_b.example.com"}, "LoadBalancer", "InvalidName", ["a_b.example.com", "domain name"]),
    ("domain", {"hostname": "a.example.net"}, "LoadBalancer", "NoDomain", ["a.example.net", f"{OWN}/fairlead-dnssource"]),
    ("broken", {"hostname": "x.bad.example.com"}, "LoadBalancer", "InvalidDomain", ["secret: Required value"]),
    ("space", {"hostname": "x.sub.example.com"}, "LoadBalancer", "NamespaceNotAllowed", ["x.sub.example.com"]),
    ("mixed", {"hostname": "a.example.com", "target": "192.0.2.1,lb.example.net"}, "LoadBalancer", "InvalidTarget", ["stands alone"]),
    ("two", {"hostname": "a.example.com", "target": "a.example.net,b.example.net"}, "LoadBalancer", "InvalidTarget", ["one target"]),
    ("inside", {"hostname": "a.example.com"}, "ClusterIP", "NoTarget", ["ClusterIP", "LoadBalancer"]),
])
def test_mistakes(c, controller, name, annotations, kind, reason, words):
    """DR-S3: each mistake is an Event on the source, with a sentence; names without one are published."""
    space = f"mistake-{name}"
    namespace(c, space)
    service(c, space, "web", kind, ingress=[{"ip": "192.0.2.1"}] if kind == "LoadBalancer" else (), **annotations)
    event = wait_event(c, space, reason, *words)
    assert event["regarding"]["kind"] == "Service" and event["regarding"]["name"] == "web" and event["type"] == "Warning"
    assert records(c, space) == {}


def test_mistakes_keep_records(c, controller, ns):
    """DR-S3: a mistake in a change leaves what was published; names that are in order are published beside it."""
    service(c, ns, "web", ingress=[{"ip": "192.0.2.1"}], hostname="a.example.com")
    wait_records(c, ns, {("a.example.com", "A"): (None, ["192.0.2.1"])})
    annotate(c, ns, "web", hostname="b.example.com,c.example.net")
    wait_records(c, ns, {(f"{h}.example.com", "A"): (None, ["192.0.2.1"]) for h in "ab"})
    wait_event(c, ns, "NoDomain", "c.example.net")
    annotate(c, ns, "web", hostname="b.example.com")
    wait_records(c, ns, {("b.example.com", "A"): (None, ["192.0.2.1"])})


def test_of_others(c, controller, ns):
    """DR-S4: DNSRecords that we did not make are never touched, not even where one has the name that ours would have."""
    service(c, ns, "web", ingress=[{"ip": "192.0.2.1"}], hostname="a.example.com")
    wait_records(c, ns, {("a.example.com", "A"): (None, ["192.0.2.1"])})
    name = c.call("GET", path(ns))[1]["items"][0]["metadata"]["name"]
    annotate(c, ns, "web", hostname=None)
    wait_records(c, ns, {})
    taken = make(c, ns, name, "theirs.example.com")
    other = make(c, ns, "theirs", "a.example.com", labels={LABEL: "fairlead-dnssource"})  # our label, but no owner
    annotate(c, ns, "web", hostname="a.example.com,b.example.com")
    wait_event(c, ns, "NameTaken", name)
    until(lambda: ("b.example.com", "A") in records(c, ns))
    annotate(c, ns, "web", hostname=None)
    until(lambda: ("b.example.com", "A") not in records(c, ns))
    for one in (taken, other):
        assert get(c, ns, one["metadata"]["name"])["metadata"]["resourceVersion"] == one["metadata"]["resourceVersion"]


def test_repaired_and_quiet(c, controller, ns):
    """DR-S4: a record that somebody changed or deleted comes back; a settled source has no writes."""
    service(c, ns, "web", ingress=[{"ip": "192.0.2.1"}], hostname="a.example.com")
    wait_records(c, ns, {("a.example.com", "A"): (None, ["192.0.2.1"])})
    name = c.call("GET", path(ns))[1]["items"][0]["metadata"]["name"]
    c.call("PATCH", path(ns, name), {"spec": {"values": ["192.0.2.66"], "ttl": 5}}, content_type=MERGE)
    wait_records(c, ns, {("a.example.com", "A"): (None, ["192.0.2.1"])})
    uid = get(c, ns, name)["metadata"]["uid"]
    delete(c, ns, name)
    until(lambda: (get(c, ns, name) or {"metadata": {"uid": uid}})["metadata"]["uid"] != uid)
    version = get(c, ns, name)["metadata"]["resourceVersion"]
    before = controller.looks()
    c.call("PATCH", f"/api/v1/namespaces/{ns}/services/web", {"metadata": {"labels": {"x": "y"}, "annotations": {PREFIX + "ttl": None}}},
           content_type=MERGE)
    annotate(c, ns, "web", hostname="A.example.com")
    until(lambda: controller.looks() > before)
    assert get(c, ns, name)["metadata"]["resourceVersion"] == version


def test_domains(c, controller, ns):
    """DR-S5: the longest domain says type, Secret, zone and TTL; a change of the ConfigMap reaches all sources."""
    service(c, ns, "web", ingress=[{"ip": "192.0.2.1"}], hostname="a.sub.example.com")
    wait_records(c, ns, {("a.sub.example.com", "A"): (77, ["192.0.2.1"])})
    spec = c.call("GET", path(ns))[1]["items"][0]["spec"]
    assert spec["secretRef"] == {"name": "key", "namespace": "shared"} and spec["zone"] == "Z7"
    changed = {**DOMAINS, "sub.example.com": DOMAINS["sub.example.com"].replace("77", "78").replace("zone: Z7\n", "")}
    config_map(c, OWN, "fairlead-dnssource", changed, method="PUT")
    wait_records(c, ns, {("a.sub.example.com", "A"): (78, ["192.0.2.1"])})
    assert "zone" not in c.call("GET", path(ns))[1]["items"][0]["spec"]
    config_map(c, OWN, "fairlead-dnssource", DOMAINS, method="PUT")
    wait_records(c, ns, {("a.sub.example.com", "A"): (77, ["192.0.2.1"])})
    event = wait_event(c, OWN, "InvalidDomain", "bad.example.com", "secret: Required value")
    assert event["regarding"]["kind"] == "ConfigMap"


def test_ingress(c, controller, ns):
    """DR-S1, DR-S5: names of the annotation, and of rules and TLS where the domain says so."""
    where = f"/apis/networking.k8s.io/v1/namespaces/{ns}/ingresses"
    backend = {"service": {"name": "web", "port": {"number": 80}}}
    rules = [{"host": h, "http": {"paths": [{"path": "/", "pathType": "Prefix", "backend": backend}]}} for h in ("a.sub.example.com", "a.example.com")]
    for name, annotations in (("plain", {}), ("named", {"hostname": "named.example.com", "ttl": "30"})):
        body = annotated(name, {"rules": rules, "tls": [{"hosts": ["t.sub.example.com"]}]}, **annotations)
        if name == "named":
            body["spec"] = {"defaultBackend": backend}
        status, answer = c.call("POST", where, body)
        assert status == 201, answer
        set_addresses(c, f"{where}/{name}", [{"ip": "192.0.2.1"}])
    wait_records(c, ns, {("a.sub.example.com", "A"): (77, ["192.0.2.1"]), ("t.sub.example.com", "A"): (77, ["192.0.2.1"]),
                         ("named.example.com", "A"): (30, ["192.0.2.1"])})
    owner = next(o for o in c.call("GET", path(ns))[1]["items"] if o["spec"]["name"] == "named.example.com")["metadata"]["ownerReferences"][0]
    assert (owner["apiVersion"], owner["kind"], owner["name"]) == ("networking.k8s.io/v1", "Ingress", "named")


def test_to_the_provider_and_back(c, ns, tmp_path):
    """DR-S2: from the annotation to the provider's zone; when the Service is deleted, the record set goes."""
    zones = Zones(tmp_path)
    make_secret(c, ns, zones.data())
    p = start(c.kubeconfig(getattr(c, "system", None) or c.admin, OWN), "--namespace", OWN, "--no-election", "--dnsrecord-types", "memory",
              controllers="dnssource,dnsrecord")
    try:
        service(c, ns, "web", ingress=[{"ip": "192.0.2.1"}], hostname="www.example.com", ttl="60")
        until(lambda: zones.sets() == {("www.example.com", "A"): (60, ["192.0.2.1"])})
        name = c.call("GET", path(ns))[1]["items"][0]["metadata"]["name"]
        wait_settled(c, ns, name)
        assert c.call("DELETE", f"/api/v1/namespaces/{ns}/services/web")[0] == 200
        if isinstance(c, Cluster):  # no garbage collector runs here
            delete(c, ns, name)
        until(lambda: zones.sets() == {} and get(c, ns, name) is None)
    finally:
        assert p.stop() == 0, p.text()
