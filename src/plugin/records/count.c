/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plugin/records/count.h"

#include "base/metrics/metrics.h"
#include "plugin/records/claimed_names.h"

static const struct metrics_family objects_family = {
	.name = "fairlead_records_objects",
	.help = "Number of DNSRecord objects of type local, by what became of them.",
	.kind = METRICS_GAUGE,
	.labels = { "state" },
};
static const struct metrics_family refused_family = {
	.name = "fairlead_records_refused_total",
	.help = "Counter of DNSRecord objects of type local that could not be served as they were.",
	.kind = METRICS_COUNTER,
};

static const char *const states[RECORDS_CLAIM_STATES] = {
	[RECORDS_SERVED] = "served",
	[RECORDS_SHADOWED] = "shadowed",
	[RECORDS_INVALID] = "invalid",
	[RECORDS_OVER_LIMIT] = "over_limit",
};

void records_count(const struct records_claims *claims)
{
	for (int i = 0; i < RECORDS_CLAIM_STATES; i++)
		metrics_set(metrics_get(&objects_family, (const char *const[]){ states[i] }),
			    (double)records_claims_count(claims, (enum records_claim_state)i));
	metrics_set(metrics_get(&refused_family, NULL), (double)records_claims_refused(claims));
}
