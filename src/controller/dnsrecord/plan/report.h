/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The status of a DNSRecord by Gardener's protocol (DR-40 to DR-44): lastOperation, lastError,
 * observedGeneration, conditions, and what is known of the provider. */
#pragma once

#include <stdint.h>

#include "api/tree.h"
#include "controller/dnsrecord/plan/record.h"
#include "controller/dnsrecord/plan/step.h"

enum dnsrecord_phase { DNSRECORD_PROCESSING, DNSRECORD_SUCCEEDED, DNSRECORD_ERROR };

enum dnsrecord_ownership {
	DNSRECORD_SAME_OWNER, /* the condition Owned stays as it is */
	DNSRECORD_OURS,
	DNSRECORD_FOREIGN, /* a record set of somebody else is there */
	DNSRECORD_CLAIMED, /* an older DNSRecord has the name */
};

struct dnsrecord_report {
	const char *operation; /* lastOperation.type */
	enum dnsrecord_phase state;
	int progress;	 /* of DNSRECORD_PROCESSING */
	bool is_waiting; /* of DNSRECORD_PROCESSING: for the provider; the description says why */
	const char *description; /* for people; its first letter becomes a capital */
	const char *code;	 /* of DNSRECORD_ERROR: Gardener's; "": none */
	enum dnsrecord_ownership ownership;
	bool keeps_dry_run; /* status.providerStatus.dryRun stays */
	bool is_other_set; /* DNSRECORD_SUCCEEDED: what DNS answered before does not count any more */
	bool is_probed;	   /* and DNS will be asked */
	struct dnsrecord_known known;
	/* DNSRECORD_SUCCEEDED: DNS servers serve what was asked for, not what the spec says by then. */
	bool shows_published;
	const char *secret; /* status.state.secret; "": it goes; NULL: it stays as it is */
};

/* status.state.published: the record set as the spec has it now. A new reference. */
json_t *dnsrecord_published(const json_t *object);

/* Does status.lastError have this description already? */
bool dnsrecord_report_is_known(const json_t *object, const char *description);

/* The status as a JSON merge patch, without metadata; NULL: the object has it already, but for times.
 * Members of others, and conditions of others, stay. */
json_t *dnsrecord_report_patch(const struct dnsrecord *record,
			       const struct dnsrecord_report *report, uint64_t now_wall_ns);
