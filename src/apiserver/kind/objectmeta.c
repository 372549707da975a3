/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Validation of metadata. As in kube-apiserver, an update is checked for less than a new object: names
 * and namespaces were checked when the object was created. */
#include "apiserver/kind/objectmeta.h"

#include <stdio.h>
#include <string.h>

#include "api/meta.h"
#include "api/tree.h"
#include "apiserver/kind/resource.h"
#include "apiserver/rules/field_errors.h"
#include "apiserver/rules/name_rules.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/slice.h"
#include "base/strbuf.h"

enum {
	CONTROLLER_ERRORS_MAX = 16,
	OWNERS_COMPARED_MAX = 8, /* each with each other one */
};

/* The rule for names of a kind: a DNS subdomain, apart from these. */
static apiserver_rule name_rule(const struct apiserver_resource *resource)
{
	static const struct {
		const char *group, *kind;
		apiserver_rule rule;
	} rules[] = {
		{ "", "Event", apiserver_check_path_segment },
		{ "", "Namespace", apiserver_check_label },
		{ "", "Service", apiserver_check_label },
	};
	for (size_t i = 0; resource->built_in && i < ARRAY_LEN(rules); i++) {
		if (strcmp(rules[i].kind, resource->kind->kind) == 0 &&
		    strcmp(rules[i].group, resource->kind->group) == 0)
			return rules[i].rule;
	}
	return apiserver_check_subdomain;
}

/* The server appends random characters, so a dash at the end is allowed. */
static void check_generate_name(const struct apiserver_field *at, apiserver_rule rule,
				const char *text)
{
	CLEANUP(freep) char *masked = xstrdup(text);
	size_t n = strlen(text);
	if (n > 1 && text[n - 1] == '-') {
		masked[n - 2] =
			'a'; /* as kube-apiserver: replaces the last but one, drops the dash */
		masked[n - 1] = '\0';
	}
	rule(at, masked);
}

static void check_name(const struct apiserver_resource *resource, const json_t *meta,
		       struct api_errors *errs)
{
	apiserver_rule rule = name_rule(resource);
	const char *generate = api_member_text(meta, "generateName"),
		   *name = api_member_text(meta, "name");
	struct apiserver_field at = { errs, "metadata.generateName", generate };
	if (generate[0] != '\0')
		check_generate_name(&at, rule, generate);
	at = (struct apiserver_field){ errs, "metadata.name", NULL };
	if (name[0] == '\0')
		apiserver_add_required(errs, "metadata.name", "name or generateName is required");
	else
		rule(&at, name);
}

static void check_namespace(const struct apiserver_resource *resource, const json_t *meta,
			    struct api_errors *errs)
{
	const struct apiserver_field at = { errs, "metadata.namespace", NULL };
	const char *ns = api_member_text(meta, "namespace");
	if (!resource->kind->namespaced && ns[0] != '\0')
		apiserver_add_forbidden(errs, at.field, "not allowed on this type");
	if (!resource->kind->namespaced)
		return;
	if (ns[0] == '\0')
		apiserver_add_required(errs, at.field, "");
	else
		apiserver_check_label(&at, ns);
}

/* ---- labels and the like ---- */

static void check_annotations(const json_t *annotations, struct api_errors *errs)
{
	static const char field[] = "metadata.annotations";
	const struct apiserver_field at = { .errs = errs, .field = field };
	const char *key;
	json_t *value;
	size_t bytes = 0;
	json_object_foreach (api_tree(annotations), key, value) {
		CLEANUP(freep) char *lower = xstrdup(key);
		for (char *p = lower; *p != '\0'; p++)
			*p = ascii_lower(*p);
		struct apiserver_field as_written = at;
		as_written.shown = key;
		apiserver_check_label_key(&as_written, lower);
		bytes += strlen(key) + json_string_length(value);
	}
	if (bytes > APISERVER_ANNOTATIONS_MAX_BYTES) {
		char text[80];
		snprintf(text, sizeof(text), "may not be more than %d bytes",
			 APISERVER_ANNOTATIONS_MAX_BYTES);
		api_errors_add(errs, API_FIELD_TOO_LONG, field, NULL, text);
	}
}

/* An owner reference with its fields in the order of the Go type. */
static void add_owner(struct strbuf *out, const json_t *ref)
{
	static const char *const order[] = { "apiVersion", "kind",	 "name",
					     "uid",	   "controller", "blockOwnerDeletion" };
	const char *comma = "";
	strbuf_addc(out, '{');
	for (size_t i = 0; i < ARRAY_LEN(order); i++) {
		const json_t *v = json_object_get(ref, order[i]);
		if (v == NULL)
			continue;
		strbuf_addf(out, "%s\"%s\":", comma, order[i]);
		if (json_is_string(v))
			strbuf_add_json(out, slice_of(api_text(v)));
		else
			strbuf_adds(out, json_is_true(v) ? "true" : "false");
		comma = ",";
	}
	strbuf_addc(out, '}');
}

static void check_owner(const json_t *ref, size_t index, struct api_errors *errs)
{
	static const char *const must[] = { "kind", "name", "uid" };
	const char *version = api_member_text(ref, "apiVersion");
	struct apiserver_path p;
	const char *slash = strchr(version, '/');
	if (version[0] == '\0')
		apiserver_add_required(
			errs,
			apiserver_format_path(&p, "metadata.ownerReferences[%zu].apiVersion",
					      index),
			"must not be empty");
	else if (slash != NULL && (strchr(slash + 1, '/') != NULL || slash[1] == '\0'))
		apiserver_add_invalid(
			errs,
			apiserver_format_path(&p, "metadata.ownerReferences[%zu].apiVersion",
					      index),
			json_object_get(ref, "apiVersion"),
			"must be <group>/<version> or <version>");
	for (size_t k = 0; k < ARRAY_LEN(must); k++) {
		if (api_member_text(ref, must[k])[0] == '\0')
			apiserver_add_required(
				errs,
				apiserver_format_path(&p, "metadata.ownerReferences[%zu].%s", index,
						      must[k]),
				"must not be empty");
	}
	if (strcmp(version, "v1") == 0 && strcmp(api_member_text(ref, "kind"), "Event") == 0) {
		CLEANUP(strbuf_done) struct strbuf value = STRBUF_INIT;
		add_owner(&value, ref);
		api_errors_add(errs, API_FIELD_INVALID,
			       apiserver_format_path(&p, "metadata.ownerReferences[%zu]", index),
			       value.s, "/v1, Kind=Event is disallowed from being an owner");
	}
}

/* True if the same reference is in `seen`, which is keyed by the reference as text. */
static bool had_owner(struct map *seen, const json_t *ref)
{
	CLEANUP(freep)
	char *text = json_dumps(ref, JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY);
	return text != NULL && map_set(seen, slice_of(text), seen) != NULL;
}

/* References with different uids differ; nearly all do. */
static bool have_different_uids(const json_t *list)
{
	const size_t n = json_array_size(list);
	if (n > OWNERS_COMPARED_MAX)
		return false;
	for (size_t i = 1; i < n; i++) {
		const char *uid = api_member_text(json_array_get(list, i), "uid");
		for (size_t k = 0; k < i; k++) {
			if (strcmp(api_member_text(json_array_get(list, k), "uid"), uid) == 0)
				return false;
		}
	}
	return true;
}

void apiserver_drop_duplicate_owners(json_t *object, const char *when, struct strbuf *warnings)
{
	CLEANUP(strbuf_done) struct strbuf again = STRBUF_INIT;
	json_t *list = json_object_get(json_object_get(object, "metadata"), "ownerReferences");
	struct map seen;
	size_t i;
	if (json_array_size(list) < 2 || have_different_uids(list))
		return;
	json_t *once = json_array(), *ref;
	map_init(&seen);
	json_array_foreach (list, i, ref) {
		if (had_owner(&seen, ref))
			strbuf_addf(&again, "%s%s", again.n != 0 ? ", " : "",
				    api_member_text(ref, "uid"));
		else
			json_array_append(once, ref);
	}
	if (json_array_size(once) != json_array_size(list)) {
		strbuf_addf(warnings,
			    ".metadata.ownerReferences contains duplicate entries%s; API server "
			    "dedups owner references in 1.20+, and may reject such requests as "
			    "early as 1.24; please fix your requests; duplicate UID(s) observed: "
			    "%s\n",
			    when, again.s);
		json_object_set(json_object_get(object, "metadata"), "ownerReferences", once);
	}
	json_decref(once);
	map_done(&seen);
}

/* The list of owners as an error shows it. */
static void add_owners(struct strbuf *out, const json_t *list)
{
	for (size_t i = 0; i < json_array_size(list); i++) {
		strbuf_addc(out, i != 0 ? ',' : '[');
		add_owner(out, json_array_get(list, i));
	}
	strbuf_addc(out, ']');
}

static void check_owners(const json_t *list, struct api_errors *errs)
{
	CLEANUP(strbuf_done) struct strbuf value = STRBUF_INIT;
	const json_t *first = NULL;
	size_t reported = 0;
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *ref = json_array_get(list, i);
		check_owner(ref, i, errs);
		if (!json_is_true(json_object_get(ref, "controller")))
			continue;
		if (first == NULL) {
			first = ref;
			continue;
		}
		/* Each error shows the whole list, so their total size grows with its square. */
		if (reported++ == CONTROLLER_ERRORS_MAX)
			break;
		CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
		if (value.n == 0)
			add_owners(&value, list);
		strbuf_addf(&text,
			    "Only one reference can have Controller set to true. Found \"true\" in "
			    "references for %s/%s and %s/%s",
			    api_member_text(first, "kind"), api_member_text(first, "name"),
			    api_member_text(ref, "kind"), api_member_text(ref, "name"));
		api_errors_add(errs, API_FIELD_INVALID, "metadata.ownerReferences", value.s,
			       text.s);
	}
}

static void check_finalizers(const json_t *list, struct api_errors *errs)
{
	static const char field[] = "metadata.finalizers";
	const struct apiserver_field at = { .errs = errs, .field = field };
	for (size_t i = 0; i < json_array_size(list); i++) {
		const char *s = api_text(json_array_get(list, i));
		apiserver_check_label_key(&at, s);
	}
	if (api_list_has(list, "orphan") && api_list_has(list, "foregroundDeletion"))
		apiserver_add_invalid(errs, field, list,
				      "finalizer orphan and foregroundDeletion cannot be both set");
}

/* Only built-in kinds have this rule, apart from two. */
static void check_standard_finalizers(const struct apiserver_resource *resource, const json_t *list,
				      struct api_errors *errs)
{
	static const char *const standard[] = { "kubernetes", "orphan", "foregroundDeletion" };
	struct apiserver_path p;
	if (!resource->built_in || strcmp(resource->kind->kind, "Lease") == 0 ||
	    strcmp(resource->kind->kind, "Event") == 0)
		return;
	for (size_t i = 0; i < json_array_size(list); i++) {
		const char *s = api_text(json_array_get(list, i));
		bool known = strchr(s, '/') != NULL;
		for (size_t k = 0; k < ARRAY_LEN(standard) && !known; k++)
			known = strcmp(s, standard[k]) == 0;
		if (!known)
			apiserver_add_invalid(
				errs, apiserver_format_path(&p, "metadata.finalizers[%zu]", i),
				json_array_get(list, i),
				"name is neither a standard finalizer name nor is it "
				"fully qualified");
	}
}

static void check_no_new_finalizers(const json_t *list, const json_t *old_list,
				    struct api_errors *errs)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	size_t n = 0;
	strbuf_adds(&text, "no new finalizers can be added if the object is being deleted, found "
			   "new finalizers []string{");
	for (size_t i = 0; i < json_array_size(list); i++) {
		const char *s = api_text(json_array_get(list, i));
		if (api_list_has(old_list, s))
			continue;
		strbuf_adds(&text, n++ != 0 ? ", " : "");
		strbuf_add_quoted(&text, slice_of(s));
	}
	strbuf_addc(&text, '}');
	if (n != 0)
		apiserver_add_forbidden(errs, "metadata.finalizers", text.s);
}

static void check_managed_entry(const json_t *entry, size_t index, struct api_errors *errs)
{
	static const char *const words[] = { "Apply", "Update", NULL };
	const char *type = api_member_text(entry, "fieldsType"),
		   *how = api_member_text(entry, "operation");
	struct apiserver_path p;
	if (strcmp(how, "Apply") != 0 && strcmp(how, "Update") != 0) {
		apiserver_format_path(&p, "metadata.managedFields[%zu].operation", index);
		if (how[0] == '\0')
			apiserver_add_required(errs, p.s, "must not be empty");
		else
			apiserver_check_one_of(errs, p.s, how, words);
	}
	if (type[0] != '\0' && strcmp(type, "FieldsV1") != 0)
		apiserver_add_invalid(
			errs,
			apiserver_format_path(&p, "metadata.managedFields[%zu].fieldsType", index),
			json_object_get(entry, "fieldsType"), "must be `FieldsV1`");
}

static void check_managed_fields(const json_t *list, struct api_errors *errs)
{
	for (size_t i = 0; i < json_array_size(list); i++)
		check_managed_entry(json_array_get(list, i), i, errs);
}

/* ---- all of the metadata ---- */

static json_int_t generation_of(const json_t *meta)
{
	return json_integer_value(json_object_get(meta, "generation"));
}

static void check_generation(const json_t *meta, struct api_errors *errs)
{
	if (generation_of(meta) < 0)
		apiserver_add_invalid(errs, "metadata.generation",
				      json_object_get(meta, "generation"),
				      "must be greater than or equal to 0");
}

/* Fields that cannot change. A missing uid was filled in before. */
static void check_unchanged(const json_t *meta, const json_t *old, struct api_errors *errs)
{
	static const char prefix[] = "metadata.";
	static const char *const fields[] = {
		"metadata.name",
		"metadata.namespace",
		"metadata.uid",
		"metadata.creationTimestamp",
		"metadata.deletionTimestamp",
		"metadata.deletionGracePeriodSeconds",
	};
	for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
		const char *key = fields[i] + sizeof(prefix) - 1;
		apiserver_check_immutable(errs, fields[i], json_object_get(meta, key),
					  json_object_get(old, key));
	}
}

static void check_references(const json_t *meta, struct api_errors *errs)
{
	apiserver_check_labels(errs, "metadata.labels", json_object_get(meta, "labels"));
	check_annotations(json_object_get(meta, "annotations"), errs);
	check_owners(json_object_get(meta, "ownerReferences"), errs);
}

static void check_update(const json_t *meta, const json_t *old, struct api_errors *errs)
{
	if (api_member_text(old, "deletionTimestamp")[0] != '\0')
		check_no_new_finalizers(json_object_get(meta, "finalizers"),
					json_object_get(old, "finalizers"), errs);
	if (api_member_text(meta, "resourceVersion")[0] == '\0')
		api_errors_add(errs, API_FIELD_INVALID, "metadata.resourceVersion", "\"\"",
			       "must be specified for an update");
	check_generation(meta, errs);
	if (generation_of(meta) < generation_of(old))
		apiserver_add_invalid(errs, "metadata.generation",
				      json_object_get(meta, "generation"),
				      "must not be decremented");
	check_unchanged(meta, old, errs);
	check_references(meta, errs);
	check_managed_fields(json_object_get(meta, "managedFields"), errs);
}

void apiserver_objectmeta_validate_update(const json_t *object, const json_t *old,
					  struct api_errors *errs)
{
	check_update(json_object_get(object, "metadata"), json_object_get(old, "metadata"), errs);
}

/* What the server checks for all kinds, before the rules of a kind. */
static void check_common(const json_t *meta, struct api_errors *errs)
{
	check_generation(meta, errs);
	check_references(meta, errs);
	check_finalizers(json_object_get(meta, "finalizers"), errs);
	check_managed_fields(json_object_get(meta, "managedFields"), errs);
}

void apiserver_objectmeta_validate(const struct apiserver_resource *resource, const json_t *object,
				   const json_t *old, struct api_errors *errs)
{
	const json_t *meta = json_object_get(object, "metadata");
	if (old == NULL) {
		check_name(resource, meta, errs);
		check_namespace(resource, meta, errs);
	}
	check_common(meta, errs);
	if (old != NULL)
		apiserver_objectmeta_validate_update(object, old, errs);
	check_standard_finalizers(resource, json_object_get(meta, "finalizers"), errs);
}
