/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Go's fmt verbs for one value of a basic kind: integers, floats, strings, with flags, width and
 * precision. */
#include "tmpl/fmt_priv.h"

#include "tmpl/tmpl_priv.h"

#include <math.h>

#include "base/text/utf8.h"
#include "tmpl/charset_priv.h"
#include "tmpl/out_priv.h"

static size_t count_chars(const char *pos, size_t size)
{
	size_t chars = 0;
	struct slice s = { pos, size };
	while (s.n > 0) {
		uint32_t cp;
		size_t len = utf8_decode(s, &cp);
		s = slice_from(s, len != 0 ? len : 1);
		chars++;
	}
	return chars;
}

/* Opens a gap of `count` bytes at `at` and fills it. */
static void insert_fill(struct tmpl_out *out, size_t at, char ch, size_t count)
{
	size_t tail = out->n - at;
	if (count > out->cap - out->n) {
		out->full = true;
		return;
	}
	memmove(out->p + at + count, out->p + at, tail);
	memset(out->p + at, ch, count);
	out->n += count;
}

static void pad_with(struct tmpl_out *out, const struct fmt *fmt, size_t start, bool zeros)
{
	if (out->full || !(fmt->flags & FMT_WIDTH))
		return;
	size_t have = count_chars(out->p + start, out->n - start);
	if (have >= fmt->width)
		return;
	if (fmt->flags & FMT_MINUS)
		tmpl_out_fill(out, ' ', fmt->width - have);
	else
		insert_fill(out, start, zeros ? '0' : ' ', fmt->width - have);
}

void tmpl_fmt_pad(struct tmpl_out *out, const struct fmt *fmt, size_t start)
{
	pad_with(out, fmt, start, fmt->flags & FMT_ZERO);
}

static size_t digits_of(uint64_t number, unsigned base, bool upper, char out[64])
{
	const char *set = upper ? "0123456789ABCDEF" : "0123456789abcdef";
	char tmp[64];
	size_t n = 0;
	do {
		tmp[n++] = set[number % base];
		number /= base;
	} while (number != 0);
	for (size_t i = 0; i < n; i++)
		out[i] = tmp[n - 1 - i];
	return n;
}

static void add_sign(struct tmpl_out *out, const struct fmt *fmt, bool negative)
{
	if (negative)
		tmpl_out_c(out, '-');
	else if (fmt->flags & FMT_PLUS)
		tmpl_out_c(out, '+');
	else if (fmt->flags & FMT_SPACE)
		tmpl_out_c(out, ' ');
}

static const char *base_prefix(const struct fmt *fmt, uint32_t verb, unsigned base,
			       char first_digit)
{
	if (verb == 'O')
		return "0o";
	if (!(fmt->flags & FMT_SHARP))
		return "";
	if (base == 8)
		return first_digit != '0' ? "0" : "";
	return base == 2 ? "0b" : base == 16 ? (verb == 'X' ? "0X" : "0x") : "";
}

static void add_integer(struct tmpl_out *out, const struct fmt *fmt, uint32_t verb, uint64_t number,
			bool negative, unsigned base)
{
	char digits[64];
	size_t start = out->n, prec = 0;
	if (fmt->flags & FMT_PREC) {
		prec = fmt->prec;
		if (prec == 0 && number == 0) {
			tmpl_out_fill(out, ' ', fmt->flags & FMT_WIDTH ? fmt->width : 0);
			return;
		}
	} else if ((fmt->flags & FMT_ZERO) && !(fmt->flags & FMT_MINUS) &&
		   (fmt->flags & FMT_WIDTH)) {
		prec = fmt->width;
		if (prec > 0 && (negative || (fmt->flags & (FMT_PLUS | FMT_SPACE))))
			prec--;
	}
	size_t n = digits_of(number, base, verb == 'X', digits);
	char first = prec > n ? '0' : digits[0];
	add_sign(out, fmt, negative);
	tmpl_out_s(out, base_prefix(fmt, verb, base, first));
	if (verb == 'O' && (fmt->flags & FMT_SHARP) && first != '0')
		tmpl_out_c(out, '0');
	tmpl_out_fill(out, '0', prec > n ? prec - n : 0);
	tmpl_out_add(out, digits, n);
	pad_with(out, fmt, start, false);
}

static void add_unicode(struct tmpl_out *out, const struct fmt *fmt, uint64_t number)
{
	char digits[64];
	size_t start = out->n;
	size_t prec = (fmt->flags & FMT_PREC) && fmt->prec > 4 ? fmt->prec : 4;
	size_t n = digits_of(number, 16, true, digits);
	tmpl_out_s(out, "U+");
	tmpl_out_fill(out, '0', prec > n ? prec - n : 0);
	tmpl_out_add(out, digits, n);
	if ((fmt->flags & FMT_SHARP) && number <= 0x10ffff && tmpl_is_print((uint32_t)number)) {
		tmpl_out_s(out, " '");
		tmpl_out_cp(out, (uint32_t)number);
		tmpl_out_c(out, '\'');
	}
	pad_with(out, fmt, start, false);
}

bool tmpl_fmt_int(struct tmpl_out *out, const struct fmt *fmt, uint32_t verb, uint64_t number,
		  bool negative)
{
	size_t start = out->n;
	/* Verbs for characters see the two's complement. */
	uint64_t raw = negative ? 0 - number : number;
	uint32_t cp = raw > 0x10ffff ? 0xfffd : (uint32_t)raw;
	switch (verb) {
	case 'v':
	case 'd':
		add_integer(out, fmt, verb, number, negative, 10);
		return true;
	case 'b':
		add_integer(out, fmt, verb, number, negative, 2);
		return true;
	case 'o':
	case 'O':
		add_integer(out, fmt, verb, number, negative, 8);
		return true;
	case 'x':
	case 'X':
		add_integer(out, fmt, verb, number, negative, 16);
		return true;
	case 'c':
		tmpl_out_cp(out, cp);
		tmpl_fmt_pad(out, fmt, start);
		return true;
	case 'q':
		tmpl_out_quote_cp(out, cp, fmt->flags & FMT_PLUS);
		tmpl_fmt_pad(out, fmt, start);
		return true;
	case 'U':
		add_unicode(out, fmt, raw);
		return true;
	default:
		return false;
	}
}

/* A positive, finite number as its shortest decimal digits d.ddd times 10 to the exponent. */
static size_t shortest_digits(double number, unsigned bits, char digits[18], int *ret_exp)
{
	char buf[40];
	for (int prec = 0; prec < 17; prec++) {
		snprintf(buf, sizeof(buf), "%.*e", prec, number);
		bool same = bits == 32 ? strtof(buf, NULL) == (float)number
				       : strtod(buf, NULL) == number;
		if (same || prec == 16)
			break;
	}
	size_t n = 0;
	const char *p = buf;
	for (; *p != 'e'; p++) {
		if (ascii_isdigit(*p))
			digits[n++] = *p;
	}
	*ret_exp = (int)strtol(p + 1, NULL, 10);
	return n;
}

/* %g and %v without precision: few digits, an exponent below 1e-4 and from 1e6 on. */
static void add_shortest(struct tmpl_out *out, double number, unsigned bits, uint32_t verb)
{
	char digits[18] = "0", buf[16];
	int exp;
	size_t n = shortest_digits(number, bits, digits, &exp);
	if (exp < -4 || exp >= 6) {
		tmpl_out_c(out, digits[0]);
		if (n > 1)
			tmpl_out_c(out, '.');
		tmpl_out_add(out, digits + 1, n - 1);
		int len = snprintf(buf, sizeof(buf), "%c%+03d", verb == 'G' ? 'E' : 'e', exp);
		tmpl_out_add(out, buf, (size_t)len);
		return;
	}
	size_t whole = exp < 0 ? 0 : (size_t)exp + 1;
	if (whole == 0) {
		tmpl_out_s(out, "0.");
		tmpl_out_fill(out, '0', (size_t)(-exp - 1));
		tmpl_out_add(out, digits, n);
		return;
	}
	tmpl_out_add(out, digits, MIN(n, whole));
	tmpl_out_fill(out, '0', whole > n ? whole - n : 0);
	if (n > whole) {
		tmpl_out_c(out, '.');
		tmpl_out_add(out, digits + whole, n - whole);
	}
}

/* libc prints the rest; only the exponent of %x is shorter there. */
static void add_libc(struct tmpl_out *out, const char *format, int prec, double number)
{
	size_t left = out->cap - out->n;
	if (prec > 0 && (size_t)prec > left) {
		out->full = true;
		return;
	}
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	int n = prec < 0 ? snprintf(out->p + out->n, left, format, number)
			 : snprintf(out->p + out->n, left, format, prec, number);
#pragma GCC diagnostic pop
	if (n < 0 || (size_t)n >= left)
		out->full = true;
	else
		out->n += (size_t)n;
}

static void fix_hex_exponent(struct tmpl_out *out, size_t start)
{
	if (!out->full && out->n - start > 3 && !ascii_isdigit(out->p[out->n - 2]))
		insert_fill(out, out->n - 1, '0', 1);
}

static void add_binary(struct tmpl_out *out, double number)
{
	char buf[48];
	int exp;
	double m = frexp(number, &exp);
	uint64_t mantissa = (uint64_t)ldexp(m, 53);
	exp = number > 0 ? exp - 53 : -1074;
	int n = snprintf(buf, sizeof(buf), "%llup%+d", (unsigned long long)mantissa, exp);
	tmpl_out_add(out, buf, (size_t)n);
}

/* The sharp flag keeps the point, and six digits where no precision was given. */
static void apply_sharp(struct tmpl_out *out, size_t start)
{
	size_t end = start, digits = 0;
	bool point = false;
	for (; end < out->n && (ascii_isdigit(out->p[end]) || out->p[end] == '.'); end++) {
		point |= out->p[end] == '.';
		if (ascii_isdigit(out->p[end]) && (digits > 0 || out->p[end] != '0'))
			digits++;
	}
	if (digits == 0 && !point)
		digits = 1;
	if (!point)
		insert_fill(out, end++, '.', 1);
	if (digits < 6)
		insert_fill(out, end, '0', 6 - digits);
}

static void add_float(struct tmpl_out *out, const struct fmt *fmt, uint32_t verb, double number,
		      unsigned bits)
{
	static const struct {
		char verb;
		const char *plain, *sharp;
	} libc[] = {
		{ 'f', "%.*f", "%#.*f" }, { 'F', "%.*f", "%#.*f" }, { 'e', "%.*e", "%#.*e" },
		{ 'E', "%.*E", "%#.*E" }, { 'g', "%.*g", "%#.*g" }, { 'G', "%.*G", "%#.*G" },
		{ 'v', "%.*g", "%#.*g" }, { 'x', "%.*a", "%#.*a" }, { 'X', "%.*A", "%#.*A" },
	};
	bool has_prec = fmt->flags & FMT_PREC, hex = verb == 'x' || verb == 'X';
	size_t start = out->n;
	if (verb == 'b') {
		add_binary(out, number);
	} else if (!has_prec && (verb == 'v' || verb == 'g' || verb == 'G')) {
		add_shortest(out, number, bits, verb);
		if (fmt->flags & FMT_SHARP)
			apply_sharp(out, start);
	} else if (!has_prec && hex) {
		add_libc(out, verb == 'x' ? "%a" : "%A", -1, number);
	} else {
		size_t i = 0;
		while ((uint32_t)libc[i].verb != verb)
			i++;
		add_libc(out, fmt->flags & FMT_SHARP ? libc[i].sharp : libc[i].plain,
			 has_prec ? (int)fmt->prec : 6, number);
	}
	if (hex)
		fix_hex_exponent(out, start);
}

bool tmpl_fmt_float(struct tmpl_out *out, const struct fmt *fmt, uint32_t verb, double number,
		    unsigned bits)
{
	size_t start = out->n;
	if (verb >= 0x80 || verb == 0 || strchr("vbgGxXfFeE", (int)verb) == NULL)
		return false;
	bool is_number = isfinite(number);
	if (isnan(number)) {
		add_sign(out, fmt, false);
		tmpl_out_s(out, "NaN");
	} else {
		add_sign(out, fmt, signbit(number));
		size_t digits = out->n;
		if (isinf(number)) {
			if (out->n == start)
				tmpl_out_c(out, '+');
			tmpl_out_s(out, "Inf");
		} else {
			add_float(out, fmt, verb, fabs(number), bits);
		}
		/* Zeros go between the sign and the digits. */
		if (is_number && !out->full && (fmt->flags & FMT_ZERO) &&
		    !(fmt->flags & FMT_MINUS) && (fmt->flags & FMT_WIDTH) &&
		    fmt->width > out->n - start)
			insert_fill(out, digits, '0', fmt->width - (out->n - start));
	}
	pad_with(out, fmt, start, false);
	return true;
}

static struct slice cut_chars(const struct fmt *fmt, struct slice text)
{
	if (!(fmt->flags & FMT_PREC))
		return text;
	size_t at = 0;
	for (size_t chars = 0; chars < fmt->prec && at < text.n; chars++) {
		uint32_t cp;
		size_t n = utf8_decode(slice_from(text, at), &cp);
		at += n != 0 ? n : 1;
	}
	return (struct slice){ text.p, at };
}

static void add_hex_bytes(struct tmpl_out *out, const struct fmt *fmt, struct slice text,
			  bool upper)
{
	const char *set = upper ? "0123456789ABCDEF" : "0123456789abcdef";
	const char *prefix = upper ? "0X" : "0x";
	size_t start = out->n;
	if ((fmt->flags & FMT_PREC) && fmt->prec < text.n)
		text.n = fmt->prec;
	for (size_t i = 0; i < text.n; i++) {
		unsigned char c = (unsigned char)text.p[i];
		if (i > 0 && (fmt->flags & FMT_SPACE))
			tmpl_out_c(out, ' ');
		if ((fmt->flags & FMT_SHARP) && (i == 0 || (fmt->flags & FMT_SPACE)))
			tmpl_out_s(out, prefix);
		tmpl_out_c(out, set[c >> 4]);
		tmpl_out_c(out, set[c & 15]);
	}
	tmpl_fmt_pad(out, fmt, start);
}

static bool can_backquote(struct slice text)
{
	while (text.n > 0) {
		uint32_t cp;
		size_t n = utf8_decode(text, &cp);
		if (n == 0 || cp == 0xfeff || (cp < ' ' && cp != '\t') || cp == '`' || cp == 0x7f)
			return false;
		text = slice_from(text, n);
	}
	return true;
}

static void add_quoted(struct tmpl_out *out, const struct fmt *fmt, struct slice text)
{
	size_t start = out->n;
	text = cut_chars(fmt, text);
	if ((fmt->flags & FMT_SHARP) && can_backquote(text)) {
		tmpl_out_c(out, '`');
		tmpl_out_slice(out, text);
		tmpl_out_c(out, '`');
	} else {
		tmpl_out_quote(out, text, fmt->flags & FMT_PLUS);
	}
	tmpl_fmt_pad(out, fmt, start);
}

bool tmpl_fmt_string(struct tmpl_out *out, const struct fmt *fmt, uint32_t verb, struct slice text)
{
	size_t start = out->n;
	switch (verb) {
	case 'v':
		if (fmt->flags & FMT_SHARP_V) {
			add_quoted(out, fmt, text);
			return true;
		}
		tmpl_out_slice(out, cut_chars(fmt, text));
		tmpl_fmt_pad(out, fmt, start);
		return true;
	case 's':
		tmpl_out_slice(out, cut_chars(fmt, text));
		tmpl_fmt_pad(out, fmt, start);
		return true;
	case 'x':
	case 'X':
		add_hex_bytes(out, fmt, text, verb == 'X');
		return true;
	case 'q':
		add_quoted(out, fmt, text);
		return true;
	default:
		return false;
	}
}
