# SPDX-License-Identifier: GPL-3.0-or-later
"""`fairlead api` as a process, and small clients for it over HTTPS."""
import http.client
import json
import os
import re
import signal
import ssl
import subprocess
import time

from lib import server

START_SECONDS = 60
SAYS = re.compile(r"the API is at https://127\.0\.0\.1:(\d+)")


class Refused(Exception):
    """The program ended instead of serving."""

    def __init__(self, status, said):
        super().__init__(f"ended with status {status}: {said}")
        self.status = status
        self.said = said


class Api:
    """On a data directory that stays. `prefix` is put before the command; `seen` is where the test finds the directory, when
    that is another name space's."""

    def __init__(self, data, prefix=(), options=(), seen=None):
        self.data = data
        self.seen = seen or data
        self.prefix = list(prefix)
        self.options = list(options)
        self.process = None

    def exec(self):
        """Starts it without waiting."""
        self.process = subprocess.Popen([*self.prefix, server.fairlead_program(), "api", "--data", self.data,
                                         *(self.options or ["--listen", "127.0.0.1:0"])],
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        return self

    def start(self):
        self.exec()
        self.log = ""
        while (found := SAYS.search(self.log)) is None:
            line = self.process.stdout.readline()
            if not line:
                raise Refused(self.process.wait(START_SECONDS), self.log + self.process.stderr.read())
            self.log += line
        self.port = int(found.group(1))
        self.process.stdout.readline()
        self.tokens = {name: self.token(file) for name, file in (("user", "kubeconfig"), ("system", "system.kubeconfig"))}
        self.context = ssl.create_default_context(cafile=os.path.join(self.seen, "ca.crt"))
        return self

    def token(self, file):
        with open(os.path.join(self.seen, file), encoding="utf-8") as f:
            return re.search(r"token: \"?([^\s\"]+)", f.read()).group(1)

    def client(self, who="user", timeout=START_SECONDS):
        return Client(self, who, timeout)

    def kill(self):
        self.process.kill()
        self.reap()

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.reap()
        assert self.process.returncode == 0, f"ended with status {self.process.returncode}: {self.said}"

    def reap(self):
        self.process.wait(START_SECONDS)
        self.said = self.process.stdout.read() + self.process.stderr.read()
        self.process.stdout.close()
        self.process.stderr.close()

    def rss_kb(self):
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as f:
            return int(re.search(r"VmRSS:\s+(\d+)", f.read()).group(1))


class Client:
    """One connection that is kept."""

    def __init__(self, api, who, timeout):
        self.http = http.client.HTTPSConnection("127.0.0.1", api.port, timeout=timeout, context=api.context)
        self.headers = {"Authorization": "Bearer " + api.tokens[who]}

    def send(self, method, path, body=None, kind="application/json"):
        """The response, not read yet."""
        data = None if body is None else json.dumps(body)
        self.http.request(method, path, data, dict(self.headers, **{"Content-Type": kind}))
        return self.http.getresponse()

    def call(self, method, path, body=None, kind="application/json"):
        answer = self.send(method, path, body, kind)
        text = answer.read()
        return answer.status, json.loads(text) if text.startswith(b"{") else text.decode()

    def close(self):
        self.http.close()


def until(test, what, seconds=START_SECONDS):
    """Asks again and again; a limit, never a wait in hope."""
    end = time.monotonic() + seconds
    while True:
        found = test()
        if found:
            return found
        assert time.monotonic() < end, f"not in {seconds} s: {what}"
        time.sleep(0.005)
