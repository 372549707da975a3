/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Ending the health checks that a resolver runs. */
#pragma once

#include "resolve/types_priv.h"

/* Ends this resolver's check of `upstream`, or all of them with NULL. */
void resolve_health_stop(struct resolver *resolver, const struct resolve_upstream *upstream);
