/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Watches: a stream of events, each produced when the client reads it, so that a slow client costs
 * the buffer of one event. First the present state, if the client wants it, read page by page at
 * one revision; then the changes after that revision. */
#include "apiserver/verb/watch.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "api/meta.h"
#include "apiserver/request/object.h"
#include "apiserver/request/resource_version.h"
#include "apiserver/request/respond.h"
#include "apiserver/request/selection.h"
#include "apiserver/request/stream.h"
#include "apiserver/request/ticker.h"
#include "apiserver/store/damage.h"
#include "apiserver/store/read.h"
#include "apiserver/store/store.h"
#include "apiserver/store/watch.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/rng.h"

enum {
	/* Events that may be skipped on the HTTP thread; more are left to the filler. */
	SWIFT_EVENTS = 32,
	TIMEOUT_MIN_S = 1800, /* without timeoutSeconds: random, between this and twice this */
	BOOKMARK_DEFAULT_S = 60,
	LAST_BOOKMARK_S = 2, /* before the end */
};

struct watching {
	struct apiserver_stream stream;
	struct apiserver_api *api;
	const struct apiserver_resource *resource;
	struct apiserver_selection selection;
	char *label, *field; /* what `selection` was made from */
	struct apiserver_accept accept;
	struct apiserver_table table;
	struct strbuf prefix;
	struct apiserver_watch *watch;
	bool first; /* the next event is the first one */

	bool initial;	       /* the state is still being sent */
	bool mark_initial_end; /* send a bookmark after the state */
	size_t rows;	       /* read for the present page of the state */
	bool has_more;	       /* the page ended before the state did */
	struct strbuf after;   /* last key read */
	uint64_t at;	       /* revision of the state, later of the latest event */

	bool bookmarks;
	uint64_t end_ns, bookmark_ns; /* when the next is due */
	struct apiserver_tick *tick;
};

/* ---- events ---- */

static void add_event(struct watching *watch, const char *type, const json_t *object)
{
	strbuf_addf(&watch->stream.out, "{\"type\":\"%s\",\"object\":", type);
	apiserver_respond_event(&watch->accept, &watch->table, object, watch->first,
				&watch->stream.out);
	strbuf_adds(&watch->stream.out, "}\n");
	watch->first = false;
}

/* Sends the text as it is, without a part of it that may be empty. */
static void add_raw(struct watching *watch, const char *type, struct slice text,
		    struct slice omitted)
{
	strbuf_addf(&watch->stream.out, "{\"type\":\"%s\",\"object\":", type);
	apiserver_object_add_without(&watch->stream.out, text, omitted);
	strbuf_adds(&watch->stream.out, "}\n");
	watch->first = false;
}

static void add_error(struct watching *watch, const struct apiserver_status *status)
{
	json_t *o = apiserver_status_tree(status);
	char *text = json_dumps(o, JSON_COMPACT);
	add_raw(watch, "ERROR", slice_of(text), (struct slice){ 0 });
	free(text);
	json_decref(o);
	watch->stream.ended = true;
}

static void add_bookmark(struct watching *watch, bool end_of_state)
{
	CLEANUP(strbuf_done) struct strbuf version = STRBUF_INIT;
	apiserver_object_add_version(&version, watch->resource);
	json_t *o = json_pack("{ss,ss,s{}}", "kind", watch->resource->kind->kind, "apiVersion",
			      version.s, "metadata");
	apiserver_object_set_revision(o, watch->at);
	if (end_of_state)
		json_object_set_new(json_object_get(o, "metadata"), "annotations",
				    json_pack("{ss}", "k8s.io/initial-events-end", "true"));
	if (watch->accept.as == APISERVER_AS_OBJECT) {
		char *text = json_dumps(o, JSON_COMPACT);
		add_raw(watch, "BOOKMARK", slice_of(text), (struct slice){ 0 });
		free(text);
	} else {
		add_event(watch, "BOOKMARK", o);
	}
	json_decref(o);
}

static bool is_raw(const struct watching *watch)
{
	return watch->accept.as == APISERVER_AS_OBJECT &&
	       apiserver_object_is_stored_form(watch->resource);
}

/* Whether the key alone decides if an object is selected. */
static bool is_selected_by_key(const struct watching *watch)
{
	return watch->selection.all || watch->selection.by_name;
}

/* Whether the stored object is selected. *ret: its tree if it had to be parsed, else NULL. */
static bool is_selected(const struct watching *watch, struct slice text, json_t **ret)
{
	*ret = NULL;
	if (text.n == 0)
		return false;
	if (is_selected_by_key(watch) && is_raw(watch))
		return true;
	*ret = apiserver_object_parse(watch->resource, text);
	return *ret != NULL && apiserver_selection_match(&watch->selection, *ret);
}

/* The same, of a text whose other members nobody needs: of labels it reads only these. */
static bool is_text_selected(const struct watching *watch, struct slice text, json_t **ret)
{
	if (text.n == 0 || !is_raw(watch) || watch->selection.field.n != 0)
		return is_selected(watch, text, ret);
	*ret = NULL;
	return watch->selection.all || apiserver_selection_match_text(&watch->selection, text);
}

/* `managed`: where its managedFields are in the text; empty: not known. */
static void add_object(struct watching *watch, const char *type, struct slice text,
		       struct slice managed, const json_t *object)
{
	if (!is_raw(watch)) {
		add_event(watch, type, object);
		return;
	}
	if (!watch->accept.omit_managed)
		managed = (struct slice){ 0 };
	else if (managed.n == 0)
		managed = apiserver_object_find_managed(text);
	add_raw(watch, type, text, managed);
}

static bool has_other_name(const struct watching *watch, const char *key)
{
	return watch->selection.name != NULL &&
	       strcmp(strrchr(key, '/') + 1, watch->selection.name) != 0;
}

/* Adds the event for a change. An object that no longer matches the selectors is DELETED for this
 * watcher: it gets the last state that matched, with the revision of the change. */
static void add_change(struct watching *watch, const struct apiserver_event *event)
{
	json_t *object, *before = NULL;
	watch->at = event->revision;
	if (has_other_name(watch, event->key))
		return;
	if (event->removed) {
		if (is_selected(watch, event->value, &object))
			add_object(watch, "DELETED", event->value, event->optional, object);
		json_decref(object);
		return;
	}
	bool matches = is_text_selected(watch, event->value, &object);
	bool matched = event->replaced != 0 && (is_selected_by_key(watch) ||
						is_text_selected(watch, event->before, &before));
	if (matches)
		add_object(watch, matched ? "MODIFIED" : "ADDED", event->value, event->optional,
			   object);
	else if (matched) {
		if (before == NULL)
			before = apiserver_object_parse(watch->resource, event->before);
		apiserver_object_set_revision(before, event->revision);
		add_event(watch, "DELETED", before);
	}
	json_decref(object);
	json_decref(before);
}

/* ---- the state ---- */

static int add_row(void *ctx, const struct apiserver_row *row)
{
	struct watching *watch = ctx;
	json_t *o = NULL;
	strbuf_reset(&watch->after);
	strbuf_adds(&watch->after, row->key);
	bool named = !has_other_name(watch, row->key);
	if (named && is_selected(watch, row->value, &o))
		add_object(watch, "ADDED", row->value, (struct slice){ 0 }, o);
	else if (named && o == NULL)
		return apiserver_store_damaged(watch->api->store, row->key);
	json_decref(o);
	watch->rows++;
	watch->has_more =
		watch->stream.out.n >= APISERVER_PIECE_BYTES || watch->rows == APISERVER_PIECE_ROWS;
	return watch->has_more;
}

static void end_with_error(struct watching *watch, int error)
{
	struct apiserver_status status = APISERVER_STATUS_INIT;
	if (error == ERR_GONE)
		apiserver_status_expired(
			&status, "too old resource version: %llu (%llu)",
			(unsigned long long)watch->at,
			(unsigned long long)apiserver_store_compacted(watch->api->store));
	else
		apiserver_status_store_failed(&status, error);
	add_error(watch, &status);
	apiserver_status_done(&status);
}

static void watch_woken(void *ctx);

static void start_store_watch(struct watching *watch)
{
	assert(!watch->initial && watch->watch == NULL);
	int e = apiserver_watch_new(watch->api->store, watch->prefix.s, watch->at, watch_woken,
				    watch, &watch->watch);
	if (e < 0)
		end_with_error(watch, e);
}

static void add_state_page(struct watching *watch)
{
	struct apiserver_range range = { .prefix = watch->prefix.s,
					 .after = watch->after.n != 0 ? watch->after.s : NULL,
					 .at = watch->at };
	assert(watch->initial && watch->watch == NULL);
	watch->rows = 0;
	watch->has_more = false;
	int e = apiserver_store_list(watch->api->store, &range, add_row, watch, &watch->at, NULL);
	if (e < 0)
		end_with_error(watch, e);
	if (e < 0 || watch->has_more)
		return;
	watch->initial = false;
	if (watch->mark_initial_end)
		add_bookmark(watch, true);
	start_store_watch(watch);
}

/* ---- time ---- */

static void set_tick(struct watching *watch)
{
	apiserver_tick_set(watch->tick, MIN(watch->end_ns, watch->bookmark_ns));
}

static uint64_t bookmark_after(const struct watching *watch, uint64_t now)
{
	uint64_t every = watch->api->conf.bookmark_ns != 0 ? watch->api->conf.bookmark_ns
							   : BOOKMARK_DEFAULT_S * NS_PER_S;
	uint64_t last = watch->end_ns - MIN(watch->end_ns, LAST_BOOKMARK_S * NS_PER_S);
	if (!watch->bookmarks)
		return UINT64_MAX;
	return last > now ? MIN(now + every, last) : now + every;
}

/* Ends the watch or adds a bookmark if one of these is due. */
static void check_clock(struct watching *watch)
{
	uint64_t now = clock_mono_ns();
	if (now >= watch->end_ns) {
		watch->stream.ended = true;
		return;
	}
	if (now >= watch->bookmark_ns) {
		add_bookmark(watch, false);
		watch->bookmark_ns = bookmark_after(watch, now);
	}
	set_tick(watch);
}

/* ---- producing ---- */

/* Adds the next change that is selected, if any. True: changes are left to check. */
static bool add_next_change(struct watching *watch, bool swift)
{
	const struct apiserver_event *event;
	uint64_t at;
	size_t looks = swift ? SWIFT_EVENTS : APISERVER_PIECE_ROWS;
	while (watch->stream.out.n == 0 && !watch->stream.ended && watch->watch != NULL) {
		if (looks-- == 0)
			return true;
		int r = apiserver_watch_take(watch->watch, &event, &at);
		if (r == ERR_NOTFOUND && swift)
			return true;
		if (r == ERR_NOTFOUND) {
			r = apiserver_watch_read(watch->watch);
			if (r == ERR_DAMAGED || r == ERR_PARSE)
				end_with_error(watch, r);
			r = r == 0 ? 2 : ERR_GONE;
		}
		if (r == 1)
			add_change(watch, event);
		else if (r < 0)
			watch->stream.ended =
				true; /* too far behind: the client resumes at its version */
		if (r != 0)
			continue;
		watch->at = MAX(watch->at, at);
		break;
	}
	return false;
}

static bool produce_events(struct apiserver_stream *stream, bool swift)
{
	struct watching *watch = CONTAINER_OF(stream, struct watching, stream);
	if (watch->initial) {
		if (!swift)
			add_state_page(watch);
		return swift || watch->initial;
	}
	/* Also when there are always changes to send. */
	if (clock_mono_ns() >= watch->end_ns)
		stream->ended = true;
	if (add_next_change(watch, swift))
		return true;
	if (stream->out.n == 0 && !stream->ended)
		check_clock(watch);
	return false;
}

static void watch_woken(void *ctx)
{
	struct watching *watch = ctx;
	apiserver_stream_woken(&watch->stream);
}

static void free_watching(struct apiserver_stream *stream)
{
	struct watching *watch = CONTAINER_OF(stream, struct watching, stream);
	apiserver_tick_free(watch->tick);
	apiserver_watch_free(watch->watch);
	apiserver_stream_done(stream);
	apiserver_selection_done(&watch->selection);
	strbuf_done(&watch->prefix);
	strbuf_done(&watch->after);
	free(watch->label);
	free(watch->field);
	free(watch);
}

static const struct apiserver_stream_ops watch_ops = { produce_events, free_watching };

/* ---- beginning ---- */

static uint64_t timeout_ns(int64_t asked_s)
{
	struct rng rng;
	if (asked_s < 0)
		return 0;
	if (asked_s > 0)
		return (uint64_t)MIN(asked_s, (int64_t)1 << 31) * NS_PER_S;
	rng_init(&rng);
	return (TIMEOUT_MIN_S + rng_below(&rng, TIMEOUT_MIN_S)) * NS_PER_S;
}

static struct watching *watching_new(struct apiserver_request *req,
				     const struct apiserver_list_options *options)
{
	struct watching *watch = xcalloc(1, sizeof(*watch));
	uint64_t now = clock_mono_ns();
	watch->api = req->api;
	watch->resource = req->resource;
	watch->accept = req->accept;
	apiserver_respond_init_table(req, &watch->table);
	strbuf_init(&watch->prefix);
	apiserver_stream_init(&watch->stream, req->api->filler, &watch_ops);
	strbuf_init(&watch->after);
	watch->label = xstrdup(options->label);
	watch->field = xstrdup(options->field);
	watch->first = true;
	watch->bookmarks = options->bookmarks;
	watch->end_ns = now + timeout_ns(options->timeout_s);
	watch->bookmark_ns = bookmark_after(watch, now);
	watch->tick = apiserver_tick_new(req->api->ticker, watch_woken, watch);
	return watch;
}

/* Sets the first revision, and whether the state comes first. */
static int set_start(struct apiserver_request *req, struct watching *watch,
		     const struct apiserver_list_options *options)
{
	CLEANUP(strbuf_done) struct strbuf quoted = STRBUF_INIT;
	uint64_t rv;
	if (!apiserver_resource_version_parse(options->resource_version, &rv)) {
		strbuf_add_quoted(&quoted, slice_of(options->resource_version));
		return apiserver_status_refuse(
			req->status, 500, "",
			"resourceVersion: Invalid value: %s: strconv.ParseUint: "
			"parsing %s: %s",
			quoted.s, quoted.s,
			apiserver_resource_version_error(options->resource_version));
	}
	watch->initial = options->initial_events == 1 || (options->initial_events < 0 && rv == 0);
	watch->mark_initial_end = options->initial_events == 1 && options->bookmarks;
	if (!watch->initial) {
		watch->at = rv != 0 ? rv : apiserver_store_revision(req->api->store);
		start_store_watch(watch);
	} else if (apiserver_resource_version_wait(req->api, rv, req->status) < 0) {
		/* 200 and an ERROR event, as for all errors about versions. */
		add_error(watch, req->status);
		watch->initial = false;
	}
	return 0;
}

int apiserver_verb_watch(struct apiserver_request *req,
			 const struct apiserver_list_options *options)
{
	int e = apiserver_respond_begin(req, APISERVER_ACCEPT_WATCH);
	if (e < 0)
		return e;
	struct watching *watch = watching_new(req, options);
	e = apiserver_selection_parse(req->resource, watch->label, watch->field, &watch->selection,
				      req->status);
	apiserver_selection_prefix(&watch->selection, req->resource, req->route.ns, &watch->prefix);
	if (e == 0)
		e = set_start(req, watch, options);
	if (e < 0) {
		apiserver_stream_free(&watch->stream);
		return e;
	}
	/* A small state is complete after the first page, without the filler. */
	if (watch->initial)
		add_state_page(watch);
	set_tick(watch);
	req->answer->status = 200;
	req->answer->content_type = apiserver_accept_type(&req->accept);
	req->answer->stream = &watch->stream;
	return 0;
}
