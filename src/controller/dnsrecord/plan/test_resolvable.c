/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The condition Resolvable: answers compared, described, and written only when something changed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "api/meta.h"
#include "base/compiler.h"
#include "controller/dnsrecord/plan/resolvable.h"

static struct provider_rrset set_of(const char *const *values, size_t count)
{
	return (struct provider_rrset){ .values = values, .n_values = count };
}

static void values_are_compared(void **state)
{
	static const char *const two[] = { "192.0.2.1", "192.0.2.2" };
	static const char *const other[] = { "192.0.2.1", "192.0.2.3" };
	struct provider_rrset wanted = set_of(two, 2), found = set_of(two, 2);
	(void)state;
	found.ttl_s = 7; /* that of a cache */
	assert_true(dnsrecord_is_resolved(&wanted, &found));
	found = set_of(other, 2);
	assert_false(dnsrecord_is_resolved(&wanted, &found));
	found = set_of(two, 1);
	assert_false(dnsrecord_is_resolved(&wanted, &found));
	found = set_of(NULL, 0);
	assert_false(dnsrecord_is_resolved(&wanted, &found));
}

static void assert_described(const char *const *values, size_t count, bool is_alias,
			     const char *text)
{
	CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
	struct provider_rrset found = set_of(values, count);
	dnsrecord_describe_answer(&found, is_alias, &out);
	assert_string_equal(out.s, text);
}

static void answers_are_described(void **state)
{
	static const char *const values[] = { "a", "b\n", "c", "d", "e" };
	char text[200] = { 0 };
	const char *const long_one[] = { text };
	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	assert_described(NULL, 0, false, "DNS answers that there is no such record");
	assert_described(NULL, 0, true, "DNS answers with a CNAME");
	assert_described(values, 2, false, "DNS answers with \"a\", \"b\\n\"");
	assert_described(values, 5, false, "DNS answers with \"a\", \"b\\n\", \"c\" and 2 more");
	CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
	struct provider_rrset found = set_of(long_one, 1);
	dnsrecord_describe_answer(&found, false, &out);
	assert_true(out.n < 130);
}

static void written_when_it_changes(void **state)
{
	json_t *object = json_pack("{s:{s:[{s:s, s:s}]}}", "status", "conditions", "type", "Other",
				   "status", "True");
	struct dnsrecord record = { .object = object };
	(void)state;
	assert_false(dnsrecord_has_resolvable(&record, DNSRECORD_RESOLVED, NULL));
	json_t *patch = dnsrecord_resolvable_patch(&record, DNSRECORD_RESOLVED, NULL, 1);
	const json_t *list = api_get(patch, "status.conditions");
	assert_int_equal(json_array_size(list), 2); /* that of others stays */
	json_object_update(json_object_get(object, "status"), json_object_get(patch, "status"));
	json_decref(patch);
	assert_null(dnsrecord_resolvable_patch(&record, DNSRECORD_RESOLVED, NULL, 2));
	assert_true(dnsrecord_has_resolvable(&record, DNSRECORD_RESOLVED, NULL));
	patch = dnsrecord_resolvable_patch(&record, DNSRECORD_OTHER, "x", 3);
	json_object_update(json_object_get(object, "status"), json_object_get(patch, "status"));
	json_decref(patch);
	assert_true(dnsrecord_has_resolvable(&record, DNSRECORD_OTHER, "x"));
	assert_false(dnsrecord_has_resolvable(&record, DNSRECORD_OTHER, "y"));
	assert_non_null(patch = dnsrecord_resolvable_patch(&record, DNSRECORD_OTHER, "y", 4));
	json_decref(patch);
	json_decref(object);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_are_compared),
		cmocka_unit_test(answers_are_described),
		cmocka_unit_test(written_when_it_changes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
