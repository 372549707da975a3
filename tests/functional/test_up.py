# SPDX-License-Identifier: GPL-3.0-or-later
"""`fairlead up` and its companions, as a user on one machine has them."""
import json
import os
import random
import re
import signal
import socket
import ssl
import subprocess
import threading
import time
import urllib.request

import dns.message
import dns.opcode
import dns.query
import pytest

from helpers import eventually, needs_root
from lib import client, server, wire
from lib.nameserver import place
from lib.ports import free_port
from lib.upstream import Upstream

WAIT_SECONDS = 30


class Up:
    def __init__(self, data, *more, verb="up", command=(), dns=None):
        self.data, self.api, self.dns = str(data), free_port(), dns or free_port()
        addresses = (["--api", f"127.0.0.1:{self.api}", "--dns", f"127.0.0.1:{self.dns}"] if verb == "up" else
                     ["--listen", f"127.0.0.1:{self.api}"])
        self.log = open(self.data + ".log", "w+", encoding="utf-8")
        self.process = subprocess.Popen([*command, server.fairlead_program(), verb, "--data", self.data, *addresses, *more],
                                        stdin=subprocess.DEVNULL, stdout=self.log, stderr=subprocess.STDOUT)
        end = time.monotonic() + WAIT_SECONDS
        while not re.search(r"^try: ", self.text(), re.M):
            assert self.process.poll() is None and time.monotonic() < end, self.text()
            time.sleep(0.02)

    def text(self):
        with open(self.log.name, encoding="utf-8") as f:
            return f.read()

    def last_words(self):
        """Of a program that has ended."""
        return "" if self.process.poll() is None else f"\nended with {self.process.returncode}:\n{self.text()[:20000]}"

    def stop(self, sig=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(sig)
        try:
            return self.process.wait(WAIT_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        finally:
            self.log.close()


def run(up, *arguments, status=0, text=None):
    done = subprocess.run([server.fairlead_program(), *arguments, "--data", up if isinstance(up, str) else up.data],
                          input=text, capture_output=True, text=True, timeout=60)
    assert done.returncode == status, done.stdout + done.stderr + ("" if isinstance(up, str) else up.last_words())
    return done.stdout if status == 0 else done.stdout + done.stderr


@pytest.fixture
def start(tmp_path):
    made = []

    def make(name="data", *more, **kw):
        made.append(Up(tmp_path / name, *more, **kw))
        return made[-1]

    yield make
    for up in made:
        if up.process.poll() is None:
            assert up.stop() == 0, up.last_words()


def addresses(up, name):
    found = subprocess.run(["kdig", "+short", "+time=5", "@127.0.0.1", "-p", str(up.dns), name, "A"], capture_output=True,
                           text=True, timeout=30, check=True).stdout.split()
    return sorted(a for a in found if re.fullmatch(r"[0-9.]+", a))


OTHER_NAMESPACE = """apiVersion: v1
kind: Namespace
metadata: {name: shoot--foo--bar}
---
apiVersion: v1
kind: Secret
metadata: {name: dnsrecord-bar-external, namespace: shoot--foo--bar}
---
apiVersion: extensions.gardener.cloud/v1alpha1
kind: DNSRecord
metadata: {name: other, namespace: default}
spec:
  type: powerdns
  secretRef: {name: dnsrecord-bar-external, namespace: shoot--foo--bar}
  name: api.bar.foo.my-fancy-domain.com
  recordType: A
  values: [1.2.3.4]
"""


def test_objects_of_the_examples_are_served(start):
    up = start("data", "--load", os.path.join(server.ROOT, "examples", "objects"))
    ip, = addresses(up, "web.shop.svc.cluster.local")
    assert ip.startswith("10.96.")
    assert addresses(up, "db.shop.svc.cluster.local") == ["192.0.2.11", "192.0.2.12"]
    assert addresses(up, "blog.shop.svc.cluster.local") == [ip]
    assert addresses(up, "kubernetes.default.svc.cluster.local") == ["10.96.0.1"]
    # Records of type local, at once and without configuration; other names are refused or forwarded as before.
    eventually(lambda: addresses(up, "api.local.gardener.cloud") == ["192.0.2.10"])
    assert addresses(up, "any.thing.ingress.local.gardener.cloud") == ["192.0.2.10"]
    table = run(up, "get", "svc", "-A")
    assert re.search(rf"^shop +web +ClusterIP +{re.escape(ip)} ", table, re.M)
    assert {n: oct(os.stat(os.path.join(up.data, n)).st_mode & 0o077) for n in os.listdir(up.data)} == \
        dict.fromkeys(os.listdir(up.data), "0o0")
    # A firewall has its addresses when they were looked up; that it has no warnings is no problem.
    eventually(lambda: "1 of 1 names have addresses" in run(up, "get", "egressfirewalls", "-n", "shop", "-o", "yaml"))
    status = run(up, "status")
    assert "all well" in status and f"dns: 127.0.0.1:{up.dns} answers" in status
    assert re.search(r"^\d+ objects checked, all well$", status, re.M), status
    # DNS is asked for records after they are published.
    eventually(lambda: "Resolvable: DNS is asked soon" not in run(up, "status"), 60)
    # The Secret may be in another namespace: one administrator owns all of them here. It is read, and has no keys.
    run(up, "apply", "-f", "-", text=OTHER_NAMESPACE)
    eventually(lambda: "The Secret has no value for the key 'server' or 'Server'" in run(up, "get", "dnsrecords", "other", "-o", "yaml"))


RECORD = """apiVersion: v1
kind: Secret
metadata: {name: key, namespace: default}
stringData: %s
---
apiVersion: extensions.gardener.cloud/v1alpha1
kind: DNSRecord
metadata: {name: www, namespace: default}
spec: {type: rfc2136, class: seed, secretRef: {name: key}, name: www.%s, recordType: A, values: [192.0.2.1]}
"""


def test_flags_of_dnsrecord(start, tmp_path):
    """DR-54, DR-P16: objects of another class are published, serials are read, and NOTIFYs are answered."""
    port = free_port()
    with place("bind", tmp_path) as zone:
        up = start("data", "--dnsrecord-classes", "seed,shoot", "--dnsrecord-serials", "1h", "--dnsrecord-notify", f"127.0.0.1:{port}")
        run(up, "apply", "--wait", "-f", "-", text=RECORD % (json.dumps(zone.secret()), zone.zone))
        message = dns.message.make_query(zone.zone, "SOA")
        message.set_opcode(dns.opcode.NOTIFY)
        eventually(lambda: metric(up, "fairlead_dnsrecord_serials_total") >= 1)
        assert dns.query.udp(message, "127.0.0.1", port=port, timeout=30).rcode() == 0
        run(up, "delete", "-f", "-", text=RECORD % (json.dumps(zone.secret()), zone.zone))  # the Secret first


LOCAL = """apiVersion: extensions.gardener.cloud/v1alpha1
kind: DNSRecord
metadata: {name: ns, namespace: default}
spec: {type: local, secretRef: {name: none}, name: ns.local.gardener.cloud, recordType: A, values: [%s], ttl: 1}
"""


def test_server_of_records_is_a_name(start, tmp_path):
    """DR-24: the Secret names its server; the name is looked up again while nobody answers at its address."""
    with place("bind", tmp_path) as zone:
        up = start("data")
        run(up, "apply", "-f", "-", text=LOCAL % "127.0.0.99")
        eventually(lambda: addresses(up, "ns.local.gardener.cloud") == ["127.0.0.99"])
        secret = {**zone.secret(), "Server": f"ns.local.gardener.cloud:{zone.port}"}
        run(up, "apply", "-f", "-", text=(RECORD % (json.dumps(secret), zone.zone)).replace("class: seed, ", ""))
        eventually(lambda: metric(up, "fairlead_provider_calls_total(?=.*rfc2136)(?=.*transient)") >= 1, 60)
        run(up, "apply", "-f", "-", text=LOCAL % "127.0.0.1")
        run(up, "apply", "--wait", "-f", "-", text=(RECORD % (json.dumps(secret), zone.zone)).replace("class: seed, ", ""))


POOL = """apiVersion: ipam.cluster.x-k8s.io/v1alpha2
kind: InClusterIPPool
metadata: {name: %s, namespace: default}
spec: {addresses: [%s], prefix: 24, gateway: 10.0.0.1, nameservers: {addresses: [10.0.0.53]}}
"""


def test_status_of_pools(start):
    """A healthy pool has no problems, one with addresses of another does."""
    up = start("data")
    run(up, "apply", "-f", "-", text=POOL % ("one", "10.0.0.10-10.0.0.20"))
    eventually(lambda: "NameserversCut" in run(up, "get", "inclusterippools", "one", "-o", "yaml"))
    assert "all well" in run(up, "status")
    run(up, "apply", "-f", "-", text=POOL % ("two", "10.0.0.20-10.0.0.30"))
    eventually(lambda: "reason: SharedAddresses" in run(up, "get", "inclusterippools", "one", "-o", "yaml") and
               "reason: SharedAddresses" in run(up, "get", "inclusterippools", "two", "-o", "yaml"))
    report = run(up, "status", status=1)
    assert "2 problems" in report and "one in default: Overlapping is True (SharedAddresses): " in report, report


CLAIM = """apiVersion: ipam.cluster.x-k8s.io/v1beta2
kind: IPAddressClaim
metadata: {name: %s, namespace: default}
spec: {poolRef: {apiGroup: ipam.cluster.x-k8s.io, kind: InClusterIPPool, name: %s}}
"""


def test_apply_of_a_pool_that_is_refused(start):
    """The field that takes an allocated address away is named; --force-conflicts, which would not help, is not."""
    up = start("data")
    run(up, "apply", "-f", "-", text=POOL % ("one", "10.0.0.10-10.0.0.20") + "---\n" + CLAIM % ("vm", "one"))
    eventually(lambda: "addressRef" in run(up, "get", "ipaddressclaims", "vm", "-o", "yaml"))
    said = run(up, "apply", "-f", "-", text=(POOL % ("one", "10.0.0.10-10.0.0.20")).replace("10.0.0.1,", "10.0.0.10,"), status=1)
    assert "would lose 1 allocated address: 10.0.0.10 is the gateway (spec.gateway); delete its claim first" in said
    assert "--force-conflicts" not in said


def test_explain_as_the_examples_say(start):
    """examples/objects/egress.yaml: an exact name is looked up, one below a wildcard is learnt from an answer."""
    up = start("data", "--load", os.path.join(server.ROOT, "examples", "objects"))
    eventually(lambda: "192.0.2.11" in run(up, "explain", "db.shop.svc.cluster.local"))
    assert "Deny  all ports: rule 2, Deny 0.0.0.0/0" in run(up, "explain", "192.0.2.77")
    name = "one.db.shop.svc.cluster.local"

    def learnt():
        addresses(up, name)  # a client uses it
        return f"192.0.2.11 of {name} (DNSName default/wildcard.db.shop.svc.cluster.local)\n" in run(up, "explain", name)
    eventually(learnt, 30)
    text = run(up, "explain", name)
    assert "Allow TCP/5432: rule 0, Allow db.shop.svc.cluster.local TCP/5432: db.shop.svc.cluster.local\n" in text
    assert "    Deny  other ports: rule 2, Deny 0.0.0.0/0\n" in text


def test_a_refused_object_keeps_nothing_from_starting(start, tmp_path):
    manifest = tmp_path / "web.yaml"
    manifest.write_text("apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {clusterIP: 10.96.7.7, ports: [{name: a, port: 80}]}\n")
    start("data", "--load", str(manifest)).stop()
    manifest.write_text(manifest.read_text().replace("10.96.7.7", "10.96.7.8"))  # it cannot be changed
    up = start("data", "--load", str(manifest))
    assert "clusterIP" in up.text() and "1 objects of --load were refused" in up.text()
    assert addresses(up, "web.default.svc.cluster.local") == ["10.96.7.7"]


def test_a_change_is_served(start):
    up = start()
    manifest = "apiVersion: v1\nkind: Service\nmetadata: {name: late}\nspec: {clusterIP: 10.96.7.7, ports: [{port: 1}]}\n"
    assert addresses(up, "late.default.svc.cluster.local") == []
    assert "service/late created" in run(up, "apply", "-f", "-", text=manifest)
    eventually(lambda: addresses(up, "late.default.svc.cluster.local") == ["10.96.7.7"])
    assert "service/late deleted" in run(up, "delete", "svc/late")
    eventually(lambda: addresses(up, "late.default.svc.cluster.local") == [])


def test_objects_outlive_the_program(start):
    up = start()
    run(up, "apply", "-f", "-", text="apiVersion: v1\nkind: ConfigMap\nmetadata: {name: kept}\ndata: {a: b}\n")
    before = json.loads(run(up, "get", "cm", "kept", "-o", "json"))
    up.stop(signal.SIGKILL)
    again = start()
    assert json.loads(run(again, "get", "cm", "kept", "-o", "json")) == before


def test_backup_restore_export(start, tmp_path):
    up = start()
    run(up, "apply", "-f", "-", text="apiVersion: v1\nkind: ConfigMap\nmetadata: {name: kept}\ndata: {a: b}\n")
    copy = str(tmp_path / "copy")
    run(up, "backup", copy)
    text = run(up, "export")
    assert "name: kept" in text and "kind: ConfigMap" in text
    assert "is in use" in run(up, "restore", copy, status=1) or "pid" in run(up, "restore", copy, status=1)
    other = str(tmp_path / "other")
    run(other, "restore", copy)
    second = start("other")
    assert "kept" in run(second, "get", "cm", "-o", "name")
    assert "exists" in run(up, "backup", copy, status=1)


ADDRESS = """apiVersion: ipam.cluster.x-k8s.io/%s
kind: IPAddress
metadata: {name: a, namespace: default}
spec:
  address: 10.0.0.10
  prefix: 24
  claimRef: {name: a}
  poolRef: {apiGroup: ipam.cluster.x-k8s.io, kind: InClusterIPPool, name: p}
"""


def test_older_versions_of_a_kind(start, tmp_path):
    """--load, apply and delete send an object to the version that its manifest names, as kubectl does."""
    manifest = tmp_path / "address.yaml"
    manifest.write_text(ADDRESS % "v1alpha1")
    up = start("data", "--load", str(manifest))
    assert "created" in up.text() and "refused" not in up.text(), up.text()
    assert "address: 10.0.0.10" in run(up, "get", "ipaddresses", "a", "-o", "yaml")
    assert "ipaddress.ipam.cluster.x-k8s.io/a unchanged" in run(up, "apply", "-f", str(manifest))
    assert "a deleted" in run(up, "delete", "-f", str(manifest))
    for version in ("v1beta1", "v1beta2"):
        assert "a created" in run(up, "apply", "-f", "-", text=ADDRESS % version)
        assert "a deleted" in run(up, "delete", "-f", "-", text=ADDRESS % version)
    assert "<stdin>:1:1: ipaddress.ipam.cluster.x-k8s.io/a: the server does not serve ipam.cluster.x-k8s.io/v1alpha9\n" in \
        run(up, "apply", "-f", "-", text=ADDRESS % "v1alpha9", status=1)
    for version in ("v1alpha9", "../v1", "V1"):
        run(up, "apply", "-f", "-", text=ADDRESS % version, status=1)
        run(up, "delete", "-f", "-", text=ADDRESS % version, status=1)


def test_second_start_names_the_first(start):
    up = start()
    done = subprocess.run([server.fairlead_program(), "api", "--data", up.data, "--listen", f"127.0.0.1:{free_port()}"],
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and str(up.process.pid) in done.stderr and done.stderr.count("\n") == 1


def refused(data, api, dns):
    """The one line of a start that fails."""
    done = subprocess.run([server.fairlead_program(), "up", "--data", str(data), "--api", f"127.0.0.1:{api}", "--dns",
                           f"127.0.0.1:{dns}"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and done.stderr.count("\n") == 1, done.stderr
    return done.stderr


def test_ports_in_use(start, tmp_path):
    """Of a second program like this one, too, which would share the DNS port with the first."""
    up = start()
    assert f"127.0.0.1:{up.api}" in refused(tmp_path / "x", up.api, free_port())
    assert refused(tmp_path / "y", free_port(), up.dns) == (
        f"fairlead up: cannot serve DNS on 127.0.0.1:{up.dns}: Address already in use; use --dns for another address\n")
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
        with socket.socket(socket.AF_INET, kind) as taken:
            taken.bind(("127.0.0.1", 0))
            if kind == socket.SOCK_STREAM:
                taken.listen()
            assert "Address already in use" in refused(tmp_path / "z", free_port(), taken.getsockname()[1])
    assert not (tmp_path / "z").exists()


def test_ports_of_a_dying_one(tmp_path):
    """Ports and the data directory of a process that was killed, or of one that is still ending, are waited for."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as dns, socket.socket(socket.AF_INET, socket.SOCK_STREAM) as api:
        dns.bind(("127.0.0.1", free_port()))
        api.bind(("127.0.0.1", free_port()))
        api.listen()
        command = [server.fairlead_program(), "up", "--data", str(tmp_path / "x"), "--dns",
                   f"127.0.0.1:{dns.getsockname()[1]}", "--api", f"127.0.0.1:{api.getsockname()[1]}"]
        p = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        try:
            # one after the other, each when the program stands before it
            for taken in (dns, api):
                with pytest.raises(subprocess.TimeoutExpired):
                    p.wait(0.7)
                taken.close()
            lines = []
            for line in p.stdout:
                lines.append(line)
                if line.startswith("try: "):
                    break
            assert p.poll() is None and lines[-1].startswith("try: "), lines
        finally:
            p.kill()
            p.wait()
    again = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        assert any(line.startswith("try: ") for line in iter(again.stdout.readline, ""))
    finally:
        again.kill()
        again.wait()


def metric(up, name):
    """The sum of a metric's series at the API's page."""
    with open(os.path.join(up.data, "kubeconfig"), encoding="utf-8") as f:
        token = re.search(r'token"?: "?([^"\s]+)', f.read())[1]
    request = urllib.request.Request(f"https://127.0.0.1:{up.api}/metrics", headers={"Authorization": f"Bearer {token}"})
    with urllib.request.urlopen(request, context=ssl.create_default_context(cafile=os.path.join(up.data, "ca.crt"))) as reply:
        lines = reply.read().decode().splitlines()
    return sum(float(line.split()[-1]) for line in lines if re.match(name + r"[{ ]", line))


def test_metrics(start, tmp_path):
    """CoreDNS's metrics at the API's page: by the first Corefile and by that of the operator; no other port is opened."""
    up = start()
    for n in range(1, 4):
        ask(up, "kubernetes.default.svc.cluster.local")
        eventually(lambda: metric(up, "coredns_dns_requests_total") >= n)  # pylint: disable=cell-var-from-loop
    assert metric(up, "coredns_build_info") == 1 and metric(up, "coredns_cache_entries") > 0
    (tmp_path / "dns.yaml").write_text("apiVersion: operator.openshift.io/v1\nkind: DNS\nmetadata: {name: default}\nspec: {}\n")
    run(up, "apply", "-f", str(tmp_path / "dns.yaml"))
    eventually(lambda: "CorefileWritten" in up.text(), 20)
    before = metric(up, "coredns_dns_requests_total")
    eventually(lambda: ask(up, "kubernetes.default.svc.cluster.local") and metric(up, "coredns_dns_requests_total") > before + 2)
    listening = subprocess.run(["ss", "-Hltnp"], capture_output=True, text=True, check=False).stdout
    ports = {line.split()[3].rsplit(":", 1)[1] for line in listening.splitlines() if f"pid={up.process.pid}," in line}
    assert ports <= {str(up.api), str(up.dns)}


# ---- names ----

OBJECTS = """
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop}
spec: {clusterIP: 10.96.7.7, ports: [{name: http, port: 80}]}
---
apiVersion: v1
kind: Service
metadata: {name: db, namespace: shop}
spec: {clusterIP: None, ports: [{name: pg, port: 5432}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: db-1, namespace: shop, labels: {kubernetes.io/service-name: db}}
addressType: IPv4
ports: [{name: pg, port: 5432, protocol: TCP}]
endpoints:
- {addresses: [192.0.2.11], hostname: one}
- {addresses: [192.0.2.12]}
---
apiVersion: v1
kind: Service
metadata: {name: out, namespace: shop}
spec: {type: ExternalName, externalName: web.shop.svc.cluster.local}
"""
NAMES = [
    ("web.shop.svc.cluster.local", "A", ["A 10.96.7.7"]),
    ("web.shop.svc.cluster.local", "AAAA", []),
    ("_http._tcp.web.shop.svc.cluster.local", "SRV", ["SRV 0 100 80 web.shop.svc.cluster.local."]),
    ("db.shop.svc.cluster.local", "A", ["A 192.0.2.11", "A 192.0.2.12"]),
    ("one.db.shop.svc.cluster.local", "A", ["A 192.0.2.11"]),
    ("_pg._tcp.db.shop.svc.cluster.local", "SRV",
     ["SRV 0 50 5432 192-0-2-12.db.shop.svc.cluster.local.", "SRV 0 50 5432 one.db.shop.svc.cluster.local."]),
    ("out.shop.svc.cluster.local", "A", ["A 10.96.7.7", "CNAME web.shop.svc.cluster.local."]),
    ("7.7.96.10.in-addr.arpa", "PTR", ["PTR web.shop.svc.cluster.local."]),
    ("11.2.0.192.in-addr.arpa", "PTR", ["PTR one.db.shop.svc.cluster.local."]),
    ("192-0-2-99.shop.pod.cluster.local", "A", ["A 192.0.2.99"]),
]


def ask(up, name, rtype="A"):
    """(code, records of the answer)"""
    reply = client.udp_ask(up.dns, wire.query(name, rtype, ident=7))
    assert reply is not None
    m = wire.parse(reply)
    return wire.rcode_text(m.rcode), sorted(" ".join(wire.record_text(r).split()[3:]) for r in m.answer)


def serves_all(up):
    return all(ask(up, name, rtype) == ("NOERROR", want) for name, rtype, want in NAMES)


def test_names_of_all_kinds(start):
    """Applied, served; the same after an orderly end and after kill -9; gone once deleted."""
    up = start()
    assert ask(up, "web.shop.svc.cluster.local") == ("NXDOMAIN", [])
    run(up, "apply", "-f", "-", text=OBJECTS)
    eventually(lambda: serves_all(up))
    for sig in (signal.SIGTERM, signal.SIGKILL):
        up.stop(sig)
        up = start()
        assert serves_all(up)  # with its first answer: the start waits for the objects
    run(up, "delete", "svc/web", "svc/db", "-n", "shop")
    gone = {"web.shop.svc.cluster.local", "db.shop.svc.cluster.local", "one.db.shop.svc.cluster.local"}
    eventually(lambda: all(ask(up, name)[0] == "NXDOMAIN" for name in gone))


def start_with(start, conf, text):
    """A start on a machine with this resolv.conf."""
    conf.write_text(text)
    return start("data", command=["unshare", "--mount", "sh", "-c", 'mount --bind "$0" /etc/resolv.conf && exec "$@"', str(conf)])


@needs_root()
def test_names_outside(start, tmp_path):
    """Names outside the cluster go to the machine's name server; missing names of the cluster do not."""
    address, asked = f"127.{random.randrange(20, 250)}.{random.randrange(250)}.{random.randrange(1, 250)}", []

    def answer(sock):
        while (got := sock.recvfrom(4096))[0] != b"end":
            question = wire.parse(got[0])
            asked.append(question.text()[-1])
            # The question as it is, with QR and RA set, and one record: a pointer to its name, A, IN, 60 s.
            body = got[0][12:]
            sock.sendto(got[0][:2] + b"\x81\x80\0\1\0\1\0\0\0\0" + body +
                        b"\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4\xc0\0\2\1", got[1])

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.bind((address, 53))
        thread = threading.Thread(target=answer, args=(sock,))
        thread.start()
        try:
            up = start_with(start, tmp_path / "resolv.conf", f"nameserver {address}\n")
            assert ask(up, "www.example.org") == ("NOERROR", ["A 192.0.2.1"])
            asked.clear()
            assert ask(up, "nope.default.svc.cluster.local") == ("NXDOMAIN", [])
            assert ask(up, "cluster.local", "SOA")[0] == "NOERROR"
            assert [x for x in asked if not x.endswith(" HINFO")] == []  # that is the probe of the plugin `loop`
        finally:
            sock.sendto(b"end", (address, 53))
            thread.join()


@needs_root()
def test_machine_without_name_servers(start, tmp_path):
    """The cluster's names are served, others refused at once."""
    up = start_with(start, tmp_path / "resolv.conf", "search example.org\n")
    assert ask(up, "kubernetes.default.svc.cluster.local") == ("NOERROR", ["A 10.96.0.1"])
    assert ask(up, "www.example.org") == ("REFUSED", [])
    assert ask(up, "1.0.96.10.in-addr.arpa", "PTR") == ("NOERROR", ["PTR kubernetes.default.svc.cluster.local."])
    assert ask(up, "9.2.0.192.in-addr.arpa", "PTR") == ("NXDOMAIN", [])


def test_files_are_private(start):
    up = start()
    for name in ("kubeconfig", "system.kubeconfig", "store.db"):
        assert os.stat(os.path.join(up.data, name)).st_mode & 0o77 == 0
    assert os.stat(up.data).st_mode & 0o77 == 0


def test_api_alone(start):
    up = start("data", verb="api")
    assert "kube-system" in run(up, "get", "ns")
    assert "all well" in run(up, "status")
    assert up.stop(signal.SIGINT) == 0
    assert "no answer" in run(up, "status", status=1) or "connect" in run(up, "status", status=1)


@pytest.mark.parametrize("arguments, said", [
    (["up", "extra"], "takes no arguments"),
    (["up", "--dns", "nowhere"], "--dns: expected an address and a port"),
    (["up", "--log-format", "xml"], "--log-format is text or json"),
    (["api", "extra"], "takes no arguments"),
    (["backup"], "expected one FILE"),
    (["export", "x"], "takes no arguments"),
    (["status", "x"], "takes no arguments"),
])
def test_bad_usage(arguments, said):
    done = subprocess.run([server.fairlead_program(), *arguments], capture_output=True, text=True, timeout=30)
    assert done.returncode == 64 and said in done.stderr


DNS_OBJECT = """apiVersion: operator.openshift.io/v1
kind: DNS
metadata:
  name: default
spec:
  servers:
  - name: stub
    zones: [stub.test]
    forwardPlugin:
      upstreams: ["127.0.0.1:{port}"]
  templates: {templates}
"""
TEMPLATE = '[{name: t, zones: [%s], action: {generateResponse: {answerTemplate: "{{ .Name }} 60 IN AAAA 2001:db8::5"}}}]'


def test_dns_object_configures_the_server(start):
    """The DNS operator runs in `up`; port and address follow --dns, and what changes is served."""
    with Upstream("* A\n    answer {name} 60 IN A 192.0.2.9\n* AAAA\n    answer {name} 60 IN AAAA 2001:db8::9\n") as up:
        u = start()

        def asked(name, rtype="AAAA"):
            reply = client.udp_ask(u.dns, wire.query(name, rtype, ident=7))
            return [wire.record_text(r).split()[-1] for r in wire.parse(reply).answer] if reply else None

        def apply(templates):
            run(u, "apply", "-f", "-", text=DNS_OBJECT.format(port=up.port, templates=templates))

        web = addresses(u, "kubernetes.default.svc.cluster.local")
        assert web
        apply("[]")
        eventually(lambda: asked("a.stub.test", "A") == ["192.0.2.9"])
        eventually(lambda: asked("a.stub.test") == ["2001:db8::9"])  # another worker may take the text a moment later
        apply(TEMPLATE % "b.stub.test")
        eventually(lambda: asked("b.stub.test") == ["2001:db8::5"])
        assert asked("x.stub.test") == ["2001:db8::9"]
        # refused by the operator's hook, as in a cluster: what was accepted stays
        said = run(u, "apply", "-f", "-", status=1, text=DNS_OBJECT.format(port=up.port, templates=TEMPLATE % "svc.cluster.local"))
        assert ('admission webhook "dnses.dnsoperator.fairlead.dev" denied the request: Template t: '
                'spec.templates[0].zones[0]: "svc.cluster.local" is in ') in said
        assert "svc.cluster.local" not in run(u, "get", "dnses", "default", "-o", "yaml")
        assert asked("c.b.stub.test") == ["2001:db8::5"]
        assert addresses(u, "kubernetes.default.svc.cluster.local") == web
        apply('[{name: t, zones: ["."], action: {returnEmpty: {}}}]')
        eventually(lambda: asked("y.stub.test") == [])
        assert addresses(u, "kubernetes.default.svc.cluster.local") == web
        assert f".:{u.dns} {{" in run(u, "get", "configmaps", "dns-default", "-n", "openshift-dns", "-o", "yaml")
        # what others do to the written text is put right
        run(u, "delete", "configmaps", "dns-default", "-n", "openshift-dns")
        eventually(lambda: "stub.test" in run(u, "get", "configmaps", "-n", "openshift-dns", "-o", "yaml"))
        assert asked("y.stub.test") == []
        # without the object the server has its own configuration again
        run(u, "delete", "dnses", "default")
        eventually(lambda: not asked("z.stub.test", "A"))
        # and no ConfigMap shows what the deleted object asked for
        eventually(lambda: not re.search("stub.test|template", run(u, "get", "configmaps", "-n", "openshift-dns", "-o", "yaml")))
        assert f".:{u.dns} {{" in run(u, "get", "configmaps", "dns-default", "-n", "openshift-dns", "-o", "yaml")
        assert addresses(u, "kubernetes.default.svc.cluster.local") == web


def test_templates_are_acknowledged(start):
    """OP-34, OP-T17: the server of this process is polled for its Corefile, on the address of --dns, and `status` reports it."""
    u = start()
    for i, zone in enumerate((".", "example.com", "example.org")):
        run(u, "apply", "-f", "-", text=DNS_OBJECT.format(
            port=53, templates='[{name: filter-aaaa, zones: ["%s"], action: {returnEmpty: {}}}]' % zone))
        told = f"message: The only server runs generation {i + 1}."
        eventually(lambda: told in run(u, "get", "dnses", "default", "-o", "yaml"), 2.0)  # pylint: disable=cell-var-from-loop
        assert "all well" in run(u, "status")
        assert ask(u, "www." + zone.strip("."), "AAAA") == ("NOERROR", [])
    run(u, "apply", "-f", "-", text=DNS_OBJECT.format(port=53, templates="[]"))
    eventually(lambda: run(u, "get", "dnses", "default", "-o", "yaml").count("reason: NoTemplates") == 3)
    assert "all well" in run(u, "status")


def test_example_of_templates(start):
    """examples/aaaa-filter.yaml, as its comments say."""
    u = start()
    path = os.path.join(server.ROOT, "examples", "aaaa-filter.yaml")
    run(u, "apply", "-f", path)
    eventually(lambda: "The only server runs" in run(u, "get", "dnses", "default", "-o", "yaml"))
    assert ask(u, "example.com", "AAAA") == ("NOERROR", [])
    assert ask(u, "db.legacy.example.net", "AAAA") == ("NOERROR", ["AAAA 2001:db8::100"])
    assert "all well" in run(u, "status")
    run(u, "delete", "-f", path)

    def answered():  # by nobody, where nobody is to forward to
        reply = client.udp_ask(u.dns, wire.query("db.legacy.example.net", "AAAA", ident=9))
        return bool(reply and wire.parse(reply).answer)
    eventually(lambda: not answered())


def test_dns_object_outlives_the_program(start, tmp_path):
    """What was accepted is served after a restart, also when the object has been refused since: --load is applied before the
    controllers and their hooks run."""
    u = start()
    run(u, "apply", "-f", "-", text=DNS_OBJECT.format(port=53, templates=TEMPLATE % "kept.test"))
    eventually(lambda: "AsExpected" in run(u, "get", "dnses", "default", "-o", "yaml"))
    assert u.stop() == 0
    refused = tmp_path / "refused.yaml"
    refused.write_text(DNS_OBJECT.format(port=53, templates=TEMPLATE % "cluster.local"))
    again = start("data", "--load", str(refused))
    eventually(lambda: "ReservedZone" in run(again, "get", "dnses", "default", "-o", "yaml"))
    eventually(lambda: [wire.record_text(r).split()[-1] for r in wire.parse(
        client.udp_ask(again.dns, wire.query("kept.test", "AAAA", ident=8))).answer] == ["2001:db8::5"])


class EarlyClient(threading.Thread):
    """Asks for new names below a zone from before the start on, and notes each reply: its data, or its response code."""

    def __init__(self, port, zone, rtype="A"):
        super().__init__(daemon=True)
        self.port, self.zone, self.rtype = port, zone, rtype
        self.replies, self.ends = [], threading.Event()

    def run(self):
        for i in range(65536):
            if self.ends.is_set():
                return
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
                s.settimeout(1)
                s.connect(("127.0.0.1", self.port))
                try:
                    s.send(wire.query(f"n{i}.{self.zone}", self.rtype, ident=i))
                    reply = wire.parse(s.recv(4096))
                except OSError:  # nobody listens yet, or the program was stopped
                    time.sleep(0.001)
                    continue
            self.replies.append(wire.record_text(reply.answer[0]).split()[-1] if reply.answer else reply.rcode)

    def seen(self):
        """The kinds of replies, when there were many and the client has ended."""
        eventually(lambda: len(self.replies) > 200, 30)
        self.ends.set()
        self.join()
        return set(self.replies)


EGRESS = """apiVersion: k8s.ovn.org/v1
kind: EgressFirewall
metadata: {name: default, namespace: default}
spec: {egress: [{type: Allow, to: {dnsName: known.stub.test}}]}
"""


def test_restart_serves_the_stored_configuration(start, tmp_path):
    """From the first reply on: after an orderly end and after SIGKILL, with an object that is not managed, one that was refused since,
    and one that --load brings. Names of the zone are never asked of the default upstreams, and controllers keep what they know."""
    with Upstream("known.stub.test. A\n    answer {name} 1 IN A 192.0.2.8\n* A\n    answer {name} 1 IN A 192.0.2.9\n"
                  "* AAAA\n    answer {name} 1 IN AAAA 2001:db8::9\n") as upstream:
        loaded = tmp_path / "dns.yaml"
        loaded.write_text(DNS_OBJECT.format(port=upstream.port, templates="[]") + "---\n" + EGRESS)

        def restart(*more):
            port = free_port()
            early = EarlyClient(port, "stub.test")
            early.start()
            u = start("data", *more, dns=port)
            assert early.seen() == {"192.0.2.9"}, u.text()
            return u

        def knows(u):
            return "192.0.2.8 of known.stub.test" in run(u, "explain", "known.stub.test", "-n", "default")
        u = restart("--load", str(loaded))
        eventually(lambda: knows(u), 30)
        for sig in (signal.SIGTERM, signal.SIGKILL):
            u.stop(sig)
            u = restart()
            assert knows(u), u.text()
        # not managed: what was accepted last is served, whatever the object asks for
        text = loaded.read_text().replace("  servers:", "  managementState: Unmanaged\n  servers:").replace("[stub.test]", "[other.test]")
        run(u, "apply", "-f", "-", text=text)
        eventually(lambda: "Unmanaged" in run(u, "get", "dnses", "default", "-o", "yaml"))
        u.stop()
        u = restart()
        # refused since: --load is applied before the operator's hook runs
        loaded.write_text(DNS_OBJECT.format(port=upstream.port, templates="[]").replace("[stub.test]", "[cluster.local]"))
        u.stop()
        u = restart("--load", str(loaded))
        run(u, "delete", "dnses", "default")
        eventually(lambda: not addresses(u, "gone.stub.test"))


@needs_root()
def test_stored_configuration_that_cannot_be_served(start, tmp_path):
    """Names of the cluster are answered and others refused, not sent elsewhere; the object can be corrected, which takes effect at once."""
    system = "apiVersion: operator.openshift.io/v1\nkind: DNS\nmetadata: {name: default}\n" \
        "spec: {upstreamResolvers: {upstreams: [{type: SystemResolvConf}]}}\n"
    (tmp_path / "dns.yaml").write_text(system)
    start("data", "--load", str(tmp_path / "dns.yaml")).stop()
    with Upstream("* A\n    answer {name} 60 IN A 192.0.2.9\n") as upstream:
        up = start_with(start, tmp_path / "resolv.conf", "search example.org\n")
        assert "starting with names of the cluster alone, until DNS default can be served: <up>:" in up.text()
        assert ask(up, "kubernetes.default.svc.cluster.local") == ("NOERROR", ["A 10.96.0.1"])
        assert ask(up, "www.example.org") == ("REFUSED", [])
        run(up, "apply", "-f", "-", text=system.replace("{type: SystemResolvConf}", "{type: Network, address: 127.0.0.1, port: %d}" % upstream.port))
        eventually(lambda: ask(up, "www.example.org") == ("NOERROR", ["A 192.0.2.9"]), 30)
