# SPDX-License-Identifier: GPL-3.0-or-later
"""Requests of every sort at the same time: schemas, catalogue and caches are shared by the threads that serve. What this
can show best is a thread-sanitizer build; `Embedded` looks at what the server printed when it stops."""
import json
import os
import sys
import threading

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from lib import cluster  # noqa: E402

THREADS, ROUNDS = 6, 4
DNS = "/apis/operator.openshift.io/v1/dnses/default"
SERVICES = "/api/v1/namespaces/default/services"
APPLY = "application/apply-patch+yaml"
MERGE, JSON, STRATEGIC = "application/merge-patch+json", "application/json-patch+json", "application/strategic-merge-patch+json"


def service(n, i):
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": f"s{n}"},
            "spec": {"clusterIP": "None", "ports": [{"name": "a", "port": 80 + i}, {"name": "b", "port": 53, "protocol": "UDP"}]}}


def dns(i):
    """With items that are known by keys, some of which have defaults."""
    return {"apiVersion": "operator.openshift.io/v1", "kind": "DNS", "metadata": {"name": "default"}, "spec": {
        "upstreamResolvers": {"upstreams": [{"type": "Network", "address": f"192.0.2.{i + 1}"}]},
        "templates": [{"name": f"t{i}", "zones": [f"z{i}.test"], "action": {"returnEmpty": {}}}]}}


def requests(n, i):
    yield "PATCH", f"{SERVICES}/s{n}?fieldManager=a&force=true", service(n, i), APPLY
    yield "PATCH", f"{DNS}?fieldManager=f{n}&force=true", dns(n), APPLY
    yield "PATCH", f"{DNS}?fieldManager=m", {"spec": {"logLevel": ("Debug", "Trace")[i % 2]}}, MERGE
    yield "PATCH", f"{DNS}/status", {"status": {"clusterIP": "10.96.0.10", "clusterDomain": "cluster.local", "conditions": [
        {"type": f"T{n}", "status": "True", "reason": "R", "message": str(i), "lastTransitionTime": "2024-01-01T00:00:00Z"}]}}, MERGE
    yield "PATCH", f"{SERVICES}/s{n}", {"spec": {"ports": [{"port": 80 + i, "name": "c"}]}}, STRATEGIC
    yield "PATCH", f"{SERVICES}/s{n}", [{"op": "add", "path": "/metadata/labels", "value": {"i": str(i)}}], JSON
    for path in (SERVICES, DNS, "/apis", "/api/v1", "/openapi/v2", "/openapi/v3", "/openapi/v3/api/v1",
                 "/openapi/v3/apis/operator.openshift.io/v1", "/api/v1/events", "/metrics", "/readyz"):
        yield "GET", path, None, "application/json"
    yield "POST", SERVICES, {**service(n, i), "metadata": {"name": "of-all"}}, "application/json"
    yield "DELETE", f"{SERVICES}/of-all", None, "application/json"


def test_requests_of_every_sort_at_once():
    wrong, ok = [], []
    with cluster.Embedded() as api:
        assert api.call("PATCH", DNS + "?fieldManager=first", dns(0), content_type=APPLY)[0] == 201

        def work(n):
            for i in range(ROUNDS):
                for method, path, body, kind in requests(n, i):
                    status, got = api.call(method, path, body and json.dumps(body).encode(), content_type=kind,
                                           token=api.system if path.endswith("/status") else None)
                    # the one object of all is there or not, and a change may meet another one
                    (ok if status in (200, 201) or (status in (404, 409) and "of-all" in path + str(body)) else wrong).append(
                        (method, path, status, str(got)[:300]))

        threads = [threading.Thread(target=work, args=(n,)) for n in range(THREADS)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        assert not wrong, wrong[:3]
        assert len(ok) == THREADS * ROUNDS * len(list(requests(0, 0)))
        kept = api.call("GET", DNS)[1]
        assert {c["type"] for c in kept["status"]["conditions"]} <= {f"T{n}" for n in range(THREADS)}
        assert len(api.call("GET", SERVICES)[1]["items"]) >= THREADS
