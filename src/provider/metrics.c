/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The metrics of each provider. */
#include "provider/metrics_priv.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "base/mem.h"
#include "base/metrics/metrics.h"

static const double seconds[] = { 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30 };

static const struct metrics_family calls_family = {
	.name = "fairlead_provider_calls_total",
	.help = "Calls to DNS providers by their result.",
	.kind = METRICS_COUNTER,
	.labels = { "provider", "call", "result" },
};
static const struct metrics_family duration_family = {
	.name = "fairlead_provider_call_duration_seconds",
	.help = "How long calls to DNS providers took.",
	.kind = METRICS_HISTOGRAM,
	.labels = { "provider", "call" },
	.buckets = seconds,
	.n_buckets = ARRAY_LEN(seconds),
};
static const struct metrics_family changes_family = {
	.name = "fairlead_provider_changes_total",
	.help = "Changes of record sets by their result.",
	.kind = METRICS_COUNTER,
	.labels = { "provider", "result" },
};
static const struct metrics_family under_way_family = {
	.name = "fairlead_provider_changes_under_way",
	.help = "Changes of record sets that were submitted and have no result.",
	.kind = METRICS_GAUGE,
	.labels = { "provider" },
};

static const char *const kinds[PROVIDER_JOB_KINDS] = {
	[PROVIDER_FIND_ZONES] = "find_zones", [PROVIDER_READ] = "read",
	[PROVIDER_APPLY] = "apply",	      [PROVIDER_SETTLE] = "settle",
	[PROVIDER_SERIAL] = "serial",
};

struct provider_metrics *provider_metrics_new(const struct provider *provider)
{
	struct provider_metrics *metrics = xcalloc(1, sizeof(*metrics));
	metrics->type = provider->type;
	metrics->under_way = metrics_get(&under_way_family, &provider->type);
	for (int kind = 0; kind < PROVIDER_JOB_KINDS; kind++)
		metrics->duration[kind] = metrics_get(
			&duration_family, (const char *const[]){ provider->type, kinds[kind] });
	return metrics;
}

void provider_count_call(const struct provider_metrics *metrics, enum provider_job_kind kind,
			 enum provider_code code, uint64_t took_ns)
{
	const char *const values[] = { metrics->type, kinds[kind], provider_code_label(code) };
	metrics_add(metrics_get(&calls_family, values), 0, 1);
	metrics_observe(metrics->duration[kind], 0, (double)took_ns / (double)NS_PER_S);
}

void provider_count_submitted(const struct provider_metrics *metrics)
{
	metrics_add(metrics->under_way, 0, 1);
}

void provider_count_finished(const struct provider_metrics *metrics, enum provider_code code,
			     bool is_wanted)
{
	const char *const values[] = { metrics->type,
				       is_wanted ? provider_code_label(code) : "cancelled" };
	metrics_add(metrics_get(&changes_family, values), 0, 1);
	metrics_add(metrics->under_way, 0, (uint64_t)-1);
}
