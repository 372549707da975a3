/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The walk over records: the same in both forms, OPT passed over, an end in any case. */
#include "dns/rrwalk.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/strbuf.h"
#include "dns/test_names.h"

/* Question a. IN A; a CNAME, an A, an SOA cut short to nothing, OPT between two additional ones. */
static const uint8_t message[] = "\0\1\200\0\0\1\0\2\0\1\0\3"
				 "\1a\0\0\1\0\1"
				 "\300\14\0\5\0\1\0\0\0\5\0\3\1b\0"
				 "\1b\0\0\1\0\1\0\0\0\6\0\4\300\0\2\1"
				 "\0\0\6\0\1\0\0\0\7\0\0"
				 "\300\14\0\20\0\3\0\0\0\10\0\2\1x"
				 "\0\0\51\4\320\0\0\0\0\0\4\0\17\0\0"
				 "\300\14\0\34\0\1\0\0\0\11\0\1\0";

static void show(const struct dns_resp *r, struct strbuf *out)
{
	struct dns_rrwalk w;
	dns_rrwalk_init(&w, r);
	while (dns_rrwalk_next(&w)) {
		uint8_t owner[DNS_NAME_MAX];
		int n = dns_rrwalk_owner(&w, owner);
		assert_int_equal(n, dns_name_len(owner));
		if (n > 1)
			strbuf_addf(out, "%c ", owner[1]);
		strbuf_addf(out, "%d %u %u %u %u", w.of, w.type, w.cls, w.ttl, w.rdlen);
		for (size_t i = 0; i < w.rdlen; i++)
			strbuf_addf(out, " %u", w.rdata[i]);
		strbuf_addc(out, '\n');
		if (r->msg != NULL) {
			assert_null(w.rr);
			assert_ptr_equal(w.rdata + w.rdlen, r->msg + w.end);
			assert_true(w.start < w.end);
		} else {
			assert_ptr_equal(w.rr->rdata, w.rdata);
		}
	}
	assert_false(dns_rrwalk_next(&w));
}

static void same_in_both_forms(void **state)
{
	(void)state;
	struct arena a;
	struct dns_resp r = { 0 };
	CLEANUP(strbuf_done) struct strbuf wire = STRBUF_INIT;
	CLEANUP(strbuf_done) struct strbuf open = STRBUF_INIT;
	arena_init(&a);
	uint8_t *copy = arena_memdup(&a, message, sizeof(message) - 1);
	assert_int_equal(dns_resp_from_wire(&r, &a, copy, sizeof(message) - 1), 0);
	show(&r, &wire);
	assert_string_equal(wire.s, "a 0 5 1 5 3 1 98 0\nb 0 1 1 6 4 192 0 2 1\n1 6 1 7 0\n"
				    "a 2 16 3 8 2 1 120\na 2 28 1 9 1 0\n");
	/* Opened without AAAA, whose data are not as they should be. */
	copy[11] = 2;
	strbuf_reset(&wire);
	assert_int_equal(dns_resp_from_wire(&r, &a, copy, sizeof(message) - 14), 0);
	show(&r, &wire);
	assert_int_equal(dns_resp_thaw(&r, &a), 0);
	show(&r, &open);
	assert_string_equal(open.s, wire.s);
	arena_done(&a);
}

/* Whatever becomes of the bytes behind its back, the walk stays inside. */
static void broken_messages_end_it(void **state)
{
	(void)state;
	uint8_t m[sizeof(message) - 1];
	for (size_t n = DNS_HEADER_BYTES; n < sizeof(m); n++) {
		memcpy(m, message, sizeof(m));
		memset(m + n, 0xff, sizeof(m) - n);
		struct dns_resp r = { .msg = m, .msg_len = (uint32_t)n };
		struct dns_rrwalk w;
		dns_rrwalk_init(&w, &r);
		while (dns_rrwalk_next(&w))
			assert_true(w.end <= n);
	}
}

static void nothing_to_see(void **state)
{
	(void)state;
	struct dns_rrwalk w;
	struct dns_resp r = { 0 };
	dns_rrwalk_init(&w, &r);
	assert_false(dns_rrwalk_next(&w));
}

/* Owners that are written out, and that point to the question or into it. */
static void longest_owners(void **state)
{
	static const uint8_t rest[] = "\0\1\0\1\0\0\0\5\0\4\300\0\2\1";
	(void)state;
	for (size_t i = 0; i < LONGEST_NAMES; i++) {
		uint8_t m[1024] = { 0, 1, 0x80, 0, 0, 1, 0, 3 }, owner[DNS_NAME_MAX];
		size_t octets = longest_name_octets(i), n = DNS_HEADER_BYTES + octets + 4;
		uint8_t *name = m + DNS_HEADER_BYTES;
		assert_int_equal(dns_name_from_text(slice_of(longest_names[i]), name), octets);
		memcpy(name + octets, "\0\1\0\1", 4);
		const struct {
			const uint8_t *p;
			size_t n, octets;
		} owners[] = { { name, octets, octets },
			       { (const uint8_t *)"\300\14", 2, octets },
			       { (uint8_t[]){ 0xc0, (uint8_t)(12 + *name + 1U) }, 2,
				 octets - *name - 1U } };
		for (size_t k = 0; k < ARRAY_LEN(owners); k++) {
			memcpy(m + n, owners[k].p, owners[k].n);
			memcpy(m + n + owners[k].n, rest, sizeof(rest) - 1);
			n += owners[k].n + sizeof(rest) - 1;
		}
		struct dns_resp r = { .msg = m, .msg_len = (uint32_t)n };
		struct dns_rrwalk w;
		dns_rrwalk_init(&w, &r);
		for (size_t k = 0; k < ARRAY_LEN(owners); k++) {
			assert_true(dns_rrwalk_next(&w));
			assert_int_equal(dns_rrwalk_owner(&w, owner), owners[k].octets);
			assert_true(dns_name_is_below(name, owner));
		}
		assert_false(dns_rrwalk_next(&w));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(same_in_both_forms),
		cmocka_unit_test(broken_messages_end_it),
		cmocka_unit_test(nothing_to_see),
		cmocka_unit_test(longest_owners),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
