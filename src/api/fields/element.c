/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Elements of field paths: their order, and their two texts, that of FieldsV1 and that of messages. */
#include "api/fields/element.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/fielderr.h"
#include "api/fields/fieldset.h"
#include "api/tree.h"
#include "api/tree_copy.h"
#include "base/err.h"
#include "base/mem.h"

static struct fieldset_el *make_element(enum fieldset_el_type type, const char *name)
{
	size_t n = strlen(name);
	struct fieldset_el *e = xmalloc(sizeof(*e) + n + 1);
	*e = (struct fieldset_el){ .refs = 1, .type = type };
	memcpy(e->name, name, n + 1);
	return e;
}

struct fieldset_el *fieldset_el_name(const char *name)
{
	return make_element(FIELDSET_NAME, name);
}

static int by_text(const void *left, const void *right)
{
	return strcmp(*(const char *const *)left, *(const char *const *)right);
}

static bool has_sorted_names(json_t *object)
{
	const char *name, *before = NULL;
	json_t *v;
	json_object_foreach (object, name, v) {
		if (before != NULL && strcmp(before, name) > 0)
			return false;
		before = name;
	}
	return true;
}

struct fieldset_el *fieldset_el_key_new(json_t *keys)
{
	struct fieldset_el *e;
	if (has_sorted_names(keys)) {
		e = make_element(FIELDSET_KEY, "");
		e->value = keys;
	} else {
		e = fieldset_el_key(keys);
		json_decref(keys);
	}
	return e;
}

struct fieldset_el *fieldset_el_key(const json_t *keys)
{
	const char *k;
	json_t *v;
	size_t n = 0;
	struct fieldset_el *e = make_element(FIELDSET_KEY, "");
	const char **names = xcalloc(json_object_size(keys) + 1, sizeof(*names));
	json_object_foreach (api_tree(keys), k, v)
		names[n++] = k;
	qsort(names, n, sizeof(*names), by_text);
	e->value = json_object();
	for (size_t i = 0; i < n; i++)
		json_object_set_new(e->value, names[i],
				    api_tree_copy(json_object_get(keys, names[i])));
	free(names);
	return e;
}

struct fieldset_el *fieldset_el_value(const json_t *value)
{
	struct fieldset_el *e = make_element(FIELDSET_VALUE, "");
	e->value = api_tree_copy(value);
	return e;
}

struct fieldset_el *fieldset_el_index(json_int_t number)
{
	struct fieldset_el *e = make_element(FIELDSET_INDEX, "");
	e->index = number;
	return e;
}

struct fieldset_el *fieldset_el_ref(struct fieldset_el *element)
{
	assert(element->refs != 0);
	element->refs++;
	return element;
}

void fieldset_el_unref(struct fieldset_el *element)
{
	assert(element == NULL || element->refs != 0);
	if (element == NULL || --element->refs > 0)
		return;
	json_decref(element->value);
	free(element);
}

/* ---- order ---- */

/* Whole numbers stay exact among themselves. */
static int number_cmp(const json_t *left, const json_t *right)
{
	if (json_is_integer(left) && json_is_integer(right)) {
		json_int_t x = json_integer_value(left), y = json_integer_value(right);
		return (x > y) - (x < y);
	}
	double x = json_number_value(left), y = json_number_value(right);
	return (x > y) - (x < y);
}

static int rank_of_type(const json_t *value)
{
	static const int ranks[] = {
		[JSON_INTEGER] = 0, [JSON_REAL] = 0,  [JSON_STRING] = 1, [JSON_FALSE] = 2,
		[JSON_TRUE] = 2,    [JSON_ARRAY] = 3, [JSON_OBJECT] = 4, [JSON_NULL] = 5,
	};
	return ranks[json_typeof(value)];
}

static int array_cmp(const json_t *left, const json_t *right)
{
	size_t n = json_array_size(left), m = json_array_size(right);
	for (size_t i = 0; i < MIN(n, m); i++) {
		int c = fieldset_value_cmp(json_array_get(left, i), json_array_get(right, i));
		if (c != 0)
			return c;
	}
	return (n > m) - (n < m);
}

/* By the sorted names, each with its value. */
static int object_cmp(const json_t *left, const json_t *right)
{
	struct fieldset_el *x = fieldset_el_key(left), *y = fieldset_el_key(right);
	int c = fieldset_el_cmp(x, y);
	fieldset_el_unref(x);
	fieldset_el_unref(y);
	return c;
}

int fieldset_value_cmp(const json_t *left, const json_t *right)
{
	int c = rank_of_type(left) - rank_of_type(right);
	if (c != 0 || left == right)
		return c;
	if (json_is_number(left))
		return number_cmp(left, right);
	if (json_is_string(left))
		return strcmp(api_text(left), api_text(right));
	if (json_is_boolean(left))
		return json_is_true(left) - json_is_true(right);
	if (json_is_array(left))
		return array_cmp(left, right);
	return json_is_object(left) ? object_cmp(left, right) : 0;
}

static int key_cmp(json_t *left, json_t *right)
{
	void *i = json_object_iter(left), *j = json_object_iter(right);
	for (; i != NULL && j != NULL;
	     i = json_object_iter_next(left, i), j = json_object_iter_next(right, j)) {
		int c = strcmp(json_object_iter_key(i), json_object_iter_key(j));
		if (c == 0)
			c = fieldset_value_cmp(json_object_iter_value(i),
					       json_object_iter_value(j));
		if (c != 0)
			return c;
	}
	return (i != NULL) - (j != NULL);
}

int fieldset_el_cmp(const struct fieldset_el *left, const struct fieldset_el *right)
{
	if (left == right)
		return 0;
	if (left->type != right->type)
		return left->type < right->type ? -1 : 1;
	switch (left->type) {
	case FIELDSET_NAME:
		return strcmp(left->name, right->name);
	case FIELDSET_KEY:
		return key_cmp(left->value, right->value);
	case FIELDSET_VALUE:
		return fieldset_value_cmp(left->value, right->value);
	case FIELDSET_INDEX:
		break;
	}
	return (left->index > right->index) - (left->index < right->index);
}

/* ---- FieldsV1 ---- */

/* Digits that give the number back, without an exponent where Go's encoder uses none. */
static void write_real(struct strbuf *out, double number)
{
	char text[64];
	double size = fabs(number);
	if (size != 0 && (size < 1e-6 || size >= 1e21)) {
		api_fielderr_float(out, number);
		return;
	}
	for (int digits = 0; digits <= 24; digits++) {
		snprintf(text, sizeof(text), "%.*f", digits, number);
		if (strtod(text, NULL) == number)
			break;
	}
	strbuf_adds(out, text);
}

/* Whether all characters stand for themselves in a string of JSON. */
static bool is_plain(struct slice text)
{
	for (size_t i = 0; i < text.n; i++) {
		if (text.p[i] < ' ' || text.p[i] > '~' || text.p[i] == '"' || text.p[i] == '\\')
			return false;
	}
	return true;
}

/* As the server's encoder does: <, > and & are escaped. */
static void write_text(struct strbuf *out, const char *text)
{
	CLEANUP(strbuf_done) struct strbuf plain = STRBUF_INIT;
	struct slice all = slice_of(text);
	if (is_plain(all) && strcspn(text, "<>&") == all.n) {
		strbuf_addc(out, '"');
		strbuf_add_slice(out, all);
		strbuf_addc(out, '"');
		return;
	}
	strbuf_add_json(&plain, slice_of(text));
	for (const char *rest = plain.s; *rest != '\0';) {
		size_t same = strcspn(rest, "<>&");
		strbuf_add(out, rest, same);
		rest += same;
		if (*rest != '\0')
			strbuf_addf(out, "\\u%04x", (unsigned)*rest++);
	}
}

static void write_value(struct strbuf *out, const json_t *value)
{
	if (json_is_real(value)) {
		write_real(out, json_real_value(value));
	} else if (json_is_string(value)) {
		write_text(out, api_text(value));
	} else {
		CLEANUP(freep)
		char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_SORT_KEYS);
		strbuf_adds(out, text != NULL ? text : "null");
	}
}

void fieldset_el_write(struct strbuf *out, const struct fieldset_el *element)
{
	const char *k;
	json_t *v;
	bool first = true;
	switch (element->type) {
	case FIELDSET_NAME:
		strbuf_adds(out, "f:");
		strbuf_adds(out, element->name);
		break;
	case FIELDSET_KEY:
		strbuf_adds(out, "k:{");
		json_object_foreach (element->value, k, v) {
			strbuf_adds(out, first ? "" : ",");
			write_text(out, k);
			strbuf_addc(out, ':');
			write_value(out, v);
			first = false;
		}
		strbuf_addc(out, '}');
		break;
	case FIELDSET_VALUE:
		strbuf_adds(out, "v:");
		write_value(out, element->value);
		break;
	case FIELDSET_INDEX:
		strbuf_addf(out, "i:%" JSON_INTEGER_FORMAT, element->index);
		break;
	}
}

static int parse_index(const char *text, struct fieldset_el **ret)
{
	char *end;
	errno = 0;
	long long i = strtoll(text, &end, 10);
	if (errno != 0 || end == text || *end != '\0' || *text == ' ')
		return ERR_PARSE;
	*ret = fieldset_el_index(i);
	return 0;
}

/* A string of JSON without escapes, as most values are; NULL: it is something else. */
static json_t *load_plain_string(struct slice text)
{
	if (text.n < 2 || text.p[0] != '"' || text.p[text.n - 1] != '"')
		return NULL;
	struct slice inner = { text.p + 1, text.n - 2 };
	return is_plain(inner) ? json_stringn_nocheck(inner.p, inner.n) : NULL;
}

int fieldset_el_parse(const char *text, struct fieldset_el **ret)
{
	json_error_t e;
	size_t n = strlen(text);
	if (n < 2 || text[1] != ':' || n > FIELDSET_KEY_MAX_BYTES)
		return ERR_PARSE;
	if (text[0] == 'f') {
		*ret = fieldset_el_name(text + 2);
		return 0;
	}
	if (text[0] == 'i')
		return parse_index(text + 2, ret);
	if (text[0] != 'k' && text[0] != 'v')
		return ERR_UNSUPPORTED;
	/* The server reads numbers of such texts as floating ones, and shows them so. */
	json_t *v = load_plain_string((struct slice){ text + 2, n - 2 });
	if (v == NULL)
		v = json_loadb(text + 2, n - 2, JSON_DECODE_ANY | JSON_DECODE_INT_AS_REAL, &e);
	if (v == NULL || (text[0] == 'k' && !json_is_object(v))) {
		json_decref(v);
		return ERR_PARSE;
	}
	if (text[0] == 'k') {
		*ret = fieldset_el_key_new(v);
	} else {
		*ret = make_element(FIELDSET_VALUE, "");
		(*ret)->value = v;
	}
	return 0;
}

/* ---- messages ---- */

static void value_text(struct strbuf *out, const json_t *value)
{
	const char *k;
	json_t *item;
	size_t i;
	if (json_is_string(value)) {
		strbuf_add_quoted(out, slice_of(api_text(value)));
	} else if (json_is_array(value)) {
		strbuf_addc(out, '[');
		json_array_foreach (value, i, item) {
			strbuf_adds(out, i > 0 ? "," : "");
			value_text(out, item);
		}
		strbuf_addc(out, ']');
	} else if (json_is_object(value)) {
		json_object_foreach (api_tree(value), k, item) {
			strbuf_addf(out, "%s=", k);
			value_text(out, item);
		}
	} else if (json_is_null(value)) {
		strbuf_adds(out, "null");
	} else {
		fieldset_go_value(out, value);
	}
}

void fieldset_el_text(struct strbuf *out, const struct fieldset_el *element)
{
	const char *k;
	json_t *v;
	bool first = true;
	switch (element->type) {
	case FIELDSET_NAME:
		strbuf_addf(out, ".%s", element->name);
		break;
	case FIELDSET_KEY:
		json_object_foreach (element->value, k, v) {
			strbuf_addf(out, "%s%s=", first ? "[" : ",", k);
			value_text(out, v);
			first = false;
		}
		strbuf_adds(out, first ? "[]" : "]");
		break;
	case FIELDSET_VALUE:
		strbuf_adds(out, "[=");
		value_text(out, element->value);
		strbuf_addc(out, ']');
		break;
	case FIELDSET_INDEX:
		strbuf_addf(out, "[%" JSON_INTEGER_FORMAT "]", element->index);
		break;
	}
}
