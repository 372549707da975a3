/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table of known pairs. Readers see the age of a pair before its time: one that was forgotten loses its
 * time before it gets the age of the table again, so that an old time is never taken for a new one. */
#include "addrset/shared/known_pairs.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"

enum { SWEEP_PAIRS = 8192 }; /* checked in one sweep */

static uint32_t hash_pair(const struct addrset_id *name, const struct addrset_address *address)
{
	uint8_t key[sizeof(name->bytes) + sizeof(address->bytes)];
	memcpy(key, name->bytes, sizeof(name->bytes));
	memcpy(key + sizeof(name->bytes), address->bytes, sizeof(address->bytes));
	return (uint32_t)hash_bytes(hash_process_key(), key, sizeof(key));
}

static struct addrset_known *known_of(struct rcutable_node *node)
{
	return CONTAINER_OF(node, struct addrset_known, node);
}

static struct addrset_known *find_pair(const struct addrset_known_table *table,
				       const struct addrset_id *name,
				       const struct addrset_address *address, uint32_t hash)
{
	struct rcutable_cursor cursor;
	struct rcutable_node *node = rcutable_find(&table->pairs, hash, &cursor);
	for (; node != NULL; node = rcutable_next(&cursor, node)) {
		struct addrset_known *known = known_of(node);
		if (known->address.n == address->n &&
		    memcmp(&known->name, name, sizeof(*name)) == 0 &&
		    memcmp(known->address.bytes, address->bytes, address->n) == 0)
			return known;
	}
	return NULL;
}

static void take_up_age(const struct addrset_known_table *table, struct addrset_known *known)
{
	uint32_t age = atomic_load_explicit(&table->age, memory_order_relaxed);
	if (atomic_load_explicit(&known->age, memory_order_relaxed) == age)
		return;
	known->wanted_ns = 0;
	atomic_store_explicit(&known->until_ns, 0, memory_order_relaxed);
	atomic_store_explicit(&known->age, age, memory_order_release);
}

struct addrset_known *addrset_known_find(const struct addrset_known_table *table,
					 const struct addrset_id *name,
					 const struct addrset_address *address)
{
	return find_pair(table, name, address, hash_pair(name, address));
}

struct addrset_known *addrset_known_get(struct addrset_known_table *table,
					const struct addrset_id *name,
					const struct addrset_address *address)
{
	uint32_t hash = hash_pair(name, address);
	struct addrset_known *known = find_pair(table, name, address, hash);
	if (known == NULL) {
		known = xcalloc(1, sizeof(*known));
		known->name = *name;
		known->address = *address;
		rcutable_add(&table->pairs, &known->node, hash);
	}
	take_up_age(table, known);
	return known;
}

void addrset_known_set(struct addrset_known *known, uint64_t until_ns)
{
	atomic_store_explicit(&known->until_ns, until_ns, memory_order_release);
}

uint64_t addrset_known_until(const struct addrset_known *known)
{
	return atomic_load_explicit(&known->until_ns, memory_order_relaxed);
}

bool addrset_known_holds(const struct addrset_known_table *table, const struct addrset_pair *pair)
{
	const struct addrset_known *known = find_pair(table, &pair->name, &pair->address,
						      hash_pair(&pair->name, &pair->address));
	return known != NULL &&
	       atomic_load_explicit(&known->age, memory_order_acquire) ==
		       atomic_load_explicit(&table->age, memory_order_acquire) &&
	       atomic_load_explicit(&known->until_ns, memory_order_acquire) >= pair->until_ns;
}

void addrset_known_forget_all(struct addrset_known_table *table)
{
	atomic_fetch_add_explicit(&table->age, 1, memory_order_acq_rel);
}

static void free_pair(struct rcu_item *item)
{
	free(CONTAINER_OF(item, struct addrset_known, deferred));
}

bool addrset_known_is_in_force(const struct addrset_known_table *table,
			       const struct addrset_known *known, uint64_t now_ns)
{
	return atomic_load(&known->age) == atomic_load(&table->age) &&
	       addrset_known_until(known) > now_ns;
}

void addrset_known_sweep(struct addrset_known_table *table, uint64_t now_ns)
{
	size_t pos = table->sweep_at, left = SWEEP_PAIRS;
	struct rcutable_node *node = rcutable_walk(&table->pairs, &pos, NULL);
	while (node != NULL && left-- > 0) {
		struct addrset_known *known = known_of(node);
		node = rcutable_walk(&table->pairs, &pos, node);
		if (known->is_queued || known->is_leaving ||
		    addrset_known_is_in_force(table, known, now_ns))
			continue;
		rcutable_remove(&table->pairs, &known->node);
		if (table->on_removed != NULL)
			table->on_removed(table, known);
		rcu_defer(&known->deferred, free_pair);
	}
	table->sweep_at = node != NULL ? pos - 1 : 0;
}

void addrset_known_each(const struct addrset_known_table *table,
			void (*fn)(void *ctx, struct addrset_known *known), void *ctx)
{
	size_t pos = 0;
	struct rcutable_node *node = rcutable_walk(&table->pairs, &pos, NULL);
	for (; node != NULL; node = rcutable_walk(&table->pairs, &pos, node))
		fn(ctx, known_of(node));
}

void addrset_known_init(struct addrset_known_table *table)
{
	memset(table, 0, sizeof(*table));
	rcutable_init(&table->pairs);
}

void addrset_known_done(struct addrset_known_table *table)
{
	size_t pos = 0;
	struct rcutable_node *node = rcutable_walk(&table->pairs, &pos, NULL);
	while (node != NULL) {
		struct addrset_known *known = known_of(node);
		node = rcutable_walk(&table->pairs, &pos, node);
		free(known);
	}
	rcutable_done(&table->pairs);
}
