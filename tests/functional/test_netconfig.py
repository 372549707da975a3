# SPDX-License-Identifier: GPL-3.0-or-later
"""`fairlead netconfig`, judged by those who read its output: netplan, cloud-init's five renderers and two of its data
sources, and readers of CD images. netplan and cloud-init are unpacked (tests/peers), never installed: cloud-init would
configure this machine."""
import base64
import configparser
import itertools
import json
import os
import re
import shutil
import stat
import subprocess
import textwrap

import pytest
import yaml

from helpers import SBIN, eventually, run
from lib import cluster, server
from lib.ports import free_port

EXAMPLE = os.path.join(server.ROOT, "examples", "machines")
SEARCH = ["corp.domain", "alternate.domain", "yet.another.domain"]
SERVERS = ["10.0.0.1", "10.100.0.1", "10.200.0.1"]
MERGED = {"search": SEARCH, "addresses": SERVERS}
BY_DEVICE = {"eth0": {}, "eth1": {"search": SEARCH[:1], "addresses": SERVERS[:1]},
             "eth2": {"search": SEARCH[1:], "addresses": SERVERS[1:]}}

VM = """apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: VSphereVM
metadata: {name: m, namespace: ns}
spec:
  network:
    devices:
"""


def netconfig(*args, status=0, stdin=""):
    got, out, err = run("netconfig", *args, stdin=stdin)
    assert got == status, out + err
    return out if status == 0 else err


def netplan_yaml(*args, **kw):
    return netconfig("-f", EXAMPLE, *args, **kw)


# ---- the readers ----

@pytest.fixture(scope="module")
def peers():
    try:
        return {name: cluster.peer(name) for name in ("netplan", "cloud-init")}
    except cluster.Missing as why:
        pytest.skip(str(why))


@pytest.fixture
def netplan(peers, tmp_path):
    """netplan(text): {interface: {search, addresses, Address, Gateway}} of the .network files that it generates."""
    def generate(text):
        root = tmp_path / "netplan"
        shutil.rmtree(root, ignore_errors=True)
        (root / "etc" / "netplan").mkdir(parents=True)
        (root / "etc" / "netplan" / "60-machine.yaml").write_text(text)
        (root / "etc" / "netplan" / "60-machine.yaml").chmod(0o600)
        done = subprocess.run([peers["netplan"], "generate", "--root-dir", root], capture_output=True, text=True, timeout=60)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
        return {name: link for path in (root / "run" / "systemd" / "network").glob("*.network")
                for name, link in [networkd_link(path)]}
    return generate


def networkd_link(path):
    """A .network file: its interface, and what it sets."""
    values = {}
    for line in open(path, encoding="utf-8"):
        key, equals, value = line.strip().partition("=")
        if equals:
            values.setdefault(key, []).extend(value.split())
    link = {"search": values.get("Domains", []), "addresses": values.get("DNS", [])}
    return values["Name"][0], {"dns": {k: v for k, v in link.items() if v}, **values}


@pytest.fixture
def convert(peers, tmp_path):
    """convert(text, renderer): the folder with what cloud-init's renderer makes of a network-config."""
    def make(text, renderer, status=0):
        source, out = tmp_path / "network-config", tmp_path / f"out-{renderer}"
        source.write_text(text)
        shutil.rmtree(out, ignore_errors=True)
        done = subprocess.run(
            [peers["cloud-init"], "-m", "cloudinit.cmd.main", "devel", "net-convert", "--network-data", source, "--kind",
             "yaml", "--directory", out, "--distro", "centos" if renderer == "sysconfig" else "debian", "--output-kind",
             renderer], capture_output=True, text=True, timeout=60, cwd=tmp_path)
        assert done.returncode == status, done.stdout + done.stderr
        return out if status == 0 else done.stdout + done.stderr
    return make


SOURCE = """
import json, sys
from cloudinit import helpers
from cloudinit.sources.DataSource{kind} import DataSource{kind}
paths = helpers.Paths({{"cloud_dir": sys.argv[1], "run_dir": sys.argv[1] + "/run"}})
source = DataSource{kind}({{"datasource": {{"NoCloud": {{"fs_label": None}}}}}}, None, paths)
assert source._get_data(), "no data found"
user_data = source.userdata_raw
print(json.dumps({{"metadata": source.metadata, "network": source.network_config,
                   "user_data": user_data.decode() if isinstance(user_data, bytes) else user_data}}))
"""


@pytest.fixture
def source(peers, tmp_path):
    """source(kind, folder, **env): what a data source of cloud-init reads."""
    def read(kind, folder, **env):
        done = subprocess.run([peers["cloud-init"], "-c", SOURCE.format(kind=kind), folder], capture_output=True, text=True,
                              timeout=60, cwd=tmp_path, env={**os.environ, **env})
        assert done.returncode == 0, done.stdout + done.stderr
        return json.loads(done.stdout)
    return read


# ---- the example ----

def test_example():
    """The three devices and four pools of the proposal: the block that it shows."""
    out = netplan_yaml("-o", "merged")
    assert yaml.safe_load(out) == {"nameservers": MERGED}
    assert out == ('nameservers:\n  search: ["corp.domain", "alternate.domain", "yet.another.domain"]\n'
                   '  addresses: ["10.0.0.1", "10.100.0.1", "10.200.0.1"]\n')
    devices = yaml.safe_load(netplan_yaml())["network"]["ethernets"]
    assert {d["set-name"]: d.get("nameservers", {}) for d in devices.values()} == BY_DEVICE
    assert devices["id0"]["routes"] == [{"to": "0.0.0.0/0", "via": "10.0.0.254"}]


def test_every_order_of_binding_gives_the_same_bytes(tmp_path):
    with open(os.path.join(EXAMPLE, "addresses.yaml"), encoding="utf-8") as f:
        documents = f.read().split("\n---\n")
    assert len(documents) == 4
    made = set()
    for order in itertools.permutations(documents):
        made.add(netconfig("-f", os.path.join(EXAMPLE, "vspherevm.yaml"), "-", stdin="\n---\n".join(order)))
    assert made == {netplan_yaml()}


def test_template_gives_the_same_addresses():
    """A template has no MAC addresses: its devices are found by name, with a warning each."""
    status, out, err = run("netconfig", "-f", os.path.join(EXAMPLE, "template.yaml"),
                           os.path.join(EXAMPLE, "addresses.yaml"))
    assert status == 0 and err.count("warning: ") == 3 and "finds it by its name 'eth2'" in err
    devices = yaml.safe_load(out)["network"]["ethernets"]
    assert {name: d.get("nameservers", {}) for name, d in devices.items()} == BY_DEVICE
    status, out, _ = run("netconfig", "-f", os.path.join(EXAMPLE, "template.yaml"), "--machine", "other")
    assert status == 1 and out == ""


ORIGINAL = """apiVersion: infrastructure.cluster.x-k8s.io/v1alpha3
kind: VSphereMachineTemplate
metadata: {name: example, namespace: vsphere-site1}
spec:
  template:
    spec:
      network:
        devices:
        - dhcp4: false
          addressesFromPools:
          - group: ipam.cluster.x-k8s.io/v1alpha1
            kind: IPPool
            name: testpool-1
          addressesFromPools:
          - group: ipam.cluster.x-k8s.io/v1alpha1
            kind: IPPool
            name: testpool-2
---
apiVersion: ipam.cluster.x-k8s.io/v1alpha1
kind: IPAddress
metadata: {name: example-0-0, namespace: vsphere-site1}
spec:
  address: "10.0.0.10"
  poolRef: {apiGroup: ipam.cluster.x-k8s.io, kind: IPPool, name: test-pool-1}
  nameservers: {search: ["corp.domain"], addresses: ["10.0.0.1"]}
"""


def test_defects_of_the_published_example(tmp_path):
    """Each has its message: the repeated key first, since nothing can be read before; then the others together."""
    (tmp_path / "a.yaml").write_text(ORIGINAL)
    at = str(tmp_path / "a.yaml")
    assert f"{at}:14:11: duplicate key 'addressesFromPools': all pools of a device are entries of one list" in netconfig(
        "-f", at, status=1)
    lines = ORIGINAL.splitlines(keepends=True)
    (tmp_path / "a.yaml").write_text("".join(lines[:13] + lines[17:]))
    err = netconfig("-f", at, status=1)
    assert (f"{at}:20:60: warning: spec.poolRef.name: the address is from the pool 'test-pool-1', but device 0 of the machine "
            "names 'testpool-1'") in err
    assert f"{at}:18:1: spec: the address has no prefix" in err
    assert f"{at}:11:13: warning: " in err and "the field is called apiGroup, and has no version" in err
    # The name servers alone need no prefix.
    status, out, err = run("netconfig", "-f", at, "-o", "merged")
    assert status == 0 and "warning: spec: the address has no prefix" in err
    assert yaml.safe_load(out) == {"nameservers": {"search": ["corp.domain"], "addresses": ["10.0.0.1"]}}


# ---- the readers agree ----

@pytest.mark.parametrize("mode", ["per-device", "flat"])
def test_netplan_agrees(netplan, mode):
    links = netplan(netplan_yaml("--mode", mode))
    expected = BY_DEVICE if mode == "per-device" else {"eth0": MERGED, "eth1": {}, "eth2": {}}
    assert {name: link["dns"] for name, link in links.items()} == expected
    assert {name: link["Address"] for name, link in links.items()} == {
        "eth0": ["10.0.0.10/24"], "eth1": ["10.0.1.10/24"], "eth2": ["10.0.2.10/24", "10.0.3.10/24"]}
    assert links["eth0"]["Gateway"] == ["10.0.0.254"] and links["eth0"]["Destination"] == ["0.0.0.0/0"]
    assert "Gateway" not in links["eth1"] and links["eth1"]["PermanentMACAddress"] == ["00:50:56:00:00:01"]


def test_flat():
    devices = yaml.safe_load(netplan_yaml("--mode", "flat"))["network"]["ethernets"]
    assert [d.get("nameservers") for d in devices.values()] == [MERGED, None, None]


OWN = """apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: VSphereVM
metadata: {name: m, namespace: ns, annotations: {ipam.fairlead.dev/nameservers: '{"addresses": [%s]}'}}
spec:
  network:
    devices:
    - nameservers: [10.9.0.1]
      searchDomains: [own.example]
      addressesFromPools: [{apiGroup: ipam.cluster.x-k8s.io, kind: InClusterIPPool, name: p}]
    - addressesFromPools: [{apiGroup: ipam.cluster.x-k8s.io, kind: InClusterIPPool, name: p}]
"""
OF_ADDRESS = """---
apiVersion: ipam.cluster.x-k8s.io/v1beta2
kind: IPAddress
metadata: {name: m-%d-0, namespace: ns}
spec:
  address: 10.0.0.1%d
  prefix: 24
  poolRef: {apiGroup: ipam.cluster.x-k8s.io, kind: InClusterIPPool, name: p}
  nameservers: {search: [corp.example], addresses: [10.0.0.%d]}
"""


def test_own_name_servers_come_first():
    """IP-8, NC-4: entries of the machine and of devices replace those of addresses, or come before them; servers and domains are
    apart from each other."""
    addresses = "".join(OF_ADDRESS % (i, i, i + 1) for i in range(2))

    def nameservers(own, *args):
        text = OWN % own + addresses
        merged = yaml.safe_load(netconfig("-f", "-", "-o", "merged", *args, stdin=text))["nameservers"]
        devices = yaml.safe_load(netconfig("-f", "-", *args, stdin=text))["network"]["ethernets"]
        return merged, [d.get("nameservers") for d in devices.values()]
    prepend = ["--own-nameservers", "prepend"]
    both, corp = ["own.example", "corp.example"], ["corp.example"]
    for how in ([], ["--own-nameservers", "replace"]):
        assert nameservers("", *how) == (
            {"search": both, "addresses": ["10.9.0.1", "10.0.0.2"]},
            [{"search": ["own.example"], "addresses": ["10.9.0.1"]}, {"search": corp, "addresses": ["10.0.0.2"]}])
        assert nameservers('"10.8.0.1"', *how)[0] == {"search": both, "addresses": ["10.8.0.1"]}
    assert nameservers("", *prepend) == (
        {"search": both, "addresses": ["10.9.0.1", "10.0.0.1", "10.0.0.2"]},
        [{"search": both, "addresses": ["10.9.0.1", "10.0.0.1"]}, {"search": corp, "addresses": ["10.0.0.2"]}])
    # The fourth server is cut, and its device has none: domains are written where servers are.
    assert nameservers('"10.8.0.1"', *prepend) == (
        {"search": both, "addresses": ["10.8.0.1", "10.9.0.1", "10.0.0.1"]},
        [{"search": both, "addresses": ["10.8.0.1", "10.9.0.1", "10.0.0.1"]}, None])


def networkd(out):
    return {name: link["dns"] for path in out.glob("etc/systemd/network/*.network") for name, link in [networkd_link(path)]}


def network_manager(out):
    found = {}
    for path in out.glob("etc/NetworkManager/system-connections/*.nmconnection"):
        parsed = configparser.ConfigParser(delimiters="=")
        parsed.read(path)
        section = parsed["ipv4"]
        lists = {"search": section.get("dns-search", ""), "addresses": section.get("dns", "")}
        name = path.name.removeprefix("cloud-init-").removesuffix(".nmconnection")
        found[name] = {k: v.strip(";").split(";") for k, v in lists.items() if v}
    return found


def netplan_of_cloud_init(out):
    devices = yaml.safe_load((out / "etc/netplan/50-cloud-init.yaml").read_text())["network"]["ethernets"]
    return {d["set-name"]: d.get("nameservers", {}) for d in devices.values()}


@pytest.mark.parametrize("renderer, read", [("networkd", networkd), ("network-manager", network_manager),
                                            ("netplan", netplan_of_cloud_init)])
@pytest.mark.parametrize("mode", ["per-device", "flat"])
def test_cloud_init_renderers_agree(convert, renderer, read, mode):
    expected = BY_DEVICE if mode == "per-device" else {"eth0": MERGED, "eth1": {}, "eth2": {}}
    assert read(convert(netplan_yaml("-o", "nocloud", "--mode", mode), renderer)) == expected


@pytest.mark.parametrize("mode", ["per-device", "flat"])
def test_sysconfig_arrives_at_the_merged_list(convert, mode):
    out = convert(netplan_yaml("-o", "nocloud", "--mode", mode), "sysconfig")
    lines = [line.split() for line in (out / "etc/resolv.conf").read_text().splitlines()]
    assert [line[1] for line in lines if line[:1] == ["nameserver"]] == SERVERS
    assert [line[1:] for line in lines if line[:1] == ["search"]] == [SEARCH]
    first = (out / "etc/sysconfig/network-scripts/ifcfg-eth0").read_text()
    assert "IPADDR=10.0.0.10\n" in first and "GATEWAY=10.0.0.254\n" in first and "DEFROUTE=yes\n" in first


def test_eni_is_unsupported(convert):
    """cloud-init 22.4 writes a line that ifupdown does not know, though the list itself is right: the page says so."""
    text = (convert(netplan_yaml("-o", "nocloud"), "eni") / "etc/network/interfaces.d/50-cloud-init").read_text()
    assert f"    dns-nameservers {' '.join(SERVERS)}\n    dns-search {' '.join(SEARCH)}\n" in text
    assert "    dns {'nameservers'" in text
    with open(os.path.join(server.ROOT, "docs", "machine-addresses.md"), encoding="utf-8") as f:
        assert re.search(r"renderer `eni` .*not supported", f.read(), re.S)


def test_nocloud_data_source(source, tmp_path):
    seed = tmp_path / "cloud" / "seed"
    seed.mkdir(parents=True)
    (tmp_path / "user").write_text("#cloud-config\nhostname: x\n")
    assert netplan_yaml("--out", str(seed / "nocloud"), "--user-data", str(tmp_path / "user")) == ""
    assert {oct(p.stat().st_mode & 0o777) for p in (seed / "nocloud").iterdir()} == {"0o600"}
    got = source("NoCloud", tmp_path / "cloud")
    assert got["metadata"]["instance-id"] == got["metadata"]["local-hostname"] == "example"
    assert got["network"] == yaml.safe_load(netplan_yaml())["network"]
    assert got["network"] == yaml.safe_load(netplan_yaml("-o", "nocloud"))
    assert got["user_data"] == "#cloud-config\nhostname: x\n"


def test_vmware_data_source(source, tmp_path):
    (tmp_path / "user").write_text("#cloud-config\nhostname: x\n")
    lines = netplan_yaml("-o", "vmware", "--user-data", str(tmp_path / "user")).splitlines()
    variables = dict(line.split("=", 1) for line in lines)
    assert sorted(variables) == ["guestinfo.metadata", "guestinfo.metadata.encoding", "guestinfo.userdata",
                                 "guestinfo.userdata.encoding"]
    env = {"VMX_" + name.upper().replace(".", "_"): value for name, value in variables.items()}
    got = source("VMware", tmp_path / "cloud", VMX_GUESTINFO="1", **env)
    assert got["network"] == yaml.safe_load(netplan_yaml())["network"]
    assert got["metadata"]["local-hostname"] == "example"
    assert got["metadata"]["wait-on-network"] == {"ipv4": True, "ipv6": False}
    assert got["user_data"] == "#cloud-config\nhostname: x\n"
    assert yaml.safe_load(base64.b64decode(variables["guestinfo.metadata"]))["network"]["version"] == 2


def test_cd_image(tmp_path):
    """The drive is found by its label, and readers of either set of names find the files."""
    image, folder = tmp_path / "seed.iso", tmp_path / "seed"
    assert netplan_yaml("--iso", str(image), "--out", str(folder)) == ""
    first = image.read_bytes()
    netplan_yaml("--iso", str(image))
    assert image.read_bytes() == first
    blkid = shutil.which("blkid", path=SBIN)
    said = subprocess.run([blkid, "-p", "-o", "export", image], capture_output=True, text=True, check=True).stdout
    assert "LABEL=cidata\n" in said and "TYPE=iso9660\n" in said
    isoinfo, xorriso = shutil.which("isoinfo"), shutil.which("xorriso")
    assert isoinfo and xorriso, "genisoimage and xorriso are missing: tools/deps test"
    for name in ("meta-data", "network-config", "user-data"):
        for arguments in (["-J", "-x", f"/{name}"], ["-x", f"/{name.upper()}.;1"]):
            read = subprocess.run([isoinfo, "-i", image, *arguments], capture_output=True, check=True).stdout
            assert read == (folder / name).read_bytes()
    done = subprocess.run([xorriso, "-osirrox", "on", "-indev", image, "-extract", "/", tmp_path / "read"],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr and "FAILURE" not in done.stderr, done.stderr
    assert {p.name: p.read_bytes() for p in (tmp_path / "read").iterdir()} == {
        p.name: p.read_bytes() for p in folder.iterdir()}


# ---- where it is written ----

def test_links_are_followed(tmp_path):
    """A symbolic link stays one: what it points to is replaced, or made."""
    target, link = tmp_path / "drives" / "seed.iso", tmp_path / "seed.iso"
    target.parent.mkdir()
    link.symlink_to("drives/seed.iso")
    netplan_yaml("--iso", str(link))  # made
    first = target.read_bytes()
    assert link.is_symlink() and first[32769:32774] == b"CD001"
    target.write_bytes(b"x" * (len(first) + 4096))
    before = target.stat().st_ino
    netplan_yaml("--iso", str(link))  # replaced, whole
    assert link.is_symlink() and target.read_bytes() == first and target.stat().st_ino != before
    assert sorted(p.name for p in target.parent.iterdir()) == ["seed.iso"]
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / "meta-data").symlink_to(tmp_path / "elsewhere")
    netplan_yaml("--out", str(folder))
    assert (folder / "meta-data").is_symlink() and "instance-id" in (tmp_path / "elsewhere").read_text()


def test_fifo_gets_the_image(tmp_path):
    fifo, image = tmp_path / "fifo", tmp_path / "seed.iso"
    os.mkfifo(fifo)
    netplan_yaml("--iso", str(image))
    reader = subprocess.Popen(["cat", fifo], stdout=subprocess.PIPE)
    try:
        netplan_yaml("--iso", str(fifo))
        assert stat.S_ISFIFO(fifo.lstat().st_mode)
        assert reader.communicate(timeout=60)[0] == image.read_bytes()
    finally:
        reader.kill()


def test_device_stays_a_device(tmp_path):
    """A node of its own: whatever is wrong, those of the system stay as they are."""
    null, full = tmp_path / "null", tmp_path / "full"
    try:
        os.mknod(null, stat.S_IFCHR | 0o666, os.makedev(1, 3))
        os.mknod(full, stat.S_IFCHR | 0o666, os.makedev(1, 7))
        null.write_bytes(b"")
    except PermissionError:
        pytest.skip("device nodes cannot be made here")
    netplan_yaml("--iso", str(null))
    assert f"cannot write '{full}': No space left on device" in netplan_yaml("--iso", str(full), status=1)
    for node in (null, full):
        assert stat.S_ISCHR(node.lstat().st_mode)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["full", "null"]


# ---- DHCP, limits, what is refused ----

def test_dhcp_beside_name_servers(netplan, convert):
    machine = VM + "    - {dhcp4: true, nameservers: [10.0.0.1]}\n    - {dhcp4: true}\n"
    text = netconfig("-f", "-", stdin=machine)
    links = netplan(text)
    assert links["eth0"]["UseDNS"] == links["eth0"]["UseDomains"] == ["false"]
    assert "UseDNS" not in links["eth1"]
    rendered = (convert(text, "networkd") / "etc/systemd/network/10-cloud-init-eth0.network").read_text()
    assert "UseDNS=False\nUseDomains=False\n" in rendered
    assert "use-dns" not in netconfig("-f", "-", "--dhcp-dns", "use", stdin=machine)
    assert netconfig("-f", "-", "--dhcp-dns", "ignore", stdin=machine).count("use-dns: false") == 2


def test_both_families(netplan, convert):
    text = netconfig("-f", "-", stdin=VM + """    - {macAddr: "00:50:56:00:00:01", ipAddrs: [10.0.0.1/24, "2001:db8::1/64"],
       gateway4: 10.0.0.254, gateway6: "2001:db8::fe", mtu: 9000, nameservers: ["2001:DB8::53", 10.0.0.53],
       routes: [{to: 10.8.0.0/16, via: 10.0.0.9, metric: 5}]}
    - {macAddr: "00:50:56:00:00:02", ipAddrs: [10.1.0.1/24], gateway4: 10.1.0.254}
""")
    links = netplan(text)
    assert links["eth0"]["Gateway"] == ["10.0.0.254", "2001:db8::fe", "10.0.0.9"]
    # netplan itself writes servers of IPv4 first.
    assert links["eth0"]["dns"] == {"addresses": ["10.0.0.53", "2001:db8::53"]}
    assert networkd(convert(text, "networkd"))["eth0"] == {"addresses": ["2001:db8::53", "10.0.0.53"]}
    assert links["eth0"]["MTUBytes"] == ["9000"] and links["eth1"]["Metric"] == ["100"]
    for renderer in ("networkd", "sysconfig", "netplan", "network-manager"):
        convert(text, renderer)


def test_domains_without_servers(convert):
    """cloud-init 22.4 drops the DNS settings of a device with domains alone, and of all that follow: its domains are written
    beside other servers."""
    devices = ["    - {ipAddrs: [10.0.%d.1/24], %s}\n" % (i, text) for i, text in enumerate(
        ["searchDomains: [a]", "searchDomains: [b], nameservers: [10.0.0.53]", "searchDomains: [c]"])]
    out = netconfig("-f", "-", "-o", "nocloud", stdin=VM + "".join(devices))
    text = (convert(out, "sysconfig") / "etc/resolv.conf").read_text()
    assert "nameserver 10.0.0.53\nsearch a b c\n" in text
    assert networkd(convert(out, "networkd")) == {
        "eth0": {}, "eth1": {"search": ["a", "b", "c"], "addresses": ["10.0.0.53"]}, "eth2": {}}


LONE = "warning: no device has a name server: netplan uses the search domains alone, but cloud-init 22.4 leaves them out"


def test_domains_without_any_server(netplan, convert):
    """The warning says what its readers make of it."""
    for device, file in (("ipAddrs: [10.0.0.1/24]", "ifcfg-eth0"), ("dhcp4: true", None)):
        machine = VM + f"    - {{{device}, searchDomains: [a.example]}}\n"
        status, out, err = run("netconfig", "-f", "-", "-o", "nocloud", stdin=machine)
        assert status == 0 and LONE in err
        found = [p.name for p in convert(out, "sysconfig").rglob("*") if p.is_file() and "a.example" in p.read_text()]
        assert found == ([file] if file else [])
        assert netplan(netconfig("-f", "-", stdin=machine))["eth0"]["dns"] == {"search": ["a.example"]}
    for more, args in ((", nameservers: [10.0.0.53]", []), ("", ["-o", "merged"])):
        _, _, err = run("netconfig", "-f", "-", *args, stdin=machine.replace("}\n", more + "}\n"))
        assert LONE not in err


def many(count, form):
    return "[" + ", ".join(form.format(i) for i in range(count)) + "]"


def test_limits_of_guests(convert):
    """A seventh domain makes cloud-init's sysconfig fail, so that it must not get there; a sixth does not."""
    devices = "    - {ipAddrs: [10.0.0.1/24], searchDomains: %s, nameservers: %s}\n"
    machine = VM + devices % (many(7, "d{}.example"), many(4, "10.0.0.1{}"))
    status, out, err = run("netconfig", "-f", "-", "-o", "nocloud", stdin=machine)
    assert status == 0
    assert "warning: the search domain 'd6.example' is left out: guests hold 3 name servers" in err
    assert "warning: the name server '10.0.0.13' is left out" in err
    convert(out, "sysconfig")
    broken = out.replace('"d5.example"', '"d5.example", "d6.example"')
    assert "Traceback" in convert(broken, "sysconfig", status=1)


def test_256_characters_of_domains(convert):
    """As many as fit are accepted by the reader that counts them; one character more is not."""
    domains = [letter * 50 + "." + "y" * 12 for letter in "abc"] + ["d" * 50 + "." + "y" * 13]
    assert len(" ".join(domains)) == 256
    device = "    - {ipAddrs: [10.0.0.1/24], nameservers: [10.0.0.53], searchDomains: [%s]}\n"
    status, out, err = run("netconfig", "-f", "-", "-o", "nocloud", stdin=VM + device % ", ".join(domains))
    assert status == 0 and "left out" not in err
    convert(out, "sysconfig")
    assert "Traceback" in convert(out.replace('y"]', 'yy"]'), "sysconfig", status=1)
    status, out, err = run("netconfig", "-f", "-", stdin=VM + device % (", ".join(domains) + "y"))
    assert status == 0 and f"the search domain '{domains[3]}y' is left out" in err


@pytest.mark.parametrize("value, text", [
    ('searchDomains: ["bad domain;x"]', "'bad domain;x' is not a search domain"),
    ("searchDomains: [é.de]", "'é.de' is not a search domain: letters beyond ASCII must be written in their xn-- form"),
    ('searchDomains: ["a\\nDNS=10.9.9.9"]', "is not a search domain"),
    ("nameservers: [10.0.0.300]", "'10.0.0.300' is not an IP address"),
    ("nameservers: [dns.example]", "'dns.example' is not an IP address"),
    ('nameservers: ["::ffff:1.2.3.4"]', "'::ffff:1.2.3.4' is an IPv4 address in the form of IPv6, which is not accepted: write 1.2.3.4"),
    ('nameservers: ["fe80::1%eth0"]', "'fe80::1%eth0' has a zone (%eth0): zones are not allowed"),
    ("nameservers: [10.0.0.1, 0.0.0.0]", "nameservers[1]: '0.0.0.0' stands for no host (0.0.0.0/8): no name server can have it"),
    ('nameservers: ["ff02::fb"]', "nameservers[0]: 'ff02::fb' is a multicast address"),
    ("nameservers: [255.255.255.255]", "'255.255.255.255' is the broadcast address"),
    ("macAddr: 5", "macAddr: must be a string, not 5"),
    ("nameservers: [5]", "'5' is not an IP address"),
    ('deviceName: "a b"', "cannot be the name of an interface"),
    ("ipAddrs: [10.0.0.1]", "is not an address with its prefix"),
    ("gateway4: x", "'x' is not an IPv4 address"),
])
def test_bad_values_reach_no_guest(value, text):
    err = netconfig("-f", "-", status=1, stdin=VM + f"    - {{{value}}}\n")
    assert re.match(r"<stdin>:7:\d+: spec.network.devices\[0\]\.", err) and text in err


def test_loopback_name_server():
    """IP-16: it may be meant, where the guest has a DNS server: a warning."""
    status, out, err = run("netconfig", "-f", "-", stdin=VM + '    - {nameservers: [127.0.0.53], macAddr: "00:50:56:00:00:01"}\n')
    assert status == 0 and '["127.0.0.53"]' in out
    assert err == ("<stdin>:7:22: warning: spec.network.devices[0].nameservers[0]: '127.0.0.53' is a loopback address: it is a name "
                   "server only if the guest runs one itself\n")


def test_all_problems_are_listed_at_once():
    err = netconfig("-f", "-", status=1, stdin=VM + "    - {mtu: 1, gateway4: x}\n    - {macAddr: x}\n")
    assert [line.split(": ")[1] for line in err.splitlines()] == [
        "spec.network.devices[0].mtu", "spec.network.devices[0].gateway4", "spec.network.devices[1].macAddr"]
    assert [line.split(":")[1] for line in err.splitlines()] == ["7", "7", "8"]


def test_unbound_claims_are_listed():
    pool = "addressesFromPools: [{apiGroup: ipam.cluster.x-k8s.io, kind: P, name: p}]"
    claim = """---
apiVersion: ipam.cluster.x-k8s.io/v1beta2
kind: IPAddressClaim
metadata: {name: m-1-0, namespace: ns}
status: {conditions: [{type: Ready, status: "False", message: the pool has no free address}]}
"""
    err = netconfig("-f", "-", status=1, stdin=VM + f"    - {{{pool}}}\n    - {{{pool}}}\n" + claim)
    assert err.splitlines() == [
        "<stdin>:7:29: spec.network.devices[0].addressesFromPools[0]: there is no IPAddress 'm-0-0': a machine is configured "
        "when all its claims are bound",
        "<stdin>:10:1: the claim 'm-1-0' has no address yet: the pool has no free address: a machine is configured when all "
        "its claims are bound"]


@pytest.mark.parametrize("args, status, text", [
    ([], 64, "name manifests with -f, or a machine of the API with --machine"),
    (["-f", EXAMPLE, "-o", "json"], 64, "netconfig: -o: 'json' is none of netplan nocloud vmware merged"),
    (["-f", EXAMPLE, "--mode", "both"], 64, "--mode: 'both' is none of per-device flat"),
    (["-f", EXAMPLE, "--own-nameservers", "append"], 64, "--own-nameservers: 'append' is none of replace prepend"),
    (["-f", EXAMPLE, "-o", "netplan", "--iso", "x"], 64, "--out and --iso are for -o nocloud"),
    (["-f", EXAMPLE, "--user-data", "x"], 64, "--user-data is for"),
    (["-f", EXAMPLE, "--defaults-namespace", "a/b"], 64, "'a/b' cannot be the name of a namespace"),
    (["-f", EXAMPLE, "--machine", "a/b"], 1, "'a/b' cannot be the name of a machine"),
    (["-f", os.path.join(EXAMPLE, "template.yaml"), "--machine", "a" * 254], 1,
     f"'{'a' * 100}...' cannot be the name of a machine: it has 254 characters, at most 253 are allowed"),
    (["-f", "/nonexistent"], 1, "cannot read '/nonexistent'"),
    (["-f", os.path.join(EXAMPLE, "addresses.yaml")], 1, "the files have no VSphereVM"),
    (["-f", EXAMPLE, "--iso", "/nonexistent/x.iso"], 1, "cannot write '/nonexistent/x.iso'"),
    (["-f", EXAMPLE, "-o", "vmware", "--user-data", "/nonexistent"], 1, "cannot read '/nonexistent'"),
])
def test_errors(args, status, text):
    assert text in netconfig(*args, status=status)


@pytest.mark.parametrize("args, size", [(["-f"], 32 << 20), (["-f", EXAMPLE, "-o", "vmware", "--user-data"], 4 << 20)])
def test_files_that_are_too_large(tmp_path, args, size):
    with open(tmp_path / "large", "wb") as f:
        f.truncate(size + 1)
    assert f"cannot read '{tmp_path}/large': it has more than {size} bytes" in netconfig(*args, str(tmp_path / "large"), status=1)


def test_several_machines_need_a_name():
    two = VM + "    - {}\n---\n" + VM.replace("name: m,", "name: k,") + "    - {deviceName: other}\n"
    assert "name one machine with --machine (and -n): the files have VSphereVM m, VSphereVM k" in netconfig(
        "-f", "-", status=1, stdin=two)
    assert '"other":' in netconfig("-f", "-", "--machine", "k", stdin=two)


def test_two_objects_of_one_name(tmp_path):
    """The order of files must not decide which address a machine has."""
    other = POOLED.split("---\n")[1].replace("10.0.0.10", "10.0.0.11")
    (tmp_path / "a.yaml").write_text(POOLED)
    (tmp_path / "b.yaml").write_text("# other\n" + other)
    a, b = str(tmp_path / "a.yaml"), str(tmp_path / "b.yaml")
    for first, second, places in ((a, b, (f"{a}:9:1", f"{b}:2:1")), (b, a, (f"{b}:2:1", f"{a}:9:1"))):
        assert f"{places[1]}: the IPAddress 'm-0-0' is another one than at {places[0]}" in netconfig("-f", first, second, status=1)
    # The same object twice is harmless: a folder and a file of it. Another version, too, is another text of one object.
    assert netconfig("-f", str(tmp_path / "a.yaml"), a) == netconfig("-f", a)
    (tmp_path / "b.yaml").write_text(other.replace("v1beta2", "v1beta1"))
    assert "is another one than at" in netconfig("-f", a, b, status=1)
    (tmp_path / "b.yaml").write_text(other.replace("namespace: ns", "namespace: other"))
    assert netconfig("-f", a, b) == netconfig("-f", a)


# ---- from the API ----

@pytest.fixture
def api(tmp_path):
    """The data directory of an embedded API with the addresses of the example."""
    data, log = str(tmp_path / "data"), open(tmp_path / "api.log", "w+", encoding="utf-8")
    process = subprocess.Popen([server.fairlead_program(), "api", "--data", data, "--listen", f"127.0.0.1:{free_port()}"],
                               stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)
    try:
        eventually(lambda: "try: " in open(log.name, encoding="utf-8").read(), 30, "the API serves")
        namespaces = "".join(f"---\napiVersion: v1\nkind: Namespace\nmetadata: {{name: {n}}}\n"
                             for n in ("vsphere-site1", "fairlead"))
        assert run("apply", "--data", data, "-f", "-", stdin=namespaces)[0] == 0
        assert run("apply", "--data", data, "-f", os.path.join(EXAMPLE, "addresses.yaml"))[0] == 0
        yield data
    finally:
        process.terminate()
        assert process.wait(30) == 0
        log.close()


def test_addresses_from_the_api(api):
    """The machine from a file, its addresses from the API: the same bytes. A claim without an address stops it."""
    machine = os.path.join(EXAMPLE, "vspherevm.yaml")
    assert netconfig("-f", machine, "--data", api) == netplan_yaml()
    defaults = """apiVersion: v1
kind: ConfigMap
metadata: {name: fairlead-ipam, namespace: fairlead}
data: {nameservers: '{"addresses": ["10.3.0.1"]}'}
"""
    assert run("apply", "--data", api, "-f", "-", stdin=defaults)[0] == 0
    merged = yaml.safe_load(netconfig("-f", machine, "--data", api, "-o", "merged"))
    assert merged["nameservers"]["addresses"] == ["10.3.0.1", "10.0.0.1", "10.100.0.1"]
    assert run("delete", "--data", api, "-f", os.path.join(EXAMPLE, "addresses.yaml"))[0] == 0
    assert netconfig("-f", machine, "--data", api, status=1).count("there is no IPAddress 'example-") == 4
    err = netconfig("--data", api, "-n", "vsphere-site1", "--machine", "example", status=1)
    assert "has no VSphereVM, VSphereMachine or VSphereMachineTemplate 'example' in the namespace 'vsphere-site1'" in err


def namespace_of(*path):
    """Of the program that the manifests install."""
    with open(os.path.join(server.ROOT, "deploy", *path), encoding="utf-8") as f:
        objects = [o for o in yaml.safe_load_all(f) if o]
    return next((o["metadata"]["namespace"] for o in objects if o["kind"] == "Deployment"), objects[0]["metadata"]["name"])


def put_default(api, ns, address):
    text = f"""apiVersion: v1
kind: Namespace
metadata: {{name: {ns}}}
---
apiVersion: v1
kind: ConfigMap
metadata: {{name: fairlead-ipam, namespace: {ns}}}
data: {{nameservers: "addresses: [{address}]"}}
"""
    status, out, err = run("apply", "--data", api, "-f", "-", stdin=text)
    assert status == 0, out + err


def test_defaults_are_where_the_program_runs(api):
    """IP-14: `fairlead up` has them in `default`, the manifests and clusterctl in namespaces of their own."""
    asked = ["-f", os.path.join(EXAMPLE, "vspherevm.yaml"), "--data", api, "-o", "merged"]

    def first(*args):
        status, out, err = run("netconfig", *asked, *args)
        assert status == 0, err
        about = [line.partition("warning: ")[2] for line in err.splitlines() if "ConfigMap" in line]
        return yaml.safe_load(out)["nameservers"]["addresses"][0], about
    places = ["default", namespace_of("operator", "ipam.yaml"), namespace_of("clusterctl", "namespace.yaml")]
    assert len(set(places)) == 3
    for ns in places:
        put_default(api, ns, "10.3.0.1")
        assert first() == ("10.3.0.1", [])
        assert run("delete", "--data", api, "-n", ns, "configmap", "fairlead-ipam")[0] == 0
    put_default(api, "elsewhere", "10.3.0.2")
    assert first() == ("10.0.0.1", [])
    assert first("--defaults-namespace", "elsewhere") == ("10.3.0.2", [])
    put_default(api, places[0], "10.3.0.3")
    put_default(api, places[1], "10.3.0.4")
    assert first() == ("10.3.0.4", ["the ConfigMap 'fairlead-ipam' is in the namespaces 'fairlead' and 'default': the first one is used, "
                                    "--defaults-namespace chooses"])
    assert first("--defaults-namespace", places[0]) == ("10.3.0.3", [])
    assert first("--defaults-namespace", "kube-system") == ("10.0.0.1", [
        "there is no ConfigMap 'fairlead-ipam' in the namespace 'kube-system'"])


# ---- the default name servers ----

def documented_default():
    """The ConfigMap that docs/controllers/ipam.md shows, as it stands there."""
    with open(os.path.join(server.ROOT, "docs", "controllers", "ipam.md"), encoding="utf-8") as f:
        blocks = re.findall(r"(?m)(?:^    .*\n)+", f.read())
    return next(textwrap.dedent(block) for block in blocks if "kind: ConfigMap" in block)


POOLED = VM + """    - {macAddr: "00:50:56:00:00:01", addressesFromPools: [{apiGroup: ipam.cluster.x-k8s.io, kind: P, name: p}]}
---
apiVersion: ipam.cluster.x-k8s.io/v1beta2
kind: IPAddress
metadata: {name: m-0-0, namespace: ns}
spec:
  address: 10.0.0.10
  prefix: 24
  poolRef: {apiGroup: ipam.cluster.x-k8s.io, kind: P, name: p}
---
"""


def test_default_of_the_documentation():
    """IP-14: the page of the controller has YAML; JSON is a part of it."""
    text = documented_default()
    data = yaml.safe_load(text)
    expected = yaml.safe_load(data["data"]["nameservers"])
    assert expected["search"] and expected["addresses"]
    assert yaml.safe_load(netconfig("-f", "-", "-o", "merged", stdin=POOLED + text)) == {"nameservers": expected}
    data["data"]["nameservers"] = json.dumps(expected)
    assert yaml.safe_load(netconfig("-f", "-", "-o", "merged", stdin=POOLED + json.dumps(data))) == {"nameservers": expected}


def test_default_that_is_broken():
    data = yaml.safe_load(documented_default())
    data["data"]["nameservers"] = "search: [corp.example]\nsearch: [b.example]\n"
    err = netconfig("-f", "-", status=1, stdin=POOLED + json.dumps(data))
    assert "data.nameservers: is not YAML: line 2, column 1: " in err


def test_defaults_of_files_by_namespace():
    two = "---\n".join(documented_default().replace("namespace: fairlead", f"namespace: {ns}").replace("10.0.0.53", address)
                       for ns, address in (("a", "10.0.0.1"), ("b", "10.0.0.2")))
    out = netconfig("-f", "-", "-o", "merged", "--defaults-namespace", "b", stdin=POOLED + two)
    assert yaml.safe_load(out)["nameservers"]["addresses"] == ["10.0.0.2"]
    out = netconfig("-f", "-", "-o", "merged", "--defaults-namespace", "c", stdin=POOLED + two)
    assert yaml.safe_load(out)["nameservers"] == {}
