/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Deadlines of exchanges: adding, removing, and ending those that are due. */
#pragma once

#include "resolve/types_priv.h"

/* On the resolver's loop thread. add: exchange->deadline_ns must be set; remove: only what was
 * added. wheel_fire is the timer's callback: exchanges that are due fail with RESOLVE_TIMEOUT. */
void wheel_add(struct resolver *resolver, struct resolve_exchange *exchange);
void wheel_remove(struct resolver *resolver, struct resolve_exchange *exchange);
void wheel_fire(struct loop_timer *timer);
