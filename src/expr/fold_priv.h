/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Folding constants after the check. */
#pragma once

#include "expr/expr_priv.h"

/* Folds constants; turns constant patterns into regexes, refuses other patterns. */
MUST_CHECK int expr_fold(struct parser *parser, struct node *node);
