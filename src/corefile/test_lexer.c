/* SPDX-License-Identifier: GPL-3.0-or-later */
/* lexer: where tokens begin and end, and on which line. */
#include "corefile/lexer_priv.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "corefile/corefile.h"

/* Tokens written as LINE:COL[!]TEXT, `!` for quoted, `|` between tokens, `/` before the first of a
 * line. */
static const struct {
	const char *text;
	const char *tokens;
} cases[] = {
	{ "", "" },
	{ " \t\n\v\f", "" },
	{ "host:123", "/1:1 host:123" },
	{ "host:123\n\n  dir", "/1:1 host:123/3:3 dir" },
	{ "h {\n\td\n}", "/1:1 h|1:3 {/2:2 d/3:1 }" },
	{ "h { d }", "/1:1 h|1:3 {|1:5 d|1:7 }" },
	{ "{}{ }x", "/1:1 {}{|1:5 }x" },
	{ "a # b\n#c\nd", "/1:1 a/3:1 d" },
	{ "a#b c", "/1:1 a|1:5 c" },
	{ "a#b\nc", "/1:1 a/2:1 c" },
	{ "#a \"b\nc\" d", "/2:1 c\"|2:4 d" },
	{ "a \"b # c\" d", "/1:1 a|1:3!b # c|1:11 d" },
	{ "a \"x\\\"y\\\"\" b", "/1:1 a|1:3!x\"y\"|1:12 b" },
	{ "\"don't\\escape\"", "/1:1!don't\\escape" },
	{ "\"two\\\\\" b", "/1:1!two\\\\|1:9 b" },
	{ "\"a\\.b\\d+$\"", "/1:1!a\\.b\\d+$" },
	{ "a \"b\n c\" {\n d", "/1:1 a|1:3!b\n c|2:5 {/3:2 d" },
	{ "\"a\n\nb\"\nc", "/1:1!a\n\nb/4:1 c" },
	{ "\"a\\\nb\" c", "/1:1!a\\\nb|2:4 c" },
	{ "a \"\" b", "/1:1 a|1:3!|1:6 b" },
	{ "a\"b c\"", "/1:1 a\"b|1:5 c\"" },
	{ "\"a\"b", "/1:1!a|1:4 b" },
	{ "\"\"\"\"", "/1:1!|1:3!" },
	{ "'a b'", "/1:1 'a|1:4 b'" },
	{ "a \"b c", "/1:1 a|1:3!b c" },
	{ "a \"", "/1:1 a" },
	{ "a \"b\\", "/1:1 a|1:3!b" },
	{ "a b\r\nc\r\n", "/1:1 a|1:3 b/2:1 c" },
	{ "a\rb", "/1:1 ab" },
	{ "\"a\r\nb\" c", "/1:1!a\r\nb|2:4 c" },
	{ "\xef\xbb\xbf:8080", "/1:1 :8080" },
	{ "\xef\xbb\xbf\xef\xbb\xbf", "/1:1 \xef\xbb\xbf" },
	{ "\xc3\xa4 b", "/1:1 \xc3\xa4|1:3 b" },
	{ "a\xc2\xa0"
	  "b\xe2\x80\xa8"
	  "c\xe3\x80\x80"
	  "d",
	  "/1:1 a|1:3 b|1:5 c|1:7 d" },
	{ "a\xe2\x80\x8b"
	  "b",
	  "/1:1 a\xe2\x80\x8b"
	  "b" },
	{ "\xff\xc3 x", "/1:1 \xef\xbf\xbd\xef\xbf\xbd|1:4 x" },
};

static void cuts_like_coredns(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct arena a;
		struct corefile_toks toks;
		struct strbuf out = STRBUF_INIT;
		arena_init(&a);
		assert_int_equal(corefile_lex(&a, "f", slice_of(cases[i].text), &toks, NULL), 0);
		for (size_t k = 0; k < toks.n; k++) {
			const struct corefile_tok *t = &toks.v[k];
			strbuf_addf(&out, "%s%u:%u%s%s", t->bol ? "/" : "|", t->w.pos.line,
				    t->w.pos.col, t->quoted ? "!" : " ", t->w.s);
		}
		assert_string_equal(out.s, cases[i].tokens);
		strbuf_done(&out);
		arena_done(&a);
	}
}

static void refuses_nul(void **state)
{
	(void)state;
	struct arena a;
	struct corefile_toks toks;
	struct srcerr err;
	char text[128];
	arena_init(&a);
	assert_int_equal(corefile_lex(&a, "f", SLICE("a\n b\0c"), &toks, &err), ERR_PARSE);
	assert_string_equal(srcerr_str(&err, text, sizeof(text)),
			    "f:2:2: unexpected NUL byte in a word, expected text");
	arena_done(&a);
}

static void counts_tokens(void **state)
{
	(void)state;
	struct arena a;
	struct corefile_toks toks;
	struct strbuf text = STRBUF_INIT;
	arena_init(&a);
	for (int i = 0; i < COREFILE_MAX_TOKENS; i++)
		strbuf_adds(&text, "a ");
	assert_int_equal(corefile_lex(&a, "f", strbuf_slice(&text), &toks, NULL), 0);
	assert_int_equal(toks.n, COREFILE_MAX_TOKENS);
	strbuf_addc(&text, 'a');
	assert_int_equal(corefile_lex(&a, "f", strbuf_slice(&text), &toks, NULL), ERR_LIMIT);
	strbuf_done(&text);
	arena_done(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cuts_like_coredns),
		cmocka_unit_test(refuses_nul),
		cmocka_unit_test(counts_tokens),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
