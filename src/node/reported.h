/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The addresses that a DNSName reports, as pairs of this node's table: names that were resolved before this
 * node asked, or through DNS servers that do not ask. Pure: no I/O, any thread. */
#pragma once

#include <stdint.h>

#include <jansson.h>

#include "addrset/addrset.h"
#include "base/vec.h"

typedef VEC(struct addrset_pair) node_pairs;

/* Appends the pairs of the object, all wanted until `until_ns`: an address counts as long as it is listed. The
 * times in the object say nothing about that, since they are written only when an address comes or goes.
 * What is not valid is passed over, as are addresses that are never learnt. */
void node_reported_pairs(const json_t *dnsname, uint64_t until_ns, node_pairs *ret);
