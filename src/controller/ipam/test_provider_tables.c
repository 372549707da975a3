/* SPDX-License-Identifier: GPL-3.0-or-later */
/* PR-14: the cases that Cluster API's in-cluster provider tests its arithmetic with, each with
 * addresses of our own: entries of a pool, sizes of sets, usable addresses, the next free one, numbers
 * of a pool's status. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "base/strbuf.h"
#include "controller/ipam/allocation/allocator.h"
#include "controller/ipam/allocation/pool_spec.h"

#define POOL "InClusterIPPool/ns/pool"

/* ---- sets as text ---- */

/* Adds the entries, separated by blanks; -1: one of them is no range. */
static int read_set(const char *text, struct net_ip_ranges *set, sa_family_t *ret_family)
{
	struct slice rest = slice_of(text);
	while (rest.n > 0) {
		struct net_ip_range range;
		if (net_ip_range_parse(slice_cut(&rest, ' '), ret_family, &range) < 0)
			return -1;
		net_ip_ranges_add(set, range);
	}
	return 0;
}

static struct net_ip_ranges set_of(const char *text)
{
	struct net_ip_ranges set = { 0 };
	sa_family_t family;
	assert_int_equal(read_set(text, &set, &family), 0);
	return set;
}

static net_ip_number number_of(const char *text)
{
	sa_family_t family;
	struct net_ip_range range;
	assert_int_equal(net_ip_range_parse(slice_of(text), &family, &range), 0);
	return range.first;
}

struct found_ranges {
	struct net_ip_range ranges[8];
	size_t n;
};

static bool collect(void *ctx, struct net_ip_range range)
{
	struct found_ranges *found = ctx;
	assert_true(found->n < ARRAY_LEN(found->ranges));
	found->ranges[found->n++] = range;
	return true;
}

/* Whether both have the same addresses. */
static bool are_equal(const struct net_ip_ranges *left, const char *right)
{
	struct net_ip_ranges other = set_of(right);
	struct found_ranges a = { .n = 0 }, b = { .n = 0 };
	net_ip_ranges_each(left, collect, &a);
	net_ip_ranges_each(&other, collect, &b);
	net_ip_ranges_done(&other);
	if (a.n != b.n)
		return false;
	for (size_t i = 0; i < a.n; i++) {
		if (a.ranges[i].first != b.ranges[i].first || a.ranges[i].last != b.ranges[i].last)
			return false;
	}
	return true;
}

/* ---- entries and sizes ---- */

enum { REFUSED = -1 };

/* An entry is an address, a range or a network; a network may be written with any of its addresses. */
static void sizes(void **state)
{
	static const struct {
		const char *entries;
		int64_t size; /* or REFUSED */
	} rows[] = {
		{ "", 0 },
		{ "192.0.2.9", 1 },
		{ "192.0.2.9 192.0.2.200", 2 },
		{ "192.0.2.9 192.0.2.9", 1 },
		{ "192.0.2.9-192.0.2.9", 1 },
		{ "192.0.2.3-192.0.2.6", 4 },
		{ "192.0.2.1-192.0.2.8 192.0.2.31-192.0.2.34", 12 },
		{ "192.0.2.1-192.0.2.8 192.0.2.5-192.0.2.11", 11 },
		{ "192.0.2.1-192.0.2.8 192.0.2.3-192.0.2.4", 8 },
		{ "192.0.2.77/24", 256 },
		{ "192.0.2.77/24 198.51.100.5/31", 258 },
		{ "192.0.2.0/30 192.0.2.2-192.0.2.9", 10 },
		{ "0.0.0.0/0", INT64_C(1) << 32 },
		{ "2001:db8::9", 1 },
		{ "2001:db8::9-2001:db8::b", 3 },
		{ "2001:db8::6/126", 4 },
		{ "2001:db8::a/127 2001:db8::d-2001:db8::e 2001:db8::10", 5 },
		{ "2001:db8::/66", INT64_C(1) << 62 },
		{ "2001:db8::/65", INT64_MAX }, /* 2^63 */
		{ "2001:db8::/64", INT64_MAX }, /* 2^64 */
		{ "2001:db8::/20", INT64_MAX },
		{ "192.0.2.9 192.0.2.1234", REFUSED },
		{ "192.0.2.1.7", REFUSED },
		{ "192.0.2.6-192.0.2.3", REFUSED },
		{ "192.0.2.3-192.0.2.6-", REFUSED },
		{ "192.0.2.3-192.0.2.6-192.0.2.8", REFUSED },
		{ "192.0.2.3/21-192.0.2.6", REFUSED },
		{ "192.0.2.3/-192.0.2.6", REFUSED },
		{ "192.0.2.3/", REFUSED },
		{ "192.0.2.3/33", REFUSED },
		{ "192.0.2.3-2001:db8::6", REFUSED },
		{ "2001:db8::xyz", REFUSED },
		{ "2001:db8::b-2001:db8::9", REFUSED },
		{ "2001:db8::9/129", REFUSED },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct net_ip_ranges set = { 0 };
		sa_family_t family;
		int r = read_set(rows[i].entries, &set, &family);
		if ((r < 0) != (rows[i].size == REFUSED))
			fail_msg("'%s' is %s", rows[i].entries, r < 0 ? "refused" : "accepted");
		if (r == 0 && net_ip_ranges_count(&set) != rows[i].size)
			fail_msg("'%s': %lld", rows[i].entries,
				 (long long)net_ip_ranges_count(&set));
		net_ip_ranges_done(&set);
	}
}

/* ---- usable addresses ---- */

struct spec_row {
	const char *addresses; /* entries, separated by blanks */
	unsigned prefix;
	const char *gateway;  /* NULL: none */
	const char *excluded; /* NULL: none */
	bool reserved;	      /* allocateReservedIPAddresses */
};

static json_t *list_of(const char *entries)
{
	struct slice rest = slice_of(entries);
	json_t *list = json_array();
	while (rest.n > 0) {
		struct slice entry = slice_cut(&rest, ' ');
		json_array_append_new(list, json_stringn(entry.p, entry.n));
	}
	return list;
}

static void read_row(const struct spec_row *row, struct ipam_pool_spec *ret)
{
	char why[256] = "";
	json_t *spec = json_pack("{s:o, s:i, s:b}", "addresses", list_of(row->addresses), "prefix",
				 (int)row->prefix, "allocateReservedIPAddresses", row->reserved);
	if (row->gateway != NULL)
		json_object_set_new(spec, "gateway", json_string(row->gateway));
	if (row->excluded != NULL)
		json_object_set_new(spec, "excludedAddresses", list_of(row->excluded));
	if (ipam_pool_spec_read(spec, ret, ERR_TEXT(why)) < 0)
		fail_msg("%s: %s", row->addresses, why);
	json_decref(spec);
}

#define V4_PARTS "192.0.2.3-192.0.2.4 192.0.2.6/31"
#define V6_PARTS "2001:db8::3-2001:db8::4 2001:db8::6/127"

static void usable(void **state)
{
	static const struct {
		struct spec_row spec;
		const char *usable;
	} rows[] = {
		/* A prefix of 0 is one network of all addresses. */
		{ { "192.0.2.3-192.0.2.10", 0, "192.0.2.1", NULL, false }, "192.0.2.3-192.0.2.10" },
		{ { "192.0.2.2 " V4_PARTS, 24, "192.0.2.1", NULL, false },
		  "192.0.2.2-192.0.2.4 192.0.2.6/31" },
		/* The network's first address, IPv4's last one, the gateway. */
		{ { "192.0.2.0 " V4_PARTS, 24, "192.0.2.1", NULL, false }, V4_PARTS },
		{ { "198.51.1.0 198.51.0.255 198.51.0.3-198.51.0.4 198.51.255.255", 16,
		    "198.51.0.1", NULL, false },
		  "198.51.0.3-198.51.0.4 198.51.0.255-198.51.1.0" },
		{ { "192.0.2.1 " V4_PARTS, 24, "192.0.2.1", NULL, false }, V4_PARTS },
		{ { "192.0.2.0 192.0.2.1 " V4_PARTS " 192.0.2.255", 24, "192.0.2.1", NULL, true },
		  "192.0.2.0 " V4_PARTS " 192.0.2.255" },
		/* Excluded: single ones, a network, a range, more than there are. */
		{ { "192.0.2.0-192.0.2.10", 24, "192.0.2.1", "192.0.2.5 192.0.2.6 192.0.2.7",
		    false },
		  "192.0.2.2-192.0.2.4 192.0.2.8-192.0.2.10" },
		{ { "192.0.2.0/24", 24, "192.0.2.1", "192.0.2.128/25", false },
		  "192.0.2.2-192.0.2.127" },
		{ { "192.0.2.0/24", 24, "192.0.2.1", "192.0.2.2-192.0.2.20", false },
		  "192.0.2.21-192.0.2.254" },
		{ { "192.0.2.8/29", 24, NULL, "192.0.2.0/24", false }, "" },
		/* IPv6 has no broadcast address. */
		{ { "2001:db8::2 " V6_PARTS, 120, "2001:db8::1", NULL, false },
		  "2001:db8::2-2001:db8::4 2001:db8::6/127" },
		{ { "2001:db8:: " V6_PARTS, 120, "2001:db8::1", NULL, false }, V6_PARTS },
		{ { "2001:db8::ffff " V6_PARTS, 112, "2001:db8::1", NULL, false },
		  V6_PARTS " 2001:db8::ffff" },
		{ { "2001:db8::1 " V6_PARTS, 120, "2001:db8::1", NULL, false }, V6_PARTS },
		{ { "2001:db8:: 2001:db8::1 " V6_PARTS " 2001:db8::ff", 120, "2001:db8::1", NULL,
		    true },
		  "2001:db8:: " V6_PARTS " 2001:db8::ff" },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct ipam_pool_spec pool;
		read_row(&rows[i].spec, &pool);
		if (!are_equal(&pool.usable, rows[i].usable))
			fail_msg("row %zu: '%s'", i, rows[i].spec.addresses);
		ipam_pool_spec_done(&pool);
	}
}

/* ---- the next free address ---- */

/* The IPAddress objects of a pool. */
static void each_pool_with(void *ctx, struct ipam_block block,
			   bool (*fn)(void *arg, const char *pool), void *arg)
{
	if (net_ip_ranges_has(ctx, block.first))
		fn(arg, POOL);
}

struct number_call {
	ipam_object_fn fn;
	void *arg;
};

static bool call_for_range(void *ctx, struct net_ip_range range)
{
	const struct number_call *call = ctx;
	for (net_ip_number number = range.first; number <= range.last; number++)
		call->fn(call->arg, POOL, ipam_block_of_one(AF_UNSPEC, number));
	return true;
}

static void each_number(void *ctx, const char *pool, ipam_object_fn fn, void *arg)
{
	struct number_call call = { fn, arg };
	(void)pool;
	net_ip_ranges_each(ctx, call_for_range, &call);
}

static void wake_nobody(void *ctx, const char *claim)
{
	(void)ctx;
	(void)claim;
}

static const struct ipam_used used_by_set = { .each_with = each_pool_with,
					      .each = each_number,
					      .wake = wake_nobody };

static void next_free(void **state)
{
	static const struct {
		const char *usable, *used, *next; /* "": none is free */
	} rows[] = {
		{ "192.0.2.10-192.0.2.20", "", "192.0.2.10" },
		{ "192.0.2.10-192.0.2.20", "192.0.2.10-192.0.2.11", "192.0.2.12" },
		{ "192.0.2.10-192.0.2.20", "192.0.2.10 192.0.2.12", "192.0.2.11" },
		{ "192.0.2.10-192.0.2.20", "192.0.2.10-192.0.2.19", "192.0.2.20" },
		{ "192.0.2.10-192.0.2.20", "192.0.2.10-192.0.2.20", "" },
		{ "192.0.2.10-192.0.2.20", "192.0.2.0/24", "" },
		{ "192.0.2.44", "", "192.0.2.44" },
		{ "192.0.2.44", "192.0.2.44", "" },
		{ "192.0.2.20 192.0.2.10-192.0.2.15", "", "192.0.2.10" },
		{ "192.0.2.10-192.0.2.15 192.0.2.20", "192.0.2.10-192.0.2.15", "192.0.2.20" },
		{ "192.0.2.10-192.0.2.15 192.0.2.20", "192.0.2.10-192.0.2.15 192.0.2.20", "" },
		{ "2001:db8::/64", "2001:db8::-2001:db8::ff", "2001:db8::100" },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct ipam_pool_spec spec = { .usable = set_of(rows[i].usable) };
		struct net_ip_ranges used = set_of(rows[i].used);
		struct ipam_allocator *allocator = ipam_allocator_new(&used_by_set);
		net_ip_number number;
		ipam_allocator_set_pool(allocator, &used, POOL, "", &spec);
		enum ipam_take taken =
			ipam_allocator_take(allocator, &used, POOL, "ns/claim", 1, &number);
		if (taken != (rows[i].next[0] != '\0' ? IPAM_TAKEN : IPAM_EXHAUSTED) ||
		    (taken == IPAM_TAKEN && number != number_of(rows[i].next)))
			fail_msg("row %zu: %s without %s", i, rows[i].usable, rows[i].used);
		ipam_allocator_free(allocator);
		net_ip_ranges_done(&used);
		ipam_pool_spec_done(&spec);
	}
}

/* ---- numbers of the status ---- */

/* Gives the lowest addresses of the pool to claims: the set of these. */
static struct net_ip_ranges allocate(const struct ipam_pool_spec *spec, int claims)
{
	struct net_ip_ranges used = { 0 };
	struct ipam_allocator *allocator = ipam_allocator_new(&used_by_set);
	ipam_allocator_set_pool(allocator, &used, POOL, "", spec);
	for (int i = 0; i < claims; i++) {
		char claim[32];
		net_ip_number number;
		snprintf(claim, sizeof(claim), "ns/claim-%d", i);
		assert_int_equal(ipam_allocator_take(allocator, &used, POOL, claim, 1, &number),
				 IPAM_TAKEN);
		net_ip_ranges_add(&used, (struct net_ip_range){ number, number });
		ipam_allocator_note(allocator, &used, POOL,
				    ipam_block_of_one(spec->family, number));
		ipam_allocator_forget(allocator, &used, claim);
	}
	ipam_allocator_free(allocator);
	return used;
}

static bool remove_range(void *ctx, struct net_ip_range range)
{
	net_ip_ranges_remove(ctx, range);
	return true;
}

static void check_numbers(const struct spec_row *row, int claims, int64_t total, int64_t free)
{
	struct ipam_pool_spec spec;
	read_row(row, &spec);
	struct net_ip_ranges used = allocate(&spec, claims);
	assert_int_equal(net_ip_ranges_count(&spec.usable), total);
	assert_int_equal(net_ip_ranges_count(&used), claims);
	net_ip_ranges_each(&used, remove_range, &spec.usable);
	assert_int_equal(net_ip_ranges_count(&spec.usable), free);
	net_ip_ranges_done(&used);
	ipam_pool_spec_done(&spec);
}

static void totals(void **state)
{
	static const struct spec_row eleven = { "192.0.2.10-192.0.2.20", 24, NULL, NULL, false };
	static const struct spec_row inside = { "192.0.2.10-192.0.2.20", 24, "192.0.2.10", NULL,
						false };
	static const struct spec_row outside = { "192.0.2.10-192.0.2.20", 24, "192.0.2.1", NULL,
						 false };
	static const struct spec_row first = { "192.0.2.0-192.0.2.1", 24, "192.0.2.2", NULL,
					       false };
	static const struct spec_row last = { "192.0.2.254-192.0.2.255", 24, "192.0.2.1", NULL,
					      false };
	static const struct spec_row last_v6 = { "2001:db8::ff", 120, "2001:db8::a", NULL, false };
	(void)state;
	check_numbers(&eleven, 1, 11, 10);
	check_numbers(&eleven, 2, 11, 9);
	check_numbers(&inside, 1, 10, 9);
	check_numbers(&inside, 2, 10, 8);
	check_numbers(&outside, 1, 11, 10);
	check_numbers(&first, 1, 1, 0);
	check_numbers(&last, 1, 1, 0);
	check_numbers(&last_v6, 1, 1, 0);
}

/* Addresses that were allocated from a pool with reserved ones, and are not in the edited pool. */
static void out_of_range(void **state)
{
	static const struct {
		const char *before, *after;
		int claims;
		int64_t out;
	} rows[] = {
		{ "192.0.2.10-192.0.2.20", "192.0.2.13-192.0.2.20", 5, 3 },
		/* The provider's own test says 0: it is over before the status has changed. */
		{ "192.0.2.0-192.0.2.255", "192.0.2.1-192.0.2.255", 4, 1 },
		/* The gateway was not allocated; the network's first address was. */
		{ "192.0.2.0-192.0.2.255", "192.0.2.0 192.0.2.2-192.0.2.255", 5, 1 },
		{ "192.0.2.251-192.0.2.255", "192.0.2.251-192.0.2.254", 5, 1 },
		{ "192.0.2.10-192.0.2.20", "192.0.2.0/24", 5, 0 },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct spec_row row = { rows[i].before, 24, "192.0.2.1", NULL, true };
		struct ipam_pool_spec before, after;
		read_row(&row, &before);
		struct net_ip_ranges used = allocate(&before, rows[i].claims);
		row.addresses = rows[i].after;
		row.reserved = false;
		read_row(&row, &after);
		net_ip_ranges_each(&after.usable, remove_range, &used);
		assert_int_equal(net_ip_ranges_count(&used), rows[i].out);
		net_ip_ranges_done(&used);
		ipam_pool_spec_done(&before);
		ipam_pool_spec_done(&after);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes),	cmocka_unit_test(usable),
		cmocka_unit_test(next_free),	cmocka_unit_test(totals),
		cmocka_unit_test(out_of_range),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
