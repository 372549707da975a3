/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The secondary servers that may transfer zones: `to` and `source` of a stanza. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/opt.h"
#include "net/addr.h"

struct transfer_secondaries {
	bool any;	   /* `*` was among them */
	union net_addr *v; /* the others, with ports */
	size_t n;
	union net_addr source; /* AF_UNSPEC: not given */
};

/* OPT_FN rows; conf is a struct transfer_secondaries and user the struct setup. */
int transfer_parse_to(struct opt_ctx *ctx, const struct opt_line *line);
int transfer_parse_source(struct opt_ctx *ctx, const struct opt_line *line);
/* Ports do not count. */
bool transfer_secondaries_has(const struct transfer_secondaries *secondaries,
			      const union net_addr *client);
