/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whole zones, for `transfer`: the records that CoreDNS puts into one. A copy
 * holds the Services and slices of one moment, in the order of their names; records are made of
 * them a few at a time, when they are asked for. */
#include "plugin/kubernetes/xfr.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "plugin/kubernetes/apex.h"
#include "plugin/kubernetes/find.h"
#include "plugin/kubernetes/name.h"
#include "plugin/kubernetes/reply.h"
#include "plugin/kubernetes/source.h"
#include "plugin/shared/zonecopy.h"

enum { SRV_FIXED = 6, WEIGHT_ALL = 100 };

/* A Service, and where its slices are. */
struct item {
	const struct kube_service *service;
	size_t slice, n_slices;
};

/* A record that waits; its owner and data lie in `bytes`. */
struct made {
	size_t owner, rdata; /* offsets */
	uint32_t ttl;
	uint16_t type, rdlen;
	uint8_t owner_len;
};

struct copy {
	struct zone_copy base;
	const struct kubernetes_conf *c;
	const uint8_t *zone;
	VEC(struct item) items;
	VEC(const struct kube_slice *) slices;
	/* What comes next: */
	size_t item, slice, endpoint;
	/* Records made already: */
	struct strbuf bytes;
	VEC(struct made) made;
	size_t given;
};

/* ---- making records ---- */

static void make_record(struct copy *copy, const uint8_t *owner, uint16_t type, const void *rdata,
			size_t len)
{
	struct made m = { .owner = copy->bytes.n,
			  .owner_len = (uint8_t)dns_name_len(owner),
			  .ttl = (uint32_t)copy->c->ttl_s,
			  .type = type,
			  .rdlen = (uint16_t)len };
	strbuf_add(&copy->bytes, owner, m.owner_len);
	m.rdata = copy->bytes.n;
	strbuf_add(&copy->bytes, rdata, len);
	vec_push(&copy->made, m);
}

static void make_address(struct copy *copy, const uint8_t *owner, const struct kube_ip *ip)
{
	size_t n = kube_ip_is4(ip) ? 4 : 16;
	make_record(copy, owner, n == 4 ? DNS_TYPE_A : DNS_TYPE_AAAA, ip->b + 16 - n, n);
}

static void make_srv(struct copy *copy, const uint8_t *owner, uint16_t weight, int32_t port,
		     const uint8_t *target)
{
	uint8_t rdata[SRV_FIXED + DNS_NAME_MAX];
	size_t n = dns_name_len(target);
	dns_put16(rdata, 0);
	dns_put16(rdata + 2, weight);
	dns_put16(rdata + 4, (uint16_t)port);
	memcpy(rdata + SRV_FIXED, target, n);
	make_record(copy, owner, DNS_TYPE_SRV, rdata, SRV_FIXED + n);
}

/* A label with an underscore before it; what it takes, 0: no room. */
static size_t put_label(uint8_t *out, size_t room, const char *text)
{
	size_t n = strlen(text);
	if (n + 1 > DNS_LABEL_MAX || n + 2 > room)
		return 0;
	out[0] = (uint8_t)(n + 1);
	out[1] = '_';
	for (size_t i = 0; i < n; i++)
		out[2 + i] = (uint8_t)(text[i] >= 'A' && text[i] <= 'Z' ? text[i] + 32 : text[i]);
	return n + 2;
}

/* _port._protocol.NAME */
static bool port_name(const struct kube_port *kube_port, const uint8_t *name,
		      uint8_t out[DNS_NAME_MAX])
{
	size_t n = dns_name_len(name), room = DNS_NAME_MAX - n;
	size_t port = put_label(out, room, kube_port->name);
	size_t protocol = port != 0 ? put_label(out + port, room - port, kube_port->protocol) : 0;
	if (protocol != 0)
		memcpy(out + port + protocol, name, n);
	return protocol != 0;
}

/* ---- Services ---- */

/* A Service without ports has one that stands for none; CoreDNS transfers it as 65535, which nobody
 * could ask for, and we do not. */
static void make_cluster(struct copy *copy, const struct kube_service *service, const uint8_t *name)
{
	uint8_t owner[DNS_NAME_MAX];
	for (uint32_t i = 0; i < service->n_ips; i++)
		make_address(copy, name, &service->ips[i]);
	for (uint32_t i = 0; i < service->n_ports; i++) {
		const struct kube_port *p = &service->ports[i];
		if (p->port == -1)
			continue;
		make_srv(copy, name, WEIGHT_ALL, p->port, name);
		if (p->name[0] != '\0' && port_name(p, name, owner))
			make_srv(copy, owner, WEIGHT_ALL, p->port, name);
	}
}

static void make_external(struct copy *copy, const struct kube_service *service,
			  const uint8_t *name)
{
	uint8_t target[DNS_NAME_MAX];
	struct kube_ip ip;
	int n = dns_name_from_text(slice_of(service->external_name), target);
	if (n > 0 && kube_ip_parse(slice_of(service->external_name), &ip) < 0)
		make_record(copy, name, DNS_TYPE_CNAME, target, (size_t)n);
}

/* CoreDNS's own arithmetic. */
static uint16_t weight_of(uint32_t n_endpoints)
{
	double share = floor(100.0 / (100.0 * (double)n_endpoints) * WEIGHT_ALL);
	return share >= 1 ? (uint16_t)share : 1;
}

/* Names of imported ones lack their cluster, as in CoreDNS. */
static void make_endpoint(struct copy *copy, const struct kube_service *service,
			  const struct kube_slice *slice, const struct kube_endpoint *endpoint)
{
	uint8_t name[DNS_NAME_MAX], own[DNS_NAME_MAX], owner[DNS_NAME_MAX];
	char label[DNS_LABEL_MAX + 1];
	struct kubernetes_name p = { .service = slice_of(service->o.name),
				     .ns = slice_of(service->o.ns),
				     .zone = copy->zone };
	if (kubernetes_name(&p, name) == 0)
		return;
	make_address(copy, name, &endpoint->ip);
	p.endpoint =
		(struct slice){ label, kubernetes_endpoint_label(copy->c, slice, endpoint, label) };
	if (kubernetes_name(&p, own) == 0)
		return;
	make_address(copy, own, &endpoint->ip);
	for (uint32_t i = 0; i < slice->n_ports; i++) {
		if (slice->ports[i].name[0] != '\0' && port_name(&slice->ports[i], name, owner))
			make_srv(copy, owner, weight_of(slice->n_endpoints), slice->ports[i].port,
				 own);
	}
}

static void make_whole(struct copy *copy, const struct kube_service *service)
{
	uint8_t name[DNS_NAME_MAX];
	struct kubernetes_name p = { .service = slice_of(service->o.name),
				     .ns = slice_of(service->o.ns),
				     .zone = copy->zone };
	if (kubernetes_name(&p, name) == 0)
		return;
	if (service->type == KUBE_SERVICE_EXTERNAL_NAME)
		make_external(copy, service, name);
	else
		make_cluster(copy, service, name);
}

/* One Service, or one endpoint of it; false when all are made. */
static bool make_more(struct copy *copy)
{
	if (copy->item == copy->items.n)
		return false;
	const struct item *i = &copy->items.v[copy->item];
	bool whole = i->service->type == KUBE_SERVICE_EXTERNAL_NAME || i->service->n_ips != 0;
	if (whole || copy->slice == i->n_slices) {
		if (whole)
			make_whole(copy, i->service);
		copy->item++;
		copy->slice = copy->endpoint = 0;
		return true;
	}
	assert(i->slice + copy->slice < copy->slices.n);
	const struct kube_slice *s = copy->slices.v[i->slice + copy->slice];
	if (copy->endpoint < s->n_endpoints) {
		make_endpoint(copy, i->service, s, &s->endpoints[copy->endpoint++]);
	} else {
		copy->slice++;
		copy->endpoint = 0;
	}
	return true;
}

/* ---- the copy ---- */

static int copy_next(struct zone_copy *copy, struct dns_rr *ret)
{
	struct copy *x = CONTAINER_OF(copy, struct copy, base);
	while (x->given == x->made.n) {
		x->given = x->made.n = 0;
		strbuf_reset(&x->bytes);
		if (!make_more(x))
			return 0;
	}
	assert(x->given < x->made.n);
	const struct made *m = &x->made.v[x->given++];
	const uint8_t *bytes = (const uint8_t *)x->bytes.s;
	*ret = (struct dns_rr){ .owner = bytes + m->owner,
				.owner_len = m->owner_len,
				.type = m->type,
				.cls = DNS_CLASS_IN,
				.ttl = m->ttl,
				.rdata = bytes + m->rdata,
				.rdlen = m->rdlen };
	return 1;
}

/* The index hands them out as read-only; their counts are not. */
static void hold_object(const struct kube_obj *obj)
{
	kube_obj_ref((struct kube_obj *)(uintptr_t)obj);
}

static void release_object(const struct kube_obj *obj)
{
	kube_obj_unref((struct kube_obj *)(uintptr_t)obj);
}

static void copy_free(struct zone_copy *copy)
{
	struct copy *x = CONTAINER_OF(copy, struct copy, base);
	for (size_t i = 0; i < x->items.n; i++)
		release_object(&x->items.v[i].service->o);
	for (size_t i = 0; i < x->slices.n; i++)
		release_object(&x->slices.v[i]->o);
	vec_done(&x->items);
	vec_done(&x->slices);
	vec_done(&x->made);
	strbuf_done(&x->bytes);
	free(x);
}

/* Imported Services are in another index than namespaces, under another lock. */
static bool is_exposed(const struct kubernetes_conf *conf, struct slice ns)
{
	rcu_enter();
	bool v = kubernetes_exposed(conf, ns);
	rcu_leave();
	return v;
}

static bool take_entry(void *ctx, const struct kubernetes_entry *entry)
{
	struct copy *x = ctx;
	if (entry->service == NULL || !is_exposed(x->c, slice_of(entry->service->o.ns)))
		return true;
	hold_object(&entry->service->o);
	vec_push(&x->items, (struct item){ entry->service, x->slices.n, entry->n_slices });
	for (uint32_t i = 0; i < entry->n_slices; i++) {
		hold_object(&entry->slices[i]->o);
		vec_push(&x->slices, entry->slices[i]);
	}
	return true;
}

static int by_name(const void *left, const void *right)
{
	const struct kube_obj *x = &((const struct item *)left)->service->o;
	const struct kube_obj *y = &((const struct item *)right)->service->o;
	int r = strcmp(x->name, y->name);
	return r != 0 ? r : strcmp(x->ns, y->ns);
}

/* ---- the apex ---- */

static bool has_server(const struct copy *copy, const uint8_t *name)
{
	for (size_t i = 0; i < copy->made.n; i++) {
		const uint8_t *bytes = (const uint8_t *)copy->bytes.s;
		if (copy->made.v[i].type == DNS_TYPE_NS &&
		    dns_name_eq_case(bytes + copy->made.v[i].rdata, name))
			return true;
	}
	return false;
}

static bool make_server(void *ctx, const struct kubernetes_host *host)
{
	struct copy *x = ctx;
	uint8_t name[DNS_NAME_MAX];
	size_t n = kubernetes_host_name(x->c, host, x->zone, name);
	if (n == 0)
		return true;
	if (!has_server(x, name))
		make_record(x, x->zone, DNS_TYPE_NS, name, n);
	make_address(x, name, host->ip);
	return true;
}

static void make_apex(struct copy *copy, size_t zone)
{
	uint8_t soa[KUBERNETES_SOA_MAX];
	make_record(copy, copy->zone, DNS_TYPE_SOA, soa,
		    kubernetes_soa_data(copy->c, zone, copy->zone, soa));
	assert(copy->made.n == 1);
	copy->made.v[0].ttl = kubernetes_soa_ttl(copy->c);
	kubernetes_each_host(copy->c, make_server, copy);
}

static int find_zone(const struct kubernetes_conf *conf, const uint8_t *zone)
{
	for (size_t i = 0; i < conf->zones.n; i++) {
		if (dns_name_eq_case(conf->zones.wire[i], zone))
			return (int)i;
	}
	return -1;
}

bool kubernetes_has_zone(struct plugin_inst *self, const uint8_t *zone)
{
	return find_zone(self->conf, zone) >= 0;
}

/* Before the first list there is no zone. The serial is read first: what changes while the
 * copy is made is transferred again, rather than missed. */
struct zone_copy *kubernetes_copy_zone(struct plugin_inst *self, const uint8_t *zone)
{
	const struct kubernetes_conf *c = self->conf;
	int at = find_zone(c, zone);
	if (at < 0 || !kubernetes_source_usable(c->source))
		return NULL;
	struct copy *x = xcalloc(1, sizeof(*x));
	x->base = (struct zone_copy){ .next = copy_next, .free = copy_free };
	x->c = c;
	x->zone = c->zones.wire[at];
	strbuf_init(&x->bytes);
	rcu_enter();
	make_apex(x, (size_t)at);
	rcu_leave();
	kubernetes_index_each(c->is_multicluster[at] ? c->imports : c->index, take_entry, x);
	if (x->items.n != 0)
		qsort(x->items.v, x->items.n, sizeof(x->items.v[0]), by_name);
	return &x->base;
}
