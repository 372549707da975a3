/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which exchange goes over which connection, and what becomes of exchanges when one breaks. */
#pragma once

#include "resolve/stream_priv.h"

/* All on the resolver's loop thread. Queues the exchange on a connection, or lets it wait for
 * one; if neither is possible it fails, which its callback learns later, not from inside this
 * call. */
void stream_pool_enqueue(struct resolve_pool *pool, struct resolve_exchange *exchange);
/* A connection has room: queues waiting exchanges, oldest first. */
void stream_pool_pump(struct resolve_pool *pool);
void stream_pool_unwait(struct resolve_pool *pool, struct resolve_exchange *exchange);

/* The connection is of no use: its exchanges fail with `code`, or are asked once more on another
 * one. Closes it. */
void stream_lost(struct stream *stream, int code);
/* Asks it once more on another connection if that makes sense, else it fails. */
void stream_retry(struct stream *stream, struct resolve_exchange *exchange, int code);
bool stream_is_stalled(const struct stream *stream, uint64_t now);
uint64_t stream_patience_ns(const struct stream *stream);
/* It is stalled: what was asked behind its oldest question is asked once more elsewhere, a few at a
 * time. True when there are more. */
bool stream_rescue(struct stream *stream);
/* Those that are too many for it now that it is open go elsewhere. */
void stream_shed(struct stream *stream);
/* Exchanges that were not put yet go elsewhere; the connection gets no more. */
void stream_stop(struct stream *stream);
