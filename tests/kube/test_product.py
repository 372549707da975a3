"""What src/api/test_product.json holds our validation of the product's kinds to is what a real API server says."""
import os

from crdlib import cluster, crds  # noqa: F401 (fixtures)
from lib import server
from oracle import same_as_recorded, verdict
from product_cases import CASES


def call(cluster, crd, version, name, spec, old):
    """The server's answer to a creation, or to a change of what was created before."""
    group, names = crd["spec"]["group"], crd["spec"]["names"]
    inside = "/namespaces/default" if crd["spec"]["scope"] == "Namespaced" else ""
    path = f"/apis/{group}/{version}{inside}/{names['plural']}"
    o = {"apiVersion": f"{group}/{version}", "kind": names["kind"], "metadata": {"name": name}, "spec": spec}
    if old is None:
        return cluster.call("POST", path + "?dryRun=All", o)
    status, was = cluster.call("POST", path, {**o, "spec": old})
    assert status == 201, was
    o["metadata"]["resourceVersion"] = was["metadata"]["resourceVersion"]
    return cluster.call("PUT", f"{path}/{name}", o)


def test_recorded_answers_are_the_servers(cluster, crds):
    kinds = {f"{c['spec']['names']['kind']}.{c['spec']['group']}": c for c in crds.values()}
    rows = []
    for i, (about, what, spec, *old) in enumerate(CASES):
        kind, version = what.split("/")
        name = "default" if kind.startswith("EgressFirewall") else f"r{i}"
        group = kinds[kind]["spec"]["group"]
        row = {"about": about, "schema": what, "kind": kinds[kind]["spec"]["names"]["kind"], "group": group, "name": name, "object": spec}
        if old:
            row["old"] = old[0]
        rows.append({**row, **verdict(*call(cluster, kinds[kind], version, name, spec, old[0] if old else None))})
    assert sum("errors" in r for r in rows) >= 80
    same_as_recorded({"group": "", "schemas": {}, "rows": rows}, os.path.join(server.ROOT, "src", "api", "test_product.json"))
