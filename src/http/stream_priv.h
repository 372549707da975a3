/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Streams of an http_service: replies pulled piece by piece on the library's thread. A stream with
 * nothing to say has its connection suspended; whoever wakes it resumes the connection. The library
 * does not poll suspended connections, so one thread of ours watches for clients that go. */
#pragma once

#include <microhttpd.h>
#include <stdbool.h>

#include "http/service.h"

struct http_streams;

/* NULL when there are no descriptors or threads left. */
struct http_streams *http_streams_new(void);
/* Every stream, those that are still to come too, is at its end when next pulled. */
void http_streams_end(struct http_streams *all);
/* When the last stream is free. NULL is fine. */
void http_streams_free(struct http_streams *all);

struct http_stream *http_stream_new(struct http_streams *all, struct MHD_Connection *mc);
/* Hands over what the handler returned: `ops` is called from now on, `body` is taken over. NULL:
 * out of memory, the stream is unchanged. */
struct MHD_Response *http_stream_response(struct http_stream *stream,
					  const struct http_stream_ops *ops, void *ctx,
					  struct strbuf *body);
/* Calls ops->done where there are ops. NULL is fine. */
void http_stream_free(struct http_stream *stream);
