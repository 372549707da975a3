/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A chain as its walks need it: one list for each of the three walks, down, up and after the reply, of
 * the instances that have something to do there. A plugin costs a query nothing on walks that it takes
 * no part in. */
#pragma once

#include <stdint.h>

#include "base/arena.h"
#include "server/handler.h"

/* One call on the way down or up. */
struct steps_call {
	enum verdict (*call)(struct plugin_inst *inst, struct query *q);
	struct plugin_inst *inst;
	uint16_t at;	  /* of the instance in the chain */
	uint16_t entered; /* what query.entered is once it was called on the way down */
};

/* One call after the reply. */
struct steps_done {
	void (*call)(struct plugin_inst *inst, struct query *q);
	struct plugin_inst *inst;
};

/* Where the walks stand at a position of the chain. */
struct steps {
	const struct steps_call *down; /* the first at or behind it; `end` is the last of all */
	const struct steps_call *up;   /* behind the last before it: those above it come before */
	const struct steps_done *done; /* the same after the reply */
};

/* For each position of the chain of `count` instances, and one behind the last. `end` is called where
 * all have left the question to the next one, with the last instance. */
const struct steps *steps_new(struct arena *arena, struct plugin_inst *const *chain, unsigned count,
			      enum verdict (*end)(struct plugin_inst *inst, struct query *q));
