/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The cluster's own addresses: of nodes, pods and Services. They are never learnt from an answer: whoever
 * owns an allowed name must not open the API server with it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "controller/controller.h"
#include "net/ip_ranges.h"

struct egressfirewall_ranges {
	uint64_t read_ns; /* monotonic, when they were last read; 0: never */
	uint64_t took_ns; /* for that */
	struct net_ip_ranges v4, v6;
};

void egressfirewall_ranges_done(struct egressfirewall_ranges *ranges);
/* Reads them from the watches. */
void egressfirewall_ranges_read(const struct controller_ctx *ctx,
				struct egressfirewall_ranges *ranges);
bool egressfirewall_ranges_have(const struct egressfirewall_ranges *ranges,
				const union net_addr *address);
