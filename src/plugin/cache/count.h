/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The cache's metrics, by CoreDNS's names. */
#pragma once

#include "plugin/cache/cache_priv.h"

/* cache_count and cache_count_stored on the query's worker; open before any query, close after
 * the last, on the control thread. */
void cache_count(struct plugin_inst *self, const struct query *q, enum cache_counter what);
void cache_count_stored(struct plugin_inst *self, struct query *q);
void cache_count_open(struct plugin_inst *self);
void cache_count_close(struct plugin_inst *self);
