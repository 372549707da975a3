/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table: nodes by the hash of their name, each in one piece of memory with its data. */
#include "plugin/records/table.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "dns/name.h"

void records_table_init(struct records_table *table)
{
	rcutable_init(&table->nodes);
}

static struct records_node *node_of(struct rcutable_node *in_table)
{
	return CONTAINER_OF(in_table, struct records_node, in_table);
}

void records_table_done(struct records_table *table)
{
	size_t pos = 0;
	struct rcutable_node *at = rcutable_walk(&table->nodes, &pos, NULL);
	while (at != NULL) {
		struct rcutable_node *next = rcutable_walk(&table->nodes, &pos, at);
		free(node_of(at));
		at = next;
	}
	rcutable_done(&table->nodes);
}

/* ---- writer ---- */

static size_t data_bytes(const struct records_sets *sets)
{
	size_t n = 0;
	for (unsigned i = 0; i < sets->n; i++)
		n += sets->v[i].data_n;
	return n;
}

static uint8_t *copy_sets(struct records_sets *out, const struct records_sets *sets, uint8_t *room)
{
	*out = *sets;
	for (unsigned i = 0; i < sets->n; i++) {
		memcpy(room, sets->v[i].data, sets->v[i].data_n);
		out->v[i].data = room;
		room += sets->v[i].data_n;
	}
	return room;
}

static struct records_node *new_node(const uint8_t *name, const struct records_sets *own,
				     const struct records_sets *wild)
{
	struct records_node *node = xcalloc(1, sizeof(*node) + data_bytes(own) + data_bytes(wild));
	node->name_n = (uint8_t)dns_name_len(name);
	memcpy(node->name, name, node->name_n);
	copy_sets(&node->wild, wild, copy_sets(&node->own, own, (uint8_t *)(node + 1)));
	return node;
}

static struct records_node *find_node(const struct records_table *table, const uint8_t *name,
				      uint32_t hash)
{
	struct rcutable_cursor cursor;
	struct rcutable_node *at = rcutable_find(&table->nodes, hash, &cursor);
	while (at != NULL && !dns_name_eq_case(node_of(at)->name, name))
		at = rcutable_next(&cursor, at);
	return at != NULL ? node_of(at) : NULL;
}

static void free_node(struct rcu_item *item)
{
	free(CONTAINER_OF(item, struct records_node, item));
}

void records_table_set(struct records_table *table, const uint8_t *name,
		       const struct records_sets *own, const struct records_sets *wild)
{
	uint32_t hash = dns_name_hash(name);
	struct records_node *old = find_node(table, name, hash), *now = new_node(name, own, wild);
	if (old == NULL) {
		rcutable_add(&table->nodes, &now->in_table, hash);
	} else {
		rcutable_replace(&table->nodes, &old->in_table, &now->in_table);
		rcu_defer(&old->item, free_node);
	}
}

void records_table_remove(struct records_table *table, const uint8_t *name)
{
	struct records_node *node = find_node(table, name, dns_name_hash(name));
	assert(node != NULL);
	rcutable_remove(&table->nodes, &node->in_table);
	rcu_defer(&node->item, free_node);
}

/* ---- readers ---- */

static const struct records_node *find_at(const struct records_table *table,
					  const struct dns_qname *qname, unsigned label)
{
	const uint8_t *name = qname->wire + qname->label[label];
	size_t n = (size_t)qname->len - qname->label[label];
	struct rcutable_cursor cursor;
	struct rcutable_node *at = rcutable_find(&table->nodes, qname->hash[label], &cursor);
	for (; at != NULL; at = rcutable_next(&cursor, at)) {
		const struct records_node *node = node_of(at);
		if (node->name_n == n && memcmp(node->name, name, n) == 0)
			return node;
	}
	return NULL;
}

bool records_table_find(const struct records_table *table, const struct dns_qname *qname,
			struct records_hit *ret)
{
	if (!records_table_may_have(table, qname))
		return false;
	for (unsigned label = 0; label + RECORDS_LABELS_MIN <= qname->n_labels; label++) {
		const struct records_node *node = find_at(table, qname, label);
		if (node == NULL)
			continue;
		*ret = (struct records_hit){ node, label == 0 ? &node->own : &node->wild };
		return ret->sets->n != 0;
	}
	return false;
}
