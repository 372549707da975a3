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
	VEC(struct corefile_tok) snippet;
};

#define TAKE_FROM(p, vec, mark, ret_n)                                                  \
	(*(ret_n) = (vec)->n - (mark), (vec)->n = (mark),                               \
	 arena_memdup(&(p)->cf->arena, (vec)->v != NULL ? (vec)->v + (mark) : (vec)->v, \
		      *(ret_n) * sizeof(*(vec)->v)))

static bool at(const struct parser *p, const char *syntax)
{
	return !p->st.eof && corefile_tok_is(p->st.tok, syntax);
}

static int next(struct parser *p)
{
	return corefile_stream_next(&p->st);
}

static int unexpected(const struct parser *p, const char *expected)
{
	if (p->st.eof)
		return srcerr_set(p->err, p->st.last, "unexpected end of file, expected %s",
				  expected);
	return srcerr_set(p->err, p->st.tok->w.pos, "unexpected '%.100s', expected %s",
			  p->st.tok->w.s, expected);
}

static int unclosed(const struct parser *p, const char *what, struct srcpos open)
{
	return srcerr_set(p->err, p->st.last,
			  "unexpected end of file, expected '}' for the '{' of %s at %s:%u:%u",
			  what, open.file, open.line, open.col);
}

static void record(struct parser *p, const char *text)
{
	struct srcpos pos = p->st.tok->w.pos;
	vec_push(&p->tokens, (struct corefile_token){
				     .dir = p->dir,
				     .file = pos.file == p->main_file ? "" : pos.file,
				     .line = pos.line,
				     .text = text,
			     });
}

/* A `}` too many that ends the file does no harm in CoreDNS (it becomes a zone nobody asks for),
 * and such files are in use. */
static int skip_stray_brace(struct parser *p, const char *expected)
{
	if (!corefile_stream_at_last(&p->st))
		return unexpected(p, expected);
	corefile_stream_warn(&p->st, p->st.tok->w.pos, "'}' without '{' at the end of the file");
	return next(p);
}

/* The current token as a key; the comma at its end is cut and reported. */
static int take_key(struct parser *p, bool *ret_comma)
{
	const char *text;
	int r = corefile_stream_text(&p->st, &text);
	if (r < 0)
		return r;
	size_t n = strlen(text);
	if (n == 0)
		return next(p);
	*ret_comma = text[n - 1] == ',';
	if (*ret_comma)
		text = arena_strndup(&p->cf->arena, text, --n);
	if (n == 0 || text[n - 1] == ',')
		return unexpected(p, "a zone");
	vec_push(&p->words, (struct word){ text, p->st.tok->w.pos });
	return next(p);
}

/* Keys up to `{`, the end of the line or the end of the file. */
static int parse_keys(struct parser *p)
{
	bool comma = false;
	while (!p->st.eof && !at(p, "{")) {
		int r;
		if (p->st.nl && at(p, "import")) {
			r = corefile_stream_import(&p->st);
			if (r < 0)
				return r;
			continue;
		}
		if (at(p, "}"))
			return unexpected(p, "a zone");
		r = take_key(p, &comma);
		if (r < 0)
			return r;
		if (p->st.nl && !comma)
			return 0;
	}
	return comma ? unexpected(p, "another zone after ','") : 0;
}

static int parse_line(struct parser *p);

/* The `{` is the current token. Leaves the body on top of p->dirs and the `}` current. */
static int parse_body(struct parser *p, const char *what)
{
	struct srcpos open = p->st.tok->w.pos;
	if (++p->nesting > COREFILE_MAX_DEPTH) {
		IGNORE(srcerr_set(p->err, open, "more than %d braces inside each other",
				  COREFILE_MAX_DEPTH));
		return ERR_LIMIT;
	}
	record(p, "{");
	int r = next(p);
	while (r == 0 && !at(p, "}")) {
		if (p->st.eof)
			return unclosed(p, what, open);
		if (at(p, "{"))
			return unexpected(p, "a property before its '{'");
		if (p->st.nl && at(p, "import"))
			r = corefile_stream_import(&p->st);
		else
			r = parse_line(p);
	}
	p->nesting--;
	return r;
}

/* The rest of a line after its `}`. */
static int parse_line_end(struct parser *p)
{
	record(p, "}");
	int r = next(p);
	if (r < 0 || p->st.nl || (p->nesting > 0 && at(p, "}")))
		return r;
	return unexpected(p, "a new line after '}'");
}

static int parse_args(struct parser *p, struct corefile_dir *d)
{
	int r = next(p);
	while (r == 0 && !p->st.nl && !at(p, "{")) {
		if (at(p, "}")) {
			/* `name { a b }` on one line works in CoreDNS for a body, not for a block.
			 */
			if (p->nesting > 0)
				return 0;
			return unexpected(p, "an argument, or '}' on a line of its own");
		}
		const char *text;
		r = corefile_stream_text(&p->st, &text);
		if (r < 0)
			return r;
		record(p, text);
		d->end = p->st.tok->w.pos;
		vec_push(&p->words, (struct word){ text, d->end });
		r = next(p);
	}
	return r;
}

/* A line of a body, or a directive with nesting 0: name, arguments, body. Pushed onto p->dirs. */
static int parse_line(struct parser *p)
{
	struct corefile_dir d = { .name.pos = p->st.tok->w.pos, .end = p->st.tok->w.pos };
	size_t words = p->words.n, dirs = p->dirs.n;
	int r = corefile_stream_text(&p->st, &d.name.s);
	if (r < 0)
		return r;
	if (p->nesting == 0)
		p->dir = d.name.s;
	record(p, p->nesting == 0 ? p->st.tok->w.s : d.name.s);
	r = parse_args(p, &d);
	if (r < 0)
		return r;
	d.arg = TAKE_FROM(p, &p->words, words, &d.n_arg);
	if (!p->st.nl && at(p, "{")) {
		d.has_body = true;
		r = parse_body(p, d.name.s);
		if (r < 0)
			return r;
		d.end = p->st.tok->w.pos;
		d.body = TAKE_FROM(p, &p->dirs, dirs, &d.n_body);
		r = parse_line_end(p);
		if (r < 0)
			return r;
	}
	vec_push(&p->dirs, d);
	return 0;
}

/* Directives up to the `}` of the block, or to the end of the file if `open` is NULL. */
static int parse_directives(struct parser *p, const struct srcpos *open)
{
	size_t first = p->dirs.n;
	int r = 0;
	while (r == 0 && !p->st.eof) {
		if (at(p, "}"))
			return open != NULL
				       ? next(p)
				       : skip_stray_brace(p, "a directive: the block has no '{'");
		if (at(p, "{"))
			return unexpected(p, "a directive; its '{' must be on the same line");
		r = at(p, "import") ? corefile_stream_import(&p->st) : parse_line(p);
	}
	if (r < 0 || open == NULL)
		return r;
	/* CoreDNS looks at the last token only, so it takes the brace of a body for that of the
	 * block; such files are in use. */
	if (p->dirs.n == first || !p->dirs.v[p->dirs.n - 1].has_body)
		return unclosed(p, "the block", *open);
	corefile_stream_warn(&p->st, *open, "'{' without '}' at the end of the file");
	return 0;
}

static bool is_snippet(const char *key)
{
	size_t n = strlen(key);
	return n >= 2 && key[0] == '(' && key[n - 1] == ')';
}

/* The snippet's tokens, up to the matching brace; nothing in them is looked at before its use. */
static int read_snippet(struct parser *p, const char *name)
{
	struct srcpos open = p->st.tok->w.pos;
	size_t braces = 1;
	p->snippet.n = 0;
	for (;;) {
		int r = next(p);
		if (r < 0)
			return r;
		if (p->st.eof)
			return unclosed(p, name, open);
		braces += at(p, "{");
		braces -= at(p, "}");
		if (braces == 0)
			return next(p);
		struct corefile_tok t = *p->st.tok;
		t.bol = p->st.nl;
		vec_push(&p->snippet, t);
	}
}

static int parse_snippet(struct parser *p, const struct word *key)
{
	if (!at(p, "{"))
		return unexpected(p, "'{' after the name of a snippet");
	struct corefile_toks toks;
	const char *name = arena_strndup(&p->cf->arena, key->s + 1, strlen(key->s) - 2);
	struct srcpos pos = key->pos;
	int r = read_snippet(p, key->s);
	if (r < 0)
		return r;
	toks.v = TAKE_FROM(p, &p->snippet, 0, &toks.n);
	for (size_t i = 0; i + 1 < toks.n; i++) {
		if (toks.v[i].bol && corefile_tok_is(&toks.v[i], "import") &&
		    strcmp(toks.v[i + 1].w.s, name) == 0)
			return srcerr_set(p->err, toks.v[i].w.pos,
					  "import cycle: snippet '%s' imports itself", name);
	}
	r = corefile_stream_define(&p->st, name, toks);
	if (r < 0)
		return srcerr_set(p->err, pos,
				  "snippet '%s' is already defined, expected another name", name);
	return 0;
}

static void finish_block(struct parser *p, size_t words)
{
	struct corefile_block b;
	b.key = TAKE_FROM(p, &p->words, words, &b.n_key);
	b.dir = TAKE_FROM(p, &p->dirs, 0, &b.n_dir);
	b.token = TAKE_FROM(p, &p->tokens, 0, &b.n_token);
	if (b.n_key > 0)
		vec_push(&p->blocks, b);
}

static int parse_block(struct parser *p)
{
	struct srcpos start = p->st.last;
	if (at(p, "}"))
		return skip_stray_brace(p, "a zone");
	int r = parse_keys(p);
	if (r < 0)
		return r;
	if (p->words.n == 1 && is_snippet(p->words.v[0].s)) {
		p->words.n = 0;
		return parse_snippet(p, &p->words.v[0]);
	}
	if (at(p, "{")) {
		struct srcpos open = p->st.tok->w.pos;
		r = next(p);
		if (r == 0)
			r = parse_directives(p, &open);
	} else if (!p->st.eof) {
		r = parse_directives(p, NULL);
	}
	if (r < 0)
		return r;
	if (p->words.n == 0 && p->dirs.n > 0)
		corefile_stream_warn(&p->st, start, "a block without a zone serves nothing");
	finish_block(p, 0);
	return 0;
}

static int parse_all(struct parser *p, struct slice text, const struct corefile_source *src)
{
	int r = corefile_stream_init(&p->st, &p->cf->arena, src, p->main_file, text, p->err);
	if (r == 0)
		r = next(p);
	while (r == 0 && !p->st.eof)
		r = parse_block(p);
	if (r < 0)
		return r;
	p->cf->block = TAKE_FROM(p, &p->blocks, 0, &p->cf->n_block);
	p->cf->file = TAKE_FROM(p, &p->st.file, 0, &p->cf->n_file);
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
	vec_done(&p->snippet);
	free(p);
	if (r < 0)
		corefile_free(cf);
	else
		*ret = cf;
	return r;
}

void corefile_free(struct corefile *cf)
{
	if (cf == NULL)
		return;
	arena_done(&cf->arena);
	free(cf);
}
