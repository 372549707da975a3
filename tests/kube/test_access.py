# SPDX-License-Identifier: GPL-3.0-or-later
"""Who may ask the embedded API, for what, and in which ways: identities, what reviews say and what is then
allowed, files, TLS, and requests that no client sends. Where a real server has the same question its answer is compared."""
import json
import os
import socket
import ssl
import stat
import subprocess

import pytest

from bothlib import c, embedded, real  # noqa: F401 (fixtures)
from lib import server
from lib.cluster import Embedded

VERBS = ["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"]
NS = "default"


# ---- identities ----

def raw(api, request, context=None, seconds=20):
    """All that comes back for these bytes, until the server closes or is silent."""
    context = context or ssl.create_default_context(cafile=api.ca)
    with socket.create_connection(("127.0.0.1", api.port), timeout=seconds) as plain:
        with context.wrap_socket(plain, server_hostname="127.0.0.1") as tls:
            out = b""
            try:
                tls.sendall(request)
                while True:
                    more = tls.recv(65536)
                    if not more:
                        return out
                    out += more
            except (ConnectionResetError, BrokenPipeError, ssl.SSLError):
                return out  # it hung up


def status_of(reply):
    """(code, type, body) of an HTTP/1.x reply."""
    head, _, body = reply.partition(b"\r\n\r\n")
    lines = head.decode().split("\r\n")
    fields = dict(line.split(": ", 1) for line in lines[1:])
    return int(lines[0].split()[1]), fields.get("Content-Type"), json.loads(body) if body[:1] == b"{" else body.decode()


@pytest.mark.parametrize("field", [
    "", "Authorization: Bearer\r\n", "Authorization: Bearer \r\n", "Authorization: Bearer wrong\r\n",
    "Authorization: Basic YWRtaW46YWRtaW4=\r\n", "Authorization: Bearer {}x\r\n", "Authorization: {}\r\n",
    "Authorization: Bearer wrong\r\nAuthorization: Bearer {}\r\n", "X-Remote-User: admin\r\n"])
@pytest.mark.parametrize("path", ["/api/v1/namespaces", "/api", "/apis/k8s.ovn.org/v1/dnsnames", "/nothing", "/metrics"])
def test_strangers_are_refused_alike(real, embedded, field, path):  # noqa: F811
    """401 and the same Status, whatever the path."""
    answers = []
    for api in (real, embedded):
        request = f"GET {path} HTTP/1.1\r\nHost: x\r\n{field.format(api.admin)}Connection: close\r\n\r\n"
        answers.append(status_of(raw(api, request.encode())))
    assert answers[0] == answers[1]
    assert answers[1] == (401, "application/json", {
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": "Unauthorized",
        "reason": "Unauthorized", "code": 401})


@pytest.mark.parametrize("field", ["Authorization: Bearer {}", "authorization: bearer {}", "AUTHORIZATION:Bearer {}"])
def test_tokens_are_taken_alike(c, field):  # noqa: F811
    request = f"GET /api/v1/namespaces/default HTTP/1.1\r\nHost: x\r\n{field.format(c.admin)}\r\nConnection: close\r\n\r\n"
    assert status_of(raw(c, request.encode()))[0] == 200


def test_nobody_acts_as_another(embedded):  # noqa: F811
    """A client that asks for less than it has must not get all."""
    for field in ("Impersonate-User: eve", "Impersonate-Group: g", "Impersonate-Uid: 1"):
        request = (f"GET /api/v1/namespaces HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {embedded.admin}\r\n{field}\r\n"
                   "Connection: close\r\n\r\n")
        code, _, body = status_of(raw(embedded, request.encode()))
        assert code == 403 and "cannot impersonate" in body["message"], body


# ---- reviews, and what is allowed ----

def resources(api):
    """[(group, version, plural, sub, namespaced)] of all that is served and kept."""
    found = []
    versions = [("", "v1")] + [(g["name"], v["version"]) for g in api.call("GET", "/apis")[1]["groups"] for v in g["versions"]]
    for group, version in versions:
        for r in api.call("GET", f"/apis/{group}/{version}" if group else f"/api/{version}")[1]["resources"]:
            plural, _, sub = r["name"].partition("/")
            if "get" in r["verbs"]:
                found.append((group, version, plural, sub, r["namespaced"]))
    return found


def attempt(api, token, group, version, plural, sub, namespaced, verb):
    """Does a request of this verb get past the rights? It is one that changes nothing."""
    path = (f"/apis/{group}/{version}" if group else f"/api/{version}") + (f"/namespaces/{NS}" if namespaced else "") + f"/{plural}"
    named = path + "/absent-object" + (f"/{sub}" if sub else "")
    method, where = {
        "get": ("GET", named), "list": ("GET", path), "watch": ("GET", path + "?watch=1&labelSelector=,"),
        "create": ("POST", (named if sub else path) + "?dryRun=All"), "update": ("PUT", named + "?dryRun=All"),
        "patch": ("PATCH", named + "?dryRun=All"), "delete": ("DELETE", named + "?dryRun=All"),
        "deletecollection": ("DELETE", path + "?dryRun=All&labelSelector=,")}[verb]
    body = {} if method in ("POST", "PUT", "PATCH") else None
    code, said = api.call(method, where, body, token=token, content_type="application/merge-patch+json" if verb == "patch" else
                          "application/json")
    assert code not in (200, 201) or verb in ("list",), (method, where, said)
    return not (code == 403 and f"cannot {verb} resource" in said["message"])


def reviewed(api, token, group, plural, sub, namespaced, verb):
    attributes = {"verb": verb, "group": group, "resource": plural, "subresource": sub, "namespace": NS if namespaced else "",
                  "name": "absent-object"}
    code, answer = api.call("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", {
        "spec": {"resourceAttributes": attributes}}, token=token)
    assert code == 201, answer
    return answer["status"]["allowed"]


def ruled(api, token):
    """{(group, resource, verb)} of a review of rules."""
    code, answer = api.call("POST", "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", {"spec": {"namespace": NS}}, token=token)
    assert code == 201 and not answer["status"]["incomplete"]
    return {(g, r, v) for rule in answer["status"]["resourceRules"] for g in rule["apiGroups"] for r in rule["resources"]
            for v in rule["verbs"]}


@pytest.mark.parametrize("who", ["admin", "system"])
def test_reviews_say_what_is_then_allowed(embedded, who):  # noqa: F811
    """Every verb on every kind, and on its status: SelfSubjectAccessReview, SelfSubjectRulesReview and the request agree."""
    token, denied = getattr(embedded, who), set()
    rules = ruled(embedded, token)
    served = resources(embedded)
    assert len(served) > 30
    for group, version, plural, sub, namespaced in served:
        for verb in VERBS:
            if sub and verb in ("list", "watch", "deletecollection"):
                continue  # no such request
            say = reviewed(embedded, token, group, plural, sub, namespaced, verb)
            assert attempt(embedded, token, group, version, plural, sub, namespaced, verb) == say, (plural, sub, verb)
            name = f"{plural}/{sub}" if sub else plural
            if (group, name, verb) in rules:
                assert say, (group, name, verb)
            if not say:
                denied.add((name, verb))
                assert (group, name, verb) not in rules
    if who == "system":
        assert not denied
    else:
        writes = {"create", "update", "patch", "delete", "deletecollection"}
        assert {d for d in denied if d[0] == "dnsnames"} == {("dnsnames", v) for v in writes}
        users = {"ingresses", "nodes", "pods", "services"}  # whose status nobody else would write
        assert {n for n, _ in denied} == {"dnsnames"} | {f"{r[2]}/status" for r in served if r[3] == "status" and r[2] not in users}


def test_status_and_names_of_the_system(embedded):  # noqa: F811
    """What the user may not write the system may, to the end."""
    kinds = {r["name"]: r["kind"] for r in embedded.call("GET", "/apis/k8s.ovn.org/v1")[1]["resources"]}
    name = {"apiVersion": "k8s.ovn.org/v1", "kind": kinds["dnsnames"], "metadata": {"name": "x"}}
    path = f"/apis/k8s.ovn.org/v1/namespaces/{NS}/dnsnames"
    code, said = embedded.call("POST", path, name)
    assert code == 403 and said["reason"] == "Forbidden", said
    code, said = embedded.call("POST", path, name, token=embedded.system)
    assert code in (201, 422), said  # past the rights
    pod = {"metadata": {"name": "ours"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    assert embedded.call("POST", f"/api/v1/namespaces/{NS}/pods", pod)[0] == 201
    change = {"status": {"phase": "Running"}}
    where = f"/api/v1/namespaces/{NS}/pods/ours"
    for suffix, want in (("", "Pending"), ("/status", "Running")):  # the user's, by its own path only
        embedded.call("PATCH", where + suffix, change, content_type="application/merge-patch+json")
        assert embedded.call("GET", where)[1]["status"]["phase"] == want
    embedded.call("DELETE", where)


@pytest.mark.parametrize("place", [
    f"/apis/k8s.ovn.org/v1/namespaces/{NS}/egressfirewalls/default", "/apis/operator.openshift.io/v1/dnses/default"])
def test_a_path_has_one_meaning(embedded, place):  # noqa: F811
    """However the path of a status is spelled, the user does not write it."""
    objects = {"egressfirewalls": {"apiVersion": "k8s.ovn.org/v1", "kind": "EgressFirewall", "metadata": {"name": "default"},
                                   "spec": {"egress": [{"type": "Deny", "to": {"cidrSelector": "0.0.0.0/0"}}]}},
               "dnses": {"apiVersion": "operator.openshift.io/v1", "kind": "DNS", "metadata": {"name": "default"}}}
    collection, _, _ = place.rpartition("/")
    code, said = embedded.call("POST", collection, objects[collection.rpartition("/")[2]])
    assert code == 201, said
    before = embedded.call("GET", place)[1]
    change = {"status": {"status": "written", "phase": "Running"}}
    for end in ("/status", "/status/", "/status//", "/status/.", "/status/x", "//status", "/./status", "/status%2f", "%2fstatus",
                "%2Fstatus%2F", "/%73tatus", "/%73tatus/", "/status/%2e", "/status%2f%2f", "/status?", "/status/?a=b", "/status;a"):
        for method, kind in (("PATCH", "application/merge-patch+json"), ("PUT", "application/json")):
            body = change if method == "PATCH" else {**before, **change}
            code, said = embedded.call(method, place + end, body, content_type=kind)
            assert code in (403, 404), (method, end, said)
            now = embedded.call("GET", place)[1]
            assert now == before, (method, end)
    embedded.call("DELETE", place)


# ---- files, addresses, TLS ----

def test_files_are_their_owners(embedded):  # noqa: F811
    assert stat.S_IMODE(os.stat(embedded.data).st_mode) == 0o700
    names = os.listdir(embedded.data)
    assert {"admin.token", "system.token", "kubeconfig", "system.kubeconfig", "ca.pem", "server.pem"} <= set(names)
    for name in names:
        assert stat.S_IMODE(os.stat(os.path.join(embedded.data, name)).st_mode) & 0o077 == 0, name


def test_files_that_everybody_could_read():
    """Found so, after a copy or a restore by hand: they are closed at the start, and it is said, since tokens may be known."""
    names = ["kubeconfig", "system.kubeconfig", "admin.token", "system.token", "ca.pem", "server.pem", "old-ca.pem", "store.db",
             "store.spare", "store.revision", "store.lock"]
    with Embedded() as one:
        one.api.stop()
        for name in names:
            os.chmod(os.path.join(one.data, name), 0o644)
        os.chmod(os.path.join(one.data, "ca.crt"), 0o644)  # for everybody to trust
        one.start_api()
        for name in names:
            assert stat.S_IMODE(os.stat(os.path.join(one.data, name)).st_mode) == 0o600, name
        assert stat.S_IMODE(os.stat(os.path.join(one.data, "ca.crt")).st_mode) == 0o644
        with open(one.api.log, encoding="utf-8") as f:
            said = f.read()
        for name in names:
            assert said.count(f"/{name}' could be read by all users (mode 644); its mode is 0600 now") == 1, (name, said)
        assert one.call("GET", "/api/v1/namespaces")[0] == 200


def test_directory_that_everybody_could_write():
    """Whoever may write it may put a token or a store of their own in place."""
    with Embedded() as one:
        one.api.stop()
        os.chmod(one.data, 0o777)
        one.start_api()
        assert stat.S_IMODE(os.stat(one.data).st_mode) == 0o775  # a group may be meant
        with open(one.api.log, encoding="utf-8") as f:
            assert f.read().count(f"'{one.data}' could be written by all users (mode 777); its mode is 775 now") == 1


def test_loopback_unless_told():
    text = subprocess.run([server.fairlead_program(), "api", "--help"], capture_output=True, text=True, check=True).stdout
    assert "default 127.0.0.1:8054" in text


def listening(port):
    """Addresses on which somebody listens at the port."""
    found = []
    for name in ("/proc/net/tcp", "/proc/net/tcp6"):
        with open(name, encoding="ascii") as f:
            for line in f.readlines()[1:]:
                local, state = line.split()[1], line.split()[3]
                if state == "0A" and int(local.split(":")[1], 16) == port:
                    found.append(local.split(":")[0])
    return found


def test_one_address(embedded):  # noqa: F811
    assert listening(embedded.port) == ["0100007F"]


@pytest.mark.parametrize("version, served", [("TLSv1", False), ("TLSv1_1", False), ("TLSv1_2", True), ("TLSv1_3", True)])
def test_versions_of_tls(embedded, version, served):  # noqa: F811
    context = ssl.create_default_context(cafile=embedded.ca)
    context.set_ciphers("ALL:@SECLEVEL=0")
    context.minimum_version = context.maximum_version = getattr(ssl.TLSVersion, version)
    request = b"GET /version HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    if served:
        assert raw(embedded, request, context).startswith(b"HTTP/1.1 200")
    else:
        with pytest.raises((ssl.SSLError, ConnectionResetError)):
            raw(embedded, request, context)


def test_no_plain_text(embedded):  # noqa: F811
    with socket.create_connection(("127.0.0.1", embedded.port), timeout=20) as s:
        s.sendall(f"GET /api/v1/secrets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {embedded.admin}\r\n\r\n".encode())
        try:
            answer = s.recv(4096)
        except ConnectionResetError:
            answer = b""
    assert not answer.startswith(b"HTTP"), answer


# ---- requests that no client sends ----

def line(api, text, body=b""):
    return text.replace("AUTH", f"Host: x\r\nAuthorization: Bearer {api.admin}\r\nConnection: close").encode() + body


@pytest.mark.parametrize("request_, codes", [
    ("GET /api/v1/namespaces/default HTTP/1.0\r\nAUTH\r\n\r\n", {200}),
    ("GET /api/v1/namespaces/default HTTP/1.1\r\nX: " + "a" * 20000 + "\r\nAUTH\r\n\r\n", {200}),
    ("GET /api/v1/namespaces/default HTTP/1.1\r\nX: " + "a" * 3000000 + "\r\nAUTH\r\n\r\n", {431, 413, 0}),
    ("GET /api/v1/namespaces/default HTTP/1.1\r\n" + "".join(f"X-{i}: y\r\n" for i in range(3000)) + "AUTH\r\n\r\n", {200, 431, 0}),
    ("GET /" + "a" * 2000000 + " HTTP/1.1\r\nAUTH\r\n\r\n", {414, 431, 404, 0}),
    ("GET /api/v1/namespaces?" + "&".join(f"a{i}" for i in range(65)) + " HTTP/1.1\r\nAUTH\r\n\r\n", {400, 200}),
    ("GET /api/v1/namespaces HTTP/9.9\r\nAUTH\r\n\r\n", {505, 400, 0}),
    ("GET  /api/v1/namespaces HTTP/1.1\r\nAUTH\r\n\r\n", {400, 404, 200, 0}),
    ("NONSENSE\r\n\r\n", {400, 0}),
    ("POST /api/v1/namespaces HTTP/1.1\r\nAUTH\r\nContent-Length: -1\r\n\r\n", {400, 0}),
    ("POST /api/v1/namespaces HTTP/1.1\r\nAUTH\r\nContent-Length: x\r\n\r\n", {400, 0}),
    ("POST /api/v1/namespaces HTTP/1.1\r\nAUTH\r\nContent-Length: 99999999999999999999\r\n\r\n", {400, 413, 0}),
    ("POST /api/v1/namespaces HTTP/1.1\r\nAUTH\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}", {400, 0}),
    ("POST /api/v1/namespaces HTTP/1.1\r\nAUTH\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", {400, 500, 0}),
    ("POST /api/v1/namespaces HTTP/1.1\r\nAUTH\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n", {422}),
    ("POST /api/v1/namespaces HTTP/1.1\r\nAUTH\r\nTransfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
     {400, 422, 0}),
    ("POST /api/v1/namespaces HTTP/1.1\r\nAUTH\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n{}", {100, 422}),
    ("GET /api/v1/namespaces/default HTTP/1.1\r\nAUTH\r\nUpgrade: h2c\r\nHTTP2-Settings: x\r\n\r\n", {200}),
    ("GET https://other.example/api/v1/namespaces/default HTTP/1.1\r\nAUTH\r\n\r\n", {200, 400, 404}),
    ("OPTIONS * HTTP/1.1\r\nAUTH\r\n\r\n", {200, 400, 404, 405}),
    ("CONNECT other.example:443 HTTP/1.1\r\nAUTH\r\n\r\n", {400, 404, 405, 301, 0}),
])
def test_odd_requests(c, request_, codes):  # noqa: F811
    """Neither server falls over them, and each answers with one of these (0: it hangs up)."""
    reply = raw(c, line(c, request_))
    code = int(reply.split(b" ", 2)[1]) if reply.startswith(b"HTTP/") else 0
    assert code in codes, reply[:300]
    assert c.call("GET", "/readyz")[0] == 200


BYTES = ["/api/v1/namespaces/%ff/pods/x/status", "/apis/%ff/v1/namespaces/a/b/c/status", "/api/v1/%ff/x/status", "/%ff",
         "/apis/%ff", "/apis/k8s.ovn.org/%ff", "/apis/k8s.ovn.org/v1/namespaces/%ff/dnsnames/%ff", "/openapi/v3/%ff",
         "/api/v1/namespaces/default/configmaps/%ff", "/api/v1/namespaces/default/configmaps/%ff/%ff",
         "/api/v1/namespaces/default/configmaps/x?fieldManager=%ff", "/api/v1/namespaces/default/configmaps?fieldManager=%ff",
         "/api/v1/namespaces/default/configmaps?labelSelector=%ff", "/api/v1/namespaces/default/configmaps?fieldSelector=%ff%3Da",
         "/api/v1/namespaces/default/configmaps?fieldSelector=metadata.name%3D%ff", "/readyz/%ff",
         "/api/v1/namespaces/default/configmaps?continue=%ff", "/api/v1/namespaces/default/configmaps?resourceVersion=%ff",
         "/api/v1/namespaces/default/configmaps?dryRun=%ff", "/api/v1/namespaces/default/configmaps/x?fieldValidation=%ff",
         "/api/v1/namespaces/default/configmaps?propagationPolicy=%ff", "/%ff?%ff=%ff"]


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE"])
def test_bytes_that_are_no_text(embedded, method):  # noqa: F811
    """In any part of the path or query, and in the client's name: the answer is JSON or a plain page."""
    body = b'{"metadata": {"name": "x"}, "data": {"a": "b"}}'
    for path in BYTES:
        for token in (embedded.admin, embedded.system):
            text = (f"{method} {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n"
                    f"Content-Type: application/{'merge-patch+json' if method == 'PATCH' else 'json'}\r\n"
                    f"Content-Length: {len(body)}\r\nUser-Agent: ")
            reply = raw(embedded, text.encode() + b"\xff\xfe/1\r\n\r\n" + body)
            code, kind, said = status_of(reply)
            assert 200 <= code < 500, (path, reply)
            assert kind != "application/json" or isinstance(said, dict), (path, reply)
            if code == 201:
                assert said["metadata"]["managedFields"][0]["manager"], (path, said)
                embedded.call("DELETE", "/api/v1/namespaces/default/configmaps/x")
    assert embedded.call("GET", "/readyz")[0] == 200


def test_two_answers_in_a_row(c):  # noqa: F811
    """Pipelined requests are answered in their order."""
    one = f"GET /api/v1/namespaces/NAME HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {c.admin}\r\n"
    text = one.replace("NAME", "default") + "\r\n" + one.replace("NAME", "absent") + "Connection: close\r\n\r\n"
    reply = raw(c, text.encode())
    assert [int(part.split(b" ")[0]) for part in reply.split(b"HTTP/1.1 ")[1:]] == [200, 404]


def test_second_holder_of_the_data(embedded):  # noqa: F811
    """The error names the pid of the first."""
    done = subprocess.run([server.fairlead_program(), "api", "--data", embedded.data, "--listen", "127.0.0.1:0"],
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and str(embedded.api.process.pid) in done.stderr


def test_a_removed_token_is_made_anew():
    """docs/reference/embedded-access.md: the old one is worth nothing then."""
    with Embedded() as one:
        old = one.admin
        one.api.stop()
        os.remove(os.path.join(one.data, "admin.token"))
        one.start_api()
        assert one.admin != old
        assert one.call("GET", "/api/v1/namespaces", token=old)[0] == 401
        assert one.call("GET", "/api/v1/namespaces")[0] == 200
        with open(os.path.join(one.data, "kubeconfig"), encoding="utf-8") as f:
            assert one.admin in f.read()
