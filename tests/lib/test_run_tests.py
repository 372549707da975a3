# SPDX-License-Identifier: GPL-3.0-or-later
"""tools/run-tests: which failed tests run once more, and what they count as."""
import glob
import importlib.machinery
import importlib.util
import os
import re
import shutil
import subprocess

import pytest

from lib import outcomes

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

# Fails at its first run; `seen` remembers that there was one.
FLAKY = """
import os
def test_flaky():
    seen = os.path.join(os.path.dirname(__file__), "{name}.seen")
    if not os.path.exists(seen):
        open(seen, "w").close()
        assert not "first run"
"""


class Tree:
    """A tree with a build folder and suites of its own, and the real tools/run-tests."""

    def __init__(self, folder):
        self.root = folder
        self.build = folder / "build"
        for name in ("tools", "tests/lib", "tests/functional", "build"):
            (folder / name).mkdir(parents=True)
        for name in ("tools/run-tests", "tests/conftest.py", "tests/lib/__init__.py", "tests/lib/outcomes.py"):
            shutil.copy(os.path.join(ROOT, name), folder / name)

    def file(self, name, text):
        (self.root / "tests/functional" / f"test_{name}.py").write_text(text.format(name=name, build=self.build))

    def run(self, *flags):
        """(exit status, output, counts)."""
        env = {k: v for k, v in os.environ.items() if not k.startswith("FAIRLEAD")}
        done = subprocess.run([self.root / "tools/run-tests", "--beside", *flags, "--counts", self.root / "counts", "build", "functional"],
                              cwd=self.root, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        return done.returncode, done.stdout, (self.root / "counts").read_text().splitlines()[0].split()


@pytest.fixture
def tree(tmp_path):
    return Tree(tmp_path)


def test_one_that_passes_alone_is_unsteady(tree):
    tree.file("one", FLAKY)
    tree.file("good", "def test_good(): pass\n")
    status, output, counts = tree.run("--times", str(tree.root / "times"))
    assert (status, counts) == (0, ["2", "0", "1"]), output
    assert "unsteady: tests/functional/test_one.py::test_flaky\n" in output
    assert (tree.root / "counts").read_text().endswith("\nunsteady: tests/functional/test_one.py::test_flaky\n")
    kept = sorted(os.listdir(tree.build / "unsteady"))
    assert [name[-2:] for name in kept] == [".1", ".2"]
    assert "first run" in (tree.build / "unsteady" / kept[0]).read_text()
    assert "1 passed" in (tree.build / "unsteady" / kept[1]).read_text()
    assert {line.split()[2] for line in (tree.root / "times").read_text().splitlines()} == \
        {"functional/test_one.py", "functional/test_good.py"}
    assert re.search(r"^ +\d+ s  functional/test_one.py$", output, re.M)


def test_one_that_fails_twice_has_failed(tree):
    tree.file("bad", "def test_bad(): assert False\n")
    status, output, counts = tree.run()
    assert (status, counts) == (1, ["0", "1", "0"]), output
    assert "once more, alone: tests/functional/test_bad.py::test_bad" in output


@pytest.mark.parametrize("end", ["kill -SEGV $$", "kill -ABRT $$", f"exit {outcomes.SANITIZER_STATUS}"])
def test_a_crash_is_not_repeated(tree, end):
    program = tree.build / "fairlead"
    program.write_text(f"#!/bin/sh\n{end}\n")
    program.chmod(0o755)
    tree.file("crash", "import os, subprocess\ndef test_start(): subprocess.run([os.environ['FAIRLEAD'], 'dns'])\n" + FLAKY)
    status, output, counts = tree.run()
    assert (status, counts) == (1, ["1", "1", "0"]), output
    assert "test_crash.py does not run again" in output


def test_a_crash_in_the_second_run_is_a_failure(tree):
    program = tree.build / "fairlead"
    program.write_text("#!/bin/sh\nkill -SEGV $$\n")
    program.chmod(0o755)
    tree.file("again", FLAKY + "    else:\n        import subprocess\n        subprocess.run([os.environ['FAIRLEAD']])\n")
    status, output, counts = tree.run()
    assert (status, counts) == (1, ["0", "1", "0"]), output
    assert "SIGSEGV" in output


@pytest.mark.parametrize("text", ["ERROR: AddressSanitizer: heap-use-after-free", "x.c:1: f: Assertion `a == b' failed.",
                                  "x.c:3:4: runtime error: shift"])
def test_a_report_in_the_output_is_not_repeated(tree, text):
    tree.file("report", FLAKY.replace("    seen", f"    print({text!r})\n    seen", 1))
    status, output, counts = tree.run()
    assert (status, counts) == (1, ["0", "1", "0"]), output
    assert "test_report.py does not run again" in output


def test_a_setup_that_fails_runs_again(tree):
    tree.file("setup", "import os, pytest\n@pytest.fixture\ndef server():\n"
                       "    seen = __file__ + '.seen'\n    if not os.path.exists(seen):\n"
                       "        open(seen, 'w').close()\n        raise OSError('busy')\ndef test_it(server): pass\n")
    assert tree.run()[2] == ["1", "0", "1"]


def test_many_failures_do_not_run_again(tree):
    tree.file("many", "import pytest\n@pytest.mark.parametrize('n', range(9))\ndef test_n(n): assert False\n")
    status, output, counts = tree.run()
    assert (status, counts) == (1, ["0", "9", "0"])
    assert "once more" not in output


def test_more_than_three_fail_the_run(tree):
    """`.ci/run` adds up several calls, so the limit is the caller's where it asks for counts."""
    for i in range(4):
        tree.file(f"f{i}", FLAKY)
    status, output, counts = tree.run()
    assert (status, counts) == (0, ["4", "0", "4"]), output
    for i in range(4):
        os.unlink(tree.root / "tests/functional" / f"f{i}.seen")
    env = {k: v for k, v in os.environ.items() if not k.startswith("FAIRLEAD")}
    done = subprocess.run([tree.root / "tools/run-tests", "--beside", "build", "functional"], cwd=tree.root, env=env, stdout=subprocess.PIPE,
                          text=True)
    assert done.returncode == 1 and done.stdout.endswith("more than 3 unsteady tests\n4 passed, 1 failed\n")


def test_a_module_that_cannot_be_loaded_does_not_run_again(tree):
    tree.file("load", "import no_such_module\n")
    status, output, counts = tree.run()
    assert (status, counts) == (1, ["0", "1", "0"]), output
    assert "once more" not in output


# ---- files for ThreadSanitizer ----

BACKGROUND = re.compile(r"\b(task_every|pthread_create)\(|shared/(zonesender|zonecopier|zonenotify)\.h")


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def plugins_with_threads():
    """Plugins that start a task or a thread, or use a shared part that does."""
    return {os.path.relpath(path, os.path.join(ROOT, "src/plugin")).split(os.sep)[0]
            for path in glob.glob(os.path.join(ROOT, "src/plugin/**/*.c"), recursive=True)
            if not os.path.basename(path).startswith(("test_", "fuzz_")) and BACKGROUND.search(read(path))} - {"shared"}


def threads_of_the_tool():
    loader = importlib.machinery.SourceFileLoader("run_tests", os.path.join(ROOT, "tools/run-tests"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("run_tests", loader))
    loader.exec_module(module)
    return module.THREADS


def test_every_plugin_with_threads_is_run_by_thread_sanitizer():
    table = threads_of_the_tool()
    found = plugins_with_threads()
    assert {"hosts", "health", "egressfirewall"} <= found  # the search finds something
    assert found <= {name for names in table.values() for name in names}


@pytest.mark.parametrize("path", sorted(threads_of_the_tool()))
def test_files_for_thread_sanitizer_use_their_plugins(path):
    text = read(os.path.join(ROOT, "tests", path))
    if path == "functional/test_up.py":  # the Corefile of `fairlead up` is the operator's
        text += read(os.path.join(ROOT, "src/controller/dnsoperator/plan/render.c"))
    for plugin in threads_of_the_tool()[path]:
        assert re.search(rf"\b{plugin}\b", text), f"no {plugin} in {path}"
