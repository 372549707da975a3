# SPDX-License-Identifier: GPL-3.0-or-later
"""Faults: a killed server, logs that cannot be written, descriptors used up, Corefiles of absurd size or content."""
import os
import random
import re
import signal
import socket
import subprocess
import time

import pytest

from helpers import (WHOAMI, answers, ask, cpu_seconds, eventually, marked, marker, needs, open_files, rewrite, run,
                     sanitizer, slower, status)
from lib import client, server, wire


def test_kill_and_restart_on_the_same_port(serve, tmp_path):
    """Connections of the killed one linger in the kernel; the next takes the port at once, and its pid file."""
    s = serve(start=False)
    command = server.fairlead() + ["-conf", s.conf, "-pidfile", str(tmp_path / "pid")]
    links = []
    for _ in range(5):
        p = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        assert p.stdout.readline() == f".:{s.port()}\n"
        for i in range(3):
            link = client.Tcp("127.0.0.1", s.port())
            link.send(wire.query("example.org.", ident=i))
            links.append(link)
        assert answers(s.port()) and answers(s.port(), tcp=True)
        eventually(lambda: (tmp_path / "pid").read_text() == f"{p.pid}\n")
        p.kill()
        p.communicate(timeout=20)
    for link in links:
        link.close()


# ---- logs ----

LOGGING = ".:@PORT@ {\n    log\n    errors\n    whoami\n}\n"


def started(s, stdout, stderr=subprocess.DEVNULL, *flags):
    p = subprocess.Popen(server.fairlead() + ["-conf", s.conf, *flags], stdin=subprocess.DEVNULL, stdout=stdout,
                         stderr=stderr)
    eventually(lambda: answers(s.port(), timeout=0.1) or p.poll() is not None, what="an answer")
    assert p.poll() is None
    return p


def flood(port, n=20000):
    """Many queries, to make many log lines; the number of replies."""
    got = 0
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.connect(("127.0.0.1", port))
        sock.settimeout(slower(2))
        question = wire.query("a-rather-long-name-to-fill-the-log.example.org.", ident=1)
        for at in range(0, n, 100):
            for _ in range(100):
                sock.send(question)
            for _ in range(100):
                sock.recv(65535)
                got += 1
    return got


def ends(p, sig=signal.SIGTERM, seconds=8):
    p.send_signal(sig)
    try:
        return p.wait(slower(seconds))
    except subprocess.TimeoutExpired:
        p.kill()
        p.wait()
        pytest.fail("does not end")


@needs("log")
def test_log_to_a_full_disk(serve):
    s = serve(LOGGING, start=False)
    with open("/dev/full", "wb") as full:
        p = started(s, full, full)
    try:
        assert flood(s.port(), 5000) == 5000
        p.send_signal(signal.SIGUSR1)
        assert answers(s.port()) and answers(s.port(), tcp=True)
        before, start = cpu_seconds(p.pid), time.monotonic()
        while time.monotonic() - start < 0.5:
            assert answers(s.port())
            time.sleep(0.02)
        assert cpu_seconds(p.pid) - before < slower(0.3), "it spins"
    finally:
        assert ends(p) == 0


@needs("log")
def test_log_to_a_pipe_nobody_reads(serve):
    """Lines are dropped, not waited for; signals are still obeyed."""
    s = serve(LOGGING, start=False)
    reader, writer = os.pipe()
    p = started(s, writer, writer)
    os.close(writer)
    try:
        assert flood(s.port()) == 20000
        rss, = status(p.pid, "VmRSS")
        for _ in range(3):
            p.send_signal(signal.SIGUSR1)
            assert flood(s.port(), 1000) == 1000
        assert answers(s.port(), tcp=True)
        if not sanitizer():
            assert rss < 40 * 1024
    finally:
        status_code = ends(p)
        os.close(reader)
    assert status_code == 0


@needs("log")
def test_log_to_a_closed_pipe(serve):
    s = serve(LOGGING, start=False)
    reader, writer = os.pipe()
    p = started(s, writer, writer)
    os.close(writer)
    os.close(reader)
    try:
        assert flood(s.port(), 2000) == 2000
        p.send_signal(signal.SIGUSR1)
        assert flood(s.port(), 2000) == 2000
    finally:
        assert ends(p) == 0


def test_closed_standard_streams(serve):
    """Descriptors 0, 1, 2 closed: log lines must not end up in a socket."""
    s = serve(start=False)
    p = subprocess.Popen(["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh"] + server.fairlead() + ["-conf", s.conf])
    try:
        eventually(lambda: answers(s.port(), timeout=0.1) or p.poll() is not None, what="an answer")
        assert p.poll() is None
        for _ in range(5):
            p.send_signal(signal.SIGUSR1)
            assert answers(s.port()) and answers(s.port(), tcp=True)
        for fd in ("0", "1", "2"):
            try:
                target = os.readlink(f"/proc/{p.pid}/fd/{fd}")
            except FileNotFoundError:
                continue
            assert not target.startswith(("socket:", "anon_inode:")), f"descriptor {fd} is {target}"
    finally:
        assert ends(p) == 0


# ---- descriptors ----

@needs("health")
def test_descriptors_used_up_by_others(serve):
    """HTTP connections take all descriptors: nothing spins, UDP goes on, TCP comes back when there are some again."""
    s = serve(".:@PORT@ {\n whoami\n health 127.0.0.1:@HTTP:health@\n}\n",
              command=["prlimit", "--nofile=48:48", "--"] + server.fairlead())
    hoard = []
    for _ in range(60):
        hoard.append(socket.create_connection(("127.0.0.1", s.http("health"))))
    with socket.create_connection(("127.0.0.1", s.port())) as waiting:
        assert answers(s.port())
        before, start = cpu_seconds(s.process.pid), time.monotonic()
        while time.monotonic() - start < 1.0:
            assert answers(s.port())
            time.sleep(0.05)
        used = cpu_seconds(s.process.pid) - before
        for sock in hoard:
            sock.close()
        question = wire.query("example.org.", ident=5)
        waiting.settimeout(slower(8))
        waiting.sendall(len(question).to_bytes(2, "big") + question)
        assert waiting.recv(1000)
    assert used < slower(0.4), f"it spins: {used:.2f} s of CPU in a second"
    assert s.get("health", "/health") == (200, "OK")


@needs("health")
@pytest.mark.parametrize("clients", [1, 2])
def test_last_descriptor_is_kept(serve, clients):
    """The connection with the last descriptor stays open until another one comes; then the one idle longest is closed."""
    limit = 48
    s = serve(".:@PORT@ {\n whoami\n health 127.0.0.1:@HTTP:health@\n}\n",
              command=["prlimit", f"--nofile={limit}:{limit}", "--"] + server.fairlead())
    hoard = []
    while open_files(s.process.pid) < limit - 1:
        before = open_files(s.process.pid)
        hoard.append(socket.create_connection(("127.0.0.1", s.http("health"))))
        eventually(lambda: open_files(s.process.pid) > before, what="the connection is taken")
    for _ in range(clients):
        hoard.append(socket.create_connection(("127.0.0.1", s.port())))
        question = wire.query("example.org.", ident=5)
        hoard[-1].settimeout(slower(8))
        hoard[-1].sendall(len(question).to_bytes(2, "big") + question)
        assert hoard[-1].recv(1000)
    for sock in hoard:
        sock.close()


def test_too_few_descriptors_to_start(serve):
    s = serve(start=False)
    for limit in range(3, 40):
        p = subprocess.Popen(["prlimit", f"--nofile={limit}:{limit}", "--"] + server.fairlead() + ["-conf", s.conf],
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            eventually(lambda: p.poll() is not None or answers(s.port(), timeout=0.05), what=f"limit {limit}")
            if p.poll() is None:
                assert answers(s.port())
                return
            _, err = p.communicate()
            assert p.returncode == 1 or (limit < 8 and p.returncode == 127), f"limit {limit}: {p.returncode} {err}"
            assert err != ""
        finally:
            if p.poll() is None:
                p.terminate()
                p.communicate(timeout=20)
    pytest.fail("does not start with 40 descriptors")


# ---- Corefiles ----

def test_corefile_removed_while_running(serve):
    s = serve()
    os.unlink(s.conf)
    s.process.send_signal(signal.SIGUSR1)
    eventually(lambda: "[ERROR] SIGUSR1: " in s.output() and "No such file" in s.output())
    assert answers(s.port())
    os.mkdir(s.conf)
    s.process.send_signal(signal.SIGUSR1)
    eventually(lambda: s.output().count("[ERROR] SIGUSR1: ") == 2)
    assert answers(s.port())


def test_corefile_that_is_a_fifo_nobody_writes(serve):
    """The reload waits for some seconds and fails; queries go on, and so do signals afterwards."""
    s = serve()
    os.unlink(s.conf)
    os.mkfifo(s.conf)
    s.process.send_signal(signal.SIGUSR1)
    for _ in range(20):
        assert answers(s.port())
    eventually(lambda: "[ERROR] SIGUSR1: " in s.output(), slower(10), "the reload is given up")
    assert answers(s.port())


def test_corefile_out_of_a_pipe(serve):
    s = serve()
    os.unlink(s.conf)
    os.mkfifo(s.conf)
    s.process.send_signal(signal.SIGUSR1)
    with open(s.conf, "wb", buffering=0) as f:
        f.write(s.corefile.encode() + b"# another\n")
    eventually(lambda: "[INFO] Reloading complete" in s.output(), what="the reload")
    assert answers(s.port())


PIPES = {
    "autopath": ".:@PORT@ {\n whoami\n autopath @DIR@/file\n}\n",
    "tls": ".:@PORT@ {\n whoami\n}\ntls://.:1 {\n tls @DIR@/file @DIR@/file\n whoami\n}\n",
    "hosts": ".:@PORT@ {\n hosts @DIR@/file {\n fallthrough\n }\n whoami\n}\n",
    "file": ".:@PORT@ {\n file @DIR@/file other.example\n whoami\n}\n",
    "forward": ".:@PORT@ {\n forward other.example @DIR@/file\n whoami\n}\n",
}


@pytest.mark.parametrize("plugin", PIPES)
def test_reload_with_a_pipe_for_a_file(serve, plugin):
    """Pipes without a writer delay neither a reload nor the end."""
    s = serve()
    os.mkfifo(os.path.join(s.dir, "file"))
    with open(s.conf, "w", encoding="ascii") as f:
        f.write(s.fill(PIPES[plugin]))
    s.process.send_signal(signal.SIGUSR1)
    eventually(lambda: re.search(r"\[ERROR\] |Reloading complete", s.output()), what="the reload ends")
    assert answers(s.port())
    assert s.stop() == 0


@pytest.mark.parametrize("seed", range(4))
def test_garbage_corefile(tmp_path, seed):
    (tmp_path / "Corefile").write_bytes(random.Random(seed).randbytes(50000))
    status_code, out, err = run("dns", "-conf", "Corefile", cwd=tmp_path)
    assert status_code == 1 and out == ""
    assert err.startswith("Corefile") and len(err) < 2000
    err.encode("ascii", "surrogateescape")


@pytest.mark.alone
def test_corefile_of_ten_megabytes(serve, note):
    """Mostly comments, and at the end what serves."""
    line = "# " + "x" * 97 + "\n"
    s = serve(line * 100000 + WHOAMI, start=False)
    assert os.path.getsize(s.conf) > 10_000_000
    start = time.monotonic()
    s.start()
    assert answers(s.port())
    took = time.monotonic() - start
    rss, = status(s.process.pid, "VmRSS")
    note("Corefile of 10 MB", f"answers after {took * 1000:.0f} ms, VmRSS {rss} kB")
    assert took < slower(2)


def test_corefile_beyond_its_limit(tmp_path):
    with open(tmp_path / "Corefile", "wb") as f:
        f.truncate(200 << 20)
    start = time.monotonic()
    status_code, _, err = run("dns", "-conf", "Corefile", cwd=tmp_path)
    assert status_code == 1 and "Corefile" in err
    assert time.monotonic() - start < slower(3)
    status_code, _, err = run("dns", "-conf", "/dev/zero")
    assert status_code == 1 and "/dev/zero" in err


def test_deep_nesting(tmp_path):
    for text in (". {\n" + "whoami {\n" * 100000, ". {\n" + "a {\n" * 50000 + "}\n" * 50001,
                 "".join(f"({i}) {{\nimport {i + 1}\n}}\n" for i in range(5000)) + ". {\nimport 0\n}\n"):
        (tmp_path / "Corefile").write_text(text)
        status_code, _, err = run("dns", "-conf", "Corefile", cwd=tmp_path)
        assert status_code == 1 and err.startswith("Corefile:"), err[:300]


def test_imports_that_multiply(tmp_path):
    """Ten levels of ten imports each are 10^10 expansions, if nobody counts."""
    text = "(s0) {\nwhoami\n}\n" + "".join(f"(s{i}) {{\n" + f"import s{i - 1}\n" * 10 + "}\n" for i in range(1, 11))
    (tmp_path / "Corefile").write_text(text + ". {\nimport s10\n}\n")
    start = time.monotonic()
    status_code, _, err = run("dns", "-conf", "Corefile", cwd=tmp_path)
    assert status_code == 1 and "Corefile:" in err
    assert time.monotonic() - start < slower(5)


def test_file_that_imports_itself(tmp_path):
    (tmp_path / "Corefile").write_text(". {\nwhoami\n}\nimport Corefile\n")
    status_code, _, err = run("dns", "-conf", str(tmp_path / "Corefile"))
    assert status_code == 1 and "Corefile:" in err and "import" in err


@pytest.mark.alone
def test_ten_thousand_blocks(serve, note):
    blocks = "".join(f"zone{i}.example:@PORT@ {{\n    whoami\n}}\n" for i in range(10000))
    s = serve(blocks, start=False, args=["-quiet"])
    start = time.monotonic()
    s.start()
    assert ask(s.port(), "a.zone9999.example.").flags == ("qr", "aa", "rd")
    took = time.monotonic() - start
    assert ask(s.port(), "a.zone0.example.").rcode == 0
    assert ask(s.port(), "a.zone10000.example.").rcode == 5
    rss, anon = status(s.process.pid, "VmRSS", "RssAnon")
    start = time.monotonic()
    s.process.send_signal(signal.SIGUSR1)
    eventually(lambda: "Reloading complete" in s.output(), seconds=10)
    again = time.monotonic() - start
    after, = status(s.process.pid, "RssAnon")
    note("10 000 server blocks", f"answers after {took * 1000:.0f} ms, reload {again * 1000:.0f} ms, "
         f"RssAnon {anon} kB, {after} kB after the reload, VmRSS {rss} kB")
    assert took < slower(2) and again < slower(3)
    if not sanitizer():
        assert anon < 100 * 1024


@needs("template", "prometheus")
def test_many_reloads_do_not_leak(serve, note):
    text = "\n".join(f"zone{i}.example:@PORT@ {{\n    prometheus 127.0.0.1:@HTTP:prom@\n    template IN A {{\n"
                     f'        match "^(?P<x>[a-z]+)\\.zone{i}\\.example\\.$"\n'
                     f'        answer "{{{{ .Name }}}} 60 IN A 192.0.2.1"\n    }}\n}}\n' for i in range(50))
    s = serve(text)

    def reload(n):
        goal = s.output().count("Reloading complete") + n
        for _ in range(n):
            seen = s.output().count("Reloading complete")
            s.process.send_signal(signal.SIGUSR1)
            eventually(lambda: s.output().count("Reloading complete") > seen)
        assert s.output().count("Reloading complete") == goal

    reload(10)
    files, (before,) = open_files(s.process.pid), status(s.process.pid, "RssAnon")
    reload(40)
    after, = status(s.process.pid, "RssAnon")
    note("40 reloads of 50 template blocks", f"RssAnon {before} kB to {after} kB")
    assert open_files(s.process.pid) == files
    if not sanitizer():
        assert after - before < 1024
