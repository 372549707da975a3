/* One pass over the bytes. Between the members of an outer object a small machine reads keys; a
 * member's value is skipped or captured by counting brackets outside of strings. What is left of
 * the outer object without items, its shell, is small and read again by the strict tokenizer. */
#include "kube/cut.h"

#include <string.h>

#include "base/err.h"
#include "kube/block_priv.h"
#include "kube/json_priv.h"
#include "kube/scan_priv.h"

enum state {
	S_TOP,	   /* before an outer object */
	S_KEY,	   /* a member's key, or the end of the object */
	S_IN_KEY,  /* inside the key */
	S_COLON,   /* behind it */
	S_VALUE,   /* before a value */
	S_INSIDE,  /* inside a value */
	S_NEXT,	   /* behind a member: a comma or the end */
	S_ELEMENT, /* before the first element of items, or its end */
	S_MORE,	   /* before another element */
	S_COMMA,   /* behind an element */
};

enum member { M_OTHER, M_TYPE, M_OBJECT, M_META, M_ITEMS, M_ELEMENT };

static const struct {
	const char *key;
	enum member member;
	bool list;
} members[] = {
	{ "type", M_TYPE, false },
	{ "object", M_OBJECT, false },
	{ "metadata", M_META, true },
	{ "items", M_ITEMS, true },
};

static void init(struct kube_cut *c, void *ctx)
{
	*c = (struct kube_cut){ .ctx = ctx, .state = S_TOP };
	strbuf_init(&c->meta);
	strbuf_init(&c->held);
	strbuf_init(&c->shell);
}

void kube_cut_list(struct kube_cut *c, int (*item)(void *ctx, struct slice object), void *ctx)
{
	init(c, ctx);
	c->item = item;
}

void kube_cut_watch(struct kube_cut *c,
		    int (*frame)(void *ctx, struct slice type, struct slice object), void *ctx)
{
	init(c, ctx);
	c->frame = frame;
}

void kube_cut_done(struct kube_cut *c)
{
	strbuf_done(&c->meta);
	strbuf_done(&c->held);
	strbuf_done(&c->shell);
}

/* ---- what is captured ---- */

static size_t limit_of(const struct kube_cut *c)
{
	return c->member == M_META ? KUBE_CUT_META_MAX : KUBE_CUT_OBJECT_MAX;
}

/* The piece ends (or the value): its part of the captured value is kept. */
static int hold(struct kube_cut *c, const char *end)
{
	if (c->from == NULL)
		return 0;
	size_t n = (size_t)(end - c->from);
	if (n > limit_of(c) - c->held.n)
		return ERR_LIMIT;
	strbuf_add(&c->held, c->from, n);
	c->from = NULL;
	return 0;
}

static struct slice captured(const struct kube_cut *c)
{
	if (c->from != NULL)
		return (struct slice){ c->from, (size_t)(c->to - c->from) };
	return strbuf_slice(&c->held);
}

static void forget(struct kube_cut *c)
{
	c->from = c->to = NULL;
	c->held_whole = false;
	/* One giant object must not cost its size for ever. */
	if (c->held.cap > 1 << 20)
		strbuf_done(&c->held);
	else
		strbuf_reset(&c->held);
}

static int capture_end(struct kube_cut *c, const char *end)
{
	c->to = end;
	/* A value that began with an earlier piece is completed; others stay where they are. */
	if (c->held.n != 0) {
		int r = hold(c, end);
		if (r < 0)
			return r;
	} else if ((size_t)(end - c->from) > limit_of(c)) {
		return ERR_LIMIT;
	}
	if (c->member == M_OBJECT) {
		c->held_whole = true;
		return 0; /* until the frame ends: the type may follow */
	}
	int r = 0;
	if (c->member == M_META) {
		strbuf_reset(&c->meta);
		strbuf_add_slice(&c->meta, captured(c));
	} else {
		r = c->item(c->ctx, captured(c));
	}
	forget(c);
	return r;
}

/* ---- the shell ---- */

static int shell_add(struct kube_cut *c, struct slice text)
{
	if (text.n > KUBE_CUT_SHELL_MAX - c->shell.n)
		return ERR_LIMIT;
	strbuf_add_slice(&c->shell, text);
	return 0;
}

static bool in_shell(const struct kube_cut *c)
{
	switch ((enum state)c->state) {
	case S_INSIDE:
		return c->member != M_OBJECT && c->member != M_ELEMENT;
	case S_KEY:
	case S_IN_KEY:
	case S_COLON:
	case S_VALUE:
	case S_NEXT:
		return true;
	case S_TOP:
	case S_ELEMENT:
	case S_MORE:
	case S_COMMA:
		break;
	}
	return false;
}

static int shell_end(struct kube_cut *c)
{
	struct kube_json j;
	int r = shell_add(c, SLICE("}"));
	if (r < 0)
		return r;
	kube_json_init(&j, strbuf_slice(&c->shell));
	r = kube_json_skip(&j, 0);
	kube_json_done(&j);
	strbuf_reset(&c->shell);
	return r;
}

static int outer_end(struct kube_cut *c)
{
	int r = shell_end(c);
	if (r < 0)
		return r;
	if (c->item != NULL) {
		c->ended = true;
		c->state = S_TOP;
		return 0;
	}
	if (!c->held_whole || c->type_n == 0)
		return ERR_PARSE;
	r = c->frame(c->ctx, (struct slice){ c->type, c->type_n }, captured(c));
	forget(c);
	c->type_n = 0;
	c->state = S_TOP;
	return r;
}

/* ---- values ---- */

/* Skips the inside of a string; behind its quote or at the end of the piece. */
static ALWAYS_INLINE const char *string_rest(struct kube_cut *c, const char *p, const char *end)
{
	if (c->escaped && p < end) {
		c->escaped = false;
		p++;
	}
	while ((p = scan_to(p, end, scan_ends)) < end && *p == '\\') {
		c->escaped = end - p == 1;
		p += c->escaped ? 1 : 2;
	}
	if (p == end)
		return end;
	c->in_string = false;
	return p + 1;
}

static bool is_wanted(const struct kube_cut *c)
{
	return c->member == M_OBJECT || c->member == M_META || c->member == M_ELEMENT;
}

static int value_done(struct kube_cut *c, const char *p)
{
	c->state = c->member == M_ELEMENT ? S_COMMA : S_NEXT;
	return is_wanted(c) ? capture_end(c, p) : 0;
}

/* Takes blocks of which it can say at a glance that the value goes on behind them. */
static const char *blocks(struct kube_cut *c, const char *p, const char *end)
{
	struct block b;
	unsigned depth = c->depth;
	uint64_t inside = c->in_string ? UINT64_MAX : 0;
	for (; end - p >= BLOCK_BYTES && !c->escaped; p += BLOCK_BYTES) {
		block_read(&b, p);
		uint64_t strings = block_strings(b.quotes) ^ inside;
		unsigned opens = block_count(b.opens & ~strings);
		unsigned closes = block_count(b.closes & ~strings);
		if (b.backslash || closes >= depth || depth + opens > KUBE_CUT_DEPTH_MAX)
			break;
		depth += opens - closes;
		inside = (strings >> 63) != 0 ? UINT64_MAX : 0;
	}
	c->depth = depth;
	c->in_string = inside != 0;
	return p;
}

/* Which bytes matter inside a value, outside of strings. */
static const uint8_t kinds[256] = {
	['"'] = 1, ['{'] = 2, ['['] = 2, ['}'] = 3, [']'] = 3,
};

/* Byte by byte, to `end` or behind the value. */
static int bytes(struct kube_cut *c, const char **pp, const char *end)
{
	const char *p = *pp;
	int r = 0;
	while (p < end && c->depth != 0) {
		if (c->in_string) {
			p = string_rest(c, p, end);
			continue;
		}
		switch (kinds[(uint8_t)*p++]) {
		case 1:
			c->in_string = true;
			break;
		case 2:
			if (++c->depth > KUBE_CUT_DEPTH_MAX)
				return ERR_LIMIT;
			break;
		case 3:
			if (--c->depth == 0)
				r = value_done(c, p);
			break;
		default:
			break;
		}
	}
	*pp = p;
	return r;
}

static int container(struct kube_cut *c, const char **pp, const char *end)
{
	int r = 0;
	while (*pp < end && c->depth != 0 && r == 0) {
		*pp = blocks(c, *pp, end);
		r = bytes(c, pp, end - *pp > BLOCK_BYTES ? *pp + BLOCK_BYTES : end);
	}
	return r;
}

/* The type is short; of other strings nothing is wanted. */
static int text(struct kube_cut *c, const char **pp, const char *end)
{
	const char *p = string_rest(c, *pp, end);
	size_t n = (size_t)(p - *pp) - (c->in_string ? 0 : 1);
	if (c->member == M_TYPE) {
		if (n > sizeof(c->type) - c->type_n)
			return ERR_LIMIT;
		memcpy(c->type + c->type_n, *pp, n);
		c->type_n = (uint8_t)(c->type_n + n);
	}
	*pp = p;
	return c->in_string ? 0 : value_done(c, p);
}

/* A number, true, false or null: ends before what cannot belong to it. */
static int bare(struct kube_cut *c, const char **pp, const char *end)
{
	const char *p = *pp;
	while (p < end &&
	       (ascii_isalpha(*p) || ascii_isdigit(*p) || *p == '+' || *p == '-' || *p == '.'))
		p++;
	*pp = p;
	return p < end ? value_done(c, p) : 0;
}

static int inside(struct kube_cut *c, const char **pp, const char *end)
{
	if (c->depth != 0)
		return container(c, pp, end);
	return c->in_string ? text(c, pp, end) : bare(c, pp, end);
}

static int value_start(struct kube_cut *c, const char **pp)
{
	char ch = **pp;
	bool object = ch == '{';
	if (c->member == M_ITEMS && ch == '[') {
		if (c->items_seen)
			return ERR_PARSE;
		c->items_seen = true;
		c->state = S_ELEMENT;
		(*pp)++;
		return shell_add(c, SLICE("0"));
	}
	if ((c->member == M_ITEMS && ch != 'n') || (is_wanted(c) && !object) ||
	    (c->member == M_TYPE && ch != '"') || (c->member == M_OBJECT && c->held_whole))
		return ERR_PARSE;
	if (!object && ch != '[' && ch != '"' && ch != '-' && !ascii_isalpha(ch) &&
	    !ascii_isdigit(ch))
		return ERR_PARSE;
	if (c->member == M_ITEMS)
		c->items_seen = true; /* null: Go's empty list */
	if (c->member == M_TYPE)
		c->type_n = 0;
	c->from = is_wanted(c) ? *pp : c->from;
	c->depth = object || ch == '[' ? 1 : 0;
	c->in_string = ch == '"';
	c->state = S_INSIDE;
	if (c->depth != 0 || c->in_string)
		(*pp)++;
	return c->member == M_OBJECT ? shell_add(c, SLICE("0")) : 0;
}

/* ---- between values ---- */

static void key_known(struct kube_cut *c)
{
	struct slice key = { c->key, c->key_n };
	c->member = M_OTHER;
	for (size_t i = 0; i < ARRAY_LEN(members); i++) {
		if (members[i].list == (c->item != NULL) && slice_is(key, members[i].key))
			c->member = (uint8_t)members[i].member;
	}
	c->state = S_COLON;
}

static void key_rest(struct kube_cut *c, const char **pp, const char *end)
{
	const char *p = string_rest(c, *pp, end);
	size_t n = (size_t)(p - *pp) - (c->in_string ? 0 : 1);
	/* Longer than all we know: filled up, and so none of them. */
	n = MIN(n, sizeof(c->key) - c->key_n);
	memcpy(c->key + c->key_n, *pp, n);
	c->key_n = (uint8_t)(c->key_n + n);
	*pp = p;
	if (!c->in_string)
		key_known(c);
}

/* A byte of structure: which state follows, or none. */
static int between(struct kube_cut *c, char ch)
{
	switch ((enum state)c->state) {
	case S_TOP:
		if (ch != '{' || c->ended)
			return ERR_PARSE;
		c->state = S_KEY;
		return shell_add(c, SLICE("{"));
	case S_KEY:
	case S_NEXT:
		if (ch == '}')
			return outer_end(c);
		if (c->state == S_NEXT && ch == ',') {
			c->state = S_KEY;
			return 0;
		}
		if (c->state == S_NEXT || ch != '"')
			return ERR_PARSE;
		c->in_string = true;
		c->key_n = 0;
		c->state = S_IN_KEY;
		return 0;
	case S_COLON:
		c->state = S_VALUE;
		return ch == ':' ? 0 : ERR_PARSE;
	case S_COMMA:
		c->state = ch == ']' ? S_NEXT : S_MORE;
		return ch == ']' || ch == ',' ? 0 : ERR_PARSE;
	case S_IN_KEY:
	case S_VALUE:
	case S_INSIDE:
	case S_ELEMENT:
	case S_MORE:
		break;
	}
	return ERR_INTERNAL;
}

static int step(struct kube_cut *c, const char **pp, const char *end)
{
	if (c->state == S_INSIDE)
		return inside(c, pp, end);
	if (c->state == S_IN_KEY) {
		key_rest(c, pp, end);
		return 0;
	}
	char ch = **pp;
	if (ch == ' ' || ch == '\n' || ch == '\r' || ch == '\t') {
		(*pp)++;
		return 0;
	}
	if (c->state == S_VALUE)
		return value_start(c, pp);
	if (c->state == S_MORE || (c->state == S_ELEMENT && ch != ']')) {
		c->member = M_ELEMENT;
		return value_start(c, pp);
	}
	if (c->state == S_ELEMENT)
		c->state = S_COMMA; /* an empty array */
	(*pp)++;
	return between(c, ch);
}

int kube_cut_feed(struct kube_cut *c, struct slice bytes)
{
	const char *p = bytes.p, *end = bytes.p + bytes.n;
	if (c->held.n != 0 && !c->held_whole)
		c->from = p; /* goes on */
	while (p < end) {
		const char *from = p;
		bool shell = in_shell(c);
		int r = step(c, &p, end);
		if (r >= 0 && shell && in_shell(c))
			r = shell_add(c, (struct slice){ from, (size_t)(p - from) });
		if (r < 0) {
			c->from = NULL;
			return r;
		}
	}
	return hold(c, c->held_whole ? c->to : end);
}

int kube_cut_end(const struct kube_cut *c)
{
	if (c->state != S_TOP || (c->item != NULL && !c->ended))
		return ERR_CLOSED;
	return c->item != NULL && !c->items_seen ? ERR_PARSE : 0;
}
