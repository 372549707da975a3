/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Those who may have zones: `to` and `source` of a stanza. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/opt.h"
#include "net/addr.h"

struct transfer_to {
	bool any;	   /* `*` was among them */
	union net_addr *v; /* the others, with ports */
	size_t n;
	union net_addr source; /* AF_UNSPEC: not given */
};

/* OPT_FN rows; conf is a struct transfer_to and user the struct setup. */
int transfer_to_opt(struct opt_ctx *ctx, const struct opt_line *line);
int transfer_source_opt(struct opt_ctx *ctx, const struct opt_line *line);
/* Ports do not count. */
bool transfer_to_has(const struct transfer_to *to, const union net_addr *client);
