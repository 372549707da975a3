"""The embedded API and a real one, asked the same questions: tests/kube/conformance holds them as data."""
import concurrent.futures
import json
import os

import pytest

import conformlib
from crdlib import crds, cluster  # noqa: F401 (fixtures)
from lib.cluster import Embedded

SCENARIOS = conformlib.scenarios()


@pytest.fixture(scope="module")
def embedded():
    with Embedded() as e:
        yield e


def answers(caller, number, file, steps):
    ns = f"conf-{os.path.splitext(file)[0]}-{number}"
    status, _, text = caller.send("POST", "/api/v1/namespaces", {}, json.dumps({"metadata": {"name": ns}}))
    assert status == 201, text
    return conformlib.run(caller, ns, steps)


def test_there_are_enough_cases():
    assert sum(len(s[3]) for s in SCENARIOS) >= 1000


@pytest.mark.parametrize("file,number,title,steps", SCENARIOS, ids=[f"{s[0]}-{s[2].replace(' ', '-')}" for s in SCENARIOS])
def test_scenario(cluster, crds, embedded, file, number, title, steps):  # noqa: F811
    with concurrent.futures.ThreadPoolExecutor(2) as pool:  # both wait now and then
        real, ours = pool.map(lambda c: answers(conformlib.Caller(c.url, c.ca, c.system), number, file, steps),
                              (cluster, embedded))
    wrong = [f"{step.name()}\n{' '.join(step.body)[:200]}\n{conformlib.difference(a, b)}"
             for step, a, b in zip(steps, real, ours) if a != b]
    assert not wrong, f"{len(wrong)} of {len(steps)}\n" + "\n\n".join(wrong)
