/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Table cells compared with those of a real API server, which are in test_table_cells.json (recorded and
 * compared by tests/kube/test_cells.py). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "api/meta.h"
#include "apiserver/kind/resource.h"
#include "base/mem.h"

static bool same_columns(const struct apiserver_resource *r, const json_t *want)
{
	if (json_array_size(want) != r->n_columns)
		return false;
	for (size_t i = 0; i < r->n_columns; i++) {
		if (strcmp(json_string_value(json_array_get(want, i)), r->columns[i].name) != 0)
			return false;
	}
	return true;
}

/* The value at a column's path; all paths here are simple. */
static void fill(const struct apiserver_resource *r, const json_t *o, json_t *cells)
{
	for (size_t i = 0; i < r->n_columns; i++) {
		bool empty = json_is_null(json_array_get(cells, i));
		assert_int_equal(empty, r->columns[i].path != NULL);
		if (empty)
			json_array_set(cells, i, api_get(o, r->columns[i].path + 1));
	}
}

static void recorded_cells(void **state)
{
	json_error_t e;
	json_t *file = json_load_file(SOURCE_DIR "/test_table_cells.json", 0, &e), *row;
	size_t i, bad = 0;
	(void)state;
	assert_non_null(file);
	uint64_t now = (uint64_t)json_integer_value(json_object_get(file, "now"));
	json_array_foreach (json_object_get(file, "rows"), i, row) {
		const json_t *o = json_object_get(row, "object");
		const struct apiserver_resource *r = apiserver_resource_of(o);
		json_t *cells = r->strategy->cells(o, now), *want = json_object_get(row, "cells");
		assert_true(same_columns(r, json_object_get(row, "columns")));
		assert_non_null(cells);
		fill(r, o, cells);
		if (!json_equal(cells, want)) {
			CLEANUP(freep) char *a = json_dumps(want, 0);
			CLEANUP(freep) char *b = json_dumps(cells, 0);
			print_error("row %zu\n--- server\n%s\n--- ours\n%s\n", i, a, b);
			bad++;
		}
		json_decref(cells);
	}
	assert_int_equal(bad, 0);
	assert_true(i >= 45);
	json_decref(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(recorded_cells),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
