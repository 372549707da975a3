/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One probe of the health page and its two metrics. */
#include "plugin/health/selfcheck.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/metrics/metrics.h"
#include "base/text/duration.h"
#include "http/probe.h"

#define AREA "plugin/health"
#define PATH "/health"

enum { TIMEOUT_MS = 3000 };
static const uint64_t slow_ns = NS_PER_S;

static const double duration_buckets[] = { 0.00025, 0.0025, 0.025, 0.25, 2.5 };

static const struct metrics_family duration_family = {
	.name = "coredns_health_request_duration_seconds",
	.help = "Histogram of the time (in seconds) each request took.",
	.kind = METRICS_HISTOGRAM,
	.buckets = duration_buckets,
	.n_buckets = ARRAY_LEN(duration_buckets),
};
static const struct metrics_family failures_family = {
	.name = "coredns_health_request_failures_total",
	.help = "The number of times the health check failed.",
	.kind = METRICS_COUNTER,
};

void health_selfcheck_init(void)
{
	metrics_get(&duration_family, NULL);
	metrics_get(&failures_family, NULL);
}

void health_selfcheck(const char *addr)
{
	unsigned status;
	char text[40];
	uint64_t start_ns = clock_mono_ns();
	int r = http_probe(addr, PATH, TIMEOUT_MS, &status);
	uint64_t took_ns = clock_mono_ns() - start_ns;
	metrics_observe(metrics_get(&duration_family, NULL), 0, (double)took_ns / (double)NS_PER_S);
	if (r < 0) {
		metrics_add(metrics_get(&failures_family, NULL), 0, 1);
		log_warn(AREA, "Local health request to \"http://%s" PATH "\" failed: %s", addr,
			 err_str(r));
	} else if (took_ns > slow_ns) {
		log_warn(AREA,
			 "Local health request to \"http://%s" PATH "\" took more than 1s: %s",
			 addr, duration_str((int64_t)took_ns, text, sizeof(text)));
	}
}
