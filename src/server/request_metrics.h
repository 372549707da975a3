/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The request metrics, with CoreDNS's names, counted on the hot path: one struct per (server, zone,
 * view), whose series are looked up when first needed. */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

struct metrics_series;
struct query;

enum { REQUEST_METRICS_TYPES = 20, REQUEST_METRICS_RCODES = 24 };

struct request_metrics {
	const char *server, *zone, *view;
	_Atomic(struct metrics_series *) requests[2][2]
						 [REQUEST_METRICS_TYPES]; /* proto, family, type */
	_Atomic(struct metrics_series *) request_size[2];
	_Atomic(struct metrics_series *) response_size[2];
	_Atomic(struct metrics_series *) duration;
	_Atomic(struct metrics_series *) dnssec_ok;
	_Atomic(struct metrics_series *)
		responses[2][REQUEST_METRICS_RCODES]; /* by the server, a plugin */
};

void request_metrics_init(struct request_metrics *metrics, const char *server, const char *zone,
			  const char *view);
/* Counts a finished query. `plugin`: label of coredns_dns_responses_total. For prometheus' done. */
void request_metrics_count_query(struct query *q, const char *plugin);
/* Counts a query refused before any chain ran. */
void request_metrics_count_refused(struct query *q, struct request_metrics *metrics,
				   uint16_t rcode);
