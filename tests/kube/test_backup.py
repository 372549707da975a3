# SPDX-License-Identifier: GPL-3.0-or-later
"""`fairlead backup` and `restore` of a data directory that is in use, and cut off in the middle."""
import os
import random
import subprocess
import threading
import time

import pytest

import apilib
from lib import server

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
OBJECTS = 60
OBJECT_BYTES = 200_000


def fairlead(*words, status=0):
    done = subprocess.run([server.fairlead_program(), *words], capture_output=True, text=True, timeout=60)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout + done.stderr


def config_map(name, n):
    return {"metadata": {"name": name}, "data": {"filler": "x" * n}}


@pytest.fixture(scope="module")
def api(tmp_path_factory):
    """With some 12 MB, so that a copy takes a while."""
    one = apilib.Api(str(tmp_path_factory.mktemp("backup") / "data")).start()
    client = one.client()
    for i in range(OBJECTS):
        assert client.call("POST", CONFIG_MAPS, config_map(f"large-{i}", OBJECT_BYTES))[0] == 201
    yield one
    one.stop()


class Load(threading.Thread):
    """Creates one object after the other, in order."""

    def __init__(self, api):
        super().__init__()
        self.client, self.over, self.n = api.client(), False, 0

    def run(self):
        while not self.over:
            status, answer = self.client.call("POST", CONFIG_MAPS, config_map(f"order-{id(self)}-{self.n:06d}", 100))
            assert status == 201, answer
            self.n += 1

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.over = True
        self.join()


def check_backup(file, to, load, least):
    """It is one state: all that was answered before it began, and no hole."""
    fairlead("restore", file, "--data", to)
    restored = apilib.Api(to).start()
    names = {o["metadata"]["name"] for o in restored.client().call("GET", CONFIG_MAPS)[1]["items"]}
    restored.stop()
    ordered = sorted(n for n in names if n.startswith(f"order-{id(load)}-"))
    assert ordered == [f"order-{id(load)}-{i:06d}" for i in range(len(ordered))]
    assert len(ordered) >= least
    assert {f"large-{i}" for i in range(OBJECTS)} <= names


def test_locks_are_held(api):
    """SQLite's locks belong to the process: any descriptor of these files that it closes would drop them, and the next
    process that opens the database would truncate shared memory that the server has mapped."""
    shared_memory = os.stat(os.path.join(api.data, "store.db-shm")).st_ino
    with open("/proc/locks", encoding="ascii") as f:
        locks = [line.split() for line in f]
    assert any(words[1] == "POSIX" and words[4] == str(api.process.pid) and words[5].endswith(f":{shared_memory}")
               for words in locks), locks


def test_backup_under_load(api, tmp_path):
    with Load(api) as load:
        apilib.until(lambda: load.n > 5, "writes")
        least = load.n
        assert "wrote all objects" in fairlead("backup", str(tmp_path / "b"), "--data", api.data)
    check_backup(str(tmp_path / "b"), str(tmp_path / "to"), load, least)
    assert "exists already" in fairlead("backup", str(tmp_path / "b"), "--data", api.data, status=1)


def test_backup_cut_off(api, tmp_path):
    """Killed at any moment it leaves the whole file or none of that name."""
    there = 0
    with Load(api) as load:
        for i in range(15):
            file = tmp_path / f"b{i}"
            least = load.n
            process = subprocess.Popen([server.fairlead_program(), "backup", str(file), "--data", api.data], stdout=subprocess.DEVNULL)
            time.sleep(random.uniform(0, 0.01 * (i + 1)))  # the random moment
            process.kill()
            process.wait()
            if file.exists():
                there += 1
                check_backup(str(file), str(tmp_path / f"to{i}"), load, least)
            left = [name for name in os.listdir(tmp_path) if name.startswith(f"b{i}") and name != f"b{i}"]
            assert all(".partial" in name for name in left), left  # with SQLite's own files beside it
    print(f"{there} of 15 backups were whole")


def test_restore_into_use_is_refused(api, tmp_path):
    fairlead("backup", str(tmp_path / "b"), "--data", api.data)
    said = fairlead("restore", str(tmp_path / "b"), "--data", api.data, status=1)
    assert f"is in use by process {api.process.pid}" in said and said.count("\n") == 1
    assert api.client().call("GET", CONFIG_MAPS)[0] == 200


def test_restore_of_half_a_file_is_refused(api, tmp_path):
    fairlead("backup", str(tmp_path / "b"), "--data", api.data)
    os.truncate(tmp_path / "b", os.path.getsize(tmp_path / "b") // 2)
    assert "is not a complete backup" in fairlead("restore", str(tmp_path / "b"), "--data", str(tmp_path / "to"), status=1)


def test_watches_after_a_restore(api, tmp_path):
    """A watch from a version that the backup does not have gets 410 and must list again."""
    one = apilib.Api(str(tmp_path / "data")).start()
    client = one.client()
    assert client.call("POST", CONFIG_MAPS, config_map("kept", 10))[0] == 201
    fairlead("backup", str(tmp_path / "b"), "--data", one.data)
    last = client.call("POST", CONFIG_MAPS, config_map("lost", 10))[1]["metadata"]["resourceVersion"]
    one.stop()
    fairlead("restore", str(tmp_path / "b"), "--data", one.data)
    one.start()
    client = one.client()
    answer = client.send("GET", f"{CONFIG_MAPS}?watch=1&resourceVersion={last}")
    assert b'"code":410' in answer.readline()
    status, answer = one.client().call("GET", CONFIG_MAPS)
    assert [o["metadata"]["name"] for o in answer["items"]] == ["kept"]
    assert int(answer["metadata"]["resourceVersion"]) > int(last)
    one.stop()
