/* SPDX-License-Identifier: GPL-3.0-or-later */
/* egressfirewall on the real chain: what is learnt from which answers (EF-8, EF-S1, EF-S3, EF-S11),
 * what never is, and that answers pass unchanged (EF-11). */
#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "dns/learnt/learnt_record.h"
#include "dns/resp.h"
#include "plugin/egressfirewall/store_test.h"
#include "plugin/shared/zonecopy.h"
#include "testing/fake_server.h"

static struct egressfirewall_rules *rules;

static void set_rule(const char *object, const char *spec)
{
	json_t *tree = json_loads(spec, 0, NULL);
	assert_non_null(tree);
	egressfirewall_rules_set(rules, slice_of(object), tree);
	json_decref(tree);
}

#define REGULAR	 "{\"spec\":{\"isregular\":true}}"
#define WILDCARD "{\"spec\":{\"iswildcard\":true}}"
#define BOTH	 "{\"spec\":{\"isregular\":true,\"iswildcard\":true}}"
#define ANY_DEPTH                                                                           \
	"{\"metadata\":{\"annotations\":{\"egress.fairlead.dev/wildcard-depth\":\"any\"}}," \
	"\"spec\":{\"iswildcard\":true}}"

static int start_rules(void **state)
{
	(void)state;
	rules = egressfirewall_rules_new();
	egressfirewall_store_preset(rules);
	return 0;
}

static int end_rules(void **state)
{
	(void)state;
	egressfirewall_store_preset(NULL);
	egressfirewall_rules_free(rules);
	return 0;
}

static struct fake *start(const char *corefile)
{
	struct fake *f = fake_new(corefile);
	if (f == NULL)
		fail_msg("%s", fake_error());
	fake_advance(f, 150 * NS_PER_MS); /* the rules are published */
	return f;
}

static int compare_lines(const void *left, const void *right)
{
	return strcmp(*(char *const *)left, *(char *const *)right);
}

/* "OBJECT NAME IP TTL[ TARGET]" of each, sorted, one per line. */
static const char *learnt(struct fake *fake)
{
	static struct strbuf out = STRBUF_INIT;
	VEC(char *) lines = { 0 };
	struct dns_rr rr;
	strbuf_reset(&out);
	fake_advance(fake, 150 * NS_PER_MS);
	struct zone_copy *copy = egressfirewall_store_copy(egressfirewall_store_latest());
	while (copy->next(copy, &rr) > 0) {
		struct dns_learnt l;
		char ip[INET6_ADDRSTRLEN];
		if (rr.type != DNS_TYPE_TXT)
			continue;
		assert_int_equal(dns_learnt_parse(rr.rdata, rr.rdlen, &l), 0);
		inet_ntop(l.ip_n == 4 ? AF_INET : AF_INET6, l.ip, ip, sizeof(ip));
		vec_push(&lines,
			 xasprintf("%.*s %.*s %s %u%s%.*s\n", (int)l.object.n, l.object.p,
				   (int)l.name.n, l.name.p, ip, l.ttl_s, l.target.n != 0 ? " " : "",
				   (int)l.target.n, l.target.n != 0 ? l.target.p : ""));
	}
	copy->free(copy);
	if (lines.n != 0)
		qsort(lines.v, lines.n, sizeof(lines.v[0]), compare_lines);
	for (size_t i = 0; i < lines.n; i++) {
		strbuf_adds(&out, lines.v[i]);
		free(lines.v[i]);
	}
	vec_done(&lines);
	return out.s;
}

static const char *ask(struct fake *fake, const char *name, const char *type)
{
	const char *reply = fake_ask(fake, &(struct fake_ask){ .name = name, .type = type });
	assert_non_null(reply);
	return reply;
}

#define TEMPLATE                                                               \
	" template IN A . {\n  answer \"{{ .Name }} 60 IN A 192.0.2.1\"\n }\n" \
	" template IN AAAA . {\n  answer \"{{ .Name }} 60 IN AAAA 2001:db8::1\"\n }\n"

static void learns_names_of_rules(void **state)
{
	(void)state;
	set_rule("www.example.com", REGULAR);
	set_rule("wildcard.example.com", BOTH);
	set_rule("wildcard.deep.test", ANY_DEPTH);
	struct fake *f = start(". {\n egressfirewall\n cache 30\n" TEMPLATE "}\n");
	ask(f, "WWW.example.com", "A");
	ask(f, "wildcard.example.com", "A");
	ask(f, "foo.example.com", "AAAA");
	ask(f, "a.foo.example.com", "A");
	ask(f, "other.org", "A");
	ask(f, "x.y.deep.test", "A");
	assert_string_equal(learnt(f), "wildcard.deep.test x.y.deep.test 192.0.2.1 30\n"
				       "wildcard.example.com foo.example.com 2001:db8::1 30\n"
				       "wildcard.example.com wildcard.example.com 192.0.2.1 30\n"
				       "wildcard.example.com www.example.com 192.0.2.1 30\n"
				       "www.example.com www.example.com 192.0.2.1 30\n");
	/* A rule that comes later is learnt from the cached answer. */
	assert_null(strstr(learnt(f), "other.org"));
	set_rule("other.org", REGULAR);
	fake_advance(f, 2 * NS_PER_S);
	ask(f, "other.org", "A");
	assert_non_null(strstr(learnt(f), "other.org other.org 192.0.2.1 2"));
	/* One that goes takes its addresses with it. */
	egressfirewall_rules_remove(rules, SLICE("wildcard.example.com"));
	assert_null(strstr(learnt(f), "wildcard.example.com"));
	assert_non_null(strstr(learnt(f), "www.example.com"));
	fake_free(f);
}

/* The same bytes with and without the plugin (EF-11: skew). */
static void answers_pass_unchanged(void **state)
{
	(void)state;
	set_rule("wildcard.example.com", WILDCARD);
	struct fake *f = start(". {\n egressfirewall\n" TEMPLATE "}\n");
	char with[1024];
	snprintf(with, sizeof(with), "%s", ask(f, "a.example.com", "A"));
	fake_free(f);
	f = start(". {\n" TEMPLATE "}\n");
	assert_string_equal(ask(f, "a.example.com", "A"), with);
	fake_free(f);
}

static void learns_from_chains(void **state)
{
	(void)state;
	set_rule("shop.example.com", REGULAR);
	set_rule("cdn.example.net", REGULAR);
	set_rule("stray.example.net", REGULAR);
	struct fake *f = start(
		". {\n egressfirewall\n"
		/* The order of records does not matter; those beside the chain do not count. */
		" template IN A shop.example.com {\n"
		"  answer \"cdn.example.net. 40 IN A 192.0.2.7\"\n"
		"  answer \"stray.example.net. 40 IN A 192.0.2.8\"\n"
		"  answer \"edge.example.net. 20 IN CNAME cdn.example.net.\"\n"
		"  answer \"{{ .Name }} 300 IN CNAME edge.example.net.\"\n }\n"
		" template IN A uncovered.test {\n"
		"  answer \"{{ .Name }} 300 IN CNAME cdn.example.net.\"\n"
		"  answer \"cdn.example.net. 50 IN A 192.0.2.9\"\n }\n"
		" template IN A loop.test {\n"
		"  answer \"loop.test. 300 IN CNAME loop.test.\"\n"
		"  answer \"loop.test. 50 IN A 192.0.2.10\"\n }\n}\n");
	ask(f, "shop.example.com", "A");
	ask(f, "uncovered.test", "A");
	ask(f, "loop.test", "A");
	assert_string_equal(learnt(f),
			    "cdn.example.net cdn.example.net 192.0.2.7 40\n"
			    "cdn.example.net cdn.example.net 192.0.2.9 50\n"
			    "shop.example.com shop.example.com 192.0.2.7 20 cdn.example.net\n");
	fake_free(f);
}

/* The name that the client asked for, and the one that was looked up instead. */
static void learns_renamed_questions(void **state)
{
	(void)state;
	set_rule("asked.test", REGULAR);
	set_rule("inner.test", REGULAR);
	set_rule("both.test", REGULAR);
	struct fake *f =
		start(". {\n egressfirewall\n"
		      " rewrite name exact asked.test other.test\n"
		      " rewrite name exact outer.test inner.test\n"
		      " rewrite name exact both.test inner.test answer auto\n" TEMPLATE "}\n");
	ask(f, "asked.test", "A");
	assert_string_equal(learnt(f), "asked.test asked.test 192.0.2.1 60 other.test\n");
	ask(f, "outer.test", "AAAA");
	ask(f, "both.test", "A");
	assert_string_equal(learnt(f), "asked.test asked.test 192.0.2.1 60 other.test\n"
				       "both.test both.test 192.0.2.1 60 inner.test\n"
				       "inner.test inner.test 192.0.2.1 60\n"
				       "inner.test inner.test 2001:db8::1 60\n");
	fake_free(f);
}

/* A cached answer that was inspected is not inspected again, but for other rules, another question and
 * a later expiry. */
static void inspects_cached_answers_once(void **state)
{
	(void)state;
	set_rule("asked.test", REGULAR);
	set_rule("known.test", REGULAR);
	struct fake *f = start(". {\n egressfirewall\n rewrite name exact asked.test inner.test\n"
			       " cache 30\n" TEMPLATE "}\n");
	for (int i = 0; i < 3; i++) {
		ask(f, "inner.test", "A");
		ask(f, "known.test", "A");
	}
	assert_string_equal(learnt(f), "known.test known.test 192.0.2.1 30\n");
	/* The same entry of the cache, for a name that is covered. */
	ask(f, "asked.test", "A");
	assert_non_null(strstr(learnt(f), "asked.test asked.test 192.0.2.1 30 inner.test\n"));
	ask(f, "inner.test", "A");
	/* Other rules. */
	set_rule("inner.test", REGULAR);
	fake_advance(f, 2 * NS_PER_S);
	ask(f, "inner.test", "A");
	assert_non_null(strstr(learnt(f), "inner.test inner.test 192.0.2.1 2"));
	/* No rules, and then the first again. */
	egressfirewall_rules_remove(rules, SLICE("asked.test"));
	egressfirewall_rules_remove(rules, SLICE("inner.test"));
	egressfirewall_rules_remove(rules, SLICE("known.test"));
	fake_advance(f, 2 * NS_PER_S);
	ask(f, "known.test", "A");
	assert_string_equal(learnt(f), "");
	set_rule("known.test", REGULAR);
	fake_advance(f, 2 * NS_PER_S);
	ask(f, "known.test", "A");
	assert_non_null(strstr(learnt(f), "known.test known.test 192.0.2.1 2"));
	fake_free(f);
}

/* An answer that keeps its TTL in the cache expires later each time. */
static void extends_what_keeps_its_ttl(void **state)
{
	(void)state;
	set_rule("known.test", REGULAR);
	struct fake *f = start(". {\n prometheus 127.0.0.1:0\n egressfirewall\n"
			       " cache 30 {\n  keepttl\n }\n" TEMPLATE "}\n");
	for (int i = 0; i < 4; i++) {
		ask(f, "known.test", "A");
		fake_advance(f, 8 * NS_PER_S);
	}
	assert_int_equal(
		fake_metric(f, "fairlead_egress_learning_sightings_total{result=\"extended\"}"), 3);
	fake_free(f);
}

/* autopath looks a name up for the client, with a search domain cut off. */
static void learns_through_search_paths(void **state)
{
	(void)state;
	char path[] = "/tmp/egressfirewall-test-XXXXXX", corefile[512];
	static const char text[] = "search ns.svc.cluster.local cluster.local\n";
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, sizeof(text) - 1), sizeof(text) - 1);
	close(fd);
	set_rule("www.example.com", REGULAR);
	snprintf(corefile, sizeof(corefile),
		 ". {\n egressfirewall\n autopath %s\n"
		 " template IN ANY cluster.local {\n  rcode NXDOMAIN\n }\n" TEMPLATE "}\n",
		 path);
	struct fake *f = start(corefile);
	ask(f, "www.example.com.ns.svc.cluster.local", "A");
	assert_string_equal(learnt(f), "www.example.com www.example.com 192.0.2.1 60\n");
	fake_free(f);
	unlink(path);
}

/* docs/egress.md has the reason. */
static void learns_no_hints(void **state)
{
	(void)state;
	set_rule("www.example.com", REGULAR);
	struct fake *f = start(". {\n egressfirewall\n"
			       " template IN HTTPS example.com {\n"
			       "  answer \"{{ .Name }} 60 IN HTTPS 1 . alpn=h2 ipv4hint=192.0.2.9 "
			       "ipv6hint=2001:db8::9\"\n }\n"
			       " template IN SVCB example.com {\n"
			       "  answer \"{{ .Name }} 60 IN SVCB 1 svc.example.net. "
			       "ipv4hint=192.0.2.9\"\n }\n" TEMPLATE "}\n");
	ask(f, "www.example.com", "HTTPS");
	ask(f, "www.example.com", "SVCB");
	assert_string_equal(learnt(f), "");
	ask(f, "www.example.com", "A");
	assert_string_equal(learnt(f), "www.example.com www.example.com 192.0.2.1 60\n");
	fake_free(f);
}

/* Loopback, link-local, multicast, and what the stanza names, but for its exceptions. */
static void never_learns_some_addresses(void **state)
{
	(void)state;
	set_rule("wildcard.example.com", WILDCARD);
	struct fake *f =
		start(". {\n egressfirewall {\n  never 10.0.0.0/8 fd00::/8\n  learn 10.1.2.3\n }\n"
		      " template IN A example.com {\n"
		      "  answer \"{{ .Name }} 60 IN A 127.0.0.1\"\n"
		      "  answer \"{{ .Name }} 60 IN A 169.254.169.254\"\n"
		      "  answer \"{{ .Name }} 60 IN A 224.0.0.1\"\n"
		      "  answer \"{{ .Name }} 60 IN A 255.255.255.255\"\n"
		      "  answer \"{{ .Name }} 60 IN A 0.0.0.0\"\n"
		      "  answer \"{{ .Name }} 60 IN A 10.1.2.4\"\n"
		      "  answer \"{{ .Name }} 60 IN A 10.1.2.3\"\n }\n"
		      " template IN AAAA example.com {\n"
		      "  answer \"{{ .Name }} 60 IN AAAA ::1\"\n"
		      "  answer \"{{ .Name }} 60 IN AAAA fe80::1\"\n"
		      "  answer \"{{ .Name }} 60 IN AAAA ff02::1\"\n"
		      "  answer \"{{ .Name }} 60 IN AAAA fd00::1\"\n"
		      "  answer \"{{ .Name }} 60 IN AAAA ::ffff:127.0.0.1\"\n"
		      "  answer \"{{ .Name }} 60 IN AAAA 64:ff9b::a9fe:a9fe\"\n"
		      "  answer \"{{ .Name }} 60 IN AAAA 2002:a01:204::1\"\n"
		      "  answer \"{{ .Name }} 60 IN AAAA 2001:db8::2\"\n }\n}\n");
	ask(f, "a.example.com", "A");
	ask(f, "a.example.com", "AAAA");
	assert_string_equal(learnt(f), "wildcard.example.com a.example.com 10.1.2.3 60\n"
				       "wildcard.example.com a.example.com 2001:db8::2 60\n");
	/* Names that no object could list are left out. */
	ask(f, "a\\032b.example.com", "A");
	assert_null(strstr(learnt(f), "032"));
	fake_free(f);
}

/* EF-P10: a client that asks for very many names. */
static void stays_within_limits(void **state)
{
	(void)state;
	set_rule("wildcard.example.com", WILDCARD);
	struct fake *f = start(". {\n prometheus 127.0.0.1:0\n egressfirewall {\n  max_names 50\n"
			       "  max_addresses_per_client 80\n }\n" TEMPLATE "}\n");
	char name[64];
	for (int i = 0; i < 3000; i++) {
		snprintf(name, sizeof(name), "n%d.example.com", i);
		ask(f, name, "A");
		if (i % 100 == 0)
			fake_advance(f, 100 * NS_PER_MS);
	}
	const char *all = learnt(f);
	size_t n = 0;
	for (const char *p = all; (p = strchr(p, '\n')) != NULL; p++)
		n++;
	assert_int_equal(n, 50);
	fake_advance(f, 2 * NS_PER_S);
	assert_true(
		fake_metric(f,
			    "fairlead_egress_learning_evicted_total{limit=\"names_per_object\"}") >
		0);
	assert_int_equal(fake_metric(f, "fairlead_egress_learning_addresses"), 50);
	fake_free(f);
}

/* The zone is nobody's without a key, and never asked of others. */
static const char *ask_from(struct fake *fake, const char *client, const char *name)
{
	const char *reply =
		fake_ask(fake, &(struct fake_ask){ .name = name, .type = "A", .client = client });
	assert_non_null(reply);
	return reply;
}

/* EF-P10: what a client's limit refused counts as known nowhere: another client's answer is learnt,
 * also when a cache has it from the first one. */
static void learns_from_others_what_was_refused(void **state)
{
	(void)state;
	static const char *const corefiles[] = {
		". {\n egressfirewall {\n  max_addresses_per_client 1\n }\n cache 30\n" TEMPLATE
		"}\n",
		". {\n egressfirewall {\n  max_addresses_per_client 1\n }\n" TEMPLATE "}\n",
	};
	for (size_t i = 0; i < ARRAY_LEN(corefiles); i++) {
		set_rule("wildcard.example.com", WILDCARD);
		struct fake *f = start(corefiles[i]);
		ask_from(f, "192.0.2.7:4711", "a.example.com");
		ask_from(f, "192.0.2.7:4711", "b.example.com");
		ask_from(f, "192.0.2.7:4711", "b.example.com");
		assert_non_null(strstr(learnt(f), " a.example.com "));
		assert_null(strstr(learnt(f), " b.example.com "));
		fake_advance(f, NS_PER_S);
		ask_from(f, "192.0.2.8:4711", "b.example.com");
		assert_non_null(strstr(learnt(f), " b.example.com "));
		fake_free(f);
	}
}

/* EF-P10: a name that left because of another client's is learnt again from the next answer, though nothing
 * about the answer is new; also from a cache. */
static void learns_again_what_was_driven_out(void **state)
{
	(void)state;
	static const char *const corefiles[] = {
		". {\n egressfirewall {\n  max_names 3\n }\n cache 30\n" TEMPLATE "}\n",
		". {\n egressfirewall {\n  max_names 3\n }\n" TEMPLATE "}\n",
	};
	for (size_t i = 0; i < ARRAY_LEN(corefiles); i++) {
		set_rule("wildcard.example.com", WILDCARD);
		struct fake *f = start(corefiles[i]);
		ask_from(f, "192.0.2.7:4711", "a.example.com");
		ask_from(f, "192.0.2.7:4711", "b.example.com");
		ask_from(f, "192.0.2.7:4711", "c.example.com");
		fake_advance(f, 100 * NS_PER_MS);
		ask_from(f, "192.0.2.7:4711", "d.example.com");
		fake_advance(f, NS_PER_S);
		assert_null(strstr(learnt(f), " a.example.com "));
		ask_from(f, "192.0.2.8:4711", "a.example.com");
		assert_non_null(strstr(learnt(f), " a.example.com "));
		fake_free(f);
	}
}

static void refuses_the_zone_to_strangers(void **state)
{
	(void)state;
	static const char *const types[] = { "SOA", "TXT", "AXFR", "IXFR", "NS", "A", "ANY" };
	static const char *const names[] = { "learnt.fairlead.internal.",
					     "LEARNT.fairlead.internal.",
					     "0123456789abcdef.learnt.fairlead.internal." };
	struct fake *f = start(". {\n egressfirewall\n" TEMPLATE "}\n");
	for (size_t i = 0; i < ARRAY_LEN(types); i++) {
		for (size_t k = 0; k < ARRAY_LEN(names); k++)
			assert_non_null(strstr(ask(f, names[k], types[i]), "REFUSED"));
	}
	assert_non_null(strstr(ask(f, "xlearnt.fairlead.internal.", "A"), "192.0.2.1"));
	assert_non_null(strstr(ask(f, "fairlead.internal.", "A"), "192.0.2.1"));
	fake_free(f);
	/* In a block of another zone the names are nobody's; in one of the zone itself it is the same. */
	f = start("example.org {\n egressfirewall\n" TEMPLATE "}\n. {\n" TEMPLATE "}\n");
	assert_non_null(strstr(ask(f, names[2], "A"), "192.0.2.1"));
	fake_free(f);
	f = start("learnt.fairlead.internal internal {\n egressfirewall\n" TEMPLATE
		  "}\n. {\n" TEMPLATE "}\n");
	assert_non_null(strstr(ask(f, names[0], "SOA"), "REFUSED"));
	assert_non_null(strstr(ask(f, names[2], "A"), "REFUSED"));
	assert_non_null(strstr(ask(f, "fairlead.internal.", "A"), "192.0.2.1"));
	fake_free(f);
}

static const struct {
	const char *stanza, *error;
} refused[] = {
	{ "egressfirewall x", "Corefile:2:16: " },
	{ "egressfirewall\negressfirewall", "Corefile:3:1: " },
	{ "egressfirewall {\nnever 10.0.0.0/33\n}",
	  "Corefile:3:7: '10.0.0.0/33' is not a network such as 10.0.0.0/8" },
	{ "egressfirewall {\nnever\n}", "Corefile:3:1: " },
	{ "egressfirewall {\nmax_names 0\n}", "Corefile:3:11: " },
	{ "egressfirewall {\nnotify example.org\nkeys k\n}",
	  "Corefile:3:8: 'example.org' is not an IP address, with or without a port" },
	{ "egressfirewall {\nnotify 192.0.2.1\n}",
	  "Corefile:2:1: 'notify' needs 'keys': nobody could transfer the zone" },
	{ "egressfirewall {\ntls a b c\n}", "Corefile:2:1: 'tls' needs 'endpoint'" },
	{ "egressfirewall {\nkeys /\n}", "Corefile:3:6: cannot read '/': " },
	{ "egressfirewall {\nfoo\n}", "Corefile:3:1: " },
};

static void refuses_bad_stanzas(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
		if (!fake_refuses(refused[i].stanza, refused[i].error))
			fail_msg("%s: %s", refused[i].stanza, fake_error());
	}
}

/* What was learnt outlives a reload with the same limits. */
static void survives_a_reload(void **state)
{
	(void)state;
	set_rule("www.example.com", REGULAR);
	struct fake *f = start(". {\n egressfirewall\n" TEMPLATE "}\n");
	ask(f, "www.example.com", "A");
	fake_advance(f, 150 * NS_PER_MS);
	assert_true(fake_reload(f, ". {\n egressfirewall\n cache\n" TEMPLATE "}\n"));
	assert_string_equal(learnt(f), "www.example.com www.example.com 192.0.2.1 60\n");
	ask(f, "www.example.com", "AAAA");
	assert_non_null(strstr(learnt(f), "2001:db8::1"));
	fake_free(f);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, start_rules, end_rules)
	const struct CMUnitTest tests[] = {
		TEST(learns_names_of_rules),
		TEST(answers_pass_unchanged),
		TEST(learns_from_chains),
		TEST(learns_renamed_questions),
		TEST(learns_through_search_paths),
		TEST(never_learns_some_addresses),
		TEST(stays_within_limits),
		TEST(learns_from_others_what_was_refused),
		TEST(learns_again_what_was_driven_out),
		TEST(refuses_the_zone_to_strangers),
		TEST(refuses_bad_stanzas),
		TEST(survives_a_reload),
		TEST(inspects_cached_answers_once),
		TEST(extends_what_keeps_its_ttl),
		TEST(learns_no_hints),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
