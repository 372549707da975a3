# SPDX-License-Identifier: GPL-3.0-or-later
"""DNS over HTTPS and DNS over TLS: the same requests to CoreDNS and to Fairlead. Status, type, age and body of HTTP
responses are compared, and the messages inside them."""
import base64
import os
import socket
import ssl
import struct
import subprocess

import pytest

from lib import certs, server, wire

COREFILE = """.:@PORT@ tls://.:@HTTP:dot@ https://.:@HTTP:doh@ {
    tls cert.pem key.pem
    prometheus 127.0.0.1:@HTTP:metrics@
    template IN A ttl.test {
        answer "{{ .Name }} 77 IN A 192.0.2.1"
        answer "{{ .Name }} 30 IN A 192.0.2.2"
    }
    template IN TXT ttl.test {
        answer "{{ .Name }} 7200 IN TXT long"
    }
    template IN AAAA ttl.test {
        rcode NXDOMAIN
        authority "ttl.test. 60 IN SOA ns.ttl.test. admin.ttl.test. 1 2 3 4 5"
    }
    template IN MX ttl.test {
        authority "ttl.test. 61 IN NS ns.ttl.test."
    }
    template IN NS ttl.test {
        rcode SERVFAIL
    }
    template IN SRV ttl.test {
        additional "ttl.test. 0 IN A 192.0.2.3"
    }
    acl {
        drop type PTR
    }
}
"""


def b64(message):
    return base64.urlsafe_b64encode(message).rstrip(b"=").decode()


def q(name="a.ttl.test.", rtype="A", **kw):
    return wire.query(name, rtype, **kw)


A = q()
MIME = "application/dns-message"
# method, target, body, further header lines; a name tells what it is about
REQUESTS = {
    "get": ("GET", "/dns-query?dns=" + b64(A), b"", {}),
    "get-edns-do": ("GET", "/dns-query?dns=" + b64(q(edns=1232, do=True)), b"", {}),
    "get-more-arguments": ("GET", f"/dns-query?a=b&dns={b64(A)}&c", b"", {}),
    "get-escaped-key": ("GET", f"/dns-query?d%6Es={b64(A)}", b"", {}),
    "get-escaped-value": ("GET", "/dns-query?dns=" + b64(A).replace("A", "%41"), b"", {}),
    "get-escaped-path": ("GET", f"/dns%2Dquery?dns={b64(A)}", b"", {}),
    "get-line-end": ("GET", f"/dns-query?dns={b64(A)[:8]}%0d%0a{b64(A)[8:]}", b"", {}),
    "get-bad-pair-passed-over": ("GET", f"/dns-query?dns=%zz&dns={b64(A)}", b"", {}),
    "get-semicolon-passed-over": ("GET", f"/dns-query?dns=a;b&dns={b64(A)}", b"", {}),
    "get-accept-something-else": ("GET", "/dns-query?dns=" + b64(A), b"", {"Accept": "text/html"}),
    "get-with-body": ("GET", "/dns-query?dns=" + b64(A), b"body", {"Content-Type": MIME}),
    "get-forwarded": ("GET", "/dns-query?dns=" + b64(A), b"", {"X-Forwarded-For": "192.0.2.9"}),
    "get-no-argument": ("GET", "/dns-query", b"", {}),
    "get-empty-argument": ("GET", "/dns-query?dns=", b"", {}),
    "get-other-case": ("GET", f"/dns-query?DNS={b64(A)}", b"", {}),
    "get-twice": ("GET", f"/dns-query?dns={b64(A)}&dns={b64(A)}", b"", {}),
    "get-padded": ("GET", f"/dns-query?dns={b64(A)}==", b"", {}),
    "get-one-letter-too-many": ("GET", "/dns-query?dns=" + b64(A + b"x" * ((3 - len(A)) % 3)) + "A", b"", {}),
    "get-standard-alphabet": ("GET", "/dns-query?dns=ab/+", b"", {}),
    "get-garbage": ("GET", "/dns-query?dns=AAAA", b"", {}),
    "get-header-only": ("GET", "/dns-query?dns=" + b64(A[:12]), b"", {}),
    "get-no-question": ("GET", "/dns-query?dns=" + b64(A[:4] + bytes(8)), b"", {}),
    "get-two-questions": ("GET", "/dns-query?dns=" + b64(A[:4] + b"\0\2" + A[6:]), b"", {}),
    "get-cut": ("GET", "/dns-query?dns=" + b64(A[:-2]), b"", {}),
    "get-response": ("GET", "/dns-query?dns=" + b64(A[:2] + b"\x81\0" + A[4:]), b"", {}),
    "get-update": ("GET", "/dns-query?dns=" + b64(A[:2] + b"\x28\0" + A[4:]), b"", {}),
    "get-status-opcode": ("GET", "/dns-query?dns=" + b64(A[:2] + b"\x10\0" + A[4:]), b"", {}),
    "get-dropped": ("GET", "/dns-query?dns=" + b64(q(rtype="PTR")), b"", {}),
    "get-refused-class": ("GET", "/dns-query?dns=" + b64(q(rclass="CH")), b"", {}),
    "get-bad-version": ("GET", "/dns-query?dns=" + b64(q(edns=1232, version=1)), b"", {}),
    "get-path-slash": ("GET", f"/dns-query/?dns={b64(A)}", b"", {}),
    "get-path-case": ("GET", f"/DNS-QUERY?dns={b64(A)}", b"", {}),
    "get-path-double": ("GET", f"//dns-query?dns={b64(A)}", b"", {}),
    "get-root": ("GET", "/", b"", {}),
    "get-absolute": ("GET", f"https://elsewhere.test/dns-query?dns={b64(A)}", b"", {}),
    "post": ("POST", "/dns-query", A, {"Content-Type": MIME}),
    "post-other-type": ("POST", "/dns-query", A, {"Content-Type": "text/plain"}),
    "post-no-type": ("POST", "/dns-query", A, {}),
    "post-argument-too": ("POST", f"/dns-query?dns={b64(q('b.ttl.test.'))}", A, {}),
    "post-empty": ("POST", "/dns-query", b"", {}),
    "post-garbage": ("POST", "/dns-query", b"garbage", {}),
    "post-too-long": ("POST", "/dns-query", A + bytes(70000), {}),
    "post-path": ("POST", "/query", A, {}),
    "put": ("PUT", "/dns-query", A, {}),
    "delete": ("DELETE", "/dns-query", b"", {}),
    "options": ("OPTIONS", "/dns-query", b"", {}),
    "head": ("HEAD", "/dns-query?dns=" + b64(A), b"", {}),
    "lower-case-method": ("get", "/dns-query?dns=" + b64(A), b"", {}),
    **{f"age-{t.lower()}": ("GET", "/dns-query?dns=" + b64(q(rtype=t)), b"", {})
       for t in ("A", "TXT", "AAAA", "MX", "NS", "SRV", "CAA")},
    "age-nothing": ("GET", "/dns-query?dns=" + b64(q("other.test.")), b"", {}),
}
# Go's own HTTP server refuses these before CoreDNS sees them; here only the status counts.
RAW = {
    "no-host": b"GET / HTTP/1.1\r\n\r\n",
    "two-hosts": b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
    "bad-line": b"GET /\r\n\r\n",
    "bad-escape": b"GET /dns-query%zz HTTP/1.1\r\nHost: a\r\n\r\n",
    "version-2": b"GET / HTTP/2.0\r\nHost: a\r\n\r\n",
    "space-before-colon": b"GET / HTTP/1.1\r\nHost: a\r\nX : y\r\n\r\n",
    "two-lengths": b"POST /dns-query HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
    "bad-length": b"POST /dns-query HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\nab",
    "gzip": b"POST /dns-query HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\nab",
    "old": b"GET / HTTP/1.0\r\n\r\n",
}


TLS = "    tls cert.pem key.pem\n"


def block(body, key="https://.:@HTTP:doh@"):
    return f".:@PORT@ {key} {{\n{body}    whoami\n}}\n"


def two(first, second, scheme="tls"):
    return (f".:@PORT@ {scheme}://a.test:@HTTP:dot@ {{\n{first}    whoami\n}}\n"
            f"{scheme}://b.test:@HTTP:dot@ {{\n{second}    whoami\n}}\n")


def option(line, name="https", args=""):
    return f"    {name}{args} {{\n        {line}\n    }}\n"


# Corefile, and a piece of the error where it is refused (by both; the words are common to both).
STARTS = {
    "no-tls": (block("", "tls://.:@HTTP:dot@ https://.:@HTTP:doh@"), None),
    "ca": (block("    tls cert.pem key.pem ca.pem\n"), None),
    "root": (block("    root @DIR@\n" + TLS), None),
    "on-plain-key": (f".:@PORT@ {{\n{TLS}    whoami\n}}\n", None),
    **{f"client-auth-{w}": (block(option(f"client_auth {w}", "tls", " cert.pem key.pem ca.pem")), None)
       for w in ("nocert", "request", "require", "verify_if_given", "require_and_verify")},
    "client-auth-twice": (block(option("client_auth request\n        client_auth nocert", "tls", " cert.pem key.pem")), None),
    "keylog": (block(option("keylog @DIR@/keys", "tls", " cert.pem key.pem")), None),
    "keylog-nowhere": (block(option("keylog /no/such/folder/keys", "tls", " cert.pem key.pem")), "/no/such/folder/keys"),
    "client-auth-other": (block(option("client_auth any", "tls", " cert.pem key.pem")), "any"),
    "client-auth-nothing": (block(option("client_auth", "tls", " cert.pem key.pem")), ""),
    "tls-other-option": (block(option("ciphers x", "tls", " cert.pem key.pem")), "unknown option 'ciphers'"),
    "tls-one-argument": (block("    tls cert.pem\n"), ""),
    "tls-four-arguments": (block("    tls cert.pem key.pem ca.pem ca.pem\n"), ""),
    "tls-no-file": (block("    tls none.pem key.pem\n"), "none.pem"),
    "tls-other-key": (block("    tls cert.pem other.key\n"), ""),
    "tls-no-ca": (block("    tls cert.pem key.pem none.pem\n"), "none.pem"),
    "https": (block(TLS + "    https\n"), None),
    "https-empty": (block(TLS + "    https {\n    }\n"), None),
    "https-limits": (block(TLS + option("max_connections 100\n        max_streams 100")), None),
    "https-none": (block(TLS + option("max_connections 0\n        max_streams 0")), None),
    "https-most-streams": (block(TLS + option("max_streams 4294967295")), None),
    "https-argument": (block(TLS + "    https x\n"), ""),
    "https-other": (block(TLS + option("other 1")), "other"),
    "https-negative": (block(TLS + option("max_connections -1")), "max_connections"),
    "https-word": (block(TLS + option("max_connections many")), "many"),
    "https-nothing": (block(TLS + option("max_connections")), ""),
    "https-two-numbers": (block(TLS + option("max_streams 1 2")), ""),
    "https-twice": (block(TLS + option("max_streams 1\n        max_streams 1")), "max_streams"),
    "https-too-many": (block(TLS + option("max_streams 4294967296")), "max_streams"),
    "shared-same": (two(TLS, TLS), None),
    "shared-other-path": (two(TLS, "    tls copy.pem key.pem\n"), None),
    "shared-https": (two(TLS, TLS, "https"), None),
    "shared-other-certificate": (two(TLS, "    tls other.pem other.key\n"),
                                 'between zones "a.test." and "b.test.": server certificates differ'),
    "shared-none": (two(TLS, ""), 'between zones "a.test." and "b.test.": TLS is configured for only one server block'),
    "shared-ca": (two(TLS, "    tls cert.pem key.pem ca.pem\n"),
                  'between zones "a.test." and "b.test.": client CA pools differ'),
    "shared-auth": (two(TLS, option("client_auth request", "tls", " cert.pem key.pem")),
                    'between zones "a.test." and "b.test.": client authentication policies differ'),
    "shared-streams-same": (two(TLS + option("max_streams 5"), TLS + option("max_streams 5"), "https"), None),
    "shared-streams-one": (two(TLS + option("max_streams 5"), TLS, "https"), None),
    "shared-streams": (two(TLS + option("max_streams 5"), TLS + option("max_streams 6"), "https"),
                       "conflicting max_streams values for shared HTTPS listener https://:"),
    "duplicate": (two(TLS, TLS).replace("b.test", "a.test"), "already defined"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    d = tmp_path_factory.mktemp("certs")
    certs.make_ca(d)
    certs.make_cert(d)
    certs.make_cert(d, "other", key="other.key")
    (d / "copy.pem").write_bytes((d / "cert.pem").read_bytes())
    return d


@pytest.mark.parametrize("name", STARTS)
def test_start(programs, folder, name):
    corefile, error = STARTS[name]
    for command in programs:
        s = server.Server(command, corefile, certs.texts(folder))
        try:
            s.start()
            assert error is None, f"{command[0]} starts"
        except server.StartFailed as e:
            assert error is not None and error in e.output, f"{command[0]}: {e}"
        finally:
            s.stop()


@pytest.fixture(scope="module")
def pair(programs, folder):
    """Both servers with one certificate, and the folder that has its CA."""
    made = [server.Server(command, COREFILE, certs.texts(folder)) for command in programs]
    try:
        yield [s.start() for s in made], folder
    finally:
        for s in made:
            s.stop()


def connect(folder, port, *alpn):
    context = ssl.create_default_context(cafile=os.path.join(folder, "ca.pem"))
    if alpn:
        context.set_alpn_protocols(alpn)
    raw = socket.create_connection(("127.0.0.1", port), 10)
    raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return context.wrap_socket(raw, server_hostname="dns.test")


def read_response(sock, no_body=False):
    """(status, header, body)."""
    data = b""
    while b"\r\n\r\n" not in data:
        got = sock.recv(65536)
        assert got, f"closed after {data!r}"
        data += got
    head, data = data.split(b"\r\n\r\n", 1)
    lines = head.decode().split("\r\n")
    header = {k.lower(): v.strip() for k, v in (line.split(":", 1) for line in lines[1:])}
    need = 0 if no_body else int(header.get("content-length", 0))
    while len(data) < need:
        got = sock.recv(65536)
        assert got
        data += got
    return int(lines[0].split()[1]), header, data


def told(status, header, body, method):
    """What is compared of a response."""
    out = {"status": status, "type": header.get("content-type"), "age": header.get("cache-control")}
    if method == "HEAD":
        return out
    out["body"] = wire.parse(body).comparable() if status == 200 else body
    return out


def ask_h1(folder, port, request):
    method, target, body, fields = request
    head = f"{method} {target} HTTP/1.1\r\nHost: dns.test\r\n"
    head += "".join(f"{k}: {v}\r\n" for k, v in fields.items())
    if body or method in ("POST", "PUT"):
        head += f"Content-Length: {len(body)}\r\n"
    with connect(folder, port, "http/1.1") as sock:
        sock.sendall(head.encode() + b"\r\n" + body)
        return told(*read_response(sock, method == "HEAD"), method)


def ask_h2(folder, port, request, tmp_path):
    method, target, body, fields = request
    (tmp_path / "body").write_bytes(body)
    command = ["curl", "-sS", "--http2", "-k", "--max-time", "10", "-D", str(tmp_path / "head"), "-o",
               str(tmp_path / "out"), "--path-as-is", "-X", method, f"https://127.0.0.1:{port}{target}"]
    command += ["--head"] if method == "HEAD" else []
    command += [x for k, v in {"Content-Type": "", "Accept": "", **fields}.items() for x in ("-H", f"{k}: {v}")]
    if body or method in ("POST", "PUT"):
        command += ["--data-binary", f"@{tmp_path}/body"]
    (tmp_path / "out").write_bytes(b"")
    subprocess.run(command, check=False, stderr=subprocess.DEVNULL)
    lines = (tmp_path / "head").read_text().split("\r\n")
    assert lines[0].startswith("HTTP/2 ")
    header = {k.lower(): v.strip() for k, v in (line.split(":", 1) for line in lines[1:] if ":" in line)}
    status, text = int(lines[0].split()[1]), (tmp_path / "out").read_bytes()
    try:
        return told(status, header, text, method)
    except wire.Malformed:
        # Who answers before a body has come ends the stream, and curl may lose the answer over it. Both are asked again,
        # so that their counts stay equal.
        return {"status": status, "body": None}


@pytest.mark.parametrize("name", REQUESTS)
def test_http1(pair, name):
    servers, folder = pair
    reference, tested = (ask_h1(folder, s.http("doh"), REQUESTS[name]) for s in servers)
    assert tested == reference


@pytest.mark.parametrize("name", [n for n in REQUESTS if n not in ("get-absolute",)])
def test_http2(pair, name, tmp_path):
    servers, folder = pair
    for _ in range(5):
        reference, tested = (ask_h2(folder, s.http("doh"), REQUESTS[name], tmp_path) for s in servers)
        if None not in (reference.get("body", ""), tested.get("body", "")):
            break
    assert tested == reference


@pytest.mark.parametrize("name", RAW)
def test_malformed_http(pair, name):
    servers, folder = pair
    statuses = []
    for s in servers:
        with connect(folder, s.http("doh")) as sock:
            sock.sendall(RAW[name])
            statuses.append(sock.recv(65536).split(b" ")[1])
    assert statuses[1] == statuses[0]


def test_keep_alive_and_close(pair):
    servers, folder = pair
    request = f"GET {REQUESTS['get'][1]} HTTP/1.1\r\nHost: a\r\n\r\n".encode()
    for s in servers:
        with connect(folder, s.http("doh"), "h2", "http/1.1") as sock:
            assert sock.selected_alpn_protocol() == "h2"
        with connect(folder, s.http("doh")) as sock:
            for _ in range(3):
                sock.sendall(request)
                assert read_response(sock)[0] == 200
            sock.sendall(request.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
            status, header, _ = read_response(sock)
            assert (status, header["connection"]) == (200, "close")
            assert sock.recv(1) == b""


def test_counts(pair):
    """The same requests, so the same counts per status; the label is the listener's."""
    servers, _ = pair
    texts = []
    for s in servers:
        text = s.get("metrics", "/metrics")[1]
        lines = [x.replace(str(s.http("doh")), "PORT") for x in text.splitlines() if "_https_responses_total" in x]
        texts.append(sorted(lines))
    assert texts[1] == texts[0]


def test_dns_over_tls(pair):
    servers, folder = pair
    questions = [q(rtype=t, ident=i) for i, t in enumerate(("A", "AAAA", "TXT", "NS", "MX", "SRV"))]
    questions.append(q(ident=99, edns=512, do=True))
    replies = []
    for s in servers:
        with connect(folder, s.http("dot")) as sock:
            sock.sendall(b"".join(struct.pack("!H", len(x)) + x for x in questions))
            data, got = b"", {}
            while len(got) < len(questions):
                more = sock.recv(65536)
                assert more
                data += more
                while len(data) >= 2 and len(data) >= 2 + struct.unpack("!H", data[:2])[0]:
                    n = 2 + struct.unpack("!H", data[:2])[0]
                    message = wire.parse(data[2:n])
                    got[message.id] = message.comparable()
                    data = data[n:]
            replies.append(got)
    assert replies[1] == replies[0]
