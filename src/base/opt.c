/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Options by table: one function per type reads a text into its field; the rest is bookkeeping that
 * all rows share. */
#include "base/opt.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/text/duration.h"

/* Where errors about a row point when there is no argument to point at. */
static int fail_row(const struct opt_ctx *ctx, struct srcpos pos, const struct opt *row,
		    const char *text)
{
	return srcerr_set(ctx->err, pos, "%s: %s", row->name, text);
}

static int fail_got(const struct opt_ctx *ctx, const struct word *arg, const struct opt *row,
		    const char *expected)
{
	return srcerr_set(ctx->err, arg->pos, "%s: expected %s, got '%s'", row->name, expected,
			  arg->s);
}

static void *field_of(const struct opt *row, const struct opt_ctx *ctx)
{
	return (char *)ctx->conf + row->offset;
}

static bool any_range(const struct opt *row)
{
	return row->min == 0 && row->max == 0;
}

static int parse_bool(const struct opt *row, const struct word *arg, struct opt_ctx *ctx)
{
	static const char *const words[][2] = {
		{ "off", "on" },
		{ "false", "true" },
		{ "no", "yes" },
	};
	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		for (int v = 0; v < 2; v++) {
			if (strcmp(arg->s, words[i][v]) == 0) {
				*(bool *)field_of(row, ctx) = v == 1;
				return 0;
			}
		}
	}
	return fail_got(ctx, arg, row, "on or off");
}

static int parse_uint(const struct opt *row, const struct word *arg, struct opt_ctx *ctx)
{
	uint64_t v;
	char expected[96] = "a number";
	if (!any_range(row))
		snprintf(expected, sizeof(expected), "a number from %lld to %lld",
			 (long long)row->min, (long long)row->max);
	if (slice_u64(slice_of(arg->s), &v) < 0 ||
	    (!any_range(row) && (v < (uint64_t)row->min || v > (uint64_t)row->max)))
		return fail_got(ctx, arg, row, expected);
	*(uint64_t *)field_of(row, ctx) = v;
	return 0;
}

static int parse_int(const struct opt *row, const struct word *arg, struct opt_ctx *ctx)
{
	bool negative = arg->s[0] == '-';
	int64_t min = row->min, max = any_range(row) ? INT64_MAX : row->max, v;
	uint64_t magnitude;
	char expected[96] = "a number";
	if (!any_range(row))
		snprintf(expected, sizeof(expected), "a number from %lld to %lld", (long long)min,
			 (long long)max);
	if (slice_u64(slice_of(arg->s + negative), &magnitude) < 0 || magnitude > INT64_MAX)
		return fail_got(ctx, arg, row, expected);
	v = negative ? -(int64_t)magnitude : (int64_t)magnitude;
	if (v < min || v > max)
		return fail_got(ctx, arg, row, expected);
	*(int64_t *)field_of(row, ctx) = v;
	return 0;
}

static int parse_duration(const struct opt *row, const struct word *arg, struct opt_ctx *ctx)
{
	int64_t ns, max = any_range(row) ? INT64_MAX : row->max;
	char low[40], high[40], expected[128];
	if (duration_parse(slice_of(arg->s), &ns) < 0)
		return fail_got(ctx, arg, row, "a duration such as 5s");
	if (ns >= row->min && ns <= max) {
		*(int64_t *)field_of(row, ctx) = ns;
		return 0;
	}
	duration_str(row->min, low, sizeof(low));
	if (max == INT64_MAX)
		snprintf(expected, sizeof(expected), "a duration of at least %s", low);
	else
		snprintf(expected, sizeof(expected), "a duration from %s to %s", low,
			 duration_str(max, high, sizeof(high)));
	return fail_got(ctx, arg, row, expected);
}

static int parse_string(const struct opt *row, const struct word *arg, struct opt_ctx *ctx)
{
	const char *s = arena_strdup(ctx->arena, arg->s);
	if (s == NULL)
		return ERR_SPACE;
	*(const char **)field_of(row, ctx) = s;
	return 0;
}

static int parse_enum(const struct opt *row, const struct word *arg, struct opt_ctx *ctx)
{
	for (int i = 0; row->words[i] != NULL; i++) {
		if (strcmp(arg->s, row->words[i]) == 0) {
			*(int *)field_of(row, ctx) = i;
			return 0;
		}
	}
	CLEANUP(strbuf_done) struct strbuf b = STRBUF_INIT;
	for (int i = 0; row->words[i] != NULL; i++) {
		bool last = row->words[i + 1] == NULL;
		strbuf_addf(&b, "%s%s", i == 0 ? "" : last ? " or " : ", ", row->words[i]);
	}
	return fail_got(ctx, arg, row, b.s);
}

static const struct word *keep_word(struct opt_ctx *ctx, const struct word *word)
{
	struct word *copy = arena_memdup(ctx->arena, word, sizeof(*word));
	const char *s = arena_strdup(ctx->arena, word->s);
	if (copy == NULL || s == NULL)
		return NULL;
	copy->s = s;
	return copy;
}

static int append_list(const struct opt *row, const struct opt_line *line, struct opt_ctx *ctx)
{
	struct opt_list *list = field_of(row, ctx);
	size_t n = list->n + line->n_arg;
	const struct word **v = arena_alloc(ctx->arena, n * sizeof(const struct word *));
	if (v == NULL)
		return ERR_SPACE;
	for (size_t i = 0; i < list->n; i++)
		v[i] = list->v[i];
	for (size_t i = list->n; i < n; i++) {
		v[i] = keep_word(ctx, &line->arg[i - list->n]);
		if (v[i] == NULL)
			return ERR_SPACE;
	}
	*list = (struct opt_list){ v, n };
	return 0;
}

typedef int (*parse_one_fn)(const struct opt *row, const struct word *arg, struct opt_ctx *ctx);

/* Types that take exactly one argument. */
static const parse_one_fn parse_one[] = {
	[OPT_BOOL] = parse_bool,
	[OPT_UINT] = parse_uint,
	[OPT_INT] = parse_int,
	[OPT_DURATION] = parse_duration,
	[OPT_STRING] = parse_string,
	[OPT_ENUM] = parse_enum,
	[OPT_FN] = NULL,
};

static int check_count(const struct opt *row, const struct opt_line *line,
		       const struct opt_ctx *ctx)
{
	size_t n = line->n_arg, min = 1, max = 1;
	char text[96];
	if (row->type == OPT_FLAG) {
		min = max = 0;
	} else if (row->type == OPT_LIST || row->type == OPT_FN) {
		bool any = any_range(row);
		min = any ? (size_t)(row->type == OPT_LIST) : (size_t)row->min;
		max = any ? SIZE_MAX : (size_t)row->max;
	}
	if (n >= min && n <= max)
		return 0;
	if (max == 0)
		snprintf(text, sizeof(text), "expected no argument, got '%s'", line->arg[0].s);
	else if (n == 0)
		snprintf(text, sizeof(text), "expected %s",
			 min == 1 && max == 1 ? "an argument" : "more arguments");
	else if (n < min)
		snprintf(text, sizeof(text), "expected at least %zu arguments, got %zu", min, n);
	else
		snprintf(text, sizeof(text), "expected at most %zu argument%s, got %zu", max,
			 max == 1 ? "" : "s", n);
	return fail_row(ctx, n > max ? line->arg[max].pos : line->name.pos, row, text);
}

static int parse_row(const struct opt *row, const struct opt_line *line, struct opt_ctx *ctx)
{
	int r = check_count(row, line, ctx);
	if (r < 0)
		return r;
	if (row->type == OPT_FLAG) {
		*(bool *)field_of(row, ctx) = true;
		return 0;
	}
	if (row->type == OPT_LIST)
		return append_list(row, line, ctx);
	if (row->type == OPT_FN) {
		ctx->field = field_of(row, ctx);
		return row->fn(ctx, line);
	}
	return parse_one[row->type](row, &line->arg[0], ctx);
}

/* Default texts have no place; a list's or function's is cut at blanks. */
static int parse_default(const struct opt *row, struct opt_ctx *ctx)
{
	enum { MAX_WORDS = 64 };
	struct word words[MAX_WORDS];
	struct opt_line line = { .name = { .s = row->name }, .arg = words };
	struct slice rest = slice_of(row->def);
	bool cut = row->type == OPT_LIST || row->type == OPT_FN;
	if (row->type == OPT_FLAG)
		return parse_bool(row, &(struct word){ .s = row->def }, ctx);
	if (!cut) {
		words[0] = (struct word){ .s = row->def };
		line.n_arg = 1;
		return parse_row(row, &line, ctx);
	}
	while (rest.n > 0) {
		struct slice w = slice_cut(&rest, ' ');
		if (w.n == 0)
			continue;
		assert(line.n_arg < MAX_WORDS);
		words[line.n_arg] = (struct word){ .s = arena_strndup(ctx->arena, w.p, w.n) };
		if (words[line.n_arg++].s == NULL)
			return ERR_SPACE;
	}
	return parse_row(row, &line, ctx);
}

void opt_defaults(const struct opt *rows, size_t count, struct opt_ctx *ctx)
{
	for (size_t i = 0; i < count; i++) {
		if (rows[i].def == NULL)
			continue;
		int r = parse_default(&rows[i], ctx);
		assert(r >= 0); /* the table is wrong */
		IGNORE(r);
	}
}

static bool is_positional(const struct opt *row)
{
	return row->name[0] == '<';
}

static int unknown_option(const struct opt *rows, size_t count, const struct opt_line *line,
			  const struct opt_ctx *ctx)
{
	CLEANUP(strbuf_done) struct strbuf b = STRBUF_INIT;
	for (size_t i = 0; i < count; i++) {
		if (!is_positional(&rows[i]))
			strbuf_addf(&b, "%s%s", b.n == 0 ? "" : ", ", rows[i].name);
	}
	if (b.n == 0)
		return srcerr_set(ctx->err, line->name.pos, "unknown option '%s', there are none",
				  line->name.s);
	return srcerr_set(ctx->err, line->name.pos, "unknown option '%s', expected one of: %s",
			  line->name.s, b.s);
}

int opt_parse_line(const struct opt *rows, size_t count, const struct opt_line *line,
		   uint64_t *seen, struct opt_ctx *ctx)
{
	assert(count <= 64);
	size_t i = 0;
	while (i < count && (is_positional(&rows[i]) || strcmp(rows[i].name, line->name.s) != 0))
		i++;
	if (i == count)
		return unknown_option(rows, count, line, ctx);
	const struct opt *row = &rows[i];
	uint64_t bit = UINT64_C(1) << i;
	if ((*seen & bit) != 0 && !row->repeatable && row->type != OPT_LIST)
		return fail_row(ctx, line->name.pos, row, "given twice");
	/* What the user lists replaces the default. */
	if ((*seen & bit) == 0 && row->type == OPT_LIST)
		*(struct opt_list *)field_of(row, ctx) = (struct opt_list){ NULL, 0 };
	*seen |= bit;
	return parse_row(row, line, ctx);
}

int opt_parse_args(const struct opt *rows, size_t count, const struct opt_line *line,
		   struct opt_ctx *ctx)
{
	size_t at = 0;
	for (size_t i = 0; i < count && at < line->n_arg; i++) {
		const struct opt *row = &rows[i];
		if (!is_positional(row))
			continue;
		struct opt_line part = { line->name, line->arg + at, 1 };
		if (row->type == OPT_LIST || row->type == OPT_FN)
			part.n_arg = line->n_arg - at;
		if (row->type == OPT_LIST)
			*(struct opt_list *)field_of(row, ctx) = (struct opt_list){ NULL, 0 };
		int r = parse_row(row, &part, ctx);
		if (r < 0)
			return r;
		at += part.n_arg;
	}
	if (at < line->n_arg)
		return srcerr_set(ctx->err, line->arg[at].pos, "%s: unexpected argument '%s'",
				  line->name.s, line->arg[at].s);
	return 0;
}

/* How the row's arguments are written if `args` is not set. */
static const char *args_of(const struct opt *row)
{
	static const char *const by_type[] = {
		[OPT_FLAG] = "",     [OPT_BOOL] = "on|off",	  [OPT_UINT] = "N",
		[OPT_INT] = "N",     [OPT_DURATION] = "DURATION", [OPT_STRING] = "TEXT",
		[OPT_ENUM] = "WORD", [OPT_LIST] = "TEXT...",	  [OPT_FN] = "...",
	};
	if (row->args != NULL)
		return row->args;
	return is_positional(row) ? "" : by_type[row->type];
}

static size_t left_width(const struct opt *row)
{
	const char *args = args_of(row);
	return strlen(row->name) + (args[0] != '\0') + strlen(args);
}

void opt_help(const struct opt *rows, size_t count, struct strbuf *out)
{
	size_t width = 0;
	for (size_t i = 0; i < count; i++)
		width = MAX(width, left_width(&rows[i]));
	for (size_t i = 0; i < count; i++) {
		const char *args = args_of(&rows[i]);
		strbuf_addf(out, "  %s%s%s%*s  %s", rows[i].name, args[0] != '\0' ? " " : "", args,
			    (int)(width - left_width(&rows[i])), "",
			    rows[i].help != NULL ? rows[i].help : "");
		if (rows[i].def != NULL)
			strbuf_addf(out, " (default %s)", rows[i].def);
		strbuf_addc(out, '\n');
	}
}
