# SPDX-License-Identifier: GPL-3.0-or-later
"""The controller egressfirewall and DNS servers that learn, under load: many names that stay the same, many that do not, a client
that asks for very many names, and kills at each write. The embedded API."""
import http.client
import json
import os
import re
import socket
import ssl
import struct
import subprocess
import threading
import time

import pytest

from bothlib import embedded  # noqa: F401 (fixture)
from controllerlib import namespace, start, until
from dnslib import ask
from egresslib import (UNUSED, change_rules, delete, firewalls_path, get, items, make_firewall, make_name, names_path, report, run_controller,
                       system_of)
from lib import server
from test_egress_transfer import GATE, a_key, write_keys

BENCH = os.path.join(os.path.dirname(__file__), "..", "bench", "egress")
MANY = 100000  # names of each hostile client
SECRET = "/api/v1/namespaces/kube-system/secrets/fairlead-egress-keys"


@pytest.fixture()
def c(embedded):  # noqa: F811
    """Without firewalls, objects and keys in the end."""
    yield embedded
    for ns in ("churn", "kills", "odd", "hostile", "new"):
        embedded.call("DELETE", firewalls_path(ns, "default"))
    assert embedded.call("DELETE", names_path(), token=system_of(embedded))[0] == 200
    embedded.call("DELETE", SECRET)


class Answers:
    """A DNS server on UDP: A records by a function of the name and the number of the question; no AAAA."""

    def __init__(self, address_of, ttl=5):
        self.address_of, self.ttl, self.asked = address_of, ttl, {}
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self.socket.getsockname()[1]}"
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while True:
            try:
                query, peer = self.socket.recvfrom(4096)
            except OSError:
                return
            end = 12
            while query[end]:
                end += query[end] + 1
            name, question = query[12:end + 1].lower(), query[12:end + 5]
            is_a = query[end + 1:end + 3] == b"\0\1"
            self.asked[name] = self.asked.get(name, 0) + is_a
            answer = struct.pack("!HHHIH", 0xc00c, 1, 1, self.ttl, 4) + self.address_of(name, self.asked[name]) if is_a else b""
            self.socket.sendto(query[:2] + struct.pack("!HHHHH", 0x8180, 1, int(is_a), 0, 0) + question + answer, peer)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()


class Watch:
    """When each DNSName was written."""

    def __init__(self, c):
        self.times = {}
        self.client = http.client.HTTPSConnection("127.0.0.1", c.port, context=ssl.create_default_context(cafile=c.ca))
        self.client.request("GET", names_path() + "?watch=1", headers={"Authorization": "Bearer " + c.admin})
        self.stream = self.client.getresponse()
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        try:
            for line in self.stream:
                self.times.setdefault(json.loads(line)["object"]["metadata"]["name"], []).append(time.monotonic())
        except (OSError, http.client.HTTPException, ValueError, AttributeError):
            pass  # stop() was called

    def count(self):
        return sum(map(len, list(self.times.values())))

    def stop(self):
        self.client.sock.shutdown(socket.SHUT_RDWR)


def test_names_that_stay():
    """EF-P3: 10 000 names with addresses that do not change are looked up several times each, and nothing is written."""
    done = subprocess.run([BENCH, "--only", "writes", "--names", "10000", "--ttl", "5", "--seconds", "11"], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=200, env={**os.environ, "FAIRLEAD": server.fairlead_program()})
    assert done.returncode == 0, done.stdout
    assert int(re.search(r"for 1\d s: (\d+),", done.stdout)[1]) > 15000, done.stdout


def test_many_new_names(c):
    """Thousands of names in one new firewall: each has its object and address as soon as writes allow it."""
    namespace(c, "new")
    hosts = [f"h{i}.new.example" for i in range(3000)]
    with Answers(lambda name, count: bytes([203, 0, 113, 7]), ttl=600) as dns:
        p = run_controller(c, dns, "--write-rate", "egressfirewall=0")
        make_firewall(c, "new", hosts)
        until(lambda: sum(bool((o.get("status") or {}).get("items")) for o in get(c, names_path())["items"]) == len(hosts), 40, 1)
        assert p.stop() == 0, p.text()


def test_names_that_change(c):
    """EF-P4: another address in each answer for 300 names: one write a second of each object, 50 a second of all, and lookups go on."""
    namespace(c, "churn")
    hosts = [f"h{i}.churn.example" for i in range(300)]
    for h in hosts:
        make_name(c, h, True, False)
    with Answers(lambda name, count: struct.pack("!BBH", 203, 0, 1000 + (hash(name) + count) % 60000)) as dns:
        make_firewall(c, "churn", hosts)
        watch = Watch(c)
        until(lambda: len(watch.times) == len(hosts))
        begin = time.monotonic()
        p = run_controller(c, dns)
        until(lambda: min(dns.asked.values(), default=0) >= 3 and len(dns.asked) == len(hosts), 60, 0.5)
        took = time.monotonic() - begin
        assert p.stop() == 0, p.text()
        watch.stop()
    writes = sorted(t for times in watch.times.values() for t in times if t > begin)
    assert len(writes) > 200
    assert len(writes) <= 50 * took + 100, (len(writes), took)
    for h, times in watch.times.items():
        own = [t for t in times if t > begin]
        pauses = [b - a for a, b in zip(own, own[1:])]
        # They are seen some time after they were made, which differs.
        assert min(pauses, default=1) > 0.3 and len(own) <= took + 1, (h, pauses)


COREFILE = """.:@PORT@ {
    prometheus 127.0.0.1:@HTTP:metrics@
    egressfirewall {
        kubeconfig KUBECONFIG
        namespace default
        keys @DIR@/keys
    }
    template IN A example {
        answer "{{ .Name }} 60 IN A 192.0.2.1"
    }
    template IN AAAA example {
        rcode NOERROR
    }
}
"""


def learning(c, key):
    return server.Server(server.fairlead(), COREFILE.replace("KUBECONFIG", c.kubeconfig(system_of(c))), files={"keys": key + "\n"})


@pytest.fixture()
def run_with(c):
    """Starts a controller that collects from a server and asks it."""
    def run(s):
        made.append(start(c.kubeconfig(system_of(c)), "--dns-instances", f"127.0.0.1:{s.port()}", "--lookup-servers",
                          f"127.0.0.1:{s.port()}", "--no-election", *GATE, controllers="egressfirewall"))
        made[-1].wait_line("health and metrics on port")
        return made[-1]
    made = []
    yield run
    for p in made:
        p.kill()


def ask_many(port, source, names):
    """Questions for so many different names, 64 at once."""
    count, label, mark = 0, b"\7hostile\7example\0\0\1\0\1", source[-1].encode()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.bind((source, 0))
        s.connect(("127.0.0.1", port))
        s.settimeout(0.2)
        while count < names:
            for i in range(64):
                host = b"r%s-%d" % (mark, count + i)
                s.send(struct.pack("!HHHHHH", i, 0x100, 1, 0, 0, 0) + bytes([len(host)]) + host + label)
            count += 64
            try:
                for i in range(64):
                    s.recv(512)
            except TimeoutError:
                pass


def metrics(s):
    return s.get("metrics", "/metrics")[1]


def overflows(c):
    """What the Events about too many names are about."""
    body = c.call("GET", "/apis/events.k8s.io/v1/namespaces/default/events")[1]
    return [e["regarding"]["name"] for e in body["items"] if e["reason"] == "TooManyNames"]


def memory_kb(process):
    with open(f"/proc/{process.pid}/status", encoding="ascii") as f:
        return int(re.search(r"VmRSS:\s+(\d+)", f.read())[1])


def test_hostile_client(c, run_with):
    """EF-P10: three clients ask for very many names below an allowed wildcard. Memory and the object stay within their limits, another
    client's names are learnt, below the same wildcard as well, and its answers come, what is left out is counted, and there is one Event."""
    namespace(c, "hostile")
    key = a_key()
    write_keys(c, [key])
    with learning(c, key) as s:
        p = run_with(s)
        make_firewall(c, "hostile", ["*.hostile.example", "*.honest.example"])
        until(lambda: "fairlead_egress_learning_rules 2" in metrics(s), 20, 0.1)
        assert ask(s.port(), "first.honest.example", source="127.0.0.3")
        before = memory_kb(s.process), memory_kb(p.process)
        hostile = [threading.Thread(target=ask_many, args=(s.port(), source, MANY)) for source in ("127.0.0.2", "127.0.0.4", "127.0.0.5")]
        for t in hostile:
            t.start()
        slowest, number = 0, 0
        while any(t.is_alive() for t in hostile):
            begin = time.monotonic()
            assert ask(s.port(), f"h{number}.honest.example", source="127.0.0.3")
            assert number >= 50 or ask(s.port(), f"other{number}.hostile.example", source="127.0.0.3")
            slowest, number = max(slowest, time.monotonic() - begin), number + 1
            time.sleep(0.05)  # the pace of the other client
        assert slowest < 1
        # Everything that the other client asked for, and of the hostile ones no more than the limits.
        wanted = {"first.honest.example"} | {f"h{i}.honest.example" for i in range(number)}

        def all_known():
            missing = wanted - set(items(c, "wildcard.honest.example"))
            return all(ask(s.port(), name, source="127.0.0.3") for name in missing) and not missing
        until(all_known, 30, 1)
        until(lambda: len(items(c, "wildcard.hostile.example")) > 500, 30, 0.2)
        # Also below the wildcard that the hostile ones fill.
        wanted = {f"other{i}.hostile.example" for i in range(min(number, 50))}
        until(lambda: wanted <= set(items(c, "wildcard.hostile.example")), 30, 0.5)
        size = len(json.dumps(get(c, names_path("wildcard.hostile.example")), separators=(",", ":")))
        assert size < 256 * 1024
        assert re.search(r'evicted_total\{limit="names_per_object"\} [1-9]', metrics(s))
        until(lambda: re.search(r"^fairlead_egress_evicted\w*_total\S* [1-9]", p.get("/metrics")[1], re.M), 20, 0.2)
        until(lambda: overflows(c), 20, 0.2)
        after = memory_kb(s.process), memory_kb(p.process)
        assert overflows(c) == ["wildcard.hostile.example"]
        assert after[0] - before[0] < 32 * 1024 and after[1] - before[1] < 64 * 1024, (before, after)
        assert p.stop() == 0, p.text()


class Agent(threading.Thread):
    """The agent of a node, as far as the controller can see: lets go of each DNSName that gets a mark."""

    def __init__(self, c):
        super().__init__(daemon=True)
        self.c, self.marks, self.ends = c, None, threading.Event()

    def run(self):
        while not self.ends.wait(0.02):
            found = [(o["metadata"]["name"], o["metadata"].get("annotations", {}).get(UNUSED)) for o in get(self.c, names_path())["items"]]
            marks = {f"{name} {mark}" for name, mark in found if mark}
            if marks != self.marks:
                report(self.c, "node-1", *marks)
            self.marks = marks

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.ends.set()
        self.join()
        delete(self.c, "/api/v1/namespaces/default/configmaps/fairlead-node-node-1")


def test_killed_at_each_write(c, run_with):
    """EF-P8 (controller and servers), EF-15: kill -9 of the controller after the first, the second, ... write, and of the server in
    between: the next ones arrive at the same state."""
    namespace(c, "kills")
    key = a_key()
    write_keys(c, [key])
    sets = [["a.kills.example", "*.kills.example"], ["a.kills.example", "b.kills.example", "wildcard.kills.example"]]
    make_firewall(c, "kills", sets[1])
    s = learning(c, key)
    with s, Agent(c):
        for number in range(8):
            watch = Watch(c)
            p = run_with(s)
            change_rules(c, "kills", sets[number % 2])
            assert ask(s.port(), f"n{number}.kills.example")
            end = time.monotonic() + 1.5  # there may be fewer writes
            while watch.count() < len(watch.times) + number and time.monotonic() < end:
                time.sleep(0.001)  # the moment of the kill
            p.kill()
            watch.stop()
            if number % 2:
                s.process.kill()
                s.process.wait()
                s.start()
        change_rules(c, "kills", sets[0])
        p = run_with(s)

        def settled():
            assert ask(s.port(), "a.kills.example") and ask(s.port(), "z.kills.example")
            found = items(c, "wildcard.kills.example")
            return get(c, names_path("b.kills.example")) is None and items(c, "a.kills.example") == {"a.kills.example": ["192.0.2.1"]} and \
                {"a.kills.example", "z.kills.example"} <= set(found) and all(ips == ["192.0.2.1"] for ips in found.values())
        until(settled, 30, 0.2)
        spec = get(c, names_path("wildcard.kills.example"))["spec"]
        assert (spec.get("isregular", False), spec["iswildcard"]) == (False, True)
        delete(c, firewalls_path("kills", "default"))
        until(lambda: c.call("GET", names_path())[1]["items"] == [], 20, 0.1)
        assert p.stop() == 0, p.text()


def test_odd_names(c, run_with):
    """EF-S1, EF-S2: names of 253 octets, in upper case, with a final dot, IDNs; a wildcard beside a host that is called like its
    object. What clients ask for in any case is learnt."""
    namespace(c, "odd")
    key = a_key()
    write_keys(c, [key])
    long = ".".join(["x" * 63, "y" * 63, "z" * 63, "w" * 53, "example"])
    assert len(long) == 253
    with learning(c, key) as s:
        p = run_with(s)
        make_firewall(c, "odd", [long.upper(), "XN--BCHER-KVA.Example", "*.odd.example", "wildcard.odd.example"])
        until(lambda: items(c, long) == {long: ["192.0.2.1"]})
        until(lambda: items(c, "xn--bcher-kva.example") == {"xn--bcher-kva.example": ["192.0.2.1"]})

        def learnt():
            assert ask(s.port(), "Www.ODD.Example") and ask(s.port(), "xn--ZCA.odd.example")
            return items(c, "wildcard.odd.example")
        hosts = ("wildcard.odd.example", "www.odd.example", "xn--zca.odd.example")
        until(lambda: learnt() == {h: ["192.0.2.1"] for h in hosts}, 20, 0.2)
        status, body = c.call("POST", firewalls_path("default"), {
            "apiVersion": "k8s.ovn.org/v1", "kind": "EgressFirewall", "metadata": {"name": "default"},
            "spec": {"egress": [{"type": "Allow", "to": {"dnsName": "bücher.example"}}]}})
        assert status == 422 and "dnsName" in body["message"], body
        assert p.stop() == 0, p.text()
