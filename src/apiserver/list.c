/* LIST: pages, selectors and versions. A long list without a limit is sent while it is read, at one
 * revision; a page is cut where it becomes too long: so a client costs no more memory than that. */
#include <stdlib.h>
#include <string.h>

#include "apiserver/contoken.h"
#include "apiserver/key.h"
#include "apiserver/respond.h"
#include "apiserver/selection.h"
#include "apiserver/stream.h"
#include "base/mem.h"

enum {
	PAGE_MAX_BYTES = 8 << 20,
	/* Looked at for a page: where a selector finds less than the limit, the client comes back.
	 */
	PAGE_MAX_ROWS = 10000,
	/* What is longer, or takes longer, is sent piece by piece. */
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

/* What needs the tree of the whole cannot be sent piece by piece. */
static const char too_long[] =
	"the list is too long for YAML and for pretty=true (more than 8 MB): ask for pages with "
	"limit, or for plain JSON";

struct listing {
	struct apiserver_stream stream; /* of what is sent piece by piece */
	struct apiserver_api *a;
	struct apiserver_request *q; /* NULL: it is over, a stream goes on */
	char *label, *field;	     /* what sel was made from */
	struct apiserver_listing out;
	struct apiserver_selection sel;
	struct strbuf prefix; /* of keys, as tokens count on it */
	struct strbuf from;   /* the same, and the name where only one is wanted */
	struct strbuf after, last;
	struct apiserver_range range;
	size_t limit, n;
	size_t max_bytes, max_rows; /* of one piece */
	size_t rows;		    /* of this piece, wanted or not */
	bool cut;		    /* it ended before the range did */
};

/* 1: it is in the list; 0: it is not wanted. ERR_DAMAGED. */
static int add_wanted(struct listing *l, const struct apiserver_row *row)
{
	if (l->sel.name != NULL && strcmp(strrchr(row->key, '/') + 1, l->sel.name) != 0)
		return 0;
	if (l->out.raw && (l->sel.all || l->sel.by_name)) {
		apiserver_listing_raw(&l->out, row->value);
		return 1;
	}
	json_t *o = apiserver_object_parse(l->out.r, row->value);
	if (o == NULL)
		return apiserver_store_damaged(l->a->store, row->key);
	bool wanted = apiserver_selection_match(&l->sel, o);
	if (wanted && l->out.raw)
		apiserver_listing_raw(&l->out, row->value);
	else if (wanted)
		apiserver_listing_tree(&l->out, o);
	json_decref(o);
	return wanted;
}

static int add_row(void *ctx, const struct apiserver_row *row)
{
	struct listing *l = ctx;
	strbuf_reset(&l->last);
	strbuf_adds(&l->last, row->key);
	int added = add_wanted(l, row);
	if (added < 0)
		return added;
	l->n += (size_t)added;
	l->rows++;
	l->cut = l->out.items.n >= l->max_bytes || l->rows == l->max_rows;
	return l->cut || (l->limit != 0 && l->n == l->limit);
}

/* ---- which revision ---- */

/* The token pins it, unless it says that it does not matter. */
static int from_token(struct listing *l, const struct apiserver_list_options *o)
{
	CLEANUP(strbuf_done) struct strbuf err = STRBUF_INIT;
	int64_t rv;
	if (o->rv[0] != '\0' && strcmp(o->rv, "0") != 0)
		return apiserver_bad_request(
			l->q->st, "specifying resource version is not allowed when using continue");
	if (apiserver_token_read(o->token, l->prefix.s, &l->after, &rv, &err) < 0)
		return apiserver_bad_request(l->q->st, "invalid continue token: %s", err.s);
	l->range.after = l->after.s;
	l->range.at = rv > 0 ? (uint64_t)rv : 0;
	return 0;
}

static int set_revision(struct listing *l, const struct apiserver_list_options *o)
{
	uint64_t rv;
	l->limit = (size_t)o->limit;
	if (strcmp(o->rv, "0") == 0)
		l->limit = 0; /* the server answers from its cache, all of it */
	if (o->token[0] != '\0')
		return from_token(l, o);
	if (!apiserver_version_parse(o->rv, &rv))
		return apiserver_bad_version(l->q->st, o->rv);
	/* A limit with a version has always meant that version exactly. */
	if (strcmp(o->match, "Exact") == 0 || (o->match[0] == '\0' && rv != 0 && o->limit != 0))
		l->range.at = rv;
	return apiserver_wait_revision(l->a, rv, l->q->st);
}

static int gone(struct listing *l, const struct apiserver_list_options *o)
{
	CLEANUP(strbuf_done) struct strbuf token = STRBUF_INIT;
	if (o->token[0] == '\0')
		return apiserver_expired(l->q->st, "%s", expired);
	apiserver_expired(l->q->st, "%s", token_expired);
	apiserver_token_make(&token, l->after.s, l->prefix.s, -1);
	l->q->st->list_meta = json_pack("{ss}", "continue", token.s);
	return ERR_DENIED;
}

static void listing_free(struct listing *l)
{
	apiserver_selection_done(&l->sel);
	apiserver_listing_done(&l->out);
	strbuf_done(&l->prefix);
	strbuf_done(&l->from);
	strbuf_done(&l->after);
	strbuf_done(&l->last);
	free(l->label);
	free(l->field);
	free(l);
}

/* ---- piece by piece ---- */

/* A client that is so slow that its revision is compacted meanwhile gets no end: it must see that
 * this is not all. */
static bool produce(struct apiserver_stream *stream, bool swift)
{
	struct listing *l = CONTAINER_OF(stream, struct listing, stream);
	if (swift)
		return true;
	strbuf_reset(&l->after);
	strbuf_adds(&l->after, l->last.s);
	l->range.after = l->after.s;
	l->rows = 0;
	l->cut = false;
	int e = apiserver_store_list(l->a->store, &l->range, add_row, l, &l->range.at, NULL);
	apiserver_listing_more(&l->out, &stream->out);
	stream->broken = e < 0;
	stream->ended = e < 0 || !l->cut;
	if (e == 0 && !l->cut)
		strbuf_adds(&stream->out, apiserver_listing_close);
	return l->cut;
}

static void free_stream(struct apiserver_stream *stream)
{
	apiserver_stream_done(stream);
	listing_free(CONTAINER_OF(stream, struct listing, stream));
}

static const struct apiserver_stream_ops list_ops = { produce, free_stream };

static int flow(struct listing *l, uint64_t at)
{
	l->range.at = at;
	l->max_bytes = APISERVER_PIECE_BYTES;
	l->max_rows = APISERVER_PIECE_ROWS;
	apiserver_listing_open(l->q, &l->out, at);
	apiserver_stream_init(&l->stream, l->a->filler, &list_ops);
	l->q->answer->stream = &l->stream;
	l->q->answer->stream_whole = true;
	l->q = NULL;
	return 0;
}

/* ---- the whole ---- */

static int run(struct listing *l, const struct apiserver_list_options *o)
{
	uint64_t at, left = 0;
	CLEANUP(strbuf_done) struct strbuf token = STRBUF_INIT;
	bool flows = l->limit == 0 && apiserver_listing_flows(l->q);
	l->max_bytes = flows ? WHOLE_MAX_BYTES : PAGE_MAX_BYTES;
	l->max_rows = flows ? WHOLE_MAX_ROWS : l->limit != 0 ? PAGE_MAX_ROWS : SIZE_MAX;
	int e = apiserver_store_list(l->a->store, &l->range, add_row, l, &at,
				     l->limit != 0 ? &left : NULL);
	if (e == ERR_GONE)
		return gone(l, o);
	if (e == ERR_RANGE)
		return apiserver_too_large_version(l->q->st, l->range.at,
						   apiserver_store_revision(l->a->store));
	if (e < 0)
		return apiserver_store_failed(l->q->st, e);
	if (l->cut && flows)
		return flow(l, at);
	if (l->cut && l->limit == 0 && l->q->c->method == HTTP_GET)
		return apiserver_refuse(l->q->st, 406, "NotAcceptable", "%s", too_long);
	if (left != 0)
		apiserver_token_make(&token, l->last.s, l->prefix.s, (int64_t)at);
	return apiserver_listing_end(l->q, &l->out, at, token.s,
				     token.n != 0 && l->sel.all ? (int64_t)left : -1);
}

static int begin(struct listing *l, const struct apiserver_list_options *o)
{
	struct apiserver_request *q = l->q;
	apiserver_key(&l->prefix, q->r->stored->kind, q->route.ns, NULL);
	int e = apiserver_selection_parse(q->r, l->label, l->field, &l->sel, q->st);
	if (e < 0)
		return e;
	apiserver_selection_prefix(&l->sel, q->r, q->route.ns, &l->from);
	l->range.prefix = l->from.s;
	return set_revision(l, o);
}

int apiserver_do_list(struct apiserver_request *q, const struct apiserver_list_options *o)
{
	struct apiserver_listing out;
	int e = apiserver_respond_begin(q, APISERVER_ACCEPT_REPLY);
	if (e == 0)
		e = apiserver_listing_begin(q, &out);
	if (e < 0)
		return e;
	struct listing *l = xcalloc(1, sizeof(*l));
	l->a = q->a;
	l->q = q;
	l->out = out;
	l->label = xstrdup(o->label);
	l->field = xstrdup(o->field);
	strbuf_init(&l->prefix);
	strbuf_init(&l->from);
	strbuf_init(&l->after);
	strbuf_init(&l->last);
	e = begin(l, o);
	if (e == 0)
		e = run(l, o);
	if (l->q != NULL)
		listing_free(l);
	return e;
}
