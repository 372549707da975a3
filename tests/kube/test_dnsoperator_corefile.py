# SPDX-License-Identifier: GPL-3.0-or-later
"""What the DNS operator renders (src/controller/dnsoperator/plan/cases) on the wire: every text starts in Fairlead and in
CoreDNS, and templates do what they should in both, beside the Services of a real cluster."""
import glob
import os
import re

import pytest

from dnslib import Api, answers, ask, coredns, fairlead, lines, rcode, until_answer
from lib import certs, cluster, wire
from lib.server import ROOT
from lib.upstream import Upstream

CASES = os.path.join(ROOT, "src", "controller", "dnsoperator", "plan", "cases")
TEXTS = sorted(os.path.basename(path)[:-len(".Corefile")] for path in glob.glob(f"{CASES}/*.Corefile"))
SCRIPT = """
* A
    answer {name} 60 IN A 192.0.2.1
* AAAA
    answer {name} 60 IN AAAA 2001:db8:ffff::1
*
"""
SERVERS = {"fairlead": fairlead, "coredns": coredns}
HASH = re.compile(r"IN TXT ([0-9a-f]{64})\"")


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A dual-stack cluster with a Service, an upstream for all other names, a CA."""
    folder = str(tmp_path_factory.mktemp("ca"))
    certs.make_ca(folder)
    with cluster.Cluster(flags=["--service-cluster-ip-range=10.96.0.0/16,fd00:96::/112"]) as c, \
            Upstream(SCRIPT, tls=True) as up:
        api = Api(c)
        api.namespace("shop")
        api.service("shop", "web", ipFamilyPolicy="RequireDualStack", ipFamilies=["IPv4", "IPv6"],
                    clusterIP="10.96.1.1",
                    clusterIPs=["10.96.1.1", "fd00:96::101"], ports=[{"name": "http", "port": 80, "protocol": "TCP"}])
        yield c, up, certs.texts(folder)


def localise(text, kubeconfig):
    """The text with ports, files and addresses that a test may use; its blocks and directives stay."""
    text = re.sub(r"(?m)^(\S.*\{)$", lambda m: re.sub(r":\d+ ", ":@PORT@ ", m[1]), text)
    text = re.sub(r"(?m)^    bind .*", "    bind 127.0.0.1", text)
    text = re.sub(r"(?m)^    prometheus .*", "    prometheus 127.0.0.1:@HTTP:metrics@", text)
    text = re.sub(r"(?m)^    health \{\n        lameduck .*", "    health 127.0.0.1:@HTTP:health@ {\n        lameduck 0s", text)
    text = re.sub(r"(?m)^    ready$", "    ready 127.0.0.1:@HTTP:ready@", text)
    text = re.sub(r"(?m)^        kubeconfig .*\n", "", text)
    text = re.sub(r"(?m)^(    kubernetes .*\{)$", rf"\1\n        kubeconfig {kubeconfig}", text)
    text = re.sub(r"(?m)^(    (?:egressfirewall|records) \{)$", rf"\1\n        kubeconfig {kubeconfig}", text)
    text = re.sub(r"(?m)^        keys .*\n", "", text)
    text = re.sub(r"(?m)^        tls /.*", "        tls @DIR@/ca.pem", text)
    return re.sub(r"(?m)^(    forward \.) (?!tls).*\{", r"\1 @UP:up@ {", text)


def read(case):
    with open(f"{CASES}/{case}.Corefile", encoding="utf-8") as f:
        return f.read()


def server_of(which, case, place):
    c, up, files = place
    up.forget()
    return SERVERS[which](localise(read(case), c.kubeconfig()), files=files, upstreams={"up": up})


def stock(case, text):
    """Without the plugin of our own that the Corefile of one machine has, whose server is always ours, and without those that
    the operator writes only while their feature gates are on (EF-11)."""
    if case in ("egress", "egress-hold", "records", "search-suffix"):
        text = re.sub(r"(?m)^    (?:egressfirewall|records) \{\n(        .*\n)*    \}\n", "", text)
    return re.sub(r"(?m)^    searchpath .*\n", "", text) if case.startswith(("machine", "search-suffix")) else text


def test_there_are_texts():
    assert len(TEXTS) >= 25


def encrypted(text):
    """The text with the one upstream that has TLS here. Where the system's authorities should know it, nobody gets an answer."""
    text = re.sub(r"(?m)^(    forward \.) tls://.*\{", r"\1 tls://@UPTLS:up@ {", text)
    text = re.sub(r"(?m)^        tls_servername .*", "        tls_servername upstream.test", text)
    return re.sub(r"(?m)^        tls /.*", "        tls @UPCERT:up@", text)


def questions(text):
    """Names in and around all zones of a Corefile, in types that templates answer and in others."""
    keys = re.findall(r"(?m)^(\S[^#\n]*) \{$", text)
    zones = {re.sub(r":\d+$", "", key).strip(".").lower() for line in keys for key in line.split()}
    zones |= {z.strip(".").lower() for line in re.findall(r"(?m)^    template IN AAAA (.*) \{$", text) for z in line.split()}
    zones = {z for z in zones if z != "hostname.bind" and not z.startswith(("config.fairlead.", "config-fairlead."))}
    names = {f"{label}{zone}" for zone in zones for label in ("", "www.", "A.b.", "x-")} | {
        "example.com", "x.local", "web.shop.svc.cluster.local", "none.shop.svc.cluster.local", "1.1.96.10.in-addr.arpa"}
    return [(name or ".", rtype) for name in sorted(names) for rtype in ("A", "AAAA", "TXT", "PTR")]


@pytest.mark.parametrize("case", TEXTS)
def test_starts(case, place):
    """OP-D2, OP-18: a roll-back to stock CoreDNS meets nothing that it does not know, and answers as we do."""
    c, up, files = place
    up.forget()
    text = localise(encrypted(read(case)), c.kubeconfig())
    with SERVERS["fairlead"](text, files=files, upstreams={"up": up}) as ours, \
            SERVERS["coredns"](stock(case, text), files=files, upstreams={"up": up}) as theirs:
        wanted = HASH.search(text)
        domain = re.search(r"(?m)^    kubernetes (\S+)", text)
        for s in (ours, theirs):
            if domain:
                until_answer(s.port(), f"web.shop.svc.{domain[1]}", "A")
            for name in ("config.fairlead.internal", *([f"config-fairlead.{domain[1]}"] if domain else [])):
                reply = ask(s.port(), name, "TXT")
                # with templates a server says which text it runs (OP-T17); without them nobody knows the name
                assert answers(reply).get("TXT") == ([f'"{wanted[1]}"'] if wanted else None), lines(reply)
            if domain:  # the name that the operator asks for is answered by the server itself
                assert up.count(f"config-fairlead.{domain[1]}.") == 0
        for name, rtype in questions(read(case)):
            assert lines(ask(ours.port(), name, rtype)) == lines(ask(theirs.port(), name, rtype))
        assert (up.count(transport="tls") > 0) == ("tls @UPCERT" in text) and not up.problems


def test_nothing_that_stock_coredns_lacks():
    """OP-D2, OP-T1: all words are of CoreDNS 1.13.1, which OpenShift has; `expr` is not."""
    plugins = {"bind", "bufsize", "cache", "chaos", "errors", "forward", "health", "kubernetes", "loadbalance", "loop", "log",
               "prometheus", "ready", "reload", "template"}
    options = {"answer", "class", "denial", "fallthrough", "force_tcp", "kubeconfig", "lameduck", "pods", "policy", "rcode", "tls",
               "tls_servername", "ttl"}
    words = [{w for case in TEXTS for w in re.findall(rf"(?m)^ {{{n}}}([a-z_]+)", stock(case, read(case)))} for n in (4, 8)]
    assert words[0] <= plugins and words[1] <= options, words


@pytest.mark.parametrize("which", SERVERS)
def test_filter_all(which, place):
    """OP-21, OP-22, OP-29, OP-T1: AAAA of the cluster from its Services, of all others empty and never asked upstream."""
    _, up, _ = place
    with server_of(which, "filter-all", place) as s:
        until_answer(s.port(), "web.shop.svc.cluster.local")
        web = ask(s.port(), "web.shop.svc.cluster.local", "AAAA")
        assert answers(web) == {"AAAA": ["fd00:96::101"]}
        assert rcode(ask(s.port(), "none.shop.svc.cluster.local", "AAAA")) == "NXDOMAIN"
        for name in ("example.com", "a.b.Example.ORG", "local", "x.local", "clusterset.local"):
            reply = ask(s.port(), name, "AAAA")
            assert rcode(reply) == "NOERROR" and not reply.answer and not reply.authority, lines(reply)
        assert answers(ask(s.port(), "example.com", "A")) == {"A": ["192.0.2.1"]}
        assert up.count(rtype="AAAA") == 0
        reverse = ask(s.port(), "1.1.96.10.in-addr.arpa", "PTR")
        assert answers(reverse) == {"PTR": ["web.shop.svc.cluster.local."]}


@pytest.mark.parametrize("which", SERVERS)
def test_several_records(which, place):
    """OP-23: a record for each line of the template, with one TTL."""
    with server_of(which, "custom-answer-several", place) as s:
        until_answer(s.port(), "web.shop.svc.cluster.local")
        name = "a.legacy.corp.example.com."
        assert sorted(line for line in lines(ask(s.port(), name, "AAAA")) if line.startswith("answer")) == [
            f"answer {name} 600 IN AAAA 2001:db8::100", f"answer {name} 600 IN AAAA 2001:db8::200"]


@pytest.mark.parametrize("which", SERVERS)
def test_templates_for_addresses(which, place):
    """OP-18, OP-30: a template that names zones of addresses holds there, also beside one for `.`, which spares them."""
    with server_of(which, "filter-reverse", place) as s:
        until_answer(s.port(), "web.shop.svc.cluster.local")
        assert answers(ask(s.port(), "1.1.96.10.in-addr.arpa", "AAAA")) == {"AAAA": ["2001:db8::1"]}
        assert answers(ask(s.port(), "1.1.96.10.in-addr.arpa", "PTR")) == {"PTR": ["web.shop.svc.cluster.local."]}
        assert not ask(s.port(), "1.2.0.192.in-addr.arpa", "AAAA").answer
        assert answers(ask(s.port(), "web.shop.svc.cluster.local", "AAAA")) == {"AAAA": ["fd00:96::101"]}
    with server_of(which, "filter-all", place) as s:
        until_answer(s.port(), "web.shop.svc.cluster.local")
        assert answers(ask(s.port(), "1.2.0.192.in-addr.arpa", "AAAA")) == {"AAAA": ["2001:db8:ffff::1"]}


def test_filter_behind_the_search_suffix(place):
    """AMP-10: a filter on `.` holds for outside names that a walk looks up; the cluster's own keep their AAAA records."""
    _, up, _ = place
    suffix = "shop.search.cluster.local"
    with server_of("fairlead", "search-suffix", place) as s:
        until_answer(s.port(), f"web.{suffix}")
        assert answers(ask(s.port(), f"web.{suffix}", "AAAA"))["AAAA"] == ["fd00:96::101"]
        reply = ask(s.port(), f"www.example.com.{suffix}", "AAAA")
        assert rcode(reply) == "NOERROR" and not reply.answer, lines(reply)
        assert answers(ask(s.port(), f"www.example.com.{suffix}"))["A"] == ["192.0.2.1"]
        assert up.count(rtype="AAAA") == 0


@pytest.mark.parametrize("which", SERVERS)
def test_no_templates(which, place):
    """OP-1, OP-35: with none of them AAAA goes upstream."""
    with server_of(which, "original-empty", place) as s:
        until_answer(s.port(), "web.shop.svc.cluster.local")
        assert answers(ask(s.port(), "example.com", "AAAA")) == {"AAAA": ["2001:db8:ffff::1"]}
        assert answers(ask(s.port(), "web.shop.svc.cluster.local", "AAAA")) == {"AAAA": ["fd00:96::101"]}


@pytest.mark.parametrize("which", SERVERS)
def test_custom_servers(which, place):
    """OP-18, OP-26: templates hold in the blocks of spec.servers."""
    _, up, _ = place
    with server_of(which, "filter-servers", place) as s:
        until_answer(s.port(), "web.shop.svc.cluster.local")
        assert not ask(s.port(), "www.foo.com", "AAAA").answer
        assert not ask(s.port(), "www.corp.example", "AAAA").answer
        assert answers(ask(s.port(), "www.foo.com", "A")) == {"A": ["192.0.2.1"]}
        assert answers(ask(s.port(), "named.example", "AAAA")) == {"AAAA": ["2001:db8::1"]}
        assert up.count(rtype="AAAA") == 0
        assert answers(ask(s.port(), "web.shop.svc.cluster.local", "AAAA")) == {"AAAA": ["fd00:96::101"]}


@pytest.mark.parametrize("which", SERVERS)
@pytest.mark.parametrize("case", ["servers-above", "servers-above-filter"])
def test_servers_above_the_domain(which, case, place):
    """OP-D6: a server for `local` gets all of it but the cluster's names, with templates or without."""
    _, up, _ = place
    with server_of(which, case, place) as s:
        until_answer(s.port(), "web.shop.svc.cluster.local")
        assert answers(ask(s.port(), "web.shop.svc.cluster.local", "A")) == {"A": ["10.96.1.1"]}
        assert answers(ask(s.port(), "web.shop.svc.cluster.local", "AAAA")) == {"AAAA": ["fd00:96::101"]}
        assert rcode(ask(s.port(), "none.shop.svc.cluster.local", "A")) == "NXDOMAIN"
        assert rcode(ask(s.port(), "consul.cluster.local", "A")) == "NXDOMAIN"
        for name in ("printer.local", "local", "mycluster.local"):
            assert answers(ask(s.port(), name, "A")) == {"A": ["192.0.2.1"]}
        assert not [q.name for q in up.asked() if f".{q.name}".lower().rstrip(".").endswith(".cluster.local")]


@pytest.mark.parametrize("which", SERVERS)
def test_precedence(which, place):
    """OP-19, OP-20, OP-23, OP-24: the longest zone answers, whichever template has it."""
    with server_of(which, "templates-split", place) as s:
        for name, want in (("deep.z.example", True), ("a.deep.z.example", True), ("z.example", False),
                           ("y.example", True), ("a.y.example", True), ("x.y.example", False), ("a.x.y.example", False),
                           ("other.example", False)):
            reply = ask(s.port(), name, "AAAA")
            assert answers(reply) == ({"AAAA": ["2001:db8::d"]} if want else {}), lines(reply)
    with server_of(which, "custom-answer", place) as s:
        reply = ask(s.port(), "a.LEGACY.corp.example.com", "AAAA")
        # the cache's positive TTL is the limit
        assert [wire.record_text(r).split() for r in reply.answer] == [
            ["a.legacy.corp.example.com.", "900", "IN", "AAAA", "2001:db8::100"]]


@pytest.mark.parametrize("which", SERVERS)
def test_other_domain(which, place):
    """OP-13, OP-30 with a domain that is not cluster.local: the zone above it is filtered, the domain is not."""
    with server_of(which, "kubernetes-domain", place) as s:
        until_answer(s.port(), "web.shop.svc.k8s.example.org")
        assert answers(ask(s.port(), "web.shop.svc.k8s.example.org", "AAAA")) == {"AAAA": ["fd00:96::101"]}
        assert not ask(s.port(), "www.example.org", "AAAA").answer
        assert answers(ask(s.port(), "www.example.com", "AAAA")) == {"AAAA": ["2001:db8:ffff::1"]}
