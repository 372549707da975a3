/* What the parts of loadbalance share. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/rng.h"
#include "dns/resp.h"
#include "net/addr.h"

struct loadbalance_weights;

/* A reply to be put in order. */
struct loadbalance_job {
	struct dns_resp *resp;
	struct arena *arena;
	struct rng *rng;
};

/* Open form. Shuffles addresses and MX records of every section, behind all others. */
void loadbalance_shuffle(const struct loadbalance_job *job);
/* Open form. Moves one address of the answer and one of the additional section to the front of the
 * others, chosen by weight. `weights` may be NULL: all weigh the same. */
void loadbalance_weigh(const struct loadbalance_job *job,
		       const struct loadbalance_weights *weights);
/* Open form. Puts addresses of the networks first, in the order of the networks. */
void loadbalance_prefer(const struct loadbalance_job *job, const struct net_cidr *net,
			size_t count);

/* Wire form: the same orders with the same numbers drawn, by moving bytes in their place. False:
 * that cannot be done with this message, and nothing was changed or drawn. */
bool loadbalance_shuffle_wire(const struct loadbalance_job *job);
bool loadbalance_weigh_wire(const struct loadbalance_job *job,
			    const struct loadbalance_weights *weights);

/* Of an address record; 1 without weights. */
unsigned loadbalance_record_weight(const struct loadbalance_weights *weights,
				   const struct dns_rr *rr);
