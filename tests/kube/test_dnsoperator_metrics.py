# SPDX-License-Identifier: GPL-3.0-or-later
"""OP-T9: metrics of the operator, and their join with those of the servers: templates by name, which are not in the servers'
configuration (OP-25)."""
import re

from controllerlib import until
from dnslib import ask, fairlead
from test_dnsoperator import DNS, LEGACY, place, run, server  # noqa: F401 pylint: disable=unused-import
from test_dnsoperator_applied import APPLIED, kubelet  # noqa: F401 pylint: disable=unused-import

# pylint: disable=redefined-outer-name
FILTER = {"name": "all", "zones": ["."], "action": {"returnEmpty": {}}}
NAMED = {**LEGACY, "zones": ["Legacy.Example.com.", "old.example.com"]}


def series(text, name):
    """[({label: value}, number)] of a metric."""
    found = re.findall(rf"^{name}{{(.*)}} (\S+)$", text, re.M)
    return [(dict(re.findall(r'(\w+)="([^"]*)"', labels)), float(value)) for labels, value in found]


def conditions(p):
    return {o["condition"]: o["status"] for o, value in
            series(p.get("/metrics")[1], "fairlead_dns_operator_status_condition") if value == 1}


def info(p):
    return series(p.get("/metrics")[1], "fairlead_dns_template_info")


def joined(p, k):
    """sum by (template) (answers * on (zone, class, type) group_left (template) info)"""
    key = lambda labels: (labels["zone"], labels["class"], labels["type"])  # noqa: E731
    names = {key(labels): labels["template"] for labels, value in info(p) if value == 1}
    assert len(names) == len(info(p)), "not unique: the join would be refused"
    out = {}
    for labels, value in series(k.servers[0].get("metrics", "/metrics")[1], "fairlead_dns_template_answers_total"):
        if key(labels) in names:
            name = names[key(labels)]
            out[name] = out.get(name, 0) + value
    return out


def test_templates_by_name(place, run, kubelet):  # noqa: F811
    with kubelet([fairlead]) as k:
        p = run("--dns-instances", ",".join(k.addresses()))
        place.dns({"templates": [FILTER, NAMED]})
        place.says(APPLIED, "True AsExpected")
        port = k.servers[0].port()
        for name, times in (("x.legacy.example.com.", 2), ("old.example.com.", 1), ("other.org.", 4)):
            for _ in range(times):
                ask(port, name, "AAAA")
        until(lambda: joined(p, k) == {"legacy": 3, "all": 4})
        assert {labels["zone"] for labels, _ in info(p)} == {".", "legacy.example.com.", "old.example.com."}
        # what is refused does not replace what is in force
        place.dns({"templates": [{**FILTER, "zones": ["svc.k8s.example.org"]}]})
        until(lambda: conditions(p).get("TemplateConfigurationValid") == "false")
        assert len(info(p)) == 3
        place.dns({"templates": [NAMED]})
        until(lambda: {labels["template"] for labels, _ in info(p)} == {"legacy"})
        place.dns({})
        until(lambda: info(p) == [])


def test_conditions_and_servers(place, run, kubelet):  # noqa: F811
    with kubelet([fairlead]) as k:
        p = run("--dns-instances", ",".join(k.addresses()), "--dns-settle-time", "1s")
        place.dns({"templates": [NAMED]})
        until(lambda: conditions(p) == {c["type"]: c["status"].lower() for c in place.conditions().values()}
              and conditions(p).get(APPLIED) == "true")
        assert conditions(p)["Available"] == "true" and conditions(p)["Degraded"] == "false"

        def states():
            return {labels["state"]: value for labels, value in
                    series(p.get("/metrics")[1], "fairlead_dns_operator_instances")}
        assert states() == {"current": 1, "other": 0, "unreachable": 0}
        k.servers[0].process.terminate()
        k.servers[0].process.wait(20)
        place.dns({"templates": [FILTER]})
        until(lambda: states() == {"current": 0, "other": 0, "unreachable": 1})
        until(lambda: conditions(p)["Available"] == "false" and conditions(p)["Degraded"] == "true")
        place.done("DELETE", f"{DNS}/default")
        until(lambda: conditions(p) == {} and info(p) == [] and states() == {})
