# SPDX-License-Identifier: GPL-3.0-or-later
"""deploy/policies/poddns.yaml and the hook of `poddns` agree, pod by pod, on a real API server; and what the policy alone says."""
import re

import pytest

from controllerlib import objects, start, until
from lib import cluster
from poddnslib import FLAGS, HOOKS, KEY, create, make_namespace, port_of, register, unregister

SERVERS = {"nameservers": ["192.0.2.1"]}


def options(*pairs):
    return {"dnsConfig": {"options": [dict(zip(("name", "value"), pair)) for pair in pairs]}}


# Pods that the API server alone accepts, and the field that is refused, if one is.
PODS = {
    "no settings": ({}, None),
    "empty": ({"dnsConfig": {}}, None),
    "no options": ({"dnsConfig": {"options": []}}, None),
    "None": ({"dnsPolicy": "None", "dnsConfig": SERVERS}, None),
    "Default": ({"dnsPolicy": "Default", "dnsConfig": SERVERS}, None),
    "host network": ({"hostNetwork": True, "dnsPolicy": "ClusterFirstWithHostNet", "dnsConfig": SERVERS}, None),
    "searches": ({"dnsConfig": {"searches": ["a.example", "_b.example.", "."]}}, None),
    "ndots": (options(("ndots", "2")), None),
    "bare": (options(("edns0",)), None),
    "empty value": (options(("edns0", "")), None),
    "two": (options(("edns0",), ("timeout", "3")), None),
    "the same twice": (options(("ndots", "1"), ("ndots", "2")), None),
    "unknown": (options(("fast", "yes")), None),
    "dash": (options(("no-check-names",)), None),
    "underscore": (options(("a_b", "c_d")), None),
    "equals sign": (options(("a=b", "c=d")), None),
    "colon in a value": (options(("timeout", "1:2")), None),
    "hash": (options(("#ndots", "#2")), None),
    "semicolon": (options((";ndots",)), None),
    "quotes": (options(('"ndots"', "'2'")), None),
    "letters of other alphabets": (options(("größe", "über")), None),
    "signs behind the control characters": (options(("a\u00a1b\u00bf", "\u00a1")), None),
    "Chinese": (options(("选项", "值")), None),
    "emoji": (options(("🙂", "🙂")), None),
    "zero width space": (options(("a\u200bb",)), "options[0].name"),
    "zero width space in a value": (options(("ndots", "1\u200b")), "options[0].value"),
    "soft hyphen": (options(("a\u00adb",)), "options[0].name"),
    "byte order mark": (options(("\ufeffndots",)), "options[0].name"),
    "a long one": (options(("a" * 300, "b" * 3000)), None),
    "backslash": (options(("a\\nb", "c\\nd")), None),
    "blank in a name": (options(("a b",)), "options[0].name"),
    "blank before it": (options((" ndots", "2")), "options[0].name"),
    "blank behind it": (options(("ndots ", "2")), "options[0].name"),
    "only a blank": (options((" ",)), "options[0].name"),
    "tab": (options(("a\tb",)), "options[0].name"),
    "line break in a name": (options(("edns0\nnameserver 192.0.2.66",)), "options[0].name"),
    "carriage return": (options(("edns0\rx",)), "options[0].name"),
    "vertical tab": (options(("edns0\vx",)), "options[0].name"),
    "form feed": (options(("edns0\fx",)), "options[0].name"),
    "bell": (options(("edns0\x07",)), "options[0].name"),
    "escape": (options(("\x1b[31m",)), "options[0].name"),
    "delete": (options(("a\x7f",)), "options[0].name"),
    "colon in a name": (options(("ndots:1",)), "options[0].name"),
    "only a colon": (options((":",)), "options[0].name"),
    "first control character beyond ASCII": (options(("a\u0080b",)), "options[0].name"),
    "index": (options(("a\u0084b",)), "options[0].name"),
    "control sequence introducer": (options(("\u009b31m",)), "options[0].name"),
    "last control character beyond ASCII": (options(("a\u009f",)), "options[0].name"),
    "next line": (options(("a\u0085b",)), "options[0].name"),
    "no-break space": (options(("a\u00a0b",)), "options[0].name"),
    "ogham space": (options(("a\u1680b",)), "options[0].name"),
    "en quad": (options(("a\u2000b",)), "options[0].name"),
    "hair space": (options(("a\u200ab",)), "options[0].name"),
    "line separator": (options(("a\u2028b",)), "options[0].name"),
    "paragraph separator": (options(("a\u2029b",)), "options[0].name"),
    "ideographic space": (options(("a\u3000b",)), "options[0].name"),
    "the second one": (options(("edns0",), ("a b",)), "options[1].name"),
    "line break in a value": (options(("ndots", "1\nnameserver 192.0.2.66")), "options[0].value"),
    "blank in a value": (options(("ndots", "1 attempts:9")), "options[0].value"),
    "blank value": (options(("ndots", " ")), "options[0].value"),
    "tab in a value": (options(("ndots", "1\t2")), "options[0].value"),
    "delete in a value": (options(("ndots", "1\x7f")), "options[0].value"),
    "string terminator in a value": (options(("ndots", "1\u009c")), "options[0].value"),
    "padding character in a value": (options(("ndots", "\u00802")), "options[0].value"),
    "no-break space in a value": (options(("ndots", "1\u00a0")), "options[0].value"),
    "line separator in a value": (options(("ndots", "1\u20282")), "options[0].value"),
    "the third value": (options(("edns0",), ("rotate",), ("timeout", "1\n")), "options[2].value"),
}


# Annotations for fairlead-hook: (namespace, value of dns.fairlead.dev/config, refused by the policy, by the hook). The policy
# knows where it is allowed, the hook also what it says.
INVALID = '{"nameservers":["192.0.2.66"],"options":[{"name":"x\\ny"}]}'
ANNOTATED = {
    "none": ("shop", None, 201, 201),
    "not allowed": ("shop", "{}", 403, 403),
    "empty, not allowed": ("shop", "", 403, 403),
    "servers, not allowed": ("shop", '{"nameservers":["192.0.2.66"]}', 403, 403),
    "allowed": ("hooked", '{"nameservers":["192.0.2.66"]}', 201, 201),
    "another value of the label": ("unhooked", "{}", 403, 403),
    "allowed and invalid": ("hooked", INVALID, 201, 422),
    "opted out": ("off", INVALID, 201, 201),
}


@pytest.fixture(scope="module")
def c():
    with cluster.Cluster() as one:
        for ns, labels in (("shop", {}), ("off", {KEY + "pod-dns": "off"}), ("fairlead", {}),
                           ("hooked", {KEY + "hook-config": "allowed"}), ("unhooked", {KEY + "hook-config": "no"})):
            make_namespace(one, ns, labels=labels)
        yield one


@pytest.fixture(scope="module")
def by_policy(c):
    """The verdict on each pod with the policy alone: (status, message)."""
    stored = []
    for o in objects(c, "deploy/policies/poddns.yaml"):
        path = "validatingadmissionpolicies" if o["kind"] == "ValidatingAdmissionPolicy" else "validatingadmissionpolicybindings"
        status, body = c.call("POST", f"{HOOKS}/{path}", o)
        assert status == 201, body
        stored.insert(0, f"{HOOKS}/{path}/{o['metadata']['name']}")
    until(lambda: create(c, "shop", options(("a b",)), dry_run=True)[0] == 422, 60)
    until(lambda: annotated(c, "shop", "{}")[0] == 403, 60)
    verdicts = {name: verdict(c, spec) for name, (spec, _) in PODS.items()}
    verdicts.update({name: annotated(c, *row[:2]) for name, row in ANNOTATED.items()})
    verdicts["updates"] = updates(c)
    verdicts["marks"] = marks(c)
    outside = {ns: create(c, ns, options(("a b",)), dry_run=True)[0] for ns in ("off", "fairlead", "kube-system", "default")}
    for path in stored:
        c.call("DELETE", path)
    until(lambda: create(c, "shop", options(("a b",)), dry_run=True)[0] == 201, 60)
    until(lambda: annotated(c, "shop", "{}")[0] == 201, 60)
    return verdicts, outside


@pytest.fixture(scope="module")
def by_hook(c, by_policy):  # pylint: disable=unused-argument
    """The same with the hook alone."""
    p = start(c.kubeconfig(), *FLAGS, "--namespace", "fairlead", controllers="poddns")
    register(c, port_of(p))
    until(lambda: create(c, "shop", options(("a b",)), dry_run=True)[0] == 422)
    verdicts = {name: verdict(c, spec) for name, (spec, _) in PODS.items()}
    verdicts.update({name: annotated(c, *row[:2]) for name, row in ANNOTATED.items()})
    unregister(c)
    assert p.stop() == 0, p.text()
    return verdicts


def verdict(c, spec):
    """(status, the refused field)"""
    status, body, _ = create(c, "shop", spec, dry_run=True)
    field = re.search(r"spec\.dnsConfig\.(options\[\d+\](?:\.\w+)?)", body.get("message", "")) if status != 201 else None
    return status, field[1] if field else None


def annotated(c, ns, config):
    """(status, message) of a pod with the annotation"""
    annotations = {} if config is None else {KEY + "config": config}
    status, body, _ = create(c, ns, dry_run=True, annotations=annotations)
    return status, body.get("message", "")


def updates(c):
    """Statuses of changes of a stored pod in a namespace that allows nothing: an other annotation, the annotation, and, where
    it was allowed when it was set, another label and another value."""
    def patch(ns, **change):
        return c.call("PATCH", f"/api/v1/namespaces/{ns}/pods/kept", {"metadata": change},
                      content_type="application/merge-patch+json")[0]

    for ns, annotations in (("shop", {}), ("hooked", {KEY + "config": "{}"})):
        status, body, _ = create(c, ns, name="kept", annotations=annotations)
        assert status == 201, body
    found = [patch("shop", annotations={"a": "b"}), patch("shop", annotations={KEY + "config": "{}"})]
    relabel(c, "hooked", None)
    until(lambda: annotated(c, "hooked", "{}")[0] == 403, 60)
    found += [patch("hooked", labels={"a": "b"}), patch("hooked", annotations={KEY + "config": "{ }"}),
              patch("hooked", annotations={KEY + "config": None})]
    relabel(c, "hooked", "allowed")
    until(lambda: annotated(c, "hooked", "{}")[0] == 201, 60)
    return found


def marks(c):
    """Statuses of changes of the marks of a pod with a search list: something else, the label and the annotation removed and
    changed, and both added to a pod that has none."""
    label, names = KEY + "search-list", KEY + "search-list-names"

    def patch(name, **change):
        status, body = c.call("PATCH", f"/api/v1/namespaces/shop/pods/{name}", {"metadata": change},
                              content_type="application/merge-patch+json")
        return (status, body["message"].split("metadata.")[1].split("]")[0]) if status != 200 else status

    for name, meta in (("listed", {"labels": {label: "l0123456789abcde"}, "annotations": {names: "a.example"}}), ("unlisted", {})):
        status, body, _ = create(c, "shop", name=name, **meta)
        assert status == 201, body
    return [patch("listed", labels={"a": "b"}, annotations={"a": "b"}), patch("listed", labels={label: None}),
            patch("listed", labels={label: "other"}), patch("listed", annotations={names: None}),
            patch("listed", annotations={names: "b.example"}), patch("unlisted", labels={label: "a"}, annotations={names: "a"})]


def relabel(c, ns, value):
    status, body = c.call("PATCH", f"/api/v1/namespaces/{ns}", {"metadata": {"labels": {KEY + "hook-config": value}}},
                          content_type="application/merge-patch+json")
    assert status == 200, body


@pytest.mark.parametrize("name", ANNOTATED)
def test_annotations_for_the_oci_hook(by_policy, by_hook, name):
    _, _, policy, hook = ANNOTATED[name]
    assert (by_policy[0][name][0], by_hook[name][0]) == (policy, hook)
    for (status, message) in (by_policy[0][name], by_hook[name]):
        assert status == 201 or "metadata.annotations[dns.fairlead.dev/config]" in message


def test_annotations_that_come_later(by_policy):
    assert by_policy[0]["updates"] == [200, 403, 200, 403, 200]


def test_marks_of_search_lists(by_policy):
    label, names = "labels[dns.fairlead.dev/search-list", "annotations[dns.fairlead.dev/search-list-names"
    assert by_policy[0]["marks"] == [200, (403, label), (403, label), (403, names), (403, names), 200]


def test_rows():
    assert len(PODS) >= 40


@pytest.mark.parametrize("name", PODS)
def test_both_agree(by_policy, by_hook, name):
    """PD-19, PD-29."""
    want = (201, None) if PODS[name][1] is None else (422, PODS[name][1])
    assert (by_policy[0][name], by_hook[name]) == (want, want)


def test_exempt_namespaces(by_policy):
    """The policy leaves out kube-system, our own namespace and those with the label; `default` is none of them."""
    assert by_policy[1] == {"off": 201, "fairlead": 201, "kube-system": 201, "default": 422}


def test_policy_fails_closed(c):
    policy, *others = objects(c, "deploy/policies/poddns.yaml")
    pairs = [policy, *others]
    assert len(pairs) == 6
    for one, bound in zip(pairs[::2], pairs[1::2]):
        assert one["spec"]["failurePolicy"] == "Fail" and bound["spec"]["validationActions"] == ["Deny"]
        assert one["metadata"]["name"] == bound["spec"]["policyName"]
        assert one["spec"]["matchConstraints"]["namespaceSelector"] == policy["spec"]["matchConstraints"]["namespaceSelector"]
    for o in objects(c, "deploy/webhooks/poddns.yaml"):
        for hook in o.get("webhooks", []):
            assert hook["failurePolicy"] == "Ignore" and hook["timeoutSeconds"] <= 2 and hook["sideEffects"] == "None"
            assert hook["namespaceSelector"] == policy["spec"]["matchConstraints"]["namespaceSelector"]
