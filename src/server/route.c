/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Chooses the server block of a query: the longest zone that its name ends with, there the first block
 * whose view accepts it, else the next shorter zone, the root last. DS goes to the shortest zone, the
 * parent's side. REFUSED: no block, or one without handlers; SERVFAIL: a view failed. */
#include "server/route.h"

#include "server/block.h"
#include "server/query.h"

/* As a block's filter: 1, 0, or negative. */
static int filter_query(struct query *q, struct block *block)
{
	if (block->conf.collect != NULL)
		block->conf.collect(block->conf.collect_ctx, q);
	return block->conf.filter == NULL ? 1 : block->conf.filter(block->conf.filter_ctx, q);
}

enum pick { PICK_FIRST, PICK_LAST };

/* The first block of a zone that accepts the query, or the last one: 1, 0 when none does, or
 * negative. Filters and collectors look at q->block and q->zone, and each block starts with states
 * of its own. A block without handlers ends the search. */
static int try_zone(struct query *q, const struct route *route, const struct dns_zone_entry *entry,
		    enum pick pick, const struct block_zone **ret)
{
	int found = 0;
	for (; entry != NULL; entry = dns_zoneset_same(route->zones, entry)) {
		struct block_zone *zone = entry->value;
		q->block = zone->block;
		q->zone = zone;
		q->state = NULL;
		int taken = zone->block->n_chain != 0 ? filter_query(q, zone->block) : 1;
		if (taken < 0)
			return taken;
		if (taken == 0)
			continue;
		*ret = zone;
		found = 1;
		if (pick == PICK_FIRST || zone->block->n_chain == 0)
			break;
	}
	return found;
}

/* The root zone as the last resort: blocks without handlers are passed over. */
static int try_root(struct query *q, const struct route *route, const struct dns_zone_entry *entry,
		    const struct block_zone **ret)
{
	for (; entry != NULL; entry = dns_zoneset_same(route->zones, entry)) {
		struct block_zone *zone = entry->value;
		q->block = zone->block;
		q->zone = zone;
		q->state = NULL;
		int taken = zone->block->n_chain != 0 ? filter_query(q, zone->block) : 0;
		if (taken != 0) {
			*ret = zone;
			return taken;
		}
	}
	return 0;
}

/* 0, with the block that accepts the query or NULL; negative when a filter failed. */
static int find_zone(struct query *q, const struct route *route, const struct block_zone **ret)
{
	/* DS is asked of the parent side, at the shortest zone; QUERY only. */
	bool parent_side = q->req.qtype == DNS_TYPE_DS && q->req.opcode == DNS_OPCODE_QUERY;
	enum pick pick = parent_side ? PICK_LAST : PICK_FIRST;
	const struct block_zone *zone = NULL, *best = NULL;
	unsigned label = 0;
	const struct dns_zone_entry *e;
	while (label <= q->qname.n_labels &&
	       (e = dns_zoneset_longest(route->zones, &q->qname, label, &label)) != NULL) {
		bool at_root = label == q->qname.n_labels && label != 0;
		int found = !at_root	   ? try_zone(q, route, e, pick, &zone)
			    : best == NULL ? try_root(q, route, e, &zone)
					   : 0;
		if (found < 0)
			return found;
		if (found > 0) {
			best = zone;
			if (!parent_side || zone->block->n_chain == 0)
				break;
		}
		label++;
	}
	if (best != NULL && best->block != q->block)
		q->state = NULL;
	*ret = best;
	return 0;
}

bool route_query(struct query *q, const struct route *route, uint16_t *ret_rcode)
{
	const struct block_zone *zone = NULL;
	int failed = find_zone(q, route, &zone);
	q->block = NULL;
	q->zone = zone;
	*ret_rcode = failed < 0 ? DNS_RCODE_SERVFAIL : DNS_RCODE_REFUSED;
	if (zone == NULL || zone->block->n_chain == 0)
		return false;
	uint8_t op = q->req.opcode;
	if (op != DNS_OPCODE_QUERY && op != DNS_OPCODE_NOTIFY &&
	    (zone->block->conf.opcodes >> op & 1) == 0) {
		*ret_rcode = DNS_RCODE_NOTIMP;
		return false;
	}
	q->block = zone->block;
	return true;
}
