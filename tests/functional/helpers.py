# SPDX-License-Identifier: GPL-3.0-or-later
"""What the functional suite shares: the program and what it was built with, short questions, bounded waiting, network
namespaces.

Nothing waits for a fixed time: `eventually` asks again until its bound, and `quiet_for` is used only to see that
nothing comes.
"""
import functools
import os
import re
import resource
import shutil
import socket
import subprocess
import time

import pytest

from lib import client, server, wire

SBIN = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
WHOAMI = ".:@PORT@ {\n    whoami\n}\n"


@functools.lru_cache(maxsize=None)
def sanitizer():
    """"address", "thread" or "": bounds of time and memory do not hold for such a build."""
    with open(server.fairlead_program(), "rb") as f:
        code = f.read()
    return "address" if b"__asan_init" in code else "thread" if b"__tsan_init" in code else ""


def slower(seconds):
    """A bound on time, wider for a sanitizer build."""
    return seconds * (6 if sanitizer() else 1)


@functools.lru_cache(maxsize=None)
def plugins():
    done = subprocess.run(server.fairlead() + ["-plugins"], stdout=subprocess.PIPE, text=True, check=True)
    return tuple(done.stdout.split())


def needs(*names):
    """Marks a test that makes no sense in a build without these plugins."""
    missing = [n for n in names if n not in plugins()]
    return pytest.mark.skipif(bool(missing), reason="this build has no " + ", ".join(missing))


def needs_root():
    """Marks a test with network namespaces or other users."""
    missing = [x for x in ("ip", "setpriv", "sysctl") if shutil.which(x, path=SBIN) is None]
    reason = f"needs {', '.join(missing)}" if missing else "needs root (network namespaces, other users)"
    return pytest.mark.skipif(bool(missing) or os.geteuid() != 0, reason=reason)


def raise_file_limit(wanted):
    """The file limit is raised for good; skips when the hard one forbids."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < wanted:
        pytest.skip(f"hard limit of open files is {hard}, {wanted} are needed")
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def run(*args, cwd=None, stdin="", env=None, program=None, timeout=20):
    """Runs the program to its end: (status, stdout, stderr). args[0] is the sub-command."""
    done = subprocess.run([program or server.fairlead_program(), *args], input=stdin, cwd=cwd, timeout=slower(timeout),
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          env={**os.environ, **(env or {})})
    return done.returncode, done.stdout, done.stderr


def eventually(check, seconds=5.0, what="condition"):
    """Calls check() until its result is true, and returns the result."""
    end = time.monotonic() + slower(seconds)
    pause = 0.002
    while True:
        got = check()
        if got:
            return got
        if time.monotonic() > end:
            pytest.fail(f"{what}: not within {slower(seconds)} s", pytrace=True)
        time.sleep(pause)
        pause = min(pause * 1.5, 0.05)


def ask(port, name="example.org.", rtype="A", *, tcp=False, target="127.0.0.1", timeout=5.0, **kw):
    """A question's parsed reply, or None."""
    question = wire.query(name, rtype, ident=kw.pop("ident", 0x4242), **kw)
    if tcp:
        reply = client.tcp_ask(port, question, target=target, timeout=slower(timeout))[0]
    else:
        reply = client.udp_ask(port, question, target=target, timeout=slower(timeout))
    return wire.parse(reply) if reply else None


def answers(port, **kw):
    """True when whoami (or anything) answers now; a closed port is False, not an error."""
    try:
        return ask(port, timeout=kw.pop("timeout", 1.0), **kw) is not None
    except OSError:
        return False


def marker(text):
    """A Corefile whose answer shows which version of it is served."""
    return f'.:@PORT@ {{\n    template ANY ANY {{\n        answer "{{{{ .Name }}}} 0 IN TXT {text}"\n    }}\n}}\n'


def marked(port, **kw):
    """The text put there by `marker`, or None."""
    reply = ask(port, "marker.example.", "TXT", **kw)
    if reply is None or not reply.answer:
        return None
    data = reply.answer[0][4]
    return data[1:1 + data[0]].decode()


def rewrite(s, text):
    """Puts another Corefile in place of a running server's, at once."""
    temporary = s.conf + ".new"
    with open(temporary, "w", encoding="utf-8", newline="") as f:
        f.write(s.fill(text))
    os.rename(temporary, s.conf)


def status(pid, *fields):
    """Numbers of /proc/PID/status in kB."""
    with open(f"/proc/{pid}/status", encoding="ascii") as f:
        found = dict(re.findall(r"^(\w+):\s+(\d+)", f.read(), re.M))
    return [int(found[x]) for x in fields]


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def open_files(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def metric(text, start):
    """Value of the line that begins with `start` (all labels given), or None."""
    for line in text.splitlines():
        if line.startswith(start) and line[len(start)] == " ":
            return float(line.rsplit(" ", 1)[1])
    return None


class Network:
    """Two network namespaces joined by a cable: `server` has the addresses given, `client` one of each family next to
    them. Needs root."""
    count = 0

    def __init__(self, *addresses):
        Network.count += 1
        base = f"fl-test-{os.getpid()}-{Network.count}"
        self.names = [base + "-s", base + "-c"]
        self.addresses = addresses

    def __enter__(self):
        server_ns, client_ns = self.names
        try:
            for name in self.names:
                self.ip("netns", "add", name)
                self.ip("-n", name, "link", "set", "lo", "up")
            self.ip("link", "add", "e0", "netns", server_ns, "type", "veth", "peer", "name", "e0", "netns", client_ns)
            for name in self.names:
                self.ip("-n", name, "link", "set", "e0", "up")
            for a in self.addresses:
                self.add(server_ns, a)
            self.add(client_ns, "192.0.2.250/24")
            self.add(client_ns, "2001:db8::250/64")
        except BaseException:
            self.__exit__()
            raise
        return self

    def add(self, name, address):
        self.ip("-n", name, "addr", "add", address, "dev", "e0", *(["nodad"] if ":" in address else []))

    def __exit__(self, *_):
        for name in self.names:
            subprocess.run(["ip", "netns", "del", name], stderr=subprocess.DEVNULL, check=False)

    @staticmethod
    def ip(*args):
        subprocess.run(["ip", *args], check=True, stdout=subprocess.DEVNULL)

    def server(self, *command):
        return ["ip", "netns", "exec", self.names[0], *command]

    def client(self, *command):
        return ["ip", "netns", "exec", self.names[1], *command]


def quiet_for(sock, seconds=0.4):
    """True when nothing arrives on the socket within the given time."""
    sock.settimeout(seconds)
    try:
        sock.recv(65535)
        return False
    except (socket.timeout, BlockingIOError):
        return True
