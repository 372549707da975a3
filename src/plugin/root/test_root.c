/* SPDX-License-Identifier: GPL-3.0-or-later */
/* root: the path reaches the block; a missing or unusable folder is reported. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "server/generation.h"
#include "server/server_state.h"
#include "testing/fake_server.h"

static void sets_the_folder_of_the_block(void **state)
{
	(void)state;
	struct fake *f = fake_new("a.example {\n root /nowhere\n root /usr\n whoami\n}\n"
				  "b.example {\n whoami\n}\n");
	assert_non_null(f);
	assert_string_equal(fake_server(f)->gen->block[0].conf.root, "/usr");
	assert_string_equal(fake_server(f)->gen->block[1].conf.root, "");
	assert_string_equal(fake_log(f), "");
	fake_free(f);
}

static void warns_of_a_missing_folder(void **state)
{
	(void)state;
	struct fake *f = fake_new(". {\n root /surely/not/here\n whoami\n}\n");
	assert_non_null(f);
	assert_string_equal(fake_log(f), "[WARNING] plugin/root: Root path does not exist: "
					 "/surely/not/here\n");
	fake_free(f);
}

static void refuses_what_is_no_folder(void **state)
{
	(void)state;
	assert_null(fake_new(". {\n root /dev/null/x\n}\n"));
	assert_string_equal(fake_error(),
			    "Corefile:2:7: root: cannot access '/dev/null/x': Not a directory");
}

static void refuses_wrong_arguments(void **state)
{
	(void)state;
	assert_null(fake_new(". {\n root\n}\n"));
	assert_string_equal(fake_error(), "Corefile:2:2: root: expected a path");
	assert_null(fake_new(". {\n root / b\n}\n"));
	assert_string_equal(fake_error(), "Corefile:2:9: root: unexpected argument 'b'");
	assert_null(fake_new(". {\n root / {\n  x\n }\n}\n"));
	assert_string_equal(fake_error(), "Corefile:3:3: unknown option 'x', there are none");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sets_the_folder_of_the_block),
		cmocka_unit_test(warns_of_a_missing_folder),
		cmocka_unit_test(refuses_what_is_no_folder),
		cmocka_unit_test(refuses_wrong_arguments),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
