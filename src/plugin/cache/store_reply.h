/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Storing replies on their way up the chain. */
#pragma once

#include "plugin/cache/cache_priv.h"

/* Sets one TTL for all records of q->resp, removes its OPT and stores it; false when it was not
 * stored. */
bool cache_store_reply(struct plugin_inst *self, struct query *q, struct pass *pass);
/* Stores an empty SERVFAIL. */
bool cache_store_failure(struct plugin_inst *self, struct query *q);
/* May q->resp replace an entry that has expired? */
bool cache_refreshes(const struct cache_conf *conf, const struct query *q);
/* The reply in q->resp as it is kept, in the worker's scratch: lower-case question, no OPT, TC not
 * set. Its length, or an error. */
MUST_CHECK int cache_message(struct plugin_inst *self, struct query *q);
