/* SPDX-License-Identifier: GPL-3.0-or-later */
/* bufsize: what the client announced comes back lowered. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include <string.h>

#include "testing/fake_server.h"

static void expect(const char *corefile, uint16_t asked, const char *opt_line)
{
	struct fake *f = fake_new(corefile);
	assert_non_null(f);
	const char *got = fake_ask(f, &(struct fake_ask){ .udp_size = asked });
	assert_non_null(got);
	const char *opt = strstr(got, "opt ");
	assert_string_equal(opt != NULL ? opt : "", opt_line);
	fake_free(f);
}

static void lowers_larger_sizes_only(void **state)
{
	(void)state;
	expect(". {\n bufsize\n whoami\n}\n", 4096, "opt 1232\n");
	expect(". {\n bufsize\n whoami\n}\n", 1232, "opt 1232\n");
	expect(". {\n bufsize\n whoami\n}\n", 1231, "opt 1231\n");
	expect(". {\n bufsize 512\n whoami\n}\n", 513, "opt 512\n");
	expect(". {\n bufsize 4096\n whoami\n}\n", 65535, "opt 4096\n");
	expect(". {\n bufsize 700\n bufsize 800\n whoami\n}\n", 65535, "opt 700\n");
}

static void adds_no_edns(void **state)
{
	(void)state;
	expect(". {\n bufsize\n whoami\n}\n", 0, "");
}

static void refuses(const char *line, const char *why)
{
	char text[128];
	snprintf(text, sizeof(text), ". {\n bufsize %s\n}\n", line);
	assert_null(fake_new(text));
	assert_string_equal(fake_error(), why);
}

static void refuses_wrong_sizes(void **state)
{
	(void)state;
	refuses("511", "Corefile:2:10: <size>: expected a number from 512 to 4096, got '511'");
	refuses("4097", "Corefile:2:10: <size>: expected a number from 512 to 4096, got '4097'");
	refuses("\"512 512\"",
		"Corefile:2:10: <size>: expected a number from 512 to 4096, got '512 512'");
	refuses("512 512", "Corefile:2:14: bufsize: unexpected argument '512'");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lowers_larger_sizes_only),
		cmocka_unit_test(adds_no_edns),
		cmocka_unit_test(refuses_wrong_sizes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
