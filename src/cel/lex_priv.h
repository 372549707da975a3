/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tokens of an expression. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/compiler.h"
#include "base/err_text.h"
#include "base/slice.h"

enum cel_token_type {
	CEL_T_END,
	CEL_T_NAME,
	CEL_T_INT,
	CEL_T_DOUBLE,
	CEL_T_STRING,
	CEL_T_OP, /* text is the operator */
};

struct cel_token {
	enum cel_token_type type;
	struct slice text; /* of a string: its value */
	int64_t integer;
	double number;
};

/* Reads the next token and advances *rest behind it. Unescaped strings come from the arena. */
MUST_CHECK int cel_lex(struct slice *rest, struct arena *arena, struct cel_token *ret,
		       struct err_text err);
/* A field's name in a rule as the object has it ("x__dash__y" is "x-y"). */
const char *cel_field_name(struct slice escaped, struct arena *arena);
