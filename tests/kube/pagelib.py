# SPDX-License-Identifier: GPL-3.0-or-later
"""Commands of the documentation, run as they are printed.

A block whose fence is "console NAME" is a transcript: lines that begin with "$ " are commands (with the lines of their
here-documents, and those after a final backslash or pipe, or in quotes), the others are what they print.
"""
import copy
import os
import re
import subprocess

from controllerlib import until
from lib import cluster, server


CHANGES = re.compile(r"\b(kubectl|oc) (apply|patch|annotate|create|delete|scale)\b|\bfairlead (apply|delete)\b")


def blocks(page, name):
    """(line, [(command, output), ...]) of each block of that name."""
    with open(os.path.join(server.ROOT, page), encoding="utf-8") as f:
        text = f.read()
    found = [(text[:m.start()].count("\n") + 1, list(steps(m[1])))
             for m in re.finditer(rf"^```console {name}\n(.*?)^```$", text, re.M | re.S)]
    assert found, f"{page} has no block 'console {name}'"
    return found


def steps(text):
    lines = text.splitlines(keepends=True)
    while lines:
        command = lines.pop(0)
        assert command.startswith("$ "), f"no command: {command}"
        command = command[2:]
        while command.endswith(("\\\n", "|\n")) or ("<<" not in command and command.count("'") % 2):
            command += lines.pop(0)
        here = re.search(r"<<'?(\w+)'?", command)
        while here and not command.endswith(f"\n{here[1]}\n"):
            command += lines.pop(0)
        output = ""
        while lines and not lines[0].startswith("$ "):
            output += lines.pop(0)
        yield command.rstrip("\n"), output


def commands(page, name):
    return [command for _, block in blocks(page, name) for command, _ in block]


def programs(folder):
    """A folder with the programs under the names that the pages use."""
    path = os.path.join(str(folder), "bin")
    os.makedirs(path, exist_ok=True)
    for name, target in (("kubectl", cluster.peer("kubectl")), ("oc", cluster.peer("kubectl")),
                         ("fairlead", server.fairlead_program())):
        if not os.path.exists(os.path.join(path, name)):
            os.symlink(os.path.abspath(target), os.path.join(path, name))
    return path


def home_in(folder):
    """Where commands are run: the folders of the sources that pages name are there."""
    home = os.path.join(str(folder), "home")
    os.makedirs(home, exist_ok=True)
    for name in ("deploy", "examples"):
        if not os.path.exists(os.path.join(home, name)):
            os.symlink(os.path.join(server.ROOT, name), os.path.join(home, name))
    return home


def shell(place, folder, command):
    """What the command prints, against the API of a place (test_dnsoperator.Place); None: it finds it by itself."""
    home, kubeconfig = home_in(folder), ""
    if place is not None:
        user = copy.copy(place)
        user.controller_token = place.token
        kubeconfig = user.kubeconfig(home)
    done = subprocess.run(["bash", "-c", f"set -o pipefail\n{command}"], capture_output=True, text=True, timeout=60, check=False, cwd=home,
                          env={**os.environ, "PATH": f"{programs(folder)}:{os.environ['PATH']}", "KUBECONFIG": kubeconfig,
                               "HOME": home})
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout


def follow(name, block, call, plain):
    """Runs a transcript: call(command) prints, plain(text) takes out what differs from run to run. What is only read may
    take a moment to become as it is printed."""
    for command, output in block:
        want = plain(output).rstrip()
        if CHANGES.search(command):
            assert plain(call(command)).rstrip() == want, f"{name}: {command}"
            continue
        last = [None]

        def fits():
            try:
                last[0] = plain(call(command)).rstrip()  # pylint: disable=cell-var-from-loop
            except AssertionError as e:  # nothing is there yet to be found
                last[0] = str(e)
            return last[0] == want  # pylint: disable=cell-var-from-loop
        try:
            until(fits, 30, 0.2)
        except AssertionError:
            raise AssertionError(f"{name}: {command}\nprints:\n{last[0]}\nand not:\n{want}") from None
