/* What a strategic merge patch made is not read as a body: the server turns the tree into its Go
 * types. Values of wrong types have other words there: `cannot convert int64 to v1.Protocol`. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "api/meta.h"
#include "api/tree.h"
#include "apiserver/strict_priv.h"
#include "base/err.h"
#include "base/strbuf.h"

struct told {
	char *err;
	size_t err_n;
};

static int check(const struct told *t, const json_t *schema, const json_t *v);

/* Go's kind of a value in a tree. */
static const char *kind_of(const json_t *v)
{
	if (json_is_string(v))
		return "string";
	if (json_is_boolean(v))
		return "bool";
	if (json_is_number(v))
		return json_is_integer(v) ? "int64" : "float64";
	return json_is_array(v) ? "slice" : "map";
}

static int say(const struct told *t, const char *before, const char *word)
{
	snprintf(t->err, t->err_n, "%s%s", before, word);
	return ERR_TYPE;
}

static int say_convert(const struct told *t, const json_t *v, const char *type)
{
	snprintf(t->err, t->err_n, "cannot convert %s to %s", kind_of(v), type);
	return ERR_TYPE;
}

static int say_unmarshal(const struct told *t, const json_t *v, const char *type)
{
	const char *word = json_is_number(v)   ? "number"
			   : json_is_array(v)  ? "array"
			   : json_is_object(v) ? "object"
					       : kind_of(v);
	char number[64] = "";
	if (json_is_real(v))
		snprintf(number, sizeof(number), " %g", json_real_value(v));
	snprintf(t->err, t->err_n, "json: cannot unmarshal %s%s into Go value of type %s", word,
		 number, type);
	return ERR_TYPE;
}

/* Types that read themselves; 1: it is none of them. */
static int check_special(const struct told *t, const json_t *v, const char *type)
{
	const char *s = api_text(v);
	char err[256];
	if (strcmp(type, "intstr.IntOrString") == 0)
		return json_is_string(v) || json_is_integer(v) ? 0 : say_unmarshal(t, v, "int32");
	if (strcmp(type, "resource.Quantity") == 0)
		return strict_bad_quantity(v, t->err, t->err_n) ? ERR_TYPE : 0;
	if (strcmp(type, "[]uint8") == 0) {
		if (!json_is_string(v))
			return say(t, "cannot restore slice from ", kind_of(v));
		return strict_bad_base64(s, err, sizeof(err))
			       ? say(t, "error decoding from json: ", err)
			       : 0;
	}
	bool micro = strcmp(type, "v1.MicroTime") == 0;
	if (!micro && strcmp(type, "v1.Time") != 0)
		return 1;
	if (!json_is_string(v))
		return say_unmarshal(t, v, "string");
	return strict_bad_time(s, micro, t->err, t->err_n) ? ERR_TYPE : 0;
}

static int check_object(const struct told *t, const json_t *schema, const json_t *v)
{
	const json_t *members = json_object_get(schema, "properties");
	const json_t *others = json_object_get(schema, "additionalProperties");
	const char *key;
	json_t *each;
	int r = 0;
	if (members == NULL && others == NULL)
		return 0;
	if (!json_is_object(v))
		return say(t,
			   members != NULL ? "cannot restore struct from: "
					   : "cannot restore map from ",
			   kind_of(v));
	json_object_foreach (api_tree(members), key, each) {
		if (r == 0)
			r = check(t, each, json_object_get(v, key));
	}
	if (members != NULL || !json_is_object(others))
		return r;
	json_object_foreach (api_tree(v), key, each) {
		if (r == 0)
			r = check(t, others, each);
	}
	return r;
}

static int check_array(const struct told *t, const json_t *schema, const json_t *v)
{
	int r = 0;
	if (!json_is_array(v))
		return say(t, "cannot restore slice from ", kind_of(v));
	for (size_t i = 0; r == 0 && i < json_array_size(v); i++)
		r = check(t, json_object_get(schema, "items"), json_array_get(v, i));
	return r;
}

/* Go would make a text of an integer, and an integer of a fraction: these are told as conversions
 * that are not done, all others as types that are not known. */
static int check_scalar(const struct told *t, const json_t *schema, const json_t *v)
{
	const char *type = api_get_string(schema, "type");
	const char *format = api_get_string(schema, "format");
	const char *name = api_get_string(schema, "x-go.type");
	if (strcmp(type, "string") == 0) {
		if (json_is_string(v))
			return 0;
		return json_is_integer(v) ? say_convert(t, v, name[0] != '\0' ? name : "string")
					  : say(t, "unrecognized type: ", "string");
	}
	if (strcmp(type, "boolean") == 0)
		return json_is_boolean(v) ? 0 : say(t, "unrecognized type: ", "bool");
	if (strcmp(type, "integer") != 0 || json_is_integer(v))
		return 0;
	if (format[0] == '\0')
		format = "int64";
	if (!json_is_real(v))
		return say(t, "unrecognized type: ", format);
	return say_convert(t, v, name[0] != '\0' ? name : format);
}

static int check(const struct told *t, const json_t *schema, const json_t *v)
{
	const char *type = api_get_string(schema, "type");
	if (v == NULL || json_is_null(v))
		return 0;
	int r = check_special(t, v, api_get_string(schema, "x-go.type"));
	if (r <= 0)
		return r;
	if (strcmp(type, "object") == 0)
		return check_object(t, schema, v);
	if (strcmp(type, "array") == 0)
		return check_array(t, schema, v);
	return check_scalar(t, schema, v);
}

int apiserver_convert(const struct apiserver_resource *r, const json_t *o, char *err, size_t err_n)
{
	const struct told t = { err, err_n };
	return check(&t, r->openapi, o);
}

/* ---- numbers ---- */

static void narrow(const json_t *schema, json_t *v)
{
	const json_t *members = json_object_get(schema, "properties");
	const json_t *below =
		json_object_get(schema, json_is_array(v) ? "items" : "additionalProperties");
	const char *key;
	json_t *each;
	size_t i;
	if (json_is_integer(v) && strcmp(api_get_string(schema, "format"), "int32") == 0)
		json_integer_set(v, (int32_t)(uint32_t)(uint64_t)json_integer_value(v));
	json_object_foreach (v, key, each)
		narrow(members != NULL ? json_object_get(members, key) : below, each);
	json_array_foreach (v, i, each)
		narrow(below, each);
}

void apiserver_narrow(const struct apiserver_resource *r, json_t *o)
{
	narrow(r->openapi, o);
}
