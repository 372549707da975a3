/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Functions that expressions may call. */
#pragma once

#include "cel/eval.h"
#include "cel/node_priv.h"

struct cel_function {
	const char *name;
	bool method, global; /* x.f(y), f(x, y) */
	size_t n_args;	     /* with the receiver */
	struct cel_value (*call)(struct cel_run *run, const struct cel_node *node,
				 const struct cel_value *args);
};

/* NULL: no such function. */
const struct cel_function *cel_funcs_find(struct slice name, bool method, size_t n_args);
