/* SPDX-License-Identifier: GPL-3.0-or-later */
/* HTTP of the data plane (DNS over HTTPS): framing without I/O. Bytes of a connection go in, bytes
 * to send come out, and whole messages stand in between. The same calls serve HTTP/1.1 and HTTP/2,
 * servers and clients. One thread; no clock but the time that is handed in.
 *
 * Glossary
 *   message  a request or a response with its whole body, as callbacks and senders see it
 *   stream   one request and its response; numbers grow and are not used twice
 *
 * A caller loops: bytes received are fed, http_framing_out returns what to send, http_framing_sent
 * takes away what was sent. Callbacks come only from feed and eof, and may call any function but
 * feed, eof and free. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/compiler.h"
#include "base/slice.h"

enum {
	HTTP_BODY_MAX = 65535,	       /* of a message */
	HTTP_HEAD_MAX = 16 * 1024,     /* a message's start line and header fields */
	HTTP_FIELDS_MAX = 64,	       /* header fields of a message */
	HTTP_OUT_HIGH = 64 * 1024,     /* bytes to send beyond which no frame is made (HTTP/2), no
				       * request is read (HTTP/1.1) */
	HTTP_HELD_MAX = 256 * 1024,    /* HTTP/2: of messages that are not whole yet */
	HTTP_UNSENT_MAX = 2048 * 1024, /* HTTP/2: of answers; then requests are refused */
	HTTP_DEFAULT_STREAMS = 250,
};

enum http_role { HTTP_ROLE_SERVER, HTTP_ROLE_CLIENT };
enum http_version { HTTP_1_1, HTTP_2 };

/* Texts may be empty. A message handed to a callback lives until the callback returns; one that is
 * handed in is copied. */
struct http_message {
	struct slice method; /* request */
	struct slice
		target; /* request: path with query, as sent ("https://host/path" is left so) */
	struct slice authority; /* request: Host or :authority */
	unsigned status;	/* response: 200 to 599 */
	struct slice content_type;
	struct slice accept;	    /* request */
	struct slice cache_control; /* response */
	struct slice body;
	bool too_long; /* received by a server: the body was longer than HTTP_BODY_MAX and is empty
			* here
			*/
};

struct http_framing_calls {
	/* A server got a request, a client the response to its request. */
	void (*message)(void *ctx, uint32_t stream, void *user, const struct http_message *message);
	/* The stream ended before that (client), or before it was answered (server; answers to it
	 * are then ignored). `err`: ERR_CLOSED, ERR_PARSE, ERR_LIMIT. May be NULL. */
	void (*gone)(void *ctx, uint32_t stream, void *user, int err);
};

struct http_framing_conf {
	enum http_role role;
	enum http_version version;
	uint32_t max_streams; /* HTTP/2 server: at once; 0: HTTP_DEFAULT_STREAMS */
	struct http_framing_calls calls;
	void *ctx;
};

struct http_framing;

/* A client may send requests, and http_framing_out has something to send, at once. */
struct http_framing *http_framing_new(const struct http_framing_conf *conf);
void http_framing_free(struct http_framing *framing); /* NULL is fine; calls nothing back */

/* Takes received bytes; returns how many were used, or an error after which the connection is of no
 * use: ERR_PARSE, ERR_LIMIT (a flood or something too large), ERR_CLOSED. http_framing_out may then
 * still have an error for the peer: send it, then close. Streams are called gone. Fewer
 * than n are used only by an HTTP/1.1 server that has a request to answer first, or as much to
 * send as it holds (http_framing_is_full): feed the rest later. now_ns: monotonic. */
MUST_CHECK ssize_t http_framing_feed(struct http_framing *framing, const void *data, size_t len,
				     uint64_t now_ns);
/* The peer sends no more, or the connection is abandoned (clients call it then, too). A client's
 * streams without a response are called gone; a response that lasts to the end of its connection is
 * complete. */
void http_framing_eof(struct http_framing *framing);

/* What is to be sent now, in one piece (empty: nothing); valid until the next call. */
struct slice http_framing_out(struct http_framing *framing);
void http_framing_sent(struct http_framing *framing, size_t count);

/* Server: answers a stream; ignored when it is gone. ERR_LIMIT for a body that is too long. */
MUST_CHECK int http_framing_respond(struct http_framing *framing, uint32_t stream,
				    const struct http_message *message);
/* Server: a request that is not answered, for want of room; the client may ask again. */
void http_framing_refuse(struct http_framing *framing, uint32_t stream);
/* Client: sends a request. ERR_BUSY while as many are under way as the server allows (HTTP/1.1:
 * one); ERR_CLOSED when the connection takes no more; ERR_LIMIT. */
MUST_CHECK int http_framing_request(struct http_framing *framing,
				    const struct http_message *message, void *user,
				    uint32_t *ret_stream);
/* Client: its response is not wanted any more; it is not called back. */
void http_framing_cancel(struct http_framing *framing, uint32_t stream);

/* No further request on this connection: a server accepts no new one (and tells the client by
 * GOAWAY or Connection: close), a client sends none. Streams under way go on. */
void http_framing_end(struct http_framing *framing);
/* Nothing more will come of it: all streams are done, and the peer or we ended it. Close when
 * http_framing_out is empty. */
bool http_framing_over(const struct http_framing *framing);
/* Bytes that were handed in or made and not sent; with HTTP/2 also those the peer does not want
 * yet.
 */
size_t http_framing_unsent(const struct http_framing *framing);
/* Bytes of messages that are not whole yet. */
size_t http_framing_held(const struct http_framing *framing);
/* HTTP/1.1 server: no request is taken before some of what is unsent was sent. */
bool http_framing_is_full(const struct http_framing *framing);
/* HTTP/2 server: cancels responses that wait to be sent since so long, counted in calls of this;
 * true when there were some (http_framing_out has the frames for the client). */
bool http_framing_expire(struct http_framing *framing, uint64_t now_ns, uint64_t max_ns);
/* Streams that wait for their response. */
size_t http_framing_pending(const struct http_framing *framing);
