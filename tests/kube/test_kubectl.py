# SPDX-License-Identifier: GPL-3.0-or-later
"""kubectl 1.37 and Debian's 1.20 print the same against the embedded API as against a real one.

What the real one made them print is kept in tests/kube/kubectl. FAIRLEAD_RECORD=1 asks it (etcd, kube-apiserver and
kube-controller-manager) and rewrites the files; where kube-controller-manager is built, a plain run asks it as well and
tells what is not true any more. FAIRLEAD_RECORD=ours rewrites what the embedded API prints at differences that are named.
"""
import os
import subprocess

import pytest

import kubectllib
from lib import server
from lib.cluster import Embedded, peer

RECORD = os.environ.get("FAIRLEAD_RECORD")
SCENARIOS = kubectllib.scenarios()
IDS = [f"{n}-{v}" for v, n in SCENARIOS]


def has_manager():
    program = os.path.join(server.ROOT, "tests", "peers", "build")
    done = subprocess.run([program, "--path", "kube-controller-manager"], stdout=subprocess.PIPE, text=True, check=True)
    return os.access(done.stdout.strip(), os.X_OK)


@pytest.fixture(scope="module")
def embedded():
    with Embedded() as e:
        runner = kubectllib.Runner(e.url, e.ca, e.admin)
        yield runner
        runner.close()


def steps_of(steps):
    return [s for s in steps if isinstance(s, kubectllib.Step)]


def check(steps, got):
    """What kube-apiserver's own repair of addresses told of a Service, which it does when it is slow to see what it has just
    allotted, is nobody's difference."""
    wrong = [kubectllib.difference(s, g) for s, g in zip(steps, got)
             if s.expected() != g and not any("ipallocator-repair-controller" in line or "ClusterIPNotAllocated" in line for line in g)]
    assert not wrong, f"{len(wrong)} of {len(steps)}\n" + "\n\n".join(wrong)


@pytest.mark.parametrize("version,name", SCENARIOS, ids=IDS)
def test_embedded(embedded, version, name):
    path = kubectllib.path_of(version, name)
    steps = kubectllib.parse(path)
    got = embedded.scenario(version, name, steps)
    if RECORD == "ours":
        for s, lines in zip(steps_of(steps), got):
            s.ours = lines if s.name else None
        kubectllib.write(path, steps)
    check(steps_of(steps), got)


def test_differences_are_documented():
    shown = {s.name for v, n in SCENARIOS for s in steps_of(kubectllib.parse(kubectllib.path_of(v, n))) if s.name}
    assert shown == set(kubectllib.documented())


@pytest.fixture(scope="module")
def kubectl():
    """kubectl(words...) with the users' kubeconfig: (exit status, output)."""
    program = peer("kubectl")
    with Embedded() as e:
        def call(*words):
            done = subprocess.run([program, "--kubeconfig", os.path.join(e.data, "kubeconfig"), *words], stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True)
            return done.returncode, done.stdout
        yield call


def test_every_listed_kind_is_explained(kubectl):
    status, names = kubectl("api-resources", "-o", "name")
    assert status == 0 and "deployments.apps" in names.split() and "selfsubjectreviews.authentication.k8s.io" in names.split()
    names = set(names.split()) - {"events.events.k8s.io"}  # kubectl reads `io` as a field, with every server
    failed = {name: found for name in names for status, found in [kubectl("explain", name)] if status != 0}
    assert not failed


@pytest.mark.parametrize("words,allowed", [
    (["*", "*"], False),  # nobody but the program writes DNSNames
    (["patch", "*"], False),
    (["list", "*"], True),
    (["*", "configmaps"], True),
    (["create", "dnsnames.k8s.ovn.org"], False),
])
def test_can_i_is_what_requests_get(kubectl, words, allowed):
    status, found = kubectl("auth", "can-i", *words)
    assert (status, found.split()[0]) == ((0, "yes") if allowed else (1, "no")), found


if RECORD == "1" or has_manager():
    @pytest.fixture(scope="module")
    def real():
        with kubectllib.RealCluster() as c:
            runner = c.runner()
            yield runner
            runner.close()

    @pytest.mark.parametrize("version,name", SCENARIOS, ids=IDS)
    def test_real(real, version, name):
        path = kubectllib.path_of(version, name)
        steps = kubectllib.parse(path)
        got = real.scenario(version, name, steps)
        if RECORD == "1":
            for s, lines in zip(steps_of(steps), got):
                s.real = lines
            kubectllib.write(path, steps)
        for s in steps_of(steps):
            s.ours = None
        check(steps_of(steps), got)
