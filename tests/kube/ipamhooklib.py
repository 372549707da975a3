# SPDX-License-Identifier: GPL-3.0-or-later
"""The web hook of the controller ipam: its flags, its registration, and an API that asks it."""
from controllerlib import objects, until
from lib import cluster, server
from lib.ports import free_port
from rbaclib import HOOKS

NAME = "fairlead-ipam"
HOOK = "pools.ipam.fairlead.dev"
REGISTRATIONS = f"{HOOKS}/validatingwebhookconfigurations"
FLAGS = ["--webhook-listen", "127.0.0.1:0", "--webhook-names", "127.0.0.1", "--webhook-secret", f"{NAME}-webhooks",
         "--webhook-registration", NAME, "--webhook-look", "200ms"]


def registration(c):
    """As it is shipped."""
    return next(o for o in objects(c, "deploy/webhooks/ipam.yaml") if o["kind"] == "ValidatingWebhookConfiguration")


def register(c, port):
    """The shipped registration, pointed at a port of loopback."""
    o = registration(c)
    for hook in o["webhooks"]:
        hook["clientConfig"] = {"url": f"https://127.0.0.1:{port}{hook['clientConfig']['service']['path']}"}
        hook["timeoutSeconds"] = 10
    status, body = c.call("POST", REGISTRATIONS, o)
    assert status == 201, body


def port_of(p):
    """Of its web hook, once it has its certificate."""
    until(lambda: p.get("/readyz")[0] == 200)
    return int(p.wait_line("web hooks on port")[1].split()[-1])


class Machine(cluster.Embedded):
    """`fairlead up` with this controller: its API calls the hook in process."""

    def start_api(self):
        self.api = cluster.Child("fairlead-up", [
            server.fairlead_program(), "up", "--data", self.data, "--api", f"127.0.0.1:{self.port}", "--dns",
            f"127.0.0.1:{free_port()}", "--controllers", "ipam", *self.flags], self.dir)
        self.wait_ready()
