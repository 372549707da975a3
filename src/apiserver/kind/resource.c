/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Builds the table of served resources from the descriptions that are compiled in. */
#include "apiserver/kind/resource.h"

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "api/meta.h"
#include "api/tree.h"
#include "api/yaml/yaml.h"
#include "apiserver/kind/resource_priv.h"
#include "apiserver/kind/strategy.h"
#include "apiserver/kind/table_cells.h"
#include "base/err_text.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/vec.h"

static struct {
	pthread_once_t once;
	VEC(const struct apiserver_resource *) rows;
	json_t *meta; /* builtin/meta.yaml */
} table = { .once = PTHREAD_ONCE_INIT };

static const struct apiserver_strategy never_kept_strategy = { .kind = "",
							       .group = "",
							       .cells = apiserver_cells_plain };

/* Workload kinds that this server does not store. Some clients list them on any server (`kubectl apply
 * --prune` does), and a client that creates one should get a clear error. */
static const struct {
	const char *group, *kind;
} never_kept[] = {
	{ "", "PersistentVolume" },
	{ "", "PersistentVolumeClaim" },
	{ "", "ReplicationController" },
	{ "apps", "DaemonSet" },
	{ "apps", "Deployment" },
	{ "apps", "ReplicaSet" },
	{ "apps", "StatefulSet" },
	{ "batch", "CronJob" },
	{ "batch", "Job" },
};

static NORETURN void fail_start(const char *name, const char *text)
{
	fprintf(stderr, "the built-in description '%s' is invalid: %s\n", name, text);
	exit(1);
}

static json_t *parse_description(const struct embedded_text *text)
{
	struct srcerr err = { 0 };
	json_t *doc;
	if (api_yaml_parse_one(text->name, text->text, &doc, &err) < 0)
		fail_start(text->name, err.text);
	return doc;
}

static const struct apiserver_resource *find_row(const char *group, const char *version,
						 const char *plural)
{
	for (size_t i = 0; i < table.rows.n; i++) {
		const struct apiserver_resource *r = table.rows.v[i];
		if (strcmp(r->kind->plural, plural) == 0 && strcmp(r->kind->group, group) == 0 &&
		    strcmp(r->version, version) == 0)
			return r;
	}
	return NULL;
}

/* ---- parts of a row ---- */

static unsigned verbs_of(const json_t *doc)
{
	static const struct {
		const char *name;
		unsigned verb;
	} names[] = {
		{ "get", APISERVER_GET },	{ "list", APISERVER_LIST },
		{ "watch", APISERVER_WATCH },	{ "create", APISERVER_CREATE },
		{ "update", APISERVER_UPDATE }, { "patch", APISERVER_PATCH },
		{ "delete", APISERVER_DELETE }, { "deletecollection", APISERVER_DELETECOLLECTION },
	};
	const json_t *list = json_object_get(doc, "verbs");
	unsigned verbs = list == NULL ? APISERVER_ALL_VERBS : 0;
	for (size_t i = 0; i < json_array_size(list); i++) {
		for (size_t k = 0; k < ARRAY_LEN(names); k++) {
			if (strcmp(api_text(json_array_get(list, i)), names[k].name) == 0)
				verbs |= names[k].verb;
		}
	}
	return verbs;
}

static char *join_words(const json_t *list)
{
	CLEANUP(strbuf_done) struct strbuf b = STRBUF_INIT;
	for (size_t i = 0; i < json_array_size(list); i++)
		strbuf_addf(&b, "%s%s", i != 0 ? " " : "", api_text(json_array_get(list, i)));
	return strbuf_take(&b);
}

static const char *const *fields_of(const json_t *version)
{
	const json_t *list = json_object_get(version, "selectableFields");
	const char **fields = xcalloc(json_array_size(list) + 1, sizeof(*fields));
	for (size_t i = 0; i < json_array_size(list); i++) /* without the dot at the start */
		fields[i] = api_get_string(json_array_get(list, i), "jsonPath") + 1;
	return fields;
}

static struct apiserver_column column_of(const json_t *column)
{
	const char *path = api_get_string(column, "jsonPath");
	return (struct apiserver_column){
		.name = api_get_string(column, "name"),
		.type = api_get_string(column, "type"),
		.format = api_get_string(column, "format"),
		.description = api_get_string(column, "description"),
		.priority = (int)json_integer_value(json_object_get(column, "priority")),
		.path = path[0] != '\0' ? path : NULL,
	};
}

static void set_columns(struct apiserver_resource *resource, const json_t *version)
{
	static const struct apiserver_column name = { "Name", "string",
						      "name", "Name of the object.",
						      0,      ".metadata.name" };
	static const struct apiserver_column age = { "Age", "date",
						     "",    "Time since the object was created.",
						     0,	    ".metadata.creationTimestamp" };
	const json_t *list = json_object_get(version, "additionalPrinterColumns");
	VEC(struct apiserver_column) columns = { 0 };
	if (!resource->built_in)
		vec_push(&columns, name);
	for (size_t i = 0; i < json_array_size(list); i++)
		vec_push(&columns, column_of(json_array_get(list, i)));
	if (json_array_size(list) == 0)
		vec_push(&columns, age);
	resource->columns = columns.v;
	resource->n_columns = columns.n;
}

/* Keywords of a schema that describe structure. The values of built-in kinds are validated by code,
 * because kube-apiserver's errors for them differ from those of schemas. */
static bool is_structural(const char *keyword)
{
	static const char *const words[] = {
		"type",
		"properties",
		"items",
		"additionalProperties",
		"default",
		"x-kubernetes-int-or-string",
		"x-kubernetes-preserve-unknown-fields",
	};
	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		if (strcmp(words[i], keyword) == 0)
			return true;
	}
	return false;
}

static json_t *strip_schema(const json_t *schema)
{
	json_t *out = json_object(), *value, *member;
	const char *key, *name;
	json_object_foreach (api_tree(schema), key, value) {
		if (!is_structural(key))
			continue;
		if (strcmp(key, "properties") == 0) {
			json_t *members = json_object();
			json_object_foreach (value, name, member)
				json_object_set_new(members, name, strip_schema(member));
			json_object_set_new(out, key, members);
		} else if (strcmp(key, "items") == 0 || strcmp(key, "additionalProperties") == 0) {
			json_object_set_new(out, key, strip_schema(value));
		} else {
			json_object_set(out, key, value);
		}
	}
	return out;
}

static const struct api_schema *compile_schema(const struct apiserver_resource *resource,
					       const json_t *source)
{
	char err[512];
	struct api_schema *s;
	json_t *schema = resource->built_in ? strip_schema(source) : json_incref(api_tree(source));
	if (api_schema_new(schema, &s, ERR_TEXT(err)) < 0)
		fail_start(resource->kind->kind, err);
	json_decref(schema);
	return s;
}

/* A copy of the schema in which metadata is described completely. */
static const json_t *with_metadata(const json_t *source)
{
	json_t *schema = json_copy(api_tree(source));
	json_t *members = json_copy(json_object_get(source, "properties"));
	json_t *meta = json_copy(json_object_get(table.meta, "objectMeta"));
	json_t *described = json_object_get(meta, "properties");
	json_incref(described);
	json_object_update(meta, json_object_get(members, "metadata"));
	json_object_set_new(meta, "properties", described); /* instead of those that the CRD has */
	json_object_set_new(members, "metadata", meta);
	json_object_set_new(schema, "properties", members);
	return schema;
}

static struct apiserver_resource *make_row(const struct embedded_text *text, const json_t *doc,
					   const json_t *version)
{
	struct apiserver_resource *r = xcalloc(1, sizeof(*r));
	const json_t *source = api_get(version, "schema.openAPIV3Schema");
	r->kind = api_kind_find(api_get_string(doc, "spec.group"),
				api_get_string(doc, "spec.names.kind"));
	if (r->kind == NULL)
		fail_start(text->name, "there is no such kind");
	r->version = api_get_string(version, "name");
	r->list_kind = api_get_string(doc, "spec.names.listKind");
	r->categories = join_words(api_get(doc, "spec.names.categories"));
	r->warning = api_get_string(version, "deprecationWarning");
	r->verbs = verbs_of(doc);
	r->built_in = strcmp(text->folder, "builtin") == 0;
	r->status = api_get(version, "subresources.status") != NULL;
	r->schema = compile_schema(r, source);
	r->openapi = with_metadata(source);
	r->description = doc;
	r->fields = fields_of(version);
	r->never_kept = json_is_true(json_object_get(doc, "neverKept"));
	r->strategy = r->never_kept ? &never_kept_strategy : apiserver_strategy_of(r->kind);
	set_columns(r, version);
	return r;
}

static void add_rows(const struct embedded_text *text, const json_t *doc)
{
	const json_t *list = api_get(doc, "spec.versions");
	struct apiserver_resource *rows[16];
	const struct apiserver_resource *stored = NULL;
	size_t n = json_array_size(list);
	assert(n <= ARRAY_LEN(rows));
	for (size_t i = 0; i < n; i++) {
		const json_t *version = json_array_get(list, i);
		rows[i] = make_row(text, doc, version);
		if (json_is_true(json_object_get(version, "storage")))
			stored = rows[i];
	}
	if (stored == NULL)
		fail_start(text->name, "no version is stored");
	/* Both groups of Events share the stored form of core, whose row exists already. */
	if (strcmp(stored->kind->group, "events.k8s.io") == 0)
		stored = find_row("", "v1", "events");
	for (size_t i = 0; i < n; i++) {
		rows[i]->stored = stored;
		vec_push(&table.rows, rows[i]);
	}
}

/* A new description in the same form as the built-in ones. */
static json_t *describe_never_kept(const struct api_kind *kind)
{
	static const struct {
		const char *name, *type, *text;
	} described[] = {
		{ "apiVersion", "string", "Group and version of this object." },
		{ "kind", "string", "Name of this object's kind." },
		{ "metadata", "object", "Name, labels and whatever else every object has." },
	};
	json_t *members = json_object();
	for (size_t i = 0; i < ARRAY_LEN(described); i++)
		json_object_set_new(members, described[i].name,
				    json_pack("{ss,ss}", "type", described[i].type, "description",
					      described[i].text));
	json_t *version = json_pack(
		"{ss,sb,s{s{ss,ss,sb,so}},s[{ss,ss,ss,ss},{ss,ss,ss}]}", "name", kind->version,
		"storage", 1, "schema", "openAPIV3Schema", "type", "object", "description",
		"Not part of the embedded API: there are none, and none can be created.",
		"x-kubernetes-preserve-unknown-fields", 1, "properties", members,
		"additionalPrinterColumns", "name", "Name", "type", "string", "format", "name",
		"jsonPath", ".metadata.name", "name", "Age", "type", "string", "description",
		"Time since the object was created.");
	if (kind->status)
		json_object_set_new(version, "subresources", json_pack("{s{}}", "status"));
	return json_pack("{s{ss,s{ss,ss+,ss,ss},ss,s[o]},s[sss],sb}", "spec", "group", kind->group,
			 "names", "kind", kind->kind, "listKind", kind->kind, "List", "plural",
			 kind->plural, "singular", kind->singular, "scope",
			 kind->namespaced ? "Namespaced" : "Cluster", "versions", version, "verbs",
			 "get", "list", "watch", "neverKept", 1);
}

static void add_never_kept(void)
{
	for (size_t i = 0; i < ARRAY_LEN(never_kept); i++) {
		const struct api_kind *kind =
			api_kind_find(never_kept[i].group, never_kept[i].kind);
		const struct embedded_text text = { .name = never_kept[i].kind,
						    .folder = "builtin" };
		assert(kind != NULL);
		add_rows(&text, describe_never_kept(kind));
	}
}

static void make_table(void)
{
	for (size_t i = 0; i < apiserver_descriptions_n; i++) {
		if (strcmp(apiserver_descriptions[i].name, "meta") == 0)
			table.meta = parse_description(&apiserver_descriptions[i]);
	}
	for (size_t i = 0; i < apiserver_descriptions_n; i++) {
		if (strcmp(apiserver_descriptions[i].name, "meta") != 0)
			add_rows(&apiserver_descriptions[i],
				 parse_description(&apiserver_descriptions[i]));
	}
	add_never_kept();
}

static void ensure_table(void)
{
	int r = pthread_once(&table.once, make_table);
	assert(r == 0);
}

const struct apiserver_resource *const *apiserver_resources(size_t *ret_n)
{
	ensure_table();
	*ret_n = table.rows.n;
	return table.rows.v;
}

const struct apiserver_resource *apiserver_resource_find(const char *group, const char *version,
							 const char *plural)
{
	ensure_table();
	return find_row(group, version, plural);
}

const struct apiserver_resource *apiserver_resource_of(const json_t *object)
{
	struct slice version = slice_of(api_version(object)), group = SLICE("");
	if (slice_find(version, '/') >= 0)
		group = slice_cut(&version, '/');
	ensure_table();
	for (size_t i = 0; i < table.rows.n; i++) {
		const struct apiserver_resource *r = table.rows.v[i];
		if (slice_is(group, r->kind->group) && slice_is(version, r->version) &&
		    strcmp(r->kind->kind, api_kind(object)) == 0)
			return r;
	}
	return NULL;
}

const json_t *apiserver_objectmeta_schema(void)
{
	ensure_table();
	return json_object_get(table.meta, "objectMeta");
}

const json_t *apiserver_deleteoptions_schema(void)
{
	ensure_table();
	return json_object_get(table.meta, "deleteOptions");
}
