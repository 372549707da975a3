/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Every token, every refusal, and jansson as the judge of what is JSON (issue text: malformed JSON
 * at every byte offset, numbers beyond 2^53, deep nesting). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "kube/decode/test_oracle.h"

static int print(struct slice text, struct strbuf *out)
{
	static const char marks[] = "\"#tfnk{[}";
	struct kube_json j;
	int t;
	kube_json_init(&j, text);
	while ((t = kube_json_next(&j)) >= 0 && t != KUBE_JSON_DONE) {
		strbuf_addc(out, marks[t]);
		if (t == KUBE_JSON_STRING || t == KUBE_JSON_NUMBER || t == KUBE_JSON_KEY)
			strbuf_addf(out, "%.*s ", (int)j.text.n, j.text.p);
	}
	kube_json_done(&j);
	return MIN(t, 0);
}

static const struct {
	const char *in, *out;
} good[] = {
	{ " {} ", "{}" },
	{ "[]", "[}" },
	{ "null", "n" },
	{ "\"\"", "\" " },
	{ "-0", "#-0 " },
	{ "[18446744073709551617,9007199254740993,-1.50E+07,0e0]",
	  "[#18446744073709551617 #9007199254740993 #-1.50E+07 #0e0 }" },
	{ "{\"a\":[{},[true,false]],\"b\":{\"c\":null}}", "{ka [{}[tf}}kb {kc n}}" },
	{ "\t{ \"a\" :\r\n[ 1 , \"x\" ] , \"\" : 2 } ", "{ka [#1 \"x }k #2 }" },
	{ "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0041\"", "\"\"\\/\b\f\n\r\tA " },
	{ "\"a\\u00e4\\u20AC\\ud83d\\uDE00z\"", "\"a\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80z " },
	{ "\"eight by\xc3\xa4te words, and \xf0\x9f\x98\x80\x7f\"",
	  "\"eight by\xc3\xa4te words, and \xf0\x9f\x98\x80\x7f " },
	{ "{\"k\\u0065y\":\"plain\"}", "{kkey \"plain }" },
};

static const char *const bad[] = {
	"",
	" ",
	"{",
	"[",
	"}",
	"]",
	"{]",
	"[}",
	"[1}",
	"{\"a\":1]",
	",",
	":",
	"[,]",
	"[1,]",
	"[,1]",
	"[1 2]",
	"[1,,2]",
	"{,}",
	"{\"a\"}",
	"{\"a\":}",
	"{\"a\":1,}",
	"{\"a\" 1}",
	"{\"a\"::1}",
	"{a:1}",
	"{1:2}",
	"{\"a\":1 \"b\":2}",
	"{\"a\":1,\"b\"}",
	"[\"a\":1]",
	"{}{}",
	"1 2",
	"[] x",
	"nul",
	"nulll",
	"True",
	"tru",
	"truefalse",
	"NaN",
	"Infinity",
	"'a'",
	"-",
	"+1",
	"01",
	"-01",
	"1.",
	".5",
	"1.e3",
	"1e",
	"1e+",
	"0x10",
	"1_0",
	"--1",
	"1-",
	"[-]",
	"\"",
	"\"a",
	"\"\\",
	"\"\\\"",
	"\"\\x\"",
	"\"\\u\"",
	"\"\\u12\"",
	"\"\\u12g4\"",
	"\"\\U0041\"",
	"\"\\ud800\"",
	"\"\\udc00\"",
	"\"\\ud800\\u0041\"",
	"\"\\ud800x\"",
	"\"\\ud83d\\ud83d\"",
	"\"\n\"",
	"\"\x1f\"",
	"\"a tab\tin it\"",
	"\"\xff\"",
	"\"\xc0\x80\"",
	"\"\xc3\"",
	"\"\xc3(\"",
	"\"\xe2\x82\"",
	"\"\xed\xa0\x80\"",
	"\"\xf4\x90\x80\x80\"",
	"\"\x80\"",
	"\"seven..\xe4\"",
	"\"eight...\xe4.......\"",
	"\xef\xbb\xbf{}",
	"// c\n{}",
	"/**/1",
};

/* In memory of exactly that size, so that a byte read behind it is seen. */
static const char *judge(const char *text, size_t n)
{
	char *copy = test_malloc(n + (n == 0));
	memcpy(copy, text, n);
	const char *why = oracle_compare((struct slice){ copy, n });
	test_free(copy);
	return why;
}

static void tokens(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		struct strbuf out = STRBUF_INIT;
		int r = print(slice_of(good[i].in), &out);
		if (r != 0 || strcmp(out.s, good[i].out) != 0)
			fail_msg("%s: %d, %s", good[i].in, r, out.s);
		strbuf_done(&out);
		const char *why = judge(good[i].in, strlen(good[i].in));
		if (why != NULL)
			fail_msg("%s: %s", good[i].in, why);
	}
}

static void refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct strbuf out = STRBUF_INIT;
		int r = print(slice_of(bad[i]), &out);
		if (r != ERR_PARSE)
			fail_msg("%s: %d, %s", bad[i], r, out.s);
		strbuf_done(&out);
		const char *why = judge(bad[i], strlen(bad[i]));
		if (why != NULL)
			fail_msg("%s: %s", bad[i], why);
	}
}

/* A byte of zero ends C strings, not ours: escaped it is a character, bare it is an error. */
static void zero_bytes(void **state)
{
	struct kube_json j;
	(void)state;
	kube_json_init(&j, SLICE("\"a\\u0000b\""));
	assert_int_equal(kube_json_next(&j), KUBE_JSON_STRING);
	assert_true(slice_eq(j.text, SLICE("a\0b")));
	assert_int_equal(kube_json_next(&j), KUBE_JSON_DONE);
	kube_json_done(&j);
	const struct slice raw[] = { SLICE("\"a\0b\""), SLICE("{}\0"), SLICE("\0{}"), SLICE("[\0]"),
				     SLICE("\"\\\0\"") };
	for (size_t i = 0; i < ARRAY_LEN(raw); i++) {
		struct strbuf out = STRBUF_INIT;
		assert_int_equal(print(raw[i], &out), ERR_PARSE);
		assert_null(judge(raw[i].p, raw[i].n));
		strbuf_done(&out);
	}
}

static const char document[] =
	"{\"kind\":\"EndpointSlice\",\"metadata\":{\"name\":\"x\\u00e4-\\ud83d\\ude00\",\"labels\":"
	"{\"a.b/c\":\"\xc3\xa4\xe2\x82\xac\"},\"generation\":9007199254740993},\"endpoints\":[{"
	"\"addresses\":[\"10.0.0.1\",\"fd00::1\"],\"conditions\":{\"ready\":true,\"serving\":null,"
	"\"terminating\":false}},{}],\"n\":[-1.25e-3,0,[],[[ ]]] , \"s\" : \"\\\\\\\"\\n\"}";

/* Cut off anywhere it is no JSON. */
static void prefixes(void **state)
{
	(void)state;
	assert_null(judge(document, strlen(document)));
	for (size_t n = 0; n < strlen(document); n++) {
		struct oracle o = { .key = STRBUF_INIT };
		assert_int_equal(oracle_read(&o, (struct slice){ document, n }), ERR_PARSE);
		json_decref(o.root);
		strbuf_done(&o.key);
		assert_null(judge(document, n));
	}
}

/* One byte changed, lost or added, anywhere: both readers agree. */
static void mutations(void **state)
{
	static const char bytes[] =
		"\"\\{}[],:0-.eE+ntf \n\t\x01\x1f\x7f\x80\xbf\xc3\xe2\xed\xf0\xff/u";
	char text[sizeof(document) + 1];
	size_t n = strlen(document);
	(void)state;
	for (size_t i = 0; i < n; i++) {
		for (size_t b = 0; b < sizeof(bytes); b++) {
			memcpy(text, document, n);
			text[i] = bytes[b];
			const char *why = judge(text, n);
			if (why != NULL)
				fail_msg("byte %zu as %02x: %s", i, (unsigned char)bytes[b], why);
			memmove(text + i + 1, document + i, n - i);
			why = judge(text, n + 1);
			if (why != NULL)
				fail_msg("%02x before %zu: %s", (unsigned char)bytes[b], i, why);
		}
		memcpy(text, document, i);
		memcpy(text + i, document + i + 1, n - i - 1);
		const char *why = judge(text, n - 1);
		if (why != NULL)
			fail_msg("without byte %zu: %s", i, why);
	}
}

static void nest(struct strbuf *b, int n)
{
	strbuf_reset(b);
	for (int i = 0; i < n; i++)
		strbuf_adds(b, i % 3 == 0 ? "{\"a\":" : "[");
	strbuf_adds(b, "1");
	for (int i = n - 1; i >= 0; i--)
		strbuf_adds(b, i % 3 == 0 ? "}" : "]");
}

static void depth_limit(void **state)
{
	struct strbuf b = STRBUF_INIT, out = STRBUF_INIT;
	(void)state;
	nest(&b, KUBE_FRAME_DEPTH_MAX);
	assert_null(judge(b.s, b.n));
	assert_int_equal(print(strbuf_slice(&b), &out), 0);
	nest(&b, KUBE_FRAME_DEPTH_MAX + 1);
	assert_int_equal(print(strbuf_slice(&b), &out), ERR_LIMIT);
	assert_int_equal(oracle_skip(strbuf_slice(&b)), ERR_LIMIT);
	strbuf_done(&b);
	strbuf_done(&out);
}

/* 16 MiB, the largest frame: escaped throughout (copied once), and one long number. */
static void large(void **state)
{
	struct strbuf b = STRBUF_INIT;
	(void)state;
	strbuf_addc(&b, '"');
	while (b.n < KUBE_FRAME_OBJECT_MAX - 2)
		strbuf_adds(&b, "\\n");
	strbuf_addc(&b, '"');
	assert_null(judge(b.s, b.n));
	strbuf_reset(&b);
	while (b.n < KUBE_FRAME_OBJECT_MAX)
		strbuf_adds(&b, "1234567890");
	assert_int_equal(oracle_skip(strbuf_slice(&b)), 0);
	strbuf_done(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tokens),     cmocka_unit_test(refused),
		cmocka_unit_test(zero_bytes), cmocka_unit_test(prefixes),
		cmocka_unit_test(mutations),  cmocka_unit_test(depth_limit),
		cmocka_unit_test(large),
	};
	return cmocka_run_group_tests_name("kube/json", tests, NULL, NULL);
}
