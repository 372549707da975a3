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

from controllerlib import until
from lib import server
from lib.nameserver import API_KEY, SBIN, SECRET, place

PAGES = {"bind": "rfc2136", "knot": "rfc2136", "powerdns": "powerdns"}


def blocks(page, language):
    with open(os.path.join(server.ROOT, "docs", "providers", page + ".md"), encoding="utf-8") as f:
        return [textwrap.dedent(x) for x in re.findall(rf"(?ms)^ *```{language}\n(.*?)^ *```", f.read())]


def replaced(text, *pairs):
    for before, after in pairs:
        assert before in text, before
        text = text.replace(before, after)
    return text


class Machine:
    """`fairlead up` in a folder, and the page's other commands in the same one."""

    def __init__(self, folder, words):
        self.folder, self.ports = folder, (server.Port(), server.Port())
        api, dns = (f"127.0.0.1:{port.number}" for port in self.ports)
        self.log = folder / "up.log"
        with open(self.log, "w", encoding="utf-8") as f:
            self.process = subprocess.Popen([server.fairlead_program(), *words, "--api", api, "--dns", dns], cwd=folder,
                                            stdin=subprocess.DEVNULL, stdout=f, stderr=subprocess.STDOUT)

    def __enter__(self):
        until(lambda: "try: " in self.log.read_text() or self.process.poll() is not None, 60)
        return self

    def run(self, words):
        done = subprocess.run([server.fairlead_program(), *words], cwd=self.folder, text=True, capture_output=True, timeout=120, check=False)
        assert done.returncode == 0, done.stderr + self.log.read_text()
        return done.stdout

    def __exit__(self, *_):
        self.process.terminate()
        status = self.process.wait(60)
        for port in self.ports:
            port.release()
        assert status == 0 and "Sanitizer" not in self.log.read_text(), self.log.read_text()


@pytest.mark.parametrize("kind", PAGES)
def test_page(kind, tmp_path):
    """DR-S7: on one machine, with the page's own commands."""
    page = PAGES[kind]
    with place(kind, tmp_path) as zone:
        places = {"rfc2136": [("Server: 192.0.2.53", f"Server: 127.0.0.1:{zone.port}"), ("TSIGKeyName: fairlead", "TSIGKeyName: writer.key."),
                              ("TSIGSecret: SECRET", f"TSIGSecret: {SECRET}")],
                  "powerdns": [("192.0.2.53:8081", f"127.0.0.1:{zone.port}"), ("CHANGE-ME", API_KEY)]}[page]
        key, records = blocks(page, "yaml")
        assert key.startswith("# dns-key.yaml\n") and records.startswith("# records.yaml\n")
        (tmp_path / "dns-key.yaml").write_text(replaced(key, *places))
        (tmp_path / "records.yaml").write_text(replaced(records, ("example.com", zone.zone)))
        (commands,) = blocks(page, "sh")
        up, apply, get, dig = (shlex.split(line, comments=True) for line in commands.splitlines())
        assert (up, apply[:2], get[:2], dig[0]) == (["fairlead", "up"], ["fairlead", "apply"], ["fairlead", "get"], "dig")
        with Machine(tmp_path, up[1:]) as machine:
            machine.run(apply[1:])
            assert re.search(rf"(?m)^www +{page} +www\.{zone.zone} +A +Succeeded", machine.run(get[1:]))
            words = replaced(" ".join(dig), ("@192.0.2.53", f"@127.0.0.1 -p {zone.dns_port}"), ("example.com", zone.zone)).split()
            answer = subprocess.run([shutil.which("dig", path=SBIN), *words[1:]], text=True, stdout=subprocess.PIPE, timeout=60, check=True)
            assert answer.stdout == "192.0.2.1\n"
            if kind == "bind":  # a second controller would call the records of the first foreign
                second = subprocess.run([server.fairlead_program(), "controller", "--kubeconfig", "fairlead-data/kubeconfig", "--controllers",
                                         "dnsrecord"], cwd=tmp_path, text=True, capture_output=True, timeout=60, check=False)
                assert second.returncode == 1 and "runs this controller already" in second.stdout
            machine.run(["delete", "dnsrecords.extensions.gardener.cloud", "www", "-n", "default"])
            until(lambda: zone.read(f"www.{zone.zone}") is None, 60)
