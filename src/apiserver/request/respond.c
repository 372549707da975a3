/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writes objects and refusals into the answer, in the form that the client accepts: JSON or YAML,
 * as objects, Tables or metadata only. */
#include "apiserver/request/respond.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "api/apply/managed.h"
#include "api/json_text.h"
#include "api/meta.h"
#include "api/tree.h"
#include "api/yaml/yaml.h"
#include "apiserver/request/object.h"
#include "apiserver/request/options.h"
#include "base/clock.h"
#include "base/mem.h"

static int add_text(const char *pos, size_t len, void *ctx)
{
	strbuf_add(ctx, pos, len);
	return 0;
}

static void add_indented(struct strbuf *out, const json_t *value)
{
	IGNORE(json_dump_callback(value, add_text, out,
				  JSON_INDENT(2))); /* the callback cannot fail */
}

/* YAML has sorted keys, as kube-apiserver writes it. */
static void add_yaml(struct strbuf *out, const json_t *value)
{
	CLEANUP(freep) char *text = json_dumps(value, JSON_COMPACT | JSON_SORT_KEYS);
	json_t *sorted = json_loads(text, 0, NULL);
	api_yaml_write(out, sorted != NULL ? sorted : value);
	json_decref(sorted);
}

static void write_body(struct apiserver_request *req, unsigned status, const json_t *object)
{
	struct apiserver_answer *a = req->answer;
	a->status = status;
	a->content_type =
		req->accept.form == APISERVER_FORM_YAML ? "application/yaml" : "application/json";
	strbuf_reset(&a->body);
	if (req->accept.form == APISERVER_FORM_YAML) {
		add_yaml(&a->body, object);
		return;
	}
	if (req->accept.pretty)
		add_indented(&a->body, object);
	else
		api_json_add(&a->body, object);
	strbuf_addc(&a->body, '\n');
}

void apiserver_respond_text(struct apiserver_request *req)
{
	struct apiserver_answer *a = req->answer;
	a->status = 200;
	a->content_type = "application/json";
	strbuf_addc(&a->body, '\n');
	if (req->accept.form == APISERVER_FORM_JSON && !req->accept.pretty)
		return;
	json_t *o = json_loadb(a->body.s, a->body.n, 0, NULL);
	if (o != NULL)
		write_body(req, 200, o);
	json_decref(o);
}

int apiserver_respond_begin(struct apiserver_request *req, enum apiserver_accept_for what)
{
	CLEANUP(strbuf_done) struct strbuf err = STRBUF_INIT;
	const char *pretty = apiserver_options_arg(req->call, "pretty");
	if (apiserver_accept_parse(req->call->accept, what, &req->accept, &err) < 0)
		return apiserver_status_refuse(req->status, 406, "NotAcceptable", "%s", err.s);
	if (pretty != NULL)
		req->accept.pretty = strcmp(pretty, "0") != 0 && strcasecmp(pretty, "false") != 0;
	if (apiserver_table_include(apiserver_options_arg(req->call, "includeObject"),
				    &req->include, &err) < 0)
		return apiserver_status_bad_request(req->status, "%s", err.s);
	return 0;
}

void apiserver_respond_init_table(const struct apiserver_request *req,
				  struct apiserver_table *table)
{
	*table = (struct apiserver_table){
		.resource = req->resource,
		.meta_version = req->accept.meta_version,
		.include = req->include,
		.now_s = clock_wall_ns() / NS_PER_S,
	};
}

json_t *apiserver_respond_accepted(const struct apiserver_accept *accept, const json_t *object)
{
	return accept->omit_managed ? api_managed_strip(object) : json_incref(api_tree(object));
}

void apiserver_respond_event(const struct apiserver_accept *accept, struct apiserver_table *table,
			     const json_t *object, bool first, struct strbuf *out)
{
	json_t *part = apiserver_respond_accepted(accept, object);
	switch (accept->as) {
	case APISERVER_AS_TABLE:
		table->now_s = clock_wall_ns() / NS_PER_S;
		apiserver_table_object(out, table, part, first);
		break;
	case APISERVER_AS_PARTIAL:
	case APISERVER_AS_PARTIAL_LIST:
		apiserver_table_partial(out, accept->meta_version, part);
		break;
	case APISERVER_AS_OBJECT:
		api_json_add(out, part);
		break;
	}
	json_decref(part);
}

int apiserver_respond_object(struct apiserver_request *req, unsigned status, json_t *object)
{
	CLEANUP(strbuf_done) struct strbuf err = STRBUF_INIT;
	struct apiserver_table t;
	int e = 0;
	apiserver_respond_init_table(req, &t);
	if (req->accept.as == APISERVER_AS_OBJECT) {
		json_t *part = apiserver_respond_accepted(&req->accept, object);
		write_body(req, status, part);
		json_decref(part);
	} else if (apiserver_accept_check(&req->accept, false, req->resource->kind->kind, &err) <
		   0) {
		e = apiserver_status_refuse(req->status, 406, "NotAcceptable", "%s", err.s);
	} else {
		apiserver_respond_event(&req->accept, &t, object, true, &req->answer->body);
		apiserver_respond_text(req);
		req->answer->status = status;
	}
	json_decref(object);
	return e;
}

int apiserver_respond_written(struct apiserver_request *req, unsigned status, json_t *object,
			      struct strbuf *text)
{
	struct apiserver_answer *a = req->answer;
	if (text->n == 0 || req->accept.as != APISERVER_AS_OBJECT ||
	    req->accept.form != APISERVER_FORM_JSON || req->accept.pretty ||
	    req->accept.omit_managed)
		return apiserver_respond_object(req, status, object);
	a->status = status;
	a->content_type = "application/json";
	strbuf_addc(text, '\n');
	strbuf_done(&a->body);
	a->body = *text;
	strbuf_init(text);
	json_decref(object);
	return 0;
}

void apiserver_respond_tree(struct apiserver_request *req, unsigned status, json_t *object)
{
	write_body(req, status, object);
	json_decref(object);
}

void apiserver_respond_refusal(struct apiserver_request *req)
{
	req->answer->retry_after_s = req->status->retry_after_s;
	apiserver_respond_tree(req, req->status->code, apiserver_status_tree(req->status));
}
