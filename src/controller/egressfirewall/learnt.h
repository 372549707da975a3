/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pairs of name and address that DNS servers learnt from answers to clients: how they reach the
 * controller. Whoever receives them (a transfer of zones, a test) calls egressfirewall_learn(); they
 * then count as the controller's own lookups do, appear in the status of each DNSName that covers the
 * name, and are looked up again when their time is over (EF-7, EF-8). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "controller/controller.h"
#include "net/addr.h"

struct egressfirewall_pair {
	const char *name; /* that the client asked for, or that was resolved; any spelling */
	const char *
		owner; /* of the address record, the end of the chain; may be the same. NULL: unknown */
	union net_addr address;
	uint32_t ttl_s;	   /* the lowest of the chain, as the client got it */
	uint64_t first_ns; /* wall time at which it was first seen; 0: now */
	uint64_t client;   /* a number that stands for the one that asked; 0: not known */
};

/* Takes pairs over, in any order and as often as they come. Names that no rule covers are passed over,
 * as are addresses that must not be learnt. Beyond the limits (shares.h) a new name takes the place of
 * one of the client that has most, which is counted and gets one Event. Returns how many
 * of the pairs were taken over, those that were known before included. Any thread. */
size_t egressfirewall_learn(struct controller_ctx *ctx, const struct egressfirewall_pair *pairs,
			    size_t count);
