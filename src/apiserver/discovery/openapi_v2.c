/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The OpenAPI v2 document in protobuf. Only a few messages of gnostic's openapi_v2 are needed;
 * every field is a string or a message, so that a field is a tag, a length and bytes. */
#include "apiserver/discovery/openapi_v2.h"

#include <stdlib.h>

#include "apiserver/discovery/openapi.h"
#include "base/mem.h"

/* Field numbers by message. */
enum { DOCUMENT_SWAGGER = 1, DOCUMENT_INFO = 2, DOCUMENT_PATHS = 8 };
enum { INFO_TITLE = 1, INFO_VERSION = 2 };
enum { PATHS_PATH = 2 };
enum { NAMED_NAME = 1, NAMED_VALUE = 2 }; /* NamedPathItem, NamedAny */
enum { PATHITEM_PATCH = 8 };
enum { OPERATION_PARAMETERS = 8, OPERATION_EXTENSION = 13 };
enum { PARAMETERSITEM_PARAMETER = 1 };
enum { PARAMETER_NON_BODY = 2 };
enum { NONBODY_QUERY = 3 };
enum { QUERY_IN = 2, QUERY_NAME = 4, QUERY_TYPE = 6 };
enum { ANY_YAML = 2 };

static const char *const query_parameters[] = { "dryRun", "fieldManager", "fieldValidation" };

static void add_varint(struct strbuf *out, size_t value)
{
	for (; value >= 0x80; value >>= 7)
		strbuf_addc(out, (char)(value | 0x80));
	strbuf_addc(out, (char)value);
}

static void add_field(struct strbuf *out, unsigned number, struct slice bytes)
{
	enum { LENGTH_DELIMITED = 2 };
	add_varint(out, number << 3 | LENGTH_DELIMITED);
	add_varint(out, bytes.n);
	strbuf_add_slice(out, bytes);
}

static void add_text(struct strbuf *out, unsigned number, const char *text)
{
	add_field(out, number, slice_of(text));
}

/* `out`, a finished message, becomes field `number` of a new one. */
static void wrap_message(struct strbuf *out, unsigned number)
{
	struct strbuf outer = STRBUF_INIT;
	add_field(&outer, number, strbuf_slice(out));
	strbuf_done(out);
	*out = outer;
}

static void add_parameter(struct strbuf *operation, const char *name)
{
	CLEANUP(strbuf_done) struct strbuf b = STRBUF_INIT;
	add_text(&b, QUERY_IN, "query");
	add_text(&b, QUERY_NAME, name);
	add_text(&b, QUERY_TYPE, "string");
	wrap_message(&b, NONBODY_QUERY);
	wrap_message(&b, PARAMETER_NON_BODY);
	wrap_message(&b, PARAMETERSITEM_PARAMETER);
	add_field(operation, OPERATION_PARAMETERS, strbuf_slice(&b));
}

static void add_gvk(struct strbuf *operation, const struct apiserver_resource *resource)
{
	CLEANUP(strbuf_done) struct strbuf any = STRBUF_INIT;
	CLEANUP(strbuf_done) struct strbuf named = STRBUF_INIT;
	json_t *gvk = apiserver_openapi_gvk(resource);
	char *text = json_dumps(gvk, JSON_COMPACT); /* JSON is YAML */
	add_text(&any, ANY_YAML, text);
	add_text(&named, NAMED_NAME, "x-kubernetes-group-version-kind");
	add_field(&named, NAMED_VALUE, strbuf_slice(&any));
	add_field(operation, OPERATION_EXTENSION, strbuf_slice(&named));
	free(text);
	json_decref(gvk);
}

static void add_path(struct strbuf *paths, const struct apiserver_resource *resource)
{
	CLEANUP(strbuf_done) struct strbuf item = STRBUF_INIT;
	CLEANUP(strbuf_done) struct strbuf named = STRBUF_INIT;
	CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
	for (size_t i = 0; i < ARRAY_LEN(query_parameters); i++)
		add_parameter(&item, query_parameters[i]);
	add_gvk(&item, resource);
	wrap_message(&item, PATHITEM_PATCH);
	apiserver_openapi_path(resource, &path);
	add_field(&named, NAMED_NAME, strbuf_slice(&path));
	add_field(&named, NAMED_VALUE, strbuf_slice(&item));
	add_field(paths, PATHS_PATH, strbuf_slice(&named));
}

void apiserver_openapi_v2(const struct apiserver_catalogue *catalogue, const char *version,
			  struct strbuf *out)
{
	CLEANUP(strbuf_done) struct strbuf info = STRBUF_INIT;
	CLEANUP(strbuf_done) struct strbuf paths = STRBUF_INIT;
	add_text(&info, INFO_TITLE, "Fairlead");
	add_text(&info, INFO_VERSION, version);
	for (size_t i = 0; i < catalogue->n_versions; i++) {
		for (size_t k = 0; k < catalogue->versions[i].n_rows; k++) {
			if ((catalogue->versions[i].rows[k]->verbs & APISERVER_PATCH) != 0)
				add_path(&paths, catalogue->versions[i].rows[k]);
		}
	}
	add_text(out, DOCUMENT_SWAGGER, "2.0");
	add_field(out, DOCUMENT_INFO, strbuf_slice(&info));
	add_field(out, DOCUMENT_PATHS, strbuf_slice(&paths));
}
