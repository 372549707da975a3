# SPDX-License-Identifier: GPL-3.0-or-later
"""Memory of an idle server and the time to its first answer. The bounds are promises (design: numbers to hold);
sanitizer builds are measured but not held to them."""
import os
import select
import socket
import statistics
import subprocess
import time

import pytest

from helpers import answers, ask, cpu_seconds, eventually, needs, sanitizer, status
from lib import server, wire

ANON_KB, RSS_KB, FIRST_ANSWER_S = 4 * 1024, 12 * 1024, 0.050
# With 10 000 zones; about a kilobyte each is kept.
ZONES_KB = 24 * 1024
TYPICAL = """.:@PORT@ {
    errors
    health 127.0.0.1:@HTTP:health@
    ready 127.0.0.1:@HTTP:ready@
    prometheus 127.0.0.1:@HTTP:prom@
    log . {
        class error
    }
    template IN A example.org {
        match "^ip-(?P<a>[0-9]+)-(?P<b>[0-9]+)-(?P<c>[0-9]+)-(?P<d>[0-9]+)[.]example[.]org[.]$"
        answer "{{ .Name }} 60 IN A {{ .Group.a }}.{{ .Group.b }}.{{ .Group.c }}.{{ .Group.d }}"
        fallthrough
    }
    multisocket 2
    reload
    whoami
}
"""
SMALL = ".:@PORT@ {\n    multisocket 2\n    errors\n    whoami\n}\n"


@needs("template", "prometheus", "health", "ready", "log", "errors", "multisocket", "reload")
@pytest.mark.parametrize("name,corefile", [("small", SMALL), ("typical", TYPICAL)])
def test_idle_memory(serve, note, name, corefile):
    s = serve(corefile)
    for i in range(20):
        assert ask(s.port(), f"ip-10-1-2-{i}.example.org.").rcode == 0
        assert answers(s.port(), tcp=True)
    anon, rss = status(s.process.pid, "RssAnon", "VmRSS")
    note(f"idle memory, {name} Corefile, 2 workers", f"RssAnon {anon} kB, VmRSS {rss} kB")
    if not sanitizer():
        assert anon <= ANON_KB
        assert rss <= RSS_KB


ZONES = [f"z{i}.example" for i in range(10_000)]
MANY = {
    "one template": ".:@PORT@ {\n multisocket 2\n template IN A " + " ".join(ZONES) + " {\n rcode NXDOMAIN\n }\n}\n",
    "hosts": ".:@PORT@ {\n multisocket 2\n hosts /dev/null " + " ".join(ZONES) + "\n}\n",
    "one block": " ".join(z + ":@PORT@" for z in ZONES) + " {\n multisocket 2\n whoami\n}\n",
}


@needs("template", "hosts", "multisocket")
@pytest.mark.parametrize("name", MANY)
def test_memory_grows_with_the_zones_only(serve, note, name):
    s = serve(MANY[name])
    assert answers(s.port(), name="a.z9999.example.")
    anon, = status(s.process.pid, "RssAnon")
    note(f"memory, {name} with 10 000 zones", f"RssAnon {anon} kB")
    if not sanitizer():
        assert anon <= ZONES_KB


def first_answer(s):
    """Seconds from fork to the first answer: a query every half millisecond until one is answered."""
    question = wire.query("example.org.", ident=1)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.connect(("127.0.0.1", s.port()))
        sock.setblocking(False)
        start = time.monotonic()
        p = subprocess.Popen(server.fairlead() + ["-conf", s.conf], stdout=subprocess.DEVNULL)
        try:
            while time.monotonic() - start < 20:
                try:
                    sock.send(question)
                except ConnectionRefusedError:
                    pass
                select.select([sock], [], [], 0.0005)
                try:
                    if sock.recv(1000):
                        return time.monotonic() - start
                except (BlockingIOError, ConnectionRefusedError):
                    pass
            pytest.fail("no answer")
        finally:
            p.terminate()
            p.wait(20)


@pytest.mark.alone
@needs("template", "prometheus", "health", "ready", "log", "errors", "multisocket", "reload")
@pytest.mark.parametrize("name,corefile", [("small", SMALL), ("typical", TYPICAL)])
def test_first_answer(serve, note, name, corefile):
    s = serve(corefile, start=False)
    took = sorted(first_answer(s) for _ in range(9))
    note(f"first answer after exec, {name} Corefile", f"median {statistics.median(took) * 1000:.1f} ms, "
         f"slowest of {len(took)} {took[-1] * 1000:.1f} ms")
    if not sanitizer():
        assert statistics.median(took) <= FIRST_ANSWER_S


@pytest.mark.alone
@needs("template", "prometheus", "health", "ready", "log", "errors", "multisocket", "reload")
def test_an_idle_server_sleeps(serve, note):
    s = serve(TYPICAL)
    assert answers(s.port())
    before, start = cpu_seconds(s.process.pid), time.monotonic()
    eventually(lambda: time.monotonic() - start > 2.0, seconds=3)
    used = cpu_seconds(s.process.pid) - before
    note("CPU time of an idle server in 2 s", f"{used * 1000:.0f} ms")
    if not sanitizer():
        assert used <= 0.05
