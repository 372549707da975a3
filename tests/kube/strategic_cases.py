# SPDX-License-Identifier: GPL-3.0-or-later
"""Strategic merge patches and what they are applied to; the server's answers are recorded in src/api/patch/test_strategic.json.

OBJECTS: {name: (kind, object)}; CASES: (name, patch), or (name, patch, subresource).

Not asked: an order for a list of maps without a merge key, over which the server falls (it compares what Go cannot).
"""


def port(number, name, **more):
    return {"name": name, "port": number, "protocol": "TCP", "targetPort": number, **more}


def container(name, **more):
    return {"name": name, "image": f"registry.example/{name}", "imagePullPolicy": "Always", "terminationMessagePath": "/dev/termination-log",
            "terminationMessagePolicy": "File", **more}


def condition(kind, **more):
    return {"type": kind, "status": "True", **more}


OWNERS = [{"apiVersion": "v1", "kind": "Pod", "name": n, "uid": f"{n}-uid"} for n in ("a", "b", "c")]
META = {"labels": {"a": "1", "b": "2"}, "annotations": {"x": "y"}, "finalizers": ["k.io/a", "k.io/b", "k.io/c"], "ownerReferences": OWNERS}
CM = "ConfigMap", {"metadata": META, "data": {"a": "1", "b": "2"}}
TOLERATIONS = [{"key": "k", "operator": "Exists"}] + [
    {"key": f"node.kubernetes.io/{k}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300} for k in ("not-ready", "unreachable")]
POD_SPEC = {
    "terminationGracePeriodSeconds": 30, "dnsPolicy": "ClusterFirst", "schedulerName": "default-scheduler", "restartPolicy": "Always",
    "containers": [
        container("one", env=[{"name": "A", "value": "1"}, {"name": "B", "value": "2"}], args=["x", "y"],
                  ports=[{"containerPort": 80, "protocol": "TCP", "name": "http"}, {"containerPort": 53, "protocol": "UDP", "name": "dns"}],
                  volumeMounts=[{"name": "v1", "mountPath": "/a"}, {"name": "v2", "mountPath": "/b"}]),
        container("two")],
    "volumes": [{"name": "v1", "emptyDir": {}}, {"name": "v2", "configMap": {"name": "x", "defaultMode": 420}}],
    "imagePullSecrets": [{"name": "p"}, {"name": "q"}], "tolerations": TOLERATIONS,
    "hostAliases": [{"ip": "192.0.2.1", "hostnames": ["a", "b"]}]}

OBJECTS = {
    "cm": CM,
    "svc": ("Service", {"metadata": META, "spec": {
        "selector": {"app": "x", "tier": "y"}, "clusterIP": "None", "ports": [port(80, "http"), port(443, "https"), port(53, "dns")]}}),
    "lb": ("Service", {"spec": {"type": "LoadBalancer", "allocateLoadBalancerNodePorts": False, "clusterIP": "10.96.217.218", "selector": {"app": "x"}, "ports": [port(80, "http")],
                                "loadBalancerSourceRanges": ["10.0.0.0/8"], "externalIPs": ["192.0.2.1"]}}),
    "ns": ("Namespace", {"metadata": {"labels": {"a": "1"}}}),
    "sa": ("ServiceAccount", {"secrets": [{"name": "a"}, {"name": "b"}], "imagePullSecrets": [{"name": "p"}, {"name": "q"}]}),
    "node": ("Node", {"metadata": {"labels": {"a": "1"}}, "spec": {
        "podCIDR": "10.1.0.0/24", "podCIDRs": ["10.1.0.0/24"],
        "taints": [{"key": "k1", "value": "v", "effect": "NoSchedule"}, {"key": "k2", "effect": "NoExecute"}]}}),
    "pod": ("Pod", {"metadata": {"labels": {"a": "1"}}, "spec": POD_SPEC}),
    "deploy": ("Deployment", {"spec": {
        "replicas": 1, "selector": {"matchLabels": {"app": "x"}}, "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}},
        "template": {"metadata": {"labels": {"app": "x"}}, "spec": POD_SPEC}}}),
}


def containers(*patches, **more):
    return {"spec": {"template": {"spec": {"containers": list(patches), **more}}}}


def pod_spec(**fields):
    return {"spec": {"template": {"spec": fields}}}


def meta(**fields):
    return {"metadata": fields}


CASES = [
    ("cm", {}), ("cm", {"data": {"a": "9"}}), ("cm", {"data": {"a": None}}), ("cm", {"data": {"c": "3"}}), ("cm", {"data": None}),
    ("cm", {"data": {"$patch": "replace", "z": "1"}}), ("cm", {"data": {"$patch": "delete"}}), ("cm", {"data": {"$patch": "merge"}}),
    ("cm", {"data": {"$patch": "nonsense", "a": "b"}}), ("cm", {"data": {"$retainKeys": ["a", "z"], "z": "1"}}), ("cm", {"data": {"$retainKeys": "a"}}),
    ("cm", {"data": {"$retainKeys": ["a"], "z": "1"}}), ("cm", {"data": {"$retainKeys": [], "z": None}}),
    ("cm", {"binaryData": {"k": "AAEC", "gone": None}}), ("cm", {"immutable": True}), ("cm", {"binaryData": {"$patch": "delete"}}),
    ("cm", meta(labels={"a": None, "c": "3"})), ("cm", meta(labels=None)), ("cm", meta(finalizers=["k.io/d"])), ("cm", meta(finalizers=["k.io/c", "k.io/d", "k.io/a"])),
    ("cm", meta(finalizers=None)), ("cm", meta(**{"$deleteFromPrimitiveList/finalizers": ["k.io/b"]})),
    ("cm", meta(**{"$deleteFromPrimitiveList/finalizers": ["k.io/b"], "$setElementOrder/finalizers": ["k.io/c", "k.io/d", "k.io/a"], "finalizers": ["k.io/d"]})),
    ("cm", meta(**{"$setElementOrder/finalizers": ["k.io/c", "k.io/a"]})), ("cm", meta(**{"$setElementOrder/finalizers": ["k.io/a"], "finalizers": ["k.io/z"]})),
    ("cm", meta(**{"$setElementOrder/finalizers": "k.io/a"})), ("cm", meta(**{"$setElementOrder": ["k.io/a"]})), ("cm", meta(**{"$deleteFromPrimitiveList": ["k.io/a"]})),
    ("cm", meta(**{"$deleteFromPrimitiveList/none": ["k.io/a"]})), ("cm", meta(finalizers=["k.io/d", 5])),
    ("cm", meta(ownerReferences=[{"uid": "b-uid", "name": "renamed"}])), ("cm", meta(ownerReferences=[{"$patch": "delete", "uid": "a-uid"}])),
    ("cm", meta(ownerReferences=[{"apiVersion": "v1", "kind": "Pod", "name": "d", "uid": "d-uid"}])),
    ("cm", meta(ownerReferences=[{"$patch": "replace"}, {"apiVersion": "v1", "kind": "Pod", "name": "d", "uid": "d-uid"}])),
    ("cm", meta(ownerReferences=[{"name": "no uid"}])), ("cm", meta(ownerReferences=[{"$patch": "delete"}])), ("cm", meta(ownerReferences=[{"$patch": "merge", "uid": "a-uid"}])),
    ("cm", meta(ownerReferences=[{"$patch": "what", "uid": "a-uid"}])), ("cm", meta(ownerReferences=["text"])), ("cm", meta(ownerReferences=[[1]])),
    ("cm", meta(ownerReferences=[{"$patch": "replace"}])), ("cm", meta(**{"$setElementOrder/ownerReferences": [{"uid": "c-uid"}, {"uid": "a-uid"}]})),
    ("cm", meta(**{"$setElementOrder/ownerReferences": [{"uid": "c-uid"}, {"uid": "b-uid"}, {"uid": "a-uid"}],
                   "ownerReferences": [{"uid": "c-uid", "controller": True}, {"$patch": "delete", "uid": "a-uid"}]})),
    ("cm", meta(**{"$setElementOrder/ownerReferences": [{"name": "x"}]})), ("cm", {"$patch": "replace", "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "cm", "namespace": "default"}, "data": {"q": "r"}}),
    ("svc", {"spec": {"ports": [{"port": 80, "targetPort": 8080}]}}), ("svc", {"spec": {"ports": [{"$patch": "delete", "port": 443}]}}),
    ("svc", {"spec": {"ports": [port(8443, "more")]}}), ("svc", {"spec": {"ports": [port(8443, "more"), {"port": 443, "name": "tls"}]}}),
    ("svc", {"spec": {"ports": [{"$patch": "replace"}, port(1, "only")]}}), ("svc", {"spec": {"$setElementOrder/ports": [{"port": 53}, {"port": 80}, {"port": 443}]}}),
    ("svc", {"spec": {"$setElementOrder/ports": [{"port": 53}, {"port": 8443}, {"port": 80}], "ports": [port(8443, "more"), {"$patch": "delete", "port": 443}]}}),
    ("svc", {"spec": {"ports": [{"name": "no port"}]}}), ("svc", {"spec": {"selector": {"app": None, "new": "z"}}}), ("svc", {"spec": {"selector": {"$patch": "replace", "q": "r"}}}),
    ("svc", {"spec": {"selector": None}}), ("svc", {"spec": {"$setElementOrder/selector": ["x"]}}), ("svc", {"spec": {"ports": None}, "metadata": {"labels": {"$patch": "delete"}}}),
    ("svc", {"spec": {"$retainKeys": ["ports", "clusterIP", "clusterIPs", "type", "ipFamilies", "ipFamilyPolicy", "sessionAffinity", "internalTrafficPolicy"], "ports": [{"port": 80, "name": "web"}]}}),
    ("lb", {"spec": {"externalIPs": ["192.0.2.2"], "loadBalancerSourceRanges": ["10.1.0.0/16", "10.2.0.0/16"]}}),
    ("lb", {"status": {"conditions": [condition("A", reason="R", message="", lastTransitionTime="2026-01-01T00:00:00Z")],
                       "loadBalancer": {"ingress": [{"ip": "192.0.2.9", "ipMode": "VIP"}]}}}, "status"),
    ("ns", meta(labels={"b": "2"})), ("ns", meta(labels={"a": None}, annotations={"q": "r"})),
    ("sa", {"secrets": [{"name": "c"}]}), ("sa", {"secrets": [{"$patch": "delete", "name": "a"}]}), ("sa", {"imagePullSecrets": [{"name": "r"}, {"name": "p"}]}),
    ("sa", {"secrets": [{"name": "c"}], "$setElementOrder/secrets": [{"name": "b"}, {"name": "c"}, {"name": "a"}]}),
    ("sa", {"automountServiceAccountToken": False, "secrets": None}),
    ("node", {"spec": {"taints": [{"key": "k3", "effect": "NoSchedule"}]}}), ("node", {"spec": {"unschedulable": True}}), ("node", {"spec": {"taints": None}}),
    ("node", {"spec": {"taints": [{"key": "k1", "effect": "NoSchedule", "value": "w"}], "configSource": {"$patch": "delete"}}}), ("node", {"spec": {"podCIDRs": ["10.1.0.0/24"]}}),
    ("node", {"status": {"conditions": [condition("Ready", reason="x"), condition("DiskPressure")], "addresses": [{"type": "InternalIP", "address": "192.0.2.1"}]}}, "status"),
    ("node", {"status": {"capacity": {"cpu": "4", "memory": "1Gi"}, "$setElementOrder/conditions": [{"type": "Ready"}], "conditions": [condition("Ready")]}}, "status"),
    ("pod", {"spec": {"containers": [{"name": "one", "image": "registry.example/new"}]}}), ("pod", {"spec": {"activeDeadlineSeconds": 5}}),
    ("pod", {"spec": {"tolerations": [{"key": "l", "operator": "Exists"}, *TOLERATIONS]}}), ("pod", meta(labels={"b": "c"})),
    ("pod", {"status": {"conditions": [condition("Ready")], "podIPs": [{"ip": "192.0.2.1"}], "podIP": "192.0.2.1", "phase": "Running"}}, "status"),
    ("deploy", {"spec": {"replicas": 3}}), ("deploy", {"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}}),
    ("deploy", {"spec": {"strategy": {"rollingUpdate": {"maxSurge": "50%"}}}}), ("deploy", containers({"name": "one", "image": "new"})),
    ("deploy", containers({"$patch": "delete", "name": "two"})), ("deploy", containers(container("three"), {"name": "one", "args": ["z"]})),
    ("deploy", containers({"name": "one", "env": [{"name": "C", "value": "3"}, {"name": "A", "value": "9"}]})), ("deploy", containers({"name": "one", "env": [{"$patch": "delete", "name": "A"}]})),
    ("deploy", containers({"name": "one", "env": [{"$patch": "replace"}, {"name": "Z", "value": "1"}]})),
    ("deploy", containers({"name": "one", "$setElementOrder/env": [{"name": "B"}, {"name": "N"}, {"name": "A"}], "env": [{"name": "N", "value": "n"}]})),
    ("deploy", containers({"name": "two"}, **{"$setElementOrder/containers": [{"name": "two"}, {"name": "one"}]})),
    ("deploy", containers({"name": "one", "ports": [{"containerPort": 81, "protocol": "TCP"}, {"$patch": "delete", "containerPort": 53}]})),
    ("deploy", containers({"name": "one", "volumeMounts": [{"mountPath": "/c", "name": "v1"}]})), ("deploy", containers({"name": "one", "args": None, "env": None})),
    ("deploy", pod_spec(volumes=[{"name": "v2", "$retainKeys": ["name", "emptyDir"], "emptyDir": {}}])), ("deploy", pod_spec(volumes=[{"name": "v3", "emptyDir": {"medium": "Memory"}}])),
    ("deploy", pod_spec(volumes=[{"name": "v2", "$retainKeys": ["name"], "emptyDir": {}}])), ("deploy", pod_spec(imagePullSecrets=[{"name": "r"}, {"$patch": "delete", "name": "p"}])),
    ("deploy", pod_spec(hostAliases=[{"ip": "192.0.2.1", "hostnames": ["c"]}, {"ip": "192.0.2.2", "hostnames": ["d"]}])), ("deploy", pod_spec(tolerations=[])),
    ("deploy", pod_spec(nodeSelector={"a": "b", "c": None})), ("deploy", pod_spec(affinity={"nodeAffinity": {"$patch": "delete"}})),
    ("deploy", pod_spec(topologySpreadConstraints=[{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}])),
    ("deploy", pod_spec(securityContext={"runAsUser": 1})), ("deploy", {"spec": {"template": {"metadata": {"annotations": {"restarted": "now"}, "labels": {"v": "2"}}}}}),
    ("deploy", pod_spec(initContainers=[container("init", env=[{"name": "x", "value": None, "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.name"}}}])])),
]
