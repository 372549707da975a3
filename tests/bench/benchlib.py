# SPDX-License-Identifier: GPL-3.0-or-later
"""What the measuring scripts share: finding programs, starting and stopping servers by their
process id, asking them one question, reading what they have cost, and running bench-load."""

import json
import os
import re
import resource
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import tomllib

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
BUILD = os.environ.get("FAIRLEAD_BUILD", os.path.join(ROOT, "build"))
RRTYPES = {"A": 1, "NS": 2, "CNAME": 5, "SOA": 6, "PTR": 12, "MX": 15, "TXT": 16, "AAAA": 28,
           "SRV": 33, "SVCB": 64, "HTTPS": 65, "ANY": 255}
RCODES = ["NOERROR", "FORMERR", "SERVFAIL", "NXDOMAIN", "NOTIMP", "REFUSED"]
START_LIMIT_S = 15


class Missing(Exception):
    """A program that is not on this machine."""


class Broken(Exception):
    """A server that does not start, dies, or answers something else than it should."""


def say(*text):
    print("bench:", *text, file=sys.stderr, flush=True)


# ---- programs ----

def peers_folder():
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return os.environ.get("FAIRLEAD_PEERS") or os.path.join(cache, "fairlead", "peers")


def find_program(name, candidates):
    """The first candidate that exists: a $VARIABLE, a path, or a name looked up in PATH."""
    path = os.environ.get("PATH", "") + ":/usr/sbin:/sbin:/usr/local/sbin"
    tried = []
    for c in candidates:
        c = c.replace("@BUILD@", BUILD).replace("@PEERS@", peers_folder())
        if c.startswith("$"):
            c = os.environ.get(c[1:], "")
        found = shutil.which(c, path=path) if c else None
        if found:
            return found
        if c:
            tried.append(c.replace(ROOT + "/", ""))
    raise Missing(f"{name} not found (tried {', '.join(tried)})")


TOOLS = {"echo": ["echo.c"], "load": ["load.c", "queries.c"]}


def own_tool(tool):
    """bench-echo or bench-load from the build; without a build, compiled aside with cc."""
    name = "bench-" + tool
    built = os.path.join(BUILD, "tests", "bench", name)
    if os.access(built, os.X_OK):
        return built
    aside = os.path.join(BUILD, "bench", "bin", name)
    sources = [os.path.join(HERE, s) for s in TOOLS[tool]]
    newest = max(os.path.getmtime(s) for s in sources)
    if not os.path.exists(aside) or os.path.getmtime(aside) < newest:
        os.makedirs(os.path.dirname(aside), exist_ok=True)
        subprocess.run([os.environ.get("CC", "cc"), "-std=c17", "-D_GNU_SOURCE", "-O2",
                        "-o", aside, *sources], check=True)
    return aside


# ---- asking ----

def free_port():
    """A port free for UDP and TCP on 127.0.0.1 just now."""
    for _ in range(100):
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as t, \
                socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as u:
            t.bind(("127.0.0.1", 0))
            port = t.getsockname()[1]
            try:
                u.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise Broken("no free port")


def encode_query(text, number=0, ident=0x4642, rd=False):
    name, rrtype = text.replace("{n}", str(number)).split()
    labels = [l for l in name.split(".") if l]
    wire = b"".join(bytes([len(l)]) + l.encode() for l in labels) + b"\0"
    return struct.pack(">HHHHHH", ident, 0x100 if rd else 0, 1, 0, 0, 0) + wire + \
        struct.pack(">HH", RRTYPES[rrtype.upper()], 1)


def ask(port, wire, timeout_s=0.5):
    """The reply's bytes; None when nothing came; ConnectionRefusedError when nobody listens."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.settimeout(timeout_s)
        s.connect(("127.0.0.1", port))
        s.send(wire)
        try:
            while True:
                reply = s.recv(65535)
                if len(reply) >= 12 and reply[:2] == wire[:2]:
                    return reply
        except TimeoutError:
            return None


def reply_summary(reply):
    rcode = reply[3] & 15
    return {"rcode": RCODES[rcode] if rcode < len(RCODES) else f"RCODE{rcode}",
            "answers": struct.unpack(">H", reply[6:8])[0], "bytes": len(reply)}


# ---- servers ----

def pinned(argv, cpu):
    """argv run on one CPU, and ended with this script should that die first."""
    prefix = ["setpriv", "--pdeathsig", "KILL"] if shutil.which("setpriv") else []
    return prefix + (["taskset", "-c", str(cpu)] if cpu is not None else []) + argv


def load_table(path=os.path.join(HERE, "scenarios.toml")):
    with open(path, "rb") as f:
        table = tomllib.load(f)
    names = [s["name"] for s in table["scenario"]]
    if len(names) != len(set(names)):
        raise SystemExit(f"{path}: a scenario's name is used twice")
    return table


class Server:
    """One running server, described by a [server.NAME] entry of the table."""

    def __init__(self, name, entry, conf="", files=None, cpu=None, values=None):
        self.name, self.entry, self.conf, self.cpu = name, entry, conf, cpu
        self.files = files or {}
        self.program = self._find()
        self.port = free_port()
        self.proc = self.dir = None
        self.values = {"PROGRAM": self.program, "PORT": self.port, "METRICS": free_port(),
                       **(values or {})}

    def _find(self):
        if "tool" in self.entry:
            return own_tool(self.entry["tool"])
        return find_program(self.name, self.entry["program"])

    def _fill(self, text):
        text = re.sub(r"@([A-Z]+)@", lambda m: str(self.values.get(m[1], m[0])), text)
        left = re.search(r"@[A-Z]+@", text)
        if left:
            raise Broken(f"{self.name}: nothing known for {left[0]}")
        return text

    def version(self):
        if "version" not in self.entry:
            return ""
        argv = [self._fill(a) for a in self.entry["version"]]
        try:
            r = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                               timeout=10, check=False)
        except (OSError, subprocess.TimeoutExpired):
            return ""
        m = re.search(r"\d+\.\d+(\.\d+)?", r.stdout)
        return m[0] if m else ""

    def write(self, name, text):
        """Writes a file into the server's folder in one step, as a reload must see it."""
        path = os.path.join(self.dir, name)
        with open(path + ".new", "w", encoding="utf-8") as f:
            f.write(text)
        os.rename(path + ".new", path)

    def start(self):
        self.dir = tempfile.mkdtemp(prefix=f"fairlead-bench-{self.name}-")
        conf_name = self.entry.get("conf_name", "conf")
        self.values |= {"DIR": self.dir, "CONF": os.path.join(self.dir, conf_name)}
        for name, text in self.files.items():
            self.write(name, self._fill(text))
        self.values["SCENARIO"] = self._fill(self.conf)
        self.write(conf_name, self._fill(self.entry.get("conf", "@SCENARIO@")))
        argv = [self._fill(a) for a in self.entry["argv"]]
        with open(os.path.join(self.dir, "output"), "wb") as out:
            self.started = time.monotonic()
            self.proc = subprocess.Popen(pinned(argv, self.cpu), stdin=subprocess.DEVNULL,
                                         stdout=out, stderr=out, cwd=self.dir)
        return self

    def output(self):
        with open(os.path.join(self.dir, "output"), encoding="utf-8", errors="replace") as f:
            return f.read()

    def check_alive(self):
        if self.proc.poll() is not None:
            raise Broken(f"{self.name} ended with status {self.proc.returncode}: "
                         + self.output()[-600:].strip())

    def wait_answer(self, wire, step_s=0.02):
        """The first reply and the seconds since the start."""
        while time.monotonic() - self.started < START_LIMIT_S:
            self.check_alive()
            try:
                reply = ask(self.port, wire)
                if reply is not None:
                    return reply, time.monotonic() - self.started
            except ConnectionRefusedError:
                pass
            time.sleep(step_s)
        raise Broken(f"{self.name} gave no answer in {START_LIMIT_S} s: "
                     + self.output()[-600:].strip())

    def stop(self):
        """Ends this process, and only this one; returns what it printed."""
        if self.proc is None:
            return ""
        if self.proc.poll() is None:
            self.proc.send_signal(signal.SIGTERM)
            try:
                self.proc.wait(5)
            except subprocess.TimeoutExpired:
                self.proc.kill()
                self.proc.wait()
        text = self.output()
        self.proc = None
        shutil.rmtree(self.dir, ignore_errors=True)
        return text


class Servers:
    """Servers started together and all stopped at the end, whatever happens between."""

    def __init__(self):
        self.all = []

    def __enter__(self):
        return self

    def start(self, server):
        self.all.append(server)
        return server.start()

    def __exit__(self, *_):
        for s in reversed(self.all):
            s.stop()


# ---- costs ----

def cpu_ns(pid):
    """All CPU time of a process, dead threads included, in exact nanoseconds: the clock that
    clock_getcpuclockid(3) names."""
    return time.clock_gettime_ns((~pid << 3) | 2)


def user_system_ns(pid):
    """User and system time. The kernel splits the exact sum by where its ticks fell, so short
    runs give a rough split."""
    with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as f:
        fields = f.read().rpartition(")")[2].split()
    tick = 1_000_000_000 // os.sysconf("SC_CLK_TCK")
    return int(fields[11]) * tick, int(fields[12]) * tick


def busy_ns(cpus):
    """What these CPUs have spent on anything at all, time stolen by the host included."""
    names, ticks = {f"cpu{n}" for n in cpus}, 0
    with open("/proc/stat", encoding="ascii") as f:
        for line in f:
            name, *fields = line.split()
            if name in names:
                user, nice, system, _, _, irq, softirq, steal = map(int, fields[:8])
                ticks += user + nice + system + irq + softirq + steal
    return ticks * (1_000_000_000 // os.sysconf("SC_CLK_TCK"))


def children_ns():
    """CPU time of the ended children of this script, bench-load among them."""
    r = resource.getrusage(resource.RUSAGE_CHILDREN)
    return int((r.ru_utime + r.ru_stime) * 1e9)


def memory_kb(pid):
    """The Rss… and Vm… lines of /proc/PID/status."""
    kb = {}
    with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as f:
        for line in f:
            key, _, value = line.partition(":")
            if key.startswith("Rss") or key in ("VmRSS", "VmHWM"):
                kb[key] = int(value.split()[0])
    return kb


def udp_counters():
    """The Udp line of /proc/net/snmp."""
    with open("/proc/net/snmp", encoding="ascii") as f:
        rows = [line.split() for line in f if line.startswith("Udp:")]
    return dict(zip(rows[0][1:], map(int, rows[1][1:])))


def run_load(port, args, seconds, cpu=None):
    argv = [own_tool("load"), "--port", str(port), "--duration", str(seconds),
            *map(str, args)]
    r = subprocess.run(pinned(argv, cpu), stdout=subprocess.PIPE, text=True, check=False,
                       timeout=seconds + 90)
    if r.returncode != 0:
        raise Broken(f"bench-load failed with status {r.returncode}")
    return json.loads(r.stdout)


def query_args(scenario):
    args = []
    for q in scenario["queries"]:
        args += ["--query", q]
    if "range" in scenario:
        args += ["--range", "%d:%d" % tuple(scenario["range"])]
    return args + scenario.get("load", [])


def first_query(scenario):
    return encode_query(scenario["queries"][0], scenario.get("range", [0])[0],
                        rd="--rd" in scenario.get("load", []))


def scenario_files(scenario):
    """Its files; a line with {n} stands for one line per number of the range."""
    out = {}
    for name, text in scenario.get("files", {}).items():
        lines = []
        for line in text.splitlines(keepends=True):
            numbers = range(scenario["range"][0], scenario["range"][1] + 1) if "{n}" in line else [0]
            lines += [line.replace("{n}", str(n)) for n in numbers]
        out[name] = "".join(lines)
    return out


def machine():
    model = "unknown processor"
    with open("/proc/cpuinfo", encoding="utf-8") as f:
        for line in f:
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                break
    return {"cpu": model, "cpus": os.cpu_count(), "kernel": os.uname().release,
            "load_average": os.getloadavg()[0], "date": time.strftime("%Y-%m-%d %H:%M %Z")}
