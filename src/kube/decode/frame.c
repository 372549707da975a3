/* One pass over the bytes. Between the members of an outer object a small machine reads keys; a
 * member's value is skipped or captured by counting brackets outside of strings. What is left of
 * the outer object without items, its shell, is small and read again by the strict tokenizer. */
#include "kube/decode/frame.h"

#include <string.h>

#include "base/err.h"
#include "kube/decode/block_priv.h"
#include "kube/decode/json_priv.h"
#include "kube/decode/scan_priv.h"

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

static void init(struct kube_cut *cut, void *ctx)
{
	*cut = (struct kube_cut){ .ctx = ctx, .state = S_TOP };
	strbuf_init(&cut->meta);
	strbuf_init(&cut->held);
	strbuf_init(&cut->shell);
}

void kube_cut_list(struct kube_cut *cut, int (*item)(void *ctx, struct slice object), void *ctx)
{
	init(cut, ctx);
	cut->item = item;
}

void kube_cut_watch(struct kube_cut *cut,
		    int (*frame)(void *ctx, struct slice type, struct slice object), void *ctx)
{
	init(cut, ctx);
	cut->frame = frame;
}

void kube_cut_done(struct kube_cut *cut)
{
	strbuf_done(&cut->meta);
	strbuf_done(&cut->held);
	strbuf_done(&cut->shell);
}

/* ---- what is captured ---- */

static size_t limit_of(const struct kube_cut *cut)
{
	return cut->member == M_META ? KUBE_CUT_META_MAX : KUBE_CUT_OBJECT_MAX;
}

/* The piece ends (or the value): its part of the captured value is kept. */
static int hold(struct kube_cut *cut, const char *end)
{
	if (cut->from == NULL)
		return 0;
	size_t n = (size_t)(end - cut->from);
	if (n > limit_of(cut) - cut->held.n)
		return ERR_LIMIT;
	strbuf_add(&cut->held, cut->from, n);
	cut->from = NULL;
	return 0;
}

static struct slice captured(const struct kube_cut *cut)
{
	if (cut->from != NULL)
		return (struct slice){ cut->from, (size_t)(cut->to - cut->from) };
	return strbuf_slice(&cut->held);
}

static void forget(struct kube_cut *cut)
{
	cut->from = cut->to = NULL;
	cut->held_whole = false;
	/* One giant object must not cost its size for ever. */
	if (cut->held.cap > 1 << 20)
		strbuf_done(&cut->held);
	else
		strbuf_reset(&cut->held);
}

static int capture_end(struct kube_cut *cut, const char *end)
{
	cut->to = end;
	/* A value that began with an earlier piece is completed; others stay where they are. */
	if (cut->held.n != 0) {
		int r = hold(cut, end);
		if (r < 0)
			return r;
	} else if ((size_t)(end - cut->from) > limit_of(cut)) {
		return ERR_LIMIT;
	}
	if (cut->member == M_OBJECT) {
		cut->held_whole = true;
		return 0; /* until the frame ends: the type may follow */
	}
	int r = 0;
	if (cut->member == M_META) {
		strbuf_reset(&cut->meta);
		strbuf_add_slice(&cut->meta, captured(cut));
	} else {
		r = cut->item(cut->ctx, captured(cut));
	}
	forget(cut);
	return r;
}

/* ---- the shell ---- */

static int shell_add(struct kube_cut *cut, struct slice text)
{
	if (text.n > KUBE_CUT_SHELL_MAX - cut->shell.n)
		return ERR_LIMIT;
	strbuf_add_slice(&cut->shell, text);
	return 0;
}

static bool in_shell(const struct kube_cut *cut)
{
	switch ((enum state)cut->state) {
	case S_INSIDE:
		return cut->member != M_OBJECT && cut->member != M_ELEMENT;
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

static int shell_end(struct kube_cut *cut)
{
	struct kube_json j;
	int r = shell_add(cut, SLICE("}"));
	if (r < 0)
		return r;
	kube_json_init(&j, strbuf_slice(&cut->shell));
	r = kube_json_skip(&j, 0);
	kube_json_done(&j);
	strbuf_reset(&cut->shell);
	return r;
}

static int outer_end(struct kube_cut *cut)
{
	int r = shell_end(cut);
	if (r < 0)
		return r;
	if (cut->item != NULL) {
		cut->ended = true;
		cut->state = S_TOP;
		return 0;
	}
	if (!cut->held_whole || cut->type_n == 0)
		return ERR_PARSE;
	r = cut->frame(cut->ctx, (struct slice){ cut->type, cut->type_n }, captured(cut));
	forget(cut);
	cut->type_n = 0;
	cut->state = S_TOP;
	return r;
}

/* ---- values ---- */

/* Skips the inside of a string; behind its quote or at the end of the piece. */
static ALWAYS_INLINE const char *string_rest(struct kube_cut *cut, const char *pos, const char *end)
{
	if (cut->escaped && pos < end) {
		cut->escaped = false;
		pos++;
	}
	while ((pos = scan_to(pos, end, scan_ends)) < end && *pos == '\\') {
		cut->escaped = end - pos == 1;
		pos += cut->escaped ? 1 : 2;
	}
	if (pos == end)
		return end;
	cut->in_string = false;
	return pos + 1;
}

static bool is_wanted(const struct kube_cut *cut)
{
	return cut->member == M_OBJECT || cut->member == M_META || cut->member == M_ELEMENT;
}

static int value_done(struct kube_cut *cut, const char *pos)
{
	cut->state = cut->member == M_ELEMENT ? S_COMMA : S_NEXT;
	return is_wanted(cut) ? capture_end(cut, pos) : 0;
}

/* Takes blocks of which it can say at a glance that the value goes on behind them. */
static const char *blocks(struct kube_cut *cut, const char *pos, const char *end)
{
	struct block b;
	unsigned depth = cut->depth;
	uint64_t inside = cut->in_string ? UINT64_MAX : 0;
	for (; end - pos >= BLOCK_BYTES && !cut->escaped; pos += BLOCK_BYTES) {
		block_read(&b, pos);
		uint64_t strings = block_strings(b.quotes) ^ inside;
		unsigned opens = block_count(b.opens & ~strings);
		unsigned closes = block_count(b.closes & ~strings);
		if (b.backslash || closes >= depth || depth + opens > KUBE_CUT_DEPTH_MAX)
			break;
		depth += opens - closes;
		inside = (strings >> 63) != 0 ? UINT64_MAX : 0;
	}
	cut->depth = depth;
	cut->in_string = inside != 0;
	return pos;
}

/* Which bytes matter inside a value, outside of strings. */
static const uint8_t kinds[256] = {
	['"'] = 1, ['{'] = 2, ['['] = 2, ['}'] = 3, [']'] = 3,
};

/* Byte by byte, to `end` or behind the value. */
static int bytes(struct kube_cut *cut, const char **pp, const char *end)
{
	const char *p = *pp;
	int r = 0;
	while (p < end && cut->depth != 0) {
		if (cut->in_string) {
			p = string_rest(cut, p, end);
			continue;
		}
		switch (kinds[(uint8_t)*p++]) {
		case 1:
			cut->in_string = true;
			break;
		case 2:
			if (++cut->depth > KUBE_CUT_DEPTH_MAX)
				return ERR_LIMIT;
			break;
		case 3:
			if (--cut->depth == 0)
				r = value_done(cut, p);
			break;
		default:
			break;
		}
	}
	*pp = p;
	return r;
}

static int container(struct kube_cut *cut, const char **pp, const char *end)
{
	int r = 0;
	while (*pp < end && cut->depth != 0 && r == 0) {
		*pp = blocks(cut, *pp, end);
		r = bytes(cut, pp, end - *pp > BLOCK_BYTES ? *pp + BLOCK_BYTES : end);
	}
	return r;
}

/* The type is short; of other strings nothing is wanted. */
static int text(struct kube_cut *cut, const char **pp, const char *end)
{
	const char *p = string_rest(cut, *pp, end);
	size_t n = (size_t)(p - *pp) - (cut->in_string ? 0 : 1);
	if (cut->member == M_TYPE) {
		if (n > sizeof(cut->type) - cut->type_n)
			return ERR_LIMIT;
		memcpy(cut->type + cut->type_n, *pp, n);
		cut->type_n = (uint8_t)(cut->type_n + n);
	}
	*pp = p;
	return cut->in_string ? 0 : value_done(cut, p);
}

/* A number, true, false or null: ends before what cannot belong to it. */
static int bare(struct kube_cut *cut, const char **pp, const char *end)
{
	const char *p = *pp;
	while (p < end &&
	       (ascii_isalpha(*p) || ascii_isdigit(*p) || *p == '+' || *p == '-' || *p == '.'))
		p++;
	*pp = p;
	return p < end ? value_done(cut, p) : 0;
}

static int inside(struct kube_cut *cut, const char **pp, const char *end)
{
	if (cut->depth != 0)
		return container(cut, pp, end);
	return cut->in_string ? text(cut, pp, end) : bare(cut, pp, end);
}

static int value_start(struct kube_cut *cut, const char **pp)
{
	char ch = **pp;
	bool object = ch == '{';
	if (cut->member == M_ITEMS && ch == '[') {
		if (cut->items_seen)
			return ERR_PARSE;
		cut->items_seen = true;
		cut->state = S_ELEMENT;
		(*pp)++;
		return shell_add(cut, SLICE("0"));
	}
	if ((cut->member == M_ITEMS && ch != 'n') || (is_wanted(cut) && !object) ||
	    (cut->member == M_TYPE && ch != '"') || (cut->member == M_OBJECT && cut->held_whole))
		return ERR_PARSE;
	if (!object && ch != '[' && ch != '"' && ch != '-' && !ascii_isalpha(ch) &&
	    !ascii_isdigit(ch))
		return ERR_PARSE;
	if (cut->member == M_ITEMS)
		cut->items_seen = true; /* null: Go's empty list */
	if (cut->member == M_TYPE)
		cut->type_n = 0;
	cut->from = is_wanted(cut) ? *pp : cut->from;
	cut->depth = object || ch == '[' ? 1 : 0;
	cut->in_string = ch == '"';
	cut->state = S_INSIDE;
	if (cut->depth != 0 || cut->in_string)
		(*pp)++;
	return cut->member == M_OBJECT ? shell_add(cut, SLICE("0")) : 0;
}

/* ---- between values ---- */

static void key_known(struct kube_cut *cut)
{
	struct slice key = { cut->key, cut->key_n };
	cut->member = M_OTHER;
	for (size_t i = 0; i < ARRAY_LEN(members); i++) {
		if (members[i].list == (cut->item != NULL) && slice_is(key, members[i].key))
			cut->member = (uint8_t)members[i].member;
	}
	cut->state = S_COLON;
}

static void key_rest(struct kube_cut *cut, const char **pp, const char *end)
{
	const char *p = string_rest(cut, *pp, end);
	size_t n = (size_t)(p - *pp) - (cut->in_string ? 0 : 1);
	/* Longer than all we know: filled up, and so none of them. */
	n = MIN(n, sizeof(cut->key) - cut->key_n);
	memcpy(cut->key + cut->key_n, *pp, n);
	cut->key_n = (uint8_t)(cut->key_n + n);
	*pp = p;
	if (!cut->in_string)
		key_known(cut);
}

/* A byte of structure: which state follows, or none. */
static int between(struct kube_cut *cut, char ch)
{
	switch ((enum state)cut->state) {
	case S_TOP:
		if (ch != '{' || cut->ended)
			return ERR_PARSE;
		cut->state = S_KEY;
		return shell_add(cut, SLICE("{"));
	case S_KEY:
	case S_NEXT:
		if (ch == '}')
			return outer_end(cut);
		if (cut->state == S_NEXT && ch == ',') {
			cut->state = S_KEY;
			return 0;
		}
		if (cut->state == S_NEXT || ch != '"')
			return ERR_PARSE;
		cut->in_string = true;
		cut->key_n = 0;
		cut->state = S_IN_KEY;
		return 0;
	case S_COLON:
		cut->state = S_VALUE;
		return ch == ':' ? 0 : ERR_PARSE;
	case S_COMMA:
		cut->state = ch == ']' ? S_NEXT : S_MORE;
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

static int step(struct kube_cut *cut, const char **pp, const char *end)
{
	if (cut->state == S_INSIDE)
		return inside(cut, pp, end);
	if (cut->state == S_IN_KEY) {
		key_rest(cut, pp, end);
		return 0;
	}
	char ch = **pp;
	if (ch == ' ' || ch == '\n' || ch == '\r' || ch == '\t') {
		(*pp)++;
		return 0;
	}
	if (cut->state == S_VALUE)
		return value_start(cut, pp);
	if (cut->state == S_MORE || (cut->state == S_ELEMENT && ch != ']')) {
		cut->member = M_ELEMENT;
		return value_start(cut, pp);
	}
	if (cut->state == S_ELEMENT)
		cut->state = S_COMMA; /* an empty array */
	(*pp)++;
	return between(cut, ch);
}

int kube_cut_feed(struct kube_cut *cut, struct slice bytes)
{
	const char *p = bytes.p, *end = bytes.p + bytes.n;
	if (cut->held.n != 0 && !cut->held_whole)
		cut->from = p; /* goes on */
	while (p < end) {
		const char *from = p;
		bool shell = in_shell(cut);
		int r = step(cut, &p, end);
		if (r >= 0 && shell && in_shell(cut))
			r = shell_add(cut, (struct slice){ from, (size_t)(p - from) });
		if (r < 0) {
			cut->from = NULL;
			return r;
		}
	}
	return hold(cut, cut->held_whole ? cut->to : end);
}

int kube_cut_end(const struct kube_cut *cut)
{
	if (cut->state != S_TOP || (cut->item != NULL && !cut->ended))
		return ERR_CLOSED;
	return cut->item != NULL && !cut->items_seen ? ERR_PARSE : 0;
}
