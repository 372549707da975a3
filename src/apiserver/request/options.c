/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ListOptions, CreateOptions, UpdateOptions, PatchOptions and DeleteOptions: parsing query
 * parameters and the body of a DELETE, and the server's messages for invalid ones. */
#include "apiserver/request/options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "api/meta.h"
#include "api/tree.h"
#include "apiserver/codec/json_error.h"
#include "apiserver/request/request_body.h"
#include "apiserver/request/selection.h"
#include "base/text/utf8.h"

const char *apiserver_options_arg(const struct apiserver_call *call, const char *name)
{
	for (size_t i = 0; i < call->n_args; i++) {
		if (strcmp(call->args[i].name, name) == 0)
			return call->args[i].value;
	}
	return NULL;
}

static const char *text_arg_of(const struct apiserver_call *call, const char *name)
{
	const char *v = apiserver_options_arg(call, name);
	return v != NULL ? v : "";
}

/* True for anything but "0" and "false", the empty text included. -1 when it was not sent. */
static int bool_arg_of(const struct apiserver_call *call, const char *name)
{
	const char *v = apiserver_options_arg(call, name);
	if (v == NULL)
		return -1;
	return strcmp(v, "0") != 0 && strcasecmp(v, "false") != 0;
}

static int parse_number_arg(const struct apiserver_call *call, const char *name, int64_t *ret,
			    struct apiserver_status *status)
{
	const char *v = apiserver_options_arg(call, name);
	if (v == NULL)
		return 0;
	char *end = NULL;
	errno = 0;
	long long n = strtoll(v, &end, 10);
	bool ok = (v[0] == '-' || v[0] == '+' || ascii_isdigit(v[0])) && *end == '\0' && end != v;
	if (ok && errno == 0) {
		*ret = n;
		return 0;
	}
	CLEANUP(strbuf_done) struct strbuf quoted = STRBUF_INIT;
	strbuf_add_quoted(&quoted, slice_of(v));
	return apiserver_status_bad_request(status, "strconv.ParseInt: parsing %s: %s", quoted.s,
					    ok ? "value out of range" : "invalid syntax");
}

/* ---- lists and watches ---- */

static const char match_field[] = "resourceVersionMatch";

static void add_unsupported(struct api_errors *errs, const char *field, const char *value,
			    const char *allowed)
{
	CLEANUP(strbuf_done) struct strbuf quoted = STRBUF_INIT, detail = STRBUF_INIT;
	strbuf_add_quoted(&quoted, slice_of(value));
	strbuf_addf(&detail, "supported values: %s", allowed);
	api_errors_add(errs, API_FIELD_UNSUPPORTED, field, quoted.s, detail.s);
}

static void add_forbidden(struct api_errors *errs, const char *field, const char *why)
{
	api_errors_add(errs, API_FIELD_FORBIDDEN, field, NULL, why);
}

static void check_list(const struct apiserver_list_options *options, struct api_errors *errs)
{
	bool exact = strcmp(options->match, "Exact") == 0;
	if (options->match[0] != '\0') {
		if (options->resource_version[0] == '\0')
			add_forbidden(errs, match_field,
				      "resourceVersionMatch is forbidden unless resourceVersion is "
				      "provided");
		if (options->token[0] != '\0')
			add_forbidden(
				errs, match_field,
				"resourceVersionMatch is forbidden when continue is provided");
		if (!exact && strcmp(options->match, "NotOlderThan") != 0)
			add_unsupported(errs, match_field, options->match,
					"\"Exact\", \"NotOlderThan\", \"\"");
		if (exact && strcmp(options->resource_version, "0") == 0)
			add_forbidden(
				errs, match_field,
				"resourceVersionMatch \"exact\" is forbidden for resourceVersion "
				"\"0\"");
	}
	if (options->initial_events >= 0)
		add_forbidden(errs, "sendInitialEvents", "sendInitialEvents is forbidden for list");
}

static void check_watch(const struct apiserver_list_options *options, struct api_errors *errs)
{
	bool newer = strcmp(options->match, "NotOlderThan") == 0;
	if (options->initial_events >= 0 && !newer)
		add_forbidden(
			errs, match_field,
			"sendInitialEvents requires setting resourceVersionMatch to NotOlderThan");
	if (options->match[0] == '\0')
		return;
	if (options->initial_events < 0)
		add_forbidden(
			errs, match_field,
			"resourceVersionMatch is forbidden for watch unless sendInitialEvents is "
			"provided");
	if (!newer)
		add_unsupported(errs, match_field, options->match, "\"NotOlderThan\"");
	if (options->token[0] != '\0')
		add_forbidden(errs, match_field,
			      "resourceVersionMatch is forbidden when continue is provided");
}

int apiserver_list_options(const struct apiserver_call *call, struct apiserver_list_options *ret,
			   struct apiserver_status *status)
{
	struct api_errors errs = { 0 };
	*ret = (struct apiserver_list_options){
		.label = text_arg_of(call, "labelSelector"),
		.field = text_arg_of(call, "fieldSelector"),
		.resource_version = text_arg_of(call, "resourceVersion"),
		.match = text_arg_of(call, match_field),
		.token = text_arg_of(call, "continue"),
		.watch = bool_arg_of(call, "watch") == 1,
		.bookmarks = bool_arg_of(call, "allowWatchBookmarks") == 1,
		.initial_events = bool_arg_of(call, "sendInitialEvents"),
	};
	int r = apiserver_selection_check_syntax(ret->label, ret->field, status);
	if (r == 0)
		r = parse_number_arg(call, "limit", &ret->limit, status);
	if (r == 0)
		r = parse_number_arg(call, "timeoutSeconds", &ret->timeout_s, status);
	if (r < 0)
		return r;
	if (ret->limit < 0)
		ret->limit = 0;
	(ret->watch ? check_watch : check_list)(ret, &errs);
	if (errs.n != 0)
		r = apiserver_status_bad_options(status, "ListOptions", &errs);
	api_errors_done(&errs);
	return r;
}

/* ---- writes ---- */

/* "All" is the only valid value and may be repeated. */
static bool check_dry_run(const char *const *values, size_t len, struct api_errors *errs)
{
	CLEANUP(strbuf_done) struct strbuf shown = STRBUF_INIT;
	bool ok = true;
	for (size_t i = 0; i < len; i++) {
		ok = ok && strcmp(values[i], "All") == 0;
		strbuf_addc(&shown, i == 0 ? '[' : ',');
		strbuf_add_json(&shown, slice_of(values[i]));
	}
	strbuf_addc(&shown, ']');
	if (!ok)
		api_errors_add(errs, API_FIELD_UNSUPPORTED, "dryRun", shown.s,
			       "supported values: \"All\"");
	return len != 0;
}

static bool parse_dry_run_args(const struct apiserver_call *call, struct api_errors *errs)
{
	const char *v[APISERVER_ARGS_MAX];
	size_t n = 0;
	for (size_t i = 0; i < call->n_args && n < ARRAY_LEN(v); i++) {
		if (strcmp(call->args[i].name, "dryRun") == 0)
			v[n++] = call->args[i].value;
	}
	return check_dry_run(v, n, errs);
}

static void check_manager(const char *text, struct api_errors *errs)
{
	struct slice rest = slice_of(text);
	if (rest.n > APISERVER_MANAGER_MAX_BYTES) {
		api_errors_add(errs, API_FIELD_TOO_LONG, "fieldManager", NULL,
			       "may not be more than 128 bytes");
		return;
	}
	for (size_t i = 0; i < rest.n; i++) {
		unsigned char ch = (unsigned char)text[i];
		if (ch >= 0x20 && ch != 0x7f)
			continue;
		CLEANUP(strbuf_done) struct strbuf quoted = STRBUF_INIT, detail = STRBUF_INIT;
		strbuf_add_quoted(&quoted, rest);
		strbuf_addf(&detail, "invalid character U+%04X (at position %zu)", (unsigned)ch, i);
		api_errors_add(errs, API_FIELD_INVALID, "fieldManager", quoted.s, detail.s);
		return;
	}
}

/* The field manager: the parameter, else the user agent up to its slash. Invalid UTF-8 becomes
 * U+FFFD. */
static void set_manager(const struct apiserver_call *call,
			char ret[APISERVER_MANAGER_MAX_BYTES + 1])
{
	struct slice manager = slice_of(text_arg_of(call, "fieldManager")),
		     rest = slice_of(call->user_agent);
	size_t n = 0;
	if (manager.n == 0)
		manager = slice_cut(&rest, '/');
	while (manager.n != 0) {
		uint32_t cp;
		char text[4];
		size_t taken = utf8_decode(manager, &cp);
		size_t more = utf8_encode(taken != 0 ? cp : UINT32_MAX, text);
		manager = slice_from(manager, taken != 0 ? taken : 1);
		if ((unsigned char)text[0] < 0x20 || text[0] == 0x7f ||
		    n + more > APISERVER_MANAGER_MAX_BYTES)
			continue;
		memcpy(ret + n, text, more);
		n += more;
	}
	ret[n] = '\0';
	if (n == 0) /* what client-go sends without a user agent of its own */
		snprintf(ret, APISERVER_MANAGER_MAX_BYTES + 1, "Go-http-client");
}

static const char *const option_kinds[] = { "CreateOptions", "UpdateOptions", "PatchOptions",
					    "PatchOptions" };

static enum apiserver_strictness parse_strictness(const struct apiserver_call *call,
						  struct api_errors *errs)
{
	const char *v = text_arg_of(call, "fieldValidation");
	if (strcmp(v, "Strict") == 0)
		return APISERVER_STRICT;
	if (strcmp(v, "Ignore") == 0)
		return APISERVER_IGNORE;
	if (v[0] != '\0' && strcmp(v, "Warn") != 0)
		add_unsupported(errs, "fieldValidation", v,
				"\"\", \"Ignore\", \"Strict\", \"Warn\"");
	return APISERVER_WARN;
}

int apiserver_write_options(const struct apiserver_call *call, enum apiserver_write_kind kind,
			    struct apiserver_write_options *ret, struct apiserver_status *status)
{
	struct api_errors errs = { 0 };
	const char *manager = text_arg_of(call, "fieldManager");
	int force = bool_arg_of(call, "force"), r = 0;
	memset(ret, 0, sizeof(*ret));
	if (kind == APISERVER_WRITE_APPLY && manager[0] == '\0')
		api_errors_add(&errs, API_FIELD_REQUIRED, "fieldManager", NULL,
			       "is required for apply patch");
	if (kind == APISERVER_WRITE_PATCH && force >= 0)
		add_forbidden(&errs, "force", "may not be specified for non-apply patch");
	check_manager(manager, &errs);
	ret->dry_run = parse_dry_run_args(call, &errs);
	ret->strictness = parse_strictness(call, &errs);
	ret->force = force == 1;
	set_manager(call, ret->manager);
	if (errs.n != 0)
		r = apiserver_status_bad_options(status, option_kinds[kind], &errs);
	api_errors_done(&errs);
	return r;
}

/* ---- deletes ---- */

/* The members of DeleteOptions, with the names of their Go types. */
static int check_types(const json_t *object, struct apiserver_status *status)
{
	static const struct {
		const char *key;
		json_type type;
		const char *owner, *words;
	} members[] = {
		{ "gracePeriodSeconds", JSON_INTEGER, "DeleteOptions", "int64" },
		{ "orphanDependents", JSON_TRUE, "DeleteOptions", "bool" },
		{ "propagationPolicy", JSON_STRING, "DeleteOptions", "v1.DeletionPropagation" },
		{ "dryRun", JSON_ARRAY, "DeleteOptions", "[]string" },
		{ "preconditions", JSON_OBJECT, "DeleteOptions", "v1.Preconditions" },
		{ "preconditions.uid", JSON_STRING, "Preconditions", "types.UID" },
		{ "preconditions.resourceVersion", JSON_STRING, "Preconditions", "string" },
	};
	for (size_t i = 0; i < ARRAY_LEN(members); i++) {
		const json_t *v = api_get(object, members[i].key);
		if (v == NULL || json_is_null(v) || json_typeof(v) == members[i].type ||
		    (members[i].type == JSON_TRUE && json_is_false(v)))
			continue;
		return apiserver_status_bad_request(
			status,
			"json: cannot unmarshal %s into Go struct field "
			"%s.%s of type %s",
			apiserver_json_go_type(v), members[i].owner, members[i].key,
			members[i].words);
	}
	return 0;
}

static const char *precondition_of(const json_t *object, const char *key)
{
	return api_text_or(json_object_get(json_object_get(object, "preconditions"), key), NULL);
}

static int parse_delete_body(const struct apiserver_call *call,
			     struct apiserver_delete_options *ret, struct api_errors *errs,
			     struct apiserver_status *status)
{
	const char *v[APISERVER_ARGS_MAX];
	size_t n = 0, i;
	json_t *e;
	int r = apiserver_request_body_options(call, &ret->body, status);
	if (r == 0)
		r = check_types(ret->body, status);
	if (r < 0)
		return r;
	const json_t *orphan = json_object_get(ret->body, "orphanDependents");
	ret->policy = api_text_or(json_object_get(ret->body, "propagationPolicy"), NULL);
	ret->orphan = json_is_boolean(orphan) ? json_is_true(orphan) : -1;
	ret->uid = precondition_of(ret->body, "uid");
	ret->resource_version = precondition_of(ret->body, "resourceVersion");
	json_array_foreach (json_object_get(ret->body, "dryRun"), i, e) {
		if (json_is_string(e) && n < ARRAY_LEN(v))
			v[n++] = api_text(e);
	}
	ret->dry_run = check_dry_run(v, n, errs);
	return 0;
}

static int parse_delete_args(const struct apiserver_call *call,
			     struct apiserver_delete_options *ret, struct api_errors *errs,
			     struct apiserver_status *status)
{
	int64_t grace;
	ret->policy = apiserver_options_arg(call, "propagationPolicy");
	ret->orphan = bool_arg_of(call, "orphanDependents");
	ret->dry_run = parse_dry_run_args(call, errs);
	return parse_number_arg(call, "gracePeriodSeconds", &grace, status);
}

static void check_propagation(const struct apiserver_delete_options *options,
			      struct api_errors *errs)
{
	CLEANUP(strbuf_done) struct strbuf quoted = STRBUF_INIT;
	if (options->policy == NULL)
		return;
	strbuf_add_quoted(&quoted, slice_of(options->policy));
	if (options->orphan >= 0)
		api_errors_add(errs, API_FIELD_INVALID, "propagationPolicy", quoted.s,
			       "orphanDependents and deletionPropagation cannot be both set");
	if (strcmp(options->policy, "Foreground") != 0 &&
	    strcmp(options->policy, "Background") != 0 && strcmp(options->policy, "Orphan") != 0)
		add_unsupported(errs, "propagationPolicy", options->policy,
				"\"Foreground\", \"Background\", \"Orphan\", \"nil\"");
}

int apiserver_delete_options(const struct apiserver_call *call,
			     struct apiserver_delete_options *ret, struct apiserver_status *status)
{
	struct api_errors errs = { 0 };
	*ret = (struct apiserver_delete_options){ .orphan = -1 };
	int r = (call->body.n != 0 ? parse_delete_body : parse_delete_args)(call, ret, &errs,
									    status);
	check_propagation(ret, &errs);
	if (r == 0 && errs.n != 0)
		r = apiserver_status_bad_options(status, "DeleteOptions", &errs);
	api_errors_done(&errs);
	if (ret->policy == NULL)
		ret->policy = "";
	if (r < 0)
		apiserver_delete_options_done(ret);
	return r;
}

void apiserver_delete_options_done(struct apiserver_delete_options *options)
{
	json_decref(options->body);
	options->body = NULL;
}
