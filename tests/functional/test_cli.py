# SPDX-License-Identifier: GPL-3.0-or-later
"""Flags, exit status and texts of `fairlead` and `fairlead dns`; the program under the name `coredns`."""
import json
import os
import re
import shutil
import signal
import subprocess

import pytest

from helpers import WHOAMI, answers, ask, eventually, needs, plugins, run
from lib import oci, server

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


# ---- ends at once ----

@pytest.mark.parametrize("flag", ["-version", "--version", "-version=true", "--version=1", "-version=t", "-version=T",
                                  "-version=TRUE", "-version=True"])
def test_version_in_every_spelling(flag):
    status, out, err = run("dns", flag)
    assert (status, err) == (0, "")
    assert re.match(r"Fairlead-\d+\.\d+\.\d+", out)


@pytest.mark.parametrize("flag", ["-plugins=false", "-plugins=0", "-plugins=f", "-plugins=F", "-plugins=FALSE",
                                  "-plugins=False"])
def test_a_switch_can_be_turned_off(flag):
    status, out, _ = run("dns", "-plugins", flag, "-version")
    assert status == 0 and out.startswith("Fairlead-")
    status, out, _ = run("dns", flag, "-conf", "/nonexistent")
    assert (status, out) == (1, "")


def test_plugins_are_sorted_one_per_line():
    status, out, err = run("dns", "-plugins")
    assert (status, err) == (0, "")
    names = out.splitlines()
    assert names == sorted(names) and len(set(names)) == len(names)
    assert "whoami" in names


@pytest.mark.parametrize("args,text", [
    (["-bogus"], "flag provided but not defined: -bogus"),
    (["--bogus=1"], "flag provided but not defined: -bogus"),
    (["-conf"], "flag needs an argument: -conf"),
    (["-quiet=maybe"], "-quiet"),
    (["---version"], "bad flag syntax: ---version"),
    (["-=x"], "bad flag syntax: -=x"),
    (["--=x"], "bad flag syntax: --=x"),
    (["-version", "left-over"], "left-over"),
    (["left-over"], "left-over"),
    (["-", "-version"], "extra command line arguments"),
    (["--", "-version"], "extra command line arguments"),
    (["-dns.port", "70000"], "70000"),
    (["-p", "-1"], "-1"),
    (["-p=abc"], "abc"),
    (["-p="], "-dns.port"),
])
def test_bad_usage_is_64(args, text):
    status, out, err = run("dns", *args)
    assert status == 64
    assert text in err and out == ""


@pytest.mark.parametrize("args", [[], ["nonsense"]])
def test_bad_command_is_64(args):
    status, out, err = run(*args)
    assert status == 64 and out == ""
    assert "fairlead --help" in err or "usage" in err


@pytest.mark.parametrize("args", [["--help"], ["-h"], ["help"], ["dns", "-h"], ["dns", "-help"], ["dns", "--help"],
                                  ["check", "--help"], ["help", "--help"]])
def test_help_is_0_on_stdout(args):
    status, out, err = run(*args)
    assert status == 0 and err == ""
    assert "usage" in out.lower()


@pytest.mark.parametrize("plugin,says", [("hosts", "ttl SECONDS"), ("health", "(default :8080)"), ("any", "(no options)")])
def test_help_of_a_plugin_is_made_of_its_options(plugin, says):
    status, out, err = run("help", plugin)
    assert (status, err) == (0, "") and out.startswith(plugin + "\n") and says in out


def test_help_of_no_plugin():
    status, out, err = run("help", "nonsense")
    assert (status, out) == (1, "") and "nonsense" in err


@pytest.mark.parametrize("name", ["xml", "JSON", "", "text "])
def test_bad_log_format_is_1(name):
    status, out, err = run("dns", "-log-format", name)
    assert status == 1 and out == ""
    assert f'unknown log format "{name}"' in err


def test_missing_corefile_is_1():
    status, out, err = run("dns", "-conf", "/nonexistent/Corefile")
    assert status == 1 and out == ""
    assert "/nonexistent/Corefile" in err and "No such file" in err


def test_corefile_that_is_a_folder(tmp_path):
    status, _, err = run("dns", "-conf", str(tmp_path))
    assert status == 1
    assert str(tmp_path) in err and "directory" in err


def test_bad_corefile_is_1_with_its_place(tmp_path):
    conf = tmp_path / "Corefile"
    conf.write_text(".:0 {\n    whoami\n    nonsense a b\n}\n")
    status, out, err = run("dns", "-conf", str(conf))
    assert status == 1 and out == ""
    assert err.startswith(f"{conf}:3:5: ")
    assert "nonsense" in err


def test_bad_corefile_as_json(tmp_path):
    conf = tmp_path / "Corefile"
    conf.write_text(".:0 {\n    nonsense\n}\n")
    status, out, err = run("dns", "-log-format=json", "-conf", str(conf))
    assert status == 1 and out == ""
    line = json.loads(err)
    assert line["level"] == "FATAL" and f"{conf}:2:5: " in line["msg"]


@pytest.mark.parametrize("args", [
    ["dns", "-log-format=json", "-nonsense"],
    ["dns", "-nonsense", "--log-format", "json"],
    ["dns", "-log-format", "json", "extra"],
    ["dns", "-log-format=text", "-log-format=json", "-dns.port", "70000"],
    ["dns", "-max-tls", "0", "-log-format=json"],
    ["dns", "-log-format=json", "-conf", "configmap:nowhere"],
    ["dns", "-log-format=json", "-conf"],
    ["up", "--log-format=json", "extra"],
    ["up", "--log-format=json", "--nonsense"],
    ["up", "--dns", "nowhere", "--log-format", "json"],
    ["controller", "--log-format=json", "--nonsense"],
    ["controller", "--nonsense=1", "--log-format=json"],
    ["controller", "--log-format=json", "--controllers", "nonsense"],
])
def test_bad_usage_as_json(args):
    """One line of JSON and nothing else, whichever flag comes first."""
    status, out, err = run(*args)
    assert status == 64 and out == ""
    line = json.loads(err)
    assert line["level"] == "FATAL" and line["msg"]


@pytest.mark.parametrize("args", [["dns", "-nonsense", "-log-format", "text"], ["dns", "-log-format", "json", "-log-format"],
                                  ["dns", "--", "-log-formats=json"]])
def test_bad_usage_as_text(args):
    status, out, err = run(*args)
    assert status == 64 and out == "" and not err.startswith("{")


def test_failed_start_as_json(tmp_path):
    """The same for what goes wrong after the flags were read."""
    status, out, err = run("up", "--log-format=json", "--data", str(tmp_path / "data"), "--api", "192.0.2.1:1")
    assert status == 1
    assert all(json.loads(line) for line in (out + err).splitlines()) and err


# ---- serves ----

@pytest.mark.parametrize("spelling", ["-conf {conf} -dns.port {port}", "--conf={conf} --dns.port={port}",
                                      "-conf={conf} -p {port}", "--conf {conf} -p={port}",
                                      "-p 1 -conf {conf} -dns.port {port}"])
def test_flags_that_take_text(serve, spelling):
    s = serve(". {\n whoami\n}\n", start=False)
    args = spelling.format(conf=s.conf, port=s.port()).split()
    p = subprocess.Popen(server.fairlead() + args, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        eventually(lambda: answers(s.port(), timeout=0.1), what="an answer")
    finally:
        p.send_signal(signal.SIGTERM)
        out, _ = p.communicate(timeout=20)
    assert p.returncode == 0
    assert f".:{s.port()}\n" in out


def test_banner_names_zones_and_version(serve):
    s = serve("example.org:@PORT@ 10.0.0.0/24:@PORT@ {\n whoami\n}\n. {\n whoami\n}\n")
    assert ask(s.port(), "a.example.org.") is not None
    text = eventually(lambda: "Fairlead-" in s.read("stdout") and s.read("stdout"))
    assert f"example.org.:{s.port()}\n" in text
    assert f"0.0.10.in-addr.arpa.:{s.port()}\n" in text
    assert f"\n.:{s.port()}\n" in "\n" + text
    assert s.read("stderr") == ""


def test_quiet_prints_no_banner(serve):
    s = serve(args=["-quiet"])
    assert ask(s.port()) is not None
    os.kill(s.process.pid, signal.SIGHUP)
    assert s.stop() == 0
    assert "Fairlead-" not in s.last_output and f".:{s.port()}" not in s.last_output
    assert "SIGTERM" in s.last_output


def test_json_log_is_one_object_a_line(serve):
    s = serve(args=["-log-format", "json"])
    assert ask(s.port()) is not None
    assert s.stop() == 0
    lines = [json.loads(l) for l in s.last_output.splitlines()]
    assert {"INFO"} == {l["level"] for l in lines}
    assert list(lines[0])[:3] == ["time", "level", "msg"]
    assert any(l["msg"] == f".:{s.port()}" for l in lines)
    assert any("Fairlead-" in l["msg"] for l in lines)
    assert any("SIGTERM" in l["msg"] for l in lines)
    assert re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z$", lines[0]["time"])


def test_pidfile_is_written_and_removed(serve, tmp_path):
    path = tmp_path / "fairlead.pid"
    s = serve(args=["-pidfile", str(path)])
    eventually(path.exists, what="pid file")
    eventually(lambda: path.read_text() == f"{s.process.pid}\n", what="its text")
    assert s.stop() == 0
    assert not path.exists()


@pytest.mark.parametrize("sig", [signal.SIGINT, signal.SIGQUIT])
def test_pidfile_is_removed_by_other_signals(serve, tmp_path, sig):
    path = tmp_path / "fairlead.pid"
    s = serve(args=["-pidfile", str(path)])
    eventually(path.exists, what="pid file")
    s.process.send_signal(sig)
    assert s.process.wait(20) == 0
    assert not path.exists()


def test_pidfile_that_cannot_be_written(serve):
    s = serve(args=["-pidfile", "/nonexistent/x.pid"])
    eventually(lambda: "[ERROR] Could not write pidfile: '/nonexistent/x.pid': No such file" in s.output())
    assert answers(s.port())


def test_corefile_on_stdin(serve):
    s = serve(start=False)
    p = subprocess.Popen(server.fairlead() + ["-conf", "stdin", "-p", str(s.port())], stdin=subprocess.PIPE,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    p.stdin.write(s.fill(WHOAMI))
    p.stdin.close()
    p.stdin = None
    try:
        eventually(lambda: answers(s.port(), timeout=0.1), what="an answer")
        p.send_signal(signal.SIGUSR1)  # the text was kept: standard input is at its end
        assert "Reloading complete" in read_until(p.stdout, "Reloading complete")
        assert answers(s.port())
    finally:
        p.send_signal(signal.SIGTERM)
        p.communicate(timeout=20)
    assert p.returncode == 0


def read_until(stream, text):
    got = ""
    for line in stream:
        got += line
        if text in line or "failed" in line:
            break
    return got


def test_bad_corefile_on_stdin():
    status, _, err = run("dns", "-conf", "stdin", stdin=". {\n nonsense\n}\n")
    assert status == 1
    assert err.startswith("stdin:2:2: ")


def test_corefile_of_the_working_folder(serve):
    s = serve(start=False)
    p = subprocess.Popen(server.fairlead(), cwd=s.dir, stdout=subprocess.DEVNULL)
    try:
        eventually(lambda: answers(s.port(), timeout=0.1), what="an answer")
    finally:
        p.terminate()
        assert p.wait(20) == 0


@needs("log")
def test_without_a_corefile_whoami_and_log(serve, tmp_path):
    s = serve(start=False)
    p = subprocess.Popen(server.fairlead() + ["-dns.port", str(s.port())], cwd=tmp_path, stdout=subprocess.PIPE,
                         text=True)
    try:
        eventually(lambda: answers(s.port(), timeout=0.1), what="an answer")
        line = read_until(p.stdout, '"A IN example.org. udp')
        assert re.search(r'\[INFO\] 127\.0\.0\.1:\d+ - 16962 "A IN example\.org\. udp 29 false 512" NOERROR qr,aa,rd',
                         line)
    finally:
        p.terminate()
        p.communicate(timeout=20)
    assert p.returncode == 0


# ---- installed ----

@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """Folder that `make install` filled."""
    build = os.environ.get("FAIRLEAD_BUILD") or os.path.dirname(server.fairlead_program())
    if not os.path.exists(os.path.join(build, "build.ninja")):
        pytest.skip(f"{build} is no build folder")
    dest = tmp_path_factory.mktemp("dest")
    subprocess.run(["meson", "install", "--no-rebuild", "--quiet", "-C", build], check=True, timeout=60,
                   env={**os.environ, "DESTDIR": str(dest)})
    return dest


def find(folder, name):
    return [os.path.join(d, name) for d, dirs, files in os.walk(folder) if name in files + dirs]


def test_started_as_coredns_it_is_the_dns_server(serve, installed):
    link, = find(installed, "coredns")
    assert os.path.islink(link)
    s = serve(command=[link])
    assert ask(s.port()).flags == ("qr", "aa", "rd")
    assert ask(s.port(), tcp=True).flags == ("qr", "aa", "rd")
    assert s.stop() == 0
    status, out, _ = run("-plugins", program=link)
    assert status == 0 and tuple(out.split()) == plugins()
    status, out, _ = run("-version", program=link)
    assert status == 0 and out.startswith("Fairlead-")


PAGES = sorted(os.listdir(os.path.join(server.ROOT, "docs", "man")))


@pytest.mark.parametrize("page", PAGES)
def test_man_pages_are_installed_and_well_formed(installed, page):
    path, = find(installed, page)
    assert "/man/man1/" in path
    if shutil.which("groff") is None:
        pytest.skip("no groff here")
    done = subprocess.run(["groff", "-man", "-ww", "-Tutf8", "-P-cbou", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True)
    assert done.stderr == "" and "NAME" in done.stdout


@pytest.mark.parametrize("page", [p for p in PAGES if p != "fairlead.1"])
def test_man_page_tells_every_flag(installed, page):
    path, = find(installed, page)
    with open(path, encoding="utf-8") as f:
        text = f.read().replace("\\-", "-")
    if page == "fairlead-hook.1":
        status, out, _ = run("--help", program=oci.fairlead_hook())
    else:
        status, out, _ = run(re.fullmatch(r"fairlead-(\w+)\.1", page)[1], "--help")
    assert status == 0 and "usage: fairlead" in out
    for flag in re.findall(r"^  -(\S+)", out, re.M):
        assert f"-{flag}" in text, f"{flag} is not in {page}"
