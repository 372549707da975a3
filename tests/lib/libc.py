# SPDX-License-Identifier: GPL-3.0-or-later
"""Look-ups by real C libraries: a program for glibc or musl, and a port 53 for it.

    with Port53(server_port) as relay:
        ... a resolv.conf with `nameserver {relay.address}`, and lookup_program("musl-gcc", path) under it
        assert relay.count == 2
"""
import os
import secrets
import shutil
import socket
import subprocess
import threading

import pytest

from lib import server

SOURCE = os.path.join(server.ROOT, "tests", "kube", "lookup.c")


class Port53:
    """Port 53 of a loopback address of its own, for programs that know no other port; passes queries on to a port, as the
    client `source`, and counts them."""

    def __init__(self, port, source="127.0.1.1"):
        self.address = "127." + ".".join(str(secrets.randbelow(200) + 20) for _ in range(3))
        self.sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.sock.bind((self.address, 53))
        self.port, self.source = port, source
        self.count = 0
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        while True:
            data, peer = self.sock.recvfrom(4096)
            if data == b"end":
                return
            self.count += 1
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as up:
                up.bind((self.source, 0))
                up.settimeout(5)
                up.sendto(data, ("127.0.0.1", self.port))
                self.sock.sendto(up.recv(65535), peer)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            s.sendto(b"end", (self.address, 53))
        self.thread.join()
        self.sock.close()


def lookup_program(compiler, path):
    """Builds tests/kube/lookup.c by `gcc` (glibc) or `musl-gcc` (static); returns the path."""
    if shutil.which(compiler) is None:
        pytest.fail(f"{compiler} is not installed (tools/deps test)")
    static = ["-static"] if compiler == "musl-gcc" else []
    subprocess.run([compiler, "-O1", *static, "-o", path, SOURCE], check=True)
    return path
