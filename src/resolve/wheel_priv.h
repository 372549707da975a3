/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Deadlines of exchanges: adding, removing, and ending those that are due. */
#pragma once

#include "resolve/types_priv.h"

void wheel_add(struct resolver *resolver, struct resolve_exchange *exchange);
void wheel_remove(struct resolver *resolver, struct resolve_exchange *exchange);
void wheel_fire(struct loop_timer *t);
