/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Taking over messages: what is refused, names inside of data, and opening that fails half-way. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/mem.h"
#include "dns/dump_test.h"
#include "dns/resp.h"
#include "dns/test_names.h"

#define HEADER(an, ns, ar) "\22\64\204\0\0\1\0" an "\0" ns "\0" ar
#define Q		   "\7example\3org\0\0\1\0\1"
#define RR(type, len)	   "\300\14\0" type "\0\1\0\0\0\74\0" len

static int thaw(const char *msg, size_t n, struct arena *a, struct dns_resp *r)
{
	uint8_t *copy = arena_memdup(a, msg, n);
	int err = dns_resp_from_wire(r, a, copy, n);
	return err < 0 ? err : dns_resp_thaw(r, a);
}

static const char *dump(const char *msg, size_t n)
{
	static char text[4096];
	CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
	if (dns_dump((const uint8_t *)msg, n, &out) < 0)
		strbuf_adds(&out, "MALFORMED\n");
	assert_true(out.n < sizeof(text));
	memcpy(text, out.s, out.n + 1);
	return text;
}
#define DUMP(msg) dump(msg, sizeof(msg) - 1)

static void test_names_in_data_are_decompressed(void **state)
{
	(void)state;
	struct arena a;
	struct dns_resp r;
	arena_init(&a);
#define MB HEADER("\1", "\0", "\0") Q RR("\7", "\4") "\1b\300\14"
	assert_int_equal(thaw(MB, sizeof(MB) - 1, &a, &r), 0);
	assert_int_equal(r.first[0]->rdlen, 15);
	assert_memory_equal(r.first[0]->rdata, "\1b\7example\3org", 15);
#define PX HEADER("\1", "\0", "\0") Q RR("\32", "\10") "\0\12\1x\300\14\300\14"
	assert_int_equal(thaw(PX, sizeof(PX) - 1, &a, &r), 0);
	assert_int_equal(r.first[0]->rdlen, 2 + 15 + 13);
#define NAPTR HEADER("\1", "\0", "\0") Q RR("\43", "\15") "\0\1\0\2\1u\1s\0\1n\300\14"
	assert_int_equal(thaw(NAPTR, sizeof(NAPTR) - 1, &a, &r), 0);
	assert_memory_equal(r.first[0]->rdata, "\0\1\0\2\1u\1s\0\1n\7example\3org", 24);
	arena_done(&a);
}

static void test_prints_ordinary_records(void **state)
{
	(void)state;
	assert_string_equal(
		DUMP(HEADER("\3", "\1", "\0")
			     Q RR("\5", "\4") "\1a\300\14" RR("\17", "\6") "\0\12\1m\300\14" RR(
				     "\41",
				     "\12") "\0\1\0\2\0\3\1s\300\14" RR("\6",
									"\32") "\300\14\1h\300\14\0"
									       "\0\0\1\0\0\0\2\0\0"
									       "\0\3\0\0\0\4\0\0\0"
									       "\5"),
		"NOERROR qr aa\n"
		"question example.org. IN A\n"
		"answer example.org. 60 IN CNAME a.example.org.\n"
		"answer example.org. 60 IN MX 10 m.example.org.\n"
		"answer example.org. 60 IN SRV 1 2 3 s.example.org.\n"
		"authority example.org. 60 IN SOA example.org. h.example.org. 1 2 3 4 5\n");
}

static void test_malformed(void **state)
{
	static const struct {
		const char *msg;
		size_t n;
		bool taken; /* from_wire accepts it, opening does not */
	} rows[] = {
#define ROW(taken_, msg_) { msg_, sizeof(msg_) - 1, taken_ }
		ROW(false, ""),
		ROW(false, "\22\64\204\0\0\1\0\0\0\0\0"),
		ROW(false, HEADER("\0", "\0", "\0")),			     /* no question */
		ROW(false, HEADER("\0", "\0", "\0") "\7example\3org\0\0\1"), /* cut in it */
		ROW(false, HEADER("\1", "\0", "\0") Q),			     /* no record */
		ROW(false, HEADER("\1", "\0", "\0") Q "\300\14\0\1\0\1\0\0\0\74\0"),
		ROW(false, HEADER("\1", "\0", "\0") Q RR("\1", "\4") "\300\0\2"),
		ROW(false, HEADER("\0", "\0", "\1") Q "\0\0\51\4\320\0\0\0\0\0\5\0\3\0\2"),
		ROW(false, "\22\64\204\0\377\377\0\0\0\0\0\0" Q),
		ROW(true, HEADER("\1", "\0", "\0") Q RR("\1", "\3") "\300\0\2"),
		ROW(true, HEADER("\1", "\0", "\0") Q RR("\1", "\5") "\300\0\2\1\1"),
		ROW(true, HEADER("\1", "\0", "\0") Q RR("\5", "\4") "\1a\300\100"), /* ahead */
		ROW(true, HEADER("\1", "\0", "\0") Q RR("\5", "\2") "\300\51"),	    /* itself */
		ROW(true, HEADER("\1", "\0", "\0") Q RR("\5", "\3") "\5ab"),
		ROW(true, HEADER("\1", "\0", "\0") Q RR("\5", "\5") "\1a\300\14x"),
		ROW(true, HEADER("\1", "\0", "\0") Q RR("\43", "\5") "\0\1\0\2\5"),
		ROW(true, HEADER("\1", "\0", "\0") Q "\300\55\0\1\0\1\0\0\0\74\0\4\300\0\2\1"),
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct arena a;
		struct dns_resp r, before;
		memset(&r, 0x5a, sizeof(r));
		before = r;
		arena_init(&a);
		uint8_t *copy = xmemdup(rows[i].msg, rows[i].n); /* exact, for sanitizers */
		int err = dns_resp_from_wire(&r, &a, copy, rows[i].n);
		if ((err == 0) != rows[i].taken)
			fail_msg("row %zu: %d", i, err);
		if (err < 0)
			assert_memory_equal(&r, &before, sizeof(r));
		else
			assert_int_equal(dns_resp_thaw(&r, &a), ERR_PARSE);
		free(copy);
		arena_done(&a);
	}
}

static void test_every_prefix_is_safe(void **state)
{
	static const char msg[] = HEADER("\2", "\1", "\1")
		Q RR("\5", "\4") "\1a\300\14" RR("\17", "\6") "\0\12\1m\300\14" RR(
			"\2", "\2") "\300\14"
				    "\0\0\51\4\320\1\0\200\0\0\6\0\3\0\2ns";
	struct arena a;
	struct dns_resp r;
	(void)state;
	for (size_t n = 0; n < sizeof(msg); n++) {
		arena_init(&a);
		uint8_t *copy = xmemdup(msg, n);
		int err = dns_resp_from_wire(&r, &a, copy, n);
		assert_int_equal(err == 0, n >= sizeof(msg) - 1);
		free(copy);
		arena_done(&a);
	}
	arena_init(&a);
	assert_int_equal(thaw(msg, sizeof(msg) - 1, &a, &r), 0);
	assert_int_equal(r.rcode, 16);
	assert_true(r.has_opt && r.opt_do);
	assert_int_equal(r.opt_udp_size, 1232);
	assert_int_equal(r.options_len, 6);
	assert_int_equal(r.count[DNS_ADDITIONAL], 0);
	arena_done(&a);
}

/* Opening that fails leaves the wire form as it was, whenever memory runs out. */
static void test_opening_fails_cleanly(void **state)
{
	static const char msg[] =
		HEADER("\2", "\0", "\0") Q RR("\1", "\4") "\300\0\2\1" RR("\1", "\4") "\300\0\2\2";
	char copy[sizeof(msg)], buf[512];
	bool opened = false;
	(void)state;
	for (size_t n = 0; n < sizeof(buf) && !opened; n += 8) {
		struct arena a;
		struct dns_resp r;
		memcpy(copy, msg, sizeof(msg));
		arena_init_fixed(&a, buf, n);
		assert_int_equal(dns_resp_from_wire(&r, &a, (uint8_t *)copy, sizeof(msg) - 1), 0);
		struct dns_resp before = r;
		int err = dns_resp_thaw(&r, &a);
		opened = err == 0;
		if (!opened) {
			assert_int_equal(err, ERR_SPACE);
			assert_memory_equal(&r, &before, sizeof(r));
		}
	}
	assert_true(opened);
}

/* The question's name is that of every record: as owner and in data, compressed and written out. */
static void test_longest_names(void **state)
{
	static const uint8_t ends[] = "\0\5\0\1\0\0\0\74";
	(void)state;
	for (size_t i = 0; i < LONGEST_NAMES * 2; i++) {
		size_t octets = longest_name_octets(i % LONGEST_NAMES), n = DNS_HEADER_BYTES;
		bool plain = i >= LONGEST_NAMES;
		uint8_t m[2048] = { 0x12, 0x34, 0x84, 0, 0, 1, 0, 2 };
		struct arena a;
		struct dns_resp r;
		assert_int_equal(
			dns_name_from_text(slice_of(longest_names[i % LONGEST_NAMES]), m + n),
			octets);
		n += octets;
		memcpy(m + n, "\0\5\0\1", 4);
		n += 4;
		for (int k = 0; k < 2; k++) {
			size_t name_n = plain ? octets : 2;
			const uint8_t *name =
				plain ? m + DNS_HEADER_BYTES : (const uint8_t *)"\300\14";
			memcpy(m + n, name, name_n);
			memcpy(m + n + name_n, ends, sizeof(ends) - 1);
			dns_put16(m + n + name_n + 8, (uint16_t)name_n);
			memcpy(m + n + name_n + 10, name, name_n);
			n += 2 * name_n + 10;
		}
		arena_init(&a);
		CLEANUP(freep) uint8_t *copy = xmemdup(m, n); /* exact, for sanitizers */
		assert_int_equal(dns_resp_from_wire(&r, &a, copy, n), 0);
		assert_int_equal(dns_resp_open_size(&r),
				 DNS_HEADER_BYTES + octets + 4 + 2 * (2 * octets + 10));
		assert_int_equal(dns_resp_thaw(&r, &a), 0);
		DNS_RR_FOREACH(rr, &r, DNS_ANSWER)
		{
			assert_int_equal(rr->owner_len, octets);
			assert_int_equal(rr->rdlen, octets);
			assert_memory_equal(rr->owner, m + DNS_HEADER_BYTES, octets);
			assert_memory_equal(rr->rdata, m + DNS_HEADER_BYTES, octets);
		}
		CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
		assert_int_equal(dns_dump(copy, n, &text), 0);
		assert_non_null(strstr(text.s, longest_names[i % LONGEST_NAMES]));
		arena_done(&a);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names_in_data_are_decompressed),
		cmocka_unit_test(test_prints_ordinary_records),
		cmocka_unit_test(test_malformed),
		cmocka_unit_test(test_every_prefix_is_safe),
		cmocka_unit_test(test_opening_fails_cleanly),
		cmocka_unit_test(test_longest_names),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
