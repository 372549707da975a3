/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The one place of the expression language that knows regular expressions. */
#pragma once

#include "expr/expr_priv.h"

MUST_CHECK int expr_pattern_new(struct parser *parser, const struct node *node,
				struct slice pattern, struct regex **ret);
void expr_patterns_free(struct expr_pattern *pattern);
/* 1, 0, or ERR_INTERNAL without a scratch. */
MUST_CHECK int expr_pattern_match(const struct regex *re, const struct expr_run *run,
				  struct slice subject);
