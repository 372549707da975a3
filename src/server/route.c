/* From a question to a server block: longest suffix, then the first block of that zone whose view
 * takes the query, else the next shorter zone (spec 1.0 "Query routing"). */
#include "server/server_priv.h"

static bool accepts(struct query *q, struct block *b)
{
	if (b->conf.collect != NULL)
		b->conf.collect(b->conf.collect_ctx, q);
	return b->conf.filter == NULL || b->conf.filter(b->conf.filter_ctx, q);
}

/* The first block of a zone that takes the query, or with `last` the last one. Filters and
 * collectors look at q->block and q->zone. */
static bool try_zone(struct query *q, const struct route *r, const struct dns_zone_entry *e,
		     bool last, const struct block_zone **ret)
{
	bool found = false;
	for (; e != NULL; e = dns_zoneset_same(r->zones, e)) {
		struct block_zone *z = e->value;
		q->block = z->block;
		q->zone = z;
		if (z->block->n_chain != 0 && !accepts(q, z->block))
			continue;
		*ret = z;
		found = true;
		if (!last || z->block->n_chain == 0)
			break;
	}
	return found;
}

static const struct block_zone *find_zone(struct query *q, const struct route *r)
{
	bool parent_side = q->req.qtype == DNS_TYPE_DS && q->req.opcode == DNS_OPCODE_QUERY;
	const struct block_zone *z, *best = NULL;
	unsigned label = 0;
	const struct dns_zone_entry *e;
	while (label <= q->qname.n_labels &&
	       (e = dns_zoneset_longest(r->zones, &q->qname, label, &label)) != NULL) {
		bool root = label == q->qname.n_labels;
		if (!(root && best != NULL) && try_zone(q, r, e, parent_side, &z)) {
			best = z;
			if (!parent_side || z->block->n_chain == 0)
				break;
		}
		label++;
	}
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
