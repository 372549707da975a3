/* SPDX-License-Identifier: GPL-3.0-or-later */
/* When a DNSName that no rule uses any more may go: after the rules and the addresses on all nodes (EF-15).
 * What is needed to decide is in the cluster: the object's mark (api/egress/unused.h), rules, reports of nodes. So
 * any end of the controller changes nothing. Pure: no I/O, any thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/egress/unused.h"
#include "base/clock.h"
#include "base/map.h"
#include "base/slice.h"

/* Nodes are waited for so long: one that is cut off, or whose agent is stuck, keeps no object for ever. */
#define RELEASE_WAIT_NS (30 * NS_PER_S)

/* What nodes have let go. */
struct release_votes {
	size_t nodes;	   /* that say so when they have */
	struct map agreed; /* "NAME MARK": on how many of them */
};

void release_votes_init(struct release_votes *votes);
void release_votes_done(struct release_votes *votes);
/* One more node: data.released of its report. */
void release_votes_add(struct release_votes *votes, struct slice lines);

struct release_case {
	const char *name;	/* of the DNSName */
	unsigned claimed, used; /* enum egress_use: as the object says, and by rules */
	const char *mark;	/* of the object; NULL: none */
	uint64_t now_ns;	/* wall clock */
};

struct release_verdict {
	unsigned kept;			   /* uses that the object goes on to claim */
	char mark[EGRESS_UNUSED_TEXT_MAX]; /* that the object should have; "": none */
	bool is_late;			   /* it goes although nodes have not said so */
	/* After this the verdict is another one, whatever nodes say; 0: it is not. */
	uint64_t again_ns;
};

/* No agent: nothing is waited for. */
void release_decide(const struct release_votes *votes, const struct release_case *now,
		    struct release_verdict *ret);
