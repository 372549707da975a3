/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The builtins with a predicate. */
#pragma once

#include "expr/expr_priv.h"

MUST_CHECK int expr_eval_loop(struct ev *ev, const struct node *node, struct expr_value *ret);
