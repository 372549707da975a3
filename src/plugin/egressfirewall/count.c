/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The plugin's metrics: one family with a label for what became of each reported address, and the
 * state of the table. */
#include "plugin/egressfirewall/count.h"

#include <pthread.h>

#include "base/compiler.h"
#include "base/metrics/metrics.h"

static const struct metrics_family reported_family = {
	.name = "fairlead_egress_learning_sightings_total",
	.help = "Counter of addresses that workers saw for names of rules, by what became of them.",
	.kind = METRICS_COUNTER,
	.labels = { "result" },
};
static const struct metrics_family evicted_family = {
	.name = "fairlead_egress_learning_evicted_total",
	.help = "Counter of learnt addresses that left before their time, by the limit.",
	.kind = METRICS_COUNTER,
	.labels = { "limit" },
};
static const struct metrics_family expired_family = {
	.name = "fairlead_egress_learning_expired_total",
	.help = "Counter of learnt addresses that no answer confirmed in time.",
	.kind = METRICS_COUNTER,
};
static const struct metrics_family rules_family = {
	.name = "fairlead_egress_learning_rules",
	.help = "Number of DNSName objects that cover names.",
	.kind = METRICS_GAUGE,
};
static const struct metrics_family pairs_family = {
	.name = "fairlead_egress_learning_addresses",
	.help = "Number of learnt pairs of a name and an address.",
	.kind = METRICS_GAUGE,
};
static const struct metrics_family names_family = {
	.name = "fairlead_egress_learning_names",
	.help = "Number of names with learnt addresses.",
	.kind = METRICS_GAUGE,
};

static const char *const results[] = {
	[EGRESSFIREWALL_COUNT_NEW] = "new",
	[EGRESSFIREWALL_COUNT_EXTENDED] = "extended",
	[EGRESSFIREWALL_COUNT_KNOWN] = "known",
	[EGRESSFIREWALL_COUNT_CLIENT_LIMIT] = "client_limit",
	[EGRESSFIREWALL_COUNT_NEVER] = "never_learnt",
	[EGRESSFIREWALL_COUNT_ODD_NAME] = "odd_name",
	[EGRESSFIREWALL_COUNT_QUEUE_FULL] = "queue_full",
};

/* Written once, before there are workers of the plugin. */
static struct metrics_series *series[ARRAY_LEN(results)];
static pthread_once_t series_once = PTHREAD_ONCE_INIT;

static void make_series(void)
{
	for (size_t i = 0; i < ARRAY_LEN(results); i++)
		series[i] = metrics_get(&reported_family, (const char *const[]){ results[i] });
}

void egressfirewall_count_init(void)
{
	pthread_once(&series_once, make_series);
}

void egressfirewall_count_on(unsigned slot, enum egressfirewall_counter counter, uint64_t number)
{
	metrics_add(series[counter], slot, number);
}

void egressfirewall_count_result(enum egressfirewall_counter counter, uint64_t number)
{
	egressfirewall_count_on(0, counter, number);
}

static void set_evicted(const char *limit, uint64_t number)
{
	metrics_set(metrics_get(&evicted_family, (const char *const[]){ limit }), (double)number);
}

void egressfirewall_count_table(struct egressfirewall_learnt_counts counts, size_t rules)
{
	set_evicted("addresses", counts.evicted_pairs);
	set_evicted("names_per_object", counts.evicted_names);
	set_evicted("addresses_per_name", counts.evicted_ips);
	metrics_set(metrics_get(&expired_family, NULL), (double)counts.expired);
	metrics_set(metrics_get(&rules_family, NULL), (double)rules);
	metrics_set(metrics_get(&pairs_family, NULL), (double)counts.pairs);
	metrics_set(metrics_get(&names_family, NULL), (double)counts.names);
}
