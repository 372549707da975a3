# SPDX-License-Identifier: GPL-3.0-or-later
"""`fairlead advise`: the log of a real server, look-ups by programs of two libcs; with the advised ndots the same programs
get the same addresses for fewer queries."""
import json
import re
import secrets
import subprocess

import pytest

from helpers import eventually, needs_root, run, sanitizer
from lib import server
from lib.libc import Port53, lookup_program

COREFILE = "".join("""%s:@PORT@ {
    metadata
    log . "FORMAT"
    file @DIR@/%s
}
""" % zone for zone in (("cluster.local", "cluster"), ("corp.test", "corp"), ("example.org", "org"))) + """.:@PORT@ {
    metadata
    log . "FORMAT"
    template ANY ANY {
        rcode NXDOMAIN
        authority ". 60 IN SOA a. b. 1 2 3 4 5"
    }
}
"""
SOA = "@ 60 IN SOA ns hostmaster 1 2 3 4 5\n"
FILES = {
    "cluster": SOA + "web.shop.svc 60 A 10.96.0.1\ndb.other.svc 60 A 10.96.0.2\ndb.other.svc 60 AAAA fd00::2\n",
    "corp": SOA + "printer.hall 60 A 192.0.2.90\n",
    "org": SOA + "www 60 A 192.0.2.1\nwww 60 AAAA 2001:db8::1\napi 60 CNAME www\na.b 60 A 192.0.2.3\n@ 60 A 192.0.2.4\n",
}
COMMON = "{common}"
WHOLE = "{combined} answer={/log/type}"
# The pods' look-ups: their namespace, the names, and the ndots that these can live with.
PODS = {
    "127.0.3.1": ("shop", ["www.example.org", "api.example.org", "a.b.example.org", "web", "db.other", "nope.example.org"], 2),
    "127.0.3.2": ("lab", ["example.org", "www.example.org", "db.other.svc", "a.b.example.org"], 3),
    "127.0.3.3": ("tools", ["www.example.org", "www.example.org", "db.other.svc"], None),
    "127.0.3.4": ("hall", ["example.org", "printer.hall", "www.example.org"], 2),
    "127.0.3.5": ("plain", ["example.org", "nothing"], 1),
}


@pytest.fixture(scope="module", params=["gcc", "musl-gcc"])
def program(request, tmp_path_factory):
    return lookup_program(request.param, tmp_path_factory.mktemp("lookup") / request.param)


def look_up(program, tmp_path, relay, namespace, name, ndots):
    """Addresses, or the error, of one getaddrinfo in a pod of the namespace."""
    conf = tmp_path / "resolv.conf"
    conf.write_text(f"nameserver {relay.address}\n"
                    f"search {namespace}.svc.cluster.local svc.cluster.local cluster.local corp.test\noptions ndots:{ndots}\n")
    done = subprocess.run(["unshare", "--mount", "sh", "-c", 'mount --bind "$0" /etc/resolv.conf && exec "$1" "$2"', conf,
                           program, name], capture_output=True, text=True, timeout=60, check=True)
    return sorted(set(done.stdout.split("\n")))


def lines_of(s, source, without=" \0"):
    return [line for line in s.output().splitlines() if f" {source}:" in line and without not in line]


def look_all_up(s, program, tmp_path, ndots):
    """Look-ups of all pods with ndots by namespace: ({(pod, name): addresses}, {pod: queries}, the log so far)."""
    found, counts = {}, {}
    for source, (namespace, names, _) in PODS.items():
        before = len(lines_of(s, source, " mark-"))
        with Port53(s.port(), source) as relay:
            for name in names:
                found[source, name] = look_up(program, tmp_path, relay, namespace, name, ndots[namespace])
            # The log is written by a thread of its own; the last name of this pod is its own.
            mark = f"mark-{secrets.token_hex(4)}.invalid"
            look_up(program, tmp_path, relay, namespace, mark + ".", 5)
            eventually(lambda mark=mark: len([x for x in lines_of(s, source) if f" {mark}. " in x]) >= 2, what="the log")
        counts[source] = len(lines_of(s, source, " mark-")) - before
    return found, counts


def advise(*args, log):
    status, out, err = run("advise", "-o", "json", "--replay", "--final-dots", *args, stdin=log)
    assert (status, err) == (0, "")
    return {x["namespace"]: x for x in json.loads(out)["namespaces"]}


def without_marks(text):
    return "".join(x + "\n" for x in text.splitlines() if " mark-" not in x)


@needs_root()
@pytest.mark.parametrize("form", [COMMON, WHOLE])
def test_advice_is_followed(program, tmp_path, form):
    """AMP-8, PD-M4: advice from the log of either format; the look-ups again, with it."""
    with server.Server(server.fairlead(), COREFILE.replace("FORMAT", form), files=FILES) as s:
        before, counts = look_all_up(s, program, tmp_path, {namespace: 5 for namespace, _, _ in PODS.values()})
        log = without_marks(s.output())
        rows = advise(log=log)
        for namespace, _, want in PODS.values():
            row = rows[namespace]
            assert (row["verdict"], row["ndots"]) == (("lower", want) if want else ("keep", 5)), row
            assert row["search"][3:] == ["corp.test"]
            for replay in row["replay"].values():
                assert replay["changed"] == replay["notKnown"] == 0
        assert before["127.0.3.1", "db.other"] == ["", "10.96.0.2", "fd00::2"]
        assert before["127.0.3.4", "printer.hall"] == ["", "192.0.2.90"]
        first = len(s.output().splitlines())
        after, fewer = look_all_up(s, program, tmp_path, {name: row["ndots"] for name, row in rows.items()})
        assert after == before and first < len(s.output().splitlines())
        is_glibc = program.name == "gcc"
        for source, (namespace, _, want) in PODS.items():
            saved = counts[source] - fewer[source]
            assert saved >= rows[namespace]["saved"] and (saved > 0) == (want is not None)
            # With glibc, a name that does not exist costs as much as before: the advice counts what is saved.
            assert not is_glibc or saved == rows[namespace]["saved"], namespace


@needs_root()
def test_too_short_a_log(program, tmp_path):
    """What a log that ends, or begins, within a look-up does not prove is not advised."""
    with server.Server(server.fairlead(), COREFILE.replace("FORMAT", COMMON), files=FILES) as s:
        with Port53(s.port(), "127.0.3.1") as relay:
            assert look_up(program, tmp_path, relay, "shop", "www.example.org", 5) == ["", "192.0.2.1", "2001:db8::1"]
            eventually(lambda: len(lines_of(s, "127.0.3.1")) == 10, what="the log")
        lines = lines_of(s, "127.0.3.1")
    # Lines of different workers may have changed places.
    walk = [f"www.example.org.{suffix}" for suffix in ("shop.svc.cluster.local.", "svc.cluster.local.", "cluster.local.",
                                                       "corp.test.", "")]
    lines.sort(key=lambda line: walk.index(re.search(r"IN (\S+) udp", line)[1]))
    assert advise(log="\n".join(lines))["shop"]["verdict"] == "lower"
    for n in range(len(lines)):
        for part in (lines[:n], lines[len(lines) - n:]):
            row = {"verdict": "keep"}
            if part:
                row = advise(log="\n".join(part)).get("shop", row)
            assert row["verdict"] in ("keep", "withheld"), (part, row)
    row = advise(log="\n".join(lines[:8]))["shop"]
    assert row["verdict"] == "withheld" and "'www.example.org' was not asked for" in row["reason"]


# ---- the program ----

LINE = '[INFO] 10.0.0.1:40 - 7 "A IN %s. udp 40 false 512" %s qr,rd 90 0.001s\n'
WALK = "".join(LINE % (f"www.example.org{suffix}", code) for suffix, code in (
    (".shop.svc.cluster.local", "NXDOMAIN"), (".svc.cluster.local", "NXDOMAIN"), (".cluster.local", "NXDOMAIN"), ("", "NOERROR")))


def test_files_and_other_lines(tmp_path):
    (tmp_path / "one").write_text("CoreDNS-1.13\n" + WALK)
    (tmp_path / "two").write_text(WALK + "[ERROR] something\n\n")
    status, out, err = run("advise", "one", "two", "--replay", cwd=tmp_path)
    assert (status, err) == (0, "")
    assert re.search(r"^shop +1 +8 +2 +5 -> 2 +6 +75 %$", out, re.M)
    assert "8 queries read; 2 other lines, the first at one:1\n" in out
    assert "glibc  2 look-ups, 0 answers changed, 0 not known; queries 8 -> 2\n" in out
    assert run("advise", stdin=WALK) == run("advise", "-", stdin=WALK)


@pytest.mark.parametrize("form", ["text", "json"])
def test_cut_lines(form):
    """A query of unknown name: no advice for the namespace of its client; others have theirs."""
    log = WALK + WALK.replace("10.0.0.1", "10.0.0.2").replace("shop", "hall")
    cut = '[INFO] 10.0.0.1:41 - 8 "A IN db.oth\n' if form == "text" else '{"level":"info","msg":"10.0.0.1:41 - 8 \\"A IN db.oth\n'
    for text in (log + cut, cut + log, log + cut.rstrip()):
        status, out, err = run("advise", "--replay", stdin=text)
        assert (status, err) == (0, "")
        assert re.search(r"^shop +1 +4 +1 +withheld +- +not enough evidence: a line of client 10\.0\.0\.1 is cut$", out, re.M), out
        assert re.search(r"^hall +1 +4 +1 +5 -> 2 ", out, re.M) and "1 other lines" in out
    # A client without any whole line is in no namespace.
    assert "withheld" not in run("advise", stdin=log + cut.replace("10.0.0.1", "10.0.0.3"))[1]


def test_cluster_domain_and_search():
    log = WALK.replace("cluster.local", "corp.example")
    assert "shop" not in run("advise", stdin=log)[1]
    assert "5 -> 2" in run("advise", "--cluster-domain", "Corp.Example.", stdin=log)[1]
    assert "not enough evidence: 'www.example.org' was looked up, but 'www.example.org.corp.test' was not asked for" in \
        run("advise", "--search", "corp.test", stdin=WALK)[1]
    assert "keep 2" in run("advise", "--ndots", "2", stdin=WALK)[1]


def test_limit_of_names():
    status, out, _ = run("advise", "--max-names", "3", stdin=WALK)
    assert status == 0 and "withheld" in out and "was reached: nothing is advised." in out


@pytest.mark.parametrize("args,log,status,says", [
    ((), "", 1, "no line of the log plugin in the input; see fairlead-advise(1)"),
    ((), "a\nb\n", 1, "no line of the log plugin in the input, the first line that is none is standard input:1"),
    (("/nonexistent/log",), "", 1, "cannot read '/nonexistent/log': No such file or directory"),
    (("/tmp",), "", 1, "cannot read '/tmp': Is a directory"),
    (("--ndots", "16"), "", 64, "--ndots is a number from 1 to 15, not '16'"),
    (("--ndots", "0"), "", 64, "--ndots is a number"),
    (("--max-names", "x"), "", 64, "--max-names is a number"),
    (("--libc", "bionic"), "", 64, "--libc is glibc, musl or any, not 'bionic'"),
    (("-o", "yaml"), "", 64, "-o is table or json, not 'yaml'"),
    (("--search", "a..b"), "", 64, "'a..b' is not a domain name"),
    (("--search", ",".join("abcdefghijklmnopqrstuvwxyz0123")), "", 64, "--search has more than 29 domains"),
    (("--cluster-domain", ""), "", 64, "'' is not a domain name"),
    (("--unknown",), "", 64, "usage: fairlead advise"),
])
def test_errors(args, log, status, says):
    got, out, err = run("advise", *args, stdin=log)
    assert (got, out) == (status, "") and says in err, err


@pytest.mark.skipif(sanitizer() != "", reason="measures time")
def test_long_log():
    """Many lines, clients and names: seconds, not minutes."""
    log = "".join(WALK.replace("10.0.0.1", f"10.{i >> 8 & 255}.{i & 255}.1").replace("www", f"w{i}") for i in range(20000))
    row = json.loads(run("advise", "-o", "json", stdin=log, timeout=30)[1])["namespaces"][0]
    assert (row["clients"], row["saved"]) == (20000, 60000)
