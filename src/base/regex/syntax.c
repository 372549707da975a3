/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads RE2 syntax the way Go's parser does, prints what it means for PCRE2, and builds the tree
 * that the linear matcher is compiled from. Flags are resolved here ((?i) is kept, since PCRE2
 * folds case itself), so that each printed item means the same whatever PCRE2's defaults are. */
#include "base/regex/syntax_priv.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/regex/class_priv.h"

struct flags {
	bool fold;	 /* i */
	bool multi_line; /* m */
	bool dot_all;	 /* s */
	bool lazy;	 /* U */
};

/* What a repetition sign would apply to. */
struct atom {
	bool present;
	bool bare;	 /* PCRE2 takes a repetition sign after it as it is */
	size_t start;	 /* in the output */
	unsigned weight; /* product of nested counts */
};

struct group {
	struct flags outer; /* restored at its end */
	bool printed_fold;  /* PCRE2's case flag at this point of the output */
	struct atom last;
	size_t start;	 /* of the group in the output */
	unsigned weight; /* heaviest atom */
	uint32_t branch; /* of the tree: where its next item goes */
};

struct parser {
	struct slice whole;
	struct regex_class_in in;
	struct flags flags;
	VEC(struct group) open;	  /* [0] is the pattern itself */
	struct slice last_repeat; /* from the repetition sign just read on; p NULL: none */
	struct regex_syntax *ret;
	const char *error;
	struct slice bad;
};

static bool fail_at(struct parser *parser, const char *text, struct slice bad)
{
	parser->error = text;
	parser->bad = bad;
	return false;
}

static bool fail_in(struct parser *parser, const char *text)
{
	return fail_at(parser, text, parser->in.bad);
}

static struct group *innermost_group(struct parser *parser)
{
	return &parser->open.v[parser->open.n - 1];
}

static struct strbuf *pcre_of(struct parser *parser)
{
	return &parser->ret->pcre;
}

/* `from` up to where the reader stands. */
static struct slice text_since(const struct parser *parser, struct slice from)
{
	return (struct slice){ from.p, from.n - parser->in.rest.n };
}

/* Flags are printed as late as possible: in `a(?i)*` the star belongs to the a. */
static void begin_atom(struct parser *parser, bool bare)
{
	struct group *g = innermost_group(parser);
	if (g->printed_fold != parser->flags.fold) {
		g->printed_fold = parser->flags.fold;
		strbuf_adds(pcre_of(parser), parser->flags.fold ? "(?i)" : "(?-i)");
	}
	g->last = (struct atom){ true, bare, pcre_of(parser)->n, 1 };
}

static void put_assert(struct parser *parser, const char *text, enum regex_assert what)
{
	begin_atom(parser, false); /* none can be repeated in PCRE2 as it stands */
	strbuf_adds(pcre_of(parser), text);
	regex_tree_add_item(&parser->ret->tree, innermost_group(parser)->branch, REGEX_NODE_ASSERT,
			    what);
}

/* What was printed since begin_atom is a class, or matches like one. */
static void put_class(struct parser *parser)
{
	size_t start = innermost_group(parser)->last.start;
	struct slice text = { pcre_of(parser)->s + start, pcre_of(parser)->n - start };
	regex_tree_add_class(&parser->ret->tree, innermost_group(parser)->branch, text,
			     parser->flags.fold);
}

static void put_literal(struct parser *parser, uint32_t cp)
{
	bool surrogate = cp >= 0xd800 && cp <= 0xdfff; /* in no valid text */
	begin_atom(parser, !surrogate);
	if (surrogate)
		strbuf_adds(pcre_of(parser), "(?!)");
	else
		regex_class_print(pcre_of(parser), cp);
	if (surrogate || parser->flags.fold)
		put_class(parser);
	else
		regex_tree_add_item(&parser->ret->tree, innermost_group(parser)->branch,
				    REGEX_NODE_CHAR, cp);
}

static void insert_text(struct strbuf *out, size_t at, const char *text)
{
	size_t n = strlen(text);
	strbuf_add(out, text, n);
	memmove(out->s + at + n, out->s + at, out->n - n - at);
	memcpy(out->s + at, text, n);
}

struct count {
	int min, max; /* max -1: no end */
};

/* A repetition sign with everything after it cut off `rest`. */
static bool put_repeat(struct parser *parser, struct slice before, struct count count, bool counted)
{
	struct atom *a = &innermost_group(parser)->last;
	bool lazy = parser->flags.lazy;
	if (parser->in.rest.n > 0 && parser->in.rest.p[0] == '?') {
		parser->in.rest = slice_from(parser->in.rest, 1);
		lazy = !lazy;
	}
	if (parser->last_repeat.p != NULL)
		return fail_at(parser, "invalid nested repetition operator",
			       text_since(parser, parser->last_repeat));
	if (!a->present)
		return fail_at(parser, "missing argument to repetition operator",
			       text_since(parser, before));
	unsigned m = (unsigned)(count.max < 0 ? count.min : count.max);
	if (counted)
		a->weight = count.max == 0 ? 1 : a->weight * MAX(m, 1U);
	if (counted && (count.min >= 2 || count.max >= 2) && a->weight > REGEX_REPEAT_MAX)
		return fail_at(parser, "invalid repeat count", text_since(parser, before));
	if (!a->bare) {
		insert_text(pcre_of(parser), a->start, "(?:");
		strbuf_addc(pcre_of(parser), ')');
	}
	if (counted && count.max < 0)
		strbuf_addf(pcre_of(parser), "{%d,}", count.min);
	else if (counted)
		strbuf_addf(pcre_of(parser), "{%d,%d}", count.min, count.max);
	else
		strbuf_addc(pcre_of(parser), before.p[0]);
	if (lazy)
		strbuf_addc(pcre_of(parser), '?');
	regex_tree_repeat(&parser->ret->tree, innermost_group(parser)->branch, count.min, count.max,
			  lazy);
	a->bare = false;
	parser->last_repeat = before;
	return true;
}

/* A count without leading zeros; -1 when it is absurdly large. False: not a number. */
static bool read_count(struct slice *text, int *ret)
{
	size_t n = 0;
	int v = 0;
	while (n < text->n && ascii_isdigit(text->p[n])) {
		v = v < 0 || v > 100000 ? -1 : v * 10 + (text->p[n] - '0');
		n++;
	}
	if (n == 0 || (n > 1 && text->p[0] == '0'))
		return false;
	*text = slice_from(*text, n);
	*ret = v;
	return true;
}

/* {n}, {n,} or {n,m} at the front; false: the brace is an ordinary character. */
static bool read_braces(struct slice *text, struct count *ret)
{
	struct slice t = slice_from(*text, 1);
	struct count c;
	if (!read_count(&t, &c.min) || t.n == 0)
		return false;
	c.max = c.min;
	if (t.p[0] == ',') {
		t = slice_from(t, 1);
		if (t.n == 0)
			return false;
		if (t.p[0] == '}')
			c.max = -1;
		else if (!read_count(&t, &c.max))
			return false;
		else if (c.max < 0)
			c.min = -1;
	}
	if (t.n == 0 || t.p[0] != '}')
		return false;
	*text = slice_from(t, 1);
	*ret = c;
	return true;
}

static bool read_repeat(struct parser *parser)
{
	struct slice before = parser->in.rest;
	struct count c = { before.p[0] == '+', before.p[0] == '?' ? 1 : -1 };
	if (before.p[0] != '{') {
		parser->in.rest = slice_from(before, 1);
		return put_repeat(parser, before, c, false);
	}
	if (!read_braces(&parser->in.rest, &c)) {
		parser->in.rest = slice_from(before, 1);
		put_literal(parser, '{');
		return true;
	}
	if (c.min < 0 || c.min > REGEX_REPEAT_MAX || c.max > REGEX_REPEAT_MAX ||
	    (c.max >= 0 && c.min > c.max))
		return fail_at(parser, "invalid repeat count", text_since(parser, before));
	return put_repeat(parser, before, c, true);
}

/* `inner` are the flags inside. */
static bool open_group(struct parser *parser, const char *text, struct flags inner,
		       uint32_t capture)
{
	if (parser->open.n > REGEX_DEPTH_MAX)
		return fail_at(parser, "expression nests too deeply", parser->whole);
	begin_atom(parser, false);
	struct group g = { .outer = parser->flags,
			   .printed_fold = innermost_group(parser)->printed_fold,
			   .start = pcre_of(parser)->n,
			   .weight = 1,
			   .branch = regex_tree_open_group(
				   &parser->ret->tree, innermost_group(parser)->branch, capture) };
	strbuf_adds(pcre_of(parser), text);
	vec_push(&parser->open, g);
	parser->flags = inner;
	return true;
}

/* The atom at hand is complete: nothing can repeat it any more. */
static void end_atom(struct group *group)
{
	if (group->last.present)
		group->weight = MAX(group->weight, group->last.weight);
	group->last.present = false;
}

static bool close_group(struct parser *parser)
{
	if (parser->open.n == 1)
		return fail_at(parser, "unexpected )", parser->whole);
	struct group inner = *innermost_group(parser);
	end_atom(&inner);
	regex_tree_close_group(&parser->ret->tree, inner.branch);
	parser->open.n--;
	strbuf_addc(pcre_of(parser), ')');
	parser->flags = inner.outer;
	innermost_group(parser)->last = (struct atom){ true, true, inner.start, inner.weight };
	parser->in.rest = slice_from(parser->in.rest, 1);
	return true;
}

static bool open_capture(struct parser *parser, struct slice name)
{
	/* A name may be used twice; the first group is then the one it finds. */
	vec_push(&parser->ret->names, name.n > 0 ? xstrndup(name.p, name.n) : NULL);
	return open_group(parser, "(", parser->flags, (uint32_t)parser->ret->names.n);
}

/* (?P<name>...) or (?<name>...); `skip` bytes before the name. */
static bool open_named(struct parser *parser, size_t skip)
{
	struct slice start = parser->in.rest;
	ptrdiff_t end = slice_find(start, '>');
	if (end < 0)
		return fail_at(parser, "invalid named capture", start);
	struct slice name = { start.p + skip, (size_t)end - skip };
	parser->in.rest = slice_from(start, (size_t)end + 1);
	bool valid = name.n > 0;
	for (size_t i = 0; i < name.n; i++)
		valid = valid &&
			(ascii_isalpha(name.p[i]) || ascii_isdigit(name.p[i]) || name.p[i] == '_');
	if (!valid)
		return fail_at(parser, "invalid named capture", text_since(parser, start));
	return open_capture(parser, name);
}

static bool *flag_of(struct flags *flags, char ch)
{
	return ch == 'i'   ? &flags->fold
	       : ch == 'm' ? &flags->multi_line
	       : ch == 's' ? &flags->dot_all
	       : ch == 'U' ? &flags->lazy
			   : NULL;
}

/* (?flags) or (?flags:...). */
static bool read_flags(struct parser *parser)
{
	struct slice start = parser->in.rest;
	struct flags f = parser->flags;
	bool on = true, saw_flag = false;
	uint32_t c;
	parser->in.rest = slice_from(start, 2);
	while (parser->in.rest.n > 0) {
		if (regex_class_next(&parser->in, &c) != NULL)
			return fail_in(parser, "invalid UTF-8");
		bool *flag = c < 128 ? flag_of(&f, (char)c) : NULL;
		if (flag != NULL) {
			*flag = on;
			saw_flag = true;
		} else if (c == '-' && on) {
			on = saw_flag = false;
		} else if ((c == ':' || c == ')') && (on || saw_flag)) {
			if (c == ':')
				return open_group(parser, "(?:", f, REGEX_NO_CAPTURE);
			parser->flags = f;
			return true;
		} else {
			break;
		}
	}
	return fail_at(parser, "invalid or unsupported Perl syntax", text_since(parser, start));
}

static bool read_paren(struct parser *parser)
{
	struct slice s = parser->in.rest;
	if (s.n > 4 && slice_starts(s, SLICE("(?P<")))
		return open_named(parser, 4);
	if (s.n > 3 && slice_starts(s, SLICE("(?<")))
		return open_named(parser, 3);
	if (slice_starts(s, SLICE("(?")))
		return read_flags(parser);
	parser->in.rest = slice_from(s, 1);
	return open_capture(parser, (struct slice){ NULL, 0 });
}

static bool read_quoted(struct parser *parser)
{
	uint32_t c;
	parser->in.rest = slice_from(parser->in.rest, 2);
	while (parser->in.rest.n > 0) {
		if (slice_starts(parser->in.rest, SLICE("\\E"))) {
			parser->in.rest = slice_from(parser->in.rest, 2);
			return true;
		}
		if (regex_class_next(&parser->in, &c) != NULL)
			return fail_in(parser, "invalid UTF-8");
		put_literal(parser, c);
	}
	return true;
}

static bool read_escape(struct parser *parser)
{
	static const struct {
		const char *text;
		enum regex_assert what;
	} assertions[128] = {
		['A'] = { "^", REGEX_AT_BEGIN_TEXT },
		['b'] = { "\\b", REGEX_AT_WORD },
		['B'] = { "\\B", REGEX_AT_NO_WORD },
		['z'] = { "$", REGEX_AT_END_TEXT },
	};
	struct slice s = parser->in.rest;
	unsigned char c = s.n > 1 ? (unsigned char)s.p[1] : 0;
	const char *error = NULL;
	uint32_t cp;
	if (c == 'Q')
		return read_quoted(parser);
	if (c < 128 && assertions[c].text != NULL) {
		put_assert(parser, assertions[c].text, assertions[c].what);
		parser->in.rest = slice_from(s, 2);
		return true;
	}
	CLEANUP(strbuf_done) struct strbuf class = STRBUF_INIT;
	parser->in.fold = parser->flags.fold;
	int r = regex_class_escape(&parser->in, &class, &error);
	if (r == 0)
		error = regex_class_char(&parser->in, &cp);
	if (error != NULL)
		return fail_in(parser, error);
	if (r == 0) {
		put_literal(parser, cp);
	} else {
		begin_atom(parser, true);
		strbuf_addf(pcre_of(parser), "[%s]", class.s);
		put_class(parser);
	}
	return true;
}

static bool read_bracket(struct parser *parser)
{
	begin_atom(parser, true);
	parser->in.fold = parser->flags.fold;
	const char *error = regex_class_bracket(&parser->in, pcre_of(parser));
	if (error != NULL)
		return fail_in(parser, error);
	put_class(parser);
	return true;
}

static bool read_bar(struct parser *parser)
{
	end_atom(innermost_group(parser));
	innermost_group(parser)->branch =
		regex_tree_add_branch(&parser->ret->tree, innermost_group(parser)->branch);
	strbuf_addc(pcre_of(parser), '|');
	parser->in.rest = slice_from(parser->in.rest, 1);
	return true;
}

static bool read_sign(struct parser *parser)
{
	char c = parser->in.rest.p[0];
	parser->in.rest = slice_from(parser->in.rest, 1);
	bool multi_line = parser->flags.multi_line;
	if (c == '.') {
		begin_atom(parser, true);
		strbuf_adds(pcre_of(parser), parser->flags.dot_all ? "(?s:.)" : ".");
		put_class(parser);
	} else if (c == '^') {
		put_assert(parser, multi_line ? "(?:^|(?<=\\n))" : "^",
			   multi_line ? REGEX_AT_BEGIN_LINE : REGEX_AT_BEGIN_TEXT);
	} else {
		put_assert(parser, multi_line ? "(?=\\n|$)" : "$",
			   multi_line ? REGEX_AT_END_LINE : REGEX_AT_END_TEXT);
	}
	return true;
}

static bool read_literal(struct parser *parser)
{
	uint32_t c;
	const char *error = regex_class_next(&parser->in, &c);
	if (error != NULL)
		return fail_in(parser, error);
	put_literal(parser, c);
	return true;
}

static bool read_item(struct parser *parser)
{
	static bool (*const readers[128])(struct parser *) = {
		['('] = read_paren,  [')'] = close_group,  ['|'] = read_bar,
		['*'] = read_repeat, ['+'] = read_repeat,  ['?'] = read_repeat,
		['{'] = read_repeat, ['['] = read_bracket, ['\\'] = read_escape,
		['.'] = read_sign,   ['^'] = read_sign,	   ['$'] = read_sign,
	};
	unsigned char c = (unsigned char)parser->in.rest.p[0];
	bool (*read)(struct parser *) = c < 128 && readers[c] != NULL ? readers[c] : read_literal;
	struct slice repeat_before = parser->last_repeat;
	if (!read(parser))
		return false;
	/* A sign right after another is an error, with anything between them it is not. */
	if (parser->last_repeat.p == repeat_before.p)
		parser->last_repeat = (struct slice){ NULL, 0 };
	return true;
}

static bool read_all(struct parser *parser)
{
	uint32_t branch = regex_tree_init(&parser->ret->tree);
	vec_push(&parser->open, (struct group){ .weight = 1, .branch = branch });
	while (parser->in.rest.n > 0) {
		if (!read_item(parser))
			return false;
	}
	if (parser->open.n > 1)
		return fail_at(parser, "missing closing )", parser->whole);
	regex_tree_close_group(&parser->ret->tree, innermost_group(parser)->branch);
	return true;
}

int regex_syntax_read(struct slice pattern, struct regex_syntax *ret, struct srcerr *reterr)
{
	struct parser p = { .whole = pattern, .in = { .rest = pattern }, .ret = ret };
	*ret = (struct regex_syntax){ .pcre = STRBUF_INIT };
	bool ok = read_all(&p);
	vec_done(&p.open);
	if (ok)
		return 0;
	static const struct srcpos nowhere = { 0 };
	return srcerr_set(reterr, nowhere, "error parsing regexp: %s: `%.*s`", p.error,
			  (int)MIN(p.bad.n, (size_t)400), p.bad.n != 0 ? p.bad.p : "");
}

void regex_syntax_done(struct regex_syntax *syntax)
{
	strbuf_done(&syntax->pcre);
	regex_tree_done(&syntax->tree);
	for (size_t i = 0; i < syntax->names.n; i++)
		free(syntax->names.v[i]);
	vec_done(&syntax->names);
}
