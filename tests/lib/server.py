# SPDX-License-Identifier: GPL-3.0-or-later
"""Start a DNS server program on free loopback ports, wait until it listens, stop it by its pid.

    with Server(fairlead(), ".:@PORT@ { whoami }") as s:
        reply = client.udp_ask(s.port(), wire.query("example.org."))

Placeholders in the Corefile and in files beside it: @PORT@ the main DNS port (also given by -dns.port), @PORT:x@ more
DNS ports (a Corefile that has only such ones is taken not to use the main port), @HTTP:x@ TCP ports of HTTP end
points, @DIR@ the folder that holds the Corefile and the files; of the upstream `x` (upstream.py), @UP:x@ is the
address with its port, @UPPORT:x@ the port, @UPTLS:x@ the address and port for TLS or HTTPS,
@UPTLSPORT:x@ that port, @UPCERT:x@ its certificate.
"""
import fcntl
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PLACEHOLDER = re.compile(r"@(PORT|HTTP)(?::([a-z0-9_-]+))?@")
UPSTREAM = re.compile(r"@UP(PORT|TLS|TLSPORT|CERT)?:([a-z0-9_-]+)@")
START_SECONDS = 60  # one that takes longer hangs; how long it may take is for tests that measure
STOP_SECONDS = 8


class StartFailed(Exception):
    """The program ended, or did not listen in time. `status` is its exit status (None: still running)."""

    def __init__(self, text, status, output):
        super().__init__(f"{text}\n{output}")
        self.status = status
        self.output = output


def fairlead():
    """Command of the server under test: $FAIRLEAD (default build/fairlead) with the sub-command `dns`."""
    return [fairlead_program(), "dns"]


def fairlead_program():
    return os.environ.get("FAIRLEAD") or os.path.join(ROOT, "build", "fairlead")


def coredns_program():
    """$COREDNS, or the one in the peers cache, which is built if missing; None where that cannot be done."""
    named = os.environ.get("COREDNS")
    if named:
        return named
    done = subprocess.run([os.path.join(ROOT, "tests", "peers", "build"), "coredns"], stdout=subprocess.PIPE, text=True)
    if done.returncode == 2:
        return None
    if done.returncode != 0:
        raise RuntimeError("tests/peers/build coredns failed")
    return done.stdout.splitlines()[-1]


class Port:
    """A port that is free for TCP and UDP on all addresses, held by a lock file against other test processes (servers
    use SO_REUSEPORT, so a second user would not be refused but would steal packets)."""
    FOLDER = os.path.join(tempfile.gettempdir(), "fairlead-test-ports")
    pick = random.Random(os.getpid() ^ time.time_ns())

    def __init__(self):
        os.makedirs(self.FOLDER, exist_ok=True)
        for _ in range(500):
            number = self.pick.randrange(12000, 32000)
            self.lock = open(os.path.join(self.FOLDER, str(number)), "w", encoding="ascii")
            try:
                fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                self.lock.close()
                continue
            if self.is_free(number):
                self.number = number
                return
            self.lock.close()
        raise RuntimeError("no free port found")

    @staticmethod
    def is_free(number):
        for family, address in ((socket.AF_INET, "0.0.0.0"), (socket.AF_INET6, "::")):
            for kind in (socket.SOCK_DGRAM, socket.SOCK_STREAM):
                try:
                    with socket.socket(family, kind) as s:
                        if family == socket.AF_INET6:
                            s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
                        s.bind((address, number))
                except OSError as e:
                    if family == socket.AF_INET6 and e.errno in (97, 99):
                        continue  # no IPv6 here
                    return False
        return True

    def release(self):
        self.lock.close()


def bound_ports(table):
    """Local ports of a /proc/net table (udp, tcp: listening sockets only)."""
    ports = set()
    for name in (table, table + "6"):
        try:
            with open(f"/proc/thread-self/net/{name}", encoding="ascii") as f:
                next(f)
                for line in f:
                    fields = line.split()
                    if table == "udp" or fields[3] == "0A":
                        ports.add(int(fields[1].rsplit(":", 1)[1], 16))
        except OSError:
            pass
    return ports


class Server:
    """One server process. `command` is the program with its first arguments; -conf and -dns.port are added.
    `upstreams`: name -> Upstream, which stay the caller's to start and close."""

    def __init__(self, command, corefile, files=None, env=None, args=(), stop_signal=signal.SIGTERM, upstreams=None):
        self.command = list(command)
        self.stop_signal = stop_signal
        self.args = list(args)
        self.upstreams = upstreams or {}
        self.dir = tempfile.mkdtemp(prefix="fairlead-test-")
        self.ports = {}
        self.http_ports = {}
        self.process = None
        self.killed = False
        self.main_port_used = "@PORT@" in corefile or "@PORT:" not in corefile
        self.port()
        for name, text in (files or {}).items():
            path = os.path.join(self.dir, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8", newline="") as f:
                f.write(self.fill(text))
        self.conf = os.path.join(self.dir, "Corefile")
        self.corefile = self.fill(corefile)
        with open(self.conf, "w", encoding="utf-8", newline="") as f:
            f.write(self.corefile)
        self.env = {**os.environ, **{k: self.fill(v) for k, v in (env or {}).items()}}

    def fill(self, text):
        """Text with its placeholders replaced; ports are allotted on first use."""
        text = PLACEHOLDER.sub(lambda m: str((self.port if m[1] == "PORT" else self.http)(m[2] or "")), text)
        text = UPSTREAM.sub(self.fill_upstream, text)
        return text.replace("@DIR@", self.dir)

    def fill_upstream(self, m):
        up = self.upstreams[m[2]]
        return {None: up.address, "PORT": str(up.port), "TLS": up.tls_address, "TLSPORT": str(up.tls_port),
                "CERT": up.cert}[m[1]]

    def mask(self, text):
        """The reverse: ports and upstreams by their names, so that the output of two servers can be compared."""
        for name, up in self.upstreams.items():
            text = text.replace(up.address, f"@UP:{name}@")
            text = text.replace(up.tls_address, f"@UPTLS:{name}@") if up.tls_port else text
        for name, port in self.ports.items():
            text = re.sub(rf"\b{port.number}\b", f"@PORT:{name}@", text)
        return text.replace(self.dir, "@DIR@")

    def port(self, name=""):
        """Number of the DNS port @PORT:name@."""
        if name not in self.ports:
            if self.process is not None:
                raise KeyError(f"the Corefile has no @PORT:{name}@")
            self.ports[name] = Port()
        return self.ports[name].number

    def http(self, name=""):
        """Number of the TCP port @HTTP:name@."""
        if name not in self.http_ports:
            self.http_ports[name] = Port()
        return self.http_ports[name].number

    def start(self):
        """Start and wait until every port that the Corefile mentions is open; raises StartFailed."""
        self.out = open(os.path.join(self.dir, "stdout"), "w+b")
        self.err = open(os.path.join(self.dir, "stderr"), "w+b")
        self.process = subprocess.Popen(
            self.command + ["-conf", self.conf, "-dns.port", str(self.port())] + self.args,
            stdin=subprocess.DEVNULL, stdout=self.out, stderr=self.err, cwd=self.dir, env=self.env)
        udp = {p.number for n, p in self.ports.items() if n or self.main_port_used}
        tcp = udp | {p.number for p in self.http_ports.values()}
        end = time.monotonic() + START_SECONDS
        pause = 0.005
        while not (udp <= bound_ports("udp") and tcp <= bound_ports("tcp")):
            status = self.process.poll()
            if status is not None or time.monotonic() > end:
                output = self.output()
                self.stop()
                raise StartFailed(f"{self.command[0]} {'ended' if status is not None else 'does not listen'}, "
                                  f"status {status}", status, output)
            time.sleep(pause)
            pause = min(pause * 1.5, 0.05)
        return self

    def alive(self):
        return self.process is not None and self.process.poll() is None

    def output(self):
        """Everything written to stdout and stderr so far."""
        return self.read("stdout") + self.read("stderr")

    def read(self, stream):
        with open(os.path.join(self.dir, stream), encoding="utf-8", errors="backslashreplace") as f:
            return f.read()

    def get(self, name, path, timeout=5.0):
        """HTTP GET on the port @HTTP:name@: (status, body text). Waits for the port to open."""
        url = f"http://127.0.0.1:{self.http(name)}{path}"
        end = time.monotonic() + timeout
        while True:
            try:
                with urllib.request.urlopen(url, timeout=timeout) as r:
                    return r.status, r.read().decode()
            except urllib.error.HTTPError as e:
                return e.code, e.read().decode()
            except OSError:
                if time.monotonic() > end or not self.alive():
                    raise
                time.sleep(0.02)

    def stop(self):
        """End the process and free ports and files; the exit status, or None if it had to be killed."""
        status = None
        if self.process is not None:
            if self.process.poll() is None:
                self.process.send_signal(self.stop_signal)
                self.killed = self.stop_signal == signal.SIGKILL
            try:
                status = self.process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.killed = True
                self.process.wait()
            self.last_output = self.output()
            self.out.close()
            self.err.close()
            self.process = None
        for port in list(self.ports.values()) + list(self.http_ports.values()):
            port.release()
        shutil.rmtree(self.dir, ignore_errors=True)
        return status

    def __enter__(self):
        try:
            return self.start()
        except BaseException:
            self.stop()
            raise

    def __exit__(self, *_):
        self.stop()
