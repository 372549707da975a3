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
#include "base/rcu.h"

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

void rcutable_init(struct rcutable *t);
/* When nobody reads any more; nodes are left alone. */
void rcutable_done(struct rcutable *t);

/* ---- writer ---- */

/* Behind (before) all others of its hash. May wait for readers, when the table grows. */
void rcutable_add(struct rcutable *t, struct rcutable_node *n, uint32_t hash);
void rcutable_add_first(struct rcutable *t, struct rcutable_node *n, uint32_t hash);
void rcutable_remove(struct rcutable *t, struct rcutable_node *n);
/* Readers see the old one or the new one, never none; of equal hash. */
void rcutable_replace(struct rcutable *t, struct rcutable_node *old, struct rcutable_node *now);

/* All nodes, in no order: *pos starts at 0, `prev` at NULL. The writer's own. */
struct rcutable_node *rcutable_walk(const struct rcutable *t, size_t *pos,
				    const struct rcutable_node *prev);

/* ---- readers ---- */

struct rcutable_cursor {
	uint32_t hash;
	unsigned link;
};

static ALWAYS_INLINE struct rcutable_node *rcutable_skip(const struct rcutable_cursor *c,
							 struct rcutable_node *n)
{
	while (n != NULL && n->hash != c->hash)
		n = rcu_get(&n->next[c->link]);
	return n;
}

/* The first node of the hash, or NULL; then the next one. */
static ALWAYS_INLINE struct rcutable_node *rcutable_find(const struct rcutable *t, uint32_t hash,
							 struct rcutable_cursor *c)
{
	struct rcutable_heads *h = rcu_get(&t->heads);
	*c = (struct rcutable_cursor){ hash, h->link };
	return rcutable_skip(c, rcu_get(&h->head[hash & h->mask]));
}

static ALWAYS_INLINE struct rcutable_node *rcutable_next(const struct rcutable_cursor *c,
							 const struct rcutable_node *n)
{
	return rcutable_skip(c, rcu_get(&n->next[c->link]));
}
