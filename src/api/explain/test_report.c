/* SPDX-License-Identifier: GPL-3.0-or-later */
/* EF-P11, EF-S3, EF-S10: from objects to decisions, as people and programs see them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "api/explain/report.h"
#include "api/explain/write_json.h"
#include "api/explain/write_text.h"
#include "api/meta.h"
#include "api/tree.h"
#include "base/clock.h"
#include "base/compiler.h"

#define NOW (UINT64_C(1700000000) * NS_PER_S) /* 2023-11-14T22:13:20Z */

/* Single quotes, as C has no better way to write JSON. */
static json_t *tree_of(const char *text)
{
	char copy[8192];
	json_error_t error;
	assert_true(strlen(text) < sizeof(copy));
	for (size_t i = 0; i <= strlen(text); i++)
		copy[i] = text[i] == '\'' ? '"' : text[i];
	json_t *tree = json_loads(copy, 0, &error);
	if (tree == NULL)
		fail_msg("%s: %s", error.text, copy);
	return tree;
}

#define FIREWALL(ns, rules) \
	"{'metadata':{'name':'default','namespace':'" ns "'},'spec':{'egress':[" rules "]}}"
#define RULE(type, key, value) "{'type':'" type "','to':{'" key "':" value "}}"
#define HTTPS(type, key, value)                          \
	"{'type':'" type "','to':{'" key "':" value "}," \
	"'ports':[{'protocol':'TCP','port':443}]}"
#define NAME(object, items) \
	"{'metadata':{'name':'" object "','namespace':'fairlead'},'status':{'items':[" items "]}}"
#define ITEM(name, ...) "{'dnsname':'" name "','info':[" __VA_ARGS__ "]}"
#define INFO(ip)                                                                         \
	"{'ip':'" ip "','ttl':'60','nextlookuptime':'2023-11-14T22:14:00Z','firstseen':" \
	"'2023-11-14T20:00:00Z'}"
#define OLD_INFO(ip) "{'ip':'" ip "','ttl':'1','nextlookuptime':'2023-11-14T22:00:05Z'}"
#define CHAIN_INFO(ip, end)                                                              \
	"{'ip':'" ip "','ttl':'60','nextlookuptime':'2023-11-14T22:14:00Z','firstseen':" \
	"'2023-11-14T20:00:00Z','canonicalname':'" end "'}"

struct objects {
	const char *firewalls, *names, *nodes, *service_cidrs, *networks, *slices, *events;
};

struct rig {
	json_t *trees[7];
	struct explain_report report;
};

static void rig_init(struct rig *rig, const struct objects *objects, const char *subject_text,
		     const char *ns)
{
	const char *const texts[] = { objects->firewalls,     objects->names,	 objects->nodes,
				      objects->service_cidrs, objects->networks, objects->slices,
				      objects->events };
	struct explain_subject subject;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		rig->trees[i] = texts[i] != NULL ? tree_of(texts[i]) : NULL;
	assert_null(explain_subject_parse(slice_of(subject_text), &subject));
	explain_report_init(&rig->report, &subject,
			    &(struct explain_objects){ rig->trees[0], rig->trees[1], rig->trees[2],
						       rig->trees[3], rig->trees[4], rig->trees[5],
						       rig->trees[6] },
			    ns);
}

static void rig_done(struct rig *rig)
{
	explain_report_done(&rig->report);
	for (size_t i = 0; i < ARRAY_LEN(rig->trees); i++)
		json_decref(rig->trees[i]);
}

static void assert_text(const struct objects *objects, const char *subject, const char *ns,
			const char *wanted)
{
	struct rig rig;
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	rig_init(&rig, objects, subject, ns);
	explain_write_text(&rig.report, NOW, &text);
	assert_string_equal(text.s, wanted);
	rig_done(&rig);
}

/* Two names share an address; one of them is behind a chain. */
static const struct objects shop = {
	.firewalls = "[" FIREWALL(
		"shop",
		HTTPS("Allow", "dnsName", "'www.example.com'") "," RULE(
			"Allow", "dnsName",
			"'*.example.net'") "," RULE("Deny", "cidrSelector",
						    "'0.0.0.0/0'")) "," FIREWALL("back",
										 RULE("Allow",
										      "nodeSelecto"
										      "r",
										      "{'"
										      "matchLabels'"
										      ":{'a':'b'}"
										      "}")) "]",
	.names = "[" NAME("www.example.com",
			  ITEM("www.example.com",
			       CHAIN_INFO("192.0.2.1", "cdn.example.org") "," OLD_INFO(
				       "2001:db8::1"))) "," NAME("wildcard.example.net",
								 ITEM("a.example.net",
								      INFO("192.0.2.1"))) "]",
	.nodes =
		"[{'metadata':{'name':'n1','labels':{'a':'b'}},'spec':{'podCIDRs':['10.0.1.0/24']},"
		"'status':{'addresses':[{'type':'InternalIP','address':'192.0.2.9'}]}},"
		"{'metadata':{'name':'n2'},"
		"'status':{'addresses':[{'type':'InternalIP','address':'192.0.2.10'}]}}]",
	.service_cidrs = "[{'spec':{'cidrs':['10.96.0.0/12','fd00:10::/108']}}]",
};

/* A rule with ports decides for these only; the next one that matches for the rest. */
static void an_address(void **state)
{
	(void)state;
	assert_text(&shop, "192.0.2.1", NULL,
		    "192.0.2.1\n"
		    "  192.0.2.1 of www.example.com, through its CNAME cdn.example.org (DNSName "
		    "fairlead/www.example.com)\n"
		    "    first seen 2023-11-14T20:00:00Z\n"
		    "    last seen 2023-11-14T22:13:00Z or later\n"
		    "    looked up again at 2023-11-14T22:14:00Z, and kept until then\n"
		    "  192.0.2.1 of a.example.net (DNSName fairlead/wildcard.example.net)\n"
		    "    first seen 2023-11-14T20:00:00Z\n"
		    "    last seen 2023-11-14T22:13:00Z or later\n"
		    "    looked up again at 2023-11-14T22:14:00Z, and kept until then\n"
		    "namespace back\n"
		    "  192.0.2.1\n"
		    "    Allow all ports: no rule matches, which allows\n"
		    "namespace shop\n"
		    "  192.0.2.1\n"
		    "    Allow TCP/443: rule 0, Allow www.example.com TCP/443: www.example.com\n"
		    "    Allow other ports: rule 1, Allow *.example.net: a.example.net\n");
	assert_text(
		&shop, "::ffff:192.0.2.77", "shop",
		"192.0.2.77\n"
		"  note: IPv4 inside of IPv6: connections to it are IPv4, and IPv4 rules decide\n"
		"  note: no DNSName object has this address\n"
		"namespace shop\n"
		"  192.0.2.77\n"
		"    Deny  all ports: rule 2, Deny 0.0.0.0/0\n");
	/* No rule is about IPv6. */
	assert_text(&shop, "2001:db8::2", "shop",
		    "2001:db8::2\n"
		    "  note: no DNSName object has this address\n"
		    "namespace shop\n"
		    "  2001:db8::2\n"
		    "    Allow all ports: no rule matches, which allows\n");
}

static void a_name(void **state)
{
	(void)state;
	assert_text(&shop, "WWW.example.com.", "shop",
		    "www.example.com\n"
		    "  192.0.2.1 of www.example.com, through its CNAME cdn.example.org (DNSName "
		    "fairlead/www.example.com)\n"
		    "    first seen 2023-11-14T20:00:00Z\n"
		    "    last seen 2023-11-14T22:13:00Z or later\n"
		    "    looked up again at 2023-11-14T22:14:00Z, and kept until then\n"
		    "  2001:db8::1 of www.example.com (DNSName fairlead/www.example.com)\n"
		    "    first seen is unknown\n"
		    "    last seen 2023-11-14T22:00:00Z or later\n"
		    "    confirmed by lookups since 2023-11-14T22:00:05Z, and kept while they do\n"
		    "namespace shop\n"
		    "  192.0.2.1\n"
		    "    Allow TCP/443: rule 0, Allow www.example.com TCP/443: www.example.com\n"
		    "    Allow other ports: rule 1, Allow *.example.net: a.example.net\n"
		    "  2001:db8::1\n"
		    "    Allow TCP/443: rule 0, Allow www.example.com TCP/443: www.example.com\n"
		    "    Allow other ports: no rule matches, which allows\n");
	/* The end of a chain leads to the names before it. */
	assert_text(&shop, "cdn.example.org", "back",
		    "cdn.example.org\n"
		    "  192.0.2.1 of www.example.com, through its CNAME cdn.example.org (DNSName "
		    "fairlead/www.example.com)\n"
		    "    first seen 2023-11-14T20:00:00Z\n"
		    "    last seen 2023-11-14T22:13:00Z or later\n"
		    "    looked up again at 2023-11-14T22:14:00Z, and kept until then\n"
		    "namespace back\n"
		    "  192.0.2.1\n"
		    "    Allow all ports: no rule matches, which allows\n");
}

/* Rules for all of IPv4 and all of IPv6 leave nothing to the default. */
static void all_addresses_denied(void **state)
{
	struct objects objects = {
		.firewalls = "[" FIREWALL(
			"shop",
			RULE("Deny", "cidrSelector", "'::/0'") "," HTTPS(
				"Allow", "cidrSelector",
				"'0.0.0.0/0'") "," RULE("Deny", "cidrSelector",
							"'0.0.0.0/0'") "," RULE("Allow", "dnsName",
										"'b.example.net'")) "]"
	};
	(void)state;
	assert_text(&objects, "b.example.net", NULL,
		    "b.example.net\n"
		    "  note: no DNSName object has an address of this name: nobody asked for it, "
		    "no rule "
		    "covers it, or its addresses are never learnt\n"
		    "namespace shop\n"
		    "  an address that is not known yet\n"
		    "    Deny  all ports: rule 0, Deny ::/0, if its address is IPv6\n"
		    "    Allow TCP/443: rule 1, Allow 0.0.0.0/0 TCP/443, if its address is IPv4\n"
		    "    Deny  other ports: rule 2, Deny 0.0.0.0/0, if its address is IPv4\n");
}

/* What its address will be is not known: ranges and nodes may match, or not. */
static void a_name_without_addresses(void **state)
{
	struct objects objects = {
		.firewalls = "[" FIREWALL(
			"shop",
			RULE("Deny", "cidrSelector", "'10.0.0.0/8'") "," HTTPS(
				"Allow", "dnsName",
				"'b.example.net'") "," RULE("Deny", "nodeSelector",
							    "{}") "," RULE("Allow", "dnsName",
									   "'*.example."
									   "net'") "," RULE("Deny",
											    "cidrSe"
											    "lecto"
											    "r",
											    "'0.0."
											    "0.0/"
											    "0'")) "]"
	};
	(void)state;
	assert_text(
		&objects, "b.example.net", NULL,
		"b.example.net\n"
		"  note: no DNSName object has an address of this name: nobody asked for it, no "
		"rule "
		"covers it, or its addresses are never learnt\n"
		"namespace shop\n"
		"  an address that is not known yet\n"
		"    Deny  all ports: rule 0, Deny 10.0.0.0/8, if its address is in that range\n"
		"    Allow TCP/443: rule 1, Allow b.example.net TCP/443: b.example.net\n"
		"    Deny  other ports: rule 2, Deny all nodes, if its address is one of these "
		"nodes'\n"
		"    Allow other ports: rule 3, Allow *.example.net: b.example.net\n");
}

static void by_node(void **state)
{
	(void)state;
	assert_text(
		&shop, "192.0.2.9", "back",
		"192.0.2.9\n"
		"  note: 192.0.2.9 is of the cluster's own nodes: it is never learnt for a name\n"
		"namespace back\n"
		"  192.0.2.9\n"
		"    Allow all ports: rule 0, Allow nodes a in (b): node n1\n");
	assert_text(&shop, "192.0.2.10", "back",
		    "192.0.2.10\n"
		    "  note: 192.0.2.10 is of the cluster's own nodes: it is never learnt for a "
		    "name\n"
		    "namespace back\n"
		    "  192.0.2.10\n"
		    "    Allow all ports: no rule matches, which allows\n");
}

/* Pods and Services stay reachable whatever the rules say. */
static void own_networks(void **state)
{
	struct objects openshift = {
		.firewalls = shop.firewalls,
		.networks = "[{'spec':{'clusterNetwork':[{'cidr':'10.128.0.0/14'}]},"
			    "'status':{'serviceNetwork':['172.30.0.0/16']}}]"
	};
	(void)state;
	assert_text(&shop, "10.96.0.1", "shop",
		    "10.96.0.1\n"
		    "  note: 10.96.0.0/12 is of the cluster's own Services: it is never learnt for "
		    "a name\n"
		    "namespace shop\n"
		    "  10.96.0.1\n"
		    "    Allow all ports: the cluster's own 10.96.0.0/12, where rules do "
		    "not count\n");
	assert_text(&openshift, "10.129.0.1", "shop",
		    "10.129.0.1\n"
		    "  note: 10.128.0.0/14 is of the cluster's own pods: it is never learnt for a "
		    "name\n"
		    "namespace shop\n"
		    "  10.129.0.1\n"
		    "    Allow all ports: the cluster's own 10.128.0.0/14, where rules do "
		    "not count\n");
	assert_text(&openshift, "169.254.169.254", "shop",
		    "169.254.169.254\n"
		    "  note: loopback, link-local, multicast and unspecified addresses are never "
		    "learnt for a name\n"
		    "namespace shop\n"
		    "  169.254.169.254\n"
		    "    Deny  all ports: rule 2, Deny 0.0.0.0/0\n");
}

/* The API server stays reachable, also where it runs on a node. */
static void the_api_server(void **state)
{
	struct objects objects = { .firewalls = shop.firewalls,
				   .nodes = shop.nodes,
				   .slices = "[{'metadata':{'namespace':'default','labels':{"
					     "'kubernetes.io/service-name':'kubernetes'}},"
					     "'endpoints':[{'addresses':['192.0.2.10']}]},"
					     "{'metadata':{'namespace':'other','labels':{"
					     "'kubernetes.io/service-name':'kubernetes'}},"
					     "'endpoints':[{'addresses':['192.0.2.9']}]}]" };
	(void)state;
	assert_text(
		&objects, "192.0.2.10", "shop",
		"192.0.2.10\n"
		"  note: this is an address of the cluster's API server\n"
		"namespace shop\n"
		"  192.0.2.10\n"
		"    Allow all ports: the cluster's own 192.0.2.10, where rules do not count\n");
	assert_text(
		&objects, "192.0.2.9", "shop",
		"192.0.2.9\n"
		"  note: 192.0.2.9 is of the cluster's own nodes: it is never learnt for a name\n"
		"namespace shop\n"
		"  192.0.2.9\n"
		"    Deny  all ports: rule 2, Deny 0.0.0.0/0\n");
}

static void no_firewall(void **state)
{
	(void)state;
	assert_text(&shop, "192.0.2.77", "empty",
		    "192.0.2.77\n"
		    "  note: no DNSName object has this address\n"
		    "namespace empty\n"
		    "  192.0.2.77\n"
		    "    Allow all ports: the namespace has no EgressFirewall\n");
	assert_text(&(struct objects){ 0 }, "a.example", NULL,
		    "a.example\n"
		    "  note: no DNSName object has an address of this name: nobody asked for it, "
		    "no rule "
		    "covers it, or its addresses are never learnt\n"
		    "no namespace has an EgressFirewall: everything is allowed\n");
}

/* What people expect and rules do not do. */
static void notes(void **state)
{
	static const char names[] =
		"[" NAME("wildcard.example.com", ITEM("a.example.com", INFO("192.0.2.1"))) "]";
	struct objects objects = {
		.firewalls = "[" FIREWALL(
			"shop",
			RULE("Deny", "dnsName", "'*.example.com'") "," RULE(
				"Allow", "dnsName",
				"'bad..name'") "," RULE("Allow", "cidrSelector",
							"'192.0.2.0/24'")) ","
									   "{'metadata':{'name':'"
									   "other','namespace':'"
									   "shop'},'spec':{'egress'"
									   ":[]}}]",
		.names = names
	};
	struct objects deep = {
		.firewalls = "[{'metadata':{'name':'default','namespace':'shop','annotations':{"
			     "'egress.fairlead.dev/wildcard-depth':'any'}},'spec':{'egress':[" RULE(
				     "Deny", "dnsName", "'*.example.com'") "]}}]"
	};
	(void)state;
	assert_text(
		&objects, "192.0.2.1", NULL,
		"192.0.2.1\n"
		"  192.0.2.1 of a.example.com (DNSName fairlead/wildcard.example.com)\n"
		"    first seen 2023-11-14T20:00:00Z\n"
		"    last seen 2023-11-14T22:13:00Z or later\n"
		"    looked up again at 2023-11-14T22:14:00Z, and kept until then\n"
		"namespace shop\n"
		"  192.0.2.1\n"
		"    Deny  all ports: rule 0, Deny *.example.com: a.example.com\n"
		"  note: rule 0 denies by name, which clients can evade with an address that "
		"was not learnt for it\n"
		"  note: the firewall is not valid: this is what its valid rules say; nodes go on "
		"with the rules of before, or deny all but the cluster if there were none\n"
		"  note: not valid: spec.egress[1].to.dnsName: Invalid "
		"value: \"bad..name\": has an empty label\n");
	assert_text(
		&objects, "x.a.example.com", NULL,
		"x.a.example.com\n"
		"  note: no DNSName object has an address of this name: nobody asked for it, "
		"no rule "
		"covers it, or its addresses are never learnt\n"
		"namespace shop\n"
		"  an address that is not known yet\n"
		"    Allow all ports: rule 2, Allow 192.0.2.0/24, if its address is in that "
		"range\n"
		"    Allow other ports: no rule matches, which allows\n"
		"  note: rule 0, *.example.com, covers one label only; the annotation "
		"egress.fairlead.dev/wildcard-depth: any of the firewall would make it cover "
		"this name\n"
		"  note: the firewall is not valid: this is what its valid rules say; nodes go on "
		"with the rules of before, or deny all but the cluster if there were none\n"
		"  note: not valid: spec.egress[1].to.dnsName: Invalid "
		"value: \"bad..name\": has an empty label\n");
	assert_text(&deep, "x.a.example.com", NULL,
		    "x.a.example.com\n"
		    "  note: no DNSName object has an address of this name: nobody asked for it, "
		    "no rule "
		    "covers it, or its addresses are never learnt\n"
		    "namespace shop\n"
		    "  an address that is not known yet\n"
		    "    Deny  all ports: rule 0, Deny *.example.com: x.a.example.com\n"
		    "  note: rule 0 denies by name, which clients can evade with an address that "
		    "was not learnt for it\n");
	assert_text(&deep, "example.com", NULL,
		    "example.com\n"
		    "  note: no DNSName object has an address of this name: nobody asked for it, "
		    "no rule "
		    "covers it, or its addresses are never learnt\n"
		    "namespace shop\n"
		    "  an address that is not known yet\n"
		    "    Allow all ports: no rule matches, which allows\n"
		    "  note: rule 0, *.example.com, covers names below this one, not itself\n");
}

/* A name below two wildcards is in two objects, with the same times; and a rule that covers it leaves no
 * near miss to report. */
static void one_name_in_two_objects(void **state)
{
	struct objects objects = {
		.firewalls =
			"[" FIREWALL("shop", RULE("Allow", "dnsName", "'*.a.example'") "," RULE(
						     "Allow", "dnsName", "'a.example'")) "]",
		.names = "[" NAME("a.example", ITEM("a.example", INFO("192.0.2.1"))) "," NAME(
			"b.example",
			ITEM("a.example", OLD_INFO("192.0.2.1"))) "," NAME("wildcard.example",
									   ITEM("a.example",
										INFO("192.0.2.1"))) "]"
	};
	(void)state;
	assert_text(
		&objects, "a.example", NULL,
		"a.example\n"
		"  192.0.2.1 of a.example (DNSName fairlead/a.example, fairlead/wildcard.example)\n"
		"    first seen 2023-11-14T20:00:00Z\n"
		"    last seen 2023-11-14T22:13:00Z or later\n"
		"    looked up again at 2023-11-14T22:14:00Z, and kept until then\n"
		"  192.0.2.1 of a.example (DNSName fairlead/b.example)\n"
		"    first seen is unknown\n"
		"    last seen 2023-11-14T22:00:00Z or later\n"
		"    confirmed by lookups since 2023-11-14T22:00:05Z, and kept while they do\n"
		"namespace shop\n"
		"  192.0.2.1\n"
		"    Allow all ports: rule 1, Allow a.example: a.example\n");
}

/* A wildcard of one label does not get names that a firewall with any depth brought into the object. */
static void depth_of_each_firewall(void **state)
{
	struct objects objects = {
		.firewalls =
			"[" FIREWALL("one", RULE("Allow", "dnsName", "'*.example.com'") "," RULE(
						    "Deny", "cidrSelector", "'0.0.0.0/0'")) "]",
		.names = "[" NAME("wildcard.example.com",
				  ITEM("x.a.example.com", INFO("192.0.2.1"))) "]"
	};
	struct rig rig;
	(void)state;
	rig_init(&rig, &objects, "192.0.2.1", NULL);
	const struct explain_decision *decision = &rig.report.namespaces.v[0].decisions.v[0];
	assert_int_equal(decision->steps.n, 1);
	assert_false(decision->steps.v[0].is_allowed);
	assert_int_equal(decision->steps.v[0].rule->index, 1);
	rig_done(&rig);
}

/* A port that an earlier rule has decided is not decided again. */
static void ports_once(void **state)
{
	struct objects objects = {
		.firewalls = "[" FIREWALL(
			"shop", HTTPS("Allow", "cidrSelector", "'192.0.2.0/24'") "," HTTPS(
					"Deny", "cidrSelector",
					"'192.0.2.0/25'") ","
							  "{'type':'Deny','to':{'cidrSelector':'"
							  "192.0.2.0/24'},'ports':["
							  "{'protocol':'TCP','port':443},{'"
							  "protocol':'UDP','port':443}]"
							  "}") "]"
	};
	(void)state;
	assert_text(&objects, "192.0.2.1", NULL,
		    "192.0.2.1\n"
		    "  note: no DNSName object has this address\n"
		    "namespace shop\n"
		    "  192.0.2.1\n"
		    "    Allow TCP/443: rule 0, Allow 192.0.2.0/24 TCP/443\n"
		    "    Deny  UDP/443: rule 2, Deny 192.0.2.0/24 TCP/443 UDP/443\n"
		    "    Allow other ports: no rule matches, which allows\n");
}

static void as_json(void **state)
{
	struct rig rig;
	(void)state;
	rig_init(&rig, &shop, "192.0.2.1", "shop");
	json_t *found = explain_write_json(&rig.report);
	json_t *wanted = tree_of(
		"{'address':'192.0.2.1','known':["
		"{'address':'192.0.2.1','name':'www.example.com','dnsName':'fairlead/"
		"www.example.com','canonicalName':'cdn.example.org','firstSeen':'2023-11-14T20:00:"
		"00Z','lastReported':'2023-11-14T22:13:00Z','nextLookup':'2023-11-14T22:14:00Z'},"
		"{'address':'192.0.2.1','name':'a.example.net','dnsName':'fairlead/"
		"wildcard.example.net','firstSeen':'2023-11-14T20:00:00Z',"
		"'lastReported':'2023-11-14T22:13:00Z','nextLookup':'2023-11-14T22:14:00Z'}],"
		"'namespaces':[{'namespace':'shop','hasFirewall':true,'decisions':[{'address':"
		"'192.0.2.1','steps':["
		"{'action':'Allow','reason':'Name','rule':0,'text':'Allow www.example.com TCP/443',"
		"'via':'www.example.com','ports':['TCP/443']},"
		"{'action':'Allow','reason':'Name','rule':1,'text':'Allow *.example.net',"
		"'via':'a.example.net'}]}],'denied':[],'notes':[]}],'notes':[]}");
	if (!json_equal(found, wanted))
		fail_msg("%s", json_dumps(found, JSON_INDENT(1)));
	json_decref(found);
	json_decref(wanted);
	rig_done(&rig);
}

/* Objects of any shape: what is not valid is passed over, and nothing of it controls a terminal. */
static void odd_objects(void **state)
{
	static const struct objects odd = {
		.firewalls = "[1,{},{'metadata':{'name':'default','namespace':'a\\u001b[2J'}}]",
		.names = "[{},{'status':{'items':[7,{'dnsname':'a\\u0007'},{'dnsname':'b','info':["
			 "{'ip':'192.0.2.1'},{'ip':'x','ttl':'1','nextlookuptime':'2023-11-14T22:"
			 "14:00Z'},{'ip':'192.0.2.1','ttl':'99999999999999999999',"
			 "'nextlookuptime':'2023-11-14T22:14:00Z'},{'ip':'192.0.2.1','ttl':'1',"
			 "'nextlookuptime':'1969-01-01T00:00:00Z'}]}]}}]",
		.nodes = "[{'status':{'addresses':[{'type':'InternalIP'}]}}]",
		.service_cidrs = "[{'spec':{'cidrs':['x',3]}}]",
		.networks = "[{'spec':{'clusterNetwork':[{'cidr':'10.0.0.0'}]}}]"
	};
	struct rig rig;
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	(void)state;
	rig_init(&rig, &odd, "192.0.2.1", NULL);
	explain_write_text(&rig.report, NOW, &text);
	assert_int_equal(rig.report.about.list.n, 0);
	assert_null(strchr(text.s, '\033'));
	assert_null(strchr(text.s, '\a'));
	rig_done(&rig);
}

#define EVENT(ns, reason, action, note, more)                                        \
	"{'metadata':{'namespace':'" ns "'},'reason':'" reason "','action':'" action \
	"','note':'" note "','regarding':{'kind':'EgressFirewall','namespace':'shop'}" more "}"

/* Only Events of the firewall itself, to the address that was asked for; the newest first. */
static void denied_connections(void **state)
{
	(void)state;
	static const struct objects events = {
		.firewalls = "[" FIREWALL("shop", RULE("Deny", "cidrSelector", "'0.0.0.0/0'")) "]",
		.events = "[" EVENT("shop", "ConnectionDenied", "Connect 192.0.2.9", "first", ",'eventTime':'2023-11-14T20:00:00Z'") "," EVENT(
			"shop", "ConnectionDenied", "Connect 192.0.2.9", "second\\u001b",
			",'eventTime':'2023-11-14T20:00:00Z','series':{'count':7,"
			"'lastObservedTime':'2023-11-14T21:00:00Z'}") "," EVENT("shop",
										"ConnectionDenied",
										"Connect 192.0.2.8",
										"other address",
										"") "," EVENT("sho"
											      "p",
											      "Conn"
											      "ecti"
											      "onDe"
											      "nie"
											      "d",
											      "Conn"
											      "ect",
											      "no "
											      "addr"
											      "ess",
											      "") "," EVENT("back",
													    "ConnectionDenied",
													    "Connect 192.0.2.9",
													    "other namespace",
													    "") "," EVENT("shop",
															  "InvalidRules",
															  "Connect 192.0.2.9",
															  "other reason",
															  "") ",7]",
	};
	struct rig rig;
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	rig_init(&rig, &events, "192.0.2.9", NULL);
	explain_write_text(&rig.report, NOW, &text);
	const char *at = strstr(text.s, "  denied: ");
	assert_non_null(at);
	assert_string_equal(at, "  denied: second  (7 samples, the last one at "
				"2023-11-14T21:00:00Z)\n"
				"  denied: first (1 sample, the last one at "
				"2023-11-14T20:00:00Z)\n");
	json_t *json = explain_write_json(&rig.report);
	const json_t *denied = api_get(json, "namespaces[0].denied");
	assert_int_equal(json_array_size(denied), 2);
	assert_string_equal(api_get_string(denied, "[0].address"), "192.0.2.9");
	assert_int_equal(json_integer_value(api_get(denied, "[0].samples")), 7);
	assert_string_equal(api_get_string(denied, "[1].last"), "2023-11-14T20:00:00Z");
	json_decref(json);
	rig_done(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_address),
		cmocka_unit_test(a_name),
		cmocka_unit_test(a_name_without_addresses),
		cmocka_unit_test(all_addresses_denied),
		cmocka_unit_test(by_node),
		cmocka_unit_test(own_networks),
		cmocka_unit_test(the_api_server),
		cmocka_unit_test(no_firewall),
		cmocka_unit_test(notes),
		cmocka_unit_test(denied_connections),
		cmocka_unit_test(one_name_in_two_objects),
		cmocka_unit_test(depth_of_each_firewall),
		cmocka_unit_test(ports_once),
		cmocka_unit_test(as_json),
		cmocka_unit_test(odd_objects),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
