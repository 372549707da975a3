/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Functions of expressions: each row is an expression and its value as text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "testing/fake_server.h"

static const uint8_t subnet[] = { 0, 8, 0, 8, 0, 1, 24, 0, 192, 0, 2, 0 }; /* one byte too many */

static void functions_tell(void **state)
{
	(void)state;
	static const struct {
		const char *expr, *value;
	} rows[] = {
		{ "name()", "a.example." },
		{ "type()", "TYPE999" },
		{ "class()", "IN" },
		{ "proto()", "udp" },
		{ "client_ip()", "2001:db8::7" },
		{ "port()", "4711" },
		{ "server_ip()", "2001:db8::1" },
		{ "server_port()", "53" },
		{ "bufsize()", "1400" },
		/* header 12, question 15, OPT 11 and the option without its excess byte 11 */
		{ "size()", "49" },
		{ "do()", "true" },
		{ "opcode()", "0" },
		{ "id() >= 0", "true" },
		{ "metadata('x/y') == ''", "true" },
		{ "group(1) + group('h') + group('1')", "aaa" },
		{ "group(9) + group('none') + group(-1)", "" },
		{ "group(true)", "" },
		{ "incidr(client_ip(), '2001:db8::/32')", "true" },
		{ "incidr('192.0.2.1', '192.0.2.0/24')", "true" },
		{ "incidr('192.0.2.1', '192.0.3.0/24')", "false" },
		{ "incidr('192.0.2.1', '::/0')", "false" },
		{ "incidr('::ffff:192.0.2.1', '192.0.2.0/24')", "true" },
		{ "incidr('192.0.2.1', '::ffff:192.0.2.0/120')", "true" },
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char text[512], want[128];
		snprintf(text, sizeof(text),
			 ". {\ntemplate ANY ANY {\nmatch ^(?P<h>[^.]*)\nvar v \"%s\"\n"
			 "answer \"x. TXT \\\"{{ .Var.v }}\\\"\"\n}\n}\n",
			 rows[i].expr);
		struct fake *f = fake_new(text);
		if (f == NULL)
			fail_msg("%s", fake_error());
		const char *reply = fake_ask(f, &(struct fake_ask){ .name = "A.Example.",
								    .type = "TYPE999",
								    .client = "[2001:db8::7]:4711",
								    .local = "[2001:db8::1]:53",
								    .udp_size = 1400,
								    .dnssec_ok = true,
								    .options = subnet,
								    .options_n = sizeof(subnet) });
		snprintf(want, sizeof(want), "TXT \"%s\"\n", rows[i].value);
		if (reply == NULL || strstr(reply, want) == NULL)
			fail_msg("%s: %s", rows[i].expr, reply);
		fake_free(f);
	}
}

static void bad_addresses_fail(void **state)
{
	(void)state;
	static const char *const exprs[] = {
		"incidr('x', '10.0.0.0/8')",
		"incidr('10.0.0.1', '10.0.0.1')",
		"incidr('10.0.0.1', '10.0.0.0/33')",
		"incidr('fe80::1%1', 'fe80::/10')",
	};
	for (size_t i = 0; i < ARRAY_LEN(exprs); i++) {
		char text[512];
		snprintf(text, sizeof(text), ". {\ntemplate ANY ANY {\nexpr not %s\n}\n}\n",
			 exprs[i]);
		struct fake *f = fake_new(text);
		assert_non_null(f);
		const char *reply = fake_ask(f, &(struct fake_ask){ .name = "a." });
		assert_int_equal(strncmp(reply, "SERVFAIL", 8), 0);
		fake_free(f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_tell),
		cmocka_unit_test(bad_addresses_fail),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
