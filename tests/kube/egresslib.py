# SPDX-License-Identifier: GPL-3.0-or-later
"""EgressFirewalls, DNSNames and a DNS server with changing zones, for the tests of the controller egressfirewall."""
import os

import crdlib
from controllerlib import objects, start, until
from lib import server
from lib.cluster import Cluster

GROUP = "k8s.ovn.org"
MANAGER = "fairlead-egressfirewall"
DEPTH = "egress.fairlead.dev/wildcard-depth"
UNUSED = "egress.fairlead.dev/unused"
MERGE = "application/merge-patch+json"
OWN = "default"  # the program's namespace, by its kubeconfig

COREFILE = """
.:@PORT@ {
    file @DIR@/zone example {
        reload 200ms
        reload_by_mtime
    }
}
"""
HEAD = "$ORIGIN example.\n$TTL {ttl}\n@ SOA ns hostmaster {serial} 3600 600 86400 {ttl}\n@ NS ns\nns A 192.0.2.53\n"


class Zone:
    """The zone `example.` of a Fairlead server; records change while it runs."""

    def __init__(self, records="", ttl=5):
        self.ttl, self.serial = ttl, 1
        self.server = server.Server(server.fairlead(), COREFILE, files={"zone": self.text(records)})

    def text(self, records):
        return HEAD.format(ttl=self.ttl, serial=self.serial) + records

    def set(self, records):
        self.serial += 1
        path = os.path.join(self.server.dir, "zone")
        with open(path + ".new", "w", encoding="ascii") as f:
            f.write(self.text(records))
        os.replace(path + ".new", path)

    @property
    def address(self):
        return f"127.0.0.1:{self.server.port()}"

    def __enter__(self):
        self.server.start()
        return self

    def __exit__(self, *_):
        self.server.stop()


def prepare(c):
    """The kinds, on a real API server."""
    if isinstance(c, Cluster):
        crdlib.apply_all(c, group=GROUP)
    return c


def system_of(c):
    """The identity that may write DNSNames."""
    return getattr(c, "system", None) or c.admin


def run_controller(c, zone, *args):
    p = start(c.kubeconfig(system_of(c)), "--lookup-servers", zone.address, *args, controllers="egressfirewall")
    p.wait_line("leading as")
    return p


def firewalls_path(ns, name=None):
    return f"/apis/{GROUP}/v1/namespaces/{ns}/egressfirewalls" + (f"/{name}" if name else "")


def names_path(name=None, ns=OWN):
    return f"/apis/{GROUP}/v1/namespaces/{ns}/dnsnames" + (f"/{name}" if name else "")


def rule(to, kind="Allow", ports=None):
    """A rule from `*.example.com`, `10.0.0.0/8` or a map for a nodeSelector."""
    key = "nodeSelector" if isinstance(to, dict) else "cidrSelector" if "/" in to else "dnsName"
    return {"type": kind, "to": {key: to}, **({"ports": ports} if ports else {})}


def firewall(rules, **meta):
    return {"apiVersion": f"{GROUP}/v1", "kind": "EgressFirewall", "metadata": {"name": "default", **meta},
            "spec": {"egress": [r if isinstance(r, dict) and "type" in r else rule(r) for r in rules]}}


def make_firewall(c, ns, rules, **meta):
    status, body = c.call("POST", firewalls_path(ns), firewall(rules, **meta))
    assert status == 201, body
    return body


def change_rules(c, ns, rules):
    status, body = c.call("PATCH", firewalls_path(ns, "default"), {"spec": firewall(rules)["spec"]}, content_type=MERGE)
    assert status == 200, body


def delete(c, path, token=None):
    status, body = c.call("DELETE", path, token=token)
    assert status in (200, 202), body


def get(c, path):
    status, body = c.call("GET", path)
    assert status in (200, 404), body
    return body if status == 200 else None


def flags(c, name, ns=OWN):
    """(isregular, iswildcard) of a DNSName, or None."""
    o = get(c, names_path(name, ns))
    return (o["spec"].get("isregular", False), o["spec"].get("iswildcard", False)) if o else None


def items(c, name, ns=OWN):
    """{host: [addresses]} of a DNSName's status."""
    o = get(c, names_path(name, ns)) or {}
    return {i["dnsname"]: [x["ip"] for x in i["info"]] for i in o.get("status", {}).get("items", [])}


def wait_items(c, name, wanted, seconds=20, ns=OWN):
    until(lambda: items(c, name, ns) == wanted, seconds, 0.1)


def write_items(c, name, hosts, ttl="30", at="2040-01-01T00:00:00Z", ns=OWN):
    """As a controller before this one would have left it."""
    info = {h: [{"ip": ip, "ttl": ttl, "nextlookuptime": at} for ip in ips] for h, ips in hosts.items()}
    status, body = c.call("PATCH", names_path(name, ns) + "/status", {
        "status": {"items": [{"dnsname": h, "info": i} for h, i in info.items()]}}, content_type=MERGE, token=system_of(c))
    assert status == 200, body


def make_name(c, name, regular, wildcard, ns=OWN):
    status, body = c.call("POST", names_path(None, ns), {
        "apiVersion": f"{GROUP}/v1", "kind": "DNSName", "metadata": {"name": name, "labels": {
            "app.kubernetes.io/managed-by": MANAGER}}, "spec": {"isregular": regular, "iswildcard": wildcard}}, token=system_of(c))
    assert status == 201, body


def status_of(c, ns):
    return (get(c, firewalls_path(ns, "default")) or {}).get("status", {})


def condition(c, ns, kind):
    """(status, reason, message)"""
    for x in status_of(c, ns).get("conditions", []):
        if x["type"] == kind:
            return x["status"], x["reason"], x.get("message", "")
    return None, None, None


def messages(c, ns):
    return status_of(c, ns).get("messages", [])


# ---- nodes ----


def report(c, node, *released):
    """What the agent of a node would write: names with their marks that it has let go; None: it is an older one."""
    data = {"node": node, "bootID": "", "dataPath": "", "firewalls": ""}
    if None not in released:
        data["released"] = "".join(x + "\n" for x in sorted(released))
    path = f"/api/v1/namespaces/default/configmaps/fairlead-node-{node}"
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"fairlead-node-{node}", "labels": {
        "egress.fairlead.dev/node-report": ""}}, "data": data}
    status, reply = c.call("PATCH", path + "?fieldManager=test&force=true", body, content_type="application/apply-patch+yaml")
    assert status in (200, 201), reply


# ---- web hook ----

HOOKS = "/apis/admissionregistration.k8s.io/v1"
HOOK_FLAGS = ["--webhook-listen", "127.0.0.1:0", "--webhook-names", "127.0.0.1", "--webhook-secret", f"{MANAGER}-webhooks",
              "--webhook-registration", MANAGER, "--webhook-look", "200ms"]


def register(c, p):
    """The shipped registration, pointed at the controller's port of loopback."""
    until(lambda: p.get("/readyz")[0] == 200)
    port = int(p.wait_line("web hooks on port")[1].split()[-1])
    for o in objects(c, "deploy/webhooks/egressfirewall.yaml"):
        if o["kind"] == "Service":
            continue
        for hook in o["webhooks"]:
            hook["clientConfig"] = {"url": f"https://127.0.0.1:{port}{hook['clientConfig']['service']['path']}"}
            hook["timeoutSeconds"] = 10
        status, body = c.call("POST", f"{HOOKS}/{o['kind'].lower()}s", o)
        assert status == 201, body


# ---- a CRD of another program ----

RULE = {"type": "object", "required": ["to", "type"], "properties": {
    "type": {"type": "string", "pattern": "^Allow|Deny$"},
    "ports": {"type": "array", "items": {"type": "object", "required": ["port", "protocol"], "properties": {
        "port": {"type": "integer", "format": "int32", "minimum": 1, "maximum": 65535},
        "protocol": {"type": "string", "pattern": "^TCP|UDP|SCTP$"}}}},
    "to": {"type": "object", "properties": {
        "cidrSelector": {"type": "string"}, "dnsName": {"type": "string"},
        "nodeSelector": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}}}}
# As loose as OVN-Kubernetes' own, with a status that knows no conditions.
LOOSE_CRD = {
    "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": f"egressfirewalls.{GROUP}"},
    "spec": {"group": GROUP, "scope": "Namespaced", "names": {"kind": "EgressFirewall", "listKind": "EgressFirewallList",
                                                              "plural": "egressfirewalls", "singular": "egressfirewall"},
             "versions": [{"name": "v1", "served": True, "storage": True, "subresources": {"status": {}}, "schema": {
                 "openAPIV3Schema": {"type": "object", "required": ["spec"], "properties": {
                     "spec": {"type": "object", "required": ["egress"], "properties": {"egress": {"type": "array", "items": RULE}}},
                     "status": {"type": "object", "properties": {
                         "messages": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
                         "status": {"type": "string"}}}}}}}]}}
