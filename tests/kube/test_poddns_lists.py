# SPDX-License-Identifier: GPL-3.0-or-later
"""Search lists behind virtual suffixes: whatever happens to a Namespace, the list of a pod that has one is published."""
import threading

import pytest

from controllerlib import until
from poddnslib import KEY, Machine, annotate, create, events_of, make_namespace

LISTS, LABEL, NAMES = KEY + "search-lists", KEY + "search-list", KEY + "search-list-names"


@pytest.fixture(scope="module")
def c():
    with Machine() as one:
        yield one


def published(c, ns):
    """The lists of a Namespace."""
    text = c.call("GET", f"/api/v1/namespaces/{ns}")[1]["metadata"].get("annotations", {}).get(LISTS, "")
    return [one for one in text.split("; ") if one]


def list_of(ns, *names):
    return " ".join([f"{ns}.svc.cluster.local", "svc.cluster.local", "cluster.local", *names])


def suffixed(c, ns, name):
    """A pod that has the suffix of a list; (its id, the list)."""
    until(lambda: LABEL in create(c, ns, dry_run=True, name="try")[1]["metadata"].get("labels", {}))
    status, body, _ = create(c, ns, name=name)
    assert status == 201, body
    return body["metadata"]["labels"][LABEL], body["metadata"].get("annotations", {}).get(NAMES)


def test_pods_carry_their_list(c):
    """A Namespace that is replaced as a whole loses the annotation; the list of a pod comes back."""
    make_namespace(c, "lost", {KEY + "virtual-suffix": "true", KEY + "add-searches": "one.example"})
    assert suffixed(c, "lost", "p")[1] == list_of("lost", "one.example")
    annotate(c, "lost", add_searches="two.example")
    until(lambda: published(c, "lost") == [list_of("lost", "two.example"), list_of("lost", "one.example")])
    body = c.call("GET", "/api/v1/namespaces/lost")[1]
    body["metadata"]["annotations"] = {KEY + "virtual-suffix": "true", KEY + "add-searches": "three.example"}
    assert c.call("PUT", "/api/v1/namespaces/lost", body)[0] == 200
    until(lambda: published(c, "lost") == [list_of("lost", "three.example"), list_of("lost", "one.example")])
    annotate(c, "lost", search_lists=None)
    until(lambda: list_of("lost", "one.example") in published(c, "lost"))


def test_policy_changes_while_pods_are_created(c):
    """The hook's copy of the Namespace may be older than what is published."""
    make_namespace(c, "race", {KEY + "virtual-suffix": "true", KEY + "add-searches": "a0"})
    suffixed(c, "race", "p0")
    for round_ in range(1, 6):
        names = [f"p{round_}-{i}" for i in range(4)]
        made = {}

        def run(name):
            made[name] = create(c, "race", name=name)[1]["metadata"]  # pylint: disable=cell-var-from-loop

        threads = [threading.Thread(target=run, args=(name,)) for name in names]
        threads[0].start()
        annotate(c, "race", add_searches=f"a{round_}")
        for thread in threads[1:]:
            thread.start()
        for thread in threads:
            thread.join(30)
        for meta in made.values():
            if LABEL in meta.get("labels", {}):
                until(lambda: meta["annotations"][NAMES] in published(c, "race"))  # pylint: disable=cell-var-from-loop
        for name in names:
            c.call("DELETE", f"/api/v1/namespaces/race/pods/{name}?gracePeriodSeconds=0")
    assert list_of("race", "a0") in published(c, "race")


def test_replaced_list_stays(c):
    """For some minutes, also without a pod."""
    make_namespace(c, "kept", {KEY + "virtual-suffix": "true", KEY + "add-searches": "one.example"})
    suffixed(c, "kept", "p")
    annotate(c, "kept", add_searches="two.example")
    both = [list_of("kept", "two.example"), list_of("kept", "one.example")]
    until(lambda: published(c, "kept") == both)
    c.call("DELETE", "/api/v1/namespaces/kept/pods/p?gracePeriodSeconds=0")
    until(lambda: c.call("GET", "/api/v1/namespaces/kept/pods/p")[0] == 404)
    annotate(c, "kept", add_searches="three.example")
    until(lambda: published(c, "kept") == [list_of("kept", "three.example"), *both])


def test_event_of_a_pod_without_its_list(c):
    """An id whose list nobody knows; the text must be that list."""
    make_namespace(c, "unknown")
    for name, names in (("none", None), ("other", "other.example")):
        meta = {"labels": {LABEL: "l0123456789abcde"}, "annotations": {NAMES: names} if names else {}}
        assert create(c, "unknown", name=name, **meta)[0] == 201
    found = until(lambda: (lambda e: len(e) == 2 and e)(events_of(c, "unknown", "SearchListNotPublished")))
    assert {e["regarding"]["name"] for e in found} == {"none", "other"} and found[0]["type"] == "Warning"
    assert "l0123456789abcde" in found[0]["note"]
    assert published(c, "unknown") == []


@pytest.mark.parametrize("large", [0, 100])
def test_label_that_is_removed(c, large):
    """A pod without its label still has the suffix in its spec, so its list stays when seven others take the room; all stay where
    a page of pods is too large to be read."""
    ns = f"bare{large}"
    make_namespace(c, ns, {KEY + "virtual-suffix": "true", KEY + "add-searches": "a0.example"})
    for i in range(large):
        assert create(c, ns, name=f"a{i:03}", annotations={"large": "x" * 200000}, labels={KEY + "pod-dns": "off"})[0] == 201
    suffixed(c, ns, "p0")
    status, body = c.call("PATCH", f"/api/v1/namespaces/{ns}/pods/p0", {"metadata": {"labels": {LABEL: None}}},
                          content_type="application/merge-patch+json")
    assert status == 200 and LABEL not in body["metadata"].get("labels", {}), body
    for i in range(1, 8):
        annotate(c, ns, add_searches=f"a{i}.example")
        until(lambda: published(c, ns)[0] == list_of(ns, f"a{i}.example"))  # pylint: disable=cell-var-from-loop
        assert suffixed(c, ns, f"p{i}")[1] == list_of(ns, f"a{i}.example")
    annotate(c, ns, add_searches="a8.example")
    until(lambda: [e for e in events_of(c, "default", "TooManySearchLists") if e["regarding"]["name"] == ns])
    assert sorted(published(c, ns)) == [list_of(ns, f"a{i}.example") for i in range(8)]
    if not large:  # the list of a pod that is gone makes room
        c.call("DELETE", f"/api/v1/namespaces/{ns}/pods/p7?gracePeriodSeconds=0")
        until(lambda: published(c, ns)[0] == list_of(ns, "a8.example"))
        assert list_of(ns, "a0.example") in published(c, ns)
