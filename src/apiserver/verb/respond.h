/* From trees and stored texts to answers, in the form the client asked for. */
#pragma once

#include <stdint.h>

#include <jansson.h>

#include "apiserver/verb/request.h"

/* Reads what the client accepts into the request. Refused: 406, 400. */
MUST_CHECK int apiserver_respond_begin(struct apiserver_request *req,
				       enum apiserver_accept_for what);

/* An object in the row's version; its reference goes over. */
int apiserver_respond_object(struct apiserver_request *req, unsigned status, json_t *object);
/* A Status or another document that is never a Table; its reference goes over. */
void apiserver_respond_tree(struct apiserver_request *req, unsigned status, json_t *object);
/* The request's own status. */
void apiserver_respond_refusal(struct apiserver_request *req);

/* A list, item by item. */
struct apiserver_listing {
	const struct apiserver_resource *resource;
	struct apiserver_accept accept;
	struct strbuf items; /* as text */
	struct apiserver_table table;
	bool raw; /* stored texts are what is asked for: no tree needed */
	bool any; /* an item is in the answer already */
};
MUST_CHECK int apiserver_listing_begin(struct apiserver_request *req,
				       struct apiserver_listing *listing);
void apiserver_listing_raw(struct apiserver_listing *listing, struct slice text);
void apiserver_listing_tree(struct apiserver_listing *listing, const json_t *object);
/* Finishes the answer. `token` "" for none, `left` negative: not said. */
int apiserver_listing_end(struct apiserver_request *req, struct apiserver_listing *listing,
			  uint64_t revision, const char *token, int64_t left);
/* Can it be sent piece by piece? Its answer then begins with this, and the items so far; more of
 * them follow, and the end. */
bool apiserver_listing_flows(const struct apiserver_request *req);
void apiserver_listing_open(struct apiserver_request *req, struct apiserver_listing *listing,
			    uint64_t revision);
void apiserver_listing_more(struct apiserver_listing *listing, struct strbuf *out);
extern const char apiserver_listing_close[];
void apiserver_listing_done(struct apiserver_listing *listing);

/* An object of an event, by the request's form: appended. `first`: with a Table's columns. */
void apiserver_respond_event(const struct apiserver_accept *accept, struct apiserver_table *table,
			     const json_t *object, bool first, struct strbuf *out);
