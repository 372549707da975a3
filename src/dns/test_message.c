/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tests of dns/message: exact bytes. */
#include "dns/message.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static const uint8_t example[] = "\7example\3org";

static void writes_a_query(void **state)
{
	static const uint8_t want[] = "\x12\x34\x01\x00\0\1\0\0\0\0\0\0\7example\3org\0\0\x0f\0\1";
	uint8_t msg[DNS_QUERY_MAX];
	(void)state;
	size_t n = dns_message_query(msg, 0x1234, DNS_FLAG_RD, example, DNS_TYPE_MX);
	assert_int_equal(n, sizeof(want) - 1);
	assert_memory_equal(msg, want, n);
}

static void the_longest_name_fits(void **state)
{
	uint8_t name[DNS_NAME_MAX] = { 0 }, msg[DNS_QUERY_MAX];
	(void)state;
	for (size_t i = 0; i + 1 < sizeof(name); i += 2)
		memcpy(name + i, "\1x", 2);
	assert_int_equal(dns_message_query(msg, 0, 0, name, DNS_TYPE_A), DNS_QUERY_MAX);
}

static void adds_and_counts_opt(void **state)
{
	static const uint8_t want[] = "\0\1\0\0\0\1\0\0\0\0\0\1\0\0\1\0\1"
				      "\0\0\x29\x04\xd0\x01\x00\x80\x02\0\5\0\x0a\0\1\xff";
	static const uint8_t options[] = "\0\x0a\0\1\xff";
	static const uint8_t question[] = "\0\0\1\0\1";
	struct dns_opt opt = { .udp_size = 1232,
			       .ext_rcode = 1,
			       .dnssec_ok = true,
			       .z = 2,
			       .options = options,
			       .options_len = sizeof(options) - 1 };
	uint8_t msg[sizeof(want)];
	(void)state;
	size_t n = dns_message_start(msg, 1, 0, question, sizeof(question) - 1);
	n = dns_message_add_opt(msg, n, &opt);
	assert_int_equal(n, sizeof(want) - 1);
	assert_memory_equal(msg, want, n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(writes_a_query),
		cmocka_unit_test(the_longest_name_fits),
		cmocka_unit_test(adds_and_counts_opt),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
