/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finds the verb and the resource of a request and calls the verb's function. A kube-apiserver
 * serves built-in kinds and custom resources by two different parts, which refuse unknown paths and
 * methods with different messages; so does this. */
#include "apiserver/verb/dispatch.h"

#include <string.h>

#include "api/meta.h"
#include "apiserver/request/request_body.h"
#include "apiserver/request/respond.h"
#include "apiserver/verb/create.h"
#include "apiserver/verb/delete.h"
#include "apiserver/verb/get.h"
#include "apiserver/verb/list.h"
#include "apiserver/verb/patch.h"
#include "apiserver/verb/update.h"
#include "apiserver/verb/watch.h"

static int answer_no_page(struct apiserver_request *req)
{
	apiserver_answer_no_such_page(req->answer);
	return 0;
}

static int answer_no_path(struct apiserver_request *req)
{
	return req->route.custom || !req->route.group_known
		       ? answer_no_page(req)
		       : apiserver_status_no_such_path(req->status);
}

/* ---- what this API leaves out on purpose ---- */

static int refuse_subresource(struct apiserver_request *req)
{
	static const struct {
		const char *plural, *subresource, *why;
	} rows[] = {
		{ "pods", "log", "a Pod has no log here: no kubelet runs behind this API" },
		{ "pods", "exec",
		  "nothing can be run in a Pod here: no kubelet runs behind this API" },
		{ "pods", "attach",
		  "a Pod cannot be attached to here: no kubelet runs behind this API" },
		{ "pods", "portforward",
		  "ports of a Pod cannot be forwarded here: no kubelet runs behind this API" },
		{ "pods", "proxy",
		  "Pods cannot be reached through this API: nothing is proxied here" },
		{ "pods", "eviction", "Pods are not evicted here: delete the Pod" },
		{ "pods", "binding", "Pods are not bound here: no scheduler runs behind this API" },
		{ "services", "proxy",
		  "Services cannot be reached through this API: nothing is proxied here" },
		{ "nodes", "proxy",
		  "Nodes cannot be reached through this API: nothing is proxied here" },
		{ "serviceaccounts", "token",
		  "tokens of ServiceAccounts are not issued here: the kubeconfig holds the "
		  "user's" },
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (strcmp(rows[i].plural, req->route.plural) == 0 &&
		    strcmp(rows[i].subresource, req->route.subresource) == 0)
			return apiserver_status_refuse(req->status, 400, "BadRequest", "%s",
						       rows[i].why);
	}
	if (!req->resource->built_in)
		return apiserver_status_not_found(req->status, req->resource, req->route.name);
	return apiserver_status_no_such_path(req->status);
}

static int refuse_never_kept(struct apiserver_request *req)
{
	CLEANUP(strbuf_done) struct strbuf what = STRBUF_INIT;
	apiserver_status_add_resource(&what, req->resource);
	return apiserver_status_refuse(
		req->status, 404, "NotFound",
		"%s is not part of the embedded API: it keeps what DNS needs and runs no "
		"workloads; see docs/reference/embedded-kinds.md for the kinds it has",
		what.s);
}

/* ---- verbs ---- */

static int get_collection(struct apiserver_request *req)
{
	struct apiserver_list_options o;
	int e = apiserver_list_options(req->call, &o, req->status);
	if (e < 0)
		return e;
	return o.watch ? apiserver_verb_watch(req, &o) : apiserver_verb_list(req, &o);
}

static int refuse_verb(struct apiserver_request *req, const char *verb)
{
	CLEANUP(strbuf_done) struct strbuf what = STRBUF_INIT;
	apiserver_status_add_resource(&what, req->resource);
	apiserver_status_refuse(req->status, 405, "MethodNotAllowed",
				"%s is not supported on resources of kind \"%s\"", verb, what.s);
	req->status->details = json_pack("{ss,ss}", "group", req->resource->kind->group, "kind",
					 req->resource->kind->plural);
	return ERR_DENIED;
}

static int refuse_method(struct apiserver_request *req)
{
	static const struct {
		enum http_method method;
		const char *verb;
	} verbs[] = { { HTTP_DELETE, "delete" },
		      { HTTP_POST, "create" },
		      { HTTP_PUT, "update" },
		      { HTTP_PATCH, "patch" },
		      { HTTP_GET, "get" } };
	if (req->resource->built_in)
		return apiserver_status_no_such_method(req->status);
	if (req->route.name == NULL && req->call->method != HTTP_OTHER)
		return apiserver_status_bad_request(req->status, "name must be provided");
	for (size_t i = 0; i < ARRAY_LEN(verbs); i++) {
		if (req->call->method == verbs[i].method)
			return refuse_verb(req, verbs[i].verb);
	}
	return apiserver_status_no_such_method(req->status);
}

enum shape { COLLECTION = 1, OBJECT = 2, STATUS = 4 };

static const struct {
	unsigned method, shapes, verb;
	int (*fn)(struct apiserver_request *req);
} verbs[] = {
	{ HTTP_GET | HTTP_HEAD, COLLECTION, APISERVER_LIST, get_collection },
	{ HTTP_POST, COLLECTION, APISERVER_CREATE, apiserver_verb_create },
	{ HTTP_DELETE, COLLECTION, APISERVER_DELETECOLLECTION, apiserver_verb_delete_collection },
	{ HTTP_GET | HTTP_HEAD, OBJECT | STATUS, APISERVER_GET, apiserver_verb_get },
	{ HTTP_PUT, OBJECT | STATUS, APISERVER_UPDATE, apiserver_verb_update },
	{ HTTP_PATCH, OBJECT | STATUS, APISERVER_PATCH, apiserver_verb_patch },
	{ HTTP_DELETE, OBJECT, APISERVER_DELETE, apiserver_verb_delete },
};

/* Checks that a path has a namespace if, and only if, the kind is namespaced; lists of all
 * namespaces (*ret_all) have none. 1: the answer is filled in. */
static int check_scope(struct apiserver_request *req, bool *ret_all)
{
	const struct apiserver_route *route = &req->route;
	bool collection = route->name == NULL;
	*ret_all = req->resource->kind->namespaced && route->ns == NULL && collection;
	if (req->resource->kind->namespaced ? route->ns == NULL && !collection : route->ns != NULL)
		return answer_no_path(req) == 0 ? 1 : ERR_DENIED;
	if (!*ret_all || (req->call->method & (HTTP_GET | HTTP_HEAD)) != 0)
		return 0;
	if (!req->resource->built_in)
		return answer_no_page(req) == 0 ? 1 : 0;
	return apiserver_status_no_such_method(req->status);
}

static int dispatch_resource(struct apiserver_request *req)
{
	const struct apiserver_route *route = &req->route;
	bool all;
	int e = check_scope(req, &all);
	if (e != 0)
		return e < 0 ? e : 0;
	if (route->name != NULL &&
	    (strcmp(route->name, ".") == 0 || strcmp(route->name, "..") == 0))
		return route->subresource[0] != '\0'
			       ? apiserver_status_no_such_path(req->status)
			       : apiserver_status_bad_request(req->status,
							      "Name parameter invalid: \"%s\": "
							      "may not be '%s'",
							      route->name, route->name);
	if (req->call->method == HTTP_HEAD && req->resource->built_in)
		return apiserver_status_no_such_method(req->status);
	enum shape shape = route->name == NULL		   ? COLLECTION
			   : route->subresource[0] == '\0' ? OBJECT
							   : STATUS;
	if (shape == STATUS && (strcmp(route->subresource, "status") != 0 ||
				route->below[0] != '\0' || !req->resource->status))
		return refuse_subresource(req);
	if (req->resource->never_kept && req->call->method != HTTP_GET)
		return refuse_never_kept(req);
	if (shape == OBJECT && req->resource->verbs == APISERVER_CREATE)
		return apiserver_status_no_such_path(req->status);
	for (size_t i = 0; i < ARRAY_LEN(verbs); i++) {
		if ((verbs[i].method & req->call->method) != 0 && (verbs[i].shapes & shape) != 0 &&
		    (verbs[i].verb & req->resource->verbs) != 0)
			return verbs[i].fn(req);
	}
	/* kube-apiserver ignores the name in the path of a POST of a custom resource. */
	if (req->call->method == HTTP_POST && shape == OBJECT && !req->resource->built_in)
		return apiserver_verb_create(req);
	return refuse_method(req);
}

static int serve_request(struct apiserver_request *req)
{
	if (!apiserver_route_parse(req->call->path, &req->route))
		return answer_no_page(req);
	req->resource = req->route.resource;
	return req->resource != NULL ? dispatch_resource(req) : answer_no_path(req);
}

/* The resource's deprecation warning comes before all others. */
static void prepend_deprecation(struct apiserver_request *req)
{
	CLEANUP(strbuf_done) struct strbuf lines = STRBUF_INIT;
	struct strbuf *out = &req->answer->warnings;
	if (req->resource == NULL || req->resource->warning[0] == '\0')
		return;
	strbuf_addf(&lines, "%s\n%s", req->resource->warning, out->s);
	strbuf_reset(out);
	strbuf_add(out, lines.s, lines.n);
}

void apiserver_dispatch(struct apiserver_api *api, const struct apiserver_call *call,
			struct apiserver_answer *ret)
{
	struct apiserver_status status = APISERVER_STATUS_INIT;
	struct apiserver_request req = {
		.api = api, .call = call, .answer = ret, .status = &status
	};
	CLEANUP(strbuf_done) struct strbuf ignored = STRBUF_INIT;
	apiserver_answer_init(ret);
	/* Refusals before the verb parses the header are in the form that the client accepts,
	 * too. */
	IGNORE(apiserver_accept_parse(call->accept, APISERVER_ACCEPT_REPLY, &req.accept, &ignored));
	if (serve_request(&req) < 0)
		apiserver_respond_refusal(&req);
	prepend_deprecation(&req);
	apiserver_status_done(&status);
}
