/* The resolver's inside: entering and leaving it, its pools, what is to be sent. */
#pragma once

#include "resolve/resolve_priv.h"

void resolver_enter(struct resolver *resolver);
/* Calls what is ready back, frees closed links. */
void resolver_leave(struct resolver *resolver);
/* Frees closed links, unless somebody is working on one. */
void resolver_bury(struct resolver *resolver);
/* Something waits for resolver_flush. */
void resolver_arm(struct resolver *resolver);
/* Exchanges that wait for a connection are looked at in the next flush. */
void resolver_pump(struct resolver *resolver);
struct resolve_pool *resolver_pool(struct resolver *resolver,
				   const struct resolve_upstream *upstream);
