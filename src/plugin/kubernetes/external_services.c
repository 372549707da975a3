/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finds Services for the plugin `k8s_external`: by name, their external IPs and load balancer
 * addresses or the endpoints of headless Services; by address, their names (PTR); and the
 * addresses of this name server. Order and exceptions are those of CoreDNS's External. */
#include "plugin/kubernetes/external_services.h"

#include <string.h>

#include "plugin/kubernetes/find.h"
#include "plugin/kubernetes/reverse.h"
#include "plugin/shared/external.h"

enum { REFS_MAX = 64, LABELS_MAX = 4 };

/* What a name asks for; parts it does not have are empty. */
struct wanted {
	struct slice ns, service, endpoint, port, protocol;
};

static struct slice label_at(const struct dns_qname *qname, size_t index)
{
	const uint8_t *l = qname->wire + qname->label[index];
	return (struct slice){ (const char *)l + 1, l[0] };
}

static struct slice without_underscore(struct slice text)
{
	return text.n != 0 && text.p[0] == '_' ? (struct slice){ text.p + 1, text.n - 1 } : text;
}

/* [endpoint | port.protocol .] service . namespace; false: no such name. */
static bool parse_name(const struct dns_qname *qname, size_t count, struct wanted *wanted)
{
	*wanted = (struct wanted){ 0 };
	if (count > LABELS_MAX)
		return false;
	wanted->ns = label_at(qname, count - 1);
	if (count > 1)
		wanted->service = label_at(qname, count - 2);
	if (count == 3)
		wanted->endpoint = without_underscore(label_at(qname, 0));
	if (count == LABELS_MAX) {
		wanted->port = without_underscore(label_at(qname, 0));
		wanted->protocol = without_underscore(label_at(qname, 1));
	}
	return true;
}

static bool matches_port(const struct wanted *wanted, const struct kube_port *port)
{
	return (wanted->port.n == 0 || slice_eq_nocase(slice_of(port->name), wanted->port)) &&
	       (wanted->protocol.n == 0 ||
		slice_eq_nocase(slice_of(port->protocol), wanted->protocol));
}

static void report_hit(struct external_ask *ask, const struct external_hit *hit, bool *more)
{
	ask->rcode = DNS_RCODE_NOERROR;
	*more = ask->each(ask->ctx, hit);
}

static void report_endpoints(const struct kubernetes_conf *conf,
			     const struct kubernetes_entry *entry, const struct kube_slice *slice,
			     const struct wanted *wanted, struct external_ask *ask, bool *more)
{
	for (uint32_t i = 0; i < slice->n_endpoints && *more; i++) {
		char label[DNS_LABEL_MAX + 1];
		size_t n = kubernetes_endpoint_label(conf, slice, &slice->endpoints[i], label);
		struct external_hit h = {
			.ip = slice->endpoints[i].ip.b,
			.label = { { label, n },
				   slice_of(entry->service->o.name),
				   slice_of(entry->service->o.ns) },
			.n_labels = 3,
		};
		if (wanted->endpoint.n != 0 && !slice_eq_nocase(h.label[0], wanted->endpoint))
			continue;
		for (uint32_t k = 0; k < slice->n_ports && *more; k++) {
			h.port = slice->ports[k].port;
			if (matches_port(wanted, &slice->ports[k]))
				report_hit(ask, &h, more);
		}
	}
}

static void report_externals(const struct kube_service *service, const struct wanted *wanted,
			     struct external_ask *ask, bool *more)
{
	for (uint32_t i = 0; i < service->n_external && *more; i++) {
		struct kube_ip ip;
		bool is_ip = kube_ip_parse(slice_of(service->external[i]), &ip) == 0;
		struct external_hit h = { .ip = is_ip ? ip.b : NULL,
					  .host = is_ip ? NULL : service->external[i],
					  .label = { slice_of(service->o.name),
						     slice_of(service->o.ns) },
					  .n_labels = 2 };
		for (uint32_t k = 0; k < service->n_ports && *more; k++) {
			h.port = service->ports[k].port;
			if (matches_port(wanted, &service->ports[k]))
				report_hit(ask, &h, more);
		}
	}
}

static void find_service(const struct kubernetes_conf *conf, const struct wanted *wanted,
			 struct external_ask *ask)
{
	const struct kubernetes_entry *e =
		kubernetes_index_find(conf->index, wanted->ns, wanted->service);
	const struct kube_service *s = e != NULL ? e->service : NULL;
	bool more = true;
	if (s == NULL)
		return;
	if (!ask->headless || s->n_external != 0 || (!s->headless && wanted->endpoint.n == 0)) {
		report_externals(s, wanted, ask, &more);
		return;
	}
	for (uint32_t i = 0; i < e->n_slices && more; i++)
		report_endpoints(conf, e, e->slices[i], wanted, ask, &more);
}

/* ---- addresses of this server ---- */

static void report_own_service(const struct kubernetes_conf *conf, const struct kube_slice *slice,
			       struct external_ask *ask, bool *more)
{
	const struct kubernetes_entry *e =
		kubernetes_index_find(conf->index, slice_of(slice->o.ns), slice_of(slice->service));
	const struct kube_service *s = e != NULL ? e->service : NULL;
	if (s == NULL)
		return;
	bool endpoints = ask->headless && s->headless;
	uint32_t n = endpoints ? slice->n_endpoints : s->n_external_ips;
	for (uint32_t i = 0; i < n && *more; i++)
		report_hit(ask,
			   &(struct external_hit){ .ip = endpoints ? slice->endpoints[i].ip.b
								   : s->external_ips[i].b },
			   more);
}

/* Of the Services whose endpoint we are; when we are none's, our own. */
static void report_own_addresses(const struct kubernetes_conf *conf, struct external_ask *ask)
{
	bool found = false, more = true;
	for (size_t i = 0; i < conf->n_local && more; i++) {
		struct kubernetes_endpoint_ref refs[REFS_MAX];
		size_t n = kubernetes_index_endpoints(conf->index, &conf->local[i], refs,
						      ARRAY_LEN(refs));
		found = found || n != 0;
		for (size_t k = 0; k < MIN(n, ARRAY_LEN(refs)) && more; k++)
			report_own_service(conf, refs[k].slice, ask, &more);
	}
	for (size_t i = 0; !found && i < conf->n_local && more; i++)
		report_hit(ask, &(struct external_hit){ .ip = conf->local[i].b }, &more);
}

/* ---- from addresses back to names ---- */

static void find_by_address(const struct kubernetes_conf *conf, const struct kube_ip *ip,
			    struct external_ask *ask)
{
	const struct kube_service *found[REFS_MAX];
	size_t n = kubernetes_index_by_external_ip(conf->index, ip, found, ARRAY_LEN(found));
	bool more = true;
	for (size_t i = 0; i < MIN(n, ARRAY_LEN(found)) && more; i++) {
		const struct kube_service *s = found[i];
		if (conf->namespaces.n != 0 && !kubernetes_exposed(conf, slice_of(s->o.ns)))
			continue;
		report_hit(
			ask,
			&(struct external_hit){ .ip = ip->b,
						.label = { slice_of(s->o.name), slice_of(s->o.ns) },
						.n_labels = 2 },
			&more);
	}
}

static bool ignore_hit(void *ctx, const struct external_hit *hit)
{
	(void)ctx;
	(void)hit;
	return false;
}

static void find_external(struct plugin_inst *self, struct query *q, struct external_ask *ask)
{
	const struct kubernetes_conf *c = self->conf;
	struct kube_ip ip;
	struct wanted w;
	ask->serial = kubernetes_index_serial(c->index);
	ask->ttl_s = (uint32_t)c->ttl_s;
	ask->rcode = DNS_RCODE_NXDOMAIN;
	if (ask->servers) {
		report_own_addresses(c, ask);
		return;
	}
	if (q->req.qtype == DNS_TYPE_PTR) {
		if (kubernetes_reverse_ip(&q->qname, &ip)) {
			find_by_address(c, &ip, ask);
			return;
		}
		ask->each = ignore_hit; /* only whether the name is there */
	}
	if (!parse_name(&q->qname, q->qname.n_labels - ask->zone_labels, &w) ||
	    !kubernetes_exposed(c, w.ns))
		return;
	if (w.service.n == 0)
		ask->rcode = DNS_RCODE_NOERROR;
	else
		find_service(c, &w, ask);
}

const void *kubernetes_interface(const char *name)
{
	static const struct external_ops external = { .find = find_external };
	return strcmp(name, EXTERNAL_OFFER) == 0 ? &external : NULL;
}
