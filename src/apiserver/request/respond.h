/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writing objects and refusals into the answer, in the form that the client accepts. */
#pragma once

#include <stdint.h>

#include <jansson.h>

#include "apiserver/request/request.h"

/* Parses the Accept header and the form parameters into the request. Refused: 406, 400. */
MUST_CHECK int apiserver_respond_begin(struct apiserver_request *req,
				       enum apiserver_accept_for what);

/* Answers with an object in the resource's version; takes over the reference. */
int apiserver_respond_object(struct apiserver_request *req, unsigned status, json_t *object);
/* The same after a write. `text` is the object as it was stored, "" if that is not known: with it the
 * object is not written as JSON a second time, and the text is used up. */
int apiserver_respond_written(struct apiserver_request *req, unsigned status, json_t *object,
			      struct strbuf *text);
/* Answers with a Status or another document that is never a Table; takes over the reference. */
void apiserver_respond_tree(struct apiserver_request *req, unsigned status, json_t *object);
/* Answers with the request's status. */
void apiserver_respond_refusal(struct apiserver_request *req);

/* The object as the client accepts it: whole, or a copy without managedFields; a new reference. */
json_t *apiserver_respond_accepted(const struct apiserver_accept *accept, const json_t *object);
/* Appends the object of a watch event in the accepted form. `first`: with a Table's columns. */
void apiserver_respond_event(const struct apiserver_accept *accept, struct apiserver_table *table,
			     const json_t *object, bool first, struct strbuf *out);

/* For lists: finishes a body that was written as JSON text; YAML and indented JSON are made from
 * its tree. 200. */
void apiserver_respond_text(struct apiserver_request *req);
/* For lists and watches: the Table of the request. */
void apiserver_respond_init_table(const struct apiserver_request *req,
				  struct apiserver_table *table);
