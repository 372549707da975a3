# SPDX-License-Identifier: GPL-3.0-or-later
"""OP-T17: servers report which Corefile they run, Fairlead and CoreDNS alike, and the operator's code reads it. No API."""
import os
import subprocess
import time

import pytest

from controllerlib import until
from dnslib import coredns, fairlead
from lib import server

TEXT = """.:@PORT@ {{
    cache 900
    template IN AAAA example.com {{
        rcode NOERROR
    }}
    template IN TXT version.example {{
        answer "{{{{ .Name }}}} 0 IN TXT v{}"
    }}
    reload 2s 1s
}}
"""
MARKER = """config.fairlead.internal:@PORT@ {{
    template IN TXT config.fairlead.internal {{
        answer "{{{{ .Name }}}} 0 IN TXT {}"
    }}
}}
"""


def acker(*args, text=None):
    build = os.environ.get("FAIRLEAD_BUILD") or os.path.dirname(server.fairlead_program())
    done = subprocess.run([os.path.join(build, "tests", "kube", "kube-acker"), *args], input=text, capture_output=True,
                          text=True, timeout=30)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def rendered(version):
    """(text, its hash); placeholders are not filled in, so that all servers have the same."""
    text = TEXT.format(version)
    found, = acker("hash", text=text)
    return text + MARKER.format(found), found


def pull(*servers):
    return acker("ask", *(f"127.0.0.1:{s.port()}" for s in servers))


def put(s, text):
    with open(s.conf + ".new", "w", encoding="utf-8") as f:
        f.write(s.fill(text))
    os.rename(s.conf + ".new", s.conf)


@pytest.fixture
def servers():
    """Two of Fairlead, one of CoreDNS, all with version 1."""
    text, _ = rendered(1)
    made = [fairlead(text), fairlead(text), coredns(text)]
    try:
        yield [s.start() for s in made]
    finally:
        for s in made:
            s.stop()


def test_all_acknowledge_a_change(servers, capsys):
    _, one = rendered(1)
    two_text, two = rendered(2)
    assert one != two
    assert pull(*servers) == [f"told {one}"] * 3
    start = time.monotonic()
    for s in servers:
        put(s, two_text)
    until(lambda: pull(*servers[:2]) == [f"told {two}"] * 2, 10)
    ours = time.monotonic() - start
    until(lambda: pull(*servers) == [f"told {two}"] * 3, 20)
    with capsys.disabled():
        print(f" [acknowledged by Fairlead after {ours * 1000:.0f} ms, by CoreDNS after "
              f"{(time.monotonic() - start) * 1000:.0f} ms]", end="")
    assert ours < 2.0


def test_a_refused_text_is_not_acknowledged(servers):
    """CoreDNS's own version metric shows the hash of a refused text: this does not."""
    _, one = rendered(1)
    bad, two = rendered(2)
    for s in servers:
        put(s, bad.replace("cache 900", "kache 900"))
    until(lambda: all("kache" in s.output() for s in servers), 20)
    assert pull(*servers) == [f"told {one}"] * 3 and one != two


def test_servers_without_the_block_and_dead_ones(servers):
    plain = fairlead(TEXT.format(1))
    other = coredns(".:@PORT@ {\n    whoami\n}\n")
    gone = server.Port()
    try:
        plain.start()
        other.start()
        lines = acker("ask", f"127.0.0.1:{plain.port()}", f"127.0.0.1:{other.port()}", f"127.0.0.1:{gone.number}",
                      f"127.0.0.1:{servers[0].port()}")
    finally:
        plain.stop()
        other.stop()
        gone.release()
    assert lines[0].startswith("other it answers ") and lines[1].startswith("other it answers "), lines
    assert lines[2] == "unreachable connection refused" and lines[3].startswith("told "), lines
