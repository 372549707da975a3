/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Plugins do the same to a reply whether it comes as records or as a message: each one stands over
 * a plugin that answers in the one form or the other, and what the client gets, what is logged and
 * what is counted must not tell them apart. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/metrics/metrics.h"
#include "base/rcu/rcu.h"
#include "base/rng_test.h"
#include "base/strbuf.h"
#include "dns/rrtext/rrtext.h"
#include "server/handler.h"
#include "server/query.h"
#include "server/server_state.h"
#include "server/worker.h"
#include "testing/fake_egress_rules.h"
#include "testing/fake_server.h"

/* ---- replies ---- */

enum { RECORDS_MAX = 8 };

#ifdef RCU_TSAN
enum { ASK_STEP = 4 }; /* one thread, and slow: a part of the questions will do */
#else
enum { ASK_STEP = 1 };
#endif

struct reply {
	uint16_t rcode, flags;
	bool opt;			 /* brings an OPT of its own, with NSID */
	const char *record[RECORDS_MAX]; /* the section's number, a blank, the record */
};

#define AA   DNS_FLAG_AA
#define X50  "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
#define X250 X50 X50 X50 X50 X50
static const struct reply replies[] = {
	{ 0, AA, false, { "0 www.example.org. 60 IN A 192.0.2.1" } },
	{ 0,
	  AA,
	  false,
	  { "0 www.example.org. 60 IN A 192.0.2.1", "0 www.example.org. 60 IN A 192.0.2.2" } },
	{ 0,
	  0,
	  true,
	  { "0 www.example.org. 60 IN A 192.0.2.1", "0 www.example.org. 50 IN A 198.51.100.2",
	    "0 www.example.org. 40 IN A 192.0.2.3" } },
	{ 0,
	  DNS_FLAG_RA,
	  true,
	  { "0 www.example.org. 5 IN CNAME c.example.net.", "0 c.example.net. 60 IN A 192.0.2.1",
	    "0 c.example.net. 60 IN A 192.0.2.2" } },
	{ 0,
	  AA,
	  false,
	  { "0 www.example.org. 60 IN A 192.0.2.1", "0 www.example.org. 60 IN TXT x",
	    "0 www.example.org. 60 IN A 192.0.2.2", "0 www.example.org. 60 IN MX 1 a.",
	    "0 www.example.org. 60 IN MX 1 b.", "1 example.org. 60 IN NS ns.example.org.",
	    "2 ns.example.org. 60 IN A 192.0.2.53", "2 ns.example.org. 60 IN A 192.0.2.54" } },
	{ 0,
	  AA,
	  false,
	  { "0 www.example.org. 60 IN AAAA 2001:db8::1",
	    "0 www.example.org. 60 IN AAAA 2001:db8::2", "1 example.org. 60 IN NS ns.example.org.",
	    "1 example.org. 60 IN NS ns2.example.org.", "2 ns.example.org. 60 IN AAAA 2001:db8::3",
	    "2 ns.example.org. 60 IN AAAA 2001:db8::4" } },
	{ 0, 0, true, { "1 example.org. 70 IN SOA a. b. 1 2 3 4 5" } },
	{ 0,
	  0,
	  false,
	  { "1 example.org. 60 IN NS ns.example.net.", "2 ns.example.net. 60 IN A 192.0.2.53" } },
	{ 3, AA, false, { "1 example.org. 60 IN SOA a. b. 1 2 3 4 5" } },
	{ 3, 0, true, { "0 www.example.org. 5 IN CNAME c.example.net." } },
	{ 2, 0, false, { NULL } },
	{ 5, 0, true, { NULL } },
	{ 16 + 7, 0, true, { NULL } },
	{ 0, DNS_FLAG_TC, false, { "0 www.example.org. 60 IN A 192.0.2.1" } },
	{ 0, 0, false, { NULL } },
	/* more than fits without EDNS */
	{ 0,
	  0,
	  true,
	  { "0 www.example.org. 60 IN A 192.0.2.1", "0 www.example.org. 60 IN A 192.0.2.2",
	    "1 example.org. 60 IN TXT " X250 " " X250, "2 a. 60 IN A 192.0.2.3" } },
};

/* ---- the plugin that answers ---- */

static const struct reply *now;
static bool as_message;

static int add_records(struct query *q)
{
	for (size_t i = 0; i < RECORDS_MAX && now->record[i] != NULL; i++) {
		struct dns_rr rr;
		enum dns_section s = (enum dns_section)(now->record[i][0] - '0');
		if (dns_rrtext_parse(query_rrtext(q), slice_of(now->record[i] + 2), &q->arena,
				     &rr) < 0 ||
		    dns_resp_add(&q->resp, &q->arena, s, &rr) < 0)
			return -1;
	}
	return 0;
}

/* As a cache does it, with the name of this query in the question. */
static int make_message(struct query *q)
{
	enum { MAX = 2048 };
	uint32_t full_size = (uint32_t)dns_resp_size(&q->resp, q->req.question_len);
	uint8_t *msg = arena_alloc(&q->arena, MAX);
	struct dns_encode e = { .question = q->req.qname,
				.question_len = q->req.question_len,
				.limit = MAX };
	int n = dns_resp_encode(&q->resp, &e, msg, MAX);
	if (n < 0 || dns_resp_from_wire(&q->resp, &q->arena, msg, (size_t)n) < 0)
		return -1;
	q->resp.full_size = full_size;
	return 0;
}

static enum verdict answer_serve(struct plugin_inst *self, struct query *q)
{
	(void)self;
	query_reply(q);
	q->resp.flags |= now->flags;
	q->resp.rcode = now->rcode;
	if (now->opt)
		assert_int_equal(dns_resp_option(&q->resp, &q->arena, 3, "up", 2), 0);
	assert_int_equal(add_records(q), 0);
	if (as_message)
		assert_int_equal(make_message(q), 0);
	return V_ANSWERED;
}

static const struct plugin answer_plugin = { .name = "answer", .serve = answer_serve };

#define PLUGIN(name) extern const struct plugin name##_plugin;
#include "plugin/plugins.def"
#undef PLUGIN

const struct plugin *const plugin_list[] = {
#define PLUGIN(name) &name##_plugin,
#include "plugin/plugins.def"
#undef PLUGIN
	&answer_plugin,
	NULL,
};

/* ---- both forms, side by side ---- */

static char weights[] = "/tmp/test_forms_w.XXXXXX", search[] = "/tmp/test_forms_s.XXXXXX";

static int make_file(char *path, const char *text)
{
	int fd = mkstemp(path);
	return fd < 0 || write(fd, text, strlen(text)) < 0 ? -1 : close(fd);
}

static int make_files(void **state)
{
	(void)state;
	fake_egress_rules_set("www.example.org");
	return make_file(weights, "www.example.org\n192.0.2.2 20\n192.0.2.3 10\n") |
	       make_file(search, "search a.example.org example.org\n");
}

static int remove_files(void **state)
{
	(void)state;
	fake_egress_rules_clear();
	return unlink(weights) | unlink(search);
}

static const struct {
	const char *plugin, *stanza, *file;
} stanzas[] = {
	{ .plugin = "", .stanza = "" },
	{ .plugin = "acl", .stanza = "acl {\n  allow\n }" },
	{ .plugin = "any", .stanza = "any" },
	{ .plugin = "autopath", .stanza = "autopath", .file = search },
	{ .plugin = "bufsize", .stanza = "bufsize 512" },
	{ .plugin = "dns64", .stanza = "dns64 {\n  allow_ipv4\n }" },
	{ .plugin = "dns64", .stanza = "dns64 {\n  allow_ipv4\n  translate_all\n }" },
	{ .plugin = "egressfirewall", .stanza = "egressfirewall" },
	{ .plugin = "errors", .stanza = "errors" },
	{ .plugin = "header", .stanza = "header {\n  response set ra\n  response clear aa\n }" },
	{ .plugin = "hosts", .stanza = "hosts {\n  192.0.2.1 other.example\n  fallthrough\n }" },
	{ .plugin = "loadbalance", .stanza = "loadbalance" },
	{ .plugin = "loadbalance", .stanza = "loadbalance {\n  prefer 198.51.100.0/24\n }" },
	{ .plugin = "loadbalance", .stanza = "loadbalance weighted", .file = weights },
	{ .plugin = "local", .stanza = "local" },
	{ .plugin = "log",
	  .stanza = "log . \"{rcode} {>rflags} {rsize} {name}\" {\n  class all\n }" },
	{ .plugin = "log", .stanza = "log . {\n  class denial error\n }" },
	{ .plugin = "loop", .stanza = "loop" },
	{ .plugin = "metadata", .stanza = "metadata" },
	{ .plugin = "minimal", .stanza = "minimal" },
	{ .plugin = "nsid", .stanza = "nsid here" },
	{ .plugin = "prometheus", .stanza = "prometheus localhost:0" },
	{ .plugin = "rewrite", .stanza = "rewrite type AAAA A" },
	{ .plugin = "rewrite", .stanza = "rewrite name www.example.org www.example.net" },
	{ .plugin = "rewrite",
	  .stanza = "rewrite name suffix .example.org. .example.net. answer auto\n"
		    " rewrite stop name exact a.b c.d" },
	{ .plugin = "rewrite",
	  .stanza = "rewrite stop {\n  name regex (.*)[.]example[.]org {1}.example.net\n"
		    "  answer name c[.](.*) d.{1}\n  answer value (.*)[.]example[.](.*) {1}.{2}\n "
		    "}" },
	{ .plugin = "rewrite", .stanza = "rewrite ttl suffix .org. 7" },
	{ .plugin = "rewrite", .stanza = "rewrite rcode suffix .org. NXDOMAIN NOERROR" },
	{ .plugin = "rewrite", .stanza = "rewrite edns0 local set 0xffee abcd revert" },
	{ .plugin = "rewrite", .stanza = "rewrite cname exact c.example.net. d.example.net." },
	{ .plugin = "template",
	  .stanza = "template IN A www.example.org {\n"
		    "  answer \"www.example.org. 9 IN CNAME a.example.\"\n }" },
	{ .plugin = "",
	  .stanza =
		  "log . {common}\n errors\n prometheus localhost:0\n dns64 {\n  allow_ipv4\n }\n "
		  "loadbalance\n header {\n  response set ra\n }\n nsid x\n minimal" },
};

static struct fake *start(const char *stanza, const char *file)
{
	char corefile[1024];
	const char *logs = strstr(stanza, "log") == NULL ? "log" : "";
	const char *counts = strstr(stanza, "prometheus") == NULL ? "prometheus localhost:0" : "";
	snprintf(corefile, sizeof(corefile), ". {\n %s\n %s\n %s %s\n answer\n}\n", logs, counts,
		 stanza, file != NULL ? file : "");
	struct fake *f = fake_new(corefile);
	if (f == NULL)
		fail_msg("%s", fake_error());
	fake_log(f); /* of the start */
	return f;
}

/* What can be seen of one question: reply, log, growth of counters. */
static char *seen(struct fake *f, const struct fake_ask *a)
{
	static const char *const counters[] = {
		"coredns_dns_response_size_bytes_sum{proto=\"udp\",server=\"dns://:53\",view="
		"\"\",zone=\".\"}",
		"coredns_dns_responses_total{plugin=\"answer\",rcode=\"NOERROR\",server="
		"\"dns://:53\",view=\"\",zone=\".\"}",
		"coredns_dns64_requests_translated_total{server=\"dns://:53\"}",
		"coredns_autopath_success_total{server=\"dns://:53\"}",
	};
	CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
	double before[ARRAY_LEN(counters)];
	for (size_t i = 0; i < ARRAY_LEN(counters); i++)
		before[i] = MAX(fake_metric(f, counters[i]), 0.0);
	rng_init_seed(&fake_server(f)->worker[0].rng, 5);
	const char *reply = fake_ask(f, a);
	strbuf_adds(&out, reply != NULL ? reply : "silence\n");
	strbuf_adds(&out, fake_log(f));
	for (size_t i = 0; i < ARRAY_LEN(counters); i++)
		strbuf_addf(&out, "%.0f ", MAX(fake_metric(f, counters[i]), 0.0) - before[i]);
	assert_int_equal(fake_inflight(f), 0);
	return strbuf_take(&out);
}

static void compare(struct fake *f, const char *stanza, const struct fake_ask *a)
{
	for (size_t i = 0; i < ARRAY_LEN(replies); i++) {
		now = &replies[i];
		as_message = false;
		char *open = seen(f, a);
		as_message = true;
		char *message = seen(f, a);
		if (strcmp(open, message) != 0)
			fail_msg("%s, reply %zu: as records\n%s\nas a message\n%s", stanza, i, open,
				 message);
		free(open);
		free(message);
	}
}

static void same_in_both_forms(void **state)
{
	static const uint8_t nsid[] = { 0, 3, 0, 0 };
	static const struct fake_ask asks[] = {
		{ .name = "www.example.org.", .type = "A" },
		{ .name = "WWW.example.org.",
		  .type = "AAAA",
		  .udp_size = 1232,
		  .options = nsid,
		  .options_n = sizeof(nsid) },
		{ .name = "www.example.org.", .type = "AAAA", .udp_size = 4096, .dnssec_ok = true },
		{ .name = "www.a.example.org.", .type = "A" }, /* below the search path */
	};
	(void)state;
	for (size_t s = 0; s < ARRAY_LEN(stanzas); s++) {
		struct fake *f = start(stanzas[s].stanza, stanzas[s].file);
		for (size_t k = s % ASK_STEP; k < ARRAY_LEN(asks); k += ASK_STEP)
			compare(f, stanzas[s].stanza, &asks[k]);
		fake_free(f);
	}
}

/* A plugin that looks at replies must be among the stanzas; not so one that makes them itself, or
 * whose deeds depend on earlier ones. Those have tests of their own. */
static void no_plugin_is_left_out(void **state)
{
	static const char *const others[] = { "cache", "forward", "transfer" };
	(void)state;
	for (size_t i = 0; plugin_list[i] != NULL; i++) {
		const struct plugin *p = plugin_list[i];
		bool there = p->respond == NULL && p->done == NULL;
		for (size_t k = 0; k < ARRAY_LEN(others); k++)
			there |= strcmp(others[k], p->name) == 0;
		for (size_t s = 0; s < ARRAY_LEN(stanzas); s++)
			there |= strcmp(stanzas[s].plugin, p->name) == 0;
		if (!there)
			fail_msg("'%s' looks at replies and is not tested with both forms",
				 p->name);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(same_in_both_forms),
		cmocka_unit_test(no_plugin_is_left_out),
	};
	return cmocka_run_group_tests(tests, make_files, remove_files);
}
