/* SPDX-License-Identifier: GPL-3.0-or-later */
/* OpenAPI v3 documents. The schemas of kinds are nested; where the server's Go types have a name,
 * clients expect a schema of that name in components and a reference to it. */
#include "apiserver/discovery/openapi.h"

#include <stdio.h>
#include <string.h>

#include "api/kind.h"
#include "api/tree.h"
#include "base/mem.h"

enum { NAME_MAX_BYTES = 512 };

static const char meta_prefix[] = "io.k8s.apimachinery.pkg.apis.meta.v1";

/* Types of other packages, and types without fields, that have a schema of their own wherever they are used. */
static const struct {
	const char *type, *prefix;
} shared[] = {
	{ "intstr.IntOrString", "io.k8s.apimachinery.pkg.util.intstr" },
	{ "v1.FieldsV1", meta_prefix },
	{ "v1.TypedLocalObjectReference", "io.k8s.api.core.v1" },
};

/* --- names --- */

/* "io.k8s.api.core.v1"; of a custom resource "io.x-k8s.cluster.ipam.v1beta2". */
static void schema_prefix(const struct apiserver_resource *resource, char *out, size_t len)
{
	const char *group = resource->kind->group;
	CLEANUP(strbuf_done) struct strbuf b = STRBUF_INIT;
	if (resource->built_in) {
		size_t first = strcspn(group, ".");
		strbuf_addf(&b, "io.k8s.api.%.*s", (int)first, group);
		if (first == 0)
			strbuf_adds(&b, "core");
	} else {
		for (size_t end = strlen(group); end > 0;) {
			size_t at = end;
			while (at > 0 && group[at - 1] != '.')
				at--;
			strbuf_addf(&b, "%s%.*s", b.n > 0 ? "." : "", (int)(end - at), group + at);
			end = at > 0 ? at - 1 : 0;
		}
	}
	snprintf(out, len, "%s.%s", b.s, resource->version);
}

json_t *apiserver_openapi_gvk(const struct apiserver_resource *resource)
{
	return json_pack("{ss,ss,ss}", "group", resource->kind->group, "kind", resource->kind->kind,
			 "version", resource->version);
}

/* --- schemas --- */

/* The name of the schema's Go type without its package; NULL: none. *prefix is changed if the type
 * is not in the kind's own package. */
static const char *type_name(const json_t *schema, const char **prefix)
{
	const char *type = api_text(json_object_get(json_object_get(schema, "x-go"), "type"));
	bool has_name = type[0] != '\0' && json_object_get(schema, "properties") != NULL;
	for (size_t i = 0; i < ARRAY_LEN(shared); i++) {
		if (strcmp(shared[i].type, type) == 0) {
			has_name = true;
			*prefix = shared[i].prefix;
		}
	}
	if (!has_name)
		return NULL;
	const char *dot = strrchr(type, '.');
	return dot != NULL ? dot + 1 : type;
}

/* Schemas are shared by the threads that serve: what goes into a document is copied, since even a
 * reference is a write. */
static json_t *make_reference(const char *name, const json_t *description)
{
	CLEANUP(freep) char *path = xasprintf("#/components/schemas/%s", name);
	json_t *ref = json_pack("{s[{ss}],s{}}", "allOf", "$ref", path, "default");
	if (description != NULL)
		json_object_set_new(ref, "description", json_deep_copy(description));
	return ref;
}

static json_t *make_plain(const json_t *schema, const char *prefix, json_t *schemas);

/* A nested schema: a reference when it has a name, else itself. */
static json_t *make_nested(const json_t *schema, const char *prefix, json_t *schemas)
{
	const char *type = json_is_object(schema) ? type_name(schema, &prefix) : NULL;
	if (type == NULL)
		return make_plain(schema, prefix, schemas);
	CLEANUP(freep) char *name = xasprintf("%s.%s", prefix, type);
	if (json_object_get(schemas, name) == NULL) {
		/* Reserved first: a type may contain itself. */
		json_object_set_new(schemas, name, json_object());
		json_t *own = make_plain(schema, prefix, schemas);
		/* The description belongs to the field that refers to the schema. */
		json_object_del(own, "description");
		json_object_set_new(schemas, name, own);
	}
	return make_reference(name, json_object_get(schema, "description"));
}

static json_t *make_properties(const json_t *list, const char *prefix, json_t *schemas)
{
	json_t *out = json_object();
	const char *key;
	json_t *v;
	json_object_foreach (api_tree(list), key, v)
		json_object_set_new(out, key, make_nested(v, prefix, schemas));
	return out;
}

/* A copy without our own extensions, and with references in place of named types. */
static json_t *make_plain(const json_t *schema, const char *prefix, json_t *schemas)
{
	const char *key;
	json_t *v;
	if (!json_is_object(schema))
		return json_deep_copy(schema);
	json_t *out = json_object();
	json_object_foreach (api_tree(schema), key, v) {
		if (strcmp(key, "x-go") == 0)
			continue;
		if (strcmp(key, "properties") == 0)
			json_object_set_new(out, key, make_properties(v, prefix, schemas));
		else if (strcmp(key, "items") == 0 || strcmp(key, "additionalProperties") == 0)
			json_object_set_new(out, key, make_nested(v, prefix, schemas));
		else
			json_object_set_new(out, key, json_deep_copy(v));
	}
	return out;
}

static void add_schema(const struct apiserver_resource *resource, json_t *schemas)
{
	char prefix[NAME_MAX_BYTES];
	schema_prefix(resource, prefix, sizeof(prefix));
	CLEANUP(freep) char *name = xasprintf("%s.%s", prefix, resource->kind->kind);
	CLEANUP(freep) char *meta = xasprintf("%s.ObjectMeta", meta_prefix);
	json_t *own = json_deep_copy(resource->openapi);
	json_t *props = json_object_get(own, "properties");
	const json_t *old = json_object_get(props, "metadata");
	json_t *ref = make_reference(meta, json_object_get(old, "description"));
	/* ObjectMeta is a reference for every kind. */
	json_object_set_new(props, "metadata", json_object());
	json_t *schema = make_plain(own, prefix, schemas);
	json_object_set_new(json_object_get(schema, "properties"), "metadata", ref);
	json_object_set_new(schema, "x-kubernetes-group-version-kind",
			    json_pack("[o]", apiserver_openapi_gvk(resource)));
	json_object_set_new(schemas, name, schema);
	json_decref(own);
}

static void add_meta(json_t *schemas)
{
	json_decref(make_nested(apiserver_objectmeta_schema(), meta_prefix, schemas));
}

/* --- paths --- */

static const struct {
	const char *name, *type, *description;
} parameters[] = {
	{ "dryRun", "string", "All: a dry run, nothing is stored." },
	{ "fieldManager", "string", "Name of the field manager, which owns the written fields." },
	{ "fieldValidation", "string",
	  "Treatment of unknown and duplicate fields: Ignore, Warn or Strict." },
	{ "force", "boolean", "Takes over fields of other managers; only for apply." },
};

static json_t *parameter_list(void)
{
	json_t *list = json_array();
	for (size_t i = 0; i < ARRAY_LEN(parameters); i++)
		json_array_append_new(
			list, json_pack("{ss,ss,ss,s{ss,sb}}", "name", parameters[i].name, "in",
					"query", "description", parameters[i].description, "schema",
					"type", parameters[i].type, "uniqueItems", 1));
	return list;
}

void apiserver_openapi_path(const struct apiserver_resource *resource, struct strbuf *out)
{
	const struct api_kind *k = resource->kind;
	if (k->group[0] != '\0')
		strbuf_addf(out, "/apis/%s/%s", k->group, resource->version);
	else
		strbuf_addf(out, "/api/%s", resource->version);
	strbuf_addf(out, "%s/%s/{name}", k->namespaced ? "/namespaces/{namespace}" : "", k->plural);
}

/* The operation by which clients find a kind's schema: PATCH with its parameters, which kubectl reads; GET of a kind that is
 * only read; POST of a review. */
static const struct operation {
	unsigned verb;
	const char *method, *action;
	bool collection, has_parameters;
} operations[] = {
	{ APISERVER_PATCH, "patch", "patch", false, true },
	{ APISERVER_GET, "get", "get", false, false },
	{ APISERVER_CREATE, "post", "post", true, true },
};

static void add_operation(const struct apiserver_resource *resource,
			  const struct operation *operation, json_t *paths)
{
	static const char item[] = "/{name}";
	CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
	CLEANUP(freep)
	char *id = xasprintf("%s%s%s", operation->action,
			     resource->kind->namespaced ? "Namespaced" : "", resource->kind->kind);
	apiserver_openapi_path(resource, &path);
	json_t *described = json_pack(
		"{ss,so,ss,so,s{s{ss}}}", "operationId", id, "parameters",
		operation->has_parameters ? parameter_list() : json_array(), "x-kubernetes-action",
		operation->action, "x-kubernetes-group-version-kind",
		apiserver_openapi_gvk(resource), "responses", "200", "description", "OK");
	const size_t path_n = path.n - (operation->collection ? sizeof(item) - 1 : 0);
	json_object_setn_new(paths, path.s, path_n,
			     json_pack("{so}", operation->method, described));
}

static void add_path(const struct apiserver_resource *resource, json_t *paths)
{
	for (size_t i = 0; i < ARRAY_LEN(operations); i++) {
		if ((resource->verbs & operations[i].verb) == 0)
			continue;
		add_operation(resource, &operations[i], paths);
		return;
	}
}

json_t *apiserver_openapi_v3(const struct apiserver_group_version *gv, const char *version)
{
	json_t *paths = json_object(), *schemas = json_object();
	for (size_t i = 0; i < gv->n_rows; i++) {
		add_path(gv->rows[i], paths);
		add_schema(gv->rows[i], schemas);
	}
	add_meta(schemas);
	return json_pack("{ss,s{ss,ss},so,s{so}}", "openapi", "3.0.0", "info", "title", "Fairlead",
			 "version", version, "paths", paths, "components", "schemas", schemas);
}
