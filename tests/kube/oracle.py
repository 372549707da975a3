# SPDX-License-Identifier: GPL-3.0-or-later
"""Asks a real API server what it thinks of objects, and keeps the answers in a file that unit tests read.

A table is {"schemas": {kind: ...}, "rows": [{kind, object, old?, errors | stored, message?}]}. `errors` are the causes of a
refusal, sorted, since the server tells them in any order; `message` is its whole sentence where there is one cause.
"""
import json
import os
import time

from crdlib import CRD_PATH, ESTABLISH_SECONDS, established, serves

GROUP = "test.fairlead.dev"


def whole(schema):
    """The schema of the object, from that of its spec."""
    if "root" in schema:
        return schema["root"]
    return {"type": "object", "properties": {"spec": {k: v for k, v in schema.items() if k != "loose"}}}


def definition(kind, schema):
    plural = kind.lower()
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": f"{plural}.{GROUP}"},
            "spec": {"group": GROUP, "scope": "Cluster", "names": {"kind": kind, "plural": plural, "singular": plural},
                     "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}]}}


def path(kind, name=None):
    return f"/apis/{GROUP}/v1/{kind.lower()}" + (f"/{name}" if name else "")


def thing(kind, name, spec):
    o = {"apiVersion": f"{GROUP}/v1", "kind": kind, "metadata": {"name": name}}
    return o if spec is None else {**o, "spec": spec}


def install(cluster, schemas):
    for kind, schema in schemas.items():
        status, answer = cluster.call("POST", CRD_PATH, definition(kind, whole(schema.get("loose") or schema)))
        assert status == 201, (kind, answer)
    for kind in schemas:
        serves(cluster, established(cluster, f"{kind.lower()}.{GROUP}"))


def tighten(cluster, schemas, cases):
    """Puts the real schemas in force where older objects were stored under loose ones."""
    for kind, schema in schemas.items():
        if "loose" not in schema:
            continue
        name = f"{kind.lower()}.{GROUP}"
        patch = [{"op": "replace", "path": "/spec/versions/0/schema/openAPIV3Schema", "value": whole(schema)}]
        status, answer = cluster.call("PATCH", f"{CRD_PATH}/{name}", patch, content_type="application/json-patch+json")
        assert status == 200, answer
        bad = next(c[1] for c in cases if c[0] == kind and len(c) == 2)
        end = time.monotonic() + ESTABLISH_SECONDS
        while cluster.call("POST", path(kind) + "?dryRun=All", thing(kind, "probe", bad))[0] != 422:
            assert time.monotonic() < end
            time.sleep(0.02)


def verdict(status, answer, part="spec"):
    """What a row says of an answer."""
    if status in (200, 201):
        return {"stored": answer.get(part)}
    assert status == 422, (status, answer)
    causes = sorted([c.get("field", ""), c["reason"], c["message"]] for c in answer["details"]["causes"])
    row = {"errors": causes}
    if len(causes) == 1:
        row["message"] = answer["message"]
    return row


def ask(cluster, schemas, cases):
    """The table."""
    rows = []
    install(cluster, schemas)
    for i, case in enumerate(cases):
        if len(case) == 3:
            status, answer = cluster.call("POST", path(case[0]), thing(case[0], f"r{i}", case[2]))
            assert status == 201, (case, answer)
    tighten(cluster, schemas, cases)
    for i, case in enumerate(cases):
        o = thing(case[0], f"r{i}", case[1])
        row = {"kind": case[0], "name": f"r{i}", "object": case[1]}
        if len(case) == 3:
            row["old"] = case[2]
            o["metadata"]["resourceVersion"] = cluster.call("GET", path(case[0], f"r{i}"))[1]["metadata"]["resourceVersion"]
            status, answer = cluster.call("PUT", path(case[0], f"r{i}"), o)
        else:
            status, answer = cluster.call("POST", path(case[0]), o)
        rows.append({**row, **verdict(status, answer)})
    return {"group": GROUP, "schemas": {k: whole(s) for k, s in schemas.items()}, "rows": rows}


def same_as_recorded(table, file):
    """Compares with the file; FAIRLEAD_RECORD=1 writes it instead."""
    lines = [json.dumps(r, ensure_ascii=False) for r in table["rows"]]
    schemas = [f"{json.dumps(k)}: {json.dumps(s, ensure_ascii=False)}" for k, s in table["schemas"].items()]
    text = ('{"group": "%s",\n"schemas": {\n%s\n},\n"rows": [\n%s\n]}\n' %
            (table["group"], ",\n".join(schemas), ",\n".join(lines)))
    if os.environ.get("FAIRLEAD_RECORD"):
        with open(file, "w", encoding="utf-8") as f:
            f.write(text)
    with open(file, encoding="utf-8") as f:
        recorded = json.load(f)
    assert recorded["schemas"] == table["schemas"]
    for was, now in zip(recorded["rows"], table["rows"]):
        assert was == now
    assert len(recorded["rows"]) == len(table["rows"])
