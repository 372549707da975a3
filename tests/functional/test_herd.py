# SPDX-License-Identifier: GPL-3.0-or-later
"""Many clients ask the same at a time and the reply cannot be stored: few questions leave, each from another port.
With a thousand equal questions on one port, a forged reply would hit one of them with every 65th packet."""
import collections
import select
import socket
import struct
import threading
import time

import pytest

from helpers import cpu_seconds, needs, slower
from lib import client

pytestmark = needs("cache", "forward")

CLIENTS = 1500
AT_ONCE = 8  # equal questions of a worker
NAME = b"\4herd\7example\0"


class Holder:
    """An upstream that holds its answers until let_go(); records the questions in flight at a time, by port."""

    def __init__(self, patience=0.05):
        self.sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
        self.sock.bind(("127.0.0.1", 0))
        self.sock.settimeout(patience)
        self.port = self.sock.getsockname()[1]
        self.held, self.total, self.most, self.most_on_a_port = [], 0, 0, 0
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        while not self.stop.is_set():
            try:
                data, peer = self.sock.recvfrom(4096)
            except TimeoutError:
                self.let_go()
                continue
            if data[12:12 + len(NAME)].lower() == NAME:
                self.held.append((data, peer))
                self.total += 1
                self.most = max(self.most, len(self.held))
                self.most_on_a_port = max(self.most_on_a_port,
                                          collections.Counter(p for _, p in self.held)[peer])

    def let_go(self):
        """When no more come: REFUSED is not stored."""
        for data, peer in self.held:
            end = 12 + len(NAME) + 4
            flags = struct.unpack("!H", data[2:4])[0] | 0x8080 | 5
            self.sock.sendto(data[:2] + struct.pack("!5H", flags, 1, 0, 0, 0) + data[12:end], peer)
        self.held = []

    def close(self):
        self.stop.set()
        self.thread.join()
        self.sock.close()


@pytest.fixture
def holder():
    made = Holder()
    yield made
    made.close()


def herd(port, options):
    """So many equal questions, by their EDNS options; the rcodes that came back."""
    rcodes = collections.Counter()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
        sock.connect(("127.0.0.1", port))
        for i in range(CLIENTS):
            opt = options(i)
            sock.send(struct.pack("!6H", i, 0x0100, 1, 0, 0, 1) + NAME + struct.pack("!HH", 1, 1)
                      + b"\0" + struct.pack("!HHIH", 41, 1232, 0, len(opt)) + opt)
        sock.settimeout(slower(15))
        for _ in range(CLIENTS):
            rcodes[sock.recv(4096)[3] & 15] += 1
    return rcodes


def test_a_reply_that_is_not_stored_is_shared(serve, holder):
    s = serve(f".:@PORT@ {{\n multisocket 1\n cache\n forward . 127.0.0.1:{holder.port}\n}}\n")
    assert herd(s.port(), lambda i: struct.pack("!HHQ", 10, 8, i)) == {5: CLIENTS}
    assert holder.most_on_a_port == 1
    assert holder.most <= AT_ONCE and holder.total < 40


def test_few_of_those_who_cannot_share_ask_at_a_time(serve, holder, note):
    """Client subnets: each may have another answer. Clients whose turn does not come in 5 s get SERVFAIL."""
    s = serve(f".:@PORT@ {{\n multisocket 1\n cache\n forward . 127.0.0.1:{holder.port}\n}}\n")
    rcodes = herd(s.port(), lambda i: struct.pack("!HHHBBI", 8, 8, 1, 32, 0, i))
    note("equal questions under way, at most", holder.most)
    note("of them on one port", holder.most_on_a_port)
    assert holder.most_on_a_port == 1
    assert holder.most <= AT_ONCE
    assert set(rcodes) <= {5, 2} and rcodes[5] > 10 * AT_ONCE


@pytest.mark.alone
def test_a_reply_costs_the_same_however_many_wait(serve, note):
    """Thousands who cannot share: what each reply costs does not grow with them."""
    quick, clients, socks = Holder(patience=0.001), 10000, []
    s = serve(f".:@PORT@ {{\n multisocket 1\n cache\n forward . 127.0.0.1:{quick.port}\n}}\n")
    before = cpu_seconds(s.process.pid)
    try:
        for i in range(4):  # each client has its share of what may wait
            socks.append(client.connect(socket.SOCK_DGRAM, "127.0.0.1", s.port(), f"127.0.1.{i + 1}", 0))
            socks[-1].setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
            socks[-1].setblocking(False)
        for i in range(clients):
            opt = struct.pack("!HHHBBI", 8, 8, 1, 32, 0, i)
            socks[i % 4].send(struct.pack("!6H", i, 0x0100, 1, 0, 0, 1) + NAME + struct.pack("!HH", 1, 1)
                              + b"\0" + struct.pack("!HHIH", 41, 1232, 0, len(opt)) + opt)
            if i % 100 == 99:
                time.sleep(0.002)
        end = time.monotonic() + slower(15)
        left = clients * 9 // 10  # some may be lost: it is UDP
        while left > 0 and time.monotonic() < end:
            for sock in select.select(socks, [], [], 0.1)[0]:
                sock.recv(4096)
                left -= 1
    finally:
        for sock in socks:
            sock.close()
        quick.close()
    cost = (cpu_seconds(s.process.pid) - before) / quick.total
    note("a reply to one of thousands of equal questions", f"{cost * 1e6:.0f} µs of CPU, {quick.total} asked")
    assert quick.total > 100
    assert cost < slower(0.0003)


ZONE = """$ORIGIN own.example.
@ 60 IN SOA ns root 1 60 60 60 60
@ 60 IN NS ns
ns 60 IN A 192.0.2.1
* 60 IN CNAME herd.example.
"""


def test_aliases_of_one_name_ask_for_it_together(serve, holder, note):
    """Different names that lead to the same one: those who look it up for them are a herd, too."""
    s = serve(f"own.example:@PORT@ {{\n multisocket 1\n file own.zone\n}}\n"
              f".:@PORT@ {{\n cache\n forward . 127.0.0.1:{holder.port}\n}}\n", files={"own.zone": ZONE})
    rcodes = collections.Counter()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
        sock.connect(("127.0.0.1", s.port()))
        for i in range(CLIENTS):
            name = b"\6a%05d\3own\7example\0" % i
            sock.send(struct.pack("!6H", i, 0x0100, 1, 0, 0, 0) + name + struct.pack("!HH", 1, 1))
        sock.settimeout(slower(15))
        for _ in range(CLIENTS):
            rcodes[sock.recv(4096)[3] & 15] += 1
    note("equal questions for aliases under way, at most", f"{holder.most}, {holder.most_on_a_port} on one port")
    assert rcodes == {0: CLIENTS}
    assert holder.most_on_a_port == 1
    assert holder.most <= AT_ONCE
