/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Texts that are read here and texts that are left to jansson give the same trees and texts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "api/json_text.h"

static void assert_as_jansson(const char *text, size_t len)
{
	static const size_t flags[] = { 0, JSON_DECODE_ANY };
	for (size_t i = 0; i < ARRAY_LEN(flags); i++) {
		json_error_t our_error = { 0 }, their_error = { 0 };
		json_t *ours = api_json_load((struct slice){ text, len }, flags[i], &our_error);
		json_t *theirs = json_loadb(text, len, flags[i], &their_error);
		if ((ours == NULL) != (theirs == NULL) ||
		    (ours != NULL && !json_equal(ours, theirs)))
			fail_msg("read differently: %.*s", (int)len, text);
		assert_string_equal(our_error.text, their_error.text);
		if (theirs != NULL) {
			struct strbuf written = STRBUF_INIT;
			char *want = json_dumps(theirs, JSON_COMPACT | JSON_ENCODE_ANY);
			assert_true(api_json_add(&written, ours));
			assert_string_equal(written.s, want);
			strbuf_done(&written);
			free(want);
		}
		json_decref(ours);
		json_decref(theirs);
	}
}

static const char *const texts[] = {
	"{}",
	" {\t\"a\" :\r\n1 } ",
	"{\"a\":{\"b\":[1,-2,true,false,null,\"x\",[],{}]}}",
	"{\"a\":\"q\\\"b\\\\s\\/t\\b\\f\\n\\r\\t.\"}",
	"{\"a\":\"\\\"\",\"b\":\"plain\",\"c\":\"x\\n\"}",
	"{\"a\\\"b\":\"c\\\"d\"}",
	"{\"k:{\\\"uid\\\":\\\"x\\\"}\":{\"a\\\\b\":{\"c\\n\":\"\\\"\"},\".\":{}}}",
	"{\"a\\\"\":1,\"a\\\"\":2}",
	"{\"a\\\"\":",
	"{\"a\\t\":\"x\\ty\\r\\b\"}",
	"{\"a\\u0022\":\"\"}",
	"{\"a\":\"\\u00e9\\ud83d\\ude00\"}",
	"{\"a\":\"\xc3\xa9\",\"\xc3\xa9\":1}",
	"{\"a\":\"\xc3\"}",
	"{\"a\":\"\\u0000\"}",
	"{\"a\":\"\x1f\"}",
	"{\"a\":\"\\u001f\x7f\"}",
	"{\"a\":1,\"b\":2,\"a\":3}",
	"{\"\":\"\"}",
	"{\"a\":0,\"b\":-0,\"c\":-1}",
	"{\"a\":999999999999999999}",
	"{\"a\":-999999999999999999}",
	"{\"a\":1234567890123456789}",
	"{\"a\":9223372036854775808}",
	"{\"a\":1.5}",
	"{\"a\":1e3}",
	"{\"a\":1E400}",
	"{\"a\":01}",
	"{\"a\":-}",
	"{\"a\":+1}",
	"{\"a\":1",
	"{\"a\":1}}",
	"{\"a\":1,}",
	"{\"a\" 1}",
	"{a:1}",
	"{\"a\":[1,]}",
	"{\"a\":[1 2]}",
	"{\"a\":tru}",
	"{\"a\":truex}",
	"{\"a\":\"",
	"{\"a\":\"\\",
	"{\"a\":\"\\x\"}",
	"",
	" ",
	"null",
	"[1]",
	" [{\"op\":\"add\",\"path\":\"/a\",\"value\":[\"b\"]},{}] ",
	"[]",
	"[1,]",
	"[",
	"[{\"a\":1,\"a\":2}]",
	"\"x\"",
	"1",
	"{\"a\":1} x",
};

static void same_as_jansson(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		assert_as_jansson(texts[i], strlen(texts[i]));
	assert_as_jansson("{\"a\":\"b\0c\"}", 11);
	assert_as_jansson("{\"a\":1}\0", 8);
}

/* All prefixes of a text: none is read beyond its end. */
static void cut_anywhere(void **state)
{
	static const char whole[] = "{\"a\":{\"b\":[12,-3,true,\"x\\n\"]},\"c\":null}";
	(void)state;
	for (size_t n = 0; n < sizeof(whole); n++) {
		char *part = malloc(n > 0 ? n : 1);
		assert_non_null(part);
		memcpy(part, whole, n);
		assert_as_jansson(part, n);
		free(part);
	}
}

/* Each character at each place of a string: eight are checked together. */
static void any_character(void **state)
{
	(void)state;
	for (unsigned ch = 0; ch < 256; ch++) {
		for (size_t at = 0; at < 18; at++) {
			char text[] = "{\"aaaaaaaaaaaaaaaaaa\":\"bbbbbbbbbbbbbbbbbb\"}";
			text[2 + at] = (char)ch;
			assert_as_jansson(text, sizeof(text) - 1);
			text[2 + at] = 'a';
			text[23 + at] = (char)ch;
			assert_as_jansson(text, sizeof(text) - 1);
		}
	}
}

/* As deep as it goes here, one more, and deeper than jansson goes. */
static void nested(void **state)
{
	static const unsigned depths[] = { 63, 64, 65, 100, 2047, 2048, 2049, 5000 };
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(depths); i++) {
		struct strbuf text = STRBUF_INIT;
		strbuf_adds(&text, "{\"a\":");
		for (unsigned k = 1; k < depths[i]; k++)
			strbuf_addc(&text, '[');
		for (unsigned k = 1; k < depths[i]; k++)
			strbuf_addc(&text, ']');
		strbuf_addc(&text, '}');
		assert_as_jansson(text.s, text.n);
		strbuf_done(&text);
	}
}

/* As metadata: each member of an object that was written here, and none that it does not have. */
static void assert_members(const json_t *object)
{
	struct strbuf written = STRBUF_INIT;
	struct slice found;
	const char *key;
	json_t *value;
	strbuf_adds(&written, "{\"kind\":\"{\",\"metadata\":");
	api_json_add(&written, object);
	strbuf_adds(&written, ",\"missing\":{\"missing\":1}}");
	json_object_foreach ((json_t *)(uintptr_t)object, key, value) {
		struct strbuf want = STRBUF_INIT;
		api_json_add(&want, value);
		bool plain = strpbrk(key, "\"\\\n\t") == NULL;
		assert_int_equal(api_json_member(strbuf_slice(&written), "metadata", key, &found),
				 plain);
		if (plain)
			assert_true(slice_eq(found, strbuf_slice(&want)));
		if (json_is_object(value))
			assert_members(value);
		strbuf_done(&want);
	}
	assert_false(api_json_member(strbuf_slice(&written), "metadata", "missing", &found));
	for (size_t n = 0; n < written.n; n++)
		assert_false(api_json_member((struct slice){ written.s, n }, "metadata", "missing",
					     &found));
	strbuf_done(&written);
}

static void members(void **state)
{
	static const char text[] =
		"{\"kind\":\"x\",\"metadata\":{\"resourceVersion\":\"7\",\"labels\":{\"metadata\":"
		"\"}\\\"{\",\"b\":\"\\\\\"},\"k:{\\\"uid\\\":1}\":[\"]\",{\"a\":[]}],\"n\":-1},"
		"\"t\":true,\"z\":null,\"\":{},\"list\":[1,[2,{}]]}";
	struct slice found;
	(void)state;
	json_t *object = api_json_load(slice_of(text), 0, NULL);
	assert_non_null(object);
	assert_members(object);
	json_decref(object);
	static const char *const none[] = {
		"",
		"[]",
		"{}",
		"{\"a\":1}",
		"{\"metadata\":1}",
		"{\"metadata\":[]}",
		"{\"metadata\":{}}",
		"{\"metadata\":{\"a\"}}",
		"{\"metadata\":{\"a\":\"\\",
		"{\"metadata\":{},\"a\":1}",
		"{\"b\":{\"metadata\":{\"a\":1}}}",
	};
	for (size_t i = 0; i < ARRAY_LEN(none); i++)
		assert_false(api_json_member(slice_of(none[i]), "metadata", "a", &found));
}

/* The object's own members; those of the same names elsewhere stay. */
static void identity(void **state)
{
	static const struct {
		const char *text, *want; /* NULL: left to others */
	} rows[] = {
		{ "{\"kind\":\"K\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"n\","
		  "\"managedFields\":[{\"a\":[\"]}\\\"\"]}],\"labels\":{\"managedFields\":\"x\","
		  "\"kind\":\"y\"}},\"data\":{\"metadata\":\"}\"},\"n\":-1.5e3,\"b\":true}",
		  "{\"kind\":\"K\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"n\",\"labels\":{"
		  "\"managedFields\":\"x\",\"kind\":\"y\"}}}" },
		{ " { \"data\" : { } , \"kind\" : \"K\" , \"n\" : 1 } ", "{\"kind\":\"K\"}" },
		{ "{\"data\":1", NULL },
		{ "{\"data\":{\"a\"", NULL },
		{ "{\"data\":\"", NULL },
		{ "[]", NULL },
		{ "{}", "{}" },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct strbuf got = STRBUF_INIT;
		json_t *object = api_json_load_identity(slice_of(rows[i].text));
		assert_int_equal(object != NULL, rows[i].want != NULL);
		if (object != NULL) {
			api_json_add(&got, object);
			assert_string_equal(got.s, rows[i].want);
		}
		json_decref(object);
		strbuf_done(&got);
	}
}

static void not_text(void **state)
{
	struct strbuf out = STRBUF_INIT;
	json_t *wrong = json_pack("{s:o}", "a", json_string_nocheck("\xff"));
	(void)state;
	assert_true(api_json_add(&out, NULL));
	assert_false(api_json_add(&out, wrong));
	assert_string_equal(out.s, "null{\"a\":null}");
	json_decref(wrong);
	strbuf_done(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(same_as_jansson), cmocka_unit_test(cut_anywhere),
		cmocka_unit_test(any_character),   cmocka_unit_test(nested),
		cmocka_unit_test(members),	   cmocka_unit_test(identity),
		cmocka_unit_test(not_text),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
