# SPDX-License-Identifier: GPL-3.0-or-later
"""`k8s_external`: the same replies as CoreDNS on the same API."""
import os

import pytest

from dnslib import Api, ask, coredns, fairlead, lines, rcode, until_answer
from lib import cluster
from lib.upstream import Upstream

COREFILE = """.:@PORT@ {
    k8s_external example.com 2.0.192.in-addr.arpa {
        ttl 30
    }
    kubernetes cluster.local {
        kubeconfig KUBECONFIG
        ttl 7
    }
    forward . @UP:world@
}
.:@PORT:headless@ {
    k8s_external Example.com 8.b.d.0.1.0.0.2.ip6.arpa {
        apex Names
        headless
        fallthrough example.com
    }
    kubernetes cluster.local {
        kubeconfig KUBECONFIG
        namespaces shop
        endpoint_pod_names
    }
    forward . @UP:world@
}
"""
WORLD = """
lb.example.net. A
    answer lb.example.net. 60 IN A 198.51.100.1
    answer lb.example.net. 60 IN A 198.51.100.2
lb.example.net. AAAA
    answer lb.example.net. 60 IN AAAA 2001:db8::5
lb2.example.net. *
    rcode SERVFAIL
* *
    rcode NXDOMAIN
    authority . 60 IN SOA a. b. 1 2 3 4 5
"""
HTTP = [{"name": "http", "port": 80, "protocol": "TCP"}]
TWO = HTTP + [{"name": "dns", "port": 53, "protocol": "UDP"}]
NAMES = ["", "dns.", "ns1.dns.", "ns2.dns.", "x.ns1.dns.", "names.", "ns1.names.", "shop.", "empty.", "nope.", "web.shop.",
         "WEB.Shop.", "_http._tcp.web.shop.", "_dns._udp.web.shop.", "http.udp.web.shop.", "x.web.shop.",
         "a.b.c.web.shop.", "lb.shop.", "_http._tcp.lb.shop.", "dead.shop.", "many.shop.", "plain.shop.", "head.shop.",
         "pod-a.head.shop.", "10-1-0-2.head.shop.", "_http._tcp.head.shop.", "none.head.shop.", "web.other.", "twin.shop."]
REVERSE = ["1.2.0.192.in-addr.arpa.", "9.2.0.192.in-addr.arpa.", "2.0.192.in-addr.arpa.", "shop.2.0.192.in-addr.arpa.",
           "1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa."]


@pytest.fixture(scope="module")
def servers():
    with cluster.Cluster(flags=["--service-cluster-ip-range=10.96.0.0/16,fd00:96::/108"]) as c, Upstream(WORLD) as up:
        api = Api(c)
        for ns in ("shop", "other", "empty"):
            api.namespace(ns)
        ingress = lambda *v: {"loadBalancer": {"ingress": list(v)}}
        api.service("shop", "web", ports=TWO, externalIPs=["192.0.2.1", "192.0.2.2"])
        api.service("shop", "twin", ports=HTTP, externalIPs=["192.0.2.1"])
        api.service("other", "web", ports=HTTP, externalIPs=["192.0.2.3"])
        api.service("shop", "lb", ingress({"hostname": "lb.example.net"}), type="LoadBalancer", ports=HTTP)
        api.service("shop", "dead", ingress({"hostname": "lb2.example.net"}), type="LoadBalancer", ports=HTTP)
        api.service("shop", "many", ingress({"ip": "192.0.2.9"}, {"ip": "2001:db8::1"}, {"hostname": "lb.example.net"}),
                    type="LoadBalancer", ports=HTTP)
        api.service("shop", "plain", ports=HTTP)
        api.service("shop", "head", clusterIP="None", ports=TWO)
        api.slice("shop", "head-1", "head", [{"addresses": ["10.1.0.1"], "hostname": "pod-a"}, {"addresses": ["10.1.0.2"]}],
                  TWO)
        text = COREFILE.replace("KUBECONFIG", c.kubeconfig())
        with fairlead(text, upstreams={"world": up}) as us, coredns(text, upstreams={"world": up}) as them:
            for s in (us, them):
                until_answer(s.port(), "many.shop.example.com")
                until_answer(s.port("headless"), "pod-a.head.shop.example.com")
            yield api, us, them


@pytest.mark.parametrize("block", ["", "headless"])
def test_as_coredns(servers, block):
    _, us, them = servers
    asked = 0
    for name in [n + "example.com." for n in NAMES] + REVERSE + ["other.test."]:
        for rtype in ("A", "AAAA", "SRV", "PTR", "SOA", "NS", "TXT", "CNAME", "ANY"):
            ours, theirs = (lines(ask(s.port(block), name, rtype)) for s in (us, them))
            assert ours == theirs, (block, name, rtype)
            asked += 1
    assert asked == 315


def test_follows_changes(servers):
    """An external address that comes and goes: name, reverse name and serial."""
    api, us, _ = servers
    before = next(r for r in ask(us.port(), "nope.example.com", "A").authority)
    api.service("shop", "late", ports=HTTP, externalIPs=["192.0.2.77"])
    until_answer(us.port(), "late.shop.example.com")
    assert [w for w in lines(ask(us.port(), "77.2.0.192.in-addr.arpa", "PTR")) if w.startswith("answer")] == [
        "answer 77.2.0.192.in-addr.arpa. 30 IN PTR late.shop.example.com."]
    assert next(r for r in ask(us.port(), "nope.example.com", "A").authority)[4] >= before[4]
    api.delete("/api/v1/namespaces/shop/services/late")
    until_answer(us.port(), "late.shop.example.com", want="NXDOMAIN")
    until_answer(us.port(), "77.2.0.192.in-addr.arpa", "PTR", want="NXDOMAIN")


def test_host_name_of_two_ports(servers):
    """One CNAME record, however many ports there are."""
    api, us, _ = servers
    api.service("shop", "ports", {"loadBalancer": {"ingress": [{"hostname": "lb.example.net"}]}}, type="LoadBalancer",
                ports=TWO)
    until_answer(us.port(), "ports.shop.example.com")
    assert [w for w in lines(ask(us.port(), "ports.shop.example.com", "A")) if w.startswith("answer")] == [
        "answer lb.example.net. 60 IN A 198.51.100.1", "answer lb.example.net. 60 IN A 198.51.100.2",
        "answer ports.shop.example.com. 7 IN CNAME lb.example.net."]
    api.delete("/api/v1/namespaces/shop/services/ports")


def cpu_of(s, name, rtype, times=12):
    """Clock ticks of the server for so many questions."""
    def ticks():
        with open(f"/proc/{s.process.pid}/stat", encoding="ascii") as f:
            return sum(map(int, f.read().rsplit(")", 1)[1].split()[11:13]))
    before = ticks()
    for _ in range(times):
        assert rcode(ask(s.port("headless"), name, rtype)) == "NOERROR"
    return ticks() - before


def test_many_endpoints(servers):
    """Records are told apart at a cost that grows with their number, not with its square: as in `kubernetes`."""
    api, us, _ = servers
    api.service("shop", "big", clusterIP="None", ports=HTTP)
    for i in range(4):
        api.slice("shop", f"big-{i}", "big", [{"addresses": [f"10.9.{4 * i + k // 250}.{k % 250 + 1}"]} for k in range(1000)], HTTP)
    try:
        until_answer(us.port("headless"), "10-9-15-250.big.shop.example.com")
        plain = cpu_of(us, "big.shop.svc.cluster.local", "SRV")
        for rtype in ("A", "SRV"):
            assert cpu_of(us, "big.shop.example.com", rtype) <= 4 * plain + os.sysconf("SC_CLK_TCK") // 10
    finally:
        api.delete("/api/v1/namespaces/shop/services/big")
