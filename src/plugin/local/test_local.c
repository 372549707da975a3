/* SPDX-License-Identifier: GPL-3.0-or-later */
/* local: every kind of name it answers, and what it leaves to others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include <string.h>

#include "base/compiler.h"
#include "testing/fake_server.h"

#define SOA " 604800 IN SOA localhost. root.localhost. 1 0 0 0 604800\n"

static const struct {
	const char *name, *type, *status, *record; /* record NULL: passed on to whoami */
} rows[] = {
	{ "localhost.", "A", "NOERROR", "answer localhost. 604800 IN A 127.0.0.1\n" },
	{ "LocalHost.", "AAAA", "NOERROR", "answer LocalHost. 604800 IN AAAA ::1\n" },
	{ "localhost.", "NS", "NOERROR", "answer localhost. 604800 IN NS localhost.\n" },
	{ "localhost.", "SOA", "NOERROR", "answer localhost." SOA },
	{ "localhost.", "TXT", "NOERROR", "authority localhost." SOA },
	{ "localhost.", "PTR", "NOERROR", "authority localhost." SOA },
	{ "a.localhost.", "A", "NOERROR", "answer a.localhost. 604800 IN A 127.0.0.1\n" },
	{ "b.a.localhost.", "AAAA", "NOERROR", "answer b.a.localhost. 604800 IN AAAA ::1\n" },
	{ "a.localhost.", "NS", "NOERROR", "authority a.localhost." SOA },
	{ "a.localhost.", "SOA", "NOERROR", "authority a.localhost." SOA },
	{ "localhost.x.", "A", "NOERROR", "answer localhost.x. 604800 IN A 127.0.0.1\n" },
	{ "localhost.x.y.", "MX", "NOERROR", "authority localhost.x.y." SOA },
	{ "0.in-addr.arpa.", "A", "NOERROR", "authority 0.in-addr.arpa." SOA },
	{ "127.in-addr.arpa.", "AAAA", "NOERROR", "authority 127.in-addr.arpa." SOA },
	{ "127.in-addr.arpa.", "SOA", "NOERROR", "answer 127.in-addr.arpa." SOA },
	{ "255.in-addr.arpa.", "NS", "NOERROR",
	  "answer 255.in-addr.arpa. 604800 IN NS localhost.\n" },
	{ "1.0.0.127.in-addr.arpa.", "PTR", "NOERROR",
	  "answer 1.0.0.127.in-addr.arpa. 604800 IN PTR localhost.\n" },
	{ "1.0.0.127.in-addr.arpa.", "A", "NOERROR", "authority 127.in-addr.arpa." SOA },
	{ "2.0.0.127.in-addr.arpa.", "PTR", "NXDOMAIN", "authority 127.in-addr.arpa." SOA },
	{ "1.255.in-addr.arpa.", "NS", "NXDOMAIN", "authority 255.in-addr.arpa." SOA },
	{ "xlocalhost.", "A", "NOERROR", NULL },
	{ "localhostx.y.", "A", "NOERROR", NULL },
	{ "1.in-addr.arpa.", "PTR", "NOERROR", NULL },
	{ ".", "NS", "NOERROR", NULL },
};

static void answers_local_names(void **state)
{
	(void)state;
	struct fake *f = fake_new(". {\n local\n whoami\n}\n");
	assert_non_null(f);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char want[512];
		const char *got = fake_ask(
			f, &(struct fake_ask){ .name = rows[i].name, .type = rows[i].type });
		assert_non_null(got);
		if (rows[i].record == NULL) {
			assert_non_null(strstr(got, "_udp."));
			continue;
		}
		snprintf(want, sizeof(want), "%s qr rd\nquestion %s IN %s\n%s", rows[i].status,
			 rows[i].name, rows[i].type, rows[i].record);
		assert_string_equal(got, want);
	}
	fake_free(f);
}

static void prefix_can_be_switched_off(void **state)
{
	(void)state;
	struct fake *f = fake_new(". {\n local {\n  localhost_prefix off\n }\n whoami\n}\n");
	assert_non_null(f);
	assert_non_null(strstr(fake_ask(f, &(struct fake_ask){ .name = "localhost.x." }), "_udp."));
	assert_non_null(
		strstr(fake_ask(f, &(struct fake_ask){ .name = "x.localhost." }), "127.0.0.1"));
	fake_free(f);
}

static void counts_names_other_than_localhost_itself(void **state)
{
	(void)state;
	const char *metric = "coredns_local_localhost_requests_total";
	struct fake *f = fake_new(". {\n local\n whoami\n}\n");
	assert_non_null(f);
	double before = fake_metric(f, metric);
	assert_true(before >= 0);
	fake_ask(f, &(struct fake_ask){ .name = "localhost." });
	fake_ask(f, &(struct fake_ask){ .name = "127.in-addr.arpa." });
	fake_ask(f, &(struct fake_ask){ .name = "other." });
	assert_true(fake_metric(f, metric) == before);
	fake_ask(f, &(struct fake_ask){ .name = "localhost.x." });
	fake_ask(f, &(struct fake_ask){ .name = "x.localhost." });
	assert_true(fake_metric(f, metric) == before + 2);
	fake_free(f);
}

static void refuses_wrong_options(void **state)
{
	(void)state;
	assert_null(fake_new(". {\n local example.org\n}\n"));
	assert_string_equal(fake_error(), "Corefile:2:8: local takes no arguments");
	assert_null(fake_new(". {\n local {\n  localhost_prefix maybe\n }\n}\n"));
	assert_string_equal(fake_error(),
			    "Corefile:3:20: localhost_prefix: expected on or off, got 'maybe'");
	assert_null(fake_new(". {\n local {\n  localhost_prefix true\n }\n}\n"));
	assert_null(fake_new(". {\n local {\n  foo\n }\n}\n"));
	assert_string_equal(fake_error(), "Corefile:3:3: unknown option 'foo', expected one of: "
					  "localhost_prefix");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers_local_names),
		cmocka_unit_test(prefix_can_be_switched_off),
		cmocka_unit_test(counts_names_other_than_localhost_itself),
		cmocka_unit_test(refuses_wrong_options),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
