/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The watch of zones: at an interval the serial of each zone with record sets of ours is read, one call for all of
 * them. If another writer has changed the zone, its sets are compared, and the objects of those that differ get a
 * pass, which publishes them again or reports what is there. */
#pragma once

#include <stdbool.h>

#include "controller/dnsrecord/pass.h"

/* Is it the key of a zone? */
bool dnsrecord_is_zone_key(const char *key);
/* A pass of a zone; as struct controller's reconcile. */
int dnsrecord_check_zone(struct controller_ctx *ctx, const char *key);

/* The object is settled: its record set is watched from now on. True: the provider does not have it any more, which
 * was reported. */
bool dnsrecord_watch_set(struct dnsrecord_pass *pass);
/* It is not, or is gone. */
void dnsrecord_unwatch_set(const struct controller_ctx *ctx, const char *key);
