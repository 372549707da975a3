/* What Services have outside of the cluster, for `k8s_external`, in the order and with the
 * exceptions of CoreDNS's External: external addresses and load balancers' by SERVICE.NAMESPACE,
 * endpoints of headless Services where that is wanted. */
#include <string.h>

#include "plugin/kubernetes/conf.h"

enum { REFS_MAX = 64, LABELS_MAX = 4 };

/* What a name asks for; empty slices where nothing is said. */
struct wanted {
	struct slice ns, service, endpoint, port, protocol;
};

static struct slice label_at(const struct dns_qname *q, size_t i)
{
	const uint8_t *l = q->wire + q->label[i];
	return (struct slice){ (const char *)l + 1, l[0] };
}

static struct slice plain(struct slice s)
{
	return s.n != 0 && s.p[0] == '_' ? (struct slice){ s.p + 1, s.n - 1 } : s;
}

/* [endpoint | port.protocol .] service . namespace; false: no such name. */
static bool read_name(const struct dns_qname *q, size_t n, struct wanted *w)
{
	*w = (struct wanted){ 0 };
	if (n > LABELS_MAX)
		return false;
	w->ns = label_at(q, n - 1);
	if (n > 1)
		w->service = label_at(q, n - 2);
	if (n == 3)
		w->endpoint = plain(label_at(q, 0));
	if (n == LABELS_MAX) {
		w->port = plain(label_at(q, 0));
		w->protocol = plain(label_at(q, 1));
	}
	return true;
}

static bool fits(const struct wanted *w, const struct kube_port *p)
{
	return (w->port.n == 0 || slice_eq_nocase(slice_of(p->name), w->port)) &&
	       (w->protocol.n == 0 || slice_eq_nocase(slice_of(p->protocol), w->protocol));
}

static void give(struct external_ask *a, const struct external_hit *h, bool *on)
{
	a->rcode = DNS_RCODE_NOERROR;
	*on = a->each(a->ctx, h);
}

static void give_endpoints(const struct kubernetes_conf *c, const struct kubernetes_entry *e,
			   const struct kube_slice *s, const struct wanted *w,
			   struct external_ask *a, bool *on)
{
	for (uint32_t i = 0; i < s->n_endpoints && *on; i++) {
		char label[DNS_LABEL_MAX + 1];
		size_t n = kubernetes_endpoint_label(c, s, &s->endpoints[i], label);
		struct external_hit h = {
			.ip = s->endpoints[i].ip.b,
			.label = { { label, n },
				   slice_of(e->service->o.name),
				   slice_of(e->service->o.ns) },
			.n_labels = 3,
		};
		if (w->endpoint.n != 0 && !slice_eq_nocase(h.label[0], w->endpoint))
			continue;
		for (uint32_t k = 0; k < s->n_ports && *on; k++) {
			h.port = s->ports[k].port;
			if (fits(w, &s->ports[k]))
				give(a, &h, on);
		}
	}
}

static void give_externals(const struct kube_service *s, const struct wanted *w,
			   struct external_ask *a, bool *on)
{
	for (uint32_t i = 0; i < s->n_external && *on; i++) {
		struct kube_ip ip;
		bool is_ip = kube_ip_parse(slice_of(s->external[i]), &ip) == 0;
		struct external_hit h = { .ip = is_ip ? ip.b : NULL,
					  .host = is_ip ? NULL : s->external[i],
					  .label = { slice_of(s->o.name), slice_of(s->o.ns) },
					  .n_labels = 2 };
		for (uint32_t k = 0; k < s->n_ports && *on; k++) {
			h.port = s->ports[k].port;
			if (fits(w, &s->ports[k]))
				give(a, &h, on);
		}
	}
}

static void find(const struct kubernetes_conf *c, const struct wanted *w, struct external_ask *a)
{
	const struct kubernetes_entry *e = kubernetes_index_find(c->index, w->ns, w->service);
	const struct kube_service *s = e != NULL ? e->service : NULL;
	bool on = true;
	if (s == NULL)
		return;
	if (!a->headless || s->n_external != 0 || (!s->headless && w->endpoint.n == 0)) {
		give_externals(s, w, a, &on);
		return;
	}
	for (uint32_t i = 0; i < e->n_slices && on; i++)
		give_endpoints(c, e, e->slices[i], w, a, &on);
}

/* ---- addresses of this server ---- */

static void give_server(const struct kubernetes_conf *c, const struct kube_slice *slice,
			struct external_ask *a, bool *on)
{
	const struct kubernetes_entry *e =
		kubernetes_index_find(c->index, slice_of(slice->o.ns), slice_of(slice->service));
	const struct kube_service *s = e != NULL ? e->service : NULL;
	if (s == NULL)
		return;
	bool endpoints = a->headless && s->headless;
	uint32_t n = endpoints ? slice->n_endpoints : s->n_external_ips;
	for (uint32_t i = 0; i < n && *on; i++)
		give(a,
		     &(struct external_hit){ .ip = endpoints ? slice->endpoints[i].ip.b
							     : s->external_ips[i].b },
		     on);
}

/* Of the Services whose endpoint we are; when we are none's, our own. */
static void servers(const struct kubernetes_conf *c, struct external_ask *a)
{
	bool found = false, on = true;
	for (size_t i = 0; i < c->n_local && on; i++) {
		struct kubernetes_endpoint_ref refs[REFS_MAX];
		size_t n =
			kubernetes_index_endpoints(c->index, &c->local[i], refs, ARRAY_LEN(refs));
		found = found || n != 0;
		for (size_t k = 0; k < MIN(n, ARRAY_LEN(refs)) && on; k++)
			give_server(c, refs[k].slice, a, &on);
	}
	for (size_t i = 0; !found && i < c->n_local && on; i++)
		give(a, &(struct external_hit){ .ip = c->local[i].b }, &on);
}

/* ---- from addresses back to names ---- */

static void reverse(const struct kubernetes_conf *c, const struct kube_ip *ip,
		    struct external_ask *a)
{
	const struct kube_service *found[REFS_MAX];
	size_t n = kubernetes_index_by_external_ip(c->index, ip, found, ARRAY_LEN(found));
	bool on = true;
	for (size_t i = 0; i < MIN(n, ARRAY_LEN(found)) && on; i++) {
		const struct kube_service *s = found[i];
		if (c->namespaces.n != 0 && !kubernetes_exposed(c, slice_of(s->o.ns)))
			continue;
		give(a,
		     &(struct external_hit){ .ip = ip->b,
					     .label = { slice_of(s->o.name), slice_of(s->o.ns) },
					     .n_labels = 2 },
		     &on);
	}
}

static bool nothing(void *ctx, const struct external_hit *h)
{
	(void)ctx;
	(void)h;
	return false;
}

void kubernetes_external(struct plugin_inst *self, struct query *q, struct external_ask *a)
{
	const struct kubernetes_conf *c = self->conf;
	struct kube_ip ip;
	struct wanted w;
	a->serial = kubernetes_index_serial(c->index);
	a->ttl_s = (uint32_t)c->ttl_s;
	a->rcode = DNS_RCODE_NXDOMAIN;
	if (a->servers) {
		servers(c, a);
		return;
	}
	if (q->req.qtype == DNS_TYPE_PTR) {
		if (kubernetes_reverse_ip(&q->qname, &ip)) {
			reverse(c, &ip, a);
			return;
		}
		a->each = nothing; /* only whether the name is there */
	}
	if (!read_name(&q->qname, q->qname.n_labels - a->zone_labels, &w) ||
	    !kubernetes_exposed(c, w.ns))
		return;
	if (w.service.n == 0)
		a->rcode = DNS_RCODE_NOERROR;
	else
		find(c, &w, a);
}
