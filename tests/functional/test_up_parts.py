# SPDX-License-Identifier: GPL-3.0-or-later
"""What `fairlead up` runs beside its API and DNS server: controllers, children, and what they cost at rest."""
import json
import os
import re
import signal
import ssl
import stat
import subprocess
import time
import urllib.request

import pytest

from helpers import eventually, sanitizer, status
from lib import server
from lib.ports import free_port
from test_up import DNS_OBJECT, OBJECTS, Up, addresses, run, start  # noqa: F401  pylint: disable=unused-import

IDLE_SECONDS = 5
RSS_MAX_KB = 30 * 1024
COPY = """apiVersion: v1
kind: ConfigMap
metadata: {name: fairlead-example, namespace: default}
data: {a: b}
---
apiVersion: v1
kind: Namespace
metadata: {name: wants, labels: {example.fairlead.dev/copy: "true"}}
"""


def refused(*arguments):
    done = subprocess.run([server.fairlead_program(), "up", *arguments], capture_output=True, text=True, timeout=30)
    assert done.returncode == 64, done.stdout + done.stderr
    return done.stderr


def registry():
    """Names of all controllers, and of those that run only by name, from --help."""
    text = subprocess.run([server.fairlead_program(), "up", "--help"], capture_output=True, text=True, timeout=30, check=True).stdout
    rows = re.findall(r"^  (\w+) +(.*)$", text.split("\ncontrollers:\n")[1], re.M)
    return [n for n, _ in rows], [n for n, help_text in rows if help_text.endswith("(only by name)")]


def controllers(up):
    return re.search(r"^controllers: (.*)$", run(up, "status"), re.M)[1]


def test_all_controllers_but_those_for_learning(start):
    names, by_name = registry()
    assert by_name == ["dnssource", "example"]
    assert controllers(start()) == ", ".join(n for n in names if n not in by_name)


def test_controllers_by_name(start):
    up = start("data", "--controllers", "*,example,-dnsoperator")
    assert "example" in controllers(up) and "dnsoperator" not in controllers(up)
    run(up, "apply", "-f", "-", text=COPY)
    eventually(lambda: "fairlead-example-copy" in run(up, "get", "cm", "-n", "wants"))
    # its file, in a private directory that was made on demand
    folder = os.path.join(up.data, "controllers", "example")
    eventually(lambda: os.path.exists(os.path.join(folder, "last-copy")))
    with open(os.path.join(folder, "last-copy"), encoding="utf-8") as f:
        assert f.read() == "wants\n"
    for path in (folder, os.path.dirname(folder)):
        assert stat.S_IMODE(os.stat(path).st_mode) == 0o700
    # nobody configures DNS from the object now
    run(up, "apply", "-f", "-", text=DNS_OBJECT.format(port=53, templates="[]"))
    assert addresses(up, "kubernetes.default.svc.cluster.local") == ["10.96.0.1"]
    assert "status" not in run(up, "get", "dnses", "default", "-o", "yaml")


def test_second_process_with_the_same_controller(start):
    """`fairlead controller` does not run beside the same controller of `fairlead up`, elected or not."""
    up = start("data", "--controllers", "example")
    words = [server.fairlead_program(), "controller", "--kubeconfig", os.path.join(up.data, "kubeconfig"), "--controllers", "example"]
    for more in ([], ["--no-election"]):
        done = subprocess.run([*words, *more], capture_output=True, text=True, timeout=60)
        assert done.returncode == 1 and "leading as" not in done.stdout
        assert "runs this controller already; to run it here, start that with --controllers '*,-example'" in done.stdout


LOOKING = """apiVersion: v1
kind: Namespace
metadata:
  name: {name}
  labels: {{example.fairlead.dev/copy: "true"}}
  annotations: {{example.fairlead.dev/lookup: {wanted}}}
"""


def found(up, name):
    """The addresses that the copy in this Namespace has."""
    items = json.loads(run(up, "get", "cm", "-n", name, "-o", "json"))["items"]
    notes = [i["metadata"].get("annotations", {}) for i in items if i["metadata"]["name"] == "fairlead-example-copy"]
    return notes and notes[0].get("example.fairlead.dev/addresses")


def test_lookups_right_after_the_start(start, tmp_path):
    """Controllers ask the DNS server of the same process: none of their lookups comes before it listens."""
    manifest = tmp_path / "objects.yaml"
    for i in range(3):
        name = f"looks-{i}"
        manifest.write_text(COPY + "---\n" + LOOKING.format(name=name, wanted="kubernetes.default.svc.cluster.local"))
        up = start("data", "--controllers", "*,example", "--load", str(manifest))
        assert eventually(lambda: found(up, name)) == "10.96.0.1"  # pylint: disable=cell-var-from-loop
        assert "refused" not in run(up, "get", "events", "-A"), run(up, "get", "events", "-A")
        up.stop()


def test_servers_for_lookups(start, tmp_path):
    """By a flag, and with a Corefile that listens elsewhere than --dns says."""
    conf = tmp_path / "Corefile"
    port = free_port()
    conf.write_text(f".:{port} {{\n    bind 127.0.0.1\n    hosts {{\n        192.0.2.7 own.example\n    }}\n}}\n")
    up = start("data", "--conf", str(conf), "--controllers", "example", "--lookup-servers", f"127.0.0.1:{port}")
    run(up, "apply", "-f", "-", text=COPY + "---\n" + LOOKING.format(name="looks", wanted="own.example"))
    assert eventually(lambda: found(up, "looks")) == "192.0.2.7"


def test_no_controllers(start):
    up = start("data", "--controllers", "")
    assert controllers(up) == "none" and not os.path.exists(os.path.join(up.data, "controllers"))


def test_own_corefile_leaves_the_operator_out(start, tmp_path):
    """Which would make another; the other controllers run."""
    names, by_name = registry()
    conf = tmp_path / "Corefile"
    conf.write_text(". {\n    bind 127.0.0.1\n    whoami\n}\n")
    up = start("data", "--conf", str(conf), "--controllers", "*")
    assert controllers(up) == (", ".join(n for n in names if n not in [*by_name, "dnsoperator"]) or "none")
    assert "makes the Corefile" in refused("--data", str(tmp_path / "x"), "--conf", str(conf), "--controllers", "dnsoperator")


def test_file_of_the_socket_in_the_way(start, tmp_path):
    """The start goes on without it."""
    (tmp_path / "data" / "up.sock" / "x").mkdir(parents=True, mode=0o700)
    os.chmod(tmp_path / "data", 0o700)
    up = start()
    assert "`fairlead status` will not report controllers and children" in up.text()
    assert addresses(up, "kubernetes.default.svc.cluster.local") == ["10.96.0.1"]


@pytest.mark.parametrize("arguments, said", [
    (["--controllers", "nonsense"], "unknown controller 'nonsense'"),
    (["--controllers", "-dnsoperator"], "write '*,-dnsoperator'"),
    (["--lookup-servers", "192.0.2.1"], "--lookup-servers: expected addresses with a port"),
    (["--pod-dns-servers", "192.0.2.1:53"], "--pod-dns-servers: expected at most 3 addresses such as 10.96.0.10"),
    (["--child", "node"], "expected NAME=PATH"),
    (["--child", "node=sleep 1"], "needs the path of a program"),
    (["--child", "a=/bin/true", "--child", "a=/bin/true"], "named twice"),
])
def test_bad_usage(arguments, said):
    assert said in refused(*arguments)


def child_line(up, code):
    return re.search(r"^child it: (.*)$", run(up, "status", status=code), re.M)[1]


def is_gone(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as f:
            return f.read().rsplit(")", 1)[1].split()[0] == "Z"  # of a parent that is not ours
    except OSError:
        return True


@pytest.mark.parametrize("sig", [signal.SIGTERM, signal.SIGKILL])
def test_child_runs_and_ends_with_its_parent(start, sig):
    up = start("data", "--child", "it=/bin/sleep 3600")
    pid = int(re.fullmatch(r"runs as process (\d+)", child_line(up, 0))[1])
    os.kill(pid, signal.SIGKILL)
    eventually(lambda: "was ended by signal 9" in status_text(up))
    eventually(lambda: "runs again" in child_line(up, 1))
    again = int(re.search(r"as process (\d+)", child_line(up, 1))[1])
    assert again != pid and is_gone(pid)
    up.stop(sig)
    eventually(lambda: is_gone(again))


def test_crash_loop_is_reported(start):
    up = start("data", "--child", "it=/bin/false", "--child", "other=/nonexistent/program")
    eventually(lambda: "ended with exit status 1, 2 times in a row" in status_text(up))
    report = run(up, "status", status=1)
    assert "child other: could not be started: '/nonexistent/program': No such file or directory" in report
    assert "2 problems" in report and "it ended with exit status 1; starting it again in 2.0 s" in up.text()
    # no zombies
    children = subprocess.run(["ps", "-o", "stat=", "--ppid", str(up.process.pid)], capture_output=True, text=True, check=False).stdout
    assert "Z" not in children
    assert addresses(up, "kubernetes.default.svc.cluster.local") == ["10.96.0.1"]


def status_text(up):
    """Whatever its exit status is."""
    return subprocess.run([server.fairlead_program(), "status", "--data", up.data], capture_output=True, text=True, timeout=60,
                          check=False).stdout


def revision(up):
    """Of the store: that of a list, whatever is in it."""
    with open(os.path.join(up.data, "kubeconfig"), encoding="utf-8") as f:
        token = re.search(r'token"?: "?([^"\s]+)', f.read())[1]
    request = urllib.request.Request(f"https://127.0.0.1:{up.api}/api/v1/configmaps?limit=1", headers={"Authorization": f"Bearer {token}"})
    with urllib.request.urlopen(request, context=ssl.create_default_context(cafile=os.path.join(up.data, "ca.crt"))) as reply:
        return int(json.load(reply)["metadata"]["resourceVersion"])


def settled_revision(up):
    """Once nothing was written for two seconds: what came of the last change is done."""
    last, since, end = revision(up), time.monotonic(), time.monotonic() + 60
    while time.monotonic() < since + 2:
        assert time.monotonic() < end, "writes without end"
        time.sleep(0.1)
        if (now := revision(up)) != last:
            last, since = now, time.monotonic()
    return last


@pytest.mark.alone
def test_at_rest(start, note):
    """All controllers, with objects that they care for: no writes, and at most 30 MB resident."""
    names, _ = registry()
    up = start("data", "--controllers", ",".join(names))
    run(up, "apply", "-f", "-", text=OBJECTS + "---\n" + COPY + "---\n" + DNS_OBJECT.format(port=53, templates="[]"))
    eventually(lambda: "fairlead-example-copy" in run(up, "get", "cm", "-n", "wants"))
    eventually(lambda: "all well" in status_text(up))
    before = settled_revision(up)
    run(up, "apply", "-f", "-", text="apiVersion: v1\nkind: ConfigMap\nmetadata: {name: counted}\n")
    assert revision(up) == before + 1  # so it counts
    before = settled_revision(up)
    time.sleep(IDLE_SECONDS)  # the time of the measurement
    rss, anon = status(up.process.pid, "VmRSS", "RssAnon")
    writes = revision(up) - before
    note(f"`fairlead up` at rest, {len(names)} controllers",
         f"VmRSS {rss} kB, RssAnon {anon} kB, {writes} writes in {IDLE_SECONDS} s")
    assert writes == 0
    if not sanitizer():
        assert rss <= RSS_MAX_KB


def dumps_core(process):
    """Ends by a signal: did it leave a core dump?"""
    process.send_signal(signal.SIGABRT)
    ended = os.waitpid(process.pid, 0)[1]
    process.returncode = -signal.SIGABRT
    assert os.WIFSIGNALED(ended)
    return os.WCOREDUMP(ended)


def test_no_core_dump(tmp_path, monkeypatch):
    """DR-P12: memory with Secrets of users is in no core dump, also where the system would make one."""
    monkeypatch.chdir(tmp_path)
    unlimited = ["prlimit", "--core=unlimited"]
    with subprocess.Popen([*unlimited, "sh", "-c", "echo started; exec sleep 60"], stdout=subprocess.PIPE) as other:
        other.stdout.readline()
        if not dumps_core(other):
            pytest.skip("this system makes no core dumps")
    assert not dumps_core(Up(tmp_path / "data", command=unlimited).process)
