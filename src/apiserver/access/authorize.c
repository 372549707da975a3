/* The action that a request asks for: its route, and a verb from its method. */
#include "apiserver/access/authorize.h"

#include <string.h>

#include "apiserver/verb/failure.h"
#include "base/strbuf.h"

static const struct {
	enum http_method method;
	const char *object, *collection;
} verbs[] = {
	{ HTTP_GET, "get", "list" },	   { HTTP_HEAD, "get", "list" },
	{ HTTP_POST, "create", "create" }, { HTTP_PUT, "update", "update" },
	{ HTTP_PATCH, "patch", "patch" },  { HTTP_DELETE, "delete", "deletecollection" },
};

static bool asks_watch(const struct apiserver_call *call)
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
	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
		if (verbs[i].method != call->method)
			continue;
		if (!named && strcmp(verbs[i].collection, "list") == 0 && asks_watch(call))
			return "watch";
		return named ? verbs[i].object : verbs[i].collection;
	}
	return "";
}

bool apiserver_wish_read(const struct apiserver_call *call, struct apiserver_wish *ret)
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
		.subresource = route->sub,
		/* A Namespace is in itself, as authorizers see it. */
		.ns = route->ns != NULL ? route->ns
		      : is_namespace	? name
					: "",
		.name = name,
		.path = "",
	};
	return true;
}

void apiserver_refuse_action(const struct apiserver_identity *who,
			     const struct apiserver_action *action, struct apiserver_answer *ret)
{
	struct apiserver_status st = APISERVER_STATUS_INIT;
	CLEANUP(strbuf_done) struct strbuf message = STRBUF_INIT;
	strbuf_addf(&message, "%s%s%s", action->resource, *action->group != '\0' ? "." : "",
		    action->group);
	if (*action->name != '\0') {
		strbuf_addc(&message, ' ');
		strbuf_add_quoted(&message, slice_of(action->name));
	}
	strbuf_adds(&message, " is forbidden: ");
	apiserver_may_text(who, action, &message);
	IGNORE(apiserver_refuse(&st, 403, "Forbidden", "%s", message.s));
	st.details = apiserver_status_details(action->name, action->group, action->resource);
	apiserver_failure(ret, &st);
}
