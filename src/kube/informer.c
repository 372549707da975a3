/* The reflector: does what the plan says, cuts and decodes what comes, keeps the store, tells the
 * handlers. */
#include "kube/informer.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/vec.h"
#include "kube/bad_priv.h"
#include "kube/cut.h"
#include "kube/informer_priv.h"
#include "kube/watchframe.h"

struct counters {
	atomic_uint_fast64_t added, updated, deleted, events, repeated, bad, lists, watches, errors,
		last_event_ns;
};

struct kube_informer {
	struct kube_informer_conf conf;
	kube_transport_open open;
	void *open_ctx;
	struct kube_transport net;
	bool opened;
	struct kube_server_memory own_memory;
	struct kube_store *store;
	VEC(struct kube_handler) handlers;
	struct counters count;
	pthread_t thread;
	bool started;

	pthread_mutex_t lock; /* guards stop and absent, and waiting for synced */
	pthread_cond_t cond;  /* stop or synced changed */
	bool stop, absent;
	atomic_bool synced;

	/* The reflector's own: */
	struct kube_plan plan;
	struct kube_outcome outcome; /* of the step at hand */
	struct kube_cut cut;
	struct kube_list_meta list; /* of the last page */
	struct kube_bad bad;
	char trouble[640];
};

#define COUNT(i, field) atomic_fetch_add_explicit(&(i)->count.field, 1, memory_order_relaxed)

/* TELL(i, deleted, (h->ctx, o)) */
#define TELL(i, what, args)                                                     \
	do {                                                                    \
		for (size_t tell_ = 0; tell_ < (i)->handlers.n; tell_++) {      \
			const struct kube_handler *h = &(i)->handlers.v[tell_]; \
			if (h->what != NULL)                                    \
				h->what args;                                   \
		}                                                               \
	} while (0)

/* ---- changes ---- */

static void tell_deleted(struct kube_informer *i, struct kube_obj *o)
{
	COUNT(i, deleted);
	TELL(i, deleted, (h->ctx, o));
	kube_obj_unref(o);
}

static void store_put(struct kube_informer *i, struct kube_obj *o)
{
	struct kube_obj *old = NULL;
	switch (kube_store_put(i->store, o, &old)) {
	case KUBE_STORE_SAME:
		COUNT(i, repeated);
		break;
	case KUBE_STORE_ADDED:
		COUNT(i, added);
		TELL(i, added, (h->ctx, o));
		break;
	case KUBE_STORE_UPDATED:
		COUNT(i, updated);
		TELL(i, updated, (h->ctx, old, o));
		kube_obj_unref(old);
		break;
	}
}

static struct kube_obj *decode(struct kube_informer *i, struct slice json)
{
	struct kube_obj *o = NULL;
	/* One object that cannot be read must not stop the others. */
	int r = i->conf.codec->decode(i->conf.codec, json, &o);
	if (r == 0)
		return o;
	char text[640];
	COUNT(i, bad);
	if (kube_bad_say(&i->bad, i->conf.kind->plural, json, r, text, sizeof(text)))
		TELL(i, trouble, (h->ctx, text));
	return NULL;
}

static void list_begin(struct kube_informer *i)
{
	kube_store_mark(i->store);
}

static void heard(struct kube_informer *i)
{
	atomic_store_explicit(&i->count.last_event_ns, clock_mono_ns(), memory_order_relaxed);
}

static void list_complete(struct kube_informer *i, const char *rv)
{
	struct kube_obj *o;
	size_t pos = 0;
	while ((o = kube_store_sweep(i->store, &pos)) != NULL)
		tell_deleted(i, o);
	memcpy(i->plan.rv, rv, sizeof(i->plan.rv));
	i->outcome.listed = true;
	COUNT(i, lists);
	heard(i);
	if (kube_informer_synced(i))
		return;
	TELL(i, synced, (h->ctx));
	pthread_mutex_lock(&i->lock);
	atomic_store_explicit(&i->synced, true, memory_order_release);
	pthread_cond_broadcast(&i->cond);
	pthread_mutex_unlock(&i->lock);
}

/* ---- frames ---- */

static void move_rv(struct kube_informer *i, const char *rv)
{
	/* The initial events come in the order of their keys. */
	if (i->plan.step == KUBE_STEP_STREAM && !i->outcome.listed)
		return;
	size_t n = strlen(rv);
	if (n == 0 || n >= sizeof(i->plan.rv))
		return;
	/* What does not lead on is no sign of life: a server that says it and closes would be asked
	 * without end. */
	i->outcome.events += strcmp(i->plan.rv, rv) != 0;
	memcpy(i->plan.rv, rv, n + 1);
}

static void on_object(struct kube_informer *i, enum kube_event event, struct slice object)
{
	struct kube_obj *o = decode(i, object);
	char rv[sizeof(i->plan.rv)] = "";
	if (o == NULL)
		return;
	if (strlen(o->rv) < sizeof(rv))
		memcpy(rv, o->rv, strlen(o->rv) + 1);
	if (event == KUBE_EVENT_DELETED) {
		struct kube_obj *old = kube_store_del(i->store, slice_of(o->ns), slice_of(o->name));
		kube_obj_unref(o);
		if (old != NULL)
			tell_deleted(i, old);
	} else {
		store_put(i, o);
	}
	move_rv(i, rv);
}

static int on_bookmark(struct kube_informer *i, struct slice object)
{
	struct kube_bookmark b;
	int r = kube_bookmark_parse(object, &b);
	if (r < 0)
		return r;
	if (b.initial_end && i->plan.step == KUBE_STEP_STREAM && !i->outcome.listed)
		list_complete(i, b.rv);
	else
		move_rv(i, b.rv);
	return 0;
}

static void note_error(struct kube_informer *i, const struct kube_error *e)
{
	i->outcome.gone |= kube_error_is_gone(e);
	i->outcome.too_large |= e->too_large;
	IGNORE(snprintf(i->trouble, sizeof(i->trouble), "%s", e->message) < 0);
}

static int on_error(struct kube_informer *i, struct slice object)
{
	struct kube_error e;
	int r = kube_error_parse(object, &e);
	if (r < 0)
		return r;
	note_error(i, &e);
	i->outcome.said_error = true;
	return i->outcome.gone ? ERR_GONE : ERR_INTERNAL;
}

static int on_frame(void *ctx, struct slice type, struct slice object)
{
	struct kube_informer *i = ctx;
	enum kube_event event = kube_event_of(type);
	COUNT(i, events);
	heard(i);
	switch (event) {
	case KUBE_EVENT_ADDED:
	case KUBE_EVENT_MODIFIED:
	case KUBE_EVENT_DELETED:
		on_object(i, event, object);
		return 0;
	case KUBE_EVENT_BOOKMARK:
		return on_bookmark(i, object);
	case KUBE_EVENT_ERROR:
		return on_error(i, object);
	case KUBE_EVENT_UNKNOWN:
		break;
	}
	return 0;
}

static int on_item(void *ctx, struct slice object)
{
	struct kube_informer *i = ctx;
	struct kube_obj *o = decode(i, object);
	if (o != NULL)
		store_put(i, o);
	return 0;
}

static int on_data(void *ctx, struct slice bytes)
{
	struct kube_informer *i = ctx;
	return kube_cut_feed(&i->cut, bytes);
}

/* ---- steps ---- */

static int request(struct kube_informer *i, const struct kube_stream *s)
{
	struct kube_status st = { 0 };
	int r = i->net.stream(i->net.ctx, s, &st);
	if (r == 0)
		r = kube_cut_end(&i->cut);
	if (r < 0) {
		i->outcome.http = st.code;
		i->outcome.retry_after_s = st.retry_after_s;
		i->outcome.gone |= r == ERR_GONE;
		/* Reason Timeout: the server is behind the version asked for (k8s-api 1.2). */
		i->outcome.too_large |= st.code == 504;
		if (i->trouble[0] == '\0')
			IGNORE(snprintf(i->trouble, sizeof(i->trouble), "%s",
					st.message[0] != '\0' ? st.message : err_str(r)) < 0);
	}
	kube_status_done(&st);
	return r;
}

static int do_watch(struct kube_informer *i)
{
	unsigned seconds = kube_plan_watch_s(&i->plan);
	struct strbuf path = STRBUF_INIT;
	kube_informer_path(&path, &i->conf, &i->plan, "", seconds);
	struct kube_stream s = {
		.path = path.s,
		.idle_ns = i->plan.times.silence_ns,
		.timeout_ns = seconds * NS_PER_S + i->plan.times.watch_grace_ns,
		.data = on_data,
		.ctx = i,
	};
	COUNT(i, watches);
	if (i->plan.step == KUBE_STEP_STREAM)
		list_begin(i);
	kube_cut_watch(&i->cut, on_frame, i);
	int r = request(i, &s);
	kube_cut_done(&i->cut);
	strbuf_done(&path);
	return r;
}

static int one_page(struct kube_informer *i, struct kube_list_meta *meta)
{
	struct strbuf path = STRBUF_INIT;
	kube_informer_path(&path, &i->conf, &i->plan, meta->next.s, 0);
	struct kube_stream s = { .path = path.s,
				 .gzip = true,
				 .idle_ns = i->plan.times.silence_ns,
				 .timeout_ns = i->plan.times.list_ns,
				 .data = on_data,
				 .ctx = i };
	kube_cut_list(&i->cut, on_item, i);
	int r = request(i, &s);
	if (r == 0)
		r = kube_list_meta_parse(strbuf_slice(&i->cut.meta), meta);
	kube_cut_done(&i->cut);
	strbuf_done(&path);
	return r;
}

static int do_list(struct kube_informer *i)
{
	int r;
	if (!i->plan.resume) {
		strbuf_reset(&i->list.next);
		list_begin(i);
	}
	do {
		r = one_page(i, &i->list);
		i->outcome.pages += r == 0;
		if (r == ERR_CLOSED || r == ERR_TIMEOUT)
			kube_plan_page_broke(&i->plan);
	} while (r == 0 && i->list.next.n != 0);
	i->outcome.more = i->list.next.n != 0;
	if (r == 0)
		list_complete(i, i->list.rv);
	return r;
}

static void report(struct kube_informer *i)
{
	static const char *const then[] = { "listing again", "listing again", "watching again" };
	const char *next = i->plan.resume ? "going on with the list" : then[i->plan.step];
	char text[768];
	COUNT(i, errors);
	IGNORE(snprintf(text, sizeof(text), "%s: %s; %s in %.1f s", i->conf.kind->plural,
			i->trouble, next, (double)i->plan.delay_ns / (double)NS_PER_S) < 0);
	TELL(i, trouble, (h->ctx, text));
}

static void set_absent(struct kube_informer *i, bool absent)
{
	pthread_mutex_lock(&i->lock);
	i->absent = absent;
	pthread_mutex_unlock(&i->lock);
}

static void do_step(struct kube_informer *i)
{
	uint64_t start = clock_mono_ns();
	i->outcome = (struct kube_outcome){ 0 };
	i->trouble[0] = '\0';
	i->outcome.code = i->plan.step == KUBE_STEP_LIST ? do_list(i) : do_watch(i);
	uint64_t now = clock_mono_ns();
	i->outcome.took_ns = now - start;
	bool listed = i->outcome.listed || i->plan.step == KUBE_STEP_WATCH;
	if (i->outcome.code == -ECANCELED)
		return;
	set_absent(i, i->outcome.http == 404 || i->outcome.http == 403);
	kube_plan_next(&i->plan, &i->outcome, now);
	/* A watch that ends is no failure. */
	if (i->outcome.code != 0 || !listed)
		report(i);
}

/* ---- the thread ---- */

static void until(struct timespec *t, uint64_t at_ns)
{
	t->tv_sec = (time_t)(at_ns / NS_PER_S);
	t->tv_nsec = (long)(at_ns % NS_PER_S);
}

/* Waits as the plan says; false: stop. */
static bool pause_step(struct kube_informer *i)
{
	struct timespec t;
	int r = 0;
	until(&t, clock_mono_ns() + i->plan.delay_ns);
	pthread_mutex_lock(&i->lock);
	while (!i->stop && i->plan.delay_ns != 0 && r == 0)
		r = pthread_cond_timedwait(&i->cond, &i->lock, &t);
	bool go = !i->stop;
	pthread_mutex_unlock(&i->lock);
	return go;
}

static void *reflect(void *arg)
{
	struct kube_informer *i = arg;
	while (pause_step(i))
		do_step(i);
	return NULL;
}

struct kube_informer *kube_informer_new_on(const struct kube_informer_conf *c,
					   kube_transport_open open, void *open_ctx)
{
	struct kube_informer *i = xcalloc(1, sizeof(*i));
	pthread_condattr_t ca;
	i->conf = *c;
	i->conf.ns = c->ns != NULL ? xstrdup(c->ns) : NULL;
	i->conf.labels = c->labels != NULL ? xstrdup(c->labels) : NULL;
	i->conf.fields = c->fields != NULL ? xstrdup(c->fields) : NULL;
	i->open = open;
	i->open_ctx = open_ctx;
	i->store = kube_store_new(c->indexes, c->n_indexes);
	strbuf_init(&i->list.next);
	if (i->conf.memory == NULL)
		i->conf.memory = &i->own_memory;
	pthread_mutex_init(&i->lock, NULL);
	pthread_condattr_init(&ca);
	pthread_condattr_setclock(&ca, CLOCK_MONOTONIC);
	pthread_cond_init(&i->cond, &ca);
	pthread_condattr_destroy(&ca);
	return i;
}

static void free_text(const char *s)
{
	free((void *)(uintptr_t)s);
}

void kube_informer_free(struct kube_informer *i)
{
	if (i == NULL)
		return;
	kube_informer_stop(i);
	if (i->opened)
		i->net.free(i->net.ctx);
	kube_store_free(i->store);
	kube_codec_free(i->conf.codec);
	vec_done(&i->handlers);
	strbuf_done(&i->list.next);
	free_text(i->conf.ns);
	free_text(i->conf.labels);
	free_text(i->conf.fields);
	pthread_cond_destroy(&i->cond);
	pthread_mutex_destroy(&i->lock);
	free(i);
}

void kube_informer_handle(struct kube_informer *i, const struct kube_handler *h)
{
	vec_push(&i->handlers, *h);
}

int kube_informer_start(struct kube_informer *i, char *err, size_t err_n)
{
	int r = i->open(i->open_ctx, &i->net, err, err_n);
	if (r < 0)
		return r;
	i->opened = true;
	kube_plan_init(&i->plan, &i->conf.times, i->conf.memory, clock_mono_ns());
	r = pthread_create(&i->thread, NULL, reflect, i);
	if (r != 0) {
		IGNORE(snprintf(err, err_n, "cannot start a thread: %s", err_str(-r)) < 0);
		return -r;
	}
	i->started = true;
	return 0;
}

void kube_informer_stop(struct kube_informer *i)
{
	if (!i->started)
		return;
	pthread_mutex_lock(&i->lock);
	i->stop = true;
	pthread_cond_broadcast(&i->cond);
	pthread_mutex_unlock(&i->lock);
	i->net.cancel(i->net.ctx);
	pthread_join(i->thread, NULL);
	i->started = false;
}

/* ---- asking ---- */

struct kube_store *kube_informer_store(struct kube_informer *i)
{
	return i->store;
}

bool kube_informer_absent(struct kube_informer *i)
{
	pthread_mutex_lock(&i->lock);
	bool v = i->absent;
	pthread_mutex_unlock(&i->lock);
	return v;
}

bool kube_informer_synced(struct kube_informer *i)
{
	return atomic_load_explicit(&i->synced, memory_order_acquire);
}

bool kube_informer_wait(struct kube_informer *i, uint64_t timeout_ns)
{
	struct timespec t;
	int r = 0;
	until(&t, clock_mono_ns() + timeout_ns);
	pthread_mutex_lock(&i->lock);
	while (!kube_informer_synced(i) && !i->stop && r == 0)
		r = pthread_cond_timedwait(&i->cond, &i->lock, &t);
	pthread_mutex_unlock(&i->lock);
	return kube_informer_synced(i);
}

#define READ(i, field) atomic_load_explicit(&(i)->count.field, memory_order_relaxed)

void kube_informer_stats(struct kube_informer *i, struct kube_informer_stats *ret)
{
	*ret = (struct kube_informer_stats){
		.added = READ(i, added),
		.updated = READ(i, updated),
		.deleted = READ(i, deleted),
		.events = READ(i, events),
		.repeated = READ(i, repeated),
		.bad = READ(i, bad),
		.lists = READ(i, lists),
		.watches = READ(i, watches),
		.errors = READ(i, errors),
		.last_event_ns = READ(i, last_event_ns),
	};
}
