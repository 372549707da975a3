/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sending exchanges over UDP. */
#pragma once

#include "resolve/types_priv.h"

void resolve_udp_enqueue(struct resolve_pool *pool, struct resolve_exchange *exchange);
void resolve_udp_prepare(struct resolver *resolver);
