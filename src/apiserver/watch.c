/* WATCH: a stream of events, made one at a time when somebody takes them, so that a slow client
 * costs a buffer of one event. First the state (where it is asked for), read page by page at one
 * revision; then what happened behind it. */
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "api/meta.h"
#include "apiserver/key.h"
#include "apiserver/respond.h"
#include "apiserver/selection.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/rng.h"

enum {
	PAGE_ROWS = 64,
	TIMEOUT_MIN_S = 1800, /* where the client names none, it is drawn from here to twice that */
	BOOKMARK_DEFAULT_S = 60,
	LAST_BOOKMARK_S = 2, /* before the end */
};

struct apiserver_stream {
	struct apiserver_api *a;
	const struct apiserver_resource *r;
	struct apiserver_selection sel;
	char *label, *field; /* what sel was made from */
	struct apiserver_accept accept;
	struct apiserver_table table;
	struct strbuf prefix;
	struct apiserver_watch *watch;

	struct strbuf out; /* one or more whole events */
	size_t sent;
	bool first; /* the next event is the first one */
	bool ended; /* what is in `out` is the last */

	bool initial; /* the state is still being told */
	bool tell_end;
	struct strbuf after;
	uint64_t at; /* revision of the state, later of the latest event */

	bool bookmarks;
	uint64_t end_ns, bookmark_ns; /* when the next is due */
	struct apiserver_tick *tick;

	pthread_mutex_t lock; /* guards the three below */
	void (*wake)(void *ctx);
	void *wake_ctx;
	bool woken;
};

/* ---- events ---- */

static void add_event(struct apiserver_stream *s, const char *type, const json_t *o)
{
	strbuf_addf(&s->out, "{\"type\":\"%s\",\"object\":", type);
	apiserver_respond_event(&s->accept, &s->table, o, s->first, &s->out);
	strbuf_adds(&s->out, "}\n");
	s->first = false;
}

static void add_raw(struct apiserver_stream *s, const char *type, struct slice text)
{
	strbuf_addf(&s->out, "{\"type\":\"%s\",\"object\":", type);
	strbuf_add_slice(&s->out, text);
	strbuf_adds(&s->out, "}\n");
	s->first = false;
}

static void add_error(struct apiserver_stream *s, const struct apiserver_status *st)
{
	json_t *o = apiserver_status_tree(st);
	char *text = json_dumps(o, JSON_COMPACT);
	add_raw(s, "ERROR", slice_of(text));
	free(text);
	json_decref(o);
	s->ended = true;
}

static void add_bookmark(struct apiserver_stream *s, bool end_of_state)
{
	CLEANUP(strbuf_done) struct strbuf version = STRBUF_INIT;
	strbuf_addf(&version, "%s%s%s", s->r->kind->group, s->r->kind->group[0] != '\0' ? "/" : "",
		    s->r->version);
	json_t *o = json_pack("{ss,ss,s{}}", "kind", s->r->kind->kind, "apiVersion", version.s,
			      "metadata");
	apiserver_object_set_revision(o, s->at);
	if (end_of_state)
		json_object_set_new(json_object_get(o, "metadata"), "annotations",
				    json_pack("{ss}", "k8s.io/initial-events-end", "true"));
	if (s->accept.as == APISERVER_AS_OBJECT) {
		char *text = json_dumps(o, JSON_COMPACT);
		add_raw(s, "BOOKMARK", slice_of(text));
		free(text);
	} else {
		add_event(s, "BOOKMARK", o);
	}
	json_decref(o);
}

static bool is_raw(const struct apiserver_stream *s)
{
	return s->accept.as == APISERVER_AS_OBJECT && apiserver_object_raw(s->r);
}

/* Is it of interest, told by its text? The tree too where it had to be made. */
static bool looks_wanted(const struct apiserver_stream *s, struct slice text, json_t **ret)
{
	*ret = NULL;
	if (text.n == 0)
		return false;
	if (s->sel.all && is_raw(s))
		return true;
	*ret = apiserver_object_parse(s->r, text);
	return *ret != NULL && apiserver_selection_match(&s->sel, *ret);
}

static void add_version(struct apiserver_stream *s, const char *type, struct slice text,
			const json_t *o)
{
	if (is_raw(s))
		add_raw(s, type, text);
	else
		add_event(s, type, o);
}

static bool other_name(const struct apiserver_stream *s, const char *key)
{
	return s->sel.name != NULL && strcmp(strrchr(key, '/') + 1, s->sel.name) != 0;
}

/* An object that ceases to match is deleted to this watcher: it sees the last one that did, with
 * the revision of the change. */
static void tell(struct apiserver_stream *s, const struct apiserver_event *e)
{
	json_t *now, *was = NULL;
	s->at = e->revision;
	if (other_name(s, e->key))
		return;
	if (e->removed) {
		if (looks_wanted(s, e->value, &now))
			add_version(s, "DELETED", e->value, now);
		json_decref(now);
		return;
	}
	bool is = looks_wanted(s, e->value, &now);
	bool had = e->replaced != 0 && (s->sel.all || looks_wanted(s, e->before, &was));
	if (is)
		add_version(s, had ? "MODIFIED" : "ADDED", e->value, now);
	else if (had) {
		apiserver_object_set_revision(was, e->revision);
		add_event(s, "DELETED", was);
	}
	json_decref(now);
	json_decref(was);
}

/* ---- the state ---- */

static int add_row(void *ctx, const struct apiserver_row *row)
{
	struct apiserver_stream *s = ctx;
	json_t *o = NULL;
	strbuf_reset(&s->after);
	strbuf_adds(&s->after, row->key);
	if (!other_name(s, row->key) && looks_wanted(s, row->value, &o))
		add_version(s, "ADDED", row->value, o);
	json_decref(o);
	return 0;
}

static void end_with(struct apiserver_stream *s, int error)
{
	struct apiserver_status st = APISERVER_STATUS_INIT;
	if (error == ERR_GONE)
		apiserver_expired(&st, "too old resource version: %llu (%llu)",
				  (unsigned long long)s->at,
				  (unsigned long long)apiserver_store_compacted(s->a->store));
	else
		apiserver_store_failed(&st, error);
	add_error(s, &st);
	apiserver_status_done(&st);
}

static void watch_woken(void *ctx);

static void begin_watch(struct apiserver_stream *s)
{
	int e = apiserver_watch_new(s->a->store, s->prefix.s, s->at, watch_woken, s, &s->watch);
	if (e < 0)
		end_with(s, e);
}

static void next_page(struct apiserver_stream *s)
{
	struct apiserver_range range = { .prefix = s->prefix.s,
					 .after = s->after.n != 0 ? s->after.s : NULL,
					 .at = s->at,
					 .limit = PAGE_ROWS };
	uint64_t at, left;
	int e = apiserver_store_list(s->a->store, &range, add_row, s, &at, &left);
	if (e < 0) {
		end_with(s, e);
		return;
	}
	s->at = at;
	if (left != 0)
		return;
	s->initial = false;
	if (s->tell_end)
		add_bookmark(s, true);
	begin_watch(s);
}

/* ---- time ---- */

static void set_tick(struct apiserver_stream *s)
{
	apiserver_tick_set(s->tick, MIN(s->end_ns, s->bookmark_ns));
}

static uint64_t bookmark_after(const struct apiserver_stream *s, uint64_t now)
{
	uint64_t every = s->a->conf.bookmark_ns != 0 ? s->a->conf.bookmark_ns
						     : BOOKMARK_DEFAULT_S * NS_PER_S;
	uint64_t last = s->end_ns - MIN(s->end_ns, LAST_BOOKMARK_S * NS_PER_S);
	if (!s->bookmarks)
		return UINT64_MAX;
	return last > now ? MIN(now + every, last) : now + every;
}

/* Looks at the clock when there is nothing else to tell. */
static void look_at_clock(struct apiserver_stream *s)
{
	uint64_t now = clock_mono_ns();
	if (now >= s->end_ns) {
		s->ended = true;
		return;
	}
	if (now >= s->bookmark_ns) {
		add_bookmark(s, false);
		s->bookmark_ns = bookmark_after(s, now);
	}
	set_tick(s);
}

/* ---- pulling ---- */

/* Puts something into `out`, ends the stream, or leaves all as it is: nothing now. */
static void produce(struct apiserver_stream *s)
{
	const struct apiserver_event *e;
	uint64_t at;
	int r = 1;
	while (s->out.n == 0 && !s->ended && s->initial)
		next_page(s);
	/* Also where something happens all the time. */
	if (!s->initial && clock_mono_ns() >= s->end_ns)
		s->ended = true;
	while (s->out.n == 0 && !s->ended && r == 1 && s->watch != NULL) {
		r = apiserver_watch_next(s->watch, &e, &at);
		if (r == 1)
			tell(s, e);
		else if (r == 0)
			s->at = MAX(s->at, at);
		else
			s->ended = true; /* it fell behind: it may come back at its version */
	}
	if (s->out.n == 0 && !s->ended)
		look_at_clock(s);
}

ssize_t apiserver_stream_pull(struct apiserver_stream *s, char *buf, size_t n)
{
	size_t put = 0;
	while (put < n) {
		if (s->sent == s->out.n) {
			strbuf_reset(&s->out);
			s->sent = 0;
			if (!s->ended)
				produce(s);
			if (s->out.n == 0)
				break;
		}
		size_t part = MIN(n - put, s->out.n - s->sent);
		memcpy(buf + put, s->out.s + s->sent, part);
		s->sent += part;
		put += part;
	}
	if (put != 0)
		return (ssize_t)put;
	return s->ended ? -1 : 0;
}

/* ---- waking ---- */

static void watch_woken(void *ctx)
{
	struct apiserver_stream *s = ctx;
	pthread_mutex_lock(&s->lock);
	s->woken = true;
	if (s->wake != NULL)
		s->wake(s->wake_ctx);
	pthread_mutex_unlock(&s->lock);
}

void apiserver_stream_on_wake(struct apiserver_stream *s, void (*wake)(void *ctx), void *ctx)
{
	pthread_mutex_lock(&s->lock);
	s->wake = wake;
	s->wake_ctx = ctx;
	if (s->woken && wake != NULL)
		wake(ctx);
	pthread_mutex_unlock(&s->lock);
}

void apiserver_stream_free(struct apiserver_stream *s)
{
	if (s == NULL)
		return;
	apiserver_tick_free(s->tick);
	apiserver_watch_free(s->watch);
	apiserver_selection_done(&s->sel);
	strbuf_done(&s->out);
	strbuf_done(&s->prefix);
	strbuf_done(&s->after);
	pthread_mutex_destroy(&s->lock);
	free(s->label);
	free(s->field);
	free(s);
}

/* ---- beginning ---- */

static uint64_t timeout_ns(int64_t asked_s)
{
	struct rng rng;
	if (asked_s > 0)
		return (uint64_t)MIN(asked_s, (int64_t)1 << 31) * NS_PER_S;
	rng_init(&rng);
	return (TIMEOUT_MIN_S + rng_below(&rng, TIMEOUT_MIN_S)) * NS_PER_S;
}

static struct apiserver_stream *stream_new(struct apiserver_request *q,
					   const struct apiserver_list_options *o)
{
	struct apiserver_stream *s = xcalloc(1, sizeof(*s));
	uint64_t now = clock_mono_ns();
	s->a = q->a;
	s->r = q->r;
	s->accept = q->accept;
	s->table = (struct apiserver_table){ .r = q->r,
					     .meta_version = q->accept.meta_version,
					     .include = q->include };
	strbuf_init(&s->prefix);
	strbuf_init(&s->out);
	strbuf_init(&s->after);
	pthread_mutex_init(&s->lock, NULL);
	s->label = xstrdup(o->label);
	s->field = xstrdup(o->field);
	s->first = true;
	s->bookmarks = o->bookmarks;
	s->end_ns = now + timeout_ns(o->timeout_s);
	s->bookmark_ns = bookmark_after(s, now);
	apiserver_key(&s->prefix, q->r->stored->kind, q->route.ns, NULL);
	s->tick = apiserver_tick_new(q->a->ticker, watch_woken, s);
	return s;
}

/* From which revision, and with the state first? */
static int set_start(struct apiserver_request *q, struct apiserver_stream *s,
		     const struct apiserver_list_options *o)
{
	CLEANUP(strbuf_done) struct strbuf quoted = STRBUF_INIT;
	uint64_t rv;
	if (!apiserver_version_parse(o->rv, &rv)) {
		strbuf_add_quoted(&quoted, slice_of(o->rv));
		return apiserver_refuse(q->st, 500, "",
					"resourceVersion: Invalid value: %s: strconv.ParseUint: "
					"parsing %s: invalid syntax",
					quoted.s, quoted.s);
	}
	s->initial = o->initial_events == 1 || (o->initial_events < 0 && rv == 0);
	s->tell_end = o->initial_events == 1 && o->bookmarks;
	if (!s->initial) {
		s->at = rv != 0 ? rv : apiserver_store_revision(q->a->store);
		begin_watch(s);
	} else if (apiserver_wait_revision(q->a, rv, q->st) < 0) {
		add_error(s, q->st); /* 200 and an event, as for all that is wrong with versions */
		s->initial = false;
	}
	return 0;
}

int apiserver_do_watch(struct apiserver_request *q, const struct apiserver_list_options *o)
{
	int e = apiserver_respond_begin(q, APISERVER_ACCEPT_WATCH);
	if (e < 0)
		return e;
	struct apiserver_stream *s = stream_new(q, o);
	e = apiserver_selection_parse(q->r, s->label, s->field, &s->sel, q->st);
	if (e == 0)
		e = set_start(q, s, o);
	if (e < 0) {
		apiserver_stream_free(s);
		return e;
	}
	set_tick(s);
	q->answer->status = 200;
	q->answer->content_type = apiserver_accept_type(&q->accept);
	q->answer->stream = s;
	return 0;
}
