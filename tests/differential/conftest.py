# SPDX-License-Identifier: GPL-3.0-or-later
"""Fixtures of the differential suite, and a loud word when it could not run."""
import os
import re
import signal

import pytest

from lib import server
from lib.upstream import Upstream

missing = []


@pytest.fixture(scope="session")
def programs():
    """(command of the reference, command of the server under test); both CoreDNS with DIFF_SELF=1."""
    coredns = server.coredns_program()
    if coredns is None:
        missing.append("CoreDNS could not be built here (tests/peers/build says why)")
        pytest.skip(missing[-1])
    if os.environ.get("DIFF_SELF") == "1":
        return [coredns], [coredns]
    program = server.fairlead_program()
    if not os.access(program, os.X_OK):
        pytest.fail(f"{program} does not exist: build it, or set DIFF_SELF=1 to compare CoreDNS with itself",
                    pytrace=False)
    return [coredns], [program, "dns"]


@pytest.fixture
def make_server(programs):
    """make_server(0|1, case): a Server for the reference or the one under test, with upstreams of its own; all stopped
    at the end of the test."""
    made, upstreams = [], []

    def make(which, case):
        end = signal.SIGKILL if programs[which][-1] != "dns" else \
            signal.SIGQUIT if re.search(r"lameduck (\d\d+|[2-9])s", case["corefile"]) else signal.SIGTERM
        mine = {}
        for name, up in case.get("upstreams", {}).items():
            mine[name] = Upstream(**up)
            upstreams.append(mine[name].start())
        s = server.Server(programs[which], case["corefile"], case.get("files"), case.get("env"), case.get("args", ()),
                          stop_signal=end, upstreams=mine)
        made.append(s)
        return s

    yield make
    for s in made:
        s.stop()
    for u in upstreams:
        u.close()


def pytest_terminal_summary(terminalreporter):
    if missing:
        terminalreporter.write_sep("*", "DIFFERENTIAL SUITE DID NOT RUN", red=True, bold=True)
        terminalreporter.write_line(missing[0])
