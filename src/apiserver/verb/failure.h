/* Answers that come before, or without, any resource: refusals as JSON, and the page that is not
 * there. The answer was set up before. */
#pragma once

#include "apiserver/verb/rest.h"
#include "apiserver/codec/status_error.h"

/* Sets up an answer: 200, JSON, empty. */
void apiserver_answer_init(struct apiserver_answer *ret);
/* The refusal, which is done with then. */
void apiserver_failure(struct apiserver_answer *ret, struct apiserver_status *st);
/* The same of a code, a reason and a sentence alone. */
void apiserver_failure_plain(struct apiserver_answer *ret, unsigned code, const char *reason,
			     const char *message);
/* What every server says of paths and methods it does not have. */
void apiserver_failure_path(struct apiserver_answer *ret);   /* 404, a Status */
void apiserver_failure_page(struct apiserver_answer *ret);   /* 404, plain text */
void apiserver_failure_method(struct apiserver_answer *ret); /* 405 */
