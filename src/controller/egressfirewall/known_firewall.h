/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Firewalls as the last pass has seen them: which DNSNames their rules use, so that those of a rule that
 * went are checked once more (EF-19), and when the status was written. Any worker. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "api/tree.h"
#include "base/map.h"
#include "controller/controller.h"

/* The last write of a firewall's status; zeroes: none. */
struct egressfirewall_write {
	uint64_t next_ns; /* monotonic: when the next one may be */
	uint64_t version; /* a copy with a lower resourceVersion does not have it */
};

/* Queues the DNSNames of rules that are new or gone since the last pass, also of a changed depth; all
 * of them at the first. `firewall` NULL: it is deleted. */
void egressfirewall_known_update(struct controller_ctx *ctx, const char *key,
				 const json_t *firewall);
struct egressfirewall_write egressfirewall_known_write(const struct controller_ctx *ctx,
						       const char *key);
void egressfirewall_known_note(const struct controller_ctx *ctx, const char *key,
			       const struct egressfirewall_write *write);
/* Frees the values of the state's table and the table. */
void egressfirewall_known_done(struct map *firewalls);
