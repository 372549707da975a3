"""docs/differences.md and the cases name the same intended differences."""
import os
import re

import cases
from lib import server


def listed():
    ids = []
    with open(os.path.join(server.ROOT, "docs", "differences.md"), encoding="utf-8") as f:
        for line in f:
            m = re.match(r"\| `([a-z0-9-]+)` \|", line)
            if m:
                ids.append(m[1])
    return ids


def used():
    ids = {q.differs for c in cases.answer_cases() for q in c["queries"] if q.differs}
    return ids | {c["differs"] for c in cases.start_cases() if c.get("differs")}


def test_ids_are_unique():
    assert len(listed()) == len(set(listed()))


def test_every_difference_is_listed():
    assert used() <= set(listed()), "in a case, but not in docs/differences.md"


def test_every_listed_difference_has_a_case():
    assert set(listed()) <= used(), "in docs/differences.md, but in no case"
