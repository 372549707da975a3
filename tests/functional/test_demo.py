# SPDX-License-Identifier: GPL-3.0-or-later
"""examples/aaaa-demo does what it says, with dig and with kdig, and leaves nothing behind."""
import os
import re
import shutil
import socket
import subprocess

import pytest

from lib import server

DEMO = os.path.join(server.ROOT, "examples", "aaaa-demo")
TOOLS = "cat dirname grep mktemp rm sed sleep".split()
ASK = "$ dig @127.0.0.1 -p {port} {question}\n    {code}\n"


@pytest.fixture
def demo(tmp_path):
    """Runs it with one of the two programs in its path and ports of its own: (what it printed, its DNS port)."""
    ports = [server.Port() for _ in range(3)]

    def run(dig, status=0):
        for name in [dig, *TOOLS]:
            os.symlink(shutil.which(name), tmp_path / name)
        folder = tmp_path / "folder"
        folder.mkdir()
        done = subprocess.run(["/bin/sh", DEMO], capture_output=True, text=True, timeout=120, check=False, env={
            **os.environ, "PATH": str(tmp_path), "TMPDIR": str(folder), "FAIRLEAD": server.fairlead_program(),
            **dict(zip(("API_PORT", "DNS_PORT", "WORLD_PORT"), (str(p.number) for p in ports)))})
        assert done.returncode == status, done.stdout + done.stderr
        assert not os.listdir(folder) and not left(str(folder))
        return done.stdout + done.stderr, ports[1].number
    run.ports = ports
    yield run
    for p in ports:
        p.release()


def left(folder):
    """Processes that were given files of the folder."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", encoding="utf-8", errors="replace") as f:
                found += [pid] if folder in f.read() else []
        except OSError:
            pass  # it has ended
    return found


@pytest.mark.parametrize("dig", [name for name in ("kdig", "dig") if name == "kdig" or shutil.which(name)])
def test_demo(demo, dig):
    text, port = demo(dig)

    def reply(question, code="NOERROR"):
        """Records of the replies to it, in the order they were asked."""
        head = ASK.format(port=port, question=question, code=code)
        found = []
        for part in text.split(head)[1:]:
            record = part.split("\n", 1)[0]
            found.append(record.split()[-1] if record.startswith("    ") else "")
        return found
    assert reply("AAAA www.example.com") == ["2001:db8::1", "", "2001:db8::1"], text
    assert reply("A www.example.com") == reply("A other.example.org") == ["192.0.2.1"], text
    assert reply("AAAA other.example.org") == [""] and reply("AAAA db.legacy.example.net") == ["2001:db8::100"]
    assert reply("A web.shop.svc.cluster.local")[0].startswith("10.96.")
    assert "AAAA queries that reached the other name server since: 0\n" in text
    told = dict(re.findall(r'type: TemplateConfiguration(\w+)\n\s+status: "True"\n\s+reason: (\w+)', text))
    assert told == {"Valid": "AsExpected", "Applied": "AsExpected"}, text
    assert "message: The only server runs generation 2." in text


def test_port_is_taken(demo):
    """It prints the reason, and ends."""
    port = demo.ports[2].number
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp, socket.create_server(("127.0.0.1", port)):
        udp.bind(("127.0.0.1", port))
        text, _ = demo("kdig", status=1)
    assert "aaaa-demo: there is no name server" in text and "in use" in text
