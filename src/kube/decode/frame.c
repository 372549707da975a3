/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Splits lists and watches into objects in one pass over the bytes. A small state machine reads the
 * keys of an outer object; a member's value is skipped or captured by counting brackets outside of
 * strings. What is left of the outer object without its items, its shell, is small and parsed again by
 * the strict tokenizer. */
#include "kube/decode/frame.h"

#include <assert.h>
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

static void init_frame(struct kube_frame *frame, void *ctx)
{
	*frame = (struct kube_frame){ .ctx = ctx, .state = S_TOP };
	strbuf_init(&frame->meta);
	strbuf_init(&frame->held);
	strbuf_init(&frame->shell);
}

void kube_frame_list(struct kube_frame *frame, int (*on_item)(void *ctx, struct slice object),
		     void *ctx)
{
	init_frame(frame, ctx);
	assert(on_item != NULL);
	frame->on_item = on_item;
}

void kube_frame_watch(struct kube_frame *frame,
		      int (*on_frame)(void *ctx, struct slice type, struct slice object), void *ctx)
{
	init_frame(frame, ctx);
	assert(on_frame != NULL);
	frame->on_frame = on_frame;
}

void kube_frame_done(struct kube_frame *frame)
{
	strbuf_done(&frame->meta);
	strbuf_done(&frame->held);
	strbuf_done(&frame->shell);
}

/* ---- what is captured ---- */

static size_t limit_of(const struct kube_frame *frame)
{
	return frame->member == M_META ? KUBE_FRAME_META_MAX : KUBE_FRAME_OBJECT_MAX;
}

/* The piece ends (or the value): its part of the captured value is kept. */
static int hold_piece(struct kube_frame *frame, const char *end)
{
	if (frame->from == NULL)
		return 0;
	size_t n = (size_t)(end - frame->from);
	if (n > limit_of(frame) - frame->held.n)
		return ERR_LIMIT;
	strbuf_add(&frame->held, frame->from, n);
	frame->from = NULL;
	return 0;
}

static struct slice captured_value(const struct kube_frame *frame)
{
	assert(frame->from == NULL || frame->to > frame->from);
	if (frame->from != NULL)
		return (struct slice){ frame->from, (size_t)(frame->to - frame->from) };
	return strbuf_slice(&frame->held);
}

static void drop_captured(struct kube_frame *frame)
{
	frame->from = frame->to = NULL;
	frame->held_whole = false;
	/* One giant object must not cost its size for ever. */
	if (frame->held.cap > 1 << 20)
		strbuf_done(&frame->held);
	else
		strbuf_reset(&frame->held);
}

static int capture_end(struct kube_frame *frame, const char *end)
{
	assert(frame->from != NULL && !frame->held_whole);
	frame->to = end;
	/* A value that began with an earlier piece is completed; others stay where they are. */
	if (frame->held.n != 0) {
		int r = hold_piece(frame, end);
		if (r < 0)
			return r;
	} else if ((size_t)(end - frame->from) > limit_of(frame)) {
		return ERR_LIMIT;
	}
	if (frame->member == M_OBJECT) {
		frame->held_whole = true;
		return 0; /* until the frame ends: the type may follow */
	}
	int r = 0;
	if (frame->member == M_META) {
		strbuf_reset(&frame->meta);
		strbuf_add_slice(&frame->meta, captured_value(frame));
	} else {
		r = frame->on_item(frame->ctx, captured_value(frame));
	}
	drop_captured(frame);
	return r;
}

/* ---- the shell ---- */

static int shell_add(struct kube_frame *frame, struct slice text)
{
	if (text.n > KUBE_FRAME_SHELL_MAX - frame->shell.n)
		return ERR_LIMIT;
	strbuf_add_slice(&frame->shell, text);
	return 0;
}

static bool in_shell(const struct kube_frame *frame)
{
	switch ((enum state)frame->state) {
	case S_INSIDE:
		return frame->member != M_OBJECT && frame->member != M_ELEMENT;
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

static int shell_end(struct kube_frame *frame)
{
	struct kube_json j;
	int r = shell_add(frame, SLICE("}"));
	if (r < 0)
		return r;
	kube_json_init(&j, strbuf_slice(&frame->shell));
	r = kube_json_skip(&j, 0);
	kube_json_done(&j);
	strbuf_reset(&frame->shell);
	return r;
}

static int outer_end(struct kube_frame *frame)
{
	assert(!frame->ended);
	int r = shell_end(frame);
	if (r < 0)
		return r;
	if (frame->on_item != NULL) {
		frame->ended = true;
		frame->state = S_TOP;
		return 0;
	}
	if (!frame->held_whole || frame->type_n == 0)
		return ERR_PARSE;
	r = frame->on_frame(frame->ctx, (struct slice){ frame->type, frame->type_n },
			    captured_value(frame));
	drop_captured(frame);
	frame->type_n = 0;
	frame->state = S_TOP;
	return r;
}

/* ---- values ---- */

/* Skips the inside of a string; behind its quote or at the end of the piece. */
static ALWAYS_INLINE const char *string_rest(struct kube_frame *frame, const char *pos,
					     const char *end)
{
	if (frame->escaped && pos < end) {
		frame->escaped = false;
		pos++;
	}
	while ((pos = scan_to(pos, end, scan_ends)) < end && *pos == '\\') {
		frame->escaped = end - pos == 1;
		pos += frame->escaped ? 1 : 2;
	}
	if (pos == end)
		return end;
	frame->in_string = false;
	return pos + 1;
}

static bool is_wanted(const struct kube_frame *frame)
{
	return frame->member == M_OBJECT || frame->member == M_META || frame->member == M_ELEMENT;
}

static int value_done(struct kube_frame *frame, const char *pos)
{
	assert(frame->state == S_INSIDE && frame->depth == 0 && !frame->in_string);
	frame->state = frame->member == M_ELEMENT ? S_COMMA : S_NEXT;
	return is_wanted(frame) ? capture_end(frame, pos) : 0;
}

/* Skips whole blocks in which the value cannot end, because they close fewer brackets than are
 * open. */
static const char *skip_blocks(struct kube_frame *frame, const char *pos, const char *end)
{
	struct block b;
	unsigned depth = frame->depth;
	uint64_t inside = frame->in_string ? UINT64_MAX : 0;
	for (; end - pos >= BLOCK_BYTES && !frame->escaped; pos += BLOCK_BYTES) {
		block_read(&b, pos);
		uint64_t strings = block_strings(b.quotes) ^ inside;
		unsigned opens = block_count(b.opens & ~strings);
		unsigned closes = block_count(b.closes & ~strings);
		if (b.backslash || closes >= depth || depth + opens > KUBE_FRAME_DEPTH_MAX)
			break;
		depth += opens - closes;
		inside = (strings >> 63) != 0 ? UINT64_MAX : 0;
	}
	frame->depth = depth;
	frame->in_string = inside != 0;
	return pos;
}

/* Which bytes matter inside a value, outside of strings. */
static const uint8_t kinds[256] = {
	['"'] = 1, ['{'] = 2, ['['] = 2, ['}'] = 3, [']'] = 3,
};

/* Byte by byte, to `end` or behind the value. */
static int skip_bytes(struct kube_frame *frame, const char **pp, const char *end)
{
	const char *p = *pp;
	int r = 0;
	while (p < end && frame->depth != 0) {
		if (frame->in_string) {
			p = string_rest(frame, p, end);
			continue;
		}
		switch (kinds[(uint8_t)*p++]) {
		case 1:
			frame->in_string = true;
			break;
		case 2:
			if (++frame->depth > KUBE_FRAME_DEPTH_MAX)
				return ERR_LIMIT;
			break;
		case 3:
			if (--frame->depth == 0)
				r = value_done(frame, p);
			break;
		default:
			break;
		}
	}
	*pp = p;
	return r;
}

static int skip_container(struct kube_frame *frame, const char **pp, const char *end)
{
	int r = 0;
	while (*pp < end && frame->depth != 0 && r == 0) {
		*pp = skip_blocks(frame, *pp, end);
		r = skip_bytes(frame, pp, end - *pp > BLOCK_BYTES ? *pp + BLOCK_BYTES : end);
	}
	return r;
}

/* The type is short; of other strings nothing is wanted. */
static int read_string(struct kube_frame *frame, const char **pp, const char *end)
{
	const char *p = string_rest(frame, *pp, end);
	size_t n = (size_t)(p - *pp) - (frame->in_string ? 0 : 1);
	if (frame->member == M_TYPE) {
		if (n > sizeof(frame->type) - frame->type_n)
			return ERR_LIMIT;
		memcpy(frame->type + frame->type_n, *pp, n);
		frame->type_n = (uint8_t)(frame->type_n + n);
	}
	*pp = p;
	return frame->in_string ? 0 : value_done(frame, p);
}

/* A number, true, false or null: ends before what cannot belong to it. */
static int read_bare(struct kube_frame *frame, const char **pp, const char *end)
{
	const char *p = *pp;
	while (p < end &&
	       (ascii_isalpha(*p) || ascii_isdigit(*p) || *p == '+' || *p == '-' || *p == '.'))
		p++;
	*pp = p;
	return p < end ? value_done(frame, p) : 0;
}

static int read_inside(struct kube_frame *frame, const char **pp, const char *end)
{
	if (frame->depth != 0)
		return skip_container(frame, pp, end);
	return frame->in_string ? read_string(frame, pp, end) : read_bare(frame, pp, end);
}

static int value_start(struct kube_frame *frame, const char **pp)
{
	char ch = **pp;
	bool object = ch == '{';
	if (frame->member == M_ITEMS && ch == '[') {
		if (frame->items_seen)
			return ERR_PARSE;
		frame->items_seen = true;
		frame->state = S_ELEMENT;
		(*pp)++;
		return shell_add(frame, SLICE("0"));
	}
	if ((frame->member == M_ITEMS && ch != 'n') || (is_wanted(frame) && !object) ||
	    (frame->member == M_TYPE && ch != '"') ||
	    (frame->member == M_OBJECT && frame->held_whole))
		return ERR_PARSE;
	if (!object && ch != '[' && ch != '"' && ch != '-' && !ascii_isalpha(ch) &&
	    !ascii_isdigit(ch))
		return ERR_PARSE;
	if (frame->member == M_ITEMS)
		frame->items_seen = true; /* null: Go's empty list */
	if (frame->member == M_TYPE)
		frame->type_n = 0;
	frame->from = is_wanted(frame) ? *pp : frame->from;
	frame->depth = object || ch == '[' ? 1 : 0;
	frame->in_string = ch == '"';
	frame->state = S_INSIDE;
	if (frame->depth != 0 || frame->in_string)
		(*pp)++;
	return frame->member == M_OBJECT ? shell_add(frame, SLICE("0")) : 0;
}

/* ---- between values ---- */

static void key_known(struct kube_frame *frame)
{
	struct slice key = { frame->key, frame->key_n };
	frame->member = M_OTHER;
	for (size_t i = 0; i < ARRAY_LEN(members); i++) {
		if (members[i].list == (frame->on_item != NULL) && slice_is(key, members[i].key))
			frame->member = (uint8_t)members[i].member;
	}
	frame->state = S_COLON;
}

static void key_rest(struct kube_frame *frame, const char **pp, const char *end)
{
	const char *p = string_rest(frame, *pp, end);
	size_t n = (size_t)(p - *pp) - (frame->in_string ? 0 : 1);
	/* Longer than all we know: filled up, and so none of them. */
	n = MIN(n, sizeof(frame->key) - frame->key_n);
	memcpy(frame->key + frame->key_n, *pp, n);
	frame->key_n = (uint8_t)(frame->key_n + n);
	*pp = p;
	if (!frame->in_string)
		key_known(frame);
}

/* A byte of structure: which state follows, or none. */
static int read_structure(struct kube_frame *frame, char ch)
{
	switch ((enum state)frame->state) {
	case S_TOP:
		if (ch != '{' || frame->ended)
			return ERR_PARSE;
		frame->state = S_KEY;
		return shell_add(frame, SLICE("{"));
	case S_KEY:
	case S_NEXT:
		if (ch == '}')
			return outer_end(frame);
		if (frame->state == S_NEXT && ch == ',') {
			frame->state = S_KEY;
			return 0;
		}
		if (frame->state == S_NEXT || ch != '"')
			return ERR_PARSE;
		frame->in_string = true;
		frame->key_n = 0;
		frame->state = S_IN_KEY;
		return 0;
	case S_COLON:
		frame->state = S_VALUE;
		return ch == ':' ? 0 : ERR_PARSE;
	case S_COMMA:
		frame->state = ch == ']' ? S_NEXT : S_MORE;
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

static int read_step(struct kube_frame *frame, const char **pp, const char *end)
{
	if (frame->state == S_INSIDE)
		return read_inside(frame, pp, end);
	if (frame->state == S_IN_KEY) {
		key_rest(frame, pp, end);
		return 0;
	}
	char ch = **pp;
	if (ch == ' ' || ch == '\n' || ch == '\r' || ch == '\t') {
		(*pp)++;
		return 0;
	}
	if (frame->state == S_VALUE)
		return value_start(frame, pp);
	if (frame->state == S_MORE || (frame->state == S_ELEMENT && ch != ']')) {
		frame->member = M_ELEMENT;
		return value_start(frame, pp);
	}
	if (frame->state == S_ELEMENT)
		frame->state = S_COMMA; /* an empty array */
	(*pp)++;
	return read_structure(frame, ch);
}

int kube_frame_feed(struct kube_frame *frame, struct slice bytes)
{
	const char *p = bytes.p, *end = bytes.p + bytes.n;
	if (frame->held.n != 0 && !frame->held_whole)
		frame->from = p; /* goes on */
	while (p < end) {
		const char *from = p;
		bool shell = in_shell(frame);
		int r = read_step(frame, &p, end);
		if (r >= 0 && shell && in_shell(frame))
			r = shell_add(frame, (struct slice){ from, (size_t)(p - from) });
		if (r < 0) {
			frame->from = NULL;
			return r;
		}
	}
	return hold_piece(frame, frame->held_whole ? frame->to : end);
}

int kube_frame_end(const struct kube_frame *frame)
{
	if (frame->state != S_TOP || (frame->on_item != NULL && !frame->ended))
		return ERR_CLOSED;
	return frame->on_item != NULL && !frame->items_seen ? ERR_PARSE : 0;
}
