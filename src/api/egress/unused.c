/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The mark of a DNSName, as text. */
#include "api/egress/unused.h"

#include <stdio.h>
#include <string.h>

#include "api/time.h"
#include "base/err.h"
#include "base/slice.h"

static const struct {
	enum egress_use use;
	const char *word;
} words[] = {
	{ EGRESS_USE_REGULAR, "regular" },
	{ EGRESS_USE_WILDCARD, "wildcard" },
	{ EGRESS_USE_ANY_DEPTH, "any-depth" },
};

const char *egress_unused_format(const struct egress_unused *unused,
				 char out[EGRESS_UNUSED_TEXT_MAX])
{
	api_micro_time_format(unused->since_ns, out);
	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		size_t n = strlen(out);
		if (unused->uses & words[i].use)
			snprintf(out + n, EGRESS_UNUSED_TEXT_MAX - n, ",%s", words[i].word);
	}
	return out;
}

static unsigned use_of(struct slice word)
{
	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		if (slice_eq(word, slice_of(words[i].word)))
			return words[i].use;
	}
	return 0;
}

int egress_unused_parse(const char *text, struct egress_unused *ret)
{
	struct egress_unused parsed = { 0 };
	char time[API_TIME_TEXT_MAX];
	if (text == NULL || strlen(text) >= EGRESS_UNUSED_TEXT_MAX || strchr(text, ' ') != NULL)
		return ERR_PARSE;
	struct slice rest = slice_of(text), first = slice_cut(&rest, ',');
	if (first.n >= sizeof(time) || rest.n == 0)
		return ERR_PARSE;
	snprintf(time, sizeof(time), "%.*s", (int)first.n, first.p);
	if (api_time_parse(time, &parsed.since_ns) < 0)
		return ERR_PARSE;
	while (rest.p != NULL) {
		unsigned use = use_of(slice_cut(&rest, ','));
		if (use == 0)
			return ERR_PARSE; /* of another version: what it means is not known */
		parsed.uses |= use;
	}
	*ret = parsed;
	return 0;
}
