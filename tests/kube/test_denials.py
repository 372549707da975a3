# SPDX-License-Identifier: GPL-3.0-or-later
"""Names that search paths ask for and nobody has (AMP-4, PD-M5): they take no room in `cache`, and a Service is
there as soon as the server knows it, however often its name was denied before."""
import socket

import pytest

from dnslib import Api, ask, fairlead, rcode, until_answer
from lib import cluster, wire

COREFILE = """.:@PORT@ {
    prometheus 127.0.0.1:@HTTP:metrics@
    cache 3600 {
        denial 1000 3600 3600
    }
    kubernetes cluster.local 10.in-addr.arpa {
        kubeconfig KUBECONFIG
        ttl 3600
    }
}
.:@PORT:bare@ {
    kubernetes cluster.local {
        kubeconfig KUBECONFIG
    }
}
.:@PORT:stale@ {
    cache 1 {
        serve_stale 1h
    }
    kubernetes cluster.local {
        kubeconfig KUBECONFIG
        ttl 1
    }
}
"""
PORTS = [{"name": "http", "port": 80, "protocol": "TCP"}]


@pytest.fixture(scope="module")
def place():
    with cluster.Cluster() as c:
        api = Api(c)
        api.namespace("shop")
        api.service("shop", "web", clusterIP="10.96.1.1", ports=PORTS)
        with fairlead(COREFILE.replace("KUBECONFIG", c.kubeconfig())) as s:
            until_answer(s.port(), "web.shop.svc.cluster.local")
            yield api, s


def entries(s):
    status, text = s.get("metrics", "/metrics")
    assert status == 200
    return {kind: sum(float(line.split()[-1]) for line in text.splitlines()
                      if line.startswith("coredns_cache_entries") and f'type="{kind}"' in line) for kind in ("success", "denial")}


def flood(port, names):
    """Asks for all names, a hundred at a time; the codes that came."""
    codes = {}
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        sock.connect(("127.0.0.1", port))
        sock.settimeout(5)
        for at in range(0, len(names), 100):
            part = names[at:at + 100]
            for i, name in enumerate(part):
                sock.send(wire.query(name, "A", ident=i))
            for _ in part:
                code = sock.recv(4096)[3] & 15
                codes[code] = codes.get(code, 0) + 1
    return codes


def test_any_number_of_names_takes_no_room(place):
    """PD-M5: the number of entries does not depend on that of the names."""
    _, s = place
    before = entries(s)
    for total in (1000, 50000):
        names = [f"x{i}.example{total}.com.{suffix}" for i in range(total // 4)
                 for suffix in ("shop.svc.cluster.local", "svc.cluster.local", "cluster.local", "3.2.10.in-addr.arpa")]
        assert flood(s.port(), names) == {3: total}
        assert entries(s) == before
    assert before["denial"] == 0 and before["success"] > 0


def test_new_service_is_there_at_once(place):
    """Denials that could be kept for an hour hide nothing: with a cache a Service appears when it does without."""
    api, s = place
    for i in range(10):
        name = f"late-{i}.shop.svc.cluster.local"
        for rtype in ("A", "AAAA"):
            assert rcode(ask(s.port(), name, rtype)) == "NXDOMAIN"
        api.service("shop", f"late-{i}", ports=PORTS)
        until_answer(s.port("bare"), name)
        for rtype in ("A", "AAAA"):
            assert rcode(ask(s.port(), name, rtype)) == "NOERROR"


def test_what_is_gone_is_not_served_stale(place):
    """A denial that a refresh brings is kept, in the place of the answer."""
    api, s = place
    name = "gone.shop.svc.cluster.local"
    api.service("shop", "gone", ports=PORTS)
    until_answer(s.port("stale"), name)
    api.delete("/api/v1/namespaces/shop/services/gone")
    until_answer(s.port("stale"), name, want="NXDOMAIN")
