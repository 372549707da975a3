/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Decodes Services into compact objects. */
#include "kube/decode/compact_service.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "kube/decode/compact_priv.h"

enum {
	TYPE = COMPACT_OWN,
	EXTERNAL_NAME,
	CLUSTER_IP,
	CLUSTER_IPS,
	EXTERNAL_IP,
	INGRESS,
	INGRESS_IP,
	INGRESS_HOST,
};

static const struct kube_filter_row rows[] = {
	COMPACT_ROWS,
	{ "spec.type", TYPE, 0 },
	{ "spec.externalName", EXTERNAL_NAME, 0 },
	{ "spec.clusterIP", CLUSTER_IP, 0 },
	{ "spec.clusterIPs[]", CLUSTER_IPS, 0 },
	{ "spec.externalIPs[]", EXTERNAL_IP, 0 },
	{ "spec.ports[]", COMPACT_PORT, 0 },
	{ "spec.ports[].name", COMPACT_PORT_NAME, 0 },
	{ "spec.ports[].protocol", COMPACT_PORT_PROTOCOL, 0 },
	{ "spec.ports[].port", COMPACT_PORT_NUMBER, 0 },
	{ "status.loadBalancer.ingress[]", INGRESS, 0 },
	{ "status.loadBalancer.ingress[].ip", INGRESS_IP, 0 },
	{ "status.loadBalancer.ingress[].hostname", INGRESS_HOST, 0 },
};

static const struct {
	const char *name;
	enum kube_service_type type;
} types[] = {
	{ "ClusterIP", KUBE_SERVICE_CLUSTER_IP },
	{ "NodePort", KUBE_SERVICE_NODE_PORT },
	{ "LoadBalancer", KUBE_SERVICE_LOAD_BALANCER },
	{ "ExternalName", KUBE_SERVICE_EXTERNAL_NAME },
};

struct service_codec {
	struct compact compact;
	enum kube_service_type type;
	uint32_t external_name;
	struct strbuf cluster_ip; /* the old, single one */
	VEC(struct kube_ip) ips, external_ips;
	size_t n_cluster_ips; /* elements of clusterIPs */
	bool headless;
	VEC(uint32_t) external, ingress; /* texts */
	uint32_t ingress_ip, ingress_host;
};

static void add_ip(struct service_codec *codec, struct slice text)
{
	struct kube_ip ip;
	if (codec->n_cluster_ips++ == 0 && slice_is(text, "None"))
		codec->headless = true;
	if (kube_ip_parse(text, &ip) == 0)
		vec_push(&codec->ips, ip);
}

static void set_type(struct service_codec *codec, struct slice text)
{
	for (size_t i = 0; i < ARRAY_LEN(types); i++) {
		if (slice_is(text, types[i].name))
			codec->type = types[i].type;
	}
}

static void on_text(struct service_codec *codec, int id, struct slice text)
{
	switch (id) {
	case TYPE:
		set_type(codec, text);
		break;
	case EXTERNAL_NAME:
		codec->external_name = compact_text(&codec->compact.kept, text);
		break;
	case CLUSTER_IP:
		strbuf_reset(&codec->cluster_ip);
		strbuf_add_slice(&codec->cluster_ip, text);
		break;
	case CLUSTER_IPS:
		add_ip(codec, text);
		break;
	case EXTERNAL_IP:
		vec_push(&codec->external, compact_text(&codec->compact.kept, text));
		break;
	case INGRESS_IP:
		codec->ingress_ip = compact_text(&codec->compact.kept, text);
		break;
	case INGRESS_HOST:
		codec->ingress_host = compact_text(&codec->compact.kept, text);
		break;
	default:
		break;
	}
}

static int on_value(void *ctx, int id, enum kube_json_type type, struct slice text)
{
	struct service_codec *c = ctx;
	if (id < COMPACT_OWN)
		return compact_value(&c->compact, id, type, text);
	if (id == INGRESS && type == KUBE_JSON_MAP)
		c->ingress_ip = c->ingress_host = 0;
	else if (id == INGRESS && type == KUBE_JSON_END)
		vec_push(&c->ingress, c->ingress_ip != 0 ? c->ingress_ip : c->ingress_host);
	else if (type == KUBE_JSON_STRING)
		on_text(c, id, text);
	return 0;
}

static void service_free(struct kube_obj *obj)
{
	const struct kube_service *s = kube_service_of(obj);
	compact_ports_drop(s->ports, s->n_ports);
	kube_string_pool_drop(obj->ns);
	free(obj);
}

/* Those of the external texts that are addresses. */
static void read_external(struct service_codec *codec)
{
	codec->external_ips.n = 0;
	for (size_t i = 0; i < codec->external.n + codec->ingress.n; i++) {
		uint32_t at = i < codec->external.n ? codec->external.v[i]
						    : codec->ingress.v[i - codec->external.n];
		struct kube_ip ip;
		if (kube_ip_parse(slice_of(codec->compact.kept.s + at), &ip) == 0)
			vec_push(&codec->external_ips, ip);
	}
}

static struct kube_obj *build_service(const struct service_codec *codec)
{
	uint32_t n_ports = compact_n_ports(&codec->compact);
	size_t n_ips = codec->headless ? 0 : codec->ips.n,
	       n_ext = codec->external.n + codec->ingress.n;
	struct kube_service *v = xmalloc(
		sizeof(*v) + n_ports * sizeof(struct kube_port) + n_ext * sizeof(char *) +
		(n_ips + codec->external_ips.n) * sizeof(struct kube_ip) + codec->compact.kept.n);
	struct kube_port *ports = (struct kube_port *)(v + 1);
	const char **external = (const char **)(ports + n_ports);
	struct kube_ip *ips = (struct kube_ip *)(external + n_ext);
	char *text = (char *)(ips + n_ips + codec->external_ips.n);
	compact_head(&codec->compact, &v->o, text, service_free);
	compact_ports(&codec->compact, ports);
	for (size_t i = 0; i < n_ext; i++)
		external[i] =
			text + (i < codec->external.n ? codec->external.v[i]
						      : codec->ingress.v[i - codec->external.n]);
	if (n_ips != 0)
		memcpy(ips, codec->ips.v, n_ips * sizeof(*ips));
	if (codec->external_ips.n != 0)
		memcpy(ips + n_ips, codec->external_ips.v, codec->external_ips.n * sizeof(*ips));
	v->type = codec->type;
	v->headless = codec->headless;
	v->n_ports = n_ports;
	v->n_ips = (uint32_t)n_ips;
	v->n_external = (uint32_t)n_ext;
	v->external_name = text + codec->external_name;
	v->ports = ports;
	v->ips = ips;
	v->external = external;
	v->n_external_ips = (uint32_t)codec->external_ips.n;
	v->external_ips = ips + n_ips;
	return &v->o;
}

static int service_decode(struct kube_codec *codec, struct slice json, struct kube_obj **ret)
{
	struct service_codec *c = (struct service_codec *)codec;
	compact_begin(&c->compact);
	c->type = KUBE_SERVICE_CLUSTER_IP;
	c->external_name = 0;
	c->ips.n = c->external.n = c->ingress.n = c->n_cluster_ips = 0;
	c->headless = false;
	strbuf_reset(&c->cluster_ip);
	int r = compact_read(&c->compact, json, on_value, c);
	if (r < 0)
		return r;
	if (c->n_cluster_ips == 0)
		add_ip(c, strbuf_slice(&c->cluster_ip));
	read_external(c);
	*ret = build_service(c);
	return 0;
}

static void service_codec_free(struct kube_codec *codec)
{
	struct service_codec *c = (struct service_codec *)codec;
	compact_done(&c->compact);
	strbuf_done(&c->cluster_ip);
	vec_done(&c->ips);
	vec_done(&c->external_ips);
	vec_done(&c->external);
	vec_done(&c->ingress);
	free(c);
}

struct kube_codec *kube_service_codec(struct kube_string_pool *pool)
{
	struct service_codec *c = xcalloc(1, sizeof(*c));
	compact_init(&c->compact, "Service", pool, rows, ARRAY_LEN(rows));
	c->compact.codec =
		(struct kube_codec){ .decode = service_decode, .free = service_codec_free };
	strbuf_init(&c->cluster_ip);
	return &c->compact.codec;
}
