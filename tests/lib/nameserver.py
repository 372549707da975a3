# SPDX-License-Identifier: GPL-3.0-or-later
"""Real name servers that accept changes: BIND and Knot by DNS UPDATE, PowerDNS by its HTTP API. Each is started on a port of its
own with a zone to write to, and stopped by its test."""
import contextlib
import http.client
import itertools
import json
import os
import re
import shutil
import socket
import sqlite3
import ssl
import subprocess
import threading
import time

import dns.exception
import dns.message
import dns.query
import dns.rcode
import dns.rdatatype
import pytest

from lib import server

SBIN = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
START_SECONDS = 60

# ---- BIND and Knot ----

ZONE = "example.test"
SECRET = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
KEY = f"hmac-sha256:writer.key:{SECRET}"

ZONE_FILE = """$TTL 60
@ SOA ns host 1 3600 600 86400 60
@ NS ns
ns A 192.0.2.1
sub NS ns.elsewhere.test.
alias CNAME ns
*.wild A 192.0.2.77
"""

BIND_CONF = """options {{
    directory "{dir}"; listen-on port {port} {{ 127.0.0.1; }}; listen-on-v6 {{ none; }};
    pid-file none; session-keyfile none; recursion no; allow-transfer {{ none; }};
}};
controls {{ }};
key "writer.key." {{ algorithm hmac-sha256; secret "{secret}"; }};
key "powerless.key." {{ algorithm hmac-sha256; secret "{secret}"; }};
zone "{zone}" {{ type primary; file "zone"; allow-update {{ key "writer.key."; }}; {notify} }};
zone "deep.{zone}" {{ type primary; file "deep.zone"; update-policy {{ grant "writer.key." zonesub A TXT; }}; }};
"""

KNOT_CONF = """server:
    rundir: "{dir}/run"
    listen: 127.0.0.1@{port}
    automatic-acl: off
database:
    storage: "{dir}/db"
key:
  - id: writer.key.
    algorithm: hmac-sha256
    secret: {secret}
  - id: powerless.key.
    algorithm: hmac-sha256
    secret: {secret}
acl:
  - id: writer
    key: writer.key.
    action: [update, query]
  - id: some-types
    key: writer.key.
    action: [update, query]
    update-type: [A, TXT]
{remote}
template:
  - id: default
    storage: "{dir}"
    zonefile-sync: -1
    zonefile-load: difference-no-serial
    journal-content: all
zone:
  - domain: {zone}
    file: zone
    acl: writer
    {notify}
  - domain: deep.{zone}
    file: deep.zone
    acl: some-types
"""


# Of the servers that send NOTIFYs to a port of the test, signed with the writer's key.
NOTIFY_CONF = {
    "bind": {"notify": 'notify explicit; notify-delay 0; also-notify {{ 127.0.0.1 port {port} key "writer.key."; }};', "remote": ""},
    "knot": {"notify": "notify: listener", "remote": "remote:\n  - id: listener\n    address: 127.0.0.1@{port}\n    key: writer.key.\n"},
}


def tool(name):
    found = shutil.which(name, path=SBIN)
    if found is None:
        pytest.fail(f"{name} is missing: tools/deps test")
    return found


def wait_for(check):
    end = time.monotonic() + START_SECONDS
    while not check():
        assert time.monotonic() < end, "the server does not answer"
        time.sleep(0.01)


def ask(port, name, kind="A"):
    query = dns.message.make_query(name, kind)
    query.flags = 0
    return dns.query.tcp(query, "127.0.0.1", port=port, timeout=10)


def answered(port, zone):
    with contextlib.suppress(OSError, EOFError, dns.exception.Timeout):
        return ask(port, zone, "SOA").answer
    return False


class Real:
    """A name server of other makers."""

    def __init__(self, kind, port):
        self.kind, self.port = kind, port

    def read(self, name, kind="A"):
        """TTL and values; None: nothing."""
        for rrset in ask(self.port, name, kind).answer:
            if dns.rdatatype.to_text(rrset.rdtype) == kind:
                return rrset.ttl, sorted(r.to_text() for r in rrset)
        return None

    def other_writer(self, changes, client="nsupdate"):
        script = f"server 127.0.0.1 {self.port}\nzone {ZONE}.\n" + "".join(f"update {c}\n" for c in changes) + "send\n"
        subprocess.run([tool(client), "-y", KEY], input=script, text=True, check=True, timeout=60, stdout=subprocess.DEVNULL)


@contextlib.contextmanager
def running(kind, folder, conf=None, zone=ZONE, notify=None):
    """`notify`: the port to which NOTIFYs for the zone are sent."""
    (folder / "zone").write_text(ZONE_FILE)
    (folder / "deep.zone").write_text(ZONE_FILE)
    for name in ("run", "db"):
        (folder / name).mkdir()
    held = server.Port()
    conf = conf or {"bind": BIND_CONF, "knot": KNOT_CONF}[kind]
    texts = {key: text.format(port=notify) if notify else "" for key, text in NOTIFY_CONF[kind].items()}
    (folder / "conf").write_text(conf.format(dir=folder, port=held.number, secret=SECRET, zone=zone, **texts))
    command = {"bind": [tool("named"), "-g", "-c"], "knot": [tool("knotd"), "-c"]}[kind]
    with open(folder / "log", "w+", encoding="utf-8") as log:
        process = subprocess.Popen([*command, str(folder / "conf")], stdout=log, stderr=subprocess.STDOUT)
        try:
            wait_for(lambda: process.poll() is not None or answered(held.number, zone))
            assert process.poll() is None, (folder / "log").read_text()
            yield Real(kind, held.number)
        finally:
            process.terminate()
            process.wait(20)
            held.release()


# ---- PowerDNS ----

API_KEY = "a-key-of-the-test"
SCHEMA = "/usr/share/pdns-backend-sqlite3/schema/schema.sqlite3.sql"
DOC = os.path.join(server.ROOT, "docs", "providers", "powerdns.md")
names = itertools.count(1)


def doc_conf(folder, dns_port, http_port):
    """The configuration in the documentation, with this test's places and ports."""
    with open(DOC, encoding="utf-8") as f:
        text = re.search(r"```ini\n(.*?)```", f.read(), re.S).group(1)
    for before, after in (("/var/lib/powerdns/pdns.sqlite3", f"{folder}/pdns.sqlite3"), ("local-address=0.0.0.0", "local-address=127.0.0.1"),
                          ("webserver-address=192.0.2.53", "webserver-address=127.0.0.1"), ("webserver-port=8081", f"webserver-port={http_port}"),
                          ("webserver-allow-from=192.0.2.0/24", "webserver-allow-from=127.0.0.1"), ("api-key=CHANGE-ME", f"api-key={API_KEY}")):
        assert before in text, before
        text = text.replace(before, after)
    return text + f"local-port={dns_port}\nsocket-dir={folder}\ngsqlite3-pragma-synchronous=0\nsecurity-poll-suffix=\n"


class PowerDNS:
    def __init__(self, folder, notify=None):
        """`notify`: the port to which NOTIFYs for zones of kind Master are sent, once a second for those that changed."""
        program = shutil.which("pdns_server", path=SBIN)
        if program is None or not os.path.exists(SCHEMA):
            pytest.fail("pdns-server or pdns-backend-sqlite3 is missing: tools/deps test")
        self.ports = server.Port(), server.Port()
        self.dns_port, self.http_port = (p.number for p in self.ports)
        with contextlib.closing(sqlite3.connect(folder / "pdns.sqlite3")) as db, open(SCHEMA, encoding="ascii") as f:
            db.executescript(f.read())
        more = f"primary=yes\nxfr-cycle-interval=1\nonly-notify=\nalso-notify=127.0.0.1:{notify}\n" if notify else ""
        (folder / "pdns.conf").write_text(doc_conf(folder, self.dns_port, self.http_port) + more)
        self.log, self.folder = open(folder / "log", "wb"), folder
        self.command = [program, f"--config-dir={folder}", "--daemon=no", "--guardian=no"]
        self.process = subprocess.Popen(self.command, stdout=self.log, stderr=self.log)
        wait_for(self.is_up)

    def restart(self, zone, more):
        """With further lines of configuration. Its API may be closed then: DNS says when it runs."""
        self.process.terminate()
        self.process.wait(30)
        with open(self.folder / "pdns.conf", "a", encoding="utf-8") as f:
            f.write(more)
        self.process = subprocess.Popen(self.command, stdout=self.log, stderr=self.log)
        wait_for(lambda: answered(self.dns_port, zone))

    def is_up(self):
        assert self.process.poll() is None, "PowerDNS has ended; see its log"
        try:
            return self.api("GET", "/zones")[0] == 200
        except OSError:
            return False

    def api(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.http_port, timeout=30)
        with contextlib.closing(connection):
            connection.request(method, "/api/v1/servers/localhost" + path, body and json.dumps(body), {"X-API-Key": API_KEY})
            reply = connection.getresponse()
            text = reply.read()
            return reply.status, json.loads(text) if text.startswith((b"{", b"[")) else text

    def new_zone(self, kind="Native"):
        return self.add_zone(f"z{next(names)}.test", kind)

    def add_zone(self, zone, kind="Native"):
        status, said = self.api("POST", "/zones", {"name": zone + ".", "kind": kind, "nameservers": ["ns.example."]})
        assert status == 201, said
        return zone

    def put(self, zone, name, rtype, *values, **more):
        """Another writer."""
        change = {"name": name + ".", "type": rtype, "ttl": 300, "changetype": "REPLACE" if values else "DELETE",
                  "records": [{"content": v, "disabled": False} for v in values], **more}
        status, said = self.api("PATCH", f"/zones/{zone}.", {"rrsets": [change]})
        assert status == 204, said

    def sets(self, zone):
        """(name, type) -> (TTL, sorted contents)"""
        found = self.api("GET", f"/zones/{zone}.")[1]["rrsets"]
        return {(s["name"][:-1], s["type"]): (s["ttl"], sorted(r["content"] for r in s["records"])) for s in found if s["records"]}

    def ask(self, name, rtype="A"):
        """The response code, or what the answer has: (TTL, texts)."""
        reply, _ = dns.query.udp_with_fallback(dns.message.make_query(name, rtype), "127.0.0.1", port=self.dns_port, timeout=10)
        if not reply.answer:
            return dns.rcode.to_text(reply.rcode())
        texts = (b"".join(r.strings).decode() if rtype == "TXT" else r.to_text() for r in reply.answer[0])
        return reply.answer[0].ttl, sorted(texts)

    def stop(self):
        self.process.terminate()
        self.process.wait(30)
        self.log.close()
        for port in self.ports:
            port.release()


# ---- all of them, for tests of what publishes there ----

class Place:
    """A server with a zone, seen as a provider: its type, its Secret, and what it serves."""

    def __init__(self, kind, real, zone):
        self.kind, self.real, self.zone = kind, real, zone
        self.type = "powerdns" if kind == "powerdns" else "rfc2136"

    def secret(self, port=None, **more):
        """The data of the Secret; `port` is that of a proxy in front."""
        if self.kind == "powerdns":
            return {"server": f"http://127.0.0.1:{port or self.real.http_port}", "apiKey": API_KEY, **more}
        return {"Server": f"127.0.0.1:{port or self.real.port}", "Zone": self.zone, "TSIGKeyName": "writer.key.", "TSIGSecret": SECRET, **more}

    def child(self):
        """A zone below this one, on the same server and without a delegation; made where it does not exist."""
        name = f"deep.{self.zone}"
        if self.kind == "powerdns" and self.real.api("GET", f"/zones/{name}.")[0] != 200:
            self.real.add_zone(name)
        return name

    @property
    def port(self):
        """That changes are sent to."""
        return self.real.http_port if self.kind == "powerdns" else self.real.port

    @property
    def dns_port(self):
        return self.real.dns_port if self.kind == "powerdns" else self.real.port

    def read(self, name, kind="A"):
        """TTL and values that are served; None: nothing."""
        return Real(self.kind, self.dns_port).read(name, kind)

    def write(self, name, kind, ttl, *values):
        """Another writer replaces the set; without values it goes."""
        if self.kind == "powerdns":
            self.real.put(self.zone, name, kind, *values, ttl=ttl)
        else:
            self.real.other_writer([f"delete {name}. {kind}", *(f"add {name}. {ttl} {kind} {v}" for v in values)])


@contextlib.contextmanager
def place(kind, folder, notify=None):
    """A running "bind", "knot" or "powerdns", empty but for what its zone needs. `notify`: the port to which it sends NOTIFYs."""
    if kind != "powerdns":
        with running(kind, folder, notify=notify) as real:
            yield Place(kind, real, ZONE)
        return
    real = PowerDNS(folder, notify)
    try:
        yield Place(kind, real, real.new_zone("Master" if notify else "Native"))
    finally:
        real.stop()


class Proxy:
    """Passes connections on to a place, and counts the changes in them: UPDATEs that have any, or PATCHes."""

    def __init__(self, at):
        self.place, self.changes = at, 0
        self.lock = threading.Lock()
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.number = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def drops(self, when, number):  # pylint: disable=unused-argument
        """Whether the connection ends: "before" the change of that number is passed on, or "after" the server has answered."""
        return False

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        read = self.read_http if self.place.kind == "powerdns" else self.read_dns
        with client, socket.create_connection(("127.0.0.1", self.place.port)) as upstream, contextlib.suppress(OSError, EOFError):
            while True:
                message, is_change = read(client)
                number = self.count() if is_change else 0
                if is_change and self.drops("before", number):
                    return
                upstream.sendall(message)
                answer, _ = read(upstream)
                if is_change and self.drops("after", number):
                    return
                client.sendall(answer)

    def count(self):
        with self.lock:
            self.changes += 1
            return self.changes

    @staticmethod
    def exactly(sock, size):
        data = b""
        while len(data) < size:
            part = sock.recv(size - len(data))
            if not part:
                raise EOFError
            data += part
        return data

    def read_dns(self, sock):
        """One message; is it an UPDATE with changes?"""
        head = self.exactly(sock, 2)
        message = head + self.exactly(sock, int.from_bytes(head, "big"))
        return message, message[4] >> 3 & 15 == 5 and message[10:12] != b"\0\0"

    def read_http(self, sock):
        """One request or answer with a length, or an answer that ends with its connection; is it a PATCH?"""
        message = b""
        while b"\r\n\r\n" not in message:
            part = sock.recv(65536)
            if not part:
                raise EOFError
            message += part
        head, _, body = message.partition(b"\r\n\r\n")
        length = re.search(rb"content-length: *(\d+)", head, re.I)
        if length:
            message += self.exactly(sock, int(length[1]) - len(body))
        elif head.startswith(b"HTTP/") and not head.startswith((b"HTTP/1.1 204", b"HTTP/1.0 204")):
            while part := sock.recv(65536):
                message += part
        return message, head.startswith(b"PATCH")

    def close(self):
        self.listener.close()


class TlsProxy:
    """TLS in front of a PowerDNS, as a proxy such as nginx has it. The API has two servers behind it: `localhost` and `second`."""

    def __init__(self, port, folder, cert="cert.pem", key="key.pem"):
        self.port = port
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(folder / cert, folder / key)
        self.requests = []  # paths
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.number = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        with client, contextlib.suppress(OSError):  # also a client that refuses the certificate
            with self.context.wrap_socket(client, server_side=True) as inner, socket.create_connection(("127.0.0.1", self.port)) as upstream:
                threading.Thread(target=self.pass_on, args=(upstream, inner), daemon=True).start()
                self.pass_on(inner, upstream, self.replace_path)

    def replace_path(self, data):
        found = re.match(rb"[A-Z]+ (\S+) HTTP/1", data)
        if found:
            self.requests.append(found[1].decode())
        return data.replace(b"/servers/second/", b"/servers/localhost/", 1) if found else data

    @staticmethod
    def pass_on(source, target, edit=lambda data: data):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                target.sendall(edit(data))
            target.shutdown(socket.SHUT_WR)

    def close(self):
        self.listener.close()


class Questions:
    """Asks a server for the addresses of a name, a thousand times a second, while a test changes them:

        with Questions(port, name) as asked:
            ...
        asked.check()
    """

    RATE = 1000

    def __init__(self, port, name, seconds=2):
        self.query = bytearray(dns.message.make_query(name, "A").to_wire())
        self.sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        self.sock.connect(("127.0.0.1", port))
        self.sock.settimeout(1)
        self.least = self.RATE * seconds
        self.sent, self.answers, self.bad = 0, 0, []
        self.is_over = threading.Event()
        self.threads = [threading.Thread(target=self.send), threading.Thread(target=self.receive)]

    def send(self):
        """What is due by now, at once: the rate holds on a busy machine, too."""
        start = time.monotonic()
        while not self.is_over.is_set() or self.sent < self.least:
            while self.sent < (time.monotonic() - start) * self.RATE:
                self.query[0:2] = (self.sent % 65536).to_bytes(2, "big")
                self.sock.send(self.query)
                self.sent += 1
            time.sleep(0.0005)

    def receive(self):
        """Until all are answered, or nothing comes any more."""
        is_sending = True
        while is_sending or self.answers < self.sent:
            is_sending = self.threads[0].is_alive()
            try:
                reply = self.sock.recv(4096)
            except socket.timeout:
                if not is_sending:
                    return
                continue
            self.answers += 1
            if reply[3] & 15 or reply[6:8] == b"\0\0":
                self.bad.append(reply)

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.is_over.set()
        for thread in self.threads:
            thread.join()
        self.sock.close()

    def check(self):
        """Each answer has an address; nearly all came (a full socket may lose some)."""
        assert not self.bad, (len(self.bad), self.answers, self.bad[0])
        assert self.sent >= self.least and self.answers > self.sent * 0.9, (self.sent, self.answers)
