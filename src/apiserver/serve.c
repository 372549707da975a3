/* A request: which verb of which kind it is, and whether there is one. Built-in kinds and custom
 * resources are answered by two parts of a real server, which say differently what they do not
 * have. */
#include <string.h>

#include "api/meta.h"
#include "apiserver/body.h"
#include "apiserver/failure.h"
#include "apiserver/respond.h"

void apiserver_answer_done(struct apiserver_answer *a)
{
	strbuf_done(&a->body);
	strbuf_done(&a->warnings);
	apiserver_stream_free(a->stream);
	a->stream = NULL;
}

static int no_page(struct apiserver_request *q)
{
	apiserver_failure_page(q->answer);
	return 0;
}

static int no_path(struct apiserver_request *q)
{
	return q->route.custom || !q->route.group_known ? no_page(q)
							: apiserver_no_such_path(q->st);
}

/* ---- what is not there on purpose ---- */

static int refuse_subresource(struct apiserver_request *q)
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
		if (strcmp(rows[i].plural, q->route.plural) == 0 &&
		    strcmp(rows[i].sub, q->route.sub) == 0)
			return apiserver_refuse(q->st, 400, "BadRequest", "%s", rows[i].why);
	}
	if (!q->r->built_in)
		return apiserver_not_found(q->st, q->r, q->route.name);
	return apiserver_no_such_path(q->st);
}

static int refuse_never_kept(struct apiserver_request *q)
{
	CLEANUP(strbuf_done) struct strbuf what = STRBUF_INIT;
	apiserver_qualified(&what, q->r);
	return apiserver_refuse(
		q->st, 404, "NotFound",
		"%s is not part of the embedded API: it keeps what DNS needs and runs no "
		"workloads; see docs/reference/embedded-kinds.md for the kinds it has",
		what.s);
}

/* ---- verbs ---- */

static int get_collection(struct apiserver_request *q)
{
	struct apiserver_list_options o;
	int e = apiserver_list_options(q->c, &o, q->st);
	if (e < 0)
		return e;
	return o.watch ? apiserver_do_watch(q, &o) : apiserver_do_list(q, &o);
}

static int not_supported(struct apiserver_request *q, const char *verb)
{
	CLEANUP(strbuf_done) struct strbuf what = STRBUF_INIT;
	apiserver_qualified(&what, q->r);
	apiserver_refuse(q->st, 405, "MethodNotAllowed",
			 "%s is not supported on resources of kind \"%s\"", verb, what.s);
	q->st->details =
		json_pack("{ss,ss}", "group", q->r->kind->group, "kind", q->r->kind->plural);
	return ERR_DENIED;
}

static int no_method(struct apiserver_request *q)
{
	static const struct {
		enum http_method method;
		const char *verb;
	} verbs[] = { { HTTP_DELETE, "delete" },
		      { HTTP_POST, "create" },
		      { HTTP_PUT, "update" },
		      { HTTP_PATCH, "patch" },
		      { HTTP_GET, "get" } };
	if (q->r->built_in)
		return apiserver_no_such_method(q->st);
	if (q->route.name == NULL && q->c->method != HTTP_OTHER)
		return apiserver_bad_request(q->st, "name must be provided");
	for (size_t i = 0; i < ARRAY_LEN(verbs); i++) {
		if (q->c->method == verbs[i].method)
			return not_supported(q, verbs[i].verb);
	}
	return apiserver_no_such_method(q->st);
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
static int check_scope(struct apiserver_request *q, bool *ret_all)
{
	const struct apiserver_route *t = &q->route;
	bool collection = t->name == NULL;
	*ret_all = q->r->kind->namespaced && t->ns == NULL && collection;
	if (q->r->kind->namespaced ? t->ns == NULL && !collection : t->ns != NULL)
		return no_path(q) == 0 ? 1 : ERR_DENIED;
	if (!*ret_all || (q->c->method & (HTTP_GET | HTTP_HEAD)) != 0)
		return 0;
	if (!q->r->built_in)
		return no_page(q) == 0 ? 1 : 0;
	return apiserver_no_such_method(q->st);
}

static int dispatch(struct apiserver_request *q)
{
	const struct apiserver_route *t = &q->route;
	bool all;
	int e = check_scope(q, &all);
	if (e != 0)
		return e < 0 ? e : 0;
	if (t->name != NULL && (strcmp(t->name, ".") == 0 || strcmp(t->name, "..") == 0))
		return t->sub[0] != '\0' ? apiserver_no_such_path(q->st)
					 : apiserver_bad_request(q->st,
								 "Name parameter invalid: \"%s\": "
								 "may not be '%s'",
								 t->name, t->name);
	if (q->c->method == HTTP_HEAD && q->r->built_in)
		return apiserver_no_such_method(q->st);
	enum shape shape = t->name == NULL ? COLLECTION : t->sub[0] == '\0' ? OBJECT : STATUS;
	if (shape == STATUS &&
	    (strcmp(t->sub, "status") != 0 || t->below[0] != '\0' || !q->r->status))
		return refuse_subresource(q);
	if (q->r->never_kept && q->c->method != HTTP_GET)
		return refuse_never_kept(q);
	if (shape == OBJECT && q->r->verbs == APISERVER_CREATE)
		return apiserver_no_such_path(q->st);
	for (size_t i = 0; i < ARRAY_LEN(verbs); i++) {
		if ((verbs[i].method & q->c->method) != 0 && (verbs[i].shapes & shape) != 0 &&
		    (verbs[i].verb & q->r->verbs) != 0)
			return verbs[i].fn(q);
	}
	/* A real server's part for custom resources does not look at the name of a POST. */
	if (q->c->method == HTTP_POST && shape == OBJECT && !q->r->built_in)
		return apiserver_do_create(q);
	return no_method(q);
}

static int serve(struct apiserver_request *q)
{
	if (!apiserver_route_parse(q->c->path, &q->route))
		return no_page(q);
	q->r = q->route.r;
	return q->r != NULL ? dispatch(q) : no_path(q);
}

/* Before all others. */
static void add_warning(struct apiserver_request *q)
{
	CLEANUP(strbuf_done) struct strbuf lines = STRBUF_INIT;
	struct strbuf *out = &q->answer->warnings;
	if (q->r == NULL || q->r->warning[0] == '\0')
		return;
	strbuf_addf(&lines, "%s\n%s", q->r->warning, out->s);
	strbuf_reset(out);
	strbuf_add(out, lines.s, lines.n);
}

void apiserver_serve(struct apiserver_api *a, const struct apiserver_call *c,
		     struct apiserver_answer *ret)
{
	struct apiserver_status st = APISERVER_STATUS_INIT;
	struct apiserver_request q = { .a = a, .c = c, .answer = ret, .st = &st };
	CLEANUP(strbuf_done) struct strbuf ignored = STRBUF_INIT;
	apiserver_answer_init(ret);
	/* Refusals that come before the verb has looked are in the form asked for, too. */
	IGNORE(apiserver_accept_parse(c->accept, APISERVER_ACCEPT_REPLY, &q.accept, &ignored));
	if (serve(&q) < 0)
		apiserver_respond_refusal(&q);
	add_warning(&q);
	apiserver_status_done(&st);
}
