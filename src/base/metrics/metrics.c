/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The registry of families and series, and their cells. One mutex guards the registry; counting
 * touches cells only. Rendering is in text.c. */
#include "base/metrics/metrics.h"

#include <assert.h>
#include <pthread.h>
#include <stdbool.h>

#include "base/arena.h"
#include "base/mem.h"
#include "base/metrics/metrics_priv.h"
#include "base/metrics/text_priv.h"
#include "base/vec.h"

/* Cells of all slots for METRICS_PAGE_CELLS cells' worth of series. */
struct page {
	_Atomic uint64_t *cells;
	size_t used; /* of slot 0; the other slots have the same layout */
};

struct collector {
	metrics_collect_fn fn;
	void *ctx;
};

/* Guards everything below but `collectors`. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned n_slots = 1;
static struct map families; /* name -> struct metrics_group */
static struct arena memory;
static bool ready;
static VEC(struct page) pages;
struct metrics_series *metrics_by_number[METRICS_NUMBERS];
static uint16_t n_numbered; /* 0 is nobody's */

/* Guards `collectors` and is held while they run. */
static pthread_mutex_t collect_lock = PTHREAD_MUTEX_INITIALIZER;
static VEC(struct collector) collectors;

void metrics_init(unsigned worker_slots)
{
	pthread_mutex_lock(&lock);
	assert(pages.n == 0 || worker_slots < n_slots);
	n_slots = pages.n == 0 ? worker_slots + 1 : n_slots;
	pthread_mutex_unlock(&lock);
}

size_t metrics_label_count(const struct metrics_family *family)
{
	size_t n = 0;
	while (n < METRICS_MAX_LABELS && family->labels[n] != NULL)
		n++;
	return n;
}

static bool same_family(const struct metrics_family *left, const struct metrics_family *right)
{
	if (left == right)
		return true;
	size_t n = metrics_label_count(left);
	if (left->kind != right->kind || n != metrics_label_count(right) ||
	    left->n_buckets != right->n_buckets || left->sum_scale < right->sum_scale ||
	    left->sum_scale > right->sum_scale)
		return false;
	for (size_t i = 0; i < n; i++) {
		if (strcmp(left->labels[i], right->labels[i]) != 0)
			return false;
	}
	return true;
}

static struct metrics_group *group_of(const struct metrics_family *family)
{
	if (!ready) {
		arena_init(&memory);
		map_init(&families);
		ready = true;
	}
	struct metrics_group *g = map_get(&families, slice_of(family->name));
	if (g != NULL) {
		assert(same_family(&g->family, family));
		return g;
	}
	assert(family->n_buckets <= METRICS_MAX_BUCKETS);
	g = arena_calloc(&memory, sizeof(*g));
	g->family = *family;
	map_init(&g->series);
	map_set(&families, slice_of(family->name), g);
	return g;
}

static size_t cells_needed(const struct metrics_family *family)
{
	return family->kind == METRICS_HISTOGRAM ? family->n_buckets + 2 : 1;
}

static _Atomic uint64_t *take_cells(size_t count)
{
	for (size_t i = 0; i < pages.n; i++) {
		struct page *p = &pages.v[i];
		if (METRICS_PAGE_CELLS - p->used >= count) {
			p->used += count;
			return p->cells + p->used - count;
		}
	}
	size_t bytes = n_slots * METRICS_PAGE_CELLS * sizeof(uint64_t);
	void *cells = aligned_alloc(64, bytes);
	if (cells == NULL)
		abort();
	memset(cells, 0, bytes);
	vec_push(&pages, (struct page){ cells, count });
	return cells;
}

static void clear_cells(struct metrics_series *series)
{
	size_t n = cells_needed(series->family);
	for (unsigned slot = 0; slot < n_slots; slot++) {
		for (size_t i = 0; i < n; i++)
			atomic_store_explicit(metrics_row(series, slot) + i, 0,
					      memory_order_relaxed);
	}
}

struct metrics_series *metrics_get(const struct metrics_family *family, const char *const *values)
{
	CLEANUP(strbuf_done) struct strbuf key = STRBUF_INIT;
	size_t n = metrics_label_count(family);
	for (size_t i = 0; i < n; i++) {
		const char *v = values[i] != NULL ? values[i] : "";
		strbuf_add(&key, v, strlen(v) + 1);
	}
	pthread_mutex_lock(&lock);
	struct metrics_group *g = group_of(family);
	struct metrics_series *s = map_get(&g->series, strbuf_slice(&key));
	if (s == NULL) {
		s = arena_calloc(&memory, sizeof(*s));
		s->family = &g->family;
		s->values = arena_memdup(&memory, key.s, key.n);
		s->cells = take_cells(cells_needed(family));
		map_set(&g->series, strbuf_slice(&key), s);
	} else if (s->dropped) {
		clear_cells(s);
		s->dropped = 0;
	}
	pthread_mutex_unlock(&lock);
	return s;
}

uint16_t metrics_number(struct metrics_series *series)
{
	pthread_mutex_lock(&lock);
	if (series->number == 0 && n_numbered < METRICS_NUMBERS - 1) {
		series->number = ++n_numbered;
		metrics_by_number[series->number] = series;
	}
	uint16_t n = series->number;
	pthread_mutex_unlock(&lock);
	return n;
}

void metrics_drop(struct metrics_series *series)
{
	pthread_mutex_lock(&lock);
	series->dropped = 1;
	pthread_mutex_unlock(&lock);
}

void metrics_drop_family(const struct metrics_family *family)
{
	size_t pos = 0;
	const struct map_entry *e;
	pthread_mutex_lock(&lock);
	struct metrics_group *g = group_of(family);
	while ((e = map_next(&g->series, &pos)) != NULL)
		((struct metrics_series *)e->value)->dropped = 1;
	pthread_mutex_unlock(&lock);
}

static uint64_t bits_of(double number)
{
	uint64_t bits;
	memcpy(&bits, &number, sizeof(bits));
	return bits;
}

static double double_of(uint64_t bits)
{
	double v;
	memcpy(&v, &bits, sizeof(v));
	return v;
}

void metrics_set(struct metrics_series *series, double number)
{
	atomic_store_explicit(series->cells, bits_of(number), memory_order_relaxed);
	atomic_store_explicit(&series->is_real, 1, memory_order_relaxed);
}

static void add_real(_Atomic uint64_t *cell, double number)
{
	uint64_t old = atomic_load_explicit(cell, memory_order_relaxed);
	while (!atomic_compare_exchange_weak_explicit(cell, &old, bits_of(double_of(old) + number),
						      memory_order_relaxed, memory_order_relaxed)) {
	}
}

void metrics_observe(struct metrics_series *series, unsigned slot, double number)
{
	const struct metrics_family *f = series->family;
	_Atomic uint64_t *row = metrics_row(series, slot);
	size_t i = 0;
	while (i < f->n_buckets && !(number <= f->buckets[i]))
		i++;
	metrics_cell_add(row + i, slot, 1);
	if (f->sum_scale > 0)
		metrics_cell_add(row + f->n_buckets + 1, slot,
				 (uint64_t)(number / f->sum_scale + 0.5));
	else
		add_real(row + f->n_buckets + 1, number);
}

uint64_t metrics_cell_sum(const struct metrics_series *series, size_t cell)
{
	uint64_t sum = 0;
	for (unsigned slot = 0; slot < n_slots; slot++)
		sum += atomic_load_explicit(series->cells + (size_t)slot * METRICS_PAGE_CELLS +
						    cell,
					    memory_order_relaxed);
	return sum;
}

double metrics_histogram_sum(const struct metrics_series *series)
{
	size_t cell = series->family->n_buckets + 1;
	if (series->family->sum_scale > 0)
		return (double)metrics_cell_sum(series, cell) * series->family->sum_scale;
	double sum = 0;
	for (unsigned slot = 0; slot < n_slots; slot++)
		sum += double_of(atomic_load_explicit(
			series->cells + (size_t)slot * METRICS_PAGE_CELLS + cell,
			memory_order_relaxed));
	return sum;
}

double metrics_value(const struct metrics_series *series)
{
	if (series->family->kind == METRICS_HISTOGRAM)
		return metrics_histogram_sum(series);
	if (atomic_load_explicit(&series->is_real, memory_order_relaxed))
		return double_of(atomic_load_explicit(series->cells, memory_order_relaxed));
	uint64_t sum = metrics_cell_sum(series, 0);
	/* What is added to a gauge may be negative. */
	return series->family->kind == METRICS_GAUGE ? (double)(int64_t)sum : (double)sum;
}

void metrics_on_collect(metrics_collect_fn fn, void *ctx)
{
	pthread_mutex_lock(&collect_lock);
	vec_push(&collectors, (struct collector){ fn, ctx });
	pthread_mutex_unlock(&collect_lock);
}

void metrics_off_collect(metrics_collect_fn fn, void *ctx)
{
	pthread_mutex_lock(&collect_lock);
	size_t kept = 0;
	for (size_t i = 0; i < collectors.n; i++) {
		if (collectors.v[i].fn != fn || collectors.v[i].ctx != ctx)
			collectors.v[kept++] = collectors.v[i];
	}
	collectors.n = kept;
	pthread_mutex_unlock(&collect_lock);
}

void metrics_render(struct strbuf *out)
{
	pthread_mutex_lock(&collect_lock);
	for (size_t i = 0; i < collectors.n; i++)
		collectors.v[i].fn(collectors.v[i].ctx);
	pthread_mutex_lock(&lock);
	if (ready)
		metrics_print_families(&families, out);
	pthread_mutex_unlock(&lock);
	pthread_mutex_unlock(&collect_lock);
}
