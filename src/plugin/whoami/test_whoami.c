/* SPDX-License-Identifier: GPL-3.0-or-later */
/* whoami: address and port of the client, in the additional section. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "testing/fake_server.h"

static void tells_ipv4_address_and_port(void **state)
{
	(void)state;
	struct fake *f = fake_new(". {\n whoami\n}\n");
	assert_non_null(f);
	assert_string_equal(fake_ask(f, &(struct fake_ask){ .client = "192.0.2.7:4711" }),
			    "NOERROR qr aa rd\n"
			    "question example.org. IN A\n"
			    "additional example.org. 0 IN A 192.0.2.7\n"
			    "additional _udp.example.org. 0 IN SRV 0 0 4711 .\n");
	fake_free(f);
}

static void tells_ipv6_address(void **state)
{
	(void)state;
	struct fake *f = fake_new("example.org {\n whoami\n}\n");
	assert_non_null(f);
	assert_string_equal(fake_ask(f, &(struct fake_ask){ .client = "[2001:db8::7]:53",
							    .local = "[2001:db8::1]:53",
							    .udp_size = 1232 }),
			    "NOERROR qr aa rd\n"
			    "question example.org. IN A\n"
			    "additional example.org. 0 IN AAAA 2001:db8::7\n"
			    "additional _udp.example.org. 0 IN SRV 0 0 53 .\n"
			    "opt 1232\n");
	fake_free(f);
}

static void refuses_arguments(void **state)
{
	(void)state;
	assert_null(fake_new(". {\n whoami now\n}\n"));
	assert_string_equal(fake_error(), "Corefile:2:9: whoami takes no arguments");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tells_ipv4_address_and_port),
		cmocka_unit_test(tells_ipv6_address),
		cmocka_unit_test(refuses_arguments),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
