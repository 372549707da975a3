/* SPDX-License-Identifier: GPL-3.0-or-later */
/* expr: test_expr.tsv holds what expr-lang 1.17.8, set up as CoreDNS does, makes of some hundred
 * expressions; here they must give the same. Then the limits, and where we differ on purpose. */
#include "expr/expr.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/regex/regex.h"
#include "base/strbuf.h"
#include "expr/test_env.h"

static const struct expr_value var_values[] = {
	{ .type = EXPR_INT, .i = 7 },
	{ .type = EXPR_STRING, .s = { "seven", 5 } },
	{ .type = EXPR_BOOL, .b = true },
	{ .type = EXPR_FLOAT, .f = 2.5 },
};

static const struct expr_var vars[] = {
	{ { "vi", 2 }, EXPR_INT, &var_values[0] },
	{ { "vs", 2 }, EXPR_STRING, &var_values[1] },
	{ { "vb", 2 }, EXPR_BOOL, NULL },
	{ { "vf", 2 }, EXPR_FLOAT, NULL },
};

static const struct expr_env env = { test_env_funcs, TEST_ENV_FUNCS, vars, ARRAY_LEN(vars) };
static char arena_bytes[4 << 20];

/* What came of a text: V value, E refused at load, R failed at run time; and the words. */
struct outcome {
	char kind;
	char text[8192];
};

static void evaluate(const struct expr *e, size_t arena_size, struct outcome *o)
{
	struct arena a;
	struct expr_value v;
	size_t n;
	struct regex_scratch *scratch = regex_scratch_new(expr_regex_groups(e));
	arena_init_fixed(&a, arena_bytes, arena_size);
	struct expr_run run = { .vars = var_values, .arena = &a, .scratch = scratch };
	int r = expr_eval(e, &run, &v, o->text, sizeof(o->text));
	o->kind = r < 0 ? 'R' : 'V';
	if (r == 0)
		assert_int_equal(expr_value_print(&v, o->text, sizeof(o->text), &n), 0);
	regex_scratch_free(scratch);
}

static void run_text(struct slice text, size_t arena_size, struct outcome *o)
{
	struct expr *e;
	struct srcerr err = { .text = "unset" };
	int r = expr_parse(text, (struct srcpos){ "Corefile", 3, 7 }, &env, &e, &err);
	if (r < 0) {
		o->kind = 'E';
		assert_int_equal(err.pos.line, 3);
		snprintf(o->text, sizeof(o->text), "%s", err.text);
		return;
	}
	evaluate(e, arena_size, o);
	expr_free(e);
}

static void expect(const char *text, char kind, const char *want)
{
	struct outcome o;
	run_text(slice_of(text), sizeof(arena_bytes), &o);
	if (o.kind != kind || (want != NULL && strcmp(o.text, want) != 0))
		fail_msg("%s\n  want %c %s\n  have %c %s", text, kind, want, o.kind, o.text);
}

/* The table writes a newline as \n and a backslash as \\ in results, a newline as \N in texts. */
static void escape(const char *s, struct strbuf *out)
{
	for (; *s != '\0'; s++) {
		if (*s == '\n')
			strbuf_adds(out, "\\n");
		else if (*s == '\t')
			strbuf_adds(out, "\\t");
		else if (*s == '\\')
			strbuf_adds(out, "\\\\");
		else
			strbuf_addc(out, *s);
	}
}

static bool check_row(char kind, char *text, const char *want)
{
	CLEANUP(strbuf_done) struct strbuf src = STRBUF_INIT, have = STRBUF_INIT;
	struct outcome o;
	for (char *p = text; *p != '\0'; p++) {
		bool newline = p[0] == '\\' && p[1] == 'N';
		strbuf_addc(&src, newline ? '\n' : *p);
		p += newline;
	}
	run_text(strbuf_slice(&src), sizeof(arena_bytes), &o);
	escape(o.text, &have);
	bool words = kind == 'V' || kind == 'E';
	if (o.kind == (kind & ~0x20) && (!words || strcmp(have.s, want) == 0))
		return true;
	print_message("%s\n  want %c %s\n  have %c %s\n", text, kind, want, o.kind, have.s);
	return false;
}

/* Lower case e: refused, in other words than ours. */
static void agrees_with_the_original(void **state)
{
	(void)state;
	char line[4096];
	unsigned rows = 0, bad = 0;
	FILE *f = fopen(SOURCE_DIR "/test_expr.tsv", "re");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f) != NULL) {
		char *text = line + strcspn(line, "\t");
		text += *text != '\0';
		char *want = text + strcspn(text, "\t");
		if (*want == '\0')
			fail_msg("row without two tabs: %s", line);
		*want++ = '\0';
		want[strcspn(want, "\n")] = '\0';
		rows++;
		bad += !check_row(line[0], text, want);
	}
	fclose(f);
	assert_true(rows > 300);
	assert_int_equal(bad, 0);
}

/* What expr-lang has and we refuse, and where we are kinder or stricter. */
static void differences(void **state)
{
	(void)state;
	static const char no_time[] = "there are no dates, times and durations in expressions here";
	char want[200];
	static const char *const times[] = { "now", "duration", "date", "timezone" };
	for (size_t i = 0; i < ARRAY_LEN(times); i++) {
		char text[40];
		snprintf(text, sizeof(text), "%s('x')", times[i]);
		snprintf(want, sizeof(want), "builtin %s is not supported: %s (1:1)", times[i],
			 no_time);
		expect(text, 'E', want);
	}
	expect("name() matches name()", 'E',
	       "matches is supported only with a constant pattern (1:16)");
	expect("name", 'E', "name is a function and must be called: name(...) (1:1)");
	expect("len", 'E', "len is a function and must be called: len(...) (1:1)");
	expect("name == 'x'", 'E', "name is a function and must be called: name(...) (1:1)");
	expect("$env", 'E', "$env is supported only as $env.name (1:1)");
	expect("{a:1}.foo()", 'E', "foo is not callable (1:7)");
	/* Unknown names inside a slice of an unknown value are found at load. */
	expect("fromJSON('[1]')[zz:]", 'E', "unknown name zz (1:17)");
	expect("len(nil)", 'E', "invalid argument for len (type nil) (1:1)");
	/* The pattern of a variable that is constant is known at load. */
	expect("'xsevenx' matches vs", 'V', "true");
	expect("'a' matches vi", 'E',
	       "invalid operation: matches (mismatched types string and int)"
	       " (1:5)");
	/* Keys come in order. */
	expect("keys({b:1,c:3,a:2})", 'V', "[a b c]");
	expect("values({b:1,c:3,a:2})", 'V', "[2 1 3]");
	expect("toPairs({b:1,a:2})", 'V', "[[a 2] [b 1]]");
}

/* --- limits --- */

static struct slice repeat(struct strbuf *b, const char *head, const char *body, int n,
			   const char *tail)
{
	strbuf_reset(b);
	strbuf_adds(b, head);
	for (int i = 0; i < n; i++)
		strbuf_adds(b, body);
	strbuf_adds(b, tail);
	return strbuf_slice(b);
}

static void expect_text(struct slice text, char kind, const char *part)
{
	struct outcome o;
	run_text(text, sizeof(arena_bytes), &o);
	if (o.kind != kind || strstr(o.text, part) == NULL)
		fail_msg("%.60s...\n  want %c %s\n  have %c %s", text.p, kind, part, o.kind,
			 o.text);
}

static void limits_of_the_parser(void **state)
{
	(void)state;
	CLEANUP(strbuf_done) struct strbuf b = STRBUF_INIT;
	expect_text(repeat(&b, "len([0", ",1", 9996, "])"), 'V', "9997");
	expect_text(repeat(&b, "len([0", ",1", EXPR_NODES_MAX, "])"), 'E',
		    "expression exceeds maximum allowed nodes");
	expect_text(repeat(&b, "", "(", EXPR_NESTING_MAX - 1, "1"), 'E', "unexpected token EOF");
	expect_text(repeat(&b, "", "(", EXPR_NESTING_MAX, "1"), 'E', "nested too deeply");
	static const char *const nests[] = { "(",	 "-",	      "!",
					     "[",	 "{a:",	      "len(",
					     "vb?1:",	 "2**",	      "if vb {1} else ",
					     "let x=1;", "map([1],",  "vb ? ",
					     "$env[",	 "0..",	      "(1;",
					     "name(",	 "'a'|upper(" };
	for (size_t i = 0; i < ARRAY_LEN(nests); i++) {
		struct outcome o;
		run_text(repeat(&b, "", nests[i], 3000, "1"), sizeof(arena_bytes), &o);
		assert_int_equal(o.kind, 'E');
	}
	expect_text(repeat(&b, "1", "+vi", EXPR_HEIGHT_MAX - 1, ""), 'V', "6994");
	expect_text(repeat(&b, "1", "+vi", EXPR_HEIGHT_MAX, ""), 'E', "nested too deeply");
	expect_text(repeat(&b, "{a:1}", ".a", EXPR_HEIGHT_MAX, ""), 'E', "nested too deeply");
	expect_text(repeat(&b, "1", " ", EXPR_TEXT_MAX - 1, ""), 'V', "1");
	expect_text(repeat(&b, "1", " ", EXPR_TEXT_MAX, ""), 'E', "longer than");
}

static void limits_of_evaluation(void **state)
{
	(void)state;
	expect("len(1..999998)", 'V', "999998");
	expect("len(1..999999) > 0", 'V', "true");
	expect_text(slice_of("len(1..1000000)"), 'R', "memory budget exceeded");
	expect_text(slice_of("len(-9223372036854775807 - 1..9223372036854775807)"), 'R',
		    "memory budget exceeded");
	expect_text(slice_of("len(concat(1..600000, 1..600000))"), 'R', "memory budget exceeded");
	expect_text(slice_of("all(1..1000, all(1..1000, # > 0))"), 'R',
		    "evaluation takes too many steps");
	expect_text(slice_of("len(uniq(1..5000))"), 'R', "evaluation takes too many steps");
	expect("reduce(1..70, [#acc])", 'R', "value is nested too deeply (1:15)");
	expect("reduce(1..70, ({a: #acc}))", 'R', "value is nested too deeply (1:16)");
	/* Many paths to one leaf. */
	expect_text(slice_of("len(string(reduce(1..60, [#acc, #acc], 1)))"), 'R',
		    "memory budget exceeded");
	expect_text(slice_of("len(toJSON(reduce(1..60, [#acc, #acc], 1)))"), 'R',
		    "memory budget exceeded");
	expect_text(slice_of("len(flatten(reduce(1..60, [#acc, #acc], 1)))"), 'R',
		    "evaluation takes too many steps");
	expect("let x = reduce(1..60, [#acc, #acc], 1); x == x", 'R',
	       "evaluation takes too many steps (1:43)");
	expect_text(slice_of("max(reduce(1..60, [#acc, #acc], 1))"), 'R',
		    "evaluation takes too many steps");
	expect_text(slice_of("repeat(repeat('x', 1000), 1000)"), 'R', "memory budget exceeded");
}

static void arena_is_the_bound(void **state)
{
	(void)state;
	static const char *const texts[] = {
		"name() + name()",
		"map(1..100, #)",
		"filter(1..100, true)",
		"reverse(1..100)",
		"sort(1..100)",
		"sortBy(1..100, -#)",
		"groupBy(1..100, #)",
		"split(name(), '')",
		"upper(name() + name())",
		"string(1..100)",
		"toJSON(1..100)",
		"replace(name(), '.', '------------')",
		"repeat('x', 300)",
		"join(map(1..9, '0'))",
		"fromJSON('[1,2,3,4,5,6,7,8,9]')",
		"fromBase64(repeat('AAAA', 40))",
		"{a: name() + '.', b: [vi, vi, vi, vi, vi]}",
		"[vi,vi,vi,vi,vi,vi]",
		"toPairs({a:vi,b:vi,c:vi})",
		"flatten([[vi],[vi],[vi],[vi]])",
		"let x = vi; let y = [x,x,x,x]; y",
		"concat([vi,vi],[vi,vi])",
		"uniq(1..100)",
		"median(1..100)",
		"keys({a:vi,b:vi,c:vi})",
		"fromPairs([['a',1],['b',vi]])",
		"toBase64(name()+name())",
	};
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		bool done = false;
		/* At every size: a value, or "memory budget exceeded"; never a crash. */
		for (size_t n = 0; n < 64 * 1024 && !done; n += n < 512 ? 8 : 512) {
			struct outcome o;
			run_text(slice_of(texts[i]), n, &o);
			if (o.kind == 'R')
				assert_ptr_equal(strstr(o.text, "memory budget exceeded"), o.text);
			else
				done = true;
			assert_true(n > 0 || o.kind == 'R');
		}
		assert_true(done);
	}
}

static void predicates_give_memory_back(void **state)
{
	(void)state;
	struct outcome o;
	run_text(slice_of("all(1..2000, len(string(#) + 'xxxxxxxx') > 8)"), 256, &o);
	assert_string_equal(o.text, "true");
	run_text(slice_of("filter(1..100, # == 50)"), 100 * sizeof(struct expr_value), &o);
	assert_string_equal(o.text, "[50]");
}

/* --- the rest of the interface --- */

static struct expr *parse(const char *text)
{
	struct expr *e = NULL;
	struct srcerr err;
	assert_int_equal(expr_parse(slice_of(text), (struct srcpos){ 0 }, &env, &e, &err), 0);
	return e;
}

static void static_types(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		enum expr_type type;
		bool constant;
	} rows[] = {
		{ "1 + 1", EXPR_INT, true },	      { "vi", EXPR_INT, false },
		{ "vi > 1", EXPR_BOOL, false },	      { "1 / 2", EXPR_FLOAT, true },
		{ "name()", EXPR_STRING, false },     { "nil", EXPR_NIL, true },
		{ "[1,2]", EXPR_LIST, true },	      { "[vi]", EXPR_LIST, false },
		{ "{a:1}", EXPR_MAP, false },	      { "split('a', 'b')", EXPR_STRINGS, false },
		{ "b'a'", EXPR_BYTES, true },	      { "groupBy([1], #)", EXPR_ANYMAP, false },
		{ "fromJSON('1')", EXPR_ANY, false }, { "vb ? 1 : 'a'", EXPR_ANY, false },
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct expr *e = parse(rows[i].text);
		assert_int_equal(expr_type(e), rows[i].type);
		assert_int_equal(expr_constant(e) != NULL, rows[i].constant);
		assert_false(expr_uses_regex(e));
		expr_free(e);
	}
	struct expr *e = parse("name() matches '(a)(b)' or name() matches 'x'");
	assert_true(expr_uses_regex(e));
	assert_int_equal(expr_regex_groups(e), 2);
	expr_free(e);
	expr_free(NULL);
}

static void reserved_names(void **state)
{
	(void)state;
	static const char *const yes[] = { "true", "nil",  "let", "if",	    "not",
					   "len",  "type", "now", "bitand", "endsWith" };
	static const char *const no[] = { "a", "name", "Len", "index", "" };
	for (size_t i = 0; i < ARRAY_LEN(yes); i++)
		assert_true(expr_reserved_name(slice_of(yes[i])));
	for (size_t i = 0; i < ARRAY_LEN(no); i++)
		assert_false(expr_reserved_name(slice_of(no[i])));
}

static void printing_needs_room(void **state)
{
	(void)state;
	char out[4];
	size_t n = 0;
	struct expr_value v = expr_string(SLICE("abc"));
	assert_int_equal(expr_value_print(&v, out, 4, &n), 0);
	assert_int_equal(n, 3);
	assert_string_equal(out, "abc");
	assert_int_equal(expr_value_print(&v, out, 3, &n), ERR_SPACE);
	assert_int_equal(expr_value_print(&v, out, 0, &n), ERR_SPACE);
}

/* --- many threads, one expression --- */

static void *evaluate_often(void *arg)
{
	const struct expr *e = arg;
	char buf[4096], text[200];
	long bad = 0;
	struct regex_scratch *scratch = regex_scratch_new(expr_regex_groups(e));
	for (int i = 0; i < 2000; i++) {
		struct arena a;
		struct expr_value v;
		arena_init_fixed(&a, buf, sizeof(buf));
		struct expr_run run = { .vars = var_values, .arena = &a, .scratch = scratch };
		bad += expr_eval(e, &run, &v, text, sizeof(text)) < 0 || v.type != EXPR_BOOL ||
		       !v.b;
	}
	regex_scratch_free(scratch);
	return (void *)bad;
}

static void one_expression_many_threads(void **state)
{
	(void)state;
	struct expr *e = parse("let p = split(name(), '.'); name() matches '^w+[.]' and "
			       "any(p, # == 'example') and join(map(p, upper(#)), '-') == "
			       "'WWW-EXAMPLE-ORG-'");
	pthread_t threads[4];
	for (size_t i = 0; i < ARRAY_LEN(threads); i++)
		assert_int_equal(pthread_create(&threads[i], NULL, evaluate_often, e), 0);
	for (size_t i = 0; i < ARRAY_LEN(threads); i++) {
		void *bad;
		assert_int_equal(pthread_join(threads[i], &bad), 0);
		assert_null(bad);
	}
	expr_free(e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(agrees_with_the_original),
		cmocka_unit_test(differences),
		cmocka_unit_test(limits_of_the_parser),
		cmocka_unit_test(limits_of_evaluation),
		cmocka_unit_test(arena_is_the_bound),
		cmocka_unit_test(predicates_give_memory_back),
		cmocka_unit_test(static_types),
		cmocka_unit_test(reserved_names),
		cmocka_unit_test(printing_needs_room),
		cmocka_unit_test(one_expression_many_threads),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
