/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The scenarios of bench-cpu. One function per Corefile, one line per scenario; cpu.json has what
 * was recorded for them. */
#include "cpu_scenarios.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/compiler.h"
#include "dns/types.h"
#include "operator_corefile.h"
#include "plugin/kubernetes/source.h"
#include "plugin/kubernetes/source_test.h"
#include "plugin/kubernetes/test_world.h"

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
