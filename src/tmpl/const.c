/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Constants as Go writes them: quoted and raw strings, characters, integers in four bases, floats
 * in two. */
#include "tmpl/const_priv.h"

#include "tmpl/tmpl_priv.h"

#include <math.h>

#include "base/err.h"
#include "base/text/charset.h"
#include "base/text/utf8.h"

/* One escape or character of a quoted text. */
struct quoted_char {
	uint32_t cp;
	bool is_byte; /* from \x or \ooo: one byte, whatever it is */
	size_t n;     /* bytes read */
};

/* Of any base up to 36. */
static int digit_value(char ch)
{
	if (ascii_isdigit(ch))
		return ch - '0';
	if (ascii_isalpha(ch))
		return ascii_lower(ch) - 'a' + 10;
	return 36;
}

static int read_digits(struct slice text, size_t count, uint32_t base, uint32_t *ret)
{
	uint32_t v = 0;
	if (text.n < count)
		return ERR_PARSE;
	for (size_t i = 0; i < count; i++) {
		int d = digit_value(text.p[i]);
		if (d >= (int)base)
			return ERR_PARSE;
		v = v * base + (uint32_t)d;
	}
	*ret = v;
	return 0;
}

/* After the backslash; `text` starts with the letter. */
static int read_escape(struct slice text, char quote, struct quoted_char *ret)
{
	static const char letters[] = "abfnrtv\\";
	static const char values[] = "\a\b\f\n\r\t\v\\";
	if (text.n == 0 || text.p[0] == '\0')
		return ERR_PARSE;
	char c = text.p[0];
	const char *at = strchr(letters, c);
	*ret = (struct quoted_char){ .n = 2 };
	if (at != NULL || c == quote) {
		ret->cp = (unsigned char)(at != NULL ? values[at - letters] : c);
		return 0;
	}
	if (c >= '0' && c <= '7') {
		*ret = (struct quoted_char){ .n = 4, .is_byte = true };
		return read_digits(text, 3, 8, &ret->cp) < 0 || ret->cp > 255 ? ERR_PARSE : 0;
	}
	size_t n = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
	*ret = (struct quoted_char){ .n = n + 2, .is_byte = c == 'x' };
	if (n == 0 || read_digits(slice_from(text, 1), n, 16, &ret->cp) < 0)
		return ERR_PARSE;
	bool bad = ret->cp > 0x10ffff || (ret->cp >= 0xd800 && ret->cp <= 0xdfff);
	return bad ? ERR_PARSE : 0;
}

static int read_char(struct slice text, char quote, struct quoted_char *ret)
{
	if (text.n == 0 || text.p[0] == quote || text.p[0] == '\n')
		return ERR_PARSE;
	if (text.p[0] == '\\')
		return read_escape(slice_from(text, 1), quote, ret);
	*ret = (struct quoted_char){ .cp = 0xfffd };
	ret->n = utf8_decode(text, &ret->cp);
	if (ret->n == 0)
		ret->n = 1;
	return 0;
}

int tmpl_unquote(struct slice quoted, struct arena *arena, struct slice *ret)
{
	if (quoted.n < 2)
		return ERR_PARSE;
	char quote = quoted.p[0];
	struct slice s = { quoted.p + 1, quoted.n - 2 };
	/* An invalid byte grows to the three of U+FFFD. */
	char *out = arena_alloc(arena, 3 * s.n + 1);
	size_t n = 0;
	while (s.n > 0 && quote == '`') {
		if (s.p[0] != '\r')
			out[n++] = s.p[0];
		s = slice_from(s, 1);
	}
	while (s.n > 0) {
		struct quoted_char c;
		if (read_char(s, quote, &c) < 0)
			return ERR_PARSE;
		if (c.is_byte)
			out[n++] = (char)c.cp;
		else
			n += utf8_encode(c.cp, out + n);
		s = slice_from(s, c.n);
	}
	*ret = (struct slice){ out, n };
	return 0;
}

int tmpl_char_const(struct slice quoted, struct number *ret)
{
	struct quoted_char c;
	if (read_char(slice_from(quoted, 1), '\'', &c) < 0)
		return ERR_PARSE;
	if (c.n + 2 != quoted.n)
		return ERR_RANGE;
	*ret = (struct number){ .is_int = true,
				.is_uint = true,
				.is_float = true,
				.i = (int64_t)c.cp,
				.u = c.cp,
				.f = (double)c.cp };
	return 0;
}

static bool has_prefix(struct slice text, unsigned *ret_base)
{
	if (text.n < 2 || text.p[0] != '0')
		return false;
	char c = ascii_lower(text.p[1]);
	unsigned base = c == 'x' ? 16 : c == 'o' ? 8 : c == 'b' ? 2 : 0;
	if (base != 0)
		*ret_base = base;
	return base != 0;
}

/* An underscore stands between two digits, or between the base prefix and a digit. */
static bool underscores_ok(struct slice text)
{
	unsigned base = 10;
	char last = '^'; /* '0' a digit or the prefix, '_' itself, anything else */
	if (text.n > 0 && (text.p[0] == '-' || text.p[0] == '+'))
		text = slice_from(text, 1);
	bool hex = has_prefix(text, &base) && base == 16;
	if (base != 10) {
		text = slice_from(text, 2);
		last = '0';
	}
	for (size_t i = 0; i < text.n; i++) {
		if (ascii_isdigit(text.p[i]) || (hex && digit_value(text.p[i]) < 16)) {
			last = '0';
		} else if (text.p[i] == '_') {
			if (last != '0')
				return false;
			last = '_';
		} else {
			if (last == '_')
				return false;
			last = '!';
		}
	}
	return last != '_';
}

static int parse_digits(struct slice text, unsigned base, bool underscores, uint64_t *ret)
{
	uint64_t v = 0;
	bool over = false, any = false;
	for (size_t i = 0; i < text.n; i++) {
		if (text.p[i] == '_' && underscores)
			continue;
		int d = digit_value(text.p[i]);
		if (d >= (int)base)
			return ERR_PARSE;
		any = true;
		over |= __builtin_mul_overflow(v, (uint64_t)base, &v);
		over |= __builtin_add_overflow(v, (uint64_t)d, &v);
	}
	if (!any)
		return ERR_PARSE;
	*ret = v;
	return over ? ERR_RANGE : 0;
}

int tmpl_parse_uint(struct slice text, unsigned base, unsigned bits, uint64_t *ret)
{
	struct slice digits = text;
	bool any_base = base == 0;
	if (any_base && !underscores_ok(text))
		return ERR_PARSE;
	if (any_base && has_prefix(text, &base)) {
		digits = slice_from(text, 2);
	} else if (any_base) {
		base = text.n > 1 && text.p[0] == '0' ? 8 : 10;
		digits = slice_from(text, base == 8 ? 1 : 0);
	}
	int r = parse_digits(digits, base, any_base, ret);
	if (r == 0 && bits < 64 && *ret >> bits != 0)
		return ERR_RANGE;
	return r;
}

static int parse_int(struct slice text, int64_t *ret)
{
	bool negative = text.n > 0 && text.p[0] == '-';
	uint64_t u;
	if (text.n > 0 && (text.p[0] == '-' || text.p[0] == '+'))
		text = slice_from(text, 1);
	int r = tmpl_parse_uint(text, 0, 64, &u);
	if (r < 0)
		return r;
	if (u > (uint64_t)INT64_MAX + negative)
		return ERR_RANGE;
	*ret = negative ? (int64_t)(0 - u) : (int64_t)u;
	return 0;
}

static int parse_float(struct slice text, double *ret)
{
	char buf[256], *end;
	size_t n = 0;
	bool hex = false, exponent = false;
	if (!underscores_ok(text) || text.n >= sizeof(buf))
		return ERR_PARSE;
	for (size_t i = 0; i < text.n; i++) {
		hex |= ascii_lower(text.p[i]) == 'x';
		exponent |= ascii_lower(text.p[i]) == 'p';
		if (text.p[i] != '_')
			buf[n++] = text.p[i];
	}
	buf[n] = '\0';
	/* Go asks for an exponent where C does not. */
	if (n == 0 || (hex && !exponent))
		return ERR_PARSE;
	*ret = strtod(buf, &end);
	return *end != '\0' || isinf(*ret) ? ERR_PARSE : 0;
}

static void set_float(struct number *number, double value)
{
	static const double two63 = 9223372036854775808.0;
	number->is_float = true;
	number->f = value;
	if (value >= -two63 && value < two63 && trunc(value) == value) {
		number->is_int = true;
		number->i = (int64_t)value;
	}
	if (value >= 0 && value < 2 * two63 && trunc(value) == value) {
		number->is_uint = true;
		number->u = (uint64_t)value;
	}
}

int tmpl_number(struct slice text, struct number *ret, const char **ret_why)
{
	double f;
	*ret = (struct number){ 0 };
	ret->is_uint = tmpl_parse_uint(text, 0, 64, &ret->u) == 0;
	ret->is_int = parse_int(text, &ret->i) == 0;
	if (ret->is_int && ret->i == 0 && !ret->is_uint) {
		ret->is_uint = true;
		ret->u = 0;
	}
	if (ret->is_int || ret->is_uint) {
		ret->is_float = true;
		ret->f = ret->is_int ? (double)ret->i : (double)ret->u;
		return 0;
	}
	*ret_why = "illegal number syntax";
	if (parse_float(text, &f) < 0)
		return ERR_PARSE;
	bool whole = true;
	for (size_t i = 0; i < text.n; i++)
		whole &= !charset_has(".eEpP", text.p[i]);
	*ret_why = "integer overflow";
	if (whole)
		return ERR_PARSE;
	set_float(ret, f);
	return 0;
}
