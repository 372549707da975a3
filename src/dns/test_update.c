/* SPDX-License-Identifier: GPL-3.0-or-later */
/* UPDATE messages: their bytes (read back with dnspython when this was written), compression,
 * limits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "base/err.h"
#include "base/mem.h"
#include "dns/message.h"
#include "dns/update_test.h"

static const uint8_t zone[] = "\7Example\3org";
static const uint8_t name_a[] = "\1a\7example\3org";
static const uint8_t name_b[] = "\1b\7example\3org";
static const uint8_t name_sub[] = "\3sub\1a\7example\3org";
static const uint8_t outside[] = "\1a\7example\3net";

static struct dns_update_rdata address(uint8_t last)
{
	static uint8_t bytes[4];
	memcpy(bytes, (uint8_t[]){ 192, 0, 2, last }, 4);
	return (struct dns_update_rdata){ bytes, 4 };
}

static void check_hex(const struct dns_update *update, const char *expected)
{
	char text[1024] = "";
	assert_true(update->n * 2 < sizeof(text));
	for (size_t i = 0; i < update->n; i++)
		snprintf(text + 2 * i, 3, "%02x", update->msg[i]);
	assert_string_equal(text, expected);
}

static void all_forms(void **state)
{
	uint8_t msg[512];
	struct dns_update u;
	(void)state;
	assert_int_equal(dns_update_start(&u, msg, sizeof(msg), zone, DNS_CLASS_IN), 0);
	assert_int_equal(dns_update_require_name(&u, name_a), 0);
	assert_int_equal(dns_update_forbid_name(&u, name_b), 0);
	assert_int_equal(dns_update_require_rrset(&u, name_a, DNS_TYPE_A), 0);
	assert_int_equal(dns_update_forbid_rrset(&u, name_a, DNS_TYPE_AAAA), 0);
	assert_int_equal(dns_update_require_record(&u, name_a, DNS_TYPE_A, address(1)), 0);
	assert_int_equal(dns_update_delete_rrset(&u, name_a, DNS_TYPE_A), 0);
	assert_int_equal(dns_update_add(&u, name_a, DNS_TYPE_A, 300, address(2)), 0);
	assert_int_equal(dns_update_delete_record(&u, zone, DNS_TYPE_A, address(3)), 0);
	assert_int_equal(dns_update_delete_name(&u, name_sub), 0);
	check_hex(&u, "000028000001000500040000074578616d706c65036f726700000600010161c0"
		      "0c00ff00ff0000000000000162c00c00ff00fe0000000000000161c00c000100"
		      "ff000000000000c039001c00fe000000000000c03900010001000000000004c0"
		      "000201c039000100ff000000000000c039000100010000012c0004c0000202c0"
		      "0c000100fe000000000004c0000203037375620161c00c00ff00ff0000000000"
		      "00");
}

static void only_inside_the_zone(void **state)
{
	uint8_t msg[512];
	struct dns_update u;
	(void)state;
	assert_int_equal(dns_update_start(&u, msg, sizeof(msg), zone, DNS_CLASS_IN), 0);
	size_t n = u.n;
	assert_int_equal(dns_update_add(&u, outside, DNS_TYPE_A, 1, address(1)), ERR_RANGE);
	assert_int_equal(dns_update_require_name(&u, dns_name_root), ERR_RANGE);
	assert_int_equal(u.n, n);
	/* In the root everything is. */
	assert_int_equal(dns_update_start(&u, msg, sizeof(msg), dns_name_root, DNS_CLASS_IN), 0);
	assert_int_equal(dns_update_add(&u, outside, DNS_TYPE_A, 1, address(1)), 0);
	assert_int_equal(dns_update_add(&u, outside, DNS_TYPE_A, 1, address(2)), 0);
	assert_int_equal(dns_update_add(&u, dns_name_root, DNS_TYPE_A, 1, address(2)), 0);
	check_hex(&u, "00002800000100000003000000000600010161076578616d706c65036e657400"
		      "00010001000000010004c0000201c01100010001000000010004c00002020000"
		      "010001000000010004c0000202");
}

static size_t set_name(uint8_t out[DNS_NAME_MAX], unsigned i)
{
	size_t n = (size_t)snprintf((char *)out, DNS_NAME_MAX, "%cr%05u", 6, i);
	memcpy(out + n, zone, sizeof(zone));
	return n + sizeof(zone);
}

/* Replaces sets until the message is full: every set is in it whole or not at all. */
static unsigned fill(struct dns_update *update)
{
	uint8_t name[DNS_NAME_MAX];
	for (unsigned i = 0;; i++) {
		struct dns_update before = *update;
		set_name(name, i);
		int r = dns_update_delete_rrset(update, name, DNS_TYPE_A);
		if (r == 0)
			r = dns_update_add(update, name, DNS_TYPE_A, 120, address((uint8_t)i));
		if (r == 0)
			continue;
		assert_int_equal(r, ERR_SPACE);
		dns_update_rewind(update, &before);
		return i;
	}
}

/* Two records for each set, each with the owner that was asked for. */
static void check_sets(const struct dns_update *update, unsigned n_sets)
{
	size_t at = DNS_HEADER_BYTES + sizeof(zone) + 4;
	assert_int_equal(dns_get16(update->msg + 6), 0);
	assert_int_equal(dns_get16(update->msg + 8), 2 * n_sets);
	for (unsigned i = 0; i < 2 * n_sets; i++) {
		uint8_t name[DNS_NAME_MAX], expected[DNS_NAME_MAX];
		int end = dns_name_unpack(update->msg, update->n, at, name);
		set_name(expected, i / 2);
		assert_true(end > 0 && dns_name_eq_case(name, expected));
		at = (size_t)end + 10 + dns_get16(update->msg + end + 8);
	}
	assert_int_equal(at, update->n);
}

static void a_full_message(void **state)
{
	CLEANUP(freep) uint8_t *msg = xmalloc(70000);
	struct dns_update u;
	(void)state;
	for (size_t cap = 20; cap < 200; cap++) {
		int r = dns_update_start(&u, msg, cap, zone, DNS_CLASS_IN);
		assert_int_equal(r, cap < DNS_HEADER_BYTES + sizeof(zone) + 4 ? ERR_SPACE : 0);
		if (r == 0)
			check_sets(&u, fill(&u));
	}
	/* A message over TCP has 65535 bytes, however large the buffer is. */
	assert_int_equal(dns_update_start(&u, msg, 70000, zone, DNS_CLASS_IN), 0);
	unsigned n = fill(&u);
	assert_true(u.n <= UINT16_MAX && n > 1500);
	check_sets(&u, n);
	struct dns_update_rdata large = { msg, UINT16_MAX + 1 };
	assert_int_equal(dns_update_add(&u, name_a, DNS_TYPE_TXT, 1, large), ERR_SPACE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_forms),
		cmocka_unit_test(only_inside_the_zone),
		cmocka_unit_test(a_full_message),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
