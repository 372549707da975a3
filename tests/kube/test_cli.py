# SPDX-License-Identifier: GPL-3.0-or-later
"""`fairlead get`, `apply` and `delete` as a user without kubectl has them."""
import http.server
import json
import os
import subprocess
import threading

import pytest

from bothlib import c, embedded, real, real_only  # noqa: F401 (fixtures)
from lib import server

SHOP = """apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop, labels: {app: web}}
spec:
  selector: {app: web}
  ports:
  - {name: http, port: 80}
---
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: a, namespace: shop}
  data: {date: "2026-01-02", "yes": "no"}
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: b, namespace: shop}
"""


@pytest.fixture
def cli(c):
    def run(*arguments, text=None, status=0, config=None):
        done = subprocess.run([server.fairlead_program(), *arguments], input=text, text=True, capture_output=True, timeout=90,
                              env=dict(os.environ, KUBECONFIG=config or c.kubeconfig()))
        assert done.returncode == status, done.stdout + done.stderr
        return done.stdout if status == 0 else done.stderr
    return run


@pytest.fixture
def shop(cli):
    cli("apply", "-f", "-", text=SHOP)


def test_apply_says_what_it_did(c, cli):
    c.call("DELETE", "/api/v1/namespaces/shop/services/web")
    first = cli("apply", "-f", "-", text=SHOP)
    assert "service/web created\n" in first and "configmap/b" in first
    assert "service/web unchanged\n" in cli("apply", "-f", "-", text=SHOP)
    assert "service/web configured (dry run)\n" in cli("apply", "--dry-run", "-f", "-", text=SHOP.replace("80", "81"))
    assert "service/web configured\n" in cli("apply", "-f", "-", text=SHOP.replace("80", "82"))


def test_apply_reads_folders_and_goes_on_after_a_refusal(cli, tmp_path):
    (tmp_path / "1.yaml").write_text(SHOP)
    (tmp_path / "2.yml").write_text("""
apiVersion: v1
kind: Service
metadata: {name: bad, namespace: shop}
spec:
  type: ClusterIP
  ports:
  - port: 99999
""")
    (tmp_path / "3.json").write_text(json.dumps({"apiVersion": "v1", "kind": "ConfigMap",
                                                 "metadata": {"name": "last", "namespace": "shop"}}))
    (tmp_path / "notes.txt").write_text("not a manifest")
    said = cli("apply", "-f", str(tmp_path), status=1)
    assert said.startswith(f"{tmp_path}/2.yml:8:5: service/bad: spec.ports[0].port: Invalid value: 99999"), said
    assert "configmap/last" in cli("get", "cm", "last", "-n", "shop", "-o", "name")


def test_conflicts_are_named_and_can_be_forced(c, cli, shop):
    c.call("PATCH", "/api/v1/namespaces/shop/services/web?fieldManager=other&force=true",
           {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}, "spec": {"selector": {"app": "theirs"}}},
           content_type="application/apply-patch+yaml")
    said = cli("apply", "-f", "-", text=SHOP, status=1)
    assert '.spec.selector' in said and "--force-conflicts" in said
    assert "service/web configured" in cli("apply", "-f", "-", "--force-conflicts", text=SHOP)


@pytest.mark.parametrize("text, said", [
    ("a: [", "<stdin>:2:1: "),
    ("", "no object in '-'"),
    ("# nothing\n---\n", "no object in '-'"),
    ("kind: Service\napiVersion: v1\n", "<stdin>:1:1: object without metadata.name"),
    ("kind: ConfigMap\napiVersion: v1\nmetadata: {generateName: g-}\n", "<stdin>:1:1: object without metadata.name"),
    ("kind: ConfigMapList\napiVersion: v1\nitems: [{metadata: {name: x}}]\n", "<stdin>:3:9: object without kind"),
    ("kind: Gadget\napiVersion: x/v1\nmetadata: {name: x}\n", "<stdin>:1:1: Gadget of x/v1 is not a kind that fairlead handles"),
    ("kind: ConfigMap\napiVersion: v1\nmetadata:\n  name: x\n  namespace: one\n",
     "<stdin>:5:3: the object is for namespace 'one', but -n is 'two'"),
])
def test_bad_manifests(cli, text, said):
    assert cli("apply", "-n", "two", "-f", "-", text=text, status=1).startswith(said)


def test_a_kind_that_nobody_serves(cli):
    """kubectl would not help."""
    manifest = "kind: Gadget\napiVersion: x/v1\nmetadata: {name: x}\n"
    for verb in ("apply", "delete"):
        said = cli(verb, "-f", "-", text=manifest, status=1)
        assert "Gadget of x/v1 is not a kind that fairlead handles, and " in said and "does not serve it" in said and "kubectl" not in said


@real_only("kinds")
def test_a_kind_that_only_kubectl_handles(cli):
    said = cli("apply", "-f", "-", text="kind: LimitRange\napiVersion: v1\nmetadata: {name: x}\n", status=1)
    assert "LimitRange of v1 is not a kind that fairlead handles; use kubectl" in said


def test_get_as_table(cli, shop):
    lines = cli("get", "svc", "-A").splitlines()
    assert lines[0].split() == ["NAMESPACE", "NAME", "TYPE", "CLUSTER-IP", "EXTERNAL-IP", "PORT(S)", "AGE"]
    assert any(line.split()[:3] == ["shop", "web", "ClusterIP"] for line in lines)
    assert cli("get", "svc", "-n", "shop", "-o", "wide").splitlines()[0].endswith("SELECTOR")
    both = cli("get", "svc/web", "ns/shop", "-n", "shop")
    assert "\n\nNAME   STATUS   AGE\nshop   Active" in both
    assert cli("get", "svc", "-l", "app=none", "-n", "shop") == ""


def test_get_as_text(cli, shop):
    one = json.loads(cli("get", "svc", "web", "-n", "shop", "-o", "json"))
    assert one["metadata"]["name"] == "web" and "managedFields" not in one["metadata"]
    assert "managedFields" in cli("get", "svc", "web", "-n", "shop", "-o", "json", "--show-managed-fields")
    every = json.loads(cli("get", "cm", "-n", "shop", "-o", "json"))
    assert {(o["kind"], o["metadata"]["name"]) for o in every["items"]} >= {("ConfigMap", "a"), ("ConfigMap", "b")}
    text = cli("get", "cm", "a", "-n", "shop", "-o", "yaml")
    assert '  date: "2026-01-02"\n' in text and '  "yes": "no"\n' in text
    assert "configmap/a unchanged" in cli("apply", "-f", "-", "--force-conflicts", text=SHOP)


def test_get_pages(c, cli):
    """More than a page, and the pages are put together."""
    for i in range(3):
        for j in range(200):
            c.call("POST", "/api/v1/namespaces/default/configmaps", {"metadata": {"name": f"page-{i}-{j:03}"}})
    assert len(cli("get", "cm", "-o", "name").splitlines()) >= 600


def test_get_large_objects(c, cli):
    """More than an answer may have (16 MiB) in one page."""
    for i in range(20):
        status, body = c.call("POST", "/api/v1/namespaces/kube-public/configmaps",
                              {"metadata": {"name": f"large-{i}"}, "data": {"x": "y" * 1_000_000}})
        assert status == 201, body
    assert len(cli("get", "cm", "-n", "kube-public", "-o", "name").splitlines()) == 20


def test_no_room_for_the_output(c):
    for arguments in (["get", "ns"], ["get", "ns", "-o", "yaml"]):
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = subprocess.run([server.fairlead_program(), *arguments, "--kubeconfig", c.kubeconfig()], stdout=full,
                                  stderr=subprocess.PIPE, text=True, timeout=60)
        assert done.returncode == 1
        assert "cannot write to standard output: No space left on device" in done.stderr


def test_cells_cannot_steer_a_terminal(c, cli):
    event = {"metadata": {"name": "steer"}, "involvedObject": {"kind": "Pod", "name": "x", "namespace": "default"},
             "message": "a\x1b[2Jb\nc", "reason": "R", "type": "Normal"}
    assert c.call("POST", "/api/v1/namespaces/default/events", event)[0] == 201
    line = next(x for x in cli("get", "events").splitlines() if "pod/x" in x)
    assert "\x1b" not in line and "a [2Jb c" in line


class Garbage(http.server.BaseHTTPRequestHandler):
    """Answers everything alike."""

    def do_GET(self):
        body = self.server.answer
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.mark.parametrize("answer, said", [
    (b"<html>log in first</html>", "the answer is not JSON"),
    (b"null", "the response is not an API object"),
    (b"[1, 2]", "the response is not an API object"),
    (b'{"kind": "Table", "metadata": {"continue": "x"}}', "the list does not end"),
])
def test_answers_that_are_none(tmp_path, answer, said):
    with http.server.HTTPServer(("127.0.0.1", 0), Garbage) as one:
        one.answer = answer
        threading.Thread(target=one.serve_forever, daemon=True).start()
        config = tmp_path / "config"
        url = f"http://127.0.0.1:{one.server_port}"
        config.write_text(json.dumps({
            "current-context": "x", "contexts": [{"name": "x", "context": {"cluster": "x", "user": "x"}}],
            "clusters": [{"name": "x", "cluster": {"server": url}}], "users": [{"name": "x", "user": {}}]}))
        for arguments in (["svc"], ["svc", "-o", "yaml"]):
            done = subprocess.run([server.fairlead_program(), "get", *arguments, "--kubeconfig", str(config)],
                                  capture_output=True, text=True, timeout=60)
            assert done.returncode == 1
            assert said in done.stderr and "no answer" not in done.stderr
            assert "end" in said or f"{url} (context 'x' of {config}): {said}" in done.stderr
        one.shutdown()


@pytest.mark.parametrize("arguments, status, said", [
    (["get"], 64, "no kind: use"),
    (["get", "nope"], 1, "unknown kind 'nope'"),
    (["get", "clusters"], 1, "use clusters.cluster.x-k8s.io or clusters.extensions.gardener.cloud"),
    (["get", "svc", "none"], 1, 'service/none: services "none" not found'),
    (["get", "svc", "-o", "xml"], 64, "-o: expected table, wide, yaml, json or name"),
    (["get", "svc", "a", "-A"], 64, "-A lists all objects of a kind"),
    (["get", "svc/a", "-A"], 64, "-A lists all objects of a kind"),
    (["get", "svc/a", "b"], 1, "'b' is not KIND/NAME"),
    (["get", "--bogus"], 64, "flag provided but not defined: -bogus"),
    (["apply"], 64, "nothing to apply"),
    (["apply", "-f", "/nonexistent"], 1, "cannot read '/nonexistent'"),
    (["delete", "svc"], 1, "no name: use `fairlead delete service NAME`"),
    (["delete", "svc", "x", "--cascade", "all"], 64, "--cascade: expected background, foreground or orphan"),
])
def test_what_is_wrong_is_said(cli, arguments, status, said):
    assert said in cli(*arguments, status=status)


@real_only("discovery")
def test_a_kind_that_is_not_there_is_said(cli):
    assert "does not serve this kind" in cli("get", "dns", status=1)


@pytest.mark.parametrize("name", ["", ".", "..", "%2e%2e"])
def test_names_that_lead_elsewhere(c, cli, shop, name):
    """`configmaps/..` is no ConfigMap but the namespace, `configmaps/` all of them: neither is touched."""
    for arguments in (["get", "cm", name], ["delete", "cm", name, "--no-wait"]):
        assert f"'{name}' cannot be the name of a configmap" in cli(*arguments, "-n", "shop", status=1)
    assert f"'{name}' cannot be the name of a namespace" in cli("delete", "cm", "a", "-n", name, status=1)
    manifest = json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "shop"}})
    for verb in ("apply", "delete"):
        said = cli(verb, "-f", "-", text=manifest, status=1)
        assert "cannot be the name of an object" in said or "object without metadata.name" in said
    assert "deletionTimestamp" not in c.call("GET", "/api/v1/namespaces/shop")[1]["metadata"]
    assert len(c.call("GET", "/api/v1/namespaces/shop/configmaps")[1]["items"]) >= 2


def test_delete_waits(c, cli, shop):
    assert cli("delete", "svc/web", "-n", "shop") == "service/web deleted\n"
    assert "not found" in cli("delete", "svc/web", "-n", "shop", status=1)
    assert cli("delete", "svc", "web", "-n", "shop", "--ignore-not-found") == ""
    c.call("POST", "/api/v1/namespaces/shop/configmaps", {"metadata": {"name": "held", "finalizers": ["example.org/x"]}})
    said = cli("delete", "cm", "held", "-n", "shop", "--timeout", "0s", status=1)
    assert 'deletion has begun, but the object still exists after 0s: held by ["example.org/x"]' in said


def test_delete_by_manifest_of_another_namespace(c, cli, shop):
    """As apply: what is meant is not clear, so nothing is done."""
    text = "kind: ConfigMap\napiVersion: v1\nmetadata:\n  name: a\n  namespace: shop\n"
    assert cli("delete", "-n", "two", "-f", "-", text=text, status=1).startswith(
        "<stdin>:5:3: the object is for namespace 'shop', but -n is 'two'")
    assert c.call("GET", "/api/v1/namespaces/shop/configmaps/a")[0] == 200


def test_delete_by_manifest(cli, shop):
    done = cli("delete", "-f", "-", text=SHOP.split("---", 1)[1])
    assert done == "configmap/b deleted\nconfigmap/a deleted\nservice/web deleted\n"


def test_no_server(cli, tmp_path):
    config = tmp_path / "config"
    config.write_text("""apiVersion: v1
kind: Config
current-context: x
contexts: [{name: x, context: {cluster: x, user: x}}]
clusters: [{name: x, cluster: {server: "http://127.0.0.1:1"}}]
users: [{name: x, user: {}}]
""")
    said = cli("get", "svc", config=str(config), status=1)
    assert "no answer from http://127.0.0.1:1 (context 'x' of" in said
    assert "cannot" in cli("get", "svc", "--data", str(tmp_path / "none"), status=1)


def test_data_directory_of_this_machine(c, tmp_path):
    folder = tmp_path / "fairlead-data"
    folder.mkdir()
    os.symlink(c.kubeconfig(), folder / "kubeconfig")
    environment = {k: v for k, v in os.environ.items() if k != "KUBECONFIG"}
    for arguments, where in ((["get", "ns"], tmp_path), (["get", "ns", "--data", str(folder)], "/")):
        done = subprocess.run([server.fairlead_program(), *arguments], cwd=where, env=dict(environment, HOME="/nonexistent"),
                              capture_output=True, text=True, timeout=60)
        assert done.returncode == 0 and "kube-system" in done.stdout, done.stderr
