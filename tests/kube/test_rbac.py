# SPDX-License-Identifier: GPL-3.0-or-later
"""The shipped roles of `example` and of web hooks: with them nothing is refused, and without any one verb something is."""
import itertools

import pytest

from controllerlib import config_map, copy_of, namespace, objects, start
from rbaclib import HOOKS, RBAC, Audited, certificate_of, check_every_verb, check_nothing_is_refused, install_roles, stepper

USER = "system:serviceaccount:fairlead:fairlead-example"
TOKEN = "example-token"
SECRET = "/api/v1/namespaces/fairlead/secrets/fairlead-webhooks"
PATHS = {"Role": "/namespaces/fairlead/roles", "ClusterRole": "/clusterroles"}
LABEL = "example.fairlead.dev/copy"
ROLES = [("example", "Role"), ("example", "ClusterRole"), ("webhooks", "Role"), ("webhooks", "ClusterRole")]
numbers = itertools.count()


@pytest.fixture(scope="module")
def c():
    with Audited(USER, TOKEN) as one:
        namespace(one, "fairlead")
        config_map(one, "fairlead", "fairlead-example", {"a": "0"})
        install_roles(one, "example", "webhooks")
        # What the web hooks' part needs to be there; they match nothing.
        for o in objects(one, "deploy/webhooks/example.yaml"):
            if o["kind"].endswith("WebhookConfiguration"):
                for hook in o["webhooks"]:
                    hook["rules"][0]["resources"] = ["nothing"]
                status, body = one.call("POST", f"{HOOKS}/{o['kind'].lower()}s", o)
                assert status == 201, body
        yield one


def scenario(c, enough):
    """All that the controller ever does, until enough() says so; each step waits for its effect or for that."""
    value = [0]

    def change():
        value[0] += 1
        config_map(c, "fairlead", "fairlead-example", {"a": str(value[0])}, method="PUT")

    step = stepper(enough)
    ns = f"rbac-{next(numbers)}"
    label = lambda v: c.call("PATCH", f"/api/v1/namespaces/{ns}", {"metadata": {"labels": {LABEL: v}}},  # noqa: E731
                             content_type="application/merge-patch+json")
    c.call("DELETE", "/apis/coordination.k8s.io/v1/namespaces/fairlead/leases/fairlead-example")
    c.call("DELETE", SECRET)
    namespace(c, ns, {LABEL: "true"})
    p = start(c.kubeconfig(TOKEN, "fairlead"), "--webhook-listen", "127.0.0.1:0", "--webhook-names", "127.0.0.1",
              "--webhook-look", "200ms", "--webhook-cert-life", "3s", "--lease-retry", "300ms")
    events_path = f"/apis/events.k8s.io/v1/namespaces/{ns}/events"
    try:
        if step(lambda: copy_of(c, ns) is not None):
            return
        first = certificate_of(c, SECRET)
        for _ in range(3):  # the third is an update again: its Event is counted
            change()
            if step(lambda: copy_of(c, ns) == {"a": str(value[0])}):
                return
        if step(lambda: any(e.get("series") for e in c.call("GET", events_path)[1]["items"])):
            return
        label("false")
        if step(lambda: copy_of(c, ns) is None):
            return
        step(lambda: certificate_of(c, SECRET) not in (None, first))
    finally:
        p.process.terminate()
        p.process.wait(20)
        label("false")


def test_nothing_is_refused(c):
    check_nothing_is_refused(c, scenario)


@pytest.mark.parametrize("name, kind", ROLES)
def test_every_verb_is_needed(c, name, kind):
    check_every_verb(c, f"{RBAC}{PATHS[kind]}/fairlead-{name}", scenario)
