/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Kinds of replies, in both forms of a response. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/clock_test.h"
#include "base/compiler.h"
#include "dns/resp_kind.h"

enum { NOW_S = 1800000000 };

static uint64_t fake_ns(void)
{
	return (uint64_t)NOW_S * NS_PER_S;
}

struct row {
	const char *what;
	enum dns_kind kind;
	uint16_t rcode;
	uint16_t flags;
	uint16_t qtype;
	uint16_t answer, authority[2]; /* types; 0: none */
};

static const struct row rows[] = {
	{ "answer", DNS_KIND_NOERROR, 0, 0, DNS_TYPE_A, DNS_TYPE_A, { 0 } },
	{ "answer and SOA", DNS_KIND_NOERROR, 0, 0, DNS_TYPE_A, DNS_TYPE_A, { DNS_TYPE_SOA } },
	{ "empty", DNS_KIND_NOERROR, 0, 0, DNS_TYPE_A, 0, { 0 } },
	{ "no data", DNS_KIND_NODATA, 0, 0, DNS_TYPE_A, 0, { DNS_TYPE_SOA } },
	{ "NS then SOA", DNS_KIND_NODATA, 0, 0, DNS_TYPE_A, 0, { DNS_TYPE_NS, DNS_TYPE_SOA } },
	{ "delegation", DNS_KIND_DELEGATION, 0, 0, DNS_TYPE_A, 0, { DNS_TYPE_NS, DNS_TYPE_DS } },
	{ "name error", DNS_KIND_NXDOMAIN, 3, 0, DNS_TYPE_A, 0, { DNS_TYPE_SOA } },
	{ "name error, bare", DNS_KIND_NXDOMAIN, 3, 0, DNS_TYPE_A, 0, { 0 } },
	{ "name error with answer", DNS_KIND_OTHER, 3, 0, DNS_TYPE_A, DNS_TYPE_CNAME, { 0 } },
	{ "SERVFAIL", DNS_KIND_SERVER, 2, 0, DNS_TYPE_A, 0, { 0 } },
	{ "NOTIMP", DNS_KIND_SERVER, 4, 0, DNS_TYPE_A, 0, { 0 } },
	{ "REFUSED", DNS_KIND_OTHER, 5, 0, DNS_TYPE_A, 0, { 0 } },
	{ "NOTAUTH with answer", DNS_KIND_OTHER, 9, 0, DNS_TYPE_A, DNS_TYPE_A, { 0 } },
	{ "transfer", DNS_KIND_META, 0, 0, DNS_TYPE_AXFR, DNS_TYPE_SOA, { 0 } },
	{ "transfer, refused", DNS_KIND_META, 5, 0, DNS_TYPE_IXFR, 0, { 0 } },
	{ "notify", DNS_KIND_META, 0, DNS_OPCODE_NOTIFY << 11, DNS_TYPE_SOA, 0, { 0 } },
	{ "update", DNS_KIND_UPDATE, 0, DNS_OPCODE_UPDATE << 11, DNS_TYPE_SOA, 0, { 0 } },
};

/* Rdata that suits any type here: an RRSIG valid from `from` to `to`. */
static void add(struct dns_resp *r, struct arena *a, enum dns_section s, uint16_t type,
		const uint8_t *rdata, uint16_t n)
{
	struct dns_rr rr = { .owner = dns_name_root,
			     .type = type,
			     .cls = DNS_CLASS_IN,
			     .rdata = rdata,
			     .rdlen = n };
	assert_int_equal(dns_resp_add(r, a, s, &rr), 0);
}

static const uint8_t address[4] = { 192, 0, 2, 1 };

/* The same message as bytes. */
static void to_wire(const struct dns_resp *r, uint8_t *msg, struct dns_resp *ret)
{
	static const uint8_t question[] = { 0, 0, 1, 0, 1 };
	struct dns_resp copy = *r;
	struct dns_encode e = { .question = question,
				.question_len = sizeof(question),
				.limit = 512 };
	int n = dns_resp_encode(&copy, &e, msg, 512);
	assert_true(n > 0);
	assert_int_equal(dns_resp_from_wire(ret, NULL, msg, (size_t)n), 0);
}

static void tells_kinds_apart(void **state)
{
	char memory[2048];
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct arena a;
		struct dns_resp r = { .flags = rows[i].flags, .rcode = rows[i].rcode }, wire;
		uint8_t msg[512];
		arena_init_fixed(&a, memory, sizeof(memory));
		if (rows[i].answer != 0)
			add(&r, &a, DNS_ANSWER, rows[i].answer, address, 4);
		for (int k = 0; k < 2; k++) {
			if (rows[i].authority[k] != 0)
				add(&r, &a, DNS_AUTHORITY, rows[i].authority[k], dns_name_root, 1);
		}
		enum dns_kind kind = dns_resp_kind(&r, rows[i].qtype);
		if (kind != rows[i].kind)
			fail_msg("%s: %s", rows[i].what, dns_kind_str(kind));
		if (rows[i].answer != 0)
			continue; /* not every rdata above survives the encoder */
		to_wire(&r, msg, &wire);
		kind = dns_resp_kind(&wire, rows[i].qtype);
		if (kind != rows[i].kind)
			fail_msg("%s as bytes: %s", rows[i].what, dns_kind_str(kind));
	}
}

static enum dns_kind signed_kind(uint32_t from, uint32_t to, bool dnssec_ok)
{
	char memory[1024];
	uint8_t rdata[24] = { 0 }, msg[512];
	struct arena a;
	struct dns_resp r = { .has_opt = true, .opt_do = dnssec_ok, .opt_udp_size = 1232 }, wire;
	arena_init_fixed(&a, memory, sizeof(memory));
	dns_put32(rdata + 8, to);
	dns_put32(rdata + 12, from);
	add(&r, &a, DNS_ANSWER, DNS_TYPE_A, address, 4);
	add(&r, &a, DNS_ADDITIONAL, DNS_TYPE_RRSIG, rdata, sizeof(rdata));
	enum dns_kind kind = dns_resp_kind(&r, DNS_TYPE_A);
	to_wire(&r, msg, &wire);
	assert_int_equal(dns_resp_kind(&wire, DNS_TYPE_A), kind);
	return kind;
}

static void looks_at_the_times_of_signatures(void **state)
{
	static const struct clock_source clock = { fake_ns, fake_ns };
	(void)state;
	clock_set_source(&clock);
	assert_int_equal(signed_kind(NOW_S - 10, NOW_S + 10, true), DNS_KIND_NOERROR);
	assert_int_equal(signed_kind(NOW_S - 10, NOW_S - 1, true), DNS_KIND_OTHER);
	assert_int_equal(signed_kind(NOW_S + 1, NOW_S + 10, true), DNS_KIND_OTHER);
	assert_int_equal(signed_kind(NOW_S - 10, NOW_S - 1, false), DNS_KIND_NOERROR);
	clock_set_source(NULL);
}

static void puts_kinds_into_classes(void **state)
{
	(void)state;
	assert_int_equal(dns_kind_class(DNS_KIND_DELEGATION), DNS_REPLY_SUCCESS);
	assert_int_equal(dns_kind_class(DNS_KIND_NODATA), DNS_REPLY_DENIAL);
	assert_int_equal(dns_kind_class(DNS_KIND_META), DNS_REPLY_ERROR);
	assert_string_equal(dns_reply_class_str(DNS_REPLY_SUCCESS), "success");
	assert_string_equal(dns_reply_class_str(DNS_REPLY_DENIAL), "denial");
	assert_string_equal(dns_reply_class_str(DNS_REPLY_ERROR), "error");
	assert_string_equal(dns_kind_str(DNS_KIND_SERVER), "SERVERERROR");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tells_kinds_apart),
		cmocka_unit_test(looks_at_the_times_of_signatures),
		cmocka_unit_test(puts_kinds_into_classes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
