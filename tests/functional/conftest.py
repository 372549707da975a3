# SPDX-License-Identifier: GPL-3.0-or-later
"""Fixtures of the functional suite: servers that end with their test, a summary of what was measured."""
import os

import pytest

import helpers
from lib import server

measured = []


@pytest.fixture
def serve():
    """serve(corefile, **kw): a started Server; all are stopped at the end, and must not have crashed."""
    made = []

    def make(corefile=helpers.WHOAMI, start=True, command=None, **kw):
        s = server.Server(command or server.fairlead(), corefile, **kw)
        made.append(s)
        return s.start() if start else s

    yield make
    reports = []
    for s in made:
        alive = s.alive()
        status = s.stop()
        text = getattr(s, "last_output", "")
        if "Sanitizer" in text or "runtime error" in text or (alive and status not in (0, None)):
            reports.append(f"status {status}\n{text}")
        if alive and status is None and s.stop_signal != 9:
            reports.append(f"did not end by itself\n{text}")
    assert not reports, "\n".join(reports)


@pytest.fixture
def note():
    """note("what", "value"): shown at the end of the run."""
    return lambda what, value: measured.append((what, value))


def pytest_configure(config):
    program = server.fairlead_program()
    if not os.access(program, os.X_OK):
        raise pytest.UsageError(f"{program} does not exist: build it, or set FAIRLEAD")


def pytest_terminal_summary(terminalreporter):
    if measured:
        terminalreporter.write_sep("-", "measured" + (f" ({helpers.sanitizer()} sanitizer)"
                                                      if helpers.sanitizer() else ""))
        for what, value in measured:
            terminalreporter.write_line(f"{what}: {value}")
