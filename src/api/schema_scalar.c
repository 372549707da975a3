/* Checks of one value by itself: its type, range, length, pattern, format and the words it may be.
 * The order of checks, what ends them early and the words are those of the server's library. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/schema_priv.h"
#include "api/tree.h"
#include "base/mem.h"
#include "base/utf8.h"

/* ---- results ---- */

void schema_result_done(struct schema_result *r)
{
	for (size_t i = 0; i < r->keys.n; i++)
		free(r->keys.v[i]);
	vec_done(&r->keys);
	api_errors_done(&r->errs);
}

/* The same text is told once. */
static bool has_key(const struct schema_result *r, const char *key)
{
	for (size_t i = 0; i < r->keys.n; i++) {
		if (strcmp(r->keys.v[i], key) == 0)
			return true;
	}
	return false;
}

void schema_result_merge(struct schema_result *r, struct schema_result *from)
{
	for (size_t i = 0; i < from->errs.n; i++) {
		if (has_key(r, from->keys.v[i]) || r->errs.n >= API_ERRORS_MAX) {
			free(from->errs.v[i].field);
			free(from->errs.v[i].body);
			free(from->keys.v[i]);
			continue;
		}
		vec_push(&r->errs, from->errs.v[i]);
		vec_push(&r->keys, from->keys.v[i]);
	}
	r->matches += from->matches;
	vec_done(&from->errs);
	vec_done(&from->keys);
	from->matches = 0;
}

static void add(struct schema_result *r, enum api_fielderr_type type, const char *field,
		const char *value, const char *detail, const char *key)
{
	if (has_key(r, key) || r->errs.n >= API_ERRORS_MAX)
		return;
	api_errors_add(&r->errs, type, field, value, detail);
	vec_push(&r->keys, xstrdup(key));
}

void schema_fail(struct schema_result *r, const struct schema_walk *w, enum api_fielderr_type type,
		 const char *value, const char *fmt, ...)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT, field = STRBUF_INIT;
	bool whole = type == API_FIELD_INVALID || type == API_FIELD_TYPE;
	va_list ap;
	strbuf_addf(&text, "%s in body ", w->path.s);
	size_t n = text.n;
	va_start(ap, fmt);
	strbuf_vaddf(&text, fmt, ap);
	va_end(ap);
	strbuf_adds(&field, w->under);
	if (w->path.n != 0)
		schema_path_child(&field, w->path.s);
	add(r, type, field.s, value, whole ? text.s : text.s + n, text.s);
}

void schema_fail_whole(struct schema_result *r, const struct schema_walk *w, const char *fmt, ...)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	va_list ap;
	va_start(ap, fmt);
	strbuf_vaddf(&text, fmt, ap);
	va_end(ap);
	add(r, API_FIELD_INVALID, w->under, "\"\"", text.s, text.s);
}

/* ---- type ---- */

const char *const schema_type_words[] = {
	[SCHEMA_ANY] = "",
	[SCHEMA_OBJECT] = "object",
	[SCHEMA_ARRAY] = "array",
	[SCHEMA_STRING] = "string",
	[SCHEMA_INTEGER] = "integer",
	[SCHEMA_NUMBER] = "number",
	[SCHEMA_BOOLEAN] = "boolean",
	NULL,
};

static enum schema_type type_of(const json_t *v)
{
	switch (json_typeof(v)) {
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

/* Whole, or as near to it as the library takes for whole, and exact in a double. */
static bool is_whole(double v)
{
	double near = round(v);
	if (!(fabs(v) <= 0x1p53 - 1))
		return false;
	return v == near || (near != 0 && fabs(v - near) < 1e-9 * fabs(near));
}

static bool takes(const struct schema_node *n, enum schema_type t)
{
	return n->int_or_string ? t == SCHEMA_INTEGER || t == SCHEMA_STRING : n->type == t;
}

static void wrong_type(const struct schema_walk *w, const char *want, const char *got,
		       struct schema_result *r)
{
	CLEANUP(strbuf_done) struct strbuf quoted = STRBUF_INIT;
	strbuf_add_quoted(&quoted, slice_of(got));
	schema_fail(r, w, API_FIELD_TYPE, quoted.s, "must be of type %s: %s", want, quoted.s);
}

/* How the library calls the precise kind of a number. */
static const char *kind_of(enum schema_type t)
{
	return t == SCHEMA_INTEGER ? "int64" : t == SCHEMA_NUMBER ? "float64" : "";
}

void schema_check_type(const struct schema_node *n, const struct schema_walk *w, const json_t *v,
		       struct schema_result *r)
{
	const char *want = n->int_or_string ? "integer,string" : schema_type_words[n->type];
	enum schema_type t = type_of(v);
	if (t == SCHEMA_ANY) {
		if (want[0] != '\0' && !n->nullable)
			wrong_type(w, want, "null", r);
		else
			r->matches++;
		return;
	}
	bool whole = t == SCHEMA_NUMBER && takes(n, SCHEMA_INTEGER) && is_whole(json_real_value(v));
	bool fits = takes(n, t) || whole || (t == SCHEMA_INTEGER && takes(n, SCHEMA_NUMBER));
	bool text_or_list = t == SCHEMA_STRING || t == SCHEMA_ARRAY;
	bool number = takes(n, SCHEMA_NUMBER) || takes(n, SCHEMA_INTEGER);
	if (n->format != NULL && !text_or_list && !fits && strcmp(kind_of(t), n->format) != 0) {
		wrong_type(w, n->format, kind_of(t), r);
		return;
	}
	/* With a format, a text is left to the format's check; so is a list, which nothing checks.
	 */
	if (!fits && !(n->format != NULL && text_or_list && !number)) {
		wrong_type(w, want, schema_type_words[t], r);
		return;
	}
	r->matches++;
}

/* ---- enum ---- */

/* Numbers are compared after conversion, as Go's reflection does. */
static bool same_value(const json_t *a, const json_t *b)
{
	if (json_is_number(a) && json_is_number(b))
		return json_number_value(a) == json_number_value(b);
	return json_equal(a, b) != 0;
}

void schema_check_enum(const struct schema_node *n, const struct schema_walk *w, const json_t *v,
		       struct schema_result *r)
{
	CLEANUP(strbuf_done) struct strbuf words = STRBUF_INIT, value = STRBUF_INIT;
	if (n->enums == NULL)
		return;
	for (size_t i = 0; i < json_array_size(n->enums); i++) {
		const json_t *e = json_array_get(n->enums, i);
		CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
		if (!json_is_null(v) && same_value(v, e))
			return;
		if (json_is_string(e))
			strbuf_adds(&text, api_text(e));
		else
			api_fielderr_value(&text, e);
		strbuf_adds(&words, i != 0 ? ", " : "");
		strbuf_add_quoted(&words, strbuf_slice(&text));
	}
	api_fielderr_value(&value, v);
	schema_fail(r, w, API_FIELD_UNSUPPORTED, value.s, "supported values: %s", words.s);
}

/* ---- texts ---- */

int64_t schema_characters(struct slice s)
{
	int64_t n = 0;
	for (uint32_t cp; s.n != 0; n++) {
		size_t took = utf8_decode(s, &cp);
		s = slice_from(s, took != 0 ? took : 1);
	}
	return n;
}

static bool fits_pattern(const struct schema_node *n, const struct schema_walk *w, struct slice s)
{
	return n->re == NULL || regex_match(n->re, w->scratch, s);
}

/* The first of length, length and pattern that fails; then the format. */
void schema_check_string(const struct schema_node *n, const struct schema_walk *w, const json_t *v,
			 struct schema_result *r)
{
	CLEANUP(strbuf_done) struct strbuf value = STRBUF_INIT;
	struct slice s = api_text_slice(v);
	int64_t length = n->max_length >= 0 || n->min_length >= 0 ? schema_characters(s) : 0;
	api_fielderr_value(&value, v);
	if (n->max_length >= 0 && length > n->max_length)
		schema_fail(r, w, API_FIELD_TOO_LONG, NULL, "may not be more than %lld byte%s",
			    (long long)n->max_length, n->max_length == 1 ? "" : "s");
	else if (length < n->min_length)
		schema_fail(r, w, API_FIELD_INVALID, value.s, "should be at least %lld chars long",
			    (long long)n->min_length);
	else if (!fits_pattern(n, w, s))
		schema_fail(r, w, API_FIELD_INVALID, value.s, "should match '%s'",
			    regex_pattern(n->re));
	r->matches++;
	if (n->check == NULL)
		return;
	if (!n->check->fits(s))
		wrong_type(w, n->format, api_text(v), r);
	r->matches++;
}

/* ---- numbers ---- */

static bool in_int_range(double v, const char *format)
{
	double limit = format != NULL && strcmp(format, "int32") == 0 ? 0x1p31 : 0x1p63;
	return v == trunc(v) && v >= -limit && v < limit;
}

/* Is the number one that the schema's type and format can hold? */
static bool in_range(const struct schema_node *n, double v)
{
	if (n->int_or_string)
		return true;
	if (n->type == SCHEMA_INTEGER)
		return in_int_range(v, n->format);
	if (n->type == SCHEMA_NUMBER && n->format != NULL && strcmp(n->format, "float") == 0)
		return fabs(v) <= 0x1.fffffep127;
	return true;
}

static bool check_range(const struct schema_node *n, const struct schema_walk *w, double v,
			const char *what, struct schema_result *r)
{
	if (in_range(n, v))
		return true;
	if (n->format != NULL)
		schema_fail_whole(r, w, "%s value must be of type %s with format %s in %s", what,
				  schema_type_words[n->type], n->format, w->path.s);
	else
		schema_fail_whole(r, w, "%s value must be of type %s (default format) in %s", what,
				  schema_type_words[n->type], w->path.s);
	return false;
}

struct number {
	const json_t *v;
	bool whole; /* compared as a whole number */
};

/* Less than, equal, greater than the bound: -1, 0, 1. Whole numbers keep their precision. */
static int compare(const struct number *x, double bound)
{
	if (x->whole && fabs(bound) < 0x1p63) {
		json_int_t a = json_integer_value(x->v), b = (json_int_t)bound;
		return (a > b) - (a < b);
	}
	double a = json_number_value(x->v);
	return (a > bound) - (a < bound);
}

static void check_bound(const struct schema_node *n, const struct schema_walk *w,
			const struct number *x, bool upper, struct schema_result *r)
{
	CLEANUP(strbuf_done) struct strbuf value = STRBUF_INIT, limit = STRBUF_INIT;
	const struct schema_bound *b = upper ? &n->max : &n->min;
	bool exclusive = upper ? n->exclusive_max : n->exclusive_min;
	if (!b->set)
		return;
	struct number as = *x;
	if (!check_range(n, w, b->v, upper ? "Maximum boundary" : "Minimum boundary", r))
		as.whole = false;
	int side = compare(&as, b->v) * (upper ? 1 : -1);
	if (side < 0 || (side == 0 && !exclusive))
		return;
	api_fielderr_value(&value, x->v);
	if (as.whole)
		strbuf_addf(&limit, "%lld", (long long)b->v);
	else
		api_fielderr_float(&limit, b->v);
	schema_fail(r, w, API_FIELD_INVALID, value.s, "should be %s than %s%s",
		    upper ? "less" : "greater", exclusive ? "" : "or equal to ", limit.s);
}

static bool is_multiple(const struct number *x, double factor)
{
	if (x->whole && factor >= 1 && factor < 0x1p63)
		return json_integer_value(x->v) % (json_int_t)factor == 0;
	double q = factor < 1 ? 1 / factor * json_number_value(x->v)
			      : json_number_value(x->v) / factor;
	return is_whole(q);
}

static void check_multiple(const struct schema_node *n, const struct schema_walk *w,
			   const struct number *x, struct schema_result *r)
{
	CLEANUP(strbuf_done) struct strbuf value = STRBUF_INIT, factor = STRBUF_INIT;
	if (!n->multiple.set)
		return;
	struct number as = *x;
	if (!check_range(n, w, n->multiple.v, "MultipleOf", r))
		as.whole = false;
	if (is_multiple(&as, n->multiple.v))
		return;
	api_fielderr_value(&value, x->v);
	api_fielderr_float(&factor, n->multiple.v);
	schema_fail(r, w, API_FIELD_INVALID, value.s, "should be a multiple of %s", factor.s);
}

void schema_check_number(const struct schema_node *n, const struct schema_walk *w, const json_t *v,
			 struct schema_result *r)
{
	struct number x = { v, json_is_integer(v) };
	if (!x.whole || (n->format != NULL && strcmp(n->format, "int32") == 0))
		check_range(n, w, json_number_value(v), "Checked", r);
	check_multiple(n, w, &x, r);
	check_bound(n, w, &x, false, r);
	check_bound(n, w, &x, true, r);
	r->matches += 2;
}
