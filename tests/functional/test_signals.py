# SPDX-License-Identifier: GPL-3.0-or-later
"""Signals, as CoreDNS takes them: in-order end with lameduck, reload, and those that are ignored."""
import os
import re
import signal
import socket
import subprocess
import threading
import time

import pytest

from helpers import answers, ask, cpu_seconds, eventually, marked, marker, metric, needs, rewrite, slower
from lib import client, server, wire

PROM = ".:@PORT@ {\n    whoami\n    prometheus 127.0.0.1:@HTTP:prom@\n}\n"


def wait_status(s, seconds=10):
    return s.process.wait(slower(seconds))


@pytest.mark.parametrize("sig", [signal.SIGTERM, signal.SIGINT, signal.SIGQUIT])
def test_ends_with_0(serve, sig):
    s = serve()
    assert answers(s.port())
    s.process.send_signal(sig)
    assert wait_status(s) == 0
    assert f"[INFO] {sig.name}: " in s.output()
    assert not answers(s.port(), timeout=0.3)


@pytest.mark.parametrize("sig", [signal.SIGHUP, signal.SIGUSR2, signal.SIGPIPE])
def test_goes_on(serve, sig):
    s = serve()
    before = cpu_seconds(s.process.pid)
    for _ in range(20):
        s.process.send_signal(sig)
    for _ in range(20):
        assert answers(s.port()) and answers(s.port(), tcp=True)
    assert s.alive()
    assert cpu_seconds(s.process.pid) - before < slower(0.5)


@pytest.mark.alone
def test_an_idle_connection_does_not_delay_the_end(serve):
    s = serve()
    idle = client.Tcp("127.0.0.1", s.port())
    idle.send(wire.query("example.org.", ident=1))
    eventually(lambda: idle.receive() or idle.replies[b"\0\1"])
    start = time.monotonic()
    s.process.send_signal(signal.SIGTERM)
    assert wait_status(s) == 0
    assert time.monotonic() - start < slower(1.0)
    idle.close()


WAITS = ".:%s {\n    kubernetes cluster.local {\n        endpoint http://127.0.0.1:1\n        startup_timeout 1h\n    }\n}\n"


@needs("kubernetes")
def test_end_while_a_start_waits(tmp_path):
    """While the start waits for the API server, up to `startup_timeout`."""
    path, log = tmp_path / "Corefile", tmp_path / "log"
    path.write_text(WAITS % 0)
    with open(log, "wb") as out, subprocess.Popen([*server.fairlead(), "-conf", str(path)], stdout=out, stderr=out) as p:
        try:
            eventually(lambda: "waiting for Kubernetes API" in log.read_text())
            p.send_signal(signal.SIGTERM)
            assert p.wait(slower(10)) == 1
        finally:
            p.kill()
    assert "stopped while waiting" in log.read_text()


@needs("kubernetes")
def test_end_while_a_reload_waits(serve):
    """The configuration before it serves on, and ends in order."""
    s = serve()
    rewrite(s, WAITS % "@PORT@")
    s.process.send_signal(signal.SIGUSR1)
    eventually(lambda: "waiting for Kubernetes API" in s.output())
    assert answers(s.port())
    s.process.send_signal(signal.SIGTERM)
    assert wait_status(s) == 0
    assert "stopped while waiting" in s.output() and "[INFO] SIGTERM: " in s.output()


LAMEDUCK = ".:@PORT@ {\n    whoami\n    health 127.0.0.1:@HTTP:health@ {\n        lameduck %s\n    }\n}\n"


@needs("health")
def test_lameduck_serves_on(serve):
    s = serve(LAMEDUCK % "1500ms")
    start = time.monotonic()
    s.process.send_signal(signal.SIGTERM)
    eventually(lambda: "lameduck" in s.output())
    n = 0
    while time.monotonic() - start < 1.0:
        assert answers(s.port()) and answers(s.port(), tcp=True)
        assert s.get("health", "/health") == (200, "OK")
        n += 1
    assert n > 10
    assert wait_status(s) == 0
    assert 1.4 <= time.monotonic() - start < slower(4)


@needs("health")
def test_second_interrupt_is_2(serve, tmp_path):
    s = serve(LAMEDUCK % "60s", args=["-pidfile", str(tmp_path / "pid")])
    s.process.send_signal(signal.SIGINT)
    eventually(lambda: "lameduck" in s.output())
    assert s.alive() and answers(s.port())
    s.process.send_signal(signal.SIGHUP)
    s.process.send_signal(signal.SIGUSR1)
    assert answers(s.port())
    s.process.send_signal(signal.SIGINT)
    assert wait_status(s) == 2
    assert not (tmp_path / "pid").exists()


@needs("health")
def test_quit_cuts_lameduck_short(serve):
    s = serve(LAMEDUCK % "60s")
    s.process.send_signal(signal.SIGTERM)
    eventually(lambda: "lameduck" in s.output())
    s.process.send_signal(signal.SIGQUIT)
    assert wait_status(s) == 0


@needs("health", "ready")
def test_ready_says_no_in_lameduck(serve):
    s = serve(".:@PORT@ {\n whoami\n ready 127.0.0.1:@HTTP:ready@\n health 127.0.0.1:@HTTP:health@ {\n"
              "  lameduck 1s\n }\n}\n")
    eventually(lambda: s.get("ready", "/ready") == (200, "OK"))
    s.process.send_signal(signal.SIGTERM)
    eventually(lambda: s.get("ready", "/ready")[0] == 503)
    assert answers(s.port())
    assert wait_status(s) == 0


# ---- SIGUSR1 ----

def reload(s):
    """Sends SIGUSR1, and waits for the log line of success or failure."""
    ended = lambda: s.output().count("Reloading complete") + s.output().count("[ERROR] SIGUSR1")
    before = ended()
    s.process.send_signal(signal.SIGUSR1)
    eventually(lambda: ended() > before, what="the end of the reload")


@needs("template")
def test_reload_changes_the_answer(serve):
    s = serve(marker("one"))
    assert marked(s.port()) == "one"
    rewrite(s, marker("two"))
    assert marked(s.port()) == "one"  # not before it is told
    reload(s)
    assert marked(s.port()) == "two" and marked(s.port(), tcp=True) == "two"
    assert "SIGUSR1: Reloading" in s.output()


@needs("template")
@pytest.mark.parametrize("bad", [".:@PORT@ {\n nonsense\n}\n", ".:@PORT@ {\n template IN A {\n", "\x00\xff{{{",
                                 ".:@PORT@ {\n import nothing-there\n}\n", "", "# nothing yet\n"])
def test_bad_reload_keeps_the_old(serve, bad):
    s = serve(marker("one"))
    rewrite(s, bad)
    reload(s)
    assert marked(s.port()) == "one"
    line, = [l for l in s.output().splitlines() if "[ERROR]" in l]
    assert line.startswith("[ERROR] SIGUSR1: ") and s.conf + ":" in line
    rewrite(s, marker("two"))
    reload(s)
    assert marked(s.port()) == "two"


@needs("prometheus")
def test_bad_reload_is_counted(serve):
    s = serve(PROM)
    failed = lambda: metric(s.get("prom", "/metrics")[1], "coredns_reload_failed_total")
    assert failed() in (None, 0)
    rewrite(s, PROM.replace("whoami", "whoareyou"))
    for n in (1, 2, 3):
        reload(s)
        assert failed() == n
    rewrite(s, PROM)
    reload(s)
    assert failed() == 3
    assert ask(s.port()) is not None


def test_removed_corefile(serve):
    s = serve()
    os.unlink(s.conf)
    reload(s)
    assert "No such file" in s.output()
    assert answers(s.port())


def test_reload_to_a_port_in_use_keeps_the_old(serve):
    s = serve()
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as busy:
        busy.bind(("127.0.0.1", 0))
        busy.listen()
        rewrite(s, f".:@PORT@ {{\n whoami\n}}\n.:{busy.getsockname()[1]} {{\n whoami\n}}\n")
        reload(s)
        assert "[ERROR] SIGUSR1: " in s.output() and str(busy.getsockname()[1]) in s.output()
        assert answers(s.port()) and answers(s.port(), tcp=True)
    reload(s)  # now it is free
    assert "Reloading complete" in s.output()


def test_open_connection_lives_over_a_reload(serve):
    s = serve()
    link = client.Tcp("127.0.0.1", s.port())
    for ident in range(1, 6):
        link.send(wire.query("example.org.", ident=ident))
        key = ident.to_bytes(2, "big")
        eventually(lambda: link.receive() or link.replies[key])
        reload(s)
    assert not link.closed
    link.close()


def test_listeners_come_and_go(serve):
    s = serve(".:@PORT@ {\n whoami\n}\n.:@PORT:b@ {\n whoami\n}\n", start=False)
    both, one = s.corefile, s.fill(".:@PORT@ {\n whoami\n}\n")
    s.start()
    for _ in range(3):
        rewrite(s, one)
        reload(s)
        assert answers(s.port())
        assert not answers(s.port("b"), timeout=0.2) and not answers(s.port("b"), tcp=True, timeout=0.2)
        rewrite(s, both)
        reload(s)
        assert answers(s.port()) and answers(s.port("b")) and answers(s.port("b"), tcp=True)


def test_reloads_leave_no_descriptors_behind(serve):
    from helpers import open_files
    s = serve()
    reload(s)
    before = open_files(s.process.pid)
    for _ in range(20):
        reload(s)
    assert open_files(s.process.pid) == before


def test_storm_of_signals(serve):
    s = serve()
    stop = threading.Event()
    lost = []

    def client_loop():
        while not stop.is_set():
            if not answers(s.port(), timeout=2):
                lost.append(1)
    t = threading.Thread(target=client_loop)
    t.start()
    for i in range(300):
        s.process.send_signal([signal.SIGUSR1, signal.SIGHUP, signal.SIGUSR1][i % 3])
    reload(s)
    stop.set()
    t.join()
    assert s.alive() and not lost


# ---- environment and imports, read again at each reload ----

@needs("template")
def test_changed_import(serve):
    part = 'template ANY ANY {\n answer "{{ .Name }} 0 IN TXT %s"\n}\n'
    s = serve(".:@PORT@ {\n import part\n}\n", files={"part": part % "one"})
    assert marked(s.port()) == "one"
    with open(os.path.join(s.dir, "part"), "w", encoding="ascii") as f:
        f.write(part % "two")
    reload(s)
    assert marked(s.port()) == "two"


@needs("template")
def test_environment(serve):
    s = serve(marker("{$FL_TEST_TEXT}"), env={"FL_TEST_TEXT": "from-outside"})
    assert marked(s.port()) == "from-outside"
    rewrite(s, marker("{%FL_TEST_TEXT%}-again"))
    reload(s)
    assert marked(s.port()) == "from-outside-again"


# ---- the reload plugin ----

def auto(text):
    return marker(text).replace("{\n", "{\n    reload 2s 1s\n", 1)


@needs("template", "reload", "prometheus")
def test_reload_plugin(serve):
    """One run of a few seconds for: unchanged, changed, broken (once, not retried), put right."""
    prom = "    prometheus 127.0.0.1:@HTTP:prom@\n"
    conf = lambda text: auto(text).replace("{\n", "{\n" + prom, 1)
    s = serve(conf("one"))
    failed = lambda: metric(s.get("prom", "/metrics")[1], "coredns_reload_failed_total") or 0
    version = lambda: re.findall(r"^coredns_reload_version_info\{.*", s.get("prom", "/metrics")[1], re.M)
    assert "plugin/reload: Running configuration SHA512 = " in s.output()
    rewrite(s, conf("one"))
    rewrite(s, conf("two"))
    eventually(lambda: marked(s.port()) == "two", seconds=6, what="changed text")
    eventually(lambda: s.output().count("Reloading complete") == 1, what="the end of the reload")
    serving = version()
    assert len(serving) == 1
    rewrite(s, conf("three").replace("answer", "anwser"))
    eventually(lambda: failed() == 1, seconds=6, what="broken text")
    os.utime(s.conf)  # a new time is not a new text
    looked = time.monotonic()
    rewrite(s, conf("three").replace("answer", "anwser"))
    eventually(lambda: time.monotonic() - looked > 3.0, seconds=4)  # at least one more look at the text
    assert failed() == 1 and marked(s.port()) == "two" and version() == serving
    assert s.output().count("[ERROR] plugin/reload: ") == 1
    rewrite(s, conf("four"))
    eventually(lambda: marked(s.port()) == "four", seconds=6, what="text put right")
    eventually(lambda: s.output().count("Reloading complete") == 2, what="the end of the reload")
    assert len(version()) == 1 and version() != serving


# ---- files that plugins read again by themselves ----

@needs("hosts")
def test_hosts_file_is_read_again(serve):
    s = serve("example:@PORT@ {\n hosts @DIR@/table {\n  reload 50ms\n }\n}\n", files={"table": "192.0.2.1 a.example\n"})
    address = lambda: [socket.inet_ntoa(r[4]) for r in ask(s.port(), "a.example.").answer]
    assert address() == ["192.0.2.1"]
    path = os.path.join(s.dir, "table")
    with open(path + ".new", "w", encoding="ascii") as f:
        f.write("192.0.2.22 a.example\n")
    os.rename(path + ".new", path)
    eventually(lambda: address() == ["192.0.2.22"], what="the new address")
    os.unlink(path)  # the old names stay
    for _ in range(20):
        assert address() == ["192.0.2.22"]
    with open(path, "w", encoding="ascii") as f:
        f.write("192.0.2.3 a.example a.example\n\x00\x7f garbage\n")
    eventually(lambda: address() != ["192.0.2.22"], what="the next address")
    assert set(address()) == {"192.0.2.3"}
