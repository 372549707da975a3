/* SPDX-License-Identifier: GPL-3.0-or-later */
/* PTR questions: from addresses of Services and endpoints back to their names. */
#include "plugin/kubernetes/reverse.h"

#include <string.h>

#include "plugin/kubernetes/find.h"
#include "plugin/kubernetes/kubernetes.h"
#include "plugin/kubernetes/name.h"
#include "plugin/kubernetes/reply.h"

enum { V4_LABELS = 4, V6_LABELS = 32, ARPA_LABELS = 2, ENDPOINTS_MAX = 256 };

static bool read_byte(const uint8_t *label, uint8_t *ret)
{
	unsigned v = 0;
	if (label[0] == 0 || label[0] > 3 || (label[0] > 1 && label[1] == '0'))
		return false;
	for (size_t i = 1; i <= label[0]; i++) {
		if (!ascii_isdigit((char)label[i]))
			return false;
		v = 10 * v + (label[i] - (unsigned)'0');
	}
	*ret = (uint8_t)v;
	return v <= 255;
}

static bool read_nibble(const uint8_t *label, uint8_t *ret)
{
	int digit = ascii_hex_value(label[1]);
	if (label[0] != 1 || digit < 0)
		return false;
	*ret = (uint8_t)digit;
	return true;
}

bool kubernetes_reverse_ip(const struct dns_qname *qname, struct kube_ip *ret)
{
	static const uint8_t v4[] = "\7in-addr\4arpa", v6[] = "\3ip6\4arpa";
	const uint8_t *end = qname->n_labels >= ARPA_LABELS
				     ? qname->wire + qname->label[qname->n_labels - ARPA_LABELS]
				     : qname->wire;
	struct kube_ip ip = { .b = { [10] = 0xff, [11] = 0xff } };
	if (qname->n_labels == V4_LABELS + ARPA_LABELS && dns_name_eq(end, v4)) {
		for (unsigned i = 0; i < V4_LABELS; i++) {
			if (!read_byte(qname->wire + qname->label[i], &ip.b[15 - i]))
				return false;
		}
	} else if (qname->n_labels == V6_LABELS + ARPA_LABELS && dns_name_eq(end, v6)) {
		ip = (struct kube_ip){ 0 };
		for (unsigned i = 0; i < V6_LABELS; i++) {
			uint8_t v;
			if (!read_nibble(qname->wire + qname->label[i], &v))
				return false;
			ip.b[15 - i / 2] |= (uint8_t)(i % 2 == 0 ? v : v << 4);
		}
	} else {
		return false;
	}
	*ret = ip;
	return true;
}

/* Names once each. */
struct ptrs {
	const struct kubernetes_conf *c;
	struct query *q;
	struct byteset seen;
};

static bool add_ptr(struct ptrs *ptrs, struct slice endpoint, const char *service, const char *ns)
{
	uint8_t name[DNS_NAME_MAX];
	size_t n = kubernetes_name(
		&(struct kubernetes_name){ .endpoint = endpoint,
					   .service = slice_of(service),
					   .ns = slice_of(ns),
					   .zone = ptrs->c->zones.wire[ptrs->c->primary] },
		name);
	const char *copy = n != 0 ? arena_memdup(&ptrs->q->arena, name, n) : NULL;
	if (n == 0)
		return true;
	if (copy == NULL || !byteset_add(&ptrs->seen, (struct slice){ copy, n }))
		return copy != NULL && !ptrs->seen.full;
	return kubernetes_reply_add(ptrs->c, ptrs->q, DNS_ANSWER, ptrs->q->req.qname, DNS_TYPE_PTR,
				    copy, n);
}

static bool is_shown(const struct kubernetes_conf *conf, const char *ns)
{
	return conf->namespaces.n == 0 || kubernetes_exposed(conf, slice_of(ns));
}

struct first_shown {
	const struct kubernetes_conf *c;
	const struct kube_service *s;
};

static bool is_not_shown(void *ctx, const struct kube_service *service)
{
	struct first_shown *f = ctx;
	f->s = is_shown(f->c, service->o.ns) ? service : NULL;
	return f->s == NULL;
}

static void add_endpoints(struct ptrs *ptrs, const struct kube_ip *ip)
{
	const struct kubernetes_conf *c = ptrs->c;
	struct kubernetes_endpoint_ref refs[ENDPOINTS_MAX];
	char label[DNS_LABEL_MAX + 1];
	size_t n = kubernetes_index_endpoints(c->index, ip, refs, ARRAY_LEN(refs));
	for (size_t i = 0; i < MIN(n, ARRAY_LEN(refs)); i++) {
		const struct kube_slice *s = refs[i].slice;
		if (!is_shown(c, s->o.ns))
			continue;
		size_t k = kubernetes_endpoint_label(c, s, &s->endpoints[refs[i].at], label);
		if (!add_ptr(ptrs, (struct slice){ label, k }, s->service, s->o.ns))
			return;
	}
}

static bool ignore_hit(void *ctx, const struct kubernetes_hit *hit)
{
	(void)ctx;
	(void)hit;
	return false;
}

enum verdict kubernetes_serve_ptr(struct plugin_inst *self, struct query *q, size_t zone)
{
	const struct kubernetes_conf *c = self->conf;
	struct kube_ip ip;
	struct kubernetes_find f;
	if (!kubernetes_reverse_ip(&q->qname, &ip))
		return kubernetes_find(&f, c, &q->qname, zone, ignore_hit, NULL) ==
				       KUBERNETES_EXISTS
			       ? kubernetes_reply_soa(c, q, zone, DNS_RCODE_NOERROR)
			       : kubernetes_no_name(self, q, zone);
	struct first_shown first = { .c = c };
	struct ptrs p = { .c = c, .q = q, .seen.arena = &q->arena };
	kubernetes_index_each_by_ip(c->index, &ip, is_not_shown, &first);
	kubernetes_reply_open(q);
	if (first.s != NULL)
		add_ptr(&p, (struct slice){ "", 0 }, first.s->o.name, first.s->o.ns);
	else
		add_endpoints(&p, &ip);
	return q->resp.count[DNS_ANSWER] != 0 ? V_ANSWERED : kubernetes_no_name(self, q, zone);
}
