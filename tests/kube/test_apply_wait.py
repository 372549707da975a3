# SPDX-License-Identifier: GPL-3.0-or-later
"""`fairlead apply --wait`: applies DNSRecords and waits until the controller is done with them; progress on a terminal and elsewhere."""
import json
import subprocess

import pytest

from bothlib import embedded  # noqa: F401 (fixture)
from controllerlib import namespace
from dnsrecordlib import Zones, make_secret, record, run_controller
from lib import server, terminal

NS = "applywait"


@pytest.fixture(scope="module")
def c(embedded):  # noqa: F811
    namespace(embedded, NS)
    return embedded


@pytest.fixture(scope="module")
def zones(c, tmp_path_factory):
    zones = Zones(tmp_path_factory.mktemp("zones"))
    zones.add_foreign("taken.example.com", "A", "192.0.2.7")
    make_secret(c, NS, zones.data())
    return zones


@pytest.fixture
def controller(c):
    p = run_controller(c)
    yield p
    assert p.stop() == 0


def command(c, tmp_path, hosts, *args):
    items = [{**record(host, f"{host}.example.com")} for host in hosts]
    items.append({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "beside"}})
    file = tmp_path / "manifests.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}), encoding="ascii")
    return [server.fairlead_program(), "apply", "-f", str(file), "--kubeconfig", c.kubeconfig(), "-n", NS, *args]


def apply(*args):
    done = subprocess.run(command(*args), capture_output=True, text=True, timeout=90, check=False)
    return done.returncode, done.stdout, done.stderr


def test_all_settle(c, zones, controller, tmp_path):
    """Many: lists are read. Lines, without control characters, where there is no terminal; the last says that all are settled."""
    hosts = [f"r{i}" for i in range(30)]
    status, out, err = apply(c, tmp_path, hosts, "--wait", "--timeout", "60s")
    lines = err.splitlines()
    assert status == 0 and out.count(" created\n") == 31, err
    assert lines[0] == "0 of 30 settled, 0 failed, 0 s" and lines[-1].startswith("30 of 30 settled, 0 failed, ")
    assert "\r" not in err and "\033" not in err
    assert len(zones.sets()) >= 30
    assert apply(c, tmp_path, hosts, "--wait")[0] == 0  # nothing changes: settled already


def test_terminal(c, zones, controller, tmp_path):
    """One line with a bar, written anew each time."""
    status, out, shown = terminal.run(command(c, tmp_path, ["t1", "t2"], "--wait", "--timeout", "60s"))
    frames = shown.split("\r[")
    assert status == 0 and "created" in out, shown
    assert frames[0] == "" and frames[1] == "." * 30 + "] 0 of 2 settled, 0 failed, 0 s\033[K"
    assert frames[-1].startswith("#" * 30 + "] 2 of 2 settled, 0 failed, ") and shown.endswith("\033[K\r\n")
    assert shown.count("\n") == 1


def test_failure(c, zones, controller, tmp_path):
    """The names and reasons of those that failed; the others settle."""
    status, _, err = apply(c, tmp_path, ["good", "taken"], "--wait", "--timeout", "60s")
    lines = err.splitlines()
    assert status == 1 and lines[-2].startswith("1 of 2 settled, 1 failed, "), err
    assert lines[-1].startswith(f"dnsrecord.extensions.gardener.cloud/taken in {NS} failed: ") and "taken.example.com" in lines[-1]


def test_timeout(c, zones, tmp_path):
    """No controller runs."""
    status, _, err = apply(c, tmp_path, ["late"], "--wait", "--timeout", "600ms")
    assert status == 1
    assert err.splitlines()[-1] == (f"dnsrecord.extensions.gardener.cloud/late in {NS} is not settled after 600ms: "
                                    "no controller has reported about it")


@pytest.mark.parametrize("args, said", [
    (["--timeout", "5s"], "--timeout is for --wait"),
    (["--wait", "--timeout", "5"], "--timeout: expected a duration such as '90s', got '5'"),
    (["--wait", "--timeout", "0"], "--timeout: expected a duration such as '90s', got '0'"),
    (["--wait", "--dry-run"], "--wait and --dry-run exclude each other"),
])
def test_usage(c, tmp_path, args, said):
    status, out, err = apply(c, tmp_path, ["no"], *args)
    assert status == 64 and said in err and out == ""
