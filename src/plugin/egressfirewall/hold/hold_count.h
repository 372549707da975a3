/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Metrics of the hold, and the words for why an answer could not leave. */
#pragma once

#include <stdint.h>

#include "plugin/egressfirewall/hold/clients.h"
#include "plugin/egressfirewall/hold/links.h"

enum egressfirewall_hold_result {
	EGRESSFIREWALL_HELD_RELEASED, /* in force: it left */
	EGRESSFIREWALL_HELD_CAPPED, /* not renewed, but in force for a while: it left with a shorter TTL */
	EGRESSFIREWALL_HELD_LATE,
	EGRESSFIREWALL_HELD_UNREACHABLE,
	EGRESSFIREWALL_HELD_BUSY,
	EGRESSFIREWALL_HELD_FULL,
	EGRESSFIREWALL_HELD_QUOTA,
	EGRESSFIREWALL_HELD_NAMESPACE_LIMIT,
	EGRESSFIREWALL_HELD_CLIENT_LIMIT,
	EGRESSFIREWALL_HELD_SERVER_LIMIT,
	EGRESSFIREWALL_HELD_TOO_MANY,
};

/* What became of a request to an agent. */
enum egressfirewall_hold_result egressfirewall_hold_result_of(int code);
/* For clients: EXTRA-TEXT of an Extended DNS Error. */
const char *egressfirewall_hold_text(enum egressfirewall_hold_result result);

/* Makes the series, so that workers find them. Before any of the below. */
void egressfirewall_hold_count_init(void);
/* On a worker, by its slot. `held_ns`: 0 where it did not wait. */
void egressfirewall_hold_count(unsigned slot, enum egressfirewall_hold_result result,
			       uint64_t held_ns);
void egressfirewall_hold_count_never(unsigned slot, uint64_t number);
void egressfirewall_hold_count_state(struct egressfirewall_clients_counts clients,
				     struct egressfirewall_links_counts links);
