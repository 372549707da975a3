/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The resolver of one loop: it owns sockets and connections to upstreams, and runs exchanges. */
#pragma once

#include "resolve/types.h"

struct resolver *resolver_new(const struct resolver_env *env);
/* Ends all exchanges without calling them back. */
void resolver_free(struct resolver *resolver);
void resolver_flush(struct resolver *resolver);
const struct resolver_stats *resolver_stats(const struct resolver *resolver);

/* Starts it; done comes later, never from inside. Errors (a query without its one question, no
 * descriptor, too much under way) come through done as well. */
void resolve_start(struct resolver *resolver, struct resolve_exchange *exchange);
