/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The networks of acl rules as sorted ranges of addresses, and the binary search in them. */
#include "plugin/acl/nets.h"

#include <stdlib.h>
#include <string.h>

/* An address as a number; IPv4 in the low half. */
struct key {
	uint64_t hi, lo;
};

struct acl_range {
	struct key first, last;
};

static int cmp_key(struct key left, struct key right)
{
	if (left.hi != right.hi)
		return left.hi < right.hi ? -1 : 1;
	return (left.lo > right.lo) - (left.lo < right.lo);
}

static int cmp_range(const void *left, const void *right)
{
	const struct acl_range *x = left, *y = right;
	return cmp_key(x->first, y->first);
}

static struct key key_of(const uint8_t *ip, size_t len)
{
	struct key k = { 0, 0 };
	for (size_t i = 0; i < len; i++) {
		k.hi = k.hi << 8 | k.lo >> 56;
		k.lo = k.lo << 8 | ip[i];
	}
	return k;
}

static struct acl_range range_of(const struct net_cidr *cidr)
{
	size_t n = cidr->family == AF_INET ? 4 : 16;
	unsigned free_bits = (unsigned)(n * 8) - cidr->bits;
	struct acl_range r = { .first = key_of(cidr->ip, n) };
	struct key mask = { 0, 0 };
	if (free_bits >= 64)
		mask.lo = UINT64_MAX;
	else
		mask.lo = (UINT64_C(1) << free_bits) - 1;
	if (free_bits == 128)
		mask.hi = UINT64_MAX;
	else if (free_bits > 64)
		mask.hi = (UINT64_C(1) << (free_bits - 64)) - 1;
	r.last = (struct key){ r.first.hi | mask.hi, r.first.lo | mask.lo };
	return r;
}

/* Networks of one family, sorted; one that lies inside another is dropped (two networks never
 * overlap otherwise). */
static struct acl_ranges build_ranges(const struct net_cidr *cidr, size_t size, sa_family_t family,
				      struct arena *arena)
{
	struct acl_range *r = arena_alloc(arena, (size + 1) * sizeof(*r));
	size_t count = 0, kept = 0;
	for (size_t i = 0; i < size; i++) {
		if (cidr[i].family == family)
			r[count++] = range_of(&cidr[i]);
	}
	qsort(r, count, sizeof(*r), cmp_range);
	for (size_t i = 0; i < count; i++) {
		if (kept == 0 || cmp_key(r[i].first, r[kept - 1].last) > 0)
			r[kept++] = r[i];
		else if (cmp_key(r[i].last, r[kept - 1].last) > 0)
			r[kept - 1].last = r[i].last;
	}
	return (struct acl_ranges){ r, kept };
}

void acl_nets_build(struct acl_nets *nets, const struct net_cidr *cidr, size_t count,
		    struct arena *arena)
{
	nets->v4 = build_ranges(cidr, count, AF_INET, arena);
	nets->v6 = build_ranges(cidr, count, AF_INET6, arena);
}

bool acl_nets_has(const struct acl_nets *nets, const union net_addr *addr)
{
	const struct acl_ranges *r = addr->family == AF_INET ? &nets->v4 : &nets->v6;
	size_t bytes, low = 0, high = r->n;
	const uint8_t *ip = net_addr_bytes(addr, &bytes);
	struct key k = key_of(ip, bytes);
	/* Those below `low` start at or before the address. */
	while (low < high) {
		size_t mid = low + (high - low) / 2;
		if (cmp_key(r->v[mid].first, k) <= 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low > 0 && cmp_key(k, r->v[low - 1].last) <= 0;
}
