/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Streams of watches and long lists, and the filler: one thread with a queue of the streams whose
 * next piece is too expensive for the HTTP thread.
 *
 * A stream belongs to the HTTP thread, except while `filling` is set: then it is in the filler's
 * queue or being filled, and the HTTP thread only waits to be woken. */
#include "apiserver/request/stream.h"

#include <assert.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "http/service.h"

enum {
	FILLER_STACK_BYTES = 512 * 1024,
	/* A larger buffer is freed when it is empty: most streams are idle most of the time. */
	KEPT_BYTES = 8 * 1024,
};

struct apiserver_filler {
	pthread_t thread;
	pthread_mutex_t lock; /* guards all below */
	pthread_cond_t work, changed;
	struct apiserver_stream *first, **end; /* queue of streams to fill */
	struct apiserver_stream *running; /* being filled, without the lock; not in the queue */
	bool stop;
};

/* ---- the filler ---- */

/* With the lock held. */
static void enqueue_stream(struct apiserver_filler *filler, struct apiserver_stream *stream)
{
	stream->next = NULL;
	*filler->end = stream;
	filler->end = &stream->next;
	pthread_cond_signal(&filler->work);
}

/* Produces one piece. True: there is nothing to send yet, the stream needs another turn. */
static bool fill_stream(struct apiserver_stream *stream)
{
	assert(atomic_load(&stream->filling));
	bool more = stream->ops->produce(stream, false);
	if (more && stream->out.n == 0 && !stream->ended)
		return true;
	atomic_store(&stream->filling, false);
	apiserver_stream_woken(stream);
	return false;
}

static void *run_filler(void *ctx)
{
	struct apiserver_filler *filler = ctx;
	pthread_mutex_lock(&filler->lock);
	for (;;) {
		while (filler->first == NULL && !filler->stop)
			pthread_cond_wait(&filler->work, &filler->lock);
		struct apiserver_stream *stream = filler->first;
		if (stream == NULL)
			break;
		filler->first = stream->next;
		if (filler->first == NULL)
			filler->end = &filler->first;
		assert(filler->running == NULL);
		filler->running = stream;
		pthread_mutex_unlock(&filler->lock);
		bool again = fill_stream(stream);
		pthread_mutex_lock(&filler->lock);
		if (again)
			enqueue_stream(filler, stream);
		filler->running = NULL;
		pthread_cond_broadcast(&filler->changed);
	}
	pthread_mutex_unlock(&filler->lock);
	return NULL;
}

struct apiserver_filler *apiserver_filler_new(void)
{
	struct apiserver_filler *filler = xcalloc(1, sizeof(*filler));
	pthread_attr_t attr;
	sigset_t all, old;
	filler->end = &filler->first;
	pthread_mutex_init(&filler->lock, NULL);
	pthread_cond_init(&filler->work, NULL);
	pthread_cond_init(&filler->changed, NULL);
	sigfillset(&all);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, FILLER_STACK_BYTES);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	int r = pthread_create(&filler->thread, &attr, run_filler, filler);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	assert(r == 0);
	return filler;
}

void apiserver_filler_free(struct apiserver_filler *filler)
{
	if (filler == NULL)
		return;
	pthread_mutex_lock(&filler->lock);
	assert(filler->first == NULL);
	filler->stop = true;
	pthread_cond_signal(&filler->work);
	pthread_mutex_unlock(&filler->lock);
	pthread_join(filler->thread, NULL);
	pthread_cond_destroy(&filler->work);
	pthread_cond_destroy(&filler->changed);
	pthread_mutex_destroy(&filler->lock);
	free(filler);
}

static void hand_to_filler(struct apiserver_stream *stream)
{
	assert(!atomic_load(&stream->filling));
	atomic_store(&stream->filling, true);
	pthread_mutex_lock(&stream->filler->lock);
	enqueue_stream(stream->filler, stream);
	pthread_mutex_unlock(&stream->filler->lock);
}

/* When it has returned, the filler has no reference to the stream. */
static void remove_from_filler(struct apiserver_stream *stream)
{
	struct apiserver_filler *filler = stream->filler;
	pthread_mutex_lock(&filler->lock);
	while (filler->running == stream)
		pthread_cond_wait(&filler->changed, &filler->lock);
	struct apiserver_stream **at = &filler->first;
	while (*at != NULL && *at != stream)
		at = &(*at)->next;
	if (*at == stream) {
		*at = stream->next;
		if (filler->end == &stream->next)
			filler->end = at;
	}
	pthread_mutex_unlock(&filler->lock);
}

/* ---- pulling ---- */

/* Produces the next piece, or nothing if there is none now. False: the filler will. */
static bool refill_stream(struct apiserver_stream *stream)
{
	assert(stream->sent == stream->out.n);
	if (stream->out.cap > KEPT_BYTES)
		strbuf_done(&stream->out);
	strbuf_reset(&stream->out);
	stream->sent = 0;
	if (stream->ended || !stream->ops->produce(stream, true))
		return true;
	hand_to_filler(stream);
	return false;
}

ssize_t apiserver_stream_pull(struct apiserver_stream *stream, char *buf, size_t len)
{
	size_t put = 0;
	if (atomic_load(&stream->filling))
		return 0;
	while (put < len) {
		if (stream->sent == stream->out.n && !refill_stream(stream))
			return (ssize_t)put;
		if (stream->out.n == 0)
			break;
		size_t part = MIN(len - put, stream->out.n - stream->sent);
		memcpy(buf + put, stream->out.s + stream->sent, part);
		stream->sent += part;
		put += part;
	}
	if (put != 0)
		return (ssize_t)put;
	if (!stream->ended)
		return 0;
	return stream->broken ? HTTP_STREAM_BROKEN : HTTP_STREAM_END;
}

/* ---- waking ---- */

void apiserver_stream_woken(struct apiserver_stream *stream)
{
	pthread_mutex_lock(&stream->lock);
	stream->woken = true;
	if (stream->wake != NULL)
		stream->wake(stream->wake_ctx);
	pthread_mutex_unlock(&stream->lock);
}

void apiserver_stream_on_wake(struct apiserver_stream *stream, void (*wake)(void *ctx), void *ctx)
{
	pthread_mutex_lock(&stream->lock);
	stream->wake = wake;
	stream->wake_ctx = ctx;
	if (stream->woken && wake != NULL)
		wake(ctx);
	pthread_mutex_unlock(&stream->lock);
}

/* ---- init and free ---- */

void apiserver_stream_init(struct apiserver_stream *stream, struct apiserver_filler *filler,
			   const struct apiserver_stream_ops *ops)
{
	stream->ops = ops;
	stream->filler = filler;
	strbuf_init(&stream->out);
	pthread_mutex_init(&stream->lock, NULL);
}

void apiserver_stream_done(struct apiserver_stream *stream)
{
	strbuf_done(&stream->out);
	pthread_mutex_destroy(&stream->lock);
}

void apiserver_stream_free(struct apiserver_stream *stream)
{
	if (stream == NULL)
		return;
	remove_from_filler(stream);
	stream->ops->free(stream);
}
