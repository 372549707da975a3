/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shares of clients in a heap by size: choosing one takes the same time however many clients there are. */
#include "plugin/egressfirewall/client_shares.h"

#include <assert.h>
#include <stdlib.h>

#include "base/compiler.h"
#include "base/mem.h"

static struct slice client_key(const uint64_t *client)
{
	return (struct slice){ (const char *)client, sizeof(*client) };
}

void egressfirewall_client_shares_init(struct egressfirewall_client_shares *shares)
{
	map_init(&shares->by_client);
	shares->by_size = (struct egressfirewall_heap){ .kind = EGRESSFIREWALL_HEAP_SIZE };
}

void egressfirewall_client_shares_done(struct egressfirewall_client_shares *shares)
{
	assert(shares->by_client.n == 0 && shares->by_size.n == 0);
	map_done(&shares->by_client);
	egressfirewall_heap_done(&shares->by_size);
}

/* After its size changed. The heap has small numbers in front. */
static void sort_share(struct egressfirewall_client_shares *shares,
		       struct egressfirewall_client_share *share)
{
	share->by_size.due_s = UINT64_MAX - share->pairs.n;
	egressfirewall_heap_update(&shares->by_size, &share->by_size);
}

struct egressfirewall_client_share *egressfirewall_client_shares_add(
	struct egressfirewall_client_shares *shares, uint64_t client,
	struct egressfirewall_heap_item *pair)
{
	struct egressfirewall_client_share *share =
		map_get(&shares->by_client, client_key(&client));
	if (share == NULL) {
		share = xcalloc(1, sizeof(*share));
		share->client = client;
		share->pairs.kind = EGRESSFIREWALL_HEAP_CLIENT;
		share->by_size.due_s = UINT64_MAX;
		map_set(&shares->by_client, client_key(&client), share);
		egressfirewall_heap_add(&shares->by_size, &share->by_size);
	}
	egressfirewall_heap_add(&share->pairs, pair);
	sort_share(shares, share);
	return share;
}

void egressfirewall_client_shares_remove(struct egressfirewall_client_shares *shares,
					 struct egressfirewall_client_share *share,
					 struct egressfirewall_heap_item *pair)
{
	egressfirewall_heap_remove(&share->pairs, pair);
	if (share->pairs.n != 0) {
		sort_share(shares, share);
		return;
	}
	egressfirewall_heap_remove(&shares->by_size, &share->by_size);
	egressfirewall_heap_done(&share->pairs);
	map_del(&shares->by_client, client_key(&share->client));
	free(share);
}

size_t egressfirewall_client_shares_count(const struct egressfirewall_client_shares *shares,
					  uint64_t client)
{
	const struct egressfirewall_client_share *share =
		map_get(&shares->by_client, client_key(&client));
	return share != NULL ? share->pairs.n : 0;
}

struct egressfirewall_heap_item *egressfirewall_client_shares_victim(
	const struct egressfirewall_client_shares *shares, uint64_t client)
{
	const struct egressfirewall_client_share *own =
		map_get(&shares->by_client, client_key(&client));
	struct egressfirewall_heap_item *first = egressfirewall_heap_first(&shares->by_size);
	assert(first != NULL);
	const struct egressfirewall_client_share *largest =
		CONTAINER_OF(first, struct egressfirewall_client_share, by_size);
	if (own != NULL && largest->pairs.n <= own->pairs.n + 1)
		largest = own;
	return egressfirewall_heap_first(&largest->pairs);
}
