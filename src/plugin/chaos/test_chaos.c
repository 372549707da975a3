/* SPDX-License-Identifier: GPL-3.0-or-later */
/* chaos: the names it answers, its strings, and the classes it accepts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include <string.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "testing/fake_server.h"

static const char *ask(struct fake *f, const char *name)
{
	return fake_ask(f, &(struct fake_ask){ .name = name, .type = "TXT", .cls = "CH" });
}

static void tells_the_version(void **state)
{
	(void)state;
	struct fake *f = fake_new(". {\n chaos \"A version\" me\n whoami\n}\n");
	assert_non_null(f);
	assert_string_equal(ask(f, "Version.Bind."),
			    "NOERROR qr rd\n"
			    "question Version.Bind. CH TXT\n"
			    "answer Version.Bind. 0 CH TXT \"A version\"\n");
	assert_string_equal(ask(f, "version.server."),
			    "NOERROR qr rd\n"
			    "question version.server. CH TXT\n"
			    "answer version.server. 0 CH TXT \"A version\"\n");
	fake_free(f);
}

static void tells_the_host(void **state)
{
	(void)state;
	char host[256], want[512];
	struct fake *f = fake_new(". {\n chaos\n}\n");
	assert_non_null(f);
	assert_int_equal(gethostname(host, sizeof(host)), 0);
	snprintf(want, sizeof(want), "answer id.server. 0 CH TXT \"%s\"\n", host);
	assert_non_null(strstr(ask(f, "id.server."), want));
	snprintf(want, sizeof(want), "answer hostname.bind. 0 CH TXT \"%s\"\n", host);
	assert_non_null(strstr(ask(f, "hostname.bind."), want));
	fake_free(f);
}

static void tells_each_author_once(void **state)
{
	(void)state;
	struct fake *f = fake_new(". {\n chaos v b a b\n}\n");
	assert_non_null(f);
	bool a_first = false, b_first = false;
	for (int i = 0; i < 200; i++) {
		const char *got = ask(f, "authors.bind.");
		const char *a = strstr(got, "TXT \"a\""), *b = strstr(got, "TXT \"b\"");
		assert_non_null(a);
		assert_non_null(b);
		assert_null(strstr(b + 1, "TXT \"b\""));
		*(a < b ? &a_first : &b_first) = true;
	}
	assert_true(a_first && b_first);
	fake_free(f);
}

static void has_defaults(void **state)
{
	(void)state;
	struct fake *f = fake_new(". {\n chaos\n}\n");
	assert_non_null(f);
	assert_non_null(strstr(ask(f, "version.bind."), "TXT \"Fairlead-" FAIRLEAD_VERSION "\""));
	assert_non_null(strstr(ask(f, "authors.bind."), "TXT \"Fairlead-authors\""));
	fake_free(f);
}

static void passes_everything_else_on(void **state)
{
	(void)state;
	struct fake *f = fake_new(". {\n chaos\n whoami\n}\n");
	assert_non_null(f);
	assert_non_null(strstr(ask(f, "other.bind."), "_udp"));
	assert_non_null(strstr(ask(f, "x.version.bind."), "_udp"));
	assert_non_null(strstr(
		fake_ask(f, &(struct fake_ask){ .name = "version.bind.", .type = "TXT" }), "_udp"));
	assert_non_null(strstr(
		fake_ask(f,
			 &(struct fake_ask){ .name = "version.bind.", .type = "A", .cls = "CH" }),
		"_udp"));
	fake_free(f);
}

/* Other classes are let in by chaos, for all blocks of the listener. */
static void admits_other_classes(void **state)
{
	(void)state;
	struct fake *f = fake_new("a:53 {\n chaos\n}\nb:53 {\n whoami\n}\nb:54 {\n whoami\n}\n");
	assert_non_null(f);
	assert_non_null(strstr(ask(f, "b."), "NOERROR"));
	assert_non_null(strstr(fake_ask(f, &(struct fake_ask){ .name = "b.",
							       .type = "TXT",
							       .cls = "CH",
							       .listen_port = 54 }),
			       "REFUSED"));
	fake_free(f);
}

static void cuts_long_texts_and_reads_escapes(void **state)
{
	(void)state;
	CLEANUP(strbuf_done) struct strbuf t = STRBUF_INIT;
	strbuf_adds(&t, ". {\n chaos \\065\\bc");
	for (int i = 0; i < 300; i++)
		strbuf_addc(&t, 'x');
	strbuf_adds(&t, "\n}\n");
	struct fake *f = fake_new(t.s);
	assert_non_null(f);
	size_t n;
	assert_non_null(strstr(ask(f, "version.bind."), "\"Abcxxx"));
	const uint8_t *wire = fake_wire(f, &n);
	/* 255 characters were kept, seven of which stand for three bytes. */
	assert_int_equal(wire[n - 252], 251);
	fake_free(f);
}

static void refuses_options_and_too_many_authors(void **state)
{
	(void)state;
	CLEANUP(strbuf_done) struct strbuf t = STRBUF_INIT;
	assert_null(fake_new(". {\n chaos v2 {\n  unknown\n }\n}\n"));
	assert_string_equal(fake_error(), "Corefile:3:3: unknown option 'unknown', there are none");
	strbuf_adds(&t, ". {\n chaos v");
	for (int i = 0; i < 257; i++)
		strbuf_addf(&t, " a%03d", i);
	strbuf_adds(&t, "\n}\n");
	assert_null(fake_new(t.s));
	assert_string_equal(fake_error(), "Corefile:2:1290: chaos: more than 256 authors");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tells_the_version),
		cmocka_unit_test(tells_the_host),
		cmocka_unit_test(tells_each_author_once),
		cmocka_unit_test(has_defaults),
		cmocka_unit_test(passes_everything_else_on),
		cmocka_unit_test(admits_other_classes),
		cmocka_unit_test(cuts_long_texts_and_reads_escapes),
		cmocka_unit_test(refuses_options_and_too_many_authors),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
