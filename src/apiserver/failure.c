/* The few refusals that come before any resource is known. */
#include "apiserver/failure.h"

#include <stdlib.h>

static const char json_text[] = "application/json";

void apiserver_answer_init(struct apiserver_answer *ret)
{
	*ret = (struct apiserver_answer){ .status = 200, .content_type = json_text };
	strbuf_init(&ret->body);
	strbuf_init(&ret->warnings);
}

void apiserver_failure(struct apiserver_answer *ret, unsigned code, const char *reason,
		       const char *message, json_t *details)
{
	json_t *o =
		json_pack("{ss,ss,s{},ss,ss,ss}", "kind", "Status", "apiVersion", "v1", "metadata",
			  "status", "Failure", "message", message, "reason", reason);
	if (details != NULL)
		json_object_set_new(o, "details", details);
	json_object_set_new(o, "code", json_integer(code));
	char *text = json_dumps(o, JSON_COMPACT);
	strbuf_reset(&ret->body);
	strbuf_adds(&ret->body, text);
	strbuf_addc(&ret->body, '\n');
	free(text);
	json_decref(o);
	ret->status = code;
	ret->content_type = json_text;
}

void apiserver_failure_path(struct apiserver_answer *ret)
{
	apiserver_failure(ret, 404, "NotFound", "the server could not find the requested resource",
			  json_object());
}

void apiserver_failure_page(struct apiserver_answer *ret)
{
	strbuf_reset(&ret->body);
	strbuf_adds(&ret->body, "404 page not found\n");
	ret->status = 404;
	ret->content_type = "text/plain; charset=utf-8";
}

void apiserver_failure_method(struct apiserver_answer *ret)
{
	apiserver_failure(ret, 405, "MethodNotAllowed",
			  "the server does not allow this method on the requested resource",
			  json_object());
}
