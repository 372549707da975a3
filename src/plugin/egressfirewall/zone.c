/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Serves the zone of learnt addresses to those who have a key: SOA, AXFR and IXFR. */
#include "plugin/egressfirewall/zone.h"

#include "base/clock.h"
#include "base/err.h"
#include "plugin/egressfirewall/journal.h"
#include "plugin/egressfirewall/keys.h"
#include "plugin/shared/zonecopy.h"
#include "plugin/shared/zonenotify.h"

/* ---- copies ---- */

static struct egressfirewall_store *store_of(const struct plugin_inst *inst)
{
	return ((const struct egressfirewall_conf *)inst->conf)->store;
}

static struct zone_copy *copy_zone(struct plugin_inst *inst, const uint8_t *zone)
{
	(void)zone;
	return egressfirewall_store_copy(store_of(inst));
}

static struct zone_copy *copy_changes(struct plugin_inst *inst, const uint8_t *zone,
				      uint32_t serial)
{
	(void)zone;
	return egressfirewall_store_changes(store_of(inst), serial);
}

const struct zonecopier_source egressfirewall_zone_source = { .copy = copy_zone,
							      .changes = copy_changes };

void egressfirewall_zone_changed(void *ctx)
{
	zonenotify_rounds_send(ctx);
}

struct zonenotify_rounds *egressfirewall_zone_rounds(const struct egressfirewall_conf *conf)
{
	return zonenotify_rounds_new(&(struct zonenotify){ .zone = dns_learnt_zone,
							   .zone_text = DNS_LEARNT_ZONE,
							   .area = EGRESSFIREWALL_AREA,
							   .to = conf->notify,
							   .n_to = conf->n_notify });
}

/* ---- who asks ---- */

/* V_NEXT: the request is signed with one of the keys, and its replies will be. */
static enum verdict check_signature(struct plugin_inst *self, struct query *q)
{
	const struct egressfirewall_conf *c = self->conf;
	struct egressfirewall_state *s = c->keyfile != NULL ? query_state(q, self) : NULL;
	if (s == NULL)
		return query_fail(q, DNS_RCODE_REFUSED, NULL);
	s->keys = egressfirewall_keyfile_hold(c->keyfile);
	struct dns_tsig_report report =
		dns_tsig_verify_request(&s->tsig, s->keys->v, s->keys->n, q->req.msg, q->req.len,
					clock_wall_ns() / NS_PER_S);
	switch (report.result) {
	case DNS_TSIG_OK:
		q->tsig = &s->tsig;
		return V_NEXT;
	case DNS_TSIG_BADKEY:
	case DNS_TSIG_BADSIG:
	case DNS_TSIG_BADTIME:
	case DNS_TSIG_BADTRUNC:
		q->tsig = &s->tsig; /* it knows which error to report, signed or not */
		return query_fail(q, DNS_RCODE_NOTAUTH, NULL);
	case DNS_TSIG_MALFORMED:
		return query_fail(q, DNS_RCODE_FORMERR, NULL);
	case DNS_TSIG_PENDING:
	case DNS_TSIG_UNSIGNED:
	case DNS_TSIG_REJECTED:
		break;
	}
	return query_fail(q, DNS_RCODE_REFUSED, NULL);
}

/* ---- answers ---- */

static int add_record(struct query *q, const struct dns_rr *rr)
{
	struct dns_rr kept = *rr;
	kept.owner = arena_memdup(&q->arena, rr->owner, rr->owner_len);
	kept.rdata = arena_memdup(&q->arena, rr->rdata, rr->rdlen);
	if (kept.owner == NULL || kept.rdata == NULL)
		return ERR_SPACE;
	return dns_resp_add(&q->resp, &q->arena, DNS_ANSWER, &kept);
}

/* Also to IXFR over UDP, which a client then repeats over TCP (RFC 1995 section 2). */
static enum verdict answer_soa(struct plugin_inst *self, struct query *q)
{
	struct zone_copy *copy =
		egressfirewall_zone_copy_new(egressfirewall_store_serial(store_of(self)));
	struct dns_rr rr;
	int r = copy->next(copy, &rr);
	query_reply(q);
	q->resp.flags |= DNS_FLAG_AA;
	if (r > 0)
		r = add_record(q, &rr);
	copy->free(copy);
	return r < 0 ? query_fail(q, DNS_RCODE_SERVFAIL, "out of query memory") : V_ANSWERED;
}

enum verdict egressfirewall_zone_serve(struct plugin_inst *self, struct query *q)
{
	const struct egressfirewall_conf *c = self->conf;
	if (q->is_sub || q->req.opcode != DNS_OPCODE_QUERY)
		return query_fail(q, DNS_RCODE_REFUSED, NULL);
	enum verdict verdict = check_signature(self, q);
	if (verdict != V_NEXT)
		return verdict;
	bool is_apex = q->qname.len == sizeof(dns_learnt_zone);
	bool is_transfer = q->req.qtype == DNS_TYPE_AXFR || q->req.qtype == DNS_TYPE_IXFR;
	if (is_apex && is_transfer && q->proto == QUERY_TCP)
		return zonesender_start(c->sender, self, q, self);
	if (is_apex && (q->req.qtype == DNS_TYPE_SOA || q->req.qtype == DNS_TYPE_IXFR))
		return answer_soa(self, q);
	return query_fail(q, DNS_RCODE_REFUSED, NULL);
}

void egressfirewall_zone_done(struct plugin_inst *self, struct query *q)
{
	struct egressfirewall_state *s = query_state_get(q, self);
	if (s == NULL)
		return;
	zonesender_done(self, q);
	dns_tsig_done(&s->tsig);
	egressfirewall_keys_put(s->keys);
	s->keys = NULL;
	q->tsig = NULL;
}
