# SPDX-License-Identifier: GPL-3.0-or-later
"""From a change of `DNS default` to the last server that answers by it, measured on the wire: servers in pods (podslib.py)
that read what the operator writes, each asked all the time."""
import contextlib
import json
import ssl
import threading
import time
import urllib.error
import urllib.request

import crdlib
from controllerlib import until
from lib import cluster
from lib.upstream import Upstream
from podslib import Asker, Pods
from test_dnsoperator import DNS, KUBEADM, Place

NAME = "host.changing.example."
# Cached for fifteen minutes, as templates' answers are.
SCRIPT = "* AAAA\n    answer {name} 3600 IN AAAA 2001:db8:ffff::1\n*\n"
UPSTREAM = "NOERROR 2001:db8:ffff::1"
OTHER = {"name": "other", "zones": ["other.example"], "action": {"returnEmpty": {}}}
NETWORKS = "/apis/config.openshift.io/v1/networks"
SERVED_SECONDS = 30


class Conditions:
    """When the operator reported that all servers run a generation, seen by a watch."""

    def __init__(self, place):
        self.told = {}
        request = urllib.request.Request(f"{place.url}{DNS}?watch=1&timeoutSeconds=3600",
                                         headers={"Authorization": f"Bearer {place.token}"})
        context = ssl.create_default_context(cafile=place.ca)

        def begun():
            with contextlib.suppress(urllib.error.HTTPError):  # 429: the kind is not served yet
                self.stream = urllib.request.urlopen(request, timeout=3600, context=context)
                return True
        until(begun)
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            for line in self.stream:
                now, o = time.monotonic(), json.loads(line)["object"]
                for c in o.get("status", {}).get("conditions", []):
                    if c["type"] == "TemplateConfigurationApplied" and c["status"] == "True":
                        self.told.setdefault(c["message"], now)

    def when(self, generation, n):
        return self.told.get(f"All of {n} servers run generation {generation}.")


def make_place(api, caller=Place):
    """The kinds of OpenShift, a Corefile of kubeadm's; who a test is, and who writes status."""
    if isinstance(api, cluster.Cluster):
        crdlib.apply_all(api, group="openshift.io")
    place = caller(api.url, api.ca, api.admin, None)
    system = caller(api.url, api.ca, api.system, None)
    for ns in ("kube-system", "openshift-dns", "fairlead"):
        place.namespace(ns)
    place.done("POST", "/api/v1/namespaces/kube-system/configmaps", {
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "coredns"}, "data": {"Corefile": KUBEADM}})
    place.done("POST", NETWORKS, {"apiVersion": "config.openshift.io/v1", "kind": "Network", "metadata": {"name": "cluster"},
                                  "spec": {"clusterNetwork": [{"cidr": "10.128.0.0/14", "hostPrefix": 23}],
                                           "serviceNetwork": ["172.30.0.0/16"]}})
    return place, system


def changing(i):
    """The templates of a change, and what must be answered by them. Some take the template away and so give the name back
    to the upstream, others add it again or make it filter: each time what is in caches is of before (OP-27)."""
    if i % 5 == 3:
        return [OTHER], UPSTREAM
    if i % 5 == 1:
        action, want = {"returnEmpty": {}}, "NOERROR"
    else:
        address = f"2001:db8::{i + 1:x}"
        action = {"generateResponse": {"answerTemplate": "{{ .Name }} 3600 IN AAAA " + address}}
        want = f"NOERROR {address}"
    return [OTHER, {"name": "changing", "zones": ["changing.example"], "action": action}], want


class Change:
    """`served` and `applied` in seconds since the API's reply, by server; `stale`: how often a server went back to what it
    had answered before, `odd`: other answers, silence among them."""

    def __init__(self, served, applied, stale, odd):
        self.served, self.applied, self.stale, self.odd = served, applied, stale, odd


class Rig:
    """Three servers, the operator (with the rights of `token`), and those who ask."""

    def __init__(self, api, platform="kubernetes", token=None, n=3, caller=Place):
        self.api, self.platform, self.token, self.n, self.caller = api, platform, token or api.system, n, caller
        self.stack = contextlib.ExitStack()
        self.number, self.before = 0, None

    def __enter__(self):
        try:
            self.place, self.system = make_place(self.api, self.caller)
            up = self.stack.enter_context(Upstream(SCRIPT))
            self.pods = self.stack.enter_context(Pods(self.api, self.platform, up.port, self.n))
            self.conditions = Conditions(self.place)
            self.place.dns({"templates": changing(0)[0]})
            self.controller = self.pods.controller(self.api.kubeconfig(self.token, "fairlead"), "--platform", self.platform,
                                                   "--feature-gates", "DNSTemplatePlugin=true")
            self.pods.start()
            self.pods.list(self.place, self.system)
            self.askers = [Asker(self.pods, i, NAME, "AAAA") for i in range(self.n)]
            self.stack.callback(self.hush)
            self.before = changing(0)[1]
            self.settle(self.before, 1)
            return self
        except BaseException as e:
            e.add_note(self.log())
            self.stack.close()
            raise

    def __exit__(self, *_):
        self.stack.close()

    def log(self):
        return "\n".join([self.controller.text() if hasattr(self, "controller") else "",
                          self.pods.output() if hasattr(self, "pods") else ""])

    def hush(self):
        """Nobody asks any more."""
        for a in self.askers:
            a.stop()

    def looks(self):
        """Number of reconciles of the operator."""
        return self.pods.node(self.controller.looks)

    def settle(self, want, generation):
        end = time.monotonic() + SERVED_SECONDS
        while not (self.conditions.when(generation, self.n) and all(a.seen and a.seen[-1][1] == want for a in self.askers)):
            if time.monotonic() > end:
                raise AssertionError(f"generation {generation}: {[a.seen[-3:] for a in self.askers]}, {self.place.conditions()}\n"
                                     + self.log())
            time.sleep(0.005)

    def change(self):
        """One change, until all servers answer by it and the operator has said so."""
        self.number += 1
        templates, want = changing(self.number)
        reply = self.place.done("PATCH", f"{DNS}/default", {"spec": {"templates": templates}}, "application/merge-patch+json")
        begin = time.monotonic()
        generation = reply["metadata"]["generation"]
        self.settle(want, generation)
        seen = [a.since(begin) for a in self.askers]
        served = [max(0.0, next(t for t, x in s if x == want) - begin) for s in seen]
        stale = sum(x == self.before for s in seen for _, x in s[[x for _, x in s].index(want):])
        odd = [x for s in seen for _, x in s if x not in (want, self.before)]
        self.before = want
        return Change(served, max(0.0, self.conditions.when(generation, self.n) - begin), stale, odd)
