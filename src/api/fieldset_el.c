/* Elements of paths: their order and their two texts, that of FieldsV1 and that of messages. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/fielderr.h"
#include "api/fieldset_priv.h"
#include "api/tree.h"
#include "base/err.h"
#include "base/mem.h"

static struct fieldset_el *make(enum fieldset_el_type type, const char *name)
{
	size_t n = strlen(name);
	struct fieldset_el *e = xcalloc(1, sizeof(*e) + n + 1);
	e->refs = 1;
	e->type = type;
	memcpy(e->name, name, n + 1);
	return e;
}

struct fieldset_el *fieldset_el_name(const char *name)
{
	return make(FIELDSET_NAME, name);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

struct fieldset_el *fieldset_el_key(const json_t *keys)
{
	const char *k;
	json_t *v;
	size_t n = 0;
	struct fieldset_el *e = make(FIELDSET_KEY, "");
	const char **names = xcalloc(json_object_size(keys) + 1, sizeof(*names));
	json_object_foreach (api_tree(keys), k, v)
		names[n++] = k;
	qsort(names, n, sizeof(*names), by_text);
	e->v = json_object();
	for (size_t i = 0; i < n; i++)
		json_object_set_new(e->v, names[i],
				    json_deep_copy(json_object_get(keys, names[i])));
	free(names);
	return e;
}

struct fieldset_el *fieldset_el_value(const json_t *v)
{
	struct fieldset_el *e = make(FIELDSET_VALUE, "");
	e->v = json_deep_copy(v);
	return e;
}

struct fieldset_el *fieldset_el_index(json_int_t i)
{
	struct fieldset_el *e = make(FIELDSET_INDEX, "");
	e->index = i;
	return e;
}

struct fieldset_el *fieldset_el_ref(struct fieldset_el *e)
{
	e->refs++;
	return e;
}

void fieldset_el_unref(struct fieldset_el *e)
{
	if (e == NULL || --e->refs > 0)
		return;
	json_decref(e->v);
	free(e);
}

/* ---- order ---- */

/* Whole numbers stay exact among themselves. */
static int number_cmp(const json_t *a, const json_t *b)
{
	if (json_is_integer(a) && json_is_integer(b)) {
		json_int_t x = json_integer_value(a), y = json_integer_value(b);
		return (x > y) - (x < y);
	}
	double x = json_number_value(a), y = json_number_value(b);
	return (x > y) - (x < y);
}

static int rank(const json_t *v)
{
	static const int ranks[] = {
		[JSON_INTEGER] = 0, [JSON_REAL] = 0,  [JSON_STRING] = 1, [JSON_FALSE] = 2,
		[JSON_TRUE] = 2,    [JSON_ARRAY] = 3, [JSON_OBJECT] = 4, [JSON_NULL] = 5,
	};
	return ranks[json_typeof(v)];
}

static int array_cmp(const json_t *a, const json_t *b)
{
	size_t n = json_array_size(a), m = json_array_size(b);
	for (size_t i = 0; i < MIN(n, m); i++) {
		int c = fieldset_value_cmp(json_array_get(a, i), json_array_get(b, i));
		if (c != 0)
			return c;
	}
	return (n > m) - (n < m);
}

/* By the sorted names, each with its value. */
static int object_cmp(const json_t *a, const json_t *b)
{
	struct fieldset_el *x = fieldset_el_key(a), *y = fieldset_el_key(b);
	int c = fieldset_el_cmp(x, y);
	fieldset_el_unref(x);
	fieldset_el_unref(y);
	return c;
}

int fieldset_value_cmp(const json_t *a, const json_t *b)
{
	int c = rank(a) - rank(b);
	if (c != 0 || a == b)
		return c;
	if (json_is_number(a))
		return number_cmp(a, b);
	if (json_is_string(a))
		return strcmp(api_text(a), api_text(b));
	if (json_is_boolean(a))
		return json_is_true(a) - json_is_true(b);
	if (json_is_array(a))
		return array_cmp(a, b);
	return json_is_object(a) ? object_cmp(a, b) : 0;
}

static int key_cmp(json_t *a, json_t *b)
{
	void *i = json_object_iter(a), *j = json_object_iter(b);
	for (; i != NULL && j != NULL;
	     i = json_object_iter_next(a, i), j = json_object_iter_next(b, j)) {
		int c = strcmp(json_object_iter_key(i), json_object_iter_key(j));
		if (c == 0)
			c = fieldset_value_cmp(json_object_iter_value(i),
					       json_object_iter_value(j));
		if (c != 0)
			return c;
	}
	return (i != NULL) - (j != NULL);
}

int fieldset_el_cmp(const struct fieldset_el *a, const struct fieldset_el *b)
{
	if (a == b)
		return 0;
	if (a->type != b->type)
		return a->type < b->type ? -1 : 1;
	switch (a->type) {
	case FIELDSET_NAME:
		return strcmp(a->name, b->name);
	case FIELDSET_KEY:
		return key_cmp(a->v, b->v);
	case FIELDSET_VALUE:
		return fieldset_value_cmp(a->v, b->v);
	case FIELDSET_INDEX:
		break;
	}
	return (a->index > b->index) - (a->index < b->index);
}

/* ---- FieldsV1 ---- */

/* Digits that give the number back, without an exponent where Go's encoder uses none. */
static void write_real(struct strbuf *out, double v)
{
	char text[64];
	double size = fabs(v);
	if (size != 0 && (size < 1e-6 || size >= 1e21)) {
		api_fielderr_float(out, v);
		return;
	}
	for (int digits = 0; digits <= 24; digits++) {
		snprintf(text, sizeof(text), "%.*f", digits, v);
		if (strtod(text, NULL) == v)
			break;
	}
	strbuf_adds(out, text);
}

/* As the server's encoder does: <, > and & are escaped. */
static void write_text(struct strbuf *out, const char *s)
{
	CLEANUP(strbuf_done) struct strbuf plain = STRBUF_INIT;
	strbuf_add_json(&plain, slice_of(s));
	for (const char *p = plain.s; *p != '\0'; p++) {
		if (strchr("<>&", *p) != NULL)
			strbuf_addf(out, "\\u%04x", (unsigned)*p);
		else
			strbuf_addc(out, *p);
	}
}

static void write_value(struct strbuf *out, const json_t *v)
{
	if (json_is_real(v)) {
		write_real(out, json_real_value(v));
	} else if (json_is_string(v)) {
		write_text(out, api_text(v));
	} else {
		CLEANUP(freep)
		char *text = json_dumps(v, JSON_ENCODE_ANY | JSON_COMPACT | JSON_SORT_KEYS);
		strbuf_adds(out, text != NULL ? text : "null");
	}
}

void fieldset_el_write(struct strbuf *out, const struct fieldset_el *e)
{
	const char *k;
	json_t *v;
	bool first = true;
	switch (e->type) {
	case FIELDSET_NAME:
		strbuf_addf(out, "f:%s", e->name);
		break;
	case FIELDSET_KEY:
		strbuf_adds(out, "k:{");
		json_object_foreach (e->v, k, v) {
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
		write_value(out, e->v);
		break;
	case FIELDSET_INDEX:
		strbuf_addf(out, "i:%" JSON_INTEGER_FORMAT, e->index);
		break;
	}
}

static int parse_index(const char *s, struct fieldset_el **ret)
{
	char *end;
	errno = 0;
	long long i = strtoll(s, &end, 10);
	if (errno != 0 || end == s || *end != '\0' || *s == ' ')
		return ERR_PARSE;
	*ret = fieldset_el_index(i);
	return 0;
}

int fieldset_el_parse(const char *s, struct fieldset_el **ret)
{
	json_error_t e;
	size_t n = strlen(s);
	if (n < 2 || s[1] != ':' || n > FIELDSET_KEY_MAX_BYTES)
		return ERR_PARSE;
	if (s[0] == 'f') {
		*ret = fieldset_el_name(s + 2);
		return 0;
	}
	if (s[0] == 'i')
		return parse_index(s + 2, ret);
	if (s[0] != 'k' && s[0] != 'v')
		return ERR_UNSUPPORTED;
	/* The server reads numbers of such texts as floating ones, and shows them so. */
	json_t *v = json_loadb(s + 2, n - 2, JSON_DECODE_ANY | JSON_DECODE_INT_AS_REAL, &e);
	if (v == NULL || (s[0] == 'k' && !json_is_object(v))) {
		json_decref(v);
		return ERR_PARSE;
	}
	*ret = s[0] == 'k' ? fieldset_el_key(v) : fieldset_el_value(v);
	json_decref(v);
	return 0;
}

/* ---- messages ---- */

static void value_text(struct strbuf *out, const json_t *v)
{
	const char *k;
	json_t *item;
	size_t i;
	if (json_is_string(v)) {
		strbuf_add_quoted(out, slice_of(api_text(v)));
	} else if (json_is_array(v)) {
		strbuf_addc(out, '[');
		json_array_foreach (v, i, item) {
			strbuf_adds(out, i > 0 ? "," : "");
			value_text(out, item);
		}
		strbuf_addc(out, ']');
	} else if (json_is_object(v)) {
		json_object_foreach (api_tree(v), k, item) {
			strbuf_addf(out, "%s=", k);
			value_text(out, item);
		}
	} else if (json_is_null(v)) {
		strbuf_adds(out, "null");
	} else {
		fieldset_go_value(out, v);
	}
}

void fieldset_el_text(struct strbuf *out, const struct fieldset_el *e)
{
	const char *k;
	json_t *v;
	bool first = true;
	switch (e->type) {
	case FIELDSET_NAME:
		strbuf_addf(out, ".%s", e->name);
		break;
	case FIELDSET_KEY:
		json_object_foreach (e->v, k, v) {
			strbuf_addf(out, "%s%s=", first ? "[" : ",", k);
			value_text(out, v);
			first = false;
		}
		strbuf_adds(out, first ? "[]" : "]");
		break;
	case FIELDSET_VALUE:
		strbuf_adds(out, "[=");
		value_text(out, e->v);
		strbuf_addc(out, ']');
		break;
	case FIELDSET_INDEX:
		strbuf_addf(out, "[%" JSON_INTEGER_FORMAT "]", e->index);
		break;
	}
}

/* An object's members by name: each is written by `member`. */
static void sorted_members(struct strbuf *out, const json_t *v, const char *between,
			   void (*member)(struct strbuf *out, const char *k, const json_t *v))
{
	bool first = true;
	const char *k;
	json_t *item;
	struct fieldset_el *e = fieldset_el_key(v);
	json_object_foreach (e->v, k, item) {
		strbuf_adds(out, first ? "" : between);
		member(out, k, item);
		first = false;
	}
	fieldset_el_unref(e);
}

static void value_member(struct strbuf *out, const char *k, const json_t *v)
{
	strbuf_addf(out, "%s:", k);
	fieldset_go_value(out, v);
}

void fieldset_go_value(struct strbuf *out, const json_t *v)
{
	json_t *item;
	size_t i;
	if (v == NULL) {
		strbuf_adds(out, "[]");
	} else if (json_is_string(v)) {
		strbuf_adds(out, api_text(v));
	} else if (json_is_integer(v)) {
		strbuf_addf(out, "%" JSON_INTEGER_FORMAT, json_integer_value(v));
	} else if (json_is_real(v)) {
		api_fielderr_float(out, json_real_value(v));
	} else if (json_is_array(v)) {
		strbuf_addc(out, '[');
		json_array_foreach (v, i, item) {
			strbuf_adds(out, i > 0 ? " " : "");
			fieldset_go_value(out, item);
		}
		strbuf_addc(out, ']');
	} else if (json_is_object(v)) {
		strbuf_adds(out, "map[");
		sorted_members(out, v, " ", value_member);
		strbuf_addc(out, ']');
	} else {
		strbuf_adds(out, json_is_null(v) ? "<nil>" : json_is_true(v) ? "true" : "false");
	}
}

static void syntax_member(struct strbuf *out, const char *k, const json_t *v)
{
	strbuf_add_quoted(out, slice_of(k));
	strbuf_addc(out, ':');
	fieldset_go_syntax(out, v);
}

void fieldset_go_syntax(struct strbuf *out, const json_t *v)
{
	json_t *item;
	size_t i;
	if (json_is_string(v)) {
		strbuf_add_quoted(out, slice_of(api_text(v)));
	} else if (json_is_array(v)) {
		strbuf_adds(out, "[]interface {}{");
		json_array_foreach (v, i, item) {
			strbuf_adds(out, i > 0 ? ", " : "");
			fieldset_go_syntax(out, item);
		}
		strbuf_addc(out, '}');
	} else if (json_is_object(v)) {
		strbuf_adds(out, "map[string]interface {}{");
		sorted_members(out, v, ", ", syntax_member);
		strbuf_addc(out, '}');
	} else if (json_is_null(v)) {
		strbuf_adds(out, "interface {}(nil)");
	} else {
		fieldset_go_value(out, v);
	}
}

const char *fieldset_go_type(const json_t *v, const char *nil)
{
	static const char *const names[] = {
		[JSON_OBJECT] = "map[string]interface {}",
		[JSON_ARRAY] = "[]interface {}",
		[JSON_STRING] = "string",
		[JSON_INTEGER] = "int64",
		[JSON_REAL] = "float64",
		[JSON_TRUE] = "bool",
		[JSON_FALSE] = "bool",
		[JSON_NULL] = NULL,
	};
	const char *name = names[v != NULL ? json_typeof(v) : JSON_NULL];
	return name != NULL ? name : nil;
}
