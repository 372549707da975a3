# SPDX-License-Identifier: GPL-3.0-or-later
"""The program kube-caller (caller.c) driven from Python, and a proxy that cuts connections."""
import json
import os
import random
import select
import socket
import subprocess
import threading

from lib import server

ANSWER_SECONDS = 60


def program(name):
    build = os.environ.get("FAIRLEAD_BUILD") or os.path.join(server.ROOT, "build")
    return os.path.join(build, "tests", "kube", name)


class Caller:
    """One client process. `ask(do=..., ...)` gives its answer; `start` and `line` are for those that take time."""

    def __init__(self, config, token_ms=0, files_ms=0, env=None):
        self.pieces = []
        self.process = subprocess.Popen([program("kube-caller"), config, str(token_ms), str(files_ms)],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        env=dict(os.environ, **(env or {})))
        self.buffer = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        try:
            status = self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            status = self.process.wait()
        errors = self.process.stderr.read().decode(errors="replace")
        self.process.stdout.close()
        self.process.stderr.close()
        assert status == 0, f"kube-caller ended with {status}: {errors}"

    def start(self, **command):
        self.process.stdin.write(json.dumps(command).encode() + b"\n")
        self.process.stdin.flush()

    def line(self, seconds=ANSWER_SECONDS):
        """The next line it prints."""
        while b"\n" not in self.buffer:
            ready, _, _ = select.select([self.process.stdout], [], [], seconds)
            assert ready, f"no line from kube-caller in {seconds} s"
            more = os.read(self.process.stdout.fileno(), 1 << 16)
            assert more, self.process.stderr.read().decode(errors="replace")
            self.buffer += more
        line, self.buffer = self.buffer.split(b"\n", 1)
        return json.loads(line)

    def finish(self):
        """The answer; pieces of a stream before it are counted."""
        while True:
            line = self.line()
            if "result" in line:
                return line
            self.pieces.append(line["total"])

    def ask(self, do, **command):
        self.pieces = []
        self.start(do=do, **command)
        return self.finish()

    def ok(self, do, **command):
        """The object of an answer that must be good."""
        answer = self.ask(do, **command)
        assert answer["result"] == "success", answer
        return answer.get("object")


class Cutter:
    """A TCP proxy. While `limit` is set, each connection is cut after a random number of bytes up to it came back."""

    def __init__(self, port, seed=7):
        self.target = port
        self.random = random.Random(seed)
        self.limit = 0
        self.cuts = 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.running = True
        threading.Thread(target=self.accept, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.running = False
        self.listener.close()

    def accept(self):
        while self.running:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.carry, args=(client,), daemon=True).start()

    def carry(self, client):
        left = self.random.randrange(1, self.limit) if self.limit else None
        with client, socket.create_connection(("127.0.0.1", self.target)) as upstream:
            while True:
                for source in select.select([client, upstream], [], [])[0]:
                    try:
                        data = source.recv(16384)
                        if not data:
                            return
                        if source is upstream and left is not None:
                            client.sendall(data[:left])
                            left -= len(data)
                            if left <= 0:
                                self.cuts += 1
                                return
                        else:
                            (client if source is upstream else upstream).sendall(data)
                    except OSError:
                        return
