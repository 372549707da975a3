/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Formats a time span with one or two units, as kubectl prints ages. */
#include "apiserver/kind/age.h"

#include <stdio.h>

#include "api/time.h"
#include "base/clock.h"
#include "base/compiler.h"

enum { MINUTE_S = 60, HOUR_S = 3600, DAY_S = 24 * HOUR_S, YEAR_S = 365 * DAY_S };

/* Spans below `below_s` are printed in `unit`, and the remainder in `rest`. */
static const struct {
	int64_t below_s;
	int64_t unit_s, rest_s; /* rest_s 0: no remainder */
	char unit, rest;
} forms[] = {
	{ 2 * MINUTE_S, 1, 0, 's', 0 },
	{ 10 * MINUTE_S, MINUTE_S, 1, 'm', 's' },
	{ 3 * HOUR_S, MINUTE_S, 0, 'm', 0 },
	{ 8 * HOUR_S, HOUR_S, MINUTE_S, 'h', 'm' },
	{ 2 * DAY_S, HOUR_S, 0, 'h', 0 },
	{ 8 * DAY_S, DAY_S, HOUR_S, 'd', 'h' },
	{ INT64_C(2) * YEAR_S, DAY_S, 0, 'd', 0 },
	{ INT64_C(8) * YEAR_S, YEAR_S, DAY_S, 'y', 'd' },
	{ INT64_MAX, YEAR_S, 0, 'y', 0 },
};

/* Up to one second in the future counts as 0, since clocks differ. */
static const char *format_span(int64_t seconds, char out[APISERVER_AGE_MAX])
{
	size_t i = 0;
	if (seconds < -1) {
		snprintf(out, APISERVER_AGE_MAX, "<invalid>");
		return out;
	}
	seconds = MAX(seconds, 0);
	while (i + 1 < ARRAY_LEN(forms) && seconds >= forms[i].below_s)
		i++;
	long long whole = seconds / forms[i].unit_s;
	long long rest =
		forms[i].rest_s != 0 ? seconds % forms[i].unit_s / forms[i].rest_s : INT64_C(0);
	if (rest != 0)
		snprintf(out, APISERVER_AGE_MAX, "%lld%c%lld%c", whole, forms[i].unit, rest,
			 forms[i].rest);
	else
		snprintf(out, APISERVER_AGE_MAX, "%lld%c", whole, forms[i].unit);
	return out;
}

const char *apiserver_age(const char *time, uint64_t now_s, char out[APISERVER_AGE_MAX])
{
	uint64_t then_ns;
	if (time == NULL || *time == '\0')
		return "<unknown>";
	if (api_time_parse(time, &then_ns) < 0)
		return "<invalid>";
	return format_span((int64_t)now_s - (int64_t)(then_ns / NS_PER_S), out);
}
