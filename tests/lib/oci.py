# SPDX-License-Identifier: GPL-3.0-or-later
"""Containers without a cluster and without a registry: bundles with a static busybox for runc and crun, and podman with
storage of its own in namespaces of its own, so that nothing is left on the machine.

    bundle = Bundle(folder, args=["cat", "/etc/resolv.conf"], hooks={"createRuntime": [...]})
    print(Runtime("runc", folder).run(bundle).stdout)
"""
import json
import os
import shutil
import subprocess
import tarfile

SBIN = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
RESOLV_CONF = "nameserver 192.0.2.1\nsearch node.example\noptions ndots:5\n"
SECONDS = 60
# crun 1.8 refuses a machine that has cgroup 1 and, for some controllers, cgroup 2: it gets a view without the latter.
PRIVATE = ["unshare", "-m", "--propagation", "private", "sh", "-c",
           'umount /sys/fs/cgroup/unified 2>/dev/null; exec "$@"', "sh"]


def missing_programs(*names):
    """Those that are not installed (tools/deps test installs them)."""
    return [name for name in names if shutil.which(name, path=SBIN) is None]


def fairlead_hook():
    """$FAIRLEAD_HOOK, or the one beside the program under test."""
    named = os.environ.get("FAIRLEAD_HOOK")
    if named:
        return named
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    program = os.environ.get("FAIRLEAD") or os.path.join(root, "build", "fairlead")
    return os.path.join(os.path.dirname(os.path.abspath(program)), "fairlead-hook")


def make_rootfs(folder):
    """A root file system with busybox and nothing else."""
    for name in ("bin", "etc", "proc", "dev", "sys", "tmp"):
        os.makedirs(os.path.join(folder, name), exist_ok=True)
    shutil.copy(shutil.which("busybox", path=SBIN), os.path.join(folder, "bin", "busybox"))
    for name in ("sh", "cat", "sleep", "true"):
        os.symlink("busybox", os.path.join(folder, "bin", name))
    open(os.path.join(folder, "etc", "resolv.conf"), "w").close()
    return folder


class Bundle:
    """An OCI bundle whose /etc/resolv.conf is the file `source` (made beside it unless given)."""

    def __init__(self, folder, args=("cat", "/etc/resolv.conf"), annotations=None, hooks=None, source=None, rootfs=None):
        self.path = str(folder)
        os.makedirs(self.path, exist_ok=True)
        self.annotations = annotations or {}
        self.source = source
        if source is None:
            self.source = os.path.join(self.path, "pod", "resolv.conf")
            os.makedirs(os.path.dirname(self.source))
            with open(self.source, "w", encoding="ascii") as f:
                f.write(RESOLV_CONF)
        self.config = {
            "ociVersion": "1.0.2",
            "process": {"terminal": False, "user": {"uid": 0, "gid": 0}, "cwd": "/", "env": ["PATH=/bin"],
                        "args": list(args)},
            "root": {"path": rootfs or "rootfs", "readonly": True},
            "annotations": self.annotations,
            "hooks": hooks or {},
            "mounts": [
                {"destination": "/proc", "type": "proc", "source": "proc"},
                {"destination": "/etc/resolv.conf", "type": "bind", "source": self.source, "options": ["bind", "ro"]},
            ],
            "linux": {"namespaces": [{"type": kind} for kind in ("pid", "mount", "ipc", "uts")]},
        }
        self.write()

    def write(self):
        with open(os.path.join(self.path, "config.json"), "w", encoding="utf-8") as f:
            json.dump(self.config, f)

    def state(self, **changes):
        """What a runtime writes to a hook."""
        state = {"ociVersion": "1.0.2", "id": "c1", "status": "creating", "pid": 1, "bundle": self.path}
        if self.annotations:
            state["annotations"] = self.annotations
        state.update(changes)
        return json.dumps(state)

    def text(self):
        with open(self.source, encoding="utf-8") as f:
            return f.read()


class Runtime:
    """runc or crun with state of its own."""

    def __init__(self, name, folder):
        self.name = name
        self.command = [*PRIVATE, name, "--root", os.path.join(str(folder), name + "-state")]
        self.count = 0

    def run(self, bundle):
        """Runs the container to its end."""
        self.count += 1
        return subprocess.run([*self.command, "run", "--bundle", bundle.path, f"fairlead-{os.getpid()}-{self.count}"],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              timeout=SECONDS)

    def why_not(self, folder):
        """Why this machine cannot run containers with it; None if it can."""
        missing = missing_programs(self.name, "busybox", "unshare")
        if missing or os.geteuid() != 0:
            return f"{', '.join(missing)} missing" if missing else "not root"
        make_rootfs(os.path.join(str(folder), "rootfs"))
        done = self.run(Bundle(folder))
        return None if (done.returncode, done.stdout) == (0, RESOLV_CONF) else done.stderr.strip() or done.stdout


class Podman:
    """podman in mount and network namespaces of its own; close() ends them and with them all containers."""

    SETUP = """set -e
    mount -t tmpfs tmpfs /dev/shm
    mount -t tmpfs tmpfs /run
    mkdir -p /var/lib/cni && mount -t tmpfs tmpfs /var/lib/cni
    umount /sys/fs/cgroup/unified 2>/dev/null || true
    ip link set lo up
    echo ready
    read forever"""

    def __init__(self, folder, runtime, hooks_dir):
        self.folder = str(folder)
        # Not every machine lets root raise limits beyond its own, which podman does by default.
        self.write("containers.conf", f"""
            [containers]
            default_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]
            [engine]
            cgroup_manager = "cgroupfs"
            events_logger = "none"
            runtime = "{runtime}"
            hooks_dir = ["{hooks_dir}"]
            [network]
            network_backend = "cni"
            network_config_dir = "{self.folder}/cni"
            """)
        self.holder = subprocess.Popen(["unshare", "-m", "-n", "--propagation", "private", "sh", "-c", self.SETUP],
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.error = None if self.holder.stdout.readline() == "ready\n" else self.holder.stderr.read()

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        return path

    def __call__(self, *args):
        return subprocess.run(
            ["nsenter", "-t", str(self.holder.pid), "-m", "-n", "env",
             f"CONTAINERS_CONF={self.folder}/containers.conf", "podman", "--root", f"{self.folder}/storage", "--runroot",
             "/run/containers", "--tmpdir", "/run/podman", "--storage-driver", "vfs", *args],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=SECONDS)

    def import_image(self, name):
        """An image of busybox alone, from nowhere but this machine."""
        root = make_rootfs(os.path.join(self.folder, "image"))
        with tarfile.open(os.path.join(self.folder, "image.tar"), "w") as tar:
            tar.add(root, arcname=".")
        return self("import", os.path.join(self.folder, "image.tar"), name)

    def close(self):
        if self.error is None:
            self("pod", "rm", "--force", "--all", "--time", "0")
            self("rm", "--force", "--all", "--time", "0")
        self.holder.stdin.close()
        self.holder.wait(timeout=SECONDS)
        self.holder.stdout.close()
        self.holder.stderr.close()
