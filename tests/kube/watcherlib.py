# SPDX-License-Identifier: GPL-3.0-or-later
"""What the informer tests share: a driver of kube-watcher, a quick writer, a TCP proxy that cuts."""
import http.client
import json
import os
import queue
import random
import selectors
import socket
import ssl
import subprocess
import threading
import time

import pytest

from lib import server

CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


class Watcher:
    """A kube-watcher and a model of what its handlers said. An event that does not fit what was said before (added
    twice, updated from a version nobody saw or to an older one, deleted without being there) is an error at once."""

    def __init__(self, kubeconfig, *args, env=None):
        program = os.path.join(os.path.dirname(server.fairlead_program()), "tests", "kube", "kube-watcher")
        self.process = subprocess.Popen([program, kubeconfig, *args], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True, env=dict(os.environ, **(env or {})))
        self.replies, self.model, self.errors, self.wrong = queue.Queue(), {}, [], []
        self.synced = threading.Event()
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            said = json.loads(line)
            if "reply" in said:
                self.replies.put(said)
            else:
                self.hear(said)

    def hear(self, said):
        event = said["event"]
        if event == "synced":
            self.synced.set()
        elif event == "error":
            self.errors.append(said["text"])
        else:
            have = self.model.get(said["key"])
            before = {"added": None, "updated": said.get("old"), "deleted": said["rv"]}[event]
            if have != before or (event == "updated" and int(said["rv"]) <= int(have)):
                self.wrong.append((said, have))
            if event == "deleted":
                self.model.pop(said["key"], None)
            else:
                self.model[said["key"]] = said["rv"]

    def ask(self, command):
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        return self.replies.get(timeout=20)

    def stats(self):
        return self.ask("stats")

    def wait_synced(self, seconds=30):
        assert self.synced.wait(seconds), f"not synced: {self.errors[-3:]} {self.process.poll()}"

    def stop(self):
        """Ends it; how long that took."""
        start = time.monotonic()
        if self.process.poll() is None:
            self.process.stdin.write("quit\n")
            self.process.stdin.flush()
        try:
            status = self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        self.reader.join(10)
        errors = self.process.stderr.read()
        assert status == 0 and "Sanitizer" not in errors, errors
        assert not self.wrong, self.wrong[:3]
        return time.monotonic() - start


def whole(o):
    """What a watcher of trees holds of an object."""
    o["metadata"].pop("managedFields", None)
    o["metadata"].get("annotations", {}).pop(LAST_APPLIED, None)
    return o


def version(o):
    return o["metadata"]["resourceVersion"]


def compact_service(o):
    return [version(o), [ip for ip in o["spec"].get("clusterIPs", []) if ip != "None"],
            [p["port"] for p in o["spec"]["ports"]]]


def compact_slice(o):
    ready = [e for e in o["endpoints"] or [] if e["conditions"].get("ready", True)]
    return [version(o), o["metadata"]["labels"]["kubernetes.io/service-name"], [ip for e in ready for ip in e["addresses"]],
            [p["port"] for p in o["ports"]]]


def compact_pod(o):
    return [version(o), [ip["ip"] for ip in o["status"].get("podIPs", [])], o["metadata"].get("labels", {})]


class View:
    """What a watcher looks at, and the shape it keeps that in."""

    def __init__(self, path="/api/v1/configmaps", kind="ConfigMap", shape=whole, args=()):
        self.path, self.kind, self.shape, self.args = path, kind, shape, list(args)


CONFIGMAP_VIEW = View()


def listed(c, view=CONFIGMAP_VIEW):
    """A fresh list: {key: (version, what a watcher dumps)}."""
    status, body = c.call("GET", view.path)
    assert status == 200, body
    objects = {}
    for o in body["items"]:
        o.update(kind=view.kind, apiVersion=body["apiVersion"])
        objects[o["metadata"]["namespace"] + "/" + o["metadata"]["name"]] = version(o), view.shape(o)
    return objects


def converge(c, w, seconds=30, view=CONFIGMAP_VIEW):
    """Waits until the watcher's store, what its handlers were told and a fresh list are the same."""
    end = time.monotonic() + seconds
    while True:
        have, want = w.ask("dump")["objects"], listed(c, view)
        objects = {k: o for k, (_, o) in want.items()}
        if have == objects and w.model == {k: rv for k, (rv, _) in want.items()}:
            assert not w.wrong, w.wrong[:3]
            return objects
        differ = [(k, have.get(k), objects.get(k)) for k in {**have, **objects} if have.get(k) != objects.get(k)]
        assert time.monotonic() < end, (differ[:2], w.errors[-3:], w.stats())
        time.sleep(0.05)


class Writer:
    """Random creates, updates and deletes of ConfigMaps over one connection."""

    def __init__(self, c, seed, names=40, size=50):
        self.random, self.c, self.names, self.size = random.Random(seed), c, names, size
        self.prefix, self.there, self.connection = f"c{seed}", set(), None

    def send(self, method, path, body=None, content="application/json"):
        if self.connection is None:
            self.connection = http.client.HTTPSConnection("127.0.0.1", self.c.port, timeout=30,
                                                          context=ssl.create_default_context(cafile=self.c.ca))
        self.connection.request(method, path, json.dumps(body) if body else None, {
            "Authorization": f"Bearer {self.c.admin}", "Content-Type": content, "User-Agent": "fairlead-tests"})
        reply = self.connection.getresponse()
        text = reply.read()
        assert reply.status < 300, (method, path, text)

    def close(self):
        if self.connection is not None:
            self.connection.close()
        self.connection = None

    def write(self, n):
        for _ in range(n):
            name = f"{self.prefix}-{self.random.randrange(self.names)}"
            data = {"x": "é" * self.random.randrange(self.size), "q": '"}]{[\\'}
            o = {"metadata": {"name": name, "labels": {"n": name}}, "data": data}
            if name not in self.there:
                self.send("POST", CONFIGMAPS, o)
                self.there.add(name)
            elif self.random.random() < 0.4:
                self.send("DELETE", f"{CONFIGMAPS}/{name}")
                self.there.remove(name)
            else:
                self.send("PUT", f"{CONFIGMAPS}/{name}", o)


def random_writes(c, w, writer, rounds=8):
    for _ in range(rounds):
        writer.write(writer.random.randrange(1, 40))
        converge(c, w)


def ports(r):
    return [{"port": p, "name": f"p{p}"} for p in r.sample(range(1, 999), r.randrange(1, 4))]


def service(r):
    return {"spec": {"ports": ports(r), "clusterIP": r.choice(["", "None"])}}, {"spec": {"ports": ports(r)}}


def slice_(r):
    def endpoints():
        return [{"addresses": [f"10.1.{r.randrange(256)}.{i}"], "conditions": {"ready": r.random() < 0.8}}
                for i in range(r.randrange(20))]
    return ({"addressType": "IPv4", "endpoints": endpoints(), "ports": ports(r)},
            {"endpoints": endpoints(), "ports": ports(r)})


def pod(_r):
    return {"spec": {"containers": [{"name": "c", "image": "i"}]}}, {}


def some_config_map(r):
    return {"data": {"x": "é" * r.randrange(300)}}, {"data": {"x": "y" * r.randrange(300), "z": None}}


class World(Writer):
    """Random creates, updates, deletes and changes of labels of several kinds, in two namespaces."""

    KINDS = {"/api/v1/namespaces/{}/configmaps": some_config_map, "/api/v1/namespaces/{}/services": service,
             "/apis/discovery.k8s.io/v1/namespaces/{}/endpointslices": slice_, "/api/v1/namespaces/{}/pods": pod}
    NAMESPACES = ["default", "kube-public"]

    def labels(self):
        return {"colour": self.random.choice(["red", "blue"]), "kubernetes.io/service-name": self.random.choice("ab")}

    def write(self, n):
        for _ in range(n):
            r = self.random
            path, make = r.choice(list(self.KINDS.items()))
            path = path.format(r.choice(self.NAMESPACES))
            name = f"{self.prefix}-{r.randrange(self.names)}"
            full, change = make(r)
            labels = {"metadata": {"labels": self.labels()}}
            if (path, name) not in self.there:
                self.send("POST", path, {"metadata": {"name": name, **labels["metadata"]}, **full})
                self.there.add((path, name))
            elif r.random() < 0.35:
                self.send("DELETE", f"{path}/{name}?gracePeriodSeconds=0")
                self.there.remove((path, name))
            else:
                self.send("PATCH", f"{path}/{name}", labels if r.random() < 0.5 else change or labels,
                          "application/merge-patch+json")


class Proxy:
    """Passes TCP through to a port. Faults:

    cut(lo, hi, times)  each connection is reset after a random number of bytes from the server, so many times in all
    drop()        those under way are reset
    open = False  connections are refused by closing them, those under way are closed
    hold_after    bytes from the server after which nothing more of the client is passed on, until `release`
    """

    def __init__(self, port, seed=1):
        self.port, self.random = port, random.Random(seed)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.number = self.listener.getsockname()[1]
        self.range, self.left, self.open, self.hold_after, self.drops = None, 0, True, None, 0
        self.holding, self.released, self.ended = threading.Event(), threading.Event(), False
        self.connections = self.cuts = 0
        self.active = set()
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        try:
            if not self.open:
                return
            with socket.create_connection(("127.0.0.1", self.port)) as upstream:
                self.active.add(client)
                self.pass_on(client, upstream)
        except OSError:
            pass
        finally:
            # A reset, not an orderly end.
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            client.close()
            self.active.discard(client)

    def pass_on(self, client, upstream):
        left = self.random.randrange(*self.range) if self.range and self.left > 0 else None
        seen, drops = 0, self.drops
        with selectors.DefaultSelector() as s:
            s.register(client, selectors.EVENT_READ, upstream)
            s.register(upstream, selectors.EVENT_READ, client)
            while self.open and self.drops == drops and not self.ended:
                for key, _ in s.select(0.05):
                    data = key.fileobj.recv(65536)
                    if not data:
                        return
                    if key.fileobj is upstream:
                        seen += len(data)
                        if left is not None:
                            data, left = data[:left], left - len(data)
                    elif self.hold_after is not None and seen > self.hold_after and not self.released.is_set():
                        self.holding.set()
                        self.released.wait(60)
                    key.data.sendall(data)
                    if left is not None and left <= 0:
                        self.cuts += 1
                        self.left -= 1
                        return

    def cut(self, lo, hi, times):
        self.range, self.left = (lo, hi), times

    def drop(self):
        self.drops += 1

    def close(self):
        self.ended = True
        self.open = False
        self.released.set()
        self.listener.close()


def through(c, proxy, token=None):
    """A kubeconfig that leads to the cluster through the proxy."""
    path = c.kubeconfig(token)
    with open(path, encoding="utf-8") as f:
        config = json.load(f)
    config["clusters"][0]["cluster"]["server"] = f"https://127.0.0.1:{proxy.number}"
    path += f"-{proxy.number}"
    with open(path + ".new", "w", encoding="utf-8") as f:
        json.dump(config, f)
    os.chmod(path + ".new", 0o600)
    os.replace(path + ".new", path)  # a watcher may be reading the one of an earlier call
    return path


def compact(c):
    """Compacts etcd up to now: continue tokens and old versions die."""
    def call(what, body):
        connection = http.client.HTTPConnection("127.0.0.1", c.client_port, timeout=20)
        connection.request("POST", "/v3/kv/" + what, json.dumps(body))
        reply = connection.getresponse()
        text = reply.read()
        assert reply.status == 200, text
        return json.loads(text)
    revision = call("range", {"key": "AA=="})["header"]["revision"]
    call("compaction", {"revision": revision, "physical": True})


@pytest.fixture
def started():
    """started(thing): stopped (or closed) at the end, newest first."""
    things = []

    def keep(thing):
        things.append(thing)
        return thing

    yield keep
    for thing in reversed(things):
        (thing.stop if hasattr(thing, "stop") else thing.close)()
