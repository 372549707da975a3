/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a log says, in the form that advice is made of: for each client the names that it asked for,
 * and how each was answered. The order of lines is not kept, since lines of a server's workers may
 * change places. Memory is bounded; what exceeds it is not kept, and marks its client, or the whole
 * trace, as incomplete.
 *
 * Words of this folder:
 *   look-up   a program asks its libc for a name
 *   base      the name of a look-up, as the program wrote it
 *   list      the search list of a pod: NAMESPACE.svc.ZONE, svc.ZONE, ZONE, then those of the node
 *   element   a base with a domain of the list behind it; the bare base is the last one
 *   walk      the queries of a look-up, one element after the other, until one is the answer */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "advise/logline.h"
#include "base/arena.h"
#include "base/map.h"
#include "base/slice.h"

enum {
	ADVISE_CLIENTS_MAX = 1 << 16,
	ADVISE_NAMES_MAX = 1 << 20, /* counted once for each client that asked */
	ADVISE_NAME_MAX = 253,	    /* characters of a host name without final dot */
};

/* What is known of a name: for each type the outcomes that were seen, and how often it was asked. */
struct advise_fact {
	uint8_t seen[ADVISE_TYPES];
	uint32_t count[ADVISE_TYPES];
};

struct advise_client {
	struct map names;    /* to struct advise_fact */
	struct map ns;	     /* set of namespaces that it belongs to */
	struct map maybe_ns; /* others that some of its names might come from */
	bool logs_ns;	     /* the log names them */
	bool incomplete;
	bool has_cut_line; /* it asked for a name that is not known */
	uint64_t queries;
};

struct advise_trace {
	struct arena arena;
	struct map clients; /* to struct advise_client */
	size_t names;
	size_t names_max; /* ADVISE_NAMES_MAX; tests have less */
	size_t clients_max;
	uint64_t queries;
	bool incomplete; /* a client was left out: nothing is known of its namespace */
};

void advise_trace_init(struct advise_trace *trace);
void advise_trace_done(struct advise_trace *trace);
void advise_trace_add(struct advise_trace *trace, const struct advise_line *line);
/* A line of this client was cut (advise_line_is_cut). */
void advise_trace_add_cut(struct advise_trace *trace, struct slice address);

/* What the client learnt of `base.suffix` (an empty suffix: of the base); NULL when it did not ask,
 * or there is no such name. */
const struct advise_fact *advise_trace_fact(const struct advise_client *client, struct slice base,
					    struct slice suffix);
/* Whether the name would be longer than host names can be. */
bool advise_trace_too_long(struct slice base, struct slice suffix);
/* The text before `.suffix`; empty with p NULL when the name does not end so. */
struct slice advise_trace_base(struct slice name, struct slice suffix);
size_t advise_trace_dots(struct slice name);
