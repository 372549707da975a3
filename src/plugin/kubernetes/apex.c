/* The zone's own name servers: the Services whose endpoints we are, or ns.dns.ZONE with our own
 * addresses. */
#include <string.h>

#include "plugin/kubernetes/conf.h"

enum { REFS_MAX = 64 };

/* Called with each name (NULL: ns.dns.ZONE) and address. */
typedef bool (*host_fn)(void *ctx, const struct kube_service *s, const struct kube_slice *slice,
			const struct kube_endpoint *e, const struct kube_ip *ip);

static bool each_of_slice(const struct kubernetes_conf *c, const struct kube_slice *slice,
			  host_fn fn, void *ctx)
{
	const struct kubernetes_entry *e =
		kubernetes_index_find(c->index, slice_of(slice->o.ns), slice_of(slice->service));
	const struct kube_service *s = e != NULL ? e->service : NULL;
	bool on = true;
	if (s == NULL)
		return true;
	for (uint32_t i = 0; on && s->headless && i < slice->n_endpoints; i++)
		on = fn(ctx, s, slice, &slice->endpoints[i], &slice->endpoints[i].ip);
	for (uint32_t i = 0; on && i < s->n_ips; i++)
		on = fn(ctx, s, NULL, NULL, &s->ips[i]);
	return on;
}

static void each_host(const struct kubernetes_conf *c, host_fn fn, void *ctx)
{
	bool found = false, on = true;
	for (size_t i = 0; i < c->n_local && on; i++) {
		struct kubernetes_endpoint_ref refs[REFS_MAX];
		size_t n =
			kubernetes_index_endpoints(c->index, &c->local[i], refs, ARRAY_LEN(refs));
		for (size_t k = 0; k < MIN(n, ARRAY_LEN(refs)) && on; k++) {
			found = true;
			on = each_of_slice(c, refs[k].slice, fn, ctx);
		}
	}
	for (size_t i = 0; !found && on && i < c->n_local; i++)
		on = fn(ctx, NULL, NULL, NULL, &c->local[i]);
}

/* ---- ns.dns.ZONE ---- */

static bool add_address(void *ctx, const struct kube_service *s, const struct kube_slice *slice,
			const struct kube_endpoint *e, const struct kube_ip *ip)
{
	(void)s;
	(void)slice;
	(void)e;
	kubernetes_addrs_add(ctx, ip);
	return true;
}

static const uint8_t *zone_of(const struct kubernetes_conf *c, const struct query *q, size_t zone)
{
	return q->req.qname + q->qname.label[q->qname.n_labels - c->zone_labels[zone]];
}

/* As in CoreDNS only the zone in lower-case letters has these. */
static bool has_own_letters(const struct kubernetes_conf *c, const struct query *q, size_t zone)
{
	return dns_name_eq_case(zone_of(c, q, zone), c->zones.wire[zone]);
}

enum verdict kubernetes_serve_ns_host(struct plugin_inst *self, struct query *q, size_t zone)
{
	const struct kubernetes_conf *c = self->conf;
	struct kubernetes_addrs a;
	uint16_t type = q->req.qtype;
	if (!has_own_letters(c, q, zone) || type == DNS_TYPE_TXT || type == DNS_TYPE_PTR)
		return kubernetes_no_name(self, q, zone);
	kubernetes_addrs_init(&a, q, type);
	if (type == DNS_TYPE_A || type == DNS_TYPE_AAAA)
		each_host(c, add_address, &a);
	return a.n != 0 ? kubernetes_addrs_reply(c, q, &a)
			: kubernetes_reply_soa(c, q, zone, DNS_RCODE_NOERROR);
}

/* ---- NS ---- */

struct ns {
	const struct kubernetes_conf *c;
	struct query *q;
	const uint8_t *zone;
};

static size_t add_label(uint8_t *out, size_t n, const char *text, size_t len)
{
	out[n] = (uint8_t)len;
	memcpy(out + n + 1, text, len);
	return n + 1 + len;
}

static const uint8_t *host_name(const struct ns *x, const struct kube_service *s,
				const struct kube_slice *slice, const struct kube_endpoint *e)
{
	uint8_t name[5 * (DNS_LABEL_MAX + 1) + DNS_NAME_MAX];
	char label[DNS_LABEL_MAX + 1];
	size_t n = 0, zone_n = dns_name_len(x->zone);
	if (s == NULL) {
		n = add_label(name, add_label(name, 0, "ns", 2), "dns", 3);
	} else {
		size_t name_n = strlen(s->o.name), ns_n = strlen(s->o.ns);
		if (name_n > DNS_LABEL_MAX || ns_n > DNS_LABEL_MAX)
			return NULL;
		if (slice != NULL)
			n = add_label(name, n, label,
				      kubernetes_endpoint_label(x->c, slice, e, label));
		n = add_label(name, n, s->o.name, name_n);
		n = add_label(name, n, s->o.ns, ns_n);
		n = add_label(name, n, "svc", 3);
	}
	if (n + zone_n > DNS_NAME_MAX)
		return NULL;
	memcpy(name + n, x->zone, zone_n);
	return arena_memdup(&x->q->arena, name, n + zone_n);
}

static bool add_ns(void *ctx, const struct kube_service *s, const struct kube_slice *slice,
		   const struct kube_endpoint *e, const struct kube_ip *ip)
{
	const struct ns *x = ctx;
	const uint8_t *name = host_name(x, s, slice, e);
	bool seen = false;
	if (name == NULL)
		return true;
	size_t size = kube_ip_is4(ip) ? 4 : 16;
	if (!kubernetes_reply_add(x->c, x->q, DNS_ADDITIONAL, name,
				  size == 4 ? DNS_TYPE_A : DNS_TYPE_AAAA, ip->b + 16 - size, size))
		return false;
	DNS_RR_FOREACH(rr, &x->q->resp, DNS_ANSWER)
	seen = seen || dns_name_eq_case(rr->rdata, name);
	return seen || kubernetes_reply_add(x->c, x->q, DNS_ANSWER, x->q->req.qname, DNS_TYPE_NS,
					    name, dns_name_len(name));
}

enum verdict kubernetes_serve_ns(struct plugin_inst *self, struct query *q, size_t zone)
{
	const struct kubernetes_conf *c = self->conf;
	struct ns x = { .c = c, .q = q, .zone = zone_of(c, q, zone) };
	kubernetes_reply_open(q);
	if (has_own_letters(c, q, zone))
		each_host(c, add_ns, &x);
	return q->resp.count[DNS_ANSWER] != 0 ? V_ANSWERED
					      : kubernetes_reply_soa(c, q, zone, DNS_RCODE_NOERROR);
}
