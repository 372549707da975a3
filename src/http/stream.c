/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One stream is a little state machine between the library's thread, which pulls, and any other,
 * which wakes. Its lock makes "nothing to pull" and "wake" one after the other, so that no wake is
 * lost between a pull in vain and the rest that follows it. */
#include "http/stream_priv.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/mem.h"

enum {
	WATCHER_STACK_BYTES = 64 * 1024,
	PULL_BYTES = 4 * 1024, /* of clients that know no chunks */
	QUIT_ID = 0,
};

struct http_stream {
	struct http_streams *all;
	struct http_stream *prev, *next;
	uint64_t id;
	struct MHD_Connection *mc;
	const struct http_stream_ops *ops; /* NULL until the handler has returned */
	void *ctx;
	struct strbuf first; /* sent before anything is pulled */
	size_t first_sent;

	pthread_mutex_t lock; /* guards all below */
	bool woken;	      /* since the last pull */
	bool resting;	      /* the connection is suspended until a wake */
	bool over, gone;      /* ended by us; the client is gone */
};

struct http_streams {
	int epoll_fd, quit_fd;
	pthread_t watcher;

	pthread_mutex_t lock; /* guards all below; before that of a stream */
	struct http_stream ring;
	uint64_t last_id;
	bool over;
};

/* --- waking --- */

/* With the stream's lock held. */
static void wake_locked(struct http_stream *stream)
{
	stream->woken = true;
	if (!stream->resting)
		return;
	stream->resting = false;
	MHD_resume_connection(stream->mc);
}

void http_stream_wake(struct http_stream *stream)
{
	pthread_mutex_lock(&stream->lock);
	if (!stream->woken)
		wake_locked(stream);
	pthread_mutex_unlock(&stream->lock);
}

static void end_stream(struct http_stream *stream, bool gone)
{
	pthread_mutex_lock(&stream->lock);
	stream->over = true;
	stream->gone |= gone;
	wake_locked(stream);
	pthread_mutex_unlock(&stream->lock);
}

/* --- pulling: the library's thread --- */

static size_t pull_first(struct http_stream *stream, char *buf, size_t len)
{
	size_t part = MIN(len, stream->first.n - stream->first_sent);
	memcpy(buf, stream->first.s + stream->first_sent, part);
	stream->first_sent += part;
	if (stream->first_sent == stream->first.n)
		strbuf_done(&stream->first), stream->first_sent = 0;
	return part;
}

/* Rests until woken, which may be at once: the library then asks again after its other
 * connections. */
static void rest_stream(struct http_stream *stream)
{
	pthread_mutex_lock(&stream->lock);
	MHD_suspend_connection(stream->mc);
	if (stream->woken)
		MHD_resume_connection(stream->mc);
	else
		stream->resting = true;
	pthread_mutex_unlock(&stream->lock);
}

static ssize_t on_pull(void *ctx, uint64_t pos, char *buf, size_t len)
{
	struct http_stream *s = ctx;
	(void)pos;
	pthread_mutex_lock(&s->lock);
	bool over = s->over, gone = s->gone;
	s->woken = over;
	pthread_mutex_unlock(&s->lock);
	if (gone || (over && s->ops->whole))
		return MHD_CONTENT_READER_END_WITH_ERROR;
	if (s->first.n > 0)
		return (ssize_t)pull_first(s, buf, len);
	ssize_t got = over ? HTTP_STREAM_END : s->ops->pull(s->ctx, buf, len);
	if (got == HTTP_STREAM_BROKEN)
		return MHD_CONTENT_READER_END_WITH_ERROR;
	if (got < 0)
		return MHD_CONTENT_READER_END_OF_STREAM;
	if (got == 0)
		rest_stream(s);
	return got;
}

/* --- the watcher --- */

static void client_gone(struct http_streams *all, uint64_t id)
{
	pthread_mutex_lock(&all->lock);
	for (struct http_stream *s = all->ring.next; s != &all->ring; s = s->next) {
		if (s->id == id)
			end_stream(s, true);
	}
	pthread_mutex_unlock(&all->lock);
}

static void *watch_clients(void *ctx)
{
	struct http_streams *all = ctx;
	for (;;) {
		struct epoll_event e;
		int n = epoll_wait(all->epoll_fd, &e, 1, -1);
		if (n < 0 && errno != EINTR)
			return NULL;
		if (n <= 0)
			continue;
		if (e.data.u64 == QUIT_ID)
			return NULL;
		/* By number: the stream may be freed since. */
		client_gone(all, e.data.u64);
	}
}

static bool watch_fd(struct http_streams *all, int fd, uint32_t events, uint64_t id)
{
	struct epoll_event e = { .events = events, .data.u64 = id };
	return epoll_ctl(all->epoll_fd, EPOLL_CTL_ADD, fd, &e) == 0;
}

static bool start_watcher(struct http_streams *all)
{
	pthread_attr_t attr;
	sigset_t mask, old;
	sigfillset(&mask);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, WATCHER_STACK_BYTES);
	pthread_sigmask(SIG_SETMASK, &mask, &old);
	int r = pthread_create(&all->watcher, &attr, watch_clients, all);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	return r == 0;
}

static void free_all(struct http_streams *all)
{
	if (all->epoll_fd >= 0)
		close(all->epoll_fd);
	if (all->quit_fd >= 0)
		close(all->quit_fd);
	pthread_mutex_destroy(&all->lock);
	free(all);
}

struct http_streams *http_streams_new(void)
{
	struct http_streams *all = xcalloc(1, sizeof(*all));
	pthread_mutex_init(&all->lock, NULL);
	all->ring.prev = all->ring.next = &all->ring;
	all->last_id = QUIT_ID;
	all->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	all->quit_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (all->epoll_fd >= 0 && all->quit_fd >= 0 &&
	    watch_fd(all, all->quit_fd, EPOLLIN, QUIT_ID) && start_watcher(all))
		return all;
	free_all(all);
	return NULL;
}

void http_streams_end(struct http_streams *all)
{
	pthread_mutex_lock(&all->lock);
	all->over = true;
	for (struct http_stream *s = all->ring.next; s != &all->ring; s = s->next)
		end_stream(s, false);
	pthread_mutex_unlock(&all->lock);
}

void http_streams_free(struct http_streams *all)
{
	if (all == NULL)
		return;
	eventfd_write(all->quit_fd, 1);
	pthread_join(all->watcher, NULL);
	free_all(all);
}

/* --- one stream --- */

struct http_stream *http_stream_new(struct http_streams *all, struct MHD_Connection *mc)
{
	struct http_stream *s = xcalloc(1, sizeof(*s));
	s->all = all;
	s->mc = mc;
	strbuf_init(&s->first);
	pthread_mutex_init(&s->lock, NULL);
	return s;
}

static void enlist_stream(struct http_stream *stream)
{
	struct http_streams *all = stream->all;
	int fd = MHD_get_connection_info(stream->mc, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
	pthread_mutex_lock(&all->lock);
	stream->id = ++all->last_id;
	stream->next = &all->ring;
	stream->prev = all->ring.prev;
	stream->prev->next = stream;
	all->ring.prev = stream;
	if (all->over)
		end_stream(stream, false);
	pthread_mutex_unlock(&all->lock);
	/* Once is enough, and the kernel forgets it when the socket is closed. A second stream on
	 * the same connection watches anew. If that fails, the next write does, too. */
	struct epoll_event e = { .events = EPOLLRDHUP | EPOLLONESHOT, .data.u64 = stream->id };
	if (!watch_fd(all, fd, e.events, stream->id) && errno == EEXIST)
		epoll_ctl(all->epoll_fd, EPOLL_CTL_MOD, fd, &e);
}

struct MHD_Response *http_stream_response(struct http_stream *stream,
					  const struct http_stream_ops *ops, void *ctx,
					  struct strbuf *body)
{
	stream->ops = ops;
	stream->ctx = ctx;
	stream->first = *body;
	strbuf_init(body);
	enlist_stream(stream);
	return MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, PULL_BYTES, on_pull, stream,
						 NULL);
}

void http_stream_free(struct http_stream *stream)
{
	if (stream == NULL)
		return;
	if (stream->ops != NULL) {
		pthread_mutex_lock(&stream->all->lock);
		stream->prev->next = stream->next;
		stream->next->prev = stream->prev;
		pthread_mutex_unlock(&stream->all->lock);
		stream->ops->done(stream->ctx);
	}
	strbuf_done(&stream->first);
	pthread_mutex_destroy(&stream->lock);
	free(stream);
}
