/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The zone learnt.fairlead.internal: who may transfer it, and the transfers. Only requests that are
 * signed with a known key (TSIG) are answered; everybody else is refused whatever he asks. */
#pragma once

#include "dns/learnt/learnt_record.h"
#include "dns/request.h"
#include "dns/tsig/server.h"
#include "plugin/egressfirewall/conf.h"
#include "plugin/shared/zonesender.h"
#include "server/query.h"

struct egressfirewall_keys;

struct egressfirewall_park;

/* The plugin's query state; only queries for the zone have one, and those that are held. */
struct egressfirewall_state {
	struct zonesender_state sending;  /* first: zonesender finds it there */
	struct egressfirewall_park *park; /* not NULL: it is held (hold/hold.c) */
	const struct egressfirewall_keys *keys;
	struct dns_tsig tsig;
};

extern const struct zonecopier_source egressfirewall_zone_source;

/* The plugin's serve_own_zone and done_own_zone. */
enum verdict egressfirewall_zone_serve(struct plugin_inst *self, struct query *q);
void egressfirewall_zone_done(struct plugin_inst *self, struct query *q);
/* What sends NOTIFY to the controllers of the stanza; the caller's. */
struct zonenotify_rounds;
struct zonenotify_rounds *egressfirewall_zone_rounds(const struct egressfirewall_conf *conf);
/* A listener of the store, whose ctx it is. */
void egressfirewall_zone_changed(void *ctx);
