/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Arithmetic on values of expressions. */
#pragma once

#include "cel/eval.h"
#include "cel/node_priv.h"

/* +, -, *, / and % of two values; an error where the types do not fit or the result overflows. */
struct cel_value cel_compute(struct cel_run *run, enum cel_op op, const struct cel_value *left,
			     const struct cel_value *right);
struct cel_value cel_negate(const struct cel_value *value);
