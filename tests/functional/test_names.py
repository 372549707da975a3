# SPDX-License-Identifier: GPL-3.0-or-later
"""docs/reference/names.md lists every name that we leave in a cluster: it is compared with the source and deploy/."""
import os
import re

import pytest

from lib import server

PAGE = "docs/reference/names.md"
# Folders whose code writes to a cluster or reads what users write for us; what else a word with our name may be there.
FOLDERS = ["src/api/egress", "src/api/machine", "src/controller", "src/dns/learnt", "src/hook", "src/kube", "src/node", "src/provider"]
FILES = ["src/net/sock.h", "src/cmd/objects/apply.c", "src/cmd/controller.c", "src/http/client/options.c"]
NO_NAMES = {"fairlead", "fairlead-", "fairlead.dev/", "fairlead/", "egress.fairlead.dev/"}  # listed, or the beginning of one that is


def read(path):
    with open(os.path.join(server.ROOT, path), encoding="utf-8") as f:
        return f.read()


def sources():
    for folder in FOLDERS:
        for where, _, names in os.walk(os.path.join(server.ROOT, folder)):
            yield from (os.path.relpath(os.path.join(where, n), server.ROOT) for n in sorted(names)
                        if n.endswith((".c", ".h")) and not n.startswith(("test_", "fuzz_", "fake")))
    yield from FILES


def in_source():
    """(name, file) of the words in string constants that have our name, sentences and help texts left out."""
    for path in sources():
        for text in re.findall(r'"((?:[^"\\\n]|\\.)*)"', read(path)):
            if re.fullmatch(r"[a-z0-9./_-]*fairlead[a-z0-9./_-]*", text) and "/" not in text[:1] and not text.endswith(".h"):
                yield text, path


def in_deploy():
    for where, _, names in os.walk(os.path.join(server.ROOT, "deploy")):
        for n in sorted(names):
            path = os.path.relpath(os.path.join(where, n), server.ROOT)
            for name in re.findall(r"(?:name|namespace|policyName): ([\w./-]*fairlead[\w./-]*)$", read(path), re.M):
                yield name, path


def listed():
    return set(re.findall(r"^\| `([^`]+)` \|", read(PAGE), re.M))


@pytest.mark.parametrize("found", [in_source, in_deploy])
def test_every_name_is_listed(found):
    names = set(found())
    assert len(names) > 4
    metric = re.compile(r"fairlead_(controller|node|provider)_\w+$")
    missing = {(n, p) for n, p in names if n not in listed() | NO_NAMES and not metric.match(n)}
    assert not missing, f"not in {PAGE}: {sorted(missing)}"


def test_every_listed_name_is_there():
    everything = "".join(read(p) for p in sources()) + "".join(
        read(os.path.join(os.path.relpath(w, server.ROOT), n))
        for w, _, names in os.walk(os.path.join(server.ROOT, "deploy")) for n in names)
    for name in listed():
        word = re.split(r"\.\.\.|VERSION", name)[0]
        # fairlead.dev/example, fairlead-example: made of a beginning and a controller's name
        halves = re.fullmatch(r"(fairlead\.dev/|fairlead-)(\w+)", word)
        assert f'"{word}' in everything or word in everything or (
            halves and halves[1] in everything and f'.name = "{halves[2]}"' in everything), f"{name}: nowhere in the source"


# ---- types of conditions ----

TYPES = [  # the forms in which controllers name a type
    r'struct api_condition[^;]*?\.type = "([A-Z]\w+)"', r'^\t\t\{ \.type = "([A-Z]\w+)"', r'set_condition\(\w+, "([A-Z]\w+)"', r'#define CONDITION "([A-Z]\w+)"']
TYPE_TABLES = r"const types\[\w+\] = \{(.*?)\};"


def condition_types():
    """The types that each file names; the example writes an annotation."""
    for path in sources():
        if path.startswith("src/controller/") and not path.startswith("src/controller/example/"):
            text = read(path)
            found = {t for form in TYPES for t in re.findall(form, text, re.M)}
            yield path, text, found | {t for table in re.findall(TYPE_TABLES, text, re.S) for t in re.findall(r'"([A-Z]\w+)"', table)}


def test_status_knows_all_conditions():
    """A type that a controller writes has a row in the table of `fairlead status`, and is in its man page."""
    files = list(condition_types())
    written = set().union(*(found for _, _, found in files))
    known = set(re.findall(r'^\t\{ "([A-Z]\w+)",', read("src/cmd/objects/condition_meaning.c"), re.M))
    assert written == known
    for path, text, found in files:
        # Types of dnsoperator come from the tables in plan/ and status/.
        assert "api_condition_set(" not in text or found or path.endswith("dnsoperator/status/dns_status.c"), f"{path}: which types?"
    words = set(re.findall(r"\w+", read("docs/man/fairlead-status.1")))
    assert known <= words, known - words
