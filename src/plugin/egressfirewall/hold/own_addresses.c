/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads the interfaces, and publishes a list where it differs from the one before. */
#include "plugin/egressfirewall/hold/own_addresses.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/rcu/rcu.h"
#include "base/vec.h"

/* As IPv6 addresses; IPv4 as ::ffff:a.b.c.d. */
struct address {
	uint8_t bytes[16];
};

struct egressfirewall_own_addresses_list {
	struct rcu_item item;
	size_t n;
	struct address v[];
};

static bool read_address(const struct sockaddr *sa, struct address *ret)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	if (sa == NULL)
		return false;
	if (sa->sa_family == AF_INET) {
		memcpy(ret->bytes, mapped, sizeof(mapped));
		memcpy(ret->bytes + 12, &((const struct sockaddr_in *)(const void *)sa)->sin_addr,
		       4);
	} else if (sa->sa_family == AF_INET6) {
		memcpy(ret->bytes, &((const struct sockaddr_in6 *)(const void *)sa)->sin6_addr, 16);
	}
	return sa->sa_family == AF_INET || sa->sa_family == AF_INET6;
}

static bool is_loopback(const struct address *address)
{
	static const uint8_t v4[13] = { [10] = 0xff, [11] = 0xff, [12] = 127 };
	static const uint8_t v6[16] = { [15] = 1 };
	return memcmp(address->bytes, v4, sizeof(v4)) == 0 ||
	       memcmp(address->bytes, v6, sizeof(v6)) == 0;
}

static void free_retired(struct rcu_item *item)
{
	free(CONTAINER_OF(item, struct egressfirewall_own_addresses_list, item));
}

void egressfirewall_own_addresses_done(struct egressfirewall_own_addresses *own)
{
	free(rcu_get(&own->list));
}

void egressfirewall_own_addresses_refresh(struct egressfirewall_own_addresses *own)
{
	struct egressfirewall_own_addresses_list *old = rcu_get(&own->list);
	VEC(struct address) found = { 0 };
	struct ifaddrs *interfaces = NULL;
	if (getifaddrs(&interfaces) < 0)
		return;
	for (const struct ifaddrs *one = interfaces; one != NULL; one = one->ifa_next) {
		struct address address;
		if (read_address(one->ifa_addr, &address))
			vec_push(&found, address);
	}
	freeifaddrs(interfaces);
	size_t bytes = found.n * sizeof(*found.v);
	if (old == NULL || old->n != found.n ||
	    (found.n != 0 && memcmp(old->v, found.v, bytes) != 0)) {
		struct egressfirewall_own_addresses_list *list = xcalloc(1, sizeof(*list) + bytes);
		list->n = found.n;
		if (found.n != 0)
			memcpy(list->v, found.v, bytes);
		rcu_publish(&own->list, list);
		if (old != NULL)
			rcu_defer(&old->item, free_retired);
	}
	vec_done(&found);
}

bool egressfirewall_own_addresses_has(const struct egressfirewall_own_addresses *own,
				      const union net_addr *addr)
{
	const struct egressfirewall_own_addresses_list *list = rcu_get(&own->list);
	struct address address;
	if (!read_address(&addr->sa, &address))
		return false;
	if (is_loopback(&address))
		return true;
	for (size_t i = 0; list != NULL && i < list->n; i++) {
		if (memcmp(&list->v[i], &address, sizeof(address)) == 0)
			return true;
	}
	return false;
}
