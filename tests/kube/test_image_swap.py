# SPDX-License-Identifier: GPL-3.0-or-later
"""Only the image is changed: pods with the Corefiles, arguments, rights and roles of kubeadm, k3s and OpenShift
(`platforms/`), once with our image (`deploy/image`) and once with CoreDNS 1.15, which shows that the pods are right. Each
has a service account with exactly the stock ClusterRole, and all the tests ask of us CoreDNS does, too."""
import contextlib
import json
import os
import re
import subprocess
import time

import pytest
import yaml

from controllerlib import until
from dnslib import Api, answers, rcode
from lib import client, cluster, pod, server, wire
from lib.upstream import Upstream

HERE = os.path.dirname(os.path.abspath(__file__))
PLATFORMS = {name: yaml.safe_load(open(os.path.join(HERE, "platforms", name + ".yaml"), encoding="utf-8"))
             for name in ("kubeadm", "k3s", "openshift")}
POD_IP = "10.244.0.5"
SECRETS = "/var/run/secrets/kubernetes.io/serviceaccount"
# What a container has whose manifest says nothing of capabilities (CRI-O).
RUNTIME_CAPABILITIES = {"CHOWN", "DAC_OVERRIDE", "FSETID", "FOWNER", "SETGID", "SETUID", "SETPCAP", "NET_BIND_SERVICE", "KILL"}
RELOAD_SECONDS = 60  # `reload` looks every 30 s and up to 15 s later
WORLD = """
www.example.org. A
    answer {name} 60 IN A 192.0.2.1
www.example.org. AAAA
    answer {name} 60 IN AAAA 2001:db8::1
* *
    rcode NXDOMAIN
    authority . 1 IN SOA a. b. 1 2 3 4 1
"""
OTHER_WORLD = """
added.example. A
    answer {name} 60 IN A 198.51.100.7
"""
PORTS = [{"name": "http", "port": 80, "protocol": "TCP"}]
ASKS = [("web.shop.svc.cluster.local", "A", "10.96.1.1"), ("db.shop.svc.cluster.local", "A", "10.244.1.1 10.244.1.2"),
        ("one.db.shop.svc.cluster.local", "A", "10.244.1.1"), ("out.shop.svc.cluster.local", "CNAME", "www.example.org."),
        ("_http._tcp.web.shop.svc.cluster.local", "SRV", "0 100 80 web.shop.svc.cluster.local."),
        ("1.1.96.10.in-addr.arpa", "PTR", "web.shop.svc.cluster.local."),
        ("10-244-1-9.shop.pod.cluster.local", "A", "10.244.1.9"), ("www.example.org", "A", "192.0.2.1"),
        ("nope.shop.svc.cluster.local", "A", "NXDOMAIN"), ("nope.example.org", "A", "NXDOMAIN")]
pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root (namespaces, other users)")


class Audited(cluster.Cluster):
    """A cluster with RBAC that writes down what service accounts ask."""

    def __init__(self):
        super().__init__(rbac=True)
        policy = os.path.join(self.dir, "audit.yaml")
        with open(policy, "w", encoding="utf-8") as f:
            json.dump({"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"], "rules": [
                {"level": "Metadata", "userGroups": ["system:serviceaccounts"]}, {"level": "None"}]}, f)
        self.audit = os.path.join(self.dir, "audit.log")
        self.flags += [f"--audit-policy-file={policy}", f"--audit-log-path={self.audit}"]

    def asked(self, user):
        """{(verb, group, resource): {status codes}} of a user."""
        found = {}
        for e in cluster.whole_lines(self.audit):
            if e["user"]["username"] == user:
                what = e.get("objectRef", {})
                found.setdefault((e["verb"], what.get("apiGroup", ""), what.get("resource", e["requestURI"])), set()).add(
                    e.get("responseStatus", {}).get("code"))
        return found

    def account(self, namespace, name, rules):
        """A service account with these rules and no others; a token of it."""
        api = Api(self)
        if self.call("GET", f"/api/v1/namespaces/{namespace}")[0] == 404:
            api.namespace(namespace)
        accounts = f"/api/v1/namespaces/{namespace}/serviceaccounts"
        api.call("POST", accounts, {"metadata": {"name": name}})
        rbac, label = "/apis/rbac.authorization.k8s.io/v1", f"{namespace}-{name}"
        api.call("POST", f"{rbac}/clusterroles", {"metadata": {"name": label}, "rules": rules})
        api.call("POST", f"{rbac}/clusterrolebindings", {
            "metadata": {"name": label}, "subjects": [{"kind": "ServiceAccount", "namespace": namespace, "name": name}],
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": label}})
        return api.call("POST", f"{accounts}/{name}/token", {
            "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}})["status"]["token"]


# ---- images ----


def recipe():
    """What the last stage of the Containerfile says: entry point, user and environment."""
    with open(os.path.join(server.ROOT, "deploy", "image", "Containerfile"), encoding="utf-8") as f:
        last = f.read().rpartition("\nFROM ")[2]
    word = lambda name: re.search(rf"^{name} (.*)$", last, re.M)[1]  # noqa: E731
    return {"entry": json.loads(word("ENTRYPOINT")), "uid": int(word("USER").partition(":")[0]),
            "env": dict([word("ENV").split("=", 1)])}


@pytest.fixture(scope="module")
def images(tmp_path_factory):
    base = tmp_path_factory.mktemp("images")
    ours, theirs = str(base / "fairlead"), str(base / "coredns")
    subprocess.run([os.path.join(server.ROOT, "deploy", "image", "rootfs"), server.fairlead_program(), ours], check=True)
    # Theirs: the program is linked against the C library here, so it has the same files around it.
    subprocess.run(["cp", "-a", ours, theirs], check=True)
    program = os.path.join(theirs, "usr", "bin", "fairlead")
    subprocess.run(["cp", "--remove-destination", server.coredns_program(), program], check=True)
    subprocess.run(["setcap", "cap_net_bind_service=ep", program], check=True)
    return {"fairlead": {"root": ours, **recipe()}, "coredns": {"root": theirs, **recipe()}}


# ---- pods ----


def capabilities(manifest):
    c = manifest["securityContext"].get("capabilities")
    if c is None:
        return RUNTIME_CAPABILITIES
    assert [x.upper() for x in c["drop"]] == ["ALL"]
    return set(c["add"])


class Swapped:
    """The pod of a platform with an image, its network, volumes and service account."""

    def __init__(self, stack, c, image, name, platform, folder, worlds):
        self.manifest = m = PLATFORMS[platform]
        account = f"{m['serviceAccount']}-{platform}-{name}"  # others have it, too
        token = c.account(m["namespace"], account, m["rules"])
        self.user = f"system:serviceaccount:{m['namespace']}:{account}"
        self.network = stack.enter_context(pod.Network(POD_IP, ["10.96.0.1", "10.0.0.2", "10.0.0.3"]))
        self.api = stack.enter_context(pod.Relay(self.network, ("10.96.0.1", 443), ("127.0.0.1", c.port), closed=True))
        for address, world in zip(("10.0.0.2", "10.0.0.3"), worlds):
            stack.enter_context(pod.Relay(self.network, (address, 53), ("127.0.0.1", world.port), udp=True))
        with open(c.ca, encoding="ascii") as f:
            secrets = {"token": token, "ca.crt": f.read(), "namespace": m["namespace"]}
        os.makedirs(folder)
        mounts = {SECRETS: os.path.join(folder, "secrets"), "/etc/resolv.conf": os.path.join(folder, "resolv.conf")}
        pod.Volume(mounts[SECRETS], secrets)
        with open(mounts["/etc/resolv.conf"], "w", encoding="ascii") as f:
            f.write("nameserver 10.0.0.2\n")
        self.volumes = {}
        for i, (path, files) in enumerate(m["volumes"].items()):
            inner = [p[len(path) + 1:] for p in m["volumes"] if p.startswith(path + "/")]
            mounts[path] = os.path.join(folder, f"volume-{i}")
            self.volumes[path] = pod.Volume(mounts[path], files, inner)
        security = m["securityContext"]
        assert security["readOnlyRootFilesystem"]
        self.pod = stack.enter_context(pod.Pod(
            self.network, image["root"], m.get("command", image["entry"]) + m["args"],
            {**image["env"], "HOSTNAME": "dns-0", "KUBERNETES_SERVICE_HOST": "10.96.0.1", "KUBERNETES_SERVICE_PORT": "443"},
            image["uid"], capabilities(m), not security.get("allowPrivilegeEscalation", True), mounts, m.get("scratch", [])))

    def probe(self, name):
        """The status a kubelet sees, on the pod's address; 0 where nobody listens."""
        return self.pod.get(self.manifest["ports"][name], "/" + name)[0]

    def ask(self, name, rtype="A", tcp=False):
        question = wire.query(name, rtype, ident=7)
        port = self.manifest["dnsPort"]
        reply = self.network.on_node(lambda: client.tcp_ask(port, question, target=POD_IP)[0] if tcp else
                                     client.udp_ask(port, question, target=POD_IP))
        assert reply is not None, f"no reply to {name} {rtype}\n{self.pod.output()}"
        return wire.parse(reply)

    def answer(self, name, rtype, tcp=False):
        """Data of the type asked for, or the code."""
        reply = self.ask(name, rtype, tcp)
        return " ".join(answers(reply).get(rtype, [])) or rcode(reply)

    def metrics(self):
        status, text = self.pod.get(self.manifest["ports"]["metrics"], "/metrics", local=True)
        assert status == 200
        return text

    def change(self):
        for path, how in self.manifest["change"].items():
            files = how.get("write") or {n: t.replace(*how["replace"], 1) for n, t in self.manifest["volumes"][path].items()}
            assert files != self.manifest["volumes"][path]
            self.volumes[path].write(files)


def fill(c):
    api = Api(c)
    api.namespace("shop")
    api.service("shop", "web", clusterIP="10.96.1.1", ports=PORTS)
    api.service("shop", "db", clusterIP="None", ports=PORTS)
    api.slice("shop", "db-1", "db", [{"addresses": ["10.244.1.1"], "hostname": "one"}, {"addresses": ["10.244.1.2"]}], PORTS)
    api.service("shop", "out", type="ExternalName", externalName="www.example.org")
    api.service("shop", "early", clusterIP="10.96.1.2", ports=PORTS)


def until_in_pods(pods, what, seconds=90):
    """Until what(p) has held for each; shows the output of those that it did not hold for."""
    waiting, end = dict(pods), time.monotonic() + seconds
    while waiting:
        for key, p in list(waiting.items()):
            assert p.pod.alive(), f"{key} ended\n{p.pod.output()}"
            if what(p):
                del waiting[key]
        assert not waiting or time.monotonic() < end, "\n".join(f"{key}: not so\n{p.pod.output()}" for key, p in waiting.items())
        time.sleep(0.1)


@pytest.fixture(scope="module")
def place(images, tmp_path_factory):
    folder = tmp_path_factory.mktemp("pods")
    with contextlib.ExitStack() as stack:
        c = stack.enter_context(Audited())
        fill(c)
        worlds = [stack.enter_context(Upstream(text)) for text in (WORLD, OTHER_WORLD)]
        yield c, {(platform, name): Swapped(stack, c, images[name], name, platform, str(folder / f"{platform}-{name}"), worlds)
                  for platform in PLATFORMS for name in images}


@pytest.fixture(scope="module")
def early(place):
    """What was seen before the API could be reached; afterwards it can, and all are ready."""
    _, pods = place
    until_in_pods(pods, lambda p: p.probe("health") == 200)
    until_in_pods(pods, lambda p: p.probe("ready") != 0 and ("udp", p.manifest["dnsPort"]) in p.pod.listening())
    # A name that no other test queries: CoreDNS's `cache` keeps this SERVFAIL for five seconds.
    seen = {key: (p.probe("ready"), p.answer("early.shop.svc.cluster.local", "A")) for key, p in pods.items()}
    for p in pods.values():
        p.api.open()
    first = {}

    def ready(p):
        if p not in first and p.probe("ready") == 200:
            first[p] = p.answer("web.shop.svc.cluster.local", "A")
        return p in first
    until_in_pods(pods, ready)
    return seen, {key: first[p] for key, p in pods.items()}


@pytest.fixture
def pods(place, early):
    return place[1]


each = pytest.mark.parametrize("key", [(p, n) for p in PLATFORMS for n in ("fairlead", "coredns")], ids="-".join)


@each
def test_ready_only_with_data(early, key):
    """Without the API the pod lives, and is not ready; the first question once it is ready is answered."""
    seen, first = early
    assert seen[key] == (503, "SERVFAIL") and first[key] == "10.96.1.1"


@each
def test_answers(pods, key):
    p = pods[key]
    for name, rtype, want in [*ASKS, *p.manifest.get("asks", [])]:
        for tcp in (False, True):
            assert p.answer(name, rtype, tcp) == want, (name, rtype, tcp)


@each
def test_listens_where_the_manifest_says(pods, key):
    p = pods[key]
    want = {(proto, p.manifest["dnsPort"]) for proto in ("udp", "tcp")} | {("tcp", n) for n in p.manifest["ports"].values()}
    assert p.pod.listening() == want


@each
def test_rights(pods, images, key):
    """Another user than root, with the capabilities of the manifest, of which only that for low ports is used; no file can be written."""
    p = pods[key]
    status = p.pod.status()
    assert set(status["Uid"].split()) == {str(images[key[1]]["uid"])} != {"0"}
    bind = 1 << pod.CAPABILITIES["NET_BIND_SERVICE"]
    assert int(status["CapEff"], 16) == int(status["CapPrm"], 16) == bind
    assert int(status["CapBnd"], 16) == sum(1 << pod.CAPABILITIES[n] for n in capabilities(p.manifest))
    assert status["NoNewPrivs"] == str(int(key[0] != "openshift"))
    with open(f"/proc/{p.pod.pid}/mountinfo", encoding="ascii") as f:
        mounts = {line.split()[4]: line.split()[5].split(",") for line in f}
    assert all("ro" in options for path, options in mounts.items() if not path.startswith(("/dev", "/proc", "/tmp")))
    assert "ro" in mounts["/"]


@each
def test_asks_the_api_only_what_it_may(place, pods, key):
    """Services, EndpointSlices and Namespaces are listed and watched; nothing was refused, and nothing else asked for."""
    c, _ = place
    asked = until(lambda: c.asked(pods[key].user))
    kinds = {("", "services"), ("discovery.k8s.io", "endpointslices"), ("", "namespaces")}
    assert {what[1:] for what in asked} == kinds
    assert {what[0] for what in asked} <= {"list", "watch"}
    assert not [what for what, codes in asked.items() if codes - {200, None}]


@each
def test_metrics(pods, key):
    text = pods[key].metrics()
    for name in ("coredns_build_info", "coredns_dns_requests_total", "coredns_cache_entries",
                 "coredns_health_request_duration_seconds", "process_resident_memory_bytes"):
        assert re.search(rf"^# TYPE {name} ", text, re.M), name


@pytest.mark.parametrize("platform", PLATFORMS)
def test_memory(pods, platform):
    """Far below what the manifest requests."""
    p = pods[platform, "fairlead"]
    request = int(p.manifest["memory"]["request"].removesuffix("Mi")) << 20
    resident = int(p.pod.status()["VmRSS"].split()[0]) << 10
    print(f"{platform}: {resident >> 20} MB resident; CoreDNS {pods[platform, 'coredns'].pod.status()['VmRSS']}")
    with open(server.fairlead_program(), "rb") as f:
        sanitized = re.search(rb"__[at]san_init", f.read())
    assert sanitized or resident < request / 2


def test_changed_config_maps(pods):
    """The kubelet swaps the volumes' links; all see it, by `reload` alone."""
    for p in pods.values():
        assert p.answer("added.example", "A") == "NXDOMAIN"
        p.change()
    until_in_pods(pods, lambda p: p.answer("added.example", "A") == "198.51.100.7", RELOAD_SECONDS)
    for p in pods.values():
        for name, rtype, want in [*ASKS, *p.manifest.get("asksAfter", [])]:
            assert p.answer(name, rtype) == want


def test_end(pods):
    """SIGTERM: not ready at once, questions answered as long as the lame duck lives, and an end within the 30 s that a pod
    has, with status 0."""
    begin = time.monotonic()
    for p in pods.values():
        p.pod.terminate()
    ducks = {key: p for key, p in pods.items() if p.manifest["lameduck"]}
    until_in_pods(ducks, lambda p: p.probe("ready") != 200, 4)
    for p in ducks.values():
        assert p.answer("web.shop.svc.cluster.local", "A") == "10.96.1.1"
    for key, p in pods.items():
        status = p.pod.process.wait(30)
        assert status == 0, (key, p.pod.output())
        # Those with longer lame ducks were waited for in the order of the table.
        assert time.monotonic() - begin < max(q["lameduck"] for q in PLATFORMS.values()) + 8


def test_no_capability_at_all(images, tmp_path):
    """A pod that drops all and adds none, under a user of which the image knows nothing, as OpenShift's restricted ones are:
    no low port, so none is needed."""
    volume = tmp_path / "volume"
    pod.Volume(str(volume), {"Corefile": ".:5353 {\n    whoami\n    health\n}\n"})
    image = images["fairlead"]
    with pod.Network(POD_IP) as net, pod.Pod(net, image["root"], ["coredns", "-conf", "/etc/coredns/Corefile"], image["env"],
                                             1000650000, set(), mounts={"/etc/coredns": str(volume)}) as p:
        until(lambda: p.get(8080, "/health")[0] == 200 or not p.alive())
        assert p.alive(), p.output()
        assert p.status()["CapPrm"] == "0" * 16
