/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The resolver of one loop: its pools of sockets and connections, starting exchanges, sending what
 * is queued, and calling back those that ended. */
#include "resolve/resolver.h"

#include "resolve/resolver_priv.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "resolve/reply_check_priv.h"
#include "resolve/exchange_priv.h"
#include "resolve/health_priv.h"
#include "resolve/link_priv.h"
#include "resolve/stream_pool_priv.h"
#include "resolve/types_priv.h"
#include "resolve/udp_priv.h"
#include "resolve/upstream.h"
#include "resolve/wheel_priv.h"

/* ---- pools ---- */

static struct resolve_pool **bucket_of(struct resolver *resolver,
				       const struct resolve_upstream *upstream)
{
	uint64_t h = (uint64_t)(uintptr_t)upstream * UINT64_C(0x9e3779b97f4a7c15);
	return &resolver->pools[h >> 58];
}
static_assert(POOL_BUCKETS == 1 << (64 - 58), "the hash's top bits name a bucket");

struct resolve_pool *resolver_pool(struct resolver *resolver,
				   const struct resolve_upstream *upstream)
{
	struct resolve_pool *pool = *bucket_of(resolver, upstream);
	while (pool != NULL && pool->up != upstream)
		pool = pool->next;
	return pool;
}

static struct resolve_pool *pool_get(struct resolver *resolver, struct resolve_upstream *upstream)
{
	struct resolve_pool *pool = resolver_pool(resolver, upstream);
	if (pool != NULL)
		return pool;
	struct resolve_pool **bucket = bucket_of(resolver, upstream);
	pool = xcalloc(1, sizeof(*pool));
	pool->resolver = resolver;
	pool->up = resolve_upstream_ref(upstream);
	pool->max_streams = STREAMS_ALONE;
	pool->depth = UINT32_MAX;
	pool->new_depth =
		upstream->conf.transport == RESOLVE_HTTPS ? STREAM_DEPTH_HTTP : STREAM_DEPTH;
	pool->next = *bucket;
	*bucket = pool;
	return pool;
}

static void pool_free(struct resolve_pool *pool)
{
	assert(pool->links == NULL && pool->n_udp == 0 && pool->n_streams == 0);
	assert(pool->waiting.first == NULL && pool->n_waiting == 0);
	struct resolve_pool **at = bucket_of(pool->resolver, pool->up);
	while (*at != pool)
		at = &(*at)->next;
	*at = pool->next;
	resolve_upstream_unref(pool->up);
	free(pool->ticket.p);
	free(pool);
}

void resolver_bury(struct resolver *resolver)
{
	if (resolver->depth != 0)
		return;
	while (resolver->grave != NULL) {
		struct resolve_link *link = resolver->grave;
		assert(link->io.fd < 0 && link->inflight == 0 && !link->dirty);
		resolver->grave = link->next;
		if (link->ops->destroy != NULL)
			link->ops->destroy(link);
		free(link);
	}
}

/* ---- in and out ---- */

void resolver_enter(struct resolver *resolver)
{
	resolver->depth++;
}

/* Only those that are ready now: an exchange that fails again at once, each time it is started
 * anew, takes turns with everything else. */
static void call_back(struct resolver *resolver)
{
	struct resolve_exchange *last = resolver->ready.last;
	while (resolver->ready.first != NULL) {
		struct resolve_exchange *exchange = resolver->ready.first;
		assert(exchange->state == X_READY && exchange->link == NULL);
		xlist_remove(&resolver->ready, exchange);
		exchange->state = X_IDLE;
		bool was_last = exchange == last;
		exchange->done(exchange);
		if (was_last)
			break;
	}
	if (resolver->ready.first != NULL)
		resolver_arm(resolver);
}

void resolver_leave(struct resolver *resolver)
{
	assert(resolver->depth > 0);
	if (resolver->depth == 1 && resolver->ready.first != NULL)
		call_back(resolver);
	resolver->depth--;
	resolver_bury(resolver);
}

void resolver_arm(struct resolver *resolver)
{
	if (resolver->armed)
		return;
	resolver->armed = true;
	resolver->env.arm(resolver->env.ctx);
}

void resolver_pump(struct resolver *resolver)
{
	resolver->pump = true;
	resolver_arm(resolver);
}

static void pump_all(struct resolver *resolver)
{
	resolver->pump = false;
	for (unsigned i = 0; i < POOL_BUCKETS; i++) {
		for (struct resolve_pool *pool = resolver->pools[i]; pool != NULL;
		     pool = pool->next)
			stream_pool_pump(pool);
	}
}

void resolver_flush(struct resolver *resolver)
{
	resolver->armed = false;
	resolver->batch++;
	resolver_enter(resolver);
	if (resolver->pump)
		pump_all(resolver);
	while (resolver->dirty != NULL) {
		struct resolve_link *link = resolver->dirty;
		assert(link->dirty && link->io.fd >= 0);
		resolver->dirty = link->dirty_next;
		link->dirty = false;
		link->ops->flush(link);
	}
	resolver_leave(resolver);
}

/* ---- starting and cancelling ---- */

static void randomise_case(struct resolver *resolver, struct resolve_exchange *exchange)
{
	size_t name_n = exchange->question_n - 4U; /* type and class have no letters */
	rng_strong_bytes(&resolver->rng, exchange->case_bits, (name_n + 7) / 8);
	resolve_flip_case(exchange->msg + DNS_HEADER_BYTES, name_n, exchange->case_bits);
}

static enum resolve_proto proto_of(const struct resolve_exchange *exchange)
{
	switch (exchange->up->conf.transport) {
	case RESOLVE_PLAIN:
		break;
	case RESOLVE_TLS:
		return RESOLVE_TCP_TLS;
	case RESOLVE_HTTPS:
		return RESOLVE_DOH;
	}
	return exchange->tcp ? RESOLVE_TCP : RESOLVE_UDP;
}

void resolve_start(struct resolver *resolver, struct resolve_exchange *exchange)
{
	int question_n = reply_check_question(exchange->msg, exchange->msg_n);
	struct resolve_pool *pool = pool_get(resolver, exchange->up);
	assert(exchange->state == X_IDLE);
	exchange->question_n = (uint16_t)MAX(question_n, 4);
	exchange->asked_id = dns_get16(exchange->msg);
	exchange->reply = NULL;
	exchange->reply_n = 0;
	exchange->reply_tc = exchange->retried = exchange->alone = exchange->reused = false;
	exchange->link = NULL;
	exchange->link_after = exchange->fresh ? resolver->link_seq : 0;
	exchange->state = X_SENT; /* until a link takes it */
	wheel_add(resolver, exchange);
	if (exchange->random_case)
		randomise_case(resolver, exchange);
	exchange->proto = proto_of(exchange);
	if (question_n < 0)
		exchange_fail(resolver, exchange, RESOLVE_NETWORK, ERR_PARSE);
	else if (exchange->proto == RESOLVE_UDP)
		resolve_udp_enqueue(pool, exchange);
	else
		stream_pool_enqueue(pool, exchange);
}

/* ---- the resolver itself ---- */

struct resolver *resolver_new(const struct resolver_env *env)
{
	struct resolver *resolver = xcalloc(1, sizeof(*resolver));
	resolver->env = *env;
	rng_strong_init(&resolver->rng);
	resolver->wheel.timer.cb = wheel_fire;
	resolver->wheel.tick = 0;
	resolver->sweep.cb = link_sweep;
	resolve_udp_prepare(resolver);
	return resolver;
}

void resolver_free(struct resolver *resolver)
{
	if (resolver == NULL)
		return;
	assert(resolver->depth == 0);
	resolver->armed = true; /* nobody is to be woken any more */
	resolve_health_stop(resolver, NULL);
	for (unsigned i = 0; i < WHEEL_SLOTS; i++) {
		while (resolver->wheel.slot[i] != NULL)
			exchange_detach(resolver, resolver->wheel.slot[i]);
	}
	while (resolver->ready.first != NULL)
		exchange_detach(resolver, resolver->ready.first);
	for (unsigned i = 0; i < POOL_BUCKETS; i++) {
		while (resolver->pools[i] != NULL) {
			struct resolve_pool *pool = resolver->pools[i];
			while (pool->links != NULL)
				link_close(pool->links);
			resolver_bury(resolver);
			pool_free(pool);
		}
	}
	loop_timer_stop(resolver->env.loop, &resolver->wheel.timer);
	loop_timer_stop(resolver->env.loop, &resolver->sweep);
	free(resolver->rx_buf);
	free(resolver->stream_in);
	free(resolver->doh_reply);
	free(resolver);
}

const struct resolver_stats *resolver_stats(const struct resolver *resolver)
{
	return &resolver->stats;
}
