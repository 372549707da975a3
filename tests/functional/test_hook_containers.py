# SPDX-License-Identifier: GPL-3.0-or-later
"""fairlead-hook in real containers: runc and crun at each stage of the OCI specification that can be used, and podman with
its hooks.d folder, also for pods. Where the machine cannot run containers these tests are skipped with the runtime's own
reason, and the summary says so."""
import json
import os
import re
import shutil
import subprocess

import pytest

from helpers import eventually, slower
from lib import oci, server
from lib.libc import lookup_program
from test_hook import CONFIG, MERGED, POD, POLICY, SEED, SEED_FILE

RUNTIMES = ("runc", "crun")
STAGES = ("createRuntime", "createContainer", "prestart")
IMAGE = "localhost/busybox:1"


@pytest.fixture(params=RUNTIMES, scope="module")
def runtime(request, tmp_path_factory):
    made = oci.Runtime(request.param, tmp_path_factory.mktemp("state"))
    why = made.why_not(tmp_path_factory.mktemp("probe"))
    if why:
        pytest.skip(f"THIS MACHINE CANNOT RUN CONTAINERS WITH {request.param}: {why}")
    return made


@pytest.fixture(scope="module")
def rootfs(tmp_path_factory):
    return oci.make_rootfs(str(tmp_path_factory.mktemp("image") / "rootfs"))


def hooks_at(stage, *flags):
    return {stage: [{"path": oci.fairlead_hook(), "args": ["fairlead-hook", *flags]}]}


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("annotations,want", [
    ({CONFIG: POD}, MERGED),
    ({CONFIG: SEED, POLICY: "None"}, SEED_FILE),
    ({}, oci.RESOLV_CONF),
], ids=["merged", "replaced", "not-asked"])
def test_a_container_sees_the_new_file(runtime, rootfs, tmp_path, stage, annotations, want):
    bundle = oci.Bundle(tmp_path, annotations=annotations, hooks=hooks_at(stage, "--fail"), rootfs=rootfs)
    inode = os.stat(bundle.source).st_ino
    done = runtime.run(bundle)
    assert (done.returncode, done.stdout) == (0, want), done.stderr
    assert os.stat(bundle.source).st_ino == inode


def test_a_refusal_and_the_container(runtime, rootfs, tmp_path):
    """It starts with its file as it was; with --fail it does not start, and the runtime shows why."""
    bad = {CONFIG: '{"nameservers":["nowhere"]}'}
    bundle = oci.Bundle(tmp_path / "a", annotations=bad, hooks=hooks_at("createRuntime"), rootfs=rootfs)
    done = runtime.run(bundle)
    assert (done.returncode, done.stdout) == (0, oci.RESOLV_CONF), done.stderr
    bundle = oci.Bundle(tmp_path / "b", annotations=bad, hooks=hooks_at("createRuntime", "--fail"), rootfs=rootfs)
    done = runtime.run(bundle)
    assert done.returncode != 0 and done.stdout == ""
    if runtime.name == "runc":  # crun says that a hook failed, and leaves its words to whoever started crun
        assert "dnsConfig.nameservers[0]" in done.stderr
    assert bundle.text() == oci.RESOLV_CONF


def test_containers_of_a_pod_agree(runtime, rootfs, tmp_path):
    """One that runs already sees what the hook writes for the next; a third changes nothing."""
    first = oci.Bundle(tmp_path / "first", args=["sh", "-c", "echo started; read line; cat /etc/resolv.conf"], rootfs=rootfs)
    command = [*runtime.command, "run", "--bundle", first.path, f"fairlead-{os.getpid()}-first"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout.readline() == "started\n"
        for name in ("second", "third"):
            # The file is the first one's, in its folder `pod`: as CRI-O and containerd say whose sandbox it is.
            other = oci.Bundle(tmp_path / name, annotations={CONFIG: POD, "io.kubernetes.cri-o.SandboxID": "pod"},
                               hooks=hooks_at("createRuntime", "--fail", "--storage-root", first.path),
                               rootfs=rootfs, source=first.source)
            done = runtime.run(other)
            assert (done.returncode, done.stdout) == (0, MERGED), done.stderr
            if name == "second":
                written = os.stat(first.source).st_mtime_ns
        assert os.stat(first.source).st_mtime_ns == written
        out, _ = running.communicate("go on\n", timeout=slower(30))
    assert out == MERGED


@pytest.fixture(params=["gcc", "musl-gcc"])
def lookup_rootfs(request, tmp_path):
    """A root with a program that calls getaddrinfo, of glibc with its libraries or of musl."""
    root = oci.make_rootfs(str(tmp_path / "rootfs"))
    program = lookup_program(request.param, os.path.join(root, "bin", "lookup"))
    if request.param == "gcc":
        needed = subprocess.run(["ldd", program], stdout=subprocess.PIPE, text=True, check=True).stdout
        for path in re.findall(r"(/\S+) \(0x", needed):
            os.makedirs(root + os.path.dirname(path), exist_ok=True)
            shutil.copy(path, root + path)
    return root


def test_name_server_and_search_domain_take_effect(runtime, lookup_rootfs, tmp_path):
    """The C libraries of the container ask the server of the annotation, for names below its search domain."""
    address = f"127.{os.getpid() % 250 + 2}.{os.getpid() // 250 % 250}.53"
    conf = tmp_path / "Corefile"
    conf.write_text(f""".:53 {{
        bind {address}
        template IN A pod.example {{
            match ^web\\.pod\\.example\\.$
            answer "{{{{ .Name }}}} 60 IN A 192.0.2.80"
        }}
        template IN AAAA pod.example {{
            match ^web\\.pod\\.example\\.$
            rcode NOERROR
        }}
        template IN ANY . {{
            rcode NXDOMAIN
        }}
    }}""")
    config = json.dumps({"nameservers": [address], "searches": ["pod.example"], "options": [{"name": "ndots", "value": "1"}]})
    with subprocess.Popen([*server.fairlead(), "-conf", str(conf)], stdout=subprocess.PIPE, text=True) as dns:
        try:
            assert dns.stdout.readline() == ".:53 on " + address + "\n"
            for annotations, want in (({CONFIG: config, POLICY: "None"}, "192.0.2.80\n"), ({}, None)):
                bundle = oci.Bundle(tmp_path / f"{len(annotations)}", args=["lookup", "web"], annotations=annotations,
                                    hooks=hooks_at("createRuntime", "--fail"), rootfs=lookup_rootfs)
                with open(bundle.source, "w", encoding="ascii") as f:
                    f.write(f"nameserver {address}\nsearch node.example\n")
                done = runtime.run(bundle)
                assert done.returncode == 0, done.stderr
                assert done.stdout == want if want else done.stdout.startswith("error "), done.stdout
        finally:
            dns.terminate()


# ---- podman ----

@pytest.fixture(params=RUNTIMES, scope="module")
def podman(request, tmp_path_factory):
    missing = oci.missing_programs("podman", request.param, "busybox", "unshare", "nsenter", "ip")
    if missing or os.geteuid() != 0:
        pytest.skip(f"THIS MACHINE CANNOT RUN podman: {', '.join(missing) or 'not root'}")
    folder = tmp_path_factory.mktemp("podman")
    hooks = folder / "hooks.d"
    hooks.mkdir()
    # As docs/oci-hook.md installs it.
    with open(hooks / "fairlead-hook.json", "wb") as f:
        subprocess.run([oci.fairlead_hook(), "--log", str(folder / "hook.log"), "--print-hooks-d"], stdout=f, check=True)
    made = oci.Podman(folder, request.param, hooks)
    done = made.import_image(IMAGE) if made.error is None else None
    if done is None or done.returncode != 0:
        made.close()
        pytest.skip(f"THIS MACHINE CANNOT RUN podman: {made.error or done.stderr}")
    done = made("run", "--rm", "--network", "host", IMAGE, "/bin/true")
    if done.returncode != 0:
        made.close()
        pytest.skip(f"THIS MACHINE CANNOT RUN CONTAINERS WITH podman and {request.param}: {done.stderr}")
    yield made
    made.close()


def annotation(key, value):
    """podman reads the flag as CSV."""
    return "--annotation", '"' + f"{key}={value}".replace('"', '""') + '"'


def hook_log(podman):
    path = os.path.join(podman.folder, "hook.log")
    if not os.path.exists(path):
        return ""
    with open(path, encoding="utf-8") as f:
        return f.read()


def test_podman_runs_the_hook_by_annotation(podman):
    run = ["run", "--rm", "--network", "host", "--dns", "192.0.2.53", "--dns-search", "podman.example"]
    done = podman(*run, IMAGE, "/bin/cat", "/etc/resolv.conf")
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == ["nameserver 192.0.2.53", "search podman.example"]
    before = hook_log(podman)
    done = podman(*run, *annotation(CONFIG, POD), IMAGE, "/bin/cat", "/etc/resolv.conf")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "nameserver 192.0.2.53\nsearch podman.example pod.example\noptions ndots:2\n"
    assert hook_log(podman)[len(before):].endswith("/resolv.conf rewritten\n")
    done = podman(*run, *annotation(CONFIG, SEED), *annotation(POLICY, "None"), IMAGE, "/bin/cat", "/etc/resolv.conf")
    assert done.stdout == SEED_FILE


def play(podman, pod, container):
    """The logs of a pod's container that ends by itself."""
    path = podman.write(pod["metadata"]["name"] + ".json", json.dumps(pod))
    done = podman("kube", "play", path)
    assert done.returncode == 0, done.stderr
    name = f"{pod['metadata']['name']}-{container}"
    eventually(lambda: podman("inspect", "--format", "{{.State.Status}}", name).stdout == "exited\n", 30, "end of the container")
    return podman("logs", name).stdout


def make_pod(name, annotations=None, containers=1, **spec):
    return {
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": "ns1", "annotations": annotations or {}},
        "spec": {"restartPolicy": "Never", **spec, "containers": [
            {"name": f"c{i}", "image": IMAGE, "imagePullPolicy": "Never", "command": ["/bin/cat", "/etc/resolv.conf"]}
            for i in range(containers)]},
    }


def parse_file(text):
    """{keyword: words}: podman writes the lines in another order (PD-17)."""
    found = {}
    for line in text.splitlines():
        keyword, *words = line.split()
        found.setdefault(keyword, []).extend(words)
    return found


def test_kube_play_of_the_seed_s_sample_pod(podman):
    """PD-21: a runtime that is not ours makes the file of it that the core makes (test_hook.py), and the hook finds
    nothing to add."""
    sample = {"dnsPolicy": "None", "dnsConfig": json.loads(SEED)}
    text = play(podman, make_pod("sample", **sample), "c0")
    assert parse_file(text) == parse_file(SEED_FILE)
    text = play(podman, make_pod("hooked", {CONFIG: "{}"}, **sample), "c0")
    assert text == SEED_FILE


def test_kube_play_of_a_pod_with_two_containers(podman):
    """Both have the file of the pod; the second finds it as it should be."""
    before = hook_log(podman)
    # podman 4.3 refuses annotations of more than 63 characters in a manifest.
    pod = make_pod("two", {CONFIG: '{"searches":["pod.example"]}'}, containers=2, dnsPolicy="None",
                   dnsConfig={"nameservers": ["192.0.2.7"]})
    first = play(podman, pod, "c0")
    assert first == "nameserver 192.0.2.7\nsearch pod.example\n"
    eventually(lambda: podman("logs", "two-c1").stdout == first, 30, "the second container's file")
    assert hook_log(podman)[len(before):].count("rewritten") == 1
