# SPDX-License-Identifier: GPL-3.0-or-later
"""docs/aaaa-filtering.md: its commands print what the page says, its metrics exist, and each row of its table of troubles was
met. The names of a cluster's addresses in the page stand for servers of the test."""
import os
import re
import subprocess

import pytest

import crdlib
import pagelib
from controllerlib import Controller, until
from dnslib import ask, answers, fairlead, lines, rcode
from lib import cluster, server
from lib.upstream import Upstream
from test_dnsoperator import DNS, FILTER, KUBEADM, LEGACY, Place
from test_dnsoperator_applied import Kubelet

PAGE = "docs/aaaa-filtering.md"
# Names of others, as they are outside.
SCRIPT = """
nxdomain.example.com. *
    rcode NXDOMAIN
* A
    answer {name} 60 IN A 192.0.2.80
* AAAA
    answer {name} 60 IN AAAA 2001:db8:80::1
* HTTPS
    answer {name} 60 IN HTTPS 1 . alpn="h2" ipv6hint="2001:db8:80::1"
*
"""


def plain(text):
    """Less what differs from run to run, and the list of what a role is made of."""
    text = re.sub(r"(?m)^(serviceaccount|\w+\.rbac)\S* created\n", "", text)
    text = re.sub(r"\bid: \d+", "id: ID", text)
    text = re.sub(r'to="[^"]*"', 'to="UPSTREAM"', text)
    text = re.sub(r'server="dns://[^"]*"', 'server="SERVER"', text)
    text = re.sub(r"[ \t]+", " ", text)
    text = re.sub(r"(?m)^(\S+\. )\d+( IN )", r"\1TTL\2", text)
    text = re.sub(r"(hostmaster\.\S+) \d+", r"\1 SERIAL", text)
    return re.sub(r"(?m)\} \d+$", "} N", text)


class Servers(Kubelet):
    """They get every text, the one from before included."""

    def local(self, i, text):
        return super().local(i, re.sub(r"(?m)^    forward \. /etc/resolv.conf$", "    forward . @UP:up@", text))

    def takes(self, text):
        return bool(text)


class Cluster:
    """An API server that knows nothing of us, with kubeadm's Corefile; two servers and the controller when they are
    started."""

    def __init__(self, folder, namespace="kube-system", configmap="coredns"):
        self.folder, self.where = str(folder), (namespace, configmap)
        self.first = KUBEADM.replace("k8s.example.org", "cluster.local").replace("       ", "        ")
        self.stack, self.functions, self.kubelet, self.controller = [], "", None, None

    def enter(self, thing):
        self.stack.append(thing)
        return thing.__enter__()

    def __enter__(self):
        try:
            c = self.enter(cluster.Cluster())
            self.up = self.enter(Upstream(SCRIPT))
            self.place = Place(c.url, c.ca, cluster.ADMIN, cluster.ADMIN)
            self.place.namespace(self.where[0])
            self.place.done("POST", f"/api/v1/namespaces/{self.where[0]}/configmaps", {
                "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": self.where[1]}, "data": {"Corefile": self.first}})
            self.kubelet = self.enter(Servers(self.place, self.place.kubeconfig(self.folder), self.up, [fairlead] * 2, where=self.where))
            return self
        except BaseException:
            self.__exit__()
            raise

    def __exit__(self, *_):
        if self.controller:
            self.controller.stop()
            self.controller = None
        while self.stack:
            self.stack.pop().__exit__(None, None, None)

    def crds(self, change=lambda text: text):
        for _, text in crdlib.documents(crdlib.CRDS):
            if crdlib.field(text, r"^  name: (\S+)$").endswith("openshift.io"):
                self.place.done("POST", crdlib.CRD_PATH, change(text).encode(), "application/yaml")
        until(lambda: self.place.call("GET", DNS)[0] == 200)

    def start(self, *args):
        if self.controller:
            self.controller.stop()
        self.controller = Controller(self.place.kubeconfig(self.folder), "--no-election", *args, controllers="dnsoperator")
        return self.controller

    def started(self, *args):
        return self.start("--dns-instances", ",".join(self.kubelet.addresses()), *args)

    @property
    def port(self):
        return self.kubelet.servers[0].port()

    def local(self, command):
        command = command.replace("@10.96.0.10", f"@127.0.0.1 -p {self.port}")
        return command.replace("10.244.0.5:9153", f"127.0.0.1:{self.kubelet.servers[0].http('metrics')}")

    def call(self, command):
        if re.match(r"\w+\(\) \{", command):
            self.functions += self.local(command) + "\n"
            return ""
        return pagelib.shell(self.place, self.folder, self.functions + self.local(command))


@pytest.fixture(scope="module")
def one(tmp_path_factory):
    with Cluster(tmp_path_factory.mktemp("page")) as c:
        c.crds()
        c.started("--dns-reload-time", "2s")
        yield c


def test_every_transcript_is_run():
    """Names of "console" blocks in all pages: those of this file, of test_support.py and of test_dnsoperator_rival.py."""
    found = set()
    for folder, _, names in os.walk(os.path.join(server.ROOT, "docs")):
        for name in (n for n in names if n.endswith(".md")):
            path = os.path.join(folder, name)
            with open(path, encoding="utf-8") as f:
                found |= {(os.path.relpath(path, server.ROOT), *words) for words in re.findall(r"(?m)^```console ?(.*)$", f.read())
                          for words in [words.split()]}
    assert found == {(PAGE, "kubernetes"), (PAGE, "openshift"), (PAGE, "machine"), (PAGE, "support"),
                     ("docs/controllers/dnsoperator.md", "take-over")}


def test_on_kubernetes(tmp_path):
    """From a cluster without anything to the Corefile of before."""
    with Cluster(tmp_path) as c:
        blocks = pagelib.blocks(PAGE, "kubernetes")
        p = c.start()  # before anything is there: it says what is missing, and waits
        p.wait_line(r"watch of DNS: .* \(the API has no such kind: install its CRD, deploy/crds\)")
        for line, block in blocks[:2]:
            pagelib.follow(f"{PAGE}:{line}", block, c.call, plain)
        until(lambda: c.place.call("GET", DNS)[0] == 200)
        c.started()
        for line, block in blocks[2:-1]:
            pagelib.follow(f"{PAGE}:{line}", block, c.call, plain)
        c.controller.stop()
        c.controller = None
        pagelib.follow("back", blocks[-1][1], c.call, plain)
        assert c.place.text() == c.first


def test_on_openshift(tmp_path):
    """A CRD without the field."""
    def older(text):
        return re.sub(r"(?m)^( +)templates:\n(?:\1 .*\n)+", "", text) if "kind: DNS\n" in text else text
    with Cluster(tmp_path, "openshift-dns", "dns-default") as c:
        c.crds(older)
        c.place.done("POST", "/apis/config.openshift.io/v1/networks", {
            "apiVersion": "config.openshift.io/v1", "kind": "Network", "metadata": {"name": "cluster"}, "spec": {
                "clusterNetwork": [{"cidr": "10.128.0.0/14", "hostPrefix": 23}], "serviceNetwork": ["172.30.0.0/16"]}})
        c.place.dns({})
        c.started("--feature-gates", "DNSTemplatePlugin=true")
        for line, block in pagelib.blocks(PAGE, "openshift"):
            pagelib.follow(f"{PAGE}:{line}", block, c.call, plain)


def test_on_one_machine(tmp_path):
    api, dns, log = server.Port(), server.Port(), tmp_path / "log"
    with open(log, "w", encoding="utf-8") as f:
        process = subprocess.Popen([server.fairlead_program(), "up", "--api", f"127.0.0.1:{api.number}", "--dns", f"127.0.0.1:{dns.number}"],
                                   cwd=pagelib.home_in(tmp_path), stdin=subprocess.DEVNULL, stdout=f, stderr=subprocess.STDOUT)
    try:
        until(lambda: re.search(r"^try: ", log.read_text(), re.M) or process.poll() is not None)
        for line, block in pagelib.blocks(PAGE, "machine"):
            pagelib.follow(f"{PAGE}:{line}", block,
                           lambda command: pagelib.shell(None, tmp_path, command.replace("-p 1053", f"-p {dns.number}")), plain)
    finally:
        process.terminate()
        status = process.wait(20)
        api.release()
        dns.release()
    assert status == 0 and "Sanitizer" not in log.read_text(), log.read_text()


# ---- troubles ----

def set_dns(c, *templates, **spec):
    return c.place.dns({"templates": list(templates), **spec})


def everywhere(c, *templates, **spec):
    """All servers run it."""
    generation = set_dns(c, *templates, **spec)
    until(lambda: f"run generation {generation}." in c.place.conditions().get("TemplateConfigurationApplied", {}).get("message", ""))


def records(c, name, rtype):
    m = ask(c.port, name, rtype)
    return rcode(m), answers(m)


def valid_false(c):
    everywhere(c, LEGACY)
    set_dns(c, {**LEGACY, "zones": ["cluster.local"]})
    assert "spec.templates[0].zones[0]" in c.place.says("TemplateConfigurationValid", "False ReservedZone")
    assert records(c, "x.legacy.example.com.", "AAAA")[1] == {"AAAA": ["2001:db8::100"]}


def gate(c):
    c.started("--feature-gates", "DNSTemplatePlugin=false")
    set_dns(c, FILTER)
    c.place.says("TemplateConfigurationValid", "Unknown FeatureGateDisabled")
    c.started()
    c.place.says("TemplateConfigurationValid", "True AsExpected")


def late(c, reason, *flags):
    """A server that does not get the new text."""
    everywhere(c, LEGACY)
    slow = c.kubelet.servers[1]
    with open(slow.conf, encoding="utf-8") as f:
        before = f.read()
    c.kubelet.change = lambda i, text: before if i and "fairlead.internal" in text else text
    try:
        c.started(*flags)
        set_dns(c, FILTER)
        assert f"127.0.0.1:{slow.port()}" in c.place.says("TemplateConfigurationApplied", f"False {reason}")
    finally:
        c.kubelet.change = lambda i, text: text
        c.started("--dns-reload-time", "2s")
    c.place.says("TemplateConfigurationApplied", "True AsExpected")


def unreachable(c):
    port = server.Port()
    c.start("--dns-instances", f"127.0.0.1:{port.number}")
    set_dns(c, FILTER)
    assert f"127.0.0.1:{port.number}" in c.place.says("TemplateConfigurationApplied", "Unknown InstancesUnreachable")
    port.release()


def nobody(c):
    c.start()
    set_dns(c, FILTER)
    c.place.says("TemplateConfigurationApplied", "Unknown NoInstances")


def unmanaged(c):
    everywhere(c, FILTER)
    set_dns(c, LEGACY, managementState="Unmanaged")
    c.place.says("TemplateConfigurationApplied", "Unknown Unmanaged")
    assert "legacy" not in c.place.text()


def dual_stack(c):
    nodes = "/api/v1/nodes"
    everywhere(c, FILTER)
    c.place.done("POST", nodes, {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "six"}, "spec": {"podCIDRs": ["fd00:10::/64"]}})
    try:
        assert "Use specific zones" in c.place.says("AAAAFilterDualStackWarning", "True DualStackCluster")
        everywhere(c, LEGACY)
        c.place.says("AAAAFilterDualStackWarning", "False NoCoveringTemplate")
    finally:
        c.place.done("DELETE", f"{nodes}/six")


def of_a_service(c):
    everywhere(c, FILTER)
    assert records(c, "kubernetes.default.svc.cluster.local.", "A")[1]
    assert records(c, "nothing.default.svc.cluster.local.", "AAAA")[0] == "NXDOMAIN"


def of_others(c):
    everywhere(c, FILTER)
    asked = c.up.count("other.example.com.")
    assert records(c, "other.example.com.", "AAAA") == ("NOERROR", {}) and c.up.count("other.example.com.") == asked
    assert ask(c.up.port, "other.example.com.", "AAAA").answer  # who asks past the cluster's DNS


def hints(c):
    everywhere(c, FILTER)
    assert "ipv6hint" in str(records(c, "hint.example.com.", "HTTPS")[1])


def ttls(c):
    for templated, cache, arrives in (("3600", {}, 900), ("0", {}, 5), ("3600", {"positiveTTL": "1h"}, 3600)):
        everywhere(c, {"name": "ttl", "zones": ["ttl.example.com"], "action": {"generateResponse": {
            "answerTemplate": "{{ .Name }} %s IN AAAA 2001:db8::1" % templated}}}, cache=cache)
        m = ask(c.port, f"a{arrives}.ttl.example.com.", "AAAA")
        assert int(lines(m)[-1].split()[2 if lines(m)[-1].startswith("answer") else 1]) == arrives, lines(m)


def any_type(c):
    everywhere(c, FILTER)
    assert records(c, "www.example.com.", "ANY") == ("NOERROR", {})


def ipv6_only_program(c):
    everywhere(c, FILTER)
    assert records(c, "six.example.com.", "AAAA") == ("NOERROR", {}) and records(c, "six.example.com.", "A")[1]
    # names that are not there
    assert records(c, "nxdomain.example.com.", "AAAA") == ("NOERROR", {}) and records(c, "nxdomain.example.com.", "A")[0] == "NXDOMAIN"


def template_error(c):
    with fairlead(""".:@PORT@ {
    errors
    prometheus 127.0.0.1:@HTTP:metrics@
    template IN AAAA . {
        answer "{{ .Name }} 60 IN AAAA {{ .Name }}"
    }
}
""") as s:
        assert rcode(ask(s.port(), "x.example.com.", "AAAA")) == "SERVFAIL"
        until(lambda: "template error" in s.output())
        assert re.search(r"(?m)^fairlead_dns_template_errors_total\{.* 1$", s.get("metrics", "/metrics")[1])
    set_dns(c, {**LEGACY, "action": {"generateResponse": {"answerTemplate": "{{ .Name }} 60 IN AAAA {{ .Name }}"}}})
    c.place.says("TemplateConfigurationValid", "False InvalidAnswerTemplate")


def metric(c, pattern):
    text = c.call("curl -s http://10.244.0.5:9153/metrics")
    return sum(float(line.rsplit(" ", 1)[1]) for line in text.splitlines() if re.match(pattern, line))


def requests_metric(c):
    everywhere(c, FILTER)
    asked, sent = r'coredns_dns_requests_total\{.*type="AAAA"', r'coredns_forward_requests_total\{.*type="AAAA"'
    before = metric(c, asked), metric(c, sent)
    records(c, "counted.example.com.", "AAAA")
    until(lambda: metric(c, asked) == before[0] + 1)
    assert metric(c, sent) == before[1]


def covered(path, test):
    """Tried elsewhere, by the test of that name."""
    def check(_):
        with open(os.path.join(server.ROOT, path), encoding="utf-8") as f:
            assert f"def {test}(" in f.read()
    return check


TROUBLES = {
    "`TemplateConfigurationValid` False": valid_false,
    "`TemplateConfigurationValid` Unknown, `FieldPruned`": covered("tests/kube/test_dnsoperator.py", "test_crd_without_templates"),
    "`TemplateConfigurationValid` Unknown, `FeatureGateDisabled`": gate,
    "`TemplateConfigurationApplied` False, `Updating`": lambda c: late(c, "Updating", "--dns-reload-time", "1h"),
    "`TemplateConfigurationApplied` False, `ReloadFailed`": lambda c: late(c, "ReloadFailed", "--dns-reload-time", "1s"),
    "`TemplateConfigurationApplied` Unknown, `InstancesUnreachable`": unreachable,
    "`TemplateConfigurationApplied` Unknown, `NoInstances`": nobody,
    "`TemplateConfigurationApplied` Unknown, `Unmanaged`": unmanaged,
    "`AAAAFilterDualStackWarning` True": dual_stack,
    "no conditions at all, the ConfigMap does not change": covered("tests/kube/test_dnsoperator_rival.py", "test_not_beside_the_original"),
    "AAAA of a Service is still answered": of_a_service,
    "AAAA of an outside name is still answered": of_others,
    "a browser still uses IPv6": hints,
    "TTL 900 instead of 3600, or 5 instead of 0": ttls,
    "`ANY` has no records": any_type,
    "a program reports that a name has no address, and `dig A` shows one": ipv6_only_program,
    "SERVFAIL, and `template error` in the servers' log": template_error,
    "`coredns_dns_requests_total` does not fall": requests_metric,
    "`spec.templates` is gone after an upgrade or downgrade": covered("tests/kube/test_dnsoperator.py", "test_crd_without_templates"),
}


def rows():
    with open(os.path.join(server.ROOT, PAGE), encoding="utf-8") as f:
        table = f.read().split("## Troubleshooting\n")[1].split("\n## ")[0]
    return [line.split(" | ")[0][2:] for line in table.splitlines() if line.startswith("| ")][1:]


def test_every_trouble_was_met():
    assert set(rows()) == set(TROUBLES)


@pytest.mark.parametrize("trouble", TROUBLES)
def test_trouble(one, trouble):
    one.started("--dns-reload-time", "2s")
    TROUBLES[trouble](one)


def test_metrics_of_the_page_exist(one):
    everywhere(one, FILTER)
    records(one, "www.example.com.", "AAAA")
    records(one, "www.example.com.", "A")
    with open(os.path.join(server.ROOT, PAGE), encoding="utf-8") as f:
        names = set(re.findall(r"\b((?:coredns|fairlead)_\w+)", f.read()))
    text = one.call("curl -s http://10.244.0.5:9153/metrics")
    assert len(names) > 5
    # that of errors is there from the first one on: template_error() sees it
    assert {n for n in names if not re.search(rf"(?m)^{n}\b", text)} == {"fairlead_dns_template_errors_total"}
