/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is to be done for a DNSRecord, from the object alone. Two protocols: on Gardener the annotation
 * gardener.cloud/operation asks for work (DR-35), elsewhere a new generation does. */
#pragma once

#include <stdbool.h>

#include "controller/dnsrecord/plan/record.h"

enum dnsrecord_task {
	DNSRECORD_NOTHING,
	DNSRECORD_PUBLISH,	 /* the provider gets what the spec says */
	DNSRECORD_WITHDRAW,	 /* the object is deleted: so is the record set */
	DNSRECORD_HAND_OVER,	 /* another control plane goes on with the record set (DR-50) */
	DNSRECORD_CLEAR_REQUEST, /* the annotation goes, and nothing else happens (DR-44a) */
};

struct dnsrecord_choice {
	enum dnsrecord_task task;
	const char *operation; /* lastOperation.type (DR-41) */
	/* Somebody asked for it since the last operation began: a failure of before delays nothing. */
	bool is_new;
};

/* `by_request`: Gardener's annotations rule, and spec edits alone do nothing. */
struct dnsrecord_choice dnsrecord_decide(const struct dnsrecord *record, bool by_request);

/* Is its class one of those, which are separated by commas? NULL: `shoot` only (DR-54). */
bool dnsrecord_has_class(const struct dnsrecord *record, const char *classes);
