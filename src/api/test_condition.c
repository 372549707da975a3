/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Conditions change when they should and their times only then. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "api/condition.h"
#include "base/clock.h"

static const char *since(const json_t *l, const char *type)
{
	return json_string_value(
		json_object_get(api_condition_find(l, type), "lastTransitionTime"));
}

static void set_and_change(void **state)
{
	json_t *l = json_array();
	struct api_condition c = { "Valid", API_TRUE, "AsExpected", "fine", 3, false };
	(void)state;
	assert_int_equal(api_condition_status(l, "Valid"), API_UNKNOWN);
	assert_true(api_condition_set(l, &c, 0));
	assert_int_equal(api_condition_status(l, "Valid"), API_TRUE);
	assert_string_equal(since(l, "Valid"), "1970-01-01T00:00:00Z");
	assert_false(api_condition_set(l, &c, NS_PER_S)); /* nothing new: nothing to write */
	c.message = "still fine";
	c.generation = 4;
	assert_true(api_condition_set(l, &c, 2 * NS_PER_S));
	assert_string_equal(since(l, "Valid"), "1970-01-01T00:00:00Z");
	c.status = API_FALSE;
	assert_true(api_condition_set(l, &c, 3 * NS_PER_S));
	assert_string_equal(since(l, "Valid"), "1970-01-01T00:00:03Z");
	assert_int_equal(json_array_size(l), 1);
	struct api_condition other = { "Applied", API_UNKNOWN, "Unreachable", NULL, 0, false };
	assert_true(api_condition_set(l, &other, 0));
	assert_int_equal(json_array_size(l), 2);
	assert_null(json_object_get(api_condition_find(l, "Applied"), "observedGeneration"));
	assert_string_equal(
		json_string_value(json_object_get(api_condition_find(l, "Applied"), "status")),
		"Unknown");
	json_decref(l);
}

static const char *time_of(const json_t *list, const char *key)
{
	return json_string_value(json_object_get(api_condition_find(list, "A"), key));
}

/* lastUpdateTime moves with any change, lastTransitionTime with the status alone. */
static void updated_time(void **state)
{
	json_t *l = json_array();
	struct api_condition c = { "A", API_TRUE, "R", "m", .has_updated_time = true };
	(void)state;
	assert_true(api_condition_set(l, &c, 0));
	assert_string_equal(time_of(l, "lastUpdateTime"), "1970-01-01T00:00:00Z");
	assert_false(api_condition_set(l, &c, NS_PER_S));
	assert_string_equal(time_of(l, "lastUpdateTime"), "1970-01-01T00:00:00Z");
	c.message = "other";
	assert_true(api_condition_set(l, &c, 2 * NS_PER_S));
	assert_string_equal(time_of(l, "lastUpdateTime"), "1970-01-01T00:00:02Z");
	assert_string_equal(time_of(l, "lastTransitionTime"), "1970-01-01T00:00:00Z");
	json_decref(l);
}

/* The text is that of the entry which api_condition_set makes. */
static void written_as_set(void **state)
{
	static const struct api_condition rows[] = {
		{ "Ready", API_TRUE, "Fine", "a \"b\"\n", 7, false },
		{ "Ready", API_FALSE, "Bad", NULL, 0, true },
		{ "Ready", API_UNKNOWN, "Who", "", 0, false },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
		json_t *list = json_array();
		api_condition_set(list, &rows[i], 1700000000ULL * 1000000000U);
		api_condition_write(&text, &rows[i], 1700000000ULL * 1000000000U);
		strbuf_addc(&text, '}');
		json_t *got = json_loads(text.s, 0, NULL);
		assert_true(json_equal(got, json_array_get(list, 0)));
		json_decref(got);
		json_decref(list);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(written_as_set),
					    cmocka_unit_test(set_and_change),
					    cmocka_unit_test(updated_time) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
