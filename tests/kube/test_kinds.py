# SPDX-License-Identifier: GPL-3.0-or-later
"""What src/apiserver/kind/test_kinds.json holds our built-in kinds to is what a real API server says."""
import copy
import json
import os

from crdlib import CRD_PATH, CRDS, cluster, create, established, serves  # noqa: F401 (fixture)
from kinds_cases import CASES, DECODING, KINDS, STATUS, TEXTS
from lib import server

FILE = os.path.join(server.ROOT, "src", "apiserver", "kind", "test_kinds.json")
OURS = ("uid", "creationTimestamp", "resourceVersion", "managedFields", "selfLink")


def whole(kind, o, i):
    version, plural, namespaced = KINDS[kind]
    o = {"apiVersion": version, "kind": kind.split(".")[0], **copy.deepcopy(o)}
    meta = o.setdefault("metadata", {})
    if isinstance(meta, dict) and not meta.get("generateName"):
        meta.setdefault("name", f"r{i}")
    root = f"/apis/{version}" if "/" in version else f"/api/{version}"
    return o, root + ("/namespaces/default/" if namespaced else "/") + plural


def allocated(o, sent):
    """What the server picked becomes a word, and what every server gives goes."""
    o = copy.deepcopy(o)
    spec, asked = o.get("spec"), sent.get("spec", {})
    for field in OURS:
        o["metadata"].pop(field, None)
    if sent["metadata"].get("generateName"):
        o["metadata"].pop("name")
    if o["kind"] == "Service":
        known = {asked.get("clusterIP"), *(asked.get("clusterIPs") or [])}
        if spec.get("clusterIP") not in {*known, None}:
            spec["clusterIP"] = "ALLOCATED"
            spec["clusterIPs"] = ["ALLOCATED"] * len(spec["clusterIPs"])
        ports = {p.get("nodePort") for p in asked.get("ports") or []} | {asked.get("healthCheckNodePort")}
        for p in spec.get("ports") or []:
            if p.get("nodePort", 0) not in {*ports, 0}:
                p["nodePort"] = "ALLOCATED"
        if spec.get("healthCheckNodePort", 0) not in {*ports, 0}:
            spec["healthCheckNodePort"] = "ALLOCATED"
    return o


def verdict(status, answer, sent):
    if status in (200, 201):
        return {"code": 200, "stored": allocated(answer, sent)}
    if sent["metadata"].get("generateName"):  # a name that another run would not get
        made = answer["details"]["name"]
        answer = json.loads(json.dumps(answer).replace(made, sent["metadata"]["generateName"] + "abcde"))
    row = {"code": status, "reason": answer.get("reason"), "message": answer["message"]}
    causes = answer.get("details", {}).get("causes")
    if causes:
        row["causes"] = [[c.get("field", ""), c["reason"], c["message"]] for c in causes]
    return row


def ask(cluster, i, case):
    o, path = whole(case[0], case[1], i)
    row = {"kind": case[0], "object": o}
    name = o["metadata"].get("name") if isinstance(o["metadata"], dict) else None
    if len(case) == 3:
        row["old"], _ = whole(case[0], case[2], i)
        status, was = cluster.call("POST", path, row["old"])
        assert status == 201, (case, was)
        o = copy.deepcopy(o)
        o["metadata"]["resourceVersion"] = was["metadata"]["resourceVersion"]
        status, answer = cluster.call("PUT", f"{path}/{name}", o)
        sent = {**o, "spec": {**was.get("spec", {}), **o.get("spec", {})}} if case[0] == "Service" else o
        was_asked = row["old"].get("spec", {})
        if case[0] == "Service":  # what stays is what was asked for before
            sent = {**o, "spec": {**o.get("spec", {}), "clusterIPs": [o.get("spec", {}).get("clusterIP"), was_asked.get("clusterIP")],
                                  "ports": (o.get("spec", {}).get("ports") or []) + (was_asked.get("ports") or [])}}
    else:
        status, answer = cluster.call("POST", path, o)
        sent = o
    row.update(verdict(status, answer, sent))
    if name and (status in (200, 201) or len(case) == 3):
        cluster.call("PATCH", f"{path}/{name}", {"metadata": {"finalizers": None}}, content_type="application/merge-patch+json")
        cluster.call("DELETE", f"{path}/{name}")
    return row


def ask_status(cluster, i, case):
    old, path = whole(case[0], case[1], f"s{i}")
    o, _ = whole(case[0], case[2], f"s{i}")
    name = old["metadata"]["name"]
    status, was = cluster.call("POST", path, old)
    assert status == 201, (case, was)
    row = {"kind": case[0], "object": copy.deepcopy(o), "old": old}
    o["metadata"]["resourceVersion"] = was["metadata"]["resourceVersion"]
    row.update(verdict(*cluster.call("PUT", f"{path}/{name}/status", o), old))
    cluster.call("DELETE", f"{path}/{name}?gracePeriodSeconds=0")
    return row


def short(row):
    """Rows with huge texts are made again by the reader: {"x": times}."""
    return json.loads(json.dumps(row).replace("x" * (1 << 20), "@1MiB@").replace("x" * (256 << 10), "@256KiB@"))


def table(cluster):
    rows = [short(ask(cluster, i, case)) for i, case in enumerate(CASES)]
    strict = []
    for i, case in enumerate(DECODING):
        o, path = whole(case[0], case[1], i)
        status, answer = cluster.call("POST", path + "?dryRun=All&fieldValidation=Strict", o)
        strict.append({"kind": case[0], "object": o, "code": status, "message": answer["message"] if status >= 400 else None})
    return {"rows": rows, "strict": strict, "texts": texts(cluster),
            "status": [ask_status(cluster, i, case) for i, case in enumerate(STATUS)]}


def texts(cluster):
    with open(os.path.join(CRDS, "config.openshift.io_featuregates.yaml"), encoding="utf-8") as f:
        assert create(cluster, CRD_PATH, f.read())[0] == 201
    serves(cluster, established(cluster, "featuregates.config.openshift.io"))
    rows = []
    for kind, text in TEXTS:
        o, path = whole(kind, {}, 0)
        text = '{"apiVersion":"%s","kind":"%s",%s}' % (o["apiVersion"], o["kind"], text)
        status, answer = cluster.call("POST", path + "?dryRun=All&fieldValidation=Strict", text.encode())
        rows.append({"kind": kind, "text": text, "code": status, "message": answer["message"] if status >= 400 else None})
    return rows


def test_recorded_answers_are_the_servers(cluster):
    got = table(cluster)
    assert len(got["rows"]) >= 200
    if os.environ.get("FAIRLEAD_RECORD"):
        with open(FILE, "w", encoding="utf-8") as f:
            parts = [f'"{k}": [\n' + ",\n".join(json.dumps(r, ensure_ascii=False) for r in rows) + "\n]" for k, rows in got.items()]
            f.write("{\n" + ",\n".join(parts) + "\n}\n")
    with open(FILE, encoding="utf-8") as f:
        recorded = json.load(f)
    for key, rows in got.items():
        assert len(recorded[key]) == len(rows)
        for was, now in zip(recorded[key], rows):
            assert was == now
