# SPDX-License-Identifier: GPL-3.0-or-later
"""The client (src/kube) against a real API server and the embedded one: every verb, and everything that goes wrong on the
way."""
import os
import signal
import threading
import time

import pytest

from bothlib import c as api, embedded, real, real_only  # noqa: F401 (fixtures)
from callerlib import Caller, Cutter
from credlib import swap, write_kubeconfig
from lib import certs
from lib.cluster import Cluster

NS = "default"


@pytest.fixture
def caller(api):
    with Caller(api.kubeconfig()) as one:
        yield one


@pytest.fixture
def system(api):
    """What may write status."""
    with Caller(api.kubeconfig(api.system)) as one:
        yield one


def config_map(name, **data):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def ref(name):
    return {"kind": "ConfigMap", "ns": NS, "name": name}


# ---- verbs ----

def test_life_of_an_object(caller):
    made = caller.ok("create", body=config_map("life", a="1"), **ref("life"))
    assert made["data"] == {"a": "1"}
    again = caller.ask("create", body=config_map("life"), **ref("life"))
    assert (again["result"], again["code"], again["reason"]) == ("already defined", 409, "AlreadyExists")
    assert "audit id" in again["message"]
    assert caller.ok("get", **ref("life"))["metadata"]["uid"] == made["metadata"]["uid"]
    merged = caller.ok("merge", body={"data": {"a": None, "b": "2"}}, **ref("life"))
    assert merged["data"] == {"b": "2"}
    merged["data"] = {"d": "4"}
    assert caller.ok("update", body=merged, **ref("life"))["data"] == {"d": "4"}
    applied = caller.ok("apply", manager="test", body=config_map("life", e="5"), **ref("life"))
    assert applied["data"] == {"d": "4", "e": "5"}
    wrong = caller.ask("delete", uid="00000000-0000-0000-0000-000000000000", **ref("life"))
    assert wrong["result"] == "changed meanwhile"
    assert caller.ask("delete", rv=made["metadata"]["resourceVersion"], **ref("life"))["result"] == "changed meanwhile"
    caller.ok("delete", uid=made["metadata"]["uid"], propagation="Background", **ref("life"))
    gone = caller.ask("get", **ref("life"))
    assert (gone["result"], gone["code"], gone["reason"]) == ("not found", 404, "NotFound")


def test_apply_creates_and_takes_over(caller):
    caller.ok("apply", manager="one", body=config_map("applied", a="1"), **ref("applied"))
    taken = caller.ok("apply", manager="two words", body=config_map("applied", a="2"), **ref("applied"))  # 1.7: force
    assert taken["data"] == {"a": "2"}
    assert "two words" in [m["manager"] for m in taken["metadata"]["managedFields"]]
    version = taken["metadata"]["resourceVersion"]
    again = caller.ok("apply", manager="two words", body=config_map("applied", a="2"), **ref("applied"))
    assert again["metadata"]["resourceVersion"] == version


def test_status_is_apart(system):
    where = {"kind": "Pod", "ns": NS, "name": "p"}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"},
           "spec": {"containers": [{"name": "c", "image": "i"}], "automountServiceAccountToken": False}}
    system.ok("create", body=pod, **where)
    done = system.ok("merge", sub="status", body={"status": {"phase": "Running"}, "spec": {"nodeName": "n"}}, **where)
    assert done["status"]["phase"] == "Running"
    assert "nodeName" not in done["spec"]


def test_refusals_carry_their_causes(caller):
    bad = caller.ask("create", body=config_map("Bad Name"), **ref("x"))
    assert (bad["result"], bad["code"], bad["reason"]) == ("invalid configuration", 422, "Invalid")
    assert bad["causes"][0]["field"] == "metadata.name"
    assert "audit id" in bad["message"]
    assert caller.ask("call", method="GET", path="/nowhere")["result"] == "not found"  # not a Status: plain text
    assert caller.ask("call", method="PATCH", path=f"/api/v1/namespaces/{NS}", body={}, type="text/x")["code"] == 415


def test_warnings_are_kept(caller):
    answer = caller.ask("call", method="POST", path=f"/api/v1/namespaces/{NS}/configmaps?fieldValidation=Warn&dryRun=All",
                        body=dict(config_map("warned"), colour="red"))
    assert answer["result"] == "success"
    assert answer["warnings"] == 'unknown field \\"colour\\"\n'
    assert caller.ask("call", method="GET", path="/version")["warnings"] == ""


def test_text_and_namespace(api, caller):
    info = caller.ok("info")
    assert info["text"] == f"{api.url} (context 'test' of {api.kubeconfig()})"
    assert info["namespace"] == "default"


# ---- conflicts ----

def test_stale_writes_are_refused(caller):
    first = caller.ok("create", body=config_map("stale", n="0"), **ref("stale"))
    caller.ok("merge", body={"data": {"n": "1"}}, **ref("stale"))
    for do in ("update", "merge"):
        answer = caller.ask(do, body=dict(first, data={"n": "9"}), **ref("stale"))
        assert (answer["result"], answer["code"], answer["reason"]) == ("changed meanwhile", 409, "Conflict")
    assert caller.ok("get", **ref("stale"))["data"] == {"n": "1"}


def test_edits_of_many_lose_nothing(api, caller):
    """1.7 conflict retry: what was reported as done is there, once."""
    caller.ok("create", body=config_map("counter", n="0"), **ref("counter"))
    results = []

    def work():
        with Caller(api.kubeconfig()) as c:
            for _ in range(20):
                results.append(c.ask("edit", **ref("counter"))["result"])

    threads = [threading.Thread(target=work) for _ in range(3)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert set(results) <= {"success", "changed meanwhile"} and len(results) == 60
    assert results.count("success") > 30
    assert caller.ok("get", **ref("counter"))["data"]["n"] == str(results.count("success"))


# ---- credentials ----

def who(c):
    return c.ok("call", method="POST", path="/apis/authentication.k8s.io/v1/selfsubjectreviews",
                body={"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"})["status"]["userInfo"]


def test_token_rotated(api):
    """On 401 the file is read again at once; without one, when its minute is over."""
    token = os.path.join(api.dir, "token")
    swap(token, "outdated\n")
    with Caller(write_kubeconfig(api, "rotating", {"tokenFile": "token"}), token_ms=3600000) as c:
        assert c.ask("call", method="GET", path="/version")["result"] == "permission denied"
        swap(token, api.admin + "\n")
        assert who(c)["username"] == "admin"
        swap(token, api.system)
        assert who(c)["username"] == "admin"  # still good: no reason to look
        os.remove(token)
        assert who(c)["username"] == "admin"
    swap(token, api.admin)
    with Caller(write_kubeconfig(api, "rotating", {"tokenFile": "token"}), token_ms=1) as c:
        assert who(c)["username"] == "admin"
        swap(token, api.system)
        assert who(c)["username"] == "system:fairlead"


def test_in_cluster(api):
    mount = os.path.join(api.dir, "root", "var/run/secrets/kubernetes.io/serviceaccount")
    os.makedirs(mount)
    for name, text in (("token", api.admin), ("namespace", "kube-system\n"), ("ca.crt", open(api.ca, encoding="ascii").read())):
        with open(os.path.join(mount, name), "w", encoding="utf-8") as f:
            f.write(text)
    env = {"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": str(api.port)}
    with Caller("in-cluster:" + os.path.join(api.dir, "root"), env=env) as c:
        assert who(c)["username"] == "admin"
        assert c.ok("info")["namespace"] == "kube-system"


def test_exec_plugin(api):
    plugin = os.path.join(api.dir, "plugin")
    with open(plugin, "w", encoding="utf-8") as f:
        f.write('#!/bin/sh\necho x >> "$0.runs"\ncat <<E\n{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential",'
                ' "status": {"token": "$TOKEN"}}\nE\n')
    os.chmod(plugin, 0o755)
    path = write_kubeconfig(api, "exec", {"exec": {
        "apiVersion": "client.authentication.k8s.io/v1", "command": "./plugin", "interactiveMode": "Never",
        "env": [{"name": "TOKEN", "value": api.system}]}})
    with Caller(path) as c:
        assert who(c)["username"] == "system:fairlead"
        assert who(c)["username"] == "system:fairlead"
    with open(plugin + ".runs", encoding="ascii") as f:
        assert f.read() == "x\n"  # kept until it expires


@real_only("identities", "api")
def test_acting_as_another(api):
    with Caller(write_kubeconfig(api, "as", {"token": api.admin, "as": "someone", "as-groups": ["g"]})) as c:
        user = who(c)
    assert user["username"] == "someone"
    assert "g" in user["groups"]


def test_other_name_and_no_verification(api):
    for cluster in ({"tls-server-name": "kubernetes.default.svc"},
                    {"insecure-skip-tls-verify": True, "certificate-authority": None}):
        with Caller(write_kubeconfig(api, "name", {"token": api.admin}, **cluster)) as c:
            assert who(c)["username"] == "admin"
    with Caller(write_kubeconfig(api, "name", {"token": api.admin}, **{"tls-server-name": "elsewhere.test"})) as c:
        assert c.ask("call", method="GET", path="/version")["result"] == "TLS failure"


def test_certificates_rotated(tmp_path):
    """The client's certificate and the server's CA change while both run."""
    folder = str(tmp_path)
    for ca in ("ca-old", "ca-new"):
        certs.make_ca(folder, ca)
    certs.make_cert(folder, "api-old", san="IP:127.0.0.1", ca="ca-old", key="api-old.key")
    certs.make_cert(folder, "api-new", san="IP:127.0.0.1", ca="ca-new", key="api-new.key")
    for name in ("alice", "bob"):
        certs.make_cert(folder, name, ca="ca-old", key=f"{name}.key")

    def put(source, target):
        swap(os.path.join(folder, target), (tmp_path / source).read_text())

    def pair(name, to):
        put(f"{name}.pem", f"{to}.pem")
        put(f"{name}.key", f"{to}.key")

    pair("api-old", "serving")
    put("ca-old.pem", "trusted.pem")
    flags = [f"--client-ca-file={folder}/ca-old.pem", f"--tls-cert-file={folder}/serving.pem",
             f"--tls-private-key-file={folder}/serving.key"]

    class Served(Cluster):
        ca = property(lambda self: os.path.join(folder, "trusted.pem"))

    with Served(flags=flags) as api:
        pair("alice", "me")
        config = write_kubeconfig(api, "cert", {"client-certificate": os.path.join(folder, "me.pem"),
                                                "client-key": os.path.join(folder, "me.key")})
        with Caller(config, files_ms=1) as c:
            assert who(c)["username"] == "alice"
            pair("bob", "me")
            assert who(c)["username"] == "bob"
        with Caller(config, files_ms=3600000) as c:
            assert who(c)["username"] == "bob"
            pair("api-new", "serving")
            api.api.stop()
            put("ca-new.pem", "trusted.pem")
            api.start_api()
            put("ca-old.pem", "trusted.pem")
            assert c.ask("call", method="GET", path="/version")["result"] == "TLS failure"
            put("ca-new.pem", "trusted.pem")
            assert who(c)["username"] == "bob"  # looked at because a handshake failed


# ---- load, and a server that is not well ----

def test_429_is_waited_for(tmp_path):
    """With Retry-After, up to ten times; if the client's time is too short, reported at once."""
    flags = ["--enable-priority-and-fairness=false", "--max-requests-inflight=1", "--max-mutating-requests-inflight=1"]
    with Cluster(users={"plain-token": ("plain", [])}, flags=flags) as api:
        config = api.kubeconfig(token="plain-token")
        # A list ahead of the server waits 3 s for its version, and holds the only seat.
        ahead = f"/api/v1/namespaces/{NS}/configmaps?resourceVersion=99999999"
        with Caller(config) as busy, Caller(config) as other:
            deadline, waited = time.monotonic() + 60, 0
            while waited < 0.9:  # less: the seat was given up between the two calls
                quick = {"result": "not yet"}
                busy.start(do="call", method="GET", path=ahead, timeout_ms=3500)
                end = time.monotonic() + 2
                while quick["result"] != "busy" and time.monotonic() < end:
                    quick = other.ask("call", method="GET", path="/api/v1/namespaces/default", timeout_ms=700)
                start = time.monotonic()
                patient = other.ok("call", method="GET", path="/api/v1/namespaces/default")
                waited = time.monotonic() - start if quick["result"] == "busy" else 0
                busy.finish()
                assert time.monotonic() < deadline, quick
            assert quick["code"] == 429 and patient["kind"] == "Namespace"


def test_frozen_server(api):
    """Silence counts as death after the watchdog's time; afterwards everything works again."""
    with Caller(api.kubeconfig()) as c:
        c.start(do="stream", path=f"/api/v1/namespaces/{NS}/configmaps?watch=true&resourceVersion=0", idle_ms=1000)
        api.call("POST", f"/api/v1/namespaces/{NS}/configmaps", config_map("frozen"))
        assert c.line()["total"] > 0
        os.kill(api.api.process.pid, signal.SIGSTOP)
        try:
            start = time.monotonic()
            answer = c.finish()
            assert (answer["result"], "no data received for 1000 ms" in answer["message"]) == ("timed out", True)
            assert time.monotonic() - start < 10
            assert c.ask("call", method="GET", path="/version", timeout_ms=300)["result"] == "timed out"
        finally:
            os.kill(api.api.process.pid, signal.SIGCONT)
        api.wait_ready()
        assert c.ok("call", method="GET", path="/version")["major"] == "1"


def test_server_killed_and_started_again(api):
    with Caller(api.kubeconfig()) as c, Caller(api.kubeconfig()) as watch:
        c.ok("call", method="GET", path="/version")
        watch.start(do="stream", path=f"/api/v1/namespaces/{NS}/configmaps?watch=true&resourceVersion=0")
        assert watch.line()["total"] > 0
        api.api.process.kill()
        api.api.process.wait()
        assert watch.finish()["result"] in ("closed by peer", "success")
        for do in ("GET", "DELETE"):
            answer = c.ask("call", method=do, path="/api/v1/namespaces/none")
            assert (answer["result"], answer["code"]) == ("closed by peer", 0)
        api.start_api()
        assert c.ok("call", method="GET", path="/version")["major"] == "1"


def test_goaway_does_not_concern_us(tmp_path):
    """Over HTTP/1.1 the server has no such frame; --goaway-chance changes nothing."""
    with Cluster(flags=["--goaway-chance=0.02"]) as api, Caller(api.kubeconfig()) as c:
        for _ in range(300):
            c.ok("call", method="GET", path="/version")


# ---- lists and the way there ----

@pytest.fixture(scope="module")
def big_list(api):
    for i in range(20):
        api.call("POST", "/api/v1/namespaces/kube-public/configmaps", config_map(f"big-{i}", text="x" * 50000))
    return "/api/v1/namespaces/kube-public/configmaps?resourceVersion=0"


def test_list_is_gzipped(api, caller, big_list):
    """Asked for on lists; what the reader sees is the same."""
    caller.ask("stream", path=big_list)
    plain = caller.pieces[-1]
    answer = caller.ask("stream", path=big_list, gzip=True)
    assert (answer["result"], caller.pieces[-1]) == ("success", plain)
    assert plain > 20 * 50000


def test_streaming_list_is_not(api, caller):
    """Libcurl cannot join the members of a gzipped watch, so it must come plain."""
    path = ("/api/v1/namespaces/kube-public/configmaps?watch=true&sendInitialEvents=true&allowWatchBookmarks=true"
            "&resourceVersionMatch=NotOlderThan&timeoutSeconds=1")
    answer = caller.ask("stream", path=path)
    assert answer["result"] == "success", answer


def test_connections_cut_anywhere(api, caller, big_list):
    """A proxy that cuts at random offsets: an answer is whole or an error, never less."""
    caller.ask("stream", path=big_list)
    whole = caller.pieces[-1]
    caller.ok("create", body=config_map("cut", n="0"), **ref("cut"))
    with Cutter(api.port) as cutter:
        config = write_kubeconfig(api, "cut", {"token": api.admin}, server=f"https://127.0.0.1:{cutter.port}")
        with Caller(config) as c:
            assert who(c)["username"] == "admin"
            outcomes, edits = [], 0
            cutter.limit = 8000
        with Caller(config) as c:
            for _ in range(60):
                answer = c.ask("get", **ref("cut"))
                outcomes.append(answer["result"])
                if answer["result"] == "success":
                    assert answer["object"]["metadata"]["name"] == "cut"
                edits += c.ask("edit", **ref("cut"))["result"] == "success"
            cutter.limit = 2 * whole
            for _ in range(30):
                outcomes.append(c.ask("stream", path=big_list)["result"])
                assert (outcomes[-1] == "success") == (bool(c.pieces) and c.pieces[-1] == whole)
            cutter.limit = 0
            deadline = time.monotonic() + 30
            while c.ask("get", **ref("cut"))["result"] != "success":  # the last limited connection may still be in use
                assert time.monotonic() < deadline
            n = int(c.ok("get", **ref("cut"))["data"]["n"])
        assert cutter.cuts > 30
    assert set(outcomes) <= {"success", "closed by peer", "TLS failure"}
    assert len(set(outcomes)) > 1
    assert n >= edits  # a cut may hide that a write was done, never the other way round
