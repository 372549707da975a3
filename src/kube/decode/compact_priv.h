/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The part that the decoders of compact objects share: they collect texts and offsets while they read,
 * and build the object at the end. */
#pragma once

#include "base/strbuf.h"
#include "base/vec.h"
#include "kube/decode/compact.h"
#include "kube/decode/filter.h"

/* Ids of the rows every kind has; a kind's own start at COMPACT_OWN. */
enum {
	COMPACT_KIND,
	COMPACT_NAME,
	COMPACT_NS,
	COMPACT_RV,
	COMPACT_PORT,
	COMPACT_PORT_NAME,
	COMPACT_PORT_PROTOCOL,
	COMPACT_PORT_NUMBER,
	COMPACT_OWN
};

#define COMPACT_ROWS                                                       \
	{ "kind", COMPACT_KIND, 0 }, { "metadata.name", COMPACT_NAME, 0 }, \
		{ "metadata.namespace", COMPACT_NS, 0 },                   \
	{                                                                  \
		"metadata.resourceVersion", COMPACT_RV, 0                  \
	}

struct compact_port {
	uint32_t name, protocol;
	int32_t port;
};

struct compact {
	struct kube_codec codec;
	const char *kind;
	struct kube_filter *filter;
	struct kube_string_pool *pool;

	/* Of the object at hand: texts that go with it, and those that are interned at the end.
	 * Offset 0 is "". */
	struct strbuf kept, shared;
	uint32_t name, rv, ns;
	VEC(struct compact_port) ports;
};

void compact_init(struct compact *compact, const char *kind, struct kube_string_pool *pool,
		  const struct kube_filter_row *rows, size_t count);
void compact_done(struct compact *compact);
void compact_begin(struct compact *compact);
/* The rows of all kinds. */
MUST_CHECK int compact_value(struct compact *compact, int id, enum kube_json_type type,
			     struct slice text);
/* Reads an object with `fn`. ERR_PARSE when it has no name. */
MUST_CHECK int compact_read(const struct compact *compact, struct slice json, kube_filter_fn fn,
			    void *ctx);

/* Copies; the offset. */
uint32_t compact_text(struct strbuf *out, struct slice text);
static inline const char *compact_share(const struct compact *compact, uint32_t at)
{
	return kube_string_pool_get(compact->pool, slice_of(compact->shared.s + at));
}

/* Fills the head of an object that was allocated with room for the texts at `text`. */
void compact_head(const struct compact *compact, struct kube_obj *obj, char *text,
		  void (*fn)(struct kube_obj *obj));
/* At least one: CoreDNS's sentinel of port -1 when there are none. */
static inline uint32_t compact_n_ports(const struct compact *compact)
{
	return compact->ports.n != 0 ? (uint32_t)compact->ports.n : 1;
}
void compact_ports(const struct compact *compact, struct kube_port *out);
void compact_ports_drop(const struct kube_port *port, uint32_t count);
