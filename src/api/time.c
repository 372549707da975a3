/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Times as objects of the API write them (RFC 3339). */
#include "api/time.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/slice.h"

static struct tm to_utc(uint64_t wall_ns)
{
	time_t s = (time_t)(wall_ns / NS_PER_S);
	struct tm t = { 0 };
	gmtime_r(&s, &t);
	return t;
}

const char *api_time_format(uint64_t wall_ns, char out[API_TIME_TEXT_MAX])
{
	struct tm t = to_utc(wall_ns);
	strftime(out, API_TIME_TEXT_MAX, "%Y-%m-%dT%H:%M:%SZ", &t);
	return out;
}

const char *api_micro_time_format(uint64_t wall_ns, char out[API_TIME_TEXT_MAX])
{
	struct tm t = to_utc(wall_ns);
	size_t n = strftime(out, API_TIME_TEXT_MAX, "%Y-%m-%dT%H:%M:%S", &t);
	snprintf(out + n, API_TIME_TEXT_MAX - n, ".%06uZ",
		 (unsigned)(wall_ns % NS_PER_S / 1000) % 1000000);
	return out;
}

/* Exactly `len` digits within [min, max]. */
static bool read_digits(const char **pos, int len, int min, int max, int *ret)
{
	int v = 0;
	for (int i = 0; i < len; i++, (*pos)++) {
		if (!ascii_isdigit(**pos))
			return false;
		v = v * 10 + (**pos - '0');
	}
	*ret = v;
	return v >= min && v <= max;
}

static bool skip_literal(const char **pos, char ch)
{
	if ((**pos | (ascii_isalpha(ch) ? 0x20 : 0)) != (ch | (ascii_isalpha(ch) ? 0x20 : 0)))
		return false;
	(*pos)++;
	return true;
}

static bool read_fraction(const char **pos, uint64_t *ret_ns)
{
	uint64_t scale = NS_PER_S / 10;
	*ret_ns = 0;
	if (**pos != '.')
		return true;
	(*pos)++;
	if (!ascii_isdigit(**pos))
		return false;
	for (; ascii_isdigit(**pos); (*pos)++) {
		*ret_ns += (uint64_t)(**pos - '0') * scale;
		scale /= 10;
	}
	return true;
}

static bool read_offset(const char **pos, int *ret_s)
{
	int h, m, sign = **pos == '-' ? -1 : 1;
	*ret_s = 0;
	if (skip_literal(pos, 'Z'))
		return true;
	if (**pos != '+' && **pos != '-')
		return false;
	(*pos)++;
	if (!read_digits(pos, 2, 0, 23, &h) || !skip_literal(pos, ':') ||
	    !read_digits(pos, 2, 0, 59, &m))
		return false;
	*ret_s = sign * (h * 3600 + m * 60);
	return true;
}

int api_time_parse(const char *text, uint64_t *ret_wall_ns)
{
	struct tm t = { 0 };
	const char *p = text;
	uint64_t frac;
	int off, y, mon;
	if (!read_digits(&p, 4, 0, 9999, &y) || !skip_literal(&p, '-') ||
	    !read_digits(&p, 2, 1, 12, &mon) || !skip_literal(&p, '-') ||
	    !read_digits(&p, 2, 1, 31, &t.tm_mday) || !skip_literal(&p, 'T') ||
	    !read_digits(&p, 2, 0, 23, &t.tm_hour) || !skip_literal(&p, ':') ||
	    !read_digits(&p, 2, 0, 59, &t.tm_min) || !skip_literal(&p, ':') ||
	    !read_digits(&p, 2, 0, 59, &t.tm_sec) || !read_fraction(&p, &frac) ||
	    !read_offset(&p, &off) || *p != '\0')
		return ERR_PARSE;
	t.tm_year = y - 1900;
	t.tm_mon = mon - 1;
	int mday = t.tm_mday;
	time_t v = timegm(&t);
	if (t.tm_mday != mday)
		return ERR_PARSE; /* the 31st of a shorter month */
	v -= off;
	if (v < 0)
		return ERR_RANGE;
	*ret_wall_ns = (uint64_t)v * NS_PER_S + frac;
	return 0;
}
