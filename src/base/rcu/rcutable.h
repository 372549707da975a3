/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A hash table that is read under RCU while one writer at a time changes it. Nodes are the
 * caller's, embedded in what they find; the table neither makes nor frees them: one that was taken
 * out may be freed when the readers of that moment have left (rcu_defer).
 *
 * Each node has two links, so that a table can grow: the new heads use the one that the old do not,
 * and readers of either find everything. */
#pragma once

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/rcu/rcu.h"

struct rcutable_node {
	struct rcutable_node *_Atomic next[2];
	uint32_t hash;
	uint32_t own; /* the user's: there is room */
};

struct rcutable_heads {
	uint32_t mask;
	unsigned link; /* which one of a node's is used */
	struct rcutable_node *_Atomic head[];
};

struct rcutable {
	struct rcutable_heads *_Atomic heads;
	size_t n;
};

void rcutable_init(struct rcutable *rcutable);
/* When nobody reads any more; nodes are left alone. */
void rcutable_done(struct rcutable *rcutable);

/* ---- writer ---- */

/* Behind (before) all others of its hash. May wait for readers, when the table grows. */
void rcutable_add(struct rcutable *rcutable, struct rcutable_node *node, uint32_t hash);
void rcutable_add_first(struct rcutable *rcutable, struct rcutable_node *node, uint32_t hash);
void rcutable_remove(struct rcutable *rcutable, struct rcutable_node *node);
/* Readers see the old one or the new one, never none; of equal hash. */
void rcutable_replace(struct rcutable *rcutable, struct rcutable_node *old,
		      struct rcutable_node *now);

/* All nodes, in no order: *pos starts at 0, `prev` at NULL. The writer's own. */
struct rcutable_node *rcutable_walk(const struct rcutable *rcutable, size_t *pos,
				    const struct rcutable_node *prev);

/* ---- readers ---- */

struct rcutable_cursor {
	uint32_t hash;
	unsigned link;
};

static ALWAYS_INLINE struct rcutable_node *rcutable_skip(const struct rcutable_cursor *cursor,
							 struct rcutable_node *node)
{
	while (node != NULL && node->hash != cursor->hash)
		node = rcu_get(&node->next[cursor->link]);
	return node;
}

/* The first node of the hash, or NULL; then the next one. */
static ALWAYS_INLINE struct rcutable_node *rcutable_find(const struct rcutable *rcutable,
							 uint32_t hash,
							 struct rcutable_cursor *cursor)
{
	struct rcutable_heads *h = rcu_get(&rcutable->heads);
	*cursor = (struct rcutable_cursor){ hash, h->link };
	return rcutable_skip(cursor, rcu_get(&h->head[hash & h->mask]));
}

static ALWAYS_INLINE struct rcutable_node *rcutable_next(const struct rcutable_cursor *cursor,
							 const struct rcutable_node *node)
{
	return rcutable_skip(cursor, rcu_get(&node->next[cursor->link]));
}
