/* Reads RE2 syntax the way Go's parser does, prints what it means for PCRE2, and builds the tree
 * that the linear matcher is compiled from. Flags are resolved here ((?i) is kept, since PCRE2
 * folds case itself), so that each printed item means the same whatever PCRE2's defaults are. */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/regex_priv.h"

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

static bool fail(struct parser *p, const char *text, struct slice bad)
{
	p->error = text;
	p->bad = bad;
	return false;
}

static bool fail_in(struct parser *p, const char *text)
{
	return fail(p, text, p->in.bad);
}

static struct group *top(struct parser *p)
{
	return &p->open.v[p->open.n - 1];
}

static struct strbuf *out(struct parser *p)
{
	return &p->ret->pcre;
}

/* `from` up to where the reader stands. */
static struct slice since(const struct parser *p, struct slice from)
{
	return (struct slice){ from.p, from.n - p->in.rest.n };
}

/* Flags are printed as late as possible: in `a(?i)*` the star belongs to the a. */
static void begin_atom(struct parser *p, bool bare)
{
	struct group *g = top(p);
	if (g->printed_fold != p->flags.fold) {
		g->printed_fold = p->flags.fold;
		strbuf_adds(out(p), p->flags.fold ? "(?i)" : "(?-i)");
	}
	g->last = (struct atom){ true, bare, out(p)->n, 1 };
}

static void put_assert(struct parser *p, const char *text, enum regex_assert what)
{
	begin_atom(p, false); /* none can be repeated in PCRE2 as it stands */
	strbuf_adds(out(p), text);
	regex_tree_add_item(&p->ret->tree, top(p)->branch, REGEX_NODE_ASSERT, what);
}

/* What was printed since begin_atom is a class, or matches like one. */
static void put_class(struct parser *p)
{
	size_t start = top(p)->last.start;
	struct slice text = { out(p)->s + start, out(p)->n - start };
	regex_tree_add_class(&p->ret->tree, top(p)->branch, text, p->flags.fold);
}

static void put_literal(struct parser *p, uint32_t cp)
{
	bool surrogate = cp >= 0xd800 && cp <= 0xdfff; /* in no valid text */
	begin_atom(p, !surrogate);
	if (surrogate)
		strbuf_adds(out(p), "(?!)");
	else
		regex_class_print(out(p), cp);
	if (surrogate || p->flags.fold)
		put_class(p);
	else
		regex_tree_add_item(&p->ret->tree, top(p)->branch, REGEX_NODE_CHAR, cp);
}

static void insert(struct strbuf *b, size_t at, const char *text)
{
	size_t n = strlen(text);
	strbuf_add(b, text, n);
	memmove(b->s + at + n, b->s + at, b->n - n - at);
	memcpy(b->s + at, text, n);
}

struct count {
	int min, max; /* max -1: no end */
};

/* A repetition sign with everything after it cut off `rest`. */
static bool put_repeat(struct parser *p, struct slice before, struct count c, bool counted)
{
	struct atom *a = &top(p)->last;
	bool lazy = p->flags.lazy;
	if (p->in.rest.n > 0 && p->in.rest.p[0] == '?') {
		p->in.rest = slice_from(p->in.rest, 1);
		lazy = !lazy;
	}
	if (p->last_repeat.p != NULL)
		return fail(p, "invalid nested repetition operator", since(p, p->last_repeat));
	if (!a->present)
		return fail(p, "missing argument to repetition operator", since(p, before));
	unsigned m = (unsigned)(c.max < 0 ? c.min : c.max);
	if (counted)
		a->weight = c.max == 0 ? 1 : a->weight * MAX(m, 1U);
	if (counted && (c.min >= 2 || c.max >= 2) && a->weight > REGEX_REPEAT_MAX)
		return fail(p, "invalid repeat count", since(p, before));
	if (!a->bare) {
		insert(out(p), a->start, "(?:");
		strbuf_addc(out(p), ')');
	}
	if (counted && c.max < 0)
		strbuf_addf(out(p), "{%d,}", c.min);
	else if (counted)
		strbuf_addf(out(p), "{%d,%d}", c.min, c.max);
	else
		strbuf_addc(out(p), before.p[0]);
	if (lazy)
		strbuf_addc(out(p), '?');
	regex_tree_repeat(&p->ret->tree, top(p)->branch, c.min, c.max, lazy);
	a->bare = false;
	p->last_repeat = before;
	return true;
}

/* A count without leading zeros; -1 when it is absurdly large. False: not a number. */
static bool read_count(struct slice *s, int *ret)
{
	size_t n = 0;
	int v = 0;
	while (n < s->n && ascii_isdigit(s->p[n])) {
		v = v < 0 || v > 100000 ? -1 : v * 10 + (s->p[n] - '0');
		n++;
	}
	if (n == 0 || (n > 1 && s->p[0] == '0'))
		return false;
	*s = slice_from(*s, n);
	*ret = v;
	return true;
}

/* {n}, {n,} or {n,m} at the front; false: the brace is an ordinary character. */
static bool read_braces(struct slice *s, struct count *ret)
{
	struct slice t = slice_from(*s, 1);
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
	*s = slice_from(t, 1);
	*ret = c;
	return true;
}

static bool read_repeat(struct parser *p)
{
	struct slice before = p->in.rest;
	struct count c = { before.p[0] == '+', before.p[0] == '?' ? 1 : -1 };
	if (before.p[0] != '{') {
		p->in.rest = slice_from(before, 1);
		return put_repeat(p, before, c, false);
	}
	if (!read_braces(&p->in.rest, &c)) {
		p->in.rest = slice_from(before, 1);
		put_literal(p, '{');
		return true;
	}
	if (c.min < 0 || c.min > REGEX_REPEAT_MAX || c.max > REGEX_REPEAT_MAX ||
	    (c.max >= 0 && c.min > c.max))
		return fail(p, "invalid repeat count", since(p, before));
	return put_repeat(p, before, c, true);
}

/* `inner` are the flags inside. */
static bool open_group(struct parser *p, const char *text, struct flags inner, uint32_t capture)
{
	if (p->open.n > REGEX_DEPTH_MAX)
		return fail(p, "expression nests too deeply", p->whole);
	begin_atom(p, false);
	struct group g = { .outer = p->flags,
			   .printed_fold = top(p)->printed_fold,
			   .start = out(p)->n,
			   .weight = 1,
			   .branch =
				   regex_tree_open_group(&p->ret->tree, top(p)->branch, capture) };
	strbuf_adds(out(p), text);
	vec_push(&p->open, g);
	p->flags = inner;
	return true;
}

/* The atom at hand is complete: nothing can repeat it any more. */
static void settle(struct group *g)
{
	if (g->last.present)
		g->weight = MAX(g->weight, g->last.weight);
	g->last.present = false;
}

static bool close_group(struct parser *p)
{
	if (p->open.n == 1)
		return fail(p, "unexpected )", p->whole);
	struct group inner = *top(p);
	settle(&inner);
	regex_tree_close_group(&p->ret->tree, inner.branch);
	p->open.n--;
	strbuf_addc(out(p), ')');
	p->flags = inner.outer;
	top(p)->last = (struct atom){ true, true, inner.start, inner.weight };
	p->in.rest = slice_from(p->in.rest, 1);
	return true;
}

static bool open_capture(struct parser *p, struct slice name)
{
	/* A name may be used twice; the first group is then the one it finds. */
	vec_push(&p->ret->names, name.n > 0 ? xstrndup(name.p, name.n) : NULL);
	return open_group(p, "(", p->flags, (uint32_t)p->ret->names.n);
}

/* (?P<name>...) or (?<name>...); `skip` bytes before the name. */
static bool open_named(struct parser *p, size_t skip)
{
	struct slice start = p->in.rest;
	ptrdiff_t end = slice_find(start, '>');
	if (end < 0)
		return fail(p, "invalid named capture", start);
	struct slice name = { start.p + skip, (size_t)end - skip };
	p->in.rest = slice_from(start, (size_t)end + 1);
	bool valid = name.n > 0;
	for (size_t i = 0; i < name.n; i++)
		valid = valid &&
			(ascii_isalpha(name.p[i]) || ascii_isdigit(name.p[i]) || name.p[i] == '_');
	if (!valid)
		return fail(p, "invalid named capture", since(p, start));
	return open_capture(p, name);
}

static bool *flag_of(struct flags *f, char c)
{
	return c == 'i'	  ? &f->fold
	       : c == 'm' ? &f->multi_line
	       : c == 's' ? &f->dot_all
	       : c == 'U' ? &f->lazy
			  : NULL;
}

/* (?flags) or (?flags:...). */
static bool read_flags(struct parser *p)
{
	struct slice start = p->in.rest;
	struct flags f = p->flags;
	bool on = true, saw_flag = false;
	uint32_t c;
	p->in.rest = slice_from(start, 2);
	while (p->in.rest.n > 0) {
		if (regex_class_next(&p->in, &c) != NULL)
			return fail_in(p, "invalid UTF-8");
		bool *flag = c < 128 ? flag_of(&f, (char)c) : NULL;
		if (flag != NULL) {
			*flag = on;
			saw_flag = true;
		} else if (c == '-' && on) {
			on = saw_flag = false;
		} else if ((c == ':' || c == ')') && (on || saw_flag)) {
			if (c == ':')
				return open_group(p, "(?:", f, REGEX_NO_CAPTURE);
			p->flags = f;
			return true;
		} else {
			break;
		}
	}
	return fail(p, "invalid or unsupported Perl syntax", since(p, start));
}

static bool read_paren(struct parser *p)
{
	struct slice s = p->in.rest;
	if (s.n > 4 && slice_starts(s, SLICE("(?P<")))
		return open_named(p, 4);
	if (s.n > 3 && slice_starts(s, SLICE("(?<")))
		return open_named(p, 3);
	if (slice_starts(s, SLICE("(?")))
		return read_flags(p);
	p->in.rest = slice_from(s, 1);
	return open_capture(p, (struct slice){ NULL, 0 });
}

static bool read_quoted(struct parser *p)
{
	uint32_t c;
	p->in.rest = slice_from(p->in.rest, 2);
	while (p->in.rest.n > 0) {
		if (slice_starts(p->in.rest, SLICE("\\E"))) {
			p->in.rest = slice_from(p->in.rest, 2);
			return true;
		}
		if (regex_class_next(&p->in, &c) != NULL)
			return fail_in(p, "invalid UTF-8");
		put_literal(p, c);
	}
	return true;
}

static bool read_escape(struct parser *p)
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
	struct slice s = p->in.rest;
	unsigned char c = s.n > 1 ? (unsigned char)s.p[1] : 0;
	const char *error = NULL;
	uint32_t cp;
	if (c == 'Q')
		return read_quoted(p);
	if (c < 128 && assertions[c].text != NULL) {
		put_assert(p, assertions[c].text, assertions[c].what);
		p->in.rest = slice_from(s, 2);
		return true;
	}
	CLEANUP(strbuf_done) struct strbuf class = STRBUF_INIT;
	p->in.fold = p->flags.fold;
	int r = regex_class_escape(&p->in, &class, &error);
	if (r == 0)
		error = regex_class_char(&p->in, &cp);
	if (error != NULL)
		return fail_in(p, error);
	if (r == 0) {
		put_literal(p, cp);
	} else {
		begin_atom(p, true);
		strbuf_addf(out(p), "[%s]", class.s);
		put_class(p);
	}
	return true;
}

static bool read_bracket(struct parser *p)
{
	begin_atom(p, true);
	p->in.fold = p->flags.fold;
	const char *error = regex_class_bracket(&p->in, out(p));
	if (error != NULL)
		return fail_in(p, error);
	put_class(p);
	return true;
}

static bool read_bar(struct parser *p)
{
	settle(top(p));
	top(p)->branch = regex_tree_add_branch(&p->ret->tree, top(p)->branch);
	strbuf_addc(out(p), '|');
	p->in.rest = slice_from(p->in.rest, 1);
	return true;
}

static bool read_sign(struct parser *p)
{
	char c = p->in.rest.p[0];
	p->in.rest = slice_from(p->in.rest, 1);
	bool multi_line = p->flags.multi_line;
	if (c == '.') {
		begin_atom(p, true);
		strbuf_adds(out(p), p->flags.dot_all ? "(?s:.)" : ".");
		put_class(p);
	} else if (c == '^') {
		put_assert(p, multi_line ? "(?:^|(?<=\\n))" : "^",
			   multi_line ? REGEX_AT_BEGIN_LINE : REGEX_AT_BEGIN_TEXT);
	} else {
		put_assert(p, multi_line ? "(?=\\n|$)" : "$",
			   multi_line ? REGEX_AT_END_LINE : REGEX_AT_END_TEXT);
	}
	return true;
}

static bool read_literal(struct parser *p)
{
	uint32_t c;
	const char *error = regex_class_next(&p->in, &c);
	if (error != NULL)
		return fail_in(p, error);
	put_literal(p, c);
	return true;
}

static bool read_item(struct parser *p)
{
	static bool (*const readers[128])(struct parser *) = {
		['('] = read_paren,  [')'] = close_group,  ['|'] = read_bar,
		['*'] = read_repeat, ['+'] = read_repeat,  ['?'] = read_repeat,
		['{'] = read_repeat, ['['] = read_bracket, ['\\'] = read_escape,
		['.'] = read_sign,   ['^'] = read_sign,	   ['$'] = read_sign,
	};
	unsigned char c = (unsigned char)p->in.rest.p[0];
	bool (*read)(struct parser *) = c < 128 && readers[c] != NULL ? readers[c] : read_literal;
	struct slice repeat_before = p->last_repeat;
	if (!read(p))
		return false;
	/* A sign right after another is an error, with anything between them it is not. */
	if (p->last_repeat.p == repeat_before.p)
		p->last_repeat = (struct slice){ NULL, 0 };
	return true;
}

static bool read_all(struct parser *p)
{
	uint32_t branch = regex_tree_init(&p->ret->tree);
	vec_push(&p->open, (struct group){ .weight = 1, .branch = branch });
	while (p->in.rest.n > 0) {
		if (!read_item(p))
			return false;
	}
	if (p->open.n > 1)
		return fail(p, "missing closing )", p->whole);
	regex_tree_close_group(&p->ret->tree, top(p)->branch);
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

void regex_syntax_done(struct regex_syntax *s)
{
	strbuf_done(&s->pcre);
	regex_tree_done(&s->tree);
	for (size_t i = 0; i < s->names.n; i++)
		free(s->names.v[i]);
	vec_done(&s->names);
}
