# SPDX-License-Identifier: GPL-3.0-or-later
"""NOTIFY (RFC 1996) from real BIND, Knot and PowerDNS to the controller dnsrecord: what another writer changed is found at once, although
serials are read once an hour; forged NOTIFYs cost little."""
import os
import re
import socket
import time

import dns.exception
import dns.flags
import dns.message
import dns.opcode
import dns.query
import dns.rcode
import dns.tsig
import dns.tsigkeyring
import dns.update
import pytest

from bothlib import embedded  # noqa: F401 (fixture)
from controllerlib import FAST, Controller, events, namespace, until
from dnsrecordlib import delete, get, make, make_secret, patch, wait_gone, wait_settled
from lib import server
from lib.nameserver import NOTIFY_CONF, SECRET, Proxy, place

FLAGS = ["--heartbeat", "1h", "--dnsrecord-probe", "0", "--dnsrecord-serials", "1h"]
KEYS = {"ours": dns.tsigkeyring.from_text({"writer.key.": SECRET}), "wrong": dns.tsigkeyring.from_text({"writer.key.": "AAAA" + SECRET[4:]}),
        "unknown": dns.tsigkeyring.from_text({"other.key.": SECRET})}


@pytest.fixture
def port():
    held = server.Port()
    yield held.number
    held.release()


def start(c, port, *flags):
    p = Controller(c.kubeconfig(c.system), *FLAGS, *flags, "--dnsrecord-notify", f"127.0.0.1:{port}", controllers="dnsrecord")
    p.wait_line("waiting to lead" if FAST[0] in flags else "leading as")
    return p


def metric(p, name, **labels):
    """The sum over all series that have these labels."""
    found = re.findall(r"^fairlead_%s\{(.*)\} (\d+)" % name, p.get("/metrics")[1], re.M)
    return sum(int(value) for text, value in found if all(f'{k}="{v}"' in text for k, v in labels.items()))


def remove(c, ns, *names):
    """For the tests that follow: their controllers would see them, too."""
    for name in names:
        delete(c, ns, name)
    for name in names:
        wait_gone(c, ns, name)


@pytest.mark.parametrize("kind", ["bind", "knot", "powerdns"])
def test_other_writers_are_found(embedded, kind, port, tmp_path):  # noqa: F811
    """DR-P16: another writer's deletion and change are repaired; own changes cause no reading."""
    ns = f"notify-{kind}"
    namespace(embedded, ns)
    with place(kind, tmp_path, port) as zone:
        make_secret(embedded, ns, zone.secret(**({} if kind == "powerdns" else {"OwnerRecords": "true"})))
        hosts = {name: f"{name}.{zone.zone}" for name in ("lost", "changed", "quiet")}
        for name, host in hosts.items():
            make(embedded, ns, name, host, type=zone.type)
        p = start(embedded, port, "--no-election")
        for name in hosts:
            wait_settled(embedded, ns, name)
        p.wait_line(f"listening for NOTIFY on 127.0.0.1:{port}")
        until(lambda: metric(p, "dnsrecord_compared_total", result="equal") >= 3, 60)  # the first check
        earlier = len((tmp_path / "log").read_text())

        def counts():
            return metric(p, "dnsrecord_notifies_total", result="accepted"), metric(p, "dnsrecord_serials_total", result="own")
        notified, own = counts()
        compared = metric(p, "dnsrecord_compared_total")
        patch(embedded, ns, "quiet", {"spec": {"values": ["192.0.2.7"]}})
        wait_settled(embedded, ns, "quiet")
        until(lambda: all(now > before for now, before in zip(counts(), (notified, own))), 60)
        assert metric(p, "dnsrecord_compared_total") == compared
        quiet = get(embedded, ns, "quiet")["metadata"]["resourceVersion"]
        for name, values in (("lost", []), ("changed", ["192.0.2.66"])):
            zone.write(hosts[name], "A", 120, *values)
            until(lambda: zone.read(hosts[name]) == (120, ["192.0.2.1"]), 60)  # pylint: disable=cell-var-from-loop
            wait_settled(embedded, ns, name)
        until(lambda: {e["regarding"]["name"] for e in events(embedded, ns) if e["reason"] == "Drifted"} == {"lost", "changed"})
        assert get(embedded, ns, "quiet")["metadata"]["resourceVersion"] == quiet
        assert metric(p, "dnsrecord_notifies_total") == metric(p, "dnsrecord_notifies_total", result="accepted")
        remove(embedded, ns, *hosts)
        assert p.stop() == 0, p.text()
        if kind != "powerdns":
            log = (tmp_path / "log").read_text()[earlier:]
            assert not re.search(r"(?i)notify.*(fail|refus|notauth|tsig|bad)", log), log


def test_pages():
    """The settings of these servers are those of their pages."""
    for page, texts in (("rfc2136", [NOTIFY_CONF["bind"]["notify"].split("; ")[2].format(port=5300), *NOTIFY_CONF["knot"]["remote"].format(port=5300).split("\n"),
                                     NOTIFY_CONF["knot"]["notify"]]), ("powerdns", ["primary=yes", "also-notify=127.0.0.1:5300", "xfr-cycle-interval="])):
        with open(os.path.join(server.ROOT, "docs", "providers", page + ".md"), encoding="utf-8") as f:
            said = f.read().replace("192.0.2.9", "127.0.0.1").replace("key: fairlead", "key: writer.key.").replace('"fairlead"', '"writer.key."')
        for text in texts:
            assert text.strip(" {}") in said, text


def notify(name, key=None, kind="SOA"):
    message = dns.message.make_query(name, kind)
    message.flags = dns.flags.AA
    message.set_opcode(dns.opcode.NOTIFY)
    if key:
        message.use_tsig(KEYS[key])
    return message


def send(port, message, way=dns.query.udp):
    """The response code and the flags. dnspython checks the id, the question and the signature."""
    answer = way(message, "127.0.0.1", port=port, timeout=30)
    return dns.rcode.to_text(answer.rcode()), bool(answer.flags & dns.flags.AA)


class Gate(Proxy):
    """In front of a server that answers while the gate is open; else connections end."""
    is_open = True

    def read_dns(self, sock):
        found = super().read_dns(sock)
        if not self.is_open:
            raise EOFError
        return found


def test_answers_and_floods(embedded, port, tmp_path):  # noqa: F811
    """DR-P16: each message has its answer; thousands of forged ones cause at most one check of a zone in a second. A check
    that fails is repeated."""
    namespace(embedded, "notify-flood")
    with place("bind", tmp_path) as zone:
        gate = Gate(zone)
        make_secret(embedded, "notify-flood", zone.secret(gate.number))
        make(embedded, "notify-flood", "one", f"one.{zone.zone}", type=zone.type)
        p = start(embedded, port, "--no-election")
        wait_settled(embedded, "notify-flood", "one")
        until(lambda: metric(p, "dnsrecord_serials_total", result="changed") == 1, 60)  # the first check: the key is known, too
        for way in (dns.query.udp, dns.query.tcp):
            assert send(port, notify(zone.zone), way) == ("NOERROR", True)
            assert send(port, notify(zone.zone.upper(), "ours"), way) == ("NOERROR", True)
            assert send(port, notify("elsewhere.test"), way) == ("NOTAUTH", False)
            assert send(port, notify(f"one.{zone.zone}"), way) == ("NOTAUTH", False)
            assert send(port, notify(zone.zone, kind="A"), way) == ("NOTIMP", False)
            assert send(port, dns.message.make_query(zone.zone, "SOA"), way) == ("REFUSED", False)
            for key, error in (("wrong", dns.tsig.PeerBadSignature), ("unknown", dns.tsig.PeerBadKey)):
                with pytest.raises(error):
                    send(port, notify(zone.zone, key), way)
        assert metric(p, "dnsrecord_notifies_total", result="bad_signature") == 2

        def checks():
            return metric(p, "dnsrecord_serials_total")

        def failures():
            return metric(p, "dnsrecord_serials_total", result="failed")
        until(lambda: metric(p, "dnsrecord_compared_total", result="equal") >= 1, 60)
        gate.is_open = False
        assert send(port, notify(zone.zone)) == ("NOERROR", True)
        until(lambda: failures() >= 3, 60)  # once for each NOTIFY, and again
        gate.is_open = True
        before = checks() - failures()
        until(lambda: checks() - failures() > before, 60)
        before, began = checks(), time.monotonic()
        flood = [notify(zone.zone).to_wire(), notify("elsewhere.test").to_wire(), notify(zone.zone, "wrong").to_wire(), b"\0" * 40, b"x"]
        senders = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(8)]
        while time.monotonic() - began < 3:
            for sender in senders:
                for message in flood:
                    sender.sendto(message, ("127.0.0.1", port))
        for sender in senders:
            sender.close()
        patch(embedded, "notify-flood", "one", {"spec": {"values": ["192.0.2.9"]}})  # its work goes on
        wait_settled(embedded, "notify-flood", "one")
        until(lambda: checks() > before)
        assert checks() - before <= time.monotonic() - began + 2
        remove(embedded, "notify-flood", "one")
        assert p.stop() == 0, p.text()


def answers(port):
    try:
        return send(port, notify("elsewhere.test"), dns.query.tcp)[0]
    except OSError:
        return None


def test_the_leader_listens(embedded, port, tmp_path):  # noqa: F811
    """DR-P16: a replica that waits to lead has no socket; without the flag there is none at all."""
    namespace(embedded, "notify-lead")
    other = server.Port()
    with place("knot", tmp_path) as zone:
        make_secret(embedded, "notify-lead", zone.secret())
        make(embedded, "notify-lead", "one", f"one.{zone.zone}", type=zone.type)
        first = start(embedded, port, *FAST)
        wait_settled(embedded, "notify-lead", "one")
        second = start(embedded, other.number, *FAST)
        until(lambda: answers(port) == "NOTAUTH")
        assert answers(other.number) is None
        first.process.kill()
        first.process.wait()
        second.wait_line("listening for NOTIFY on", 60)
        assert answers(other.number) == "NOTAUTH" and answers(port) is None
        first.stop()
        remove(embedded, "notify-lead", "one")
        assert second.stop() == 0, second.text()
        other.release()
