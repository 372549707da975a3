/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Decodes protobuf bodies into JSON trees. The schemas of the built-in kinds have the number of
 * each field (x-go), so that no generated code is needed; the few Go types with an encoding of
 * their own (times, quantities) are a table here. */
#include "apiserver/codec/protobuf.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "api/meta.h"
#include "api/time.h"
#include "api/tree.h"
#include "apiserver/kind/go_normalize.h"
#include "apiserver/kind/resource.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/err_text.h"
#include "base/strbuf.h"
#include "base/text/base64.h"

enum wire { WIRE_VARINT = 0, WIRE_64 = 1, WIRE_BYTES = 2, WIRE_32 = 5 };

struct reader {
	size_t values;
	struct err_text err;
};

/* One field of a message. */
struct field {
	unsigned number;
	enum wire wire;
	uint64_t varint;
	struct slice bytes;
};

static int fail_with(struct reader *reader, int code, const char *fmt, ...) PRINTF_LIKE(3, 4);

static int fail_with(struct reader *reader, int code, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	err_text_vset(reader->err, fmt, ap);
	va_end(ap);
	return code;
}

/* ---- the wire ---- */

static bool take_varint(struct slice *text, uint64_t *ret)
{
	*ret = 0;
	for (unsigned shift = 0; shift < 64 && text->n != 0; shift += 7) {
		uint8_t b = (uint8_t)text->p[0];
		*text = slice_from(*text, 1);
		*ret |= (uint64_t)(b & 0x7f) << shift;
		if ((b & 0x80) == 0)
			return true;
	}
	return false;
}

static bool take_bytes(struct slice *text, uint64_t number, struct slice *ret)
{
	if (number > text->n)
		return false;
	*ret = (struct slice){ text->p, (size_t)number };
	*text = slice_from(*text, (size_t)number);
	return true;
}

/* 1: a field, 0: the end. */
static int take_field(struct reader *reader, struct slice *text, struct field *ret)
{
	uint64_t tag, n;
	*ret = (struct field){ 0 };
	if (text->n == 0)
		return 0;
	if (!take_varint(text, &tag))
		return fail_with(reader, ERR_PARSE, "unexpected EOF");
	if (tag >> 3 == 0 || tag >> 3 > UINT32_MAX >> 3)
		return fail_with(reader, ERR_PARSE, "proto: illegal tag");
	ret->number = (unsigned)(tag >> 3);
	ret->wire = (enum wire)(tag & 7);
	bool fine = false;
	if (ret->wire == WIRE_VARINT)
		fine = take_varint(text, &ret->varint);
	else if (ret->wire == WIRE_BYTES)
		fine = take_varint(text, &n) && take_bytes(text, n, &ret->bytes);
	else if (ret->wire == WIRE_64 || ret->wire == WIRE_32)
		fine = take_bytes(text, ret->wire == WIRE_64 ? 8 : 4, &ret->bytes);
	return fine ? 1
		    : fail_with(reader, ERR_PARSE, "proto: unexpected end or illegal wire type");
}

/* ---- values ---- */

static int read_message(struct reader *reader, const json_t *schema, struct slice text,
			json_t **ret);

static const char *go_type(const json_t *schema)
{
	return api_get_string(schema, "x-go.type");
}

static int read_text(struct reader *reader, struct slice text, json_t **ret)
{
	*ret = json_stringn(text.n != 0 ? text.p : "", text.n);
	return *ret != NULL ? 0 : fail_with(reader, ERR_PARSE, "proto: a text is not valid UTF-8");
}

/* The last field with this number in a message, as protobuf wants it; number 0 when it is
 * missing. */
static int find_field(struct reader *reader, struct slice text, unsigned number, struct field *ret)
{
	struct field f;
	int code;
	*ret = (struct field){ 0 };
	while ((code = take_field(reader, &text, &f)) > 0) {
		if (f.number == number)
			*ret = f;
	}
	return code;
}

/* {seconds, nanoseconds}; an empty message is null. */
static int read_time(struct reader *reader, const json_t *schema, struct slice word, json_t **ret)
{
	struct field seconds = { 0 }, nanos = { 0 };
	char text[API_TIME_TEXT_MAX];
	bool micro = strcmp(go_type(schema), "v1.MicroTime") == 0;
	int code = find_field(reader, word, 1, &seconds);
	if (code == 0)
		code = find_field(reader, word, 2, &nanos);
	if (code < 0)
		return code;
	if (seconds.number == 0) {
		*ret = json_null();
		return 0;
	}
	if (seconds.varint > UINT64_MAX / NS_PER_S / 2 || nanos.varint >= NS_PER_S)
		return fail_with(reader, ERR_PARSE, "proto: a time out of range");
	uint64_t ns = seconds.varint * NS_PER_S + nanos.varint;
	*ret = json_string(micro ? api_micro_time_format(ns, text) : api_time_format(ns, text));
	return 0;
}

/* {type, number, text} */
static int read_int_or_string(struct reader *reader, const json_t *schema, struct slice word,
			      json_t **ret)
{
	struct field type = { 0 }, number = { 0 }, text = { 0 };
	(void)schema;
	int code = find_field(reader, word, 1, &type);
	if (code == 0)
		code = find_field(reader, word, 2, &number);
	if (code == 0)
		code = find_field(reader, word, 3, &text);
	if (code < 0)
		return code;
	if (type.varint == 1)
		return read_text(reader, text.bytes, ret);
	*ret = json_integer((int32_t)number.varint);
	return 0;
}

/* {text} */
static int read_quantity(struct reader *reader, const json_t *schema, struct slice word,
			 json_t **ret)
{
	struct field text = { 0 };
	(void)schema;
	int code = find_field(reader, word, 1, &text);
	return code < 0 ? code : read_text(reader, text.bytes, ret);
}

/* {JSON} */
static int read_fields(struct reader *reader, const json_t *schema, struct slice text, json_t **ret)
{
	struct field raw = { 0 };
	(void)schema;
	int code = find_field(reader, text, 1, &raw);
	if (code < 0)
		return code;
	*ret = json_loadb(raw.bytes.p, raw.bytes.n, 0, NULL);
	return *ret != NULL ? 0
			    : fail_with(reader, ERR_PARSE, "proto: managed fields are not JSON");
}

static int read_base64(struct reader *reader, const json_t *schema, struct slice word, json_t **ret)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	(void)reader, (void)schema;
	base64_encode(&text, word);
	*ret = json_string(text.s);
	return 0;
}

static const struct {
	const char *type;
	int (*read)(struct reader *reader, const json_t *schema, struct slice text, json_t **ret);
} specials[] = {
	{ "v1.Time", read_time },
	{ "v1.MicroTime", read_time },
	{ "intstr.IntOrString", read_int_or_string },
	{ "resource.Quantity", read_quantity },
	{ "v1.FieldsV1", read_fields },
	{ "[]uint8", read_base64 },
};

static int read_number(const json_t *schema, uint64_t value, json_t **ret)
{
	if (strcmp(api_get_string(schema, "type"), "boolean") == 0)
		*ret = json_boolean(value != 0);
	else if (strcmp(api_get_string(schema, "format"), "int32") == 0)
		*ret = json_integer((int32_t)value);
	else
		*ret = json_integer((int64_t)value);
	return 0;
}

static int read_value(struct reader *reader, const json_t *schema, const struct field *field,
		      json_t **ret)
{
	const char *type = api_get_string(schema, "type");
	if (++reader->values > APISERVER_PROTOBUF_VALUES_MAX)
		return fail_with(reader, ERR_LIMIT, "proto: more than %d values",
				 APISERVER_PROTOBUF_VALUES_MAX);
	bool number = strcmp(type, "integer") == 0 || strcmp(type, "boolean") == 0;
	if ((field->wire == WIRE_VARINT) != number || field->wire == WIRE_64 ||
	    field->wire == WIRE_32)
		return fail_with(reader, ERR_PARSE, "proto: wrong wireType = %d for field %u",
				 (int)field->wire, field->number);
	for (size_t i = 0; i < ARRAY_LEN(specials); i++) {
		if (strcmp(specials[i].type, go_type(schema)) == 0)
			return specials[i].read(reader, schema, field->bytes, ret);
	}
	if (number)
		return read_number(schema, field->varint, ret);
	if (strcmp(type, "string") == 0)
		return read_text(reader, field->bytes, ret);
	return read_message(reader, schema, field->bytes, ret);
}

/* An entry of a map: {key, value}. */
static int read_entry(struct reader *reader, const json_t *schema, const struct field *field,
		      json_t *map)
{
	struct field key = { 0 }, value = { 0 };
	json_t *name = NULL, *v = NULL;
	int code = field->wire == WIRE_BYTES
			   ? find_field(reader, field->bytes, 1, &key)
			   : fail_with(reader, ERR_PARSE, "proto: wrong wireType");
	if (code == 0)
		code = find_field(reader, field->bytes, 2, &value);
	if (code == 0)
		code = read_text(reader, key.bytes, &name);
	value.wire = WIRE_BYTES; /* a missing value is empty */
	if (code == 0)
		code = read_value(reader, schema, &value, &v);
	if (code == 0)
		json_object_setn_nocheck(map, api_text(name), json_string_length(name), v);
	json_decref(name);
	json_decref(v);
	return code;
}

static int read_list_item(struct reader *reader, const json_t *schema, const struct field *field,
			  json_t *object, const char *key)
{
	json_t *v = NULL, *list = json_object_get(object, key);
	if (list == NULL) {
		list = json_array();
		json_object_set_new(object, key, list);
	}
	int code = read_value(reader, json_object_get(schema, "items"), field, &v);
	if (code == 0)
		json_array_append_new(list, v);
	return code;
}

static int read_member(struct reader *reader, const char *key, const json_t *schema,
		       const struct field *field, json_t *object)
{
	const json_t *others = json_object_get(schema, "additionalProperties");
	json_t *v = NULL;
	if (strcmp(api_get_string(schema, "type"), "array") == 0)
		return read_list_item(reader, schema, field, object, key);
	if (others != NULL) {
		if (json_object_get(object, key) == NULL)
			json_object_set_new(object, key, json_object());
		return read_entry(reader, others, field, json_object_get(object, key));
	}
	int code = read_value(reader, schema, field, &v);
	if (code == 0)
		json_object_set_new(object, key, v);
	return code;
}

/* A Go type that is embedded in another one: a message of its own here, and its members are the other
 * type's in JSON. */
static int read_embedded(struct reader *reader, const char *key, const json_t *schema,
			 const struct field *field, json_t *object)
{
	unsigned number = (unsigned)json_integer_value(api_get(schema, "x-go.inside"));
	struct field inner = { 0 };
	int code = field->wire == WIRE_BYTES
			   ? find_field(reader, field->bytes, number, &inner)
			   : fail_with(reader, ERR_PARSE, "proto: wrong wireType");
	return code < 0 || inner.number == 0 ? code
					     : read_member(reader, key, schema, &inner, object);
}

/* ---- messages ---- */

static const char *member_of(const json_t *schema, unsigned number, const json_t **ret)
{
	const char *key;
	json_t *member;
	json_object_foreach (json_object_get(schema, "properties"), key, member) {
		if (json_integer_value(api_get(member, "x-go.field")) == number) {
			*ret = member;
			return key;
		}
	}
	return NULL;
}

/* Unknown fields are skipped, as everywhere in protobuf. A kind that keeps unknown fields needs
 * their names, which protobuf does not have. */
static int read_unknown(struct reader *reader, const json_t *schema, const struct field *field)
{
	if (!json_is_true(json_object_get(schema, "x-kubernetes-preserve-unknown-fields")))
		return 0;
	return fail_with(reader, ERR_UNSUPPORTED,
			 "field %u of %s cannot be read from protobuf here: send it as JSON",
			 field->number, go_type(schema));
}

static int read_fields_of(struct reader *reader, const json_t *schema, struct slice text,
			  json_t *object)
{
	struct field f;
	int code;
	while ((code = take_field(reader, &text, &f)) > 0) {
		const json_t *member = NULL;
		const char *key = member_of(schema, f.number, &member);
		if (key == NULL)
			code = read_unknown(reader, schema, &f);
		else if (api_get(member, "x-go.inside") != NULL)
			code = read_embedded(reader, key, member, &f, object);
		else
			code = read_member(reader, key, member, &f, object);
		if (code < 0)
			return code;
	}
	return code;
}

static int read_message(struct reader *reader, const json_t *schema, struct slice text,
			json_t **ret)
{
	json_t *o = json_object();
	int code = read_fields_of(reader, schema, text, o); /* as deep as the schema at most */
	if (code < 0)
		json_decref(o);
	else
		*ret = o;
	return code;
}

/* ---- the envelope ---- */

struct envelope {
	json_t *version, *kind;
	struct slice raw;
};

static int read_envelope(struct reader *reader, struct slice body, struct envelope *ret)
{
	static const char magic[4] = { 'k', '8', 's', '\0' };
	struct field type = { 0 }, raw = { 0 }, version = { 0 }, kind = { 0 };
	if (body.n < sizeof(magic) || memcmp(body.p, magic, sizeof(magic)) != 0)
		return fail_with(reader, ERR_PARSE,
				 "provided data does not appear to be a protobuf message, "
				 "expected prefix [107 56 115 0]");
	body = slice_from(body, sizeof(magic));
	if (body.n == 0)
		return fail_with(reader, ERR_PARSE, "empty body");
	int code = find_field(reader, body, 1, &type);
	if (code == 0)
		code = find_field(reader, body, 2, &raw);
	if (code == 0)
		code = find_field(reader, type.bytes, 1, &version);
	if (code == 0)
		code = find_field(reader, type.bytes, 2, &kind);
	if (code == 0)
		code = read_text(reader, version.bytes, &ret->version);
	if (code == 0)
		code = read_text(reader, kind.bytes, &ret->kind);
	ret->raw = raw.bytes;
	return code;
}

/* The schema of a built-in kind or DeleteOptions; NULL: not supported. */
static const json_t *schema_of(const json_t *head)
{
	const struct apiserver_resource *r = apiserver_resource_of(head);
	if (r != NULL && r->built_in && !r->never_kept)
		return r->openapi;
	if (strcmp(api_kind(head), "DeleteOptions") == 0)
		return apiserver_deleteoptions_schema();
	return NULL;
}

static int decode_object(struct reader *reader, const json_t *head, struct slice raw, json_t **ret)
{
	const json_t *schema = schema_of(head);
	json_t *o = NULL;
	if (schema == NULL)
		return fail_with(reader, ERR_UNSUPPORTED,
				 "no protobuf bodies of kind \"%s\" in version \"%s\"",
				 api_kind(head), api_version(head));
	int code = read_message(reader, schema, raw, &o);
	if (code < 0)
		return code;
	apiserver_go_normalize_by(schema, o); /* Go also encodes fields that are empty */
	json_object_update(o, api_tree(head));
	*ret = o;
	return 0;
}

int apiserver_protobuf_decode(struct slice body, json_t **ret, struct err_text err)
{
	struct reader r = { .err = err };
	struct envelope e = { 0 };
	json_t *head = NULL;
	int code = read_envelope(&r, body, &e);
	if (code == 0) {
		head = json_pack("{sO,sO}", "apiVersion", e.version, "kind", e.kind);
		code = decode_object(&r, head, e.raw, ret);
	}
	json_decref(head);
	json_decref(e.version);
	json_decref(e.kind);
	return code;
}
