# SPDX-License-Identifier: GPL-3.0-or-later
"""The product's CRDs are accepted by a real API server, and so are the example objects of each kind."""
import json
import re
import subprocess

import pytest

from crdlib import CRDS, OBJECTS, Document, create, crds, cluster, documents, resources  # noqa: F401 (fixtures)
from lib.cluster import peer


@pytest.fixture(scope="module")
def objects(cluster, crds):
    """All objects, created; (document, what the server answered)."""
    made = []
    plurals = resources(crds)
    docs = [Document(text, plurals) for _, text in documents(OBJECTS)]
    for ns in sorted({d.namespace for d in docs} - {None, "default"}):
        status, answer = create(cluster, "/api/v1/namespaces", json.dumps({"metadata": {"name": ns}}))
        assert status == 201, answer
    for d in docs:
        status, answer = create(cluster, d.collection, d.text)
        assert status == 201, (d.path, answer)
        made.append((d, answer))
    return made


def test_every_file_holds_one_crd_named_after_it():
    names = []
    for place, text in documents(CRDS):
        group, plural = re.match(r"(\S+)_(\S+)\.yaml:0$", place).groups()
        assert f"\n  name: {plural}.{group}\n" in text
        names.append((group, plural))
    assert len(names) == len(set(names)) == 15


def test_accepted(crds):
    for name, crd in crds.items():
        conditions = {c["type"]: c["status"] for c in crd["status"]["conditions"]}
        assert conditions["NamesAccepted"] == conditions["Established"] == "True", name
        assert "NonStructuralSchema" not in conditions and "KubernetesAPIApprovalPolicyConformant" not in conditions, name
        assert crd["status"]["acceptedNames"] == crd["spec"]["names"], name
        stored = [v["name"] for v in crd["spec"]["versions"] if v["storage"]]
        assert crd["status"]["storedVersions"] == stored and len(stored) == 1, name


def walk(schema, path=""):
    yield path, schema
    for key, sub in schema.get("properties", {}).items():
        yield from walk(sub, f"{path}.{key}")
    if "items" in schema:
        yield from walk(schema["items"], path + "[]")
    if isinstance(schema.get("additionalProperties"), dict):
        yield from walk(schema["additionalProperties"], path + "{}")


def test_schemas_are_described_and_bounded(crds):
    """Every field has a description, every list and free map a limit."""
    for name, crd in crds.items():
        for version in crd["spec"]["versions"]:
            assert version["additionalPrinterColumns"], name
            for path, schema in walk(version["schema"]["openAPIV3Schema"]):
                where = f"{name} {version['name']} {path}"
                if not path.startswith(".metadata") and not path.endswith("{}"):
                    assert schema.get("description", "").endswith((".", "]:53", "10.0.0.20")), where
                if schema.get("type") == "array":
                    assert "maxItems" in schema and "x-kubernetes-list-type" in schema, where
                if "additionalProperties" in schema:
                    assert "maxProperties" in schema, where


def kept(sent, got, path=""):
    """Paths in what was sent that the server did not keep."""
    if isinstance(sent, dict):
        for key, value in sent.items():
            if key not in (got or {}):
                yield f"{path}.{key}"
            else:
                yield from kept(value, got[key], f"{path}.{key}")
    elif isinstance(sent, list):
        for i, value in enumerate(sent):
            yield from kept(value, got[i], f"{path}[{i}]")
    elif sent != got:
        yield path


def kubectl(cluster, *arguments, text=None):
    return subprocess.run([peer("kubectl"), "--kubeconfig", cluster.kubeconfig(), "--cache-dir", cluster.dir, *arguments],
                          input=text, capture_output=True, text=True, check=True).stdout


def as_json(cluster, objects):
    """The objects' texts as trees, by kubectl's reading of YAML."""
    out = kubectl(cluster, "create", "-f", "-", "--dry-run=client", "--validate=false", "-o", "json",
                  text="\n---\n".join(d.text for d, _ in objects))
    at, trees, decoder = 0, [], json.JSONDecoder()
    while at < len(out.rstrip()):
        tree, at = decoder.raw_decode(out, at + len(out[at:]) - len(out[at:].lstrip()))
        trees += tree["items"] if tree["kind"] == "List" else [tree]
    assert len(trees) == len(objects)
    return trees


def test_example_objects(cluster, objects):
    """Nothing of them is pruned, neither of spec nor, through the subresource, of status."""
    with_status = 0
    for (d, answer), sent in zip(objects, as_json(cluster, objects)):
        assert sent["metadata"]["name"] == d.name
        assert list(kept(sent.get("spec", {}), answer.get("spec", {}))) == [], d.path
        if "status" in sent:
            sent["metadata"]["resourceVersion"] = answer["metadata"]["resourceVersion"]
            status, answer = cluster.call("PUT", d.path + "/status", sent)
            assert status == 200, (d.path, answer)
            assert list(kept(sent["status"], answer["status"])) == [], d.path
            with_status += 1
    assert with_status >= 8


def test_defaults(objects):
    """OP-5, OP-7 and the real operator's defaults."""
    spec = {d.name: a for d, a in objects if d.kind == "DNS"}["all-fields"]["spec"]
    assert spec["templates"][0]["queryType"] == "AAAA" and spec["templates"][0]["queryClass"] == "IN"
    assert spec["templates"][0]["action"] == {"returnEmpty": {"rcode": "NOERROR"}}
    assert [u["port"] for u in spec["upstreamResolvers"]["upstreams"]] == [53, 53, 5353]
    spec = {d.name: a for d, a in objects if d.kind == "DNS"}["default"]["spec"]
    assert spec["upstreamResolvers"] == {"policy": "Sequential", "upstreams": [{"type": "SystemResolvConf", "port": 53}]}
    assert spec["logLevel"] == spec["operatorLogLevel"] == "Normal"


def test_served_in_other_versions(cluster, objects):
    """IP-14: an address that was written in the older version is read in ours with its nameservers."""
    d = next(d for d, _ in objects if d.name == "example-2-1")
    status, got = cluster.call("GET", d.path.replace("/v1alpha1/", "/v1beta2/"))
    assert status == 200 and got["apiVersion"] == "ipam.cluster.x-k8s.io/v1beta2"
    assert got["spec"]["nameservers"] == {"search": ["yet.another.domain"], "addresses": ["10.200.0.1"]}


def test_print_columns(cluster, objects):
    """DR-1, and that every column's path is one kubectl understands."""
    def table(what):
        return [re.split(r"  +", line.strip()) for line in kubectl(cluster, "get", what, "-A").splitlines()]
    rows = table("dnsrecords.extensions.gardener.cloud")
    assert rows[0] == ["NAMESPACE", "NAME", "TYPE", "DOMAIN NAME", "RECORD TYPE", "STATUS", "AGE"]
    assert rows[1][:5] == ["default", "dnsrecord-external", "aws-route53", "api.bar.foo.my-fancy-domain.com", "A"]
    assert table("co")[0] == ["NAME", "VERSION", "AVAILABLE", "PROGRESSING", "DEGRADED", "SINCE"]
    names = {f"{d.collection.split('/')[-1]}.{d.version.split('/')[0]}" for d, _ in objects if "/" in d.version}
    headers = [row for row in table(",".join(sorted(names))) if row[0] in ("NAME", "NAMESPACE")]
    assert len(headers) == len(names) == 15
