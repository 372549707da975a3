/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A generation: everything that was built from one reading of the Corefile. The control thread
 * builds and frees it; workers read it, and each counts its own queries on it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/compiler.h"
#include "server/block.h"
#include "server/route.h"

struct corefile;
struct server;
struct srcerr;

/* What one worker knows of a generation; touched by that worker only. */
struct generation_worker {
	uint32_t inflight;
	bool retiring;
	unsigned n_inited; /* instances whose worker_init ran */
};

struct generation {
	struct arena arena;
	struct server *srv;
	struct corefile *corefile;
	struct block *block;
	size_t n_block;
	struct plugin_inst **inst; /* all of all blocks, in set-up order */
	size_t n_inst;
	size_t n_prepared;
	struct route **route;
	size_t n_route;
	bool has_metrics; /* some block has `prometheus` */
	bool debug;
	const uint16_t *edns_echo;
	size_t n_edns_echo;
	const char **shown; /* "zone:port [on ip]", one per zone and listener */
	size_t n_shown;
	int64_t reload_ns, reload_jitter_ns, lameduck_ns;
	unsigned sockets;
	unsigned n_members;		   /* workers that ever knew it; set when it is retired */
	unsigned n_left;		   /* workers that have left it; guarded by srv->lock */
	struct generation *next;	   /* in srv->retired */
	struct generation_worker worker[]; /* one per worker; each touched by that worker only */
};

/* Builds the blocks, instances and routes of `cf`, and prepares the instances. On failure nothing
 * is left, and `err` has the position and the reason. `dry`: checks only. Takes over `cf`. */
MUST_CHECK int generation_build(struct server *srv, struct corefile *cf, bool dry,
				struct generation **ret, struct srcerr *err);
/* `aborted`: it never served. */
void generation_free(struct generation *generation, bool aborted);
