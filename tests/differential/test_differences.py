# SPDX-License-Identifier: GPL-3.0-or-later
"""docs/differences.md and the tests name the same intended differences: the first table has cases here, each row of the
second one names a test elsewhere."""
import os
import re

import cases
from lib import server

ROW = r"\| `([a-z0-9-]+)` \|.*"
TESTS = r"`([\w./-]+)`: (`[^`]+`(?:, `[^`:/]+`)*)"
PROOF = rf".*\| ({TESTS}(?:, {TESTS})*) \|$"


def proofs_in(cell):
    """(file, name of a test) of "`file`: `name`, `name`, `file`: `name`"."""
    return [(path, test) for path, tests in re.findall(TESTS, cell) for test in re.findall(r"`([^`]+)`", tests)]


def rows():
    """(id, None) of the first table; (id, [(file, name of a test)]) of the second."""
    out, second = [], False
    with open(os.path.join(server.ROOT, "docs", "differences.md"), encoding="utf-8") as f:
        for line in f:
            second |= "proved by" in line
            if m := re.match(ROW, line):
                proof = re.match(PROOF, line)
                assert bool(proof) == second, f"`{m[1]}` stands in the wrong table, or names no test"
                out.append((m[1], proofs_in(proof[1]) if proof else None))
    return out


def used():
    ids = {q.differs for c in cases.answer_cases() for q in c["queries"] if q.differs}
    return ids | {c["differs"] for c in cases.start_cases() if c.get("differs")}


def test_ids_are_unique():
    ids = [i for i, _ in rows()]
    assert len(ids) == len(set(ids)) > 20


def test_every_difference_is_listed():
    assert used() <= {i for i, _ in rows()}, "in a case, but not in docs/differences.md"


def test_every_listed_difference_has_a_case():
    assert {i for i, proof in rows() if not proof} == used(), "cases here prove the rows of the first table"


def test_every_other_difference_names_its_test():
    for name, (path, test) in [(name, proof) for name, proofs in rows() for proof in proofs or []]:
        with open(os.path.join(server.ROOT, path), encoding="utf-8") as f:
            text = f.read()
        found = {".c": rf"(cmocka_unit_test\w*|TEST|T)\({test}\b|\b{test},", ".py": rf"^def {test}\(",
                 ".scn": rf"^## {test}"}[os.path.splitext(path)[1]]
        assert re.search(found, text, re.M), f"{name}: {path} has no test `{test}`"


def test_pages_name_listed_differences_only():
    """Pages of plugins refer to differences by id, and mention no other."""
    known = {i for i, _ in rows()}
    folder = os.path.join(server.ROOT, "docs", "plugins")
    for page in sorted(os.listdir(folder)):
        with open(os.path.join(folder, page), encoding="utf-8") as f:
            text = f.read()
        for section in re.findall(r"^#+ Differences.*?(?=^#|\Z)", text, re.M | re.S):
            ids = re.findall(r"`([a-z]+(?:-[a-z]+)+)`", section)
            assert ids and set(ids) <= known, f"{page}: {set(ids) - known or 'no id'}"
