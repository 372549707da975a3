/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Orders of a reply that is a message (from a cache or an upstream): the address records of a
 * section change places byte by byte, and the message needs not be opened. That works where they
 * stand together behind the others, all of one size with an owner that is a pointer, and nothing
 * that follows points at them. Messages as servers make them are so nearly always. */
#pragma once

#include "plugin/loadbalance/loadbalance.h"

/* Wire form: the same orders with the same numbers drawn, by moving bytes in their place. False:
 * that cannot be done with this message, and nothing was changed or drawn. */
bool loadbalance_shuffle_wire(const struct loadbalance_job *job);
bool loadbalance_weigh_wire(const struct loadbalance_job *job,
			    const struct loadbalance_weights *weights);
