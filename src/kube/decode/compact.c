/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The part that the decoders of compact objects share: names, namespaces, ports and addresses. */
#include "kube/decode/compact.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "kube/decode/compact_priv.h"

int kube_ip_parse(struct slice text, struct kube_ip *ret)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	char buf[INET6_ADDRSTRLEN];
	struct kube_ip ip;
	if (text.n == 0 || text.n >= sizeof(buf) || memchr(text.p, 0, text.n) != NULL)
		return ERR_PARSE;
	memcpy(buf, text.p, text.n);
	buf[text.n] = '\0';
	if (inet_pton(AF_INET, buf, ip.b + 12) == 1)
		memcpy(ip.b, mapped, sizeof(mapped));
	else if (inet_pton(AF_INET6, buf, ip.b) != 1)
		return ERR_PARSE;
	*ret = ip;
	return 0;
}

bool kube_ip_is4(const struct kube_ip *ip)
{
	return memcmp(ip->b, "\0\0\0\0\0\0\0\0\0\0\xff\xff", 12) == 0;
}

void compact_init(struct compact *compact, const char *kind, struct kube_string_pool *pool,
		  const struct kube_filter_row *rows, size_t count)
{
	compact->kind = kind;
	compact->pool = pool;
	compact->filter = kube_filter_new(rows, count);
	strbuf_init(&compact->kept);
	strbuf_init(&compact->shared);
}

void compact_done(struct compact *compact)
{
	kube_filter_free(compact->filter);
	strbuf_done(&compact->kept);
	strbuf_done(&compact->shared);
	vec_done(&compact->ports);
}

void compact_begin(struct compact *compact)
{
	strbuf_reset(&compact->kept);
	strbuf_reset(&compact->shared);
	strbuf_addc(&compact->kept, '\0');
	strbuf_addc(&compact->shared, '\0');
	compact->name = compact->rv = compact->ns = 0;
	compact->ports.n = 0;
}

uint32_t compact_text(struct strbuf *out, struct slice text)
{
	if (text.n == 0)
		return 0;
	uint32_t at = (uint32_t)out->n; /* below KUBE_FRAME_OBJECT_MAX and some */
	strbuf_add_slice(out, text);
	strbuf_addc(out, '\0');
	return at;
}

static int port_number(struct compact_port *port, struct slice text)
{
	uint64_t v;
	if (slice_u64(text, &v) < 0 || v > 65535)
		return ERR_RANGE;
	port->port = (int32_t)v;
	return 0;
}

static int port_value(struct compact *compact, int id, enum kube_json_type type, struct slice text)
{
	if (id == COMPACT_PORT) {
		if (type == KUBE_JSON_MAP)
			vec_push(&compact->ports, (struct compact_port){ .port = -1 });
		return 0;
	}
	if (compact->ports.n == 0)
		return 0;
	struct compact_port *p = &compact->ports.v[compact->ports.n - 1];
	if (id == COMPACT_PORT_NUMBER && type == KUBE_JSON_NUMBER)
		return port_number(p, text);
	if (id == COMPACT_PORT_NAME && type == KUBE_JSON_STRING)
		p->name = compact_text(&compact->shared, text);
	if (id == COMPACT_PORT_PROTOCOL && type == KUBE_JSON_STRING)
		p->protocol = compact_text(&compact->shared, text);
	return 0;
}

int compact_value(struct compact *compact, int id, enum kube_json_type type, struct slice text)
{
	if (id >= COMPACT_PORT)
		return port_value(compact, id, type, text);
	if (id < 0 || type != KUBE_JSON_STRING)
		return 0;
	/* Items of a list have no kind. */
	if (id == COMPACT_KIND && !slice_is(text, compact->kind))
		return ERR_TYPE;
	if (id == COMPACT_NAME)
		compact->name = compact_text(&compact->kept, text);
	if (id == COMPACT_RV)
		compact->rv = compact_text(&compact->kept, text);
	if (id == COMPACT_NS)
		compact->ns = compact_text(&compact->shared, text);
	return 0;
}

int compact_read(const struct compact *compact, struct slice json, kube_filter_fn fn, void *ctx)
{
	int r = kube_filter_parse(compact->filter, json, fn, ctx);
	return r == 0 && compact->name == 0 ? ERR_PARSE : r;
}

void compact_head(const struct compact *compact, struct kube_obj *obj, char *text,
		  void (*fn)(struct kube_obj *obj))
{
	memcpy(text, compact->kept.s, compact->kept.n);
	obj->ns = compact_share(compact, compact->ns);
	obj->name = text + compact->name;
	obj->rv = text + compact->rv;
	obj->free = fn;
	obj->mark = obj->at = 0;
	obj->ignore = false;
	atomic_init(&obj->refs, 1);
}

void compact_ports(const struct compact *compact, struct kube_port *out)
{
	if (compact->ports.n == 0)
		*out = (struct kube_port){ .name = compact_share(compact, 0),
					   .protocol = compact_share(compact, 0),
					   .port = -1 };
	for (size_t i = 0; i < compact->ports.n; i++) {
		const struct compact_port *p = &compact->ports.v[i];
		out[i] = (struct kube_port){ .name = compact_share(compact, p->name),
					     .protocol = compact_share(compact, p->protocol),
					     .port = p->port };
	}
}

void compact_ports_drop(const struct kube_port *port, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		kube_string_pool_drop(port[i].name);
		kube_string_pool_drop(port[i].protocol);
	}
}
