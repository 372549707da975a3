/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Texts kept once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "kube/decode/string_pool.h"
#include "kube/decode/string_pool_test.h"

#include <stdio.h>

static void same_text(void **state)
{
	struct kube_string_pool *t = kube_string_pool_new();
	(void)state;
	const char *a = kube_string_pool_get(t, SLICE("node-1")),
		   *b = kube_string_pool_get(t, SLICE("node-1"));
	const char *c = kube_string_pool_get(t, SLICE("node-10"));
	assert_ptr_equal(a, b);
	assert_string_equal(c, "node-10");
	assert_int_equal(kube_string_pool_count(t), 2);
	assert_string_equal(kube_string_pool_get(t, SLICE("")), "");
	assert_string_equal(kube_string_pool_get(t, SLICE("\0x")), "");
	kube_string_pool_drop(a);
	assert_int_equal(kube_string_pool_count(t), 2);
	assert_ptr_equal(kube_string_pool_get(t, SLICE("node-1")), a);
	kube_string_pool_drop(b);
	kube_string_pool_drop(b);
	assert_int_equal(kube_string_pool_count(t), 1);
	kube_string_pool_free(t);
	assert_string_equal(c, "node-10"); /* still held */
	kube_string_pool_drop(c);
}

/* Many, taken out in another order than put in. */
static void many(void **state)
{
	enum { N = 5000 };
	static const char *held[N];
	struct kube_string_pool *t = kube_string_pool_new();
	char text[32];
	(void)state;
	for (int i = 0; i < N; i++) {
		int n = snprintf(text, sizeof(text), "zone-%d", i);
		held[i] = kube_string_pool_get(t, (struct slice){ text, (size_t)n });
	}
	for (int i = 0; i < N; i += 2)
		kube_string_pool_drop(held[i]);
	assert_int_equal(kube_string_pool_count(t), N / 2);
	for (int i = 1; i < N; i += 2) {
		int n = snprintf(text, sizeof(text), "zone-%d", i);
		assert_ptr_equal(kube_string_pool_get(t, (struct slice){ text, (size_t)n }),
				 held[i]);
		kube_string_pool_drop(held[i]);
		kube_string_pool_drop(held[i]);
	}
	assert_int_equal(kube_string_pool_count(t), 0);
	kube_string_pool_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(same_text),
		cmocka_unit_test(many),
	};
	return cmocka_run_group_tests_name("kube/intern", tests, NULL, NULL);
}
