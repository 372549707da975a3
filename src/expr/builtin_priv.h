/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The builtins: finding one by its name, and the functions that compute them. */
#pragma once

#include "expr/expr_priv.h"

const struct expr_builtin *expr_find_builtin(struct slice name);

/* The builtins' functions; the checker has counted the arguments. */
/* clang-format off */
#define EXPR_BUILTIN_FUNCS(X) \
	X(len) X(abs) X(ceil) X(floor) X(round) X(int) X(float) X(string) X(trim) \
	X(trim_prefix) X(trim_suffix) X(upper) X(lower) X(split) X(split_after) X(replace) \
	X(repeat) X(join) X(index_of) X(last_index_of) X(has_prefix) X(has_suffix) X(max) \
	X(min) X(mean) X(median) X(to_json) X(from_json) X(to_base64) X(from_base64) \
	X(first) X(last) X(get) X(take) X(keys) X(values) X(to_pairs) X(from_pairs) \
	X(reverse) X(uniq) X(concat) X(flatten) X(sort) X(bitand) X(bitor) X(bitxor) \
	X(bitnand) X(bitshl) X(bitshr) X(bitushr) X(bitnot)
/* clang-format on */
#define X(name)                                                                   \
	int expr_fn_##name(struct ev *ev, const struct expr_value *a, unsigned n, \
			   struct expr_value *ret);
EXPR_BUILTIN_FUNCS(X)
#undef X
/* The declaration a builtin's definition repeats. */
#define BUILTIN(name)                                                             \
	int expr_fn_##name(struct ev *ev, const struct expr_value *a, unsigned n, \
			   struct expr_value *ret)
