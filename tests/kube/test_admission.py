# SPDX-License-Identifier: GPL-3.0-or-later
"""Web hooks and policies against a real API server: objects are refused and changed, certificates come and go. What hooks
decide is the same on the embedded API, which calls them in process."""
import base64
import signal
import socket
import ssl
import time

import pytest

from controllerlib import kubectl, objects, start, until
from lib import certs, cluster, server
from lib.ports import free_port

LABEL = "example.fairlead.dev/copy"
NAMESPACES = "/api/v1/namespaces"
HOOKS = "/apis/admissionregistration.k8s.io/v1"
NAMES = ["--webhook-listen", "127.0.0.1:0", "--webhook-names", "127.0.0.1,fairlead-webhooks.default.svc"]
ROTATING = ["--webhook-ca-life", "9s", "--webhook-cert-life", "6s", "--webhook-overlap", "2s", "--webhook-look", "200ms"]


@pytest.fixture(scope="module")
def c():
    with cluster.Cluster() as one:
        yield one


@pytest.fixture
def run(c):
    """run(*args): a started controller with web hooks; what it registered is gone at the end."""
    made = []

    def make(*args):
        made.append(start(c.kubeconfig(), *NAMES, *args))
        return made[-1]

    yield make
    for p in made:
        assert p.stop() == 0, p.text()
    for plural in ("validatingwebhookconfigurations", "mutatingwebhookconfigurations"):
        c.call("DELETE", f"{HOOKS}/{plural}/fairlead")
    c.call("DELETE", "/api/v1/namespaces/default/secrets/fairlead-webhooks")


def port_of(p):
    """Of its web hooks, once they have their certificate."""
    until(lambda: "web hooks" not in p.get("/readyz")[1])
    return int(p.wait_line("web hooks on port")[1].split()[-1])


def register(c, port, bundle=None, kinds=("Validating", "Mutating"), path_of=lambda path: path):
    """The shipped registrations, pointed at a port of loopback, and failing closed."""
    for o in objects(c, "deploy/webhooks/example.yaml"):
        if not o["kind"].startswith(kinds):
            continue
        for hook in o["webhooks"]:
            path = path_of(hook["clientConfig"].pop("service")["path"])
            hook["clientConfig"]["url"] = f"https://127.0.0.1:{port}{path}"
            hook["failurePolicy"] = "Fail"
            if bundle:
                hook["clientConfig"]["caBundle"] = base64.b64encode(bundle).decode()
        status, body = c.call("POST", f"{HOOKS}/{o['kind'].lower()}s", o)
        assert status == 201, body


def bundle_of(c):
    body = c.call("GET", f"{HOOKS}/validatingwebhookconfigurations/fairlead")[1]
    return base64.b64decode(body["webhooks"][0]["clientConfig"].get("caBundle", ""))


def try_namespace(c, value):
    """(status, body) of a creation that is not kept."""
    return c.call("POST", "/api/v1/namespaces?dryRun=All", {"apiVersion": "v1", "kind": "Namespace", "metadata": {
        "name": "tried", "labels": {LABEL: value}}})


def refuses(c):
    """True when it is our refusal, False while the hook is not known or not trusted yet."""
    status, body = try_namespace(c, "maybe")
    return status == 403 and f"label {LABEL} is 'true' or 'false', not 'maybe'" in body["message"]


def handshake(port, bundle):
    """The serial number of the certificate that a caller with this bundle gets and trusts."""
    context = ssl.create_default_context(cadata=bundle.decode())
    with socket.create_connection(("127.0.0.1", port), timeout=10) as raw:
        with context.wrap_socket(raw, server_hostname="127.0.0.1") as tls:
            return tls.getpeercert()["serialNumber"]


# ---- decisions of hooks, on both APIs ----


class Machine(cluster.Embedded):
    """`fairlead up` with this controller."""

    def start_api(self):
        self.api = cluster.Child("fairlead-up", [
            server.fairlead_program(), "up", "--data", self.data, "--api", f"127.0.0.1:{self.port}", "--dns",
            f"127.0.0.1:{free_port()}", "--controllers", "example", *self.flags], self.dir)
        self.wait_ready()


@pytest.fixture
def in_cluster(c, run):
    p = run("--webhook-look", "200ms")
    register(c, port_of(p))
    yield c
    assert "will be tried again" not in p.text()


@pytest.fixture
def on_machine():
    with Machine() as one:
        yield one


@pytest.fixture(params=["in_cluster", "on_machine"])
def hooked(request):
    """An API that asks the hooks of `example`."""
    one = request.getfixturevalue(request.param)
    until(lambda: refuses(one))
    yield one
    for name in ("path", "kept"):
        one.call("DELETE", f"{NAMESPACES}/{name}")


def labelled(name, value):
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": {LABEL: value}}}


def refusal(value):
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "code": 403, "message":
            'admission webhook "namespaces.example.fairlead.dev" denied the request: '
            f"label {LABEL} is 'true' or 'false', not '{value}'"}


def test_refuses_and_changes(hooked):
    assert try_namespace(hooked, "maybe") == (403, refusal("maybe"))
    status, body = try_namespace(hooked, "true")
    assert status == 201, body
    # Mutating hooks come first: what they spell right is not refused.
    status, body = try_namespace(hooked, "yes")
    assert status == 201 and body["metadata"]["labels"][LABEL] == "true", body
    assert hooked.call("GET", f"{NAMESPACES}/tried")[0] == 404


def test_every_way_to_write(hooked):
    """Hooks are asked on each, and see the object as it would be stored."""
    path = f"{NAMESPACES}/path"
    json_patch = [{"op": "add", "path": f"/metadata/labels/{LABEL.replace('/', '~1')}"}]

    def ways(value):
        yield "PUT", path, labelled("path", value), "application/json"
        yield "PATCH", path, {"metadata": {"labels": {LABEL: value}}}, "application/merge-patch+json"
        yield "PATCH", path, {"metadata": {"labels": {LABEL: value}}}, "application/strategic-merge-patch+json"
        yield "PATCH", path, [{**json_patch[0], "value": value}], "application/json-patch+json"
        yield "PATCH", path + "?fieldManager=m&force=true", labelled("path", value), "application/apply-patch+yaml"

    def current():
        return hooked.call("GET", path)[1]["metadata"]["labels"].get(LABEL)

    status, body = hooked.call("POST", NAMESPACES, labelled("path", "yes"))
    assert status == 201 and current() == "true", body
    for value, want in (("no", "false"), ("yes", "true")):
        for method, where, change, kind in ways("maybe"):
            assert hooked.call(method, where, change, content_type=kind) == (403, refusal("maybe")), (method, kind)
        for method, where, change, kind in ways(value):
            status, body = hooked.call(method, where, change, content_type=kind)
            assert status == 200 and body["metadata"]["labels"][LABEL] == want, (method, kind, body)
        assert current() == want
    # Server-side apply creates, too.
    made = f"{NAMESPACES}/kept?fieldManager=m"
    kind = "application/apply-patch+yaml"
    assert hooked.call("PATCH", made, labelled("kept", "maybe"), content_type=kind) == (403, refusal("maybe"))
    status, body = hooked.call("PATCH", made + "&dryRun=All", labelled("kept", "no"), content_type=kind)
    assert status == 201 and body["metadata"]["labels"][LABEL] == "false", body
    assert hooked.call("GET", f"{NAMESPACES}/kept")[0] == 404
    status, body = hooked.call("PATCH", made, labelled("kept", "no"), content_type=kind)
    assert status == 201 and body["metadata"]["labels"][LABEL] == "false", body


def test_nobody_asks_about_deletion(hooked):
    assert hooked.call("POST", NAMESPACES, labelled("deleted", "true"))[0] == 201
    assert hooked.call("DELETE", f"{NAMESPACES}/deleted")[0] == 200


# ---- certificates ----


def test_paths_without_a_name(c, run):
    """As registrations of older versions have them: all hooks of the kind are asked."""
    p = run("--webhook-look", "200ms")
    register(c, port_of(p), path_of=lambda path: "/" + path.split("/")[1])
    until(lambda: refuses(c))
    assert try_namespace(c, "maybe") == (403, refusal("maybe"))
    status, body = try_namespace(c, "yes")
    assert status == 201 and body["metadata"]["labels"][LABEL] == "true", body


def test_path_of_an_unknown_hook(c, run):
    """The registration's failurePolicy decides, which is Fail here."""
    p = run("--webhook-look", "200ms")
    register(c, port_of(p), kinds=("Validating",), path_of=lambda path: path + ".not")
    until(lambda: "could not find the requested resource" in try_namespace(c, "true")[1].get("message", ""))


def test_frozen_server_at_start(c, run):
    """Managed certificates need the API: without an answer it waits, not ready, and still ends on a signal."""
    c.api.process.send_signal(signal.SIGSTOP)
    try:
        one, two = run(), run()
        status, text = one.get("/readyz")
        assert status == 503 and "web hooks have no certificate yet\n" in text
        began = time.monotonic()
        assert one.stop() == 0
        assert time.monotonic() - began < 8
    finally:
        c.api.process.send_signal(signal.SIGCONT)
    until(lambda: two.get("/readyz") == (200, "ok\n"))


def test_rotation_keeps_working(c, run):
    """Authorities and certificates are exchanged all the time, with two replicas: each call is answered, and a caller
    with an old bundle trusts a new certificate."""
    a, b = run(*ROTATING), run(*ROTATING)
    ports = [port_of(a), port_of(b)]
    register(c, ports[0])
    until(lambda: refuses(c))
    bundles, serials, authorities = [], set(), set()
    end = time.monotonic() + 30
    while time.monotonic() < end and (len(authorities) < 4 or len(serials) < 5):
        assert refuses(c), try_namespace(c, "maybe")
        bundles.append((time.monotonic(), bundle_of(c)))
        bundles = [(t, x) for t, x in bundles if t > time.monotonic() - 1]
        authorities.update(x for x in bundles[-1][1].decode().split("-----BEGIN CERTIFICATE-----") if x)
        for port in ports:
            serials.update(handshake(port, x) for x in (bundles[0][1], bundles[-1][1]))
    assert len(authorities) >= 4 and len(serials) >= 5, (len(authorities), len(serials))
    assert bundles[-1][1].count(b"BEGIN") <= 2


def test_certificates_from_files(c, run, tmp_path):
    def make(name):
        folder = tmp_path / name
        folder.mkdir()
        certs.make_ca(folder)
        certs.make_cert(folder)
        return folder

    one, two = make("one"), make("two")
    cert, key = tmp_path / "tls.crt", tmp_path / "tls.key"
    cert.write_bytes((one / "cert.pem").read_bytes())
    key.write_bytes((one / "key.pem").read_bytes())
    p = run("--webhook-cert", str(cert), "--webhook-key", str(key), "--webhook-look", "100ms")
    port = port_of(p)
    first = handshake(port, (one / "ca.pem").read_bytes())
    # Half of the change is no pair: told, and the old one stays.
    cert.write_bytes((two / "cert.pem").read_bytes())
    p.wait_line(r"\[WARNING\] webhooks: '.*tls.crt' and '.*tls.key': .*; will be tried again")
    assert handshake(port, (one / "ca.pem").read_bytes()) == first
    key.write_bytes((two / "key.pem").read_bytes())

    def changed():
        try:
            return handshake(port, (two / "ca.pem").read_bytes()) != first
        except ssl.SSLError:
            return False

    until(changed)
    register(c, port, (two / "ca.pem").read_bytes())
    until(lambda: refuses(c))


# ---- shipped files ----


def test_shipped_policy(c):
    """deploy/policies: only the controller's service account writes copies."""
    kubectl(c, "apply", "-f", "deploy/policies/example.yaml")
    copy = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {
        "name": "policy", "labels": {"app.kubernetes.io/managed-by": "fairlead-example"}}}

    def refused():
        status, body = c.call("POST", "/api/v1/namespaces/default/configmaps?dryRun=All", copy)
        return status == 403 and "is a copy that fairlead-example keeps" in body["message"]

    until(refused)
    copy["metadata"]["labels"] = {}
    assert c.call("POST", "/api/v1/namespaces/default/configmaps?dryRun=All", copy)[0] == 201
    kubectl(c, "delete", "-f", "deploy/policies/example.yaml")


def test_shipped_registrations_are_valid(c):
    for o in objects(c, "deploy/webhooks/example.yaml"):
        if o["kind"].endswith("WebhookConfiguration"):
            status, body = c.call("POST", f"{HOOKS}/{o['kind'].lower()}s?dryRun=All&fieldValidation=Strict", o)
            assert status == 201, body
            assert all(h["timeoutSeconds"] <= 2 for h in o["webhooks"])
