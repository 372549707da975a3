/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reading a pattern in RE2 syntax: its translation for PCRE2, its group names, its tree. */
#pragma once

#include "base/regex/tree_priv.h"
#include "base/slice.h"
#include "base/srcpos.h"
#include "base/strbuf.h"
#include "base/vec.h"

enum { REGEX_DEPTH_MAX = 250, REGEX_REPEAT_MAX = 1000 };

struct regex_syntax {
	struct strbuf pcre; /* the same language in PCRE2's words, without names */
	VEC(char *) names;  /* of group 1, 2, ...; NULL for those without */
	struct regex_tree tree;
};

/* `ret` is initialised here and to be given to regex_syntax_done, whatever the result. */
MUST_CHECK int regex_syntax_read(struct slice pattern, struct regex_syntax *ret,
				 struct srcerr *reterr);
void regex_syntax_done(struct regex_syntax *syntax);
