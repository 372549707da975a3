# SPDX-License-Identifier: GPL-3.0-or-later
"""Templates in nine scenarios, on the wire. Each runs with the embedded API and with a real kube-apiserver;
in each, two servers of Fairlead and one of CoreDNS run the operator's ConfigMap as it is, and every question is put to all three,
which must give the same reply (e2elib)."""
import contextlib
import itertools
import json
import os
import random
import re
import subprocess

import pytest

import crdlib
from controllerlib import until
from dnslib import answers, lines
# pylint: disable-next=unused-import
from e2elib import APPLIED, CORP, DUAL, IPV4, IPV6, VALID, WARNING, answer, empty, images, site, whole_site  # noqa: F401
from lib import cluster, server
from test_dnsoperator import CRD, DNS
from test_dnsoperator_applied import SILENT

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root (namespaces, other users)")
WEB, WEB6 = "web.shop.svc.cluster.local", "fd00:96::101"
OUTSIDE = "2001:db8:ffff::1"  # AAAA of all names, by the upstreams
BACKUP = "dns.fairlead.dev/templates-backup"
SERVER = {"name": "corp", "zones": ["corp.example", "Other.Example."], "forwardPlugin": {"upstreams": [CORP]}}


def cluster_works(site):
    """Services have their addresses, and missing names do not exist."""
    assert site.get(WEB, "A") == "10.96.1.1" and site.get(WEB) == WEB6
    assert site.get("none.shop.svc.cluster.local") == "NXDOMAIN"
    assert site.get("1.1.96.10.in-addr.arpa", "PTR") == f"{WEB}."


def reasons(site):
    return {name: f"{c['status']} {c['reason']}" for name, c in site.place.conditions().items()
            if name in (VALID, APPLIED, WARNING)}


def remove_templates(site):
    """OP-37, by the JSON patch that its documentation shows."""
    patch = [{"op": "remove", "path": "/spec/templates"}]
    site.place.done("PATCH", f"{DNS}/default", patch, "application/json-patch+json")


# ---- 1. AAAA filtering (basic and specific zones) ----


def test_aaaa_filtering_basic(site):
    """OP-21, OP-22, OP-33, OP-T5, OP-T20: AAAA of all names outside are empty and no upstream is asked for them; A and other types are not
    touched, and neither is the cluster."""
    site.apply({"templates": [empty("filter-aaaa", ".")]})
    for name in ("www.example.com", "a.b.Example.ORG", "example", "nx.example"):
        site.empty(name)
    assert site.up.count(rtype="AAAA") == 0
    assert site.get("www.example.com", "A") == "192.0.2.1" and site.up.count("www.example.com.", "A") == len(site.servers)
    assert site.get("nx.example", "A") == "NXDOMAIN"
    for rtype in ("TXT", "MX", "SRV", "HTTPS"):
        assert site.get("www.example.com", rtype) == "NOERROR"
        assert site.up.count("www.example.com.", rtype) == len(site.servers)
    for flags in (("rd",), ("rd", "ad")) * 2:  # OP-T20: to those who validate it is an unsigned answer, from the cache, too
        reply = site.ask("signed.example.com", "AAAA", flags=flags, edns=1232, do=True)
        assert reply.counts == (1, 0, 0, 1) and "ad" not in reply.flags, lines(reply)
    cluster_works(site)
    assert reasons(site) == {VALID: "True AsExpected", APPLIED: "True AsExpected", WARNING: "False NotDualStack"}


def test_aaaa_filtering_metrics(site):
    """OP-39, OP-T9: arrivals are counted as ever; queries that are forwarded become fewer, answers by templates more."""
    site.apply({"templates": [empty("filter-aaaa", ".")]})
    arrived = r'coredns_dns_requests_total\{.*type="AAAA"'
    matches = "coredns_template_matches_total"
    forwarded = "coredns_proxy_request_duration_seconds_count"
    by_us = r'fairlead_dns_template_answers_total\{.*type="AAAA"', r'coredns_forward_requests_total\{.*type="AAAA"'
    names = [f"n{i}.example.com" for i in range(5)]

    def counts():
        return {s.name: [s.metric(m) for m in (arrived, matches, forwarded, *by_us)] for s in site.servers}
    before = counts()
    for name in names:
        assert site.get(name) == site.get(name) == "NOERROR"  # the second comes from the cache
    after = counts()
    for s in site.servers:
        rise = [int(b - a) for a, b in zip(before[s.name], after[s.name])]
        assert rise[0] == 10 and rise[1] >= 5 and rise[2] == 0, (s.name, rise)
        assert rise[3:] == ([10, 0] if s.program == "fairlead" else [0, 0]), (s.name, rise)
    for name in names:
        assert site.get(name, "A") == "192.0.2.1"
    assert {s.name: s.metric(forwarded) - after[s.name][2] for s in site.servers} == {s.name: 5 for s in site.servers}


def test_aaaa_filtering_specific_zones(site):
    """OP-21, OP-T21: the apex and all below it, in any spelling; others go upstream."""
    site.apply({"templates": [empty("filter-aaaa", "Filtered.Example", "corp.example.org.")]})
    for name in ("filtered.example", "a.FILTERED.example", "a.b.corp.example.org"):
        site.empty(name)
    assert site.up.count(rtype="AAAA") == 0
    for name in ("example", "notfiltered.example", "example.org", "xcorp.example.org"):
        assert site.get(name) == OUTSIDE
        assert site.up.count(f"{name}.", "AAAA") == len(site.servers)
    assert site.get("a.filtered.example", "A") == "192.0.2.1"
    cluster_works(site)
    assert reasons(site)[WARNING] == "False NoCoveringTemplate"


# ---- 2. Custom responses ----


def test_custom_responses(site):
    """OP-23, OP-24: the address and TTL of the template, up to the cache's limit, for the name as it was asked."""
    site.apply({"templates": [
        answer("legacy", "2001:db8::100", "legacy.corp.example.com", ttl=3600),
        answer("short", "2001:db8::60", "short.example.com", ttl=60), answer("none", "2001:db8::5", "zero.example.com", ttl=0)]})
    for name, ttl, address in (("a.LEGACY.corp.example.com", 900, "2001:db8::100"),
                               ("legacy.corp.example.com", 900, "2001:db8::100"),
                               ("x.short.example.com", 60, "2001:db8::60"), ("y.zero.example.com", 5, "2001:db8::5")):
        for who, reply in site.replies(name, edns=1232).items():
            record, = (line for line in lines(reply) if line.startswith("answer"))
            assert record == f"answer {name.lower()}. {ttl} IN AAAA {address}", who
            assert reply.counts == (1, 1, 0, 1) and reply.flags == ("qr", "aa", "rd"), who
        assert site.get(name, tcp=True) == address
        assert site.get(name, "A") == "192.0.2.1"
    assert site.up.count(rtype="AAAA") == 0
    assert site.get("corp.example.com") == OUTSIDE
    site.says(VALID, "True AsExpected")


# ---- 3. Multiple templates ----


def test_multiple_templates(site):
    """OP-19, OP-20: the longest zone answers, whichever template has it and wherever it stands in the list."""
    templates = [empty("all", "."), answer("corp", "2001:db8::c", "corp.example", "b.a.other.example"),
                 empty("deep", "deep.corp.example", "a.other.example"), answer("deeper", "2001:db8::d", "x.deep.corp.example")]
    wants = {"example": "", "corp.example": "2001:db8::c", "a.corp.example": "2001:db8::c", "deep.corp.example": "",
             "a.deep.corp.example": "", "x.deep.corp.example": "2001:db8::d", "y.x.deep.corp.example": "2001:db8::d",
             "other.example": "", "a.other.example": "", "c.a.other.example": "", "b.a.other.example": "2001:db8::c"}
    texts = set()
    for i in range(3):
        random.Random(i).shuffle(templates)
        site.apply({"templates": templates})
        texts.add(site.text())
        assert {name: " ".join(answers(site.ask(name)).get("AAAA", [])) for name in wants} == wants
    assert len(texts) == 1 and site.up.count(rtype="AAAA") == 0


def test_multiple_templates_as_many_as_there_may_be(site):
    """OP-9: 20, each on its own; a 21st is refused."""
    many = [answer(f"t{i}", f"2001:db8::{i:x}", f"z{i}.example", *(f"{j}.of-{i}.example" for j in range(20)))
            for i in range(1, 20)]
    site.apply({"templates": [*many, empty("rest", ".")]})
    for i in (1, 7, 19):
        assert site.get(f"a.z{i}.example") == site.get(f"a.19.of-{i}.example") == f"2001:db8::{i:x}"
        site.empty(f"of-{i}.example")
    assert site.up.count(rtype="AAAA") == 0
    cluster_works(site)
    status, reply = site.patch({"spec": {"templates": [*many, empty("rest", "."), empty("more", "a")]}})
    assert status == 422 and "spec.templates" in reply["message"], reply


# ---- 4. Dual-stack protection ----


def test_dual_stack_protection(site):
    """OP-28…OP-31, OP-T1…OP-T7: whatever the family, zones above the cluster's domain do not reach into it; with IPv6 a warning
    says what is lost, by a reason of its own where the cluster has nothing else, or nobody knows."""
    site.network(DUAL)
    site.apply({"templates": [empty("filter-aaaa", ".")], "servers": [SERVER]})
    message = site.says(WARNING, "True DualStackCluster")
    for word in ("filter-aaaa", "specific zones", "clusterset.local", "corp.example", "other.example"):
        assert word in message, message
    cluster_works(site)
    for name in ("www.example.com", "local", "clusterset.local", "www.corp.example"):
        site.empty(name)
    assert site.up.count(rtype="AAAA") == site.corp.count(rtype="AAAA") == 0
    for ranges, want in ((IPV6, "True IPv6OnlyCluster"), (None, "True NetworkUnknown"), (IPV4, "False NotDualStack")):
        site.network(ranges)
        site.says(WARNING, want)
        cluster_works(site)
        site.empty("www.example.org")
    site.network(DUAL)
    site.apply({"templates": [empty("filter-aaaa", "local")]})  # OP-T4
    site.says(WARNING, "True DualStackCluster")
    cluster_works(site)
    site.empty("printer.local")
    assert site.get("www.example.com") == OUTSIDE
    site.apply({"templates": [empty("filter-aaaa", "example.com")]})
    site.says(WARNING, "False NoCoveringTemplate")
    site.apply({"templates": [answer("all", "2001:db8::a", ".")]})  # OP-T5: not for filters alone
    site.says(WARNING, "True DualStackCluster")
    cluster_works(site)
    assert site.get("www.example.com") == "2001:db8::a"


# ---- 5. Template application to custom servers ----


def test_custom_servers(site):
    """OP-18, OP-26: templates stand in every block but that of CHAOS, and hold for what those forward. Zones below the
    cluster's domain are refused (test_dnsoperator.py)."""
    site.apply({"servers": [SERVER],
                "templates": [empty("filter-aaaa", "."), answer("app", "2001:db8::a", "app.corp.example")]})
    blocks = {keys: body for keys, body in re.findall(r"(?ms)^(\S[^#\n]*) \{\n(.*?)^\}", site.text())}
    has = {keys: body.count("template IN AAAA") for keys, body in blocks.items()}
    assert has == {"corp.example:5353 Other.Example.:5353": 2, ".:5353": 2, "hostname.bind:5353": 0,
                   "cluster.local:5353 in-addr.arpa:5353 ip6.arpa:5353": 0,
                   "config.fairlead.internal:5353 config-fairlead.cluster.local:5353": 0}
    for name in ("corp.example", "www.corp.example", "www.other.example", "www.example.com"):
        site.empty(name)
    assert site.get("x.app.corp.example") == "2001:db8::a"
    assert site.corp.count(rtype="AAAA") == site.up.count(rtype="AAAA") == 0
    assert site.get("www.corp.example", "A") == "192.0.2.2" and site.get("www.example.com", "A") == "192.0.2.1"
    cluster_works(site)


def test_custom_upstream_resolvers(site):
    """The same for `upstreamResolvers`, over UDP and with TCP forced."""
    for strategy in ("", "TCP"):
        resolvers = {"upstreams": [{"type": "Network", "address": CORP, "port": 53}], "protocolStrategy": strategy}
        site.apply({"upstreamResolvers": resolvers, "templates": [empty("filter-aaaa", ".")]})
        site.empty("www.example.com")
        assert site.get(f"www{strategy}.example.com", "A") == "192.0.2.2"
        assert site.up.count(rtype="A") == site.up.count(rtype="AAAA") == site.corp.count(rtype="AAAA") == 0
    assert [site.corp.count(rtype="A", transport=t) for t in ("udp", "tcp")] == [len(site.servers)] * 2


# ---- 6. Template updates ----


def test_template_updates(site):
    """OP-27, OP-37: what is added, changed and taken away holds as soon as it is told, for names in caches, too; no server
    was started again for it."""
    processes = [s.pod.pid for s in site.servers]
    name = "www.example.com"
    assert site.get(name) == OUTSIDE  # and is cached
    site.apply({"templates": [empty("t", "example.com")]})
    site.empty(name)
    site.apply({"templates": [answer("t", "2001:db8::1", "example.com")]})
    assert site.get(name) == "2001:db8::1"
    site.apply({"templates": [answer("t", "2001:db8::2", "example.com")]})
    assert site.get(name) == "2001:db8::2"
    site.apply({"templates": [answer("t", "2001:db8::2", "example.org"), empty("u", "u.example")]})
    assert site.get(name) == OUTSIDE and site.get("example.org") == "2001:db8::2"
    site.empty("u.example")
    site.apply({"templates": [empty("u", "u.example")]})
    assert site.get("example.org") == OUTSIDE
    remove_templates(site)
    site.says(APPLIED, "True NoTemplates")
    assert site.get("u.example") == OUTSIDE and "template" not in site.text()
    assert reasons(site) == {VALID: "True NoTemplates", APPLIED: "True NoTemplates", WARNING: "False NoTemplates"}
    for i in range(10):  # faster than anybody can follow
        last = site.place.dns({"templates": [answer("t", f"2001:db8::{i}", "example.com")]})
    site.runs(last)
    assert site.get(name) == "2001:db8::9"
    assert [s.pod.pid for s in site.servers] == processes and all(s.pod.alive() for s in site.servers)


# ---- 7. Error cases ----

REFUSED_BY_SCHEMA = [
    ([empty("t", "a_b.example")], "spec.templates[0].zones[0]"), ([empty("t", "*.example")], "spec.templates[0].zones[0]"),
    ([empty("t", "ok.example", "-a.example")], "spec.templates[0].zones[1]"), ([empty("t")], "spec.templates[0].zones"),
    ([empty("t", "a"), empty("t", "b")], "spec.templates[1]"), ([empty("Upper", "a")], "spec.templates[0].name"),
    ([{"name": "t", "zones": ["a"], "action": {}}], "exactly one action type must be specified"),
]
REFUSED_BY_OPERATOR = [
    ([empty("hijack", "cluster.local")], "ReservedZone", ["hijack", "spec.templates[0].zones[0]", "cluster.local"]),
    ([empty("hijack", "x.example", "Svc.Cluster.Local.")], "ReservedZone",
     ["hijack", "spec.templates[0].zones[1]", "Svc.Cluster.Local."]),
    ([empty("one", "a.example"), empty("two", "b.example", "A.example.")], "DuplicateZone",
     ["two", "spec.templates[1].zones[1]", "A.example.", "one"]),
    ([empty("one", "a.example", "a.EXAMPLE")], "DuplicateZone", ["one", "spec.templates[0].zones[1]", "a.EXAMPLE"]),
    ([{"name": "t", "zones": ["a"], "action": {"generateResponse": {"answerTemplate": "{{ .Name }} 60 IN A 192.0.2.1"}}}],
     "InvalidAnswerTemplate", ["t", "spec.templates[0].action.generateResponse.answerTemplate", "AAAA"]),
    ([{"name": "t", "zones": ["a"], "action": {"generateResponse": {"answerTemplate": "{{ .Name }"}}}],
     "InvalidAnswerTemplate", ["t", "spec.templates[0].action.generateResponse.answerTemplate"]),
    ([empty("hijack", "cluster.local"), empty("one", "a.example"), empty("two", "a.example")], "MultipleErrors",
     ["hijack", "spec.templates[0].zones[0]", "two", "spec.templates[2].zones[0]"]),
]


def test_error_cases(site):
    """OP-3…OP-17, OP-T16: refused with words that say where and why; what was accepted last is still served, and the rest of the
    object is carried out."""
    site.apply({"templates": [answer("good", "2001:db8::1", "good.example")]})
    for templates, where in REFUSED_BY_SCHEMA:
        status, reply = site.patch({"spec": {"templates": templates}})
        assert status == 422 and where in reply["message"], reply
    for i, (templates, reason, words) in enumerate(REFUSED_BY_OPERATOR):
        level, there = (("Trace", "class all"), ("Debug", "class denial error"))[i % 2]
        site.place.dns({"templates": templates, "logLevel": level})

        def told():
            c = site.place.conditions()[VALID]
            # pylint: disable-next=cell-var-from-loop
            return (c["status"], c["reason"]) == ("False", reason) and all(word in c["message"] for word in words)
        until(told)
        until(lambda: there in site.text())  # pylint: disable=cell-var-from-loop
        site.says(APPLIED, "False InvalidTemplates")
        assert site.get("www.good.example") == "2001:db8::1"
        assert site.get("a.example") == OUTSIDE
    cluster_works(site)
    assert all(s.pod.alive() for s in site.servers)
    site.apply({"templates": [answer("good", "2001:db8::2", "good.example")]})
    assert site.get("www.good.example") == "2001:db8::2"


# ---- 8. Feature gate ----


def test_feature_gate(site):
    """OP-1, OP-35, OP-T18: off, templates are ignored, the text is the one without them, and both are told; on, they are back."""
    plain = site.text()
    assert "template" not in plain
    templates = {"templates": [empty("filter-aaaa", ".")]}
    site.apply(templates)
    site.empty("www.example.com")
    site.gate(False)
    until(lambda: site.text() == plain)
    until(lambda: all(answers(m) == {"AAAA": [OUTSIDE]} for m in site.replies("www.example.com").values()))
    assert site.says(VALID, "Unknown FeatureGateDisabled") and site.says(APPLIED, "Unknown FeatureGateDisabled")
    assert site.object()["spec"]["templates"]
    site.gate(True)
    site.runs(site.object()["metadata"]["generation"])
    site.empty("www.example.com")
    site.operate("--feature-gates", "DNSTemplatePlugin=false")
    try:
        until(lambda: site.text() == plain)
    finally:
        site.operate()
    site.runs(site.object()["metadata"]["generation"])


# ---- 9. Upgrade/downgrade ----


def restore_command():
    """As docs/controllers/dnsoperator.md has it."""
    with open(os.path.join(server.ROOT, "docs", "controllers", "dnsoperator.md"), encoding="utf-8") as f:
        text = f.read()
    found, = (block for block in re.findall(r"(?m)(?:^    .*\n)+", text) if "templates-backup" in block and "kubectl" in block)
    return found


def test_upgrade(site):
    """OP-36: another operator finds the templates and has nothing to write; servers that start anew run them."""
    generation = site.apply({"templates": [empty("filter-aaaa", "."), answer("legacy", "2001:db8::1", "legacy.example")]})
    kept = json.loads(until(lambda: site.object()["metadata"].get("annotations", {}).get(BACKUP)))
    assert kept == site.object()["spec"]["templates"]
    before = site.object()
    site.operator.kill()
    site.operate()
    until(lambda: site.looks() >= 4)  # at the object and at servers, more than once
    assert site.object() == before
    for s in site.servers:
        s.stop()
        s.start()
    for s in site.servers:
        until(s.ready)
    site.runs(generation)
    site.empty("www.example.com")
    assert site.get("legacy.example") == "2001:db8::1" and site.up.count(rtype="AAAA") == 0
    cluster_works(site)


STOCK_ASKS = ["www.example.com", "www.one.example", "x.legacy.example", "www.corp.example", "nx.example", WEB,
              "none.svc.cluster.local"]
TEXTS = [{}, {"servers": [SERVER]}, {"templates": [empty("one", "one.example")]},
         {"templates": [empty("all", "."), answer("legacy", "2001:db8::1", "legacy.example")], "servers": [SERVER],
          "upstreamResolvers": {"upstreams": [{"type": "Network", "address": CORP}], "policy": "RoundRobin"},
          "cache": {"positiveTTL": "5m"}, "logLevel": "Trace"}]


def test_downgrade_to_stock_coredns(site):
    """OP-D2: CoreDNS that starts with the text as it was written answers as Fairlead does."""
    stock, = (s for s in site.servers if s.program == "coredns")
    fresh = itertools.count()
    asked = []
    for spec in TEXTS:
        site.place.dns(spec)
        site.says(APPLIED, "True AsExpected" if "templates" in spec else "True NoTemplates")
        corp = {"A": ["192.0.2.2" if "servers" in spec else "192.0.2.1"]}
        until(lambda: all(answers(m) == corp  # pylint: disable=cell-var-from-loop
                          for m in site.replies(f"n{next(fresh)}.corp.example", "A").values()))
        stock.stop()
        stock.start()
        until(stock.ready)
        for name, rtype in itertools.product(STOCK_ASKS, ("A", "AAAA", "TXT")):
            site.ask(name, rtype, edns=1232)
            site.ask(name, rtype, tcp=True)
        asked.append(site.up.count("www.one.example.", "AAAA"))
    assert 0 < asked[0] <= asked[1] == asked[2] == asked[3], asked  # the last two texts filter it


def test_downgrade_and_restore(site):
    """OP-36: under a CRD without the field the next write destroys templates, and DNS is as it was before them, without a
    manual step; the annotation is still there, and the command in the docs makes templates of it again. (The embedded API has
    the CRDs of its program: there somebody removes the field.)"""
    plain, templates = site.text(), [empty("filter-aaaa", "."), answer("legacy", "2001:db8::1", "legacy.example")]
    site.apply({"templates": templates})
    until(lambda: BACKUP in site.object()["metadata"].get("annotations", {}))
    stored = site.object()["spec"]["templates"]
    site.operator.stop()
    with crd_without_templates(site.place) if site.real else contextlib.nullcontext():
        if not site.real:
            remove_templates(site)
        assert site.patch({"metadata": {"labels": {"touched": "yes"}}})[0] == 200
        site.operate("--feature-gates", "DNSTemplatePlugin=false")  # as one that knows nothing of them
        until(lambda: site.text() == plain)
        until(lambda: all(answers(m) == {"AAAA": [OUTSIDE]} for m in site.replies("www.example.com").values()))
        assert "templates" not in site.object()["spec"]
        site.operate()
        assert BACKUP in site.object()["metadata"]["annotations"]
    kubectl = os.path.dirname(cluster.peer("kubectl"))
    subprocess.run(["sh", "-ec", restore_command()], check=True, timeout=60, env={
        **os.environ, "PATH": f"{kubectl}:{os.environ['PATH']}", "KUBECONFIG": site.place.kubeconfig(site.folder + "/outside")})
    assert site.object()["spec"]["templates"] == stored
    site.runs(site.object()["metadata"]["generation"])
    site.empty("www.example.com")
    assert site.get("legacy.example") == "2001:db8::1"


@contextlib.contextmanager
def crd_without_templates(place):
    at = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/templates"
    path = f"{crdlib.CRD_PATH}/{CRD}"
    crd = place.done("GET", path)
    field = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["templates"]
    probe = {"apiVersion": "operator.openshift.io/v1", "kind": "DNS", "metadata": {"name": "x"},
             "spec": {"templates": [empty("t", "a")]}}

    def keeps():
        return "templates" in place.done("POST", f"{DNS}?dryRun=All", probe)["spec"]
    place.done("PATCH", path, [{"op": "remove", "path": at}], "application/json-patch+json")
    try:
        until(lambda: not keeps())
        yield
    finally:
        place.done("PATCH", path, [{"op": "add", "path": at, "value": field}], "application/json-patch+json")
        until(keeps)


# ---- what breaks, and comes back ----


def test_a_server_is_killed(site):
    """OP-34: kill -9 of a server, of ours and of CoreDNS: a change is not told to be applied before it runs it, too; the others
    serve it, and nothing is forgotten when it is back."""
    site.apply({"templates": [answer("t", "2001:db8::1", "example.com")]})
    for i, victim in enumerate(site.servers[1:], 2):
        victim.kill()
        generation = site.place.dns({"templates": [answer("t", f"2001:db8::{i}", "example.com")]})
        message = site.says(APPLIED, "Unknown InstancesUnreachable")
        assert message == f"2 of 3 servers run generation {generation}; no answer from: dns-default-{victim.name}. {SILENT}"
        assert site.get("example.com", apart=[victim]) == f"2001:db8::{i}"
        victim.stop()
        victim.start()
        site.runs(generation)
        assert site.get("example.com") == f"2001:db8::{i}"
