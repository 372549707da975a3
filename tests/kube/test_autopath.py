# SPDX-License-Identifier: GPL-3.0-or-later
"""`autopath @kubernetes` (AMP-3, PD-M3): as CoreDNS for addresses of pods, not at all for those of
nodes, and never by another namespace's path, however fast addresses are used again."""
import random
import threading

import pytest

from controllerlib import until
from dnslib import Api, answers, ask, coredns, fairlead, lines, rcode, until_answer
from lib import cluster
from lib.upstream import Upstream

COREFILE = """.:@PORT@ {
    autopath @kubernetes
    kubernetes cluster.local {
        kubeconfig KUBECONFIG
        pods verified
        fallthrough
    }
    forward . @UP:world@
}
"""
WORLD = """
*example.org. A
    answer {name} 60 IN A 192.0.2.1
*example.org. AAAA
    answer {name} 60 IN AAAA 2001:db8::1
* *
    rcode NXDOMAIN
    authority . 60 IN SOA a. b. 1 2 3 4 5
"""
PORTS = [{"name": "http", "port": 80, "protocol": "TCP"}]


@pytest.fixture(scope="module")
def api():
    with cluster.Cluster() as c:
        a = Api(c)
        for ns, last in (("red", 1), ("blue", 2)):
            a.namespace(ns)
            a.service(ns, "web", clusterIP=f"10.96.1.{last}", ports=PORTS)
            a.service(ns, f"only-{ns}", clusterIP=f"10.96.2.{last}", ports=PORTS)
            a.pod(ns, "pod", f"127.0.1.{last}")
        a.pod("red", "host", "127.0.9.9", host_network=True)
        a.pod("red", "again", "127.0.1.9")
        a.pod("blue", "again", "127.0.1.9")
        yield a


@pytest.fixture(scope="module")
def world():
    with Upstream(WORLD) as up:
        yield {"world": up}


@pytest.fixture(scope="module")
def us(api, world):
    with fairlead(COREFILE.replace("KUBECONFIG", api.cluster.kubeconfig()), upstreams=world) as s:
        until_answer(s.port(), "web.blue.svc.cluster.local")
        until_walk(s.port(), "127.0.1.2", "blue")
        yield s


def until_walk(port, source, ns):
    until_answer(port, f"example.org.{ns}.svc.cluster.local", source=source)


def test_as_coredns(api, us, world):
    """The same replies for pods, other clients, and names that are found at each element."""
    with coredns(COREFILE.replace("KUBECONFIG", api.cluster.kubeconfig()), upstreams=world) as them:
        until_answer(them.port(), "web.blue.svc.cluster.local")
        until_walk(them.port(), "127.0.1.2", "blue")
        names = ["web", "only-red", "web.blue", "only-blue.blue.svc", "red.svc", "www.example.org", "nope.test", "pod",
                 "_http._tcp.web", "ns.dns"]
        asked = 0
        for source in ("127.0.1.1", "127.0.1.2", "127.0.0.1", "127.0.9.1"):
            for ns in ("red", "blue"):
                for name in names:
                    for rtype in ("A", "AAAA", "SRV", "TXT"):
                        full = f"{name}.{ns}.svc.cluster.local"
                        assert lines(ask(us.port(), full, rtype, source)) == lines(
                            ask(them.port(), full, rtype, source)), (full, rtype, source)
                        asked += 1
        assert asked == 320


def test_address_that_tells_no_namespace(us):
    """A node's own address, and one that pods of two namespaces have: the client walks its path itself."""
    for source in ("127.0.9.9", "127.0.1.9"):
        for ns in ("red", "blue"):
            assert rcode(ask(us.port(), f"example.org.{ns}.svc.cluster.local", source=source)) == "NXDOMAIN"


def test_both_types_end_at_one_element(us):
    """www.example.org has both, web only IPv4: found at the same place, whatever is asked (AMP-3)."""
    a = ask(us.port(), "web.red.svc.cluster.local", "A", "127.0.1.1")
    aaaa = ask(us.port(), "web.red.svc.cluster.local", "AAAA", "127.0.1.1")
    assert (rcode(a), rcode(aaaa)) == ("NOERROR", "NOERROR")
    assert answers(a)["A"] == ["10.96.1.1"] and not aaaa.answer


def test_no_leak_while_addresses_are_used_again(api, us):
    """PD-M3: one address changes hands between namespaces; asked all the while, no reply comes by a path of a namespace
    that does not have it, once the change was seen. What pods of the other namespace alone can find is the witness."""
    stop = threading.Event()
    wrong, asked, seen = [], [0], set()
    owner = {"ns": None}  # set while only this one may have it; None while it changes

    def client(seed):
        rng = random.Random(seed)
        while not stop.is_set():
            before = owner["ns"]
            ns = rng.choice(("red", "blue"))
            reply = ask(us.port(), f"example.org.{ns}.svc.cluster.local", source="127.0.1.50")
            asked[0] += 1
            walked = rcode(reply) == "NOERROR"
            if before is not None and before == owner["ns"] and walked:
                seen.add(ns)
                if ns != before:
                    wrong.append((before, ns))

    threads = [threading.Thread(target=client, args=(i,)) for i in range(2)]
    for t in threads:
        t.start()
    try:
        for i in range(40):
            ns, other = (("red", "blue"), ("blue", "red"))[i % 2]
            api.pod(ns, f"churn-{i}", "127.0.1.50")
            # The old pod's end was seen below, the new one's start is when its path works.
            until_walk(us.port(), "127.0.1.50", ns)
            owner["ns"] = ns
            assert rcode(ask(us.port(), f"example.org.{other}.svc.cluster.local", source="127.0.1.50")) == "NXDOMAIN"
            mark = asked[0] + 10
            until(lambda: asked[0] >= mark, every=0.001)
            owner["ns"] = None
            api.delete_pod(ns, f"churn-{i}")
            until_answer(us.port(), f"example.org.{ns}.svc.cluster.local", source="127.0.1.50", want="NXDOMAIN")
    finally:
        stop.set()
        for t in threads:
            t.join()
    assert not wrong
    assert seen == {"red", "blue"} and asked[0] > 400
