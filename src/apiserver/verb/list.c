/* SPDX-License-Identifier: GPL-3.0-or-later */
/* GET of a collection: pages, selectors and resourceVersions. A long list without a limit is sent
 * while it is read, at one revision, and a page ends where it becomes too long: this bounds the
 * memory that a client costs. */
#include "apiserver/verb/list.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "apiserver/codec/continue_token.h"
#include "apiserver/request/list_answer.h"
#include "apiserver/request/object.h"
#include "apiserver/request/resource_version.h"
#include "apiserver/request/respond.h"
#include "apiserver/request/selection.h"
#include "apiserver/request/stream.h"
#include "apiserver/store/damage.h"
#include "apiserver/store/key.h"
#include "apiserver/store/read.h"
#include "apiserver/store/store.h"
#include "base/mem.h"

enum {
	PAGE_MAX_BYTES = 8 << 20,
	/* Rows read for a page. Where a selector matches fewer than the limit, the client
	 * continues. */
	PAGE_MAX_ROWS = 10000,
	/* Longer lists are sent as a stream. */
	WHOLE_MAX_BYTES = 256 * 1024,
	WHOLE_MAX_ROWS = 4 * APISERVER_PIECE_ROWS,
};

static const char expired[] = "The resourceVersion for the provided list is too old.";
static const char token_expired[] =
	"The provided continue parameter is too old to display a consistent list result. You can "
	"start a new list without the continue parameter, or use the continue token in this "
	"response to retrieve the remainder of the results. Continuing with the provided token "
	"results in an inconsistent list - objects that were created, modified, or deleted between "
	"the time the first chunk was returned and now may show up in the list.";

/* YAML and indented JSON need the whole tree, so they cannot be streamed. */
static const char too_long[] =
	"the list is too long for YAML and for pretty=true (more than 8 MB): ask for pages with "
	"limit, or for plain JSON";

struct listing {
	struct apiserver_stream stream; /* used when the list is long */
	struct apiserver_api *api;
	struct apiserver_request *req; /* NULL: the request has ended, a stream goes on */
	char *label, *field;	       /* what `selection` was made from */
	struct apiserver_list_answer out;
	struct apiserver_selection selection;
	struct strbuf prefix; /* of keys; continue tokens are relative to it */
	struct strbuf from;   /* the prefix, and the name if the selectors allow only one */
	struct strbuf after, last;
	struct apiserver_range range;
	size_t limit, n_items;
	size_t max_bytes, max_rows; /* of one piece */
	size_t rows;		    /* of this piece, wanted or not */
	bool has_more;		    /* the piece ended before the range did */
};

/* 1: the object was added; 0: the selectors do not match. ERR_DAMAGED. */
static int add_if_selected(struct listing *listing, const struct apiserver_row *row)
{
	if (listing->selection.name != NULL &&
	    strcmp(strrchr(row->key, '/') + 1, listing->selection.name) != 0)
		return 0;
	if (listing->out.raw && (listing->selection.all || listing->selection.by_name)) {
		apiserver_list_answer_add_text(&listing->out, row->value);
		return 1;
	}
	json_t *o = apiserver_object_parse(listing->out.resource, row->value);
	if (o == NULL)
		return apiserver_store_damaged(listing->api->store, row->key);
	bool wanted = apiserver_selection_match(&listing->selection, o);
	if (wanted && listing->out.raw)
		apiserver_list_answer_add_text(&listing->out, row->value);
	else if (wanted)
		apiserver_list_answer_add_object(&listing->out, o);
	json_decref(o);
	return wanted;
}

static int add_row(void *ctx, const struct apiserver_row *row)
{
	struct listing *listing = ctx;
	strbuf_reset(&listing->last);
	strbuf_adds(&listing->last, row->key);
	int added = add_if_selected(listing, row);
	if (added < 0)
		return added;
	listing->n_items += (size_t)added;
	listing->rows++;
	listing->has_more =
		listing->out.items.n >= listing->max_bytes || listing->rows == listing->max_rows;
	return listing->has_more || (listing->limit != 0 && listing->n_items == listing->limit);
}

/* ---- the revision to read ---- */

/* The token names the revision; a negative one stands for the newest. */
static int use_continue_token(struct listing *listing, const struct apiserver_list_options *options)
{
	CLEANUP(strbuf_done) struct strbuf err = STRBUF_INIT;
	int64_t rv;
	if (options->resource_version[0] != '\0' && strcmp(options->resource_version, "0") != 0)
		return apiserver_status_bad_request(
			listing->req->status,
			"specifying resource version is not allowed when using continue");
	if (apiserver_continue_token_read(options->token, listing->prefix.s, &listing->after, &rv,
					  &err) < 0)
		return apiserver_status_bad_request(listing->req->status,
						    "invalid continue token: %s", err.s);
	listing->range.after = listing->after.s;
	listing->range.at = rv > 0 ? (uint64_t)rv : 0;
	return 0;
}

static int set_revision(struct listing *listing, const struct apiserver_list_options *options)
{
	uint64_t rv;
	listing->limit = (size_t)options->limit;
	if (strcmp(options->resource_version, "0") == 0)
		listing->limit = 0; /* kube-apiserver answers from its cache, without limit */
	if (options->token[0] != '\0')
		return use_continue_token(listing, options);
	if (!apiserver_resource_version_parse(options->resource_version, &rv))
		return apiserver_resource_version_refuse(listing->req->status,
							 options->resource_version);
	/* A limit with a version has always meant that version exactly. */
	if (strcmp(options->match, "Exact") == 0 ||
	    (options->match[0] == '\0' && rv != 0 && options->limit != 0))
		listing->range.at = rv;
	return apiserver_resource_version_wait(listing->api, rv, listing->req->status);
}

static int refuse_compacted(struct listing *listing, const struct apiserver_list_options *options)
{
	CLEANUP(strbuf_done) struct strbuf token = STRBUF_INIT;
	if (options->token[0] == '\0')
		return apiserver_status_expired(listing->req->status, "%s", expired);
	apiserver_status_expired(listing->req->status, "%s", token_expired);
	apiserver_continue_token_make(&token, listing->after.s, listing->prefix.s, -1);
	listing->req->status->list_meta = json_pack("{ss}", "continue", token.s);
	return ERR_DENIED;
}

static void listing_free(struct listing *listing)
{
	apiserver_selection_done(&listing->selection);
	apiserver_list_answer_done(&listing->out);
	strbuf_done(&listing->prefix);
	strbuf_done(&listing->from);
	strbuf_done(&listing->after);
	strbuf_done(&listing->last);
	free(listing->label);
	free(listing->field);
	free(listing);
}

/* ---- streamed lists ---- */

/* When the revision is compacted before a slow client has read all, the stream breaks: the client
 * must notice that the list is incomplete. */
static bool produce_piece(struct apiserver_stream *stream, bool swift)
{
	struct listing *listing = CONTAINER_OF(stream, struct listing, stream);
	assert(listing->req == NULL); /* the request has ended: its memory is gone */
	if (swift)
		return true;
	strbuf_reset(&listing->after);
	strbuf_adds(&listing->after, listing->last.s);
	listing->range.after = listing->after.s;
	listing->rows = 0;
	listing->has_more = false;
	int e = apiserver_store_list(listing->api->store, &listing->range, add_row, listing,
				     &listing->range.at, NULL);
	apiserver_list_answer_take_items(&listing->out, &stream->out);
	stream->broken = e < 0;
	stream->ended = e < 0 || !listing->has_more;
	if (e == 0 && !listing->has_more)
		strbuf_adds(&stream->out, apiserver_list_answer_close);
	return listing->has_more;
}

static void free_stream(struct apiserver_stream *stream)
{
	apiserver_stream_done(stream);
	listing_free(CONTAINER_OF(stream, struct listing, stream));
}

static const struct apiserver_stream_ops list_ops = { produce_piece, free_stream };

static int start_stream(struct listing *listing, uint64_t at)
{
	assert(listing->req != NULL && listing->has_more);
	listing->range.at = at;
	listing->max_bytes = APISERVER_PIECE_BYTES;
	listing->max_rows = APISERVER_PIECE_ROWS;
	apiserver_list_answer_open(listing->req, &listing->out, at);
	apiserver_stream_init(&listing->stream, listing->api->filler, &list_ops);
	listing->req->answer->stream = &listing->stream;
	listing->req->answer->stream_whole = true;
	listing->req = NULL;
	return 0;
}

/* ---- the request ---- */

static int read_and_answer(struct listing *listing, const struct apiserver_list_options *options)
{
	uint64_t at, left = 0;
	CLEANUP(strbuf_done) struct strbuf token = STRBUF_INIT;
	bool flows = listing->limit == 0 && apiserver_list_answer_can_stream(listing->req);
	listing->max_bytes = flows ? WHOLE_MAX_BYTES : PAGE_MAX_BYTES;
	listing->max_rows = flows ? WHOLE_MAX_ROWS : listing->limit != 0 ? PAGE_MAX_ROWS : SIZE_MAX;
	int e = apiserver_store_list(listing->api->store, &listing->range, add_row, listing, &at,
				     listing->limit != 0 ? &left : NULL);
	if (e == ERR_GONE)
		return refuse_compacted(listing, options);
	if (e == ERR_RANGE)
		return apiserver_status_too_large_version(
			listing->req->status, listing->range.at,
			apiserver_store_revision(listing->api->store));
	if (e < 0)
		return apiserver_status_store_failed(listing->req->status, e);
	if (listing->has_more && flows)
		return start_stream(listing, at);
	if (listing->has_more && listing->limit == 0 && listing->req->call->method == HTTP_GET)
		return apiserver_status_refuse(listing->req->status, 406, "NotAcceptable", "%s",
					       too_long);
	if (left != 0)
		apiserver_continue_token_make(&token, listing->last.s, listing->prefix.s,
					      (int64_t)at);
	return apiserver_list_answer_end(listing->req, &listing->out, at, token.s,
					 token.n != 0 && listing->selection.all ? (int64_t)left
										: -1);
}

static int prepare_listing(struct listing *listing, const struct apiserver_list_options *options)
{
	struct apiserver_request *q = listing->req;
	apiserver_key(&listing->prefix, q->resource->stored->kind, q->route.ns, NULL);
	int e = apiserver_selection_parse(q->resource, listing->label, listing->field,
					  &listing->selection, q->status);
	if (e < 0)
		return e;
	apiserver_selection_prefix(&listing->selection, q->resource, q->route.ns, &listing->from);
	listing->range.prefix = listing->from.s;
	return set_revision(listing, options);
}

int apiserver_verb_list(struct apiserver_request *req, const struct apiserver_list_options *options)
{
	struct apiserver_list_answer out;
	int e = apiserver_respond_begin(req, APISERVER_ACCEPT_REPLY);
	if (e == 0)
		e = apiserver_list_answer_begin(req, &out);
	if (e < 0)
		return e;
	struct listing *listing = xcalloc(1, sizeof(*listing));
	listing->api = req->api;
	listing->req = req;
	listing->out = out;
	listing->label = xstrdup(options->label);
	listing->field = xstrdup(options->field);
	strbuf_init(&listing->prefix);
	strbuf_init(&listing->from);
	strbuf_init(&listing->after);
	strbuf_init(&listing->last);
	e = prepare_listing(listing, options);
	if (e == 0)
		e = read_and_answer(listing, options);
	if (listing->req != NULL)
		listing_free(listing);
	return e;
}
