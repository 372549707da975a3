/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ExternalName Services: a CNAME record, and what lies behind it. Names of the same zone are
 * followed here, others are asked of the whole server. */
#include "plugin/kubernetes/external_name.h"

#include <string.h>

#include "base/err.h"
#include "dns/rrwalk.h"
#include "plugin/kubernetes/addr.h"
#include "plugin/kubernetes/apex.h"
#include "plugin/kubernetes/find.h"
#include "plugin/kubernetes/reply.h"
#include "server/subquery.h"

static void reply_chain(const struct kubernetes_conf *conf, struct query *q,
			const struct kubernetes_chain *st)
{
	kubernetes_reply_open(q);
	for (size_t i = 0; i < st->n; i++)
		kubernetes_reply_add(conf, q, DNS_ANSWER, st->owner[i], DNS_TYPE_CNAME,
				     st->target[i], dns_name_len(st->target[i]));
}

static bool collect_address(void *ctx, const struct kubernetes_hit *hit)
{
	kubernetes_addrs_add(ctx, hit->ip);
	return true;
}

static bool is_known(const struct kubernetes_chain *st, const uint8_t *target)
{
	for (size_t i = 0; i < st->n; i++) {
		if (dns_name_eq(st->target[i], target))
			return true;
	}
	return false;
}

/* One more record; false when it leads nowhere new, which ends the chain. */
static bool add_link(struct kubernetes_chain *st, struct query *q, const uint8_t *owner,
		     const struct kube_service *service)
{
	uint8_t wire[DNS_NAME_MAX];
	int n = dns_name_from_text(slice_of(service->external_name), wire);
	if (n < 0 || st->n == KUBERNETES_CHAIN_MAX || dns_name_is_below(wire, owner) ||
	    is_known(st, wire))
		return false;
	const uint8_t *copy = arena_memdup(&q->arena, wire, (size_t)n);
	if (copy == NULL)
		return false;
	st->owner[st->n] = owner;
	st->target[st->n++] = copy;
	return true;
}

static enum verdict no_data(const struct kubernetes_conf *conf, struct query *q, size_t zone)
{
	return kubernetes_reply_soa(conf, q, zone, DNS_RCODE_NOERROR);
}

static enum verdict follow_outside(struct plugin_inst *self, struct query *q, size_t zone,
				   const uint8_t *target)
{
	if (query_sub(q, self, SUB_SERVER, target, q->req.qtype) < 0)
		return no_data(self->conf, q, zone);
	return V_WAIT;
}

/* Follows the chain as long as it stays in the zone. */
static enum verdict follow_chain(struct plugin_inst *self, struct query *q, size_t zone,
				 struct kubernetes_chain *st)
{
	const struct kubernetes_conf *c = self->conf;
	for (;;) {
		const uint8_t *target = st->target[st->n - 1];
		struct dns_qname name;
		struct kubernetes_find f;
		struct kubernetes_addrs a;
		if (!dns_name_is_below(target, c->zones.wire[zone]))
			return follow_outside(self, q, zone, target);
		dns_qname_set(&name, target);
		kubernetes_addrs_init(&a, q, q->req.qtype);
		enum kubernetes_found found =
			kubernetes_find(&f, c, &name, zone, collect_address, &a);
		if (f.parsed.what == KUBERNETES_NS_HOST)
			kubernetes_ns_addrs(c, q, zone, &a);
		else if (found == KUBERNETES_NXDOMAIN)
			return no_data(c, q, zone);
		if (f.external == NULL && a.set.n == 0)
			return no_data(c, q, zone);
		if (f.external == NULL) {
			reply_chain(c, q, st);
			kubernetes_addrs_append(c, q, &a, target);
			return V_ANSWERED;
		}
		if (!add_link(st, q, target, f.external))
			return no_data(c, q, zone);
	}
}

enum verdict kubernetes_serve_external(struct plugin_inst *self, struct query *q, size_t zone,
				       const struct kube_service *service)
{
	struct kubernetes_chain *st = query_state(q, self);
	uint16_t type = q->req.qtype;
	if (type != DNS_TYPE_A && type != DNS_TYPE_AAAA && type != DNS_TYPE_CNAME)
		return no_data(self->conf, q, zone);
	if (st == NULL)
		return query_fail(q, DNS_RCODE_SERVFAIL, "out of query memory");
	st->n = 0;
	if (type == DNS_TYPE_CNAME) {
		uint8_t wire[DNS_NAME_MAX];
		int n = dns_name_from_text(slice_of(service->external_name), wire);
		if (n < 0)
			return query_failf(q, DNS_RCODE_SERVFAIL, "'%s' is not a name",
					   service->external_name);
		kubernetes_reply_open(q);
		kubernetes_reply_add(self->conf, q, DNS_ANSWER, q->req.qname, DNS_TYPE_CNAME, wire,
				     (size_t)n);
		return V_ANSWERED;
	}
	if (!add_link(st, q, q->req.qname, service))
		return no_data(self->conf, q, zone);
	return follow_chain(self, q, zone, st);
}

/* The server has answered for the target: its answers follow ours, whatever its code. */
enum verdict kubernetes_resume_external(struct plugin_inst *self, struct query *q)
{
	const struct kubernetes_conf *c = self->conf;
	const struct kubernetes_chain *st = query_state_get(q, self);
	struct dns_resp *sub = &q->sub->resp;
	int zone = zone_list_match(&c->zones, &q->qname);
	if (q->sub->outcome != V_ANSWERED && q->sub->outcome != V_FAIL)
		return no_data(c, q, (size_t)zone);
	reply_chain(c, q, st);
	if (q->sub->outcome == V_FAIL)
		return V_ANSWERED;
	q->resp.flags |= sub->flags & DNS_FLAG_TC;
	if (dns_resp_thaw(sub, &q->arena) < 0) {
		q->resp.flags |= DNS_FLAG_TC;
		return V_ANSWERED;
	}
	DNS_RR_FOREACH(rr, sub, DNS_ANSWER)
	{
		if (dns_resp_add(&q->resp, &q->arena, DNS_ANSWER, rr) < 0) {
			q->resp.flags |= DNS_FLAG_TC;
			break;
		}
	}
	return V_ANSWERED;
}
