/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which exchange goes over which connection, who waits for one, and what becomes of exchanges when
 * a connection breaks. */
#include "resolve/stream_pool_priv.h"

#include <assert.h>
#include <stdio.h>

#include "base/err.h"
#include "resolve/reply_check_priv.h"
#include "resolve/exchange_priv.h"
#include "resolve/link_priv.h"
#include "resolve/resolver_priv.h"
#include "resolve/stream_priv.h"

/* ---- choosing ---- */

/* An exchange that met a closed connection must not meet another one: it wants one that carried
 * nothing yet and was opened after it asked. */
static bool suits_exchange(const struct stream *stream, const struct resolve_exchange *exchange)
{
	uint32_t depth = MIN(stream->depth, stream->link.pool->depth);
	if (stream->link.draining || stream->link.inflight >= depth)
		return false;
	if (exchange->link_after == 0)
		return true;
	return stream->link.seq > exchange->link_after && stream->answered == 0;
}

static bool too_old(const struct resolve_link *link, uint64_t now)
{
	uint64_t max = link->pool->up->conf.max_age_ns;
	return max != 0 && now - link->opened_ns >= max;
}

uint64_t stream_patience_ns(const struct stream *stream)
{
	return MAX(STREAM_STALL_NS, 2 * stream->link.pool->srtt_ns);
}

bool stream_is_stalled(const struct stream *stream, uint64_t now)
{
	return !stream->link.pool->any_order && stream->silent_since_ns != 0 &&
	       now - stream->silent_since_ns >= stream_patience_ns(stream);
}

/* The least loaded of those that are open, that are open and stalled, and that are being opened;
 * NULL for none. */
struct candidates {
	struct stream *open, *stalled, *new;
};

static struct candidates find_candidates(struct resolve_pool *pool,
					 const struct resolve_exchange *exchange)
{
	struct candidates candidates = { 0 };
	uint64_t now = loop_now(pool->resolver->env.loop);
	for (struct resolve_link *link = pool->links, *next; link != NULL; link = next) {
		next = link->next;
		if (!stream_is(link))
			continue;
		if (too_old(link, now)) {
			link_drain(link);
			continue;
		}
		struct stream *stream = stream_of(link);
		struct stream **best = stream->phase != STREAM_OPEN	? &candidates.new
				       : stream_is_stalled(stream, now) ? &candidates.stalled
									: &candidates.open;
		if (suits_exchange(stream, exchange) &&
		    (*best == NULL || link->inflight < (*best)->link.inflight))
			*best = stream;
	}
	return candidates;
}

/* One that is idle makes room for one that is fresh. */
static void close_idle(struct resolve_pool *pool)
{
	for (struct resolve_link *link = pool->links; link != NULL; link = link->next) {
		if (stream_is(link) && link->inflight == 0) {
			link_close(link);
			return;
		}
	}
}

/* A connection without questions; NULL: none is available, so that it must share one. */
static struct stream *choose_alone(struct resolve_pool *pool, const struct candidates *candidates)
{
	struct stream *stream = NULL;
	if (candidates->open != NULL && candidates->open->link.inflight == 0)
		return candidates->open;
	if (candidates->new != NULL && candidates->new->link.inflight == 0)
		return candidates->new;
	return pool->n_streams < pool->max_streams && stream_dial(pool, &stream) == 0 ? stream
										      : NULL;
}

/* Of a peer that answers in order: where a connection is stalled, the next question may stall
 * another one. Elsewhere questions go together, or nobody would ever see a reply overtake another.
 */
static bool goes_alone(const struct resolve_pool *pool, const struct candidates *candidates,
		       const struct resolve_exchange *exchange)
{
	if (exchange->alone)
		return true;
	return candidates->stalled != NULL && pool->held_up_ns != 0 &&
	       loop_now(pool->resolver->env.loop) - pool->held_up_ns < STREAM_IN_ORDER_NS;
}

static bool is_slow(const struct stream *stream)
{
	const struct resolve_pool *pool = stream->link.pool;
	return !pool->any_order && stream->link.inflight != 0 && stream->silent_since_ns != 0 &&
	       loop_now(pool->resolver->env.loop) - stream->silent_since_ns >= STREAM_SLOW_NS;
}

/* Servers that answer one after the other are common, so questions spread over connections before
 * they queue up on one, and keep away from connections that are stalled. Nobody waits for a new one
 * while another has room and is alive. */
static int choose_stream(struct resolve_pool *pool, const struct resolve_exchange *exchange,
			 struct stream **ret)
{
	struct candidates candidates = find_candidates(pool, exchange);
	*ret = goes_alone(pool, &candidates, exchange) ? choose_alone(pool, &candidates) : NULL;
	if (*ret != NULL)
		return 0;
	*ret = candidates.open != NULL ? candidates.open : candidates.new;
	bool slow = candidates.open != NULL && is_slow(candidates.open);
	if (candidates.new != NULL ||
	    (candidates.open != NULL && !slow && candidates.open->link.inflight < STREAM_SPREAD))
		return 0;
	if (pool->n_streams >= STREAMS && candidates.open == NULL)
		close_idle(pool);
	struct stream *another = NULL;
	unsigned most = candidates.open != NULL && !slow ? STREAMS_BUSY : STREAMS;
	int r = pool->n_streams < most ? stream_dial(pool, &another) : ERR_BUSY;
	if (candidates.open != NULL)
		return 0;
	*ret = another != NULL ? another : candidates.stalled;
	return *ret != NULL ? 0 : r;
}

static void queue_on(struct stream *stream, struct resolve_exchange *exchange)
{
	link_add(&stream->link, exchange);
	exchange->state = X_QUEUED;
	xlist_append(&stream->link.queued, exchange);
	link_dirty(&stream->link);
}

static void wait_for_room(struct resolve_pool *pool, struct resolve_exchange *exchange)
{
	assert(exchange->link == NULL);
	exchange->state = X_WAITING;
	xlist_append(&pool->waiting, exchange);
	pool->n_waiting++;
}

void stream_pool_enqueue(struct resolve_pool *pool, struct resolve_exchange *exchange)
{
	struct stream *stream = NULL;
	int r = pool->waiting.first == NULL ? choose_stream(pool, exchange, &stream) : ERR_BUSY;
	if (stream != NULL)
		queue_on(stream, exchange);
	else if (r == ERR_BUSY && pool->n_waiting < STREAM_WAITING)
		wait_for_room(pool, exchange);
	else
		exchange_fail(pool->resolver, exchange, RESOLVE_NETWORK, r);
}

void stream_pool_pump(struct resolve_pool *pool)
{
	while (pool->waiting.first != NULL) {
		struct resolve_exchange *exchange = pool->waiting.first;
		struct stream *stream = NULL;
		int r = choose_stream(pool, exchange, &stream);
		if (stream == NULL && r == ERR_BUSY)
			return;
		if (stream == NULL) {
			exchange_fail(pool->resolver, exchange, RESOLVE_NETWORK, r);
			continue;
		}
		stream_pool_unwait(pool, exchange);
		queue_on(stream, exchange);
	}
}

void stream_pool_unwait(struct resolve_pool *pool, struct resolve_exchange *exchange)
{
	assert(exchange->state == X_WAITING && pool->n_waiting > 0);
	xlist_remove(&pool->waiting, exchange);
	pool->n_waiting--;
}

/* ---- breaking ---- */

static void move_to_waiting(struct stream *stream, struct resolve_exchange *exchange)
{
	struct resolve_pool *pool = stream->link.pool;
	assert(exchange->state == X_QUEUED || exchange->state == X_SENT);
	xlist_remove(exchange->state == X_QUEUED ? &stream->link.queued : &stream->link.sent,
		     exchange);
	link_remove(&stream->link, exchange);
	wait_for_room(pool, exchange);
	resolver_pump(pool->resolver);
}

void stream_retry(struct stream *stream, struct resolve_exchange *exchange, int code)
{
	struct resolver *resolver = stream->link.pool->resolver;
	/* Peers close connections they find idle, and ours may be under way just then. One that
	 * carried nothing before has no such excuse. */
	bool excused = exchange->state == X_QUEUED ||
		       (exchange->reused && !reply_check_is_update(exchange->msg));
	if (stream->phase != STREAM_OPEN || !excused || exchange->retried) {
		exchange_fail(resolver, exchange,
			      code == ERR_TIMEOUT ? RESOLVE_TIMEOUT : RESOLVE_NETWORK, code);
		if (code == ERR_TLS)
			exchange->error_text = stream->link.pool->tls_error;
		return;
	}
	exchange->retried = true;
	exchange->link_after = resolver->link_seq;
	move_to_waiting(stream, exchange);
}

/* A peer that closes right after an answer, while questions are open, answers no more than this
 * many on a connection. One that was silent before closes for want of something to do: what is open
 * are names that it does not answer. */
static void learn_depth(struct stream *stream)
{
	struct resolve_pool *pool = stream->link.pool;
	uint64_t silence = loop_now(pool->resolver->env.loop) - stream->heard_ns;
	if (stream->phase == STREAM_OPEN && stream->link.inflight != 0 &&
	    stream->answered < pool->depth && silence < STREAM_STALL_NS)
		pool->depth = MAX(stream->answered, 1);
}

void stream_lost(struct stream *stream, int code)
{
	struct resolve_link *link = &stream->link;
	if (link->io.fd < 0)
		return;
	learn_depth(stream);
	if (code == ERR_TLS)
		snprintf(link->pool->tls_error, sizeof(link->pool->tls_error), "%s",
			 stream->tls != NULL ? net_tls_error(stream->tls)
					     : "no trusted certificates");
	link->draining = false; /* closed below, when all are off it */
	for (unsigned i = 0; i < ID_BUCKETS && link->inflight != 0; i++) {
		while (link->by_id[i] != NULL)
			stream_retry(stream, link->by_id[i], code);
	}
	link_close(link);
	if (link->pool->waiting.first != NULL)
		resolver_pump(link->pool->resolver);
}

void stream_shed(struct stream *stream)
{
	while (stream->link.inflight > stream->depth && stream->link.queued.last != NULL)
		move_to_waiting(stream, stream->link.queued.last);
}

bool stream_rescue(struct stream *stream)
{
	struct resolve_exchange *next, *x = stream->link.sent.first;
	unsigned n = 0;
	for (x = x != NULL ? x->q_next : NULL; x != NULL; x = next) {
		next = x->q_next;
		if (x->retried || reply_check_is_update(x->msg))
			continue;
		if (n++ == STREAM_RESCUE)
			return true;
		x->retried = x->alone = true;
		if (stream->codec->drop != NULL)
			stream->codec->drop(stream, x);
		move_to_waiting(stream, x);
	}
	return false;
}

void stream_stop(struct stream *stream)
{
	stream->link.draining = true;
	while (stream->link.queued.first != NULL)
		stream_retry(stream, stream->link.queued.first, ERR_CLOSED);
	if (stream->link.inflight == 0)
		link_close(&stream->link);
}
