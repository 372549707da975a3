/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Walking the checked tree. */
#pragma once

#include "expr/expr_priv.h"

MUST_CHECK int expr_eval_node(struct ev *ev, const struct node *node, struct expr_value *ret);
/* 0, or 1 with nil when a map has no such key. */
MUST_CHECK int expr_fetch(struct ev *ev, const struct expr_value *from,
			  const struct expr_value *key, struct expr_value *ret);
/* Arithmetic and order on two values, also used to fold. */
MUST_CHECK int expr_arith(struct ev *ev, enum op op, const struct expr_value *left,
			  const struct expr_value *right, struct expr_value *ret);
