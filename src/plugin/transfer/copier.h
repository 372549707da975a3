/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Copies of zones for transfers, taken on a thread of its own: the plugins that hold the zones may
 * need locks for it, and workers wait for none. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "dns/name.h"

struct plugin_inst;
struct zone_copy;

/* One copy; of the query that asked for it, which gives it back once it is ready. */
struct transfer_job {
	struct transfer_job *next;
	struct plugin_inst *from;
	uint8_t zone[DNS_NAME_MAX];
	atomic_bool ready;
	bool drop;		/* the query does not need it any more */
	struct zone_copy *copy; /* then; NULL: there is none */
};

struct transfer_copier;

/* NULL when no thread can be started. */
struct transfer_copier *transfer_copier_new(void);
/* When every job was returned. NULL is fine. */
void transfer_copier_free(struct transfer_copier *copier);

/* Any thread. The copy is taken, and freed, on the copier's own. */
struct transfer_job *transfer_copier_add(struct transfer_copier *copier, struct plugin_inst *from,
					 const uint8_t *zone);
void transfer_copier_drop(struct transfer_copier *copier, struct transfer_job *job);
