# SPDX-License-Identifier: GPL-3.0-or-later
"""What src/api/test_product.json holds our validation of the product's kinds to is what a real API server says."""
import os

from crdlib import cluster, crds  # noqa: F401 (fixtures)
from lib import server
from oracle import same_as_recorded, verdict
from product_cases import CASES, STATUS_CASES


class Kind:
    def __init__(self, cluster, crds, what):
        self.cluster = cluster
        kind, self.version = what.split("/")
        crd = next(c for c in crds.values() if f"{c['spec']['names']['kind']}.{c['spec']['group']}" == kind)
        self.group, self.names = crd["spec"]["group"], crd["spec"]["names"]
        inside = "/namespaces/default" if crd["spec"]["scope"] == "Namespaced" else ""
        self.path = f"/apis/{self.group}/{self.version}{inside}/{self.names['plural']}"

    def row(self, about, what, i, spec):
        name = "default" if self.names["kind"] == "EgressFirewall" else f"r{i}"
        return {"about": about, "schema": what, "kind": self.names["kind"], "group": self.group, "name": name, "object": spec}

    def thing(self, name, spec):
        return {"apiVersion": f"{self.group}/{self.version}", "kind": self.names["kind"], "metadata": {"name": name}, "spec": spec}

    def create(self, name, spec, query=""):
        return self.cluster.call("POST", self.path + query, self.thing(name, spec))

    def made(self, name, spec):
        status, answer = self.create(name, spec)
        assert status == 201, answer
        return answer

    def put(self, was, sub="", **members):
        return self.cluster.call("PUT", f"{self.path}/{was['metadata']['name']}{sub}", {**was, **members})


def spec_rows(cluster, crds):
    for i, (about, what, spec, *old) in enumerate(CASES):
        kind = Kind(cluster, crds, what)
        row = kind.row(about, what, i, spec)
        if old:
            row["old"] = old[0]
            yield {**row, **verdict(*kind.put(kind.made(row["name"], old[0]), spec=spec))}
        else:
            yield {**row, **verdict(*kind.create(row["name"], spec, "?dryRun=All"))}


def status_rows(cluster, crds):
    for i, (about, what, spec, status, *old) in enumerate(STATUS_CASES, len(CASES)):
        kind = Kind(cluster, crds, what)
        row = {**kind.row(about, what, i, spec), "status": status}
        was = kind.made(row["name"], spec)
        if old:
            row["old_status"] = old[0]
            code, was = kind.put(was, "/status", status=old[0])
            assert code == 200, was
        yield {**row, **verdict(*kind.put(was, "/status", status=status), "status")}


def test_recorded_answers_are_the_servers(cluster, crds):
    rows = [*spec_rows(cluster, crds), *status_rows(cluster, crds)]
    assert sum("errors" in r for r in rows) >= 120
    same_as_recorded({"group": "", "schemas": {}, "rows": rows}, os.path.join(server.ROOT, "src", "api", "test_product.json"))
