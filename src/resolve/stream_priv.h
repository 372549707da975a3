/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Connections: TCP, TLS, and HTTP over TLS. stream.c has their life and their I/O, stream_pool.c
 * decides which exchange goes over which, and what becomes of exchanges when one breaks. A codec
 * turns questions into bytes and bytes into replies. */
#pragma once

#include "base/slice.h"
#include "base/strbuf.h"
#include "net/tls.h"
#include "resolve/tcp_frame.h"
#include "resolve/types_priv.h"

enum {
	STREAMS = 64,	   /* connections of a pool */
	STREAMS_BUSY = 16, /* that are opened only because others are busy */
	STREAM_SPREAD = 8, /* with so many on each, another connection is opened */
	STREAM_RESCUE = 8, /* exchanges of a stalled connection that are asked again at a time */
	STREAM_WAITING = 1024, /* exchanges of a pool that wait for a connection with room */
	STREAM_OUT_HIGH = 64 * 1024,
};

/* A connection is stalled when nothing came for so long, or for two round trips, although questions
 * are open on it: the peer may answer in order and be busy with a name that has no answer. Not so
 * where replies were seen in another order. */
#define STREAM_STALL_NS (100 * NS_PER_MS)

/* Nothing came for so long: a peer that answers in order takes its time for each question, and more
 * connections make it answer more of them. */
#define STREAM_SLOW_NS (5 * NS_PER_MS)

/* For so long after a question that was held up had its answer elsewhere, the peer is taken for one
 * that answers in order. */
#define STREAM_IN_ORDER_NS (10 * NS_PER_S)

enum stream_phase { STREAM_CONNECTING, STREAM_HANDSHAKE, STREAM_OPEN };

struct stream;
struct http_framing;

struct stream_codec {
	/* After the connection was opened. ERR_ code: it is of no use. */
	MUST_CHECK int (*opened)(struct stream *stream);
	/* Makes bytes of a question. ERR_BUSY: not now; ERR_CLOSED: never again on this one;
	 * another code: there is something about this question. */
	MUST_CHECK int (*put)(struct stream *stream, struct resolve_exchange *exchange);
	/* Bytes that came, behind those that tcp_frame_restore put in front. Negative: of no use any
	 * more. The stream may be closed afterwards. */
	MUST_CHECK int (*feed)(struct stream *stream, uint8_t *buf, size_t len);
	/* The peer sends no more: what it left may be complete by that. NULL: it is not. */
	void (*ended)(struct stream *stream);
	struct slice (*out)(struct stream *stream);
	void (*sent)(struct stream *stream, size_t count);
	/* An exchange that was put ends without its reply. NULL: nothing to do. */
	void (*drop)(struct stream *stream, struct resolve_exchange *exchange);
	void (*free)(struct stream *stream);
};
extern const struct stream_codec stream_dns_codec;
extern const struct stream_codec doh_codec;

struct stream {
	struct resolve_link link; /* first */
	enum stream_phase phase;
	const struct stream_codec *codec;
	struct net_tls *tls;	 /* NULL: plain */
	struct loop_timer timer; /* of the dial, then of stalls */
	bool ticket_kept;
	uint32_t events;
	uint32_t depth;		  /* exchanges at once */
	uint32_t answered;	  /* in all */
	uint64_t heard_ns;	  /* when the last reply came, or it was opened */
	uint64_t silent_since_ns; /* questions are open and nothing has come since; 0: none are open
				   */
	size_t unsent_tls;	  /* TLS must be given as much again */
	struct tcp_frame frame;
	struct strbuf out;
	size_t out_at;
	struct http_framing *http;
};

static inline struct stream *stream_of(struct resolve_link *link)
{
	return (struct stream *)(void *)link;
}

MUST_CHECK int stream_dial(struct resolve_pool *pool, struct stream **ret);
bool stream_is(const struct resolve_link *link);
/* The peer answered something. */
void stream_heard(struct stream *stream);
/* A reply to an exchange that was put on this stream. */
void stream_answered(struct stream *stream, struct resolve_exchange *exchange, uint8_t *msg,
		     size_t len);
