/* POST: new objects, and reviews, which are questions and leave nothing behind. */
#include <string.h>

#include "api/meta.h"
#include "apiserver/rules/field_errors.h"
#include "apiserver/verb/body.h"
#include "apiserver/verb/respond.h"
#include "apiserver/kind/go_normalize.h"
#include "apiserver/verb/write.h"

/* A custom resource whose apiVersion fits and whose kind does not is invalid, not malformed. */
static int check_custom_kind(struct apiserver_request *req, const json_t *object)
{
	struct api_errors errs = { 0 };
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	if (req->r->built_in || strcmp(api_kind(object), req->r->kind->kind) == 0)
		return 0;
	strbuf_addf(&text, "must be %s", req->r->kind->kind);
	apiserver_add_invalid(&errs, "kind", json_object_get(object, "kind"), text.s);
	int e = apiserver_unprocessable(req->st, req->r->kind->group, api_kind(object),
					api_name(object), &errs);
	api_errors_done(&errs);
	return e;
}

static bool is_rules_review(const struct apiserver_resource *resource)
{
	return strcmp(resource->kind->kind, "SelfSubjectRulesReview") == 0;
}

static int review(struct apiserver_request *req, json_t *object)
{
	struct apiserver_env env = apiserver_env_of(req->a, true);
	struct api_errors errs = { 0 };
	int e = 0;
	env.groups = req->c->who->groups;
	apiserver_go_normalize_metadata(object); /* what says nothing is not there */
	if (req->r->strategy->validate != NULL)
		req->r->strategy->validate(&env, object, NULL, &errs);
	if (errs.n != 0)
		e = apiserver_unprocessable(req->st, req->r->kind->group, "", "", &errs);
	api_errors_done(&errs);
	if (e == 0 && is_rules_review(req->r) &&
	    api_get_string(object, "spec.namespace")[0] == '\0')
		e = apiserver_bad_request(req->st, "no namespace on request");
	if (e < 0)
		return e;
	req->r->strategy->review(&env, object, req->c->who->user);
	return apiserver_respond_object(req, 201, json_incref(object));
}

static int create(struct apiserver_request *req, const struct apiserver_write_options *options,
		  json_t *body)
{
	struct apiserver_writing w = {
		.a = req->a,
		.r = req->r,
		.ns = req->route.ns,
		.sub = "",
		.manager = options->manager,
		.dry_run = options->dry_run,
		.warnings = &req->answer->warnings,
		.st = req->st,
	};
	json_t *made = NULL;
	int e = check_custom_kind(req, body);
	if (e == 0)
		e = apiserver_check_place(&req->route, body, false, req->st);
	if (e == 0)
		e = apiserver_write_new(&w, body, &made);
	return e < 0 ? e : apiserver_respond_object(req, 201, made);
}

int apiserver_do_create(struct apiserver_request *req)
{
	struct apiserver_write_options o = { 0 };
	json_t *body = NULL;
	int e = apiserver_respond_begin(req, APISERVER_ACCEPT_REPLY);
	if (e == 0)
		e = apiserver_write_options(req->c, APISERVER_WRITE_CREATE, &o, req->st);
	if (e == 0)
		e = apiserver_body_object(req->c, req->r, o.strictness, &body,
					  &req->answer->warnings, req->st);
	if (e < 0)
		return e;
	e = req->r->strategy->review != NULL ? review(req, body) : create(req, &o, body);
	json_decref(body);
	return e;
}
