/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The metrics of a controller; for the manager. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct controller_metrics;
struct workqueue;

struct controller_metrics *controller_metrics_new(const char *controller);
void controller_metrics_free(struct controller_metrics *metrics);
void controller_metrics_reconciled(struct controller_metrics *metrics, int ret, bool again,
				   uint64_t took_ns);
/* Sets the gauges from the present state. */
void controller_metrics_set(struct controller_metrics *metrics, struct workqueue *workqueue,
			    bool leading, size_t work);
