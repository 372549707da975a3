/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Imports as a stack of sources: an import puts a source on top, and the reader goes on below when
 * it is used up. So a file is cut into tokens once however often it is imported, and a source that
 * imports itself is seen at once, not when a counter runs out. */
#include "corefile/stream_priv.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "corefile/expand_priv.h"

static int limit_err(struct corefile_stream *st, struct srcpos pos, const char *what, int max)
{
	IGNORE(srcerr_set(st->err, pos, "more than %d %s", max, what));
	return ERR_LIMIT;
}

static int count_bytes(struct corefile_stream *st, struct srcpos pos, size_t count)
{
	if (count > COREFILE_MAX_BYTES - st->n_bytes)
		return limit_err(st, pos, "bytes of Corefile in all", COREFILE_MAX_BYTES);
	st->n_bytes += count;
	return 0;
}

void corefile_stream_warn(const struct corefile_stream *st, struct srcpos pos, const char *fmt, ...)
{
	char text[512];
	va_list ap;
	if (st->src == NULL || st->src->warn == NULL)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	st->src->warn(st->src->ctx, pos, text);
}

static int lex_file(struct corefile_stream *st, const char *path, struct slice text,
		    struct corefile_toks **ret)
{
	int r = count_bytes(st, (struct srcpos){ path, 1, 1 }, text.n);
	if (r < 0)
		return r;
	struct corefile_toks *toks = arena_alloc(st->a, sizeof(*toks));
	r = corefile_lex(st->a, path, text, toks, st->err);
	if (r < 0)
		return r;
	vec_push(&st->file, path);
	*ret = toks;
	return 0;
}

/* The tokens of an imported file, cut at its first import. */
static int load_file(struct corefile_stream *st, const char *path, struct srcpos at,
		     struct corefile_toks **ret)
{
	*ret = map_get(&st->files, slice_of(path));
	if (*ret != NULL)
		return 0;
	struct slice text;
	int r = st->src->read(st->src->ctx, path, st->a, &text);
	if (r < 0) {
		IGNORE(srcerr_set(st->err, at, "cannot import '%s': %s", path, err_str(r)));
		return r;
	}
	r = lex_file(st, arena_strdup(st->a, path), text, ret);
	if (r == 0)
		map_set(&st->files, slice_of(path), *ret);
	return r;
}

static int check_cycle(struct corefile_stream *st, bool snippet, const char *name, struct srcpos at)
{
	for (size_t i = 0; i < st->depth; i++) {
		const struct corefile_frame *f = &st->frame[i];
		if (f->snippet != snippet || f->name == NULL || strcmp(f->name, name) != 0)
			continue;
		return srcerr_set(st->err, at, "import cycle: %s '%s' imports itself",
				  snippet ? "snippet" : "file", name);
	}
	return 0;
}

/* The next file of an import by pattern. */
static int next_file(struct corefile_stream *st, struct corefile_frame *frame)
{
	const char *path = frame->file[frame->next_file++];
	struct corefile_toks *toks = NULL;
	frame->name = NULL;
	int r = check_cycle(st, false, path, frame->import_pos);
	if (r == 0)
		r = load_file(st, path, frame->import_pos, &toks);
	if (r < 0 || toks == NULL)
		return r;
	frame->name = path;
	frame->toks = *toks;
	frame->next = 0;
	return 0;
}

int corefile_stream_next(struct corefile_stream *st)
{
	while (st->depth > 0) {
		struct corefile_frame *f = &st->frame[st->depth - 1];
		if (f->next < f->toks.n) {
			st->tok = &f->toks.v[f->next++];
			st->nl = st->tok->bol || st->boundary;
			st->boundary = false;
			st->last = st->tok->w.pos;
			if (++st->n_tokens > COREFILE_MAX_TOKENS)
				return limit_err(st, st->last, "words after all imports",
						 COREFILE_MAX_TOKENS);
			return 0;
		}
		st->boundary = true;
		if (f->next_file == f->n_file) {
			st->depth--;
			continue;
		}
		int r = next_file(st, f);
		if (r < 0)
			return r;
	}
	st->eof = true;
	st->nl = true;
	return 0;
}

bool corefile_stream_at_last(const struct corefile_stream *st)
{
	for (size_t i = 0; i < st->depth; i++) {
		const struct corefile_frame *f = &st->frame[i];
		if (f->next < f->toks.n || f->next_file < f->n_file)
			return false;
	}
	return true;
}

int corefile_stream_text(struct corefile_stream *st, const char **ret)
{
	int r = corefile_expand(st->a, st->src, &st->tok->w, ret, st->err);
	if (r < 0 || *ret == st->tok->w.s)
		return r;
	return count_bytes(st, st->tok->w.pos, strlen(*ret));
}

static struct corefile_frame *push_frame(struct corefile_stream *st, struct srcpos at)
{
	if (st->depth == COREFILE_MAX_DEPTH) {
		IGNORE(limit_err(st, at, "imports inside imports", COREFILE_MAX_DEPTH - 1));
		return NULL;
	}
	struct corefile_frame *f = &st->frame[st->depth++];
	*f = (struct corefile_frame){ .import_pos = at };
	st->boundary = true;
	return f;
}

static int import_snippet(struct corefile_stream *st, const char *name,
			  const struct corefile_toks *toks, struct srcpos at)
{
	if (st->n_snippet_imports++ == COREFILE_MAX_SNIPPET_IMPORTS)
		return limit_err(st, at, "imports of snippets", COREFILE_MAX_SNIPPET_IMPORTS);
	int r = check_cycle(st, true, name, at);
	if (r < 0)
		return r;
	struct corefile_frame *f = push_frame(st, at);
	if (f == NULL)
		return ERR_LIMIT;
	f->snippet = true;
	f->name = name;
	f->toks = *toks;
	return 0;
}

/* `pattern` in the folder of `file`, without `.`, `..` and doubled slashes where they can be taken
 * out of the text; an absolute pattern as it is. */
static const char *join_path(struct arena *arena, const char *file, const char *pattern)
{
	if (pattern[0] == '/')
		return pattern;
	const char *slash = strrchr(file, '/');
	int dir_n = slash != NULL ? (int)(slash - file) + 1 : 0;
	char *path = arena_printf(arena, "%.*s%s", dir_n, file, pattern);
	bool rooted = path[0] == '/';
	struct slice rest = slice_of(path + rooted);
	size_t base = rooted, n = rooted; /* path[0..n) is done; ".."s before `base` must stay */
	while (rest.p != NULL) {
		struct slice part = slice_cut(&rest, '/');
		if (part.n == 0 || slice_is(part, "."))
			continue;
		if (slice_is(part, "..") && n > base) {
			while (n > base && path[n - 1] != '/')
				n--;
			n -= n > base; /* the slash */
			continue;
		}
		if (slice_is(part, "..") && rooted)
			continue;
		if (n > rooted)
			path[n++] = '/';
		memmove(path + n, part.p, part.n);
		n += part.n;
		if (slice_is(part, ".."))
			base = n;
	}
	path[n] = '\0';
	return n > 0 ? path : ".";
}

static size_t count_char(const char *text, char ch)
{
	size_t n = 0;
	for (; *text != '\0'; text++)
		n += *text == ch;
	return n;
}

static int import_files(struct corefile_stream *st, const char *pattern, struct srcpos at)
{
	if (st->n_file_imports++ == COREFILE_MAX_FILE_IMPORTS)
		return limit_err(st, at, "imports of files", COREFILE_MAX_FILE_IMPORTS);
	const char *full = join_path(st->a, at.file, pattern);
	if (count_char(full, '*') > 1 || count_char(full, '?') > 1 ||
	    (strchr(full, '[') != NULL && strchr(full, ']') != NULL))
		return srcerr_set(
			st->err, at,
			"too many wildcards in '%s', expected at most one '*' and one '?'", full);
	const char *const *file = NULL;
	size_t n_file = 0;
	if (st->src != NULL && st->src->glob != NULL && st->src->read != NULL) {
		int r = st->src->glob(st->src->ctx, full, st->a, &file, &n_file);
		if (r < 0) {
			IGNORE(srcerr_set(st->err, at, "cannot import '%s': %s", pattern,
					  err_str(r)));
			return r;
		}
	}
	if (n_file == 0 && strpbrk(full, "*?[]") == NULL)
		return srcerr_set(
			st->err, at,
			"nothing to import as '%s', expected a snippet defined above or a file",
			pattern);
	if (n_file == 0)
		corefile_stream_warn(st, at, "no file matches the import pattern '%s'", pattern);
	struct corefile_frame *f = push_frame(st, at);
	if (f == NULL)
		return ERR_LIMIT;
	f->file = file;
	f->n_file = n_file;
	return 0;
}

int corefile_stream_import(struct corefile_stream *st)
{
	struct corefile_frame *f = &st->frame[st->depth - 1];
	if (f->next == f->toks.n || f->toks.v[f->next].bol)
		return srcerr_set(
			st->err, st->tok->w.pos,
			"import without an argument, expected a snippet, a file or a pattern");
	const char *pattern;
	st->tok = &f->toks.v[f->next++];
	int r = corefile_stream_text(st, &pattern);
	if (r < 0)
		return r;
	struct srcpos at = st->tok->w.pos;
	if (pattern[0] == '\0')
		return srcerr_set(st->err, at,
				  "import of '', expected a snippet, a file or a pattern");
	if (f->next < f->toks.n && !f->toks.v[f->next].bol)
		return srcerr_set(
			st->err, f->toks.v[f->next].w.pos,
			"unexpected '%.100s' after the argument of import, expected a new line",
			f->toks.v[f->next].w.s);
	const struct corefile_toks *snippet = map_get(&st->snippets, slice_of(pattern));
	r = snippet != NULL ? import_snippet(st, pattern, snippet, at)
			    : import_files(st, pattern, at);
	return r < 0 ? r : corefile_stream_next(st);
}

int corefile_stream_define(struct corefile_stream *st, const char *name, struct corefile_toks toks)
{
	if (map_has(&st->snippets, slice_of(name)))
		return ERR_DUPLICATE;
	map_set(&st->snippets, slice_of(name), arena_memdup(st->a, &toks, sizeof(toks)));
	return 0;
}

int corefile_stream_init(struct corefile_stream *st, struct arena *arena,
			 const struct corefile_source *src, const char *file, struct slice text,
			 struct srcerr *reterr)
{
	*st = (struct corefile_stream){ .a = arena, .src = src, .err = reterr };
	map_init(&st->snippets);
	map_init(&st->files);
	st->last = (struct srcpos){ file, 1, 1 };
	struct corefile_toks *toks;
	int r = lex_file(st, file, text, &toks);
	if (r < 0)
		return r;
	struct corefile_frame *f = push_frame(st, st->last);
	f->name = file;
	f->toks = *toks;
	return 0;
}

void corefile_stream_done(struct corefile_stream *st)
{
	map_done(&st->snippets);
	map_done(&st->files);
	vec_done(&st->file);
}
