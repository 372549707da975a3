/* SPDX-License-Identifier: GPL-3.0-or-later */
/* regex: compared with Go's regexp row by row (test_regex.tsv), and the limits. */
#include "base/regex/regex.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/regex/regex_test.h"
#include "base/regex/syntax_priv.h"
#include "base/strbuf.h"

enum { MIN_ROWS = 9000 };

static int from_hex(char c)
{
	return c <= '9' ? c - '0' : c - 'a' + 10;
}

/* Undoes %xx in place. */
static struct slice decode(char *s)
{
	size_t n = 0;
	for (const char *p = s; *p != '\0'; p++, n++) {
		if (*p == '%') {
			s[n] = (char)(from_hex(p[1]) << 4 | from_hex(p[2]));
			p += 2;
		} else {
			s[n] = *p;
		}
	}
	return (struct slice){ s, n };
}

enum matcher { BOTH, LINEAR, PCRE };

static int match_by(enum matcher matcher, const struct regex *re, struct regex_scratch *s,
		    struct slice subject)
{
	if (matcher == BOTH)
		return regex_match(re, s, subject);
	return matcher == LINEAR ? regex_match_linear(re, s, subject)
				 : regex_match_pcre(re, s, subject);
}

/* "match" or "none" and the rest, in the table's form; nothing when the matcher gives up. */
static void describe_match(struct strbuf *b, enum matcher matcher, const struct regex *re,
			   struct slice subject)
{
	struct regex_scratch *s = regex_scratch_new(regex_groups(re));
	int r = match_by(matcher, re, s, subject);
	if (r >= 0)
		strbuf_adds(b, r == 1 ? "match" : "none");
	for (unsigned i = 0; r == 1 && i <= regex_groups(re); i++) {
		struct slice g = regex_group(s, i);
		ptrdiff_t at = g.p != NULL ? g.p - subject.p : 0;
		if (g.p == NULL)
			strbuf_adds(b, "\t-");
		else
			strbuf_addf(b, "\t%td-%td", at, at + (ptrdiff_t)g.n);
	}
	regex_scratch_free(s);
}

static bool same(const char *shown, const char *who, struct slice want, const struct strbuf *got)
{
	if (slice_eq(strbuf_slice(got), want))
		return true;
	print_error("%s:\n  Go: %s\n  %s: %s\n", shown, want.p, who, got->s);
	return false;
}

/* PCRE2 alone is judged where it finishes, and where it means the same. */
static bool check_matchers(const char *shown, const struct regex *re, struct slice subject,
			   struct slice want)
{
	static const char *const names[] = { [BOTH] = "we", [LINEAR] = "linear", [PCRE] = "PCRE2" };
	bool ok = true;
	for (enum matcher m = BOTH; m <= PCRE; m++) {
		CLEANUP(strbuf_done) struct strbuf got = STRBUF_INIT;
		describe_match(&got, m, re, subject);
		if (m != PCRE || (got.n > 0 && !regex_pcre_differs(re)))
			ok = same(shown, names[m], want, &got) && ok;
	}
	return ok;
}

static bool check_row(char *line)
{
	char *pattern = line, *subject = strchr(line, '\t'), *want;
	*subject++ = '\0';
	want = strchr(subject, '\t');
	*want++ = '\0';
	CLEANUP(freep) char *shown = xasprintf("%s on '%s'", pattern, subject);
	struct slice p = decode(pattern), s = decode(subject), w = decode(want);
	CLEANUP(regex_freep) struct regex *re = NULL;
	struct srcerr err;
	if (regex_new(p, &re, &err) >= 0)
		return check_matchers(shown, re, s, w);
	CLEANUP(strbuf_done) struct strbuf got = STRBUF_INIT;
	strbuf_addf(&got, "refused\t%s", err.text);
	return same(shown, "we", w, &got);
}

static void same_as_go(void **state)
{
	(void)state;
	FILE *f = fopen(SOURCE_DIR "/test_regex.tsv", "re");
	assert_non_null(f);
	char *line = NULL;
	size_t cap = 0, rows = 0, bad = 0;
	ssize_t n;
	while ((n = getline(&line, &cap, f)) > 0) {
		if (line[n - 1] == '\n')
			line[n - 1] = '\0';
		if (line[0] == '#' && strchr(line, '\t') == NULL)
			continue;
		bad += !check_row(line);
		rows++;
	}
	free(line);
	fclose(f);
	assert_true(rows > MIN_ROWS);
	assert_int_equal(bad, 0);
}

static struct regex *compile(const char *pattern)
{
	struct regex *re = NULL;
	struct srcerr err;
	assert_int_equal(regex_new(slice_of(pattern), &re, &err), 0);
	return re;
}

static void names(void **state)
{
	(void)state;
	struct regex *re = compile("(?P<x>a)(b)(?<a_name_of_more_than_thirty_two_bytes>c)(?P<x>d)");
	assert_int_equal(regex_groups(re), 4);
	assert_string_equal(regex_group_name(re, 1), "x");
	assert_null(regex_group_name(re, 2));
	assert_string_equal(regex_group_name(re, 3), "a_name_of_more_than_thirty_two_bytes");
	assert_null(regex_group_name(re, 0));
	assert_null(regex_group_name(re, 5));
	regex_free(re);
	regex_free(NULL);
}

static void matches_all(void **state)
{
	(void)state;
	static const struct {
		const char *pattern;
		bool all;
	} rows[] = { { "", true }, { ".*", true }, { ".+", false }, { "^.*$", false } };
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct regex *re = compile(rows[i].pattern);
		assert_string_equal(regex_pattern(re), rows[i].pattern);
		assert_int_equal(regex_matches_all(re), rows[i].all);
		regex_free(re);
	}
}

/* Patterns on which PCRE2 gives up are known beforehand, and matched all the same. */
static void match_limit(void **state)
{
	(void)state;
	static const struct {
		const char *pattern;
		bool costly;
	} rows[] = {
		{ "(a+)+$", true },    { "^(([a-z])+.)+[A-Z]([a-z])+$", true },
		{ "^(\\d+)*$", true }, { "^([a-z0-9-]+\\.)+example\\.$", false },
		{ "^(a|b)*c", false }, { "^ip-(\\d+)-(\\d+)-(\\d+)-(\\d+)\\.", false },
	};
	char text[200];
	memset(text, 'a', sizeof(text));
	text[sizeof(text) - 1] = '!';
	struct slice subject = { text, sizeof(text) };
	struct regex_scratch *s = regex_scratch_new(8);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct regex *re = compile(rows[i].pattern);
		assert_int_equal(regex_is_costly(re), rows[i].costly);
		assert_false(regex_match(re, s, subject));
		assert_null(regex_group(s, 0).p);
		regex_free(re);
	}
	struct regex *re = compile("(a+)+(!)$|(b+)+$");
	text[sizeof(text) - 2] = 'b';
	assert_int_equal(regex_match_pcre(re, s, subject), ERR_LIMIT);
	assert_false(regex_match(re, s, subject));
	text[sizeof(text) - 1] = 'b';
	assert_int_equal(regex_match_pcre(re, s, subject), ERR_LIMIT);
	assert_true(regex_match(re, s, subject));
	assert_int_equal(regex_group(s, 0).n, 2);
	assert_null(regex_group(s, 1).p);
	assert_true(slice_is(regex_group(s, 3), "bb"));
	regex_free(re);
	regex_scratch_free(s);
}

static void subjects(void **state)
{
	(void)state;
	struct regex *re = compile("^(a)(b)?(.*)$");
	struct regex_scratch *small = regex_scratch_new(1), *s = regex_scratch_new(3);
	assert_int_equal(regex_match(re, s, SLICE("acd")), 1);
	assert_true(slice_is(regex_group(s, 3), "cd"));
	assert_null(regex_group(s, 2).p);
	assert_null(regex_group(s, 4).p);
	assert_int_equal(regex_match(re, small, SLICE("ab")), 1);
	assert_true(slice_is(regex_group(small, 1), "a"));
	assert_null(regex_group(small, 2).p);
	assert_int_equal(regex_match(re, s, (struct slice){ NULL, 0 }), 0);
	/* Bytes that are not UTF-8 are characters of their own. */
	assert_int_equal(regex_match(re, s, SLICE("a\xff\xfe")), 1);
	assert_int_equal(regex_group(s, 3).n, 2);
	assert_int_equal(regex_match(re, s, SLICE("a\xc3")), 1);
	assert_int_equal(regex_match(re, s,
				     SLICE("\xff"
					   "a")),
			 0);
	/* NUL is a character like others. */
	assert_int_equal(regex_match(re, s, SLICE("a\0b")), 1);
	assert_int_equal(regex_group(s, 3).n, 2);
	regex_free(re);
	re = compile("b");
	assert_int_equal(regex_match(re, s,
				     SLICE("\xff\xff"
					   "b\xff")),
			 1);
	regex_free(re);
	regex_scratch_free(small);
	regex_scratch_free(s);
	regex_scratch_free(NULL);
}

static int try_repeated(const char *before, const char *unit, size_t times, const char *after)
{
	CLEANUP(strbuf_done) struct strbuf b = STRBUF_INIT;
	struct regex *re;
	struct srcerr err;
	strbuf_adds(&b, before);
	for (size_t i = 0; i < times; i++)
		strbuf_adds(&b, unit);
	for (size_t i = 0; i < times; i++)
		strbuf_adds(&b, after);
	int r = regex_new(strbuf_slice(&b), &re, &err);
	if (r == 0)
		regex_free(re);
	return r;
}

static void pattern_limits(void **state)
{
	(void)state;
	assert_int_equal(try_repeated("", "a", REGEX_PATTERN_MAX, ""), 0);
	assert_int_equal(try_repeated("", "a", REGEX_PATTERN_MAX + 1, ""), ERR_PARSE);
	assert_int_equal(try_repeated("", "(", REGEX_DEPTH_MAX, ")"), 0);
	assert_int_equal(try_repeated("", "(", REGEX_DEPTH_MAX + 1, ")"), ERR_PARSE);
	assert_int_equal(try_repeated("a*", "(?i)*", 100, ""), 0);
	assert_int_equal(try_repeated("a*", "(?i)*", 1000, ""), ERR_PARSE);
	/* More than the linear matcher's state may take, and than PCRE2's compiled form can
	 * address. */
	assert_int_equal(try_repeated("", "[ab]{1000}", 49, ""), 0);
	assert_int_equal(try_repeated("", "[ab]{1000}", 50, ""), ERR_PARSE);
	assert_int_equal(try_repeated("()", "()", 500, "a{500}"), ERR_PARSE);
	assert_int_equal(try_repeated("", "(abcdefgh){1000}", 100, ""), ERR_PARSE);
	assert_int_equal(regex_new(SLICE("("), NULL, NULL), ERR_PARSE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(same_as_go),  cmocka_unit_test(names),
		cmocka_unit_test(matches_all), cmocka_unit_test(match_limit),
		cmocka_unit_test(subjects),    cmocka_unit_test(pattern_limits),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
