# SPDX-License-Identifier: GPL-3.0-or-later
"""tools/house and tools/check-names on a small tree whose figures are known."""
import os
import subprocess

from lib import server

TOOLS = os.path.join(server.ROOT, "tools")
HEADER = """#pragma once
struct zone;
/* Declared in its own header. */
int zone_load(struct zone *zone, const char *path);
"""
SOURCE = """#include "dns/zone.h"

#define SKIPPED(x) { static int skipped(int y); }

struct zone {
	int (*handler)(int a);
};

static const struct zone table[] = { { 0 }, };

static int parse(const char *s, struct zone *z)
{
	return s[0] == '{' ? 1 : z != 0; /* static int comment(int a) { } */
}

static int find_name(int (*compare)(int left, int right), char buf[4])
{
	return compare(buf[0], 1);
}

int zone_load(struct zone *zone, const char *path)
{
	assert(zone != NULL);
	return parse(path, zone) + find_name(0, 0);
}

void zone_elsewhere(void)
{
}
"""


def tree(tmp_path, extra=""):
    folder = tmp_path / "src" / "dns"
    folder.mkdir(parents=True)
    (folder / "zone.h").write_text(HEADER)
    (folder / "zone.c").write_text(SOURCE + extra)
    (folder / "test_zone.c").write_text("static int x(int a) { return a; }\n")
    return tmp_path


def run(tool, *words):
    return subprocess.run([os.path.join(TOOLS, tool), *map(str, words)], capture_output=True, text=True, timeout=60)


def total(done):
    return next(line for line in done.stdout.splitlines() if line.startswith("total")).split()


def test_figures(tmp_path):
    """2 of 6 parameters have one letter, 1 of 2 static functions one word, 1 of 2 exported functions is in its header."""
    done = run("house", tree(tmp_path) / "src")
    assert done.returncode == 0, done.stderr
    assert total(done) == ["total", "2", "33", "29", "5", "33.3", "%", "50.0", "%", "50", "%", "30.30"]


def test_limits(tmp_path):
    done = run("house", "--check", tree(tmp_path) / "src")
    assert done.returncode == 1
    assert "NOT OK: parameters of one letter: 33.33, limit 3" in done.stdout
    assert "ok: lines of a function" in done.stdout


def test_no_tree(tmp_path):
    assert "has no C files" in run("house", tmp_path).stderr
    assert "is not a folder" in run("house", tmp_path / "missing").stderr


def test_letters(tmp_path):
    done = run("check-names", tree(tmp_path, "static void serve(struct query *q, const char *buf, size_t n) { }\n"))
    assert done.returncode == 1
    assert done.stdout.splitlines() == ["src/dns/zone.c:11: parse: say what `const char * s` is",
                                        "src/dns/zone.c:11: parse: say what `struct zone * z` is"]


def test_neighbours(tmp_path):
    root = tree(tmp_path)
    for name in ("address.c", "addresses.c", "serve.h", "server.c", "place.c", "placement.c", "zone_file.c"):
        (root / "src" / "dns" / name).write_text("")
    found = [line for line in run("check-names", root).stdout.splitlines() if "taken for each other" in line]
    assert found == [f"src/dns: {pair} are taken for each other: rename one"
                     for pair in ("address and addresses", "place and placement", "serve and server")]
