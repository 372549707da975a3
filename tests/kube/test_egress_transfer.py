# SPDX-License-Identifier: GPL-3.0-or-later
"""What DNS servers learn reaches DNSName objects through the controller egressfirewall: over zone transfers, with keys that the
controller makes and rotates. The embedded API; the test plays the kubelet, which mounts the Secret into servers."""
import base64
import os
import re
import time

import pytest

from bothlib import embedded  # noqa: F401 (fixture)
from controllerlib import namespace, start, until
from dnslib import ask
from egresslib import Zone, delete, firewalls_path, get, items, make_firewall, names_path, system_of
from lib import cluster, server
from lib.ports import free_port

SECRET = "/api/v1/namespaces/kube-system/secrets/fairlead-egress-keys"
GATE = ["--feature-gates", "EgressFirewallNames=true", "--platform", "kubernetes"]
MONTH = 31 * 86400
COREFILE = """.:@PORT@ {
    egressfirewall {
        kubeconfig KUBECONFIG
        namespace default
        keys @DIR@/keys
    }
    file @DIR@/zone example
}
"""
ZONE = "$ORIGIN example.\n$TTL 60\n@ SOA ns hostmaster 1 3600 600 86400 60\n@ NS ns\nns A 192.0.2.53\n" + "".join(
    f"{name} A 192.0.2.{number}\n" for number, name in enumerate(("one", "two", "three", "four"), 1))


class Dns:
    """A DNS server that learns; its key file is what the test writes."""

    def __init__(self, c, keys=None, zone=ZONE):
        self.server = server.Server(server.fairlead(), COREFILE.replace("KUBECONFIG", c.kubeconfig(system_of(c))),
                                    files={"zone": zone, **({"keys": keys} if keys else {})})

    def __enter__(self):
        self.server.start()
        return self

    def __exit__(self, *_):
        self.server.stop()

    @property
    def address(self):
        return f"127.0.0.1:{self.server.port()}"

    def mount(self, keys):
        path = os.path.join(self.server.dir, "keys")
        with open(path + ".new", "w", encoding="ascii") as f:
            f.write(keys)
        os.replace(path + ".new", path)

    def restart(self):
        self.server.process.kill()
        self.server.process.wait()
        self.server.start()


@pytest.fixture(scope="module")
def c(embedded):  # noqa: F811
    if embedded.call("GET", "/api/v1/namespaces/kube-system")[0] == 404:
        namespace(embedded, "kube-system")
    return embedded


@pytest.fixture()
def rules(c):
    """A firewall with a wildcard; afterwards neither it, nor the object, nor the Secret exist."""
    ns = f"shop{free_port()}"
    namespace(c, ns)
    make_firewall(c, ns, ["*.example"])
    yield ns
    delete(c, firewalls_path(ns, "default"))
    if get(c, SECRET):
        delete(c, SECRET)
    if get(c, names_path("wildcard.example")):
        delete(c, names_path("wildcard.example"), token=system_of(c))


def run(c, dns, *others):
    instances = ",".join(one.address for one in (dns, *others))
    p = start(c.kubeconfig(system_of(c)), "--dns-instances", instances, "--lookup-servers", dns.address, *GATE, "--no-election",
              controllers="egressfirewall")
    p.wait_line("leading as")
    return p


def keys_of(c):
    """The lines of the Secret."""
    o = get(c, SECRET)
    return base64.b64decode(o["data"]["keys"]).decode().splitlines() if o else []


def write_keys(c, lines):
    status, body = c.call("POST", SECRET.rsplit("/", 1)[0], {
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "fairlead-egress-keys"},
        "data": {"keys": base64.b64encode("".join(line + "\n" for line in lines).encode()).decode()}})
    assert status == 201, body


def a_key(age=0, secret=b"0123456789abcdef0123456789abcdef"):
    return f"hmac-sha256:egress-{int(time.time()) - age}:{base64.b64encode(secret).decode()}"


def metric(p, result):
    found = re.search(rf'^fairlead_egress_transfers_total{{result="{result}"}} (\d+)', p.get("/metrics")[1], re.M)
    return int(found[1]) if found else 0


def learns(c, dns, host, number, seconds=20):
    """A client asks at the server, again and again; the status has the answer some seconds later."""
    def known():
        assert ask(dns.server.port(), f"{host}.example")
        return items(c, "wildcard.example").get(f"{host}.example") == [f"192.0.2.{number}"]
    until(known, seconds, 0.2)


def test_names_that_clients_ask_for(c, rules):
    """EF-7, EF-8, EF-P8 (its transfers): a name under a wildcard reaches the status; so it does after a restart of either side."""
    with Dns(c) as dns:
        p = run(c, dns)
        key, = until(lambda: keys_of(c))
        assert re.fullmatch(r"hmac-sha256:egress-\d+:[A-Za-z0-9+/]{43}=", key)
        dns.mount(key + "\n")
        until(lambda: metric(p, "changed") > 0, 30, 0.1)
        learns(c, dns, "one", 1)
        # A server that begins anew, with another version of its zone.
        before = metric(p, "changed")
        dns.restart()
        until(lambda: get(c, names_path("wildcard.example")))
        until(lambda: metric(p, "changed") > before, 30, 0.1)
        learns(c, dns, "two", 2)
        # A controller that begins anew: what the server knew before comes again.
        p.kill()
        assert ask(dns.server.port(), "three.example")
        p = run(c, dns)
        until(lambda: items(c, "wildcard.example") == {f"{name}.example": [f"192.0.2.{number}"] for number, name in
                                                       enumerate(("one", "two", "three"), 1)}, 20, 0.1)
        learns(c, dns, "four", 4, 5)
        assert keys_of(c) == [key]
        # Polls without news are no transfers.
        current = metric(p, "current")
        until(lambda: metric(p, "current") > current, 20, 0.1)
        # Transfers to the controller are everyday work: only the plugin `debug` shows them.
        assert "DEBUG" not in dns.server.output()
        assert p.stop() == 0, p.text()


def test_two_servers(c, rules):
    """EF-P7 (servers and controller), EF-S5: servers with different answers; the status has all of them, and none comes and goes."""
    key = a_key()
    write_keys(c, [key])
    short = ZONE.replace("TTL 60", "TTL 5")
    with Dns(c, key + "\n", short) as dns, Dns(c, key + "\n", short.replace("one A 192.0.2.1\n", "one A 192.0.2.11\n")) as other:
        p = run(c, dns, other)

        def both():
            assert ask(dns.server.port(), "one.example") and ask(other.server.port(), "one.example")
            return sorted(items(c, "wildcard.example").get("one.example", [])) == ["192.0.2.1", "192.0.2.11"]
        until(both, 30, 0.2)
        version = get(c, names_path("wildcard.example"))["metadata"]["resourceVersion"]
        end = time.monotonic() + 15  # three times the TTL
        while time.monotonic() < end:
            assert both()
            time.sleep(0.2)  # the pace of clients
        assert get(c, names_path("wildcard.example"))["metadata"]["resourceVersion"] == version
        assert p.stop() == 0, p.text()


def test_wrong_key(c, rules):
    """EF-8: a server with another key is refused nothing but this; it is counted and reported once, until the keys are the same."""
    with Dns(c, a_key(secret=b"x" * 32) + "\n") as dns:
        p = run(c, dns)
        until(lambda: keys_of(c))
        p.wait_line("cannot read what DNS server", 40)
        assert metric(p, "refused") > 1 and metric(p, "changed") == 0
        refused = metric(p, "refused")
        until(lambda: metric(p, "refused") > refused, 40, 0.2)
        assert p.text().count("cannot read what DNS server") == 1
        assert "TSIG" in p.find("cannot read what DNS server")[1]
        dns.mount("\n".join(keys_of(c)) + "\n")
        p.wait_line("lists what it learnt again", 60)
        learns(c, dns, "one", 1)
        assert p.stop() == 0, p.text()


def test_server_is_away(c, rules):
    """EF-8: a server that does not listen is counted and reported once, and found when it comes back."""
    with Dns(c) as dns:
        dns.server.process.kill()
        dns.server.process.wait()
        p = run(c, dns)
        p.wait_line("cannot read what DNS server .*refused", 40)
        assert metric(p, "failed") > 1
        dns.mount("\n".join(until(lambda: keys_of(c))) + "\n")
        dns.server.start()
        p.wait_line("lists what it learnt again", 60)
        learns(c, dns, "two", 2)
        assert p.stop() == 0, p.text()


def test_rotation(c, rules):
    """EF-8: a key that is too old gets a new one beside it; servers that know either of them are read; a day later it is alone."""
    old = a_key(MONTH)
    write_keys(c, [old])
    with Dns(c, old + "\n") as dns:
        p = run(c, dns)
        new, last = until(lambda: len(keys_of(c)) == 2 and keys_of(c))
        assert last == old and new != old
        until(lambda: metric(p, "changed") > 0, 30, 0.1)  # with the old one
        learns(c, dns, "one", 1)
        dns.mount(f"{new}\n{old}\n")
        learns(c, dns, "two", 2)
        dns.mount(f"{new}\n")
        learns(c, dns, "three", 3, 40)
        assert p.stop() == 0, p.text()
    delete(c, SECRET)
    # The end of the overlap, and a key that is young enough.
    young, former = a_key(2 * 86400), a_key(MONTH + 86400)
    write_keys(c, [young, former])
    with Dns(c, young + "\n") as dns:
        p = run(c, dns)
        until(lambda: keys_of(c) == [young])
        learns(c, dns, "four", 4)
        assert p.stop() == 0, p.text()


def test_keys_of_the_administrator(c, rules):
    """EF-8: a Secret with other keys is used as it is, and never changed."""
    key = "hmac-sha512:mine:" + base64.b64encode(b"y" * 64).decode()
    write_keys(c, [key])
    with Dns(c, key + "\n") as dns:
        p = run(c, dns)
        until(lambda: metric(p, "changed") > 0, 30, 0.1)
        learns(c, dns, "one", 1)
        assert keys_of(c) == [key]
        assert p.stop() == 0, p.text()


def test_gate_is_off(c, rules):
    """EF-20: without the gate there is no Secret, and no server is asked."""
    with Dns(c, a_key() + "\n") as dns:
        p = start(c.kubeconfig(system_of(c)), "--dns-instances", dns.address, "--lookup-servers", dns.address, "--platform",
                  "kubernetes", controllers="egressfirewall")
        until(lambda: get(c, names_path("wildcard.example")))
        until(lambda: p.looks() > 2)
        assert get(c, SECRET) is None and metric(p, "changed") + metric(p, "failed") + metric(p, "refused") == 0
        assert p.stop() == 0, p.text()


class Machine(cluster.Embedded):
    """`fairlead up`."""

    def start_api(self):
        self.dns = free_port()
        self.api = cluster.Child("fairlead-up", [
            server.fairlead_program(), "up", "--data", self.data, "--api", f"127.0.0.1:{self.port}", "--dns",
            f"127.0.0.1:{self.dns}", *self.flags], self.dir)
        self.wait_ready()


def forward_zone(machine, zone):
    status, body = machine.call("POST", "/apis/operator.openshift.io/v1/dnses", {
        "apiVersion": "operator.openshift.io/v1", "kind": "DNS", "metadata": {"name": "default"}, "spec": {"servers": [
            {"name": "example", "zones": ["example"], "forwardPlugin": {"upstreams": [zone.address]}}]}})
    assert status == 201, body


def test_one_machine():
    """EF-8: `fairlead up` makes the key file, and its controller reads what its server learnt."""
    with Zone("one A 192.0.2.1\n", ttl=60) as zone, Machine() as machine:
        forward_zone(machine, zone)
        namespace(machine, "shop")
        make_firewall(machine, "shop", ["*.example"])
        keys = os.path.join(machine.data, "controllers", "egressfirewall", "keys")
        until(lambda: os.path.exists(keys))
        assert os.stat(keys).st_mode & 0o777 == 0o600

        def known():
            assert ask(machine.dns, "one.example")
            return items(machine, "wildcard.example") == {"one.example": ["192.0.2.1"]}
        until(known, 30, 0.2)
