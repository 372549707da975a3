/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tokens to a tree of blocks, directives and lines. Accepts what CoreDNS accepts with three kinds
 * of exceptions, all refused with their place: a `{` that does not follow its directive on the same
 * line, words after a `}`, and braces or commas where a zone must stand. */
#include "corefile/corefile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/vec.h"
#include "corefile/lexer_priv.h"
#include "corefile/stream_priv.h"

/* Lists under construction are the tops of shared stacks: a reader remembers where its own part
 * begins, and moves that part into the arena when it is complete. */
struct parser {
	struct corefile *cf;
	struct corefile_stream st;
	struct srcerr *err;
	const char *main_file;
	const char *dir; /* the directive being read */
	size_t nesting;	 /* of braces inside the directive */
	VEC(struct word) words;
	VEC(struct corefile_dir) dirs;
	VEC(struct corefile_token) tokens;
	VEC(struct corefile_block) blocks;
	VEC(struct word) unserved_dirs;
	VEC(struct corefile_tok) snippet;
};

#define TAKE_FROM(p, vec, mark, ret_n)                                                  \
	(*(ret_n) = (vec)->n - (mark), (vec)->n = (mark),                               \
	 arena_memdup(&(p)->cf->arena, (vec)->v != NULL ? (vec)->v + (mark) : (vec)->v, \
		      *(ret_n) * sizeof(*(vec)->v)))

static bool is_at(const struct parser *parser, const char *syntax)
{
	return !parser->st.eof && corefile_tok_is(parser->st.tok, syntax);
}

static int next_token(struct parser *parser)
{
	return corefile_stream_next(&parser->st);
}

static int fail_unexpected(const struct parser *parser, const char *expected)
{
	if (parser->st.eof)
		return srcerr_set(parser->err, parser->st.last,
				  "unexpected end of file, expected %s", expected);
	return srcerr_set(parser->err, parser->st.tok->w.pos, "unexpected '%.100s', expected %s",
			  parser->st.tok->w.s, expected);
}

static int fail_unclosed(const struct parser *parser, const char *what, struct srcpos open)
{
	return srcerr_set(parser->err, parser->st.last,
			  "unexpected end of file, expected '}' for the '{' of %s at %s:%u:%u",
			  what, open.file, open.line, open.col);
}

static void record_token(struct parser *parser, const char *text)
{
	struct srcpos pos = parser->st.tok->w.pos;
	vec_push(&parser->tokens, (struct corefile_token){
					  .dir = parser->dir,
					  .file = pos.file == parser->main_file ? "" : pos.file,
					  .line = pos.line,
					  .text = text,
				  });
}

/* A `}` too many that ends the file does no harm in CoreDNS (it becomes a zone nobody asks for),
 * and such files are in use. */
static int skip_stray_brace(struct parser *parser, const char *expected)
{
	if (!corefile_stream_at_last(&parser->st))
		return fail_unexpected(parser, expected);
	corefile_stream_warn(&parser->st, parser->st.tok->w.pos,
			     "'}' without '{' at the end of the file");
	return next_token(parser);
}

/* The current token as a key; the comma at its end is cut and reported. */
static int take_key(struct parser *parser, bool *ret_comma)
{
	const char *text;
	int r = corefile_stream_text(&parser->st, &text);
	if (r < 0)
		return r;
	size_t n = strlen(text);
	if (n == 0)
		return next_token(parser);
	*ret_comma = text[n - 1] == ',';
	if (*ret_comma)
		text = arena_strndup(&parser->cf->arena, text, --n);
	if (n == 0 || text[n - 1] == ',')
		return fail_unexpected(parser, "a zone");
	vec_push(&parser->words, (struct word){ text, parser->st.tok->w.pos });
	return next_token(parser);
}

/* Keys up to `{`, the end of the line or the end of the file. */
static int parse_keys(struct parser *parser)
{
	bool comma = false;
	while (!parser->st.eof && !is_at(parser, "{")) {
		int r;
		if (parser->st.nl && is_at(parser, "import")) {
			r = corefile_stream_import(&parser->st);
			if (r < 0)
				return r;
			continue;
		}
		if (is_at(parser, "}"))
			return fail_unexpected(parser, "a zone");
		r = take_key(parser, &comma);
		if (r < 0)
			return r;
		if (parser->st.nl && !comma)
			return 0;
	}
	return comma ? fail_unexpected(parser, "another zone after ','") : 0;
}

static int parse_line(struct parser *parser);

/* The `{` is the current token. Leaves the body on top of p->dirs and the `}` current. */
static int parse_body(struct parser *parser, const char *what)
{
	struct srcpos open = parser->st.tok->w.pos;
	if (++parser->nesting > COREFILE_MAX_DEPTH) {
		IGNORE(srcerr_set(parser->err, open, "more than %d braces inside each other",
				  COREFILE_MAX_DEPTH));
		return ERR_LIMIT;
	}
	record_token(parser, "{");
	int r = next_token(parser);
	while (r == 0 && !is_at(parser, "}")) {
		if (parser->st.eof)
			return fail_unclosed(parser, what, open);
		if (is_at(parser, "{"))
			return fail_unexpected(parser, "a property before its '{'");
		if (parser->st.nl && is_at(parser, "import"))
			r = corefile_stream_import(&parser->st);
		else
			r = parse_line(parser);
	}
	parser->nesting--;
	return r;
}

/* The rest of a line after its `}`. */
static int parse_line_end(struct parser *parser)
{
	record_token(parser, "}");
	int r = next_token(parser);
	if (r < 0 || parser->st.nl || (parser->nesting > 0 && is_at(parser, "}")))
		return r;
	return fail_unexpected(parser, "a new line after '}'");
}

static int parse_args(struct parser *parser, struct corefile_dir *dir)
{
	int r = next_token(parser);
	while (r == 0 && !parser->st.nl && !is_at(parser, "{")) {
		if (is_at(parser, "}")) {
			/* `name { a b }` on one line works in CoreDNS for a body, not for a block.
			 */
			if (parser->nesting > 0)
				return 0;
			return fail_unexpected(parser, "an argument, or '}' on a line of its own");
		}
		const char *text;
		r = corefile_stream_text(&parser->st, &text);
		if (r < 0)
			return r;
		record_token(parser, text);
		dir->end = parser->st.tok->w.pos;
		vec_push(&parser->words, (struct word){ text, dir->end });
		r = next_token(parser);
	}
	return r;
}

/* A line of a body, or a directive with nesting 0: name, arguments, body. Pushed onto p->dirs. */
static int parse_line(struct parser *parser)
{
	struct corefile_dir d = { .name.pos = parser->st.tok->w.pos, .end = parser->st.tok->w.pos };
	size_t words = parser->words.n, dirs = parser->dirs.n;
	int r = corefile_stream_text(&parser->st, &d.name.s);
	if (r < 0)
		return r;
	if (parser->nesting == 0)
		parser->dir = d.name.s;
	record_token(parser, parser->nesting == 0 ? parser->st.tok->w.s : d.name.s);
	r = parse_args(parser, &d);
	if (r < 0)
		return r;
	d.arg = TAKE_FROM(parser, &parser->words, words, &d.n_arg);
	if (!parser->st.nl && is_at(parser, "{")) {
		d.has_body = true;
		r = parse_body(parser, d.name.s);
		if (r < 0)
			return r;
		d.end = parser->st.tok->w.pos;
		d.body = TAKE_FROM(parser, &parser->dirs, dirs, &d.n_body);
		r = parse_line_end(parser);
		if (r < 0)
			return r;
	}
	vec_push(&parser->dirs, d);
	return 0;
}

/* Directives up to the `}` of the block, or to the end of the file if `open` is NULL. */
static int parse_directives(struct parser *parser, const struct srcpos *open)
{
	size_t first = parser->dirs.n;
	int r = 0;
	while (r == 0 && !parser->st.eof) {
		if (is_at(parser, "}"))
			return open != NULL ? next_token(parser)
					    : skip_stray_brace(parser,
							       "a directive: the block has no '{'");
		if (is_at(parser, "{"))
			return fail_unexpected(parser,
					       "a directive; its '{' must be on the same line");
		r = is_at(parser, "import") ? corefile_stream_import(&parser->st)
					    : parse_line(parser);
	}
	if (r < 0 || open == NULL)
		return r;
	/* CoreDNS checks the last token only, so it mistakes the brace of a body for that of the
	 * block; such files are in use. */
	if (parser->dirs.n == first || !parser->dirs.v[parser->dirs.n - 1].has_body)
		return fail_unclosed(parser, "the block", *open);
	corefile_stream_warn(&parser->st, *open, "'{' without '}' at the end of the file");
	return 0;
}

static bool is_snippet(const char *key)
{
	size_t n = strlen(key);
	return n >= 2 && key[0] == '(' && key[n - 1] == ')';
}

/* The snippet's tokens, up to the matching brace; nothing in them is checked before its use. */
static int read_snippet(struct parser *parser, const char *name)
{
	struct srcpos open = parser->st.tok->w.pos;
	size_t braces = 1;
	parser->snippet.n = 0;
	for (;;) {
		int r = next_token(parser);
		if (r < 0)
			return r;
		if (parser->st.eof)
			return fail_unclosed(parser, name, open);
		braces += is_at(parser, "{");
		braces -= is_at(parser, "}");
		if (braces == 0)
			return next_token(parser);
		struct corefile_tok t = *parser->st.tok;
		t.bol = parser->st.nl;
		vec_push(&parser->snippet, t);
	}
}

static int parse_snippet(struct parser *parser, const struct word *key)
{
	if (!is_at(parser, "{"))
		return fail_unexpected(parser, "'{' after the name of a snippet");
	struct corefile_toks toks;
	const char *name = arena_strndup(&parser->cf->arena, key->s + 1, strlen(key->s) - 2);
	struct srcpos pos = key->pos;
	int r = read_snippet(parser, key->s);
	if (r < 0)
		return r;
	toks.v = TAKE_FROM(parser, &parser->snippet, 0, &toks.n);
	for (size_t i = 0; i + 1 < toks.n; i++) {
		if (toks.v[i].bol && corefile_tok_is(&toks.v[i], "import") &&
		    strcmp(toks.v[i + 1].w.s, name) == 0)
			return srcerr_set(parser->err, toks.v[i].w.pos,
					  "import cycle: snippet '%s' imports itself", name);
	}
	r = corefile_stream_define(&parser->st, name, toks);
	if (r < 0)
		return srcerr_set(parser->err, pos,
				  "snippet '%s' is already defined, expected another name", name);
	return 0;
}

static void finish_block(struct parser *parser, size_t words)
{
	struct corefile_block b;
	b.key = TAKE_FROM(parser, &parser->words, words, &b.n_key);
	b.dir = TAKE_FROM(parser, &parser->dirs, 0, &b.n_dir);
	b.token = TAKE_FROM(parser, &parser->tokens, 0, &b.n_token);
	if (b.n_key > 0)
		vec_push(&parser->blocks, b);
	for (size_t i = 0; i < b.n_dir && b.n_key == 0; i++)
		vec_push(&parser->unserved_dirs, b.dir[i].name);
}

static int parse_block(struct parser *parser)
{
	struct srcpos start = parser->st.last;
	if (is_at(parser, "}"))
		return skip_stray_brace(parser, "a zone");
	int r = parse_keys(parser);
	if (r < 0)
		return r;
	if (parser->words.n == 1 && is_snippet(parser->words.v[0].s)) {
		parser->words.n = 0;
		return parse_snippet(parser, &parser->words.v[0]);
	}
	if (is_at(parser, "{")) {
		struct srcpos open = parser->st.tok->w.pos;
		r = next_token(parser);
		if (r == 0)
			r = parse_directives(parser, &open);
	} else if (!parser->st.eof) {
		r = parse_directives(parser, NULL);
	}
	if (r < 0)
		return r;
	if (parser->words.n == 0 && parser->dirs.n > 0)
		corefile_stream_warn(&parser->st, start, "a block without a zone serves nothing");
	finish_block(parser, 0);
	return 0;
}

static int parse_all(struct parser *parser, struct slice text, const struct corefile_source *src)
{
	int r = corefile_stream_init(&parser->st, &parser->cf->arena, src, parser->main_file, text,
				     parser->err);
	if (r == 0)
		r = next_token(parser);
	while (r == 0 && !parser->st.eof)
		r = parse_block(parser);
	if (r < 0)
		return r;
	parser->cf->block = TAKE_FROM(parser, &parser->blocks, 0, &parser->cf->n_block);
	parser->cf->unserved_dir =
		TAKE_FROM(parser, &parser->unserved_dirs, 0, &parser->cf->n_unserved_dir);
	parser->cf->file = TAKE_FROM(parser, &parser->st.file, 0, &parser->cf->n_file);
	return 0;
}

int corefile_parse(const char *file_name, struct slice text, const struct corefile_source *src,
		   struct corefile **ret, struct srcerr *reterr)
{
	struct srcerr err = { .text = "" };
	struct corefile *cf = xcalloc(1, sizeof(*cf));
	struct parser *p = xcalloc(1, sizeof(*p));
	arena_init(&cf->arena);
	p->cf = cf;
	p->err = &err;
	p->main_file = arena_strdup(&cf->arena, file_name);
	int r = parse_all(p, text, src);
	if (r < 0 && reterr != NULL) {
		err.pos.file = NULL; /* gone with the arena; err.file is a copy */
		*reterr = err;
	}
	corefile_stream_done(&p->st);
	vec_done(&p->words);
	vec_done(&p->dirs);
	vec_done(&p->tokens);
	vec_done(&p->blocks);
	vec_done(&p->unserved_dirs);
	vec_done(&p->snippet);
	free(p);
	if (r < 0)
		corefile_free(cf);
	else
		*ret = cf;
	return r;
}

void corefile_add_unserved(struct corefile *cf, const struct corefile *other)
{
	size_t n = cf->n_unserved_dir + other->n_unserved_dir;
	struct word *all = arena_calloc(&cf->arena, (n + 1) * sizeof(*all));
	for (size_t i = 0; i < n; i++) {
		bool is_other = i < other->n_unserved_dir;
		all[i] = is_other ? other->unserved_dir[i]
				  : cf->unserved_dir[i - other->n_unserved_dir];
		all[i].s = arena_strdup(&cf->arena, all[i].s);
		if (all[i].pos.file != NULL)
			all[i].pos.file = arena_strdup(&cf->arena, all[i].pos.file);
	}
	cf->unserved_dir = all;
	cf->n_unserved_dir = n;
}

void corefile_free(struct corefile *cf)
{
	if (cf == NULL)
		return;
	arena_done(&cf->arena);
	free(cf);
}
