/* SPDX-License-Identifier: GPL-3.0-or-later */
/* status.items of a DNSName: hosts with their addresses, TTLs and times (EF-5, EF-S9). Written from the
 * table of hosts, and read into it after a start. With the state's lock held. */
#pragma once

#include "api/tree.h"
#include "controller/egressfirewall/state.h"

enum {
	EGRESSFIREWALL_ITEMS_MAX = 1000,      /* as the CRD has it */
	EGRESSFIREWALL_SHOWN_MAX = 8,	      /* addresses in status.addresses */
	EGRESSFIREWALL_ENTRIES_MAX = 2000,    /* addresses of one object */
	EGRESSFIREWALL_BYTES_MAX = 250 << 10, /* of its items as JSON, with their managedFields */
};

/* A new array, ordered by name and address, so that equal tables give equal items. Where there are too
 * many, hosts whose addresses end first are left out: the object is a report. */
json_t *egressfirewall_items_write(const struct egressfirewall_state *state, const char *name,
				   const struct egressfirewall_object *object);
/* status.addresses for these items: each address once, the first EGRESSFIREWALL_SHOWN_MAX of them. "": none. The caller's. */
char *egressfirewall_items_addresses(const json_t *items);
/* Is `now`, read from the API, what was written as `items`? An older CRD drops the origin of addresses,
 * which is no reason to write again. */
bool egressfirewall_items_equal(const json_t *now, const json_t *items);
/* Adds hosts of `items` that the object carries; calls `added` with the name of each. What is not valid
 * is passed over. */
void egressfirewall_items_restore(struct egressfirewall_state *state, const char *name,
				  const struct egressfirewall_object *object, const json_t *items,
				  void (*added)(void *ctx, const char *host), void *ctx);
