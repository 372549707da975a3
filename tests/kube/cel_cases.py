# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules in CEL and objects for them: what the API server says is recorded in src/api/schema/test_rule.json."""
S, I, N, B = ({"type": t} for t in ("string", "integer", "number", "boolean"))


def obj(rules=(), **properties):
    o = {"type": "object", "properties": properties}
    if rules:
        o["x-kubernetes-validations"] = [r if isinstance(r, dict) else {"rule": r} for r in rules]
    return o


def text(n=20):
    return {"type": "string", "maxLength": n}


def array(items, n=10, rules=(), **kw):
    o = {"type": "array", "maxItems": n, "items": items, **kw}
    if rules:
        o["x-kubernetes-validations"] = [{"rule": r} for r in rules]
    return o


MAP = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]}


def rule(r, **kw):
    return {"rule": r, **kw}


# One rule each over the same members: a row is (rule, spec).
MEMBERS = dict(a=text(), b=text(), i=I, j=I, n=N, t=B, l=array(text()), il=array(I), m={"type": "object", "maxProperties": 10, "additionalProperties": text()},
               o=obj(x=text(), y=I), ol=array(obj(x=text(), y=I)), u={"type": "string", "maxLength": 20, "nullable": True}, ios={"x-kubernetes-int-or-string": True})
ONE_RULE = [
    ("has(self.a)", {}), ("has(self.a)", {"a": ""}), ("!has(self.u)", {"u": None}), ("has(self.u)", {"u": None}), ("self.u == ''", {"u": None}), ("has(self.o.x)", {"o": {}}),
    ("self.a == 'x'", {"a": "y"}), ("self.a == 'x'", {}), ("self.a != self.b", {"a": "1", "b": "1"}), ("self.i < self.j", {"i": 2, "j": 2}),
    ("self.i <= 2 && self.j >= 2", {"i": 2, "j": 2}), ("self.n > 1.5", {"n": 1}), ("self.n > 1", {"n": 2}), ("self.i < self.n", {"i": 1, "n": 0.5}),
    ("self.a < self.b", {"a": "b", "b": "a"}), ("self.t", {"t": False}), ("!self.t", {"t": True}), ("self.t || self.i > 1", {"t": True}),
    ("self.i > 1 || self.t", {"t": True}), ("self.i > 1 && self.t", {"t": False}), ("self.i > 1 && self.t", {"t": True}), ("self.i > 1 || self.t", {"t": False}),
    ("self.i + self.j == 5", {"i": 2, "j": 2}), ("self.i - self.j == 0", {"i": 2, "j": 2}), ("self.i * 3 == 6", {"i": 3}), ("self.i / self.j == 1", {"i": 1, "j": 0}),
    ("self.i % self.j == 1", {"i": 1, "j": 0}), ("self.i % 3 == 1", {"i": 5}), ("-self.i == 1", {"i": 1}), ("self.i + 1 > 0", {"i": 9223372036854775807}),
    ("self.i * 2 > 0", {"i": -9223372036854775808}), ("-self.i > 0", {"i": -9223372036854775808}), ("self.n / 2.0 == 0.5", {"n": 2}), ("self.a + self.b == 'xy'", {"a": "x", "b": "z"}),
    ("size(self.a) == 2", {"a": "éé"}), ("size(self.a) == 4", {"a": "éé"}), ("self.l.size() == 1", {"l": []}), ("size(self.m) == 1", {"m": {}}),
    ("self.a.startsWith('x')", {"a": "y"}), ("self.a.endsWith('x')", {"a": "y"}), ("self.a.contains('x')", {"a": "axb"}), ("self.a.contains('x')", {"a": "ab"}),
    ("self.a.matches('^[a-z]+$')", {"a": "A"}), ("self.a.matches('b')", {"a": "abc"}), ("matches(self.a, '^x')", {"a": "y"}), (r"self.a.matches('^\\d+\\.$')", {"a": "12."}),
    (r"self.a.matches(r'^\d+\.$')", {"a": "12"}), ("'x' in self.l", {"l": ["y", "x"]}), ("'x' in self.l", {"l": ["y"]}), ("self.a in ['x', 'y']", {"a": "z"}),
    ("self.i in [1, 2]", {"i": 2}), ("'k' in self.m", {"m": {"k": "v"}}), ("'k' in self.m", {"m": {}}), ("self.m['k'] == 'v'", {"m": {}}), ("self.m.k == 'v'", {"m": {"k": "w"}}),
    ("self.l[0] == 'x'", {"l": ["x"]}), ("self.l[1] == 'x'", {"l": ["x"]}), ("self.l[-1] == 'x'", {"l": ["x"]}), ("[1, 2][5] == 1", {}), ("{'a': 1}['b'] == 1", {}),
    ("{'a': 1, 'b': 2}.size() == 3", {}), ("self.l.all(x, x != '')", {"l": ["a", ""]}), ("self.l.all(x, x != '')", {"l": []}), ("self.l.exists(x, x == 'a')", {"l": []}),
    ("self.l.exists(x, x == 'a')", {"l": ["b", "a"]}), ("self.l.exists_one(x, x == 'a')", {"l": ["a", "a"]}), ("self.l.exists_one(x, x == 'a')", {"l": ["a", "b"]}),
    ("self.il.filter(x, x > 1).size() == 1", {"il": [1, 2, 3]}), ("self.il.map(x, x * 2) == [2, 4]", {"il": [1, 2]}), ("self.il.map(x, x > 1, x * 2) == [4]", {"il": [1, 2]}),
    ("self.m.all(k, k.startsWith('a'))", {"m": {"a1": "", "b1": ""}}), ("self.m.all(k, self.m[k] != '')", {"m": {"a1": ""}}), ("self.ol.all(e, has(e.x) && e.y > 0)", {"ol": [{"x": "1", "y": 0}]}),
    ("self.ol.all(e, self.ol.exists_one(f, f.x == e.x))", {"ol": [{"x": "1"}, {"x": "1"}]}), ("self.ol.map(e, e.x) == ['1', '2']", {"ol": [{"x": "1"}, {"x": "2"}]}),
    ("self.ol.all(e, e.x == '1')", {"ol": [{}, {"x": "2"}]}), ("self.ol.all(e, e.x == '1')", {"ol": [{}, {"x": "1"}]}), ("self.ol.exists(e, e.x == '1')", {"ol": [{}, {"x": "1"}]}),
    ("self.ol.exists_one(e, e.x == '1')", {"ol": [{}, {"x": "1"}]}), ("self.ol.filter(e, e.y > 1).size() == 1", {"ol": [{"y": 2}, {}]}),
    ("self.t ? self.a == 'x' : self.b == 'x'", {"t": True, "a": "y", "b": "x"}), ("self.t ? self.i > 0 : true", {"t": True}), ("self.t ? false : true", {"t": False}),
    ("self.ios == 5", {"ios": "5"}), ("self.ios == 5", {"ios": 5}), ("self.ios == '5' || self.ios > 4", {"ios": 5}), ("self.ios > 4", {"ios": "x"}), ("size(self.ios) > 1", {"ios": 5}), ("self.ios.startsWith('x')", {"ios": 5}), ("self.ios.contains('x')", {"ios": 5}),
    ("self.ios.matches('x')", {"ios": 5}), ("self.ios + 1 == 6", {"ios": "5"}), ("self.ios - 1 == 6", {"ios": "5"}), ("self.ios in ['5', 'x']", {"ios": 5}), ("!self.ios", {"ios": 5}), ("-self.ios == 5", {"ios": "5"}),
    ("self.ios && true", {"ios": 5}), ("self.ios || false", {"ios": 5}), ("self.ios ? true : false", {"ios": 5}), ("self.l.all(x, self.ios)", {"ios": 5, "l": ["a"]}), ("self.l.exists_one(x, self.ios)", {"ios": 5, "l": ["a"]}),
    ("self.l.filter(x, self.ios).size() == 0", {"ios": 5, "l": ["a"]}), ("self.l[self.ios] == 'a'", {"ios": "0", "l": ["a"]}), ("self.ios[0] == 'a'", {"ios": "a"}), ("self.ios.x == 'a'", {"ios": "a"}), ("'a' in self.ios", {"ios": "a"}), ("self.ios.all(x, true)", {"ios": 5}),
    ("self.o == {'x': 'a'}", None), ("self.l + ['z'] == ['a', 'z']", {"l": ["a"]}), ("self.l == ['b', 'a']", {"l": ["a", "b"]}), ("self.ol[0].x == self.ol[1].x", {"ol": [{"x": "a"}, {"x": "b"}]}),
    ("self.il.exists(x, x / 0 == 1 || true)", {"il": [1]}), ("[has(self.a), has(self.b)].exists_one(x, x)", {"a": "1", "b": "2"}), ("[has(self.a), has(self.b)].exists_one(x, x)", {"a": "1"}),
    ("self.a == 'it\\'s' || self.a == \"q\\\"\" || self.a == '''tri'ple'''", {"a": "tri'ple"}), ("self.i == 0x1F", {"i": 31}), ("self.n == 1e3", {"n": 1000}), ("self.n == .5", {"n": 0.5}),
    ("(self.i + 1) * 2 == 6 // a remark", {"i": 2}), ("self.a == '\\u00e9'", {"a": "é"}), ("self.i == 1 == self.t", {"i": 1, "t": False}), ("!(self.a in self.m) || self.m[self.a] == self.b", {"a": "k", "b": "x", "m": {"k": "y"}}),
]
ONE_RULE = [(r, s) for r, s in ONE_RULE if s is not None]

SCHEMAS = {
    "Messages": obj(
        own=obj(["self.x == 'ok'", rule("self.x != 'never'", message="  trimmed  ")], x=text()),
        scalar={"type": "string", "maxLength": 5, "x-kubernetes-validations": [rule("self != 'bad'", message="must not be bad")]},
        number={"type": "integer", "x-kubernetes-validations": [rule("self < 10")]},
        expr=obj([rule("self.x == 'ok'", messageExpression="'x is ' + self.x"), rule("self.x != 'bad'", messageExpression="self.y", message="fallback")], x=text(), y=text()),
        place=obj([rule("self.x == 'ok'", fieldPath=".x", message="m"), rule("self.m.k == 'ok'", fieldPath=".m['k']", message="m"), rule("self.d.e == 'ok'", fieldPath=".d.e", message="m")],
                  x=text(), m={"type": "object", "maxProperties": 5, "additionalProperties": text()}, d=obj(e=text())),
        reasons=obj([rule("self.x != 'f'", reason="FieldValueForbidden", message="m"), rule("self.x != 'r'", reason="FieldValueRequired", message="m"),
                     rule("self.x != 'd'", reason="FieldValueDuplicate", message="m"), rule("self.x != 'i'", reason="FieldValueInvalid", message="m")], x=text()),
        sdup={"type": "string", "maxLength": 5, "x-kubernetes-validations": [rule("self != 'd'", reason="FieldValueDuplicate", message="m")]},
        list=array({"type": "integer", "x-kubernetes-validations": [rule("self > 0", message="positive")]}, rules=["self.all(x, x != 7)"]),
        map={"type": "object", "maxProperties": 5, "additionalProperties": {"type": "string", "maxLength": 9, "x-kubernetes-validations": [rule("self != 'bad'")]}},
        deep=obj(er=obj(est=array(obj(["self.x > 1"], x=I)))), **{"dash-ed": text(), "namespace": text()}),
    "Blocked": obj(["self.a == 'x'"], a=text(3), b={"type": "integer", "maximum": 5}, c={"type": "string", "enum": ["x"]}, l=array(text(), 1), s=array(text(), **{"x-kubernetes-list-type": "set"}),
                   p={"type": "string", "maxLength": 5, "pattern": "^a"}),
    "Escapes": obj(["self.__namespace__ == 'x' && self.dash__dash__ed == 'y' && self.dot__dot__ted == 'z' && self.slash__slash__ed == '1' && self.under__underscores__score == '2'"],
                   **{"namespace": text(), "dash-ed": text(), "dot.ted": text(), "slash/ed": text(), "under__score": text()}),
    "Whole": {"root": {"type": "object", "properties": {"spec": obj(a=text())}, "x-kubernetes-validations": [
        rule("self.metadata.name.startsWith('r')"), rule("self.kind == 'Whole' && self.apiVersion.startsWith('test')"),
        rule("!has(self.spec) || !has(self.spec.a) || self.spec.a != 'bad'", message="no bad", fieldPath=".spec.a"), rule("!has(self.spec) || !has(self.spec.a) || self.spec.a != 'worse'")]}},
    "Changes": obj(
        fixed={"type": "string", "maxLength": 9, "x-kubernetes-validations": [rule("self == oldSelf", message="fixed")]},
        grows={"type": "integer", "x-kubernetes-validations": [rule("self >= oldSelf", message="grows")]},
        whole=obj([rule("self == oldSelf", message="whole")], x=text(), l=array(text(), **{"x-kubernetes-list-type": "atomic"})),
        set=array(text(), rules=["self == oldSelf"], **{"x-kubernetes-list-type": "set"}), atomic=array(text(), rules=["self == oldSelf"]),
        map=array(obj([rule("self.v >= oldSelf.v", message="map")], k=text(), v=I) | {"required": ["k"]}, rules=["self.all(x, oldSelf.exists(y, x.k == y.k))"], **MAP),
        mapeq=array(obj(k=text(), v=I) | {"required": ["k"]}, rules=["self == oldSelf"], **MAP),
        free={"type": "object", "maxProperties": 5, "additionalProperties": {"type": "integer", "x-kubernetes-validations": [rule("self >= oldSelf", message="free")]}},
        opt={"type": "string", "maxLength": 9, "x-kubernetes-validations": [rule("oldSelf.hasValue() || self == 'first'", optionalOldSelf=True, message="first"),
                                                                           rule("oldSelf.orValue('none') != self", optionalOldSelf=True, message="orvalue"),
                                                                           rule("!oldSelf.hasValue() || oldSelf.value() != 'last'", optionalOldSelf=True, message="last")]}),
    "Ratchet": obj([rule("self.a != 'bad'", message="a")], a=text(), b={"type": "string", "maxLength": 9, "x-kubernetes-validations": [rule("self != 'bad'", message="b")]}, c=text(),
                   l=array({"type": "string", "maxLength": 9, "x-kubernetes-validations": [rule("self != 'bad'", message="l")]}),
                   m=array(obj([rule("self.v < 5", message="m")], k=text(), v=I, w=I) | {"required": ["k"]}, **MAP), n=obj([rule("self.x != 'bad'", message="n")], x=text(), y=text()))
               | {"loose": obj(a=text(), b=text(9), c=text(), l=array(text(9)), m=array(obj(k=text(), v=I, w=I) | {"required": ["k"]}, **MAP), n=obj(x=text(), y=text()))},
}
CASES = [
    ("Messages", {"own": {"x": "no"}}), ("Messages", {"own": {"x": "never"}}), ("Messages", {"own": {}}), ("Messages", {"scalar": "bad"}), ("Messages", {"number": 11}),
    ("Messages", {"expr": {"x": "no"}}), ("Messages", {"expr": {"x": "bad"}}), ("Messages", {"expr": {"x": "bad", "y": "given"}}), ("Messages", {"expr": {"x": "bad", "y": " "}}), ("Messages", {"expr": {"x": "bad", "y": "two\nlines"}}),
    ("Messages", {"place": {"x": "no", "m": {"k": "no"}, "d": {"e": "no"}}}), *[("Messages", {"reasons": {"x": x}}) for x in "frdi"], ("Messages", {"sdup": "d"}),
    ("Messages", {"list": [1, -1, 7, 0]}), ("Messages", {"map": {"a.b": "bad", "c": "ok"}}), ("Messages", {"deep": {"er": {"est": [{"x": 2}, {"x": 1}, {}]}}}),
    ("Blocked", {"a": "y"}), ("Blocked", {"a": "long"}), ("Blocked", {"a": "y", "b": 6}), ("Blocked", {"a": "y", "c": "z"}), ("Blocked", {"a": "y", "l": ["1", "2"]}), ("Blocked", {"a": 5}),
    ("Blocked", {"a": "y", "s": ["1", "1"]}), ("Blocked", {"a": "y", "p": "b"}), ("Blocked", {}),
    ("Escapes", {"namespace": "x", "dash-ed": "y", "dot.ted": "z", "slash/ed": "1", "under__score": "2"}), ("Escapes", {"namespace": "x", "dash-ed": "n"}),
    ("Whole", {"a": "bad"}), ("Whole", {"a": "worse"}), ("Whole", {"a": "good"}), ("Whole", None),
    ("Changes", {"fixed": "b", "grows": 1}, {"fixed": "a", "grows": 2}), ("Changes", {"fixed": "a", "grows": 3}, {"fixed": "a", "grows": 2}), ("Changes", {"fixed": "new"}, {}),
    ("Changes", {"whole": {"x": "1"}}, {"whole": {"x": "2"}}), ("Changes", {"whole": {"x": "1", "l": ["a", "b"]}}, {"whole": {"l": ["a", "b"], "x": "1"}}), ("Changes", {"whole": {"x": "1", "l": ["b", "a"]}}, {"whole": {"l": ["a", "b"], "x": "1"}}),
    ("Changes", {"set": ["b", "a"]}, {"set": ["a", "b"]}), ("Changes", {"set": ["b", "c"]}, {"set": ["a", "b"]}), ("Changes", {"atomic": ["b", "a"]}, {"atomic": ["a", "b"]}),
    ("Changes", {"map": [{"k": "2", "v": 2}, {"k": "1", "v": 0}]}, {"map": [{"k": "1", "v": 1}, {"k": "2", "v": 1}]}), ("Changes", {"map": [{"k": "3", "v": 0}]}, {"map": [{"k": "1", "v": 1}]}),
    ("Changes", {"mapeq": [{"k": "2", "v": 2}, {"k": "1", "v": 1}]}, {"mapeq": [{"k": "1", "v": 1}, {"k": "2", "v": 2}]}), ("Changes", {"mapeq": [{"k": "1", "v": 2}]}, {"mapeq": [{"k": "1", "v": 1}]}),
    ("Changes", {"free": {"a": 1, "b": 5}}, {"free": {"a": 2, "b": 4}}), ("Changes", {"opt": "other"}), ("Changes", {"opt": "first"}), ("Changes", {"opt": "none"}), ("Changes", {"opt": "second"}, {"opt": "first"}),
    ("Changes", {"opt": "other"}, {}), ("Changes", {"opt": "first", "fixed": "x"}, {"opt": "first", "fixed": "x"}),
    ("Ratchet", {"a": "bad"}), ("Ratchet", {"a": "bad", "c": "2"}, {"a": "bad", "c": "1"}), ("Ratchet", {"a": "x", "b": "bad", "c": "2"}, {"a": "x", "b": "bad", "c": "1"}),
    ("Ratchet", {"a": "x", "l": ["bad", "y"]}, {"a": "x", "l": ["bad"]}), ("Ratchet", {"a": "x", "l": ["bad"], "c": "2"}, {"a": "x", "l": ["bad"], "c": "1"}),
    ("Ratchet", {"a": "x", "m": [{"k": "1", "v": 9}, {"k": "2"}]}, {"a": "x", "m": [{"k": "1", "v": 9}]}), ("Ratchet", {"a": "x", "m": [{"k": "1", "v": 9, "w": 1}]}, {"a": "x", "m": [{"k": "1", "v": 9}]}),
    ("Ratchet", {"a": "x", "n": {"x": "bad", "y": "2"}}, {"a": "x", "n": {"x": "bad", "y": "1"}}), ("Ratchet", {"a": "y", "n": {"x": "bad"}}, {"a": "x", "n": {"x": "bad"}}),
]
# Each rule is a kind of its own: kinds with equal rules are one.
for i, r in enumerate(dict.fromkeys(r for r, _ in ONE_RULE)):
    SCHEMAS[f"Rule{i}"] = obj([r], **{k: v for k, v in MEMBERS.items() if f"self.{k}" in r or k == "a"})
    CASES += [(f"Rule{i}", spec) for s, spec in ONE_RULE if s == r]
