/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The tokenizer of JSON. A state says which tokens may follow; one bit per open container says which
 * bracket closes it. Strings, which are most of the text, are scanned eight bytes at a time. */
#include "kube/decode/json_priv.h"

#include <assert.h>
#include <string.h>

#include "base/err.h"
#include "base/text/utf8.h"
#include "kube/decode/scan_priv.h"

enum state {
	S_VALUE, /* a value */
	S_FIRST, /* behind an opening bracket: a member, or the closing one */
	S_NEXT,	 /* behind a member: a comma, or the closing bracket */
	S_DONE,	 /* nothing */
};

void kube_json_init(struct kube_json *json, struct slice text)
{
	/* Bits are set before they are read: the array is left as it is. */
	json->text = (struct slice){ 0 };
	json->depth = 0;
	json->pos = text.p;
	json->end = text.p + text.n;
	json->state = S_VALUE;
	json->map = false;
	strbuf_init(&json->plain);
}

void kube_json_done(struct kube_json *json)
{
	strbuf_done(&json->plain);
}

static ALWAYS_INLINE void skip_space(struct kube_json *json)
{
	while (json->pos < json->end && (*json->pos == ' ' || *json->pos == '\n' ||
					 *json->pos == '\t' || *json->pos == '\r'))
		json->pos++;
}

/* ---- strings ---- */

static int read_hex4(struct kube_json *json, uint32_t *ret)
{
	uint32_t v = 0;
	if (json->end - json->pos < 4)
		return ERR_PARSE;
	for (int i = 0; i < 4; i++) {
		int digit = ascii_hex_value(*json->pos++);
		if (digit < 0)
			return ERR_PARSE;
		v = v << 4 | (uint32_t)digit;
	}
	*ret = v;
	return 0;
}

/* Behind \u; a character beyond the first 65536 is written as two of them. */
static int read_code_point(struct kube_json *json, uint32_t *ret)
{
	uint32_t low;
	int r = read_hex4(json, ret);
	if (r < 0 || *ret < 0xd800 || *ret > 0xdfff)
		return r;
	if (*ret > 0xdbff || json->end - json->pos < 2 || json->pos[0] != '\\' ||
	    json->pos[1] != 'u')
		return ERR_PARSE;
	json->pos += 2;
	r = read_hex4(json, &low);
	if (r < 0 || low < 0xdc00 || low > 0xdfff)
		return ERR_PARSE;
	*ret = 0x10000 + ((*ret - 0xd800) << 10) + (low - 0xdc00);
	return 0;
}

/* At a backslash. */
static int read_escape(struct kube_json *json, bool keep)
{
	static const char plain[128] = {
		['"'] = '"',  ['\\'] = '\\', ['/'] = '/',  ['b'] = '\b',
		['f'] = '\f', ['n'] = '\n',  ['r'] = '\r', ['t'] = '\t',
	};
	char out[4];
	uint32_t cp;
	if (json->end - json->pos < 2)
		return ERR_PARSE;
	unsigned char c = (unsigned char)json->pos[1];
	json->pos += 2;
	if (c == 'u') {
		int r = read_code_point(json, &cp);
		if (r < 0)
			return r;
		if (keep)
			strbuf_add(&json->plain, out, utf8_encode(cp, out));
		return 0;
	}
	if (c >= sizeof(plain) || plain[c] == '\0')
		return ERR_PARSE;
	if (keep)
		strbuf_addc(&json->plain, plain[c]);
	return 0;
}

/* On from the first byte that is not plain; `from` is where the string begins. */
static NOINLINE int string_rest(struct kube_json *json, const char *from, bool keep)
{
	uint32_t cp;
	bool copied = false;
	strbuf_reset(&json->plain);
	for (; json->pos < json->end; json->pos = scan_to(json->pos, json->end, scan_odd)) {
		if (*json->pos == '"') {
			if (copied && keep)
				strbuf_add(&json->plain, from, (size_t)(json->pos - from));
			json->text = copied ? strbuf_slice(&json->plain)
					    : (struct slice){ from, (size_t)(json->pos - from) };
			json->pos++;
			return 0;
		}
		if (*json->pos == '\\') {
			if (keep)
				strbuf_add(&json->plain, from, (size_t)(json->pos - from));
			int r = read_escape(json, keep);
			if (r < 0)
				return r;
			from = json->pos;
			copied = true;
			continue;
		}
		size_t n = utf8_decode((struct slice){ json->pos, (size_t)(json->end - json->pos) },
				       &cp);
		if (n <= 1)
			return ERR_PARSE; /* not UTF-8, or a control character */
		json->pos += n;
	}
	return ERR_PARSE;
}

/* At a quote. */
static ALWAYS_INLINE int read_string(struct kube_json *json, bool keep)
{
	const char *from = json->pos + 1;
	json->pos = scan_to(from, json->end, scan_odd);
	if (UNLIKELY(json->pos == json->end || *json->pos != '"'))
		return string_rest(json, from, keep);
	json->text = (struct slice){ from, (size_t)(json->pos - from) };
	json->pos++;
	return 0;
}

/* ---- numbers and names ---- */

static bool skip_digits(struct kube_json *json)
{
	const char *from = json->pos;
	while (json->pos < json->end && ascii_isdigit(*json->pos))
		json->pos++;
	return json->pos != from;
}

static bool is_at(const struct kube_json *json, char left, char right)
{
	return json->pos < json->end && (*json->pos == left || *json->pos == right);
}

static int read_number(struct kube_json *json)
{
	const char *from = json->pos;
	if (*json->pos == '-')
		json->pos++;
	const char *first = json->pos;
	if (!skip_digits(json) || (*first == '0' && json->pos != first + 1))
		return ERR_PARSE;
	if (is_at(json, '.', '.')) {
		json->pos++;
		if (!skip_digits(json))
			return ERR_PARSE;
	}
	if (is_at(json, 'e', 'E')) {
		json->pos++;
		if (is_at(json, '+', '-'))
			json->pos++;
		if (!skip_digits(json))
			return ERR_PARSE;
	}
	json->text = (struct slice){ from, (size_t)(json->pos - from) };
	return KUBE_JSON_NUMBER;
}

static ALWAYS_INLINE int read_name(struct kube_json *json, struct slice word,
				   enum kube_json_type type)
{
	if ((size_t)(json->end - json->pos) < word.n || memcmp(json->pos, word.p, word.n) != 0)
		return ERR_PARSE;
	json->pos += word.n;
	return (int)type;
}

/* ---- structure ---- */

static ALWAYS_INLINE int open_container(struct kube_json *json, bool map)
{
	if (json->depth == KUBE_FRAME_DEPTH_MAX)
		return ERR_LIMIT;
	uint64_t bit = (uint64_t)1 << json->depth % 64, *word = &json->maps[json->depth / 64];
	*word = map ? *word | bit : *word & ~bit;
	json->depth++;
	json->map = map;
	json->pos++;
	json->state = S_FIRST;
	return map ? KUBE_JSON_MAP : KUBE_JSON_ARRAY;
}

static ALWAYS_INLINE int close_container(struct kube_json *json)
{
	assert(json->depth != 0);
	if (*json->pos != (json->map ? '}' : ']'))
		return ERR_PARSE;
	json->pos++;
	json->depth--;
	json->state = json->depth != 0 ? S_NEXT : S_DONE;
	unsigned outer = json->depth - 1;
	json->map = json->depth != 0 && (json->maps[outer / 64] >> outer % 64 & 1) != 0;
	return KUBE_JSON_END;
}

static ALWAYS_INLINE int read_value(struct kube_json *json, bool keep)
{
	json->state = json->depth != 0 ? S_NEXT : S_DONE;
	switch (*json->pos) {
	case '"': {
		int r = read_string(json, keep);
		return r < 0 ? r : KUBE_JSON_STRING;
	}
	case '{':
		return open_container(json, true);
	case '[':
		return open_container(json, false);
	case 't':
		return read_name(json, SLICE("true"), KUBE_JSON_TRUE);
	case 'f':
		return read_name(json, SLICE("false"), KUBE_JSON_FALSE);
	case 'n':
		return read_name(json, SLICE("null"), KUBE_JSON_NULL);
	default:
		return read_number(json);
	}
}

static ALWAYS_INLINE int read_key(struct kube_json *json, bool keep)
{
	if (*json->pos != '"')
		return ERR_PARSE;
	int r = read_string(json, keep);
	if (r < 0)
		return r;
	skip_space(json);
	if (json->pos == json->end || *json->pos != ':')
		return ERR_PARSE;
	json->pos++;
	json->state = S_VALUE;
	return KUBE_JSON_KEY;
}

static ALWAYS_INLINE int read_token(struct kube_json *json, bool keep)
{
	skip_space(json);
	if (json->pos == json->end)
		return json->state == S_DONE ? KUBE_JSON_DONE : ERR_PARSE;
	switch ((enum state)json->state) {
	case S_DONE:
		return ERR_PARSE;
	case S_VALUE:
		return read_value(json, keep);
	case S_FIRST:
		if (*json->pos == '}' || *json->pos == ']')
			return close_container(json);
		break;
	case S_NEXT:
		if (*json->pos != ',')
			return close_container(json);
		json->pos++;
		skip_space(json);
		if (json->pos == json->end)
			return ERR_PARSE;
		break;
	}
	return json->map ? read_key(json, keep) : read_value(json, keep);
}

int kube_json_next(struct kube_json *json)
{
	return read_token(json, true);
}

int kube_json_skip(struct kube_json *json, unsigned depth)
{
	do {
		int t = read_token(json, false);
		if (t < 0)
			return t;
	} while (json->depth > depth);
	return 0;
}
