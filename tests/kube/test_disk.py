# SPDX-License-Identifier: GPL-3.0-or-later
"""`fairlead api` on disks that are full, read-only, damaged or owned by another user: one message each, and nothing is overwritten."""
import hashlib
import json
import os
import shutil
import socket
import sqlite3
import subprocess

import pytest

import apilib
from lib import server

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
MERGE = "application/merge-patch+json"
MOUNTS = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--map-root-user", "--mount"]
ENTER = ["--mount"] if os.geteuid() == 0 else ["--user", "--preserve-credentials", "--mount"]


class SmallDisk:
    """A file system of its own in a name space of its own, which a process holds that ends with its standard input."""

    def __init__(self, at, megabytes):
        at.mkdir()
        self.holder = subprocess.Popen([*MOUNTS, "sh", "-c", f"mount -t tmpfs -o size={megabytes}m small {at} && echo ok && exec cat"],
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.holder.stdout.readline() == "ok\n"
        self.prefix = ["nsenter", "--target", str(self.holder.pid), *ENTER]
        self.at = str(at)
        self.seen = f"/proc/{self.holder.pid}/root{at}"
        self.ballast = os.path.join(self.seen, "ballast")

    def remount(self, how):
        subprocess.run([*self.prefix, "mount", "-o", f"remount,{how}", self.at], check=True)

    def fill(self, left_kb):
        """All but some kilobytes."""
        fs = os.statvfs(self.seen)
        with open(self.ballast, "ab") as f:
            os.posix_fallocate(f.fileno(), 0, fs.f_bavail * fs.f_bsize - left_kb * 1024)

    def end(self):
        self.holder.stdin.close()
        self.holder.wait(20)
        self.holder.stdout.close()


@pytest.fixture
def disk(tmp_path):
    one = SmallDisk(tmp_path / "disk", 48)
    yield one
    one.end()


@pytest.fixture
def on_disk(disk):
    api = apilib.Api(disk.at + "/data", disk.prefix, seen=disk.seen + "/data").start()
    yield api
    if api.process.returncode is None:
        api.kill()


def config_map(name, n=4000):
    return {"metadata": {"name": name}, "data": {"filler": "x" * n}}


def fill_up(client, name="fill"):
    """Creates until it is refused; the refusal and how many there are."""
    for i in range(5000):
        status, answer = client.call("POST", CONFIG_MAPS, config_map(f"{name}-{i}"))
        if status != 201:
            return status, answer, i
    raise AssertionError("the disk is not full")


def is_full(status, answer):
    return (status == 507 and answer["kind"] == "Status" and answer["reason"] == "InsufficientStorage" and answer["code"] == 507
            and "the disk of the data directory is full" in answer["message"])


def test_full_disk(disk, on_disk):
    client = on_disk.client()
    watch = on_disk.client().send("GET", CONFIG_MAPS + "?watch=1")
    disk.fill(left_kb=1500)
    status, answer, n = fill_up(client)
    assert is_full(status, answer) and n > 10, answer
    # Reads go on: get, list, a watch that is open and a new one.
    assert client.call("GET", f"{CONFIG_MAPS}/fill-0")[0] == 200
    assert len(client.call("GET", CONFIG_MAPS)[1]["items"]) == n
    for i in range(n):
        assert json.loads(watch.readline())["object"]["metadata"]["name"] == f"fill-{i}"
    fresh = on_disk.client().send("GET", CONFIG_MAPS + "?watch=1")
    assert json.loads(fresh.readline())["type"] == "ADDED"
    # Every sort of write is refused with the same words, but not deletions.
    changed = client.call("GET", f"{CONFIG_MAPS}/fill-1")[1]
    changed["data"]["more"] = "x" * 100000
    assert is_full(*client.call("PUT", f"{CONFIG_MAPS}/fill-1", changed))
    assert is_full(*client.call("PATCH", f"{CONFIG_MAPS}/fill-1", {"data": {"more": "x" * 100000}}, MERGE))
    assert client.call("DELETE", f"{CONFIG_MAPS}/fill-1")[0] == 200
    assert json.loads(watch.readline())["type"] == "DELETED"
    assert client.call("GET", f"{CONFIG_MAPS}/fill-1")[0] == 404
    # Space returns: nobody has to do anything.
    os.unlink(disk.ballast)
    assert client.call("POST", CONFIG_MAPS, config_map("again"))[0] == 201
    assert json.loads(watch.readline())["object"]["metadata"]["name"] == "again"
    on_disk.stop()
    assert on_disk.said.count("is full: only deletions") <= 1


def ask_status(api):
    """Exit status and output of `fairlead status`."""
    done = subprocess.run([server.fairlead_program(), "status", "--data", api.seen], stdout=subprocess.PIPE, text=True, timeout=60)
    return done.returncode, done.stdout


def test_status_reports_a_full_disk(disk, on_disk):
    client = on_disk.client()
    assert ask_status(on_disk)[0] == 0
    disk.fill(left_kb=1500)
    fill_up(client)
    code, said = ask_status(on_disk)
    assert code == 1 and f"disk: the disk of '{on_disk.data}' is full, and writes are refused: delete objects" in said, said
    assert "readyz" not in said and client.call("GET", "/readyz")[0] == 200, said
    os.unlink(disk.ballast)
    code, said = ask_status(on_disk)
    assert code == 0, said


def test_deleting_is_a_way_out(disk, on_disk):
    """Without a byte from others: what was deleted makes room."""
    client = on_disk.client()
    disk.fill(left_kb=1500)
    _, _, n = fill_up(client)
    for i in range(n // 2):
        status, answer = client.call("DELETE", f"{CONFIG_MAPS}/fill-{i}")
        assert status == 200, answer
    apilib.until(lambda: client.call("POST", CONFIG_MAPS, config_map("again"))[0] == 201, "there is room again")


def test_deleting_large_objects_is_a_way_out(disk, on_disk):
    """What deletions write lets the database grow into the room that is kept for them: it does not shrink, so what is free
    inside it must count. Again and again, and without a restart."""
    client = on_disk.client()
    made = 0

    def make():
        nonlocal made
        status, answer = client.call("POST", CONFIG_MAPS, config_map(f"large-{made}", 900_000))
        assert status == 201 or is_full(status, answer), answer
        made += status == 201
        return status == 201

    for _ in range(3):
        first = made
        # What was deleted is room once it is compacted, which these writes may overtake.
        apilib.until(lambda: make() and made - first >= 8, "there is room for eight")
        while make():
            pass
        for i in range(max(first, made - 20), made):
            assert client.call("DELETE", f"{CONFIG_MAPS}/large-{i}")[0] == 200
        apilib.until(lambda: client.call("POST", CONFIG_MAPS, config_map("again"))[0] == 201, "there is room again")
        assert client.call("DELETE", f"{CONFIG_MAPS}/again")[0] == 200


def test_damage_inside_an_object(tmp_path):
    """A byte of one of 400 objects: nobody gets a list without it, or with garbage in it. It is named to who asks, in the
    log, by /readyz and by `fairlead status`, also when nobody has asked."""
    api = apilib.Api(str(tmp_path / "data")).start()
    client = api.client()
    for i in range(400):
        assert client.call("POST", CONFIG_MAPS, {"metadata": {"name": f"c{i:03}"}, "data": {"k": f"value-of-{i:03}"}})[0] == 201
    assert client.call("GET", "/readyz")[0] == 200
    api.stop()
    path = tmp_path / "data" / "store.db"
    text = path.read_bytes()
    assert text.count(b"value-of-123") == 1
    path.write_bytes(text.replace(b'"value-of-123"', b'"value-of-12"3'))
    api.start()
    client = api.client()
    named = "core/configmaps/default/c123"
    # Found by itself.
    apilib.until(lambda: client.call("GET", "/readyz")[0] == 500, "the damage is found")
    assert client.call("GET", "/livez")[0] == 200
    said = subprocess.run([server.fairlead_program(), "status", "--data", str(tmp_path / "data")], capture_output=True, text=True)
    assert said.returncode == 1 and "store:" in said.stdout and named in said.stdout, said.stdout
    for ask in (CONFIG_MAPS, CONFIG_MAPS + "?limit=500", "/api/v1/configmaps", CONFIG_MAPS + "/c123"):
        status, answer = client.call("GET", ask)
        assert status == 500 and named in answer["message"], (ask, answer)
    assert client.call("PATCH", CONFIG_MAPS + "/c123", {"data": {"k": "v"}}, MERGE)[0] == 500
    watch = api.client().send("GET", CONFIG_MAPS + "?watch=1")
    for _ in range(400):
        event = json.loads(watch.readline())
        if event["type"] == "ERROR":
            break
    assert event["type"] == "ERROR" and named in event["object"]["message"], event
    # All others are served.
    assert client.call("GET", CONFIG_MAPS + "/c124")[0] == 200
    assert client.call("POST", CONFIG_MAPS, {"metadata": {"name": "more"}})[0] == 201
    assert len(client.call("GET", "/api/v1/namespaces")[1]["items"]) == 4
    api.stop()
    assert (api.log + api.said).count(named) == 1, api.log + api.said


def test_start_on_a_full_disk(disk, on_disk):
    client = on_disk.client()
    disk.fill(left_kb=1500)
    _, _, n = fill_up(client)
    on_disk.kill()
    # The same port, so that the kubeconfig says so already.
    on_disk.options = ["--listen", f"127.0.0.1:{on_disk.port}"]
    on_disk.start()
    client = on_disk.client()
    assert len(client.call("GET", CONFIG_MAPS)[1]["items"]) == n
    # What the program before has left in its log may have made some room.
    status, answer, _ = fill_up(client, "more")
    assert is_full(status, answer), answer
    assert client.call("DELETE", f"{CONFIG_MAPS}/fill-0")[0] == 200
    on_disk.kill()


def test_read_only_file_system(disk, on_disk):
    client = on_disk.client()
    assert client.call("POST", CONFIG_MAPS, config_map("a"))[0] == 201
    on_disk.stop()
    disk.remount("ro")
    said = refused(on_disk)
    assert "Read-only file system" in said


# ---- starts that are refused ----


def refused(api):
    """One sentence, exit status 1, and the files are as they were."""
    before = checksums(api.seen)
    with pytest.raises(apilib.Refused) as e:
        api.start()
    lines = e.value.said.splitlines()
    assert e.value.status == 1 and len(lines) == 1 and lines[0].startswith("fairlead api: "), e.value.said
    assert checksums(api.seen) == before
    return lines[0]


def checksums(data):
    found = {}
    for name in sorted(os.listdir(data)) if os.path.isdir(data) else []:
        path = os.path.join(data, name)
        if not name.endswith(("-shm", ".lock", ".spare")) and not (name.endswith("-wal") and os.path.getsize(path) == 0):
            with open(path, "rb") as f:
                found[name] = hashlib.sha256(f.read()).hexdigest()
    return found


@pytest.fixture(scope="module")
def used(tmp_path_factory):
    """A data directory with a few hundred objects, closed well, and one that was cut off."""
    base = tmp_path_factory.mktemp("used")
    api = apilib.Api(str(base / "closed")).start()
    client = api.client()
    for i in range(200):
        assert client.call("POST", CONFIG_MAPS, config_map(f"c{i}"))[0] == 201
    api.stop()
    shutil.copytree(api.data, base / "cut")
    api = apilib.Api(str(base / "cut")).start()
    assert api.client().call("POST", CONFIG_MAPS, config_map("last"))[0] == 201
    api.kill()
    return base


@pytest.fixture
def closed(used, tmp_path):
    return copy(used / "closed", tmp_path)


@pytest.fixture
def cut(used, tmp_path):
    return copy(used / "cut", tmp_path)


def copy(of, to):
    shutil.copytree(of, to / "data", ignore=shutil.ignore_patterns("api.sock"))
    return apilib.Api(str(to / "data"))


def spoil(api, name, at, text=b"\xde\xad\xbe\xef" * 1024):
    with open(os.path.join(api.data, name), "r+b") as f:
        f.seek(at)
        f.write(text)


def test_damaged_header(closed):
    spoil(closed, "store.db", 0)
    said = refused(closed)
    assert "store.db' is damaged" in said and "fairlead restore" in said


def test_damaged_page_after_a_crash(cut):
    spoil(cut, "store.db", os.path.getsize(os.path.join(cut.data, "store.db")) // 2 & ~4095)
    said = refused(cut)
    assert "store.db' is damaged" in said and "fairlead restore" in said


def test_damaged_page_found_later(closed):
    """One that was closed well is not read whole at the start: requests that meet the damage get an error, others work."""
    spoil(closed, "store.db", os.path.getsize(os.path.join(closed.data, "store.db")) // 2 & ~4095)
    closed.start()
    try:
        client = closed.client()
        answers = [client.call("GET", f"{CONFIG_MAPS}/c{i}") for i in range(200)]
        bad = [answer for status, answer in answers if status != 200]
        assert 0 < len(bad) < 100
        for answer in bad:
            assert answer["code"] == 500 and "is damaged" in answer["message"] and "fairlead restore" in answer["message"], answer
    finally:
        closed.kill()


def test_cut_database(closed):
    os.truncate(os.path.join(closed.data, "store.db"), 20000)
    said = refused(closed)
    assert "is damaged" in said


def test_empty_and_missing_database(closed):
    os.truncate(os.path.join(closed.data, "store.db"), 0)
    assert "is damaged (it was in use and is empty now)" in refused(closed)
    os.unlink(os.path.join(closed.data, "store.db"))
    with pytest.raises(apilib.Refused) as e:
        closed.start()
    assert "it was in use and is empty now" in e.value.said


def test_cut_log(cut):
    """The last record of a log may be half written by a crash of the machine: all before it is there, whole."""
    log = os.path.join(cut.data, "store.db-wal")
    os.truncate(log, os.path.getsize(log) - 100)
    cut.start()
    try:
        status, answer = cut.client().call("GET", CONFIG_MAPS)
        assert status == 200 and len(answer["items"]) in (200, 201)
    finally:
        cut.kill()


def test_newer_schema(closed):
    db = sqlite3.connect(os.path.join(closed.data, "store.db"))
    db.execute("PRAGMA user_version = 99")
    db.close()
    said = refused(closed)
    assert "was written by a newer version (schema 99" in said


def test_foreign_database(closed):
    os.unlink(os.path.join(closed.data, "store.db"))
    db = sqlite3.connect(os.path.join(closed.data, "store.db"))
    db.execute("CREATE TABLE mine (x)")
    db.commit()
    db.close()
    assert "it is not a database of Fairlead" in refused(closed)


def test_no_rights(closed):
    if os.geteuid() == 0:
        closed.prefix = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        os.chmod(closed.data, 0o700)
    else:
        os.chmod(os.path.join(closed.data, "store.db"), 0)
        os.chmod(os.path.join(closed.data, "store.lock"), 0)
    with pytest.raises(apilib.Refused) as e:
        closed.start()
    assert e.value.status == 1 and "Permission denied" in e.value.said and closed.data in e.value.said


def test_second_start(closed):
    closed.start()
    second = apilib.Api(closed.data)
    with pytest.raises(apilib.Refused) as e:
        second.start()
    assert e.value.status == 1 and f"is in use by process {closed.process.pid}" in e.value.said
    closed.kill()
    closed.start()  # what the other has left is no obstacle
    closed.stop()


def test_port_in_use(closed):
    with socket.create_server(("127.0.0.1", 0)) as s:
        closed.options = ["--listen", f"127.0.0.1:{s.getsockname()[1]}"]
        with pytest.raises(apilib.Refused) as e:
            closed.start()
    assert e.value.status == 1 and "another program listens there" in e.value.said
