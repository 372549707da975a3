/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names and their record sets, as workers read them. One thread at a time changes the table; readers see
 * a name as it was before or as it is after a change, never without its records in between.
 *
 * Glossary
 *	node	a name that exists: it has records, or a wildcard below it has, or a longer name
 *	own	the sets of the name itself
 *	wild	the sets of `*.name` */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/rcu/rcutable.h"
#include "dns/request.h"

enum { RECORDS_TYPES = 4, RECORDS_LABELS_MIN = 2 }; /* of a name, and of what is below a `*` */

struct records_set {
	uint16_t type;
	uint16_t n; /* records */
	uint32_t ttl_s;
	const uint8_t *data; /* of each: two bytes with the length, the data */
	size_t data_n;
};

struct records_sets {
	struct records_set v[RECORDS_TYPES];
	unsigned n;
};

/* Does not change; lives as long as the read section in which it was found. */
struct records_node {
	struct rcutable_node in_table;
	struct rcu_item item;
	struct records_sets own, wild;
	uint8_t name_n;
	uint8_t name[DNS_NAME_MAX]; /* lower case */
};

struct records_table {
	struct rcutable nodes;
};

void records_table_init(struct records_table *table);
/* When nobody reads any more. */
void records_table_done(struct records_table *table);

/* ---- writer ---- */

/* The name (lower case) is to be this. It is removed by records_table_remove. Sets are copied. */
void records_table_set(struct records_table *table, const uint8_t *name,
		       const struct records_sets *own, const struct records_sets *wild);
void records_table_remove(struct records_table *table, const uint8_t *name);

/* ---- readers ---- */

struct records_hit {
	const struct records_node *node;
	const struct records_sets *sets; /* own or wild of the node; never empty */
};

/* False: nothing answers for the name. True: something may, or for another name that ends in the same two
 * labels: all names of that many labels above one with records exist. */
static ALWAYS_INLINE bool records_table_may_have(const struct records_table *table,
						 const struct dns_qname *qname)
{
	struct rcutable_cursor cursor;
	return qname->n_labels >= RECORDS_LABELS_MIN &&
	       rcutable_find(&table->nodes, qname->hash[qname->n_labels - RECORDS_LABELS_MIN],
			     &cursor) != NULL;
}

/* What answers for the name: its own sets, or those of the wildcard at its closest existing ancestor
 * (RFC 4592). A name that exists without records of its own is not covered by a wildcard. */
bool records_table_find(const struct records_table *table, const struct dns_qname *qname,
			struct records_hit *ret);
