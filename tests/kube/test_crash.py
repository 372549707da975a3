# SPDX-License-Identifier: GPL-3.0-or-later
"""kill -9 under load, over HTTPS: what was answered is there, and nothing is half there.

Several writers, each with objects of its own and one request under way at a time, a watcher, and a process that is killed
at random moments, while it starts, too. After each restart all objects are compared with the last answers. The number of kills is $FAIRLEAD_KILLS (25).
"""
import http.client
import json
import os
import random
import socket
import ssl
import struct
import threading
import time

import pytest

import apilib
import callerlib

KILLS = int(os.environ.get("FAIRLEAD_KILLS") or 25)
WRITERS = 5
NAMES = 4  # of each writer and kind
LOAD_SECONDS = (0.005, 0.12)
START_KILLS = 0.2  # of all rounds
MERGE = "application/merge-patch+json"
APPLY = "application/apply-patch+yaml"
CUT = (http.client.HTTPException, OSError)
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
SERVICES = "/api/v1/namespaces/default/services"


def config_map(name, mark):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": {"mark": mark}},
            "data": {"first": mark, "filler": "x" * random.randrange(2000), "last": mark}}


def service(name, mark):
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name, "labels": {"mark": mark}},
            "spec": {"type": "LoadBalancer", "ports": [{"name": "http", "port": 80}], "selector": {"mark": mark}}}


def marks(o):
    """All places a write leaves its mark in; they must agree."""
    found = [o["metadata"]["labels"]["mark"]]
    if o["kind"] == "ConfigMap":
        found += [o["data"]["first"], o["data"]["last"]]
    return found


class Writer(threading.Thread):
    """Writes until the server is gone. `known` holds the last answer about each object, None for one that is not there; `doubt`
    is what was asked for last without an answer."""

    def __init__(self, number):
        super().__init__()
        self.number = number
        self.known = {f"{where}/w{number}-{i}": None for where in (CONFIG_MAPS, SERVICES) for i in range(NAMES)}
        self.doubt = None
        self.count = 0
        self.wrong = None

    def again(self, api):
        super().__init__()
        self.user, self.system = api.client(), api.client("system")
        self.doubt = None
        return self

    def run(self):
        try:
            while self.wrong is None:
                self.write()
        except CUT:
            pass
        finally:
            self.user.close()
            self.system.close()

    def write(self):
        path = random.choice(list(self.known))
        self.count += 1
        mark = f"m{self.number}-{self.count}"
        op = random.choice(self.absent if self.known[path] is None else self.present)
        self.doubt = (path, None if op == Writer.remove else mark)
        status, body = op(self, path, mark)
        if status not in (200, 201):
            self.wrong = f"{op.__name__} {path}: {status} {body}"
            return
        self.known[path] = None if op == Writer.remove else body
        self.doubt = None

    def body(self, path, mark):
        name = path.rsplit("/", 1)[1]
        return config_map(name, mark) if path.startswith(CONFIG_MAPS) else service(name, mark)

    def create(self, path, mark):
        return self.user.call("POST", path.rsplit("/", 1)[0], self.body(path, mark))

    def replace(self, path, mark):
        o = json.loads(json.dumps(self.known[path]))
        o["metadata"]["labels"]["mark"] = mark
        if o["kind"] == "ConfigMap":
            o["data"].update(first=mark, last=mark)
        return self.user.call("PUT", path, o)

    def patch(self, path, mark):
        change = {"metadata": {"labels": {"mark": mark}}}
        if path.startswith(CONFIG_MAPS):
            change["data"] = {"first": mark, "last": mark}
        return self.user.call("PATCH", path, change, MERGE)

    def apply(self, path, mark):
        return self.user.call("PATCH", f"{path}?fieldManager=crash&force=true", self.body(path, mark), APPLY)

    def status(self, path, mark):
        if path.startswith(CONFIG_MAPS):
            return self.patch(path, mark)
        change = {"metadata": {"labels": {"mark": mark}},
                  "status": {"loadBalancer": {"ingress": [{"ip": f"10.9.{self.number}.{self.count % 250}"}]}}}
        status, o = self.system.call("PATCH", path + "/status", change, MERGE)
        if status == 200 and marks(o)[0] != mark:
            # Labels are not written with the status: what it was before is the mark.
            self.doubt = (path, marks(o)[0])
        return status, o

    def remove(self, path, _):
        return self.user.call("DELETE", path)

    absent = (create, create, apply)
    present = (replace, patch, patch, apply, status, remove)

    def check(self, client):
        """After a restart; takes over what is there."""
        assert self.wrong is None, self.wrong
        for path, was in self.known.items():
            status, now = client.call("GET", path)
            assert status in (200, 404), now
            now = now if status == 200 else None
            if now != was:
                self.check_doubt(path, was, now)
            self.known[path] = now
        return [o for o in self.known.values() if o is not None]

    def check_doubt(self, path, was, now):
        assert self.doubt is not None and self.doubt[0] == path, f"{path} was {was}, is {now}; in doubt: {self.doubt}"
        if now is None:
            assert self.doubt[1] is None, f"{path} is gone, was {was}"
            return
        allowed = {self.doubt[1]} | ({marks(was)[0]} if was is not None else set())  # a status leaves the mark
        assert len(set(marks(now))) == 1 and marks(now)[0] in allowed, f"half: {now}, in doubt: {self.doubt}"
        assert now["metadata"]["managedFields"] and now["metadata"]["creationTimestamp"]
        if was is not None:
            assert now["metadata"]["uid"] == was["metadata"]["uid"]
            assert int(now["metadata"]["resourceVersion"]) > int(was["metadata"]["resourceVersion"])


class Watcher(threading.Thread):
    """Follows all ConfigMaps over restarts, from version to version."""

    def __init__(self):
        super().__init__()
        self.at, self.state, self.events, self.relists, self.wrong = None, {}, 0, 0, None

    def again(self, api):
        super().__init__()
        self.client = api.client()
        if self.at is None:
            self.list()
        return self

    def list(self):
        status, answer = self.client.call("GET", CONFIG_MAPS)
        assert status == 200
        self.at = int(answer["metadata"]["resourceVersion"])
        self.state = {o["metadata"]["name"]: o["metadata"]["resourceVersion"] for o in answer["items"]}

    def run(self):
        try:
            answer = self.client.send("GET", f"{CONFIG_MAPS}?watch=1&resourceVersion={self.at}")
            while self.wrong is None and (line := answer.readline()):
                if line.endswith(b"\n"):
                    self.take(json.loads(line))
        except CUT:
            pass
        finally:
            self.client.close()

    def take(self, event):
        o = event["object"]
        if event["type"] == "ERROR":
            self.wrong = event
            return
        version = int(o["metadata"]["resourceVersion"])
        if version <= self.at:
            self.wrong = f"{version} after {self.at}: {event}"
        self.at = version
        self.events += 1
        self.state[o["metadata"]["name"]] = o["metadata"]["resourceVersion"]
        if event["type"] == "DELETED":
            del self.state[o["metadata"]["name"]]

    def catch_up(self, api, version):
        """Hears all up to a version, whose change it has not heard of yet."""
        self.client = api.client()
        answer = self.client.send("GET", f"{CONFIG_MAPS}?watch=1&resourceVersion={self.at}")
        assert answer.status == 200
        while self.at < version:
            line = answer.readline()
            assert line, f"the watch ended at {self.at}, {version} was to be seen"
            event = json.loads(line)
            if event["type"] == "ERROR" and event["object"]["code"] == 410:
                self.relists += 1
                self.client.close()
                self.list()
                break
            self.take(event)
        self.client.close()  # the watch would go on
        assert self.wrong is None, self.wrong


def check_all(api, writers, watcher, highest):
    """One consistent whole; the highest version there is."""
    client = api.client()
    objects = [o for w in writers for o in w.check(client)]
    listed = []
    for where in (CONFIG_MAPS, SERVICES):
        status, answer = client.call("GET", where)
        assert status == 200
        listed += [dict(o, kind=answer["kind"][:-4], apiVersion="v1") for o in answer["items"]
                   if o["metadata"]["name"].startswith("w")]
        version = int(answer["metadata"]["resourceVersion"])
    key = lambda o: (o["kind"], o["metadata"]["name"])
    assert sorted(listed, key=key) == sorted(objects, key=key)
    for field in ("uid", "resourceVersion"):
        values = [o["metadata"][field] for o in objects]
        assert len(set(values)) == len(values)
    addresses = [o["spec"]["clusterIP"] for o in objects if o["kind"] == "Service"]
    assert len(set(addresses)) == len(addresses)
    assert version >= max([int(o["metadata"]["resourceVersion"]) for o in objects] + [highest]), "versions went back"
    status, last = client.call("PATCH", f"{CONFIG_MAPS}/last?fieldManager=crash", config_map("last", f"after-{version}"), APPLY)
    assert status in (200, 201) and int(last["metadata"]["resourceVersion"]) > version
    watcher.catch_up(api, int(last["metadata"]["resourceVersion"]))
    there = {o["metadata"]["name"]: o["metadata"]["resourceVersion"] for o in objects + [last] if o["kind"] == "ConfigMap"}
    assert {n: v for n, v in watcher.state.items() if n != "kube-root-ca.crt"} == there
    client.close()
    return int(last["metadata"]["resourceVersion"])


def one_kill(api, writers, watcher):
    if random.random() < START_KILLS:
        api.exec()
        time.sleep(random.uniform(0, 0.1))  # the random moment
        api.kill()
    api.start()
    threads = [w.again(api) for w in writers] + [watcher.again(api)]
    for t in threads:
        t.start()
    time.sleep(random.uniform(*LOAD_SECONDS))
    api.kill()
    for t in threads:
        t.join()
    api.start()


def test_kill_under_load(tmp_path):
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    random.seed(seed)
    api = apilib.Api(str(tmp_path / "data"))
    writers, watcher = [Writer(i) for i in range(WRITERS)], Watcher()
    highest, in_doubt = 0, 0
    try:
        for _ in range(KILLS):
            one_kill(api, writers, watcher)
            in_doubt += sum(w.doubt is not None for w in writers)
            highest = check_all(api, writers, watcher, highest)
            api.kill()
    finally:
        if api.process.returncode is None:
            api.kill()
    written = sum(w.count for w in writers)
    print(f"{KILLS} kills, {written} writes, {in_doubt} in doubt, {watcher.events} events, {watcher.relists} relists")
    assert in_doubt > 0 and watcher.events > written / 10


def test_clock_goes_back(tmp_path):
    """Versions, watches and starts do not depend on the wall clock; time stamps follow it."""
    step = tmp_path / "clock"
    step.write_bytes(struct.pack("=q", 0))
    sanitizers = os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"
    api = apilib.Api(str(tmp_path / "data"), prefix=["env", f"LD_PRELOAD={callerlib.program('clockstep.so')}", f"CLOCKSTEP={step}",
                                                     f"ASAN_OPTIONS={sanitizers}"]).start()
    client = api.client()
    first = client.call("POST", CONFIG_MAPS, config_map("first", "m1"))[1]["metadata"]
    watch = api.client().send("GET", f"{CONFIG_MAPS}?watch=1&resourceVersion={first['resourceVersion']}")
    with open(step, "r+b") as f:  # in place: it is mapped
        f.write(struct.pack("=q", -3 * 86400))
    second = client.call("POST", CONFIG_MAPS, config_map("second", "m2"))[1]["metadata"]
    assert second["creationTimestamp"] < first["creationTimestamp"]
    assert int(second["resourceVersion"]) > int(first["resourceVersion"])
    assert json.loads(watch.readline())["object"]["metadata"]["name"] == "second"
    api.kill()
    api.start()
    client = api.client()
    third = client.call("PATCH", f"{CONFIG_MAPS}/first", {"metadata": {"labels": {"mark": "m3"}}}, MERGE)[1]["metadata"]
    assert int(third["resourceVersion"]) > int(second["resourceVersion"])
    assert third["creationTimestamp"] == first["creationTimestamp"] and third["uid"] == first["uid"]
    api.stop()


@pytest.mark.parametrize("years", [-25, 9])
def test_clock_corrected_after_the_start(tmp_path, years):
    """A machine whose clock is wrong until it has heard from a time server: clients with the right time are served soon
    after, with the kubeconfig they have."""
    step = tmp_path / "clock"
    step.write_bytes(struct.pack("=q", years * 365 * 86400))
    sanitizers = os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"
    api = apilib.Api(str(tmp_path / "data"), prefix=["env", f"LD_PRELOAD={callerlib.program('clockstep.so')}", f"CLOCKSTEP={step}",
                                                     f"ASAN_OPTIONS={sanitizers}"]).start()
    assert api.client().call("GET", CONFIG_MAPS)[0] == 200  # this client's clock is right all the time
    with open(step, "r+b") as f:  # in place: it is mapped
        f.write(struct.pack("=q", 0))

    def days_left():
        with ssl.create_default_context(cafile=str(tmp_path / "data" / "ca.crt")).wrap_socket(
                socket.create_connection(("127.0.0.1", api.port)), server_hostname="localhost") as s:
            return (ssl.cert_time_to_seconds(s.getpeercert()["notAfter"]) - time.time()) / 86400

    apilib.until(lambda: days_left() > 120, "the certificate is renewed by the right time")
    assert api.client().call("GET", CONFIG_MAPS)[0] == 200
    api.stop()
