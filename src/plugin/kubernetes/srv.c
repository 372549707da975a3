/* SRV answers: a record for every port of every address, their addresses beside them. */
#include <string.h>

#include "plugin/kubernetes/conf.h"

enum { SRV_FIXED = 6, WEIGHT_ALL = 100 };

struct srv {
	const struct kubernetes_conf *c;
	struct query *q;
	const uint8_t *zone; /* in the letters of the question */
	const struct kubernetes_qparse *parsed;
	uint16_t weight;
	size_t n; /* hits */
};

static bool count(void *ctx, const struct kubernetes_hit *h)
{
	struct srv *s = ctx;
	(void)h;
	s->n++;
	return true;
}

static size_t put_label(uint8_t *out, struct slice text)
{
	out[0] = (uint8_t)text.n;
	memcpy(out + 1, text.p, text.n);
	return 1 + text.n;
}

/* [endpoint.]service.namespace.(svc|pod).ZONE; NULL: no room, or too long to be a name. */
static const uint8_t *target_of(const struct srv *s, const struct kubernetes_hit *h)
{
	uint8_t name[5 * (DNS_LABEL_MAX + 1) + DNS_NAME_MAX];
	char label[DNS_LABEL_MAX + 1];
	size_t n = 0, zone_n = dns_name_len(s->zone);
	bool pod = h->service == NULL;
	struct slice service = pod ? s->parsed->service : slice_of(h->service->o.name);
	struct slice ns = pod ? s->parsed->ns : slice_of(h->service->o.ns);
	if (service.n > DNS_LABEL_MAX || ns.n > DNS_LABEL_MAX)
		return NULL;
	if (h->slice != NULL) {
		size_t k = kubernetes_endpoint_label(s->c, h->slice, h->endpoint, label);
		n = put_label(name, (struct slice){ label, k });
	}
	n += put_label(name + n, service);
	n += put_label(name + n, ns);
	n += put_label(name + n, slice_of(pod ? "pod" : "svc"));
	if (n + zone_n > DNS_NAME_MAX)
		return NULL;
	memcpy(name + n, s->zone, zone_n);
	return arena_memdup(&s->q->arena, name, n + zone_n);
}

static bool has_record(const struct dns_resp *r, enum dns_section section, const uint8_t *owner,
		       const void *rdata, size_t n)
{
	DNS_RR_FOREACH(rr, r, section)
	{
		if (rr->rdlen == n && memcmp(rr->rdata, rdata, n) == 0 &&
		    (owner == NULL || dns_name_eq_case(rr->owner, owner)))
			return true;
	}
	return false;
}

static bool add_hit(void *ctx, const struct kubernetes_hit *h)
{
	struct srv *s = ctx;
	const struct kubernetes_conf *c = s->c;
	uint8_t rdata[SRV_FIXED + DNS_NAME_MAX];
	if (h->port == -1)
		return true;
	const uint8_t *target = target_of(s, h);
	if (target == NULL) {
		s->q->resp.flags |= DNS_FLAG_TC;
		return false;
	}
	size_t n = dns_name_len(target), v4 = kube_ip_is4(h->ip);
	dns_put16(rdata, 0);
	dns_put16(rdata + 2, s->weight);
	dns_put16(rdata + 4, (uint16_t)h->port);
	memcpy(rdata + SRV_FIXED, target, n);
	struct dns_resp *r = &s->q->resp;
	if (!has_record(r, DNS_ANSWER, NULL, rdata, SRV_FIXED + n) &&
	    !kubernetes_reply_add(c, s->q, DNS_ANSWER, s->q->req.qname, DNS_TYPE_SRV, rdata,
				  SRV_FIXED + n))
		return false;
	size_t size = v4 ? 4 : 16;
	const uint8_t *ip = h->ip->b + 16 - size;
	return has_record(r, DNS_ADDITIONAL, target, ip, size) ||
	       kubernetes_reply_add(c, s->q, DNS_ADDITIONAL, target,
				    v4 ? DNS_TYPE_A : DNS_TYPE_AAAA, ip, size);
}

enum verdict kubernetes_serve_srv(struct plugin_inst *self, struct query *q, size_t zone)
{
	const struct kubernetes_conf *c = self->conf;
	struct kubernetes_find f;
	struct srv s = { .c = c,
			 .q = q,
			 .zone = q->req.qname +
				 q->qname.label[q->qname.n_labels - c->zone_labels[zone]],
			 .parsed = &f.parsed };
	enum kubernetes_found found = kubernetes_find(&f, c, &q->qname, zone, count, &s);
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
