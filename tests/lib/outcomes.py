# SPDX-License-Identifier: GPL-3.0-or-later
"""Tells tools/run-tests which tests of a pytest run failed, and whether a program of ours crashed in it.

$FAIRLEAD_OUTCOMES names a file; it gets a JSON object {"failed": [test ids], "fatal": [reasons]}. A crash, an assertion
or a sanitizer's report is noticed by how the program ended, whatever the test does with its output. It counts for the whole
run: a server that several tests share makes tests fail that did not crash it.
"""
import json
import os
import signal
import subprocess

SANITIZER_STATUS = 86  # tools/run-tests makes sanitizers end a program with it
CRASHES = {signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGTRAP}


def crash_of(command, status):
    """Why a program's exit status is fatal; None where it is not."""
    if status == SANITIZER_STATUS:
        return f"sanitizer report: {command}"
    if status is not None and -status in CRASHES:
        return f"{signal.Signals(-status).name}: {command}"
    return None


class Outcomes:
    """A pytest plugin."""

    def __init__(self, path, ours):
        self.path = path
        self.ours = ours  # folder whose programs count
        self.failed = []
        self.fatal = []
        self.started = []
        self.sent = set()  # processes to which the test itself sent such a signal

    def is_ours(self, command):
        words = [command] if isinstance(command, (str, bytes, os.PathLike)) else command
        return any(os.fsdecode(word).startswith(self.ours) for word in words)

    def watch(self):
        """Remembers every program of ours that this process starts."""
        outcomes, start, send = self, subprocess.Popen.__init__, subprocess.Popen.send_signal

        def noted_start(process, args, *more, **kw):
            start(process, args, *more, **kw)
            if outcomes.is_ours(args):
                outcomes.started.append(process)

        def noted_send(process, number):
            if number in CRASHES:
                outcomes.sent.add(process.pid)
            send(process, number)

        subprocess.Popen.__init__, subprocess.Popen.send_signal = noted_start, noted_send

    def pytest_runtest_logreport(self, report):
        if report.failed and report.nodeid not in self.failed:
            self.failed.append(report.nodeid)

    def pytest_collectreport(self, report):
        if report.failed:
            self.fatal.append(f"cannot be collected: {report.nodeid}")

    def pytest_sessionfinish(self):
        for process in self.started:
            reason = crash_of(process.args, process.poll())
            if reason and process.pid not in self.sent:
                self.fatal.append(reason)
        with open(self.path, "w", encoding="utf-8") as f:
            json.dump({"failed": self.failed, "fatal": self.fatal}, f)


def install(config):
    path = os.environ.get("FAIRLEAD_OUTCOMES")
    if path:
        outcomes = Outcomes(path, os.environ["FAIRLEAD_BUILD"] + os.sep)
        outcomes.watch()
        config.pluginmanager.register(outcomes, "outcomes")
