/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The status of a claim in both API versions: its text is what the tree says, and a status that says the
 * same is not changed. */
#include "controller/ipam/claim_report.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "api/meta.h"
#include "base/compiler.h"

enum { GENERATION = 7 };
static const uint64_t now_ns = 1700000000U * UINT64_C(1000000000);

static const struct ipam_claim_report reports[] = {
	{ .address = "vm-1", .reason = "Allocated", .message = "address 10.0.0.1" },
	{ .reason = "PoolExhausted", .message = "pool 'front' has no free address" },
	{ .reason = "AllocationFailed", .message = "" },
	{ .reason = "AllocationFailed",
	  .message = "create: \"a\\b\"\n\tis <wrong> \xc3\xa9 \xf0\x9f\x98\x80",
	  .from_api = true },
};

static const struct ipam_claim_version versions[] = {
	{ .api = "v1beta2", .generation = GENERATION, .now_ns = now_ns },
	{ .api = "v1beta1", .generation = GENERATION, .now_ns = now_ns },
};

static json_t *make_tree(const struct ipam_claim_report *report,
			 const struct ipam_claim_version *claim)
{
	json_t *status = json_object();
	assert_true(ipam_claim_report_set(report, claim, status));
	return status;
}

static void text_is_that_of_the_tree(void **state)
{
	(void)state;
	for (size_t v = 0; v < ARRAY_LEN(versions); v++) {
		for (size_t i = 0; i < ARRAY_LEN(reports); i++) {
			CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
			json_t *tree = make_tree(&reports[i], &versions[v]);
			ipam_claim_report_add(&reports[i], &versions[v], &text);
			json_t *read = json_loadb(text.s, text.n, JSON_REJECT_DUPLICATES, NULL);
			if (!json_equal(read, tree))
				fail_msg("%s %zu: %s", versions[v].api, i, text.s);
			json_decref(read);
			json_decref(tree);
		}
	}
}

/* Both forms, each where its version has it. */
static void forms_of_the_condition(void **state)
{
	static const struct {
		const char *newer, *older;
	} paths[ARRAY_LEN(versions)] = {
		{ "conditions[0]", "deprecated.v1beta1.conditions[0]" },
		{ "v1beta2.conditions[0]", "conditions[0]" },
	};
	(void)state;
	for (size_t v = 0; v < ARRAY_LEN(versions); v++) {
		json_t *status = make_tree(&reports[1], &versions[v]);
		const json_t *newer = api_get(status, paths[v].newer);
		const json_t *older = api_get(status, paths[v].older);
		assert_int_equal(json_integer_value(json_object_get(newer, "observedGeneration")),
				 GENERATION);
		assert_null(json_object_get(newer, "severity"));
		assert_null(json_object_get(older, "observedGeneration"));
		assert_string_equal(api_get_string(older, "severity"), "Warning");
		assert_string_equal(api_get_string(older, "status"), "False");
		json_decref(status);
	}
}

static void later_reports(void **state)
{
	(void)state;
	for (size_t v = 0; v < ARRAY_LEN(versions); v++) {
		struct ipam_claim_version later = versions[v];
		later.now_ns += UINT64_C(60000000000);
		json_t *status = make_tree(&reports[1], &versions[v]);
		assert_false(ipam_claim_report_set(&reports[1], &later, status));
		assert_true(ipam_claim_report_set(&reports[0], &later, status));
		assert_string_equal(api_get_string(status, "addressRef.name"), "vm-1");
		json_t *first = make_tree(&reports[0], &later);
		assert_true(json_equal(status, first));
		assert_true(ipam_claim_report_set(&reports[2], &later, status));
		assert_null(json_object_get(status, "addressRef"));
		json_decref(first);
		json_decref(status);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_is_that_of_the_tree),
		cmocka_unit_test(forms_of_the_condition),
		cmocka_unit_test(later_reports),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
