/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A shard's memory and its order of eviction.
 *
 * Memory is one region cut into cells of equal size, so that any entry can have any other's place:
 * a full cache calls no allocator and does not fall to pieces. Shards take cells in runs from the
 * region's start, so that what is touched lies close together (in huge pages where it is much). An
 * entry that was taken out is handed to RCU together with others: a reader may still have it.
 *
 * Eviction is SIEVE (Zhang et al., NSDI 2024): new entries join at one end, a hand goes from the
 * old end towards them, passes entries that were visited since it last came by, and takes the first
 * that was not. Entries stay where they are, so a hit costs no more than setting a mark. */
#pragma once

#include "plugin/cache/store_priv.h"

struct store_entry *store_take(struct shard *sh, size_t cells); /* NULL: no memory left */
void store_link(struct shard *sh, struct store_entry *entry);
/* Out of its bucket, the order and the counts; freed when no reader can have it. */
void store_retire(struct shard *sh, struct bucket *bucket, struct store_entry *entry);
/* One entry of the half makes room; false when it has none. */
bool store_evict(struct shard *sh, enum store_half half, uint64_t now_ns);
void store_hand_over(struct shard *sh);
