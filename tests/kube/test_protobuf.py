# SPDX-License-Identifier: GPL-3.0-or-later
"""Bodies that kubectl sends as protobuf, and objects as the server writes them so, recorded into
src/apiserver/codec/test_protobuf.json beside the same objects as JSON.

kubectl talks plain HTTP to a recorder that hands everything on to the real server.
"""
import base64
import http.server
import json
import os
import ssl
import subprocess
import threading
import urllib.error
import urllib.request

from crdlib import cluster  # noqa: F401 (fixture)
from kinds_cases import BUCKET, CM, EPS, EV, EV2, ING, KINDS, LEASE, MICRO, NS, SA, SECRET, SVC, TIME, at, backend, eps, ev2, ing, port, ref, route, rule, svc
from lib import server
from lib.cluster import ADMIN, peer

FILE = os.path.join(server.ROOT, "src", "apiserver", "codec", "test_protobuf.json")
PROTOBUF = "application/vnd.kubernetes.protobuf"

# Commands whose bodies are protobuf since kubectl 1.32; what they would send is also had as JSON.
COMMANDS = [
    "create namespace n1", "create configmap c1 --from-literal=a=b --from-literal=c=d", "create secret generic s1 --from-literal=a=b",
    "create secret docker-registry s2 --docker-server=x --docker-username=u --docker-password=p", "create service clusterip v1 --tcp=80:8080 --tcp=53",
    "create service nodeport v2 --tcp=80 --node-port=30999", "create service externalname v3 --external-name=a.example.org", "create serviceaccount a1",
    "create ingress i1 --rule=a.example/x*=web:80,tls=s --rule=b.example/=web:http --default-backend=d:8080 --class=c",
]
# Reviews; they have no JSON to compare with, so it stands here.
REVIEWS = [
    ("auth can-i get pods --subresource=log -n kube-system", "SelfSubjectAccessReview",
     {"spec": {"resourceAttributes": {"namespace": "kube-system", "verb": "get", "resource": "pods", "subresource": "log"}}}),
    ("auth can-i get /version", "SelfSubjectAccessReview", {"spec": {"nonResourceAttributes": {"path": "/version", "verb": "get"}}}),
    ("auth can-i --list -n default", "SelfSubjectRulesReview", {"spec": {"namespace": "default"}}), ("auth whoami", "SelfSubjectReview", {}),
]
META = {"labels": {"a": "b", "c": ""}, "annotations": {"x/y": "z\n"}, "finalizers": ["x.org/y"],
        "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "1", "controller": True, "blockOwnerDeletion": False}]}
OBJECTS = [
    (NS, {"metadata": {"labels": {"a": "b"}}}), (CM, {"metadata": META, "data": {"a": "\u00fc", "b": ""}, "binaryData": {"c": "AAH/"}, "immutable": True}), (CM, {}),
    (SECRET, {"data": {"a": "AAH/"}, "type": "x/y"}), (SA, {"secrets": [{"name": "s"}], "imagePullSecrets": [{"name": "i"}], "automountServiceAccountToken": False}),
    (SVC, svc(port(name="a", targetPort="web", appProtocol="http"), port(53, name="b", protocol="UDP", targetPort=5353), selector={"a": "b"}, sessionAffinity="ClientIP", externalIPs=["192.0.2.1"])),
    (SVC, svc(port(nodePort=30998), type="LoadBalancer", loadBalancerSourceRanges=["10.0.0.0/8"], publishNotReadyAddresses=True)), (SVC, svc(clusterIP="None")),
    (EPS, eps(at("10.0.0.1", conditions={"ready": True, "serving": False}, hostname="h", nodeName="n", zone="z", targetRef=ref(), hints={"forZones": [{"name": "z"}]}), ports=[{"name": "a", "port": 80}, {}])),
    (LEASE, {"spec": {"holderIdentity": "h", "leaseDurationSeconds": 15, "acquireTime": MICRO, "renewTime": MICRO, "leaseTransitions": 3}}), (LEASE, {"spec": {}}),
    (EV, {"involvedObject": ref(), "reason": "R", "message": "m", "type": "Normal", "source": {"component": "c"}, "firstTimestamp": TIME, "lastTimestamp": TIME, "count": 3}),
    (EV2, ev2(series={"count": 2, "lastObservedTime": MICRO}, related=ref("y"), note="n")),
    (ING, ing(rule("a.example", route(), route(path=None, kind="ImplementationSpecific", to={"resource": BUCKET})), rule("b.example"), rule(None, route(to=backend("web", name="http"))),
              defaultBackend=backend(), ingressClassName="c", tls=[{"hosts": ["a.example", "b.example"], "secretName": "s"}, {}])),
]


class Recorder(http.server.ThreadingHTTPServer):
    """Hands requests on to the server and keeps protobuf bodies."""

    def __init__(self, cluster):
        self.cluster, self.bodies = cluster, []
        self.context = ssl.create_default_context(cafile=cluster.ca)
        super().__init__(("127.0.0.1", 0), Handler)


class Handler(http.server.BaseHTTPRequestHandler):
    def relay(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0)) or None
        headers = {k: v for k, v in self.headers.items() if k.lower() in ("accept", "content-type", "user-agent")}
        if (self.headers.get("Content-Type") or "").startswith(PROTOBUF):
            self.server.bodies.append((self.path, body))
        request = urllib.request.Request(self.server.cluster.url + self.path, body, {**headers, "Authorization": f"Bearer {ADMIN}"}, method=self.command)
        try:
            reply = urllib.request.urlopen(request, timeout=30, context=self.server.context)
        except urllib.error.HTTPError as e:
            reply = e
        with reply:
            data = reply.read()
            self.send_response(reply.status)
            self.send_header("Content-Type", reply.headers.get("Content-Type") or "text/plain")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = relay

    def log_message(self, *_):
        pass


def run(cluster, recorder, command):
    env = {"PATH": os.environ["PATH"], "HOME": cluster.dir, "KUBECONFIG": os.path.join(cluster.dir, "none")}
    words = [peer("kubectl"), f"--server=http://127.0.0.1:{recorder.server_port}", *command.split()]
    return subprocess.run(words, capture_output=True, text=True, timeout=60, env=env, check=False)


def from_kubectl(cluster):
    rows = []
    recorder = Recorder(cluster)
    thread = threading.Thread(target=recorder.serve_forever)
    thread.start()
    try:
        for command in COMMANDS:
            done = run(cluster, recorder, command)
            assert done.returncode == 0, done.stderr
            want = json.loads(run(cluster, recorder, command + " --dry-run=client -o json").stdout)
            rows.append((command, want, recorder.bodies.pop()[1]))
        for command, kind, body in REVIEWS:
            run(cluster, recorder, command)
            path, data = recorder.bodies.pop()
            version = "/".join(path.split("?")[0].split("/")[2:4])
            rows.append((command, {"apiVersion": version, "kind": kind, "metadata": {}, **body}, data))
    finally:
        recorder.shutdown()
        thread.join()
        recorder.server_close()
    return rows


def get(cluster, path, accept):
    request = urllib.request.Request(cluster.url + path, headers={"Authorization": f"Bearer {ADMIN}", "Accept": accept})
    with urllib.request.urlopen(request, timeout=30, context=ssl.create_default_context(cafile=cluster.ca)) as reply:
        return reply.read()


def from_server(cluster):
    rows = []
    for i, (kind, o) in enumerate(OBJECTS):
        version, plural, namespaced = KINDS[kind]
        root = f"/apis/{version}" if "/" in version else f"/api/{version}"
        path = root + ("/namespaces/default/" if namespaced else "/") + plural
        o = {"apiVersion": version, "kind": kind.split(".")[0], **o, "metadata": {**o.get("metadata", {}), "name": f"r{i}"}}
        status, answer = cluster.call("POST", path, o)
        assert status == 201, answer
        rows.append((f"GET {kind}", json.loads(get(cluster, f"{path}/r{i}", "application/json")), get(cluster, f"{path}/r{i}", PROTOBUF)))
    return rows


def shape(row):
    """Commands and the fields of their objects: what does not change from run to run."""
    def keys(v):
        if isinstance(v, dict):
            return {k: keys(x) for k, x in v.items() if k != "managedFields"}
        return [keys(x) for x in v] if isinstance(v, list) else type(v).__name__
    return row[0], keys(row[1])


def test_recorded_bodies_are_what_is_sent(cluster):
    got = from_kubectl(cluster) + from_server(cluster)
    if os.environ.get("FAIRLEAD_RECORD"):
        with open(FILE, "w", encoding="utf-8") as f:
            lines = [json.dumps({"of": of, "json": o, "body": base64.b64encode(body).decode()}) for of, o, body in got]
            f.write("[\n" + ",\n".join(lines) + "\n]\n")
    with open(FILE, encoding="utf-8") as f:
        recorded = json.load(f)
    assert [shape((r["of"], r["json"])) for r in recorded] == [shape(r) for r in got]
    for row, (of, _, body) in zip(recorded, got):
        if not of.startswith("GET"):  # nothing in these depends on the moment
            assert base64.b64decode(row["body"]) == body
