/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A walk over an immutable zone: the SOA record first, then all others in canonical order. */
#include "plugin/shared/zonecopy.h"

#include <stdlib.h>

#include "base/mem.h"
#include "dns/zone/zone.h"
#include "server/handler.h"

struct zonecopy {
	struct zone_copy base;
	struct dns_zone *zone;
	bool begun;
	size_t node;	   /* where the next record is looked for */
	uint16_t set;	   /* of the node */
	uint16_t left;	   /* records of the set not given yet; 0: the set is not begun */
	const uint8_t *at; /* the next one of them */
};

static void fill_record(const struct zonecopy *zonecopy, const struct dns_zone_node *node,
			const struct dns_zone_set *set, const uint8_t *at, struct dns_rr *ret)
{
	*ret = (struct dns_rr){ .owner = dns_zone_owner(zonecopy->zone, node, set),
				.owner_len = node->name_len,
				.type = set->type,
				.cls = DNS_CLASS_IN,
				.ttl = dns_zone_rr_ttl(at),
				.rdata = at + DNS_ZONE_RR_HEAD,
				.rdlen = dns_get16(at + 10) };
}

/* The next record of the node at hand that is not the SOA; false: it has no more. */
static bool next_of_node(struct zonecopy *zonecopy, const struct dns_zone_node *node,
			 struct dns_rr *ret)
{
	const struct dns_zone_set *sets = dns_zone_sets(zonecopy->zone, node);
	for (; zonecopy->set < node->n_set; zonecopy->set++) {
		const struct dns_zone_set *s = &sets[zonecopy->set];
		if (s->type == DNS_TYPE_SOA)
			continue;
		if (zonecopy->left == 0) {
			zonecopy->left = s->n;
			zonecopy->at = dns_zone_data(zonecopy->zone, s);
		}
		fill_record(zonecopy, node, s, zonecopy->at, ret);
		zonecopy->at += dns_zone_rr_bytes(zonecopy->at);
		if (--zonecopy->left == 0)
			zonecopy->set++;
		return true;
	}
	return false;
}

static int zonecopy_next(struct zone_copy *copy, struct dns_rr *ret)
{
	struct zonecopy *c = CONTAINER_OF(copy, struct zonecopy, base);
	if (!c->begun) {
		const struct dns_zone_node *apex = dns_zone_node(c->zone, 0);
		const struct dns_zone_set *soa = dns_zone_set(c->zone, apex, DNS_TYPE_SOA);
		c->begun = true;
		fill_record(c, apex, soa, dns_zone_data(c->zone, soa), ret);
		return 1;
	}
	for (; c->node < dns_zone_n_nodes(c->zone); c->node++, c->set = 0) {
		if (next_of_node(c, dns_zone_node(c->zone, c->node), ret))
			return 1;
	}
	return 0;
}

static void zonecopy_free(struct zone_copy *copy)
{
	struct zonecopy *c = CONTAINER_OF(copy, struct zonecopy, base);
	dns_zone_unref(c->zone);
	free(c);
}

struct zone_copy *zonecopy_new(struct dns_zone *zone)
{
	struct zonecopy *c = xcalloc(1, sizeof(*c));
	c->base = (struct zone_copy){ .next = zonecopy_next, .free = zonecopy_free };
	c->zone = dns_zone_ref(zone);
	return &c->base;
}
