/* What the parts of loadbalance share. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "net/addr.h"

struct loadbalance_weights;
struct query;

/* Shuffles addresses and MX records of every section. */
void loadbalance_shuffle(struct query *q);
/* Moves one address of the answer and one of the additional section to the front of the others,
 * chosen by weight. `w` may be NULL: all weigh the same. */
void loadbalance_weigh(struct query *q, const struct loadbalance_weights *w);
/* Puts addresses of the networks first, in the order of the networks. */
void loadbalance_prefer(struct query *q, const struct net_cidr *net, size_t n);
