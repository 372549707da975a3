# SPDX-License-Identifier: GPL-3.0-or-later
"""Transcripts of kubectl: the files of tests/kube/kubectl, one scenario each, run against an API server.

    ## a remark
    $ kubectl create cm a             a shell command; the scenario's own namespace is the default one
    > more of it                      further lines, as of a here document
    configmap/a created               what the real server made it print (standard output and error together)
    [1]                               its exit status, where it is not 0
    ! logs                            a difference by its name in docs/reference/embedded-api.md
    error: ...                        and what the embedded API makes it print instead

The folders 1.37 and 1.20 are kubectl's versions. What changes from run to run is masked. Commands find the functions of
helpers.sh, the manifests of files/ and, as objects/, those of tests/kube/objects.
"""
import difflib
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time

from crdlib import OBJECTS, apply_all
from lib import server
from lib.cluster import Child, Cluster, peer

FOLDER = os.path.join(server.ROOT, "tests", "kube", "kubectl")
DOCS = os.path.join(server.ROOT, "docs", "reference", "embedded-api.md")
PROGRAMS = {"1.37": "kubectl", "1.20": "kubectl-1.20"}
# Of kube-controller-manager: those whose work the embedded API does by itself.
CONTROLLERS = ("garbage-collector-controller,namespace-controller,endpoints-controller,endpointslice-controller,"
               "endpointslice-mirroring-controller")
STEP_SECONDS = 60
READY_SECONDS = 60


class Step:
    def __init__(self, command):
        self.command = command  # lines
        self.real = []
        self.name = None        # of the difference
        self.ours = None

    def expected(self):
        return self.real if self.ours is None else self.ours

    def text(self):
        lines = ["$ " + self.command[0]] + ["> " + line for line in self.command[1:]] + self.real
        if self.name:
            lines += ["! " + self.name] + self.ours
        return lines


def parse(path):
    """[remark or Step]"""
    steps = []
    with open(path, encoding="utf-8") as f:
        for line in f.read().splitlines():
            if line.startswith("## "):
                steps.append(line)
            elif line.startswith("$ "):
                steps.append(Step([line[2:]]))
            elif line.startswith("> "):
                steps[-1].command.append(line[2:])
            elif line.startswith("! "):
                steps[-1].name, steps[-1].ours = line[2:], []
            else:
                steps[-1].expected().append(line)
    return steps


def write(path, steps):
    lines = [line for s in steps for line in ([s] if isinstance(s, str) else s.text())]
    with open(path, "w", encoding="utf-8") as f:
        f.write("\n".join(lines) + "\n")


def scenarios():
    """[(version, name)]"""
    return [(v, f[:-len(".txt")]) for v in sorted(PROGRAMS, reverse=True)
            for f in sorted(os.listdir(os.path.join(FOLDER, v))) if f.endswith(".txt")]


def path_of(version, name):
    return os.path.join(FOLDER, version, name + ".txt")


def documented():
    """The names of the differences in the docs' table."""
    with open(DOCS, encoding="utf-8") as f:
        part = f.read().split("## Differences that kubectl shows\n")[1].split("\n## ")[0]
    return re.findall(r"(?m)^\| `([a-z0-9-]+)` \|", part)


# ---- masks ----

UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
MASKS = [(re.compile(pattern, re.M), by) for pattern, by in [
    (UUID, "UID"),
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "TIME"),
    (r"[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d [+-]\d{4}", "TIME"),
    (r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d+)?( [+-]\d{4} \w+)?", "TIME"),
    (r"^([EWI])\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ (\S+?):\d+\]", r"\1 \2]"),
    # Said or not, by chance, when a command stops watching.
    (r"^I reflector\.go\].*very short watch.*\n", ""),
    (r"(\"?resourceVersion\"?: *)\"\d+\"", r'\1"RV"'),
    (r"resourceVersion=\d+", "resourceVersion=RV"),
    (r"(Resource Version: +)\d+", r"\1RV"),
    (r"127\.0\.0\.1:\d+", "SERVER"),
    (r"\b10\.96\.\d+\.\d+\b", "ADDRESS"),
    (r"\b3[0-2]\d{3}\b", "PORT"),
    (r"/\S*kubectl-edit-\w+\.yaml", "EDITED"),
    (r"\b(LIVE|MERGED)-\d+", r"\1-N"),
    (r"\b(made|debugger)-\w{5}\b", r"\1-XXXXX"),
    (r"^(\S+)-[b-df-hj-np-tv-xz2456789]{5}(?= +IPv[46] )", r"\1-XXXXX"),  # slices that controllers made
    (r"\beyJ[\w.-]+", "TOKEN"),
    (r"(?<![\w.-])(\d+[smhd])+( ago)?(?=$|\s)", r"AGE\2"),
    (r"<invalid>", "AGE"),
    (r"(?<=\S)  +", "  "),
    (r" +$", ""),
]]


def mask(text, folder):
    text = text.replace(folder, "DIR")
    for pattern, by in MASKS:
        text = pattern.sub(by, text)
    return text


# ---- running ----

class Runner:
    """Runs commands as a user of one server would: a home folder and a kubeconfig of its own."""

    def __init__(self, url, ca, token):
        self.dir = tempfile.mkdtemp(prefix="fairlead-kubectl-")
        self.url, self.ca, self.token = url, ca, token
        shutil.copytree(os.path.join(FOLDER, "files"), os.path.join(self.dir, "files"))
        shutil.copytree(OBJECTS, os.path.join(self.dir, "objects"))
        for version, name in PROGRAMS.items():
            os.makedirs(os.path.join(self.dir, version, "bin"))
            os.symlink(peer(name), os.path.join(self.dir, version, "bin", "kubectl"))

    def close(self):
        shutil.rmtree(self.dir, ignore_errors=True)

    def config(self, version, namespace):
        path = os.path.join(self.dir, version, "config")
        config = {"apiVersion": "v1", "kind": "Config", "current-context": "here",
                  "clusters": [{"name": "here", "cluster": {"server": self.url, "certificate-authority": self.ca}}],
                  "users": [{"name": "me", "user": {"token": self.token}}],
                  "contexts": [{"name": "here", "context": {"cluster": "here", "user": "me", "namespace": namespace}}]}
        with open(path, "w", encoding="utf-8") as f:
            json.dump(config, f)
        os.chmod(path, 0o600)
        return path

    def run(self, version, namespace, command):
        """The lines it printed, masked."""
        home = os.path.join(self.dir, version)
        env = {"PATH": f"{home}/bin:/usr/bin:/bin", "HOME": home, "KUBECONFIG": self.config(version, namespace),
               "LANG": "C.UTF-8", "TMPDIR": self.dir, "TZ": "UTC"}
        script = f". {FOLDER}/helpers.sh\n" + "\n".join(command) + "\n"
        with subprocess.Popen(["/bin/sh", "-c", script], cwd=self.dir, env=env, stdin=subprocess.DEVNULL, process_group=0,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as shell:
            limit = threading.Timer(STEP_SECONDS, os.killpg, [shell.pid, signal.SIGKILL])
            limit.start()
            lines = mask(shell.stdout.read(), self.dir).splitlines()
            status = shell.wait()
            limit.cancel()
        return lines + ([f"[{status}]"] if status else [])

    def scenario(self, version, name, steps):
        """What each step printed."""
        namespace = f"{name}-{version.replace('.', '-')}"
        self.run(version, namespace, [f"kubectl create namespace {namespace}"])
        return [self.run(version, namespace, s.command) for s in steps if isinstance(s, Step)]


class RealCluster(Cluster):
    """With kube-controller-manager and the product's kinds."""

    manager = None

    def start(self):
        super().start()
        apply_all(self)
        self.manager = Child("kube-controller-manager", [
            peer("kube-controller-manager"), f"--kubeconfig={self.kubeconfig()}", f"--controllers={CONTROLLERS}",
            "--leader-elect=false", "--secure-port=0"], self.dir)
        self.wait_collector()

    def wait_collector(self):
        """Until something that lost its owner goes."""
        place = "/api/v1/namespaces/default/configmaps"
        owner = [{"apiVersion": "v1", "kind": "ConfigMap", "name": "gone", "uid": "00000000-0000-0000-0000-000000000001"}]
        self.call("POST", place, {"metadata": {"name": "owned", "ownerReferences": owner}})
        end = time.monotonic() + READY_SECONDS
        while self.call("GET", place + "/owned")[0] != 404:
            self.manager.check()
            assert time.monotonic() < end, "the garbage collector does not work"
            time.sleep(0.1)

    def stop(self):
        if self.manager is not None:
            self.manager.stop()
        super().stop()

    def runner(self):
        return Runner(self.url, self.ca, self.admin)


def difference(step, got):
    lines = list(difflib.unified_diff(step.expected(), got, n=1, lineterm=""))[2:]
    return "\n".join(["$ " + "\n> ".join(step.command), *("  " + line for line in lines)])
