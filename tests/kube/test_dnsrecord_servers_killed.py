# SPDX-License-Identifier: GPL-3.0-or-later
"""DR-P5 with real name servers: a proxy in front of BIND, Knot or PowerDNS kills the controller (SIGKILL) when its n-th change has reached
the server, before or after the server has carried it out and before the controller knows. One that starts afterwards, without
the proxy, must come to the same end: no record set is left, none is there twice."""
import base64

import pytest

from bothlib import embedded  # noqa: F401 (fixture)
from controllerlib import Controller, namespace, until
from dnsrecordlib import delete, get, make, make_secret, patch, settled
from lib.nameserver import Proxy, place

FLAGS = ["--no-election", "--heartbeat", "1h"]


class Killer(Proxy):
    """The `at`-th change kills the process: "before" it is passed on, or "after" the server answered."""

    def __init__(self, zone, when):
        super().__init__(zone)
        self.when, self.at, self.victim = when, 0, None

    def drops(self, when, number):
        if number != self.at or when != self.when:
            return False
        self.victim.process.kill()
        self.victim.process.wait()
        return True


@pytest.fixture(scope="module", params=["bind", "knot", "powerdns"])
def zone(request, tmp_path_factory):
    with place(request.param, tmp_path_factory.mktemp(request.param)) as one:
        yield one


class Life:
    """The steps of one object's life: what is done, when it has come to its end, and what is served then."""

    def __init__(self, c, ns, name, zone):
        self.c, self.ns, self.name, self.zone = c, ns, name, zone
        self.host = f"{name}.{zone.zone}"

    def create(self):
        make(self.c, self.ns, self.name, self.host, type=self.zone.type)
        return lambda: settled(self.c, self.ns, self.name), (120, ["192.0.2.1"])

    def change(self):
        patch(self.c, self.ns, self.name, {"spec": {"values": ["192.0.2.2", "192.0.2.3"], "ttl": 60}})
        return lambda: settled(self.c, self.ns, self.name), (60, ["192.0.2.2", "192.0.2.3"])

    def end(self):
        delete(self.c, self.ns, self.name)
        return lambda: get(self.c, self.ns, self.name) is None, None


def point_secret(c, ns, zone, port=None):
    """The Secret leads to the proxy, or past it. One in use is changed: its deletion would wait for its users."""
    path = f"/api/v1/namespaces/{ns}/secrets/credentials"
    if c.call("GET", path)[0] == 404:
        make_secret(c, ns, zone.secret(port))
        return
    data = {key: base64.b64encode(value.encode()).decode() for key, value in zone.secret(port).items()}
    status, body = c.call("PATCH", path, {"data": data}, content_type="application/merge-patch+json")
    assert status == 200, body


def run(c, ns, zone, killer, at):
    """A life with a kill at the change number `at`; false: there were fewer."""
    life = Life(c, ns, f"{killer.when}-{at}", zone)
    point_secret(c, ns, zone, killer.number)
    killer.at, killer.changes = at, 0
    killer.victim = first = Controller(c.kubeconfig(c.system), *FLAGS, controllers="dnsrecord")
    first.wait_line("leading as")
    second = None
    for step in (life.create, life.change, life.end):
        done, served = step()
        until(lambda: first.process.poll() is not None or done(), 60)  # pylint: disable=cell-var-from-loop
        if first.process.poll() is not None and second is None:
            point_secret(c, ns, zone)
            second = Controller(c.kubeconfig(c.system), *FLAGS, controllers="dnsrecord")
            second.wait_line("leading as")
        until(done, 60)
        assert zone.read(life.host) == served, (at, step.__name__)
    if second is None:
        assert first.stop() == 0, first.text()
        return False
    assert first.process.returncode == -9 and second.stop() == 0, second.text()
    return True


@pytest.mark.parametrize("when", ["before", "after"])
def test_killed_at_any_change(embedded, zone, when, capsys):  # noqa: F811
    ns = f"{zone.kind}-{when}"
    namespace(embedded, ns)
    killer = Killer(zone, when)
    at = 1
    try:
        while run(embedded, ns, zone, killer, at):
            at += 1
            assert at < 10
    finally:
        killer.close()
        if killer.victim.process.poll() is None:
            killer.victim.stop()
    assert at >= 4, "at least one change for each step: created, changed, deleted"
    with capsys.disabled():
        print(f" [killed {when} each of {at - 1} changes]", end="")
