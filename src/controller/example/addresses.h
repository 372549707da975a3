/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The addresses of the name that a Namespace's annotation has: work that completes later. */
#pragma once

#include "base/strbuf.h"
#include "controller/controller.h"

#define EXAMPLE_ADDRESSES_ANNOTATION "example.fairlead.dev/addresses"

enum example_addresses {
	EXAMPLE_NO_LOOKUP, /* there is no name, or an invalid one */
	EXAMPLE_LATER,	   /* the key comes again when they are known */
	EXAMPLE_FOUND,	   /* `ret` has them, separated by spaces; "" for none */
	/* The lookup failed, which was reported, and nothing is known from before: the key comes
	 * again. */
	EXAMPLE_FAILED,
};

/* Submits the lookup of `name` ("": none), or takes its result and sets ctx->again_ns to its TTL, for
 * which it is kept. The last result stays when a lookup of the same name fails. What
 * fails is reported by Events about `regarding`. */
enum example_addresses example_addresses_of(struct controller_ctx *ctx, const char *key,
					    const char *name, const json_t *regarding,
					    struct strbuf *ret);
