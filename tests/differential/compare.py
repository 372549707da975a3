# SPDX-License-Identifier: GPL-3.0-or-later
"""Asks two servers the same questions, and reports differences."""
import os
import re
import time
from collections import Counter
from urllib.error import URLError

from lib import wire
from lib.client import QUIET, Exchange

REPLIES_LATE = 5.0  # patience for a reply that the other server gave
ASKED_LATE = 1.0  # patience for a query to an upstream that the case says there is
SECOND_REPLIES = 0.15  # how long after the last reply a second one to the same question may come
NAMES = ("CoreDNS", "Fairlead")
LINES_SHOWN = 8  # of one problem


class Pair:
    """The two servers of a case: first the reference, then the one under test."""

    def __init__(self, servers, case):
        self.servers = servers
        self.case = case
        self.problems = []

    def problem(self, query, text):
        lines = text.split("\n")
        if len(lines) > LINES_SHOWN:
            lines[LINES_SHOWN:] = [f"and {len(lines) - LINES_SHOWN} lines more"]
        self.problems.append(f"{query.where}: {query.text}\n    " + "\n    ".join(lines))

    def run(self):
        queries = self.case["queries"]
        dns = [q for q in queries if q.ask]
        one = Exchange(self.servers[0], self.case.get("window", 48))
        two = Exchange(self.servers[1], self.case.get("window", 48), like=one)
        try:
            if self.case.get("window") == 1:
                self.one_by_one([q for q in queries if not q.get], (one, two))
            else:
                for exchange in (one, two):
                    exchange.run([q.ask for q in dns])
            for mine, other in ((one, two), (two, one)):
                late = [q.ask for q in dns if not mine.replies(q.ask) and other.replies(q.ask) and not q.differs]
                mine.settle(late, max(REPLIES_LATE, self.case.get("patience", 0)))
            one.drain(SECOND_REPLIES)
            two.drain(SECOND_REPLIES)
            for q in dns:
                self.judge(q, one.replies(q.ask), two.replies(q.ask))
        finally:
            one.close()
            two.close()
        for q in queries:
            if q.get:
                self.judge_http(q)
        self.problems += compare_seen(self.servers, self.case.get("seen", "all"))
        for server, name in zip(self.servers, NAMES):
            if not server.alive():
                self.problems.append(f"{name} ended with status {server.process.poll()}:\n{server.output()[-3000:]}")

    def one_by_one(self, queries, exchanges):
        """Each question to both servers at the same time, and the next one when both have replied."""
        open_asks = []
        for q in queries:
            if q.step:
                self.step(*q.step, exchanges, open_asks)
                continue
            open_asks.append(q.ask)
            before = [upstream_count(s, q) for s in self.servers]
            for e in exchanges:
                e.send(q.ask)
            if q.nowait:
                continue
            self.settle(exchanges, [q.ask])
            if q.expect.asked is not None:
                self.judge_asked(q, before)

    def settle(self, exchanges, asks):
        """Wait until both servers have replied to all of them."""
        end = time.monotonic() + self.case.get("patience", QUIET)
        while any(e.missing(asks) for e in exchanges) and time.monotonic() < end:
            for e in exchanges:
                e.pump(0.002)

    def step(self, word, argument, exchanges, asks):
        if word == "wait":
            time.sleep(argument)
        elif word == "settle":
            self.settle(exchanges, asks)
        else:
            for s in self.servers:
                getattr(s.upstreams[argument], word)()

    def judge_asked(self, query, before):
        """Did this question cause so many queries to upstreams?"""
        for server, name, old in zip(self.servers, NAMES, before):
            end = time.monotonic() + ASKED_LATE
            while upstream_count(server, query) - old < query.expect.asked and time.monotonic() < end:
                time.sleep(0.005)
            got = upstream_count(server, query) - old
            if got != query.expect.asked:
                self.problem(query, f"{name} asked upstreams {got} times, not {query.expect.asked}")

    def judge(self, query, reference, tested):
        expect = query.expect
        if os.environ.get("DIFF_SHOW") == "1" and not query.where.endswith("generated"):
            print(f"\n{query.where}: [{query.ask.port}] {query.text}\n    {show(reference)}")
        if query.differs:
            wrong = check(expect, tested, reference)
            if wrong and not self.case["self"]:
                self.problem(query, f"difference {query.differs}: {wrong}\ngot {show(tested)}")
            if not check(expect, reference, reference) and not (expect.same and not expect.compressed):
                self.problem(query, f"difference {query.differs} is no more: CoreDNS answers as Fairlead must")
            return
        wrong = compare(reference, tested)
        if wrong:
            self.problem(query, wrong)
        wrong = check(expect, reference, None)
        if wrong:
            self.problem(query, f"CoreDNS does not do what the case says: {wrong}\ngot {show(reference)}")
        if not reference and not tested and not expect.silent and not self.case.get("silent_ok"):
            self.problem(query, "neither server replied, and the case does not say `silent`")

    def judge_http(self, query):
        got = []
        for server in self.servers:
            try:
                got.append(server.get(*query.get))
            except (URLError, OSError) as e:
                got.append(("no answer", str(e)))
        if got[0] != got[1]:
            self.problem(query, f"CoreDNS {got[0]}\nFairlead {got[1]}")
        want = (query.expect.status or 200, got[0][1] if query.expect.body is None else query.expect.body)
        if got[0] != want:
            self.problem(query, f"CoreDNS does not do what the case says: got {got[0]}, want {want}")


def parse_all(replies):
    out = []
    for r in replies:
        try:
            out.append(wire.parse(r))
        except wire.Malformed as e:
            out.append(f"malformed ({e}): {r.hex()}")
    return out


def show(replies):
    if not replies:
        return "silence"
    return "\nand then ".join("; ".join(m.text()) if isinstance(m, wire.Message) else m for m in parse_all(replies))


def compare(reference, tested):
    """Empty if both gave the same replies, else what differs."""
    if reference == tested:
        return ""
    if len(reference) != len(tested):
        return f"CoreDNS: {show(reference)}\nFairlead: {show(tested)}"
    one = sorted(map(comparable, parse_all(reference)), key=repr)
    two = sorted(map(comparable, parse_all(tested)), key=repr)
    if one == two:
        return ""
    left, right = (sum((m.text() if isinstance(m, wire.Message) else [m] for m in parse_all(r)), [])
                   for r in (reference, tested))
    only = [f"CoreDNS only: {l}" for l in left if l not in right]
    only += [f"Fairlead only: {l}" for l in right if l not in left]
    return "\n".join(only) or f"CoreDNS: {show(reference)}\nFairlead: {show(tested)}"


def comparable(msg):
    return msg.comparable() if isinstance(msg, wire.Message) else msg


def check(expect, replies, reference):
    """Empty if replies are what the case states, else what is wrong."""
    if expect.silent:
        return "a reply where silence is due" if replies else ""
    count = 1 if expect.replies is None else expect.replies
    says_nothing = expect.rcode is None and expect.flags is None and not expect.sections and not expect.same \
        and expect.edns is None and expect.question is None and not expect.counts and not expect.compressed and expect.replies is None
    if says_nothing:
        return ""
    if len(replies) != count:
        return f"{len(replies)} replies, not {count}"
    if expect.same and reference is not replies:
        wrong = compare(reference, replies)
        if wrong:
            return wrong
    wrong = []
    for msg in parse_all(replies):
        if isinstance(msg, str):
            return msg
        if expect.rcode is not None and msg.rcode != expect.rcode:
            wrong.append(f"rcode {wire.rcode_text(msg.rcode)}, not {wire.rcode_text(expect.rcode)}")
        if expect.flags is not None and msg.flags != expect.flags:
            wrong.append(f"flags {msg.flags}, not {expect.flags}")
        if expect.opcode is not None and msg.opcode != expect.opcode:
            wrong.append(f"opcode {msg.opcode}")
        if expect.question is not None and f"question {expect.question}" not in msg.text():
            wrong.append(f"question {msg.text()[2:3]}, not {expect.question}")
        if expect.edns is False and msg.edns or expect.edns and msg.edns != expect.edns:
            wrong.append(f"{msg.edns or 'no EDNS'}, not {expect.edns or 'none'}")
        for section, records in expect.sections.items():
            if sorted(getattr(msg, section)) != sorted(records):
                got = [wire.record_text(r) for r in getattr(msg, section)]
                wrong.append(f"{section} {got}, not {[wire.record_text(r) for r in records]}")
        for section, n in expect.counts.items():
            if len(getattr(msg, section)) != n:
                wrong.append(f"{len(getattr(msg, section))} records in {section}, not {n}")
        if expect.compressed and not msg.compressed:
            wrong.append("not compressed")
    return "; ".join(wrong)


# ---- upstreams ----

def upstream_count(server, query):
    """Queries its upstreams got, for the name and type of a question unless it says all."""
    name, rtype = (None, None) if query.expect.asked_all else query.text.split()[:2]
    return sum(u.count(name and name.lower(), rtype) for u in server.upstreams.values())


def seen_by(server, how):
    """Queries that the server's upstreams got, as sorted lines."""
    lines = []
    for name, up in server.upstreams.items():
        for q in up.asked():
            line = f"{q.name} {q.rtype}" if how == "names" else q.line()
            lines.append(f"{name}: {line}" if how == "each" else line)
    return sorted(lines)


def compare_seen(servers, how):
    """What upstreams were asked by one server only, and scripts that could not be followed."""
    out = [f"upstream {n}: {p}" for s in servers for n, u in s.upstreams.items() for p in u.problems]
    if how == "no":
        return out
    one, two = (Counter(seen_by(s, how)) for s in servers)
    for line in sorted(one.keys() | two.keys()):
        if one[line] != two[line]:
            out.append(f"upstreams got `{line}` {one[line]} times from {NAMES[0]}, {two[line]} times from {NAMES[1]}")
    return out


# ---- log lines ----

def log_lines(server, case):
    """Masked log lines of a server, sorted: what `log` and `errors` printed, without start-up text."""
    sent = {q.ask.wire[0] << 8 | q.ask.wire[1] for q in case["queries"] if q.ask and len(q.ask.wire) > 1}
    lines = []
    for line in server.read("stdout").splitlines():
        if not re.match(r"\[(INFO|ERROR|WARNING|DEBUG)\] ", line) and not line.startswith("{"):
            continue
        if line.startswith("{") and '"plugin":' not in line:
            continue  # listeners, version, signals
        line = server.mask(line)
        line = re.sub(r"\b\d+(\.\d+)?(e-\d+)?s\b", "@DURATION@", line)
        line = re.sub(r'("duration_seconds":)[0-9.e-]+', r"\1@DURATION@", line)
        line = re.sub(r'("time":)"[^"]*"', r"\1@TIME@", line)
        # Sub-queries have ids of their own.
        line = re.sub(r' - (\d+) "', lambda m: m[0] if int(m[1]) in sent else ' - @ID@ "', line)
        m = re.match(r"(\[ERROR\] plugin/errors: \d+ \S+ \S+: )(.*)", line)
        if m and not m[2].endswith("no next plugin found"):
            line = m[1] + "@TEXT@"
        for pattern, replacement in case.get("mask", []):
            line = re.sub(pattern, replacement, line)
        if not re.match(r"\[INFO\] plugin/(reload|ready|health|hosts)", line):
            lines.append(line)
    return sorted(lines)


def compare_logs(servers, case, timeout=5.0):
    """Lines that only one server printed. Logs are written after the reply, so wait for (`log_lines` of) them."""
    end = time.monotonic() + timeout
    while True:
        one, two = (log_lines(s, case) for s in servers)
        if one == two and len(one) >= case.get("log_lines", 1) or time.monotonic() > end:
            break
        time.sleep(0.05)
    if len(one) < case.get("log_lines", 1):
        return [f"CoreDNS logged {len(one)} lines only, the case says {case.get('log_lines', 1)}"] + one
    only = []
    for name, mine, other in ((NAMES[0], one, two), (NAMES[1], two, one)):
        rest = list(other)
        for line in mine:
            if line in rest:
                rest.remove(line)
            else:
                only.append(f"only {name} logs: {line}")
    return only


# ---- metrics ----

SAMPLE = re.compile(r'([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)')
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"')
# Series whose values depend on time or on the build; names and label names are compared all the same.
VALUE_VARIES = re.compile(r"duration|timestamp|build_info|version_info|health|panics|_created")
LABELS_VARY = {"coredns_build_info", "coredns_reload_version_info"}
# Ours, under names that dashboards know from older versions of CoreDNS (docs/plugins/forward.md).
OURS = {"coredns_forward_requests_total"}
# CoreDNS exports these as soon as the plugin is compiled in, Fairlead only where it is used.
ELSEWHERE = re.compile(r"coredns_(forward|proxy|cache|dnssec|kubernetes|autopath|dns64|siit|shed|grpc|hosts|local)_")
USED_AS = {"proxy": "forward"}  # name in metrics -> plugin
PRESENCE_VARIES = re.compile(r"conn_cache_(hits|misses)")  # which sockets are used again is drawn by lot
SIZES = re.compile(r"_size_bytes_(sum|bucket)")
PROCESS = ("process_cpu_seconds_total", "process_max_fds", "process_open_fds", "process_resident_memory_bytes",
           "process_start_time_seconds", "process_virtual_memory_bytes")


def metrics(server, port_name):
    """({(name, labels): value}, {name: type}) of the coredns_ series, server ports masked."""
    status, text = server.get(port_name, "/metrics")
    if status != 200:
        raise AssertionError(f"/metrics: status {status}")
    series, types = {}, {}
    loops = re.search(r"^\s*loop\b", server.corefile, re.M)  # its question to itself has a random length
    for line in text.splitlines():
        name = re.sub(r"^# TYPE ", "", line)
        if not name.startswith("coredns_"):
            continue
        plugin = ELSEWHERE.match(name)
        if plugin and not re.search(rf"^\s*{USED_AS.get(plugin[1], plugin[1])}\b", server.corefile, re.M):
            continue
        if name.startswith("coredns_health_") and "health" not in server.corefile:
            continue
        if line.startswith("# TYPE"):
            _, _, name, kind = line.split()
            if name not in OURS:
                types[name] = kind
            continue
        if PRESENCE_VARIES.search(name):
            continue
        m = SAMPLE.match(line)
        if m[1] in OURS:
            continue
        name, labels, value = m[1], LABEL.findall(m[2] or ""), m[3]
        labels = [(k, server.mask(v)) for k, v in labels]
        if name in LABELS_VARY:
            labels = [(k, "*") for k, v in labels]
        varies = VALUE_VARIES.search(name) or loops and SIZES.search(name)
        series[name, tuple(sorted(labels))] = None if varies else float(value)
    have = {l.split("{")[0].split(" ")[0] for l in text.splitlines()}
    for name in PROCESS:
        if name not in have:
            types[name] = "missing"
    return series, types


def compare_metrics(servers, case):
    """What differs in names, types, labels and (counters) values. Counters are bumped after the reply, so retry."""
    end = time.monotonic() + 5
    while True:
        (one, types_one), (two, types_two) = (metrics(s, case["metrics"]) for s in servers)
        only = [f"only CoreDNS has {show_series(k)}" for k in sorted(one.keys() - two.keys())]
        only += [f"only Fairlead has {show_series(k)}" for k in sorted(two.keys() - one.keys())]
        only += [f"{show_series(k)}: CoreDNS {one[k]:g}, Fairlead {two[k]:g}" for k in sorted(one.keys() & two.keys())
                 if one[k] != two[k]]
        only += [f"type of {n}: CoreDNS {types_one.get(n)}, Fairlead {types_two.get(n)}"
                 for n in sorted(types_one.keys() | types_two.keys()) if types_one.get(n) != types_two.get(n)]
        if not only or time.monotonic() > end:
            return only
        time.sleep(0.1)


def show_series(key):
    return key[0] + "{" + ",".join(f'{k}="{v}"' for k, v in key[1]) + "}"
