# SPDX-License-Identifier: GPL-3.0-or-later
"""A pod on this machine, made as a kubelet and a container runtime make one: a network of its own, the image's files as a
root that is read-only, volumes with a kubelet's links, a user, capabilities, process number 1. Needs root.

    with Network("10.244.0.5", ["10.96.0.1"]) as net, Relay(net, ("10.96.0.1", 443), ("127.0.0.1", port)):
        with Pod(net, root, argv=["/coredns"], uid=65532, capabilities={"NET_BIND_SERVICE"}, ...) as pod:
            pod.get(8080, "/health")

What is missing of the real thing: cgroups, seccomp, AppArmor and the image's layers.
"""
import contextlib
import ctypes
import http.client
import itertools
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

CLONE_NEWNET = 0x40000000
GATEWAY = "169.254.1.1"
END = b"end"
PR_SET_KEEPCAPS, PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS = 8, 24, 38
CAPABILITY_VERSION = 0x20080522
CAPABILITIES = {name: i for i, name in enumerate(
    "CHOWN DAC_OVERRIDE DAC_READ_SEARCH FOWNER FSETID KILL SETGID SETUID SETPCAP LINUX_IMMUTABLE NET_BIND_SERVICE".split())}
DEVICES = ("null", "zero", "full", "random", "urandom")
STOP_SECONDS = 30
libc = ctypes.CDLL(None, use_errno=True)


def call(name, *arguments):
    """A function of libc; OSError when it fails."""
    if getattr(libc, name)(*arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")


class Network:
    """The network of a pod with this address, joined by a cable to that of a node, which also has the addresses in
    `outside`: what the pod can reach. `beside`: the network of another pod of the same node."""

    def __init__(self, address, outside=(), beside=None):
        self.pod = None
        self.node = os.dup(beside.node) if beside else None
        self.cables = beside.cables if beside else itertools.count()
        self.cable = f"pod{next(self.cables)}"
        in_thread(lambda: self.make_pod(address))
        in_thread(lambda: self.make_node(outside))

    def make_pod(self, address):
        """The pod's side, and the node's, if there is none yet: empty."""
        if self.node is None:
            call("unshare", CLONE_NEWNET)
            self.node = own_network()
        call("unshare", CLONE_NEWNET)
        self.pod = own_network()
        ip("link", "add", "eth0", "type", "veth", "peer", "name", self.cable, "netns",
           f"/proc/{os.getpid()}/fd/{self.node}")
        ip("link", "set", "lo", "up")
        ip("link", "set", "eth0", "up")
        ip("addr", "add", address, "peer", GATEWAY, "dev", "eth0")
        ip("route", "add", "default", "via", GATEWAY)
        self.address = address

    def make_node(self, outside):
        call("setns", self.node, CLONE_NEWNET)
        ip("link", "set", "lo", "up")
        ip("link", "set", self.cable, "up")
        ip("addr", "add", GATEWAY, "peer", self.address, "dev", self.cable)
        for a in outside:
            ip("addr", "add", a, "dev", "lo")

    def in_pod(self, what):
        """Runs what() in the pod's network and returns its result: sockets and processes that it creates stay there."""
        return self.inside(self.pod, what)

    def on_node(self, what):
        return self.inside(self.node, what)

    @staticmethod
    def inside(fd, what):
        def run():
            call("setns", fd, CLONE_NEWNET)
            return what()
        return in_thread(run)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self.pod)
        os.close(self.node)


def ip(*arguments):
    subprocess.run(["ip", *arguments], check=True)


def own_network():
    return os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)


def in_thread(what):
    """Namespaces are a thread's: one that changes its own must not be used for anything else."""
    result = {}

    def run():
        try:
            result["value"] = what()
        except BaseException as e:  # the caller's
            result["error"] = e
    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if "error" in result:
        raise result["error"]
    return result["value"]


class Relay:
    """Leads TCP connections or UDP questions from an address on the node to one of this machine. While it is closed,
    connections are refused."""

    def __init__(self, network, address, target, udp=False, closed=False):
        self.network, self.address, self.target, self.udp = network, address, target, udp
        self.listener, self.open_sockets, self.threads = None, set(), []
        if not closed:
            self.open()

    def open(self):
        kind = socket.SOCK_DGRAM if self.udp else socket.SOCK_STREAM
        self.listener = self.network.on_node(lambda: socket.socket(socket.AF_INET, kind))
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.listener.bind(self.address)
        if not self.udp:
            self.listener.listen()
        self.spawn(self.answer if self.udp else self.accept, self.listener)

    def spawn(self, what, *arguments):
        self.threads.append(threading.Thread(target=what, args=arguments, daemon=True))
        self.threads[-1].start()

    def answer(self, listener):
        """UDP: one question after the other."""
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as up:
            up.connect(self.target)
            up.settimeout(5)
            while True:
                data, peer = listener.recvfrom(65535)
                if data == END:
                    return
                try:
                    up.send(data)
                    listener.sendto(up.recv(65535), peer)
                except OSError:
                    pass  # no answer

    def accept(self, listener):
        while True:
            try:
                client, _ = listener.accept()
                up = socket.create_connection(self.target)
            except OSError:
                return
            self.open_sockets |= {client, up}
            self.spawn(self.pump, client, up)
            self.spawn(self.pump, up, client)

    @staticmethod
    def pump(source, sink):
        try:
            while data := source.recv(65536):
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def close(self):
        if self.udp and self.listener:
            self.listener.sendto(END, self.address)
        for s in [self.listener, *self.open_sockets]:
            if s is not None and not self.udp:
                with contextlib.suppress(OSError):
                    s.shutdown(socket.SHUT_RDWR)  # wakes who waits for it
        for thread in self.threads:
            thread.join()
        for s in [self.listener, *self.open_sockets]:
            if s is not None:
                s.close()
        self.listener, self.open_sockets, self.threads = None, set(), []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Volume:
    """A ConfigMap or a service account's files as a kubelet keeps them: what one sees are links through `..data`, itself a
    link that is swapped."""

    def __init__(self, folder, files, more=()):
        self.folder, self.count = folder, 0
        os.makedirs(folder)
        for name in more:  # mount points inside
            os.mkdir(os.path.join(folder, name))
        self.write(files)

    def write(self, files):
        path = lambda *names: os.path.join(self.folder, *names)  # noqa: E731
        old = os.path.realpath(path("..data")) if self.count else None
        self.count += 1
        fresh = f"..2026_11_15_12_00_00.{self.count:09}"
        os.mkdir(path(fresh))
        for name, text in files.items():
            with open(path(fresh, name), "w", encoding="utf-8") as f:
                f.write(text)
        os.symlink(fresh, path("..data_tmp"))
        os.rename(path("..data_tmp"), path("..data"))
        links = {n for n in os.listdir(self.folder) if os.path.islink(path(n)) and n != "..data"}
        for name in files.keys() - links:
            os.symlink(os.path.join("..data", name), path(name))
        for name in links - files.keys():
            os.unlink(path(name))
        if old:
            shutil.rmtree(old)


class Pod:
    """One container. `root`: the image's files. `mounts`: {path in the container: path here}, all of them read-only;
    `scratch`: empty folders that can be written."""

    def __init__(self, network, root, argv, env, uid, capabilities, no_new_privs=True, mounts=None, scratch=()):
        self.network = network
        self.dir = tempfile.mkdtemp(prefix="fairlead-pod-")
        self.log = os.path.join(self.dir, "log")
        self.process = self.pid = None
        spec = {"root": os.path.join(self.dir, "root"), "argv": argv, "env": env, "uid": uid, "mounts": mounts or {},
                "scratch": list(scratch), "capabilities": sorted(capabilities), "no_new_privs": no_new_privs}
        subprocess.run(["cp", "-a", root, spec["root"]], check=True)
        self.spec = os.path.join(self.dir, "spec.json")
        with open(self.spec, "w", encoding="utf-8") as f:
            json.dump(spec, f)

    def __enter__(self):
        with open(self.log, "wb") as log:
            self.process = self.network.in_pod(lambda: subprocess.Popen(
                ["unshare", "--mount", "--pid", "--ipc", "--uts", "--fork", "--kill-child", sys.executable, __file__,
                 self.spec], stdin=subprocess.DEVNULL, stdout=log, stderr=log))
        try:
            self.pid = self.child()
        except BaseException:
            self.__exit__()
            raise
        return self

    def child(self):
        """The container's process, once it is the program."""
        end = time.monotonic() + STOP_SECONDS
        while time.monotonic() < end and self.process.poll() is None:
            try:
                with open(f"/proc/{self.process.pid}/task/{self.process.pid}/children", encoding="ascii") as f:
                    pid = int(f.read().split()[0])
                if not os.path.samefile(f"/proc/{pid}/exe", os.path.realpath(sys.executable)) and \
                        os.path.basename(os.readlink(f"/proc/{pid}/exe")) != "unshare":
                    return pid
            except (OSError, IndexError):
                pass
            time.sleep(0.005)
        raise AssertionError(f"the program was not started\n{self.output()}")

    def output(self):
        with open(self.log, encoding="utf-8", errors="backslashreplace") as f:
            return f.read()

    def alive(self):
        return self.process.poll() is None

    def get(self, port, path, local=False):
        """(status, text) of an HTTP request from the node or from inside; status 0 where nobody listens or
        the program ends before it answers."""
        enter = self.network.in_pod if local else self.network.on_node
        address = "127.0.0.1" if local else self.network.address
        try:
            with enter(lambda: socket.create_connection((address, port), 10)) as sock:
                connection = http.client.HTTPConnection(address, port)
                connection.sock = sock
                connection.request("GET", path)
                reply = connection.getresponse()
                return reply.status, reply.read().decode()
        except (ConnectionRefusedError, ConnectionResetError):  # http.client.RemoteDisconnected is one of the latter
            return 0, ""

    def status(self):
        """/proc/PID/status as a dictionary."""
        with open(f"/proc/{self.pid}/status", encoding="ascii") as f:
            return dict(line.rstrip("\n").split(":\t", 1) for line in f if ":\t" in line)

    def listening(self):
        """{("udp" or "tcp", port)} of all sockets that wait for clients."""
        found = set()
        for table in ("udp", "udp6", "tcp", "tcp6"):
            with open(f"/proc/{self.pid}/net/{table}", encoding="ascii") as f:
                next(f)
                for fields in map(str.split, f):
                    # Sockets without a peer; TCP ones that listen.
                    if fields[2].endswith(":0000") and (table.startswith("udp") or fields[3] == "0A"):
                        found.add((table[:3], int(fields[1].rsplit(":", 1)[1], 16)))
        return found

    def terminate(self):
        os.kill(self.pid, signal.SIGTERM)

    def __exit__(self, *_):
        if self.process is not None and self.process.poll() is None:
            try:
                self.terminate() if self.pid else self.process.terminate()
                self.process.wait(STOP_SECONDS)
            except (subprocess.TimeoutExpired, ProcessLookupError):
                self.process.kill()  # and with it all that is in the pod
                self.process.wait()
        shutil.rmtree(self.dir, ignore_errors=True)


# ---- inside: what a runtime does before the program ----


def mount(*arguments):
    subprocess.run(["mount", *arguments], check=True)


def prepare_root(spec):
    root = spec["root"]
    at = lambda path: root + path  # noqa: E731
    mount("--make-rprivate", "/")
    mount("--bind", root, root)
    for path in ("/proc", "/sys", "/dev", *spec["scratch"]):
        os.makedirs(at(path), exist_ok=True)
    for path in spec["scratch"]:
        mount("-t", "tmpfs", "-o", "mode=1777", "tmpfs", at(path))
    mount("-t", "proc", "proc", at("/proc"))
    mount("-t", "sysfs", "-o", "ro", "sysfs", at("/sys"))
    mount("-t", "tmpfs", "-o", "nosuid,mode=755", "tmpfs", at("/dev"))
    sources = {**spec["mounts"], **{"/dev/" + d: "/dev/" + d for d in DEVICES}}
    if os.path.isdir("/sys/fs/cgroup"):
        sources["/sys/fs/cgroup"] = "/sys/fs/cgroup"
    for path in sorted(sources):
        if os.path.isdir(sources[path]):
            os.makedirs(at(path), exist_ok=True)
        else:
            os.makedirs(os.path.dirname(at(path)), exist_ok=True)
            if not os.path.exists(at(path)):
                open(at(path), "w", encoding="ascii").close()
        mount("--bind", sources[path], at(path))
        if not path.startswith("/dev/"):
            mount("-o", "remount,bind,ro", at(path))
    mount("-o", "remount,bind,ro", root)
    os.chroot(root)
    os.chdir("/")


def drop_rights(spec):
    """In the order of runc: the sets are made before the program is started, and it has what its file adds of them."""
    keep = [CAPABILITIES[name] for name in spec["capabilities"]]
    with open("/proc/sys/kernel/cap_last_cap", encoding="ascii") as f:
        last = int(f.read())
    for number in range(last + 1):
        if number not in keep:
            call("prctl", PR_CAPBSET_DROP, number, 0, 0, 0)
    call("prctl", PR_SET_KEEPCAPS, 1, 0, 0, 0)
    os.setgroups([])
    os.setresgid(spec["uid"], spec["uid"], spec["uid"])
    os.setresuid(spec["uid"], spec["uid"], spec["uid"])
    mask = sum(1 << number for number in keep)
    call("capset", (ctypes.c_uint32 * 2)(CAPABILITY_VERSION, 0), (ctypes.c_uint32 * 6)(mask, mask, 0, 0, 0, 0))
    if spec["no_new_privs"]:
        call("prctl", PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)


def init(path):
    with open(path, encoding="utf-8") as f:
        spec = json.load(f)
    prepare_root(spec)
    drop_rights(spec)
    os.execvpe(spec["argv"][0], spec["argv"], spec["env"])


if __name__ == "__main__":
    init(sys.argv[1])
