/* Records of a zone into the sections of a reply. Nothing is copied: the zone stays until the reply
 * is encoded. */
#include "base/err.h"
#include "plugin/zoneserve_priv.h"

enum {
	TARGETS_MAX = 64, /* whose addresses are added to one reply */
	LOOK_MAX = 256,	  /* records whose targets are looked up for that */
};

void zoneserve_add(struct zoneserve_run *r, enum dns_section s, const struct dns_zone_node *n,
		   const struct dns_zone_set *set, const uint8_t *owner)
{
	struct query *q = r->q;
	const uint8_t *p = dns_zone_data(r->z, set);
	size_t owner_len = n->name_len;
	if (owner == NULL)
		owner = dns_zone_owner(r->z, n, set);
	else
		owner_len = r->owner_len;
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
		if (dns_resp_add(&q->resp, &q->arena, s, &rr) < 0) {
			q->resp.flags |= DNS_FLAG_TC;
			return;
		}
	}
}

void zoneserve_add_type(struct zoneserve_run *r, enum dns_section s, const struct dns_zone_node *n,
			uint16_t type, const uint8_t *owner)
{
	const struct dns_zone_set *set = dns_zone_set(r->z, n, type);
	if (set == NULL)
		return;
	zoneserve_add(r, s, n, set, owner);
	if (!r->dnssec)
		return;
	set = dns_zone_sigs(r->z, n, type);
	if (set != NULL)
		zoneserve_add(r, s, n, set, owner);
}

void zoneserve_add_apex(struct zoneserve_run *r, uint16_t type)
{
	zoneserve_add_type(r, DNS_AUTHORITY, dns_zone_node(r->z, 0), type, NULL);
}

/* ---- additional ---- */

struct seen {
	unsigned n;
	const struct dns_zone_node *node[TARGETS_MAX];
};

static bool seen_before(struct seen *seen, const struct dns_zone_node *n)
{
	for (unsigned i = 0; i < seen->n; i++) {
		if (seen->node[i] == n)
			return true;
	}
	if (seen->n == TARGETS_MAX)
		return true;
	seen->node[seen->n++] = n;
	return false;
}

static void add_addresses(struct zoneserve_run *r, struct seen *seen, const uint8_t *name,
			  const uint8_t *within)
{
	if (!dns_name_is_below(name, within))
		return;
	const struct dns_zone_node *n = dns_zone_find_name(r->z, name);
	if (n == NULL || seen_before(seen, n))
		return;
	zoneserve_add_type(r, DNS_ADDITIONAL, n, DNS_TYPE_A, NULL);
	zoneserve_add_type(r, DNS_ADDITIONAL, n, DNS_TYPE_AAAA, NULL);
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

void zoneserve_add_targets(struct zoneserve_run *r)
{
	struct seen seen = { 0 };
	const uint8_t *origin = dns_zone_origin(r->z);
	unsigned left = LOOK_MAX;
	DNS_RR_FOREACH(rr, &r->q->resp, DNS_ANSWER)
	{
		int at = target_at(rr->type);
		if (at < 0 || rr->rdlen <= at)
			continue;
		if (left-- == 0)
			return;
		add_addresses(r, &seen, rr->rdata + at, origin);
	}
}

void zoneserve_add_glue(struct zoneserve_run *r, const struct dns_zone_set *ns,
			const uint8_t *within)
{
	struct seen seen = { 0 };
	const uint8_t *p = dns_zone_data(r->z, ns);
	for (unsigned i = 0; i < MIN(ns->n, LOOK_MAX); i++, p += dns_zone_rr_bytes(p))
		add_addresses(r, &seen, p + DNS_ZONE_RR_HEAD, within);
}

/* ---- proofs ---- */

void zoneserve_prove_at(struct zoneserve_run *r, const struct dns_zone_node *n)
{
	if (!r->proofs || n == NULL)
		return;
	const uint8_t *name = dns_zone_name(r->z, n);
	DNS_RR_FOREACH(rr, &r->q->resp, DNS_AUTHORITY)
	{
		if (rr->type == DNS_TYPE_NSEC && rr->owner == name)
			return;
	}
	zoneserve_add_type(r, DNS_AUTHORITY, n, DNS_TYPE_NSEC, NULL);
}

void zoneserve_prove_before(struct zoneserve_run *r, const uint8_t *name)
{
	if (r->proofs)
		zoneserve_prove_at(r, dns_zone_nsec_before(r->z, name));
}

void zoneserve_prove_no_wildcard(struct zoneserve_run *r, const struct dns_zone_node *encloser)
{
	uint8_t name[DNS_NAME_MAX + 2] = { 1, '*' };
	if (!r->proofs || encloser->name_len + 2 > DNS_NAME_MAX)
		return; /* no wildcard fits below it */
	memcpy(name + 2, dns_zone_name(r->z, encloser), encloser->name_len);
	zoneserve_prove_before(r, name);
}
