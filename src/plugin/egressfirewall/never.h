/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Addresses that are not learnt from answers, whatever the rules are: who owns an allowed name must
 * not open the metadata service, the nodes or the API server with it. Control threads. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "net/ip_ranges.h"

struct egressfirewall_networks;
struct strbuf;

struct egressfirewall_never {
	struct net_ip_ranges v4, v6;
};

/* Loopback, link-local, multicast, unspecified and reserved addresses, and `more`, but not those of
 * `learn`. */
void egressfirewall_never_init(struct egressfirewall_never *never,
			       const struct egressfirewall_networks *more,
			       const struct egressfirewall_networks *learn);
void egressfirewall_never_done(struct egressfirewall_never *never);
/* Appends them in a form that is equal for equal networks: for the key of a resource. */
void egressfirewall_networks_add(struct strbuf *out,
				 const struct egressfirewall_networks *networks);
/* `ip` has 4 or 16 bytes. IPv6 addresses that stand for an IPv4 one count as that one, too. */
bool egressfirewall_never_learns(const struct egressfirewall_never *never, const uint8_t *ip,
				 uint8_t ip_n);
