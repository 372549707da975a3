/* Answers without an object. */
#include "apiserver/verb/failure.h"

#include <stdlib.h>

void apiserver_answer_init(struct apiserver_answer *ret)
{
	*ret = (struct apiserver_answer){ .status = 200, .content_type = "application/json" };
	strbuf_init(&ret->body);
	strbuf_init(&ret->warnings);
}

void apiserver_failure(struct apiserver_answer *ret, struct apiserver_status *st)
{
	json_t *o = apiserver_status_tree(st);
	char *text = json_dumps(o, JSON_COMPACT);
	strbuf_reset(&ret->body);
	strbuf_addf(&ret->body, "%s\n", text);
	free(text);
	json_decref(o);
	ret->status = st->code;
	ret->content_type = "application/json";
	apiserver_status_done(st);
}

void apiserver_failure_plain(struct apiserver_answer *ret, unsigned code, const char *reason,
			     const char *message)
{
	struct apiserver_status st = APISERVER_STATUS_INIT;
	IGNORE(apiserver_refuse(&st, code, reason, "%s", message));
	apiserver_failure(ret, &st);
}

void apiserver_failure_path(struct apiserver_answer *ret)
{
	struct apiserver_status st = APISERVER_STATUS_INIT;
	IGNORE(apiserver_no_such_path(&st));
	apiserver_failure(ret, &st);
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
	struct apiserver_status st = APISERVER_STATUS_INIT;
	IGNORE(apiserver_no_such_method(&st));
	apiserver_failure(ret, &st);
}
