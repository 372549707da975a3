/* A request: which verb of which kind it is, and whether there is one. Built-in kinds and custom
 * resources are answered by two parts of a real server, which say differently what they do not
 * have. */
#include <string.h>

#include "api/meta.h"
#include "apiserver/verb/body.h"
#include "apiserver/verb/failure.h"
#include "apiserver/verb/respond.h"

void apiserver_answer_done(struct apiserver_answer *answer)
{
	strbuf_done(&answer->body);
	strbuf_done(&answer->warnings);
	apiserver_stream_free(answer->stream);
	answer->stream = NULL;
}

static int no_page(struct apiserver_request *req)
{
	apiserver_failure_page(req->answer);
	return 0;
}

static int no_path(struct apiserver_request *req)
{
	return req->route.custom || !req->route.group_known ? no_page(req)
							    : apiserver_no_such_path(req->st);
}

/* ---- what is not there on purpose ---- */

static int refuse_subresource(struct apiserver_request *req)
{
	static const struct {
		const char *plural, *sub, *why;
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
		    strcmp(rows[i].sub, req->route.sub) == 0)
			return apiserver_refuse(req->st, 400, "BadRequest", "%s", rows[i].why);
	}
	if (!req->r->built_in)
		return apiserver_not_found(req->st, req->r, req->route.name);
	return apiserver_no_such_path(req->st);
}

static int refuse_never_kept(struct apiserver_request *req)
{
	CLEANUP(strbuf_done) struct strbuf what = STRBUF_INIT;
	apiserver_qualified(&what, req->r);
	return apiserver_refuse(
		req->st, 404, "NotFound",
		"%s is not part of the embedded API: it keeps what DNS needs and runs no "
		"workloads; see docs/reference/embedded-kinds.md for the kinds it has",
		what.s);
}

/* ---- verbs ---- */

static int get_collection(struct apiserver_request *req)
{
	struct apiserver_list_options o;
	int e = apiserver_list_options(req->c, &o, req->st);
	if (e < 0)
		return e;
	return o.watch ? apiserver_do_watch(req, &o) : apiserver_do_list(req, &o);
}

static int not_supported(struct apiserver_request *req, const char *verb)
{
	CLEANUP(strbuf_done) struct strbuf what = STRBUF_INIT;
	apiserver_qualified(&what, req->r);
	apiserver_refuse(req->st, 405, "MethodNotAllowed",
			 "%s is not supported on resources of kind \"%s\"", verb, what.s);
	req->st->details =
		json_pack("{ss,ss}", "group", req->r->kind->group, "kind", req->r->kind->plural);
	return ERR_DENIED;
}

static int no_method(struct apiserver_request *req)
{
	static const struct {
		enum http_method method;
		const char *verb;
	} verbs[] = { { HTTP_DELETE, "delete" },
		      { HTTP_POST, "create" },
		      { HTTP_PUT, "update" },
		      { HTTP_PATCH, "patch" },
		      { HTTP_GET, "get" } };
	if (req->r->built_in)
		return apiserver_no_such_method(req->st);
	if (req->route.name == NULL && req->c->method != HTTP_OTHER)
		return apiserver_bad_request(req->st, "name must be provided");
	for (size_t i = 0; i < ARRAY_LEN(verbs); i++) {
		if (req->c->method == verbs[i].method)
			return not_supported(req, verbs[i].verb);
	}
	return apiserver_no_such_method(req->st);
}

enum shape { COLLECTION = 1, OBJECT = 2, STATUS = 4 };

static const struct {
	unsigned method, shapes, verb;
	int (*fn)(struct apiserver_request *q);
} verbs[] = {
	{ HTTP_GET | HTTP_HEAD, COLLECTION, APISERVER_LIST, get_collection },
	{ HTTP_POST, COLLECTION, APISERVER_CREATE, apiserver_do_create },
	{ HTTP_DELETE, COLLECTION, APISERVER_DELETECOLLECTION, apiserver_do_delete_all },
	{ HTTP_GET | HTTP_HEAD, OBJECT | STATUS, APISERVER_GET, apiserver_do_get },
	{ HTTP_PUT, OBJECT | STATUS, APISERVER_UPDATE, apiserver_do_update },
	{ HTTP_PATCH, OBJECT | STATUS, APISERVER_PATCH, apiserver_do_patch },
	{ HTTP_DELETE, OBJECT, APISERVER_DELETE, apiserver_do_delete },
};

/* Does the path have a namespace where the kind has, and none where it has none? Lists of all
 * namespaces are the exception. */
static int check_scope(struct apiserver_request *req, bool *ret_all)
{
	const struct apiserver_route *t = &req->route;
	bool collection = t->name == NULL;
	*ret_all = req->r->kind->namespaced && t->ns == NULL && collection;
	if (req->r->kind->namespaced ? t->ns == NULL && !collection : t->ns != NULL)
		return no_path(req) == 0 ? 1 : ERR_DENIED;
	if (!*ret_all || (req->c->method & (HTTP_GET | HTTP_HEAD)) != 0)
		return 0;
	if (!req->r->built_in)
		return no_page(req) == 0 ? 1 : 0;
	return apiserver_no_such_method(req->st);
}

static int dispatch(struct apiserver_request *req)
{
	const struct apiserver_route *t = &req->route;
	bool all;
	int e = check_scope(req, &all);
	if (e != 0)
		return e < 0 ? e : 0;
	if (t->name != NULL && (strcmp(t->name, ".") == 0 || strcmp(t->name, "..") == 0))
		return t->sub[0] != '\0' ? apiserver_no_such_path(req->st)
					 : apiserver_bad_request(req->st,
								 "Name parameter invalid: \"%s\": "
								 "may not be '%s'",
								 t->name, t->name);
	if (req->c->method == HTTP_HEAD && req->r->built_in)
		return apiserver_no_such_method(req->st);
	enum shape shape = t->name == NULL ? COLLECTION : t->sub[0] == '\0' ? OBJECT : STATUS;
	if (shape == STATUS &&
	    (strcmp(t->sub, "status") != 0 || t->below[0] != '\0' || !req->r->status))
		return refuse_subresource(req);
	if (req->r->never_kept && req->c->method != HTTP_GET)
		return refuse_never_kept(req);
	if (shape == OBJECT && req->r->verbs == APISERVER_CREATE)
		return apiserver_no_such_path(req->st);
	for (size_t i = 0; i < ARRAY_LEN(verbs); i++) {
		if ((verbs[i].method & req->c->method) != 0 && (verbs[i].shapes & shape) != 0 &&
		    (verbs[i].verb & req->r->verbs) != 0)
			return verbs[i].fn(req);
	}
	/* A real server's part for custom resources does not look at the name of a POST. */
	if (req->c->method == HTTP_POST && shape == OBJECT && !req->r->built_in)
		return apiserver_do_create(req);
	return no_method(req);
}

static int serve(struct apiserver_request *req)
{
	if (!apiserver_route_parse(req->c->path, &req->route))
		return no_page(req);
	req->r = req->route.r;
	return req->r != NULL ? dispatch(req) : no_path(req);
}

/* Before all others. */
static void add_warning(struct apiserver_request *req)
{
	CLEANUP(strbuf_done) struct strbuf lines = STRBUF_INIT;
	struct strbuf *out = &req->answer->warnings;
	if (req->r == NULL || req->r->warning[0] == '\0')
		return;
	strbuf_addf(&lines, "%s\n%s", req->r->warning, out->s);
	strbuf_reset(out);
	strbuf_add(out, lines.s, lines.n);
}

void apiserver_serve(struct apiserver_api *api, const struct apiserver_call *call,
		     struct apiserver_answer *ret)
{
	struct apiserver_status st = APISERVER_STATUS_INIT;
	struct apiserver_request q = { .a = api, .c = call, .answer = ret, .st = &st };
	CLEANUP(strbuf_done) struct strbuf ignored = STRBUF_INIT;
	apiserver_answer_init(ret);
	/* Refusals that come before the verb has looked are in the form asked for, too. */
	IGNORE(apiserver_accept_parse(call->accept, APISERVER_ACCEPT_REPLY, &q.accept, &ignored));
	if (serve(&q) < 0)
		apiserver_respond_refusal(&q);
	add_warning(&q);
	apiserver_status_done(&st);
}
