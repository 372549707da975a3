/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Decodes Pods into compact objects. */
#include "kube/decode/compact_pod.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "kube/decode/compact_priv.h"

enum { IP = COMPACT_OWN, LABEL, DELETION, HOST_NETWORK };

static const struct kube_filter_row rows[] = {
	COMPACT_ROWS,
	{ "metadata.deletionTimestamp", DELETION, 0 },
	{ "metadata.labels.*", LABEL, 0 },
	{ "spec.hostNetwork", HOST_NETWORK, 0 },
	{ "status.podIPs[].ip", IP, 0 },
};

struct label {
	uint32_t key, value;
};

struct pod_codec {
	struct compact compact;
	VEC(struct kube_ip) ips;
	VEC(struct label) labels;
	bool deleting, host_network;
};

static int on_value(void *ctx, int id, enum kube_json_type type, struct slice text)
{
	struct pod_codec *c = ctx;
	struct kube_ip ip;
	if (id < COMPACT_OWN)
		return compact_value(&c->compact, id, type, text);
	if (id == LABEL && type == KUBE_JSON_KEY)
		vec_push(&c->labels,
			 (struct label){ .key = compact_text(&c->compact.shared, text) });
	if (id == HOST_NETWORK)
		c->host_network = type == KUBE_JSON_TRUE;
	if (type != KUBE_JSON_STRING)
		return 0;
	if (id == LABEL)
		c->labels.v[c->labels.n - 1].value = compact_text(&c->compact.shared, text);
	else if (id == DELETION)
		c->deleting = true;
	else if (id == IP && kube_ip_parse(text, &ip) == 0)
		vec_push(&c->ips, ip);
	return 0;
}

static void pod_free(struct kube_obj *obj)
{
	const struct kube_pod *p = kube_pod_of(obj);
	for (uint32_t i = 0; i < p->n_labels; i++) {
		kube_string_pool_drop(p->labels[i].key);
		kube_string_pool_drop(p->labels[i].value);
	}
	kube_string_pool_drop(obj->ns);
	free(obj);
}

static struct kube_obj *build_pod(const struct pod_codec *codec)
{
	struct kube_pod *v = xmalloc(sizeof(*v) + codec->labels.n * sizeof(struct kube_label) +
				     codec->ips.n * sizeof(struct kube_ip) + codec->compact.kept.n);
	struct kube_label *labels = (struct kube_label *)(v + 1);
	struct kube_ip *ips = (struct kube_ip *)(labels + codec->labels.n);
	compact_head(&codec->compact, &v->o, (char *)(ips + codec->ips.n), pod_free);
	for (size_t i = 0; i < codec->labels.n; i++) {
		labels[i].key = compact_share(&codec->compact, codec->labels.v[i].key);
		labels[i].value = compact_share(&codec->compact, codec->labels.v[i].value);
	}
	if (codec->ips.n != 0)
		memcpy(ips, codec->ips.v, codec->ips.n * sizeof(*ips));
	v->n_ips = (uint32_t)codec->ips.n;
	v->n_labels = (uint32_t)codec->labels.n;
	v->ips = ips;
	v->labels = labels;
	v->host_network = codec->host_network;
	v->o.ignore = codec->deleting;
	return &v->o;
}

static int pod_decode(struct kube_codec *codec, struct slice json, struct kube_obj **ret)
{
	struct pod_codec *c = (struct pod_codec *)codec;
	compact_begin(&c->compact);
	c->ips.n = c->labels.n = 0;
	c->deleting = c->host_network = false;
	int r = compact_read(&c->compact, json, on_value, c);
	if (r == 0)
		*ret = build_pod(c);
	return r;
}

static void pod_codec_free(struct kube_codec *codec)
{
	struct pod_codec *c = (struct pod_codec *)codec;
	compact_done(&c->compact);
	vec_done(&c->ips);
	vec_done(&c->labels);
	free(c);
}

struct kube_codec *kube_pod_codec(struct kube_string_pool *pool)
{
	struct pod_codec *c = xcalloc(1, sizeof(*c));
	compact_init(&c->compact, "Pod", pool, rows, ARRAY_LEN(rows));
	c->compact.codec = (struct kube_codec){ .decode = pod_decode, .free = pod_codec_free };
	return &c->compact.codec;
}
