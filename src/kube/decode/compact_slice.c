/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Decodes EndpointSlices into compact objects. */
#include "kube/decode/compact_slice.h"

#include <stdlib.h>
#include <string.h>

#include "api/time.h"
#include "base/err.h"
#include "base/mem.h"
#include "kube/decode/compact_priv.h"

enum { SERVICE = COMPACT_OWN, CLUSTER, TRIGGER, ENDPOINT, ADDRESS, READY, HOSTNAME, ZONE, TARGET };

/* A pod's name that is no label cannot be a part of a name. */
enum { TARGET_MAX = 63 };

/* clang-format off */
#define SLICE_ROWS \
	COMPACT_ROWS, \
	{ "metadata.annotations[endpoints.kubernetes.io/last-change-trigger-time]", TRIGGER, 0 }, \
	{ "ports[]", COMPACT_PORT, 0 }, \
	{ "ports[].name", COMPACT_PORT_NAME, 0 }, \
	{ "ports[].protocol", COMPACT_PORT_PROTOCOL, 0 }, \
	{ "ports[].port", COMPACT_PORT_NUMBER, 0 }, \
	{ "endpoints[]", ENDPOINT, 0 }, \
	{ "endpoints[].addresses[]", ADDRESS, 0 }, \
	{ "endpoints[].conditions.ready", READY, 0 }, \
	{ "endpoints[].hostname", HOSTNAME, 0 }

static const struct kube_filter_row rows[] = {
	SLICE_ROWS,
	{ "metadata.labels[kubernetes.io/service-name]", SERVICE, 0 },
};

static const struct kube_filter_row imported_rows[] = {
	SLICE_ROWS,
	{ "metadata.labels[multicluster.kubernetes.io/service-name]", SERVICE, 0 },
	{ "metadata.labels[multicluster.kubernetes.io/source-cluster]", CLUSTER, 0 },
};

static const struct {
	unsigned keep;
	struct kube_filter_row row;
} wished[] = {
	{ KUBE_SLICE_ZONES, { "endpoints[].zone", ZONE, 0 } },
	{ KUBE_SLICE_TARGETS, { "endpoints[].targetRef.name", TARGET, 0 } },
};
/* clang-format on */

struct found {
	struct kube_ip ip;
	uint32_t hostname, target, zone;
};

struct slice_codec {
	struct compact compact;
	uint32_t service, cluster;
	uint64_t trigger_ns;
	VEC(struct found) found;
	/* Of the endpoint at hand: */
	size_t first; /* its addresses */
	bool ready;
	uint32_t hostname, target, zone;
};

static void endpoint_begin(struct slice_codec *codec)
{
	codec->first = codec->found.n;
	codec->ready = true;
	codec->hostname = codec->target = codec->zone = 0;
}

static void endpoint_end(struct slice_codec *codec)
{
	if (!codec->ready)
		codec->found.n = codec->first;
	for (size_t i = codec->first; i < codec->found.n; i++) {
		struct found *f = &codec->found.v[i];
		f->hostname = codec->hostname;
		f->target = codec->target;
		f->zone = codec->zone;
	}
}

static void add_address(struct slice_codec *codec, struct slice text)
{
	struct kube_ip ip;
	if (kube_ip_parse(text, &ip) == 0)
		vec_push(&codec->found, (struct found){ .ip = ip });
}

static uint32_t lower_text(struct strbuf *out, struct slice text)
{
	uint32_t at = compact_text(out, text);
	for (char *p = out->s + at; *p != '\0'; p++)
		*p = ascii_lower(*p);
	return at;
}

/* One that is no time is as good as none. */
static uint64_t read_time(struct slice text)
{
	char copy[64];
	uint64_t ns;
	if (text.n >= sizeof(copy))
		return 0;
	memcpy(copy, text.p, text.n);
	copy[text.n] = '\0';
	return api_time_parse(copy, &ns) == 0 ? ns : 0;
}

static void on_text(struct slice_codec *codec, int id, struct slice text)
{
	switch (id) {
	case SERVICE:
		codec->service = compact_text(&codec->compact.shared, text);
		break;
	case CLUSTER:
		codec->cluster = compact_text(&codec->compact.shared, text);
		break;
	case TRIGGER:
		codec->trigger_ns = read_time(text);
		break;
	case ADDRESS:
		add_address(codec, text);
		break;
	case HOSTNAME:
		codec->hostname = compact_text(&codec->compact.kept, text);
		break;
	case ZONE:
		codec->zone = lower_text(&codec->compact.shared, text);
		break;
	case TARGET:
		if (text.n <= TARGET_MAX)
			codec->target = compact_text(&codec->compact.kept, text);
		break;
	default:
		break;
	}
}

static int on_value(void *ctx, int id, enum kube_json_type type, struct slice text)
{
	struct slice_codec *c = ctx;
	if (id < COMPACT_OWN)
		return compact_value(&c->compact, id, type, text);
	if (id == ENDPOINT && type == KUBE_JSON_MAP)
		endpoint_begin(c);
	else if (id == ENDPOINT && type == KUBE_JSON_END)
		endpoint_end(c);
	else if (id == READY && (type == KUBE_JSON_TRUE || type == KUBE_JSON_FALSE))
		c->ready = type == KUBE_JSON_TRUE;
	else if (type == KUBE_JSON_STRING)
		on_text(c, id, text);
	return 0;
}

static void slice_free(struct kube_obj *obj)
{
	const struct kube_slice *s = kube_slice_of(obj);
	for (uint32_t i = 0; i < s->n_endpoints; i++)
		kube_string_pool_drop(s->endpoints[i].zone);
	compact_ports_drop(s->ports, s->n_ports);
	kube_string_pool_drop(s->service);
	kube_string_pool_drop(s->cluster);
	kube_string_pool_drop(obj->ns);
	free(obj);
}

static struct kube_obj *build_slice(const struct slice_codec *codec)
{
	uint32_t n_ports = compact_n_ports(&codec->compact);
	struct kube_slice *v =
		xmalloc(sizeof(*v) + n_ports * sizeof(struct kube_port) +
			codec->found.n * sizeof(struct kube_endpoint) + codec->compact.kept.n);
	struct kube_port *ports = (struct kube_port *)(v + 1);
	struct kube_endpoint *e = (struct kube_endpoint *)(ports + n_ports);
	char *text = (char *)(e + codec->found.n);
	compact_head(&codec->compact, &v->o, text, slice_free);
	compact_ports(&codec->compact, ports);
	for (size_t i = 0; i < codec->found.n; i++) {
		const struct found *f = &codec->found.v[i];
		e[i] = (struct kube_endpoint){ .ip = f->ip,
					       .zone = compact_share(&codec->compact, f->zone),
					       .hostname = f->hostname,
					       .target = f->target };
	}
	v->service = compact_share(&codec->compact, codec->service);
	v->cluster = compact_share(&codec->compact, codec->cluster);
	v->trigger_ns = codec->trigger_ns;
	v->n_ports = n_ports;
	v->n_endpoints = (uint32_t)codec->found.n;
	v->ports = ports;
	v->endpoints = e;
	v->text = text;
	return &v->o;
}

static int slice_decode(struct kube_codec *codec, struct slice json, struct kube_obj **ret)
{
	struct slice_codec *c = (struct slice_codec *)codec;
	compact_begin(&c->compact);
	c->service = c->cluster = 0;
	c->trigger_ns = 0;
	c->found.n = 0;
	endpoint_begin(c);
	int r = compact_read(&c->compact, json, on_value, c);
	if (r == 0)
		*ret = build_slice(c);
	return r;
}

static void slice_codec_free(struct kube_codec *codec)
{
	struct slice_codec *c = (struct slice_codec *)codec;
	compact_done(&c->compact);
	vec_done(&c->found);
	free(c);
}

static struct kube_codec *codec_new(struct kube_string_pool *pool, unsigned keep,
				    const struct kube_filter_row *always, size_t count)
{
	struct kube_filter_row all[ARRAY_LEN(imported_rows) + ARRAY_LEN(wished)];
	struct slice_codec *c = xcalloc(1, sizeof(*c));
	memcpy(all, always, count * sizeof(*always));
	for (size_t i = 0; i < ARRAY_LEN(wished); i++) {
		if ((keep & wished[i].keep) != 0)
			all[count++] = wished[i].row;
	}
	compact_init(&c->compact, "EndpointSlice", pool, all, count);
	c->compact.codec = (struct kube_codec){ .decode = slice_decode, .free = slice_codec_free };
	return &c->compact.codec;
}

struct kube_codec *kube_slice_codec(struct kube_string_pool *pool, unsigned keep)
{
	return codec_new(pool, keep, rows, ARRAY_LEN(rows));
}

struct kube_codec *kube_imported_slice_codec(struct kube_string_pool *pool, unsigned keep)
{
	return codec_new(pool, keep, imported_rows, ARRAY_LEN(imported_rows));
}
