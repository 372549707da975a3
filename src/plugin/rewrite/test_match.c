/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Matchers: the quick look never misses a name that matches, and what becomes of names.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "plugin/rewrite/match.h"
#include "plugin/rewrite/rewrite_priv.h"

static const char *const words[] = { "exact", "prefix", "suffix", "substring" };

static struct rewrite_matcher make(enum rewrite_how how, const char *from, struct arena *a)
{
	struct rewrite_matcher m = { .how = how, .from = slice_of(from) };
	rewrite_matcher_init(&m, a);
	return m;
}

/* What becomes of `name`, or "-" when the rule is not about it. */
static const char *replaced(const struct rewrite_matcher *m, const char *to, const char *name)
{
	static struct rewrite_text out;
	uint8_t wire[DNS_NAME_MAX];
	struct dns_qname q;
	assert_true(dns_name_from_text(slice_of(name), wire) > 0);
	dns_qname_set(&q, wire);
	bool may = rewrite_matcher_may(m, &q);
	int hit = rewrite_replace(m, slice_of(to), NULL, slice_of(name), &out);
	if (hit > 0 && !may)
		fail_msg("%s: '%s' matches, the quick look says no", words[m->how], name);
	if (hit <= 0)
		return "-";
	out.s[out.n] = '\0';
	return out.s;
}

static void replaces(void **state)
{
	(void)state;
	static const struct {
		enum rewrite_how how;
		const char *from, *to, *name, *want;
	} rows[] = {
		{ REWRITE_EXACT, "a.com.", "b.com.", "a.com.", "b.com." },
		{ REWRITE_EXACT, "a.com.", "b.com.", "x.a.com.", "-" },
		{ REWRITE_EXACT, ".", "b.", ".", "b." },
		{ REWRITE_PREFIX, "foo.", "bar.", "foo.example.com.", "bar.example.com." },
		{ REWRITE_PREFIX, "foo.", "bar.", "foo.", "bar." },
		{ REWRITE_PREFIX, "foo.", "bar.", "foobar.", "-" },
		{ REWRITE_PREFIX, "foo.", "bar.", "coredns.foo.", "-" },
		{ REWRITE_PREFIX, "foo.b.", "x.", "foo.b.c.", "x.c." },
		{ REWRITE_PREFIX, "foo.b.", "x.", "foo.bc.", "-" },
		{ REWRITE_PREFIX, ".", "x.", ".", "x." },
		{ REWRITE_PREFIX, ".", "x.", "a.", "-" },
		{ REWRITE_PREFIX, "a\\.b.", "x.", "a\\.b.c.", "x.c." },
		{ REWRITE_SUFFIX, "com.", "org.", "foo.example.com.", "foo.example.org." },
		{ REWRITE_SUFFIX, "com.", "org.", "telecom.", "teleorg." },
		{ REWRITE_SUFFIX, ".com.", ".org.", "foo.com.", "foo.org." },
		{ REWRITE_SUFFIX, ".com.", ".org.", "com.", "-" },
		{ REWRITE_SUFFIX, ".com.", ".org.", "com.coredns.", "-" },
		{ REWRITE_SUFFIX, ".a.com.", "x.y.", "b.a.com.", "bx.y." },
		{ REWRITE_SUFFIX, ".", ".x.", "a.", "a.x." },
		{ REWRITE_SUFFIX, ".", ".x.", ".", ".x." },
		{ REWRITE_SUBSTRING, "service.", "svc.", "a.service.b.", "a.svc.b." },
		{ REWRITE_SUBSTRING, "s.", "t.", "s.s.as.", "t.t.at." },
		{ REWRITE_SUBSTRING, "service.", "svc.", "com.coredns.", "-" },
		{ REWRITE_SUBSTRING, ".j.", ".k.", "x.j.y.j.", "x.k.y.k." },
		{ REWRITE_SUBSTRING, ".j.", ".k.", "j.", "-" },
		{ REWRITE_SUBSTRING, "a.b.", "c.", "xa.b.a.b.", "xc.c." },
	};
	struct arena a;
	arena_init(&a);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct rewrite_matcher m = make(rows[i].how, rows[i].from, &a);
		const char *got = replaced(&m, rows[i].to, rows[i].name);
		if (strcmp(got, rows[i].want) != 0)
			fail_msg("%s %s %s of %s: '%s', not '%s'", words[rows[i].how], rows[i].from,
				 rows[i].to, rows[i].name, got, rows[i].want);
	}
	arena_done(&a);
}

/* Every piece of some names against all of them. */
static void quick_look_never_misses(void **state)
{
	(void)state;
	static const char *const names[] = {
		".",	    "a.",	  "aa.",      "a.a.",	 "ab.ba.",
		"b.ab.ba.", "a\\.b.",	  "a\\ b.c.", "ba.b.a.", "\\001.",
		"001.",	    "a\\0011.b.", "1a.",      "\\.a.",	 "a\\@.",
	};
	struct arena a;
	arena_init(&a);
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		size_t n = strlen(names[i]);
		for (size_t from = 0; from < n; from++) {
			const char *piece = names[i] + from;
			for (size_t k = 0; k < ARRAY_LEN(names) * ARRAY_LEN(words); k++) {
				struct rewrite_matcher m =
					make((enum rewrite_how)(k % ARRAY_LEN(words)), piece, &a);
				replaced(&m, "x.", names[k / ARRAY_LEN(words)]);
			}
		}
	}
	arena_done(&a);
}

/* Text that is not as names are shown matches none of them. */
static void exact_is_exact(void **state)
{
	(void)state;
	struct arena a;
	arena_init(&a);
	assert_null(make(REWRITE_EXACT, "\\097.", &a).wire);
	assert_null(make(REWRITE_EXACT, "a..b.", &a).wire);
	assert_non_null(make(REWRITE_EXACT, "a\\.b.", &a).wire);
	arena_done(&a);
}

static void groups_fill_one_after_the_other(void **state)
{
	(void)state;
	static const struct {
		const char *pattern, *to, *name, *want;
	} rows[] = {
		{ "(.*)-(us)\\.", "{1}.x.{2}.", "ftp-us.", "ftp.x.us." },
		{ "a", "{0}b{0}.", "xax.", "aba." },
		{ "(a)|(b)", "{1}-{2}.", "b.", "-b." },
		{ "^(.*)\\.(b)\\.$", "{1}.", "{2}.b.", "b." },
		{ "^(.*)\\.(b)\\.$", "{2}{1}.", "{1}.b.", "b{1}." },
		{ "(a)", "{5}{01}.", "a.", "{5}{01}." },
		{ "(a)(b)(c)(d)(e)(f)(g)(h)(i)(j)(k)", "{11}{1}{10}.", "abcdefghijk.", "kaj." },
	};
	struct regex_scratch *s = regex_scratch_new(QUERY_REGEX_GROUPS);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct rewrite_text out;
		struct regex *re;
		struct srcerr err;
		assert_int_equal(regex_new(slice_of(rows[i].pattern), &re, &err), 0);
		assert_int_equal(regex_match(re, s, slice_of(rows[i].name)), 1);
		rewrite_groups(slice_of(rows[i].to), s, regex_groups(re), &out);
		out.s[out.n] = '\0';
		assert_string_equal(out.s, rows[i].want);
		regex_free(re);
	}
	regex_scratch_free(s);
}

static void text_has_a_limit(void **state)
{
	(void)state;
	static char big[REWRITE_TEXT_MAX + 1];
	struct rewrite_text t;
	memset(big, 'a', sizeof(big));
	rewrite_text_set(&t, (struct slice){ big, REWRITE_TEXT_MAX });
	assert_false(t.too_long);
	rewrite_text_add(&t, SLICE("a"));
	assert_true(t.too_long);
	assert_int_equal(t.n, REWRITE_TEXT_MAX);
	rewrite_text_set(&t, (struct slice){ big, sizeof(big) });
	assert_true(t.too_long);
	rewrite_text_set(&t, SLICE(""));
	assert_false(t.too_long);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(replaces),
		cmocka_unit_test(quick_look_never_misses),
		cmocka_unit_test(exact_is_exact),
		cmocka_unit_test(groups_fill_one_after_the_other),
		cmocka_unit_test(text_has_a_limit),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
