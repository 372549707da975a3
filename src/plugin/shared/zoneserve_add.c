/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Records of a zone into the sections of a reply. Nothing is copied: the zone stays until the reply
 * is encoded. */
#include "plugin/shared/zoneserve_add.h"

#include "base/err.h"

enum {
	TARGETS_MAX = 64, /* whose addresses are added to one reply */
	LOOK_MAX = 256,	  /* records whose targets are looked up for that */
};

void zoneserve_add(struct zoneserve_run *run, enum dns_section section,
		   const struct dns_zone_node *node, const struct dns_zone_set *set,
		   const uint8_t *owner)
{
	struct query *q = run->q;
	const uint8_t *p = dns_zone_data(run->z, set);
	size_t owner_len = node->name_len;
	if (owner == NULL)
		owner = dns_zone_owner(run->z, node, set);
	else
		owner_len = run->owner_len;
	for (unsigned i = 0; i < set->n; i++, p += dns_zone_rr_bytes(p)) {
		struct dns_rr rr = {
			.owner = owner,
			.owner_len = (uint8_t)owner_len,
			.type = set->type,
			.cls = dns_get16(p + 4),
			.ttl = dns_zone_rr_ttl(p),
			.rdata = p + DNS_ZONE_RR_HEAD,
			.rdlen = dns_get16(p + 10),
		};
		if (dns_resp_add(&q->resp, &q->arena, section, &rr) < 0) {
			q->resp.flags |= DNS_FLAG_TC;
			return;
		}
	}
}

void zoneserve_add_type(struct zoneserve_run *run, enum dns_section section,
			const struct dns_zone_node *node, uint16_t type, const uint8_t *owner)
{
	const struct dns_zone_set *set = dns_zone_set(run->z, node, type);
	if (set == NULL)
		return;
	zoneserve_add(run, section, node, set, owner);
	if (!run->dnssec)
		return;
	set = dns_zone_sigs(run->z, node, type);
	if (set != NULL)
		zoneserve_add(run, section, node, set, owner);
}

void zoneserve_add_apex(struct zoneserve_run *run, uint16_t type)
{
	zoneserve_add_type(run, DNS_AUTHORITY, dns_zone_node(run->z, 0), type, NULL);
}

/* ---- additional ---- */

struct seen {
	unsigned n;
	const struct dns_zone_node *node[TARGETS_MAX];
};

static bool seen_before(struct seen *seen, const struct dns_zone_node *node)
{
	for (unsigned i = 0; i < seen->n; i++) {
		if (seen->node[i] == node)
			return true;
	}
	if (seen->n == TARGETS_MAX)
		return true;
	seen->node[seen->n++] = node;
	return false;
}

static void add_addresses(struct zoneserve_run *run, struct seen *seen, const uint8_t *name,
			  const uint8_t *within)
{
	if (!dns_name_is_below(name, within))
		return;
	const struct dns_zone_node *n = dns_zone_find_name(run->z, name);
	if (n == NULL || seen_before(seen, n))
		return;
	zoneserve_add_type(run, DNS_ADDITIONAL, n, DNS_TYPE_A, NULL);
	zoneserve_add_type(run, DNS_ADDITIONAL, n, DNS_TYPE_AAAA, NULL);
}

/* Offset of the target in the data, or -1. */
static int target_at(uint16_t type)
{
	switch (type) {
	case DNS_TYPE_MX:
	case DNS_TYPE_SVCB:
	case DNS_TYPE_HTTPS:
		return 2;
	case DNS_TYPE_SRV:
		return 6;
	default:
		return -1;
	}
}

void zoneserve_add_targets(struct zoneserve_run *run)
{
	struct seen seen = { 0 };
	const uint8_t *origin = dns_zone_origin(run->z);
	unsigned left = LOOK_MAX;
	DNS_RR_FOREACH(rr, &run->q->resp, DNS_ANSWER)
	{
		int at = target_at(rr->type);
		if (at < 0 || rr->rdlen <= at)
			continue;
		if (left-- == 0)
			return;
		add_addresses(run, &seen, rr->rdata + at, origin);
	}
}

void zoneserve_add_glue(struct zoneserve_run *run, const struct dns_zone_set *ns,
			const uint8_t *within)
{
	struct seen seen = { 0 };
	const uint8_t *p = dns_zone_data(run->z, ns);
	for (unsigned i = 0; i < MIN(ns->n, LOOK_MAX); i++, p += dns_zone_rr_bytes(p))
		add_addresses(run, &seen, p + DNS_ZONE_RR_HEAD, within);
}

/* ---- proofs ---- */

void zoneserve_prove_at(struct zoneserve_run *run, const struct dns_zone_node *node)
{
	if (!run->proofs || node == NULL)
		return;
	const uint8_t *name = dns_zone_name(run->z, node);
	DNS_RR_FOREACH(rr, &run->q->resp, DNS_AUTHORITY)
	{
		if (rr->type == DNS_TYPE_NSEC && rr->owner == name)
			return;
	}
	zoneserve_add_type(run, DNS_AUTHORITY, node, DNS_TYPE_NSEC, NULL);
}

void zoneserve_prove_before(struct zoneserve_run *run, const uint8_t *name)
{
	if (run->proofs)
		zoneserve_prove_at(run, dns_zone_nsec_before(run->z, name));
}

void zoneserve_prove_no_wildcard(struct zoneserve_run *run, const struct dns_zone_node *encloser)
{
	uint8_t name[DNS_NAME_MAX + 2] = { 1, '*' };
	if (!run->proofs || encloser->name_len + 2 > DNS_NAME_MAX)
		return; /* no wildcard fits below it */
	memcpy(name + 2, dns_zone_name(run->z, encloser), encloser->name_len);
	zoneserve_prove_before(run, name);
}
