/* regex: compared with Go's regexp row by row (test_regex.tsv), and the limits. */
#include "base/regex.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/regex_priv.h"
#include "base/strbuf.h"

enum { MIN_ROWS = 5000 };

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

/* Loops whose body can match nothing: PCRE2 ends them at the first empty round, Go tries on with
 * the body's other branches. Both match; the groups, and rarely the end, differ. */
static const char *const empty_loops[] = {
	"(a*)*",    "(a*)+",	 "(a*)*b",  "(a*|b)*", "(a|)*",
	"((a?)*)*", "(a?b?\?)*", "((a*)+)", "(a*b*)*", "(a*b*?)+",
};

static bool has_empty_loop(struct slice pattern)
{
	for (size_t i = 0; i < ARRAY_LEN(empty_loops); i++) {
		if (slice_is(pattern, empty_loops[i]))
			return true;
	}
	return false;
}

/* "match", "none" or "refused" and the rest, in the table's form. */
static void describe(struct strbuf *b, struct slice pattern, struct slice subject)
{
	struct regex *re;
	struct srcerr err;
	if (regex_new(pattern, &re, &err) < 0) {
		strbuf_addf(b, "refused\t%s", err.text);
		return;
	}
	struct regex_scratch *s = regex_scratch_new(regex_groups(re));
	int r = regex_match(re, s, subject);
	strbuf_adds(b, r == 1 ? "match" : r == 0 ? "none" : "limit");
	for (unsigned i = 0; r == 1 && i <= regex_groups(re); i++) {
		struct slice g = regex_group(s, i);
		ptrdiff_t at = g.p != NULL ? g.p - subject.p : 0;
		if (g.p == NULL)
			strbuf_adds(b, "\t-");
		else
			strbuf_addf(b, "\t%td-%td", at, at + (ptrdiff_t)g.n);
	}
	regex_scratch_free(s);
	regex_free(re);
}

static bool check_row(char *line)
{
	CLEANUP(strbuf_done) struct strbuf got = STRBUF_INIT;
	char *pattern = line, *subject = strchr(line, '\t'), *want;
	*subject++ = '\0';
	want = strchr(subject, '\t');
	*want++ = '\0';
	CLEANUP(freep) char *shown = xasprintf("%s on '%s'", pattern, subject);
	struct slice p = decode(pattern), s = decode(subject), w = decode(want);
	describe(&got, p, s);
	struct slice g = strbuf_slice(&got);
	if (has_empty_loop(p)) {
		w = slice_cut(&w, '\t');
		g = slice_cut(&g, '\t');
	}
	if (slice_eq(g, w))
		return true;
	print_error("%s:\n  Go: %s\n  we: %s\n", shown, want, got.s);
	return false;
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
	assert_int_equal(regex_group_index(re, SLICE("x")), 1);
	assert_int_equal(regex_group_index(re, SLICE("a_name_of_more_than_thirty_two_bytes")), 3);
	assert_int_equal(regex_group_index(re, SLICE("y")), -1);
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

/* A pattern that explodes ends with an error, soon, and is known beforehand. */
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
	struct regex_scratch *s = regex_scratch_new(8);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct regex *re = compile(rows[i].pattern);
		assert_int_equal(regex_is_costly(re), rows[i].costly);
		int r = regex_match(re, s, (struct slice){ text, sizeof(text) });
		assert_true(rows[i].costly ? r == ERR_LIMIT || r == 0 : r == 0);
		assert_null(regex_group(s, 0).p);
		regex_free(re);
	}
	struct regex *re = compile("(a+)+$");
	assert_int_equal(regex_match(re, s, (struct slice){ text, sizeof(text) }), ERR_LIMIT);
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
	/* Not UTF-8: matches nothing, and does no harm. */
	assert_int_equal(regex_match(re, s, SLICE("a\xff\xfe")), 0);
	assert_int_equal(regex_match(re, s, SLICE("a\xc3")), 0);
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
	/* More than PCRE2's compiled form can address. */
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
