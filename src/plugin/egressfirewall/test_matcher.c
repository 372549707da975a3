/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which objects cover a name: EF-8 (exact, wildcard, both), EF-S1 (a host called `wildcard`), EF-S3
 * (one label, any depth), EF-P5 (many rules). */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/rcu/rcu.h"
#include "base/strbuf.h"
#include "plugin/egressfirewall/matcher.h"

static const struct {
	const char *object;
	bool regular, wildcard, any_depth;
} rules[] = {
	{ "www.example.com", true, false, false },
	{ "wildcard.example.com", true, true, false },
	{ "wildcard.only.org", false, true, false },
	{ "wildcard.host.net", true, false, false },
	{ "wildcard.deep.test", false, true, true },
	{ "wildcard.a.deep.test", false, true, true },
	{ "wildcard.b.deep.test", false, true, false },
	{ "com", true, false, false },
};

static struct egressfirewall_matcher *make_matcher(void)
{
	static struct egressfirewall_rule rule[ARRAY_LEN(rules)];
	const struct egressfirewall_rule *list[ARRAY_LEN(rules)];
	for (size_t i = 0; i < ARRAY_LEN(rules); i++) {
		assert_int_equal(egressfirewall_rule_set(&rule[i], slice_of(rules[i].object),
							 rules[i].regular, rules[i].wildcard,
							 rules[i].any_depth),
				 0);
		list[i] = &rule[i];
	}
	return egressfirewall_matcher_new(list, ARRAY_LEN(list));
}

static const struct dns_qname *qname(const char *text)
{
	static struct dns_qname q;
	uint8_t wire[DNS_NAME_MAX];
	assert_true(dns_name_from_text(slice_of(text), wire) > 0);
	dns_qname_set(&q, wire);
	return &q;
}

static bool may_match(const struct egressfirewall_matcher *matcher, const struct dns_qname *asked)
{
	return egressfirewall_may_match_shallow(matcher, asked) ||
	       egressfirewall_may_match_deep(matcher, asked);
}

static const struct {
	const char *name, *objects;
} rows[] = {
	{ "www.example.com", "www.example.com wildcard.example.com" },
	{ "WWW.Example.COM.", "www.example.com wildcard.example.com" },
	{ "wildcard.example.com", "wildcard.example.com" },
	{ "foo.example.com", "wildcard.example.com" },
	{ "a.foo.example.com", "" },
	{ "example.com", "" },
	{ "com", "com" },
	{ ".", "" },
	{ "only.org", "" },
	{ "wildcard.only.org", "wildcard.only.org" },
	{ "x.only.org", "wildcard.only.org" },
	{ "wildcard.host.net", "wildcard.host.net" },
	{ "x.host.net", "" },
	{ "deep.test", "" },
	{ "x.deep.test", "wildcard.deep.test" },
	{ "x.y.z.deep.test", "wildcard.deep.test" },
	{ "x.y.a.deep.test", "wildcard.a.deep.test wildcard.deep.test" },
	{ "x.b.deep.test", "wildcard.b.deep.test wildcard.deep.test" },
	{ "x.y.b.deep.test", "wildcard.deep.test" },
};

static void finds_every_object(void **state)
{
	(void)state;
	struct egressfirewall_matcher *m = make_matcher();
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct egressfirewall_rule *found[EGRESSFIREWALL_MATCH_MAX];
		CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
		size_t n = egressfirewall_match(m, qname(rows[i].name), found, ARRAY_LEN(found));
		for (size_t k = 0; k < n; k++)
			strbuf_addf(&text, "%s%s", k != 0 ? " " : "", found[k]->object);
		assert_string_equal(text.s, rows[i].objects);
		assert_int_equal(egressfirewall_matches(m, qname(rows[i].name)), n != 0);
		assert_true(n == 0 || may_match(m, qname(rows[i].name)));
	}
	egressfirewall_matcher_free(m);
}

/* EF-P5: few names pass the filter that no rule covers, below the parents of wildcards over any
 * number of labels as well as anywhere else. */
static void filter_keeps_others_out(void **state)
{
	(void)state;
	struct egressfirewall_matcher *m = make_matcher();
	static const char *const parents[] = { "other.test", "x.example.com", "org", "a.b.c.net" };
	unsigned passed = 0;
	char text[64];
	for (int i = 0; i < 4000; i++) {
		snprintf(text, sizeof(text), "x.n%d.%s", i, parents[i % 4]);
		assert_false(egressfirewall_matches(m, qname(text)));
		passed += may_match(m, qname(text));
	}
	assert_in_range(passed, 0, 200);
	egressfirewall_matcher_free(m);
}

/* Parents at every depth that a name can have. */
static void filter_knows_deep_parents(void **state)
{
	(void)state;
	for (unsigned labels = 1; labels <= 120; labels++) {
		CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
		struct egressfirewall_rule rule;
		const struct egressfirewall_rule *list[] = { &rule };
		strbuf_adds(&text, "wildcard");
		for (unsigned i = 0; i < labels; i++)
			strbuf_adds(&text, ".p");
		if (text.n > DNS_LEARNT_TEXT_MAX)
			break;
		assert_int_equal(
			egressfirewall_rule_set(&rule, strbuf_slice(&text), false, true, true), 0);
		struct egressfirewall_matcher *m = egressfirewall_matcher_new(list, 1);
		assert_true(may_match(m, qname(text.s)));
		assert_true(egressfirewall_matches(m, qname(text.s)));
		assert_true(m->deep != 0);
		egressfirewall_matcher_free(m);
	}
}

static void no_rules_cover_nothing(void **state)
{
	(void)state;
	struct egressfirewall_matcher *m = egressfirewall_matcher_new(NULL, 0);
	assert_int_equal(m->number, 0);
	assert_true(m->deep == 0);
	assert_false(may_match(m, qname("www.example.com")));
	assert_false(may_match(m, qname(".")));
	assert_false(egressfirewall_matches(m, qname("www.example.com")));
	egressfirewall_matcher_free(m);
}

static void refuses_what_is_no_rule(void **state)
{
	(void)state;
	static const char *const bad[] = {
		"",	".",	    "a..b",	"UPPER.example", "a_b.example",
		"a.b.", "*.a.test", "wildcard", "wildcard."
	};
	struct egressfirewall_rule rule;
	char longest[254 + 1];
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_int_equal(
			egressfirewall_rule_set(&rule, slice_of(bad[i]), false, true, false),
			ERR_PARSE);
	/* A name that is used in no way covers nothing. */
	assert_int_equal(egressfirewall_rule_set(&rule, SLICE("a.test"), false, false, false),
			 ERR_PARSE);
	for (size_t i = 0; i < sizeof(longest); i++)
		longest[i] = i % 62 == 61 ? '.' : 'a';
	assert_int_equal(
		egressfirewall_rule_set(&rule, (struct slice){ longest, 253 }, true, false, false),
		0);
	assert_int_equal(
		egressfirewall_rule_set(&rule, (struct slice){ longest, 255 }, true, false, false),
		ERR_PARSE);
}

enum { MANY = 20000 };

static void finds_each_of_many(void **state)
{
	(void)state;
	struct egressfirewall_rule *all = xcalloc(MANY, sizeof(*all));
	const struct egressfirewall_rule **list = xcalloc(MANY, sizeof(*list));
	char text[64];
	for (int i = 0; i < MANY; i++) {
		snprintf(text, sizeof(text), i % 2 ? "wildcard.n%d.test" : "n%d.test", i);
		assert_int_equal(egressfirewall_rule_set(&all[i], slice_of(text), i % 2 == 0,
							 i % 2 != 0, false),
				 0);
		list[i] = &all[i];
	}
	struct egressfirewall_matcher *m = egressfirewall_matcher_new(list, MANY);
	for (int i = 0; i < MANY; i++) {
		snprintf(text, sizeof(text), i % 2 ? "x.n%d.test" : "n%d.test", i);
		assert_true(egressfirewall_matches(m, qname(text)));
		snprintf(text, sizeof(text), i % 2 ? "n%d.test" : "x.n%d.test", i);
		assert_false(egressfirewall_matches(m, qname(text)));
	}
	egressfirewall_matcher_free(m);
	free(list);
	free(all);
}

static struct egressfirewall_matcher *_Atomic shared;
static atomic_bool stop;

static void *read_all_the_time(void *arg)
{
	struct dns_qname q;
	(void)arg;
	dns_qname_set(&q, (const uint8_t *)"\3www\7example\3com");
	rcu_thread_register();
	while (!atomic_load(&stop)) {
		rcu_enter();
		assert_true(egressfirewall_matches(rcu_get(&shared), &q));
		rcu_leave();
	}
	rcu_thread_unregister();
	return NULL;
}

static void is_replaced_under_readers(void **state)
{
	(void)state;
	pthread_t reader[2];
	rcu_publish(&shared, make_matcher());
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&reader[i], NULL, read_all_the_time, NULL), 0);
	for (int i = 0; i < 500; i++) {
		struct egressfirewall_matcher *old = rcu_get(&shared), *now = make_matcher();
		assert_int_not_equal(old->number, now->number);
		rcu_publish(&shared, now);
		egressfirewall_matcher_retire(old);
	}
	atomic_store(&stop, true);
	for (int i = 0; i < 2; i++)
		pthread_join(reader[i], NULL);
	egressfirewall_matcher_retire(rcu_get(&shared));
	rcu_barrier_all();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_every_object),
		cmocka_unit_test(filter_keeps_others_out),
		cmocka_unit_test(filter_knows_deep_parents),
		cmocka_unit_test(no_rules_cover_nothing),
		cmocka_unit_test(refuses_what_is_no_rule),
		cmocka_unit_test(finds_each_of_many),
		cmocka_unit_test(is_replaced_under_readers),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
