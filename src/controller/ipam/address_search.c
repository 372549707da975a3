/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The store finds objects by their very block only. Which other blocks are in use there, the allocator knows: on
 * the watch's thread it is updated after each object, so it has all but the newest one. */
#include "controller/ipam/address_search.h"

#include "base/vec.h"
#include "controller/ipam/state.h"
#include "controller/ipam/watches.h"

typedef VEC(struct kube_obj *) object_list; /* references */

struct used_range {
	struct net_ip_range range;
	uint8_t bits; /* of the blocks in it */
};

typedef VEC(struct used_range) range_list;

struct search {
	const struct controller_ctx *ctx;
	sa_family_t family;
	kube_store_fn fn;
	void *arg;
};

static bool collect_object(void *ctx, struct kube_obj *obj)
{
	object_list *list = ctx;
	vec_push(list, kube_obj_ref(obj));
	return true;
}

static void collect_range(void *arg, uint8_t bits, struct net_ip_range range)
{
	range_list *list = arg;
	vec_push(list, (struct used_range){ range, bits });
}

/* False: `fn` has stopped. The store's lock must not be held then. */
static bool visit_block(const struct search *search, struct ipam_block block)
{
	object_list list = { 0 };
	bool more = true;
	ipam_each_address_with(search->ctx, block, collect_object, &list);
	for (size_t i = 0; i < list.n; i++) {
		more = more && search->fn(search->arg, list.v[i]);
		kube_obj_unref(list.v[i]);
	}
	vec_done(&list);
	return more;
}

/* As many steps as there are objects and reservations in the range. */
static bool visit_range(const struct search *search, const struct used_range *used)
{
	struct ipam_block block = { search->family, used->bits, used->range.first };
	while (visit_block(search, block)) {
		struct net_ip_range visited = ipam_block_range(block);
		if (visited.last >= used->range.last)
			return true;
		block.first = visited.last + 1;
	}
	return false;
}

void ipam_each_address_touching(const struct controller_ctx *ctx, const char *pool_key,
				struct ipam_block block, kube_store_fn fn, void *arg)
{
	struct search search = { ctx, block.family, fn, arg };
	range_list ranges = { 0 };
	bool more = visit_block(&search, block);
	if (!more)
		return;
	ipam_allocator_each_touching(ipam_state_of(ctx)->allocator, pool_key, block, collect_range,
				     &ranges);
	for (size_t i = 0; more && i < ranges.n; i++)
		more = visit_range(&search, &ranges.v[i]);
	vec_done(&ranges);
}
