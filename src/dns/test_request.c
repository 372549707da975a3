/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reading requests: header rules, the question, OPT in its place, cut and odd messages. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/mem.h"
#include "dns/request.h"
#include "dns/test_bytes.h"
#include "dns/test_names.h"
#include "dns/types.h"

/* Parses a copy that has exactly the promised slack behind it, so that a sanitizer sees more. */
static enum dns_admit parse(const char *text, uint16_t opcodes, struct dns_request *r)
{
	static uint8_t *copy;
	uint8_t m[2048];
	size_t n = bytes_of(text, m);
	free(copy);
	copy = xmalloc(n + DNS_REQUEST_SLACK);
	memcpy(copy, m, n);
	memset(copy + n, 0xff, DNS_REQUEST_SLACK);
	return dns_request_parse(copy, n, opcodes, r);
}

#define Q      "01 'a' 00 0001 0001"
#define OPT    "00 0029 04d0 00 00 8000 0000"
#define UPDATE (1 << DNS_OPCODE_UPDATE)

static void test_admission(void **state)
{
	static const struct {
		const char *msg;
		uint16_t opcodes;
		enum dns_admit want;
		int question_len; /* -1: not compared */
	} rows[] = {
		/* header */
		{ "", 0, DNS_ADMIT_IGNORE, -1 },
		{ "1234 0100 0001 0000 0000 00", 0, DNS_ADMIT_IGNORE, -1 },
		{ "1234 0100 0001 0000 0000 0000", 0, DNS_ADMIT_EMPTY, 0 },
		{ "1234 8100 0001 0000 0000 0000" Q, 0, DNS_ADMIT_IGNORE, -1 },
		{ "1234 9100 0000 0000 0000 0000", 0, DNS_ADMIT_IGNORE, -1 },
		{ "1234 0100 0000 0000 0000 0000", 0, DNS_ADMIT_FORMERR, 0 },
		{ "1234 0100 0002 0000 0000 0000" Q Q, 0, DNS_ADMIT_FORMERR, 0 },
		{ "1234 0100 0001 0002 0000 0000" Q, 0, DNS_ADMIT_FORMERR, 0 },
		{ "1234 0100 0001 0000 0002 0000" Q, 0, DNS_ADMIT_FORMERR, 0 },
		{ "1234 0100 0001 0000 0000 0003" Q, 0, DNS_ADMIT_FORMERR, 0 },
		{ "1234 0100 0001 0001 0001 0002" Q, 0, DNS_ADMIT_OK, 7 },
		/* opcodes: STATUS, NOTIFY, UPDATE, 15 */
		{ "1234 1000 0001 0000 0000 0000" Q, 0, DNS_ADMIT_NOTIMP, 0 },
		{ "1234 1000 0000 0000 0000 0000", 0, DNS_ADMIT_NOTIMP, 0 },
		{ "1234 2000 0001 0000 0000 0000" Q, 0, DNS_ADMIT_OK, 7 },
		{ "1234 2800 0001 0000 0000 0000" Q, 0, DNS_ADMIT_NOTIMP, 0 },
		{ "1234 2800 0001 0005 0005 0005" Q, UPDATE, DNS_ADMIT_OK, 7 },
		{ "1234 2800 0002 0000 0000 0000" Q Q, UPDATE, DNS_ADMIT_FORMERR, 0 },
		{ "1234 0000 0001 0005 0000 0000" Q, UPDATE, DNS_ADMIT_FORMERR, 0 },
		{ "1234 7800 0001 0000 0000 0000" Q, UPDATE, DNS_ADMIT_NOTIMP, 0 },
		/* question, whole and cut */
		{ "1234 0100 0001 0000 0000 0000" Q, 0, DNS_ADMIT_OK, 7 },
		{ "1234 0100 0001 0000 0000 0000 00 0002 0001", 0, DNS_ADMIT_OK, 5 },
		{ "1234 0100 0001 0000 0000 0000 01", 0, DNS_ADMIT_FORMERR, 0 },
		{ "1234 0100 0001 0000 0000 0000 01 'a'", 0, DNS_ADMIT_FORMERR, 0 },
		{ "1234 0100 0001 0000 0000 0000 01 'a' 00", 0, DNS_ADMIT_OK, 7 },
		{ "1234 0100 0001 0000 0000 0000 01 'a' 00 00", 0, DNS_ADMIT_FORMERR, 0 },
		{ "1234 0100 0001 0000 0000 0000 01 'a' 00 0001", 0, DNS_ADMIT_OK, 7 },
		{ "1234 0100 0001 0000 0000 0000 01 'a' 00 0001 00", 0, DNS_ADMIT_FORMERR, 0 },
		{ "1234 0100 0001 0000 0000 0000 c00c 0001 0001", 0, DNS_ADMIT_FORMERR, 0 },
		{ "1234 0100 0001 0000 0000 0000 01 'a' c000 0001 0001", 0, DNS_ADMIT_FORMERR, 0 },
		{ "1234 0100 0001 0000 0000 0000 41 00 0001 0001", 0, DNS_ADMIT_FORMERR, 0 },
		{ "1234 0100 0001 0000 0000 0000 81 00 0001 0001", 0, DNS_ADMIT_FORMERR, 0 },
		/* records */
		{ "1234 0100 0001 0000 0000 0001" Q OPT, 0, DNS_ADMIT_OK, 7 },
		{ "1234 0100 0001 0000 0000 0002" Q OPT, 0, DNS_ADMIT_OK, 7 },
		{ "1234 0100 0001 0000 0000 0000" Q "ff ff ff", 0, DNS_ADMIT_OK, 7 },
		{ "1234 0100 0001 0000 0000 0001" Q "00", 0, DNS_ADMIT_FORMERR, 7 },
		{ "1234 0100 0001 0000 0000 0001" Q "00 0029 04d0 00 00 8000 00", 0,
		  DNS_ADMIT_FORMERR, 7 },
		{ "1234 0100 0001 0000 0000 0001" Q "00 0029 04d0 00 00 8000 0001", 0,
		  DNS_ADMIT_FORMERR, 7 },
		{ "1234 0100 0001 0000 0000 0001" Q "00 0029 04d0 00 00 8000 0004 000a 0001", 0,
		  DNS_ADMIT_FORMERR, 7 },
		{ "1234 0100 0001 0000 0000 0001" Q "00 0029 04d0 00 00 8000 0003 000a 00", 0,
		  DNS_ADMIT_FORMERR, 7 },
		{ "1234 0100 0001 0000 0000 0001" Q "00 0029 04d0 00 00 8000 0007 0008 0003 000000",
		  0, DNS_ADMIT_FORMERR, 7 },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct dns_request r;
		memset(&r, 0xa5, sizeof(r));
		enum dns_admit got = parse(rows[i].msg, rows[i].opcodes, &r);
		if (got != rows[i].want)
			print_error("row %zu: %s\n", i, rows[i].msg);
		assert_int_equal(got, rows[i].want);
		if (got == DNS_ADMIT_IGNORE)
			continue;
		assert_int_equal(r.id, 0x1234);
		if (rows[i].question_len != r.question_len)
			print_error("row %zu: %s\n", i, rows[i].msg);
		assert_int_equal(r.question_len, rows[i].question_len);
	}
}

static void test_cut_question_is_completed_with_zeros(void **state)
{
	struct dns_request r;
	(void)state;
	assert_int_equal(parse("1234 0100 0001 0000 0000 0000 01 'a' 00", 0, &r), DNS_ADMIT_OK);
	assert_int_equal(r.qtype, 0);
	assert_int_equal(r.qclass, 0);
	assert_int_equal(parse("1234 0100 0001 0000 0000 0000 01 'a' 00 0010", 0, &r),
			 DNS_ADMIT_OK);
	assert_int_equal(r.qtype, 16);
	assert_int_equal(r.qclass, 0);
	assert_memory_equal(r.qname, "\1a\0\0\20\0\0", 7);
}

static void test_longest_name(void **state)
{
	uint8_t m[400] = { 0x12, 0x34, 1, 0, 0, 1 };
	struct dns_request r;
	size_t n = 12;
	(void)state;
	for (int i = 0; i < 127; i++) {
		m[n++] = 1;
		m[n++] = 'A';
	}
	m[n++] = 0;
	dns_put16(m + n, 1);
	dns_put16(m + n + 2, 1);
	assert_int_equal(n - 12, DNS_NAME_MAX);
	assert_int_equal(dns_request_parse(m, n + 4, 0, &r), DNS_ADMIT_OK);
	struct dns_qname q;
	dns_qname_set(&q, r.qname);
	assert_int_equal(q.n_labels, 127);
	assert_int_equal(q.len, 255);
	assert_true(q.has_upper);
	assert_int_equal(q.wire[1], 'a');
	/* One byte more is too long. */
	m[12] = 2;
	memmove(m + 14, m + 13, n + 4 - 13);
	assert_int_equal(dns_request_parse(m, n + 5, 0, &r), DNS_ADMIT_FORMERR);
}

static void test_opt(void **state)
{
	struct dns_request r;
	struct dns_option o;
	size_t pos = 0;
	(void)state;
	assert_int_equal(parse("1234 0100 0001 0000 0000 0001" Q
			       "00 0029 04d0 07 01 c123 000b 000a 0002 'hi' fde9 0001 'x'",
			       0, &r),
			 DNS_ADMIT_OK);
	assert_true(r.opt.present);
	assert_true(r.opt.dnssec_ok);
	assert_int_equal(r.opt.udp_size, 1232);
	assert_int_equal(r.opt.ext_rcode, 7);
	assert_int_equal(r.opt.version, 1);
	assert_int_equal(r.opt.z, 0x4123);
	assert_true(dns_option_next(&r.opt, &pos, &o));
	assert_int_equal(o.code, 10);
	assert_memory_equal(o.data, "hi", 2);
	assert_true(dns_option_next(&r.opt, &pos, &o));
	assert_int_equal(o.code, 65001);
	assert_int_equal(o.len, 1);
	assert_false(dns_option_next(&r.opt, &pos, &o));

	/* Without one, all of it is zero: plugins may make one. */
	memset(&r, 0xff, sizeof(r));
	assert_int_equal(parse("1234 0100 0001 0000 0000 0000" Q, 0, &r), DNS_ADMIT_OK);
	assert_false(r.opt.present);
	assert_int_equal(r.opt.version, 0);
	assert_int_equal(r.opt.z, 0);
	assert_int_equal(r.opt.options_len, 0);
}

static void test_opt_counts_in_additional_only(void **state)
{
	struct dns_request r;
	(void)state;
	assert_int_equal(parse("1234 0100 0001 0001 0000 0000" Q OPT, 0, &r), DNS_ADMIT_OK);
	assert_false(r.opt.present);
	assert_int_equal(parse("1234 0100 0001 0000 0001 0000" Q OPT, 0, &r), DNS_ADMIT_OK);
	assert_false(r.opt.present);
	assert_int_equal(
		parse("1234 0100 0001 0001 0000 0001" Q OPT "00 0029 0400 00 00 0000 0000", 0, &r),
		DNS_ADMIT_OK);
	assert_true(r.opt.present);
	assert_int_equal(r.opt.udp_size, 1024);
	/* Of two the last one counts. */
	assert_int_equal(
		parse("1234 0100 0001 0000 0000 0002" Q OPT "00 0029 0400 00 00 0000 0000", 0, &r),
		DNS_ADMIT_OK);
	assert_int_equal(r.opt.udp_size, 1024);
	assert_false(r.opt.dnssec_ok);
}

static void test_lower_case_touches_letters_only(void **state)
{
	(void)state;
	for (unsigned len = 1; len <= DNS_LABEL_MAX; len++) {
		for (unsigned c = 0; c < 256; c++) {
			uint8_t name[DNS_NAME_MAX] = { (uint8_t)len };
			struct dns_qname q;
			memset(name + 1, (int)c, len);
			name[len + 1] = 0;
			dns_qname_set(&q, name);
			bool upper = c >= 'A' && c <= 'Z';
			assert_int_equal(q.has_upper, upper);
			assert_int_equal(q.wire[0], len);
			for (unsigned i = 1; i <= len; i++)
				assert_int_equal(q.wire[i], upper ? c + 32 : c);
		}
	}
}

static void test_suffix_hashes_agree(void **state)
{
	static const char *const names[] = { ".", "org", "example.org", "a.example.org",
					     "exactly8.eightee.n.example.org" };
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		uint8_t wire[DNS_NAME_MAX];
		struct dns_qname q, suffix;
		assert_true(dns_name_from_text(slice_of(names[i]), wire) > 0);
		dns_qname_set(&q, wire);
		for (unsigned k = 0; k <= q.n_labels; k++) {
			dns_qname_set(&suffix, wire + q.label[k]);
			assert_int_equal(q.hash[k], suffix.hash[0]);
			assert_int_equal(q.hash[k], dns_name_hash(wire + q.label[k]));
			if (k > 0)
				assert_int_not_equal(q.hash[k], q.hash[k - 1]);
		}
		assert_int_equal(q.label[q.n_labels], q.len - 1);
	}
}

/* Whole, with an OPT behind them, cut behind the name, and with one octet too many. */
static void test_longest_names(void **state)
{
	static const uint8_t tail[] = "\0\1\0\1\0\0\51\4\320\0\0\200\0\0";
	(void)state;
	for (size_t i = 0; i < LONGEST_NAMES; i++) {
		uint8_t m[400] = { 0x12, 0x34, 1, 0, 0, 1, 0, 0, 0, 0, 0, 1 };
		size_t octets = longest_name_octets(i), n = 12 + octets + sizeof(tail);
		struct dns_request r;
		struct dns_qname q, suffix;
		assert_int_equal(dns_name_from_text(slice_of(longest_names[i]), m + 12), octets);
		memcpy(m + 12 + octets, tail, sizeof(tail));
		for (size_t cut = 12 + octets - 1; cut <= n; cut++) {
			CLEANUP(freep) uint8_t *copy = xcalloc(1, cut + DNS_REQUEST_SLACK);
			memcpy(copy, m, cut);
			enum dns_admit got = dns_request_parse(copy, cut, 0, &r);
			/* Type, class and records may be left out, each as a whole. */
			bool whole = cut == 12 + octets || cut == 12 + octets + 2 ||
				     cut == 12 + octets + 4 || cut == n;
			assert_int_equal(got == DNS_ADMIT_OK, whole);
		}
		assert_int_equal(dns_request_parse(m, n, 0, &r), DNS_ADMIT_OK);
		assert_int_equal(r.question_len, octets + 4);
		assert_true(r.opt.present);
		dns_qname_set(&q, r.qname);
		assert_int_equal(q.len, octets);
		assert_int_equal(q.n_labels, dns_name_labels(m + 12));
		assert_int_equal(q.has_upper, i < 3);
		for (unsigned k = 0; k <= q.n_labels; k++) {
			dns_qname_set(&suffix, r.qname + q.label[k]);
			assert_int_equal(q.hash[k], suffix.hash[0]);
			assert_int_equal(suffix.len, octets - q.label[k]);
		}
		memmove(m + 14, m + 12, octets + sizeof(tail));
		m[12] = 1;
		m[13] = 'x';
		assert_int_equal(dns_request_parse(m, n + 2, 0, &r),
				 octets == 253 ? DNS_ADMIT_OK : DNS_ADMIT_FORMERR);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_admission),
		cmocka_unit_test(test_cut_question_is_completed_with_zeros),
		cmocka_unit_test(test_longest_name),
		cmocka_unit_test(test_longest_names),
		cmocka_unit_test(test_opt),
		cmocka_unit_test(test_opt_counts_in_additional_only),
		cmocka_unit_test(test_lower_case_touches_letters_only),
		cmocka_unit_test(test_suffix_hashes_agree),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
