# SPDX-License-Identifier: GPL-3.0-or-later
"""What src/api/schema/test_rule.json holds our CEL to is what a real API server says."""
import os

from crdlib import cluster  # noqa: F401 (fixture)
from cel_cases import CASES, SCHEMAS
from lib import server
from oracle import ask, same_as_recorded


def test_recorded_answers_are_the_servers(cluster):
    table = ask(cluster, SCHEMAS, CASES)
    assert sum("errors" in r for r in table["rows"]) >= 80
    same_as_recorded(table, os.path.join(server.ROOT, "src", "api", "schema", "test_rule.json"))
