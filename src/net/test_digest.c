/* SPDX-License-Identifier: GPL-3.0-or-later */
/* SHA-512 against the published values. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "net/digest.h"

static void test_known_values(void **state)
{
	static const struct {
		const char *in, *hex;
	} rows[] = {
		{ "", "cf83e1357eefb8bdf1542850d66d8007d620e4050b5715dc83f4a921d36ce9ce"
		      "47d0d13c5d85f2b0ff8318d2877eec2f63b931bd47417a81a538327af927da3e" },
		{ "abc", "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
			 "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f" },
	};
	(void)state;
	for (size_t i = 0; i < 2; i++) {
		uint8_t d[NET_SHA512_BYTES];
		char text[2 * NET_SHA512_BYTES + 1];
		net_sha512(rows[i].in, strlen(rows[i].in), d);
		for (size_t k = 0; k < sizeof(d); k++)
			snprintf(text + 2 * k, 3, "%02x", d[k]);
		assert_string_equal(text, rows[i].hex);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_known_values) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
