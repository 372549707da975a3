# SPDX-License-Identifier: GPL-3.0-or-later
"""Credentials change under informers: what was good is refused afterwards. They go on without a restart of theirs,
and without a list where the versions they have are still known."""
import os
import time

import pytest

from controllerlib import until
from credlib import swap, write_kubeconfig
from lib import certs, cluster
from watcherlib import Watcher, Writer, converge, random_writes, started

HOUR_MS = 3600000  # files are looked at because of a failure, not because it is time
PLUGIN = """#!/bin/sh
echo x >> "$0.runs"
cat <<E
{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status":
 {"token": "$(cat "$0.token")", "expirationTimestamp": "$(date -u -d "+2 seconds" +%Y-%m-%dT%H:%M:%SZ)"}}
E
"""


class Rotating(cluster.Cluster):
    """A server whose certificate, CA of clients and tokens are of a generation; `next` begins another, with a restart.
    `client` writes a kubeconfig; the files it names stay at the old generation until `hand_out`."""

    def __init__(self, folder):
        self.folder, self.generation = str(folder), 0
        flags = [f"--client-ca-file={folder}/clients.pem", f"--tls-cert-file={folder}/serving.pem",
                 f"--tls-private-key-file={folder}/serving.key"]
        super().__init__(flags=flags)
        self.generate()
        self.hand_out()

    ca = property(lambda self: os.path.join(self.folder, f"ca{self.generation}.pem"))

    def put(self, source, target):
        with open(os.path.join(self.folder, source), encoding="ascii") as f:
            swap(os.path.join(self.folder, target), f.read())

    def generate(self):
        n = self.generation
        certs.make_ca(self.folder, f"ca{n}")
        for name, san in (("api", "IP:127.0.0.1"), ("alice", "DNS:alice")):
            certs.make_cert(self.folder, f"{name}{n}", san=san, ca=f"ca{n}", key=f"{name}{n}.key")
        self.put(f"ca{n}.pem", "clients.pem")
        self.put(f"api{n}.pem", "serving.pem")
        self.put(f"api{n}.key", "serving.key")
        self.users = {cluster.ADMIN: ("admin", ["system:masters"]), f"token-{n}": ("bob", [])}

    def next(self):
        self.api.process.kill()
        self.api.process.wait()
        self.generation += 1
        self.generate()
        self.start_api()

    def trust(self):
        self.put(f"ca{self.generation}.pem", "trusted.pem")

    def hand_out(self):
        n = self.generation
        self.trust()
        for end in ("key", "pem"):
            self.put(f"alice{n}.{end}", f"me.{end}")
        for name in ("token", "plugin.token"):
            swap(os.path.join(self.folder, name), f"token-{n}")

    def client(self, name, user):
        return write_kubeconfig(self, name, user, **{"certificate-authority": os.path.join(self.folder, "trusted.pem")})


@pytest.fixture(scope="module")
def c(tmp_path_factory):
    with Rotating(tmp_path_factory.mktemp("creds")) as one:
        yield one


def watchers(c, keep):
    plugin = os.path.join(c.folder, "plugin")
    with open(plugin, "w", encoding="utf-8") as f:
        f.write(PLUGIN)
    os.chmod(plugin, 0o755)
    users = {"by-token": {"tokenFile": os.path.join(c.folder, "token")},
             "by-cert": {"client-certificate": os.path.join(c.folder, "me.pem"), "client-key": os.path.join(c.folder, "me.key")},
             "by-plugin": {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": plugin,
                                    "interactiveMode": "Never"}}}
    times = [f"token-ms={HOUR_MS}", f"files-ms={HOUR_MS}"]
    all_of_them = {name: keep(Watcher(c.client(name, user), "ConfigMap", "fast", *times)) for name, user in users.items()}
    for w in all_of_them.values():
        w.wait_synced()
    return all_of_them


def wait_error(ws, since, word):
    """Until each has met it, twice."""
    def met(name):
        return sum(word in t for t in ws[name].errors[since[name]:]) >= 2
    until(lambda: all(met(name) for name in ws), every=0.05)


def counted(ws):
    return {name: len(w.errors) for name, w in ws.items()}


def plugin_runs(c):
    with open(os.path.join(c.folder, "plugin.runs"), encoding="ascii") as f:
        return len(f.read().split())


def test_all_credentials_rotated(c, started):
    """The server comes back with another certificate, and takes neither the old tokens nor the old certificates. First
    informers do not trust it, then it does not know them, then all is handed out."""
    writer = started(Writer(c, seed=31))
    writer.write(20)
    ws = watchers(c, started)
    began, since = time.monotonic(), counted(ws)
    writer.close()
    c.next()
    wait_error(ws, since, "certificate")
    writer.write(20)
    since = counted(ws)
    c.trust()
    wait_error(ws, since, "nauthorized")
    c.hand_out()
    for w in ws.values():
        converge(c, w, 10)
    took = time.monotonic() - began
    for w in ws.values():
        random_writes(c, w, writer, 1)
        stats = w.stats()
        assert stats["lists"] <= 2, stats  # one for the server's restart
        assert stats["errors"] < 5 + 10 * took and stats["cpu_seconds"] < 1, (stats, took)
    stats = ws["by-plugin"].stats()
    assert plugin_runs(c) <= 2 * (stats["watches"] + stats["errors"] + 1), stats


def test_only_the_files_change(c, started):
    """Files are swapped while all is well: no watch is disturbed; the next one is asked for with the new ones."""
    writer = started(Writer(c, seed=32))
    ws = watchers(c, started)
    runs = plugin_runs(c)
    for name in ("token", "plugin.token"):
        swap(os.path.join(c.folder, name), cluster.ADMIN)
    until(lambda: plugin_runs(c) > runs, every=0.1)  # expired, and run again when a watch began
    for w in ws.values():
        random_writes(c, w, writer, 1)
        stats = w.stats()
        assert (stats["lists"], stats["bad"], stats["repeated"]) == (1, 0, 0), (stats, w.errors)
