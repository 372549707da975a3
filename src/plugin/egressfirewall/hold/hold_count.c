/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Metrics of the hold. */
#include "plugin/egressfirewall/hold/hold_count.h"

#include <pthread.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "base/err.h"
#include "base/metrics/metrics.h"

static const double seconds[] = { 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01,
				  0.025,  0.05,	   0.1,	   0.25,  0.5,	  1,	 1.5 };

static const struct metrics_family results_family = {
	.name = "fairlead_egress_hold_answers_total",
	.help = "Counter of answers that waited for an egress rule, or could not, by what became "
		"of them.",
	.kind = METRICS_COUNTER,
	.labels = { "result" },
};
static const struct metrics_family seconds_family = {
	.name = "fairlead_egress_hold_seconds",
	.help = "Time that answers waited for an egress rule.",
	.kind = METRICS_HISTOGRAM,
	.buckets = seconds,
	.n_buckets = ARRAY_LEN(seconds),
};
static const struct metrics_family never_family = {
	.name = "fairlead_egress_hold_never_added_total",
	.help = "Counter of addresses in answers for names of rules that are never added to one.",
	.kind = METRICS_COUNTER,
};
static const struct metrics_family clients_family = {
	.name = "fairlead_egress_hold_clients",
	.help = "Number of addresses of pods that are known.",
	.kind = METRICS_GAUGE,
};
static const struct metrics_family firewalls_family = {
	.name = "fairlead_egress_hold_firewalls",
	.help = "Number of EgressFirewalls that are known.",
	.kind = METRICS_GAUGE,
};
static const struct metrics_family agents_family = {
	.name = "fairlead_egress_hold_agents",
	.help = "Number of nodes whose agents this server asks, by whether they answer.",
	.kind = METRICS_GAUGE,
	.labels = { "reachable" },
};
static const struct metrics_family pairs_family = {
	.name = "fairlead_egress_hold_pairs",
	.help = "Number of pairs of name and address that agents have acknowledged, over all "
		"nodes.",
	.kind = METRICS_GAUGE,
};

static const struct {
	const char *label;
	const char *text; /* for clients */
} results[] = {
#define TEXT(why) "egress rule not in force: " why
	[EGRESSFIREWALL_HELD_RELEASED] = { "released", "" },
	[EGRESSFIREWALL_HELD_CAPPED] = { "shorter_ttl", "" },
	[EGRESSFIREWALL_HELD_LATE] = { "late", TEXT("the node did not answer in time") },
	[EGRESSFIREWALL_HELD_UNREACHABLE] = { "unreachable", TEXT("the node cannot be reached") },
	[EGRESSFIREWALL_HELD_BUSY] = { "busy", TEXT("the node has too much to do") },
	[EGRESSFIREWALL_HELD_FULL] = { "full", TEXT("the node has no room for more addresses") },
	[EGRESSFIREWALL_HELD_QUOTA] = { "quota",
					TEXT("the namespace or the name has too many addresses") },
	[EGRESSFIREWALL_HELD_NAMESPACE_LIMIT] = { "namespace_limit",
						  TEXT("too many queries of the namespace wait") },
	[EGRESSFIREWALL_HELD_CLIENT_LIMIT] = { "client_limit",
					       TEXT("too many queries of the client wait") },
	[EGRESSFIREWALL_HELD_SERVER_LIMIT] = { "server_limit", TEXT("too many queries wait") },
	[EGRESSFIREWALL_HELD_TOO_MANY] = { "too_many_addresses",
					   TEXT("the answer has too many addresses") },
#undef TEXT
};

/* Written once, before there are workers of the plugin. */
static struct metrics_series *series[ARRAY_LEN(results)], *times, *never;
static pthread_once_t series_once = PTHREAD_ONCE_INIT;

static void make_series(void)
{
	for (size_t i = 0; i < ARRAY_LEN(results); i++)
		series[i] = metrics_get(&results_family, (const char *const[]){ results[i].label });
	times = metrics_get(&seconds_family, NULL);
	never = metrics_get(&never_family, NULL);
}

void egressfirewall_hold_count_init(void)
{
	pthread_once(&series_once, make_series);
}

enum egressfirewall_hold_result egressfirewall_hold_result_of(int code)
{
	if (code == 0)
		return EGRESSFIREWALL_HELD_RELEASED;
	if (code == ERR_TIMEOUT)
		return EGRESSFIREWALL_HELD_LATE;
	if (code == ERR_LIMIT)
		return EGRESSFIREWALL_HELD_FULL;
	if (code == ERR_QUOTA)
		return EGRESSFIREWALL_HELD_QUOTA;
	return code == ERR_BUSY ? EGRESSFIREWALL_HELD_BUSY : EGRESSFIREWALL_HELD_UNREACHABLE;
}

const char *egressfirewall_hold_text(enum egressfirewall_hold_result result)
{
	return results[result].text;
}

void egressfirewall_hold_count(unsigned slot, enum egressfirewall_hold_result result,
			       uint64_t held_ns)
{
	metrics_add(series[result], slot, 1);
	if (held_ns != 0)
		metrics_observe(times, slot, (double)held_ns / (double)NS_PER_S);
}

void egressfirewall_hold_count_never(unsigned slot, uint64_t number)
{
	metrics_add(never, slot, number);
}

void egressfirewall_hold_count_state(struct egressfirewall_clients_counts clients,
				     struct egressfirewall_links_counts links)
{
	metrics_set(metrics_get(&clients_family, NULL), (double)clients.clients);
	metrics_set(metrics_get(&firewalls_family, NULL), (double)clients.firewalls);
	metrics_set(metrics_get(&agents_family, (const char *const[]){ "true" }),
		    (double)links.reachable);
	metrics_set(metrics_get(&agents_family, (const char *const[]){ "false" }),
		    (double)(links.nodes - links.reachable));
	metrics_set(metrics_get(&pairs_family, NULL), (double)links.pairs);
}
