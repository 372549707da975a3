# SPDX-License-Identifier: GPL-3.0-or-later
"""The controller dnsrecord beside other writers of real name servers: whose record set is whose by its owner mark."""
import pytest

from bothlib import embedded  # noqa: F401 (fixture)
from controllerlib import Controller, namespace, until
from dnsrecordlib import MERGE, condition, make, make_secret, patch, status_of, wait_failed, wait_settled, write_status
from lib.nameserver import place

FLAGS = ["--no-election", "--heartbeat", "1h", "--dnsrecord-probe", "0"]


@pytest.fixture(scope="module", params=["bind", "knot", "powerdns"])
def zone(request, tmp_path_factory):
    with place(request.param, tmp_path_factory.mktemp(request.param)) as one:
        yield one


@pytest.fixture
def ns(embedded, request):  # noqa: F811
    name = request.node.name.replace("_", "-").replace("[", "-").replace("]", "")[:50]
    namespace(embedded, name)
    return name


@pytest.fixture
def controller(embedded):  # noqa: F811
    p = Controller(embedded.kubeconfig(embedded.system), *FLAGS, controllers="dnsrecord")
    p.wait_line("leading as")
    yield p
    assert p.stop() == 0, p.text()


def marked(zone, **more):
    """A Secret whose account keeps marks."""
    return zone.secret(**({} if zone.kind == "powerdns" else {"OwnerRecords": "true"}), **more)


def set_mark(zone, name, mark):
    """Another's mark beside the set; the set stays."""
    if zone.kind == "powerdns":
        zone.real.put(zone.zone, name, "A", "192.0.2.1", ttl=120, comments=[{"content": mark, "account": "fairlead"}])
    else:
        zone.write(f"_fairlead-owner-a.{name}", "TXT", 120, mark)


def lose_status(c, ns, name):
    write_status(c, ns, name, {key: None for key in status_of(c, ns, name)})


def test_marks_decide(embedded, controller, ns, zone):  # noqa: F811
    """DR-P6: with the status lost, a set that has our mark is ours, whatever its values; one with another's mark is not."""
    host = {name: f"{name}.{ns}.{zone.zone}" for name in ("ours", "theirs", "early")}
    make_secret(embedded, ns, marked(zone))
    for name in ("ours", "theirs"):
        make(embedded, ns, name, host[name], type=zone.type)
        wait_settled(embedded, ns, name)
    zone.write(host["ours"], "A", 120, "192.0.2.66")
    set_mark(zone, host["theirs"], "fairlead/somebody-else")
    for name in ("ours", "theirs"):
        lose_status(embedded, ns, name)
    wait_settled(embedded, ns, "ours")
    assert zone.read(host["ours"]) == (120, ["192.0.2.1"])
    assert condition(wait_failed(embedded, ns, "theirs"), "Owned") == ("False", "NotOurs")
    patch(embedded, ns, "theirs", {"spec": {"values": ["192.0.2.2"]}})
    until(lambda: status_of(embedded, ns, "theirs").get("observedGeneration") == 2)
    wait_failed(embedded, ns, "theirs")
    assert zone.read(host["theirs"]) == (120, ["192.0.2.1"])


def test_marks_come_later(embedded, controller, ns, zone):  # noqa: F811
    """What was written before the account kept marks stays ours, and gets one with the next change."""
    if zone.kind == "powerdns":
        return  # always has marks
    host = f"early.{ns}.{zone.zone}"
    make_secret(embedded, ns, zone.secret())
    make(embedded, ns, "early", host, type=zone.type)
    wait_settled(embedded, ns, "early")
    assert zone.read(f"_fairlead-owner-a.{host}", "TXT") is None
    status, _ = embedded.call("PATCH", f"/api/v1/namespaces/{ns}/secrets/credentials", {"stringData": {"OwnerRecords": "true"}}, content_type=MERGE)
    assert status == 200
    patch(embedded, ns, "early", {"spec": {"values": ["192.0.2.2"]}})
    wait_settled(embedded, ns, "early")
    assert zone.read(host) == (120, ["192.0.2.2"])
    assert zone.read(f"_fairlead-owner-a.{host}", "TXT")
