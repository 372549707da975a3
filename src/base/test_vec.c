/* SPDX-License-Identifier: GPL-3.0-or-later */
/* vec: grows and keeps what it holds. */
#include "base/vec.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct pair {
	int a, b;
};

static void push_and_add(void **state)
{
	(void)state;
	VEC(struct pair) v = { 0 };
	for (int i = 0; i < 1000; i++)
		vec_push(&v, (struct pair){ i, -i });
	struct pair *last = vec_add(&v);
	assert_int_equal(last->a, 0);
	assert_int_equal(last->b, 0);
	assert_ptr_equal(last, &v.v[1000]);
	assert_int_equal(v.n, 1001);
	assert_true(v.cap >= v.n);
	for (int i = 0; i < 1000; i++)
		assert_true(v.v[i].a == i && v.v[i].b == -i);
	vec_done(&v);
	assert_null(v.v);
	assert_int_equal(v.n + v.cap, 0);
	vec_push(&v, (struct pair){ 1, 2 });
	assert_int_equal(v.v[0].b, 2);
	vec_done(&v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(push_and_add),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
