/* What the decoders have in common: they collect texts and offsets while they read, and build
 * the object when all was well. */
#pragma once

#include "base/strbuf.h"
#include "base/vec.h"
#include "kube/sax.h"
#include "kube/slim.h"

/* Ids of the rows every kind has; a kind's own start at SLIM_OWN. */
enum {
	SLIM_KIND,
	SLIM_NAME,
	SLIM_NS,
	SLIM_RV,
	SLIM_PORT,
	SLIM_PORT_NAME,
	SLIM_PORT_PROTOCOL,
	SLIM_PORT_NUMBER,
	SLIM_OWN
};

#define SLIM_ROWS                                                    \
	{ "kind", SLIM_KIND, 0 }, { "metadata.name", SLIM_NAME, 0 }, \
		{ "metadata.namespace", SLIM_NS, 0 },                \
	{                                                            \
		"metadata.resourceVersion", SLIM_RV, 0               \
	}

struct slim_port {
	uint32_t name, protocol;
	int32_t port;
};

struct slim {
	struct kube_codec codec;
	const char *kind;
	struct kube_sax *sax;
	struct kube_intern *intern;

	/* Of the object at hand: texts that go with it, and those that are interned at the end.
	 * Offset 0 is "". */
	struct strbuf kept, shared;
	uint32_t name, rv, ns;
	VEC(struct slim_port) ports;
};

void slim_init(struct slim *slim, const char *kind, struct kube_intern *intern,
	       const struct kube_sax_row *rows, size_t count);
void slim_done(struct slim *slim);
void slim_begin(struct slim *slim);
/* The rows of all kinds. */
MUST_CHECK int slim_value(struct slim *slim, int id, enum kube_sax_type type, struct slice text);
/* Reads an object with `fn`, and looks whether it is whole: ERR_PARSE when it has no name. */
MUST_CHECK int slim_read(const struct slim *slim, struct slice json, kube_sax_fn fn, void *ctx);

/* Copies; the offset. */
uint32_t slim_text(struct strbuf *out, struct slice text);
static inline const char *slim_intern(const struct slim *slim, uint32_t at)
{
	return kube_intern_get(slim->intern, slice_of(slim->shared.s + at));
}

/* Fills the head of an object that was allocated with room for the texts at `text`. */
void slim_head(const struct slim *slim, struct kube_obj *obj, char *text,
	       void (*fn)(struct kube_obj *o));
/* At least one: CoreDNS's sentinel of port -1 when there are none. */
static inline uint32_t slim_n_ports(const struct slim *slim)
{
	return slim->ports.n != 0 ? (uint32_t)slim->ports.n : 1;
}
void slim_ports(const struct slim *slim, struct kube_port *out);
void slim_ports_drop(const struct kube_port *port, uint32_t count);
