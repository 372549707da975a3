/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Values: keys, names of types, numbers, and text as Go's %v renders it. */
#pragma once

#include "expr/expr_priv.h"

const char *expr_value_type_name(const struct expr_value *value);

/* Orders keys: by type, then by value. */
int expr_key_cmp(const struct expr_value *left, const struct expr_value *right);

/* As Go converts on amd64: what does not fit becomes the smallest integer. */
int64_t expr_float_to_int(double number);

void expr_out(struct out *out, const char *pos, size_t len);
void expr_out_str(struct out *out, const char *text);
void expr_out_value(struct out *out, const struct expr_value *value);
/* Shortest digits that read back the same; exponents outside [low, high) are written. */
void expr_format_float(double number, int low, int high, char out[EXPR_FLOAT_BYTES]);
