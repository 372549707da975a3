# SPDX-License-Identifier: GPL-3.0-or-later
"""loop: the question at the start, the end of a server that forwards to itself, and no end of one that does not."""
import re
import socket

from helpers import ask, eventually, needs, rewrite
from lib import server, wire

SILENT = ".:@PORT@ {\n    log\n    loop\n    erratic {\n        drop 1\n    }\n}\n"
# One worker: the reply to the probe is seen before a second question is answered.
ANSWERS = ".:@PORT@ {\n    multisocket 1\n    log\n    loop\n    whoami\n    reload 2s\n}\n"
FATAL = (r'^\[FATAL\] plugin/loop: Loop \(127\.0\.0\.1:\d+ -> :\d+\) detected for zone "\.", see https://coredns\.io/plugins/'
         r'loop#troubleshooting\. Query: "HINFO \d+\.\d+\."$')


def probes(s):
    return re.findall(r'"HINFO IN (\d+\.\d+\.) udp', s.read("stdout"))


def meet_again(s, name, times=2):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        for _ in range(times):
            sock.sendto(wire.query(name, "HINFO"), ("127.0.0.1", s.port()))


def test_asks_again_until_it_is_answered(serve):
    s = serve(SILENT)
    names = eventually(lambda: probes(s)[1:] and probes(s), 8, "a second try")
    assert len(set(names)) == 1
    assert s.alive()


def test_third_meeting_is_the_end(serve):
    s = serve(SILENT)
    name = eventually(lambda: probes(s), what="the question")[0]

    def ended():
        if s.alive():
            meet_again(s, name)
        return not s.alive()

    eventually(ended, 10, "end of the program")
    assert s.process.returncode == 1
    assert len(re.findall(FATAL, s.read("stdout"), re.M)) == 1


def test_a_meeting_counts_after_the_time_out(serve):
    """Where a cache holds a question back that is asked already, each try is met once more and not twice."""
    s = serve(SILENT)
    name = eventually(lambda: probes(s), what="the question")[0]
    meet_again(s, name, times=1)
    eventually(lambda: probes(s)[2:], 8, "the second try")
    assert s.alive()
    meet_again(s, name, times=1)
    eventually(lambda: not s.alive(), 5, "end of the program")
    assert re.search(FATAL, s.read("stdout"), re.M)


def test_answered_is_over(serve):
    s = serve(ANSWERS)
    name = eventually(lambda: probes(s), what="the question")[0]
    for _ in range(5):
        assert ask(s.port(), name, "HINFO") is not None
    assert s.alive()


def test_a_reload_asks_anew(serve):
    s = serve(ANSWERS)
    first = eventually(lambda: probes(s), what="the question")[0]
    rewrite(s, ANSWERS.replace("whoami", "any\n    whoami"))
    eventually(lambda: set(probes(s)) - {first}, 12, "the question of the second configuration")
    assert s.alive()


@needs("forward", "cache")
def test_forwarding_to_itself_ends_it(serve):
    s = serve(".:@PORT@ {\n    errors\n    cache 30\n    loop\n    forward . 127.0.0.1:@PORT@\n    loadbalance\n}\n",
              start=False)
    try:
        s.start()
    except server.StartFailed as e:
        assert e.status == 1 and re.search(FATAL, e.output, re.M)
        return
    eventually(lambda: not s.alive(), 10, "end of the program")
    assert s.process.returncode == 1
    assert re.search(FATAL, s.read("stdout"), re.M)
