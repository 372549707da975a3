/* SPDX-License-Identifier: GPL-3.0-or-later */
/* multisocket: the number reaches the server, within its limits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "server/generation.h"
#include "server/server_state.h"
#include "testing/fake_server.h"

static unsigned sockets(const char *corefile)
{
	struct fake *f = fake_new(corefile);
	assert_non_null(f);
	unsigned n = fake_server(f)->gen->sockets;
	fake_free(f);
	return n;
}

static void sets_the_number(void **state)
{
	(void)state;
	assert_int_equal(sockets(". {\n multisocket 1\n}\n"), 1);
	assert_int_equal(sockets(". {\n multisocket 1024\n}\n"), 1024);
	assert_int_equal(sockets(". {\n multisocket\n}\n"), 0);
	assert_int_equal(sockets("a {\n whoami\n}\nb {\n multisocket 3\n}\nc {\n multisocket 4\n}"),
			 3);
}

static void refuses(const char *line, const char *why)
{
	char text[128];
	snprintf(text, sizeof(text), ". {\n %s\n}\n", line);
	assert_null(fake_new(text));
	assert_string_equal(fake_error(), why);
}

static void refuses_wrong_numbers(void **state)
{
	(void)state;
	refuses("multisocket 0",
		"Corefile:2:14: <sockets>: expected a number from 1 to 1024, got '0'");
	refuses("multisocket 1025",
		"Corefile:2:14: <sockets>: expected a number from 1 to 1024, got '1025'");
	refuses("multisocket -1",
		"Corefile:2:14: <sockets>: expected a number from 1 to 1024, got '-1'");
	refuses("multisocket x",
		"Corefile:2:14: <sockets>: expected a number from 1 to 1024, got 'x'");
	refuses("multisocket 2 2", "Corefile:2:16: multisocket: unexpected argument '2'");
	refuses("multisocket 2 {\n  x\n }", "Corefile:3:3: unknown option 'x', there are none");
	refuses("multisocket\n multisocket", "Corefile:3:2: 'multisocket' may be used only once in "
					     "a server block, first at line "
					     "2");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sets_the_number),
		cmocka_unit_test(refuses_wrong_numbers),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
