/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Running an expression, with a limit on what it costs. */
#pragma once

#include <stdint.h>

#include "base/arena.h"
#include "base/regex/regex.h"
#include "cel/parse.h"
#include "cel/value.h"

enum {
	CEL_SLOTS_MAX = 16, /* self, oldSelf and variables of macros inside each other */
	CEL_COST_MAX = 1000000,
};

/* Slots that the caller fills; the others belong to macros' variables. */
enum { CEL_SLOT_SELF, CEL_SLOT_OLD, CEL_SLOT_FREE };

struct cel_run {
	struct arena *arena; /* for results; it grows */
	struct cel_value slots[CEL_SLOTS_MAX];
	struct regex_scratch *scratch;
	uint64_t cost, cost_max; /* cost > cost_max: the run was stopped */
};

/* A value of type CEL_ERROR when the expression failed, or the run was stopped. */
struct cel_value cel_eval(struct cel_run *run, const struct cel_expr *expr);
/* Adds to the cost. */
void cel_spend(struct cel_run *run, uint64_t cost);
/* The cost of reading a text of this length. */
uint64_t cel_text_cost(size_t length);
