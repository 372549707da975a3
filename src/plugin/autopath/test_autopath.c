/* SPDX-License-Identifier: GPL-3.0-or-later */
/* autopath: limits, names that do not fit, look-ups that are dropped or fail.
 * The flows are in tests/scenario/autopath.scn and tests/differential. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/strbuf.h"
#include "testing/fake_server.h"

static char path[] = "/tmp/test_autopath.XXXXXX";

static int make_file(void **state)
{
	(void)state;
	int fd = mkstemp(path);
	close(fd);
	return fd < 0;
}

static int remove_file(void **state)
{
	(void)state;
	return unlink(path);
}

static void write_search(const char *text)
{
	FILE *f = fopen(path, "we");
	assert_non_null(f);
	fprintf(f, "search %s\n", text);
	assert_int_equal(fclose(f), 0);
}

static struct fake *start(const char *search, const char *rest)
{
	CLEANUP(strbuf_done) struct strbuf corefile = STRBUF_INIT;
	write_search(search);
	strbuf_addf(&corefile, ". {\n errors\n autopath %s\n%s}\n", path, rest);
	return fake_new(corefile.s);
}

static void number_of_elements(void **state)
{
	(void)state;
	CLEANUP(strbuf_done) struct strbuf search = STRBUF_INIT;
	for (int i = 0; i < 63; i++)
		strbuf_addf(&search, " e%d.test", i);
	struct fake *f = start(search.s, " template IN A x {\n  match ^x[.]$\n"
					 "  answer \"x. 5 IN A 192.0.2.1\"\n }\n"
					 " template IN A . {\n  rcode NXDOMAIN\n }\n");
	assert_non_null(f);
	assert_string_equal(fake_ask(f, &(struct fake_ask){ .name = "x.e0.test." }),
			    "NOERROR qr aa rd\nquestion x.e0.test. IN A\n"
			    "answer x.e0.test. 5 IN CNAME x.\nanswer x. 5 IN A 192.0.2.1\n");
	assert_int_equal(fake_inflight(f), 0);
	fake_free(f);
	strbuf_adds(&search, " one.more");
	assert_null(start(search.s, ""));
	assert_non_null(strstr(fake_error(), "has more than 63 search elements"));
}

static void names_too_long_are_passed_over(void **state)
{
	(void)state;
	char label[64], search[600], name[300];
	memset(label, 'a', 63);
	label[63] = '\0';
	snprintf(search, sizeof(search), "s %s.%s.%s t", label, label, label);
	snprintf(name, sizeof(name), "%s.s.", label);
	struct fake *f =
		start(search, " template IN A t {\n  answer \"{{ .Name }} 5 IN A 192.0.2.1\""
			      "\n }\n template IN A s {\n  rcode NXDOMAIN\n }\n");
	assert_non_null(
		strstr(fake_ask(f, &(struct fake_ask){ .name = name }), ".t. 5 IN A 192.0.2.1\n"));
	fake_free(f);
}

static const struct {
	const char *what, *rest, *reply, *log;
} rows[] = {
	{ "first dropped, second found",
	  " acl a {\n  drop\n }\n template IN A b {\n  answer \"{{ .Name }} 5 IN A 192.0.2.1\"\n "
	  "}\n",
	  "NOERROR qr aa rd\nquestion x.a. IN A\nanswer x.a. 5 IN CNAME x.b.\n"
	  "answer x.b. 5 IN A 192.0.2.1\n",
	  NULL },
	{ "all dropped", " acl {\n  drop\n }\n whoami\n", NULL, NULL },
	{ "all fail without an error", " template IN A . {\n  rcode SERVFAIL\n }\n",
	  "SERVFAIL qr rd\nquestion x.a. IN A\n", NULL },
	{ "first denied, second in error", " template IN A a {\n  rcode NXDOMAIN\n }\n",
	  "SERVFAIL qr rd\nquestion x.a. IN A\n", "plugin/template: no next plugin found" },
	{ "no plugin below", "", "SERVFAIL qr rd\nquestion x.a. IN A\n",
	  "plugin/autopath: no next plugin found" },
	{ "first fails, others denied",
	  " template IN A a {\n  rcode SERVFAIL\n }\n template IN A . {\n  rcode NXDOMAIN\n }\n",
	  "SERVFAIL qr rd\nquestion x.a. IN A\n", NULL },
};

static void outcomes(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct fake *f = start("a b", rows[i].rest);
		assert_non_null(f);
		const char *got = fake_ask(f, &(struct fake_ask){ .name = "x.a." });
		if (rows[i].reply == NULL)
			assert_null(got);
		else if (got == NULL || strcmp(got, rows[i].reply) != 0)
			fail_msg("%s: %s", rows[i].what, got != NULL ? got : "silence");
		if (rows[i].log != NULL)
			assert_non_null(strstr(fake_log(f), rows[i].log));
		assert_int_equal(fake_inflight(f), 0);
		fake_free(f);
	}
}

static void refuses(void **state)
{
	(void)state;
	assert_null(fake_new(". {\n autopath\n}\n"));
	assert_string_equal(fake_error(), "Corefile:2:2: expected a file such as "
					  "/etc/resolv.conf, or @ and the name of a plugin");
	assert_null(fake_new(". {\n autopath @erratic {\n }\n}\n"));
	assert_string_equal(fake_error(), "Corefile:2:2: autopath takes no options");
	assert_null(start("a..b", ""));
	assert_non_null(strstr(fake_error(), "Corefile:3:11: search element 'a..b' of '/tmp/"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(number_of_elements),
		cmocka_unit_test(names_too_long_are_passed_over),
		cmocka_unit_test(outcomes),
		cmocka_unit_test(refuses),
	};
	return cmocka_run_group_tests(tests, make_file, remove_file);
}
