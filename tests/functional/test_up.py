"""`fairlead up` and its companions, as a user on one machine has them."""
import json
import os
import re
import signal
import socket
import subprocess
import time

import pytest

from helpers import eventually
from lib import server

WAIT_SECONDS = 30


def free_port():
    """Free for UDP and TCP."""
    for _ in range(100):
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as tcp, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
            tcp.bind(("127.0.0.1", 0))
            try:
                udp.bind(tcp.getsockname())
            except OSError:
                continue
            return tcp.getsockname()[1]
    raise RuntimeError("no free port")


class Up:
    def __init__(self, data, *more, verb="up"):
        self.data, self.api, self.dns = str(data), free_port(), free_port()
        addresses = (["--api", f"127.0.0.1:{self.api}", "--dns", f"127.0.0.1:{self.dns}"] if verb == "up" else
                     ["--listen", f"127.0.0.1:{self.api}"])
        self.log = open(self.data + ".log", "w+", encoding="utf-8")
        self.process = subprocess.Popen([server.fairlead_program(), verb, "--data", self.data, *addresses, *more],
                                        stdin=subprocess.DEVNULL, stdout=self.log, stderr=subprocess.STDOUT)
        end = time.monotonic() + WAIT_SECONDS
        while not re.search(r"^try: ", self.text(), re.M):
            assert self.process.poll() is None and time.monotonic() < end, self.text()
            time.sleep(0.02)

    def text(self):
        self.log.flush()
        with open(self.log.name, encoding="utf-8") as f:
            return f.read()

    def stop(self, sig=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(sig)
        try:
            return self.process.wait(WAIT_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        finally:
            self.log.close()


def run(up, *arguments, status=0, text=None):
    done = subprocess.run([server.fairlead_program(), *arguments, "--data", up if isinstance(up, str) else up.data],
                          input=text, capture_output=True, text=True, timeout=60)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout if status == 0 else done.stdout + done.stderr


@pytest.fixture
def start(tmp_path):
    made = []

    def make(name="data", *more, **kw):
        made.append(Up(tmp_path / name, *more, **kw))
        return made[-1]

    yield make
    for up in made:
        if up.process.poll() is None:
            assert up.stop() == 0


def addresses(up, name):
    found = subprocess.run(["kdig", "+short", "+time=5", "@127.0.0.1", "-p", str(up.dns), name, "A"], capture_output=True,
                           text=True, timeout=30, check=True).stdout.split()
    return sorted(a for a in found if re.fullmatch(r"[0-9.]+", a))


def test_objects_of_the_examples_are_served(start):
    up = start("data", "--load", os.path.join(server.ROOT, "examples", "objects"))
    ip, = addresses(up, "web.shop.svc.cluster.local")
    assert ip.startswith("10.96.")
    assert addresses(up, "db.shop.svc.cluster.local") == ["192.0.2.11", "192.0.2.12"]
    assert addresses(up, "blog.shop.svc.cluster.local") == [ip]
    assert addresses(up, "kubernetes.default.svc.cluster.local") == ["10.96.0.1"]
    table = run(up, "get", "svc", "-A")
    assert re.search(rf"^shop +web +ClusterIP +{re.escape(ip)} ", table, re.M)
    assert "all well" in run(up, "status") and f"dns: 127.0.0.1:{up.dns} answers" in run(up, "status")


def test_a_change_is_served(start):
    up = start()
    manifest = "apiVersion: v1\nkind: Service\nmetadata: {name: late}\nspec: {clusterIP: 10.96.7.7, ports: [{port: 1}]}\n"
    assert addresses(up, "late.default.svc.cluster.local") == []
    assert "service/late created" in run(up, "apply", "-f", "-", text=manifest)
    eventually(lambda: addresses(up, "late.default.svc.cluster.local") == ["10.96.7.7"])
    assert "service/late deleted" in run(up, "delete", "svc/late")
    eventually(lambda: addresses(up, "late.default.svc.cluster.local") == [])


def test_objects_outlive_the_program(start):
    up = start()
    run(up, "apply", "-f", "-", text="apiVersion: v1\nkind: ConfigMap\nmetadata: {name: kept}\ndata: {a: b}\n")
    before = json.loads(run(up, "get", "cm", "kept", "-o", "json"))
    up.stop(signal.SIGKILL)
    again = start()
    assert json.loads(run(again, "get", "cm", "kept", "-o", "json")) == before


def test_backup_restore_export(start, tmp_path):
    up = start()
    run(up, "apply", "-f", "-", text="apiVersion: v1\nkind: ConfigMap\nmetadata: {name: kept}\ndata: {a: b}\n")
    copy = str(tmp_path / "copy")
    run(up, "backup", copy)
    text = run(up, "export")
    assert "name: kept" in text and "kind: ConfigMap" in text
    assert "is in use" in run(up, "restore", copy, status=1) or "pid" in run(up, "restore", copy, status=1)
    other = str(tmp_path / "other")
    run(other, "restore", copy)
    second = start("other")
    assert "kept" in run(second, "get", "cm", "-o", "name")
    assert "exists" in run(up, "backup", copy, status=1)


def test_second_start_names_the_first(start):
    up = start()
    done = subprocess.run([server.fairlead_program(), "api", "--data", up.data, "--listen", f"127.0.0.1:{free_port()}"],
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and str(up.process.pid) in done.stderr and done.stderr.count("\n") == 1


def test_ports_in_use(start, tmp_path):
    up = start()
    done = subprocess.run([server.fairlead_program(), "up", "--data", str(tmp_path / "x"), "--api", f"127.0.0.1:{up.api}",
                           "--dns", f"127.0.0.1:{free_port()}"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and f"127.0.0.1:{up.api}" in done.stderr and done.stderr.count("\n") == 1
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = subprocess.run([server.fairlead_program(), "up", "--data", str(tmp_path / "y"), "--api",
                               f"127.0.0.1:{free_port()}", "--dns", f"127.0.0.1:{port}"], capture_output=True, text=True,
                              timeout=60)
    assert done.returncode == 1 and "address already in use" in done.stderr.lower()


def test_files_are_private(start):
    up = start()
    for name in ("kubeconfig", "system.kubeconfig", "store.db"):
        assert os.stat(os.path.join(up.data, name)).st_mode & 0o77 == 0
    assert os.stat(up.data).st_mode & 0o77 == 0


def test_api_alone(start):
    up = start("data", verb="api")
    assert "kube-system" in run(up, "get", "ns")
    assert "all well" in run(up, "status")
    assert up.stop(signal.SIGINT) == 0
    assert "no answer" in run(up, "status", status=1) or "connect" in run(up, "status", status=1)


@pytest.mark.parametrize("arguments, said", [
    (["up", "extra"], "takes no arguments"),
    (["up", "--dns", "nowhere"], "--dns takes an address and a port"),
    (["up", "--log-format", "xml"], "--log-format is text or json"),
    (["api", "extra"], "takes no arguments"),
    (["backup"], "say one FILE"),
    (["export", "x"], "takes no arguments"),
    (["status", "x"], "takes no arguments"),
])
def test_bad_usage(arguments, said):
    done = subprocess.run([server.fairlead_program(), *arguments], capture_output=True, text=True, timeout=30)
    assert done.returncode == 64 and said in done.stderr
