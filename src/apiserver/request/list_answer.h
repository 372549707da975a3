/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The body of a list answer, written item by item: begin, add each item, end; or, for a long list,
 * begin, add the first items, open, and then further items for the stream. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "apiserver/request/request.h"

struct apiserver_list_answer {
	const struct apiserver_resource *resource;
	struct apiserver_accept accept;
	struct strbuf items; /* as text */
	struct apiserver_table table;
	bool raw; /* stored texts can be sent as they are */
	bool any; /* the answer has an item already */
};

/* Refused (406) when the accepted form is not one of a list. */
MUST_CHECK int apiserver_list_answer_begin(struct apiserver_request *req,
					   struct apiserver_list_answer *list);
/* Adds an item from its stored text; only if `raw` is set. */
void apiserver_list_answer_add_text(struct apiserver_list_answer *list, struct slice text);
/* Adds an item from its tree, which is borrowed. */
void apiserver_list_answer_add_object(struct apiserver_list_answer *list, const json_t *object);
/* Finishes the answer. `token` "" for none, `left` (remainingItemCount) negative for none. */
int apiserver_list_answer_end(struct apiserver_request *req, struct apiserver_list_answer *list,
			      uint64_t revision, const char *token, int64_t left);
/* Whether the accepted form can be streamed. */
bool apiserver_list_answer_can_stream(const struct apiserver_request *req);
/* Writes the head and the items so far into the answer. */
void apiserver_list_answer_open(struct apiserver_request *req, struct apiserver_list_answer *list,
				uint64_t revision);
/* Moves the items that were added since then to the end of `out`. */
void apiserver_list_answer_take_items(struct apiserver_list_answer *list, struct strbuf *out);
/* The end of a streamed list. */
extern const char apiserver_list_answer_close[];
void apiserver_list_answer_done(struct apiserver_list_answer *list);
