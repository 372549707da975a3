/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The weight file of `loadbalance weighted`: names, each followed by lines `ADDRESS WEIGHT`. Built
 * once, then read by many threads. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/slice.h"
#include "base/srcpos.h"
#include "net/addr.h"

enum { LOADBALANCE_WEIGHTS_BYTES_MAX = 16 << 20, LOADBALANCE_WEIGHT_MAX = 255 };

struct loadbalance_weights;

/* `file` is named in errors and must outlive `reterr`. ERR_PARSE with the place in `reterr`. */
MUST_CHECK int loadbalance_weights_parse(const char *file, struct slice text,
					 struct loadbalance_weights **ret, struct srcerr *reterr);
/* NULL is fine. */
void loadbalance_weights_free(struct loadbalance_weights *weights);

struct loadbalance_domain;
/* The weights of a name (wire form, any case); NULL: it has none. */
const struct loadbalance_domain *loadbalance_weights_find(const struct loadbalance_weights *weights,
							  const uint8_t *name);
/* 1 when the address is not listed, or d is NULL. */
unsigned loadbalance_weight_of(const struct loadbalance_domain *domain, const union net_addr *ip);
