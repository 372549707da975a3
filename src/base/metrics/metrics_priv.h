/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the registry (metrics.c) and the printer (text.c) share. */
#pragma once

#include "base/map.h"
#include "base/metrics/metrics.h"

/* A family and its series, dropped ones too. */
struct metrics_group {
	struct metrics_family family;
	struct map series; /* label values -> struct metrics_series */
};

size_t metrics_label_count(const struct metrics_family *family);
/* Over all slots. */
uint64_t metrics_cell_sum(const struct metrics_series *series, size_t cell);
double metrics_histogram_sum(const struct metrics_series *series);
