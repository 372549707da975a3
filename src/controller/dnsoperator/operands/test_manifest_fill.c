/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Values into manifests. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "controller/dnsoperator/operands/manifest_fill.h"

static const struct {
	const char *manifest, *want; /* NULL: no object, for lack of: */
	const char *missing;
} rows[] = {
	{ "{\"a\":1,\"b\":[true,null],\"c\":\"x\"}", "{\"a\":1,\"b\":[true,null],\"c\":\"x\"}",
	  NULL },
	{ "{\"a\":\"${TEXT}\"}", "{\"a\":\"t\"}", NULL },
	{ "{\"a\":\"x.${TEXT}.${TEXT}/\"}", "{\"a\":\"x.t.t/\"}", NULL },
	{ "{\"a\":\"${TEXT}${TEXT}\"}", "{\"a\":\"tt\"}", NULL },
	{ "{\"a\":\"${TREE}\"}", "{\"a\":{\"k\":[\"v\"]}}", NULL },
	{ "{\"a\":\"${LIST}\"}", "{\"a\":[\"l\",\"m\"]}", NULL },
	/* a list in a list is part of it, wherever it stands; a list that was one already is not */
	{ "[\"x\",\"${LIST}\",\"y\",[\"z\"]]", "[\"x\",\"l\",\"m\",\"y\",[\"z\"]]", NULL },
	{ "[\"${NONE?}\",\"x\"]", "[\"x\"]", NULL },
	{ "[\"${EMPTY?}\",\"x\"]", "[\"x\"]", NULL },
	{ "{\"a\":\"${NONE?}\",\"b\":{\"c\":\"${NONE?}\"}}", "{\"b\":{}}", NULL },
	{ "{\"a\":\"-${NONE?}-\",\"b\":1}", "{\"b\":1}", NULL },
	{ "{\"a\":\"${NONE}\"}", NULL, "NONE" },
	{ "{\"a\":[{\"b\":\"x${NONE}\"}]}", NULL, "NONE" },
	{ "{\"a\":\"${NONE}\",\"b\":\"${OTHER}\"}", NULL, "NONE" },
	/* neither shell nor what looks like it */
	{ "{\"a\":\"$TEXT $(x) {TEXT}\"}", "{\"a\":\"$TEXT $(x) {TEXT}\"}", NULL },
	/* values are not expanded again */
	{ "{\"a\":\"${DOLLAR} ${TEXT}\"}", "{\"a\":\"${TEXT} t\"}", NULL },
};

static void filled(void **state)
{
	const struct dnsoperator_value v[] = {
		{ "TEXT", json_string("t") },
		{ "LIST", json_pack("[ss]", "l", "m") },
		{ "TREE", json_pack("{s[s]}", "k", "v") },
		{ "NONE", NULL },
		{ "OTHER", NULL },
		{ "EMPTY", json_array() },
		{ "DOLLAR", json_string("${TEXT}") },
	};
	struct dnsoperator_values values = { v, ARRAY_LEN(v) };
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const char *missing = NULL;
		json_t *in = json_loads(rows[i].manifest, 0, NULL);
		json_t *got = dnsoperator_manifest_fill(in, &values, &missing);
		json_t *want = rows[i].want != NULL ? json_loads(rows[i].want, 0, NULL) : NULL;
		assert_non_null(in);
		if (want != NULL ? !json_equal(got, want) : got != NULL)
			fail_msg("%s", rows[i].manifest);
		if (want == NULL)
			assert_string_equal(missing, rows[i].missing);
		json_decref(in);
		json_decref(got);
		json_decref(want);
	}
	for (size_t i = 0; i < ARRAY_LEN(v); i++)
		json_decref(v[i].value);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(filled),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
