# SPDX-License-Identifier: GPL-3.0-or-later
"""`fairlead plan`: what would change at DNS providers, from files and from an API."""
import json
import os
import pty
import subprocess

import pytest

from bothlib import embedded  # noqa: F401 (fixture)
from controllerlib import namespace
from dnsrecordlib import get, make, record, write_status
from lib import server

NS = "plan"


@pytest.fixture(scope="module")
def c(embedded):  # noqa: F811
    namespace(embedded, NS)
    return embedded


@pytest.fixture(autouse=True)
def no_api(tmp_path, monkeypatch):
    """None but the one that a test names."""
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.chdir(tmp_path)


def plan(*args, **kw):
    done = subprocess.run([server.fairlead_program(), "plan", *args], capture_output=True, text=True, timeout=60, check=False, **kw)
    return done.returncode, done.stdout, done.stderr


def test_files(tmp_path):
    """Without an API each object is new; what cannot be published is an error; other kinds are passed over."""
    path = tmp_path / "records.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [
        record("a", "A.example.com", values=["192.0.2.2", "192.0.2.1"], type="rfc2136"),
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}}]}))
    status, out, err = plan("-f", str(path))
    assert (status, err) == (2, "")
    assert out == "default/a: create in zone (to be found)\n+ a.example.com 120 A 192.0.2.1\n+ a.example.com 120 A 192.0.2.2\n"
    status, out, err = plan("-f", str(path), "-o", "json", "-n", "shop")
    assert status == 2 and json.loads(out) == [{"namespace": "shop", "name": "a", "changes": [{
        "action": "create", "name": "a.example.com", "recordType": "A", "after": {"ttl": 120, "values": ["192.0.2.1", "192.0.2.2"]}}]}]
    path.write_text(json.dumps(record("b", "b.example.com", values=["x"], type="rfc2136")))
    status, out, err = plan("-f", str(path))
    assert status == 1 and "spec.values[0]" in out
    # nobody's here; and one name of two, which the first has
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [
        record("c", "c.example.com", type="none"), record("d", "d.example.com", type="rfc2136", **{"class": "garden"}),
        record("e", "e.example.com", type="rfc2136"), record("f", "E.example.com", type="rfc2136", kind="CNAME", values=["x.example"])]}))
    status, out, err = plan("-f", str(path))
    assert (status, out) == (1, "default/c: cannot be published: no provider here serves the type 'none'; spec.type can be local, powerdns, rfc2136\n"
                             "default/e: create in zone (to be found)\n+ e.example.com 120 A 192.0.2.1\n"
                             "default/f: cannot be published: the name 'e.example.com' belongs to the DNSRecord 'e' in namespace 'default'; "
                             "delete one of the two\n")
    # who waits for a name keeps it from no other
    chain = tmp_path / "chain.json"
    chain.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [
        record("g", "g.example.com", type="rfc2136"), record("h", "g.example.com", type="rfc2136", kind="CNAME", values=["x.example"]),
        record("i", "g.example.com", type="rfc2136", kind="TXT", values=["x"])]}))
    shown = plan("-f", str(chain))[1]
    assert "default/h: cannot be published: the name 'g.example.com' belongs to the DNSRecord 'g'" in shown and "default/i: create" in shown, shown
    assert err == ("fairlead plan: 1 DNSRecord has a class that is not served (--dnsrecord-classes)\n")
    assert "default/d: create" in plan("-f", str(path), "--dnsrecord-classes", "garden,shoot")[1]
    assert plan("-f", str(tmp_path / "missing"))[0] == 1 and plan("-o", "yaml")[0] == 64 and plan("word")[0] == 64
    status, _, err = plan("--dnsrecord-types", "bogus")
    assert status == 64 and "--dnsrecord-types: 'bogus' is none of " in err and "rfc2136" in err


def test_api(c, tmp_path):
    """With --offline what the status says is published is compared; nothing is changed; exit 0 if nothing would."""
    config = ["--kubeconfig", c.kubeconfig(), "-n", NS, "--offline", "--dnsrecord-types", "memory"]
    assert plan(*config) == (0, "", "")
    make(c, NS, "a", "a.example.com", values=["192.0.2.2"])
    version = get(c, NS, "a")["metadata"]["resourceVersion"]
    assert plan(*config)[0] == 2 and get(c, NS, "a")["metadata"]["resourceVersion"] == version
    write_status(c, NS, "a", {"zone": "Z1", "state": {"applied": {
        "zone": "Z1", "name": "a.example.com", "recordType": "A", "ttl": 120, "values": ["192.0.2.1"]}}})
    changed = f"{NS}/a: change in zone Z1\n- a.example.com 120 A 192.0.2.1\n+ a.example.com 120 A 192.0.2.2\n"
    assert plan(*config) == (2, changed, "")
    # files against the API's status: the same values are no change
    path = tmp_path / "a.json"
    path.write_text(json.dumps(record("a", "a.example.com", values=["192.0.2.1"])))
    assert plan("-f", str(path), *config) == (0, "", "")
    # colours on a terminal only
    main, side = pty.openpty()
    with subprocess.Popen([server.fairlead_program(), "plan", *config], stdout=side, env={**os.environ, "NO_COLOR": ""}) as p:
        assert p.wait(60) == 2
    os.close(side)
    assert "\033[31m- a.example.com" in os.read(main, 4096).decode()
    os.close(main)
    assert plan("--kubeconfig", str(tmp_path / "none"))[0] == 1
