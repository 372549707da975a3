/* SPDX-License-Identifier: GPL-3.0-or-later */
/* JSONPath: the paths that printer columns use, and invalid ones. */
#include "apiserver/codec/jsonpath.h"
#include "apiserver/codec/jsonpath_test.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "apiserver/kind/resource.h"
#include "base/mem.h"
#include "base/strbuf.h"

static const char object[] =
	"{\"metadata\":{\"name\":\"x\",\"labels\":{\"a.b/c\":\"L\",\"plain\":\"P\"}},"
	"\"status\":{\"n\":[1,2,3],\"nets\":[{\"x\":1},{\"cidr\":\"10/8\"},{\"cidr\":\"11/8\"}],"
	"\"conditions\":[{\"type\":\"A\",\"status\":\"True\",\"n\":1},"
	"{\"type\":\"B)\",\"status\":\"False\",\"n\":2.5,\"ok\":true}],"
	"\"map\":{\"k\":{\"ip\":\"1.2.3.4\"}},"
	"\"deep\":[{\"l\":[{\"t\":\"no\"}],\"v\":1},{\"l\":[{\"t\":\"yes\"}],\"v\":2}]}}";

static const struct {
	const char *path, *want; /* NULL: nothing is found */
} rows[] = {
	{ ".metadata.name", "\"x\"" },
	{ "{.metadata.name}", "\"x\"" },
	{ "$.metadata['name']", "\"x\"" },
	{ ".metadata.labels['a.b/c']", "\"L\"" },
	{ ".metadata.labels[\"plain\"]", "\"P\"" },
	{ ".metadata.labels.a\\.b/c", "\"L\"" },
	{ ".metadata.missing.more", NULL },
	{ ".metadata.name.more", NULL },
	{ ".status.n", "[1,2,3]" },
	{ ".status.n[0]", "1" },
	{ ".status.n[-1]", "3" },
	{ ".status.n[-4]", NULL },
	{ ".status.n[3]", NULL },
	{ ".status.n[*]", "1" },
	{ ".status.nets[*].cidr", "\"10/8\"" },
	{ ".status.map[*].ip", "\"1.2.3.4\"" },
	{ ".status.map.*.ip", "\"1.2.3.4\"" },
	{ ".status.conditions[?(@.type==\"A\")].status", "\"True\"" },
	{ ".status.conditions[?( @.type == 'B)' )].status", "\"False\"" },
	{ ".status.conditions[?(@.type!=\"A\")].status", "\"False\"" },
	{ ".status.conditions[?(@.type==\"C\")].status", NULL },
	{ ".status.conditions[?(@.n==2.5)].status", "\"False\"" },
	{ ".status.conditions[?(@.n==1)].status", "\"True\"" },
	{ ".status.conditions[?(@.ok)].status", "\"False\"" },
	{ ".status.conditions[?(@.ok==true)].status", "\"False\"" },
	{ ".status.conditions[?(@.ok==false)].status", NULL },
	{ ".status.n[?(@==2)]", "2" },
	{ ".status.deep[?(@.l[*].t==\"yes\")].v", "2" },
	{ ".", object },
};

static void finds_the_first(void **state)
{
	json_t *o = json_loads(object, 0, NULL);
	(void)state;
	assert_non_null(o);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		assert_true(apiserver_jsonpath_check(rows[i].path));
		const json_t *v = apiserver_jsonpath_first(o, rows[i].path);
		CLEANUP(freep)
		char *text = v != NULL ? json_dumps(v, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;
		if ((text == NULL) != (rows[i].want == NULL) ||
		    (text != NULL && strcmp(text, rows[i].want) != 0))
			fail_msg("%s: %s", rows[i].path, text != NULL ? text : "(nothing)");
	}
	json_decref(o);
}

static void refuses_others(void **state)
{
	static const char *const bad[] = {
		"",
		"x",
		"..x",
		".a[",
		".a[x]",
		".a[1",
		".a['x]",
		".a['']",
		".a[1:2]",
		".a[?(]",
		".a[?(@.x=)]",
		".a[?(@.x==)]",
		".a[?(x)]",
		".a[?(@.x==1]",
		".a b",
		".a[99999999999]",
		"{.a",
		".a[?(@..)]",
	};
	CLEANUP(strbuf_done) struct strbuf b = STRBUF_INIT;
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		if (apiserver_jsonpath_check(bad[i]))
			fail_msg("%s passes", bad[i]);
	}
	for (int i = 0; i < APISERVER_JSONPATH_STEPS_MAX; i++)
		strbuf_adds(&b, ".a");
	assert_true(apiserver_jsonpath_check(b.s));
	strbuf_adds(&b, ".a");
	assert_false(apiserver_jsonpath_check(b.s));
	assert_null(apiserver_jsonpath_first(json_null(), b.s));
	strbuf_reset(&b);
	strbuf_addc(&b, '.');
	for (int i = 0; i < APISERVER_JSONPATH_NAME_MAX_BYTES; i++)
		strbuf_addc(&b, 'a');
	assert_true(apiserver_jsonpath_check(b.s));
	strbuf_addc(&b, 'a');
	assert_false(apiserver_jsonpath_check(b.s));
}

static void all_columns_are_understood(void **state)
{
	size_t n, paths = 0;
	const struct apiserver_resource *const *all = apiserver_resources(&n);
	(void)state;
	for (size_t i = 0; i < n; i++) {
		for (size_t c = 0; c < all[i]->n_columns; c++) {
			const char *path = all[i]->columns[c].path;
			if (path != NULL && !apiserver_jsonpath_check(path))
				fail_msg("%s: %s", all[i]->kind->kind, path);
			paths += path != NULL;
		}
	}
	assert_true(paths > 50);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_the_first),
		cmocka_unit_test(refuses_others),
		cmocka_unit_test(all_columns_are_understood),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
