"""The same questions under the same Corefile to CoreDNS and to Fairlead; cases are data, in cases/."""
import os

import pytest

import cases
from compare import Pair, compare_logs, compare_metrics

SHOWN = 25  # problems printed per case


@pytest.mark.parametrize("path", cases.files("cases"), ids=lambda p: os.path.basename(p)[:-5])
def test_answers(path, make_server):
    case = cases.load_answers(path)
    case["self"] = os.environ.get("DIFF_SELF") == "1"
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
    if problems:
        shown = "\n".join(problems[:SHOWN])
        pytest.fail(f"{len(problems)} differences in {len(case['queries'])} questions\n{shown}", pytrace=False)
