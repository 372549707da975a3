/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For tests: rows of a JSON file, each with an id, what is looked at, the problems as
 * "REASON field", and texts that the message must have. */
#pragma once

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "api/meta.h"
#include "controller/dnsoperator/plan/problems.h"

static inline json_t *rows_load(const char *path)
{
	json_error_t e;
	json_t *rows = json_load_file(path, JSON_ALLOW_NUL, &e);
	if (rows == NULL)
		fail_msg("%s:%d: %s", path, e.line, e.text);
	return rows;
}

static inline void rows_check(const json_t *row, const struct dnsoperator_problems *p)
{
	const char *id = api_get_string(row, "id");
	const json_t *want = json_object_get(row, "problems");
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	size_t i;
	json_t *v;
	dnsoperator_problems_text(p, &text);
	if (p->n != json_array_size(want))
		fail_msg("%s: %zu problems instead of %zu: %s", id, p->n, json_array_size(want),
			 text.s);
	json_array_foreach (want, i, v) {
		char got[400];
		snprintf(got, sizeof(got), "%s %s",
			 dnsoperator_problems_reason(
				 &(struct dnsoperator_problems){ .v = &p->v[i], .n = 1 }),
			 p->v[i].field);
		if (strcmp(got, json_string_value(v)) != 0)
			fail_msg("%s: '%s' instead of '%s'", id, got, json_string_value(v));
		/* each says why and what to do */
		assert_true(p->v[i].why[0] != '\0' && p->v[i].fix[0] != '\0');
	}
	json_array_foreach (json_object_get(row, "say"), i, v) {
		if (strstr(text.s, json_string_value(v)) == NULL)
			fail_msg("%s: '%s' is not in: %s", id, json_string_value(v), text.s);
	}
}
