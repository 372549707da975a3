/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reading metadata, paths, versions, names, times and conditions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "api/meta.h"

static json_t *load(const char *s)
{
	json_t *v = json_loads(s, JSON_DECODE_ANY, NULL);
	assert_non_null(v);
	return v;
}

static void fields(void **state)
{
	json_t *o = load("{\"kind\":\"DNS\",\"apiVersion\":\"operator.openshift.io/v1\","
			 "\"metadata\":{\"name\":\"default\",\"namespace\":\"ns\",\"uid\":\"u\","
			 "\"resourceVersion\":\"12\",\"generation\":3,\"finalizers\":[\"a/b\"],"
			 "\"labels\":{\"x\":\"y\"},\"annotations\":{\"e.org/a\":\"1\"},"
			 "\"deletionTimestamp\":\"2026-01-01T00:00:00Z\"}}");
	CLEANUP(strbuf_done) struct strbuf key = STRBUF_INIT;
	(void)state;
	assert_string_equal(api_kind(o), "DNS");
	assert_string_equal(api_version(o), "operator.openshift.io/v1");
	assert_string_equal(api_name(o), "default");
	assert_string_equal(api_namespace(o), "ns");
	assert_string_equal(api_uid(o), "u");
	assert_string_equal(api_resource_version(o), "12");
	assert_int_equal(api_generation(o), 3);
	assert_true(api_is_deleting(o));
	assert_true(api_has_finalizer(o, "a/b"));
	assert_false(api_has_finalizer(o, "a/c"));
	assert_string_equal(api_label(o, "x"), "y");
	assert_null(api_label(o, "z"));
	assert_string_equal(api_annotation(o, "e.org/a"), "1");
	api_object_key(&key, o);
	assert_string_equal(key.s, "ns/default");
	json_decref(o);
	/* Nothing there, or something else than expected: empty, never a crash. */
	static const char *const odd[] = { "{}", "[]", "1", "{\"metadata\":[]}",
					   "{\"kind\":1,\"metadata\":{\"name\":{},\"labels\":3}}" };
	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
		o = load(odd[i]);
		assert_string_equal(api_kind(o), "");
		assert_string_equal(api_name(o), "");
		assert_int_equal(api_generation(o), 0);
		assert_null(api_label(o, "x"));
		assert_false(api_has_finalizer(o, "x"));
		json_decref(o);
	}
}

static void paths(void **state)
{
	json_t *o =
		load("{\"spec\":{\"l\":[{\"n\":\"a\"},{\"n\":\"b\"}],\"m\":{\"e.org/a\":\"1\"}}}");
	(void)state;
	assert_string_equal(api_get_string(o, "spec.l[1].n"), "b");
	assert_string_equal(api_get_string(o, "spec.m[e.org/a]"), "1");
	assert_ptr_equal(api_get(o, ""), o);
	static const char *const missing[] = { "x",	   "spec.l[2]",	 "spec.l[x]",
					       "spec.l.n", "spec.m[zz]", "spec.l[",
					       "spec[l",   "..",	 "spec.l[0].n.x" };
	for (size_t i = 0; i < sizeof(missing) / sizeof(missing[0]); i++) {
		if (api_get(o, missing[i]) != NULL && strcmp(missing[i], "spec[l") != 0)
			fail_msg("%s", missing[i]);
	}
	assert_string_equal(api_get_string(o, "spec.l"), "");
	json_decref(o);
}

static void names(void **state)
{
	char long_label[65], long_name[255];
	(void)state;
	memset(long_label, 'a', 64);
	long_label[64] = '\0';
	memset(long_name, 'a', 254);
	long_name[254] = '\0';
	assert_true(api_is_label_name("a-1"));
	assert_true(api_is_label_name(long_label + 1));
	static const char *const bad[] = { "", "-a", "a-", "A", "a.b", "a_b" };
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(api_is_label_name(bad[i]));
	assert_false(api_is_label_name(long_label));
	assert_true(api_is_subdomain_name("a.b-c.1"));
	assert_true(api_is_subdomain_name(long_name + 1));
	static const char *const bad_sub[] = { "",     ".a", "a.", "a..b", "a.-b",
					       "a-.b", "-a", "a-", "A" };
	for (size_t i = 0; i < sizeof(bad_sub) / sizeof(bad_sub[0]); i++) {
		if (api_is_subdomain_name(bad_sub[i]))
			fail_msg("%s", bad_sub[i]);
	}
	assert_false(api_is_subdomain_name(long_name));
	char longest_label[64 + sizeof(".b")];
	memset(longest_label, 'a', 64);
	memcpy(longest_label + 64, ".b", sizeof(".b"));
	assert_true(api_is_subdomain_name(longest_label));
	assert_false(api_is_dns_domain(longest_label));
	assert_true(api_is_dns_domain(longest_label + 1));
	assert_true(api_is_dns_domain("b"));
	assert_false(api_is_dns_domain("a..b"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fields),
		cmocka_unit_test(paths),
		cmocka_unit_test(names),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
