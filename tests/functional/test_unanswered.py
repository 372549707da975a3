# SPDX-License-Identifier: GPL-3.0-or-later
"""Upstreams over TCP and TLS that never answer some names: other names do not wait behind them, whether the upstream
passes such a name over or stops at it (a server that answers each connection in order)."""
import asyncio
import multiprocessing
import socket
import ssl
import struct
import threading
import time

import pytest

from helpers import needs, sanitizer, slower
from lib import certs

pytestmark = needs("forward")

DELAY = 0.15
SECONDS = 4.0  # of load; twice the read_timeout, so that as many are waiting as ever will


def answer(query):
    end = 12
    while query[end] != 0:
        end += 1 + query[end]
    question = query[12:end + 5]
    head = query[:2] + struct.pack("!5H", 0x8180, 1, 1, 0, 0)
    return head + question + b"\xc0\x0c" + struct.pack("!HHIHI", 1, 1, 0, 4, 0xc0000201)


def upstream(folder, in_order, told):
    """Answers names but those whose first label begins with an `s`, at which it stops if it answers in order. It takes
    DELAY for those that begin with a `d`."""

    async def connection(reader, writer):
        try:
            while True:
                size = struct.unpack("!H", await reader.readexactly(2))[0]
                query = await reader.readexactly(size)
                if query[13:14].lower() == b"s":
                    if in_order:
                        await asyncio.sleep(3600)
                    continue
                if query[13:14].lower() == b"d":
                    await asyncio.sleep(DELAY)
                reply = answer(query)
                writer.write(struct.pack("!H", len(reply)) + reply)
        except (asyncio.IncompleteReadError, ConnectionError, ssl.SSLError):
            writer.close()

    async def serve():
        context = None
        if folder is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(f"{folder}/cert.pem", f"{folder}/key.pem")
        made = await asyncio.start_server(connection, "127.0.0.1", 0, ssl=context, backlog=1000)
        told.send(made.sockets[0].getsockname()[1])
        await made.serve_forever()

    asyncio.run(serve())


@pytest.fixture
def start_upstream():
    """start_upstream(folder of certificates or None, in_order): its port."""
    running = []

    def start(folder, in_order):
        ours, theirs = multiprocessing.Pipe()
        process = multiprocessing.Process(target=upstream, args=(folder, in_order, theirs), daemon=True)
        process.start()
        running.append(process)
        return ours.recv()

    yield start
    for process in running:
        process.terminate()
        process.join()


def query(name, ident):
    labels = b"".join(bytes([len(x)]) + x for x in name.encode().split(b"."))
    return struct.pack("!6H", ident, 0x0100, 1, 0, 0, 0) + labels + b"\0\0\1\0\1"


def flood(port, rate, stop):
    """Names without an answer, so many a second; replies (SERVFAIL in the end) are thrown away. By another client than
    the one that is measured: a client has its share of what may wait."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.bind(("127.0.0.2", 0))
        sock.connect(("127.0.0.1", port))
        begin, sent = time.monotonic(), 0
        while not stop.is_set():
            for _ in range(int((time.monotonic() - begin) * rate) - sent):
                sock.send(query(f"s{sent}.example", sent & 0xffff))
                sent += 1
            time.sleep(0.001)


def probe(port, seconds):
    """Other names, one after the other: how long each took, and how many had no answer."""
    took, failed, n = [], 0, 0
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.connect(("127.0.0.1", port))
        sock.settimeout(6)
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            n += 1
            begin = time.monotonic()
            sock.send(query(f"a{n}.example", n))
            reply = sock.recv(4096)
            while reply[:2] != struct.pack("!H", n):
                reply = sock.recv(4096)
            took.append(time.monotonic() - begin)
            failed += reply[3] & 15 != 0
            time.sleep(0.02)
    return sorted(took), failed


# In order each name takes a connection, and over TLS a handshake of this slow upstream: fewer of them.
CASES = [pytest.param(transport, rate, in_order, id=f"{transport}-{rate}{'-in-order' if in_order else ''}")
         for transport, rate, in_order in (("tcp", 800, False), ("tcp", 2500, False), ("tcp", 5, True), ("tcp", 40, True),
                                           ("tls", 800, False), ("tls", 2500, False), ("tls", 5, True))]


@pytest.mark.alone
@pytest.mark.parametrize("transport, rate, in_order", CASES)
def test_names_without_answer_hold_up_no_others(serve, start_upstream, tmp_path, note, transport, rate, in_order):
    files = {}
    if transport == "tls":
        certs.make_ca(tmp_path)
        certs.make_cert(tmp_path)
        files = {"ca.pem": (tmp_path / "ca.pem").read_text()}
    port = start_upstream(str(tmp_path) if transport == "tls" else None, in_order)
    to, options = (("", "force_tcp") if transport == "tcp" else ("tls://", "tls ca.pem\n tls_servername dns.test"))
    s = serve(f".:@PORT@ {{\n multisocket 1\n forward . {to}127.0.0.1:{port} {{\n {options}\n max_fails 0\n }}\n}}\n",
              files=files)
    stop = threading.Event()
    load = threading.Thread(target=flood, args=(s.port(), rate / (4 if sanitizer() else 1), stop))
    load.start()
    try:
        time.sleep(0.1)
        took, failed = probe(s.port(), SECONDS)
    finally:
        stop.set()
        load.join()
    median, most = took[len(took) // 2], took[len(took) * 99 // 100]
    note(f"{transport}, {rate}/s without answer, {'in order' if in_order else 'any order'}: median, 99 of 100",
         f"{median * 1000:.1f} ms, {most * 1000:.1f} ms, {failed} of {len(took)} failed")
    assert failed == 0
    assert median < slower(0.05)
    assert most < slower(0.4)


@pytest.mark.alone
def test_slow_answers_in_order_do_not_queue_up(serve, start_upstream, note):
    """150 a second of an upstream that takes 150 ms for each question of a connection: 16 connections would not do."""
    port, rate, n, sent, took = start_upstream(None, True), 150, 0, {}, []
    s = serve(f".:@PORT@ {{\n multisocket 1\n forward . 127.0.0.1:{port} {{\n force_tcp\n max_fails 0\n }}\n}}\n")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.connect(("127.0.0.1", s.port()))
        begin = time.monotonic()
        while len(took) < rate * SECONDS and time.monotonic() < begin + slower(4 * SECONDS):
            while n < min(rate * SECONDS, (time.monotonic() - begin) * rate):
                n += 1
                sock.send(query(f"d{n}.example", n))
                sent[n] = time.monotonic()
            sock.settimeout(0.005)
            try:
                reply = sock.recv(4096)
            except TimeoutError:
                continue
            assert reply[3] & 15 == 0
            took.append(time.monotonic() - sent[struct.unpack("!H", reply[:2])[0]])
    took.sort()
    assert len(took) > 0.9 * rate * SECONDS
    note(f"{rate}/s, {DELAY * 1000:.0f} ms for each, in order: median", f"{took[len(took) // 2] * 1000:.0f} ms")
    assert took[len(took) // 2] < slower(3 * DELAY)
