/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Request bodies: decoding them from JSON, YAML or protobuf, and checking that they are the kind
 * that the path names. Messages are those of Go's decoders, since kubectl prints them. */
#include "apiserver/request/request_body.h"

#include <stdio.h>
#include <string.h>

#include "api/json_text.h"
#include "api/meta.h"
#include "api/tree.h"
#include "api/yaml/yaml.h"
#include "apiserver/codec/json_error.h"
#include "apiserver/codec/protobuf.h"
#include "apiserver/codec/strict.h"
#include "apiserver/kind/go_normalize.h"
#include "apiserver/kind/objectmeta.h"
#include "apiserver/request/object.h"
#include "base/err_text.h"
#include "base/mem.h"

enum { SUMMARY_BYTES = 30, PLAIN_YAML_BYTES = 64 << 10 };

static const char scheme[] = "in scheme \"pkg/runtime/scheme.go:111\"";
static const char type_meta[] =
	"struct { APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string "
	"\"json:\\\"kind,omitempty\\\"\" }";

static struct slice media_type(const char *text)
{
	struct slice rest = slice_of(text);
	return slice_trim(slice_cut(&rest, ';'));
}

static bool has_content_type(const struct apiserver_call *call, const char *type)
{
	return slice_eq_nocase(media_type(call->content_type), slice_of(type));
}

static bool is_json_body(const struct apiserver_call *call)
{
	return call->content_type[0] == '\0' || has_content_type(call, "application/json");
}

/* Appends the beginning of a body as the server does: JSON as it is, anything else in hex. */
static void add_summary(struct strbuf *out, struct slice body)
{
	size_t n = MIN(body.n, (size_t)SUMMARY_BYTES);
	if (body.n == 0)
		strbuf_adds(out, "<empty>");
	for (size_t i = 0; i < n; i++) {
		if (body.p[0] == '{')
			strbuf_addc(out, body.p[i]);
		else
			strbuf_addf(out, "%02x", (unsigned)(unsigned char)body.p[i]);
	}
	if (body.n > n)
		strbuf_adds(out, " ...");
}

static int refuse_unrecognized(const struct apiserver_call *call,
			       const struct apiserver_resource *resource, const char *why,
			       struct apiserver_status *status)
{
	CLEANUP(strbuf_done) struct strbuf begin = STRBUF_INIT;
	add_summary(&begin, call->body);
	return apiserver_status_bad_request(
		status, "the object provided is unrecognized (must be of type %s): %s (%s)",
		resource->kind->kind, why, begin.s);
}

/* ---- JSON and YAML ---- */

/* PLAIN: it has no duplicate keys. */
enum { PLAIN = 1 };

static int parse_json(struct slice text, json_t **ret, struct strbuf *why)
{
	json_error_t e;
	*ret = api_json_load_plain(text);
	if (*ret != NULL) /* most bodies; Go finds no error in them */
		return PLAIN;
	if (apiserver_json_error(text, why))
		return ERR_PARSE;
	*ret = json_loadb(text.p, text.n, JSON_DECODE_ANY, &e);
	if (*ret == NULL) /* Go accepts more than jansson: invalid UTF-8, huge numbers */
		strbuf_addf(why, "%s", e.text);
	return *ret != NULL ? 0 : ERR_PARSE;
}

/* Short JSON in characters that YAML reads in the same way, as most clients send it. */
static bool is_common_yaml(struct slice text)
{
	return text.n > 0 && text.n <= PLAIN_YAML_BYTES && memchr(text.p, '\t', text.n) == NULL &&
	       memchr(text.p, '\x7f', text.n) == NULL;
}

static int parse_yaml(struct slice text, json_t **ret, struct strbuf *why)
{
	struct srcerr e;
	*ret = is_common_yaml(text) ? api_json_load_plain(text) : NULL;
	if (*ret != NULL)
		return 0;
	if (slice_trim(api_yaml_strip_bom(text)).n == 0) {
		*ret = json_null();
		return 0;
	}
	int r = api_yaml_parse_one("body", text, ret, &e);
	if (r < 0)
		strbuf_addf(why, "yaml: line %u: %s", e.pos.line, e.text);
	return r;
}

/* ---- kinds ---- */

static bool is_built_in(const char *version, const char *kind)
{
	json_t *o = json_pack("{ss,ss}", "apiVersion", version, "kind", kind);
	const struct apiserver_resource *r = apiserver_resource_of(o);
	json_decref(o);
	return r != NULL && r->built_in;
}

/* "v1" of "group/v1" */
static const char *short_version(const char *value)
{
	const char *slash = strchr(value, '/');
	return slash != NULL ? slash + 1 : value;
}

/* Whether Go's scheme knows the kind: a built-in kind, a list of one, or a kind of every scheme. */
static bool is_registered(const char *version, const char *kind)
{
	static const char *const everywhere[] = { "List", "Status" };
	size_t n = strlen(kind), list = strlen("List");
	for (size_t i = 0; i < ARRAY_LEN(everywhere); i++) {
		if (strcmp(kind, everywhere[i]) == 0 && strcmp(version, "v1") == 0)
			return true;
	}
	if (n <= list || strcmp(kind + n - list, "List") != 0)
		return is_built_in(version, kind);
	CLEANUP(freep) char *of = xstrndup(kind, n - list);
	return is_built_in(version, of);
}

static int refuse_other_kind(const struct apiserver_resource *resource, const char *version,
			     const char *kind, struct apiserver_status *status)
{
	const char *v = short_version(version);
	if (!is_registered(version, kind))
		return apiserver_status_bad_request(
			status,
			"%s in version \"%s\" cannot be handled as a %s: no kind "
			"\"%s\" is registered for version \"%s\" %s",
			kind, v, resource->kind->kind, kind, version, scheme);
	const char *group = resource->kind->group[0] != '\0' ? resource->kind->group : "core";
	return apiserver_status_bad_request(
		status,
		"%s in version \"%s\" cannot be handled as a %s: converting "
		"(%s.%s) to (%.*s.%s): unknown conversion",
		kind, v, resource->kind->kind, v, kind, (int)strcspn(group, "."), group,
		resource->kind->kind);
}

/* Whether apiVersion or kind is no string. */
static bool has_wrong_type(const json_t *object, struct strbuf *why)
{
	static const char *const texts[] = { "apiVersion", "kind" };
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		const json_t *v = json_object_get(object, texts[i]);
		if (v == NULL || json_is_null(v) || json_is_string(v))
			continue;
		strbuf_addf(why,
			    "couldn't get version/kind; json parse error: json: cannot unmarshal "
			    "%s into Go struct field .%s of type string",
			    apiserver_json_go_type(v), texts[i]);
		return true;
	}
	return false;
}

/* Bodies of built-in kinds may leave out apiVersion and kind; those of custom resources may not. */
static int check_kind(const struct apiserver_call *call, const struct apiserver_resource *resource,
		      json_t *object, struct apiserver_status *status)
{
	CLEANUP(strbuf_done) struct strbuf want = STRBUF_INIT, why = STRBUF_INIT;
	const char *version = api_version(object), *kind = api_kind(object);
	const char *slash = strchr(version, '/');
	if (has_wrong_type(object, &why))
		return refuse_unrecognized(call, resource, why.s, status);
	apiserver_object_add_version(&want, resource);
	if (slash != NULL && strchr(slash + 1, '/') != NULL) {
		strbuf_addf(&why, "unexpected GroupVersion string: %s", version);
		return refuse_unrecognized(call, resource, why.s, status);
	}
	if (!resource->built_in && kind[0] == '\0') {
		strbuf_addf(&why, "Object 'Kind' is missing in '%.*s'", (int)call->body.n,
			    call->body.p);
		return refuse_unrecognized(call, resource, why.s, status);
	}
	if (!resource->built_in && strcmp(version, want.s) != 0)
		return apiserver_status_bad_request(
			status,
			"the API version in the data (%s) does not match the "
			"expected API version (%s)",
			version, want.s);
	if (resource->built_in) {
		const char *v = version[0] != '\0' ? version : want.s;
		const char *k = kind[0] != '\0' ? kind : resource->kind->kind;
		if (strcmp(v, want.s) != 0 || strcmp(k, resource->kind->kind) != 0)
			return refuse_other_kind(resource, v, k, status);
		json_object_set_new(object, "apiVersion", json_string(want.s));
		json_object_set_new(object, "kind", json_string(resource->kind->kind));
	}
	return 0;
}

/* ---- fields ---- */

/* What becomes of the lines that strict decoding found, and of its result. */
static int judge_lines(int ret, const json_t *found, enum apiserver_strictness strictness,
		       struct strbuf *warnings, struct strbuf *ret_why)
{
	const json_t *line;
	size_t i;
	if (ret == 0 && strictness == APISERVER_STRICT && json_array_size(found) != 0) {
		strbuf_adds(ret_why, "strict decoding error: ");
		ret = ERR_CONFIG;
	}
	json_array_foreach (found, i, line) {
		if (ret == ERR_CONFIG)
			strbuf_addf(ret_why, "%s%s", i != 0 ? ", " : "", api_text(line));
		else if (strictness == APISERVER_WARN)
			strbuf_addf(warnings, "%s\n", api_text(line));
	}
	return ret;
}

int apiserver_request_body_check_patched(const struct apiserver_resource *resource,
					 const json_t *object, const json_t *old,
					 enum apiserver_strictness strictness,
					 struct strbuf *warnings, struct strbuf *ret_why)
{
	const json_t *stored = json_object_get(json_object_get(old, "metadata"), "managedFields");
	json_t *found = json_array();
	char err[512] = "";
	int ret = apiserver_strict_decode_patched(resource, object, stored, found, ERR_TEXT(err));
	strbuf_adds(ret_why, err);
	ret = judge_lines(ret, found, strictness, warnings, ret_why);
	json_decref(found);
	return ret;
}

/* `text` as in apiserver_strict_decode. */
static int check_fields(struct slice text, const struct apiserver_resource *resource,
			const json_t *object, enum apiserver_strictness strictness,
			struct strbuf *warnings, struct apiserver_status *status)
{
	CLEANUP(strbuf_done) struct strbuf why = STRBUF_INIT;
	json_t *found = json_array();
	char err[512] = "";
	int e = apiserver_strict_decode(resource, text, object, found, ERR_TEXT(err));
	strbuf_adds(&why, err);
	e = judge_lines(e, found, strictness, warnings, &why);
	json_decref(found);
	if (e < 0)
		return apiserver_status_bad_request(
			status, "%s in version \"%s\" cannot be handled as a %s: %s",
			api_kind(object), resource->version, resource->kind->kind, why.s);
	return 0;
}

/* ---- whole bodies ---- */

/* Decodes the body by its content type; 0, or PLAIN as above; ERR_DENIED when the type is not supported. */
static int parse_body(const struct apiserver_call *call, json_t **ret, struct strbuf *why,
		      struct apiserver_status *status)
{
	char err[256];
	if (is_json_body(call)) {
		strbuf_adds(why, "couldn't get version/kind; json parse error: ");
		return parse_json(call->body, ret, why);
	}
	if (has_content_type(call, "application/yaml"))
		return parse_yaml(call->body, ret, why);
	if (has_content_type(call, "application/vnd.kubernetes.protobuf")) {
		int e = apiserver_protobuf_decode(call->body, ret, ERR_TEXT(err));
		if (e < 0)
			strbuf_adds(why, err);
		return e;
	}
	return apiserver_status_refuse(
		status, 415, "UnsupportedMediaType",
		"the body of the request was in an unknown format - accepted media "
		"types include: application/json, application/yaml, "
		"application/vnd.kubernetes.protobuf");
}

static int parse_object(const struct apiserver_call *call,
			const struct apiserver_resource *resource, json_t **ret,
			struct apiserver_status *status)
{
	CLEANUP(strbuf_done) struct strbuf why = STRBUF_INIT;
	int e = parse_body(call, ret, &why, status);
	return e < 0 && e != ERR_DENIED ? refuse_unrecognized(call, resource, why.s, status) : e;
}

int apiserver_request_body_object(const struct apiserver_call *call,
				  const struct apiserver_resource *resource,
				  enum apiserver_strictness strictness, json_t **ret,
				  struct strbuf *warnings, struct apiserver_status *status)
{
	CLEANUP(strbuf_done) struct strbuf why = STRBUF_INIT;
	json_t *o = NULL;
	struct slice text = { 0 };
	int e = parse_object(call, resource, &o, status);
	if (e < 0)
		return e;
	/* Only JSON can have duplicate keys: the YAML parser refuses them. */
	if (e != PLAIN && is_json_body(call))
		text = call->body;
	e = 0;
	if (json_is_null(o))
		o = json_object(); /* Go decodes null into an empty object */
	if (!json_is_object(o)) {
		strbuf_addf(
			&why,
			"couldn't get version/kind; json parse error: json: cannot unmarshal %s "
			"into Go value of type %s",
			apiserver_json_go_type(o), type_meta);
		e = refuse_unrecognized(call, resource, why.s, status);
	}
	if (e == 0)
		e = check_kind(call, resource, o, status);
	if (e == 0)
		e = check_fields(text, resource, o, strictness, warnings, status);
	if (e == 0) {
		apiserver_go_fill_nulls(resource, o, NULL);
		apiserver_drop_duplicate_owners(o, "", warnings);
	}
	if (e == 0)
		*ret = o;
	else
		json_decref(o);
	return e;
}

int apiserver_request_body_options(const struct apiserver_call *call, json_t **ret,
				   struct apiserver_status *status)
{
	CLEANUP(strbuf_done) struct strbuf why = STRBUF_INIT;
	json_t *o = NULL;
	int e = parse_body(call, &o, &why, status);
	if (e == ERR_DENIED)
		return e;
	if (e < 0)
		return apiserver_status_bad_request(status, "%s", why.s);
	e = 0;
	const char *kind = api_kind(o);
	if (json_is_null(o))
		o = json_object();
	if (!json_is_object(o))
		e = apiserver_status_bad_request(
			status,
			"couldn't get version/kind; json parse error: json: cannot "
			"unmarshal %s into Go value of type %s",
			apiserver_json_go_type(o), type_meta);
	else if (kind[0] != '\0' && strcmp(kind, "DeleteOptions") != 0)
		e = apiserver_status_bad_request(
			status, "no kind \"%s\" is registered for version \"%s\" %s", kind,
			api_version(o), scheme);
	if (e == 0)
		*ret = o;
	else
		json_decref(o);
	return e;
}

int apiserver_request_body_patch(const struct apiserver_call *call, json_t **ret,
				 struct apiserver_status *status)
{
	CLEANUP(strbuf_done) struct strbuf why = STRBUF_INIT;
	if (parse_json(call->body, ret, &why) < 0)
		return apiserver_status_bad_request(status, "invalid JSON patch");
	return 0;
}

int apiserver_request_body_apply(const struct apiserver_call *call, json_t **ret,
				 struct apiserver_status *status)
{
	CLEANUP(strbuf_done) struct strbuf why = STRBUF_INIT;
	json_t *o = NULL;
	if (parse_yaml(call->body, &o, &why) < 0)
		return apiserver_status_bad_request(
			status, "error decoding patch: error converting YAML to JSON: %s", why.s);
	if (json_is_null(o))
		o = json_object();
	if (!json_is_object(o)) {
		int e = apiserver_status_bad_request(
			status,
			"error decoding patch: error unmarshaling JSON: while decoding JSON: json: "
			"cannot unmarshal %s into Go value of type map[string]interface {}",
			json_is_array(o)    ? "array"
			: json_is_string(o) ? "string"
					    : "number");
		json_decref(o);
		return e;
	}
	*ret = o;
	return 0;
}
