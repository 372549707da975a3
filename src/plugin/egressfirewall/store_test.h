/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tests and benchmarks have rules of their own instead of those of an API server. */
#pragma once

#include "plugin/egressfirewall/store.h"

/* Stanzas prepared from now on use these rules, which stay the caller's; no API server is asked.
 * NULL: from the API server again. */
void egressfirewall_store_preset(struct egressfirewall_rules *rules);
/* The store that was made last; NULL: none was. */
struct egressfirewall_store *egressfirewall_store_latest(void);
/* Learns what workers have reported, as the control thread does now and then. */
void egressfirewall_store_run(struct egressfirewall_store *store);
