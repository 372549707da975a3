/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The flag --child of `fairlead up`: programs that run beside it. */
#pragma once

#include <stddef.h>

#include "base/compiler.h"
#include "base/err_text.h"
#include "cmd/flags.h"
#include "cmd/up/supervise.h"

enum { UP_CHILDREN_MAX = 16, UP_CHILD_WORDS_MAX = 64, UP_CHILD_NAME_MAX = 32 };

struct up_child;

struct up_children {
	struct supervise_program v[UP_CHILDREN_MAX];
	size_t n;
	struct up_child *memory[UP_CHILDREN_MAX]; /* what v points into */
};

/* Each value is `NAME=PATH [ARG]...`: the name has letters, digits and dashes, words are separated by
 * blanks, and there are no quotes and no shell. Negative with a sentence in `why`; *ret is freed by
 * the caller in any case. */
MUST_CHECK int up_children_parse(const struct flag_values *values, struct up_children *ret,
				 struct err_text why);
/* One more, of these words (copied; ended by NULL). */
MUST_CHECK int up_children_add(struct up_children *children, const char *name,
			       const char *const *words, struct err_text why);
void up_children_done(struct up_children *children);
