/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names of a zone whose changes the server has answered with an error that gives no reason, while reads show
 * that nothing was applied. Their entries are sent alone, beside the batches of the zone, so that they delay
 * no other. An error is reported once the server has accepted other changes, or after SUSPECT_REPORT_S:
 * until then the server may be the one at fault, and recover. */
#pragma once

#include <stdint.h>

#include "provider/provider.h"

struct publisher_entry;
struct publisher_zone;

enum {
	SUSPECT_TRIES = 3,	 /* of a batch, before one of its changes is suspected */
	SUSPECT_REPORT_S = 60,	 /* a set that never succeeded is reported after this time */
	SUSPECT_PAUSE_MAX_S = 8, /* between tries of one that is not reported yet */
	SUSPECTS_MAX = 1000,	 /* of a zone; the one that failed longest ago is forgotten */
	SUSPECT_KEEP_S = 3600,	 /* after its last failure */
};

struct zone_suspect {
	uint64_t since_ns, failed_ns;
	uint64_t due_ns; /* not tried again before */
	uint64_t
		accepted_before; /* changes that the zone had accepted when it was first suspected */
	unsigned failures;	 /* alone */
	char error[PROVIDER_ERROR_BYTES];
};

/* NULL: the name is not suspected. */
const struct zone_suspect *suspect_find(const struct publisher_zone *zone, const char *name);
/* Its change succeeded, or failed for a reason. */
void suspect_clear(struct publisher_zone *zone, const char *name);
void suspect_free_all(struct publisher_zone *zone);

/* The write of a batch, as the server answered it. */
struct suspicion {
	uint64_t accepted_before; /* by the zone, when the batch failed first */
	const char *error;
	bool was_alone; /* the entry was the only one of the call */
};
/* Takes an entry that is in no list and no batch: it ends with PROVIDER_FAILED, or waits to be sent alone. */
void suspect_entry(struct publisher_entry *entry, const struct suspicion *suspicion);
