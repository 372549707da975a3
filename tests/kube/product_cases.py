# SPDX-License-Identifier: GPL-3.0-or-later
"""Objects of the product's own kinds, good and bad: what the API server says by deploy/crds is recorded in
src/api/test_product.json. CASES: (what it is about, kind.group/version, spec[, old spec]); STATUS_CASES: (..., spec, status
that is written[, status before])."""
DNS, EGRESS, RECORD = "DNS.operator.openshift.io/v1", "EgressFirewall.k8s.ovn.org/v1", "DNSRecord.extensions.gardener.cloud/v1alpha1"
GATE, NETWORK, NAME = "FeatureGate.config.openshift.io/v1", "Network.config.openshift.io/v1", "DNSName.k8s.ovn.org/v1"
PREFIX_POOL, GLOBAL_PREFIX_POOL = (f"{k}.ipam.cluster.x-k8s.io/v1alpha2" for k in ("InClusterPrefixPool", "GlobalInClusterPrefixPool"))
ADDRESS, CLAIM, POOL = (f"{k}.ipam.cluster.x-k8s.io/{v}" for k, v in (("IPAddress", "v1beta2"), ("IPAddressClaim", "v1beta2"), ("InClusterIPPool", "v1alpha2")))
OLD_ADDRESS = "IPAddress.ipam.cluster.x-k8s.io/v1alpha1"


def template(**kw):
    return {k: v for k, v in {"name": "t", "zones": ["example.com"], "action": {"returnEmpty": {}}, **kw}.items() if v is not None}


def templates(*items):
    return {"templates": list(items)}


def forward(**kw):
    return {"servers": [{"name": "s", "zones": ["a.b"], "forwardPlugin": {"upstreams": ["1.1.1.1"], **kw}}]}


def rule(to, **kw):
    return {"egress": [{"type": "Allow", "to": to, **kw}]}


def record(**kw):
    return {k: v for k, v in {"type": "aws-route53", "secretRef": {"name": "s"}, "name": "a.example.com", "recordType": "A",
                              "values": ["1.2.3.4"], **kw}.items() if v is not None}


def address(**kw):
    return {k: v for k, v in {"address": "10.0.0.1", "prefix": 24, "claimRef": {"name": "c"}, "poolRef": {
        "apiGroup": "ipam.cluster.x-k8s.io", "kind": "InClusterIPPool", "name": "p"}, **kw}.items() if v is not None}


CASES = [
    ("OP-1", DNS, {}), ("OP-1", DNS, templates()), ("OP-2", DNS, templates(template(unknown=1))),
    *[("OP-3", DNS, templates(template(name=n))) for n in (None, "", "a" * 64, "a" * 65, "Upper", "-a", "a-", "a.b", "1-a")],
    *[("OP-4", DNS, templates(template(zones=z))) for z in (None, [], ["."], ["Example.COM."], ["a_b.c"], ["*.a"], ["é.com"], ["a..b"], ["a."], ["-a.b"], ["x" * 63 + ".y"], ["x" * 64 + ".y"], [""], ["a", "b", "c d"])],
    ("OP-5", DNS, templates(template(queryType="A"))), ("OP-5", DNS, templates(template(queryClass="CH", queryType="AAAA"))), ("OP-5", DNS, templates(template(queryType=None))),
    ("OP-6", DNS, templates(template(action={}))), ("OP-6", DNS, templates(template(action=None))),
    ("OP-6", DNS, templates(template(), template(name="u", action={"returnEmpty": {}, "generateResponse": {"answerTemplate": "x"}}))),
    ("OP-7", DNS, templates(template(action={"returnEmpty": {"rcode": "NXDOMAIN"}}))), ("OP-7", DNS, templates(template(action={"returnEmpty": {"rcode": "NOERROR"}}))),
    ("OP-8", DNS, templates(template(action={"generateResponse": {}}))), *[("OP-8", DNS, templates(template(action={"generateResponse": {"answerTemplate": "x" * n}}))) for n in (0, 1, 1024, 1025)],
    ("OP-8", DNS, templates(template(action={"generateResponse": {"answerTemplate": "x", "rcode": "REFUSED"}}))),
    ("OP-9", DNS, templates(*[template(name=f"t{i}") for i in range(20)])), ("OP-9", DNS, templates(*[template(name=f"t{i}") for i in range(21)])),
    ("OP-11", DNS, templates(template(), template(zones=["b.c"]))), ("OP-T14", DNS, templates(template(zones=[f"z{i}" for i in range(257)]))),
    ("OP-D1", DNS, {"logLevel": "Loud"}), ("OP-D1", DNS, {"managementState": "Sometimes"}), ("OP-D1", DNS, {"cache": {"positiveTTL": "1m", "negativeTTL": "-1s"}}), ("OP-D1", DNS, {"cache": {"positiveTTL": 60}}),
    ("OP-D1", DNS, forward(policy="First")), ("OP-D1", DNS, forward(upstreams=["1.1.1.1"] * 16)), ("OP-D1", DNS, forward(protocolStrategy="UDP")), ("OP-D1", DNS, forward(protocolStrategy="")),
    ("OP-D5", DNS, forward(transportConfig={"transport": "TLS"})), ("OP-D5", DNS, forward(transportConfig={"transport": "TLS", "tls": {}})), ("OP-D5", DNS, forward(transportConfig={"transport": "TLS", "tls": {"serverName": "a b"}})),
    ("OP-D5", DNS, forward(transportConfig={"transport": "Cleartext", "tls": {"serverName": "a.b"}})),
    *[("OP-D1", DNS, {"upstreamResolvers": {"upstreams": [u]}}) for u in ({"type": "Network"}, {"type": "Network", "address": "1.1.1.1"}, {"type": "Network", "address": "dns.example"}, {"type": "SystemResolvConf", "address": "1.1.1.1"},
                                                                       {"address": "1.1.1.1"}, {"type": "Network", "address": "::1", "port": 0}, {"type": "Network", "address": "::1", "port": 65536}, {"type": "Other"})],
    ("OP-D1", DNS, {"upstreamResolvers": {"upstreams": [{"type": "SystemResolvConf"}] * 16}}), ("OP-D1", DNS, {"nodePlacement": {"nodeSelector": {"a": 1}, "tolerations": [{"tolerationSeconds": "x"}]}}),

    *[("EF-1", EGRESS, rule({"dnsName": n})) for n in ("www.example.com", "*.example.com", "*.example.com.", "Www.Example.com", "*", "a.*.b", "**.a", "a..b", "", "a b", "x" * 300)],
    ("EF-D1", EGRESS, rule({})), ("EF-D1", EGRESS, rule({"dnsName": "a.b", "cidrSelector": "1.2.3.4/32"})), ("EF-D1", EGRESS, rule({"dnsName": "a", "cidrSelector": "1.2.3.4/32", "nodeSelector": {}})), ("EF-D1", EGRESS, rule({"nodeSelector": {}})),
    ("EF-D1", EGRESS, rule({"cidrSelector": "1.2.3.4"})), ("EF-D1", EGRESS, rule({"cidrSelector": "::/0"})), ("EF-D1", EGRESS, {"egress": [{"type": "AllowX", "to": {"dnsName": "a"}}]}), ("EF-D1", EGRESS, {"egress": [{"to": {"dnsName": "a"}}]}),
    *[("EF-D1", EGRESS, rule({"dnsName": "a"}, ports=[p])) for p in ({"protocol": "TCP", "port": 443}, {"protocol": "tcp", "port": 443}, {"protocol": "TCPX", "port": 1}, {"port": 1}, {"protocol": "UDP"}, {"protocol": "SCTP", "port": 0}, {"protocol": "UDP", "port": 65536})],
    ("EF-D1", EGRESS, {}), ("EF-D1", EGRESS, {"egress": []}), ("EF-D1", EGRESS, rule({"nodeSelector": {"matchExpressions": [{"key": "a", "operator": "Is"}]}})),
    ("EF-3", NAME, {"isregular": True, "iswildcard": "yes"}), ("EF-3", NAME, {}),

    ("DR-2", RECORD, {}), ("DR-2", RECORD, record()), *[("DR-2", RECORD, record(**{k: None})) for k in ("type", "secretRef", "name", "recordType", "values")], ("DR-2", RECORD, record(providerConfig={"a": {"b": [1]}}, **{"class": "seed"})),
    *[("DR-4", RECORD, record(ttl=t)) for t in (0, 120, 2147483647, 2147483648, -1, "60", 1.5)],
    ("DR-7", RECORD, record(type="")), ("DR-7", RECORD, record(secretRef={"name": ""})), ("DR-7", RECORD, record(secretRef={})), ("DR-7", RECORD, record(values=[])), ("DR-7", RECORD, record(region="", zone="")),
    *[("DR-8", RECORD, record(name=n)) for n in ("com", "a.com", "*.a.com", "*.com", "a.*.com", "a..com", "_acme-challenge.a.b", "a.com.", "A.com", "")],
    ("DR-8", RECORD, record(name="*.a.com", recordType="TXT", values=["x"])), ("DR-8", RECORD, record(name="_x.a.com", recordType="TXT", values=[""])),
    ("DR-9", RECORD, record(recordType="MX")), ("DR-10", RECORD, record(recordType="CNAME", values=["a.b", "c.d"])), ("DR-10", RECORD, record(recordType="CNAME", values=["a.b"])),
    ("DR-10", RECORD, record(values=["1.2.3.4", "::1"])), ("DR-10", RECORD, record(recordType="AAAA", values=["1.2.3.4"])), ("DR-10", RECORD, record(recordType="AAAA", values=["::1", "2001:db8::1"])), ("DR-10", RECORD, record(values=["x"])),
    *[("DR-11", RECORD, record(**new), record(**old)) for new, old in (({"type": "b"}, {}), ({"name": "b.example.com"}, {}), ({"recordType": "TXT"}, {}), ({"class": "seed"}, {"class": "shoot"}), ({"class": "seed"}, {}),
                                                                       ({"values": ["4.3.2.1"], "ttl": 5, "zone": "Z", "region": "r"}, {}))],

    ("IP-1", ADDRESS, address(nameservers={"search": ["corp.domain"], "addresses": ["10.0.0.1", "::1"]})), ("IP-1", ADDRESS, address(nameservers={})), ("IP-16", ADDRESS, address(nameservers={"addresses": ["dns"]})),
    ("IP-13", ADDRESS, address(prefix=None)), ("IP-13", OLD_ADDRESS, address(prefix=None, claimRef=None)), ("IP-14", ADDRESS, address(prefix=129)), ("IP-14", ADDRESS, address(address="x" * 40)), ("IP-14", ADDRESS, address(claimRef={"name": "Upper"})),
    ("IP-11", ADDRESS, address(address="10.0.0.2"), address()), ("IP-11", ADDRESS, address(), address()), ("IP-11", ADDRESS, address(nameservers={"addresses": ["1.1.1.1"]}), address()),
    ("CT-1", CLAIM, {"poolRef": {"name": "p"}}), ("CT-1", CLAIM, {"poolRef": {"name": "p", "kind": "K", "apiGroup": "g"}}), ("CT-1", CLAIM, {"poolRef": {"name": "q", "kind": "K", "apiGroup": "g"}}, {"poolRef": {"name": "p", "kind": "K", "apiGroup": "g"}}),
    ("PR-2", POOL, {"addresses": ["10.0.0.0/24"], "prefix": 24}), ("PR-12", POOL, {"addresses": [], "prefix": 24}), ("PR-12", POOL, {"prefix": 24}), ("PR-12", POOL, {"addresses": ["a"], "prefix": -1, "addressReuseGracePeriodSeconds": -1}),
    ("PR-1", PREFIX_POOL, {"prefixes": ["fd00::/48"]}), ("PR-1", GLOBAL_PREFIX_POOL, {"prefixes": ["fd00::/48"], "allocationPrefixLength": 56,
     "excludedPrefixes": ["fd00::5"], "gateway": "fd00::1", "nameservers": {"addresses": ["fd00::53"]}}),
    ("PR-12", PREFIX_POOL, {"prefixes": []}), ("PR-12", GLOBAL_PREFIX_POOL, {}), ("PR-12", PREFIX_POOL, {"prefixes": [""], "allocationPrefixLength": 129}),
    ("PR-12", PREFIX_POOL, {"prefixes": ["fd00::/48"], "allocationPrefixLength": 0, "excludedPrefixes": [7]}),

    ("OP-35", GATE, {"featureSet": "CustomNoUpgrade", "customNoUpgrade": {"enabled": ["DNSTemplatePlugin"]}}), ("OP-35", GATE, {"customNoUpgrade": {"enabled": ["X"]}}), ("OP-35", GATE, {"customNoUpgrade": None}), ("OP-35", GATE, {"featureSet": "Other"}),
    ("OP-35", GATE, {"featureSet": ""}, {"featureSet": "TechPreviewNoUpgrade"}), ("OP-35", GATE, {}, {"featureSet": "TechPreviewNoUpgrade"}), ("OP-35", GATE, {"featureSet": "CustomNoUpgrade"}, {"featureSet": "TechPreviewNoUpgrade"}),
    ("OP-35", GATE, {"featureSet": "TechPreviewNoUpgrade"}, {}), ("OP-28", NETWORK, {"clusterNetwork": [{"cidr": "fd01::/48"}], "serviceNetwork": ["10.0.0.0"]}), ("OP-28", NETWORK, {"clusterNetwork": [{"hostPrefix": -1}]}),
    ("OP-28", NETWORK, {"networkDiagnostics": {"mode": "Disabled", "sourcePlacement": {}}}), ("OP-28", NETWORK, {"networkDiagnostics": {"mode": "Disabled"}}), ("OP-28", NETWORK, {"serviceNodePortRange": "1-2-3"}),
]

CONDITION = {"type": "Available", "status": "True", "lastTransitionTime": "2026-11-15T09:30:00Z"}
OPERATION = {"type": "Create", "state": "Succeeded", "progress": 100, "description": "", "lastUpdateTime": "2026-11-15T09:30:00Z"}


def dns_status(**kw):
    return {"clusterIP": "10.96.0.10", "clusterDomain": "cluster.local", **kw}


def condition(**kw):
    return {"conditions": [{**CONDITION, **kw}]}


def items(*info):
    return {"items": [{"dnsname": "a.b", "info": list(info)}]}


INFO = {"ip": "1.2.3.4", "ttl": "30", "nextlookuptime": "2026-11-15T09:30:00Z"}
STATUS_CASES = [
    ("OP-33", DNS, {}, dns_status(**condition())), ("OP-33", DNS, {}, {}), ("OP-33", DNS, {}, dns_status(**condition(status="Maybe"))), ("OP-33", DNS, {}, dns_status(**condition(type="not ok"))),
    ("OP-33", DNS, {}, dns_status(**condition(type=""))), ("OP-33", DNS, {}, dns_status(**condition(lastTransitionTime="today"))), ("OP-33", DNS, {}, dns_status(conditions=[CONDITION, CONDITION])),
    ("OP-33", DNS, {}, dns_status(**condition(observedGeneration=3))), ("OP-33", DNS, {}, dns_status(conditions="x")), ("OP-33", DNS, {}, {"clusterIP": 5}), ("OP-33", DNS, {}, dns_status(conditions=[{"type": "A"}])),
    ("EF-5", NAME, {}, items(INFO)), ("EF-5", NAME, {}, items({**INFO, "ttl": "30s"})), ("EF-5", NAME, {}, items({**INFO, "ip": "x"})), ("EF-5", NAME, {}, items(INFO, INFO)), ("EF-5", NAME, {}, items({**INFO, "nextlookuptime": "soon"})),
    ("EF-5", NAME, {}, {}), ("EF-5", NAME, {}, {"items": [{"dnsname": "a"}]}), ("EF-5", NAME, {}, {"items": []}), ("EF-5", NAME, {}, items(INFO), items({**INFO, "ttl": "5"})),
    ("DR-40", RECORD, record(), {"lastOperation": OPERATION, "zone": "Z", "state": {"x": 1}, "providerStatus": {"y": []}}), ("DR-40", RECORD, record(), {"lastOperation": {**OPERATION, "state": "Done"}}),
    ("DR-40", RECORD, record(), {"lastOperation": {**OPERATION, "progress": 101}}), ("DR-40", RECORD, record(), {"lastOperation": {**OPERATION, "progress": "100"}}), ("DR-40", RECORD, record(), {"lastOperation": {}}),
    ("DR-40", RECORD, record(), {"observedGeneration": -1}), ("DR-3", RECORD, record(), {"unknown": 1}), ("CT-4", CLAIM, {"poolRef": {"name": "p", "kind": "K", "apiGroup": "g"}}, {"addressRef": {"name": "a"}}),
    ("CT-4", CLAIM, {"poolRef": {"name": "p", "kind": "K", "apiGroup": "g"}}, {}), ("CT-4", CLAIM, {"poolRef": {"name": "p", "kind": "K", "apiGroup": "g"}}, {"addressRef": {"name": ""}}),
    ("PR-8", POOL, {"addresses": ["10.0.0.0/24"], "prefix": 24}, {"ipAddresses": {"total": 1, "free": -1, "used": 2}}),
]
