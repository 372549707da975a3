# SPDX-License-Identifier: GPL-3.0-or-later
"""The manifests and commands of docs/providers/*.md, carried out: from the page to an answer of BIND, Knot and PowerDNS. (The servers'
own configuration on these pages is carried out in tests/functional.)"""
import os
import re
import shlex
import shutil
import subprocess
import textwrap

import pytest

from bothlib import embedded  # noqa: F401 (fixture)
from controllerlib import Controller
from dnsrecordlib import delete, wait_gone, wait_settled
from lib import server
from lib.nameserver import API_KEY, SBIN, SECRET, place

PAGES = {"bind": "rfc2136", "knot": "rfc2136", "powerdns": "powerdns"}


def block(page, language):
    with open(os.path.join(server.ROOT, "docs", "providers", page + ".md"), encoding="utf-8") as f:
        found = re.findall(rf"(?ms)^ *```{language}\n(.*?)^ *```", f.read())
    assert len(found) == 1
    return textwrap.dedent(found[0])


def replaced(text, *pairs):
    for before, after in pairs:
        assert before in text, before
        text = text.replace(before, after)
    return text


@pytest.mark.parametrize("kind", PAGES)
def test_page(embedded, kind, tmp_path):  # noqa: F811
    """DR-S7"""
    page = PAGES[kind]
    with place(kind, tmp_path) as zone:
        places = {"rfc2136": [("Server: 192.0.2.53", f"Server: 127.0.0.1:{zone.port}"), ("TSIGKeyName: fairlead", "TSIGKeyName: writer.key."),
                              ("TSIGSecret: SECRET", f"TSIGSecret: {SECRET}")],
                  "powerdns": [("192.0.2.53:8081", f"127.0.0.1:{zone.port}"), ("CHANGE-ME", API_KEY)]}[page]
        (tmp_path / "records.yaml").write_text(replaced(block(page, "yaml"), *places, ("example.com", zone.zone)))
        commands = [shlex.split(line) for line in block(page, "sh").splitlines()]
        assert [c[1] for c in commands[:3]] == ["apply", "controller", "get"] and commands[3][0] == "dig"

        def run(words):
            done = subprocess.run([server.fairlead_program(), *words[1:], "--kubeconfig", embedded.kubeconfig()], cwd=tmp_path, text=True,
                                  capture_output=True, timeout=60, check=False)
            assert done.returncode == 0, done.stderr
            return done.stdout

        run(commands[0])
        assert commands[1][2:] == ["--controllers", "dnsrecord"]
        p = Controller(embedded.kubeconfig(embedded.system), "--no-election", controllers="dnsrecord")
        try:
            wait_settled(embedded, "default", "www", 60)
            assert re.search(rf"(?m)^www +{page} +www\.{zone.zone} +A +Succeeded", run(commands[2]))
            dig = replaced(" ".join(commands[3]), ("@192.0.2.53", f"@127.0.0.1 -p {zone.dns_port}"), ("example.com", zone.zone)).split()
            answer = subprocess.run([shutil.which("dig", path=SBIN), *dig[1:]], text=True, stdout=subprocess.PIPE, timeout=60, check=True)
            assert answer.stdout == "192.0.2.1\n"
            delete(embedded, "default", "www")
            wait_gone(embedded, "default", "www", 60)
            assert zone.read(f"www.{zone.zone}") is None
        finally:
            p.wait_line("leading as")
            assert p.stop() == 0, p.text()
        embedded.call("DELETE", "/api/v1/namespaces/default/secrets/dns-key")
