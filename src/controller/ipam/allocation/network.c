/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Addresses in use as sets of ranges, reservations by number. */
#include "controller/ipam/allocation/network.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/mem.h"

static size_t place_of(sa_family_t family)
{
	return family == AF_INET6 ? 1 : 0;
}

static struct slice key_of(const net_ip_number *number)
{
	return (struct slice){ (const char *)number, sizeof(*number) };
}

struct ipam_network *ipam_network_new(const char *name)
{
	struct ipam_network *network = xcalloc(1, sizeof(*network));
	network->name = xstrdup(name);
	return network;
}

static void use_free(struct ipam_network_use *use)
{
	net_ip_ranges_done(&use->in_use);
	map_done(&use->reserved);
	free(use);
}

void ipam_network_free(struct ipam_network *network)
{
	if (network == NULL)
		return;
	for (size_t i = 0; i < 2; i++) {
		for (size_t j = 0; j < network->uses[i].n; j++)
			use_free(network->uses[i].v[j]);
		vec_done(&network->uses[i]);
	}
	free(network->name);
	free(network);
}

/* The blocks of that size; made where they are missing. */
static struct ipam_network_use *find_use(struct ipam_network *network, struct ipam_block block)
{
	size_t place = place_of(block.family);
	for (size_t i = 0; i < network->uses[place].n; i++) {
		if (network->uses[place].v[i]->bits == block.bits)
			return network->uses[place].v[i];
	}
	struct ipam_network_use *use = xcalloc(1, sizeof(*use));
	use->bits = block.bits;
	map_init(&use->reserved);
	vec_push(&network->uses[place], use);
	return use;
}

void ipam_network_each_in_use(struct ipam_network *network, sa_family_t family,
			      struct net_ip_range range,
			      void (*fn)(void *ctx, struct net_ip_range found), void *ctx)
{
	size_t place = place_of(family);
	for (size_t i = 0; i < network->uses[place].n; i++)
		net_ip_ranges_each_within(&network->uses[place].v[i]->in_use, range, fn, ctx);
}

struct blocks_call {
	uint8_t bits;
	ipam_blocks_fn fn;
	void *arg;
};

static void call_with_blocks(void *ctx, struct net_ip_range found)
{
	const struct blocks_call *call = ctx;
	call->fn(call->arg, call->bits, found);
}

void ipam_network_each_touching(struct ipam_network *network, struct ipam_block block,
				ipam_blocks_fn fn, void *arg)
{
	size_t place = place_of(block.family);
	for (size_t i = 0; i < network->uses[place].n; i++) {
		const struct ipam_network_use *use = network->uses[place].v[i];
		struct blocks_call call = { use->bits, fn, arg };
		if (use->bits != block.bits)
			net_ip_ranges_each_within(
				&use->in_use, ipam_block_widen(ipam_block_range(block), use->bits),
				call_with_blocks, &call);
	}
}

void ipam_network_set(struct ipam_network *network, struct ipam_block block, bool in_use)
{
	struct ipam_network_use *use = find_use(network, block);
	if (in_use)
		net_ip_ranges_add(&use->in_use, ipam_block_range(block));
	else
		net_ip_ranges_remove(&use->in_use, ipam_block_range(block));
}

static uintptr_t count_of(const struct map *reserved, net_ip_number number)
{
	return (uintptr_t)map_get(reserved, key_of(&number));
}

void ipam_network_reserve(struct ipam_network *network, struct ipam_block block)
{
	struct map *reserved = &find_use(network, block)->reserved;
	map_set(reserved, key_of(&block.first), (void *)(count_of(reserved, block.first) + 1));
}

void ipam_network_unreserve(struct ipam_network *network, struct ipam_block block)
{
	struct map *reserved = &find_use(network, block)->reserved;
	uintptr_t n = count_of(reserved, block.first);
	assert(n > 0);
	if (n == 1)
		map_del(reserved, key_of(&block.first));
	else
		map_set(reserved, key_of(&block.first), (void *)(n - 1));
}

bool ipam_network_is_reserved(struct ipam_network *network, struct ipam_block block)
{
	return map_has(&find_use(network, block)->reserved, key_of(&block.first));
}
