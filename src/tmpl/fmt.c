/* Go's fmt verbs for one value of a basic kind: integers, floats, strings, with flags, width and
 * precision. */
#include "tmpl/tmpl_priv.h"

#include <math.h>

#include "base/utf8.h"

static size_t count_chars(const char *p, size_t n)
{
	size_t chars = 0;
	struct slice s = { p, n };
	while (s.n > 0) {
		uint32_t cp;
		size_t len = utf8_decode(s, &cp);
		s = slice_from(s, len != 0 ? len : 1);
		chars++;
	}
	return chars;
}

/* Opens a gap of `n` bytes at `at` and fills it. */
static void insert(struct tmpl_out *o, size_t at, char c, size_t n)
{
	size_t tail = o->n - at;
	if (n > o->cap - o->n) {
		o->full = true;
		return;
	}
	memmove(o->p + at + n, o->p + at, tail);
	memset(o->p + at, c, n);
	o->n += n;
}

static void pad_with(struct tmpl_out *o, const struct fmt *f, size_t start, bool zeros)
{
	if (o->full || !(f->flags & FMT_WIDTH))
		return;
	size_t have = count_chars(o->p + start, o->n - start);
	if (have >= f->width)
		return;
	if (f->flags & FMT_MINUS)
		tmpl_out_fill(o, ' ', f->width - have);
	else
		insert(o, start, zeros ? '0' : ' ', f->width - have);
}

void tmpl_fmt_pad(struct tmpl_out *o, const struct fmt *f, size_t start)
{
	pad_with(o, f, start, f->flags & FMT_ZERO);
}

static size_t digits_of(uint64_t u, unsigned base, bool upper, char out[64])
{
	const char *set = upper ? "0123456789ABCDEF" : "0123456789abcdef";
	char tmp[64];
	size_t n = 0;
	do {
		tmp[n++] = set[u % base];
		u /= base;
	} while (u != 0);
	for (size_t i = 0; i < n; i++)
		out[i] = tmp[n - 1 - i];
	return n;
}

static void add_sign(struct tmpl_out *o, const struct fmt *f, bool negative)
{
	if (negative)
		tmpl_out_c(o, '-');
	else if (f->flags & FMT_PLUS)
		tmpl_out_c(o, '+');
	else if (f->flags & FMT_SPACE)
		tmpl_out_c(o, ' ');
}

static const char *base_prefix(const struct fmt *f, uint32_t verb, unsigned base, char first_digit)
{
	if (verb == 'O')
		return "0o";
	if (!(f->flags & FMT_SHARP))
		return "";
	if (base == 8)
		return first_digit != '0' ? "0" : "";
	return base == 2 ? "0b" : base == 16 ? (verb == 'X' ? "0X" : "0x") : "";
}

static void add_integer(struct tmpl_out *o, const struct fmt *f, uint32_t verb, uint64_t u,
			bool negative, unsigned base)
{
	char digits[64];
	size_t start = o->n, prec = 0;
	if (f->flags & FMT_PREC) {
		prec = f->prec;
		if (prec == 0 && u == 0) {
			tmpl_out_fill(o, ' ', f->flags & FMT_WIDTH ? f->width : 0);
			return;
		}
	} else if ((f->flags & FMT_ZERO) && !(f->flags & FMT_MINUS) && (f->flags & FMT_WIDTH)) {
		prec = f->width;
		if (prec > 0 && (negative || (f->flags & (FMT_PLUS | FMT_SPACE))))
			prec--;
	}
	size_t n = digits_of(u, base, verb == 'X', digits);
	char first = prec > n ? '0' : digits[0];
	add_sign(o, f, negative);
	tmpl_out_s(o, base_prefix(f, verb, base, first));
	if (verb == 'O' && (f->flags & FMT_SHARP) && first != '0')
		tmpl_out_c(o, '0');
	tmpl_out_fill(o, '0', prec > n ? prec - n : 0);
	tmpl_out_add(o, digits, n);
	pad_with(o, f, start, false);
}

static void add_unicode(struct tmpl_out *o, const struct fmt *f, uint64_t u)
{
	char digits[64];
	size_t start = o->n;
	size_t prec = (f->flags & FMT_PREC) && f->prec > 4 ? f->prec : 4;
	size_t n = digits_of(u, 16, true, digits);
	tmpl_out_s(o, "U+");
	tmpl_out_fill(o, '0', prec > n ? prec - n : 0);
	tmpl_out_add(o, digits, n);
	if ((f->flags & FMT_SHARP) && u <= 0x10ffff && tmpl_is_print((uint32_t)u)) {
		tmpl_out_s(o, " '");
		tmpl_out_cp(o, (uint32_t)u);
		tmpl_out_c(o, '\'');
	}
	pad_with(o, f, start, false);
}

bool tmpl_fmt_int(struct tmpl_out *o, const struct fmt *f, uint32_t verb, uint64_t u, bool negative)
{
	size_t start = o->n;
	/* Verbs for characters see the two's complement. */
	uint64_t raw = negative ? 0 - u : u;
	uint32_t cp = raw > 0x10ffff ? 0xfffd : (uint32_t)raw;
	switch (verb) {
	case 'v':
	case 'd':
		add_integer(o, f, verb, u, negative, 10);
		return true;
	case 'b':
		add_integer(o, f, verb, u, negative, 2);
		return true;
	case 'o':
	case 'O':
		add_integer(o, f, verb, u, negative, 8);
		return true;
	case 'x':
	case 'X':
		add_integer(o, f, verb, u, negative, 16);
		return true;
	case 'c':
		tmpl_out_cp(o, cp);
		tmpl_fmt_pad(o, f, start);
		return true;
	case 'q':
		tmpl_out_quote_cp(o, cp, f->flags & FMT_PLUS);
		tmpl_fmt_pad(o, f, start);
		return true;
	case 'U':
		add_unicode(o, f, raw);
		return true;
	default:
		return false;
	}
}

/* A positive, finite number as its shortest decimal digits d.ddd times 10 to the exponent. */
static size_t shortest(double v, unsigned bits, char digits[18], int *ret_exp)
{
	char buf[40];
	for (int prec = 0; prec < 17; prec++) {
		snprintf(buf, sizeof(buf), "%.*e", prec, v);
		bool same = bits == 32 ? strtof(buf, NULL) == (float)v : strtod(buf, NULL) == v;
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
static void add_shortest(struct tmpl_out *o, double v, unsigned bits, uint32_t verb)
{
	char digits[18] = "0", buf[16];
	int exp;
	size_t n = shortest(v, bits, digits, &exp);
	if (exp < -4 || exp >= 6) {
		tmpl_out_c(o, digits[0]);
		if (n > 1)
			tmpl_out_c(o, '.');
		tmpl_out_add(o, digits + 1, n - 1);
		int len = snprintf(buf, sizeof(buf), "%c%+03d", verb == 'G' ? 'E' : 'e', exp);
		tmpl_out_add(o, buf, (size_t)len);
		return;
	}
	size_t whole = exp < 0 ? 0 : (size_t)exp + 1;
	if (whole == 0) {
		tmpl_out_s(o, "0.");
		tmpl_out_fill(o, '0', (size_t)(-exp - 1));
		tmpl_out_add(o, digits, n);
		return;
	}
	tmpl_out_add(o, digits, MIN(n, whole));
	tmpl_out_fill(o, '0', whole > n ? whole - n : 0);
	if (n > whole) {
		tmpl_out_c(o, '.');
		tmpl_out_add(o, digits + whole, n - whole);
	}
}

/* libc prints the rest; only the exponent of %x is shorter there. */
static void add_libc(struct tmpl_out *o, const char *format, int prec, double v)
{
	size_t left = o->cap - o->n;
	if (prec > 0 && (size_t)prec > left) {
		o->full = true;
		return;
	}
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	int n = prec < 0 ? snprintf(o->p + o->n, left, format, v)
			 : snprintf(o->p + o->n, left, format, prec, v);
#pragma GCC diagnostic pop
	if (n < 0 || (size_t)n >= left)
		o->full = true;
	else
		o->n += (size_t)n;
}

static void fix_hex_exponent(struct tmpl_out *o, size_t start)
{
	if (!o->full && o->n - start > 3 && !ascii_isdigit(o->p[o->n - 2]))
		insert(o, o->n - 1, '0', 1);
}

static void add_binary(struct tmpl_out *o, double v)
{
	char buf[48];
	int exp;
	double m = frexp(v, &exp);
	uint64_t mantissa = (uint64_t)ldexp(m, 53);
	exp = v > 0 ? exp - 53 : -1074;
	int n = snprintf(buf, sizeof(buf), "%llup%+d", (unsigned long long)mantissa, exp);
	tmpl_out_add(o, buf, (size_t)n);
}

/* The sharp flag keeps the point, and six digits where no precision was given. */
static void sharpen(struct tmpl_out *o, size_t start)
{
	size_t end = start, digits = 0;
	bool point = false;
	for (; end < o->n && (ascii_isdigit(o->p[end]) || o->p[end] == '.'); end++) {
		point |= o->p[end] == '.';
		if (ascii_isdigit(o->p[end]) && (digits > 0 || o->p[end] != '0'))
			digits++;
	}
	if (digits == 0 && !point)
		digits = 1;
	if (!point)
		insert(o, end++, '.', 1);
	if (digits < 6)
		insert(o, end, '0', 6 - digits);
}

static void add_float(struct tmpl_out *o, const struct fmt *f, uint32_t verb, double v,
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
	bool has_prec = f->flags & FMT_PREC, hex = verb == 'x' || verb == 'X';
	size_t start = o->n;
	if (verb == 'b') {
		add_binary(o, v);
	} else if (!has_prec && (verb == 'v' || verb == 'g' || verb == 'G')) {
		add_shortest(o, v, bits, verb);
		if (f->flags & FMT_SHARP)
			sharpen(o, start);
	} else if (!has_prec && hex) {
		add_libc(o, verb == 'x' ? "%a" : "%A", -1, v);
	} else {
		size_t i = 0;
		while ((uint32_t)libc[i].verb != verb)
			i++;
		add_libc(o, f->flags & FMT_SHARP ? libc[i].sharp : libc[i].plain,
			 has_prec ? (int)f->prec : 6, v);
	}
	if (hex)
		fix_hex_exponent(o, start);
}

bool tmpl_fmt_float(struct tmpl_out *o, const struct fmt *f, uint32_t verb, double v, unsigned bits)
{
	size_t start = o->n;
	if (verb >= 0x80 || verb == 0 || strchr("vbgGxXfFeE", (int)verb) == NULL)
		return false;
	bool number = isfinite(v);
	if (isnan(v)) {
		add_sign(o, f, false);
		tmpl_out_s(o, "NaN");
	} else {
		add_sign(o, f, signbit(v));
		size_t digits = o->n;
		if (isinf(v)) {
			if (o->n == start)
				tmpl_out_c(o, '+');
			tmpl_out_s(o, "Inf");
		} else {
			add_float(o, f, verb, fabs(v), bits);
		}
		/* Zeros go between the sign and the digits. */
		if (number && !o->full && (f->flags & FMT_ZERO) && !(f->flags & FMT_MINUS) &&
		    (f->flags & FMT_WIDTH) && f->width > o->n - start)
			insert(o, digits, '0', f->width - (o->n - start));
	}
	pad_with(o, f, start, false);
	return true;
}

static struct slice cut_chars(const struct fmt *f, struct slice s)
{
	if (!(f->flags & FMT_PREC))
		return s;
	size_t at = 0;
	for (size_t chars = 0; chars < f->prec && at < s.n; chars++) {
		uint32_t cp;
		size_t n = utf8_decode(slice_from(s, at), &cp);
		at += n != 0 ? n : 1;
	}
	return (struct slice){ s.p, at };
}

static void add_hex_bytes(struct tmpl_out *o, const struct fmt *f, struct slice s, bool upper)
{
	const char *set = upper ? "0123456789ABCDEF" : "0123456789abcdef";
	const char *prefix = upper ? "0X" : "0x";
	size_t start = o->n;
	if ((f->flags & FMT_PREC) && f->prec < s.n)
		s.n = f->prec;
	for (size_t i = 0; i < s.n; i++) {
		unsigned char c = (unsigned char)s.p[i];
		if (i > 0 && (f->flags & FMT_SPACE))
			tmpl_out_c(o, ' ');
		if ((f->flags & FMT_SHARP) && (i == 0 || (f->flags & FMT_SPACE)))
			tmpl_out_s(o, prefix);
		tmpl_out_c(o, set[c >> 4]);
		tmpl_out_c(o, set[c & 15]);
	}
	tmpl_fmt_pad(o, f, start);
}

static bool can_backquote(struct slice s)
{
	while (s.n > 0) {
		uint32_t cp;
		size_t n = utf8_decode(s, &cp);
		if (n == 0 || cp == 0xfeff || (cp < ' ' && cp != '\t') || cp == '`' || cp == 0x7f)
			return false;
		s = slice_from(s, n);
	}
	return true;
}

static void add_quoted(struct tmpl_out *o, const struct fmt *f, struct slice s)
{
	size_t start = o->n;
	s = cut_chars(f, s);
	if ((f->flags & FMT_SHARP) && can_backquote(s)) {
		tmpl_out_c(o, '`');
		tmpl_out_slice(o, s);
		tmpl_out_c(o, '`');
	} else {
		tmpl_out_quote(o, s, f->flags & FMT_PLUS);
	}
	tmpl_fmt_pad(o, f, start);
}

bool tmpl_fmt_string(struct tmpl_out *o, const struct fmt *f, uint32_t verb, struct slice s)
{
	size_t start = o->n;
	switch (verb) {
	case 'v':
		if (f->flags & FMT_SHARP_V) {
			add_quoted(o, f, s);
			return true;
		}
		tmpl_out_slice(o, cut_chars(f, s));
		tmpl_fmt_pad(o, f, start);
		return true;
	case 's':
		tmpl_out_slice(o, cut_chars(f, s));
		tmpl_fmt_pad(o, f, start);
		return true;
	case 'x':
	case 'X':
		add_hex_bytes(o, f, s, verb == 'X');
		return true;
	case 'q':
		add_quoted(o, f, s);
		return true;
	default:
		return false;
	}
}
