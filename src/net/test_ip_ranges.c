/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sets of addresses: text, set arithmetic compared with a plain array, counts at the ends of the
 * number space, and a depth that stays logarithmic. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "base/strbuf.h"
#include "net/ip_ranges.h"

static void write_range(struct strbuf *out, sa_family_t family, struct net_ip_range range)
{
	char text[NET_ADDR_TEXT_MAX];
	union net_addr addr = net_ip_from_number(family, range.first);
	net_addr_ip_str(&addr, text);
	strbuf_addf(out, "%s%s", out->n != 0 ? " " : "", text);
	if (range.last == range.first)
		return;
	addr = net_ip_from_number(family, range.last);
	net_addr_ip_str(&addr, text);
	strbuf_addf(out, "-%s", text);
}

/* PR-2: the three forms of an entry, and what is none. */
static void test_text(void **state)
{
	static const struct {
		const char *in, *out; /* out NULL: refused */
	} rows[] = {
		{ "10.0.0.5", "10.0.0.5" },
		{ "10.0.0.0/24", "10.0.0.0-10.0.0.255" },
		{ "10.0.0.77/24", "10.0.0.0-10.0.0.255" },
		{ "10.0.0.5/32", "10.0.0.5" },
		{ "0.0.0.0/0", "0.0.0.0-255.255.255.255" },
		{ "10.0.0.5-10.0.1.2", "10.0.0.5-10.0.1.2" },
		{ "10.0.0.5-10.0.0.5", "10.0.0.5" },
		{ "2001:db8::/126", "2001:db8::-2001:db8::3" },
		{ "2001:DB8:0::1", "2001:db8::1" },
		{ "::/0", "::-ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff" },
		{ "fe80::1-fe80::ffff", "fe80::1-fe80::ffff" },
		{ "10.0.0.9-10.0.0.5", NULL },
		{ "10.0.0.1-2001:db8::1", NULL },
		{ "10.0.0.0/33", NULL },
		{ "2001:db8::/129", NULL },
		{ "10.0.0.0/-1", NULL },
		{ "10.0.0.0/", NULL },
		{ "10.0.0.1-", NULL },
		{ "-10.0.0.1", NULL },
		{ "10.0.0.1-10.0.0.2-10.0.0.3", NULL },
		{ "10.0.0.0/24-10.0.1.0/24", NULL },
		{ "10.0.0.1/024", NULL },
		{ "10.0.0.1/00", NULL },
		{ "10.0.0.1/0", "0.0.0.0-255.255.255.255" },
		{ "fd00::/064", NULL },
		{ " 10.0.0.1", NULL },
		{ "10.0.0.256", NULL },
		{ "10.0.0", NULL },
		{ "010.0.0.1", NULL },
		{ "fe80::1%lo", NULL },
		{ "fe80::1%1", NULL },
		{ "example.org", NULL },
		{ "", NULL },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
		sa_family_t family = AF_UNSPEC;
		struct net_ip_range range;
		int r = net_ip_range_parse(slice_of(rows[i].in), &family, &range);
		if ((r == 0) != (rows[i].out != NULL))
			fail_msg("'%s': %d", rows[i].in, r);
		if (r < 0)
			continue;
		write_range(&text, family, range);
		assert_string_equal(text.s, rows[i].out);
	}
}

static bool write_one(void *ctx, struct net_ip_range range)
{
	write_range(ctx, AF_INET, range);
	return true;
}

static void change_by_words(struct net_ip_ranges *set, const char *words)
{
	struct slice rest = slice_of(words);
	while (rest.n > 0) {
		struct slice word = slice_cut(&rest, ' ');
		bool removes = word.p[0] == '!';
		sa_family_t family;
		struct net_ip_range range;
		assert_int_equal(net_ip_range_parse(slice_from(word, removes), &family, &range), 0);
		if (removes)
			net_ip_ranges_remove(set, range);
		else
			net_ip_ranges_add(set, range);
	}
}

/* PR-3, PR-4: unions and differences; ranges that touch become one. */
static void test_arithmetic(void **state)
{
	static const struct {
		const char *changes, *out;
		int64_t count;
	} rows[] = {
		{ "10.0.0.1", "10.0.0.1", 1 },
		{ "10.0.0.1 10.0.0.2", "10.0.0.1-10.0.0.2", 2 },
		{ "10.0.0.2 10.0.0.1", "10.0.0.1-10.0.0.2", 2 },
		{ "10.0.0.1 10.0.0.3", "10.0.0.1 10.0.0.3", 2 },
		{ "10.0.0.1 10.0.0.3 10.0.0.2", "10.0.0.1-10.0.0.3", 3 },
		{ "10.0.0.0/24 10.0.0.7", "10.0.0.0-10.0.0.255", 256 },
		{ "10.0.0.5-10.0.0.9 10.0.0.1-10.0.0.6", "10.0.0.1-10.0.0.9", 9 },
		{ "10.0.0.1-10.0.0.9 10.0.0.20-10.0.0.29 10.0.0.5-10.0.0.25", "10.0.0.1-10.0.0.29",
		  29 },
		{ "10.0.0.0/24 !10.0.0.0 !10.0.0.255", "10.0.0.1-10.0.0.254", 254 },
		{ "10.0.0.0/24 !10.0.0.10-10.0.0.19", "10.0.0.0-10.0.0.9 10.0.0.20-10.0.0.255",
		  246 },
		{ "10.0.0.0/24 !10.0.0.0/23", "", 0 },
		{ "10.0.0.1 10.0.0.3 10.0.0.5 !10.0.0.2-10.0.0.4", "10.0.0.1 10.0.0.5", 2 },
		{ "10.0.0.1-10.0.0.5 !10.0.0.7", "10.0.0.1-10.0.0.5", 5 },
		{ "!10.0.0.7", "", 0 },
		{ "0.0.0.0/0", "0.0.0.0-255.255.255.255", 4294967296 },
		{ "0.0.0.0 255.255.255.255 !0.0.0.0", "255.255.255.255", 1 },
		{ "0.0.0.0/0 !255.255.255.255 255.255.255.255", "0.0.0.0-255.255.255.255",
		  4294967296 },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
		CLEANUP(net_ip_ranges_done) struct net_ip_ranges set = { 0 };
		change_by_words(&set, rows[i].changes);
		net_ip_ranges_each(&set, write_one, &text);
		assert_string_equal(strbuf_slice(&text).n != 0 ? text.s : "", rows[i].out);
		assert_int_equal(net_ip_ranges_count(&set), rows[i].count);
	}
}

/* PR-8: numbers beyond 63 bits are the largest one. */
static void test_count_of_large_sets(void **state)
{
	static const struct {
		const char *changes;
		int64_t count;
	} rows[] = {
		{ "2001:db8::/66", (int64_t)1 << 62 },
		{ "2001:db8::/65", INT64_MAX },
		{ "2001:db8::/65 !2001:db8::", INT64_MAX },
		{ "::/0", INT64_MAX },
		{ "::/0 !::", INT64_MAX },
		{ "::/0 !::1-ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", 1 },
		{ "::/0 !::-ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffe", 1 },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(net_ip_ranges_done) struct net_ip_ranges set = { 0 };
		change_by_words(&set, rows[i].changes);
		assert_int_equal(net_ip_ranges_count(&set), rows[i].count);
	}
}

enum { SPACE = 300 };

static uint32_t next_random(uint32_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 17;
	*seed ^= *seed << 5;
	return *seed;
}

static void check_against_array(const struct net_ip_ranges *set, const bool *member,
				net_ip_number base)
{
	int64_t count = 0;
	bool seen = false;
	net_ip_number lowest = 0;
	for (size_t i = 0; i < SPACE; i++) {
		assert_int_equal(net_ip_ranges_has(set, base + i), member[i]);
		count += member[i];
	}
	assert_int_equal(net_ip_ranges_count(set), count);
	seen = net_ip_ranges_lowest(set, &lowest);
	assert_int_equal(seen, count > 0);
	assert_true(!seen || member[lowest - base]);
	for (size_t i = 0; seen && i < lowest - base; i++)
		assert_false(member[i]);
}

/* Random changes, at both ends of the number space too, against an array of flags. */
static void test_random_changes(void **state)
{
	static const net_ip_number bases[] = { 0, (net_ip_number)1 << 64,
					       ~(net_ip_number)0 - (SPACE - 1) };
	uint32_t seed = 2463534242U;
	(void)state;
	for (size_t b = 0; b < ARRAY_LEN(bases); b++) {
		CLEANUP(net_ip_ranges_done) struct net_ip_ranges set = { 0 };
		bool member[SPACE] = { false };
		for (int i = 0; i < 3000; i++) {
			uint32_t first = next_random(&seed) % SPACE;
			uint32_t length = next_random(&seed) % 20;
			uint32_t last = MIN(first + length, (uint32_t)SPACE - 1);
			bool adds = next_random(&seed) % 2 == 0;
			struct net_ip_range range = { bases[b] + first, bases[b] + last };
			if (adds)
				net_ip_ranges_add(&set, range);
			else
				net_ip_ranges_remove(&set, range);
			memset(member + first, adds, last - first + 1);
			check_against_array(&set, member, bases[b]);
		}
	}
}

static void test_common(void **state)
{
	static const struct {
		const char *left, *right;
		int first, last; /* -1: none */
	} rows[] = {
		{ "", "0.0.0.1", -1, -1 },
		{ "0.0.0.1", "0.0.0.1", 1, 1 },
		{ "0.0.0.1-0.0.0.9", "0.0.0.9-0.0.0.20", 9, 9 },
		{ "0.0.0.1 0.0.0.3 0.0.0.5", "0.0.0.2 0.0.0.4 0.0.0.6", -1, -1 },
		{ "0.0.0.1 0.0.0.3 0.0.0.5-0.0.0.8", "0.0.0.2 0.0.0.4 0.0.0.7-0.0.0.9", 7, 8 },
		{ "0.0.0.1 0.0.0.3", "0.0.0.50 0.0.0.60", -1, -1 },
		{ "0.0.0.0/0", "0.0.0.50 0.0.0.60", 50, 50 },
		{ "0.0.0.10-0.0.0.20 0.0.0.30-0.0.0.40", "0.0.0.0-0.0.0.9", -1, -1 },
		{ "0.0.0.10-0.0.0.20 0.0.0.30-0.0.0.40", "0.0.0.21-0.0.0.29", -1, -1 },
		{ "0.0.0.10-0.0.0.20 0.0.0.30-0.0.0.40", "0.0.0.15-0.0.0.35", 15, 20 },
		{ "0.0.0.10-0.0.0.20 0.0.0.30-0.0.0.40", "0.0.0.21-0.0.0.99", 30, 40 },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(net_ip_ranges_done) struct net_ip_ranges left = { 0 }, right = { 0 };
		struct net_ip_range common = { 0, 0 };
		change_by_words(&left, rows[i].left);
		change_by_words(&right, rows[i].right);
		for (int swapped = 0; swapped < 2; swapped++) {
			bool found = swapped ? net_ip_ranges_common(&right, &left, &common)
					     : net_ip_ranges_common(&left, &right, &common);
			assert_int_equal(found, rows[i].first >= 0);
			assert_true(!found || ((int)common.first == rows[i].first &&
					       (int)common.last == rows[i].last));
		}
	}
}

static void list_found(void *ctx, struct net_ip_range found)
{
	strbuf_addf(ctx, "%d-%d ", (int)found.first, (int)found.last);
}

static void test_within(void **state)
{
	static const struct {
		struct net_ip_range range;
		const char *found;
	} rows[] = {
		{ { 0, 9 }, "" },
		{ { 0, 99 }, "10-20 30-40 " },
		{ { 20, 30 }, "20-20 30-30 " },
		{ { 12, 14 }, "12-14 " },
		{ { 35, ~(net_ip_number)0 }, "35-40 " },
	};
	CLEANUP(net_ip_ranges_done) struct net_ip_ranges set = { 0 };
	(void)state;
	change_by_words(&set, "0.0.0.10-0.0.0.20 0.0.0.30-0.0.0.40");
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(strbuf_done) struct strbuf found = STRBUF_INIT;
		net_ip_ranges_each_within(&set, rows[i].range, list_found, &found);
		assert_string_equal(found.n != 0 ? found.s : "", rows[i].found);
	}
}

/* PD-M8: a /16 with every second address taken is 32 768 ranges. Walked linearly, each of these steps
 * would visit half of them, 10^9 in all, and the test would run into its time-out. */
static void test_many_ranges(void **state)
{
	CLEANUP(net_ip_ranges_done) struct net_ip_ranges set = { 0 };
	net_ip_number lowest;
	(void)state;
	for (net_ip_number i = 0; i < 65536; i += 2)
		net_ip_ranges_add(&set, (struct net_ip_range){ i, i });
	assert_int_equal(net_ip_ranges_count(&set), 32768);
	for (int round = 0; round < 20; round++) {
		for (net_ip_number i = 1; i < 65536; i += 2)
			net_ip_ranges_add(&set, (struct net_ip_range){ i, i });
		assert_int_equal(net_ip_ranges_count(&set), 65536);
		for (net_ip_number i = 65535; i < 65536; i -= 2)
			net_ip_ranges_remove(&set, (struct net_ip_range){ i, i });
		assert_int_equal(net_ip_ranges_count(&set), 32768);
	}
	for (net_ip_number i = 0; i < 65536; i += 2) {
		assert_true(net_ip_ranges_lowest(&set, &lowest));
		assert_true(lowest == i);
		net_ip_ranges_remove(&set, (struct net_ip_range){ i, i });
	}
	assert_false(net_ip_ranges_lowest(&set, &lowest));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_arithmetic),
		cmocka_unit_test(test_count_of_large_sets),
		cmocka_unit_test(test_random_changes),
		cmocka_unit_test(test_common),
		cmocka_unit_test(test_within),
		cmocka_unit_test(test_many_ranges),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
