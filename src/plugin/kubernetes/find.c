/* From a question to what it finds, in the order and with the exceptions of CoreDNS's
 * findServices and findPods (spec 1.3). */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "plugin/kubernetes/conf.h"

bool kubernetes_exposed(const struct kubernetes_conf *c, struct slice ns)
{
	return (c->namespaces.n == 0 || map_has(&c->listed, ns)) &&
	       kubernetes_index_has_namespace(c->index, ns);
}

/* An address as it stands in a name: 10-0-0-1, fd00--1; a label cannot end with a dash. */
static size_t dashed(const struct kube_ip *ip, char out[DNS_LABEL_MAX + 1])
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

size_t kubernetes_endpoint_label(const struct kubernetes_conf *c, const struct kube_slice *s,
				 const struct kube_endpoint *e, char out[DNS_LABEL_MAX + 1])
{
	const char *text = kube_slice_text(s, e->hostname);
	if (text[0] == '\0' && c->endpoint_pod_names)
		text = kube_slice_text(s, e->target);
	size_t n = strlen(text);
	if (n == 0 || n > DNS_LABEL_MAX)
		return dashed(&e->ip, out);
	memcpy(out, text, n + 1);
	return n;
}

static bool text_is(const char *text, struct slice s)
{
	return slice_eq_nocase(slice_of(text), s);
}

static bool port_fits(const struct kubernetes_qparse *p, const struct kube_port *port)
{
	return (p->port.n == 0 || text_is(port->name, p->port)) &&
	       (p->protocol.n == 0 || text_is(port->protocol, p->protocol));
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

static bool give(struct walk *w, const struct kubernetes_hit *h)
{
	w->hit = true;
	w->stopped = !w->each(w->ctx, h);
	return !w->stopped;
}

/* ---- endpoints ---- */

static bool endpoint_fits(const struct walk *w, const struct kube_slice *s,
			  const struct kube_endpoint *e)
{
	char label[DNS_LABEL_MAX + 1];
	struct slice want = w->f->parsed.endpoint;
	if (w->zone.n != 0 && !slice_eq(slice_of(e->zone), w->zone))
		return false;
	if (want.n == 0)
		return true;
	if (w->imported && !slice_eq_nocase(slice_of(s->cluster), w->f->parsed.cluster))
		return false;
	size_t n = kubernetes_endpoint_label(w->f->conf, s, e, label);
	return slice_eq_nocase((struct slice){ label, n }, want);
}

static void walk_slice(struct walk *w, const struct kube_service *svc, const struct kube_slice *s)
{
	for (uint32_t i = 0; i < s->n_endpoints && !w->stopped; i++) {
		const struct kube_endpoint *e = &s->endpoints[i];
		if (!endpoint_fits(w, s, e))
			continue;
		for (uint32_t k = 0; k < s->n_ports && !w->stopped; k++) {
			if (port_fits(&w->f->parsed, &s->ports[k]))
				give(w, &(struct kubernetes_hit){ .ip = &e->ip,
								  .service = svc,
								  .slice = s,
								  .endpoint = e,
								  .port = s->ports[k].port });
		}
	}
}

static void walk_slices(struct walk *w, const struct kubernetes_entry *e)
{
	for (uint32_t i = 0; i < e->n_slices && !w->stopped; i++)
		walk_slice(w, e->service, e->slices[i]);
}

/* The labels of the topology zone, joined by dots. */
static struct slice topology(const struct kubernetes_find *f, char out[DNS_NAME_MAX])
{
	const struct dns_qname *q = f->name;
	size_t n = 0;
	for (unsigned i = 0; i < f->parsed.n_zone_labels; i++) {
		const uint8_t *l = q->wire + q->label[i];
		if (i != 0)
			out[n++] = '.';
		memcpy(out + n, l + 1, l[0]);
		n += l[0];
	}
	return (struct slice){ out, n };
}

static void find_endpoints(struct walk *w, const struct kubernetes_entry *e)
{
	char zone[DNS_NAME_MAX];
	w->zone = topology(w->f, zone);
	walk_slices(w, e);
	w->zone = (struct slice){ "", 0 };
	if (!w->hit && w->f->parsed.zone_prefer)
		walk_slices(w, e);
}

/* ---- Services ---- */

static bool has_endpoints(const struct kubernetes_entry *e)
{
	for (uint32_t i = 0; i < e->n_slices; i++) {
		if (e->slices[i]->n_endpoints != 0)
			return true;
	}
	return false;
}

static void find_cluster_ips(struct walk *w, const struct kube_service *s)
{
	for (uint32_t k = 0; k < s->n_ports && !w->stopped; k++) {
		if (!port_fits(&w->f->parsed, &s->ports[k]))
			continue;
		w->hit = true; /* the name exists, whatever addresses it has */
		for (uint32_t i = 0; i < s->n_ips && !w->stopped; i++)
			give(w, &(struct kubernetes_hit){
					.ip = &s->ips[i], .service = s, .port = s->ports[k].port });
	}
}

/* An ExternalName that is an address, or is asked for a part, is not there. */
static enum kubernetes_found find_external(struct kubernetes_find *f, const struct kube_service *s)
{
	const struct kubernetes_qparse *p = &f->parsed;
	struct kube_ip ip;
	if (p->endpoint.n != 0 || p->port.n != 0 || p->protocol.n != 0 || p->n_zone_labels != 0 ||
	    kube_ip_parse(slice_of(s->external_name), &ip) == 0)
		return KUBERNETES_NXDOMAIN;
	f->external = s;
	return KUBERNETES_EXISTS;
}

static enum kubernetes_found find_service(struct kubernetes_find *f, struct walk *w)
{
	const struct kubernetes_qparse *p = &f->parsed;
	const struct kubernetes_index *x = w->imported ? f->conf->imports : f->conf->index;
	const struct kubernetes_entry *e = kubernetes_index_find(x, p->ns, p->service);
	const struct kube_service *s = e != NULL ? e->service : NULL;
	if (s == NULL)
		return KUBERNETES_NXDOMAIN;
	if (s->type == KUBE_SERVICE_EXTERNAL_NAME)
		return find_external(f, s);
	if (p->n_zone_labels != 0 && !s->headless)
		return KUBERNETES_NXDOMAIN;
	if (f->conf->ignore_empty && !s->headless && !has_endpoints(e))
		return KUBERNETES_NXDOMAIN;
	if (s->headless || p->endpoint.n != 0) {
		find_endpoints(w, e);
		/* A zone without endpoints is there all the same. */
		return w->hit || p->n_zone_labels != 0 ? KUBERNETES_EXISTS : KUBERNETES_NXDOMAIN;
	}
	find_cluster_ips(w, s);
	return w->hit ? KUBERNETES_EXISTS : KUBERNETES_NXDOMAIN;
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

static enum kubernetes_found find_pod(struct kubernetes_find *f, struct walk *w)
{
	const struct kubernetes_conf *c = f->conf;
	if (c->pods == KUBERNETES_PODS_DISABLED || !pod_address(f->parsed.service, &f->pod))
		return KUBERNETES_NXDOMAIN;
	if (c->pods == KUBERNETES_PODS_VERIFIED &&
	    kubernetes_index_pod_in(c->index, &f->pod, f->parsed.ns) == NULL)
		return KUBERNETES_NXDOMAIN;
	give(w, &(struct kubernetes_hit){ .ip = &f->pod });
	return KUBERNETES_EXISTS;
}

enum kubernetes_found kubernetes_find(struct kubernetes_find *f, const struct kubernetes_conf *c,
				      const struct dns_qname *name, size_t zone,
				      kubernetes_hit_fn each, void *ctx)
{
	struct walk w = { .f = f, .each = each, .ctx = ctx, .imported = c->is_multicluster[zone] };
	f->conf = c;
	f->name = name;
	f->external = NULL;
	kubernetes_qparse(name, c->zone_labels[zone],
			  &(struct kubernetes_qparse_opts){
				  .multicluster = c->is_multicluster[zone], .zonal = c->zonal },
			  &f->parsed);
	switch (f->parsed.what) {
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
	if (c->is_reverse[zone] || !kubernetes_exposed(c, f->parsed.ns))
		return KUBERNETES_NXDOMAIN;
	if (f->parsed.what == KUBERNETES_NAMESPACE)
		return f->parsed.is_pod && c->pods == KUBERNETES_PODS_DISABLED ? KUBERNETES_NXDOMAIN
									       : KUBERNETES_EXISTS;
	return f->parsed.what == KUBERNETES_POD ? find_pod(f, &w) : find_service(f, &w);
}
