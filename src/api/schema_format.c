/* Formats of strings: those the server checks, as it checks them. */
#include <arpa/inet.h>
#include <string.h>

#include "api/schema_priv.h"
#include "base/duration.h"
#include "base/err.h"

static bool is_hex(char c)
{
	return ascii_isdigit(c) || (ascii_lower(c) >= 'a' && ascii_lower(c) <= 'f');
}

/* Up to `max` digits at the front of *s, cut off; -1 when there is none. */
static int cut_number(struct slice *s, size_t max)
{
	int v = 0;
	size_t n = 0;
	for (; n < max && n < s->n && ascii_isdigit(s->p[n]); n++)
		v = v * 10 + (s->p[n] - '0');
	*s = slice_from(*s, n);
	return n != 0 ? v : -1;
}

static bool cut_char(struct slice *s, char c)
{
	if (s->n == 0 || s->p[0] != c)
		return false;
	*s = slice_from(*s, 1);
	return true;
}

/* ---- addresses ---- */

/* Four numbers; leading zeros are let through, as the server does for old objects. */
static bool is_dotted(struct slice s)
{
	for (int i = 0; i < 4; i++) {
		if (i != 0 && !cut_char(&s, '.'))
			return false;
		int v = cut_number(&s, 9);
		if (v < 0 || v > 255)
			return false;
	}
	return s.n == 0;
}

static bool is_colons(struct slice s)
{
	char text[64];
	struct in6_addr a;
	if (s.n >= sizeof(text) || memchr(s.p, '\0', s.n) != NULL || slice_find(s, ':') < 0)
		return false;
	memcpy(text, s.p, s.n);
	text[s.n] = '\0';
	return inet_pton(AF_INET6, text, &a) == 1;
}

/* Any address with a dot, ::ffff:1.2.3.4 too. */
static bool is_ipv4(struct slice s)
{
	return is_dotted(s) || (slice_find(s, '.') >= 0 && is_colons(s));
}

static bool is_cidr(struct slice s)
{
	struct slice rest = s;
	struct slice address = slice_cut(&rest, '/');
	bool v4 = is_dotted(address);
	if (rest.p == NULL || (!v4 && !is_colons(address)))
		return false;
	int length = cut_number(&rest, 8);
	return length >= 0 && length <= (v4 ? 32 : 128) && rest.n == 0;
}

/* 6, 8 or 20 octets: pairs of digits with : or -, or fours with dots. */
static bool is_mac(struct slice s)
{
	char sep = s.n > 4 && s.p[4] == '.' ? '.' : s.n > 2 ? s.p[2] : '\0';
	size_t group = sep == '.' ? 4 : 2, digits = 0;
	if (sep != '.' && sep != ':' && sep != '-')
		return false;
	for (size_t i = 0; i < s.n; i++) {
		bool at_sep = i % (group + 1) == group;
		if (at_sep ? s.p[i] != sep : !is_hex(s.p[i]))
			return false;
		digits += !at_sep;
	}
	return s.n % (group + 1) == group && (digits == 12 || digits == 16 || digits == 40);
}

/* ---- times ---- */

static bool is_date(struct slice s)
{
	static const int days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
	if (s.n != 10)
		return false;
	int year = cut_number(&s, 4);
	bool ok = cut_char(&s, '-');
	int month = cut_number(&s, 2);
	ok = ok && cut_char(&s, '-');
	int day = cut_number(&s, 2);
	if (!ok || s.n != 0 || year < 0 || month < 1 || month > 12)
		return false;
	bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
	return day >= 1 && day <= days[month - 1] + (leap && month == 2);
}

/* Two digits of at most `max`. */
static bool cut_pair(struct slice *s, int max)
{
	size_t n = s->n;
	int v = cut_number(s, 2);
	return n - s->n == 2 && v <= max;
}

static bool is_zone(struct slice s)
{
	if (s.n == 1)
		return s.p[0] == 'z' || s.p[0] == 'Z';
	return (cut_char(&s, '+') || cut_char(&s, '-')) && cut_pair(&s, 99) && cut_char(&s, ':') &&
	       cut_pair(&s, 99) && s.n == 0;
}

/* The text up to the next T, whatever comes behind that: so the server has it. */
static struct slice cut_t(struct slice *s)
{
	size_t n = 0;
	while (n < s->n && ascii_lower(s->p[n]) != 't')
		n++;
	struct slice front = { s->p, n };
	*s = n < s->n ? slice_from(*s, n + 1) : (struct slice){ NULL, 0 };
	return front;
}

static bool is_date_time(struct slice s)
{
	struct slice date = cut_t(&s);
	if (s.p == NULL || !is_date(date))
		return false;
	struct slice t = cut_t(&s);
	if (!cut_pair(&t, 23) || !cut_char(&t, ':') || !cut_pair(&t, 59) || !cut_char(&t, ':') ||
	    !cut_pair(&t, 59))
		return false;
	if (is_zone(t))
		return true;
	t = slice_from(t, 1); /* any character stands before the fraction */
	return cut_number(&t, 1) >= 0 && (cut_number(&t, t.n), true) && is_zone(t);
}

/* "22 ns", "3 days", and the like anywhere in the text, besides Go's durations. */
static bool is_unit(struct slice s)
{
	static const struct {
		const char *exact, *prefix;
	} units[] = {
		{ "ns", "nano" }, { "us", "micro" }, { "\xc2\xb5s", NULL }, { "ms", "milli" },
		{ "s", "sec" },	  { "m", "min" },    { "h", "hour" },	    { "hr", NULL },
		{ "d", "day" },	  { "w", "week" },   { "wk", NULL },
	};
	for (size_t i = 0; i < ARRAY_LEN(units); i++) {
		struct slice front = { s.p, units[i].prefix != NULL ? strlen(units[i].prefix) : 0 };
		if (slice_eq_nocase(s, slice_of(units[i].exact)) ||
		    (front.n != 0 && front.n <= s.n &&
		     slice_eq_nocase(front, slice_of(units[i].prefix))))
			return true;
	}
	return false;
}

static bool is_letter(struct slice s, size_t i)
{
	return ascii_isalpha(s.p[i]) || s.p[i] == '\xc2' || s.p[i] == '\xb5';
}

static bool is_duration(struct slice s)
{
	int64_t ns;
	if (duration_parse(s, &ns) == 0)
		return true;
	for (size_t i = 0; i < s.n; i++) {
		if (!ascii_isdigit(s.p[i]))
			continue;
		while (i < s.n && ascii_isdigit(s.p[i]))
			i++;
		while (i < s.n && ascii_isspace(s.p[i]))
			i++;
		size_t from = i;
		while (i < s.n && is_letter(s, i))
			i++;
		if (is_unit((struct slice){ s.p + from, i - from }))
			return true;
	}
	return false;
}

/* ---- others ---- */

/* Groups of hexadecimal digits, dashes between them or not; `version` and `variant`: what the third
 * and fourth group must begin with. */
static bool is_uuid_of(struct slice s, const char *version, const char *variant)
{
	static const size_t groups[] = { 8, 4, 4, 4, 12 };
	for (size_t g = 0; g < ARRAY_LEN(groups); g++) {
		if (g != 0 && cut_char(&s, '-') && s.n == 0)
			return false;
		if (s.n < groups[g])
			return false;
		for (size_t i = 0; i < groups[g]; i++) {
			if (!is_hex(s.p[i]))
				return false;
		}
		const char *first = g == 2 ? version : g == 3 ? variant : "";
		if (first[0] != '\0' && strchr(first, ascii_lower(s.p[0])) == NULL)
			return false;
		s = slice_from(s, groups[g]);
	}
	return s.n == 0;
}

static bool is_uuid(struct slice s)
{
	return is_uuid_of(s, "", "");
}

static bool is_uuid3(struct slice s)
{
	return is_uuid_of(s, "3", "");
}

static bool is_uuid4(struct slice s)
{
	return is_uuid_of(s, "4", "89ab");
}

static bool is_uuid5(struct slice s)
{
	return is_uuid_of(s, "5", "89ab");
}

static bool is_base64(struct slice s)
{
	size_t pad = 0;
	while (pad < 2 && pad < s.n && s.p[s.n - 1 - pad] == '=')
		pad++;
	if (s.n == 0 || s.n % 4 != 0)
		return false;
	for (size_t i = 0; i + pad < s.n; i++) {
		if (!ascii_isalpha(s.p[i]) && !ascii_isdigit(s.p[i]) && s.p[i] != '+' &&
		    s.p[i] != '/')
			return false;
	}
	return true;
}

static bool is_any(struct slice s)
{
	(void)s;
	return true;
}

static bool is_lower_alnum(char c)
{
	return ascii_isdigit(c) || (c >= 'a' && c <= 'z');
}

static bool is_label(struct slice s)
{
	if (s.n == 0 || !is_lower_alnum(s.p[0]) || !is_lower_alnum(s.p[s.n - 1]))
		return false;
	for (size_t i = 0; i < s.n; i++) {
		if (!is_lower_alnum(s.p[i]) && s.p[i] != '-')
			return false;
	}
	return true;
}

static bool is_short_name(struct slice s)
{
	return s.n <= 63 && is_label(s);
}

static bool is_long_name(struct slice s)
{
	struct slice rest = s;
	do {
		if (!is_label(slice_cut(&rest, '.')))
			return false;
	} while (rest.p != NULL);
	return s.n <= 253;
}

/* NULL: the server checks it, we do not. */
static const struct schema_format formats[] = {
	{ "byte", is_base64 },
	{ "cidr", is_cidr },
	{ "date", is_date },
	{ "datetime", is_date_time },
	{ "duration", is_duration },
	{ "ipv4", is_ipv4 },
	{ "ipv6", is_colons },
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
