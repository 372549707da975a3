/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A pattern compiled for the linear matcher: instructions of a machine with many threads. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/regex/charset_priv.h"
#include "base/regex/tree_priv.h"

/* Go's own limit is some millions of instructions. The state of a match is what its threads need,
 * most of it the offsets of groups. */
enum { REGEX_PROGRAM_MAX = 50000, REGEX_STATE_MAX_BYTES = 32 << 20 };

enum regex_op {
	REGEX_OP_MATCH,
	REGEX_OP_CHAR,	 /* arg: the character */
	REGEX_OP_CLASS,	 /* arg: index of the class */
	REGEX_OP_FORK,	 /* goes on at `next` and, with less priority, at `arg` */
	REGEX_OP_SAVE,	 /* arg: slot that gets the position */
	REGEX_OP_ASSERT, /* arg: enum regex_assert */
};

struct regex_inst {
	enum regex_op op;
	uint32_t next;
	uint32_t arg;
};

struct regex_program {
	struct regex_inst *inst;
	uint32_t n_inst;
	uint32_t start;
	uint32_t n_threads; /* instructions at which a thread can stand between two characters */
	unsigned n_groups;
	bool anchored; /* matches only at the beginning of the text */
	struct regex_charset *classes;
	size_t n_classes;
};

/* NULL: too large. */
struct regex_program *regex_program_new(const struct regex_tree *tree, unsigned n_groups);
void regex_program_free(struct regex_program *program);
