/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Serials of IXFR questions, and questions without one. */
#include "plugin/shared/ixfrserial.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/mem.h"
#include "dns/name.h"
#include "dns/request.h"
#include "dns/test_names.h"

#define HEAD(answers, authorities) "\0\1\0\0\0\1\0" answers "\0" authorities "\0\0"
#define QUESTION		   "\1x\0\0\373\0\1"
#define SOA(length)		   "\300\14\0\6\0\1\0\0\0\0\0" length
#define NAMES			   "\1a\300\14\1b\300\14"
#define NUMBERS			   "\1\2\3\4................"

/* clang-format off */
static const struct {
	const char *bytes;
	size_t n;
	int result;
} rows[] = {
#define ROW(text, result) { text, sizeof(text) - 1, result }
	ROW(HEAD("\0", "\1") QUESTION SOA("\34") NAMES NUMBERS, 0),
	ROW(HEAD("\0", "\1") QUESTION SOA("\26") "\0\0" NUMBERS, 0),
	ROW(HEAD("\0", "\0") QUESTION, ERR_PARSE),
	ROW(HEAD("\0", "\2") QUESTION SOA("\34") NAMES NUMBERS, ERR_PARSE),
	ROW(HEAD("\1", "\1") QUESTION SOA("\34") NAMES NUMBERS, ERR_PARSE),
	ROW(HEAD("\0", "\1") QUESTION, ERR_PARSE),
	ROW(HEAD("\0", "\1") QUESTION "\300\14\0\1\0\1\0\0\0\0\0\4\1\2\3\4", ERR_PARSE),
	ROW(HEAD("\0", "\1") QUESTION SOA("\33") NAMES NUMBERS, ERR_PARSE),
	ROW(HEAD("\0", "\1") QUESTION SOA("\35") NAMES NUMBERS ".", ERR_PARSE),
	ROW(HEAD("\0", "\1") QUESTION SOA("\0"), ERR_PARSE),
	ROW(HEAD("\0", "\1") QUESTION SOA("\1") "\1", ERR_PARSE),
};
/* clang-format on */

static void serials(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		uint32_t serial = 0;
		int r = ixfrserial_read((const uint8_t *)rows[i].bytes, rows[i].n, &serial);
		if (r != rows[i].result)
			fail_msg("row %zu: %d", i, r);
		assert_int_equal(serial, r == 0 ? 0x01020304 : 0);
	}
}

/* Cut anywhere it has none; memory of the exact size shows what reads past it. */
static void cut(void **state)
{
	(void)state;
	for (size_t n = 0; n < rows[0].n; n++) {
		uint32_t serial;
		uint8_t *copy = malloc(n + (n == 0));
		assert_non_null(copy);
		memcpy(copy, rows[0].bytes, n);
		assert_int_equal(ixfrserial_read(copy, n, &serial), ERR_PARSE);
		free(copy);
	}
}

/* Owner, server and mailbox are names as long as they can be, in a message of its exact size. */
static void longest_names_before_the_serial(void **state)
{
	static const char type_class_ttl[] = "\0\6\0\1\0\0\0\0";
	(void)state;
	for (size_t i = 0; i < LONGEST_NAMES; i++) {
		uint8_t m[2048] = { 0, 1, 0, 0, 0, 1, 0, 0, 0, 1 };
		size_t octets = longest_name_octets(i), n = 12;
		uint32_t serial = 0;
		assert_int_equal(dns_name_from_text(slice_of(longest_names[i]), m + n), octets);
		n += octets;
		memcpy(m + n, "\0\373\0\1", 4);
		n += 4;
		memcpy(m + n, m + 12, octets);
		memcpy(m + n + octets, type_class_ttl, sizeof(type_class_ttl) - 1);
		n += octets + 8;
		dns_put16(m + n, (uint16_t)(2 * octets + 20));
		memcpy(m + n + 2, m + 12, octets);
		memcpy(m + n + 2 + octets, m + 12, octets);
		n += 2 + 2 * octets;
		memcpy(m + n, NUMBERS, 20);
		n += 20;
		CLEANUP(freep) uint8_t *copy = xmemdup(m, n);
		assert_int_equal(ixfrserial_read(copy, n, &serial), 0);
		assert_int_equal(serial, 0x01020304);
		for (size_t cut = 12; cut < n; cut += 7) {
			CLEANUP(freep) uint8_t *part = xmemdup(m, cut);
			assert_int_equal(ixfrserial_read(part, cut, &serial), ERR_PARSE);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(serials), cmocka_unit_test(cut),
					    cmocka_unit_test(longest_names_before_the_serial) };
	return cmocka_run_group_tests_name("plugin/shared/ixfrserial", tests, NULL, NULL);
}
