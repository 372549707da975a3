/* Networks to ranges, and the search in them. */
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

static int cmp_key(struct key a, struct key b)
{
	if (a.hi != b.hi)
		return a.hi < b.hi ? -1 : 1;
	return (a.lo > b.lo) - (a.lo < b.lo);
}

static int cmp_range(const void *a, const void *b)
{
	const struct acl_range *x = a, *y = b;
	return cmp_key(x->first, y->first);
}

static struct key key_of(const uint8_t *ip, size_t n)
{
	struct key k = { 0, 0 };
	for (size_t i = 0; i < n; i++) {
		k.hi = k.hi << 8 | k.lo >> 56;
		k.lo = k.lo << 8 | ip[i];
	}
	return k;
}

static struct acl_range range_of(const struct net_cidr *c)
{
	size_t n = c->family == AF_INET ? 4 : 16;
	unsigned free_bits = (unsigned)(n * 8) - c->bits;
	struct acl_range r = { .first = key_of(c->ip, n) };
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
static struct acl_ranges build(const struct net_cidr *v, size_t n, sa_family_t family,
			       struct arena *a)
{
	struct acl_range *r = arena_alloc(a, (n + 1) * sizeof(*r));
	size_t count = 0, kept = 0;
	for (size_t i = 0; i < n; i++) {
		if (v[i].family == family)
			r[count++] = range_of(&v[i]);
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

void acl_nets_build(struct acl_nets *s, const struct net_cidr *v, size_t n, struct arena *a)
{
	s->v4 = build(v, n, AF_INET, a);
	s->v6 = build(v, n, AF_INET6, a);
}

bool acl_nets_has(const struct acl_nets *s, const union net_addr *addr)
{
	const struct acl_ranges *r = addr->family == AF_INET ? &s->v4 : &s->v6;
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
