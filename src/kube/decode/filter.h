/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads only the wanted parts of a JSON text, without building a tree: a table lists the wanted
 * paths, a callback gets their values, everything else is skipped while it is tokenised.
 *
 * Paths: "metadata.name", "spec.ports[].name" (all elements), "metadata.labels[example.org/x]" (a
 * key with dots), "metadata.labels.*" (any key), "" (the whole object). */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/compiler.h"
#include "base/slice.h"
#include "kube/decode/json_type.h"

enum {
	KUBE_FILTER_DEEP = 1, /* all that lies below, too */
	KUBE_FILTER_DROP = 2, /* nothing of it, in spite of a deep row above */
};

struct kube_filter_row {
	const char *path;
	int id; /* 0 and up */
	unsigned flags;
};

/* `id` of the row the path belongs to (of the deep row above it, inside such), or -1 on the way
 * there. `text` is the callee's until it returns. Negative: stop, and this is the result. */
typedef int (*kube_filter_fn)(void *ctx, int id, enum kube_json_type type, struct slice text);

struct kube_filter;

/* Paths are the program's own: a malformed one aborts. */
struct kube_filter *kube_filter_new(const struct kube_filter_row *rows, size_t count);
void kube_filter_free(struct kube_filter *filter);
/* From now on the callback gets strings, numbers, true, false and null, no keys and no containers. */
void kube_filter_only_scalars(struct kube_filter *filter);

/* One value, nothing behind it. ERR_PARSE: no JSON; ERR_LIMIT: nested too deeply. Any thread. */
MUST_CHECK int kube_filter_parse(const struct kube_filter *filter, struct slice json,
				 kube_filter_fn fn, void *ctx);
