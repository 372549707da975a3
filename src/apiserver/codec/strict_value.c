/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks times, base64 and quantities as Go's parsers do, with their messages. */
#include "apiserver/codec/strict_value.h"

#include <stdio.h>
#include <string.h>

#include "api/tree.h"
#include "base/err_text.h"
#include "base/mem.h"
#include "base/slice.h"
#include "base/text/base64.h"

/* A piece of a time layout: digits, or a fixed character. */
struct piece {
	const char *layout;
	size_t digits;
	unsigned max; /* of the number; 0: any */
	const char *what;
};

static bool read_digits(const char *text, size_t len, unsigned *ret)
{
	*ret = 0;
	for (size_t i = 0; i < len; i++) {
		if (!ascii_isdigit(text[i]))
			return false;
		*ret = *ret * 10 + (unsigned)(text[i] - '0');
	}
	return true;
}

static unsigned days_in(unsigned year, unsigned month)
{
	static const unsigned char days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
	bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
	return month == 2 && leap ? 29 : days[month - 1];
}

/* What follows "Z" or an offset such as +02:00; NULL when it is neither. */
static const char *skip_zone(const char *text)
{
	unsigned n;
	if (text[0] == 'Z')
		return text + 1;
	if ((text[0] == '+' || text[0] == '-') && strlen(text) >= 6 &&
	    read_digits(text + 1, 2, &n) && text[3] == ':' && read_digits(text + 4, 2, &n))
		return text + 6;
	return NULL;
}

static size_t fraction_length(const char *text)
{
	size_t n = 1;
	if (text[0] != '.' || !ascii_isdigit(text[1]))
		return 0;
	while (ascii_isdigit(text[n]))
		n++;
	return n;
}

struct failure {
	const char *rest, *layout; /* cannot parse rest as layout */
	const char *range;	   /* or this is out of its range */
	const char *extra;	   /* or this is too much */
};

static struct failure read_time(const char *text, bool micro)
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
		if (p->digits == 0 ? *text != p->layout[0]
				   : !read_digits(text, p->digits, &number[i]))
			return (struct failure){ .rest = text, .layout = p->layout };
		if (p->max != 0 && (number[i] > p->max || (i <= 4 && number[i] == 0)))
			return (struct failure){ .range = p->what };
		text += p->digits != 0 ? p->digits : 1;
	}
	size_t n = fraction_length(text);
	if (micro && n < 7)
		return (struct failure){ .rest = text, .layout = ".000000" };
	text += micro ? 7 : n; /* a dot and six digits */
	const char *rest = skip_zone(text);
	if (rest == NULL)
		return (struct failure){ .rest = text, .layout = "Z07:00" };
	if (*rest != '\0')
		return (struct failure){ .extra = rest };
	if (number[4] > days_in(number[0], number[2]))
		return (struct failure){ .range = "day" };
	return (struct failure){ 0 };
}

bool apiserver_strict_value_bad_time(const char *text, bool micro, struct err_text err)
{
	static const char *const layouts[] = { "2006-01-02T15:04:05Z07:00",
					       "2006-01-02T15:04:05.000000Z07:00" };
	struct failure f = read_time(text, micro);
	if (f.rest != NULL)
		err_text_set(err, "parsing time \"%s\" as \"%s\": cannot parse \"%s\" as \"%s\"",
			     text, layouts[micro], f.rest, f.layout);
	else if (f.range != NULL)
		err_text_set(err, "parsing time \"%s\": %s out of range", text, f.range);
	else if (f.extra != NULL)
		err_text_set(err, "parsing time \"%s\": extra text: \"%s\"", text, f.extra);
	return f.rest != NULL || f.range != NULL || f.extra != NULL;
}

static size_t skip_breaks(const char *text, size_t index)
{
	while (text[index] == '\n' || text[index] == '\r')
		index++;
	return index;
}

/* Where the text stops being base64; -1: nowhere. */
static ptrdiff_t find_bad_base64(const char *text)
{
	size_t n = strlen(text), i = 0;
	for (size_t k = 0;; k++) { /* k: digits so far */
		i = skip_breaks(text, i);
		size_t have = k % 4;
		if (i == n)
			return have == 0 ? -1 : (ptrdiff_t)(i - have);
		if (base64_value(text[i]) >= 0) {
			i++;
			continue;
		}
		if (text[i] != '=' || have < 2)
			return (ptrdiff_t)i;
		i = skip_breaks(text, i + 1);
		if (have == 2) {
			if (i == n)
				return (ptrdiff_t)n;
			if (text[i] != '=')
				return (ptrdiff_t)i - 1;
			i = skip_breaks(text, i + 1);
		}
		return i < n ? (ptrdiff_t)i : -1;
	}
}

bool apiserver_strict_value_bad_base64(const char *text, struct err_text err)
{
	ptrdiff_t at = find_bad_base64(text);
	if (at >= 0)
		err_text_set(err, "illegal base64 data at input byte %td", at);
	return at >= 0;
}

/* ---- quantities: a decimal number and a suffix ---- */

static size_t count_in(struct slice text, const char *set)
{
	size_t n = 0;
	while (n < text.n && strchr(set, text.p[n]) != NULL && text.p[n] != '\0')
		n++;
	return n;
}

static bool is_exponent(struct slice text)
{
	if (text.n < 2 || (text.p[0] != 'e' && text.p[0] != 'E'))
		return false;
	text = slice_from(text, text.p[1] == '+' || text.p[1] == '-' ? 2 : 1);
	return text.n != 0 && count_in(text, "0123456789") == text.n;
}

static bool is_quantity_suffix(struct slice text)
{
	static const char *const suffixes[] = { "",  "n", "u",	"m",  "k",  "M",  "G",	"T",
						"P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei" };
	for (size_t i = 0; i < ARRAY_LEN(suffixes); i++) {
		if (slice_is(text, suffixes[i]))
			return true;
	}
	return is_exponent(text);
}

static const char *quantity_error(struct slice text)
{
	static const char digits[] = "0123456789";
	static const char format[] = "quantities must match the regular expression "
				     "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
	if (text.n == 0)
		return format;
	text = slice_from(text, text.p[0] == '+' || text.p[0] == '-');
	size_t whole = count_in(text, digits), part = 0;
	text = slice_from(text, whole);
	if (text.n != 0 && text.p[0] == '.') {
		part = count_in(slice_from(text, 1), digits);
		text = slice_from(text, 1 + part);
	}
	size_t letters = count_in(text, "eEinumkKMGTP");
	struct slice rest = slice_from(text, letters);
	rest = slice_from(rest, rest.n != 0 && (rest.p[0] == '+' || rest.p[0] == '-'));
	if (count_in(rest, digits) != rest.n)
		return format;
	if (!is_quantity_suffix(text))
		return "unable to parse quantity's suffix";
	return whole + part == 0 && text.n != 0 ? "unable to parse numeric part of quantity" : NULL;
}

bool apiserver_strict_value_bad_quantity(const json_t *value, struct err_text err)
{
	CLEANUP(freep)
	char *text = json_is_string(value) ? NULL : json_dumps(value, JSON_ENCODE_ANY);
	const char *wrong = quantity_error(json_is_string(value) ? slice_trim(api_text_slice(value))
								 : slice_of(text));
	if (wrong != NULL)
		err_text_set(err, "%s", wrong);
	return wrong != NULL;
}
