# SPDX-License-Identifier: GPL-3.0-or-later
"""What an API server holds for the kubernetes plugin: Services of every shape, slices, pods, namespaces, all from a seed.
Written straight into etcd, so that also content is there that today's validation refuses and yesterday's let through."""
import random

STAMP = "2026-01-01T00:00:00Z"
ZONE = "cluster.local"
LONG = "n" * 63
NAMESPACES = {"shop": {"team": "a", "tier": "front"}, "bank": {"team": "b"}, "hidden": {}, "10": {"team": "a"}, LONG: {"team": "a"},
              "empty": {}, "svc": {"team": "b"}}
TOPOLOGY = ["eu-1a", "EU-1b", "zone.with.dots", None]
PORTS = [
    [{"name": "http", "port": 80, "protocol": "TCP"}],
    [{"name": "dns", "port": 53, "protocol": "UDP"}, {"name": "dns-tcp", "port": 53, "protocol": "TCP"}],
    [{"name": "http", "port": 80, "protocol": "TCP"}, {"name": "http", "port": 8080, "protocol": "UDP"},
     {"name": "grpc", "port": 9000, "protocol": "SCTP"}],
    [{"port": 443, "protocol": "TCP"}],
    [{"name": "p" * 15, "port": 65535, "protocol": "TCP"}],
    [],
]
EXTERNAL = ["www.example.org", "WWW.Example.ORG", "nx.example.org", "tc.example.org", "fail.example.org", "nowhere.test",
            "1.2.3.4", "fd00::1", "a-cluster.shop.svc." + ZONE, "a-headless.shop.svc." + ZONE + ".",
            "none.shop.svc." + ZONE, "A-Cluster.Shop.SVC." + ZONE, "shop.svc." + ZONE, ZONE, "10-1-2-3.shop.pod." + ZONE,
            "x.e11.shop.svc." + ZONE, "e12.shop.svc." + ZONE, "_http._tcp.a-cluster.shop.svc." + ZONE, "ns.dns." + ZONE,
            ".".join(["l" * 60] * 4) + ".org", "dns-version." + ZONE]
IMPORT_KIND = {
    "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
    "metadata": {"name": "serviceimports.multicluster.x-k8s.io",
                 "annotations": {"api-approved.kubernetes.io": "unapproved, for tests"}},
    "spec": {"group": "multicluster.x-k8s.io", "scope": "Namespaced",
             "names": {"plural": "serviceimports", "singular": "serviceimport", "kind": "ServiceImport",
                       "listKind": "ServiceImportList"},
             "versions": [{"name": "v1alpha1", "served": True, "storage": True, "schema": {
                 "openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}}]}}
CHAIN = 13  # ExternalNames, each leading to the next


class Content:
    """Objects by etcd key, and what questions are made of."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.objects = {}
        self.count = 0
        self.services = {}  # (namespace, name) -> object
        self.labels = {}  # (namespace, service) -> labels of endpoints
        self.ips = set()
        self.cluster_ips = {}  # address -> [(namespace, name)]
        self.pods = []  # (namespace, address)
        for ns, labels in NAMESPACES.items():
            self.put(f"/registry/namespaces/{ns}", "v1", "Namespace", ns, None, labels,
                     {"spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"}})
        for ns in NAMESPACES:
            if ns != "empty":
                self.namespace(ns)
        self.special()
        self.make_pods()
        self.make_imports()

    def put(self, key, version, kind, name, ns, labels, rest):
        self.count += 1
        meta = {"name": name, "uid": f"00000000-0000-0000-0000-{self.count:012d}", "creationTimestamp": STAMP}
        if ns:
            meta["namespace"] = ns
        if labels:
            meta["labels"] = labels
        meta.update(rest.pop("metadata", {}))
        self.objects[key] = {"apiVersion": version, "kind": kind, "metadata": meta, **rest}
        return self.objects[key]

    # ---- addresses ----

    def fresh(self, v6):
        """An address of an endpoint; some are used again."""
        r = self.rng
        if self.ips and r.random() < 0.1:
            again = r.choice(sorted(self.ips))
            if (":" in again) == v6:
                return again
        n = r.randrange(1, 60000)
        ip = (f"fd00::{n:x}" if r.random() < 0.8 else f"fd00:{n:x}::") if v6 else f"172.17.{n // 250}.{n % 250}"
        self.ips.add(ip)
        return ip

    # ---- Services ----

    def service(self, ns, name, ips=None, ports=None, labels=None, **spec):
        ports = [dict(p, targetPort=8080) for p in (self.rng.choice(PORTS) if ports is None else ports)]
        spec = {"type": "ClusterIP", "sessionAffinity": "None", **spec}
        if ips is not None:
            spec.update(clusterIP=ips[0], clusterIPs=ips)
            if ips[0] not in ("None", ""):
                spec["ipFamilies"] = ["IPv6" if ":" in i else "IPv4" for i in ips]
                for i in ips:
                    self.cluster_ips.setdefault(i, []).append((ns, name))
        if ports:
            spec["ports"] = ports
        self.services[ns, name] = self.put(f"/registry/services/specs/{ns}/{name}", "v1", "Service", name, ns, labels,
                                           {"spec": spec, "status": spec.pop("status", {"loadBalancer": {}})})
        for i in ips or []:
            if i.startswith("10.96."):
                self.address(ns, name, i)

    def address(self, ns, name, ip):
        """What the server would make itself, slowly."""
        self.put(f"/registry/ipaddresses/{ip}", "networking.k8s.io/v1", "IPAddress", ip, None,
                 {"ipaddress.kubernetes.io/ip-family": "IPv4", "ipaddress.kubernetes.io/managed-by": "ipallocator.k8s.io"},
                 {"spec": {"parentRef": {"group": "", "resource": "services", "namespace": ns, "name": name}}})

    def slice(self, ns, name, service, endpoints, ports, v6=False, labels=None):
        labels = dict(labels or {})
        if service is not None:
            labels["kubernetes.io/service-name"] = service
        self.put(f"/registry/endpointslices/{ns}/{name}", "discovery.k8s.io/v1", "EndpointSlice", name, ns, labels,
                 {"addressType": "IPv6" if v6 else "IPv4", "endpoints": endpoints, "ports": ports})
        mine = self.labels.setdefault((ns, service), [])
        for e in endpoints:
            for ip in e["addresses"]:
                label = ip.replace(".", "-").replace(":", "-")
                mine += [label + "0" if label.endswith("-") else label]
            mine += [e["hostname"]] if e.get("hostname") else []
            mine += [e["targetRef"]["name"]] if e.get("targetRef") else []

    def endpoint(self, v6=False):
        r = self.rng
        e = {"addresses": [self.fresh(v6)], "conditions": r.choice([{}, {"ready": True}, {"ready": True}, {"ready": False}])}
        if r.random() < 0.3:
            e["hostname"] = r.choice(["pod-a", "pod-b", "h" * 63, "web-0"])
        if r.random() < 0.4:
            e["targetRef"] = {"kind": "Pod", "namespace": "shop", "name": r.choice(["target-1", "t" * 63, "t" * 64, "Target-2"])}
        zone = r.choice(TOPOLOGY)
        if zone:
            e["zone"] = zone
        e["nodeName"] = f"node-{r.randrange(3)}"
        return e

    def slices(self, ns, service, ports, labels=None):
        r = self.rng
        for i in range(r.choice([1, 1, 2, 3])):
            v6 = r.random() < 0.3
            mine = ports if r.random() < 0.8 else r.choice(PORTS)
            mine = [{k: v for k, v in p.items() if k in ("name", "port", "protocol")} for p in mine]
            self.slice(ns, f"{service[:50]}-{i}", service, [self.endpoint(v6) for _ in range(r.choice([0, 1, 2, 3, 9]))], mine,
                       v6, labels)

    def cluster_ip(self):
        n = len(self.cluster_ips)
        return f"10.96.{n // 250 + 1}.{n % 250 + 1}"

    def namespace(self, ns):
        """Shapes that stand in every namespace."""
        r = self.rng
        app = lambda: r.choice([None, {"app": "web"}, {"app": "db"}])  # noqa: E731
        for i, (kind, spec) in enumerate((k, s) for k in ("v4", "v6", "dual", "headless", "bare-headless")
                                         for s in ({}, {"type": "NodePort"}, {"publishNotReadyAddresses": True})):
            if "headless" in kind and "type" in spec:
                continue
            name, ports, labels = f"{kind}-{i}", r.choice(PORTS), app()
            v4, v6 = self.cluster_ip(), f"fd96::{i + 1:x}:{len(self.cluster_ips):x}"
            ips = {"v4": [v4], "v6": [v6], "dual": r.choice([[v4, v6], [v6, v4]])}.get(kind, ["None"])
            self.service(ns, name, ips, ports, labels, **spec)
            if kind != "bare-headless" and r.random() < 0.8:
                self.slices(ns, name, ports, labels)
        self.service(ns, LONG, [self.cluster_ip()], PORTS[0])
        self.service(ns, "h" * 63, ["None"], PORTS[1])
        self.slices(ns, "h" * 63, PORTS[1])
        self.service(ns, "lb", [self.cluster_ip()], PORTS[2], type="LoadBalancer", externalIPs=["192.0.2.7"],
                     status={"loadBalancer": {"ingress": [{"ip": "192.0.2.9"}, {"hostname": "lb.example.org"}]}})
        for i, target in enumerate(EXTERNAL):
            self.service(ns, f"e{i}", None, r.choice(PORTS[:4] + [[]]), type="ExternalName", externalName=target)
        for i in range(CHAIN):
            to = f"chain-{i + 1}.{ns}.svc.{ZONE}" if i + 1 < CHAIN else r.choice(["www.example.org", f"v4-0.{ns}.svc.{ZONE}"])
            self.service(ns, f"chain-{i}", None, [], type="ExternalName", externalName=to)
        for i in range(3):
            self.service(ns, f"loop-{i}", None, [], type="ExternalName", externalName=f"loop-{(i + 1) % 3}.{ns}.svc.{ZONE}")

    def special(self):
        """Single ones."""
        http = PORTS[0]
        self.service("shop", "a-cluster", ["10.96.200.1"], PORTS[2])
        self.service("shop", "a-headless", ["None"], http)
        self.slice("shop", "a-headless-1", "a-headless", [
            {"addresses": ["172.20.0.1", "172.20.0.2"], "hostname": "twin"}, {"addresses": ["172.20.0.1"]}], http)
        self.slice("shop", "a-headless-2", "a-headless", [{"addresses": ["172.20.0.1"], "hostname": "twin"}], http)
        # Slices of no Service, of none that is there, of one in another namespace.
        self.slice("shop", "stray-1", None, [{"addresses": ["172.20.1.1"]}], http)
        self.slice("shop", "stray-2", "gone", [{"addresses": ["172.20.1.2"]}], http)
        self.slice("bank", "stray-3", "a-headless", [{"addresses": ["172.20.1.3"]}], http)
        # The same address in many Services, and one of a cluster as an endpoint.
        for ns in ("shop", "bank", "hidden"):
            for i in range(3):
                self.service(ns, f"share-{i}", ["None"], http)
                self.slice(ns, f"share-{i}-x", f"share-{i}", [{"addresses": ["172.20.2.1", "10.96.200.1"]}], http)
        # One cluster address in two namespaces.
        for ns in ("hidden", "bank"):
            self.service(ns, "same-ip", ["10.96.200.9"], http)
        # Ports without number, name or protocol.
        self.service("shop", "odd-ports", ["None"], http)
        self.slice("shop", "odd-ports-1", "odd-ports", [{"addresses": ["172.20.3.1"]}],
                   [{}, {"name": "a"}, {"port": 7, "protocol": "UDP"}])
        # Many endpoints in many slices, over any size of a message.
        self.service("shop", "crowd", ["None"], PORTS[2])
        for i in range(40):
            self.slice("shop", f"crowd-{i}", "crowd", [{"addresses": [f"172.21.{i}.{k}"]} for k in range(30)], PORTS[2])
        self.service("shop", "dozen", ["None"], PORTS[0])
        self.slice("shop", "dozen-1", "dozen", [{"addresses": [f"172.22.0.{k}"]} for k in range(12)], PORTS[0])
        # Letters that a name cannot have here.
        self.service("shop", "Upper", ["10.96.200.2"], http)
        self.service("shop", "none-yet", [""], http)

    def make_pods(self):
        def pod(ns, name, ips, phase="Running", gone=False):
            status = {"phase": phase, "podIPs": [{"ip": i} for i in ips]}
            status.update({"podIP": ips[0]} if ips else {})
            meta = {"deletionTimestamp": STAMP, "deletionGracePeriodSeconds": 30} if gone else {}
            self.put(f"/registry/pods/{ns}/{name}", "v1", "Pod", name, ns, {"app": "web"},
                     {"metadata": meta, "spec": {"containers": [{"name": "c", "image": "i"}]}, "status": status})
            self.pods += [(ns, i) for i in ips]
        for ns in ("shop", "bank", LONG):
            for i in range(4):
                pod(ns, f"pod-{i}", [f"172.30.{len(ns)}.{i}"] + ([f"fd30:{len(ns):x}::{i + 1:x}"] if i % 2 else []))
            pod(ns, "host", ["172.31.0.1"])  # the node's, in every namespace
            pod(ns, "no-address", [])
            pod(ns, "done", [f"172.30.{len(ns)}.100"], "Succeeded")
            pod(ns, "ending", [f"172.30.{len(ns)}.101"], gone=True)
        pod("hidden", "v6-end", ["fd30::"])

    def make_imports(self):
        """ServiceImports (the kind is IMPORT_KIND), and slices of two clusters."""
        for ns in ("shop", "bank"):
            for i, (kind, ips, ports) in enumerate(((k, i, p) for k in ("ClusterSetIP", "Headless")
                                                    for i in (["10.97.0.1"], ["fd97::1", "10.97.0.2"], [])
                                                    for p in (PORTS[0], PORTS[2], []))):
                name = f"import-{i}"
                self.put(f"/registry/multicluster.x-k8s.io/serviceimports/{ns}/{name}", "multicluster.x-k8s.io/v1alpha1",
                         "ServiceImport", name, ns, None, {"spec": {"type": kind, "ips": ips, "ports": ports}})
                self.services[ns, name] = {"spec": {"ports": ports}}
                for cluster in self.rng.sample(["c1", "C2", "c3"], 2):
                    before = self.labels.get((ns, name), [])
                    self.slice(ns, f"{name}-{cluster.lower()}", f"derived-{name}", [self.endpoint() for _ in range(3)], ports or [], labels={
                        "multicluster.kubernetes.io/service-name": name, "multicluster.kubernetes.io/source-cluster": cluster})
                    found = self.labels.pop((ns, f"derived-{name}"), [])
                    self.labels[ns, name] = before + found + [f"{l}.{cluster}" for l in found]
