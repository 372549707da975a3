# SPDX-License-Identifier: GPL-3.0-or-later
"""Pools, claims and addresses for the tests of the controller ipam."""
import json
import socket
import ssl
import threading
import urllib.request

from controllerlib import until

GROUP = "ipam.cluster.x-k8s.io"
NETWORK = "ipam.fairlead.dev/network"
POOL, GLOBAL_POOL = "InClusterIPPool", "GlobalInClusterIPPool"
PREFIX_POOL, GLOBAL_PREFIX_POOL = "InClusterPrefixPool", "GlobalInClusterPrefixPool"


def path_of(plural, version, ns=None, name=None):
    return f"/apis/{GROUP}/{version}" + (f"/namespaces/{ns}" if ns else "") + f"/{plural}" + (f"/{name}" if name else "")


def claims_path(ns, name=None):
    return path_of("ipaddressclaims", "v1beta2", ns, name)


def addresses_path(ns, name=None):
    return path_of("ipaddresses", "v1beta2", ns, name)


def pools_path(ns, name=None):
    return path_of("inclusterippools", "v1alpha2", ns, name) if ns else path_of("globalinclusterippools", "v1alpha2", None, name)


def make(c, path, o):
    status, body = c.call("POST", path, o)
    assert status == 201, body
    return body


def prefix_pools_path(ns, name=None):
    return path_of("inclusterprefixpools", "v1alpha2", ns, name) if ns else path_of("globalinclusterprefixpools", "v1alpha2", None, name)


def make_prefix_pool(c, ns, name, prefixes, network=None, **spec):
    """As make_pool."""
    network = (ns or name) if network is None else network
    return make(c, prefix_pools_path(ns), {
        "apiVersion": f"{GROUP}/v1alpha2", "kind": PREFIX_POOL if ns else GLOBAL_PREFIX_POOL,
        "metadata": {"name": name, "annotations": {NETWORK: network} if network else {}}, "spec": {"prefixes": prefixes, **spec}})


def make_pool(c, ns, name, addresses, prefix=24, network=None, **spec):
    """Unless the network is named, each namespace is one, so that tests need not share addresses; "" is the default of users."""
    network = (ns or name) if network is None else network
    o = {"apiVersion": f"{GROUP}/v1alpha2", "kind": POOL if ns else GLOBAL_POOL, "metadata": {"name": name},
         "spec": {"addresses": addresses, "prefix": prefix, **spec}}
    if network:
        o["metadata"]["annotations"] = {NETWORK: network}
    return make(c, pools_path(ns), o)


def claim_of(name, pool, kind=POOL, cluster=None, **meta):
    o = {"apiVersion": f"{GROUP}/v1beta2", "kind": "IPAddressClaim", "metadata": {"name": name, **meta},
         "spec": {"poolRef": {"apiGroup": GROUP, "kind": kind, "name": pool}}}
    if cluster:
        o["spec"]["clusterName"] = cluster
    return o


def make_claim(c, ns, name, pool, **kw):
    return make(c, claims_path(ns), claim_of(name, pool, **kw))


def get(c, path):
    """The object, or None."""
    status, body = c.call("GET", path)
    assert status in (200, 404), body
    return body if status == 200 else None


def items(c, path):
    status, body = c.call("GET", path)
    assert status == 200, body
    return body["items"]


def ready_of(o):
    """(status, reason, message) of the condition Ready."""
    found = [x for x in (o or {}).get("status", {}).get("conditions", []) if x["type"] == "Ready"]
    return (found[0]["status"], found[0]["reason"], found[0].get("message", "")) if found else (None, None, None)


def bound(c, ns, name):
    """The address of a claim as a consumer finds it, or None."""
    claim = get(c, claims_path(ns, name))
    ref = (claim or {}).get("status", {}).get("addressRef", {}).get("name")
    address = get(c, addresses_path(ns, ref)) if ref else None
    return address["spec"]["address"] if address else None


def wait_bound(c, ns, name, seconds=20):
    return until(lambda: bound(c, ns, name), seconds)


def wait_reason(c, ns, name, reason, seconds=20):
    return until(lambda: ready_of(get(c, claims_path(ns, name)))[1] == reason, seconds)


def delete(c, path):
    status, body = c.call("DELETE", path)
    assert status in (200, 202), body


def patch(c, path, change):
    status, body = c.call("PATCH", path, change, content_type="application/merge-patch+json")
    assert status == 200, body
    return body


class Log:
    """Every event of a collection, by a watch of its own."""

    def __init__(self, c, path):
        # A server that has just learnt the kind may still prepare its store.
        version = until(lambda: c.call("GET", path)[1]["metadata"].get("resourceVersion"))
        request = urllib.request.Request(f"{c.url}{path}?watch=1&timeoutSeconds=3600&resourceVersion={version}",
                                         headers={"Authorization": f"Bearer {c.admin}"})
        self.stream = urllib.request.urlopen(request, timeout=3600, context=ssl.create_default_context(cafile=c.ca))
        self.events = []
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        try:
            for line in self.stream:
                event = json.loads(line)
                self.events.append((event["type"], event["object"]))
        except (OSError, ValueError, AttributeError):
            pass

    def stop(self, version):
        """After the event of that version."""
        until(lambda: version == 0 or self.events and version_of(self.events[-1][1]) >= version)
        assert self.reader.is_alive(), "the watch has ended"
        self.stream.fp.raw._sock.shutdown(socket.SHUT_RDWR)
        self.reader.join(5)
        assert all(kind in ("ADDED", "MODIFIED", "DELETED") for kind, _ in self.events), self.events
        return self.events


def version_of(o):
    return int(o["metadata"]["resourceVersion"])


def are_turns_fair(c, ns):
    """No claim of the namespace's own pools reports PoolExhausted while its pool has free addresses."""
    free = {o["metadata"]["name"]: o.get("status", {}).get("ipAddresses", {}).get("free", 0) for o in items(c, pools_path(ns))}
    return not any(ready_of(o)[1] == "PoolExhausted" and free.get(o["spec"]["poolRef"]["name"], 0) > 0 and
                   o["spec"]["poolRef"]["kind"] == POOL for o in items(c, claims_path(ns)))
