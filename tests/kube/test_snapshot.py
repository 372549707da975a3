# SPDX-License-Identifier: GPL-3.0-or-later
"""`snapshot` of kubernetes: a start while the API server is away serves the last known names, until the server answers."""
import os
import signal

import pytest

from controllerlib import until
from dnslib import Api, answers, ask, fairlead, rcode, until_answer
from lib import cluster

COREFILE = """.:@PORT@ {
    ready 127.0.0.1:@HTTP:ready@
    prometheus 127.0.0.1:@HTTP:metrics@
    searchpath cluster.local
    kubernetes cluster.local 10.in-addr.arpa {
        kubeconfig KUBECONFIG
        pods verified
        startup_timeout 500ms
        snapshot SNAPSHOT 1s
    }
}
"""
PORTS = [{"name": "http", "port": 80, "protocol": "TCP"}]
QUESTIONS = [("web.shop.svc.cluster.local", "A"), ("head.shop.svc.cluster.local", "A"), ("pod-a.head.shop.svc.cluster.local", "A"),
             ("_http._tcp.web.shop.svc.cluster.local", "SRV"), ("1.1.96.10.in-addr.arpa", "PTR"),
             ("10-2-0-1.shop.pod.cluster.local", "A"), ("web.own.search.cluster.local", "A"), ("shop.svc.cluster.local", "A"),
             ("nope.shop.svc.cluster.local", "A"), ("web.nope.svc.cluster.local", "A")]


@pytest.fixture
def place(tmp_path):
    with cluster.Cluster() as c:
        api = Api(c)
        api.namespace("shop")
        api.namespace("own", {"dns.fairlead.dev/search": "shop.svc.cluster.local"})
        api.service("shop", "web", clusterIP="10.96.1.1", ports=PORTS)
        api.service("shop", "old", clusterIP="10.96.1.2", ports=PORTS)
        api.service("shop", "head", clusterIP="None", ports=PORTS)
        api.slice("shop", "head-1", "head", [{"addresses": ["10.1.0.1"], "hostname": "pod-a"}], PORTS)
        api.pod("shop", "pod", "10.2.0.1")
        path = tmp_path / "snapshot"
        yield api, path, lambda: fairlead(COREFILE.replace("KUBECONFIG", c.kubeconfig()).replace("SNAPSHOT", str(path)))


def served(s):
    _, text = s.get("metrics", "/metrics")
    return next(line.split()[-1] for line in text.splitlines() if line.startswith("fairlead_kubernetes_snapshot_served{"))


def told(s):
    return {(name, rtype): (rcode(m), answers(m)) for name, rtype in QUESTIONS for m in [ask(s.port(), name, rtype)]}


def test_start_without_the_server(place):
    """Read at the start, stale by metric, ready; swept when the API server is heard again."""
    api, path, start = place
    with start() as s:
        until_answer(s.port(), "10-2-0-1.shop.pod.cluster.local")
        until_answer(s.port(), "web.own.search.cluster.local")
        before = told(s)
        assert served(s) == "0"
    assert oct(os.stat(path).st_mode & 0o777) == "0o600"

    # What changes while we are away.
    api.delete("/api/v1/namespaces/shop/services/old")
    api.service("shop", "new", clusterIP="10.96.1.3", ports=PORTS)
    os.kill(api.cluster.api.process.pid, signal.SIGSTOP)
    try:
        with start() as s:
            assert told(s) == before
            assert rcode(ask(s.port(), "old.shop.svc.cluster.local")) == "NOERROR"
            assert rcode(ask(s.port(), "new.shop.svc.cluster.local")) == "NXDOMAIN"
            assert served(s) == "1"
            assert s.get("ready", "/ready") == (200, "OK")
            assert "starting server with unsynced Kubernetes API, from a snapshot" in s.output()
            os.kill(api.cluster.api.process.pid, signal.SIGCONT)
            until_answer(s.port(), "new.shop.svc.cluster.local", seconds=60)
            until_answer(s.port(), "old.shop.svc.cluster.local", want="NXDOMAIN")
            until(lambda: served(s) == "0")
            assert told(s) == before
            assert "the API server's objects have replaced the snapshot's" in s.output()
    finally:
        os.kill(api.cluster.api.process.pid, signal.SIGCONT)


def test_written_while_running(place):
    """Changes are in the file after a while, and a server that is killed has them after its start."""
    api, path, start = place
    with start() as s:
        until_answer(s.port(), "web.shop.svc.cluster.local")
        until(path.exists)
        api.service("shop", "late", clusterIP="10.96.1.9", ports=PORTS)
        until(lambda: '"late"' in path.read_text())
        s.process.kill()
    os.kill(api.cluster.api.process.pid, signal.SIGSTOP)
    try:
        with start() as s:
            assert answers(ask(s.port(), "late.shop.svc.cluster.local")) == {"A": ["10.96.1.9"]}
    finally:
        os.kill(api.cluster.api.process.pid, signal.SIGCONT)


def test_reload_that_fails(place):
    """A stanza that is tried and given up leaves the file to the one that goes on."""
    _, path, start = place
    with start() as s:
        until_answer(s.port(), "web.shop.svc.cluster.local")
        until(path.exists)
        stanza = path.read_text().split()[2]
        with open(s.conf, "w", encoding="utf-8") as f:
            f.write(s.corefile.replace("pods verified", "noendpoints") +
                    f"other.test:{s.port()} {{\n    kubernetes {{\n        kubeconfig /nowhere\n    }}\n}}\n")
        s.process.send_signal(signal.SIGUSR1)
        until(lambda: "cannot read '/nowhere'" in s.output())
        assert path.read_text().split()[2] == stanza


@pytest.mark.parametrize("how", ["torn", "version", "other", "folder"])
def test_files_that_are_not_used(place, how):
    """A sentence in the log; names are unknown, as without one, until the server answers."""
    api, path, start = place
    if how == "folder":
        path.mkdir()
    else:
        with start() as s:
            until_answer(s.port(), "web.shop.svc.cluster.local")
        text = path.read_text()
        path.write_text({"torn": text[:-10], "version": text.replace("kubernetes 1", "kubernetes 9", 1),
                         "other": text.replace(text.split()[2], "0" * 32, 1)}[how])
    sentence = {"torn": "it is incomplete", "version": "it is of another version", "other": "it is of another configuration",
                "folder": "Is a directory"}[how]
    os.kill(api.cluster.api.process.pid, signal.SIGSTOP)
    try:
        with start() as s:
            assert f"snapshot '{path}' is not used: {sentence}" in s.output()
            assert rcode(ask(s.port(), "web.shop.svc.cluster.local")) == "SERVFAIL"
            assert s.get("ready", "/ready")[0] == 503 and served(s) == "0"
            os.kill(api.cluster.api.process.pid, signal.SIGCONT)
            until_answer(s.port(), "web.shop.svc.cluster.local", seconds=60)
            if how == "folder":
                until(lambda: f"cannot write snapshot '{path}'" in s.output())
    finally:
        os.kill(api.cluster.api.process.pid, signal.SIGCONT)
