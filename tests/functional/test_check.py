# SPDX-License-Identifier: GPL-3.0-or-later
"""`fairlead check`: what a start would refuse, with its place, and nothing opened."""
import os
import shutil
import socket
import subprocess

import pytest

from helpers import needs, run, sanitizer
from lib import server


def write(folder, **files):
    for name, text in files.items():
        (folder / name).write_text(text)
    return folder


def test_valid_is_silent(tmp_path):
    write(tmp_path, Corefile=".:53 {\n whoami\n}\n")
    assert run("check", "Corefile", cwd=tmp_path) == (0, "", "")


@pytest.mark.parametrize("text,place,says", [
    (". {\n  whoami\n  nonsense\n}\n", "3:3", "nonsense"),
    (". {\n  whoami\n  on startup true\n}\n", "3:3", "use the service manager's hooks"),
    (". {\n  fanout . 192.0.2.1 {\n    next\n  }\n}\n", "2:3", "use `forward`"),
    (". {\n  whomai\n}\n", "2:3", "did you mean 'whoami'?"),
    (". {\n  whoami extra\n}\n", "2:10", "whoami"),
    ("example.org {\n  whoami\n}\nexample.org {\n  whoami\n}\n", "4:1", "already defined"),
    (". {\n  whoami\n", "2:3", "}"),
    ("(a) {\n whoami\n}\n(a) {\n}\n. {\n}\n", "4:1", "already defined"),
    (". {\n  import nothing\n}\n", "2:10", "nothing"),
    (".:99999 {\n  whoami\n}\n", "1:1", "99999"),
])
def test_invalid_tells_file_line_col(tmp_path, text, place, says):
    write(tmp_path, Corefile=text)
    status, out, err = run("check", "Corefile", cwd=tmp_path)
    assert (status, err) == (1, "")
    lines = out.splitlines()
    assert len(lines) == 1
    assert lines[0].startswith(f"Corefile:{place}: ") and says in lines[0]


def test_same_finding_as_a_start(tmp_path):
    write(tmp_path, Corefile=". {\n  whoami\n  nonsense\n}\n")
    _, out, _ = run("check", "Corefile", cwd=tmp_path)
    _, _, err = run("dns", "-conf", "Corefile", cwd=tmp_path)
    assert out == err


def test_several_files_one_line_each(tmp_path):
    write(tmp_path, good=". {\n whoami\n}\n", bad=". {\n a\n}\n", worse="\n\n. {\n b\n}\n")
    status, out, err = run("check", "good", "bad", "missing", "worse", cwd=tmp_path)
    assert (status, err) == (1, "")
    lines = out.splitlines()
    assert [l.split(": ")[0] for l in lines] == ["bad:2:2", "missing:1:1", "worse:4:2"]
    assert "No such file" in lines[1]


def test_findings_in_imported_files_name_that_file(tmp_path):
    write(tmp_path, Corefile=". {\n import part\n}\n", part="whoami\n  nonsense\n")
    status, out, _ = run("check", "Corefile", cwd=tmp_path)
    assert status == 1
    assert "part:2:3: " in out and "Corefile:" not in out


def test_imports_globs_and_environment(tmp_path):
    (tmp_path / "conf.d").mkdir()
    write(tmp_path / "conf.d", a="a.example {\n {$FL_TEST_PLUGIN}\n}\n", b="b.example {\n whoami\n}\n")
    write(tmp_path, Corefile="import conf.d/*\n")
    assert run("check", str(tmp_path / "Corefile"), env={"FL_TEST_PLUGIN": "whoami"}) == (0, "", "")
    status, out, _ = run("check", str(tmp_path / "Corefile"), env={"FL_TEST_PLUGIN": "woami"})
    assert status == 1 and "conf.d/a:2:2: " in out and "woami" in out


@needs("hosts")
def test_warnings_are_no_findings(tmp_path):
    write(tmp_path, Corefile=". {\n hosts missing\n}\n")
    status, out, err = run("check", "Corefile", cwd=tmp_path)
    assert (status, out) == (0, "")
    assert "[WARNING] plugin/hosts: " in err and "missing" in err


@pytest.mark.parametrize("args", [[], ["-x", "Corefile"], ["--"]])
def test_bad_usage(args):
    status, out, err = run("check", *args)
    assert (status, out) == (64, "")
    assert "usage: fairlead check FILE..." in err


def test_file_named_like_a_flag(tmp_path):
    write(tmp_path, **{"-x": ". {\n whoami\n}\n"})
    assert run("check", "--", "-x", cwd=tmp_path)[0] == 0


def test_occupied_port_does_not_matter(tmp_path):
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as busy:
        busy.bind(("127.0.0.1", 0))
        busy.listen()
        port = busy.getsockname()[1]
        write(tmp_path, Corefile=f".:{port} {{\n whoami\n}}\n")
        assert run("check", "Corefile", cwd=tmp_path) == (0, "", "")


@needs("health", "prometheus", "ready")
def test_opens_no_socket_and_starts_no_thread(tmp_path):
    if shutil.which("strace") is None:
        pytest.skip("no strace here")
    if sanitizer():
        pytest.skip("the sanitizer's own calls would be seen")
    write(tmp_path, Corefile=".:1 {\n whoami\n health :2\n ready :3\n prometheus :4\n}\n")
    trace = tmp_path / "trace"
    done = subprocess.run(["strace", "-f", "-o", str(trace), "-e", "trace=socket,bind,listen,clone,clone3,kill,unlink",
                           server.fairlead_program(), "check", "Corefile"], cwd=tmp_path, timeout=60,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if "ptrace" in done.stdout:
        pytest.skip("this process cannot be traced")
    assert (done.returncode, done.stdout) == (0, "")
    calls = [l for l in trace.read_text().splitlines() if "(" in l]
    assert calls == []


def test_huge_and_odd_files(tmp_path):
    (tmp_path / "binary").write_bytes(os.urandom(4096))
    (tmp_path / "zeros").write_bytes(bytes(100000))
    (tmp_path / "braces").write_text("{" * 100000)
    (tmp_path / "nested").write_text(". {\n" + "whoami {\n" * 50000)
    for name in ("binary", "zeros", "braces", "nested"):
        status, out, err = run("check", name, cwd=tmp_path)
        assert status == 1 and err == "", name
        assert out.startswith(f"{name}:"), out[:200]
        assert len(out) < 2000


def test_empty_file_is_valid_to_check_as_it_is_to_start(tmp_path):
    write(tmp_path, Corefile="")
    checked = run("check", "Corefile", cwd=tmp_path)
    assert checked[0] in (0, 1)
    if checked[0] == 1:
        assert run("dns", "-conf", "Corefile", cwd=tmp_path)[2] == checked[1]
