/* Empty values as Go's encoder has them. */
#include "apiserver/shape.h"

#include <string.h>

#include "api/meta.h"
#include "api/time.h"
#include "api/tree.h"

enum keep { KEEP_FULL, KEEP_SET, KEEP_ALWAYS };

static enum keep keep_of(const json_t *schema)
{
	const char *s = api_text(json_object_get(json_object_get(schema, "x-go"), "keep"));
	if (s[0] == '\0')
		return KEEP_FULL;
	return strcmp(s, "set") == 0 ? KEEP_SET : KEEP_ALWAYS;
}

static bool is_empty(const json_t *v)
{
	return json_is_null(v) || json_is_false(v) ||
	       (json_is_string(v) && json_string_length(v) == 0) ||
	       (json_is_integer(v) && json_integer_value(v) == 0) ||
	       (json_is_object(v) && json_object_size(v) == 0) ||
	       (json_is_array(v) && json_array_size(v) == 0);
}

/* The value of a field that was not set; a list or map, and a time, is null then. */
static json_t *zero_of(const json_t *schema)
{
	const char *type = api_text(json_object_get(schema, "type"));
	if (type[0] == '\0')
		return json_integer(0); /* a number or a text */
	if (strcmp(type, "object") == 0 && json_object_get(schema, "properties") != NULL)
		return json_object();
	if (strcmp(type, "string") == 0 && json_object_get(schema, "format") == NULL)
		return json_string("");
	if (strcmp(type, "boolean") == 0)
		return json_false();
	if (strcmp(type, "integer") == 0)
		return json_integer(0);
	return json_null();
}

static void shape(const json_t *schema, json_t *v);

static void shape_members(const json_t *schema, const json_t *members, json_t *v)
{
	bool preserve =
		json_is_true(json_object_get(schema, "x-kubernetes-preserve-unknown-fields"));
	const char *key;
	json_t *value, *member;
	void *next;
	json_object_foreach (api_tree(members), key, member) {
		if (keep_of(member) == KEEP_ALWAYS && json_object_get(v, key) == NULL)
			json_object_set_new(v, key, zero_of(member));
	}
	json_object_foreach_safe(v, next, key, value)
	{
		member = json_object_get(members, key);
		if (member != NULL)
			shape(member, value);
		if (member == NULL ? !preserve : keep_of(member) == KEEP_FULL && is_empty(value))
			json_object_del(v, key);
	}
}

/* Times are kept in UTC. What is no time was refused when the body was read. */
static void shape_text(const json_t *schema, json_t *v)
{
	const char *type = api_get_string(schema, "x-go.type");
	char text[API_TIME_TEXT_MAX];
	uint64_t ns;
	bool micro = strcmp(type, "v1.MicroTime") == 0;
	if ((!micro && strcmp(type, "v1.Time") != 0) || api_time_parse(api_text(v), &ns) < 0)
		return;
	json_string_set(v, micro ? api_micro_time(ns, text) : api_time(ns, text));
}

static void shape(const json_t *schema, json_t *v)
{
	const json_t *members = json_object_get(schema, "properties");
	const json_t *below =
		json_object_get(schema, json_is_array(v) ? "items" : "additionalProperties");
	const char *key;
	json_t *value;
	size_t i;
	if (json_is_string(v)) {
		shape_text(schema, v);
	} else if (json_is_object(v) && members != NULL) {
		shape_members(schema, members, v);
	} else if (json_is_object(v) && below != NULL) {
		json_object_foreach (v, key, value)
			shape(below, value);
	} else if (json_is_array(v) && below != NULL) {
		json_array_foreach (v, i, value)
			shape(below, value);
	}
}

/* What Go's decoder leaves in a list or map where the body has null: the zero value of the type. */
static json_t *zero_of_null(const json_t *schema)
{
	if (strcmp(api_get_string(schema, "x-go.type"), "resource.Quantity") == 0)
		return json_string("0");
	return strcmp(api_get_string(schema, "type"), "string") == 0 ? json_string("")
								     : zero_of(schema);
}

/* A member that is null is one that is not set: it stays for the step that leaves such out. */
static void fill_nulls(const json_t *schema, json_t *v)
{
	const json_t *members = json_object_get(schema, "properties");
	const json_t *below =
		json_object_get(schema, json_is_array(v) ? "items" : "additionalProperties");
	const bool fill = members == NULL && json_is_object(below);
	const char *key;
	json_t *value;
	void *next;
	size_t i;
	json_object_foreach_safe(v, next, key, value)
	{
		const json_t *member = json_object_get(members, key);
		if (member == NULL && fill && json_is_null(value))
			json_object_set_new(v, key, zero_of_null(below));
		else if (member != NULL || fill)
			fill_nulls(member != NULL ? member : below, value);
	}
	json_array_foreach (v, i, value) {
		if (json_is_null(value) && fill)
			json_array_set_new(v, i, zero_of_null(below));
		else
			fill_nulls(below, value);
	}
}

void apiserver_shape_nulls(const struct apiserver_resource *r, json_t *o)
{
	if (r->built_in)
		fill_nulls(r->openapi, o);
	else
		fill_nulls(apiserver_objectmeta_schema(), json_object_get(o, "metadata"));
}

void apiserver_shape_by(const json_t *schema, json_t *o)
{
	shape(schema, o);
}

void apiserver_shape(const struct apiserver_resource *r, json_t *o)
{
	shape(r->openapi, o);
}

void apiserver_shape_metadata(json_t *o)
{
	shape(apiserver_objectmeta_schema(), json_object_get(o, "metadata"));
}
