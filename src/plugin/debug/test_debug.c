/* SPDX-License-Identifier: GPL-3.0-or-later */
/* debug: on while a block asks for it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/log.h"
#include "testing/fake_server.h"

static void follows_the_configuration(void **state)
{
	(void)state;
	assert_false(log_debug_enabled());
	struct fake *f = fake_new("a {\n whoami\n}\nb {\n debug\n debug\n whoami\n}\n");
	assert_non_null(f);
	assert_true(log_debug_enabled());
	assert_true(fake_reload(f, ". {\n whoami\n}\n"));
	assert_false(log_debug_enabled());
	fake_free(f);
}

static void refuses_arguments(void **state)
{
	(void)state;
	assert_null(fake_new(". {\n debug off\n}\n"));
	assert_string_equal(fake_error(), "Corefile:2:8: debug takes no arguments");
	assert_null(fake_new(". {\n debug {\n  x\n }\n}\n"));
	assert_string_equal(fake_error(), "Corefile:2:2: debug takes no options");
	assert_false(log_debug_enabled());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(follows_the_configuration),
		cmocka_unit_test(refuses_arguments),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
