# SPDX-License-Identifier: GPL-3.0-or-later
"""What the documents show works: every Corefile in docs/, README.md and examples/ is valid.

Plugins that docs/plugins/README.md calls planned cannot be checked yet: their lines are left out of an example, the
rest of it is checked, and the summary at the end of the run names them.
"""
import os
import re

import pytest
import yaml

from helpers import plugins, run
from lib import certs, server

PAGES = ["README.md", "docs/operations.md", "docs/man/fairlead-dns.1"] + sorted(
    os.path.join("docs/plugins", n) for n in os.listdir(os.path.join(server.ROOT, "docs", "plugins")))


def read(page):
    with open(os.path.join(server.ROOT, page), encoding="utf-8") as f:
        return f.read()


def plugin_states():
    return dict(re.findall(r"^\| \[?(\w+)\]?(?:\(\w+\.md\))? \| (built|planned|never) \|", read("docs/plugins/README.md"),
                           re.M))


def code_blocks(text):
    """Fenced blocks, and blocks set in by four columns after a blank line (without that margin)."""
    for m in re.finditer(r"^```\w*\n(.*?)^```$|(?<=\n\n)((?:    [^\n]*\n|\n(?=    ))+)|^\.EX\n(.*?)^\.EE$", text, re.M | re.S):
        line = text[:m.start()].count("\n") + 1
        yield line, m[1] or m[3] or re.sub(r"^    ", "", m[2], flags=re.M)


def corefiles():
    """(page:line, text) of the code blocks with a server block: one whose first word is a zone."""
    for page in PAGES:
        for line, text in code_blocks(read(page)):
            at = re.search(r"^(?:\w+://)?(\.|[\w.]+\.[\w.]*)[^\n$]* \{$.*^\}$", text, re.M | re.S)
            if at:
                yield pytest.param(at[0] + "\n", id=f"{page}:{line}")


def without_planned(text):
    """The text less the directives of planned plugins, and their names."""
    planned = {name for name, state in plugin_states().items() if state == "planned"}
    out, left_out, depth = [], [], 0
    for line in text.splitlines(keepends=True):
        word = (line.split() or [""])[0]
        if depth or (line[0] in " \t" and word in planned):
            depth += line.rstrip().endswith("{") - (word == "}")
            left_out += [] if word == "}" or depth and word not in planned else [word]
            continue
        out.append(line)
    return "".join(out), left_out


def test_table_of_plugins_says_what_is_built():
    states = plugin_states()
    assert sorted(n for n, s in states.items() if s == "built") == sorted(plugins())
    assert len(states) > 60


def test_there_are_examples():
    ids = [p.id for p in corefiles()]
    for name in plugins():
        if name != "reload":
            assert any(f"/{name}.md:" in i for i in ids), f"docs/plugins/{name}.md has no example"


@pytest.mark.parametrize("text", corefiles())
def test_example_is_valid(tmp_path, note, request, text):
    text, left_out = without_planned(text)
    if left_out:
        note(f"not checked in {request.node.callspec.id}", f"{', '.join(left_out)} (planned)")
    (tmp_path / "Corefile").write_text(text)
    if "cert.pem" in text:
        certs.make_ca(tmp_path)
        certs.make_cert(tmp_path)
    assert run("check", "Corefile", cwd=tmp_path, env={"POD_IP": "127.0.0.1"})[:2] == (0, "")


def test_example_of_make_run_is_valid():
    assert run("check", os.path.join(server.ROOT, "examples", "Corefile")) == (0, "", "")


def test_limit_of_a_pools_lists():
    """The page of the controller has the number of entries that the CRDs allow."""
    rows = dict(re.findall(r"^\| `(addresses|excludedAddresses)` \| (.*) \|$", read("docs/controllers/ipam.md"), re.M))
    for kind in ("inclusterippools", "globalinclusterippools"):
        crd = yaml.safe_load(read(f"deploy/crds/ipam.cluster.x-k8s.io_{kind}.yaml"))
        for version in crd["spec"]["versions"]:
            fields = version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
            for field, row in rows.items():
                assert f"at most {fields[field]['maxItems']} entries" in row


def test_limits_on_writes_are_those_of_each_controller():
    """docs/controllers.md and --help name the same; no page has one figure for all controllers."""
    status, out, _ = run("controller", "--help")
    listed = dict(re.findall(r"^  (\w+) +(\d+:\d+) ", out.split("--write-rate:\n")[1], re.M))
    table = dict(re.findall(r"^\| \[?`(\w+)`\]?(?:\([\w/.]+\))? \| (\d+:\d+) \|", read("docs/controllers.md"), re.M))
    assert status == 0 and listed == table and listed["ipam"] == "200:400" and listed["dnsoperator"] == "20:40"
    most = max(int(rate.split(":")[0]) for rate in listed.values())
    assert f"20 to {most} per second for each controller" in read("docs/reference/kubernetes-client.md")
    assert f"at most {listed['ipam'].split(':')[0]} objects per second" in read("docs/controllers/ipam.md")


# ---- manifests ----

def manifests():
    """(page:line, text) of the code blocks with objects; not transcripts, which have commands as well."""
    for where, _, names in os.walk(os.path.join(server.ROOT, "docs")):
        for name in sorted(n for n in names if n.endswith(".md")):
            page = os.path.relpath(os.path.join(where, name), server.ROOT)
            for line, text in code_blocks(read(page)):
                if re.search(r"^apiVersion:", text, re.M) and not text.lstrip().startswith("$") and "\n$ " not in text:
                    yield f"{page}:{line}", text


@pytest.mark.parametrize("place, text", [pytest.param(*m, id=m[0]) for m in manifests()])
def test_manifests_are_yaml(place, text):
    """Pages show objects that can be applied: a value such as ::/0 needs quotes inside of braces."""
    for o in yaml.safe_load_all(text):
        assert o["apiVersion"] and o["kind"], place
