/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names the pools that the allocator finds to share addresses, in the order of their keys: the sentence must
 * not change from pass to pass. Finds addresses that more than one of them has in use. */
#include "controller/ipam/report/overlap.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/vec.h"
#include "controller/ipam/records.h"
#include "controller/ipam/state.h"
#include "controller/ipam/watches.h"

enum { NAMED_MAX = 5 }; /* pools in the sentence; further ones are counted */

struct other_pool {
	char *key;
	union net_addr first; /* the lowest common address */
};

typedef VEC(struct other_pool) other_pools;

static void collect_pool(void *arg, const char *pool, union net_addr first)
{
	other_pools *others = arg;
	vec_push(others, (struct other_pool){ xstrdup(pool), first });
}

static int compare_keys(const void *left, const void *right)
{
	return strcmp(((const struct other_pool *)left)->key,
		      ((const struct other_pool *)right)->key);
}

/* "InClusterIPPool 'NAMESPACE/NAME' (first shared one: ADDRESS)" */
static void name_pool(const struct other_pool *other, struct strbuf *out)
{
	struct slice rest = slice_of(other->key);
	struct slice kind = slice_cut(&rest, '/'), ns = slice_cut(&rest, '/');
	char text[NET_ADDR_TEXT_MAX];
	net_addr_ip_str(&other->first, text);
	strbuf_addf(out, "%.*s '%.*s%s%.*s' (first shared one: %s)", (int)kind.n, kind.p, (int)ns.n,
		    ns.p, ns.n > 0 ? "/" : "", (int)rest.n, rest.p, text);
}

static void list_pools(const struct controller_ctx *ctx, const char *pool_key, other_pools *others)
{
	ipam_allocator_each_overlap(ipam_state_of(ctx)->allocator, pool_key, collect_pool, others);
	if (others->n > 1)
		qsort(others->v, others->n, sizeof(others->v[0]), compare_keys);
}

static void other_pools_done(other_pools *others)
{
	for (size_t i = 0; i < others->n; i++)
		free(others->v[i].key);
	vec_done(others);
}

static void name_pools(const other_pools *others, struct strbuf *out)
{
	for (size_t i = 0; i < others->n && i < NAMED_MAX; i++) {
		strbuf_adds(out, i > 0 ? ", " : "addresses are also in ");
		name_pool(&others->v[i], out);
	}
	if (others->n > NAMED_MAX)
		strbuf_addf(out, " and %zu more pools", others->n - NAMED_MAX);
}

/* ---- addresses in use twice ---- */

struct used_address {
	struct ipam_block block;
	bool is_double; /* another pool has it in use, too */
};

/* Sorted, each block once. */
struct used_addresses {
	VEC(struct used_address) list;
	net_ip_number sizes; /* bit n: there are blocks of 2^n addresses */
};

static int compare_addresses(const void *left, const void *right)
{
	const struct used_address *a = left, *b = right;
	if (a->block.family != b->block.family)
		return a->block.family < b->block.family ? -1 : 1;
	if (a->block.first != b->block.first)
		return a->block.first < b->block.first ? -1 : 1;
	return (int)a->block.bits - (int)b->block.bits;
}

static bool collect_address(void *ctx, struct kube_obj *obj)
{
	struct used_addresses *own = ctx;
	struct used_address address = { 0 };
	if (!ipam_block_of(ipam_address_of(obj), &address.block))
		return true;
	vec_push(&own->list, address);
	own->sizes |= (net_ip_number)1 << address.block.bits;
	return true;
}

static void sort_addresses(struct used_addresses *own)
{
	struct used_address *list = own->list.v;
	size_t kept = 1;
	qsort(list, own->list.n, sizeof(list[0]), compare_addresses);
	for (size_t i = 1; i < own->list.n; i++) {
		if (compare_addresses(&list[kept - 1], &list[i]) != 0)
			list[kept++] = list[i];
	}
	own->list.n = kept;
}

/* The place of the block, or of the first one behind it. */
static size_t find_place(const struct used_addresses *own, struct ipam_block block)
{
	struct used_address wanted = { .block = block };
	size_t low = 0, high = own->list.n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (compare_addresses(&own->list.v[middle], &wanted) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Marks the blocks that begin in this one. */
static void mark_within(const struct used_addresses *own, struct ipam_block block)
{
	struct ipam_block lowest = ipam_block_of_one(block.family, block.first);
	net_ip_number last = ipam_block_range(block).last;
	for (size_t at = find_place(own, lowest); at < own->list.n; at++) {
		struct used_address *address = &own->list.v[at];
		if (address->block.family != block.family || address->block.first > last)
			break;
		address->is_double = true;
	}
}

/* Marks the blocks of larger sizes that this one lies in. */
static void mark_around(const struct used_addresses *own, struct ipam_block block)
{
	for (int larger = block.bits + 1; larger <= IPAM_BLOCK_BITS_MAX; larger++) {
		uint8_t bits = (uint8_t)larger;
		struct used_address wanted = { .block = { block.family, bits,
							  block.first & ~ipam_block_mask(bits) } };
		if (own->sizes >> bits == 0)
			break;
		if ((own->sizes >> bits & 1) == 0)
			continue;
		struct used_address *found = bsearch(&wanted, own->list.v, own->list.n,
						     sizeof(own->list.v[0]), compare_addresses);
		if (found != NULL)
			found->is_double = true;
	}
}

static bool mark_double(void *ctx, struct kube_obj *obj)
{
	const struct used_addresses *own = ctx;
	struct ipam_block block;
	if (!ipam_block_of(ipam_address_of(obj), &block))
		return true;
	mark_within(own, block);
	mark_around(own, block);
	return true;
}

static void write_doubles(const struct used_addresses *own, struct strbuf *out)
{
	const struct used_address *lowest = NULL;
	size_t n = 0;
	char text[NET_ADDR_TEXT_MAX];
	for (size_t i = own->list.n; i-- > 0;) {
		if (own->list.v[i].is_double) {
			lowest = &own->list.v[i];
			n++;
		}
	}
	if (lowest == NULL)
		return;
	union net_addr addr = net_ip_from_number(lowest->block.family, lowest->block.first);
	net_addr_ip_str(&addr, text);
	if (n == 1)
		strbuf_addf(out, "; 1 address is in use twice: %s", text);
	else
		strbuf_addf(out, "; %zu addresses are in use twice, the lowest is %s", n, text);
	if (lowest->block.bits > 0)
		strbuf_addf(out, "/%d", 128 - lowest->block.bits);
}

/* O(n log n) in the number of addresses of all these pools, for each size of prefixes. */
static void find_doubles(const struct controller_ctx *ctx, const char *pool_key,
			 const other_pools *others, struct strbuf *out)
{
	struct used_addresses own = { 0 };
	if (others->n > 0)
		ipam_each_address(ctx, pool_key, collect_address, &own);
	if (own.list.n > 0) {
		sort_addresses(&own);
		for (size_t i = 0; i < others->n; i++)
			ipam_each_address(ctx, others->v[i].key, mark_double, &own);
		write_doubles(&own, out);
	}
	vec_done(&own.list);
}

/* ---- sentences ---- */

void ipam_find_overlaps(const struct controller_ctx *ctx, const char *pool_key, struct strbuf *out)
{
	other_pools others = { 0 };
	list_pools(ctx, pool_key, &others);
	name_pools(&others, out);
	other_pools_done(&others);
}

void ipam_find_overlaps_and_doubles(const struct controller_ctx *ctx, const char *pool_key,
				    struct strbuf *out)
{
	other_pools others = { 0 };
	list_pools(ctx, pool_key, &others);
	name_pools(&others, out);
	find_doubles(ctx, pool_key, &others, out);
	other_pools_done(&others);
}
