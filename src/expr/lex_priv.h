/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Text to tokens, and errors with their line and column. */
#pragma once

#include "expr/expr_priv.h"

/* Reads one token; ERR_PARSE with the error set. */
MUST_CHECK int expr_lex(struct expr_lexer *lx, struct tok *ret);
/* Sets the error "text (line:col)" for a byte offset. */
int expr_error_at(const struct expr_lexer *lx, size_t at, const char *fmt, ...) PRINTF_LIKE(3, 4);
void expr_line_col(struct slice text, size_t at, unsigned *ret_line, unsigned *ret_col);
