# SPDX-License-Identifier: GPL-3.0-or-later
"""DNSRecords, the provider `memory` with its zones in a file, and a gardenlet that waits as the real one does."""
import base64
import datetime
import json
import os
import subprocess
import time
import urllib.parse

import crdlib
from controllerlib import start, until
from lib import server
from lib.cluster import Cluster

GROUP = "extensions.gardener.cloud"
MERGE = "application/merge-patch+json"
FINALIZER = f"{GROUP}/dnsrecord"
IN_USE = "dnsrecord.fairlead.dev/in-use"  # of Secrets
OPERATION, TIMESTAMP = "gardener.cloud/operation", "gardener.cloud/timestamp"
TYPES = {"A": 1, "CNAME": 5, "TXT": 16, "AAAA": 28}


def prepare(c):
    """The kinds, on a real API server."""
    if isinstance(c, Cluster):
        crdlib.apply_all(c, group=GROUP)
    return c


def run_controller(c, *args, wait="leading as", probe="0", **kw):
    """Names are not looked up unless `probe` says how often."""
    p = start(c.kubeconfig(getattr(c, "system", None) or c.admin), "--dnsrecord-types", "memory", "--dnsrecord-probe", probe, *args,
              controllers="dnsrecord", **kw)
    if wait:
        p.wait_line(wait)
    return p


def path(ns, name=None):
    return f"/apis/{GROUP}/v1alpha1/namespaces/{ns}/dnsrecords" + (f"/{name}" if name else "")


class Zones:
    """The zones of a provider: a file that processes share."""

    def __init__(self, folder, zones=("example.com",), limits=None):
        self.file = os.path.join(folder, "zones")
        lines = [f"zone {z.split('=')[0]} {z.split('=')[-1]} public" for z in zones]
        lines += [f"limit {k} {v}" for k, v in (limits or {}).items()]
        self.write(lines)

    def write(self, lines):
        with open(self.file + ".test", "w", encoding="ascii") as f:
            f.write("".join(line + "\n" for line in lines))
        os.replace(self.file + ".test", self.file)

    def lines(self):
        with open(self.file, encoding="ascii") as f:
            return f.read().splitlines()

    def sets(self, foreign=False):
        """{(name, type): (ttl, values)}"""
        found = {}
        for words in (line.split(" ") for line in self.lines()):
            if words[0] == "set" and (words[6] == "foreign") == foreign:
                found[(words[2].replace("%2A", "*"), {v: k for k, v in TYPES.items()}[int(words[3])])] = (
                    int(words[4]), [urllib.parse.unquote(w, errors="surrogateescape") for w in words[7:]])
        return found

    def zone_of(self, name):
        return next((w[1] for w in (line.split(" ") for line in self.lines()) if w[0] == "set" and w[2] == name), None)

    def add_foreign(self, name, kind, *values, zone="example.com", ttl=300):
        self.write([*self.lines(), f"set {zone} {name} {TYPES[kind]} {ttl} - foreign {' '.join(values)}"])

    def fault(self, call, fault, count=1):
        """What the next calls come to; count 0 removes all."""
        lines = [line for line in self.lines() if not line.startswith("fault ")]
        self.write([*lines, f"fault {call} {fault} {count}"] if count else lines)

    def calls(self, kind=None):
        try:
            with open(self.file + ".calls", encoding="ascii") as f:
                return [line.split() for line in f if kind is None or line.startswith(kind)]
        except FileNotFoundError:
            return []

    def data(self):
        return {"server": self.file, "file": self.file}


def make_secret(c, ns, data, name="credentials", **meta):
    status, body = c.call("POST", f"/api/v1/namespaces/{ns}/secrets", {
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, **meta},
        "data": {k: base64.b64encode(v.encode()).decode() for k, v in data.items()}})
    assert status == 201, body


def record(name, host, values=("192.0.2.1",), kind="A", secret=None, annotations=None, labels=None, **spec):
    return {"apiVersion": f"{GROUP}/v1alpha1", "kind": "DNSRecord",
            "metadata": {"name": name, "annotations": annotations or {}, "labels": labels or {}},
            "spec": {"type": "memory", "secretRef": secret or {"name": "credentials"}, "name": host, "recordType": kind,
                     "values": list(values), **spec}}


def make(c, ns, *args, **kw):
    status, body = c.call("POST", path(ns), record(*args, **kw))
    assert status == 201, body
    return body


def make_many(c, ns, zone, names):
    """New records at a place (lib/nameserver.py), by one process: faster than by requests of Python."""
    objects = (record(name, f"{name}.{ns}.{zone.zone}", type=zone.type) for name in names)
    subprocess.run([server.fairlead_program(), "apply", "-f", "-", "--kubeconfig", c.kubeconfig(), "-n", ns], check=True, timeout=600, text=True,
                   input="\n---\n".join(json.dumps(o) for o in objects), stdout=subprocess.DEVNULL)


def count_succeeded(c, ns):
    found, more = 0, ""
    while True:
        body = c.call("GET", path(ns) + f"?limit=500{more}")[1]
        found += sum(o.get("status", {}).get("lastOperation", {}).get("state") == "Succeeded" for o in body["items"])
        if not body["metadata"].get("continue"):
            return found
        more = f"&continue={body['metadata']['continue']}"


def get(c, ns, name):
    status, body = c.call("GET", path(ns, name))
    assert status in (200, 404), body
    return body if status == 200 else None


def patch(c, ns, name, change):
    status, body = c.call("PATCH", path(ns, name), change, content_type=MERGE)
    assert status == 200, body
    return body


def write_status(c, ns, name, status):
    """As another controller would."""
    code, body = c.call("PATCH", path(ns, name) + "/status", {"status": status}, content_type=MERGE,
                        token=getattr(c, "system", None) or c.admin)
    assert code == 200, body


def delete(c, ns, name):
    status, body = c.call("DELETE", path(ns, name))
    assert status in (200, 202), body


def status_of(c, ns, name):
    return (get(c, ns, name) or {}).get("status", {})


def state_of(c, ns, name):
    """(type, state) of lastOperation."""
    op = status_of(c, ns, name).get("lastOperation", {})
    return op.get("type"), op.get("state")


def settled(c, ns, name):
    """Succeeded for the object's generation."""
    o = get(c, ns, name)
    s = (o or {}).get("status", {})
    ok = s.get("lastOperation", {}).get("state") == "Succeeded" and s.get("observedGeneration") == o["metadata"]["generation"]
    return s if ok else None


def failed(c, ns, name):
    s = status_of(c, ns, name)
    return s if s.get("lastOperation", {}).get("state") == "Error" else None


def wait_settled(c, ns, name, seconds=20):
    return until(lambda: settled(c, ns, name), seconds)


def wait_failed(c, ns, name, seconds=20):
    return until(lambda: failed(c, ns, name), seconds)


def wait_gone(c, ns, name, seconds=20):
    return until(lambda: get(c, ns, name) is None, seconds)


def condition(status, kind):
    return next(((x["status"], x["reason"]) for x in status.get("conditions", []) if x["type"] == kind), None)


# ---- gardenlet ----

def stamp(ahead=0):
    return (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=ahead)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def request(operation, ahead=0):
    return {OPERATION: operation, TIMESTAMP: stamp(ahead)}


def not_ready(o):
    """Why gardenlet does not take the object for ready; None: it does (DR-43)."""
    s, meta = o.get("status", {}), o["metadata"]
    last = s.get("lastOperation")
    if last is None:
        return "no lastOperation"
    if s.get("lastError"):
        return f"lastError: {s['lastError']['description']}"
    if s.get("observedGeneration") != meta["generation"]:
        return "observedGeneration"
    if OPERATION in meta.get("annotations", {}):
        return "annotation"
    if last["state"] != "Succeeded":
        return last["state"]
    asked = meta.get("annotations", {}).get(TIMESTAMP)
    if asked and asked.split(".")[0] > last["lastUpdateTime"].rstrip("Z"):
        return "not updated since the request"
    return None


def gardenlet_waits(c, ns, name, seconds=30):
    """The object once it is ready. A lastError for three polls in a row, 15 s there, is severe; polls are faster here."""
    end, errors, why = time.monotonic() + seconds, 0, None
    while time.monotonic() < end:
        o = get(c, ns, name)
        why = not_ready(o)
        if why is None:
            return o
        errors = errors + 1 if why.startswith("lastError") else 0
        assert errors < 60, why
        time.sleep(0.05)
    raise AssertionError(why)
