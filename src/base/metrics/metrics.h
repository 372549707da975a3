/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Metrics in Prometheus' text form. A *family* is a static table row (name, help, kind, labels); a
 * *series* is one set of label values of a family. Each series has one row of cells per *slot*, so
 * that workers count without sharing a cache line; a scrape sums the rows.
 *
 * Slot 0 is shared by all control threads (atomic adds); slots 1..worker_slots have one writer
 * each (a worker), who adds with a plain load and store. Series are created once (a mutex, slow
 * path) and live until the process ends or metrics_drop. */
#pragma once

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/strbuf.h"

enum metrics_kind { METRICS_COUNTER, METRICS_GAUGE, METRICS_HISTOGRAM };
enum { METRICS_MAX_LABELS = 8, METRICS_MAX_BUCKETS = 24 };

struct metrics_family {
	const char *name;
	const char *help;
	enum metrics_kind kind;
	const char *labels[METRICS_MAX_LABELS]; /* NULL-terminated when shorter */
	const double *buckets;			/* upper bounds, ascending, without +Inf */
	size_t n_buckets;
	double sum_scale; /* 0: a histogram's sum is kept as a double, else see metrics_row */
};

/* Opaque but for metrics_row. Cells are cut from pages that hold many series side by side for each
 * slot, so that a slot's cells share cache lines only with each other. */
struct metrics_series {
	_Atomic uint64_t *cells; /* of slot 0; those of slot i lie i * METRICS_PAGE_CELLS further */
	const struct metrics_family *family;
	_Atomic uint32_t is_real; /* counter, gauge: cell 0 of slot 0 is a double */
	uint16_t dropped;
	uint16_t number;    /* 0: has none */
	const char *values; /* one terminated text per label, one after the other */
};

enum { METRICS_PAGE_CELLS = 256 };

/* How many worker slots every series has (beside slot 0). Call before the first series; a later
 * call (another server in one process) may not ask for more. */
void metrics_init(unsigned worker_slots);

/* Finds or creates. `values` has one text per label (NULL counts as ""). Thread-safe. The same
 * family must always be passed by the same pointer or with equal contents; its texts and buckets
 * are borrowed for ever. */
struct metrics_series *metrics_get(const struct metrics_family *family, const char *const *values);
/* Forgets a series; its memory stays valid until the process ends. Asking for the same values again
 * returns the same series, restarted from 0. */
void metrics_drop(struct metrics_series *series);
/* Forgets all series of a family. */
void metrics_drop_family(const struct metrics_family *family);

/* The cell row of a slot, inline for the hot path. Counter: cell 0 is the count. Histogram, when
 * the caller knows the bucket (0..n_buckets, the last being +Inf) and has the value as an integer
 * in a unit of its own: add 1 to row[bucket] and the value to row[n_buckets + 1], which a scrape
 * multiplies by the family's sum_scale. */
static ALWAYS_INLINE _Atomic uint64_t *metrics_row(struct metrics_series *series, unsigned slot)
{
	return series->cells + (size_t)slot * METRICS_PAGE_CELLS;
}

static ALWAYS_INLINE void metrics_cell_add(_Atomic uint64_t *cell, unsigned slot, uint64_t number)
{
	if (slot == 0)
		atomic_fetch_add_explicit(cell, number, memory_order_relaxed);
	else
		atomic_store_explicit(cell,
				      atomic_load_explicit(cell, memory_order_relaxed) + number,
				      memory_order_relaxed);
}

static inline void metrics_add(struct metrics_series *series, unsigned slot, uint64_t number)
{
	metrics_cell_add(metrics_row(series, slot), slot, number);
}

/* A small number that stands for a series from then on, for those who keep it in many places; 0
 * when METRICS_NUMBERS - 1 others have one. Thread-safe. */
enum { METRICS_NUMBERS = 1 << 14 };
uint16_t metrics_number(struct metrics_series *series);
extern struct metrics_series *metrics_by_number[METRICS_NUMBERS]; /* read by those who got one */

/* Sets a gauge, or a counter that is kept elsewhere. A series is either set or added to, never
 * both; a gauge that is added to may go down: metrics_add(s, slot, (uint64_t)-1). */
void metrics_set(struct metrics_series *series, double number);
/* Histogram: counts `number` (any unit; the buckets are in the same one). */
void metrics_observe(struct metrics_series *series, unsigned slot, double number);

/* Sum over all slots; for tests and for status pages. */
double metrics_value(const struct metrics_series *series);

/* Called at each scrape before rendering, e.g. to set gauges; one at a time. After
 * metrics_off_collect has returned it is not running any more, so neither may be called from within
 * a callback. */
typedef void (*metrics_collect_fn)(void *ctx);
void metrics_on_collect(metrics_collect_fn fn, void *ctx);
void metrics_off_collect(metrics_collect_fn fn, void *ctx);

/* All families that have series, sorted by name, appended as Prometheus text 0.0.4. Thread-safe
 * against workers. */
void metrics_render(struct strbuf *out);
