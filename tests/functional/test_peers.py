# SPDX-License-Identifier: GPL-3.0-or-later
"""Forwarding to real resolvers over each transport: hundreds of questions at once share few connections, and each
gets its own answer."""
import shutil
import subprocess

import dns.message
import dns.query
import pytest

from helpers import SBIN, eventually, needs
from lib import wire
from lib.client import Ask, Exchange
from lib.server import Port
from lib.upstream import TLS_NAME, certificate

pytestmark = needs("forward")

NAMES = 400

CONF = """server:
    directory: "{dir}"
    username: ""
    chroot: ""
    pidfile: ""
    use-syslog: no
    do-daemonize: no
    do-ip6: no
    interface: 127.0.0.1@{plain}
    interface: 127.0.0.1@{tls}
    interface: 127.0.0.1@{https}
    tls-port: {tls}
    https-port: {https}
    tls-service-key: "{key}"
    tls-service-pem: "{cert}"
    incoming-num-tcp: 200
    module-config: "iterator"
    local-zone: "example." static
{data}"""


def address(i):
    return f"192.0.{2 + i // 200}.{1 + i % 200}"


@pytest.fixture(scope="module")
def unbound(tmp_path_factory):
    """Ports by transport, and the certificate."""
    folder = tmp_path_factory.mktemp("unbound")
    program = shutil.which("unbound", path=SBIN)
    assert program, "unbound is missing: tools/deps test"
    held = {name: Port() for name in ("plain", "tls", "https")}
    ports = {name: p.number for name, p in held.items()}
    cert, key = certificate(str(folder))
    data = "".join(f'    local-data: "n{i}.example. 60 A {address(i)}"\n' for i in range(NAMES))
    (folder / "conf").write_text(CONF.format(dir=folder, key=key, cert=cert, data=data, **ports))
    process = subprocess.Popen([program, "-d", "-p", "-c", folder / "conf"], stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True)
    try:
        eventually(lambda: process.poll() is not None or answers(ports["plain"]), 20, "unbound answers")
        assert process.poll() is None, process.stdout.read()
        yield ports, cert
    finally:
        process.terminate()
        process.wait(20)
        for p in held.values():
            p.release()


def answers(port):
    try:
        return dns.query.udp(dns.message.make_query("n1.example.", "A"), "127.0.0.1", port=port, timeout=0.3).answer
    except (OSError, dns.exception.Timeout):
        return False


ROWS = {
    "udp": ("127.0.0.1:{plain}", ""),
    "tcp": ("127.0.0.1:{plain}", "force_tcp"),
    "tls": ("tls://127.0.0.1:{tls}", "tls {cert}\n tls_servername {name}"),
    "https": ("https://127.0.0.1:{https}", "tls {cert}\n tls_servername {name}"),
    "https-get": ("https://127.0.0.1:{https}", "tls {cert}\n tls_servername {name}\n doh_method GET"),
}


@pytest.mark.parametrize("row", ROWS)
def test_each_gets_its_own_answer(serve, unbound, row):
    ports, cert = unbound
    to, options = (text.format(cert=cert, name=TLS_NAME, **ports) for text in ROWS[row])
    s = serve(f".:@PORT@ {{\n forward . {to} {{\n {options}\n }}\n}}\n")
    link = Exchange(s, window=64)
    asks = [Ask(wire.query(f"n{i}.example.", ident=i + 1)) for i in range(NAMES)]
    link.run(asks)
    wrong = []
    for i, a in enumerate(asks):
        replies = [dns.message.from_wire(r) for r in link.replies(a)]
        if [rr.to_text() for m in replies for rrset in m.answer for rr in rrset] != [address(i)]:
            wrong.append((i, [m.to_text() for m in replies]))
    link.close()
    assert wrong == []
