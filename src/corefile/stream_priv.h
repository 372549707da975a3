/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The tokens of a Corefile one after the other, with imports replaced by what they name. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/compiler.h"
#include "base/map.h"
#include "base/srcpos.h"
#include "base/vec.h"
#include "corefile/corefile.h"
#include "corefile/lexer_priv.h"

/* One source being read: the main file, an imported snippet, or the files of one import. */
struct corefile_frame {
	struct corefile_toks toks;
	size_t next; /* token */
	bool snippet;
	const char *name; /* of the snippet or of the file now read */
	const char *const *file;
	size_t n_file, next_file;
	struct srcpos import_pos;
};

struct corefile_stream {
	struct arena *a;
	const struct corefile_source *src;
	struct srcerr *err;
	/* The current token; meaningless once eof is set. */
	const struct corefile_tok *tok;
	bool nl; /* it starts a line, also where an import begins or ends */
	bool eof;
	struct srcpos last; /* of the last token seen */

	bool boundary;
	struct corefile_frame frame[COREFILE_MAX_DEPTH];
	size_t depth;
	struct map snippets; /* name -> struct corefile_toks */
	struct map files;    /* path -> struct corefile_toks */
	VEC(const char *) file;
	size_t n_bytes, n_tokens, n_snippet_imports, n_file_imports;
};

/* Starts before the first token of `text`; call corefile_stream_next. Errors of all functions:
 * ERR_PARSE, ERR_LIMIT, or what a function of the source gave, with st->err filled. */
MUST_CHECK int corefile_stream_init(struct corefile_stream *st, struct arena *arena,
				    const struct corefile_source *src, const char *file,
				    struct slice text, struct srcerr *reterr);
void corefile_stream_done(struct corefile_stream *st);

MUST_CHECK int corefile_stream_next(struct corefile_stream *st);
/* The current token is `import`: goes on with the first token of what it names, or with what
 * follows when that is empty. */
MUST_CHECK int corefile_stream_import(struct corefile_stream *st);
/* Makes `toks` importable; ERR_DUPLICATE (st->err untouched) if the name is taken. */
MUST_CHECK int corefile_stream_define(struct corefile_stream *st, const char *name,
				      struct corefile_toks toks);
/* No token follows the current one. */
bool corefile_stream_at_last(const struct corefile_stream *st);
/* Expands the current token's text; the bytes count. */
MUST_CHECK int corefile_stream_text(struct corefile_stream *st, const char **ret);
void corefile_stream_warn(const struct corefile_stream *st, struct srcpos pos, const char *fmt, ...)
	PRINTF_LIKE(3, 4);

/* An unquoted token with this text: the only ones that can be syntax. */
static inline bool corefile_tok_is(const struct corefile_tok *tok, const char *text)
{
	return !tok->quoted && strcmp(tok->w.s, text) == 0;
}
