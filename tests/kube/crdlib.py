# SPDX-License-Identifier: GPL-3.0-or-later
"""CRDs of deploy/crds and the objects of tests/kube/objects, for tests against a real API server.

Files are sent as they are (the server reads YAML); of an object's text only the lines that say where it belongs are
looked at.
"""
import os
import re
import time

import pytest

from lib import server
from lib.cluster import Cluster

CRDS = os.path.join(server.ROOT, "deploy", "crds")
OBJECTS = os.path.join(server.ROOT, "tests", "kube", "objects")
CRD_PATH = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
ESTABLISH_SECONDS = 30


def documents(folder):
    """(file and number, text) of each document in the folder's files."""
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), encoding="utf-8") as f:
            for i, text in enumerate(re.split(r"(?m)^---\n", f.read())):
                yield f"{name}:{i}", text


def field(text, pattern):
    found = re.search(pattern, text, re.M)
    return found[1] if found else None


class Document:
    """An object's text and its place in the API."""

    def __init__(self, text, resources):
        self.text = text
        self.version = field(text, r"^apiVersion: (\S+)$")
        self.kind = field(text, r"^kind: (\S+)$")
        meta = text[text.index("metadata:"):]
        self.name = field(meta, r"^  name: (\S+)$")
        self.namespace = field(meta, r"^  namespace: (\S+)$")
        group = self.version.split("/")[0] if "/" in self.version else ""
        plural = resources.get((group, self.kind)) or self.kind.lower() + "s"
        root = f"/apis/{self.version}" if group else f"/api/{self.version}"
        inside = f"/namespaces/{self.namespace}" if self.namespace else ""
        self.collection = f"{root}{inside}/{plural}"
        self.path = f"{self.collection}/{self.name}"


def create(cluster, path, text):
    return cluster.call("POST", path, text.encode(), content_type="application/yaml")


def established(cluster, name):
    """The CRD once the server serves it."""
    end = time.monotonic() + ESTABLISH_SECONDS
    while True:
        status, crd = cluster.call("GET", f"{CRD_PATH}/{name}")
        assert status == 200, crd
        conditions = {c["type"]: c for c in crd.get("status", {}).get("conditions") or []}
        if conditions.get("Established", {}).get("status") == "True":
            return crd
        assert conditions.get("NamesAccepted", {}).get("status") != "False", conditions
        assert time.monotonic() < end, conditions
        time.sleep(0.02)


def serves(cluster, crd):
    """Waits until discovery shows every version: an established CRD is served a moment later."""
    group = crd["spec"]["group"]
    end = time.monotonic() + ESTABLISH_SECONDS
    for version in crd["spec"]["versions"]:
        while True:
            status, got = cluster.call("GET", f"/apis/{group}/{version['name']}")
            if status == 200 and any(r["name"] == crd["spec"]["names"]["plural"] for r in got["resources"]):
                break
            assert time.monotonic() < end, got
            time.sleep(0.02)


def apply_all(cluster, folder=CRDS, group=""):
    """Creates all CRDs of the folder whose name ends so: {name: CRD as the server keeps it}."""
    names = []
    for place, text in documents(folder):
        if not field(text, r"^  name: (\S+)$").endswith(group):
            continue
        status, answer = create(cluster, CRD_PATH, text)
        assert status == 201, (place, answer)
        names.append(answer["metadata"]["name"])
    crds = {name: established(cluster, name) for name in names}
    for crd in crds.values():
        serves(cluster, crd)
    return crds


def resources(crds):
    return {(c["spec"]["group"], c["spec"]["names"]["kind"]): c["spec"]["names"]["plural"] for c in crds.values()}


@pytest.fixture(scope="module")
def cluster():
    with Cluster() as c:
        yield c


@pytest.fixture(scope="module")
def crds(cluster):
    return apply_all(cluster)
