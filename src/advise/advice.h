/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which ndots each namespace could use, from a trace. Advice changes no answer of a look-up whose
 * lines are in the log, with the libcs that were chosen; where the log does not prove that, there is
 * none. It assumes that the log has all lines of its clients, that all pods of a namespace have the
 * same ndots, and that their search lists begin with NAMESPACE.svc.ZONE, svc.ZONE, ZONE. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "advise/trace.h"
#include "advise/walk.h"
#include "base/arena.h"
#include "base/map.h"
#include "base/slice.h"
#include "base/vec.h"

enum { ADVISE_NDOTS_DEFAULT = 5, ADVISE_NDOTS_MAX = 15 /* glibc's */ };

struct advise_options {
	struct slice zone;	     /* the cluster domain, lower case, without final dot */
	unsigned ndots;		     /* what the pods have now, 1 to ADVISE_NDOTS_MAX */
	unsigned libcs;		     /* set: 1 << enum advise_libc; not empty */
	bool has_final_dots;	     /* names that were not searched for ended in a dot */
	bool has_searches;	     /* `searches` has the nodes' domains; else they are inferred */
	struct advise_list searches; /* at most ADVISE_LIST_MAX less 3 */
};

enum advise_verdict {
	ADVISE_LOWER,
	ADVISE_KEEP,	 /* names need the present ndots, or nothing would be saved */
	ADVISE_WITHHELD, /* the log proves too little */
};

/* A limit of ndots and the look-up that it comes from. */
struct advise_bound {
	unsigned ndots;
	bool unproven;
	const char *why; /* NULL: no look-up needs it */
};

struct advise_namespace {
	struct slice name;
	struct advise_list list;
	struct slice virtual_suffix;
	VEC(const struct advise_client *) clients; /* that belong to it */
	VEC(const struct advise_client *) others;  /* some of whose names may come from it */
	uint64_t queries, lookups;
	struct advise_bound at_least, at_most;
	uint64_t saved_by_dots[ADVISE_NDOTS_MAX]; /* queries of look-ups with so many dots */
	uint64_t saved_by_virtual_suffix;
	bool incomplete;
	struct slice cut_client; /* the first by address whose line was cut; empty: none */

	enum advise_verdict verdict;
	unsigned ndots;	 /* the advised one, else the present one */
	uint64_t saved;	 /* queries of the log */
	const char *why; /* not NULL without advice; with advice: why it is not less, or NULL */
};

struct advise_advice {
	struct arena arena;
	struct advise_options options;
	struct map by_name;
	VEC(struct advise_namespace *) namespaces; /* by name */
	uint64_t other_clients;			   /* that belong to no namespace */
	bool incomplete;			   /* a limit was reached: nothing is advised */
};

/* Places the clients of the trace. The trace and the options' text must outlive the advice. */
void advise_advice_init(struct advise_advice *advice, struct advise_trace *trace,
			const struct advise_options *options);
void advise_advice_done(struct advise_advice *advice);
