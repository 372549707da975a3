/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How long a change of endpoints took from its cause to our answers. */
#include "plugin/kubernetes/programming_latency.h"

#include "base/clock.h"
#include "base/metrics/metrics.h"

/* From a millisecond to about nine minutes, each twice the one before. */
static const double buckets[] = { 0.001,  0.002,  0.004,  0.008,   0.016,   0.032,  0.064,
				  0.128,  0.256,  0.512,  1.024,   2.048,   4.096,  8.192,
				  16.384, 32.768, 65.536, 131.072, 262.144, 524.288 };

static const struct metrics_family duration = {
	.name = "coredns_kubernetes_dns_programming_duration_seconds",
	.help = "Histogram of the time (in seconds) it took to program a dns instance.",
	.kind = METRICS_HISTOGRAM,
	.labels = { "service_kind" },
	.buckets = buckets,
	.n_buckets = ARRAY_LEN(buckets),
};

/* A slice that does not say when its cause was, or whose Service is not known (yet), is not
 * counted. A cause in the future counts as now: clocks differ. */
void kubernetes_programming_latency_observe(struct kubernetes_index *index,
					    const struct kube_slice *slice)
{
	static const char *const kinds[] = { [KUBERNETES_KIND_CLUSTER_IP] = "cluster_ip",
					     [KUBERNETES_KIND_HEADLESS] =
						     "headless_with_selector" };
	if (slice->trigger_ns == 0)
		return;
	enum kubernetes_service_kind kind =
		kubernetes_index_kind(index, slice_of(slice->o.ns), slice_of(slice->service));
	uint64_t now = clock_wall_ns();
	if (kind == KUBERNETES_KIND_NONE)
		return;
	metrics_observe(metrics_get(&duration, &kinds[kind]), 0,
			now > slice->trigger_ns ? (double)(now - slice->trigger_ns) / NS_PER_S : 0);
}
