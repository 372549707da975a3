# SPDX-License-Identifier: GPL-3.0-or-later
"""Clients that send bytes and give back bytes: pipelined UDP and TCP.

Both take a list of Ask and return, for each, the list of replies that came (none, one, or more than one).
"""
import select
import socket
import struct
import time
from dataclasses import dataclass

QUIET = 0.35  # seconds without a packet after which nothing more is expected


@dataclass(frozen=True)
class Ask:
    """One question: its bytes, how it is sent, and from and to where."""
    wire: bytes
    tcp: bool = False
    source: str = ""  # client address, empty for the system's choice
    target: str = "127.0.0.1"
    port: str = ""  # name of the server's port, "" is the main one


def connect(kind, target, port, source, source_port):
    """A connected socket. Two of them may share a source port if they go to different servers."""
    family = socket.AF_INET6 if ":" in target else socket.AF_INET
    sock = socket.socket(family, kind)
    try:
        if kind == socket.SOCK_DGRAM:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        sock.bind((source or ("::" if family == socket.AF_INET6 else "0.0.0.0"), source_port))
        sock.settimeout(5)
        sock.connect((target, port))
    except OSError:
        sock.close()
        raise
    return sock


class Udp:
    """A connected UDP socket that keeps at most `window` questions in flight. Replies are matched by their id, so
    ids in one run must differ."""

    def __init__(self, target, port, source="", source_port=0):
        self.sock = connect(socket.SOCK_DGRAM, target, port, source, source_port)
        self.sock.setblocking(False)
        self.local_port = self.sock.getsockname()[1]
        self.replies = {}

    def send(self, wire):
        self.replies.setdefault(wire[:2], [])
        self.sock.send(wire)

    def receive(self):
        """Take what is there; the number of packets."""
        n = 0
        while True:
            try:
                data = self.sock.recv(65535)
            except BlockingIOError:
                return n
            except ConnectionRefusedError:
                continue
            self.replies.setdefault(data[:2], []).append(data)
            n += 1

    def close(self):
        self.sock.close()


class Tcp:
    """One TCP connection with length-prefixed messages."""

    def __init__(self, target, port, source="", source_port=0):
        self.sock = connect(socket.SOCK_STREAM, target, port, source, source_port)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.sock.setblocking(False)
        self.local_port = self.sock.getsockname()[1]
        self.buffer = b""
        self.closed = False
        self.replies = {}

    def send(self, wire):
        self.replies.setdefault(wire[:2], [])
        self.send_bytes(struct.pack("!H", len(wire)) + wire)

    def send_bytes(self, data):
        """Raw bytes, framed or not."""
        self.sock.settimeout(5)
        try:
            self.sock.sendall(data)
        except OSError:
            self.closed = True
        self.sock.setblocking(False)

    def receive(self):
        n = 0
        while not self.closed:
            try:
                data = self.sock.recv(65536)
            except BlockingIOError:
                break
            except OSError:
                data = b""
            if not data:
                self.closed = True
                break
            self.buffer += data
        while len(self.buffer) >= 2:
            length = struct.unpack_from("!H", self.buffer)[0]
            if len(self.buffer) < 2 + length:
                break
            msg, self.buffer = self.buffer[2:2 + length], self.buffer[2 + length:]
            self.replies.setdefault(msg[:2], []).append(msg)
            n += 1
        return n

    def close(self):
        self.sock.close()


class Exchange:
    """Many questions to one server. Sockets are shared by questions of equal source, target, port and protocol; a TCP
    connection that the server closed is opened again. With `like`, another exchange, source ports are as there, so
    that a server that tells the client its port gives the same answer."""

    def __init__(self, server, window=48, like=None):
        self.server = server
        self.like = like
        self.window = window
        self.links = {}
        self.placed = {}  # id -> link

    def link(self, ask):
        key = (ask.tcp, ask.source, ask.target, ask.port)
        found = self.links.get(key)
        reopened = found is not None
        if found is not None and getattr(found, "closed", False):
            self.links[key, len(self.links)] = found  # keeps its replies
            found = None
        if found is None:
            make = Tcp if ask.tcp else Udp
            twin = self.like.links.get(key) if self.like else None
            found = self.links[key] = make(ask.target, self.server.port(ask.port), ask.source,
                                           twin.local_port if twin and not reopened else 0)
        return found

    def send(self, ask):
        """Send one; the first two octets of its bytes must be unique in this exchange."""
        link = self.link(ask)
        link.send(ask.wire)
        self.placed[ask.wire[:2]] = link

    def replies(self, ask):
        link = self.placed.get(ask.wire[:2])
        return link.replies.get(ask.wire[:2], []) if link else []

    def pump(self, timeout):
        """Wait up to timeout for packets and take them; the number taken."""
        live = [l for l in self.links.values() if not getattr(l, "closed", False)]
        if not live:
            time.sleep(min(timeout, 0.02))
            return 0
        ready, _, _ = select.select([l.sock for l in live], [], [], timeout)
        return sum(l.receive() for l in live if l.sock in ready)

    def missing(self, asks):
        return [a for a in asks if not self.replies(a)]

    def run(self, asks):
        """Send all, with the window, until all are answered or it is quiet."""
        open_asks = []
        for ask in asks:
            while len(open_asks) >= self.window:
                got = self.pump(QUIET)
                open_asks = self.missing(open_asks)
                if not got:
                    open_asks = []  # these stay silent
            self.send(ask)
            open_asks.append(ask)
        self.settle(open_asks)

    def settle(self, asks, patience=QUIET):
        """Wait until each of asks has a reply, or no packet came for `patience` seconds."""
        last = time.monotonic()
        while self.missing(asks) and time.monotonic() - last < patience:
            if self.pump(0.05):
                last = time.monotonic()

    def drain(self, seconds):
        """Collect what still comes (second replies)."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.pump(max(0.0, min(0.05, end - time.monotonic())))

    def close(self):
        for link in self.links.values():
            link.close()


def wait_readable(sock, seconds):
    """select() knows no descriptors from 1024 on."""
    poller = select.poll()
    poller.register(sock, select.POLLIN)
    poller.poll(max(0.0, seconds) * 1000)


def udp_ask(port, wire, target="127.0.0.1", source="", timeout=5.0):
    """One UDP question: the reply, or None when there is none in time."""
    link = Udp(target, port, source)
    try:
        link.send(wire)
        end = time.monotonic() + timeout
        while not link.replies[wire[:2]] and time.monotonic() < end:
            wait_readable(link.sock, end - time.monotonic())
            link.receive()
        return link.replies[wire[:2]][0] if link.replies[wire[:2]] else None
    finally:
        link.close()


def tcp_ask(port, *wires, target="127.0.0.1", source="", timeout=5.0):
    """Questions on one TCP connection, sent at once: the replies in the order of the questions, None where missing."""
    link = Tcp(target, port, source)
    try:
        for wire in wires:
            link.send(wire)
        end = time.monotonic() + timeout
        while not link.closed and time.monotonic() < end and not all(link.replies[w[:2]] for w in wires):
            wait_readable(link.sock, end - time.monotonic())
            link.receive()
        return [link.replies[w[:2]][0] if link.replies[w[:2]] else None for w in wires]
    finally:
        link.close()
