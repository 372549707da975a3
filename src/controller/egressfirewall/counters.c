/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A table of counters. Series are looked up each time: it happens a thousand times a second at most. */
#include "controller/egressfirewall/counters.h"

#include "base/metrics/metrics.h"

static const struct metrics_family lookups = {
	.name = "fairlead_egress_lookups_total",
	.help = "Lookups of hosts by their result: answered, failed.",
	.kind = METRICS_COUNTER,
	.labels = { "result" },
};
static const struct metrics_family never_learnt = {
	.name = "fairlead_egress_never_learnt_total",
	.help = "Addresses in answers that must not be learnt.",
	.kind = METRICS_COUNTER,
};
static const struct metrics_family evicted = {
	.name = "fairlead_egress_evicted_hosts_total",
	.help = "Learnt hosts that made room for others.",
	.kind = METRICS_COUNTER,
};

static const struct metrics_family transfers = {
	.name = "fairlead_egress_transfers_total",
	.help = "Polls of DNS servers for what they learnt, by their result: changed, current, "
		"failed, "
		"refused.",
	.kind = METRICS_COUNTER,
	.labels = { "result" },
};

static const struct {
	const struct metrics_family *family;
	const char *label;
} counters[EGRESSFIREWALL_COUNTERS] = {
	[EGRESSFIREWALL_LOOKUPS_ANSWERED] = { &lookups, "answered" },
	[EGRESSFIREWALL_LOOKUPS_FAILED] = { &lookups, "failed" },
	[EGRESSFIREWALL_NEVER_LEARNT] = { &never_learnt, NULL },
	[EGRESSFIREWALL_EVICTED] = { &evicted, NULL },
	[EGRESSFIREWALL_TRANSFERS_CHANGED] = { &transfers, "changed" },
	[EGRESSFIREWALL_TRANSFERS_CURRENT] = { &transfers, "current" },
	[EGRESSFIREWALL_TRANSFERS_FAILED] = { &transfers, "failed" },
	[EGRESSFIREWALL_TRANSFERS_REFUSED] = { &transfers, "refused" },
};

void egressfirewall_counters_add(enum egressfirewall_counter counter)
{
	metrics_add(metrics_get(counters[counter].family, &counters[counter].label), 0, 1);
}
