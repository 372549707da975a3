# SPDX-License-Identifier: GPL-3.0-or-later
"""fairlead-hook, started as a runtime starts it: what it changes, what it refuses, and that a refusal, a full disk or a
kill leaves a file that can be used. Real runtimes are in test_hook_containers.py."""
import errno
import fcntl
import json
import os
import random
import re
import shutil
import socket
import subprocess
import time

import pytest

from helpers import needs_root, sanitizer, slower
from lib import oci

CONFIG, POLICY, PROFILE, LIBC = (f"dns.fairlead.dev/{word}" for word in ("config", "policy", "profile", "libc"))
POD = '{"searches":["pod.example"],"options":[{"name":"ndots","value":"2"}]}'
MERGED = "nameserver 192.0.2.1\nsearch node.example pod.example\noptions ndots:2\n"
# Seed 003's second sample, with the value as the text that it must be.
SEED = ('{"nameservers":["1.2.3.4"],"searches":["ns1.svc.cluster.local","my.dns.search.suffix"],'
        '"options":[{"name":"ndots","value":"2"},{"name":"edns0"}]}')
SEED_FILE = "nameserver 1.2.3.4\nsearch ns1.svc.cluster.local my.dns.search.suffix\noptions ndots:2 edns0\n"
NAMED = re.compile(r"^fairlead-hook: (?:container \S+: )?(.*) left as it was: (.*)\n$")

strace = pytest.mark.skipif(shutil.which("strace") is None or bool(sanitizer()),
                            reason="needs strace, and a build without sanitizers")


def run_hook(state, *flags, before=(), **kw):
    """(status, standard error); standard output is always empty."""
    done = subprocess.run([*before, oci.fairlead_hook(), *flags], input=state, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=slower(20), **kw)
    assert done.stdout == ""
    return done.returncode, done.stderr


def make_bundle(folder, config=POD, **annotations):
    values = {} if config is None else {CONFIG: config}
    values.update({f"dns.fairlead.dev/{key}": value for key, value in annotations.items()})
    return oci.Bundle(folder, annotations=values)


def identity(path):
    got = os.stat(path)
    return got.st_ino, got.st_mode, got.st_uid, got.st_gid


def refused(state, *flags, **kw):
    """The reason on standard error, one line; the container may start."""
    status, error = run_hook(state, *flags, **kw)
    assert status == 0, error
    found = NAMED.match(error)
    assert found, error
    return found[2]


# ---- the program ----

def test_loads_two_libraries():
    """It starts for every container: nothing of TLS, DNS or HTTP may come with it."""
    done = subprocess.run(["readelf", "-d", oci.fairlead_hook()], stdout=subprocess.PIPE, text=True, check=True)
    of_compilers = {"libasan", "libubsan", "libtsan", "libgcc_s", "libm"}
    assert set(re.findall(r"\(NEEDED\).*\[(.*?)\.so", done.stdout)) - of_compilers == {"libjansson", "libc"}
    assert os.path.getsize(oci.fairlead_hook()) < 1 << 20 or sanitizer()


def test_flags(tmp_path):
    def run(*flags):
        done = subprocess.run([oci.fairlead_hook(), *flags], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, timeout=slower(20))
        return done.returncode, done.stdout, done.stderr

    assert run("--help")[0] == 0 and run("--help")[1].startswith("usage: fairlead-hook ")
    assert re.fullmatch(r"fairlead-hook \d+\.\d+\.\d+\n", run("--version")[1])
    for flags in (["--nonsense"], ["argument"], ["--log"], ["--storage-root"], ["--storage-root", "run"],
                  ["--storage-root", "/"], ["--storage-root", "/run"] * 17):
        status, out, error = run(*flags)
        assert (status, out) == (64, "") and "see `fairlead-hook --help`" in error
    roots = ["--storage-root", "/srv/one", "--storage-root", "/srv/two"]
    status, out, _ = run("--fail", "--log", "/var/log/hook \"1\".log", *roots, "--print-hooks-d")
    assert status == 0
    hook = json.loads(out)
    assert hook["hook"] == {"path": os.path.realpath(oci.fairlead_hook()), "timeout": 10,
                            "args": ["fairlead-hook", "--fail", "--log", "/var/log/hook \"1\".log", *roots]}
    assert hook["stages"] == ["createRuntime"]
    (key,) = hook["when"]["annotations"]
    assert re.search(key, CONFIG) and re.search(key, POLICY) and not re.search(key, "dnsxfairlead.dev/config")


def test_a_terminal_is_told_what_this_is():
    master, slave = os.openpty()
    done = subprocess.run([oci.fairlead_hook()], stdin=slave, stderr=subprocess.PIPE, text=True, timeout=slower(20))
    os.close(master)
    os.close(slave)
    assert done.returncode == 64 and "container runtimes start this program" in done.stderr


# ---- what it does ----

@pytest.mark.parametrize("annotations,want", [
    ({"config": POD}, MERGED),
    ({"config": POD, "policy": "Default"}, MERGED),
    ({"config": SEED, "policy": "None"}, SEED_FILE),
    ({"config": SEED, "policy": "Custom", "profile": "seed", "libc": "glibc"}, SEED_FILE),
    ({"config": "{}"}, oci.RESOLV_CONF),
])
def test_rewrites_in_place_and_once(tmp_path, annotations, want):
    bundle = make_bundle(tmp_path, **annotations)
    os.chmod(bundle.source, 0o444)
    os.chown(bundle.source, os.getuid(), os.getgid())
    before = identity(bundle.source)
    status, error = run_hook(bundle.state(), "--fail")
    assert status == 0, error
    assert bundle.text() == want
    assert identity(bundle.source) == before
    # A second container of the pod: nothing is written.
    written = os.stat(bundle.source).st_mtime_ns
    assert run_hook(bundle.state(id="c2"), "--fail")[0] == 0
    assert os.stat(bundle.source).st_mtime_ns == written and bundle.text() == want


def test_annotations_of_the_configuration_count_where_the_state_has_none(tmp_path):
    bundle = make_bundle(tmp_path)
    state = json.loads(bundle.state())
    del state["annotations"]
    assert run_hook(json.dumps(state)) == (0, "")
    assert bundle.text() == MERGED


@pytest.mark.parametrize("annotations", [{}, {"io.kubernetes.cri-o.TTY": "false"}, {PROFILE: "seed", LIBC: "musl"}])
def test_without_the_annotation_nothing_is_touched(tmp_path, annotations):
    bundle = oci.Bundle(tmp_path, annotations=annotations)
    written = os.stat(bundle.source).st_mtime_ns
    assert run_hook(bundle.state(), "--fail") == (0, "")
    assert bundle.text() == oci.RESOLV_CONF and os.stat(bundle.source).st_mtime_ns == written
    # With annotations in the state not even the bundle is opened.
    if annotations:
        assert run_hook(bundle.state(bundle="/nowhere"), "--fail") == (0, "")


def test_the_log_has_what_was_done(tmp_path):
    bundle = make_bundle(tmp_path)
    log = tmp_path / "hook.log"
    assert run_hook(bundle.state(), "--log", str(log)) == (0, "")
    assert run_hook(bundle.state(id="bad\nid", bundle="/none"), "--log", str(log))[0] == 0
    lines = log.read_text().splitlines()
    assert len(lines) == 2
    assert re.fullmatch(rf"\d+-\d+-\d+T\d+:\d+:\d+Z fairlead-hook: container c1: {bundle.source} rewritten", lines[0])
    assert "container bad id: /etc/resolv.conf left as it was: cannot open '/none': No such file" in lines[1]


def test_a_log_that_cannot_be_written_is_no_reason_to_fail(tmp_path):
    bundle = make_bundle(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    os.symlink("elsewhere", tmp_path / "link")
    for name in ("pipe", "link", "none/log"):
        with open(bundle.source, "w", encoding="ascii") as f:
            f.write(oci.RESOLV_CONF)
        status, error = run_hook(bundle.state(), "--fail", "--log", str(tmp_path / name))
        assert status == 0 and f"cannot open log file '{tmp_path / name}'" in error
        assert bundle.text() == MERGED
    assert not (tmp_path / "elsewhere").exists()


def test_many_containers_of_a_pod_at_once(tmp_path):
    bundle = make_bundle(tmp_path)
    log = str(tmp_path / "log")
    started = []
    for i in range(30):
        p = subprocess.Popen([oci.fairlead_hook(), "--fail", "--log", log], stdin=subprocess.PIPE, text=True)
        started.append((p, bundle.state(id=f"c{i}")))
    for p, state in started:
        p.stdin.write(state)
        p.stdin.flush()
    for p, _ in started:
        p.stdin.close()
    assert [p.wait(timeout=slower(30)) for p, _ in started] == [0] * 30
    assert bundle.text() == MERGED
    with open(log, encoding="utf-8") as f:
        assert f.read().count(" rewritten\n") == 1


def test_closed_standard_streams(tmp_path):
    """The container's file must not become the place where messages go."""
    bundle = make_bundle(tmp_path, '{"nameservers":["x"]}')
    state = tmp_path / "state"
    state.write_text(bundle.state())
    subprocess.run(["sh", "-c", f"{oci.fairlead_hook()} <{state} >&- 2>&-"], check=True, timeout=slower(20))
    assert bundle.text() == oci.RESOLV_CONF
    subprocess.run(["sh", "-c", f"{oci.fairlead_hook()} <&- >&- 2>&-"], check=True, timeout=slower(20))


# ---- refusals ----

@pytest.mark.parametrize("annotations,why", [
    ({"config": "{"}, "annotation dns.fairlead.dev/config is no JSON: line 1, column 1"),
    ({"config": '{"nameservers":["not-an-address"]}'},
     'annotation dns.fairlead.dev/config is refused: dnsConfig.nameservers[0] "not-an-address": '),
    ({"config": '{"options":[{"name":"a\\nnameserver 203.0.113.66"}]}'},
     "annotation dns.fairlead.dev/config is refused: dnsConfig.options[0]"),
    ({"config": '{"options":[{"name":"ndots","value":2}]}'},
     "annotation dns.fairlead.dev/config is refused: dnsConfig.options[0].value is no text"),
    ({"config": "{}", "policy": "None"}, "annotation dns.fairlead.dev/config is refused: dnsConfig.nameservers"),
    ({"config": None, "policy": "None"}, "annotation dns.fairlead.dev/policy is given without"),
    ({"policy": "ClusterFirst"}, "annotation dns.fairlead.dev/policy is 'ClusterFirst'; it may be "),
    ({"profile": "x"}, "annotation dns.fairlead.dev/profile is 'x'; it may be "),
    ({"libc": "x"}, "annotation dns.fairlead.dev/libc is 'x'; it may be "),
])
def test_refused_annotations(tmp_path, annotations, why):
    bundle = make_bundle(tmp_path, **annotations)
    assert refused(bundle.state()).startswith(why)
    assert bundle.text() == oci.RESOLV_CONF
    status, error = run_hook(bundle.state(), "--fail")
    assert status == 1 and why in error
    assert bundle.text() == oci.RESOLV_CONF


@pytest.mark.parametrize("state,why", [
    ("", "the container's state is no JSON"),
    ("null", "the container's state is no JSON"),
    ("[]", "the container's state is no JSON object"),
    ("{}", "'bundle' of the container's state is no absolute path"),
    ("{" * 100000, "the container's state is no JSON"),
    ('{"a":"' + "a" * (1 << 20) + '"}', "cannot read the container's state: limit exceeded"),
    ('{"bundle":"/none"}', "cannot open '/none': No such file or directory"),
    ('{"bundle":"/dev/null"}', "cannot open '/dev/null': Not a directory"),
], ids=["empty", "null", "list", "no-bundle", "deep", "long", "missing", "file"])
def test_states_that_are_none(state, why):
    assert refused(state).startswith(why)
    assert run_hook(state, "--fail")[0] == 1


def test_random_states_never_crash(tmp_path):
    bundle = make_bundle(tmp_path)
    rng = random.Random(7)
    good = bundle.state()
    for _ in range(200):
        bad = list(good)
        for _ in range(rng.randrange(1, 6)):
            bad[rng.randrange(len(bad))] = rng.choice('{}[]":,\\x0\n/.')
        assert run_hook("".join(bad))[0] == 0


# ---- hostile bundles ----

def plant_directory(path):
    os.mkdir(path)


def plant_socket(path):
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(os.path.relpath(path))


def plant_big(path):
    with open(path, "w", encoding="ascii") as f:
        f.truncate(8 << 20)


def plant_link(path):
    os.symlink("/etc/passwd", path)


CONFIG_TRAPS = [
    (lambda path: None, "No such file or directory"),
    (plant_link, "'config.json' is a symbolic link"),
    (os.mkfifo, "'config.json' is a named pipe"),
    (plant_directory, "'config.json' is a directory"),
    (plant_big, "'config.json' has 8388608 bytes; 4194304 is the limit"),
]
SOURCE_TRAPS = [
    (lambda path: None, "No such file or directory"),
    (plant_link, "resolv.conf' is a symbolic link"),
    (os.mkfifo, "resolv.conf' is a named pipe"),
    (plant_directory, "resolv.conf' is a directory"),
    (plant_socket, "resolv.conf' is a socket"),
    (plant_big, "resolv.conf' has 8388608 bytes; 4096 is the limit"),
]


@pytest.mark.parametrize("plant,why", CONFIG_TRAPS)
def test_hostile_configurations(tmp_path, plant, why):
    bundle = make_bundle(tmp_path)
    os.unlink(tmp_path / "config.json")
    plant(str(tmp_path / "config.json"))
    assert why in refused(bundle.state())
    assert bundle.text() == oci.RESOLV_CONF


@pytest.mark.parametrize("plant,why", SOURCE_TRAPS)
def test_hostile_sources(tmp_path, plant, why):
    bundle = make_bundle(tmp_path)
    os.unlink(bundle.source)
    plant(bundle.source)
    assert why in refused(bundle.state())


@pytest.mark.parametrize("text,why", [
    ("{", "config.json is no JSON"),
    ("[]", "config.json is no JSON object"),
    ("{}", "the container has no mount at /etc/resolv.conf"),
    ('{"mounts":[{"destination":"/etc/resolv.conf","type":"tmpfs","source":"tmpfs"}]}', "is no bind mount"),
    ('{"mounts":[{"destination":"/etc/resolv.conf","type":"bind","source":"../resolv.conf"}]}', "goes up by '..'"),
    ('{"mounts":[{"destination":"/etc/resolv.conf","type":"bind","source":"/etc/passwd"}]}',
     "'/etc/passwd' is not named resolv.conf"),
    ('{"mounts":[{"destination":"/etc/resolv.conf","type":"bind","source":"rootfs/etc/resolv.conf"}]}',
     "leads over a symbolic link in the bundle"),
])
def test_hostile_mounts(tmp_path, text, why):
    bundle = make_bundle(tmp_path)
    victim = tmp_path / "victim"
    victim.mkdir()
    (victim / "resolv.conf").write_text(oci.RESOLV_CONF)
    (tmp_path / "rootfs").mkdir()
    os.symlink(victim, tmp_path / "rootfs" / "etc")
    (tmp_path / "config.json").write_text(text)
    assert why in refused(bundle.state())
    assert (victim / "resolv.conf").read_text() == oci.RESOLV_CONF == bundle.text()


def test_hard_links_and_other_files(tmp_path):
    bundle = make_bundle(tmp_path)
    os.link(bundle.source, tmp_path / "second-name")
    assert refused(bundle.state()).endswith("has more than one name (hard links)")
    os.unlink(tmp_path / "second-name")
    with open(bundle.source, "w", encoding="ascii") as f:
        f.write("root:x:0:0:root:/root:/bin/sh\n")
    assert refused(bundle.state()).endswith("does not look like a resolver file")
    assert bundle.text() == "root:x:0:0:root:/root:/bin/sh\n"


# ---- files of others ----

CRIO, CONTAINERD, MANAGER = "io.kubernetes.cri-o.SandboxID", "io.kubernetes.cri.sandbox-id", "io.container.manager"
NOT_STORED = "is neither in the bundle nor in a storage folder of the runtime (--storage-root)"
NOT_OURS = "is in the folder neither of this container nor of its sandbox"


def mount(bundle, source, *options):
    """Another file at /etc/resolv.conf; it is made if there is none."""
    bundle.source = str(source)
    if not os.path.exists(source):
        os.makedirs(os.path.dirname(source), exist_ok=True)
        with open(source, "w", encoding="ascii") as f:
            f.write(oci.RESOLV_CONF)
    bundle.config["mounts"][-1].update(source=bundle.source, options=["rbind", *options])
    bundle.write()


@pytest.mark.parametrize("options", [[], ["ro"]])
@pytest.mark.parametrize("policy", ["Default", "None"])
def test_files_that_a_pod_may_only_read(tmp_path, options, policy):
    """kubelet's --resolv-conf and a file of another pod's, mounted read-only as hostPath: the hook has root's rights."""
    bundle = make_bundle(tmp_path / "bundle", SEED, policy=policy)
    for source in ("kubelet/resolv.conf", "other/userdata/resolv.conf", "c1/userdata/resolv.conf"):
        mount(bundle, tmp_path / source, *options)
        assert refused(bundle.state()) == f"'{bundle.source}' {NOT_STORED}"
        assert bundle.text() == oci.RESOLV_CONF


@pytest.mark.parametrize("annotations,folder,why", [
    ({}, "c1/userdata", None),
    ({}, "c1", None),
    ({}, "other/userdata", NOT_OURS),
    ({}, "other/c1/deeper", NOT_OURS),
    ({}, "userdata", NOT_OURS),
    ({CRIO: "s1", MANAGER: "cri-o"}, "overlay-containers/s1/userdata", None),
    ({CRIO: "s1", MANAGER: "cri-o"}, "overlay-containers/c1/userdata", None),
    ({CRIO: "s1", MANAGER: "cri-o"}, "overlay-containers/other/userdata", NOT_OURS),
    ({CRIO: "s1", MANAGER: "cri-o", CONTAINERD: "other"}, "overlay-containers/other/userdata", "name different sandboxes"),
    ({CONTAINERD: "s1"}, "sandboxes/s1", None),
    ({CONTAINERD: "s1"}, "sandboxes/other", NOT_OURS),
    ({CONTAINERD: "s1", MANAGER: "libpod"}, "sandboxes/other", NOT_OURS),
    # podman: `run --network container:other`, and who starts that may start any
    ({MANAGER: "libpod"}, "overlay-containers/other/userdata", None),
    ({MANAGER: "libpod", CRIO: "pod1"}, "overlay-containers/infra/userdata", None),
])
def test_files_of_other_pods(tmp_path, annotations, folder, why):
    bundle = oci.Bundle(tmp_path / "bundle", annotations={CONFIG: POD, **annotations})
    root = tmp_path / "storage"
    mount(bundle, root / folder / "resolv.conf", "ro")
    flags = "--storage-root", "/nowhere", "--storage-root", str(root)
    if why is None:
        assert run_hook(bundle.state(), *flags) == (0, "")
        assert bundle.text() == MERGED
    else:
        assert refused(bundle.state(), *flags).endswith(why)
        assert bundle.text() == oci.RESOLV_CONF


@needs_root()
@pytest.mark.parametrize("folder,stored", [
    ("/run/containers/storage/overlay-containers/c1/userdata", True),
    ("/var/lib/containers/storage/overlay-containers/c1/userdata", True),
    ("/run/containerd/x/c1", True),
    ("/var/lib/containerd/io.containerd.grpc.v1.cri/sandboxes/c1", True),
    ("/run/user/0/containers/overlay-containers/c1/userdata", True),
    ("/run/user/1000/containers/overlay-containers/c1/userdata", False),
    ("/var/lib/kubelet/pods/c1", False),
    ("/var/lib/c1", False),
])
def test_storage_folders_by_default(tmp_path, folder, stored):
    bundle = make_bundle(tmp_path)
    text = tmp_path / "text"
    bundle.config["mounts"][-1]["source"] = folder + "/resolv.conf"
    bundle.write()
    before = in_mount_namespace(f"mount -t tmpfs tmpfs /run; mount -t tmpfs tmpfs /var/lib; mkdir -p {folder}; "
                                f"cp {tmp_path}/pod/resolv.conf {folder}/resolv.conf") + \
        ["sh", "-c", f'"$@"; s=$?; cat {folder}/resolv.conf > {text}; exit $s', "sh"]
    if stored:
        assert run_hook(bundle.state(), before=before) == (0, "")
    else:
        assert refused(bundle.state(), before=before).endswith(NOT_STORED)
    assert text.read_text() == (MERGED if stored else oci.RESOLV_CONF)


@needs_root()
def test_storage_of_podman_without_root(tmp_path):
    """Root of a user namespace: the folder has the number of the user outside of it."""
    bundle = make_bundle(tmp_path)
    run = tmp_path / "run"
    folder = "user/1000/containers/overlay-containers/c1/userdata"
    bundle.config["mounts"][-1]["source"] = f"/run/{folder}/resolv.conf"
    bundle.write()
    # Users cannot enter the test's own folder: what they need is in /run.
    before = in_mount_namespace(
        f"mkdir -p {run}/bundle {run}/{os.path.dirname(folder)}; cp -r {tmp_path}/pod {run}/{folder}; "
        f"cp {tmp_path}/config.json {run}/bundle; cp {oci.fairlead_hook()} {run}/hook; chown -R 1000:1000 {run}; "
        f"mount --bind {run} /run; cd /") + \
        ["setpriv", "--reuid", "1000", "--regid", "1000", "--clear-groups", "unshare", "-U", "-r"]
    done = subprocess.run([*before, "true"], stderr=subprocess.PIPE, text=True, timeout=slower(20))
    if done.returncode != 0:
        pytest.skip(f"this machine has no user namespaces for users: {done.stderr}")
    shutil.rmtree(run)
    assert run_hook(bundle.state(bundle="/run/bundle"), before=[*before, "sh", "-c", "exec /run/hook"]) == (0, "")
    assert (run / folder / "resolv.conf").read_text() == MERGED


@needs_root()
def test_links_of_others(tmp_path):
    bundle = make_bundle(tmp_path / "bundle")
    moved = tmp_path / "moved"
    moved.mkdir()
    shutil.move(os.path.dirname(bundle.source), moved / "c1")
    os.symlink(moved, tmp_path / "storage")
    mount(bundle, tmp_path / "storage" / "c1" / "resolv.conf")
    os.chown(tmp_path / "storage", 12345, 12345, follow_symlinks=False)
    flags = "--storage-root", str(tmp_path / "storage")
    assert refused(bundle.state(), *flags).endswith("leads over a symbolic link that is not root's")
    assert bundle.text() == oci.RESOLV_CONF
    # As administrators do when they move a runtime's storage.
    os.chown(tmp_path / "storage", 0, 0, follow_symlinks=False)
    assert run_hook(bundle.state(), *flags) == (0, "")
    assert bundle.text() == MERGED


def in_mount_namespace(script):
    return ["unshare", "-m", "--propagation", "private", "sh", "-ec", script + '\nexec "$@"', "sh"]


@needs_root()
def test_the_node_s_own_file(tmp_path):
    """Under its own name, and as another bind mount of it."""
    bundle = make_bundle(tmp_path)
    before = in_mount_namespace(f"touch /etc/resolv.conf; mount --bind {bundle.source} /etc/resolv.conf")
    for source in ("/etc/resolv.conf", bundle.source):
        bundle.config["mounts"][-1]["source"] = source
        bundle.write()
        assert refused(bundle.state(), before=before) == f"'{source}' is the resolver file of the node itself"
        assert bundle.text() == oci.RESOLV_CONF


@needs_root()
def test_read_only_mounts(tmp_path):
    bundle = make_bundle(tmp_path)
    folder = os.path.dirname(bundle.source)
    before = in_mount_namespace(f"mount --bind {folder} {folder}; mount -o remount,bind,ro {folder}")
    assert refused(bundle.state(), before=before) == f"cannot open '{bundle.source}': Read-only file system"
    assert bundle.text() == oci.RESOLV_CONF


def test_a_lock_that_the_container_keeps(tmp_path):
    bundle = make_bundle(tmp_path)
    with open(bundle.source, encoding="ascii") as f:
        fcntl.flock(f, fcntl.LOCK_SH)
        begin = time.monotonic()
        assert refused(bundle.state()) == "another process keeps the file locked"
        assert time.monotonic() - begin < slower(5)
    assert bundle.text() == oci.RESOLV_CONF


# ---- faults while the file is written ----

@needs_root()
@pytest.mark.parametrize("fallocate", ["", "-e inject=fallocate:error=EOPNOTSUPP"])
def test_full_disk(tmp_path, fallocate):
    """An empty file on a file system without a free page; with space reserved before, and without that."""
    if fallocate and (shutil.which("strace") is None or sanitizer()):
        pytest.skip("needs strace, and a build without sanitizers")
    bundle = make_bundle(tmp_path)
    folder = os.path.dirname(bundle.source)
    result = tmp_path / "result"
    before = in_mount_namespace(f"mount -t tmpfs -o size=8k tmpfs {folder}; : > {bundle.source}\n"
                                f"dd if=/dev/zero of={folder}/fill bs=4k 2>/dev/null || true") + \
        ["sh", "-c", '"$@"; s=$?; cat "$0" > ' + str(result) + "; exit $s", bundle.source]
    if fallocate:
        before += ["strace", "-qq", "-o", "/dev/null", *fallocate.split()]
    why = refused(bundle.state(), before=before)
    assert why.endswith(os.strerror(errno.ENOSPC)) and "could not be written back" not in why
    assert result.read_text() == ""


@strace
def test_half_a_write_is_undone(tmp_path):
    """The kernel writes 70 bytes and no more: a limit on file sizes, on a file system that cannot reserve space."""
    bundle = make_bundle(tmp_path, '{"searches":["a-rather-long-search-domain.example"]}')
    assert len(oci.RESOLV_CONF) < 70
    why = refused(bundle.state(), before=["prlimit", "--fsize=70", "strace", "-qq", "-o", "/dev/null", "-e",
                                          "inject=fallocate:error=EOPNOTSUPP"])
    assert why.startswith("cannot write the file: ") and "could not be written back" not in why
    assert bundle.text() == oci.RESOLV_CONF


@strace
@pytest.mark.parametrize("call,text", [
    ("pwrite64", oci.RESOLV_CONF),
    ("ftruncate", "nameserver 192.0.2.9\n"),
])
def test_killed_while_it_writes(tmp_path, call, text):
    """Before the write: the old text. Between the write and the cut: the new one, and empty lines."""
    config = '{"nameservers":["192.0.2.9"]}'
    bundle = make_bundle(tmp_path, config, policy="None")
    done = subprocess.run(["strace", "-qq", "-o", "/dev/null", "-e", f"inject={call}:signal=KILL:error=EINTR:when=1",
                           oci.fairlead_hook()], input=bundle.state(), text=True, timeout=slower(20))
    assert done.returncode != 0
    got = bundle.text()
    assert got.rstrip("\n") == text.rstrip("\n") and len(got) == len(oci.RESOLV_CONF)
    # The next container puts it right.
    assert run_hook(bundle.state(), "--fail")[0] == 0
    assert bundle.text() == "nameserver 192.0.2.9\n"


@strace
def test_killed_before_a_longer_text(tmp_path):
    """A text that is longer than the old one: the file has its length before it has its beginning, so that no reader gets it cut."""
    domains = [f"d{i}.example" for i in range(20)]
    longer = f"nameserver 192.0.2.9\nsearch {' '.join(domains)}\n"
    config = json.dumps({"nameservers": ["192.0.2.9"], "searches": domains})
    bundle = make_bundle(tmp_path, config, policy="None")
    done = subprocess.run(["strace", "-qq", "-o", "/dev/null", "-e", "inject=pwrite64:signal=KILL:error=EINTR:when=2",
                           oci.fairlead_hook()], input=bundle.state(), text=True, timeout=slower(20))
    assert done.returncode != 0
    assert bundle.text() == oci.RESOLV_CONF + "\n" * (len(longer) - len(oci.RESOLV_CONF))
    assert run_hook(bundle.state(), "--fail")[0] == 0
    assert bundle.text() == longer
