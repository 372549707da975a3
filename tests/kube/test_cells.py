# SPDX-License-Identifier: GPL-3.0-or-later
"""What src/apiserver/kind/test_table_cells.json holds our tables to is what a real API server shows.

Times are chosen an offset before now and written into the file as the same offset before a fixed moment, so that every
run gives the same rows; offsets lie so that a slow run changes no cell.
"""
import calendar
import json
import os
import re
import ssl
import time
import urllib.request

from crdlib import CRD_PATH, CRDS, cluster, create, established, serves  # noqa: F401 (fixture)
from kinds_cases import (CM, EP, EPS, EV, EV2, ING, KINDS, LEASE, NODE, NS, POD, SA, SECRET, SVC, at, backend, box, ep, eps, ev2, ing, pod, port, ref, rule,
                         subset, svc)
from lib import server
from lib.cluster import ADMIN

FILE = os.path.join(server.ROOT, "src", "apiserver", "kind", "test_table_cells.json")
FIXED = calendar.timegm((2026, 6, 1, 12, 0, 0))
HOURS, DAYS = 3600, 86400


def text(seconds, micro=False):
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + (".000000Z" if micro else "Z")


def status(phase, *containers, init=(), **more):
    return {"phase": phase, "containerStatuses": list(containers), **({"initContainerStatuses": list(init)} if init else {}), **more}


def state(name="c", ready=False, restarts=0, **more):
    return {"name": name, "ready": ready, "restartCount": restarts, "image": "i", "imageID": "", **more}


def ended(code=0, **more):
    return {"terminated": {"exitCode": code, **more}}


RUNS = {"running": {}}
READY = {"conditions": [{"type": "Ready", "status": "True"}]}


def cases(ago):
    """(kind, object, status or None); `ago(seconds)` is a time."""
    two, wait = pod(box(), box(name="d")), {"waiting": {"reason": "CrashLoopBackOff"}}
    init = pod(box(), initContainers=[box(name="a"), box(name="b")])
    side = pod(box(), initContainers=[box(name="a", restartPolicy="Always")])
    old = {"lastState": ended(1, finishedAt=ago(3 * DAYS + 2 * HOURS + 1800))}
    return [
        (CM, {}, None), (CM, {"data": {"a": "1", "b": "2"}, "binaryData": {"c": "eA=="}}, None), (SECRET, {}, None), (SECRET, {"type": "x/y", "stringData": {"a": "b"}}, None),
        (NS, {}, None), (SA, {}, None), (LEASE, {"spec": {}}, None), (LEASE, {"spec": {"holderIdentity": "me"}}, None),
        (SVC, svc(port(), clusterIP="10.96.9.1"), None), (SVC, svc(clusterIP="None", selector={"b": "2", "a": "1"}), None), (SVC, svc(type="ExternalName", externalName="a.b"), None),
        (SVC, svc(port(name="a"), port(53, name="b", protocol="UDP"), clusterIP="10.96.9.2", externalIPs=["192.0.2.1", "192.0.2.2"]), None),
        (SVC, svc(port(nodePort=30901), type="NodePort", clusterIP="10.96.9.3"), None), (SVC, svc(port(nodePort=30902), type="LoadBalancer", clusterIP="10.96.9.4"), None),
        (SVC, svc(port(nodePort=30903), type="LoadBalancer", clusterIP="10.96.9.5"), {"loadBalancer": {"ingress": [{"ip": "192.0.2.9"}, {"hostname": "a.example.org"}, {"ip": "192.0.2.10"}]}}),
        (SVC, svc(port(nodePort=30904), type="LoadBalancer", clusterIP="10.96.9.6", externalIPs=["192.0.2.1"]), {"loadBalancer": {"ingress": [{"ip": "192.0.2.9"}]}}),
        (EP, {}, None), (EP, ep(subset("10.0.0.1")), None), (EP, ep({"notReadyAddresses": [{"ip": "10.0.0.1"}], "ports": [{"port": 80}]}), None),
        (EP, ep(subset("10.0.0.1", "10.0.0.2", "fd00::1", "10.0.0.4", ports=[{"port": 80}])), None), (EP, ep(subset("10.0.0.1", "10.0.0.2", ports=[{"name": "a", "port": 80}])), None),
        (EP, ep(subset("fd00::1", ports=[{"port": 443}])), None), (EP, ep(subset("10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4")), None),
        (EPS, eps(), None), (EPS, eps(at("10.0.0.1"), ports=[{"name": "a", "port": 80}, {"name": "b"}, {}]), None),
        (EPS, eps(at("10.0.0.1", "10.0.0.2"), at("10.0.0.3"), at("10.0.0.4"), ports=[{"name": f"p{i}", "port": i + 1} for i in range(5)]), None),
        (POD, pod(box()), None), (POD, two, status("Running", state(ready=True, state=RUNS), state("d", state=wait, restarts=4))),
        (POD, two, status("Running", state(ready=True, state=RUNS, restarts=2, **old), state("d", ready=True, state=RUNS), podIP="10.1.0.1", podIPs=[{"ip": "10.1.0.1"}], **READY)),
        (POD, pod(box()), status("Succeeded", state(state=ended(reason="Completed")))), (POD, pod(box()), status("Failed", state(state=ended(3)))),
        (POD, pod(box()), status("Failed", state(state=ended(137, signal=9)))), (POD, pod(box()), status("Failed", reason="Evicted")),
        (POD, two, status("Running", state(state=ended(reason="Completed")), state("d", ready=True, state=RUNS), **READY)),
        (POD, two, status("Running", state(state=ended(reason="Completed")), state("d", ready=True, state=RUNS))), (POD, two, status("Running", state(state=ended(reason="Completed")), state("d", state=ended(2, reason="Error")))),
        (POD, init, status("Pending", state(), init=[state("a", state=ended()), state("b", state=RUNS)])), (POD, init, status("Pending", state(), init=[state("a", state=ended(1)), state("b")])),
        (POD, init, status("Pending", state(), init=[state("a", state=ended(1, reason="Error"), restarts=3), state("b")])), (POD, init, status("Pending", state(), init=[state("a", state=wait), state("b")])),
        (POD, init, status("Pending", state(), init=[state("a", state={"waiting": {"reason": "PodInitializing"}}), state("b")])),
        (POD, side, status("Running", state(ready=True, state=RUNS), init=[state("a", ready=True, started=True, state=RUNS, restarts=1, **old)])),
        (POD, {"spec": {**pod(box())["spec"], "readinessGates": [{"conditionType": "a/b"}, {"conditionType": "a/c"}]}}, status("Running", conditions=[{"type": "a/b", "status": "True"}])),
        (POD, pod(box(), schedulingGates=[{"name": "a/b"}]), None), (POD, pod(box(), nodeName="n1"), status("Running")), (POD, pod(box()), status("Pending", nominatedNodeName="n2")),
        (NODE, {}, None), (NODE, {"metadata": {"labels": {"node-role.kubernetes.io/worker": "", "node-role.kubernetes.io/control-plane": "", "kubernetes.io/role": "x"}}, "spec": {"unschedulable": True}},
                           {"conditions": [{"type": "Ready", "status": "True"}], "addresses": [{"type": "InternalIP", "address": "10.0.0.1"}, {"type": "ExternalIP", "address": "192.0.2.1"}],
                            "nodeInfo": {"kubeletVersion": "v1.37.1", "osImage": "OS", "kernelVersion": "6", "containerRuntimeVersion": "c://1", "architecture": "amd64", "machineID": "", "systemUUID": "",
                                         "bootID": "", "kubeProxyVersion": "", "operatingSystem": "linux"}}),
        (NODE, {}, {"conditions": [{"type": "Ready", "status": "False"}]}),
        (EV, {"involvedObject": ref(fieldPath="spec.x"), "reason": "R", "message": " m \n", "type": "Normal", "source": {"component": "c", "host": "h"}, "firstTimestamp": ago(3 * DAYS + 1800),
              "lastTimestamp": ago(2 * HOURS + 30), "count": 7}, None),
        (EV, {"involvedObject": {"kind": "Node"}}, None), (EV, {"involvedObject": ref(), "firstTimestamp": ago(5 * HOURS + 90)}, None),
        (EV2, ev2(eventTime=ago(9 * DAYS + 1800, True), note="n"), None), (EV2, ev2(eventTime=ago(9 * DAYS + 1800, True), series={"count": 5, "lastObservedTime": ago(15 * 60 + 20, True)}), None),
        (ING, ing(defaultBackend=backend()), None), (ING, ing(rule("a.example"), rule("b.example"), rule("c.example"), ingressClassName="nginx", tls=[{}]), None),
        (ING, ing(*(rule(f"h{i}.example") for i in range(5))), {"loadBalancer": {"ingress": [{"ip": "192.0.2.200"}, {"hostname": "a-long-name.lb.example.net"}, {"ip": "192.0.2.1"}, {}]}}),
        (ING, ing(rule(), rule("b.example"), rule()), None), (ING, ing(rule(), rule("a.example"), rule("b.example"), rule("c.example"), rule()), None),
    ]


def table_of(cluster, path):
    request = urllib.request.Request(cluster.url + path + "?includeObject=Object", headers={
        "Authorization": f"Bearer {ADMIN}", "Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"})
    with urllib.request.urlopen(request, timeout=30, context=ssl.create_default_context(cafile=cluster.ca)) as reply:
        return json.load(reply)


def fixed(value, shift):
    """The same with all times moved."""
    def move(m):
        s = calendar.timegm(time.strptime(m[1], "%Y-%m-%dT%H:%M:%S")) + shift
        return '"' + time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(s)) + (m[2] or "") + 'Z"'
    return json.loads(re.sub(r'"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(\.\d+)?Z"', move, json.dumps(value)))


def row_of(cluster, path, shift):
    answer = table_of(cluster, path)
    columns = [c["name"] for c in answer["columnDefinitions"]]
    row = answer["rows"][0]
    o = row["object"]
    cells = row["cells"]
    for name in ("uid", "resourceVersion", "managedFields"):
        o["metadata"].pop(name, None)
    o = fixed(o, shift)
    o["metadata"]["creationTimestamp"] = text(FIXED - 5)
    for c in o.get("status", {}).get("conditions", []):
        if c.get("lastTransitionTime"):  # by the server's clock
            c["lastTransitionTime"] = text(FIXED - 5)
    if "Age" in columns:
        assert re.fullmatch(r"\d+s", cells[columns.index("Age")])
        cells[columns.index("Age")] = "5s"
    return {"columns": columns, "object": o, "cells": cells}


def rows(cluster):
    now = int(time.time())
    out = []
    for i, (kind, o, state) in enumerate(cases(lambda s, micro=False: text(now - s, micro))):
        version, plural, namespaced = KINDS[kind]
        root = f"/apis/{version}" if "/" in version else f"/api/{version}"
        path = root + ("/namespaces/default/" if namespaced else "/") + plural
        o = {"apiVersion": version, "kind": kind.split(".")[0], **o, "metadata": {**o.get("metadata", {}), "name": f"r{i}"}}
        code, answer = cluster.call("POST", path, o)
        assert code == 201, (o, answer)
        if state is not None:
            code, answer = cluster.call("PATCH", f"{path}/r{i}/status", {"status": state}, content_type="application/merge-patch+json")
            assert code == 200, (o, answer)
        out.append(row_of(cluster, f"{path}/r{i}", FIXED - now))
    for crd in ("config.openshift.io_clusteroperators", "ipam.cluster.x-k8s.io_ipaddressclaims"):
        with open(os.path.join(CRDS, crd + ".yaml"), encoding="utf-8") as f:
            assert create(cluster, CRD_PATH, f.read())[0] == 201
        name = ".".join(reversed(crd.split("_")))
        serves(cluster, established(cluster, name))
        row = row_of(cluster, f"{CRD_PATH}/{name}", FIXED - now)
        row["cells"][3] = row["object"]["metadata"]["creationTimestamp"]
        out.append(row)
    return out


def test_recorded_cells_are_the_servers(cluster):
    got = rows(cluster)
    if os.environ.get("FAIRLEAD_RECORD"):
        with open(FILE, "w", encoding="utf-8") as f:
            f.write('{"now": %d,\n"rows": [\n%s\n]}\n' % (FIXED, ",\n".join(json.dumps(r, ensure_ascii=False) for r in got)))
    with open(FILE, encoding="utf-8") as f:
        recorded = json.load(f)
    assert recorded["now"] == FIXED
    assert len(recorded["rows"]) == len(got)
    for was, now in zip(recorded["rows"], got):
        assert was == now
