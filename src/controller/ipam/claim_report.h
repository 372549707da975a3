/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is reported on a claim, as its status: addressRef, which consumers wait for, the condition Ready,
 * and the same condition in the other form: v1beta2 has Kubernetes' conditions and keeps the older ones
 * below `deprecated`; v1beta1 has the older ones and, since Cluster API 1.9, the new ones below
 * `v1beta2`. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "api/tree.h"
#include "base/strbuf.h"

struct ipam_claim_report {
	const char *address; /* the name of the IPAddress; NULL: none */
	const char *reason;
	const char *message;
	bool from_api; /* the message is the API's */
};

/* The claim that a status belongs to, and when it is written. */
struct ipam_claim_version {
	const char *api; /* "v1beta2" or "v1beta1" */
	int64_t generation;
	uint64_t now_ns;
};

/* Changes a status; false: it says the same already. */
bool ipam_claim_report_set(const struct ipam_claim_report *report,
			   const struct ipam_claim_version *claim, json_t *status);
/* Appends the JSON of what ipam_claim_report_set makes of an empty status. */
void ipam_claim_report_add(const struct ipam_claim_report *report,
			   const struct ipam_claim_version *claim, struct strbuf *out);
