# SPDX-License-Identifier: GPL-3.0-or-later
"""Strategic merge patches: what src/api/patch/test_strategic.json holds our code to is what a real API server does."""
import os

from applylib import TYPES, Place, built_in, same_as_recorded
from crdlib import cluster  # noqa: F401 (fixture)
from lib import server
from strategic_cases import CASES, OBJECTS

PLACES = {
    "ConfigMap": Place("v1", "configmaps"), "Service": Place("v1", "services"), "Namespace": Place("v1", "namespaces", False),
    "ServiceAccount": Place("v1", "serviceaccounts"), "Node": Place("v1", "nodes", False), "Pod": Place("v1", "pods"),
    "Deployment": Place("apps/v1", "deployments"),
}


def of_patches(schema):
    """The schema keywords for merging lists, with their paths."""
    out = {k: v for k, v in schema.items() if k.startswith("x-kubernetes-patch-")}
    below = {k: of_patches(v) for k, v in schema.get("properties", {}).items()}
    below = {k: v for k, v in below.items() if v}
    if below:
        out["properties"] = below
    items = of_patches(schema["items"]) if "items" in schema else None
    if items:
        out["items"] = items
    return out


def steady(o):
    """The object without fields that a patch cannot change."""
    for key in ("managedFields", "resourceVersion", "generation", "uid", "creationTimestamp"):
        o["metadata"].pop(key, None)
    return o


def stored(cluster, name):
    kind, body = OBJECTS[name]
    place = PLACES[kind]
    whole = {"apiVersion": place.api_version, "kind": kind, **body, "metadata": {"name": name, **body.get("metadata", {})}}
    status, answer = cluster.call("POST", place.collection(), whole)
    assert status == 201, answer
    return steady(answer)


def test_recorded_patches_are_the_servers(cluster):
    schemas = {k: {"schema": of_patches(built_in(cluster, ("apis/" if "/" in p.api_version else "api/") + p.api_version, k))} for k, p in PLACES.items()}
    objects = {name: stored(cluster, name) for name in OBJECTS}
    rows = []
    for name, patch, *sub in CASES:
        kind = OBJECTS[name][0]
        path = "/".join([PLACES[kind].collection(), name, *sub])
        status, answer = cluster.call("PATCH", path + "?dryRun=All", patch, content_type=TYPES["strategic"])
        row = {"object": name, "patch": patch, **({"sub": sub[0]} if sub else {})}
        rows.append({**row, "result": steady(answer)} if status == 200 else {**row, "code": status, "message": answer["message"]})
    assert len(rows) >= 60
    same_as_recorded({"kinds": schemas, "objects": objects, "rows": rows}, os.path.join(server.ROOT, "src", "api", "patch", "test_strategic.json"))
