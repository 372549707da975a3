/* LIST: pages, selectors and versions. */
#include <string.h>

#include "apiserver/contoken.h"
#include "apiserver/key.h"
#include "apiserver/respond.h"
#include "apiserver/selection.h"

static const char expired[] = "The resourceVersion for the provided list is too old.";
static const char token_expired[] =
	"The provided continue parameter is too old to display a consistent list result. You can "
	"start a new list without the continue parameter, or use the continue token in this "
	"response to retrieve the remainder of the results. Continuing with the provided token "
	"results in an inconsistent list - objects that were created, modified, or deleted between "
	"the time the first chunk was returned and now may show up in the list.";

struct listing {
	struct apiserver_request *q;
	struct apiserver_listing out;
	struct apiserver_selection sel;
	struct strbuf prefix, after, last;
	struct apiserver_range range;
	size_t limit, n;
};

static int add_row(void *ctx, const struct apiserver_row *row)
{
	struct listing *l = ctx;
	strbuf_reset(&l->last);
	strbuf_adds(&l->last, row->key);
	if (l->sel.name != NULL && strcmp(strrchr(row->key, '/') + 1, l->sel.name) != 0)
		return 0;
	if (l->out.raw && l->sel.all) {
		apiserver_listing_raw(&l->out, row->value);
	} else {
		json_t *o = apiserver_object_parse(l->q->r, row->value);
		bool wanted = o != NULL && apiserver_selection_match(&l->sel, o);
		if (wanted && l->out.raw)
			apiserver_listing_raw(&l->out, row->value);
		else if (wanted)
			apiserver_listing_tree(&l->out, o);
		json_decref(o);
		if (!wanted)
			return 0;
	}
	l->n++;
	return l->limit != 0 && l->n == l->limit;
}

/* ---- which revision ---- */

static int bad_version(struct apiserver_request *q, const char *rv)
{
	CLEANUP(strbuf_done) struct strbuf quoted = STRBUF_INIT;
	strbuf_add_quoted(&quoted, slice_of(rv));
	return apiserver_bad_request(
		q->st,
		"invalid resource version: resourceVersion: Invalid value: %s: "
		"strconv.ParseUint: parsing %s: invalid syntax",
		quoted.s, quoted.s);
}

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
		return bad_version(l->q, o->rv);
	/* A limit with a version has always meant that version exactly. */
	if (strcmp(o->match, "Exact") == 0 || (o->match[0] == '\0' && rv != 0 && o->limit != 0))
		l->range.at = rv;
	return apiserver_wait_revision(l->q->a, rv, l->q->st);
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

static int run(struct listing *l, const struct apiserver_list_options *o)
{
	uint64_t at, left = 0;
	CLEANUP(strbuf_done) struct strbuf token = STRBUF_INIT;
	int e = apiserver_store_list(l->q->a->store, &l->range, add_row, l, &at, &left);
	if (e == ERR_GONE)
		return gone(l, o);
	if (e == ERR_RANGE)
		return apiserver_too_large_version(l->q->st, l->range.at,
						   apiserver_store_revision(l->q->a->store));
	if (e < 0)
		return apiserver_store_failed(l->q->st, e);
	if (left != 0 && l->limit != 0)
		apiserver_token_make(&token, l->last.s, l->prefix.s, (int64_t)at);
	return apiserver_listing_end(&l->out, at, token.s,
				     token.n != 0 && l->sel.all ? (int64_t)left : -1);
}

int apiserver_do_list(struct apiserver_request *q, const struct apiserver_list_options *o)
{
	struct listing l = {
		.q = q, .prefix = STRBUF_INIT, .after = STRBUF_INIT, .last = STRBUF_INIT
	};
	int e = apiserver_respond_begin(q, APISERVER_ACCEPT_REPLY);
	if (e == 0)
		e = apiserver_listing_begin(q, &l.out);
	if (e < 0)
		return e;
	apiserver_key(&l.prefix, q->r->stored->kind, q->route.ns, NULL);
	l.range.prefix = l.prefix.s;
	e = apiserver_selection_parse(q->r, o->label, o->field, &l.sel, q->st);
	if (e == 0)
		e = set_revision(&l, o);
	if (e == 0)
		e = run(&l, o);
	apiserver_selection_done(&l.sel);
	apiserver_listing_done(&l.out);
	strbuf_done(&l.prefix);
	strbuf_done(&l.after);
	strbuf_done(&l.last);
	return e;
}
