# SPDX-License-Identifier: GPL-3.0-or-later
"""TCP: pipelining, time-outs, and clients that mean harm."""
import random
import select
import socket
import struct
import threading
import time

import pytest

from helpers import (answers, ask, cpu_seconds, eventually, needs, open_files, plugins, raise_file_limit, sanitizer,
                     slower, status)
from lib import server, wire

TOTAL = 10000  # connections in all
SHORT = ".:@PORT@ {\n    whoami\n    timeouts {\n        read 1s\n        idle 2s\n    }\n}\n"


def frame(message):
    return struct.pack("!H", len(message)) + message


def connect(port, target="127.0.0.1", source=None):
    sock = socket.create_connection((target, port), slower(5), source_address=(source, 0) if source else None)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return sock


def read_message(sock):
    """One whole message, or b"" at the end of the connection."""
    data, need = b"", 2
    while len(data) < need:
        try:
            got = sock.recv(need - len(data))
        except ConnectionResetError:
            return b""
        if not got:
            return b""
        data += got
        if len(data) == 2:
            need = 2 + struct.unpack("!H", data)[0]
    return data[2:]


def readable(socks, seconds):
    """select() cannot take descriptors from 1024 on."""
    poller = select.poll()
    by_fd = {x.fileno(): x for x in socks}
    for fd in by_fd:
        poller.register(fd, select.POLLIN | select.POLLHUP)
    return [by_fd[fd] for fd, _ in poller.poll(seconds * 1000)]


def closed_within(sock, seconds):
    """Seconds until the server closed it; fails after the bound."""
    start = time.monotonic()
    sock.settimeout(slower(seconds))
    try:
        while sock.recv(65536):
            pass
    except ConnectionResetError:
        pass
    return time.monotonic() - start


def test_pipelined_queries(serve):
    s = serve()
    n = 2000
    questions = [wire.query(f"n{i}.example.org.", ident=i) for i in range(n)]
    sock = connect(s.port())
    sender = threading.Thread(target=sock.sendall, args=(b"".join(map(frame, questions)),))
    sender.start()
    seen = set()
    while len(seen) < n:
        message = read_message(sock)
        assert message, f"closed after {len(seen)} replies"
        reply = wire.parse(message)
        assert reply.question == questions[reply.id][12:] and reply.id not in seen
        seen.add(reply.id)
    sender.join()
    sock.close()


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_messages_in_small_pieces(serve, size):
    s = serve()
    sock = connect(s.port())
    data = b"".join(frame(wire.query(f"n{i}.example.org.", ident=i)) for i in range(5))
    for at in range(0, len(data), size):
        sock.sendall(data[at:at + size])
    assert [wire.parse(read_message(sock)).id for _ in range(5)] == list(range(5))
    sock.close()


def test_half_closed_client_gets_its_replies(serve):
    s = serve()
    sock = connect(s.port())
    sock.sendall(b"".join(frame(wire.query("example.org.", ident=i)) for i in range(50)))
    sock.shutdown(socket.SHUT_WR)
    assert {wire.parse(read_message(sock)).id for _ in range(50)} == set(range(50))
    assert read_message(sock) == b""


def test_message_of_the_greatest_size(serve):
    s = serve()
    question = wire.query("example.org.", ident=9, edns=1232, options=[(65001, bytes(65535 - 29 - 11 - 4))])
    assert len(question) == 65535
    sock = connect(s.port())
    sock.sendall(frame(question) + frame(wire.query("example.org.", ident=10)))
    assert [wire.parse(read_message(sock)).id for _ in range(2)] == [9, 10]
    sock.close()


def test_empty_messages_do_no_harm(serve):
    s = serve()
    sock = connect(s.port())
    sock.sendall(bytes(60000))
    sock.sendall(frame(wire.query("example.org.", ident=3)))
    got = read_message(sock)
    assert got == b"" or wire.parse(got).id == 3
    assert answers(s.port(), tcp=True)


def test_client_that_never_reads(serve):
    """Replies pile up to a bound, then the connection is closed; nobody else notices."""
    s = serve()
    before, = status(s.process.pid, "VmRSS")
    files = open_files(s.process.pid)
    sock = connect(s.port())
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    batch = b"".join(frame(wire.query("example.org.", ident=i)) for i in range(500))
    sock.settimeout(slower(1))
    try:
        for _ in range(2000):
            sock.sendall(batch)
    except (OSError, socket.timeout):
        pass
    assert answers(s.port()) and answers(s.port(), tcp=True)
    after, = status(s.process.pid, "VmRSS")
    if not sanitizer():
        assert after - before < 8 * 1024
    eventually(lambda: open_files(s.process.pid) <= files, 20)  # the client's end still has replies to read
    sock.close()


# ---- time-outs ----

def test_default_read_time_out(serve, note):
    """A silent connection and one that sends a byte now and then are both closed after the read time-out."""
    s = serve()
    silent, slow = connect(s.port()), connect(s.port())
    start = time.monotonic()
    message = frame(wire.query("example.org.", ident=1))
    closed = {}
    at = 0
    while len(closed) < 2 and time.monotonic() - start < slower(8):
        for sock in readable([x for x in (silent, slow) if x not in closed], 0.5):
            try:
                assert sock.recv(100) == b""
            except ConnectionResetError:
                pass
            closed[sock] = time.monotonic() - start
        if slow not in closed and at < len(message) - 1:
            try:
                slow.sendall(message[at:at + 1])
                at += 1
            except OSError:
                closed[slow] = time.monotonic() - start
    assert 2.5 < closed[silent] < slower(4.5)
    assert 2.5 < closed[slow] < slower(4.5)
    note("TCP read time-out, silent and one byte at a time", f"{closed[silent]:.1f} s, {closed[slow]:.1f} s")


@pytest.mark.alone
@needs("timeouts")
def test_configured_time_outs(serve):
    s = serve(SHORT)
    silent, used = connect(s.port()), connect(s.port())
    used.sendall(frame(wire.query("example.org.", ident=1)))
    assert read_message(used)
    assert 0.7 < closed_within(silent, 3) < slower(1.8)
    assert 0.5 < closed_within(used, 3) < slower(2.5)


@pytest.mark.alone
def test_slow_clients_do_not_slow_others(serve, note):
    """500 connections that send a byte at a time, and no one else waits for them."""
    raise_file_limit(2000)
    s = serve()
    message = frame(wire.query("example.org.", ident=1))
    slow = [connect(s.port()) for _ in range(500)]
    worst = 0.0
    for at in range(12):
        for sock in slow:
            try:
                sock.sendall(message[at:at + 1])
            except OSError:
                pass
        for tcp in (False, True):
            start = time.monotonic()
            assert answers(s.port(), tcp=tcp)
            worst = max(worst, time.monotonic() - start)
    note("slowest answer beside 500 slow TCP clients", f"{worst * 1000:.1f} ms")
    assert worst < slower(0.25)
    for sock in slow:
        sock.close()


# ---- very many connections ----

def count_open(socks):
    """How many the server has not closed."""
    return len(socks) - len(readable(socks, 0))


def open_many(port, n, source):
    made = []
    for _ in range(n):
        sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        sock.setsockopt(socket.IPPROTO_IP, 24, 1)  # IP_BIND_ADDRESS_NO_PORT
        sock.bind((source, 0))
        sock.settimeout(slower(5))
        sock.connect(("127.0.0.1", port))
        made.append(sock)
    return made


@pytest.mark.alone
@needs("timeouts")
def test_ten_thousand_connections_of_one_client(serve, note):
    """One client may hold half of all; its oldest go first, others are answered promptly all the time."""
    raise_file_limit(TOTAL + 3000)
    s = serve(".:@PORT@ {\n whoami\n timeouts {\n  read 60s\n  idle 60s\n }\n}\n")
    bystander = open_many(s.port(), 1, "127.0.0.3")[0]
    stop = threading.Event()
    took = []

    def others():
        while not stop.is_set():
            for tcp in (False, True):
                began = time.monotonic()
                took.append(time.monotonic() - began if answers(s.port(), tcp=tcp, timeout=3) else 1000.0)
            stop.wait(0.01)
    t = threading.Thread(target=others)
    t.start()
    start = time.monotonic()
    try:
        greedy = open_many(s.port(), TOTAL, "127.0.0.2")
        seconds = time.monotonic() - start
        eventually(lambda: count_open(greedy) <= TOTAL // 2 + 2, what="half of all for one client")
    finally:
        stop.set()
        t.join()
    left = count_open(greedy)
    assert left >= TOTAL // 2 * 0.9
    # The ones opened last are the ones that are left (each worker closes its own oldest).
    assert count_open(greedy[-TOTAL // 4:]) == TOTAL // 4
    assert count_open(greedy[:TOTAL // 4]) == 0
    greedy[-1].sendall(frame(wire.query("example.org.", ident=1)))
    assert read_message(greedy[-1])
    bystander.sendall(frame(wire.query("example.org.", ident=1)))
    assert read_message(bystander), "a client with one connection lost it to the greedy one"
    rss, anon = status(s.process.pid, "VmRSS", "RssAnon")
    took.sort()
    note("10 000 connections of one client", f"opened in {seconds:.1f} s, {left} kept, others' slowest answer "
         f"{took[-1] * 1000:.0f} ms (median {took[len(took) // 2] * 1000:.1f} ms), RssAnon {anon} kB, VmRSS {rss} kB")
    assert took[-1] < slower(1.0)
    for sock in greedy + [bystander]:
        sock.close()
    eventually(lambda: open_files(s.process.pid) < 100, what="descriptors given back")


@needs("timeouts")
def test_limit_over_several_clients(serve, note):
    """Beyond 10 000 the longest idle goes, a new one is always taken."""
    raise_file_limit(TOTAL + 4000)
    s = serve(".:@PORT@ {\n whoami\n timeouts {\n  read 60s\n  idle 60s\n }\n}\n")
    socks = []
    for i in range(4):
        socks += open_many(s.port(), 2700, f"127.0.1.{i + 1}")
    eventually(lambda: count_open(socks) <= TOTAL + 4, what="the limit")
    assert count_open(socks) >= TOTAL * 0.95
    assert open_files(s.process.pid) < TOTAL + 100
    assert count_open(socks[-5000:]) == 5000
    assert answers(s.port(), tcp=True) and answers(s.port())
    for sock in socks:
        sock.close()
    eventually(lambda: open_files(s.process.pid) < 100, what="descriptors given back")


def test_connections_that_are_reset(serve):
    s = serve()
    before = open_files(s.process.pid)
    linger = struct.pack("ii", 1, 0)
    for i in range(300):
        sock = connect(s.port())
        sock.sendall(frame(wire.query("example.org.", ident=i))[:random.Random(i).randrange(0, 31)])
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        sock.close()
    assert answers(s.port(), tcp=True)
    eventually(lambda: open_files(s.process.pid) <= before + 1, what="descriptors given back")


def test_low_file_limit(serve):
    """With descriptors used up, the longest idle connection gives way; UDP does not notice; nothing spins."""
    s = serve(command=["prlimit", "--nofile=64:64", "--"] + server.fairlead())
    socks = []
    for _ in range(300):
        socks.append(connect(s.port()))
        if len(socks) % 50 == 0:
            assert answers(s.port())
    # Each of these may be taken by a worker that holds few connections or none.
    assert all(answers(s.port(), tcp=True, timeout=0.5) for _ in range(100)) and answers(s.port())
    socks.append(connect(s.port()))
    socks[-1].sendall(frame(wire.query("example.org.", ident=1)))
    assert read_message(socks[-1])
    before, start = cpu_seconds(s.process.pid), time.monotonic()
    while time.monotonic() - start < 0.5:
        assert answers(s.port())
        readable([], 0.05)
    assert cpu_seconds(s.process.pid) - before < slower(0.3), "it spins"
    for sock in socks:
        sock.close()
