/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Event: the same objects are served in two groups, core and events.k8s.io. The core form is stored.
 * Validation works on it and uses its field names in errors, as kube-apiserver does. */
#include <stdio.h>
#include <string.h>

#include "api/meta.h"
#include "api/tree_copy.h"
#include "apiserver/kind/strategy.h"
#include "apiserver/kind/table_cells.h"
#include "apiserver/rules/field_errors.h"
#include "apiserver/rules/members.h"
#include "apiserver/rules/name_rules.h"
#include "base/strbuf.h"

/* Fields with different names in the two groups. */
static const struct {
	const char *core, *events;
} names[] = {
	{ "involvedObject", "regarding" },
	{ "message", "note" },
	{ "reportingComponent", "reportingController" },
	{ "source", "deprecatedSource" },
	{ "firstTimestamp", "deprecatedFirstTimestamp" },
	{ "lastTimestamp", "deprecatedLastTimestamp" },
	{ "count", "deprecatedCount" },
};

static void rename_member(json_t *object, const char *from, const char *to)
{
	json_t *v = json_object_get(object, from);
	if (v == NULL)
		return;
	json_object_set(object, to, v);
	json_object_del(object, from);
}

/* Sets apiVersion, and the fields that only one of the two forms always contains. */
static void set_version_fields(json_t *object, const char *version)
{
	json_object_set_new(object, "apiVersion", json_string(version));
	bool core = strcmp(version, "v1") == 0;
	const char *controller = core ? "reportingComponent" : "reportingController";
	static const char *const texts[] = { "reportingInstance" };
	if (core) {
		apiserver_set_default(object, controller, json_string(""));
		apiserver_set_default(object, texts[0], json_string(""));
		return;
	}
	if (!apiserver_has_text(object, controller))
		json_object_del(object, controller);
	if (!apiserver_has_text(object, texts[0]))
		json_object_del(object, texts[0]);
}

static void to_stored(json_t *object, const char *version)
{
	(void)version;
	if (strcmp(api_version(object), "v1") == 0)
		return;
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		rename_member(object, names[i].events, names[i].core);
	set_version_fields(object, "v1");
}

static void from_stored(json_t *object, const char *version)
{
	(void)version;
	if (strcmp(api_version(object), "v1") != 0)
		return;
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		rename_member(object, names[i].core, names[i].events);
	set_version_fields(object, "events.k8s.io/v1");
}

/* ---- validation of the core form ---- */

enum { SHORT_MAX = 128, MESSAGE_MAX = 1024 };

static void check_length(const json_t *object, const char *field, size_t max,
			 struct api_errors *errs)
{
	char text[64];
	snprintf(text, sizeof(text), "can have at most %zu characters", max);
	if (json_string_length(json_object_get(object, field)) > max)
		api_errors_add(errs, API_FIELD_INVALID, field, "\"\"", text);
}

static void check_short(const json_t *object, const char *field, struct api_errors *errs)
{
	if (!apiserver_has_text(object, field))
		apiserver_add_required(errs, field, "");
	check_length(object, field, SHORT_MAX, errs);
}

static void add_bad_namespace(const json_t *object, struct api_errors *errs)
{
	CLEANUP(strbuf_done) struct strbuf value = STRBUF_INIT;
	strbuf_add_quoted(&value, slice_of(api_get_string(object, "involvedObject.namespace")));
	api_errors_add(errs, API_FIELD_INVALID, "involvedObject.namespace", value.s,
		       "does not match event.namespace");
}

static void check_old_style(const json_t *object, struct api_errors *errs)
{
	const char *ns = api_get_string(object, "involvedObject.namespace");
	bool fits = ns[0] == '\0' ? strcmp(api_namespace(object), "default") == 0
				  : strcmp(api_namespace(object), ns) == 0;
	if (!fits)
		add_bad_namespace(object, errs);
}

static void check_with_time(const json_t *object, const char *controller, struct api_errors *errs)
{
	const char *ns = api_get_string(object, "involvedObject.namespace");
	if (ns[0] == '\0' && strcmp(api_namespace(object), "default") != 0 &&
	    strcmp(api_namespace(object), "kube-system") != 0)
		add_bad_namespace(object, errs);
	if (!apiserver_has_text(object, "reportingComponent"))
		apiserver_add_required(errs, controller, "");
	apiserver_check_label_key(&(struct apiserver_field){ errs, controller, NULL },
				  api_get_string(object, "reportingComponent"));
	check_short(object, "reportingInstance", errs);
	check_short(object, "action", errs);
	check_short(object, "reason", errs);
	check_length(object, "message", MESSAGE_MAX, errs);
}

static void check_series(const json_t *object, struct api_errors *errs)
{
	const json_t *series = json_object_get(object, "series");
	if (series == NULL)
		return;
	if (apiserver_number(series, "count") < 2)
		api_errors_add(errs, API_FIELD_INVALID, "series.count", "\"\"",
			       "should be at least 2");
	if (!apiserver_has_text(series, "lastObservedTime"))
		apiserver_add_required(errs, "series.lastObservedTime", "");
}

static void check_unset(const json_t *object, const char *field, bool is_set,
			struct api_errors *errs)
{
	(void)object;
	if (is_set)
		api_errors_add(errs, API_FIELD_INVALID, field, "\"\"", "needs to be unset");
}

static void check_created(const json_t *object, struct api_errors *errs)
{
	const char *type = api_get_string(object, "type");
	const json_t *source = json_object_get(object, "source");
	check_series(object, errs);
	if (!apiserver_has_text(object, "eventTime"))
		apiserver_add_required(errs, "eventTime", "");
	if (strcmp(type, "Normal") != 0 && strcmp(type, "Warning") != 0) {
		CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
		strbuf_addf(&text, "has invalid value: %s", type);
		api_errors_add(errs, API_FIELD_INVALID, "type", "\"\"", text.s);
	}
	check_unset(object, "firstTimestamp", apiserver_has_text(object, "firstTimestamp"), errs);
	check_unset(object, "lastTimestamp", apiserver_has_text(object, "lastTimestamp"), errs);
	check_unset(object, "count", apiserver_number(object, "count") != 0, errs);
	check_unset(object, "source",
		    apiserver_has_text(source, "component") || apiserver_has_text(source, "host"),
		    errs);
}

/* An object reference as kube-apiserver's internal Go type is printed in errors. */
static json_t *inner_reference(const json_t *ref)
{
	return json_pack("{ss,ss,ss,ss,ss,ss,ss}", "APIVersion", api_get_string(ref, "apiVersion"),
			 "FieldPath", api_get_string(ref, "fieldPath"), "Kind",
			 api_get_string(ref, "kind"), "Name", api_get_string(ref, "name"),
			 "Namespace", api_get_string(ref, "namespace"), "ResourceVersion",
			 api_get_string(ref, "resourceVersion"), "UID", api_get_string(ref, "uid"));
}

static void check_reference(const json_t *object, const json_t *old, const char *field,
			    struct api_errors *errs)
{
	static const char *const order[] = { "Kind",	   "Namespace",	      "Name",	  "UID",
					     "APIVersion", "ResourceVersion", "FieldPath" };
	const json_t *now = json_object_get(object, field), *was = json_object_get(old, field);
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	if (now == was || (now != NULL && was != NULL && json_equal(now, was)))
		return;
	json_t *inner = inner_reference(now);
	for (size_t i = 0; i < ARRAY_LEN(order); i++) {
		strbuf_addf(&text, "%s\"%s\":", i != 0 ? "," : "{", order[i]);
		strbuf_add_json(&text, slice_of(api_get_string(inner, order[i])));
	}
	strbuf_addc(&text, '}');
	json_decref(inner);
	api_errors_add(errs, API_FIELD_INVALID, field, now != NULL ? text.s : "null",
		       "field is immutable");
}

static void check_update(const json_t *object, const json_t *old, struct api_errors *errs)
{
	static const char *const fields[] = {
		"reason",	    "message", "source",  "firstTimestamp",
		"lastTimestamp",    "count",   "reason",  "type",
		"eventTime",	    "action",  "related", "reportingComponent",
		"reportingInstance"
	};
	const json_t *series = json_object_get(object, "series"),
		     *was = json_object_get(old, "series");
	if (series != NULL && (was == NULL || !json_equal(series, was)))
		check_series(object, errs);
	check_reference(object, old, "involvedObject", errs);
	for (size_t i = 0; i < ARRAY_LEN(fields); i++)
		apiserver_check_immutable(errs, fields[i], json_object_get(object, fields[i]),
					  json_object_get(old, fields[i]));
}

static void check_event(const json_t *object, const json_t *old, bool newer,
			struct api_errors *errs)
{
	struct api_errors meta = { 0 };
	api_errors_move(&meta, errs); /* errors of metadata: kube-apiserver reports them last */
	if (!apiserver_has_text(object, "eventTime"))
		check_old_style(object, errs);
	else
		check_with_time(object, newer ? "reportingController" : "reportingComponent", errs);
	if (newer && old == NULL)
		check_created(object, errs);
	else if (newer)
		check_update(object, old, errs);
	if (errs->n == 0 || newer)
		api_errors_move(errs, &meta);
	api_errors_done(&meta);
}

static void validate_event(const struct apiserver_env *env, const json_t *object, const json_t *old,
			   struct api_errors *errs)
{
	(void)env;
	json_t *now = api_tree_copy(object), *was = old != NULL ? api_tree_copy(old) : NULL;
	bool newer = strcmp(api_version(object), "v1") != 0;
	to_stored(now, "v1");
	if (was != NULL)
		to_stored(was, "v1");
	check_event(now, was, newer, errs);
	json_decref(now);
	json_decref(was);
}

static json_t *cells_of_newer(const json_t *object, uint64_t now_s)
{
	json_t *core = api_tree_copy(object);
	to_stored(core, "v1");
	json_t *cells = apiserver_cells_event(core, now_s);
	json_decref(core);
	return cells;
}

const struct apiserver_strategy apiserver_event_strategy = {
	.kind = "Event",
	.group = "",
	.validate = validate_event,
	.to_stored = to_stored,
	.from_stored = from_stored,
	.bumps_generation = apiserver_no_generation,
	.cells = apiserver_cells_event,
};

const struct apiserver_strategy apiserver_events_event_strategy = {
	.kind = "Event",
	.group = "events.k8s.io",
	.validate = validate_event,
	.to_stored = to_stored,
	.from_stored = from_stored,
	.bumps_generation = apiserver_no_generation,
	.cells = cells_of_newer,
};
