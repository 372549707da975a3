/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Answers that are sent in pieces: watches and long lists. The HTTP server's one thread pulls them
 * and must not block: it produces cheap pieces itself; pieces that read the disk or check many
 * objects are produced by the filler, a thread that serves all streams in turn. A stream buffers
 * one piece. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include <sys/types.h>
#include "base/strbuf.h"

enum {
	/* A piece of the filler ends after so many bytes, or so many objects read. */
	APISERVER_PIECE_BYTES = 128 * 1024,
	APISERVER_PIECE_ROWS = 512,
};

struct apiserver_filler;
struct apiserver_stream;

struct apiserver_stream_ops {
	/* Appends to `out`, or sets `ended`, or does neither when there is nothing now;
	 * apiserver_stream_woken is called later. True: not finished because that would take too
	 * long; the filler calls it again. `swift`: called on the HTTP thread, must not block. */
	bool (*produce)(struct apiserver_stream *stream, bool swift);
	/* Frees the stream; produce is not called any more. It first stops whoever calls
	 * apiserver_stream_woken, then calls apiserver_stream_done. */
	void (*free)(struct apiserver_stream *stream);
};

/* To be embedded as the first member. */
struct apiserver_stream {
	const struct apiserver_stream_ops *ops;
	struct apiserver_filler *filler;
	struct strbuf out;
	size_t sent;
	bool ended;  /* `out` has the last piece */
	bool broken; /* the stream ended before it was complete */

	atomic_bool filling;	       /* the filler owns all members above */
	struct apiserver_stream *next; /* in the filler's queue */

	pthread_mutex_t lock; /* guards the three below */
	void (*wake)(void *ctx);
	void *wake_ctx;
	bool woken;
};

struct apiserver_filler *apiserver_filler_new(void);
/* All streams must have been freed. NULL is fine. */
void apiserver_filler_free(struct apiserver_filler *filler);

void apiserver_stream_init(struct apiserver_stream *stream, struct apiserver_filler *filler,
			   const struct apiserver_stream_ops *ops);
/* Reports that there may be something to produce; any thread. */
void apiserver_stream_woken(struct apiserver_stream *stream);
/* For ops->free. */
void apiserver_stream_done(struct apiserver_stream *stream);

/* `wake` is called, from any thread, when there is something to pull after a pull returned 0. */
void apiserver_stream_on_wake(struct apiserver_stream *stream, void (*wake)(void *ctx), void *ctx);
/* As http_stream_ops.pull: bytes written to `buf`, 0: nothing now, HTTP_STREAM_END, or
 * HTTP_STREAM_BROKEN. */
ssize_t apiserver_stream_pull(struct apiserver_stream *stream, char *buf, size_t len);
/* NULL is fine. */
void apiserver_stream_free(struct apiserver_stream *stream);
