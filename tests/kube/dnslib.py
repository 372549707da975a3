# SPDX-License-Identifier: GPL-3.0-or-later
"""What tests of `kubernetes` and the plugins around it share: objects for the API server, and servers that read it."""
import itertools

from controllerlib import until
from lib import client, server, wire

IDENT = itertools.count(1)


class Api:
    """Objects of a cluster, written and deleted."""

    def __init__(self, cluster):
        self.cluster = cluster

    def call(self, method, path, body=None, content_type="application/json"):
        status, reply = self.cluster.call(method, path, body, content_type=content_type)
        assert status < 300, (method, path, status, reply)
        return reply

    def namespace(self, name, annotations=None):
        return self.call("POST", "/api/v1/namespaces", {
            "apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "annotations": annotations or {}}})

    def annotate(self, namespace, **annotations):
        """None takes one away; _ in the keys of `annotations` stands for nothing else."""
        return self.call("PATCH", f"/api/v1/namespaces/{namespace}", {"metadata": {"annotations": annotations}},
                         "application/merge-patch+json")

    def service(self, namespace, name, status=None, **spec):
        path = f"/api/v1/namespaces/{namespace}/services"
        made = self.call("POST", path, {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec})
        if status:
            self.call("PATCH", f"{path}/{name}/status", {"status": status}, "application/merge-patch+json")
        return made

    def slice(self, namespace, name, service, endpoints, ports, address_type="IPv4"):
        return self.call("POST", f"/apis/discovery.k8s.io/v1/namespaces/{namespace}/endpointslices", {
            "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": address_type,
            "metadata": {"name": name, "labels": {"kubernetes.io/service-name": service}},
            "endpoints": endpoints, "ports": ports})

    def pod(self, namespace, name, *addresses, host_network=False):
        path = f"/api/v1/namespaces/{namespace}/pods"
        self.call("POST", path, {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {
            "hostNetwork": host_network, "nodeName": "node", "terminationGracePeriodSeconds": 0,
            "containers": [{"name": "c", "image": "i"}]}})
        self.call("PATCH", f"{path}/{name}/status", {"status": {
            "phase": "Running", "hostIP": "127.0.9.9", "hostIPs": [{"ip": "127.0.9.9"}], "podIP": addresses[0],
            "podIPs": [{"ip": a} for a in addresses]}}, "application/merge-patch+json")

    def delete_pod(self, namespace, name):
        self.call("DELETE", f"/api/v1/namespaces/{namespace}/pods/{name}?gracePeriodSeconds=0")

    def delete(self, path):
        self.call("DELETE", path)


def ask(port, name, rtype="A", source=""):
    """The reply, taken apart."""
    question = wire.query(name, rtype, ident=next(IDENT) % 65536)
    reply = client.udp_ask(port, question, source=source)
    assert reply is not None, f"no reply to {name} {rtype}"
    return wire.parse(reply)


def lines(message):
    """As text, the serial of SOA records left out."""
    out = []
    for line in message.text():
        words = line.split()
        if len(words) > 4 and words[4] == "SOA":
            words[7] = "SERIAL"
        out.append(" ".join(words))
    return out


def timeless(message):
    """The same without TTLs, which run."""
    out = []
    for line in lines(message):
        words = line.split()
        if words[0] in ("answer", "authority", "additional"):
            words[2] = "TTL"
        out.append(" ".join(words))
    return out


def answers(message):
    """Data of the answer section by type, such as {"A": ["192.0.2.1"]}."""
    out = {}
    for record in message.answer:
        words = wire.record_text(record).split()
        out.setdefault(words[3], []).append(" ".join(words[4:]))
    return {k: sorted(v) for k, v in out.items()}


def fairlead(corefile, **more):
    return server.Server(server.fairlead(), corefile, **more)


def coredns(corefile, **more):
    return server.Server([server.coredns_program()], corefile, **more)


def rcode(message):
    return wire.rcode_text(message.rcode)


def until_answer(port, name, rtype="A", source="", want="NOERROR", seconds=20):
    return until(lambda: (lambda m: m if rcode(m) == want else None)(ask(port, name, rtype, source)), seconds, 0.01)
