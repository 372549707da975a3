/* What the registry (metrics.c) and the printer (metrics_text.c) share. */
#pragma once

#include "base/map.h"
#include "base/metrics.h"

/* A family and its series, dropped ones too. */
struct metrics_group {
	struct metrics_family family;
	struct map series; /* label values -> struct metrics_series */
};

size_t metrics_label_count(const struct metrics_family *family);
/* Over all slots. */
uint64_t metrics_cell_sum(const struct metrics_series *series, size_t cell);
double metrics_histogram_sum(const struct metrics_series *series);
/* `families`: name -> struct metrics_group. The registry's mutex is held. */
void metrics_print_families(const struct map *families, struct strbuf *out);
