/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fills C structs from object trees, row by row of a table. */
#include "api/view.h"

#include <stdio.h>
#include <string.h>

#include "api/tree.h"
#include "base/err.h"
#include "base/slice.h"
#include "base/text/duration.h"

struct fill {
	struct arena *a;
	struct api_errors *errs;
	struct strbuf path; /* of the struct that is being filled */
};

static void fill_struct(struct fill *fill, const struct api_view *view, const json_t *object,
			void *ret);

/* ---- errors ---- */

static void set_error(const struct fill *fill, const struct api_view_row *row,
		      enum api_fielderr_type type, const json_t *val, const char *detail)
{
	CLEANUP(strbuf_done) struct strbuf field = STRBUF_INIT, value = STRBUF_INIT;
	strbuf_addf(&field, "%s%s%s", fill->path.s, fill->path.n != 0 ? "." : "", row->path);
	if (val != NULL)
		api_fielderr_value(&value, val);
	api_errors_add(fill->errs, type, field.s, val != NULL ? value.s : NULL, detail);
}

static bool in_range(const struct fill *fill, const struct api_view_row *row, const json_t *value,
		     int64_t number)
{
	char text[96];
	if (number >= row->min && (row->max == 0 || number <= row->max))
		return true;
	if (row->max == 0)
		snprintf(text, sizeof(text), "must be at least %lld", (long long)row->min);
	else
		snprintf(text, sizeof(text), "must be between %lld and %lld", (long long)row->min,
			 (long long)row->max);
	set_error(fill, row, API_FIELD_INVALID, value, text);
	return false;
}

static void wrong_type(const struct fill *fill, const struct api_view_row *row, const json_t *value,
		       const char *want)
{
	char text[64];
	snprintf(text, sizeof(text), "must be %s", want);
	set_error(fill, row, API_FIELD_TYPE, value, text);
}

/* ---- one function per type; `field` has its default already ---- */

static void fill_string(struct fill *fill, const struct api_view_row *row, const json_t *value,
			void *field)
{
	if (!json_is_string(value))
		wrong_type(fill, row, value, "a string");
	else if (row->required && json_string_length(value) == 0)
		set_error(fill, row, API_FIELD_REQUIRED, NULL, "");
	else
		*(const char **)field = api_text(value);
}

static void fill_int(struct fill *fill, const struct api_view_row *row, const json_t *value,
		     void *field)
{
	if (!json_is_integer(value))
		wrong_type(fill, row, value, "an integer");
	else if (in_range(fill, row, value, json_integer_value(value)))
		*(int64_t *)field = json_integer_value(value);
}

static void fill_bool(struct fill *fill, const struct api_view_row *row, const json_t *value,
		      void *field)
{
	if (!json_is_boolean(value))
		wrong_type(fill, row, value, "a boolean");
	else
		*(bool *)field = json_is_true(value);
}

static void fill_duration(struct fill *fill, const struct api_view_row *row, const json_t *value,
			  void *field)
{
	int64_t ns;
	if (!json_is_string(value) || duration_parse(slice_of(api_text(value)), &ns) < 0)
		wrong_type(fill, row, value, "a duration like 1m30s");
	else if (in_range(fill, row, value, ns))
		*(int64_t *)field = ns;
}

static void fill_word(struct fill *fill, const struct api_view_row *row, const json_t *value,
		      void *field)
{
	CLEANUP(strbuf_done) struct strbuf known = STRBUF_INIT;
	const char *s = api_text(value);
	strbuf_adds(&known, "supported values: ");
	for (int i = 0; row->words[i] != NULL; i++) {
		if (json_is_string(value) && strcmp(s, row->words[i]) == 0) {
			*(int *)field = i;
			return;
		}
		strbuf_adds(&known, i != 0 ? ", " : "");
		strbuf_add_quoted(&known, slice_of(row->words[i]));
	}
	set_error(fill, row, API_FIELD_UNSUPPORTED, value, known.s);
}

static void fill_strings(struct fill *fill, const struct api_view_row *row, const json_t *value,
			 void *field)
{
	struct api_strings list = { NULL, json_array_size(value) };
	size_t i;
	json_t *item;
	json_t *number = json_integer((json_int_t)list.n);
	bool fits = json_is_array(value) && in_range(fill, row, number, (int64_t)list.n);
	json_decref(number);
	if (!json_is_array(value))
		wrong_type(fill, row, value, "a list of strings");
	if (!fits)
		return;
	list.v = arena_calloc(fill->a, (list.n + 1) * sizeof(*list.v));
	json_array_foreach (value, i, item) {
		list.v[i] = api_text(item);
		if (!json_is_string(item)) {
			wrong_type(fill, row, item, "a list of strings");
			return;
		}
	}
	*(struct api_strings *)field = list;
}

static void fill_structs(struct fill *fill, const struct api_view_row *row, const json_t *value,
			 void *field)
{
	struct api_structs list = { NULL, json_array_size(value) };
	size_t i, at = fill->path.n;
	json_t *item;
	json_t *number = json_integer((json_int_t)list.n);
	bool fits = json_is_array(value) && in_range(fill, row, number, (int64_t)list.n);
	json_decref(number);
	if (!json_is_array(value))
		wrong_type(fill, row, value, "a list of objects");
	if (!fits)
		return;
	char *p = arena_calloc(fill->a, (list.n + 1) * row->sub->size);
	list.v = p;
	json_array_foreach (value, i, item) {
		strbuf_addf(&fill->path, "%s%s[%zu]", at != 0 ? "." : "", row->path, i);
		fill_struct(fill, row->sub, item, p + i * row->sub->size);
		fill->path.n = at;
		fill->path.s[at] = '\0';
	}
	*(struct api_structs *)field = list;
}

static void fill_tree(struct fill *fill, const struct api_view_row *row, const json_t *value,
		      void *field)
{
	(void)fill, (void)row;
	*(const json_t **)field = value;
}

static void (*const fillers[])(struct fill *f, const struct api_view_row *row, const json_t *v,
			       void *field) = {
	[API_VIEW_STRING] = fill_string,   [API_VIEW_INT] = fill_int,
	[API_VIEW_BOOL] = fill_bool,	   [API_VIEW_DURATION] = fill_duration,
	[API_VIEW_WORD] = fill_word,	   [API_VIEW_STRINGS] = fill_strings,
	[API_VIEW_STRUCTS] = fill_structs, [API_VIEW_TREE] = fill_tree,
};

static void put_default(const struct api_view_row *row, void *field)
{
	switch (row->type) {
	case API_VIEW_STRING:
		*(const char **)field = "";
		break;
	case API_VIEW_INT:
	case API_VIEW_DURATION:
		*(int64_t *)field = row->def;
		break;
	case API_VIEW_BOOL:
		*(bool *)field = row->def != 0;
		break;
	case API_VIEW_WORD:
		*(int *)field = (int)row->def;
		break;
	case API_VIEW_STRINGS:
	case API_VIEW_STRUCTS:
	case API_VIEW_TREE:
		break; /* zero */
	}
}

/* Member by member; a step into what is no object finds nothing. */
static const json_t *find_value(const json_t *object, const char *path)
{
	struct slice rest = slice_of(path);
	while (object != NULL && rest.n != 0) {
		struct slice key = slice_cut(&rest, '.');
		object = json_object_getn(object, key.p, key.n);
	}
	return json_is_null(object) ? NULL : object;
}

static void fill_struct(struct fill *fill, const struct api_view *view, const json_t *object,
			void *ret)
{
	for (size_t i = 0; i < view->n_rows; i++) {
		const struct api_view_row *row = &view->rows[i];
		void *field = (char *)ret + row->offset;
		const json_t *value = find_value(object, row->path);
		put_default(row, field);
		if (value != NULL)
			fillers[row->type](fill, row, value, field);
		else if (row->required)
			set_error(fill, row, API_FIELD_REQUIRED, NULL, "");
	}
}

int api_view_fill(const struct api_view *view, const json_t *object, struct arena *arena, void *ret,
		  struct api_errors *errs)
{
	struct fill f = { .a = arena, .errs = errs, .path = STRBUF_INIT };
	size_t before = errs->n;
	memset(ret, 0, view->size);
	fill_struct(&f, view, object, ret);
	strbuf_done(&f.path);
	return errs->n == before ? 0 : ERR_CONFIG;
}
