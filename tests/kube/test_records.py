# SPDX-License-Identifier: GPL-3.0-or-later
"""The plugin `records` on a real server: DNSRecord objects of type `local` are answered at once, and withdrawn at once (DR-L1 to
DR-L6)."""
import signal
import time

import pytest

import crdlib
from bothlib import embedded  # noqa: F401 (fixture)
from controllerlib import until
from dnslib import answers, ask, fairlead, rcode
from dnsrecordlib import request, run_controller, wait_gone, wait_settled
from lib.cluster import Cluster
from lib.upstream import Upstream
from watcherlib import Proxy, started, through  # noqa: F401 (fixture)

PATH = "/apis/extensions.gardener.cloud/v1alpha1/namespaces/default/dnsrecords"
# What the server forwards to knows every name, and says that most do not exist.
WORLD = """www.outside.test. A
    answer {name} 60 IN A 198.51.100.1
* *
    rcode NXDOMAIN
    authority test. 3600 IN SOA ns.test. host.test. 1 1 1 1 3600
"""
COREFILE = """.:@PORT@ {
    prometheus 127.0.0.1:@HTTP:metrics@
    ready 127.0.0.1:@HTTP:ready@
    errors
    records {
        kubeconfig %s
        except cluster.local
    }
    cache 3600
    forward . @UP:world@
    reload
}
"""


@pytest.fixture(scope="module")
def real():
    with Cluster() as cluster:
        crdlib.apply_all(cluster, group="extensions.gardener.cloud")
        yield cluster


@pytest.fixture(scope="module", params=["real", "embedded"])
def c(request):
    return request.getfixturevalue(request.param)


class Records:
    """DNSRecord objects, all deleted in the end."""

    def __init__(self, cluster):
        self.cluster = cluster
        self.made = set()

    def apply(self, object_name, name, rtype, *values, ttl=None, type="local", finalizers=(), annotations=None):
        spec = {"type": type, "secretRef": {"name": "none"}, "name": name, "recordType": rtype, "values": list(values)}
        if ttl is not None:
            spec["ttl"] = ttl
        status, reply = self.cluster.call("POST", PATH, {
            "apiVersion": "extensions.gardener.cloud/v1alpha1", "kind": "DNSRecord",
            "metadata": {"name": object_name, "finalizers": list(finalizers), "annotations": annotations or {}}, "spec": spec})
        assert status == 201, reply
        self.made.add(object_name)

    def patch(self, object_name, **change):
        status, reply = self.cluster.call("PATCH", f"{PATH}/{object_name}", change, content_type="application/merge-patch+json")
        assert status == 200, reply

    def delete(self, object_name):
        status, reply = self.cluster.call("DELETE", f"{PATH}/{object_name}")
        assert status == 200, reply
        self.made.discard(object_name)


@pytest.fixture()
def records(c):
    r = Records(c)
    yield r
    for name in list(r.made):
        r.delete(name)


@pytest.fixture(scope="module")
def world():
    with Upstream(WORLD) as up:
        yield up


@pytest.fixture(scope="module")
def s(c, world):
    with fairlead(COREFILE % c.kubeconfig(), upstreams={"world": world}) as one:
        until(lambda: one.get("ready", "/ready")[0] == 200)
        yield one


def gets(s, name, rtype, *want):
    """Waits until these are the values of the type."""
    return until(lambda: answers(ask(s.port(), name, rtype)).get(rtype, []) == sorted(want), 20, 0.002)


def is_denied(s, name, rtype="A"):
    return rcode(ask(s.port(), name, rtype)) == "NXDOMAIN"


def metric(s, name):
    for line in s.get("metrics", "/metrics")[1].splitlines():
        if line.startswith(name + " "):
            return float(line.split()[-1])
    return None


def test_apply_change_delete(records, s):
    """DR-L1, DR-L2: a name that was asked for before, and that a cache keeps as missing, is answered; changes and the end of
    the object show at once. The zone local.gardener.cloud needs no configuration."""
    name = "api.seed.local.gardener.cloud"
    assert is_denied(s, name) and is_denied(s, name)
    records.apply("api", name, "A", "192.0.2.1", ttl=300)
    gets(s, name, "A", "192.0.2.1")
    assert ask(s.port(), name).text()[-1].split()[2] == "300"
    records.patch("api", spec={"values": ["192.0.2.3", "192.0.2.2"], "ttl": 0})
    gets(s, name, "A", "192.0.2.2", "192.0.2.3")
    reply = ask(s.port(), name, "AAAA")
    assert rcode(reply) == "NOERROR" and not reply.answer and len(reply.authority) == 1, "NODATA, with its SOA record"
    records.apply("api6", name, "AAAA", "2001:db8::1")
    gets(s, name, "AAAA", "2001:db8::1")
    records.apply("challenge", "_acme-challenge." + name, "TXT", "x" * 300, "two words")
    gets(s, "_acme-challenge." + name, "TXT", '"two words"', f'"{"x" * 255}" "{"x" * 45}"')
    records.delete("api")
    until(lambda: not ask(s.port(), name).answer)
    records.delete("api6")
    until(lambda: is_denied(s, name))


def test_deleted_with_a_finalizer(records, s):
    """DR-L2: the record goes when the object is marked for deletion, not when its controller is done with it."""
    name = "going.example.com"
    records.apply("going", name, "A", "192.0.2.1", finalizers=["example.com/slow"])
    gets(s, name, "A", "192.0.2.1")
    records.delete("going")
    until(lambda: is_denied(s, name))
    records.patch("going", metadata={"finalizers": []})


def test_wildcards_and_aliases(records, s):
    """DR-L3: wildcards, aliases to other records and out of them."""
    records.apply("wild", "*.apps.example.com", "A", "192.0.2.1")
    records.apply("closer", "a.b.apps.example.com", "A", "192.0.2.2")
    records.apply("alias", "alias.example.com", "CNAME", "x.y.apps.example.com")
    records.apply("out", "out.example.com", "CNAME", "www.outside.test")
    records.apply("nowhere", "nowhere.example.com", "CNAME", "missing.test")
    gets(s, "nowhere.example.com", "CNAME", "missing.test.")
    for name, address in (("one.apps.example.com", "192.0.2.1"), ("x.y.apps.example.com", "192.0.2.1"),
                          ("a.b.apps.example.com", "192.0.2.2"), ("alias.example.com", "192.0.2.1"),
                          ("out.example.com", "198.51.100.1")):
        gets(s, name, "A", address)
    for name in ("apps.example.com", "x.b.apps.example.com", "nowhere.example.com"):
        assert is_denied(s, name), name
    assert answers(ask(s.port(), "nowhere.example.com")) == {"CNAME": ["missing.test."]}


def test_requests_of_gardener(records, c, s, started):  # noqa: F811
    """DR-35, DR-50, DR-51: on Gardener a change of the spec is served when it is asked for, a migrated record is not served, and one that
    waits for its state is not yet."""
    started(run_controller(c, "--no-election", "--platform", "gardener", "--dnsrecord-types", "local", wait="health and metrics on port"))
    name = "asked.local.gardener.cloud"

    def ask_for(operation, **change):
        records.patch("asked", metadata={"annotations": request(operation)}, **change)

    def edit(address):
        """Without a request; an object that was made later is served, and this is not."""
        records.patch("asked", spec={"values": [address]})
        records.apply(f"after-{address}", f"after-{address.replace('.', '-')}.example.com", "A", "192.0.2.1")
        gets(s, f"after-{address.replace('.', '-')}.example.com", "A", "192.0.2.1")

    records.apply("asked", name, "A", "192.0.2.1")
    wait_settled(c, "default", "asked")
    gets(s, name, "A", "192.0.2.1")
    edit("192.0.2.2")
    gets(s, name, "A", "192.0.2.1")
    ask_for("reconcile")
    gets(s, name, "A", "192.0.2.2")
    ask_for("migrate")
    until(lambda: is_denied(s, name))
    edit("192.0.2.3")
    assert is_denied(s, name)
    ask_for("restore")
    gets(s, name, "A", "192.0.2.3")
    records.apply("waits", "waits.local.gardener.cloud", "A", "192.0.2.1", annotations=request("wait-for-state"))
    edit("192.0.2.4")
    assert is_denied(s, "waits.local.gardener.cloud")
    gets(s, name, "A", "192.0.2.3")
    for made in list(records.made):
        records.delete(made)
    wait_gone(c, "default", "asked")


def test_two_objects_for_a_name(records, s):
    """DR-L4: the older one is served; the younger one when that is gone."""
    records.apply("z-older", "both.example.com", "A", "192.0.2.1")
    gets(s, "both.example.com", "A", "192.0.2.1")
    time.sleep(1.1)  # creation times are whole seconds
    records.apply("a-younger", "both.example.com", "A", "192.0.2.2")
    until(lambda: metric(s, 'fairlead_records_objects{state="shadowed"}') == 1)
    gets(s, "both.example.com", "A", "192.0.2.1")
    assert "DNSRecord default/a-younger is not served: the older object default/z-older has both.example.com." in s.output()
    records.delete("z-older")
    gets(s, "both.example.com", "A", "192.0.2.2")


def test_hostile_objects(records, s):
    """DR-L5: what is no name or value, is too much, or belongs to others is left out, logged once and counted."""
    before = metric(s, "fairlead_records_refused_total") or 0
    records.apply("address", "bad1.example.com", "A", "999.0.0.1")
    records.apply("mapped", "bad2.example.com", "AAAA", "::ffff:192.0.2.1")
    records.apply("loop", "bad3.example.com", "CNAME", "bad3.example.com")
    records.apply("huge", "bad4.example.com", "TXT", *(f"{i:04}" + "x" * 4000 for i in range(20)))
    records.apply("long", ".".join(["a" * 60] * 4) + ".bad5.e.com", "A", "192.0.2.1")
    records.apply("cloud", "bad6.example.com", "A", "192.0.2.1", type="aws-route53")
    records.apply("cluster", "kubernetes.default.svc.cluster.local", "A", "192.0.2.1")
    records.apply("circle1", "circle1.example.com", "CNAME", "circle2.example.com")
    records.apply("circle2", "circle2.example.com", "CNAME", "circle1.example.com")
    records.apply("last", "good.example.com", "A", "192.0.2.1")
    gets(s, "good.example.com", "A", "192.0.2.1")
    for i in range(1, 7):
        assert is_denied(s, f"bad{i}.example.com"), i
    assert is_denied(s, "kubernetes.default.svc.cluster.local"), "names of the cluster are not changed"
    until(lambda: rcode(ask(s.port(), "circle1.example.com")) == "SERVFAIL")
    assert metric(s, "fairlead_records_refused_total") == before + 5
    records.patch("address", metadata={"labels": {"changed": "yes"}})
    records.patch("last", spec={"values": ["192.0.2.2"]})
    gets(s, "good.example.com", "A", "192.0.2.2")
    for name in ("address", "mapped", "loop", "huge", "long"):
        assert s.output().count(f"DNSRecord default/{name} is not served: spec.") == 1, s.output()
    records.patch("address", spec={"values": ["192.0.2.9"]})
    gets(s, "bad1.example.com", "A", "192.0.2.9")


def test_api_away_and_reload(records, c, world, started):  # noqa: F811
    """DR-L6: without the API the last records are served, also after a reload; what changed meanwhile shows afterwards."""
    proxy = started(Proxy(c.port))
    records.apply("kept", "kept.example.com", "A", "192.0.2.1")
    records.apply("gone", "gone.example.com", "A", "192.0.2.1")
    one = started(fairlead(COREFILE % through(c, proxy), upstreams={"world": world})).start()
    gets(one, "kept.example.com", "A", "192.0.2.1")
    gets(one, "gone.example.com", "A", "192.0.2.1")
    proxy.open = False
    until(lambda: not proxy.active)
    records.patch("kept", spec={"values": ["192.0.2.2"]})
    records.delete("gone")
    for n in range(1, 3):
        assert answers(ask(one.port(), "kept.example.com")) == {"A": ["192.0.2.1"]}
        assert answers(ask(one.port(), "gone.example.com")) == {"A": ["192.0.2.1"]}
        one.process.send_signal(signal.SIGUSR1)
        until(lambda: one.output().count("Reloading complete") == n)
    proxy.open = True
    gets(one, "kept.example.com", "A", "192.0.2.2")
    until(lambda: is_denied(one, "gone.example.com"))


def test_starts_without_the_api(c, records, world, started):  # noqa: F811
    """Other names are answered from the start, and the server is ready after a few seconds."""
    proxy = started(Proxy(c.port))
    proxy.open = False
    records.apply("later", "later.example.com", "A", "192.0.2.1")
    one = started(fairlead(COREFILE % through(c, proxy), upstreams={"world": world})).start()
    assert answers(ask(one.port(), "www.outside.test")) == {"A": ["198.51.100.1"]}
    until(lambda: one.get("ready", "/ready")[0] == 200, 30)
    proxy.open = True
    gets(one, "later.example.com", "A", "192.0.2.1")


@pytest.mark.alone
def test_how_fast(records, s):
    """Served and withdrawn within 100 ms (p99) of the API's reply."""
    served, withdrawn = [], []
    for i in range(100):
        name = f"n{i}.fast.example.com"
        assert is_denied(s, name)
        records.apply(f"fast{i}", name, "A", "192.0.2.1")
        begin = time.monotonic()
        gets(s, name, "A", "192.0.2.1")
        served.append(time.monotonic() - begin)
        records.delete(f"fast{i}")
        begin = time.monotonic()
        until(lambda: is_denied(s, name), every=0.002)
        withdrawn.append(time.monotonic() - begin)
    for times in (served, withdrawn):
        times.sort()
        assert times[98] <= 0.1, times
    print(f"ms, median and p99: served {served[50] * 1e3:.1f} {served[98] * 1e3:.1f}, "
          f"withdrawn {withdrawn[50] * 1e3:.1f} {withdrawn[98] * 1e3:.1f}")
