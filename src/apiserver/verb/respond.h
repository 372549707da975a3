/* Writing objects, lists and refusals into the answer, in the form that the client accepts. */
#pragma once

#include <stdint.h>

#include <jansson.h>

#include "apiserver/verb/request.h"

/* Parses the Accept header and the form parameters into the request. Refused: 406, 400. */
MUST_CHECK int apiserver_respond_begin(struct apiserver_request *req,
				       enum apiserver_accept_for what);

/* Answers with an object in the resource's version; takes over the reference. */
int apiserver_respond_object(struct apiserver_request *req, unsigned status, json_t *object);
/* Answers with a Status or another document that is never a Table; takes over the reference. */
void apiserver_respond_tree(struct apiserver_request *req, unsigned status, json_t *object);
/* Answers with the request's status. */
void apiserver_respond_refusal(struct apiserver_request *req);

/* A list that is written item by item. */
struct apiserver_listing {
	const struct apiserver_resource *resource;
	struct apiserver_accept accept;
	struct strbuf items; /* as text */
	struct apiserver_table table;
	bool raw; /* stored texts can be sent as they are */
	bool any; /* the answer has an item already */
};
MUST_CHECK int apiserver_listing_begin(struct apiserver_request *req,
				       struct apiserver_listing *listing);
void apiserver_listing_raw(struct apiserver_listing *listing, struct slice text);
void apiserver_listing_tree(struct apiserver_listing *listing, const json_t *object);
/* Finishes the answer. `token` "" for none, `left` (remainingItemCount) negative for none. */
int apiserver_listing_end(struct apiserver_request *req, struct apiserver_listing *listing,
			  uint64_t revision, const char *token, int64_t left);
/* Whether the list can be streamed. If so: _open writes the head and the items so far into the
 * answer's body, _more moves further items into the stream's buffer, _close is the end. */
bool apiserver_listing_flows(const struct apiserver_request *req);
void apiserver_listing_open(struct apiserver_request *req, struct apiserver_listing *listing,
			    uint64_t revision);
void apiserver_listing_more(struct apiserver_listing *listing, struct strbuf *out);
extern const char apiserver_listing_close[];
void apiserver_listing_done(struct apiserver_listing *listing);

/* Appends the object of a watch event in the accepted form. `first`: with a Table's columns. */
void apiserver_respond_event(const struct apiserver_accept *accept, struct apiserver_table *table,
			     const json_t *object, bool first, struct strbuf *out);
