# SPDX-License-Identifier: GPL-3.0-or-later
"""An upstream DNS server for tests, scripted by text, which remembers every query it got.

    with Upstream('''
    a.example. A                       # which queries: NAME TYPE CONDITION...
        answer {name} 60 IN A 192.0.2.1  # what they get, indented
    ''') as up:
        server.Server(server.fairlead(), ".:@PORT@ {\\n forward . @UP:up@\\n}", upstreams={"up": up})
        ...
        assert up.count("a.example.") == 1

README.md has the words of the script. It listens on UDP and TCP (and TLS, and HTTPS) of a loopback port, in a thread of
its own.
"""
import asyncio
import base64
import os
import re
import shutil
import socket
import ssl
import struct
import subprocess
import tempfile
import threading
import time
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import lru_cache

import dns.name
import dns.rdata
import dns.rdataclass
import dns.rdatatype

from lib import wire
from lib.server import Port

ADDRESS = "127.0.0.1"
DELAY = re.compile(r"(\d+(?:\.\d+)?)(ms|s)$")
TLS_NAME = "upstream.test"
REPLY_WORDS = {"rcode", "flags", "edns", "noedns", "answer", "authority", "additional", "delay", "drop", "truncate",
               "id", "question", "noquestion", "raw", "garbage", "close", "and", "pad", "opcode"}


class BadScript(Exception):
    """The script is invalid; the message has the place."""


@dataclass
class Reply:
    """One message that a rule sends, or the reason why it does not."""
    words: list = field(default_factory=list)  # (word, rest)

    def get(self, word, default=None):
        found = [rest for w, rest in self.words if w == word]
        return found[-1] if found else default

    def records(self, section):
        return [rest for w, rest in self.words if w == section and rest != "none"]


@dataclass
class Rule:
    """A line of the script and what is indented below it."""
    name: str
    rtype: str
    conditions: dict
    replies: list  # of Reply, sent in order

    def matches(self, q):
        return name_matches(self.name, q.name) and self.rtype in ("*", q.rtype) and \
            all(CONDITIONS[k](q, v) for k, v in self.conditions.items())


@dataclass(frozen=True)
class Query:
    """A query as it came."""
    name: str  # lower case
    rtype: str
    rclass: str
    transport: str  # udp, tcp, tls, https
    flags: tuple
    edns: object  # wire.Edns or None
    n: int  # the how manieth of this name and type
    wire: bytes
    question: bytes  # as received
    peer: tuple
    time: float

    def line(self):
        """What two servers that forward alike agree on."""
        words = [self.name, self.rtype, self.transport] + list(self.flags)
        return " ".join(words + ([str(self.edns)] if self.edns else []))


def name_matches(pattern, name):
    return fnmatchcase(name, pattern) if "*" in pattern else name == pattern


def in_range(number, text):
    low, dots, high = text.partition("..")
    return int(low or 0) <= number <= (int(high) if high else number if dots else int(low))


CONDITIONS = {
    "transport": lambda q, v: q.transport == v,
    "n": lambda q, v: in_range(q.n, v),
    "flag": lambda q, v: all((f in q.flags) == want for f, want in v),
    "do": lambda q, v: bool(q.edns and q.edns.do) == v,
    "edns": lambda q, v: bool(q.edns) == v,
    "class": lambda q, v: q.rclass == v,
}


def parse_script(text):
    """The rules of a script, first match wins."""
    rules = []
    for number, line in enumerate(text.splitlines(), 1):
        stripped = re.sub(r"(^|\s+)#.*", "", line).strip()
        if not stripped:
            continue
        parts = stripped.split(" ; ")
        try:
            if line[0] not in " \t":
                rules.append(parse_rule(parts.pop(0).split()))
            if not rules:
                raise BadScript("a reply without a query")
            for part in parts:
                parse_reply_line(rules[-1], part.strip())
        except (BadScript, ValueError, IndexError) as e:
            raise BadScript(f"line {number}: {e}: {line}") from e
    return rules


def parse_reply_line(rule, text):
    word, _, rest = text.partition(" ")
    if word not in REPLY_WORDS:
        raise BadScript(f"unknown word {word!r}")
    if word == "and":
        rule.replies.append(Reply())
    else:
        rule.replies[-1].words.append((word, rest.strip()))


def parse_rule(words):
    name, rtype = words[0].lower(), (words[1] if len(words) > 1 else "*").upper()
    if name[-1] not in ".*":
        raise BadScript("names end with a dot")
    conditions = {}
    for w in words[2:]:
        key, _, value = w.partition("=")
        if w in ("udp", "tcp", "tls", "https"):
            conditions["transport"] = w
        elif key in ("n", "class"):
            conditions[key] = value
        elif w in ("do", "-do", "edns", "-edns"):
            conditions[w.lstrip("-")] = w[0] != "-"
        elif w[0] in "+-" and w[1:] in dict(wire.FLAGS):
            conditions["flag"] = conditions.get("flag", ()) + ((w[1:], w[0] == "+"),)
        else:
            raise BadScript(f"unknown condition {w!r}")
    return Rule(name, rtype, conditions, [Reply()])


@lru_cache(maxsize=4096)
def record_wire(text, question_name):
    """A record in wire form; its owner is a pointer where it is the question's name."""
    owner, ttl, rclass, rtype, data = (text.split(None, 4) + [""])[:5]
    rdclass, rdtype = dns.rdataclass.from_text(rclass), dns.rdatatype.from_text(rtype)
    rdata = dns.rdata.from_text(rdclass, rdtype, data, origin=dns.name.root, relativize=False).to_wire()
    name = dns.name.from_text(owner).to_wire()
    return (b"\xc0\x0c" if name == question_name and len(name) > 2 else name) + \
        struct.pack("!HHIH", int(rdtype), int(rdclass), int(ttl), len(rdata)) + rdata


def seconds(text):
    m = DELAY.match(text)
    if not m:
        raise BadScript(f"{text!r} is no time such as 200ms or 1.5s")
    return float(m[1]) * (0.001 if m[2] == "ms" else 1)


def build(reply, q):
    """Bytes of a reply to a query; None where nothing is sent."""
    if any(reply.get(w) is not None for w in ("drop", "close")):
        return None
    ident = struct.unpack_from("!H", q.wire)[0]
    if reply.get("garbage") is not None:
        return bytes.fromhex(reply.get("garbage").replace(":", ""))
    if reply.get("id") is not None:
        ident = (ident + int(reply.get("id") or 1)) & 0xFFFF
    if reply.get("raw") is not None:
        return struct.pack("!H", ident) + bytes.fromhex(reply.get("raw").replace(":", ""))
    truncate = reply.get("truncate") is not None and q.transport == "udp"
    rcode = wire.rcode_value(reply.get("rcode", "NOERROR"))
    bits = header_bits(reply, q, truncate) | rcode & 15
    question = question_of(reply, q)
    name = question[:-4] if question else b""
    sections = [[] if truncate else [record_wire(fill(t, q), name) for t in reply.records(s)]
                for s in ("answer", "authority", "additional")]
    opt = opt_of(reply, q, rcode)
    if opt:
        sections[2].append(opt)
    counts = [1 if question else 0] + [len(s) for s in sections]
    data = struct.pack("!HH4H", ident, bits, *counts) + question + b"".join(b"".join(s) for s in sections)
    return data + bytes(int(reply.get("pad", "0")))


def header_bits(reply, q, truncate):
    flags = reply.get("flags")
    names = flags.split() if flags is not None else ["qr", "ra"] + [f for f in ("rd", "cd") if f in q.flags]
    bits = sum(m for n, m in wire.FLAGS if n in names or n == "tc" and truncate)
    return bits | int(reply.get("opcode", q.wire[2] >> 3 & 15)) << 11


def question_of(reply, q):
    if reply.get("noquestion") is not None:
        return b""
    other = reply.get("question")
    if other is None:
        return q.question
    words = fill(other, q).split() + ["IN"]
    return dns.name.from_text(words[0]).to_wire() + \
        struct.pack("!HH", wire.type_value(words[1]), wire.class_value(words[2]))


def opt_of(reply, q, rcode):
    """An OPT record if the script has one, else if the query had one."""
    text = reply.get("edns")
    if reply.get("noedns") is not None or text is None and not q.edns:
        return b""
    words = (text or "1232").split()
    do = "do" in words if text else q.edns.do
    data = b""
    for w in words[1:]:
        if w.startswith("opt="):
            code, _, value = w[4:].partition(":")
            data += struct.pack("!HH", int(code), len(value) // 2) + bytes.fromhex(value)
    return b"\0" + struct.pack("!HHIH", wire.OPT, int(words[0]), rcode >> 4 << 24 | (0x8000 if do else 0), len(data)) + data


def fill(text, q):
    """{name} as asked, {label} its first label, {type}, {n} how often it was asked, {ip} four numbers of its letters."""
    if "{" not in text:
        return text
    name = wire.name_text(q.question[:-4])
    digest = sum((i + 1) * c for i, c in enumerate(q.name.encode())) & 0xFFFFFF
    values = {"name": name, "label": name.split(".")[0], "type": q.rtype, "n": str(q.n), "transport": q.transport,
              "ip": f"10.{digest >> 16}.{digest >> 8 & 255}.{digest & 255}"}
    return re.sub(r"\{(\w+)\}", lambda m: values[m[1]], text)


def query_of(head, body):
    """The DNS message in an HTTP request, or None."""
    method, target = head.split(" ", 2)[:2]
    if method == "POST" and re.search(r"(?im)^content-type:\s*application/dns-message", head):
        return body
    m = re.match(r"/dns-query\?dns=([\w-]+)", target)
    return base64.urlsafe_b64decode(m[1] + "=" * (-len(m[1]) % 4)) if method == "GET" and m else None


def certificate(folder):
    """(certificate, key) files of a self-signed pair for `upstream.test` and 127.0.0.1, made in the folder."""
    cert, key = os.path.join(folder, "cert.pem"), os.path.join(folder, "key.pem")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                    "-keyout", key, "-out", cert, "-days", "2", "-subj", f"/CN={TLS_NAME}", "-addext",
                    f"subjectAltName=DNS:{TLS_NAME},IP:{ADDRESS}"], check=True, capture_output=True)
    return cert, key


class Upstream:
    """One upstream. `script`: its rules; what no rule fits is REFUSED. `udp`, `tcp`, `tls`, `https`: where it listens
    (TLS and HTTPS share another port: @UPTLS:name@; HTTP/1.1 by ALPN or without it). `dead`: has a port, but nobody
    listens."""

    def __init__(self, script="", udp=True, tcp=True, tls=False, https=False, dead=False):
        if tls and https:
            raise BadScript("an upstream has either TLS or HTTPS")
        self.rules = parse_script(script)
        self.listens = {"udp": udp, "tcp": tcp, "tls": tls, "https": https}
        tls = tls or https
        self.dead = dead
        self.queries = []
        self.connections = 0  # accepted, TCP and TLS
        self.problems = []  # what the script could not do
        self.seen_names = {}
        self.port_lock = Port()
        self.port = self.port_lock.number
        self.tls_lock = Port() if tls else None
        self.tls_port = self.tls_lock.number if tls else 0
        self.folder = tempfile.mkdtemp(prefix="fairlead-upstream-") if tls else None
        self.cert, self.key = certificate(self.folder) if tls else ("", "")
        self.loop = self.thread = None
        self.writers = set()

    @property
    def address(self):
        return f"{ADDRESS}:{self.port}"

    @property
    def tls_address(self):
        return f"{ADDRESS}:{self.tls_port}"

    # ---- life ----

    def start(self):
        """Listen; also again after stop()."""
        if self.dead or self.thread:
            return self
        ready = threading.Event()
        failed = []
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self._run, args=(ready, failed), daemon=True)
        self.thread.start()
        ready.wait(10)
        if failed:
            self.thread.join()
            self.thread = None
            raise failed[0]
        return self

    def stop(self):
        """Close all sockets; the queries stay. The port stays ours: nobody answers there now."""
        if self.thread:
            self.loop.call_soon_threadsafe(self.loop.stop)
            self.thread.join(10)
            self.thread = None

    def close(self):
        self.stop()
        self.port_lock.release()
        if self.tls_lock:
            self.tls_lock.release()
            shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self):
        try:
            return self.start()
        except BaseException:
            self.close()
            raise

    def __exit__(self, *_):
        self.close()

    def _run(self, ready, failed):
        asyncio.set_event_loop(self.loop)
        udp, servers = None, []
        try:
            udp, servers = self.loop.run_until_complete(self._listen())
        except OSError as e:
            failed.append(e)
        ready.set()
        if not failed:
            self.loop.run_forever()
        if udp:
            udp.close()
        for s in servers:
            s.close()
        for w in list(self.writers):
            w.transport.abort()
        self.loop.run_until_complete(asyncio.sleep(0))
        for task in asyncio.all_tasks(self.loop):
            task.cancel()
        self.loop.run_until_complete(asyncio.sleep(0))
        self.loop.close()

    async def _listen(self):
        udp, servers = None, []
        if self.listens["udp"]:
            sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
            sock.bind((ADDRESS, self.port))
            udp, _ = await self.loop.create_datagram_endpoint(lambda: Datagrams(self), sock=sock)
        if self.listens["tcp"]:
            servers.append(await asyncio.start_server(self._stream("tcp"), ADDRESS, self.port, backlog=1024))
        if self.tls_port:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(self.cert, self.key)
            if self.listens["https"]:
                context.set_alpn_protocols(["http/1.1"])
            serve = self._http if self.listens["https"] else self._stream("tls")
            servers.append(await asyncio.start_server(serve, ADDRESS, self.tls_port, ssl=context, backlog=1024))
        return udp, servers

    # ---- queries ----

    def _take(self, data, transport, peer):
        """Record a query; (query, rule) or None when it cannot be read."""
        try:
            msg = wire.parse(data)
            name, end = wire.read_name(msg.question, 0)
            rtype, rclass = struct.unpack_from("!HH", msg.question, end)
        except (wire.Malformed, struct.error) as e:
            self.problems.append(f"malformed query ({e}): {data.hex()}")
            return None
        name, rtype = wire.name_text(name), dns.rdatatype.to_text(rtype)
        n = self.seen_names[name, rtype] = self.seen_names.get((name, rtype), 0) + 1
        q = Query(name, rtype, dns.rdataclass.to_text(rclass), transport, msg.flags, msg.edns, n, data, msg.question,
                  peer, time.monotonic())
        self.queries.append(q)
        return q, next((r for r in self.rules if r.matches(q)), REFUSE)

    def _serve(self, data, transport, peer, send, close):
        """Answer by the script. Replies that wait go by the loop's timers, so none holds up another."""
        taken = self._take(data, transport, peer)
        if not taken:
            return
        q, rule = taken
        for reply in rule.replies:
            try:
                out = build(reply, q)
                wait = seconds(reply.get("delay", "0s"))
            except Exception as e:  # the test must see it
                self.problems.append(f"{rule.name} {rule.rtype}: {e!r}")
                return
            action = close if reply.get("close") is not None else (lambda o=out: send(o)) if out is not None else None
            if action and wait:
                self.loop.call_later(wait, action)
            elif action:
                action()

    def _stream(self, transport):
        async def serve(reader, writer):
            self.connections += 1
            self.writers.add(writer)

            def send(out):
                if not writer.is_closing():
                    writer.write(struct.pack("!H", len(out)) + out)

            try:
                while True:
                    head = await reader.readexactly(2)
                    data = await reader.readexactly(struct.unpack("!H", head)[0])
                    self._serve(data, transport, writer.get_extra_info("peername"), send, writer.close)
            except (asyncio.IncompleteReadError, OSError, asyncio.CancelledError):
                pass
            finally:
                self.writers.discard(writer)
                writer.close()
        return serve

    async def _http(self, reader, writer):
        """HTTP/1.1: one request after the other, GET and POST of RFC 8484."""
        self.connections += 1
        self.writers.add(writer)
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                length = re.search(r"(?im)^content-length:\s*(\d+)", head)
                body = await reader.readexactly(int(length[1])) if length else b""
                done = asyncio.Event()

                def send(out, done=done):
                    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/dns-message\r\n"
                                 b"Content-Length: %d\r\n\r\n" % len(out) + out)
                    done.set()

                def close(done=done):
                    writer.close()
                    done.set()

                query = query_of(head, body)
                if query is None:
                    self.problems.append(f"HTTP request: {head.splitlines()[0]}")
                    writer.write(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
                else:
                    self._serve(query, "https", writer.get_extra_info("peername"), send, close)
                    await done.wait()
        except (asyncio.IncompleteReadError, OSError, asyncio.CancelledError):
            pass
        finally:
            self.writers.discard(writer)
            writer.close()

    # ---- what it saw ----

    def asked(self, name=None, rtype=None, transport=None):
        """Queries it got, health checks (`. NS`) left out unless asked for by name."""
        return [q for q in list(self.queries)
                if (name is None and (q.name, q.rtype) != (".", "NS") or q.name == name)
                and rtype in (None, q.rtype) and transport in (None, q.transport)]

    def count(self, name=None, rtype=None, transport=None):
        return len(self.asked(name, rtype, transport))

    def wait_for(self, number, name=None, rtype=None, transport=None, timeout=5.0):
        """Wait until so many such queries came; how many did."""
        end = time.monotonic() + timeout
        while self.count(name, rtype, transport) < number and time.monotonic() < end:
            time.sleep(0.005)
        return self.count(name, rtype, transport)

    def forget(self):
        """Start counting afresh, also `n`."""
        self.queries.clear()
        self.seen_names.clear()


REFUSE = parse_script("*\n rcode REFUSED\n")[0]


class Datagrams(asyncio.DatagramProtocol):
    def __init__(self, upstream):
        self.upstream = upstream

    def connection_made(self, transport):
        self.transport = transport

    def datagram_received(self, data, addr):
        self.upstream._serve(data, "udp", addr, lambda out: self.transport.sendto(out, addr), lambda: None)
