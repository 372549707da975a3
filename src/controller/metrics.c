/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The metrics of each controller: reconciles, their duration, its queue, whether it leads. */
#include <stddef.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/metrics/metrics.h"
#include "controller/metrics_priv.h"
#include "kube/informer/workqueue.h"

enum family {
	RECONCILES,
	DURATION,
	DEPTH,
	ADDS,
	RETRIES,
	LEADER,
	WORK,
};
enum { FAMILIES = WORK + 1 };

static const double seconds[] = { 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60 };

static const struct metrics_family families[FAMILIES] = {
	[RECONCILES] = { .name = "fairlead_controller_reconciles_total",
			 .help = "Reconciles by their result: done, again, failed.",
			 .kind = METRICS_COUNTER,
			 .labels = { "controller", "result" } },
	[DURATION] = { .name = "fairlead_controller_reconcile_duration_seconds",
		       .help = "How long reconciles took.",
		       .kind = METRICS_HISTOGRAM,
		       .labels = { "controller" },
		       .buckets = seconds,
		       .n_buckets = ARRAY_LEN(seconds) },
	[DEPTH] = { .name = "fairlead_controller_queue_depth",
		    .help = "Keys that wait for a worker.",
		    .kind = METRICS_GAUGE,
		    .labels = { "controller" } },
	[ADDS] = { .name = "fairlead_controller_queue_adds_total",
		   .help = "Keys put into the queue.",
		   .kind = METRICS_COUNTER,
		   .labels = { "controller" } },
	[RETRIES] = { .name = "fairlead_controller_queue_retries_total",
		      .help = "Keys put into the queue again after a failure.",
		      .kind = METRICS_COUNTER,
		      .labels = { "controller" } },
	[WORK] = { .name = "fairlead_controller_work_under_way",
		   .help = "Lookups and requests that complete later.",
		   .kind = METRICS_GAUGE,
		   .labels = { "controller" } },
	[LEADER] = { .name = "fairlead_controller_leader",
		     .help = "1 while this process leads.",
		     .kind = METRICS_GAUGE,
		     .labels = { "controller" } },
};

enum { DONE, AGAIN, FAILED };
enum { RESULTS = FAILED + 1 };
static const char *const results[RESULTS] = { "done", "again", "failed" };

struct controller_metrics {
	struct metrics_series *result[RESULTS];
	struct metrics_series *series[FAMILIES]; /* all but RECONCILES */
};

struct controller_metrics *controller_metrics_new(const char *controller)
{
	struct controller_metrics *m = xcalloc(1, sizeof(*m));
	for (int i = 0; i < RESULTS; i++)
		m->result[i] = metrics_get(&families[RECONCILES],
					   (const char *const[]){ controller, results[i] });
	for (int i = DURATION; i < FAMILIES; i++)
		m->series[i] = metrics_get(&families[i], (const char *const[]){ controller });
	return m;
}

void controller_metrics_free(struct controller_metrics *metrics)
{
	free(metrics);
}

void controller_metrics_reconciled(struct controller_metrics *metrics, int ret, bool again,
				   uint64_t took_ns)
{
	metrics_add(metrics->result[ret < 0 ? FAILED : again ? AGAIN : DONE], 0, 1);
	metrics_observe(metrics->series[DURATION], 0, (double)took_ns / (double)NS_PER_S);
}

void controller_metrics_set(struct controller_metrics *metrics, struct workqueue *workqueue,
			    bool leading, size_t work)
{
	struct workqueue_stats st;
	workqueue_stats(workqueue, &st);
	metrics_set(metrics->series[DEPTH], (double)st.ready);
	metrics_set(metrics->series[ADDS], (double)st.adds);
	metrics_set(metrics->series[RETRIES], (double)st.retries);
	metrics_set(metrics->series[LEADER], leading);
	metrics_set(metrics->series[WORK], (double)work);
}
