/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Type check of calls: parameter lists and the builtins' own rules. */
#pragma once

#include "expr/check_priv.h"

MUST_CHECK int expr_check_builtin(struct checker *checker, struct node *node);
/* Checks the arguments of `node` against a parameter list, from left to right. 1 when one does not
 * fit, negative when one is wrong in itself; the error is set in both cases. */
MUST_CHECK int expr_check_params(struct checker *checker, const struct node *node,
				 struct slice name, const enum shape *params, unsigned n_params);
