# SPDX-License-Identifier: GPL-3.0-or-later
"""A node in a network of its own, with pods that are joined to it: what an API server needs that is to reach pods (it does
not reach loopback addresses). Needs root. The thread that makes it, and what that starts, is on the node meanwhile."""
import os
import shutil
import signal
import subprocess
import tempfile

from lib.pod import CLONE_NEWNET, call

NODE = "10.99.0.1"
SECRETS = "/run/secrets/kubernetes.io/serviceaccount"
# A mount namespace of its own is what `ip netns exec` gives.
ENTRY = (f"mount -t tmpfs none /run && mkdir -p {SECRETS} && cp \"$0\"/secrets/* {SECRETS} && "
         "mount --bind \"$0\"/resolv.conf /etc/resolv.conf && exec \"$@\"")


def ip(*args):
    subprocess.run(["ip", *args], check=True, stdout=subprocess.DEVNULL)


class Node:
    def __enter__(self):
        self.pods = []
        self.before = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        try:
            call("unshare", CLONE_NEWNET)
            ip("link", "set", "lo", "up")
            ip("addr", "add", NODE, "dev", "lo")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for pod in self.pods:
            pod.stop()
        call("setns", self.before, CLONE_NEWNET)
        os.close(self.before)

    def pod(self, number):
        pod = NodePod(number)
        self.pods.append(pod)
        return pod.make()


class NodePod:
    """A network with the address 10.99.0.NUMBER, and one process in it with a Corefile and a service account."""

    def __init__(self, number):
        self.address = f"10.99.0.{number}"
        self.netns, self.link = f"fl-hosted-{os.getpid()}-{number}", f"pod{number}"
        self.dir = tempfile.mkdtemp(prefix="fairlead-pod-")
        self.conf = os.path.join(self.dir, "Corefile")
        self.process = None

    def make(self):
        ip("netns", "add", self.netns)
        ip("link", "add", self.link, "type", "veth", "peer", "name", "eth0", "netns", self.netns)
        ip("addr", "add", NODE, "peer", self.address, "dev", self.link)
        ip("link", "set", self.link, "up")
        for args in (("link", "set", "lo", "up"), ("link", "set", "eth0", "up"),
                     ("addr", "add", self.address, "peer", NODE, "dev", "eth0")):
            ip("-n", self.netns, *args)
        return self

    def cut(self, is_cut):
        """Takes the cable out, or puts it back; the pod itself lives on."""
        ip("link", "set", self.link, "down" if is_cut else "up")

    def write(self, text):
        if os.path.exists(self.conf):
            with open(self.conf, encoding="utf-8") as f:
                if f.read() == text:
                    return
        with open(self.conf + ".new", "w", encoding="utf-8") as f:
            f.write(text)
        os.rename(self.conf + ".new", self.conf)

    def start(self, command, port, token, ca):
        """`port`, `token` and `ca` are of the API server on the node."""
        os.makedirs(os.path.join(self.dir, "secrets"), exist_ok=True)
        shutil.copy(ca, os.path.join(self.dir, "secrets", "ca.crt"))
        for name, text in (("secrets/token", token), ("secrets/namespace", "openshift-dns"), ("resolv.conf", "nameserver 192.0.2.53\n")):
            with open(os.path.join(self.dir, name), "w", encoding="ascii") as f:
                f.write(text)
        with open(os.path.join(self.dir, "log"), "ab") as log:
            self.process = subprocess.Popen(
                ["ip", "netns", "exec", self.netns, "sh", "-c", ENTRY, self.dir, *command, "-conf", self.conf],
                stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
                env={**os.environ, "KUBERNETES_SERVICE_HOST": NODE, "KUBERNETES_SERVICE_PORT": str(port)})
        return self

    def log(self):
        with open(os.path.join(self.dir, "log"), encoding="utf-8", errors="replace") as f:
            return f.read()

    def end(self):
        """The process, at once: SIGTERM would wait for `lameduck`."""
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGQUIT)
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
            assert "Sanitizer" not in self.log(), self.log()
        self.process = None

    def stop(self):
        self.end()
        subprocess.run(["ip", "netns", "del", self.netns], stderr=subprocess.DEVNULL, check=False)
        shutil.rmtree(self.dir, ignore_errors=True)
