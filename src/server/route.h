/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What one listener does in one generation: which zones it serves, and which queries it admits. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "dns/zone/zoneset.h"
#include "net/addr.h"
#include "server/conn/transport.h"
#include "server/handler.h"
#include "server/request_metrics.h"

struct block_zone;
struct certs;
struct listener;
struct metrics_series;
struct query;

enum { ROUTE_HTTPS_STATUSES = 4 }; /* 200, 400, 404, 500 */

struct route {
	struct listener *listener;
	struct dns_zoneset *zones; /* → struct block_zone */
	uint16_t opcodes;
	bool any_class;
	struct block_timeouts timeouts;
	enum transport transport;
	const struct block_zone *first;
	struct {
		uint32_t max_connections; /* 0: no limit of its own */
		uint32_t max_streams;	  /* 0: the default */
		bool has_max_streams;	  /* some block configures it */
	} https;
	_Atomic(struct metrics_series *) https_count[ROUTE_HTTPS_STATUSES];
	struct certs *certs; /* of its blocks, which agree; NULL: no encryption */
	union net_addr addr;
	const char *label; /* "dns://:53" */
	struct request_metrics refused_metrics;
};

/* Finds the block of a query; true when q->block and q->zone are set, else *ret_rcode is the code
 * of the reply. */
bool route_query(struct query *q, const struct route *route, uint16_t *ret_rcode);
