# SPDX-License-Identifier: GPL-3.0-or-later
"""Upstreams that are dead, silent, or come back: what clients see, and how much is sent to those who do not answer
(issue: all down is SERVFAIL within 5 s, recovery within one health interval, no retry storm)."""
import struct
import time

import pytest

from helpers import ask, eventually, needs, slower
from lib import wire
from lib.client import Ask, Exchange, tcp_ask
from lib.upstream import Upstream

pytestmark = needs("forward")

LIVE = "* A ; answer {name} 60 IN A 192.0.2.1"
SILENT = "* * ; drop"
DEADLINE = 5.0  # of a query (1.5 Per query)


@pytest.fixture
def upstreams():
    """upstreams(script or None for a dead one, ...): started Upstreams by the names u0, u1, ..."""
    made = []

    def make(*scripts):
        mine = [Upstream(s or "", dead=s is None).start() for s in scripts]
        made.extend(mine)
        return {f"u{i}": u for i, u in enumerate(mine)}

    yield make
    for u in made:
        u.close()
        assert u.problems == []


def corefile(ups, *options):
    targets = " ".join(f"@UP:{name}@" for name in ups)
    return f".:@PORT@ {{\n forward . {targets} {{\n" + "\n".join(options) + "\n }\n}\n"


def flood(s, first, number, patience, window=16):
    """Asks for so many names; (rcode -> how often, seconds until the last reply)."""
    link = Exchange(s, window)
    asks = [Ask(wire.query(f"n{first + i}.example.", ident=i + 1)) for i in range(number)]
    begin, last, todo = time.monotonic(), 0.0, list(asks)
    try:
        while True:
            waiting = [a for a in asks if a not in todo and not link.replies(a)]
            while todo and len(waiting) < window:
                waiting.append(todo.pop(0))
                link.send(waiting[-1])
            if not waiting or time.monotonic() - begin > patience:
                break
            if link.pump(0.05):
                last = time.monotonic() - begin
        rcodes = {}
        for a in asks:
            for r in link.replies(a) or [None]:
                name = wire.rcode_text(r[3] & 15) if r else "none"
                rcodes[name] = rcodes.get(name, 0) + 1
        return rcodes, last
    finally:
        link.close()


def test_one_of_three_is_dead(serve, upstreams):
    """Nothing listens there: the kernel reports it, and the next upstream is asked at once."""
    ups = upstreams(LIVE, None, LIVE)
    s = serve(corefile(ups, "health_check 100ms"), upstreams=ups)
    rcodes, seconds = flood(s, 0, 300, slower(10))
    assert rcodes == {"NOERROR": 300}
    assert seconds < slower(3)
    assert ups["u0"].count() + ups["u2"].count() == 300


def test_one_of_three_is_silent(serve, upstreams):
    """Its first questions wait for the time-out; then it is left alone, but for health checks."""
    ups = upstreams(LIVE, SILENT, LIVE)
    s = serve(corefile(ups, "read_timeout 200ms", "health_check 100ms", "max_fails 1"), upstreams=ups)
    rcodes, _ = flood(s, 0, 60, slower(20))
    assert rcodes == {"NOERROR": 60}

    def left_alone():
        before = ups["u1"].count()
        assert flood(s, 100, 40, slower(20))[0] == {"NOERROR": 40}
        return ups["u1"].count() == before

    eventually(left_alone, what="the silent one to be down")
    before = ups["u1"].count()
    rcodes, seconds = flood(s, 1000, 300, slower(10))
    assert rcodes == {"NOERROR": 300}
    assert ups["u1"].count() == before, "a silent upstream is still asked"
    assert seconds < slower(2)
    assert ups["u1"].count(".", "NS") > 0


@pytest.mark.alone
def test_all_silent_is_servfail_in_time(serve, upstreams):
    """No client waits longer than the deadline, and upstreams get at most 2 x upstreams queries (max_connect_attempts)."""
    ups = upstreams(SILENT, SILENT)
    s = serve(corefile(ups), upstreams=ups)
    rcodes, seconds = flood(s, 0, 16, slower(10))
    assert rcodes == {"SERVFAIL": 16}
    assert seconds < slower(DEADLINE + 0.5)
    sent = sum(u.count() for u in ups.values())
    assert 16 <= sent <= 16 * 4
    # Health checks: one a half second and upstream, not one per failed query.
    assert all(u.count(".", "NS") <= 2 * DEADLINE / 0.5 for u in ups.values())


def test_all_dead_is_servfail_at_once_and_no_storm(serve, upstreams):
    ups = upstreams(SILENT, SILENT)
    s = serve(corefile(ups), upstreams=ups)
    for u in ups.values():
        u.stop()
    rcodes, seconds = flood(s, 0, 200, slower(10))
    assert rcodes == {"SERVFAIL": 200}
    assert seconds < slower(3)


@pytest.mark.alone
def test_recovery_within_a_health_interval(serve, upstreams):
    """With failfast nothing is asked while all are down: it is the health check that finds out."""
    ups = upstreams(LIVE)
    s = serve(corefile(ups, "health_check 200ms", "failfast_all_unhealthy_upstreams", "max_fails 1"), upstreams=ups)
    assert ask(s.port(), "a.example.").rcode == 0
    ups["u0"].stop()
    eventually(lambda: flood(s, 0, 5, slower(10))[0] == {"SERVFAIL": 5} and
               flood(s, 0, 5, slower(10))[1] < 0.2, what="the upstream to be down")
    ups["u0"].start()
    begin = time.monotonic()
    eventually(lambda: ask(s.port(), "b.example.").rcode == 0, what="recovery")
    # One interval, and the second that a check in flight may take.
    assert time.monotonic() - begin < slower(1.5)


def test_checks_stop_when_all_is_well(serve, upstreams):
    """Health is checked only after an error (1.5 Health)."""
    ups = upstreams(LIVE)
    s = serve(corefile(ups, "health_check 50ms"), upstreams=ups)
    rcodes, _ = flood(s, 0, 50, slower(10))
    assert rcodes == {"NOERROR": 50}
    assert ups["u0"].count(".", "NS") == 0
    ups["u0"].stop()
    flood(s, 100, 5, slower(10))
    ups["u0"].start()
    assert ups["u0"].wait_for(1, ".", "NS", timeout=slower(5)) >= 1
    eventually(lambda: ask(s.port(), "c.example.").rcode == 0, what="recovery")
    checks = ups["u0"].count(".", "NS")
    end = time.monotonic() + 0.4
    while time.monotonic() < end:
        flood(s, 200, 5, slower(10))
    assert ups["u0"].count(".", "NS") <= checks + 1


def long_query(number):
    """So many octets, nearly all of them an option nobody knows."""
    query = wire.query("a.example.", edns=1232)
    size = number - len(query)
    return query[:-2] + struct.pack("!HHH", size, 65001, size - 4) + bytes(size - 4)


@pytest.mark.parametrize("options", ["", "cookies"])
def test_queries_as_long_as_can_be(serve, upstreams, options):
    """What rewrite and cookies add may not fit any more: then nothing is sent."""
    ups = upstreams(LIVE)
    s = serve(".:@PORT@ {\n rewrite edns0 subnet set 24 56\n forward . @UP:u0@ {\n force_tcp\n " + options +
              "\n }\n}\n", upstreams=ups)
    rcodes = [tcp_ask(s.port(), long_query(n), timeout=slower(5))[0][3] & 15
              for n in [60000, *range(65430, 65535, 5), 65535]]
    assert rcodes == sorted(rcodes) and {0, wire.rcode_value("SERVFAIL")} == set(rcodes)
    assert ups["u0"].count() == rcodes.count(0)


def test_max_concurrent_holds_for_all_workers(serve, upstreams):
    """The limit is shared: queries that wait on one worker count for all."""
    ups = upstreams(SILENT)
    s = serve(".:@PORT@ {\n multisocket 4\n forward . @UP:u0@ {\n max_concurrent 40\n max_fails 0\n read_timeout 5s\n }\n}\n",
              upstreams=ups)
    first = Exchange(s, 60)
    others = [Exchange(s, 10) for _ in range(15)]  # ports of their own, so other workers
    try:
        refused = 0
        for link, number in [(first, 60)] + [(o, 10) for o in others]:
            asks = [Ask(wire.query(f"n{i}.example.", ident=i + 1)) for i in range(number)]
            for a in asks:
                link.send(a)
            expected = number - 40 if link is first else number
            eventually(lambda: link.pump(0.01) is not None and sum(bool(link.replies(a)) for a in asks) >= expected,
                       slower(2), f"{expected} replies")
            refused += sum(r[3] & 15 == wire.rcode_value("REFUSED") for a in asks for r in link.replies(a))
        assert refused == 20 + 150
        eventually(lambda: ups["u0"].count() >= 40)  # it reads in its own time
        assert ups["u0"].count() == 40
    finally:
        for link in [first] + others:
            link.close()
