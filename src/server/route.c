/* From a question to a server block: longest suffix, then the first block of that zone whose view
 * takes the query, else the next shorter zone (spec 1.0 "Query routing"). */
#include "server/server_priv.h"

static bool accepts(struct query *q, struct block *b)
{
	if (b->conf.collect != NULL)
		b->conf.collect(b->conf.collect_ctx, q);
	return b->conf.filter == NULL || b->conf.filter(b->conf.filter_ctx, q);
}

enum pick { PICK_FIRST, PICK_LAST };

/* The first block of a zone that takes the query, or the last one. Filters and collectors look at
 * q->block and q->zone, and each block starts with states of its own. A block without handlers ends
 * the search. */
static bool try_zone(struct query *q, const struct route *r, const struct dns_zone_entry *e,
		     enum pick pick, const struct block_zone **ret)
{
	bool found = false;
	for (; e != NULL; e = dns_zoneset_same(r->zones, e)) {
		struct block_zone *z = e->value;
		q->block = z->block;
		q->zone = z;
		q->state = NULL;
		if (z->block->n_chain != 0 && !accepts(q, z->block))
			continue;
		*ret = z;
		found = true;
		if (pick == PICK_FIRST || z->block->n_chain == 0)
			break;
	}
	return found;
}

/* The root zone as the last resort: blocks without handlers are passed over. */
static bool try_root(struct query *q, const struct route *r, const struct dns_zone_entry *e,
		     const struct block_zone **ret)
{
	for (; e != NULL; e = dns_zoneset_same(r->zones, e)) {
		struct block_zone *z = e->value;
		q->block = z->block;
		q->zone = z;
		q->state = NULL;
		if (z->block->n_chain != 0 && accepts(q, z->block)) {
			*ret = z;
			return true;
		}
	}
	return false;
}

static const struct block_zone *find_zone(struct query *q, const struct route *r)
{
	/* DS is asked of the parent side, at the shortest zone; QUERY only. */
	bool parent_side = q->req.qtype == DNS_TYPE_DS && q->req.opcode == DNS_OPCODE_QUERY;
	enum pick pick = parent_side ? PICK_LAST : PICK_FIRST;
	const struct block_zone *z, *best = NULL;
	unsigned label = 0;
	const struct dns_zone_entry *e;
	while (label <= q->qname.n_labels &&
	       (e = dns_zoneset_longest(r->zones, &q->qname, label, &label)) != NULL) {
		if (label == q->qname.n_labels && label != 0) {
			if (best == NULL && try_root(q, r, e, &z))
				best = z;
		} else if (try_zone(q, r, e, pick, &z)) {
			best = z;
			if (!parent_side || z->block->n_chain == 0)
				break;
		}
		label++;
	}
	if (best != NULL && best->block != q->block)
		q->state = NULL;
	return best;
}

bool route_query(struct query *q, const struct route *r, uint16_t *ret_rcode)
{
	const struct block_zone *z = find_zone(q, r);
	q->block = NULL;
	q->zone = z;
	*ret_rcode = DNS_RCODE_REFUSED;
	if (z == NULL || z->block->n_chain == 0)
		return false;
	uint8_t op = q->req.opcode;
	if (op != DNS_OPCODE_QUERY && op != DNS_OPCODE_NOTIFY &&
	    (z->block->conf.opcodes >> op & 1) == 0) {
		*ret_rcode = DNS_RCODE_NOTIMP;
		return false;
	}
	q->block = z->block;
	return true;
}
