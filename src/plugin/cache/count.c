/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The cache's metrics, by CoreDNS's names. A series exists from its first count on, as there. */
#include "plugin/cache/count.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/metrics/metrics.h"

#define COUNTER(what, text)                                                           \
	{                                                                             \
		.name = "coredns_cache_" what, .help = text, .kind = METRICS_COUNTER, \
		.labels = { "server", "zones", "view" },                              \
	}
#define COUNTER_BY_TYPE(what, text)                                                   \
	{                                                                             \
		.name = "coredns_cache_" what, .help = text, .kind = METRICS_COUNTER, \
		.labels = { "server", "type", "zones", "view" },                      \
	}

static const struct metrics_family entries_family = {
	.name = "coredns_cache_entries",
	.help = "The number of elements in the cache.",
	.kind = METRICS_GAUGE,
	.labels = { "server", "type", "zones", "view" },
};
static const struct metrics_family requests_family =
	COUNTER("requests_total", "The count of cache requests.");
static const struct metrics_family hits_family =
	COUNTER_BY_TYPE("hits_total", "The count of cache hits.");
static const struct metrics_family misses_family =
	COUNTER("misses_total", "The count of cache misses. Deprecated, derive misses from cache "
				"hits/requests counters.");
static const struct metrics_family prefetch_family =
	COUNTER("prefetch_total", "The number of times the cache has prefetched a cached item.");
static const struct metrics_family drops_family =
	COUNTER("drops_total", "The number responses that are not cached, because the reply is "
			       "malformed.");
static const struct metrics_family stale_family =
	COUNTER("served_stale_total", "The number of requests served from stale cache entries.");
static const struct metrics_family evictions_family =
	COUNTER_BY_TYPE("evictions_total", "The count of cache evictions.");

static const struct {
	const struct metrics_family *family;
	const char *type; /* NULL: has no such label */
} counters[CACHE_COUNTERS] = {
	[CACHE_REQUESTS] = { &requests_family, NULL },
	[CACHE_HITS_SUCCESS] = { &hits_family, "success" },
	[CACHE_HITS_DENIAL] = { &hits_family, "denial" },
	[CACHE_MISSES] = { &misses_family, NULL },
	[CACHE_PREFETCHES] = { &prefetch_family, NULL },
	[CACHE_DROPS] = { &drops_family, NULL },
	[CACHE_STALE] = { &stale_family, NULL },
	[CACHE_EVICTIONS_SUCCESS] = { &evictions_family, "success" },
	[CACHE_EVICTIONS_DENIAL] = { &evictions_family, "denial" },
};

static struct metrics_series *series_of(const struct plugin_inst *self,
					const struct metrics_family *family, const char *server,
					const char *type)
{
	const struct cache_conf *conf = self->conf;
	const char *view = block_conf(self->block)->view;
	if (type != NULL)
		return metrics_get(family,
				   (const char *const[]){ server, type, conf->zones_label, view });
	return metrics_get(family, (const char *const[]){ server, conf->zones_label, view });
}

/* The query's listener among the block's; labels are compared as pointers. */
static size_t server_of(const struct cache_conf *conf, const struct query *q)
{
	size_t i = 0;
	if (LIKELY(conf->n_servers == 1))
		return 0;
	const char *label = query_server_label(q);
	while (i + 1 < conf->n_servers && conf->server[i].label != label)
		i++;
	return i;
}

static NOINLINE _Atomic uint64_t *make_cell(struct plugin_inst *self, struct cache_worker *worker,
					    size_t server, enum cache_counter what)
{
	const struct cache_conf *conf = self->conf;
	_Atomic uint64_t *cell =
		metrics_row(series_of(self, counters[what].family, conf->server[server].label,
				      counters[what].type),
			    worker->slot);
	worker->cell[server * CACHE_COUNTERS + what] = cell;
	return cell;
}

void cache_count(struct plugin_inst *self, const struct query *q, enum cache_counter what)
{
	struct cache_worker *worker = cache_worker(self, q);
	size_t i = server_of(self->conf, q);
	_Atomic uint64_t *cell = worker->cell[i * CACHE_COUNTERS + what];
	if (UNLIKELY(cell == NULL))
		cell = make_cell(self, worker, i, what);
	metrics_cell_add(cell, worker->slot, 1);
}

void cache_count_stored(struct plugin_inst *self, struct query *q)
{
	struct cache_conf *conf = self->conf;
	_Atomic bool *has = &conf->server[server_of(conf, q)].has_stored;
	if (!atomic_load_explicit(has, memory_order_relaxed))
		atomic_store_explicit(has, true, memory_order_relaxed);
}

static void collect_gauges(void *ctx)
{
	struct plugin_inst *self = ctx;
	const struct cache_conf *conf = self->conf;
	static const char *const types[] = {
		[STORE_HALF_SUCCESS] = "success", [STORE_HALF_DENIAL] = "denial"
	};
	for (size_t i = 0; i < conf->n_servers; i++) {
		if (!atomic_load_explicit(&conf->server[i].has_stored, memory_order_relaxed))
			continue;
		for (int h = 0; h < STORE_HALVES; h++)
			metrics_set(
				series_of(self, &entries_family, conf->server[i].label, types[h]),
				(double)store_count(conf->store, (enum store_half)h));
	}
}

void cache_count_open(struct plugin_inst *self)
{
	struct cache_conf *conf = self->conf;
	const char *server, *zone;
	size_t n = 0;
	while (block_served(self->block, n, &server, &zone))
		n++;
	conf->server = xcalloc(n + 1, sizeof(*conf->server));
	for (size_t i = 0; block_served(self->block, i, &server, &zone); i++) {
		size_t k = 0;
		while (k < conf->n_servers && conf->server[k].label != server)
			k++;
		if (k == conf->n_servers)
			conf->server[conf->n_servers++].label = server;
	}
	metrics_on_collect(collect_gauges, self);
}

void cache_count_close(struct plugin_inst *self)
{
	struct cache_conf *conf = self->conf;
	metrics_off_collect(collect_gauges, self);
	free(conf->server);
}
