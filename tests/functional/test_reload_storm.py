# SPDX-License-Identifier: GPL-3.0-or-later
"""A reload every 100 ms under load, every second one adding and removing a listener: nothing is lost.

The long version (30 s at half of the measured capacity) is tests/bench/reload-loss; this one runs 5 s at a fixed
rate that two shared cores can hold."""
import json
import os
import signal
import subprocess
import time

import pytest

from helpers import answers, marked, marker, needs, rewrite, sanitizer, slower
from lib import server

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
