/* What Go's readers of times and base64 say of a bad text. */
#include <stdio.h>
#include <string.h>

#include "api/tree.h"
#include "apiserver/strict_priv.h"
#include "base/base64.h"
#include "base/mem.h"
#include "base/slice.h"

/* A piece of a layout: digits, or a mark that must stand there. */
struct piece {
	const char *layout;
	size_t digits;
	unsigned max; /* of the number; 0: any */
	const char *what;
};

static bool read_digits(const char *s, size_t n, unsigned *ret)
{
	*ret = 0;
	for (size_t i = 0; i < n; i++) {
		if (!ascii_isdigit(s[i]))
			return false;
		*ret = *ret * 10 + (unsigned)(s[i] - '0');
	}
	return true;
}

static unsigned days_in(unsigned year, unsigned month)
{
	static const unsigned char days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
	bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
	return month == 2 && leap ? 29 : days[month - 1];
}

/* "Z" or an offset as +02:00 at the end; what is left when it is not one. */
static const char *zone_rest(const char *s)
{
	unsigned n;
	if (s[0] == 'Z')
		return s + 1;
	if ((s[0] == '+' || s[0] == '-') && strlen(s) >= 6 && read_digits(s + 1, 2, &n) &&
	    s[3] == ':' && read_digits(s + 4, 2, &n))
		return s + 6;
	return NULL;
}

static size_t fraction(const char *s)
{
	size_t n = 1;
	if (s[0] != '.' || !ascii_isdigit(s[1]))
		return 0;
	while (ascii_isdigit(s[n]))
		n++;
	return n;
}

struct failure {
	const char *rest, *layout; /* cannot parse rest as layout */
	const char *range;	   /* or this is out of its range */
	const char *extra;	   /* or this is too much */
};

static struct failure read_time(const char *s, bool micro)
{
	static const struct piece pieces[] = {
		{ "2006", 4, 0, "" },	 { "-", 0, 0, "" },	    { "01", 2, 12, "month" },
		{ "-", 0, 0, "" },	 { "02", 2, 31, "day" },    { "T", 0, 0, "" },
		{ "15", 2, 23, "hour" }, { ":", 0, 0, "" },	    { "04", 2, 59, "minute" },
		{ ":", 0, 0, "" },	 { "05", 2, 59, "second" },
	};
	unsigned number[ARRAY_LEN(pieces)] = { 0 };
	for (size_t i = 0; i < ARRAY_LEN(pieces); i++) {
		const struct piece *p = &pieces[i];
		if (p->digits == 0 ? *s != p->layout[0] : !read_digits(s, p->digits, &number[i]))
			return (struct failure){ .rest = s, .layout = p->layout };
		if (p->max != 0 && (number[i] > p->max || (i <= 4 && number[i] == 0)))
			return (struct failure){ .range = p->what };
		s += p->digits != 0 ? p->digits : 1;
	}
	size_t n = fraction(s);
	if (micro && n < 7)
		return (struct failure){ .rest = s, .layout = ".000000" };
	s += micro ? 7 : n; /* a dot and six digits */
	const char *rest = zone_rest(s);
	if (rest == NULL)
		return (struct failure){ .rest = s, .layout = "Z07:00" };
	if (*rest != '\0')
		return (struct failure){ .extra = rest };
	if (number[4] > days_in(number[0], number[2]))
		return (struct failure){ .range = "day" };
	return (struct failure){ 0 };
}

bool strict_bad_time(const char *s, bool micro, char *err, size_t err_n)
{
	static const char *const layouts[] = { "2006-01-02T15:04:05Z07:00",
					       "2006-01-02T15:04:05.000000Z07:00" };
	struct failure f = read_time(s, micro);
	if (f.rest != NULL)
		snprintf(err, err_n, "parsing time \"%s\" as \"%s\": cannot parse \"%s\" as \"%s\"",
			 s, layouts[micro], f.rest, f.layout);
	else if (f.range != NULL)
		snprintf(err, err_n, "parsing time \"%s\": %s out of range", s, f.range);
	else if (f.extra != NULL)
		snprintf(err, err_n, "parsing time \"%s\": extra text: \"%s\"", s, f.extra);
	return f.rest != NULL || f.range != NULL || f.extra != NULL;
}

static size_t skip_breaks(const char *s, size_t i)
{
	while (s[i] == '\n' || s[i] == '\r')
		i++;
	return i;
}

/* Where the text stops being base64; -1 when it does not. */
static ptrdiff_t bad_base64_at(const char *s)
{
	size_t n = strlen(s), i = 0;
	for (size_t k = 0;; k++) { /* k: digits so far */
		i = skip_breaks(s, i);
		size_t have = k % 4;
		if (i == n)
			return have == 0 ? -1 : (ptrdiff_t)(i - have);
		if (base64_value(s[i]) >= 0) {
			i++;
			continue;
		}
		if (s[i] != '=' || have < 2)
			return (ptrdiff_t)i;
		i = skip_breaks(s, i + 1);
		if (have == 2) {
			if (i == n)
				return (ptrdiff_t)n;
			if (s[i] != '=')
				return (ptrdiff_t)i - 1;
			i = skip_breaks(s, i + 1);
		}
		return i < n ? (ptrdiff_t)i : -1;
	}
}

bool strict_bad_base64(const char *s, char *err, size_t err_n)
{
	ptrdiff_t at = bad_base64_at(s);
	if (at >= 0)
		snprintf(err, err_n, "illegal base64 data at input byte %td", at);
	return at >= 0;
}

/* ---- quantities: a decimal number and a suffix ---- */

static size_t count_in(struct slice s, const char *set)
{
	size_t n = 0;
	while (n < s.n && strchr(set, s.p[n]) != NULL && s.p[n] != '\0')
		n++;
	return n;
}

static bool is_exponent(struct slice s)
{
	if (s.n < 2 || (s.p[0] != 'e' && s.p[0] != 'E'))
		return false;
	s = slice_from(s, s.p[1] == '+' || s.p[1] == '-' ? 2 : 1);
	return s.n != 0 && count_in(s, "0123456789") == s.n;
}

static bool is_quantity_suffix(struct slice s)
{
	static const char *const suffixes[] = { "",  "n", "u",	"m",  "k",  "M",  "G",	"T",
						"P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei" };
	for (size_t i = 0; i < ARRAY_LEN(suffixes); i++) {
		if (slice_is(s, suffixes[i]))
			return true;
	}
	return is_exponent(s);
}

static const char *quantity_error(struct slice s)
{
	static const char digits[] = "0123456789";
	static const char format[] = "quantities must match the regular expression "
				     "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
	if (s.n == 0)
		return format;
	s = slice_from(s, s.p[0] == '+' || s.p[0] == '-');
	size_t whole = count_in(s, digits), part = 0;
	s = slice_from(s, whole);
	if (s.n != 0 && s.p[0] == '.') {
		part = count_in(slice_from(s, 1), digits);
		s = slice_from(s, 1 + part);
	}
	size_t letters = count_in(s, "eEinumkKMGTP");
	struct slice rest = slice_from(s, letters);
	rest = slice_from(rest, rest.n != 0 && (rest.p[0] == '+' || rest.p[0] == '-'));
	if (count_in(rest, digits) != rest.n)
		return format;
	if (!is_quantity_suffix(s))
		return "unable to parse quantity's suffix";
	return whole + part == 0 && s.n != 0 ? "unable to parse numeric part of quantity" : NULL;
}

bool strict_bad_quantity(const json_t *v, char *err, size_t err_n)
{
	CLEANUP(freep) char *text = json_is_string(v) ? NULL : json_dumps(v, JSON_ENCODE_ANY);
	const char *wrong =
		quantity_error(json_is_string(v) ? slice_trim(api_text_slice(v)) : slice_of(text));
	if (wrong != NULL)
		snprintf(err, err_n, "%s", wrong);
	return wrong != NULL;
}
