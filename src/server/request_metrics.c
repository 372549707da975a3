/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Request metrics: label values are turned into series once, then each count is an add to the
 * worker's own cell. */
#include "server/request_metrics.h"

#include "base/metrics/metrics.h"
#include "server/block.h"
#include "server/handler.h"
#include "server/query.h"

static const double duration_bounds[] = {
	0.00025, 0.0005, 0.001, 0.002, 0.004, 0.008, 0.016, 0.032,
	0.064,	 0.128,	 0.256, 0.512, 1.024, 2.048, 4.096, 8.192,
};
static const double size_bounds[] = {
	0, 100, 200, 300, 400, 511, 1023, 2047, 4095, 8291, 16e3, 32e3, 48e3, 64e3,
};

static const struct metrics_family requests_family = {
	.name = "coredns_dns_requests_total",
	.help = "Counter of DNS requests made per zone, protocol and family.",
	.kind = METRICS_COUNTER,
	.labels = { "server", "zone", "view", "proto", "family", "type" },
};
static const struct metrics_family request_size_family = {
	.name = "coredns_dns_request_size_bytes",
	.help = "Size of the EDNS0 UDP buffer in bytes (64K for TCP) per zone and protocol.",
	.kind = METRICS_HISTOGRAM,
	.labels = { "server", "zone", "view", "proto" },
	.buckets = size_bounds,
	.n_buckets = ARRAY_LEN(size_bounds),
	.sum_scale = 1,
};
static const struct metrics_family response_size_family = {
	.name = "coredns_dns_response_size_bytes",
	.help = "Size of the returned response in bytes.",
	.kind = METRICS_HISTOGRAM,
	.labels = { "server", "zone", "view", "proto" },
	.buckets = size_bounds,
	.n_buckets = ARRAY_LEN(size_bounds),
	.sum_scale = 1,
};
static const struct metrics_family duration_family = {
	.name = "coredns_dns_request_duration_seconds",
	.help = "Histogram of the time (in seconds) each request took per zone.",
	.kind = METRICS_HISTOGRAM,
	.labels = { "server", "zone", "view" },
	.buckets = duration_bounds,
	.n_buckets = ARRAY_LEN(duration_bounds),
	.sum_scale = 1e-9,
};
static const struct metrics_family dnssec_family = {
	.name = "coredns_dns_do_requests_total",
	.help = "Counter of DNS requests with DO bit set per zone.",
	.kind = METRICS_COUNTER,
	.labels = { "server", "zone", "view" },
};
static const struct metrics_family responses_family = {
	.name = "coredns_dns_responses_total",
	.help = "Counter of response status codes.",
	.kind = METRICS_COUNTER,
	.labels = { "server", "zone", "view", "rcode", "plugin" },
};

/* Types that have a label of their own; all others are "other", the last row. */
static const uint16_t own_label[REQUEST_METRICS_TYPES - 1] = {
	DNS_TYPE_A,	DNS_TYPE_AAAA,	DNS_TYPE_CNAME, DNS_TYPE_DNSKEY, DNS_TYPE_DS,
	DNS_TYPE_MX,	DNS_TYPE_NSEC3, DNS_TYPE_NSEC,	DNS_TYPE_NS,	 DNS_TYPE_PTR,
	DNS_TYPE_RRSIG, DNS_TYPE_SOA,	DNS_TYPE_SRV,	DNS_TYPE_TXT,	 DNS_TYPE_HTTPS,
	DNS_TYPE_SVCB,	DNS_TYPE_IXFR,	DNS_TYPE_AXFR,	DNS_TYPE_ANY,
};

static unsigned type_row(uint16_t type)
{
	unsigned i = 0;
	while (i < REQUEST_METRICS_TYPES - 1 && own_label[i] != type)
		i++;
	return i;
}

static const char *type_label(unsigned row, char buf[DNS_MNEMONIC_MAX])
{
	return row < REQUEST_METRICS_TYPES - 1 ? dns_type_str(own_label[row], buf) : "other";
}

void request_metrics_init(struct request_metrics *metrics, const char *server, const char *zone,
			  const char *view)
{
	metrics->server = server;
	metrics->zone = zone;
	metrics->view = view;
}

static NOINLINE struct metrics_series *make_series(_Atomic(struct metrics_series *) *at,
						   const struct metrics_family *family,
						   const struct request_metrics *metrics,
						   const char *label_a, const char *label_b,
						   const char *label_c)
{
	const char *values[] = { metrics->server, metrics->zone, metrics->view,
				 label_a,	  label_b,	 label_c };
	struct metrics_series *series = metrics_get(family, values);
	atomic_store_explicit(at, series, memory_order_release);
	return series;
}

#define SERIES(at, ...)                                                                     \
	__extension__({                                                                     \
		struct metrics_series *s_ = atomic_load_explicit(at, memory_order_acquire); \
		LIKELY(s_ != NULL) ? s_ : make_series(at, __VA_ARGS__);                     \
	})

static ALWAYS_INLINE void observe_at(struct metrics_series *series, unsigned slot, unsigned bucket,
				     size_t n_buckets, uint64_t value)
{
	_Atomic uint64_t *row = metrics_row(series, slot);
	metrics_cell_add(row + bucket, slot, 1);
	metrics_cell_add(row + n_buckets + 1, slot, value);
}

static unsigned size_bucket(uint32_t count)
{
	static const uint32_t upto[] = { 0,    100,  200,  300,	  400,	 511,	1023,
					 2047, 4095, 8291, 16000, 32000, 48000, 64000 };
	unsigned i = 0;
	while (i < ARRAY_LEN(upto) && count > upto[i])
		i++;
	return i;
}

static unsigned duration_bucket(uint64_t ns)
{
	unsigned i = 0;
	for (uint64_t bound = 250000; i < ARRAY_LEN(duration_bounds) && ns > bound; bound *= 2)
		i++;
	return i;
}

static void count_request(struct query *q, struct request_metrics *metrics, unsigned slot)
{
	static const char *const protos[] = { "udp", "tcp" };
	static const char *const families[] = { "1", "2" };
	char buf[DNS_MNEMONIC_MAX];
	unsigned p = q->proto == QUERY_TCP;
	unsigned f = q->client.family == AF_INET6;
	unsigned t = type_row(q->req.qtype);
	struct metrics_series *series = SERIES(&metrics->requests[p][f][t], &requests_family,
					       metrics, protos[p], families[f], type_label(t, buf));
	metrics_add(series, slot, 1);
	series = SERIES(&metrics->request_size[p], &request_size_family, metrics, protos[p], NULL,
			NULL);
	uint32_t n = (uint32_t)q->req.len;
	observe_at(series, slot, size_bucket(n), ARRAY_LEN(size_bounds), n);
	if (q->req.opt.dnssec_ok)
		metrics_add(SERIES(&metrics->dnssec_ok, &dnssec_family, metrics, NULL, NULL, NULL),
			    slot, 1);
}

static void count_response(struct query *q, struct request_metrics *metrics, uint16_t rcode,
			   const char *plugin, uint32_t size)
{
	unsigned slot = query_slot(q);
	static const char *const protos[] = { "udp", "tcp" };
	char buf[DNS_MNEMONIC_MAX];
	unsigned p = q->proto == QUERY_TCP;
	struct metrics_series *series = SERIES(&metrics->response_size[p], &response_size_family,
					       metrics, protos[p], NULL, NULL);
	observe_at(series, slot, size_bucket(size), ARRAY_LEN(size_bounds), size);

	series = SERIES(&metrics->duration, &duration_family, metrics, NULL, NULL, NULL);
	uint64_t ns = query_now(q) - q->start_ns;
	observe_at(series, slot, duration_bucket(ns), ARRAY_LEN(duration_bounds), ns);

	unsigned row = MIN((unsigned)rcode, (unsigned)REQUEST_METRICS_RCODES - 1);
	/* What the server wrote itself (failures, silence) has an empty plugin label. */
	bool by_plugin = q->outcome == V_ANSWERED;
	/* The last row is not one code's: those are rare, and looked up each time. */
	_Atomic(struct metrics_series *) rare = NULL;
	_Atomic(struct metrics_series *) *at =
		row == REQUEST_METRICS_RCODES - 1 ? &rare : &metrics->responses[by_plugin][row];
	series = SERIES(at, &responses_family, metrics, dns_rcode_str(rcode, buf),
			by_plugin ? plugin : "", NULL);
	metrics_add(series, slot, 1);
}

void request_metrics_count_query(struct query *q, const char *plugin)
{
	/* Series pointers are filled in as they are needed: the only part that changes. */
	struct request_metrics *r = &((struct block_zone *)(uintptr_t)q->zone)->metrics;
	unsigned slot = query_slot(q);
	count_request(q, r, slot);
	uint16_t rcode = q->outcome == V_DROP ? (uint16_t)DNS_RCODE_NOERROR : query_rcode(q);
	count_response(q, r, rcode, plugin, q->outcome == V_ANSWERED ? q->resp.full_size : 0);
}

void request_metrics_count_refused(struct query *q, struct request_metrics *metrics, uint16_t rcode)
{
	/* What the server itself is about to send: header, question, OPT. */
	uint32_t size = DNS_HEADER_BYTES + (uint32_t)q->req.question_len;
	if (q->req.opt.present)
		size += DNS_OPT_BYTES;
	count_request(q, metrics, query_slot(q));
	count_response(q, metrics, rcode, "", size);
}
