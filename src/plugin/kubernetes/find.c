/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From a question to what it finds, in the order and with the exceptions of CoreDNS's
 * findServices and findPods. */
#include "plugin/kubernetes/find.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

bool kubernetes_exposed(const struct kubernetes_conf *conf, struct slice ns)
{
	return (conf->namespaces.n == 0 || map_has(&conf->listed, ns)) &&
	       kubernetes_index_has_namespace(conf->index, ns);
}

/* An address as it stands in a name: 10-0-0-1, fd00--1; a label cannot end with a dash. */
static size_t format_dashed(const struct kube_ip *ip, char out[DNS_LABEL_MAX + 1])
{
	bool v4 = kube_ip_is4(ip);
	inet_ntop(v4 ? AF_INET : AF_INET6, ip->b + (v4 ? 12 : 0), out, DNS_LABEL_MAX);
	for (char *p = out; *p != '\0'; p++)
		*p = *p == '.' || *p == ':' ? '-' : *p;
	size_t n = strlen(out);
	if (out[n - 1] == '-') {
		out[n++] = '0';
		out[n] = '\0';
	}
	return n;
}

size_t kubernetes_endpoint_label(const struct kubernetes_conf *conf, const struct kube_slice *slice,
				 const struct kube_endpoint *endpoint, char out[DNS_LABEL_MAX + 1])
{
	const char *text = kube_slice_text(slice, endpoint->hostname);
	if (text[0] == '\0' && conf->endpoint_pod_names)
		text = kube_slice_text(slice, endpoint->target);
	size_t n = strlen(text);
	if (n == 0 || n > DNS_LABEL_MAX)
		return format_dashed(&endpoint->ip, out);
	memcpy(out, text, n + 1);
	return n;
}

static bool text_is(const char *text, struct slice word)
{
	return slice_eq_nocase(slice_of(text), word);
}

static bool port_fits(const struct kubernetes_qparse *qparse, const struct kube_port *port)
{
	return (qparse->port.n == 0 || text_is(port->name, qparse->port)) &&
	       (qparse->protocol.n == 0 || text_is(port->protocol, qparse->protocol));
}

/* What one look-up carries along. */
struct walk {
	const struct kubernetes_find *f;
	kubernetes_hit_fn each;
	void *ctx;
	struct slice zone; /* of the topology; empty: any */
	bool imported;	   /* in a zone of Services of other clusters */
	bool hit, stopped;
};

static bool report_hit(struct walk *walk, const struct kubernetes_hit *hit)
{
	walk->hit = true;
	walk->stopped = !walk->each(walk->ctx, hit);
	return !walk->stopped;
}

/* ---- endpoints ---- */

static bool endpoint_fits(const struct walk *walk, const struct kube_slice *slice,
			  const struct kube_endpoint *endpoint)
{
	char label[DNS_LABEL_MAX + 1];
	struct slice want = walk->f->parsed.endpoint;
	if (walk->zone.n != 0 && !slice_eq(slice_of(endpoint->zone), walk->zone))
		return false;
	if (want.n == 0)
		return true;
	if (walk->imported && !slice_eq_nocase(slice_of(slice->cluster), walk->f->parsed.cluster))
		return false;
	size_t n = kubernetes_endpoint_label(walk->f->conf, slice, endpoint, label);
	return slice_eq_nocase((struct slice){ label, n }, want);
}

static void walk_slice(struct walk *walk, const struct kube_service *svc,
		       const struct kube_slice *slice)
{
	for (uint32_t i = 0; i < slice->n_endpoints && !walk->stopped; i++) {
		const struct kube_endpoint *e = &slice->endpoints[i];
		if (!endpoint_fits(walk, slice, e))
			continue;
		for (uint32_t k = 0; k < slice->n_ports && !walk->stopped; k++) {
			if (port_fits(&walk->f->parsed, &slice->ports[k]))
				report_hit(walk, &(struct kubernetes_hit){
							 .ip = &e->ip,
							 .service = svc,
							 .slice = slice,
							 .endpoint = e,
							 .port = slice->ports[k].port });
		}
	}
}

static void walk_slices(struct walk *walk, const struct kubernetes_entry *entry)
{
	for (uint32_t i = 0; i < entry->n_slices && !walk->stopped; i++)
		walk_slice(walk, entry->service, entry->slices[i]);
}

/* The labels of the topology zone, joined by dots. */
static struct slice topology_of(const struct kubernetes_find *find, char out[DNS_NAME_MAX])
{
	const struct dns_qname *q = find->name;
	size_t n = 0;
	for (unsigned i = 0; i < find->parsed.n_zone_labels; i++) {
		const uint8_t *l = q->wire + q->label[i];
		if (i != 0)
			out[n++] = '.';
		memcpy(out + n, l + 1, l[0]);
		n += l[0];
	}
	return (struct slice){ out, n };
}

static void find_endpoints(struct walk *walk, const struct kubernetes_entry *entry)
{
	char zone[DNS_NAME_MAX];
	walk->zone = topology_of(walk->f, zone);
	walk_slices(walk, entry);
	walk->zone = (struct slice){ "", 0 };
	if (!walk->hit && walk->f->parsed.zone_prefer)
		walk_slices(walk, entry);
}

/* ---- Services ---- */

static bool has_endpoints(const struct kubernetes_entry *entry)
{
	for (uint32_t i = 0; i < entry->n_slices; i++) {
		if (entry->slices[i]->n_endpoints != 0)
			return true;
	}
	return false;
}

static void find_cluster_ips(struct walk *walk, const struct kube_service *service)
{
	for (uint32_t k = 0; k < service->n_ports && !walk->stopped; k++) {
		if (!port_fits(&walk->f->parsed, &service->ports[k]))
			continue;
		walk->hit = true; /* the name exists, whatever addresses it has */
		for (uint32_t i = 0; i < service->n_ips && !walk->stopped; i++)
			report_hit(walk,
				   &(struct kubernetes_hit){ .ip = &service->ips[i],
							     .service = service,
							     .port = service->ports[k].port });
	}
}

/* An ExternalName that is an address, or a query for a part of one, does not exist. */
static enum kubernetes_found find_external(struct kubernetes_find *find,
					   const struct kube_service *service)
{
	const struct kubernetes_qparse *p = &find->parsed;
	struct kube_ip ip;
	if (p->endpoint.n != 0 || p->port.n != 0 || p->protocol.n != 0 || p->n_zone_labels != 0 ||
	    kube_ip_parse(slice_of(service->external_name), &ip) == 0)
		return KUBERNETES_NXDOMAIN;
	find->external = service;
	return KUBERNETES_EXISTS;
}

static enum kubernetes_found find_service(struct kubernetes_find *find, struct walk *walk)
{
	const struct kubernetes_qparse *p = &find->parsed;
	const struct kubernetes_index *x = walk->imported ? find->conf->imports : find->conf->index;
	const struct kubernetes_entry *e = kubernetes_index_find(x, p->ns, p->service);
	const struct kube_service *s = e != NULL ? e->service : NULL;
	if (s == NULL)
		return KUBERNETES_NXDOMAIN;
	if (s->type == KUBE_SERVICE_EXTERNAL_NAME)
		return find_external(find, s);
	if (p->n_zone_labels != 0 && !s->headless)
		return KUBERNETES_NXDOMAIN;
	if (find->conf->ignore_empty && !s->headless && !has_endpoints(e))
		return KUBERNETES_NXDOMAIN;
	if (s->headless || p->endpoint.n != 0) {
		find_endpoints(walk, e);
		/* A zone without endpoints is there all the same. */
		return walk->hit || p->n_zone_labels != 0 ? KUBERNETES_EXISTS : KUBERNETES_NXDOMAIN;
	}
	find_cluster_ips(walk, s);
	return walk->hit ? KUBERNETES_EXISTS : KUBERNETES_NXDOMAIN;
}

/* ---- pods ---- */

/* Three dashes, none of them doubled, stand for dots; else they are colons. */
static bool pod_address(struct slice label, struct kube_ip *ret)
{
	char text[DNS_LABEL_MAX + 1];
	unsigned dashes = 0;
	bool doubled = false;
	for (size_t i = 0; i < label.n; i++) {
		dashes += label.p[i] == '-';
		doubled = doubled || (i != 0 && label.p[i] == '-' && label.p[i - 1] == '-');
	}
	char as = dashes == 3 && !doubled ? '.' : ':';
	for (size_t i = 0; i < label.n; i++)
		text[i] = label.p[i] == '-' ? as : label.p[i];
	return kube_ip_parse((struct slice){ text, label.n }, ret) == 0;
}

static enum kubernetes_found find_pod(struct kubernetes_find *find, struct walk *walk)
{
	const struct kubernetes_conf *c = find->conf;
	if (c->pods == KUBERNETES_PODS_DISABLED || !pod_address(find->parsed.service, &find->pod))
		return KUBERNETES_NXDOMAIN;
	if (c->pods == KUBERNETES_PODS_VERIFIED &&
	    kubernetes_index_pod_in(c->index, &find->pod, find->parsed.ns) == NULL)
		return KUBERNETES_NXDOMAIN;
	report_hit(walk, &(struct kubernetes_hit){ .ip = &find->pod });
	return KUBERNETES_EXISTS;
}

enum kubernetes_found kubernetes_find(struct kubernetes_find *find,
				      const struct kubernetes_conf *conf,
				      const struct dns_qname *name, size_t zone,
				      kubernetes_hit_fn each, void *ctx)
{
	struct walk w = {
		.f = find, .each = each, .ctx = ctx, .imported = conf->is_multicluster[zone]
	};
	find->conf = conf;
	find->name = name;
	find->external = NULL;
	kubernetes_qparse(
		name, conf->zone_labels[zone],
		&(struct kubernetes_qparse_opts){ .multicluster = conf->is_multicluster[zone],
						  .zonal = conf->zonal },
		&find->parsed);
	switch (find->parsed.what) {
	case KUBERNETES_APEX:
	case KUBERNETES_TYPE:
		return KUBERNETES_EXISTS;
	case KUBERNETES_VERSION:
	case KUBERNETES_NS_HOST:
	case KUBERNETES_NONSENSE:
		return KUBERNETES_NXDOMAIN;
	case KUBERNETES_NAMESPACE:
	case KUBERNETES_SERVICE:
	case KUBERNETES_POD:
		break;
	}
	if (conf->is_reverse[zone] || !kubernetes_exposed(conf, find->parsed.ns))
		return KUBERNETES_NXDOMAIN;
	if (find->parsed.what == KUBERNETES_NAMESPACE)
		return find->parsed.is_pod && conf->pods == KUBERNETES_PODS_DISABLED
			       ? KUBERNETES_NXDOMAIN
			       : KUBERNETES_EXISTS;
	return find->parsed.what == KUBERNETES_POD ? find_pod(find, &w) : find_service(find, &w);
}
