# SPDX-License-Identifier: GPL-3.0-or-later
"""health, ready and prometheus over HTTP; metrics after known queries; clients of these ports that mean harm."""
import json
import re
import signal
import socket
import time
import urllib.request

import pytest

from helpers import answers, ask, eventually, metric, needs, open_files, rewrite, slower
from lib import server

ALL = """example.org:@PORT@ example.net:@PORT@ {
    health 127.0.0.1:@HTTP:health@
    ready 127.0.0.1:@HTTP:ready@
    prometheus 127.0.0.1:@HTTP:prom@
    errors
    template IN A {
        match "^a[.]example[.]"
        answer "{{ .Name }} 60 IN A 192.0.2.1"
        fallthrough
    }
    template ANY ANY {
        rcode NXDOMAIN
    }
}
"""
pytestmark = needs("health", "ready", "prometheus", "template", "errors")


def http(port, data, timeout=5):
    """Raw bytes to an HTTP port: all that comes back until it closes."""
    got = b""
    with socket.create_connection(("127.0.0.1", port), slower(timeout)) as sock:
        sock.sendall(data)
        while True:
            try:
                part = sock.recv(65536)
            except ConnectionResetError:
                return got
            if not part:
                return got
            got += part


def test_health_and_ready(serve):
    s = serve(ALL)
    assert s.get("health", "/health") == (200, "OK")
    eventually(lambda: s.get("ready", "/ready") == (200, "OK"))  # its port is open before the configuration is in force
    for name, path in (("health", "/"), ("health", "/healthz"), ("ready", "/"), ("ready", "/health"), ("prom", "/")):
        assert s.get(name, path)[0] == 404, (name, path)


def test_metrics_are_text_whatever_is_accepted(serve):
    s = serve(ALL)
    request = urllib.request.Request(f"http://127.0.0.1:{s.http('prom')}/metrics", headers={
        "Accept": "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited",
        "Accept-Encoding": "gzip"})
    with urllib.request.urlopen(request, timeout=slower(5)) as reply:
        assert reply.headers["Content-Type"].startswith("text/plain; version=0.0.4")
        assert reply.headers["Content-Encoding"] is None
        assert b"\ncoredns_build_info{" in reply.read()


def test_metrics_after_known_queries(serve):
    s = serve(ALL)
    port = s.port()
    for _ in range(3):
        assert ask(port, "a.example.org.").rcode == 0
    assert ask(port, "a.example.org.", tcp=True).rcode == 0
    assert ask(port, "b.example.org.", "AAAA", edns=1232, do=True).rcode == 3
    assert ask(port, "a.example.net.", target="::1").rcode == 0
    assert ask(port, "elsewhere.test.").rcode == 5
    assert ask(port, "x.example.org.", "65280").rcode == 3
    code, text = s.get("prom", "/metrics")
    assert code == 200
    at = f'server="dns://:{port}"'

    def requests(zone, proto, family, rtype):
        return metric(text, f'coredns_dns_requests_total{{family="{family}",proto="{proto}",{at},type="{rtype}",'
                            f'view="",zone="{zone}"}}')
    assert requests("example.org.", "udp", 1, "A") == 3
    assert requests("example.org.", "tcp", 1, "A") == 1
    assert requests("example.org.", "udp", 1, "AAAA") == 1
    assert requests("example.org.", "udp", 1, "other") == 1
    assert requests("example.net.", "udp", 2, "A") == 1
    assert requests("dropped", "udp", 1, "A") == 1

    def responses(zone, rcode):
        return sum(float(l.rsplit(" ", 1)[1]) for l in text.splitlines()
                   if l.startswith("coredns_dns_responses_total{") and f'zone="{zone}"' in l and f'rcode="{rcode}"' in l)
    assert responses("example.org.", "NOERROR") == 4
    assert responses("example.org.", "NXDOMAIN") == 2
    assert responses("dropped", "REFUSED") == 1
    assert metric(text, f'coredns_dns_do_requests_total{{{at},view="",zone="example.org."}}') == 1
    labels = f'proto="udp",{at},view="",zone="example.org."'
    assert metric(text, f"coredns_dns_request_size_bytes_count{{{labels}}}") == 5
    assert metric(text, f"coredns_dns_response_size_bytes_count{{{labels}}}") == 5
    assert metric(text, f'coredns_dns_request_duration_seconds_count{{{at},view="",zone="example.org."}}') == 6
    for name in ("template", "errors", "prometheus"):
        assert metric(text, f'coredns_plugin_enabled{{name="{name}",{at},view="",zone="example.org."}}') == 1
    assert metric(text, "process_resident_memory_bytes") > 1e6
    assert "coredns_build_info{" in text


def test_metrics_text_is_well_formed(serve):
    s = serve(ALL)
    ask(s.port(), "a.example.org.")
    text = s.get("prom", "/metrics")[1]
    typed, helped, seen = {}, set(), set()
    assert text.endswith("\n")
    for line in text.splitlines():
        if line.startswith("# HELP "):
            name = line.split(" ", 3)[2]
            assert name not in helped
            helped.add(name)
        elif line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            assert name not in typed and kind in ("counter", "gauge", "histogram", "summary", "untyped")
            typed[name] = kind
        else:
            m = re.fullmatch(r'([a-zA-Z_:][\w:]*)(\{([a-zA-Z_]\w*="([^"\\\n]|\\.)*",?)*\})? (\S+)', line)
            assert m, line
            float(m[5])
            assert line.rsplit(" ", 1)[0] not in seen, "twice: " + line
            seen.add(line.rsplit(" ", 1)[0])
            base = re.sub(r"_(bucket|sum|count)$", "", m[1])
            assert m[1] in typed or typed.get(base) in ("histogram", "summary"), line
    histograms = {n for n, k in typed.items() if k == "histogram"}
    assert histograms
    for name in histograms:
        series = {}
        for line in text.splitlines():
            if line.startswith(name + "_bucket{"):
                key = re.sub(r'le="[^"]*",?', "", line.rsplit(" ", 1)[0])
                series.setdefault(key, []).append(float(line.rsplit(" ", 1)[1]))
        for values in series.values():
            assert values == sorted(values), f"{name} is not cumulative"


def test_metrics_live_over_a_reload(serve):
    s = serve(ALL)
    key = f'coredns_dns_requests_total{{family="1",proto="udp",server="dns://:{s.port()}",type="A",view="",zone="example.org."}}'
    for n in range(1, 4):
        assert ask(s.port(), "a.example.org.").rcode == 0
        assert metric(s.get("prom", "/metrics")[1], key) == n
        s.process.send_signal(signal.SIGUSR1)
        eventually(lambda: s.output().count("Reloading complete") == n)
        assert metric(s.get("prom", "/metrics")[1], key) == n


def test_end_points_come_and_go_with_a_reload(serve):
    s = serve(ALL)
    without = ALL.replace("    health 127.0.0.1:@HTTP:health@\n", "").replace("    ready 127.0.0.1:@HTTP:ready@\n", "")
    rewrite(s, without)
    s.process.send_signal(signal.SIGUSR1)
    eventually(lambda: "Reloading complete" in s.output())

    def refused(name):
        try:
            socket.create_connection(("127.0.0.1", s.http(name)), 1).close()
            return False
        except ConnectionRefusedError:
            return True
    eventually(lambda: refused("health") and refused("ready"))
    assert s.get("prom", "/metrics")[0] == 200
    rewrite(s, ALL)
    s.process.send_signal(signal.SIGUSR1)
    eventually(lambda: s.output().count("Reloading complete") == 2)
    assert s.get("health", "/health") == (200, "OK") and s.get("ready", "/ready") == (200, "OK")


def test_end_point_in_use_is_1(serve):
    s = serve(ALL, start=False)
    with socket.socket() as busy:
        busy.bind(("127.0.0.1", s.http("health")))
        busy.listen()
        with pytest.raises(server.StartFailed) as e:
            # The port is open, by another: wait for the end instead.
            s.start()
            raise server.StartFailed("", s.process.wait(10), s.output())
    assert e.value.status == 1
    assert str(s.http("health")) in e.value.output and "in use" in e.value.output


@needs("log")
def test_query_log_text_and_json(serve):
    corefile = ".:@PORT@ {\n log\n errors\n template IN A example.org {\n  answer \"{{ .Name }} 1 A 192.0.2.1\"\n }\n}\n"
    s = serve(corefile)
    ask(s.port(), "WWW.Example.org.", ident=77, edns=1232, do=True)
    line = eventually(lambda: [l for l in s.output().splitlines() if " - 77 " in l])[0]
    assert re.fullmatch(r'\[INFO\] 127\.0\.0\.1:\d+ - 77 "A IN www\.example\.org\. udp 44 true 1232" NOERROR '
                        r'qr,aa,rd \d+ \d\.\d+s', line), line
    ask(s.port(), "elsewhere.test.", ident=78)
    eventually(lambda: "[ERROR] plugin/errors: 2 elsewhere.test. A: " in s.output())
    s = serve(corefile, args=["-log-format", "json"])
    ask(s.port(), "WWW.Example.org.", ident=77, tcp=True)
    text = eventually(lambda: [l for l in s.output().splitlines() if '"plugin":"log"' in l])[0]
    record = json.loads(text)
    assert list(record)[:4] == ["time", "level", "msg", "plugin"]
    assert (record["client_ip"], record["qname"], record["qtype"], record["protocol"], record["id"], record["rcode"]) == \
        ("127.0.0.1", "www.example.org.", "A", "tcp", 77, "NOERROR")
    assert isinstance(record["dnssec_ok"], bool) and isinstance(record["duration_seconds"], float)


@needs("log")
def test_log_cannot_be_forged_by_names(serve):
    """A name with line breaks, quotes and control characters stays one line, and JSON stays JSON."""
    evil = "a\\010[ERROR]\\032fake\\\"\\000\\127\\255.example.org."
    for args in ([], ["-log-format", "json"]):
        s = serve(".:@PORT@ {\n log\n errors\n whoami\n}\n", args=args)
        ask(s.port(), evil, ident=9)
        ask(s.port(), "end.example.org.", ident=10)
        eventually(lambda: "end.example.org." in s.output())
        lines = s.output().splitlines()
        assert not any(l.startswith("[ERROR]") for l in lines)
        for l in lines:
            assert all(c.isprintable() for c in l), l
            if args:
                json.loads(l)


# ---- clients of the HTTP ports that mean harm ----

@pytest.mark.parametrize("data", [b"", b"\0" * 100, b"GET\r\n\r\n", b"GET /health\r\n\r\n", b"\r\n\r\n\r\n",
                                  b"GET /health HTTP/9.9\r\n\r\n", b"POST /health HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n",
                                  b"GET /" + b"a" * 100000 + b" HTTP/1.1\r\n\r\n",
                                  b"GET /health HTTP/1.1\r\n" + b"X: y\r\n" * 20000 + b"\r\n",
                                  b"GET /health HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nffffffffff\r\n"],
                         ids=range(10))
def test_odd_http_requests(serve, data):
    s = serve(ALL)
    eventually(lambda: s.get("ready", "/ready")[0] == 200)  # its port is open before the configuration is in force
    for name in ("health", "ready", "prom"):
        with socket.create_connection(("127.0.0.1", s.http(name)), slower(5)) as sock:
            try:
                sock.sendall(data)
                sock.shutdown(socket.SHUT_WR)
                sock.settimeout(0.2)
                while sock.recv(65536):
                    pass
            except OSError:
                pass
        path = {"health": "/health", "ready": "/ready", "prom": "/metrics"}[name]
        assert s.get(name, path)[0] == 200
    assert answers(s.port(), name="a.example.org.")


@pytest.mark.alone
def test_many_silent_http_clients(serve):
    """They hold neither health checks nor queries up."""
    s = serve(ALL)
    before = open_files(s.process.pid)
    idle = [socket.create_connection(("127.0.0.1", s.http(name))) for _ in range(100) for name in ("health", "prom")]
    start = time.monotonic()
    assert s.get("health", "/health") == (200, "OK")
    assert s.get("prom", "/metrics")[0] == 200
    assert answers(s.port(), name="a.example.org.")
    assert time.monotonic() - start < slower(1)
    for sock in idle:
        sock.close()
    eventually(lambda: open_files(s.process.pid) <= before + 4, what="descriptors given back")


def test_head_and_keep_alive(serve):
    s = serve(ALL)
    got = http(s.http("health"), b"HEAD /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    assert got.startswith(b"HTTP/1.1 200") and got.endswith(b"\r\n\r\n")
    got = http(s.http("health"), b"GET /health HTTP/1.1\r\nHost: x\r\n\r\nGET /health HTTP/1.1\r\nHost: x\r\nConnection: "
               b"close\r\n\r\n")
    assert got.count(b"HTTP/1.1 200") == 2 and got.count(b"OK") >= 2
