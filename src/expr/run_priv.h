/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What every evaluation needs: failing with a reason, spending steps and memory, and building,
 * sorting and comparing values within those limits. */
#pragma once

#include "expr/expr_priv.h"

/* <0 error, else 0 or 1: is a `op` b, for OP_LT, OP_GT, OP_LE, OP_GE. */
MUST_CHECK int expr_order(struct ev *ev, enum op op, const struct expr_value *left,
			  const struct expr_value *right);
/* Loosely (1 == 1.0), as ==; <0: out of steps. */
MUST_CHECK int expr_equal(struct ev *ev, const struct expr_value *left,
			  const struct expr_value *right);

/* Writes the reason; returns ERR_TYPE. */
int expr_fail(struct ev *ev, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* "memory budget exceeded"; returns ERR_LIMIT. */
int expr_no_memory(struct ev *ev);
MUST_CHECK int expr_spend(struct ev *ev, size_t steps);
MUST_CHECK int expr_grow(struct ev *ev, size_t units);
/* From the arena; NULL with the reason written. */
void *expr_alloc(struct ev *ev, size_t count);
struct expr_value *expr_alloc_values(struct ev *ev, size_t count);
/* Gives back what was allocated from `cur` on, when it is all of the arena's buffer that ends at
 * `end`: both were read before. */
void expr_release(struct ev *ev, char *cur, const char *end);
/* Sets depth; fails when it is too large. `value` must be the arena's. */
MUST_CHECK int expr_make_list(struct ev *ev, const struct expr_value *value, size_t count,
			      struct expr_value *ret);
/* Sorts the pairs; of equal keys the first (or last) stays. */
MUST_CHECK int expr_make_map(struct ev *ev, enum expr_type type, struct expr_pair *pair,
			     size_t count, bool first_wins, struct expr_value *ret);
/* Stable sort of `value` (and `along`, when not NULL, in the same order). */
MUST_CHECK int expr_sort(struct ev *ev, struct expr_value *value, struct expr_value *along,
			 size_t count, bool desc);

/* Runs `write` to measure, allocates, runs it again. */
MUST_CHECK int expr_write(struct ev *ev, expr_writer write, const struct expr_value *value,
			  struct expr_value *ret);

/* Fails unless argument `i` is of that type. */
MUST_CHECK int expr_want(struct ev *ev, const struct expr_value *value, enum expr_type type);
