# SPDX-License-Identifier: GPL-3.0-or-later
"""Schemas and objects, good and bad: what the API server says of them is recorded in src/api/schema/test_schema.json.

SCHEMAS: {kind: schema of spec, or {"root": schema of the whole object}}; "loose" is the schema under which objects that
are wrong by now were stored. CASES: (kind, spec) is created; (kind, new spec, old spec) is created and then changed.
"""
S, I, N, B = ({"type": t} for t in ("string", "integer", "number", "boolean"))
LONG = "x" * 11


def obj(**properties):
    return {"type": "object", "properties": properties}


SCHEMAS = {
    "Types": obj(
        s=S, i=I, n=N, b=B, o={"type": "object", "properties": {"x": S}}, a={"type": "array", "items": S},
        i32={"type": "integer", "format": "int32"}, i64={"type": "integer", "format": "int64"},
        f32={"type": "number", "format": "float"}, ios={"x-kubernetes-int-or-string": True},
        ios2={"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]},
        ns={"type": "string", "nullable": True}, list={"type": "array", "items": {"type": "array", "items": I}},
        nullitems={"type": "array", "items": {"type": "string", "nullable": True}},
        m={"type": "object", "additionalProperties": I}, mo={"type": "object", "additionalProperties": obj(x=I)},
        any={"type": "object", "x-kubernetes-preserve-unknown-fields": True}),
    "Numbers": obj(
        max={"type": "integer", "maximum": 10}, min={"type": "integer", "minimum": -3},
        xmax={"type": "integer", "maximum": 10, "exclusiveMaximum": True},
        xmin={"type": "integer", "minimum": 1, "exclusiveMinimum": True},
        port={"type": "integer", "format": "int32", "minimum": 1, "maximum": 65535},
        fmax={"type": "number", "maximum": 1.5}, fmin={"type": "number", "minimum": 0.25},
        mult={"type": "integer", "multipleOf": 5}, fmult={"type": "number", "multipleOf": 0.5},
        big={"type": "number", "maximum": 1e21}, small={"type": "number", "minimum": 0.000001},
        ienum={"type": "integer", "enum": [1, 2, 3]}, fenum={"type": "number", "enum": [1.5, 2]}),
    "Strings": obj(
        max={"type": "string", "maxLength": 10}, one={"type": "string", "maxLength": 1}, min={"type": "string", "minLength": 3},
        pat={"type": "string", "pattern": "^[a-z]+$"}, all={"type": "string", "maxLength": 10, "minLength": 2, "pattern": "^a"},
        enum={"type": "string", "enum": ["A", "B c", 'q"uote']}, nenum={"type": "string", "nullable": True, "enum": ["A", "B"]},
        quote={"type": "string", "pattern": "^it's$"}),
    "Formats": obj(
        **{f.replace("-", ""): {"type": "string", "format": f} for f in (
            "ipv4", "ipv6", "cidr", "mac", "uuid", "uuid3", "uuid4", "uuid5", "byte", "password", "date", "date-time",
            "datetime", "duration", "k8s-short-name", "k8s-long-name", "unknown-format")},
        datet={"type": "string", "format": "date-time"}, nulldate={"type": "string", "format": "date-time", "nullable": True},
        either={"type": "string", "anyOf": [{"format": "ipv4"}, {"format": "ipv6"}]}),
    "Lists": obj(
        min={"type": "array", "minItems": 2, "items": S}, max={"type": "array", "maxItems": 2, "items": S},
        one={"type": "array", "maxItems": 1, "items": S}, both={"type": "array", "maxItems": 1, "items": {"type": "string", "maxLength": 1}},
        set={"type": "array", "x-kubernetes-list-type": "set", "items": S},
        iset={"type": "array", "x-kubernetes-list-type": "set", "items": I},
        map={"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],
             "items": {"type": "object", "required": ["k"], "properties": {"k": S, "v": I}}},
        map2={"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k", "l"],
              "items": {"type": "object", "required": ["k"], "properties": {"k": S, "l": {"type": "integer", "default": 7}, "v": I}}},
        nested={"type": "object", "additionalProperties": {"type": "array", "x-kubernetes-list-type": "set", "items": S}},
        oset={"type": "array", "x-kubernetes-list-type": "set", "items": {
            "type": "object", "x-kubernetes-map-type": "atomic", "properties": {"a": S, "b": I}}}),
    "Objects": obj(
        req={"type": "object", "required": ["a", "b"], "properties": {"a": S, "b": S}},
        min={"type": "object", "minProperties": 1, "properties": {"a": S, "b": S}},
        max={"type": "object", "maxProperties": 1, "properties": {"a": S, "b": S}},
        max2={"type": "object", "maxProperties": 2, "additionalProperties": S},
        deep=obj(er=obj(est={"type": "array", "items": {"type": "object", "required": ["x"], "properties": {"x": I}}}))),
    "Alternatives": obj(
        any={"type": "object", "properties": {"a": S, "b": I}, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
        one={"type": "object", "properties": {"a": S, "b": I}, "oneOf": [{"required": ["a"]}, {"required": ["b"]}]},
        all={"type": "integer", "allOf": [{"minimum": 10}, {"maximum": 20}]},
        no={"type": "string", "not": {"enum": ["bad", "worse"]}},
        best={"type": "object", "properties": {"t": S, "x": S, "y": I}, "anyOf": [
            {"properties": {"t": {"enum": ["X"]}}, "required": ["x"]},
            {"properties": {"t": {"enum": ["Y"]}, "y": {"minimum": 5}}, "required": ["y"]}]},
        onelist={"type": "array", "items": {"type": "string", "oneOf": [{"pattern": "^a"}, {"pattern": "b$"}]}},
        nested={"type": "string", "allOf": [{"anyOf": [{"pattern": "^a"}, {"pattern": "^b"}]}, {"not": {"pattern": "z$"}}]}),
    "Defaults": obj(
        s={"type": "string", "default": "d"}, i={"type": "integer", "default": 5}, nothing=S,
        o={"type": "object", "default": {}, "properties": {"x": {"type": "string", "default": "y"}, "z": S}},
        later=obj(x={"type": "string", "default": "y"}),
        list={"type": "array", "items": obj(x={"type": "string", "default": "y"})},
        m={"type": "object", "additionalProperties": obj(x={"type": "string", "default": "y"})},
        n={"type": "string", "nullable": True, "default": "d"}, limited={"type": "integer", "default": 1, "maximum": 3}),
    "Kept": obj(
        plain=obj(a=S), keep={"type": "object", "x-kubernetes-preserve-unknown-fields": True, "properties": {"a": obj(b=S)}},
        true={"type": "object", "additionalProperties": True},
        klist={"type": "array", "x-kubernetes-preserve-unknown-fields": True, "items": obj(a=S)},
        ilist={"type": "array", "items": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
        emb={"type": "object", "x-kubernetes-embedded-resource": True, "properties": {"spec": obj(a=S)}},
        embk={"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True}),
    "Whole": {"root": {"type": "object", "required": ["spec"], "minProperties": 4,
                       "properties": {"spec": obj(a=S), "metadata": obj(name={"type": "string", "pattern": "^r[0-9]+$"})}}},
    "Ratchet": {**obj(
        a={"type": "string", "maxLength": 3}, b={"type": "integer", "maximum": 5}, sub=obj(c={"type": "string", "enum": ["x"]}, d=S),
        list={"type": "array", "items": {"type": "string", "maxLength": 3}},
        set={"type": "array", "x-kubernetes-list-type": "set", "items": S},
        map={"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],
             "items": {"type": "object", "required": ["k"], "properties": {"k": S, "v": {"type": "integer", "maximum": 5}}}},
        free={"type": "object", "additionalProperties": {"type": "string", "maxLength": 3}}), "required": ["a"],
        "loose": obj(a=S, b=I, sub=obj(c=S, d=S), list={"type": "array", "items": S}, set={"type": "array", "items": S},
                     map={"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],
                          "items": {"type": "object", "required": ["k"], "properties": {"k": S, "v": I}}},
                     free={"type": "object", "additionalProperties": S})},
}

WRONG = ["text", 7, 1.5, True, None, [], ["x"], {}, {"x": "y"}]

CASES = [
    *[("Types", {f: v}) for f in ("s", "i", "n", "b", "o", "a") for v in WRONG],
    *[("Types", {f: v}) for f in ("i32", "f32", "ios", "ios2") for v in ("text", 7, 1.5, True, None, [], {})],
    ("Types", {"i": 1.0}), ("Types", {"i": -1.0}), ("Types", {"i32": 2147483647}), ("Types", {"i32": 2147483648}),
    ("Types", {"i32": -2147483649}), ("Types", {"i64": 9223372036854775807}), ("Types", {"i64": 1e19}), ("Types", {"f32": 1e39}),
    ("Types", {"ns": None}), ("Types", {"nullitems": ["a", None]}), ("Types", {"a": ["a", None]}), ("Types", {"a": ["a", 1, True]}),
    ("Types", {"list": [[1, "2"], 3]}), ("Types", {"m": {"a": "x", "b.c": True}}), ("Types", {"mo": {"k": {"x": "s"}, "l": 1}}),
    ("Types", {"s": 1, "i": "x", "b": 2}), ("Types", {"any": {"x": [1, None, {}]}}), ("Types", {"any": "x"}),

    ("Numbers", {"max": 10}), ("Numbers", {"max": 11}), ("Numbers", {"min": -4}), ("Numbers", {"xmax": 10}), ("Numbers", {"xmin": 1}),
    ("Numbers", {"port": 0}), ("Numbers", {"port": 65536}), ("Numbers", {"port": 4294967296}), ("Numbers", {"port": 1.5}),
    ("Numbers", {"port": "x"}), ("Numbers", {"max": 10.5}), ("Numbers", {"max": 11.0}), ("Numbers", {"fmax": 1.75}), ("Numbers", {"fmax": 2}),
    ("Numbers", {"fmin": 0.125}), ("Numbers", {"mult": 7}), ("Numbers", {"mult": 10}), ("Numbers", {"fmult": 0.75}), ("Numbers", {"fmult": 2.5}),
    ("Numbers", {"big": 1e22}), ("Numbers", {"small": 1e-7}), ("Numbers", {"ienum": 4}), ("Numbers", {"ienum": 2.0}),
    ("Numbers", {"fenum": 1.25}), ("Numbers", {"fenum": 1.5}), ("Numbers", {"fmax": -1e-9}), ("Numbers", {"fmax": 123456789.125}),
    ("Numbers", {"max": 11, "min": -9, "mult": 3}),

    ("Strings", {"max": LONG}), ("Strings", {"max": "ééééééééée"}), ("Strings", {"max": "éééééééééée"}), ("Strings", {"one": "ab"}), ("Strings", {"min": ""}), ("Strings", {"min": "éé"}),
    ("Strings", {"pat": "A"}), ("Strings", {"pat": 'a"b\\'}), ("Strings", {"pat": "a\nb\t\u0001é"}), ("Strings", {"pat": ""}),
    ("Strings", {"all": "b"}), ("Strings", {"all": "bbb"}), ("Strings", {"all": LONG}), ("Strings", {"enum": "C"}), ("Strings", {"enum": ""}),
    ("Strings", {"enum": "B c"}), ("Strings", {"enum": 3}), ("Strings", {"enum": None}), ("Strings", {"nenum": None}), ("Strings", {"nenum": "C"}),
    ("Strings", {"quote": "its"}), ("Strings", {"pat": 5}), ("Strings", {"max": LONG, "min": "x", "pat": "9"}),

    *[("Formats", {"ipv4": v}) for v in ("1.2.3.4", "01.2.3.4", "1.2.3", "1.2.3.256", "::ffff:1.2.3.4", "::1", "x", "", 5, True, ["x"], {})],
    *[("Formats", {"ipv6": v}) for v in ("::1", "2001:db8::1", "1.2.3.4", "::g", "fe80::1%eth0", "::ffff:1.2.3.4", "1:2:3:4:5:6:7:8:9")],
    *[("Formats", {"cidr": v}) for v in ("10.0.0.0/8", "10.0.0.1/33", "10.0.0.0", "::/0", "::/129", "1.2.3.4/", "1.2.3.4/08", "1.2.3.4/-1", "/8")],
    *[("Formats", {"mac": v}) for v in ("00:11:22:33:44:55", "00-11-22-33-44-55", "0011.2233.4455", "00:11:22:33:44", "00:11:22:33:44:5g", "00:11-22:33:44:55", "00:11:22:33:44:55:66:77")],
    *[("Formats", {"uuid": v}) for v in ("7d3c9f2e-1b1a-4c1e-8f6a-0123456789AB", "7d3c9f2e1b1a4c1e8f6a0123456789ab", "7d3c9f2e-1b1a-4c1e-8f6a", "x")],
    ("Formats", {"uuid3": "7d3c9f2e-1b1a-3c1e-0f6a-0123456789ab"}), ("Formats", {"uuid3": "7d3c9f2e-1b1a-4c1e-8f6a-0123456789ab"}),
    ("Formats", {"uuid4": "7d3c9f2e-1b1a-4c1e-8f6a-0123456789ab"}), ("Formats", {"uuid4": "7d3c9f2e-1b1a-4c1e-7f6a-0123456789ab"}),
    ("Formats", {"uuid5": "7d3c9f2e-1b1a-5c1e-bf6a-0123456789ab"}), ("Formats", {"uuid5": "7d3c9f2e-1b1a-4c1e-8f6a-0123456789ab"}),
    *[("Formats", {"byte": v}) for v in ("", "Zg==", "Zm8=", "Zm9v", "Zg=", "Zm9", "Zm-v", "Z===")],
    ("Formats", {"password": "anything"}), ("Formats", {"unknownformat": "anything"}), ("Formats", {"unknownformat": 5}),
    *[("Formats", {"date": v}) for v in ("2026-11-15", "2026-02-29", "2024-02-29", "2026-13-01", "2026-1-1", "2026-11-15T", "x")],
    *[("Formats", {"datet": v}) for v in ("2026-11-15T09:30:00Z", "2026-11-15t09:30:00.123z", "2026-11-15T09:30:00+01:00", "2026-11-15T24:00:00Z",
                                          "2026-11-15 09:30:00Z", "2026-11-15T09:30:00", "2026-11-15T09:30Z", "2026-11-15T09:30:00Zt", "", 5, None)],
    ("Formats", {"datetime": "x"}), ("Formats", {"nulldate": None}),
    *[("Formats", {"duration": v}) for v in ("1h30m", "-1.5s", "5", "22 ns", "3 days", "2 weeks", "xx", "", "1x 2d", "10 minutes", "7 furlongs")],
    *[("Formats", {"k8sshortname": v}) for v in ("a-b", "A", "-a", "a.b", "x" * 63, "x" * 64, "")],
    *[("Formats", {"k8slongname": v}) for v in ("a.b-c", "a..b", "a.", ".a", "x" * 64, "A.b", "x." * 126 + "xx", "x." * 126 + "x")],
    *[("Formats", {"either": v}) for v in ("1.2.3.4", "::1", "x", 5)],

    ("Lists", {"min": ["a"]}), ("Lists", {"min": []}), ("Lists", {"max": ["a", "b", "c"]}), ("Lists", {"one": ["a", "b"]}), ("Lists", {"both": ["aa", "b", "cc"]}),
    ("Lists", {"set": ["a", "b", "a", "a", "b"]}), ("Lists", {"set": ["a", "A"]}), ("Lists", {"iset": [1, 2, 1]}), ("Lists", {"iset": [1, 1.0]}),
    ("Lists", {"map": [{"k": "a"}, {"k": "b"}, {"k": "a", "v": 1}]}), ("Lists", {"map": [{"v": 1}]}), ("Lists", {"map": [{"v": 1}, {"v": 2}]}),
    ("Lists", {"map": ["a", {"k": "a"}]}), ("Lists", {"map2": [{"k": "a"}, {"k": "a", "l": 7}]}), ("Lists", {"map2": [{"k": "a"}, {"k": "a", "l": 8}]}),
    ("Lists", {"nested": {"x": ["a", "a"], "y.z": ["b"]}}), ("Lists", {"oset": [{"a": "<&>", "b": 1}, {"b": 1, "a": "<&>"}]}), ("Lists", {"map": [None, None]}),

    ("Objects", {"req": {"a": "x"}}), ("Objects", {"req": {}}), ("Objects", {"req": {"a": None, "b": "x"}}), ("Objects", {"min": {}}),
    ("Objects", {"max": {"a": "x", "b": "y"}}), ("Objects", {"max2": {"a": "x", "b": "y", "c": "z"}}), ("Objects", {"min": {"unknown": "x"}}),
    ("Objects", {"deep": {"er": {"est": [{}, {"x": 1}, {"x": "y"}]}}}), ("Objects", {"deep": {"er": []}}), ("Objects", {"deep": None}),

    ("Alternatives", {"any": {}}), ("Alternatives", {"any": {"a": "x", "b": 1}}), ("Alternatives", {"one": {}}), ("Alternatives", {"one": {"a": "x", "b": 1}}),
    ("Alternatives", {"one": {"b": 1}}), ("Alternatives", {"all": 5}), ("Alternatives", {"all": 25}), ("Alternatives", {"all": 15}),
    ("Alternatives", {"all": "x"}), ("Alternatives", {"no": "bad"}), ("Alternatives", {"no": "good"}), ("Alternatives", {"best": {"t": "Y", "y": 1}}),
    ("Alternatives", {"best": {"t": "X"}}), ("Alternatives", {"best": {"t": "Z", "x": "1", "y": 9}}), ("Alternatives", {"best": {}}),
    ("Alternatives", {"onelist": ["a", "b", "ab", "c"]}), ("Alternatives", {"nested": "c"}), ("Alternatives", {"nested": "az"}), ("Alternatives", {"nested": "cz"}),
    ("Alternatives", {"nested": "a"}),

    ("Defaults", {}), ("Defaults", {"s": None, "i": None, "n": None, "nothing": None, "o": None}), ("Defaults", {"o": {"z": "1"}, "later": {}}),
    ("Defaults", {"list": [{}, {"x": "1"}], "m": {"k": {}, "l": {"x": None}}}), ("Defaults", {"limited": None}), ("Defaults", {"limited": 4}),

    ("Kept", {"plain": {"a": "1", "b": 2}, "unknown": 1}), ("Kept", {"keep": {"a": {"b": "1", "c": 2}, "d": {"e": [1]}}}),
    ("Kept", {"true": {"a": {"b": 1}, "c": 2}}), ("Kept", {"klist": [{"a": "1", "b": {"c": 1}}]}), ("Kept", {"ilist": [{"x": {"y": 1}}]}),
    ("Kept", {"emb": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}, "spec": {"a": "1", "b": 2}, "other": 1}}),
    ("Kept", {"emb": {"kind": "Pod"}}), ("Kept", {"emb": {"apiVersion": "v1"}}), ("Kept", {"emb": {"apiVersion": "", "kind": ""}}),
    ("Kept", {"embk": {"apiVersion": "v1", "kind": "Pod", "other": {"x": 1}}}), ("Kept", {"emb": {}}),

    ("Whole", None), ("Whole", {"a": 1}), ("Whole", {"a": "1"}),

    ("Ratchet", {"b": 1}), ("Ratchet", {"a": "long!"}),
    ("Ratchet", {"a": "long!", "b": 2}, {"a": "long!", "b": 1}), ("Ratchet", {"a": "long!", "b": 9}, {"a": "long!", "b": 1}),
    ("Ratchet", {"a": "longer"}, {"a": "long!"}), ("Ratchet", {"b": 2}, {"b": 1}),
    ("Ratchet", {"a": "x", "sub": {"c": "bad", "d": "2"}}, {"a": "x", "sub": {"c": "bad", "d": "1"}}),
    ("Ratchet", {"a": "x", "list": ["long!", "y"]}, {"a": "x", "list": ["long!"]}),
    ("Ratchet", {"a": "y", "list": ["long!"]}, {"a": "x", "list": ["long!"]}),
    ("Ratchet", {"a": "y", "set": ["a", "a"]}, {"a": "x", "set": ["a", "a"]}),
    ("Ratchet", {"a": "y", "set": ["a", "a", "b"]}, {"a": "x", "set": ["a", "a"]}), ("Ratchet", {"a": "y", "set": ["a", "a"]}, {"a": "x", "set": ["a"]}),
    ("Ratchet", {"a": "x", "map": [{"k": "1", "v": 9}, {"k": "2", "v": 3}]}, {"a": "x", "map": [{"k": "1", "v": 9}]}),
    ("Ratchet", {"a": "x", "map": [{"k": "2", "v": 3}, {"k": "1", "v": 9}]}, {"a": "x", "map": [{"k": "1", "v": 9}]}),
    ("Ratchet", {"a": "x", "map": [{"k": "1", "v": 8}]}, {"a": "x", "map": [{"k": "1", "v": 9}]}),
    ("Ratchet", {"a": "x", "free": {"k": "long!", "l": "y"}}, {"a": "x", "free": {"k": "long!"}}),
]
