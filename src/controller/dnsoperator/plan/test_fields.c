/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Every field of the DNS object, row by row, against what the original makes of it (OP-D1, OP-D2,
 * OP-D5). A row: `ref` to docs/requirements, the `field`, a `spec`, texts that the Corefile `has`
 * or `lacks`, and what else comes of it. Fields of the CRD without a row fail the test. */
#include "controller/dnsoperator/test_rows.h"

#include "api/yaml/yaml.h"
#include "base/readfile.h"
#include "controller/dnsoperator/plan/plan.h"

enum { FILE_MAX = 1 << 20 };

/* Rows of these are in other files: test_validate_templates.json, and the tests of what runs on nodes. */
static const char *const elsewhere[] = { "spec.templates[]", "spec.nodePlacement" };

static void check_text(const json_t *row, const char *text)
{
	const char *ref = api_get_string(row, "ref"), *field = api_get_string(row, "field");
	size_t i;
	json_t *v;
	json_array_foreach (json_object_get(row, "has"), i, v) {
		if (strstr(text, json_string_value(v)) == NULL)
			fail_msg("%s, %s: '%s' is not in:\n%s", ref, field, json_string_value(v),
				 text);
	}
	json_array_foreach (json_object_get(row, "lacks"), i, v) {
		if (strstr(text, json_string_value(v)) != NULL)
			fail_msg("%s, %s: '%s' is in:\n%s", ref, field, json_string_value(v), text);
	}
}

static void check_row(const json_t *row)
{
	static const struct dnsoperator_ca ca[] = { { "ca", "ca-ca-7" } };
	static const struct dnsoperator_facts facts = { .platform = DNSOPERATOR_OPENSHIFT,
							.ca = ca,
							.n_ca = 1 };
	json_t *dns = json_pack("{sO}", "spec", json_object_get(row, "spec"));
	struct dnsoperator_plan_in in = { .dns = dns, .facts = &facts };
	struct dnsoperator_plan p;
	const char *problem = api_get_string(row, "problem"),
		   *advice = api_get_string(row, "advice");
	const json_t *write = json_object_get(row, "write");
	dnsoperator_plan_make(&in, &p);
	check_text(row, p.corefile.s);
	assert_int_equal(p.servers.n, problem[0] != '\0');
	if (problem[0] != '\0')
		assert_string_equal(p.servers.v[0].field, problem);
	assert_int_equal(p.advice.n != 0, advice[0] != '\0');
	if (advice[0] != '\0' && strstr(p.advice.s, advice) == NULL)
		fail_msg("'%s' is not in: %s", advice, p.advice.s);
	assert_true(p.write == (write == NULL || json_is_true(write)));
	assert_true(p.verbose == json_is_true(json_object_get(row, "verbose")));
	dnsoperator_plan_done(&p);
	json_decref(dns);
}

static void each_row(void **state)
{
	json_t *rows = *state, *row;
	size_t i;
	json_array_foreach (rows, i, row)
		check_row(row);
}

static bool has_row(const json_t *rows, const char *field)
{
	size_t i;
	json_t *row;
	for (i = 0; i < ARRAY_LEN(elsewhere); i++) {
		if (strncmp(field, elsewhere[i], strlen(elsewhere[i])) == 0)
			return true;
	}
	json_array_foreach (rows, i, row) {
		if (strcmp(api_get_string(row, "field"), field) == 0)
			return true;
	}
	return false;
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the schema in the file */
static size_t count_fields(const json_t *schema, const char *path, const json_t *rows)
{
	json_t *properties = json_object_get(schema, "properties"), *v;
	const char *name;
	char below[400];
	size_t n = 0;
	if (json_object_get(schema, "items") != NULL) {
		snprintf(below, sizeof(below), "%s[]", path);
		return count_fields(json_object_get(schema, "items"), below, rows);
	}
	json_object_foreach (properties, name, v) {
		snprintf(below, sizeof(below), "%s.%s", path, name);
		n += count_fields(v, below, rows);
	}
	if (json_object_size(properties) == 0 && !has_row(rows, path))
		fail_msg("%s has no row", path);
	return n + (json_object_size(properties) == 0);
}

static void all_fields_have_rows(void **state)
{
	static const char path[] =
		SOURCE_DIR "/../../../../deploy/crds/operator.openshift.io_dnses.yaml";
	struct strbuf text = STRBUF_INIT;
	struct api_docs docs;
	struct srcerr err;
	assert_int_equal(readfile_path(path, FILE_MAX, 0, &text), 0);
	assert_int_equal(api_yaml_parse("crd", strbuf_slice(&text), &docs, &err), 0);
	const json_t *version = json_array_get(api_get(docs.v[0], "spec.versions"), 0);
	const json_t *spec = api_get(version, "schema.openAPIV3Schema.properties.spec");
	assert_true(count_fields(spec, "spec", *state) > 30);
	api_docs_done(&docs);
	strbuf_done(&text);
}

static int load(void **state)
{
	*state = rows_load(SOURCE_DIR "/test_fields.json");
	return 0;
}

static int unload(void **state)
{
	json_decref(*state);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_row),
		cmocka_unit_test(all_fields_have_rows),
	};
	return cmocka_run_group_tests(tests, load, unload);
}
