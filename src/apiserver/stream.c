/* Streams and the filler. */
#include "apiserver/stream.h"

#include <assert.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "http/service.h"

enum {
	FILLER_STACK_BYTES = 512 * 1024,
	/* A buffer that has grown beyond this is given back when it is empty: most streams say
	 * little for long. */
	KEPT_BYTES = 8 * 1024,
};

struct apiserver_filler {
	pthread_t thread;
	pthread_mutex_t lock; /* guards all below */
	pthread_cond_t work, changed;
	struct apiserver_stream *first, **end;
	struct apiserver_stream *running;
	bool stop;
};

/* ---- the filler ---- */

/* With the lock held. */
static void enqueue(struct apiserver_filler *f, struct apiserver_stream *s)
{
	s->next = NULL;
	*f->end = s;
	f->end = &s->next;
	pthread_cond_signal(&f->work);
}

/* True: it has nothing yet, and wants another turn. */
static bool fill(struct apiserver_stream *s)
{
	bool more = s->ops->produce(s, false);
	if (more && s->out.n == 0 && !s->ended)
		return true;
	atomic_store(&s->filling, false);
	apiserver_stream_woken(s);
	return false;
}

static void *run(void *ctx)
{
	struct apiserver_filler *f = ctx;
	pthread_mutex_lock(&f->lock);
	for (;;) {
		while (f->first == NULL && !f->stop)
			pthread_cond_wait(&f->work, &f->lock);
		struct apiserver_stream *s = f->first;
		if (s == NULL)
			break;
		f->first = s->next;
		if (f->first == NULL)
			f->end = &f->first;
		f->running = s;
		pthread_mutex_unlock(&f->lock);
		bool again = fill(s);
		pthread_mutex_lock(&f->lock);
		if (again)
			enqueue(f, s);
		f->running = NULL;
		pthread_cond_broadcast(&f->changed);
	}
	pthread_mutex_unlock(&f->lock);
	return NULL;
}

struct apiserver_filler *apiserver_filler_new(void)
{
	struct apiserver_filler *f = xcalloc(1, sizeof(*f));
	pthread_attr_t attr;
	sigset_t all, old;
	f->end = &f->first;
	pthread_mutex_init(&f->lock, NULL);
	pthread_cond_init(&f->work, NULL);
	pthread_cond_init(&f->changed, NULL);
	sigfillset(&all);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, FILLER_STACK_BYTES);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	int r = pthread_create(&f->thread, &attr, run, f);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	assert(r == 0);
	return f;
}

void apiserver_filler_free(struct apiserver_filler *f)
{
	if (f == NULL)
		return;
	pthread_mutex_lock(&f->lock);
	assert(f->first == NULL);
	f->stop = true;
	pthread_cond_signal(&f->work);
	pthread_mutex_unlock(&f->lock);
	pthread_join(f->thread, NULL);
	pthread_cond_destroy(&f->work);
	pthread_cond_destroy(&f->changed);
	pthread_mutex_destroy(&f->lock);
	free(f);
}

static void ask(struct apiserver_stream *s)
{
	atomic_store(&s->filling, true);
	pthread_mutex_lock(&s->filler->lock);
	enqueue(s->filler, s);
	pthread_mutex_unlock(&s->filler->lock);
}

/* When it has returned, the filler does not know the stream. */
static void forget(struct apiserver_stream *s)
{
	struct apiserver_filler *f = s->filler;
	pthread_mutex_lock(&f->lock);
	while (f->running == s)
		pthread_cond_wait(&f->changed, &f->lock);
	struct apiserver_stream **at = &f->first;
	while (*at != NULL && *at != s)
		at = &(*at)->next;
	if (*at == s) {
		*at = s->next;
		if (f->end == &s->next)
			f->end = at;
	}
	pthread_mutex_unlock(&f->lock);
}

/* ---- pulling ---- */

/* The next piece. False: the filler makes it. */
static bool refill(struct apiserver_stream *s)
{
	if (s->out.cap > KEPT_BYTES)
		strbuf_done(&s->out);
	strbuf_reset(&s->out);
	s->sent = 0;
	if (s->ended || !s->ops->produce(s, true))
		return true;
	ask(s);
	return false;
}

ssize_t apiserver_stream_pull(struct apiserver_stream *s, char *buf, size_t n)
{
	size_t put = 0;
	if (atomic_load(&s->filling))
		return 0;
	while (put < n) {
		if (s->sent == s->out.n && !refill(s))
			return (ssize_t)put;
		if (s->out.n == 0)
			break;
		size_t part = MIN(n - put, s->out.n - s->sent);
		memcpy(buf + put, s->out.s + s->sent, part);
		s->sent += part;
		put += part;
	}
	if (put != 0)
		return (ssize_t)put;
	if (!s->ended)
		return 0;
	return s->broken ? HTTP_STREAM_BROKEN : HTTP_STREAM_END;
}

/* ---- waking ---- */

void apiserver_stream_woken(struct apiserver_stream *s)
{
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

/* ---- life ---- */

void apiserver_stream_init(struct apiserver_stream *s, struct apiserver_filler *f,
			   const struct apiserver_stream_ops *ops)
{
	s->ops = ops;
	s->filler = f;
	strbuf_init(&s->out);
	pthread_mutex_init(&s->lock, NULL);
}

void apiserver_stream_done(struct apiserver_stream *s)
{
	strbuf_done(&s->out);
	pthread_mutex_destroy(&s->lock);
}

void apiserver_stream_free(struct apiserver_stream *s)
{
	if (s == NULL)
		return;
	forget(s);
	s->ops->free(s);
}
