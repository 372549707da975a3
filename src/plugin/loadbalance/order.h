/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The orders in which loadbalance puts the records of a section: groups by type, and within the
 * addresses by chance, by weight or by network. */
#pragma once

#include "plugin/loadbalance/loadbalance.h"

/* Open form. Shuffles addresses and MX records of every section, behind all others. */
void loadbalance_shuffle(const struct loadbalance_job *job);
/* Open form. Moves one address of the answer and one of the additional section to the front of the
 * others, chosen by weight. `weights` may be NULL: all weigh the same. */
void loadbalance_weigh(const struct loadbalance_job *job,
		       const struct loadbalance_weights *weights);
/* Open form. Puts addresses of the networks first, in the order of the networks. */
void loadbalance_prefer(const struct loadbalance_job *job, const struct net_cidr *net,
			size_t count);
/* Of an address record; 1 without weights. */
unsigned loadbalance_record_weight(const struct loadbalance_weights *weights,
				   const struct dns_rr *rr);
