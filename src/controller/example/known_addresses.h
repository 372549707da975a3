/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The results of lookups until their TTLs end. Without them each event of a Namespace or its copy, our
 * own write included, would start a lookup. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "controller/controller.h"

enum example_known {
	EXAMPLE_UNKNOWN, /* nothing is known of the key: the process has just started */
	EXAMPLE_OTHER,	 /* the last result is that of another name */
	EXAMPLE_EXPIRED, /* `ret` has the last addresses of this name */
	EXAMPLE_CURRENT, /* the same, and they hold for *ret_left_ns */
};

/* Any worker. */
enum example_known example_known_addresses(const struct controller_ctx *ctx, const char *key,
					   const char *name, struct strbuf *ret,
					   uint64_t *ret_left_ns);
void example_keep_addresses(const struct controller_ctx *ctx, const char *key, const char *name,
			    const char *addresses, uint64_t ttl_ns);
void example_forget_addresses(const struct controller_ctx *ctx, const char *key);
/* All of them; when nothing runs any more. */
void example_known_addresses_done(void *state);
