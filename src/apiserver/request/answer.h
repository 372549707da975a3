/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The answer to an API request, and the answers that need no resource: refusals as JSON, unknown
 * paths, unknown methods. */
#pragma once

#include <stdbool.h>

#include "apiserver/codec/status.h"
#include "base/strbuf.h"

struct apiserver_stream;

struct apiserver_answer {
	unsigned status;
	const char *content_type; /* lives as long as the program */
	struct strbuf body;
	struct strbuf warnings;		 /* one per line: Warning headers */
	char etag[48];			 /* "" for none */
	unsigned retry_after_s;		 /* 0 for none */
	struct apiserver_stream *stream; /* owned: pull, then free; NULL: the body is complete */
	bool stream_whole;		 /* body and stream together are one document */
};

/* Initializes an answer: 200, JSON, empty. */
void apiserver_answer_init(struct apiserver_answer *ret);
void apiserver_answer_done(struct apiserver_answer *answer);

/* Answers with the Status, in an answer that was initialized before. Frees the Status. */
void apiserver_answer_refuse(struct apiserver_answer *ret, struct apiserver_status *status);
/* The same from a code, a reason and a message. */
void apiserver_answer_refuse_plain(struct apiserver_answer *ret, unsigned code, const char *reason,
				   const char *message);
void apiserver_answer_no_such_path(struct apiserver_answer *ret);   /* 404, a Status */
void apiserver_answer_no_such_page(struct apiserver_answer *ret);   /* 404, plain text */
void apiserver_answer_no_such_method(struct apiserver_answer *ret); /* 405 */
