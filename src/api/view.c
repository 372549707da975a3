/* Filling structs from trees, row by row. */
#include "api/view.h"

#include <stdio.h>
#include <string.h>

#include "api/tree.h"
#include "base/duration.h"
#include "base/err.h"
#include "base/slice.h"

struct fill {
	struct arena *a;
	struct api_errors *errs;
	struct strbuf path; /* of the struct that is being filled */
};

static void fill_struct(struct fill *f, const struct api_view *v, const json_t *o, void *ret);

/* ---- errors ---- */

static void fail(const struct fill *f, const struct api_view_row *row, enum api_fielderr_type type,
		 const json_t *v, const char *detail)
{
	CLEANUP(strbuf_done) struct strbuf field = STRBUF_INIT, value = STRBUF_INIT;
	strbuf_addf(&field, "%s%s%s", f->path.s, f->path.n != 0 ? "." : "", row->path);
	if (v != NULL)
		api_fielderr_value(&value, v);
	api_errors_add(f->errs, type, field.s, v != NULL ? value.s : NULL, detail);
}

static bool in_range(const struct fill *f, const struct api_view_row *row, const json_t *v,
		     int64_t n)
{
	char text[96];
	if (n >= row->min && (row->max == 0 || n <= row->max))
		return true;
	if (row->max == 0)
		snprintf(text, sizeof(text), "must be at least %lld", (long long)row->min);
	else
		snprintf(text, sizeof(text), "must be between %lld and %lld", (long long)row->min,
			 (long long)row->max);
	fail(f, row, API_FIELD_INVALID, v, text);
	return false;
}

static void wrong_type(const struct fill *f, const struct api_view_row *row, const json_t *v,
		       const char *want)
{
	char text[64];
	snprintf(text, sizeof(text), "must be %s", want);
	fail(f, row, API_FIELD_TYPE, v, text);
}

/* ---- one function per type; `field` has its default already ---- */

static void fill_string(struct fill *f, const struct api_view_row *row, const json_t *v,
			void *field)
{
	if (!json_is_string(v))
		wrong_type(f, row, v, "a string");
	else if (row->required && json_string_length(v) == 0)
		fail(f, row, API_FIELD_REQUIRED, NULL, "");
	else
		*(const char **)field = api_text(v);
}

static void fill_int(struct fill *f, const struct api_view_row *row, const json_t *v, void *field)
{
	if (!json_is_integer(v))
		wrong_type(f, row, v, "an integer");
	else if (in_range(f, row, v, json_integer_value(v)))
		*(int64_t *)field = json_integer_value(v);
}

static void fill_bool(struct fill *f, const struct api_view_row *row, const json_t *v, void *field)
{
	if (!json_is_boolean(v))
		wrong_type(f, row, v, "a boolean");
	else
		*(bool *)field = json_is_true(v);
}

static void fill_duration(struct fill *f, const struct api_view_row *row, const json_t *v,
			  void *field)
{
	int64_t ns;
	if (!json_is_string(v) || duration_parse(slice_of(api_text(v)), &ns) < 0)
		wrong_type(f, row, v, "a duration like 1m30s");
	else if (in_range(f, row, v, ns))
		*(int64_t *)field = ns;
}

static void fill_word(struct fill *f, const struct api_view_row *row, const json_t *v, void *field)
{
	CLEANUP(strbuf_done) struct strbuf known = STRBUF_INIT;
	const char *s = api_text(v);
	strbuf_adds(&known, "supported values: ");
	for (int i = 0; row->words[i] != NULL; i++) {
		if (json_is_string(v) && strcmp(s, row->words[i]) == 0) {
			*(int *)field = i;
			return;
		}
		strbuf_adds(&known, i != 0 ? ", " : "");
		strbuf_add_quoted(&known, slice_of(row->words[i]));
	}
	fail(f, row, API_FIELD_UNSUPPORTED, v, known.s);
}

static void fill_strings(struct fill *f, const struct api_view_row *row, const json_t *v,
			 void *field)
{
	struct api_strings list = { NULL, json_array_size(v) };
	size_t i;
	json_t *item;
	json_t *number = json_integer((json_int_t)list.n);
	bool fits = json_is_array(v) && in_range(f, row, number, (int64_t)list.n);
	json_decref(number);
	if (!json_is_array(v))
		wrong_type(f, row, v, "a list of strings");
	if (!fits)
		return;
	list.v = arena_calloc(f->a, (list.n + 1) * sizeof(*list.v));
	json_array_foreach (v, i, item) {
		list.v[i] = api_text(item);
		if (!json_is_string(item)) {
			wrong_type(f, row, item, "a list of strings");
			return;
		}
	}
	*(struct api_strings *)field = list;
}

static void fill_structs(struct fill *f, const struct api_view_row *row, const json_t *v,
			 void *field)
{
	struct api_structs list = { NULL, json_array_size(v) };
	size_t i, at = f->path.n;
	json_t *item;
	json_t *number = json_integer((json_int_t)list.n);
	bool fits = json_is_array(v) && in_range(f, row, number, (int64_t)list.n);
	json_decref(number);
	if (!json_is_array(v))
		wrong_type(f, row, v, "a list of objects");
	if (!fits)
		return;
	char *p = arena_calloc(f->a, (list.n + 1) * row->sub->size);
	list.v = p;
	json_array_foreach (v, i, item) {
		strbuf_addf(&f->path, "%s%s[%zu]", at != 0 ? "." : "", row->path, i);
		fill_struct(f, row->sub, item, p + i * row->sub->size);
		f->path.n = at;
		f->path.s[at] = '\0';
	}
	*(struct api_structs *)field = list;
}

static void fill_tree(struct fill *f, const struct api_view_row *row, const json_t *v, void *field)
{
	(void)f, (void)row;
	*(const json_t **)field = v;
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
static const json_t *find(const json_t *o, const char *path)
{
	struct slice rest = slice_of(path);
	while (o != NULL && rest.n != 0) {
		struct slice key = slice_cut(&rest, '.');
		o = json_object_getn(o, key.p, key.n);
	}
	return json_is_null(o) ? NULL : o;
}

static void fill_struct(struct fill *f, const struct api_view *v, const json_t *o, void *ret)
{
	for (size_t i = 0; i < v->n_rows; i++) {
		const struct api_view_row *row = &v->rows[i];
		void *field = (char *)ret + row->offset;
		const json_t *value = find(o, row->path);
		put_default(row, field);
		if (value != NULL)
			fillers[row->type](f, row, value, field);
		else if (row->required)
			fail(f, row, API_FIELD_REQUIRED, NULL, "");
	}
}

int api_view_fill(const struct api_view *v, const json_t *o, struct arena *a, void *ret,
		  struct api_errors *errs)
{
	struct fill f = { .a = a, .errs = errs, .path = STRBUF_INIT };
	size_t before = errs->n;
	memset(ret, 0, v->size);
	fill_struct(&f, v, o, ret);
	strbuf_done(&f.path);
	return errs->n == before ? 0 : ERR_CONFIG;
}
