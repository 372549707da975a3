# SPDX-License-Identifier: GPL-3.0-or-later
"""What src/api/schema/test_schema.json holds our validation to is what a real API server says."""
import os

from crdlib import cluster  # noqa: F401 (fixture)
from lib import server
from oracle import ask, same_as_recorded
from schema_cases import CASES, SCHEMAS


def test_recorded_answers_are_the_servers(cluster):
    table = ask(cluster, SCHEMAS, CASES)
    assert sum("errors" in r for r in table["rows"]) >= 150
    same_as_recorded(table, os.path.join(server.ROOT, "src", "api", "schema", "test_schema.json"))
