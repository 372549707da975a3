# SPDX-License-Identifier: GPL-3.0-or-later
"""Each shipped Role allows exactly what its component does: with it nothing is refused, and when any one verb is taken
away something is. What was refused is read from the API server's audit log."""
import copy
import itertools
import json
import os

import pytest

from controllerlib import config_map, copy_of, namespace, objects, start, until
from lib import cluster

USER = "system:serviceaccount:fairlead:fairlead-example"
TOKEN = "example-token"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
PATHS = {"Role": "/namespaces/fairlead/roles", "ClusterRole": "/clusterroles", "RoleBinding": "/namespaces/fairlead/rolebindings",
         "ClusterRoleBinding": "/clusterrolebindings"}
LABEL = "example.fairlead.dev/copy"
ROLES = [("example", "Role"), ("example", "ClusterRole"), ("webhooks", "Role"), ("webhooks", "ClusterRole")]
numbers = itertools.count()


class Audited(cluster.Cluster):
    """A cluster with RBAC that writes down what was asked."""

    def __init__(self, user=USER, token=TOKEN):
        super().__init__(users={token: (user, ["system:serviceaccounts"])}, rbac=True)
        policy = os.path.join(self.dir, "audit.yaml")
        with open(policy, "w", encoding="utf-8") as f:
            json.dump({"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived", "ResponseStarted"],
                       "rules": [{"level": "Metadata", "users": [user]}, {"level": "None"}]}, f)
        self.audit = os.path.join(self.dir, "audit.log")
        # A server that streams lists needs `watch` alone: others, `list` too.
        self.flags += ["--feature-gates=WatchList=false", f"--audit-policy-file={policy}", f"--audit-log-path={self.audit}"]

    def refused(self, since=0):
        """What the user was refused since the log had that size: [(verb, resource, name)]."""
        entries = cluster.whole_lines(self.audit, since)
        return [(e["verb"], e["objectRef"].get("resource"), e["objectRef"].get("name")) for e in entries
                if e.get("responseStatus", {}).get("code") == 403]

    def size(self):
        """Of the whole lines: the server may be in the middle of another one."""
        if not os.path.exists(self.audit):
            return 0
        with open(self.audit, "rb") as f:
            return f.read().rfind(b"\n") + 1


def path_of(o):
    """Where an object of deploy/rbac goes."""
    ns = o["metadata"].get("namespace")
    return f"{RBAC}{f'/namespaces/{ns}' if ns else ''}/{o['kind'].lower()}s"


def install_roles(c, *names):
    """Roles and bindings of deploy/rbac/NAME.yaml, in namespaces that are made where they are missing."""
    for o in (o for name in names for o in objects(c, f"deploy/rbac/{name}.yaml") if "rbac" in o["apiVersion"]):
        ns = o["metadata"].get("namespace")
        if ns and c.call("GET", f"/api/v1/namespaces/{ns}")[0] == 404:
            namespace(c, ns)
        status, body = c.call("POST", path_of(o), o)
        assert status == 201, body


@pytest.fixture(scope="module")
def c():
    with Audited() as one:
        namespace(one, "fairlead")
        config_map(one, "fairlead", "fairlead-example", {"a": "0"})
        install_roles(one, "example", "webhooks")
        # What the web hooks' part needs to be there; they match nothing.
        for o in objects(one, "deploy/webhooks/example.yaml"):
            if o["kind"].endswith("WebhookConfiguration"):
                for hook in o["webhooks"]:
                    hook["rules"][0]["resources"] = ["nothing"]
                status, body = one.call("POST", f"/apis/admissionregistration.k8s.io/v1/{o['kind'].lower()}s", o)
                assert status == 201, body
        yield one


def scenario(c, enough):
    """All that the controller ever does, until enough() says so; each step waits for its effect or for that."""
    value = [0]

    def change():
        value[0] += 1
        config_map(c, "fairlead", "fairlead-example", {"a": str(value[0])}, method="PUT")

    def step(done):
        until(lambda: enough() or done(), 25)
        return enough()

    ns = f"rbac-{next(numbers)}"
    label = lambda v: c.call("PATCH", f"/api/v1/namespaces/{ns}", {"metadata": {"labels": {LABEL: v}}},  # noqa: E731
                             content_type="application/merge-patch+json")
    c.call("DELETE", "/apis/coordination.k8s.io/v1/namespaces/fairlead/leases/fairlead-example")
    c.call("DELETE", "/api/v1/namespaces/fairlead/secrets/fairlead-webhooks")
    namespace(c, ns, {LABEL: "true"})
    p = start(c.kubeconfig(TOKEN, "fairlead"), "--webhook-listen", "127.0.0.1:0", "--webhook-names", "127.0.0.1",
              "--webhook-look", "200ms", "--webhook-cert-life", "3s", "--lease-retry", "300ms")
    events_path = f"/apis/events.k8s.io/v1/namespaces/{ns}/events"
    try:
        if step(lambda: copy_of(c, ns) is not None):
            return
        first = secret(c)
        for _ in range(3):  # the third is an update again: its Event is counted
            change()
            if step(lambda: copy_of(c, ns) == {"a": str(value[0])}):
                return
        if step(lambda: any(e.get("series") for e in c.call("GET", events_path)[1]["items"])):
            return
        label("false")
        if step(lambda: copy_of(c, ns) is None):
            return
        step(lambda: secret(c) not in (None, first))
    finally:
        p.process.terminate()
        p.process.wait(20)
        label("false")


def secret(c):
    status, body = c.call("GET", "/api/v1/namespaces/fairlead/secrets/fairlead-webhooks")
    return body["data"]["tls.crt"] if status == 200 else None


def test_nothing_is_refused(c):
    since = c.size()
    scenario(c, lambda: False)
    assert c.refused(since) == []
    assert c.size() > since, "nothing was written down: the test cannot fail"


def each_without_one(role):
    """(verb, resource, the role without that verb of that resource)."""
    for i, rule in enumerate(role["rules"]):
        for resource in rule["resources"]:
            for verb in rule["verbs"]:
                less = copy.deepcopy(role)
                less["rules"][i]["resources"] = [r for r in rule["resources"] if r != resource]
                less["rules"].append({**rule, "resources": [resource], "verbs": [v for v in rule["verbs"] if v != verb]})
                less["rules"] = [r for r in less["rules"] if r["verbs"] and r["resources"]]
                yield verb, resource, less


def read_role(c, path):
    role = c.call("GET", path)[1]
    role["metadata"].pop("resourceVersion")
    role["metadata"].pop("managedFields", None)
    return role


def check_every_verb(c, path, scenario):  # pylint: disable=redefined-outer-name
    """Without any of its verbs the role at `path` is not enough for the scenario."""
    role = read_role(c, path)
    for verb, resource, less in each_without_one(role):
        assert c.call("PUT", path, less)[0] == 200
        since = c.size()
        # The server may still refuse what the role before lacked.
        scenario(c, lambda: any(r == resource for _, r, _ in c.refused(since)))  # pylint: disable=cell-var-from-loop
        refused = c.refused(since)
        assert refused, f"{verb} of {resource} is never needed"
        assert any(r == resource for _, r, _ in refused), refused
    assert c.call("PUT", path, role)[0] == 200


@pytest.mark.parametrize("name, kind", ROLES)
def test_every_verb_is_needed(c, name, kind):
    check_every_verb(c, f"{RBAC}{PATHS[kind]}/fairlead-{name}", scenario)
