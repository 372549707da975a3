/* SPDX-License-Identifier: GPL-3.0-or-later */
/* dns64: which queries and replies it takes, the answer, and its counter. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "testing/fake_server.h"

#define V6 "[2001:db8::9]:5353"
#define V4 "192.0.2.9:5353"

#define RECORDS                                                                 \
	" template IN AAAA v4only {\n"                                          \
	"  authority \"v4only. 70 IN SOA a. b. 1 2 3 4 5\"\n }\n"               \
	" template IN A v4only {\n"                                             \
	"  answer \"{{ .Name }} 60 IN A 192.0.2.42\"\n"                         \
	"  answer \"{{ .Name }} 5000 IN A 192.0.2.43\"\n }\n"                   \
	" template IN AAAA both {\n"                                            \
	"  answer \"{{ .Name }} 60 IN AAAA 2001:db8::1\"\n }\n"                 \
	" template IN A both {\n"                                               \
	"  answer \"{{ .Name }} 60 IN A 192.0.2.1\"\n }\n"                      \
	" template IN AAAA nx {\n  rcode NXDOMAIN\n }\n"                        \
	" template IN A nx {\n  answer \"{{ .Name }} 60 IN A 192.0.2.1\"\n }\n" \
	" template IN AAAA fails {\n  rcode SERVFAIL\n }\n"                     \
	" template IN A fails {\n  answer \"{{ .Name }} 60 IN A 192.0.2.1\"\n }\n"

static const struct {
	const char *options, *name, *type, *client, *want;
} rows[] = {
	{ "", "v4only.", "AAAA", V6,
	  "NOERROR qr rd\nquestion v4only. IN AAAA\n"
	  "answer v4only. 60 IN AAAA 64:ff9b::c000:22a\n"
	  "answer v4only. 70 IN AAAA 64:ff9b::c000:22b\n" },
	{ "", "V4only.", "AAAA", V6,
	  "NOERROR qr rd\nquestion V4only. IN AAAA\n"
	  "answer v4only. 60 IN AAAA 64:ff9b::c000:22a\n"
	  "answer v4only. 70 IN AAAA 64:ff9b::c000:22b\n" },
	{ "", "v4only.", "AAAA", V4,
	  "NOERROR qr aa rd\nquestion v4only. IN AAAA\n"
	  "authority v4only. 70 IN SOA a. b. 1 2 3 4 5\n" },
	{ "allow_ipv4", "both.", "AAAA", V4,
	  "NOERROR qr aa rd\nquestion both. IN AAAA\nanswer both. 60 IN AAAA 2001:db8::1\n" },
	{ "translate_all", "both.", "AAAA", V6,
	  "NOERROR qr rd\nquestion both. IN AAAA\nanswer both. 60 IN AAAA 64:ff9b::c000:201\n" },
	{ "translate_all", "nx.", "AAAA", V6, "NXDOMAIN qr aa rd\nquestion nx. IN AAAA\n" },
	{ "translate_all", "both.", "A", V6,
	  "NOERROR qr aa rd\nquestion both. IN A\nanswer both. 60 IN A 192.0.2.1\n" },
	{ "translate_all", "fails.", "AAAA", V6, "SERVFAIL qr rd\nquestion fails. IN AAAA\n" },
};

static struct fake *start(const char *options)
{
	char corefile[2048];
	snprintf(corefile, sizeof(corefile),
		 ". {\n prometheus localhost:0\n errors\n dns64 {\n  %s\n }\n" RECORDS "}\n",
		 options);
	return fake_new(corefile);
}

static void flows(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct fake *f = start(rows[i].options);
		assert_non_null(f);
		assert_string_equal(fake_ask(f, &(struct fake_ask){ .name = rows[i].name,
								    .type = rows[i].type,
								    .client = rows[i].client }),
				    rows[i].want);
		assert_int_equal(fake_inflight(f), 0);
		fake_free(f);
	}
}

static void counts(void **state)
{
	(void)state;
	static const char series[] =
		"coredns_dns64_requests_translated_total{server=\"dns://:53\"}";
	struct fake *f = start("translate_all");
	double before = fake_metric(f, series);
	before = before < 0 ? 0 : before;
	fake_ask(f, &(struct fake_ask){ .name = "v4only.", .type = "AAAA", .client = V6 });
	fake_ask(f, &(struct fake_ask){ .name = "both.", .type = "AAAA", .client = V6 });
	fake_ask(f, &(struct fake_ask){ .name = "nx.", .type = "AAAA", .client = V6 });
	fake_ask(f, &(struct fake_ask){ .name = "v4only.", .type = "AAAA", .client = V4 });
	assert_int_equal((int)(fake_metric(f, series) - before), 2);
	fake_free(f);
}

static void no_reply_to_a_is_a_failure(void **state)
{
	(void)state;
	struct fake *f =
		fake_new(". {\n errors\n dns64\n acl {\n  drop type A\n }\n" RECORDS "}\n");
	assert_string_equal(
		fake_ask(f, &(struct fake_ask){ .name = "v4only.", .type = "AAAA", .client = V6 }),
		"SERVFAIL qr rd\nquestion v4only. IN AAAA\n");
	assert_non_null(strstr(fake_log(f), "dns64: upstream returned no response"));
	fake_free(f);
}

static void refuses(void **state)
{
	static const struct {
		const char *stanza, *error;
	} bad[] = {
		{ "dns64 64:ff9b::/52", "Corefile:2:8: invalid prefix length of '64:ff9b::/52', "
					"expected 32, 40, 48, 56, 64 or 96" },
		{ "dns64 {\n prefix 192.0.2.0/24\n }",
		  "Corefile:3:9: '192.0.2.0/24' is not an IPv6 "
		  "network such as '64:ff9b::/96'" },
		{ "dns64 64:ff9b::/96 {\n foobar\n }",
		  "Corefile:3:2: unknown option 'foobar', expected one of: prefix, translate_all, "
		  "allow_ipv4" },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		char corefile[200];
		snprintf(corefile, sizeof(corefile), ". {\n %s\n}\n", bad[i].stanza);
		assert_null(fake_new(corefile));
		assert_string_equal(fake_error(), bad[i].error);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(flows),
		cmocka_unit_test(counts),
		cmocka_unit_test(no_reply_to_a_is_a_failure),
		cmocka_unit_test(refuses),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
