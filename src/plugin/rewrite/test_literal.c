/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is read from patterns, and that no name that matches is without it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "plugin/rewrite/literal.h"
#include "plugin/rewrite/match.h"
#include "plugin/rewrite/rewrite_priv.h"

static const struct {
	const char *pattern, *want;
} rows[] = {
	{ "^(.*)\\.apps\\.example\\.com\\.$", ".apps.example.com." },
	{ "(.*)-(us-west-1)\\.coredns\\.rocks", ".coredns." },
	{ "(.*)[.]apps[.]x[.]$", ".apps.x." },
	{ "foo", "" },
	{ "foo.", "" },
	{ "foo\\.", "foo." },
	{ "foo\\.?bar", "" },
	{ "foo\\.*", "" },
	{ "foo\\.{0,1}", "" },
	{ "foo\\.+", "" },
	{ "fo*o\\.", "o." },
	{ "foo+\\.", "." },
	{ "fo{2}\\.", "." },
	{ "fo{2}bar\\.", "bar." },
	{ "foo\\.|bar", "" },
	{ "(foo\\.|bar)x\\.", "x." },
	{ "(foo\\.)?x", "" },
	{ "(?i)foo\\.", "" },
	{ "(a(?i)b)foo\\.", "" },
	{ "(?P<n>a)foo\\.", "foo." },
	{ "(?:a)foo\\.", "foo." },
	{ "((a)b(c))foo\\.", "foo." },
	{ "\\x41foo\\.", "" },
	{ "\\pLfoo\\.", "" },
	{ "\\dfoo\\.", "foo." },
	{ "\\Qfoo.\\E", "" },
	{ "[a-z]foo\\.", "foo." },
	{ "[]a]foo\\.", "foo." },
	{ "[^]a]foo\\.", "foo." },
	{ "[[:alpha:]]foo\\.", "" },
	{ "[\\]]foo\\.", "foo." },
	{ "FOO\\.", "." },
	{ "Foo\\.", "oo." },
	{ "(a[)]b)foo\\.", "foo." },
	{ "(a\\)b)foo\\.", "foo." },
	{ "foo\\.bar", "foo." },
	{ "foo\\.1\\.x", "foo.1." },
	{ "", "" },
};

static void reads(void **state)
{
	(void)state;
	struct arena a;
	arena_init(&a);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct slice got = rewrite_literal(rows[i].pattern, &a);
		if (!slice_is(got, rows[i].want))
			fail_msg("'%s': '%.*s', not '%s'", rows[i].pattern, (int)got.n, got.p,
				 rows[i].want);
	}
	arena_done(&a);
}

static void never_misses(void **state)
{
	(void)state;
	static const char *const names[] = {
		"a.apps.example.com.",
		"ftp-us-west-1.coredns.rocks.",
		"a.apps.x.",
		"foo.",
		"foobar.",
		"foo.bar.",
		"fo.",
		"fooo.",
		"o.",
		"x.",
		"barx.",
		"foo.x.",
		"afoo.",
		"a\\)bfoo.",
		"]foo.",
		"1foo.",
		"foo\\.bar.",
		"\\001foo.",
		"a\\.foo.x.",
		"foobar.x.",
		"fobar.",
	};
	struct regex_scratch *s = regex_scratch_new(QUERY_REGEX_GROUPS);
	size_t hits = 0;
	struct arena a;
	arena_init(&a);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct rewrite_pattern p = { .text = rows[i].pattern };
		struct rewrite_matcher m = { .how = REWRITE_REGEX, .pattern = &p };
		struct srcerr err;
		assert_int_equal(regex_new(slice_of(p.text), &p.re, &err), 0);
		rewrite_matcher_init(&m, &a);
		for (size_t k = 0; k < ARRAY_LEN(names); k++) {
			uint8_t wire[DNS_NAME_MAX];
			struct dns_qname q;
			assert_true(dns_name_from_text(slice_of(names[k]), wire) > 0);
			dns_qname_set(&q, wire);
			if (regex_match(p.re, s, slice_of(names[k])) != 1)
				continue;
			hits++;
			if (!rewrite_matcher_may(&m, &q))
				fail_msg("'%s' matches %s, the quick look says no", p.text,
					 names[k]);
		}
		regex_free(p.re);
	}
	assert_true(hits > 50);
	arena_done(&a);
	regex_scratch_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads),
		cmocka_unit_test(never_misses),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
