# SPDX-License-Identifier: GPL-3.0-or-later
"""The same questions under the same Corefile to CoreDNS and to Fairlead; cases are data, in cases/."""
import os
import time

import pytest

import cases
from compare import Pair, compare_logs, compare_metrics

SHOWN = 25  # problems printed per case
TRIES = 3   # of a case that took longer than it says

# Of a second or two: two servers are asked at the same time, or their answers differ.
TIMED = {"cache-time", "forward-down", "forward-metrics"}


def files():
    for path in cases.files("cases"):
        name = os.path.basename(path)[:-5]
        yield pytest.param(path, id=name, marks=[pytest.mark.alone] if name in TIMED else [])


@pytest.mark.parametrize("path", files())
def test_answers(path, make_server):
    case = cases.load_answers(path)
    case["self"] = os.environ.get("DIFF_SELF") == "1"
    for _ in range(TRIES):
        began = time.monotonic()
        problems = compare_once(case, make_server)
        took = time.monotonic() - began
        if not problems or took <= case.get("within", took):
            break
        print(f"{took:.1f} s, not {case['within']} s: the machine stood still, so answers aged differently; once more")
    if problems:
        shown = "\n".join(problems[:SHOWN])
        pytest.fail(f"{len(problems)} differences in {len(case['queries'])} questions, {took:.1f} s\n{shown}", pytrace=False)


def compare_once(case, make_server):
    servers = [make_server(0, case), make_server(1, case)]
    for s in servers:
        s.start()
    pair = Pair(servers, case)
    pair.run()
    problems = pair.problems
    if case.get("log"):
        problems += compare_logs(servers, case)
    if case.get("metrics"):
        problems += compare_metrics(servers, case)
    return problems
