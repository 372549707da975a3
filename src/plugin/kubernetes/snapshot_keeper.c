/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Serving from a snapshot until the API server answers. Each kind has a store of the snapshot's
 * objects, which its informer's thread empties; one more thread writes snapshots. */
#include "plugin/kubernetes/snapshot_keeper.h"

#include <assert.h>
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
	struct kubernetes_snapshot_keeper *keeper;
	struct kube_handler inner;
	struct kube_store *store; /* of the snapshot */
	struct kube_informer *informer;
	bool wanted;
};

struct kubernetes_snapshot_keeper {
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

static const struct metrics_family served_family = {
	.name = "fairlead_kubernetes_snapshot_served",
	.help = "1 while names come from a snapshot because the API server has not answered yet.",
	.kind = METRICS_GAUGE,
	.labels = { "file" },
};

static void set_served_gauge(const struct kubernetes_snapshot_keeper *keeper)
{
	const char *file = keeper->path;
	metrics_set(metrics_get(&served_family, &file),
		    kubernetes_snapshot_keeper_is_serving(keeper));
}

bool kubernetes_snapshot_keeper_is_serving(const struct kubernetes_snapshot_keeper *keeper)
{
	return keeper != NULL && atomic_load(&keeper->waiting) != 0;
}

bool kubernetes_snapshot_keeper_was_read(const struct kubernetes_snapshot_keeper *keeper)
{
	return keeper != NULL && keeper->was_read;
}

/* ---- reading ---- */

struct reader {
	struct kubernetes_snapshot_keeper *keeper;
	const struct kubernetes_snapshot_keeper_conf *conf;
	size_t n, bad;
};

static bool take_object(void *ctx, enum kubernetes_kind kind, struct slice json)
{
	struct reader *r = ctx;
	struct kube_codec *codec = r->conf->codec[kind];
	const struct kube_handler *h = &r->conf->handler[kind];
	struct kube_obj *o, *old = NULL;
	if (codec == NULL)
		return true;
	if (codec->decode(codec, json, &o) < 0) {
		r->bad++;
		return true;
	}
	kube_obj_ref(o);
	if (kube_store_put(r->keeper->kind[kind].store, o, &old) == KUBE_STORE_ADDED) {
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

static void read_file(struct kubernetes_snapshot_keeper *keeper,
		      const struct kubernetes_snapshot_keeper_conf *conf)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	struct reader r = { .keeper = keeper, .conf = conf };
	char err[128];
	int e = readfile_path(keeper->path, KUBERNETES_SNAPSHOT_BYTES, 0, &text);
	if (e == -ENOENT)
		return;
	if (e < 0)
		snprintf(err, sizeof(err), "%s", err_str(e));
	else
		e = kubernetes_snapshot_parse(strbuf_slice(&text), slice_of(keeper->source),
					      take_object, &r, ERR_TEXT(err));
	if (e < 0) {
		log_warn(KUBERNETES_AREA, "snapshot '%s' is not used: %s", keeper->path, err);
		return;
	}
	unsigned n = 0;
	for (int i = 0; i < KUBERNETES_KINDS; i++)
		n += keeper->kind[i].wanted;
	atomic_store(&keeper->waiting, n);
	keeper->was_read = true;
	log_info(KUBERNETES_AREA,
		 "%zu objects of snapshot '%s' are served until the API server answers", r.n,
		 keeper->path);
	if (r.bad != 0)
		log_warn(KUBERNETES_AREA, "%zu objects of snapshot '%s' could not be read", r.bad,
			 keeper->path);
}

struct kubernetes_snapshot_keeper *kubernetes_snapshot_keeper_new(
	const struct kubernetes_snapshot_keeper_conf *conf)
{
	struct kubernetes_snapshot_keeper *keeper = xcalloc(1, sizeof(*keeper));
	keeper->path = xstrdup(conf->path);
	keeper->source = xstrdup(conf->source);
	keeper->every_ns = conf->every_ns;
	pthread_mutex_init(&keeper->lock, NULL);
	pthread_cond_init(&keeper->wake, NULL);
	for (int i = 0; i < KUBERNETES_KINDS; i++) {
		keeper->kind[i] = (struct kind){ .keeper = keeper,
						 .inner = conf->handler[i],
						 .store = kube_store_new(NULL, 0),
						 .wanted = conf->codec[i] != NULL };
	}
	read_file(keeper, conf);
	set_served_gauge(keeper);
	return keeper;
}

/* ---- from the snapshot's objects to the API server's ---- */

static void on_added(void *ctx, struct kube_obj *obj)
{
	struct kind *kind = ctx;
	struct kube_obj *old = kube_store_del(kind->store, slice_of(obj->ns), slice_of(obj->name));
	if (old != NULL)
		kind->inner.updated(kind->inner.ctx, old, obj);
	else
		kind->inner.added(kind->inner.ctx, obj);
	kube_obj_unref(old);
}

static void on_updated(void *ctx, struct kube_obj *old, struct kube_obj *obj)
{
	struct kind *kind = ctx;
	kind->inner.updated(kind->inner.ctx, old, obj);
}

static void on_deleted(void *ctx, struct kube_obj *obj)
{
	struct kind *kind = ctx;
	kind->inner.deleted(kind->inner.ctx, obj);
}

/* What the list did not have is gone. */
static void on_synced(void *ctx)
{
	struct kind *kind = ctx;
	struct kube_obj *o;
	size_t pos = 0;
	kube_store_mark(kind->store);
	while ((o = kube_store_sweep(kind->store, &pos)) != NULL) {
		kind->inner.deleted(kind->inner.ctx, o);
		kube_obj_unref(o);
	}
	if (atomic_load(&kind->keeper->waiting) == 0)
		return;
	if (atomic_fetch_sub(&kind->keeper->waiting, 1) == 1)
		log_info(KUBERNETES_AREA, "the API server's objects have replaced the snapshot's");
	set_served_gauge(kind->keeper);
}

static void on_error(void *ctx, const char *text)
{
	struct kind *kind = ctx;
	kind->inner.on_error(kind->inner.ctx, text);
}

struct kube_handler kubernetes_snapshot_keeper_handler(struct kubernetes_snapshot_keeper *keeper,
						       enum kubernetes_kind kind)
{
	return (struct kube_handler){ .added = on_added,
				      .updated = on_updated,
				      .deleted = on_deleted,
				      .synced = on_synced,
				      .on_error = on_error,
				      .ctx = &keeper->kind[kind] };
}

/* ---- writing ---- */

/* How much has changed since the start; all lists are there when *ret_whole. */
static uint64_t count_changes(const struct kubernetes_snapshot_keeper *keeper, bool *ret_whole)
{
	uint64_t n = 0;
	*ret_whole = true;
	for (int i = 0; i < KUBERNETES_KINDS; i++) {
		struct kube_informer_stats st;
		if (keeper->kind[i].informer == NULL)
			continue;
		*ret_whole = *ret_whole && kube_informer_synced(keeper->kind[i].informer);
		kube_informer_stats(keeper->kind[i].informer, &st);
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

static void save_snapshot(struct kubernetes_snapshot_keeper *keeper)
{
	CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
	bool whole;
	uint64_t n = count_changes(keeper, &whole);
	if (!whole || n == keeper->saved || !atomic_load(&keeper->used))
		return;
	for (int i = 0; i < KUBERNETES_KINDS; i++) {
		if (keeper->kind[i].informer != NULL)
			add_kind(&out, &keeper->kind[i], (enum kubernetes_kind)i);
	}
	int r = kubernetes_snapshot_write(keeper->path, slice_of(keeper->source),
					  strbuf_slice(&out));
	if (r < 0 && !keeper->failing)
		log_warn(KUBERNETES_AREA, "cannot write snapshot '%s': %s; trying again",
			 keeper->path, err_str(r));
	else if (r == 0 && keeper->failing)
		log_info(KUBERNETES_AREA, "snapshot '%s' is written again", keeper->path);
	keeper->failing = r < 0;
	if (r == 0)
		keeper->saved = n;
}

static void *run_saver(void *arg)
{
	struct kubernetes_snapshot_keeper *keeper = arg;
	bool stop = false;
	while (!stop) {
		uint64_t due = clock_mono_ns() + keeper->every_ns;
		struct timespec until = { .tv_sec = (time_t)(due / NS_PER_S),
					  .tv_nsec = (long)(due % NS_PER_S) };
		pthread_mutex_lock(&keeper->lock);
		if (!keeper->stop)
			pthread_cond_clockwait(&keeper->wake, &keeper->lock, CLOCK_MONOTONIC,
					       &until);
		stop = keeper->stop;
		pthread_mutex_unlock(&keeper->lock);
		save_snapshot(keeper);
	}
	return NULL;
}

void kubernetes_snapshot_keeper_start(struct kubernetes_snapshot_keeper *keeper,
				      struct kube_informer *const informer[KUBERNETES_KINDS])
{
	assert(!keeper->started);
	for (int i = 0; i < KUBERNETES_KINDS; i++)
		keeper->kind[i].informer = informer[i];
	keeper->started = pthread_create(&keeper->thread, NULL, run_saver, keeper) == 0;
}

void kubernetes_snapshot_keeper_use(struct kubernetes_snapshot_keeper *keeper)
{
	if (keeper != NULL)
		atomic_store(&keeper->used, true);
}

void kubernetes_snapshot_keeper_stop(struct kubernetes_snapshot_keeper *keeper)
{
	if (keeper == NULL || !keeper->started)
		return;
	pthread_mutex_lock(&keeper->lock);
	keeper->stop = true;
	pthread_cond_signal(&keeper->wake);
	pthread_mutex_unlock(&keeper->lock);
	pthread_join(keeper->thread, NULL);
	keeper->started = false;
}

void kubernetes_snapshot_keeper_free(struct kubernetes_snapshot_keeper *keeper)
{
	if (keeper == NULL)
		return;
	kubernetes_snapshot_keeper_stop(keeper);
	for (int i = 0; i < KUBERNETES_KINDS; i++)
		kube_store_free(keeper->kind[i].store);
	const char *file = keeper->path;
	metrics_drop(metrics_get(&served_family, &file));
	pthread_cond_destroy(&keeper->wake);
	pthread_mutex_destroy(&keeper->lock);
	free(keeper->path);
	free(keeper->source);
	free(keeper);
}
