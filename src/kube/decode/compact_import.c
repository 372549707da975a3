/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Decodes ServiceImports (multicluster.x-k8s.io) into the Services they stand for. */
#include "kube/decode/compact_import.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "kube/decode/compact_priv.h"

enum { TYPE = COMPACT_OWN, IPS };

static const struct kube_filter_row rows[] = {
	COMPACT_ROWS,
	{ "spec.type", TYPE, 0 },
	{ "spec.ips[]", IPS, 0 },
	{ "spec.ports[]", COMPACT_PORT, 0 },
	{ "spec.ports[].name", COMPACT_PORT_NAME, 0 },
	{ "spec.ports[].protocol", COMPACT_PORT_PROTOCOL, 0 },
	{ "spec.ports[].port", COMPACT_PORT_NUMBER, 0 },
};

struct import_codec {
	struct compact compact;
	bool headless;
	VEC(struct kube_ip) ips;
};

static int on_value(void *ctx, int id, enum kube_json_type type, struct slice text)
{
	struct import_codec *c = ctx;
	struct kube_ip ip;
	if (id < COMPACT_OWN)
		return compact_value(&c->compact, id, type, text);
	if (type != KUBE_JSON_STRING)
		return 0;
	if (id == TYPE)
		c->headless = slice_is(text, "Headless");
	else if (kube_ip_parse(text, &ip) == 0)
		vec_push(&c->ips, ip);
	return 0;
}

static void import_free(struct kube_obj *obj)
{
	const struct kube_service *s = kube_service_of(obj);
	compact_ports_drop(s->ports, s->n_ports);
	kube_string_pool_drop(obj->ns);
	free(obj);
}

/* Without ports it has none: CoreDNS's sentinel is for Services only. */
static struct kube_obj *build_import(const struct import_codec *codec)
{
	uint32_t n_ports = (uint32_t)codec->compact.ports.n;
	size_t n_ips = codec->ips.n;
	struct kube_service *v =
		xcalloc(1, sizeof(*v) + n_ports * sizeof(struct kube_port) +
				   n_ips * sizeof(struct kube_ip) + codec->compact.kept.n);
	struct kube_port *ports = (struct kube_port *)(v + 1);
	struct kube_ip *ips = (struct kube_ip *)(ports + n_ports);
	compact_head(&codec->compact, &v->o, (char *)(ips + n_ips), import_free);
	if (n_ports != 0)
		compact_ports(&codec->compact, ports);
	if (n_ips != 0)
		memcpy(ips, codec->ips.v, n_ips * sizeof(*ips));
	v->type = KUBE_SERVICE_CLUSTER_IP;
	v->headless = codec->headless;
	v->n_ports = n_ports;
	v->n_ips = (uint32_t)n_ips;
	v->external_name = "";
	v->ports = ports;
	v->ips = ips;
	return &v->o;
}

static int import_decode(struct kube_codec *codec, struct slice json, struct kube_obj **ret)
{
	struct import_codec *c = (struct import_codec *)codec;
	compact_begin(&c->compact);
	c->headless = false;
	c->ips.n = 0;
	int r = compact_read(&c->compact, json, on_value, c);
	if (r == 0)
		*ret = build_import(c);
	return r;
}

static void import_codec_free(struct kube_codec *codec)
{
	struct import_codec *c = (struct import_codec *)codec;
	compact_done(&c->compact);
	vec_done(&c->ips);
	free(c);
}

struct kube_codec *kube_import_codec(struct kube_string_pool *pool)
{
	struct import_codec *c = xcalloc(1, sizeof(*c));
	compact_init(&c->compact, "ServiceImport", pool, rows, ARRAY_LEN(rows));
	c->compact.codec =
		(struct kube_codec){ .decode = import_decode, .free = import_codec_free };
	return &c->compact.codec;
}
