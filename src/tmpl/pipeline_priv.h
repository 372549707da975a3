/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parsing what stands between {{ and }}. */
#pragma once

#include "tmpl/parse_priv.h"

MUST_CHECK int tmpl_parse_string(struct parser *parser, const struct token *token,
				 struct slice *ret);
/* Reads on to and with `end`; `context` names the place in errors. */
MUST_CHECK int tmpl_parse_pipe(struct parser *parser, const char *context, enum tok end,
			       struct pipe **ret);
