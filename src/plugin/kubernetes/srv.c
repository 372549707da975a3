/* SPDX-License-Identifier: GPL-3.0-or-later */
/* SRV answers: one record for each port of each address, and the targets' A and AAAA records in
 * the additional section. Each record appears once. */
#include "plugin/kubernetes/srv.h"

#include <string.h>

#include "plugin/kubernetes/apex.h"
#include "plugin/kubernetes/find.h"
#include "plugin/kubernetes/kubernetes.h"
#include "plugin/kubernetes/name.h"
#include "plugin/kubernetes/reply.h"

enum { SRV_FIXED = 6, WEIGHT_ALL = 100 };

struct srv {
	const struct kubernetes_conf *c;
	struct query *q;
	const uint8_t *zone; /* in the letters of the question */
	const struct kubernetes_qparse *parsed;
	uint16_t weight;
	size_t n; /* hits */
	struct byteset seen[DNS_SECTIONS];
};

static bool count_hit(void *ctx, const struct kubernetes_hit *hit)
{
	struct srv *s = ctx;
	(void)hit;
	s->n++;
	return true;
}

/* Its length; 0 when it is no name. */
static size_t build_target(const struct srv *srv, const struct kubernetes_hit *hit,
			   uint8_t name[DNS_NAME_MAX])
{
	char label[DNS_LABEL_MAX + 1];
	struct kubernetes_name p = { .zone = srv->zone, .pod = hit->service == NULL };
	p.service = p.pod ? srv->parsed->service : slice_of(hit->service->o.name);
	p.ns = p.pod ? srv->parsed->ns : slice_of(hit->service->o.ns);
	if (hit->slice != NULL) {
		p.endpoint.p = label;
		p.endpoint.n = kubernetes_endpoint_label(srv->c, hit->slice, hit->endpoint, label);
		p.cluster = slice_of(hit->slice->cluster);
	}
	return kubernetes_name(&p, name);
}

/* A record once; false when there is no more room. */
static bool add_unique(struct srv *srv, enum dns_section section, const struct dns_rr *rr)
{
	uint8_t key[DNS_NAME_MAX + SRV_FIXED + DNS_NAME_MAX];
	size_t owner_n = section == DNS_ADDITIONAL ? rr->owner_len : 0;
	if (owner_n != 0)
		memcpy(key, rr->owner, owner_n);
	memcpy(key + owner_n, rr->rdata, rr->rdlen);
	const char *copy = arena_memdup(&srv->q->arena, key, owner_n + rr->rdlen);
	if (copy == NULL)
		return false;
	if (!byteset_add(&srv->seen[section], (struct slice){ copy, owner_n + rr->rdlen }))
		return !srv->seen[section].full;
	struct dns_rr kept = *rr;
	kept.rdata = (const uint8_t *)copy + owner_n;
	return dns_resp_add(&srv->q->resp, &srv->q->arena, section, &kept) == 0;
}

static bool add_hit(void *ctx, const struct kubernetes_hit *hit)
{
	struct srv *s = ctx;
	uint8_t rdata[SRV_FIXED + DNS_NAME_MAX];
	size_t n = hit->port != -1 ? build_target(s, hit, rdata + SRV_FIXED) : 0;
	size_t size = kube_ip_is4(hit->ip) ? 4 : 16;
	if (n == 0)
		return true;
	const uint8_t *target = arena_memdup(&s->q->arena, rdata + SRV_FIXED, n);
	dns_put16(rdata, 0);
	dns_put16(rdata + 2, s->weight);
	dns_put16(rdata + 4, (uint16_t)hit->port);
	struct dns_rr srv = { .owner = s->q->req.qname,
			      .owner_len = (uint8_t)s->q->qname.len,
			      .type = DNS_TYPE_SRV,
			      .cls = DNS_CLASS_IN,
			      .ttl = (uint32_t)s->c->ttl_s,
			      .rdata = rdata,
			      .rdlen = (uint16_t)(SRV_FIXED + n) };
	struct dns_rr address = { .owner = target,
				  .owner_len = (uint8_t)n,
				  .type = size == 4 ? DNS_TYPE_A : DNS_TYPE_AAAA,
				  .cls = DNS_CLASS_IN,
				  .ttl = (uint32_t)s->c->ttl_s,
				  .rdata = hit->ip->b + 16 - size,
				  .rdlen = (uint16_t)size };
	if (target != NULL && add_unique(s, DNS_ANSWER, &srv) &&
	    add_unique(s, DNS_ADDITIONAL, &address))
		return true;
	s->q->resp.flags |= DNS_FLAG_TC;
	return false;
}

enum verdict kubernetes_serve_srv(struct plugin_inst *self, struct query *q, size_t zone)
{
	const struct kubernetes_conf *c = self->conf;
	struct kubernetes_find f;
	struct srv s = { .c = c,
			 .q = q,
			 .zone = q->req.qname +
				 q->qname.label[q->qname.n_labels - c->zone_labels[zone]],
			 .parsed = &f.parsed,
			 .seen[DNS_ANSWER].arena = &q->arena,
			 .seen[DNS_ADDITIONAL].arena = &q->arena };
	enum kubernetes_found found = kubernetes_find(&f, c, &q->qname, zone, count_hit, &s);
	if (f.parsed.what == KUBERNETES_NS_HOST)
		return kubernetes_serve_ns_host(self, q, zone);
	if (found == KUBERNETES_NXDOMAIN)
		return kubernetes_no_name(self, q, zone);
	s.weight = (uint16_t)(s.n != 0 ? MAX(WEIGHT_ALL / s.n, 1) : WEIGHT_ALL);
	kubernetes_reply_open(q);
	if (s.n != 0 && kubernetes_find(&f, c, &q->qname, zone, add_hit, &s) == KUBERNETES_EXISTS &&
	    q->resp.count[DNS_ANSWER] != 0)
		return V_ANSWERED;
	return kubernetes_reply_soa(c, q, zone, DNS_RCODE_NOERROR);
}
