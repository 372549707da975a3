# SPDX-License-Identifier: GPL-3.0-or-later
"""A proxy before an API server that delays writes and loses replies to them: the server has stored what the client believes
to have failed. The client speaks plain HTTP to it; the proxy adds the token."""
import http.client
import json
import os
import random
import ssl
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

HOP = {"connection", "transfer-encoding", "content-length", "keep-alive"}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    proxy = None
    target = None

    def log_message(self, *_):  # pylint: disable=arguments-differ
        pass

    def setup(self):
        super().setup()
        self.target = http.client.HTTPSConnection("127.0.0.1", self.proxy.port, context=self.proxy.context, timeout=60)

    def finish(self):
        self.target.close()
        try:
            super().finish()
        except OSError:
            pass

    def pass_on(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        is_write = self.command != "GET" and "/leases" not in self.path
        try:
            if is_write:
                time.sleep(self.proxy.delay())
            headers = {k: v for k, v in self.headers.items() if k.lower() not in HOP | {"host"}}
            self.target.request(self.command, self.path, body or None, {**headers, "Authorization": f"Bearer {self.proxy.token}"})
            reply = self.target.getresponse()
            if is_write and self.proxy.loses():
                reply.read()
                self.close_connection = True
                self.connection.close()
                return
            self.send_back(reply)
        except (OSError, http.client.HTTPException):
            self.close_connection = True

    def send_back(self, reply):
        self.send_response(reply.status)
        for key, value in reply.getheaders():
            if key.lower() not in HOP:
                self.send_header(key, value)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        while data := reply.read1(65536):
            self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
            self.wfile.flush()
        self.wfile.write(b"0\r\n\r\n")
        reply.close()

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = pass_on


class LossyProxy(ThreadingHTTPServer):
    """`loss`: the part of writes whose replies are lost; `delay_s`: the longest time a write is held before it is passed on."""
    daemon_threads = True

    def __init__(self, api, token, seed):
        super().__init__(("127.0.0.1", 0), type("Bound", (Handler,), {"proxy": self}))
        self.port, self.token, self.dir = api.port, token, api.dir
        self.context = ssl.create_default_context(cafile=api.ca)
        self.random, self.lock = random.Random(seed), threading.Lock()
        self.loss, self.delay_s, self.lost = 0.0, 0.0, 0
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()

    def delay(self):
        with self.lock:
            return self.random.random() * self.delay_s

    def loses(self):
        with self.lock:
            lost = self.random.random() < self.loss
            self.lost += lost
            return lost

    def kubeconfig(self):
        path = os.path.join(self.dir, f"kubeconfig-lossy-{self.server_port}")
        config = {"apiVersion": "v1", "kind": "Config", "current-context": "test",
                  "clusters": [{"name": "test", "cluster": {"server": f"http://127.0.0.1:{self.server_port}"}}],
                  "users": [{"name": "test", "user": {}}],
                  "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test", "namespace": "default"}}]}
        with open(path, "w", encoding="utf-8") as f:
            json.dump(config, f)
        os.chmod(path, 0o600)
        return path

    def close(self):
        self.shutdown()
        self.server_close()

    def handle_error(self, *_):  # pylint: disable=arguments-differ
        """Clients are killed in the midst of things."""
