/* SPDX-License-Identifier: GPL-3.0-or-later */
/* any: HINFO to ANY, nothing else touched. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "testing/fake_server.h"

static void answers_any(void **state)
{
	(void)state;
	struct fake *f = fake_new(". {\n any\n whoami\n}\n");
	assert_non_null(f);
	assert_string_equal(
		fake_ask(f, &(struct fake_ask){ .name = "ExAmple.org.", .type = "ANY" }),
		"NOERROR qr rd\n"
		"question ExAmple.org. IN ANY\n"
		"answer ExAmple.org. 8482 IN HINFO \"ANY obsoleted\" \"See RFC 8482\"\n");
	fake_free(f);
}

static void passes_other_types_on(void **state)
{
	(void)state;
	struct fake *f = fake_new(". {\n any\n whoami\n}\n");
	assert_non_null(f);
	assert_non_null(strstr(fake_ask(f, &(struct fake_ask){ .type = "HINFO" }), "_udp"));
	fake_free(f);
}

static void refuses_arguments(void **state)
{
	(void)state;
	assert_null(fake_new(". {\n any example.org\n}\n"));
	assert_string_equal(fake_error(), "Corefile:2:6: any takes no arguments");
	assert_null(fake_new(". {\n any {\n  foo\n }\n}\n"));
	assert_string_equal(fake_error(), "Corefile:3:3: any takes no options");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers_any),
		cmocka_unit_test(passes_other_types_on),
		cmocka_unit_test(refuses_arguments),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
