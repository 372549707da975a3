# SPDX-License-Identifier: GPL-3.0-or-later
"""Requests and answers for comparing two API servers: the files of tests/kube/conformance.

A file holds scenarios, a scenario steps; each step is one request and a case of its own:

    ## a scenario gets a namespace of its own, NS in paths and bodies
    POST /api/v1/namespaces/NS/configmaps
    Header: value                       (any number)
    {"metadata": {"name": "a"}}         the body: all lines up to the next empty one
    = rv metadata.resourceVersion       keeps a value of the answer: {{rv}} in later steps
    ! items.0.spec.x because ...        a difference on purpose: path (* for any part) and reason
    ? 3                                 sends it until the answer's status is 3xx (4 for 4xx, ...): for what comes late
    # a remark

{{a*300}} stands for that many of a character, {{hex:ff00}} for bytes that are no text.

What differs from run to run (uids, versions, times, addresses) is replaced by names in the order of appearance, so that
what must be equal within an answer still must be.
"""
import http.client
import json
import os
import re
import ssl
import time

import yaml

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "conformance")
WAIT_SECONDS = 20


class Step:
    def __init__(self, where, line):
        self.where = where
        self.method, self.path = line.split(" ", 1)
        self.headers, self.keep, self.differ, self.until = {}, [], [], None
        self.body = []

    def name(self):
        return f"{self.where} {self.method} {self.path}"


def parse(file):
    """[(scenario, [Step])]"""
    scenarios, step = [], None
    with open(os.path.join(FOLDER, file), encoding="utf-8") as f:
        for number, line in enumerate(f.read().split("\n"), 1):
            where = f"{file}:{number}"
            if line.startswith("## "):
                scenarios.append((line[3:], []))
                step = None
            elif line.startswith("# "):
                continue
            elif not line.strip():
                step = None
            elif step is None:
                step = Step(where, line)
                scenarios[-1][1].append(step)
            elif line.startswith("= "):
                step.keep.append(tuple(line[2:].split(" ", 1)))
            elif line.startswith("! "):
                path, _, reason = line[2:].partition(" ")
                assert reason, f"{where}: a difference needs a reason"
                step.differ.append(path)
            elif line.startswith("? "):
                step.until = int(line[2:])
            elif re.match(r"[A-Z][A-Za-z-]+: ", line) and not step.body:
                key, value = line.split(": ", 1)
                step.headers[key] = value
            else:
                step.body.append(line)
    return scenarios


def scenarios():
    """[(file, number, title, steps)] of all files."""
    return [(file, i, title, steps) for file in sorted(os.listdir(FOLDER)) if file.endswith(".http")
            for i, (title, steps) in enumerate(parse(file))]


def dig(value, path):
    for part in path.split("."):
        value = value[int(part)] if isinstance(value, list) else value.get(part, "")
    return str(value)


class Caller:
    """One connection to a server."""

    def __init__(self, url, ca, token):
        host, port = url.split("//")[1].rsplit(":", 1)
        self.token = token
        self.connection = http.client.HTTPSConnection(host, int(port), timeout=40,
                                                      context=ssl.create_default_context(cafile=ca))

    def close(self):
        self.connection.close()

    def send(self, method, path, headers, body):
        """(status, headers, text); a body that is text may hold {{hex:...}}"""
        data = raw(body) if isinstance(body, str) else body
        fields = {"Authorization": f"Bearer {self.token}", "User-Agent": "conformance/1.0", "Accept": "application/json"}
        if body:
            fields["Content-Type"] = "application/json"
        fields.update({k: v for k, v in headers.items() if v != "none"})
        for name in [k for k, v in headers.items() if v == "none"]:
            fields.pop(name, None)
        for again in (True, False):
            try:
                self.connection.request(method, path, data or None, fields)
                reply = self.connection.getresponse()
                return reply.status, reply, reply.read().decode(errors="replace")
            except (http.client.RemoteDisconnected, ConnectionResetError, BrokenPipeError):
                self.connection.close()
                if not again:
                    raise


HIDDEN = {"uid": "UID", "resourceVersion": "RV", "continue": "TOKEN", "creationTimestamp": "TIME", "deletionTimestamp": "TIME",
          "time": "TIME", "lastTransitionTime": "TIME", "clusterIP": "IP", "selfLink": "LINK"}
ONE_NAME = ("TIME", "TOKEN")
UUID = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b")


def sorted_json(found):
    """An object shown inside of a sentence: its keys may come in any order."""
    try:
        return "Invalid value: " + json.dumps(json.loads(json.loads(found[1])), sort_keys=True)
    except ValueError:
        return found[0]


def is_list(value):
    return ("items" in value or "rows" in value) and isinstance(value.get("metadata"), dict)


class Names:
    """Stand-ins for what differs from run to run."""

    def __init__(self):
        self.seen = {}

    def of(self, kind, value):
        if value in ("", "0", None, "None") or kind in ONE_NAME and value:
            return value if not value or value == "None" else (kind if kind in ONE_NAME else value)
        known = self.seen.setdefault(kind, {})
        return known.setdefault(value, f"{kind}{len(known) + 1}")

    def text(self, value):
        value = re.sub(r'Invalid value: ("\{(?:[^"\\]|\\.)*\}")', sorted_json, value)
        value = UUID.sub(lambda m: self.of("UID", m[0]), value)
        value = re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", "TIME", value)
        value = re.sub(r'(resourceVersion\\*": ?\\*")(\d+)', lambda m: m[1] + self.of("RV", m[2]), value)
        value = re.sub(r"((?:ResourceVersion|resource version)[^0-9]{0,30})(\d+)",
                       lambda m: m[1] + self.of("RV", m[2]), value)
        return re.sub(r"current: \d+", "current: N", value)

    def tree(self, value, key=""):
        if isinstance(value, dict):
            named = {k: self.tree(v, k) for k, v in value.items() if not (k == "metadata" and is_list(value))}
            if is_list(value):
                # A server writes things of its own meanwhile: a list may be newer than what is in it.
                meta = dict(value.get("metadata") or {})
                version = meta.pop("resourceVersion", None)
                named["metadata"] = self.tree(meta, "metadata")
                if version is not None:
                    named["metadata"]["resourceVersion"] = "LIST" if version not in ("", "0") else version
            return named
        if isinstance(value, list) and key == "managedFields":
            # The server sorts them by time, to the second.
            value = sorted(value, key=lambda e: [str(e.get(k)) for k in ("manager", "operation", "subresource", "apiVersion")]
                           if isinstance(e, dict) else [])
        if isinstance(value, list):
            return [self.tree(v, key if key != "clusterIPs" else "clusterIP") for v in value]
        if isinstance(value, str) and key in HIDDEN and not value.startswith("<"):
            return self.of(HIDDEN[key], value)
        return self.text(value) if isinstance(value, str) else value


def decode(text, kind, content_type):
    if "yaml" in content_type:
        return yaml.load(text, yaml.BaseLoader)
    if "watch" in kind or "\n{" in text.strip():
        try:
            return [json.loads(line) for line in text.split("\n") if line]
        except ValueError:
            pass
    try:
        return json.loads(text)
    except ValueError:
        return text


def drop(tree, path):
    """Takes what a path names out of the tree."""
    first, _, rest = path.partition(".")
    keys = list(range(len(tree))) if isinstance(tree, list) else list(tree) if isinstance(tree, dict) else []
    for k in keys:
        if first in ("*", str(k)):
            if rest:
                drop(tree[k], rest)
            elif isinstance(tree, dict):
                del tree[k]
            else:
                tree[k] = None


def fill(text, ns, kept):
    for k, v in kept.items():
        text = text.replace("{{%s}}" % k, v)
    text = re.sub(r"\{\{(.)\*(\d+)\}\}", lambda m: m[1] * int(m[2]), text)
    return re.sub(r"\bNS\b", ns, text)


def raw(text):
    """The bytes to send."""
    parts = re.split(r"\{\{hex:([0-9a-f]+)\}\}", text)
    return b"".join(bytes.fromhex(p) if i % 2 else p.encode() for i, p in enumerate(parts))


def changed(rng, text, pieces, times):
    """Pieces cut out and put in, bits turned."""
    text = bytearray(text)
    for _ in range(times):
        at, what = rng.randrange(len(text) + 1), rng.randrange(4)
        if what == 0:
            del text[at:at + rng.randrange(1, 8)]
        elif what == 1:
            text[at:at] = rng.choice(pieces)
        elif what == 2 and at < len(text):
            text[at] ^= 1 << rng.randrange(8)
        else:
            text[at:at] = text[rng.randrange(len(text) + 1):][:30]
    return bytes(text)


def run(caller, ns, steps):
    """The answers to a scenario's steps, normalised: [{status, type, warnings, body}]. kube-apiserver warns about keys of a
    map in any order."""
    kept, names, answers = {}, Names(), []
    for step in steps:
        end = time.monotonic() + WAIT_SECONDS
        while True:
            status, reply, text = caller.send(step.method, fill(step.path, ns, kept), step.headers,
                                              fill("\n".join(step.body), ns, kept))
            if step.until is None or status // 100 == step.until or time.monotonic() > end:
                break
            time.sleep(0.05)
        tree = decode(text, step.path, reply.headers.get("Content-Type") or "")
        for name, path in step.keep:
            kept[name] = dig(tree, path)
        answer = {"status": status, "type": (reply.headers.get("Content-Type") or ""),
                  "warnings": sorted(reply.headers.get_all("Warning") or []), "body": names.tree(tree)}
        for path in step.differ:
            drop(answer, path)
        answers.append(answer)
    return answers


def difference(a, b, path=""):
    """What differs, line by line."""
    if isinstance(a, dict) and isinstance(b, dict):
        lines = [difference(a.get(k, "<absent>"), b.get(k, "<absent>"), f"{path}.{k}") for k in {**a, **b}
                 if a.get(k, "<absent>") != b.get(k, "<absent>")]
        return "\n".join(lines)
    if isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        return "\n".join(difference(x, y, f"{path}.{i}") for i, (x, y) in enumerate(zip(a, b)) if x != y)
    return f"  {path[1:]}\n    real {json.dumps(a)[:1500]}\n    ours {json.dumps(b)[:1500]}"
