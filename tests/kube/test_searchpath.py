# SPDX-License-Identifier: GPL-3.0-or-later
"""`searchpath`: AMP-1, AMP-2, AMP-7; PD-M1 counted with programs of two libcs, PD-M2 against a model client."""
import hashlib
import os
import random
import re
import secrets
import subprocess

import pytest

from controllerlib import until
from dnslib import Api, answers, ask, fairlead, lines, rcode, until_answer
from lib import cluster, server
from lib.libc import Port53, lookup_program
from lib.upstream import Upstream

KEY = "dns.fairlead.dev/search"
FURTHER = "dns.fairlead.dev/search-lists"
COREFILE = """.:@PORT@ {
    searchpath cluster.local
    cache
    kubernetes cluster.local {
        kubeconfig KUBECONFIG
        pods verified
    }
    forward . @UP:world@
}
.:@PORT:plain@ {
    autopath @kubernetes
    cache
    kubernetes cluster.local {
        kubeconfig KUBECONFIG
        pods verified
    }
    forward . @UP:world@
}
"""
PORTS = [{"name": "http", "port": 80, "protocol": "TCP"}]
TYPES = ("A", "AAAA", "SRV", "TXT")
DATA = {"A": "192.0.2.%d", "AAAA": "2001:db8::%d", "SRV": "0 0 %d x.test.", "TXT": '"%d"'}


def list_id(names):
    return "l" + hashlib.sha512(" ".join(names).encode()).hexdigest()[:15]


class World:
    """A random part of the tree: the records of each name. Other names do not exist."""

    def __init__(self, rng, suffixes):
        self.suffixes = suffixes
        self.labels = [f"n{i}" for i in range(12)] + [f"m{i}.n{i}" for i in range(4)]
        self.names = {}
        for suffix in suffixes:
            for label in self.labels:
                kind = rng.choices(("none", "both", "four", "six", "srv", "empty", "alias", "fail"), (8, 3, 2, 2, 1, 2, 1, 1))[0]
                self.names[f"{label}.{suffix}".strip(".") + "."] = (kind, rng.randrange(1, 255))

    HAS = {"both": ("A", "AAAA"), "four": ("A",), "six": ("AAAA",), "srv": ("SRV",), "empty": (), "alias": ("A", "AAAA")}

    def script(self):
        text = ""
        for name, (kind, n) in self.names.items():
            if kind == "none":
                continue
            for rtype in TYPES:
                text += f"{name} {rtype}\n"
                if kind == "fail":
                    text += "    rcode SERVFAIL\n"
                elif rtype in self.HAS[kind]:
                    owner = name
                    if kind == "alias":
                        owner = "target.test."
                        text += f"    answer {name} 60 IN CNAME target.test.\n"
                    text += f"    answer {owner} 60 IN {rtype} {DATA[rtype] % n}\n"
                else:
                    text += "    authority . 60 IN SOA a. b. 1 2 3 4 5\n"
        return text + """*example.org. A
    answer {name} 60 IN A 192.0.2.1
*example.org. AAAA
    answer {name} 60 IN AAAA 2001:db8::1
* *
    rcode NXDOMAIN
    authority . 60 IN SOA a. b. 1 2 3 4 5
"""

    def look_up(self, name, rtype):
        """A server's answer: response code and data."""
        kind, n = self.names.get(name, ("none", 0))
        if kind in ("none", "fail"):
            return "NXDOMAIN" if kind == "none" else "SERVFAIL", None
        return "NOERROR", DATA[rtype] % n if rtype in self.HAS[kind] else None

    def walk(self, base, rtype, names):
        """A client that walks the list: an element has the name if it has an address, or what is asked for; a failure is
        the result."""
        for element in [*names, ""]:
            name = f"{base}.{element}".strip(".") + "."
            code, data = self.look_up(name, rtype)
            if data:
                return code, name, data
            if code == "SERVFAIL":
                return code, None, None
            if element == "":
                return code, None, None
            for other in ("A", "AAAA"):
                code, data = self.look_up(name, other)
                if code == "SERVFAIL":
                    return code, None, None
                if data:
                    return "NOERROR", None, None
        raise AssertionError


@pytest.fixture(scope="module")
def place():
    seed = secrets.randbits(32)
    print("seed", seed)
    rng = random.Random(seed)
    suffixes = ["corp.test", "lab.corp.test", "one.test", "two.test", ""]
    world = World(rng, suffixes)
    own = [[s for s in rng.sample(suffixes[:-1], rng.randrange(1, 5))] for _ in range(6)]
    with cluster.Cluster() as c, Upstream(world.script()) as up:
        api = Api(c)
        api.namespace("shop")
        api.namespace("other")
        api.service("shop", "web", clusterIP="10.96.1.1", ports=PORTS)
        api.service("other", "db", clusterIP="10.96.1.2", ports=PORTS)
        api.pod("shop", "pod", "127.0.1.1")
        for i, names in enumerate(own):
            api.namespace(f"own-{i}", {KEY: ", ".join(names)})
        with fairlead(COREFILE.replace("KUBECONFIG", c.kubeconfig()), upstreams={"world": up}) as s:
            until_answer(s.port(), "www.example.org.own-5.search.cluster.local")
            until_answer(s.port("plain"), "www.example.org.shop.svc.cluster.local", source="127.0.1.1")
            yield api, s, world, own, up


def test_default_list(place):
    """A namespace's own id: NAMESPACE.svc.Z, svc.Z, Z, then the bare name."""
    _, s, _, _, _ = place
    suffix = "shop.search.cluster.local"
    for name, want in (("web", "web.shop.svc.cluster.local."), ("db.other", "db.other.svc.cluster.local."),
                       ("db.other.svc", "db.other.svc.cluster.local."), ("www.example.org", "www.example.org.")):
        got = answers(ask(s.port(), f"{name}.{suffix}"))
        assert got["CNAME"] == [want] and len(got["A"]) == 1
    reply = ask(s.port(), f"Web.{suffix}", "AAAA")
    assert lines(reply) == [
        "rcode NOERROR", "flags qr aa rd", f"question Web.{suffix}. IN AAAA",
        "authority search.cluster.local. 5 IN SOA ns.dns.cluster.local. hostmaster.cluster.local. SERIAL 7200 1800 86400 5"]


def test_other_namespaces_are_not_searched(place):
    """PD-M3: by the id of one namespace nothing is found that another one's list alone leads to."""
    _, s, _, _, _ = place
    assert rcode(ask(s.port(), "db.shop.search.cluster.local")) == "NXDOMAIN"
    assert rcode(ask(s.port(), "db.other.search.cluster.local")) == "NOERROR"


def test_unknown_ids_and_names_between(place):
    _, s, _, _, up = place
    up.forget()
    for name, want in (("www.example.org.nobody.search.cluster.local", "NXDOMAIN"), ("nobody.search.cluster.local", "NXDOMAIN"),
                       ("www.example.org.l0123456789abcde.search.cluster.local", "NXDOMAIN"),
                       ("search.cluster.local", "NOERROR"), ("shop.search.cluster.local", "NOERROR")):
        reply = ask(s.port(), name)
        assert rcode(reply) == want and not reply.answer, name
        assert lines(reply)[-1].startswith("authority search.cluster.local. 5 IN SOA ns.dns.cluster.local.")
    assert up.count() == 0


def test_names_of_namespaces_do_not_end_the_walk(place):
    """AMP-7: `other` is a name at svc.Z, without any record; so the walk goes on, and the name is none in the end."""
    _, s, _, _, _ = place
    assert rcode(ask(s.port(), "other.svc.cluster.local")) == "NOERROR"
    for rtype in TYPES:
        assert rcode(ask(s.port(), "other.shop.search.cluster.local", rtype)) == "NXDOMAIN"


def test_lists_follow_the_annotation(place):
    api, s, _, _, _ = place
    api.namespace("moving", {KEY: "nowhere.test"})
    until_answer(s.port(), "moving.search.cluster.local")
    until_answer(s.port(), f"{list_id(['nowhere.test'])}.search.cluster.local")
    assert rcode(ask(s.port(), "web.moving.search.cluster.local")) == "NXDOMAIN"
    api.annotate("moving", **{KEY: "Shop.svc.cluster.local."})
    until_answer(s.port(), "web.moving.search.cluster.local")
    assert rcode(ask(s.port(), f"{list_id(['nowhere.test'])}.search.cluster.local")) == "NXDOMAIN"
    assert rcode(ask(s.port(), f"web.{list_id(['shop.svc.cluster.local'])}.search.cluster.local")) == "NOERROR"
    api.annotate("moving", **{KEY: "a..b"})
    until(lambda: "annotation dns.fairlead.dev/search of namespace 'moving' has no effect: 'a..b' is not a domain name" in s.output())
    assert rcode(ask(s.port(), "web.moving.search.cluster.local")) == "NXDOMAIN"  # the default list again
    api.annotate("moving", **{KEY: None})
    assert rcode(ask(s.port(), "moving.search.cluster.local")) == "NOERROR"


def test_further_lists(place):
    """Lists in the second annotation are found by their ids alone; one that stays is never missing."""
    api, s, _, _, _ = place
    shop, other = "shop.svc.cluster.local", "other.svc.cluster.local"
    by_shop = f"web.{list_id([shop])}.search.cluster.local"
    by_both = f"db.{list_id([other, shop])}.search.cluster.local"
    api.namespace("further", {FURTHER: f"{shop}; a..b"})
    until_answer(s.port(), by_shop)
    assert rcode(ask(s.port(), "web.further.search.cluster.local")) == "NXDOMAIN"  # its own list is the default one
    api.annotate("further", **{FURTHER: f"{other} {shop}; {shop}"})
    until_answer(s.port(), by_both)
    assert rcode(ask(s.port(), by_shop)) == "NOERROR"
    api.annotate("further", **{FURTHER: f"{other} {shop}"})
    until(lambda: rcode(ask(s.port(), by_shop)) == "NXDOMAIN")
    assert rcode(ask(s.port(), by_both)) == "NOERROR"
    api.annotate("further", **{FURTHER: None})
    until(lambda: rcode(ask(s.port(), by_both)) == "NXDOMAIN")


def test_same_as_a_client_that_walks(place):
    """PD-M2: random names, lists and types; the code, the winner and its data are those of the model."""
    _, s, world, own, _ = place
    asked = found = 0
    for i, names in enumerate(own):
        for base in world.labels:
            for rtype in TYPES:
                want = world.walk(base, rtype, names)
                for suffix in (f"own-{i}", list_id(names)):
                    reply = ask(s.port(), f"{base}.{suffix}.search.cluster.local", rtype)
                    got = answers(reply)
                    data = got.get(rtype, [None])[0]
                    winner = next((n for n in got.get("CNAME", []) if n != "target.test."), None)
                    assert (rcode(reply), winner, data) == want, (base, rtype, names)
                    asked += 1
                    found += data is not None
    assert asked == 6 * 16 * 4 * 2 and found > 100


# ---- PD-M1 ----


@pytest.fixture(scope="module", params=["gcc", "musl-gcc"])
def program(request, tmp_path_factory):
    return lookup_program(request.param, tmp_path_factory.mktemp("lookup") / request.param)


def look_up(program, tmp_path, counter, name, search, options="ndots:5"):
    """(addresses, number of queries) of one getaddrinfo."""
    conf = tmp_path / "resolv.conf"
    conf.write_text(f"nameserver {counter.address}\nsearch {search}\noptions {options}\n")
    before = counter.count
    done = subprocess.run(["unshare", "--mount", "sh", "-c", 'mount --bind "$0" /etc/resolv.conf && exec "$1" "$2"', conf,
                           program, name], capture_output=True, text=True, timeout=60, check=True)
    return sorted(done.stdout.split("\n"))[1:], counter.count - before


FOUR = "shop.svc.cluster.local svc.cluster.local cluster.local corp.test"
FOUND = {"www.example.org": ["192.0.2.1", "2001:db8::1"], "web": ["10.96.1.1"], "db.other": ["10.96.1.2"], "nope.example.net": None}
# Queries of one getaddrinfo with both libcs; docs/plugins/searchpath.md shows the same table.
COUNTS = {"www.example.org": (10, 2, 2), "nope.example.net": (10, 10, 4), "web": (2, 2, 2), "db.other": (4, 2, 2)}


@pytest.mark.parametrize("name", COUNTS)
def test_queries_of_a_lookup(place, program, tmp_path, name):
    """PD-M1: with four search domains, the same and autopath, and the virtual suffix. The addresses are the same."""
    _, s, _, _, _ = place
    counts = []
    with Port53(s.port()) as bare, Port53(s.port("plain")) as autopath:
        for counter, search in ((bare, FOUR), (autopath, FOUR), (bare, "shop.search.cluster.local")):
            addresses, n = look_up(program, tmp_path, counter, name, search)
            assert addresses == FOUND[name] or FOUND[name] is None and addresses[0].startswith("error")
            counts.append(n)
    assert tuple(counts) == COUNTS[name]


def test_documented_counts():
    """The page's table is the one that is tested."""
    with open(os.path.join(server.ROOT, "docs", "plugins", "searchpath.md"), encoding="utf-8") as f:
        rows = re.findall(r"^\| `([\w.]+)`[^|]*\| (\d+) \| (\d+) \| (\d+) \|$", f.read(), re.M)
    assert {name: tuple(map(int, counts)) for name, *counts in rows} == COUNTS


def test_upstream_queries(place):
    """PD-M1: whatever the clients ask, the world outside is asked twice for a name that is found there."""
    _, s, _, _, up = place
    up.forget()
    for _ in range(5):
        for rtype in ("A", "AAAA"):
            assert rcode(ask(s.port(), "fresh.example.org.shop.search.cluster.local", rtype)) == "NOERROR"
    assert up.count("fresh.example.org.") == 2 and up.count() == 2
