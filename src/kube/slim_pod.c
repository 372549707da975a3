/* Pods. */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "kube/slim_priv.h"

enum { IP = SLIM_OWN, LABEL, DELETION, HOST_NETWORK };

static const struct kube_sax_row rows[] = {
	SLIM_ROWS,
	{ "metadata.deletionTimestamp", DELETION, 0 },
	{ "metadata.labels.*", LABEL, 0 },
	{ "spec.hostNetwork", HOST_NETWORK, 0 },
	{ "status.podIPs[].ip", IP, 0 },
};

struct label {
	uint32_t key, value;
};

struct pod_codec {
	struct slim s;
	VEC(struct kube_ip) ips;
	VEC(struct label) labels;
	bool deleting, host_network;
};

static int on_value(void *ctx, int id, enum kube_sax_type type, struct slice text)
{
	struct pod_codec *c = ctx;
	struct kube_ip ip;
	if (id < SLIM_OWN)
		return slim_value(&c->s, id, type, text);
	if (id == LABEL && type == KUBE_SAX_KEY)
		vec_push(&c->labels, (struct label){ .key = slim_text(&c->s.shared, text) });
	if (id == HOST_NETWORK)
		c->host_network = type == KUBE_SAX_TRUE;
	if (type != KUBE_SAX_STRING)
		return 0;
	if (id == LABEL)
		c->labels.v[c->labels.n - 1].value = slim_text(&c->s.shared, text);
	else if (id == DELETION)
		c->deleting = true;
	else if (id == IP && kube_ip_parse(text, &ip) == 0)
		vec_push(&c->ips, ip);
	return 0;
}

static void pod_free(struct kube_obj *o)
{
	const struct kube_pod *p = kube_pod_of(o);
	for (uint32_t i = 0; i < p->n_labels; i++) {
		kube_intern_drop(p->labels[i].key);
		kube_intern_drop(p->labels[i].value);
	}
	kube_intern_drop(o->ns);
	free(o);
}

static struct kube_obj *build(const struct pod_codec *c)
{
	struct kube_pod *v = xmalloc(sizeof(*v) + c->labels.n * sizeof(struct kube_label) +
				     c->ips.n * sizeof(struct kube_ip) + c->s.kept.n);
	struct kube_label *labels = (struct kube_label *)(v + 1);
	struct kube_ip *ips = (struct kube_ip *)(labels + c->labels.n);
	slim_head(&c->s, &v->o, (char *)(ips + c->ips.n), pod_free);
	for (size_t i = 0; i < c->labels.n; i++) {
		labels[i].key = slim_intern(&c->s, c->labels.v[i].key);
		labels[i].value = slim_intern(&c->s, c->labels.v[i].value);
	}
	if (c->ips.n != 0)
		memcpy(ips, c->ips.v, c->ips.n * sizeof(*ips));
	v->n_ips = (uint32_t)c->ips.n;
	v->n_labels = (uint32_t)c->labels.n;
	v->ips = ips;
	v->labels = labels;
	v->host_network = c->host_network;
	v->o.ignore = c->deleting;
	return &v->o;
}

static int pod_decode(struct kube_codec *codec, struct slice json, struct kube_obj **ret)
{
	struct pod_codec *c = (struct pod_codec *)codec;
	slim_begin(&c->s);
	c->ips.n = c->labels.n = 0;
	c->deleting = c->host_network = false;
	int r = slim_read(&c->s, json, on_value, c);
	if (r == 0)
		*ret = build(c);
	return r;
}

static void pod_codec_free(struct kube_codec *codec)
{
	struct pod_codec *c = (struct pod_codec *)codec;
	slim_done(&c->s);
	vec_done(&c->ips);
	vec_done(&c->labels);
	free(c);
}

struct kube_codec *kube_pod_codec(struct kube_intern *t)
{
	struct pod_codec *c = xcalloc(1, sizeof(*c));
	slim_init(&c->s, "Pod", t, rows, ARRAY_LEN(rows));
	c->s.codec = (struct kube_codec){ .decode = pod_decode, .free = pod_codec_free };
	return &c->s.codec;
}
