# SPDX-License-Identifier: GPL-3.0-or-later
"""`fairlead resolvconf`: the proposal's examples byte for byte, manifests of all forms, errors with their place; and what
programs of two C libraries do with the rendered file, counted by a resolver in a network namespace of its own."""
import contextlib
import errno
import json
import os
import re
import socket
import struct
import subprocess
import threading

import pytest
import yaml

from helpers import needs_root, run, sanitizer
from lib import pod as podlib
from lib import server, wire
from lib.libc import lookup_program

HOST = "nameserver 10.1.1.10\nsearch foo.com\noptions ndots:1\n"
CUSTOM = """# Pod spec
apiVersion: v1
kind: Pod
metadata: {"namespace": "ns1", "name": "example"}
spec:
  dnsPolicy: Custom
  dnsConfig:
    nameservers: ["1.2.3.4"]
    searches:
    - ns1.svc.cluster.local
    - my.dns.search.suffix
    options:
    - name: ndots
      value: 2
    - name: edns0
"""
CUSTOM_FILE = "nameserver 1.2.3.4\nsearch ns1.svc.cluster.local my.dns.search.suffix\noptions ndots:2 edns0\n"
NDOTS_FILE = "nameserver 10.0.0.10\nsearch default.svc.cluster.local svc.cluster.local cluster.local foo.com\noptions ndots:1\n"


def pod(name="p", **spec):
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


class Command:
    """Runs the command on manifests in a folder with the proposal's host file; texts and trees alike."""

    def __init__(self, folder):
        self.folder = folder
        (folder / "host").write_text(HOST)

    def __call__(self, *manifests, flags=(), host="host", stdin="", dns="10.0.0.10"):
        args = []
        for i, m in enumerate(manifests):
            (self.folder / f"m{i}.yaml").write_text(m if isinstance(m, str) else json.dumps(m))
            args += ["-f", f"m{i}.yaml"]
        return run("resolvconf", *args, "--host-resolv", host, "--cluster-dns", dns, *flags, cwd=self.folder, stdin=stdin)


@pytest.fixture
def command(tmp_path):
    return Command(tmp_path)


# ---- the proposal ----

def test_custom_policy(command):
    """PD-21, PD-6: with the spelling of the proposal, warnings included."""
    status, out, err = command(CUSTOM, flags=["--libc", "glibc"])
    assert (status, out) == (0, CUSTOM_FILE)
    assert err.splitlines() == ['m0.yaml:6:3: warning: dnsPolicy "Custom" is an older word for "None"; API servers refuse it',
                                'm0.yaml:14:7: warning: the value is a number; API servers accept strings only: "2"']
    for profile in ("seed", "libc-safe"):
        assert command(CUSTOM, flags=["--profile", profile])[:2] == (0, CUSTOM_FILE)


def test_own_ndots(command):
    """PD-20."""
    o = pod(dnsPolicy="ClusterFirst", dnsConfig={"options": [{"name": "ndots", "value": "1"}]})
    assert command(o, flags=["--libc", "glibc"]) == (0, NDOTS_FILE, "")


def test_second_sample_as_written(command):
    """PD-21: the list where an object belongs is an error with its place."""
    status, out, err = command("apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  dnsPolicy: ClusterFirst\n  dnsConfig:\n"
                               "  - options:\n    - name: ndots\n    - value: 1\n")
    assert (status, out) == (1, "")
    assert err.splitlines() == ['m0.yaml:6:3: spec.dnsConfig: Invalid value: "array": must be of type object: "array"',
                                "m0.yaml:6:3: hint: write the fields of dnsConfig without a dash before them"]


def test_value_behind_a_dash(command):
    """PD-21: so is a value that is an option of its own."""
    status, out, err = command("apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  dnsPolicy: ClusterFirst\n  dnsConfig:\n"
                               "    options:\n    - name: ndots\n    - value: \"1\"\n")
    assert (status, out) == (1, "")
    assert err.splitlines()[-1] == "m0.yaml:9:7: hint: write the value of an option without a dash before it"


# ---- manifests ----

TEMPLATES = {"Deployment": "apps/v1", "StatefulSet": "apps/v1", "DaemonSet": "apps/v1", "ReplicaSet": "apps/v1", "Job": "batch/v1"}


def template(kind, name, **spec):
    return {"apiVersion": TEMPLATES[kind], "kind": kind, "metadata": {"name": name, "namespace": "shop"}, "spec": {"template": {"spec": spec}}}


def test_lists_documents_and_templates(command):
    """Several pods: each has a line that names it; other objects are left out."""
    objects = [template(kind, kind.lower(), dnsPolicy="Default") for kind in TEMPLATES]
    objects += [{"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "cron"}, "spec": {"jobTemplate": {"spec": {"template": {
        "spec": {"dnsPolicy": "Default"}}}}}}, {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": {}}]
    texts = {"list": json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}), "documents": yaml.safe_dump_all(objects)}
    wanted = "".join(f"# {kind} shop/{kind.lower()}\n{HOST}" for kind in TEMPLATES) + f"# CronJob default/cron\n{HOST}"
    for text in texts.values():
        assert command(text) == (0, wanted, "")
    assert command(flags=["-f", "-"], stdin=texts["list"]) == (0, wanted, "")
    assert command(flags=["-f", "-", "-n", "other"], stdin=texts["documents"])[1] == wanted.replace("default/", "other/")


def test_objects_without_a_name(command):
    """generateName is enough, and so is nothing: a manifest that `kubectl create` accepts, or a template on its way there."""
    made, bare, odd = pod(dnsPolicy="Default"), pod(dnsPolicy="Default"), pod(dnsPolicy="Default")
    made["metadata"] = {"generateName": "web-"}
    bare["metadata"] = {}
    odd["metadata"] = {"generateName": "a\nb"}
    deployment = {**template("Deployment", "x", dnsPolicy="Default"), "metadata": {"generateName": "web.", "namespace": "shop"}}
    assert command(made) == command(bare) == (0, HOST, "")
    names = ["Pod default/web-*", "Pod default/*", 'Pod default/"a\\nb"', "Deployment shop/web.*"]
    assert command(made, bare, odd, deployment) == (0, "".join(f"# {name}\n{HOST}" for name in names), "")
    tree = json.loads(command(made, flags=["-o", "json"])[1])
    assert (tree["name"], tree["generateName"]) == ("", "web-")


def test_list_of_an_api_server(command):
    """Items of a PodList name neither kind nor apiVersion; a List of anything must."""
    items = [{"metadata": {"name": name}, "spec": {"dnsPolicy": "Default"}} for name in "ab"]
    pods = {"apiVersion": "v1", "kind": "PodList", "items": [*items, pod("c", dnsPolicy="Default")]}
    assert command(pods) == (0, "".join(f"# Pod default/{name}\n{HOST}" for name in "abc"), "")
    deployments = {"apiVersion": "apps/v1", "kind": "DeploymentList", "items": [
        {"metadata": {"name": "d"}, "spec": {"template": {"spec": {"dnsPolicy": "Default"}}}}]}
    assert command(deployments, flags=["-o", "json"])[1].startswith('{\n  "kind": "Deployment"')
    assert command({**pods, "kind": "List"})[2] == "m0.yaml:1:48: object without kind\n"
    assert command({**pods, "items": [5]})[0] == 1


def test_namespace_of_the_search_list(command):
    for flags, ns in ((["--namespace", "a"], "a"), ([], "default")):
        assert f"search {ns}.svc.cluster.local svc" in command(pod(), flags=flags)[1]
    named = pod()
    named["metadata"]["namespace"] = "b"
    assert "search b.svc.cluster.local" in command(named, flags=["-n", "a"])[1]


def test_complete_config_as_yaml_and_json(command):
    """What -o yaml prints gives the same file when it is the pod's own configuration, whatever the node."""
    status, out, _ = command(pod(hostNetwork=True, dnsPolicy="ClusterFirstWithHostNet"), flags=["-o", "yaml"])
    tree = yaml.safe_load(out)
    assert status == 0 and tree["dnsPolicy"] == "None" and tree["dnsConfig"]["options"] == [{"name": "ndots", "value": "5"}]
    status, out, _ = command(pod(**tree), host="missing")
    assert (status, out) == (0, NDOTS_FILE.replace("ndots:1", "ndots:5"))
    status, out, err = command(pod(dnsConfig={"searches": ["."]}), flags=["-o", "json"])
    tree = json.loads(out)
    assert (status, tree["kind"], tree["namespace"], tree["name"], tree["appliedPolicy"]) == (0, "Pod", "default", "p", "ClusterFirst")
    assert [f["reason"] for f in tree["findings"]] == ["musl-root-search"] and "lint musl-root-search" in err
    assert tree["dnsConfig"]["searches"][-1] == "."


def test_explain(command):
    """Each line with its input, each dropped entry with the rule; still a file that reads the same."""
    o = pod(dnsConfig={"searches": ["foo.com.", "bar.com"], "options": [{"name": "ndots", "value": "2"}]})
    status, out, _ = command(o, flags=["--explain"])
    plain = command(o)[1]
    assert status == 0 and "".join(line + "\n" for line in out.splitlines() if not line.startswith("#")) == plain
    assert "#   foo.com: host file, search domain 1\n" in out
    assert "#   foo.com: spec.dnsConfig.searches[0]; not used: an earlier entry is the same\n" in out
    assert "#   ndots:5: option of the policy; not used: a later option has the same name\n" in out


# ---- the node ----

def test_broken_host_file(command, tmp_path):
    """PD-12: pods with policy None do not need it."""
    (tmp_path / "broken").write_text("search a\nnameserver\n")
    none = pod("none", dnsPolicy="None", dnsConfig={"nameservers": ["192.0.2.1"]})
    for host, why in (("broken", "'broken': line 2: nameserver has no address"),
                      ("missing", "cannot read 'missing': No such file or directory")):
        status, out, err = command(none, pod("other"), host=host)
        assert (status, out) == (1, "# Pod default/none\nnameserver 192.0.2.1\n")
        assert err == f"m1.yaml:1:1: policy ClusterFirst needs the host's resolver file: {why}\n"
        assert command(none, host=host) == (0, "nameserver 192.0.2.1\n", "")


def test_host_file_that_no_pod_needs(command, tmp_path):
    """PD-12: it is not even opened. A pipe that nobody writes to would hold the command up, for a minute."""
    os.mkfifo(tmp_path / "pipe")
    none = pod("none", dnsPolicy="None", dnsConfig={"nameservers": ["192.0.2.1"]})
    assert command(none, host="pipe") == (0, "nameserver 192.0.2.1\n", "")
    (tmp_path / "long").write_text("search " + " ".join(f"d{i}" for i in range(30)))
    assert command(none, host="long")[2] == ""
    assert command(none, pod(), pod("other"), host="long")[2].count("CheckLimitsForResolvConf") == 1


def test_host_file_of_10_mib(command, tmp_path):
    """PD-34."""
    (tmp_path / "large").write_bytes(b"search a\n" + b"#" * ((10 << 20) - 9))
    assert "it has 10 MiB or more" in command(pod(), host="large")[2]
    (tmp_path / "large").write_bytes(b"search a\n" + b"#" * ((10 << 20) - 10))
    assert "search default.svc.cluster.local svc.cluster.local cluster.local a\n" in command(pod(), host="large")[1]


def test_node_without_a_host_file(command):
    """PD-11."""
    for ips, servers in ((None, ["127.0.0.1"]), ("192.0.2.1", ["127.0.0.1"]), ("2001:db8::1,192.0.2.1", ["::1", "127.0.0.1"])):
        _, out, _ = command(pod(dnsPolicy="Default"), host="", flags=["--node-ips", ips] if ips else [])
        assert out == "".join(f"nameserver {s}\n" for s in servers) + "search .\n"


def test_missing_cluster_dns(command):
    """PD-8: Events in kubelet's words."""
    status, out, err = command(pod(), dns="", flags=["--libc", "glibc"])
    assert (status, out) == (0, HOST)
    words = 'kubelet does not have ClusterDNS IP configured and cannot create Pod using "ClusterFirst" policy. Falling back to "Default" policy.'
    assert err.splitlines() == [f"m0.yaml:1:1: node event MissingClusterDNS: {words}",
                                f'm0.yaml:1:1: event MissingClusterDNS: pod: "p_default()". {words}']


def test_cluster_settings(command):
    """PD-9, PD-10."""
    _, out, err = command(pod(), dns="10.0.0.10, fd00::0:a,x", flags=["--cluster-domain", "", "--libc", "glibc"])
    assert out == "nameserver 10.0.0.10\nnameserver fd00::a\nsearch foo.com\noptions ndots:5\n"
    assert "lint cluster-dns-address: cluster DNS address 'x' is not an IP address and is skipped" in err
    assert "svc.z.example z.example foo.com" in command(pod(), flags=["--cluster-domain", "z.example."])[1]


def test_domain_line(command, tmp_path):
    """PD-39."""
    (tmp_path / "domain").write_text("domain corp.example\nnameserver 192.0.2.1\n")
    status, out, err = command(pod(dnsPolicy="Default"), host="domain")
    assert (status, out) == (0, "nameserver 192.0.2.1\n") and "lint host-domain: " in err
    assert command(pod(dnsPolicy="Default"), host="domain", flags=["--use-domain"]) == (0, "nameserver 192.0.2.1\nsearch corp.example\n", "")


def test_large_host_search_list(command, tmp_path):
    """PD-26."""
    (tmp_path / "long").write_text("search " + " ".join(f"d{i}" for i in range(30)))
    _, _, err = command(pod(), host="long")
    assert "long: node event CheckLimitsForResolvConf: Resolv.conf file 'long' contains search line consisting of more than 29 domains!\n" in err


# ---- limits and errors ----

def domains(n, characters):
    """So many domains, so many characters with the spaces between them."""
    left, out = characters - (n - 1), []
    for i in range(n):
        size = left // (n - i)
        word = f"d{i}" + "x" * (size - len(f"d{i}"))
        out.append(word[:60] + "." + word[61:120] + "." + word[121:] if size > 120 else word)
        left -= size
    assert len(" ".join(out)) == characters
    return out


@pytest.mark.parametrize("profile,n,characters,refused", [
    ("kubelet", 32, 2048, None), ("kubelet", 32, 2049, "must not have more than 2048 characters (including spaces) in the search list"),
    ("kubelet", 33, 300, "must not have more than 32 search paths"),
    ("seed", 6, 256, None), ("seed", 6, 257, "must not have more than 256 characters (including spaces) in the search list"),
    ("seed", 7, 100, "must not have more than 6 search paths"),
    ("libc-safe", 2, 247, None), ("libc-safe", 2, 248, "must not have more than 247 characters (including spaces) in the search list"),
])
def test_limits_of_profiles(command, profile, n, characters, refused):
    """PD-22, PD-23, PD-27."""
    search = domains(n, characters)
    o = pod(dnsPolicy="None", dnsConfig={"nameservers": ["192.0.2.1"], "searches": search})
    status, out, err = command(o, flags=["--profile", profile])
    if refused is None:
        assert (status, out) == (0, f"nameserver 192.0.2.1\nsearch {' '.join(search)}\n")
    else:
        assert (status, out) == (1, "") and err.rstrip().endswith(refused)


def test_merged_lists_are_cut(command):
    """PD-24, PD-25: in kubelet's words; profile seed refuses."""
    o = pod(dnsConfig={"nameservers": ["192.0.2.1", "192.0.2.2", "192.0.2.3"], "searches": ["a", "b", "c"]})
    status, out, err = command(o)
    assert status == 0 and out.count("nameserver") == 3 and "foo.com a b c\n" in out
    assert ("event DNSConfigForming: Nameserver limits were exceeded, some nameservers have been omitted, the applied nameserver line is: "
            "10.0.0.10 192.0.2.1 192.0.2.2\n") in err
    status, out, err = command(o, flags=["--profile", "seed"])
    assert (status, out) == (1, "")
    assert "error: the profile refuses the pod: DNSConfigForming: the merged list has 4 name servers; the profile allows 3\n" in err
    assert ("error: the profile refuses the pod: DNSConfigForming: the merged search list has 7 domains and 71 characters, the longest "
            "domain 25; the profile allows 6 domains, 256 characters, and 253 in a domain\n") in err and "applied" not in err
    long = domains(2, 200)
    status, out, err = command(pod(dnsConfig={"searches": long}), flags=["--profile", "libc-safe"])
    assert status == 0 and long[0] in out and long[1] not in out and "musl-search-length" not in err and "DNSConfigForming" in err


def test_injected_lines(command):
    """PD-29."""
    o = pod(dnsConfig={"options": [{"name": "ndots", "value": "2\nnameserver 6.6.6.6"}, {"name": "a b"}, {"name": "ndots:1"}]})
    status, out, err = command(json.dumps(o, indent=1))
    assert (status, out) == (1, "")
    assert [re.match(r"m0.yaml:\d+:\d+: spec.dnsConfig.options\[(\d)\]\.(\w+): Invalid value: ", line).groups() for line in err.splitlines()] == [
        ("0", "value"), ("1", "name"), ("2", "name")]


def test_injected_names(command):
    """A heading is one line, whatever the object is called, and so is an Event."""
    bad = pod("a\nnameserver 6.6.6.6 #")
    status, out, _ = command(bad, pod("b"))
    assert status == 0 and "# Pod default/\"a\\nnameserver 6.6.6.6 #\"\n" in out and "\nnameserver 6.6.6.6" not in out
    bad["metadata"]["uid"] = "u\nx: event"
    _, _, err = command(bad, dns="")
    assert [line for line in err.splitlines() if not line.startswith("m0.yaml:1:1: ")] == []
    assert 'pod: "a\\nnameserver 6.6.6.6 #_default(u\\nx: event)". kubelet' in err


@pytest.mark.parametrize("ns", ["a\nnameserver 6.6.6.6 #", "A b", "a.b", "-a", "x" * 64])
def test_bad_namespaces(command, ns):
    """Refused where they stand: without them the first search domain would be missing."""
    named = pod()
    named["metadata"]["namespace"] = ns
    status, out, err = command(json.dumps(named, indent=1), pod("other"))
    assert status == 1 and "6.6.6.6" not in out and "# Pod default/other\n" in out
    quoted = ns.replace("\n", "\\n")
    assert err.startswith(f'm0.yaml:6:3: metadata.namespace: Invalid value: "{quoted}": ') and err.count("Invalid value") == 1
    status, out, err = command(pod(), flags=["-n", ns])
    assert (status, out) == (64, "") and "-n is the name of a namespace" in err


@pytest.mark.parametrize("zone", ["Cluster Local", "a..b", ".", ".a", "a\nb", "x" * 64, "a.example.."])
def test_bad_cluster_domains(command, zone):
    status, out, err = command(pod(), flags=["--cluster-domain", zone])
    assert (status, out) == (64, "") and "--cluster-domain is a domain name" in err


def test_unknown_options(command):
    """PD-30."""
    o = pod(dnsConfig={"options": [{"name": "inet7"}]})
    status, _, err = command(o)
    assert status == 0 and "lint unknown-option: no C library knows the option 'inet7'" in err
    status, out, err = command(o, flags=["--profile", "seed"])
    assert (status, out) == (1, "") and 'spec.dnsConfig.options[0].name: Unsupported value: "inet7": supported values: "ndots"' in err


@pytest.mark.parametrize("text,place,says", [
    ("kind: Pod\n", "1:1", "object without apiVersion"),
    ("a: [", "2:1", "did not find expected node content"),
    ("apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  dnsPolicy: none\n", "5:3", 'spec.dnsPolicy: Unsupported value: "none"'),
    ("apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  dnsPolicy: None\n", "4:1", "spec.dnsConfig: Required value"),
    ("apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  dnsConfig:\n    searches:\n    - a\n    - A\n", "8:7", "spec.dnsConfig.searches[1]: "),
    ("apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  hostNetwork: maybe\n", "5:3", "must be of type boolean"),
])
def test_errors_have_a_place(command, text, place, says):
    status, out, err = command(text)
    assert (status, out) == (1, "")
    assert err.startswith(f"m0.yaml:{place}: ") and says in err


def test_no_pod_in_the_manifest(command):
    status, out, err = command({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}})
    assert (status, out, err) == (1, "", "fairlead resolvconf: no Pod or pod template in 'm0.yaml'\n")


@pytest.mark.parametrize("flags,says", [
    ([], "no manifest"), (["-f", "x", "--profile", "x"], "--profile is"), (["-f", "x", "--libc", "x"], "--libc is"), (["-f", "x", "-o", "x"], "-o is"),
    (["-f", "x", "-o", "yaml", "--explain"], "--explain goes with"), (["-f", "x", "y"], "unexpected argument"), (["--bogus"], "bogus"),
    (["-f", "x", "--write", "y", "-o", "json"], "--write goes with"), (["-f", "x", "--write", "y", "--explain"], "--write goes with"),
    (["-f", "x", "--follow"], "--follow goes with"), (["-f", "x", "--write", "y", "--follow", "--host-resolv", ""], "--follow needs"),
])
def test_bad_usage(flags, says):
    status, out, err = run("resolvconf", *flags)
    assert (status, out) == (64, "") and says in err and "--help" in err


def test_help_names_all_flags():
    status, out, err = run("resolvconf", "--help")
    assert (status, err) == (0, "")
    with open(os.path.join(server.ROOT, "docs", "man", "fairlead-resolvconf.1"), encoding="utf-8") as f:
        page = f.read()
    for flag in re.findall(r"^  -([\w-]+)", out, re.M):
        assert ("\\-\\-" if len(flag) > 1 else "\\-") + flag.replace("-", "\\-") in page, flag


def test_documented_lints():
    """The page's table has every lint of the program, and no other."""
    with open(os.path.join(server.ROOT, "src", "dns", "podresolv", "lint.c"), encoding="utf-8") as f:
        lints = re.findall(r'^\t\{ "([a-z0-9-]+)", PODRESOLV_', f.read(), re.M)
    with open(os.path.join(server.ROOT, "docs", "pod-resolv-conf.md"), encoding="utf-8") as f:
        rows = re.findall(r"^\| `([a-z0-9-]+)` \| (?:all|musl|glibc) \|", f.read(), re.M)
    assert len(lints) >= 16 and rows == lints


def test_documented_example(tmp_path):
    """The page shows the files that it uses, and what the command prints."""
    with open(os.path.join(server.ROOT, "docs", "pod-resolv-conf.md"), encoding="utf-8") as f:
        block = re.search(r"^```\n(\$ .*?)^```$", f.read(), re.M | re.S)[1]
    shown = dict(re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.M))
    for line, text in shown.items():
        if line.startswith("cat "):
            (tmp_path / line[4:]).write_text(text)
    (line, wanted), = ((line, text) for line, text in shown.items() if line.startswith("fairlead "))
    assert run(*line.split()[1:], cwd=tmp_path)[:2] == (0, wanted)


def test_example_of_the_readme(tmp_path):
    with open(os.path.join(server.ROOT, "README.md"), encoding="utf-8") as f:
        line = re.search(r"^build/fairlead (resolvconf .*)$", f.read(), re.M)[1]
    (tmp_path / "host").write_text(HOST)
    status, out, err = run(*line.split(), "--host-resolv", tmp_path / "host", cwd=server.ROOT)
    assert status == 0 and "search crawler.svc.cluster.local" in out, err


# ---- a file that is written in place ----

def test_write(command, tmp_path):
    """The same inode, the same bytes as on standard output; nothing is written where nothing changes."""
    target = tmp_path / "resolv.conf"
    want = command(pod())[1]
    for text in (None, "", "nameserver 192.0.2.1\n" * 190, want[:-1]):
        if text is not None:
            target.write_text(text)
        inode = target.stat().st_ino if text is not None else None
        status, out, err = command(pod(), flags=["--write", target])
        assert (status, out, err) == (0, "", f"{target}: written\n") and target.read_text() == want
        assert inode is None or target.stat().st_ino == inode
    assert command(pod(), flags=["--write", target]) == (0, "", "")


def test_write_refuses(command, tmp_path):
    """What is no file of a pod is left alone, with a reason."""
    kept = tmp_path / "kept"
    kept.write_text("nameserver 192.0.2.1\n")
    (tmp_path / "link").symlink_to(kept)
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "long").write_text("#" * 4097)
    for name, says in (("link", "symbolic link"), ("pipe", "no regular file"), ("", "directory"), ("long", "more than 4096 bytes"),
                       ("none/x", "No such file"), ("host", "the resolver file of the node itself")):
        before = (tmp_path / "host").read_text() if name == "host" else None
        status, out, err = command(pod(), flags=["--write", tmp_path / name])
        assert (status, out) == (1, "") and says in err, (name, err)
        assert before is None or (tmp_path / "host").read_text() == before
    assert kept.read_text() == "nameserver 192.0.2.1\n"
    status, out, err = command(pod(), pod("q"), flags=["--write", kept])
    assert (status, out) == (1, "") and "single pod" in err
    status, out, err = command(pod(dnsPolicy="x"), flags=["--write", kept])
    assert status == 1 and kept.read_text() == "nameserver 192.0.2.1\n"


@needs_root()
def test_write_to_a_full_disk(command, tmp_path):
    """No empty file is left where there was none."""
    command(pod())  # writes the manifest and the host file
    (tmp_path / "disk").mkdir()
    script = """
        mount -t tmpfs -o size=8k tmpfs disk && (head -c 100000 /dev/zero > disk/rest) 2>/dev/null
        "$0" resolvconf -f m0.yaml --host-resolv host --cluster-dns 10.0.0.10 --write disk/new; echo $?; ls disk"""
    done = subprocess.run(["unshare", "--mount", "sh", "-c", script, server.fairlead_program()], cwd=tmp_path, capture_output=True,
                          text=True, timeout=30, check=True)
    assert done.stdout == "1\nrest\n", done
    assert "cannot write 'disk/new'" in done.stderr and os.strerror(errno.ENOSPC) in done.stderr


@contextlib.contextmanager
def following(tmp_path, o, target):
    """`--follow`, once it has written; says(text) waits for a line on standard error."""
    (tmp_path / "followed.json").write_text(json.dumps(o))
    p = subprocess.Popen([server.fairlead_program(), "resolvconf", "-f", tmp_path / "followed.json", "--host-resolv", tmp_path / "node.conf",
                          "--cluster-dns", "10.0.0.10", "--write", target, "--follow"], stderr=subprocess.PIPE, text=True)

    def says(text):
        line = ""
        while text not in line:
            line = p.stderr.readline()
            assert line, f"ended without '{text}'"
    try:
        says("written")
        yield says
    finally:
        p.terminate()
        p.wait(20)
        p.stderr.close()


def test_follow_the_host_file(tmp_path):
    """PD-13: a change of the node's file reaches a file that is mounted; one that is no use does not."""
    host, target = tmp_path / "node.conf", tmp_path / "resolv.conf"
    host.write_text("nameserver 192.0.2.1\nsearch one.example\n")
    with following(tmp_path, pod(dnsPolicy="Default"), target) as says:
        inode, first = target.stat().st_ino, target.read_text()
        assert first == "nameserver 192.0.2.1\nsearch one.example\n"
        host.write_text("nameserver\n")  # broken
        says("node.conf")
        host.write_text("search one.example\n")
        says("there would be no name server")
        host.unlink()
        says("cannot read")
        assert target.read_text() == first
        (tmp_path / "new").write_text("nameserver 192.0.2.2\nsearch two.example\n")
        (tmp_path / "new").rename(host)  # as most writers do
        says("written")
        assert target.read_text() == "nameserver 192.0.2.2\nsearch two.example\n" and target.stat().st_ino == inode
    with following(tmp_path, pod(), tmp_path / "cluster.conf") as says:
        host.write_text("nameserver 192.0.2.2\nsearch three.example\n")
        says("written")
        assert (tmp_path / "cluster.conf").read_text() == (
            "nameserver 10.0.0.10\nsearch default.svc.cluster.local svc.cluster.local cluster.local three.example\noptions ndots:5\n")


def test_new_pods_have_the_newest_host_file(command, tmp_path):
    """PD-13: the file is read for each call."""
    o = pod(dnsPolicy="Default")
    for address in ("192.0.2.1", "192.0.2.2"):
        (tmp_path / "now.conf").write_text(f"nameserver {address}\n")
        assert command(o, flags=["--host-resolv", tmp_path / "now.conf"])[1] == f"nameserver {address}\n"


# ---- C libraries ----

class Resolver:
    """Answers on port 53 of addresses in a network of its own; remembers (address, name, type, has EDNS) of each query."""

    def __init__(self, *addresses):
        self.addresses, self.names, self.queries, self.sockets = addresses, {}, [], []
        self.network = podlib.in_thread(self.make_network)
        self.threads = [threading.Thread(target=self.serve, args=(s, a), daemon=True) for s, a in zip(self.sockets, addresses)]
        for thread in self.threads:
            thread.start()

    def make_network(self):
        podlib.call("unshare", podlib.CLONE_NEWNET)
        podlib.ip("link", "set", "lo", "up")
        for address in self.addresses:
            if not address.startswith("127."):
                podlib.ip("addr", "add", address + "/32", "dev", "lo")
            sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            sock.bind((address, 53))
            self.sockets.append(sock)
        return podlib.own_network()

    def serve(self, sock, address):
        while True:
            data, peer = sock.recvfrom(4096)
            if data == b"end":
                return
            if data == b"sync":
                sock.sendto(data, peer)
                continue
            with contextlib.suppress(wire.Malformed):  # musl 1.2.3 may send some
                sock.sendto(self.reply(data, address), peer)

    def reply(self, data, address):
        question = wire.parse(data)
        name, _, rtype = wire.question_text(question.question).split()[:3] if question.question else ("", "", "")
        self.queries.append((address, name.lower(), rtype, question.edns is not None))
        found = self.names.get(name.lower())
        answer = b""
        if found and rtype == "A":
            answer = b"\xc0\x0c" + struct.pack("!HHIH", 1, 1, 60, 4) + socket.inet_aton(found)
        bits = 0x8580 | (0 if found else 3)
        return data[:2] + struct.pack("!5H", bits, 1, 1 if answer else 0, 0, 0) + question.question + answer

    def look_up(self, program, conf, name):
        """(addresses, queries) of one getaddrinfo of a program with this resolv.conf."""
        self.queries = []
        done = podlib.Network.inside(self.network, lambda: subprocess.run(
            ["unshare", "--mount", "sh", "-c", 'mount --bind "$0" /etc/resolv.conf && exec "$1" "$2"', conf, program, name],
            capture_output=True, text=True, timeout=90, check=True))
        self.sync()
        return done.stdout.split("\n")[:-1], self.queries

    def socket(self):
        return contextlib.closing(podlib.Network.inside(self.network, lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM)))

    def sync(self):
        """What was sent before is in `queries`: the first answer ends a look-up, while others may wait in their sockets."""
        for address in self.addresses:
            with self.socket() as s:
                s.settimeout(30)
                s.sendto(b"sync", (address, 53))
                assert s.recv(16) == b"sync"

    def close(self):
        for address in self.addresses:
            with self.socket() as s:
                s.sendto(b"end", (address, 53))
        for thread in self.threads:
            thread.join()
        for sock in self.sockets:
            sock.close()
        os.close(self.network)


@pytest.fixture(scope="module")
def resolver():
    r = Resolver("10.0.0.10", "10.0.0.11", "1.2.3.4", "127.0.0.1")
    yield r
    r.close()


@pytest.fixture(scope="module", params=["glibc", "musl"])
def libc(request, tmp_path_factory):
    """(name of the C library, a program that is built with it)."""
    compiler = {"glibc": "gcc", "musl": "musl-gcc"}[request.param]
    return request.param, lookup_program(compiler, tmp_path_factory.mktemp("lookup") / request.param)


@pytest.fixture
def ask(command, resolver, libc, tmp_path):
    """ask(pod, name, flags): (result, names asked, lints) of a look-up with the file that the command rendered."""
    def look_up(o, name, *, names=(), conf=None, **kw):
        resolver.names = {n + ".": "192.0.2.7" for n in names}
        lints = []
        if conf is None:
            status, conf, err = command(o, **{**kw, "flags": ["--libc", libc[0], *kw.get("flags", ())]})
            assert status == 0, err
            lints = re.findall(r" lint ([\w-]+):", err)
        path = tmp_path / "resolv.conf"
        path.write_text(conf)
        addresses, queries = resolver.look_up(libc[1], path, name)
        result = "ok" if addresses == ["192.0.2.7"] else addresses[0] if addresses else "nothing"
        return result, [q for q in queries], lints
    return look_up


def own(nameservers=("10.0.0.10",), options=(), **config):
    options = [{"name": n, **({"value": v} if v else {})} for n, _, v in (o.partition(":") for o in options)]
    return pod(dnsPolicy="None", dnsConfig={"nameservers": list(nameservers), "options": options, **config})


def missing(result):
    return result.startswith("error")


real = pytest.mark.skipif(bool(sanitizer()), reason="measures C libraries, not this program")


@needs_root()
@real
def test_custom_nameserver_and_search_path_take_effect(ask):
    """The proposal's end-to-end test: the configured server is asked, and the configured search path finds the name."""
    result, queries, _ = ask(CUSTOM, "db", names=["db.my.dns.search.suffix"])
    assert result == "ok" and {q[0] for q in queries} == {"1.2.3.4"}
    assert {q[1] for q in queries} == {"db.ns1.svc.cluster.local.", "db.my.dns.search.suffix."}


@needs_root()
@real
def test_running_programs_follow_the_host_file(resolver, libc, tmp_path):
    """PD-13: a program that runs, with the file mounted as a container has it, asks the node's new server."""
    host, target = tmp_path / "node.conf", tmp_path / "resolv.conf"
    host.write_text("nameserver 10.0.0.10\nsearch one.example\n")
    resolver.names = {"db.one.example.": "192.0.2.7", "db.two.example.": "192.0.2.8"}
    with following(tmp_path, pod(dnsPolicy="Default"), target) as says:
        p = podlib.Network.inside(resolver.network, lambda: subprocess.Popen(
            ["unshare", "--mount", "sh", "-c", 'mount --bind "$0" /etc/resolv.conf && exec "$1" - ', target, libc[1]],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))

        def look_up():
            resolver.queries = []
            p.stdin.write("db\n")
            p.stdin.flush()
            address = p.stdout.readline().strip()
            resolver.sync()
            return address, {q[0] for q in resolver.queries}

        assert look_up() == ("192.0.2.7", {"10.0.0.10"})
        host.write_text("nameserver 10.0.0.11\nsearch two.example\n")
        says("written")
        assert look_up() == ("192.0.2.8", {"10.0.0.11"})
        p.stdin.close()
        assert p.wait(20) == 0
        p.stdout.close()


@needs_root()
@real
@pytest.mark.parametrize("ndots,count", [("5", 10), ("1", 2)])
def test_queries_for_an_external_name(ask, ndots, count):
    """Four suffixes: ten queries, or two."""
    result, queries, _ = ask(pod(dnsConfig={"options": [{"name": "ndots", "value": ndots}]}), "www.example.org", names=["www.example.org"])
    assert (result, len(queries)) == ("ok", count)


@needs_root()
@real
def test_ndots_and_names_of_services(ask, libc):
    """Lint musl-ndots: a name of a Service with its namespace."""
    names = ["web.shop.svc.cluster.local"]
    assert ask(pod(), "web.shop", names=names)[0] == "ok"
    result, queries, lints = ask(pod(dnsConfig={"options": [{"name": "ndots", "value": "1"}]}), "web.shop", names=names)
    if libc[0] == "musl":
        assert missing(result) and len(queries) == 2 and lints == ["musl-ndots"]
    else:
        assert (result, len(queries), lints) == ("ok", 6, [])
    result, _, lints = ask(pod(dnsConfig={"options": [{"name": "ndots", "value": "2"}]}), "web.shop", names=names)
    assert (result, lints) == ("ok", [])


@needs_root()
@real
@pytest.mark.parametrize("characters", [247, 248])
def test_length_of_the_search_list(ask, libc, characters):
    """Lint musl-search-length."""
    search = domains(6, characters)
    result, queries, lints = ask(own(searches=search), "web", names=[f"web.{search[-1]}"])
    if characters == 248 and libc[0] == "musl":
        assert missing(result) and {q[1] for q in queries} == {"web."} and lints == ["musl-search-length"]
    else:
        assert (result, len(queries), lints) == ("ok", 12, [])


@needs_root()
@real
def test_profile_libc_safe_keeps_short_names_working(ask):
    """PD-27: the list is cut where musl would drop all of it."""
    search = domains(6, 247)
    merged = pod(dnsConfig={"searches": search})
    result, _, lints = ask(merged, "web", names=["web.default.svc.cluster.local"], flags=["--profile", "libc-safe"])
    assert result == "ok" and "musl-search-length" not in lints


@needs_root()
@real
def test_thirty_two_domains(ask, libc):
    """Profile kubelet's limit: 66 queries for a missing name, or none of the domains."""
    result, queries, lints = ask(own(searches=domains(32, 291)), "web")
    assert missing(result) and len(queries) == (2 if libc[0] == "musl" else 66)
    assert lints == (["musl-search-length"] if libc[0] == "musl" else ["glibc-search-limits"])


@needs_root()
@real
def test_root_in_the_search_list(ask, libc):
    """Lint musl-root-search; musl mended it in 1.2.5."""
    result, _, lints = ask(own(searches=[".", "foo.com"], options=["ndots:5"]), "www.example.org", names=["www.example.org"])
    if libc[0] == "glibc":
        assert (result, lints) == ("ok", [])
    else:
        version = subprocess.run(["/lib/ld-musl-x86_64.so.1"], capture_output=True, text=True, check=False).stderr
        is_mended = tuple(map(int, re.findall(r"Version (\d+)\.(\d+)\.(\d+)", version)[0])) >= (1, 2, 5)
        assert lints == ["musl-root-search"] and missing(result) != is_mended


@needs_root()
@real
def test_domain_with_and_without_final_dot(ask, tmp_path):
    """PD-15: written twice, it is asked for twice; the rendered file has it once."""
    (tmp_path / "dotted").write_text("nameserver 10.0.0.10\nsearch a.b\n")
    result, queries, _ = ask(pod(dnsPolicy="Default", dnsConfig={"searches": ["a.b."]}), "web", host="dotted")
    assert missing(result) and len(queries) == 4
    result, queries, _ = ask(None, "web", conf="nameserver 10.0.0.10\nsearch a.b a.b.\n")
    assert missing(result) and len(queries) == 6


@needs_root()
@real
def test_option_that_is_written_twice(ask, libc):
    """PD-18: libraries disagree on which counts, so no file has one."""
    _, queries, _ = ask(None, "a.b", conf="nameserver 10.0.0.10\nsearch x\noptions ndots:1 ndots:5\n")
    assert queries[0][1] == ("a.b." if libc[0] == "musl" else "a.b.x.")


@needs_root()
@real
def test_two_servers(ask, libc):
    """Lint musl-parallel-servers."""
    _, queries, lints = ask(own(["10.0.0.10", "10.0.0.11"]), "www.example.org", names=["www.example.org"])
    assert {q[0] for q in queries} == ({"10.0.0.10", "10.0.0.11"} if libc[0] == "musl" else {"10.0.0.10"})
    assert lints == (["musl-parallel-servers"] if libc[0] == "musl" else [])


@needs_root()
@real
def test_options_that_musl_ignores(ask, libc):
    """Lint musl-option, with edns0."""
    _, queries, lints = ask(own(options=["edns0"]), "www.example.org", names=["www.example.org"])
    assert {q[3] for q in queries} == {libc[0] == "glibc"}
    assert lints == (["musl-option"] if libc[0] == "musl" else [])


@needs_root()
@real
def test_label_of_64_characters(ask):
    """Lint search-label-length: the API server accepts it, nobody can ask below it."""
    result, queries, lints = ask(own(searches=["x" * 64 + ".org", "foo.com"]), "web", names=["web.foo.com"])
    assert lints == ["search-label-length"] and not any("x" * 64 in q[1] for q in queries)
    assert result == "ok" or missing(result)


@needs_root()
@real
def test_comment_behind_a_search_list(ask, tmp_path):
    """Lint host-comment: the words are search domains for the libraries, too."""
    (tmp_path / "commented").write_text("nameserver 10.0.0.10\nsearch foo.com #bar.com\n")
    _, queries, lints = ask(pod(dnsPolicy="Default"), "web", host="commented")
    assert lints == ["host-comment"] and any(q[1].startswith("web.#bar") or "\\035" in q[1] for q in queries)


@needs_root()
@real
def test_no_nameserver(ask, tmp_path):
    """Lint no-nameserver: the libraries then ask the pod's own loopback address."""
    (tmp_path / "bare").write_text("search foo.com\n")
    result, queries, lints = ask(pod(dnsPolicy="Default"), "web", host="bare", names=["web.foo.com"])
    assert (result, lints) == ("ok", ["no-nameserver"]) and {q[0] for q in queries} == {"127.0.0.1"}


@needs_root()
@real
def test_server_that_is_no_address(ask, tmp_path):
    """Lint nameserver-address: it is skipped."""
    (tmp_path / "named").write_text("nameserver dns.example\nnameserver 10.0.0.10\n")
    result, queries, lints = ask(pod(dnsPolicy="Default"), "www.example.org", host="named", names=["www.example.org"])
    assert result == "ok" and "nameserver-address" in lints and {q[0] for q in queries} == {"10.0.0.10"}


@needs_root()
@real
def test_ndots_beyond_its_range(ask):
    """Lint option-range: ndots:16 counts as ndots:15."""
    name = ".".join("abcdefghijklmnop")  # 15 dots
    _, queries, lints = ask(own(searches=["foo.com"], options=["ndots:16"]), name)
    assert lints == ["option-range"] and queries[0][1] == name + "."
