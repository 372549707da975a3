/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Distinct byte strings in the order they came, such as the data of an answer's records. In a
 * query's memory, and bounded: what is more than a message can hold is refused. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/slice.h"

struct byteset {
	struct arena *arena;
	struct slice *v; /* borrowed */
	uint32_t n, cap;
	uint16_t *table; /* place of an entry in v, plus one; NULL while there are few */
	bool full;	 /* one did not fit: the answer is cut */
};

/* True when they were not there and are now. */
bool byteset_add(struct byteset *byteset, struct slice bytes);
