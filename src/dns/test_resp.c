/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Building and editing responses: sections, options, sizes, ownership, memory that runs out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "dns/resp.h"

static char buf[8192];
static struct arena arena;

static int setup(void **state)
{
	(void)state;
	arena_init_fixed(&arena, buf, sizeof(buf));
	return 0;
}

static const uint8_t owner[] = "\7example\3org";
static const struct dns_rr record = { .owner = owner,
				      .owner_len = sizeof(owner),
				      .rdata = (const uint8_t *)"\300\0\2\1",
				      .rdlen = 4,
				      .type = DNS_TYPE_A,
				      .cls = DNS_CLASS_IN,
				      .ttl = 60 };

static void test_reply_keeps_what_setreply_keeps(void **state)
{
	static const struct {
		uint16_t flags;
		uint8_t opcode;
		uint16_t want;
	} rows[] = {
		{ 0, 0, DNS_FLAG_QR },
		{ DNS_FLAG_RD | DNS_FLAG_CD | DNS_FLAG_AD | DNS_FLAG_TC | DNS_FLAG_RA | DNS_FLAG_Z,
		  0, DNS_FLAG_QR | DNS_FLAG_RD | DNS_FLAG_CD },
		{ DNS_FLAG_RD | DNS_FLAG_CD | 4 << 11, 4, DNS_FLAG_QR | 4 << 11 },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct dns_request q = { .flags = rows[i].flags, .opcode = rows[i].opcode };
		struct dns_resp r;
		memset(&r, 0xff, sizeof(r));
		dns_resp_reply(&r, &q);
		assert_int_equal(r.flags, rows[i].want);
		assert_int_equal(r.rcode, 0);
		assert_false(r.has_opt);
		assert_null(r.msg);
		assert_null(r.first[DNS_ADDITIONAL]);
	}
}

static void test_sections(void **state)
{
	struct dns_resp r = { 0 };
	(void)state;
	struct dns_rr no_len = record;
	no_len.owner_len = 0; /* counted if not given */
	for (int i = 0; i < 3; i++)
		assert_int_equal(dns_resp_add(&r, &arena, DNS_AUTHORITY, &no_len), 0);
	assert_int_equal(r.count[DNS_AUTHORITY], 3);
	unsigned n = 0;
	DNS_RR_FOREACH(rr, &r, DNS_AUTHORITY)
	{
		assert_int_equal(rr->owner_len, sizeof(owner));
		n++;
	}
	assert_int_equal(n, 3);
	assert_int_equal(dns_resp_size(&r, 17), 12 + 17 + 3 * (13 + 10 + 4));
	dns_resp_clear(&r, DNS_AUTHORITY);
	assert_int_equal(r.count[DNS_AUTHORITY], 0);
	assert_null(r.last[DNS_AUTHORITY]);
	assert_int_equal(dns_resp_add(&r, &arena, DNS_AUTHORITY, &record), 0);
	assert_ptr_equal(r.first[DNS_AUTHORITY], r.last[DNS_AUTHORITY]);
}

static void test_options(void **state)
{
	struct dns_resp r = { 0 };
	(void)state;
	assert_int_equal(dns_resp_option(&r, &arena, 10, "abc", 3), 0);
	assert_true(r.has_opt);
	assert_int_equal(r.opt_udp_size, 4096);
	assert_false(r.opt_do);
	assert_int_equal(dns_resp_option(&r, &arena, 3, NULL, 0), 0);
	assert_int_equal(dns_resp_ede(&r, &arena, 15, SLICE("no")), 0);
	assert_true(r.opt_do);
	assert_int_equal(r.options_len, 7 + 4 + 8);
	assert_memory_equal(r.options, "\0\12\0\3abc\0\3\0\0\0\17\0\4\0\17no", 19);
	assert_int_equal(dns_resp_size(&r, 5), 12 + 5 + 11 + 19);
	/* One that has its own keeps its size. */
	r = (struct dns_resp){ .has_opt = true, .opt_udp_size = 1232 };
	assert_int_equal(dns_resp_option(&r, &arena, 3, "x", 1), 0);
	assert_int_equal(r.opt_udp_size, 1232);
}

static void test_size_of_a_message_follows_its_opt(void **state)
{
	uint8_t msg[DNS_HEADER_BYTES] = { 0 };
	struct dns_resp r = { .msg = msg, .msg_len = sizeof(msg), .full_size = 100 };
	(void)state;
	dns_resp_drop_opt(&r);
	assert_int_equal(r.full_size, 100);
	assert_int_equal(dns_resp_option(&r, &arena, 3, "abc", 3), 0);
	assert_int_equal(r.full_size, 100 + DNS_OPT_BYTES + 7);
	assert_int_equal(dns_resp_option(&r, &arena, 3, NULL, 0), 0);
	assert_int_equal(r.full_size, 100 + DNS_OPT_BYTES + 11);
	dns_resp_drop_options(&r);
	assert_true(r.has_opt);
	assert_int_equal(r.full_size, 100 + DNS_OPT_BYTES);
	dns_resp_drop_opt(&r);
	assert_false(r.has_opt);
	assert_int_equal(r.full_size, 100);
}

static void test_option_limits(void **state)
{
	static char text[70000];
	struct arena big;
	struct dns_resp r = { 0 };
	(void)state;
	memset(text, 'x', sizeof(text));
	assert_int_equal(dns_resp_ede(&r, &arena, 1, (struct slice){ text, sizeof(text) }), 0);
	assert_int_equal(r.options_len, 4 + 2 + 512);
	arena_init(&big);
	assert_int_equal(dns_resp_option(&r, &big, 12, text, 65000), 0);
	uint16_t before = r.options_len;
	assert_int_equal(dns_resp_option(&r, &big, 12, text, 65535 - 65000), ERR_SPACE);
	assert_int_equal(r.options_len, before);
	arena_done(&big);
}

static void test_memory_runs_out(void **state)
{
	struct dns_resp r = { 0 };
	unsigned n = 0;
	(void)state;
	while (dns_resp_add(&r, &arena, DNS_ANSWER, &record) == 0)
		n++;
	assert_int_equal(r.count[DNS_ANSWER], n);
	assert_true(n > 100);
	unsigned linked = 0;
	DNS_RR_FOREACH(rr, &r, DNS_ANSWER)
	linked++;
	assert_int_equal(linked, n);
	while (arena_alloc(&arena, 8) != NULL)
		;
	assert_int_equal(dns_resp_option(&r, &arena, 10, "abc", 3), ERR_SPACE);
	assert_false(r.has_opt);
	assert_int_equal(dns_resp_own(&r, &arena), ERR_SPACE);
}

static void test_own_copies_everything(void **state)
{
	uint8_t name[sizeof(owner)], data[4] = { 1, 2, 3, 4 }, options[4] = { 0, 3, 0, 0 };
	struct dns_rr outside = record;
	struct dns_resp r = { .has_opt = true, .options = options, .options_len = 4 };
	(void)state;
	memcpy(name, owner, sizeof(owner));
	outside.owner = name;
	outside.rdata = data;
	dns_resp_link(&r, DNS_ANSWER, &outside);
	assert_int_equal(dns_resp_own(&r, &arena), 0);
	memset(name, 0xff, sizeof(name));
	memset(data, 0xff, sizeof(data));
	memset(options, 0xff, sizeof(options));
	memset(&outside, 0xff, sizeof(outside));
	assert_int_equal(r.count[DNS_ANSWER], 1);
	assert_memory_equal(r.first[DNS_ANSWER]->owner, owner, sizeof(owner));
	assert_memory_equal(r.first[DNS_ANSWER]->rdata, "\1\2\3\4", 4);
	assert_null(r.first[DNS_ANSWER]->next);
	assert_memory_equal(r.options, "\0\3\0\0", 4);
}

/* The options of a wire form point into its message. */
static void test_own_copies_a_wire_form_and_its_options(void **state)
{
	static const uint8_t original[] = "\0\0\204\0\0\1\0\0\0\0\0\1\1a\0\0\1\0\1"
					  "\0\0\51\4\320\0\0\0\0\0\6\0\3\0\2ns";
	uint8_t msg[sizeof(original) - 1];
	struct dns_resp r;
	(void)state;
	memcpy(msg, original, sizeof(msg));
	assert_int_equal(dns_resp_from_wire(&r, &arena, msg, sizeof(msg)), 0);
	assert_int_equal(dns_resp_own(&r, &arena), 0);
	memset(msg, 0xff, sizeof(msg));
	assert_int_equal(r.msg_len, sizeof(msg));
	assert_memory_equal(r.msg, original, sizeof(msg));
	assert_int_equal(r.options_len, 6);
	assert_memory_equal(r.options, "\0\3\0\2ns", 6);
}

int main(void)
{
#define T(fn) cmocka_unit_test_setup(fn, setup)
	const struct CMUnitTest tests[] = {
		T(test_reply_keeps_what_setreply_keeps),
		T(test_sections),
		T(test_options),
		T(test_option_limits),
		T(test_size_of_a_message_follows_its_opt),
		T(test_memory_runs_out),
		T(test_own_copies_everything),
		T(test_own_copies_a_wire_form_and_its_options),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
