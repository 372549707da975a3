/* SPDX-License-Identifier: GPL-3.0-or-later */
/* spec.templates row by row (OP-3…OP-16): what is accepted and which words refuse the rest. */
#include "controller/dnsoperator/test_rows.h"

#include <stdlib.h>

#include "controller/dnsoperator/plan/render.h"
#include "controller/dnsoperator/plan/validate_templates.h"

static void each_row(void **state)
{
	(void)state;
	json_t *rows = rows_load(SOURCE_DIR "/test_validate_templates.json"), *row;
	size_t i, refused = 0;
	json_array_foreach (rows, i, row) {
		const json_t *list = json_object_get(row, "templates");
		const char *domain = api_get_string(row, "domain");
		struct dnsoperator_templates got;
		struct dnsoperator_problems problems = { 0 };
		struct arena a;
		arena_init(&a);
		int r = dnsoperator_templates_check(
			list, domain[0] != '\0' ? domain : "cluster.local", &a, &got, &problems);
		rows_check(row, &problems);
		assert_int_equal(r < 0, problems.n != 0);
		assert_int_equal(got.n, r < 0 ? 0 : json_array_size(list));
		for (size_t k = 0; k < got.n; k++)
			assert_int_equal(
				got.v[k].n_zones,
				json_array_size(json_object_get(json_array_get(list, k), "zones")));
		refused += problems.n != 0;
		dnsoperator_problems_done(&problems);
		arena_done(&a);
	}
	json_decref(rows);
	assert_true(refused >= 60);
}

/* Zones are kept as servers compare them. */
static void zones_are_normal(void **state)
{
	(void)state;
	json_t *list = json_pack("[{ss,s[ss],s{s{}}}]", "name", "a", "zones", "Example.COM.", ".",
				 "action", "returnEmpty");
	struct dnsoperator_templates got;
	struct dnsoperator_problems problems = { 0 };
	struct arena a;
	arena_init(&a);
	assert_int_equal(dnsoperator_templates_check(list, "cluster.local", &a, &got, &problems),
			 0);
	assert_string_equal(got.v[0].zones[0], "example.com");
	assert_string_equal(got.v[0].zones[1], ".");
	arena_done(&a);
	json_decref(list);
}

/* A hostile list costs little and its message stays readable. */
static void many_problems_are_counted(void **state)
{
	(void)state;
	json_t *list = json_array();
	struct dnsoperator_templates got;
	struct dnsoperator_problems problems = { 0 };
	struct strbuf text = STRBUF_INIT;
	struct arena a;
	for (int i = 0; i < DNSOPERATOR_TEMPLATES_MAX; i++) {
		json_t *zones = json_array();
		for (int k = 0; k < DNSOPERATOR_ZONES_MAX; k++)
			json_array_append_new(zones, json_string("_"));
		json_array_append_new(list, json_pack("{ss,so,s{s{}}}", "name", "A", "zones", zones,
						      "action", "returnEmpty"));
	}
	arena_init(&a);
	assert_true(dnsoperator_templates_check(list, "cluster.local", &a, &got, &problems) < 0);
	assert_int_equal(problems.n, DNSOPERATOR_PROBLEMS_MAX);
	assert_int_equal(problems.n + problems.n_more, 20 * 257);
	dnsoperator_problems_text(&problems, &text);
	assert_true(text.n < 8192);
	assert_non_null(strstr(text.s, "There are 5120 more."));
	assert_string_equal(dnsoperator_problems_reason(&problems), "MultipleErrors");
	dnsoperator_problems_done(&problems);
	strbuf_done(&text);
	arena_done(&a);
	json_decref(list);
}

/* A long value is cut at a character, and quoted. */
static void values_are_cut(void **state)
{
	(void)state;
	char value[200];
	struct dnsoperator_problems p = { 0 };
	memset(value, 'x', sizeof(value));
	memcpy(value + DNSOPERATOR_VALUE_MAX - 1, "\xc3\xa4", 2);
	struct slice s = { value, sizeof(value) };
	struct dnsoperator_problem_at at = { .field = "f", .value = &s };
	dnsoperator_problem_add(&p, DNSOPERATOR_INVALID_ZONE, &at, "why", "fix");
	assert_int_equal(strlen(p.v[0].value), DNSOPERATOR_VALUE_MAX - 1 + 2 + 3);
	assert_non_null(strstr(p.v[0].value, "x\"..."));
	dnsoperator_problems_done(&p);
}

static void annotation_has_a_limit(void **state)
{
	(void)state;
	struct dnsoperator_problems p = { 0 };
	json_t *list = NULL;
	char *text = malloc(DNSOPERATOR_ANNOTATION_BYTES_MAX + 2);
	assert_non_null(text);
	memset(text, ' ', DNSOPERATOR_ANNOTATION_BYTES_MAX + 1);
	text[DNSOPERATOR_ANNOTATION_BYTES_MAX + 1] = '\0';
	text[0] = '[';
	text[1] = ']';
	assert_true(dnsoperator_annotation_parse(text, &list, &p) < 0);
	assert_int_equal(p.n, 1);
	text[DNSOPERATOR_ANNOTATION_BYTES_MAX] = '\0';
	assert_int_equal(dnsoperator_annotation_parse(text, &list, &p), 0);
	assert_true(json_is_array(list));
	json_decref(list);
	dnsoperator_problems_done(&p);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_row),
		cmocka_unit_test(zones_are_normal),
		cmocka_unit_test(many_problems_are_counted),
		cmocka_unit_test(values_are_cut),
		cmocka_unit_test(annotation_has_a_limit),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
