# SPDX-License-Identifier: GPL-3.0-or-later
"""Informers, and what else stands on the client, against an API server that refuses, forgets or is old, and on a
machine whose clock is moved. The faults of the connection are in test_informer.py, those of credentials in
test_informer_creds.py."""
import contextlib
import os
import socket
import ssl
import struct
import subprocess
import time

import pytest

from bothlib import c, embedded, real_only  # noqa: F401 (fixtures)
from callerlib import Caller, program
from controllerlib import FAST, config_map, copy_of, events, namespace, start, until
from credlib import swap, write_kubeconfig
from lib import cluster, server
from watcherlib import (CONFIGMAPS, Proxy, View, Watcher, Writer, compact, converge, random_writes, compact_service, started,
                        through)

DAY = 86400
USERS = {"slow-token": ("slow", [])}
# GOAWAY as often as the server takes it; Secrets straight from etcd, so that compactions are felt at once.
FLAGS = ["--goaway-chance=0.02", "--watch-cache-sizes=secrets#0"]


@pytest.fixture(scope="module")
def real():
    with cluster.Cluster(users=USERS, flags=FLAGS) as one:
        yield one


# ---- GOAWAY ----

@real_only("flags")
def test_goaway(c, started):
    """With --goaway-chance=0.02, 300 calls and watches that end and begin: one connection each, no error."""
    writer = started(Writer(c, seed=21))
    proxy = started(Proxy(c.port))
    w = started(Watcher(through(c, proxy), "ConfigMap", "fast"))
    w.wait_synced()
    with Caller(write_kubeconfig(c, "goaway", {"token": c.admin}, server=f"https://127.0.0.1:{proxy.number}")) as caller:
        while w.stats()["watches"] < 2:
            for _ in range(100):
                caller.ok("call", method="GET", path="/api/v1/namespaces/default")
            writer.write(10)
            converge(c, w)
    stats = w.stats()
    assert (stats["lists"], stats["errors"], stats["repeated"]) == (1, 0, 0), (stats, w.errors)
    assert proxy.connections == 2


# ---- 429 ----

@pytest.fixture(scope="module")
def narrow(c):
    """The user `slow` has a priority level without a queue and of no seats: one request at a time is let in."""
    level = {"metadata": {"name": "narrow"}, "spec": {"type": "Limited", "limited": {
        "nominalConcurrencyShares": 0, "lendablePercent": 0, "borrowingLimitPercent": 0, "limitResponse": {"type": "Reject"}}}}
    flow = {"metadata": {"name": "narrow"}, "spec": {
        "priorityLevelConfiguration": {"name": "narrow"}, "matchingPrecedence": 2, "rules": [{
            "subjects": [{"kind": "User", "user": {"name": "slow"}}],
            "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "namespaces": ["*"],
                               "clusterScope": True}]}]}}
    for path, body in (("prioritylevelconfigurations", level), ("flowschemas", flow)):
        status, said = c.call("POST", f"/apis/flowcontrol.apiserver.k8s.io/v1/{path}", body)
        assert status == 201, said
    return c


@contextlib.contextmanager
def jailed(c):
    """Nobody else is let in: a POST whose body does not come holds the place."""
    def post():
        s = ssl.create_default_context(cafile=c.ca).wrap_socket(socket.create_connection(("127.0.0.1", c.port)),
                                                                server_hostname="127.0.0.1")
        s.sendall(f"POST {CONFIGMAPS} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer slow-token\r\n"
                  "Content-Type: application/json\r\nContent-Length: 99\r\n\r\n".encode())
        held.append(s)
        return c.call("GET", CONFIGMAPS, token="slow-token")[0] == 429
    held = []
    try:
        until(post, every=0.1)
        yield
    finally:
        for s in held:
            s.close()


def refused(c, verb):
    """How many lists or watches of all ConfigMaps were refused with 429."""
    text = c.call("GET", "/metrics")[1]
    return sum(float(line.split()[-1]) for line in text.splitlines() if line.startswith("apiserver_request_total{")
               and all(x in line for x in ('code="429"', 'resource="configmaps"', 'scope="cluster"', f'verb="{verb}"')))


def wait_refused(c, verb, times):
    """Until so many more were; no more often than the server's Retry-After of 1 s allows."""
    before, began = refused(c, verb), time.monotonic()
    until(lambda: refused(c, verb) >= before + times, every=0.1)
    asked, took = refused(c, verb) - before, time.monotonic() - began
    assert asked <= 2 + 1.2 * took, (asked, took)


@real_only("flags")
def test_429_for_a_first_list(c, narrow, started):
    """A stream that is refused from the start, and a list: waited for as the server says."""
    writer = started(Writer(c, seed=22))
    writer.write(20)
    proxy = started(Proxy(c.port))
    proxy.cut(1, 2, 1)
    with jailed(c):
        # The first try, a streaming list, is cut: the second one is a list.
        lister = started(Watcher(through(c, proxy, "slow-token"), "ConfigMap", "fast"))
        streamer = started(Watcher(c.kubeconfig("slow-token"), "ConfigMap", "fast"))
        wait_refused(c, "LIST", 2)
        wait_refused(c, "WATCH", 2)
        assert not lister.synced.is_set() and not streamer.synced.is_set()
    for w in (lister, streamer):
        w.wait_synced()
        random_writes(c, w, writer, 2)
        stats = w.stats()
        assert stats["lists"] == 1 and stats["cpu_seconds"] < 1, stats


@real_only("flags")
def test_429_for_a_watch(c, narrow, started):
    """Refused when a watch is opened again: the same watch later, no relist."""
    writer = started(Writer(c, seed=26))
    proxy = started(Proxy(c.port))
    w = started(Watcher(through(c, proxy, "slow-token"), "ConfigMap", "fast"))
    w.wait_synced()
    random_writes(c, w, writer, 1)
    with jailed(c):
        connections = proxy.connections
        proxy.drop()
        writer.write(20)
        wait_refused(c, "WATCH", 3)
        writer.write(20)
    random_writes(c, w, writer, 2)
    stats = w.stats()
    assert stats["lists"] == 1 and stats["cpu_seconds"] < 1, stats
    assert proxy.connections <= connections + 4


# ---- 410 ----

@real_only("etcd")
def test_storm_of_410(c, started):
    """What was written while a connection was away is forgotten before it comes back, all the time: lists
    and watches end with 410 again and again. No busy loop; all is well soon after."""
    path = "/api/v1/namespaces/default/secrets"
    view = View("/api/v1/secrets", "Secret")
    writer = started(Writer(c, seed=23))
    for i in range(60):
        writer.send("POST", path, {"metadata": {"name": f"s{i}"}, "stringData": {"k": "x" * 100}})
    proxy = started(Proxy(c.port))
    w = started(Watcher(through(c, proxy), "Secret", "fast"))
    w.wait_synced()
    before, began = w.stats(), time.monotonic()

    def gone():
        return sum("410" in t or "too old" in t or "compacted" in t or "xpired" in t or "gone" in t.lower() for t in w.errors)

    def write():
        name = f"s{writer.random.randrange(60)}"
        writer.send("PUT", f"{path}/{name}", {"metadata": {"name": name}, "stringData": {"n": str(time.monotonic())}})
        compact(c)

    while gone() < 4 or time.monotonic() < began + 3:
        proxy.open = False
        until(lambda: not proxy.active)
        for _ in range(3):
            write()
        proxy.open = True
        lists = w.stats()["lists"]
        until(lambda: write() or w.stats()["lists"] > lists)
        assert time.monotonic() < began + 30, (w.errors[-5:], w.stats())
    proxy.open = True
    stats, took = w.stats(), time.monotonic() - began
    # Back-off of 50 to 400 ms, up to twice with jitter.
    asked = sum(stats[k] - before[k] for k in ("lists", "watches", "errors"))
    assert asked < 10 + 12 * took, (stats, took)
    assert stats["cpu_seconds"] - before["cpu_seconds"] < 0.2 * took, (stats, took)
    converge(c, w, 10, view)


def test_restart_with_410(started, tmp_path):
    """A server that was away until the waits between two tries had grown, and comes back from a backup, so that it knows
    no version of before: the list is there within 5 s of its first answer, and not all clients come in one moment. With
    the usual times."""
    with cluster.Embedded() as one:
        for i in range(30):
            assert one.call("POST", CONFIGMAPS, {"metadata": {"name": f"c{i}"}})[0] == 201
        watchers = [started(Watcher(one.kubeconfig(), "ConfigMap")) for _ in range(8)]
        for w in watchers:
            w.wait_synced()
        file = str(tmp_path / "backup")
        subprocess.run([server.fairlead_program(), "backup", file, "--data", one.data], check=True, stdout=subprocess.DEVNULL)
        one.api.stop()
        until(lambda: min(len(w.errors) for w in watchers) >= 5, 60)
        subprocess.run([server.fairlead_program(), "restore", file, "--data", one.data], check=True, stdout=subprocess.DEVNULL)
        one.start_api()
        began, took = time.monotonic(), {}
        while len(took) < len(watchers):
            assert time.monotonic() < began + 60, [w.errors[-3:] for w in watchers]
            for n, w in enumerate(watchers):
                if n not in took and w.stats()["lists"] == 2:
                    took[n] = time.monotonic() - began
            time.sleep(0.01)
        print("lists after", sorted(round(t, 1) for t in took.values()))
        assert max(took.values()) < 5.5, took  # 5 s, and the list itself
        assert max(took.values()) - min(took.values()) > 0.3, took


# ---- an old etcd ----

@pytest.fixture(scope="module")
def old():
    """Debian's etcd 3.4: the server cannot stream lists."""
    with cluster.Cluster(etcd="etcd-3.4") as one:
        assert "etcd Version: 3.4." in one.etcd_version()
        yield one


def refusals(w):
    return [t for t in w.errors if "RequestWatchProgress" in t or "sendInitialEvents" in t or "500" in t]


def test_etcd_without_streaming_lists(old, started):
    """ERROR 500 inside the stream; listed at once in pages instead, and remembered also when it lists again."""
    status, body = old.call("GET", "/api/v1/configmaps?watch=true&sendInitialEvents=true&allowWatchBookmarks=true"
                            "&resourceVersionMatch=NotOlderThan&timeoutSeconds=2")
    assert status == 200 and body["type"] == "ERROR" and body["object"]["code"] == 500, body
    status, body = old.call("GET", "/api/v1/configmaps?watch=true&resourceVersion=0&allowWatchBookmarks=true&timeoutSeconds=2")
    assert status == 200 and body["type"] == "ERROR", body
    writer = started(Writer(old, seed=24, names=80))
    writer.write(80)
    view = View("/api/v1/services", "Service", compact_service, ["compact"])
    proxy = started(Proxy(old.port))
    began = time.monotonic()
    w = started(Watcher(through(old, proxy), "ConfigMap", "fast"))
    services = started(Watcher(through(old, proxy), "Service", "fast", "compact"))
    w.wait_synced()
    services.wait_synced()
    assert time.monotonic() - began < 5
    random_writes(old, w, writer, 3)
    converge(old, services, view=view)
    # Away while versions are compacted: it must list again.
    proxy.open = False
    writer.write(30)
    old.api.process.kill()
    old.api.process.wait()
    writer.close()
    compact(old)
    old.start_api()
    proxy.open = True
    random_writes(old, w, writer, 3)
    stats = w.stats()
    assert stats["lists"] == 2, (stats, w.errors)
    assert len(refusals(w)) == 1 and len(refusals(services)) == 1, w.errors


# ---- clocks ----

class Clock:
    """The wall clock of processes started with `env`."""

    def __init__(self, folder, name):
        self.path = os.path.join(str(folder), name)
        self.step(0)
        sanitizers = os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"
        self.env = {"LD_PRELOAD": program("clockstep.so"), "CLOCKSTEP": self.path, "ASAN_OPTIONS": sanitizers}

    def step(self, seconds):
        flags = os.O_CREAT | os.O_WRONLY
        fd = os.open(self.path, flags, 0o600)  # in place: it is mapped
        os.write(fd, struct.pack("=q", seconds))
        os.close(fd)


def test_clock_stepped_under_informers(c, started, tmp_path):
    """A day forward and a day back: nothing is listed again, nothing is lost; and a connection that breaks while the
    server's certificate is not yet valid by our clock is tried at leisure until the clock is right."""
    clock, writer = Clock(tmp_path, "clock"), started(Writer(c, seed=25))
    proxy = started(Proxy(c.port))
    w = started(Watcher(through(c, proxy), "ConfigMap", "fast", env=clock.env))
    w.wait_synced()
    for seconds in (DAY, -DAY, DAY):
        clock.step(seconds)
        random_writes(c, w, writer, 2)
    proxy.drop()
    random_writes(c, w, writer, 2)
    stats = w.stats()
    assert stats["lists"] == 1 and stats["watches"] < 10 and stats["repeated"] == 0, stats
    if isinstance(c, cluster.Embedded):
        return  # certificates of the embedded API are valid since 2020, whatever the clock was when they were made
    clock.step(-DAY)
    proxy.drop()
    before, began = w.stats(), time.monotonic()
    until(lambda: sum("not" in t and "activated" in t or "certificate" in t for t in w.errors) >= 3, every=0.1)
    after, took = w.stats(), time.monotonic() - began
    assert after["errors"] - before["errors"] < 5 + 10 * took
    assert after["cpu_seconds"] - before["cpu_seconds"] < 0.2 + 0.2 * took
    writer.write(10)
    clock.step(0)
    random_writes(c, w, writer, 2)
    assert w.stats()["lists"] == 1


def test_clock_stepped_under_tokens(c, tmp_path):
    """A token file is looked at again in its time, an exec plugin runs when its credential has expired by the
    clock it shares with us, and not for every call."""
    clock, token = Clock(tmp_path, "clock"), os.path.join(c.dir, "stepped")
    swap(token, c.admin)

    def who(caller):
        return caller.ok("call", method="POST", path="/apis/authentication.k8s.io/v1/selfsubjectreviews", body={
            "apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"})["status"]["userInfo"]["username"]

    with Caller(write_kubeconfig(c, "stepped.config", {"tokenFile": "stepped"}), token_ms=200, env=clock.env) as caller:
        assert who(caller) == "admin"
        for seconds, text, user in ((-DAY, c.system, "system:fairlead"), (DAY, c.admin, "admin"), (0, c.system, "system:fairlead")):
            clock.step(seconds)
            swap(token, text)
            until(lambda: who(caller) == user, 5)
    plugin = os.path.join(c.dir, "expiring")
    with open(plugin, "w", encoding="utf-8") as f:
        f.write('#!/bin/sh\necho x >> "$0.runs"\ncat <<E\n{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential",'
                ' "status": {"token": "$TOKEN", "expirationTimestamp": "$(date -u -d "+1 hour" +%Y-%m-%dT%H:%M:%SZ)"}}\nE\n')
    os.chmod(plugin, 0o755)

    def runs():
        with open(plugin + ".runs", encoding="ascii") as f:
            return len(f.read().split())

    user = {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "./expiring", "interactiveMode": "Never",
                     "env": [{"name": "TOKEN", "value": c.system}]}}
    with Caller(write_kubeconfig(c, "expiring.config", user), env=clock.env) as caller:
        for seconds, want in ((0, 1), (DAY, 2), (-DAY, 2), (0, 2)):
            clock.step(seconds)
            for _ in range(5):
                assert who(caller) == "system:fairlead"
            assert runs() == want, seconds


def test_clock_stepped_under_leases(c, tmp_path, monkeypatch):
    """The clocks of a leader and of who waits go a day apart, both ways: not lost, not stolen; copies and
    Events go on."""
    config_map(c, "default", "fairlead-example", {"a": "0"})
    namespace(c, "stepped", {"example.fairlead.dev/copy": "true"})
    lease = "/apis/coordination.k8s.io/v1/namespaces/default/leases/fairlead-example"
    clocks, pair = [Clock(tmp_path, n) for n in "ab"], []
    try:
        for clock, line in zip(clocks, ("leading as", "waiting to lead")):
            with monkeypatch.context() as m:
                for k, v in clock.env.items():
                    m.setenv(k, v)
                pair.append(start(c.kubeconfig(), *FAST))
            pair[-1].wait_line(line)
        holder = c.call("GET", lease)[1]["spec"]["holderIdentity"]
        for n, (one, other) in enumerate(((DAY, -DAY), (-DAY, DAY)), 1):
            clocks[0].step(one)
            clocks[1].step(other)
            seen = set()
            config_map(c, "default", "fairlead-example", {"a": str(n)}, method="PUT")

            def renewed():
                spec = c.call("GET", lease)[1]["spec"]
                assert (spec["holderIdentity"], spec["leaseTransitions"]) == (holder, 0), spec
                seen.add(spec["renewTime"])
                return len(seen) > 12  # of 200 ms: longer than the lease lasts
            until(renewed)
            assert copy_of(c, "stepped") == {"a": str(n)}
        assert not pair[1].find("leading as") and not pair[0].find("lost"), pair[0].text()
        until(lambda: [e for e in events(c, "stepped") if e["reason"] == "Copied"])
        killed = pair[0].kill()
        assert pair[1].wait_line("leading as")[0] - killed < 5
    finally:
        for p in pair:
            if p.process.poll() is None:
                assert p.stop() == 0
