/* SPDX-License-Identifier: GPL-3.0-or-later */
/* bind: what a block listens on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include <string.h>

#include "base/strbuf.h"
#include "server/server.h"
#include "testing/fake_server.h"

static void expect(const char *corefile, const char *zones)
{
	CLEANUP(strbuf_done) struct strbuf t = STRBUF_INIT;
	struct fake *f = fake_new(corefile);
	assert_non_null(f);
	server_print_zones(fake_server(f), &t);
	assert_string_equal(t.s, zones);
	fake_free(f);
}

static void listens_on_the_addresses_given(void **state)
{
	(void)state;
	expect(". {\n bind 127.0.0.1\n}\n", ".:53 on 127.0.0.1\n");
	expect(". {\n bind 127.0.0.1 ::1\n}\n", ".:53 on 127.0.0.1\n.:53 on ::1\n");
	expect(". {\n bind 127.0.0.1\n bind ::1\n}\n", ".:53 on 127.0.0.1\n.:53 on ::1\n");
	expect(". {\n whoami\n}\n", ".:53\n");
}

static void leaves_exceptions_out(void **state)
{
	(void)state;
	expect(". {\n bind 127.0.0.1 127.0.0.2 ::1 {\n  except 127.0.0.2 ::1\n }\n}\n",
	       ".:53 on 127.0.0.1\n");
	/* They are those of one line. */
	expect(". {\n bind 127.0.0.1 127.0.0.2 {\n  except 127.0.0.2\n }\n bind 127.0.0.2\n}\n",
	       ".:53 on 127.0.0.1\n.:53 on 127.0.0.2\n");
}

static void blocks_are_told_apart_by_address(void **state)
{
	(void)state;
	expect("a {\n bind 127.0.0.1\n}\na {\n bind 127.0.0.2\n}\n",
	       "a.:53 on 127.0.0.1\na.:53 on 127.0.0.2\n");
	assert_null(fake_new("a {\n bind 127.0.0.1\n}\na {\n bind 127.0.0.1\n}\n"));
	assert_null(fake_new(". {\n bind 127.0.0.1 127.0.0.1\n}\n"));
}

static void refuses(const char *line, const char *why)
{
	char text[256];
	snprintf(text, sizeof(text), ". {\n %s\n}\n", line);
	assert_null(fake_new(text));
	assert_string_equal(fake_error(), why);
}

static void refuses_wrong_words(void **state)
{
	(void)state;
	refuses("bind", "Corefile:2:2: bind: expected at least one address or interface");
	refuses("bind ::1 noone", "Corefile:2:11: bind: expected an IP address or the name of an "
				  "interface, got 'noone'");
	refuses("bind ::1 {\n  exept ::1\n }",
		"Corefile:3:3: unknown option 'exept', expected one of: except");
	refuses("bind ::1 {\n  except\n }", "Corefile:3:3: except: expected more arguments");
	refuses("bind ::1 {\n  except x\n }", "Corefile:3:10: bind: expected an IP address or the "
					      "name of an interface, got 'x'");
	refuses("bind ::1 {\n  except ::1\n }",
		"Corefile:2:2: bind: no address is left to listen on");
}

static void limits_the_number(void **state)
{
	(void)state;
	CLEANUP(strbuf_done) struct strbuf t = STRBUF_INIT;
	strbuf_adds(&t, ". {\n");
	for (int i = 0; i < 1025; i++)
		strbuf_addf(&t, " bind 127.0.%d.%d\n", i / 256, i % 256);
	strbuf_adds(&t, "}\n");
	assert_null(fake_new(t.s));
	assert_string_equal(fake_error(), "Corefile:1026:2: bind: more than 1024 addresses");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(listens_on_the_addresses_given),
		cmocka_unit_test(leaves_exceptions_out),
		cmocka_unit_test(blocks_are_told_apart_by_address),
		cmocka_unit_test(refuses_wrong_words),
		cmocka_unit_test(limits_the_number),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
