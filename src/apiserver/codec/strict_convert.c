/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The result of a strategic merge patch or an apply is not decoded as a body: the server converts
 * the tree into its Go types, with other messages for wrong types: `cannot convert int64 to
 * v1.Protocol`. / */
#include "apiserver/codec/strict_convert.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "api/openapi_node.h"
#include "api/tree.h"
#include "apiserver/codec/strict_value.h"
#include "base/err.h"
#include "base/err_text.h"
#include "base/strbuf.h"

struct message {
	struct err_text err;
};

static int check_value(const struct message *message, const json_t *schema, const json_t *value);

/* Go's kind of a value in a tree. */
static const char *go_kind_of(const json_t *value)
{
	if (json_is_string(value))
		return "string";
	if (json_is_boolean(value))
		return "bool";
	if (json_is_number(value))
		return json_is_integer(value) ? "int64" : "float64";
	return json_is_array(value) ? "slice" : "map";
}

static int fail_with(const struct message *message, const char *before, const char *word)
{
	err_text_set(message->err, "%s%s", before, word);
	return ERR_TYPE;
}

static int fail_convert(const struct message *message, const json_t *value, const char *type)
{
	err_text_set(message->err, "cannot convert %s to %s", go_kind_of(value), type);
	return ERR_TYPE;
}

static int fail_unmarshal(const struct message *message, const json_t *value, const char *type)
{
	const char *word = json_is_number(value)   ? "number"
			   : json_is_array(value)  ? "array"
			   : json_is_object(value) ? "object"
						   : go_kind_of(value);
	char number[64] = "";
	if (json_is_real(value))
		snprintf(number, sizeof(number), " %g", json_real_value(value));
	err_text_set(message->err, "json: cannot unmarshal %s%s into Go value of type %s", word,
		     number, type);
	return ERR_TYPE;
}

/* Go types with a decoder of their own; 1: the type is none of them. */
static int check_special(const struct message *message, const json_t *value, const char *type)
{
	const char *s = api_text(value);
	char err[256];
	if (type[0] == '\0')
		return 1;
	if (strcmp(type, "intstr.IntOrString") == 0)
		return json_is_string(value) || json_is_integer(value)
			       ? 0
			       : fail_unmarshal(message, value, "int32");
	if (strcmp(type, "resource.Quantity") == 0)
		return apiserver_strict_value_bad_quantity(value, message->err) ? ERR_TYPE : 0;
	if (strcmp(type, "[]uint8") == 0) {
		if (!json_is_string(value))
			return fail_with(message, "cannot restore slice from ", go_kind_of(value));
		return apiserver_strict_value_bad_base64(s, ERR_TEXT(err))
			       ? fail_with(message, "error decoding from json: ", err)
			       : 0;
	}
	bool micro = strcmp(type, "v1.MicroTime") == 0;
	if (!micro && strcmp(type, "v1.Time") != 0)
		return 1;
	if (!json_is_string(value))
		return fail_unmarshal(message, value, "string");
	return apiserver_strict_value_bad_time(s, micro, message->err) ? ERR_TYPE : 0;
}

/* In the value's own order: most objects have few of the members that they could have. */
static bool are_members_fine(const struct message *message, const json_t *members,
			     const json_t *value)
{
	const char *key;
	json_t *each;
	json_object_foreach (api_tree(value), key, each) {
		const json_t *schema = json_object_get(members, key);
		if (schema != NULL && check_value(message, schema, each) != 0)
			return false;
	}
	return true;
}

static int check_object(const struct message *message, const struct api_openapi_node *node,
			const json_t *value)
{
	const json_t *members = node->properties, *others = node->additional_properties;
	const char *key;
	json_t *each;
	int r = 0;
	if (members == NULL && others == NULL)
		return 0;
	if (!json_is_object(value))
		return fail_with(message,
				 members != NULL ? "cannot restore struct from: "
						 : "cannot restore map from ",
				 go_kind_of(value));
	if (members != NULL && are_members_fine(message, members, value))
		return 0;
	/* In the schema's order, since the first error is reported. */
	json_object_foreach (api_tree(members), key, each) {
		if (r == 0)
			r = check_value(message, each, json_object_get(value, key));
	}
	if (members != NULL || !json_is_object(others))
		return r;
	json_object_foreach (api_tree(value), key, each) {
		if (r == 0)
			r = check_value(message, others, each);
	}
	return r;
}

static int check_array(const struct message *message, const json_t *items, const json_t *value)
{
	int r = 0;
	if (!json_is_array(value))
		return fail_with(message, "cannot restore slice from ", go_kind_of(value));
	for (size_t i = 0; r == 0 && i < json_array_size(value); i++)
		r = check_value(message, items, json_array_get(value, i));
	return r;
}

/* Go can convert an integer to a string, and a float to an integer: these are refused as
 * conversions, all others as unrecognized types. */
static int check_scalar(const struct message *message, const struct api_openapi_node *node,
			const json_t *value)
{
	const char *type = node->type, *format = node->format, *name = node->go_type;
	if (strcmp(type, "string") == 0 && json_is_string(value))
		return 0;
	if (strcmp(type, "string") == 0) {
		return json_is_integer(value)
			       ? fail_convert(message, value, name[0] != '\0' ? name : "string")
			       : fail_with(message, "unrecognized type: ", "string");
	}
	if (strcmp(type, "boolean") == 0)
		return json_is_boolean(value) ? 0
					      : fail_with(message, "unrecognized type: ", "bool");
	if (strcmp(type, "integer") != 0 || json_is_integer(value))
		return 0;
	if (format[0] == '\0')
		format = "int64";
	if (!json_is_real(value))
		return fail_with(message, "unrecognized type: ", format);
	return fail_convert(message, value, name[0] != '\0' ? name : format);
}

static int check_value(const struct message *message, const json_t *schema, const json_t *value)
{
	if (value == NULL || json_is_null(value))
		return 0;
	const struct api_openapi_node *node = api_openapi_node(schema);
	int r = check_special(message, value, node->go_type);
	if (r <= 0)
		return r;
	if (strcmp(node->type, "object") == 0)
		return check_object(message, node, value);
	if (strcmp(node->type, "array") == 0)
		return check_array(message, node->items, value);
	return check_scalar(message, node, value);
}

int apiserver_strict_convert(const struct apiserver_resource *resource, const json_t *object,
			     struct err_text err)
{
	const struct message message = { err };
	return check_value(&message, resource->openapi, object);
}

/* ---- numbers ---- */

static void narrow_value(const json_t *schema, json_t *value)
{
	if (!json_is_object(value) && !json_is_array(value) && !json_is_integer(value))
		return;
	const struct api_openapi_node *node = api_openapi_node(schema);
	const json_t *members = node->properties;
	const json_t *below = json_is_array(value) ? node->items : node->additional_properties;
	const char *key;
	json_t *each;
	size_t i;
	if (json_is_integer(value) && strcmp(node->format, "int32") == 0)
		json_integer_set(value, (int32_t)(uint32_t)(uint64_t)json_integer_value(value));
	json_object_foreach (value, key, each)
		narrow_value(members != NULL ? json_object_get(members, key) : below, each);
	json_array_foreach (value, i, each)
		narrow_value(below, each);
}

void apiserver_strict_narrow(const struct apiserver_resource *resource, json_t *object)
{
	narrow_value(resource->openapi, object);
}
