/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Answers a query from a zone the way CoreDNS's file plugin does: for every plugin that holds zones
 * (file, auto, secondary, dynupdate). In a signed zone denials, wildcards and referrals carry the
 * whole proof (RFC 4035 §3.1), which CoreDNS's do not. */
#pragma once

#include <stdbool.h>

#include "server/query.h"
#include "server/setup.h"

struct dns_zone;

/* State of a query (plugin->state_size): only a wildcard's answer uses it. */
struct zoneserve_state {
	struct slice wildcard; /* text of its name, for metadata */
};

/* The verdict of serve; V_WAIT when a CNAME leads out of the zone. Names that do not exist, and
 * empty non-terminals, go to the next plugin where `fall` allows it. The zone must stay as long as
 * the read section lasts (base/rcu/rcu.h). */
enum verdict zoneserve_answer(struct plugin_inst *self, struct query *q,
			      const struct dns_zone *zone, const struct fallthrough *fall);
/* The verdict of resume; `zone` may be a newer zone. */
enum verdict zoneserve_resume(struct plugin_inst *self, struct query *q,
			      const struct dns_zone *zone);
