# SPDX-License-Identifier: GPL-3.0-or-later
"""The proposal's example through the controller: a machine of three devices and four pools, whose claims are bound in each of the
24 orders, has the block of name servers that the proposal shows. On a real API server and on the embedded one."""
import concurrent.futures
import itertools
import os
import subprocess

import pytest
import yaml

import crdlib
from bothlib import c as served, embedded, real  # noqa: F401 (fixtures)
from controllerlib import namespace, start
from ipamlib import addresses_path, get, make_claim, make_pool, wait_bound
from lib import server
from lib.cluster import Cluster

EXAMPLE = os.path.join(server.ROOT, "examples", "machines")
MERGED = ('nameservers:\n  search: ["corp.domain", "alternate.domain", "yet.another.domain"]\n'
          '  addresses: ["10.0.0.1", "10.100.0.1", "10.200.0.1"]\n')


def documents(name):
    with open(os.path.join(EXAMPLE, name), encoding="utf-8") as f:
        return list(yaml.safe_load_all(f))


def pool_of(address):
    """name, addresses, length of the prefix, and further fields of the pool that the address is from."""
    spec = address["spec"]
    return spec["poolRef"]["name"], [spec["address"]], spec["prefix"], {k: spec[k] for k in ("gateway", "nameservers") if k in spec}


@pytest.fixture(scope="module")
def c(served):  # noqa: F811
    if isinstance(served, Cluster):
        crdlib.apply_all(served, group="cluster.x-k8s.io")
    p = start(served.kubeconfig(getattr(served, "system", None)), "--no-election", controllers="ipam")
    p.wait_line("leading as")
    yield served
    assert p.stop() == 0, p.text()


def netconfig(c, ns, machine, *args):
    done = subprocess.run([server.fairlead_program(), "netconfig", "--kubeconfig", c.kubeconfig(), "-n", ns, "-f", machine,
                           "--machine", "example", *args], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def bind_in_order(c, ns, addresses, order):
    namespace(c, ns)
    for address in addresses:
        name, ranges, prefix, more = pool_of(address)
        make_pool(c, ns, name, ranges, prefix, **more)
    for address in order:
        make_claim(c, ns, address["metadata"]["name"], address["spec"]["poolRef"]["name"])
        assert wait_bound(c, ns, address["metadata"]["name"], 60) == address["spec"]["address"]
    for address in addresses:
        assert get(c, addresses_path(ns, address["metadata"]["name"]))["spec"] == address["spec"]


def test_every_order_of_binding(c, tmp_path):
    """IP-4, IP-6, M8: the addresses are the controller's, their name servers those of the pools; the machine is a file, since
    neither API has VSphereVMs here."""
    addresses = documents("addresses.yaml")

    def outputs(numbered):
        ns = f"order-{numbered[0]}"
        bind_in_order(c, ns, addresses, numbered[1])
        machine = documents("vspherevm.yaml")[0]
        machine["metadata"]["namespace"] = ns
        path = tmp_path / f"{ns}.yaml"
        path.write_text(yaml.safe_dump(machine))
        return netconfig(c, ns, str(path), "-o", "merged"), netconfig(c, ns, str(path))
    with concurrent.futures.ThreadPoolExecutor(8) as workers:
        found = list(workers.map(outputs, enumerate(itertools.permutations(addresses))))
    assert len(found) == 24 and set(found) == {(MERGED, found[0][1])}
