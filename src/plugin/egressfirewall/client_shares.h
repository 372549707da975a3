/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The learnt addresses of one DNSName object by client, and which client makes room for another address:
 * the one that has most. So a client that asks for very many names below a wildcard drives out its own and
 * not those of others, whatever their TTLs (EF-P10).
 *
 * Glossary
 *   share  the addresses that count for one client, those that expire first in front */
#pragma once

#include <stdint.h>

#include "base/map.h"
#include "plugin/egressfirewall/due_heap.h"

struct egressfirewall_client_share {
	struct egressfirewall_heap_item by_size; /* among the shares of the object */
	struct egressfirewall_heap pairs;
	uint64_t client;
};

struct egressfirewall_client_shares {
	struct map by_client; /* struct egressfirewall_client_share, owned; none is empty */
	struct egressfirewall_heap by_size; /* the largest in front */
};

void egressfirewall_client_shares_init(struct egressfirewall_client_shares *shares);
/* All shares are gone. */
void egressfirewall_client_shares_done(struct egressfirewall_client_shares *shares);

/* Counts the pair for the client; returns the share it is in. */
struct egressfirewall_client_share *egressfirewall_client_shares_add(
	struct egressfirewall_client_shares *shares, uint64_t client,
	struct egressfirewall_heap_item *pair);
/* A share without pairs is freed. */
void egressfirewall_client_shares_remove(struct egressfirewall_client_shares *shares,
					 struct egressfirewall_client_share *share,
					 struct egressfirewall_heap_item *pair);
/* How many pairs count for the client. */
size_t egressfirewall_client_shares_count(const struct egressfirewall_client_shares *shares,
					  uint64_t client);
/* Which pair leaves so that the client can have one more: the first to expire of the client that has most.
 * Its own if none has more than it would have then. There is at least one pair. */
struct egressfirewall_heap_item *egressfirewall_client_shares_victim(
	const struct egressfirewall_client_shares *shares, uint64_t client);
