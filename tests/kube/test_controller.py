# SPDX-License-Identifier: GPL-3.0-or-later
"""The example controller and the manager around it, against a real API server and the embedded one."""
import re
import subprocess

import pytest

from bothlib import c as served, embedded, real  # noqa: F401 (fixtures)
from controllerlib import FAST, config_map, copy_of, events, namespace, start, until
from lib import server
from lib.upstream import Upstream

LABEL = "example.fairlead.dev/copy"
NAMESPACES = "/api/v1/namespaces"


@pytest.fixture(scope="module")
def c(served):  # noqa: F811
    config_map(served, "default", "fairlead-example", {"a": "1"})
    return served


@pytest.fixture
def run(c):
    """run(*args): a started controller; all end with status 0."""
    made = []

    def make(*args, **kw):
        made.append(start(c.kubeconfig(), *FAST, *args, **kw))
        return made[-1]

    yield make
    for p in made:
        if p.process.poll() is None:
            assert p.stop() == 0, p.text()


def set_label(c, ns, value):
    status, body = c.call("PATCH", f"{NAMESPACES}/{ns}", {"metadata": {"labels": {LABEL: value}}},
                          content_type="application/merge-patch+json")
    assert status == 200, body


def test_copies_follow(c, run):
    """Made, changed, repaired, removed; with Events; a settled controller writes nothing."""
    namespace(c, "one", {LABEL: "true"})
    namespace(c, "other")
    p = run()
    until(lambda: copy_of(c, "one") == {"a": "1"})
    assert copy_of(c, "other") is None
    config_map(c, "default", "fairlead-example", {"a": "2"}, method="PUT")
    until(lambda: copy_of(c, "one") == {"a": "2"})
    set_label(c, "other", "true")
    until(lambda: copy_of(c, "other") == {"a": "2"})
    # Somebody meddles with a copy, or deletes it.
    config_map(c, "one", "fairlead-example-copy", {"a": "x"}, {"app.kubernetes.io/managed-by": "fairlead-example"}, "PUT")
    until(lambda: copy_of(c, "one") == {"a": "2"})
    c.call("DELETE", f"{NAMESPACES}/one/configmaps/fairlead-example-copy")
    until(lambda: copy_of(c, "one") == {"a": "2"})
    set_label(c, "one", "false")
    until(lambda: copy_of(c, "one") is None)
    seen = until(lambda: [e for e in events(c, "one") if e["reason"] == "Copied"])
    assert seen[0]["reportingController"] == "fairlead.dev/example"
    assert seen[0]["regarding"]["name"] == "fairlead-example-copy"
    # 1.9: like Events are counted.
    until(lambda: any(e.get("series", {}).get("count", 0) >= 2 for e in events(c, "one")))
    version = c.call("GET", f"{NAMESPACES}/other/configmaps/fairlead-example-copy")[1]["metadata"]["resourceVersion"]
    set_label(c, "one", "true")
    until(lambda: copy_of(c, "one") == {"a": "2"})
    assert c.call("GET", f"{NAMESPACES}/other/configmaps/fairlead-example-copy")[1]["metadata"]["resourceVersion"] == version
    assert "tried again" not in p.text()


def test_does_not_take_what_is_not_its_own(c, run):
    namespace(c, "taken")
    config_map(c, "taken", "fairlead-example-copy", {"mine": "1"})
    set_label(c, "taken", "true")
    run()
    until(lambda: [e for e in events(c, "default") if e["reason"] == "NameTaken" and e["regarding"]["name"] == "taken"])
    assert copy_of(c, "taken") == {"mine": "1"}


def test_health_and_metrics(c, run):
    p = run()
    p.wait_line("leading as")
    assert p.get("/healthz") == (200, "ok\n")
    assert p.get("/readyz") == (200, "ok\n")
    status, text = p.get("/metrics")
    assert status == 200
    assert 'fairlead_controller_leader{controller="example"} 1' in text
    assert re.search(r'fairlead_controller_reconciles_total\{controller="example",result="done"\} \d+', text)
    assert "fairlead_controller_reconcile_duration_seconds_bucket" in text
    assert p.get("/nothing")[0] == 404


def test_kill_at_any_time_and_start_again(c, run):
    """kill -9, start again, same end state."""
    names = [f"kill-{i}" for i in range(10)]
    for name in names:
        namespace(c, name, {LABEL: "true"})
    for i in range(4):
        config_map(c, "default", "fairlead-example", {"round": str(i)}, method="PUT")
        p = run()
        p.wait_line("leading as")
        until(lambda: any(copy_of(c, n) == {"round": str(i)} for n in names), every=0.001)
        p.kill()
    run()
    until(lambda: all(copy_of(c, n) == {"round": "3"} for n in names))


ADDRESSES = "example.fairlead.dev/addresses"


def set_lookup(c, ns, name):
    body = {"metadata": {"annotations": {"example.fairlead.dev/lookup": name}}}
    assert c.call("PATCH", f"{NAMESPACES}/{ns}", body, content_type="application/merge-patch+json")[0] == 200


def addresses_of(c, ns):
    status, body = c.call("GET", f"{NAMESPACES}/{ns}/configmaps/fairlead-example-copy")
    return (body["metadata"].get("annotations") or {}).get(ADDRESSES) if status == 200 else None


SLOW = """slow.example. A
    delay 1s
    answer {name} 60 IN A 192.0.2.1
* A
    answer {name} 60 IN A 192.0.2.7
*
    rcode NOERROR
"""


def test_lookups_complete_later(c, run):
    """While lookups are under way others are reconciled; killed between submit and completion, the next process
    arrives at the same state; a changed name gives the addresses of that name."""
    names = [f"later-{i}" for i in range(30)]
    with Upstream(SLOW) as up:
        for name in names:
            namespace(c, name)
            set_lookup(c, name, "slow.example")
            set_label(c, name, "true")
        p = run("--lookup-servers", up.address)
        until(lambda: len(up.asked()) >= 2, every=0.001)
        assert not any(addresses_of(c, n) for n in names[:3])
        p.kill()
        before = len(up.asked())
        p = run("--lookup-servers", up.address)
        until(lambda: len(up.asked()) > before)
        namespace(c, "quick", {LABEL: "true"})
        until(lambda: copy_of(c, "quick") is not None)
        until(lambda: all(addresses_of(c, n) == "192.0.2.1" for n in names))
        set_lookup(c, names[0], "other.example")
        until(lambda: addresses_of(c, names[0]) == "192.0.2.7")
        until(lambda: 'fairlead_controller_work_under_way{controller="example"} 0' in p.get("/metrics")[1])
        assert "tried again" not in p.text()


def test_addresses_hold_for_their_ttl(c, run):
    """Changes of other things ask no server again; a lookup of another name that fails leaves no address of the old one."""
    with Upstream("bad.example.\n    rcode SERVFAIL\n" + SLOW) as up:
        namespace(c, "held")
        set_lookup(c, "held", "other.example")
        set_label(c, "held", "true")
        run("--lookup-servers", up.address)
        until(lambda: addresses_of(c, "held") == "192.0.2.7")
        asked = up.count("other.example.")
        for i in range(3):
            config_map(c, "default", "fairlead-example", {"held": str(i)}, method="PUT")
            until(lambda: copy_of(c, "held") == {"held": str(i)})
        assert up.count("other.example.") == asked
        set_lookup(c, "held", "bad.example")
        until(lambda: copy_of(c, "held") is not None and addresses_of(c, "held") is None)


def test_lookup_that_fails(c, run):
    """The copy is made without addresses, and an Event says which server did what."""
    with Upstream("*\n    rcode SERVFAIL\n") as up:
        namespace(c, "failing")
        set_lookup(c, "failing", "www.example")
        set_label(c, "failing", "true")
        run("--lookup-servers", up.address)
        until(lambda: copy_of(c, "failing") is not None)
        assert addresses_of(c, "failing") is None
        seen = until(lambda: [e for e in events(c, "default")
                              if e["reason"] == "LookupFailed" and e["regarding"]["name"] == "failing"])
        assert seen[0]["note"] == f"{up.address}: SERVFAIL"


def test_server_away_is_not_ready_yet(c):
    """An API server that does not answer: not ready, not leading, ends at once on a signal."""
    held = server.Port()
    text = open(c.kubeconfig()).read().replace(str(c.port), str(held.number))
    path = c.kubeconfig() + "-nobody"
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    p = start(path, *FAST)
    try:
        status, why = p.get("/readyz")
        assert status == 503 and "controller example waits for the list of Namespace" in why
        assert p.get("/healthz")[0] == 200
        p.wait_line(r"\[WARNING\] controller/example: watch of ")
        assert not p.find("leading as")
    finally:
        held.release()
        assert p.stop() == 0


def test_why_it_does_not_lead_is_said(c, run):
    """A missing namespace or role: it waits, and logs the reason."""
    p = run("--namespace", "not-there")
    p.wait_line(r"""\[WARNING\] controller/example: lease 'fairlead-example' in namespace 'not-there': .*"not-there" not found""")
    assert not p.find("leading as")


@pytest.mark.parametrize("args, says", [
    ([], "no controllers: use --controllers NAME,..."),
    (["--controllers", "nonsense"], "unknown controller 'nonsense'"),
    (["--controllers", "example,example"], "named twice"),
    (["--controllers", "example", "--lease-renew", "20s"], "must last longer than"),
    (["--controllers", "example", "--lease-retry", "x"], "expected a duration such as '15s'"),
    (["--controllers", "example", "--take-lease", "other"], "'other' is not one of those of --controllers"),
    (["--controllers", "dnsoperator", "--take-lease", "dnsoperator"], "use dnsoperator=NAMESPACE/LEASE"),
    (["--controllers", "example", "--take-lease", "example=a/b/c"], "expected NAME, NAME=LEASE or NAME=NAMESPACE/LEASE"),
    (["--controllers", "example", "--take-lease", "example", "--no-election"], "exclude each other"),
    (["--controllers", "example", "--heartbeat", "1500ms"], "expected whole seconds"),
    (["--controllers", "example", "more"], "takes no arguments"),
    (["--what"], "flag provided but not defined: -what"),
])
def test_bad_usage(args, says):
    done = subprocess.run([server.fairlead_program(), "controller", *args], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (64, "")
    assert says in done.stderr


def test_failures_say_why(tmp_path, c):
    for args, says in [(["--kubeconfig", str(tmp_path / "none")], "none"),
                       (["--kubeconfig", c.kubeconfig(), "--context", "other"], "other"),
                       (["--kubeconfig", c.kubeconfig(), "--listen", "300.0.0.1:1"], "cannot listen on '300.0.0.1:1'")]:
        done = subprocess.run([server.fairlead_program(), "controller", "--controllers", "example", *args],
                              capture_output=True, text=True, timeout=30)
        assert done.returncode == 1
        assert "fairlead controller: " in done.stderr and says in done.stderr


def test_help():
    done = subprocess.run([server.fairlead_program(), "controller", "--help"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    for word in ("-controllers NAME,...", "-lease-duration TIME", "example "):
        assert word in done.stdout
