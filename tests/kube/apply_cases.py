# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes by several managers, whose outcome is recorded in src/api/apply/test_managed.json (see applylib.py)."""
import json

GROUP = "test.fairlead.dev"
S, I, B = ({"type": t} for t in ("string", "integer", "boolean"))


def obj(**properties):
    return {"type": "object", "properties": properties}


def listmap(keys, items, **more):
    return {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": keys, "items": items, **more}


SPEC = obj(
    s=S, i=I, b=B, n={"type": "number"}, nul={"type": "string", "nullable": True}, ios={"x-kubernetes-int-or-string": True},
    d={"type": "string", "default": "defaulted"}, o=obj(x=S, y=I, deep=obj(z=S)),
    atomic={"type": "object", "x-kubernetes-map-type": "atomic", "properties": {"x": S, "y": I}},
    m={"type": "object", "additionalProperties": S}, mo={"type": "object", "additionalProperties": obj(x=S, y=S)},
    am={"type": "object", "x-kubernetes-map-type": "atomic", "additionalProperties": S},
    la={"type": "array", "items": S}, lo={"type": "array", "x-kubernetes-list-type": "atomic", "items": obj(x=S)},
    set={"type": "array", "x-kubernetes-list-type": "set", "items": S},
    iset={"type": "array", "x-kubernetes-list-type": "set", "items": I},
    lm=listmap(["name"], {"type": "object", "required": ["name"], "properties": {"name": S, "v": S, "sub": obj(a=S, b=S)}}),
    lp=listmap(["port", "proto"], {"type": "object", "required": ["port"], "properties": {
        "port": I, "proto": {"type": "string", "default": "TCP"}, "name": S}}),
    nest=listmap(["k"], {"type": "object", "required": ["k"], "properties": {
        "k": S, "in": listmap(["j"], {"type": "object", "required": ["j"], "properties": {"j": I, "v": S}}),
        "tags": {"type": "array", "x-kubernetes-list-type": "set", "items": S}}}),
    lam=listmap(["name"], {"type": "object", "x-kubernetes-map-type": "atomic", "required": ["name"],
                           "properties": {"name": S, "v": S}}),
    any={"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    pres={"type": "object", "x-kubernetes-preserve-unknown-fields": True, "properties": {"known": obj(x=S)}},
    raw={"x-kubernetes-preserve-unknown-fields": True},
    emb={"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True},
    free={"type": "object"})
STATUS = obj(phase=S, conditions=listmap(["type"], {"type": "object", "required": ["type"], "properties": {
    "type": S, "status": S, "message": S}}), counts={"type": "object", "additionalProperties": I})
SCHEMAS = {"Whole": obj(spec=SPEC, status=STATUS), "Plain": obj(spec=SPEC, status=STATUS)}


def definition(kind, schema, status):
    plural = kind.lower() + "s"
    version = {"served": True, "schema": {"openAPIV3Schema": schema}, **({"subresources": {"status": {}}} if status else {})}
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": f"{plural}.{GROUP}"},
            "spec": {"group": GROUP, "scope": "Namespaced", "names": {"kind": kind, "plural": plural, "singular": kind.lower()},
                     "versions": [{"name": "v1", "storage": True, **version}, {"name": "v2", "storage": False, **version}]}}


def step(do, manager, body, **more):
    return {"do": do, "manager": manager, "body": body, **more}


def create(manager, body, **more):
    return step("create", manager, body, **more)


def update(manager, body, **more):
    return step("update", manager, body, **more)


def merge(manager, body, **more):
    return step("merge", manager, body, **more)


def patch(manager, body, **more):
    return step("json", manager, body, **more)


def apply(manager, body, **more):
    return step("apply", manager, body, **more)


def spec(**fields):
    return {"spec": fields}


# (field, one value, another)
VALUES = [
    ("s", "one", "two"), ("i", 1, 2), ("b", True, False), ("n", 1.5, 2), ("ios", 80, "http"), ("d", "mine", "other"),
    ("o", {"x": "a", "y": 1}, {"x": "b", "deep": {"z": "q"}}), ("atomic", {"x": "a", "y": 1}, {"x": "b"}),
    ("m", {"a": "1", "b": "2"}, {"b": "3", "c": "4"}), ("mo", {"a": {"x": "1"}}, {"a": {"y": "2"}, "b": {"x": "3"}}),
    ("am", {"a": "1"}, {"b": "2"}), ("la", ["a", "b"], ["b", "c"]), ("lo", [{"x": "a"}], [{"x": "a"}, {"x": "b"}]),
    ("set", ["a", "b"], ["c", "b"]), ("iset", [10, 9], [9, 1000000]),
    ("lm", [{"name": "a", "v": "1"}, {"name": "b", "v": "1"}], [{"name": "b", "v": "2", "sub": {"a": "q"}}, {"name": "c"}]),
    ("lp", [{"port": 80, "name": "x"}, {"port": 80, "proto": "UDP"}], [{"port": 80, "proto": "TCP", "name": "y"}, {"port": 1000000}]),
    ("nest", [{"k": "a", "in": [{"j": 1, "v": "x"}], "tags": ["t"]}],
     [{"k": "a", "in": [{"j": 1, "v": "y"}, {"j": 2}], "tags": ["u", "t"]}, {"k": "b"}]),
    ("lam", [{"name": "a", "v": "1"}], [{"name": "a", "v": "2"}, {"name": "b"}]),
    ("any", {"a": {"b": 1, "l": [1, 2]}}, {"a": {"b": 2, "l": [1]}, "c": "x"}),
    ("pres", {"known": {"x": "a"}, "more": {"q": [1]}}, {"known": {"x": "b"}, "more": {"q": [2], "r": "s"}}),
    ("raw", {"a": "b"}, [1, 2]),
    ("emb", {"apiVersion": "v1", "kind": "X", "metadata": {"name": "n", "labels": {"a": "b"}, "finalizers": ["f/g"]}},
     {"apiVersion": "v1", "kind": "X", "metadata": {"name": "n", "labels": {"a": "c"}, "finalizers": ["h/i", "f/g"]}, "data": {"q": "r"}}),
    ("free", {}, {}),
]


def life_of_appliers(field, one, two):
    return [apply("a", spec(**{field: one})), apply("b", spec(**{field: one})), apply("a", spec(**{field: two}), error=True),
            apply("a", spec(**{field: two}), force=True), apply("b", spec(s="left")), apply("a", spec(i=5))]


def life_with_updater(field, one, two):
    return [create("u", spec(**{field: one})), apply("a", spec(**{field: two}), error=True),
            apply("a", spec(**{field: two}), force=True), merge("u", spec(**{field: one})), apply("a", spec()),
            merge("u", spec(**{field: None}))]


SEQUENCES = [(f"appliers-{f}", "Whole", life_of_appliers(f, one, two)) for f, one, two in VALUES]
SEQUENCES += [(f"updater-{f}", "Whole", life_with_updater(f, one, two)) for f, one, two in VALUES]

KUBECTL = "kubectl.kubernetes.io/last-applied-configuration"


def last_applied(kind, name, body, version=f"{GROUP}/v1"):
    whole = {"apiVersion": version, "kind": kind, "metadata": {"name": name, "namespace": "default"}, **body}
    return {"metadata": {"annotations": {KUBECTL: json.dumps(whole, separators=(",", ":")) + "\n"}}, **body}


OWNER = {"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": "11111111-1111-1111-1111-111111111111"}
OWNER2 = {**OWNER, "name": "y", "uid": "22222222-2222-2222-2222-222222222222"}

SEQUENCES += [
    ("noop", "Whole", [
        apply("a", spec(s="x", m={"k": "v"})), apply("a", spec(s="x", m={"k": "v"})), apply("b", spec(s="x")),
        merge("u", spec(s="x")), update("u", {}), update("u", {}, bare=True), apply("a", spec(s="x", m={"k": "v"}))]),
    ("ten", "Whole", [create("u0", spec(m={"k0": "v"}))] + [merge(f"u{i}", spec(m={f"k{i}": "v"})) for i in range(1, 14)]),
    ("reset", "Whole", [
        create("u", spec(s="x", i=1)), update("u", {"metadata": {"managedFields": []}}),
        patch("u", [{"op": "replace", "path": "/metadata/managedFields", "value": []}]), merge("u", {"metadata": {"managedFields": [{}]}}), merge("v", spec(i=2)),
        apply("a", spec(s="x", i=3), error=True), apply("a", spec(s="x")), apply("a", spec()), apply("a", spec(i=4), force=True)]),
    ("reset-one", "Whole", [
        create("u", spec(s="x", i=1)), update("u", {"metadata": {"managedFields": [{}]}}), apply("a", spec(b=True)),
        update("v", {"metadata": {"managedFields": []}, **spec(s="y")}), apply("a", spec(b=False))]),
    ("rewritten", "Whole", [
        create("u", spec(s="x", i=1)), apply("a", spec(b=True)),
        patch("z", [{"op": "replace", "path": "/metadata/managedFields", "value": [
            {"manager": "z", "operation": "Apply", "apiVersion": f"{GROUP}/v1", "fieldsType": "FieldsV1",
             "fieldsV1": {"f:spec": {"f:s": {}, "f:lm": {'k:{"name":"q"}': {".": {}, "f:name": {}}}}}}]}]),
        apply("z", spec(i=2)), update("w", {"metadata": {"managedFields": [{"manager": "bad", "operation": "Nothing"}]}, **spec(i=7)}),
        patch("z", [{"op": "replace", "path": "/metadata/managedFields/0/manager", "value": "renamed"}])]),
    ("status", "Whole", [
        create("u", {**spec(s="x"), "status": {"phase": "no"}}),
        apply("a", {"status": {"phase": "Up", "conditions": [{"type": "Ready", "status": "True"}]}}, sub="status"),
        apply("b", {**spec(s="ignored"), "metadata": {"labels": {"ignored": "yes"}}, "status": {"conditions": [{"type": "Other", "status": "False"}]}},
              sub="status"),
        apply("b", {"status": {"phase": "Down"}}, sub="status", error=True), merge("c", {"status": {"phase": "Down"}}, sub="status"),
        update("d", {"status": {"counts": {"n": 1}}, **spec(s="not this way")}, sub="status"),
        apply("a", {**spec(i=1), "status": {"phase": "main"}}), apply("a", {"status": {"conditions": []}}, sub="status"),
        apply("c", {"status": {"counts": {"n": 2}}}, sub="status", force=True)]),
    ("plain-status", "Plain", [
        create("u", {**spec(s="x"), "status": {"phase": "yes"}}), apply("a", {**spec(i=1), "status": {"phase": "yes"}}),
        apply("a", {"status": {"phase": "no"}}, error=True), apply("a", {"status": {"phase": "no"}}, force=True),
        apply("a", {}), merge("u", {"status": None})]),
    ("meta", "Whole", [
        create("u", {"metadata": {"labels": {"a": "1"}, "annotations": {"x": "y"}, "finalizers": ["k.io/a"], "ownerReferences": [OWNER]}}),
        apply("a", {"metadata": {"labels": {"a": "2", "b": "3"}}}, error=True), apply("a", {"metadata": {"labels": {"b": "3"}, "finalizers": ["k.io/b"]}}),
        apply("b", {"metadata": {"ownerReferences": [OWNER2], "annotations": {"x": "y"}}}),
        apply("b", {"metadata": {"ownerReferences": [{**OWNER, "name": "z"}]}}, error=True),
        apply("a", {"metadata": {"labels": {"b": "4"}}}), merge("u", {"metadata": {"labels": None, "finalizers": None}}),
        apply("a", {"metadata": {"name": "meta"}})]),
    ("order", "Whole", [
        create("u", spec(lm=[{"name": n} for n in "abcd"], set=["1", "2", "3"])),
        apply("a", spec(lm=[{"name": n} for n in "dxb"], set=["3", "9", "1"])), apply("a", spec(lm=[{"name": n} for n in "yda"], set=["0", "2"])),
        apply("b", spec(lm=[{"name": n} for n in "cba"])), apply("a", spec(lm=[{"name": "y", "v": "1"}])),
        apply("a", spec(lm=[]))]),
    ("three", "Whole", [
        apply("a", spec(lm=[{"name": "x", "v": "1"}], m={"a": "1"})), apply("b", spec(lm=[{"name": "x", "sub": {"a": "1"}}], m={"b": "1"})),
        apply("c", spec(lm=[{"name": "x", "v": "2", "sub": {"a": "2"}}], m={"a": "2", "b": "2"}), error=True),
        apply("c", spec(lm=[{"name": "x", "v": "2", "sub": {"a": "2"}}], m={"a": "2", "b": "2"}), force=True),
        apply("a", spec(m={"q": "r"})), apply("b", spec()), apply("c", spec()), merge("u", spec(m=None))]),
    ("nulls", "Whole", [
        apply("a", spec(nul=None, s="x", m={})), apply("a", spec(nul="v", m={"a": "b"})), apply("a", spec(nul=None, m={})),
        apply("b", spec(o={}, lm=[], set=[])), apply("b", spec(o={"deep": {}})), merge("u", spec(nul=None, o=None))]),
    ("wrong", "Whole", [
        create("u", spec(s="x")), apply("a", spec(s=5), error=True), apply("a", spec(i="x"), error=True), apply("a", spec(b="x"), error=True),
        apply("a", spec(nope=1), error=True), apply("a", spec(lm=[{"v": "x"}]), error=True), apply("a", spec(lm=[{"name": "x"}, {"name": "x"}]), error=True),
        apply("a", spec(set=["a", "a"]), error=True), apply("a", spec(set=[{"a": "b"}]), error=True), apply("a", spec(lm=["x"]), error=True),
        apply("a", spec(o=[1]), error=True), apply("a", spec(la={"a": 1}), error=True),
        apply("a", {"metadata": {"managedFields": []}}, error=True), apply("a", {"metadata": {"labels": {"a": 1}}}, error=True),
        apply("a", spec(lm=[None]), error=True), apply("a", spec(lp=[{"name": "x", "port": 1}, {"name": "y", "port": 1}]), error=True)]),
    ("versions", "Whole", [
        create("u", spec(s="x", m={"a": "1"})), apply("a", spec(i=1, s="x"), version=f"{GROUP}/v2"), merge("u", spec(m={"b": "2"}), version=f"{GROUP}/v2"),
        apply("a", spec(i=2)), apply("b", spec(m={"a": "2"}), version=f"{GROUP}/v2", error=True), apply("b", spec(m={"a": "2"}), force=True, version=f"{GROUP}/v2"),
        merge("v", spec(s="y")), apply("b", spec())]),
    ("gone-version", "Whole", [
        create("u", spec(s="x", i=1)),
        patch("z", [{"op": "replace", "path": "/metadata/managedFields", "value": [
            {"manager": "old", "operation": "Update", "apiVersion": f"{GROUP}/v0", "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {"f:s": {}}}},
            {"manager": "older", "operation": "Apply", "apiVersion": f"{GROUP}/v0", "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {"f:i": {}}}},
            {"manager": "u", "operation": "Update", "apiVersion": f"{GROUP}/v1", "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {"f:b": {}}}}]}]),
        apply("a", spec(s="y", i=2)), apply("older", spec(s="y"))]),
    ("granular-to-atomic", "Whole", [
        create("u", spec(s="x", atomic={"x": "1", "y": 2}, la=["a"])),
        patch("z", [{"op": "replace", "path": "/metadata/managedFields", "value": [
            {"manager": "u", "operation": "Update", "apiVersion": f"{GROUP}/v1", "fieldsType": "FieldsV1",
             "fieldsV1": {"f:spec": {"f:atomic": {"f:x": {}, "f:y": {}}, "f:la": {"v:\"a\"": {}, "i:0": {}}, "f:s": {}, "x:later": {}}}}]}]),
        merge("v", spec(i=1)), apply("a", spec(atomic={"x": "2"}), error=True)]),
    ("client-side", "Whole", [
        create("kubectl-client-side-apply", last_applied("Whole", "client-side", spec(s="x", m={"a": "1", "b": "2"}))),
        apply("other", spec(s="y"), error=True), apply("kubectl", spec(s="y", m={"a": "1"})), apply("kubectl", spec(s="z <&>", m={})),
        merge("u", spec(s="theirs")), apply("kubectl", spec(s="z"), error=True), apply("kubectl", spec(s="z"), force=True)]),
    ("client-side-partly", "Whole", [
        create("kubectl-client-side-apply", last_applied("Whole", "client-side-partly", spec(s="x", i=1))),
        merge("u", spec(i=2, b=True)), apply("kubectl", spec(s="y", i=3), error=True), apply("kubectl", spec(s="y", b=False), error=True),
        apply("kubectl", spec(s="y")), apply("kubectl-last-applied", spec(s="y", i=2), force=True)]),
    ("two-kinds-of-writing", "Whole", [
        apply("m", spec(s="x", i=1)), merge("m", spec(s="y")), apply("m", spec(s="y", i=1)), update("m", spec(b=True, i=9)), apply("m", spec(s="y")),
        merge("m", spec(i=None))]),
    ("type-changes", "Whole", [
        apply("a", spec(raw={"a": {"b": "c"}}, ios=1, any={"x": {"y": 1}})), merge("u", spec(raw={"a": "now a text"}, ios="one")),
        apply("a", spec(raw=[1], ios=1), error=True), apply("a", spec(raw=[1], any={"x": "text"}, ios=1), force=True), merge("u", spec(raw="s", any={"x": [1]})),
        apply("a", spec(raw="s"))]),
    ("emptied", "Whole", [
        apply("a", spec(o={"deep": {"z": "1"}}, mo={"k": {"x": "1"}}, nest=[{"k": "a", "in": [{"j": 1, "v": "q"}], "tags": ["t"]}])),
        merge("u", spec(o={"y": 5})), apply("a", spec(nest=[{"k": "a", "in": []}])), apply("a", spec(nest=[{"k": "a"}])), apply("b", spec(mo={"k": {}})),
        apply("a", {}), merge("u", spec(o=None))]),
    ("odd-names", "Whole", [
        apply("a", spec(m={"a.b/c": "1", "x[y]": "2", "q\"r": "3", "": "4"}, set=["a<b>&c", "q\"r", "ü", "line\nend"])),
        merge("u", spec(m={"a.b/c": "2", "q\"r": "5"}, set=["z"])), apply("a", spec(m={"a.b/c": "1", "x[y]": "3", "q\"r": "1"}), error=True),
        apply("a", spec(m={"": "9"}), error=True), apply("b", spec(set=["a<b>&c", "line\nend"]))]),
]


def service(ports, **more):
    return {"type": "ClusterIP", "clusterIP": "None", "sessionAffinity": "None", "internalTrafficPolicy": "Cluster", "ports": ports,
            "selector": {"app": "x"}, "clusterIPs": ["None"], "ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack", **more}


def balanced(ports, **more):
    return {"type": "LoadBalancer", "clusterIP": "10.96.1.2", "clusterIPs": ["10.96.1.2"], "allocateLoadBalancerNodePorts": False, "ports": ports,
            "externalTrafficPolicy": "Cluster", "internalTrafficPolicy": "Cluster", "ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack",
            "sessionAffinity": "None", **more}


HTTP = {"name": "http", "port": 80, "protocol": "TCP", "targetPort": 8080}
DNS_TCP = {"name": "dns-tcp", "port": 53, "protocol": "TCP", "targetPort": 53}
DNS_UDP = {"name": "dns-udp", "port": 53, "protocol": "UDP", "targetPort": "dns"}
SEQUENCES += [
    ("svc-update", "Service", [
        create("u", {"metadata": {"labels": {"a": "b"}}, "spec": service([HTTP])}), merge("v", {"spec": {"ports": [HTTP, DNS_TCP, DNS_UDP]}}),
        patch("w", [{"op": "replace", "path": "/spec/ports/0/targetPort", "value": "web"}]),
        step("strategic", "x", {"spec": {"ports": [{"port": 81, "name": "more", "protocol": "TCP", "targetPort": 1}], "selector": {"app": None, "tier": "b"}}}),
        update("u", {"metadata": {"labels": {"a": "c"}}, "spec": {"publishNotReadyAddresses": True}}),
        apply("a", {"spec": {"ports": [{"port": 80, "targetPort": 1}]}}, error=True), apply("a", {"spec": {"ports": [{**HTTP, "targetPort": 1}]}}, force=True)]),
    ("svc-apply", "Service", [
        apply("a", {"spec": service([HTTP, DNS_TCP])}), apply("b", {"spec": {"ports": [{"port": 53, "protocol": "UDP", "name": "dns-udp", "targetPort": "dns"}]}}),
        apply("b", {"spec": {"ports": [{"port": 53, "protocol": "TCP", "name": "other"}]}}, error=True), apply("a", {"spec": service([DNS_TCP])}),
        apply("a", {"spec": service([DNS_TCP]), "metadata": {"labels": {"q": "r"}}}), apply("b", {"metadata": {"labels": {"q": "r"}}}),
        apply("a", {"spec": service([DNS_TCP])})]),
    ("svc-status", "Service", [
        apply("a", {"spec": balanced([HTTP])}), apply("c", {"status": {"loadBalancer": {"ingress": [{"hostname": "h.example"}]}}}, sub="status"),
        apply("d", {"status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.1", "ipMode": "VIP"}]}}}, sub="status", error=True),
        merge("e", {"status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.1", "ipMode": "VIP"}]}}, "spec": {"sessionAffinity": "ClientIP"}}, sub="status"),
        apply("e", {"status": {"conditions": [{"type": "X", "status": "True", "reason": "R", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}]},
                    "metadata": {"annotations": {"a": "b"}}}, sub="status"),
        step("strategic", "f", {"status": {"conditions": [{"type": "Y", "status": "True", "reason": "R", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}}, sub="status"),
        apply("a", {"spec": balanced([HTTP]), "status": {"loadBalancer": {}}}), apply("c", {}, sub="status")]),
    ("cm", "ConfigMap", [
        create("u", {"data": {"a": "1", "b": "2"}}), apply("a", {"data": {"c": "3"}}), apply("a", {"data": {"a": "2"}}, error=True),
        apply("a", {"data": {"a": "2"}}, force=True), step("strategic", "s", {"data": {"b": None, "d": "4"}}), apply("a", {}), update("u", {"data": {"z": "26"}}),
        update("u", {"data": {"z": "26"}}), apply("b", {"binaryData": {"k": "AAEC"}, "immutable": False}), apply("b", {"data": {"x": 5}}, error=True),
        apply("b", {"datum": {}}, error=True)]),
    ("cm-kubectl", "ConfigMap", [
        create("kubectl-client-side-apply", last_applied("ConfigMap", "cm-kubectl", {"data": {"a": "1", "b": "2"}}, "v1")), apply("kubectl", {"data": {"a": "2"}}),
        apply("kubectl-last-applied", {"data": {"a": "1", "b": "2"}}, error=True), apply("kubectl", {"data": {"a": "3"}})]),
    ("cm-reset", "ConfigMap", [
        create("u", {"data": {"a": "1"}}), update("u", {"metadata": {"managedFields": []}}), merge("u", {"metadata": {"managedFields": [{}]}, "data": {"b": "2"}}),
        apply("a", {"data": {"a": "1"}}), patch("u", [{"op": "replace", "path": "/metadata/managedFields", "value": []}]), merge("u", {"data": {"b": "3"}})]),
    ("cm-gone-version", "ConfigMap", [
        create("u", {"data": {"a": "1", "b": "2"}}), patch("z", [{"op": "replace", "path": "/metadata/managedFields", "value": [
            {"manager": "old", "operation": "Update", "apiVersion": "v0", "fieldsType": "FieldsV1", "fieldsV1": {"f:data": {"f:a": {}}}},
            {"manager": "u", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {"f:data": {"f:b": {}}}}]}]),
        apply("a", {"data": {"a": "2"}})]),
    ("cm-empty", "ConfigMap", [
        create("u", {}), apply("a", {"data": {}}), apply("a", {"data": {"k": "v"}}), apply("a", {}), merge("u", {"metadata": {"labels": {"x": "y"}}})]),
    ("slice", "EndpointSlice", [
        apply("a", {"addressType": "IPv4", "endpoints": [{"addresses": ["192.0.2.1"], "conditions": {"ready": True}}],
                    "ports": [{"name": "http", "port": 80, "protocol": "TCP"}], "metadata": {"labels": {"kubernetes.io/service-name": "x"}}}),
        apply("b", {"addressType": "IPv4", "endpoints": [{"addresses": ["192.0.2.2"], "conditions": {}}]}, error=True),
        merge("u", {"endpoints": [{"addresses": ["192.0.2.3"], "conditions": {"ready": False}}]}),
        apply("a", {"addressType": "IPv4", "ports": [{"name": "http", "port": 80, "protocol": "TCP"}]}), apply("c", {"addressType": "IPv4", "ports": []}, force=True)]),
    ("dns", "DNS", [
        create("operator", {"spec": {"managementState": "Managed"}}), apply("gitops", {"spec": {"servers": [{"name": "a", "zones": ["a.example"], "forwardPlugin": {"upstreams": ["192.0.2.1"]}}]}}),
        apply("kubectl", {"spec": {"servers": [{"name": "b", "zones": ["b.example"], "forwardPlugin": {"upstreams": ["192.0.2.2"]}}]}}, error=True),
        merge("kubectl-edit", {"spec": {"logLevel": "Debug"}}), apply("gitops", {"spec": {"logLevel": "Debug"}}),
        apply("operator", {"status": {"clusterIP": "10.96.0.10", "clusterDomain": "cluster.local", "conditions": [
            {"type": "Available", "status": "True", "reason": "AsExpected", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}}, sub="status"),
        apply("gitops", {"spec": {}})]),
]


def random_value(rng, schema):
    """Any value that fits the schema."""
    kind = schema.get("type")
    if schema.get("x-kubernetes-int-or-string"):
        return rng.choice([1, "one"])
    if schema.get("x-kubernetes-embedded-resource"):
        return {"apiVersion": "v1", "kind": "X", "metadata": {"name": "n", "labels": {rng.choice("ab"): rng.choice("xy")}}, rng.choice("pq"): {rng.choice("rs"): 1}}
    if kind == "object":
        out = {k: random_value(rng, v) for k, v in schema.get("properties", {}).items() if k in schema.get("required", []) or rng.random() < 0.6}
        more = schema.get("additionalProperties") or (S if schema.get("x-kubernetes-preserve-unknown-fields") else None)
        if more:
            out.update({k: random_value(rng, more) for k in "abc" if rng.random() < 0.4})
        return out
    if kind == "array":
        items = [random_value(rng, schema["items"]) for _ in range(rng.randrange(4))]
        keys = schema.get("x-kubernetes-list-map-keys")
        if schema.get("x-kubernetes-list-type") in ("set", "map"):
            seen = {json.dumps([i.get(k, "TCP") for k in keys] if keys else i): i for i in items}
            items = list(seen.values())
        return items
    return {"string": rng.choice("xyz"), "integer": rng.randrange(3), "boolean": rng.random() < 0.5, "number": rng.choice([1, 1.5])}.get(kind, rng.choice(
        ["x", 1, {"a": "b"}, [1]]))


def random_step(rng, fields):
    """A write of some of these fields."""
    chosen = {f: random_value(rng, SPEC["properties"][f]) for f in fields if rng.random() < 0.6}
    body = spec(**chosen)
    if rng.random() < 0.2:
        body["metadata"] = {"labels": {rng.choice("ab"): rng.choice("xy")}, "finalizers": rng.sample(["k.io/a", "k.io/b"], rng.randrange(3))}
    how = rng.choice(["apply"] * 5 + ["merge", "merge", "update", "status"])
    if how == "apply":
        return apply(rng.choice("abc"), body, force=rng.random() < 0.4)
    if how == "status":
        return rng.choice([apply, merge])(rng.choice("abc"), {"status": random_value(rng, STATUS)}, sub="status")
    for f in fields:
        if rng.random() < 0.2:
            body["spec"][f] = None
    return step(how, rng.choice("uv"), body)
