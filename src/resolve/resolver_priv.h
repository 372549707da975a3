/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The resolver's inside: entering and leaving it, its pools, what is to be sent. */
#pragma once

#include "resolve/types_priv.h"

void resolver_enter(struct resolver *resolver);
/* Calls what is ready back, frees closed links. */
void resolver_leave(struct resolver *resolver);
/* Frees closed links, unless a caller further up may still use one (depth). */
void resolver_bury(struct resolver *resolver);
/* Something waits for resolver_flush. */
void resolver_arm(struct resolver *resolver);
/* The next flush assigns connections to exchanges that wait for one. */
void resolver_pump(struct resolver *resolver);
struct resolve_pool *resolver_pool(struct resolver *resolver,
				   const struct resolve_upstream *upstream);
