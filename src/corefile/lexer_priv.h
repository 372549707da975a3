/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The lexer: a Corefile's text to tokens, as CoreDNS cuts them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/compiler.h"
#include "base/slice.h"
#include "base/srcpos.h"

struct corefile_tok {
	struct word w;
	bool quoted;
	bool bol; /* first on its line; the lines of a quoted token before it count */
};

struct corefile_toks {
	const struct corefile_tok *v;
	size_t n;
};

/* Tokens and their texts are from `arena`; `file` must live as long as they. Bytes that are not
 * UTF-8 become U+FFFD. ERR_PARSE for a NUL byte, ERR_LIMIT past COREFILE_MAX_TOKENS. */
MUST_CHECK int corefile_lex(struct arena *arena, const char *file, struct slice text,
			    struct corefile_toks *ret, struct srcerr *reterr);

/* White space as Go's unicode.IsSpace has it. */
bool corefile_is_space(uint32_t cp);
