# SPDX-License-Identifier: GPL-3.0-or-later
"""The commands that OpenShift's description of templates has for support work as they are written there, with kubectl in place
of oc: the object, the ConfigMap, the log of the servers by their label, the removal of templates. A thread stands for the
kubelet that has the log."""
import http.server
import ssl
import threading

import pytest

import pagelib
from controllerlib import until
from dnslib import ask, fairlead, rcode
from lib import certs
from lib.server import Port
from test_dnsoperator import DNS, FILTER, REAL, Place, place, run, server  # noqa: F401 pylint: disable=unused-import

PAGE = "docs/aaaa-filtering.md"
# Word for word from OpenShift's description; the last one with the object that it leaves out.
COMMANDS = ["oc get dns.operator.openshift.io default -o yaml",
        "oc get configmap/dns-default -n openshift-dns -o yaml",
        "oc logs -n openshift-dns -l dns.operator.openshift.io/daemonset-dns=default",
        "oc patch dns.operator.openshift.io/default --type=json -p='[{\"op\": \"remove\", \"path\": \"/spec/templates\"}]'"]
# What the operator would refuse, so that it fails where it is used.
FAILING = """.:@PORT@ {
    errors
    template IN AAAA . {
        answer "{{ .Name }} 60 IN AAAA {{ .Name }}"
    }
}
"""


class Kubelet:
    """Answers for logs of containers of one node."""

    def __init__(self, folder, log):
        certs.make_ca(folder)
        certs.make_cert(folder)
        self.port = Port()

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):  # pylint: disable=invalid-name
                found = self.path.startswith("/containerLogs/openshift-dns/dns-default-x/dns")
                self.send_response(200 if found else 404)
                self.end_headers()
                self.wfile.write(log().encode() if found else b"")

            def log_message(self, *_):  # pylint: disable=arguments-differ
                pass
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", self.port.number), Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(folder / "cert.pem", folder / "key.pem")
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()
        self.port.release()


@pytest.fixture
def templates(place, run):  # noqa: F811
    run("--platform", "openshift", "--feature-gates", "DNSTemplatePlugin=true")
    place.dns({"templates": [FILTER]})
    place.says("TemplateConfigurationValid", "True AsExpected")
    return place


def test_page_has_them():
    assert pagelib.commands(PAGE, "support")[:3] == COMMANDS[:3]


def test_object_configmap_removal(templates, tmp_path):
    """What needs no pods, on either API."""
    text = pagelib.shell(templates, tmp_path, COMMANDS[0])
    for condition in ("TemplateConfigurationValid", "TemplateConfigurationApplied", "AAAAFilterDualStackWarning"):
        assert f"type: {condition}" in text
    until(lambda: "template IN AAAA . {" in pagelib.shell(templates, tmp_path, COMMANDS[1]))
    events = pagelib.commands(PAGE, "support")[3]
    until(lambda: "CorefileWritten" in pagelib.shell(templates, tmp_path, events))
    pagelib.shell(templates, tmp_path, COMMANDS[3])
    until(lambda: "template IN AAAA" not in pagelib.shell(templates, tmp_path, COMMANDS[1]))
    templates.says("TemplateConfigurationValid", "True NoTemplates")


@REAL
def test_logs(place, tmp_path):  # noqa: F811
    """OP-40: the words that support searches for are in the log that the command selects."""
    pods = "/api/v1/namespaces/openshift-dns/pods"
    with fairlead(FAILING) as s, Kubelet(tmp_path, s.output) as kubelet:
        place.done("POST", "/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "one"}})
        place.done("PATCH", "/api/v1/nodes/one/status", {"status": {
            "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": kubelet.port.number}}}}, "application/merge-patch+json")
        place.done("POST", pods, {"apiVersion": "v1", "kind": "Pod", "metadata": {
            "name": "dns-default-x", "labels": {"dns.operator.openshift.io/daemonset-dns": "default"}}, "spec": {
                "nodeName": "one", "containers": [{"name": "dns", "image": "i"}], "terminationGracePeriodSeconds": 0}})
        try:
            assert rcode(ask(s.port(), "x.example.com.", "AAAA")) == "SERVFAIL"
            until(lambda: "template error" in s.output())
            text = pagelib.shell(place, tmp_path, COMMANDS[2])
            assert "template error" in text and "x.example.com. AAAA" in text
        finally:
            place.call("DELETE", f"{pods}/dns-default-x?gracePeriodSeconds=0")
            place.call("DELETE", "/api/v1/nodes/one")
