/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The watches of the controller. */
#pragma once

#include "controller/controller.h"

enum {
	DNSRECORD_RECORDS,
	DNSRECORD_SHOOT_NAMESPACES,
	DNSRECORD_CLUSTERS,
	DNSRECORD_HEARTBEATS, /* of all extensions of Gardener */
	DNSRECORD_WATCHES
};
enum { DNSRECORD_BY_NAME, DNSRECORD_BY_SECRET }; /* indexes of DNSRECORD_RECORDS */

extern const struct controller_watch dnsrecord_watches[DNSRECORD_WATCHES];

/* Queues all DNSRecords. */
void dnsrecord_queue_records(const struct controller_ctx *ctx);

enum { DNSRECORD_KEY_MAX = 512 };
/* The key of the index: the name of a record set in one form. */
void dnsrecord_name_key(const char *name, char out[DNSRECORD_KEY_MAX]);
