/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writing to a table that others read. Links are written with release, so that a reader who sees a
 * node sees what is in it. */
#include "base/rcu/rcutable.h"

#include <assert.h>
#include <stdlib.h>

#include "base/mem.h"

enum { FIRST_HEADS = 16 };

static struct rcutable_heads *new_heads(size_t count, unsigned link)
{
	struct rcutable_heads *h = xcalloc(1, sizeof(*h) + count * sizeof(h->head[0]));
	h->mask = (uint32_t)count - 1;
	h->link = link;
	return h;
}

static struct rcutable_heads *heads_of(const struct rcutable *rcutable)
{
	return atomic_load_explicit(&rcutable->heads, memory_order_relaxed);
}

static struct rcutable_node *next_of(const struct rcutable_node *node, unsigned link)
{
	return atomic_load_explicit(&node->next[link], memory_order_relaxed);
}

void rcutable_init(struct rcutable *rcutable)
{
	atomic_init(&rcutable->heads, new_heads(FIRST_HEADS, 0));
	rcutable->n = 0;
}

void rcutable_done(struct rcutable *rcutable)
{
	free(heads_of(rcutable));
	atomic_init(&rcutable->heads, NULL);
}

/* The link that points to `node`, or the last one of the chain for NULL. */
static struct rcutable_node *_Atomic *link_to(struct rcutable_heads *heads, uint32_t hash,
					      const struct rcutable_node *node)
{
	struct rcutable_node *_Atomic *at = &heads->head[hash & heads->mask];
	struct rcutable_node *x;
	while ((x = atomic_load_explicit(at, memory_order_relaxed)) != node) {
		assert(x != NULL);
		at = &x->next[heads->link];
	}
	return at;
}

/* Keeps the order inside a chain: nodes of equal hash stay in theirs. */
static void move_chain(struct rcutable_heads *from, size_t index, struct rcutable_heads *to)
{
	struct rcutable_node *n = atomic_load_explicit(&from->head[index], memory_order_relaxed);
	for (; n != NULL; n = next_of(n, from->link)) {
		atomic_store_explicit(&n->next[to->link], NULL, memory_order_relaxed);
		rcu_publish(link_to(to, n->hash, NULL), n);
	}
}

static void grow_heads(struct rcutable *rcutable)
{
	struct rcutable_heads *old = heads_of(rcutable);
	if (rcutable->n <= old->mask || old->mask > UINT32_MAX / 4)
		return;
	struct rcutable_heads *now = new_heads(2 * ((size_t)old->mask + 1), 1 - old->link);
	for (size_t i = 0; i <= old->mask; i++)
		move_chain(old, i, now);
	rcu_publish(&rcutable->heads, now);
	/* The next growth will use the links that readers of the old heads follow. */
	rcu_wait();
	free(old);
}

void rcutable_add(struct rcutable *rcutable, struct rcutable_node *node, uint32_t hash)
{
	struct rcutable_heads *h = heads_of(rcutable);
	node->hash = hash;
	atomic_store_explicit(&node->next[h->link], NULL, memory_order_relaxed);
	rcu_publish(link_to(h, hash, NULL), node);
	rcutable->n++;
	grow_heads(rcutable);
}

void rcutable_add_first(struct rcutable *rcutable, struct rcutable_node *node, uint32_t hash)
{
	struct rcutable_heads *h = heads_of(rcutable);
	struct rcutable_node *_Atomic *at = &h->head[hash & h->mask];
	node->hash = hash;
	atomic_store_explicit(&node->next[h->link], atomic_load_explicit(at, memory_order_relaxed),
			      memory_order_relaxed);
	rcu_publish(at, node);
	rcutable->n++;
	grow_heads(rcutable);
}

void rcutable_remove(struct rcutable *rcutable, struct rcutable_node *node)
{
	struct rcutable_heads *h = heads_of(rcutable);
	/* Its own link stays for readers that stand on it. */
	rcu_publish(link_to(h, node->hash, node), next_of(node, h->link));
	rcutable->n--;
}

void rcutable_replace(struct rcutable *rcutable, struct rcutable_node *old,
		      struct rcutable_node *now)
{
	struct rcutable_heads *h = heads_of(rcutable);
	now->hash = old->hash;
	atomic_store_explicit(&now->next[h->link], next_of(old, h->link), memory_order_relaxed);
	rcu_publish(link_to(h, old->hash, old), now);
}

struct rcutable_node *rcutable_walk(const struct rcutable *rcutable, size_t *pos,
				    const struct rcutable_node *prev)
{
	struct rcutable_heads *h = heads_of(rcutable);
	struct rcutable_node *n = prev != NULL ? next_of(prev, h->link) : NULL;
	while (n == NULL && *pos <= h->mask)
		n = atomic_load_explicit(&h->head[(*pos)++], memory_order_relaxed);
	return n;
}
