# SPDX-License-Identifier: GPL-3.0-or-later
"""A cluster's worth of Services and EndpointSlices behind a real API server, and bounds that are held or not."""
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, "tests"), os.path.join(ROOT, "tests", "kube")]
from lib import cluster  # noqa: E402
from watcherlib import compact  # noqa: E402

STAMP = "2026-01-01T00:00:00Z"
NAMESPACES = 50


def managed(manager):
    fields = {"f:metadata": {"f:labels": {".": {}, "f:app": {}}}, "f:spec": {"f:ports": {}, "f:selector": {}, "f:type": {}}}
    return [{"manager": manager, "operation": "Update", "apiVersion": "v1", "time": STAMP, "fieldsType": "FieldsV1",
             "fieldsV1": fields}]


def cluster_ip(i):
    return f"10.96.{i // 250 + 1}.{i % 250 + 1}"


def address(i):
    """What the server itself would make for each Service before it is ready, at a hundred per second."""
    return f"/registry/ipaddresses/{cluster_ip(i)}", {
        "kind": "IPAddress", "apiVersion": "networking.k8s.io/v1",
        "metadata": {"name": cluster_ip(i), "uid": f"00000000-0000-0000-0004-{i:012d}", "creationTimestamp": STAMP,
                     "labels": {"ipaddress.kubernetes.io/ip-family": "IPv4",
                                "ipaddress.kubernetes.io/managed-by": "ipallocator.k8s.io"}},
        "spec": {"parentRef": {"group": "", "resource": "services", "namespace": f"ns-{i % NAMESPACES}", "name": f"service-{i}"}}}


def service(i):
    name, ip = f"service-{i}", cluster_ip(i)
    return f"/registry/services/specs/ns-{i % NAMESPACES}/{name}", {
        "kind": "Service", "apiVersion": "v1",
        "metadata": {"name": name, "namespace": f"ns-{i % NAMESPACES}", "uid": f"00000000-0000-0000-0001-{i:012d}",
                     "creationTimestamp": STAMP, "labels": {"app": name}, "managedFields": managed("kubectl")},
        "spec": {"ports": [{"name": "http", "protocol": "TCP", "port": 80, "targetPort": 8080},
                           {"name": "metrics", "protocol": "TCP", "port": 9090, "targetPort": 9090}],
                 "selector": {"app": name}, "clusterIP": ip, "clusterIPs": [ip], "type": "ClusterIP",
                 "sessionAffinity": "None", "ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack",
                 "internalTrafficPolicy": "Cluster"}, "status": {"loadBalancer": {}}}


def endpoint(i, e, per_slice):
    n = i * per_slice + e
    return {"addresses": [f"10.{n // 65536 % 256}.{n // 256 % 256}.{n % 256}"],
            "conditions": {"ready": True, "serving": True, "terminating": False},
            "targetRef": {"kind": "Pod", "namespace": f"ns-{i % NAMESPACES}", "name": f"service-{i}-7f6d9c5b8d-{e:05d}",
                          "uid": f"00000000-0000-0000-0002-{n:012d}"},
            "nodeName": f"node-{n % 200}.eu-central-1.compute.internal", "zone": f"eu-central-1{'abc'[n % 3]}"}


def endpoint_slice(i, per_slice):
    name, ns = f"service-{i}-x7k2p", f"ns-{i % NAMESPACES}"
    return f"/registry/endpointslices/{ns}/{name}", {
        "kind": "EndpointSlice", "apiVersion": "discovery.k8s.io/v1",
        "metadata": {"name": name, "namespace": ns, "uid": f"00000000-0000-0000-0003-{i:012d}", "creationTimestamp": STAMP,
                     "generateName": f"service-{i}-", "labels": {"kubernetes.io/service-name": f"service-{i}"},
                     "managedFields": managed("kube-controller-manager")},
        "addressType": "IPv4", "endpoints": [endpoint(i, e, per_slice) for e in range(per_slice)],
        "ports": [{"name": "http", "protocol": "TCP", "port": 8080}, {"name": "metrics", "protocol": "TCP", "port": 9090}]}


def namespace(i):
    return f"/registry/namespaces/ns-{i}", {
        "kind": "Namespace", "apiVersion": "v1",
        "metadata": {"name": f"ns-{i}", "uid": f"00000000-0000-0000-0005-{i:012d}", "creationTimestamp": STAMP},
        "spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"}}


def arguments(opt):
    opt.add_argument("--services", type=int, default=10000)
    opt.add_argument("--per-slice", type=int, default=10)
    opt.add_argument("--build", default=os.path.join(ROOT, "build"))


class Filled(cluster.Cluster):
    """Its objects are written into etcd before the API server starts: thousands per second instead of a hundred."""

    def __init__(self, services, per_slice):
        super().__init__()
        self.n = services, per_slice

    def start(self):
        services, per_slice = self.n
        self.start_etcd()
        self.wait_etcd()
        self.put([namespace(i) for i in range(NAMESPACES)])
        self.put([address(i) for i in range(services)])
        self.put([service(i) for i in range(services)])
        self.put([endpoint_slice(i, per_slice) for i in range(services)])
        self.start_api()

    def forget(self):
        """Whoever watches has to list everything again."""
        self.call("POST", "/api/v1/namespaces/default/configmaps", {"metadata": {"generateName": "moves-the-version-"}})
        self.api.stop()
        compact(self)
        self.start_api()


HELD = []


def held(value, bound):
    """"1.19 <= 1.5 pass", and remembered."""
    HELD.append(value <= bound)
    return f"{value:.{2 if bound < 10 else 1}f} <= {bound:g} {'pass' if HELD[-1] else 'FAIL'}"
