# SPDX-License-Identifier: GPL-3.0-or-later
"""DNS over TLS and over HTTPS as kdig, curl and hostile clients use them; certificates that are renewed; reloads."""
import os
import shutil
import signal
import socket
import ssl
import struct
import subprocess
import threading
import time

import pytest

from helpers import answers, ask, cpu_seconds, eventually, metric, raise_file_limit, sanitizer, slower, status
from lib import certs, wire

BOTH = """tls://.:@HTTP:dot@ https://.:@HTTP:doh@ .:@PORT@ {
    tls cert.pem key.pem
    template IN A {
        answer "{{ .Name }} 60 IN A 127.0.0.1"
    }
    health 127.0.0.1:@HTTP:health@
    prometheus 127.0.0.1:@HTTP:metrics@
    log
}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """ca.pem, cert.pem and key.pem for dns.test; client.pem and client.key."""
    d = tmp_path_factory.mktemp("certs")
    certs.make_ca(d)
    certs.make_cert(d)
    certs.make_cert(d, "client", "DNS:client.test", key="client.key")
    return d


@pytest.fixture
def files(folder):
    return certs.texts(folder)


def frame(message):
    return struct.pack("!H", len(message)) + message


def context(folder, *alpn):
    c = ssl.create_default_context(cafile=os.path.join(folder, "ca.pem"))
    if alpn:
        c.set_alpn_protocols(alpn)
    return c


def connect(folder, port, *alpn):
    raw = socket.create_connection(("127.0.0.1", port), slower(10))
    raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return context(folder, *alpn).wrap_socket(raw, server_hostname="dns.test")


def read_message(sock):
    data = b""
    while len(data) < 2 or len(data) < 2 + struct.unpack("!H", data[:2])[0]:
        got = sock.recv(65536)
        if not got:
            return b""
        data += got
    return data[2:]


def dot_ask(sock, name="a.example.", ident=1):
    sock.sendall(frame(wire.query(name, ident=ident)))
    reply = wire.parse(read_message(sock))
    assert reply.id == ident and len(reply.answer) == 1
    return reply


def kdig(*args, folder=None):
    command = ["kdig", "@127.0.0.1", *args]
    if folder:
        command += [f"+tls-ca={folder}/ca.pem", "+tls-hostname=dns.test"]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=slower(20))
    return done.returncode, done.stdout


needs_kdig = pytest.mark.skipif(shutil.which("kdig") is None, reason="needs kdig (knot-dnsutils)")
needs_curl = pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")


@needs_kdig
@pytest.mark.parametrize("how,port", [("+tls", "dot"), ("+https", "doh"), ("+https-get", "doh")])
def test_kdig(serve, folder, files, how, port):
    s = serve(BOTH, files=files)
    code, text = kdig("-p", str(s.http(port)), how, "+padding=100", "a.example.", folder=folder)
    assert code == 0 and "TLS session (TLS1.3)" in text, text
    assert "a.example.          \t60\tIN\tA\t127.0.0.1" in text
    if port == "doh":
        assert "HTTP session (HTTP/2" in text and "(status: 200)" in text
    # Somebody else's name is not accepted.
    code, text = kdig("-p", str(s.http(port)), how, f"+tls-ca={folder}/ca.pem", "+tls-hostname=other.test", "a.example.")
    assert code != 0 and "handshake failed" in text, text
    line = eventually(lambda: next((x for x in s.read("stdout").splitlines() if "a.example." in x), None), what="log")
    assert '"A IN a.example. tcp ' in line
    label = "tls" if port == "dot" else "https"
    text = s.get("metrics", "/metrics")[1]
    assert metric(text, f'coredns_dns_requests_total{{family="1",proto="tcp",server="{label}://:{s.http(port)}",'
                        'type="A",view="",zone="."}') == 1


@needs_kdig
def test_kdig_many_questions_on_one_connection(serve, folder, files):
    s = serve(BOTH, files=files)
    for how, port in (("+tls", "dot"), ("+https", "doh")):
        code, text = kdig("-p", str(s.http(port)), how, "+keepopen", *[f"n{i}.example." for i in range(50)], folder=folder)
        assert code == 0 and text.count("status: NOERROR") == 50, text


@needs_curl
@pytest.mark.parametrize("version", ["--http2", "--http1.1"])
def test_curl_resolves_through_us(serve, folder, files, version):
    s = serve(BOTH, files=files)
    done = subprocess.run(
        ["curl", "-sS", version, "--doh-url", f"https://127.0.0.1:{s.http('doh')}/dns-query", "--doh-insecure", "-4",
         f"http://www.example.org:{s.http('health')}/health"],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=slower(20))
    assert (done.returncode, done.stdout) == (0, "OK")
    eventually(lambda: '"A IN www.example.org. tcp ' in s.read("stdout"), what="log")


@pytest.mark.alone
@needs_curl
def test_curl_many_requests_at_once(serve, folder, files):
    s = serve(BOTH, files=files)
    url = f"https://127.0.0.1:{s.http('doh')}/dns-query?dns=AAABAAABAAAAAAAAAWEBYgAAAQAB"
    done = subprocess.run(["curl", "-s", "-k", "--parallel", "--parallel-max", "200", "-o", "/dev/null", "-w",
                           "%{http_code} %{http_version}\n", f"{url}#[1-500]"],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, timeout=slower(30))
    assert done.stdout == "200 2\n" * 500


def peer_serial(folder, port):
    with connect(folder, port) as sock:
        return sock.getpeercert()["serialNumber"]


def put(s, name, text):
    path = os.path.join(s.dir, name)
    with open(path + ".new", "w", encoding="utf-8") as f:
        f.write(text)
    os.rename(path + ".new", path)


def test_certificates_are_renewed_without_a_reload(serve, folder, files):
    s = serve(BOTH, files=files)
    port = s.http("dot")
    old = connect(folder, port)
    dot_ask(old)
    first = peer_serial(folder, port)
    put(s, "key.pem", "nonsense")
    eventually(lambda: "stays in use" in s.output(), 15, what="a bad file is logged")
    assert peer_serial(folder, port) == first
    certs.make_cert(folder, "renewed", key="renewed.key")
    with open(folder / "renewed.key", encoding="utf-8") as key, open(folder / "renewed.pem", encoding="utf-8") as cert:
        put(s, "key.pem", key.read())
        put(s, "cert.pem", cert.read())
    eventually(lambda: peer_serial(folder, port) != first, 15, what="new certificate")
    assert s.output().count("stays in use") <= 2
    # Connections end when they are idle for ten seconds, so this may be a new one; what counts is the answer.
    try:
        dot_ask(old)
    except (OSError, wire.Malformed):
        old = connect(folder, port)
        dot_ask(old)
    old.close()


@needs_kdig
def test_client_certificates(serve, folder, files):
    s = serve(BOTH.replace("key.pem", "key.pem ca.pem {\n        client_auth require_and_verify\n    }"), files=files)
    for port, how in (("dot", "+tls"), ("doh", "+https")):
        code, text = kdig("-p", str(s.http(port)), how, "a.example.", folder=folder)
        assert code != 0, text
        code, text = kdig("-p", str(s.http(port)), how, f"+tls-certfile={folder}/client.pem",
                          f"+tls-keyfile={folder}/client.key", "a.example.", folder=folder)
        assert code == 0 and "127.0.0.1" in text, text


def test_reload_loses_nothing_on_open_connections(serve, folder, files):
    """Questions over TLS and HTTP/1.1 while the configuration is swapped twenty times."""
    s = serve(BOTH.replace("    log\n", ""), files=files)
    stop = threading.Event()
    counts, failures = [0] * 4, []

    def dot(i):
        with connect(folder, s.http("dot"), "dot") as sock:
            while not stop.is_set():
                dot_ask(sock, ident=counts[i] % 65536)
                counts[i] += 1

    def doh(i):
        body = wire.query("a.example.")
        with connect(folder, s.http("doh"), "http/1.1") as sock:
            while not stop.is_set():
                sock.sendall(b"POST /dns-query HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
                assert sock.recv(65536).startswith(b"HTTP/1.1 200 OK\r\n")
                counts[i] += 1

    def guarded(fn, i):
        try:
            fn(i)
        except Exception as e:  # pylint: disable=broad-except
            failures.append(repr(e))
    threads = [threading.Thread(target=guarded, args=(fn, i)) for i, fn in enumerate((dot, dot, doh, doh))]
    for t in threads:
        t.start()
    eventually(lambda: min(counts) > 10 or failures, what="traffic")
    for i in range(20):
        before = sum(counts)
        os.kill(s.process.pid, signal.SIGUSR1)
        eventually(lambda: s.output().count("Reloading complete") > i or failures, what="reload")
        eventually(lambda: sum(counts) > before + 20 or failures, what="traffic goes on")
    stop.set()
    for t in threads:
        t.join()
    assert not failures and min(counts) > 100


@pytest.mark.alone
def test_handshakes_do_not_hold_up_udp(serve, folder, files):
    """Clients that begin handshakes and leave: UDP is answered meanwhile, and afterwards nothing is left of them."""
    s = serve(BOTH.replace("    log\n", ""), files=files)
    memory_in, memory_out = ssl.MemoryBIO(), ssl.MemoryBIO()
    shake = context(folder).wrap_bio(memory_in, memory_out, server_hostname="dns.test")
    with pytest.raises(ssl.SSLWantReadError):
        shake.do_handshake()
    hello = memory_out.read()
    stop = threading.Event()

    def flood():
        while not stop.is_set():
            with socket.create_connection(("127.0.0.1", s.http("dot"))) as sock:
                sock.sendall(hello)
                sock.recv(1)
    threads = [threading.Thread(target=flood) for _ in range(4)]
    for t in threads:
        t.start()
    slowest = 0.0
    for _ in range(300):
        start = time.monotonic()
        assert ask(s.port()) is not None
        slowest = max(slowest, time.monotonic() - start)
    stop.set()
    for t in threads:
        t.join()
    assert slowest < slower(0.5)
    dot_ask(connect(folder, s.http("dot")))


GARBAGE = [b"", b"\x16", b"\x16\x03\x01\x02\x00", b"\x16\x03\x01\x00\x05hello", b"GET / HTTP/1.1\r\n\r\n",
           b"\x15\x03\x03\x00\x02\x02\x28", b"\x17\x03\x03\xff\xff", bytes(range(256)) * 64]


def test_half_open_and_garbage(serve, folder, files):
    """Connections that never become TLS end by themselves, and cost the others nothing."""
    s = serve(BOTH.replace("    log\n", "    timeouts {\n        read 1s\n        idle 2s\n    }\n"), files=files)
    socks = []
    for port in ("dot", "doh"):
        for text in GARBAGE * 5:
            sock = socket.create_connection(("127.0.0.1", s.http(port)), slower(10))
            sock.sendall(text)
            socks.append(sock)
    dot_ask(connect(folder, s.http("dot")))
    busy = cpu_seconds(s.process.pid)
    for sock in socks:
        try:
            while sock.recv(65536):
                pass
        except ConnectionResetError:
            pass
        sock.close()
    assert cpu_seconds(s.process.pid) - busy < slower(1.0)
    assert answers(s.port())


def test_more_connections_than_there_may_be(serve, folder, files, note):
    """1000 by default for all, half of them for one client; what an idle one costs is printed."""
    raise_file_limit(4096)
    s = serve(BOTH.replace("    log\n", "    timeouts {\n        idle 10m\n    }\n"), files=files)
    before, = status(s.process.pid, "RssAnon")
    socks = []
    for i in range(600):
        sock = connect(folder, s.http("dot"))
        dot_ask(sock, ident=i)
        socks.append(sock)
    after, = status(s.process.pid, "RssAnon")
    note("memory of an idle encrypted connection", f"{(after - before) / 500:.1f} KB")
    assert sanitizer() or (after - before) / 500 < 40
    gone = [i for i, sock in enumerate(socks) if closed(sock)]
    assert len(gone) == 100 and max(gone) < 300  # those of a client go by turns of the workers
    dot_ask(socks[-1])
    for sock in socks:
        sock.close()


def closed(sock):
    sock.setblocking(False)
    try:
        return sock.recv(1) == b""
    except ssl.SSLWantReadError:
        return False
    except OSError:
        return True
    finally:
        sock.settimeout(slower(10))


def test_limit_by_flag(serve, folder, files):
    s = serve(BOTH, files=files, args=["-max-tls", "6"])
    socks = []
    for i in range(5):
        socks.append(connect(folder, s.http("dot")))
        dot_ask(socks[-1])
    eventually(lambda: sum(not closed(x) for x in socks) <= 3, what="connections over the share are closed")
    assert sum(not closed(x) for x in socks) == 3
    for sock in socks:
        sock.close()


def test_ends_in_order(serve, folder, files):
    """SIGTERM: open connections get a close notification, and the program exits with 0."""
    s = serve(BOTH, files=files)
    idle = [connect(folder, s.http("dot")), connect(folder, s.http("doh"), "h2")]
    dot_ask(idle[0])
    os.kill(s.process.pid, signal.SIGTERM)
    assert s.process.wait(slower(10)) == 0
    for sock in idle:
        sock.close()
