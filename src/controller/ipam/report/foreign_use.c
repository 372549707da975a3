/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finds IPAddresses of other providers among those of a pool. The sentence names the lowest one, so that it
 * stays the same from pass to pass. */
#include "controller/ipam/report/foreign_use.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "controller/ipam/records.h"
#include "controller/ipam/state.h"
#include "controller/ipam/watches.h"

struct foreign_address {
	struct kube_obj *object; /* a reference */
	net_ip_number number;	 /* the first one of the pool's block that it lies in */
};

typedef VEC(struct foreign_address) foreign_addresses;

struct search {
	const struct ipam_pool_spec *spec;
	foreign_addresses found;
};

static bool collect_usable(void *ctx, struct kube_obj *obj)
{
	struct search *search = ctx;
	struct ipam_block block;
	if (!ipam_block_of(ipam_address_of(obj), &block))
		return true;
	block.first &= ~ipam_block_mask(search->spec->bits);
	block.bits = search->spec->bits;
	if (ipam_pool_spec_has(search->spec, block))
		vec_push(&search->found,
			 (struct foreign_address){ kube_obj_ref(obj), block.first });
	return true;
}

/* By address; objects with one address by namespace and name. */
static int compare_addresses(const void *left, const void *right)
{
	const struct foreign_address *one = left, *other = right;
	if (one->number != other->number)
		return one->number < other->number ? -1 : 1;
	int order = strcmp(one->object->ns, other->object->ns);
	return order != 0 ? order : strcmp(one->object->name, other->object->name);
}

/* Objects with one address are one. The set must be sorted. */
static void drop_repeated(foreign_addresses *found)
{
	size_t kept = 0;
	for (size_t i = 0; i < found->n; i++) {
		if (kept > 0 && found->v[kept - 1].number == found->v[i].number)
			kube_obj_unref(found->v[i].object);
		else
			found->v[kept++] = found->v[i];
	}
	found->n = kept;
}

struct owner_search {
	const char *pool_key;
	bool found;
};

static bool find_owner(void *ctx, struct kube_obj *obj)
{
	struct owner_search *search = ctx;
	char key[IPAM_KEY_MAX];
	ipam_pool_key_of_address(key, ipam_address_of(obj));
	search->found = strcmp(key, search->pool_key) == 0;
	return !search->found;
}

/* Has the pool allocated the address, too? */
static bool is_allocated(const struct controller_ctx *ctx, const char *pool_key,
			 struct ipam_block block)
{
	struct owner_search search = { pool_key, false };
	ipam_each_address_with(ctx, block, find_owner, &search);
	return search.found;
}

static void add_ip(struct strbuf *out, sa_family_t family, net_ip_number number)
{
	union net_addr addr = net_ip_from_number(family, number);
	char text[NET_ADDR_TEXT_MAX];
	net_addr_ip_str(&addr, text);
	strbuf_adds(out, text);
}

static void write_found(const foreign_addresses *found, sa_family_t family, struct strbuf *out)
{
	const struct foreign_address *lowest = &found->v[0];
	if (found->n == 1)
		strbuf_adds(out, "1 address of the pool is in use by another provider, and is not "
				 "allocated: ");
	else
		strbuf_addf(out,
			    "%zu addresses of the pool are in use by other providers, and are not "
			    "allocated; the lowest is ",
			    found->n);
	add_ip(out, family, lowest->number);
	strbuf_addf(out, " (IPAddress '%s/%s')", lowest->object->ns, lowest->object->name);
}

/* The number of addresses that the pool has allocated as well. */
static size_t write_doubles(const struct controller_ctx *ctx, const char *pool_key,
			    const struct search *search, struct strbuf *out)
{
	const foreign_addresses *found = &search->found;
	sa_family_t family = search->spec->family;
	net_ip_number lowest = 0;
	size_t n = 0;
	for (size_t i = found->n; i-- > 0;) {
		struct ipam_block block = { family, search->spec->bits, found->v[i].number };
		if (is_allocated(ctx, pool_key, block)) {
			lowest = found->v[i].number;
			n++;
		}
	}
	if (n == 0)
		return 0;
	strbuf_addf(out, "; %zu of them %s allocated from the pool as well%s", n,
		    n == 1 ? "was" : "were", n == 1 ? ": " : ", the lowest is ");
	add_ip(out, family, lowest);
	return n;
}

int64_t ipam_find_foreign_use(const struct controller_ctx *ctx, const char *pool_key,
			      const struct ipam_pool_spec *spec, struct strbuf *out)
{
	struct search search = { .spec = spec };
	size_t doubles = 0;
	/* Objects of unknown pools, whose key does not matter, count in the unnamed network. */
	if (!ipam_allocator_share_network(ipam_state_of(ctx)->allocator, "", pool_key))
		return 0;
	ipam_each_foreign_address(ctx, collect_usable, &search);
	if (search.found.n > 0) {
		qsort(search.found.v, search.found.n, sizeof(search.found.v[0]), compare_addresses);
		drop_repeated(&search.found);
		write_found(&search.found, spec->family, out);
		doubles = write_doubles(ctx, pool_key, &search, out);
	}
	int64_t held = (int64_t)(search.found.n - doubles);
	for (size_t i = 0; i < search.found.n; i++)
		kube_obj_unref(search.found.v[i].object);
	vec_done(&search.found);
	return held;
}
