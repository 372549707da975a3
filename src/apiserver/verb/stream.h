/* Replies that come in pieces. They are pulled on the HTTP server's one thread, which must not
 * wait: what costs little is made there, what reads the disk or looks at many objects is made by
 * the filler, a thread that serves all streams in turn, a piece each. A stream holds one piece. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include <sys/types.h>
#include "base/strbuf.h"

enum {
	/* A piece that the filler makes ends when it has so many bytes, or has looked at so many
	 * objects. */
	APISERVER_PIECE_BYTES = 128 * 1024,
	APISERVER_PIECE_ROWS = 512,
};

struct apiserver_filler;
struct apiserver_stream;

struct apiserver_stream_ops {
	/* Puts something into `out`, or sets `ended`, or leaves all as it is: nothing now,
	 * apiserver_stream_woken will be called. True: it takes longer than `swift` allows, or than
	 * others should wait for; it is called again by the filler, without `swift`. */
	bool (*produce)(struct apiserver_stream *s, bool swift);
	/* When produce is not called any more. Whoever wakes it is stopped first, then
	 * apiserver_stream_done, then all of it is freed. */
	void (*free)(struct apiserver_stream *s);
};

/* To be embedded, at the beginning. */
struct apiserver_stream {
	const struct apiserver_stream_ops *ops;
	struct apiserver_filler *filler;
	struct strbuf out;
	size_t sent;
	bool ended;  /* what is in `out` is the last */
	bool broken; /* and it is not complete */

	atomic_bool filling;	       /* all above is the filler's */
	struct apiserver_stream *next; /* in its queue */

	pthread_mutex_t lock; /* guards the three below */
	void (*wake)(void *ctx);
	void *wake_ctx;
	bool woken;
};

struct apiserver_filler *apiserver_filler_new(void);
/* No stream may be left. NULL is fine. */
void apiserver_filler_free(struct apiserver_filler *filler);

void apiserver_stream_init(struct apiserver_stream *stream, struct apiserver_filler *filler,
			   const struct apiserver_stream_ops *ops);
/* There may be something to produce; any thread. */
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
