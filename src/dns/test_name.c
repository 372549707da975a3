/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tests of names: text and wire both ways, limits, compression. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/mem.h"
#include "dns/name.h"
#include "dns/test_names.h"

static const uint8_t *wire(const char *text)
{
	static uint8_t bufs[4][DNS_NAME_MAX];
	static unsigned next;
	uint8_t *b = bufs[next++ % 4];
	assert_true(dns_name_from_text(slice_of(text), b) > 0);
	return b;
}

static void test_text_round_trip(void **state)
{
	static const struct {
		const char *in, *out;
	} rows[] = {
		{ ".", "." },
		{ "example.org", "example.org." },
		{ "Example.ORG.", "Example.ORG." },
		{ "a\\.b.c", "a\\.b.c." },
		{ "\\065\\066.", "AB." },
		{ "a b", "a\\ b." },
		{ "(x);@\"'", "\\(x\\)\\;\\@\\\"\\'." },
		{ "\\000\\255.x", "\\000\\255.x." },
		{ "\\\\", "\\\\." },
		{ "\\1a", "1a." },
		{ "_http._tcp.*", "_http._tcp.*." },
		{ "a$b", "a$b." },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		uint8_t w[DNS_NAME_MAX];
		char t[DNS_NAME_TEXT_MAX];
		int n = dns_name_from_text(slice_of(rows[i].in), w);
		assert_int_equal(n, dns_name_len(w));
		assert_int_equal(dns_name_to_text(w, false, t), strlen(rows[i].out));
		assert_string_equal(t, rows[i].out);
	}
	char t[DNS_NAME_TEXT_MAX];
	dns_name_to_text(wire("MiXed.Z"), true, t);
	assert_string_equal(t, "mixed.z.");
}

static void test_text_errors(void **state)
{
	static const char *const rows[] = { "",	   "..", ".a",	  "a..b",  "a..",
					    "a\\", "\\", "\\256", "\\999", "a.\\300" };
	uint8_t w[DNS_NAME_MAX];
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		assert_int_equal(dns_name_from_text(slice_of(rows[i]), w), ERR_PARSE);
}

static void test_text_limits(void **state)
{
	uint8_t w[DNS_NAME_MAX];
	char t[DNS_NAME_TEXT_MAX];
	char text[600];
	(void)state;
	memset(text, 'a', sizeof(text));
	assert_int_equal(dns_name_from_text((struct slice){ text, 63 }, w), 65);
	assert_int_equal(dns_name_from_text((struct slice){ text, 64 }, w), ERR_PARSE);
	text[63] = text[127] = text[191] = '.';
	assert_int_equal(dns_name_from_text((struct slice){ text, 253 }, w), 255);
	assert_int_equal(dns_name_from_text((struct slice){ text, 254 }, w), ERR_PARSE);
	text[253] = '.';
	assert_int_equal(dns_name_from_text((struct slice){ text, 254 }, w), 255);
	assert_int_equal(dns_name_len(w), 255);
	text[253] = 'a';
	text[254] = '.';
	assert_int_equal(dns_name_from_text((struct slice){ text, 255 }, w), ERR_PARSE);
	for (size_t i = 0; i < 256; i++)
		text[i] = i % 2 != 0 ? '.' : 'a';
	assert_int_equal(dns_name_from_text((struct slice){ text, 254 }, w), 255);
	assert_int_equal(dns_name_labels(w), DNS_LABELS_MAX);
	assert_int_equal(dns_name_from_text((struct slice){ text, 256 }, w), ERR_PARSE);
	/* The longest text: three full labels and one of 61, all escaped as decimals. */
	size_t at = 0;
	for (size_t l = 0; l < 4; l++) {
		size_t n = l < 3 ? 63 : 61;
		w[at] = (uint8_t)n;
		memset(w + at + 1, 0xff, n);
		at += n + 1;
	}
	w[at] = 0;
	assert_int_equal(dns_name_to_text(w, false, t), 250 * 4 + 4);
	assert_int_equal(dns_name_from_text(slice_of(t), w), 255);
}

static void test_compare(void **state)
{
	(void)state;
	assert_true(dns_name_eq(wire("Www.Example.ORG"), wire("wWW.eXAMPLE.org")));
	assert_false(dns_name_eq_case(wire("Www.Example.ORG"), wire("wWW.eXAMPLE.org")));
	assert_true(dns_name_eq_case(wire("Www.Example.ORG"), wire("Www.Example.ORG")));
	assert_false(dns_name_eq(wire("abcdefgh1.x"), wire("abcdefgh2.x")));
	assert_false(dns_name_eq(wire("abc"), wire("abcd")));
	/* '[' and '{' differ by the letters' bit but are no letters; same for bytes above 127. */
	assert_false(dns_name_eq(wire("[[[[[[[[[[["), wire("{{{{{{{{{{{")));
	assert_false(dns_name_eq(wire("@@@@@@@@@@@"), wire("```````````")));
	assert_false(dns_name_eq(wire("\\193\\193\\193\\193\\193\\193\\193\\193"),
				 wire("\\225\\225\\225\\225\\225\\225\\225\\225")));
	assert_true(dns_name_is_below(wire("a.b.Example.org"), wire("example.ORG")));
	assert_true(dns_name_is_below(wire("example.org"), wire("example.org")));
	assert_true(dns_name_is_below(wire("example.org"), dns_name_root));
	assert_true(dns_name_is_below(dns_name_root, dns_name_root));
	assert_false(dns_name_is_below(wire("org"), wire("example.org")));
	assert_false(dns_name_is_below(wire("xexample.org"), wire("example.org")));
	assert_false(dns_name_is_below(wire("a\\.example.org"), wire("example.org")));
}

static void test_lower(void **state)
{
	uint8_t in[DNS_NAME_MAX];
	uint8_t out[DNS_NAME_MAX];
	(void)state;
	/* Every byte value in every position of a word. */
	for (size_t pos = 0; pos < 20; pos++) {
		for (int c = 0; c < 256; c++) {
			memset(in, 'x', 22);
			in[0] = 20;
			in[21] = 0;
			in[1 + pos] = (uint8_t)c;
			assert_int_equal(dns_name_lower(in, out), 22);
			int want = c >= 'A' && c <= 'Z' ? c + 32 : c;
			assert_int_equal(out[1 + pos], want);
			in[1 + pos] = out[1 + pos];
			assert_memory_equal(in, out, 22);
		}
	}
}

static void test_unpack(void **state)
{
	/* 0: "b." 3: "a" -> 0; 7: "c" -> 3; 11: -> 7; 13: -> 13; 15: -> 17; 17: root; 18: 0x40 */
	static const uint8_t msg[] = { 1,    'b',  0,	 1,   'a',  0xc0, 0,	1,  'c',
				       0xc0, 3,	   0xc0, 7,   0xc0, 13,	  0xc0, 17, 0,
				       0x40, 0x80, 1,	 'z', 0xc0, 20,	  5,	'x' };
	uint8_t out[DNS_NAME_MAX];
	(void)state;
	assert_int_equal(dns_name_unpack(msg, sizeof(msg), 0, out), 3);
	assert_true(dns_name_eq(out, wire("b")));
	assert_int_equal(dns_name_unpack(msg, sizeof(msg), 3, out), 7);
	assert_true(dns_name_eq(out, wire("a.b")));
	assert_int_equal(dns_name_unpack(msg, sizeof(msg), 7, out), 11);
	assert_true(dns_name_eq(out, wire("c.a.b")));
	assert_int_equal(dns_name_unpack(msg, sizeof(msg), 11, out), 13);
	assert_true(dns_name_eq(out, wire("c.a.b")));
	static const size_t bad[] = { 13, 15, 18, 19, 20, 24, 25, 26, 400 };
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_int_equal(dns_name_unpack(msg, sizeof(msg), bad[i], out), ERR_PARSE);
	assert_int_equal(dns_name_unpack(msg, 2, 0, out), ERR_PARSE);
	assert_int_equal(dns_name_unpack(msg, 6, 3, out), ERR_PARSE);
	assert_int_equal(dns_name_skip(msg, sizeof(msg), 0), 3);
	assert_int_equal(dns_name_skip(msg, sizeof(msg), 7), 11);
	assert_int_equal(dns_name_skip(msg, 6, 3), ERR_PARSE);
	assert_int_equal(dns_name_skip(msg, 2, 0), ERR_PARSE);
	assert_int_equal(dns_name_skip(msg, sizeof(msg), 18), ERR_PARSE);
	assert_int_equal(dns_name_skip(msg, sizeof(msg), 24), ERR_PARSE);
	assert_int_equal(dns_name_skip(msg, sizeof(msg), 400), ERR_PARSE);
}

static void test_unpack_limits(void **state)
{
	uint8_t msg[600];
	uint8_t out[DNS_NAME_MAX];
	(void)state;
	for (size_t i = 0; i < sizeof(msg); i += 2) {
		msg[i] = 1;
		msg[i + 1] = 'a';
	}
	msg[254] = 0;
	assert_int_equal(dns_name_unpack(msg, sizeof(msg), 0, out), 255);
	assert_int_equal(dns_name_len(out), DNS_NAME_MAX);
	assert_int_equal(dns_name_skip(msg, sizeof(msg), 0), 255);
	msg[254] = 1;
	msg[256] = 0;
	assert_int_equal(dns_name_unpack(msg, sizeof(msg), 0, out), ERR_PARSE);
	assert_int_equal(dns_name_skip(msg, sizeof(msg), 0), ERR_PARSE);
	/* Too long only by following the pointer. */
	msg[300] = 1;
	msg[302] = 0xc0;
	msg[303] = 0;
	msg[254] = 0;
	assert_int_equal(dns_name_unpack(msg, sizeof(msg), 300, out), ERR_PARSE);
	msg[303] = 2;
	assert_int_equal(dns_name_unpack(msg, sizeof(msg), 300, out), 304);
	assert_int_equal(dns_name_len(out), 255);
	/* A long chain of pointers, each to the one before it. */
	msg[0] = 0;
	for (size_t i = 1; i + 1 < sizeof(msg); i += 2) {
		size_t to = i == 1 ? 0 : i - 2;
		msg[i] = (uint8_t)(0xc0 | to >> 8);
		msg[i + 1] = (uint8_t)to;
	}
	assert_int_equal(dns_name_unpack(msg, sizeof(msg), 597, out), 599);
	assert_int_equal(out[0], 0);
}

/* In memory of their exact size, so that a sanitizer sees what reads past them. */
static void test_longest(void **state)
{
	(void)state;
	for (size_t i = 0; i < LONGEST_NAMES; i++) {
		size_t octets = longest_name_octets(i);
		uint8_t name[DNS_NAME_MAX], lower[DNS_NAME_MAX], msg[2 * DNS_NAME_MAX] = { 0 };
		char text[DNS_NAME_TEXT_MAX], longer[300];
		assert_int_equal(dns_name_from_text(slice_of(longest_names[i]), name), octets);
		CLEANUP(freep) uint8_t *exact = xmemdup(name, octets);
		assert_int_equal(dns_name_len(exact), octets);
		assert_int_equal(dns_name_to_text(exact, false, text), octets - 1);
		assert_string_equal(text, longest_names[i]);
		assert_int_equal(dns_name_lower(exact, lower), octets);
		CLEANUP(freep) uint8_t *other = xmemdup(lower, octets);
		assert_true(dns_name_eq(exact, other));
		for (const uint8_t *up = other; *up != 0; up += *up + 1U)
			assert_true(dns_name_is_below(exact, up) && up - other < DNS_NAME_MAX);
		/* Whole, and behind a pointer to all but its first label. */
		memcpy(msg, exact, octets);
		memcpy(msg + octets, exact, exact[0] + 1U);
		msg[octets + exact[0] + 1U] = 0xc0;
		msg[octets + exact[0] + 2U] = (uint8_t)(exact[0] + 1U);
		size_t end = octets + exact[0] + 3U;
		CLEANUP(freep) uint8_t *message = xmemdup(msg, end);
		assert_int_equal(dns_name_unpack(message, end, 0, lower), octets);
		assert_int_equal(dns_name_unpack(message, end, octets, lower), end);
		assert_true(dns_name_eq_case(lower, exact));
		assert_int_equal(dns_name_skip(message, end, octets), end);
		/* One label more is allowed while it makes 255 octets. */
		snprintf(longer, sizeof(longer), "x.%s", longest_names[i]);
		assert_int_equal(dns_name_from_text(slice_of(longer), lower),
				 octets == 253 ? 255 : ERR_PARSE);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text_round_trip), cmocka_unit_test(test_text_errors),
		cmocka_unit_test(test_text_limits),	cmocka_unit_test(test_compare),
		cmocka_unit_test(test_lower),		cmocka_unit_test(test_unpack),
		cmocka_unit_test(test_unpack_limits),	cmocka_unit_test(test_longest),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
