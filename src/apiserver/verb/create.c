/* SPDX-License-Identifier: GPL-3.0-or-later */
/* POST: creates objects, and answers reviews (SelfSubjectAccessReview and the like), which are not
 * stored. */
#include "apiserver/verb/create.h"

#include <string.h>

#include "api/meta.h"
#include "apiserver/kind/go_normalize.h"
#include "apiserver/request/request_body.h"
#include "apiserver/request/options.h"
#include "apiserver/request/respond.h"
#include "apiserver/rules/field_errors.h"
#include "apiserver/rules/name_rules.h"
#include "apiserver/verb/write.h"

/* A custom resource whose apiVersion fits and whose kind does not is invalid, not malformed. */
static int check_custom_kind(struct apiserver_request *req, const json_t *object)
{
	struct api_errors errs = { 0 };
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	if (req->resource->built_in || strcmp(api_kind(object), req->resource->kind->kind) == 0)
		return 0;
	strbuf_addf(&text, "must be %s", req->resource->kind->kind);
	apiserver_add_invalid(&errs, "kind", json_object_get(object, "kind"), text.s);
	int e = apiserver_status_unprocessable(req->status, req->resource->kind->group,
					       api_kind(object), api_name(object), &errs);
	api_errors_done(&errs);
	return e;
}

static bool is_rules_review(const struct apiserver_resource *resource)
{
	return strcmp(resource->kind->kind, "SelfSubjectRulesReview") == 0;
}

static int answer_review(struct apiserver_request *req, json_t *object)
{
	struct apiserver_env env = apiserver_write_env(req->api, true);
	struct api_errors errs = { 0 };
	int e = 0;
	env.groups = req->call->who->groups;
	apiserver_go_normalize_metadata(object, NULL); /* drops empty fields */
	if (req->resource->strategy->validate != NULL)
		req->resource->strategy->validate(&env, object, NULL, &errs);
	if (errs.n != 0)
		e = apiserver_status_unprocessable(req->status, req->resource->kind->group, "", "",
						   &errs);
	api_errors_done(&errs);
	if (e == 0 && is_rules_review(req->resource) &&
	    api_get_string(object, "spec.namespace")[0] == '\0')
		e = apiserver_status_bad_request(req->status, "no namespace on request");
	if (e < 0)
		return e;
	req->resource->strategy->review(&env, object, req->call->who->user);
	return apiserver_respond_object(req, 201, json_incref(object));
}

static int create_object(struct apiserver_request *req,
			 const struct apiserver_write_options *options, json_t *body)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	struct apiserver_writing writing = {
		.api = req->api,
		.resource = req->resource,
		.ns = req->route.ns,
		.subresource = "",
		.manager = options->manager,
		.user = req->call->who->user,
		.dry_run = options->dry_run,
		.warnings = &req->answer->warnings,
		.stored_text = &text,
		.status = req->status,
	};
	json_t *made = NULL;
	int e = check_custom_kind(req, body);
	if (e == 0)
		e = apiserver_route_check_object(&req->route, body, false, req->status);
	if (e == 0)
		e = apiserver_write_new(&writing, body, &made);
	return e < 0 ? e : apiserver_respond_written(req, 201, made, &text);
}

int apiserver_verb_create(struct apiserver_request *req)
{
	struct apiserver_write_options options = { 0 };
	json_t *body = NULL;
	int e = apiserver_respond_begin(req, APISERVER_ACCEPT_REPLY);
	if (e == 0)
		e = apiserver_write_options(req->call, APISERVER_WRITE_CREATE, &options,
					    req->status);
	if (e == 0)
		e = apiserver_request_body_object(req->call, req->resource, options.strictness,
						  &body, &req->answer->warnings, req->status);
	if (e < 0)
		return e;
	e = req->resource->strategy->review != NULL ? answer_review(req, body)
						    : create_object(req, &options, body);
	json_decref(body);
	return e;
}
