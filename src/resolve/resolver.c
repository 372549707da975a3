/* The resolver: its pools, starting exchanges, calling back. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "resolve/resolve_priv.h"

/* ---- pools ---- */

static struct resolve_pool **bucket_of(struct resolver *r, const struct resolve_upstream *u)
{
	uint64_t h = (uint64_t)(uintptr_t)u * UINT64_C(0x9e3779b97f4a7c15);
	return &r->pools[h >> 58];
}
static_assert(POOL_BUCKETS == 1 << (64 - 58), "the hash's top bits name a bucket");

struct resolve_pool *resolver_pool(struct resolver *r, const struct resolve_upstream *u)
{
	struct resolve_pool *p = *bucket_of(r, u);
	while (p != NULL && p->up != u)
		p = p->next;
	return p;
}

static struct resolve_pool *pool_get(struct resolver *r, struct resolve_upstream *u)
{
	struct resolve_pool *p = resolver_pool(r, u);
	if (p != NULL)
		return p;
	struct resolve_pool **bucket = bucket_of(r, u);
	p = xcalloc(1, sizeof(*p));
	p->r = r;
	p->up = resolve_upstream_ref(u);
	p->max_streams = STREAMS_ALONE;
	p->depth = UINT32_MAX;
	p->new_depth = u->conf.transport == RESOLVE_HTTPS ? STREAM_DEPTH_HTTP : STREAM_DEPTH;
	p->next = *bucket;
	*bucket = p;
	return p;
}

static void pool_free(struct resolve_pool *p)
{
	struct resolve_pool **at = bucket_of(p->r, p->up);
	while (*at != p)
		at = &(*at)->next;
	*at = p->next;
	resolve_upstream_unref(p->up);
	free(p->ticket.p);
	free(p);
}

static void free_forgotten(struct resolver *r)
{
	r->forgotten = false;
	for (unsigned i = 0; i < POOL_BUCKETS; i++) {
		for (struct resolve_pool *p = r->pools[i], *next; p != NULL; p = next) {
			next = p->next;
			if (p->forgotten && p->links == NULL && p->waiting.first == NULL)
				pool_free(p);
			else if (p->forgotten)
				r->forgotten = true;
		}
	}
}

void resolver_bury(struct resolver *r)
{
	if (r->depth != 0)
		return;
	while (r->grave != NULL) {
		struct resolve_link *l = r->grave;
		r->grave = l->next;
		if (l->ops->destroy != NULL)
			l->ops->destroy(l);
		free(l);
	}
	if (r->forgotten)
		free_forgotten(r);
}

/* ---- in and out ---- */

void resolver_enter(struct resolver *r)
{
	r->depth++;
}

/* Only those that are ready now: an exchange that fails again at once, each time it is started
 * anew, takes turns with everything else. */
static void call_back(struct resolver *r)
{
	struct resolve_exchange *last = r->ready.last;
	while (r->ready.first != NULL) {
		struct resolve_exchange *x = r->ready.first;
		xlist_remove(&r->ready, x);
		x->state = X_IDLE;
		bool was_last = x == last;
		x->done(x);
		if (was_last)
			break;
	}
	if (r->ready.first != NULL)
		resolver_arm(r);
}

void resolver_leave(struct resolver *r)
{
	if (r->depth == 1 && r->ready.first != NULL)
		call_back(r);
	r->depth--;
	resolver_bury(r);
}

void resolver_arm(struct resolver *r)
{
	if (r->armed)
		return;
	r->armed = true;
	r->env.arm(r->env.ctx);
}

void resolver_pump(struct resolver *r)
{
	r->pump = true;
	resolver_arm(r);
}

static void pump_all(struct resolver *r)
{
	r->pump = false;
	for (unsigned i = 0; i < POOL_BUCKETS; i++) {
		for (struct resolve_pool *p = r->pools[i]; p != NULL; p = p->next)
			stream_pool_pump(p);
	}
}

void resolver_flush(struct resolver *r)
{
	r->armed = false;
	r->batch++;
	resolver_enter(r);
	if (r->pump)
		pump_all(r);
	while (r->dirty != NULL) {
		struct resolve_link *l = r->dirty;
		r->dirty = l->dirty_next;
		l->dirty = false;
		l->ops->flush(l);
	}
	resolver_leave(r);
}

/* ---- starting and cancelling ---- */

static void randomise_case(struct resolver *r, struct resolve_exchange *x)
{
	size_t name_n = x->question_n - 4U; /* type and class have no letters */
	rng_strong_bytes(&r->rng, x->case_bits, (name_n + 7) / 8);
	check_flip_case(x->msg + DNS_HEADER_BYTES, name_n, x->case_bits);
}

static enum resolve_proto proto_of(const struct resolve_exchange *x)
{
	switch (x->up->conf.transport) {
	case RESOLVE_PLAIN:
		break;
	case RESOLVE_TLS:
		return RESOLVE_TCP_TLS;
	case RESOLVE_HTTPS:
		return RESOLVE_DOH;
	}
	return x->tcp ? RESOLVE_TCP : RESOLVE_UDP;
}

void resolve_start(struct resolver *r, struct resolve_exchange *x)
{
	int question_n = check_question(x->msg, x->msg_n);
	struct resolve_pool *p = pool_get(r, x->up);
	assert(x->state == X_IDLE);
	p->forgotten = false;
	x->question_n = (uint16_t)MAX(question_n, 4);
	x->asked_id = dns_get16(x->msg);
	x->reply = NULL;
	x->reply_n = 0;
	x->reply_tc = x->retried = x->alone = x->reused = false;
	x->link = NULL;
	x->link_after = x->fresh ? r->link_seq : 0;
	x->state = X_SENT; /* until a link takes it */
	wheel_add(r, x);
	if (x->random_case)
		randomise_case(r, x);
	x->proto = proto_of(x);
	if (question_n < 0)
		exchange_fail(r, x, RESOLVE_NETWORK, ERR_PARSE);
	else if (x->proto == RESOLVE_UDP)
		resolve_udp_enqueue(p, x);
	else
		stream_pool_enqueue(p, x);
}

/* ---- the resolver itself ---- */

struct resolver *resolver_new(const struct resolver_env *env)
{
	struct resolver *r = xcalloc(1, sizeof(*r));
	r->env = *env;
	rng_strong_init(&r->rng);
	r->wheel.timer.cb = wheel_fire;
	r->wheel.tick = 0;
	r->sweep.cb = link_sweep;
	resolve_udp_prepare(r);
	return r;
}

void resolver_forget(struct resolver *r, struct resolve_upstream *u)
{
	resolve_health_stop(r, u);
	struct resolve_pool *p = resolver_pool(r, u);
	if (p == NULL)
		return;
	p->forgotten = r->forgotten = true;
	for (struct resolve_link *l = p->links, *next; l != NULL; l = next) {
		next = l->next;
		link_drain(l);
	}
	resolver_bury(r);
}

void resolver_free(struct resolver *r)
{
	if (r == NULL)
		return;
	assert(r->depth == 0);
	r->armed = true; /* nobody is to be woken any more */
	resolve_health_stop(r, NULL);
	for (unsigned i = 0; i < WHEEL_SLOTS; i++) {
		while (r->wheel.slot[i] != NULL)
			exchange_detach(r, r->wheel.slot[i]);
	}
	while (r->ready.first != NULL)
		exchange_detach(r, r->ready.first);
	for (unsigned i = 0; i < POOL_BUCKETS; i++) {
		while (r->pools[i] != NULL) {
			struct resolve_pool *p = r->pools[i];
			while (p->links != NULL)
				link_close(p->links);
			p->forgotten = false;
			resolver_bury(r);
			pool_free(p);
		}
	}
	loop_timer_stop(r->env.loop, &r->wheel.timer);
	loop_timer_stop(r->env.loop, &r->sweep);
	free(r->rx_buf);
	free(r->stream_in);
	free(r->doh_reply);
	free(r);
}

const struct resolver_stats *resolver_stats(const struct resolver *r)
{
	return &r->stats;
}
