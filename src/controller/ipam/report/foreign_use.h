/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Addresses of a pool that IPAddresses of other providers have. They are never allocated; those that were
 * allocated before are in use twice. */
#pragma once

#include <stdint.h>

#include "base/strbuf.h"
#include "controller/controller.h"
#include "controller/ipam/allocation/pool_spec.h"

/* Appends a sentence about them, nothing if there are none. Returns how many of the pool's addresses only
 * other providers have. O(n log n) in the number of their addresses. */
int64_t ipam_find_foreign_use(const struct controller_ctx *ctx, const char *pool_key,
			      const struct ipam_pool_spec *spec, struct strbuf *out);
