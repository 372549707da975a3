# SPDX-License-Identifier: GPL-3.0-or-later
"""OP-D1, OP-D2, OP-D5: CA bundles of upstreams over TLS, from `openshift-config` to the servers' namespace and into the text."""
import pytest

from controllerlib import until
from lib import certs
from test_dnsoperator import SERVER, place, run, server  # noqa: F401 pylint: disable=unused-import

SOURCES, COPIES = (f"/api/v1/namespaces/{ns}/configmaps" for ns in ("openshift-config", "openshift-dns"))
MERGE = "application/merge-patch+json"
TLS = {"transport": "TLS", "tls": {"serverName": "dns.example", "caBundle": {"name": "corp"}}}
SECURE = {**SERVER, "forwardPlugin": {"upstreams": ["192.0.2.1"], "transportConfig": TLS}}


@pytest.fixture
def pem(tmp_path):
    def make(name):
        certs.make_ca(str(tmp_path), name)
        return (tmp_path / f"{name}.pem").read_text()
    return make


@pytest.fixture
def here(place):  # noqa: F811 pylint: disable=redefined-outer-name
    place.namespace("openshift-config")
    for path in (f"{SOURCES}/corp", f"{COPIES}/ca-corp", f"{COPIES}/ca-other"):
        place.call("DELETE", path)
    return place


def put(p, data):
    """The source."""
    o = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "corp"}, "data": data}
    if p.call("GET", f"{SOURCES}/corp")[0] == 404:
        return p.done("POST", SOURCES, o)
    return p.done("PUT", f"{SOURCES}/corp", o)


def copy(p):
    return p.configmap("openshift-dns", "ca-corp")


def bundle(p):
    return ((copy(p) or {}).get("data") or {}).get("ca-bundle.crt")


def served(p):
    """Does the Corefile name the current copy?"""
    o = copy(p)
    return o and f"tls /etc/pki/dns.example-ca-corp-{o['metadata']['resourceVersion']}/ca-bundle.crt\n" in p.text(
        "openshift-dns", "dns-default")


def event(p, reason):
    """Its note."""
    return until(lambda: [e["note"] for e in p.done("GET", "/apis/events.k8s.io/v1/namespaces/default/events")["items"]
                          if e.get("reason") == reason])[0]


def test_copied_rotated_deleted(here, run, pem):  # noqa: F811 pylint: disable=redefined-outer-name
    """Copied with OpenShift's label and owner; a rotation changes the Corefile; a copy that is not used is deleted."""
    first, second = pem("one"), pem("two")
    put(here, {"ca-bundle.crt": first, "other": "x"})
    # not ours: no label
    here.done("POST", COPIES, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "ca-other"}})
    run("--platform", "openshift")
    here.dns({"servers": [SECURE]})
    until(lambda: served(here))
    o = copy(here)
    assert o["data"] == {"ca-bundle.crt": first}
    assert o["metadata"]["labels"] == {"dns.operator.openshift.io/ca-bundle": "true"}
    assert [(r["kind"], r["name"], r["controller"]) for r in o["metadata"]["ownerReferences"]] == [("DNS", "default", True)]
    old = here.text("openshift-dns", "dns-default")
    put(here, {"ca-bundle.crt": second})
    until(lambda: bundle(here) == second and served(here), 2)
    assert here.text("openshift-dns", "dns-default") != old
    # the copy is kept as it should be
    changed = here.done("PATCH", f"{COPIES}/ca-corp", {"data": {"ca-bundle.crt": "spoilt"}}, MERGE)
    until(lambda: bundle(here) == second and served(here), 2)
    assert here.changes(f"{COPIES}?fieldSelector=metadata.name=ca-corp", changed) == ["MODIFIED"]
    here.done("DELETE", f"{COPIES}/ca-corp")
    until(lambda: bundle(here) == second and served(here), 2)
    here.dns({"servers": [SERVER]})
    until(lambda: copy(here) is None)
    assert here.configmap("openshift-dns", "ca-other") is not None
    assert "/etc/pki" not in here.text("openshift-dns", "dns-default")


def test_missing_or_no_bundle(here, run, pem):  # noqa: F811 pylint: disable=redefined-outer-name
    """OP-D5: a missing one means the system's CAs, and is reported; an invalid one leaves the last good copy."""
    good = pem("one")
    p = run("--platform", "openshift")
    here.dns({"servers": [SECURE], "upstreamResolvers": {"upstreams": [{"type": "Network", "address": "192.0.2.7"}],
                                                         "transportConfig": TLS}})
    until(lambda: here.text("openshift-dns", "dns-default").count("        tls\n") == 2)
    assert event(here, "CABundleMissing").startswith("ConfigMap openshift-config/corp is missing: certificates of its upstreams")
    put(here, {"ca-bundle.crt": good})
    until(lambda: served(here))
    assert here.text("openshift-dns", "dns-default").count("/etc/pki/dns.example-ca-corp-") == 2
    put(here, {"ca-bundle.crt": "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"})
    assert "PEM certificates under ca-bundle.crt: the last valid copy" in event(here, "CABundleInvalid")
    assert bundle(here) == good and served(here)
    here.done("DELETE", f"{SOURCES}/corp")
    # after a restart, too; and a refused object falls back to one that names it
    p.stop()
    run("--platform", "openshift", "--dns-settle-time", "100ms")
    here.dns({"servers": [{**SERVER, "forwardPlugin": {"upstreams": ["nonsense"]}}]})
    here.says("Degraded", "True DegradedConditions")
    assert bundle(here) == good and served(here)


def test_where_nothing_mounts_them(here, run, pem):  # noqa: F811 pylint: disable=redefined-outer-name
    """Platform kubernetes: refused, with the field and what to do."""
    put(here, {"ca-bundle.crt": pem("one")})
    run()
    here.dns({"servers": [SECURE], "logLevel": "Trace"})
    message = here.says("Degraded", "True DegradedConditions")
    assert 'spec.servers[0].forwardPlugin.transportConfig.tls.caBundle.name: "corp"' in message
    until(lambda: "class all" in here.text())
    assert "foo.com" not in here.text() and copy(here) is None
