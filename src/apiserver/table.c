/* Cells: by the column's path, or by the kind's strategy. */
#include "apiserver/table.h"

#include <stdlib.h>
#include <string.h>

#include "api/fielderr.h"
#include "api/meta.h"
#include "api/tree.h"
#include "apiserver/age.h"
#include "apiserver/jsonpath.h"
#include "base/err.h"

static const struct {
	const char *text;
	enum apiserver_include include;
} includes[] = {
	{ "", APISERVER_INCLUDE_METADATA },
	{ "Metadata", APISERVER_INCLUDE_METADATA },
	{ "None", APISERVER_INCLUDE_NONE },
	{ "Object", APISERVER_INCLUDE_OBJECT },
};

int apiserver_table_include(const char *arg, enum apiserver_include *ret, struct strbuf *err)
{
	for (size_t i = 0; i < ARRAY_LEN(includes); i++) {
		if (strcmp(arg != NULL ? arg : "", includes[i].text) == 0) {
			*ret = includes[i].include;
			return 0;
		}
	}
	strbuf_adds(err, "Unable to convert to Table as requested: includeObject: Invalid value: ");
	strbuf_add_quoted(err, slice_of(arg));
	strbuf_adds(err, ": must be 'Metadata', 'Object', 'None', or empty");
	return ERR_PARSE;
}

/* --- texts --- */

static void add_tree(struct strbuf *out, const json_t *v)
{
	char *text = v != NULL ? json_dumps(v, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;
	strbuf_adds(out, text != NULL ? text : "null");
	free(text);
}

static void add_text(struct strbuf *out, const char *s)
{
	strbuf_add_json(out, slice_of(s != NULL ? s : ""));
}

static void add_text_member(struct strbuf *out, const char *before, const char *s)
{
	strbuf_adds(out, before);
	add_text(out, s);
}

/* --- cells --- */

static void add_string_cell(struct strbuf *out, const json_t *v)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	if (json_is_string(v))
		strbuf_adds(&text, api_text(v));
	else if (json_is_real(v))
		api_fielderr_float(&text, json_real_value(v));
	else
		add_tree(&text, v);
	strbuf_add_json(out, strbuf_slice(&text));
}

static void add_integer_cell(struct strbuf *out, const json_t *v)
{
	double real = json_number_value(v);
	if (json_is_integer(v))
		strbuf_addf(out, "%lld", (long long)json_integer_value(v));
	else if (json_is_real(v) && real > -9e18 && real < 9e18)
		strbuf_addf(out, "%lld", (long long)real);
	else
		strbuf_adds(out, "null");
}

static void add_path_cell(struct strbuf *out, const struct apiserver_table *t,
			  const struct apiserver_column *c, const json_t *o)
{
	char age[APISERVER_AGE_MAX];
	const json_t *v = apiserver_jsonpath_first(o, c->path);
	if (v == NULL && strcmp(c->format, "name") == 0)
		strbuf_adds(out, "\"\"");
	else if (v == NULL || json_is_null(v))
		strbuf_adds(out, "null");
	else if (strcmp(c->type, "string") == 0)
		add_string_cell(out, v);
	else if (strcmp(c->type, "integer") == 0)
		add_integer_cell(out, v);
	else if (strcmp(c->type, "date") == 0 && json_is_string(v))
		add_text(out, apiserver_age(api_text(v), t->now_s, age));
	else if ((strcmp(c->type, "number") == 0 && json_is_number(v)) ||
		 (strcmp(c->type, "boolean") == 0 && json_is_boolean(v)))
		add_tree(out, v);
	else
		strbuf_adds(out, "null");
}

static void add_cells(struct strbuf *out, const struct apiserver_table *t, const json_t *o)
{
	const struct apiserver_resource *r = t->r;
	json_t *own = r->strategy->cells != NULL ? r->strategy->cells(o, t->now_s) : NULL;
	strbuf_adds(out, "\"cells\":[");
	for (size_t i = 0; i < r->n_columns; i++) {
		if (i > 0)
			strbuf_addc(out, ',');
		if (r->columns[i].path != NULL)
			add_path_cell(out, t, &r->columns[i], o);
		else
			add_tree(out, json_array_get(own, i));
	}
	strbuf_addc(out, ']');
	json_decref(own);
}

/* --- the table --- */

static void add_columns(struct strbuf *out, const struct apiserver_resource *r)
{
	strbuf_addc(out, '[');
	for (size_t i = 0; i < r->n_columns; i++) {
		const struct apiserver_column *c = &r->columns[i];
		add_text_member(out, i > 0 ? ",{\"name\":" : "{\"name\":", c->name);
		add_text_member(out, ",\"type\":", c->type);
		add_text_member(out, ",\"format\":", c->format);
		add_text_member(out, ",\"description\":", c->description);
		strbuf_addf(out, ",\"priority\":%d}", c->priority);
	}
	strbuf_addc(out, ']');
}

void apiserver_table_begin(struct strbuf *out, const struct apiserver_table *t,
			   const json_t *list_meta, bool columns)
{
	strbuf_addf(out, "{\"kind\":\"Table\",\"apiVersion\":\"meta.k8s.io/%s\",\"metadata\":",
		    t->meta_version);
	if (list_meta != NULL)
		add_tree(out, list_meta);
	else
		strbuf_adds(out, "{}");
	strbuf_adds(out, ",\"columnDefinitions\":");
	if (columns)
		add_columns(out, t->r);
	else
		strbuf_adds(out, "null");
	strbuf_adds(out, ",\"rows\":[");
}

void apiserver_table_row(struct strbuf *out, const struct apiserver_table *t, const json_t *o)
{
	strbuf_adds(out, out->n > 0 && out->s[out->n - 1] != '[' ? ",{" : "{");
	add_cells(out, t, o);
	strbuf_adds(out, ",\"object\":");
	switch (t->include) {
	case APISERVER_INCLUDE_NONE:
		strbuf_adds(out, "null");
		break;
	case APISERVER_INCLUDE_OBJECT:
		add_tree(out, o);
		break;
	case APISERVER_INCLUDE_METADATA:
		apiserver_partial(out, t->meta_version, o);
		break;
	}
	strbuf_addc(out, '}');
}

void apiserver_table_end(struct strbuf *out)
{
	strbuf_adds(out, "]}");
}

void apiserver_table_object(struct strbuf *out, const struct apiserver_table *t, const json_t *o,
			    bool columns)
{
	json_t *meta = json_object();
	const char *version = api_resource_version(o);
	if (*version != '\0')
		json_object_set_new(meta, "resourceVersion", json_string(version));
	apiserver_table_begin(out, t, meta, columns);
	apiserver_table_row(out, t, o);
	apiserver_table_end(out);
	json_decref(meta);
}

void apiserver_partial(struct strbuf *out, const char *meta_version, const json_t *o)
{
	const json_t *meta = json_object_get(o, "metadata");
	strbuf_addf(out,
		    "{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"meta.k8s.io/%s\","
		    "\"metadata\":",
		    meta_version);
	if (meta != NULL)
		add_tree(out, meta);
	else
		strbuf_adds(out, "{}");
	strbuf_addc(out, '}');
}
