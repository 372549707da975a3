/* SPDX-License-Identifier: GPL-3.0-or-later */
/* errors: one line per failed query, and consolidated ones counted per pattern. A chain that ends
 * without an answer is the failure used here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/log.h"
#include "testing/fake_server.h"

static void ask(struct fake *f, const char *name)
{
	assert_string_not_equal(fake_ask(f, &(struct fake_ask){ .name = name }), "");
}

static void refused(const char *corefile, const char *text)
{
	assert_null(fake_new(corefile));
	assert_string_equal(fake_error(), text);
}

static void tells_code_name_type_and_text(void **state)
{
	(void)state;
	struct fake *f = fake_new(". {\n errors\n}\n");
	assert_non_null(f);
	assert_string_equal(fake_ask(f, &(struct fake_ask){ .name = "A\\032b.Test", .type = "MX" }),
			    "SERVFAIL qr rd\nquestion A\\ b.Test. IN MX\n");
	assert_string_equal(fake_log(f), "[ERROR] plugin/errors: 2 a\\ b.test. MX: "
					 "plugin/errors: no next plugin found\n");
	fake_free(f);
}

static void is_silent_about_answers(void **state)
{
	(void)state;
	struct fake *f = fake_new(". {\n errors stdout\n whoami\n}\n");
	assert_non_null(f);
	ask(f, "a.test");
	assert_string_equal(fake_log(f), "");
	fake_free(f);
}

static void counts_what_matches(void **state)
{
	(void)state;
	struct fake *f = fake_new(". {\n errors {\n stacktrace\n consolidate 1h never\n"
				  " consolidate 90s \"^plugin/errors: no\" warning\n"
				  " consolidate 1s . info\n }\n}\n");
	assert_non_null(f);
	for (int i = 0; i < 3; i++)
		ask(f, "a.test");
	fake_advance(f, 89 * NS_PER_S);
	assert_string_equal(fake_log(f), "");
	fake_advance(f, NS_PER_S);
	assert_string_equal(fake_log(f), "[WARNING] plugin/errors: 3 errors like "
					 "'^plugin/errors: no' occurred in last 1m30s\n");
	ask(f, "a.test");
	fake_advance(f, 90 * NS_PER_S);
	assert_string_equal(fake_log(f), "[WARNING] plugin/errors: 1 errors like "
					 "'^plugin/errors: no' occurred in last 1m30s\n");
	fake_free(f);
}

static void shows_the_first_in_the_pattern_s_level(void **state)
{
	(void)state;
	struct fake *f = fake_new(". {\n errors {\n consolidate 1s next info show_first\n }\n}\n");
	assert_non_null(f);
	ask(f, "a.test");
	assert_string_equal(fake_log(f), "[INFO] plugin/errors: 2 a.test. A: "
					 "plugin/errors: no next plugin found\n");
	fake_advance(f, NS_PER_S);
	assert_string_equal(fake_log(f), "");
	ask(f, "a.test");
	ask(f, "b.test");
	fake_advance(f, NS_PER_S);
	assert_string_equal(fake_log(f),
			    "[INFO] plugin/errors: 2 a.test. A: "
			    "plugin/errors: no next plugin found\n"
			    "[INFO] plugin/errors: 2 errors like 'next' occurred in last 1s\n");
	fake_free(f);
}

static void flushes_when_the_configuration_goes(void **state)
{
	(void)state;
	struct fake *f = fake_new(". {\n errors {\n consolidate 1h next error\n }\n}\n");
	assert_non_null(f);
	ask(f, "a.test");
	ask(f, "a.test");
	assert_true(fake_reload(f, ". {\n whoami\n}\n"));
	assert_string_equal(fake_log(f), "[ERROR] plugin/errors: 2 errors like 'next' occurred in "
					 "last 1h0m0s\n");
	fake_free(f);
}

static void keeps_debug_lines_for_debug(void **state)
{
	(void)state;
	struct fake *f = fake_new(". {\n errors {\n consolidate 0s next debug show_first\n }\n}\n");
	assert_non_null(f);
	ask(f, "a.test");
	ask(f, "a.test");
	fake_advance(f, 1);
	assert_string_equal(fake_log(f), "");
	log_set_debug(true);
	ask(f, "a.test");
	assert_string_equal(fake_log(f), "[DEBUG] plugin/errors: 2 a.test. A: "
					 "plugin/errors: no next plugin found\n");
	fake_free(f);
}

static void refuses_what_it_does_not_know(void **state)
{
	(void)state;
	refused(". {\n errors\n errors\n}\n",
		"Corefile:3:2: 'errors' may be used only once in a server block, first at line 2");
	refused(". {\n errors file\n}\n", "Corefile:2:9: <file>: expected stdout, got 'file'");
	refused(". {\n errors {\n consolidate 1 x\n }\n}\n",
		"Corefile:3:14: consolidate: expected a duration such as 5s, got '1'");
	refused(". {\n errors {\n consolidate 1s x error info\n }\n}\n",
		"Corefile:3:25: consolidate: a second log level");
	refused(". {\n errors {\n consolidate 1s x show_first info\n }\n}\n",
		"Corefile:3:30: consolidate: the log level must come before 'show_first'");
	refused(". {\n errors {\n consolidate 1s x loud\n }\n}\n",
		"Corefile:3:19: consolidate: expected warning, error, info, debug or show_first, "
		"got 'loud'");
	refused(". {\n errors {\n consolidate 1s ok\n consolidate 1s (\n }\n}\n",
		"Corefile:4:17: consolidate: error parsing regexp: missing closing ): `(`");
	assert_null(fake_new(". {\n errors {\n consolidate 1s\n }\n}\n"));
	assert_null(fake_new(". {\n errors {\n unknown\n }\n}\n"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tells_code_name_type_and_text),
		cmocka_unit_test(is_silent_about_answers),
		cmocka_unit_test(counts_what_matches),
		cmocka_unit_test(shows_the_first_in_the_pattern_s_level),
		cmocka_unit_test(flushes_when_the_configuration_goes),
		cmocka_unit_test(keeps_debug_lines_for_debug),
		cmocka_unit_test(refuses_what_it_does_not_know),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
