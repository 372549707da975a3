/* SPDX-License-Identifier: GPL-3.0-or-later */
/* SHA-256 and SHA-512 against the published values. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/crypto/digest.h"

static void hex_of(const uint8_t *bytes, size_t len, char *out)
{
	for (size_t i = 0; i < len; i++)
		snprintf(out + 2 * i, 3, "%02x", bytes[i]);
}

static void test_known_values(void **state)
{
	static const struct {
		const char *in, *sha256, *sha512;
	} rows[] = {
		{ "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
		  "cf83e1357eefb8bdf1542850d66d8007d620e4050b5715dc83f4a921d36ce9ce"
		  "47d0d13c5d85f2b0ff8318d2877eec2f63b931bd47417a81a538327af927da3e" },
		{ "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
		  "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
		  "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f" },
	};
	(void)state;
	for (size_t i = 0; i < 2; i++) {
		uint8_t out[DIGEST_SHA512_BYTES];
		char text[2 * DIGEST_SHA512_BYTES + 1];
		digest_sha256(rows[i].in, strlen(rows[i].in), out);
		hex_of(out, DIGEST_SHA256_BYTES, text);
		assert_string_equal(text, rows[i].sha256);
		digest_sha512(rows[i].in, strlen(rows[i].in), out);
		hex_of(out, DIGEST_SHA512_BYTES, text);
		assert_string_equal(text, rows[i].sha512);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_known_values) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
