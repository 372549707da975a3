/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The condition `Enforced` of firewalls, and which names nodes have let go, from reports of nodes' agents
 * (in_force.h, release.h). All firewalls are counted in one pass; those for which something changed are queued. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "api/condition.h"
#include "base/map.h"
#include "controller/controller.h"
#include "controller/egressfirewall/in_force.h"
#include "controller/egressfirewall/release.h"

/* Part of the controller's state; its lock guards it. */
struct egressfirewall_enforcement {
	struct map firewalls; /* namespace: struct in_force, owned; of the last pass */
	bool is_counted;      /* there was one */
	bool has_reports;
	struct release_votes votes;
	uint64_t next_ns; /* when the next pass may be */
};

void egressfirewall_enforcement_init(struct egressfirewall_enforcement *enforcement);
void egressfirewall_enforcement_done(struct egressfirewall_enforcement *enforcement);

/* Reconciles EGRESSFIREWALL_REPORTS_KEY. Takes the state's lock. */
int egressfirewall_reconcile_reports(struct controller_ctx *ctx, const char *name);

/* Counts, if nothing was counted yet. Takes the state's lock. */
void egressfirewall_count_first(struct controller_ctx *ctx);

enum { EGRESSFIREWALL_ENFORCED_TEXT_MAX = IN_FORCE_TEXT_MAX + 80 };

/* What is known about the firewall's generation, for its status: false, nothing yet. `text` is where the
 * message is. Takes the state's lock. */
bool egressfirewall_enforced(struct controller_ctx *ctx, const json_t *firewall,
			     char text[EGRESSFIREWALL_ENFORCED_TEXT_MAX],
			     struct api_condition *ret);
