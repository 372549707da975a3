# SPDX-License-Identifier: GPL-3.0-or-later
"""Web hooks and policies against a real API server: objects are refused and changed, certificates come and go."""
import base64
import signal
import socket
import ssl
import time

import pytest

from controllerlib import kubectl, objects, start, until
from lib import certs, cluster

LABEL = "example.fairlead.dev/copy"
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


def register(c, port, bundle=None, kinds=("Validating", "Mutating")):
    """The shipped registrations, pointed at a port of loopback, and failing closed."""
    for o in objects(c, "deploy/webhooks/example.yaml"):
        if not o["kind"].startswith(kinds):
            continue
        for hook in o["webhooks"]:
            path = hook["clientConfig"].pop("service")["path"]
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


def test_refuses_and_changes(c, run):
    p = run("--webhook-look", "200ms")
    register(c, port_of(p))
    until(lambda: refuses(c))
    status, body = try_namespace(c, "true")
    assert status == 201, body
    # Mutating hooks come first: what they spell right is not refused.
    status, body = try_namespace(c, "yes")
    assert status == 201 and body["metadata"]["labels"][LABEL] == "true", body
    assert "will be tried again" not in p.text()


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
