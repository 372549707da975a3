/* SPDX-License-Identifier: GPL-3.0-or-later */
/* minimal: which replies lose what. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "testing/fake_server.h"

static const char corefile[] =
	". {\n minimal\n"
	" template IN A {\n answer \"{{ .Name }} 60 IN A 192.0.2.1\"\n"
	" authority \"test. 60 IN NS ns.test.\"\n additional \"ns.test. 60 IN A 192.0.2.2\"\n }\n"
	" template IN NS {\n authority \"sub.test. 60 IN NS ns.test.\"\n"
	" additional \"ns.test. 60 IN A 192.0.2.2\"\n }\n"
	" template IN AAAA {\n rcode NXDOMAIN\n additional \"ns.test. 60 IN A 192.0.2.2\"\n }\n"
	" template IN MX {\n authority \"test. 60 IN SOA ns.test. r.test. 1 2 3 4 5\"\n }\n"
	" template IN TXT {\n answer \"{{ .Name }} 60 IN TXT x\"\n ederror 21 text\n }\n"
	" whoami\n}\n";

static void expect(const char *type, uint16_t udp_size, const char *reply)
{
	struct fake *f = fake_new(corefile);
	assert_non_null(f);
	assert_string_equal(fake_ask(f, &(struct fake_ask){ .name = "a.test",
							    .type = type,
							    .udp_size = udp_size }),
			    reply);
	fake_free(f);
}

static void strips_answers(void **state)
{
	(void)state;
	expect("A", 0,
	       "NOERROR qr aa rd\nquestion a.test. IN A\nanswer a.test. 60 IN A 192.0.2.1\n");
	expect("A", 1232,
	       "NOERROR qr aa rd\nquestion a.test. IN A\nanswer a.test. 60 IN A 192.0.2.1\n"
	       "opt 1232\n");
	/* whoami's reply is nothing but additional records. */
	expect("SRV", 0, "NOERROR qr aa rd\nquestion a.test. IN SRV\n");
}

static void strips_the_reply_s_own_opt(void **state)
{
	(void)state;
	expect("TXT", 0,
	       "NOERROR qr aa rd\nquestion a.test. IN TXT\nanswer a.test. 60 IN TXT \"x\"\n");
}

static void leaves_denials_and_delegations(void **state)
{
	(void)state;
	expect("NS", 0,
	       "NOERROR qr aa rd\nquestion a.test. IN NS\n"
	       "authority sub.test. 60 IN NS ns.test.\n"
	       "additional ns.test. 60 IN A 192.0.2.2\n");
	expect("AAAA", 0,
	       "NXDOMAIN qr aa rd\nquestion a.test. IN AAAA\n"
	       "additional ns.test. 60 IN A 192.0.2.2\n");
	expect("MX", 0,
	       "NOERROR qr aa rd\nquestion a.test. IN MX\n"
	       "authority test. 60 IN SOA ns.test. r.test. 1 2 3 4 5\n");
}

static void takes_no_arguments(void **state)
{
	(void)state;
	assert_null(fake_new(". {\n minimal example.org\n}\n"));
	assert_string_equal(fake_error(), "Corefile:2:10: minimal takes no arguments");
	assert_null(fake_new(". {\n minimal {\n x\n }\n}\n"));
	assert_string_equal(fake_error(), "Corefile:3:2: minimal takes no options");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(strips_answers),
		cmocka_unit_test(strips_the_reply_s_own_opt),
		cmocka_unit_test(leaves_denials_and_delegations),
		cmocka_unit_test(takes_no_arguments),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
