/* SPDX-License-Identifier: GPL-3.0-or-later */
/* TTLs of a whole response, open and wire, and the size it has when names are written out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "dns/resp.h"

/* A question, an answer (TTL 60), an SOA-less authority record (TTL 30), OPT, an A record (TTL 45).
 */
#define MESSAGE                                   \
	"\22\64\204\0\0\1\0\1\0\1\0\2"            \
	"\7example\3org\0\0\1\0\1"                \
	"\300\14\0\1\0\1\0\0\0\74\0\4\300\0\2\1"  \
	"\300\14\0\2\0\1\0\0\0\36\0\5\2ns\300\14" \
	"\0\0\51\4\320\0\0\0\0\0\0"               \
	"\2ns\300\14\0\1\0\1\0\0\0\55\0\4\300\0\2\2"

static struct dns_resp take(struct arena *a)
{
	struct dns_resp r;
	uint8_t *copy = arena_memdup(a, MESSAGE, sizeof(MESSAGE) - 1);
	assert_int_equal(dns_resp_from_wire(&r, a, copy, sizeof(MESSAGE) - 1), 0);
	return r;
}

static void lowest_of_all_sections(void **state)
{
	(void)state;
	struct arena a;
	arena_init(&a);
	for (int open = 0; open < 2; open++) {
		struct dns_resp r = take(&a);
		if (open)
			assert_int_equal(dns_resp_thaw(&r, &a), 0);
		assert_int_equal(dns_resp_min_ttl(&r, 3600), 30);
		assert_int_equal(dns_resp_min_ttl(&r, 7), 7);
	}
	arena_done(&a);
}

static void all_get_one(void **state)
{
	(void)state;
	struct arena a;
	arena_init(&a);
	for (int open = 0; open < 2; open++) {
		struct dns_resp r = take(&a);
		if (open)
			assert_int_equal(dns_resp_thaw(&r, &a), 0);
		dns_resp_set_ttl(&r, 5);
		/* OPT keeps its flags, which stand where others have a TTL. */
		if (!open)
			assert_memory_equal(r.msg + sizeof(MESSAGE) - 1 - 19 - 6, "\0\0\0\0\0\0",
					    6);
		assert_int_equal(dns_resp_thaw(&r, &a), 0);
		for (int s = 0; s < DNS_SECTIONS; s++)
			assert_int_equal(r.first[s]->ttl, 5);
	}
	arena_done(&a);
}

static void size_with_names_written_out(void **state)
{
	(void)state;
	struct arena a;
	arena_init(&a);
	struct dns_resp r = take(&a);
	size_t size = dns_resp_open_size(&r);
	assert_int_equal(dns_resp_thaw(&r, &a), 0);
	r.has_opt = false;
	assert_int_equal(size, dns_resp_size(&r, 13 + 4));
	arena_done(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lowest_of_all_sections),
		cmocka_unit_test(all_get_one),
		cmocka_unit_test(size_with_names_written_out),
	};
	return cmocka_run_group_tests_name("resp_ttl", tests, NULL, NULL);
}
