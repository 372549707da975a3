/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The watch of zones by NOTIFY (RFC 1996), beside that by interval (zone_check.h): a name server that says that a zone
 * has changed causes the check of that zone at once. The socket is the engine's, so that only the process that leads
 * has it; it is opened when the first zone is watched. */
#pragma once

#include <stdbool.h>

#include "controller/controller.h"

struct dns_tsig_key;
struct engine;

/* The key of the pass that opens the socket; keys of objects, "namespace/name", cannot be so. */
#define DNSRECORD_NOTIFY_KEY "notify:"

bool dnsrecord_is_notify_key(const char *key);
/* The pass; as struct controller's reconcile. */
int dnsrecord_listen_for_notify(struct controller_ctx *ctx, const char *key);

/* The account of the zone with this key in the table has this TSIG key (NULL: none), and its server may sign NOTIFYs
 * with it. Engine's thread. */
void dnsrecord_learn_notify_key(struct engine *engine, const char *zone_key, const char *zone_id,
				const struct dns_tsig_key *key);
