#include "kube/plan.h"

#include <string.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "base/err.h"

enum {
	PAGE_MIN = 500,
	/* With the back-off's waits about as long as a token lives. */
	PAGE_FAILURES_MAX = 8,
	/* A proxy's page for times of maintenance may say a day: nobody would notice its end. */
	RETRY_AFTER_MAX_S = 300,
};

static uint64_t or_default(uint64_t v, uint64_t d)
{
	return v != 0 ? v : d;
}

static enum kube_step list_step(const struct kube_plan *p, uint64_t now_ns)
{
	uint64_t until = atomic_load_explicit(&p->memory->no_stream_until_ns, memory_order_relaxed);
	return now_ns < until ? KUBE_STEP_LIST : KUBE_STEP_STREAM;
}

void kube_plan_init(struct kube_plan *p, const struct kube_times *t, struct kube_server_memory *m,
		    uint64_t now_ns)
{
	*p = (struct kube_plan){ .times = *t, .memory = m };
	struct kube_times *d = &p->times;
	d->watch_min_ns = or_default(d->watch_min_ns, 300 * NS_PER_S);
	d->watch_max_ns = MAX(or_default(d->watch_max_ns, 600 * NS_PER_S), d->watch_min_ns);
	d->watch_grace_ns = or_default(d->watch_grace_ns, 30 * NS_PER_S);
	d->silence_ns = or_default(d->silence_ns, 150 * NS_PER_S);
	d->list_ns = or_default(d->list_ns, 60 * NS_PER_S);
	d->short_ns = or_default(d->short_ns, NS_PER_S);
	d->backoff_min_ns = or_default(d->backoff_min_ns, 800 * NS_PER_MS);
	d->backoff_max_ns = or_default(d->backoff_max_ns, 30 * NS_PER_S);
	d->away_max_ns = or_default(d->away_max_ns, MIN(d->backoff_max_ns, 2 * NS_PER_S));
	d->away_max_ns = MAX(d->away_max_ns, d->backoff_min_ns);
	d->backoff_reset_ns = or_default(d->backoff_reset_ns, 120 * NS_PER_S);
	d->stream_again_ns = or_default(d->stream_again_ns, 3600 * NS_PER_S);
	d->page = d->page != 0 ? d->page : 10000;
	p->page = d->page;
	rng_init(&p->rng);
	p->step = list_step(p, now_ns);
}

void kube_plan_page_broke(struct kube_plan *p)
{
	p->page = MAX(p->page / 4, MIN(p->times.page, PAGE_MIN));
}

unsigned kube_plan_watch_s(struct kube_plan *p)
{
	uint64_t lo = MAX(p->times.watch_min_ns / NS_PER_S, 1);
	uint64_t hi = MAX(p->times.watch_max_ns / NS_PER_S, lo);
	return (unsigned)lo + rng_below(&p->rng, (uint32_t)(hi - lo) + 1);
}

/* ---- what happens then ---- */

static void at_once(struct kube_plan *p, enum kube_step step)
{
	p->step = step;
	p->delay_ns = 0;
}

static uint64_t jitter(struct kube_plan *p, uint64_t up_to_ns)
{
	return up_to_ns / 1024 * rng_below(&p->rng, 1025);
}

static bool is_quiet(const struct kube_plan *p, const struct kube_backoff *b, uint64_t now_ns)
{
	return b->ns == 0 || now_ns > b->until_ns + p->times.backoff_reset_ns;
}

static void back_off(struct kube_plan *p, enum kube_failure failure, uint64_t told_ns,
		     uint64_t now_ns)
{
	const struct kube_times *t = &p->times;
	struct kube_backoff *b = &p->backoff[failure];
	uint64_t max_ns = failure == KUBE_FAILURE_AWAY ? t->away_max_ns : t->backoff_max_ns;
	b->ns = is_quiet(p, b, now_ns) ? t->backoff_min_ns : MIN(b->ns * 2, max_ns);
	/* Jitter of 1: many clients of a server that comes back must not come together. */
	p->delay_ns = MAX(b->ns + jitter(p, b->ns), told_ns);
	b->until_ns = now_ns + p->delay_ns; /* the wait is no quiet time */
}

/* No answer, or one that broke off. */
static bool is_network(const struct kube_outcome *o)
{
	return o->code == ERR_CLOSED || o->code == ERR_TLS ||
	       (o->code == ERR_TIMEOUT && o->http == 0);
}

static void later(struct kube_plan *p, enum kube_step step, const struct kube_outcome *o,
		  uint64_t now_ns)
{
	uint64_t told_ns = MIN(o->retry_after_s, (unsigned)RETRY_AFTER_MAX_S) * NS_PER_S;
	p->step = step;
	back_off(p, is_network(o) ? KUBE_FAILURE_AWAY : KUBE_FAILURE_REFUSED, told_ns, now_ns);
}

/* A restart makes all watchers lose their version at once, and they have waited for the server
 * already: the first list is spread over a short time only. A server that forgets all the time is
 * not asked all the time. */
static void relist(struct kube_plan *p, enum kube_step step, uint64_t now_ns)
{
	struct kube_backoff *b = &p->backoff[KUBE_FAILURE_GONE];
	bool first = is_quiet(p, b, now_ns);
	p->step = step;
	back_off(p, KUBE_FAILURE_GONE, 0, now_ns);
	if (!first)
		return;
	uint64_t spread_ns = p->times.backoff_min_ns;
	p->delay_ns = spread_ns / 8 + jitter(p, spread_ns - spread_ns / 8);
	b->ns /= 2; /* the next one is the shortest */
	b->until_ns = now_ns + p->delay_ns;
}

static void stream_failed(struct kube_plan *p, const struct kube_outcome *o, uint64_t now_ns)
{
	if ((o->gone || o->too_large) && !p->fresh && p->rv[0] != '\0') {
		p->fresh = true;
		at_once(p, KUBE_STEP_STREAM);
		return;
	}
	if (o->code == ERR_BUSY || o->code == ERR_DENIED || o->code == ERR_NOTFOUND) {
		later(p, KUBE_STEP_STREAM, o, now_ns);
		return;
	}
	/* A connection that breaks says nothing about the server; pages may get through. */
	if (is_network(o) && o->code != ERR_TIMEOUT) {
		later(p, KUBE_STEP_LIST, o, now_ns);
		return;
	}
	/* It cannot (gate off: 422; old etcd: ERROR 500; a proxy that holds the bytes back:
	 * silence), and so will not for others. */
	atomic_store_explicit(&p->memory->no_stream_until_ns, now_ns + p->times.stream_again_ns,
			      memory_order_relaxed);
	at_once(p, KUBE_STEP_LIST);
}

/* Is it worth while to ask for the same page again? What came before must not be lost, or a long
 * list never ends on a line that breaks. */
static bool can_resume(const struct kube_plan *p, const struct kube_outcome *o)
{
	bool passing = is_network(o) || o->code == ERR_TIMEOUT || o->code == ERR_BUSY ||
		       o->code == ERR_DENIED || o->code == ERR_INTERNAL;
	return o->more && !o->gone && passing && p->stuck < PAGE_FAILURES_MAX;
}

static void resume_list(struct kube_plan *p, const struct kube_outcome *o, uint64_t now_ns)
{
	p->resume = true;
	p->stuck++;
	/* A page that came pays for the next try. */
	if (o->pages != 0 && is_network(o))
		at_once(p, KUBE_STEP_LIST);
	else
		later(p, KUBE_STEP_LIST, o, now_ns);
}

static void list_failed(struct kube_plan *p, const struct kube_outcome *o, uint64_t now_ns)
{
	bool old_start = (o->gone || o->too_large) && !o->more && !p->fresh && p->rv[0] != '\0';
	/* The token of the next page has died with a compaction. */
	bool old_page = o->gone && o->more && !p->whole;
	p->stuck = o->pages != 0 ? 0 : p->stuck;
	if (can_resume(p, o)) {
		resume_list(p, o, now_ns);
		return;
	}
	p->stuck = 0;
	if (old_start || old_page) {
		p->fresh = true;
		p->whole = p->whole || old_page;
		at_once(p, KUBE_STEP_LIST);
		return;
	}
	p->whole = false;
	later(p, list_step(p, now_ns), o, now_ns);
}

static void watch_ended(struct kube_plan *p, const struct kube_outcome *o, uint64_t now_ns)
{
	bool lively = o->events != 0 || o->took_ns >= p->times.short_ns;
	bool lost = o->gone || o->said_error || o->code == ERR_PARSE || o->code == ERR_LIMIT ||
		    o->code == ERR_NOTFOUND || o->code == ERR_CONFIG || o->code == ERR_UNSUPPORTED;
	enum kube_step step = lost ? list_step(p, now_ns) : KUBE_STEP_WATCH;
	p->fresh = o->too_large;
	if (o->gone) {
		relist(p, step, now_ns);
	} else if (lively && !lost && (o->code == 0 || is_network(o))) {
		at_once(p, step);
	} else {
		later(p, step, o, now_ns);
	}
}

void kube_plan_next(struct kube_plan *p, const struct kube_outcome *o, uint64_t now_ns)
{
	p->resume = false;
	if (o->listed) {
		p->fresh = p->whole = false;
		p->stuck = 0;
		p->page = p->times.page;
	}
	switch (p->step) {
	case KUBE_STEP_STREAM:
		if (o->listed)
			watch_ended(p, o, now_ns);
		else
			stream_failed(p, o, now_ns);
		break;
	case KUBE_STEP_LIST:
		if (o->listed)
			at_once(p, KUBE_STEP_WATCH);
		else
			list_failed(p, o, now_ns);
		break;
	case KUBE_STEP_WATCH:
		watch_ended(p, o, now_ns);
		break;
	}
}
