# SPDX-License-Identifier: GPL-3.0-or-later
"""`fairlead adopt`, with real name servers: what external-dns wrote is foreign to `dnsrecord` until it is adopted, and then external-dns
has no claim to it any more."""
import subprocess

import pytest

from bothlib import embedded  # noqa: F401 (fixture)
from controllerlib import namespace, start
from dnsrecordlib import condition, delete, get, make, make_secret, wait_failed, wait_gone, wait_settled
from lib import server
from lib.nameserver import place

HERITAGE = "heritage=external-dns,external-dns/owner=default,external-dns/resource=service/shop/web"
SECONDS = 60  # that a busy machine may need


@pytest.fixture(scope="module", params=["bind", "knot", "powerdns"])
def zone(request, tmp_path_factory):
    with place(request.param, tmp_path_factory.mktemp(request.param)) as one:
        yield one


@pytest.fixture
def ns(embedded, zone, request):  # noqa: F811
    name = f"{zone.kind}-{request.node.originalname}".replace("_", "-")
    namespace(embedded, name)
    make_secret(embedded, name, zone.secret())
    return name


@pytest.fixture
def c(embedded):  # noqa: F811
    p = start(embedded.kubeconfig(embedded.system), "--no-election", controllers="dnsrecord")
    p.wait_line("leading as")
    yield embedded
    assert p.stop() == 0, p.text()


def adopt(c, ns, *args):
    done = subprocess.run([server.fairlead_program(), "adopt", "--kubeconfig", c.kubeconfig(), "-n", ns, *args], capture_output=True, text=True,
                          timeout=60, check=False)
    return done.returncode, done.stdout, done.stderr


def test_from_external_dns(c, zone, ns):
    """DR-S6: foreign, listed, adopted; the registry's records go, other TXT records and other names stay."""
    www, plain, alias = (f"{n}.{zone.zone}" for n in ("www", "plain", "alias2"))
    for name, kind, values in ((www, "A", ["192.0.2.1"]), (f"a-{www}", "TXT", [f'"{HERITAGE}"']),
                               (www, "TXT", [f'"{HERITAGE}"', '"v=spf1 -all"']), (plain, "A", ["192.0.2.9"]),
                               (f"text.{zone.zone}", "TXT", ['"a\\010shop/x: adopted \\"b\\""']),
                               (alias, "CNAME", ["www.example.com."]), (f"cname-{alias}", "TXT", [f'"{HERITAGE.replace("default", "other")}"'])):
        zone.write(name, kind, 300, *values)
    for name, host, values, kind in (("www", www, ["192.0.2.2"], "A"), ("plain", plain, ["192.0.2.9"], "A"),
                                     ("alias", alias, ["www.example.com"], "CNAME"), ("free", f"free.{zone.zone}", ["192.0.2.3"], "A"),
                                     ("text", f"text.{zone.zone}", ["x"], "TXT")):
        make(c, ns, name, host, values=values, kind=kind, type=zone.type)
    wait_settled(c, ns, "free", SECONDS)
    for name in ("www", "plain", "alias", "text"):
        assert condition(wait_failed(c, ns, name, SECONDS), "Owned") == ("False", "NotOurs")
    assert zone.read(www) == (300, ["192.0.2.1"])

    id_of_zone = zone.zone + ("." if zone.kind == "powerdns" else "")
    listed = (f"{ns}/www: adopt in zone {id_of_zone}, from external-dns (owner 'default', resource 'service/shop/web')\n"
              f"- {www} 300 A 192.0.2.1\n+ {www} 120 A 192.0.2.2\n- a-{www} 300 TXT \"{HERITAGE}\"\n"
              f"- {www} 300 TXT \"{HERITAGE}\"\n- {www} 300 TXT \"v=spf1 -all\"\n+ {www} 300 TXT \"v=spf1 -all\"\n")
    versions = {name: get(c, ns, name)["metadata"]["resourceVersion"] for name in ("www", "plain", "alias", "free")}
    status, out, err = adopt(c, ns)
    assert (status, err) == (2, "") and listed in out and "(owner 'other'" in out, out
    assert f'- text.{zone.zone} 300 TXT "a\\010shop/x: adopted \\034b\\034"\n' in out
    assert f"{ns}/plain: adopt in zone {id_of_zone}\n" in out and f"{ns}/free" not in out and "--yes adopts what is listed" in out
    assert adopt(c, ns, "--txt-owner-id", "default")[1] == listed + "nothing was changed; --yes adopts what is listed\n"
    # Nothing was changed, neither here nor there.
    assert {name: get(c, ns, name)["metadata"]["resourceVersion"] for name in versions} == versions
    assert zone.read(f"a-{www}", "TXT") and zone.read(www) == (300, ["192.0.2.1"])

    status, out, err = adopt(c, ns, "www", "alias", "--txt-owner-id", "default", "--yes")
    assert (status, err) == (0, "") and out == listed + f"{ns}/www: adopted\n", (out, err)
    wait_settled(c, ns, "www", SECONDS)
    assert zone.read(www) == (120, ["192.0.2.2"]) and zone.read(f"a-{www}", "TXT") is None
    assert zone.read(www, "TXT") == (300, ['"v=spf1 -all"'])
    assert zone.read(plain) == (300, ["192.0.2.9"]) and zone.read(f"cname-{alias}", "TXT")  # not named, not this owner
    # What was adopted goes with its object; what was not stays.
    for name in ("www", "plain", "alias", "free", "text"):
        delete(c, ns, name)
    for name in ("www", "plain", "alias", "free", "text"):
        wait_gone(c, ns, name, SECONDS)
    assert zone.read(www) is None and zone.read(plain) == (300, ["192.0.2.9"]) and zone.read(alias, "CNAME")
    assert adopt(c, ns) == (0, "", "")


def test_mistakes(c, zone, ns):
    """A Secret that is missing, refused credentials: an error for that object, none for others."""
    zone.write(f"there.{zone.zone}", "A", 300, "192.0.2.1")
    make(c, ns, "there", f"there.{zone.zone}", type=zone.type)
    make(c, ns, "broken", f"broken.{zone.zone}", type=zone.type, secret={"name": "missing"})
    wait_failed(c, ns, "there", SECONDS)
    status, out, err = adopt(c, ns)
    assert status == 1 and f"{ns}/there: adopt in zone" in out and f"{ns}/broken: the Secret 'missing'" in err
    assert adopt(c, ns, "--no-such-flag")[0] == 64
    assert adopt(c, ns, "nonesuch") == (1, "", f"fairlead adopt: there is no DNSRecord 'nonesuch' in namespace {ns}\n")
    # a CNAME is alone at its name: what is in its way, or is one, cannot be adopted
    zone.write(f"way.{zone.zone}", "CNAME", 300, "www.example.com.")
    zone.write(f"way2.{zone.zone}", "A", 300, "192.0.2.1")
    make(c, ns, "way", f"way.{zone.zone}", type=zone.type)
    make(c, ns, "way2", f"way2.{zone.zone}", type=zone.type, kind="CNAME", values=["www.example.com"])
    status, out, err = adopt(c, ns, "way", "way2")
    assert (status, out) == (1, "") and f"{ns}/way: 'way.{zone.zone}' has a record of type CNAME, and a CNAME is alone at its name" in err
    assert f"{ns}/way2: 'way2.{zone.zone}' has a record of type A, and" in err
    for name in ("there", "broken", "way", "way2"):
        delete(c, ns, name)
        wait_gone(c, ns, name, SECONDS)
