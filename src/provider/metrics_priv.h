/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The metrics of each provider: calls, their duration, changes, what is under way. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "provider/provider.h"

struct metrics_series;

struct provider_metrics {
	const char *type;
	struct metrics_series *under_way;
	struct metrics_series *duration[PROVIDER_JOB_KINDS];
};

/* free() ends it; the series stay. */
struct provider_metrics *provider_metrics_new(const struct provider *provider);
void provider_count_call(const struct provider_metrics *metrics, enum provider_job_kind kind,
			 enum provider_code code, uint64_t took_ns);
void provider_count_submitted(const struct provider_metrics *metrics);
/* Not wanted: the request was cancelled. */
void provider_count_finished(const struct provider_metrics *metrics, enum provider_code code,
			     bool is_wanted);
