/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Authorization: the verb, resource and namespace that a request asks for, the few rules about who
 * may do what, and the 403 that explains a refusal. */
#include "apiserver/access/authorize.h"

#include <string.h>

#include "apiserver/access/authenticate.h"
#include "base/strbuf.h"

/* ---- the action that a request asks for ---- */

static const struct {
	enum http_method method;
	const char *object, *collection;
} method_verbs[] = {
	{ HTTP_GET, "get", "list" },	   { HTTP_HEAD, "get", "list" },
	{ HTTP_POST, "create", "create" }, { HTTP_PUT, "update", "update" },
	{ HTTP_PATCH, "patch", "patch" },  { HTTP_DELETE, "delete", "deletecollection" },
};

static bool is_watch(const struct apiserver_call *call)
{
	for (size_t i = 0; i < call->n_args; i++) {
		if (strcmp(call->args[i].name, "watch") == 0)
			return strcmp(call->args[i].value, "1") == 0 ||
			       strcmp(call->args[i].value, "true") == 0;
	}
	return false;
}

static const char *verb_of(const struct apiserver_call *call, bool named)
{
	for (size_t i = 0; i < ARRAY_LEN(method_verbs); i++) {
		if (method_verbs[i].method != call->method)
			continue;
		if (!named && strcmp(method_verbs[i].collection, "list") == 0 && is_watch(call))
			return "watch";
		return named ? method_verbs[i].object : method_verbs[i].collection;
	}
	return "";
}

bool apiserver_authorize_read_call(const struct apiserver_call *call,
				   struct apiserver_attributes *ret)
{
	const struct apiserver_route *route = &ret->route;
	if (!apiserver_route_parse(call->path, &ret->route))
		return false;
	const char *name = route->name != NULL ? route->name : "";
	bool is_namespace = route->group[0] == '\0' && strcmp(route->plural, "namespaces") == 0;
	ret->action = (struct apiserver_action){
		.verb = verb_of(call, route->name != NULL),
		.group = route->group,
		.resource = route->plural,
		.subresource = route->subresource,
		/* A Namespace is in itself, as authorizers see it. */
		.ns = route->ns != NULL ? route->ns
		      : is_namespace	? name
					: "",
		.name = name,
		.path = "",
	};
	return true;
}

/* ---- rules ---- */

/* Resources that only the system writes. */
static const struct {
	const char *group, *resource;
} reserved[] = {
	{ "k8s.ovn.org", "dnsnames" },
};

/* Resources whose status users may write: no kubelet, cloud or node controller runs behind this
 * API. */
static const struct {
	const char *group, *resource;
} user_status[] = {
	{ "", "nodes" },
	{ "", "pods" },
	{ "", "services" },
	{ "networking.k8s.io", "ingresses" },
};

static const char *const read_verbs[] = { "get", "list", "watch" };
static const char *const write_verbs[] = { "create", "update",		 "patch",
					   "delete", "deletecollection", "*" };

static bool is_one_of(const char *word, const char *const *words, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (strcmp(word, words[i]) == 0)
			return true;
	}
	return false;
}

static bool is_or_any(const char *asked, const char *name)
{
	return strcmp(asked, "*") == 0 || strcmp(asked, name) == 0;
}

static bool is_reserved(const char *group, const char *resource)
{
	/* kubectl cannot name a group beside `*`: all resources are those of all groups. */
	const bool any_group = strcmp(resource, "*") == 0 && group[0] == '\0';
	for (size_t i = 0; i < ARRAY_LEN(reserved); i++) {
		if ((any_group || is_or_any(group, reserved[i].group)) &&
		    is_or_any(resource, reserved[i].resource))
			return true;
	}
	return false;
}

static bool is_system_status(const struct apiserver_action *action)
{
	for (size_t i = 0; i < ARRAY_LEN(user_status); i++) {
		if (strcmp(action->group, user_status[i].group) == 0 &&
		    strcmp(action->resource, user_status[i].resource) == 0)
			return false;
	}
	return is_or_any(action->subresource, "status");
}

bool apiserver_authorize(const struct apiserver_identity *who,
			 const struct apiserver_action *action)
{
	if (who->system || is_one_of(action->verb, read_verbs, ARRAY_LEN(read_verbs)))
		return true;
	return is_one_of(action->verb, write_verbs, ARRAY_LEN(write_verbs)) &&
	       action->path[0] == '\0' && !is_system_status(action) &&
	       !is_reserved(action->group, action->resource);
}

bool apiserver_authorize_user(void *ctx, const char *user, const struct apiserver_action *action)
{
	const struct apiserver_identity *who = apiserver_authenticator_find_user(user);
	(void)ctx;
	return who != NULL && apiserver_authorize(who, action);
}

/* Appends what RBAC of kube-apiserver says after `dnsnames.k8s.ovn.org "x" is forbidden: `. */
static void add_reason(const struct apiserver_identity *who, const struct apiserver_action *action,
		       struct strbuf *out)
{
	strbuf_adds(out, "User ");
	strbuf_add_quoted(out, slice_of(who->user));
	strbuf_addf(out, " cannot %s resource \"%s%s%s\" in API group \"%s\" ", action->verb,
		    action->resource, *action->subresource != '\0' ? "/" : "", action->subresource,
		    action->group);
	if (*action->ns != '\0')
		strbuf_addf(out, "in the namespace \"%s\"", action->ns);
	else
		strbuf_adds(out, "at the cluster scope");
}

void apiserver_authorize_refuse(const struct apiserver_identity *who,
				const struct apiserver_action *action, struct apiserver_answer *ret)
{
	struct apiserver_status status = APISERVER_STATUS_INIT;
	CLEANUP(strbuf_done) struct strbuf message = STRBUF_INIT;
	strbuf_addf(&message, "%s%s%s", action->resource, *action->group != '\0' ? "." : "",
		    action->group);
	if (*action->name != '\0') {
		strbuf_addc(&message, ' ');
		strbuf_add_quoted(&message, slice_of(action->name));
	}
	strbuf_adds(&message, " is forbidden: ");
	add_reason(who, action, &message);
	IGNORE(apiserver_status_refuse(&status, 403, "Forbidden", "%s", message.s));
	status.details = apiserver_status_details(action->name, action->group, action->resource);
	apiserver_answer_refuse(ret, &status);
}
