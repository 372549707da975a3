# SPDX-License-Identifier: GPL-3.0-or-later
"""OP-34, OP-T17: `TemplateConfigurationApplied` says what servers run, and they are asked for it over DNS. Real servers,
each with a file of its own in which a thread puts the ConfigMap's text, as a kubelet does."""
import os
import random
import re
import signal
import socket
import subprocess
import threading
import time

import pytest

from controllerlib import Controller, until
from dnslib import answers, ask, coredns, fairlead
from lib import cluster
from lib.upstream import Upstream
from test_dnsoperator import DNS, LEGACY, Place, place, run, server  # noqa: F401 pylint: disable=unused-import
from test_dnsoperator_corefile import localise

FIRST = ".:53 {\n    whoami\n    reload 2s 1s\n}\n"
APPLIED = "TemplateConfigurationApplied"
MAP = "/api/v1/namespaces/kube-system/configmaps/coredns"
BACKUP = "dns.fairlead.dev/templates-backup"


class Kubelet:
    """Servers, and a thread that gives each the text of a ConfigMap; `change` may spoil it for one of them."""

    def __init__(self, p, kubeconfig, up, makers, where=("kube-system", "coredns"), change=lambda i, text: text):
        self.place, self.kubeconfig, self.where, self.change = p, kubeconfig, where, change
        self.servers = [make(self.local(i, FIRST), upstreams={"up": up}) for i, make in enumerate(makers)]
        self.ends = threading.Event()
        self.thread = threading.Thread(target=self.work, daemon=True)

    def local(self, i, text):
        text = re.sub(r"(?m)^    reload$", "    reload 2s 1s", localise(text, self.kubeconfig))
        return self.change(i, text)

    def takes(self, text):
        """Only the operator's Corefile, recognised by the record with its hash."""
        return "fairlead.internal" in text

    def work(self):
        while not self.ends.wait(0.02):
            text = self.place.text(*self.where)
            for i, s in enumerate(self.servers):
                new = s.fill(self.local(i, text))
                with open(s.conf, encoding="utf-8") as f:
                    if not self.takes(text) or f.read() == new:
                        continue
                with open(s.conf + ".new", "w", encoding="utf-8") as f:
                    f.write(new)
                os.rename(s.conf + ".new", s.conf)

    def addresses(self):
        return [f"127.0.0.1:{s.port()}" for s in self.servers]

    def __enter__(self):
        try:
            for s in self.servers:
                s.start()
            self.thread.start()
            return self
        except BaseException:
            self.__exit__()
            raise

    def __exit__(self, *_):
        self.ends.set()
        if self.thread.ident:
            self.thread.join(10)
        for s in self.servers:
            s.stop()


@pytest.fixture
def kubelet(place, tmp_path):  # noqa: F811 pylint: disable=redefined-outer-name
    with Upstream("*\n    rcode NXDOMAIN\n") as up:
        def make(makers, **more):
            return Kubelet(place, place.kubeconfig(str(tmp_path)), up, makers, **more)
        yield make


def template(i):
    return {**LEGACY, "zones": [f"z{i}.example.com"]}


SILENT = "They are down, or a network policy keeps the operator from their DNS port."


def told(place):
    """The Events about the existing object."""
    uid = place.done("GET", f"{DNS}/default")["metadata"]["uid"]
    return {(e["type"], e["reason"]) for e in place.done("GET", "/apis/events.k8s.io/v1/namespaces/default/events")["items"]
            if e["regarding"].get("uid") == uid}


@pytest.mark.alone
def test_all_of_three(place, run, kubelet, capsys):  # noqa: F811 pylint: disable=redefined-outer-name
    """A change until served and reported by all of 3; removal of templates; a settled operator that writes nothing."""
    with kubelet([fairlead] * 3) as k:
        p = run("--dns-instances", ",".join(k.addresses()))
        took = []
        for i in range(5):
            begin = time.monotonic()
            generation = place.dns({"templates": [template(i)]})
            until(lambda: f"All of 3 servers run generation {generation}." ==  # pylint: disable=cell-var-from-loop
                  place.conditions().get(APPLIED, {}).get("message"))
            took.append(time.monotonic() - begin)
            assert place.conditions()[APPLIED]["status"] == "True"
        assert max(took[1:]) < 2, took  # the first has the program's start in it
        with capsys.disabled():
            print(' [told after ' + ', '.join(f'{t * 1000:.0f}' for t in took) + ' ms]', end='')
        until(lambda: "z4.example.com" in place.done("GET", f"{DNS}/default")["metadata"].get("annotations", {}).get(BACKUP, ""))
        for i in range(3):
            before = p.looks()
            touched = place.done("PATCH", f"{DNS}/default", {"metadata": {"annotations": {"n": str(i)}}},
                                 "application/merge-patch+json")
            until(lambda: p.looks() > before)  # pylint: disable=cell-var-from-loop
            assert place.done("GET", f"{DNS}/default")["metadata"] == touched["metadata"]
        place.dns({})
        assert "z4.example.com" in open(k.servers[0].conf, encoding="utf-8").read()  # its kubelet keeps the last
        assert all(a in place.says(APPLIED, "False Updating") for a in k.addresses())


def test_stopped_and_back(place, run, kubelet):  # noqa: F811 pylint: disable=redefined-outer-name
    """Unreachable is unknown, and never true; it is asked until it is back."""
    with kubelet([fairlead, fairlead, coredns]) as k:
        run("--dns-instances", ",".join(k.addresses()))
        place.dns({"templates": [template(1)]})
        place.says(APPLIED, "True AsExpected")
        k.servers[1].process.terminate()
        k.servers[1].process.wait(20)
        place.dns({"templates": [template(2)]})
        message = place.says(APPLIED, "Unknown InstancesUnreachable")
        assert message == f"2 of 3 servers run generation 2; no answer from: {k.addresses()[1]}. {SILENT}"
        k.servers[1].start()
        assert place.says(APPLIED, "True AsExpected") == "All of 3 servers run generation 2."
        until(lambda: ("Normal", "TemplatesApplied") in told(place) and ("Warning", "InstancesUnreachable") in told(place))


class Follower(Kubelet):
    """Passes on all Corefiles, also one without templates."""

    def takes(self, text):
        return "kubernetes k8s.example.org" in text


def test_removed_while_one_is_silent(place, run, tmp_path):  # noqa: F811 pylint: disable=redefined-outer-name
    """A server that does not answer may still have the templates: their removal is not applied before it has answered."""
    with Upstream("*\n    rcode NXDOMAIN\n") as up, \
            Follower(place, place.kubeconfig(str(tmp_path)), up, [fairlead, coredns]) as k:
        run("--dns-instances", ",".join(k.addresses()))
        place.dns({"templates": [template(1)]})
        place.says(APPLIED, "True AsExpected")
        k.servers[0].process.send_signal(signal.SIGSTOP)
        try:
            place.dns({})
            until(lambda: "template" not in place.text())
            assert place.says(APPLIED, "Unknown InstancesUnreachable") == \
                f"1 of 2 servers have dropped the templates; no answer from: {k.addresses()[0]}. {SILENT}"
        finally:
            k.servers[0].process.send_signal(signal.SIGCONT)
        begin = time.monotonic()
        assert place.says(APPLIED, "True NoTemplates") == "There are no templates."
        assert time.monotonic() - begin < 5  # it reloads, too


def test_nothing_leaves_the_cluster(place, run, tmp_path):  # noqa: F811 pylint: disable=redefined-outer-name
    """Without templates the marker is answered by the servers themselves: not by upstreams, one of which is another cluster
    whose operator wrote a marker."""
    with Upstream("* TXT\n    answer {name} 0 IN TXT " + "ab" * 32 + "\n*\n    rcode NXDOMAIN\n") as up, \
            Follower(place, place.kubeconfig(str(tmp_path)), up, [fairlead, coredns]) as k:
        run("--dns-instances", ",".join(k.addresses()), "--dns-reload-time", "1s", "--dns-settle-time", "1s")
        place.dns({})
        place.says(APPLIED, "True NoTemplates")
        for i in (1, 2):
            place.dns({"templates": [template(i)]})
            place.says(APPLIED, "True AsExpected")
            place.dns({})
            place.says(APPLIED, "True NoTemplates")
        place.says("Degraded", "False AsExpected")
        assert not [q.name for q in up.asked() if "fairlead" in q.name]


class Erring(threading.Thread):
    """A server that runs the Corefile with this hash, and answers all questions with an error when it has none."""

    def __init__(self, code):
        super().__init__(daemon=True)
        self.code, self.hash, self.sock = code, None, socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.sock.bind(("127.0.0.1", 0))

    def run(self):
        while True:
            q, who = self.sock.recvfrom(4096)
            if not q:
                return
            if self.hash:
                record = b"\xc0\x0c\0\x10\0\1\0\0\0\0\0\x41\x40" + self.hash.encode()
                reply = q[:2] + b"\x84\0\0\1\0\1\0\0\0\0" + q[12:] + record
            else:
                reply = q[:2] + bytes([0x84, self.code]) + q[4:]
            self.sock.sendto(reply, who)

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.sock.sendto(b"", self.sock.getsockname())
        self.join(10)
        self.sock.close()


@pytest.mark.parametrize("code", [1, 2, 4, 5])
def test_removed_while_one_errs(place, run, code):  # noqa: F811 pylint: disable=redefined-outer-name
    """An error is no sign that a server dropped the templates; NXDOMAIN is."""
    with Erring(code) as s:
        run("--dns-instances", f"127.0.0.1:{s.sock.getsockname()[1]}")
        place.dns({"templates": [template(1)]})
        s.hash = until(lambda: re.search("IN TXT ([0-9a-f]{64})", place.text()))[1]
        place.says(APPLIED, "True AsExpected")
        s.hash = None
        place.dns({})
        until(lambda: "template" not in place.text())
        assert "does not show which configuration a server runs" in place.says(APPLIED, "Unknown InstancesUnreachable")
        s.code = 3
        place.says(APPLIED, "True NoTemplates")


@pytest.mark.alone
def test_comes_back_after_a_long_time(place, run, kubelet, capsys):  # noqa: F811 pylint: disable=redefined-outer-name
    """However long a server was silent, its return is reported within two seconds, although another one stays silent."""
    with kubelet([fairlead] * 3) as k:
        run("--dns-instances", ",".join(k.addresses()))
        begin = time.monotonic()
        place.dns({"templates": [template(1)]})
        place.says(APPLIED, "True AsExpected")
        for s in k.servers[1:]:
            s.process.send_signal(signal.SIGSTOP)
        try:
            place.dns({"templates": [template(2)]})
            place.says(APPLIED, "Unknown InstancesUnreachable")
            # questions were the rarer the older the text
            until(lambda: time.monotonic() - begin > 25, 40, 0.5)
            k.servers[1].process.send_signal(signal.SIGCONT)
            # its reload plugin has to come by first
            until(lambda: answers(ask(k.servers[1].port(), "x.z2.example.com", "AAAA")).get("AAAA"), 20)
            back = time.monotonic()
            until(lambda: place.conditions()[APPLIED]["message"].startswith("2 of 3 servers run generation 2;"))
            took = time.monotonic() - back
        finally:
            for s in k.servers[1:]:
                s.process.send_signal(signal.SIGCONT)
    with capsys.disabled():
        print(f" [told {took * 1000:.0f} ms after it answered]", end="")
    assert took < 2


class Rival(threading.Thread):
    """Another writer, which restores its own Corefile as often as the operator restores its."""

    def __init__(self, place, text):  # pylint: disable=redefined-outer-name
        super().__init__(daemon=True)
        self.place, self.ends, self.text = place, threading.Event(), text + "# rival\n"

    def run(self):
        while not self.ends.wait(0.01):
            if self.place.text() != self.text:
                self.place.call("PATCH", MAP, {"data": {"Corefile": self.text}}, "application/merge-patch+json")

    def stop(self):
        self.ends.set()
        self.join(10)


def test_contested(place, run, tmp_path):  # noqa: F811 pylint: disable=redefined-outer-name
    """While another writer has the ConfigMap, servers do not filter: Applied reports it at once, and Degraded the reason."""
    with Upstream("*\n    rcode NXDOMAIN\n") as up, \
            Follower(place, place.kubeconfig(str(tmp_path)), up, [fairlead]) as k:
        run("--dns-instances", ",".join(k.addresses()), "--dns-settle-time", "1s")
        place.dns({"templates": [template(1)]})
        place.says(APPLIED, "True AsExpected")
        without = re.sub(r"(?ms)^    template IN AAAA.*?^    \}\n|^config.fairlead.*?^\}\n", "", place.text())
        assert "template" not in without
        rival = Rival(place, without)
        rival.start()
        try:
            begin = time.monotonic()
            message = place.says(APPLIED, "False Updating")
            until(lambda: "Another writer keeps changing the ConfigMap kube-system/coredns;" in
                  place.conditions()[APPLIED]["message"])
            took = time.monotonic() - begin
            message = place.says("Degraded", "True DegradedConditions")
            assert "ConfigMapContested=True (ConfigMapContested: Another writer keeps changing the ConfigMap" in message
            assert place.conditions()[APPLIED]["status"] == "False"
        finally:
            rival.stop()
        assert took < 5
        place.dns({"templates": [template(2)]})  # a new text is written at once
        assert place.says(APPLIED, "True AsExpected") == "The only server runs generation 2."
        place.says("Degraded", "False AsExpected")


def test_contested_without_templates(place, run, tmp_path):  # noqa: F811 pylint: disable=redefined-outer-name
    """Another writer insists on templates that were removed: servers filter again, and Applied reports it."""
    with Upstream("*\n    rcode NXDOMAIN\n") as up, \
            Follower(place, place.kubeconfig(str(tmp_path)), up, [fairlead]) as k:
        run("--dns-instances", ",".join(k.addresses()))
        place.dns({"templates": [template(1)]})
        place.says(APPLIED, "True AsExpected")
        rival = Rival(place, place.text())
        place.dns({})
        place.says(APPLIED, "True NoTemplates")
        rival.start()
        try:
            until(lambda: answers(ask(k.servers[0].port(), "x.z1.example.com", "AAAA")).get("AAAA"))
            begin = time.monotonic()
            until(lambda: place.conditions()[APPLIED]["status"] == "False")
            took = time.monotonic() - begin
        finally:
            rival.stop()
        assert took < 5
        place.dns({"logLevel": "Debug"})
        place.says(APPLIED, "True NoTemplates")


def test_accepted_contested(place, run, tmp_path):  # noqa: F811 pylint: disable=redefined-outer-name
    """Another writer keeps changing the accepted list: that is reported, and servers still run the Corefile."""
    with Upstream("*\n    rcode NXDOMAIN\n") as up, \
            Follower(place, place.kubeconfig(str(tmp_path)), up, [fairlead]) as k:
        run("--dns-instances", ",".join(k.addresses()), "--dns-settle-time", "1s")
        place.dns({"templates": [template(1)]})
        place.says(APPLIED, "True AsExpected")

        def contested():
            place.done("PATCH", f"{MAP}-accepted", {"data": {"accepted.json": "x"}}, "application/merge-patch+json")
            return "ConfigMap kube-system/coredns-accepted;" in place.conditions()["Degraded"]["message"]
        until(contested)
        assert place.conditions()[APPLIED]["status"] == "True"


def test_loses_it_for_a_moment(place, run, tmp_path):  # noqa: F811 pylint: disable=redefined-outer-name
    """A server that loaded what another writer left is noticed within two seconds, although the ConfigMap was restored."""
    held = threading.Event()

    def change(_, text):
        return re.sub(r"(?ms)^config.fairlead.*?^\}\n", "", text) if held.is_set() else text
    with Upstream("*\n    rcode NXDOMAIN\n") as up, \
            Follower(place, place.kubeconfig(str(tmp_path)), up, [fairlead], change=change) as k:
        run("--dns-instances", ",".join(k.addresses()))
        place.dns({"templates": [template(1)]})
        place.says(APPLIED, "True AsExpected")
        held.set()  # this kubelet hands out the other text, and goes on with it
        place.done("PATCH", MAP, {"data": {"Corefile": "# theirs"}}, "application/merge-patch+json")
        until(lambda: "template" in place.text())
        until(lambda: not answers(ask(k.servers[0].port(), "config-fairlead.k8s.example.org", "TXT")))
        begin = time.monotonic()
        place.says(APPLIED, "False Updating")
        assert time.monotonic() - begin < 2
        held.clear()
        place.says(APPLIED, "True AsExpected")


def test_cannot_be_written(place, run, kubelet):  # noqa: F811 pylint: disable=redefined-outer-name
    """If the API refuses the ConfigMap, Applied reports that, and does not blame servers."""
    with kubelet([fairlead]) as k:
        run("--dns-instances", ",".join(k.addresses()), "--dns-reload-time", "500ms")
        place.dns({"templates": [template(1)]})
        place.says(APPLIED, "True AsExpected")
        place.done("PATCH", MAP, {"immutable": True}, "application/merge-patch+json")
        place.dns({"templates": [template(2)]})
        until(lambda: place.conditions()[APPLIED]["message"].startswith(
            "The Corefile of generation 2 cannot be written, so servers do not get it: coredns: "))
        c = place.conditions()[APPLIED]
        assert (c["status"], c["reason"]) == ("False", "Updating") and "immutable" in c["message"], c
        place.done("DELETE", MAP)
        assert place.says(APPLIED, "True AsExpected") == "The only server runs generation 2."


def waits(place, tmp_path, seconds):  # noqa: F811 pylint: disable=redefined-outer-name
    """Whether `kubectl wait` was met."""
    return subprocess.run([cluster.peer("kubectl"), "--kubeconfig", place.kubeconfig(str(tmp_path)), "wait",
                           f"--for=condition={APPLIED}", "dnses.operator.openshift.io/default", f"--timeout={seconds}s"],
                          capture_output=True, timeout=60, check=False).returncode == 0


def test_wait_is_met_by_this_generation(place, run, kubelet, tmp_path):  # noqa: F811 pylint: disable=redefined-outer-name
    """A condition says of which generation it is: `kubectl wait` after a change is met when servers run that, and not
    before, also while the operator is away."""
    late, path = threading.Event(), f"{DNS}/default"

    def change(i, text):
        return text if "z1.example" in text or not late.is_set() else open(k.servers[i].conf, encoding="utf-8").read()
    with kubelet([fairlead], change=change) as k:
        p = run("--dns-instances", ",".join(k.addresses()))
        place.dns({"templates": [template(1)]})
        place.says(APPLIED, "True AsExpected")
        assert waits(place, tmp_path, 10)
        o = place.done("GET", path)
        assert o["status"]["observedGeneration"] == 1 and all(c["observedGeneration"] == 1 for c in o["status"]["conditions"])
        late.set()
        p.process.send_signal(signal.SIGSTOP)
        try:
            assert place.dns({"templates": [template(2)]}) == 2
            assert place.conditions()[APPLIED]["status"] == "True" and not waits(place, tmp_path, 1)
        finally:
            p.process.send_signal(signal.SIGCONT)
        place.says(APPLIED, "False Updating")
        assert place.done("GET", path)["status"]["observedGeneration"] == 2 and not waits(place, tmp_path, 1)
        late.clear()
        assert waits(place, tmp_path, 20)
        assert answers(ask(k.servers[0].port(), "x.z2.example.com", "AAAA"))["AAAA"]
        # a change that makes no other Corefile is seen, too, by one write
        assert place.dns({"templates": [template(2)], "managementState": "Managed"}) == 3
        until(lambda: place.done("GET", path)["status"]["observedGeneration"] == 3)
        assert waits(place, tmp_path, 5)


def test_restart_with_a_new_generation(place, run, kubelet):  # noqa: F811 pylint: disable=redefined-outer-name
    """Conditions of the last generation are not reported for a new one while servers cannot be polled."""
    with kubelet([fairlead]) as k:
        p = run("--dns-instances", ",".join(k.addresses()))
        place.dns({"templates": [template(1)]})
        place.says(APPLIED, "True AsExpected")
        p.stop()
        k.servers[0].process.send_signal(signal.SIGSTOP)
        try:
            place.dns({"templates": [template(2)]})
            run("--dns-instances", ",".join(k.addresses()))

            def observed():
                o = place.done("GET", f"{DNS}/default")
                return o if o["status"]["observedGeneration"] == 2 else None
            applied = {c["type"]: c for c in until(observed)["status"]["conditions"]}[APPLIED]
            assert applied["status"] != "True", applied
            place.says(APPLIED, "Unknown InstancesUnreachable")
        finally:
            k.servers[0].process.send_signal(signal.SIGCONT)
        place.says(APPLIED, "True AsExpected")


def test_refused_by_one(place, run, kubelet):  # noqa: F811 pylint: disable=redefined-outer-name
    """OP-34: a server that refuses the Corefile is named after the reload time; it recovers by itself. A restart of
    the operator changes nothing in what is told: it does not begin with more patience, or with less knowledge."""
    bad = threading.Event()

    def change(i, text):
        return text.replace("    errors", "    errers") if i == 2 and bad.is_set() else text
    with kubelet([fairlead] * 3, change=change) as k:
        p = run("--dns-instances", ",".join(k.addresses()), "--dns-reload-time", "1500ms")
        place.dns({"templates": [template(1)]})
        place.says(APPLIED, "True AsExpected")
        bad.set()
        place.dns({"templates": [template(2)]})
        named = f"2 of 3 servers run generation 2; %s: {k.addresses()[2]}."
        until(lambda: place.conditions()[APPLIED]["message"] == named % "still to load it")
        assert place.conditions()[APPLIED]["reason"] == "Updating"
        assert place.says(APPLIED, "False ReloadFailed") == named % "have not loaded it in time" + " See their logs for the reason."
        p.stop()
        before = place.done("GET", f"{DNS}/default")["metadata"]
        p = run("--dns-instances", ",".join(k.addresses()), "--dns-reload-time", "1500ms")
        until(lambda: p.looks() >= 4)  # of the object and of the servers, more than once
        assert place.done("GET", f"{DNS}/default")["metadata"] == before
        bad.clear()
        assert place.says(APPLIED, "True AsExpected") == "All of 3 servers run generation 2."


def test_pods_of_openshift(place, run, kubelet):  # noqa: F811 pylint: disable=redefined-outer-name
    """Ready pods with the label of the DaemonSet, on port 5353; other pods are ignored."""
    system = Place(place.url, place.ca, place.controller_token, None)
    net = f"127.{random.randrange(1, 255)}.{random.randrange(256)}"
    path = "/api/v1/namespaces/openshift-dns/pods"

    def change(i, text):
        text = re.sub(r"(?m)^(\S.*\{)$", lambda m: m[1].replace(":@PORT@ ", ":5353 ") + f"\n    bind {net}.{i + 1}", text)
        return text + ".:@PORT@ {\n    bind 127.0.0.1\n    whoami\n}\n"

    def pod(name, address, ready, label="dns.operator.openshift.io/daemonset-dns"):
        place.done("POST", path, {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": {label: "default"}},
                                  "spec": {"nodeName": "node", "terminationGracePeriodSeconds": 0,
                                           "containers": [{"name": "c", "image": "i"}]}})
        system.done("PATCH", f"{path}/{name}/status", {"status": {
            "phase": "Running", "podIP": address, "podIPs": [{"ip": address}],
            "conditions": [{"type": "Ready", "status": ready}]}}, "application/merge-patch+json")
    names = ["dns-default-b", "dns-default-a", "dns-default-c", "stray"]
    try:
        with kubelet([fairlead] * 2, where=("openshift-dns", "dns-default"), change=change):
            run("--platform", "openshift", "--feature-gates", "DNSTemplatePlugin=true")
            place.dns({"templates": [LEGACY]})
            place.says(APPLIED, "Unknown NoInstances")
            pod("dns-default-b", f"{net}.1", "True")
            assert place.says(APPLIED, "True AsExpected") == "The only server runs generation 1."
            pod("stray", f"{net}.9", "True", "app")
            pod("dns-default-c", f"{net}.8", "False")
            pod("dns-default-a", f"{net}.2", "True")
            until(lambda: place.conditions()[APPLIED]["message"] == "All of 2 servers run generation 1.")
            system.done("PATCH", f"{path}/dns-default-c/status", {"status": {"conditions": [{"type": "Ready", "status": "True"}]}},
                       "application/merge-patch+json")
            assert "no answer from: dns-default-c." in place.says(APPLIED, "Unknown InstancesUnreachable")
            place.call("DELETE", f"{path}/dns-default-c?gracePeriodSeconds=0")
            place.says(APPLIED, "True AsExpected")
    finally:
        for name in names:
            place.call("DELETE", f"{path}/{name}?gracePeriodSeconds=0")


@pytest.mark.parametrize("args, want", [
    (["--dns-instances", "127.0.0.1"], "--dns-instances: expected addresses with a port such as 192.0.2.1:53, got '127.0.0.1'"),
    (["--dns-instances", "127.0.0.1:53,,[::1]:53"], "got ''"),
    (["--dns-instances", "127.0.0.1:0"], "got '127.0.0.1:0'"),
    (["--dns-instances", ",".join(["192.0.2.1:53"] * 257)], "more than 256 addresses"),
    (["--dns-reload-time", "soon"], "--dns-reload-time: expected a duration"),
])
def test_usage(tmp_path, args, want):
    p = Controller(str(tmp_path / "none"), *args, controllers="dnsoperator")
    assert p.process.wait(20) == 64
    p.reader.join(5)
    assert want in p.text()
