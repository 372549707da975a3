# SPDX-License-Identifier: GPL-3.0-or-later
"""`fairlead plan` with what providers have: read there, not taken from the status; nothing is written."""
import json
import subprocess

import pytest

from bothlib import embedded  # noqa: F401 (fixture)
from controllerlib import namespace
from dnsrecordlib import FINALIZER, Zones, delete, get, make, make_secret, patch, record, write_status
from lib import server, terminal

NS = "planreads"


@pytest.fixture(scope="module")
def c(embedded):  # noqa: F811
    namespace(embedded, NS)
    return embedded


@pytest.fixture
def zones(tmp_path):
    return Zones(tmp_path)


def plan(c, *args):
    done = subprocess.run([server.fairlead_program(), "plan", "--kubeconfig", c.kubeconfig(), "-n", NS, "--dnsrecord-types", "memory",
                           *args], capture_output=True, text=True, timeout=60, check=False)
    return done.returncode, done.stdout, done.stderr


def applied(value, host="a.example.com"):
    return {"zone": "example.com", "state": {"applied": {"zone": "example.com", "name": host, "recordType": "A", "ttl": 120,
                                                         "values": [value]}}}


def put_ours(c, zones, name, *values):
    owner = f"fairlead%2F{get(c, NS, name)['metadata']['uid']}"
    zones.write([*zones.lines(), f"set example.com {name}.example.com 1 120 {owner} ours {' '.join(values)}"])


def test_what_the_provider_has(c, zones):
    """DR-P14: the status may say anything: what counts is what the provider has; what another wrote is an error; exit 0, 2 and 1."""
    make_secret(c, NS, zones.data())
    make(c, NS, "a", "a.example.com", values=["192.0.2.2"])
    assert plan(c) == (2, f"{NS}/a: create in zone example.com\n+ a.example.com 120 A 192.0.2.2\n", "")
    write_status(c, NS, "a", applied("192.0.2.2"))
    assert plan(c, "--offline") == (0, "", "")
    assert plan(c) == (2, f"{NS}/a: create in zone example.com\n+ a.example.com 120 A 192.0.2.2\n", "")  # it was lost
    put_ours(c, zones, "a", "192.0.2.7", "192.0.2.8")
    text = f"{NS}/a: change in zone example.com\n- a.example.com 120 A 192.0.2.7\n- a.example.com 120 A 192.0.2.8\n+ a.example.com 120 A 192.0.2.2\n"
    assert plan(c) == (2, text, "")
    status, out, _ = plan(c, "-o", "json")
    assert (status, json.loads(out)[0]["changes"][0]["before"]) == (2, {"ttl": 120, "values": ["192.0.2.7", "192.0.2.8"]})
    patch(c, NS, "a", {"spec": {"values": ["192.0.2.8", "192.0.2.7"]}})
    assert plan(c) == (0, "", "") and plan(c, "--offline")[0] == 2
    # another's
    zones.add_foreign("b.example.com", "A", "198.51.100.1")
    make(c, NS, "b", "b.example.com")
    status, out, _ = plan(c)
    assert status == 1 and out.startswith(f"{NS}/b: cannot be published: the A record set 'b.example.com' exists and is not ours: ")
    status, out, _ = plan(c, "--dnsrecord-ownership", "drop-in")
    assert (status, out) == (2, f"{NS}/b: change in zone example.com\n- b.example.com 300 A 198.51.100.1\n+ b.example.com 120 A 192.0.2.1\n")
    delete(c, NS, "b")
    # a CNAME is alone at its name; of two objects the older has it
    zones.add_foreign("n.example.com", "CNAME", "x.example")
    zones.add_foreign("o.example.com", "TXT", "x")
    make(c, NS, "n", "n.example.com")
    make(c, NS, "o", "o.example.com", kind="CNAME", values=["x.example"])
    write_status(c, NS, "a", applied("192.0.2.8"))
    make(c, NS, "p", "a.example.com")
    status, out, _ = plan(c)
    assert (status, out) == (1, f"{NS}/n: cannot be published: 'n.example.com' has a record of type CNAME, and a CNAME is alone at its name\n"
                             f"{NS}/o: cannot be published: 'o.example.com' has a record of type TXT, and a CNAME is alone at its name\n"
                             f"{NS}/p: cannot be published: the name 'a.example.com' belongs to the DNSRecord 'a' in namespace '{NS}'; "
                             "delete one of the two\n")
    for name in "nop":
        delete(c, NS, name)
    # a deletion
    patch(c, NS, "a", {"metadata": {"finalizers": [FINALIZER]}})
    delete(c, NS, "a")
    assert plan(c) == (2, f"{NS}/a: delete in zone example.com\n- a.example.com 120 A 192.0.2.7\n- a.example.com 120 A 192.0.2.8\n", "")
    make_secret(c, NS, {"other": "x"}, name="useless")
    patch(c, NS, "a", {"spec": {"secretRef": {"name": "useless"}}})
    assert f"{NS}/a: cannot be withdrawn: " in plan(c)[1]
    patch(c, NS, "a", {"metadata": {"finalizers": None}})
    # no zone, no Secret, no provider
    make(c, NS, "d", "d.example.org")
    make(c, NS, "e", "e.example.com", secret={"name": "missing"})
    make(c, NS, "f", "f.example.com", type="none")
    status, out, err = plan(c)
    assert status == 1 and "d: cannot be published" in out and "e: cannot be published: the Secret 'missing'" in out and f"{NS}/f" not in out
    assert err == "fairlead plan: 1 DNSRecord has a type that no provider here serves\n"
    for name in "def":
        delete(c, NS, name)
    assert not zones.calls("apply") and len(zones.sets(foreign=True)) == 3


def test_secret_of_the_file(c, zones, tmp_path, monkeypatch):
    """The Secret beside the record in the file is used, not that of the API; the API is that of ./fairlead-data."""
    make_secret(c, NS, {"other": "x"}, name="fresh")
    (tmp_path / "fairlead-data").mkdir()
    (tmp_path / "fairlead-data" / "kubeconfig").symlink_to(c.kubeconfig())
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "fresh", "namespace": NS}, "stringData": zones.data()}
    (tmp_path / "records.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [
        {**record("s", "s.example.com", secret={"name": "fresh"}), "metadata": {"name": "s", "namespace": NS}}, secret]}))
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("KUBECONFIG", raising=False)
    done = subprocess.run([server.fairlead_program(), "plan", "-f", "records.json", "--dnsrecord-types", "memory"], capture_output=True, text=True,
                          timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (2, f"{NS}/s: create in zone example.com\n+ s.example.com 120 A 192.0.2.1\n", "")


def test_progress(c, zones):
    """DR-P14: many reads: a line on the terminal says how far they are, and goes at the end; the rate of the account holds."""
    make_secret(c, NS, zones.data(), name="many")
    zones.write([*zones.lines(), "limit calls_per_s 50", "limit burst 5"])
    for i in range(30):
        make(c, NS, f"m{i}", f"m{i}.example.com", secret={"name": "many"})
    status, out, shown = terminal.run([server.fairlead_program(), "plan", "--kubeconfig", c.kubeconfig(), "-n", NS, "--dnsrecord-types", "memory"])
    assert status == 2 and out.count(": create in zone example.com") == 30
    assert shown.startswith("\rread 0 of 30 record sets\r") and shown.endswith("\r\033[K")
    assert len(zones.calls("read")) >= 30 and not zones.calls("apply")
