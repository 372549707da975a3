/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Decides which request a reflector sends next and how long it waits before: after a list, an ended
 * watch, or one of the ways in which they fail. */
#include "kube/informer/reflector_plan.h"

#include <assert.h>
#include <string.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "base/err.h"

enum {
	PAGE_MIN = 500,
	/* With the back-off's waits about as long as a token lives. */
	PAGE_FAILURES_MAX = 8,
	/* A proxy's maintenance page may ask for a day: the end of the maintenance would go
	 * unnoticed. */
	RETRY_AFTER_MAX_S = 300,
};

static uint64_t or_default(uint64_t left, uint64_t right)
{
	return left != 0 ? left : right;
}

static enum kube_step list_step(const struct kube_reflector_plan *plan, uint64_t now_ns)
{
	uint64_t until =
		atomic_load_explicit(&plan->memory->no_stream_until_ns, memory_order_relaxed);
	return now_ns < until ? KUBE_STEP_LIST : KUBE_STEP_STREAM;
}

void kube_reflector_plan_init(struct kube_reflector_plan *plan, const struct kube_times *times,
			      struct kube_server_memory *memory, uint64_t now_ns)
{
	*plan = (struct kube_reflector_plan){ .times = *times, .memory = memory };
	struct kube_times *d = &plan->times;
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
	plan->page = d->page;
	rng_init(&plan->rng);
	plan->step = list_step(plan, now_ns);
}

void kube_reflector_plan_page_broke(struct kube_reflector_plan *plan)
{
	plan->page = MAX(plan->page / 4, MIN(plan->times.page, PAGE_MIN));
	assert(plan->page != 0 && plan->page <= plan->times.page);
}

unsigned kube_reflector_plan_watch_s(struct kube_reflector_plan *plan)
{
	uint64_t lo = MAX(plan->times.watch_min_ns / NS_PER_S, 1);
	uint64_t hi = MAX(plan->times.watch_max_ns / NS_PER_S, lo);
	return (unsigned)lo + rng_below(&plan->rng, (uint32_t)(hi - lo) + 1);
}

/* ---- after a step ---- */

static void retry_at_once(struct kube_reflector_plan *plan, enum kube_step step)
{
	plan->step = step;
	plan->delay_ns = 0;
}

static uint64_t random_up_to(struct kube_reflector_plan *plan, uint64_t up_to_ns)
{
	return up_to_ns / 1024 * rng_below(&plan->rng, 1025);
}

static bool is_quiet(const struct kube_reflector_plan *plan, const struct kube_backoff *backoff,
		     uint64_t now_ns)
{
	return backoff->ns == 0 || now_ns > backoff->until_ns + plan->times.backoff_reset_ns;
}

static void back_off(struct kube_reflector_plan *plan, enum kube_failure failure,
		     uint64_t retry_after_ns, uint64_t now_ns)
{
	const struct kube_times *t = &plan->times;
	struct kube_backoff *b = &plan->backoff[failure];
	uint64_t max_ns = failure == KUBE_FAILURE_AWAY ? t->away_max_ns : t->backoff_max_ns;
	b->ns = is_quiet(plan, b, now_ns) ? t->backoff_min_ns : MIN(b->ns * 2, max_ns);
	/* Jitter of 1: many clients of a server that comes back must not come together. */
	plan->delay_ns = MAX(b->ns + random_up_to(plan, b->ns), retry_after_ns);
	b->until_ns = now_ns + plan->delay_ns; /* the wait is no quiet time */
}

/* No answer, or one that broke off. */
static bool is_network(const struct kube_outcome *outcome)
{
	return outcome->code == ERR_CLOSED || outcome->code == ERR_TLS ||
	       (outcome->code == ERR_TIMEOUT && outcome->http == 0);
}

static void retry_later(struct kube_reflector_plan *plan, enum kube_step step,
			const struct kube_outcome *outcome, uint64_t now_ns)
{
	uint64_t retry_after_ns =
		MIN(outcome->retry_after_s, (unsigned)RETRY_AFTER_MAX_S) * NS_PER_S;
	plan->step = step;
	back_off(plan, is_network(outcome) ? KUBE_FAILURE_AWAY : KUBE_FAILURE_REFUSED,
		 retry_after_ns, now_ns);
}

/* A restart makes all watchers lose their version at once, and they have waited for the server
 * already: the first list is spread over a short time only. A server that forgets all the time is
 * not asked all the time. */
static void plan_relist(struct kube_reflector_plan *plan, enum kube_step step, uint64_t now_ns)
{
	struct kube_backoff *b = &plan->backoff[KUBE_FAILURE_GONE];
	bool first = is_quiet(plan, b, now_ns);
	plan->step = step;
	back_off(plan, KUBE_FAILURE_GONE, 0, now_ns);
	if (!first)
		return;
	uint64_t spread_ns = plan->times.backoff_min_ns;
	plan->delay_ns = spread_ns / 8 + random_up_to(plan, spread_ns - spread_ns / 8);
	b->ns /= 2; /* the next one is the shortest */
	b->until_ns = now_ns + plan->delay_ns;
}

static void stream_failed(struct kube_reflector_plan *plan, const struct kube_outcome *outcome,
			  uint64_t now_ns)
{
	if ((outcome->gone || outcome->too_large) && !plan->fresh && plan->rv[0] != '\0') {
		plan->fresh = true;
		retry_at_once(plan, KUBE_STEP_STREAM);
		return;
	}
	if (outcome->code == ERR_BUSY || outcome->code == ERR_DENIED ||
	    outcome->code == ERR_NOTFOUND) {
		retry_later(plan, KUBE_STEP_STREAM, outcome, now_ns);
		return;
	}
	/* A broken connection does not mean that the server fails; pages may get through. */
	if (is_network(outcome) && outcome->code != ERR_TIMEOUT) {
		retry_later(plan, KUBE_STEP_LIST, outcome, now_ns);
		return;
	}
	/* It cannot (gate off: 422; old etcd: ERROR 500; a proxy that holds the bytes back:
	 * silence), and so will not for others. */
	atomic_store_explicit(&plan->memory->no_stream_until_ns,
			      now_ns + plan->times.stream_again_ns, memory_order_relaxed);
	retry_at_once(plan, KUBE_STEP_LIST);
}

/* Is it worth while to ask for the same page again? What came before must not be lost, or a long
 * list never ends on a line that breaks. */
static bool can_resume(const struct kube_reflector_plan *plan, const struct kube_outcome *outcome)
{
	bool passing = is_network(outcome) || outcome->code == ERR_TIMEOUT ||
		       outcome->code == ERR_BUSY || outcome->code == ERR_DENIED ||
		       outcome->code == ERR_INTERNAL;
	return outcome->more && !outcome->gone && passing && plan->stuck < PAGE_FAILURES_MAX;
}

static void resume_list(struct kube_reflector_plan *plan, const struct kube_outcome *outcome,
			uint64_t now_ns)
{
	assert(plan->step == KUBE_STEP_LIST);
	plan->resume = true;
	plan->stuck++;
	/* A page that came pays for the next try. */
	if (outcome->pages != 0 && is_network(outcome))
		retry_at_once(plan, KUBE_STEP_LIST);
	else
		retry_later(plan, KUBE_STEP_LIST, outcome, now_ns);
}

static void list_failed(struct kube_reflector_plan *plan, const struct kube_outcome *outcome,
			uint64_t now_ns)
{
	bool old_start = (outcome->gone || outcome->too_large) && !outcome->more && !plan->fresh &&
			 plan->rv[0] != '\0';
	/* The token of the next page has died with a compaction. */
	bool old_page = outcome->gone && outcome->more && !plan->whole;
	plan->stuck = outcome->pages != 0 ? 0 : plan->stuck;
	if (can_resume(plan, outcome)) {
		resume_list(plan, outcome, now_ns);
		return;
	}
	plan->stuck = 0;
	if (old_start || old_page) {
		plan->fresh = true;
		plan->whole = plan->whole || old_page;
		retry_at_once(plan, KUBE_STEP_LIST);
		return;
	}
	plan->whole = false;
	retry_later(plan, list_step(plan, now_ns), outcome, now_ns);
}

static void watch_ended(struct kube_reflector_plan *plan, const struct kube_outcome *outcome,
			uint64_t now_ns)
{
	bool lively = outcome->events != 0 || outcome->took_ns >= plan->times.short_ns;
	bool lost = outcome->gone || outcome->has_error_event || outcome->code == ERR_PARSE ||
		    outcome->code == ERR_LIMIT || outcome->code == ERR_NOTFOUND ||
		    outcome->code == ERR_CONFIG || outcome->code == ERR_UNSUPPORTED;
	enum kube_step step = lost ? list_step(plan, now_ns) : KUBE_STEP_WATCH;
	plan->fresh = outcome->too_large;
	if (outcome->gone) {
		plan_relist(plan, step, now_ns);
	} else if (lively && !lost && (outcome->code == 0 || is_network(outcome))) {
		retry_at_once(plan, step);
	} else {
		retry_later(plan, step, outcome, now_ns);
	}
}

void kube_reflector_plan_next(struct kube_reflector_plan *plan, const struct kube_outcome *outcome,
			      uint64_t now_ns)
{
	assert(plan->step != KUBE_STEP_WATCH || !outcome->listed);
	plan->resume = false;
	if (outcome->listed) {
		plan->fresh = plan->whole = false;
		plan->stuck = 0;
		plan->page = plan->times.page;
	}
	switch (plan->step) {
	case KUBE_STEP_STREAM:
		if (outcome->listed)
			watch_ended(plan, outcome, now_ns);
		else
			stream_failed(plan, outcome, now_ns);
		break;
	case KUBE_STEP_LIST:
		if (outcome->listed)
			retry_at_once(plan, KUBE_STEP_WATCH);
		else
			list_failed(plan, outcome, now_ns);
		break;
	case KUBE_STEP_WATCH:
		watch_ended(plan, outcome, now_ns);
		break;
	}
}
