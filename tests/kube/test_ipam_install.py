# SPDX-License-Identifier: GPL-3.0-or-later
"""The provider as clusterctl installs it: the components beside Cluster API's own CRDs, and the program with the flags, the
role and the namespace of their Deployment."""
import http.client
import json
import os
import re
import ssl

import pytest

import crdlib
from controllerlib import Controller, kubectl, namespace, objects, until
from ipamlib import GLOBAL_POOL, POOL, addresses_path, get, make_claim, make_pool, wait_bound
from lib import server
from rbaclib import HOOKS, Audited, bundle_of, certificate_of

NAME, NS = "fairlead-ipam", "fairlead-ipam-system"
TOKEN = "ipam-token"
LABEL = "cluster.x-k8s.io/provider"
COMPONENTS = os.path.join(os.path.dirname(server.fairlead_program()), "deploy", "clusterctl", "ipam-components.yaml")
OWN_CRDS = tuple(f"{scope}incluster{what}pools.ipam.cluster.x-k8s.io" for what in ("ip", "prefix") for scope in ("", "global"))


def components():
    with open(COMPONENTS, encoding="utf-8") as f:
        text = f.read()
    assert "${" not in text, "clusterctl would take it for a variable"
    return text


@pytest.fixture(scope="module")
def c():
    one = Audited(f"system:serviceaccount:{NS}:{NAME}", TOKEN)
    one.flags.append("--enable-aggregator-routing=true")  # nobody forwards what is sent to a Service's address
    with one:
        yield one


def install_crd(c, plural, change=lambda spec: None):
    """A CRD as others have it: without name servers."""
    crd, = objects(c, f"deploy/crds/ipam.cluster.x-k8s.io_{plural}.yaml")
    for version in crd["spec"]["versions"]:
        version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"].pop("nameservers", None)
    change(crd["spec"])
    status, body = c.call("POST", crdlib.CRD_PATH, crd)
    assert status == 201, body
    crdlib.serves(c, crdlib.established(c, body["metadata"]["name"]))


def as_the_providers(spec):
    """The in-cluster provider's CRD: an older version beside the stored one, and a conversion that nobody serves any more."""
    spec["versions"].append({"name": "v1alpha1", "served": True, "storage": False, "subresources": {"status": {}}, "schema": {
        "openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}})
    spec["conversion"] = {"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1"], "clientConfig": {
        "service": {"name": "gone", "namespace": "default", "path": "/convert"}}}}


@pytest.fixture(scope="module")
def installed(c):
    """The objects, by kind and name, beside CRDs of Cluster API and over one of the in-cluster provider, with a pool `old`."""
    for plural in ("ipaddresses", "ipaddressclaims"):
        install_crd(c, plural)
    install_crd(c, "inclusterippools", as_the_providers)
    namespace(c, "old")
    make_pool(c, "old", "old", ["10.1.0.10-10.1.0.20"])
    before = {name: get(c, f"{crdlib.CRD_PATH}/{name}.ipam.cluster.x-k8s.io")["metadata"]["generation"]
              for name in ("ipaddresses", "ipaddressclaims")}
    kubectl(c, "apply", "-f", "-", text=components())
    for name in OWN_CRDS:
        crdlib.serves(c, crdlib.established(c, name))
    for name, generation in before.items():
        assert get(c, f"{crdlib.CRD_PATH}/{name}.ipam.cluster.x-k8s.io")["metadata"]["generation"] == generation
    made = json.loads(kubectl(c, "get", "-f", "-", "-o", "json", text=components()))["items"]
    return {(o["kind"], o["metadata"]["name"]): o for o in made}


def test_what_clusterctl_expects(installed):
    """Labels, one namespace for all, the container's name, and no CRD of Cluster API itself."""
    assert all(o["metadata"]["labels"][LABEL] == "ipam-fairlead" for o in installed.values())
    assert {o["metadata"].get("namespace") for o in installed.values()} == {None, NS}
    assert [name for kind, name in installed if kind == "Namespace"] == [NS]
    crds = [o for (kind, _), o in installed.items() if kind == "CustomResourceDefinition"]
    assert {o["metadata"]["name"] for o in crds} == set(OWN_CRDS)
    assert all("clusterctl.cluster.x-k8s.io/move-hierarchy" in o["metadata"]["labels"] for o in crds)
    for (kind, _), o in installed.items():
        if kind.endswith("RoleBinding"):
            assert [(s["name"], s["namespace"]) for s in o["subjects"]] == [(NAME, NS)]
        if kind == "ValidatingWebhookConfiguration":
            service = o["webhooks"][0]["clientConfig"]["service"]
            assert service["namespace"] == NS and ("Service", service["name"]) in installed
    container, = installed["Deployment", NAME]["spec"]["template"]["spec"]["containers"]
    assert (container["name"], container["image"]) == ("manager", "localhost/fairlead:v" + ".".join(release()))


def release():
    """Of this tree: major, minor and patch."""
    with open(os.path.join(server.ROOT, "meson.build"), encoding="utf-8") as f:
        return re.search(r"^  version: '(\d+)\.(\d+)\.(\d+)'", f.read(), re.M).groups()


def test_metadata_has_this_release():
    with open(os.path.join(server.ROOT, "deploy/clusterctl/metadata.yaml"), encoding="utf-8") as f:
        text = f.read()
    major, minor, _ = release()
    assert "apiVersion: clusterctl.cluster.x-k8s.io/v1alpha3\nkind: Metadata\n" in text
    assert f"  - major: {major}\n    minor: {minor}\n    contract: v1beta2\n" in text


def program(c, deployment):
    """The container of the Deployment, on this machine: its variables are filled in, and its ports are free ones."""
    container, = deployment["spec"]["template"]["spec"]["containers"]
    assert container["command"] == ["fairlead", "controller"]
    env = {e["name"]: {"metadata.namespace": NS}[e["valueFrom"]["fieldRef"]["fieldPath"]] for e in container["env"]}
    args = [re.sub(r"\$\((\w+)\)", lambda found: env[found[1]], arg) for arg in container["args"]]
    args = [re.sub(r"=\[::\]:\d+$", "=127.0.0.1:0", arg) for arg in args]
    own = [arg for arg in args if not arg.startswith(("--controllers=", "--listen="))]
    assert "--controllers=ipam" in args and len(own) == len(args) - 2
    return Controller(c.kubeconfig(TOKEN, NS), *own, "--webhook-look", "200ms", controllers="ipam")


@pytest.fixture(scope="module")
def running(c, installed):
    since = c.size()
    p = program(c, installed["Deployment", NAME])
    p.wait_line("leading as")
    yield p
    assert p.stop() == 0, p.text()
    assert c.refused(since) == []


@pytest.mark.parametrize("kind", [POOL, GLOBAL_POOL])
def test_claim_gets_its_address(c, running, kind):  # pylint: disable=unused-argument
    """IP-14: with its name servers, although the CRD has no field for them."""
    ns = kind.lower()
    namespace(c, ns)
    servers = {"addresses": ["10.0.0.53"], "search": ["corp.example"]}
    make_pool(c, ns if kind == POOL else None, "machines", ["10.0.0.10-10.0.0.20"], nameservers=servers)
    make_claim(c, ns, "vm-0-0", "machines", kind=kind)
    assert wait_bound(c, ns, "vm-0-0") == "10.0.0.10"
    address = get(c, addresses_path(ns, "vm-0-0"))
    assert "nameservers" not in address["spec"]
    assert json.loads(address["metadata"]["annotations"]["ipam.fairlead.dev/nameservers"]) == servers


def test_pools_of_the_provider_stay(c, running):  # pylint: disable=unused-argument
    make_claim(c, "old", "vm-0-0", "old")
    assert wait_bound(c, "old", "vm-0-0") == "10.1.0.10"


def test_hook_answers_for_its_service(c, installed, running):
    """A caller that trusts the registration's caBundle gets an answer under the Service's name."""
    until(lambda: bundle_of(c, "validating", NAME))
    assert certificate_of(c, f"/api/v1/namespaces/{NS}/secrets/{NAME}-webhooks")
    hook, = get(c, f"{HOOKS}/validatingwebhookconfigurations/{NAME}")["webhooks"]
    service = hook["clientConfig"]["service"]
    target = installed["Service", service["name"]]["spec"]["ports"][0]["targetPort"]
    container, = installed["Deployment", NAME]["spec"]["template"]["spec"]["containers"]
    assert f"--webhook-listen=[::]:{target}" in container["args"]
    port = int(running.wait_line("web hooks on port")[1].split()[-1])
    review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
        "uid": "u", "operation": "CREATE", "kind": {"group": "ipam.cluster.x-k8s.io", "version": "v1alpha2", "kind": POOL},
        "resource": {"group": "ipam.cluster.x-k8s.io", "version": "v1alpha2", "resource": "inclusterippools"}, "name": "bad",
        "namespace": "default", "object": {"apiVersion": "ipam.cluster.x-k8s.io/v1alpha2", "kind": POOL, "metadata": {
            "name": "bad"}, "spec": {"addresses": ["garbage"], "prefix": 24}}}}

    class Direct(http.client.HTTPSConnection):
        """To the port, under the Service's name."""

        def connect(self):
            self.host = "127.0.0.1"
            http.client.HTTPConnection.connect(self)
            self.sock = context.wrap_socket(self.sock, server_hostname=f"{service['name']}.{service['namespace']}.svc")

    context = ssl.create_default_context(cadata=bundle_of(c, "validating", NAME).decode())
    connection = Direct("127.0.0.1", port, timeout=10)
    connection.request("POST", service["path"], json.dumps(review), {"Content-Type": "application/json"})
    reply = json.loads(connection.getresponse().read())["response"]
    assert not reply["allowed"] and "spec.addresses[0]" in reply["status"]["message"]
    connection.close()
