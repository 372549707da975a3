/* SPDX-License-Identifier: GPL-3.0-or-later */
/* regex_linear: compared with PCRE2 on random patterns and texts, and its bounds. */
#include "base/regex/linear_priv.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/regex/regex.h"
#include "base/regex/regex_test.h"
#include "base/regex/syntax_priv.h"
#include "base/rng.h"
#include "base/rng_test.h"
#include "base/strbuf.h"

enum { PATTERNS = 20000, TEXTS = 5, DEPTH = 4, TEXT_CHARS = 12 };

static const char *pick(struct rng *rng, const char *const *list, size_t n)
{
	return list[rng_below(rng, (uint32_t)n)];
}

#define PICK(rng, list) pick(rng, list, ARRAY_LEN(list))

static void make_pattern(struct rng *rng, unsigned depth, struct strbuf *out)
{
	static const char *const atoms[] = { "a",      "b",	 "c",	"a",   "b",   ".",
					     "[ab]",   "[^a]",	 "\\w", "\\d", "é",   "(?i:k)",
					     "(?s:.)", "\\pL",	 "^",	"$",   "\\b", "\\B",
					     "(?m:^)", "(?m:$)", "" };
	static const char *const repeats[] = { "*",   "+",     "?",	 "*?",	 "+?",	"??",
					       "{2}", "{0,2}", "{1,3}?", "{2,}", "{0}", "" };
	uint32_t form = depth == 0 ? 0 : rng_below(rng, 5);
	if (form <= 1) {
		strbuf_adds(out, PICK(rng, atoms));
	} else if (form == 2) {
		make_pattern(rng, depth - 1, out);
		make_pattern(rng, depth - 1, out);
	} else {
		strbuf_adds(out, rng_below(rng, 2) == 0 ? "(" : "(?:");
		make_pattern(rng, depth - 1, out);
		if (form == 3) {
			strbuf_addc(out, '|');
			make_pattern(rng, depth - 1, out);
		}
		strbuf_addc(out, ')');
		strbuf_adds(out, PICK(rng, repeats));
	}
}

static void make_text(struct rng *rng, struct strbuf *out)
{
	static const char *const chars[] = { "a", "b", "c", "a", "b", "A",  "K",
					     "k", ".", "-", "1", "_", "\n", "é" };
	strbuf_adds(out, "");
	for (uint32_t n = rng_below(rng, TEXT_CHARS); n > 0; n--)
		strbuf_adds(out, PICK(rng, chars));
}

/* 1: compared. */
static int compare(const struct regex *re, struct slice text)
{
	struct regex_scratch *pcre = regex_scratch_new(regex_groups(re));
	struct regex_scratch *linear = regex_scratch_new(regex_groups(re));
	int r = regex_match_pcre(re, pcre, text);
	bool same = r < 0 || (r == 1) == regex_match_linear(re, linear, text);
	for (unsigned i = 0; r == 1 && same && i <= regex_groups(re); i++) {
		struct slice a = regex_group(pcre, i), b = regex_group(linear, i);
		same = a.p == b.p && a.n == b.n;
	}
	if (!same)
		fail_msg("%s differs on '%.*s'", regex_pattern(re), (int)text.n, text.p);
	regex_scratch_free(pcre);
	regex_scratch_free(linear);
	return r >= 0;
}

static void same_as_pcre(void **state)
{
	(void)state;
	struct rng rng;
	int compared = 0;
	rng_init_seed(&rng, 7);
	for (int i = 0; i < PATTERNS; i++) {
		CLEANUP(strbuf_done) struct strbuf pattern = STRBUF_INIT;
		CLEANUP(regex_freep) struct regex *re = NULL;
		make_pattern(&rng, DEPTH, &pattern);
		if (regex_new(strbuf_slice(&pattern), &re, NULL) < 0 || regex_pcre_differs(re))
			continue;
		for (int k = 0; k < TEXTS; k++) {
			CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
			make_text(&rng, &text);
			compared += compare(re, strbuf_slice(&text));
		}
	}
	assert_true(compared > PATTERNS);
}

/* A matcher that goes back and forth would take longer than the world exists. */
static void takes_linear_time(void **state)
{
	(void)state;
	static const char *const patterns[] = { "(a+)+$", "(a*)*b", "(a|aa)+$", "(.*a){20}$",
						"^(a?){200}a{200}b" };
	static char text[20000];
	memset(text, 'a', sizeof(text));
	text[sizeof(text) - 1] = '!';
	struct regex_scratch *s = regex_scratch_new(2);
	for (size_t i = 0; i < ARRAY_LEN(patterns); i++) {
		CLEANUP(regex_freep) struct regex *re = NULL;
		assert_int_equal(regex_new(slice_of(patterns[i]), &re, NULL), 0);
		assert_false(regex_match(re, s, (struct slice){ text, sizeof(text) }));
	}
	regex_scratch_free(s);
}

/* One scratch serves patterns of any size, in any order; fewer groups than the pattern has do. */
static void scratch_is_reused(void **state)
{
	(void)state;
	static const char *const patterns[] = { "(a)(b)?", "((a|b|c){1,100})*", "a",
						"(?:(a)|(b)|(c)|(d))*" };
	struct regex_scratch *s = regex_scratch_new(1);
	for (int round = 0; round < 3; round++) {
		for (size_t i = 0; i < ARRAY_LEN(patterns); i++) {
			CLEANUP(regex_freep) struct regex *re = NULL;
			assert_int_equal(regex_new(slice_of(patterns[i]), &re, NULL), 0);
			assert_true(regex_match_linear(re, s, SLICE("xacb")));
			assert_non_null(regex_group(s, 0).p);
			assert_null(regex_group(s, 2).p);
		}
	}
	regex_scratch_free(s);
}

/* The numbers of lists start again before they run out. */
static void numbers_wrap(void **state)
{
	(void)state;
	struct regex_syntax syntax;
	assert_int_equal(regex_syntax_read(SLICE("b(a*)c"), &syntax, NULL), 0);
	struct regex_program *program = regex_program_new(&syntax.tree, 1);
	struct regex_linear linear = { 0 };
	size_t offsets[4];
	const struct regex_linear_match match = {
		.program = program, .subject = SLICE("abaac"), .n_groups = 2, .offsets = offsets
	};
	assert_true(regex_linear_match(&linear, &match));
	linear.list_number = UINT32_MAX / 2 + 1;
	assert_true(regex_linear_match(&linear, &match));
	assert_true(linear.list_number < 100);
	assert_int_equal(offsets[0], 1);
	assert_int_equal(offsets[1], 5);
	assert_int_equal(offsets[2], 2);
	assert_int_equal(offsets[3], 4);
	regex_linear_done(&linear);
	regex_program_free(program);
	regex_syntax_done(&syntax);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(same_as_pcre),
		cmocka_unit_test(takes_linear_time),
		cmocka_unit_test(scratch_is_reused),
		cmocka_unit_test(numbers_wrap),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
