/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The answer's life, and answers without an object: refusals, unknown paths and methods. */
#include "apiserver/request/answer.h"

#include <stdlib.h>

#include "apiserver/request/stream.h"

void apiserver_answer_init(struct apiserver_answer *ret)
{
	*ret = (struct apiserver_answer){ .status = 200, .content_type = "application/json" };
	strbuf_init(&ret->body);
	strbuf_init(&ret->warnings);
}

void apiserver_answer_done(struct apiserver_answer *answer)
{
	strbuf_done(&answer->body);
	strbuf_done(&answer->warnings);
	apiserver_stream_free(answer->stream);
	answer->stream = NULL;
}

void apiserver_answer_refuse(struct apiserver_answer *ret, struct apiserver_status *status)
{
	json_t *o = apiserver_status_tree(status);
	char *text = json_dumps(o, JSON_COMPACT);
	strbuf_reset(&ret->body);
	strbuf_addf(&ret->body, "%s\n", text);
	free(text);
	json_decref(o);
	ret->status = status->code;
	ret->content_type = "application/json";
	apiserver_status_done(status);
}

void apiserver_answer_refuse_plain(struct apiserver_answer *ret, unsigned code, const char *reason,
				   const char *message)
{
	struct apiserver_status status = APISERVER_STATUS_INIT;
	IGNORE(apiserver_status_refuse(&status, code, reason, "%s", message));
	apiserver_answer_refuse(ret, &status);
}

void apiserver_answer_no_such_path(struct apiserver_answer *ret)
{
	struct apiserver_status status = APISERVER_STATUS_INIT;
	IGNORE(apiserver_status_no_such_path(&status));
	apiserver_answer_refuse(ret, &status);
}

void apiserver_answer_no_such_page(struct apiserver_answer *ret)
{
	strbuf_reset(&ret->body);
	strbuf_adds(&ret->body, "404 page not found\n");
	ret->status = 404;
	ret->content_type = "text/plain; charset=utf-8";
}

void apiserver_answer_no_such_method(struct apiserver_answer *ret)
{
	struct apiserver_status status = APISERVER_STATUS_INIT;
	IGNORE(apiserver_status_no_such_method(&status));
	apiserver_answer_refuse(ret, &status);
}
