# SPDX-License-Identifier: GPL-3.0-or-later
"""OP-D8: kill -9 between any two steps converges. A proxy in front of the API kills the operator when its first write is
done, before it knows; in another run after its second, and so on until it does all of them. One that starts afterwards must
come to the same end."""
import http.client
import itertools
import json
import os
import ssl
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from controllerlib import Controller, until
from test_dnsoperator import DNS, LEGACY, SERVER, Place, place, run, server  # noqa: F401 pylint: disable=unused-import

BACKUP = "dns.fairlead.dev/templates-backup"
REASONS = {"TemplateConfigurationValid": "AsExpected", "TemplateConfigurationApplied": "NoInstances",
           "AAAAFilterDualStackWarning": "NoCoveringTemplate"}
MOST_WRITES = 40
HOP = {"connection", "transfer-encoding", "content-length", "keep-alive"}


class Handler(BaseHTTPRequestHandler):
    """Passes a request on; what is sent back is streamed, as watches want it."""
    protocol_version = "HTTP/1.1"
    proxy = None

    def log_message(self, *_):  # pylint: disable=arguments-differ
        pass

    def pass_on(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        number = self.proxy.number_of(self.command)
        target = http.client.HTTPSConnection(*self.proxy.target, context=self.proxy.context, timeout=60)
        try:
            headers = {k: v for k, v in self.headers.items() if k.lower() not in HOP | {"host"}}
            # a client shows its token over TLS only
            target.request(self.command, self.path, body or None, {**headers, "Authorization": f"Bearer {self.proxy.token}"})
            reply = target.getresponse()
            if number == self.proxy.at:
                reply.read()
                self.proxy.strike(self)
                return
            self.send_back(reply)
        except OSError:
            self.close_connection = True
        finally:
            target.close()

    def send_back(self, reply):
        self.send_response(reply.status)
        for key, value in reply.getheaders():
            if key.lower() not in HOP:
                self.send_header(key, value)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        while data := reply.read1(65536):
            self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
            self.wfile.flush()
        self.wfile.write(b"0\r\n\r\n")

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = pass_on


class Proxy(ThreadingHTTPServer):
    """Kills `victim` when its write with number `at` is done."""
    daemon_threads = True

    def __init__(self, target):
        super().__init__(("127.0.0.1", 0), type("Bound", (Handler,), {"proxy": self}))
        host, _, port = target.url.removeprefix("https://").partition(":")
        self.target, self.context = (host, int(port)), ssl.create_default_context(cafile=target.ca)
        self.token = target.controller_token
        self.lock, self.known = threading.Lock(), threading.Event()
        self.victim, self.at, self.writes = None, 0, 0
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()

    def start(self, kubeconfig, at):
        self.at, self.writes = at, 0
        self.known.clear()
        self.victim = Controller(kubeconfig, "--no-election", controllers="dnsoperator")
        self.known.set()
        return self.victim

    def number_of(self, method):
        """Of a write; 0 for others."""
        if method == "GET":
            return 0
        with self.lock:
            self.writes += 1
            return self.writes

    def strike(self, handler):
        self.known.wait(10)
        self.victim.process.kill()
        handler.close_connection = True

    def handle_error(self, *_):  # pylint: disable=arguments-differ
        """The victim's connections end in the midst of things."""


@pytest.fixture
def proxy(place):  # noqa: F811 pylint: disable=redefined-outer-name
    one = Proxy(place)
    yield one
    if one.victim:
        one.victim.stop()
    one.shutdown()
    one.server_close()


def settled(p, zone, generation):
    """All is there that the operator leaves when it is done with such an object."""
    o = p.done("GET", f"{DNS}/default")
    text, accepted = p.text(), p.configmap("kube-system", "coredns-accepted")
    conditions = {c["type"]: c for c in o.get("status", {}).get("conditions", [])}
    reasons = {name: c["reason"] for name, c in conditions.items()}
    valid = conditions.get("TemplateConfigurationValid", {}).get("message", "")
    backup = o["metadata"].get("annotations", {}).get(BACKUP, "[]")
    return f"template IN AAAA {zone} {{" in text and "foo.com:53 {" in text and f"generation {generation} " in valid and \
        accepted and [t["zones"] for t in json.loads(accepted["data"]["accepted.json"])["templates"]] == [[zone]] and \
        json.loads(backup) == o["spec"]["templates"] and reasons.items() >= REASONS.items()


def spec(zone):
    return {"templates": [{**LEGACY, "zones": [zone]}], "servers": [SERVER]}


def restart(p):
    """As if nothing had been there, but the file of kubeadm."""
    kept = p.configmap("kube-system", "coredns")["data"].get("Corefile.before-fairlead") or p.text()
    p.clean()
    p.done("POST", "/api/v1/namespaces/kube-system/configmaps", {
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "coredns"}, "data": {"Corefile": kept}})


@pytest.mark.parametrize("first", [True, False], ids=["first-object", "change"])
# pylint: disable-next=redefined-outer-name
def test_killed_between_any_two_writes(place, run, proxy, tmp_path, first, capsys):  # noqa: F811
    os.mkdir(tmp_path / "through")
    through = Place(f"http://127.0.0.1:{proxy.server_port}", place.ca, place.token, place.controller_token).kubeconfig(
        str(tmp_path / "through"))
    zone, generation = "z0.example", place.dns(spec("z0.example"))
    p = run()
    until(lambda: settled(place, zone, generation), every=0.1)
    p.stop()
    for at in itertools.count(1):
        assert at < MOST_WRITES
        if first:
            restart(place)
        zone = f"z{at}.example"
        generation = place.dns(spec(zone))
        victim = proxy.start(through, at)
        # pylint: disable-next=cell-var-from-loop
        until(lambda: victim.process.poll() is not None or settled(place, zone, generation) and proxy.writes < at, every=0.1)
        if victim.process.poll() is None:
            break
        assert victim.process.returncode == -9, victim.text()
        p = run()
        until(lambda: settled(place, zone, generation), every=0.1)  # pylint: disable=cell-var-from-loop
        p.stop()
    with capsys.disabled():
        print(f" [killed at each of {at - 1} writes]", end="")
    assert at > 3
