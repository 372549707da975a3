/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Health of upstreams. No probe is sent while all is well: a check starts when an exchange failed,
 * asks at once and then every interval until any DNS reply comes. One resolver of all threads runs
 * it, the one that came first. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "resolve/types.h"

/* After an exchange failed. Starts a check on this resolver's loop unless one runs somewhere. */
void resolve_health_kick(struct resolver *resolver, struct resolve_upstream *upstream);

/* More probes in a row failed than allowed; with max_fails 0 never. Any thread. */
static inline bool resolve_upstream_down(const struct resolve_upstream *upstream,
					 uint32_t max_fails)
{
	return max_fails != 0 &&
	       atomic_load_explicit(&upstream->fails, memory_order_relaxed) > max_fails;
}
