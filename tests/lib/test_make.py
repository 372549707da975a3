# SPDX-License-Identifier: GPL-3.0-or-later
"""What `make` does for a user who only wants to see the program run."""
import os
import re
import subprocess

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.join(ROOT, os.environ.get("FAIRLEAD_BUILD", "build"))


def output(*command):
    return subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout


@pytest.mark.parametrize("goal", ["run", "serve", "install"])
def test_only_the_program_is_built(goal):
    """The tests are most of the work, and the first answer has to come within two minutes."""
    compiles = re.findall(r"meson compile -C \S+(.*)", output("make", "-n", f"BUILD={BUILD}", goal))
    assert [c.split() for c in compiles] == [["fairlead"]]
    commands = output("ninja", "-C", BUILD, "-t", "commands", "fairlead")
    assert "src/cmd/main.c" in commands
    assert not re.search(r"/(test|fuzz)_\w+\.c\b", commands)
