/* toJSON, fromJSON and base64. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/utf8.h"
#include "expr/expr_priv.h"

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* --- base64 --- */

static void out_base64(struct out *o, struct slice s)
{
	for (size_t i = 0; i < s.n; i += 3) {
		const unsigned char *p = (const unsigned char *)s.p + i;
		size_t have = MIN(s.n - i, 3U);
		uint32_t v = (uint32_t)p[0] << 16 | (have > 1 ? (uint32_t)p[1] << 8 : 0) |
			     (have > 2 ? p[2] : 0U);
		char q[4] = { alphabet[v >> 18], alphabet[v >> 12 & 63],
			      have > 1 ? alphabet[v >> 6 & 63] : '=',
			      have > 2 ? alphabet[v & 63] : '=' };
		expr_out(o, q, sizeof(q));
	}
}

static int write_base64(struct ev *ev, struct out *o, const struct expr_value *v)
{
	(void)ev;
	out_base64(o, v->s);
	return 0;
}

BUILTIN(to_base64)
{
	(void)n;
	int r = expr_want(ev, a, EXPR_STRING);
	return r == 0 ? expr_write(ev, write_base64, a, ret) : r;
}

/* Padding is required; line breaks are skipped, as Go does. */
static bool decode_base64(struct slice s, char *out, size_t *ret_n)
{
	uint32_t v = 0;
	unsigned have = 0, pad = 0;
	*ret_n = 0;
	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[i];
		if (c == '\n' || c == '\r')
			continue;
		const char *at = c != '\0' ? strchr(alphabet, c) : NULL;
		if (c == '=' && have >= 2)
			pad++;
		else if (at == NULL || pad > 0)
			return false;
		v = v << 6 | (at != NULL ? (uint32_t)(at - alphabet) : 0);
		if (++have < 4)
			continue;
		for (unsigned k = 0; k < 3 - pad; k++)
			out[(*ret_n)++] = (char)(unsigned char)(v >> (16 - 8 * k));
		have = 0;
		v = 0;
		if (pad > 0) {
			while (++i < s.n) {
				if (s.p[i] != '\n' && s.p[i] != '\r')
					return false;
			}
			return true;
		}
	}
	return have == 0;
}

BUILTIN(from_base64)
{
	size_t len;
	(void)n;
	int r = expr_want(ev, a, EXPR_STRING);
	if (r == 0)
		r = expr_spend(ev, a->s.n / 4);
	char *p = r == 0 ? expr_alloc(ev, a->s.n / 4 * 3 + 3) : NULL;
	if (p == NULL)
		return r < 0 ? r : ERR_LIMIT;
	if (!decode_base64(a->s, p, &len))
		return expr_fail(ev, "illegal base64 data");
	*ret = expr_string((struct slice){ p, len });
	return 0;
}

/* --- writing JSON, as Go's MarshalIndent with two blanks --- */

static void out_line(struct out *o, unsigned depth)
{
	expr_out(o, "\n", 1);
	for (unsigned i = 0; i < depth; i++)
		expr_out(o, "  ", 2);
}

static void out_escaped(struct out *o, uint32_t cp, struct slice c)
{
	static const char from[] = "\"\\\b\f\n\r\t", to[] = "\"\\bfnrt";
	char text[8];
	const char *at = cp != 0 && cp < 0x80 ? strchr(from, (int)cp) : NULL;
	if (at != NULL) {
		snprintf(text, sizeof(text), "\\%c", to[at - from]);
		expr_out_str(o, text);
	} else if (cp < 0x20 || cp == '<' || cp == '>' || cp == '&' || cp == 0x2028 ||
		   cp == 0x2029 || cp == 0xfffd) {
		if (cp == 0xfffd && c.n == 3) {
			expr_out(o, c.p, c.n);
			return;
		}
		snprintf(text, sizeof(text), "\\u%04x", cp);
		expr_out_str(o, text);
	} else {
		expr_out(o, c.p, c.n);
	}
}

static void out_json_string(struct out *o, struct slice s)
{
	uint32_t cp;
	expr_out(o, "\"", 1);
	while (s.n > 0) {
		size_t len = utf8_decode(s, &cp);
		if (len == 0) {
			cp = 0xfffd;
			len = 1;
		}
		out_escaped(o, cp, (struct slice){ s.p, len });
		s = slice_from(s, len);
	}
	expr_out(o, "\"", 1);
}

static int out_json(struct ev *ev, struct out *o, const struct expr_value *v, unsigned depth);

static int out_json_list(struct ev *ev, struct out *o, const struct expr_value *v, unsigned depth)
{
	size_t n = expr_list_len(v);
	expr_out(o, "[", 1);
	for (size_t i = 0; i < n && !o->full; i++) {
		struct expr_value item = expr_list_at(v, i);
		if (i > 0)
			expr_out(o, ",", 1);
		out_line(o, depth + 1);
		int r = out_json(ev, o, &item, depth + 1);
		if (r < 0)
			return r;
	}
	if (n > 0)
		out_line(o, depth);
	expr_out(o, "]", 1);
	return 0;
}

static int out_json_map(struct ev *ev, struct out *o, const struct expr_value *v, unsigned depth)
{
	expr_out(o, "{", 1);
	for (size_t i = 0; i < v->map.n && !o->full; i++) {
		if (i > 0)
			expr_out(o, ",", 1);
		out_line(o, depth + 1);
		out_json_string(o, v->map.v[i].key.s);
		expr_out(o, ": ", 2);
		int r = out_json(ev, o, &v->map.v[i].value, depth + 1);
		if (r < 0)
			return r;
	}
	if (v->map.n > 0)
		out_line(o, depth);
	expr_out(o, "}", 1);
	return 0;
}

/* Small and large exponents as Go's encoder: 1e-7, not 1e-07. */
static int out_json_float(struct ev *ev, struct out *o, double f)
{
	char text[EXPR_FLOAT_BYTES];
	if (isnan(f) || isinf(f))
		return expr_fail(ev, "json: unsupported value");
	expr_format_float(f, -6, 21, text);
	size_t n = strlen(text);
	if (n > 4 && text[n - 4] == 'e' && text[n - 3] == '-' && text[n - 2] == '0') {
		text[n - 2] = text[n - 1];
		n--;
	}
	expr_out(o, text, n);
	return 0;
}

static int out_json(struct ev *ev, struct out *o, const struct expr_value *v, unsigned depth)
{
	switch (v->type) {
	case EXPR_STRING:
		out_json_string(o, v->s);
		return 0;
	case EXPR_FLOAT:
		return out_json_float(ev, o, v->f);
	case EXPR_BYTES:
		expr_out(o, "\"", 1);
		out_base64(o, v->s);
		expr_out(o, "\"", 1);
		return 0;
	case EXPR_LIST:
		return out_json_list(ev, o, v, depth);
	case EXPR_MAP:
		return out_json_map(ev, o, v, depth);
	case EXPR_ANYMAP:
		return expr_fail(ev, "json: unsupported type: %s", expr_value_type_name(v));
	case EXPR_NIL:
		expr_out_str(o, "null");
		return 0;
	case EXPR_BOOL:
	case EXPR_INT:
	case EXPR_STRINGS:
	case EXPR_ANY:
		expr_out_value(o, v);
		return 0;
	}
	return 0;
}

static int write_json(struct ev *ev, struct out *o, const struct expr_value *v)
{
	return out_json(ev, o, v, 0);
}

BUILTIN(to_json)
{
	(void)n;
	return expr_write(ev, write_json, a, ret);
}

/* --- reading JSON --- */

struct json {
	struct ev *ev;
	struct slice s;
	size_t pos;
	unsigned depth;
};

static int json_value(struct json *j, struct expr_value *ret);

static int json_error(struct json *j)
{
	if (j->pos >= j->s.n)
		return expr_fail(j->ev, "unexpected end of JSON input");
	return expr_fail(j->ev, "invalid character in JSON at offset %zu", j->pos);
}

static int json_peek(struct json *j)
{
	while (j->pos < j->s.n && strchr(" \t\r\n", j->s.p[j->pos]) != NULL &&
	       j->s.p[j->pos] != '\0')
		j->pos++;
	return j->pos < j->s.n ? (unsigned char)j->s.p[j->pos] : -1;
}

static int hex4(struct json *j)
{
	unsigned v = 0;
	for (int i = 0; i < 4; i++, j->pos++) {
		char c = j->pos < j->s.n ? j->s.p[j->pos] : '\0';
		if (ascii_isdigit(c))
			v = v << 4 | (unsigned)(c - '0');
		else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
			v = v << 4 | (unsigned)((c | 0x20) - 'a' + 10);
		else
			return -1;
	}
	return (int)v;
}

/* After the backslash; bytes written to `out` or negative. */
static int json_escape(struct json *j, char out[4])
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	char c = j->pos < j->s.n ? j->s.p[j->pos] : '\0';
	const char *at = c != '\0' ? strchr(from, c) : NULL;
	if (at != NULL) {
		j->pos++;
		out[0] = to[at - from];
		return 1;
	}
	if (c != 'u')
		return json_error(j);
	j->pos++;
	int v = hex4(j);
	if (v < 0)
		return json_error(j);
	uint32_t cp = (uint32_t)v;
	if (cp >= 0xd800 && cp < 0xdc00 && slice_starts(slice_from(j->s, j->pos), SLICE("\\u"))) {
		size_t back = j->pos;
		j->pos += 2;
		int low = hex4(j);
		if (low >= 0xdc00 && low < 0xe000)
			cp = 0x10000 + ((cp - 0xd800) << 10) + ((uint32_t)low - 0xdc00);
		else
			j->pos = back;
	}
	return (int)utf8_encode(cp, out);
}

/* The end of the literal that starts at the current quote, for its size. */
static size_t json_string_end(const struct json *j)
{
	size_t i = j->pos + 1;
	while (i < j->s.n && j->s.p[i] != '"')
		i += j->s.p[i] == '\\' ? 2 : 1;
	return MIN(i, j->s.n);
}

static int json_string(struct json *j, struct expr_value *ret)
{
	/* An invalid byte becomes the three of U+FFFD. */
	size_t k = 0, cap = 3 * (json_string_end(j) - j->pos) + 4;
	char *p = expr_alloc(j->ev, cap);
	if (p == NULL)
		return ERR_LIMIT;
	for (j->pos++; j->pos < j->s.n && j->s.p[j->pos] != '"';) {
		unsigned char c = (unsigned char)j->s.p[j->pos];
		uint32_t cp;
		if (c < 0x20)
			return json_error(j);
		if (c == '\\') {
			j->pos++;
			int r = json_escape(j, p + k);
			if (r < 0)
				return r;
			k += (size_t)r;
			continue;
		}
		size_t len = utf8_decode(slice_from(j->s, j->pos), &cp);
		k += utf8_encode(len != 0 ? cp : 0xfffd, p + k);
		j->pos += len != 0 ? len : 1;
	}
	if (j->pos >= j->s.n)
		return json_error(j);
	j->pos++;
	*ret = expr_string((struct slice){ p, k });
	return 0;
}

static size_t json_digits(struct json *j)
{
	size_t start = j->pos;
	while (j->pos < j->s.n && ascii_isdigit(j->s.p[j->pos]))
		j->pos++;
	return j->pos - start;
}

static bool json_accept(struct json *j, const char *set)
{
	if (j->pos >= j->s.n || j->s.p[j->pos] == '\0' || strchr(set, j->s.p[j->pos]) == NULL)
		return false;
	j->pos++;
	return true;
}

static int json_number(struct json *j, struct expr_value *ret)
{
	char text[400];
	size_t start = j->pos;
	IGNORE(json_accept(j, "-")); /* optional */
	if (!json_accept(j, "0") && json_digits(j) == 0)
		return json_error(j);
	if (json_accept(j, ".") && json_digits(j) == 0)
		return json_error(j);
	if (json_accept(j, "eE")) {
		IGNORE(json_accept(j, "+-")); /* optional */
		if (json_digits(j) == 0)
			return json_error(j);
	}
	size_t n = j->pos - start;
	if (n >= sizeof(text))
		return expr_fail(j->ev, "number in JSON is too long");
	memcpy(text, j->s.p + start, n);
	text[n] = '\0';
	double f = strtod(text, NULL);
	if (isinf(f))
		return expr_fail(j->ev, "number in JSON is out of range");
	*ret = expr_float(f);
	return 0;
}

static int json_word(struct json *j, struct expr_value *ret)
{
	static const struct {
		const char *text;
		struct expr_value v;
	} words[] = { { "true", { .type = EXPR_BOOL, .b = true } },
		      { "false", { .type = EXPR_BOOL, .b = false } },
		      { "null", { .type = EXPR_NIL } } };
	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		struct slice w = slice_of(words[i].text);
		if (slice_starts(slice_from(j->s, j->pos), w)) {
			j->pos += w.n;
			*ret = words[i].v;
			return 0;
		}
	}
	return json_error(j);
}

/* Elements are chained while their number is unknown, then laid out. */
struct json_item {
	struct json_item *prev;
	struct expr_pair pair;
};

/* After an element: 1 when another follows, 0 at the end. */
static int json_more(struct json *j, char close)
{
	int c = json_peek(j);
	if (c != ',' && c != close)
		return json_error(j);
	j->pos++;
	return c == ',';
}

static int json_key(struct json *j, struct expr_value *ret)
{
	if (json_peek(j) != '"')
		return json_error(j);
	int r = json_string(j, ret);
	if (r == 0 && json_peek(j) != ':')
		return json_error(j);
	j->pos++;
	return r;
}

/* The elements up to `close`, newest first. */
static int json_items(struct json *j, bool object, struct json_item **ret, size_t *ret_n)
{
	char close = object ? '}' : ']';
	*ret = NULL;
	*ret_n = 0;
	j->pos++;
	if (json_peek(j) == close) {
		j->pos++;
		return 0;
	}
	int r;
	do {
		struct json_item *item = expr_alloc(j->ev, sizeof(*item));
		if (item == NULL)
			return ERR_LIMIT;
		r = object ? json_key(j, &item->pair.key) : 0;
		if (r == 0)
			r = json_value(j, &item->pair.value);
		if (r < 0)
			return r;
		item->prev = *ret;
		*ret = item;
		++*ret_n;
		r = json_more(j, close);
	} while (r > 0);
	return r;
}

static int json_object(struct json *j, struct expr_value *ret)
{
	struct json_item *items;
	size_t n;
	int r = json_items(j, true, &items, &n);
	struct expr_pair *v = r == 0 ? expr_alloc(j->ev, n * sizeof(*v)) : NULL;
	if (v == NULL)
		return r < 0 ? r : ERR_LIMIT;
	for (size_t i = n; i-- > 0; items = items->prev)
		v[i] = items->pair;
	return expr_make_map(j->ev, EXPR_MAP, v, n, false, ret);
}

static int json_array(struct json *j, struct expr_value *ret)
{
	struct json_item *items;
	size_t n;
	int r = json_items(j, false, &items, &n);
	struct expr_value *v = r == 0 ? expr_alloc_values(j->ev, n) : NULL;
	if (v == NULL)
		return r < 0 ? r : ERR_LIMIT;
	for (size_t i = n; i-- > 0; items = items->prev)
		v[i] = items->pair.value;
	return expr_make_list(j->ev, v, n, ret);
}

static int json_value(struct json *j, struct expr_value *ret)
{
	int c = json_peek(j);
	int r = expr_spend(j->ev, 1);
	if (r < 0)
		return r;
	if (c == '"')
		return json_string(j, ret);
	if (c == '-' || (c >= '0' && c <= '9'))
		return json_number(j, ret);
	if (c != '{' && c != '[')
		return json_word(j, ret);
	if (j->depth >= EXPR_VALUE_DEPTH_MAX)
		return expr_fail(j->ev, "JSON is nested too deeply");
	j->depth++;
	r = c == '{' ? json_object(j, ret) : json_array(j, ret);
	j->depth--;
	return r;
}

BUILTIN(from_json)
{
	(void)n;
	int r = expr_want(ev, a, EXPR_STRING);
	if (r < 0)
		return r;
	struct json j = { .ev = ev, .s = a->s };
	r = json_value(&j, ret);
	if (r == 0 && json_peek(&j) >= 0)
		return json_error(&j);
	return r;
}
