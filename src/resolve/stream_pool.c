/* Which exchange goes over which connection, who waits for one, and what becomes of exchanges when
 * a connection breaks. */
#include <assert.h>
#include <stdio.h>

#include "base/err.h"
#include "resolve/stream_priv.h"

/* ---- choosing ---- */

/* An exchange that met a closed connection must not meet another one: it wants one that carried
 * nothing yet and was opened after it asked. */
static bool suits(const struct stream *s, const struct resolve_exchange *x)
{
	uint32_t depth = MIN(s->depth, s->l.pool->depth);
	if (s->l.draining || s->l.inflight >= depth)
		return false;
	if (x->link_after == 0)
		return true;
	return s->l.seq > x->link_after && s->answered == 0;
}

static bool too_old(const struct resolve_link *l, uint64_t now)
{
	uint64_t max = l->pool->up->conf.max_age_ns;
	return max != 0 && now - l->opened_ns >= max;
}

uint64_t stream_patience_ns(const struct stream *s)
{
	return MAX(STREAM_STALL_NS, 2 * s->l.pool->srtt_ns);
}

bool stream_is_stalled(const struct stream *s, uint64_t now)
{
	return !s->l.pool->any_order && s->silent_since_ns != 0 &&
	       now - s->silent_since_ns >= stream_patience_ns(s);
}

/* The least loaded of those that are open, that are open and stalled, and that are being opened;
 * NULL for none. */
struct candidates {
	struct stream *open, *stalled, *new;
};

static struct candidates find(struct resolve_pool *p, const struct resolve_exchange *x)
{
	struct candidates c = { 0 };
	uint64_t now = loop_now(p->r->env.loop);
	for (struct resolve_link *l = p->links, *next; l != NULL; l = next) {
		next = l->next;
		if (!stream_is(l))
			continue;
		if (too_old(l, now)) {
			link_drain(l);
			continue;
		}
		struct stream *s = stream_of(l);
		struct stream **best = s->phase != STREAM_OPEN	   ? &c.new
				       : stream_is_stalled(s, now) ? &c.stalled
								   : &c.open;
		if (suits(s, x) && (*best == NULL || l->inflight < (*best)->l.inflight))
			*best = s;
	}
	return c;
}

/* One that is idle makes room for one that is fresh. */
static void close_idle(struct resolve_pool *p)
{
	for (struct resolve_link *l = p->links; l != NULL; l = l->next) {
		if (stream_is(l) && l->inflight == 0) {
			link_close(l);
			return;
		}
	}
}

/* A connection without questions; NULL: none is to be had, so that it must go with others. */
static struct stream *choose_alone(struct resolve_pool *p, const struct candidates *c)
{
	struct stream *s = NULL;
	if (c->open != NULL && c->open->l.inflight == 0)
		return c->open;
	if (c->new != NULL && c->new->l.inflight == 0)
		return c->new;
	return p->n_streams < p->max_streams && stream_dial(p, &s) == 0 ? s : NULL;
}

/* Of a peer that answers in order: where a connection is stalled, the next question may stall
 * another one. Elsewhere questions go together, or nobody would ever see a reply overtake another.
 */
static bool goes_alone(const struct resolve_pool *p, const struct candidates *c,
		       const struct resolve_exchange *x)
{
	if (x->alone)
		return true;
	return c->stalled != NULL && p->held_up_ns != 0 &&
	       loop_now(p->r->env.loop) - p->held_up_ns < STREAM_IN_ORDER_NS;
}

static bool is_slow(const struct stream *s)
{
	const struct resolve_pool *p = s->l.pool;
	return !p->any_order && s->l.inflight != 0 && s->silent_since_ns != 0 &&
	       loop_now(p->r->env.loop) - s->silent_since_ns >= STREAM_SLOW_NS;
}

/* Servers that answer one after the other are common, so questions spread over connections before
 * they queue up on one, and keep away from connections that are stalled. Nobody waits for a new one
 * while another has room and is alive. */
static int choose(struct resolve_pool *p, const struct resolve_exchange *x, struct stream **ret)
{
	struct candidates c = find(p, x);
	*ret = goes_alone(p, &c, x) ? choose_alone(p, &c) : NULL;
	if (*ret != NULL)
		return 0;
	*ret = c.open != NULL ? c.open : c.new;
	bool slow = c.open != NULL && is_slow(c.open);
	if (c.new != NULL || (c.open != NULL && !slow && c.open->l.inflight < STREAM_SPREAD))
		return 0;
	if (p->n_streams >= STREAMS && c.open == NULL)
		close_idle(p);
	struct stream *another = NULL;
	unsigned most = c.open != NULL && !slow ? STREAMS_BUSY : STREAMS;
	int r = p->n_streams < most ? stream_dial(p, &another) : ERR_BUSY;
	if (c.open != NULL)
		return 0;
	*ret = another != NULL ? another : c.stalled;
	return *ret != NULL ? 0 : r;
}

static void give(struct stream *s, struct resolve_exchange *x)
{
	link_add(&s->l, x);
	x->state = X_QUEUED;
	xlist_append(&s->l.queued, x);
	link_dirty(&s->l);
}

static void wait_for_room(struct resolve_pool *p, struct resolve_exchange *x)
{
	x->state = X_WAITING;
	xlist_append(&p->waiting, x);
	p->n_waiting++;
}

void stream_pool_enqueue(struct resolve_pool *p, struct resolve_exchange *x)
{
	struct stream *s = NULL;
	int r = p->waiting.first == NULL ? choose(p, x, &s) : ERR_BUSY;
	if (s != NULL)
		give(s, x);
	else if (r == ERR_BUSY && p->n_waiting < STREAM_WAITING)
		wait_for_room(p, x);
	else
		exchange_fail(p->r, x, RESOLVE_NETWORK, r);
}

void stream_pool_pump(struct resolve_pool *p)
{
	while (p->waiting.first != NULL) {
		struct resolve_exchange *x = p->waiting.first;
		struct stream *s = NULL;
		int r = choose(p, x, &s);
		if (s == NULL && r == ERR_BUSY)
			return;
		if (s == NULL) {
			exchange_fail(p->r, x, RESOLVE_NETWORK, r);
			continue;
		}
		stream_pool_unwait(p, x);
		give(s, x);
	}
}

void stream_pool_unwait(struct resolve_pool *p, struct resolve_exchange *x)
{
	xlist_remove(&p->waiting, x);
	p->n_waiting--;
}

/* ---- breaking ---- */

static void move_to_waiting(struct stream *s, struct resolve_exchange *x)
{
	struct resolve_pool *p = s->l.pool;
	assert(x->state == X_QUEUED || x->state == X_SENT);
	xlist_remove(x->state == X_QUEUED ? &s->l.queued : &s->l.sent, x);
	link_remove(&s->l, x);
	wait_for_room(p, x);
	resolver_pump(p->r);
}

void stream_retry(struct stream *s, struct resolve_exchange *x, int code)
{
	struct resolver *r = s->l.pool->r;
	/* Peers close connections they find idle, and ours may be under way just then. One that
	 * carried nothing before has no such excuse. */
	bool excused = x->reused || x->state == X_QUEUED;
	if (s->phase != STREAM_OPEN || !excused || x->retried) {
		exchange_fail(r, x, code == ERR_TIMEOUT ? RESOLVE_TIMEOUT : RESOLVE_NETWORK, code);
		if (code == ERR_TLS)
			x->error_text = s->l.pool->tls_error;
		return;
	}
	x->retried = true;
	x->link_after = r->link_seq;
	move_to_waiting(s, x);
}

/* A peer that closes right after an answer, while questions are open, answers no more than this
 * many on a connection. One that was silent before closes for want of something to do: what is open
 * are names that it does not answer. */
static void learn_depth(struct stream *s)
{
	struct resolve_pool *p = s->l.pool;
	uint64_t silence = loop_now(p->r->env.loop) - s->heard_ns;
	if (s->phase == STREAM_OPEN && s->l.inflight != 0 && s->answered < p->depth &&
	    silence < STREAM_STALL_NS)
		p->depth = MAX(s->answered, 1);
}

void stream_lost(struct stream *s, int code)
{
	struct resolve_link *l = &s->l;
	if (l->io.fd < 0)
		return;
	learn_depth(s);
	if (code == ERR_TLS)
		snprintf(l->pool->tls_error, sizeof(l->pool->tls_error), "%s",
			 s->tls != NULL ? net_tls_error(s->tls) : "no trusted certificates");
	l->draining = false; /* closed below, when all are off it */
	for (unsigned i = 0; i < ID_BUCKETS && l->inflight != 0; i++) {
		while (l->by_id[i] != NULL)
			stream_retry(s, l->by_id[i], code);
	}
	link_close(l);
	if (l->pool->waiting.first != NULL)
		resolver_pump(l->pool->r);
}

void stream_shed(struct stream *s)
{
	while (s->l.inflight > s->depth && s->l.queued.last != NULL)
		move_to_waiting(s, s->l.queued.last);
}

bool stream_rescue(struct stream *s)
{
	struct resolve_exchange *next, *x = s->l.sent.first;
	unsigned n = 0;
	for (x = x != NULL ? x->q_next : NULL; x != NULL; x = next) {
		next = x->q_next;
		if (x->retried)
			continue;
		if (n++ == STREAM_RESCUE)
			return true;
		x->retried = x->alone = true;
		if (s->codec->drop != NULL)
			s->codec->drop(s, x);
		move_to_waiting(s, x);
	}
	return false;
}

void stream_stop(struct stream *s)
{
	s->l.draining = true;
	while (s->l.queued.first != NULL)
		stream_retry(s, s->l.queued.first, ERR_CLOSED);
	if (s->l.inflight == 0)
		link_close(&s->l);
}
