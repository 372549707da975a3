/* Reads JSON without building a tree: a table says which paths are wanted, all else is skipped
 * while it is tokenised.
 *
 * Paths: "metadata.name", "spec.ports[].name" (all elements), "metadata.labels[example.org/x]" (a
 * key with dots), "metadata.labels.*" (any key), "" (the whole object). */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/compiler.h"
#include "base/slice.h"

enum {
	KUBE_SAX_DEEP = 1, /* all that lies below, too */
	KUBE_SAX_DROP = 2, /* nothing of it, in spite of a deep row above */
};

struct kube_sax_row {
	const char *path;
	int id; /* 0 and up */
	unsigned flags;
};

enum kube_sax_type {
	KUBE_SAX_STRING,
	KUBE_SAX_NUMBER, /* as it was written */
	KUBE_SAX_TRUE,
	KUBE_SAX_FALSE,
	KUBE_SAX_NULL,
	KUBE_SAX_KEY, /* of the value that follows */
	KUBE_SAX_MAP, /* ... KUBE_SAX_END */
	KUBE_SAX_ARRAY,
	KUBE_SAX_END,
};

/* `id` of the row the path belongs to (of the deep row above it, inside such), or -1 on the way
 * there. `text` is the callee's until it returns. Negative: stop, and this is the result. */
typedef int (*kube_sax_fn)(void *ctx, int id, enum kube_sax_type type, struct slice text);

struct kube_sax;

/* Paths are the program's own: a malformed one aborts. */
struct kube_sax *kube_sax_new(const struct kube_sax_row *rows, size_t count);
void kube_sax_free(struct kube_sax *sax);

/* One value, nothing behind it. ERR_PARSE: no JSON; ERR_LIMIT: nested too deeply. Any thread. */
MUST_CHECK int kube_sax_parse(const struct kube_sax *sax, struct slice json, kube_sax_fn fn,
			      void *ctx);
