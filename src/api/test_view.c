/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Views by table: every type, defaults, ranges, nested lists, and errors with their places. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "api/view.h"
#include "base/err.h"
#include "base/mem.h"

struct server {
	const char *name;
	struct api_strings zones;
};

struct conf {
	const char *level;
	int64_t port, ttl_ns, free;
	bool on, off;
	int policy;
	struct api_strings words;
	struct api_structs servers;
	const json_t *tree;
};

static const char *const policies[] = { "Random", "Sequential", NULL };

static const struct api_view_row server_rows[] = {
	{ "name", API_VIEW_STRING, offsetof(struct server, name), .required = true },
	{ "forward.zones", API_VIEW_STRINGS, offsetof(struct server, zones), .min = 1, .max = 2 },
};
static const struct api_view server_view = { server_rows, ARRAY_LEN(server_rows),
					     sizeof(struct server) };

#define AT(member) offsetof(struct conf, member)
static const struct api_view_row rows[] = {
	{ "spec.level", API_VIEW_STRING, AT(level), .required = false },
	{ "spec.port", API_VIEW_INT, AT(port), .min = 1, .max = 65535, .def = 53 },
	{ "spec.free", API_VIEW_INT, AT(free), .min = INT64_MIN },
	{ "spec.cache.ttl", API_VIEW_DURATION, AT(ttl_ns), .min = 1000000000, .def = 5 },
	{ "spec.on", API_VIEW_BOOL, AT(on), .def = true },
	{ "spec.off", API_VIEW_BOOL, AT(off), .required = false },
	{ "spec.policy", API_VIEW_WORD, AT(policy), .def = 1, .words = policies },
	{ "spec.words", API_VIEW_STRINGS, AT(words), .required = false },
	{ "spec.servers", API_VIEW_STRUCTS, AT(servers), .max = 2, .sub = &server_view },
	{ "spec.tree", API_VIEW_TREE, AT(tree), .required = false },
};
static const struct api_view view = { rows, ARRAY_LEN(rows), sizeof(struct conf) };

static json_t *json_of(const char *text)
{
	json_error_t e;
	json_t *v = json_loads(text, 0, &e);
	if (v == NULL)
		fail_msg("%s: %s", text, e.text);
	return v;
}

static void everything(void **state)
{
	json_t *o = json_of(
		"{\"spec\":{\"level\":\"Debug\",\"port\":5353,\"free\":-7,\"cache\":{\"ttl\":"
		"\"1m30s\"},\"on\":false,\"off\":true,\"policy\":\"Random\",\"words\":[\"a\","
		"\"\"],\"servers\":[{\"name\":\"x\",\"forward\":{\"zones\":[\"a\",\"b\"]}},"
		"{\"name\":\"y\"}],\"tree\":{\"k\":[1]},\"unknown\":1}}");
	struct api_errors errs = { 0 };
	struct conf c;
	struct arena a;
	(void)state;
	arena_init(&a);
	assert_int_equal(api_view_fill(&view, o, &a, &c, &errs), 0);
	assert_string_equal(c.level, "Debug");
	assert_int_equal(c.port, 5353);
	assert_int_equal(c.free, -7);
	assert_int_equal(c.ttl_ns, 90000000000);
	assert_true(!c.on && c.off);
	assert_int_equal(c.policy, 0);
	assert_int_equal(c.words.n, 2);
	assert_string_equal(c.words.v[0], "a");
	assert_int_equal(c.servers.n, 2);
	const struct server *s = c.servers.v;
	assert_string_equal(s[0].name, "x");
	assert_string_equal(s[0].zones.v[1], "b");
	assert_string_equal(s[1].name, "y");
	assert_int_equal(s[1].zones.n, 0);
	assert_int_equal(json_array_size(json_object_get(c.tree, "k")), 1);
	arena_done(&a);
	json_decref(o);
}

static void defaults(void **state)
{
	static const char *const texts[] = {
		"{}",
		"{\"spec\":{}}",
		"{\"spec\":5}",
		"{\"spec\":{\"level\":null,\"port\":null,\"cache\":[],\"servers\":null}}",
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		struct api_errors errs = { 0 };
		struct conf c;
		struct arena a;
		json_t *o = json_of(texts[i]);
		arena_init(&a);
		memset(&c, 0xff, sizeof(c));
		assert_int_equal(api_view_fill(&view, o, &a, &c, &errs), 0);
		assert_string_equal(c.level, "");
		assert_true(c.port == 53 && c.ttl_ns == 5 && c.on && !c.off && c.policy == 1);
		assert_true(c.words.n == 0 && c.servers.n == 0 && c.tree == NULL);
		arena_done(&a);
		json_decref(o);
	}
}

static void errors(void **state)
{
	static const struct {
		const char *text, *err;
	} cases[] = {
		{ "{\"level\":5}", "spec.level: Invalid value: 5: must be a string" },
		{ "{\"port\":\"x\"}", "spec.port: Invalid value: \"x\": must be an integer" },
		{ "{\"port\":1.5}", "spec.port: Invalid value: 1.5: must be an integer" },
		{ "{\"port\":0}", "spec.port: Invalid value: 0: must be between 1 and 65535" },
		{ "{\"port\":65536}",
		  "spec.port: Invalid value: 65536: must be between 1 and 65535" },
		{ "{\"cache\":{\"ttl\":\"5\"}}",
		  "spec.cache.ttl: Invalid value: \"5\": must be a duration like 1m30s" },
		{ "{\"cache\":{\"ttl\":\"10ms\"}}",
		  "spec.cache.ttl: Invalid value: \"10ms\": must be at least 1000000000" },
		{ "{\"on\":\"true\"}", "spec.on: Invalid value: \"true\": must be a boolean" },
		{ "{\"policy\":\"Other\"}", "spec.policy: Unsupported value: \"Other\": supported "
					    "values: \"Random\", \"Sequential\"" },
		{ "{\"policy\":{}}", "spec.policy: Unsupported value: {}: supported values: "
				     "\"Random\", \"Sequential\"" },
		{ "{\"words\":\"a\"}",
		  "spec.words: Invalid value: \"a\": must be a list of strings" },
		{ "{\"words\":[\"a\",1]}",
		  "spec.words: Invalid value: 1: must be a list of strings" },
		{ "{\"servers\":{}}",
		  "spec.servers: Invalid value: {}: must be a list of objects" },
		{ "{\"servers\":[{\"name\":\"a\"},{}]}", "spec.servers[1].name: Required value" },
		{ "{\"servers\":[{\"name\":\"\"}]}", "spec.servers[0].name: Required value" },
		{ "{\"servers\":[5]}", "spec.servers[0].name: Required value" },
		{ "{\"servers\":[{\"name\":\"a\",\"forward\":{\"zones\":[]}}]}",
		  "spec.servers[0].forward.zones: Invalid value: 0: must be between 1 and 2" },
		{ "{\"servers\":[{},{},{}]}",
		  "spec.servers: Invalid value: 3: must be between 0 and 2" },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		CLEANUP(strbuf_done) struct strbuf got = STRBUF_INIT;
		struct api_errors errs = { 0 };
		struct conf c;
		struct arena a;
		json_t *o = json_pack("{so}", "spec", json_of(cases[i].text));
		arena_init(&a);
		assert_int_equal(api_view_fill(&view, o, &a, &c, &errs), ERR_CONFIG);
		assert_int_equal(errs.n, 1);
		strbuf_addf(&got, "%s: %s", errs.v[0].field, errs.v[0].body);
		assert_string_equal(got.s, cases[i].err);
		assert_true(c.port == 53 && c.policy == 1); /* invalid values have their default */
		api_errors_done(&errs);
		arena_done(&a);
		json_decref(o);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(everything),
		cmocka_unit_test(defaults),
		cmocka_unit_test(errors),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
