# SPDX-License-Identifier: GPL-3.0-or-later
"""A real Kubernetes API on loopback: etcd and kube-apiserver on free ports, with users by token; and the embedded one of
this program, which is used in the same way.

    with Cluster() as c:
        status, body = c.call("GET", "/api/v1/namespaces")
        c.kubeconfig()          path of a kubeconfig file for the administrator

    with Embedded() as c:

Children that die are reported at the next call, with the end of what they printed. The API server is stopped before
etcd (without etcd it outlives SIGTERM for minutes). Everything lives in one temporary folder.
"""
import base64
import http.client
import json
import os
import shutil
import signal
import ssl
import subprocess
import tempfile
import threading
import time
import urllib.error
import urllib.request

from lib import server

READY_SECONDS = 60
STOP_SECONDS = 10
BATCH = 100  # objects written to etcd at once
ADMIN = "admin-token"
SYSTEM = "system-token"


def whole_lines(path, since=0):
    """The entries of a log of JSON lines, from an offset on. It is read at once: a line that grows meanwhile would come in
    two pieces."""
    with open(path, encoding="utf-8") as f:
        f.seek(since)
        text = f.read()
    return [json.loads(line) for line in text[:text.rfind("\n") + 1].splitlines()]


class Missing(Exception):
    """A peer that is not available: the suite reports that it did not run."""


def peer(name):
    """Path of a peer program; built if need be."""
    done = subprocess.run([os.path.join(server.ROOT, "tests", "peers", "build"), name], stdout=subprocess.PIPE, text=True)
    if done.returncode == 2:
        raise Missing(f"{name} could not be built here (tests/peers/build says why)")
    if done.returncode != 0:
        raise RuntimeError(f"tests/peers/build {name} failed")
    return done.stdout.splitlines()[-1]


class Died(Exception):
    """A child ended by itself."""


class Child:
    """A process with its output in a file."""

    def __init__(self, name, command, folder):
        self.name = name
        self.log = os.path.join(folder, name + ".log")
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=log,
                                            stderr=subprocess.STDOUT)

    def check(self):
        status = self.process.poll()
        if status is not None:
            with open(self.log, encoding="utf-8", errors="replace") as f:
                tail = "".join(f.readlines()[-15:])
            raise Died(f"{self.name} ended with status {status}\n{tail}")

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)  # one that a test has frozen
            self.process.terminate()
            try:
                self.process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()


class Api:
    """What both have: `url`, `port`, `ca` (path of the certificate to trust), `dir` for files, `api` (its process),
    `admin` and `system`, the tokens of the administrator and of this program's own controllers."""

    def __init__(self, prefix, ports=1):
        self.dir = tempfile.mkdtemp(prefix=prefix)
        self.held = [server.Port() for _ in range(ports)]
        self.port = self.held[-1].number
        self.api = None

    url = property(lambda self: f"https://127.0.0.1:{self.port}")

    def __enter__(self):
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_):
        self.stop()

    def check(self):
        self.api.check()

    def wait_ready(self):
        end = time.monotonic() + READY_SECONDS
        while True:
            self.check()
            try:
                if self.call("GET", "/readyz")[0] == 200:
                    return
            except (OSError, urllib.error.URLError):
                pass
            if time.monotonic() > end:
                raise TimeoutError(f"the API is not ready after {READY_SECONDS} s")
            time.sleep(0.05)

    def stop(self):
        if self.api is not None:
            self.api.stop()
        for port in self.held:
            port.release()
        shutil.rmtree(self.dir, ignore_errors=True)

    def call(self, method, path, body=None, token=None, content_type="application/json", timeout=30):
        """(status, decoded JSON or text) of one request."""
        if self.api is not None:
            self.api.check()
        data = body if isinstance(body, (bytes, type(None))) else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, {
            "Authorization": f"Bearer {token or self.admin}", "Content-Type": content_type, "User-Agent": "fairlead-tests"},
            method=method)
        context = ssl.create_default_context(cafile=self.ca)
        try:
            with urllib.request.urlopen(request, timeout=timeout, context=context) as reply:
                status, raw = reply.status, reply.read()
        except urllib.error.HTTPError as e:
            status, raw = e.code, e.read()
        try:
            return status, json.loads(raw)
        except ValueError:
            return status, raw.decode(errors="replace")

    def kubeconfig(self, token=None, namespace="default"):
        """Path of a kubeconfig file for the owner of the token."""
        token = token or self.admin
        path = os.path.join(self.dir, f"kubeconfig-{token}")
        config = {"apiVersion": "v1", "kind": "Config", "current-context": "test",
                  "clusters": [{"name": "test", "cluster": {"server": self.url, "certificate-authority": self.ca}}],
                  "users": [{"name": "test", "user": {"token": token}}],
                  "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test", "namespace": namespace}}]}
        fresh = f"{path}.{threading.get_ident()}"
        with open(fresh, "w", encoding="utf-8") as f:
            json.dump(config, f)
        os.chmod(fresh, 0o600)
        os.replace(fresh, path)  # somebody may be reading the one of an earlier call
        return path


class Cluster(Api):
    """`users`: {token: (user, [group, ...])} beside the administrator. `flags` go to kube-apiserver. `etcd` is the name of
    another peer, "etcd-3.4"."""

    def __init__(self, users=None, flags=(), etcd="etcd", rbac=False):
        super().__init__("fairlead-kube-", ports=3)
        self.users = {ADMIN: ("admin", ["system:masters"]), SYSTEM: ("system:fairlead", ["system:masters"]), **(users or {})}
        self.admin, self.system = ADMIN, SYSTEM
        self.flags = list(flags) + (["--authorization-mode=RBAC"] if rbac else [])
        self.client_port, self.peer_port = (p.number for p in self.held[:2])
        self.etcd_program = peer(etcd)
        self.api_program = peer("kube-apiserver")
        self.etcd = None

    ca = property(lambda self: os.path.join(self.dir, "certs", "apiserver.crt"))

    def start(self):
        self.start_etcd()
        self.start_api()

    def check(self):
        self.etcd.check()
        self.api.check()

    def stop(self):
        if self.api is not None:
            self.api.stop()
        if self.etcd is not None:
            self.etcd.stop()
        super().stop()

    def start_etcd(self):
        client, other = (f"http://127.0.0.1:{n}" for n in (self.client_port, self.peer_port))
        command = [self.etcd_program, "--data-dir", os.path.join(self.dir, "etcd"), "--listen-client-urls", client,
                   "--advertise-client-urls", client, "--listen-peer-urls", other,
                   "--initial-advertise-peer-urls", other, "--initial-cluster", f"default={other}", "--log-level", "warn"]
        if "etcd Version: 3.4." not in self.etcd_version():
            command.append("--unsafe-no-fsync")
        self.etcd = Child("etcd", command, self.dir)

    def wait_etcd(self):
        end = time.monotonic() + READY_SECONDS
        while True:
            self.etcd.check()
            try:
                connection = http.client.HTTPConnection("127.0.0.1", self.client_port, timeout=5)
                connection.request("GET", "/health")
                if connection.getresponse().status == 200:
                    return
            except OSError:
                pass
            if time.monotonic() > end:
                raise TimeoutError(f"etcd is not ready after {READY_SECONDS} s")
            time.sleep(0.05)

    def put(self, objects):
        """Writes [(key, object)] straight into etcd, thousands per second and past all validation; an object that is None
        is deleted."""
        connection = http.client.HTTPConnection("127.0.0.1", self.client_port, timeout=30)
        encode = lambda text: base64.b64encode(text.encode()).decode()  # noqa: E731
        for at in range(0, len(objects), BATCH):
            ops = [{"requestPut": {"key": encode(k), "value": encode(json.dumps(v))}} if v is not None else
                   {"requestDeleteRange": {"key": encode(k)}} for k, v in objects[at:at + BATCH]]
            connection.request("POST", "/v3/kv/txn", json.dumps({"success": ops}))
            reply = connection.getresponse()
            text = reply.read()
            if reply.status != 200:
                raise RuntimeError(text)
        connection.close()

    def etcd_version(self):
        return subprocess.run([self.etcd_program, "--version"], capture_output=True, text=True, check=True).stdout

    def prepare(self):
        key = os.path.join(self.dir, "sa.key")
        if not os.path.exists(key):
            subprocess.run(["openssl", "genrsa", "-out", key, "2048"], check=True, capture_output=True)
        with open(os.path.join(self.dir, "tokens.csv"), "w", encoding="utf-8") as f:
            for token, (user, groups) in self.users.items():
                f.write(f'{token},{user},{user}-uid,"{",".join(groups)}"\n')
        return key

    def start_api(self):
        key = self.prepare()
        self.api = Child("kube-apiserver", [
            self.api_program, f"--etcd-servers=http://127.0.0.1:{self.client_port}", "--bind-address=127.0.0.1",
            f"--secure-port={self.port}", f"--cert-dir={self.dir}/certs", f"--token-auth-file={self.dir}/tokens.csv",
            "--service-cluster-ip-range=10.96.0.0/16", "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={key}", f"--service-account-signing-key-file={key}",
            "--disable-admission-plugins=ServiceAccount", "--endpoint-reconciler-type=none", *self.flags], self.dir)
        self.wait_ready()


class Embedded(Api):
    """`fairlead api`; `flags` are more of its own."""

    def __init__(self, flags=()):
        super().__init__("fairlead-embedded-")
        self.flags = list(flags)
        self.data = os.path.join(self.dir, "data")

    ca = property(lambda self: os.path.join(self.data, "ca.crt"))
    admin = property(lambda self: self.token("admin"))
    system = property(lambda self: self.token("system"))

    def token(self, name):
        with open(os.path.join(self.data, name + ".token"), encoding="ascii") as f:
            return f.read().strip()

    def start(self):
        self.start_api()

    def start_api(self):
        self.api = Child("fairlead-api", [server.fairlead_program(), "api", "--data", self.data, "--listen",
                                          f"127.0.0.1:{self.port}", *self.flags], self.dir)
        self.wait_ready()

    def stop(self):
        try:
            if self.api is not None:
                self.api.stop()
                with open(self.api.log, encoding="utf-8", errors="replace") as f:
                    text = f.read()
                assert self.api.process.returncode == 0 and "Sanitizer" not in text, text
        finally:
            super().stop()
