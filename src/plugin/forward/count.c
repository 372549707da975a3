/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Metrics of forward: those of CoreDNS, by its names, and one that it had before 1.10, by type. */
#include "plugin/forward/count.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/metrics/metrics.h"
#include "dns/types.h"
#include "resolve/upstream.h"

#define PROXY "forward"

static const double duration_bounds[] = {
	0.00025, 0.0005, 0.001, 0.002, 0.004, 0.008, 0.016, 0.032,
	0.064,	 0.128,	 0.256, 0.512, 1.024, 2.048, 4.096, 8.192,
};
enum { FIRST_BOUND_NS = 250000 };

static const struct metrics_family duration_family = {
	.name = "coredns_proxy_request_duration_seconds",
	.help = "Histogram of the time each request took.",
	.kind = METRICS_HISTOGRAM,
	.labels = { "proxy_name", "to", "rcode" },
	.buckets = duration_bounds,
	.n_buckets = ARRAY_LEN(duration_bounds),
	.sum_scale = 1e-9,
};
static const struct metrics_family asked_family = {
	.name = "coredns_forward_requests_total",
	.help = "Counter of requests made per upstream and type.",
	.kind = METRICS_COUNTER,
	.labels = { "to", "type" },
};
static const struct metrics_family hits_family = {
	.name = "coredns_proxy_conn_cache_hits_total",
	.help = "Counter of connection cache hits per upstream and protocol.",
	.kind = METRICS_COUNTER,
	.labels = { "proxy_name", "to", "proto" },
};
static const struct metrics_family misses_family = {
	.name = "coredns_proxy_conn_cache_misses_total",
	.help = "Counter of connection cache misses per upstream and protocol.",
	.kind = METRICS_COUNTER,
	.labels = { "proxy_name", "to", "proto" },
};
static const struct metrics_family probes_family = {
	.name = "coredns_proxy_healthcheck_failures_total",
	.help = "Counter of the number of failed healthchecks.",
	.kind = METRICS_COUNTER,
	.labels = { "proxy_name", "to" },
};
static const struct metrics_family broken_family = {
	.name = "coredns_forward_healthcheck_broken_total",
	.help = "Counter of the number of complete failures of the healthchecks.",
	.kind = METRICS_COUNTER,
};
static const struct metrics_family rejects_family = {
	.name = "coredns_forward_max_concurrent_rejects_total",
	.help = "Counter of the number of queries rejected because the concurrent queries were at "
		"maximum.",
	.kind = METRICS_COUNTER,
};

/* Probes count their own failures; here the failures since the last scrape are added to the
 * metric, so that the sum survives a reload. */
static void collect_probes(void *ctx)
{
	struct forward_conf *conf = ctx;
	for (unsigned i = 0; i < conf->n_up; i++) {
		struct resolve_upstream *upstream = conf->up[i];
		uint64_t n = atomic_load_explicit(&upstream->failed_probes, memory_order_relaxed);
		if (n == conf->probes_shown[i])
			continue;
		const char *labels[] = { PROXY, upstream->text };
		metrics_add(metrics_get(&probes_family, labels), 0, n - conf->probes_shown[i]);
		conf->probes_shown[i] = n;
	}
}

void forward_count_init(struct forward_conf *conf)
{
	conf->broken = metrics_get(&broken_family, NULL);
	conf->rejects = metrics_get(&rejects_family, NULL);
	conf->probes_shown = xcalloc(conf->n_up + 1, sizeof(*conf->probes_shown));
	metrics_on_collect(collect_probes, conf);
	conf->collecting = true;
}

void forward_count_done(struct forward_conf *conf)
{
	if (!conf->collecting)
		return;
	metrics_off_collect(collect_probes, conf);
	collect_probes(conf);
	free(conf->probes_shown);
}

/* The bucket bounds are 250 µs times powers of two. */
static size_t bucket_of(uint64_t ns)
{
	uint64_t units = ns == 0 ? 0 : (ns - 1) / FIRST_BOUND_NS;
	size_t k = units == 0 ? 0 : 64 - (size_t)__builtin_clzll(units);
	return MIN(k, ARRAY_LEN(duration_bounds));
}

static NOINLINE struct metrics_series *find_duration(const struct forward_up *up, uint16_t rcode)
{
	char buf[DNS_MNEMONIC_MAX];
	const char *labels[] = { PROXY, up->upstream->text, dns_rcode_str(rcode, buf) };
	return metrics_get(&duration_family, labels);
}

/* The common first. */
static const uint16_t own_label[FORWARD_TYPES - 1] = {
	DNS_TYPE_A,  DNS_TYPE_AAAA,  DNS_TYPE_PTR, DNS_TYPE_SRV, DNS_TYPE_HTTPS, DNS_TYPE_TXT,
	DNS_TYPE_MX, DNS_TYPE_CNAME, DNS_TYPE_NS,  DNS_TYPE_SOA, DNS_TYPE_SVCB,
};

static NOINLINE struct metrics_series *find_asked(const struct forward_up *up, unsigned type)
{
	char buf[DNS_MNEMONIC_MAX];
	const char *labels[] = { up->upstream->text, type < ARRAY_LEN(own_label)
							     ? dns_type_str(own_label[type], buf)
							     : "other" };
	return metrics_get(&asked_family, labels);
}

void forward_count_asked(const struct forward_query *query, struct forward_up *up)
{
	unsigned i = 0;
	while (i < ARRAY_LEN(own_label) && own_label[i] != query->q->req.qtype)
		i++;
	if (UNLIKELY(up->asked[i] == NULL))
		up->asked[i] = find_asked(up, i);
	metrics_add(up->asked[i], query->worker->slot, 1);
}

void forward_count_reply(const struct forward_query *query, struct forward_up *up, uint16_t rcode,
			 uint64_t ns)
{
	struct metrics_series **series = &up->duration[MIN(rcode, (uint16_t)FORWARD_RCODES)];
	if (*series == NULL || rcode >= FORWARD_RCODES) /* the last place is shared */
		*series = find_duration(up, rcode);
	_Atomic uint64_t *row = metrics_row(*series, query->worker->slot);
	metrics_cell_add(row + bucket_of(ns), query->worker->slot, 1);
	metrics_cell_add(row + ARRAY_LEN(duration_bounds) + 1, query->worker->slot, ns);
}

void forward_count_conn(const struct forward_query *query, struct forward_up *up,
			const struct resolve_exchange *exchange)
{
	if (exchange->proto > RESOLVE_TCP_TLS) /* HTTPS has its own connections in CoreDNS */
		return;
	struct metrics_series **series = &up->conn[exchange->proto][exchange->reused];
	if (*series == NULL) {
		const char *labels[] = { PROXY, up->upstream->text,
					 resolve_proto_name(exchange->proto) };
		*series = metrics_get(exchange->reused ? &hits_family : &misses_family, labels);
	}
	metrics_add(*series, query->worker->slot, 1);
}

void forward_count_broken(const struct forward_query *query)
{
	metrics_add(query->conf->broken, query->worker->slot, 1);
}

void forward_count_rejected(const struct forward_query *query)
{
	metrics_add(query->conf->rejects, query->worker->slot, 1);
}
