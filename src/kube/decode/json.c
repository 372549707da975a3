/* A state says what may come; one bit per open container says what closes it. Strings, which are
 * most of the text, are looked at eight bytes at a time. */
#include "kube/decode/json_priv.h"

#include <string.h>

#include "base/err.h"
#include "base/utf8.h"
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
	json->p = text.p;
	json->end = text.p + text.n;
	json->state = S_VALUE;
	json->map = false;
	strbuf_init(&json->plain);
}

void kube_json_done(struct kube_json *json)
{
	strbuf_done(&json->plain);
}

static ALWAYS_INLINE void space(struct kube_json *json)
{
	while (json->p < json->end &&
	       (*json->p == ' ' || *json->p == '\n' || *json->p == '\t' || *json->p == '\r'))
		json->p++;
}

/* ---- strings ---- */

static int hex4(struct kube_json *json, uint32_t *ret)
{
	uint32_t v = 0;
	if (json->end - json->p < 4)
		return ERR_PARSE;
	for (int i = 0; i < 4; i++) {
		int digit = ascii_hex_value(*json->p++);
		if (digit < 0)
			return ERR_PARSE;
		v = v << 4 | (uint32_t)digit;
	}
	*ret = v;
	return 0;
}

/* Behind \u; a character beyond the first 65536 is written as two of them. */
static int code_point(struct kube_json *json, uint32_t *ret)
{
	uint32_t low;
	int r = hex4(json, ret);
	if (r < 0 || *ret < 0xd800 || *ret > 0xdfff)
		return r;
	if (*ret > 0xdbff || json->end - json->p < 2 || json->p[0] != '\\' || json->p[1] != 'u')
		return ERR_PARSE;
	json->p += 2;
	r = hex4(json, &low);
	if (r < 0 || low < 0xdc00 || low > 0xdfff)
		return ERR_PARSE;
	*ret = 0x10000 + ((*ret - 0xd800) << 10) + (low - 0xdc00);
	return 0;
}

/* At a backslash. */
static int escape(struct kube_json *json, bool keep)
{
	static const char plain[128] = {
		['"'] = '"',  ['\\'] = '\\', ['/'] = '/',  ['b'] = '\b',
		['f'] = '\f', ['n'] = '\n',  ['r'] = '\r', ['t'] = '\t',
	};
	char out[4];
	uint32_t cp;
	if (json->end - json->p < 2)
		return ERR_PARSE;
	unsigned char c = (unsigned char)json->p[1];
	json->p += 2;
	if (c == 'u') {
		int r = code_point(json, &cp);
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
	for (; json->p < json->end; json->p = scan_to(json->p, json->end, scan_odd)) {
		if (*json->p == '"') {
			if (copied && keep)
				strbuf_add(&json->plain, from, (size_t)(json->p - from));
			json->text = copied ? strbuf_slice(&json->plain)
					    : (struct slice){ from, (size_t)(json->p - from) };
			json->p++;
			return 0;
		}
		if (*json->p == '\\') {
			if (keep)
				strbuf_add(&json->plain, from, (size_t)(json->p - from));
			int r = escape(json, keep);
			if (r < 0)
				return r;
			from = json->p;
			copied = true;
			continue;
		}
		size_t n =
			utf8_decode((struct slice){ json->p, (size_t)(json->end - json->p) }, &cp);
		if (n <= 1)
			return ERR_PARSE; /* not UTF-8, or a control character */
		json->p += n;
	}
	return ERR_PARSE;
}

/* At a quote. */
static ALWAYS_INLINE int string(struct kube_json *json, bool keep)
{
	const char *from = json->p + 1;
	json->p = scan_to(from, json->end, scan_odd);
	if (UNLIKELY(json->p == json->end || *json->p != '"'))
		return string_rest(json, from, keep);
	json->text = (struct slice){ from, (size_t)(json->p - from) };
	json->p++;
	return 0;
}

/* ---- numbers and names ---- */

static bool digits(struct kube_json *json)
{
	const char *from = json->p;
	while (json->p < json->end && ascii_isdigit(*json->p))
		json->p++;
	return json->p != from;
}

static bool at(const struct kube_json *json, char left, char right)
{
	return json->p < json->end && (*json->p == left || *json->p == right);
}

static int number(struct kube_json *json)
{
	const char *from = json->p;
	if (*json->p == '-')
		json->p++;
	const char *first = json->p;
	if (!digits(json) || (*first == '0' && json->p != first + 1))
		return ERR_PARSE;
	if (at(json, '.', '.')) {
		json->p++;
		if (!digits(json))
			return ERR_PARSE;
	}
	if (at(json, 'e', 'E')) {
		json->p++;
		if (at(json, '+', '-'))
			json->p++;
		if (!digits(json))
			return ERR_PARSE;
	}
	json->text = (struct slice){ from, (size_t)(json->p - from) };
	return KUBE_SAX_NUMBER;
}

static ALWAYS_INLINE int name(struct kube_json *json, struct slice word, enum kube_sax_type type)
{
	if ((size_t)(json->end - json->p) < word.n || memcmp(json->p, word.p, word.n) != 0)
		return ERR_PARSE;
	json->p += word.n;
	return (int)type;
}

/* ---- structure ---- */

static ALWAYS_INLINE int open_container(struct kube_json *json, bool map)
{
	if (json->depth == KUBE_CUT_DEPTH_MAX)
		return ERR_LIMIT;
	uint64_t bit = (uint64_t)1 << json->depth % 64, *word = &json->maps[json->depth / 64];
	*word = map ? *word | bit : *word & ~bit;
	json->depth++;
	json->map = map;
	json->p++;
	json->state = S_FIRST;
	return map ? KUBE_SAX_MAP : KUBE_SAX_ARRAY;
}

static ALWAYS_INLINE int close_container(struct kube_json *json)
{
	if (*json->p != (json->map ? '}' : ']'))
		return ERR_PARSE;
	json->p++;
	json->depth--;
	json->state = json->depth != 0 ? S_NEXT : S_DONE;
	unsigned outer = json->depth - 1;
	json->map = json->depth != 0 && (json->maps[outer / 64] >> outer % 64 & 1) != 0;
	return KUBE_SAX_END;
}

static ALWAYS_INLINE int value(struct kube_json *json, bool keep)
{
	json->state = json->depth != 0 ? S_NEXT : S_DONE;
	switch (*json->p) {
	case '"': {
		int r = string(json, keep);
		return r < 0 ? r : KUBE_SAX_STRING;
	}
	case '{':
		return open_container(json, true);
	case '[':
		return open_container(json, false);
	case 't':
		return name(json, SLICE("true"), KUBE_SAX_TRUE);
	case 'f':
		return name(json, SLICE("false"), KUBE_SAX_FALSE);
	case 'n':
		return name(json, SLICE("null"), KUBE_SAX_NULL);
	default:
		return number(json);
	}
}

static ALWAYS_INLINE int key(struct kube_json *json, bool keep)
{
	if (*json->p != '"')
		return ERR_PARSE;
	int r = string(json, keep);
	if (r < 0)
		return r;
	space(json);
	if (json->p == json->end || *json->p != ':')
		return ERR_PARSE;
	json->p++;
	json->state = S_VALUE;
	return KUBE_SAX_KEY;
}

static ALWAYS_INLINE int token(struct kube_json *json, bool keep)
{
	space(json);
	if (json->p == json->end)
		return json->state == S_DONE ? KUBE_JSON_DONE : ERR_PARSE;
	switch ((enum state)json->state) {
	case S_DONE:
		return ERR_PARSE;
	case S_VALUE:
		return value(json, keep);
	case S_FIRST:
		if (*json->p == '}' || *json->p == ']')
			return close_container(json);
		break;
	case S_NEXT:
		if (*json->p != ',')
			return close_container(json);
		json->p++;
		space(json);
		if (json->p == json->end)
			return ERR_PARSE;
		break;
	}
	return json->map ? key(json, keep) : value(json, keep);
}

int kube_json_next(struct kube_json *json)
{
	return token(json, true);
}

int kube_json_skip(struct kube_json *json, unsigned depth)
{
	do {
		int t = token(json, false);
		if (t < 0)
			return t;
	} while (json->depth > depth);
	return 0;
}
