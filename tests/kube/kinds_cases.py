# SPDX-License-Identifier: GPL-3.0-or-later
"""Objects of built-in kinds, good and bad, whose fate a real API server decides (test_kinds.py).

A case is (kind, object) or (kind, object, old): the second is an update. Objects are written without apiVersion and kind;
a name is made up where none is given. `ALLOCATED` stands for what the server picks.
"""

LONG = "a" * 64
HUGE = "x" * (1 << 20)
CM, SECRET, NS, SVC, EP, EPS, POD, NODE, SA, LEASE, EV, EV2, ING = (
    "ConfigMap", "Secret", "Namespace", "Service", "Endpoints", "EndpointSlice", "Pod", "Node", "ServiceAccount", "Lease", "Event",
    "Event.events.k8s.io", "Ingress")
GATE = "FeatureGate"  # one of the product's, for what custom resources have of their own

# kind: (apiVersion, plural, namespaced)
KINDS = {
    CM: ("v1", "configmaps", True), SECRET: ("v1", "secrets", True), NS: ("v1", "namespaces", False),
    SVC: ("v1", "services", True), EP: ("v1", "endpoints", True), EPS: ("discovery.k8s.io/v1", "endpointslices", True), POD: ("v1", "pods", True),
    NODE: ("v1", "nodes", False), SA: ("v1", "serviceaccounts", True), LEASE: ("coordination.k8s.io/v1", "leases", True),
    EV: ("v1", "events", True), EV2: ("events.k8s.io/v1", "events", True), GATE: ("config.openshift.io/v1", "featuregates", False),
    ING: ("networking.k8s.io/v1", "ingresses", True),
}


def meta(**fields):
    return {"metadata": fields}


def port(number=80, **more):
    return {"port": number, **more}


def svc(*ports, meta=None, **spec):
    o = {"spec": {**({"ports": list(ports)} if ports else {}), **spec}}
    return {**o, "metadata": meta} if meta else o


def eps(*endpoints, kind="IPv4", ports=None, **more):
    return {"addressType": kind, "endpoints": list(endpoints), **({"ports": ports} if ports is not None else {}), **more}


def subset(*addresses, ports=None, **more):
    return {"addresses": [a if isinstance(a, dict) else {"ip": a} for a in addresses], **({"ports": ports} if ports is not None else {}), **more}


def ep(*subsets, **more):
    return {"subsets": list(subsets), **more}


def at(*addresses, **more):
    return {"addresses": list(addresses), **more}


def pod(*containers, **spec):
    return {"spec": {"containers": list(containers), **spec}}


def box(name="c", image="i:1", **more):
    return {"name": name, "image": image, **more}


def ref(name="x", **more):
    return {"kind": "Pod", "name": name, "namespace": "default", **more}


MICRO = "2026-01-02T03:04:05.678901Z"
TIME = "2026-01-02T03:04:05Z"


def ev2(**more):
    return {"eventTime": MICRO, "reportingController": "example.org/c", "reportingInstance": "c-1", "action": "Do",
            "reason": "Done", "type": "Normal", "regarding": ref(), **more}


METADATA = [
    (CM, meta(name="Upper")), (CM, meta(name="a_b")), (CM, meta(name="a..b")), (CM, meta(name="-a")), (CM, meta(name="a.b-1")),
    (CM, meta(name="a" * 254)), (CM, meta(name="x", labels={"a": "b"})), (CM, meta(name="x", labels={})),
    (CM, meta(name="x", labels={"a b": "c"})), (CM, meta(name="x", labels={"a": "b c"})), (CM, meta(name="x", labels={"a": LONG})),
    (CM, meta(name="x", labels={"/a": "b"})), (CM, meta(name="x", labels={"a/": "b"})), (CM, meta(name="x", labels={"a/b/c": "d"})),
    (CM, meta(name="x", labels={"UP.x/a": "b"})), (CM, meta(name="x", labels={LONG: "b"})),
    (CM, meta(name="x", labels={"a" * 254 + "/a": "b"})), (CM, meta(name="x", labels={"-": ""})),
    (CM, meta(name="x", annotations={"a b": "c"})), (CM, meta(name="x", annotations={"UP.x/Aa": "c"})),
    (CM, meta(name="x", annotations={"big": "x" * (256 << 10)})), (CM, meta(name="x", annotations={})),
    (CM, meta(name="x", finalizers=["nodomain"])), (CM, meta(name="x", finalizers=["a/b", "c d/e"])), (CM, meta(name="x", finalizers=[""])),
    (CM, meta(name="x", finalizers=["orphan", "foregroundDeletion"])), (CM, meta(name="x", finalizers=["x.org/y"])),
    (CM, meta(name="x", ownerReferences=[{}])),
    (CM, meta(name="x", ownerReferences=[{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "1"}])),
    (CM, meta(name="x", ownerReferences=[{"apiVersion": "a/b/c", "kind": "Pod", "name": "p", "uid": "1"}])),
    (CM, meta(name="x", ownerReferences=[{"apiVersion": "v1", "kind": "Event", "name": "p", "uid": "1"}])),
    (CM, meta(name="x", ownerReferences=[{"apiVersion": "v1", "kind": "Pod", "name": n, "uid": n, "controller": True} for n in "ab"])),
    (CM, meta(generateName="Gen-")), (CM, meta(generateName="gen_")),
    (CM, meta(name="x", generation=-1)),
    (CM, meta(name="x", labels={"b": "2"}), meta(name="x", labels={"a": "1"})),
    (CM, meta(name="x", labels={"a b": "1"}), meta(name="x")),
    (CM, meta(name="x", finalizers=["no domain/x"]), meta(name="x")),
    (CM, meta(name="x", annotations={"a b": "1"}), meta(name="x")),
    (SVC, {"metadata": {"labels": {"a b": "1"}}, "spec": {"ports": [port()]}}, svc(port())),
    (NS, meta(name="a.b")), (NS, meta(name="Up")), (NS, meta(name=LONG)),
    (SVC, svc(port(), meta={"name": "a.b"})), (SVC, svc(port(), meta={"name": "1a"})), (SVC, svc(port(), meta={"name": "-"})),
    (SVC, svc(port(), meta={"name": LONG})), (NODE, meta(name="A")), (SA, meta(name="A")), (POD, {**pod(box()), **meta(name="A")}),
    (LEASE, {**meta(name="A"), "spec": {}}), (EPS, {**eps(), **meta(name="A")}),
    (EV, {**meta(name="A"), "involvedObject": ref()}), (SECRET, meta(name="A")),
]

DATA = [
    (CM, {}), (CM, {"data": {}}), (CM, {"data": {"a": "b", "c.d": "", "E_-f": "g"}}), (CM, {"data": {"a b": "c"}}), (CM, {"data": {"": "c"}}),
    (CM, {"data": {".": "c"}}), (CM, {"data": {"..": "c"}}), (CM, {"data": {"..a": "c"}}), (CM, {"data": {"a" * 254: "c"}}),
    (CM, {"data": {"a": "x"}, "binaryData": {"a": "eA=="}}), (CM, {"binaryData": {"a": "eA==", "b/c": ""}}),
    (CM, {"data": {"a": HUGE}}), (CM, {"data": {"a": HUGE + "y"}}), (CM, {"data": {"a": "x"}, "immutable": True}),
    (CM, {"data": {"a": "x"}, "immutable": False}), (CM, {"immutable": None, "data": None}),
    (CM, {"data": {"a": "y"}, "immutable": True}, {"data": {"a": "x"}, "immutable": True}),
    (CM, {"data": {"a": "x"}}, {"data": {"a": "x"}, "immutable": True}),
    (CM, {"binaryData": {"a": "eA=="}, "immutable": True}, {"data": {"a": "x"}, "immutable": True}),
    (CM, {**meta(labels={"a": "b"}), "data": {"a": "x"}, "immutable": True}, {"data": {"a": "x"}, "immutable": True}),
    (SECRET, {}), (SECRET, {"data": {"a": "eA=="}}), (SECRET, {"stringData": {"a": "x"}}),
    (SECRET, {"data": {"a": "eA==", "b": "eQ=="}, "stringData": {"a": "z", "c": ""}}), (SECRET, {"data": {"a b": "eA=="}}),
    (SECRET, {"type": "example.org/any", "data": {"a": ""}}), (SECRET, {"type": "kubernetes.io/tls"}),
    (SECRET, {"type": "kubernetes.io/tls", "data": {"tls.crt": "eA==", "tls.key": "eA=="}}), (SECRET, {"type": "kubernetes.io/basic-auth"}),
    (SECRET, {"type": "kubernetes.io/basic-auth", "stringData": {"username": "u"}}), (SECRET, {"type": "kubernetes.io/ssh-auth"}),
    (SECRET, {"type": "kubernetes.io/ssh-auth", "stringData": {"ssh-privatekey": ""}}),
    (SECRET, {"type": "kubernetes.io/dockercfg"}), (SECRET, {"type": "kubernetes.io/dockercfg", "stringData": {".dockercfg": "{}"}}),
    (SECRET, {"type": "kubernetes.io/dockerconfigjson"}), (SECRET, {"type": "kubernetes.io/service-account-token"}),
    (SECRET, {**meta(annotations={"kubernetes.io/service-account.name": "a"}), "type": "kubernetes.io/service-account-token"}),
    (SECRET, {"type": "b"}, {"type": "a"}), (SECRET, {}, {"type": "a"}), (SECRET, {"data": {"a": "eQ=="}, "immutable": True}, {"data": {"a": "eA=="}, "immutable": True}),
    (SECRET, {"data": {"a": "eA=="}}, {"data": {"a": "eA=="}, "immutable": True}), (SECRET, {"stringData": {"a": HUGE + "y"}}),
    (SECRET, {"data": {"a": "eHh4\neHh4"}}),
    (SA, {}), (SA, {"secrets": [{"name": "a"}], "imagePullSecrets": [{"name": "b"}, {}], "automountServiceAccountToken": False}),
    (NS, {}), (NS, meta(labels={"kubernetes.io/metadata.name": "other"})), (NS, {"spec": {"finalizers": ["x.org/y"]}}),
    (NS, {"spec": {"finalizers": ["other"]}}), (NS, {"status": {"phase": "Terminating"}}),
    (NS, meta(labels={"a": "b"}), {}),
]

SERVICES = [
    (SVC, {}), (SVC, {"spec": {}}), (SVC, svc(port())), (SVC, svc(port(targetPort=8080))), (SVC, svc(port(targetPort="web"))),
    (SVC, svc(port(targetPort=0))), (SVC, svc(port(targetPort=""))), (SVC, svc(port(targetPort="Web"))), (SVC, svc(port(targetPort="8080"))),
    (SVC, svc(port(targetPort=70000))), (SVC, svc(port(targetPort="a--b"))), (SVC, svc(port(targetPort="-a"))), (SVC, svc(port(targetPort="abcdefghijklmnop"))),
    (SVC, svc(port(0))), (SVC, svc(port(65536))), (SVC, svc(port(-1))), (SVC, svc(port(protocol="UDP"))), (SVC, svc(port(protocol="SCTP"))),
    (SVC, svc(port(protocol="udp"))), (SVC, svc(port(protocol=""))), (SVC, svc(port(name="web"))), (SVC, svc(port(name="Web"))), (SVC, svc(port(name="a.b"))),
    (SVC, svc(port(), port(81))), (SVC, svc(port(name="a"), port(81, name="b"))), (SVC, svc(port(name="a"), port(81, name="a"))),
    (SVC, svc(port(name="a"), port(name="b"))), (SVC, svc(port(name="a"), port(name="b", protocol="UDP"))), (SVC, svc(port(appProtocol="http"))),
    (SVC, svc(port(appProtocol="a b"))), (SVC, svc(port(appProtocol=""))), (SVC, svc(port(), selector={"a": "b"})), (SVC, svc(port(), selector={"a b": "c d"})),
    (SVC, svc(port(), selector={})), (SVC, svc(port(), clusterIP="10.96.7.7")), (SVC, svc(port(), clusterIP="10.97.0.1")), (SVC, svc(port(), clusterIP="x")),
    (SVC, svc(port(), clusterIP="10.96.7.007")), (SVC, svc(port(), clusterIP="10.96.0.1")), (SVC, svc(port(), clusterIP="fd00::1")),
    (SVC, svc(port(), clusterIP="10.96.7.8", clusterIPs=["10.96.7.9"])), (SVC, svc(port(), clusterIPs=["10.96.7.10"])),
    (SVC, svc(port(), clusterIP="10.96.7.8", clusterIPs=["10.96.7.8"])), (SVC, svc(port(), clusterIP="10.96.7.8", clusterIPs=["10.96.7.8", "10.96.7.9"])),
    (SVC, svc(port(), clusterIP="None")), (SVC, svc(clusterIP="None")), (SVC, svc(clusterIP="None", selector={"a": "b"})),
    (SVC, svc(port(), clusterIP="None", clusterIPs=["None", "10.96.7.8"])), (SVC, svc(port(), clusterIP="None", ipFamilies=["IPv6"])),
    (SVC, svc(port(), clusterIP="None", ipFamilyPolicy="SingleStack")), (SVC, svc(port(), clusterIP="None", selector={"a": "b"}, ipFamilies=["IPv6"])),
    (SVC, svc(port(), clusterIP="None", selector={"a": "b"}, ipFamilyPolicy="PreferDualStack")),
    (SVC, svc(port(), ipFamilies=["IPv4"])), (SVC, svc(port(), ipFamilies=["IPv6"])), (SVC, svc(port(), ipFamilies=["IPv4", "IPv6"])),
    (SVC, svc(port(), ipFamilies=["IPv4", "IPv4"])), (SVC, svc(port(), ipFamilies=["v4"])), (SVC, svc(port(), ipFamilyPolicy="SingleStack")),
    (SVC, svc(port(), ipFamilyPolicy="PreferDualStack")), (SVC, svc(port(), ipFamilyPolicy="RequireDualStack")), (SVC, svc(port(), ipFamilyPolicy="Both")),
    (SVC, svc(port(), ipFamilies=["IPv6"], clusterIP="10.96.7.8")),
    (SVC, svc(port(), sessionAffinity="ClientIP")), (SVC, svc(port(), sessionAffinity="None", sessionAffinityConfig={"clientIP": {"timeoutSeconds": 5}})),
    (SVC, svc(port(), sessionAffinity="ClientIP", sessionAffinityConfig={"clientIP": {"timeoutSeconds": 86401}})),
    (SVC, svc(port(), sessionAffinity="ClientIP", sessionAffinityConfig={"clientIP": {"timeoutSeconds": 5}})), (SVC, svc(port(), sessionAffinity="x")),
    (SVC, svc(port(), sessionAffinity="ClientIP", sessionAffinityConfig={"clientIP": {"timeoutSeconds": 0}})),
    (SVC, svc(port(), type="Cluster")), (SVC, svc(port(nodePort=30001))), (SVC, svc(port(), type="NodePort")), (SVC, svc(port(nodePort=30777), type="NodePort")),
    (SVC, svc(port(nodePort=80), type="NodePort")), (SVC, svc(port(nodePort=30778, name="a"), port(81, nodePort=30778, name="b"), type="NodePort")),
    (SVC, svc(port(name="a"), port(name="b", protocol="UDP"), type="NodePort")),
    (SVC, svc(port(), type="LoadBalancer")), (SVC, svc(port(), type="LoadBalancer", allocateLoadBalancerNodePorts=False)),
    (SVC, svc(port(), type="LoadBalancer", externalTrafficPolicy="Local")), (SVC, svc(port(), type="LoadBalancer", loadBalancerClass="a/b")),
    (SVC, svc(port(), type="LoadBalancer", loadBalancerClass="a b")), (SVC, svc(port(), loadBalancerClass="a/b")),
    (SVC, svc(port(), type="LoadBalancer", clusterIP="None")), (SVC, svc(port(), type="NodePort", clusterIP="None")),
    (SVC, svc(port(), allocateLoadBalancerNodePorts=True)), (SVC, svc(port(), type="LoadBalancer", loadBalancerSourceRanges=["10.0.0.0/8", "x"])),
    (SVC, svc(port(), loadBalancerSourceRanges=["10.0.0.0/8"])), (SVC, svc(port(), type="LoadBalancer", loadBalancerIP="192.0.2.1")),
    (SVC, svc(port(), externalIPs=["192.0.2.1"])), (SVC, svc(port(), externalIPs=["x", "127.0.0.1", "0.0.0.0", "169.254.1.1", "224.0.0.1", "fe80::1"])),
    (SVC, svc(port(), externalTrafficPolicy="Local")), (SVC, svc(port(), externalIPs=["192.0.2.1"], externalTrafficPolicy="Some")),
    (SVC, svc(port(), healthCheckNodePort=30123)), (SVC, svc(port(), internalTrafficPolicy="Local")), (SVC, svc(port(), internalTrafficPolicy="x")),
    (SVC, svc(port(), trafficDistribution="PreferClose")), (SVC, svc(port(), trafficDistribution="x")), (SVC, svc(port(), publishNotReadyAddresses=True)),
    (SVC, svc(port(), publishNotReadyAddresses=False)),
    (SVC, svc(type="ExternalName", externalName="example.org")), (SVC, svc(type="ExternalName", externalName="example.org.")),
    (SVC, svc(type="ExternalName")), (SVC, svc(type="ExternalName", externalName="Example.org")), (SVC, svc(port(), type="ExternalName", externalName="a.b")),
    (SVC, svc(type="ExternalName", externalName="a.b", clusterIP="10.96.7.8")), (SVC, svc(type="ExternalName", externalName="a.b", ipFamilies=["IPv4"])),
    (SVC, svc(type="ExternalName", externalName="a.b", ipFamilyPolicy="SingleStack")), (SVC, svc(port(), externalName="example.org")),
    (SVC, {**svc(port()), "status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.9"}]}}}),
    # updates
    (SVC, svc(port(81)), svc(port())), (SVC, svc(port(), clusterIP=""), svc(port())), (SVC, svc(port(), clusterIP="10.96.7.21"), svc(port(), clusterIP="10.96.7.20")),
    (SVC, svc(port(), clusterIP="None"), svc(port(), clusterIP="10.96.7.22")), (SVC, svc(port(), clusterIP="10.96.7.23"), svc(port(), clusterIP="None")),
    (SVC, svc(type="ExternalName", externalName="a.b"), svc(port(), clusterIP="10.96.7.24")),
    (SVC, svc(type="ExternalName", externalName="a.b", clusterIP="10.96.7.25", clusterIPs=["10.96.7.25"], ipFamilies=["IPv4"], ipFamilyPolicy="SingleStack"), svc(port(), clusterIP="10.96.7.25")),
    (SVC, svc(port()), svc(type="ExternalName", externalName="a.b")), (SVC, svc(port(), ipFamilies=["IPv6"]), svc(port(), clusterIP="10.96.7.26")),
    (SVC, svc(port()), svc(port(nodePort=30790), type="NodePort")), (SVC, svc(port(), type="NodePort"), svc(port(nodePort=30791), type="NodePort")),
    (SVC, svc(port(81), type="NodePort"), svc(port(nodePort=30792), type="NodePort")), (SVC, svc(port(nodePort=30793)), svc(port(nodePort=30793), type="NodePort")),
    (SVC, svc(port(nodePort=30795), type="NodePort"), svc(port(nodePort=30794), type="NodePort")),
    (SVC, svc(port(), selector={"a": "c"}), svc(port(), selector={"a": "b"})),
    (SVC, svc(port(), type="LoadBalancer", loadBalancerClass="a/c"), svc(port(), type="LoadBalancer", loadBalancerClass="a/b")),
    (SVC, svc(port()), svc(port(nodePort=30796), type="LoadBalancer", externalTrafficPolicy="Local", healthCheckNodePort=30797)),
    (SVC, svc(port(), type="LoadBalancer", externalTrafficPolicy="Local", healthCheckNodePort=30799),
     svc(port(nodePort=30798), type="LoadBalancer", externalTrafficPolicy="Local", healthCheckNodePort=30800)),
]

ENDPOINTS = [
    (EPS, {}), (EPS, eps()), (EPS, {"addressType": "IPv4"}), (EPS, eps(kind="ip")), (EPS, eps(at("10.0.0.1"))), (EPS, eps(at("10.0.0.1", "10.0.0.2"))), (EPS, eps({})),
    (EPS, eps(at())), (EPS, eps(at("x"))), (EPS, eps(at("fd00::1"))), (EPS, eps(at("fd00::1"), kind="IPv6")), (EPS, eps(at("10.0.0.1"), kind="IPv6")),
    (EPS, eps(at("127.0.0.1"))), (EPS, eps(at("10.0.0.01"))), (EPS, eps(at("169.254.0.1"))), (EPS, eps(at("224.0.0.1"))), (EPS, eps(at("0.0.0.0"))),
    (EPS, eps(at("a.example.org"), kind="FQDN")), (EPS, eps(at("A_"), kind="FQDN")), (EPS, eps(at(""), kind="FQDN")), (EPS, eps(at(*[f"10.0.0.{i}" for i in range(101)]))),
    (EPS, eps(at("10.0.0.1", hostname="web-0"))), (EPS, eps(at("10.0.0.1", hostname="Web"))), (EPS, eps(at("10.0.0.1", hostname="a.b"))), (EPS, eps(at("10.0.0.1", nodeName="n1"))),
    (EPS, eps(at("10.0.0.1", nodeName="N 1"))), (EPS, eps(at("10.0.0.1", zone="z"))), (EPS, eps(at("10.0.0.1", conditions={"ready": False}))),
    (EPS, eps(at("10.0.0.1", conditions={"ready": True, "serving": True, "terminating": False}))), (EPS, eps(at("10.0.0.1", targetRef=ref()))),
    (EPS, eps(at("10.0.0.1", hints={"forZones": [{"name": "z"}]}))), (EPS, eps(at("10.0.0.1", hints={"forZones": [{"name": "z"}, {"name": "z"}, {}]}))),
    (EPS, eps(at("10.0.0.1", deprecatedTopology={"kubernetes.io/hostname": "n"}))), (EPS, eps(at("10.0.0.1", deprecatedTopology={"a": "b"}))),
    (EPS, eps(at("10.0.0.1"), ports=[{"port": 80}])), (EPS, eps(ports=[])), (EPS, eps(ports=[{}])), (EPS, eps(ports=[{"name": "web", "port": 80, "protocol": "UDP", "appProtocol": "http"}])),
    (EPS, eps(ports=[{"name": "Web", "port": 80}])), (EPS, eps(ports=[{"name": "a"}, {"name": "a"}])), (EPS, eps(ports=[{"port": 0}])), (EPS, eps(ports=[{"port": 70000}])),
    (EPS, eps(ports=[{"protocol": "x"}])), (EPS, eps(ports=[{"appProtocol": "a b"}])), (EPS, eps(ports=[{"name": ""}])), (EPS, eps(ports=[{"name": LONG}])),
    (EPS, eps(kind="IPv6"), eps(kind="IPv4")), (EPS, eps(at("10.0.0.2")), eps(at("10.0.0.1"))), (EPS, {"endpoints": [], "ports": []}, eps()),
    (EPS, eps(*[at("10.0.0.1")] * 1001)),
    (EPS, {**eps(), **meta(labels={"kubernetes.io/service-name": "web"})}),
]

def letters(*lengths):
    """Search domains of these lengths."""
    return ["a" * n for n in lengths]


NUMBERED = [str(n) for n in range(1, 34)]
# dnsPolicy and dnsConfig: the cases of kube-apiserver's own tests as objects, and more (PD-7, PD-22, PD-23, PD-28 to PD-33).
DNS_CONFIGS = [
    {}, {"options": [{"name": "ndots", "value": "2"}]}, {"nameservers": ["127.0.0.1"]}, {"searches": ["custom"]}, {"searches": ["custom."]},
    {"nameservers": ["127.0.0.1", "10.0.0.10", "8.8.8.8"], "searches": NUMBERED[:6]},
    {"nameservers": ["127.0.0.1", "10.0.0.10", "8.8.8.8"], "searches": NUMBERED[:32]}, {"searches": NUMBERED[:7]}, {"searches": NUMBERED[:33]},
    {"searches": letters(1, *[50] * 5)}, {"searches": letters(2, *[50] * 5)}, {"searches": letters(64, *[63] * 31)}, {"searches": letters(65, *[63] * 31)},
    {"searches": letters(253)}, {"searches": ["a" * 253 + "."]}, {"searches": letters(254)},
    {"nameservers": ["FE80::0202:B3FF:FE1E:8329"]}, {"nameservers": ["127.0.0.1", "10.0.0.10", "8.8.8.8", "1.2.3.4"]}, {"searches": ["custom?"]},
    {"nameservers": ["invalid"]}, {"nameservers": ["001.002.003.004"]}, {"nameservers": ["::ffff:192.0.2.1", "fe80::1%eth0", ""]}, {"options": [{"value": "2"}]},
    {"options": [{"name": "", "value": "2"}, {"name": "x"}, {"name": "x", "value": ""}]},
    *({"searches": [s]} for s in ("_sip._tcp.abc_d.example.com", "abc_d.example.com", ".", "..", "_.", "-.", "__.", ".__", "._", "____________", "example.com",
                                  "\u2603.example.com", "a._b", "a.__b", "A.b", "a..b", ".a", "a b", "", "a" * 64)),
    {"nameservers": ["x"], "searches": ["A."], "options": [{"value": "1"}]},
]
POD_DNS = [(POD, pod(box(), dnsConfig=config)) for config in DNS_CONFIGS] + [
    (POD, pod(box(), dnsPolicy=policy, **more)) for policy in ("ClusterFirst", "ClusterFirstWithHostNet", "Default", "None", "Custom", "", None)
    for more in ({}, {"dnsConfig": {}}, {"dnsConfig": {"searches": ["A"]}}, {"dnsConfig": {"nameservers": ["192.0.2.1"]}})] + [
    (POD, pod(box(), dnsPolicy="x", restartPolicy="x", hostname="H", dnsConfig={"nameservers": ["x"]})),
    (POD, pod(box(), dnsPolicy="Default"), pod(box())), (POD, pod(box(), dnsConfig={"searches": ["a"]}), pod(box()))]
PODS = [
    (POD, {}), (POD, {"spec": {}}), (POD, pod()), (POD, pod(box())), (POD, pod({})), (POD, pod(box(name="A"))), (POD, pod(box(), box())), (POD, pod({"name": "c"})),
    (POD, pod(box(image=" i"))), (POD, pod(box(image="i"))), (POD, pod(box(image="i:latest"))), (POD, pod(box(image="i@sha256:" + "0" * 64))),
    (POD, pod(box(ports=[{"containerPort": 53, "protocol": "UDP", "name": "dns"}, {"containerPort": 80}]))),
    (POD, pod(box(), restartPolicy="Never", dnsPolicy="Default", hostname="h", subdomain="s", nodeName="n", hostNetwork=True)),
    (POD, pod(box(resources={"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"cpu": "1", "memory": "1Gi"}}))),
    (POD, pod(box(resources={"requests": {"cpu": "500m"}}))), (POD, pod(box(), initContainers=[box(name="init")])),
    (POD, pod(box(), restartPolicy="x")), (POD, pod(box(), dnsPolicy="x")), (POD, pod(box(imagePullPolicy="x"))),
    (POD, pod(box(), volumes=[{"name": "v", "emptyDir": {}}])), (POD, pod(box(), serviceAccountName="sa")), (POD, pod(box(), hostname="H")),
    (POD, {**pod(box()), "status": {"phase": "Running"}}),
    (POD, pod(box(image="j:2")), pod(box())), (POD, pod(box(name="d")), pod(box())), (POD, {**pod(box()), **meta(labels={"a": "b"})}, pod(box())),
]

NODES = [
    (NODE, {}), (NODE, {"spec": {"podCIDR": "10.1.0.0/24"}}), (NODE, {"spec": {"podCIDRs": ["10.1.0.0/24"]}}), (NODE, {"spec": {"podCIDRs": ["x"]}}),
    (NODE, {"spec": {"podCIDR": "10.1.0.0/24", "podCIDRs": ["10.2.0.0/24"]}}), (NODE, {"spec": {"podCIDRs": ["10.1.0.0/24", "10.2.0.0/24"]}}),
    (NODE, {"spec": {"taints": [{"key": "a", "value": "b", "effect": "NoSchedule"}]}}), (NODE, {"spec": {"taints": [{"key": "a", "effect": "x"}]}}),
    (NODE, {"spec": {"taints": [{"key": "a", "effect": "NoExecute"}] * 2}}), (NODE, {"spec": {"unschedulable": True}}), (NODE, {"spec": {"taints": [{"key": "a b"}]}}),
    (NODE, {"status": {"addresses": [{"type": "InternalIP", "address": "10.0.0.1"}], "nodeInfo": {"kubeletVersion": "v1"}}}),
    (NODE, {"spec": {"providerID": "b"}}, {"spec": {"providerID": "a"}}), (NODE, {"spec": {}}, {"spec": {"podCIDR": "10.1.0.0/24"}}),
    (NODE, {"spec": {}}, {"spec": {"providerID": "a"}}),
    (NODE, {**meta(labels={"a": "b"})}, {}),
]

LEASES = [
    (LEASE, {}), (LEASE, {"spec": {}}), (LEASE, {"spec": {"holderIdentity": "h", "leaseDurationSeconds": 15, "acquireTime": MICRO, "renewTime": MICRO, "leaseTransitions": 1}}),
    (LEASE, {"spec": {"holderIdentity": ""}}), (LEASE, {"spec": {"leaseDurationSeconds": 0}}), (LEASE, {"spec": {"leaseDurationSeconds": -1}}), (LEASE, {"spec": {"leaseTransitions": -1}}),
    (LEASE, {"spec": {"leaseTransitions": 0, "holderIdentity": "h", "leaseDurationSeconds": 1}}),
    (LEASE, {"spec": {"renewTime": "2026-01-02T03:04:05.678901+02:00"}}), (LEASE, {"spec": {"renewTime": None}}), (LEASE, {"spec": {"strategy": "OldestEmulationVersion"}}),
    (LEASE, {"spec": {"holderIdentity": "i"}}, {"spec": {"holderIdentity": "h"}}), (LEASE, {"spec": {"leaseDurationSeconds": -5}}, {"spec": {}}),
]

EVENTS = [
    (EV, {}), (EV, {"involvedObject": ref()}), (EV, {"involvedObject": ref(), "reason": "R", "message": "m", "type": "Normal", "source": {"component": "c"}, "firstTimestamp": TIME, "lastTimestamp": TIME, "count": 1}),
    (EV, {"involvedObject": ref(namespace="other")}), (EV, {"involvedObject": {"kind": "Node", "name": "n"}}), (EV, {"involvedObject": ref(), "eventTime": MICRO}),
    (EV, {"involvedObject": ref(), "eventTime": MICRO, "reportingComponent": "a/b", "reportingInstance": "i", "action": "a", "reason": "r", "type": "Warning"}),
    (EV, {"involvedObject": ref(), "eventTime": MICRO, "reportingComponent": "a b", "reportingInstance": "i" * 129, "action": "a" * 129, "reason": "r" * 129, "type": "x", "message": "m" * 1025}),
    (EV, {"involvedObject": ref(), "series": {"count": 2, "lastObservedTime": MICRO}, "eventTime": MICRO, "reportingComponent": "a/b", "reportingInstance": "i", "action": "a", "reason": "r", "type": "Normal"}),
    (EV, {"involvedObject": ref(), "series": {"count": 1}, "eventTime": MICRO, "reportingComponent": "a/b", "reportingInstance": "i", "action": "a", "reason": "r", "type": "Normal"}),
    (EV, {"involvedObject": ref(), "message": "n"}, {"involvedObject": ref(), "message": "m"}),
    (EV, {"involvedObject": ref("y"), "eventTime": MICRO, "reportingComponent": "a/b", "reportingInstance": "i", "action": "a", "reason": "r", "type": "Normal"},
     {"involvedObject": ref(), "eventTime": MICRO, "reportingComponent": "a/b", "reportingInstance": "i", "action": "a", "reason": "r", "type": "Normal"}),
    (EV2, {}), (EV2, ev2()), (EV2, ev2(note="n")), (EV2, ev2(note="n" * 1025)), (EV2, ev2(type="x")), (EV2, ev2(reportingController="")), (EV2, ev2(reportingInstance="")),
    (EV2, ev2(action="")), (EV2, ev2(reason="")), (EV2, ev2(reason="r" * 129)), (EV2, ev2(regarding=ref(namespace="other"))), (EV2, ev2(reportingController="a b")),
    (EV2, ev2(series={"count": 2, "lastObservedTime": MICRO})), (EV2, ev2(series={"count": 1, "lastObservedTime": MICRO})), (EV2, ev2(series={"count": 2})),
    (EV2, ev2(deprecatedCount=2)), (EV2, ev2(deprecatedFirstTimestamp=TIME)), (EV2, ev2(deprecatedSource={"component": "c"})), (EV2, ev2(related=ref("z"))),
    (EV2, {k: v for k, v in ev2().items() if k != "eventTime"}), (EV2, ev2(regarding={"kind": "Node", "name": "n"})),
    (EV2, ev2(series={"count": 3, "lastObservedTime": MICRO}), ev2()), (EV2, ev2(note="other"), ev2()), (EV2, ev2(regarding=ref("y")), ev2()), (EV2, ev2(reason="Other"), ev2()),
]

LB = svc(port(nodePort=30850), type="LoadBalancer", clusterIP="10.96.8.1")


def ingress(*entries):
    return {"status": {"loadBalancer": {"ingress": list(entries)}}}


# Writes to the status subresource: (kind, object as it was made, what is written).
STATUS = [
    (SVC, LB, ingress({"ip": "192.0.2.1"})), (SVC, LB, ingress({"ip": "x"}, {"ip": "192.0.2.1", "ipMode": "Proxy"}, {"hostname": "a.b"})), (SVC, LB, ingress({"ip": "192.0.2.1", "ipMode": "x"})),
    (SVC, LB, ingress({"hostname": "A"}, {"hostname": "192.0.2.1"}, {"hostname": "a", "ipMode": "VIP"})), (SVC, svc(port(), clusterIP="10.96.8.2"), ingress({"ip": "192.0.2.1"})),
    (SVC, LB, {**ingress(), "spec": {"ports": [port(81)], "type": "ClusterIP"}, "metadata": {"labels": {"a": "b"}}}), (SVC, LB, {"metadata": {"labels": {"a b": "c"}}, "status": {}}),
    (SVC, LB, {"status": {"conditions": [{"type": "A", "status": "True", "reason": "R", "message": "", "lastTransitionTime": TIME}]}}), (NS, {}, {"status": {"phase": "Active"}}), (NS, {}, {"status": {"phase": "Terminating"}}),
    (NODE, {}, {"status": {"addresses": [{"type": "InternalIP", "address": "10.0.0.1"}], "capacity": {"cpu": "2"}}, "spec": {"unschedulable": True}}),
    (POD, pod(box()), {"status": {"phase": "Running", "podIP": "10.0.0.1", "podIPs": [{"ip": "10.0.0.1"}], "conditions": [{"type": "Ready", "status": "True"}]}, "spec": {"hostname": "x"}}),
    (POD, pod(box()), {"status": {"phase": "Running", "podIP": "10.0.0.1"}}), (POD, pod(box()), {"status": {"podIPs": [{"ip": "10.0.0.1"}, {"ip": "fd00::1"}]}}),
]

# Bodies that Go's decoder refuses, or of which strict decoding complains.
DECODING = [
    (CM, {"data": {"a": 5}}), (CM, {"data": []}), (CM, {"data": "x"}), (CM, {"data": {"a": {}}}), (CM, {"data": {"a": True}}), (CM, {"immutable": "x"}), (CM, {"binaryData": {"a": 5}}),
    (CM, {"binaryData": {"a": "*"}}), (CM, {"metadata": {"labels": {"a": 1}}}), (CM, {"metadata": {"labels": []}}), (CM, {"metadata": {"name": 5}}), (CM, {"metadata": "x"}),
    (CM, {"metadata": {"generation": "1"}}), (CM, {"metadata": {"finalizers": "x"}}), (CM, {"metadata": {"finalizers": [1]}}), (CM, {"metadata": {"ownerReferences": [{"uid": 5}]}}),
    (CM, {"metadata": {"creationTimestamp": "x"}}), (CM, {"metadata": {"creationTimestamp": 5}}), (CM, {"unknown": 1}), (CM, {"metadata": {"unknown": 1}}), (CM, {"Data": {"a": "b"}}),
    (SECRET, {"data": {"a": "***"}}), (SECRET, {"data": {"a": 1}}), (SECRET, {"type": 1}), (SECRET, {"stringData": {"a": 1}}),
    (SVC, {"spec": {"ports": {}}}), (SVC, {"spec": {"ports": [{"port": "80"}]}}), (SVC, {"spec": {"ports": [5]}}), (SVC, {"spec": {"ports": [{"port": 80, "targetPort": True}]}}),
    (SVC, {"spec": {"ports": [{"port": 80, "targetPort": {}}]}}), (SVC, {"spec": {"ports": [{"port": 1.5}]}}), (SVC, {"spec": {"ports": [{"port": 3000000000}]}}),
    (SVC, {"spec": {"ports": [{"port": 80, "targetPort": 3000000000}]}}), (SVC, {"spec": []}), (SVC, {"spec": {"type": 1}}), (SVC, {"spec": {"clusterIPs": "x"}}), (SVC, {"spec": {"ipFamilies": [1]}}),
    (SVC, {"spec": {"ports": [{"port": 80, "x": 1}], "y": 2}, "z": 3}), (SVC, {"spec": {"sessionAffinityConfig": {"clientIP": {"timeoutSeconds": "x"}}}}), (SVC, {"spec": {"ipFamilyPolicy": 1}}),
    (EPS, {"endpoints": [{"addresses": "x"}]}), (EPS, {"endpoints": [{"conditions": {"ready": "x"}}]}), (EPS, {"ports": [{"port": "80"}]}), (EPS, {"addressType": 4}), (EPS, {"endpoints": {}}),
    (POD, {"spec": {"containers": "x"}}), (POD, {"spec": {"containers": [{"name": 5}]}}), (NODE, {"spec": {"taints": "x"}}), (NODE, {"spec": {"unschedulable": 1}}),
    (LEASE, {"spec": {"leaseDurationSeconds": "15"}}), (LEASE, {"spec": {"renewTime": "x"}}), (LEASE, {"spec": {"renewTime": TIME}}), (LEASE, {"spec": {"renewTime": 5}}), (LEASE, {"spec": {"x": 5}}),
    (EV, {"involvedObject": "x"}), (EV, {"involvedObject": ref(), "count": "1"}), (EV, {"involvedObject": ref(), "firstTimestamp": "x"}), (EV2, {"eventTime": TIME}), (SA, {"secrets": [{"name": 1}]}),
    (NS, {"spec": {"finalizers": [1]}}), (CM, {"binaryData": {"a": "eA="}}), (CM, {"binaryData": {"a": "eA"}}), (CM, {"binaryData": {"a": "e"}}), (CM, {"binaryData": {"a": "eA==eA=="}}),
    (CM, {"binaryData": {"a": "eA=x"}}), (CM, {"binaryData": {"a": "=eA="}}), (CM, {"binaryData": {"a": "eHh4 "}}), (CM, {"binaryData": {"a": "eHh4\neHh4"}}), (CM, {"binaryData": {"a": ""}}),
    (LEASE, {"spec": {"renewTime": "2026-13-02T03:04:05.678901Z"}}), (LEASE, {"spec": {"renewTime": "2026-02-30T03:04:05.678901Z"}}), (LEASE, {"spec": {"renewTime": "2026-01-02 03:04:05.678901Z"}}),
    (LEASE, {"spec": {"renewTime": "2026-01-02T24:04:05.678901Z"}}), (LEASE, {"spec": {"renewTime": "2026-01-02T03:04:05.678Z"}}), (LEASE, {"spec": {"renewTime": "2026-01-02T03:04:05.678901"}}),
    (LEASE, {"spec": {"renewTime": MICRO + "x"}}), (LEASE, {"spec": {"renewTime": ""}}), (EV, {"involvedObject": ref(), "firstTimestamp": "2026-01-02T03:04:05.5Z"}),
    (EV, {"involvedObject": ref(), "firstTimestamp": "2026-01-02"}), (EV, {"involvedObject": ref(), "firstTimestamp": ""}), (LEASE, {"spec": {"renewTime": "2026-01-02T03:04:05.6789012Z"}}),
]

# Texts, since a key that stands twice cannot be written otherwise: (kind, text behind apiVersion and kind).
TEXTS = [
    (CM, '"metadata":{"name":"x","labels":{"a":"1","a":"2"}},"data":{"k":"1","k":"2"},"data":{},"u":{"v":1,"v":2},"u":1'), (CM, '"kind":"ConfigMap","metadata":{"name":"x"}'),
    (CM, '"metadata":{"name":"x"},"data":{"k":"1","k":"2","k":"3"},"zz":1,"aa":2'), (CM, '"metadata":{"name":"x"},"data":{"k":1},"unknown":1'),
    (CM, '"metadata":{"name":"x"},"da\\u0074a":{"k":"1"},"data":{"k":"\\""}'), (CM, ' "metadata" : { "name" : "x" , "q" : [ 1 , { } ] } , "data" : { } '),
    (SVC, '"metadata":{"name":"x"},"spec":{"ports":[{"port":80,"port":81,"name":"a"},{"port":82,"name":"b","q":1}]}'),
    (SVC, '"metadata":{"name":"x"},"spec":{"selector":{"a":"b","a":"c"},"ports":[{"port":80}],"ports":[{"port":81}]}'),
    (GATE, '"metadata":{"name":"x","labels":{"a":1}},"spec":{}'), (GATE, '"metadata":{"name":5},"spec":{}'), (GATE, '"metadata":"x","spec":{}'),
    (GATE, '"metadata":{"name":"x","finalizers":"a"},"spec":{}'), (GATE, '"metadata":{"name":"x","creationTimestamp":"a"},"spec":{}'),
    (GATE, '"metadata":{"name":"x","x":1,"labels":{"a":"1","a":"2"}},"spec":{"z":1,"b":2,"featureSet":"","featureSet":""}'),
    (GATE, '"metadata":{"name":"x"},"spec":{"customNoUpgrade":{"u":{"u":1,"u":2}}},"top":1,"top":2'), (GATE, '"metadata":{"name":"x"},"spec":{"customNoUpgrade":{"enabled":["a"],"u":[{"u":1}]}}'),
]

CASES = METADATA + DATA + SERVICES + ENDPOINTS + PODS + NODES + LEASES + EVENTS

CASES += [
    (EP, {}), (EP, ep()), (EP, ep({})), (EP, ep(subset())), (EP, ep(subset("10.0.0.1"))), (EP, ep(subset("10.0.0.2", "10.0.0.1"))), (EP, ep(subset("x"))), (EP, ep(subset(""))),
    (EP, ep(subset({}))), (EP, ep(subset("127.0.0.1"))), (EP, ep(subset("169.254.0.1"))), (EP, ep(subset("224.0.0.1"))), (EP, ep(subset("fd00::1"))), (EP, ep(subset("10.0.0.01"))),
    (EP, ep(subset("10.0.0.1", "10.0.0.1"))), (EP, ep(subset("10.0.0.1"), subset("10.0.0.2"))), (EP, ep(subset("10.0.0.1", notReadyAddresses=[{"ip": "10.0.0.3"}]))),
    (EP, ep({"notReadyAddresses": [{"ip": "10.0.0.3"}]})), (EP, ep({"notReadyAddresses": [{"ip": "x"}]})), (EP, ep(subset("10.0.0.1", ports=[]))),
    (EP, ep(subset("10.0.0.1", ports=[{"port": 80}]))), (EP, ep(subset("10.0.0.1", ports=[{}]))), (EP, ep(subset("10.0.0.1", ports=[{"port": 0}]))), (EP, ep(subset("10.0.0.1", ports=[{"port": 70000}]))),
    (EP, ep(subset("10.0.0.1", ports=[{"port": 80, "protocol": "x"}]))), (EP, ep(subset("10.0.0.1", ports=[{"port": 80, "protocol": "UDP", "name": "a", "appProtocol": "http"}]))),
    (EP, ep(subset("10.0.0.1", ports=[{"port": 80, "name": "A"}]))), (EP, ep(subset("10.0.0.1", ports=[{"port": 80}, {"port": 81}]))), (EP, ep(subset("10.0.0.1", ports=[{"port": 80, "appProtocol": "a b"}]))),
    (EP, ep(subset({"ip": "10.0.0.1", "hostname": "a", "nodeName": "n", "targetRef": ref()}))), (EP, ep(subset({"ip": "10.0.0.1", "hostname": "A"}))), (EP, ep(subset({"ip": "10.0.0.1", "nodeName": "N 1"}))),
    (EP, ep(subset("10.0.0.1", ports=[{"port": 80}]), subset("10.0.0.2", ports=[{"port": 80}]))), (EP, ep(subset("10.0.0.2")), ep(subset("10.0.0.1"))), (EP, {}, ep(subset("10.0.0.1"))),
    (EP, {**ep(), **meta(name="A")}), (EP, {**ep(), **meta(name="a.b")}), (EP, {**ep(), **meta(labels={"a": "b"})}),
]
DECODING += [
    (EP, {"subsets": {}}), (EP, {"subsets": [{"addresses": "x"}]}), (EP, {"subsets": [{"ports": [{"port": "80"}]}]}), (EP, {"subsets": [{"addresses": [{"ip": 4}]}]}), (EP, {"subsets": "x"}),
]
CASES += POD_DNS


def backend(service="web", **port):
    return {"service": {"name": service, "port": port or {"number": 80}}}


def route(path="/", kind="Prefix", to=None):
    return {**({"path": path} if path is not None else {}), **({"pathType": kind} if kind is not None else {}), "backend": backend() if to is None else to}


def rule(host=None, *paths):
    return {**({"host": host} if host is not None else {}), **({"http": {"paths": list(paths)}} if paths else {})}


def ing(*rules, **spec):
    return {"spec": {**({"rules": list(rules)} if rules else {}), **spec}}


def to(what):
    """An Ingress whose only path has this backend."""
    return ing(rule("a.example", route(to=what)))


BUCKET = {"apiGroup": "storage.example.com", "kind": "Bucket", "name": "icons"}
CLASS = {"kubernetes.io/ingress.class": "a"}
INGRESSES = [
    (ING, {}), (ING, ing()), (ING, ing(defaultBackend=backend())), (ING, ing(rule("a.example", route()))), (ING, ing(rule(None, route()))), (ING, ing(rule("a.example"))), (ING, ing(rule())),
    (ING, {**ing(rule("a.example")), **meta(name="A_b")}), (ING, {**ing(rule("a.example")), **meta(name="a.b")}), (ING, {**ing(rule("a.example")), "status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}}}),
    (ING, ing(rule("*.example", route()))), (ING, ing(rule("*"))), (ING, ing(rule("a.*.example"))), (ING, ing(rule("*.*.example"))), (ING, ing(rule("*example"))), (ING, ing(rule("A.example"))),
    (ING, ing(rule("192.0.2.1"))), (ING, ing(rule("2001:db8::1"))), (ING, ing(rule("a_b"))), (ING, ing(rule(LONG + ".example"))), (ING, ing(rule("a" * 254))), (ING, ing(rule(""))),
    (ING, ing({"host": "a.example", "http": {"paths": []}})), (ING, ing({"host": "a.example", "http": {}})), (ING, ing({"host": "*.example", "http": {}})), (ING, ing({"http": None})),
    (ING, ing(rule("a.example", route(kind=None)))), (ING, ing(rule("a.example", route(kind="x")))), (ING, ing(rule("a.example", route(kind="")))), (ING, ing(rule("a.example", route(path=None)))),
    (ING, ing(rule("a.example", route(path="")))), (ING, ing(rule("a.example", route(path="a")))), (ING, ing(rule("a.example", route(path="a", kind="Exact")))),
    (ING, ing(rule("a.example", *(route(path=p, kind="Exact") for p in ("//", "/./a", "/../a", "/a%2fb", "/a%2Fb", "/a/..", "/a/.", "/a//b/./c", "/a/b"))))),
    (ING, ing(rule("a.example", *(route(path=p, kind="ImplementationSpecific") for p in (None, "", "//", "a", "/.*"))))),
    (ING, to({})), (ING, to(backend(""))), (ING, to(backend("Web"))), (ING, to(backend("1web"))), (ING, to(backend("a.b"))), (ING, to(backend(LONG))), (ING, to(backend(name="http"))),
    (ING, to({"service": {"name": "web"}})), (ING, to(backend("web", name="http", number=80))), (ING, to(backend("web", name="HTTP"))), (ING, to(backend("web", name="a-very-long-port-name"))),
    (ING, to(backend("web", number=0))), (ING, to(backend("web", number=70000))), (ING, to(backend("web", number=-1))), (ING, to(backend("web", name=""))), (ING, to({"service": {}})),
    (ING, to({"resource": BUCKET})), (ING, to({"resource": BUCKET, **backend()})), (ING, to({"resource": {}})), (ING, to({"resource": {"kind": "a/b", "name": "c%d"}})),
    (ING, to({"resource": {**BUCKET, "apiGroup": "A"}})), (ING, to({"resource": {**BUCKET, "apiGroup": ""}})), (ING, ing(defaultBackend={})), (ING, ing(defaultBackend={"resource": BUCKET})), (ING, ing(defaultBackend=backend("X"))),
    (ING, ing(rule("a.example"), tls=[{"hosts": ["a.example", "*.b.example"], "secretName": "s"}])), (ING, ing(rule("a.example"), tls=[{"hosts": ["A", "*", "a.*.b"], "secretName": "S_"}, {}])),
    (ING, ing(rule("a.example"), tls=[])), (ING, ing(tls=[{}])), (ING, ing(rule("a.example"), ingressClassName="nginx")), (ING, ing(rule("a.example"), ingressClassName="")), (ING, ing(rule("a.example"), ingressClassName="A")),
    (ING, {**ing(rule("a.example")), **meta(annotations=CLASS)}), (ING, {**ing(rule("a.example"), ingressClassName="a"), **meta(annotations=CLASS)}), (ING, {**ing(rule("a.example"), ingressClassName="b"), **meta(annotations=CLASS)}),
    (ING, ing(rule("A", route(kind=None)), rule("b.example", route(path="x", to={})), defaultBackend={}, tls=[{"hosts": ["B"]}], ingressClassName="C")),
    (ING, ing(rule("b.example")), ing(rule("a.example"))), (ING, ing(rule("a.example")), ing(rule("a.example"))), (ING, {**ing(rule("a.example")), **meta(labels={"a": "b"})}, ing(rule("a.example"))),
    (ING, ing(), ing(rule("a.example"))), (ING, ing(rule("A")), ing(rule("a.example"))), (ING, {**ing(rule("a.example"), ingressClassName="b"), **meta(annotations=CLASS)}, ing(rule("a.example"))),
    (ING, {**ing(rule("a.example")), "status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}}}, ing(rule("a.example"))), (ING, {}, ing(rule("a.example"))),
    (ING, ing(rule("a.example", route(to=backend("web", number=81)))), ing(rule("a.example", route()))),
]
CASES += INGRESSES
STATUS += [
    (ING, ing(rule("a.example")), ingress({"ip": "192.0.2.1"}, {"hostname": "a.b"}, {"ip": "2001:db8::1", "ports": [{"port": 80, "protocol": "TCP"}, {"port": 443, "protocol": "TCP", "error": "a/B"}]})),
    (ING, ing(rule("a.example")), ingress({"ip": "x"}, {"ip": "192.0.2.01"}, {"hostname": "A"}, {"hostname": "192.0.2.1"}, {})),
    (ING, ing(rule("a.example")), {**ingress({"ip": "192.0.2.1"}), **ing(rule("b.example")), **meta(labels={"a": "b"})}), (ING, ing(rule("a.example")), {"status": {}}),
    (ING, ing(rule("a.example")), ingress({"ip": "192.0.2.1", "ports": [{}]})),
]
DECODING += [
    (ING, {"spec": {"rules": {}}}), (ING, {"spec": {"rules": [{"http": {"paths": [{"pathType": 1}]}}]}}), (ING, {"spec": {"defaultBackend": {"service": {"port": {"number": "80"}}}}}), (ING, {"spec": {"x": 1}}),
    (ING, {"spec": {"rules": [{"host": 1, "http": {"path": []}}]}}), (ING, {"spec": {"tls": [{"hosts": "a"}]}}), (ING, {"spec": {"backend": {}}}),
]
