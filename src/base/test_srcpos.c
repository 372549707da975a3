/* SPDX-License-Identifier: GPL-3.0-or-later */
/* srcpos: errors with and without a place. */
#include "base/srcpos.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"

static void with_a_place(void **state)
{
	(void)state;
	struct srcerr e;
	char buf[64];
	assert_int_equal(srcerr_set(&e, (struct srcpos){ "Corefile", 3, 7 }, "no '%s'", "x"),
			 ERR_PARSE);
	assert_string_equal(srcerr_str(&e, buf, sizeof(buf)), "Corefile:3:7: no 'x'");
	assert_int_equal(srcerr_set(&e, (struct srcpos){ NULL, 0, 0 }, "no"), ERR_PARSE);
	assert_string_equal(srcerr_str(&e, buf, sizeof(buf)), "no");
	assert_int_equal(srcerr_set(NULL, e.pos, "no"), ERR_PARSE);
}

static void cut_short(void **state)
{
	(void)state;
	struct srcerr e;
	char buf[8];
	assert_int_equal(srcerr_set(&e, (struct srcpos){ "f", 1, 1 }, "%0600d", 1), ERR_PARSE);
	assert_int_equal(strlen(e.text), sizeof(e.text) - 1);
	assert_string_equal(srcerr_str(&e, buf, sizeof(buf)), "f:1:1: ");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(with_a_place),
		cmocka_unit_test(cut_short),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
