/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads and writes Corefiles: the language in which CoreDNS is configured. This folder knows the
 * grammar only; what a directive means is its plugin's business, and files and the environment are
 * reached through functions of the caller.
 *
 * Words used here:
 *	block      `KEY... { directives }`; a file of one block may leave the braces out
 *	key        what a block serves: `[scheme://]zone[:port]`, see corefile/key.h
 *	directive  a line of a block, with a body of lines where `{ ... }` follows on that line
 *	snippet    `(name) { ... }`, put in place of a later `import name`
 *
 * A quoted word is never syntax: `"{"`, `"}"` and `"import"` are plain words. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/compiler.h"
#include "base/slice.h"
#include "base/srcpos.h"
#include "base/strbuf.h"

enum {
	COREFILE_MAX_BYTES = 16 << 20,	      /* of all files and all expanded words together */
	COREFILE_MAX_TOKENS = 1000000,	      /* in one file, and after all imports */
	COREFILE_MAX_DEPTH = 64,	      /* of braces, and of imports in imports */
	COREFILE_MAX_SNIPPET_IMPORTS = 10000, /* the caps of CoreDNS */
	COREFILE_MAX_FILE_IMPORTS = 100000,
	COREFILE_MAX_WORD_BYTES = 1 << 20, /* of a word after expansion */
};

/* A directive, or a line inside a directive's body. */
struct corefile_dir {
	struct word name;
	const struct word *arg;
	size_t n_arg;
	bool has_body; /* `{ ... }` followed on the same line; it may be empty */
	const struct corefile_dir *body;
	size_t n_body;
	struct srcpos end; /* of the closing brace, or of the line's last word */
};

/* A token as CoreDNS keeps it, for corefile_json. */
struct corefile_token {
	const char *dir;  /* name of the directive it belongs to */
	const char *file; /* "" for the file given to corefile_parse */
	uint32_t line;
	const char *text; /* environment expanded, except in a directive's own name */
};

struct corefile_block {
	const struct word *key; /* at least one */
	size_t n_key;
	const struct corefile_dir *dir;
	size_t n_dir;
	const struct corefile_token *token;
	size_t n_token;
};

struct corefile {
	const struct corefile_block *block;
	size_t n_block;
	/* Names of the directives of blocks without a zone. These serve nothing, but the names must
	 * be those of plugins, as in CoreDNS. */
	const struct word *unserved_dir;
	size_t n_unserved_dir;
	const char *const *file; /* every file read, each once; first the one given */
	size_t n_file;
	struct arena arena; /* everything above, and all words */
};

/* How the parser reaches the outside. Any member may be NULL: then no file can be imported, every
 * variable is unset, warnings are lost. */
struct corefile_source {
	void *ctx;
	/* Names of the files matching `pattern`, sorted; no match is no error. The pattern is
	 * joined with the folder of the importing file, so it is relative only if that file's name
	 * is. A name without wildcards yields itself if it exists. For tokens equal to CoreDNS's
	 * the names must be absolute. Memory from `a`. */
	int (*glob)(void *ctx, const char *pattern, struct arena *arena, const char *const **ret,
		    size_t *ret_n);
	/* The whole text of a file; memory from `a`. */
	int (*read)(void *ctx, const char *path, struct arena *arena, struct slice *ret);
	/* The variable's value or NULL; borrowed until the next call. */
	const char *(*env)(void *ctx, const char *name);
	/* Something legal but surely not meant; `text` is borrowed for the call. */
	void (*warn)(void *ctx, struct srcpos pos, const char *text);
};

/* Parses `text`, which was read from `file_name`; both are copied. `src` may be NULL. ERR_PARSE or
 * ERR_LIMIT with `reterr` (may be NULL) filled so that srcerr_str prints `file:line:col: text`. */
MUST_CHECK int corefile_parse(const char *file_name, struct slice text,
			      const struct corefile_source *src, struct corefile **ret,
			      struct srcerr *reterr);
/* Adds (copies of) the names in unserved_dir of `other`. */
void corefile_add_unserved(struct corefile *cf, const struct corefile *other);
/* NULL is fine. */
void corefile_free(struct corefile *cf);

static inline void corefile_freep(struct corefile **cf)
{
	corefile_free(*cf);
}

/* Appends the bytes whose SHA-512 the reload plugin of CoreDNS prints and compares: the JSON of
 *	[{"Keys":["KEY",...],"Tokens":{"DIR":[{"File":"","Line":1,"Text":"..."},...],...}},...]
 * without white space, `null` for a file without blocks. Keys have their variables expanded and
 * their commas cut. Tokens are grouped by directive name (names sorted by bytes, the tokens of one
 * name in order of the file), with the braces, without `import` lines. "File" is empty for the
 * file given, the name of an imported file otherwise; "Text" has variables expanded, except in the
 * first token of a directive. Escapes are those of Go: \" \\ \b \f \n \r \t, \u00xx for other
 * control characters and for < > &, \u2028 and \u2029. */
void corefile_json(const struct corefile *cf, struct strbuf *out);
