/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks of one value by itself: type, range, length, pattern, format and enum. The order of the checks,
 * what ends them early and the messages are those of the API server's library. */
#include "api/schema/scalar_priv.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/tree.h"
#include "base/mem.h"
#include "base/text/utf8.h"

/* ---- type ---- */

static enum schema_type type_of(const json_t *value)
{
	switch (json_typeof(value)) {
	case JSON_OBJECT:
		return SCHEMA_OBJECT;
	case JSON_ARRAY:
		return SCHEMA_ARRAY;
	case JSON_STRING:
		return SCHEMA_STRING;
	case JSON_INTEGER:
		return SCHEMA_INTEGER;
	case JSON_REAL:
		return SCHEMA_NUMBER;
	case JSON_TRUE:
	case JSON_FALSE:
		return SCHEMA_BOOLEAN;
	case JSON_NULL:
		break;
	}
	return SCHEMA_ANY;
}

/* An integer, or as near to one as the library accepts for an integer, and exact in a double. */
static bool is_whole(double number)
{
	double near = round(number);
	if (!(fabs(number) <= 0x1p53 - 1))
		return false;
	return number == near || (near != 0 && fabs(number - near) < 1e-9 * fabs(near));
}

static bool type_accepts(const struct schema_node *node, enum schema_type type)
{
	return node->int_or_string ? type == SCHEMA_INTEGER || type == SCHEMA_STRING
				   : node->type == type;
}

static void wrong_type(const struct schema_walk *walk, const char *want, const char *got,
		       struct schema_result *result)
{
	CLEANUP(strbuf_done) struct strbuf quoted = STRBUF_INIT;
	strbuf_add_quoted(&quoted, slice_of(got));
	schema_result_add(result, walk, API_FIELD_TYPE, quoted.s, "must be of type %s: %s", want,
			  quoted.s);
}

/* How the library calls the precise kind of a number. */
static const char *kind_of(enum schema_type type)
{
	return type == SCHEMA_INTEGER ? "int64" : type == SCHEMA_NUMBER ? "float64" : "";
}

void schema_check_type(const struct schema_node *node, const struct schema_walk *walk,
		       const json_t *value, struct schema_result *result)
{
	enum schema_type t = type_of(value);
	if (t != SCHEMA_ANY && type_accepts(node, t)) {
		result->n_passed++;
		return;
	}
	const char *want = node->int_or_string ? "integer,string" : schema_type_words[node->type];
	if (t == SCHEMA_ANY) {
		if (want[0] != '\0' && !node->nullable)
			wrong_type(walk, want, "null", result);
		else
			result->n_passed++;
		return;
	}
	bool whole = t == SCHEMA_NUMBER && type_accepts(node, SCHEMA_INTEGER) &&
		     is_whole(json_real_value(value));
	bool fits = whole || (t == SCHEMA_INTEGER && type_accepts(node, SCHEMA_NUMBER));
	bool text_or_list = t == SCHEMA_STRING || t == SCHEMA_ARRAY;
	bool number = type_accepts(node, SCHEMA_NUMBER) || type_accepts(node, SCHEMA_INTEGER);
	if (node->format != NULL && !text_or_list && !fits &&
	    strcmp(kind_of(t), node->format) != 0) {
		wrong_type(walk, node->format, kind_of(t), result);
		return;
	}
	/* With a format, a text is left to the format's check; so is a list, which nothing checks.
	 */
	if (!fits && !(node->format != NULL && text_or_list && !number)) {
		wrong_type(walk, want, schema_type_words[t], result);
		return;
	}
	result->n_passed++;
}

/* ---- enum ---- */

/* Numbers are compared after conversion, as Go's reflection does. */
static bool same_value(const json_t *left, const json_t *right)
{
	if (json_is_number(left) && json_is_number(right))
		return json_number_value(left) == json_number_value(right);
	return json_equal(left, right) != 0;
}

void schema_check_enum(const struct schema_node *node, const struct schema_walk *walk,
		       const json_t *val, struct schema_result *result)
{
	CLEANUP(strbuf_done) struct strbuf words = STRBUF_INIT, value = STRBUF_INIT;
	if (node->enums == NULL)
		return;
	for (size_t i = 0; i < json_array_size(node->enums); i++) {
		const json_t *e = json_array_get(node->enums, i);
		CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
		if (!json_is_null(val) && same_value(val, e))
			return;
		if (json_is_string(e))
			strbuf_adds(&text, api_text(e));
		else
			api_fielderr_value(&text, e);
		strbuf_adds(&words, i != 0 ? ", " : "");
		strbuf_add_quoted(&words, strbuf_slice(&text));
	}
	api_fielderr_value(&value, val);
	schema_result_add(result, walk, API_FIELD_UNSUPPORTED, value.s, "supported values: %s",
			  words.s);
}

/* ---- texts ---- */

static bool fits_pattern(const struct schema_node *node, const struct schema_walk *walk,
			 struct slice text)
{
	return node->re == NULL || regex_match(node->re, walk->scratch, text);
}

static void invalid_text(const struct schema_walk *walk, const json_t *text,
			 struct schema_result *result, const char *fmt, ...) PRINTF_LIKE(4, 5);

static void invalid_text(const struct schema_walk *walk, const json_t *text,
			 struct schema_result *result, const char *fmt, ...)
{
	CLEANUP(strbuf_done) struct strbuf value = STRBUF_INIT, why = STRBUF_INIT;
	va_list ap;
	api_fielderr_value(&value, text);
	va_start(ap, fmt);
	strbuf_vaddf(&why, fmt, ap);
	va_end(ap);
	schema_result_add(result, walk, API_FIELD_INVALID, value.s, "%s", why.s);
}

/* Is the text long or short enough that its characters must be counted? A character has one to four
 * bytes. */
static bool needs_length(const struct schema_node *node, size_t n_bytes)
{
	return (node->max_length >= 0 && n_bytes > (uint64_t)node->max_length) ||
	       (node->min_length > 0 && n_bytes / 4 < (uint64_t)node->min_length);
}

/* The first of length, length and pattern that fails; then the format. */
void schema_check_string(const struct schema_node *node, const struct schema_walk *walk,
			 const json_t *val, struct schema_result *result)
{
	struct slice s = api_text_slice(val);
	const bool counted = needs_length(node, s.n);
	const int64_t length = counted ? (int64_t)utf8_length(s) : 0;
	if (counted && node->max_length >= 0 && length > node->max_length)
		schema_result_add(result, walk, API_FIELD_TOO_LONG, NULL,
				  "may not be more than %lld byte%s", (long long)node->max_length,
				  node->max_length == 1 ? "" : "s");
	else if (counted && length < node->min_length)
		invalid_text(walk, val, result, "should be at least %lld chars long",
			     (long long)node->min_length);
	else if (!fits_pattern(node, walk, s))
		invalid_text(walk, val, result, "should match '%s'", regex_pattern(node->re));
	result->n_passed++;
	if (node->check == NULL)
		return;
	if (!node->check->fits(s))
		wrong_type(walk, node->format, api_text(val), result);
	result->n_passed++;
}

/* ---- numbers ---- */

static bool in_int_range(double number, const char *format)
{
	double limit = format != NULL && strcmp(format, "int32") == 0 ? 0x1p31 : 0x1p63;
	return number == trunc(number) && number >= -limit && number < limit;
}

/* Is the number one that the schema's type and format can hold? */
static bool in_range(const struct schema_node *node, double number)
{
	if (node->int_or_string)
		return true;
	if (node->type == SCHEMA_INTEGER)
		return in_int_range(number, node->format);
	if (node->type == SCHEMA_NUMBER && node->format != NULL &&
	    strcmp(node->format, "float") == 0)
		return fabs(number) <= 0x1.fffffep127;
	return true;
}

static void report_range(const struct schema_node *node, const struct schema_walk *walk,
			 const char *what, struct schema_result *result)
{
	CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
	schema_walk_path(walk, &path);
	if (node->format != NULL)
		schema_result_add_global(result, walk,
					 "%s value must be of type %s with format %s in %s", what,
					 schema_type_words[node->type], node->format, path.s);
	else
		schema_result_add_global(result, walk,
					 "%s value must be of type %s (default format) in %s", what,
					 schema_type_words[node->type], path.s);
}

static bool check_range(const struct schema_node *node, const struct schema_walk *walk,
			double number, const char *what, struct schema_result *result)
{
	if (in_range(node, number))
		return true;
	report_range(node, walk, what, result);
	return false;
}

struct number {
	const json_t *v;
	bool whole; /* compared as a whole number */
};

/* Less than, equal, greater than the bound: -1, 0, 1. Whole numbers keep their precision. */
static int compare_numbers(const struct number *number, double bound)
{
	if (number->whole && fabs(bound) < 0x1p63) {
		json_int_t a = json_integer_value(number->v), b = (json_int_t)bound;
		return (a > b) - (a < b);
	}
	double a = json_number_value(number->v);
	return (a > bound) - (a < bound);
}

static void check_bound(const struct schema_node *node, const struct schema_walk *walk,
			const struct number *number, bool upper, struct schema_result *result)
{
	CLEANUP(strbuf_done) struct strbuf value = STRBUF_INIT, limit = STRBUF_INIT;
	const struct schema_bound *b = upper ? &node->max : &node->min;
	bool exclusive = upper ? node->exclusive_max : node->exclusive_min;
	if (!b->set)
		return;
	struct number as = *number;
	if (!check_range(node, walk, b->value, upper ? "Maximum boundary" : "Minimum boundary",
			 result))
		as.whole = false;
	int side = compare_numbers(&as, b->value) * (upper ? 1 : -1);
	if (side < 0 || (side == 0 && !exclusive))
		return;
	api_fielderr_value(&value, number->v);
	if (as.whole)
		strbuf_addf(&limit, "%lld", (long long)b->value);
	else
		api_fielderr_float(&limit, b->value);
	schema_result_add(result, walk, API_FIELD_INVALID, value.s, "should be %s than %s%s",
			  upper ? "less" : "greater", exclusive ? "" : "or equal to ", limit.s);
}

static bool is_multiple(const struct number *number, double factor)
{
	if (number->whole && factor >= 1 && factor < 0x1p63)
		return json_integer_value(number->v) % (json_int_t)factor == 0;
	double q = factor < 1 ? 1 / factor * json_number_value(number->v)
			      : json_number_value(number->v) / factor;
	return is_whole(q);
}

static void check_multiple(const struct schema_node *node, const struct schema_walk *walk,
			   const struct number *number, struct schema_result *result)
{
	CLEANUP(strbuf_done) struct strbuf value = STRBUF_INIT, factor = STRBUF_INIT;
	if (!node->multiple.set)
		return;
	struct number as = *number;
	if (!check_range(node, walk, node->multiple.value, "MultipleOf", result))
		as.whole = false;
	if (is_multiple(&as, node->multiple.value))
		return;
	api_fielderr_value(&value, number->v);
	api_fielderr_float(&factor, node->multiple.value);
	schema_result_add(result, walk, API_FIELD_INVALID, value.s, "should be a multiple of %s",
			  factor.s);
}

void schema_check_number(const struct schema_node *node, const struct schema_walk *walk,
			 const json_t *value, struct schema_result *result)
{
	struct number x = { value, json_is_integer(value) };
	if (!x.whole || (node->format != NULL && strcmp(node->format, "int32") == 0))
		check_range(node, walk, json_number_value(value), "Checked", result);
	check_multiple(node, walk, &x, result);
	check_bound(node, walk, &x, false, result);
	check_bound(node, walk, &x, true, result);
	result->n_passed += 2;
}
