/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads and writes durations in Go's notation, which Corefiles and flags use. */
#include "base/text/duration.h"

#include <stdbool.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/err.h"

static const struct {
	const char *name;
	uint64_t ns;
} units[] = {
	{ "ns", 1 },	       { "us", 1000 },	  { "\xc2\xb5s", 1000 }, /* micro sign */
	{ "\xce\xbcs", 1000 },						 /* Greek mu */
	{ "ms", NS_PER_MS },   { "s", NS_PER_S }, { "m", 60 * NS_PER_S }, { "h", 3600 * NS_PER_S },
};

/* The largest magnitude; one more than INT64_MAX, since -2^63 is a duration too. */
#define MAX_NS (UINT64_C(1) << 63)

/* Takes the digits at the front; false when the number passes MAX_NS. */
static bool take_whole(struct slice *text, uint64_t *ret)
{
	uint64_t v = 0;
	while (text->n > 0 && ascii_isdigit(text->p[0])) {
		if (__builtin_mul_overflow(v, 10, &v) ||
		    __builtin_add_overflow(v, (uint64_t)(text->p[0] - '0'), &v) || v > MAX_NS)
			return false;
		*text = slice_from(*text, 1);
	}
	*ret = v;
	return true;
}

/* Digits after the point; those too small to matter are read over. */
static double take_fraction(struct slice *text)
{
	double v = 0, scale = 1;
	while (text->n > 0 && ascii_isdigit(text->p[0])) {
		if (scale < 1e18) {
			v = v * 10 + (double)(text->p[0] - '0');
			scale *= 10;
		}
		*text = slice_from(*text, 1);
	}
	return v / scale;
}

/* The unit is all up to the next digit or point; 0: unknown. */
static uint64_t take_unit(struct slice *text)
{
	size_t n = 0;
	while (n < text->n && text->p[n] != '.' && !ascii_isdigit(text->p[n]))
		n++;
	struct slice name = { text->p, n };
	*text = slice_from(*text, n);
	for (size_t i = 0; i < ARRAY_LEN(units); i++) {
		if (slice_is(name, units[i].name))
			return units[i].ns;
	}
	return 0;
}

/* One number with its unit, added to *total. */
static int take_term(struct slice *text, uint64_t *total)
{
	size_t before = text->n;
	uint64_t v;
	double fraction = 0;
	if (!take_whole(text, &v))
		return ERR_RANGE;
	size_t digits = before - text->n;
	if (text->n > 0 && text->p[0] == '.') {
		*text = slice_from(*text, 1);
		before = text->n;
		fraction = take_fraction(text);
		digits += before - text->n;
	}
	if (digits == 0)
		return ERR_PARSE;
	uint64_t unit = take_unit(text);
	if (unit == 0)
		return ERR_PARSE;
	/* The small addend makes 0.3 (just below in binary) times a unit come out whole. */
	uint64_t part = (uint64_t)(fraction * (double)unit + 1e-6);
	if (__builtin_mul_overflow(v, unit, &v) || __builtin_add_overflow(v, part, &v) ||
	    __builtin_add_overflow(*total, v, total) || *total > MAX_NS)
		return ERR_RANGE;
	return 0;
}

int duration_parse(struct slice text, int64_t *ret_ns)
{
	bool negative = text.n > 0 && text.p[0] == '-';
	if (text.n > 0 && (text.p[0] == '-' || text.p[0] == '+'))
		text = slice_from(text, 1);
	if (slice_is(text, "0")) {
		*ret_ns = 0;
		return 0;
	}
	if (text.n == 0)
		return ERR_PARSE;
	uint64_t total = 0;
	while (text.n > 0) {
		int r = take_term(&text, &total);
		if (r < 0)
			return r;
	}
	if (total == MAX_NS && !negative)
		return ERR_RANGE;
	*ret_ns = negative ? (int64_t)(0 - total) : (int64_t)total;
	return 0;
}

/* v/unit with as many digits after the point as needed; unit is a power of ten up to 1e9. */
static void print_decimal(char out[32], uint64_t value, uint64_t unit)
{
	unsigned long long nano = value % unit * (NS_PER_S / unit);
	int n = snprintf(out, 32, "%llu.%09llu", (unsigned long long)(value / unit), nano);
	while (out[n - 1] == '0')
		n--;
	if (out[n - 1] == '.')
		n--;
	out[n] = '\0';
}

const char *duration_str(int64_t ns, char *out, size_t len)
{
	const char *sign = ns < 0 ? "-" : "";
	uint64_t v = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
	char num[32];
	if (v == 0 || v >= NS_PER_S) {
		unsigned long long h = v / (3600 * NS_PER_S), m = v / (60 * NS_PER_S) % 60;
		print_decimal(num, v % (60 * NS_PER_S), NS_PER_S);
		if (h > 0)
			snprintf(out, len, "%s%lluh%llum%ss", sign, h, m, num);
		else if (m > 0)
			snprintf(out, len, "%s%llum%ss", sign, m, num);
		else
			snprintf(out, len, "%s%ss", sign, num);
		return out;
	}
	uint64_t unit = v < 1000 ? 1 : v < NS_PER_MS ? 1000 : NS_PER_MS;
	print_decimal(num, v, unit);
	snprintf(out, len, "%s%s%s", sign, num,
		 v < 1000	 ? "ns"
		 : v < NS_PER_MS ? "\xc2\xb5s"
				 : "ms");
	return out;
}
