/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writes Tables as JSON text. A cell comes from the column's JSONPath or, for columns without one,
 * from the kind's own function. */
#include "apiserver/codec/table.h"

#include <stdlib.h>
#include <string.h>

#include "api/fielderr.h"
#include "api/meta.h"
#include "api/tree.h"
#include "apiserver/codec/jsonpath.h"
#include "apiserver/kind/age.h"
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

static void add_tree(struct strbuf *out, const json_t *value)
{
	char *text = value != NULL ? json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;
	strbuf_adds(out, text != NULL ? text : "null");
	free(text);
}

static void add_text(struct strbuf *out, const char *text)
{
	strbuf_add_json(out, slice_of(text != NULL ? text : ""));
}

static void add_text_member(struct strbuf *out, const char *before, const char *text)
{
	strbuf_adds(out, before);
	add_text(out, text);
}

/* --- cells --- */

static void add_string_cell(struct strbuf *out, const json_t *value)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	if (json_is_string(value))
		strbuf_adds(&text, api_text(value));
	else if (json_is_real(value))
		api_fielderr_float(&text, json_real_value(value));
	else
		add_tree(&text, value);
	strbuf_add_json(out, strbuf_slice(&text));
}

static void add_integer_cell(struct strbuf *out, const json_t *value)
{
	double real = json_number_value(value);
	if (json_is_integer(value))
		strbuf_addf(out, "%lld", (long long)json_integer_value(value));
	else if (json_is_real(value) && real > -9e18 && real < 9e18)
		strbuf_addf(out, "%lld", (long long)real);
	else
		strbuf_adds(out, "null");
}

static void add_path_cell(struct strbuf *out, const struct apiserver_table *table,
			  const struct apiserver_column *column, const json_t *object)
{
	char age[APISERVER_AGE_MAX];
	const json_t *v = apiserver_jsonpath_first(object, column->path);
	if (v == NULL && strcmp(column->format, "name") == 0)
		strbuf_adds(out, "\"\"");
	else if (v == NULL || json_is_null(v))
		strbuf_adds(out, "null");
	else if (strcmp(column->type, "string") == 0)
		add_string_cell(out, v);
	else if (strcmp(column->type, "integer") == 0)
		add_integer_cell(out, v);
	else if (strcmp(column->type, "date") == 0 && json_is_string(v))
		add_text(out, apiserver_age(api_text(v), table->now_s, age));
	else if ((strcmp(column->type, "number") == 0 && json_is_number(v)) ||
		 (strcmp(column->type, "boolean") == 0 && json_is_boolean(v)))
		add_tree(out, v);
	else
		strbuf_adds(out, "null");
}

static void add_cells(struct strbuf *out, const struct apiserver_table *table, const json_t *object)
{
	const struct apiserver_resource *r = table->resource;
	json_t *own = r->strategy->cells != NULL ? r->strategy->cells(object, table->now_s) : NULL;
	strbuf_adds(out, "\"cells\":[");
	for (size_t i = 0; i < r->n_columns; i++) {
		if (i > 0)
			strbuf_addc(out, ',');
		if (r->columns[i].path != NULL)
			add_path_cell(out, table, &r->columns[i], object);
		else
			add_tree(out, json_array_get(own, i));
	}
	strbuf_addc(out, ']');
	json_decref(own);
}

/* --- the table --- */

static void add_columns(struct strbuf *out, const struct apiserver_resource *resource)
{
	strbuf_addc(out, '[');
	for (size_t i = 0; i < resource->n_columns; i++) {
		const struct apiserver_column *c = &resource->columns[i];
		add_text_member(out, i > 0 ? ",{\"name\":" : "{\"name\":", c->name);
		add_text_member(out, ",\"type\":", c->type);
		add_text_member(out, ",\"format\":", c->format);
		add_text_member(out, ",\"description\":", c->description);
		strbuf_addf(out, ",\"priority\":%d}", c->priority);
	}
	strbuf_addc(out, ']');
}

void apiserver_table_begin(struct strbuf *out, const struct apiserver_table *table,
			   const json_t *list_meta, bool columns)
{
	strbuf_addf(out, "{\"kind\":\"Table\",\"apiVersion\":\"meta.k8s.io/%s\",\"metadata\":",
		    table->meta_version);
	if (list_meta != NULL)
		add_tree(out, list_meta);
	else
		strbuf_adds(out, "{}");
	strbuf_adds(out, ",\"columnDefinitions\":");
	if (columns)
		add_columns(out, table->resource);
	else
		strbuf_adds(out, "null");
	strbuf_adds(out, ",\"rows\":[");
}

void apiserver_table_row(struct strbuf *out, const struct apiserver_table *table,
			 const json_t *object)
{
	strbuf_adds(out, out->n > 0 && out->s[out->n - 1] != '[' ? ",{" : "{");
	add_cells(out, table, object);
	strbuf_adds(out, ",\"object\":");
	switch (table->include) {
	case APISERVER_INCLUDE_NONE:
		strbuf_adds(out, "null");
		break;
	case APISERVER_INCLUDE_OBJECT:
		add_tree(out, object);
		break;
	case APISERVER_INCLUDE_METADATA:
		apiserver_table_partial(out, table->meta_version, object);
		break;
	}
	strbuf_addc(out, '}');
}

void apiserver_table_object(struct strbuf *out, const struct apiserver_table *table,
			    const json_t *object, bool columns)
{
	json_t *meta = json_object();
	const char *version = api_resource_version(object);
	if (*version != '\0')
		json_object_set_new(meta, "resourceVersion", json_string(version));
	apiserver_table_begin(out, table, meta, columns);
	apiserver_table_row(out, table, object);
	strbuf_adds(out, "]}");
	json_decref(meta);
}

void apiserver_table_partial(struct strbuf *out, const char *meta_version, const json_t *object)
{
	const json_t *meta = json_object_get(object, "metadata");
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
