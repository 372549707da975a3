/* A refusal without an object: a Status that says code, reason and one sentence. */
#pragma once

#include <jansson.h>

#include "apiserver/rest.h"

/* Sets up an answer: 200, JSON, empty. */
void apiserver_answer_init(struct apiserver_answer *ret);
/* The answer, set up before, becomes a Status. `details`, a new reference, may be NULL: none. */
void apiserver_failure(struct apiserver_answer *ret, unsigned code, const char *reason,
		       const char *message, json_t *details);
/* What every server says of paths and methods it does not have. */
void apiserver_failure_path(struct apiserver_answer *ret);   /* 404, a Status */
void apiserver_failure_page(struct apiserver_answer *ret);   /* 404, plain text */
void apiserver_failure_method(struct apiserver_answer *ret); /* 405 */
