/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Decodes Pods into their addresses and the node they run on. */
#include "kube/decode/compact_pod_node.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "kube/decode/compact_priv.h"

enum { IP = COMPACT_OWN, FIRST_IP, DELETION, HOST_NETWORK, NODE, HOST_IP, PHASE, CREATED };

static const struct kube_filter_row rows[] = {
	COMPACT_ROWS,
	{ "metadata.creationTimestamp", CREATED, 0 },
	{ "metadata.deletionTimestamp", DELETION, 0 },
	{ "spec.hostNetwork", HOST_NETWORK, 0 },
	{ "spec.nodeName", NODE, 0 },
	{ "status.hostIP", HOST_IP, 0 },
	{ "status.phase", PHASE, 0 },
	{ "status.podIP", FIRST_IP, 0 },
	{ "status.podIPs[].ip", IP, 0 },
};

struct pod_codec {
	struct compact compact;
	VEC(struct kube_ip) ips;
	struct kube_ip first_ip, host_ip;
	bool has_first_ip, is_deleting, host_network, has_ended;
	uint32_t node, created;
};

static void on_text(struct pod_codec *codec, int id, struct slice text)
{
	struct kube_ip ip;
	if (id == DELETION)
		codec->is_deleting = true;
	else if (id == PHASE)
		codec->has_ended = slice_is(text, "Succeeded") || slice_is(text, "Failed");
	else if (id == NODE)
		codec->node = compact_text(&codec->compact.shared, text);
	else if (id == CREATED)
		codec->created = compact_text(&codec->compact.kept, text);
	else if (id == IP && kube_ip_parse(text, &ip) == 0)
		vec_push(&codec->ips, ip);
	else if (id == HOST_IP)
		IGNORE(kube_ip_parse(text, &codec->host_ip)); /* it is unknown then */
	else if (id == FIRST_IP)
		codec->has_first_ip = kube_ip_parse(text, &codec->first_ip) == 0;
}

static int on_value(void *ctx, int id, enum kube_json_type type, struct slice text)
{
	struct pod_codec *c = ctx;
	if (id < COMPACT_OWN)
		return compact_value(&c->compact, id, type, text);
	if (id == HOST_NETWORK)
		c->host_network = type == KUBE_JSON_TRUE;
	if (type == KUBE_JSON_STRING)
		on_text(c, id, text);
	return 0;
}

static void pod_free(struct kube_obj *obj)
{
	kube_string_pool_drop(kube_pod_node_of(obj)->node);
	kube_string_pool_drop(obj->ns);
	free(obj);
}

static struct kube_obj *build_pod(const struct pod_codec *codec)
{
	struct kube_pod_node *v = xcalloc(1, sizeof(*v) + codec->ips.n * sizeof(struct kube_ip) +
						     codec->compact.kept.n);
	struct kube_ip *ips = (struct kube_ip *)(v + 1);
	char *text = (char *)(ips + codec->ips.n);
	compact_head(&codec->compact, &v->o, text, pod_free);
	if (codec->ips.n != 0)
		memcpy(ips, codec->ips.v, codec->ips.n * sizeof(*ips));
	v->ips = ips;
	v->n_ips = (uint32_t)codec->ips.n;
	v->host_ip = codec->host_ip;
	v->node = compact_share(&codec->compact, codec->node);
	v->created = text + codec->created;
	v->has_own_ips = !codec->host_network && !codec->has_ended;
	v->is_deleting = codec->is_deleting;
	return &v->o;
}

static int pod_decode(struct kube_codec *codec, struct slice json, struct kube_obj **ret)
{
	struct pod_codec *c = (struct pod_codec *)codec;
	compact_begin(&c->compact);
	c->ips.n = 0;
	c->has_first_ip = c->is_deleting = c->host_network = c->has_ended = false;
	c->host_ip = (struct kube_ip){ { 0 } };
	c->node = c->created = 0;
	int r = compact_read(&c->compact, json, on_value, c);
	if (r < 0)
		return r;
	if (c->ips.n == 0 && c->has_first_ip) /* before podIPs existed */
		vec_push(&c->ips, c->first_ip);
	*ret = build_pod(c);
	return 0;
}

static void pod_codec_free(struct kube_codec *codec)
{
	struct pod_codec *c = (struct pod_codec *)codec;
	compact_done(&c->compact);
	vec_done(&c->ips);
	free(c);
}

struct kube_codec *kube_pod_node_codec(struct kube_string_pool *pool)
{
	struct pod_codec *c = xcalloc(1, sizeof(*c));
	compact_init(&c->compact, "Pod", pool, rows, ARRAY_LEN(rows));
	c->compact.codec = (struct kube_codec){ .decode = pod_decode, .free = pod_codec_free };
	return &c->compact.codec;
}
