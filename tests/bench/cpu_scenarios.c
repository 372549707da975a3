/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The scenarios of bench-cpu. One function per Corefile, one line per scenario; cpu.json has what
 * was recorded for them. */
#include "cpu_scenarios.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "dns/types.h"
#include "operator_corefile.h"
#include "plugin/egressfirewall/hold/hold_test.h"
#include "plugin/egressfirewall/hold/links_test.h"
#include "plugin/egressfirewall/rules.h"
#include "plugin/egressfirewall/store_test.h"
#include "plugin/kubernetes/source.h"
#include "plugin/kubernetes/source_test.h"
#include "plugin/kubernetes/test_world.h"
#include "plugin/records/store_test.h"

static void corefile_empty(struct strbuf *t, unsigned n)
{
	(void)n;
	strbuf_adds(
		t, ". {\n prometheus 127.0.0.1:0\n template IN AAAA . {\n  rcode NOERROR\n }\n}\n");
}

static void corefile_regex(struct strbuf *t, unsigned n)
{
	(void)n;
	strbuf_adds(
		t,
		". {\n prometheus 127.0.0.1:0\n template IN A example.org {\n"
		"  match "
		"^ip-(?P<a>[0-9]*)-(?P<b>[0-9]*)-(?P<c>[0-9]*)-(?P<d>[0-9]*)[.]example[.]org[.]$\n"
		"  answer \"{{ .Name }} 60 IN A {{ .Group.a }}.{{ .Group.b }}.{{ .Group.c }}."
		"{{ .Group.d }}\"\n }\n}\n");
}

/* One template with n zones; the name asked lies in the last. */
static void corefile_zones(struct strbuf *t, unsigned n)
{
	strbuf_adds(t, ". {\n prometheus 127.0.0.1:0\n template IN AAAA");
	for (unsigned i = 0; i < n; i++)
		strbuf_addf(t, " zone%u.example", i);
	strbuf_adds(t, " example.org {\n  rcode NOERROR\n }\n}\n");
}

/* n templates, each with a zone of its own; the name asked lies in the last. */
static void corefile_templates(struct strbuf *t, unsigned n)
{
	strbuf_adds(t, ". {\n prometheus 127.0.0.1:0\n");
	for (unsigned i = 0; i < n; i++)
		strbuf_addf(t, " template IN AAAA zone%u.example {\n  rcode NXDOMAIN\n }\n", i);
	strbuf_adds(t, " template IN AAAA example.org {\n  rcode NOERROR\n }\n}\n");
}

static void corefile_whoami(struct strbuf *t, unsigned n)
{
	(void)n;
	strbuf_adds(t, ". {\n whoami\n}\n");
}

/* No block takes the name: admission, routing and an empty reply, nothing else. */
static void corefile_refused(struct strbuf *t, unsigned n)
{
	(void)n;
	strbuf_adds(t, "other.example {\n whoami\n}\n");
}

/* Kept from the first pass on: the template below it answers only once. */
static void corefile_cache(struct strbuf *t, unsigned n)
{
	strbuf_addf(t,
		    ". {\n prometheus 127.0.0.1:0\n cache 3600 {\n  success %u\n }\n"
		    " template IN A example.org {\n  answer \"{{ .Name }} 3600 IN A 192.0.2.1\"\n"
		    " }\n}\n",
		    n);
}

/* The plugins of kubeadm's Corefile around a cached answer with two addresses, which loadbalance,
 * outside of cache, puts into another order each time. */
static void corefile_kubeadm(struct strbuf *t, unsigned n)
{
	(void)n;
	strbuf_adds(t, ". {\n errors\n prometheus 127.0.0.1:0\n cache 30\n loop\n reload\n"
		       " loadbalance\n template IN A example.org {\n"
		       "  answer \"{{ .Name }} 3600 IN A 192.0.2.1\"\n"
		       "  answer \"{{ .Name }} 3600 IN A 192.0.2.2\"\n }\n}\n");
}

static void corefile_forward(struct strbuf *t, unsigned n)
{
	(void)n;
	strbuf_adds(t, ". {\n prometheus 127.0.0.1:0\n forward . @UP@\n}\n");
}

static void corefile_file(struct strbuf *t, unsigned n)
{
	(void)n;
	strbuf_adds(t, "example.org {\n prometheus 127.0.0.1:0\n file @DIR@/example.org.zone\n}\n");
}

static void files_zone(const char *dir, unsigned names)
{
	char path[512];
	snprintf(path, sizeof(path), "%s/example.org.zone", dir);
	FILE *f = fopen(path, "we");
	if (f == NULL)
		abort();
	fputs("$ORIGIN example.org.\n$TTL 3600\n@ SOA ns hostmaster 1 3600 600 86400 60\n"
	      "@ NS ns\nns A 192.0.2.53\n",
	      f);
	for (unsigned i = 0; i < names; i++)
		fprintf(f, "host%u 60 A 192.0.2.1\n", i);
	if (fclose(f) != 0)
		abort();
}

static void corefile_kubernetes(struct strbuf *t, unsigned n)
{
	strbuf_adds(t, ". {\n prometheus 127.0.0.1:0\n kubernetes cluster.local {\n");
	for (unsigned i = 0; i < n; i++)
		strbuf_addf(t, "  namespaces team%u\n", i);
	strbuf_addf(t, "%s }\n}\n", n != 0 ? "  namespaces shop\n" : "");
}

/* No API server: names of a world in memory, Services with a cluster address and headless ones with
 * ten endpoints. */
static void files_cluster(const char *dir, unsigned names)
{
	static struct world w;
	static struct kubernetes_preset preset;
	(void)dir;
	world_init(&w, NULL, 0);
	world_add(&w, "namespace shop");
	for (unsigned i = 0; i < names; i++) {
		CLEANUP(strbuf_done) struct strbuf line = STRBUF_INIT;
		strbuf_addf(&line, "service shop s%u ips=10.96.%u.%u ports=http:80/TCP", i,
			    i / 250 % 256, i % 250);
		kube_obj_unref(world_add(&w, line.s));
		strbuf_reset(&line);
		strbuf_addf(&line, "service shop h%u ips=None ports=http:80/TCP", i);
		kube_obj_unref(world_add(&w, line.s));
		strbuf_reset(&line);
		strbuf_addf(&line, "slice shop h%u-x of=h%u ports=http:80/TCP eps=", i, i);
		for (unsigned k = 0; k < 10; k++)
			strbuf_addf(&line, "%s10.1.%u.%u", k != 0 ? "," : "", i % 256, k);
		kube_obj_unref(world_add(&w, line.s));
	}
	preset = (struct kubernetes_preset){ .index = w.x, .imports = w.imports };
	kubernetes_source_preset(&preset);
}

/* n egress rules in force, and one that covers what is asked or NULL; no API server. */
static struct egressfirewall_rules *set_egress_rules(unsigned n, const char *covering)
{
	struct egressfirewall_rules *rules = egressfirewall_rules_new();
	json_t *regular = json_pack("{s:{s:b}}", "spec", "isregular", 1);
	json_t *wildcard = json_pack("{s:{s:b}}", "spec", "iswildcard", 1);
	char name[64];
	for (unsigned i = 0; i < n; i++) {
		/* As deep as the names that are asked for. */
		snprintf(name, sizeof(name), i % 2 != 0 ? "wildcard.rule%u.com" : "www.rule%u.com",
			 i);
		egressfirewall_rules_set(rules, slice_of(name), i % 2 != 0 ? wildcard : regular);
	}
	if (covering != NULL)
		egressfirewall_rules_set(rules, slice_of(covering), wildcard);
	json_decref(wildcard);
	json_decref(regular);
	egressfirewall_rules_publish(rules, clock_mono_ns(), NULL, NULL);
	egressfirewall_store_preset(rules);
	return rules;
}

static void add_egress_cached(struct strbuf *t)
{
	strbuf_adds(t, ". {\n prometheus 127.0.0.1:0\n egressfirewall\n cache 3600\n"
		       " template IN A example.org {\n"
		       "  answer \"{{ .Name }} 3600 IN A 192.0.2.1\"\n }\n}\n");
}

static void corefile_egress(struct strbuf *t, unsigned n)
{
	set_egress_rules(n, NULL);
	add_egress_cached(t);
}

static void corefile_egress_covered(struct strbuf *t, unsigned n)
{
	set_egress_rules(n, "wildcard.example.org");
	add_egress_cached(t);
}

/* ---- the hold ---- */

/* An agent that has everything in force. */
static bool holds_all(const struct addrset *set, const struct addrset_pair *pair)
{
	(void)set;
	(void)pair;
	return true;
}

static struct addrset *set_of_node(const char *node)
{
	static const struct addrset_ops ops = { .holds = holds_all };
	static _Atomic uint32_t age;
	static struct addrset set = { .ops = &ops, .age = &age };
	(void)node;
	return &set;
}

/* The client is a pod of a namespace whose firewall covers what is asked, and has n rules more. */
static void add_hold_world(struct egressfirewall_clients *clients, unsigned n)
{
	struct kube_string_pool *texts = kube_string_pool_new();
	struct kube_codec *codec = kube_pod_node_codec(texts);
	struct kube_obj *pod = NULL;
	char name[64];
	json_t *egress =
		json_pack("[{s:s,s:{s:s}}]", "type", "Allow", "to", "dnsName", "*.example.org");
	for (unsigned i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "www.rule%u.com", i);
		json_array_append_new(
			egress, json_pack("{s:s,s:{s:s}}", "type", "Allow", "to", "dnsName", name));
	}
	json_t *firewall = json_pack("{s:{s:o}}", "spec", "egress", egress);
	if (codec->decode(codec,
			  SLICE("{\"metadata\":{\"name\":\"p\",\"namespace\":\"web\"},\"spec\":{"
				"\"nodeName\":\"n\"},\"status\":{\"podIP\":\"127.0.0.1\"}}"),
			  &pod) < 0)
		abort();
	egressfirewall_clients_pod(clients, NULL, pod);
	egressfirewall_clients_firewall(clients, SLICE("web"), firewall);
	json_decref(firewall);
}

static void corefile_egress_hold(struct strbuf *t, unsigned n)
{
	set_egress_rules(10, "wildcard.example.org");
	egressfirewall_hold_preset(add_hold_world, n);
	egressfirewall_links_preset(set_of_node);
	strbuf_adds(t, ". {\n prometheus 127.0.0.1:0\n egressfirewall {\n  hold\n }\n cache 3600\n"
		       " template IN A example.org {\n"
		       "  answer \"{{ .Name }} 3600 IN A 192.0.2.1\"\n }\n}\n");
}

/* Nothing is kept: each answer is inspected. */
static void add_egress_forward(struct strbuf *t)
{
	strbuf_adds(t, ". {\n prometheus 127.0.0.1:0\n egressfirewall\n forward . @UP@\n}\n");
}

static void corefile_egress_forward(struct strbuf *t, unsigned n)
{
	set_egress_rules(n, NULL);
	add_egress_forward(t);
}

static void corefile_egress_forward_covered(struct strbuf *t, unsigned n)
{
	set_egress_rules(n, "wildcard.example.org");
	add_egress_forward(t);
}

/* With wildcards over any number of labels, one of them below the parent of what is asked. */
static void corefile_egress_forward_deep(struct strbuf *t, unsigned n)
{
	struct egressfirewall_rules *rules = set_egress_rules(n, NULL);
	json_t *deep = json_pack("{s:{s:{s:s}}, s:{s:b}}", "metadata", "annotations",
				 EGRESSFIREWALL_DEPTH_KEY, "any", "spec", "iswildcard", 1);
	egressfirewall_rules_set(rules, SLICE("wildcard.deep.example.org"), deep);
	egressfirewall_rules_set(rules, SLICE("wildcard.example.com"), deep);
	json_decref(deep);
	egressfirewall_rules_publish(rules, UINT64_MAX, NULL, NULL);
	add_egress_forward(t);
}

static void corefile_egress_file(struct strbuf *t, unsigned n)
{
	set_egress_rules(n, NULL);
	strbuf_adds(t, "example.org {\n prometheus 127.0.0.1:0\n egressfirewall\n"
		       " file @DIR@/example.org.zone\n}\n");
}

static void corefile_egress_kubernetes(struct strbuf *t, unsigned n)
{
	set_egress_rules(n, NULL);
	strbuf_adds(t, ". {\n prometheus 127.0.0.1:0\n egressfirewall\n"
		       " kubernetes cluster.local {\n }\n}\n");
}

static void add_record(struct records_claims *claims, const char *name)
{
	json_t *object =
		json_pack("{s:{s:s,s:s,s:s,s:{s:s},s:[s]}}", "spec", "type", "local", "name", name,
			  "recordType", "A", "secretRef", "name", "none", "values", "192.0.2.1");
	records_claims_set(claims, name, object);
	json_decref(object);
}

/* n DNSRecord objects, half of them wildcards, and one for `name` unless that is NULL; no API server. */
static void set_records(unsigned n, const char *name)
{
	struct records_claims *claims = records_claims_new(1000000);
	char text[64];
	for (unsigned i = 0; i < n; i++) {
		snprintf(text, sizeof(text), "%s.zone%u.com", i % 2 != 0 ? "*" : "www", i);
		add_record(claims, text);
	}
	if (name != NULL)
		add_record(claims, name);
	records_store_preset(claims);
}

static void add_records_cached(struct strbuf *t)
{
	strbuf_adds(t, ". {\n prometheus 127.0.0.1:0\n records\n cache 3600\n"
		       " template IN A example.org {\n"
		       "  answer \"{{ .Name }} 3600 IN A 192.0.2.1\"\n }\n}\n");
}

static void corefile_records(struct strbuf *t, unsigned n)
{
	set_records(n, NULL);
	add_records_cached(t);
}

/* Beside the names that are asked for, so that these have to be inspected. */
static void corefile_records_near(struct strbuf *t, unsigned n)
{
	set_records(n, "*.near.example.org");
	add_records_cached(t);
}

static void corefile_records_hit(struct strbuf *t, unsigned n)
{
	set_records(n, "*.example.org");
	add_records_cached(t);
}

/* The DNS operator's text, n = templates * 1000 + zones of each, with what needs a network taken
 * out: ends, clusters, ports, upstreams. */
static void operator_lines(struct strbuf *t, unsigned n, const char *const *left_out)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	bool skipping = false;
	operator_corefile(n / 1000, n % 1000, 0, &text);
	for (struct slice rest = strbuf_slice(&text); rest.n > 0;) {
		struct slice line = slice_cut(&rest, '\n');
		for (size_t i = 0; left_out[i] != NULL; i++)
			skipping = skipping || slice_starts(line, slice_of(left_out[i]));
		if (slice_starts(line, SLICE("    prometheus ")))
			strbuf_adds(t, "    prometheus 127.0.0.1:0\n");
		else if (slice_starts(line, SLICE("    forward ")))
			strbuf_adds(t, "    forward . @UP@ {\n");
		else if (!skipping)
			strbuf_addf(t, "%.*s\n", (int)line.n, line.p);
		if (slice_is(line, "    }") || slice_is(line, "    ready"))
			skipping = false;
	}
}

static void corefile_operator(struct strbuf *t, unsigned n)
{
	operator_lines(
		t, n, (const char *const[]){ "    health ", "    ready", "    kubernetes ", NULL });
}

/* Each query reaches the templates, and the upstream where none fits. */
static void corefile_operator_uncached(struct strbuf *t, unsigned n)
{
	operator_lines(t, n,
		       (const char *const[]){ "    health ", "    ready", "    kubernetes ",
					      "    cache ", NULL });
}

#define OPERATOR_NAME "host%u.z0.t0.corp.example" /* in the first zone */

const struct cpu_scenario cpu_scenarios[] = {
	{ "operator-none-hit", corefile_operator, 0, OPERATOR_NAME, DNS_TYPE_A, 0, NULL },
	{ "operator-most-hit-a", corefile_operator, 20256, OPERATOR_NAME, DNS_TYPE_A, 0, NULL },
	{ "operator-most-hit", corefile_operator, 20256, OPERATOR_NAME, DNS_TYPE_AAAA, 0, NULL },
	{ "operator-one-match", corefile_operator_uncached, 1001, OPERATOR_NAME, DNS_TYPE_AAAA, 0,
	  NULL },
	{ "operator-most-match", corefile_operator_uncached, 20256, OPERATOR_NAME, DNS_TYPE_AAAA, 0,
	  NULL },
	{ "operator-none-other", corefile_operator_uncached, 0, "host%u.other.corp.example",
	  DNS_TYPE_AAAA, 0, NULL },
	{ "operator-most-other", corefile_operator_uncached, 20256, "host%u.other.corp.example",
	  DNS_TYPE_AAAA, 0, NULL },
	{ "operator-none-a", corefile_operator_uncached, 0, OPERATOR_NAME, DNS_TYPE_A, 0, NULL },
	{ "operator-most-a", corefile_operator_uncached, 20256, OPERATOR_NAME, DNS_TYPE_A, 0,
	  NULL },
	{ "whoami", corefile_whoami, 0, "host%u.example.org", DNS_TYPE_A, 0, NULL },
	{ "refused", corefile_refused, 0, "host%u.example.org", DNS_TYPE_AAAA, 0, NULL },
	{ "template-empty", corefile_empty, 0, "host%u.example.org", DNS_TYPE_AAAA, 0, NULL },
	{ "template-regex", corefile_regex, 0, "ip-10-1-2-%u.example.org", DNS_TYPE_A, 0, NULL },
	{ "zones-10", corefile_zones, 10, "host%u.example.org", DNS_TYPE_AAAA, 0, NULL },
	{ "zones-10000", corefile_zones, 10000, "host%u.example.org", DNS_TYPE_AAAA, 0, NULL },
	{ "templates-10", corefile_templates, 10, "host%u.example.org", DNS_TYPE_AAAA, 0, NULL },
	{ "templates-10000", corefile_templates, 10000, "host%u.example.org", DNS_TYPE_AAAA, 0,
	  NULL },
	{ "cache-hit", corefile_cache, 10000, "host%u.example.org", DNS_TYPE_A, 0, NULL },
	{ "cache-kubeadm", corefile_kubeadm, 0, "host%u.example.org", DNS_TYPE_A, 0, NULL },
	{ "cache-10k", corefile_cache, 2000000, "host%u.example.org", DNS_TYPE_A, 10000, NULL },
	{ "cache-1m", corefile_cache, 2000000, "host%u.example.org", DNS_TYPE_A, 1000000, NULL },
	{ "egress-0", corefile_egress, 0, "host%u.example.org", DNS_TYPE_A, 0, NULL },
	{ "egress-10", corefile_egress, 10, "host%u.example.org", DNS_TYPE_A, 0, NULL },
	{ "egress-8000", corefile_egress, 8000, "host%u.example.org", DNS_TYPE_A, 0, NULL },
	{ "egress-1m", corefile_egress, 1000000, "host%u.example.org", DNS_TYPE_A, 0, NULL },
	{ "egress-covered", corefile_egress_covered, 8000, "host%u.example.org", DNS_TYPE_A, 0,
	  NULL },
	{ "egress-hold", corefile_egress_hold, 10, "host%u.example.org", DNS_TYPE_A, 0, NULL },
	{ "egress-hold-8000", corefile_egress_hold, 7990, "host%u.example.org", DNS_TYPE_A, 0,
	  NULL },
	{ "egress-kubernetes", corefile_egress_kubernetes, 8000, "s%u.shop.svc.cluster.local",
	  DNS_TYPE_A, 0, files_cluster },
	{ "egress-forward-1", corefile_egress_forward, 1, "host%u.example.org", DNS_TYPE_A, 0,
	  NULL },
	{ "egress-forward", corefile_egress_forward, 8000, "host%u.example.org", DNS_TYPE_A, 0,
	  NULL },
	{ "egress-forward-1m", corefile_egress_forward, 1000000, "host%u.example.org", DNS_TYPE_A,
	  0, NULL },
	{ "egress-forward-covered", corefile_egress_forward_covered, 8000, "host%u.example.org",
	  DNS_TYPE_A, 0, NULL },
	{ "egress-forward-deep", corefile_egress_forward_deep, 8000, "host%u.example.org",
	  DNS_TYPE_A, 0, NULL },
	{ "records-0", corefile_records, 0, "host%u.example.org", DNS_TYPE_A, 0, NULL },
	{ "records-8000", corefile_records, 8000, "host%u.example.org", DNS_TYPE_A, 0, NULL },
	{ "egress-file", corefile_egress_file, 8000, "host%u.example.org", DNS_TYPE_A, 0,
	  files_zone },
	{ "egress-denied", corefile_egress_kubernetes, 8000, "x%u.shop.svc.cluster.local",
	  DNS_TYPE_A, 0, files_cluster },
	{ "records-near", corefile_records_near, 8000, "host%u.example.org", DNS_TYPE_A, 0, NULL },
	{ "records-hit", corefile_records_hit, 8000, "host%u.example.org", DNS_TYPE_A, 0, NULL },
	{ "forward", corefile_forward, 0, "host%u.example.org", DNS_TYPE_A, 0, NULL },
	{ "file", corefile_file, 0, "host%u.example.org", DNS_TYPE_A, 0, files_zone },
	{ "file-10k", corefile_file, 0, "host%u.example.org", DNS_TYPE_A, 10000, files_zone },
	{ "file-1m", corefile_file, 0, "host%u.example.org", DNS_TYPE_A, 1000000, files_zone },
	{ "kubernetes", corefile_kubernetes, 0, "s%u.shop.svc.cluster.local", DNS_TYPE_A, 0,
	  files_cluster },
	{ "kubernetes-headless", corefile_kubernetes, 0, "h%u.shop.svc.cluster.local", DNS_TYPE_A,
	  0, files_cluster },
	{ "kubernetes-namespaces", corefile_kubernetes, 1000, "s%u.shop.svc.cluster.local",
	  DNS_TYPE_A, 0, files_cluster },
	{ "kubernetes-denied", corefile_kubernetes, 0, "x%u.shop.svc.cluster.local", DNS_TYPE_A, 0,
	  files_cluster },
};
const size_t cpu_n_scenarios = ARRAY_LEN(cpu_scenarios);
