# SPDX-License-Identifier: GPL-3.0-or-later
"""Questions about the content of kube_content.py: names that are there, near misses, odd ones; types and transports."""
import ipaddress
import random

from kube_content import LONG, NAMESPACES, ZONE

TYPES = ["A"] * 5 + ["AAAA"] * 4 + ["SRV"] * 5 + ["TXT", "CNAME", "PTR", "MX", "SOA", "NS", "ANY", "HTTPS", "65400"]
FIXED = ["", "svc", "pod", "foo", "x.foo", "dns-version", "x.dns-version", "ns.dns", "x.ns.dns", "dns", "apex.dns", "*", "any.svc", "*.svc",
         "a-cluster.*.svc", "*.shop.svc", "_.shop.svc", "_zone.shop.svc", "a-cluster.shop.svc.svc", "shop.svc.svc", "a.b.c.d.e.f.g",
         "Upper.shop.svc", "upper.shop.svc", "gone.shop.svc", "stray-1.shop.svc", "172-20-1-2.gone.shop.svc",
         "172-20-1-3.a-headless.bank.svc", "pod-a." + "x" * 63 + ".shop.svc", "\\046.shop.svc", "a\\.b.shop.svc", "a\\000b.shop.svc"]
NO_PODS = ["1-2-3-4", "1-2-3", "1-2-3-256", "fd00--1", "fd00--", "--1", "---1", "1--2-3-4", "::1", "01-2-3-4", "0-0-0-0", "a-b-c-d",
           "fd00-0-0-0-0-0-0-1", "--ffff-102-304", "--ffff-1-2-3-4", "FD00--A", "1-2-3-4-5", "-1-2-3"]


def questions(content, seed, zones=(ZONE,)):
    """Questions without end: dicts for wire.query, with `tcp`."""
    r = random.Random(seed)
    makers = [service_name] * 10 + [fixed_name, pod_name, pod_name, reverse_name, reverse_name, long_name]
    while True:
        zone = r.choice(zones)
        name = r.choice(makers)(r, content, zone)
        if not fits(name):
            continue
        q = {"name": mix(r, name), "rtype": r.choice(TYPES if not name.endswith("arpa.") else TYPES + ["PTR"] * 20),
             "tcp": r.random() < 0.12}
        if r.random() < 0.4:
            q["edns"] = r.choice([512, 1232, 4096])
        if r.random() < 0.05:
            q["flags"] = ()
        yield q


def fits(name):
    import dns.exception
    import dns.name
    try:
        dns.name.from_text(name)
        return True
    except dns.exception.DNSException:
        return False


def mix(r, name):
    """Some in letters of another case; the zone sometimes left alone, which makes a difference for NS."""
    pick = r.random()
    if pick < 0.85 or "\\" in name:
        return name
    if pick < 0.9:
        return name.upper()
    cut = name.find(ZONE) if pick < 0.95 and ZONE in name else len(name)
    return "".join(r.choice((c.upper(), c)) for c in name[:cut]) + name[cut:]


def below(*labels):
    return ".".join(l for l in labels if l) + "."


def service_name(r, content, zone):
    ns, name = r.choice(list(content.services))
    spec = content.services[ns, name]["spec"]
    ports = spec.get("ports", []) or [{}]
    port = r.choice(ports)
    labels = content.labels.get((ns, name)) or ["172-20-0-1"]
    front = r.choice([
        "", "", "", r.choice(labels), r.choice(labels), "nope", "any",
        f"_{port.get('name', '')}._{port.get('protocol', 'TCP').lower()}", f"{port.get('name', 'x')}.{port.get('protocol', 'TCP')}",
        f"_{port.get('name', 'http')}._{r.choice(['tcp', 'udp', 'sctp', 'x', ''])}", f"_nope._{port.get('protocol', 'TCP')}",
        f"_http._tcp.{r.choice(labels)}", "a.b", "a.b.c",
        f"{r.choice(['eu-1a', 'EU-1b', 'zone.with.dots', 'nowhere'])}.{r.choice(['pin', 'prefer', 'other'])}.{r.choice(['_zone', 'zone'])}"])
    pick = r.random()
    if pick < 0.06:
        name = name[:-1] + r.choice("xyz0") if r.random() < 0.5 else name[:-1] or "x"
    elif pick < 0.12:
        ns = r.choice(list(NAMESPACES) + ["default", "kube-system", "nons"])
    elif pick < 0.15:
        name = ""
    return below(front if name else "", name, ns, "svc" if r.random() < 0.97 else "pod", zone)


def fixed_name(r, content, zone):
    if r.random() < 0.3:
        return below(r.choice(list(NAMESPACES) + ["default", "nons"]), r.choice(["svc", "pod"]), zone)
    return below(r.choice(FIXED), zone)


def pod_name(r, content, zone):
    ns, ip = r.choice(content.pods)
    label = ip.replace(".", "-").replace(":", "-")
    if r.random() < 0.4:
        label = r.choice(NO_PODS)
    if r.random() < 0.3:
        ns = r.choice(list(NAMESPACES) + ["nons"])
    return below(r.choice(["", "", "", "", "x", "_http._tcp"]), label, ns, "pod", zone)


def reverse_name(r, content, zone):
    pools = [sorted(content.cluster_ips), sorted(content.ips), ["172.20.0.1", "172.20.1.1", "172.20.1.2", "172.20.2.1", "10.96.200.1"],
             [ip for _, ip in content.pods], ["192.0.2.7", "192.0.2.9", "10.96.0.1", "172.21.0.1", "fd00::"]]
    name = ipaddress.ip_address(r.choice(r.choice(pools))).reverse_pointer
    pick = r.random()
    if pick < 0.06:
        name = name.split(".", r.randrange(1, 4))[-1]
    elif pick < 0.1:
        name = r.choice(["x.", "1.", "svc.", "shop.svc.", "01."]) + name
    elif pick < 0.13:
        name = r.choice(["in-addr.arpa", "ip6.arpa", "256.1.96.10.in-addr.arpa", "01.1.96.10.in-addr.arpa", "a.b.c.d.in-addr.arpa"])
    return name + "."


def long_name(r, content, zone):
    """As long as a name can be, in several ways."""
    room = 253 - len(zone) - 5
    front, labels = "", []
    while room > 1:
        n = min(63, room - 1)
        labels.append(r.choice(["a", LONG[0], "_"]) * n)
        room -= n + 1
    tail = r.choice([["svc"], ["pod"], ["shop", "svc"], []])
    return below(front, *labels[:r.randrange(1, len(labels) + 1)], *tail, zone)
