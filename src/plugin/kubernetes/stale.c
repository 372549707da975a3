/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Serving from a snapshot until the API server answers. Each kind has a store of the snapshot's
 * objects, which its informer's thread empties; one more thread writes snapshots. */
#include "plugin/kubernetes/stale.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <stdio.h>
#include <time.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/err_text.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/metrics/metrics.h"
#include "base/readfile.h"
#include "base/vec.h"
#include "plugin/kubernetes/conf.h"
#include "plugin/kubernetes/objects/snapshot_object.h"

struct kind {
	struct kubernetes_stale *all;
	struct kube_handler inner;
	struct kube_store *store; /* of the snapshot */
	struct kube_informer *informer;
	bool wanted;
};

struct kubernetes_stale {
	char *path, *source;
	uint64_t every_ns;
	struct kind kind[KUBERNETES_KINDS];
	atomic_uint waiting; /* kinds of which the snapshot is served */
	atomic_bool used;    /* by a stanza that is served */
	bool was_read, started;

	pthread_t thread;
	pthread_mutex_t lock; /* guards stop */
	pthread_cond_t wake;
	bool stop;
	uint64_t saved; /* the saver's: changes that are in the file */
	bool failing;
};

static const struct metrics_family stale_family = {
	.name = "fairlead_kubernetes_snapshot_served",
	.help = "1 while names come from a snapshot because the API server was not heard yet.",
	.kind = METRICS_GAUGE,
	.labels = { "file" },
};

static void show_stale(const struct kubernetes_stale *stale)
{
	const char *file = stale->path;
	metrics_set(metrics_get(&stale_family, &file), kubernetes_stale_serves(stale));
}

bool kubernetes_stale_serves(const struct kubernetes_stale *stale)
{
	return stale != NULL && atomic_load(&stale->waiting) != 0;
}

bool kubernetes_stale_read(const struct kubernetes_stale *stale)
{
	return stale != NULL && stale->was_read;
}

/* ---- reading ---- */

struct reader {
	struct kubernetes_stale *s;
	const struct kubernetes_stale_conf *c;
	size_t n, bad;
};

static bool take_object(void *ctx, enum kubernetes_kind kind, struct slice json)
{
	struct reader *r = ctx;
	struct kube_codec *codec = r->c->codec[kind];
	const struct kube_handler *h = &r->c->handler[kind];
	struct kube_obj *o, *old = NULL;
	if (codec == NULL)
		return true;
	if (codec->decode(codec, json, &o) < 0) {
		r->bad++;
		return true;
	}
	kube_obj_ref(o);
	if (kube_store_put(r->s->kind[kind].store, o, &old) == KUBE_STORE_ADDED) {
		h->added(h->ctx, o);
		r->n++;
	} else if (old != NULL) {
		/* Twice in the file: the last one counts. */
		h->updated(h->ctx, old, o);
		kube_obj_unref(old);
	}
	kube_obj_unref(o);
	return true;
}

static void read_file(struct kubernetes_stale *stale, const struct kubernetes_stale_conf *conf)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	struct reader r = { .s = stale, .c = conf };
	char err[128];
	int e = readfile_path(stale->path, KUBERNETES_SNAPSHOT_BYTES, 0, &text);
	if (e == -ENOENT)
		return;
	if (e < 0)
		snprintf(err, sizeof(err), "%s", err_str(e));
	else
		e = kubernetes_snapshot_parse(strbuf_slice(&text), slice_of(stale->source),
					      take_object, &r, ERR_TEXT(err));
	if (e < 0) {
		log_warn(KUBERNETES_AREA, "snapshot '%s' is not used: %s", stale->path, err);
		return;
	}
	unsigned n = 0;
	for (int i = 0; i < KUBERNETES_KINDS; i++)
		n += stale->kind[i].wanted;
	atomic_store(&stale->waiting, n);
	stale->was_read = true;
	log_info(KUBERNETES_AREA,
		 "%zu objects of snapshot '%s' are served until the API server is heard", r.n,
		 stale->path);
	if (r.bad != 0)
		log_warn(KUBERNETES_AREA, "%zu objects of snapshot '%s' could not be read", r.bad,
			 stale->path);
}

struct kubernetes_stale *kubernetes_stale_new(const struct kubernetes_stale_conf *conf)
{
	struct kubernetes_stale *s = xcalloc(1, sizeof(*s));
	s->path = xstrdup(conf->path);
	s->source = xstrdup(conf->source);
	s->every_ns = conf->every_ns;
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->wake, NULL);
	for (int i = 0; i < KUBERNETES_KINDS; i++) {
		s->kind[i] = (struct kind){ .all = s,
					    .inner = conf->handler[i],
					    .store = kube_store_new(NULL, 0),
					    .wanted = conf->codec[i] != NULL };
	}
	read_file(s, conf);
	show_stale(s);
	return s;
}

/* ---- from the snapshot's objects to the API server's ---- */

static void on_added(void *ctx, struct kube_obj *obj)
{
	struct kind *k = ctx;
	struct kube_obj *old = kube_store_del(k->store, slice_of(obj->ns), slice_of(obj->name));
	if (old != NULL)
		k->inner.updated(k->inner.ctx, old, obj);
	else
		k->inner.added(k->inner.ctx, obj);
	kube_obj_unref(old);
}

static void on_updated(void *ctx, struct kube_obj *old, struct kube_obj *obj)
{
	struct kind *k = ctx;
	k->inner.updated(k->inner.ctx, old, obj);
}

static void on_deleted(void *ctx, struct kube_obj *obj)
{
	struct kind *k = ctx;
	k->inner.deleted(k->inner.ctx, obj);
}

/* What the list did not have is gone. */
static void on_synced(void *ctx)
{
	struct kind *k = ctx;
	struct kube_obj *o;
	size_t pos = 0;
	kube_store_mark(k->store);
	while ((o = kube_store_sweep(k->store, &pos)) != NULL) {
		k->inner.deleted(k->inner.ctx, o);
		kube_obj_unref(o);
	}
	if (atomic_load(&k->all->waiting) == 0)
		return;
	if (atomic_fetch_sub(&k->all->waiting, 1) == 1)
		log_info(KUBERNETES_AREA, "the API server's objects have replaced the snapshot's");
	show_stale(k->all);
}

static void on_error(void *ctx, const char *text)
{
	struct kind *k = ctx;
	k->inner.on_error(k->inner.ctx, text);
}

struct kube_handler kubernetes_stale_handler(struct kubernetes_stale *stale,
					     enum kubernetes_kind kind)
{
	return (struct kube_handler){ .added = on_added,
				      .updated = on_updated,
				      .deleted = on_deleted,
				      .synced = on_synced,
				      .on_error = on_error,
				      .ctx = &stale->kind[kind] };
}

/* ---- writing ---- */

/* How much has changed since the start; all lists are there when *ret_whole. */
static uint64_t count_changes(const struct kubernetes_stale *stale, bool *ret_whole)
{
	uint64_t n = 0;
	*ret_whole = true;
	for (int i = 0; i < KUBERNETES_KINDS; i++) {
		struct kube_informer_stats st;
		if (stale->kind[i].informer == NULL)
			continue;
		*ret_whole = *ret_whole && kube_informer_synced(stale->kind[i].informer);
		kube_informer_stats(stale->kind[i].informer, &st);
		n += st.added + st.updated + st.deleted;
	}
	return n;
}

struct held {
	VEC(struct kube_obj *) list;
};

static bool hold_object(void *ctx, struct kube_obj *obj)
{
	struct held *h = ctx;
	vec_push(&h->list, kube_obj_ref(obj));
	return true;
}

static void add_kind(struct strbuf *out, const struct kind *stored, enum kubernetes_kind kind)
{
	struct held h = { 0 };
	kube_store_each(kube_informer_store(stored->informer), hold_object, &h);
	for (size_t i = 0; i < h.list.n; i++) {
		kubernetes_snapshot_add(out, kind, h.list.v[i]);
		kube_obj_unref(h.list.v[i]);
	}
	vec_done(&h.list);
}

static void save_snapshot(struct kubernetes_stale *stale)
{
	CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
	bool whole;
	uint64_t n = count_changes(stale, &whole);
	if (!whole || n == stale->saved || !atomic_load(&stale->used))
		return;
	for (int i = 0; i < KUBERNETES_KINDS; i++) {
		if (stale->kind[i].informer != NULL)
			add_kind(&out, &stale->kind[i], (enum kubernetes_kind)i);
	}
	int r = kubernetes_snapshot_write(stale->path, slice_of(stale->source), strbuf_slice(&out));
	if (r < 0 && !stale->failing)
		log_warn(KUBERNETES_AREA, "cannot write snapshot '%s': %s; trying again",
			 stale->path, err_str(r));
	else if (r == 0 && stale->failing)
		log_info(KUBERNETES_AREA, "snapshot '%s' is written again", stale->path);
	stale->failing = r < 0;
	if (r == 0)
		stale->saved = n;
}

static void *run_saver(void *arg)
{
	struct kubernetes_stale *s = arg;
	bool stop = false;
	while (!stop) {
		uint64_t due = clock_mono_ns() + s->every_ns;
		struct timespec until = { .tv_sec = (time_t)(due / NS_PER_S),
					  .tv_nsec = (long)(due % NS_PER_S) };
		pthread_mutex_lock(&s->lock);
		if (!s->stop)
			pthread_cond_clockwait(&s->wake, &s->lock, CLOCK_MONOTONIC, &until);
		stop = s->stop;
		pthread_mutex_unlock(&s->lock);
		save_snapshot(s);
	}
	return NULL;
}

void kubernetes_stale_start(struct kubernetes_stale *stale,
			    struct kube_informer *const informer[KUBERNETES_KINDS])
{
	for (int i = 0; i < KUBERNETES_KINDS; i++)
		stale->kind[i].informer = informer[i];
	stale->started = pthread_create(&stale->thread, NULL, run_saver, stale) == 0;
}

void kubernetes_stale_use(struct kubernetes_stale *stale)
{
	if (stale != NULL)
		atomic_store(&stale->used, true);
}

void kubernetes_stale_stop(struct kubernetes_stale *stale)
{
	if (stale == NULL || !stale->started)
		return;
	pthread_mutex_lock(&stale->lock);
	stale->stop = true;
	pthread_cond_signal(&stale->wake);
	pthread_mutex_unlock(&stale->lock);
	pthread_join(stale->thread, NULL);
	stale->started = false;
}

void kubernetes_stale_free(struct kubernetes_stale *stale)
{
	if (stale == NULL)
		return;
	kubernetes_stale_stop(stale);
	for (int i = 0; i < KUBERNETES_KINDS; i++)
		kube_store_free(stale->kind[i].store);
	const char *file = stale->path;
	metrics_drop(metrics_get(&stale_family, &file));
	pthread_cond_destroy(&stale->wake);
	pthread_mutex_destroy(&stale->lock);
	free(stale->path);
	free(stale->source);
	free(stale);
}
