/* SPDX-License-Identifier: GPL-3.0-or-later */
/* toJSON, fromJSON and base64. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/text/utf8.h"
#include "expr/builtin_priv.h"
#include "expr/expr_priv.h"
#include "expr/run_priv.h"
#include "expr/value_priv.h"

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* --- base64 --- */

static void out_base64(struct out *out, struct slice text)
{
	for (size_t i = 0; i < text.n; i += 3) {
		const unsigned char *p = (const unsigned char *)text.p + i;
		size_t have = MIN(text.n - i, 3U);
		uint32_t v = (uint32_t)p[0] << 16 | (have > 1 ? (uint32_t)p[1] << 8 : 0) |
			     (have > 2 ? p[2] : 0U);
		char q[4] = { alphabet[v >> 18], alphabet[v >> 12 & 63],
			      have > 1 ? alphabet[v >> 6 & 63] : '=',
			      have > 2 ? alphabet[v & 63] : '=' };
		expr_out(out, q, sizeof(q));
	}
}

static int write_base64(struct ev *ev, struct out *out, const struct expr_value *value)
{
	(void)ev;
	out_base64(out, value->s);
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

static int out_json_list(struct ev *ev, struct out *out, const struct expr_value *value,
			 unsigned depth)
{
	size_t n = expr_list_len(value);
	expr_out(out, "[", 1);
	for (size_t i = 0; i < n && !out->full; i++) {
		struct expr_value item = expr_list_at(value, i);
		if (i > 0)
			expr_out(out, ",", 1);
		out_line(out, depth + 1);
		int r = out_json(ev, out, &item, depth + 1);
		if (r < 0)
			return r;
	}
	if (n > 0)
		out_line(out, depth);
	expr_out(out, "]", 1);
	return 0;
}

static int out_json_map(struct ev *ev, struct out *out, const struct expr_value *value,
			unsigned depth)
{
	expr_out(out, "{", 1);
	for (size_t i = 0; i < value->map.n && !out->full; i++) {
		if (i > 0)
			expr_out(out, ",", 1);
		out_line(out, depth + 1);
		out_json_string(out, value->map.v[i].key.s);
		expr_out(out, ": ", 2);
		int r = out_json(ev, out, &value->map.v[i].value, depth + 1);
		if (r < 0)
			return r;
	}
	if (value->map.n > 0)
		out_line(out, depth);
	expr_out(out, "}", 1);
	return 0;
}

/* Small and large exponents as Go's encoder: 1e-7, not 1e-07. */
static int out_json_float(struct ev *ev, struct out *out, double number)
{
	char text[EXPR_FLOAT_BYTES];
	if (isnan(number) || isinf(number))
		return expr_fail(ev, "json: unsupported value");
	expr_format_float(number, -6, 21, text);
	size_t n = strlen(text);
	if (n > 4 && text[n - 4] == 'e' && text[n - 3] == '-' && text[n - 2] == '0') {
		text[n - 2] = text[n - 1];
		n--;
	}
	expr_out(out, text, n);
	return 0;
}

static int out_json(struct ev *ev, struct out *out, const struct expr_value *value, unsigned depth)
{
	switch (value->type) {
	case EXPR_STRING:
		out_json_string(out, value->s);
		return 0;
	case EXPR_FLOAT:
		return out_json_float(ev, out, value->f);
	case EXPR_BYTES:
		expr_out(out, "\"", 1);
		out_base64(out, value->s);
		expr_out(out, "\"", 1);
		return 0;
	case EXPR_LIST:
		return out_json_list(ev, out, value, depth);
	case EXPR_MAP:
		return out_json_map(ev, out, value, depth);
	case EXPR_ANYMAP:
		return expr_fail(ev, "json: unsupported type: %s", expr_value_type_name(value));
	case EXPR_NIL:
		expr_out_str(out, "null");
		return 0;
	case EXPR_BOOL:
	case EXPR_INT:
	case EXPR_STRINGS:
	case EXPR_ANY:
		expr_out_value(out, value);
		return 0;
	}
	return 0;
}

static int write_json(struct ev *ev, struct out *out, const struct expr_value *value)
{
	return out_json(ev, out, value, 0);
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

static int json_value(struct json *json, struct expr_value *ret);

static int json_error(struct json *json)
{
	if (json->pos >= json->s.n)
		return expr_fail(json->ev, "unexpected end of JSON input");
	return expr_fail(json->ev, "invalid character in JSON at offset %zu", json->pos);
}

static int json_peek(struct json *json)
{
	while (json->pos < json->s.n && strchr(" \t\r\n", json->s.p[json->pos]) != NULL &&
	       json->s.p[json->pos] != '\0')
		json->pos++;
	return json->pos < json->s.n ? (unsigned char)json->s.p[json->pos] : -1;
}

static int read_hex4(struct json *json)
{
	unsigned v = 0;
	for (int i = 0; i < 4; i++, json->pos++) {
		int digit = json->pos < json->s.n ? ascii_hex_value(json->s.p[json->pos]) : -1;
		if (digit < 0)
			return -1;
		v = v << 4 | (unsigned)digit;
	}
	return (int)v;
}

/* After the backslash; bytes written to `out` or negative. */
static int json_escape(struct json *json, char out[4])
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	char c = json->pos < json->s.n ? json->s.p[json->pos] : '\0';
	const char *at = c != '\0' ? strchr(from, c) : NULL;
	if (at != NULL) {
		json->pos++;
		out[0] = to[at - from];
		return 1;
	}
	if (c != 'u')
		return json_error(json);
	json->pos++;
	int v = read_hex4(json);
	if (v < 0)
		return json_error(json);
	uint32_t cp = (uint32_t)v;
	if (cp >= 0xd800 && cp < 0xdc00 &&
	    slice_starts(slice_from(json->s, json->pos), SLICE("\\u"))) {
		size_t back = json->pos;
		json->pos += 2;
		int low = read_hex4(json);
		if (low >= 0xdc00 && low < 0xe000)
			cp = 0x10000 + ((cp - 0xd800) << 10) + ((uint32_t)low - 0xdc00);
		else
			json->pos = back;
	}
	return (int)utf8_encode(cp, out);
}

/* The end of the literal that starts at the current quote, for its size. */
static size_t json_string_end(const struct json *json)
{
	size_t i = json->pos + 1;
	while (i < json->s.n && json->s.p[i] != '"')
		i += json->s.p[i] == '\\' ? 2 : 1;
	return MIN(i, json->s.n);
}

static int json_string(struct json *json, struct expr_value *ret)
{
	/* An invalid byte becomes the three of U+FFFD. */
	size_t k = 0, cap = 3 * (json_string_end(json) - json->pos) + 4;
	char *p = expr_alloc(json->ev, cap);
	if (p == NULL)
		return ERR_LIMIT;
	for (json->pos++; json->pos < json->s.n && json->s.p[json->pos] != '"';) {
		unsigned char c = (unsigned char)json->s.p[json->pos];
		uint32_t cp;
		if (c < 0x20)
			return json_error(json);
		if (c == '\\') {
			json->pos++;
			int r = json_escape(json, p + k);
			if (r < 0)
				return r;
			k += (size_t)r;
			continue;
		}
		size_t len = utf8_decode(slice_from(json->s, json->pos), &cp);
		k += utf8_encode(len != 0 ? cp : 0xfffd, p + k);
		json->pos += len != 0 ? len : 1;
	}
	if (json->pos >= json->s.n)
		return json_error(json);
	json->pos++;
	*ret = expr_string((struct slice){ p, k });
	return 0;
}

static size_t json_digits(struct json *json)
{
	size_t start = json->pos;
	while (json->pos < json->s.n && ascii_isdigit(json->s.p[json->pos]))
		json->pos++;
	return json->pos - start;
}

static bool json_accept(struct json *json, const char *set)
{
	if (json->pos >= json->s.n || json->s.p[json->pos] == '\0' ||
	    strchr(set, json->s.p[json->pos]) == NULL)
		return false;
	json->pos++;
	return true;
}

static int json_number(struct json *json, struct expr_value *ret)
{
	char text[400];
	size_t start = json->pos;
	IGNORE(json_accept(json, "-")); /* optional */
	if (!json_accept(json, "0") && json_digits(json) == 0)
		return json_error(json);
	if (json_accept(json, ".") && json_digits(json) == 0)
		return json_error(json);
	if (json_accept(json, "eE")) {
		IGNORE(json_accept(json, "+-")); /* optional */
		if (json_digits(json) == 0)
			return json_error(json);
	}
	size_t n = json->pos - start;
	if (n >= sizeof(text))
		return expr_fail(json->ev, "number in JSON is too long");
	memcpy(text, json->s.p + start, n);
	text[n] = '\0';
	double f = strtod(text, NULL);
	if (isinf(f))
		return expr_fail(json->ev, "number in JSON is out of range");
	*ret = expr_float(f);
	return 0;
}

static int json_word(struct json *json, struct expr_value *ret)
{
	static const struct {
		const char *text;
		struct expr_value v;
	} words[] = { { "true", { .type = EXPR_BOOL, .b = true } },
		      { "false", { .type = EXPR_BOOL, .b = false } },
		      { "null", { .type = EXPR_NIL } } };
	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		struct slice w = slice_of(words[i].text);
		if (slice_starts(slice_from(json->s, json->pos), w)) {
			json->pos += w.n;
			*ret = words[i].v;
			return 0;
		}
	}
	return json_error(json);
}

/* Elements are chained while their number is unknown, then laid out. */
struct json_item {
	struct json_item *prev;
	struct expr_pair pair;
};

/* After an element: 1 when another follows, 0 at the end. */
static int json_more(struct json *json, char close)
{
	int c = json_peek(json);
	if (c != ',' && c != close)
		return json_error(json);
	json->pos++;
	return c == ',';
}

static int json_key(struct json *json, struct expr_value *ret)
{
	if (json_peek(json) != '"')
		return json_error(json);
	int r = json_string(json, ret);
	if (r == 0 && json_peek(json) != ':')
		return json_error(json);
	json->pos++;
	return r;
}

/* The elements up to `close`, newest first. */
static int json_items(struct json *json, bool object, struct json_item **ret, size_t *ret_n)
{
	char close = object ? '}' : ']';
	*ret = NULL;
	*ret_n = 0;
	json->pos++;
	if (json_peek(json) == close) {
		json->pos++;
		return 0;
	}
	int r;
	do {
		struct json_item *item = expr_alloc(json->ev, sizeof(*item));
		if (item == NULL)
			return ERR_LIMIT;
		r = object ? json_key(json, &item->pair.key) : 0;
		if (r == 0)
			r = json_value(json, &item->pair.value);
		if (r < 0)
			return r;
		item->prev = *ret;
		*ret = item;
		++*ret_n;
		r = json_more(json, close);
	} while (r > 0);
	return r;
}

static int json_object(struct json *json, struct expr_value *ret)
{
	struct json_item *items;
	size_t n;
	int r = json_items(json, true, &items, &n);
	struct expr_pair *v = r == 0 ? expr_alloc(json->ev, n * sizeof(*v)) : NULL;
	if (v == NULL)
		return r < 0 ? r : ERR_LIMIT;
	for (size_t i = n; i-- > 0; items = items->prev)
		v[i] = items->pair;
	return expr_make_map(json->ev, EXPR_MAP, v, n, false, ret);
}

static int json_array(struct json *json, struct expr_value *ret)
{
	struct json_item *items;
	size_t n;
	int r = json_items(json, false, &items, &n);
	struct expr_value *v = r == 0 ? expr_alloc_values(json->ev, n) : NULL;
	if (v == NULL)
		return r < 0 ? r : ERR_LIMIT;
	for (size_t i = n; i-- > 0; items = items->prev)
		v[i] = items->pair.value;
	return expr_make_list(json->ev, v, n, ret);
}

static int json_value(struct json *json, struct expr_value *ret)
{
	int c = json_peek(json);
	int r = expr_spend(json->ev, 1);
	if (r < 0)
		return r;
	if (c == '"')
		return json_string(json, ret);
	if (c == '-' || (c >= '0' && c <= '9'))
		return json_number(json, ret);
	if (c != '{' && c != '[')
		return json_word(json, ret);
	if (json->depth >= EXPR_VALUE_DEPTH_MAX)
		return expr_fail(json->ev, "JSON is nested too deeply");
	json->depth++;
	r = c == '{' ? json_object(json, ret) : json_array(json, ret);
	json->depth--;
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
