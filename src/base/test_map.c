/* SPDX-License-Identifier: GPL-3.0-or-later */
/* map: keeps insertion order, survives deletion and growth. */
#include "base/map.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

static void set_get_replace(void **state)
{
	(void)state;
	int one, two;
	struct map m;
	map_init(&m);
	assert_null(map_get(&m, SLICE("a")));
	assert_null(map_set(&m, SLICE("a"), &one));
	assert_ptr_equal(map_set(&m, SLICE("a"), &two), &one);
	assert_ptr_equal(map_get(&m, SLICE("a")), &two);
	assert_int_equal(m.n, 1);
	map_done(&m);
}

static void delete_and_grow_keep_the_order(void **state)
{
	(void)state;
	enum { N = 1000 };
	static int values[N];
	struct map m;
	char key[16];
	map_init(&m);
	for (int i = 0; i < N; i++) {
		snprintf(key, sizeof(key), "key%d", i);
		map_set(&m, slice_of(key), &values[i]);
		if (i % 3 == 0)
			assert_ptr_equal(map_del(&m, slice_of(key)), &values[i]);
	}
	size_t pos = 0;
	int at = 0;
	const struct map_entry *e;
	while ((e = map_next(&m, &pos)) != NULL) {
		if (at % 3 == 0)
			at++;
		assert_ptr_equal(e->value, &values[at]);
		at++;
	}
	assert_int_equal(m.n, N - (N + 2) / 3);
	assert_null(map_get(&m, SLICE("key3")));
	assert_ptr_equal(map_get(&m, SLICE("key4")), &values[4]);
	map_done(&m);
}

/* A table that is always full, of whatever size: one in, one out. */
static void churn_costs_the_same_at_any_size(void **state)
{
	(void)state;
	for (int size = 1000; size < 1100; size++) {
		struct map m;
		char key[16];
		int rebuilt = 0;
		map_init(&m);
		for (int i = 0; i < size + 1000; i++) {
			size_t before = m.n_e;
			if (i >= size) {
				snprintf(key, sizeof(key), "key%d", i - size);
				map_del(&m, slice_of(key));
			}
			snprintf(key, sizeof(key), "key%d", i);
			map_set(&m, slice_of(key), &m);
			rebuilt += i >= size && m.n_e <= before;
		}
		assert_in_range(rebuilt, 0, 5);
		map_done(&m);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(set_get_replace),
		cmocka_unit_test(delete_and_grow_keep_the_order),
		cmocka_unit_test(churn_costs_the_same_at_any_size),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
