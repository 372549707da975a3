/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Drops empty values, or adds zero values, as a Go server does when it decodes an object and encodes
 * it again. The schema's `x-go` says which fields of the Go type are pointers or always encoded. */
#include "apiserver/kind/go_normalize.h"

#include <string.h>

#include "api/meta.h"
#include "api/openapi_node.h"
#include "api/time.h"
#include "api/tree.h"
#include "apiserver/kind/resource.h"

enum keep { KEEP_FULL, KEEP_SET, KEEP_ALWAYS };

static enum keep keep_of(const json_t *schema)
{
	const char *keep = api_openapi_node(schema)->go_keep;
	if (keep[0] == '\0')
		return KEEP_FULL;
	return strcmp(keep, "set") == 0 ? KEEP_SET : KEEP_ALWAYS;
}

static bool is_empty(const json_t *value)
{
	return json_is_null(value) || json_is_false(value) ||
	       (json_is_string(value) && json_string_length(value) == 0) ||
	       (json_is_integer(value) && json_integer_value(value) == 0) ||
	       (json_is_object(value) && json_object_size(value) == 0) ||
	       (json_is_array(value) && json_array_size(value) == 0);
}

/* Go's zero value of a field: null for lists, maps and times. */
static json_t *zero_of(const json_t *schema)
{
	const struct api_openapi_node *node = api_openapi_node(schema);
	const char *type = node->type;
	if (type[0] == '\0')
		return json_integer(0); /* IntOrString */
	if (strcmp(type, "object") == 0 && node->properties != NULL)
		return json_object();
	if (strcmp(type, "string") == 0 && node->format[0] == '\0')
		return json_string("");
	if (strcmp(type, "boolean") == 0)
		return json_false();
	if (strcmp(type, "integer") == 0)
		return json_integer(0);
	return json_null();
}

/* `stored` is a value that is as it was stored, which is left alone, or NULL. */
static void normalize_value(const json_t *schema, json_t *value, const json_t *stored);

static void normalize_members(const struct api_openapi_node *node, json_t *val,
			      const json_t *stored)
{
	const json_t *members = node->properties;
	const char *key;
	json_t *value, *member;
	void *next;
	json_object_foreach (api_tree(members), key, member) {
		if (keep_of(member) == KEEP_ALWAYS && json_object_get(val, key) == NULL)
			json_object_set_new(val, key, zero_of(member));
	}
	json_object_foreach_safe(val, next, key, value)
	{
		member = json_object_get(members, key);
		if (member != NULL)
			normalize_value(member, value, stored);
		if (member == NULL ? !node->preserve
				   : keep_of(member) == KEEP_FULL && is_empty(value))
			json_object_del(val, key);
	}
}

/* Is the time written as the server writes it, like nearly all? Malformed ones are left as they are. */
static bool is_normal_time(const json_t *value, bool micro)
{
	const char *text = api_text(value);
	size_t n = json_string_length(value);
	return n == (micro ? sizeof("2006-01-02T15:04:05.000000Z")
			   : sizeof("2006-01-02T15:04:05Z")) -
			       1 &&
	       text[10] == 'T' && text[19] == (micro ? '.' : 'Z') && text[n - 1] == 'Z';
}

/* Converts times to UTC. */
static void normalize_text(const char *type, json_t *value)
{
	char text[API_TIME_TEXT_MAX];
	uint64_t ns;
	bool micro = strcmp(type, "v1.MicroTime") == 0;
	if ((!micro && strcmp(type, "v1.Time") != 0) || is_normal_time(value, micro) ||
	    api_time_parse(api_text(value), &ns) < 0)
		return;
	json_string_set(value, micro ? api_micro_time_format(ns, text) : api_time_format(ns, text));
}

static void normalize_value(const json_t *schema, json_t *val, const json_t *stored)
{
	if (val == stored)
		return;
	if (!json_is_string(val) && !json_is_object(val) && !json_is_array(val))
		return;
	const struct api_openapi_node *node = api_openapi_node(schema);
	const json_t *below = json_is_array(val) ? node->items : node->additional_properties;
	const char *key;
	json_t *value;
	size_t i;
	if (json_is_string(val)) {
		normalize_text(node->go_type, val);
	} else if (json_is_object(val) && node->properties != NULL) {
		normalize_members(node, val, stored);
	} else if (json_is_object(val) && below != NULL) {
		json_object_foreach (val, key, value)
			normalize_value(below, value, stored);
	} else if (json_is_array(val) && below != NULL) {
		json_array_foreach (val, i, value)
			normalize_value(below, value, stored);
	}
}

/* Go's decoder turns null in a list or map into the zero value of the item's type. */
static json_t *zero_of_null(const json_t *schema)
{
	const struct api_openapi_node *node = api_openapi_node(schema);
	if (strcmp(node->go_type, "resource.Quantity") == 0)
		return json_string("0");
	return strcmp(node->type, "string") == 0 ? json_string("") : zero_of(schema);
}

/* A null member of a struct is an unset one: normalizing drops it later. */
static void fill_nulls(const json_t *schema, json_t *val, const json_t *stored)
{
	if ((!json_is_object(val) && !json_is_array(val)) || val == stored)
		return;
	const struct api_openapi_node *node = api_openapi_node(schema);
	const json_t *members = node->properties;
	const json_t *below = json_is_array(val) ? node->items : node->additional_properties;
	const bool fill = members == NULL && json_is_object(below);
	const char *key;
	json_t *value;
	void *next;
	size_t i;
	json_object_foreach_safe(val, next, key, value)
	{
		const json_t *member = json_object_get(members, key);
		if (member == NULL && fill && json_is_null(value))
			json_object_set_new(val, key, zero_of_null(below));
		else if (member != NULL || fill)
			fill_nulls(member != NULL ? member : below, value, stored);
	}
	json_array_foreach (val, i, value) {
		if (json_is_null(value) && fill)
			json_array_set_new(val, i, zero_of_null(below));
		else
			fill_nulls(below, value, stored);
	}
}

void apiserver_go_fill_nulls(const struct apiserver_resource *resource, json_t *object,
			     const json_t *old)
{
	const json_t *stored = api_managed_fields(old);
	if (resource->built_in)
		fill_nulls(resource->openapi, object, stored);
	else
		fill_nulls(apiserver_objectmeta_schema(), json_object_get(object, "metadata"),
			   stored);
}

void apiserver_go_normalize_by(const json_t *schema, json_t *object)
{
	normalize_value(schema, object, NULL);
}

void apiserver_go_normalize(const struct apiserver_resource *resource, json_t *object)
{
	normalize_value(resource->openapi, object, NULL);
}

void apiserver_go_normalize_metadata(json_t *object, const json_t *old)
{
	normalize_value(apiserver_objectmeta_schema(), json_object_get(object, "metadata"),
			api_managed_fields(old));
}
