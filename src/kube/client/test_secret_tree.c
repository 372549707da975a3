/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Trees are wiped before they are freed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "kube/client/secret_tree.h"

static void trees(void **state)
{
	(void)state;
	json_t *o = json_pack("{s:{s:[s]}}", "users", "a", "s3cret");
	json_t *leaf = json_array_get(json_object_get(json_object_get(o, "users"), "a"), 0);
	json_incref(leaf); /* to look at it afterwards */
	kube_secret_tree_wipe(o);
	assert_int_equal(memcmp(json_string_value(leaf), "\0\0\0\0\0\0", 6), 0);
	json_decref(leaf);
	kube_secret_tree_wipe(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(trees),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
