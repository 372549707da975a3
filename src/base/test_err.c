/* SPDX-License-Identifier: GPL-3.0-or-later */
/* err: a text for every code. */
#include "base/err.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void texts(void **state)
{
	(void)state;
	assert_string_equal(err_str(0), "success");
	assert_string_equal(err_str(5), "success");
	assert_string_equal(err_str(ERR_PARSE), "malformed input");
	assert_string_equal(err_str(ERR_INTERNAL), "internal error");
	assert_string_equal(err_str(-ENOENT), "No such file or directory");
	assert_string_equal(err_str(-999), "unknown error");
	assert_string_equal(err_str(-5000), "unknown error");
#define X(name, number, text) assert_true(ERR_##name < -1000);
	ERR_MAP(X)
#undef X
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
