# SPDX-License-Identifier: GPL-3.0-or-later
"""A reload every 100 ms under load, every second one adding and removing a listener: nothing is lost.

The long version (30 s at half of the measured capacity) is tests/bench/reload-loss; this one runs 5 s at a fixed
rate that two shared cores can hold."""
import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import threading
import time

import pytest

from helpers import eventually, marked, marker, needs, rewrite, sanitizer, slower
from lib import certs, cluster, server, xfr

SECONDS = 5
EXTRA = ".:@PORT:extra@ {\n    whoami\n}\n"


def tool():
    build = os.environ.get("FAIRLEAD_BUILD") or os.path.dirname(server.fairlead_program())
    path = os.path.join(build, "tests", "bench", "bench-load")
    if not os.access(path, os.X_OK):
        path = os.path.join(server.ROOT, "build", "tests", "bench", "bench-load")
    if not os.access(path, os.X_OK):
        pytest.skip(f"{path} is not built")
    return path


def rcvbuf_errors():
    """Datagrams the kernel dropped at full sockets, of all processes here."""
    with open("/proc/net/snmp", encoding="ascii") as f:
        names, values = [l.split() for l in f if l.startswith("Udp:")]
    return int(values[names.index("RcvbufErrors")])


def load(port, rate, tcp):
    return subprocess.Popen([tool(), "--port", str(port), "--duration", str(SECONDS), "--rate", str(rate), "--sleep",
                             "--timeout-ms", str(int(slower(2000))), "--query", "host{n}.example.org. TXT",
                             "--range", "1000:1999"] + (["--tcp"] if tcp else []),
                            stdout=subprocess.PIPE, text=True)


@needs("template")
@pytest.mark.parametrize("tcp", [False, True])
def test_nothing_is_lost(serve, note, tcp):
    s = serve(marker("0") + EXTRA)
    rate = 2000 if sanitizer() else 20000
    dropped = rcvbuf_errors()
    p = load(s.port(), rate, tcp)
    reloads = seen = 0
    try:
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            due = time.monotonic() + 0.1
            reloads += 1
            rewrite(s, marker(str(reloads)) + (EXTRA if reloads % 2 == 0 else ""))
            s.process.send_signal(signal.SIGUSR1)
            while time.monotonic() < due:
                if marked(s.port(), timeout=0.1) == str(reloads):
                    seen += 1
                    break
            time.sleep(max(0.0, due - time.monotonic()))
        out, _ = p.communicate(timeout=30)
    finally:
        if p.poll() is None:
            p.kill()
            p.communicate()
    result = json.loads(out)
    dropped = rcvbuf_errors() - dropped
    note(f"reloads every 100 ms under load ({'TCP' if tcp else 'UDP'})",
         f"{result['sent']} queries, {result['lost']} lost, {seen} of {reloads} reloads seen at once, "
         f"RcvbufErrors +{dropped}")
    assert result["sent"] > rate * SECONDS * 0.5, result
    assert result["lost"] <= (0 if tcp else dropped), result
    assert seen >= reloads * (0.2 if sanitizer() else 0.8)
    assert s.alive() and "[ERROR]" not in s.output()


# Each plugin with a task or a thread of its own; what outlives a reload gets other options in every second one.
BACKGROUND = """storm.test.:@PORT@ {{
    hosts @DIR@/hosts {{
        reload 1ms
        fallthrough
    }}
    loadbalance weighted @DIR@/weights {{
        reload 1ms
    }}
    file @DIR@/zone storm.test {{
        reload 1ms
    }}
    transfer {{
        to 127.0.0.1:{closed} *
    }}
    health 127.0.0.1:@HTTP:health{odd}@
}}
tls://storm.test.:@HTTP:tls@ {{
    tls @DIR@/cert{odd}.pem @DIR@/key.pem
    whoami
}}
{clusters}
.:@PORT@ {{
    template ANY ANY {{
        answer "{{{{ .Name }}}} 0 IN TXT {mark}"
    }}
}}
"""
CLUSTER = """cluster.local.:@PORT@ {{
    egressfirewall {{
        kubeconfig {kubeconfig}
        namespace default
        max_names {number}
        keys @DIR@/keys
        notify 127.0.0.1:{closed}
        hold 20ms
        agent_socket @DIR@/agent{odd}
    }}
    kubernetes {{
        kubeconfig {kubeconfig}
        snapshot @DIR@/snapshot{odd} 1s
    }}
    transfer {{
        to *
    }}
}}
"""
STORM_SECONDS, STORM_RELOADS = 4, 5  # at least


class Changes:
    """Files of a running server that get a new text all the time, and transfers that end before they have begun."""

    def __init__(self, s):
        self.s = s
        self.stopped = threading.Event()
        self.threads = [threading.Thread(target=self.repeat, args=(f,)) for f in (self.write, self.ask_and_leave)]

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.stopped.set()
        for thread in self.threads:
            thread.join()

    def repeat(self, step):
        n = 0
        while not self.stopped.is_set() and self.s.alive():
            n += 1
            step(n)

    def put(self, name, text):
        path = os.path.join(self.s.dir, name)
        with open(path + ".new", "w", encoding="ascii") as f:
            f.write(text)
        os.rename(path + ".new", path)

    def write(self, n):
        for name, text in storm_files(n).items():
            self.put(name, text)
        time.sleep(0.001)

    def ask_and_leave(self, n):
        question = xfr.question(("storm.test.", "cluster.local.")[n % 2])
        try:
            with socket.create_connection(("127.0.0.1", self.s.port()), timeout=5) as c:
                c.sendall(struct.pack("!H", len(question)) + question)
        except OSError:
            pass  # a listener may go at a reload


def storm_files(n):
    hosts = "".join(f"192.0.2.{i} h{i}.storm.test\n" for i in range(1, 2 + n % 200))
    zone = f"@ 60 SOA ns host {n} 2 3 4 5\n@ 60 NS ns\n" + "".join(f"n{i} 60 A 192.0.2.1\n" for i in range(50 + n % 50))
    return {"hosts": hosts, "weights": f"storm.test\n192.0.2.1 {1 + n % 200}\n", "zone": "$ORIGIN storm.test.\n" + zone,
            "keys": f"hmac-sha256:k{n}:{'QUJD' * 11}\n"}


@needs("hosts", "loadbalance", "file", "transfer", "health", "egressfirewall", "kubernetes")
def test_background_work_ends_with_its_instance(serve, note, tmp_path):
    """Reloads retire instances while their tasks read files that change and their threads copy zones."""
    certs.make_ca(tmp_path)
    certs.make_cert(tmp_path, "cert0")
    certs.make_cert(tmp_path, "cert1", key="unused.pem")
    shutil.copy(tmp_path / "cert0.pem", tmp_path / "cert1.pem")

    def text(n):
        clusters = CLUSTER.format(kubeconfig=api.kubeconfig(), number=100 + n, odd=n % 2, closed=closed.number)
        return BACKGROUND.format(odd=n % 2, mark=n, closed=closed.number, clusters=clusters)

    closed = server.Port()
    with cluster.Embedded() as api:
        s = serve(text(0), files={**certs.texts(tmp_path), **storm_files(0)})
        reloads = 0
        end = time.monotonic() + STORM_SECONDS
        with Changes(s):
            while s.alive() and (reloads < STORM_RELOADS or time.monotonic() < end):
                reloads += 1
                rewrite(s, text(reloads))
                s.process.send_signal(signal.SIGUSR1)
                wanted = str(reloads)
                eventually(lambda: not s.alive() or marked(s.port(), timeout=0.5) == wanted, 10, "reload")
        note("reloads with background work", reloads)
        assert s.alive(), s.output()[-3000:]
