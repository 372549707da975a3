/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The errors of a validation, each message once, and the number of checks that succeeded, by
 * which the API server chooses between the alternatives of anyOf and oneOf. */
#include "api/schema/result_priv.h"

#include <assert.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "api/schema/path_priv.h"
#include "base/mem.h"

static void add_place(struct strbuf *out, const struct schema_place *place)
{
	if (place == NULL)
		return;
	add_place(out, place->around);
	if (place->key != NULL)
		schema_path_child(out, place->key);
	else
		schema_path_index(out, place->index);
}

void schema_walk_path(const struct schema_walk *walk, struct strbuf *out)
{
	add_place(out, walk->place);
}

void schema_result_done(struct schema_result *result)
{
	for (size_t i = 0; i < result->keys.n; i++)
		free(result->keys.v[i]);
	vec_done(&result->keys);
	api_errors_done(&result->errs);
}

/* The same message is reported once. */
static bool has_key(const struct schema_result *result, const char *key)
{
	for (size_t i = 0; i < result->keys.n; i++) {
		if (strcmp(result->keys.v[i], key) == 0)
			return true;
	}
	return false;
}

void schema_result_merge(struct schema_result *result, struct schema_result *from)
{
	assert(from->errs.n == from->keys.n);
	for (size_t i = 0; i < from->errs.n; i++) {
		if (has_key(result, from->keys.v[i]) || result->errs.n >= API_ERRORS_MAX) {
			free(from->errs.v[i].field);
			free(from->errs.v[i].body);
			free(from->keys.v[i]);
			continue;
		}
		vec_push(&result->errs, from->errs.v[i]);
		vec_push(&result->keys, from->keys.v[i]);
	}
	result->n_passed += from->n_passed;
	vec_done(&from->errs);
	vec_done(&from->keys);
	from->n_passed = 0;
}

static void add_error(struct schema_result *result, enum api_fielderr_type type, const char *field,
		      const char *value, const char *detail, const char *key)
{
	if (has_key(result, key) || result->errs.n >= API_ERRORS_MAX)
		return;
	api_errors_add(&result->errs, type, field, value, detail);
	vec_push(&result->keys, xstrdup(key));
}

void schema_result_add(struct schema_result *result, const struct schema_walk *walk,
		       enum api_fielderr_type type, const char *value, const char *fmt, ...)
{
	CLEANUP(strbuf_done)
	struct strbuf text = STRBUF_INIT, field = STRBUF_INIT, path = STRBUF_INIT;
	bool whole = type == API_FIELD_INVALID || type == API_FIELD_TYPE;
	va_list ap;
	schema_walk_path(walk, &path);
	strbuf_addf(&text, "%s in body ", path.s);
	size_t n = text.n;
	va_start(ap, fmt);
	strbuf_vaddf(&text, fmt, ap);
	va_end(ap);
	strbuf_adds(&field, walk->under);
	if (path.n != 0)
		schema_path_child(&field, path.s);
	add_error(result, type, field.s, value, whole ? text.s : text.s + n, text.s);
}

void schema_result_add_global(struct schema_result *result, const struct schema_walk *walk,
			      const char *fmt, ...)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	va_list ap;
	va_start(ap, fmt);
	strbuf_vaddf(&text, fmt, ap);
	va_end(ap);
	add_error(result, API_FIELD_INVALID, walk->under, "\"\"", text.s, text.s);
}
