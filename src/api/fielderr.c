/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lists of field errors and how values are written in them. */
#include "api/fielderr.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/tree.h"
#include "base/mem.h"
#include "base/vec.h"

static const struct {
	const char *text, *reason;
} types[] = {
	[API_FIELD_INVALID] = { "Invalid value", "FieldValueInvalid" },
	[API_FIELD_TYPE] = { "Invalid value", "FieldValueTypeInvalid" },
	[API_FIELD_REQUIRED] = { "Required value", "FieldValueRequired" },
	[API_FIELD_UNSUPPORTED] = { "Unsupported value", "FieldValueNotSupported" },
	[API_FIELD_TOO_LONG] = { "Too long", "FieldValueTooLong" },
	[API_FIELD_TOO_MANY] = { "Too many", "FieldValueTooMany" },
	[API_FIELD_DUPLICATE] = { "Duplicate value", "FieldValueDuplicate" },
	[API_FIELD_FORBIDDEN] = { "Forbidden", "FieldValueForbidden" },
};

void api_errors_cut(struct api_errors *errors, size_t count)
{
	while (errors->n > count) {
		errors->n--;
		free(errors->v[errors->n].field);
		free(errors->v[errors->n].body);
	}
}

void api_errors_done(struct api_errors *errors)
{
	api_errors_cut(errors, 0);
	vec_done(errors);
}

void api_errors_add(struct api_errors *errors, enum api_fielderr_type type, const char *field,
		    const char *value, const char *detail)
{
	CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;
	if (errors->n >= API_ERRORS_MAX)
		return;
	strbuf_adds(&body, types[type].text);
	if (value != NULL)
		strbuf_addf(&body, ": %s", value);
	if (detail[0] != '\0')
		strbuf_addf(&body, ": %s", detail);
	vec_push(errors, (struct api_fielderr){ type, xstrdup(field[0] != '\0' ? field : "<nil>"),
						strbuf_take(&body) });
}

void api_errors_move(struct api_errors *to, struct api_errors *from)
{
	size_t i = 0;
	for (; i < from->n && to->n < API_ERRORS_MAX; i++)
		vec_push(to, from->v[i]);
	if (i != from->n)
		memmove(from->v, from->v + i, (from->n - i) * sizeof(*from->v));
	from->n -= i;
	api_errors_cut(from, 0);
}

static bool is_same(const struct api_fielderr *left, const struct api_fielderr *right)
{
	return strcmp(left->body, right->body) == 0 && strcmp(left->field, right->field) == 0;
}

static bool seen_before(const struct api_errors *errors, size_t index)
{
	for (size_t k = 0; k < index; k++) {
		if (is_same(&errors->v[k], &errors->v[index]))
			return true;
	}
	return false;
}

void api_errors_text(const struct api_errors *errors, const char *kind, const char *name,
		     struct strbuf *out)
{
	CLEANUP(strbuf_done) struct strbuf list = STRBUF_INIT;
	size_t n = 0;
	strbuf_addf(out, "%s ", kind);
	strbuf_add_quoted(out, slice_of(name));
	strbuf_adds(out, " is invalid");
	for (size_t i = 0; i < errors->n; i++) {
		if (seen_before(errors, i))
			continue;
		strbuf_addf(&list, "%s%s: %s", n != 0 ? ", " : "", errors->v[i].field,
			    errors->v[i].body);
		n++;
	}
	if (n != 0)
		strbuf_addf(out, n == 1 ? ": %s" : ": [%s]", list.s);
}

json_t *api_errors_causes(const struct api_errors *errors)
{
	json_t *list = json_array();
	for (size_t i = 0; i < errors->n; i++) {
		const struct api_fielderr *f = &errors->v[i];
		json_array_append_new(list, json_pack("{ss,ss,ss}", "reason", types[f->type].reason,
						      "message", f->body, "field", f->field));
	}
	return list;
}

/* ---- values ---- */

/* Digits and exponent of the shortest decimal that reads back as v (finite, not 0): d.ddd * 10^exp.
 */
static int shortest_number(double number, char digits[24])
{
	char text[40];
	for (int precision = 0; precision < 17; precision++) {
		snprintf(text, sizeof(text), "%.*e", precision, number);
		if (strtod(text, NULL) == number)
			break;
	}
	size_t n = 0;
	for (const char *p = text; *p != 'e'; p++) {
		if (ascii_isdigit(*p))
			digits[n++] = *p;
	}
	digits[n] = '\0';
	return (int)strtol(strchr(text, 'e') + 1, NULL, 10);
}

static void add_plain(struct strbuf *out, const char *digits, int exp)
{
	int n = (int)strlen(digits);
	if (exp < 0) {
		strbuf_adds(out, "0.");
		for (int i = exp + 1; i < 0; i++)
			strbuf_addc(out, '0');
		strbuf_adds(out, digits);
		return;
	}
	for (int i = 0; i < MAX(n, exp + 1); i++) {
		if (i == exp + 1)
			strbuf_addc(out, '.');
		strbuf_addc(out, i < n ? digits[i] : '0');
	}
}

void api_fielderr_float(struct strbuf *out, double number)
{
	char digits[24] = "";
	if (number == 0) {
		strbuf_addc(out, '0');
		return;
	}
	int exp = shortest_number(number, digits);
	if (number < 0)
		strbuf_addc(out, '-');
	if (exp >= -4 && exp < 6) { /* Go's bounds for the shortest form */
		add_plain(out, digits, exp);
		return;
	}
	strbuf_addf(out, "%c%s%s", digits[0], digits[1] != '\0' ? "." : "", digits + 1);
	strbuf_addf(out, "e%c%02d", exp < 0 ? '-' : '+', exp < 0 ? -exp : exp);
}

/* Go's encoder writes <, > and & as escapes, for pages of HTML. They stand only in texts. */
static void add_json(struct strbuf *out, const json_t *value)
{
	CLEANUP(freep)
	char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_SORT_KEYS);
	for (const char *p = text != NULL ? text : "null"; *p != '\0'; p++) {
		if (strchr("<>&", *p) != NULL)
			strbuf_addf(out, "\\u%04x", (unsigned)*p);
		else
			strbuf_addc(out, *p);
	}
}

void api_fielderr_value(struct strbuf *out, const json_t *value)
{
	if (json_is_string(value))
		strbuf_add_quoted(out, api_text_slice(value));
	else if (json_is_real(value))
		api_fielderr_float(out, json_real_value(value));
	else
		add_json(out, value);
}

/* ---- Go's %v ---- */

static int by_name(const void *left, const void *right)
{
	return strcmp(*(const char *const *)left, *(const char *const *)right);
}

static void add_go_map(struct strbuf *out, const json_t *map)
{
	size_t n = 0, all = json_object_size(map);
	const char **names = xcalloc(all + 1, sizeof(*names));
	const char *key;
	json_t *v;
	json_object_foreach (api_tree(map), key, v)
		names[n++] = key;
	qsort(names, n, sizeof(*names), by_name);
	strbuf_adds(out, "map[");
	for (size_t i = 0; i < n; i++) {
		strbuf_addf(out, "%s%s:", i != 0 ? " " : "", names[i]);
		api_fielderr_go(out, json_object_get(map, names[i]));
	}
	strbuf_addc(out, ']');
	free(names);
}

void api_fielderr_go(struct strbuf *out, const json_t *value)
{
	if (json_is_object(value)) {
		add_go_map(out, value);
	} else if (json_is_array(value)) {
		for (size_t i = 0; i < json_array_size(value); i++) {
			strbuf_addc(out, i != 0 ? ' ' : '[');
			api_fielderr_go(out, json_array_get(value, i));
		}
		strbuf_adds(out, json_array_size(value) != 0 ? "]" : "[]");
	} else if (json_is_real(value)) {
		api_fielderr_float(out, json_real_value(value));
	} else if (json_is_integer(value)) {
		strbuf_addf(out, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
	} else if (json_is_string(value)) {
		strbuf_adds(out, api_text(value));
	} else {
		strbuf_adds(out, json_is_boolean(value) ? json_is_true(value) ? "true" : "false"
							: "<nil>");
	}
}
