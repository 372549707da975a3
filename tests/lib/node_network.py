# SPDX-License-Identifier: GPL-3.0-or-later
"""A node with pods, and what lies outside of it, in network namespaces of this test. Needs root.

    with NodeNetwork() as net:
        net.add_pod("10.1.0.2", "fd01::2")
        net.serve_tcp(443)
        assert net.connect("10.1.0.2", "203.0.113.7", 443) == "open"

Pods are joined to the node by a cable each, the outside by another. All of 203.0.113.0/24, 198.51.100.0/24 and
2001:db8::/32 is outside, and answers on the ports that are served. The node itself serves them, too, at 10.1.0.1.
"""
import contextlib
import ctypes
import errno
import os
import selectors
import shutil
import socket
import subprocess
import threading

CLONE_NEWNET = 0x40000000
SBIN = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
libc = ctypes.CDLL(None, use_errno=True)
OUTSIDE = ("203.0.113.0/24", "198.51.100.0/24", "2001:db8::/32")
REFUSED = {errno.ECONNREFUSED, errno.EHOSTUNREACH, errno.EACCES, errno.ENETUNREACH, errno.EPERM}
ANSWER_SECONDS = 3.0


def call(name, *arguments):
    if getattr(libc, name)(*arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")


class Namespace:
    """A network namespace, held by a descriptor."""

    def __init__(self):
        self.fd = None
        self._in_thread(self._make)

    def _make(self):
        call("unshare", CLONE_NEWNET)
        self.fd = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        # Addresses are used at once: nobody else can have them.
        for kind in ("all", "default"):
            with contextlib.suppress(OSError), open(f"/proc/sys/net/ipv6/conf/{kind}/accept_dad", "w",
                                                    encoding="ascii") as f:
                f.write("0")
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True, env={"PATH": SBIN})

    @staticmethod
    def _in_thread(what):
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

    def call(self, what):
        """what() in this namespace; sockets that it opens stay there."""
        def enter():
            call("setns", self.fd, CLONE_NEWNET)
            return what()
        return self._in_thread(enter)

    def run(self, *argv, **kw):
        return self.call(lambda: subprocess.run(argv, check=True, text=True, capture_output=True,
                                                env={"PATH": SBIN}, **kw)).stdout

    def start(self, argv, **kw):
        return self.call(lambda: subprocess.Popen(argv, **kw))

    def close(self):
        os.close(self.fd)


def why_not():
    """Why this machine cannot run such a test, or None."""
    if os.geteuid() != 0:
        return "needs root"
    missing = [x for x in ("ip", "nft", "conntrack") if shutil.which(x, path=SBIN) is None]
    if missing:
        return "needs " + ", ".join(missing)
    try:
        space = Namespace()
    except OSError as e:
        return f"network namespaces: {e}"
    try:
        space.run("nft", "-f", "-", input="add table inet probe\n"
                  "add set inet probe s { type ipv6_addr . ipv4_addr; flags timeout; }\n"
                  "add chain inet probe c { type filter hook forward priority 0; }\n"
                  "add rule inet probe c ct label 1 reject with icmpx admin-prohibited\n")
        space.run("ip", "link", "add", "left", "type", "veth", "peer", "name", "right")
    except subprocess.CalledProcessError as e:
        return f"the kernel lacks nf_tables, conntrack or veth: {e.stderr.strip().splitlines()[0]}"
    finally:
        space.close()
    return None


class Server(threading.Thread):
    """Echoes what comes over TCP connections and UDP, and keeps from which address each connection or datagram came."""

    def __init__(self):
        super().__init__(daemon=True)
        self.selector = selectors.DefaultSelector()
        self.wake, wakened = os.pipe()[::-1]
        self.selector.register(wakened, selectors.EVENT_READ, lambda: None)
        self.lock = threading.Lock()
        self.seen = []       # (protocol, local address, client address)
        self.connections = []
        self.ends = False

    def add(self, sock, protocol):
        sock.setblocking(False)
        take = self._accept if protocol == "tcp" else self._echo
        self.selector.register(sock, selectors.EVENT_READ, lambda: take(sock))
        os.write(self.wake, b"x")

    def _accept(self, listener):
        conn, client = listener.accept()
        conn.setblocking(False)
        with self.lock:
            self.seen.append(("tcp", conn.getsockname()[0], client[0]))
            self.connections.append(conn)
        self.selector.register(conn, selectors.EVENT_READ, lambda: self._read(conn))

    def _read(self, conn):
        try:
            data = conn.recv(65536)
            if data:
                conn.send(data)
                return
        except BlockingIOError:
            return
        except OSError:
            pass
        self.selector.unregister(conn)
        conn.close()

    def _echo(self, sock):
        data, ancillary, _, client = sock.recvmsg(65536, 256)
        with self.lock:
            self.seen.append(("udp", data.split(b" ")[0].decode(), client[0]))
        with contextlib.suppress(OSError):
            sock.sendmsg([data], ancillary, 0, client)

    def run(self):
        while not self.ends:
            for key, _ in self.selector.select(0.2):
                with contextlib.suppress(BlockingIOError):
                    key.data()

    def count(self, address):
        with self.lock:
            return sum(1 for _, at, _ in self.seen if at == address)

    def stop(self):
        self.ends = True
        self.join()
        for key in list(self.selector.get_map().values()):
            if isinstance(key.fileobj, socket.socket):
                key.fileobj.close()


class NodeNetwork:
    NODE4, NODE6 = "10.1.0.1", "fd01::1"

    def __init__(self):
        self.node, self.outside = Namespace(), Namespace()
        self.pods = {}
        self.server = Server()
        for name in ("net.ipv4.ip_forward", "net.ipv6.conf.all.forwarding"):
            self.node.run("sysctl", "-qw", f"{name}=1")
        # The kernel sends few ICMP errors to one address: without this, a rejected datagram often looks lost.
        for name in ("net.ipv4.icmp_ratelimit", "net.ipv6.icmp.ratelimit"):
            self.node.run("sysctl", "-qw", f"{name}=0")
        self.node.run("ip", "addr", "add", self.NODE4 + "/32", "dev", "lo")
        self.node.run("ip", "addr", "add", self.NODE6 + "/128", "dev", "lo", "nodad")
        self._cable(self.outside, "out0", "169.254.7.1", "169.254.7.2", "fd07::1", "fd07::2")
        self.outside.run("sysctl", "-qw", "net.ipv6.ip_nonlocal_bind=1")
        for block in OUTSIDE:
            version, hop = ("-6", "fd07::2") if ":" in block else ("-4", "169.254.7.2")
            self.node.run("ip", version, "route", "add", block, "via", hop, "dev", "out0")
            self.outside.run("ip", version, "route", "add", "local", block, "dev", "lo")
        self.server.start()

    def _cable(self, space, name, node4, end4, node6, end6):
        fd = f"/proc/{os.getpid()}/fd/{space.fd}"
        self.node.run("ip", "link", "add", name, "type", "veth", "peer", "name", "eth0", "netns", fd)
        self.node.run("ip", "link", "set", name, "up")
        space.run("ip", "link", "set", "eth0", "up")
        for at, version, own, other, bits, dev in ((self.node, "-4", node4, end4, 32, name),
                                                   (self.node, "-6", node6, end6, 128, name),
                                                   (space, "-4", end4, node4, 32, "eth0"),
                                                   (space, "-6", end6, node6, 128, "eth0")):
            flags = ["nodad"] if version == "-6" else []
            at.run("ip", version, "addr", "add", f"{own}/{bits}", "dev", dev, *flags)
            at.run("ip", version, "route", "add", f"{other}/{bits}", "dev", dev)
        space.run("ip", "route", "add", "default", "via", node4, "dev", "eth0")
        space.run("ip", "-6", "route", "add", "default", "via", node6, "dev", "eth0")

    def add_pod(self, address, address6=None):
        """A pod with both addresses; the node has a link-local address at its cable, as with many network plugins."""
        number = len(self.pods)
        space = Namespace()
        self._cable(space, f"pod{number}", f"169.254.8.{number + 1}", address, f"fd08::{number + 1:x}",
                    address6 or f"fd09::{number + 1:x}")
        self.pods[address] = space
        return space

    def serve(self, protocol, port, space=None):
        def bind():
            sock = socket.socket(socket.AF_INET6, socket.SOCK_STREAM if protocol == "tcp" else socket.SOCK_DGRAM)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
            if protocol == "udp":  # answers leave from the address that was asked
                sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_RECVPKTINFO, 1)
            sock.bind(("::", port))
            if protocol == "tcp":
                sock.listen(1024)
            return sock
        self.server.add((space or self.outside).call(bind), protocol)

    def open(self, pod, address, port, protocol="tcp", seconds=ANSWER_SECONDS):
        """A connected socket of the pod, or OSError."""
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        kind = socket.SOCK_STREAM if protocol == "tcp" else socket.SOCK_DGRAM
        sock = self.pods[pod].call(lambda: socket.socket(family, kind))
        sock.settimeout(seconds)
        try:
            sock.connect((address, port))
        except OSError:
            sock.close()
            raise
        return sock

    def connect(self, pod, address, port, protocol="tcp", seconds=ANSWER_SECONDS):
        """"open", "refused" at once, "reset" later, or "silent"."""
        try:
            with self.open(pod, address, port, protocol, seconds) as sock:
                sock.send(f"{address} hello".encode())
                return "open" if sock.recv(100) else "closed"
        except socket.timeout:
            return "silent"
        except OSError as e:
            if e.errno in REFUSED:
                return "refused"
            if e.errno in (errno.ECONNRESET, errno.EPIPE):
                return "reset"
            raise

    def close(self):
        self.server.stop()
        for space in [self.node, self.outside, *self.pods.values()]:
            space.close()

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()
