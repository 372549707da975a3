# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of shipped Roles: with them nothing is refused, and when any one verb is taken away something is. What was refused
is read from the API server's audit log.

A test module has a *scenario(c, enough)*: all that the component ever does, step by step; it ends early when enough() is
true.
"""
import base64
import copy
import json
import os

from controllerlib import namespace, objects, until
from lib import cluster

RBAC = "/apis/rbac.authorization.k8s.io/v1"
HOOKS = "/apis/admissionregistration.k8s.io/v1"
STEP_SECONDS = 25


class Audited(cluster.Cluster):
    """A cluster with RBAC that writes down what the user, the owner of the token, asked. `plugins` are more admission
    plugins of the server."""

    def __init__(self, user, token, plugins=()):
        super().__init__(users={token: (user, ["system:serviceaccounts"])}, rbac=True)
        policy = os.path.join(self.dir, "audit.yaml")
        with open(policy, "w", encoding="utf-8") as f:
            json.dump({"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived", "ResponseStarted"],
                       "rules": [{"level": "Metadata", "users": [user]}, {"level": "None"}]}, f)
        self.audit = os.path.join(self.dir, "audit.log")
        # A server that streams lists needs `watch` alone: others, `list` too.
        self.flags += ["--feature-gates=WatchList=false", f"--audit-policy-file={policy}", f"--audit-log-path={self.audit}"]
        if plugins:
            self.flags.append(f"--enable-admission-plugins={','.join(plugins)}")

    def entries(self, since=0):
        """Requests of the user since the log had that size."""
        return cluster.whole_lines(self.audit, since)

    def refused(self, since=0):
        """What the user was refused since the log had that size: [(verb, resource, name)]."""
        return [(e["verb"], e["objectRef"].get("resource"), e["objectRef"].get("name")) for e in self.entries(since)
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


# ---- for scenarios ----


def stepper(enough):
    """step(done): waits for the effect of a step; true when the scenario is to end."""
    def step(done):
        until(lambda: enough() or done(), STEP_SECONDS)
        return enough()
    return step


def certificate_of(c, secret):
    """The certificate of web hooks in the Secret at that path, or None."""
    status, body = c.call("GET", secret)
    return body["data"]["tls.crt"] if status == 200 else None


def bundle_of(c, kind, name):
    """caBundle of the first hook; `kind` is "validating" or "mutating"."""
    hook = c.call("GET", f"{HOOKS}/{kind}webhookconfigurations/{name}")[1]["webhooks"][0]
    return base64.b64decode(hook["clientConfig"].get("caBundle", ""))


# ---- checks ----


def check_nothing_is_refused(c, scenario):
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


def check_every_verb(c, path, scenario, missed=lambda resource: ()):
    """Without any of its verbs the role at `path` is not enough for the scenario: a request on the verb's resource is
    refused, or on one of missed(resource)."""
    role = read_role(c, path)
    for verb, resource, less in each_without_one(role):
        assert c.call("PUT", path, less)[0] == 200
        since = c.size()
        wanted = {resource.split("/")[0], *missed(resource)}
        # The server may still refuse what the role before lacked.
        misses = lambda: any(r in wanted for _, r, _ in c.refused(since))  # noqa: E731 pylint: disable=cell-var-from-loop
        scenario(c, misses)
        assert misses(), f"{verb} of {resource} is never needed: {c.refused(since)}"
    assert c.call("PUT", path, role)[0] == 200
