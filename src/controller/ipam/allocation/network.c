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
	map_init(&network->reserved[0]);
	map_init(&network->reserved[1]);
	return network;
}

void ipam_network_free(struct ipam_network *network)
{
	if (network == NULL)
		return;
	for (size_t i = 0; i < 2; i++) {
		net_ip_ranges_done(&network->in_use[i]);
		map_done(&network->reserved[i]);
	}
	free(network->name);
	free(network);
}

struct net_ip_ranges *ipam_network_in_use(struct ipam_network *network, sa_family_t family)
{
	return &network->in_use[place_of(family)];
}

void ipam_network_set(struct ipam_network *network, sa_family_t family, net_ip_number number,
		      bool in_use)
{
	struct net_ip_range single = { number, number };
	if (in_use)
		net_ip_ranges_add(ipam_network_in_use(network, family), single);
	else
		net_ip_ranges_remove(ipam_network_in_use(network, family), single);
}

static uintptr_t count_of(const struct map *reserved, net_ip_number number)
{
	return (uintptr_t)map_get(reserved, key_of(&number));
}

void ipam_network_reserve(struct ipam_network *network, sa_family_t family, net_ip_number number)
{
	struct map *reserved = &network->reserved[place_of(family)];
	map_set(reserved, key_of(&number), (void *)(count_of(reserved, number) + 1));
}

void ipam_network_unreserve(struct ipam_network *network, sa_family_t family, net_ip_number number)
{
	struct map *reserved = &network->reserved[place_of(family)];
	uintptr_t n = count_of(reserved, number);
	assert(n > 0);
	if (n == 1)
		map_del(reserved, key_of(&number));
	else
		map_set(reserved, key_of(&number), (void *)(n - 1));
}

bool ipam_network_is_reserved(const struct ipam_network *network, sa_family_t family,
			      net_ip_number number)
{
	return map_has(&network->reserved[place_of(family)], key_of(&number));
}
