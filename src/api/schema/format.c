/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks string formats of schemas (date-time, ipv4, uuid, ...) with the API server's results,
 * its oddities included. Formats that only the server can check are listed, so that a schema
 * with them is refused when it is compiled. */
#include "api/schema/format_priv.h"

#include <arpa/inet.h>
#include <string.h>

#include "base/err.h"
#include "base/text/duration.h"

static bool is_hex(char ch)
{
	return ascii_isdigit(ch) || (ascii_lower(ch) >= 'a' && ascii_lower(ch) <= 'f');
}

/* Up to `max` digits at the front of *s, cut off; -1 when there is none. */
static int cut_number(struct slice *text, size_t max)
{
	int v = 0;
	size_t n = 0;
	for (; n < max && n < text->n && ascii_isdigit(text->p[n]); n++)
		v = v * 10 + (text->p[n] - '0');
	*text = slice_from(*text, n);
	return n != 0 ? v : -1;
}

static bool cut_char(struct slice *text, char ch)
{
	if (text->n == 0 || text->p[0] != ch)
		return false;
	*text = slice_from(*text, 1);
	return true;
}

/* ---- addresses ---- */

/* Four numbers; leading zeros are let through, as the server does for old objects. */
static bool is_dotted_quad(struct slice text)
{
	for (int i = 0; i < 4; i++) {
		if (i != 0 && !cut_char(&text, '.'))
			return false;
		int v = cut_number(&text, 9);
		if (v < 0 || v > 255)
			return false;
	}
	return text.n == 0;
}

static bool is_ipv6(struct slice word)
{
	char text[64];
	struct in6_addr a;
	if (word.n >= sizeof(text) || memchr(word.p, '\0', word.n) != NULL ||
	    slice_find(word, ':') < 0)
		return false;
	memcpy(text, word.p, word.n);
	text[word.n] = '\0';
	return inet_pton(AF_INET6, text, &a) == 1;
}

/* Any address with a dot, ::ffff:1.2.3.4 too. */
static bool is_ipv4(struct slice text)
{
	return is_dotted_quad(text) || (slice_find(text, '.') >= 0 && is_ipv6(text));
}

static bool is_cidr(struct slice text)
{
	struct slice rest = text;
	struct slice address = slice_cut(&rest, '/');
	bool v4 = is_dotted_quad(address);
	if (rest.p == NULL || (!v4 && !is_ipv6(address)))
		return false;
	int length = cut_number(&rest, 8);
	return length >= 0 && length <= (v4 ? 32 : 128) && rest.n == 0;
}

/* 6, 8 or 20 octets: pairs of digits with : or -, or fours with dots. */
static bool is_mac(struct slice text)
{
	char sep = text.n > 4 && text.p[4] == '.' ? '.' : text.n > 2 ? text.p[2] : '\0';
	size_t group = sep == '.' ? 4 : 2, digits = 0;
	if (sep != '.' && sep != ':' && sep != '-')
		return false;
	for (size_t i = 0; i < text.n; i++) {
		bool at_sep = i % (group + 1) == group;
		if (at_sep ? text.p[i] != sep : !is_hex(text.p[i]))
			return false;
		digits += !at_sep;
	}
	return text.n % (group + 1) == group && (digits == 12 || digits == 16 || digits == 40);
}

/* ---- times ---- */

static bool is_date(struct slice text)
{
	static const int days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
	if (text.n != 10)
		return false;
	int year = cut_number(&text, 4);
	bool ok = cut_char(&text, '-');
	int month = cut_number(&text, 2);
	ok = ok && cut_char(&text, '-');
	int day = cut_number(&text, 2);
	if (!ok || text.n != 0 || year < 0 || month < 1 || month > 12)
		return false;
	bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
	return day >= 1 && day <= days[month - 1] + (leap && month == 2);
}

/* Two digits of at most `max`. */
static bool cut_pair(struct slice *text, int max)
{
	size_t n = text->n;
	int v = cut_number(text, 2);
	return n - text->n == 2 && v <= max;
}

static bool is_utc_offset(struct slice text)
{
	if (text.n == 1)
		return text.p[0] == 'z' || text.p[0] == 'Z';
	return (cut_char(&text, '+') || cut_char(&text, '-')) && cut_pair(&text, 99) &&
	       cut_char(&text, ':') && cut_pair(&text, 99) && text.n == 0;
}

/* The text up to the next T, whatever comes behind that: so the server has it. */
static struct slice cut_at_t(struct slice *text)
{
	size_t n = 0;
	while (n < text->n && ascii_lower(text->p[n]) != 't')
		n++;
	struct slice front = { text->p, n };
	*text = n < text->n ? slice_from(*text, n + 1) : (struct slice){ NULL, 0 };
	return front;
}

static bool is_date_time(struct slice text)
{
	struct slice date = cut_at_t(&text);
	if (text.p == NULL || !is_date(date))
		return false;
	struct slice t = cut_at_t(&text);
	if (!cut_pair(&t, 23) || !cut_char(&t, ':') || !cut_pair(&t, 59) || !cut_char(&t, ':') ||
	    !cut_pair(&t, 59))
		return false;
	if (is_utc_offset(t))
		return true;
	t = slice_from(t, 1); /* any character stands before the fraction */
	return cut_number(&t, 1) >= 0 && (cut_number(&t, t.n), true) && is_utc_offset(t);
}

/* "22 ns", "3 days", and the like anywhere in the text, besides Go's durations. */
static bool is_unit(struct slice text)
{
	static const struct {
		const char *exact, *prefix;
	} units[] = {
		{ "ns", "nano" }, { "us", "micro" }, { "\xc2\xb5s", NULL }, { "ms", "milli" },
		{ "s", "sec" },	  { "m", "min" },    { "h", "hour" },	    { "hr", NULL },
		{ "d", "day" },	  { "w", "week" },   { "wk", NULL },
	};
	for (size_t i = 0; i < ARRAY_LEN(units); i++) {
		struct slice front = { text.p,
				       units[i].prefix != NULL ? strlen(units[i].prefix) : 0 };
		if (slice_eq_nocase(text, slice_of(units[i].exact)) ||
		    (front.n != 0 && front.n <= text.n &&
		     slice_eq_nocase(front, slice_of(units[i].prefix))))
			return true;
	}
	return false;
}

static bool is_letter(struct slice text, size_t index)
{
	return ascii_isalpha(text.p[index]) || text.p[index] == '\xc2' || text.p[index] == '\xb5';
}

static bool is_duration(struct slice text)
{
	int64_t ns;
	if (duration_parse(text, &ns) == 0)
		return true;
	for (size_t i = 0; i < text.n; i++) {
		if (!ascii_isdigit(text.p[i]))
			continue;
		while (i < text.n && ascii_isdigit(text.p[i]))
			i++;
		while (i < text.n && ascii_isspace(text.p[i]))
			i++;
		size_t from = i;
		while (i < text.n && is_letter(text, i))
			i++;
		if (is_unit((struct slice){ text.p + from, i - from }))
			return true;
	}
	return false;
}

/* ---- others ---- */

/* Groups of hexadecimal digits, dashes between them or not; `version` and `variant`: what the third
 * and fourth group must begin with. */
static bool matches_uuid(struct slice text, const char *version, const char *variant)
{
	static const size_t groups[] = { 8, 4, 4, 4, 12 };
	for (size_t g = 0; g < ARRAY_LEN(groups); g++) {
		if (g != 0 && cut_char(&text, '-') && text.n == 0)
			return false;
		if (text.n < groups[g])
			return false;
		for (size_t i = 0; i < groups[g]; i++) {
			if (!is_hex(text.p[i]))
				return false;
		}
		const char *first = g == 2 ? version : g == 3 ? variant : "";
		if (first[0] != '\0' && strchr(first, ascii_lower(text.p[0])) == NULL)
			return false;
		text = slice_from(text, groups[g]);
	}
	return text.n == 0;
}

static bool is_uuid(struct slice text)
{
	return matches_uuid(text, "", "");
}

static bool is_uuid3(struct slice text)
{
	return matches_uuid(text, "3", "");
}

static bool is_uuid4(struct slice text)
{
	return matches_uuid(text, "4", "89ab");
}

static bool is_uuid5(struct slice text)
{
	return matches_uuid(text, "5", "89ab");
}

static bool is_base64(struct slice text)
{
	size_t pad = 0;
	while (pad < 2 && pad < text.n && text.p[text.n - 1 - pad] == '=')
		pad++;
	if (text.n == 0 || text.n % 4 != 0)
		return false;
	for (size_t i = 0; i + pad < text.n; i++) {
		if (!ascii_isalpha(text.p[i]) && !ascii_isdigit(text.p[i]) && text.p[i] != '+' &&
		    text.p[i] != '/')
			return false;
	}
	return true;
}

static bool is_any(struct slice text)
{
	(void)text;
	return true;
}

static bool is_lower_alnum(char ch)
{
	return ascii_isdigit(ch) || (ch >= 'a' && ch <= 'z');
}

static bool is_label(struct slice text)
{
	if (text.n == 0 || !is_lower_alnum(text.p[0]) || !is_lower_alnum(text.p[text.n - 1]))
		return false;
	for (size_t i = 0; i < text.n; i++) {
		if (!is_lower_alnum(text.p[i]) && text.p[i] != '-')
			return false;
	}
	return true;
}

static bool is_short_name(struct slice text)
{
	return text.n <= 63 && is_label(text);
}

static bool is_long_name(struct slice text)
{
	struct slice rest = text;
	do {
		if (!is_label(slice_cut(&rest, '.')))
			return false;
	} while (rest.p != NULL);
	return text.n <= 253;
}

/* NULL: the server checks it, we do not. */
static const struct schema_format formats[] = {
	{ "byte", is_base64 },
	{ "cidr", is_cidr },
	{ "date", is_date },
	{ "datetime", is_date_time },
	{ "duration", is_duration },
	{ "ipv4", is_ipv4 },
	{ "ipv6", is_ipv6 },
	{ "k8slongname", is_long_name },
	{ "k8sshortname", is_short_name },
	{ "mac", is_mac },
	{ "password", is_any },
	{ "uuid", is_uuid },
	{ "uuid3", is_uuid3 },
	{ "uuid4", is_uuid4 },
	{ "uuid5", is_uuid5 },
	{ "bsonobjectid", NULL },
	{ "creditcard", NULL },
	{ "email", NULL },
	{ "hexcolor", NULL },
	{ "hostname", NULL },
	{ "isbn", NULL },
	{ "isbn10", NULL },
	{ "isbn13", NULL },
	{ "rgbcolor", NULL },
	{ "ssn", NULL },
	{ "uri", NULL },
};

/* Dashes do not count. */
static bool same_name(const char *name, const char *plain)
{
	for (; *name != '\0'; name++) {
		if (*name == '-')
			continue;
		if (*name != *plain++)
			return false;
	}
	return *plain == '\0';
}

const struct schema_format *schema_format_find(const char *name, bool *ret_known)
{
	*ret_known = false;
	for (size_t i = 0; i < ARRAY_LEN(formats); i++) {
		if (!same_name(name, formats[i].name))
			continue;
		*ret_known = true;
		return formats[i].fits != NULL ? &formats[i] : NULL;
	}
	return NULL;
}
