# SPDX-License-Identifier: GPL-3.0-or-later
"""Two replicas of `poddns` on a real API server: each serves the hooks, one publishes search lists, and one of them is killed."""
import signal

import pytest

from controllerlib import config_map, searched_corefile, start, until
from lib import cluster
from poddnslib import FLAGS, KEY, SERVER, annotate, create, make_namespace, port_of, register, settings

LISTS, LABEL, NAMES = KEY + "search-lists", KEY + "search-list", KEY + "search-list-names"
MAP = "/api/v1/namespaces/default/configmaps/fairlead-poddns"
LEASE = ["--lease-duration", "3s", "--lease-renew", "2s", "--lease-retry", "300ms"]


@pytest.fixture(scope="module")
def place():
    """(cluster, the leader, the other one): the hooks of the other one are asked."""
    with cluster.Cluster() as c:
        searched_corefile(c)
        flags = [*FLAGS, *LEASE, "--dns-cluster-domain", "cluster.local", "--pod-dns-servers", SERVER]
        leader = start(c.kubeconfig(), *flags, controllers="poddns")
        leader.wait_line("leading")
        other = start(c.kubeconfig(), *flags, controllers="poddns")
        register(c, port_of(other))
        assert not other.find("leading")
        yield c, leader, other
        leader.process.kill()
        assert other.stop() == 0, other.text()


def published(c, ns):
    return c.call("GET", f"/api/v1/namespaces/{ns}")[1]["metadata"].get("annotations", {}).get(LISTS, "")


def suffixed(c, ns, name):
    """The list of a new pod with a suffix."""
    until(lambda: LABEL in create(c, ns, dry_run=True, name="try")[1]["metadata"].get("labels", {}))
    status, body, _ = create(c, ns, name=name)
    assert status == 201 and settings(body)["dnsPolicy"] == "None", body
    return body["metadata"]["annotations"][NAMES]


def test_the_leader_is_killed(place):
    """PD-M7: what a replica that does not lead answers is no older, and nothing depends on the one that is gone."""
    c, leader, other = place
    make_namespace(c, "twice", {KEY + "virtual-suffix": "true", KEY + "add-searches": "one.example"})
    first = suffixed(c, "twice", "p1")
    assert published(c, "twice") == first and first.endswith(" one.example")
    # A ConfigMap that changes reaches the replica that does not lead.
    make_namespace(c, "plain")
    for ndots in ("3", "4"):
        text = {"policies.yaml": f"- namespaces: [plain]\n  ndots: {ndots}\n- namespaces: [mapped]\n  virtualSuffix: true\n  addSearches: [map.example]\n"}
        if c.call("PATCH", MAP, {"data": text}, content_type="application/merge-patch+json")[0] == 404:
            config_map(c, "default", "fairlead-poddns", text)
        want = {"dnsPolicy": "ClusterFirst", "dnsConfig": {"options": [{"name": "ndots", "value": ndots}]}}
        until(lambda: settings(create(c, "plain", dry_run=True)[1]) == want)  # pylint: disable=cell-var-from-loop
    make_namespace(c, "mapped")
    mapped = suffixed(c, "mapped", "p1")
    leader.process.send_signal(signal.SIGKILL)
    leader.process.wait(20)
    assert settings(create(c, "plain", dry_run=True)[1])["dnsConfig"]["options"][0]["value"] == "4"
    assert LABEL in create(c, "twice", dry_run=True)[1]["metadata"]["labels"]
    # While nobody leads: a new list is not given out, the Namespace loses its lists, and the policy is deleted.
    annotate(c, "twice", search_lists=None, add_searches="two.example")
    assert c.call("DELETE", MAP)[0] == 200
    other.wait_line("leading")
    until(lambda: first in published(c, "twice").split("; "))
    assert suffixed(c, "twice", "p2").endswith(" two.example")
    until(lambda: settings(create(c, "mapped", dry_run=True, name="try")[1]) == {"dnsPolicy": "ClusterFirst"})
    assert published(c, "mapped") == mapped, "pods that run keep their list"
