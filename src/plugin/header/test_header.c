/* SPDX-License-Identifier: GPL-3.0-or-later */
/* header: rules in order, on queries and replies; what the server replies itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "dns/request.h"
#include "testing/fake_server.h"

/* Flags of the reply to a query with RD, from whoami. */
static const char *flags_of(const char *rules, const char *below)
{
	static char line[256];
	char corefile[512];
	snprintf(corefile, sizeof(corefile), ". {\n header {\n%s\n }\n %s\n}\n", rules, below);
	struct fake *f = fake_new(corefile);
	assert_non_null(f);
	const char *reply = fake_ask(f, &(struct fake_ask){ .name = "a.test" });
	sscanf(reply, "%255[^\n]", line);
	fake_free(f);
	return line;
}

static void edits_replies(void **state)
{
	(void)state;
	assert_string_equal(flags_of("response set ra", "whoami"), "NOERROR qr aa rd ra");
	assert_string_equal(flags_of("RESPONSE Clear AA rd", "whoami"), "NOERROR qr");
	assert_string_equal(
		flags_of("response set ra aa\nresponse clear aa ra\nresponse set ra", "whoami"),
		"NOERROR qr rd ra");
}

static void edits_queries(void **state)
{
	(void)state;
	assert_string_equal(flags_of("query clear rd", "whoami"), "NOERROR qr aa");
	assert_string_equal(flags_of("query clear rd\nresponse set rd", "whoami"),
			    "NOERROR qr aa rd");
}

static void leaves_the_server_s_own_replies(void **state)
{
	(void)state;
	assert_string_equal(flags_of("response set ra aa", ""), "SERVFAIL qr rd");
	assert_string_equal(flags_of("query clear rd", ""), "SERVFAIL qr");
}

static void refused(const char *corefile, const char *error)
{
	assert_null(fake_new(corefile));
	assert_string_equal(fake_error(), error);
}

static void takes_the_first_stanza_with_rules(void **state)
{
	(void)state;
	struct fake *f = fake_new(". {\n header {\n }\n header {\n response clear aa\n }\n"
				  " header {\n response clear rd\n }\n whoami\n}\n");
	assert_non_null(f);
	assert_string_equal(fake_ask(f, &(struct fake_ask){ .name = "a.test", .type = "MX" }),
			    "NOERROR qr rd\nquestion a.test. IN MX\n"
			    "additional a.test. 0 IN A 192.0.2.1\n"
			    "additional _udp.a.test. 0 IN SRV 0 0 5353 .\n");
	fake_free(f);
}

static void refuses_what_it_does_not_know(void **state)
{
	(void)state;
	refused(". {\n header\n}\n",
		"Corefile:2:2: expected a block with 'query' or 'response' rules");
	refused(". {\n header {\n response set xx\n }\n}\n",
		"Corefile:3:15: expected aa, ra or rd, got 'xx'");
	refused(". {\n header {\n query foo rd\n }\n}\n",
		"Corefile:3:8: expected set or clear, got 'foo'");
	assert_null(fake_new(". {\n header {\n foo set rd\n }\n}\n"));
	assert_null(fake_new(". {\n header {\n query set\n }\n}\n"));
	assert_null(fake_new(". {\n header x\n}\n"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(edits_replies),
		cmocka_unit_test(edits_queries),
		cmocka_unit_test(leaves_the_server_s_own_replies),
		cmocka_unit_test(takes_the_first_stanza_with_rules),
		cmocka_unit_test(refuses_what_it_does_not_know),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
