# SPDX-License-Identifier: GPL-3.0-or-later
"""Ports for servers that a test starts by number."""
import random
import socket

LOWEST, HIGHEST = 20000, 32767  # below the range from which the kernel takes ports for clients of other tests


def free_port():
    """A port of 127.0.0.1 that is free for UDP and TCP."""
    for port in random.sample(range(LOWEST, HIGHEST + 1), 100):
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as tcp, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
            try:
                tcp.bind(("127.0.0.1", port))
                udp.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise RuntimeError("no free port")
