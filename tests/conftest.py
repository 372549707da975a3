# SPDX-License-Identifier: GPL-3.0-or-later
"""Puts tests/ on the import path, so that every suite can say `from lib import server`; the mark `alone`, parts of a
file, and a list of what failed, all for tools/run-tests."""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from lib import outcomes  # noqa: E402 (needs the path)


def pytest_configure(config):
    outcomes.install(config)
    config.addinivalue_line("markers", "alone: measures time, CPU or memory so tightly that nothing may run beside it")


def pytest_collection_modifyitems(config, items):
    """FAIRLEAD_PART=1/4: the second of four parts of the tests."""
    part, _, parts = os.environ.get("FAIRLEAD_PART", "0/1").partition("/")
    mine = items[int(part)::int(parts)]
    if len(mine) != len(items):
        chosen = set(mine)
        config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
        items[:] = mine
