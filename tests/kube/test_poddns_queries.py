# SPDX-License-Identifier: GPL-3.0-or-later
"""PD-M1 from the policy to the packet: pods are created on a real API server through the hook of `poddns`, their resolv.conf is
what `fairlead resolvconf` makes of the stored pod, and programs of two libcs look names up in it, with a Fairlead that serves
`searchpath`. The counts are those of docs/pod-dns.md."""
import json
import os
import re
import subprocess

import pytest

from controllerlib import searched_corefile, start, until
from dnslib import Api, fairlead, until_answer
from lib import cluster, server
from lib.libc import Port53
from lib.upstream import Upstream
from poddnslib import FLAGS, KEY, create, port_of, register, settings
from test_searchpath import COREFILE, FOUND, PORTS, look_up, program  # noqa: F401  pylint: disable=unused-import

HOST = "nameserver 192.0.2.1\nsearch corp.test\n"
POLICIES = {"default": {}, "ndots: 2": {"ndots": "2"}, "ndots: 1": {"ndots": "1"}, "virtual suffix": {"virtual-suffix": "true"}}
# Queries of one getaddrinfo with each policy, by name: glibc, and musl where it differs. None: the look-up fails.
COUNTS = {
    "www.example.org": {"gcc": (10, 2, 2, 2), "musl-gcc": (10, 2, 2, 2)},
    "nope.example.net": {"gcc": (10, 10, 10, 4), "musl-gcc": (10, 2, 2, 4)},
    "web": {"gcc": (2, 2, 2, 2), "musl-gcc": (2, 2, 2, 2)},
    "db.other": {"gcc": (4, 4, 6, 2), "musl-gcc": (4, 4, 2, 2)},
}
WORLD = """*example.org. A
    answer {name} 60 IN A 192.0.2.1
*example.org. AAAA
    answer {name} 60 IN AAAA 2001:db8::1
* *
    rcode NXDOMAIN
    authority . 60 IN SOA a. b. 1 2 3 4 5
"""


@pytest.fixture(scope="module")
def place():
    """(cluster, counter): a server behind an address that counts, which is the one of the cluster's DNS."""
    with cluster.Cluster() as c, Upstream(WORLD) as up:
        api = Api(c)
        searched_corefile(c)
        api.namespace("shop")
        api.namespace("other")
        api.service("shop", "web", clusterIP="10.96.1.1", ports=PORTS)
        api.service("other", "db", clusterIP="10.96.1.2", ports=PORTS)
        with fairlead(COREFILE.replace("KUBECONFIG", c.kubeconfig()), upstreams={"world": up}) as s:
            until_answer(s.port(), "www.example.org.shop.search.cluster.local")
            with Port53(s.port()) as counter:
                p = start(c.kubeconfig(), *FLAGS, "--dns-cluster-domain", "cluster.local", "--pod-dns-servers", counter.address,
                          controllers="poddns")
                register(c, port_of(p))
                yield c, counter
                assert p.stop() == 0, p.text()


def resolv_conf(tmp_path, counter, body):
    """The file of a stored pod."""
    (tmp_path / "pod.json").write_text(json.dumps({"apiVersion": "v1", "kind": "Pod", **body}))
    (tmp_path / "host").write_text(HOST)
    done = subprocess.run([server.fairlead_program(), "resolvconf", "-f", tmp_path / "pod.json", "--host-resolv", tmp_path / "host",
                           "--cluster-dns", counter.address, "--cluster-domain", "cluster.local"],
                          capture_output=True, text=True, timeout=20, check=True)
    return done.stdout


def with_policy(c, policy):
    """A pod that was created while the namespace has this policy."""
    annotations = {KEY + k: policy.get(k) for k in ("ndots", "virtual-suffix")}
    c.call("PATCH", "/api/v1/namespaces/shop", {"metadata": {"annotations": annotations}}, content_type="application/merge-patch+json")

    def wanted(body):
        options = {o["name"]: o["value"] for o in settings(body).get("dnsConfig", {}).get("options", [])}
        suffix = settings(body)["dnsPolicy"] == "None"
        return suffix == ("virtual-suffix" in policy) and (suffix or options.get("ndots") == policy.get("ndots"))

    return until(lambda: (lambda body: wanted(body) and body)(create(c, "shop", dry_run=True)[1]))


@pytest.mark.parametrize("name", COUNTS)
def test_queries_by_policy(place, program, tmp_path, name):  # noqa: F811
    c, counter = place
    counts = []
    for policy in POLICIES.values():
        text = resolv_conf(tmp_path, counter, with_policy(c, policy))
        search = re.search(r"^search (.*)$", text, re.M)[1]
        options = re.search(r"^options (.*)$", text, re.M)[1]
        assert f"nameserver {counter.address}\n" in text
        addresses, n = look_up(program, tmp_path, counter, name, search, options)
        fails = FOUND[name] is None or (name, policy.get("ndots"), program.name) == ("db.other", "1", "musl-gcc")
        assert addresses[0].startswith("error") if fails else addresses == FOUND[name], (policy, addresses)
        counts.append(n)
    assert tuple(counts) == COUNTS[name][program.name]


def test_documented_counts():
    """The page's table is the one that is tested."""
    with open(os.path.join(server.ROOT, "docs", "pod-dns.md"), encoding="utf-8") as f:
        rows = re.findall(r"^\| `([\w.]+)`[^|]*\| (\d+)[^|]*\| (\d+)[^|]*\| (\d+)[^|]*\| (\d+) \|$", f.read(), re.M)
    assert {name: tuple(map(int, counts)) for name, *counts in rows} == {name: row["gcc"] for name, row in COUNTS.items()}
