# SPDX-License-Identifier: GPL-3.0-or-later
"""`fairlead dns -conf configmap:NAMESPACE/NAME`: a Corefile through a real API server, under a Role for that one object;
changes, a start without API, deletion, versions that were compacted."""
import os
import subprocess
import tempfile
import threading
import time

import pytest

from controllerlib import config_map, namespace, until
from dnslib import ask, fairlead
from lib import cluster, server
from watcherlib import compact

TOKEN, OTHER = "dns-token", "other-token"
RBAC = "/apis/rbac.authorization.k8s.io/v1/namespaces/dns"
RULE = {"apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["main"], "verbs": ["get", "list", "watch"]}
PATH = "/api/v1/namespaces/dns/configmaps/main"


def text(version, more="reload 1h 0s"):
    """By looking alone a change would be found after an hour."""
    return f'.:@PORT@ {{\n    {more}\n    template ANY ANY {{\n        answer "{{{{ .Name }}}} 0 IN TXT {version}"\n    }}\n}}\n'


@pytest.fixture(scope="module")
def c():
    with cluster.Cluster(users={TOKEN: ("dns-server", []), OTHER: ("nobody", [])}, rbac=True) as one:
        namespace(one, "dns")
        for path, o in (("roles", {"kind": "Role", "rules": [RULE]}),
                        ("rolebindings", {"kind": "RoleBinding", "subjects": [{"kind": "User", "name": "dns-server"}],
                                          "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role",
                                                      "name": "dns"}})):
            o.update(apiVersion="rbac.authorization.k8s.io/v1", metadata={"name": "dns"})
            status, body = one.call("POST", f"{RBAC}/{path}", o)
            assert status == 201, body
        yield one


@pytest.fixture
def state():
    with tempfile.TemporaryDirectory(prefix="fairlead-state-") as one:
        yield one


class Dns:
    """A server by the ConfigMap dns/main, whose key holds `text`."""

    def __init__(self, c, state, token=TOKEN):
        self.c = c
        self.s = fairlead(text("none"), args=["-kubeconfig", c.kubeconfig(token), "-state-dir", state])
        self.s.conf = "configmap:dns/main"

    def put(self, version, raw=None):
        """Writes the ConfigMap; when."""
        now = time.monotonic()
        body = {"Corefile": self.s.fill(raw if raw is not None else text(version))}
        status, _ = self.c.call("GET", PATH)
        config_map(self.c, "dns", "main", body, method="PUT" if status == 200 else "POST")
        return now

    def version(self):
        record = ask(self.s.port(), "marker.example.", "TXT").answer[0][4]
        return record[1:1 + record[0]].decode()

    def served(self, version, since):
        until(lambda: self.version() == version, 20, 0.005)
        return time.monotonic() - since

    def start(self):
        self.s.start()
        return self

    def errors(self):
        return [line for line in self.s.output().splitlines() if line.startswith("[ERROR]")]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.s.stop()


@pytest.mark.alone
def test_changes_are_served_within_a_second(c, state, capsys):
    """OP-T17: under a Role with resourceNames; nothing else may be read with it."""
    assert c.call("GET", "/api/v1/namespaces/dns/configmaps", token=TOKEN)[0] == 403
    with Dns(c, state) as d:
        d.put("v0")
        d.start()
        assert d.version() == "v0"
        took = [d.served(f"v{i}", d.put(f"v{i}")) for i in range(1, 11)]
        with capsys.disabled():
            print(f" [ConfigMap to served: {max(took) * 1000:.0f} ms at most of {len(took)}]", end="")
        assert max(took) < 1.0
        assert d.errors() == []


def test_a_text_that_is_refused_is_said_once(c, state):
    with Dns(c, state) as d:
        d.put("v0")
        d.start()
        d.put(None, raw=text("bad").replace("answer", "anwser"))
        until(lambda: d.errors())
        c.call("PATCH", PATH, {"metadata": {"labels": {"touched": "yes"}}}, content_type="application/merge-patch+json")
        assert d.version() == "v0"
        assert d.served("v1", d.put("v1")) < 1.0
        assert len(d.errors()) == 1 and "configmap:dns/main/Corefile:4:9" in d.errors()[0], d.errors()


def test_a_refused_text_does_not_keep_a_server_from_starting(c, state):
    """The last good copy does, though the API has something else."""
    with Dns(c, state) as d:
        d.put("good")
        d.start()
        d.put(None, raw=text("bad").replace("template", "tmplate"))
        until(lambda: d.errors())
        port = d.s.ports[""]
        copied = open(os.path.join(state, "configmap_dns_main_Corefile"), encoding="utf-8").read()
        assert "good" in copied and str(port.number) in copied
        d.s.process.terminate()
        d.s.process.wait()
        d.start()
        assert d.version() == "good"
        assert "starting with the last good configuration" in d.s.output()
        assert d.served("better", d.put("better")) < 1.0


def test_starts_without_api_from_the_copy(c, state):
    with Dns(c, state) as d:
        d.put("v1")
        d.start()
        d.s.process.terminate()
        d.s.process.wait()
        c.api.stop()
        start = time.monotonic()
        try:
            d.start()
            assert d.version() == "v1"
            took = time.monotonic() - start
        finally:
            c.api = None
            c.start_api()
        assert took < 5.0, took
        assert "starting with the last good configuration" in d.s.output()
        d.put("v2")  # the API is back, and so is the watch
        d.served("v2", time.monotonic())


def test_a_deleted_object_leaves_what_serves(c, state):
    with Dns(c, state) as d:
        d.put("v1")
        d.start()
        assert c.call("DELETE", PATH)[0] == 200
        until(lambda: d.errors())
        assert d.version() == "v1" and "ConfigMap dns/main does not exist" in d.errors()[0]
        d.s.process.terminate()
        d.s.process.wait()
        d.start()  # from the copy
        assert d.version() == "v1"
        assert d.served("v2", d.put("v2")) < 1.0


def test_compacted_versions(c, state):
    """410: away while versions were compacted."""
    with Dns(c, state) as d:
        d.put("v1")
        d.start()
        c.api.stop()
        c.api = None
        c.start_api()
        for i in range(5):
            d.put(f"w{i}")
        compact(c)
        d.put("v2")
        d.served("v2", time.monotonic())


def test_without_copy_it_waits_for_the_object(c, state):
    c.call("DELETE", PATH)
    with Dns(c, state) as d:
        maker = threading.Timer(0.5, lambda: d.put("v1"))
        maker.start()
        try:
            d.start()
        finally:
            maker.join()
        assert d.version() == "v1"


def test_who_may_not_read_it_is_told(c, state):
    """Without a copy, and stopped while it waits."""
    with Dns(c, state, token=OTHER) as d:
        d.put("v1")
        command = d.s.command + ["-conf", d.s.conf, "-dns.port", str(d.s.port())] + d.s.args
        p = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        line = p.stdout.readline()
        p.terminate()
        rest, _ = p.communicate(timeout=10)
        assert p.returncode == 1
        assert "forbidden" in line.lower(), line
        assert "cannot read ConfigMap dns/main" in rest, rest


@pytest.mark.parametrize("name", ["configmap:", "configmap:dns", "configmap:dns/", "configmap:a/b/c/d", "configmap:../x"])
def test_misspelt_names_are_bad_usage(name):
    done = subprocess.run(server.fairlead() + ["-conf", name], capture_output=True, text=True, timeout=20)
    assert done.returncode == 64 and "configmap:NAMESPACE/NAME[/KEY]" in done.stderr
