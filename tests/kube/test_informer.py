# SPDX-License-Identifier: GPL-3.0-or-later
"""Informers against a real API server and the embedded one: what they hold is what a list says, whatever happens in between."""
import json
import signal
import ssl
import time
import urllib.request

import pytest

from bothlib import c, embedded, real, real_only  # noqa: F401 (fixtures)
from lib import cluster
from watcherlib import (Proxy, View, Watcher, World, Writer, compact, converge, random_writes, compact_pod, compact_service,
                        compact_slice, started, through)

WITHOUT_STREAMS = ["--feature-gates=WatchList=false"]


@pytest.fixture(scope="module")
def plain():
    """A server that knows no streaming lists."""
    with cluster.Cluster(flags=WITHOUT_STREAMS) as one:
        yield one


@pytest.fixture
def writer(c):
    w = Writer(c, seed=1)
    yield w
    for name in w.there:
        w.send("DELETE", f"/api/v1/namespaces/default/configmaps/{name}")
    w.close()


def test_store_equals_list(c, writer, started):
    """Random writes; store, handlers and a fresh list agree after each pause. One list, and it was streamed."""
    writer.write(30)
    w = started(Watcher(c.kubeconfig(), "ConfigMap"))
    w.wait_synced()
    random_writes(c, w, writer)
    stats = w.stats()
    assert (stats["lists"], stats["watches"], stats["errors"], stats["bad"], stats["repeated"]) == (1, 1, 0, 0, 0)


def read_with(c, path, accept):
    request = urllib.request.Request(c.url + path, headers={"Authorization": f"Bearer {c.admin}", "Accept": accept})
    with urllib.request.urlopen(request, timeout=30, context=ssl.create_default_context(cafile=c.ca)) as reply:
        return reply.read().decode()


@pytest.mark.parametrize("query", ["/omitted", "?labelSelector=omit=1", "?watch=1&labelSelector=omit=1&timeoutSeconds=1"])
def test_omitted_managed_fields(c, query):
    """What informers ask for: the embedded API leaves managedFields out, a real server does not know the parameter and ignores it."""
    path = "/api/v1/namespaces/default/configmaps"
    c.call("POST", path, {"metadata": {"name": "omitted", "labels": {"omit": "1"}}, "data": {"k": "v"}})
    plain, omitted = (json.loads(read_with(c, path + query, "application/json" + p).strip()) for p in ("", ";omit=managedFields"))
    plain, omitted = (o.get("object") or (o["items"][0] if "items" in o else o) for o in (plain, omitted))
    assert "managedFields" in plain["metadata"]
    if isinstance(c, cluster.Embedded):
        del plain["metadata"]["managedFields"]
    assert omitted == plain


def test_stop_is_quick(c):
    """A watch that waits for events ends at once when it is stopped."""
    w = Watcher(c.kubeconfig(), "ConfigMap")
    w.wait_synced()
    assert w.stop() < 1


def test_pages(plain, started):
    """Without streaming lists, in pages of 20; the refusal is the only error."""
    writer = started(Writer(plain, seed=2, names=150))
    writer.write(150)
    w = started(Watcher(plain.kubeconfig(), "ConfigMap", "fast"))
    w.wait_synced()
    assert len(converge(plain, w)) > 60
    stats = w.stats()
    assert stats["lists"] == 1 and any("sendInitialEvents" in t for t in w.errors)
    random_writes(plain, w, writer)


def test_watches_that_end(c, writer, started):
    """Watches of a few seconds end and go on where they were: no list, nothing twice."""
    w = started(Watcher(c.kubeconfig(), "ConfigMap", "fast"))
    w.wait_synced()
    end = time.monotonic() + 60
    while w.stats()["watches"] < 4:
        writer.write(5)
        converge(c, w)
        assert time.monotonic() < end
    stats = w.stats()
    assert stats["lists"] == 1 and stats["repeated"] == 0


VIEWS = [
    View(),
    View("/api/v1/namespaces/kube-public/configmaps", args=["ns=kube-public"]),
    View("/api/v1/configmaps?labelSelector=colour%3Dred", args=["labels=colour=red"]),
    View("/api/v1/services", "Service", compact_service, ["compact"]),
    View("/apis/discovery.k8s.io/v1/endpointslices", "EndpointSlice", compact_slice, ["compact", "group=discovery.k8s.io"]),
    View("/api/v1/pods", "Pod", compact_pod, ["compact"]),
]


def test_property(c, started):
    """Six informers (whole trees, a namespace, a selector, the trimmed kinds) through random writes and
    faults; after each pause store, handlers and a fresh list agree."""
    world = started(World(c, seed=11, names=12))
    proxy = started(Proxy(c.port, seed=12))
    world.write(80)
    start = time.monotonic()
    watchers = [(v, started(Watcher(through(c, proxy), v.kind, "fast", *v.args))) for v in VIEWS]
    for _, w in watchers:
        w.wait_synced()

    def restart():
        c.api.process.kill()
        c.api.process.wait()
        world.close()
        c.start_api()

    def cuts():
        proxy.cut(1, 20000, 20)
        proxy.drop()

    for fault in (None, proxy.drop, cuts, restart, proxy.drop, None):
        world.write(40)
        if fault:
            fault()
        world.write(20)
        for view, w in watchers:
            converge(c, w, view=view)
    took = time.monotonic() - start
    for view, w in watchers:
        stats = w.stats()
        assert stats["bad"] == 0 and stats["lists"] <= 2, (view.path, stats)  # the first, and one for the restart
        assert stats["cpu_seconds"] < 0.1 * took + 0.5, (view.path, stats, took)
    assert proxy.connections < len(VIEWS) * (10 + 5 * took), (proxy.connections, took)


def test_frozen_server(c, writer, started):
    """A server that is stopped (SIGSTOP) is silent; the watch is given up, tried again, and goes on."""
    w = started(Watcher(c.kubeconfig(), "ConfigMap", "fast"))
    w.wait_synced()
    writer.write(10)
    before = w.stats()
    c.api.process.send_signal(signal.SIGSTOP)
    end = time.monotonic() + 30
    while w.stats()["errors"] < before["errors"] + 2:
        assert time.monotonic() < end
        time.sleep(0.05)
    frozen = w.stats()
    c.api.process.send_signal(signal.SIGCONT)
    random_writes(c, w, writer, 3)
    assert frozen["watches"] - before["watches"] < 20
    assert frozen["cpu_seconds"] - before["cpu_seconds"] < 1
    assert w.stats()["lists"] == 1  # versions stayed valid: no relist


def test_killed_server(c, started):
    """Kill -9 and a new server: what was written meanwhile comes, what was deleted goes."""
    writer = started(Writer(c, seed=3))
    w = started(Watcher(c.kubeconfig(), "ConfigMap", "fast"))
    w.wait_synced()
    for _ in range(2):
        writer.write(25)
        converge(c, w)
        before = w.stats()
        c.api.process.kill()
        c.api.process.wait()
        writer.close()
        c.start_api()
        random_writes(c, w, writer, 2)
        after = w.stats()
        assert after["watches"] - before["watches"] < 60 and after["cpu_seconds"] - before["cpu_seconds"] < 2


@real_only("etcd")
def test_compaction_in_a_watch(c, started):
    """Away while versions were compacted: 410, one relist, deletions made up."""
    writer = started(Writer(c, seed=4))
    proxy = started(Proxy(c.port))
    w = started(Watcher(through(c, proxy), "ConfigMap", "fast"))
    w.wait_synced()
    writer.write(40)
    converge(c, w)
    proxy.open = False
    writer.write(40)
    c.api.stop()
    writer.close()
    compact(c)
    c.start_api()
    lists = w.stats()["lists"]
    proxy.open = True
    converge(c, w)
    assert w.stats()["lists"] == lists + 1
    random_writes(c, w, writer, 2)


def test_compaction_in_a_list(plain, started):
    """The token of the next page dies: all again, in one piece."""
    writer = started(Writer(plain, seed=5, names=200))
    writer.write(150)
    proxy = started(Proxy(plain.port))
    # The answer that refuses to stream is below this, the first page (compressed) above.
    proxy.hold_after = 6000
    w = started(Watcher(through(plain, proxy), "ConfigMap", "fast", "patient"))
    assert proxy.holding.wait(20)
    assert not w.synced.is_set()
    writer.write(40)
    plain.api.stop()
    writer.close()
    compact(plain)
    plain.start_api()
    proxy.released.set()
    w.wait_synced()
    converge(plain, w)
    assert any("too old" in t or "expired" in t.lower() or "continue" in t for t in w.errors), w.errors
    random_writes(plain, w, writer, 2)


@pytest.mark.parametrize("which", ["real", "plain", "embedded"])
def test_cut_anywhere(which, request, started):
    """Connections reset at random byte offsets, in lists and in watches: nothing lost, nothing twice, no busy loop."""
    c = request.getfixturevalue(which)
    writer = started(Writer(c, seed=6, names=60, size=200))
    writer.write(60)
    proxy = started(Proxy(c.port, seed=7))
    proxy.cut(1, 40000, 60)
    start = time.monotonic()
    w = started(Watcher(through(c, proxy), "ConfigMap", "fast"))
    w.wait_synced(60)
    random_writes(c, w, writer, 10)
    stats, took = w.stats(), time.monotonic() - start
    assert proxy.cuts >= 5
    assert proxy.connections < 20 + 10 * took, (proxy.connections, took)
    assert stats["cpu_seconds"] < 0.5 * took
