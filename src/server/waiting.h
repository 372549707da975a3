/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How many queries of a worker may wait, and how many of one client.
 *
 * Only waiting is limited: a query that is answered at once is served however many others wait.
 * What waiting queries hold is counted in units of a slot (4 KB), for all and for each client
 * (client.h). A client may hold as much as is still free, so that one
 * alone takes half at most, and however many there are something is left for the next one. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "server/slab.h"

struct metrics_series;
struct query;
struct worker;

/* A client that has queries waiting. */
struct waiting_client {
	struct waiting_client *next; /* of the same bucket, or free */
	uint64_t key;
	uint32_t units;
	uint32_t n_large; /* 64 KB blocks */
};

enum waiting_refusal { WAITING_SERVER, WAITING_CLIENT, WAITING_MEMORY };
enum { WAITING_REFUSALS = WAITING_MEMORY + 1 };

struct waiting {
	struct waiting_client **bucket; /* 1 << bits of them; NULL: none yet */
	unsigned bits;
	uint32_t n_clients;
	uint64_t seed[2];
	struct waiting_client *free;
	uint32_t limit;	  /* units in use up to which queries begin to wait */
	uint32_t n_large; /* 64 KB blocks that waiting queries hold */
	struct metrics_series *refused[WAITING_REFUSALS];
	uint64_t next_log_ns;
	uint32_t held_back; /* refusals since the last log line */
};

/* The share of a worker of what may wait in the process. */
void waiting_init(struct worker *worker);
/* Counts what q holds for its client; false, counted and logged, when it may not wait. */
MUST_CHECK bool waiting_begin(struct query *q);
/* Counts q for its client without asking (sub-queries, whose parent was asked or will be). */
void waiting_charge(struct query *q);
/* q is over. */
void waiting_end(struct query *q);
/* Was q allowed to wait, with no more memory than it has now? */
static inline bool waiting_is_charged(const struct query *q)
{
	return q->admitted && q->n_large == 0 && q->units == slot_units(q);
}
void waiting_done(struct waiting *waiting);
