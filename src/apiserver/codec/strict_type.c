/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finds the first value of a wrong type in a body and words it as Go's decoder does: `json: cannot
 * unmarshal number into Go struct field ServicePort.spec.ports.port of type int32`. */
#include "apiserver/codec/strict_type.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "api/meta.h"
#include "api/openapi_node.h"
#include "api/tree.h"
#include "apiserver/codec/json_error.h"
#include "apiserver/codec/strict_value.h"
#include "base/err.h"
#include "base/err_text.h"
#include "base/strbuf.h"

/* A field and those around it. */
struct field {
	const struct field *around; /* NULL: of the whole object */
	const char *key;
	const json_t *schema;
};

struct walk {
	const char *owner;	   /* the innermost struct: "ServicePort"; "" at the very top */
	const struct field *field; /* the innermost field, or NULL */
	const json_t *stored;	   /* a value that is not checked, or NULL */
	struct err_text err;
};

static int check_value(struct walk *walk, const json_t *schema, const json_t *value);

static const char *go_type_of(const json_t *schema)
{
	return api_openapi_node(schema)->go_type;
}

static void add_type(struct strbuf *out, const json_t *schema)
{
	const char *type = api_get_string(schema, "type"),
		   *format = api_get_string(schema, "format");
	if (go_type_of(schema)[0] != '\0')
		strbuf_adds(out, go_type_of(schema));
	else if (strcmp(type, "array") == 0)
		strbuf_adds(out, "[]"), add_type(out, json_object_get(schema, "items"));
	else if (strcmp(type, "object") == 0)
		strbuf_adds(out, "map[string]"),
			add_type(out, json_object_get(schema, "additionalProperties"));
	else if (strcmp(type, "integer") == 0)
		strbuf_adds(out, format[0] != '\0' ? format : "int64");
	else
		strbuf_adds(out, strcmp(type, "boolean") == 0 ? "bool" : "string");
}

/* The path of fields, without places in lists: "spec.ports.port". */
static void add_path(struct strbuf *out, const struct field *field)
{
	if (field == NULL)
		return;
	add_path(out, field->around);
	if (out->n != 0)
		strbuf_addc(out, '.');
	if (api_openapi_node(field->schema)->go_embedded[0] != '\0')
		strbuf_addf(out, "%s.", api_openapi_node(field->schema)->go_embedded);
	strbuf_adds(out, field->key);
}

/* `number`: a number that is out of range, for the message; else "". */
static int fail_value(struct walk *walk, const json_t *value, const char *number, const char *type)
{
	CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
	char place[512];
	add_path(&path, walk->field);
	if (walk->owner[0] != '\0')
		snprintf(place, sizeof(place), "Go struct field %s.%s", walk->owner, path.s);
	else
		snprintf(place, sizeof(place), "Go value");
	err_text_set(walk->err, "json: cannot unmarshal %s%s%s into %s of type %s",
		     apiserver_json_go_type(value), number[0] != '\0' ? " " : "", number, place,
		     type);
	return ERR_TYPE;
}

static int fail_type(struct walk *walk, const json_t *schema, const json_t *value)
{
	CLEANUP(strbuf_done) struct strbuf type = STRBUF_INIT;
	add_type(&type, schema);
	return fail_value(walk, value, "", type.s);
}

static int check_integer(struct walk *walk, const json_t *value, const char *type)
{
	bool narrow = strcmp(type, "int32") == 0;
	char number[64];
	if (!json_is_number(value))
		return fail_value(walk, value, "", type);
	if (json_is_integer(value) && (!narrow || (json_integer_value(value) >= INT32_MIN &&
						   json_integer_value(value) <= INT32_MAX)))
		return 0;
	snprintf(number, sizeof(number), json_is_integer(value) ? "%.0f" : "%g",
		 json_number_value(value));
	return fail_value(walk, value, number, type);
}

/* Go types with a decoder of their own. */
static int check_special(struct walk *walk, const json_t *value, const char *type)
{
	bool micro = strcmp(type, "v1.MicroTime") == 0;
	if (strcmp(type, "intstr.IntOrString") == 0)
		return json_is_string(value) ? 0 : check_integer(walk, value, "int32");
	if (strcmp(type, "resource.Quantity") == 0)
		return apiserver_strict_value_bad_quantity(value, walk->err) ? ERR_TYPE : 0;
	if (!json_is_string(value))
		return fail_value(walk, value, "", strcmp(type, "[]uint8") == 0 ? type : "string");
	bool bad = strcmp(type, "[]uint8") == 0
			   ? apiserver_strict_value_bad_base64(api_text(value), walk->err)
			   : apiserver_strict_value_bad_time(api_text(value), micro, walk->err);
	return bad ? ERR_TYPE : 0;
}

static int check_struct(struct walk *walk, const struct api_openapi_node *node, const json_t *val)
{
	const char *key, *owner = walk->owner, *name = strchr(node->go_type, '.');
	struct field field = { .around = walk->field };
	size_t key_n;
	json_t *value;
	if (name != NULL)
		walk->owner = name + 1;
	json_object_keylen_foreach(api_tree(val), key, key_n, value)
	{
		field.schema = api_openapi_property(node, key, key_n);
		if (field.schema == NULL)
			continue;
		field.key = key;
		walk->field = &field;
		int r = check_value(walk, field.schema, value);
		walk->field = field.around;
		if (r < 0)
			return r;
	}
	walk->owner = owner;
	return 0;
}

static int check_object(struct walk *walk, const json_t *schema, const json_t *val)
{
	const struct api_openapi_node *node = api_openapi_node(schema);
	const json_t *others = node->additional_properties;
	const char *key;
	json_t *value;
	if (!json_is_object(val))
		return fail_type(walk, schema, val);
	if (node->properties != NULL)
		return check_struct(walk, node, val);
	if (!json_is_object(others))
		return 0;
	json_object_foreach (api_tree(val), key, value) {
		int r = check_value(walk, others, value);
		if (r < 0)
			return r;
	}
	return 0;
}

static int check_array(struct walk *walk, const json_t *schema, const json_t *value)
{
	const json_t *items = api_openapi_node(schema)->items;
	size_t i;
	json_t *item;
	if (!json_is_array(value))
		return fail_type(walk, schema, value);
	json_array_foreach (api_tree(value), i, item) {
		int r = check_value(walk, items, item);
		if (r < 0)
			return r;
	}
	return 0;
}

static int check_value(struct walk *walk, const json_t *schema, const json_t *value)
{
	const struct api_openapi_node *node = api_openapi_node(schema);
	if (json_is_null(value) || value == walk->stored)
		return 0; /* null is as if it were missing */
	if (node->go_decodes)
		return check_special(walk, value, node->go_type);
	switch (node->type_id) {
	case API_OPENAPI_OBJECT:
		return check_object(walk, schema, value);
	case API_OPENAPI_ARRAY:
		return check_array(walk, schema, value);
	case API_OPENAPI_INTEGER:
		return check_integer(walk, value, node->format);
	case API_OPENAPI_STRING:
		return json_is_string(value) ? 0 : fail_type(walk, schema, value);
	case API_OPENAPI_BOOLEAN:
		return json_is_boolean(value) ? 0 : fail_type(walk, schema, value);
	case API_OPENAPI_OTHER:
		break;
	}
	return 0;
}

int apiserver_strict_type_check(const struct apiserver_resource *resource, const json_t *object,
				const json_t *stored, struct err_text err)
{
	struct walk w = { .owner = "", .stored = stored, .err = err };
	const json_t *meta = json_object_get(object, "metadata");
	int code = 0;
	if (resource->built_in)
		code = check_value(&w, resource->openapi, object);
	else if (meta != NULL)
		code = check_value(&w, apiserver_objectmeta_schema(), meta);
	return code;
}
