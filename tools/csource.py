# SPDX-License-Identifier: GPL-3.0-or-later
"""Functions, declarations and parameters of C files, found by their tokens; no compiler is needed, so that any tree can be
read. What preprocessor lines hold is skipped."""
import os
import re

TOKEN = re.compile(r"""
    (?P<space>\s+)
  | (?P<comment>/\*.*?\*/|//[^\n]*)
  | (?P<string>(?:L|u8|u|U)?"(?:\\.|[^"\\\n])*"|(?:L|u|U)?'(?:\\.|[^'\\\n])*')
  | (?P<word>[A-Za-z_]\w*)
  | (?P<number>\.?\d(?:[eEpP][+-]|[\w.])*)
  | (?P<mark>->|\+\+|--|<<=|>>=|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|\.\.\.|.)
""", re.S | re.X)
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n\\]|\\.|\\\n)*", re.M | re.S)
NOT_NAMES = set("""auto break case char const continue default do double else enum extern float for goto if inline int long
    register restrict return short signed sizeof static struct switch typedef union unsigned void volatile while
    _Atomic _Bool _Noreturn _Static_assert __attribute__ __extension__ __typeof__ typeof""".split())
TEST_PREFIXES = ("test_", "fuzz_", "fake_", "fake")


class Token:
    __slots__ = ("kind", "text", "at", "line")

    def __init__(self, kind, text, at, line):
        self.kind, self.text, self.at, self.line = kind, text, at, line

    def __repr__(self):
        return self.text


class Param:
    """One parameter: its tokens; `name` is the token of its name, or None."""

    def __init__(self, tokens, name):
        self.tokens, self.name = tokens, name

    def type(self):
        return " ".join(t.text for t in self.tokens if t is not self.name)


class Function:
    """A definition (body is set: index of the tokens from '{' to '}') or a declaration."""

    def __init__(self, name, params, is_static, first, body):
        self.name, self.params, self.is_static, self.first, self.body = name, params, is_static, first, body


def tokens_of(text):
    """All tokens but spaces, comments and preprocessor lines."""
    text = DIRECTIVE.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), text)
    found, line = [], 1
    for m in TOKEN.finditer(text):
        if m.lastgroup not in ("space", "comment"):
            found.append(Token(m.lastgroup, m[0], m.start(), line))
        line += m[0].count("\n")
    return found


def closing(tokens, i):
    """Where the bracket at i is closed."""
    depth = 0
    for k in range(i, len(tokens)):
        if tokens[k].text in ("(", "[", "{"):
            depth += 1
        elif tokens[k].text in (")", "]", "}"):
            depth -= 1
            if depth == 0:
                return k
    return len(tokens) - 1


def split_params(tokens):
    """The tokens between a function's brackets, one list for each parameter."""
    parts, depth, part = [], 0, []
    for t in tokens:
        depth += (t.text in "([{") - (t.text in ")]}")
        if t.text == "," and depth == 0:
            parts.append(part)
            part = []
        else:
            part.append(t)
    parts.append(part)
    return [p for p in parts if p and [t.text for t in p] != ["void"]]


def param_name(part):
    """The token that names a parameter; None where it has no name."""
    for i, t in enumerate(part):  # a pointer to a function: type (*name)(...)
        if t.text == "(" and i + 2 < len(part) and part[i + 1].text == "*":
            names = [p for p in part[i + 2:closing(part, i)] if p.kind == "word" and p.text not in NOT_NAMES]
            return names[0] if names else None
    plain, i = [], 0
    while i < len(part):
        if part[i].text in ("[", "("):
            i = closing(part, i)
        elif part[i].kind == "word":
            plain.append(i)
        i += 1
    names = [k for k in plain if part[k].text not in NOT_NAMES]
    if not names:
        return None
    last = names[-1]
    if len(plain) > 1 and plain[-1] == last and part[last - 1].text not in ("struct", "union", "enum"):
        types = [part[k].text for k in plain[:-1] if part[k].text not in ("const", "restrict", "volatile", "register", "struct")]
        if types or (last >= 2 and part[last - 1].kind == "word"):
            return part[last]
    return None


def functions_of(tokens):
    """Functions defined or declared at the top level, in order."""
    found, i, start = [], 0, 0
    while i < len(tokens):
        t = tokens[i].text
        if t == "{":
            head = tokens[start:i]
            end = closing(tokens, i)
            if [x.text for x in head] == ["extern", '"C"']:
                i, start = i + 1, i + 1
                continue
            function = function_in(head, start, (i, end))
            if function:
                found.append(function)
                start = end + 1
            i = end + 1
            continue
        if t == ";":
            function = function_in(tokens[start:i], start, None)
            if function:
                found.append(function)
            start = i + 1
        elif t == "}":  # of extern "C"
            start = i + 1
        i += 1
    return found


def function_in(head, first, body):
    """The function that these tokens before a '{' or ';' declare; None for anything else."""
    if not head or head[0].text in ("typedef", "_Static_assert") or any(t.text == "=" for t in head):
        return None
    i = 0
    while i < len(head):
        if head[i].text == "(":
            before = head[i - 1] if i else None
            end = closing(head, i)
            is_attribute = before is not None and (before.text in NOT_NAMES or before.text.isupper())
            if before is not None and before.kind == "word" and not is_attribute and i >= 2:
                if body and any(t.text in ("struct", "union", "enum") for t in head[end + 1:]):
                    return None
                params = [Param(p, param_name(p)) for p in split_params(head[i + 1:end])]
                return Function(before.text, params, any(t.text == "static" for t in head[:i]), first, body)
            i = end
        i += 1
    return None


def is_product(path):
    """Neither a test, nor a double of one, nor what is declared for tests only (`*_test.h`)."""
    parts = path.split(os.sep)
    name = os.path.basename(path)
    return not name.startswith(TEST_PREFIXES) and not name.endswith("_test.h") and not {"tests", "test", "tests-fuzz", "testing"} & set(parts)


def files_under(root, endings=(".c", ".h")):
    for here, folders, names in os.walk(root):
        folders[:] = sorted(f for f in folders if not f.startswith("."))
        for name in sorted(names):
            if name.endswith(endings):
                yield os.path.join(here, name)


def read(path):
    with open(path, encoding="utf-8", errors="replace") as f:
        return f.read()
