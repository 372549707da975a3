/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads Retry-After. Dates come as `Sun, 06 Nov 1994 08:49:37 GMT`, and from old servers as
 * `Sunday, 06-Nov-94 08:49:37 GMT` or `Sun Nov  6 08:49:37 1994`. */
#include "http/client/retry_after_priv.h"

#include <string.h>
#include <time.h>

#include "base/err.h"

/* A number of exactly `digits` digits; a leading space counts as zero where a form pads with it. */
static int take_number(struct slice *text, size_t digits, int *ret)
{
	int value = 0;
	if (text->n < digits)
		return ERR_PARSE;
	for (size_t i = 0; i < digits; i++) {
		char ch = text->p[i];
		if (!ascii_isdigit(ch) && !(i == 0 && ch == ' ' && digits == 2))
			return ERR_PARSE;
		value = value * 10 + (ch == ' ' ? 0 : ch - '0');
	}
	*text = slice_from(*text, digits);
	*ret = value;
	return 0;
}

static int take_month(struct slice *text, int *ret)
{
	static const char names[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
	for (int i = 0; i < 12 && text->n >= 3; i++)
		if (memcmp(text->p, names + 3 * i, 3) == 0) {
			*text = slice_from(*text, 3);
			*ret = i;
			return 0;
		}
	return ERR_PARSE;
}

static int take_text(struct slice *text, struct slice expected)
{
	if (!slice_starts(*text, expected))
		return ERR_PARSE;
	*text = slice_from(*text, expected.n);
	return 0;
}

/* RFC 9110: two digits that seem more than 50 years ahead mean the century before. */
static int full_year(int two_digits, uint64_t wall_s)
{
	time_t now = (time_t)wall_s;
	struct tm today;
	if (gmtime_r(&now, &today) == NULL)
		return two_digits + 2000;
	int year = (today.tm_year + 1900) / 100 * 100 + two_digits;
	return year > today.tm_year + 1900 + 50 ? year - 100 : year;
}

/* The date behind the name of its day, by a pattern: d day, b month, y year of two digits, Y of
 * four, H i S time; other characters stand for themselves. */
static int read_date(struct slice text, const char *pattern, uint64_t wall_s, struct tm *ret)
{
	int r = 0, year = 0;
	for (; *pattern != '\0' && r == 0; pattern++) {
		const struct {
			char letter;
			size_t digits;
			int *field;
		} rows[] = {
			{ 'd', 2, &ret->tm_mday }, { 'H', 2, &ret->tm_hour },
			{ 'i', 2, &ret->tm_min },  { 'S', 2, &ret->tm_sec },
			{ 'y', 2, &year },	   { 'Y', 4, &year },
		};
		size_t row = 0;
		while (row < ARRAY_LEN(rows) && rows[row].letter != *pattern)
			row++;
		if (row < ARRAY_LEN(rows))
			r = take_number(&text, rows[row].digits, rows[row].field);
		else if (*pattern == 'b')
			r = take_month(&text, &ret->tm_mon);
		else
			r = take_text(&text, (struct slice){ pattern, 1 });
		if (*pattern == 'y' && r == 0)
			year = full_year(year, wall_s);
	}
	ret->tm_year = year - 1900;
	return r == 0 && text.n == 0 ? 0 : ERR_PARSE;
}

static bool is_date(const struct tm *date)
{
	return date->tm_mday >= 1 && date->tm_mday <= 31 && date->tm_hour <= 23 &&
	       date->tm_min <= 59 && date->tm_sec <= 60 && date->tm_year >= 70;
}

static int parse_date(struct slice value, uint64_t wall_s, uint64_t *ret_s)
{
	static const char *const patterns[] = { ", d b Y H:i:S GMT", ", d-b-y H:i:S GMT",
						" b d H:i:S Y" };
	size_t day_name = 0;
	while (day_name < value.n && ascii_isalpha(value.p[day_name]))
		day_name++;
	for (size_t i = 0; i < ARRAY_LEN(patterns) && day_name >= 3; i++) {
		struct tm date = { 0 };
		if (read_date(slice_from(value, day_name), patterns[i], wall_s, &date) < 0 ||
		    !is_date(&date))
			continue;
		time_t at = timegm(&date);
		if (at < 0)
			return ERR_PARSE;
		*ret_s = (uint64_t)at;
		return 0;
	}
	return ERR_PARSE;
}

static bool has_only_digits(struct slice value)
{
	size_t n = 0;
	while (n < value.n && ascii_isdigit(value.p[n]))
		n++;
	return n != 0 && n == value.n;
}

int http_retry_after_parse(struct slice value, uint64_t wall_s, unsigned *ret_s)
{
	uint64_t seconds, at;
	if (has_only_digits(value)) {
		if (slice_u64(value, &seconds) < 0)
			seconds = UINT64_MAX;
	} else {
		int r = parse_date(value, wall_s, &at);
		if (r < 0)
			return r;
		seconds = at > wall_s ? at - wall_s : 0;
	}
	*ret_s = (unsigned)MIN(seconds, (uint64_t)HTTP_RETRY_AFTER_MAX_S);
	return 0;
}
