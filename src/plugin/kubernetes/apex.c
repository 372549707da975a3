/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The zone's own name servers: the Services whose endpoints we are, or ns.dns.ZONE with our own
 * addresses. */
#include "plugin/kubernetes/apex.h"

#include <string.h>

#include "plugin/kubernetes/addr.h"
#include "plugin/kubernetes/find.h"
#include "plugin/kubernetes/kubernetes.h"
#include "plugin/kubernetes/name.h"
#include "plugin/kubernetes/reply.h"

enum { REFS_MAX = 64 };

static bool each_of_slice(const struct kubernetes_conf *conf, const struct kube_slice *slice,
			  kubernetes_host_fn fn, void *ctx)
{
	const struct kubernetes_entry *e =
		kubernetes_index_find(conf->index, slice_of(slice->o.ns), slice_of(slice->service));
	const struct kube_service *s = e != NULL ? e->service : NULL;
	bool on = true;
	if (s == NULL)
		return true;
	for (uint32_t i = 0; on && s->headless && i < slice->n_endpoints; i++)
		on = fn(ctx, &(struct kubernetes_host){ s, slice, &slice->endpoints[i],
							&slice->endpoints[i].ip });
	for (uint32_t i = 0; on && i < s->n_ips; i++)
		on = fn(ctx, &(struct kubernetes_host){ s, NULL, NULL, &s->ips[i] });
	return on;
}

void kubernetes_each_host(const struct kubernetes_conf *conf, kubernetes_host_fn fn, void *ctx)
{
	bool found = false, on = true;
	for (size_t i = 0; i < conf->n_local && on; i++) {
		struct kubernetes_endpoint_ref refs[REFS_MAX];
		size_t n = kubernetes_index_endpoints(conf->index, &conf->local[i], refs,
						      ARRAY_LEN(refs));
		for (size_t k = 0; k < MIN(n, ARRAY_LEN(refs)) && on; k++) {
			found = true;
			on = each_of_slice(conf, refs[k].slice, fn, ctx);
		}
	}
	for (size_t i = 0; !found && on && i < conf->n_local; i++)
		on = fn(ctx, &(struct kubernetes_host){ .ip = &conf->local[i] });
}

/* ---- ns.dns.ZONE ---- */

static bool add_address(void *ctx, const struct kubernetes_host *host)
{
	kubernetes_addrs_add(ctx, host->ip);
	return true;
}

static const uint8_t *zone_of(const struct kubernetes_conf *conf, const struct query *q,
			      size_t zone)
{
	return q->req.qname + q->qname.label[q->qname.n_labels - conf->zone_labels[zone]];
}

/* As in CoreDNS only the zone in lower-case letters has these. */
static bool has_own_letters(const struct kubernetes_conf *conf, const struct query *q, size_t zone)
{
	return dns_name_eq_case(zone_of(conf, q, zone), conf->zones.wire[zone]);
}

/* Nor has the root. */
bool kubernetes_ns_addrs(const struct kubernetes_conf *conf, const struct query *q, size_t zone,
			 struct kubernetes_addrs *addrs)
{
	if (conf->zone_labels[zone] == 0 || !has_own_letters(conf, q, zone))
		return false;
	if (addrs->type == DNS_TYPE_A || addrs->type == DNS_TYPE_AAAA)
		kubernetes_each_host(conf, add_address, addrs);
	return true;
}

enum verdict kubernetes_serve_ns_host(struct plugin_inst *self, struct query *q, size_t zone)
{
	const struct kubernetes_conf *c = self->conf;
	struct kubernetes_addrs a;
	uint16_t type = q->req.qtype;
	kubernetes_addrs_init(&a, q, type);
	if (type == DNS_TYPE_TXT || type == DNS_TYPE_PTR || !kubernetes_ns_addrs(c, q, zone, &a))
		return kubernetes_no_name(self, q, zone);
	return a.set.n != 0 ? kubernetes_addrs_reply(c, q, &a)
			    : kubernetes_reply_soa(c, q, zone, DNS_RCODE_NOERROR);
}

/* ---- NS ---- */

struct ns {
	const struct kubernetes_conf *c;
	struct query *q;
	const uint8_t *zone;
};

/* ns.dns.ZONE */
static size_t default_name(const uint8_t *zone, uint8_t out[DNS_NAME_MAX])
{
	static const uint8_t front[] = "\2ns\3dns";
	size_t n = sizeof(front) - 1, zone_n = dns_name_len(zone);
	if (n + zone_n > DNS_NAME_MAX)
		return 0;
	memcpy(out, front, n);
	memcpy(out + n, zone, zone_n);
	return n + zone_n;
}

size_t kubernetes_host_name(const struct kubernetes_conf *conf, const struct kubernetes_host *host,
			    const uint8_t *zone, uint8_t out[DNS_NAME_MAX])
{
	char label[DNS_LABEL_MAX + 1];
	if (host->service == NULL)
		return default_name(zone, out);
	struct kubernetes_name parts = { .service = slice_of(host->service->o.name),
					 .ns = slice_of(host->service->o.ns),
					 .zone = zone };
	if (host->slice != NULL) {
		parts.endpoint.p = label;
		parts.endpoint.n =
			kubernetes_endpoint_label(conf, host->slice, host->endpoint, label);
	}
	return kubernetes_name(&parts, out);
}

static bool add_ns(void *ctx, const struct kubernetes_host *host)
{
	const struct ns *x = ctx;
	uint8_t made[DNS_NAME_MAX];
	size_t n = kubernetes_host_name(x->c, host, x->zone, made);
	const uint8_t *name = n != 0 ? arena_memdup(&x->q->arena, made, n) : NULL;
	bool seen = false;
	if (name == NULL)
		return true;
	size_t size = kube_ip_is4(host->ip) ? 4 : 16;
	if (!kubernetes_reply_add(x->c, x->q, DNS_ADDITIONAL, name,
				  size == 4 ? DNS_TYPE_A : DNS_TYPE_AAAA, host->ip->b + 16 - size,
				  size))
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
		kubernetes_each_host(c, add_ns, &x);
	return q->resp.count[DNS_ANSWER] != 0 ? V_ANSWERED
					      : kubernetes_reply_soa(c, q, zone, DNS_RCODE_NOERROR);
}
