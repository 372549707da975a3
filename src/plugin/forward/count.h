/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Metrics of forward: those of CoreDNS, by its names, and one that it had before 1.10, by type. */
#pragma once

#include "plugin/forward/serve.h"

/* On the control thread: init after the upstreams of `conf` are known, done before they are
 * freed (also without init). */
void forward_count_init(struct forward_conf *conf);
void forward_count_done(struct forward_conf *conf);
/* On the query's worker: a question was sent, a reply came after `ns`, a connection was new or
 * reused, all upstreams are down, max_concurrent refused the query. */
void forward_count_asked(const struct forward_query *query, struct forward_up *up);
void forward_count_reply(const struct forward_query *query, struct forward_up *up, uint16_t rcode,
			 uint64_t ns);
void forward_count_conn(const struct forward_query *query, struct forward_up *up,
			const struct resolve_exchange *exchange);
void forward_count_broken(const struct forward_query *query);
void forward_count_rejected(const struct forward_query *query);
