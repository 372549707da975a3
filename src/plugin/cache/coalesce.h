/* A reply that is not stored, for all who wait for it: to the upstream their queries are the same,
 * so asking again would bring the same, and many equal questions at a time are what a forger of
 * replies hopes for. */
#pragma once

#include "plugin/cache/cache_priv.h"

/* Hands the reply of a leader that was not stored to the queries that wait for the same. */
void cache_coalesce(struct plugin_inst *self, struct query *q, const struct pass *pass);
