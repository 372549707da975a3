# SPDX-License-Identifier: GPL-3.0-or-later
"""What the controller tests share: `fairlead controller` processes, and waiting for a state with a limit."""
import contextlib
import datetime
import json
import os
import re
import socket
import ssl
import subprocess
import threading
import time
import urllib.error
import urllib.request

from lib import cluster, server

# A renew deadline that a busy machine keeps.
FAST = ["--lease-duration", "2s", "--lease-renew", "1500ms", "--lease-retry", "200ms"]


@contextlib.contextmanager
def stopping(make):
    """make(), whose processes are stopped at the end."""
    made = []

    def start(*args, **kw):
        made.append(make(*args, **kw))
        return made[-1]
    yield start
    for p in made:
        p.stop()


def until(what, seconds=20, every=0.02):
    """The first true value of what(); fails after the time."""
    end = time.monotonic() + seconds
    while True:
        value = what()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"not so after {seconds} s: {what.__name__ if hasattr(what, '__name__') else what}")
        time.sleep(every)


class Controller:
    """A process; its lines of output with the time each was read at."""

    def __init__(self, kubeconfig, *args, controllers="example", wrap=(), env=None):
        command = [*wrap, server.fairlead_program(), "controller", "--kubeconfig", kubeconfig, "--controllers", controllers,
                   "--listen", "127.0.0.1:0", *args]
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True, env={**os.environ, **(env or {})})
        self.lines = []
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            self.lines.append((time.monotonic(), line.rstrip("\n")))

    def find(self, pattern):
        """(time, line) of the first line that fits, or None."""
        return next(((t, line) for t, line in list(self.lines) if re.search(pattern, line)), None)

    def wait_line(self, pattern, seconds=20):
        def seen():
            if self.process.poll() is not None and not self.find(pattern):
                self.reader.join(5)
                raise AssertionError(f"ended with {self.process.returncode}: {self.text()}")
            return self.find(pattern)
        return until(seen, seconds, 0.005)

    def text(self):
        return "\n".join(line for _, line in self.lines)

    def get(self, path):
        """(status, text) from its HTTP server."""
        port = re.search(r"port (\d+)", self.wait_line(r"health and metrics on port")[1])[1]
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=10) as reply:
                return reply.status, reply.read().decode()
        except urllib.error.HTTPError as e:
            return e.code, e.read().decode()

    def looks(self):
        """Number of its reconciles."""
        return sum(int(float(line.split()[-1])) for line in self.get("/metrics")[1].splitlines()
                   if line.startswith("fairlead_controller_reconciles_total"))

    def kill(self):
        """SIGKILL; when."""
        now = time.monotonic()
        self.process.kill()
        self.process.wait()
        self.killed = now
        self.killed_wall = time.time()
        self.reader.join(5)
        return now

    def stop(self, seconds=20):
        """SIGTERM; its exit status."""
        if self.process.poll() is None:
            self.process.terminate()
        try:
            status = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise
        self.reader.join(5)
        assert "Sanitizer" not in self.text(), self.text()
        return status


def start(kubeconfig, *args, **kw):
    return Controller(kubeconfig, *args, **kw)


class LeaseHistory:
    """Every version of every Lease, by a watch of its own."""

    def __init__(self, c):
        path = "/apis/coordination.k8s.io/v1/leases"
        version = c.call("GET", path)[1]["metadata"]["resourceVersion"]
        request = urllib.request.Request(f"{c.url}{path}?watch=1&timeoutSeconds=3600&resourceVersion={version}",
                                         headers={"Authorization": f"Bearer {c.admin}"})
        self.stream = urllib.request.urlopen(request, timeout=3600, context=ssl.create_default_context(cafile=c.ca))
        self.versions = []
        self.error = None
        self.done = False
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        try:
            for line in self.stream:
                event = json.loads(line)
                if event["type"] not in ("ADDED", "MODIFIED"):
                    self.error = event
                    return
                self.versions.append(event["object"])
        except (OSError, ValueError, AttributeError) as e:
            self.error = e if not self.done else None

    def stop(self):
        assert self.reader.is_alive() and self.error is None, f"the watch of leases ended: {self.error}"
        self.done = True
        self.stream.fp.raw._sock.shutdown(socket.SHUT_RDWR)  # closing alone does not end a read in another thread
        self.reader.join(5)

    def of(self, ns):
        """Specifications of the namespace's Lease, oldest first; heartbeats are no election."""
        return [v["spec"] for v in list(self.versions)
                if v["metadata"]["namespace"] == ns and not v["metadata"]["name"].endswith("-heartbeat")]


def wall(stamp):
    """Seconds since 1970 of a MicroTime."""
    return datetime.datetime.fromisoformat(stamp.replace("Z", "+00:00")).timestamp()


def config_map(c, ns, name, data, labels=None, method="POST"):
    path = f"/api/v1/namespaces/{ns}/configmaps" + ("" if method == "POST" else f"/{name}")
    status, body = c.call(method, path, {"apiVersion": "v1", "kind": "ConfigMap",
                                         "metadata": {"name": name, "labels": labels or {}}, "data": data})
    assert status in (200, 201), body
    return body


def searched_corefile(c):
    """The ConfigMap from which controllers learn that the cluster's DNS servers have the plugin searchpath."""
    return config_map(c, "kube-system", "coredns", {"Corefile": ". {\n  searchpath cluster.local\n  kubernetes cluster.local\n}\n"})


def namespace(c, name, labels=None):
    status, body = c.call("POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace",
                                                         "metadata": {"name": name, "labels": labels or {}}})
    assert status == 201, body


def copy_of(c, ns, name="fairlead-example-copy"):
    """The data of the copy, or None."""
    status, body = c.call("GET", f"/api/v1/namespaces/{ns}/configmaps/{name}")
    return body.get("data", {}) if status == 200 else None


def events(c, ns):
    return c.call("GET", f"/apis/events.k8s.io/v1/namespaces/{ns}/events")[1]["items"]


def kubectl(c, *args, text=None):
    """Output of kubectl as the administrator."""
    done = subprocess.run([cluster.peer("kubectl"), "--kubeconfig", c.kubeconfig(), *args], input=text, capture_output=True,
                          text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def objects(c, path):
    """The objects of a shipped YAML file."""
    out = kubectl(c, "create", "--dry-run=client", "-o", "json", "-f", os.path.join(server.ROOT, path))
    found, decoder = [], json.JSONDecoder()
    while out.strip():
        one, end = decoder.raw_decode(out.lstrip())
        found += one["items"] if one["kind"] == "List" else [one]
        out = out.lstrip()[end:]
    return found
