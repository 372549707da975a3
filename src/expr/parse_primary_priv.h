/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parsing what operators stand between: literals, names, calls, predicates, members. */
#pragma once

#include "expr/parse_priv.h"

struct node *expr_parse_primary(struct parser *parser);
/* Arguments of the name just consumed. `first`: what was piped in, or NULL. `hide`: a name of the
 * environment hides the builtin. */
struct node *expr_parse_call(struct parser *parser, struct tok name, struct node *first, bool hide);
