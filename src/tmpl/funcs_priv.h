/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The functions every template has. */
#pragma once

#include "tmpl/tmpl_priv.h"

extern const struct tmpl_func tmpl_builtins[];
extern const size_t tmpl_n_builtins;

/* Known by name to the checker, which computes their types, and to the executor, which evaluates
 * the arguments of and/or one by one. */
int tmpl_fn_and(struct tmpl_call *call, const struct tmpl_value *args, size_t count,
		struct tmpl_value *ret);
int tmpl_fn_or(struct tmpl_call *call, const struct tmpl_value *args, size_t count,
	       struct tmpl_value *ret);
int tmpl_fn_index(struct tmpl_call *call, const struct tmpl_value *args, size_t count,
		  struct tmpl_value *ret);
int tmpl_fn_slice(struct tmpl_call *call, const struct tmpl_value *args, size_t count,
		  struct tmpl_value *ret);

static inline bool tmpl_is_lazy(const struct tmpl_func *func)
{
	return func->fn == tmpl_fn_and || func->fn == tmpl_fn_or;
}
