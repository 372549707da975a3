# SPDX-License-Identifier: GPL-3.0-or-later
"""tools/fuzz with programs that behave as libFuzzer does: what counts as a run, a finding and a new input."""
import argparse
import importlib.machinery
import importlib.util
import os

import pytest

TOOL = os.path.join(os.path.dirname(__file__), "..", "..", "tools", "fuzz")

# Fuzzing, it keeps the input `new`; merging, it copies all of the second folder into the first.
GOOD = """#!/bin/sh
case "$*" in
*-merge=1*) for last; do in=$into; into=$last; done; cp "$into"/* "$in"/ ;;
*) for last; do in=$into; into=$last; done; echo kept >"$in/new"; echo "stat::number_of_executed_units: 40" ;;
esac
"""

BAD = """#!/bin/sh
for word; do case $word in -artifact_prefix=*) prefix=${word#*=} ;; esac; done
echo "#7 NEW"
echo "x.c:3:5: runtime error: division by zero"
echo "SUMMARY: UndefinedBehaviorSanitizer: undefined-behavior"
echo input >"${prefix}crash-1"
echo "artifact_prefix='$prefix'; Test unit written to ${prefix}crash-1"
echo "stat::number_of_executed_units: 7"
exit 77
"""


# One turn: a hang, which a second run of the input confirms or not.
HANG = """#!/bin/sh
for word; do case $word in -artifact_prefix=*) prefix=${word#*=} ;; esac; done
[ -n "$prefix" ] || { AGAIN; }
echo "artifact_prefix='$prefix'; Test unit written to ${prefix}slow-unit-1"
echo input >"${prefix}timeout-1"
echo "SUMMARY: libFuzzer: timeout"
echo "artifact_prefix='$prefix'; Test unit written to ${prefix}timeout-1"
echo "stat::number_of_executed_units: 9"
exit 70
"""


@pytest.fixture(name="fuzz")
def load_fuzz():
    loader = importlib.machinery.SourceFileLoader("fuzz", TOOL)
    spec = importlib.util.spec_from_loader("fuzz", loader)
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


@pytest.fixture(name="target")
def make_target(fuzz, tmp_path):
    def make(script, **options):
        program = tmp_path / "src" / "fuzz_x"
        program.parent.mkdir()
        program.write_text(script)
        program.chmod(0o755)
        (tmp_path / "corpus" / "x").mkdir(parents=True)
        (tmp_path / "corpus" / "x" / "seed").write_text("seed")
        args = {"seconds": 30, "runs": 0, "build": str(tmp_path), "corpus": str(tmp_path / "corpus"), "keep_corpus": False}
        return fuzz.Target("x", argparse.Namespace(**{**args, **options}))
    return make


def test_every_target_has_a_corpus(fuzz):
    assert sorted(os.listdir(os.path.join(fuzz.ROOT, "corpus"))) == fuzz.target_names()


def test_runs_and_new_inputs(target, fuzz, capsys):
    done = target(GOOD).fuzz()
    assert (done.runs, done.added, done.findings) == (40, 1, [])
    assert sorted(os.listdir(done.corpus)) == ["new", "seed"]
    assert fuzz.print_report([done]) == 0
    assert "1 targets, 40 runs, 0 findings" in capsys.readouterr().out


def test_corpus_is_kept(target):
    assert os.listdir(target(GOOD, keep_corpus=True).fuzz().corpus) == ["seed"]


@pytest.mark.parametrize("limit", ["CORPUS_FILES_MAX", "CORPUS_BYTES_MAX"])
def test_corpus_is_bounded(target, fuzz, monkeypatch, limit):
    monkeypatch.setattr(fuzz, limit, 1)
    assert os.listdir(target(GOOD).fuzz().corpus) == ["seed"]


def test_goes_on_after_a_finding_up_to_a_limit(target, fuzz, capsys):
    done = target(BAD, keep_corpus=True).fuzz()
    assert len(done.findings) == fuzz.FINDINGS_MAX
    assert done.runs == 7 * fuzz.FINDINGS_MAX
    assert fuzz.print_report([done]) == fuzz.FINDINGS_MAX
    out = capsys.readouterr().out
    assert "runtime error: division by zero" in out and "crash-1" in out


@pytest.mark.parametrize("again, findings", [("exit 0", 0), ("while :; do :; done", 1)], ids=["busy machine", "hang"])
def test_a_hang_is_judged_by_its_own_time(target, fuzz, monkeypatch, again, findings):
    monkeypatch.setattr(fuzz, "INPUT_CPU_SECONDS_MAX", 1)
    done = target(HANG.replace("AGAIN", again), keep_corpus=True, runs=9).fuzz()
    assert (done.runs, len(done.findings)) == (9, findings)
    assert os.path.exists(os.path.join(done.folder, "timeout-1")) == bool(findings)


def test_runs_are_a_limit_for_all_of_it(target):
    assert target(BAD, keep_corpus=True, runs=10).fuzz().runs == 14
