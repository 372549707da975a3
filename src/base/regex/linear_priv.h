/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The linear matcher: matches in time proportional to pattern times text, whatever they are. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/regex/program_priv.h"
#include "base/slice.h"

enum { REGEX_SLOT_UNSET = -1 };

/* Memory of matches, grown to what the largest pattern needs and then reused. Zeroed: empty. */
struct regex_linear {
	uint32_t *mark; /* of each instruction: the last list it was added to */
	size_t n_mark;
	uint32_t list_number;
	struct regex_job *stack;
	size_t n_stack;
	uint32_t *thread; /* two lists of instructions */
	size_t n_thread;
	int32_t *slots; /* of each thread, then the current ones */
	size_t n_slots;
};

void regex_linear_done(struct regex_linear *linear);
/* What a match of the pattern needs at most. */
size_t regex_linear_bytes(const struct regex_program *program);

struct regex_linear_match {
	const struct regex_program *program;
	struct slice subject; /* up to INT32_MAX bytes */
	void *match_data;     /* a pcre2_match_data, used for characters beyond ASCII */
	unsigned n_groups;    /* to be reported, group 0 included */
	size_t *offsets;      /* of 2 * n_groups; SIZE_MAX when a group took no part */
};

/* Fills in `offsets` when there is a match. Bytes that are not UTF-8 count as U+FFFD, as in Go. */
bool regex_linear_match(struct regex_linear *linear, const struct regex_linear_match *match);
