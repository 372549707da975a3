# SPDX-License-Identifier: GPL-3.0-or-later
"""What the tests of `poddns` share: an API that asks its hooks, and pods that are created there."""
import json
import secrets
import ssl
import urllib.error
import urllib.request

from controllerlib import objects, until
from lib import cluster, server

KEY = "dns.fairlead.dev/"
APPLIED = KEY + "pod-dns-applied"
HOOKS = "/apis/admissionregistration.k8s.io/v1"
NAME = "fairlead-poddns"
FLAGS = ["--webhook-listen", "127.0.0.1:0", "--webhook-names", "127.0.0.1", "--webhook-secret", f"{NAME}-webhooks",
         "--webhook-registration", NAME, "--webhook-look", "200ms"]
SERVER = "10.96.0.10"
SEARCHES = ["svc.cluster.local", "cluster.local"]


def pod(spec=None, **meta):
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", **meta},
            "spec": {"containers": [{"name": "c", "image": "i"}], **(spec or {})}}


def send(c, method, path, body):
    """(status, body, warnings) of one request."""
    request = urllib.request.Request(c.url + path, json.dumps(body).encode(), {
        "Authorization": f"Bearer {c.admin}", "Content-Type": "application/json", "User-Agent": "fairlead-tests"}, method=method)
    try:
        with urllib.request.urlopen(request, timeout=30, context=ssl.create_default_context(cafile=c.ca)) as reply:
            status, raw, headers = reply.status, reply.read(), reply.headers
    except urllib.error.HTTPError as e:
        status, raw, headers = e.code, e.read(), e.headers
    return status, json.loads(raw), [w.split('"', 1)[1].rstrip('"').replace('\\"', '"') for w in headers.get_all("Warning") or []]


def create(c, ns, spec=None, dry_run=False, **meta):
    """(status, body, warnings) of a pod's creation."""
    return send(c, "POST", f"/api/v1/namespaces/{ns}/pods{'?dryRun=All' if dry_run else ''}", pod(spec, **meta))


def settings(body):
    """What is stored of a pod's DNS settings."""
    return {k: body["spec"][k] for k in ("dnsPolicy", "dnsConfig") if k in body["spec"]}


def register(c, port, change=lambda hook: None):
    """The shipped registrations, pointed at a port of loopback."""
    for o in objects(c, "deploy/webhooks/poddns.yaml"):
        if o["kind"] == "Service":
            continue
        for hook in o["webhooks"]:
            hook["clientConfig"] = {"url": f"https://127.0.0.1:{port}{hook['clientConfig']['service']['path']}"}
            hook["timeoutSeconds"] = 10
            change(hook)
        status, body = c.call("POST", f"{HOOKS}/{o['kind'].lower()}s", o)
        assert status == 201, body


def unregister(c):
    for kind in ("mutating", "validating"):
        c.call("DELETE", f"{HOOKS}/{kind}webhookconfigurations/{NAME}")


def port_of(p):
    """Of its web hooks, once they have their certificate."""
    until(lambda: p.get("/readyz")[0] == 200)
    return int(p.wait_line("web hooks on port")[1].split()[-1])


def make_namespace(c, name, annotations=None, labels=None):
    status, body = c.call("POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {
        "name": name, "annotations": annotations or {}, "labels": labels or {}}})
    assert status == 201, body


def annotate(c, ns, **annotations):
    """None takes one away; _ stands for -."""
    change = {"metadata": {"annotations": {KEY + k.replace("_", "-"): v for k, v in annotations.items()}}}
    status, body = c.call("PATCH", f"/api/v1/namespaces/{ns}", change, content_type="application/merge-patch+json")
    assert status == 200, body


def events_of(c, ns, reason):
    return [e for e in c.call("GET", f"/apis/events.k8s.io/v1/namespaces/{ns}/events")[1]["items"] if e["reason"] == reason]


class Machine(cluster.Embedded):
    """`fairlead up` with this controller, and DNS on port 53 of an address of its own."""

    def __init__(self):
        super().__init__()
        self.address = "127." + ".".join(str(secrets.randbelow(200) + 20) for _ in range(3))

    def start_api(self):
        self.api = cluster.Child("fairlead-up", [
            server.fairlead_program(), "up", "--data", self.data, "--api", f"127.0.0.1:{self.port}", "--dns",
            f"{self.address}:53", "--pod-dns-servers", self.address, "--controllers", "poddns", *self.flags], self.dir)
        self.wait_ready()
