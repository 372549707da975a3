/* A state says what may come; one bit per open container says what closes it. Strings, which are
 * most of the text, are looked at eight bytes at a time. */
#include "kube/json_priv.h"

#include <string.h>

#include "base/err.h"
#include "base/utf8.h"
#include "kube/scan_priv.h"

enum state {
	S_VALUE, /* a value */
	S_FIRST, /* behind an opening bracket: a member, or the closing one */
	S_NEXT,	 /* behind a member: a comma, or the closing bracket */
	S_DONE,	 /* nothing */
};

void kube_json_init(struct kube_json *j, struct slice text)
{
	/* Bits are set before they are read: the array is left as it is. */
	j->text = (struct slice){ 0 };
	j->depth = 0;
	j->p = text.p;
	j->end = text.p + text.n;
	j->state = S_VALUE;
	j->map = false;
	strbuf_init(&j->plain);
}

void kube_json_done(struct kube_json *j)
{
	strbuf_done(&j->plain);
}

static ALWAYS_INLINE void space(struct kube_json *j)
{
	while (j->p < j->end && (*j->p == ' ' || *j->p == '\n' || *j->p == '\t' || *j->p == '\r'))
		j->p++;
}

/* ---- strings ---- */

static int hex4(struct kube_json *j, uint32_t *ret)
{
	uint32_t v = 0;
	if (j->end - j->p < 4)
		return ERR_PARSE;
	for (int i = 0; i < 4; i++) {
		char c = *j->p++, low = (char)(c | 0x20);
		if (ascii_isdigit(c))
			v = v << 4 | (uint32_t)(c - '0');
		else if (low >= 'a' && low <= 'f')
			v = v << 4 | (uint32_t)(low - 'a' + 10);
		else
			return ERR_PARSE;
	}
	*ret = v;
	return 0;
}

/* Behind \u; a character beyond the first 65536 is written as two of them. */
static int code_point(struct kube_json *j, uint32_t *ret)
{
	uint32_t low;
	int r = hex4(j, ret);
	if (r < 0 || *ret < 0xd800 || *ret > 0xdfff)
		return r;
	if (*ret > 0xdbff || j->end - j->p < 2 || j->p[0] != '\\' || j->p[1] != 'u')
		return ERR_PARSE;
	j->p += 2;
	r = hex4(j, &low);
	if (r < 0 || low < 0xdc00 || low > 0xdfff)
		return ERR_PARSE;
	*ret = 0x10000 + ((*ret - 0xd800) << 10) + (low - 0xdc00);
	return 0;
}

/* At a backslash. */
static int escape(struct kube_json *j, bool keep)
{
	static const char plain[128] = {
		['"'] = '"',  ['\\'] = '\\', ['/'] = '/',  ['b'] = '\b',
		['f'] = '\f', ['n'] = '\n',  ['r'] = '\r', ['t'] = '\t',
	};
	char out[4];
	uint32_t cp;
	if (j->end - j->p < 2)
		return ERR_PARSE;
	unsigned char c = (unsigned char)j->p[1];
	j->p += 2;
	if (c == 'u') {
		int r = code_point(j, &cp);
		if (r < 0)
			return r;
		if (keep)
			strbuf_add(&j->plain, out, utf8_encode(cp, out));
		return 0;
	}
	if (c >= sizeof(plain) || plain[c] == '\0')
		return ERR_PARSE;
	if (keep)
		strbuf_addc(&j->plain, plain[c]);
	return 0;
}

/* On from the first byte that is not plain; `from` is where the string begins. */
static NOINLINE int string_rest(struct kube_json *j, const char *from, bool keep)
{
	uint32_t cp;
	bool copied = false;
	strbuf_reset(&j->plain);
	for (; j->p < j->end; j->p = scan_to(j->p, j->end, scan_odd)) {
		if (*j->p == '"') {
			if (copied && keep)
				strbuf_add(&j->plain, from, (size_t)(j->p - from));
			j->text = copied ? strbuf_slice(&j->plain)
					 : (struct slice){ from, (size_t)(j->p - from) };
			j->p++;
			return 0;
		}
		if (*j->p == '\\') {
			if (keep)
				strbuf_add(&j->plain, from, (size_t)(j->p - from));
			int r = escape(j, keep);
			if (r < 0)
				return r;
			from = j->p;
			copied = true;
			continue;
		}
		size_t n = utf8_decode((struct slice){ j->p, (size_t)(j->end - j->p) }, &cp);
		if (n <= 1)
			return ERR_PARSE; /* not UTF-8, or a control character */
		j->p += n;
	}
	return ERR_PARSE;
}

/* At a quote. */
static ALWAYS_INLINE int string(struct kube_json *j, bool keep)
{
	const char *from = j->p + 1;
	j->p = scan_to(from, j->end, scan_odd);
	if (UNLIKELY(j->p == j->end || *j->p != '"'))
		return string_rest(j, from, keep);
	j->text = (struct slice){ from, (size_t)(j->p - from) };
	j->p++;
	return 0;
}

/* ---- numbers and names ---- */

static bool digits(struct kube_json *j)
{
	const char *from = j->p;
	while (j->p < j->end && ascii_isdigit(*j->p))
		j->p++;
	return j->p != from;
}

static bool at(const struct kube_json *j, char a, char b)
{
	return j->p < j->end && (*j->p == a || *j->p == b);
}

static int number(struct kube_json *j)
{
	const char *from = j->p;
	if (*j->p == '-')
		j->p++;
	const char *first = j->p;
	if (!digits(j) || (*first == '0' && j->p != first + 1))
		return ERR_PARSE;
	if (at(j, '.', '.')) {
		j->p++;
		if (!digits(j))
			return ERR_PARSE;
	}
	if (at(j, 'e', 'E')) {
		j->p++;
		if (at(j, '+', '-'))
			j->p++;
		if (!digits(j))
			return ERR_PARSE;
	}
	j->text = (struct slice){ from, (size_t)(j->p - from) };
	return KUBE_SAX_NUMBER;
}

static ALWAYS_INLINE int name(struct kube_json *j, struct slice word, enum kube_sax_type type)
{
	if ((size_t)(j->end - j->p) < word.n || memcmp(j->p, word.p, word.n) != 0)
		return ERR_PARSE;
	j->p += word.n;
	return (int)type;
}

/* ---- structure ---- */

static ALWAYS_INLINE int open_container(struct kube_json *j, bool map)
{
	if (j->depth == KUBE_CUT_DEPTH_MAX)
		return ERR_LIMIT;
	uint64_t bit = (uint64_t)1 << j->depth % 64, *word = &j->maps[j->depth / 64];
	*word = map ? *word | bit : *word & ~bit;
	j->depth++;
	j->map = map;
	j->p++;
	j->state = S_FIRST;
	return map ? KUBE_SAX_MAP : KUBE_SAX_ARRAY;
}

static ALWAYS_INLINE int close_container(struct kube_json *j)
{
	if (*j->p != (j->map ? '}' : ']'))
		return ERR_PARSE;
	j->p++;
	j->depth--;
	j->state = j->depth != 0 ? S_NEXT : S_DONE;
	unsigned outer = j->depth - 1;
	j->map = j->depth != 0 && (j->maps[outer / 64] >> outer % 64 & 1) != 0;
	return KUBE_SAX_END;
}

static ALWAYS_INLINE int value(struct kube_json *j, bool keep)
{
	j->state = j->depth != 0 ? S_NEXT : S_DONE;
	switch (*j->p) {
	case '"': {
		int r = string(j, keep);
		return r < 0 ? r : KUBE_SAX_STRING;
	}
	case '{':
		return open_container(j, true);
	case '[':
		return open_container(j, false);
	case 't':
		return name(j, SLICE("true"), KUBE_SAX_TRUE);
	case 'f':
		return name(j, SLICE("false"), KUBE_SAX_FALSE);
	case 'n':
		return name(j, SLICE("null"), KUBE_SAX_NULL);
	default:
		return number(j);
	}
}

static ALWAYS_INLINE int key(struct kube_json *j, bool keep)
{
	if (*j->p != '"')
		return ERR_PARSE;
	int r = string(j, keep);
	if (r < 0)
		return r;
	space(j);
	if (j->p == j->end || *j->p != ':')
		return ERR_PARSE;
	j->p++;
	j->state = S_VALUE;
	return KUBE_SAX_KEY;
}

static ALWAYS_INLINE int token(struct kube_json *j, bool keep)
{
	space(j);
	if (j->p == j->end)
		return j->state == S_DONE ? KUBE_JSON_DONE : ERR_PARSE;
	switch ((enum state)j->state) {
	case S_DONE:
		return ERR_PARSE;
	case S_VALUE:
		return value(j, keep);
	case S_FIRST:
		if (*j->p == '}' || *j->p == ']')
			return close_container(j);
		break;
	case S_NEXT:
		if (*j->p != ',')
			return close_container(j);
		j->p++;
		space(j);
		if (j->p == j->end)
			return ERR_PARSE;
		break;
	}
	return j->map ? key(j, keep) : value(j, keep);
}

int kube_json_next(struct kube_json *j)
{
	return token(j, true);
}

int kube_json_skip(struct kube_json *j, unsigned depth)
{
	do {
		int t = token(j, false);
		if (t < 0)
			return t;
	} while (j->depth > depth);
	return 0;
}
