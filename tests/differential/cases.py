# SPDX-License-Identifier: GPL-3.0-or-later
"""Case files: TOML around a Corefile and lines of questions. README.md describes the format."""
import os
import random
import re
import shlex
import struct
import tomllib
from dataclasses import dataclass, field

import dns.name

from lib import wire
from lib.client import Ask
from lib.upstream import parse_script, seconds

HERE = os.path.dirname(os.path.abspath(__file__))
KEYS = {"about", "corefile", "files", "env", "args", "queries", "generate", "generator", "window", "silent_ok", "log",
        "log_lines", "metrics", "mask", "upstreams", "seen", "patience", "within"}
SEEN = ("all", "each", "names", "no")
GENERATOR_KEYS = {"seed", "names", "types", "classes", "sources", "ports", "tcp", "edns", "sizes", "options", "targets",
                  "mutate"}
START_KEYS = {"name", "corefile", "directive", "files", "env", "ok", "differs", "error", "args", "check"}
FLAG_SHARES = (("rd", 0.8), ("ad", 0.15), ("cd", 0.15), ("ra", 0.02), ("aa", 0.02), ("tc", 0.02), ("z", 0.02))
SECTIONS = ("answer", "authority", "additional")


class BadCase(Exception):
    """A case file is invalid; the message has the place."""


@dataclass
class Expect:
    """The expectation in the indented lines under a question."""
    rcode: int = None
    flags: tuple = None
    opcode: int = None
    question: str = None  # as a message's text has it
    edns: object = None  # wire.Edns, False: there must be none
    sections: dict = field(default_factory=dict)
    counts: dict = field(default_factory=dict)
    silent: bool = False
    replies: int = None
    same: bool = False
    compressed: bool = False
    status: int = None
    body: str = None
    asked: int = None  # queries to upstreams that the question causes
    asked_all: bool = False  # of any name and type, not only of its own

    def full(self):
        """The same with everything unsaid being absent: for replies that have nothing to be compared with."""
        if not self.same and not self.silent:
            self.edns = False if self.edns is None else self.edns
            for s in SECTIONS:
                if s not in self.counts:
                    self.sections.setdefault(s, [])
        return self


@dataclass
class Query:
    where: str  # file:line
    text: str
    ask: Ask = None
    get: tuple = None  # (port name, path)
    step: tuple = None  # (word, argument): what happens between two questions
    nowait: bool = False  # the next question does not wait for its reply
    differs: str = ""
    expect: Expect = None


def load(path):
    with open(path, "rb") as f:
        data = tomllib.load(f)
    data["path"] = path
    data["file"] = os.path.basename(path)
    return data


def answer_cases():
    return [load_answers(p) for p in files("cases")]


def files(folder):
    folder = os.path.join(HERE, folder)
    return [os.path.join(folder, n) for n in sorted(os.listdir(folder)) if n.endswith(".toml")]


def load_answers(path):
    case = load(path)
    unknown = set(case) - KEYS - {"path", "file"}
    unknown |= set(case.get("generator", {})) - GENERATOR_KEYS
    if unknown:
        raise BadCase(f"{case['file']}: unknown keys {sorted(unknown)}")
    for key in ("about", "corefile"):
        if key not in case:
            raise BadCase(f"{case['file']}: `{key}` is missing")
    case["upstreams"] = {name: up if isinstance(up, dict) else {"script": up}
                         for name, up in case.get("upstreams", {}).items()}
    for name, up in case["upstreams"].items():
        up["script"] = repeat_lines(up.get("script", ""))
        parse_script(up["script"])
    if case.setdefault("seen", "all") not in SEEN:
        raise BadCase(f"{case['file']}: `seen` is none of {SEEN}")
    case["corefile"] = repeat_lines(case["corefile"])
    case["queries"] = repeat_lines(case.get("queries", ""))
    case["queries"] = list(parse_queries(case))
    if any(q.step or q.nowait or q.expect.asked is not None for q in case["queries"]):
        case["window"] = 1
    if case.get("generate"):
        case["queries"] += generate(case)
    if len(case["queries"]) > 65000:
        raise BadCase(f"{case['file']}: more questions than ids")
    for q in case["queries"]:
        if q.step and q.step[0] in ("stop", "start") and q.step[1] not in case["upstreams"]:
            raise BadCase(f"{q.where}: no upstream {q.step[1]!r}")
    for number, q in enumerate(case["queries"], 1):
        if q.ask and len(q.ask.wire) >= 2:
            q.ask = Ask(**{**vars(q.ask), "wire": struct.pack("!H", number) + q.ask.wire[2:]})
    return case


def start_cases():
    """All start cases: the directives of the lists `ok` and `refused`, and the tables `case`."""
    out = []
    for path in files("starts"):
        data = load(path)
        rows = [{"directive": d, "ok": good} for good in (True, False) for d in data.get("ok" if good else "refused", [])]
        for n, row in enumerate(rows + data.get("case", []), 1):
            unknown = set(row) - START_KEYS
            if unknown or "ok" not in row or ("corefile" in row) == ("directive" in row):
                raise BadCase(f"{data['file']}: case {n}: needs `ok`, one of `corefile` and `directive`; {unknown}")
            name = row.get("name") or " ".join(row.get("directive", row.get("corefile")).split())
            if "directive" in row:
                row["corefile"] = ".:@PORT@ {\n" + row["directive"] + "\n}\n"
            row["corefile"] = repeat_lines(row["corefile"])
            row["id"] = f"{data['file'][:-5]}: {'ok' if row['ok'] else 'refused'}: {name[:60]}"
            out.append(row)
    return out


def repeat_lines(text):
    """A line `@1..9@ text` becomes nine lines in which @i@ is the number; so does `@a,b,c@ text` with the words."""
    out = []
    for line in text.splitlines(keepends=True):
        m = re.match(r"(\s*)@([\w.,-]*(?:\.\.|,)[\w.,-]*)@ (.*\n?)", line)
        if not m:
            out.append(line)
            continue
        span = re.fullmatch(r"(\d+)\.\.(\d+)", m[2])
        words = [str(i) for i in range(int(span[1]), int(span[2]) + 1)] if span else m[2].split(",")
        out += [m[1] + m[3].replace("@i@", w) for w in words]
    return "".join(out)


def parse_queries(case):
    """The lines of `queries`, in order."""
    first = next((i for i, l in enumerate(open(case["path"], encoding="utf-8"), 1)
                  if re.match(r"queries\s*=", l)), 0)
    port, query = "", None
    for number, line in enumerate(case["queries"].splitlines(), first + 1):
        where = f"{case['file']}:{number}"
        try:
            stripped = line.strip()
            if not stripped or stripped.startswith("#"):
                continue
            if line[0] in " \t":
                if query is None:
                    raise BadCase("an expectation without a question")
                parse_expect(query[-1].expect, stripped)
            elif stripped[0] == "[":
                port = stripped.strip("[]")
            elif stripped[0] == "!":
                if query:
                    yield from finish(query)
                query = None
                yield parse_step(where, stripped)
            else:
                if query:
                    yield from finish(query)
                query = parse_question(where, stripped, port)
        except Exception as e:  # of any parser below
            raise BadCase(f"{where}: {e!r}: {line}") from e
    if query:
        yield from finish(query)


def parse_step(where, text):
    """`! wait 1.5s`, `! stop up`, `! start up`, `! settle`."""
    word, argument = (text.lstrip("!").split() + [""])[:2]
    if word not in ("wait", "stop", "start", "settle"):
        raise BadCase(f"unknown step {word!r}")
    return Query(where=where, text=text, expect=Expect(),
                 step=(word, seconds(argument) if word == "wait" else argument))


def finish(group):
    """A question and its repetitions share the expectation."""
    expect = group[-1].expect
    if group[0].differs:
        expect.full()
        if not (expect.same or expect.silent) and (expect.rcode is None or expect.flags is None):
            raise BadCase(f"{group[0].where}: a difference must say rcode and flags, or `same`, or `silent`")
    for q in group:
        q.expect = expect
    return group


def parse_question(where, text, port):
    tokens = text.split()
    query = Query(where=where, text=text, expect=Expect())
    if tokens[0] == "GET":
        name, path = tokens[1].split("/", 1)
        query.get = (name, "/" + path)
        return [query]
    opts = dict(tcp=False, source="", target="127.0.0.1", port=port)
    q = dict(flags={"rd"}, options=[])
    raw, pad, repeat = None, 0, 1
    if tokens[0].startswith("raw="):
        raw = parse_raw(tokens.pop(0)[4:])
    else:
        q["name"], q["rtype"] = tokens.pop(0), tokens.pop(0)
    for t in tokens:
        key, _, value = t.partition("=")
        if t == "tcp":
            opts["tcp"] = True
        elif key == "edns":
            q["edns"] = int(value or 1232)
        elif t == "nowait":
            query.nowait = True
        elif t == "do":
            q["do"] = True
            q.setdefault("edns", 1232)
        elif key == "ver":
            q["version"] = int(value)
            q.setdefault("edns", 1232)
        elif key == "opt":
            code, _, data = value.partition(":")
            q["options"].append((int(code), bytes.fromhex(data)))
            q.setdefault("edns", 1232)
        elif key == "pad":
            pad = int(value)
            q.setdefault("edns", 1232)
        elif key == "opcode":
            q["opcode"] = int(value)
        elif key == "src":
            opts["source"] = value
        elif key == "to":
            opts["target"] = value
        elif key == "differs":
            query.differs = value
        elif key == "class":
            q["rclass"] = value
        elif t[0] in "+-" and t[1:] in dict(wire.FLAGS):
            (q["flags"].add if t[0] == "+" else q["flags"].discard)(t[1:])
        elif re.fullmatch(r"x\d+", t):
            repeat = int(t[1:])
        elif t in ("IN", "CH", "HS", "ANY", "NONE"):
            q["rclass"] = t
        else:
            raise BadCase(f"unknown word {t!r}")
    if raw is None:
        if pad:
            size = len(wire.query(**q))
            q["options"].append((12, bytes(pad - size - 4)))
        raw = wire.query(**q)
    query.ask = Ask(wire=raw, **opts)
    return [Query(where=where, text=text, ask=query.ask, differs=query.differs, expect=query.expect,
                  nowait=query.nowait)
            for _ in range(repeat)]


def parse_raw(text):
    """Hex octets; `:` separates, `<name.>` is a name in wire form, `*N` repeats the octet before it."""
    out = b""
    for piece in re.findall(r"<[^>]*>|\*\d+|[0-9a-fA-F]+|:|.", text):
        if piece[0] == "<":
            out += dns.name.from_text(piece[1:-1]).to_wire()
        elif piece[0] == "*":
            out += out[-1:] * (int(piece[1:]) - 1)
        elif piece != ":":
            out += bytes.fromhex(piece)
    return out


def parse_expect(expect, line):
    word, _, rest = line.partition(" ")
    rest = rest.strip()
    if word == "rcode":
        expect.rcode = wire.rcode_value(rest)
    elif word == "flags":
        given = rest.split()
        expect.flags = tuple(n for n, _ in wire.FLAGS if n in given)
    elif word == "opcode":
        expect.opcode = int(rest)
    elif word == "question":
        expect.question = " ".join(rest.split())
    elif word == "edns":
        fields = rest.split()
        options = tuple(sorted((int(c), bytes.fromhex(d)) for c, _, d in
                               (f[4:].partition(":") for f in fields if f.startswith("opt="))))
        expect.edns = wire.Edns(int(fields[0]), 0, "do" in fields, 0, (expect.rcode or 0) >> 4, options)
    elif word == "noedns":
        expect.edns = False
    elif word in SECTIONS:
        if rest == "none":
            expect.sections[word] = []
        elif rest.isdigit():
            expect.counts[word] = int(rest)
        else:
            expect.sections.setdefault(word, []).append(wire.parse_record_text(rest))
    elif word == "empty":
        for s in SECTIONS:
            expect.sections[s] = []
    elif word in ("silent", "same", "compressed"):
        setattr(expect, word, True)
    elif word == "replies":
        expect.replies = int(rest)
    elif word == "asked":
        number, _, which = rest.partition(" ")
        expect.asked, expect.asked_all = int(number), which == "all"
    elif word == "status":
        expect.status = int(rest)
    elif word == "body":
        expect.body = shlex.split(rest)[0] if rest else ""
    else:
        raise BadCase(f"unknown expectation {word!r}")


def asked(case):
    """A generator made of the case's own questions: their names with all their types, and all their ports. Names that
    have an intended difference are left out."""
    plain = [q for q in case["queries"] if q.ask and not q.text.startswith("raw=")]
    differing = {q.text.split()[0] for q in plain if q.differs}
    words = [q.text.split() for q in plain]
    return {"names": sorted({w[0] for w in words} - differing), "types": sorted({w[1] for w in words}),
            "places": sorted({(q.ask.port, q.ask.target) for q in plain}),
            "options": ["3:", "10:0102030405060708", "12:0000", "8:00011800010203", "65001:abcd"]}


def generate(case):
    """`generate` pseudo-random questions from what `generator` declares; the seed is fixed."""
    g = case.get("generator") or asked(case)
    rng = random.Random(g.get("seed", 1))
    letters = "abcdefghijklmnopqrstuvwxyz0123456789-_"

    def fill(m):
        kind, lo, hi = m[1], m[2], m[3]
        if kind == "n":
            return str(rng.randint(int(lo or 0), int(hi or 255)))
        if kind == "x":
            return f"{rng.randrange(256):02x}"
        return "".join(rng.choice(letters[:26]) for _ in range(rng.randint(1, 12)))

    def draw(values):
        """One of a list; an entry `value*5` counts five times."""
        flat = []
        for v in values:
            text, star, times = str(v).rpartition("*")
            flat += [text] * int(times) if star and times.isdigit() else [v]
        return rng.choice(flat)

    out = []
    for _ in range(case["generate"]):
        name = re.sub(r"\{([nxw])(?:(\d+)-(\d+))?\}", fill, draw(g["names"]))
        dice = rng.random()
        if dice < 0.12 and len(name) < 200:
            sub = "".join(rng.choice(letters) for _ in range(rng.randint(1, 10)))
            name = f"{sub}.{name}" if name != "." else sub + "."
        if rng.random() < 0.3:
            name = re.sub(r"\\[0-9]{3}|.", lambda m: m[0] if m[0][0] == "\\" or rng.random() < 0.5 else m[0].upper(),
                          name)
        flags = {f for f, p in FLAG_SHARES if rng.random() < p}
        q = dict(name=name, rtype=str(draw(g.get("types", ["A"]))), rclass=str(draw(g.get("classes", ["IN"]))),
                 flags=flags)
        if rng.random() < g.get("edns", 0.45):
            q["edns"] = int(draw(g.get("sizes", [0, 256, 512, 513, 800, 1232, 1400, 4096, 65535])))
            q["do"] = rng.random() < 0.35
            if rng.random() < 0.2 and g.get("options") != []:
                options = g.get("options", ["3:", "10:0102030405060708", "12:0000", "8:0001180001020300", "65001:abcd"])
                code, _, data = draw(options).partition(":")
                q["options"] = [(int(code), bytes.fromhex(data))]
        source, target = draw(g.get("sources", [""])), draw(g.get("targets", ["127.0.0.1"]))
        packet = wire.query(**q)
        mutant = rng.random() < g.get("mutate", 0)
        if mutant:
            packet = mutate(packet, rng)
        tcp, port = rng.random() < g.get("tcp", 0.05), draw(g.get("ports", [""]))
        if "places" in g:
            port, target = rng.choice(g["places"])
        ask = Ask(wire=packet, tcp=tcp, source="" if ":" in target else source, target=target, port=port)
        text = f"{name} {q['rtype']} {q['rclass']} flags={','.join(sorted(flags))}"
        text += f" edns={q['edns']}" + (" do" if q["do"] else "") if "edns" in q else ""
        text += "".join(f" opt={c}:{d.hex()}" for c, d in q.get("options", ()))
        text += " tcp" if ask.tcp else ""
        text += f" mutated: {packet.hex()}" if mutant else ""
        out.append(Query(where=f"{case['file']}:generated", text=text, ask=ask, expect=Expect()))
    return out


def mutate(packet, rng):
    """The packet with one to three octets changed, put in or taken out behind the id, or with its end cut off."""
    data = bytearray(packet)
    for _ in range(rng.randint(1, 3)):
        at = rng.randrange(2, len(data)) if len(data) > 2 else 2
        kind = rng.random()
        if kind < 0.3:
            data[at:at + 1] = bytes([data[at] ^ 1 << rng.randrange(8)] if at < len(data) else [])
        elif kind < 0.55:
            data[at:at + 1] = bytes([rng.choice((0, 1, 0x3F, 0x40, 0xC0, 0xFF, rng.randrange(256)))])
        elif kind < 0.7:
            data[at:at] = bytes([rng.randrange(256)])
        elif kind < 0.85:
            del data[at:at + 1]
        else:
            del data[at:]
    return bytes(data)
