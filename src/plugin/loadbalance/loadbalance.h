/* SPDX-License-Identifier: GPL-3.0-or-later */
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
