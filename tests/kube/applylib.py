# SPDX-License-Identifier: GPL-3.0-or-later
"""Sequences of writes by several managers: done on a real API server, recorded for src/api/apply/test_managed.c, and done by our
own code (the program `kube-applier`).

A sequence is (name, kind, [step, ...]); a step is a dict: do (create, update, merge, json, strategic, apply), manager, body,
and where wanted sub, force, version. The body of an update is a merge patch by which the whole object is made of the
current one; an update with "bare" is sent without managedFields.

Times have seconds, and what is younger matters: all sequences are done in rounds, the first step of each, the second of
each, ..., and no round starts in a second in which another one wrote. A round's time is written as its number.
"""
import copy
import json
import os
import subprocess
import time

from lib import server

TYPES = {"merge": "application/merge-patch+json", "json": "application/json-patch+json",
         "strategic": "application/strategic-merge-patch+json", "apply": "application/apply-patch+yaml"}
KEPT = ("type", "format", "items", "properties", "additionalProperties", "default", "x-kubernetes-list-type",
        "x-kubernetes-list-map-keys", "x-kubernetes-map-type", "x-kubernetes-patch-strategy", "x-kubernetes-patch-merge-key",
        "x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource", "x-kubernetes-int-or-string", "nullable")


def structure(schema, components=None, depth=0):
    """What apply and patches need of a schema, references followed."""
    if depth > 30:
        return {}
    extra = {}
    while True:
        extra.update({k: v for k, v in schema.items() if k not in ("$ref", "allOf") and k not in extra})
        ref = schema.get("$ref") or next((a["$ref"] for a in schema.get("allOf", []) if "$ref" in a), None)
        if not ref:
            break
        name = ref.rsplit("/", 1)[1]
        if name.endswith("resource.Quantity"):
            extra["type"], extra["format"] = "string", "quantity"
            break
        schema = components[name]
    out = {k: v for k, v in extra.items() if k in KEPT and v not in ("", {}, None)}
    if "properties" in out:
        out["properties"] = {k: structure(v, components, depth + 1) for k, v in out["properties"].items() if k != "metadata" or depth}
    for key in ("items", "additionalProperties"):
        if isinstance(out.get(key), dict):
            out[key] = structure(out[key], components, depth + 1)
    return out


def built_in(cluster, group_version, kind):
    """The structure of a built-in kind, from the server's own description."""
    status, doc = cluster.call("GET", "/openapi/v3/" + group_version)
    assert status == 200
    components = doc["components"]["schemas"]
    for schema in components.values():
        if any(g["kind"] == kind for g in schema.get("x-kubernetes-group-version-kind", [])):
            return structure(schema, components)
    raise KeyError(kind)


def without_prose(v):
    if isinstance(v, dict):
        return {k: without_prose(x) for k, x in v.items() if k != "description" or not isinstance(x, str)}
    return [without_prose(x) for x in v] if isinstance(v, list) else v


def stamp(number):
    return f"2026-01-01T00:{number // 60:02}:{number % 60:02}Z"


class Place:
    """Where the objects of a kind are."""

    def __init__(self, api_version, plural, namespaced=True, object_name=None):
        root = "/apis/" if "/" in api_version else "/api/"
        self.root, self.api_version, self.plural, self.namespaced = root, api_version, plural, namespaced
        self.object_name = object_name

    def collection(self, version=None):
        ns = "/namespaces/default" if self.namespaced else ""
        return f"{self.root}{version or self.api_version}{ns}/{self.plural}"


class Sequence:
    """One object's life."""

    def __init__(self, name, kind, place):
        self.kind, self.place, self.name = kind, place, place.object_name or name
        self.live = None     # as the server has it
        self.times = []      # [(first second, last second)] of rounds

    def full(self, body, version=None):
        head = {"apiVersion": version or self.place.api_version, "kind": self.kind}
        meta = {"name": self.name, **({"namespace": "default"} if self.place.namespaced else {})}
        return {**head, **body, "metadata": {**meta, **body.get("metadata", {})}}

    def body(self, step):
        how, body = step["do"], copy.deepcopy(step["body"])
        if how in ("create", "apply"):
            return self.full(body, step.get("version"))
        if how == "update":
            whole = merged(copy.deepcopy(self.live), body)
            if step.get("bare"):
                whole["metadata"].pop("managedFields", None)
            return whole
        return body

    def send(self, cluster, step, body):
        query = f"?fieldManager={step['manager']}" + ("&force=true" if step.get("force") else "")
        path = self.place.collection(step.get("version"))
        if step["do"] == "create":
            return cluster.call("POST", path + query, body)
        path += "/" + self.name + ("/" + step["sub"] if step.get("sub") else "")
        if step["do"] == "update":
            return cluster.call("PUT", path + query, body)
        return cluster.call("PATCH", path + query, body, content_type=TYPES[step["do"]])


def merged(target, patch):
    """JSON merge patch."""
    if not isinstance(patch, dict):
        return patch
    out = dict(target) if isinstance(target, dict) else {}
    for k, v in patch.items():
        if v is None:
            out.pop(k, None)
        else:
            out[k] = merged(out.get(k), v)
    return out


class Clock:
    """Seconds of rounds."""

    def __init__(self):
        self.rounds = []

    def start(self):
        while self.rounds and int(time.time()) <= self.rounds[-1][1]:
            time.sleep(0.02)
        self.rounds.append([int(time.time()), None])

    def end(self):
        self.rounds[-1][1] = int(time.time())

    def number(self, text):
        seconds = int(time.mktime(time.strptime(text, "%Y-%m-%dT%H:%M:%SZ"))) - time.timezone
        return next((i for i, (a, b) in enumerate(self.rounds) if a <= seconds <= (b or seconds)), None)

    def steady(self, o):
        """The object without what differs from run to run."""
        o = copy.deepcopy(o)
        meta = o.get("metadata", {}) if isinstance(o, dict) else {}
        for key in ("resourceVersion", "generation"):
            meta.pop(key, None)
        if meta.get("uid"):
            meta["uid"] = "u"
        if meta.get("creationTimestamp"):
            meta["creationTimestamp"] = stamp(0)
        for entry in meta.get("managedFields") or []:
            number = self.number(entry["time"]) if entry.get("time") else None
            if number is not None:
                entry["time"] = stamp(number)
        return o


def outcome(clock, status, answer):
    """What a step's record says of the server's answer."""
    if status in (200, 201):
        return {"object": clock.steady(answer)}
    out = {"code": status, "message": answer["message"]}
    causes = [c for c in answer.get("details", {}).get("causes", []) if c.get("reason") == "FieldManagerConflict"]
    if causes:
        out["causes"] = sorted(causes, key=lambda c: (c["message"], c["field"]))
    return out


def run(cluster, places, sequences):
    """Records: [{name, kind, steps}], each step with body, time and outcome."""
    clock = Clock()
    lives = [Sequence(name, kind, places[kind]) for name, kind, _ in sequences]
    records = [{"name": name, "kind": kind, "steps": []} for name, kind, _ in sequences]
    for number in range(max(len(steps) for _, _, steps in sequences)):
        clock.start()
        for (name, kind, steps), live, record in zip(sequences, lives, records):
            if number >= len(steps):
                continue
            step, body = steps[number], live.body(steps[number])
            status, answer = live.send(cluster, step, body)
            assert status in (200, 201) or not 400 <= status < 404 or "error" in step, (name, number, answer)
            if status in (200, 201):
                live.live = answer
            row = {k: v for k, v in step.items() if k not in ("body", "error", "bare")}
            record["steps"].append({**row, "body": body, "time": stamp(number), "_": (status, answer)})
        clock.end()
    for record in records:
        for step in record["steps"]:
            status, answer = step.pop("_")
            step["body"] = clock.steady(step["body"]) if step["do"] in ("update",) else step["body"]
            step.update(outcome(clock, status, answer))
    return records


def same_as_recorded(table, file):
    """Compares with the file; FAIRLEAD_RECORD=1 writes it instead. One line for each member of what is in the table."""
    if os.environ.get("FAIRLEAD_RECORD"):
        parts = []
        for name, part in table.items():
            rows = [json.dumps(k) + ": " + json.dumps(v, ensure_ascii=False) for k, v in part.items()] if isinstance(part, dict) else [
                json.dumps(v, ensure_ascii=False) for v in part]
            left, right = "{}" if isinstance(part, dict) else "[]"
            parts.append(json.dumps(name) + ": " + left + "\n" + ",\n".join(rows) + "\n" + right)
        with open(file, "w", encoding="utf-8") as f:
            f.write("{" + ",\n".join(parts) + "}\n")
    with open(file, encoding="utf-8") as f:
        recorded = json.load(f)
    assert recorded.keys() == table.keys()
    for name, part in table.items():
        assert len(recorded[name]) == len(part)
        for now in part if isinstance(part, dict) else range(len(part)):
            assert recorded[name][now] == part[now], (name, now)


class Applier:
    """Our own code."""

    def __init__(self):
        build = os.environ.get("FAIRLEAD_BUILD") or os.path.join(server.ROOT, "build")
        program = os.path.join(build, "tests", "kube", "kube-applier")
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait(10)

    def ask(self, **line):
        self.process.stdin.write(json.dumps(line) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())
