/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The addresses of the name that a Namespace's annotation has: work that completes later. */
#pragma once

#include "base/strbuf.h"
#include "controller/controller.h"

#define EXAMPLE_LOOKUP_ANNOTATION    "example.fairlead.dev/lookup"
#define EXAMPLE_ADDRESSES_ANNOTATION "example.fairlead.dev/addresses"

enum example_addresses {
	EXAMPLE_NO_LOOKUP, /* the Namespace has no such annotation, or an invalid name in it */
	EXAMPLE_LATER,	   /* the key comes again when they are known */
	EXAMPLE_FOUND,	   /* `ret` has them, separated by spaces; "" for none */
	EXAMPLE_FAILED,	   /* the lookup failed, which was reported; the key comes again */
};

/* Submits the lookup, or takes its result and sets ctx->again_ns to its TTL. */
enum example_addresses example_addresses_of(struct controller_ctx *ctx, const char *key,
					    const json_t *ns, struct strbuf *ret);
