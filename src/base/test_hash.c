/* SPDX-License-Identifier: GPL-3.0-or-later */
/* hash: SipHash-1-3 with the reference key, and one key per process. */
#include "base/hash.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Key 00 01 ... 0f, as in the reference vectors. */
static void known_values(void **state)
{
	(void)state;
	static const struct hash_key key = { 0x0706050403020100, 0x0f0e0d0c0b0a0908 };
	uint8_t in[16];
	for (uint8_t i = 0; i < sizeof(in); i++)
		in[i] = i;
	assert_true(hash_bytes(&key, in, 0) == 0xabac0158050fc4dc);
	assert_true(hash_bytes(&key, NULL, 0) == 0xabac0158050fc4dc);
	for (size_t n = 1; n <= sizeof(in); n++) {
		uint64_t h = hash_bytes(&key, in, n);
		assert_true(h != hash_bytes(&key, in, n - 1));
		in[n - 1] ^= 0x80; /* each byte counts, to the last */
		assert_true(h != hash_bytes(&key, in, n));
		in[n - 1] ^= 0x80;
		assert_true(h == hash_bytes(&key, in, n));
	}
	assert_true(hash_bytes(&key, in, 8) !=
		    hash_bytes(&(struct hash_key){ key.k0, key.k1 ^ 1 }, in, 8));
}

static void process_key_stays(void **state)
{
	(void)state;
	struct hash_key key = *hash_process_key();
	assert_true(key.k0 != 0 || key.k1 != 0);
	assert_memory_equal(hash_process_key(), &key, sizeof(key));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_values),
		cmocka_unit_test(process_key_stays),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
