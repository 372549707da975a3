/* SPDX-License-Identifier: GPL-3.0-or-later */
/* spec.servers and spec.upstreamResolvers row by row: what CoreDNS would refuse the whole file for
 * is refused here (OP-D5). */
#include "controller/dnsoperator/test_rows.h"

#include "controller/dnsoperator/plan/validate_routes.h"
#include "controller/dnsoperator/plan/validate_templates.h"

static void each_row(void **state)
{
	(void)state;
	json_t *rows = rows_load(SOURCE_DIR "/test_validate_routes.json"), *row;
	size_t i;
	json_array_foreach (rows, i, row) {
		struct dnsoperator_routes routes;
		struct dnsoperator_problems problems = { 0 };
		struct api_errors errs = { 0 };
		const char *domain = api_get_string(row, "domain");
		struct arena a;
		arena_init(&a);
		dnsoperator_routes_read(json_object_get(row, "spec"), &a, &routes, &errs);
		int r = dnsoperator_routes_check(
			&routes, &errs, domain[0] != '\0' ? domain : "cluster.local", &problems);
		rows_check(row, &problems);
		assert_int_equal(r < 0, problems.n != 0);
		dnsoperator_problems_done(&problems);
		api_errors_done(&errs);
		arena_done(&a);
	}
	assert_true(json_array_size(rows) > 90);
	json_decref(rows);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_row),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
