/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The reflector of an informer: sends the requests that the plan asks for, decodes the objects,
 * updates the store and calls the handlers. */
#include "kube/informer/informer.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/err_text.h"
#include "base/mem.h"
#include "base/vec.h"
#include "kube/decode/frame.h"
#include "kube/decode/malformed.h"
#include "kube/decode/watchframe.h"
#include "kube/informer/informer_path_priv.h"
#include "kube/informer/informer_priv.h"

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
	atomic_size_t version_at; /* 0: conf.kind, else conf.older[version_at - 1] */

	/* The reflector's own: */
	struct kube_reflector_plan plan;
	struct kube_outcome outcome; /* of the step at hand */
	struct kube_frame frame;
	struct kube_list_meta list; /* of the last page */
	struct kube_malformed malformed;
	char last_error[640];
};

#define COUNT(i, field) atomic_fetch_add_explicit(&(i)->count.field, 1, memory_order_relaxed)

/* NOTIFY(i, deleted, (h->ctx, o)) */
#define NOTIFY(i, what, args)                                                    \
	do {                                                                     \
		for (size_t index_ = 0; index_ < (i)->handlers.n; index_++) {    \
			const struct kube_handler *h = &(i)->handlers.v[index_]; \
			if (h->what != NULL)                                     \
				h->what args;                                    \
		}                                                                \
	} while (0)

/* ---- changes ---- */

static void notify_deleted(struct kube_informer *informer, struct kube_obj *obj)
{
	COUNT(informer, deleted);
	NOTIFY(informer, deleted, (h->ctx, obj));
	kube_obj_unref(obj);
}

static void store_put(struct kube_informer *informer, struct kube_obj *obj)
{
	struct kube_obj *old = NULL;
	switch (kube_store_put(informer->store, obj, &old)) {
	case KUBE_STORE_SAME:
		COUNT(informer, repeated);
		break;
	case KUBE_STORE_ADDED:
		COUNT(informer, added);
		NOTIFY(informer, added, (h->ctx, obj));
		break;
	case KUBE_STORE_UPDATED:
		COUNT(informer, updated);
		NOTIFY(informer, updated, (h->ctx, old, obj));
		kube_obj_unref(old);
		break;
	}
}

static struct kube_obj *decode_object(struct kube_informer *informer, struct slice json)
{
	struct kube_obj *obj = NULL;
	/* One object that cannot be read must not stop the others. */
	int r = informer->conf.codec->decode(informer->conf.codec, json, &obj);
	if (r == 0)
		return obj;
	char text[640];
	COUNT(informer, bad);
	if (kube_malformed_report(&informer->malformed, informer->conf.kind->plural, json, r, text,
				  sizeof(text)))
		NOTIFY(informer, on_error, (h->ctx, text));
	return NULL;
}

static void list_begin(struct kube_informer *informer)
{
	kube_store_mark(informer->store);
}

static void note_activity(struct kube_informer *informer)
{
	atomic_store_explicit(&informer->count.last_event_ns, clock_mono_ns(),
			      memory_order_relaxed);
}

static void list_complete(struct kube_informer *informer, const char *rv)
{
	struct kube_obj *obj;
	size_t pos = 0;
	assert(informer->plan.step != KUBE_STEP_WATCH && !informer->outcome.listed);
	while ((obj = kube_store_sweep(informer->store, &pos)) != NULL)
		notify_deleted(informer, obj);
	memcpy(informer->plan.rv, rv, sizeof(informer->plan.rv));
	informer->outcome.listed = true;
	COUNT(informer, lists);
	note_activity(informer);
	if (kube_informer_synced(informer))
		return;
	NOTIFY(informer, synced, (h->ctx));
	pthread_mutex_lock(&informer->lock);
	atomic_store_explicit(&informer->synced, true, memory_order_release);
	pthread_cond_broadcast(&informer->cond);
	pthread_mutex_unlock(&informer->lock);
}

/* ---- frames ---- */

static void move_rv(struct kube_informer *informer, const char *rv)
{
	/* The initial events come in the order of their keys. */
	if (informer->plan.step == KUBE_STEP_STREAM && !informer->outcome.listed)
		return;
	size_t n = strlen(rv);
	if (n == 0 || n >= sizeof(informer->plan.rv))
		return;
	/* Only a new resourceVersion counts as progress: a server that repeats one and closes the
	 * watch would otherwise be asked again without back-off. */
	informer->outcome.events += strcmp(informer->plan.rv, rv) != 0;
	memcpy(informer->plan.rv, rv, n + 1);
}

static void on_object(struct kube_informer *informer, enum kube_event event, struct slice object)
{
	struct kube_obj *obj = decode_object(informer, object);
	char rv[sizeof(informer->plan.rv)] = "";
	if (obj == NULL)
		return;
	if (strlen(obj->rv) < sizeof(rv))
		memcpy(rv, obj->rv, strlen(obj->rv) + 1);
	if (event == KUBE_EVENT_DELETED) {
		struct kube_obj *old =
			kube_store_del(informer->store, slice_of(obj->ns), slice_of(obj->name));
		kube_obj_unref(obj);
		if (old != NULL)
			notify_deleted(informer, old);
	} else {
		store_put(informer, obj);
	}
	move_rv(informer, rv);
}

static int on_bookmark(struct kube_informer *informer, struct slice object)
{
	struct kube_bookmark b;
	int r = kube_bookmark_parse(object, &b);
	if (r < 0)
		return r;
	if (b.initial_end && informer->plan.step == KUBE_STEP_STREAM && !informer->outcome.listed)
		list_complete(informer, b.rv);
	else
		move_rv(informer, b.rv);
	return 0;
}

static void note_error(struct kube_informer *informer, const struct kube_error *error)
{
	informer->outcome.gone |= kube_error_is_gone(error);
	informer->outcome.too_large |= error->too_large;
	IGNORE(snprintf(informer->last_error, sizeof(informer->last_error), "%s", error->message) <
	       0);
}

static int on_error(struct kube_informer *informer, struct slice object)
{
	struct kube_error e;
	int r = kube_error_parse(object, &e);
	if (r < 0)
		return r;
	note_error(informer, &e);
	informer->outcome.has_error_event = true;
	return informer->outcome.gone ? ERR_GONE : ERR_INTERNAL;
}

static int on_frame(void *ctx, struct slice type, struct slice object)
{
	struct kube_informer *informer = ctx;
	enum kube_event event = kube_event_of(type);
	COUNT(informer, events);
	note_activity(informer);
	switch (event) {
	case KUBE_EVENT_ADDED:
	case KUBE_EVENT_MODIFIED:
	case KUBE_EVENT_DELETED:
		on_object(informer, event, object);
		return 0;
	case KUBE_EVENT_BOOKMARK:
		return on_bookmark(informer, object);
	case KUBE_EVENT_ERROR:
		return on_error(informer, object);
	case KUBE_EVENT_UNKNOWN:
		break;
	}
	return 0;
}

static int on_item(void *ctx, struct slice object)
{
	struct kube_informer *informer = ctx;
	struct kube_obj *obj = decode_object(informer, object);
	if (obj != NULL)
		store_put(informer, obj);
	return 0;
}

static int on_data(void *ctx, struct slice bytes)
{
	struct kube_informer *informer = ctx;
	return kube_frame_feed(&informer->frame, bytes);
}

/* ---- steps ---- */

/* No store keeps managedFields. The embedded API leaves them out then; kube-apiserver ignores parameters
 * that it does not know. */
static const char accepted[] = "application/json;omit=managedFields";

static int send_request(struct kube_informer *informer, const struct kube_stream *stream)
{
	struct kube_status st = { 0 };
	int r = informer->net.stream(informer->net.ctx, stream, &st);
	if (r == 0)
		r = kube_frame_end(&informer->frame);
	if (r < 0) {
		informer->outcome.http = st.code;
		informer->outcome.retry_after_s = st.retry_after_s;
		informer->outcome.gone |= r == ERR_GONE;
		/* Reason Timeout: the server is behind the version asked for. */
		informer->outcome.too_large |= st.code == 504;
		if (informer->last_error[0] == '\0')
			IGNORE(snprintf(informer->last_error, sizeof(informer->last_error), "%s",
					st.message[0] != '\0' ? st.message : err_str(r)) < 0);
	}
	kube_status_done(&st);
	return r;
}

static void add_path(struct strbuf *out, const struct kube_informer *informer, const char *next,
		     unsigned watch_s)
{
	kube_informer_path(out, &(struct kube_informer_request){
					.conf = &informer->conf,
					.kind = kube_informer_kind(informer),
					.plan = &informer->plan,
					.next = next,
					.watch_s = watch_s,
				});
}

static int do_watch(struct kube_informer *informer)
{
	unsigned seconds = kube_reflector_plan_watch_s(&informer->plan);
	struct strbuf path = STRBUF_INIT;
	add_path(&path, informer, "", seconds);
	struct kube_stream s = {
		.path = path.s,
		.accept = accepted,
		.idle_ns = informer->plan.times.silence_ns,
		.timeout_ns = seconds * NS_PER_S + informer->plan.times.watch_grace_ns,
		.data = on_data,
		.ctx = informer,
	};
	COUNT(informer, watches);
	if (informer->plan.step == KUBE_STEP_STREAM)
		list_begin(informer);
	kube_frame_watch(&informer->frame, on_frame, informer);
	int r = send_request(informer, &s);
	kube_frame_done(&informer->frame);
	strbuf_done(&path);
	return r;
}

static int one_page(struct kube_informer *informer, struct kube_list_meta *meta)
{
	struct strbuf path = STRBUF_INIT;
	add_path(&path, informer, meta->next.s, 0);
	struct kube_stream s = { .path = path.s,
				 .accept = accepted,
				 .gzip = true,
				 .idle_ns = informer->plan.times.silence_ns,
				 .timeout_ns = informer->plan.times.list_ns,
				 .data = on_data,
				 .ctx = informer };
	kube_frame_list(&informer->frame, on_item, informer);
	int r = send_request(informer, &s);
	if (r == 0)
		r = kube_list_meta_parse(strbuf_slice(&informer->frame.meta), meta);
	kube_frame_done(&informer->frame);
	strbuf_done(&path);
	return r;
}

static int do_list(struct kube_informer *informer)
{
	int r;
	assert(informer->plan.step == KUBE_STEP_LIST);
	if (!informer->plan.resume) {
		strbuf_reset(&informer->list.next);
		list_begin(informer);
	}
	do {
		r = one_page(informer, &informer->list);
		informer->outcome.pages += r == 0;
		if (r == ERR_CLOSED || r == ERR_TIMEOUT)
			kube_reflector_plan_page_broke(&informer->plan);
	} while (r == 0 && informer->list.next.n != 0);
	informer->outcome.more = informer->list.next.n != 0;
	if (r == 0)
		list_complete(informer, informer->list.rv);
	return r;
}

static void report_failure(struct kube_informer *informer)
{
	static const char *const then[] = { "listing again", "listing again", "watching again" };
	const char *next =
		informer->plan.resume ? "continuing the list" : then[informer->plan.step];
	char text[768];
	COUNT(informer, errors);
	IGNORE(snprintf(text, sizeof(text), "%s: %s; %s in %.1f s", informer->conf.kind->plural,
			informer->last_error, next,
			(double)informer->plan.delay_ns / (double)NS_PER_S) < 0);
	NOTIFY(informer, on_error, (h->ctx, text));
}

static void set_absent(struct kube_informer *informer, bool absent)
{
	pthread_mutex_lock(&informer->lock);
	informer->absent = absent;
	pthread_mutex_unlock(&informer->lock);
}

/* The server does not have the kind in this version: the next one is tried. False: that was the last. */
static bool try_older_version(struct kube_informer *informer)
{
	size_t next = (atomic_load(&informer->version_at) + 1) % (informer->conf.n_older + 1);
	atomic_store(&informer->version_at, next);
	return next != 0;
}

static void do_step(struct kube_informer *informer)
{
	uint64_t start = clock_mono_ns();
	informer->outcome = (struct kube_outcome){ 0 };
	informer->last_error[0] = '\0';
	informer->outcome.code =
		informer->plan.step == KUBE_STEP_LIST ? do_list(informer) : do_watch(informer);
	uint64_t now = clock_mono_ns();
	informer->outcome.took_ns = now - start;
	bool listed = informer->outcome.listed || informer->plan.step == KUBE_STEP_WATCH;
	if (informer->outcome.code == -ECANCELED)
		return;
	kube_reflector_plan_next(&informer->plan, &informer->outcome, now);
	if (informer->outcome.http == 404 && try_older_version(informer)) {
		informer->plan.delay_ns = 0;
		return;
	}
	set_absent(informer, informer->outcome.http == 404 || informer->outcome.http == 403);
	/* A watch that ends is no failure. */
	if (informer->outcome.code != 0 || !listed)
		report_failure(informer);
}

/* ---- the thread ---- */

static void set_timespec(struct timespec *timespec, uint64_t at_ns)
{
	timespec->tv_sec = (time_t)(at_ns / NS_PER_S);
	timespec->tv_nsec = (long)(at_ns % NS_PER_S);
}

/* Waits for the delay of the plan; false: stop. */
static bool pause_step(struct kube_informer *informer)
{
	struct timespec t;
	int r = 0;
	set_timespec(&t, clock_mono_ns() + informer->plan.delay_ns);
	pthread_mutex_lock(&informer->lock);
	while (!informer->stop && informer->plan.delay_ns != 0 && r == 0)
		r = pthread_cond_timedwait(&informer->cond, &informer->lock, &t);
	bool go = !informer->stop;
	pthread_mutex_unlock(&informer->lock);
	return go;
}

static void *run_reflector(void *arg)
{
	struct kube_informer *informer = arg;
	while (pause_step(informer))
		do_step(informer);
	return NULL;
}

struct kube_informer *kube_informer_new_on(const struct kube_informer_conf *conf,
					   kube_transport_open open, void *open_ctx)
{
	struct kube_informer *informer = xcalloc(1, sizeof(*informer));
	pthread_condattr_t ca;
	informer->conf = *conf;
	informer->conf.ns = conf->ns != NULL ? xstrdup(conf->ns) : NULL;
	informer->conf.labels = conf->labels != NULL ? xstrdup(conf->labels) : NULL;
	informer->conf.fields = conf->fields != NULL ? xstrdup(conf->fields) : NULL;
	informer->open = open;
	informer->open_ctx = open_ctx;
	informer->store = kube_store_new(conf->indexes, conf->n_indexes);
	strbuf_init(&informer->list.next);
	if (informer->conf.memory == NULL)
		informer->conf.memory = &informer->own_memory;
	pthread_mutex_init(&informer->lock, NULL);
	pthread_condattr_init(&ca);
	pthread_condattr_setclock(&ca, CLOCK_MONOTONIC);
	pthread_cond_init(&informer->cond, &ca);
	pthread_condattr_destroy(&ca);
	return informer;
}

static void free_text(const char *text)
{
	free((void *)(uintptr_t)text);
}

void kube_informer_free(struct kube_informer *informer)
{
	if (informer == NULL)
		return;
	kube_informer_stop(informer);
	if (informer->opened)
		informer->net.free(informer->net.ctx);
	kube_store_free(informer->store);
	kube_codec_free(informer->conf.codec);
	vec_done(&informer->handlers);
	strbuf_done(&informer->list.next);
	free_text(informer->conf.ns);
	free_text(informer->conf.labels);
	free_text(informer->conf.fields);
	pthread_cond_destroy(&informer->cond);
	pthread_mutex_destroy(&informer->lock);
	free(informer);
}

void kube_informer_handle(struct kube_informer *informer, const struct kube_handler *handler)
{
	assert(!informer->started); /* the reflector reads the list without a lock */
	vec_push(&informer->handlers, *handler);
}

int kube_informer_start(struct kube_informer *informer, struct err_text err)
{
	assert(!informer->opened && !informer->started);
	int r = informer->open(informer->open_ctx, &informer->net, err);
	if (r < 0)
		return r;
	informer->opened = true;
	kube_reflector_plan_init(&informer->plan, &informer->conf.times, informer->conf.memory,
				 clock_mono_ns());
	r = pthread_create(&informer->thread, NULL, run_reflector, informer);
	if (r != 0) {
		err_text_set(err, "cannot start a thread: %s", err_str(-r));
		return -r;
	}
	informer->started = true;
	return 0;
}

void kube_informer_stop(struct kube_informer *informer)
{
	if (!informer->started)
		return;
	pthread_mutex_lock(&informer->lock);
	informer->stop = true;
	pthread_cond_broadcast(&informer->cond);
	pthread_mutex_unlock(&informer->lock);
	assert(informer->opened);
	informer->net.cancel(informer->net.ctx);
	pthread_join(informer->thread, NULL);
	informer->started = false;
}

/* ---- asking ---- */

struct kube_store *kube_informer_store(struct kube_informer *informer)
{
	return informer->store;
}

const struct api_kind *kube_informer_kind(const struct kube_informer *informer)
{
	size_t at = atomic_load(&informer->version_at);
	return at == 0 ? informer->conf.kind : &informer->conf.older[at - 1];
}

bool kube_informer_absent(struct kube_informer *informer)
{
	pthread_mutex_lock(&informer->lock);
	bool v = informer->absent;
	pthread_mutex_unlock(&informer->lock);
	return v;
}

bool kube_informer_synced(struct kube_informer *informer)
{
	return atomic_load_explicit(&informer->synced, memory_order_acquire);
}

bool kube_informer_wait(struct kube_informer *informer, uint64_t timeout_ns)
{
	struct timespec t;
	int r = 0;
	set_timespec(&t, clock_mono_ns() + timeout_ns);
	pthread_mutex_lock(&informer->lock);
	while (!kube_informer_synced(informer) && !informer->stop && r == 0)
		r = pthread_cond_timedwait(&informer->cond, &informer->lock, &t);
	pthread_mutex_unlock(&informer->lock);
	return kube_informer_synced(informer);
}

#define READ(i, field) atomic_load_explicit(&(i)->count.field, memory_order_relaxed)

void kube_informer_stats(struct kube_informer *informer, struct kube_informer_stats *ret)
{
	*ret = (struct kube_informer_stats){
		.added = READ(informer, added),
		.updated = READ(informer, updated),
		.deleted = READ(informer, deleted),
		.events = READ(informer, events),
		.repeated = READ(informer, repeated),
		.bad = READ(informer, bad),
		.lists = READ(informer, lists),
		.watches = READ(informer, watches),
		.errors = READ(informer, errors),
		.last_event_ns = READ(informer, last_event_ns),
	};
}
