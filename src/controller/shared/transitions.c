/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finds the conditions that became bad, good again, or bad for another reason. */
#include "controller/shared/transitions.h"

#include <string.h>

#include "api/meta.h"

static bool is_among(const char *words, const char *word)
{
	size_t n = strlen(word);
	for (const char *p = words; n != 0 && (p = strstr(p, word)) != NULL; p += n)
		if (p[-1] == ' ' && p[n] == ' ')
			return true;
	return false;
}

static bool is_bad(const struct transition_row *row, const json_t *conditions)
{
	return api_condition_find(conditions, row->type) != NULL &&
	       row->bad[api_condition_status(conditions, row->type)];
}

static bool is_same(const json_t *left, const json_t *right, const char *name)
{
	return strcmp(api_get_string(left, name), api_get_string(right, name)) == 0;
}

static bool find_transition(const struct transition_row *row, const json_t *before,
			    const json_t *after, struct transition *ret)
{
	const json_t *old = api_condition_find(before, row->type);
	const json_t *now = api_condition_find(after, row->type);
	const char *reason = api_get_string(now, "reason");
	bool bad = is_bad(row, after);
	if (now == NULL || is_among(row->quiet, reason) || (!bad && !is_bad(row, before)))
		return false;
	if (bad && ((old == NULL && is_among(row->quiet_first, reason)) ||
		    (is_same(old, now, "status") && is_same(old, now, "reason") &&
		     (!row->every || is_same(old, now, "message")))))
		return false;
	*ret = (struct transition){ .reason = bad ? reason : row->good,
				    .message = api_get_string(now, "message"),
				    .warning = bad };
	return true;
}

size_t transitions_find(const struct transition_row *rows, size_t n_rows, const json_t *before,
			const json_t *after, struct transition *ret)
{
	const json_t *was = api_get(before, "status.conditions");
	const json_t *is = api_get(after, "status.conditions");
	size_t n = 0;
	for (size_t i = 0; i < n_rows; i++)
		n += find_transition(&rows[i], was, is, &ret[n]);
	return n;
}
