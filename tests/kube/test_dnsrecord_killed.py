# SPDX-License-Identifier: GPL-3.0-or-later
"""DR-P5: SIGKILL after any step of a reconcile. A proxy in front of the API kills the controller when its first write is done,
before it knows; in another run after its second, and so on until it does all of them. The provider kills it before and after
each of its calls. One that starts afterwards must come to the same end: no record set is left, none is there twice."""
import itertools
import json
import types

import pytest

from bothlib import embedded  # noqa: F401 (fixture)
from controllerlib import Controller, namespace, until
from dnsrecordlib import (FINALIZER, IN_USE, OPERATION, Zones, delete, get, make, make_secret, not_ready, patch, request, run_controller, state_of,
                          wait_gone)
from test_dnsoperator_killed import Proxy

MOST_WRITES = 60
NS = "killed"
FLAGS = ["--no-election", "--dnsrecord-types", "memory", "--heartbeat", "1h"]


class DNSRecordProxy(Proxy):
    def begin(self, kubeconfig, at, *args):
        self.at, self.writes = at, 0
        self.known.clear()
        self.victim = Controller(kubeconfig, *FLAGS, *args, controllers="dnsrecord")
        self.known.set()
        return self.victim


@pytest.fixture(scope="module")
def c(embedded):  # noqa: F811
    namespace(embedded, NS)
    return embedded


@pytest.fixture
def proxy(c):
    one = DNSRecordProxy(types.SimpleNamespace(url=c.url, ca=c.ca, controller_token=c.system))
    yield one
    if one.victim and one.victim.process.poll() is None:
        one.victim.stop()
    one.shutdown()
    one.server_close()


def is_ready(c, name):
    o = get(c, NS, name)
    return o and not_ready(o) is None


class Life:
    """The steps of one object's life: what is done, when it has come to its end, and which record sets are there then."""

    def __init__(self, c, name, zones):
        self.c, self.name, self.zones, self.host = c, name, zones, f"{name}.example.com"
        self.other = f"{name}.sub.example.com"

    def create(self):
        make(self.c, NS, self.name, self.host, secret={"name": self.name}, annotations=request("reconcile"))
        return lambda: is_ready(self.c, self.name), {self.host: "192.0.2.1"}

    def change(self):
        patch(self.c, NS, self.name, {"spec": {"values": ["192.0.2.2"]}, "metadata": {"annotations": request("reconcile")}})
        return lambda: is_ready(self.c, self.name), {self.host: "192.0.2.2"}

    def move(self):
        """To another zone: two calls."""
        patch(self.c, NS, self.name, {"spec": {"zone": "Z2"}, "metadata": {"annotations": request("reconcile")}})
        return lambda: is_ready(self.c, self.name) and get(self.c, NS, self.name)["status"]["zone"] == "Z2", {self.host: "192.0.2.2"}

    def migrate(self):
        patch(self.c, NS, self.name, {"metadata": {"annotations": request("migrate")}})
        return lambda: state_of(self.c, NS, self.name) == ("Migrate", "Succeeded") and self.is_quiet(), {self.host: "192.0.2.2"}

    def restore(self):
        patch(self.c, NS, self.name, {"metadata": {"annotations": request("restore")}, "spec": {"values": ["192.0.2.3"]}})
        return lambda: is_ready(self.c, self.name), {self.host: "192.0.2.3"}

    def end(self):
        delete(self.c, NS, self.name)
        return lambda: get(self.c, NS, self.name) is None, {}

    def is_quiet(self):
        return OPERATION not in get(self.c, NS, self.name)["metadata"]["annotations"]

    def check(self, wanted):
        assert {name: v[1][0] for (name, _), v in self.zones.sets().items()} == wanted
        assert len([line for line in self.zones.lines() if line.startswith("set ")]) == len(wanted)
        finalizers = self.c.call("GET", f"/api/v1/namespaces/{NS}/secrets/{self.name}")[1]["metadata"].get("finalizers", [])
        o = get(self.c, NS, self.name)
        assert finalizers == ([IN_USE] if o and FINALIZER in o["metadata"].get("finalizers", []) else [])  # DR-52a


def new_life(c, name, folder):
    (folder / name).mkdir()
    zones = Zones(folder / name, ["example.com", "Z2=example.com"])
    zones.write([line.replace("Z2 example.com public", "Z2 example.com private") for line in zones.lines()])
    make_secret(c, NS, zones.data(), name=name)
    return Life(c, name, zones)


def run_life(life, steps, victim, successor):
    """All steps; when the first process is dead another one goes on, to the end: what was handed over is taken back before."""
    last = None
    for step in steps:
        if victim.process.poll() is not None and step != "end" and last != "migrate":
            continue
        last = step
        done, wanted = getattr(life, step)()
        until(lambda: victim.process.poll() is not None or done())  # pylint: disable=cell-var-from-loop
        if victim.process.poll() is not None:
            successor()
            until(done)
        life.check(wanted)


LIVES = {"elsewhere": (["create", "change", "move", "end"], []),
         "gardener": (["create", "change", "migrate", "restore", "end"], ["--platform", "gardener"])}


@pytest.mark.parametrize("which", LIVES)
# pylint: disable-next=redefined-outer-name
def test_killed_after_any_write(c, proxy, tmp_path, which, capsys):
    steps, flags = LIVES[which]
    through = tmp_path / "kubeconfig"
    with open(c.kubeconfig(c.system), encoding="utf-8") as f:
        config = json.load(f)
    config["clusters"][0]["cluster"] = {"server": f"http://127.0.0.1:{proxy.server_port}"}
    through.write_text(json.dumps(config))
    for at in itertools.count(1):
        assert at < MOST_WRITES
        life = new_life(c, f"{which}-{at}", tmp_path)
        victim, others = proxy.begin(str(through), at, *flags), []

        def successor():
            if not others:  # pylint: disable=cell-var-from-loop
                others.append(run_controller(c, *FLAGS[:1], *flags, wait=None))  # pylint: disable=cell-var-from-loop
        try:
            run_life(life, steps, victim, successor)
        finally:
            for p in others:
                p.wait_line("leading as")  # the object may be gone before it has begun, and knows no signals yet
                assert p.stop() == 0, p.text()
        if victim.process.poll() is None:
            victim.stop()
            break
        assert victim.process.returncode == -9, victim.text()
    with capsys.disabled():
        print(f" [killed after each of {at - 1} writes]", end="")
    assert at > 10


@pytest.mark.parametrize("step", ["create", "change", "move", "end"])
@pytest.mark.parametrize("fault", ["kill_before", "kill_after"])
def test_killed_by_a_call(c, tmp_path, step, fault):
    """Request sent or not, reply lost: the provider kills the process before or after it has carried out the call."""
    life = new_life(c, f"{step}-{fault}".replace("_", "-"), tmp_path)
    first = run_controller(c, *FLAGS[:1])
    for before in ["create", "change", "move", "end"]:
        if before == step:
            break
        done, wanted = getattr(life, before)()
        until(done)
    life.zones.fault("apply", fault)
    done, wanted = getattr(life, step)()
    until(lambda: first.process.poll() is not None)
    assert first.process.returncode == -9, first.text()
    second = run_controller(c, *FLAGS[:1])
    until(done)
    life.check(wanted)
    if get(c, NS, life.name):
        delete(c, NS, life.name)
        wait_gone(c, NS, life.name)
    life.check({})
    assert second.stop() == 0, second.text()
