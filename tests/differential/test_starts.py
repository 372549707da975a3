# SPDX-License-Identifier: GPL-3.0-or-later
"""Corefiles that must start, and ones that must be refused, in both servers; cases are data, in starts/."""
import os
import re
import subprocess

import pytest

import cases
from lib import server

CHECK_SECONDS = 20


def starts(s):
    """(started, output)."""
    try:
        s.start()
    except server.StartFailed as e:
        assert e.status is not None, f"neither ended nor listens: {e}"
        return False, str(e)
    return True, s.output()


def check(s):
    """`fairlead check FILE`: (valid, output)."""
    done = subprocess.run([server.fairlead_program(), "check", s.conf], capture_output=True, text=True, cwd=s.dir,
                          env=s.env, timeout=CHECK_SECONDS, stdin=subprocess.DEVNULL)
    assert done.returncode in (0, 1), f"fairlead check: exit status {done.returncode}\n{done.stdout}{done.stderr}"
    return done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("case", cases.start_cases(), ids=lambda c: c["id"])
def test_start(case, make_server):
    reference, tested = make_server(0, case), make_server(1, case)
    good, output = starts(reference)
    want = case["ok"]
    assert good != want if case.get("differs") else good == want, f"CoreDNS: {output}\n{reference.corefile}"
    if case.get("error") and not case.get("differs"):
        assert case["error"] in output
    if os.environ.get("DIFF_SELF") == "1":
        return
    valid, findings = check(tested)
    assert valid == case.get("check", want), f"fairlead check says {findings or 'valid'}\n{tested.corefile}"
    if not valid:
        assert re.search(r":\d+:\d+: \S", findings), f"no file:line:col in: {findings}"
    good, output = starts(tested)
    assert good == want, f"Fairlead: {output}\n{tested.corefile}"
