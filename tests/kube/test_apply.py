# SPDX-License-Identifier: GPL-3.0-or-later
"""Server-side apply and managedFields: what src/api/apply/test_managed.json holds our code to is what a real API server does, and
random writes come out the same."""
import os
import random
import time

import pytest

from apply_cases import GROUP, SCHEMAS, SEQUENCES, SPEC, create, definition, random_step
from applylib import Applier, Place, Sequence, built_in, run, same_as_recorded, without_prose
from crdlib import CRD_PATH, CRDS, cluster, established, serves  # noqa: F401 (fixture)
from lib import server

SEED = int(os.environ.get("FAIRLEAD_SEED") or 6)
RANDOM_SECONDS = 10
NAMES = {409: "conflict", 400: "bad", 500: "type"}
PLACES = {
    "Whole": Place(f"{GROUP}/v1", "wholes"), "Plain": Place(f"{GROUP}/v1", "plains"), "Service": Place("v1", "services"),
    "ConfigMap": Place("v1", "configmaps"), "EndpointSlice": Place("discovery.k8s.io/v1", "endpointslices"),
    "DNS": Place("operator.openshift.io/v1", "dnses", False, "default"),
}


def install(cluster, body, content_type="application/json"):
    status, crd = cluster.call("POST", CRD_PATH, body, content_type=content_type)
    assert status == 201, crd
    serves(cluster, established(cluster, crd["metadata"]["name"]))
    return without_prose(crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"])


@pytest.fixture(scope="module")
def kinds(cluster):
    """What src/api/apply/test_replay.h wants to know of each."""
    for kind, schema in SCHEMAS.items():
        install(cluster, definition(kind, schema, kind == "Whole"))
    with open(os.path.join(CRDS, "operator.openshift.io_dnses.yaml"), "rb") as f:
        dns = install(cluster, f.read(), "application/yaml")
    halves = {"reset": ["status"], "resetStatus": ["metadata", "spec"]}
    crd = {"crd": True, "versions": [f"{GROUP}/v1", f"{GROUP}/v2"]}
    out = {
        "Whole": {"schema": SCHEMAS["Whole"], **crd, **halves}, "Plain": {"schema": SCHEMAS["Plain"], **crd},
        "DNS": {"schema": dns, "crd": True, **halves},
        "Service": {"schema": built_in(cluster, "api/v1", "Service"), "reset": ["status"], "resetStatus": ["spec"],
                    "empty": {"spec": {}, "status": {"loadBalancer": {}}}},
        "ConfigMap": {"schema": built_in(cluster, "api/v1", "ConfigMap")},
        "EndpointSlice": {"schema": built_in(cluster, "apis/discovery.k8s.io/v1", "EndpointSlice")},
    }
    return {k: {**v, "apiVersion": PLACES[k].api_version} for k, v in out.items()}


def test_recorded_writes_are_the_servers(cluster, kinds):
    records = run(cluster, PLACES, SEQUENCES)
    steps = [s for r in records for s in r["steps"]]
    assert len(steps) >= 150 and sum("causes" in s for s in steps) >= 30
    same_as_recorded({"kinds": kinds, "sequences": records}, os.path.join(server.ROOT, "src", "api", "apply", "test_managed.json"))


def own_time(o, step):
    """Time of this manager's last write, by the server."""
    times = [e.get("time") for e in o["metadata"].get("managedFields", []) if e["manager"] == step["manager"] and
             e.get("subresource", "") == step.get("sub", "") and (e["operation"] == "Apply") == (step["do"] == "apply")]
    return times[0] if times and times[0] else time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def plain(o):
    o = {**o, "metadata": {k: v for k, v in o["metadata"].items() if k not in ("resourceVersion", "generation", "uid", "creationTimestamp")}}
    return o


def compare(kind, applier, live, step, body, status, answer):
    """Our answer to the same write."""
    line = {**step, "body": body, "time": own_time(answer, step) if status in (200, 201) else "2026-01-01T00:00:00Z"}
    got = applier.ask(kind=kind, step=line, live=live)
    if status in (200, 201):
        assert "object" in got, (line, live, got, answer)
        assert plain(got["object"]) == plain(answer), (line, live)
    else:
        assert got.get("error") == NAMES[status] and got["message"] == answer["message"], (line, live, got, answer)


def test_random_writes(cluster, kinds):
    rng, compared, conflicts = random.Random(SEED), 0, 0
    end = time.monotonic() + RANDOM_SECONDS
    fields = sorted(SPEC["properties"])
    with Applier() as applier:
        for number in range(150):
            if time.monotonic() > end and compared >= 100 and conflicts >= 10:
                break
            life, some = Sequence(f"random-{number}", "Whole", PLACES["Whole"]), rng.sample(fields, 4)
            first = create("u", random_step(rng, some)["body"]) if rng.random() < 0.5 else None
            for at in range(12):
                step = first if first and at == 0 else random_step(rng, some)
                if life.live is None and step["do"] not in ("create", "apply") or life.live is None and step.get("sub"):
                    continue
                step = {k: v for k, v in step.items() if k != "error"}
                body = life.body(step)
                before = life.live
                status, answer = life.send(cluster, step, body)
                if status == 422:
                    continue
                compare(kinds["Whole"], applier, before, step, body, status, answer)
                compared, conflicts = compared + 1, conflicts + (status == 409)
                life.live = answer if status in (200, 201) else before
    print(f"{compared} writes, {conflicts} conflicts")
    assert compared >= 100 and conflicts >= 10
