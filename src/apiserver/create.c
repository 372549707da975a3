/* POST: new objects, and reviews, which are questions and leave nothing behind. */
#include <string.h>

#include "api/meta.h"
#include "apiserver/body.h"
#include "apiserver/respond.h"
#include "apiserver/shape.h"
#include "apiserver/text.h"
#include "apiserver/write.h"

/* A custom resource whose apiVersion fits and whose kind does not is invalid, not malformed. */
static int check_custom_kind(struct apiserver_request *q, const json_t *o)
{
	struct api_errors errs = { 0 };
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	if (q->r->built_in || strcmp(api_kind(o), q->r->kind->kind) == 0)
		return 0;
	strbuf_addf(&text, "must be %s", q->r->kind->kind);
	apiserver_invalid(&errs, "kind", json_object_get(o, "kind"), text.s);
	int e = apiserver_unprocessable(q->st, q->r->kind->group, api_kind(o), api_name(o), &errs);
	api_errors_done(&errs);
	return e;
}

static bool is_rules_review(const struct apiserver_resource *r)
{
	return strcmp(r->kind->kind, "SelfSubjectRulesReview") == 0;
}

static int review(struct apiserver_request *q, json_t *o)
{
	struct apiserver_env env = apiserver_env_of(q->a, true);
	struct api_errors errs = { 0 };
	int e = 0;
	env.groups = q->c->who->groups;
	apiserver_shape_metadata(o); /* what says nothing is not there */
	if (q->r->strategy->validate != NULL)
		q->r->strategy->validate(&env, o, NULL, &errs);
	if (errs.n != 0)
		e = apiserver_unprocessable(q->st, q->r->kind->group, "", "", &errs);
	api_errors_done(&errs);
	if (e == 0 && is_rules_review(q->r) && api_get_string(o, "spec.namespace")[0] == '\0')
		e = apiserver_bad_request(q->st, "no namespace on request");
	if (e < 0)
		return e;
	q->r->strategy->review(&env, o, q->c->who->user);
	return apiserver_respond_object(q, 201, json_incref(o));
}

static int create(struct apiserver_request *q, const struct apiserver_write_options *o,
		  json_t *body)
{
	struct apiserver_writing w = {
		.a = q->a,
		.r = q->r,
		.ns = q->route.ns,
		.sub = "",
		.manager = o->manager,
		.dry_run = o->dry_run,
		.warnings = &q->answer->warnings,
		.st = q->st,
	};
	json_t *made = NULL;
	int e = check_custom_kind(q, body);
	if (e == 0)
		e = apiserver_check_place(&q->route, body, false, q->st);
	if (e == 0)
		e = apiserver_write_new(&w, body, &made);
	return e < 0 ? e : apiserver_respond_object(q, 201, made);
}

int apiserver_do_create(struct apiserver_request *q)
{
	struct apiserver_write_options o = { 0 };
	json_t *body = NULL;
	int e = apiserver_respond_begin(q, APISERVER_ACCEPT_REPLY);
	if (e == 0)
		e = apiserver_write_options(q->c, APISERVER_WRITE_CREATE, &o, q->st);
	if (e == 0)
		e = apiserver_body_object(q->c, q->r, o.strictness, &body, &q->answer->warnings,
					  q->st);
	if (e < 0)
		return e;
	e = q->r->strategy->review != NULL ? review(q, body) : create(q, &o, body);
	json_decref(body);
	return e;
}
