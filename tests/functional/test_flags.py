# SPDX-License-Identifier: GPL-3.0-or-later
"""Every flag of every sub-command, at a value other than its default. The flags are those that --help lists, so that a new one
without a start in the tables below fails. A start combines as many flags as it can; its output, or what the server then does,
shows that they were read."""
import json
import os
import re
import shlex
import signal
import ssl
import stat
import subprocess
import urllib.request

import pytest
import yaml

from helpers import answers, eventually, run, slower
from lib import certs, node_network, server
from lib.ports import free_port
from lib.upstream import Upstream

# Starts with a test of their own: servers, mostly. Words in braces are values of `world`. `up all` runs as long as the world: the other
# commands use its API.
OWN = {
    "up": {
        "all": "--data {data} --api 127.0.0.1:{api} --dns 127.0.0.1:{dns} --load {dir}/load --load {dir}/one.yaml "
               "--controllers *,example,-ipam --lookup-servers {upstream} --pod-dns-servers 192.0.2.53 "
               "--child 'nap=/bin/sleep 1000' --name box.example --name 192.0.2.77 --service-cidr 10.97.0.0/16 "
               "--service-cidr fd00:97::/112 --dnsrecord-classes seed,shoot --dnsrecord-serials 30s --dnsrecord-notify 127.0.0.1:{port} "
               "--log-format json",
        "conf": "--data {dir}/conf --api 127.0.0.1:{api} --dns 127.0.0.1:{dns} --conf {dir}/Corefile",
        "egress": "--data {dir}/egress --api 127.0.0.1:{api} --dns 127.0.0.1:{dns} --egress off",
    },
    "api": {
        "all": "--data {dir}/api --listen 127.0.0.1:{api} --name box.example --service-cidr 10.98.0.0/16 --service-cidr fd00:98::/112",
    },
    "dns": {
        "all": "-conf configmap:shop/corefile/text -kubeconfig {data}/kubeconfig -state-dir {dir}/state -log-format json -max-tls 7 "
               "-pidfile {dir}/pid -quiet -dns.port {dns}",
        "p": "-conf {dir}/Corefile -p {dns}",
    },
    "controller": {
        "cluster": "--controllers dnsoperator,dnsrecord,example,ipam --kubeconfig {kubeconfig} --context right --namespace flags "
                   "--lease-kubeconfig {data}/kubeconfig --lease-duration 9s --lease-renew 8s --lease-retry 1s "
                   "--take-lease example=flags/other --heartbeat 5s --write-rate example=7:9 --lookup-servers {upstream} "
                   "--listen 127.0.0.1:{api} --webhook-listen 127.0.0.1:{dns} --webhook-names hooks.example --webhook-secret own-hooks "
                   "--webhook-registration own-registration --webhook-ca-life 100h --webhook-cert-life 50h --webhook-overlap 2m "
                   "--webhook-look 3s --platform gardener --feature-gates DNSTemplatePlugin=true --dns-instances 127.0.0.1:{port} "
                   "--dns-ask dns --dns-reload-time 1m --dns-settle-time 5s --dns-cluster-domain other.local --dns-operands false "
                   "--dns-image dns:1 --dns-cli-image cli:1 --dns-proxy-image proxy:1 --dns-config-source api "
                   "--dnsrecord-types local,rfc2136 --dnsrecord-classes garden,seed --dnsrecord-ownership drop-in --dnsrecord-probe 5m "
                   "--dnsrecord-serials 30s --dnsrecord-notify 127.0.0.1:{port} --dnsrecord-by-generation --dnsrecord-dry-run "
                   "--log-format json",
        "alone": "--controllers poddns --kubeconfig {data}/kubeconfig --no-election --listen 127.0.0.1:{api} --webhook-listen 127.0.0.1:{dns} "
                 "--webhook-cert {dir}/cert.pem --webhook-key {dir}/key.pem --pod-dns-servers 192.0.2.54",
    },
    "node": {
        "all": "--kubeconfig {kubeconfig} --context right -n shop --name box --socket {dir}/agent.sock --socket-group 54321 "
               "--listen 127.0.0.1:{api} --tls-cert {dir}/cert.pem --tls-key {dir}/key.pem --tls-ca {dir}/ca.pem --pod-ranges 10.4.0.0/16 "
               "--always-open 192.0.2.0/24 --report-namespace flags --data-path nftables --log-group 7 --metrics 127.0.0.1:{dns} "
               "--log-format json",
        "machine": "--data {data} --namespace shop --machine --name box --socket {dir}/machine.sock",
        "probe": "--probe --socket {dir}/agent.sock",
        "alive": "--probe --alive --socket {dir}/agent.sock",
        "remove": "--remove --data {data} --name box",
    },
    "resolvconf": {
        "follow": "-f {dir}/pod.yaml --host-resolv {dir}/host --cluster-dns 192.0.2.10 --write {dir}/written --follow",
    },
}

# Starts that end: words, exit status, what standard output and standard error must match.
ENDING = {
    "dns": [("-plugins", 0, r"(?m)^whoami$"), ("-version", 0, r"^Fairlead-\d")],
    "resolvconf": [
        ("-f {dir}/pod.yaml --host-resolv {dir}/host --cluster-dns 192.0.2.10 --cluster-domain other.local --use-domain -n shop "
         "--profile libc-safe --libc musl --explain", 0, r"(?s)nameserver 192\.0\.2\.10.*shop\.svc\.other\.local.*corp\.example"),
        ("-f {dir}/pod.yaml --host-resolv= --node-ips 2001:db8::1 --cluster-dns 192.0.2.10 --namespace tools -o json", 0,
         r'"tools\.svc\.cluster\.local"'),
    ],
    "advise": [("--cluster-domain other.local --ndots 4 --search corp.example --libc musl --final-dots --replay --max-names 5000 -o json "
                "{dir}/queries.log", 0, r'"clusterDomain": ?"other\.local"')],
    "explain": [
        ("192.0.2.9 --kubeconfig {kubeconfig} --context right -n shop --names-namespace shop -o json", 0, r'"namespace": ?"shop"'),
        ("192.0.2.9 --data {data} --namespace tools", 0, "(?m)^namespace tools$"),
    ],
    "status": [
        ("--kubeconfig {kubeconfig} --context right -n shop", 0, r"(?s)context 'right'.*1 object checked"),
        ("--data {data} --namespace shop", 0, "1 object checked"),
    ],
    "get": [
        ("svc --kubeconfig {kubeconfig} --context right -n shop -l app=web --field-selector metadata.name=web -o json "
         "--show-managed-fields", 0, r'(?s)"name": ?"web".*"managedFields"'),
        ("svc --data {data} --namespace shop -o name", 0, r"^service/web\n$"),
        ("svc --data {data} -A", 0, r"(?s)default +kubernetes.*shop +web"),
    ],
    "apply": [
        ("-f {dir}/late.yaml --dry-run --kubeconfig {kubeconfig} --context right -n shop", 0, r"(?s)late.*\(dry run\)"),
        ("-f {dir}/late.yaml --force-conflicts --wait --timeout 30s --data {data} --namespace shop", 0, "configmap/late created"),
    ],
    "delete": [
        ("-f {dir}/gone.yaml --cascade foreground --timeout 30s --kubeconfig {kubeconfig} --context right -n shop", 0, "configmap/gone deleted"),
        ("cm/never --no-wait --ignore-not-found --data {data} --namespace shop", 0, ""),
    ],
    "netconfig": [
        ("-f {root}/examples/machines --machine example --mode flat -o netplan --own-nameservers prepend --dhcp-dns use", 0, r"nameservers"),
        ("-f {root}/examples/machines -o nocloud --out {dir}/out --user-data {dir}/user-data", 0, ""),
        ("-f {root}/examples/machines -o nocloud --iso {dir}/seed.iso", 0, ""),
        ("-f {root}/examples/machines --machine example --kubeconfig {kubeconfig} --context right -n vsphere-site1 --defaults-namespace shop", 0, "nameservers"),
        ("-f {root}/examples/machines --machine example --data {data} --namespace vsphere-site1 -o merged", 0, "addresses"),
    ],
    "plan": [
        ("-f {dir}/record.yaml -o json --offline --dnsrecord-types rfc2136 --dnsrecord-classes garden --dnsrecord-ownership drop-in "
         "--kubeconfig {kubeconfig} --context right -n shop", 2, r'"namespace": ?"shop"'),
        ("-f {dir}/record.yaml --dnsrecord-classes garden --data {data} --namespace tools --offline", 2, "tools/flag: create"),
    ],
    "adopt": [
        ("--yes --txt-owner-id me --txt-prefix a- --kubeconfig {kubeconfig} --context right -n shop", 0, ""),
        ("--txt-suffix=-b --data {data} --namespace shop", 0, ""),
    ],
    "backup": [("{dir}/copy --data {data}", 0, "")],
    "restore": [("{dir}/first-copy --data {dir}/restored", 0, "")],
    "export": [("--data {data}", 0, r"(?s)name: web.*")],
    "check": [("{dir}/Corefile", 0, "")],
    "help": [("whoami", 0, "^whoami")],
}


# ---- the tables are complete ----

def sub_commands():
    return re.findall(r"^  (\w+) +\w", run("--help")[1].split("\ncommands:\n")[1], re.M)


def flags(command):
    """{name: its text} as --help has them."""
    status, text, _ = run(command, "--help")
    assert status == 0
    return dict(re.findall(r"^  -([\w.-]+)(?: .*)?\n {8}(.*)$", text, re.M))


def starts(command):
    """The words of all starts of the command, with the values still in braces."""
    return [shlex.split(words) for words in [*OWN.get(command, {}).values(), *(row[0] for row in ENDING.get(command, []))]]


def given(words):
    """(name, value) of each flag; the value of a switch is the next word, which is a flag or an argument."""
    for word, following in zip(words, [*words[1:], ""]):
        if word.startswith("-"):
            name, equals, value = word.lstrip("-").partition("=")
            yield name, value if equals else following


def test_every_command_has_a_start():
    assert set(sub_commands()) == {*OWN, *ENDING}


def test_every_start_of_its_own_has_a_test():
    with open(__file__, encoding="utf-8") as f:
        source = f.read()
    assert not [(command, name) for command, rows in OWN.items() for name in rows if f'"{command}", "{name}"' not in source]


@pytest.mark.parametrize("command", sorted({*OWN, *ENDING}))
def test_every_flag_has_a_start(command):
    known = flags(command)
    used = [pair for words in starts(command) for pair in given(words)]
    assert {name for name, _ in used} == set(known), "each flag of --help needs a start in the tables of this file"
    default = {name: re.search(r"default:? ([^\s;,)]+)|(\S+) \(default\)", text) for name, text in known.items()}
    for name, found in default.items():
        values = {value for n, value in used if n == name}
        assert found is None or values - {found[1] or found[2]}, f"-{name} is used at its default only"


# ---- the world ----

LOADED = """apiVersion: v1
kind: Namespace
metadata:
  name: shop
  labels: {example.fairlead.dev/copy: "true"}
  annotations: {example.fairlead.dev/lookup: only.upstream.example}
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop, labels: {app: web}}
spec: {ipFamilyPolicy: RequireDualStack, ports: [{port: 80}]}
---
apiVersion: k8s.ovn.org/v1
kind: EgressFirewall
metadata: {name: default, namespace: shop}
spec: {egress: [{type: Deny, to: {cidrSelector: 0.0.0.0/0}}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: corefile, namespace: shop}
data: {text: ". {\\n    bind 127.0.0.1\\n    whoami\\n}\\n"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: fairlead-example, namespace: default}
data: {a: b}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: gone, namespace: shop}
"""
FILES = {
    "load/objects.yaml": LOADED,
    "one.yaml": "apiVersion: v1\nkind: Namespace\nmetadata: {name: flags}\n---\napiVersion: v1\nkind: Namespace\nmetadata: {name: tools}\n",
    "late.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: late}\ndata: {a: b}\n",
    "gone.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: gone}\n",
    "Corefile": ". {\n    bind 127.0.0.1\n    hosts {\n        192.0.2.7 own.example\n    }\n}\n",
    "pod.yaml": "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: c, image: i}]}\n",
    "host": "nameserver 192.0.2.1\ndomain corp.example\n",
    "queries.log": '[INFO] 10.4.0.1:1234 - 1 "A IN www.example.org.shop.svc.other.local. udp 50 false 512" NXDOMAIN qr,aa 100 0.0001s\n'
                   '[INFO] 10.4.0.1:1234 - 2 "A IN www.example.org. udp 50 false 512" NOERROR qr,aa 100 0.0001s\n',
    "user-data": "#cloud-config\n{}\n",
    "record.yaml": "apiVersion: extensions.gardener.cloud/v1alpha1\nkind: DNSRecord\nmetadata: {name: flag}\nspec: {type: rfc2136, class: garden, "
                   "name: flag.example.com, recordType: A, values: [192.0.2.1], secretRef: {name: s, namespace: shop}}\n",
}


class World(dict):
    """Values for the words in braces, fresh ports for each start."""

    def words(self, command, words):
        ports = {key: free_port() for key in ("api", "dns", "port")}
        return ports, [command, *(w.format_map({**self, **ports}) for w in shlex.split(words))]

    def start(self, command, name, prefix=()):
        ports, words = self.words(command, OWN[command][name])
        return Started([*prefix, server.fairlead_program(), *words], ports, os.path.join(self["dir"], f"{command}-{name}.log"))


class Started:
    def __init__(self, command, ports, log):
        self.ports, self.log = ports, log
        with open(log, "w", encoding="utf-8") as f:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=f, stderr=subprocess.STDOUT)

    def text(self):
        with open(self.log, encoding="utf-8") as f:
            return f.read()

    def wait(self, check, what):
        """Until check() is true, as long as the program runs."""
        def seen():
            assert self.process.poll() is None, f"ended with {self.process.returncode}:\n{self.text()}"
            try:
                return check()
            except OSError:
                return None
        return eventually(seen, 20, what)

    def wait_text(self, pattern):
        return self.wait(lambda: re.search(pattern, self.text()), f"'{pattern}' in {self.log}")

    def get(self, path):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.ports['api']}{path}", timeout=10) as reply:
            return reply.read().decode()

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(slower(30))
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise


def write_files(folder):
    for name, text in FILES.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    certs.make_ca(folder)
    certs.make_cert(folder)
    os.mkdir(folder / "state")


def write_kubeconfig(data, path):
    """A copy whose current context leads nowhere; `right` is the one to use."""
    with open(os.path.join(data, "kubeconfig"), encoding="utf-8") as f:
        config = yaml.safe_load(f)
    cluster, user = config["contexts"][0]["context"]["cluster"], config["contexts"][0]["context"]["user"]
    config["clusters"].append({"name": "nowhere", "cluster": {"server": "https://127.0.0.1:1"}})
    config["contexts"] = [{"name": name, "context": {"cluster": at, "user": user}} for name, at in (("right", cluster), ("wrong", "nowhere"))]
    config["current-context"] = "wrong"
    with open(path, "w", encoding="utf-8") as f:
        json.dump(config, f)


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    folder = tmp_path_factory.mktemp("flags")
    write_files(folder)
    with Upstream("only.upstream.example. A\n    answer {name} 60 IN A 192.0.2.99\nonly.upstream.example. AAAA\n    answer {name} 60 IN AAAA 2001:db8::99\n") as upstream:
        world = World(dir=str(folder), root=server.ROOT, data=str(folder / "data"), kubeconfig=str(folder / "kubeconfig"),
                      upstream=f"127.0.0.1:{upstream.port}")
        up = world.start("up", "all")
        try:
            up.wait_text(r"(?m)^try: ")
            write_kubeconfig(world["data"], world["kubeconfig"])
            fairlead("backup", str(folder / "first-copy"), "--data", world["data"])
            world.up = up
            yield world
            assert up.stop() == 0, up.text()
        finally:
            if up.process.poll() is None:
                up.process.kill()


def fairlead(*words, status=0, stdin=""):
    got, out, err = run(*words, timeout=60, stdin=stdin)
    assert got == status, out + err
    return out


def ask(port, name, rtype):
    """Data of the answer, or None without a reply."""
    done = subprocess.run(["kdig", "+short", "+time=2", "+retry=0", "@127.0.0.1", "-p", str(port), name, rtype], capture_output=True,
                          text=True, timeout=30, check=False)
    return done.stdout.split() if done.returncode == 0 else None


def certificate_names(port):
    pem = ssl.get_server_certificate(("127.0.0.1", port))
    return subprocess.run(["openssl", "x509", "-noout", "-ext", "subjectAltName"], input=pem, capture_output=True, text=True, check=True).stdout


# ---- starts that end ----

@pytest.mark.parametrize("command,words,status,pattern", [(command, *row) for command, rows in ENDING.items() for row in rows])
def test_it_ends(world, command, words, status, pattern):
    got, out, err = run(*world.words(command, words)[1], timeout=60, env={"KUBECONFIG": "/nonexistent"})
    assert got == status and re.search(pattern, out), f"status {got}\n{out}\n{err}"


# ---- servers ----

@pytest.fixture
def launch(world):
    """launch(command, name): a running start of OWN, which is stopped at the end and must end well."""
    made = []

    def start(command, name, of=world, prefix=()):
        made.append(of.start(command, name, prefix))
        return made[-1]
    yield start
    for started in reversed(made):
        alive = started.process.poll() is None
        assert started.stop() in (0, -signal.SIGTERM) or not alive, started.text()


def test_up(world):
    port = world.up.ports["dns"]
    assert ask(port, "kubernetes.default.svc.cluster.local", "A") == ["10.97.0.1"]
    assert ask(port, "web.shop.svc.cluster.local", "A")[0].startswith("10.97.")
    assert ask(port, "web.shop.svc.cluster.local", "AAAA")[0].startswith("fd00:97::")
    names = certificate_names(world.up.ports["api"])
    assert "box.example" in names and "192.0.2.77" in names
    status = fairlead("status", "--data", world["data"])
    controllers = re.search(r"^controllers: (.*)$", status, re.M)[1]
    assert "example" in controllers and "ipam" not in controllers and re.search(r"^child nap: ", status, re.M)
    eventually(lambda: "192.0.2.99" in fairlead("get", "cm", "-n", "shop", "--data", world["data"], "-o", "json"), 20)
    fairlead("get", "ns", "flags", "--data", world["data"])
    log = [line for line in world.up.text().splitlines() if line.startswith("{")]
    assert log and all(json.loads(line)["msg"] for line in log)


def test_up_conf(launch):
    up = launch("up", "conf")
    up.wait_text("(?m)^try: ")
    assert ask(up.ports["dns"], "own.example", "A") == ["192.0.2.7"]


def test_up_egress(launch):
    up = launch("up", "egress")
    up.wait_text("(?m)^try: ")
    assert ask(up.ports["dns"], "kubernetes.default.svc.cluster.local", "A") == ["10.96.0.1"]


def test_api(world, launch):
    api = launch("api", "all")
    api.wait_text("(?m)^try: ")
    assert "box.example" in certificate_names(api.ports["api"])
    data = os.path.join(world["dir"], "api")
    assert "10.98.0.1" in fairlead("get", "svc", "--data", data)
    service = "apiVersion: v1\nkind: Service\nmetadata: {name: two}\nspec: {ipFamilyPolicy: RequireDualStack, ports: [{port: 1}]}\n"
    fairlead("apply", "-f", "-", "--data", data, stdin=service)
    assert "fd00:98::" in fairlead("get", "svc", "two", "-o", "yaml", "--data", data)


def test_dns(world, launch):
    dns = launch("dns", "all")
    dns.wait(lambda: answers(dns.ports["dns"], timeout=0.1) and os.path.exists(os.path.join(world["dir"], "pid")), "an answer")
    eventually(lambda: os.listdir(os.path.join(world["dir"], "state")))
    with open(os.path.join(world["dir"], "pid"), encoding="ascii") as f:
        assert int(f.read()) == dns.process.pid
    assert all(json.loads(line)["msg"] for line in dns.text().splitlines())


def test_dns_p(launch):
    dns = launch("dns", "p")
    dns.wait(lambda: answers(dns.ports["dns"], timeout=0.1), "an answer")
    assert ask(dns.ports["dns"], "own.example", "A") == ["192.0.2.7"]


def test_resolvconf_follow(world, launch):
    follow = launch("resolvconf", "follow")
    written = os.path.join(world["dir"], "written")
    follow.wait(lambda: "corp.example" not in open(written, encoding="utf-8").read(), "the file")


def start_api(world, launch, prefix=()):
    """A second API, and values of `world` for starts that use it."""
    launch("api", "all", prefix=prefix).wait_text("(?m)^try: ")
    values = {"data": os.path.join(world["dir"], "api"), "kubeconfig": os.path.join(world["dir"], "api-kubeconfig")}
    write_kubeconfig(values["data"], values["kubeconfig"])
    for name in ("shop", "flags"):
        subprocess.run([*prefix, server.fairlead_program(), "apply", "-f", "-", "--data", values["data"]], check=True, text=True,
                       input="apiVersion: v1\nkind: Namespace\nmetadata: {name: %s}\n" % name)
    return World({**world, **values})


def test_controller(world, launch):
    of = start_api(world, launch)
    controller = launch("controller", "cluster", of)
    controller.wait_text("leading as ")
    controller.wait(lambda: controller.get("/readyz"), "/readyz")
    get = ["get", "-n", "flags", "--data", of["data"], "-o", "json"]
    leases = json.loads(fairlead(*get, "leases"))["items"]
    assert {x["spec"]["leaseDurationSeconds"] for x in leases} == {5, 9} and "other" in [x["metadata"]["name"] for x in leases]  # 5: heartbeat
    controller.wait(lambda: '"own-hooks"' in fairlead(*get, "secrets"), "the Secret of the webhooks")
    controller.wait(lambda: "hooks.example" in certificate_names(controller.ports["dns"]), "the certificate")
    assert all(json.loads(line)["msg"] for line in controller.text().splitlines())


def test_controller_alone(world, launch):
    controller = launch("controller", "alone", start_api(world, launch))
    controller.wait_text("leading as the only process")
    controller.wait(lambda: "dns.test" in certificate_names(controller.ports["dns"]), "the certificate of the files")


@pytest.fixture
def namespace():
    """Words before a command that run it in a network namespace of its own: rules of a node are those of its network."""
    if node_network.why_not() is not None:
        pytest.skip(f"THIS MACHINE CANNOT RUN NODE TESTS: {node_network.why_not()}")
    name = f"fl-flags-{os.getpid()}"
    subprocess.run(["ip", "netns", "add", name], check=True)
    try:
        subprocess.run(["ip", "-n", name, "link", "set", "lo", "up"], check=True)
        yield ["ip", "netns", "exec", name]
    finally:
        subprocess.run(["ip", "netns", "del", name], check=True)


def test_node(world, launch, namespace):
    inside = start_api(world, launch, namespace)

    def ends(command, name):
        """Exit status of another start beside it."""
        return subprocess.run([*namespace, server.fairlead_program(), *inside.words(command, OWN[command][name])[1]], timeout=60).returncode

    node = launch("node", "all", inside, namespace)
    node.wait_text("DNS servers of this node ask at")
    node.wait(lambda: ends("node", "alive") == 0, "an answer of the agent")
    assert stat.S_IMODE(os.stat(os.path.join(world["dir"], "agent.sock")).st_mode) & 0o060 and \
        os.stat(os.path.join(world["dir"], "agent.sock")).st_gid == 54321
    assert node.stop() == 0 and ends("node", "probe") == 1
    machine = launch("node", "machine", inside, namespace)
    machine.wait_text("DNS servers of this node ask at")
    assert machine.stop() == 0 and ends("node", "remove") == 0
