/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names and values of external-dns's TXT records. */
#include "cmd/adopt/registry.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/compiler.h"

static void names(void **state)
{
	static const struct {
		struct adopt_affixes affixes;
		const char *name, *type, *expected;
	} rows[] = {
		{ { "", "" }, "www.example.com", "A", "a-www.example.com" },
		{ { "", "" }, "www.example.com", "CNAME", "cname-www.example.com" },
		{ { "", "" }, "*.example.com", "AAAA", "aaaa-*.example.com" },
		{ { "", "" }, "www.example.com", NULL, "www.example.com" },
		{ { "p-", "" }, "www.example.com", "A", "p-a-www.example.com" },
		{ { "p-", "" }, "www.example.com", NULL, "p-www.example.com" },
		{ { "", "-s" }, "www.example.com", "A", "a-www-s.example.com" },
		{ { "%{record_type}.X.", "" }, "www.example.com", "A", "a.x.www.example.com" },
		{ { "", "-%{record_type}" }, "www.example.com", "A", "www-a.example.com" },
		{ { "", "" }, "com", "A", "a-com" },
	};
	char name[ADOPT_NAME_MAX];
	char long_prefix[ADOPT_NAME_MAX + 1];
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		assert_true(
			adopt_registry_name(&rows[i].affixes, rows[i].name, rows[i].type, name));
		assert_string_equal(name, rows[i].expected);
	}
	memset(long_prefix, 'x', sizeof(long_prefix) - 1);
	long_prefix[sizeof(long_prefix) - 1] = '\0';
	assert_false(
		adopt_registry_name(&(struct adopt_affixes){ long_prefix, "" }, "a.b", "A", name));
}

static void values(void **state)
{
	static const struct {
		const char *value, *owner, *resource; /* owner NULL: not external-dns's */
	} rows[] = {
		{ "heritage=external-dns,external-dns/owner=me,external-dns/resource=service/a/b",
		  "me", "service/a/b" },
		{ "\"heritage=external-dns,external-dns/owner=default\"", "default", "" },
		{ "heritage=external-dns", "", "" },
		{ "heritage=external-dns,,x,external-dns/owner=", "", "" },
		{ "heritage=external-dnsx,external-dns/owner=me", NULL, NULL },
		{ "heritage=mate,mate/owner=me", NULL, NULL },
		{ "v=spf1 -all", NULL, NULL },
		{ "", NULL, NULL },
		{ "\"", NULL, NULL },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct adopt_registration found;
		assert_int_equal(adopt_registry_read(rows[i].value, &found), rows[i].owner != NULL);
		if (rows[i].owner == NULL)
			continue;
		assert_true(slice_is(found.owner, rows[i].owner));
		assert_true(slice_is(found.resource, rows[i].resource));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(names), cmocka_unit_test(values) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
